//! Content items: put, read and deleted.

use std::io::Read;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use strongroom_digest::Algorithm;
use strongroom_storage::{PutCondition, Removal, Retrieval, RetrievalRequest, StorageError};

use super::{Breaking, digest, is_absent, key, list, pattern, put, read, space};
use crate::{ItemPut, ListedName, PlainStore};

/// More than one part of a put in parts.
const LARGE: usize = (11 << 20) + 7;

pub(super) fn what_is_put_is_read(store: &dyn PlainStore) {
    let alpha = space(store, "alpha");
    let digests = [Algorithm::Md5, Algorithm::Sha256, Algorithm::Sha512].map(|algorithm| digest(algorithm, b"bytes"));
    let how = ItemPut { size: Some(5), digests: digests.into(), ..ItemPut::default() };
    let head = store.put(&alpha, &key("a/b"), &mut &b"bytes"[..], &how).expect("a put");
    let found = store.head(&alpha, &key("a/b")).expect("a head");
    assert_eq!((head.size, &head.etag), (5, &found.etag));
    assert_eq!((found.size, found.is_readable, found.is_archived), (5, true, false));
    assert!(found.modified.is_some());
    for (algorithm, stated) in &found.checksums {
        assert_eq!((*algorithm, *stated), digest(*algorithm, b"bytes"));
    }
    assert_eq!(read(store, &alpha, "a/b"), b"bytes");
}

pub(super) fn nothing_is_found_where_nothing_was_put(store: &dyn PlainStore) {
    let alpha = space(store, "alpha");
    put(store, &alpha, "a/b", b"x");
    for name in ["a", "b", "a/b/c", "a/c"] {
        assert!(is_absent(&store.head(&alpha, &key(name))), "{name}");
        assert!(is_absent(&store.open(&alpha, &key(name), "x")), "{name}");
        assert_eq!(store.delete(&alpha, &key(name), "x").expect("an answer"), Removal::Absent, "{name}");
    }
    assert_eq!(list(store, &alpha, &ListedName::START), ["a/b"]);
}

pub(super) fn an_empty_body_is_kept(store: &dyn PlainStore) {
    let alpha = space(store, "alpha");
    let how = ItemPut { size: Some(0), digests: vec![digest(Algorithm::Sha256, b"")], ..ItemPut::default() };
    let head = store.put(&alpha, &key("a"), &mut &b""[..], &how).expect("a put");
    assert_eq!(head.size, 0);
    assert_eq!(read(store, &alpha, "a"), b"");
}

pub(super) fn a_large_body_is_kept(store: &dyn PlainStore) {
    let alpha = space(store, "alpha");
    let bytes = pattern(LARGE, 1);
    for size in [None, Some(bytes.len() as u64)] {
        let how = ItemPut { size, digests: vec![digest(Algorithm::Sha512, &bytes)], ..ItemPut::default() };
        let head = store.put(&alpha, &key("large"), &mut bytes.as_slice(), &how).expect("a put");
        let found = store.head(&alpha, &key("large")).expect("a head");
        assert_eq!((head.size, head.etag), (bytes.len() as u64, found.etag));
        for (algorithm, stated) in &found.checksums {
            assert_eq!(
                (*algorithm, *stated),
                digest(*algorithm, &bytes),
                "no digest of parts passes for one of the whole"
            );
        }
        assert!(read(store, &alpha, "large") == bytes);
    }
}

pub(super) fn a_put_replaces(store: &dyn PlainStore) {
    let alpha = space(store, "alpha");
    let first = put(store, &alpha, "a", b"one");
    let second = put(store, &alpha, "a", b"two!");
    assert_ne!(first.etag, second.etag);
    assert_eq!(read(store, &alpha, "a"), b"two!");
    assert_eq!(list(store, &alpha, &ListedName::START), ["a"]);
}

