//! A folder that others write to: its directories, and the files below each, by the same means as a folder store has.
//!
//! It has no description and no id. `.strongroom/` with `tmp/` and `lock` is made by the first write, and never by reading.

use std::fs::{DirBuilder, File};
use std::io::{self, Read};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use rustix::fs::{self as rfs, AtFlags, Mode};
use rustix::io::Errno;

use super::durability::Durability;
use super::list::{Tops, Walk};
use super::root::is_directory;
use super::write::Place;
use super::{
    BOOKKEEPING, DESCRIPTION, Folder, FolderMode, TEMPORARY, case, changed as changed_at, etag, head_of, open,
};
use crate::{Head, Key, PutOptions, StorageError};

/// Names of one directory held at a time.
const BATCH: usize = 65_536;
/// Seconds after which the clock of a file system shows another time than before.
const SAME_TIME: i64 = 2;
/// What to do where there is no folder.
const UNMOUNTED: &str = "is the disk mounted?";

/// What became of a removal that depends on an etag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Removal {
    /// What had the etag is gone.
    Removed,
    /// Nothing lay there.
    Absent,
    /// What lies there has another etag, and stays.
    Changed,
}

/// A folder that others write to. Its directories, and files below them, are reached without following any symbolic link.
/// Several threads and several processes of one machine may use the same folder at once. Cloning gives another handle.
#[derive(Debug, Clone)]
pub struct PlainFolder {
    folder: Arc<Folder>,
    mode: FolderMode,
    /// When the directories at the top had changed last that are known to be durable.
    synced: Arc<Mutex<Option<(i64, i64)>>>,
}

impl PlainFolder {
    /// Opens a folder. `marker` names a file in it whose presence proves that the disk is mounted; without one, an empty folder
    /// counts as one that is not mounted. Nothing is made in it.
    ///
    /// # Errors
    /// [`StorageError::Away`] where it is not there, and [`StorageError::Unusable`] where it is a preservation store.
    pub fn open(
        name: impl Into<String>,
        path: impl AsRef<Path>,
        mode: FolderMode,
        marker: Option<&Key>,
    ) -> Result<Self, StorageError> {
        let (name, path) = (name.into(), path.as_ref());
        let root = open::open_root(&name, path, mode, UNMOUNTED).map_err(|error| match error {
            StorageError::Unusable { store, reason } => StorageError::Away { store, reason },
            other => other,
        })?;
        let folds_case = case::folds_case_of_names(&root);
        let proof = marker.map(Key::to_string);
        let folder = Folder { name, root, proof, durability: Durability::default(), folds_case };
        folder.check_presence()?;
        match folder.root.stat(DESCRIPTION) {
            Err(Errno::NOENT | Errno::NOTDIR) => Ok(Self { folder: Arc::new(folder), mode, synced: Arc::default() }),
            Ok(_) => Err(folder.unusable(format!(
                "folder {} is a preservation store, as {DESCRIPTION} in it says: choose another folder for a plain store",
                path.display()
            ))),
            Err(errno) => Err(folder.failed("inspect", &Key::ROOT, errno.into())),
        }
    }

    /// The name that errors have.
    pub fn name(&self) -> &str {
        &self.folder.name
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        self.folder.root.path()
    }

    /// Whether the folder is there, and is the one that was opened.
    ///
    /// # Errors
    /// [`StorageError::Away`] where it is not.
    pub fn check_presence(&self) -> Result<(), StorageError> {
        self.folder.check_presence()
    }

    /// Whether files of it have extended attributes of users.
    pub fn has_attributes(&self) -> bool {
        let mut value = [0_u8; 0];
        match rfs::fgetxattr(self.folder.root.directory(), "user.mime_type", &mut value[..]) {
            Ok(_) | Err(Errno::RANGE) => true,
            // `NODATA` by its number on Linux, `NOATTR` elsewhere: whatever does not say that there are no attributes at all.
            Err(errno) => !matches!(errno, Errno::OPNOTSUPP | Errno::NOSYS | Errno::PERM),
        }
    }

    /// The directories at its top, after this name, in the byte order of their names with `/` behind them.
    pub fn directories(&self, after: Option<&str>) -> Tops {
        Tops::after(&self.folder, after)
    }

