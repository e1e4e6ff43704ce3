//! Writes sample objects the way the engine does: contents and inventory into an assembly, then commit.

use std::collections::BTreeMap;

use strongroom_digest::{Algorithm, Digest, hash_reader};
use strongroom_ocfl::{
    Commit, InventoryHeader, InventorySeal, InventoryWriter, OcflError, User, VersionAssembly, VersionDetails,
    VersionNumber, object_id, owned_content_path,
};
use strongroom_storage::{Key, Store};

/// What an object should hold: for each version logical paths and their bytes.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sample {
    pub(crate) versions: Vec<BTreeMap<String, Vec<u8>>>,
    pub(crate) fixity: bool,
}

pub(crate) fn sample_id() -> String {
    object_id("0192f5e1-7c2b-7000-8000-0123456789ab").unwrap()
}

pub(crate) fn digest_of(algorithm: Algorithm, bytes: &[u8]) -> Digest {
    hash_reader(bytes, &[algorithm]).unwrap().1.get(algorithm).unwrap()
}

pub(crate) fn sha512(bytes: &[u8]) -> Digest {
    digest_of(Algorithm::Sha512, bytes)
}

impl Sample {
    pub(crate) fn new(versions: &[&[(&str, &str)]]) -> Self {
        let version = |files: &&[(&str, &str)]| {
            files.iter().map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec())).collect()
        };
        Self { versions: versions.iter().map(version).collect(), fixity: false }
    }

    pub(crate) fn details(number: usize) -> VersionDetails {
        VersionDetails {
            created: format!("2026-01-{number:02}T12:00:00Z"),
            message: Some(format!("version {number}")),
            user: Some(User { name: "Archivist".into(), address: Some("mailto:archivist@example.edu".into()) }),
        }
    }

    /// The assembly that a version is written in.
    pub(crate) fn assembly(version: usize) -> String {
        format!("sample-v{version}")
    }

    pub(crate) fn content_path(version: usize, digest: &Digest) -> String {
        owned_content_path(VersionNumber::new(version as u32).unwrap(), &Self::assembly(version), digest)
    }

    /// The version that first kept each content, up to `head`.
    fn first_kept(&self, head: usize) -> BTreeMap<Digest, (usize, Vec<u8>)> {
        let mut kept = BTreeMap::new();
        for (index, files) in self.versions.iter().take(head).enumerate() {
            for bytes in files.values() {
                kept.entry(sha512(bytes)).or_insert((index + 1, bytes.clone()));
            }
        }
        kept
    }

    pub(crate) fn inventory(&self, head: usize) -> (Vec<u8>, InventorySeal) {
        let number = |number: usize| VersionNumber::new(number as u32).unwrap();
        let header = InventoryHeader::new(sample_id(), number(head));
        let mut writer = InventoryWriter::new(Vec::new(), &header).unwrap();
        let kept = self.first_kept(head);
        for (digest, (version, _)) in &kept {
            writer.manifest(digest, &Self::content_path(*version, digest)).unwrap();
        }
        for (index, files) in self.versions.iter().take(head).enumerate() {
            writer.version(number(index + 1), &Self::details(index + 1)).unwrap();
            let mut state: Vec<_> = files.iter().map(|(path, bytes)| (sha512(bytes), path)).collect();
            state.sort();
            for (digest, path) in state {
                writer.state(&digest, path).unwrap();
            }
        }
        if self.fixity {
            for algorithm in [Algorithm::Md5, Algorithm::Sha1, Algorithm::Sha256] {
                let mut entries: Vec<_> = kept
                    .iter()
                    .map(|(digest, (version, bytes))| {
                        (digest_of(algorithm, bytes), Self::content_path(*version, digest))
                    })
                    .collect();
                entries.sort();
                for (digest, path) in entries {
                    writer.fixity(algorithm.name(), &digest, &path).unwrap();
                }
            }
        }
        writer.finish().unwrap()
    }

    /// Writes one version, from whatever was done of it before.
    pub(crate) fn write_version(
        &self,
        store: &dyn Store,
        root: &Key,
        number: usize,
    ) -> Result<InventorySeal, OcflError> {
        let version = VersionNumber::new(number as u32)?;
        let assembly = VersionAssembly::open(store, &Self::assembly(number), root, version)?;
        for (digest, (first, bytes)) in self.first_kept(number) {
            if first == number && assembly.head_content(&digest)?.is_none() {
                assembly.put_content(&digest, bytes.len() as u64, None, &mut &*bytes)?;
            }
        }
        assembly.sync()?;
        for (digest, (first, bytes)) in self.first_kept(number) {
            assert!(first != number || assembly.verify_content(&digest, bytes.len() as u64)?);
        }
        self.commit(&assembly, number)
    }

    /// Commits a version whose contents are there.
    pub(crate) fn commit(&self, assembly: &VersionAssembly<'_>, number: usize) -> Result<InventorySeal, OcflError> {
        let before = (number > 1).then(|| self.inventory(number - 1).1.digest);
        self.commit_over(assembly, number, before.as_ref())
    }

    /// Commits a version in place of the root inventory of this digest.
    pub(crate) fn commit_over(
        &self,
        assembly: &VersionAssembly<'_>,
        number: usize,
        replaces: Option<&Digest>,
    ) -> Result<InventorySeal, OcflError> {
        let (inventory, seal) = self.inventory(number);
        assembly.commit(&mut Commit {
            seal: &seal,
            replaces,
            inventory: &mut || Ok(Box::new(std::io::Cursor::new(inventory.clone()))),
            may_go_on: &mut || Ok(()),
        })?;
        Ok(seal)
    }

    pub(crate) fn write(&self, store: &dyn Store, root: &Key) {
        for number in 1..=self.versions.len() {
            self.write_version(store, root, number).unwrap();
        }
    }
}
