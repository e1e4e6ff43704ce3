//! What happens to the stores of a run: out of reach, full, damaged, and healed again.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use strongroom_s3_double::{Double, Fault, Operation};

use crate::acts::Harm;
use crate::world::{INSTITUTION, World};

/// Every request that a store makes.
const EVERYTHING: [Operation; 13] = [
    Operation::HeadBucket,
    Operation::HeadObject,
    Operation::GetObject,
    Operation::PutObject,
    Operation::DeleteObject,
    Operation::DeleteObjects,
    Operation::ListObjects,
    Operation::CreateMultipartUpload,
    Operation::UploadPart,
    Operation::CompleteMultipartUpload,
    Operation::AbortMultipartUpload,
    Operation::ListParts,
    Operation::ListMultipartUploads,
];
/// Those that need room.
const PUTS: [Operation; 4] =
    [Operation::PutObject, Operation::CreateMultipartUpload, Operation::UploadPart, Operation::CompleteMultipartUpload];
/// Folders of a folder store that are written into; the first is the store itself.
const WRITTEN: [&str; 4] = ["", ".strongroom/tmp", ".strongroom/assembly", INSTITUTION];

fn always(double: &Double, operations: &[Operation], fault: Option<Fault>) {
    for operation in operations {
        double.always(*operation, fault);
    }
}

fn set_mode(path: &Path, mode: u32) -> Result<()> {
    fs::set_permissions(path, fs::Permissions::from_mode(mode))
        .with_context(|| format!("cannot change the mode of {}", path.display()))
}

/// Where a folder store lies while it is out of reach.
fn aside(folder: &Path) -> PathBuf {
    folder.with_extension("away")
}

impl World {
    /// The store is not where it was, and those who have it open may not enter it.
    pub(crate) fn take_away(&self, store: &str) -> Result<()> {
        if let Some(double) = self.doubles.get(store) {
            always(double, &EVERYTHING, Some(Fault::Refuse(503)));
        } else {
            let folder = self.path("home/stores").join(store);
            // Another act may have taken it away already.
            if folder.exists() {
                fs::rename(&folder, aside(&folder))?;
                set_mode(&aside(&folder), 0)?;
            }
        }
        Ok(())
    }

    /// The store takes nothing more.
    pub(crate) fn fill(&self, store: &str) -> Result<()> {
        if let Some(double) = self.doubles.get(store) {
            always(double, &PUTS, Some(Fault::Refuse(500)));
        } else {
            let folder = self.path("home/stores").join(store);
            for written in WRITTEN.iter().map(|written| folder.join(written)).filter(|path| path.is_dir()) {
                set_mode(&written, 0o500)?;
            }
        }
        Ok(())
    }

    /// Ends what [`Self::take_away`] and [`Self::fill`] have begun.
    pub(crate) fn heal(&self, store: &str) -> Result<()> {
        if let Some(double) = self.doubles.get(store) {
            always(double, &EVERYTHING, None);
        } else {
            let folder = self.path("home/stores").join(store);
            if aside(&folder).exists() {
                set_mode(&aside(&folder), 0o700)?;
                fs::rename(aside(&folder), &folder)?;
            }
            for written in WRITTEN.iter().map(|written| folder.join(written)).filter(|path| path.is_dir()) {
                set_mode(&written, 0o700)?;
            }
        }
        Ok(())
    }

    /// Keys of a store, in order, that `is_wanted`; none of one that cannot be listed now.
    fn keys(&self, store: &str, is_wanted: impl Fn(&str) -> bool) -> Vec<String> {
        let mut keys = if let Some(double) = self.doubles.get(store) {
            double.keys()
        } else {
            let folder = self.path("home/stores").join(store);
            let mut keys = Vec::new();
            walk(&folder.join(INSTITUTION), &mut |path| {
                if let Ok(below) = path.strip_prefix(&folder) {
                    keys.push(below.to_string_lossy().into_owned());
                }
            });
            keys.sort();
            keys
        };
        keys.retain(|key| key.starts_with(INSTITUTION) && is_wanted(key));
        keys
    }

