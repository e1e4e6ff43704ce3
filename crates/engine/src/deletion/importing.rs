//! What stores know of deletions that the registry does not: found in the `logs/` of an object when a registry is made from its stores, or
//! brought up to what they know. Deleted bytes do not come back, and stores that have some of them lose them.

use std::io::Read as _;

use strongroom_digest::Digest;
use strongroom_ocfl::{Object, object_id};
use strongroom_registry::deletions::{self, Deletion};
use strongroom_registry::events::{self, EventRow};
use strongroom_registry::objects;
use strongroom_registry::versions::Version;
use strongroom_registry::{DeletionState, GenerationId, ItemId, ObjectId, RegistryError, Scope, Time};
use strongroom_storage::{Key, Store};

use super::delete::{CameOf, settle};
use super::rows;
use super::tombstone::{self, ACT, DeletionLog};
use crate::hold::{ObjectHold, OperationError};
use crate::logs::LARGEST_READ;
use crate::{EngineError, Home, crash_point};

/// Events put at once.
const EVENTS_AT_ONCE: usize = 1_000;

/// Records a deletion that a store tells of, then removes its rows, and takes up its events. It is carried out in every store that may have
/// something of the object, also in this one, where everything may be done. Interrupted, it is done again: the deletion is not settled, counts
/// as one that is not known, and keeps others from the object, which is held in its name.
fn import(home: &Home, log: &DeletionLog, text: &str) -> Result<(), OperationError> {
    let hold = &ObjectHold::take_as(home, log.object, log.deletion.0)?;
    let found = home.registry.read(|tx| objects::get(tx, Scope::System, log.object))?;
    let institution = found.map_or(log.institution, |found| found.institution);
    let deletion = Deletion {
        id: log.deletion,
        item: None,
        institution,
        object: log.object,
        generation: log.generation,
        files: (!log.is_whole()).then_some(log.files.len() as u64),
        state: DeletionState::Begun,
        name: log.plan.tombstone.name.clone(),
        tombstone: text.to_owned(),
        begun_at: Time(log.time),
        settled_at: None,
        completed_at: None,
    };
    let configured: Vec<String> = home.preservation_stores().iter().map(|store| store.name().to_owned()).collect();
    let new = deletion.clone();
    hold.write(move |tx| {
        let mut stores = deletions::holders(tx, new.object)?;
        stores.extend(configured.clone());
        stores.sort();
        stores.dedup();
        deletions::insert(tx, &new, &stores)
    })?;
    crash_point("deletion.import.recorded");
    rows::remove(hold, log, &|| Ok(()))?;
    let is_own = |event: &&EventRow| event.object == Some(log.object) && event.institution == institution;
    let events: Vec<EventRow> = log.events.iter().filter(is_own).cloned().collect();
    for page in events.chunks(EVENTS_AT_ONCE) {
        let page = page.to_vec();
        hold.write(move |tx| events::import(tx, &page))?;
    }
    crash_point("deletion.import.rows");
    let head = log.version;
    hold.write(move |tx| {
        let found = objects::get(tx, Scope::System, deletion.object)?;
        match found.filter(|found| found.generation == deletion.generation && deletion.files.is_some()) {
            Some(found) => deletions::settle_files(tx, &deletion, found.head.max(head)),
            None => deletions::settle(tx, deletion.id),
        }
    })
}

/// Whether the registry does not know a deletion, or has not taken it up whole from a store that tells of it.
fn is_unknown(home: &Home, log: &DeletionLog) -> Result<bool, RegistryError> {
    let known = home.registry.read(|tx| deletions::get(tx, log.deletion))?;
    Ok(known.is_none_or(|known| known.item.is_none() && known.state == DeletionState::Begun))
}

/// The deletions that a store tells of, of one object.
pub(crate) struct KnownDeletions {
    /// Each with the text of its tombstone, oldest first.
    logs: Vec<(DeletionLog, String)>,
}

impl KnownDeletions {
    /// Reads those of the generation that lies there. A log that names anything else is none of it.
    pub(crate) fn read(store: &dyn Store, root: &Key, generation: GenerationId) -> Result<Self, EngineError> {
        let id = object_id(&generation.to_string())?;
        let mut logs = Vec::new();
        let folder = root.join("logs").map_err(strongroom_storage::StorageError::from)?;
        for listed in store.list(&folder)? {
            let listed = listed?;
            // The act is in the name of a log.
            if listed.size > LARGEST_READ || !listed.key.as_str().contains(&format!("-{ACT}-")) {
                continue;
            }
            let mut text = String::new();
            let failed = |source| strongroom_storage::StorageError::Io {
                store: store.name().to_owned(),
                act: "read",
                key: listed.key.clone(),
                source,
            };
            store
                .open(&listed.key, 0, Some(LARGEST_READ))?
                .take(LARGEST_READ)
                .read_to_string(&mut text)
                .map_err(failed)?;
            let log =
                DeletionLog::read(&text).filter(|log| log.generation == generation && log.plan.is_of(&id, log.version));
            if let Some(log) = log {
                logs.push((log, text));
            }
        }
        logs.sort_by_key(|(log, _)| (log.time, log.deletion));
        Ok(Self { logs })
    }

