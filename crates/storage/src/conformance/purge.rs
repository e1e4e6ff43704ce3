//! Cases of removal for good. What a store keeps behind its keys, the tests of the engines that do so look at.

use super::{is_absent, key, list, put, read};
use crate::{Key, PutOptions, Store};

pub(super) fn purging_takes_the_key_and_nothing_else(store: &dyn Store) {
    for name in ["d/one", "d/one-more", "d/two", "e/f/g"] {
        put(store, name, b"x");
    }
    put(store, "d/one", b"replaced");
    store.purge(&key("d/one")).unwrap();
    store.purge(&key("d/one")).unwrap();
    store.purge(&key("e")).unwrap();
    store.purge(&key("never/was")).unwrap();
    assert!(is_absent(&store.head(&key("d/one"))));
    assert_eq!(list(store, ""), ["d/one-more", "d/two", "e/f/g"], "a prefix is no key");
    store.purge(&key("e/f/g")).unwrap();
    put(store, "e", b"a key may lie where a prefix was");
    assert_eq!(list(store, ""), ["d/one-more", "d/two", "e"]);
}

pub(super) fn purging_takes_what_was_deleted_before(store: &dyn Store) {
    put(store, "a/b", b"x");
    store.delete(&key("a/b")).unwrap();
    store.purge(&key("a/b")).unwrap();
    assert!(is_absent(&store.head(&key("a/b"))));
    put(store, "a/b", b"again");
    assert_eq!(read(store, "a/b"), b"again");
}

pub(super) fn purging_a_prefix_takes_all_below_it(store: &dyn Store) {
    for name in ["p/a", "p/b/c", "p/b/d/e", "pq/a", "p-q", "q"] {
        put(store, name, b"x");
    }
    put(store, "p/a", b"replaced");
    store.purge_all(&key("p")).unwrap();
    store.purge_all(&key("p")).unwrap();
    store.purge_all(&key("q")).unwrap();
    assert_eq!(list(store, ""), ["p-q", "pq/a", "q"], "a key does not lie below itself");
    put(store, "p", b"x");
    assert_eq!(list(store, ""), ["p", "p-q", "pq/a", "q"]);
    assert!(store.purge_all(&Key::ROOT).is_err());
    assert!(store.purge(&Key::ROOT).is_err());
}

pub(super) fn a_large_prefix_is_purged(store: &dyn Store) {
    let quick = PutOptions { durability: crate::Durability::OnSync, ..PutOptions::default() };
    for nth in 0..1_200 {
        store.put(&key(&format!("many/{}/{nth}", nth % 7)), &mut &b"x"[..], &quick).unwrap();
    }
    put(store, "other", b"x");
    store.purge_all(&key("many")).unwrap();
    assert_eq!(list(store, ""), ["other"]);
}

pub(super) fn purging_what_was_replaced_leaves_what_is_there(store: &dyn Store) {
    for bytes in [b"one", b"two"] {
        put(store, "k", bytes);
        put(store, "k-2", bytes);
    }
    let before = store.head(&key("k")).unwrap();
    store.purge_replaced(&key("k")).unwrap();
    store.purge_replaced(&key("nothing/here")).unwrap();
    assert_eq!(store.head(&key("k")).unwrap(), before);
    assert_eq!(read(store, "k"), b"two");
    assert_eq!(read(store, "k-2"), b"two");
}

pub(super) fn nothing_forbids_the_removal_of_what_was_put(store: &dyn Store) {
    put(store, "a/b", b"x");
    for name in ["a/b", "a", "nothing/here"] {
        assert_eq!(store.removal_hold(&key(name)).unwrap(), None, "{name}");
        assert_eq!(store.removal_hold_below(&key(name)).unwrap(), None, "{name}");
    }
    assert!(store.removal_hold_below(&Key::ROOT).is_err());
}
