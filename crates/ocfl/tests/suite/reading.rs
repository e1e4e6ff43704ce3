//! What was written is read back entry by entry, and hostile inventories are refused without harm.

use std::collections::BTreeMap;

use proptest::prelude::*;
use strongroom_ocfl::{InventoryEntry, InventorySummary, Limits, Object, OcflError, VersionNumber, read_inventory};
use strongroom_storage::Key;

use crate::memory::MemoryStore;
use crate::sample::{Sample, sample_id, sha512};

/// Entries as plain values.
#[derive(Debug, Default, PartialEq, Eq)]
struct Read {
    manifest: BTreeMap<String, String>,
    states: BTreeMap<(u32, String), String>,
    fixity: BTreeMap<(String, String), String>,
}

fn read(bytes: &[u8]) -> Result<(Read, InventorySummary), OcflError> {
    let mut all = Read::default();
    let summary = read_inventory(bytes, Limits::default(), &mut |entry| {
        match entry {
            InventoryEntry::Manifest { digest, path } => {
                all.manifest.insert(path.to_owned(), digest.to_hex());
            }
            InventoryEntry::State { version, digest, path } => {
                all.states.insert((version.number(), path.to_owned()), digest.to_hex());
            }
            InventoryEntry::Fixity { algorithm, digest, path } => {
                all.fixity.insert((algorithm.to_owned(), path.to_owned()), digest.to_hex());
            }
        }
        Ok(())
    })?;
    Ok((all, summary))
}

fn path_strategy() -> impl Strategy<Value = String> {
    proptest::collection::vec("[a-zé\"\\\\ \u{1}.]{1,6}[a-z]", 1..4).prop_map(|parts| parts.join("/"))
}

fn sample_strategy() -> impl Strategy<Value = Sample> {
    let files = proptest::collection::btree_map(path_strategy(), proptest::collection::vec(0_u8..4, 0..3), 0..8);
    (proptest::collection::vec(files, 1..5), any::<bool>()).prop_map(|(versions, fixity)| Sample { versions, fixity })
}

proptest! {
    #[test]
    fn an_inventory_reads_back_as_it_was_written(sample in sample_strategy()) {
        let head = sample.versions.len();
        let (bytes, seal) = sample.inventory(head);
        prop_assert_eq!(seal.size, bytes.len() as u64);
        prop_assert_eq!(seal.digest, sha512(&bytes));
        prop_assert!(serde_json::from_slice::<serde_json::Value>(&bytes).is_ok());

        let (all, summary) = read(&bytes).unwrap();
        prop_assert_eq!(&summary.header.id, &sample_id());
        prop_assert_eq!(summary.header.head.number() as usize, head);
        for (index, (number, details)) in summary.versions.iter().enumerate() {
            prop_assert_eq!(number.number() as usize, index + 1);
            prop_assert_eq!(details, &Sample::details(index + 1));
        }
        let mut states = BTreeMap::new();
        for (index, files) in sample.versions.iter().enumerate() {
            for (path, bytes) in files {
                states.insert((index as u32 + 1, path.clone()), sha512(bytes).to_hex());
            }
        }
        prop_assert_eq!(&all.states, &states);
        let contents: std::collections::BTreeSet<_> = states.values().collect();
        prop_assert_eq!(all.manifest.values().collect::<std::collections::BTreeSet<_>>(), contents);
        let fixities = if sample.fixity { all.manifest.len() * 3 } else { 0 };
        prop_assert_eq!(all.fixity.len(), fixities);
    }

    #[test]
    fn a_damaged_inventory_is_read_or_refused_but_never_panics(
        sample in sample_strategy(),
        place in any::<proptest::sample::Index>(),
        byte in any::<u8>(),
        cut in any::<bool>(),
    ) {
        let (mut bytes, _) = sample.inventory(sample.versions.len());
        let place = place.index(bytes.len());
        if cut { bytes.truncate(place) } else { bytes[place] = byte }
        let _ = read(&bytes);
    }
}

