//! The root inventory of an object and its sidecar: what a store holds now, and how both are replaced.

use strongroom_digest::{Algorithm, Digest, hash_reader};
use strongroom_storage::{Key, PutCondition, PutOptions, StorageError, Store};

use crate::error::shown;
use crate::path::{INVENTORY, sidecar_name, sidecar_text};
use crate::root::read_small;
use crate::{InventorySeal, OcflError};

/// An inventory as it lies in a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredInventory {
    /// Digest and size of its bytes.
    pub seal: InventorySeal,
    /// The store's etag of it.
    pub etag: String,
}

/// Looks at the inventory in `directory` and computes its digest; `None` when there is none.
pub(crate) fn stored_inventory(
    store: &dyn Store,
    directory: &Key,
    algorithm: Algorithm,
) -> Result<Option<StoredInventory>, OcflError> {
    let key = directory.join(INVENTORY)?;
    let head = match store.head(&key) {
        Ok(head) => head,
        Err(error) if error.is_not_found() => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let vouched = head.checksum.filter(|(of, _)| store.capabilities().strong_checksum && *of == algorithm);
    let seal = match vouched {
        Some((_, digest)) => InventorySeal { digest, size: head.size },
        None => read_seal(store, &key, algorithm)?,
    };
    Ok(Some(StoredInventory { seal, etag: head.etag }))
}

/// Reads a key to its end and computes digest and size.
fn read_seal(store: &dyn Store, key: &Key, algorithm: Algorithm) -> Result<InventorySeal, OcflError> {
    let body = store.open(key, 0, None)?;
    let (size, digests) = hash_reader(body, &[algorithm]).map_err(|source| {
        let store = store.name().to_owned();
        OcflError::Storage(StorageError::Io { store, act: "read", key: key.clone(), source })
    })?;
    let digest = digests.get(algorithm).ok_or_else(|| {
        OcflError::unwritable("an inventory digest", algorithm.name(), "the algorithm was not computed")
    })?;
    Ok(InventorySeal { digest, size })
}

/// One inventory to be put in place of another, or of none.
pub(crate) struct Replacement<'a> {
    pub(crate) store: &'a dyn Store,
    /// The object root or version directory.
    pub(crate) directory: &'a Key,
    pub(crate) algorithm: Algorithm,
    pub(crate) seal: InventorySeal,
    /// Digest of the one it replaces; `None` when there must be none.
    pub(crate) replaces: Option<&'a Digest>,
}

impl Replacement<'_> {
    /// Puts the sidecar, then the inventory that `source` opens, then reads the inventory back. The inventory is the
    /// commit point: a crash before it leaves the old inventory beside the new sidecar, and repeating completes it. When
    /// the new inventory is there already only the sidecar is looked after. Refuses when any third inventory is there.
    pub(crate) fn make(
        &self,
        source: &mut dyn FnMut() -> Result<strongroom_storage::Body, OcflError>,
    ) -> Result<(), OcflError> {
        let found = stored_inventory(self.store, self.directory, self.algorithm)?;
        let found_digest = found.as_ref().map(|inventory| inventory.seal.digest);
        if found_digest == Some(self.seal.digest) {
            return self.put_sidecar();
        }
        if found_digest.as_ref() != self.replaces {
            return Err(OcflError::Head {
                store: self.store.name().to_owned(),
                key: self.directory.clone(),
                expected: shown(self.replaces),
                found: shown(found_digest.as_ref()),
            });
        }
        self.put_sidecar()?;
        let key = self.directory.join(INVENTORY)?;
        let condition = match found {
            _ if !self.store.capabilities().conditional_put => PutCondition::Always,
            Some(inventory) => PutCondition::IfMatch(inventory.etag),
            None => PutCondition::IfAbsent,
        };
        let options = PutOptions {
            digest: Some((self.algorithm, self.seal.digest)),
            size: Some(self.seal.size),
            condition,
            ..PutOptions::default()
        };
        self.store.put(&key, &mut source()?, &options)?;
        let read_back = stored_inventory(self.store, self.directory, self.algorithm)?;
        match read_back {
            Some(inventory) if inventory.seal == self.seal => Ok(()),
            other => Err(OcflError::ReadBack {
                store: self.store.name().to_owned(),
                key,
                written: self.seal.digest.to_hex(),
                found: shown(other.map(|inventory| inventory.seal.digest).as_ref()),
            }),
        }
    }

    fn put_sidecar(&self) -> Result<(), OcflError> {
        let key = self.directory.join(&sidecar_name(self.algorithm))?;
        let text = sidecar_text(&self.seal.digest);
        if read_small(self.store, &key)?.as_deref() == Some(text.as_bytes()) {
            return Ok(());
        }
        let options = PutOptions { size: Some(text.len() as u64), ..PutOptions::default() };
        self.store.put(&key, &mut text.as_bytes(), &options)?;
        Ok(())
    }
}
