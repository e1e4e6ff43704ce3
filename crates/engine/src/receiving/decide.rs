//! What becomes of an upload when a look has found something out: each decision is made, and a work item made of it, in the
//! transaction that keeps it, by what the record says then.

use std::collections::{HashMap, HashSet};

use strongroom_registry::items::{self, Item, Request};
use strongroom_registry::receiving::{self as record, Fate, ScannedUpload, Upload};
use strongroom_registry::tenants::Collection;
use strongroom_registry::{
    BatchId, ItemId, ItemStatus, ObjectId, ObjectState, RegistryError, Scope, Transaction, UploadId, UploadState,
    Workflows, objects,
};
use uuid::Uuid;

use super::place::{Place, open_collection};
use super::upload::ReceivingKey;
use super::watch::ScanSummary;
use super::wholeness;
use crate::ingest::{
    DepositKind, DepositOptions, Package, PackageSource, Submission, bag_name, bag_part, is_read, object_name_fault,
    submit,
};
use crate::journal::JournalEntry;
use crate::{EngineError, Home, crash_point};

/// Acts kept in one transaction.
const ACTS_AT_ONCE: usize = 100;
/// Who deposits what comes through a receiving store.
const DEPOSITOR: &str = "receiving";

/// What a look found out.
#[derive(Debug, Clone)]
pub(super) enum Act {
    /// Something new lies there.
    FirstSeen(ScannedUpload),
    /// An upload is not what it was.
    Changed { id: UploadId, seen: ScannedUpload },
    /// An upload no longer changes.
    Settled { id: UploadId, etag: String, is_bag: bool },
    /// An upload is no longer there.
    Gone { id: UploadId, etag: String },
}

/// Keeps what a look found out, and makes work items of what has settled.
pub(super) fn carry_out(
    home: &Home,
    place: &Place,
    acts: Vec<Act>,
    watched: &mut ScanSummary,
) -> Result<(), EngineError> {
    let mut acts = acts.into_iter().peekable();
    while acts.peek().is_some() {
        let some: Vec<Act> = acts.by_ref().take(ACTS_AT_ONCE).collect();
        let (store, institution) = (place.store_name.clone(), place.institution);
        let whole = whole_objects(home, &some)?;
        // What a transaction that may run again needs of the place.
        let named = collections_named(home, place, &some)?;
        let workflows = home.registry.workflows();
        let done = home.registry.write(move |tx| {
            let mut done = Done::default();
            for act in &some {
                match act {
                    Act::FirstSeen(seen) => {
                        record::first_seen(tx, &store, institution, seen)?;
                        done.changed += 1;
                    }
                    Act::Changed { id, seen } => {
                        record::changed(tx, *id, &seen.etag, seen.size)?;
                        done.changed += 1;
                    }
                    Act::Settled { id, etag, is_bag } => {
                        let named = named.get(id).map(String::as_str);
                        let workflows = workflows.as_ref();
                        let found = Settled { id: *id, etag, is_bag: *is_bag, named, whole: &whole, workflows };
                        settled(tx, &found, &mut done)?;
                    }
                    Act::Gone { id, etag } => gone(tx, *id, etag)?,
                }
            }
            Ok::<_, RegistryError>(done)
        })?;
        crash_point("receiving.decide.end");
        watched.changed += done.changed;
        watched.submitted += done.submitted;
        home.registry.wakeups().notify(done.topics.iter().map(String::as_str));
    }
    Ok(())
}

/// What came of acts.
#[derive(Default)]
struct Done {
    changed: u64,
    submitted: u64,
    topics: Vec<String>,
}

/// An upload that no longer changes, with what is to be known before it is decided about.
struct Settled<'a> {
    id: UploadId,
    etag: &'a str,
    is_bag: bool,
    /// The collection that it names.
    named: Option<&'a str>,
    /// The objects that are whole.
    whole: &'a HashSet<ObjectId>,
    workflows: &'a dyn Workflows,
}

/// The collections that settled uploads name, by where they lie.
fn collections_named(home: &Home, place: &Place, acts: &[Act]) -> Result<HashMap<UploadId, String>, EngineError> {
    let mut named = HashMap::new();
    for act in acts {
        let Act::Settled { id, .. } = act else { continue };
        let upload = home.registry.read(|tx| record::get(tx, Scope::System, *id))?;
        let name = upload.and_then(|upload| place.collection_of(&upload.key).map(str::to_owned));
        named.extend(name.map(|name| (*id, name)));
    }
    Ok(named)
}

