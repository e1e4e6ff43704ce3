//! A version as it is made and kept, and what it is made of.

use jiff::Timestamp;
use strongroom_database::Time;
use strongroom_digest::Digest;

use super::{ContentId, FileId, Format, GenerationId, ItemId, ObjectId, Origin, VersionId, VersionState};
use crate::{Description, Digests};

/// A version as it stands.
#[derive(Debug, Clone)]
pub struct Version {
    /// Its identifier.
    pub id: VersionId,
    /// The object.
    pub object: ObjectId,
    /// The generation it is of.
    pub generation: GenerationId,
    /// From 1, within the generation.
    pub number: u64,
    /// Where it is.
    pub state: VersionState,
    /// The work item that makes or made it.
    pub item: Option<ItemId>,
    /// Why it was made, in words.
    pub message: String,
    /// Who had it made.
    pub user: String,
    /// SHA-512 of its inventory, once it is being committed.
    pub inventory: Option<Digest>,
    /// What the object is from it on.
    pub description: Description,
    /// Files that people see at it.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// When it was begun.
    pub created_at: Time,
    /// When readers first saw it.
    pub published_at: Option<Time>,
    /// Whether the contents it brings lie under its identifier in the stores.
    pub owns_contents: bool,
    /// The first line of its record, as it was first written; until it is published.
    pub record_head: Option<String>,
    /// When its last byte was removed, where it was discarded.
    pub swept_at: Option<Time>,
}

/// Where a content lies within its object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ContentPlace {
    /// The number of the version whose folder holds it.
    pub version: u64,
    /// The version under whose identifier it lies; none where it lies directly in the folder `content`.
    pub owner: Option<VersionId>,
}

impl Version {
    /// Where a content lies that this version brings.
    pub fn place(&self) -> ContentPlace {
        ContentPlace { version: self.number, owner: self.owns_contents.then_some(self.id) }
    }
}

/// A file that gets a content with a version.
#[derive(Debug, Clone)]
pub struct NewEntry {
    /// The file, made when there is none of this identifier.
    pub file: FileId,
    /// Its logical path.
    pub path: String,
    /// When it was last modified, by the depositor's word.
    pub modified: Option<Timestamp>,
    /// The content it gets.
    pub content: ContentId,
    /// What it is.
    pub format: Format,
}

/// A content that a version brings.
#[derive(Debug, Clone)]
pub struct NewContent {
    /// Fixed by the caller; not used where the generation has these bytes already.
    pub id: ContentId,
    /// Bytes.
    pub size: u64,
    /// All four.
    pub digests: Digests,
}

/// What a version is made of and for.
#[derive(Debug, Clone)]
pub struct NewVersion<'a> {
    /// The object.
    pub object: ObjectId,
    /// The generation.
    pub generation: GenerationId,
    /// One more than the head.
    pub number: u64,
    /// Why it is made.
    pub message: &'a str,
    /// Who has it made.
    pub user: &'a str,
    /// What it was harvested from; none where it was not harvested.
    pub harvested_from: Option<&'a Origin>,
    /// What the object is from it on.
    pub description: &'a Description,
}
