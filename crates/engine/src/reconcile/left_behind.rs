//! What work that has ended left in a store: assemblies, staged bytes, and what lies of versions that were given up, which the
//! next run of the background task sweeps.

use strongroom_registry::{
    ItemId, ObjectId, RegistryError, Scope, VersionId, VersionState, deletion_requests, deletions, discarding, items,
    receiving, schedules, versions,
};
use strongroom_storage::Key;

use super::object::owner_of;
use super::place::{Place, place};
use super::{Code, Reconciling};
use crate::ingest::is_over;
use crate::receiving::REMOVAL;
use crate::{EngineError, background};

impl Reconciling<'_> {
    /// Reports assemblies that nothing is made of any more.
    pub(super) fn assemblies(&mut self) -> Result<(), EngineError> {
        for id in self.store.assemblies()? {
            let is_owned = self.is_being_written(&id)? || self.is_owned(&id)?;
            if !is_owned && self.store.assemblies()?.contains(&id) {
                self.sweep_assembly_soon(&id)?;
                self.differs(Code::AssemblyAbandoned, &id, None, None)?;
            }
        }
        Ok(())
    }

    /// Says what lies in staging that no work item has.
    pub(super) fn staging(&mut self) -> Result<(), EngineError> {
        let mut last: Option<String> = None;
        for listed in self.store.list(&Key::ROOT)? {
            let key = listed?.key;
            self.compared.keys += 1;
            let owner = key.as_str().split('/').next().unwrap_or_default();
            if self.is_removal(key.as_str(), owner)? {
                continue;
            }
            if last.as_deref() == Some(owner) {
                continue;
            }
            last = Some(owner.to_owned());
            if self.is_owned(owner)? || self.store.head(&key).is_err() {
                continue;
            }
            // What no work item can own is left alone by the sweep too.
            let is_items = owner.parse::<ItemId>().is_ok();
            self.differs(if is_items { Code::StagingAbandoned } else { Code::FileForeign }, owner, None, None)?;
        }
        Ok(())
    }

    /// Whether a staged key is what is written down for a removal that is under way.
    fn is_removal(&self, key: &str, owner: &str) -> Result<bool, EngineError> {
        let Ok(item) = owner.parse::<ItemId>() else { return Ok(false) };
        let is_meant = key.strip_prefix(owner).is_some_and(|rest| rest.strip_prefix('/') == Some(REMOVAL));
        Ok(is_meant && self.home.registry.read(|tx| receiving::is_removing(tx, item))?)
    }

    /// Whether a version of this identifier is being written, or is discarded and not swept yet.
    fn is_being_written(&self, id: &str) -> Result<bool, EngineError> {
        let Ok(id) = id.parse::<VersionId>() else { return Ok(false) };
        let version = self.home.registry.read(|tx| versions::get(tx, id))?;
        Ok(version.is_some_and(|version| match version.state {
            VersionState::Preparing | VersionState::Committing | VersionState::Dropping => true,
            VersionState::Dropped => version.swept_at.is_none(),
            VersionState::Published => false,
        }))
    }

    /// Whether a work item of this identifier is open, or keeps what it has until a person has reviewed it.
    fn is_owned(&self, id: &str) -> Result<bool, EngineError> {
        let Ok(id) = id.parse::<ItemId>() else { return Ok(false) };
        let item = self.home.registry.read(|tx| items::get(tx, Scope::System, id))?;
        if item.is_some_and(|item| !item.status.is_ended() || item.needs_review) {
            return Ok(true);
        }
        // An item that has ended is swept behind.
        let tasks = self
            .home
            .registry
            .read(|tx| Ok::<_, RegistryError>(strongroom_queue::tasks::of_key(tx, &id.to_string())?))?;
        Ok(!tasks.is_empty())
    }

    /// Has an assembly that is swept because its version is over removed by the next turn of the schedule.
    fn sweep_assembly_soon(&self, id: &str) -> Result<(), EngineError> {
        let Ok(id) = id.parse::<VersionId>() else { return Ok(()) };
        let version = self.home.registry.read(|tx| versions::get(tx, id))?;
        if version.is_some_and(|version| is_over(&version)) { self.sweep_version_soon(id) } else { Ok(()) }
    }

    /// Has what lies under the identifier of a version that was given up removed by the schedule.
    pub(super) fn sweep_again(&self, key: &str) -> Result<(), EngineError> {
        let Place::Object(root) = place(key) else { return Ok(()) };
        let relative = key.get(root.len() + 1..).unwrap_or_default();
        owner_of(relative).map_or(Ok(()), |version| self.sweep_version_soon(version))
    }

    /// Has what was deleted of an object be removed again from the store by the background task.
    pub(super) fn delete_again(&mut self, object: ObjectId) -> Result<(), EngineError> {
        if self.home.registry.refusal().is_none() && self.deleted_again != Some(object) {
            let store = self.store.name().to_owned();
            self.home.registry.write(move |tx| {
                deletions::reopen_of_object_in(tx, object, &store)?;
                schedules::hasten(tx, deletion_requests::TASK)
            })?;
            self.deleted_again = Some(object);
        }
        Ok(())
    }

    /// Has the next turn of the schedule remove what lies of a version that was given up, and what was assembled of any that is
    /// over.
    fn sweep_version_soon(&self, version: VersionId) -> Result<(), EngineError> {
        if self.home.registry.refusal().is_none() {
            self.home.registry.write(move |tx| {
                discarding::sweep_again(tx, version)?;
                schedules::hasten(tx, background::staging::NAME)
            })?;
        }
        Ok(())
    }
}