/// The objects that are whole, of those of which the same bytes were taken in before. Asked before the transaction, since
/// the stores are listed for it.
fn whole_objects(home: &Home, acts: &[Act]) -> Result<HashSet<ObjectId>, EngineError> {
    let mut whole = HashSet::new();
    for act in acts {
        let Act::Settled { id, etag, is_bag: true } = act else { continue };
        let earlier = home.registry.read(|tx| {
            let Some(upload) = as_seen(tx, *id, etag)? else { return Ok(None) };
            let earlier = earlier(tx, &upload)?;
            Ok::<_, RegistryError>(earlier.filter(|item| item.status == ItemStatus::Succeeded))
        })?;
        let Some(object) = earlier.and_then(|item| item.object) else { continue };
        if !whole.contains(&object) && wholeness::shortfall(home, object)?.is_none() {
            whole.insert(object);
        }
    }
    Ok(whole)
}

/// The work item that was made of the same bytes under the same name before.
fn earlier(tx: &mut dyn Transaction, upload: &Upload) -> Result<Option<Item>, RegistryError> {
    match record::receipt(tx, &upload.store, &upload.key, &upload.etag)? {
        Some(item) => items::get(tx, Scope::System, item),
        None => Ok(None),
    }
}

/// The upload as the scan saw it, if no other process decided about it in between.
fn as_seen(tx: &mut dyn Transaction, id: UploadId, etag: &str) -> Result<Option<Upload>, RegistryError> {
    Ok(record::get(tx, Scope::System, id)?.filter(|upload| upload.etag == etag))
}

/// It is gone: forgotten where nothing was made of it.
fn gone(tx: &mut dyn Transaction, id: UploadId, etag: &str) -> Result<(), RegistryError> {
    let Some(upload) = as_seen(tx, id, etag)? else { return Ok(()) };
    match (upload.state, upload.item) {
        (UploadState::Submitted | UploadState::Removing | UploadState::Removed, _) => Ok(()),
        (_, None) => record::drop_upload(tx, id),
        (_, Some(_)) => record::decide(tx, id, &Fate::new(UploadState::Withdrawn, "it was removed")),
    }
}

/// It no longer changes: once for these bytes under this name it becomes a work item.
fn settled(tx: &mut dyn Transaction, found: &Settled<'_>, done: &mut Done) -> Result<(), RegistryError> {
    let (id, is_bag) = (found.id, found.is_bag);
    let is_undecided = |upload: &Upload| matches!(upload.state, UploadState::Settling | UploadState::Refused);
    let Some(upload) = as_seen(tx, id, found.etag)?.filter(is_undecided) else { return Ok(()) };
    let source = ReceivingKey { store: upload.store.clone(), key: upload.key.clone() };
    let name = bag_name(source.file_name());
    let fault = if is_bag { object_name_fault(&name) } else { Some("has no bagit.txt") };
    if let Some(fault) = fault {
        let note = match (is_bag, upload.key.ends_with('/')) {
            (true, _) => format!("its name cannot name an object: it {fault}"),
            (false, true) => "a folder without bagit.txt, and no collection has its name".to_owned(),
            (false, false) => "neither a tar, tar.gz, tgz nor zip archive, by its name".to_owned(),
        };
        return record::decide(tx, id, &Fate::new(UploadState::NotABag, note));
    }
    let part = match bag_part(source.file_name()) {
        Ok(part) => part,
        Err(fault) => {
            let note = format!("its name cannot be that of a part: {fault}");
            return record::decide(tx, id, &Fate::new(UploadState::NotABag, note));
        }
    };
    if let Some(item) = earlier(tx, &upload)?
        && !is_to_be_repeated(tx, &upload, &item, found.whole)?
    {
        let fate = fate_of_known(&upload, &item);
        return record::decide(tx, id, &fate);
    }
    match open_collection(tx, upload.institution, found.named)? {
        Ok(collection) => {
            let package = Package {
                item: item_after(upload.item),
                file_name: source.file_name().to_owned(),
                source: PackageSource::ReceivingKey(source),
                object_name: name,
                kind: DepositKind::Bag,
                part,
                size: Some(upload.size),
            };
            done.topics.extend(take_in(tx, &upload, &package, collection.as_ref(), found.workflows)?);
            done.topics.sort();
            done.topics.dedup();
            done.submitted += 1;
            Ok(())
        }
        Err(reason) => record::decide(tx, id, &Fate::new(UploadState::Refused, reason)),
    }
}