fn refuses(store: &dyn PlainStore, bytes: &[u8], how: &ItemPut) {
    let alpha = space(store, "alpha");
    let refused = store.put(&alpha, &key("new"), &mut &*bytes, how);
    assert!(matches!(refused, Err(StorageError::Mismatch { .. })), "{refused:?}");
    assert!(list(store, &alpha, &ListedName::START).is_empty());
    let old = put(store, &alpha, "old", b"old");
    let refused = store.put(&alpha, &key("old"), &mut &*bytes, how);
    assert!(matches!(refused, Err(StorageError::Mismatch { .. })), "{refused:?}");
    assert_eq!(store.head(&alpha, &key("old")).expect("a head").etag, old.etag);
    assert_eq!(list(store, &alpha, &ListedName::START), ["old"]);
}

pub(super) fn a_wrong_digest_leaves_nothing(store: &dyn PlainStore) {
    let digests = vec![digest(Algorithm::Md5, b"bytes"), digest(Algorithm::Sha256, b"others")];
    refuses(store, b"bytes", &ItemPut { digests, ..ItemPut::default() });
}

pub(super) fn a_wrong_size_leaves_nothing(store: &dyn PlainStore) {
    for size in [4, 6] {
        refuses(store, b"bytes", &ItemPut { size: Some(size), ..ItemPut::default() });
        let alpha = space(store, "alpha");
        let etag = store.head(&alpha, &key("old")).expect("a head").etag;
        store.delete(&alpha, &key("old"), &etag).expect("an answer");
    }
}

pub(super) fn a_large_body_that_is_wrong_leaves_nothing(store: &dyn PlainStore) {
    let bytes = pattern(LARGE, 1);
    let wrong = vec![digest(Algorithm::Sha256, b"others")];
    refuses(store, &bytes, &ItemPut { digests: wrong, size: Some(bytes.len() as u64), ..ItemPut::default() });
}

pub(super) fn a_failing_source_leaves_what_was_there(store: &dyn PlainStore) {
    let alpha = space(store, "alpha");
    let bytes = pattern(LARGE, 1);
    put(store, &alpha, "old", b"old");
    for part in [0, 5, LARGE] {
        for name in ["new", "old"] {
            let refused = store.put(&alpha, &key(name), &mut Breaking(&bytes[..part]), &ItemPut::default());
            assert!(matches!(refused, Err(StorageError::Source { .. })), "{refused:?}");
        }
    }
    assert_eq!(read(store, &alpha, "old"), b"old");
    assert_eq!(list(store, &alpha, &ListedName::START), ["old"]);
}

pub(super) fn an_absent_key_is_made_once(store: &dyn PlainStore) {
    let alpha = space(store, "alpha");
    let how = ItemPut { condition: PutCondition::IfAbsent, ..ItemPut::default() };
    let head = store.put(&alpha, &key("a"), &mut &b"one"[..], &how).expect("a put");
    let refused = store.put(&alpha, &key("a"), &mut &b"two"[..], &how);
    assert!(matches!(refused, Err(StorageError::Condition { .. })), "{refused:?}");
    assert_eq!(read(store, &alpha, "a"), b"one");
    store.delete(&alpha, &key("a"), &head.etag).expect("an answer");
    store.put(&alpha, &key("a"), &mut &b"three"[..], &how).expect("a put");
}

pub(super) fn a_matching_etag_permits_one_put(store: &dyn PlainStore) {
    let alpha = space(store, "alpha");
    let first = put(store, &alpha, "a", b"one");
    let how = ItemPut { condition: PutCondition::IfMatch(first.etag), ..ItemPut::default() };
    store.put(&alpha, &key("a"), &mut &b"two"[..], &how).expect("a put");
    for name in ["a", "b"] {
        let refused = store.put(&alpha, &key(name), &mut &b"three"[..], &how);
        assert!(matches!(refused, Err(StorageError::Condition { .. })), "{refused:?}");
    }
    assert_eq!(read(store, &alpha, "a"), b"two");
}

