//! One object in one store against the registry: nothing new, copies and acts that the registry does not know, versions it
//! does not know, or a contradiction, which is reported and never written over.

use std::cell::RefCell;
use std::collections::BTreeMap;

use strongroom_digest::Digest;
use strongroom_ocfl::{Object, VersionAssembly, VersionNumber};
use strongroom_registry::backfill::{self, ObjectCopy};
use strongroom_registry::rebuild::{self as rows, RecordedObject};
use strongroom_registry::versions::Version;
use strongroom_registry::{GenerationId, ObjectId, ObjectState, RegistryError, Scope, VersionState, objects};
use strongroom_storage::{Key, Store};

use super::object::{Rebuilding, drop_version};
use super::object_summary::{self, ObjectSummary};
use super::{RebuildError, Summary, copies, logs};
use crate::deletion::{KnownDeletions, OpenDeletions};
use crate::hold::ObjectHold;
use crate::ingest::finish_discarding;
use crate::layout::version_number;
use crate::{Home, crash_point};

/// Taking up what one store knows.
pub(super) struct Taking<'a> {
    pub(super) home: &'a Home,
    pub(super) store: &'a dyn Store,
    /// Whether the registry is behind its stores, so that no other process can be at work with it.
    pub(super) is_behind: bool,
    /// Where only what there is to do is counted: what was counted in stores before this one.
    pub(super) dry_run: Option<&'a Counted>,
}

/// What is said of a tombstone that a registry does not know which is not behind its stores: it records a deletion before a store hears of it.
pub(super) const UNKNOWN_DELETION: &str = "its logs tell of a deletion that the registry does not know, though the registry is not behind its \
     stores: nothing is deleted because of it; next: find out who wrote it, and remove it by hand where it is not yours";

/// What is said of a tombstone of something that a legal hold forbids to delete.
pub(super) const HELD_DELETION: &str = "its logs tell of a deletion that a legal hold of the registry forbids: nothing is deleted because of it; next: \
     find out who wrote it; where it is right, release the hold with \"strongroom hold legal release\", and a registry that is made anew by \
     \"strongroom rebuild\" takes it up; else remove it by hand, and \"strongroom fixity run\" puts the object back";

/// Up to which version each object was counted by a dry run. A run takes an object up from the first store that knows
/// it, with its copies in the others.
#[derive(Debug, Default)]
pub(super) struct Counted(RefCell<BTreeMap<GenerationId, u64>>);

impl<'a> Taking<'a> {
    /// Takes up what the store knows of the object at `root`.
    pub(super) fn object(&self, institution: &str, root: &Key, summary: &mut Summary) -> Result<(), RebuildError> {
        let glance = object_summary::look(self.store, root)?;
        let generation = glance.generation;
        let known = self.home.registry.read(|tx| rows::of_generation(tx, generation))?;
        let published = known.iter().rfind(|version| version.state == VersionState::Published);
        let identity = match known.first() {
            Some(version) => Some(self.identity(version, institution)?),
            None => None,
        };
        let head = published.map_or(0, |version| version.number);
        if let Some(published) = published {
            let open = OpenDeletions::read(self.home, published.object, self.store.name())?;
            if self.is_behind && self.dry_run.is_none() && open.settle_begun(self.home)? {
                return self.object(institution, root, summary);
            }
            if open.is_behind(self.home, (generation, glance.inventory))? {
                // What was deleted is removed from it, and it has nothing else that is not known.
                if self.dry_run.is_none() {
                    open.reopen(self.home)?;
                }
                return self.behind_deletion(published, identity.as_ref(), root, summary);
            }
            let deletions = KnownDeletions::read(self.store, root, generation)?;
            let is_unknown = deletions.first_unknown(self.home, published.object)?.is_some();
            let may_learn = self.is_behind || self.dry_run.is_some();
            if is_unknown && !may_learn {
                // Where the inventories differ as well, the comparison below refuses the object.
                summary.note(self.store.name(), root.as_str(), UNKNOWN_DELETION);
            }
            if is_unknown && may_learn && deletions.explain(published, self.inventory_of(root, &glance, published)?) {
                if self.dry_run.is_some() {
                    summary.taken += 1;
                    return Ok(());
                }
                if let Some(identity) = &identity {
                    // Holds that were released since.
                    let of = logs::Of { root, institution: identity.institution, object: published.object, generation };
                    let hold = deletions.hold(self.home, published.object)?;
                    summary.events += logs::import(self.home, &hold, self.store, of)?;
                }
                let imported = deletions.import(self.home, published.object, (self.store, root))?;
                if imported.held > 0 {
                    return Err(RebuildError::Object(HELD_DELETION.to_owned()));
                }
                if imported.deletions == 0 {
                    return self.check(root, &glance, published);
                }
                crash_point("rebuild.object.deleted");
                return self.object(institution, root, summary);
            }
            if !open.are_pending() {
                self.check(root, &glance, published)?;
            }
        }
        match (identity, published) {
            (Some(identity), Some(_)) if glance.head == head => self.same(&identity, root, summary),
            (identity, _) => {
                let given_up = self.home.registry.read(|tx| rows::unswept_of_generation(tx, generation))?;
                // An object may be known by such a version alone.
                let identity = match (identity, given_up.first()) {
                    (None, Some(version)) => Some(self.identity(version, institution)?),
                    (identity, _) => identity,
                };
                let known: Vec<Version> = known.into_iter().chain(given_up).collect();
                self.later(identity, institution, root, glance, head, &known, summary)
            }
        }
    }

