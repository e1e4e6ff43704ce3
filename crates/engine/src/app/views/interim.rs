//! What is known of a work item that has not succeeded: what it has in staging, of downloads, and what its stages found out.

use serde::Serialize;
use strongroom_registry::interim::{InterimFile, ShownFact};
use strongroom_registry::{Decision, ItemId, ItemStatus, Stage};

use super::DigestsView;

/// What a work item has on its way, without its files.
#[derive(Debug, Clone, Serialize)]
pub struct InterimView {
    /// The item.
    pub item: ItemId,
    /// The stage it is at.
    pub stage: Stage,
    /// Where it is.
    pub status: ItemStatus,
    /// The store that staged files lie in.
    pub store: String,
    /// The beginning of their keys; none where nothing is staged.
    pub place: Option<String>,
    /// Bytes of staging that are reserved for the item.
    pub reserved: u64,
    /// Staged files.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Payload files of a bag among them.
    pub payload_files: u64,
    /// Files at paths that the object does not have, where the deposit was compared with it.
    pub new: u64,
    /// Files whose bytes differ from those that are kept.
    pub changed: u64,
    /// Files that the new version does not have any more.
    pub removed: u64,
    /// The folder with downloads that are kept on their way; none where there are none on this machine.
    pub downloads: Option<String>,
    /// Files of downloads.
    pub download_files: u64,
    /// Their bytes.
    pub download_bytes: u64,
    /// Until when all of this is kept, in words.
    pub kept: String,
    /// The same as a time, where it is known.
    pub kept_until: Option<String>,
    /// What the stages recorded, by name.
    pub facts: Vec<FactView>,
}

/// What a stage recorded.
#[derive(Debug, Clone, Serialize)]
pub struct FactView {
    /// Its name.
    pub name: String,
    /// The beginning of its value.
    pub value: String,
    /// How many characters the whole value has.
    pub length: u64,
}

/// A staged file.
#[derive(Debug, Clone, Serialize)]
pub struct InterimFileView {
    /// Its path in the package.
    pub path: String,
    /// Bytes.
    pub size: u64,
    /// Its digests.
    pub digests: DigestsView,
    /// When it was last modified, as the package says.
    pub modified: Option<String>,
    /// The key in the staging store under which its bytes lie.
    pub key: String,
    /// From which byte on: small files lie in one key together.
    pub offset: u64,
    /// The PRONOM identifier of its format.
    pub puid: Option<String>,
    /// The MIME type of that format.
    pub mime: Option<String>,
    /// What the comparison with the object found.
    pub decision: Option<Decision>,
}

impl From<ShownFact> for FactView {
    fn from(fact: ShownFact) -> Self {
        Self { name: fact.name, value: fact.value, length: fact.length }
    }
}

impl From<InterimFile> for InterimFileView {
    fn from(file: InterimFile) -> Self {
        Self {
            path: file.path,
            size: file.size,
            digests: file.digests.into(),
            modified: file.modified.map(|time| time.to_string()),
            key: file.staging_key,
            offset: file.staging_offset,
            puid: file.format.puid,
            mime: file.format.mime,
            decision: file.decision,
        }
    }
}
