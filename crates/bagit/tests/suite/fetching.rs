//! Completing a bag from `fetch.txt`, against a server of the test's own on this machine.

use std::path::Path;

use strongroom_bagit::fetch::{FetchError, FetchOutcome, complete, read_list};
use strongroom_bagit::{CheckOptions, Verdict, validate};
use strongroom_download::{Client, DownloadError, Policy};
use strongroom_web_double::{Behaviour, WebDouble};
use tempfile::TempDir;

use crate::bags::Bag;

fn serve() -> WebDouble {
    let web = WebDouble::start();
    web.put("/a", "alpha");
    web.put("/b2", "beta");
    web.on("/b", Behaviour::RedirectTo("/b2".into()));
    web.on("/away", Behaviour::RedirectTo("http://example.org/".into()));
    web
}

fn holey(fetch: &str) -> (TempDir, std::path::PathBuf) {
    let directory = TempDir::new().unwrap();
    let bag = directory.path().join("bag");
    Bag::plain().without("data/a.txt").without("data/sub/b.txt").with("fetch.txt", fetch).sealed().write(&bag);
    (directory, bag)
}

fn outcomes(bag: &Path, policy: Policy) -> (bool, Vec<String>) {
    let mut found = Vec::new();
    let is_complete = complete(bag, &Client::new(policy).unwrap(), &mut |line, outcome| {
        let word = match outcome {
            FetchOutcome::Fetched(length) => format!("fetched {length}"),
            FetchOutcome::Present => "present".to_owned(),
            FetchOutcome::Failed(FetchError::Refused { .. }) => "refused".to_owned(),
            FetchOutcome::Failed(FetchError::Download(error)) => match error {
                DownloadError::Refused { .. } => "refused".to_owned(),
                DownloadError::Status { status, .. } => format!("status {status}"),
                DownloadError::Length { .. } | DownloadError::TooLong { .. } => "length".to_owned(),
                other => format!("{other:?}"),
            },
            other => format!("{other:?}"),
        };
        found.push(format!("{} {word}", line.path));
    });
    (is_complete.unwrap(), found)
}

fn local(web: &WebDouble) -> Policy {
    Policy { hosts: vec![web.authority()], allow_private_networks: true, ..Policy::default() }
}

#[test]
fn a_holey_bag_is_completed_and_then_valid() {
    let web = serve();
    let (_keep, bag) = holey(&format!("{} 5 data/a.txt\n{} - data/sub/b.txt\n", web.url("/a"), web.url("/b")));
    assert_eq!(validate(&bag, &CheckOptions::default()).unwrap().verdict, Verdict::Incomplete);
    assert_eq!(
        outcomes(&bag, local(&web)),
        (true, vec!["data/a.txt fetched 5".to_owned(), "data/sub/b.txt fetched 4".to_owned()])
    );
    let report = validate(&bag, &CheckOptions::default()).unwrap();
    assert_eq!(report.verdict, Verdict::Valid, "{:#?}", report.problems);
    assert_eq!(
        outcomes(&bag, Policy::default()),
        (true, vec!["data/a.txt present".to_owned(), "data/sub/b.txt present".to_owned()])
    );
}

#[test]
fn what_is_not_allowed_is_neither_asked_for_nor_written() {
    let web = serve();
    let url = web.url("");
    let (_keep, bag) = holey(&format!("{url}/a - data/a.txt\n"));
    assert_eq!(outcomes(&bag, Policy::default()), (false, vec!["data/a.txt refused".to_owned()]));
    let public_only = Policy { allow_private_networks: false, ..local(&web) };
    assert_eq!(outcomes(&bag, public_only), (false, vec!["data/a.txt refused".to_owned()]));
    for (line, word) in [
        (format!("{url}/away - data/a.txt\n"), "data/a.txt refused"),
        (format!("{url}/a - ../evil.txt\n"), "../evil.txt refused"),
        (format!("{url}/a - bag-info.txt\n"), "bag-info.txt refused"),
        (format!("{url}/none - data/a.txt\n"), "data/a.txt status 404"),
        (format!("{url}/a 4 data/a.txt\n"), "data/a.txt length"),
        (format!("{url}/a 6 data/a.txt\n"), "data/a.txt length"),
    ] {
        let (keep, bag) = holey(&line);
        assert_eq!(outcomes(&bag, local(&web)), (false, vec![word.to_owned()]));
        assert!(!bag.join("data/a.txt").exists() && !keep.path().join("evil.txt").exists());
        assert_eq!(std::fs::read_dir(bag.join("data")).unwrap().count(), 0, "no part of a file is left");
    }
}

#[test]
fn nothing_is_fetched_through_a_link() {
    let web = serve();
    let (keep, bag) = holey(&format!("{} - data/sub/b.txt\n", web.url("/b")));
    std::os::unix::fs::symlink(keep.path(), bag.join("data/sub")).unwrap();
    assert!(!outcomes(&bag, local(&web)).0);
    assert!(!keep.path().join("b.txt").exists());
}

#[test]
fn a_broken_connection_does_not_fail_a_file() {
    let web = serve();
    web.on("/a", Behaviour::CutAfter { bytes: 2, times: 1 });
    let (_keep, bag) = holey(&format!("{} 5 data/a.txt\n", web.url("/a")));
    assert_eq!(outcomes(&bag, local(&web)), (true, vec!["data/a.txt fetched 5".to_owned()]));
    assert_eq!(std::fs::read(bag.join("data/a.txt")).unwrap(), b"alpha");
}

#[test]
fn only_a_bag_that_lacks_nothing_else_lacks_only_fetched_files() {
    let fetch = "http://h/a - data/a.txt\n";
    let bag = Bag::plain().without("data/a.txt").with("fetch.txt", fetch).sealed();
    let report = bag.judge();
    assert!(report.lacks_fetched_files() && report.lacks_only_fetched_files(), "{:?}", report.problems);
    let other = bag.without("data/sub/b.txt").judge();
    assert!(other.lacks_fetched_files() && !other.lacks_only_fetched_files(), "{:?}", other.problems);
    let whole = Bag::plain().with("fetch.txt", fetch).sealed().judge();
    assert!(!whole.lacks_fetched_files() && !whole.lacks_only_fetched_files(), "{:?}", whole.problems);
}

#[test]
fn a_list_is_read_with_the_paths_that_files_of_the_bag_have() {
    let list = "http://h/a 5 data/a%25b.txt\n\nno line\nhttp://h/x - ../evil\nhttp://h/y - bag-info.txt\nhttp://h/b\t-\t./data/c d\n";
    for (version, first) in [("1.0", "data/a%b.txt"), ("0.97", "data/a%25b.txt")] {
        let declaration = format!("BagIt-Version: {version}\nTag-File-Character-Encoding: UTF-8\n");
        let mut found = Vec::new();
        read_list(&mut declaration.as_bytes(), Box::new(list.as_bytes()), &mut |line, path| {
            found.push((line.url, line.length, path.to_owned()));
        })
        .unwrap();
        let expected = [("http://h/a", Some(5), first), ("http://h/b", None, "data/c d")];
        assert_eq!(found, expected.map(|(url, length, path)| (url.to_owned(), length, path.to_owned())), "{version}");
    }
    let unknown = "BagIt-Version: 1.0\nTag-File-Character-Encoding: x-none\n";
    assert!(read_list(&mut unknown.as_bytes(), Box::new(list.as_bytes()), &mut |_, _| {}).is_err());
}
