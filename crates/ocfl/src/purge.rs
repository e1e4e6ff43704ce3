//! Takes files, or all of an object, out of every version: planned once, recorded, and carried out in each store.
//!
//! The order is forward only: tombstone, root inventory, version inventories, contents. The root inventory never names
//! missing bytes, every step may be repeated, and a purge that was cut short is completed by carrying out its plan again.
//! Where a store has a later root inventory by then, only what the plan left there is removed ([`PurgePlan::sweep`]).
//!
//! A content that a later version still uses stays where it is. The inventories of the versions between the one that holds
//! it and the first that uses it could then neither name it (E107) nor leave it out (E023), so these are removed; the
//! specification only recommends them (W010).

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::io::{Seek, SeekFrom, Write};

use serde::{Deserialize, Serialize};
use strongroom_digest::{Algorithm, Digest, hash_reader};
use strongroom_storage::{Body, Key, PutOptions, RemovalHold};
use tempfile::SpooledTempFile;

use crate::head::{Replacement, stored_inventory};
use crate::path::{CONTENT, INVENTORY, owned_content_path, sidecar_name};
use crate::{
    Commit, InventoryEntry, InventoryHeader, InventorySeal, InventorySummary, InventoryWriter, Limits, Object,
    OcflError, VersionAssembly, VersionDetails, VersionNumber, read_inventory,
};

/// Asked whether to go on.
pub type GoOn<'g> = dyn FnMut() -> Result<(), OcflError> + 'g;

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
    /// The inventories of the versions that have one of their own, before the purge and after it.
    pub inventories: BTreeMap<VersionNumber, Rewriting>,
    /// The inventories that a purge of all of the object makes of versions that have none: an earlier purge removed them, and only contents,
    /// which go now, made the folders of these versions.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub made: BTreeMap<VersionNumber, InventorySeal>,
    /// What is taken out.
    pub scope: PurgeScope,
    /// What is left in `logs/` to record it. A reader of the plan in a tombstone puts that tombstone here.
    #[serde(skip)]
    pub tombstone: Tombstone,
}

/// What a purge makes of the inventory of a version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rewriting {
    /// The one before.
    pub before: InventorySeal,
    /// The one after; none where it is removed.
    pub after: Option<InventorySeal>,
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
    /// Everything: a last version holds only a record of it.
    Object {
        /// The version that is added.
        version: VersionNumber,
        /// What its inventory says of it.
        details: VersionDetails,
        /// The logical path of what the version holds.
        path: String,
        /// What it holds.
        content: String,
        /// The assembly that the version is written in.
        assembly: String,
    },
}

/// The file that records a purge.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tombstone {
    /// Its name in `logs/`.
    pub name: String,
    /// What it says.
    pub text: String,
}

