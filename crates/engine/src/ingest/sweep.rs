//! What ended items leave behind: versions that were not to be, with their rows and bytes; staged bytes; interim rows.
//! Everything goes by the identifier of a version or of a place in staging, neither of which is ever used again: whatever a
//! sweep does may be repeated, and one that sleeps and wakes late reaches nothing that came since.

use std::collections::BTreeSet;
use std::sync::Arc;

use strongroom_ocfl::VersionAssembly;
use strongroom_queue::Outcome;
use strongroom_registry::discarding::{self, Authority};
#[cfg(feature = "failpoints")]
use strongroom_registry::faults;
use strongroom_registry::interim::{self, StagingPlace};
use strongroom_registry::versions::{self, Version};
use strongroom_registry::work::{self, Assignment, SWEEP_TOPIC};
use strongroom_registry::{
    ItemId, RegistryError, Scope, Time, VersionId, VersionState, WaitKey, items, leases, objects, receiving,
};
use strongroom_storage::{Key, StorageError, Store};

use super::kept_downloads;
use crate::error::Failures;
use crate::layout::version_number;
use crate::logs::object_root;
use crate::paging::pages;
use crate::receiving::REMOVAL;
use crate::runtime::{Handler, Shutdown, TaskContext, TaskEnd, retry_delay};
use crate::task_kinds::TaskKind;
use crate::workflow::StageError;
use crate::{EngineError, Home, crash_point};

/// How long after its sweep a discarded version is swept once more, in microseconds: a process that slept meanwhile has
/// woken by then, or never will.
const SWEPT_AGAIN_FOR: i64 = 2 * 24 * 60 * 60 * 1_000_000;
/// Versions looked up at once.
const VERSIONS_AT_ONCE: usize = 500;
/// Work items looked up at once.
const ITEMS_AT_ONCE: usize = 500;
/// The line in the history of a deposit whose space was released because it failed long ago.
const RECLAIMED: &str = "what it had in staging and of downloads is removed: it failed longer ago than staging.failed_retention; when it is \
                         requeued, its package is fetched again";

/// Clears up behind ended items.
/// The kind of sweeps after items that ended without success.
pub(crate) const SWEEP_TASK: TaskKind = TaskKind {
    topic: SWEEP_TOPIC,
    goes_after: &[],
    is_before_stages: true,
    handler: |home| Arc::new(SweepHandler { home: home.clone() }),
};

struct SweepHandler {
    home: Arc<Home>,
}

impl Handler for SweepHandler {
    fn topic(&self) -> &str {
        SWEEP_TOPIC
    }

    fn run(&self, assignment: &Assignment, context: &TaskContext) -> TaskEnd {
        let Ok(item) = assignment.task.key.parse::<ItemId>() else {
            return TaskEnd::from(Outcome::Dead { reason: "the task's key is no work item".into() });
        };
        match sweep(&self.home, item) {
            Ok(()) => TaskEnd::from(Outcome::Done),
            // No attempt is spent on a store that is away.
            Err(StageError::Away { store, .. }) => {
                TaskEnd::from(Outcome::Defer(context.time_after(self.home.ask_again_for(&store))))
            }
            Err(error) => {
                let at = context.time_after(retry_delay(assignment.task.spent.into()));
                TaskEnd::from(Outcome::RetryAt { at, reason: error.to_string() })
            }
        }
    }
}

/// Clears up behind an item, if it has ended: what needs no preservation store goes first, as one of those may be away. Where
/// a person requeues it meanwhile, the rest is left to its next stages.
fn sweep(home: &Home, id: ItemId) -> Result<(), StageError> {
    let Some(item) = home.registry.read(|tx| items::get(tx, Scope::System, id))? else { return Ok(()) };
    if !item.status.is_ended() {
        return Ok(());
    }
    let authority = Authority::Ended(id);
    let version = home.registry.read(|tx| versions::of_item(tx, id))?;
    match version.as_ref().map(|version| version.state) {
        // Only forward: its assemblies and its staging are still needed.
        Some(VersionState::Committing) => return Ok(()),
        Some(VersionState::Preparing) => {
            if let Some(version) = &version {
                mark(home, &authority, version)?;
            }
        }
        _ => {}
    }
    clear_staging(home, id, &authority)?;
    kept_downloads::forget(home, id)?;
    let topics = home.registry.write(move |tx| {
        Authority::Ended(id).check(tx)?;
        let mut topics = leases::release_owner(tx, id.0)?;
        topics.extend(work::wake_all(tx, &WaitKey::staging(), None)?);
        Ok::<_, RegistryError>(topics)
    })?;
    home.registry.wakeups().notify(topics.iter().map(String::as_str));
    for version in home.registry.read(|tx| discarding::unswept_of_item(tx, id))? {
        finish_discarding(home, &version)?;
    }
    Ok(())
}

