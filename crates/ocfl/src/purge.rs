//! Takes files, or all of an object, out of every version: planned once, recorded, and carried out in each store.
//!
//! The order is forward only: root inventory, version inventories, contents, tombstone. The root inventory never names
//! missing bytes, every step may be repeated, and a purge that was cut short is completed by carrying out its plan again.
//!
//! A content that a later version still uses stays where it is. The inventories of the versions between the one that holds
//! it and the first that uses it could then neither name it (E107) nor leave it out (E023), so these are removed; the
//! specification only recommends them (W010).

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::io::{Seek, SeekFrom, Write};

use serde::{Deserialize, Serialize};
use strongroom_digest::{Algorithm, Digest, hash_reader};
use strongroom_storage::{Body, Key};
use tempfile::SpooledTempFile;

use crate::head::{Replacement, stored_inventory};
use crate::path::{CONTENT, INVENTORY, owned_content_path, sidecar_name};
use crate::{
    Commit, InventoryEntry, InventoryHeader, InventorySeal, InventorySummary, InventoryWriter, Limits, Object,
    OcflError, VersionAssembly, VersionDetails, VersionNumber, read_inventory,
};

/// Inventories up to this size are rewritten in memory, larger ones through a temporary file.
const IN_MEMORY: usize = 8 << 20;

/// The recorded intent of a purge: what the registry keeps until every store is done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PurgePlan {
    /// The OCFL id of the object.
    pub id: String,
    /// Its newest version before the purge.
    pub head: VersionNumber,
    /// The digest algorithm of its root inventory.
    pub algorithm: Algorithm,
    /// The root inventory before the purge.
    pub before: InventorySeal,
    /// The root inventory after it.
    pub after: InventorySeal,
    /// What is taken out.
    pub scope: PurgeScope,
    /// What is left in `logs/` to record it.
    pub tombstone: Tombstone,
}

/// What a purge takes out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PurgeScope {
    /// Logical paths, out of every version.
    Paths {
        /// The paths.
        paths: BTreeSet<String>,
        /// The content paths that no version uses any more.
        contents: BTreeSet<String>,
        /// The versions whose own inventories are removed.
        without_inventory: BTreeSet<VersionNumber>,
    },
    /// Everything: a last version holds only the tombstone.
    Object {
        /// The version that is added.
        version: VersionNumber,
        /// What its inventory says of it.
        details: VersionDetails,
        /// The logical path of the tombstone.
        path: String,
        /// The assembly that the version is written in.
        assembly: String,
    },
}

/// The file that records a purge.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tombstone {
    /// Its name in `logs/`.
    pub name: String,
    /// What it says.
    pub text: String,
}

impl PurgePlan {
    /// Plans to take logical paths out of every version of an object. Refused when no version has one of them.
    pub fn for_paths(
        object: &Object<'_>,
        paths: impl IntoIterator<Item = String>,
        tombstone: Tombstone,
    ) -> Result<Self, OcflError> {
        let paths: BTreeSet<String> = paths.into_iter().collect();
        let mut found = BTreeSet::new();
        let mut digests = HashMap::<Digest, Option<VersionNumber>>::new();
        let summary = object.read(Limits::default(), &mut |entry| {
            if let InventoryEntry::State { digest, path, .. } = entry
                && paths.contains(path)
            {
                digests.insert(digest, None);
                found.insert(path.to_owned());
            }
            Ok(())
        })?;
        if let Some(missing) = paths.iter().find(|path| !found.contains(*path)) {
            return Err(refused(object, format!("no version has the path {missing:?}")));
        }
        if paths.is_empty() {
            return Err(refused(object, "no path was named".to_owned()));
        }
        let mut holding = Vec::<(Digest, String)>::new();
        object.read(Limits::default(), &mut |entry| {
            match entry {
                InventoryEntry::State { version, digest, path } if !paths.contains(path) => {
                    if let Some(first_use) = digests.get_mut(&digest) {
                        *first_use = Some(first_use.map_or(version, |known| known.min(version)));
                    }
                }
                InventoryEntry::Manifest { digest, path } if digests.contains_key(&digest) => {
                    holding.push((digest, path.to_owned()));
                }
                _ => {}
            }
            Ok(())
        })?;
        let header = summary.header;
        let mut contents = BTreeSet::new();
        let mut without_inventory = BTreeSet::new();
        for (digest, path) in holding {
            let Some(first_use) = digests.get(&digest).copied().flatten() else {
                contents.insert(path);
                continue;
            };
            let holder = path.split('/').next().and_then(|name| name.parse::<VersionNumber>().ok());
            let between =
                |version: &VersionNumber| holder.is_some_and(|holder| holder <= *version) && *version < first_use;
            without_inventory.extend(header.head.up_to().filter(between));
        }
        let before = current(object, header.algorithm)?;
        let scope = PurgeScope::Paths { paths, contents, without_inventory };
        let after = rewrite(&mut || open_inventory(object, object.root()), &scope)?.seal;
        let InventoryHeader { id, head, algorithm, .. } = header;
        Ok(Self { id, head, algorithm, before, after, scope, tombstone })
    }

