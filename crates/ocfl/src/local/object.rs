//! An object of the disk: its inventory, and its files as one version has them.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use strongroom_digest::{Algorithm, Digest, MultiHasher};

use super::directory::{Directory, failed};
use crate::inventory::{Event, Field, read_events};
use crate::path::INVENTORY;
use crate::{InventoryEntry, InventorySummary, Limits, OcflError, VersionNumber, read_inventory};

/// Bytes read at once.
const BLOCK: usize = 128 << 10;

/// An object of the disk.
#[derive(Debug)]
pub struct LocalObject {
    /// The storage root, or the object itself where it was opened alone.
    directory: Directory,
    path: PathBuf,
}

/// A file of an object, opened.
#[derive(Debug)]
pub struct LocalFile {
    /// The version that was asked for.
    pub version: VersionNumber,
    /// Its digest, as the inventory states it.
    pub digest: Digest,
    /// The algorithm of the digest.
    pub algorithm: Algorithm,
    /// Where its content is, relative to the object root.
    pub content_path: String,
    /// Bytes of its content.
    pub size: u64,
    file: File,
    path: PathBuf,
}

impl LocalObject {
    pub(super) fn new(directory: Directory, path: PathBuf) -> Self {
        Self { directory, path }
    }

    /// The object root relative to the storage root; empty where the object was opened alone.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The id that its inventory states. Reads no further than to it.
    pub fn id(&self) -> Result<String, OcflError> {
        let (place, file) = self.inventory()?;
        let mut id = None;
        let outcome = read_events(file, Limits::default(), &mut |event| {
            if let Event::Field(Field::Id, text) = event {
                id = Some(text.to_owned());
                return Err(OcflError::Stopped { reason: "the id is known".to_owned() });
            }
            Ok(())
        });
        match (id, outcome) {
            (Some(id), _) => Ok(id),
            (None, Err(error)) => Err(located(error, &place)),
            (None, Ok(_)) => {
                let (what, message) = (place.display().to_string(), "the key \"id\" is missing".to_owned());
                Err(OcflError::Inventory { code: "E036", what, message })
            }
        }
    }

    /// What its inventory says of the object and its versions.
    pub fn summary(&self) -> Result<InventorySummary, OcflError> {
        self.read(&mut |_| Ok(()))
    }

