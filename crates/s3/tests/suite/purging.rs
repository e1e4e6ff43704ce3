//! Removal for good: no version, no marker and no part is left, and what the service locks is told before and refused.

use std::io::Read;
use std::time::{Duration, SystemTime};

use strongroom_s3::{S3Settings, S3Store};
use strongroom_s3_double::{Double, Fault, Mode, Operation, Rules, VersionListing, VersionSeen};
use strongroom_storage::{Key, PutOptions, RetentionMode, StorageError, Store};

use crate::served::{declared, key, list, pattern, put, read, served_by, settings};

const HOUR: Duration = Duration::from_hours(1);

/// What lies in the bucket below the store's keys of this name.
fn versions(double: &Double, name: &str) -> Vec<VersionSeen> {
    double.versions().into_iter().filter(|version| version.key.starts_with(name)).collect()
}

fn count(double: &Double, name: &str) -> usize {
    versions(double, name).len()
}

/// A bucket that keeps versions, whose store has one key that was replaced, deleted, and put again, beside others.
fn with_history(rules: Rules) -> (Double, S3Store) {
    let (double, store) = served_by(rules);
    for bytes in [b"one", b"two"] {
        put(&store, "a/k", bytes);
    }
    store.delete(&key("a/k")).unwrap();
    put(&store, "a/k", b"three");
    put(&store, "a/k-2", b"other");
    put(&store, "a/k/below", b"other");
    assert_eq!(count(&double, "a/k"), 6);
    (double, store)
}

#[test]
fn a_deletion_keeps_the_bytes_and_a_purge_does_not() {
    let (double, store) = with_history(Rules::VERSIONED);
    store.delete(&key("a/k")).unwrap();
    assert_eq!(count(&double, "a/k"), 7, "a marker, and every version behind it");
    store.purge(&key("a/k")).unwrap();
    let left: Vec<String> = versions(&double, "a").into_iter().map(|version| version.key).collect();
    assert_eq!(left, ["a/k-2", "a/k/below"]);
    assert_eq!(read(&store, "a/k/below"), b"other");
}

#[test]
fn every_version_goes_whatever_pages_they_come_on() {
    for most in [1, 2, 3, 1000] {
        let (double, store) = with_history(Rules { lists_versions: VersionListing::Pages(most), ..Rules::VERSIONED });
        store.purge(&key("a/k")).unwrap();
        assert_eq!(count(&double, "a"), 2, "{most}");
        store.purge_all(&key("a")).unwrap();
        assert_eq!(count(&double, "a"), 0, "{most}");
        store.purge_all(&key("a")).unwrap();
    }
}

#[test]
fn more_versions_than_one_request_removes_go_from_below_a_prefix() {
    let (double, store) = served_by(Rules::VERSIONED);
    for round in 0..3 {
        for nth in 0..500 {
            double.lay(&format!("p/{nth}"), format!("{round}").as_bytes());
        }
    }
    double.lay("pq", b"x");
    assert_eq!(count(&double, "p/"), 1_500);
    store.purge_all(&key("p")).unwrap();
    assert_eq!((count(&double, "p/"), count(&double, "pq")), (0, 1));
}

#[test]
fn what_was_replaced_goes_and_what_is_there_stays() {
    for most in [1, 2, 1000] {
        let (double, store) = with_history(Rules { lists_versions: VersionListing::Pages(most), ..Rules::VERSIONED });
        let before = store.head(&key("a/k")).unwrap();
        store.purge_replaced(&key("a/k")).unwrap();
        assert_eq!(count(&double, "a/k"), 3, "{most}");
        assert_eq!((store.head(&key("a/k")).unwrap(), read(&store, "a/k")), (before, b"three".to_vec()));
    }
}

#[test]
fn a_bucket_that_keeps_versions_no_more_is_purged_of_those_it_kept() {
    let (double, store) = with_history(Rules::VERSIONED);
    double.set_rules(Rules::AWS);
    store.purge(&key("a/k")).unwrap();
    store.purge_all(&key("a")).unwrap();
    assert_eq!(count(&double, "a"), 0);
}

#[test]
fn services_without_versions_are_purged_by_plain_deletions() {
    for lists_versions in [VersionListing::Right, VersionListing::Empty, VersionListing::Unknown] {
        let (double, store) = served_by(Rules { lists_versions, ..Rules::AWS });
        for name in ["a/k", "a/k-2", "a/k/below", "b"] {
            put(&store, name, b"x");
        }
        store.purge(&key("a/k")).unwrap();
        store.purge_replaced(&key("a/k-2")).unwrap();
        assert_eq!(list(&store, ""), ["a/k-2", "a/k/below", "b"]);
        store.purge_all(&key("a")).unwrap();
        assert_eq!(list(&store, ""), ["b"]);
        assert_eq!(store.removal_hold(&key("b")).unwrap(), None);
        assert!(double.keys().iter().all(|key| !key.starts_with("a/")));
    }
}

