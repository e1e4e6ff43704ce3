//! A deletion carried out in one store: tombstone, root inventory, version inventories, contents. What was done stays done, and a store
//! that has a later inventory by now loses only what the deletion left there.

use std::collections::BTreeSet;

use strongroom_digest::{Algorithm, Digest, hash_reader};
use strongroom_ocfl::{LastRecord, Object, OcflError, PurgeScope};
use strongroom_registry::deletions::{self, Deletion};
use strongroom_registry::objects;
use strongroom_registry::versions::{self, ContentPlace};
use strongroom_registry::{DeletionId, GenerationId, ObjectId, RegistryError, Scope, VersionId};
use strongroom_storage::{Key, StorageError, Store};

use super::tombstone::{self, DeletionLog};
use crate::error::Failures;
use crate::event::Event;
use crate::hold::{GoOn, ObjectHold, OperationError};
use crate::layout::content_path;
use crate::logs::object_root;
use crate::runtime::{Interrupted, Shutdown};
use crate::{EngineError, Home, crash_point, paging, watermark};

/// Objects listed at once.
const OBJECTS_AT_ONCE: usize = 100;

/// Carries a deletion out in a store. The caller holds the object, and records what came of it. The key of the record of the last
/// version there, where all of the object is deleted.
pub(super) fn carry_out(
    home: &Home,
    hold: &ObjectHold<'_>,
    log: &DeletionLog,
    store: &str,
    go_on: &GoOn<'_>,
) -> Result<Option<Key>, OperationError> {
    let store = home.store(store)?.as_ref();
    let announced = watermark::announce(home)?;
    watermark::advance(home, store, &announced)?;
    let (root, current) = in_registry(home, log)?;
    let object = Object::new(store, root.clone());
    let mut stopped = None;
    let outcome = {
        let mut ask = || match go_on.check().map_err(OperationError::from).and_then(|()| hold.keep_in_time()) {
            Ok(()) => {
                crash_point("deletion.store.change");
                Ok(())
            }
            Err(halt) => {
                stopped = Some(halt);
                Err(OcflError::Purge { store: store.name().to_owned(), key: root.clone(), reason: "it stops".into() })
            }
        };
        change(&object, log, current, &mut ask)
    };
    if let Some(halt) = stopped {
        return Err(halt);
    }
    let is_there = outcome?;
    let last = last_key(log, &root)?.filter(|_| is_there);
    if let Some((key, digest)) = &last {
        check_last(store, key, digest)?;
    }
    watermark::confirm(home, &[store], &announced)?;
    Ok(last.map(|(key, _)| key))
}

/// Where the object lies in each store, and the digest of the root inventory that is recorded.
fn in_registry(home: &Home, log: &DeletionLog) -> Result<(Key, Option<Digest>), EngineError> {
    let (id, generation) = (log.object, log.generation);
    let (found, current) = home.registry.read(|tx| {
        let found = objects::get(tx, Scope::System, id)?;
        let current = versions::list(tx, id, generation, false)?.last().and_then(|version| version.inventory);
        Ok::<_, RegistryError>((found, current))
    })?;
    let gone = || RegistryError::NotFound { what: "object", id: id.to_string() };
    Ok((object_root(&found.ok_or_else(gone)?.institution_identifier, generation)?, current))
}

/// Which root inventory a store has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Root {
    /// None.
    Missing,
    /// The one before the deletion, or the one after it.
    OfPlan,
    /// The one that is recorded, of a later version.
    Recorded,
    /// Another one: it is damaged, or of another time.
    Other,
}

impl Root {
    fn of(object: &Object<'_>, log: &DeletionLog, current: Option<Digest>) -> Result<Self, OcflError> {
        let plan = &log.plan;
        Ok(match object.root_inventory()?.map(|found| found.seal) {
            None => Self::Missing,
            Some(seal) if seal == plan.before || seal == plan.after => Self::OfPlan,
            Some(seal) if current == Some(seal.digest) => Self::Recorded,
            Some(_) => Self::Other,
        })
    }
}

/// Changes what lies in the store; whether the object is there.
fn change(
    object: &Object<'_>,
    log: &DeletionLog,
    current: Option<Digest>,
    go_on: &mut strongroom_ocfl::GoOn<'_>,
) -> Result<bool, OperationError> {
    let plan = &log.plan;
    match Root::of(object, log, current)? {
        Root::OfPlan => plan.carry_out(object, go_on)?,
        Root::Recorded => plan.sweep(object, go_on)?,
        Root::Other => {
            return Err(EngineError::Refused(format!(
                "the root inventory of {} in store {} is neither the one before the deletion nor the one that is recorded",
                log.identifier,
                object.store().name()
            ))
            .next(format!(
                "strongroom fixity run --all --object {} puts it right, and the deletion is carried out then",
                log.identifier
            ))
            .into());
        }
        Root::Missing if object.store().list(object.root())?.next().is_none() => return Ok(false),
        // No inventory names what lies there.
        Root::Missing => {
            plan.sweep(object, go_on)?;
            return Ok(false);
        }
    }
    Ok(true)
}

