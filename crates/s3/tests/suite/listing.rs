//! Listings of many keys and of hostile ones, and deletion of what they name.

use strongroom_s3_double::{Fault, Operation, Rules};
use strongroom_storage::{Key, StorageError, Store};

use crate::served::{key, list, put, read, served, served_by};

#[test]
fn more_keys_than_ten_pages_hold_are_listed_in_order() {
    let (double, store) = served();
    let mut names: Vec<String> = (0..10_050).map(|n| format!("many/{}/{n}", n % 13)).collect();
    for name in &names {
        double.lay(name, b"x");
    }
    names.sort_unstable();
    assert_eq!(list(&store, "many"), names);
    assert_eq!(list(&store, ""), names);
    let after = &names[5_000];
    let rest = store.list_after(&key("many"), &key(after)).unwrap().map(|line| line.unwrap().key.to_string());
    assert_eq!(rest.collect::<Vec<_>>(), names[5_001..]);
    let before = double.counts().of(Operation::ListObjects);
    assert!(store.list(&key("many")).unwrap().next().is_some());
    assert_eq!(double.counts().of(Operation::ListObjects) - before, 1, "a listing is fetched as it is read");

    store.delete_all(&key("many/1")).unwrap();
    names.retain(|name| !name.starts_with("many/1/"));
    assert_eq!(list(&store, ""), names);
    store.delete_all(&key("many")).unwrap();
    assert!(list(&store, "").is_empty());
}

#[test]
fn looks_that_go_on_behind_one_another_ask_for_no_page_twice() {
    const LOOKS: usize = 7;
    let (double, store) = served();
    for n in 0..LOOKS * 1_500 {
        double.lay(&format!("many/{n:05}"), b"x");
    }
    let before = double.counts().of(Operation::ListObjects);
    let (mut listed, mut after) = (0, Key::ROOT);
    for _ in 0..LOOKS {
        for line in store.list_after(&key("many"), &after).unwrap().take(1_500) {
            after = line.unwrap().key;
            assert_eq!(after.as_str(), format!("many/{listed:05}"));
            listed += 1;
        }
    }
    assert_eq!(store.list_after(&key("many"), &after).unwrap().count(), 0);
    assert_eq!(double.counts().of(Operation::ListObjects) - before, 2 * LOOKS as u64 + 1);
}

#[test]
fn what_is_no_key_is_an_error_in_its_place() {
    let hostile = ["a/../b", "a//b", "a/./c", "a/d/", "a/new\nline", "a/\u{1}control", "/leading", "..", "a/\u{7f}"];
    let long = "a/".to_owned() + &"l".repeat(256);
    let good = ["a/0", "a/b c", "a/m", "a/z", "b"];
    let (double, store) = served();
    for name in hostile.into_iter().chain([long.as_str()]).chain(good) {
        double.lay(name, b"x");
    }
    let mut expected: Vec<(&str, bool)> =
        hostile.into_iter().chain([long.as_str()]).map(|name| (name, false)).collect();
    expected.extend(good.map(|name| (name, true)));
    expected.sort_unstable();
    let listed: Vec<bool> = store.list(&Key::ROOT).unwrap().map(|line| line.is_ok()).collect();
    assert_eq!(listed, expected.iter().map(|(_, is_key)| *is_key).collect::<Vec<_>>());
    let errors: Vec<String> =
        store.list(&key("a")).unwrap().filter_map(Result::err).map(|error| error.to_string()).collect();
    assert!(errors.iter().any(|error| error.contains("a//b")), "{errors:?}");
    store.delete_all(&key("a")).unwrap();
    let left = double.keys();
    assert!(!left.iter().any(|name| name.starts_with("a/")), "{left:?}");
}

#[test]
fn the_stores_own_books_are_not_listed_and_not_for_keys() {
    let (double, store) = served();
    put(&store, "k", b"x");
    double.lay(".strongroom-else/k", b"x");
    assert_eq!(list(&store, ""), ["k"]);
    for name in [".strongroom", ".strongroom/store.json", ".strongroom-else/k"] {
        let refused = store.head(&key(name));
        assert!(matches!(refused, Err(StorageError::Unusable { .. })), "{refused:?}");
        assert!(store.delete(&key(name)).is_err());
        assert!(store.delete_all(&key(name)).is_err());
        assert!(store.list(&key(name)).is_err());
        assert!(store.assembly("a", &key(name)).is_err());
    }
}

#[test]
fn keys_that_a_deletion_of_many_left_are_deleted_again() {
    let (double, store) = served();
    for name in ["p/a", "p/b", "p/c"] {
        put(&store, name, b"x");
    }
    double.plan(Operation::DeleteObjects, 1, Fault::RefuseAfter);
    store.delete_all(&key("p")).unwrap();
    assert!(list(&store, "").is_empty());
    put(&store, "p/a", b"x");
    double.always(Operation::DeleteObjects, Some(Fault::RefuseAfter));
    let error = store.delete_all(&key("p")).unwrap_err();
    assert!(error.is_transient(), "{error}");
    assert_eq!(list(&store, ""), ["p/a"]);
}

#[test]
fn what_could_not_be_deleted_does_not_pass_for_deleted() {
    for rules in [Rules::AWS, Rules::GARAGE] {
        let (double, store) = served_by(rules);
        let etag = put(&store, "p/k", b"x").etag;
        for operation in [Operation::DeleteObject, Operation::DeleteObjects, Operation::HeadObject] {
            double.always(operation, Some(Fault::Refuse(403)));
        }
        store.delete(&key("p/k")).unwrap_err();
        store.delete_all(&key("p")).unwrap_err();
        store.delete_match(&key("p/k"), &etag, &Key::ROOT).unwrap_err();
        double.always(Operation::HeadObject, None);
        store.delete_match(&key("p/k"), &etag, &Key::ROOT).unwrap_err();
        assert_eq!(read(&store, "p/k"), b"x");
    }
}

#[test]
fn a_service_that_deletes_one_by_one_is_asked_one_by_one() {
    let (double, store) = served_by(Rules::PLAIN);
    for n in 0..20 {
        put(&store, &format!("p/{n}"), b"x");
    }
    store.delete_all(&key("p")).unwrap();
    assert!(list(&store, "").is_empty());
    assert_eq!(double.counts().of(Operation::DeleteObjects), 1);
}

#[test]
fn a_deletion_leaves_what_has_another_etag() {
    for rules in [Rules::AWS, Rules::GARAGE] {
        let (double, store) = served_by(rules);
        let old = put(&store, "k", b"old").etag;
        put(&store, "k", b"new");
        assert!(!store.delete_match(&key("k"), &old, &Key::ROOT).unwrap());
        assert_eq!(read(&store, "k"), b"new");
        let new = store.head(&key("k")).unwrap().etag;
        let heads = double.counts().of(Operation::HeadObject);
        assert!(store.delete_match(&key("k"), &new, &Key::ROOT).unwrap());
        assert_eq!(double.counts().of(Operation::HeadObject) - heads, u64::from(rules == Rules::GARAGE));
        assert!(store.delete_match(&key("k"), &new, &Key::ROOT).unwrap());

        // Where the answer is lost, what was removed by the first attempt is gone for the second.
        let once_more = put(&store, "k", b"new").etag;
        double.plan(Operation::DeleteObject, 1, Fault::RefuseAfter);
        assert!(store.delete_match(&key("k"), &once_more, &Key::ROOT).unwrap());
        assert!(double.stored("k").is_none());
    }
}
