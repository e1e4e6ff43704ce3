//! Everything that can go wrong with an OCFL object or storage root, in one place.

use std::io;
use std::path::PathBuf;

use strongroom_digest::{Algorithm, Digest};
use strongroom_storage::{Key, KeyError, StorageError};

/// Why an OCFL object could not be read, written or changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OcflError {
    /// The store failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// A text is not a key of a store.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// Bytes could not be read or written outside a store (an inventory, a scratch file).
    #[error("could not {act}")]
    Io {
        /// What was tried.
        act: &'static str,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// An inventory is not JSON, or exceeds a limit.
    #[error("not a readable JSON document, at byte {offset}: {reason}")]
    Json {
        /// Where, in bytes from the start.
        offset: u64,
        /// What is wrong there.
        reason: &'static str,
    },
    /// An inventory breaks a rule of the specification.
    #[error("{what}: {message} ({code})")]
    Inventory {
        /// The validation code of the specification, such as `E050`.
        code: &'static str,
        /// Which inventory.
        what: String,
        /// What is wrong with it.
        message: String,
    },
    /// A caller wanted something written that has no place in an inventory, an object or a storage root.
    #[error("{value:?} cannot be written as {what}: {reason}")]
    Unwritable {
        /// What it was meant to be.
        what: &'static str,
        /// What was given.
        value: String,
        /// Why not.
        reason: &'static str,
    },
    /// The storage root is not one that this program made, or its layout is not one that it knows.
    #[error("storage root {key:?} in store {store}: {reason}")]
    Root {
        /// The store.
        store: String,
        /// The storage root.
        key: Key,
        /// What is wrong.
        reason: String,
    },
    /// The root inventory in the store is neither the one expected nor the one to be written.
    #[error("object {key} in store {store}: the root inventory is {found}, expected was {expected}")]
    Head {
        /// The store.
        store: String,
        /// The object root.
        key: Key,
        /// Digest of what should be there, or `absent`.
        expected: String,
        /// Digest of what is there, or `absent`.
        found: String,
    },
    /// Bytes read back from a store differ from what was put.
    #[error("store {store}: {key} was read back as {found}, written was {written}")]
    ReadBack {
        /// The store.
        store: String,
        /// The key.
        key: Key,
        /// Digest of what was written.
        written: String,
        /// Digest of what was read, or `absent`.
        found: String,
    },
    /// What was to be abandoned is named by an inventory that lies in its place.
    #[error(
        "store {store}: {key} names contents under {id}, so they were published and are not removed; next: import \
         what the store has with \"strongroom rebuild --adopt\""
    )]
    Published {
        /// The store.
        store: String,
        /// The inventory.
        key: Key,
        /// The id of the assembly.
        id: String,
    },
    /// A file or directory of the disk could not be read.
    #[error("could not {act} {}", path.display())]
    Local {
        /// What was tried.
        act: &'static str,
        /// On what.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// A directory is neither a storage root nor an object.
    #[error("{} is neither an OCFL storage root nor an object: {reason}", path.display())]
    NotOcfl {
        /// The directory.
        path: PathBuf,
        /// What is missing, and where the next storage root is.
        reason: String,
    },
    /// An object does not have what was asked for.
    #[error("there is no {what}")]
    Absent {
        /// What was asked for, and of which object.
        what: String,
    },
    /// A content is not what the inventory states.
    #[error("the {algorithm} of {} is {found}, and the inventory states {expected}", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// Which digest.
        algorithm: Algorithm,
        /// What the inventory states.
        expected: String,
        /// What was read.
        found: String,
    },
    /// The caller asked to stop.
    #[error("stopped: {reason}")]
    Stopped {
        /// Why.
        reason: String,
    },
    /// A purge cannot be planned or carried out as asked.
    #[error("object {key} in store {store} cannot be purged: {reason}")]
    Purge {
        /// The store.
        store: String,
        /// The object root.
        key: Key,
        /// Why not.
        reason: String,
    },
}

impl OcflError {
    /// Whether trying again later may succeed without anyone changing anything but free space or reachability.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Storage(error) => error.is_transient(),
            Self::Io { .. } => true,
            _ => false,
        }
    }

    /// Whether it says that a file or directory of the disk is not there.
    pub(crate) fn is_absent(&self) -> bool {
        let is_gone = |kind| matches!(kind, io::ErrorKind::NotFound | io::ErrorKind::NotADirectory);
        matches!(self, Self::Local { source, .. } if is_gone(source.kind()))
    }

    pub(crate) fn unwritable(what: &'static str, value: impl Into<String>, reason: &'static str) -> Self {
        Self::Unwritable { what, value: value.into(), reason }
    }
}

/// A digest for an error's text.
pub(crate) fn shown(digest: Option<&Digest>) -> String {
    digest.map_or_else(|| "absent".to_owned(), Digest::to_hex)
}