    /// Whether a directory is there.
    pub fn has_directory(&self, name: &Key) -> Result<bool, StorageError> {
        self.folder.check(name)?;
        if self.folder.is_other_name(name.as_str(), name)? {
            return Ok(false);
        }
        match self.folder.root.stat(name.as_str()) {
            Ok(stat) => Ok(is_directory(&stat)),
            Err(Errno::NOENT | Errno::NOTDIR) => {
                // Nothing is called absent in a folder that is away.
                self.folder.check_presence().map(|()| false)
            }
            Err(errno) => Err(self.folder.failed("inspect", name, errno.into())),
        }
    }

    /// Makes a directory at its top, durably; whether it was not there.
    pub fn make_directory(&self, name: &Key) -> Result<bool, StorageError> {
        self.folder.check(name)?;
        self.folder.check_presence()?;
        if self.folder.is_other_name(name.as_str(), name)? {
            return Err(self.folder.obstructed_by_case(name));
        }
        let root = self.folder.root.directory();
        let made = match rfs::mkdirat(root, name.as_str(), Mode::from_raw_mode(self.mode.directory())) {
            Ok(()) => true,
            Err(Errno::EXIST) if self.has_directory(name)? => false,
            Err(errno) => return Err(self.folder.obstructed(name, errno)),
        };
        self.sync_top().map_err(|errno| self.folder.failed("sync", name, errno.into()))?;
        Ok(made)
    }

    /// Makes the names at the top durable, also those that other processes made. Where nothing was made or removed since that was done last,
    /// they are.
    fn sync_top(&self) -> Result<(), Errno> {
        let root = self.folder.root.directory();
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let at = changed_at(&rfs::fstat(root)?);
        if *self.synced.lock().unwrap_or_else(PoisonError::into_inner) == Some(at) {
            return Ok(());
        }
        rfs::fsync(root)?;
        // What is made meanwhile may have the same time, as long as the clock of the file system shows it.
        let is_past = i64::try_from(now.as_secs()).is_ok_and(|now| now > at.0.saturating_add(SAME_TIME));
        *self.synced.lock().unwrap_or_else(PoisonError::into_inner) = is_past.then_some(at);
        Ok(())
    }

    /// Removes a directory at its top where nothing lies in it, not even an empty directory: [`Removal::Changed`] where something does.
    pub fn remove_directory(&self, name: &Key) -> Result<Removal, StorageError> {
        self.folder.check(name)?;
        self.folder.check_presence()?;
        if !self.has_directory(name)? {
            return Ok(Removal::Absent);
        }
        let root = self.folder.root.directory();
        match rfs::unlinkat(root, name.as_str(), AtFlags::REMOVEDIR) {
            Ok(()) => {
                rfs::fsync(root).map_err(|errno| self.folder.failed("sync", name, errno.into()))?;
                Ok(Removal::Removed)
            }
            Err(Errno::NOTEMPTY | Errno::EXIST) => Ok(Removal::Changed),
            Err(Errno::NOENT) => Ok(Removal::Absent),
            Err(errno) => Err(self.folder.failed("delete", name, errno.into())),
        }
    }

    /// What lies below a directory, after this name, which need be no key; keys begin there.
    pub fn walk(&self, directory: &Key, after: &[u8]) -> Walk {
        Walk::based(&self.folder, directory.as_str(), after, BATCH)
    }

    /// Opens the file of a key below a directory.
    pub fn open_file(&self, directory: &Key, key: &Key) -> Result<(File, Head), StorageError> {
        let named = self.named(directory, key)?;
        let (file, _) = self.folder.open_at(&named.relative, &named.shown)?;
        let stat = rfs::fstat(&file).map_err(|errno| self.folder.failed("open", &named.shown, errno.into()))?;
        Ok((file, head_of(&stat)))
    }

    /// Stores everything `body` yields below a directory, which must be there, with these extended attributes.
    pub fn put(
        &self,
        directory: &Key,
        key: &Key,
        body: &mut dyn Read,
        options: &PutOptions,
        attributes: &[(String, Vec<u8>)],
    ) -> Result<Head, StorageError> {
        let named = self.named(directory, key)?;
        self.folder.check_presence()?;
        if !self.has_directory(directory)? {
            return Err(self.folder.not_found(directory));
        }
        self.make_bookkeeping(&named.shown)?;
        let place = Place::within(directory.as_str(), &named.relative, &named.shown, attributes);
        self.folder.put_at(&place, body, options)
    }

