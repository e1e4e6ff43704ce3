//! An upload that cannot be removed, and a store that is away, stop nobody else's uploads.

use std::sync::Arc;

use strongroom_engine::{Home, build_runtime};
use strongroom_storage::{StorageError, Store};
use strongroom_storage_test::{Call, Layer, Layered, Operation};

use super::*;

/// Refuses to remove the upload of one name.
struct Locked(&'static str);

impl Layer for Locked {
    fn call<T>(&self, call: Call<'_>, act: &mut dyn FnMut() -> Result<T, StorageError>) -> Result<T, StorageError> {
        if call.operation == Operation::Delete && call.key.as_str().ends_with(self.0) {
            let source = std::io::Error::from(std::io::ErrorKind::PermissionDenied);
            return Err(StorageError::Io { store: call.store.into(), act: "remove", key: call.key.clone(), source });
        }
        act()
    }
}

/// A home over the same registry whose receiving store does not remove an upload.
fn with_locked(made: &TestHome, name: &'static str) -> Arc<Home> {
    let mut home = Home::with_registry(made.path(), made.settings.clone(), made.registry.clone()).expect("opens");
    let store: Arc<dyn Store> = Arc::new(Layered::new(home.stores["receiving"].clone(), Locked(name)));
    home.stores.insert("receiving".into(), store.clone());
    home.roles.receiving = store;
    Arc::new(home)
}

#[test]
fn one_upload_that_cannot_be_removed_does_not_stop_the_watching() {
    let made = home();
    let home = with_locked(&made, "letters.tar");
    upload(&made, "letters", &[("a.txt", b"one")]);
    settle(&made);
    let first = all_items(&made)[0].id;
    let workers = build_runtime(&home, None).expect("a runtime").build();
    workers.run_until(&Shutdown::new(), &|| {
        made.clock.advance(Duration::from_mins(5));
        made.registry.read(|tx| items::find(tx, Scope::System, first)).expect("the item").status.is_ended()
    });
    upload(&made, "diaries", &[("a.txt", b"two")]);
    let mut failures = Vec::new();
    for _ in 0..3 {
        failures.extend(receiving::watch(&home, &Shutdown::new()).err().map(|error| error.chain()));
        made.clock.advance(Duration::from_mins(1));
    }
    assert_eq!(all_items(&made).len(), 2, "the second upload was never noticed: {failures:?}");
    assert!(failures.iter().any(|failure| failure.contains("letters.tar")), "the failure is told: {failures:?}");
}