    /// Reads the inventory with constant memory and hands each entry to `visit`, in the order of the document.
    pub fn read(
        &self,
        visit: &mut dyn FnMut(InventoryEntry<'_>) -> Result<(), OcflError>,
    ) -> Result<InventorySummary, OcflError> {
        let (place, file) = self.inventory()?;
        read_inventory(file, Limits::default(), visit).map_err(|error| located(error, &place))
    }

    /// Where the contents with these digests are, relative to the object root; the first path of each that the manifest has.
    pub fn content_paths(
        &self,
        digests: impl IntoIterator<Item = Digest>,
    ) -> Result<HashMap<Digest, String>, OcflError> {
        let mut paths: HashMap<Digest, Option<String>> = digests.into_iter().map(|digest| (digest, None)).collect();
        self.read(&mut |entry| {
            if let InventoryEntry::Manifest { digest, path } = entry
                && let Some(known) = paths.get_mut(&digest)
            {
                known.get_or_insert_with(|| path.to_owned());
            }
            Ok(())
        })?;
        Ok(paths.into_iter().filter_map(|(digest, path)| Some((digest, path?))).collect())
    }

    /// Bytes of a content; `None` where it is missing.
    pub fn content_size(&self, content_path: &str) -> Result<Option<u64>, OcflError> {
        let path = self.path.join(content_path);
        match self.directory.open_file(&path) {
            Ok(file) => {
                let metadata = file.metadata().map_err(|error| failed("inspect", &path, error))?;
                Ok(Some(metadata.len()))
            }
            Err(error) if error.is_absent() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Opens a file by its logical path, as a version has it; without one as the newest has it.
    ///
    /// # Errors
    /// There is no such version or file ([`OcflError::Absent`]), or its content cannot be opened.
    pub fn file(&self, version: Option<VersionNumber>, path: &str) -> Result<LocalFile, OcflError> {
        let summary = self.summary()?;
        let version = summary.version(version)?;
        let mut found = None;
        self.read(&mut |entry| {
            if let InventoryEntry::State { version: of, digest, path: logical } = entry
                && of == version
                && logical == path
            {
                found = Some(digest);
            }
            Ok(())
        })?;
        let id = &summary.header.id;
        let Some(digest) = found else {
            return Err(OcflError::Absent { what: format!("file {path:?} in version {version} of object {id}") });
        };
        let Some(content_path) = self.content_paths([digest])?.remove(&digest) else {
            let message = format!("the manifest has no content for {path:?} of {version}");
            let what = self.place().display().to_string();
            return Err(OcflError::Inventory { code: "E050", what, message });
        };
        let place = self.path.join(&content_path);
        let file = self.directory.open_file(&place)?;
        let size = file.metadata().map_err(|error| failed("inspect", &place, error))?.len();
        let path = self.directory.path().join(place);
        Ok(LocalFile { version, digest, algorithm: summary.header.algorithm, content_path, size, file, path })
    }

    fn place(&self) -> PathBuf {
        self.directory.path().join(&self.path).join(INVENTORY)
    }

    fn inventory(&self) -> Result<(PathBuf, File), OcflError> {
        Ok((self.place(), self.directory.open_file(&self.path.join(INVENTORY))?))
    }
}

impl InventorySummary {
    /// A version that the inventory has; the newest unless one is named.
    pub fn version(&self, wanted: Option<VersionNumber>) -> Result<VersionNumber, OcflError> {
        let Some(wanted) = wanted else { return Ok(self.header.head) };
        let found = self.versions.iter().map(|(number, _)| *number).find(|number| *number == wanted);
        found.ok_or_else(|| OcflError::Absent {
            what: format!("version {wanted} of object {}; its newest is {}", self.header.id, self.header.head),
        })
    }
}

impl LocalFile {
    /// Hands all bytes to `take`, block by block, and compares them with the digest.
    ///
    /// # Errors
    /// The bytes have another digest ([`OcflError::Content`]): then all of them have been handed out.
    pub fn copy<E: From<OcflError>>(self, take: &mut dyn FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
        let Self { digest, algorithm, mut file, path, .. } = self;
        let mut hasher = MultiHasher::new(&[algorithm]);
        let mut buffer = vec![0; BLOCK];
        loop {
            let length = match file.read(&mut buffer) {
                Ok(0) => break,
                Ok(length) => length,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(failed("read", &path, error).into()),
            };
            let bytes = buffer.get(..length).unwrap_or_default();
            hasher.update(bytes);
            take(bytes)?;
        }
        let found = hasher.finish().get(algorithm);
        if found == Some(digest) {
            return Ok(());
        }
        let found = crate::error::shown(found.as_ref());
        Err(OcflError::Content { path, algorithm, expected: digest.to_hex(), found }.into())
    }

    /// The bytes up to a length, which are not compared with the digest: for an inspection of the beginning.
    pub fn beginning(&self, length: u64) -> Result<Vec<u8>, OcflError> {
        let mut bytes = Vec::new();
        (&self.file).take(length).read_to_end(&mut bytes).map_err(|error| failed("read", &self.path, error))?;
        Ok(bytes)
    }
}

/// An error about an inventory, with where it is.
fn located(error: OcflError, place: &Path) -> OcflError {
    let what = place.display().to_string();
    match error {
        OcflError::Inventory { code, message, .. } => OcflError::Inventory { code, what, message },
        OcflError::Json { offset, reason } => {
            let message = format!("not a readable JSON document, at byte {offset}: {reason}");
            OcflError::Inventory { code: "E033", what, message }
        }
        other => other,
    }
}
