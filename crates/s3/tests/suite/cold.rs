//! Storage classes whose contents cannot be read before they are restored.

use std::sync::Barrier;
use std::time::Duration;

use strongroom_s3_double::{Fault, Operation};
use strongroom_storage::{PutOptions, Retrieval, RetrievalRequest, StorageError, Store};

use crate::served::{declared, key, put, read, served};

fn for_two_days(tier: &str) -> RetrievalRequest {
    RetrievalRequest { days: 2, tier: tier.into() }
}

fn in_class(class: &str, bytes: &[u8]) -> PutOptions {
    PutOptions { class: Some(class.into()), ..declared(bytes) }
}

#[test]
fn what_is_put_has_the_class_that_was_asked_for() {
    let (_double, store) = served();
    assert_eq!(put(&store, "a", b"x").class.as_deref(), Some("STANDARD"));
    for (class, readable) in [("STANDARD_IA", true), ("GLACIER_IR", true), ("GLACIER", false), ("DEEP_ARCHIVE", false)]
    {
        let head = store.put(&key("a"), &mut &b"x"[..], &in_class(class, b"x")).unwrap();
        assert_eq!((head.class.as_deref(), head.readable), (Some(class), readable));
        assert_eq!(store.head(&key("a")).unwrap(), head);
        let large = crate::served::pattern((5 << 20) + 1, 1);
        let head = store.put(&key("b"), &mut large.as_slice(), &in_class(class, &large)).unwrap();
        assert_eq!((head.class.as_deref(), head.readable), (Some(class), readable));
        assert_eq!(store.head(&key("b")).unwrap(), head);
    }
    let refused = store.put(&key("c"), &mut &b"x"[..], &in_class("LUKEWARM", b"x"));
    assert!(!refused.unwrap_err().is_transient());
}

#[test]
fn cold_contents_are_attested_restored_and_read() {
    let (double, store) = served();
    let head = store.put(&key("k"), &mut &b"cold"[..], &in_class("GLACIER", b"cold")).unwrap();
    assert!(head.checksum.is_some(), "it is attested without being read");
    let error = store.open(&key("k"), 0, None).map(|_| ()).unwrap_err();
    assert!(matches!(&error, StorageError::NotReadable { class: Some(class), .. } if class == "GLACIER"), "{error}");
    assert!(!error.is_transient());
    assert_eq!(
        error.to_string(),
        "store primary: k is in storage class GLACIER and has to be retrieved before it can be read"
    );

    for _ in 0..2 {
        assert_eq!(store.request_retrieval(&key("k"), &for_two_days("Standard")).unwrap(), Retrieval::UnderWay);
    }
    assert_eq!(double.counts().of(Operation::RestoreObject), 1, "what is under way is not asked for again");
    assert!(!store.head(&key("k")).unwrap().readable);
    double.turn_clock(Duration::from_hours(5));
    assert!(store.head(&key("k")).unwrap().readable);
    assert_eq!(read(&store, "k"), b"cold");
    assert_eq!(store.request_retrieval(&key("k"), &for_two_days("Standard")).unwrap(), Retrieval::Readable);
    double.turn_clock(Duration::from_hours(72));
    assert!(!store.head(&key("k")).unwrap().readable, "the copy for reading has expired");
    assert_eq!(store.head(&key("k")).unwrap().class.as_deref(), Some("GLACIER"));
    assert_eq!(
        store.request_retrieval(&key("k"), &for_two_days("Standard")).unwrap(),
        Retrieval::UnderWay,
        "asked for anew"
    );
}

#[test]
fn a_retrieval_is_asked_for_once_where_the_answer_got_lost() {
    let (double, store) = served();
    store.put(&key("k"), &mut &b"cold"[..], &in_class("GLACIER", b"cold")).unwrap();
    double.plan(Operation::RestoreObject, 1, Fault::RefuseAfter);
    assert_eq!(store.request_retrieval(&key("k"), &for_two_days("Standard")).unwrap(), Retrieval::UnderWay);
}

#[test]
fn threads_that_want_one_content_at_once_ask_for_it_once() {
    let (double, store) = served();
    store.put(&key("k"), &mut &b"cold"[..], &in_class("GLACIER", b"cold")).unwrap();
    let together = Barrier::new(8);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                together.wait();
                assert_eq!(store.request_retrieval(&key("k"), &for_two_days("Standard")).unwrap(), Retrieval::UnderWay);
            });
        }
    });
    assert_eq!(double.counts().of(Operation::RestoreObject), 1);
}

#[test]
fn cold_contents_are_deleted_without_a_retrieval() {
    let (_double, store) = served();
    store.put(&key("k"), &mut &b"cold"[..], &in_class("DEEP_ARCHIVE", b"cold")).unwrap();
    store.delete(&key("k")).unwrap();
    assert!(store.head(&key("k")).unwrap_err().is_not_found());
}

#[test]
fn restoring_what_is_not_there_is_told() {
    let (_double, store) = served();
    assert!(store.request_retrieval(&key("none"), &for_two_days("Bulk")).unwrap_err().is_not_found());
    put(&store, "warm", b"x");
    assert_eq!(store.request_retrieval(&key("warm"), &for_two_days("Bulk")).unwrap(), Retrieval::Readable);
}
