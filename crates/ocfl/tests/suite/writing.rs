//! Versions come to be as a whole, whatever interrupts them, in stores of both kinds.

use strongroom_ocfl::{Object, OcflError, StorageRoot, VersionAssembly, VersionNumber};
use strongroom_storage::{Key, Store};

use crate::memory::MemoryStore;
use crate::sample::{Sample, sample_id, sha512};

fn three_versions() -> Sample {
    Sample::new(&[
        &[("deposit/a.txt", "alpha"), ("deposit/b.txt", "beta"), ("deposit/copy.txt", "alpha")],
        &[("deposit/a.txt", "alpha two"), ("deposit/b.txt", "beta")],
        &[("deposit/b.txt", "beta"), ("deposit/c.txt", "alpha")],
    ])
}

fn both_kinds() -> [MemoryStore; 2] {
    [MemoryStore::folder(), MemoryStore::bucket()]
}

#[test]
fn an_object_lies_in_the_store_as_ocfl_prescribes() {
    for store in both_kinds() {
        let root = Key::new("object").unwrap();
        let sample = three_versions();
        sample.write(&store, &root);

        let (inventory, seal) = sample.inventory(3);
        let sidecar = format!("{} inventory.json\n", seal.digest).into_bytes();
        assert_eq!(store.get("object/0=ocfl_object_1.1").unwrap(), b"ocfl_object_1.1\n");
        for directory in ["object", "object/v3"] {
            assert_eq!(store.get(&format!("{directory}/inventory.json")).unwrap(), inventory);
            assert_eq!(store.get(&format!("{directory}/inventory.json.sha512")).unwrap(), sidecar);
        }
        let alpha = sha512(b"alpha").to_hex();
        assert_eq!(store.get(&format!("object/v1/content/sample-v1/{}/{alpha}", &alpha[..2])).unwrap(), b"alpha");
        // Declaration, root pair, three pairs of the versions, and each content once: two, one, none.
        assert_eq!(store.keys().len(), 3 + 6 + 3);
        assert!(Object::new(&store, root).is_at(&seal).unwrap());
    }
}

#[test]
fn a_version_cut_short_at_any_write_is_completed_by_repeating_it() {
    let root = Key::new("object").unwrap();
    for (kind, whole) in both_kinds().into_iter().enumerate() {
        let sample = three_versions();
        sample.write(&whole, &root);
        let mut writes = 0;
        loop {
            let store = both_kinds()[kind].clone();
            let mut failures = 0;
            for number in 1..=3 {
                store.fail_after(Some(writes));
                if sample.write_version(&store, &root, number).is_err() {
                    failures += 1;
                    store.fail_after(None);
                    sample.write_version(&store, &root, number).unwrap();
                }
            }
            assert_eq!(store.keys(), whole.keys(), "cut after {writes} writes");
            assert!(store.files() == whole.files(), "cut after {writes} writes");
            writes += 1;
            if failures == 0 {
                break;
            }
        }
        assert!(writes > 6, "every step was cut");
    }
}

#[test]
fn no_root_inventory_is_seen_before_the_commit() {
    for store in both_kinds() {
        let root = Key::new("object").unwrap();
        let sample = three_versions();
        let assembly = VersionAssembly::open(&store, "sample-v1", &root, VersionNumber::FIRST).unwrap();
        assembly.put_content(&sha512(b"alpha"), 5, None, &mut &b"alpha"[..]).unwrap();
        assembly.put_content(&sha512(b"beta"), 4, None, &mut &b"beta"[..]).unwrap();
        assembly.sync().unwrap();
        assert_eq!(Object::new(&store, root.clone()).root_inventory().unwrap(), None);
        let seal = sample.commit(&assembly, 1).unwrap();
        assert!(Object::new(&store, root).is_at(&seal).unwrap());
    }
}

#[test]
fn a_version_is_not_committed_over_a_root_inventory_it_does_not_follow() {
    for store in both_kinds() {
        let root = Key::new("object").unwrap();
        let sample = three_versions();
        sample.write_version(&store, &root, 1).unwrap();
        let before = store.get("object/inventory.json").unwrap();
        let assembly = VersionAssembly::open(&store, "b", &root, VersionNumber::new(2).unwrap()).unwrap();
        let refused = sample.commit_over(&assembly, 2, Some(&sha512(b"another history")));
        assert!(matches!(refused, Err(OcflError::Head { .. })), "{refused:?}");
        assert_eq!(store.get("object/inventory.json").unwrap(), before);
    }
}

#[test]
fn an_abandoned_version_leaves_nothing() {
    for store in both_kinds() {
        let root = Key::new("object").unwrap();
        let sample = three_versions();
        sample.write_version(&store, &root, 1).unwrap();
        let before = store.files();
        let assembly =
            VersionAssembly::open(&store, "abandoned-version", &root, VersionNumber::new(2).unwrap()).unwrap();
        assembly.put_content(&sha512(b"x"), 1, None, &mut &b"x"[..]).unwrap();
        assembly.abandon().unwrap();
        assert_eq!(store.files(), before);
    }
}

