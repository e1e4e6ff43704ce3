//! Uploads in receiving stores.

use serde::Serialize;
use strongroom_registry::{ItemId, Part, Stage, Time, UploadId, UploadState};

use crate::receiving::UploadReport;

/// An upload.
#[derive(Debug, Clone, Serialize)]
pub struct UploadView {
    /// Its identifier.
    pub upload: UploadId,
    /// The domain name of its institution.
    pub institution: String,
    /// The store it lies in.
    pub store: String,
    /// Its key, with a slash at the end for a folder.
    pub key: String,
    /// What became of it.
    pub state: UploadState,
    /// What it waits for, or why it stays.
    pub note: Option<String>,
    /// The latest work item made of it.
    pub item: Option<ItemId>,
    /// The collection that it is for.
    pub collection: Option<String>,
    /// Where its work item is.
    pub stage: Option<Stage>,
    /// Which part of its object it is, by its name.
    pub part: Option<u64>,
    /// Of how many.
    pub parts: Option<u64>,
    /// Bytes.
    pub size: u64,
    /// The etag, or a digest over those of a folder.
    pub etag: String,
    /// When it was first seen under this name.
    pub first_seen_at: String,
    /// When it was last seen to change.
    pub changed_at: String,
    /// When it will have settled, unless it changes.
    pub settles_at: Option<String>,
    /// When it will be removed, where that is so.
    pub remove_after: Option<String>,
    /// When the notice of that was delivered.
    pub warned_at: Option<String>,
}

impl From<UploadReport> for UploadView {
    fn from(upload: UploadReport) -> Self {
        let text = |time: Option<Time>| time.map(|time| time.to_string());
        Self {
            upload: upload.upload,
            institution: upload.institution,
            store: upload.store,
            key: upload.key,
            state: upload.state,
            note: upload.note,
            item: upload.item,
            collection: upload.collection,
            stage: upload.stage,
            part: upload.part.map(Part::number),
            parts: upload.part.map(Part::total),
            size: upload.size,
            etag: upload.etag,
            first_seen_at: upload.first_seen_at.to_string(),
            changed_at: upload.changed_at.to_string(),
            settles_at: text(upload.settles_at),
            remove_after: text(upload.remove_after),
            warned_at: text(upload.warned_at),
        }
    }
}
