//! A folder written out of sight, synced as one, and renamed to its place.

use std::fs::File;
use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs as rfs;
use rustix::io::Errno;

use super::list::{Keys, Walk};
use super::root::{RACES, is_directory, split};
use super::write::Place;
use super::{ASSEMBLIES, Folder};
use crate::moment::moment;
use crate::{Assembly, Body, Durability, Head, Key, Listed, PutOptions, StorageError};

pub(super) struct FolderAssembly {
    folder: Arc<Folder>,
    /// Relative to the store's folder; missing until the first put and after commit.
    directory: String,
    target: Key,
    /// Whether everything in the directory is known to have reached the disk. Not so after reopening.
    is_synced: AtomicBool,
}

impl FolderAssembly {
    pub(super) fn new(folder: Arc<Folder>, id: &str, target: &Key) -> Result<Self, StorageError> {
        let is_segment = Key::new(id).is_ok() && !id.is_empty() && !id.contains('/') && !id.starts_with('.');
        if !is_segment {
            return Err(folder.unusable(format!("{id:?} cannot name an assembly: it must be one segment of a key")));
        }
        let directory = format!("{ASSEMBLIES}/{id}");
        Ok(Self { folder, directory, target: target.clone(), is_synced: AtomicBool::new(false) })
    }

    fn inside(&self, key: &Key) -> Result<String, StorageError> {
        if key.is_root() {
            return Err(self.folder.unusable("the root of an assembly is no key"));
        }
        // What is too long under the target must not get that far.
        self.target.join(key.as_str())?;
        Ok(format!("{}/{key}", self.directory))
    }

    fn exists(&self) -> Result<bool, StorageError> {
        match self.folder.root.stat(&self.directory) {
            Ok(stat) => Ok(is_directory(&stat)),
            Err(Errno::NOENT) => Ok(false),
            Err(errno) => Err(self.folder.failed("commit", &self.target, errno.into())),
        }
    }

    fn target_exists(&self) -> Result<bool, StorageError> {
        match self.folder.root.stat(self.target.as_str()) {
            Ok(stat) => Ok(is_directory(&stat)),
            Err(Errno::NOENT) => Ok(false),
            Err(errno) => Err(self.folder.look_failed("commit", &self.target, errno)),
        }
    }

    /// Renames the directory to the target. An empty directory at the target gives way, anything else does not.
    fn rename(&self) -> Result<(), Errno> {
        let root = &self.folder.root;
        let (directory, name) = split(self.target.as_str());
        for _ in 0..RACES {
            let parent = match root.open_directory(directory) {
                Ok(parent) => parent,
                Err(Errno::NOENT) => {
                    moment("rename.missing");
                    match root.make_directory(directory, &mut |made| self.folder.durability.note(made)) {
                        Ok(()) | Err(Errno::NOENT) => continue,
                        Err(errno) => return Err(errno),
                    }
                }
                Err(errno) => return Err(errno),
            };
            moment("rename.opened");
            match rfs::renameat(root.directory(), &self.directory, parent, name) {
                // Either the parent was removed meanwhile, or there is nothing to rename.
                Err(Errno::NOENT) if root.stat(&self.directory).is_ok() => {}
                outcome => return outcome,
            }
        }
        Err(Errno::BUSY)
    }

    /// Makes the target's name durable: the directory it lies in, and those above that are new.
    fn sync_name(&self) -> Result<(), StorageError> {
        let root = &self.folder.root;
        let (directory, _) = split(self.target.as_str());
        root.open_directory(directory)
            .and_then(rfs::fsync)
            .and_then(|()| self.folder.durability.sync_ancestors(root, directory))
            .map_err(|errno| self.folder.failed("commit", &self.target, errno.into()))
    }

    fn is_identical(&self) -> Result<bool, StorageError> {
        let own = Key::new(self.directory.clone())?;
        let mut ours = Keys(Walk::new(&self.folder, &own));
        let mut theirs = Keys(Walk::new(&self.folder, &self.target));
        loop {
            let (our, their) = match (ours.next().transpose()?, theirs.next().transpose()?) {
                (None, None) => return Ok(true),
                (Some(our), Some(their)) => (our, their),
                _ => return Ok(false),
            };
            if our.size != their.size || our.key.below(&own) != their.key.below(&self.target) {
                return Ok(false);
            }
            let (our_file, _) = self.folder.open_at(our.key.as_str(), &our.key)?;
            let (their_file, _) = self.folder.open_at(their.key.as_str(), &their.key)?;
            if !have_same_bytes(our_file, their_file)
                .map_err(|source| self.folder.failed("compare", &their.key, source))?
            {
                return Ok(false);
            }
        }
    }
}

