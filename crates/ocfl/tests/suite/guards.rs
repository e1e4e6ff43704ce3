//! What guards a version on its way: what was put is proved and synced, and a root inventory is replaced only by whom it
//! was meant for.

use std::sync::Arc;

use strongroom_digest::Algorithm;
use strongroom_ocfl::{InventorySeal, Object, OcflError, VersionAssembly, VersionNumber};
use strongroom_storage::{FolderStore, Key, Loss, StorageError, Store, Unsynced};

use crate::memory::MemoryStore;
use crate::sample::{Sample, sha512};

fn root() -> Key {
    Key::new("object").unwrap()
}

fn two_versions() -> Sample {
    Sample::new(&[&[("deposit/a.txt", "alpha")], &[("deposit/a.txt", "alpha"), ("deposit/b.txt", "beta")]])
}

fn open<'s>(store: &'s dyn Store, number: u32) -> VersionAssembly<'s> {
    let id = if number == 1 { "guarded" } else { "guarded-later" };
    VersionAssembly::open(store, id, &root(), VersionNumber::new(number).unwrap()).unwrap()
}

fn is_storage<T>(outcome: &Result<T, OcflError>) -> bool {
    matches!(outcome, Err(OcflError::Storage(error)) if !error.is_not_found())
}

#[test]
fn what_a_version_synced_survives_a_power_cut() {
    for loss in [Loss::Undone, Loss::Torn] {
        let folder = tempfile::tempdir().unwrap();
        let store = Unsynced::new(Arc::new(FolderStore::create("primary", folder.path()).unwrap()));
        let sample = two_versions();
        let (inventory, seal) = sample.inventory(1);
        let (digest, size) = (sha512(b"alpha"), 5);
        let assembly = open(&store, 1);
        assembly.put_content(&digest, size, None, &mut &b"alpha"[..]).unwrap();
        assembly.put_inventory(&seal, &mut &*inventory).unwrap();
        store.cut(loss).unwrap();
        let again = open(&store, 1);
        assert!(!again.verify_content(&digest, size).unwrap(), "not synced yet");

        again.put_content(&digest, size, None, &mut &b"alpha"[..]).unwrap();
        again.put_inventory(&seal, &mut &*inventory).unwrap();
        again.sync().unwrap();
        assert_eq!(store.cut(loss).unwrap(), 0);
        let last = open(&store, 1);
        assert!(last.verify_content(&digest, size).unwrap());
        assert!(last.verify_inventory(&seal).unwrap());
        last.commit(&seal, None).unwrap();
        assert_eq!(store.cut(loss).unwrap(), 0, "the root pair is durable when the commit returns");
        assert!(Object::new(&store, root()).is_at(&seal).unwrap());
    }
}

#[test]
fn a_content_is_proved_by_digest_and_by_size() {
    for store in [MemoryStore::folder(), MemoryStore::bucket()] {
        let assembly = open(&store, 1);
        let alpha = sha512(b"alpha");
        assert!(assembly.head_content(&alpha).unwrap().is_none());
        assembly.put_content(&alpha, 5, None, &mut &b"alpha"[..]).unwrap();
        assert_eq!(assembly.head_content(&alpha).unwrap().unwrap().size, 5);
        assert!(assembly.verify_content(&alpha, 5).unwrap());
        assert!(!assembly.verify_content(&alpha, 6).unwrap(), "the size is not the declared one");
        let key = assembly.content_key(&alpha).unwrap();
        let inside = key.below(&root()).unwrap().to_owned();
        if store.capabilities().atomic_assembly {
            store.set_assembled("guarded", &inside, b"alphb");
        } else {
            store.set(key.as_str(), b"alphb");
        }
        assert!(!assembly.verify_content(&alpha, 5).unwrap(), "the digest is not the declared one");
    }
}

#[test]
fn an_inventory_is_proved_before_it_counts() {
    let store = MemoryStore::folder();
    let (inventory, seal) = two_versions().inventory(1);
    let assembly = open(&store, 1);
    assert!(!assembly.verify_inventory(&seal).unwrap(), "nothing was put");
    assembly.put_inventory(&seal, &mut &*inventory).unwrap();
    assert!(assembly.verify_inventory(&seal).unwrap());
    let other = InventorySeal { digest: sha512(b"another"), ..seal };
    assert!(!assembly.verify_inventory(&other).unwrap());
    let longer = InventorySeal { size: seal.size + 1, ..seal };
    assert!(!assembly.verify_inventory(&longer).unwrap());
}

