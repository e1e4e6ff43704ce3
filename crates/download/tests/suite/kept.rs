//! Readers that keep what comes: another one begins where the first one ended, and never mixes two versions of a file.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use strongroom_digest::{Algorithm, DigestSet, hash_reader};
use strongroom_download::{DownloadError, Expected, Supervision, forget};
use strongroom_web_double::Behaviour::{
    self, IgnoresIfRange, NoETag, NoLength, NoRanges, NoValidator, WeakETag, WrongStart,
};
use strongroom_web_double::WebDouble;
use tempfile::TempDir;

use crate::{bytes, client, serving};

/// Larger than what is kept without a record of it.
const SIZE: u32 = 20 << 20;
/// Where a reader is abandoned. What is recorded by then is less.
const READ: usize = 18 << 20;
const RECORDED: u64 = 16 << 20;

struct Place {
    folder: TempDir,
    web: WebDouble,
}

/// What a reader got, and how many bytes of it had come earlier.
type Outcome = Result<(Vec<u8>, u64), DownloadError>;

impl Place {
    fn new(behaviours: &[Behaviour]) -> Self {
        Self { folder: tempfile::tempdir().unwrap(), web: serving(&bytes(SIZE), behaviours) }
    }

    /// Left in its middle by a process that was killed: nothing was said to the reader.
    fn begun() -> Self {
        let place = Self::new(&[]);
        let client = client(&place.web);
        let mut body =
            client.open_kept(&place.web.url("/f"), Expected::default(), Supervision::default(), &place.kept()).unwrap();
        io::copy(&mut (&mut body).take(READ as u64), &mut io::sink()).unwrap();
        drop(body);
        assert!(place.names().len() == 2, "{:?}", place.names());
        place
    }

    fn kept(&self) -> PathBuf {
        self.folder.path().join("f")
    }

    fn read(&self, expected: &Expected) -> Outcome {
        let client = client(&self.web);
        let mut body = client.open_kept(&self.web.url("/f"), expected.clone(), Supervision::default(), &self.kept())?;
        let mut found = Vec::new();
        body.read_to_end(&mut found).map_err(|error| DownloadError::from_io(error).unwrap())?;
        Ok((found, body.resumed()))
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.folder.path()).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    fn write(&self, ending: &str, change: impl FnOnce(&mut Vec<u8>)) {
        let path = self.folder.path().join(format!(".f.{ending}"));
        let mut bytes = fs::read(&path).unwrap();
        change(&mut bytes);
        fs::write(path, bytes).unwrap();
    }
}

fn expecting(content: &[u8]) -> Expected {
    let digests: DigestSet = hash_reader(content, &[Algorithm::Md5, Algorithm::Crc32]).unwrap().1;
    Expected { size: Some(content.len() as u64), digests, ..Expected::default() }
}

#[track_caller]
fn assert_read(outcome: Outcome, content: &[u8], resumed: u64) {
    let (found, from) = outcome.unwrap();
    assert!(found == content, "other bytes");
    assert_eq!(from, resumed);
}

/// The rest is read behind what was recorded on the way, with a last read that may have been shorter than its buffer. From where on.
#[track_caller]
fn assert_recorded(outcome: Outcome, content: &[u8]) -> u64 {
    let (found, from) = outcome.unwrap();
    assert!(found == content, "other bytes");
    assert!((RECORDED - 1..RECORDED + (64 << 10)).contains(&from), "{from}");
    from
}

#[test]
fn another_reader_asks_only_for_the_rest_and_gives_every_byte() {
    let place = Place::begun();
    let before = place.web.requests().len();
    let kept = assert_recorded(place.read(&expecting(&bytes(SIZE))), &bytes(SIZE));
    let requests = place.web.requests();
    let [request] = &requests[before..] else { panic!("one request: {requests:?}") };
    assert_eq!(request.range(), Some(format!("bytes={kept}-").as_str()));
    assert!(request.header("if-range").is_some());
    // Also a whole file is read once more without being sent, until it is forgotten.
    assert_read(place.read(&expecting(&bytes(SIZE))), &bytes(SIZE), u64::from(SIZE) - 1);
    forget(&place.kept()).unwrap();
    assert_eq!(place.names(), [""; 0]);
    forget(&place.kept()).unwrap();
    assert_read(place.read(&expecting(&bytes(SIZE))), &bytes(SIZE), 0);
}

