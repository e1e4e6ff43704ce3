//! Taking an upload out of its store: only as it was when it was ingested or judged, never what has replaced it. Of a folder
//! the keys and etags are written down before the first is removed, so that a removal that was cut short goes on with
//! those and no others.

use std::io::{BufRead, BufReader, Seek, SeekFrom, Write};

use strongroom_registry::items::Item;
use strongroom_registry::receiving::{self as record, Fate, Upload};
use strongroom_registry::work::Claim;
use strongroom_registry::{ItemId, JournalOutcome, RegistryError, Scope, Time, UploadState, items};
use strongroom_storage::{Key, PutOptions, StorageError, Store};

use super::{listing, wholeness};
use crate::event::Event;
use crate::journal::{JournalEntry, Target};
use crate::{EngineError, Home, crash_point};

/// The name, below the item in staging, of what is written down for a removal. The sweep of staging keeps it while the upload
/// is being removed.
pub(crate) const REMOVAL: &str = "removal";
/// The act by which the journal names the removal of an upload, which is one of the system.
const REMOVE: &str = "receiving.remove";
/// How soon it is asked again whether an object is whole whose upload was not removed, in microseconds.
const ASK_AGAIN: i64 = 3_600_000_000;

/// Removes what a work item has taken in, for its worker. Nothing where it was replaced since, and nothing while its object
/// is not whole: then the upload stays `published`, with the reason, and the schedule asks again.
pub(crate) fn remove_ingested(home: &Home, claim: &Claim, etag: &str, note: &str) -> Result<(), EngineError> {
    let id = claim.item;
    let found = home.registry.read(|tx| {
        let upload = record::to_remove(tx, id, etag)?;
        Ok::<_, RegistryError>((upload, items::find(tx, Scope::System, id)?))
    })?;
    let (Some(upload), item) = found else { return Ok(()) };
    let fate = match shortfall(home, &item)? {
        Some(reason) => stays(home, &upload, &item, &reason)?,
        None => Fate::new(UploadState::Removing, note),
    };
    let is_removed = fate.state == UploadState::Removing;
    let (claimed, etag) = (claim.clone(), etag.to_owned());
    let decided = home.registry.write(move |tx| record::decide_ingested(tx, &claimed, &etag, &fate))?;
    let Some(mut upload) = decided.filter(|_| is_removed) else { return Ok(()) };
    upload.state = UploadState::Removing;
    crash_point("receiving.remove.begun");
    let was_there = remove(home, &upload, claim.item)?;
    crash_point("receiving.remove.end");
    end(home, &upload, was_there)
}

/// Why what an item has taken in may not be removed; `None` where its object is whole.
pub(super) fn shortfall(home: &Home, item: &Item) -> Result<Option<String>, EngineError> {
    match item.object {
        Some(object) => wholeness::shortfall(home, object),
        None => Ok(Some("its work item names no object".to_owned())),
    }
}

/// What becomes of an upload that was taken in and is not removed.
pub(super) fn stays(home: &Home, upload: &Upload, item: &Item, reason: &str) -> Result<Fate, EngineError> {
    let again: Time = home.registry.read(|tx| Ok::<_, RegistryError>(tx.now()?.plus(ASK_AGAIN)))?;
    let (store, key) = (&upload.store, &upload.key);
    Event::UploadStays { store, key, reason }.emit();
    let note = format!("ingested by work item {}, not removed: {reason}; asked again after {again}", item.id);
    // A removal that was begun goes on when the object is whole.
    let state = if upload.state == UploadState::Removing { UploadState::Removing } else { UploadState::Published };
    Ok(Fate { remove_after: Some(again), ..Fate::new(state, note) })
}

/// Removes an upload that is as it is known; whether it was so. `item` owns what is written down for it.
pub(super) fn remove(home: &Home, upload: &Upload, item: ItemId) -> Result<bool, EngineError> {
    let store = home.store(&upload.store)?.as_ref();
    let key = Key::new(upload.key.trim_end_matches('/')).map_err(StorageError::from)?;
    // The folder of the institution or of the collection stays: uploads are put there, with rights that it may have of its own.
    let keep = key.parent();
    let removed = if upload.key.ends_with('/') {
        remove_folder(home, store, upload, item, &keep)?
    } else {
        store.delete_match(&key, &upload.etag, &keep)?
    };
    store.sync()?;
    Ok(removed)
}

