//! Downloads to files: complete or not there, and resumed where they ended.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use strongroom_digest::{Algorithm, DigestSet, MultiHasher};
use strongroom_download::{Client, DownloadError, Expected, Fetched, FileRequest, Policy, Retries, Supervision};
use strongroom_web_double::Behaviour::{
    self, ChangedBetweenRanges, CutAfter, IgnoresIfRange, NoRanges, NoValidator, NotFound, Status, WrongStart,
};
use strongroom_web_double::WebDouble;
use tempfile::TempDir;

use crate::{bytes, client, policy, serving, word};

const SIZE: u32 = 1_000_000;
const CUT: u64 = 300_000;

struct Place {
    folder: TempDir,
    target: PathBuf,
    web: WebDouble,
}

impl Place {
    fn new(behaviours: &[Behaviour]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("f");
        Self { target, folder, web: serving(&bytes(SIZE), behaviours) }
    }

    /// Left in the middle by a process that made one attempt.
    fn begun(behaviours: &[Behaviour]) -> Self {
        let place = Self::new(&[CutAfter { bytes: CUT, times: 1 }]);
        let outcome = place.fetch_with(&once(&place.web), &Expected::default());
        assert!(matches!(outcome, Err(DownloadError::Broken { position: CUT, .. })), "{outcome:?}");
        assert_eq!(place.names(), [".f.download", ".f.download-state"]);
        place.web.mend("/f");
        for behaviour in behaviours {
            place.web.on("/f", behaviour.clone());
        }
        place
    }

    fn fetch(&self, expected: &Expected) -> Result<Fetched, DownloadError> {
        self.fetch_with(&client(&self.web), expected)
    }

    fn fetch_with(&self, client: &Client, expected: &Expected) -> Result<Fetched, DownloadError> {
        let url = self.web.url("/f");
        let request = FileRequest { url: &url, target: &self.target, expected, algorithms: &[Algorithm::Md5] };
        client.fetch(&request, &Supervision::default())
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.folder.path()).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    fn is_complete(&self, content: &[u8]) -> bool {
        self.names() == ["f"] && fs::read(&self.target).unwrap() == content
    }
}

fn once(web: &WebDouble) -> Client {
    Client::new(Policy { retries: Retries { attempts: 1, ..Retries::default() }, ..policy(web) }).unwrap()
}

fn digests(content: &[u8]) -> DigestSet {
    let mut hasher = MultiHasher::new(&[Algorithm::Md5]);
    hasher.update(content);
    hasher.finish()
}

#[test]
fn a_file_is_there_when_it_is_complete_and_replaces_what_was_there() {
    let content = bytes(SIZE);
    for behaviours in [&[][..], &[CutAfter { bytes: CUT, times: 2 }], &[CutAfter { bytes: CUT, times: 2 }, NoValidator]]
    {
        let place = Place::new(behaviours);
        fs::write(&place.target, "old").unwrap();
        let fetched = place.fetch(&Expected { digests: digests(&content), ..Expected::default() }).unwrap();
        assert_eq!((fetched.bytes, fetched.resumed), (u64::from(SIZE), 0));
        assert_eq!(fetched.digests, digests(&content));
        assert!(place.is_complete(&content), "{behaviours:?}");
    }
}

#[test]
fn another_process_asks_only_for_the_rest() {
    let place = Place::begun(&[]);
    let content = bytes(SIZE);
    let fetched = place.fetch(&Expected { digests: digests(&content), ..Expected::default() }).unwrap();
    assert_eq!((fetched.bytes, fetched.resumed), (u64::from(SIZE), CUT));
    assert_eq!(fetched.digests, digests(&content));
    assert!(place.is_complete(&content));
    let requests = place.web.requests();
    assert_eq!(requests.last().unwrap().range(), Some("bytes=300000-"));
    assert!(requests.last().unwrap().header("if-range").is_some());
}

#[test]
fn a_download_that_cannot_be_resumed_starts_over() {
    let new = vec![7; SIZE as usize];
    let cases: &[(&[Behaviour], bool)] = &[
        (&[NoRanges], false),
        (&[WrongStart], false),
        (&[], true),
        (&[IgnoresIfRange], true),
        (&[CutAfter { bytes: CUT, times: 1 }, ChangedBetweenRanges(vec![7; SIZE as usize])], true),
        (&[CutAfter { bytes: CUT, times: 1 }, IgnoresIfRange, ChangedBetweenRanges(vec![7; SIZE as usize])], true),
    ];
    for (behaviours, is_changed) in cases {
        let place = Place::begun(behaviours);
        if *is_changed && !behaviours.iter().any(|behaviour| matches!(behaviour, ChangedBetweenRanges(_))) {
            place.web.put("/f", &new);
        }
        let fetched = place.fetch(&Expected::default()).unwrap();
        assert_eq!(fetched.resumed, 0, "{behaviours:?}");
        assert!(
            place.is_complete(if *is_changed { &new } else { &[] }) || place.is_complete(&bytes(SIZE)) && !is_changed
        );
    }
}

#[test]
fn a_file_that_became_shorter_starts_over() {
    let place = Place::begun(&[IgnoresIfRange]);
    place.web.put("/f", b"short");
    assert_eq!(place.fetch(&Expected::default()).unwrap().bytes, 5);
    assert!(place.is_complete(b"short"));
}

