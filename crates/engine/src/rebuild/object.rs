//! One object: its inventory is read once, and as soon as the state of a version has passed by, that version's record is
//! turned into rows (see `version_record`). Only when the rows say what the inventory says is the object published; else they go again. Versions
//! that the record has already are compared and left alone.

use strongroom_database::DatabaseError;
use strongroom_digest::Digest;
use strongroom_ocfl::{InventoryEntry, Limits, Object, OcflError, object_id};
use strongroom_registry::rebuild::{self as rows, RecordedObject, RecordedVersion};
use strongroom_registry::versions::Version;
use strongroom_registry::{ItemId, ObjectState, RegistryError, Transaction, VersionState, versions};
use strongroom_storage::{Key, Store};
use uuid::Uuid;

use super::adopt::{HELD_DELETION, UNKNOWN_DELETION};
use super::object_summary::{ObjectSummary, checked_inventory};
use super::state::{Lines, VersionLines, line};
use super::{RebuildError, Summary, copies, logs};
use crate::deletion::KnownDeletions;
use crate::hold::ObjectHold;
use crate::layout::content_path;
use crate::record;
use crate::{Home, crash_point};

/// An object on its way into the registry.
pub(super) struct Rebuilding<'r> {
    pub(super) home: &'r Home,
    pub(super) store: &'r dyn Store,
    pub(super) root: &'r Key,
    pub(super) institution: &'r str,
    pub(super) glance: ObjectSummary,
    /// Known from the first record on, or from the registry.
    pub(super) identity: Option<RecordedObject>,
    /// The object's lease; taken as soon as the registry has the object.
    pub(super) hold: Option<ObjectHold<'r>>,
    /// The latest version whose rows the registry has.
    pub(super) after: u64,
    /// Versions up to there that were being committed when the registry was copied.
    pub(super) committing: Vec<Version>,
    /// Versions that are taken up.
    pub(super) versions: Vec<RecordedVersion>,
    pub(super) files: u64,
    pub(super) events: u64,
    /// Whether the registry is behind its stores: only such a one learns of deletions from them.
    pub(super) is_behind: bool,
}

impl<'r> Rebuilding<'r> {
    pub(super) fn new(
        home: &'r Home,
        store: &'r dyn Store,
        institution: &'r str,
        root: &'r Key,
        glance: ObjectSummary,
    ) -> Self {
        Self {
            home,
            store,
            root,
            institution,
            glance,
            identity: None,
            hold: None,
            is_behind: false,
            after: 0,
            committing: Vec::new(),
            versions: Vec::new(),
            files: 0,
            events: 0,
        }
    }

    /// Makes the rows of what the registry does not know, and lets readers see them.
    pub(super) fn import(mut self, summary: &mut Summary) -> Result<(), RebuildError> {
        let outcome = self.rows(summary);
        if matches!(outcome, Err(RebuildError::Object(_))) {
            self.drop_rows()?;
        }
        if outcome.is_ok() {
            summary.versions += (self.versions.len() + self.committing.len()) as u64;
            summary.files += self.files;
            summary.events += self.events;
        }
        outcome
    }

    /// Takes away what was put of an object that cannot be taken up.
    fn drop_rows(&self) -> Result<(), RebuildError> {
        let Some(identity) = &self.identity else { return Ok(()) };
        let (object, generation) = (identity.id, identity.generation);
        if self.after == 0 {
            while !self.home.registry.write(move |tx| rows::drop_rows(tx, object, generation))? {}
            return Ok(());
        }
        let found = self.home.registry.read(|tx| rows::of_generation(tx, generation))?;
        for version in found.into_iter().filter(|version| version.state == VersionState::Preparing) {
            drop_version(self.home, &version)?;
        }
        Ok(())
    }

