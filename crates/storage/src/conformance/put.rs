//! Cases of putting and reading: wholeness, conditions, declared digests.

use std::io::Read;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use super::{Breaking, is_absent, key, list, pattern, put, read, sha512};
use crate::{Durability, PutCondition, PutOptions, StorageError, Store};

pub(super) fn what_is_put_is_read(store: &dyn Store) {
    let head = put(store, "a/b", b"some bytes");
    assert_eq!(head.size, 10);
    assert!(head.readable);
    assert_eq!(store.head(&key("a/b")).unwrap(), head);
    assert_eq!(read(store, "a/b"), b"some bytes");
}

pub(super) fn nothing_is_found_where_nothing_was_put(store: &dyn Store) {
    put(store, "a/b", b"x");
    for name in ["b", "a", "a/c", "a/b/c", "x/y/z"] {
        assert!(is_absent(&store.head(&key(name))), "{name}");
        assert!(is_absent(&store.open(&key(name), 0, None).map(|_| ())), "{name}");
    }
}

pub(super) fn an_empty_body_is_kept(store: &dyn Store) {
    let options = PutOptions { digest: Some(sha512(b"")), size: Some(0), ..PutOptions::default() };
    assert_eq!(store.put(&key("empty"), &mut &b""[..], &options).unwrap().size, 0);
    assert_eq!(read(store, "empty"), b"");
    assert_eq!(list(store, ""), ["empty"]);
}

pub(super) fn a_large_body_is_kept(store: &dyn Store) {
    let bytes = pattern(20_000_003, 1);
    let options = PutOptions { digest: Some(sha512(&bytes)), size: Some(20_000_003), ..PutOptions::default() };
    store.put(&key("large"), &mut bytes.as_slice(), &options).unwrap();
    assert!(read(store, "large") == bytes);
}

pub(super) fn ranges_are_read(store: &dyn Store) {
    put(store, "digits", b"0123456789");
    let part = |offset, length| {
        let mut bytes = Vec::new();
        store.open(&key("digits"), offset, length).unwrap().read_to_end(&mut bytes).unwrap();
        String::from_utf8(bytes).unwrap()
    };
    assert_eq!(part(0, Some(3)), "012");
    assert_eq!(part(4, Some(2)), "45");
    assert_eq!(part(7, None), "789");
    assert_eq!(part(8, Some(100)), "89");
    assert_eq!(part(3, Some(0)), "");
    assert_eq!(part(10, None), "");
    assert_eq!(part(11, Some(1)), "");
}

pub(super) fn a_put_replaces(store: &dyn Store) {
    put(store, "k", b"a longer first body");
    let mut open = store.open(&key("k"), 0, None).unwrap();
    put(store, "k", b"second");
    assert_eq!(read(store, "k"), b"second");
    let mut first = Vec::new();
    open.read_to_end(&mut first).unwrap();
    assert!(first == b"a longer first body" || first == b"second", "a reader sees one body or the other, never a mix");
}

pub(super) fn an_etag_changes_with_every_put(store: &dyn Store) {
    let mut etags: Vec<String> = (0_u8..50).map(|n| put(store, "k", &[n]).etag).collect();
    etags.sort_unstable();
    etags.dedup();
    assert_eq!(etags.len(), 50);
}

pub(super) fn a_wrong_digest_leaves_nothing(store: &dyn Store) {
    let options = PutOptions { digest: Some(sha512(b"right")), ..PutOptions::default() };
    let refused = store.put(&key("new/key"), &mut &b"wrong"[..], &options);
    assert!(matches!(refused, Err(StorageError::Mismatch { .. })), "{refused:?}");
    assert!(is_absent(&store.head(&key("new/key"))));
    put(store, "old/key", b"old");
    let refused = store.put(&key("old/key"), &mut &b"wrong"[..], &options);
    assert!(matches!(refused, Err(StorageError::Mismatch { .. })), "{refused:?}");
    assert_eq!(read(store, "old/key"), b"old");
    store.put(&key("old/key"), &mut &b"right"[..], &options).unwrap();
    assert_eq!(list(store, ""), ["old/key"]);
}

pub(super) fn a_wrong_size_leaves_nothing(store: &dyn Store) {
    for declared in [0, 4, 6, u64::MAX] {
        let options = PutOptions { size: Some(declared), ..PutOptions::default() };
        let refused = store.put(&key("k"), &mut &b"bytes"[..], &options);
        assert!(matches!(refused, Err(StorageError::Mismatch { .. })), "{declared}: {refused:?}");
    }
    let endless =
        store.put(&key("k"), &mut std::io::repeat(0), &PutOptions { size: Some(1_000_000), ..PutOptions::default() });
    assert!(matches!(endless, Err(StorageError::Mismatch { .. })), "{endless:?}");
    assert!(list(store, "").is_empty());
}

pub(super) fn a_failing_source_leaves_what_was_there(store: &dyn Store) {
    put(store, "there", b"old");
    for name in ["there", "new"] {
        let bytes = pattern(600_000, 2);
        let refused = store.put(&key(name), &mut Breaking(&bytes), &PutOptions::default());
        assert!(matches!(refused, Err(StorageError::Source { .. })), "{refused:?}");
    }
    assert_eq!(read(store, "there"), b"old");
    assert_eq!(list(store, ""), ["there"]);
}