/// Notes that an upload was removed; or, where it had been replaced, that what lies there is to be watched.
pub(super) fn end(home: &Home, upload: &Upload, was_there: bool) -> Result<(), EngineError> {
    let id = upload.id;
    Ok(home.registry.write(move |tx| {
        let Some(upload) = record::get(tx, Scope::System, id)? else { return Ok(()) };
        let is_at_it = matches!(upload.state, UploadState::Removing | UploadState::Published);
        match (is_at_it, was_there) {
            (false, _) => Ok::<_, RegistryError>(()),
            (true, true) => {
                let note = upload.note.clone().unwrap_or_default();
                let target = Target::of(upload.institution, format!("{}: {}", upload.store, upload.key));
                JournalEntry::of_system(REMOVE).append(tx, &target, JournalOutcome::Done, upload.note.as_deref())?;
                record::decide(tx, id, &Fate::new(UploadState::Removed, note))
            }
            (true, false) => record::changed(tx, id, "", upload.size),
        }
    })?)
}

fn remove_folder(
    home: &Home,
    store: &dyn Store,
    upload: &Upload,
    item: ItemId,
    keep: &Key,
) -> Result<bool, EngineError> {
    let staging = home.roles.staging.as_ref();
    let list_key = Key::new(format!("{item}/{REMOVAL}")).map_err(StorageError::from)?;
    let is_begun = match staging.head(&list_key) {
        Ok(_) => true,
        Err(error) if error.is_not_found() => false,
        Err(error) => return Err(error.into()),
    };
    if !is_begun {
        match write_down(staging, &list_key, store, upload)? {
            Lies::Unchanged => {}
            Lies::Replaced => return Ok(false),
            Lies::Gone => return Ok(true),
        }
    }
    crash_point("receiving.remove.listed");
    let lines = BufReader::new(staging.open(&list_key, 0, None)?);
    let broken = |source| EngineError::Io { act: "read", path: list_key.to_string(), source };
    for line in lines.lines() {
        let line = line.map_err(broken)?;
        let (key, etag): (String, String) = serde_json::from_str(&line)
            .map_err(|error| broken(std::io::Error::new(std::io::ErrorKind::InvalidData, error)))?;
        // What was put in its place since stays.
        store.delete_match(&Key::new(key).map_err(StorageError::from)?, &etag, keep)?;
        crash_point("receiving.remove.middle");
    }
    store.sync()?;
    staging.delete(&list_key)?;
    Ok(true)
}

/// What lies where an upload was.
enum Lies {
    /// The upload as it is known.
    Unchanged,
    Replaced,
    Gone,
}

/// Writes down which keys with which etags the folder is, where that is the upload as it is known.
fn write_down(staging: &dyn Store, list_key: &Key, store: &dyn Store, upload: &Upload) -> Result<Lies, EngineError> {
    let failed = |source| EngineError::Io { act: "write a temporary file for", path: upload.key.clone(), source };
    let mut file = tempfile::tempfile().map_err(failed)?;
    let mut out = std::io::BufWriter::new(&mut file);
    let mut failure = None;
    let seen = listing::look_at(store, &upload.key, &mut |listed| {
        let line = (listed.key.as_str(), &listed.etag);
        let written =
            serde_json::to_writer(&mut out, &line).map_err(std::io::Error::from).and_then(|()| out.write_all(b"\n"));
        failure = failure.take().or(written.err());
        Ok(())
    })?;
    out.flush().map_err(failed)?;
    drop(out);
    if let Some(error) = failure {
        return Err(failed(error));
    }
    match seen {
        None => return Ok(Lies::Gone),
        Some(seen) if seen.etag != upload.etag => return Ok(Lies::Replaced),
        Some(_) => {}
    }
    file.seek(SeekFrom::Start(0)).map_err(failed)?;
    staging.put(list_key, &mut file, &PutOptions::default())?;
    Ok(Lies::Unchanged)
}