    /// Changes a file in place that has this etag, such as its extended attributes; durable when it returns. No process of
    /// this program puts or removes a key meanwhile.
    pub fn change(
        &self,
        directory: &Key,
        key: &Key,
        wanted: &str,
        act: impl FnOnce(&File) -> io::Result<()>,
    ) -> Result<(), StorageError> {
        let named = self.named(directory, key)?;
        self.folder.check_presence()?;
        self.make_bookkeeping(&named.shown)?;
        let _lock = self.folder.lock(&named.shown, true)?;
        let (file, head) = self.open_file(directory, key)?;
        if head.etag != wanted {
            return Err(self.changed(directory, key, wanted));
        }
        let failed = |source| self.folder.failed("change the attributes of", &named.shown, source);
        act(&file).and_then(|()| file.sync_all()).map_err(failed)
    }

    /// Removes the file of a key below a directory that has this etag. Directories that it leaves empty go with it, but not
    /// the one at the top.
    pub fn delete(&self, directory: &Key, key: &Key, wanted: &str) -> Result<Removal, StorageError> {
        let named = self.named(directory, key)?;
        self.folder.check_presence()?;
        if !self.has_directory(directory)? {
            return Ok(Removal::Absent);
        }
        self.make_bookkeeping(&named.shown)?;
        self.folder.remove_match(&named.relative, &named.shown, wanted, directory.as_str())
    }

    /// Watches the folder: what changes below it from here on.
    ///
    /// # Errors
    /// The folder cannot be watched, such as on a network file system.
    #[cfg(target_os = "linux")]
    pub fn changes(&self) -> Result<super::FolderChanges, StorageError> {
        self.folder.check_presence()?;
        super::FolderChanges::open(&self.folder)
    }

    /// Drops what processes that ended left in `.strongroom/tmp`, and what is older than `age` there; how much that was.
    pub fn sweep_unfinished(&self, age: Duration) -> Result<u64, StorageError> {
        self.folder.check_presence()?;
        Ok(self.folder.sweep(age, true))
    }

    /// The error of a key that no longer has an etag.
    pub fn changed(&self, directory: &Key, key: &Key, wanted: &str) -> StorageError {
        let key = directory.join(key.as_str()).unwrap_or_else(|_| key.clone());
        StorageError::Changed { store: self.folder.name.clone(), key, etag: wanted.to_owned() }
    }

    /// The etag of an open file as it is now.
    pub fn etag_of(file: &File) -> io::Result<String> {
        Ok(etag(&rfs::fstat(file)?))
    }

    /// When an open file, its attributes or its rights changed last: seconds and nanoseconds.
    pub fn changed_at(file: &File) -> io::Result<(i64, i64)> {
        Ok(changed_at(&rfs::fstat(file)?))
    }

    fn named(&self, directory: &Key, key: &Key) -> Result<Named, StorageError> {
        self.folder.check(directory)?;
        if key.is_root() || directory.as_str().contains('/') {
            return Err(self.folder.unusable(format!("{directory:?} and {key:?} name no file of a folder")));
        }
        // Together they may be longer than a key is.
        let shown = directory.join(key.as_str()).unwrap_or_else(|_| key.clone());
        Ok(Named { relative: format!("{directory}/{key}"), shown })
    }

    fn make_bookkeeping(&self, key: &Key) -> Result<(), StorageError> {
        if self.folder.root.stat(TEMPORARY).is_ok_and(|stat| is_directory(&stat)) {
            return Ok(());
        }
        let mut directories = DirBuilder::new();
        directories.recursive(true).mode(self.mode.bookkeeping().directory());
        let made = directories.create(self.folder.root.path().join(TEMPORARY));
        made.map_err(|source| self.folder.failed("make .strongroom/tmp for", key, source))?;
        // A link of that name would lead out of the folder.
        for directory in [BOOKKEEPING, TEMPORARY] {
            match self.folder.root.stat(directory) {
                Ok(stat) if is_directory(&stat) => {}
                Ok(_) => {
                    let reason = format!("{}/{directory} is no folder: remove it", self.path().display());
                    return Err(self.folder.unusable(reason));
                }
                Err(errno) => return Err(self.folder.failed("inspect", key, errno.into())),
            }
        }
        Ok(())
    }
}

/// A key below a directory.
struct Named {
    /// From the folder.
    relative: String,
    /// For errors.
    shown: Key,
}
