//! Cases of keys: listing, odd names, deletion.

use std::thread;

use super::{is_absent, key, list, put, read};
use crate::{Durability, Key, PutOptions, StorageError, Store};

pub(super) fn listing_is_in_byte_order_of_the_key(store: &dyn Store) {
    let mut names = ["a/b", "a-b", "a", "a.b/c", "a0", "b/a/z", "b/a-z", "b/a.z", "b/a/a/a", "B", "\u{e9}/x", "z"]
        .map(str::to_owned)
        .to_vec();
    // In a folder a key cannot lie below another key.
    names.retain(|name| name != "a");
    for name in &names {
        put(store, name, name.as_bytes());
    }
    names.sort_unstable();
    assert_eq!(list(store, ""), names);
    let sizes: Vec<u64> = store.list(&Key::ROOT).unwrap().map(|line| line.unwrap().size).collect();
    let expected: Vec<u64> = names.iter().map(|name| name.len() as u64).collect();
    assert_eq!(sizes, expected);
    for line in store.list(&Key::ROOT).unwrap() {
        let listed = line.unwrap();
        assert_eq!(store.head(&listed.key).unwrap().etag, listed.etag, "{}", listed.key);
    }
}

pub(super) fn a_listing_goes_on_after_any_key(store: &dyn Store) {
    for name in ["a/b", "a/b-c", "a/c/d", "a/c/e", "a-b", "b", "c/a"] {
        put(store, name, b"x");
    }
    let all = list(store, "");
    for after in ["", "a", "a-b", "a/b", "a/bb", "a/c", "a/c/d", "a/c/d/e", "b", "c", "z"] {
        let rest: Vec<String> = store
            .list_after(&Key::ROOT, &key(after))
            .unwrap()
            .map(|line| line.unwrap().key.as_str().to_owned())
            .collect();
        let expected: Vec<String> = all.iter().filter(|name| name.as_str() > after).cloned().collect();
        assert_eq!(rest, expected, "after {after:?}");
    }
    let below: Vec<String> =
        store.list_after(&key("a"), &key("a/b-c")).unwrap().map(|line| line.unwrap().key.to_string()).collect();
    assert_eq!(below, ["a/c/d", "a/c/e"]);
}

pub(super) fn a_key_is_removed_only_while_it_has_the_etag(store: &dyn Store) {
    put(store, "a/b", b"old");
    let old = store.head(&key("a/b")).unwrap().etag;
    put(store, "a/b", b"newer");
    assert!(!store.delete_match(&key("a/b"), &old, &Key::ROOT).unwrap());
    assert_eq!(read(store, "a/b"), b"newer");
    let newer = store.head(&key("a/b")).unwrap().etag;
    assert!(store.delete_match(&key("a/b"), &newer, &Key::ROOT).unwrap());
    assert!(is_absent(&store.head(&key("a/b"))));
    assert!(store.delete_match(&key("a/b"), &newer, &Key::ROOT).unwrap(), "what is gone is gone");
    put(store, "c/d/e/f", b"bytes");
    let etag = store.head(&key("c/d/e/f")).unwrap().etag;
    assert!(store.delete_match(&key("c/d/e/f"), &etag, &key("c")).unwrap());
    assert!(list(store, "c").is_empty());
}

pub(super) fn a_prefix_is_whole_segments(store: &dyn Store) {
    for name in ["ab/c", "a/b", "a/c/d", "a-b"] {
        put(store, name, b"x");
    }
    assert_eq!(list(store, "a"), ["a/b", "a/c/d"]);
    assert_eq!(list(store, "a/c"), ["a/c/d"]);
    assert!(list(store, "a/c/d").is_empty(), "a key does not lie below itself");
    assert!(list(store, "nothing/here").is_empty());
}

pub(super) fn a_large_listing_is_complete(store: &dyn Store) {
    let quick = PutOptions { durability: Durability::OnSync, ..PutOptions::default() };
    let mut names: Vec<String> = (0..2_500).map(|n| format!("many/{:02}/{n}", n % 7)).collect();
    for name in &names {
        store.put(&key(name), &mut name.as_bytes(), &quick).unwrap();
    }
    names.sort_unstable();
    assert_eq!(list(store, "many"), names);
}