/// Discards a version that is being prepared: marks it, then removes its rows and its bytes.
pub(crate) fn discard(home: &Home, authority: &Authority, version: &Version) -> Result<(), StageError> {
    mark(home, authority, version)?;
    finish_discarding(home, version)
}

/// Marks a version that is being prepared as discarded.
fn mark(home: &Home, authority: &Authority, version: &Version) -> Result<(), StageError> {
    #[cfg(feature = "failpoints")]
    if faults::is_put_back(faults::RESUMED_DISCARD) {
        remove_bytes(home, version)?;
    }
    let (authority, marked) = (authority.clone(), version.clone());
    home.registry.write(move |tx| discarding::discard(tx, &authority, &marked))?;
    crash_point("ingest.sweep.marked");
    Ok(())
}

/// Removes the rows of a version that is marked as discarded, then its bytes in every store; then its number is free.
pub(crate) fn finish_discarding(home: &Home, version: &Version) -> Result<(), StageError> {
    loop {
        let version = version.clone();
        if home.registry.write(move |tx| discarding::drop_rows(tx, &version))? {
            break;
        }
    }
    crash_point("ingest.sweep.dropped");
    remove_bytes(home, version)?;
    crash_point("ingest.sweep.removed");
    let id = version.id;
    home.registry.write(move |tx| discarding::set_swept(tx, id))?;
    Ok(())
}

/// Removes what was put under the identifier of a discarded version, in every store that it may have been written to; whether
/// all of them were there. The sweep does not wait for one that was taken out of use: it may be gone for good.
fn remove_bytes(home: &Home, version: &Version) -> Result<bool, EngineError> {
    let object = home.registry.read(|tx| objects::get(tx, Scope::System, version.object))?;
    let Some(object) = object else { return Ok(true) };
    let root = object_root(&object.institution_identifier, version.generation)?;
    let number = version_number(version.number)?;
    let mut were_all_there = true;
    for store in stores_of(home, version)? {
        #[cfg(feature = "failpoints")]
        if faults::is_put_back(faults::DISCARD_BY_NUMBER) {
            store.delete_all(&root.join(&number.to_string()).map_err(StorageError::from)?)?;
        }
        let removed = VersionAssembly::open(store, &version.id.to_string(), &root, number)
            .and_then(|assembly| assembly.abandon())
            .map_err(EngineError::from)
            .and_then(|()| Ok(store.sync()?));
        match removed {
            Err(error) if error.away().is_some() && home.is_retired(store.name())? => were_all_there = false,
            outcome => outcome?,
        }
    }
    Ok(were_all_there)
}

/// Every store that may hold bytes of a discarded version: those that were noted before it was written, and the preservation
/// stores of now. A store that was taken out of use and out of the settings is out of reach, with what it holds.
fn stores_of<'h>(home: &'h Home, version: &Version) -> Result<Vec<&'h dyn Store>, EngineError> {
    let id = version.id;
    let mut names: BTreeSet<String> = home.registry.read(|tx| discarding::noted_stores(tx, id))?.into_iter().collect();
    names.extend(home.settings.preservation_stores().into_iter().map(str::to_owned));
    let mut stores: Vec<&dyn Store> = Vec::with_capacity(names.len());
    for name in names {
        match home.stores.get(&name) {
            Some(store) => stores.push(store.as_ref()),
            None if home.is_retired(&name)? => {}
            None => {
                return Err(EngineError::Settings(format!(
                    "version {} with the id {id} was discarded and may have bytes in store {name}, which they do not \
                     name; next: \
                     name the store again, so that these are removed; one that is gone for good is taken out of use with \
                     \"strongroom store retire {name}\" while it is named",
                    version.number
                )));
            }
        }
    }
    Ok(stores)
}

/// Removes an item's staged bytes, then its interim rows. The facts go first, in the transaction that marks the bytes as
/// discarded, so that no stage goes on with what is being removed.
pub(crate) fn clear_staging(home: &Home, item: ItemId, authority: &Authority) -> Result<(), StageError> {
    let place = clear_staged_bytes(home, item, authority)?;
    while !drop_some_rows(home, item, authority, place)? {}
    Ok(())
}

