//! Content types and properties.

use super::{is_absent, key, pattern, put, read, space};
use crate::{Description, ItemPut, PlainStore, Properties};

fn described(content_type: &str, properties: &[(&str, &str)]) -> Description {
    let properties = properties.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let properties = Properties::new(properties).expect("properties");
    Description::new(Some(content_type), properties).expect("a description")
}

/// Whether the store keeps what these cases are about.
fn keeps(store: &dyn PlainStore) -> bool {
    let capabilities = store.capabilities();
    capabilities.keeps_properties && capabilities.keeps_content_types
}

pub(super) fn properties_come_back_as_they_were(store: &dyn PlainStore) {
    if !keeps(store) {
        return;
    }
    let alpha = space(store, "alpha");
    let long = "é日".repeat(150);
    let description = described(
        "text/plain; charset=utf-8",
        &[
            ("creator", "Émile Zola"),
            ("content-file-path", "/a b/c,d;e=\"f\" + é"),
            ("empty", ""),
            ("long", &long),
            ("under_score.dot", "%C3%A9 + %"),
            ("quoted", "=C3=A9_"),
        ],
    );
    let large = pattern((6 << 20) + 1, 1);
    for (name, body) in [("small", &b"x"[..]), ("large", &large)] {
        let how = ItemPut { description: description.clone(), ..ItemPut::default() };
        let head = store.put(&alpha, &key(name), &mut &*body, &how).expect("a put");
        assert_eq!(head.description, description);
        assert_eq!(store.head(&alpha, &key(name)).expect("a head").description, description, "{name}");
    }
    put(store, &alpha, "none", b"x");
    assert_eq!(store.head(&alpha, &key("none")).expect("a head").description, Description::default());
}

pub(super) fn a_put_replaces_properties(store: &dyn PlainStore) {
    if !keeps(store) {
        return;
    }
    let alpha = space(store, "alpha");
    let how = ItemPut { description: described("text/plain", &[("a", "1"), ("b", "2")]), ..ItemPut::default() };
    store.put(&alpha, &key("a"), &mut &b"x"[..], &how).expect("a put");
    let how = ItemPut { description: described("image/png", &[("b", "3")]), ..ItemPut::default() };
    store.put(&alpha, &key("a"), &mut &b"x"[..], &how).expect("a put");
    assert_eq!(store.head(&alpha, &key("a")).expect("a head").description, how.description);
}

pub(super) fn properties_are_set_and_the_bytes_stay(store: &dyn PlainStore) {
    if !keeps(store) {
        return;
    }
    let alpha = space(store, "alpha");
    let how = ItemPut { description: described("text/plain", &[("a", "1"), ("b", "2")]), ..ItemPut::default() };
    let first = store.put(&alpha, &key("a/b"), &mut &b"bytes"[..], &how).expect("a put");
    let wanted = described("text/html", &[("b", "ü"), ("c", "3")]);
    let head = store.set_properties(&alpha, &key("a/b"), &first.etag, &wanted).expect("a change");
    assert_eq!((&head.description, head.size), (&wanted, 5));
    let found = store.head(&alpha, &key("a/b")).expect("a head");
    assert_eq!((found.description, found.etag), (wanted.clone(), head.etag.clone()));
    assert_eq!(read(store, &alpha, "a/b"), b"bytes");
    store.set_properties(&alpha, &key("a/b"), &head.etag, &wanted).expect("the same change");
}

pub(super) fn properties_are_taken_away(store: &dyn PlainStore) {
    if !keeps(store) {
        return;
    }
    let alpha = space(store, "alpha");
    let how = ItemPut { description: described("text/plain", &[("a", "1")]), ..ItemPut::default() };
    let first = store.put(&alpha, &key("a"), &mut &b"bytes"[..], &how).expect("a put");
    let head = store.set_properties(&alpha, &key("a"), &first.etag, &Description::default()).expect("a change");
    assert_eq!(head.description, Description::default());
    assert_eq!(store.head(&alpha, &key("a")).expect("a head").description, Description::default());
}

pub(super) fn properties_are_set_only_while_the_item_has_the_etag(store: &dyn PlainStore) {
    if !keeps(store) {
        return;
    }
    let alpha = space(store, "alpha");
    let wanted = described("text/html", &[("b", "3")]);
    let first = put(store, &alpha, "a", b"one");
    put(store, &alpha, "a", b"two");
    let refused = store.set_properties(&alpha, &key("a"), &first.etag, &wanted).expect_err("a refusal");
    assert!(refused.is_changed(), "{refused:?}");
    assert_eq!(store.head(&alpha, &key("a")).expect("a head").description, Description::default());
    assert!(is_absent(&store.set_properties(&alpha, &key("b"), &first.etag, &wanted)));
}

pub(super) fn properties_of_large_items_are_set(store: &dyn PlainStore) {
    if !keeps(store) {
        return;
    }
    let alpha = space(store, "alpha");
    let bytes = pattern((11 << 20) + 7, 2);
    let first = put(store, &alpha, "large", &bytes);
    let wanted = described("image/tiff", &[("b", "3")]);
    store.set_properties(&alpha, &key("large"), &first.etag, &wanted).expect("a change");
    assert_eq!(store.head(&alpha, &key("large")).expect("a head").description, wanted);
    assert!(read(store, &alpha, "large") == bytes);
}