#[test]
fn versions_that_may_not_be_listed_are_no_reason_to_think_that_there_are_none() {
    let (double, store) = with_history(Rules::VERSIONED);
    double.always(Operation::ListObjectVersions, Some(Fault::Refuse(403)));
    for refused in [store.purge(&key("a/k")), store.purge_all(&key("a")), store.purge_replaced(&key("a/k"))] {
        let error = refused.unwrap_err();
        assert!(!error.is_transient() && !error.is_held(), "{error:?}");
    }
    assert_eq!(count(&double, "a/k"), 6, "nothing was removed, nor hidden");
}

#[test]
fn an_older_version_is_never_seen_whenever_a_purge_ends() {
    for nth in 1..=3 {
        let (double, store) = with_history(Rules::VERSIONED);
        double.plan(Operation::DeleteObjects, nth, Fault::Refuse(403));
        let outcome = store.purge(&key("a/k"));
        match store.open(&key("a/k"), 0, None) {
            Ok(mut body) => {
                let mut bytes = Vec::new();
                body.read_to_end(&mut bytes).unwrap();
                assert_eq!(bytes, b"three");
                assert!(outcome.is_err());
            }
            Err(error) => assert!(error.is_not_found(), "{error:?}"),
        }
        store.purge(&key("a/k")).unwrap();
        assert_eq!(count(&double, "a"), 2);
    }
}

#[test]
fn lost_answers_and_failures_that_pass_are_no_matter() {
    let (double, store) = with_history(Rules::VERSIONED);
    for operation in [Operation::ListObjectVersions, Operation::DeleteObjects, Operation::ListMultipartUploads] {
        double.plan(operation, 1, Fault::RefuseAfter);
        double.plan(operation, 3, Fault::Refuse(503));
    }
    store.purge_all(&key("a")).unwrap();
    assert_eq!(count(&double, "a"), 0);
}

#[test]
fn parts_of_unfinished_uploads_go_with_their_key() {
    let (double, store) = served_by(Rules::VERSIONED);
    let bytes = pattern((12 << 20) + 5, 1);
    for name in ["a/k", "a/k-2"] {
        let body = &mut (&bytes[..11 << 20]).chain(Broken);
        assert!(matches!(store.put(&key(name), body, &declared(&bytes)), Err(StorageError::Source { .. })));
    }
    assert_eq!(double.uploads(), ["a/k", "a/k-2"]);
    store.purge(&key("a/k")).unwrap();
    assert_eq!(double.uploads(), ["a/k-2"]);
    store.purge_all(&key("a")).unwrap();
    assert!(double.uploads().is_empty());
    store.put(&key("a/k"), &mut bytes.as_slice(), &declared(&bytes)).unwrap();
}

struct Broken;

impl Read for Broken {
    fn read(&mut self, _buffer: &mut [u8]) -> std::io::Result<usize> {
        Err(std::io::Error::other("the source broke"))
    }
}

#[test]
fn archived_versions_are_purged_without_a_retrieval() {
    let (double, store) = served_by(Rules::VERSIONED);
    for class in ["GLACIER", "DEEP_ARCHIVE"] {
        let options = PutOptions { class: Some(class.into()), ..declared(b"cold") };
        store.put(&key("a/k"), &mut &b"cold"[..], &options).unwrap();
    }
    store.purge(&key("a/k")).unwrap();
    assert_eq!((count(&double, "a"), double.counts().of(Operation::RestoreObject)), (0, 0));
}

#[test]
fn keys_that_xml_cannot_express_are_purged() {
    let (double, store) = served_by(Rules::VERSIONED);
    for _ in 0..2 {
        double.lay("a/\u{1}x", b"strange");
        double.lay("a/b c+d\u{e9}", b"strange");
    }
    store.purge_all(&key("a")).unwrap();
    assert_eq!(count(&double, "a"), 0);
}

#[test]
fn a_retention_of_any_version_is_told_and_refuses_the_removal_until_it_ends() {
    for (mode, told) in [(Mode::Governance, RetentionMode::Governance), (Mode::Compliance, RetentionMode::Compliance)] {
        let (double, store) = served_by(Rules::LOCKED);
        put(&store, "a/k", b"one");
        double.retain("a/k", mode, 2 * HOUR);
        put(&store, "a/k", b"two");
        put(&store, "a/l", b"free");
        for hold in [store.removal_hold(&key("a/k")), store.removal_hold_below(&key("a"))] {
            let hold = hold.unwrap().expect("a hold");
            assert_eq!((hold.key.as_str(), hold.has_legal_hold), ("a/k", false));
            let retention = hold.retention.expect("a retention");
            assert_eq!(retention.mode, told);
            let now = SystemTime::now();
            assert!(now + HOUR < retention.until && retention.until < now + 3 * HOUR, "{retention:?}");
            assert!(hold.forbids_at(now) && !hold.forbids_at(now + 3 * HOUR));
        }
        assert_eq!(store.removal_hold(&key("a/l")).unwrap(), None);
        for refused in [store.purge(&key("a/k")), store.purge_all(&key("a")), store.purge_replaced(&key("a/k"))] {
            let error = refused.unwrap_err();
            assert!(error.is_held() && !error.is_transient(), "{error:?}");
            let text = error.to_string();
            assert!(
                text.starts_with("store primary: a/k cannot be removed: the service retains it until 20"),
                "{text}"
            );
        }
        assert_eq!(read(&store, "a/k"), b"two", "the last version goes last");
        double.turn_clock(3 * HOUR);
        assert!(!store.removal_hold(&key("a/k")).unwrap().unwrap().forbids_at(SystemTime::now() + 3 * HOUR));
        store.purge_all(&key("a")).unwrap();
        assert_eq!(count(&double, "a"), 0);
    }
}

