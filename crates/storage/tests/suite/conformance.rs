//! The folder store passes the conformance suite.

use std::sync::Arc;

use strongroom_storage::{FolderStore, Store, conformance};
use tempfile::TempDir;

#[test]
fn a_folder_is_a_store() {
    conformance::run(|| {
        let folder = TempDir::new().unwrap();
        let store: Arc<dyn Store> = Arc::new(FolderStore::create("primary", folder.path()).unwrap());
        (folder, store)
    });
}