    /// Runs a write transaction, under the object's lease as soon as there is one.
    pub(super) fn write<T, F>(&self, mut job: F) -> Result<T, RebuildError>
    where
        T: Send + 'static,
        F: FnMut(&mut dyn Transaction) -> Result<T, RegistryError> + Send + 'static,
    {
        match &self.hold {
            Some(hold) => Ok(hold.write(job)?),
            None => Ok(self.home.registry.write(move |tx| job(tx))?),
        }
    }

    fn rows(&mut self, summary: &mut Summary) -> Result<(), RebuildError> {
        let mut held = VersionLines::default();
        self.read_versions(&mut held)?;
        let Some(identity) = self.identity.clone() else {
            return Err(RebuildError::Object("it has no version".into()));
        };
        self.compare(&identity, &held)?;
        crash_point("rebuild.object.rows");
        let latest = self.versions.last().map(|version| &version.description);
        let latest = latest.or_else(|| self.committing.last().map(|version| &version.description));
        let placement = latest.and_then(|description| description.placement.clone());
        let inventory = self.glance.inventory;
        let stores = copies::put(self.home, self.store, self.root, &identity, &inventory, placement, summary)?;
        let of = logs::Of {
            root: self.root,
            institution: identity.institution,
            object: identity.id,
            generation: identity.generation,
        };
        logs::note_too_large(self.store, of, summary)?;
        if let Some(hold) = &self.hold {
            self.events += logs::import(self.home, hold, self.store, of)?;
        }
        crash_point("rebuild.object.copies");
        // Of an object that was taken out, the last version holds nothing but its own record.
        let state = if held.state.len() == 1 { ObjectState::Deleted } else { ObjectState::Active };
        let (id, generation) = (identity.id, identity.generation);
        self.publish(identity, stores, held.versions.len() as u64, state, summary)?;
        let deletions = KnownDeletions::read(self.store, self.root, generation)?;
        // They hold the object themselves.
        self.hold = None;
        if self.is_behind {
            if deletions.import(self.home, id, (self.store, self.root))?.held > 0 {
                summary.note(self.store.name(), self.root.as_str(), HELD_DELETION);
            }
        } else if deletions.first_unknown(self.home, id)?.is_some() {
            summary.note(self.store.name(), self.root.as_str(), UNKNOWN_DELETION);
        }
        Ok(())
    }

    /// Reads the inventory, and the record of each version when its state has passed by.
    fn read_versions(&mut self, held: &mut VersionLines) -> Result<(), RebuildError> {
        let object = Object::new(self.store, self.root.clone());
        let mut fault = None;
        let read = object.read(Limits::default(), &mut |entry| {
            let step = match entry {
                InventoryEntry::Manifest { digest, path } => {
                    held.take_content(&digest, path);
                    Ok(())
                }
                InventoryEntry::State { version, digest, path } => {
                    self.take_state(held, version.number(), &digest, path)
                }
                InventoryEntry::Fixity { .. } => Ok(()),
            };
            step.map_err(|why| {
                fault = Some(why);
                OcflError::Inventory { code: "", what: self.root.to_string(), message: "reading stopped".into() }
            })
        });
        if let Some(fault) = fault {
            return Err(fault);
        }
        let header = read?.header;
        self.advance(held, u64::from(header.head.number()))?;
        self.take_record(held)?;
        match &self.identity {
            Some(identity) if object_id(&identity.generation.to_string())? != header.id => Err(RebuildError::Object(
                format!("the inventory is of {}, the records are of {}", header.id, identity.generation),
            )),
            _ => Ok(()),
        }
    }

    fn take_state(
        &mut self,
        held: &mut VersionLines,
        number: u32,
        digest: &Digest,
        path: &str,
    ) -> Result<(), RebuildError> {
        let number = u64::from(number);
        self.advance(held, number)?;
        if held.versions.len() as u64 != number {
            return Err(RebuildError::Object("the inventory does not have its versions in order".into()));
        }
        if path == record::path(number) {
            held.record = Some(*digest);
        }
        let state = line(digest, path);
        held.state.insert(state);
        if let Some(version) = held.versions.last_mut() {
            version.add(state);
        }
        Ok(())
    }