    /// The object as the registry has it, which must be the institution's in whose storage root it lies.
    fn identity(&self, version: &Version, institution: &str) -> Result<RecordedObject, RebuildError> {
        let object = version.object;
        let known = self.home.registry.read(|tx| objects::get(tx, Scope::System, object))?;
        let Some(known) = known else {
            return Err(RebuildError::Object("its object is gone from the registry".into()));
        };
        if known.institution_identifier != institution {
            return Err(RebuildError::Object(format!(
                "it is in the storage root of {institution}, and the registry has it under {}",
                known.institution_identifier
            )));
        }
        Ok(RecordedObject {
            id: known.id,
            institution: known.institution,
            collection: None,
            identifier: known.identifier,
            generation: version.generation,
            ark: known.ark,
            created_at: known.created_at,
        })
    }

    /// Refuses a store that contradicts the record, or is behind it.
    fn check(&self, root: &Key, glance: &ObjectSummary, published: &Version) -> Result<(), RebuildError> {
        if glance.head < published.number {
            return Err(RebuildError::Object(format!(
                "it holds version {}, the registry has {}: \"strongroom fixity run\" puts back what is recorded",
                glance.head, published.number
            )));
        }
        match (self.inventory_of(root, glance, published)?, published.inventory) {
            (Some(found), Some(recorded)) if found != recorded => Err(RebuildError::Object(format!(
                "its inventory of version {} has sha512:{found}, the registry has sha512:{recorded}: one of them is not what \
                 was published; nothing is changed",
                published.number
            ))),
            _ => Ok(()),
        }
    }

    /// The store has the object as it was before a deletion that is pending there: what stays is noted, and the deletion is carried out
    /// there afterwards.
    fn behind_deletion(
        &self,
        published: &Version,
        identity: Option<&RecordedObject>,
        root: &Key,
        summary: &mut Summary,
    ) -> Result<(), RebuildError> {
        let (object, generation, name) = (published.object, published.generation, self.store.name());
        let copies = self.home.registry.read(|tx| objects::object_copies(tx, object))?;
        let is_noted = copies.iter().any(|(store, _, _)| store == name);
        let (Some(identity), None, false) = (identity, self.dry_run, is_noted) else {
            summary.known += 1;
            return Ok(());
        };
        let hold = ObjectHold::take_alone(self.home, object)?;
        let is_deleted = self.home.registry.read(|tx| objects::get(tx, Scope::System, object))?;
        if is_deleted.is_none_or(|object| object.state != ObjectState::Deleted) {
            copies::look_for_contents(self.home, self.store, root, identity, summary)?;
        }
        let copy = ObjectCopy { institution: identity.institution, object, generation, store: name.to_owned() };
        hold.write(move |tx| backfill::put_object_copy(tx, &copy, false))?;
        summary.taken += 1;
        Ok(())
    }

    /// The digest of the inventory that the store has of a version; none where it was taken out.
    fn inventory_of(
        &self,
        root: &Key,
        glance: &ObjectSummary,
        version: &Version,
    ) -> Result<Option<Digest>, RebuildError> {
        if glance.head == version.number {
            return Ok(Some(glance.inventory));
        }
        let number = VersionNumber::new(u32::try_from(version.number).unwrap_or(u32::MAX))?;
        Ok(Object::new(self.store, root.clone()).version_inventory(number)?.map(|found| found.seal.digest))
    }

