//! What ended items leave behind: assemblies, rows of versions that were not to be, staged bytes, interim rows. Whatever a
//! sweep does may be repeated.

use std::sync::Arc;

use strongroom_queue::Outcome;
use strongroom_registry::versions::{self, Version};
use strongroom_registry::work::{self, Assignment, Claim, SWEEP_TOPIC};
use strongroom_registry::{ItemId, RegistryError, Scope, Transaction, VersionState, interim, items, leases};
use strongroom_storage::Key;

use super::context::StageError;
use crate::Home;
use crate::runtime::{Handler, Shutdown, TaskContext, TaskEnd, retry_delay};

/// Clears up behind ended items.
pub(super) struct SweepHandler {
    pub(super) home: Arc<Home>,
}

impl Handler for SweepHandler {
    fn topic(&self) -> &str {
        SWEEP_TOPIC
    }

    fn run(&self, assignment: &Assignment, context: &TaskContext) -> TaskEnd {
        let Ok(item) = assignment.task.key.parse::<ItemId>() else {
            return TaskEnd::Task(Outcome::Dead { reason: "the task's key is no work item".into() });
        };
        match sweep(&self.home, item) {
            Ok(()) => TaskEnd::Task(Outcome::Done),
            Err(error) => {
                let at = context.time_after(retry_delay(assignment.task.spent.into()));
                TaskEnd::Task(Outcome::RetryAt { at, reason: format!("{error:?}") })
            }
        }
    }
}

/// Clears up behind an item, if it has ended.
fn sweep(home: &Home, id: ItemId) -> Result<(), StageError> {
    let Some(item) = home.registry.read(|tx| items::get(tx, Scope::System, id))? else { return Ok(()) };
    if !item.status.is_ended() {
        return Ok(());
    }
    if let Some(version) = home.registry.read(|tx| versions::of_item(tx, id))? {
        match version.state {
            VersionState::Preparing => drop_version(home, &version, None)?,
            // Only forward: its assemblies and its staging are still needed.
            VersionState::Committing => return Ok(()),
            VersionState::Published | VersionState::Dropped => {}
        }
    }
    discard_assemblies(home, id)?;
    clear_staging(home, id, None)?;
    let topics = home.registry.write(move |tx| {
        leases::release_owner(tx, id.0)?;
        work::wake_provisioning(tx)
    })?;
    home.registry.wakeups().notify(topics.iter().map(String::as_str));
    Ok(())
}

/// Drops a version that is being prepared: what it has in the stores, then its rows.
pub(crate) fn drop_version(home: &Home, version: &Version, claim: Option<&Claim>) -> Result<(), StageError> {
    if let Some(item) = version.item {
        discard_assemblies(home, item)?;
    }
    loop {
        let (version, claim) = (version.clone(), claim.cloned());
        let all_gone = home.registry.write(move |tx| {
            still_held(tx, claim.as_ref())?;
            versions::drop_rows(tx, &version)
        })?;
        if all_gone {
            return Ok(());
        }
    }
}

/// Drops what an item has assembled and not committed, in every store.
pub(crate) fn discard_assemblies(home: &Home, item: ItemId) -> Result<(), StageError> {
    let id = item.to_string();
    for store in home.stores.values() {
        if store.assemblies()?.contains(&id) {
            store.assembly(&id, &Key::new(format!("discarded/{id}"))?)?.discard()?;
        }
    }
    Ok(())
}

/// Drops an item's staged bytes, interim rows and facts.
pub(crate) fn clear_staging(home: &Home, item: ItemId, claim: Option<&Claim>) -> Result<(), StageError> {
    let check = claim.cloned();
    home.registry.write(move |tx| still_held(tx, check.as_ref()))?;
    home.roles.staging.delete_all(&Key::new(item.to_string())?)?;
    loop {
        let check = claim.cloned();
        let all_gone = home.registry.write(move |tx| {
            still_held(tx, check.as_ref())?;
            let all_gone = interim::clear_files(tx, item)?;
            if all_gone {
                interim::clear(tx, item)?;
            }
            Ok::<_, RegistryError>(all_gone)
        })?;
        if all_gone {
            return Ok(());
        }
    }
}

/// Behind an item that has ended nobody holds it; a stage that clears up must still be the one.
fn still_held(tx: &mut dyn Transaction, claim: Option<&Claim>) -> Result<(), RegistryError> {
    claim.map_or(Ok(()), |claim| work::check_fence(tx, claim))
}

/// Removes from staging what no open work item owns: garbage of a process that was killed between two steps. Asked to
/// stop, it leaves the rest.
pub fn sweep_staging(home: &Home, stop: &Shutdown) -> Result<u64, crate::EngineError> {
    let mut removed = 0;
    let mut last_owner: Option<(String, bool)> = None;
    let mut garbage = Vec::new();
    for listed in home.roles.staging.list(&Key::ROOT)? {
        if stop.is_requested() {
            break;
        }
        let key = listed?.key;
        let owner = key.as_str().split('/').next().unwrap_or_default();
        if last_owner.as_ref().is_some_and(|(known, _)| known == owner) {
            continue;
        }
        let is_owned = match owner.parse::<ItemId>() {
            Ok(id) => home.registry.read(|tx| {
                Ok::<_, RegistryError>(
                    items::get(tx, Scope::System, id)?.is_some_and(|item| !item.status.is_ended() || item.needs_review),
                )
            })?,
            Err(_) => true,
        };
        if !is_owned {
            garbage.push(owner.to_owned());
        }
        last_owner = Some((owner.to_owned(), is_owned));
    }
    for owner in garbage {
        if stop.is_requested() {
            break;
        }
        home.roles.staging.delete_all(&Key::new(owner).map_err(strongroom_storage::StorageError::from)?)?;
        removed += 1;
    }
    Ok(removed)
}
