//! A store made of a folder: one file per key, bookkeeping in `.strongroom/` beside the keys.
//!
//! `.strongroom/store.json` says that the folder is a store, and which; `tmp/` holds files that have no place yet, or none any more (`temporary.rs`);
//! `assembly/<id>/` what becomes visible as a whole; `lock` is what several processes agree by.

mod assembly;
mod case;
#[cfg(target_os = "linux")]
mod changes;
mod durability;
mod list;
mod location;
mod mode;
mod open;
mod plain;
mod root;
mod temporary;
mod write;

use std::fs::File;
use std::io::{ErrorKind, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rustix::fs::{self as rfs, Access, AtFlags, OFlags, RenameFlags, Stat, StatVfsMountFlags};
use rustix::io::Errno;
use uuid::Uuid;

use self::assembly::FolderAssembly;
#[cfg(target_os = "linux")]
pub use self::changes::{FolderChange, FolderChanges, TakeChange};
use self::durability::Durability;
use self::list::Keys;
pub use self::list::{NotKey, Top, Tops, Walk, Walked};
pub use self::location::{FolderLocation, Overlap};
pub use self::mode::FolderMode;
pub use self::plain::{PlainFolder, Removal};
use self::root::{RACES, Root, is_directory, is_file, split};
pub use self::temporary::Unfinished;
use self::write::Place;
use crate::moment::moment;
use crate::{Assembly, Body, Capabilities, Head, Key, Listing, PutOptions, RemovalHold, StorageError, Store};

const BOOKKEEPING: &str = ".strongroom";
const DESCRIPTION: &str = ".strongroom/store.json";
const TEMPORARY: &str = ".strongroom/tmp";
const ASSEMBLIES: &str = ".strongroom/assembly";
const LOCK: &str = ".strongroom/lock";

/// A store in a folder of a local file system. Several threads and several processes of one machine may use the same
/// folder at once. Cloning gives another handle to the same store.
///
/// Symbolic links are not followed, nor listed: a key is a regular file below the folder.
#[derive(Debug, Clone)]
pub struct FolderStore {
    folder: Arc<Folder>,
    id: Uuid,
}

#[derive(Debug)]
struct Folder {
    name: String,
    root: Root,
    /// The file whose presence proves that the disk is mounted; none: the folder must have something in it.
    proof: Option<String>,
    durability: Durability,
    /// Whether the file system takes names for the same that differ only in letter case.
    folds_case: bool,
}

impl FolderStore {
    /// Makes the folder, where missing, and the store's bookkeeping in it; opens it when it is a store already.
    pub fn create(name: impl Into<String>, path: impl AsRef<Path>) -> Result<Self, StorageError> {
        Self::create_with_mode(name, path, FolderMode::ANY)
    }

    /// As [`FolderStore::create`]; what is made from now on has these access rights.
    pub fn create_with_mode(
        name: impl Into<String>,
        path: impl AsRef<Path>,
        mode: FolderMode,
    ) -> Result<Self, StorageError> {
        let (folder, id) = open::create(name.into(), path.as_ref(), mode)?;
        Ok(Self { folder: Arc::new(folder), id })
    }

    /// Opens a folder that was made a store by [`FolderStore::create`]. Refuses any other: the empty mount point of a
    /// disk that is not there must never pass for a store that lost everything.
    pub fn open(name: impl Into<String>, path: impl AsRef<Path>) -> Result<Self, StorageError> {
        Self::open_with_mode(name, path, FolderMode::ANY)
    }

    /// As [`FolderStore::open`]; what is made from now on has these access rights.
    pub fn open_with_mode(
        name: impl Into<String>,
        path: impl AsRef<Path>,
        mode: FolderMode,
    ) -> Result<Self, StorageError> {
        let (folder, id) = open::open(name.into(), path.as_ref(), mode)?;
        Ok(Self { folder: Arc::new(folder), id })
    }

    /// Who this store is, wherever it is mounted and whatever the settings call it.
    pub fn id(&self) -> Uuid {
        self.id
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        self.folder.root.path()
    }

    /// What processes that ended left out of sight in the store in a folder, as far as it is not known that it is still written. Nothing where
    /// there is no store.
    pub fn unfinished(path: impl AsRef<Path>) -> Unfinished {
        temporary::unfinished(path.as_ref())
    }
}

impl Folder {
    fn failed(&self, act: &'static str, key: &Key, source: std::io::Error) -> StorageError {
        StorageError::Io { store: self.name.clone(), act, key: key.clone(), source }
    }

    fn not_found(&self, key: &Key) -> StorageError {
        StorageError::NotFound { store: self.name.clone(), key: key.clone() }
    }

    /// Refuses to go on where the folder is no longer at its path, or has lost what makes it this store.
    fn check_presence(&self) -> Result<(), StorageError> {
        let path = self.root.path();
        let reason = match (rfs::stat(path), rfs::fstat(self.root.directory())) {
            (Ok(there), Ok(ours)) if (there.st_dev, there.st_ino) != (ours.st_dev, ours.st_ino) => {
                format!("folder {} is another one than was opened: is the disk mounted?", path.display())
            }
            (Ok(_), Ok(_)) => match &self.proof {
                Some(proof) => match self.root.stat(proof) {
                    Ok(_) => return Ok(()),
                    Err(errno) => {
                        format!("{}/{proof} cannot be found ({errno}): is the disk mounted?", path.display())
                    }
                },
                None => match self.root.is_empty() {
                    Ok(false) => return Ok(()),
                    Ok(true) => format!(
                        "folder {} is empty: is the disk mounted? if it is, make a first folder in it, or set a marker file",
                        path.display()
                    ),
                    Err(errno) => format!("folder {} cannot be read ({errno}): is the disk mounted?", path.display()),
                },
            },
            (Err(errno), _) | (_, Err(errno)) => {
                format!("folder {} cannot be found ({errno}): is the disk mounted?", path.display())
            }
        };
        Err(StorageError::Away { store: self.name.clone(), reason })
    }

    fn check_writable(&self) -> Result<(), StorageError> {
        let (path, directory) = (self.root.path().display(), self.root.directory());
        let is_read_only = rfs::fstatvfs(directory).is_ok_and(|found| found.f_flag.contains(StatVfsMountFlags::RDONLY));
        if is_read_only {
            return Err(self.unusable(format!(
                "the file system of folder {path} is read-only: nothing can be written; mount it with write access, and look into the log of the \
                 system for errors of the disk"
            )));
        }
        match rfs::accessat(directory, ".", Access::WRITE_OK, AtFlags::EACCESS) {
            Ok(()) => Ok(()),
            Err(errno) => Err(self.unusable(format!(
                "nothing can be written into folder {path} ({errno}): give its owner and access rights back to the user of this process"
            ))),
        }
    }

    fn unusable(&self, reason: impl Into<String>) -> StorageError {
        StorageError::Unusable { store: self.name.clone(), reason: reason.into() }
    }

    /// Refuses the root and everything that belongs to the bookkeeping.
    fn check(&self, key: &Key) -> Result<(), StorageError> {
        if key.is_root() {
            return Err(self.unusable("the root of a store is no key"));
        }
        self.check_prefix(key)
    }

    fn check_prefix(&self, prefix: &Key) -> Result<(), StorageError> {
        let first = prefix.as_str().split('/').next().unwrap_or_default();
        if is_reserved(first.as_bytes()) {
            return Err(self.unusable(format!("{prefix} is not for keys: {first} belongs to the store itself")));
        }
        Ok(())
    }

    fn head_at(&self, relative: &str, key: &Key) -> Result<Head, StorageError> {
        if self.is_other_name(relative, key)? {
            return Err(self.not_found(key));
        }
        match self.root.stat(relative) {
            Ok(stat) if is_file(&stat) => Ok(head_of(&stat)),
            Ok(stat) if is_directory(&stat) => Err(self.not_found(key)),
            Ok(_) => Err(self.not_a_file(key)),
            Err(errno) => Err(self.look_failed("inspect", key, errno)),
        }
    }

    fn open_at(&self, relative: &str, key: &Key) -> Result<(File, u64), StorageError> {
        if self.is_other_name(relative, key)? {
            return Err(self.not_found(key));
        }
        // Without `NONBLOCK` a named pipe would wait for someone to write to it.
        let opened = self.root.open_at(relative, OFlags::RDONLY | OFlags::NONBLOCK);
        let file = File::from(opened.map_err(|errno| self.look_failed("open", key, errno))?);
        let stat = rfs::fstat(&file).map_err(|errno| self.failed("open", key, errno.into()))?;
        if is_directory(&stat) {
            return Err(self.not_found(key));
        }
        if !is_file(&stat) {
            return Err(self.not_a_file(key));
        }
        Ok((file, stat.st_size.cast_unsigned()))
    }

    fn look_failed(&self, act: &'static str, key: &Key, errno: Errno) -> StorageError {
        match errno {
            Errno::NOENT | Errno::NOTDIR => self.not_found(key),
            Errno::LOOP | Errno::NXIO => self.not_a_file(key),
            other => self.failed(act, key, other.into()),
        }
    }

    fn not_a_file(&self, key: &Key) -> StorageError {
        let what = "a symbolic link or special file is there or on the path";
        StorageError::InTheWay { store: self.name.clone(), key: key.clone(), what }
    }

    fn sync(&self) -> Result<(), StorageError> {
        self.durability.sync(&self.root).map_err(|errno| {
            let reason = "what was written may not have reached the disk; check the disk, then start again";
            self.unusable(format!("folder {}: {errno}: {reason}", self.root.path().display()))
        })
    }

    /// Removes the file at `relative` that has this etag; `key` is for errors. It is moved away first and read there, so that a file that a
    /// foreign program puts in its place at the same moment stays. A put that takes the lock waits meanwhile: it would
    /// find no file where a newer one is about to be moved back.
    fn remove_match(&self, relative: &str, key: &Key, wanted: &str, keep: &str) -> Result<Removal, StorageError> {
        let (parent, name) = split(relative);
        let trash = format!("{TEMPORARY}/{}", Uuid::new_v4().simple());
        let failed = |errno: Errno| self.look_failed("delete", key, errno);
        {
            let _lock = self.lock(key, true)?;
            match self.head_at(relative, key) {
                Ok(head) if head.etag != wanted => return Ok(Removal::Changed),
                Ok(_) => {}
                Err(error) if error.is_not_found() => return Ok(Removal::Absent),
                Err(error) => return Err(error),
            }
            moment("remove-match.looked");
            let directory = match self.root.open_directory(parent) {
                Ok(directory) => directory,
                Err(Errno::NOENT | Errno::NOTDIR) => return Ok(Removal::Absent),
                Err(errno) => return Err(failed(errno)),
            };
            let root = self.root.directory();
            match rfs::renameat(&directory, name, root, &trash) {
                Ok(()) => {}
                Err(Errno::NOENT) => return Ok(Removal::Absent),
                Err(errno) => return Err(failed(errno)),
            }
            moment("remove-match.taken");
            let stat = rfs::statat(root, &trash, AtFlags::SYMLINK_NOFOLLOW).map_err(failed)?;
            if !is_file(&stat) || self::etag(&stat) != wanted {
                // Back to where it was, unless a still newer one has come, which would have replaced it in any case.
                return match rfs::renameat_with(root, &trash, &directory, name, RenameFlags::NOREPLACE) {
                    Ok(()) => Ok(Removal::Changed),
                    Err(Errno::EXIST) if is_file(&stat) => {
                        rfs::unlinkat(root, &trash, AtFlags::empty()).map_err(failed).map(|()| Removal::Changed)
                    }
                    Err(errno) => Err(failed(errno)),
                };
            }
            rfs::unlinkat(root, &trash, AtFlags::empty()).map_err(failed)?;
        }
        self.root.prune(parent, keep);
        Ok(Removal::Removed)
    }

    fn remove_file(&self, key: &Key) -> Result<(), StorageError> {
        if self.is_other_name(key.as_str(), key)? {
            return Ok(());
        }
        let (directory, name) = split(key.as_str());
        {
            let _lock = self.lock(key, false)?;
            let removed = self.root.open_directory(directory).and_then(|parent| {
                let stat = rfs::statat(&parent, name, AtFlags::SYMLINK_NOFOLLOW)?;
                // A directory is no key: nothing lies under this one.
                if is_directory(&stat) { Ok(()) } else { rfs::unlinkat(&parent, name, AtFlags::empty()) }
            });
            match removed {
                Ok(()) | Err(Errno::NOENT | Errno::NOTDIR) => {}
                Err(errno) => return Err(self.look_failed("delete", key, errno)),
            }
        }
        self.root.prune(directory, "");
        Ok(())
    }

    /// Removes what lies under a key or prefix, with what processes that ended left out of sight: a file of it may be among
    /// that, under a name that does not tell. Also where nothing lies there, the directory is synced: the process that removed it
    /// may have ended before it did that.
    fn purge(&self, key: &Key, remove: impl FnOnce(&Self) -> Result<(), StorageError>) -> Result<(), StorageError> {
        self.check_presence()?;
        remove(self)?;
        let (directory, _) = split(key.as_str());
        self.root.prune(directory, "");
        self.sweep(temporary::STALE, true);
        // What an earlier attempt has renamed away and could not remove is not gone.
        self.remove_trees().map_err(|source| self.failed("delete", key, source))?;
        moment("purge.removed");
        let synced = durability::sync_nearest(&self.root, directory);
        synced
            .and_then(|()| durability::sync_nearest(&self.root, TEMPORARY))
            .map_err(|errno| self.failed("delete", key, errno.into()))
    }

    /// Removes a directory and everything in it, renamed away first, so that it is gone in one step. No process puts a key
    /// under its own name between the look and that.
    fn remove_tree(&self, relative: &str, key: &Key) -> Result<(), StorageError> {
        let (parent, name) = split(relative);
        let trash = Self::name_for_removal();
        if self.is_other_name(relative, key)? {
            return Ok(());
        }
        {
            let _lock = self.lock(key, true)?;
            match self.root.stat(relative) {
                Ok(stat) if is_directory(&stat) => {}
                Ok(_) | Err(Errno::NOENT | Errno::NOTDIR) => return Ok(()),
                Err(errno) => return Err(self.look_failed("delete", key, errno)),
            }
            moment("remove-tree.looked");
            let moved = self
                .root
                .open_directory(parent)
                .and_then(|parent| rfs::renameat(parent, name, self.root.directory(), &trash));
            match moved {
                Ok(()) => {}
                Err(Errno::NOENT | Errno::NOTDIR) => return Ok(()),
                Err(errno) => return Err(self.failed("delete", key, errno.into())),
            }
        }
        self.empty_trash(&trash).map_err(|source| self.failed("delete", key, source))
    }

    fn empty_trash(&self, trash: &str) -> std::io::Result<()> {
        for _ in 0..RACES {
            moment("empty-trash.attempt");
            match std::fs::remove_dir_all(self.root.path().join(trash)) {
                Ok(()) => return Ok(()),
                Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
                // A put that was under way may still have named its file in there.
                Err(error) if error.kind() == ErrorKind::DirectoryNotEmpty => {}
                Err(error) => return Err(error),
            }
        }
        Err(ErrorKind::ResourceBusy.into())
    }
}

impl Store for FolderStore {
    fn name(&self) -> &str {
        &self.folder.name
    }

    fn id(&self) -> Option<Uuid> {
        Some(self.id)
    }

    fn check_presence(&self) -> Result<(), StorageError> {
        self.folder.check_presence()
    }

    fn check_writable(&self) -> Result<(), StorageError> {
        self.folder.check_writable()
    }

    fn check_identity(&self) -> Result<(), StorageError> {
        self.folder.check_presence()?;
        let path = self.folder.root.path();
        let found = open::described(&self.folder.name, path)?;
        if found == self.id {
            return Ok(());
        }
        let reason = format!("folder {} holds the store {found} now, and held {}", path.display(), self.id);
        Err(StorageError::Away { store: self.folder.name.clone(), reason })
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { conditional_put: true, strong_checksum: false, atomic_assembly: true }
    }

    fn head(&self, key: &Key) -> Result<Head, StorageError> {
        self.folder.check(key)?;
        self.folder.head_at(key.as_str(), key)
    }

    fn open(&self, key: &Key, offset: u64, length: Option<u64>) -> Result<Body, StorageError> {
        self.folder.check(key)?;
        let (mut file, _) = self.folder.open_at(key.as_str(), key)?;
        if offset > 0 {
            file.seek(SeekFrom::Start(offset)).map_err(|source| self.folder.failed("open", key, source))?;
        }
        Ok(match length {
            Some(length) => Box::new(file.take(length)),
            None => Box::new(file),
        })
    }

    fn put(&self, key: &Key, body: &mut dyn Read, options: &PutOptions) -> Result<Head, StorageError> {
        self.folder.check(key)?;
        self.folder.put_at(&Place::new(key.as_str(), "", key), body, options)
    }

    fn sync(&self) -> Result<(), StorageError> {
        self.folder.sync()
    }

    fn sweep_unfinished(&self, age: Duration) -> Result<u64, StorageError> {
        self.folder.check_presence()?;
        Ok(self.folder.sweep(age, true))
    }

    fn list(&self, prefix: &Key) -> Result<Listing, StorageError> {
        self.folder.check_prefix(prefix)?;
        Ok(Box::new(Keys(Walk::new(&self.folder, prefix))))
    }

    fn list_after(&self, prefix: &Key, after: &Key) -> Result<Listing, StorageError> {
        self.folder.check_prefix(prefix)?;
        Ok(Box::new(Keys(Walk::after(&self.folder, prefix, after))))
    }

    fn delete_match(&self, key: &Key, etag: &str, keep: &Key) -> Result<bool, StorageError> {
        self.folder.check(key)?;
        self.folder.check_prefix(keep)?;
        let removal = self.folder.remove_match(key.as_str(), key, etag, keep.as_str())?;
        Ok(removal != Removal::Changed)
    }

    fn delete(&self, key: &Key) -> Result<(), StorageError> {
        self.folder.check(key)?;
        self.folder.remove_file(key)
    }

    fn delete_all(&self, prefix: &Key) -> Result<(), StorageError> {
        self.folder.check(prefix)?;
        self.folder.remove_tree(prefix.as_str(), prefix)?;
        self.folder.root.prune(split(prefix.as_str()).0, "");
        Ok(())
    }

    fn purge(&self, key: &Key) -> Result<(), StorageError> {
        self.folder.check(key)?;
        self.folder.purge(key, |folder| folder.remove_file(key))
    }

    fn purge_all(&self, prefix: &Key) -> Result<(), StorageError> {
        self.folder.check(prefix)?;
        self.folder.purge(prefix, |folder| folder.remove_tree(prefix.as_str(), prefix))
    }

    fn purge_replaced(&self, key: &Key) -> Result<(), StorageError> {
        self.folder.check(key)
    }

    fn removal_hold(&self, key: &Key) -> Result<Option<RemovalHold>, StorageError> {
        self.folder.check(key)?;
        self.folder.check_presence()?;
        Ok(None)
    }

    fn removal_hold_below(&self, prefix: &Key) -> Result<Option<RemovalHold>, StorageError> {
        self.removal_hold(prefix)
    }

    fn assembly(&self, id: &str, target: &Key) -> Result<Box<dyn Assembly>, StorageError> {
        self.folder.check(target)?;
        Ok(Box::new(FolderAssembly::new(Arc::clone(&self.folder), id, target)?))
    }

    fn assemblies(&self) -> Result<Vec<String>, StorageError> {
        assembly::ids(&self.folder)
    }
}

/// Names at the root that are not keys: ours, and what ext file systems keep at the root of a disk.
fn is_reserved(first: &[u8]) -> bool {
    first.starts_with(BOOKKEEPING.as_bytes()) || first == b"lost+found"
}

/// Inode, size and modification time, as a copy of a file under the same name never has them all.
fn etag(stat: &Stat) -> String {
    format!("{:x}-{:x}-{:x}.{:09}", stat.st_ino, stat.st_size, stat.st_mtime, stat.st_mtime_nsec)
}

/// When the file, its attributes or its rights changed last: seconds and nanoseconds.
fn changed(stat: &Stat) -> (i64, i64) {
    (stat.st_ctime, stat.st_ctime_nsec.cast_signed())
}

fn head_of(stat: &Stat) -> Head {
    Head { size: stat.st_size.cast_unsigned(), etag: etag(stat), class: None, readable: true, checksum: None }
}
