//! Reads OCFL storage roots by itself, with nothing of the engine: every inventory, every sidecar, every digest of every
//! content, and every file that belongs to none of them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};
use serde_json::Value;

use crate::bags::sha512;
use crate::stores::walk;
use crate::tombstones::{self, Tombstone};

const INVENTORY: &str = "inventory.json";
const SIDECAR: &str = "inventory.json.sha512";
const DECLARATION: &str = "0=ocfl_object_1.1";

/// An object as it lies in one store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StoredObject {
    /// Digest of each version's inventory, by the number of the version; none of those whose inventory a deletion has removed.
    pub(crate) inventories: BTreeMap<u64, String>,
    /// Logical path to SHA-512, by the number of the version.
    pub(crate) versions: BTreeMap<u64, BTreeMap<String, String>>,
    /// Of what was deleted of it, in the order of their names.
    pub(crate) tombstones: Vec<Tombstone>,
    /// Content paths by SHA-512.
    pub(crate) contents: BTreeMap<String, Vec<String>>,
    /// Of an object that was deleted, the first line of the record of that.
    pub(crate) record: Option<Value>,
}

impl StoredObject {
    pub(crate) fn head(&self) -> u64 {
        self.versions.keys().next_back().copied().unwrap_or_default()
    }
}

/// A storage root by OCFL id, and everything that is wrong with it.
#[derive(Debug, Default)]
pub(crate) struct StoredRoot {
    pub(crate) objects: BTreeMap<String, StoredObject>,
    pub(crate) faults: Vec<String>,
}

/// Reads a storage root whole.
pub(crate) fn read_root(folder: &Path) -> StoredRoot {
    let mut root = StoredRoot::default();
    let mut files = BTreeSet::new();
    walk(folder, &mut |path| {
        if let Ok(below) = path.strip_prefix(folder) {
            files.insert(below.to_string_lossy().into_owned());
        }
    });
    if files.is_empty() {
        return root;
    }
    let declared = fs::read(folder.join("0=ocfl_1.1")).unwrap_or_default();
    if declared != b"ocfl_1.1\n" {
        root.faults.push("the storage root is not declared as one".to_owned());
    }
    // Layout 0004: three folders, and the digest of the object's identifier.
    let object_of = |file: &str| file.match_indices('/').nth(3).map(|(at, _)| file[..at].to_owned());
    let roots: BTreeSet<String> = files.iter().filter_map(|file| object_of(file)).collect();
    let is_of_root = |file: &str| file == "0=ocfl_1.1" || file.starts_with("ocfl_") || file.starts_with("extensions/");
    for file in &files {
        if !is_of_root(file) && !roots.iter().any(|object| file.starts_with(&format!("{object}/"))) {
            root.faults.push(format!("{file} belongs to no object"));
        }
    }
    for object in roots {
        let own: BTreeSet<&str> = files.iter().filter_map(|file| file.strip_prefix(&format!("{object}/"))).collect();
        let mut reading = Reading { folder: &folder.join(&object), faults: Vec::new() };
        match reading.object(&own) {
            Ok((id, stored)) => _ = root.objects.insert(id, stored),
            Err(error) => reading.faults.push(format!("{error:#}")),
        }
        root.faults.extend(reading.faults.into_iter().map(|fault| format!("{object}: {fault}")));
    }
    root
}

struct Reading<'a> {
    folder: &'a Path,
    faults: Vec<String>,
}