impl PurgePlan {
    /// Plans to take logical paths out of every version of an object. Refused when no version has one of them. The caller adds the
    /// tombstone.
    pub fn for_paths(object: &Object<'_>, paths: impl IntoIterator<Item = String>) -> Result<Self, OcflError> {
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
            let holder = version_of(&path);
            let between =
                |version: &VersionNumber| holder.is_some_and(|holder| holder <= *version) && *version < first_use;
            without_inventory.extend(header.head.up_to().filter(between));
        }
        let before = current(object, header.algorithm)?;
        let scope = PurgeScope::Paths { paths, contents, without_inventory };
        let after = rewrite(&mut || open_inventory(object, object.root()), &scope)?.seal;
        let InventoryHeader { id, head, algorithm, .. } = header;
        let inventories = rewritings(object, head, &scope)?;
        let made = BTreeMap::new();
        Ok(Self { id, head, algorithm, before, after, inventories, made, scope, tombstone: Tombstone::default() })
    }

    /// Plans to take everything out of an object. What stays is one more version with a record of it, and its older versions
    /// without any file. The caller adds the tombstone.
    pub fn for_object(object: &Object<'_>, details: VersionDetails, record: LastRecord<'_>) -> Result<Self, OcflError> {
        let summary = object.read(Limits::default(), &mut |_| Ok(()))?;
        let header = &summary.header;
        if header.algorithm != Algorithm::Sha512
            || header.content_directory.as_deref().is_some_and(|name| name != CONTENT)
        {
            return Err(refused(object, "it uses another digest algorithm or content directory than ours".to_owned()));
        }
        let before = current(object, Algorithm::Sha512)?;
        let version = header.head.next()?;
        let (_, after) = last_inventory(&summary, version, &details, record)?;
        let LastRecord { path, content, assembly } = record;
        let (path, content, assembly) = (path.to_owned(), content.to_owned(), assembly.to_owned());
        let scope = PurgeScope::Object { version, details, path, content, assembly };
        let head = summary.header.head;
        let inventories = rewritings(object, head, &scope)?;
        let mut made = BTreeMap::new();
        for without in head.up_to().filter(|version| !inventories.contains_key(version)) {
            made.insert(without, emptied_inventory(&summary, without)?.1);
        }
        let InventoryHeader { id, algorithm, .. } = summary.header;
        Ok(Self { id, head, algorithm, before, after, inventories, made, scope, tombstone: Tombstone::default() })
    }

    /// The content paths that are removed, where they are known one by one: those of a purge of paths.
    fn contents(&self) -> Box<dyn Iterator<Item = &String> + '_> {
        match &self.scope {
            PurgeScope::Paths { contents, .. } => Box::new(contents.iter()),
            PurgeScope::Object { .. } => Box::new(std::iter::empty()),
        }
    }

    /// Whether the plan can be one of the object with this identifier, of which this was the newest version: it names nothing outside of the
    /// versions that there were. One that was read from a store is asked this before anything is done by it.
    pub fn is_of(&self, id: &str, head: u64) -> bool {
        let is_there = |version: &VersionNumber| *version <= self.head;
        let is_content = |path: &String| {
            let mut segments = path.split('/');
            let version = segments.next().and_then(|version| version.parse::<VersionNumber>().ok());
            version.is_some_and(|version| is_there(&version))
                && segments.next() == Some(CONTENT)
                && segments.next_back().is_some_and(|name| name.parse::<Digest>().is_ok())
        };
        let is_sound = match &self.scope {
            PurgeScope::Paths { contents, without_inventory, .. } => {
                contents.iter().all(is_content) && without_inventory.iter().all(is_there) && self.made.is_empty()
            }
            PurgeScope::Object { version, .. } => self.head.next().is_ok_and(|next| next == *version),
        };
        let is_ours = self.id == id && self.algorithm == Algorithm::Sha512;
        let mut versions = self.inventories.keys().chain(self.made.keys());
        is_sound && is_ours && u64::from(self.head.number()) == head && versions.all(is_there)
    }

    /// Whether the root inventory of an object names nothing that the plan removes: it was replaced by the one after the purge, or by a
    /// later one. False where there is none.
    pub fn is_carried_out(&self, object: &Object<'_>) -> Result<bool, OcflError> {
        if object.root_inventory()?.is_none() {
            return Ok(false);
        }
        let mut names_it = false;
        let summary = object.read(Limits::default(), &mut |entry| {
            names_it |= match (&self.scope, entry) {
                (PurgeScope::Paths { contents, .. }, InventoryEntry::Manifest { path, .. }) => contents.contains(path),
                (PurgeScope::Paths { paths, .. }, InventoryEntry::State { version, path, .. }) => {
                    version <= self.head && paths.contains(path)
                }
                (PurgeScope::Object { version, .. }, InventoryEntry::Manifest { path, .. }) => {
                    version_of(path).is_some_and(|of| of < *version)
                }
                _ => false,
            };
            Ok(())
        })?;
        let has_last = match &self.scope {
            PurgeScope::Object { version, .. } => summary.header.head >= *version,
            PurgeScope::Paths { .. } => summary.header.head >= self.head,
        };
        Ok(has_last && !names_it)
    }

    /// Carries the plan out in the store that `object` lies in: the tombstone first, so that the store knows what is begun there.
    /// `go_on` is asked before each change. Refused when the object's root inventory is neither the one before nor the one after the
    /// purge.
    pub fn carry_out(&self, object: &Object<'_>, go_on: &mut GoOn<'_>) -> Result<(), OcflError> {
        self.check_contents(object)?;
        let found = object.root_inventory()?.map(|found| found.seal);
        if self.algorithm == Algorithm::Sha512 && found.is_some_and(|seal| seal != self.before && seal != self.after) {
            return Err(refused(object, "its root inventory is not the one that the purge was planned for".to_owned()));
        }
        go_on()?;
        object.put_log(&self.tombstone.name, self.tombstone.text.as_bytes())?;
        match &self.scope {
            PurgeScope::Paths { without_inventory, .. } => {
                go_on()?;
                self.replace_root_inventory(object)?;
                self.copy_root_inventory(object)?;
                for version in self.head.up_to().rev().skip(1) {
                    go_on()?;
                    if without_inventory.contains(&version) {
                        remove_inventory(object, version)?;
                    } else {
                        self.rewrite_version_inventory(object, version)?;
                    }
                }
            }
            PurgeScope::Object { version, details, path, content, assembly } => {
                let record = LastRecord { path, content, assembly };
                go_on()?;
                self.add_last_version(object, *version, details, record)?;
                for version in self.head.up_to().rev().filter(|version| !self.made.contains_key(version)) {
                    go_on()?;
                    self.rewrite_version_inventory(object, version)?;
                }
                if !self.made.is_empty() {
                    let summary = object.read(Limits::default(), &mut |_| Ok(()))?;
                    for (version, seal) in &self.made {
                        go_on()?;
                        put_emptied(object, &summary, *version, seal)?;
                    }
                }
            }
        }
        self.remove_contents(object, go_on)
    }

    /// Puts the tombstone in a store whose root inventory is a later one, or that has none, and removes what the plan left there:
    /// inventories that it removes, and contents. Refused when the root inventory names what is to be removed.
    pub fn sweep(&self, object: &Object<'_>, go_on: &mut GoOn<'_>) -> Result<(), OcflError> {
        let is_removed = |path: &str| match &self.scope {
            PurgeScope::Paths { contents, .. } => contents.contains(path),
            PurgeScope::Object { version, .. } => version_of(path).is_some_and(|of| of < *version),
        };
        if object.root_inventory()?.is_some() {
            let mut named = None;
            object.read(Limits::default(), &mut |entry| {
                if let InventoryEntry::Manifest { path, .. } = entry
                    && is_removed(path)
                {
                    named.get_or_insert_with(|| path.to_owned());
                }
                Ok(())
            })?;
            if let Some(named) = named {
                return Err(refused(object, format!("its root inventory names {named}, which was deleted")));
            }
        }
        go_on()?;
        object.put_log(&self.tombstone.name, self.tombstone.text.as_bytes())?;
        if let PurgeScope::Paths { without_inventory, .. } = &self.scope {
            for version in without_inventory {
                go_on()?;
                remove_inventory(object, *version)?;
            }
        }
        self.remove_contents(object, go_on)
    }

    fn remove_contents(&self, object: &Object<'_>, go_on: &mut GoOn<'_>) -> Result<(), OcflError> {
        for content in self.contents() {
            go_on()?;
            object.store().purge(&object.root().join(content)?)?;
        }
        if let PurgeScope::Object { .. } = self.scope {
            for version in self.head.up_to() {
                go_on()?;
                object.store().purge_all(&object.root().join(&format!("{version}/{CONTENT}"))?)?;
            }
        }
        // A store that keeps versions has the inventories that named what is gone.
        let own = self.head.up_to().map(|version| version.to_string());
        for folder in std::iter::once(String::new()).chain(own) {
            go_on()?;
            let directory = if folder.is_empty() { object.root().clone() } else { object.root().join(&folder)? };
            object.store().purge_replaced(&directory.join(INVENTORY)?)?;
            object.store().purge_replaced(&directory.join(&sidecar_name(self.algorithm))?)?;
        }
        Ok(())
    }

    /// Whether the plan removes what lies under a key of the object, relative to its root, where something does.
    pub fn removes(&self, relative: &str) -> bool {
        match &self.scope {
            PurgeScope::Paths { contents, .. } => contents.contains(relative),
            PurgeScope::Object { .. } => self.head.up_to().any(|version| {
                let below = relative.strip_prefix(&version.to_string()).and_then(|rest| rest.strip_prefix('/'));
                below.and_then(|below| below.strip_prefix(CONTENT)).is_some_and(|rest| rest.starts_with('/'))
            }),
        }
    }

    /// What a store reports against the removal of what the plan removes there, of all of it together; none where nothing does.
    pub fn removal_hold(&self, object: &Object<'_>, go_on: &mut GoOn<'_>) -> Result<Option<RemovalHold>, OcflError> {
        if let PurgeScope::Object { .. } = self.scope {
            return Ok(object.store().removal_hold_below(object.root())?);
        }
        let mut all: Option<RemovalHold> = None;
        for content in self.contents() {
            go_on()?;
            if let Some(hold) = object.store().removal_hold(&object.root().join(content)?)? {
                all = Some(match all {
                    Some(all) => all.with(hold),
                    None => hold,
                });
            }
        }
        Ok(all)
    }

    /// Refuses a plan that takes a content away which a path that stays has: one that was made for another inventory, or that
    /// was changed where it was kept.
    fn check_contents(&self, object: &Object<'_>) -> Result<(), OcflError> {
        let PurgeScope::Paths { paths, contents, .. } = &self.scope else { return Ok(()) };
        let (mut removed, mut kept) = (HashSet::new(), HashSet::new());
        object.read(Limits::default(), &mut |entry| {
            if let InventoryEntry::Manifest { digest, path } = entry {
                if contents.contains(path) {
                    removed.insert(digest)
                } else {
                    kept.insert(digest)
                };
            }
            Ok(())
        })?;
        removed.retain(|digest| !kept.contains(digest));
        let mut used = None;
        object.read(Limits::default(), &mut |entry| {
            if let InventoryEntry::State { digest, path, version } = entry
                && removed.contains(&digest)
                && !paths.contains(path)
            {
                used.get_or_insert_with(|| format!("{path} of {version}"));
            }
            Ok(())
        })?;
        used.map_or(Ok(()), |used| Err(refused(object, format!("{used} has a content that the plan removes"))))
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

    /// Writes the version that holds only a record of the purge, and makes it the head.
    fn add_last_version(
        &self,
        object: &Object<'_>,
        version: VersionNumber,
        details: &VersionDetails,
        record: LastRecord<'_>,
    ) -> Result<(), OcflError> {
        let directory = object.root().join(&version.to_string())?;
        let written = stored_inventory(object.store(), &directory, Algorithm::Sha512)?;
        if written.is_none_or(|inventory| inventory.seal != self.after) {
            let mut summary = object.read(Limits::default(), &mut |_| Ok(()))?;
            summary.versions.retain(|(older, _)| *older < version);
            let (inventory, seal) = last_inventory(&summary, version, details, record)?;
            if seal != self.after {
                return Err(refused(object, "its root inventory is not the one the purge was planned for".to_owned()));
            }
            let writing = VersionAssembly::open(object.store(), record.assembly, object.root(), version)?;
            let text = record.content.as_bytes();
            writing.put_content(&record.digest()?, text.len() as u64, None, &mut &*text)?;
            writing.sync()?;
            return writing.commit(&mut Commit {
                seal: &seal,
                replaces: Some(&self.before.digest),
                inventory: &mut || Ok(Box::new(std::io::Cursor::new(inventory.clone()))),
                may_go_on: &mut || Ok(()),
            });
        }
        // Where the inventory was put by someone else, such as a check, what it names may not be there.
        put_record(object, version, record)?;
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

/// What the inventories of the versions up to `head` are and become, of those that have one of their own.
fn rewritings(
    object: &Object<'_>,
    head: VersionNumber,
    scope: &PurgeScope,
) -> Result<BTreeMap<VersionNumber, Rewriting>, OcflError> {
    let mut all = BTreeMap::new();
    for version in head.up_to() {
        let directory = object.root().join(&version.to_string())?;
        let summary = match object.store().open(&directory.join(INVENTORY)?, 0, None) {
            Ok(body) => read_inventory(body, Limits::default(), &mut |_| Ok(()))?,
            Err(error) if error.is_not_found() => continue,
            Err(error) => return Err(error.into()),
        };
        let Some(found) = stored_inventory(object.store(), &directory, summary.header.algorithm)? else { continue };
        let is_removed = match scope {
            PurgeScope::Paths { without_inventory, .. } => without_inventory.contains(&version),
            PurgeScope::Object { .. } => false,
        };
        let after =
            if is_removed { None } else { Some(rewrite(&mut || open_inventory(object, &directory), scope)?.seal) };
        all.insert(version, Rewriting { before: found.seal, after });
    }
    Ok(all)
}

/// What is left of an object of which everything is taken out.
#[derive(Debug, Clone, Copy)]
pub struct LastRecord<'a> {
    /// The logical path, in a version of its own.
    pub path: &'a str,
    /// The text.
    pub content: &'a str,
    /// The assembly that the version is written in.
    pub assembly: &'a str,
}

impl LastRecord<'_> {
    /// The SHA-512 of the text.
    pub fn digest(&self) -> Result<Digest, OcflError> {
        let failed = |source| OcflError::Io { act: "hash a record", source };
        let (_, digests) = hash_reader(self.content.as_bytes(), &[Algorithm::Sha512]).map_err(failed)?;
        let missing = || OcflError::unwritable("a record", self.path, "its digest was not computed");
        digests.get(Algorithm::Sha512).ok_or_else(missing)
    }
}