pub(super) fn odd_and_long_keys_come_back_as_they_were(store: &dyn Store) {
    let long_segment = "s".repeat(255);
    let deep = vec!["d"; 400].join("/");
    let longest = format!("{}/{}", [long_segment.as_str(); 3].join("/"), "e".repeat(255));
    let mut names = vec![
        " leading and trailing ".to_owned(),
        "a%2Fb".to_owned(),
        "back\\slash".to_owned(),
        "colon: star* question? quote\" <angle> |pipe|".to_owned(),
        "con/nul.txt".to_owned(),
        "e\u{301} is not \u{e9}".to_owned(),
        "\u{e9} is not e\u{301}".to_owned(),
        "emoji \u{1f4dc}/\u{4e66}".to_owned(),
        ".hidden/..dots/...".to_owned(),
        "-rf/~/$HOME".to_owned(),
        "Case".to_owned(),
        "plus+and&ampersand=equals#hash".to_owned(),
        "l".repeat(255),
        deep,
        longest,
    ];
    // A store that lies below a prefix has less room for keys than it would have alone, and says so.
    names.retain(|name| match store.put(&key(name), &mut name.as_bytes(), &PutOptions::default()) {
        Err(StorageError::Unusable { .. }) if name.len() > 512 => false,
        outcome => outcome.expect("a put").size > 0,
    });
    for name in &names {
        assert_eq!(read(store, name), name.as_bytes(), "{name}");
    }
    names.sort_unstable();
    assert_eq!(list(store, ""), names);
}

pub(super) fn keys_that_are_none_are_refused(store: &dyn Store) {
    for text in ["/a", "a/", "a//b", ".", "..", "a/../b", "a/./b", "a\0b", "a\nb", &"x".repeat(256)] {
        assert!(Key::new(text).is_err(), "{text:?}");
    }
    assert!(store.put(&Key::ROOT, &mut &b"x"[..], &PutOptions::default()).is_err());
    assert!(store.delete_all(&Key::ROOT).is_err());
}

pub(super) fn deleting_takes_the_key_and_nothing_else(store: &dyn Store) {
    for name in ["d/one", "d/two", "e/f/g"] {
        put(store, name, b"x");
    }
    store.delete(&key("d/one")).unwrap();
    store.delete(&key("d/one")).unwrap();
    store.delete(&key("e")).unwrap();
    store.delete(&key("never/was")).unwrap();
    assert!(is_absent(&store.head(&key("d/one"))));
    assert_eq!(list(store, ""), ["d/two", "e/f/g"]);
    store.delete(&key("e/f/g")).unwrap();
    put(store, "e", b"a key may lie where a prefix was");
    assert_eq!(list(store, ""), ["d/two", "e"]);
}

pub(super) fn deleting_a_prefix_takes_all_below_it(store: &dyn Store) {
    for name in ["p/a", "p/b/c", "p/b/d/e", "pq/a", "q"] {
        put(store, name, b"x");
    }
    store.delete_all(&key("p")).unwrap();
    store.delete_all(&key("p")).unwrap();
    store.delete_all(&key("q")).unwrap();
    assert_eq!(list(store, ""), ["pq/a", "q"], "a key does not lie below itself");
    put(store, "p", b"x");
    assert_eq!(list(store, ""), ["p", "pq/a", "q"]);
}

pub(super) fn keys_come_and_go_under_many_threads(store: &dyn Store) {
    let quick = PutOptions { durability: Durability::OnSync, ..PutOptions::default() };
    thread::scope(|scope| {
        for thread in 0..8 {
            let quick = &quick;
            scope.spawn(move || {
                for round in 0..60 {
                    // All threads share the folders above, which come and go with their keys.
                    let name = key(&format!("shared/{}/folder/{thread}", round % 2));
                    store.put(&name, &mut &b"bytes"[..], quick).unwrap();
                    assert_eq!(store.head(&name).unwrap().size, 5);
                    store.delete(&name).unwrap();
                    assert!(is_absent(&store.head(&name)));
                }
            });
        }
    });
    assert!(list(store, "").is_empty());
}