impl Reading<'_> {
    fn object(&mut self, files: &BTreeSet<&str>) -> Result<(String, StoredObject)> {
        if fs::read(self.folder.join(DECLARATION)).unwrap_or_default() != b"ocfl_object_1.1\n" {
            self.faults.push("the object is not declared as one".to_owned());
        }
        let (digest, root) = self.inventory("")?;
        let id = root["id"].as_str().context("an inventory without id")?.to_owned();
        let head: u64 = number(root["head"].as_str().context("an inventory without head")?)?;
        if root["digestAlgorithm"] != "sha512" {
            self.faults.push(format!("the digest algorithm is {}", root["digestAlgorithm"]));
        }
        let states = states(&root)?;
        if !states.keys().copied().eq(1..=head) {
            self.faults.push(format!("version {head} is the head of versions {:?}", states.keys()));
        }
        let tombstones = self.tombstones(files, root["id"].as_str().unwrap_or_default());
        let mut inventories = BTreeMap::new();
        for version in 1..=head {
            // A deletion of files removes the inventories that could neither name a content nor leave it out.
            let is_removed = tombstones.iter().any(|tombstone| tombstone.without_inventory.contains(&version));
            let own = [INVENTORY, SIDECAR].map(|name| files.contains(format!("v{version}/{name}").as_str()));
            match self.inventory(&format!("v{version}/")) {
                _ if is_removed && own == [false, false] && version < head => {}
                Ok((own, inventory)) => {
                    self.version(version, &inventory, (&root, &states));
                    inventories.insert(version, own);
                }
                Err(error) => self.faults.push(format!("version {version}: {error:#}")),
            }
        }
        if inventories.get(&head) != Some(&digest) {
            self.faults.push(format!("the root inventory is not that of version {head}"));
        }
        let kept = self.contents(&root)?;
        for (version, state) in &states {
            for (path, digest) in state.iter().filter(|(_, digest)| !kept.contains_key(*digest)) {
                self.faults.push(format!("version {version} has {path} with {digest}, which no content has"));
            }
        }
        let used: BTreeSet<&String> = states.values().flat_map(BTreeMap::values).collect();
        for (digest, paths) in kept.iter().filter(|(digest, _)| !used.contains(digest)) {
            self.faults.push(format!("no version has a file with {digest}, which {paths:?} have"));
        }
        let named: BTreeSet<&str> = kept.values().flatten().map(String::as_str).collect();
        for file in files {
            let of_version = file.split_once('/').is_some_and(|(top, rest)| {
                number(top).is_ok_and(|version| version <= head) && (rest == INVENTORY || rest == SIDECAR)
            });
            let of_root = [DECLARATION, INVENTORY, SIDECAR].contains(file);
            if !(of_version || of_root || file.starts_with("logs/") || named.contains(file)) {
                self.faults.push(format!("{file} is named by no inventory"));
            }
        }
        let is_deleted = tombstones.iter().any(Tombstone::is_whole);
        let record = if is_deleted { self.record(&kept) } else { None };
        Ok((id, StoredObject { inventories, versions: states, tombstones, contents: kept, record }))
    }

    /// The first line of the only content.
    fn record(&self, contents: &BTreeMap<String, Vec<String>>) -> Option<Value> {
        let path = contents.values().flatten().next()?;
        let text = fs::read_to_string(self.folder.join(path)).ok()?;
        serde_json::from_str(text.lines().next()?).ok()
    }

    /// The tombstones among the files of the object with this id.
    fn tombstones(&mut self, files: &BTreeSet<&str>, id: &str) -> Vec<Tombstone> {
        let mut found: Vec<Tombstone> = Vec::new();
        for file in files.iter().filter(|file| tombstones::is_tombstone(file)) {
            match tombstones::read(&self.folder.join(file)) {
                Ok(tombstone) if id != format!("urn:uuid:{}", tombstone.generation) => {
                    self.faults.push(format!("{file} is of generation {}", tombstone.generation));
                }
                Ok(tombstone) if found.iter().any(|other| other.deletion == tombstone.deletion) => {
                    self.faults.push(format!("{file} is a second tombstone of one deletion"));
                }
                Ok(tombstone) => found.push(tombstone),
                Err(error) => self.faults.push(format!("{file}: {error:#}")),
            }
        }
        found
    }

    /// An inventory that its sidecar vouches for, with its digest.
    fn inventory(&self, folder: &str) -> Result<(String, Value)> {
        let bytes = fs::read(self.folder.join(format!("{folder}{INVENTORY}")))
            .with_context(|| format!("{folder}{INVENTORY}"))?;
        let sidecar = fs::read_to_string(self.folder.join(format!("{folder}{SIDECAR}")))
            .with_context(|| format!("{folder}{SIDECAR}"))?;
        let digest = sha512(&bytes);
        anyhow::ensure!(sidecar.trim_end() == format!("{digest} {INVENTORY}"), "{folder}{SIDECAR} has another digest");
        Ok((digest, serde_json::from_slice(&bytes).with_context(|| format!("{folder}{INVENTORY}"))?))
    }

    /// What a version's inventory says of it and of those before must be what the root inventory says, and it names no content that
    /// the root inventory does not name.
    fn version(
        &mut self,
        version: u64,
        inventory: &Value,
        (root, states): (&Value, &BTreeMap<u64, BTreeMap<String, String>>),
    ) {
        let same = inventory["head"] == format!("v{version}")
            && self::states(inventory).is_ok_and(|own| own.iter().eq(states.range(..=version)));
        if !same {
            self.faults.push(format!("the inventory of version {version} contradicts the root inventory"));
        }
        for (digest, paths) in inventory["manifest"].as_object().into_iter().flatten() {
            let of_root = root["manifest"][digest].as_array();
            let is_named = |path: &Value| of_root.is_some_and(|of_root| of_root.contains(path));
            if !paths.as_array().is_some_and(|paths| paths.iter().all(is_named)) {
                self.faults.push(format!("only the inventory of version {version} names {paths} with {digest}"));
            }
        }
    }

    /// Content paths by digest; each is read and must have it.
    fn contents(&mut self, inventory: &Value) -> Result<BTreeMap<String, Vec<String>>> {
        let manifest = inventory["manifest"].as_object().context("an inventory without manifest")?;
        let mut kept = BTreeMap::new();
        for (digest, paths) in manifest {
            let paths: Vec<String> = serde_json::from_value(paths.clone())?;
            for path in &paths {
                match fs::read(self.folder.join(path)) {
                    Ok(bytes) if sha512(&bytes) == digest.to_lowercase() => {}
                    Ok(_) => self.faults.push(format!("{path} has other bytes than its digest says")),
                    Err(error) => self.faults.push(format!("{path} cannot be read: {error}")),
                }
            }
            kept.insert(digest.to_lowercase(), paths);
        }
        Ok(kept)
    }
}

fn number(version: &str) -> Result<u64> {
    version
        .strip_prefix('v')
        .and_then(|number| number.parse().ok())
        .with_context(|| format!("{version:?} is no version"))
}

/// Logical path to digest, by the number of the version.
fn states(inventory: &Value) -> Result<BTreeMap<u64, BTreeMap<String, String>>> {
    let versions = inventory["versions"].as_object().context("an inventory without versions")?;
    let mut states = BTreeMap::new();
    for (name, version) in versions {
        let mut state = BTreeMap::new();
        for (digest, paths) in version["state"].as_object().context("a version without state")? {
            for path in serde_json::from_value::<Vec<String>>(paths.clone())? {
                state.insert(path, digest.to_lowercase());
            }
        }
        states.insert(number(name)?, state);
    }
    Ok(states)
}