#[test]
fn hostile_inventories_are_refused() {
    let (good, _) = Sample::new(&[&[("a", "1")]]).inventory(1);
    let good = String::from_utf8(good).unwrap();
    let swapped = |from: &str, to: &str| {
        assert!(good.contains(from), "{from}");
        good.replacen(from, to, 1)
    };
    let cases = [
        swapped("\"a\"", "\"../a\""),
        swapped("\"a\"", "\"/etc/passwd\""),
        swapped("\"v1/content/", "\"v1/../../content/"),
        swapped("\"head\": \"v1\"", "\"head\": \"v9\""),
        swapped("\"head\": \"v1\"", "\"head\": 1"),
        swapped("\"head\": \"v1\"", "\"head\": \"v4294967295\""),
        swapped("\"head\": \"v1\"", "\"head\": \"v1\", \"head\": \"v1\""),
        swapped("\"head\": \"v1\"", "\"head\": \"v1\", \"contentDirectory\": \"..\""),
        swapped("\"head\": \"v1\"", "\"head\": \"v1\", \"surprise\": {}"),
        swapped("sha512", "md5"),
        swapped("2026-01-01T12:00:00Z", "yesterday"),
        swapped("\"manifest\": {", "\"manifest\": [], \"x\": {"),
        format!("{good}{good}"),
        "[".repeat(1_000_000),
        "{\"manifest\":".repeat(100_000),
        format!("{{\"id\": \"{}\"}}", "x".repeat(2 << 20)),
        "null".to_owned(),
        String::new(),
    ];
    for case in cases {
        let shown: String = case.chars().take(200).collect();
        assert!(read(case.as_bytes()).is_err(), "{shown}");
    }
}

#[test]
fn a_state_is_read_with_the_places_of_its_contents() {
    let store = MemoryStore::folder();
    let root = Key::new("object").unwrap();
    Sample::new(&[&[("a", "1"), ("b", "2")], &[("b", "3"), ("c", "1")]]).write(&store, &root);
    let object = Object::new(&store, root);
    let mut files = Vec::new();
    let second = VersionNumber::new(2).unwrap();
    let summary = object
        .read_state(second, Limits::default(), &mut |path, digest, content| {
            files.push((path.to_owned(), digest, content.to_owned()));
            Ok(())
        })
        .unwrap();
    files.sort();
    let (one, three) = (sha512(b"1"), sha512(b"3"));
    let expected = [
        ("b".to_owned(), three, Sample::content_path(2, &three)),
        ("c".to_owned(), one, Sample::content_path(1, &one)),
    ];
    assert_eq!(files, expected);
    assert_eq!(summary.header.head, second);
}

#[test]
fn the_writer_refuses_what_would_make_an_inventory_invalid() {
    use strongroom_ocfl::{InventoryHeader, InventoryWriter};
    let header = InventoryHeader::new("urn:x", VersionNumber::FIRST);
    let begin = || InventoryWriter::new(Vec::new(), &header).unwrap();
    let (low, high) = ("00".repeat(64).parse().unwrap(), "ff".repeat(64).parse().unwrap());
    let short = "00".repeat(32).parse().unwrap();

    for bad in ["", "/a", "a/", "a//b", "a/../b", "."] {
        assert!(begin().manifest(&low, bad).is_err(), "{bad}");
    }
    assert!(begin().manifest(&short, "v1/content/a").is_err());
    let mut unsorted = begin();
    unsorted.manifest(&high, "v1/content/a").unwrap();
    assert!(unsorted.manifest(&low, "v1/content/b").is_err());
    let mut doubled = begin();
    doubled.manifest(&low, "v1/content/a").unwrap();
    assert!(doubled.manifest(&low, "v1/content/a").is_err());
    assert!(begin().state(&low, "a").is_err());
    assert!(begin().version(VersionNumber::new(2).unwrap(), &Sample::details(2)).is_err());
    assert!(begin().finish().is_err());
    let mut late = begin();
    late.version(VersionNumber::FIRST, &Sample::details(1)).unwrap();
    late.fixity("md5", &"00".repeat(16).parse().unwrap(), "v1/content/a").unwrap();
    assert!(late.version(VersionNumber::FIRST, &Sample::details(1)).is_err());
    let mut timeless = Sample::details(1);
    timeless.created = "now".into();
    assert!(begin().version(VersionNumber::FIRST, &timeless).is_err());
}
