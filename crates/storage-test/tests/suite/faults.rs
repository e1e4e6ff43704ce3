//! What planned faults do, proved over a folder.

use std::io::{ErrorKind, Read};
use std::sync::Arc;

use strongroom_storage::{FolderStore, Key, PutOptions, StorageError, Store};
use strongroom_storage_test::{Fault, Faults, Layered, Operation};
use tempfile::TempDir;

fn key(text: &str) -> Key {
    Key::new(text).unwrap()
}

fn put(store: &dyn Store, bytes: &[u8]) -> Result<(), StorageError> {
    store.put(&key("a/k"), &mut &*bytes, &PutOptions::default()).map(|_| ())
}

fn read(store: &dyn Store) -> Vec<u8> {
    let mut bytes = Vec::new();
    store.open(&key("a/k"), 0, None).unwrap().read_to_end(&mut bytes).unwrap();
    bytes
}

struct Faulty {
    _folder: TempDir,
    store: Arc<Layered<Faults>>,
}

fn faulty() -> Faulty {
    let folder = TempDir::new().unwrap();
    let store = FolderStore::create("primary", folder.path()).unwrap();
    Faulty { _folder: folder, store: Arc::new(Layered::new(Arc::new(store), Faults::new())) }
}

#[test]
fn a_full_disk_leaves_nothing_of_a_put() {
    let faulty = faulty();
    faulty.store.layer().plan(Operation::Put, 1, Fault::DiskFull { after: 5 });
    let error = put(&*faulty.store, b"more than five").unwrap_err();
    assert!(matches!(&error, StorageError::Io { source, .. } if source.kind() == ErrorKind::StorageFull), "{error}");
    assert_eq!(faulty.store.list(&Key::ROOT).unwrap().count(), 0);
    assert_eq!(faulty.store.layer().happened(), 1);
}

#[test]
fn a_fault_happens_at_the_call_it_was_planned_for() {
    let faulty = faulty();
    put(&*faulty.store, b"before").unwrap();
    faulty.store.layer().plan(Operation::Put, 2, Fault::Fail(ErrorKind::Other));
    put(&*faulty.store, b"first").unwrap();
    put(&*faulty.store, b"second").unwrap_err();
    put(&*faulty.store, b"third").unwrap();
    assert_eq!(read(&*faulty.store), b"third");
}

#[test]
fn a_put_may_take_effect_and_report_failure() {
    let faulty = faulty();
    faulty.store.layer().plan(Operation::Put, 1, Fault::FailAfter(ErrorKind::TimedOut));
    put(&*faulty.store, b"bytes").unwrap_err();
    assert_eq!(read(&*faulty.store), b"bytes");
}

#[test]
fn bodies_are_torn_cut_and_corrupted_as_planned() {
    let faulty = faulty();
    let planned = faulty.store.layer();
    planned.plan(Operation::Put, 1, Fault::TornBody { after: 3 });
    put(&*faulty.store, b"bytes").unwrap();
    assert_eq!(read(&*faulty.store), b"byt");
    planned.plan(Operation::Put, 1, Fault::CorruptByte { at: 1 });
    put(&*faulty.store, b"bytes").unwrap();
    assert_eq!(read(&*faulty.store), b"bxtes");
    planned.plan(Operation::Open, 1, Fault::ShortRead { after: 2 });
    assert_eq!(read(&*faulty.store), b"bx");
    planned.plan(Operation::Open, 1, Fault::CorruptByte { at: 4 });
    assert_eq!(read(&*faulty.store), b"bxter");
    assert_eq!(read(&*faulty.store), b"bxtes");
}

#[test]
fn a_torn_body_is_found_by_its_declared_size() {
    let faulty = faulty();
    faulty.store.layer().plan(Operation::Put, 1, Fault::TornBody { after: 3 });
    let options = PutOptions { size: Some(5), ..PutOptions::default() };
    let refused = faulty.store.put(&key("a/k"), &mut &b"bytes"[..], &options);
    assert!(matches!(refused, Err(StorageError::Mismatch { .. })), "{refused:?}");
    assert!(faulty.store.head(&key("a/k")).unwrap_err().is_not_found());
}
