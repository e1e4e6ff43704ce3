//! Two listings side by side.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use strongroom_duplication::{Line, Merge};
use strongroom_spaces::{Items, ListedContent, ListedItem, ListedName};
use strongroom_storage::{Key, StorageError};

fn item(name: &str, size: u64) -> ListedItem {
    let (etag, revision) = (size.to_string(), size.to_string());
    ListedItem::Item(ListedContent { key: Key::new(name).expect("a key"), size, etag, revision })
}

fn not_carried(name: &str) -> ListedItem {
    ListedItem::NotCarried { name: ListedName::new(name), reason: "it is a link".to_owned() }
}

fn listing(items: Vec<ListedItem>) -> Items {
    Box::new(items.into_iter().map(Ok))
}

fn merged(source: Vec<ListedItem>, destination: Vec<ListedItem>) -> Vec<String> {
    Merge::new(listing(source), listing(destination)).map(|line| told(&line.expect("a line"))).collect()
}

fn told(line: &Line) -> String {
    match line {
        Line::InSource(listed) => format!("source {}", listed.key),
        Line::InDestination(listed) => format!("destination {}", listed.key),
        Line::InBoth { source, destination } => format!("both {} {} {}", source.key, source.size, destination.size),
        Line::NotCarried { in_source, name, other, .. } => {
            format!("not carried {name} {in_source} {}", other.is_some())
        }
        Line::Unknown { in_source, listed } => format!("unknown {} {in_source}", listed.key),
    }
}

#[test]
fn each_name_is_one_line() {
    let source = vec![item("a", 1), item("a.txt", 1), item("a/b", 1), item("c", 1)];
    let destination = vec![item("a", 1), item("a/b", 2), item("b", 1), item("d", 1)];
    let lines = ["both a 1 1", "source a.txt", "both a/b 1 2", "destination b", "source c", "destination d"];
    assert_eq!(merged(source, destination), lines);
    assert_eq!(merged(Vec::new(), Vec::new()), [""; 0]);
}

/// A link in the place of a content item does not say that it is gone, and a folder that cannot be listed says nothing of what is in it.
#[test]
fn nothing_is_missing_where_something_else_is_or_nothing_is_listed() {
    let source = vec![not_carried("a"), not_carried("b/"), item("c", 1)];
    let destination = vec![item("a", 1), item("b/1", 1), item("b/2", 1), item("c", 1), item("d", 1)];
    let lines = [
        "not carried a true true",
        "not carried b/ true false",
        "unknown b/1 false",
        "unknown b/2 false",
        "both c 1 1",
        "destination d",
    ];
    assert_eq!(merged(source, destination), lines);
    let source = vec![item("a", 1), item("b/1", 1)];
    let lines = ["not carried a false true", "not carried b/ false false", "unknown b/1 true"];
    assert_eq!(merged(source, vec![not_carried("a"), not_carried("b/")]), lines);
}

#[test]
fn an_error_of_a_listing_is_the_last_line() {
    let away = || StorageError::Away { store: "disk".to_owned(), reason: "gone".to_owned() };
    for is_source in [true, false] {
        let broken: Items = Box::new([Ok(item("a", 1)), Err(away()), Ok(item("c", 1))].into_iter());
        let whole = listing(vec![item("b", 1), item("d", 1)]);
        let merge = if is_source { Merge::new(broken, whole) } else { Merge::new(whole, broken) };
        let lines: Vec<_> = merge.collect();
        assert!(lines.len() <= 3 && lines.last().is_some_and(Result::is_err), "{lines:?}");
        assert_eq!(lines.iter().filter(|line| line.is_err()).count(), 1);
    }
}

proptest! {
    #[test]
    fn every_name_of_both_is_told_once_and_in_order(
        source in proptest::collection::btree_map("[a-c]{1,2}(/[a-c]{1,2})?", 0..3_u64, 0..30),
        destination in proptest::collection::btree_map("[a-c]{1,2}(/[a-c]{1,2})?", 0..3_u64, 0..30),
    ) {
        let items = |map: &BTreeMap<String, u64>| map.iter().map(|(name, size)| item(name, *size)).collect();
        let lines: Vec<Line> = Merge::new(listing(items(&source)), listing(items(&destination)))
            .map(|line| line.expect("a line"))
            .collect();
        let names: BTreeSet<&String> = source.keys().chain(destination.keys()).collect();
        let expected: Vec<String> = names
            .into_iter()
            .map(|name| match (source.get(name), destination.get(name)) {
                (Some(one), Some(other)) => format!("both {name} {one} {other}"),
                (Some(_), None) => format!("source {name}"),
                _ => format!("destination {name}"),
            })
            .collect();
        prop_assert_eq!(lines.iter().map(told).collect::<Vec<_>>(), expected);
    }
}