/// Whether the same bytes are taken in again: where nothing came of them, where what came of them was deleted since, and
/// where they would be removed unread though their object is not known to be whole.
fn is_to_be_repeated(
    tx: &mut dyn Transaction,
    upload: &Upload,
    item: &Item,
    whole: &HashSet<ObjectId>,
) -> Result<bool, RegistryError> {
    match item.status {
        ItemStatus::Cancelled | ItemStatus::Deleted => Ok(true),
        ItemStatus::Pending | ItemStatus::Started | ItemStatus::Held | ItemStatus::Failed => Ok(false),
        ItemStatus::Succeeded => {
            let Some(object) = item.object else { return Ok(true) };
            let is_latest = upload.item == Some(item.id);
            let found = objects::get(tx, Scope::System, object)?;
            let is_deleted = found.is_none_or(|object| object.state == ObjectState::Deleted);
            Ok(is_deleted || (is_latest && !whole.contains(&object)))
        }
    }
}

/// What becomes of bytes that were submitted under this name before.
fn fate_of_known(upload: &Upload, item: &Item) -> Fate {
    let is_latest = upload.item == Some(item.id);
    if is_latest || item.status != ItemStatus::Succeeded {
        // The follow-up decides by how the item ends.
        return Fate { item: Some(item.id), ..Fate::new(UploadState::Submitted, "these bytes were submitted before") };
    }
    let note = format!("these bytes were ingested before another upload of this name, by work item {}", item.id);
    Fate::new(UploadState::Known, note)
}

/// Submits an upload, and cancels the waiting work items of the same source whose bytes were not read to the end: what they
/// were to read is no longer there.
fn take_in(
    tx: &mut dyn Transaction,
    upload: &Upload,
    package: &Package,
    collection: Option<&Collection>,
    workflows: &dyn Workflows,
) -> Result<Vec<String>, RegistryError> {
    let (id, batch) = (package.item, BatchId::new());
    let options = DepositOptions {
        submitted_by: DEPOSITOR.to_owned(),
        etag: Some(upload.etag.clone()),
        ..DepositOptions::default()
    };
    let submission = Submission {
        notify_to: &[],
        batch,
        institution: upload.institution,
        institution_identifier: &upload.institution_identifier,
        collection,
        packages: std::slice::from_ref(package),
        options: &options,
        note: &format!("uploaded to {}", upload.store),
        by: &JournalEntry::of_system("deposits.submit"),
        target: format!("batch {batch} of {}: {}", upload.store, upload.key),
    };
    let mut topics = submit(tx, workflows, &submission).map_err(|error| match error {
        EngineError::Registry(error) => error,
        // An upload names no identifiers that could contradict each other.
        other => RegistryError::Corrupt { wanted: "an upload that can be submitted", found: other.chain() },
    })?;
    record::put_receipt(tx, upload, id)?;
    record::decide(tx, upload.id, &Fate { item: Some(id), ..Fate::new(UploadState::Submitted, "") })?;
    let (object, source) = (submission.object_identifier(package), package.source.to_string());
    let who = format!("a newer upload of the same name, work item {id}");
    for item in record::waiting_of_source(tx, upload.institution, &object, &source, id)? {
        if !is_read(item.stage) && !item.is_committed {
            topics.extend(items::request(tx, workflows, Scope::System, item.id, Request::Cancel, &who)?);
        }
    }
    Ok(topics)
}

/// A new item, later than the upload's last one whatever the clock says: newer ones wait for older ones by this order.
fn item_after(last: Option<ItemId>) -> ItemId {
    let new = ItemId::new();
    match last {
        Some(last) if new <= last => ItemId(Uuid::from_u128(last.0.as_u128().saturating_add(1))),
        _ => new,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_newer_item_comes_after_the_older_even_where_the_clock_went_back() {
        let ahead = ItemId(Uuid::from_u128(u128::MAX >> 1));
        assert!(item_after(Some(ahead)) > ahead);
        let before = ItemId::new();
        assert!(item_after(Some(before)) > before);
    }
}