#[test]
fn a_file_that_changed_meanwhile_is_read_anew_and_never_mixed() {
    let new = vec![7; SIZE as usize];
    for behaviours in [&[][..], &[IgnoresIfRange], &[NoRanges], &[WrongStart]] {
        let place = Place::begun();
        place.web.put("/f", &new);
        for behaviour in behaviours {
            place.web.on("/f", behaviour.clone());
        }
        assert_read(place.read(&expecting(&new)), &new, 0);
        // What is kept is of the new file.
        place.web.mend("/f");
        assert_read(place.read(&expecting(&new)), &new, u64::from(SIZE) - 1);
    }
    let place = Place::begun();
    place.web.put("/f", &new[..100]);
    assert_read(place.read(&Expected::default()), &new[..100], 0);
    assert_eq!(place.names(), [""; 0], "what is small is not kept");
}

#[test]
fn bytes_on_the_disk_that_are_not_those_that_came_are_found_by_the_digest_and_not_used_again() {
    let place = Place::begun();
    place.write("download", |bytes| bytes[1_000] ^= 1);
    let error = place.read(&expecting(&bytes(SIZE))).unwrap_err();
    assert!(matches!(error, DownloadError::Changed { .. }) && error.is_transient(), "{error:?}");
    assert_eq!(place.names(), [""; 0]);
    assert_read(place.read(&expecting(&bytes(SIZE))), &bytes(SIZE), 0);
}

#[test]
fn a_state_that_does_not_fit_the_bytes_or_the_url_is_not_used() {
    for (ending, change) in [
        ("download", (|bytes| bytes.truncate(1_000)) as fn(&mut Vec<u8>)),
        ("download-state", |bytes| bytes.truncate(10)),
        ("download-state", |bytes| {
            *bytes = String::from_utf8_lossy(bytes).replace("\"source\":\"", "\"source\":\"x").into();
        }),
    ] {
        let place = Place::begun();
        place.write(ending, change);
        assert_read(place.read(&expecting(&bytes(SIZE))), &bytes(SIZE), 0);
    }
}

#[test]
fn what_could_not_be_resumed_is_not_kept() {
    for behaviours in [&[NoValidator][..], &[WeakETag, NoETag], &[NoLength]] {
        let place = Place::new(behaviours);
        let read = place.read(&Expected::default()).unwrap();
        assert!(read.0 == bytes(SIZE));
        if behaviours.contains(&NoValidator) || behaviours.contains(&NoLength) {
            assert_eq!(place.names(), [""; 0], "{behaviours:?}");
        }
    }
}

#[test]
fn a_file_is_read_also_where_nothing_can_be_kept() {
    let place = Place::new(&[]);
    let client = client(&place.web);
    let missing = place.folder.path().join("missing/f");
    let mut body = client
        .open_kept(&place.web.url("/f"), Expected::default(), Supervision::default(), Path::new(&missing))
        .unwrap();
    assert_eq!(io::copy(&mut body, &mut io::sink()).unwrap(), u64::from(SIZE));
    // Another reader of the same file keeps it already.
    let mut first =
        client.open_kept(&place.web.url("/f"), Expected::default(), Supervision::default(), &place.kept()).unwrap();
    io::copy(&mut (&mut first).take(READ as u64), &mut io::sink()).unwrap();
    assert_read(place.read(&Expected::default()), &bytes(SIZE), 0);
    drop(first);
    assert_recorded(place.read(&Expected::default()), &bytes(SIZE));
}

#[test]
fn an_interrupted_reader_keeps_all_that_came() {
    let place = Place::new(&[]);
    let stop = std::sync::atomic::AtomicU64::new(10 << 20);
    let check =
        || match stop.fetch_update(std::sync::atomic::Ordering::Relaxed, std::sync::atomic::Ordering::Relaxed, |left| {
            left.checked_sub(1 << 16)
        }) {
            Ok(_) => Ok(()),
            Err(_) => Err("stopped"),
        };
    let client = client(&place.web);
    let mut body =
        client.open_kept(&place.web.url("/f"), Expected::default(), Supervision::new(check), &place.kept()).unwrap();
    let mut came = 0;
    let mut buffer = vec![0; 1 << 16];
    let error = loop {
        match body.read(&mut buffer) {
            Ok(length) => came += length as u64,
            Err(error) => break DownloadError::from_io(error).unwrap(),
        }
    };
    assert!(matches!(error, DownloadError::Interrupted { .. }), "{error:?}");
    assert!(came > 0);
    drop(body);
    assert_read(place.read(&expecting(&bytes(SIZE))), &bytes(SIZE), came - 1);
}
