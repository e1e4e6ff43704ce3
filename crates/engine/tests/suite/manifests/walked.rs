//! What lies in the folder of a store, found by its inventories and by the bytes of its files. It uses no code of manifests and catalogues,
//! and no registry.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde_json::Value;
use strongroom_digest::{Algorithm, hash_reader};

/// An object in a store.
pub(super) struct WalkedObject {
    /// The folder of the institution.
    pub(super) institution: String,
    /// The object root, relative to the store.
    pub(super) root: String,
    /// The OCFL id.
    pub(super) id: String,
    /// Of each version from 1 on: the content path of each logical path.
    pub(super) versions: Vec<BTreeMap<String, String>>,
    /// Every content path.
    pub(super) contents: BTreeSet<String>,
}

/// The digests of a file, as hexadecimal digits, and its size.
pub(super) struct WalkedFile {
    pub(super) size: u64,
    pub(super) md5: String,
    pub(super) sha1: String,
    pub(super) sha256: String,
    pub(super) sha512: String,
}

impl WalkedObject {
    /// Whether anything that was deposited is left of it.
    pub(super) fn is_kept(&self) -> bool {
        self.versions.last().is_some_and(|head| head.keys().any(|path| path.starts_with("deposit/")))
    }

    /// Each content that a path has had, with the version from which on it had it.
    pub(super) fn changes(&self) -> Vec<(String, u64, String)> {
        let mut changes = Vec::new();
        let mut before = &BTreeMap::new();
        for (number, state) in self.versions.iter().enumerate() {
            for (path, content) in state {
                if before.get(path) != Some(content) {
                    changes.push((path.clone(), number as u64 + 1, content.clone()));
                }
            }
            before = state;
        }
        changes.sort();
        changes
    }

    /// The same of what the newest version has.
    pub(super) fn newest(&self) -> Vec<(String, u64, String)> {
        let head = self.versions.last().expect("a version");
        let mut newest = BTreeMap::new();
        for (path, version, content) in self.changes() {
            if head.get(&path) == Some(&content) {
                newest.insert(path, (version, content));
            }
        }
        newest.into_iter().map(|(path, (version, content))| (path, version, content)).collect()
    }
}

/// The digests of a file.
pub(super) fn read(path: &Path) -> WalkedFile {
    let algorithms = [Algorithm::Md5, Algorithm::Sha1, Algorithm::Sha256, Algorithm::Sha512];
    let file = std::fs::File::open(path).expect("opens");
    let (size, digests) = hash_reader(file, &algorithms).expect("reads");
    let hex = |algorithm| digests.get(algorithm).expect("a digest").to_hex();
    WalkedFile {
        size,
        md5: hex(Algorithm::Md5),
        sha1: hex(Algorithm::Sha1),
        sha256: hex(Algorithm::Sha256),
        sha512: hex(Algorithm::Sha512),
    }
}

/// Every object in a store, in the order of their roots.
pub(super) fn walk(store: &Path) -> Vec<WalkedObject> {
    let mut objects = Vec::new();
    for top in std::fs::read_dir(store).expect("a folder") {
        let top = top.expect("an entry").path();
        let name = top.file_name().expect("a name").to_str().expect("UTF-8").to_owned();
        if top.is_dir() && name != "_strongroom" && top.join("0=ocfl_1.1").is_file() {
            visit(store, &top, &name, &mut objects);
        }
    }
    objects.sort_by(|one, other| one.root.cmp(&other.root));
    objects
}

fn visit(store: &Path, folder: &Path, institution: &str, objects: &mut Vec<WalkedObject>) {
    if folder.join("0=ocfl_object_1.1").is_file() {
        objects.push(object(store, folder, institution));
        return;
    }
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path: PathBuf = entry.expect("an entry").path();
        if path.is_dir() {
            visit(store, &path, institution, objects);
        }
    }
}

fn object(store: &Path, root: &Path, institution: &str) -> WalkedObject {
    let inventory = std::fs::read(root.join("inventory.json")).expect("an inventory");
    let inventory: Value = serde_json::from_slice(&inventory).expect("JSON");
    let paths = |value: &Value| -> Vec<String> {
        value.as_array().expect("a list").iter().map(|path| path.as_str().expect("a path").to_owned()).collect()
    };
    let manifest: BTreeMap<String, Vec<String>> = inventory["manifest"]
        .as_object()
        .expect("a manifest")
        .iter()
        .map(|(digest, list)| (digest.to_lowercase(), paths(list)))
        .collect();
    let versions = inventory["versions"].as_object().expect("versions");
    let state = |number: usize| {
        let mut state = BTreeMap::new();
        for (digest, list) in versions[&format!("v{number}")]["state"].as_object().expect("a state") {
            let content = manifest[&digest.to_lowercase()].first().expect("a content path");
            state.extend(paths(list).into_iter().map(|path| (path, content.clone())));
        }
        state
    };
    WalkedObject {
        institution: institution.to_owned(),
        root: root.strip_prefix(store).expect("below it").to_str().expect("UTF-8").to_owned(),
        id: inventory["id"].as_str().expect("an id").to_owned(),
        versions: (1..=versions.len()).map(state).collect(),
        contents: manifest.into_values().flatten().collect(),
    }
}
