//! Where things lie in a preservation store.

use strongroom_ocfl::{VersionNumber, content_path as unowned_path, owned_content_path};
use strongroom_registry::versions::ContentPlace;

use crate::EngineError;
use strongroom_digest::Digest;

/// Where a content lies relative to the root of its object: `vN/content/<version id>/<2 hex>/<sha512>`, or without the
/// identifier where it was written before content paths had one.
pub(crate) fn content_path(place: ContentPlace, sha512: &Digest) -> Result<String, EngineError> {
    let version = version_number(place.version)?;
    Ok(match place.owner {
        Some(owner) => owned_content_path(version, &owner.to_string(), sha512),
        None => unowned_path(version, sha512),
    })
}

/// The OCFL number of a version.
pub(crate) fn version_number(number: u64) -> Result<VersionNumber, EngineError> {
    let number = u32::try_from(number)
        .map_err(|_| EngineError::Usage(format!("{number} is no number of a version: at most {} can be", u32::MAX)))?;
    Ok(VersionNumber::new(number)?)
}
