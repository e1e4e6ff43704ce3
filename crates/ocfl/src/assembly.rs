//! Writes one version of an object, in steps that may each be repeated: open, put contents, put the inventory, sync,
//! read back, commit.
//!
//! Where a store assembles out of sight, the first version comes to be as a whole object and a later one as its version
//! directory; where keys are final from the first put, nothing counts until the root inventory names it. In both, the
//! root inventory is put last.

use std::io::{self, Read};

use strongroom_digest::{Algorithm, Digest, hash_reader};
use strongroom_storage::{Assembly, Body, Durability, Head, Key, PutOptions, StorageError, Store};

use crate::head::Replacement;
use crate::path::{CONTENT, INVENTORY, content_name, sidecar_name, sidecar_text};
use crate::spec::declaration_text;
use crate::{InventorySeal, OcflError, SpecVersion, VersionNumber};

/// A version that is being written.
pub struct VersionAssembly<'s> {
    store: &'s dyn Store,
    object_root: Key,
    version: VersionNumber,
    assembly: Box<dyn Assembly>,
}

impl<'s> VersionAssembly<'s> {
    /// Opens the assembly `id` of a version of the object at `object_root`, and finds in it what was put before.
    pub fn open(store: &'s dyn Store, id: &str, object_root: &Key, version: VersionNumber) -> Result<Self, OcflError> {
        let target =
            if version.number() == 1 { object_root.clone() } else { object_root.join(&version.to_string())? };
        let assembly = store.assembly(id, &target)?;
        Ok(Self { store, object_root: object_root.clone(), version, assembly })
    }

    /// The version being written.
    pub fn version(&self) -> VersionNumber {
        self.version
    }

    /// The key in the store under which a content of this version will lie.
    pub fn content_key(&self, sha512: &Digest) -> Result<Key, OcflError> {
        Ok(self.object_root.join(&crate::content_path(self.version, sha512))?)
    }

    /// Puts a content; refused when the bytes differ from digest or size. `class` is the storage class, where the store
    /// has them.
    pub fn put_content(
        &self,
        sha512: &Digest,
        size: u64,
        class: Option<String>,
        body: &mut dyn Read,
    ) -> Result<Head, OcflError> {
        let options = PutOptions {
            digest: Some((Algorithm::Sha512, *sha512)),
            size: Some(size),
            class,
            durability: Durability::OnSync,
            ..PutOptions::default()
        };
        Ok(self.assembly.put(&self.content_in_assembly(sha512)?, body, &options)?)
    }

