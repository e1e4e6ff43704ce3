//! Every store and every layer passes the conformance suite.

use std::num::NonZeroUsize;
use std::sync::Arc;

use strongroom_storage::{
    Faults, FolderStore, Layer, Layered, Limit, Meter, Retry, RetryPolicy, Store, Unsynced, conformance,
};
use tempfile::TempDir;

fn folder() -> (TempDir, Arc<dyn Store>) {
    let folder = TempDir::new().unwrap();
    let store = FolderStore::create("primary", folder.path()).unwrap();
    (folder, Arc::new(store))
}

fn under<L: Layer>(layer: impl Fn() -> L) {
    conformance::run(|| {
        let (guard, store) = folder();
        let layered: Arc<dyn Store> = Arc::new(Layered::new(store, layer()));
        (guard, layered)
    });
}

#[test]
fn a_folder_is_a_store() {
    conformance::run(folder);
}

#[test]
fn a_retried_folder_is_a_store() {
    under(|| Retry::with_sleep(RetryPolicy::default(), |_| {}));
}

#[test]
fn a_limited_folder_is_a_store() {
    under(|| Limit::new(NonZeroUsize::new(2).unwrap()));
}

#[test]
fn a_folder_limited_to_one_call_is_a_store() {
    under(|| Limit::new(NonZeroUsize::MIN));
}

#[test]
fn a_metered_folder_is_a_store() {
    under(Meter::new);
}

#[test]
fn a_folder_without_planned_faults_is_a_store() {
    under(Faults::new);
}

#[test]
fn a_folder_whose_power_stays_on_is_a_store() {
    conformance::run(|| {
        let (guard, store) = folder();
        let unsynced: Arc<dyn Store> = Arc::new(Unsynced::new(store));
        (guard, unsynced)
    });
}