    /// Plans to take everything out of an object. What stays is one more version with the tombstone under the logical
    /// path `path`, written in the assembly `assembly`, and its older versions without any file.
    pub fn for_object(
        object: &Object<'_>,
        details: VersionDetails,
        path: &str,
        assembly: &str,
        tombstone: Tombstone,
    ) -> Result<Self, OcflError> {
        let summary = object.read(Limits::default(), &mut |_| Ok(()))?;
        let header = &summary.header;
        if header.algorithm != Algorithm::Sha512
            || header.content_directory.as_deref().is_some_and(|name| name != CONTENT)
        {
            return Err(refused(object, "it uses another digest algorithm or content directory than ours".to_owned()));
        }
        let before = current(object, Algorithm::Sha512)?;
        let version = header.head.next()?;
        let (_, after) = tombstone_inventory(&summary, (version, assembly), &details, path, &tombstone)?;
        let scope = PurgeScope::Object { version, details, path: path.to_owned(), assembly: assembly.to_owned() };
        let InventoryHeader { id, head, algorithm, .. } = summary.header;
        Ok(Self { id, head, algorithm, before, after, scope, tombstone })
    }

    /// Carries the plan out in the store that `object` lies in. Refused when the object's root inventory is neither the
    /// one before nor the one after the purge.
    pub fn carry_out(&self, object: &Object<'_>) -> Result<(), OcflError> {
        match &self.scope {
            PurgeScope::Paths { contents, without_inventory, .. } => {
                self.replace_root_inventory(object)?;
                self.copy_root_inventory(object)?;
                for version in self.head.up_to().rev().skip(1) {
                    if without_inventory.contains(&version) {
                        remove_inventory(object, version)?;
                    } else {
                        self.rewrite_version_inventory(object, version)?;
                    }
                }
                for content in contents {
                    object.store().delete(&object.root().join(content)?)?;
                }
            }
            PurgeScope::Object { version, details, path, assembly } => {
                self.add_tombstone_version(object, *version, details, path, assembly)?;
                let older = |older: &VersionNumber| older < version;
                for version in version.up_to().filter(older).rev() {
                    self.rewrite_version_inventory(object, version)?;
                }
                for version in version.up_to().filter(older) {
                    object.store().delete_all(&object.root().join(&format!("{version}/{CONTENT}"))?)?;
                }
            }
        }
        object.put_log(&self.tombstone.name, self.tombstone.text.as_bytes())?;
        Ok(())
    }

    /// Puts the root inventory without the paths.
    fn replace_root_inventory(&self, object: &Object<'_>) -> Result<(), OcflError> {
        let replacement = Replacement {
            store: object.store(),
            directory: object.root(),
            algorithm: self.algorithm,
            seal: self.after,
            replaces: Some(&self.before.digest),
        };
        replacement.make(&mut || Ok(rewrite(&mut || open_inventory(object, object.root()), &self.scope)?.body()))
    }

    /// Gives the newest version the inventory that the root has now, where it has one of its own.
    fn copy_root_inventory(&self, object: &Object<'_>) -> Result<(), OcflError> {
        let directory = object.root().join(&self.head.to_string())?;
        let Some(found) = stored_inventory(object.store(), &directory, self.algorithm)? else { return Ok(()) };
        let replacement = Replacement {
            store: object.store(),
            directory: &directory,
            algorithm: self.algorithm,
            seal: self.after,
            replaces: Some(&found.seal.digest),
        };
        replacement.make(&mut || open_inventory(object, object.root()))
    }

