//! Puts in parts: bounded memory, resumption, nothing left behind.

use std::io::{self, Read};
use std::panic::{self, AssertUnwindSafe};
use std::time::Duration;

use strongroom_digest::{Algorithm, MultiHasher};
use strongroom_s3::{S3Settings, S3Store, Swept};
use strongroom_s3_double::{Double, Fault, Operation, Rules};
use strongroom_storage::{PutCondition, PutOptions, StorageError, Store};

use crate::served::{declared, digest, key, list, pattern, put, read, served, served_by, settings};

const MIB: usize = 1 << 20;
const PART: usize = 5 * MIB;

/// Gives so many bytes, then what `end` says.
struct Interrupted<'a> {
    bytes: &'a [u8],
    end: fn() -> io::Result<usize>,
}

impl Read for Interrupted<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.bytes.is_empty() { (self.end)() } else { self.bytes.read(buffer) }
    }
}

fn broken() -> io::Result<usize> {
    Err(io::Error::other("the source broke"))
}

fn dies() -> io::Result<usize> {
    panic!("the process dies here")
}

/// The sizes of the parts of an object are told by its etag and checksum.
fn parts(double: &Double, name: &str) -> usize {
    let etag = double.stored(name).unwrap().etag;
    etag.split_once('-').map_or(1, |(_, count)| count.parse().unwrap())
}

#[test]
fn what_is_longer_than_a_part_comes_in_parts_and_is_vouched_for() {
    let (double, store) = served();
    for (length, count) in [(PART, 1), (PART + 1, 2), (2 * PART, 2), (2 * PART + 7, 3)] {
        let bytes = pattern(length, 3);
        let head = store.put(&key("large"), &mut bytes.as_slice(), &declared(&bytes)).unwrap();
        assert_eq!(parts(&double, "large"), count, "{length}");
        assert_eq!(head, store.head(&key("large")).unwrap());
        assert_eq!(head.size, length as u64);
        let algorithm = if count == 1 { Algorithm::Sha256 } else { Algorithm::Sha512 };
        assert_eq!(head.checksum, Some((algorithm, digest(algorithm, &bytes))));
        assert!(read(&store, "large") == bytes);
        let undeclared = store.put(&key("u"), &mut bytes.as_slice(), &PutOptions::default()).unwrap();
        assert_eq!(parts(&double, "u"), count);
        assert_eq!(undeclared.checksum.is_some(), count == 1, "nobody proved the whole of what came in parts");
        assert_eq!(undeclared, store.head(&key("u")).unwrap());
    }
    assert!(double.uploads().is_empty());
    assert_eq!(double.keys(), [".strongroom/probe.json", ".strongroom/store.json", "large", "u"]);
}

#[test]
fn a_service_without_composite_checksums_does_not_vouch_for_parts() {
    let (_double, store) = served_by(Rules { composite_checksums: false, ..Rules::AWS });
    let bytes = pattern(PART + 1, 3);
    let head = store.put(&key("large"), &mut bytes.as_slice(), &declared(&bytes)).unwrap();
    assert_eq!(head.checksum, None);
    assert_eq!(head, store.head(&key("large")).unwrap());
    assert!(read(&store, "large") == bytes);
}

#[test]
fn two_hundred_megabytes_pass_through_bounded_memory() {
    let double = Double::start().unwrap();
    let settings = S3Settings { parts_at_once: 2, ..settings(&double) };
    let store = S3Store::create("primary", settings).unwrap();
    let length = 200_000_000;
    let block = pattern(MIB + 13, 5);
    let body = || Repeated { block: &block, position: 0 }.take(length);
    let mut hasher = MultiHasher::new(&[Algorithm::Sha512]);
    let mut buffer = vec![0; MIB];
    let mut source = body();
    loop {
        let read = source.read(&mut buffer).unwrap();
        if read == 0 {
            break;
        }
        hasher.update(&buffer[..read]);
    }
    let sha512 = hasher.finish().get(Algorithm::Sha512).unwrap();
    let whole = PutOptions { digest: Some((Algorithm::Sha512, sha512)), size: Some(length), ..PutOptions::default() };
    for options in [whole, PutOptions::default()] {
        assert_eq!(store.put(&key("k"), &mut body(), &options).unwrap().size, length);
        let mut back = strongroom_digest::hash_reader(store.open(&key("k"), 0, None).unwrap(), &[Algorithm::Sha512]);
        assert_eq!(back.as_mut().unwrap().1.get(Algorithm::Sha512), Some(sha512));
        assert_eq!(double.take("k").unwrap().size(), length);
    }
    // One part being read beside two under way; a first part of an undeclared body may have room for twice its bytes.
    assert!(store.most_buffered() >= 2 * PART as u64, "{}", store.most_buffered());
    assert!(store.most_buffered() <= 5 * PART as u64, "{}", store.most_buffered());
}

