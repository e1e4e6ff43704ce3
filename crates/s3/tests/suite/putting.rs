//! Puts in one request: what is declared of them, and what comes of faults on their way.

use std::time::Duration;

use strongroom_digest::Algorithm;
use strongroom_s3::{Checksums, S3Settings, S3Store};
use strongroom_s3_double::{Double, Fault, Operation, Rules};
use strongroom_storage::{PutCondition, PutOptions, StorageError, Store};

use crate::served::{declared, digest, key, list, put, read, served, served_by, settings};

fn if_absent() -> PutOptions {
    PutOptions { condition: PutCondition::IfAbsent, ..PutOptions::default() }
}

#[test]
fn the_service_vouches_for_what_was_put() {
    let (double, store) = served();
    let head = store.put(&key("a"), &mut &b"bytes"[..], &declared(b"bytes")).unwrap();
    let sha256 = digest(Algorithm::Sha256, b"bytes");
    assert!(store.capabilities().strong_checksum);
    assert_eq!(head.checksum, Some((Algorithm::Sha256, sha256)));
    assert_eq!(store.head(&key("a")).unwrap(), head);
    let stored = double.stored("a").unwrap();
    assert_eq!(stored.metadata["strongroom-sha512"], digest(Algorithm::Sha512, b"bytes").to_hex());
}

#[test]
fn a_service_that_does_not_check_does_not_vouch() {
    let (_double, store) = served_by(Rules { checks_digests: false, ..Rules::AWS });
    let head = put(&store, "a", b"bytes");
    assert!(!store.capabilities().strong_checksum);
    assert_eq!(head.checksum, None);
    assert_eq!(store.head(&key("a")).unwrap(), head);
}

#[test]
fn bytes_that_are_not_as_declared_are_not_sent() {
    let (double, store) = served();
    let before = double.counts().of(Operation::PutObject);
    let refused = store.put(&key("a"), &mut &b"other"[..], &declared(b"bytes"));
    assert!(matches!(refused, Err(StorageError::Mismatch { .. })), "{refused:?}");
    assert_eq!(double.counts().of(Operation::PutObject), before);
}

/// What comes in one request is vouched for by the service, by what it got.
#[test]
fn bytes_that_the_caller_reads_back_are_sent_as_they_are_in_one_request_and_compared_in_parts() {
    let (double, store) = served();
    let read_back = |bytes: &[u8]| PutOptions { size: Some(bytes.len() as u64), is_read_back: true, ..declared(bytes) };
    let head = store.put(&key("a"), &mut &b"other"[..], &read_back(b"bytes")).unwrap();
    let sent = digest(Algorithm::Sha256, b"other");
    assert_eq!(head.checksum, Some((Algorithm::Sha256, sent)));
    assert_eq!(store.head(&key("a")).unwrap().checksum, Some((Algorithm::Sha256, sent)));
    let (large, other) = (crate::served::pattern(6 << 20, 1), crate::served::pattern(6 << 20, 2));
    let refused = store.put(&key("large"), &mut other.as_slice(), &read_back(&large));
    assert!(matches!(refused, Err(StorageError::Mismatch { .. })), "{refused:?}");
    assert!(double.stored("large").is_none());
    let longer = store.put(&key("b"), &mut &b"longer"[..], &read_back(b"bytes"));
    assert!(matches!(longer, Err(StorageError::Mismatch { .. })), "{longer:?}");
}

#[test]
fn puts_go_without_sha256_where_the_settings_say_so() {
    for checksums in [Checksums::Md5, Checksums::None] {
        let double = Double::start().unwrap();
        let store = S3Store::create("primary", S3Settings { checksums, ..settings(&double) }).unwrap();
        let head = put(&store, "a", b"bytes");
        assert_eq!(store.head(&key("a")).unwrap(), head);
        assert_eq!(head.checksum, None);
        assert!(!store.capabilities().strong_checksum);
        assert_eq!(double.stored("a").unwrap().sha256, None);
        let large = crate::served::pattern(6 << 20, 1);
        store.put(&key("large"), &mut large.as_slice(), &declared(&large)).unwrap();
        assert!(read(&store, "large") == large);
    }
}

#[test]
fn every_body_goes_with_the_digest_that_the_settings_ask_for() {
    for (checksums, undeclared) in [(Checksums::Sha256, 0), (Checksums::Md5, 0), (Checksums::None, 3)] {
        let double = Double::start().unwrap();
        let store = S3Store::create("primary", S3Settings { checksums, ..settings(&double) }).unwrap();
        let before = double.counts().undeclared;
        put(&store, "a", b"bytes");
        put(&store, "large", &crate::served::pattern(6 << 20, 1));
        assert_eq!(double.counts().undeclared - before, undeclared, "{checksums:?}");
    }
}

