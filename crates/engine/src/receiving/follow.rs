//! What became of uploads: how their work items ended, which of them are removed and when, and who is warned of it. An upload
//! that is wrong stays for a while; one that failed for other reasons, or that a person cancelled, stays until a person
//! takes it away.

use std::time::Duration;

use strongroom_registry::items::{self, Item};
use strongroom_registry::receiving::{self as record, Due, Fate, Upload};
use strongroom_registry::{ItemStatus, RegistryError, Scope, Time, Transaction, UploadId, UploadState, outbox};

use super::notice::MailStanding;
use super::watch::ScanSummary;
use super::{notice, removal};
use crate::error::Failures;
use crate::event::Event;
use crate::ingest::is_taken_in;
use crate::runtime::Shutdown;
use crate::{EngineError, Home, paging};

/// Uploads inspected at once.
const PAGE: usize = 200;

/// Follows up on every upload for which something is due. One that cannot be followed up keeps no other from it.
pub(super) fn follow(home: &Home, stop: &Shutdown, watched: &mut ScanSummary) -> Result<(), EngineError> {
    let retention = micros(home.settings.receiving.invalid_retention);
    let notice = micros(home.settings.receiving.warn_before).min(retention);
    let now = home.registry.read(|tx| Ok::<_, RegistryError>(tx.now()?))?;
    let mut turn = Turn { home, stop, failures: Failures::default() };
    turn.for_each(Due::Reopened, &mut |upload| decide(home, upload.id, retention))?;
    turn.for_each(Due::Ended, &mut |upload| decide(home, upload.id, retention))?;
    turn.for_each(Due::Warning(now.plus(notice)), &mut |upload| warn(home, upload))?;
    let warned_by = Time(now.0.saturating_sub(notice));
    turn.for_each(Due::Expiry(now, warned_by), &mut |upload| {
        if waits_for_mail(home, upload, notice)? {
            return Ok(());
        }
        let days = home.settings.receiving.invalid_retention.as_secs() / 86_400;
        let note = format!("removed after {days} days because it was not valid");
        begin_removal(home, upload, &note).map(|_| ())
    })?;
    turn.for_each(Due::Removal(now), &mut |upload| remove_due(home, upload, retention, watched))?;
    turn.failures.or(())
}

/// Removes an upload whose removal is due, where it may go.
fn remove_due(home: &Home, upload: &Upload, retention: i64, watched: &mut ScanSummary) -> Result<(), EngineError> {
    if upload.state == UploadState::Removing && stops_removal(home, upload.id, retention)? {
        return Ok(());
    }
    let item = upload.item.map(|item| home.registry.read(|tx| items::get(tx, Scope::System, item))).transpose()?;
    let Some(item) = item.flatten() else { return Ok(()) };
    if is_taken_in(item.stage) {
        // What was not valid goes after its notice; what was taken in, only once all of it is kept.
        if let Some(reason) = removal::shortfall(home, &item)? {
            return keep(home, upload, &removal::stays(home, upload, &item, &reason)?);
        }
    }
    let note = match upload.state {
        UploadState::Published => item.note.as_deref().unwrap_or("ingested"),
        _ => upload.note.as_deref().unwrap_or_default(),
    };
    if begin_removal(home, upload, note)? {
        let was_there = removal::remove(home, upload, item.id)?;
        removal::end(home, upload, was_there)?;
        watched.removed += u64::from(was_there);
    }
    Ok(())
}

/// Whether an upload may go: its work item judged it invalid, or took it in.
fn may_be_removed(item: &Item) -> bool {
    item.is_verdict || is_taken_in(item.stage)
}

/// Ends a removal that was begun, where what it was begun for holds no longer: a person took the work item up again, and it
/// ended without a verdict. Whether it did.
fn stops_removal(home: &Home, id: UploadId, retention: i64) -> Result<bool, EngineError> {
    Ok(home.registry.write(move |tx| {
        let upload = record::get(tx, Scope::System, id)?.filter(|upload| upload.state == UploadState::Removing);
        let Some(item) = upload.and_then(|upload| upload.item) else { return Ok(false) };
        let Some(item) = items::get(tx, Scope::System, item)? else { return Ok(false) };
        if !item.status.is_ended() || may_be_removed(&item) {
            return Ok(false);
        }
        let fate = fate_by(tx, &item, retention)?;
        record::decide(tx, id, &fate)?;
        Ok::<_, RegistryError>(true)
    })?)
}

/// Keeps what becomes of an upload that is not removed, where it is still as it was read.
fn keep(home: &Home, upload: &Upload, fate: &Fate) -> Result<(), EngineError> {
    let (id, state, etag, fate) = (upload.id, upload.state, upload.etag.clone(), fate.clone());
    Ok(home.registry.write(move |tx| {
        let is_same = record::get(tx, Scope::System, id)?.is_some_and(|now| now.state == state && now.etag == etag);
        if is_same { record::decide(tx, id, &fate) } else { Ok(()) }
    })?)
}

