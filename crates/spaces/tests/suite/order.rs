//! The order of a listing is that of the bytes of the whole keys, and every place in it is one to go on from.

use std::collections::BTreeSet;

use proptest::prelude::*;
use strongroom_spaces::{FolderSpaces, ItemPut, ListedItem, ListedName, PlainStore, SpaceName};
use strongroom_storage::{FolderMode, Key};
use tempfile::TempDir;

/// Keys of few characters, so that many begin alike: with those before and after `/` in the order of bytes.
fn keys() -> impl Strategy<Value = BTreeSet<String>> {
    let segment = "[a.0é -]{1,3}"
        .prop_filter("no key", |segment: &String| segment != "." && segment != ".." && !segment.trim().is_empty());
    let key = proptest::collection::vec(segment, 1..4).prop_map(|segments| segments.join("/"));
    proptest::collection::btree_set(key, 0..30)
}

/// A file cannot have something below it.
fn without_files_as_folders(keys: &BTreeSet<String>) -> BTreeSet<String> {
    let has_below =
        |key: &str| keys.iter().any(|other| other.strip_prefix(key).is_some_and(|rest| rest.starts_with('/')));
    keys.iter().filter(|key| !has_below(key)).cloned().collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn a_listing_is_the_sorted_keys_and_goes_on_after_any_name(
        keys in keys(),
        afters in proptest::collection::vec("[a.0é/ -]{0,7}", 0..8),
    ) {
        let keys = without_files_as_folders(&keys);
        let folder = TempDir::new().expect("a folder");
        std::fs::create_dir(folder.path().join("alpha")).expect("a folder");
        let store = FolderSpaces::open("far", folder.path(), FolderMode::ANY, None).expect("a store");
        let space = SpaceName::new("alpha").expect("a name");
        for key in &keys {
            let key = Key::new(key.as_str()).expect("a key");
            store.put(&space, &key, &mut &b"x"[..], &ItemPut::default()).expect("a put");
        }
        for after in keys.iter().chain(&afters).chain([&String::new()]) {
            let lines = store.list(&space, &ListedName::new(after.as_str())).expect("a listing");
            let names: Vec<String> = lines
                .map(|line| match line.expect("a line") {
                    ListedItem::Item(listed) => listed.key.to_string(),
                    other @ ListedItem::NotCarried { .. } => panic!("{other:?}"),
                })
                .collect();
            let expected: Vec<String> = keys.iter().filter(|key| key.as_bytes() > after.as_bytes()).cloned().collect();
            prop_assert_eq!(names, expected, "after {:?}", after);
        }
    }
}
