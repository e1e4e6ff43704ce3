//! What became of uploads: how their work items ended, which of them are removed and when, and who is warned of it. An upload
//! that is wrong stays for a while; one that failed for other reasons, or that a person cancelled, stays until somebody
//! takes it away.

use std::time::Duration;

use strongroom_registry::items::{self, Item};
use strongroom_registry::receiving::{self as record, Due, Fate, Upload};
use strongroom_registry::{ItemStatus, RegistryError, Scope, Time, Transaction, UploadId, UploadState, interim};

use super::removal;
use super::watch::Watched;
use crate::event::Event;
use crate::runtime::Shutdown;
use crate::{EngineError, Home};

/// Uploads looked at at once.
const PAGE: usize = 200;

/// Follows up on every upload for which something is due.
pub(super) fn follow(home: &Home, stop: &Shutdown, watched: &mut Watched) -> Result<(), EngineError> {
    let retention = micros(home.settings.receiving.invalid_retention);
    let notice = micros(home.settings.receiving.warn_before).min(retention);
    let now = home.registry.read(|tx| Ok::<_, RegistryError>(tx.now()?))?;
    for_each(home, stop, Due::Reopened, &mut |upload| decide(home, upload.id, retention))?;
    for_each(home, stop, Due::Ended, &mut |upload| decide(home, upload.id, retention))?;
    for_each(home, stop, Due::Warning(now.plus(notice)), &mut |upload| warn(home, upload, notice))?;
    let warned_by = Time(now.0.saturating_sub(notice));
    for_each(home, stop, Due::Expiry(now, warned_by), &mut |upload| {
        let days = home.settings.receiving.invalid_retention.as_secs() / 86_400;
        let note = format!("removed after {days} days because it was not valid");
        begin_removal(home, upload, &note)
    })?;
    for_each(home, stop, Due::Removal, &mut |upload| {
        let Some(item) = upload.item else { return Ok(()) };
        begin_removal(home, upload, upload.note.as_deref().unwrap_or_default())?;
        let was_there = removal::remove(home, upload, item)?;
        removal::end(home, upload, was_there)?;
        watched.removed += u64::from(was_there);
        Ok(())
    })
}

fn micros(span: Duration) -> i64 {
    i64::try_from(span.as_micros()).unwrap_or(i64::MAX)
}

fn for_each(
    home: &Home,
    stop: &Shutdown,
    due: Due,
    act: &mut dyn FnMut(&Upload) -> Result<(), EngineError>,
) -> Result<(), EngineError> {
    let mut after = None;
    loop {
        let page = home.registry.read(|tx| record::due(tx, due, after, PAGE))?;
        let Some(last) = page.last() else { return Ok(()) };
        after = Some(last.id);
        for upload in &page {
            if stop.is_requested() {
                return Ok(());
            }
            act(upload)?;
        }
    }
}

/// Decides anew by how the upload's work item stands.
fn decide(home: &Home, id: UploadId, retention: i64) -> Result<(), EngineError> {
    Ok(home.registry.write(move |tx| {
        let Some(upload) = record::get(tx, Scope::System, id)? else { return Ok(()) };
        let is_undecided = matches!(
            upload.state,
            UploadState::Submitted | UploadState::Failed | UploadState::Invalid | UploadState::Cancelled
        );
        let Some(item) = upload.item.filter(|_| is_undecided) else { return Ok(()) };
        let Some(item) = items::get(tx, Scope::System, item)? else { return Ok(()) };
        let fate = fate_by(tx, &item, retention)?;
        record::decide(tx, id, &fate)
    })?)
}

fn fate_by(tx: &mut dyn Transaction, item: &Item, retention: i64) -> Result<Fate, RegistryError> {
    let note = item.note.clone().unwrap_or_default();
    Ok(match item.status {
        ItemStatus::Pending | ItemStatus::Started | ItemStatus::Held => Fate::new(UploadState::Submitted, ""),
        ItemStatus::Succeeded => Fate::new(UploadState::Published, note),
        ItemStatus::Cancelled | ItemStatus::Deleted => Fate::new(UploadState::Cancelled, note),
        ItemStatus::Failed if record::has_errors(tx, item.id)? => {
            // From now on, not from when it failed: nobody could read of it while nothing ran.
            let remove_after = Some(tx.now()?.plus(retention));
            Fate { remove_after, ..Fate::new(UploadState::Invalid, note) }
        }
        ItemStatus::Failed => Fate::new(UploadState::Failed, note),
    })
}

/// Warns the institution that an invalid upload is about to be removed. That is done at least `notice` after the warning.
fn warn(home: &Home, upload: &Upload, notice: i64) -> Result<(), EngineError> {
    let id = upload.id;
    let warned = home.registry.write(move |tx| {
        let Some(upload) = record::get(tx, Scope::System, id)? else { return Ok(None) };
        let (UploadState::Invalid, None, Some(item), Some(due)) =
            (upload.state, upload.warned_at, upload.item, upload.remove_after)
        else {
            return Ok(None);
        };
        let now = tx.now()?;
        let remove_after = due.max(now.plus(notice));
        let fate = Fate {
            remove_after: Some(remove_after),
            warned_at: Some(now),
            ..Fate::new(UploadState::Invalid, upload.note.clone().unwrap_or_default())
        };
        record::decide(tx, id, &fate)?;
        let payload = serde_json::json!({
            "upload": upload.id,
            "store": upload.store,
            "key": upload.key,
            "item": item,
            "note": upload.note,
            "remove_after": remove_after.to_string(),
        })
        .to_string();
        let key = format!("removal of {id} {}", upload.etag);
        interim::put_out(tx, upload.institution, item, &key, "upload_expires", &payload)?;
        Ok::<_, RegistryError>(Some(remove_after))
    })?;
    if let Some(remove_after) = warned {
        let (store, key, date) = (&upload.store, &upload.key, remove_after.to_string());
        Event::UploadExpires { store, key, remove_after: &date }.emit();
    }
    Ok(())
}

/// Begins the removal of what was taken in or not valid, unless somebody took it up again.
fn begin_removal(home: &Home, upload: &Upload, note: &str) -> Result<(), EngineError> {
    let (id, etag, note) = (upload.id, upload.etag.clone(), note.to_owned());
    Ok(home.registry.write(move |tx| {
        let Some(upload) = record::get(tx, Scope::System, id)? else { return Ok(()) };
        let Some(item) = upload.item else { return Ok(()) };
        let status = items::get(tx, Scope::System, item)?.map(|item| item.status);
        let is_over = match upload.state {
            UploadState::Invalid => status == Some(ItemStatus::Failed),
            UploadState::Published => status == Some(ItemStatus::Succeeded),
            _ => false,
        };
        if is_over && upload.etag == etag {
            record::decide(tx, id, &Fate::new(UploadState::Removing, note.clone()))?;
        }
        Ok::<_, RegistryError>(())
    })?)
}
