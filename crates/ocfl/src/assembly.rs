//! Writes one version of an object, in steps that may each be repeated: open, put contents, sync, list and read back,
//! commit.
//!
//! Everything that is written before the commit lies under the id of the assembly: out of sight in a folder, below
//! `vN/content/<id>/` where keys are final from the first put. So a process that lost its lease reaches nothing of another
//! version. Inventories, sidecars and the declaration are written by the commit alone, each on the condition that what
//! lies there is still what was read; the root inventory comes last but for its sidecar.

use std::io::{self, ErrorKind, Read};

use strongroom_digest::{Algorithm, Digest, hash_reader};
use strongroom_storage::{Assembly, Body, Durability, Head, Key, Listed, PutOptions, StorageError, Store};

use crate::head::{Conditional, Replacement};
use crate::path::{CONTENT, INVENTORY, content_path, owned_content_path, sidecar_name, sidecar_text};
use crate::spec::declaration_text;
use crate::{InventorySeal, OcflError, SpecVersion, VersionNumber};

/// A version that is being written.
pub struct VersionAssembly<'s> {
    store: &'s dyn Store,
    object_root: Key,
    version: VersionNumber,
    id: String,
    is_owned: bool,
    assembly: Box<dyn Assembly>,
}

/// Contents as they are listed: path relative to the object root, and size.
pub type Contents<'a> = Box<dyn Iterator<Item = Result<(String, u64), OcflError>> + 'a>;

/// What a commit makes true.
pub struct Commit<'a> {
    /// Digest and size of the version's inventory.
    pub seal: &'a InventorySeal,
    /// Digest of the root inventory that it replaces; `None` for the first version.
    pub replaces: Option<&'a Digest>,
    /// Opens the bytes of the inventory.
    pub inventory: &'a mut dyn FnMut() -> Result<Body, OcflError>,
    /// Asked right before each step that others could see: whether the caller still holds the object. An error ends the
    /// commit.
    pub may_go_on: &'a mut dyn FnMut() -> Result<(), OcflError>,
}

impl<'s> VersionAssembly<'s> {
    /// Opens the assembly `id` of a version of the object at `object_root`, and finds in it what was put before. `id` is
    /// one segment of a key, and never used for another version.
    pub fn open(store: &'s dyn Store, id: &str, object_root: &Key, version: VersionNumber) -> Result<Self, OcflError> {
        Self::open_as(store, id, object_root, version, true)
    }

    /// As [`Self::open`], for a version that was begun before content paths had the id: `vN/content/<2 hex>/<sha512>`.
    pub fn open_without_id(
        store: &'s dyn Store,
        id: &str,
        object_root: &Key,
        version: VersionNumber,
    ) -> Result<Self, OcflError> {
        Self::open_as(store, id, object_root, version, false)
    }

    fn open_as(
        store: &'s dyn Store,
        id: &str,
        object_root: &Key,
        version: VersionNumber,
        is_owned: bool,
    ) -> Result<Self, OcflError> {
        let target =
            if version.number() == 1 { object_root.clone() } else { object_root.join(&version.to_string())? };
        let assembly = store.assembly(id, &target)?;
        Ok(Self { store, object_root: object_root.clone(), version, id: id.to_owned(), is_owned, assembly })
    }

    /// The version being written.
    pub fn version(&self) -> VersionNumber {
        self.version
    }

    /// Where a content of this version lies, relative to the object root: `vN/content/<id>/<2 hex>/<sha512>`.
    pub fn content_path(&self, sha512: &Digest) -> String {
        if self.is_owned {
            owned_content_path(self.version, &self.id, sha512)
        } else {
            content_path(self.version, sha512)
        }
    }

    /// The key in the store under which a content of this version will lie.
    pub fn content_key(&self, sha512: &Digest) -> Result<Key, OcflError> {
        Ok(self.object_root.join(&self.content_path(sha512))?)
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
        self.put_with(sha512, body, &content_options(sha512, size, class))
    }

    /// As [`Self::put_content`], of a content that counts only after [`Self::verify_content`]: a store that would have to
    /// calculate the digest itself does not, so that other bytes are refused then, and not here.
    pub fn put_content_to_verify(
        &self,
        sha512: &Digest,
        size: u64,
        class: Option<String>,
        body: &mut dyn Read,
    ) -> Result<Head, OcflError> {
        let options = PutOptions { is_read_back: true, ..content_options(sha512, size, class) };
        self.put_with(sha512, body, &options)
    }