/// The inventory of an object of which only a record is left.
fn last_inventory(
    summary: &InventorySummary,
    version: VersionNumber,
    details: &VersionDetails,
    record: LastRecord<'_>,
) -> Result<(Vec<u8>, InventorySeal), OcflError> {
    let digest = record.digest()?;
    let header = InventoryHeader { head: version, ..summary.header.clone() };
    let mut writer = InventoryWriter::new(Vec::new(), &header)?;
    writer.manifest(&digest, &owned_content_path(version, record.assembly, &digest))?;
    for (older, details) in &summary.versions {
        writer.version(*older, details)?;
    }
    writer.version(version, details)?;
    writer.state(&digest, record.path)?;
    writer.finish()
}

/// The inventory of a version of which everything is taken out.
fn emptied_inventory(
    summary: &InventorySummary,
    version: VersionNumber,
) -> Result<(Vec<u8>, InventorySeal), OcflError> {
    let header = InventoryHeader { head: version, ..summary.header.clone() };
    let mut writer = InventoryWriter::new(Vec::new(), &header)?;
    for (older, details) in summary.versions.iter().filter(|(older, _)| *older <= version) {
        writer.version(*older, details)?;
    }
    writer.finish()
}

/// Puts the inventory of a version of which everything is taken out.
fn put_emptied(
    object: &Object<'_>,
    summary: &InventorySummary,
    version: VersionNumber,
    seal: &InventorySeal,
) -> Result<(), OcflError> {
    let (inventory, made) = emptied_inventory(summary, version)?;
    if made != *seal {
        return Err(refused(object, format!("the inventory of {version} would be another one than was planned")));
    }
    let directory = object.root().join(&version.to_string())?;
    let found = stored_inventory(object.store(), &directory, Algorithm::Sha512)?;
    let replacement = Replacement {
        store: object.store(),
        directory: &directory,
        algorithm: Algorithm::Sha512,
        seal: made,
        replaces: found.as_ref().map(|inventory| &inventory.seal.digest),
    };
    replacement.make(&mut || Ok(Box::new(std::io::Cursor::new(inventory.clone()))))
}

