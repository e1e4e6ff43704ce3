//! Keys on file systems that take `a` and `A`, or two spellings of one accent, for the same name.
//!
//! There, a key is what its own directories call it; anything else that the file system finds for it is not the key.

use rustix::fs::{self as rfs, AtFlags, Dir};
use rustix::io::Errno;

use super::root::Root;
use super::{DESCRIPTION, Folder};
use crate::{Key, StorageError};

/// Whether the file system folds case: it then finds our own description under another spelling.
pub(super) fn folds_case(root: &Root) -> bool {
    root.stat(&DESCRIPTION.to_uppercase()).is_ok()
}

impl Folder {
    /// Whether the file system finds something at `relative`, or above it, that bears another name.
    pub(super) fn is_other_name(&self, relative: &str, key: &Key) -> Result<bool, StorageError> {
        if !self.folds_case {
            return Ok(false);
        }
        find_other_name(&self.root, relative).map_err(|errno| self.failed("look at", key, errno.into()))
    }
}

fn find_other_name(root: &Root, relative: &str) -> Result<bool, Errno> {
    let mut directory = String::new();
    for name in relative.split('/') {
        let open = match root.open_directory(&directory) {
            Ok(open) => open,
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(false),
            Err(errno) => return Err(errno),
        };
        let exists = || rfs::statat(&open, name, AtFlags::SYMLINK_NOFOLLOW).is_ok();
        if !exists() {
            return Ok(false);
        }
        let mut bears_name = false;
        for entry in Dir::read_from(&open)? {
            if entry?.file_name().to_bytes() == name.as_bytes() {
                bears_name = true;
                break;
            }
        }
        // Asked again, because it may have been removed while the directory was read.
        if !bears_name && exists() {
            return Ok(true);
        }
        if !directory.is_empty() {
            directory.push('/');
        }
        directory.push_str(name);
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::open;
    use crate::{FolderStore, Store, conformance};

    #[test]
    fn looking_at_every_name_changes_nothing_where_names_are_exact() {
        conformance::run(|| {
            let guard = tempfile::TempDir::new().expect("a folder");
            let mut folder = open::create("primary".to_owned(), guard.path()).expect("a store");
            folder.folds_case = true;
            let store: Arc<dyn Store> = Arc::new(FolderStore { folder: Arc::new(folder) });
            (guard, store)
        });
    }
}