pub(super) fn an_item_is_opened_only_while_it_has_the_etag(store: &dyn PlainStore) {
    let alpha = space(store, "alpha");
    let first = put(store, &alpha, "a", b"one");
    put(store, &alpha, "a", b"two");
    let refused = store.open(&alpha, &key("a"), &first.etag).map(|_| ()).expect_err("a refusal");
    assert!(refused.is_changed(), "{refused:?}");
}

pub(super) fn an_item_is_deleted_only_while_it_has_the_etag(store: &dyn PlainStore) {
    let alpha = space(store, "alpha");
    let first = put(store, &alpha, "a/b", b"one");
    let second = put(store, &alpha, "a/b", b"two");
    put(store, &alpha, "a/b-2", b"other");
    assert_eq!(store.delete(&alpha, &key("a/b"), &first.etag).expect("an answer"), Removal::Changed);
    assert_eq!(read(store, &alpha, "a/b"), b"two");
    assert_eq!(store.delete(&alpha, &key("a/b"), &second.etag).expect("an answer"), Removal::Removed);
    assert_eq!(store.delete(&alpha, &key("a/b"), &second.etag).expect("an answer"), Removal::Absent);
    assert_eq!(list(store, &alpha, &ListedName::START), ["a/b-2"]);
}

pub(super) fn keys_of_strongroom_are_refused(store: &dyn PlainStore) {
    let alpha = space(store, "alpha");
    for name in ["", " ", ".strongroom", ".strongroom/tmp/x", ".strongroomish/x"] {
        let refused = store.put(&alpha, &key(name), &mut &b"x"[..], &ItemPut::default());
        assert!(matches!(refused, Err(StorageError::Unusable { .. })), "{refused:?}");
        assert!(matches!(store.head(&alpha, &key(name)), Err(StorageError::Unusable { .. })), "{name}");
        assert!(matches!(store.delete(&alpha, &key(name), "x"), Err(StorageError::Unusable { .. })), "{name}");
    }
    assert!(list(store, &alpha, &ListedName::START).is_empty());
}

pub(super) fn readers_see_whole_bodies_while_many_threads_put(store: &dyn PlainStore) {
    let alpha = space(store, "alpha");
    let bodies: Vec<Vec<u8>> = (0..4_u8).map(|nth| vec![nth; 100_000 + usize::from(nth)]).collect();
    put(store, &alpha, "a", &bodies[0]);
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let putters: Vec<_> = bodies
            .iter()
            .map(|body| {
                let alpha = &alpha;
                scope.spawn(move || (0..20).for_each(|_| drop(put(store, alpha, "a", body))))
            })
            .collect();
        scope.spawn(|| {
            while !is_over.load(Ordering::SeqCst) {
                let head = store.head(&alpha, &key("a")).expect("a head");
                let mut bytes = Vec::new();
                let opened = store.open(&alpha, &key("a"), &head.etag);
                match opened.and_then(|mut body| {
                    let read = body.read_to_end(&mut bytes);
                    read.map_err(|source| StorageError::Source { store: String::new(), key: key("a"), source })
                }) {
                    Ok(_) => assert!(bodies.contains(&bytes), "a mixture"),
                    // It was replaced since the head was read.
                    Err(error) => {
                        assert!(error.is_changed() || matches!(error, StorageError::Source { .. }), "{error}");
                    }
                }
            }
        });
        for putter in putters {
            putter.join().expect("a thread");
        }
        is_over.store(true, Ordering::SeqCst);
    });
}

pub(super) fn what_can_be_read_is_not_retrieved(store: &dyn PlainStore) {
    let alpha = space(store, "alpha");
    put(store, &alpha, "a", b"x");
    let how = RetrievalRequest { days: 1, tier: "Standard".to_owned() };
    assert_eq!(store.request_retrieval(&alpha, &key("a"), &how).expect("an answer"), Retrieval::Readable);
    assert!(is_absent(&store.request_retrieval(&alpha, &key("b"), &how)));
}