    fn put_with(&self, sha512: &Digest, body: &mut dyn Read, options: &PutOptions) -> Result<Head, OcflError> {
        if !self.is_owned && !self.store.capabilities().atomic_assembly {
            return Ok(self.store.put(&self.content_key(sha512)?, body, options)?);
        }
        Ok(self.assembly.put(&self.inside(&self.content_path(sha512))?, body, options)?)
    }

    /// As [`Self::put_content`], also where the assembly has become visible since: for what is missing of a version that is
    /// being committed.
    pub fn put_missing_content(
        &self,
        sha512: &Digest,
        size: u64,
        class: Option<String>,
        body: &mut dyn Read,
    ) -> Result<Head, OcflError> {
        if !self.is_committed()? {
            return self.put_content(sha512, size, class, body);
        }
        let digest = Some((Algorithm::Sha512, *sha512));
        let options = PutOptions { digest, size: Some(size), class, ..PutOptions::default() };
        Ok(self.store.put(&self.content_key(sha512)?, body, &options)?)
    }

    /// The head of a content that was put; `None` when it was not.
    pub fn head_content(&self, sha512: &Digest) -> Result<Option<Head>, OcflError> {
        match self.assembly.head(&self.inside(&self.content_path(sha512))?) {
            Ok(head) => Ok(Some(head)),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Opens a content that was put.
    pub fn open_content(&self, sha512: &Digest) -> Result<Body, OcflError> {
        Ok(self.assembly.open(&self.inside(&self.content_path(sha512))?)?)
    }

    /// Proves a content by reading it back: whether it is there and has this digest and size.
    pub fn verify_content(&self, sha512: &Digest, size: u64) -> Result<bool, OcflError> {
        self.verify_content_through(sha512, size, |body| body)
    }

    /// As [`Self::verify_content`], read through what `through` makes of the bytes: a reader that counts them, or that stops.
    pub fn verify_content_through<R: Read>(
        &self,
        sha512: &Digest,
        size: u64,
        through: impl FnOnce(Body) -> R,
    ) -> Result<bool, OcflError> {
        let key = self.inside(&self.content_path(sha512))?;
        self.verify(&key, &InventorySeal { digest: *sha512, size }, through)
    }

    /// The contents that lie under the id, before and after [`Self::commit`]: path relative to the object root and size, in
    /// byte order of the path, which is that of the SHA-512.
    pub fn contents(&self) -> Result<Contents<'_>, OcflError> {
        let folder = format!("{}/{CONTENT}", self.version);
        let folder = if self.is_owned { format!("{folder}/{}", self.id) } else { folder };
        if self.is_committed()? {
            // What others may have put into the assembly since is no part of the version.
            let lines = self.store.list(&self.object_root.join(&folder)?)?;
            return Ok(Box::new(lines.map(move |line| {
                let Listed { key, size, .. } = line?;
                Ok((key.below(&self.object_root).unwrap_or_default().to_owned(), size))
            })));
        }
        let above = self.version_prefix();
        let lines = self.assembly.list(&self.inside(&folder)?)?;
        Ok(Box::new(lines.map(move |line| {
            let Listed { key, size, .. } = line?;
            Ok((format!("{above}{key}"), size))
        })))
    }

    /// Makes everything put so far durable.
    pub fn sync(&self) -> Result<(), OcflError> {
        Ok(self.assembly.sync()?)
    }

    /// Makes the version true: inventory, sidecar and, for the first version, the declaration are written and read back, the
    /// assembly becomes visible, then root inventory and root sidecar are those of this version and read back. May be
    /// repeated at any time, also by others at the same time; refuses when the object has any other root inventory by now.
    ///
    /// # Errors
    /// Also what [`Commit::may_go_on`] returns.
    pub fn commit(&self, commit: &mut Commit<'_>) -> Result<(), OcflError> {
        let seal = *commit.seal;
        if self.is_committed()? {
            // A process that slept may have put something into the assembly after it became visible.
            (commit.may_go_on)()?;
            self.assembly.discard()?;
        } else if self.store.capabilities().atomic_assembly {
            self.put_inventory(commit)?;
            self.assembly.sync()?;
        }
        (commit.may_go_on)()?;
        self.assembly.commit()?;
        self.put_final_inventory(commit)?;
        let version_inventory = self.object_root.join(&format!("{}/{INVENTORY}", self.version))?;
        let replacement = Replacement {
            store: self.store,
            directory: &self.object_root,
            algorithm: Algorithm::Sha512,
            seal,
            replaces: commit.replaces,
        };
        replacement.make_while(commit.may_go_on, &mut || Ok(self.store.open(&version_inventory, 0, None)?))
    }

    /// Removes everything that was put. Not after [`Self::commit`] was begun: what an inventory in its place names is published,
    /// whatever the caller knows of it.
    ///
    /// # Errors
    /// [`OcflError::Published`]; and where an inventory that lies there cannot be read.
    pub fn abandon(&self) -> Result<(), OcflError> {
        if let Some(key) = self.published_by()? {
            return Err(OcflError::Published { store: self.store.name().to_owned(), key, id: self.id.clone() });
        }
        Ok(self.assembly.discard()?)
    }

    /// The inventory in its place that names something under the id, if one does: the root inventory, or the version's own
    /// where that of the root was lost. Inventories are searched as they lie, damaged or not.
    pub fn published_by(&self) -> Result<Option<Key>, OcflError> {
        for name in [INVENTORY.to_owned(), format!("{}/{INVENTORY}", self.version)] {
            let key = self.object_root.join(&name)?;
            let body = match self.store.open(&key, 0, None) {
                Ok(body) => body,
                Err(error) if error.is_not_found() => continue,
                Err(error) => return Err(error.into()),
            };
            let is_named = contains(body, self.id.as_bytes()).map_err(|source| self.unread(&key, source))?;
            if is_named {
                return Ok(Some(key));
            }
        }
        Ok(None)
    }

    /// Whether the version's directory lies in its place, where a store assembles out of sight.
    fn is_committed(&self) -> Result<bool, OcflError> {
        if !self.store.capabilities().atomic_assembly {
            return Ok(false);
        }
        let directory = self.object_root.join(&self.version.to_string())?;
        let first = self.store.list(&directory)?.next().transpose()?;
        Ok(first.is_some())
    }

    /// Puts inventory and sidecar of the version into the assembly; of a first version, which is a whole object, those of
    /// the root and the declaration too. What is there already is not put again.
    fn put_inventory(&self, commit: &mut Commit<'_>) -> Result<(), OcflError> {
        let prefix = self.target_prefix();
        let sidecar = sidecar_name(Algorithm::Sha512);
        let text = sidecar_text(&commit.seal.digest);
        self.put_inventory_at(&prefix, commit)?;
        self.put_text(&format!("{prefix}{sidecar}"), &text)?;
        if self.version.number() == 1 {
            let declaration = SpecVersion::V1_1.object_declaration();
            self.put_text(&declaration, &declaration_text(&declaration))?;
            self.put_inventory_at("", commit)?;
            self.put_text(&sidecar, &text)?;
        }
        Ok(())
    }

    fn put_inventory_at(&self, prefix: &str, commit: &mut Commit<'_>) -> Result<(), OcflError> {
        let key = Key::new(format!("{prefix}{INVENTORY}"))?;
        if self.verify(&key, commit.seal, |body| body)? {
            return Ok(());
        }
        let options = PutOptions {
            digest: Some((Algorithm::Sha512, commit.seal.digest)),
            size: Some(commit.seal.size),
            durability: Durability::OnSync,
            ..PutOptions::default()
        };
        self.assembly.put(&key, &mut (commit.inventory)()?, &options)?;
        if self.verify(&key, commit.seal, |body| body)? {
            return Ok(());
        }
        let (store, written) = (self.store.name().to_owned(), commit.seal.digest.to_hex());
        Err(OcflError::ReadBack { store, key, written, found: "other bytes".into() })
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

    /// Puts declaration, inventory and sidecar of the version in their place: where keys are final from the first put, or
    /// where they were lost after the assembly became visible. Only a version that is being committed gets here, and of each
    /// number only one ever is: all who put them put the same bytes.
    fn put_final_inventory(&self, commit: &mut Commit<'_>) -> Result<(), OcflError> {
        if self.version.number() == 1 {
            let name = SpecVersion::V1_1.object_declaration();
            let text = declaration_text(&name);
            Conditional::read(self.store, self.object_root.join(&name)?, text.as_bytes())?
                .put(commit.may_go_on, text.as_bytes())?;
        }
        let directory = self.object_root.join(&self.version.to_string())?;
        let found = crate::head::stored_inventory(self.store, &directory, Algorithm::Sha512)?;
        let replacement = Replacement {
            store: self.store,
            directory: &directory,
            algorithm: Algorithm::Sha512,
            seal: *commit.seal,
            replaces: found.as_ref().map(|found| &found.seal.digest),
        };
        replacement.make_while(commit.may_go_on, commit.inventory)
    }

    fn verify<R: Read>(
        &self,
        key: &Key,
        seal: &InventorySeal,
        through: impl FnOnce(Body) -> R,
    ) -> Result<bool, OcflError> {
        let body = match self.assembly.open(key) {
            Ok(body) => body,
            Err(error) if error.is_not_found() => return Ok(false),
            Err(error) => return Err(error.into()),
        };
        let (size, digests) =
            hash_reader(through(body), &[Algorithm::Sha512]).map_err(|source| self.unread(key, source))?;
        Ok(size == seal.size && digests.get(Algorithm::Sha512) == Some(seal.digest))
    }

    /// A path relative to the object root as a key of the assembly.
    fn inside(&self, path: &str) -> Result<Key, OcflError> {
        let above = self.version_prefix();
        Ok(Key::new(path.strip_prefix(above.as_str()).unwrap_or(path))?)
    }

    /// What stands before keys of the assembly in paths relative to the object root: the target of a first version is the
    /// whole object.
    fn version_prefix(&self) -> String {
        if self.version.number() == 1 { String::new() } else { format!("{}/", self.version) }
    }

    /// What stands before names of the version's directory in keys of the assembly.
    fn target_prefix(&self) -> String {
        if self.version.number() == 1 { format!("{}/", self.version) } else { String::new() }
    }

    fn unread(&self, key: &Key, source: io::Error) -> OcflError {
        let store = self.store.name().to_owned();
        OcflError::Storage(StorageError::Io { store, act: "read", key: key.clone(), source })
    }
}

/// How a content of an assembly is put: it is durable with the rest of the version.
fn content_options(sha512: &Digest, size: u64, class: Option<String>) -> PutOptions {
    PutOptions {
        digest: Some((Algorithm::Sha512, *sha512)),
        size: Some(size),
        class,
        durability: Durability::OnSync,
        ..PutOptions::default()
    }
}

/// Whether a text lies anywhere in a stream.
fn contains(mut body: impl Read, text: &[u8]) -> io::Result<bool> {
    let mut chunk = vec![0; 64 << 10];
    let mut seen = Vec::with_capacity(chunk.len() + text.len());
    loop {
        let length = match body.read(&mut chunk) {
            Ok(0) => return Ok(false),
            Ok(length) => length,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        seen.extend_from_slice(chunk.get(..length).unwrap_or_default());
        if seen.windows(text.len().max(1)).any(|window| window == text) {
            return Ok(true);
        }
        // It may begin here and go on in the next bytes.
        seen.drain(..seen.len().saturating_sub(text.len().saturating_sub(1)));
    }
}

#[cfg(test)]
mod tests {
    use super::contains;

    /// Gives one byte at a time.
    struct Slow<'a>(&'a [u8]);

    impl std::io::Read for Slow<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            let (Some((first, rest)), Some(place)) = (self.0.split_first(), buffer.first_mut()) else { return Ok(0) };
            *place = *first;
            self.0 = rest;
            Ok(1)
        }
    }

    #[test]
    fn a_text_is_found_wherever_the_reads_cut_it() {
        assert!(contains(Slow(b"some words here"), b"words").unwrap());
        assert!(contains(&b"words"[..], b"words").unwrap());
        assert!(!contains(Slow(b"some word s"), b"words").unwrap());
        assert!(!contains(&b""[..], b"words").unwrap());
        let mut long = vec![b'-'; (64 << 10) - 2];
        long.extend_from_slice(b"words");
        assert!(contains(long.as_slice(), b"words").unwrap());
    }
}