    /// Whether they say why the inventories of versions are other ones than the registry has: each that differs is one that a deletion
    /// has written in the place of the recorded one.
    pub(crate) fn explain(&self, generation: GenerationId, version: &Version, found: Option<Digest>) -> bool {
        let mut digest = version.inventory;
        for (log, _) in self.logs.iter().filter(|(log, _)| log.generation == generation) {
            let own = log.plan.inventories.iter().find(|(number, _)| u64::from(number.number()) == version.number);
            if let Some((_, own)) = own
                && digest == Some(own.before.digest)
            {
                digest = own.after.map(|seal| seal.digest);
            } else if version.number == log.version && digest == Some(log.plan.before.digest) {
                digest = Some(log.plan.after.digest);
            }
        }
        // A deletion that was interrupted there has replaced the root inventory, and not yet this one.
        digest == found || version.inventory == found
    }

    /// Records those of an object that the registry does not know, and that were carried out in the store that tells of them, at least as
    /// far as its root inventory; how many there are. What its inventory still names was not deleted, whatever a log says.
    pub(crate) fn import(
        &self,
        home: &Home,
        object: ObjectId,
        (store, root): (&dyn Store, &Key),
    ) -> Result<u64, OperationError> {
        let in_store = Object::new(store, root.clone());
        let mut imported = 0;
        for (log, text) in self.logs.iter().filter(|(log, _)| log.object == object) {
            if is_unknown(home, log)? && log.plan.is_carried_out(&in_store)? {
                import(home, log, text)?;
                imported += 1;
            }
        }
        Ok(imported)
    }

    /// How many the registry does not know.
    pub(crate) fn unknown(&self, home: &Home, object: ObjectId) -> Result<u64, RegistryError> {
        let mut count = 0;
        for (log, _) in self.logs.iter().filter(|(log, _)| log.object == object) {
            count += u64::from(is_unknown(home, log)?);
        }
        Ok(count)
    }
}

/// What the registry knows of deletions of an object that are not done.
pub(crate) struct OpenDeletions {
    object: ObjectId,
    /// The one that is begun and not settled, with its work item.
    begun: Option<(Deletion, ItemId)>,
    /// Those that are still to be carried out in the store that was asked about.
    pending: Vec<Deletion>,
}

impl OpenDeletions {
    /// Reads what is open in a store.
    pub(crate) fn read(home: &Home, object: ObjectId, store: &str) -> Result<Self, RegistryError> {
        home.registry.read(|tx| {
            let mut all = deletions::of_object(tx, object)?.into_iter();
            let begun = all.find(|deletion| deletion.state == DeletionState::Begun && deletion.item.is_some());
            let begun = begun.and_then(|deletion| deletion.item.map(|item| (deletion, item)));
            let pending = deletions::pending_of_object(tx, object)?.into_iter();
            let pending = pending.filter(|(_, of)| of == store).map(|(deletion, _)| deletion).collect();
            Ok(Self { object, begun, pending })
        })
    }

    /// Brings a deletion that was begun, when the registry was copied, to where other work can go on: its rows go, and every store is to be
    /// carried out again. Its work item is not at work, because the registry is behind its stores. Whether there is one.
    pub(crate) fn settle_begun(&self, home: &Home) -> Result<bool, OperationError> {
        let Some((begun, item)) = &self.begun else { return Ok(false) };
        let hold = ObjectHold::take_as(home, self.object, item.0)?;
        let log = tombstone::of(begun)?;
        rows::remove(&hold, &log, &|| Ok(()))?;
        settle(&hold, begun, &log, CameOf::default())?;
        Ok(true)
    }

    /// Whether the store has the object as it was before a deletion that is still to be carried out there: it is behind, and has nothing
    /// that the registry does not know.
    pub(crate) fn are_behind(&self, inventory: &Digest) -> Result<bool, EngineError> {
        for deletion in &self.pending {
            if tombstone::of(deletion)?.plan.before.digest == *inventory {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether one is still to be carried out in the store: the inventories there may be those before it or after it.
    pub(crate) fn are_pending(&self) -> bool {
        !self.pending.is_empty()
    }
}