fn micros(span: Duration) -> i64 {
    i64::try_from(span.as_micros()).unwrap_or(i64::MAX)
}

/// One turn of following up.
struct Turn<'a> {
    home: &'a Home,
    stop: &'a Shutdown,
    /// Of the first upload that could not be followed up.
    failures: Failures,
}

impl Turn<'_> {
    /// Acts on every upload for which something is due, also behind one where that fails.
    fn for_each(
        &mut self,
        due: Due,
        act: &mut dyn FnMut(&Upload) -> Result<(), EngineError>,
    ) -> Result<(), EngineError> {
        let registry = &self.home.registry;
        let list = |after, limit| registry.read(|tx| record::due(tx, due, after, limit));
        for upload in paging::rows(PAGE, |upload: &Upload| upload.id, list) {
            let upload = upload?;
            if self.stop.is_requested() {
                break;
            }
            if let Err(error) = act(&upload) {
                let (store, key) = (&upload.store, &upload.key);
                Event::UploadNotFollowed { store, key, error: &error.chain() }.emit();
                self.failures.add(error);
            }
        }
        Ok(())
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
        // Only what was read in the upload itself makes it invalid.
        ItemStatus::Failed if item.is_verdict => {
            // From now on, not from when it failed: no one could read the notice while nothing ran.
            let remove_after = Some(tx.now()?.plus(retention));
            Fate { remove_after, ..Fate::new(UploadState::Invalid, note) }
        }
        ItemStatus::Failed => Fate::new(UploadState::Failed, note),
    })
}

/// Puts the notice that an invalid upload is going to be removed into the outbox, once. The upload counts as warned of when
/// the notice is delivered; until then this is asked in each turn, which puts nothing more.
fn warn(home: &Home, upload: &Upload) -> Result<(), EngineError> {
    let id = upload.id;
    Ok(home.registry.write(move |tx| {
        let Some(upload) = record::get(tx, Scope::System, id)? else { return Ok(()) };
        let (UploadState::Invalid, None, Some(item), Some(due)) =
            (upload.state, upload.warned_at, upload.item, upload.remove_after)
        else {
            return Ok(());
        };
        let payload = notice::payload(&upload, item);
        let key = format!("removal of {id} {} due {}", upload.etag, due.0);
        outbox::insert(tx, upload.institution, item, &key, outbox::UPLOAD_EXPIRES, &payload)
    })?)
}

/// What the note of an upload ends with whose removal waits.
const WAITS_FOR_MAIL: &str = "; it stays until the mail about its removal is sent or given up";

/// Whether an upload that is not valid is not removed yet because of the mail about that: while it is attempted, and for the time of a
/// notice after it was sent or given up.
fn waits_for_mail(home: &Home, upload: &Upload, notice: i64) -> Result<bool, EngineError> {
    let (standing, now) =
        home.registry.read(|tx| Ok::<_, RegistryError>((notice::mail_standing(tx, upload)?, tx.now()?)))?;
    let note = upload.note.clone().unwrap_or_default();
    let before = note.strip_suffix(WAITS_FOR_MAIL).unwrap_or(&note);
    let (note_now, remove_after) = match standing {
        MailStanding::None => return Ok(false),
        MailStanding::Settled(at) if at.plus(notice) <= now => return Ok(false),
        MailStanding::Settled(at) => (before.to_owned(), Some(at.plus(notice))),
        MailStanding::Waiting => (format!("{before}{WAITS_FOR_MAIL}"), upload.remove_after),
    };
    if note_now != note || remove_after != upload.remove_after {
        let fate = Fate { remove_after, warned_at: upload.warned_at, ..Fate::new(UploadState::Invalid, note_now) };
        keep(home, upload, &fate)?;
    }
    Ok(true)
}

/// Begins the removal of what was ingested or not valid, unless its work item continues; whether it is to be removed now.
fn begin_removal(home: &Home, upload: &Upload, note: &str) -> Result<bool, EngineError> {
    let (id, etag, note) = (upload.id, upload.etag.clone(), note.to_owned());
    Ok(home.registry.write(move |tx| {
        let Some(upload) = record::get(tx, Scope::System, id)? else { return Ok(false) };
        let Some(item) = upload.item else { return Ok(false) };
        let Some(item) = items::get(tx, Scope::System, item)? else { return Ok(false) };
        let is_over = match upload.state {
            UploadState::Invalid => item.status == ItemStatus::Failed && item.is_verdict && upload.warned_at.is_some(),
            UploadState::Published => matches!(item.status, ItemStatus::Succeeded | ItemStatus::Deleted),
            UploadState::Removing => item.status.is_ended() && may_be_removed(&item),
            _ => false,
        };
        let begins = is_over && upload.etag == etag;
        if begins && upload.state != UploadState::Removing {
            record::decide(tx, id, &Fate::new(UploadState::Removing, note.clone()))?;
        }
        Ok::<_, RegistryError>(begins)
    })?)
}