pub(super) fn an_absent_key_is_made_once(store: &dyn Store) {
    if !store.capabilities().conditional_put {
        return;
    }
    let options = PutOptions { condition: PutCondition::IfAbsent, ..PutOptions::default() };
    store.put(&key("a/k"), &mut &b"first"[..], &options).unwrap();
    let refused = store.put(&key("a/k"), &mut &b"second"[..], &options);
    assert!(matches!(refused, Err(StorageError::Condition { .. })), "{refused:?}");
    assert_eq!(read(store, "a/k"), b"first");
}

pub(super) fn an_absent_key_is_made_by_one_of_many_threads(store: &dyn Store) {
    if !store.capabilities().conditional_put {
        return;
    }
    let options = PutOptions { condition: PutCondition::IfAbsent, ..PutOptions::default() };
    for round in 0..10 {
        let name = key(&format!("race/{round}/k"));
        let winners = AtomicUsize::new(0);
        thread::scope(|scope| {
            for thread in 0..8_u8 {
                let (name, options, winners) = (&name, &options, &winners);
                scope.spawn(move || match store.put(name, &mut &[thread][..], options) {
                    Ok(_) => drop(winners.fetch_add(1, Ordering::SeqCst)),
                    Err(error) => assert!(matches!(error, StorageError::Condition { .. }), "{error}"),
                });
            }
        });
        assert_eq!(winners.into_inner(), 1);
    }
}

pub(super) fn a_matching_etag_permits_one_put(store: &dyn Store) {
    if !store.capabilities().conditional_put {
        return;
    }
    let matching = |etag: String| PutOptions { condition: PutCondition::IfMatch(etag), ..PutOptions::default() };
    let refused = store.put(&key("k"), &mut &b"x"[..], &matching("anything".to_owned()));
    assert!(matches!(refused, Err(StorageError::Condition { .. })), "{refused:?}");
    assert!(list(store, "").is_empty());
    let first = put(store, "k", b"first");
    let second = store.put(&key("k"), &mut &b"other"[..], &matching(first.etag.clone())).unwrap();
    let refused = store.put(&key("k"), &mut &b"third"[..], &matching(first.etag));
    assert!(matches!(refused, Err(StorageError::Condition { .. })), "{refused:?}");
    assert_eq!(read(store, "k"), b"other");
    store.put(&key("k"), &mut &b"third"[..], &matching(second.etag)).unwrap();
    assert_eq!(read(store, "k"), b"third");
}

pub(super) fn of_many_threads_with_one_etag_one_puts(store: &dyn Store) {
    if !store.capabilities().conditional_put {
        return;
    }
    // A counter kept by compare and swap: every success must count, none may be lost.
    put(store, "counter", b"0");
    let successes = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| {
                for _ in 0..25 {
                    let etag = store.head(&key("counter")).unwrap().etag;
                    let value: usize = String::from_utf8(read(store, "counter")).unwrap().parse().unwrap();
                    let next = (value + 1).to_string();
                    let options = PutOptions {
                        condition: PutCondition::IfMatch(etag),
                        durability: Durability::OnSync,
                        ..PutOptions::default()
                    };
                    // Head and body may be of two puts; then the etag is the older one and the put is refused.
                    match store.put(&key("counter"), &mut next.as_bytes(), &options) {
                        Ok(_) => drop(successes.fetch_add(1, Ordering::SeqCst)),
                        Err(error) => assert!(matches!(error, StorageError::Condition { .. }), "{error}"),
                    }
                }
            });
        }
    });
    let value: usize = String::from_utf8(read(store, "counter")).unwrap().parse().unwrap();
    assert_eq!(value, successes.into_inner());
    assert!(value > 0);
}

pub(super) fn readers_see_whole_bodies_while_many_threads_put(store: &dyn Store) {
    let length = 300_000;
    put(store, "k", &vec![0; length]);
    let is_over = AtomicBool::new(false);
    let quick = PutOptions { durability: Durability::OnSync, ..PutOptions::default() };
    thread::scope(|scope| {
        let writers: Vec<_> = (1..4_u8)
            .map(|thread| {
                let quick = &quick;
                scope.spawn(move || {
                    for _ in 0..20 {
                        store.put(&key("k"), &mut vec![thread; length].as_slice(), quick).unwrap();
                    }
                })
            })
            .collect();
        for _ in 0..2 {
            scope.spawn(|| {
                while !is_over.load(Ordering::SeqCst) {
                    let bytes = read(store, "k");
                    assert_eq!(bytes.len(), length);
                    assert!(bytes.iter().all(|byte| *byte == bytes[0]), "a body made of two puts");
                }
            });
        }
        let outcomes: Vec<_> = writers.into_iter().map(thread::ScopedJoinHandle::join).collect();
        is_over.store(true, Ordering::SeqCst);
        assert!(outcomes.iter().all(Result::is_ok));
    });
}

pub(super) fn puts_are_there_after_sync(store: &dyn Store) {
    let quick = PutOptions { durability: Durability::OnSync, ..PutOptions::default() };
    thread::scope(|scope| {
        for thread in 0..4 {
            let quick = &quick;
            scope.spawn(move || {
                for round in 0..10 {
                    store.put(&key(&format!("{thread}/{round}")), &mut &b"x"[..], quick).unwrap();
                }
                store.sync().unwrap();
            });
        }
    });
    assert_eq!(list(store, "").len(), 40);
}