#[test]
fn a_legal_hold_is_told_and_refuses_the_removal() {
    let (double, store) = served_by(Rules::LOCKED);
    put(&store, "a/k", b"one");
    double.hold("a/k", true);
    store.delete(&key("a/k")).unwrap();
    let hold = store.removal_hold(&key("a/k")).unwrap().expect("a version behind the marker");
    assert_eq!((hold.has_legal_hold, hold.retention), (true, None));
    let error = store.purge(&key("a/k")).unwrap_err();
    assert!(error.is_held() && error.to_string().contains("legal hold"), "{error}");
    assert_eq!(count(&double, "a/k"), 2);
}

#[test]
fn what_the_bucket_retains_by_itself_is_told() {
    let (double, store) = served_by(Rules::LOCKED);
    double.retain_by_default(Some((Mode::Compliance, 24 * HOUR)));
    let large = pattern((5 << 20) + 1, 1);
    store.put(&key("a/large"), &mut large.as_slice(), &declared(&large)).unwrap();
    put(&store, "a/small", b"x");
    for name in ["a/large", "a/small"] {
        assert!(store.removal_hold(&key(name)).unwrap().unwrap().forbids_at(SystemTime::now() + HOUR), "{name}");
        assert!(store.purge(&key(name)).unwrap_err().is_held(), "{name}");
    }
}

#[test]
fn what_may_not_be_asked_is_an_error_and_never_none() {
    let (double, store) = served_by(Rules::LOCKED);
    put(&store, "a/k", b"x");
    for operation in [Operation::GetObjectRetention, Operation::GetObjectLegalHold, Operation::ListObjectVersions] {
        double.always(operation, Some(Fault::Refuse(403)));
        for asked in [store.removal_hold(&key("a/k")), store.removal_hold_below(&key("a"))] {
            let error = asked.unwrap_err();
            assert!(!error.is_transient(), "{operation:?}: {error:?}");
        }
        double.always(operation, None);
    }
    // Whether the bucket has locks is asked to ask less, so its silence is made good by asking for each version.
    double.always(Operation::GetObjectLockConfiguration, Some(Fault::Refuse(403)));
    assert_eq!(store.removal_hold(&key("a/k")).unwrap(), None);
    double.hold("a/k", true);
    assert!(store.removal_hold(&key("a/k")).unwrap().is_some());
    double.always(Operation::GetObjectRetention, Some(Fault::Refuse(403)));
    let error = store.purge(&key("a/k")).unwrap_err();
    assert!(error.is_held() && error.to_string().contains("protected by object lock"), "{error}");
}

#[test]
fn a_bucket_without_locks_is_asked_once() {
    let (double, store) = served_by(Rules::VERSIONED);
    put(&store, "a/k", b"x");
    let before = double.counts().all();
    assert_eq!(store.removal_hold_below(&key("a")).unwrap(), None);
    assert_eq!(double.counts().all() - before, 1);
}

#[test]
fn holds_below_a_prefix_are_found_on_every_page() {
    let (double, store) = served_by(Rules { lists_versions: VersionListing::Pages(20), ..Rules::LOCKED });
    for nth in 0..50 {
        double.lay(&format!("a/{nth:02}"), b"x");
    }
    double.retain("a/07", Mode::Governance, HOUR);
    double.retain("a/33", Mode::Governance, 2 * HOUR);
    double.lay("a/33", b"newer");
    double.hold("b", true);
    let hold = store.removal_hold_below(&key("a")).unwrap().expect("a hold");
    assert_eq!((hold.key.as_str(), hold.has_legal_hold), ("a/33", false));
}

#[test]
fn a_store_that_lies_elsewhere_now_is_not_purged() {
    let (double, store) = with_history(Rules::VERSIONED);
    let suspicious = S3Store::open("again", S3Settings { id_interval: Duration::ZERO, ..settings(&double) }).unwrap();
    double.take(".strongroom/store.json");
    assert!(suspicious.purge_all(&key("a")).is_err());
    assert!(store.purge_all(&Key::ROOT).is_err());
    assert_eq!(count(&double, "a/k"), 6);
    double.drop_bucket();
    assert!(store.purge(&key("a/k")).unwrap_err().is_away());
    assert!(store.removal_hold(&key("a/k")).unwrap_err().is_away());
}
