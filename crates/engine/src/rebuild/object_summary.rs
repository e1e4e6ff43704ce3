//! A first inspection of an object in a store: its root inventory is read once, which proves it against its sidecar
//! and says which object and version it is of.

use std::io::Read as _;

use strongroom_digest::{Algorithm, Digest, HashingReader};
use strongroom_ocfl::{Limits, object_id, read_inventory};
use strongroom_registry::GenerationId;
use strongroom_storage::{Key, Store};

use super::RebuildError;

/// No sidecar is near this long.
const SIDECAR: u64 = 1_024;

/// What a root inventory says of its object.
#[derive(Debug, Clone, Copy)]
pub(super) struct ObjectSummary {
    /// SHA-512 of the inventory.
    pub(super) inventory: Digest,
    /// The generation of the object.
    pub(super) generation: GenerationId,
    /// The latest version.
    pub(super) head: u64,
}

pub(super) fn look(store: &dyn Store, root: &Key) -> Result<ObjectSummary, RebuildError> {
    let key = root.join("inventory.json")?;
    let mut hashing = HashingReader::new(store.open(&key, 0, None)?, &[Algorithm::Sha512]);
    let header = read_inventory(&mut hashing, Limits::default(), &mut |_| Ok(()))?.header;
    std::io::copy(&mut hashing, &mut std::io::sink()).map_err(|error| unreadable(&key, &error))?;
    let inventory = hashing.finish().1.get(Algorithm::Sha512);
    let inventory = inventory.ok_or_else(|| RebuildError::Object(format!("the sha512 of {key} was not computed")))?;
    check_sidecar(store, root, &key, &inventory)?;
    let generation = header.id.strip_prefix("urn:uuid:").and_then(|id| id.parse::<GenerationId>().ok());
    match generation {
        Some(generation) if object_id(&generation.to_string())? == header.id => {
            Ok(ObjectSummary { inventory, generation, head: u64::from(header.head.number()) })
        }
        _ => Err(RebuildError::Object(format!("its id {:?} is none that this program gives", header.id))),
    }
}

/// The SHA-512 of an inventory, which its sidecar must state.
pub(super) fn checked_inventory(store: &dyn Store, directory: &Key) -> Result<Digest, RebuildError> {
    let key = directory.join("inventory.json")?;
    let mut hashing = HashingReader::new(store.open(&key, 0, None)?, &[Algorithm::Sha512]);
    std::io::copy(&mut hashing, &mut std::io::sink()).map_err(|error| unreadable(&key, &error))?;
    let digest = hashing.finish().1.get(Algorithm::Sha512);
    let digest = digest.ok_or_else(|| RebuildError::Object(format!("the sha512 of {key} was not computed")))?;
    check_sidecar(store, directory, &key, &digest)?;
    Ok(digest)
}

fn check_sidecar(store: &dyn Store, directory: &Key, inventory: &Key, digest: &Digest) -> Result<(), RebuildError> {
    let sidecar = directory.join("inventory.json.sha512")?;
    let mut text = String::new();
    let body = store.open(&sidecar, 0, Some(SIDECAR))?;
    body.take(SIDECAR).read_to_string(&mut text).map_err(|error| unreadable(&sidecar, &error))?;
    if text.split_whitespace().next() != Some(digest.to_hex().as_str()) {
        return Err(RebuildError::Object(format!("{inventory} has sha512:{digest}, its sidecar says another")));
    }
    Ok(())
}

pub(super) fn unreadable(key: &Key, error: &std::io::Error) -> RebuildError {
    RebuildError::Object(format!("could not read {key}: {error}"))
}