/// The same, but for the last rows: as many as one transaction drops are left to the caller, with where the bytes lay.
pub(crate) fn clear_staged_bytes(
    home: &Home,
    item: ItemId,
    authority: &Authority,
) -> Result<Option<StagingPlace>, StageError> {
    let check = authority.clone();
    let (place, has_many) = home.registry.write(move |tx| {
        check.check(tx)?;
        Ok::<_, RegistryError>((interim::discard_staging(tx, item)?, interim::has_many_rows(tx, item)?))
    })?;
    crash_point("ingest.sweep.unstaged");
    if let Some(place) = place {
        let prefix = place.id.map_or_else(|| item.to_string(), |id| format!("{item}/{id}"));
        home.roles.staging.delete_all(&Key::new(prefix)?)?;
    }
    if has_many {
        while !drop_some_rows(home, item, authority, place)? {}
    }
    Ok(place)
}

/// Drops interim rows of an item whose bytes are gone; whether all are dropped.
fn drop_some_rows(
    home: &Home,
    item: ItemId,
    authority: &Authority,
    place: Option<StagingPlace>,
) -> Result<bool, StageError> {
    let check = authority.clone();
    Ok(home.registry.write(move |tx| {
        check.check(tx)?;
        interim::drop_staged_rows(tx, item, place)
    })?)
}

/// Releases the space of deposits that failed longer ago than the settings say: marks what they have in staging as being removed, and
/// enqueues the tasks that remove it. How many they are. Asked to stop, it leaves the rest.
pub fn reclaim_failed(home: &Home, stop: &Shutdown) -> Result<u64, EngineError> {
    let retention = home.settings.staging.failed_retention;
    let kept_for = i64::try_from(retention.as_micros()).unwrap_or(i64::MAX);
    let before = home.registry.read(|tx| {
        let now = tx.now()?;
        Ok::<_, RegistryError>(Time(now.0.saturating_sub(kept_for)))
    })?;
    let look_up = |after: Option<ItemId>, limit| {
        let after = after.unwrap_or(ItemId(uuid::Uuid::nil()));
        home.registry.read(|tx| interim::failed_before(tx, before, after, limit))
    };
    let mut reclaimed = 0;
    for page in pages(ITEMS_AT_ONCE, |item: &ItemId| *item, look_up) {
        for item in page? {
            if stop.is_requested() {
                return Ok(reclaimed);
            }
            let topics = home.registry.write(move |tx| interim::reclaim_failed(tx, item, before, RECLAIMED))?;
            let Some(topics) = topics else { continue };
            home.registry.wakeups().notify(topics.iter().map(String::as_str));
            reclaimed += 1;
        }
    }
    Ok(reclaimed)
}

/// Removes from staging what no work item can use any more: garbage of a process that was killed between two steps, or that
/// slept through the end of its item. Asked to stop, it leaves the rest.
pub fn sweep_staging(home: &Home, stop: &Shutdown) -> Result<u64, EngineError> {
    let mut garbage: Vec<Place> = Vec::new();
    let mut last: Option<Place> = None;
    for listed in home.roles.staging.list(&Key::ROOT)? {
        if stop.is_requested() {
            break;
        }
        let key = listed?.key;
        let Some(place) = place_of(key.as_str()) else { continue };
        if last.as_ref() == Some(&place) {
            continue;
        }
        if is_garbage(home, &place)? {
            garbage.push(place.clone());
        }
        last = Some(place);
    }
    let mut removed = 0;
    for place in garbage {
        if stop.is_requested() {
            break;
        }
        if !is_garbage(home, &place)? {
            continue;
        }
        match &place {
            Place::Folder(item, id) => {
                let prefix = Key::new(format!("{item}/{id}")).map_err(StorageError::from)?;
                home.roles.staging.delete_all(&prefix)?;
            }
            Place::File(_, key) | Place::Removal(_, key) => {
                home.roles.staging.delete(&Key::new(key.as_str()).map_err(StorageError::from)?)?;
            }
        }
        removed += 1;
    }
    Ok(removed)
}

/// A place in staging, which is swept as one.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Place {
    /// `<item>/<id>/`: what was staged for an item.
    Folder(ItemId, uuid::Uuid),
    /// A file directly below `<item>/`: staged before places had identifiers.
    File(ItemId, String),
    /// What is written down for the removal of an upload.
    Removal(ItemId, String),
}

