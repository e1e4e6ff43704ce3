//! Whether two bags hold the same files, byte for byte, however they are packed.

use std::collections::BTreeMap;
use std::path::Path;

use strongroom_bagit::{Limits, Source};
use strongroom_digest::{Algorithm, Digest, hash_reader};

use crate::failure::Failure;

/// How many files both bags have, or the first that differs.
pub(super) fn compare(left: &Path, right: &Path) -> Result<Result<usize, String>, Failure> {
    let (left, right) = (contents(left)?, contents(right)?);
    let differs = left.iter().find(|(path, digest)| right.get(*path) != Some(digest));
    let added = right.keys().find(|path| !left.contains_key(*path));
    Ok(match differs.map(|(path, _)| path).or(added) {
        Some(path) => Err(path.clone()),
        None => Ok(left.len()),
    })
}

/// The SHA-512 of every file.
fn contents(bag: &Path) -> Result<BTreeMap<String, Option<Digest>>, Failure> {
    let mut found = BTreeMap::new();
    Source::open(bag)?.scan(&Limits::default(), &mut |entry, reader| {
        let (_, digests) = hash_reader(reader, &[Algorithm::Sha512])?;
        found.insert(entry.path.clone(), digests.get(Algorithm::Sha512));
        Ok(())
    })?;
    Ok(found)
}