#[test]
fn what_is_damaged_in_an_assembly_is_put_again() {
    let store = MemoryStore::folder();
    let (inventory, seal) = two_versions().inventory(1);
    let assembly = open(&store, 1);
    assembly.put_inventory(&seal, &mut &*inventory).unwrap();
    let sidecar = format!("{} inventory.json\n", seal.digest);
    store.set_assembled("guarded", "v1/inventory.json", b"{}");
    store.set_assembled("guarded", "v1/inventory.json.sha512", format!("{sidecar}more").as_bytes());
    store.set_assembled("guarded", "0=ocfl_object_1.1", b"ocfl_object_1.0\n");
    assembly.put_inventory(&seal, &mut &*inventory).unwrap();
    assert!(assembly.verify_inventory(&seal).unwrap());
    assembly.commit(&seal, None).unwrap();
    assert_eq!(store.get("object/v1/inventory.json.sha512").unwrap(), sidecar.as_bytes());
    assert_eq!(store.get("object/0=ocfl_object_1.1").unwrap(), b"ocfl_object_1.1\n");
}

#[test]
fn what_is_committed_is_not_assembled_again() {
    let store = MemoryStore::folder();
    let (inventory, seal) = two_versions().inventory(1);
    let assembly = open(&store, 1);
    assembly.put_inventory(&seal, &mut &*inventory).unwrap();
    assembly.commit(&seal, None).unwrap();
    let again = open(&store, 1);
    again.put_inventory(&seal, &mut &*inventory).unwrap();
    assert_eq!(store.assembled("guarded"), Vec::<String>::new());
}

#[test]
fn what_cannot_be_read_is_not_taken_for_absent() {
    let store = MemoryStore::folder();
    let sample = two_versions();
    let (inventory, seal) = sample.inventory(1);
    let assembly = open(&store, 1);
    let alpha = sha512(b"alpha");
    let inside = assembly.content_key(&alpha).unwrap().below(&root()).unwrap().to_owned();
    store.unreadable(&inside);
    assert!(is_storage(&assembly.head_content(&alpha)));
    assert!(is_storage(&assembly.verify_content(&alpha, 5)));
    for name in ["v1/inventory.json", "v1/inventory.json.sha512", "0=ocfl_object_1.1"] {
        store.unreadable(name);
        assert!(is_storage(&assembly.put_inventory(&seal, &mut &*inventory)), "{name}");
    }
    store.unreadable("object/inventory.json");
    assert!(is_storage(&Object::new(&store, root()).root_inventory()));
    store.unreadable("none");
    assembly.put_inventory(&seal, &mut &*inventory).unwrap();
    store.unreadable("object/inventory.json");
    assert!(is_storage(&assembly.commit(&seal, None)));
}

#[test]
fn a_root_inventory_that_somebody_put_meanwhile_is_not_replaced() {
    for store in [MemoryStore::folder(), MemoryStore::bucket()] {
        let sample = two_versions();
        for number in 1..=2 {
            let assembly = open(&store, number);
            let (inventory, seal) = sample.inventory(number as usize);
            assembly.put_inventory(&seal, &mut &*inventory).unwrap();
            let before = (number > 1).then(|| sample.inventory(1).1.digest);
            if number == 1 && store.capabilities().atomic_assembly {
                // The root pair of a first version is renamed in with the rest.
                assembly.commit(&seal, None).unwrap();
                continue;
            }
            store.interfere("object/inventory.json", b"somebody else's");
            let refused = assembly.commit(&seal, before.as_ref());
            assert!(
                matches!(refused, Err(OcflError::Storage(StorageError::Condition { .. }) | OcflError::Head { .. })),
                "{refused:?}"
            );
            assert_eq!(store.get("object/inventory.json").unwrap(), b"somebody else's");
            if number == 1 {
                store.remove("object/inventory.json");
                assembly.commit(&seal, None).unwrap();
            }
        }
    }
}

#[test]
fn a_store_that_honours_no_conditions_is_asked_for_none() {
    let store = MemoryStore::unconditional();
    two_versions().write(&store, &root());
    assert!(Object::new(&store, root()).is_at(&two_versions().inventory(2).1).unwrap());
}

#[test]
fn a_root_inventory_that_is_not_read_back_as_written_is_an_error() {
    for store in [MemoryStore::folder(), MemoryStore::bucket()] {
        let sample = two_versions();
        sample.write_version(&store, &root(), 1).unwrap();
        let (inventory, seal) = sample.inventory(2);
        let assembly = open(&store, 2);
        assembly.put_content(&sha512(b"beta"), 4, None, &mut &b"beta"[..]).unwrap();
        assembly.put_inventory(&seal, &mut &*inventory).unwrap();
        store.alter_after_put("object/inventory.json");
        let refused = assembly.commit(&seal, Some(&sample.inventory(1).1.digest));
        assert!(matches!(refused, Err(OcflError::ReadBack { .. })), "{refused:?}");
    }
}

#[test]
fn only_a_strong_checksum_of_the_same_algorithm_spares_the_reading() {
    for (algorithm, is_read) in [(Algorithm::Sha512, false), (Algorithm::Sha256, true)] {
        let store = MemoryStore::folder().vouching(algorithm);
        let sample = two_versions();
        sample.write(&store, &root());
        let object = Object::new(&store, root());
        assert!(object.is_at(&sample.inventory(2).1).unwrap(), "{algorithm}");
        assert_eq!(store.reads("object/inventory.json", || drop(object.root_inventory().unwrap())) > 0, is_read);
    }
}