#[test]
fn passing_failures_of_the_service_are_tried_again() {
    let (double, store) = served();
    for (nth, status) in [(1, 503), (2, 500), (3, 503)] {
        double.plan(Operation::PutObject, nth, Fault::Refuse(status));
    }
    put(&store, "a", b"bytes");
    assert_eq!(read(&store, "a"), b"bytes");
}

#[test]
fn attempts_come_to_an_end_with_the_name_of_the_request() {
    let (double, store) = served();
    double.always(Operation::PutObject, Some(Fault::Refuse(503)));
    let before = double.counts().of(Operation::PutObject);
    let error = store.put(&key("a"), &mut &b"bytes"[..], &PutOptions::default()).unwrap_err();
    assert!(error.is_transient(), "{error}");
    let why = std::error::Error::source(&error).unwrap().to_string();
    assert!(why.contains("SlowDown") && why.contains("503") && why.contains("double-"), "{why}");
    assert_eq!(error.to_string(), "store primary: could not put a");
    assert_eq!(double.counts().of(Operation::PutObject) - before, 5);
}

#[test]
fn what_is_not_permitted_is_not_tried_again() {
    let (double, store) = served();
    double.always(Operation::PutObject, Some(Fault::Refuse(403)));
    let before = double.counts().of(Operation::PutObject);
    let error = store.put(&key("a"), &mut &b"bytes"[..], &PutOptions::default()).unwrap_err();
    assert!(!error.is_transient(), "{error}");
    assert_eq!(double.counts().of(Operation::PutObject) - before, 1);
}

#[test]
fn a_conditional_put_whose_answer_was_lost_has_succeeded() {
    let (double, store) = served();
    double.plan(Operation::PutObject, 1, Fault::RefuseAfter);
    let head = store.put(&key("a"), &mut &b"first"[..], &if_absent()).unwrap();
    assert_eq!(store.head(&key("a")).unwrap(), head);
    double.plan(Operation::PutObject, 1, Fault::RefuseAfter);
    let matching = PutOptions { condition: PutCondition::IfMatch(head.etag), ..PutOptions::default() };
    store.put(&key("a"), &mut &b"second"[..], &matching).unwrap();
    assert_eq!(read(&store, "a"), b"second");
    let refused = store.put(&key("a"), &mut &b"third"[..], &if_absent());
    assert!(matches!(refused, Err(StorageError::Condition { .. })), "{refused:?}");
}

fn if_match(etag: &str) -> PutOptions {
    PutOptions { condition: PutCondition::IfMatch(etag.into()), ..PutOptions::default() }
}

fn is_refused(store: &S3Store, name: &str, options: &PutOptions) -> bool {
    match store.put(&key(name), &mut &b"refused"[..], options) {
        Err(StorageError::Condition { .. }) => true,
        Err(other) => panic!("not told as a condition: {other:?}"),
        Ok(_) => false,
    }
}

/// Where the client looks, another may come between its look and its put.
#[test]
fn conditions_are_left_to_a_service_that_honours_them() {
    for (rules, looks_for_absence, looks_for_match) in [
        (Rules::AWS, 0, 0),
        (Rules { if_match: false, ..Rules::AWS }, 0, 1),
        (Rules { if_none_match: false, ..Rules::AWS }, 1, 0),
    ] {
        let (double, store) = served_by(rules);
        let looks = |before: u64| double.counts().of(Operation::HeadObject) - before;
        let before = looks(0);
        let first = store.put(&key("a"), &mut &b"first"[..], &if_absent()).unwrap();
        assert_eq!(looks(before), looks_for_absence, "{rules:?}");
        assert!(is_refused(&store, "a", &if_absent()), "{rules:?}");
        let before = looks(0);
        store.put(&key("a"), &mut &b"second"[..], &if_match(&first.etag)).unwrap();
        assert_eq!(looks(before), looks_for_match, "{rules:?}");
        for name in ["a", "nothing lies here"] {
            assert!(is_refused(&store, name, &if_match(&first.etag)), "{rules:?}: {name}");
        }
        assert_eq!(read(&store, "a"), b"second");
        let before = looks(0);
        put(&store, "a", b"third");
        assert_eq!((looks(before), read(&store, "a").as_slice()), (0, &b"third"[..]));
    }
}

#[test]
fn a_failure_is_not_told_as_a_condition() {
    let (double, store) = served();
    let etag = put(&store, "a", b"bytes").etag;
    double.always(Operation::PutObject, Some(Fault::Refuse(403)));
    for (name, options) in [("a", PutOptions::default()), ("b", if_absent()), ("a", if_match(&etag))] {
        let error = store.put(&key(name), &mut &b"other"[..], &options).unwrap_err();
        assert!(matches!(error, StorageError::Io { .. }), "{options:?}: {error:?}");
    }
}

