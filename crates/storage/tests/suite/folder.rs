//! What is true of folder stores beyond what every store promises.

use std::io::Read;

use strongroom_storage::{FolderStore, Key, PutOptions, StorageError, Store};
use tempfile::TempDir;

fn key(text: &str) -> Key {
    Key::new(text).unwrap()
}

fn put(store: &dyn Store, name: &str, bytes: &[u8]) {
    store.put(&key(name), &mut &*bytes, &PutOptions::default()).unwrap();
}

fn read(store: &dyn Store, name: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    store.open(&key(name), 0, None).unwrap().read_to_end(&mut bytes).unwrap();
    bytes
}

#[test]
fn a_key_is_a_file_of_that_name() {
    let folder = TempDir::new().unwrap();
    let store = FolderStore::create("primary", folder.path()).unwrap();
    put(&store, "example.edu/a/b", b"bytes");
    assert_eq!(std::fs::read(folder.path().join("example.edu/a/b")).unwrap(), b"bytes");
    assert_eq!(read(&store, "example.edu/a/b"), b"bytes");
    store.delete(&key("example.edu/a/b")).unwrap();
    let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, [".strongroom"]);
}

#[test]
fn a_missing_or_empty_folder_is_not_taken_for_an_empty_store() {
    let folder = TempDir::new().unwrap();
    for path in [folder.path().join("missing"), folder.path().to_owned()] {
        let error = FolderStore::open("primary", path).unwrap_err();
        assert!(matches!(error, StorageError::Unusable { .. }));
        assert!(error.to_string().contains("is the disk mounted?"), "{error}");
    }
}

#[test]
fn making_a_store_twice_keeps_who_it_is() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("stores/primary");
    let first = FolderStore::create("primary", &path).unwrap();
    assert_eq!(FolderStore::create("primary", &path).unwrap().id(), first.id());
    assert_eq!(FolderStore::open("other", &path).unwrap().id(), first.id());
}