    fn rewrite_version_inventory(&self, object: &Object<'_>, version: VersionNumber) -> Result<(), OcflError> {
        let directory = object.root().join(&version.to_string())?;
        match object.store().head(&directory.join(INVENTORY)?) {
            Ok(_) => {}
            Err(error) if error.is_not_found() => return Ok(()),
            Err(error) => return Err(error.into()),
        }
        let rewritten = rewrite(&mut || open_inventory(object, &directory), &self.scope)?;
        let found = stored_inventory(object.store(), &directory, rewritten.algorithm)?;
        let replacement = Replacement {
            store: object.store(),
            directory: &directory,
            algorithm: rewritten.algorithm,
            seal: rewritten.seal,
            replaces: found.as_ref().map(|inventory| &inventory.seal.digest),
        };
        let mut body = Some(rewritten.body());
        replacement
            .make(&mut || body.take().ok_or_else(|| refused(object, "an inventory was asked for twice".to_owned())))
    }

    /// Writes the version that holds only the tombstone, and makes it the head.
    fn add_tombstone_version(
        &self,
        object: &Object<'_>,
        version: VersionNumber,
        details: &VersionDetails,
        path: &str,
        assembly: &str,
    ) -> Result<(), OcflError> {
        let directory = object.root().join(&version.to_string())?;
        let written = stored_inventory(object.store(), &directory, Algorithm::Sha512)?;
        if written.is_none_or(|inventory| inventory.seal != self.after) {
            let mut summary = object.read(Limits::default(), &mut |_| Ok(()))?;
            summary.versions.retain(|(older, _)| *older < version);
            let (inventory, seal) = tombstone_inventory(&summary, (version, assembly), details, path, &self.tombstone)?;
            if seal != self.after {
                return Err(refused(object, "its root inventory is not the one the purge was planned for".to_owned()));
            }
            let writing = VersionAssembly::open(object.store(), assembly, object.root(), version)?;
            let text = self.tombstone.text.as_bytes();
            writing.put_content(&text_digest(&self.tombstone)?, text.len() as u64, None, &mut &*text)?;
            writing.sync()?;
            return writing.commit(&mut Commit {
                seal: &seal,
                replaces: Some(&self.before.digest),
                inventory: &mut || Ok(Box::new(std::io::Cursor::new(inventory.clone()))),
                may_go_on: &mut || Ok(()),
            });
        }
        // Where keys are final from the first put, a crash may have come between the inventory and its sidecar.
        let written = Replacement {
            store: object.store(),
            directory: &directory,
            algorithm: Algorithm::Sha512,
            seal: self.after,
            replaces: Some(&self.after.digest),
        };
        let mut open = || open_inventory(object, &directory);
        written.make(&mut open)?;
        Replacement { directory: object.root(), replaces: Some(&self.before.digest), ..written }.make(&mut open)
    }
}

/// Digest and size of the root inventory, by the inventory's own algorithm.
fn current(object: &Object<'_>, algorithm: Algorithm) -> Result<InventorySeal, OcflError> {
    let found = stored_inventory(object.store(), object.root(), algorithm)?;
    found.map(|inventory| inventory.seal).ok_or_else(|| refused(object, "it has no root inventory".to_owned()))
}

fn text_digest(tombstone: &Tombstone) -> Result<Digest, OcflError> {
    let failed = |source| OcflError::Io { act: "hash a tombstone", source };
    let (_, digests) = hash_reader(tombstone.text.as_bytes(), &[Algorithm::Sha512]).map_err(failed)?;
    digests
        .get(Algorithm::Sha512)
        .ok_or_else(|| OcflError::unwritable("a tombstone", tombstone.name.as_str(), "its digest was not computed"))
}

/// The inventory of an object of which only the tombstone is left.
fn tombstone_inventory(
    summary: &InventorySummary,
    (version, assembly): (VersionNumber, &str),
    details: &VersionDetails,
    path: &str,
    tombstone: &Tombstone,
) -> Result<(Vec<u8>, InventorySeal), OcflError> {
    let digest = text_digest(tombstone)?;
    let header = InventoryHeader { head: version, ..summary.header.clone() };
    let mut writer = InventoryWriter::new(Vec::new(), &header)?;
    writer.manifest(&digest, &owned_content_path(version, assembly, &digest))?;
    for (older, details) in &summary.versions {
        writer.version(*older, details)?;
    }
    writer.version(version, details)?;
    writer.state(&digest, path)?;
    writer.finish()
}