    /// What a store has of objects now.
    pub(crate) fn copy_of(&self, store: &str) -> BTreeMap<String, Vec<u8>> {
        let keys = self.keys(store, |_| true);
        keys.into_iter().filter_map(|key| self.stored(store, &key).map(|bytes| (key, bytes))).collect()
    }

    /// The bytes under a key of a store; none where nothing can be read there now.
    pub(crate) fn stored(&self, store: &str, key: &str) -> Option<Vec<u8>> {
        match self.doubles.get(store) {
            Some(double) => double.stored(key).map(|stored| stored.bytes()),
            None => fs::read(self.path("home/stores").join(store).join(key)).ok(),
        }
    }

    /// Puts an older copy over what a store has, as an administrator who means well.
    pub(crate) fn put_back(&self, store: &str, older: &BTreeMap<String, Vec<u8>>) -> Result<()> {
        for (key, bytes) in older {
            if let Some(double) = self.doubles.get(store) {
                double.lay(key, bytes);
                continue;
            }
            let path = self.path("home/stores").join(store).join(key);
            if let Some(parent) = path.parent() {
                fs::create_dir_all(parent)?;
            }
            fs::write(path, bytes)?;
        }
        Ok(())
    }

    /// Damages a content of a store; its key. None where there is none yet.
    pub(crate) fn damage(&self, store: &str, pick: u64, harm: Harm) -> Result<Option<String>> {
        self.damage_one(store, pick, harm, |key| key.contains("/content/"))
    }

    /// Damages a declaration, inventory or sidecar of an object's root.
    pub(crate) fn damage_inventory(&self, store: &str, pick: u64, harm: Harm) -> Result<Option<String>> {
        self.damage_one(store, pick, harm, |key| {
            let in_root = key.split('/').nth_back(1).is_some_and(|parent| parent.len() == 128);
            in_root
                && ["/0=ocfl_object_1.1", "/inventory.json", "/inventory.json.sha512"]
                    .iter()
                    .any(|end| key.ends_with(end))
        })
    }

    fn damage_one(
        &self,
        store: &str,
        pick: u64,
        harm: Harm,
        is_wanted: impl Fn(&str) -> bool,
    ) -> Result<Option<String>> {
        let keys = self.keys(store, is_wanted);
        if keys.is_empty() {
            return Ok(None);
        }
        let key = &keys[usize::try_from(pick % keys.len() as u64)?];
        if let Some(double) = self.doubles.get(store) {
            if let Some(stored) = double.take(key)
                && let Some(bytes) = harmed(stored.bytes(), pick, harm)
            {
                double.lay(key, &bytes);
            }
        } else {
            let path = self.path("home/stores").join(store).join(key);
            // What is gone in between was removed by the program.
            let Ok(bytes) = fs::read(&path) else { return Ok(None) };
            match harmed(bytes, pick, harm) {
                Some(bytes) => fs::write(&path, bytes)?,
                None => fs::remove_file(&path)?,
            }
        }
        Ok(Some(key.clone()))
    }
}

/// The bytes as they are afterwards; none where nothing is left.
fn harmed(mut bytes: Vec<u8>, pick: u64, harm: Harm) -> Option<Vec<u8>> {
    match harm {
        Harm::Delete => return None,
        Harm::Cut => _ = bytes.pop(),
        Harm::Flip => {
            let length = bytes.len() as u64;
            let at = if length == 0 { 0 } else { usize::try_from(pick / 7 % length).unwrap_or_default() };
            match bytes.get_mut(at) {
                Some(byte) => *byte ^= 1,
                None => bytes.push(0),
            }
        }
    }
    Some(bytes)
}

/// Shows every file below a folder; what cannot be listed is passed over.
pub(crate) fn walk(folder: &Path, show: &mut dyn FnMut(&Path)) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => walk(&entry.path(), show),
            _ => show(&entry.path()),
        }
    }
}
