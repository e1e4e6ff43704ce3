//! A store for tests is a store while no test makes it fail: it passes the conformance suite.

use std::sync::Arc;

use strongroom_storage::{FolderStore, Store, conformance};
use strongroom_storage_test::{Faults, Layered, Unsynced};
use tempfile::TempDir;

fn folder() -> (TempDir, Arc<dyn Store>) {
    let folder = TempDir::new().unwrap();
    let store = FolderStore::create("primary", folder.path()).unwrap();
    (folder, Arc::new(store))
}

#[test]
fn a_folder_without_planned_faults_is_a_store() {
    conformance::run(|| {
        let (guard, store) = folder();
        let layered: Arc<dyn Store> = Arc::new(Layered::new(store, Faults::new()));
        (guard, layered)
    });
}

#[test]
fn a_folder_whose_power_stays_on_is_a_store() {
    conformance::run(|| {
        let (guard, store) = folder();
        let unsynced: Arc<dyn Store> = Arc::new(Unsynced::new(store));
        (guard, unsynced)
    });
}
