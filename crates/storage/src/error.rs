//! Everything that can go wrong with a store, in one place.

use std::io;

use crate::{Key, KeyError};

/// Why a store could not do what was asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StorageError {
    /// Nothing lies under the key.
    #[error("store {store}: there is nothing at {key}")]
    NotFound {
        /// The store.
        store: String,
        /// The key.
        key: Key,
    },
    /// The put's condition was not met.
    #[error("store {store}: {key} is not as the condition of the put requires ({condition})")]
    Condition {
        /// The store.
        store: String,
        /// The key.
        key: Key,
        /// What was demanded.
        condition: String,
    },
    /// The bytes given do not have the digest or length that was declared.
    #[error("store {store}: the bytes for {key} have {found}, declared was {declared}")]
    Mismatch {
        /// The store.
        store: String,
        /// The key.
        key: Key,
        /// What was declared.
        declared: String,
        /// What the bytes have.
        found: String,
    },
    /// The caller's reader failed, not the store.
    #[error("store {store}: the source of {key} could not be read")]
    Source {
        /// The store.
        store: String,
        /// The key.
        key: Key,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// What lies under the key cannot be read before it is restored from its storage class.
    #[error("store {store}: {key} is in {} and has to be retrieved before it can be read", cold(class.as_deref()))]
    NotReadable {
        /// The store.
        store: String,
        /// The key.
        key: Key,
        /// The storage class, where the store told.
        class: Option<String>,
    },
    /// What lies under the key is another content, or a newer one, than the caller knows.
    #[error("store {store}: {key} has changed: it no longer has the etag {etag}; read it again")]
    Changed {
        /// The store.
        store: String,
        /// The key.
        key: Key,
        /// The etag that the caller knows.
        etag: String,
    },
    /// What lies under the key is in an archived storage class, in which it cannot be changed.
    #[error("store {store}: {key} cannot be changed: it is in {}, which has to be left first", cold(class.as_deref()))]
    Archived {
        /// The store.
        store: String,
        /// The key.
        key: Key,
        /// The storage class, where the store told.
        class: Option<String>,
    },
    /// Something lies where the key or a folder above it would have to be.
    #[error("store {store}: {key} cannot be stored there: {what}")]
    InTheWay {
        /// The store.
        store: String,
        /// The key.
        key: Key,
        /// What lies where.
        what: &'static str,
    },
    /// The store forbids the removal: a retention or a legal hold of the service. People have to end it, or to wait for its end.
    #[error("store {store}: {key} cannot be removed: {reason}")]
    Held {
        /// The store.
        store: String,
        /// The key.
        key: Key,
        /// What the store says, or until when it forbids it.
        reason: String,
    },
    /// The store's disk or service failed.
    #[error("store {store}: could not {act} {}", shown(key))]
    Io {
        /// The store.
        store: String,
        /// What was tried.
        act: &'static str,
        /// On what.
        key: Key,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The store as a whole cannot be used now. It says nothing of what lies in it.
    #[error("store {store} is away: {reason}")]
    Away {
        /// The store.
        store: String,
        /// Why, and what to do.
        reason: String,
    },
    /// A text is not a key.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// The store is not what the settings say, or cannot be used as a store.
    #[error("store {store}: {reason}")]
    Unusable {
        /// The store.
        store: String,
        /// Why, and what to do.
        reason: String,
    },
}

impl StorageError {
    /// Whether trying again later may succeed without anyone changing anything but free space or reachability.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Io { source, .. } | Self::Source { source, .. } => !matches!(
                source.kind(),
                io::ErrorKind::PermissionDenied
                    | io::ErrorKind::ReadOnlyFilesystem
                    | io::ErrorKind::InvalidInput
                    | io::ErrorKind::InvalidData
                    | io::ErrorKind::InvalidFilename
                    | io::ErrorKind::NotFound
                    | io::ErrorKind::Unsupported
            ),
            Self::Away { .. } => true,
            _ => false,
        }
    }

    /// The same error, of a key below `above`.
    #[must_use]
    pub fn below(mut self, above: &Key) -> Self {
        match &mut self {
            Self::NotFound { key, .. }
            | Self::Condition { key, .. }
            | Self::Mismatch { key, .. }
            | Self::Source { key, .. }
            | Self::NotReadable { key, .. }
            | Self::Changed { key, .. }
            | Self::Archived { key, .. }
            | Self::InTheWay { key, .. }
            | Self::Held { key, .. }
            | Self::Io { key, .. } => {
                let longer = if key.is_root() { Ok(above.clone()) } else { above.join(key.as_str()) };
                // What would be too long for a key stays as it is.
                if let Ok(longer) = longer {
                    *key = longer;
                }
            }
            Self::Away { .. } | Self::Key(_) | Self::Unusable { .. } => {}
        }
        self
    }

    /// Which store is away and why, where that is the cause: also of bytes that stopped to come while they were read.
    pub fn away(&self) -> Option<(&str, &str)> {
        match self {
            Self::Away { store, reason } => Some((store, reason)),
            Self::Io { source, .. } | Self::Source { source, .. } => source.get_ref()?.downcast_ref::<Self>()?.away(),
            _ => None,
        }
    }

    /// Whether no file lies under the key that was to be read: nothing does, or what is none, such as a symbolic link.
    pub fn is_absent(&self) -> bool {
        self.is_not_found() || matches!(self, Self::InTheWay { .. })
    }

    /// Whether a store that is away is the cause.
    pub fn is_away(&self) -> bool {
        self.away().is_some()
    }

    /// Whether an archived storage class is the cause.
    pub fn is_archived(&self) -> bool {
        matches!(self, Self::Archived { .. } | Self::NotReadable { .. })
    }

    /// Whether what lies under the key has changed since the caller read its etag: also while its bytes were read.
    pub fn is_changed(&self) -> bool {
        match self {
            Self::Changed { .. } => true,
            Self::Io { source, .. } | Self::Source { source, .. } => {
                source.get_ref().and_then(|inner| inner.downcast_ref::<Self>()).is_some_and(Self::is_changed)
            }
            _ => false,
        }
    }

    /// Whether the store forbids the removal.
    pub fn is_held(&self) -> bool {
        matches!(self, Self::Held { .. })
    }

    /// Whether nothing lies under the key.
    pub fn is_not_found(&self) -> bool {
        matches!(self, Self::NotFound { .. })
    }
}

fn cold(class: Option<&str>) -> String {
    class.map_or_else(|| "an archived storage class".to_owned(), |class| format!("storage class {class}"))
}

/// The root has no text of its own.
fn shown(key: &Key) -> &str {
    if key.is_root() { "the whole store" } else { key.as_str() }
}
