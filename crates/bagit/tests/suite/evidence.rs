//! The check over evidence that somebody else keeps, as an ingest does that has stored the bytes already.

use std::collections::BTreeMap;
use std::io::{Cursor, Read};
use std::sync::atomic::{AtomicUsize, Ordering};

use strongroom_bagit::{
    BagError, CheckOptions, Evidence, FileFact, FileFacts, Limits, Serialization, Source, Verdict, check,
};
use strongroom_digest::{Algorithm, hash_reader};

use crate::bags::{Bag, errors};

#[derive(Default)]
struct Kept {
    files: BTreeMap<String, (FileFact, Vec<u8>)>,
    payload_opened: AtomicUsize,
    is_reversed: bool,
}

impl Evidence for Kept {
    fn files(&self) -> Result<FileFacts<'_>, BagError> {
        let facts = self.files.values().map(|(fact, _)| Ok(fact.clone()));
        Ok(if self.is_reversed { Box::new(facts.rev()) } else { Box::new(facts) })
    }

    fn open(&self, path: &str) -> Result<Box<dyn Read + Send + '_>, BagError> {
        if path.starts_with("data/") {
            self.payload_opened.fetch_add(1, Ordering::Relaxed);
        }
        Ok(Box::new(Cursor::new(self.files[path].1.as_slice())))
    }
}

fn keep(bag: &Bag) -> (Kept, strongroom_bagit::Scan) {
    let mut kept = Kept::default();
    let source = Source::from_stream(Box::new(Cursor::new(bag.tar())), Serialization::Tar, Some("bag.tar".to_owned()));
    let scan = source.scan(&Limits::default(), &mut |entry, reader| {
        let mut content = Vec::new();
        reader.read_to_end(&mut content)?;
        let (size, digests) = hash_reader(content.as_slice(), &Algorithm::RECORDED)?;
        let fact = FileFact { path: entry.path.clone(), size, digests: digests.iter().collect() };
        kept.files.insert(entry.path.clone(), (fact, content));
        Ok(())
    });
    (kept, scan.unwrap())
}

#[test]
fn a_scan_that_was_kept_is_checked_without_reading_payload_again() {
    let bag = Bag::new("1.0", &[Algorithm::Md5, Algorithm::Sha512], &[("a", "alpha"), ("b%\n", "beta")]);
    let (kept, scan) = keep(&bag);
    let report = check(&kept, &scan, &CheckOptions::default()).unwrap();
    assert_eq!((report.verdict, errors(&report)), (Verdict::ValidWithWarnings, vec![]), "{:#?}", report.problems);
    assert_eq!(kept.payload_opened.load(Ordering::Relaxed), 0);
}

#[test]
fn an_algorithm_that_was_not_recorded_is_computed_from_the_evidence() {
    let (kept, scan) = keep(&Bag::new("1.0", &[Algorithm::Sha3_512], &[("a", "alpha"), ("b", "beta")]));
    assert_eq!(check(&kept, &scan, &CheckOptions::default()).unwrap().verdict, Verdict::Valid);
    assert_eq!(kept.payload_opened.load(Ordering::Relaxed), 2);
}

#[test]
fn evidence_that_is_not_in_order_is_an_error_and_no_verdict() {
    let (kept, scan) = keep(&Bag::plain());
    let reversed = Kept { is_reversed: true, ..kept };
    assert!(matches!(check(&reversed, &scan, &CheckOptions::default()), Err(BagError::Evidence(_))));
}

#[test]
fn an_archive_that_ends_early_is_told_as_such_and_not_as_missing_files() {
    let tar = Bag::plain().tar();
    let source = Source::from_stream(Box::new(Cursor::new(tar[..2000].to_vec())), Serialization::Tar, None);
    let scan = source.scan(&Limits::default(), &mut |_, _| Ok(())).unwrap();
    let report = check(&Kept::default(), &scan, &CheckOptions::default()).unwrap();
    assert_eq!((report.verdict, errors(&report)), (Verdict::Invalid, vec!["archive.truncated"]));
}

/// A stream that breaks in the middle, as a connection does.
struct Breaking(Cursor<Vec<u8>>, u64);

impl Read for Breaking {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.0.position() >= self.1 {
            return Err(std::io::ErrorKind::ConnectionReset.into());
        }
        let most = buffer.len().min(512);
        self.0.read(&mut buffer[..most])
    }
}

#[test]
fn a_stream_that_breaks_is_an_error_to_try_again_and_no_verdict_on_the_bag() {
    for at in [0, 512, 1600, 3000] {
        let source =
            Source::from_stream(Box::new(Breaking(Cursor::new(Bag::plain().tar()), at)), Serialization::Tar, None);
        let outcome =
            source.scan(&Limits::default(), &mut |_, reader| std::io::copy(reader, &mut std::io::sink()).map(drop));
        assert!(matches!(&outcome, Err(error @ BagError::Stream(_)) if error.is_transient()), "{at}: {outcome:?}");
    }
}
