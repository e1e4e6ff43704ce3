//! The root inventory of an object and its sidecar: what a store holds now, and how both are replaced.

use strongroom_digest::{Algorithm, Digest, hash_reader};
use strongroom_storage::{Body, Key, PutCondition, PutOptions, StorageError, Store};

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

/// Inspects the inventory in `directory` and computes its digest; `None` when there is none.
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
    /// Puts the inventory that `source` opens, reads it back, and puts its sidecar. The inventory is the commit point; a
    /// crash behind it leaves the old sidecar, and repeating completes it. When the new inventory is there already only the
    /// sidecar is looked after. Refuses when any third inventory is there.
    pub(crate) fn make(&self, source: &mut dyn FnMut() -> Result<Body, OcflError>) -> Result<(), OcflError> {
        self.make_while(&mut || Ok(()), source)
    }

    /// As [`Self::make`]; `may_go_on` is asked after everything was read and before the first put.
    ///
    /// Both puts depend on what was read before: the sidecar is read first, then the inventory. So a process that is
    /// suspended here while others replace the inventory finds both of their puts refused, where the store honours
    /// conditions.
    pub(crate) fn make_while(
        &self,
        may_go_on: &mut dyn FnMut() -> Result<(), OcflError>,
        source: &mut dyn FnMut() -> Result<Body, OcflError>,
    ) -> Result<(), OcflError> {
        let text = sidecar_text(&self.seal.digest);
        let sidecar_key = self.directory.join(&sidecar_name(self.algorithm))?;
        let sidecar = Conditional::read(self.store, sidecar_key, text.as_bytes())?;
        let found = stored_inventory(self.store, self.directory, self.algorithm)?;
        let found_digest = found.as_ref().map(|inventory| inventory.seal.digest);
        if found_digest == Some(self.seal.digest) {
            return sidecar.put(may_go_on, text.as_bytes());
        }
        if found_digest.as_ref() != self.replaces {
            return Err(OcflError::Head {
                store: self.store.name().to_owned(),
                key: self.directory.clone(),
                expected: shown(self.replaces),
                found: shown(found_digest.as_ref()),
            });
        }
        let key = self.directory.join(INVENTORY)?;
        let options = PutOptions {
            digest: Some((self.algorithm, self.seal.digest)),
            size: Some(self.seal.size),
            condition: unchanged(self.store, found.map(|inventory| inventory.etag)),
            ..PutOptions::default()
        };
        let mut body = source()?;
        may_go_on()?;
        self.store.put(&key, &mut body, &options)?;
        let read_back = stored_inventory(self.store, self.directory, self.algorithm)?;
        match read_back {
            Some(inventory) if inventory.seal == self.seal => sidecar.put(may_go_on, text.as_bytes()),
            other => Err(OcflError::ReadBack {
                store: self.store.name().to_owned(),
                key,
                written: self.seal.digest.to_hex(),
                found: shown(other.map(|inventory| inventory.seal.digest).as_ref()),
            }),
        }
    }
}

/// The condition that a key is still as it was read, where the store honours one.
fn unchanged(store: &dyn Store, etag: Option<String>) -> PutCondition {
    match etag {
        _ if !store.capabilities().conditional_put => PutCondition::Always,
        Some(etag) => PutCondition::IfMatch(etag),
        None => PutCondition::IfAbsent,
    }
}

/// A small file that was read, to be put only where it is still as it was.
pub(crate) struct Conditional<'s> {
    store: &'s dyn Store,
    key: Key,
    /// None where it holds the right text already.
    condition: Option<PutCondition>,
}

impl<'s> Conditional<'s> {
    /// Reads what lies under the key and compares it with the text that belongs there.
    pub(crate) fn read(store: &'s dyn Store, key: Key, text: &[u8]) -> Result<Self, OcflError> {
        // The etag first: bytes that are newer than it only make the put fail.
        let etag = match store.head(&key) {
            Ok(head) => Some(head.etag),
            Err(error) if error.is_not_found() => None,
            Err(error) => return Err(error.into()),
        };
        let is_right = etag.is_some() && read_small(store, &key)?.as_deref() == Some(text);
        let condition = (!is_right).then(|| unchanged(store, etag));
        Ok(Self { store, key, condition })
    }

    /// Puts the text where it was not there.
    pub(crate) fn put(
        self,
        may_go_on: &mut dyn FnMut() -> Result<(), OcflError>,
        text: &[u8],
    ) -> Result<(), OcflError> {
        let Some(condition) = self.condition else { return Ok(()) };
        may_go_on()?;
        let options = PutOptions { size: Some(text.len() as u64), condition, ..PutOptions::default() };
        match self.store.put(&self.key, &mut &*text, &options) {
            Ok(_) => Ok(()),
            // Others completed it at the same time: they put the same text, or have gone on, and then this is refused.
            Err(error @ StorageError::Condition { .. }) => {
                if read_small(self.store, &self.key)?.as_deref() == Some(text) { Ok(()) } else { Err(error.into()) }
            }
            Err(error) => Err(error.into()),
        }
    }
}
