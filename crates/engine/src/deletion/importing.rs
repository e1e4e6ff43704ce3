//! What stores know of deletions that the registry does not: found in the `logs/` of an object when a registry is made from its stores, or
//! brought up to what they know. Deleted bytes do not come back, and stores that have some of them lose them.

use std::io::Read as _;

use strongroom_digest::{Algorithm, Digest, hash_reader};
use strongroom_ocfl::{Object, PurgeScope, object_id};
use strongroom_registry::deletions::{self, Deletion};
use strongroom_registry::events::{self, EventRow};
use strongroom_registry::obstacles::{self, Obstacle};
use strongroom_registry::versions::Version;
use strongroom_registry::{
    DeletionId, DeletionState, GenerationId, ItemId, JournalOutcome, ObjectId, RegistryError, Scope, Time, legal_holds,
    objects,
};
use strongroom_storage::{Key, StorageError, Store};

use super::carrying_out::is_before;
use super::delete::{CameOf, settle};
use super::rows;
use super::tombstone::{self, ACT, DeletionLog};
use crate::hold::{ObjectHold, OperationError};
use crate::journal::{JournalEntry, Target};
use crate::logs::LARGEST_READ;
use crate::{EngineError, Home, crash_point};

/// Events put at once.
const EVENTS_AT_ONCE: usize = 1_000;

/// Records a deletion that a store tells of, then removes its rows, and takes up its events. It is carried out in every store that may have
/// something of the object, also in this one, where nothing may be left to do. Interrupted, it is done again: the deletion is not settled, counts
/// as one that is not known, and keeps others from the object, which is held in its name.
fn import(home: &Home, log: &DeletionLog, text: &str, store: &str) -> Result<(), OperationError> {
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
    let target = Target::of_object(institution, log.identifier.clone());
    let grounds = &log.grounds;
    let detail = format!(
        "the store {store} tells of the deletion {} that {} requested and {} approved",
        log.deletion, grounds.requested_by, grounds.approved_by
    );
    hold.write(move |tx| {
        // Once, however often it is done.
        if deletions::get(tx, new.id)?.is_none() {
            let entry = JournalEntry::of_system("deletions.import");
            entry.append(tx, &target, JournalOutcome::Done, Some(&detail))?;
        }
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
fn is_unknown(home: &Home, deletion: DeletionId) -> Result<bool, RegistryError> {
    let known = home.registry.read(|tx| deletions::get(tx, deletion))?;
    Ok(known.is_none_or(|known| known.item.is_none() && known.state == DeletionState::Begun))
}

/// Whether a legal hold of the registry forbids what a store tells of.
fn is_on_legal_hold(home: &Home, log: &DeletionLog) -> Result<bool, RegistryError> {
    let object = log.object;
    home.registry.read(|tx| {
        let PurgeScope::Paths { paths, .. } = &log.plan.scope else {
            return Ok(legal_holds::count(tx, object)? > 0);
        };
        let mut files = Vec::with_capacity(paths.len());
        for path in paths {
            files.extend(deletions::file_of_path(tx, object, path)?);
        }
        let now = tx.now()?;
        let found = obstacles::of_deletion(tx, Scope::System, object, Some(&files), now)?;
        Ok(found.iter().any(|obstacle| matches!(obstacle, Obstacle::LegalHold { .. })))
    })
}

/// What is kept of a tombstone that a store has, so that memory does not grow with what it names.
struct Told {
    key: Key,
    /// SHA-512 of its text.
    digest: Digest,
    deletion: DeletionId,
    object: ObjectId,
    version: u64,
    time: i64,
    before: Digest,
    after: Digest,
    /// What it makes of the inventories of versions: number, digest before and after; none before: the version had none.
    inventories: Vec<(u64, Option<Digest>, Option<Digest>)>,
}

impl Told {
    fn new(key: Key, digest: Digest, log: &DeletionLog) -> Self {
        let plan = &log.plan;
        let rewritten = plan.inventories.iter().map(|(number, own)| {
            (u64::from(number.number()), Some(own.before.digest), own.after.map(|seal| seal.digest))
        });
        let made = plan.made.iter().map(|(number, seal)| (u64::from(number.number()), None, Some(seal.digest)));
        Self {
            key,
            digest,
            deletion: log.deletion,
            object: log.object,
            version: log.version,
            time: log.time,
            before: plan.before.digest,
            after: plan.after.digest,
            inventories: rewritten.chain(made).collect(),
        }
    }
}

/// The text of a tombstone in a store, and the digest of it.
fn read_text(store: &dyn Store, key: &Key) -> Result<(String, Option<Digest>), EngineError> {
    let mut text = String::new();
    let failed = |source| StorageError::Io { store: store.name().to_owned(), act: "read", key: key.clone(), source };
    store.open(key, 0, Some(LARGEST_READ))?.take(LARGEST_READ).read_to_string(&mut text).map_err(failed)?;
    let (_, digests) = hash_reader(text.as_bytes(), &[Algorithm::Sha512]).map_err(failed)?;
    Ok((text, digests.get(Algorithm::Sha512)))
}

/// The deletions that a store tells of, of one object.
pub(crate) struct KnownDeletions {
    /// Oldest first.
    told: Vec<Told>,
}

impl KnownDeletions {
    /// Reads those of the generation that lies there. A log that names anything else is none of it.
    pub(crate) fn read(store: &dyn Store, root: &Key, generation: GenerationId) -> Result<Self, EngineError> {
        let id = object_id(&generation.to_string())?;
        let mut told = Vec::new();
        let folder = root.join("logs").map_err(StorageError::from)?;
        for listed in store.list(&folder)? {
            let listed = listed?;
            // The act is in the name of a log.
            if listed.size > LARGEST_READ || !listed.key.as_str().contains(&format!("-{ACT}-")) {
                continue;
            }
            let (text, digest) = read_text(store, &listed.key)?;
            let log =
                DeletionLog::read(&text).filter(|log| log.generation == generation && log.plan.is_of(&id, log.version));
            if let (Some(log), Some(digest)) = (log, digest) {
                told.push(Told::new(listed.key, digest, &log));
            }
        }
        told.sort_by_key(|told| (told.time, told.deletion));
        Ok(Self { told })
    }

    /// Whether they say why the inventories of versions are other ones than the registry has: each that differs is one that a deletion
    /// has written in the place of the recorded one.
    pub(crate) fn explain(&self, version: &Version, found: Option<Digest>) -> bool {
        let mut digest = version.inventory;
        for told in &self.told {
            let own = told.inventories.iter().find(|(number, ..)| *number == version.number);
            let of_head = (version.number == told.version).then_some(told.before);
            if let Some((_, before, after)) = own
                && digest == before.or(digest.and(of_head))
            {
                digest = *after;
            } else if version.number == told.version && digest == Some(told.before) {
                digest = Some(told.after);
            }
        }
        // A deletion that was interrupted there has replaced the root inventory, and not yet this one.
        digest == found || version.inventory == found
    }

    /// Records those of an object that the registry does not know, and that were carried out in the store that tells of them, at least as
    /// far as its root inventory; how many there are. What its inventory still names was not deleted, whatever a log says, and what is on
    /// legal hold is not deleted because of a log.
    pub(crate) fn import(
        &self,
        home: &Home,
        object: ObjectId,
        (store, root): (&dyn Store, &Key),
    ) -> Result<Imported, OperationError> {
        let in_store = Object::new(store, root.clone());
        let mut imported = Imported::default();
        for told in self.told.iter().filter(|told| told.object == object) {
            if !is_unknown(home, told.deletion)? {
                continue;
            }
            let (text, digest) = read_text(store, &told.key)?;
            let log = DeletionLog::read(&text).filter(|_| digest == Some(told.digest));
            let Some(log) = log else { continue };
            if !log.plan.is_carried_out(&in_store)? {
                continue;
            }
            if is_on_legal_hold(home, &log)? {
                imported.held += 1;
                continue;
            }
            import(home, &log, &text, store.name())?;
            imported.deletions += 1;
        }
        Ok(imported)
    }

    /// Holds an object in the name of one that the registry does not know: of the one that was interrupted, which keeps others from it, else of
    /// the first.
    pub(crate) fn hold<'h>(&self, home: &'h Home, object: ObjectId) -> Result<ObjectHold<'h>, OperationError> {
        let begun = home.registry.read(|tx| deletions::begun_of_object(tx, object))?;
        let interrupted = begun.filter(|begun| begun.item.is_none()).map(|begun| begun.id);
        match interrupted.map_or_else(|| self.first_unknown(home, object), |id| Ok(Some(id)))? {
            Some(deletion) => ObjectHold::take_as(home, object, deletion.0),
            None => ObjectHold::take_alone(home, object),
        }
    }

    /// The first one that the registry does not know.
    pub(crate) fn first_unknown(&self, home: &Home, object: ObjectId) -> Result<Option<DeletionId>, RegistryError> {
        for told in self.told.iter().filter(|told| told.object == object) {
            if is_unknown(home, told.deletion)? {
                return Ok(Some(told.deletion));
            }
        }
        Ok(None)
    }
}

/// What was recorded of what a store tells.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Imported {
    /// Deletions that were recorded.
    pub(crate) deletions: u64,
    /// Deletions that were not, because a legal hold has kept what they delete.
    pub(crate) held: u64,
}

