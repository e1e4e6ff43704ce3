//! Reading over a connection that is cut, stands still, or is slow.

use std::io::Read;
use std::time::Duration;

use strongroom_s3::{S3Settings, S3Store};
use strongroom_s3_double::{Double, Fault, Operation};
use strongroom_storage::Store;

use crate::served::{key, pattern, put, read, served, settings};

#[test]
fn a_body_that_is_cut_is_gone_on_with() {
    let (double, store) = served();
    let bytes = pattern(1_000_000, 1);
    put(&store, "k", &bytes);
    for (nth, after) in [(1, 0), (2, 100_000), (3, 1), (4, 700_000)] {
        double.plan(Operation::GetObject, nth, Fault::Torn { after });
    }
    assert!(read(&store, "k") == bytes);
    let mut range = Vec::new();
    double.plan(Operation::GetObject, 1, Fault::Torn { after: 10 });
    store.open(&key("k"), 1_000, Some(50_000)).unwrap().read_to_end(&mut range).unwrap();
    assert!(range == bytes[1_000..51_000]);
    let mut rest = Vec::new();
    double.plan(Operation::GetObject, 1, Fault::Torn { after: 10 });
    store.open(&key("k"), 999_000, None).unwrap().read_to_end(&mut rest).unwrap();
    assert!(rest == bytes[999_000..]);
}

#[test]
fn a_body_that_is_cut_ever_again_is_an_error() {
    let (double, store) = served();
    put(&store, "k", &pattern(100_000, 1));
    let mut body = store.open(&key("k"), 0, None).unwrap();
    for after in [0, 1, 10_000] {
        double.always(Operation::GetObject, Some(Fault::Torn { after }));
        let before = double.counts().of(Operation::GetObject);
        let mut cut = store.open(&key("k"), 0, None).unwrap();
        cut.read_to_end(&mut Vec::new()).unwrap_err();
        assert_eq!(double.counts().of(Operation::GetObject) - before, 5);
    }
    // What was opened before comes to its end.
    assert_eq!(body.read_to_end(&mut Vec::new()).unwrap(), 100_000);
}

#[test]
fn a_body_that_was_replaced_is_not_gone_on_with() {
    let (double, store) = served();
    put(&store, "k", &pattern(100_000, 1));
    double.plan(Operation::GetObject, 1, Fault::Torn { after: 50_000 });
    let mut body = store.open(&key("k"), 0, None).unwrap();
    double.lay("k", &pattern(100_000, 2));
    let error = body.read_to_end(&mut Vec::new()).unwrap_err();
    assert!(error.to_string().contains("replaced"), "{error}");
    double.plan(Operation::GetObject, 1, Fault::Torn { after: 50_000 });
    let mut body = store.open(&key("k"), 0, None).unwrap();
    double.take("k");
    let error = body.read_to_end(&mut Vec::new()).unwrap_err();
    assert!(error.to_string().contains("removed"), "{error}");
}

#[test]
fn a_body_that_stands_still_is_asked_for_anew() {
    let double = Double::start().unwrap();
    let settings = S3Settings { stall_timeout: Duration::from_millis(200), ..settings(&double) };
    let store = S3Store::create("primary", settings).unwrap();
    let bytes = pattern(300_000, 1);
    put(&store, "k", &bytes);
    double.plan(Operation::GetObject, 1, Fault::Stalled { after: 0 });
    double.plan(Operation::GetObject, 2, Fault::Stalled { after: 120_000 });
    assert!(read(&store, "k") == bytes);
}

#[test]
fn a_slow_body_is_read_to_its_end() {
    // All of it takes longer than the patience with a body that stands still, no piece does.
    let double = Double::start().unwrap();
    let settings = S3Settings { stall_timeout: Duration::from_secs(2), attempts: 1, ..settings(&double) };
    let store = S3Store::create("primary", settings).unwrap();
    let bytes = pattern(100_000, 1);
    put(&store, "k", &bytes);
    double.plan(Operation::GetObject, 1, Fault::Slow { piece: 10_000, pause: Duration::from_millis(250) });
    assert!(read(&store, "k") == bytes);
}

#[test]
fn a_request_that_is_not_answered_in_time_is_tried_again() {
    let double = Double::start().unwrap();
    let settings = S3Settings { answer_timeout: Duration::from_millis(500), ..settings(&double) };
    let store = S3Store::create("primary", settings).unwrap();
    put(&store, "k", b"bytes");
    double.plan(Operation::HeadObject, 1, Fault::Late(Duration::from_mins(10)));
    assert_eq!(store.head(&key("k")).unwrap().size, 5);
}

#[test]
fn nothing_is_read_past_the_end_and_from_what_is_not_there() {
    let (_double, store) = served();
    put(&store, "k", b"bytes");
    for (offset, length) in [(5, None), (6, Some(1)), (u64::MAX, Some(u64::MAX)), (0, Some(0))] {
        let mut bytes = Vec::new();
        store.open(&key("k"), offset, length).unwrap().read_to_end(&mut bytes).unwrap();
        assert!(bytes.is_empty(), "{offset} {length:?}");
        assert!(store.open(&key("none"), offset, length).map(|_| ()).unwrap_err().is_not_found());
    }
}
