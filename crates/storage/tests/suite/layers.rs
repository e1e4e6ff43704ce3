//! What each layer adds, proved over a folder with planned faults.

use std::io::{ErrorKind, Read};
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex};
use std::time::Duration;

use strongroom_storage::{
    Call, Fault, Faults, FolderStore, Key, Layer, Layered, Limit, Meter, Operation, PutOptions, Retry, RetryPolicy,
    StorageError, Store,
};
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

/// A store that retries over `faulty`, and the waits it made.
fn retrying(faulty: &Faulty, attempts: u32) -> (Layered<Retry>, Arc<Mutex<Vec<u64>>>) {
    let waits = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&waits);
    let policy = RetryPolicy { attempts, first: Duration::from_millis(100), longest: Duration::from_millis(300) };
    let retry = Retry::with_sleep(policy, move |wait| {
        noted.lock().unwrap().push(u64::try_from(wait.as_millis()).unwrap());
    });
    (Layered::new(Arc::clone(&faulty.store) as Arc<dyn Store>, retry), waits)
}

#[test]
fn transient_errors_are_tried_again_with_growing_waits() {
    let faulty = faulty();
    for nth in 1..=4 {
        faulty.store.layer().plan(Operation::Put, nth, Fault::Fail(ErrorKind::TimedOut));
    }
    let (store, waits) = retrying(&faulty, 5);
    put(&store, b"bytes").unwrap();
    assert_eq!(read(&store), b"bytes");
    assert_eq!(*waits.lock().unwrap(), [100, 200, 300, 300]);
}

#[test]
fn attempts_come_to_an_end() {
    let faulty = faulty();
    for nth in 1..=3 {
        faulty.store.layer().plan(Operation::Head, nth, Fault::Fail(ErrorKind::TimedOut));
    }
    let (store, waits) = retrying(&faulty, 3);
    assert!(store.head(&key("a/k")).unwrap_err().is_transient());
    assert_eq!(*waits.lock().unwrap(), [100, 200]);
    assert!(store.head(&key("a/k")).unwrap_err().is_not_found());
}

#[test]
fn lasting_errors_are_not_tried_again() {
    let faulty = faulty();
    faulty.store.layer().plan(Operation::Delete, 1, Fault::Fail(ErrorKind::PermissionDenied));
    let (store, waits) = retrying(&faulty, 5);
    assert!(!store.delete(&key("a/k")).unwrap_err().is_transient());
    assert!(store.head(&key("a/k")).unwrap_err().is_not_found());
    assert!(waits.lock().unwrap().is_empty());
}

#[test]
fn a_small_body_is_given_again_from_its_beginning() {
    let faulty = faulty();
    faulty.store.layer().plan(Operation::Put, 1, Fault::DiskFull { after: 300_000 });
    faulty.store.layer().plan(Operation::Put, 2, Fault::DiskFull { after: 10 });
    let (store, waits) = retrying(&faulty, 5);
    let bytes: Vec<u8> = (0..700_000_u32).map(|n| (n % 251) as u8).collect();
    put(&store, &bytes).unwrap();
    assert!(read(&store) == bytes);
    assert_eq!(waits.lock().unwrap().len(), 2);
}

#[test]
fn a_body_read_too_far_is_not_given_again() {
    let faulty = faulty();
    faulty.store.layer().plan(Operation::Put, 1, Fault::DiskFull { after: 3_000_000 });
    let (store, waits) = retrying(&faulty, 5);
    let error = put(&store, &vec![7; 4_000_000]).unwrap_err();
    assert!(error.is_transient(), "the caller has the source and may put again");
    assert!(waits.lock().unwrap().is_empty());
    assert!(store.head(&key("a/k")).unwrap_err().is_not_found());
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

#[test]
fn calls_failures_and_bytes_are_counted() {
    let faulty = faulty();
    let store = Layered::new(Arc::clone(&faulty.store) as Arc<dyn Store>, Meter::new());
    put(&store, b"bytes").unwrap();
    put(&store, b"and more").unwrap();
    read(&store);
    store.head(&key("nothing")).unwrap_err();
    let assembly = store.assembly("one", &key("t")).unwrap();
    assembly.put(&key("k"), &mut &b"12"[..], &PutOptions::default()).unwrap();
    assembly.commit().unwrap();
    let counts = |operation| {
        let counts = store.layer().counts(operation);
        (counts.calls, counts.failures, counts.bytes)
    };
    assert_eq!(counts(Operation::Put), (3, 0, 15));
    assert_eq!(counts(Operation::Open), (1, 0, 8));
    assert_eq!(counts(Operation::Head), (1, 1, 0));
    assert_eq!(counts(Operation::Commit), (1, 0, 0));
    assert_eq!(counts(Operation::Delete), (0, 0, 0));
}

#[test]
fn no_more_calls_than_permitted_are_under_way() {
    /// Notes how many calls are inside at once; the first two wait for each other.
    struct Gauge {
        inside: AtomicUsize,
        most: AtomicUsize,
        meeting: Barrier,
        met: AtomicUsize,
    }
    impl Layer for Gauge {
        fn call<T>(
            &self,
            _call: Call<'_>,
            act: &mut dyn FnMut() -> Result<T, StorageError>,
        ) -> Result<T, StorageError> {
            let inside = self.inside.fetch_add(1, Ordering::SeqCst) + 1;
            self.most.fetch_max(inside, Ordering::SeqCst);
            if self.met.fetch_add(1, Ordering::SeqCst) < 2 {
                self.meeting.wait();
            }
            let outcome = act();
            self.inside.fetch_sub(1, Ordering::SeqCst);
            outcome
        }
    }
    let faulty = faulty();
    let gauge = Gauge {
        inside: AtomicUsize::new(0),
        most: AtomicUsize::new(0),
        meeting: Barrier::new(2),
        met: AtomicUsize::new(0),
    };
    let gauged = Arc::new(Layered::new(Arc::clone(&faulty.store) as Arc<dyn Store>, gauge));
    let limit = Limit::new(NonZeroUsize::new(2).unwrap());
    let store = Layered::new(Arc::clone(&gauged) as Arc<dyn Store>, limit);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..20 {
                    store.head(&key("nothing")).unwrap_err();
                }
            });
        }
    });
    assert_eq!(gauged.layer().most.load(Ordering::SeqCst), 2);
    assert_eq!(store.layer().under_way(), 0);
}