#[test]
fn a_part_of_another_url_or_without_its_state_is_not_used() {
    let place = Place::begun(&[]);
    place.web.put("/g", bytes(SIZE));
    let url = place.web.url("/g");
    let expected = Expected::default();
    let request = FileRequest { url: &url, target: &place.target, expected: &expected, algorithms: &[] };
    assert_eq!(client(&place.web).fetch(&request, &Supervision::default()).unwrap().resumed, 0);

    for damage in
        [|path: &Path| fs::remove_file(path), |path: &Path| fs::write(path, "{"), |path: &Path| fs::write(path, "")]
    {
        let place = Place::begun(&[]);
        damage(&place.folder.path().join(".f.download-state")).unwrap();
        assert_eq!(place.fetch(&Expected::default()).unwrap().resumed, 0);
        assert!(place.is_complete(&bytes(SIZE)));
    }
}

#[test]
fn bytes_that_were_written_after_the_state_are_cut_off() {
    let place = Place::begun(&[]);
    let path = place.folder.path().join(".f.download");
    let mut part = fs::read(&path).unwrap();
    part.extend_from_slice(&[0; 5000]);
    fs::write(&path, part).unwrap();
    assert_eq!(place.fetch(&Expected::default()).unwrap().resumed, CUT);
    assert!(place.is_complete(&bytes(SIZE)));
}

#[test]
fn a_part_that_is_damaged_on_the_disk_is_fetched_again() {
    let place = Place::begun(&[]);
    let path = place.folder.path().join(".f.download");
    let mut part = fs::read(&path).unwrap();
    part[1000] ^= 1;
    fs::write(&path, part).unwrap();
    let content = bytes(SIZE);
    let fetched = place.fetch(&Expected { digests: digests(&content), ..Expected::default() }).unwrap();
    assert_eq!(fetched.resumed, 0);
    assert!(place.is_complete(&content));
}

#[test]
fn nothing_is_left_after_a_failure_for_good() {
    let other = Expected { digests: digests(b"other"), ..Expected::default() };
    let short = Expected { size: Some(5), ..Expected::default() };
    let nothing = Expected::default();
    let cases: &[(&[Behaviour], &Expected, &str)] = &[
        (&[], &other, "digest"),
        (&[], &short, "length 1000000"),
        (&[Behaviour::NoLength], &short, "more than 5"),
        (&[NotFound], &nothing, "status 404"),
        (&[Status(503)], &nothing, "status 503, transient"),
        (&[CutAfter { bytes: CUT, times: 9 }, NoValidator], &nothing, "broken at 300000, transient"),
    ];
    for (behaviours, expected, outcome) in cases {
        let place = Place::new(behaviours);
        assert_eq!(word(&place.fetch(expected).map(|_| Vec::new())), *outcome);
        assert!(place.names().is_empty(), "{behaviours:?}: {:?}", place.names());
    }
    let place = Place::begun(&[]);
    assert_eq!(word(&place.fetch(&other).map(|_| Vec::new())), "digest");
    assert!(place.names().is_empty());
}

#[test]
fn a_refused_url_leaves_what_is_there() {
    let place = Place::begun(&[]);
    let refusing = Client::new(Policy { hosts: vec![], ..policy(&place.web) }).unwrap();
    assert!(matches!(place.fetch_with(&refusing, &Expected::default()), Err(DownloadError::Refused { .. })));
    assert_eq!(place.names(), [".f.download", ".f.download-state"]);
}

#[test]
fn an_interrupted_download_is_resumed() {
    let place = Place::new(&[]);
    let read = AtomicU64::new(0);
    let stopping = Supervision::new(|| match read.load(Ordering::Relaxed) {
        0..400_000 => Ok(()),
        _ => Err(io::Error::other("stop")),
    })
    .counting(|bytes| {
        read.fetch_add(bytes, Ordering::Relaxed);
    });
    let url = place.web.url("/f");
    let expected = Expected::default();
    let request = FileRequest { url: &url, target: &place.target, expected: &expected, algorithms: &[] };
    let outcome = client(&place.web).fetch(&request, &stopping);
    assert!(matches!(outcome, Err(DownloadError::Interrupted { .. })), "{outcome:?}");
    let fetched = place.fetch(&expected).unwrap();
    assert_eq!(fetched.resumed, read.load(Ordering::Relaxed));
    assert!(place.is_complete(&bytes(SIZE)));
}

#[test]
fn two_processes_do_not_write_to_the_same_part() {
    let place = Place::new(&[Behaviour::Slow]);
    std::thread::scope(|scope| {
        let first = scope.spawn(|| place.fetch(&Expected::default()));
        place.web.wait_for_open_bodies("/f", 1);
        let second = place.fetch(&Expected::default());
        place.web.release("/f", u64::from(SIZE));
        assert!(matches!(second, Err(DownloadError::File { act: "lock", .. })), "{second:?}");
        first.join().unwrap().unwrap();
    });
    assert!(place.is_complete(&bytes(SIZE)));
}

#[test]
fn a_target_that_cannot_be_written_is_named() {
    let place = Place::new(&[]);
    let missing = place.folder.path().join("missing/f");
    let url = place.web.url("/f");
    for target in [missing.as_path(), Path::new("/"), Path::new("..")] {
        let request = FileRequest { url: &url, target, expected: &Expected::default(), algorithms: &[] };
        let outcome = client(&place.web).fetch(&request, &Supervision::default());
        assert!(matches!(outcome, Err(DownloadError::File { .. })), "{outcome:?}");
    }
}