/// Where the last version has its record, and the digest of it; none where files are deleted.
pub(super) fn last_key(log: &DeletionLog, root: &Key) -> Result<Option<(Key, Digest)>, EngineError> {
    let PurgeScope::Object { version, path, content, assembly, .. } = &log.plan.scope else { return Ok(None) };
    let digest = LastRecord { path, content, assembly }.digest()?;
    let owner: Option<VersionId> = assembly.parse().ok();
    let place = ContentPlace { version: u64::from(version.number()), owner };
    let key = root.join(&content_path(place, &digest)?).map_err(StorageError::from)?;
    Ok(Some((key, digest)))
}

/// Reads the record of the last version back.
fn check_last(store: &dyn Store, key: &Key, digest: &Digest) -> Result<(), OperationError> {
    let body = store.open(key, 0, None)?;
    let failed = |source| StorageError::Io { store: store.name().to_owned(), act: "read", key: key.clone(), source };
    let (_, digests) = hash_reader(body, &[Algorithm::Sha512]).map_err(failed)?;
    if digests.get(Algorithm::Sha512) == Some(*digest) {
        return Ok(());
    }
    Err(EngineError::Refused(format!("{key} in store {} does not read back as it was written", store.name())).into())
}

/// Carries out what is still to be deleted of an object, in every store that is there: before anything else is done to it, and when a
/// store is back. What a store refuses stays noted, with the reason; how many stores are done by it.
pub(crate) fn finish_pending(home: &Home, hold: &ObjectHold<'_>, go_on: &GoOn<'_>) -> Result<u64, OperationError> {
    let object = hold.object();
    let mut done = 0;
    for (id, store) in home.registry.read(|tx| deletions::pending_of_object(tx, object))? {
        go_on.check()?;
        if !home.stores.contains_key(&store) {
            continue;
        }
        let Some(deletion) = home.registry.read(|tx| deletions::get(tx, id))? else { continue };
        match finish_in(home, hold, &deletion, &store, go_on) {
            Ok(()) => done += 1,
            Err(OperationError::Engine(error)) if error.away().is_some() => {}
            // Another registry has the store by now, and this one is not to change it.
            Err(OperationError::Engine(EngineError::Superseded { .. })) => {}
            Err(OperationError::Engine(error)) if !is_of_registry(&error) => {
                let reason = error.chain();
                Event::DeletionRefused { store: &store, deletion: &id.to_string(), reason: &reason }.emit();
                hold.write(move |tx| deletions::set_failed(tx, id, &store, &reason))?;
            }
            Err(halt) => return Err(halt),
        }
    }
    Ok(done)
}

