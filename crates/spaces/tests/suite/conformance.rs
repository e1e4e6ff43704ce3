//! The folder engine passes the conformance suite.

use std::sync::Arc;

use strongroom_spaces::{FolderSpaces, PlainStore, conformance};
use strongroom_storage::{FolderMode, Key};
use tempfile::TempDir;

#[test]
fn a_folder_is_a_plain_store() {
    conformance::run(|| {
        let folder = TempDir::new().expect("a folder");
        std::fs::write(folder.path().join("marker"), "x").expect("a file");
        let marker = Key::new("marker").expect("a key");
        let store = FolderSpaces::open("far", folder.path(), FolderMode::ANY, Some(&marker)).expect("a store");
        let store: Arc<dyn PlainStore> = Arc::new(store);
        (folder, store)
    });
}
