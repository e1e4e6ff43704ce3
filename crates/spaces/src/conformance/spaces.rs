//! Spaces: made, listed and deleted.

use strongroom_storage::{Key, Removal, StorageError};

use super::{is_absent, key, list, put, space};
use crate::{ItemPut, ListedName, ListedSpace, PlainStore, SpaceName};

fn names(store: &dyn PlainStore, after: Option<&SpaceName>) -> Vec<String> {
    let lines = store.spaces(after).expect("a list");
    lines
        .map(|line| match line.expect("a line") {
            ListedSpace::Space(space) => space.to_string(),
            ListedSpace::NotCarried { name, reason } => panic!("{name}: {reason}"),
        })
        .collect()
}

pub(super) fn a_space_is_made_once(store: &dyn PlainStore) {
    let alpha = SpaceName::new("alpha").expect("a name");
    let keeps_empty = store.capabilities().keeps_empty_spaces;
    assert!(!store.has_space(&alpha).expect("an answer"));
    assert_eq!(store.create_space(&alpha).expect("a space"), keeps_empty);
    assert!(!store.create_space(&alpha).expect("the same space"));
    assert_eq!(store.has_space(&alpha).expect("an answer"), keeps_empty);
    assert!(list(store, &alpha, &ListedName::START).is_empty());
    put(store, &alpha, "a", b"x");
    assert!(store.has_space(&alpha).expect("an answer"));
    assert!(!store.create_space(&alpha).expect("the same space"));
    assert_eq!(list(store, &alpha, &ListedName::START), ["a"]);
}

pub(super) fn a_space_is_deleted_only_where_nothing_lies_in_it(store: &dyn PlainStore) {
    let alpha = space(store, "alpha");
    let head = put(store, &alpha, "a/b", b"x");
    assert_eq!(store.delete_space_if_empty(&alpha).expect("an answer"), Removal::Changed);
    assert_eq!(list(store, &alpha, &ListedName::START), ["a/b"]);
    assert_eq!(store.delete(&alpha, &key("a/b"), &head.etag).expect("an answer"), Removal::Removed);
    let expected = if store.capabilities().keeps_empty_spaces { Removal::Removed } else { Removal::Absent };
    assert_eq!(store.delete_space_if_empty(&alpha).expect("an answer"), expected);
    assert_eq!(store.delete_space_if_empty(&alpha).expect("an answer"), Removal::Absent);
    assert!(!store.has_space(&alpha).expect("an answer"));
}

pub(super) fn spaces_are_listed_in_the_order_of_their_keys(store: &dyn PlainStore) {
    assert!(names(store, None).is_empty());
    let all = ["alpha-1", "alpha.2", "alpha", "alpha0", "beta"];
    for name in ["beta", "alpha0", "alpha", "alpha.2", "alpha-1"] {
        let space = space(store, name);
        put(store, &space, "a/b", b"x");
    }
    assert_eq!(names(store, None), all);
    for (nth, name) in all.iter().enumerate() {
        let after = SpaceName::new(*name).expect("a name");
        assert_eq!(names(store, Some(&after)), all[nth + 1..]);
    }
    let between = SpaceName::new("alpha00").expect("a name");
    assert_eq!(names(store, Some(&between)), ["beta"]);
}

pub(super) fn what_is_in_no_space_is_not_found(store: &dyn PlainStore) {
    let alpha = SpaceName::new("alpha").expect("a name");
    assert!(is_absent(&store.head(&alpha, &key("a"))));
    assert!(is_absent(&store.open(&alpha, &key("a"), "x")));
    assert_eq!(store.delete(&alpha, &key("a"), "x").expect("an answer"), Removal::Absent);
    if !store.capabilities().keeps_empty_spaces {
        assert!(list(store, &alpha, &ListedName::START).is_empty());
        return;
    }
    let listed = store.list(&alpha, &ListedName::START).and_then(|mut lines| lines.next().transpose());
    assert!(is_absent(&listed), "a listing of a space that is not there");
    let put = store.put(&alpha, &key("a/b"), &mut &b"x"[..], &ItemPut::default());
    assert!(matches!(put, Err(StorageError::NotFound { key, .. }) if key == Key::new("alpha").expect("a key")));
    assert!(!store.has_space(&alpha).expect("an answer"), "a put makes no space");
}
