//! What is shown of uploads: what waits and why, and what became of it.

use strongroom_registry::items::{self, Item};
use strongroom_registry::receiving::{self as record, Upload};
use strongroom_registry::{ItemId, Part, RegistryError, Scope, Stage, Time, Transaction, UploadId, UploadState};

use super::upload::ReceivingKey;
use crate::ingest::bag_part;
use crate::{EngineError, Home};

/// An upload, for people.
#[derive(Debug, Clone)]
pub struct UploadReport {
    /// Its identifier in records.
    pub upload: UploadId,
    /// Whose it is.
    pub institution: String,
    /// The store it lies in.
    pub store: String,
    /// Its key; with a slash at the end for a folder.
    pub key: String,
    /// Bytes.
    pub size: u64,
    /// The etag, or a digest over those of a folder.
    pub etag: String,
    /// What became of it.
    pub state: UploadState,
    /// What it waits for, or why it stays.
    pub note: Option<String>,
    /// The latest work item made of it.
    pub item: Option<ItemId>,
    /// The collection that it is for.
    pub collection: Option<String>,
    /// Where that item is.
    pub stage: Option<Stage>,
    /// Which part of its object it is, by its name.
    pub part: Option<Part>,
    /// When it was first seen under this name.
    pub first_seen_at: Time,
    /// When it was last seen to change.
    pub changed_at: Time,
    /// When it will have settled, unless it changes.
    pub settles_at: Option<Time>,
    /// When it will be removed, where that is so.
    pub remove_after: Option<Time>,
    /// When the notice of that was delivered.
    pub warned_at: Option<Time>,
}

/// Uploads in order of their first sight, after `after`; also those that no longer lie there when `gone_too`.
pub fn list(
    home: &Home,
    scope: Scope,
    gone_too: bool,
    after: Option<UploadId>,
    limit: usize,
) -> Result<Vec<UploadReport>, EngineError> {
    Ok(home.registry.read(|tx| {
        let uploads = record::list(tx, scope, gone_too, after, limit)?;
        uploads.into_iter().map(|upload| report(home, tx, upload)).collect::<Result<Vec<_>, RegistryError>>()
    })?)
}

/// One upload.
pub fn show(home: &Home, scope: Scope, id: UploadId) -> Result<UploadReport, EngineError> {
    let found = home.registry.read(|tx| {
        let upload = record::get(tx, scope, id)?;
        upload.map(|upload| report(home, tx, upload)).transpose()
    })?;
    found.ok_or_else(|| EngineError::NotFound { what: "upload", name: id.to_string(), hint: String::new() })
}

fn report(home: &Home, tx: &mut dyn Transaction, upload: Upload) -> Result<UploadReport, RegistryError> {
    let item = match upload.item {
        Some(item) => items::get(tx, Scope::System, item)?,
        None => None,
    };
    let quiet_period = i64::try_from(home.settings.receiving.quiet_period.as_micros()).unwrap_or(i64::MAX);
    let settles_at = (upload.state == UploadState::Settling).then(|| upload.changed_at.plus(quiet_period));
    let source = ReceivingKey { store: upload.store.clone(), key: upload.key.clone() };
    Ok(UploadReport {
        upload: upload.id,
        part: bag_part(source.file_name()).unwrap_or_default(),
        note: note(&upload, item.as_ref()),
        stage: item.as_ref().map(|item| item.stage),
        collection: item.and_then(|item| item.collection_identifier),
        institution: upload.institution_identifier,
        store: upload.store,
        key: upload.key,
        size: upload.size,
        etag: upload.etag,
        state: upload.state,
        item: upload.item,
        first_seen_at: upload.first_seen_at,
        changed_at: upload.changed_at,
        settles_at,
        remove_after: upload.remove_after,
        warned_at: upload.warned_at,
    })
}

/// What an upload that is worked on waits for is what its item says.
fn note(upload: &Upload, item: Option<&Item>) -> Option<String> {
    match upload.state {
        UploadState::Settling => Some("waits until it no longer changes (quiet period)".to_owned()),
        UploadState::Submitted => item.and_then(|item| item.note.clone()),
        _ => upload.note.clone(),
    }
}