    /// The registry has the object as the store does: what may be missing are copies and later acts.
    fn same(&self, identity: &RecordedObject, root: &Key, summary: &mut Summary) -> Result<(), RebuildError> {
        let (object, generation, name) = (identity.id, identity.generation, self.store.name());
        let of = logs::Of { root, institution: identity.institution, object, generation };
        let (has_copy, uncopied) = self.home.registry.read(|tx| {
            let copies = objects::object_copies(tx, object)?;
            let uncopied = rows::uncopied(tx, object, generation, name, None, 1)?;
            Ok::<_, RegistryError>((copies.iter().any(|(store, _, _)| store == name), !uncopied.is_empty()))
        })?;
        let acts = logs::unknown(self.home, self.store, of, summary)?;
        if has_copy && !uncopied && acts == 0 {
            summary.known += 1;
            return Ok(());
        }
        if self.dry_run.is_some() {
            summary.taken += 1;
            return Ok(());
        }
        let hold = ObjectHold::take_alone(self.home, object)?;
        let before = summary.copies;
        if uncopied {
            copies::look_for_contents(self.home, self.store, root, identity, summary)?;
        }
        if !has_copy {
            let copy = ObjectCopy { institution: identity.institution, object, generation, store: name.to_owned() };
            hold.write(move |tx| backfill::put_object_copy(tx, &copy, false))?;
        }
        let events = logs::import(self.home, &hold, self.store, of)?;
        summary.events += events;
        if has_copy && events == 0 && summary.copies == before {
            // What the record lacks is not in the store either.
            summary.known += 1;
        } else {
            summary.taken += 1;
        }
        Ok(())
    }

    /// The store has versions that the registry does not know.
    #[allow(clippy::too_many_arguments)] // what was found out of one object
    fn later(
        &self,
        identity: Option<RecordedObject>,
        institution: &str,
        root: &Key,
        glance: ObjectSummary,
        head: u64,
        known: &[Version],
        summary: &mut Summary,
    ) -> Result<(), RebuildError> {
        if let Some(Counted(counted)) = self.dry_run {
            let before = counted.borrow_mut().insert(glance.generation, glance.head).unwrap_or_default().max(head);
            if glance.head > before {
                summary.taken += 1;
                summary.versions += glance.head - before;
            } else {
                summary.known += 1;
            }
            return Ok(());
        }
        let open: Vec<&Version> = known
            .iter()
            .filter(|version| version.state != VersionState::Published && version.number <= glance.head)
            .collect();
        let mut rebuilding = Rebuilding::new(self.home, self.store, institution, root, glance);
        rebuilding.after = head;
        rebuilding.is_behind = self.is_behind;
        if let Some(identity) = &identity {
            rebuilding.hold = Some(self.hold(identity.id, &open)?);
        }
        rebuilding.identity = identity;
        for version in open {
            if version.state != VersionState::Committing {
                self.give_up(root, version)?;
                continue;
            }
            self.check_committing(root, &rebuilding, version)?;
            rebuilding.after = version.number;
            rebuilding.committing.push(version.clone());
        }
        rebuilding.import(summary)?;
        summary.taken += 1;
        Ok(())
    }

    /// Makes way for what the store holds under the number of a version that the record was preparing or had given up. Where
    /// that is this very version, only its rows go, and it is taken up anew; else it was given up for another, and what is left
    /// of it goes by its own identifier, in every store, before the other is taken up.
    fn give_up(&self, root: &Key, version: &Version) -> Result<(), RebuildError> {
        let number = version_number(version.number).map_err(|error| RebuildError::Object(error.chain()))?;
        let assembly = VersionAssembly::open(self.store, &version.id.to_string(), root, number)?;
        if assembly.published_by()?.is_some() {
            return drop_version(self.home, version);
        }
        let given_up = version.clone();
        self.home.registry.write(move |tx| rows::discard_version(tx, &given_up))?;
        finish_discarding(self.home, version).map_err(|error| {
            RebuildError::Object(format!(
                "version {} with the id {} was discarded, and what is left of it could not be removed: {error}",
                version.number, version.id
            ))
        })
    }

    /// Takes the object's lease. A version that was being committed when the registry was copied keeps everybody but its
    /// item from it; with a registry that is behind, that item is not at work.
    fn hold(&self, object: ObjectId, open: &[&Version]) -> Result<ObjectHold<'a>, RebuildError> {
        let committing = open.iter().find(|version| version.state == VersionState::Committing);
        let item = committing.and_then(|version| version.item).filter(|_| self.is_behind);
        Ok(match item {
            Some(item) => ObjectHold::take_as(self.home, object, item.0)?,
            None => ObjectHold::take_alone(self.home, object)?,
        })
    }

    /// A version that was being committed is the one in the store, or a contradiction.
    fn check_committing(&self, root: &Key, rebuilding: &Rebuilding<'_>, version: &Version) -> Result<(), RebuildError> {
        let number = VersionNumber::new(u32::try_from(version.number).unwrap_or(u32::MAX))?;
        let found = Object::new(self.store, root.clone()).version_inventory(number)?.map(|found| found.seal.digest);
        if version.number == rebuilding.after + 1 && found.is_some() && found == version.inventory {
            return Ok(());
        }
        Err(RebuildError::Object(format!(
            "version {} is being committed by the registry with another inventory than is there; nothing is changed",
            version.number
        )))
    }
}
