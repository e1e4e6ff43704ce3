//! An object as it lies in a store: its root inventory, its logs, and reading what it holds.

use strongroom_digest::Algorithm;
use strongroom_storage::{Key, PutOptions, Store};

use crate::head::{StoredInventory, stored_inventory};
use crate::{InventorySeal, OcflError};

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