    /// Looks at a content that was put; `None` when it was not.
    pub fn head_content(&self, sha512: &Digest) -> Result<Option<Head>, OcflError> {
        match self.assembly.head(&self.content_in_assembly(sha512)?) {
            Ok(head) => Ok(Some(head)),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Opens a content that was put.
    pub fn open_content(&self, sha512: &Digest) -> Result<Body, OcflError> {
        Ok(self.assembly.open(&self.content_in_assembly(sha512)?)?)
    }

    /// Proves a content by reading it back: whether it is there and has this digest and size.
    pub fn verify_content(&self, sha512: &Digest, size: u64) -> Result<bool, OcflError> {
        self.verify(&self.content_in_assembly(sha512)?, &InventorySeal { digest: *sha512, size })
    }

    /// Puts the version's inventory with its sidecar, and for the first version the object's declaration. `inventory`
    /// yields the bytes that `seal` describes. What is there already is not put again, so that a repeat after
    /// [`Self::commit`] leaves no second assembly behind; for contents, ask [`Self::head_content`] first.
    pub fn put_inventory(&self, seal: &InventorySeal, inventory: &mut dyn Read) -> Result<(), OcflError> {
        self.put_inventory_at(&self.prefix(), seal, inventory)?;
        if self.version.number() > 1 {
            return Ok(());
        }
        let declaration = SpecVersion::V1_1.object_declaration();
        let text = declaration_text(&declaration);
        self.put_text(&declaration, &text)?;
        if self.store.capabilities().atomic_assembly {
            let mut again = self.assembly.open(&Key::new(format!("{}{INVENTORY}", self.prefix()))?)?;
            self.put_inventory_at("", seal, &mut again)?;
        }
        Ok(())
    }

    /// Proves the version's inventory by reading it back.
    pub fn verify_inventory(&self, seal: &InventorySeal) -> Result<bool, OcflError> {
        self.verify(&Key::new(format!("{}{INVENTORY}", self.prefix()))?, seal)
    }

    /// Makes everything put so far durable.
    pub fn sync(&self) -> Result<(), OcflError> {
        Ok(self.assembly.sync()?)
    }

    /// Makes the version true: the assembly becomes visible, then root sidecar and root inventory are those of this
    /// version and read back. `replaces` is the digest of the root inventory before it, `None` for the first version. May
    /// be repeated at any time; refuses when the object has any other root inventory by now.
    pub fn commit(&self, seal: &InventorySeal, replaces: Option<&Digest>) -> Result<(), OcflError> {
        self.assembly.commit()?;
        let version_inventory = self.object_root.join(&format!("{}/{INVENTORY}", self.version))?;
        let replacement = Replacement {
            store: self.store,
            directory: &self.object_root,
            algorithm: Algorithm::Sha512,
            seal: *seal,
            replaces,
        };
        replacement.make(&mut || Ok(self.store.open(&version_inventory, 0, None)?))
    }

    /// Drops everything that was put. Not after [`Self::commit`] was begun.
    pub fn abandon(&self) -> Result<(), OcflError> {
        Ok(self.assembly.discard()?)
    }

    /// What stands before names of the version directory: the target of a first version is the whole object.
    fn prefix(&self) -> String {
        if self.version.number() == 1 { format!("{}/", self.version) } else { String::new() }
    }

    fn content_in_assembly(&self, sha512: &Digest) -> Result<Key, OcflError> {
        Ok(Key::new(format!("{}{CONTENT}/{}", self.prefix(), content_name(sha512)))?)
    }

    fn put_inventory_at(&self, prefix: &str, seal: &InventorySeal, bytes: &mut dyn Read) -> Result<(), OcflError> {
        let key = Key::new(format!("{prefix}{INVENTORY}"))?;
        if !self.verify(&key, seal)? {
            let options = PutOptions {
                digest: Some((Algorithm::Sha512, seal.digest)),
                size: Some(seal.size),
                durability: Durability::OnSync,
                ..PutOptions::default()
            };
            self.assembly.put(&key, bytes, &options)?;
        }
        self.put_text(&format!("{prefix}{}", sidecar_name(Algorithm::Sha512)), &sidecar_text(&seal.digest))
    }

    fn put_text(&self, name: &str, text: &str) -> Result<(), OcflError> {
        let key = Key::new(name)?;
        if self.holds_text(&key, text)? {
            return Ok(());
        }
        let options =
            PutOptions { size: Some(text.len() as u64), durability: Durability::OnSync, ..PutOptions::default() };
        self.assembly.put(&key, &mut text.as_bytes(), &options)?;
        Ok(())
    }

    fn holds_text(&self, key: &Key, text: &str) -> Result<bool, OcflError> {
        let body = match self.assembly.open(key) {
            Ok(body) => body,
            Err(error) if error.is_not_found() => return Ok(false),
            Err(error) => return Err(error.into()),
        };
        let mut found = Vec::new();
        body.take(text.len() as u64 + 1).read_to_end(&mut found).map_err(|source| self.unread(key, source))?;
        Ok(found == text.as_bytes())
    }

    fn verify(&self, key: &Key, seal: &InventorySeal) -> Result<bool, OcflError> {
        let body = match self.assembly.open(key) {
            Ok(body) => body,
            Err(error) if error.is_not_found() => return Ok(false),
            Err(error) => return Err(error.into()),
        };
        let (size, digests) = hash_reader(body, &[Algorithm::Sha512]).map_err(|source| self.unread(key, source))?;
        Ok(size == seal.size && digests.get(Algorithm::Sha512) == Some(seal.digest))
    }

    fn unread(&self, key: &Key, source: io::Error) -> OcflError {
        let store = self.store.name().to_owned();
        OcflError::Storage(StorageError::Io { store, act: "read", key: key.clone(), source })
    }
}
