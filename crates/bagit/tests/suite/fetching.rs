//! Completing a bag from `fetch.txt`, against a server of the test's own on this machine.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::path::Path;

use strongroom_bagit::fetch::{FetchError, FetchOptions, FetchOutcome, complete};
use strongroom_bagit::{CheckOptions, Verdict, validate};
use tempfile::TempDir;

use crate::bags::Bag;

/// Answers requests by path until the test ends: a body, or a place to go instead.
fn serve(answers: &[(&'static str, u16, &'static str)]) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let answers = answers.to_vec();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let mut request = String::new();
            let mut lines = BufReader::new(stream.try_clone().unwrap());
            lines.read_line(&mut request).unwrap();
            let mut header = String::new();
            while lines.read_line(&mut header).unwrap() > 2 {
                header.clear();
            }
            let wanted = request.split(' ').nth(1).unwrap_or_default();
            let (status, body) = answers
                .iter()
                .find(|(path, ..)| *path == wanted)
                .map_or((404, ""), |(_, status, body)| (*status, *body));
            let (location, body) = if status == 302 { (body, "") } else { ("", body) };
            let answer = format!(
                "HTTP/1.1 {status} X\r\nlocation: {location}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
                body.len()
            );
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    port
}

fn holey(fetch: &str) -> (TempDir, std::path::PathBuf) {
    let directory = TempDir::new().unwrap();
    let bag = directory.path().join("bag");
    Bag::plain().without("data/a.txt").without("data/sub/b.txt").with("fetch.txt", fetch).sealed().write(&bag);
    (directory, bag)
}

fn outcomes(bag: &Path, options: &FetchOptions) -> (bool, Vec<String>) {
    let mut found = Vec::new();
    let is_complete = complete(bag, options, &mut |line, outcome| {
        let word = match outcome {
            FetchOutcome::Fetched(length) => format!("fetched {length}"),
            FetchOutcome::Present => "present".to_owned(),
            FetchOutcome::Failed(FetchError::Refused { .. }) => "refused".to_owned(),
            FetchOutcome::Failed(FetchError::Status { status, .. }) => format!("status {status}"),
            FetchOutcome::Failed(FetchError::Length { .. }) => "length".to_owned(),
            FetchOutcome::Failed(FetchError::Transport { .. }) => "transport".to_owned(),
            other => format!("{other:?}"),
        };
        found.push(format!("{} {word}", line.path));
    });
    (is_complete.unwrap(), found)
}

fn local(port: u16) -> FetchOptions {
    FetchOptions {
        hosts: vec![format!("127.0.0.1:{port}"), format!("localhost:{port}")],
        allow_private_networks: true,
        ..FetchOptions::default()
    }
}

#[test]
fn a_holey_bag_is_completed_and_then_valid() {
    let port = serve(&[("/a", 200, "alpha"), ("/b", 302, "/b2"), ("/b2", 200, "beta")]);
    let (_keep, bag) =
        holey(&format!("http://127.0.0.1:{port}/a 5 data/a.txt\nhttp://127.0.0.1:{port}/b - data/sub/b.txt\n"));
    assert_eq!(validate(&bag, &CheckOptions::default()).unwrap().verdict, Verdict::Incomplete);
    assert_eq!(
        outcomes(&bag, &local(port)),
        (true, vec!["data/a.txt fetched 5".to_owned(), "data/sub/b.txt fetched 4".to_owned()])
    );
    let report = validate(&bag, &CheckOptions::default()).unwrap();
    assert_eq!(report.verdict, Verdict::Valid, "{:#?}", report.problems);
    assert_eq!(
        outcomes(&bag, &FetchOptions::default()),
        (true, vec!["data/a.txt present".to_owned(), "data/sub/b.txt present".to_owned()])
    );
}

#[test]
fn what_is_not_allowed_is_neither_asked_for_nor_written() {
    let port = serve(&[("/a", 200, "alpha"), ("/away", 302, "http://example.org/")]);
    let url = format!("http://127.0.0.1:{port}");
    let (_keep, bag) = holey(&format!("{url}/a - data/a.txt\n"));
    assert_eq!(outcomes(&bag, &FetchOptions::default()), (false, vec!["data/a.txt refused".to_owned()]));
    let public_only = FetchOptions { allow_private_networks: false, ..local(port) };
    assert_eq!(outcomes(&bag, &public_only), (false, vec!["data/a.txt transport".to_owned()]));
    for (line, word) in [
        (format!("{url}/away - data/a.txt\n"), "data/a.txt refused"),
        (format!("{url}/a - ../evil.txt\n"), "../evil.txt refused"),
        (format!("{url}/a - bag-info.txt\n"), "bag-info.txt refused"),
        (format!("{url}/none - data/a.txt\n"), "data/a.txt status 404"),
        (format!("{url}/a 4 data/a.txt\n"), "data/a.txt length"),
        (format!("{url}/a 6 data/a.txt\n"), "data/a.txt length"),
    ] {
        let (keep, bag) = holey(&line);
        assert_eq!(outcomes(&bag, &local(port)), (false, vec![word.to_owned()]));
        assert!(!bag.join("data/a.txt").exists() && !keep.path().join("evil.txt").exists());
        assert_eq!(std::fs::read_dir(bag.join("data")).unwrap().count(), 0, "no part of a file is left");
    }
}

#[test]
fn nothing_is_fetched_through_a_link() {
    let port = serve(&[("/b", 200, "beta")]);
    let (keep, bag) = holey(&format!("http://127.0.0.1:{port}/b - data/sub/b.txt\n"));
    std::os::unix::fs::symlink(keep.path(), bag.join("data/sub")).unwrap();
    assert!(!outcomes(&bag, &local(port)).0);
    assert!(!keep.path().join("b.txt").exists());
}