/// The same block over and over.
struct Repeated<'a> {
    block: &'a [u8],
    position: usize,
}

impl Read for Repeated<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = (&self.block[self.position..]).read(buffer)?;
        self.position = (self.position + read) % self.block.len();
        Ok(read)
    }
}

#[test]
fn parts_that_are_not_as_declared_leave_nothing() {
    let (double, store) = served();
    let bytes = pattern(2 * PART + 9, 3);
    let mut wrong = bytes.clone();
    wrong[2 * PART] ^= 1;
    for body in [&wrong[..], &bytes[..2 * PART], &[&bytes[..], b"more"].concat()] {
        let refused = store.put(&key("k"), &mut &*body, &declared(&bytes));
        assert!(matches!(refused, Err(StorageError::Mismatch { .. })), "{refused:?}");
        assert!(double.uploads().is_empty());
        assert_eq!(double.keys(), [".strongroom/probe.json", ".strongroom/store.json"]);
    }
}

#[test]
fn a_source_that_breaks_leaves_nothing_of_what_was_not_declared() {
    let (double, store) = served();
    let bytes = pattern(2 * PART, 3);
    let refused = store.put(&key("k"), &mut Interrupted { bytes: &bytes, end: broken }, &PutOptions::default());
    assert!(matches!(refused, Err(StorageError::Source { .. })), "{refused:?}");
    assert!(double.uploads().is_empty());
    assert!(list(&store, "").is_empty());
}

#[test]
fn an_interrupted_put_of_the_same_content_is_gone_on_with() {
    let bytes = pattern(4 * PART + 11, 7);
    for end in [broken as fn() -> io::Result<usize>, dies] {
        let double = Double::start().unwrap();
        // With one part under way at a time, two lie there for sure when the fourth is read.
        let one_by_one = S3Settings { parts_at_once: 1, ..settings(&double) };
        let store = S3Store::create("primary", one_by_one).unwrap();
        let mut body = Interrupted { bytes: &bytes[..=3 * PART], end };
        let outcome =
            panic::catch_unwind(AssertUnwindSafe(|| store.put(&key("k"), &mut body, &declared(&bytes)).is_err()));
        assert_ne!(outcome.ok(), Some(false));
        drop(store);
        assert_eq!(double.uploads(), ["k"]);
        let sent = double.counts().bytes_in;
        // As another process, later.
        let store = S3Store::open("primary", settings(&double)).unwrap();
        let head = store.put(&key("k"), &mut bytes.as_slice(), &declared(&bytes)).unwrap();
        assert!(read(&store, "k") == bytes);
        assert_eq!(head.checksum, Some((Algorithm::Sha512, digest(Algorithm::Sha512, &bytes))));
        let sent_again = double.counts().bytes_in - sent;
        assert!(sent_again <= 2 * PART as u64 + 11, "{sent_again} bytes were sent again");
        assert!(double.uploads().is_empty());
        assert_eq!(list(&store, ""), ["k"]);
        assert_eq!(double.keys().len(), 3, "{:?}", double.keys());
    }
}

#[test]
fn parts_of_other_bytes_are_sent_again() {
    let (double, store) = served();
    let bytes = pattern(2 * PART + 1, 7);
    let mut wrong = bytes.clone();
    wrong[1] ^= 1;
    // It breaks before anybody sees that its bytes are not those declared.
    let mut body = Interrupted { bytes: &wrong[..2 * PART], end: broken };
    store.put(&key("k"), &mut body, &declared(&bytes)).unwrap_err();
    assert_eq!(double.uploads(), ["k"]);
    store.put(&key("k"), &mut bytes.as_slice(), &declared(&bytes)).unwrap();
    assert!(read(&store, "k") == bytes);
}