/// Whether a deletion of this generation of an object removes what lies under a key in a store, relative to the folder of the object.
pub(crate) fn removes(
    home: &Home,
    (object, generation): (ObjectId, GenerationId),
    store: &str,
    relative: &str,
) -> Result<bool, EngineError> {
    let ids = home.registry.read(|tx| {
        let mut ids = deletions::pending_in(tx, object, store)?;
        ids.extend(deletions::done_of_object(tx, object, store)?.into_iter().map(|(id, _)| id));
        Ok::<_, RegistryError>(ids)
    })?;
    for id in ids {
        let Some(deletion) = home.registry.read(|tx| deletions::get(tx, id))? else { continue };
        if deletion.generation == generation && tombstone::of(&deletion)?.plan.removes(relative) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether a store has one of these root inventories from before something was deleted of an object, which was carried out there.
pub(crate) fn is_of_before(
    home: &Home,
    object: ObjectId,
    store: &str,
    roots: &[(GenerationId, Digest)],
) -> Result<bool, EngineError> {
    let done = home.registry.read(|tx| deletions::done_of_object(tx, object, store))?;
    is_before(home, done.into_iter().map(|(id, _)| id), roots)
}

/// The inventories that a generation of an object may have in a store in which a deletion of it is still to be carried out.
pub(crate) struct StillBefore {
    pub(crate) generation: GenerationId,
    /// The root inventory before the deletion.
    pub(crate) root: Digest,
    /// This one, and those of the versions before it and after it.
    pub(crate) inventories: BTreeSet<Digest>,
}

/// What deletions have still to be carried out of an object in a store: inventories from before them are no damage.
pub(crate) fn still_before(home: &Home, object: ObjectId, store: &str) -> Result<Vec<StillBefore>, EngineError> {
    let mut found = Vec::new();
    for id in home.registry.read(|tx| deletions::pending_in(tx, object, store))? {
        let Some(deletion) = home.registry.read(|tx| deletions::get(tx, id))? else { continue };
        let plan = tombstone::of(&deletion)?.plan;
        let versions = plan.inventories.values();
        let mut inventories: BTreeSet<Digest> =
            versions.flat_map(|one| [Some(one.before), one.after]).flatten().map(|seal| seal.digest).collect();
        inventories.extend(plan.made.values().map(|seal| seal.digest));
        inventories.insert(plan.before.digest);
        found.push(StillBefore { generation: deletion.generation, root: plan.before.digest, inventories });
    }
    Ok(found)
}

/// Whether one of these root inventories is the one before one of these deletions.
pub(super) fn is_before(
    home: &Home,
    ids: impl Iterator<Item = DeletionId>,
    roots: &[(GenerationId, Digest)],
) -> Result<bool, EngineError> {
    for id in ids {
        if roots.is_empty() {
            break;
        }
        let Some(deletion) = home.registry.read(|tx| deletions::get(tx, id))? else { continue };
        if roots.contains(&(deletion.generation, tombstone::of(&deletion)?.plan.before.digest)) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Carries out what is still to be deleted, object by object, where the stores are there; of how many objects something was removed.
pub(crate) fn finish_all(home: &Home, stop: &Shutdown) -> Result<u64, EngineError> {
    let mut finished = 0;
    let list = |after, limit| home.registry.read(|tx| deletions::pending_objects(tx, after, limit));
    let mut failures = Failures::default();
    for object in paging::rows(OBJECTS_AT_ONCE, |object: &ObjectId| *object, list) {
        if stop.is_requested() {
            break;
        }
        let go_on = || if stop.is_requested() { Err(Interrupted::Draining) } else { Ok(()) };
        let done = ObjectHold::take_alone(home, object?).and_then(|hold| finish_pending(home, &hold, &go_on));
        match done {
            Ok(0) | Err(OperationError::Busy(_) | OperationError::Interrupted(_)) => {}
            Ok(_) => finished += 1,
            Err(OperationError::Engine(error)) => failures.add(error),
        }
    }
    failures.or(finished)
}

/// Whether an error ends the attempt in every store: the registry failed, or a store belongs to another registry by now.
pub(super) fn is_of_registry(error: &EngineError) -> bool {
    matches!(error, EngineError::Registry(_) | EngineError::Superseded { .. })
}

/// Carries a settled deletion out in one store, and records it.
pub(super) fn finish_in(
    home: &Home,
    hold: &ObjectHold<'_>,
    deletion: &Deletion,
    store: &str,
    go_on: &GoOn<'_>,
) -> Result<(), OperationError> {
    let log = tombstone::of(deletion)?;
    let last = carry_out(home, hold, &log, store, go_on)?;
    // Of a store that was put back, a check may have kept older files. Before it is recorded, since nothing asks for it afterwards.
    remove_evidence(home, deletion, go_on)?;
    crash_point("deletion.store.done");
    let (done, store) = (deletion.clone(), store.to_owned());
    let content = super::last::content_of(&log)?;
    hold.write(move |tx| {
        if let (Some(key), Some(content)) = (&last, content) {
            deletions::put_last_copy(tx, &done, &store, (content, key.as_str()))?;
        }
        deletions::set_done(tx, done.id, &store, last.is_some())?;
        deletions::complete(tx, done.id).map(drop)
    })
}

/// Whether a deletion cannot be carried out in a store because of its root inventory.
pub(super) fn is_another_in_the_way(home: &Home, log: &DeletionLog, store: &str) -> Result<bool, EngineError> {
    let (root, current) = in_registry(home, log)?;
    Ok(Root::of(&Object::new(home.store(store)?.as_ref(), root), log, current)? == Root::Other)
}

/// Removes the bytes that the quarantine store keeps as evidence of damage of what was deleted: most of them are the same. The notes beside
/// them stay.
pub(super) fn remove_evidence(home: &Home, deletion: &Deletion, go_on: &GoOn<'_>) -> Result<(), OperationError> {
    let quarantine = &home.roles.quarantine;
    for key in home.registry.read(|tx| deletions::evidence(tx, deletion))? {
        // A finding may have several files, of which its record names the first.
        let finding = Key::new(key).map_err(StorageError::from)?.parent();
        for kept in quarantine.list(&finding)? {
            go_on.check()?;
            let kept = kept?.key;
            if kept.as_str().strip_suffix(".json").is_none() {
                quarantine.purge(&kept)?;
            }
        }
    }
    Ok(())
}
