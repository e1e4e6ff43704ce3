//! Listings: in order, whole, and resumed anywhere.

use std::thread;

use super::{key, list, put, read, space};
use crate::{ListedItem, ListedName, PlainStore};

const NAMES: [&str; 12] = ["a", "a-b", "a.d/x", "a.txt", "a0", "b-", "b/a", "b/c-d", "b/c/d", "b/c/e/f", "c/a", "é"];

pub(super) fn a_listing_is_in_byte_order_of_the_key(store: &dyn PlainStore) {
    let alpha = space(store, "alpha");
    let mut names = ["b", "a/b", "a.txt", "a-b", "a0", "B", "z/1/2/3", "z/1.5", "é", "~", "a b", "+"];
    for name in names {
        put(store, &alpha, name, name.as_bytes());
    }
    names.sort_unstable();
    assert_eq!(list(store, &alpha, &ListedName::START), names);
    for line in store.list(&alpha, &ListedName::START).expect("a listing") {
        let ListedItem::Item(listed) = line.expect("a line") else { panic!("an item") };
        let head = store.head(&alpha, &listed.key).expect("a head");
        assert_eq!((listed.size, listed.etag), (head.size, head.etag), "{}", listed.key);
    }
}

pub(super) fn a_listing_goes_on_after_any_name(store: &dyn PlainStore) {
    let alpha = space(store, "alpha");
    for name in NAMES {
        put(store, &alpha, name, b"x");
    }
    let others: [&[u8]; 12] =
        [b"", b"a/", b"a/b", b"b", b"b/c", b"b/c/", b"b/c/d/e", b"b/c!", b"a\xff", b"b//", b"c/../a", b"\xff"];
    for after in NAMES.iter().map(|name| name.as_bytes()).chain(others) {
        let expected: Vec<&str> = NAMES.into_iter().filter(|name| name.as_bytes() > after).collect();
        let after = ListedName::new(after);
        assert_eq!(list(store, &alpha, &after), expected, "after {after}");
    }
}

pub(super) fn a_large_listing_is_complete(store: &dyn PlainStore) {
    let alpha = space(store, "alpha");
    let mut names: Vec<String> = (0..1_100).map(|n| format!("many/{}/{n}", n % 7)).collect();
    thread::scope(|scope| {
        for names in names.chunks(280) {
            let alpha = &alpha;
            scope.spawn(move || names.iter().for_each(|name| drop(put(store, alpha, name, b"x"))));
        }
    });
    names.sort_unstable();
    assert_eq!(list(store, &alpha, &ListedName::START), names);
    let after = ListedName::from(&key(&names[700]));
    assert_eq!(list(store, &alpha, &after), names[701..]);
}

pub(super) fn odd_and_long_keys_come_back_as_they_were(store: &dyn PlainStore) {
    let alpha = space(store, "alpha");
    let long = format!("{}/{}", "s".repeat(250), "t".repeat(200));
    let mut names =
        ["a  b", "a b+c%20", "\"'<>&", "#?", "ünï/cödé", "...", ".hidden", "-", "a\\b", "日本", long.as_str()];
    for name in names {
        put(store, &alpha, name, name.as_bytes());
    }
    names.sort_unstable();
    assert_eq!(list(store, &alpha, &ListedName::START), names);
    for name in names {
        assert_eq!(read(store, &alpha, name), name.as_bytes());
    }
}

pub(super) fn items_of_one_space_are_not_in_another(store: &dyn PlainStore) {
    let [one, longer, other] = ["alpha", "alpha-1", "beta"].map(|name| space(store, name));
    put(store, &one, "a", b"1");
    put(store, &longer, "a", b"22");
    put(store, &other, "b", b"3");
    assert_eq!(list(store, &one, &ListedName::START), ["a"]);
    assert_eq!(list(store, &longer, &ListedName::START), ["a"]);
    assert_eq!(list(store, &other, &ListedName::START), ["b"]);
    assert_eq!((read(store, &one, "a"), read(store, &longer, "a")), (b"1".to_vec(), b"22".to_vec()));
}