/// Puts what the last version holds, where it is missing or differs.
fn put_record(object: &Object<'_>, version: VersionNumber, record: LastRecord<'_>) -> Result<(), OcflError> {
    let digest = record.digest()?;
    let key = object.root().join(&owned_content_path(version, record.assembly, &digest))?;
    let failed = |source| OcflError::Io { act: "hash a record", source };
    let lies_there = match object.store().open(&key, 0, None) {
        Ok(body) => hash_reader(body, &[Algorithm::Sha512]).map_err(failed)?.1.get(Algorithm::Sha512) == Some(digest),
        Err(error) if error.is_not_found() => false,
        Err(error) => return Err(error.into()),
    };
    if lies_there {
        return Ok(());
    }
    let size = Some(record.content.len() as u64);
    let options = PutOptions { digest: Some((Algorithm::Sha512, digest)), size, ..PutOptions::default() };
    object.store().put(&key, &mut record.content.as_bytes(), &options)?;
    Ok(())
}

/// The version in whose directory a content lies.
fn version_of(content_path: &str) -> Option<VersionNumber> {
    content_path.split('/').next()?.parse().ok()
}

fn remove_inventory(object: &Object<'_>, version: VersionNumber) -> Result<(), OcflError> {
    let directory = object.root().join(&version.to_string())?;
    for algorithm in [Algorithm::Sha512, Algorithm::Sha256] {
        object.store().purge(&directory.join(&sidecar_name(algorithm))?)?;
    }
    Ok(object.store().purge(&directory.join(INVENTORY)?)?)
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