fn remove_inventory(object: &Object<'_>, version: VersionNumber) -> Result<(), OcflError> {
    let directory = object.root().join(&version.to_string())?;
    for algorithm in [Algorithm::Sha512, Algorithm::Sha256] {
        object.store().delete(&directory.join(&sidecar_name(algorithm))?)?;
    }
    Ok(object.store().delete(&directory.join(INVENTORY)?)?)
}

fn open_inventory(object: &Object<'_>, directory: &Key) -> Result<Body, OcflError> {
    Ok(object.store().open(&directory.join(INVENTORY)?, 0, None)?)
}

/// An inventory without what a purge takes out.
struct Rewritten {
    file: SpooledTempFile,
    seal: InventorySeal,
    algorithm: Algorithm,
}

impl Rewritten {
    fn body(self) -> Body {
        Box::new(self.file)
    }
}

/// Rewrites the inventory that `open` opens. Rewriting what was rewritten changes nothing.
fn rewrite(open: &mut dyn FnMut() -> Result<Body, OcflError>, scope: &PurgeScope) -> Result<Rewritten, OcflError> {
    let summary = read_inventory(open()?, Limits::default(), &mut |_| Ok(()))?;
    let algorithm = summary.header.algorithm;
    let details: BTreeMap<VersionNumber, &VersionDetails> =
        summary.versions.iter().map(|(version, details)| (*version, details)).collect();
    let spool = tempfile::spooled_tempfile(IN_MEMORY);
    let mut copy = Copy {
        writer: InventoryWriter::new(spool, &summary.header)?.unordered(),
        details: details.into_iter().collect(),
        begun: 0,
    };
    match scope {
        PurgeScope::Object { .. } => {}
        PurgeScope::Paths { paths, contents, .. } => {
            let paths: HashSet<&str> = paths.iter().map(String::as_str).collect();
            read_inventory(open()?, Limits::default(), &mut |entry| {
                let goes = match entry {
                    InventoryEntry::State { path, .. } => paths.contains(path),
                    InventoryEntry::Manifest { path, .. } | InventoryEntry::Fixity { path, .. } => {
                        contents.contains(path)
                    }
                };
                if goes { Ok(()) } else { copy.entry(entry) }
            })?;
        }
    }
    copy.begin_up_to(None)?;
    let (mut file, seal) = copy.writer.finish()?;
    file.seek(SeekFrom::Start(0)).map_err(|source| OcflError::Io { act: "rewind an inventory", source })?;
    Ok(Rewritten { file, seal, algorithm })
}

/// Passes entries on to a writer, and begins every version on the way, also one without any file.
struct Copy<'d, W: Write> {
    writer: InventoryWriter<W>,
    details: Vec<(VersionNumber, &'d VersionDetails)>,
    begun: usize,
}

impl<W: Write> Copy<'_, W> {
    fn entry(&mut self, entry: InventoryEntry<'_>) -> Result<(), OcflError> {
        if self.begun > 0 && !matches!(entry, InventoryEntry::State { .. }) {
            self.begin_up_to(None)?;
        }
        match entry {
            InventoryEntry::Manifest { digest, path } => self.writer.manifest(&digest, path),
            InventoryEntry::Fixity { algorithm, digest, path } => self.writer.fixity(algorithm, &digest, path),
            InventoryEntry::State { version, digest, path } => {
                self.begin_up_to(Some(version))?;
                self.writer.state(&digest, path)
            }
        }
    }

    /// Begins the versions up to `last`, or all.
    fn begin_up_to(&mut self, last: Option<VersionNumber>) -> Result<(), OcflError> {
        while let Some((version, details)) = self.details.get(self.begun) {
            if last.is_some_and(|last| *version > last) {
                break;
            }
            self.writer.version(*version, details)?;
            self.begun += 1;
        }
        Ok(())
    }
}

fn refused(object: &Object<'_>, reason: String) -> OcflError {
    OcflError::Purge { store: object.store().name().to_owned(), key: object.root().clone(), reason }
}