#[test]
fn what_is_larger_than_s3_takes_is_refused_before_it_is_sent() {
    let (double, store) = served();
    let bytes = pattern(PART + 1, 7);
    let options = PutOptions { size: Some((5 << 40) + 1), ..PutOptions::default() };
    let begun = double.counts().of(Operation::CreateMultipartUpload);
    let refused = store.put(&key("k"), &mut bytes.as_slice(), &options);
    assert!(matches!(refused, Err(StorageError::Unusable { .. })), "{refused:?}");
    assert_eq!(double.counts().of(Operation::CreateMultipartUpload), begun);
}

#[test]
fn an_object_of_which_the_service_answers_with_another_checksum_is_taken_back() {
    let (double, store) = served();
    for (length, operation) in [(9, Operation::PutObject), (PART + 1, Operation::CompleteMultipartUpload)] {
        let bytes = pattern(length, 7);
        double.plan(operation, 1, Fault::OtherChecksum);
        let refused = store.put(&key("k"), &mut bytes.as_slice(), &PutOptions::default());
        assert!(matches!(refused, Err(StorageError::Mismatch { .. })), "{refused:?}");
        assert!(double.stored("k").is_none());
    }
}

#[test]
fn an_upload_that_the_service_dropped_does_not_pass_for_an_unmet_condition() {
    let (double, store) = served();
    let bytes = pattern(PART + 1, 7);
    let options = PutOptions { condition: PutCondition::IfAbsent, ..declared(&bytes) };
    double.plan(Operation::CompleteMultipartUpload, 1, Fault::UploadGone);
    let failed = store.put(&key("k"), &mut bytes.as_slice(), &options).unwrap_err();
    assert!(failed.is_transient(), "{failed:?}");
    store.put(&key("k"), &mut bytes.as_slice(), &options).unwrap();
    assert!(read(&store, "k") == bytes);
}

#[test]
fn parts_under_way_arrive_when_the_source_breaks() {
    let (double, store) = served();
    let bytes = pattern(3 * PART + 1, 7);
    let mut body = Interrupted { bytes: &bytes[..3 * PART], end: broken };
    store.put(&key("k"), &mut body, &declared(&bytes)).unwrap_err();
    let sent = double.counts().bytes_in;
    store.put(&key("k"), &mut bytes.as_slice(), &declared(&bytes)).unwrap();
    // The third part was read, but the look for a byte behind it broke.
    assert!(double.counts().bytes_in - sent <= PART as u64 + 1_000, "{}", double.counts().bytes_in - sent);
}

#[test]
fn an_interrupted_put_of_other_content_is_left_alone_and_swept() {
    let (double, store) = served();
    let (first, second) = (pattern(2 * PART + 1, 1), pattern(2 * PART + 1, 2));
    let mut body = Interrupted { bytes: &first[..2 * PART], end: broken };
    store.put(&key("k"), &mut body, &declared(&first)).unwrap_err();
    store.put(&key("k"), &mut second.as_slice(), &declared(&second)).unwrap();
    assert!(read(&store, "k") == second);
    assert_eq!(double.uploads(), ["k"]);
    assert_eq!(store.sweep_uploads(Duration::from_hours(1)).unwrap(), Swept::default());
    assert_eq!(double.uploads(), ["k"]);
    assert_eq!(store.sweep_uploads(Duration::ZERO).unwrap(), Swept { uploads: 1, records: 1 });
    assert!(double.uploads().is_empty());
    assert_eq!(double.keys(), [".strongroom/probe.json", ".strongroom/store.json", "k"]);
    // What was swept is begun anew.
    store.put(&key("k"), &mut first.as_slice(), &declared(&first)).unwrap();
    assert!(read(&store, "k") == first);
}

