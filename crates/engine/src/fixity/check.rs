//! Inspecting one copy: read and hashed where it can be read, else what the store says of it. It changes nothing.

use std::io;

use strongroom_digest::{Algorithm, Digest, hash_reader};
use strongroom_registry::fixity::WatchedCopy;
use strongroom_storage::{Head, Key, StorageError, Store};

use super::{GoOn, OperationError};
use crate::EngineError;
use crate::interruptible::Interruptible;

/// What lies under a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum StoredBytes {
    /// The right bytes.
    Right,
    /// Not to be read now; size, and checksum where the store has one, are right.
    Attested { size: u64, class: String },
    /// Other bytes.
    Wrong(Wrong),
    /// Nothing.
    Missing,
}

/// Bytes that are not the right ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Wrong {
    /// Their size.
    pub(super) size: u64,
    /// Their digest; none where they could not be read.
    pub(super) sha512: Option<Digest>,
    /// The store's etag of them.
    pub(super) etag: String,
    /// Why the medium cannot read them, where it tried and failed.
    pub(super) unreadable: Option<String>,
}

/// Inspects a copy.
pub(super) fn look(store: &dyn Store, copy: &WatchedCopy, go_on: &GoOn<'_>) -> Result<StoredBytes, OperationError> {
    let key = Key::new(copy.key.as_str()).map_err(StorageError::from)?;
    // A plain store need not be asked first: what cannot be opened there is not there.
    let head = match store.head(&key) {
        Ok(head) => head,
        Err(error) if error.is_absent() => return Ok(StoredBytes::Missing),
        Err(error) => return Err(error.into()),
    };
    if !head.readable {
        return Ok(attest(&head, copy));
    }
    let (size, sha512) = match read(store, &key, go_on) {
        Ok(found) => found,
        Err(OperationError::Engine(EngineError::Storage(error))) if error.is_absent() => {
            return Ok(StoredBytes::Missing);
        }
        Err(OperationError::Engine(EngineError::Storage(error))) if is_unreadable(&error) => {
            let unreadable = Some(medium_says(&error));
            return Ok(StoredBytes::Wrong(Wrong { size: head.size, sha512: None, etag: head.etag, unreadable }));
        }
        Err(halt) => return Err(halt),
    };
    let is_right = size == copy.size && sha512 == copy.sha512;
    let wrong = || Wrong { size, sha512: Some(sha512), etag: head.etag, unreadable: None };
    Ok(if is_right { StoredBytes::Right } else { StoredBytes::Wrong(wrong()) })
}

/// Whether the medium itself gave up on these bytes (`EIO`): everything else says nothing about them.
pub(crate) fn is_unreadable(error: &StorageError) -> bool {
    let (StorageError::Io { source, .. } | StorageError::Source { source, .. }) = error else { return false };
    is_unreadable_source(source)
}

/// The same of an error of reading.
pub(crate) fn is_unreadable_source(error: &io::Error) -> bool {
    error.raw_os_error() == Some(rustix::io::Errno::IO.raw_os_error())
}

/// What the medium said when it could not read.
pub(super) fn medium_says(error: &StorageError) -> String {
    match error {
        StorageError::Io { source, .. } | StorageError::Source { source, .. } => source.to_string(),
        other => other.to_string(),
    }
}

/// Whether what a store says of bytes that it does not give out agrees with the record: their size, and the digest of the whole
/// that it keeps. None where it keeps no digest to compare.
pub(crate) fn vouched(head: &Head, size: u64, sha512: Digest, sha256: Option<Digest>) -> Option<bool> {
    let is_right = match head.checksum {
        Some((Algorithm::Sha512, digest)) => digest == sha512,
        Some((Algorithm::Sha256, digest)) => sha256 == Some(digest),
        _ => return None,
    };
    Some(is_right && head.size == size)
}

/// Compares what the store says of a copy, which is not read, with the record. What came in parts and has no digest of the whole
/// is attested by its size.
fn attest(head: &Head, copy: &WatchedCopy) -> StoredBytes {
    let is_right = vouched(head, copy.size, copy.sha512, Some(copy.sha256)).unwrap_or(head.size == copy.size);
    if is_right {
        return StoredBytes::Attested { size: head.size, class: head.class.clone().unwrap_or_default() };
    }
    let sha512 = head.checksum.filter(|(algorithm, _)| *algorithm == Algorithm::Sha512).map(|(_, digest)| digest);
    StoredBytes::Wrong(Wrong { size: head.size, sha512, etag: head.etag.clone(), unreadable: None })
}

/// Size and SHA-512 of what lies under a key.
pub(crate) fn read(store: &dyn Store, key: &Key, go_on: &GoOn<'_>) -> Result<(u64, Digest), OperationError> {
    let body = store.open(key, 0, None)?;
    let (size, digests) =
        hash_reader(Interruptible::new(body, go_on), &[Algorithm::Sha512]).map_err(|source| match go_on.check() {
            Err(interrupted) => OperationError::Interrupted(interrupted),
            Ok(()) => OperationError::from(StorageError::Io {
                store: store.name().to_owned(),
                act: "read",
                key: key.clone(),
                source,
            }),
        })?;
    let sha512 = digests.get(Algorithm::Sha512);
    let sha512 = sha512.ok_or_else(|| EngineError::Usage("sha512 was not computed".into()))?;
    Ok((size, sha512))
}

#[cfg(test)]
mod tests {
    use strongroom_digest::hash_reader;
    use strongroom_registry::{ContentId, CopyState, InstitutionId, ObjectId, Time};

    use super::*;

    fn digest(bytes: &[u8], algorithm: Algorithm) -> Digest {
        hash_reader(bytes, &[algorithm]).expect("reads").1.get(algorithm).expect("computed")
    }

    fn copy_of(bytes: &[u8]) -> WatchedCopy {
        WatchedCopy {
            content: ContentId::new(),
            object: ObjectId::new(),
            institution: InstitutionId::new(),
            institution_identifier: "example.edu".into(),
            store: "deep".into(),
            key: "example.edu/a".into(),
            class: Some("GLACIER".into()),
            state: CopyState::Kept,
            checked_at: Time(0),
            sha512: digest(bytes, Algorithm::Sha512),
            size: bytes.len() as u64,
            sha256: digest(bytes, Algorithm::Sha256),
        }
    }

    #[test]
    fn a_cold_copy_is_attested_by_whichever_digest_its_store_vouches_for() {
        let copy = copy_of(b"right");
        let head = |size: u64, checksum| Head {
            size,
            etag: String::new(),
            class: Some("GLACIER".into()),
            readable: false,
            checksum,
        };
        for algorithm in [Algorithm::Sha512, Algorithm::Sha256] {
            let right = head(5, Some((algorithm, digest(b"right", algorithm))));
            assert!(matches!(attest(&right, &copy), StoredBytes::Attested { size: 5, .. }), "{algorithm}");
            let wrong = head(5, Some((algorithm, digest(b"wrong", algorithm))));
            assert!(matches!(attest(&wrong, &copy), StoredBytes::Wrong(_)), "{algorithm}");
        }
        assert!(matches!(attest(&head(5, None), &copy), StoredBytes::Attested { .. }));
        assert!(matches!(attest(&head(6, None), &copy), StoredBytes::Wrong(_)));
    }
}
