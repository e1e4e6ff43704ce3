//! What a power cut takes and what it leaves, by the layer that cuts it.

use std::io::Read;
use std::sync::Arc;

use strongroom_storage::{Assembly, Durability, FolderStore, Key, PutOptions, Store};
use strongroom_storage_test::{Loss, Unsynced};
use tempfile::TempDir;

fn key(text: &str) -> Key {
    Key::new(text).unwrap()
}

fn store() -> (TempDir, Unsynced) {
    let folder = TempDir::new().unwrap();
    let store = FolderStore::create("primary", folder.path()).unwrap();
    (folder, Unsynced::new(Arc::new(store)))
}

fn put(store: &Unsynced, name: &str, bytes: &[u8], durability: Durability) {
    let options = PutOptions { durability, ..PutOptions::default() };
    store.put(&key(name), &mut &*bytes, &options).unwrap();
}

fn read(store: &Unsynced, name: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    store.open(&key(name), 0, None).ok()?.read_to_end(&mut bytes).unwrap();
    Some(bytes)
}

fn add(assembly: &dyn Assembly, name: &str, bytes: &[u8]) {
    assembly.put(&key(name), &mut &*bytes, &PutOptions::default()).unwrap();
}

#[test]
fn a_power_cut_undoes_what_was_not_synced() {
    let (_folder, store) = store();
    put(&store, "durable", b"one", Durability::OnReturn);
    put(&store, "replaced", b"old", Durability::OnSync);
    put(&store, "removed/a", b"a", Durability::OnSync);
    put(&store, "removed/b", b"b", Durability::OnSync);
    put(&store, "removed/c", b"c", Durability::OnSync);
    store.sync().unwrap();
    assert_eq!(store.loose(), 0);
    put(&store, "replaced", b"new", Durability::OnSync);
    put(&store, "replaced", b"newer", Durability::OnSync);
    put(&store, "fresh", b"fresh", Durability::OnSync);
    put(&store, "kept", b"fresh", Durability::OnSync);
    put(&store, "kept", b"kept", Durability::OnReturn);
    store.delete_all(&key("removed")).unwrap();
    assert_eq!(store.cut(Loss::Undone).unwrap(), 5);
    assert_eq!(read(&store, "durable").unwrap(), b"one");
    assert_eq!(read(&store, "replaced").unwrap(), b"old");
    assert_eq!(read(&store, "fresh"), None);
    assert_eq!(read(&store, "kept").unwrap(), b"kept");
    assert_eq!(read(&store, "removed/b").unwrap(), b"b");
    let etag = store.head(&key("removed/a")).unwrap().etag;
    assert!(store.delete_match(&key("removed/a"), &etag, &Key::ROOT).unwrap());
    store.delete(&key("removed/b")).unwrap();
    store.delete(&key("removed/none")).unwrap();
    assert_eq!(store.cut(Loss::Undone).unwrap(), 2);
    assert_eq!(store.list(&key("removed")).unwrap().count(), 3);
}

#[test]
fn a_power_cut_tears_what_was_not_synced() {
    let (_folder, store) = store();
    put(&store, "whole", b"four", Durability::OnSync);
    put(&store, "removed", b"four", Durability::OnSync);
    store.sync().unwrap();
    put(&store, "torn", b"four", Durability::OnSync);
    store.delete(&key("removed")).unwrap();
    store.cut(Loss::Torn).unwrap();
    assert_eq!(read(&store, "whole").unwrap(), b"four");
    assert_eq!(read(&store, "torn").unwrap(), b"fo");
    assert_eq!(read(&store, "removed"), None);
}

#[test]
fn a_power_cut_takes_from_an_assembly_what_was_not_synced() {
    for (loss, second, third) in
        [(Loss::Undone, Some(&b"early"[..]), None), (Loss::Torn, Some(&b"la"[..]), Some(&b"th"[..]))]
    {
        let (_folder, store) = store();
        let assembly = store.assembly("one", &key("o/v1")).unwrap();
        add(&*assembly, "first", b"first");
        add(&*assembly, "second", b"early");
        assembly.sync().unwrap();
        add(&*assembly, "second", b"late");
        add(&*assembly, "third", b"third");
        assert_eq!(store.cut(loss).unwrap(), 2);
        let again = store.assembly("one", &key("o/v1")).unwrap();
        for (name, expected) in [("first", Some(&b"first"[..])), ("second", second), ("third", third)] {
            let mut bytes = Vec::new();
            let found = again.open(&key(name)).ok().map(|mut body| body.read_to_end(&mut bytes).unwrap());
            assert_eq!(found.map(|_| bytes.as_slice()), expected, "{name} after {loss:?}");
        }
        again.commit().unwrap();
        assert_eq!(store.cut(loss).unwrap(), 0, "what is committed is durable");
        assert_eq!(read(&store, "o/v1/first").unwrap(), b"first");
    }
}

#[test]
fn a_discarded_assembly_does_not_come_back() {
    let (_folder, store) = store();
    let assembly = store.assembly("one", &key("o/v1")).unwrap();
    add(&*assembly, "a", b"a");
    assembly.discard().unwrap();
    assert_eq!(store.cut(Loss::Undone).unwrap(), 0);
    assert!(store.assemblies().unwrap().is_empty());
}