/// What the registry knows of deletions of an object, for one store.
pub(crate) struct OpenDeletions {
    object: ObjectId,
    store: String,
    /// The one that is begun and not settled, with its work item.
    begun: Option<(Deletion, ItemId)>,
    /// Those that are still to be carried out in the store.
    pending: Vec<DeletionId>,
    /// Those that were carried out there.
    done: Vec<DeletionId>,
}

impl OpenDeletions {
    /// Reads what there is about a store.
    pub(crate) fn read(home: &Home, object: ObjectId, store: &str) -> Result<Self, RegistryError> {
        home.registry.read(|tx| {
            let begun = deletions::begun_of_object(tx, object)?;
            let begun = begun.and_then(|deletion| deletion.item.map(|item| (deletion, item)));
            let pending = deletions::pending_in(tx, object, store)?;
            let done = deletions::done_of_object(tx, object, store)?.into_iter().map(|(id, _)| id).collect();
            Ok(Self { object, store: store.to_owned(), begun, pending, done })
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

    /// Whether the store has the object as it was before a deletion, with this root inventory of a generation: it is behind, and has nothing that
    /// the registry does not know. So is one that was put back from a backup after the deletion was carried out there.
    pub(crate) fn is_behind(&self, home: &Home, root: (GenerationId, Digest)) -> Result<bool, EngineError> {
        is_before(home, self.pending.iter().chain(&self.done).copied(), &[root])
    }

    /// Records that the deletions of the object are still to be carried out in the store: the background task does it, or the next work on the
    /// object.
    pub(crate) fn reopen(&self, home: &Home) -> Result<(), RegistryError> {
        let (object, store) = (self.object, self.store.clone());
        home.registry.write(move |tx| deletions::reopen_of_object_in(tx, object, &store))
    }

    /// Whether one is still to be carried out in the store: the inventories there may be those before it or after it.
    pub(crate) fn are_pending(&self) -> bool {
        !self.pending.is_empty()
    }
}