fn have_same_bytes(one: File, other: File) -> std::io::Result<bool> {
    let mut one = std::io::BufReader::with_capacity(64 << 10, one).bytes();
    let mut other = std::io::BufReader::with_capacity(64 << 10, other).bytes();
    loop {
        match (one.next().transpose()?, other.next().transpose()?) {
            (None, None) => return Ok(true),
            (a, b) if a == b => {}
            _ => return Ok(false),
        }
    }
}

impl Assembly for FolderAssembly {
    fn put(&self, key: &Key, body: &mut dyn Read, options: &PutOptions) -> Result<Head, StorageError> {
        let inside = self.inside(key)?;
        self.is_synced.store(false, Ordering::SeqCst);
        let options = PutOptions { durability: Durability::OnSync, ..options.clone() };
        self.folder.put_at(&Place::new(&inside, ASSEMBLIES, key), body, &options)
    }

    fn head(&self, key: &Key) -> Result<Head, StorageError> {
        match self.folder.head_at(&self.inside(key)?, key) {
            Err(error) if error.is_not_found() => {
                let committed = self.target.join(key.as_str())?;
                self.folder.head_at(committed.as_str(), &committed)
            }
            outcome => outcome,
        }
    }

    fn open(&self, key: &Key) -> Result<Body, StorageError> {
        let opened = match self.folder.open_at(&self.inside(key)?, key) {
            Err(error) if error.is_not_found() => {
                let committed = self.target.join(key.as_str())?;
                self.folder.open_at(committed.as_str(), &committed)
            }
            outcome => outcome,
        };
        Ok(Box::new(opened?.0))
    }

    fn list<'a>(
        &'a self,
        prefix: &Key,
    ) -> Result<Box<dyn Iterator<Item = Result<Listed, StorageError>> + 'a>, StorageError> {
        let place = if self.exists()? { Key::new(self.directory.clone())? } else { self.target.clone() };
        let below = if prefix.is_root() { place.clone() } else { place.join(prefix.as_str())? };
        let walk = Keys(Walk::new(&self.folder, &below));
        Ok(Box::new(walk.map(move |line| {
            let listed = line?;
            let key = Key::new(listed.key.below(&place).unwrap_or_default())?;
            Ok(Listed { key, ..listed })
        })))
    }

    fn sync(&self) -> Result<(), StorageError> {
        // Set before: a put that comes while the disk works makes it false again.
        self.is_synced.store(true, Ordering::SeqCst);
        let outcome = self.folder.sync();
        if outcome.is_err() {
            self.is_synced.store(false, Ordering::SeqCst);
        }
        outcome
    }

    fn commit(&self) -> Result<(), StorageError> {
        if !self.exists()? {
            if self.target_exists()? {
                return self.sync_name();
            }
            let reason = format!("nothing was put that could be committed to {}", self.target);
            return Err(self.folder.unusable(reason));
        }
        if !self.is_synced.load(Ordering::SeqCst) {
            self.sync()?;
        }
        if self.folder.is_other_name(self.target.as_str(), &self.target)? {
            return Err(self.folder.obstructed_by_case(&self.target));
        }
        match self.rename() {
            Ok(()) => self.sync_name(),
            Err(Errno::EXIST | Errno::NOTEMPTY) => {
                if !self.is_identical()? {
                    let condition = "an assembly commits only where there is nothing else".to_owned();
                    let (store, key) = (self.folder.name.clone(), self.target.clone());
                    return Err(StorageError::Condition { store, key, condition });
                }
                self.sync()?;
                self.discard()
            }
            Err(errno) => Err(self.folder.obstructed(&self.target, errno)),
        }
    }

    fn discard(&self) -> Result<(), StorageError> {
        self.folder.remove_tree(&self.directory, &self.target)
    }
}

/// Ids of assemblies that hold something.
pub(super) fn ids(folder: &Folder) -> Result<Vec<String>, StorageError> {
    let entries = match std::fs::read_dir(folder.root.path().join(ASSEMBLIES)) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(source) => return Err(folder.failed("list the assemblies of", &Key::ROOT, source)),
    };
    let mut ids = Vec::new();
    for entry in entries {
        let entry = entry.map_err(|source| folder.failed("list the assemblies of", &Key::ROOT, source))?;
        ids.extend(entry.file_name().into_string());
    }
    ids.sort_unstable();
    Ok(ids)
}