    /// Goes on to version `number`, which ends those before it.
    fn advance(&mut self, held: &mut VersionLines, number: u64) -> Result<(), RebuildError> {
        while (held.versions.len() as u64) < number {
            if !held.versions.is_empty() {
                self.take_record(held)?;
            }
            held.versions.push(Lines::default());
            held.state.clear();
            held.record = None;
        }
        Ok(())
    }

    /// Whether the rows say what the inventory says: every version's state, and where every content lies.
    fn compare(&self, identity: &RecordedObject, held: &VersionLines) -> Result<(), RebuildError> {
        let (object, generation) = (identity.id, identity.generation);
        for (expected, number) in held.versions.iter().zip(1_u64..) {
            let mut found = Lines::default();
            self.home.registry.read(|tx| {
                found = Lines::default();
                versions::state(tx, object, generation, number, &mut |sha512, path| {
                    found.add(line(&sha512, path));
                    Ok(())
                })
            })?;
            if found != *expected {
                let reason = format!("the records do not make version {number} what the inventory says it is");
                return Err(RebuildError::Object(reason));
            }
        }
        let mut found = Lines::default();
        self.home.registry.read(|tx| {
            found = Lines::default();
            versions::manifest(tx, object, generation, u64::MAX >> 1, &mut |sha512, place| {
                let path = content_path(place, &sha512).map_err(|error| DatabaseError::Aborted(error.to_string()))?;
                found.add(line(&sha512, &path));
                Ok(())
            })
        })?;
        if found == held.manifest {
            return Ok(());
        }
        Err(RebuildError::Object("the records do not name the contents that the inventory names".into()))
    }

    fn publish(
        &mut self,
        identity: RecordedObject,
        stores: Vec<String>,
        head: u64,
        state: ObjectState,
        summary: &mut Summary,
    ) -> Result<(), RebuildError> {
        let mut recorded = Vec::with_capacity(self.committing.len() + self.versions.len());
        for version in &self.committing {
            recorded.push((committed(version), version.inventory));
        }
        for version in &self.versions {
            let is_head = version.number == head;
            let inventory = if is_head { Some(self.glance.inventory) } else { self.inventory_of(version, summary)? };
            recorded.push((version.clone(), inventory));
        }
        self.write(move |tx| rows::publish(tx, &identity, &recorded, &stores, state))?;
        crash_point("rebuild.object.published");
        Ok(())
    }

    /// The digest of an older version's own inventory, where it still has one: they may be taken out.
    fn inventory_of(&self, version: &RecordedVersion, summary: &mut Summary) -> Result<Option<Digest>, RebuildError> {
        let folder = self.root.join(&format!("v{}", version.number))?;
        if self.store.head(&folder.join("inventory.json")?).is_err_and(|error| error.is_not_found()) {
            return Ok(None);
        }
        match checked_inventory(self.store, &folder) {
            Ok(digest) => Ok(Some(digest)),
            Err(RebuildError::Object(reason)) => {
                summary.note(self.store.name(), folder.as_str(), reason);
                Ok(None)
            }
            Err(stop) => Err(stop),
        }
    }
}

/// A version whose rows are all there, as one that a record names.
fn committed(version: &Version) -> RecordedVersion {
    RecordedVersion {
        id: version.id,
        number: version.number,
        item: version.item.unwrap_or(ItemId(Uuid::nil())),
        message: version.message.clone(),
        user: version.user.clone(),
        // Its row has it.
        harvested_from: None,
        description: version.description.clone(),
        created_at: version.created_at,
        owns_contents: version.owns_contents,
    }
}

/// Drops the rows of a version that was being prepared, and the version itself.
pub(super) fn drop_version(home: &Home, version: &Version) -> Result<(), RebuildError> {
    loop {
        let dropped = version.clone();
        let all_gone = home.registry.write(move |tx| rows::drop_version(tx, &dropped))?;
        if all_gone {
            return Ok(());
        }
    }
}