/// The place in staging that a key belongs to; none for what is no item's.
fn place_of(key: &str) -> Option<Place> {
    let (item, below) = key.split_once('/')?;
    let item = item.parse::<ItemId>().ok()?;
    let id = below.split_once('/').and_then(|(id, _)| id.parse::<uuid::Uuid>().ok());
    Some(match id {
        Some(id) => Place::Folder(item, id),
        None if below == REMOVAL => Place::Removal(item, key.to_owned()),
        None => Place::File(item, key.to_owned()),
    })
}

/// Whether nothing can use what lies in a place of staging: its item has another place by now, which it keeps; or the item
/// has ended for good; or the upload whose removal is written down there is not being removed.
fn is_garbage(home: &Home, place: &Place) -> Result<bool, EngineError> {
    Ok(home.registry.read(|tx| match place {
        Place::Folder(item, id) => {
            let current = interim::staging_place(tx, *item)?;
            Ok::<_, RegistryError>(current.and_then(|place| place.id) != Some(*id))
        }
        Place::File(item, _) => {
            let found = items::get(tx, Scope::System, *item)?;
            Ok(!found.is_some_and(|item| !item.status.is_ended() || item.needs_review))
        }
        Place::Removal(item, _) => Ok(!receiving::is_removing(tx, *item)?),
    })?)
}

/// Removes what processes that slept through a sweep have put since under the identifiers of discarded versions, and what
/// was assembled again of published ones. Asked to stop, it leaves the rest.
pub fn sweep_assemblies(home: &Home, stop: &Shutdown) -> Result<(), EngineError> {
    let since = home.registry.read(|tx| Ok::<_, RegistryError>(tx.now()?.plus(-SWEPT_AGAIN_FOR)))?;
    let look_up = |after, limit| home.registry.read(|tx| discarding::swept_since(tx, since, after, limit));
    let mut failures = Failures::default();
    for page in pages(VERSIONS_AT_ONCE, |version: &Version| version.id, look_up) {
        for version in page? {
            if stop.is_requested() {
                return Ok(());
            }
            // One that cannot be swept now keeps no other from it.
            if let Err(error) = sweep_again(home, &version) {
                failures.add(error);
            }
        }
    }
    for store in home.preservation_stores() {
        // A store that cannot be swept now keeps no other from it.
        if let Err(error) = sweep_assemblies_of(home, store, stop) {
            failures.add(error);
        }
    }
    failures.or(())
}

fn sweep_assemblies_of(home: &Home, store: &dyn Store, stop: &Shutdown) -> Result<(), EngineError> {
    for id in store.assemblies()? {
        if stop.is_requested() {
            break;
        }
        sweep_assembly(home, store, &id)?;
    }
    Ok(())
}

/// Sweeps a discarded version once more, and goes on with it for as long as a store that was taken out of use is away: it may
/// come back with what was written to it.
fn sweep_again(home: &Home, version: &Version) -> Result<(), EngineError> {
    if remove_bytes(home, version)? {
        return Ok(());
    }
    let id = version.id;
    home.registry.write(move |tx| discarding::sweep_again(tx, id))?;
    Ok(())
}

/// Removes an assembly whose version is published or was dropped.
fn sweep_assembly(home: &Home, store: &dyn Store, id: &str) -> Result<(), EngineError> {
    let Ok(version) = id.parse::<VersionId>() else { return Ok(()) };
    let version = home.registry.read(|tx| versions::get(tx, version))?;
    if version.is_some_and(|version| is_over(&version)) {
        // Out of sight: nothing under the target is reached.
        store.assembly(id, &Key::new(format!("discarded/{id}")).map_err(StorageError::from)?)?.discard()?;
    }
    Ok(())
}

/// Whether what is assembled of a version is not needed any more.
pub(crate) fn is_over(version: &Version) -> bool {
    matches!(version.state, VersionState::Published | VersionState::Dropped)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_staged_key_belongs_to_a_place_of_an_item() {
        let (item, id) = (ItemId::new(), uuid::Uuid::now_v7());
        let key = |below: &str| format!("{item}/{below}");
        assert_eq!(place_of(&key(&format!("{id}/pack-1"))), Some(Place::Folder(item, id)));
        assert_eq!(place_of(&key("pack-1")), Some(Place::File(item, key("pack-1"))));
        assert_eq!(place_of(&key("removal")), Some(Place::Removal(item, key("removal"))));
        assert_eq!(place_of(&key("removal/1")), Some(Place::File(item, key("removal/1"))));
        assert_eq!(place_of(&item.to_string()), None);
        assert_eq!(place_of("other/pack-1"), None);
    }
}