#[test]
fn the_encryption_of_the_settings_is_asked_for() {
    for encryption in [None, Some("AES256".to_owned())] {
        let double = Double::start().unwrap();
        let asked = S3Settings { encryption: encryption.clone(), ..settings(&double) };
        let store = S3Store::create("primary", asked).unwrap();
        put(&store, "a", b"bytes");
        let large = crate::served::pattern(6 << 20, 1);
        store.put(&key("large"), &mut large.as_slice(), &declared(&large)).unwrap();
        for name in ["a", "large"] {
            assert_eq!(double.stored(name).unwrap().encryption, encryption, "{name}");
        }
    }
}

#[test]
fn an_answer_has_time_for_the_bytes_that_were_sent() {
    let (double, store) = served();
    drop(store);
    let settings = S3Settings { answer_timeout: Duration::from_millis(500), ..settings(&double) };
    let store = S3Store::open("primary", settings).unwrap();
    for operation in [Operation::PutObject, Operation::UploadPart, Operation::CompleteMultipartUpload] {
        double.always(operation, Some(Fault::Late(Duration::from_secs(1))));
    }
    let whole = crate::served::pattern(1 << 20, 1);
    store.put(&key("whole"), &mut whole.as_slice(), &PutOptions::default()).unwrap();
    let large = crate::served::pattern(10 << 20, 1);
    store.put(&key("large"), &mut large.as_slice(), &PutOptions::default()).unwrap();
}

#[test]
fn conditions_are_looked_at_where_the_service_ignores_them() {
    let (_double, store) = served_by(Rules::GARAGE);
    assert!(!store.capabilities().conditional_put);
    let head = store.put(&key("a"), &mut &b"first"[..], &if_absent()).unwrap();
    let stale = PutOptions { condition: PutCondition::IfMatch("stale".into()), ..PutOptions::default() };
    for options in [if_absent(), stale.clone()] {
        let refused = store.put(&key("a"), &mut &b"second"[..], &options);
        assert!(matches!(refused, Err(StorageError::Condition { .. })), "{refused:?}");
    }
    let absent = store.put(&key("b"), &mut &b"second"[..], &stale);
    assert!(matches!(absent, Err(StorageError::Condition { .. })), "{absent:?}");
    let matching = PutOptions { condition: PutCondition::IfMatch(head.etag), ..PutOptions::default() };
    store.put(&key("a"), &mut &b"second"[..], &matching).unwrap();
    assert_eq!(read(&store, "a"), b"second");
}

#[test]
fn an_etag_that_cannot_be_one_never_matches() {
    let (_double, store) = served();
    put(&store, "a", b"bytes");
    for etag in ["", "\"quoted\"", "a\nb", "a b", "\u{e9}"] {
        let options = PutOptions { condition: PutCondition::IfMatch(etag.into()), ..PutOptions::default() };
        let refused = store.put(&key("a"), &mut &b"x"[..], &options);
        assert!(matches!(refused, Err(StorageError::Condition { .. })), "{etag:?}: {refused:?}");
        assert!(!store.delete_match(&key("a"), etag, &strongroom_storage::Key::ROOT).unwrap());
    }
    assert_eq!(read(&store, "a"), b"bytes");
}

#[test]
fn keys_of_any_script_and_sign_come_back_over_each_service() {
    for rules in [Rules::AWS, Rules { encodes_keys: false, ..Rules::AWS }] {
        let (double, store) = served_by(rules);
        let mut names = [
            "\u{6587}\u{5e93}/\u{30a2}\u{30fc}\u{30ab}\u{30a4}\u{30d6}",
            "\u{0430}\u{0440}\u{0445}\u{0438}\u{0432} \u{2116}1",
            "\u{200f}\u{05d0}/\u{0627}",
            "a+b c%20d%2Fe",
            "?&=#[]@!$'()*,;:",
            "~tilde/-dash/_under/.dot/...",
            "\u{1f4da}/\u{10ffff}",
            "back\\slash/\"quote\"/<tag>&amp;",
            " blanks at both ends ",
        ];
        for name in names {
            put(&store, name, name.as_bytes());
            assert!(double.stored(name).is_some(), "{name} lies under another name");
            assert_eq!(read(&store, name), name.as_bytes());
        }
        names.sort_unstable();
        assert_eq!(list(&store, ""), names);
        for name in names {
            store.delete(&key(name)).unwrap();
        }
        assert!(list(&store, "").is_empty());
    }
}

#[test]
fn a_key_too_long_with_its_prefix_is_refused() {
    let double = Double::start().unwrap();
    let store = S3Store::create("primary", S3Settings { prefix: "p/q".into(), ..settings(&double) }).unwrap();
    let fitting = vec!["s".repeat(255); 3].join("/") + "/" + &"t".repeat(252);
    put(&store, &fitting, b"x");
    assert_eq!(list(&store, ""), [fitting.as_str()]);
    let refused = store.put(&key(&(fitting + "u")), &mut &b"x"[..], &PutOptions::default());
    assert!(matches!(refused, Err(StorageError::Unusable { .. })), "{refused:?}");
}
