//! Versions of objects.

use serde::Serialize;
use strongroom_registry::versions::Version;
use strongroom_registry::{ItemId, Part, VersionState};

/// A version.
#[derive(Debug, Clone, Serialize)]
pub struct VersionView {
    /// Its number, from 1.
    pub version: u64,
    /// Where it is.
    pub state: VersionState,
    /// Why it was made, in words.
    pub message: String,
    /// Who had it made.
    pub user: String,
    /// The work item that made it.
    pub item: Option<ItemId>,
    /// Which part of its object came with it, where that comes in parts.
    pub part: Option<u64>,
    /// Of how many.
    pub parts: Option<u64>,
    /// SHA-512 of its inventory.
    pub inventory_sha512: Option<String>,
    /// Files that people see at it.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// When it was begun.
    pub created_at: String,
    /// When readers first saw it.
    pub published_at: Option<String>,
}

impl From<Version> for VersionView {
    fn from(version: Version) -> Self {
        Self {
            version: version.number,
            state: version.state,
            message: version.message,
            user: version.user,
            item: version.item,
            part: version.description.part.map(Part::number),
            parts: version.description.part.map(Part::total),
            inventory_sha512: version.inventory.map(|digest| digest.to_hex()),
            files: version.files,
            bytes: version.bytes,
            created_at: version.created_at.to_string(),
            published_at: version.published_at.map(|time| time.to_string()),
        }
    }
}
