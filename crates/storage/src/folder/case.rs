//! Keys on file systems that take `a` and `A`, or two spellings of one accent, for the same name.
//!
//! There, a key is what its own directories call it; anything else that the file system finds for it is not the key.

use std::os::fd::OwnedFd;

use rustix::fs::{self as rfs, AtFlags, Dir};
use rustix::io::Errno;

use super::root::Root;
use super::{DESCRIPTION, Folder};
use crate::{Key, StorageError};

/// Names that are tried.
const LOOKED_AT: usize = 64;

/// Whether the file system folds case: it then finds our own description under another spelling.
pub(super) fn folds_case(root: &Root) -> bool {
    root.stat(&DESCRIPTION.to_uppercase()).is_ok()
}

/// The same of a folder that need not have anything of ours: by names in it that have another spelling in upper case. Where it has none,
/// names count as exact.
pub(super) fn folds_case_of_names(root: &Root) -> bool {
    let Ok(open) = root.open_directory("") else { return false };
    let Ok(entries) = Dir::read_from(&open) else { return false };
    entries.flatten().take(LOOKED_AT).any(|entry| {
        let name = entry.file_name().to_bytes();
        let upper = name.to_ascii_uppercase();
        let facts =
            |name: &[u8]| rfs::statat(&open, name, AtFlags::SYMLINK_NOFOLLOW).map(|stat| (stat.st_dev, stat.st_ino));
        upper != name && facts(name).is_ok_and(|own| facts(&upper) == Ok(own))
    })
}

impl Folder {
    /// Whether the file system finds something at `relative`, or above it, that bears another name.
    pub(super) fn is_other_name(&self, relative: &str, key: &Key) -> Result<bool, StorageError> {
        if !self.folds_case {
            return Ok(false);
        }
        find_other_name(&self.root, relative).map_err(|errno| self.failed("inspect", key, errno.into()))
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
        match bears_name(&open, name)? {
            Some(true) => {}
            Some(false) => return Ok(true),
            None => return Ok(false),
        }
        if !directory.is_empty() {
            directory.push('/');
        }
        directory.push_str(name);
    }
    Ok(false)
}

/// How often a directory is read before what it does not list is taken for another name. Others may remove and make a name
/// while it is read; where the file system folds names, no reading ever lists it.
const READINGS: usize = 16;

/// Whether what the file system finds under a name is listed by that name; nothing where it finds nothing.
fn bears_name(directory: &OwnedFd, name: &str) -> Result<Option<bool>, Errno> {
    for _ in 0..READINGS {
        if rfs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW).is_err() {
            return Ok(None);
        }
        for entry in Dir::read_from(directory)? {
            if entry?.file_name().to_bytes() == name.as_bytes() {
                return Ok(Some(true));
            }
        }
    }
    Ok(Some(false))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::open;
    use crate::{FolderMode, FolderStore, Store, conformance};

    #[test]
    fn looking_at_every_name_changes_nothing_where_names_are_exact() {
        conformance::run(|| {
            let guard = tempfile::TempDir::new().expect("a folder");
            let (mut folder, id) = open::create("primary".to_owned(), guard.path(), FolderMode::ANY).expect("a store");
            folder.folds_case = true;
            let store: Arc<dyn Store> = Arc::new(FolderStore { folder: Arc::new(folder), id });
            (guard, store)
        });
    }
}
