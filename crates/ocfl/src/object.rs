//! An object as it lies in a store: its root inventory, its logs, and reading what it holds.

use std::collections::HashMap;

use strongroom_digest::{Algorithm, Digest};
use strongroom_storage::{Body, Key, PutOptions, Store};

use crate::head::{Replacement, StoredInventory, stored_inventory};
use crate::path::INVENTORY;
use crate::root::read_small;
use crate::spec::declaration_text;
use crate::{
    InventoryEntry, InventorySeal, InventorySummary, Limits, OcflError, SpecVersion, VersionNumber, read_inventory,
};

/// An object root in a store, whether or not anything lies there.
#[derive(Clone)]
pub struct Object<'s> {
    store: &'s dyn Store,
    root: Key,
}

impl<'s> Object<'s> {
    /// The object at this object root.
    pub fn new(store: &'s dyn Store, root: Key) -> Self {
        Self { store, root }
    }

    /// The store it lies in.
    pub fn store(&self) -> &'s dyn Store {
        self.store
    }

    /// Its object root.
    pub fn root(&self) -> &Key {
        &self.root
    }

    /// SHA-512 and size of the root inventory that the store holds now; `None` when it holds none.
    pub fn root_inventory(&self) -> Result<Option<StoredInventory>, OcflError> {
        stored_inventory(self.store, &self.root, Algorithm::Sha512)
    }

    /// Whether the root inventory in the store is this one.
    pub fn is_at(&self, seal: &InventorySeal) -> Result<bool, OcflError> {
        Ok(self.root_inventory()?.is_some_and(|inventory| inventory.seal == *seal))
    }

    /// SHA-512 and size of the inventory that lies in the directory of a version; `None` when there is none.
    pub fn version_inventory(&self, version: VersionNumber) -> Result<Option<StoredInventory>, OcflError> {
        stored_inventory(self.store, &self.root.join(&version.to_string())?, Algorithm::Sha512)
    }

    /// Whether the object's declaration of OCFL 1.1 is there and says what it should.
    pub fn is_declared(&self) -> Result<bool, OcflError> {
        let name = SpecVersion::V1_1.object_declaration();
        let text = read_small(self.store, &self.root.join(&name)?)?;
        Ok(text.as_deref() == Some(declaration_text(&name).as_bytes()))
    }

    /// Puts the object's declaration of OCFL 1.1, also over a damaged one.
    pub fn restore_declaration(&self) -> Result<(), OcflError> {
        let name = SpecVersion::V1_1.object_declaration();
        let text = declaration_text(&name);
        let options = PutOptions { size: Some(text.len() as u64), ..PutOptions::default() };
        self.store.put(&self.root.join(&name)?, &mut text.as_bytes(), &options)?;
        Ok(())
    }

    /// Puts the recorded inventory of a version, or the root inventory, where the store holds another, `damaged`, or none;
    /// then its sidecar is right as well. `source` opens the bytes that `seal` describes, and is not asked when they are
    /// there already. Refused when the store holds neither.
    pub fn restore_inventory(
        &self,
        of: Option<VersionNumber>,
        seal: &InventorySeal,
        damaged: Option<&Digest>,
        source: &mut dyn FnMut() -> Result<Body, OcflError>,
    ) -> Result<(), OcflError> {
        let directory = match of {
            Some(version) => self.root.join(&version.to_string())?,
            None => self.root.clone(),
        };
        let replacement = Replacement {
            store: self.store,
            directory: &directory,
            algorithm: Algorithm::Sha512,
            seal: *seal,
            replaces: damaged,
        };
        replacement.make(source)
    }

    /// Reads the root inventory with constant memory and hands each entry to `visit`, in the order of the document:
    /// what `rebuild` walks. [`StorageError::NotFound`](strongroom_storage::StorageError::NotFound) where there is none.
    pub fn read(
        &self,
        limits: Limits,
        visit: &mut dyn FnMut(InventoryEntry<'_>) -> Result<(), OcflError>,
    ) -> Result<InventorySummary, OcflError> {
        let key = self.root.join(INVENTORY)?;
        let body = self.store.open(&key, 0, None)?;
        read_inventory(body, limits, visit).map_err(|error| match error {
            OcflError::Inventory { code, message, .. } => {
                OcflError::Inventory { code, what: format!("{key} in store {}", self.store.name()), message }
            }
            other => other,
        })
    }

    /// Hands every file of a version to `visit`: logical path, digest, and where its content lies relative to the object
    /// root. Reads the inventory three times; memory grows with the contents of the version.
    pub fn read_state(
        &self,
        version: VersionNumber,
        limits: Limits,
        visit: &mut dyn FnMut(&str, Digest, &str) -> Result<(), OcflError>,
    ) -> Result<InventorySummary, OcflError> {
        let mut content_paths = HashMap::<Digest, String>::new();
        self.read(limits, &mut |entry| {
            if let InventoryEntry::State { version: of, digest, .. } = entry
                && of == version
            {
                content_paths.entry(digest).or_default();
            }
            Ok(())
        })?;
        self.read(limits, &mut |entry| {
            if let InventoryEntry::Manifest { digest, path } = entry
                && let Some(content_path) = content_paths.get_mut(&digest)
            {
                path.clone_into(content_path);
            }
            Ok(())
        })?;
        self.read(limits, &mut |entry| {
            let InventoryEntry::State { version: of, digest, path } = entry else { return Ok(()) };
            if of != version {
                return Ok(());
            }
            match content_paths.get(&digest) {
                Some(content_path) if !content_path.is_empty() => visit(path, digest, content_path),
                _ => Err(OcflError::Inventory {
                    code: "E050",
                    what: self.root.to_string(),
                    message: format!("the manifest has no content for {path:?} of {version}"),
                }),
            }
        })
    }

    /// Puts a small file into the object's `logs/`, replacing one of the same name. `name` is a single file name.
    pub fn put_log(&self, name: &str, bytes: &[u8]) -> Result<Key, OcflError> {
        if name.is_empty() || name.contains('/') {
            return Err(OcflError::unwritable("a log", name, "it is not a single file name"));
        }
        let key = self.root.join(&format!("logs/{name}"))?;
        let options = PutOptions { size: Some(bytes.len() as u64), ..PutOptions::default() };
        self.store.put(&key, &mut &*bytes, &options)?;
        Ok(key)
    }
}