#[test]
fn an_upload_that_was_dropped_by_the_service_is_begun_anew() {
    let (double, store) = served();
    let bytes = pattern(2 * PART + 1, 1);
    let mut body = Interrupted { bytes: &bytes[..2 * PART], end: broken };
    store.put(&key("k"), &mut body, &declared(&bytes)).unwrap_err();
    double.drop_uploads();
    store.put(&key("k"), &mut bytes.as_slice(), &declared(&bytes)).unwrap();
    assert!(read(&store, "k") == bytes);
}

#[test]
fn only_uploads_below_the_prefix_are_swept() {
    let double = Double::start().unwrap();
    let one = S3Store::create("one", S3Settings { prefix: "one".into(), ..settings(&double) }).unwrap();
    let other = S3Store::create("other", S3Settings { prefix: "other".into(), ..settings(&double) }).unwrap();
    let bytes = pattern(2 * PART + 1, 1);
    for store in [&one, &other] {
        let mut body = Interrupted { bytes: &bytes[..2 * PART], end: broken };
        store.put(&key("k"), &mut body, &declared(&bytes)).unwrap_err();
    }
    one.sweep_uploads(Duration::ZERO).unwrap();
    assert_eq!(double.uploads(), ["other/k"]);
}

#[test]
fn parts_and_completions_survive_passing_failures_and_lost_answers() {
    let (double, store) = served();
    let bytes = pattern(3 * PART, 1);
    double.plan(Operation::CreateMultipartUpload, 1, Fault::Refuse(503));
    double.plan(Operation::UploadPart, 1, Fault::Refuse(500));
    double.plan(Operation::UploadPart, 3, Fault::RefuseAfter);
    double.plan(Operation::CompleteMultipartUpload, 1, Fault::RefuseAfter);
    let head = store.put(&key("k"), &mut bytes.as_slice(), &declared(&bytes)).unwrap();
    assert_eq!(store.head(&key("k")).unwrap(), head);
    assert!(read(&store, "k") == bytes);
}

#[test]
fn large_conditional_puts_are_refused_before_and_after_they_are_sent() {
    let (double, store) = served();
    let bytes = pattern(PART + 1, 1);
    let conditional = |condition| PutOptions { condition, ..declared(&bytes) };
    put(&store, "k", b"there");
    let begun = double.counts().of(Operation::CreateMultipartUpload);
    let refused = store.put(&key("k"), &mut bytes.as_slice(), &conditional(PutCondition::IfAbsent));
    assert!(matches!(refused, Err(StorageError::Condition { .. })), "{refused:?}");
    assert_eq!(double.counts().of(Operation::CreateMultipartUpload), begun, "nothing was sent");
    let etag = store.head(&key("k")).unwrap().etag;
    // Somebody replaces the key while the parts are sent.
    let mut body = Replacing { bytes: &bytes, double: &double };
    let refused = store.put(&key("k"), &mut body, &conditional(PutCondition::IfMatch(etag)));
    assert!(matches!(refused, Err(StorageError::Condition { .. })), "{refused:?}");
    assert_eq!(read(&store, "k"), b"replaced");
    assert!(double.uploads().is_empty());
    // Or puts it, where nothing lay.
    store.delete(&key("k")).unwrap();
    let mut body = Replacing { bytes: &bytes, double: &double };
    let refused = store.put(&key("k"), &mut body, &conditional(PutCondition::IfAbsent));
    assert!(matches!(refused, Err(StorageError::Condition { .. })), "{refused:?}");
    assert_eq!(read(&store, "k"), b"replaced");
    assert!(double.uploads().is_empty());
    let etag = store.head(&key("k")).unwrap().etag;
    double.plan(Operation::CompleteMultipartUpload, 1, Fault::RefuseAfter);
    store.put(&key("k"), &mut bytes.as_slice(), &conditional(PutCondition::IfMatch(etag))).unwrap();
    assert!(read(&store, "k") == bytes);
}

/// Replaces the key in the bucket when the last byte is read.
struct Replacing<'a> {
    bytes: &'a [u8],
    double: &'a Double,
}

impl Read for Replacing<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.bytes.is_empty() {
            self.double.lay("k", b"replaced");
        }
        self.bytes.read(buffer)
    }
}