#[test]
fn a_content_that_differs_from_its_digest_is_refused() {
    let store = MemoryStore::folder();
    let root = Key::new("object").unwrap();
    let assembly = VersionAssembly::open(&store, "d", &root, VersionNumber::FIRST).unwrap();
    assert!(assembly.put_content(&sha512(b"x"), 1, None, &mut &b"y"[..]).is_err());
    assert!(assembly.head_content(&sha512(b"x")).unwrap().is_none());
    assert!(!assembly.verify_content(&sha512(b"x"), 1).unwrap());
}

#[test]
fn a_storage_root_is_made_once_and_found_again() {
    let store = MemoryStore::folder();
    let prefix = Key::new("example.edu").unwrap();
    let made = StorageRoot::init(&store, &prefix).unwrap();
    let files = store.files();
    StorageRoot::init(&store, &prefix).unwrap();
    assert_eq!(store.files(), files);
    assert_eq!(store.get("example.edu/0=ocfl_1.1").unwrap(), b"ocfl_1.1\n");

    let opened = StorageRoot::open(&store, &prefix).unwrap();
    assert_eq!(opened.layout(), made.layout());
    let hex = sha512(sample_id().as_bytes()).to_hex();
    let expected = format!("example.edu/{}/{}/{}/{hex}", &hex[..3], &hex[3..6], &hex[6..9]);
    assert_eq!(opened.object_root(&sample_id()).unwrap().as_str(), expected);
}

#[test]
fn making_a_storage_root_that_was_cut_short_completes_it() {
    let whole = MemoryStore::folder();
    let prefix = Key::new("example.edu").unwrap();
    StorageRoot::init(&whole, &prefix).unwrap();
    for writes in 0..3 {
        let store = MemoryStore::folder();
        store.fail_after(Some(writes));
        assert!(StorageRoot::init(&store, &prefix).is_err());
        store.fail_after(None);
        StorageRoot::init(&store, &prefix).unwrap();
        assert_eq!(store.files(), whole.files());
    }
}

#[test]
fn a_storage_root_is_not_made_where_anything_else_lies() {
    for (key, text) in [("r/readme.txt", "hello"), ("r/0=ocfl_1.0", "ocfl_1.0\n"), ("r/0=ocfl_1.1", "ocfl_1.1\n")] {
        let store = MemoryStore::folder();
        store.set(key, text.as_bytes());
        let refused = StorageRoot::init(&store, &Key::new("r").unwrap());
        assert!(matches!(refused, Err(OcflError::Root { .. })), "{key}");
        assert_eq!(store.keys(), [key]);
    }
}

#[test]
fn every_object_of_a_storage_root_is_found_and_nothing_else() {
    let store = MemoryStore::bucket();
    let prefix = Key::new("example.edu").unwrap();
    let root = StorageRoot::init(&store, &prefix).unwrap();
    let mut expected = Vec::new();
    for number in 0..20 {
        let object_root = root.object_root(&format!("urn:example:{number}")).unwrap();
        Sample::new(&[&[("a", "1")]]).write(&store, &object_root);
        expected.push(object_root);
    }
    expected.sort();
    store.set("example.edu/extensions/x/0=ocfl_object_1.1", b"");
    let found: Vec<Key> = root.objects().unwrap().map(|object| object.unwrap().root().clone()).collect();
    assert_eq!(found, expected);
}

#[test]
fn a_log_is_a_single_file_below_logs() {
    let store = MemoryStore::folder();
    let object = Object::new(&store, Key::new("object").unwrap());
    object.put_log("repair-1.json", b"{}").unwrap();
    assert_eq!(store.get("object/logs/repair-1.json").unwrap(), b"{}");
    assert!(object.put_log("a/b", b"").is_err());
    assert!(object.put_log("", b"").is_err());
    assert!(store.head(&Key::new("object/logs/b").unwrap()).is_err());
}

#[test]
fn a_damaged_inventory_sidecar_or_declaration_is_put_back() {
    let store = MemoryStore::folder();
    let root = Key::new("object").unwrap();
    let sample = three_versions();
    sample.write(&store, &root);
    let whole = store.files();
    let object = Object::new(&store, root);
    for (of, directory) in [(None, "object"), (Some(VersionNumber::new(2).unwrap()), "object/v2")] {
        let (bytes, seal) = sample.inventory(of.map_or(3, VersionNumber::number) as usize);
        let mut source =
            || -> Result<strongroom_storage::Body, OcflError> { Ok(Box::new(std::io::Cursor::new(bytes.clone()))) };
        store.set(&format!("{directory}/inventory.json"), b"{}");
        assert!(matches!(object.restore_inventory(of, &seal, None, &mut source), Err(OcflError::Head { .. })));
        object.restore_inventory(of, &seal, Some(&sha512(b"{}")), &mut source).unwrap();
        store.remove(&format!("{directory}/inventory.json"));
        store.set(&format!("{directory}/inventory.json.sha512"), b"x");
        object.restore_inventory(of, &seal, None, &mut source).unwrap();
        store.set(&format!("{directory}/inventory.json.sha512"), b"x");
        object.restore_inventory(of, &seal, None, &mut || panic!("it is there already")).unwrap();
    }
    assert!(object.is_declared().unwrap());
    store.set("object/0=ocfl_object_1.1", b"damaged");
    assert!(!object.is_declared().unwrap());
    object.restore_declaration().unwrap();
    assert_eq!(store.files(), whole);
    let second = object.version_inventory(VersionNumber::new(2).unwrap()).unwrap().unwrap();
    assert_eq!(second.seal, sample.inventory(2).1);
}
