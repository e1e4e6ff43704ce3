//! One object: its inventory is read once, and as soon as the state of a version has passed by, that version's record is
//! turned into rows. Only when the rows say what the inventory says is the object published; else they go again. Versions
//! that the record has already are compared and left alone.

use std::io::BufReader;

use strongroom_database::DatabaseError;
use strongroom_digest::{Algorithm, Digest, DigestSet, HashingReader};
use strongroom_ocfl::{InventoryEntry, Limits, Object, OcflError, object_id};
use strongroom_registry::events::{self, EventRow};
use strongroom_registry::rebuild::{self as rows, RecordedFile, RecordedObject, RecordedVersion};
use strongroom_registry::versions::{ContentPlace, Version};
use strongroom_registry::{
    Digests, GenerationId, ItemId, ObjectState, RegistryError, Scope, Time, Transaction, VersionState, objects,
    versions,
};
use strongroom_storage::{Key, Store};
use uuid::Uuid;

use super::glance::{Glance, checked_inventory};
use super::state::{Held, Lines, line};
use super::{Fault, Summary, copies, logs};
use crate::hold::ObjectHold;
use crate::layout::content_path;
use crate::record::{self, FileLine, Line, VersionLine};
use crate::{Home, crash_point};

/// Files put at once: each is up to three rows, and a transaction changes at most a thousand.
const FILES_AT_ONCE: usize = 300;
/// Bytes of lines held before they are put.
const BYTES_AT_ONCE: usize = record::LONGEST_LINE;
/// Events put at once.
const EVENTS_AT_ONCE: usize = 1_000;

/// An object on its way into the registry.
pub(super) struct Rebuilding<'r> {
    pub(super) home: &'r Home,
    pub(super) store: &'r dyn Store,
    pub(super) root: &'r Key,
    pub(super) institution: &'r str,
    pub(super) glance: Glance,
    /// Known from the first record on, or from the registry.
    pub(super) identity: Option<RecordedObject>,
    /// The object's lease; taken as soon as the registry has the object.
    pub(super) hold: Option<ObjectHold<'r>>,
    /// The latest version whose rows the registry has.
    pub(super) after: u64,
    /// Versions up to there that were being committed when the registry was copied.
    pub(super) committing: Vec<Version>,
    /// Versions that are taken up.
    versions: Vec<RecordedVersion>,
    files: u64,
    events: u64,
}

impl<'r> Rebuilding<'r> {
    pub(super) fn new(
        home: &'r Home,
        store: &'r dyn Store,
        institution: &'r str,
        root: &'r Key,
        glance: Glance,
    ) -> Self {
        Self {
            home,
            store,
            root,
            institution,
            glance,
            identity: None,
            hold: None,
            after: 0,
            committing: Vec::new(),
            versions: Vec::new(),
            files: 0,
            events: 0,
        }
    }

    /// Makes the rows of what the registry does not know, and lets readers see them.
    pub(super) fn take_up(mut self, summary: &mut Summary) -> Result<(), Fault> {
        let outcome = self.rows(summary);
        if matches!(outcome, Err(Fault::Object(_))) {
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
    fn drop_rows(&self) -> Result<(), Fault> {
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
    fn write<T, F>(&self, mut job: F) -> Result<T, Fault>
    where
        T: Send + 'static,
        F: FnMut(&mut dyn Transaction) -> Result<T, RegistryError> + Send + 'static,
    {
        match &self.hold {
            Some(hold) => Ok(hold.write(job)?),
            None => Ok(self.home.registry.write(move |tx| job(tx))?),
        }
    }

    fn rows(&mut self, summary: &mut Summary) -> Result<(), Fault> {
        let mut held = Held::default();
        self.read_versions(&mut held)?;
        let Some(identity) = self.identity.clone() else { return Err(Fault::Object("it has no version".into())) };
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
            self.events += logs::take_up(self.home, hold, self.store, of)?;
        }
        crash_point("rebuild.object.copies");
        // Of an object that was taken out, the last version holds nothing but its own record.
        let state = if held.state.len() == 1 { ObjectState::Deleted } else { ObjectState::Active };
        self.publish(identity, stores, held.versions.len() as u64, state, summary)
    }

    /// Reads the inventory, and the record of each version when its state has passed by.
    fn read_versions(&mut self, held: &mut Held) -> Result<(), Fault> {
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
            Some(identity) if object_id(&identity.generation.to_string())? != header.id => Err(Fault::Object(format!(
                "the inventory is of {}, the records are of {}",
                header.id, identity.generation
            ))),
            _ => Ok(()),
        }
    }

    fn take_state(&mut self, held: &mut Held, number: u32, digest: &Digest, path: &str) -> Result<(), Fault> {
        let number = u64::from(number);
        self.advance(held, number)?;
        if held.versions.len() as u64 != number {
            return Err(Fault::Object("the inventory does not have its versions in order".into()));
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
    fn advance(&mut self, held: &mut Held, number: u64) -> Result<(), Fault> {
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

    /// Turns the record of the version whose state has been read into rows.
    fn take_record(&mut self, held: &Held) -> Result<(), Fault> {
        let number = held.versions.len() as u64;
        if number <= self.after {
            return Ok(());
        }
        let Some(digest) = &held.record else {
            if held.state.is_empty() {
                // The version of an object that was taken out: what it was, the last version's record tells.
                return Ok(());
            }
            return Err(Fault::Object(format!("version {number} has no {}", record::path(number))));
        };
        let key = self.root.join(&path_of(held.place_of(number, digest), digest)?)?;
        let bad = |error: &dyn std::fmt::Display| Fault::Object(format!("the record {key} cannot be read: {error}"));
        let mut hashing = HashingReader::new(self.store.open(&key, 0, None)?, &Algorithm::RECORDED);
        let mut first: Option<Box<VersionLine>> = None;
        let mut files = Vec::with_capacity(FILES_AT_ONCE);
        let mut events = Vec::new();
        let mut held_bytes = 0;
        for line in record::lines(BufReader::new(&mut hashing)) {
            let (line, length) = line.map_err(|error| bad(&error))?;
            held_bytes += length;
            if held_bytes > BYTES_AT_ONCE
                && let Some(version) = &first
            {
                held_bytes = length;
                self.put_files(version, std::mem::take(&mut files))?;
                self.put_events(std::mem::take(&mut events))?;
            }
            match (line, &first) {
                (Line::Version(line), None) => {
                    self.put_version(number, &line, held.owners.contains_key(&number))?;
                    first = Some(line);
                }
                (Line::File(line), Some(version)) => {
                    files.push(recorded_file(*line, number, held)?);
                    if files.len() >= FILES_AT_ONCE {
                        self.put_files(version, std::mem::take(&mut files))?;
                    }
                }
                (Line::Event(event), Some(_)) => {
                    events.push(*event);
                    if events.len() >= EVENTS_AT_ONCE {
                        self.put_events(std::mem::take(&mut events))?;
                    }
                }
                _ => return Err(bad(&"its lines are not in order")),
            }
        }
        let Some(version) = first else { return Err(bad(&"it is empty")) };
        let (size, digests) = hashing.finish();
        let digests = recorded(&digests).ok_or_else(|| bad(&"a digest was not computed"))?;
        if digests.sha512 != *digest {
            return Err(bad(&format!("it has sha512:{}", digests.sha512)));
        }
        files.push(RecordedFile {
            file: version.own_file,
            path: record::path(number),
            modified: None,
            content: version.own_content,
            size,
            digests,
            format: record::format(),
            has_content: true,
            has_entry: true,
            owner: held.place_of(number, digest).owner,
        });
        self.put_files(&version, files)?;
        self.put_events(events)
    }

    /// Takes the first line of a record: whose and which version it is.
    fn put_version(&mut self, number: u64, said: &VersionLine, owns_contents: bool) -> Result<(), Fault> {
        let wrong = |what: &str| Fault::Object(format!("{} says another {what}", record::path(number)));
        if said.form != record::FORM {
            return Err(Fault::Object(format!("{} has the unknown form {}", record::path(number), said.form)));
        }
        if said.institution != self.institution {
            return Err(wrong("institution"));
        }
        if said.version != number {
            return Err(wrong("version"));
        }
        let is_another = |known: &RecordedObject| known.id != said.object || known.generation != said.generation;
        if self.identity.as_ref().is_some_and(is_another) || said.generation != self.glance.generation {
            return Err(wrong("object"));
        }
        if self.identity.is_none() {
            self.check_generation(said)?;
        }
        let (id, identifier) = (said.institution_id, said.institution.clone());
        let name = if said.institution_name.is_empty() { &said.institution } else { &said.institution_name }.clone();
        let collection = said.collection.clone();
        let collection = self.write(move |tx| {
            rows::put_institution(tx, id, &identifier, &name)?;
            collection.as_ref().map(|collection| rows::put_collection(tx, id, collection)).transpose()
        })?;
        let identity = self.identity.get_or_insert_with(|| RecordedObject {
            id: said.object,
            institution: said.institution_id,
            collection,
            identifier: said.identifier.clone(),
            generation: said.generation,
            ark: said.ark.clone(),
            created_at: Time(said.object_created_at),
        });
        identity.collection = identity.collection.or(collection);
        let version = RecordedVersion {
            id: said.version_id,
            number,
            item: said.item,
            message: said.message.clone(),
            user: said.user.clone(),
            description: said.description.clone(),
            created_at: Time(said.created_at),
            owns_contents,
        };
        let (identity, put) = (identity.clone(), version.clone());
        if self.hold.is_none() {
            let (object, id) = (identity.clone(), identity.id);
            self.home.registry.write(move |tx| rows::put_object(tx, &object))?;
            self.hold = Some(ObjectHold::take(self.home, id)?);
        }
        self.write(move |tx| rows::put_version(tx, &identity, &put))?;
        self.versions.push(version);
        Ok(())
    }

    /// Refuses a generation of an object that the registry has in another one, unless the earlier of the two was taken out:
    /// only then does an object begin anew. Which of them is the object, a person has to say.
    fn check_generation(&mut self, said: &VersionLine) -> Result<(), Fault> {
        let object = said.object;
        let known = self.home.registry.read(|tx| objects::get(tx, Scope::System, object))?;
        let Some(known) = known.filter(|known| known.head > 0 && known.generation != said.generation) else {
            return Ok(());
        };
        let was_taken_out = if said.generation < known.generation {
            self.holds_only_its_record()?
        } else {
            known.state == ObjectState::Deleted
        };
        if was_taken_out { Ok(()) } else { Err(conflict(&known.identifier, said.generation, known.generation)) }
    }

    /// Whether the last version holds nothing but its own record: the object was taken out.
    fn holds_only_its_record(&self) -> Result<bool, Fault> {
        let (mut last, mut files) = (0, 0_u64);
        Object::new(self.store, self.root.clone()).read(Limits::default(), &mut |entry| {
            if let InventoryEntry::State { version, .. } = entry {
                files = if version.number() == last { files + 1 } else { 1 };
                last = version.number();
            }
            Ok(())
        })?;
        Ok(files == 1)
    }

    fn put_files(&mut self, version: &VersionLine, files: Vec<RecordedFile>) -> Result<(), Fault> {
        self.files += files.len() as u64;
        let (object, generation, number) = (version.object, version.generation, version.version);
        let created_at = Time(version.created_at);
        self.write(move |tx| rows::put_files(tx, object, generation, number, created_at, &files))?;
        Ok(())
    }

    fn put_events(&mut self, rows: Vec<EventRow>) -> Result<(), Fault> {
        if rows.is_empty() {
            return Ok(());
        }
        self.events += rows.len() as u64;
        self.write(move |tx| events::append(tx, &rows))?;
        Ok(())
    }

    /// Whether the rows say what the inventory says: every version's state, and where every content lies.
    fn compare(&self, identity: &RecordedObject, held: &Held) -> Result<(), Fault> {
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
                return Err(Fault::Object(reason));
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
        Err(Fault::Object("the records do not name the contents that the inventory names".into()))
    }

    fn publish(
        &mut self,
        identity: RecordedObject,
        stores: Vec<String>,
        head: u64,
        state: ObjectState,
        summary: &mut Summary,
    ) -> Result<(), Fault> {
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
    fn inventory_of(&self, version: &RecordedVersion, summary: &mut Summary) -> Result<Option<Digest>, Fault> {
        let folder = self.root.join(&format!("v{}", version.number))?;
        if self.store.head(&folder.join("inventory.json")?).is_err_and(|error| error.is_not_found()) {
            return Ok(None);
        }
        match checked_inventory(self.store, &folder) {
            Ok(digest) => Ok(Some(digest)),
            Err(Fault::Object(reason)) => {
                summary.note(self.store.name(), folder.as_str(), reason);
                Ok(None)
            }
            Err(stop) => Err(stop),
        }
    }
}

/// Two generations claim to be an object.
fn conflict(object: &str, found: GenerationId, known: GenerationId) -> Fault {
    Fault::Object(format!(
        "conflict: it says that it is the object {object}, which the record has as generation {known}; this is generation \
         {found}, and the earlier of them was never taken out. Nothing is replaced. next: look at both and set the one \
         aside that is not the object's, then rebuild again"
    ))
}

/// A version whose rows are all there, as one that a record tells of.
fn committed(version: &Version) -> RecordedVersion {
    RecordedVersion {
        id: version.id,
        number: version.number,
        item: version.item.unwrap_or(ItemId(Uuid::nil())),
        message: version.message.clone(),
        user: version.user.clone(),
        description: version.description.clone(),
        created_at: version.created_at,
        owns_contents: version.owns_contents,
    }
}

/// Drops the rows of a version that was being prepared, and the version itself.
pub(super) fn drop_version(home: &Home, version: &Version) -> Result<(), Fault> {
    loop {
        let dropped = version.clone();
        let all_gone = home.registry.write(move |tx| rows::drop_version(tx, &dropped))?;
        if all_gone {
            return Ok(());
        }
    }
}

fn recorded_file(said: FileLine, number: u64, held: &Held) -> Result<RecordedFile, Fault> {
    let digests = said.digests().map_err(|error| Fault::Object(error.to_string()))?;
    let owner = held.place_of(number, &digests.sha512).owner;
    Ok(RecordedFile {
        file: said.file,
        modified: said.modified,
        content: said.content,
        size: said.size,
        digests,
        format: said.format,
        // What was taken out since is named by the record of its time, and no more by the inventory.
        has_content: held.contents.contains(&line(&digests.sha512, "")),
        has_entry: held.state.contains(&line(&digests.sha512, &said.path)),
        path: said.path,
        owner,
    })
}

/// Where a content lies relative to the root of its object.
fn path_of(place: ContentPlace, digest: &Digest) -> Result<String, Fault> {
    content_path(place, digest).map_err(|error| Fault::Object(error.chain()))
}

fn recorded(digests: &DigestSet) -> Option<Digests> {
    Some(Digests {
        md5: digests.get(Algorithm::Md5)?,
        sha1: digests.get(Algorithm::Sha1)?,
        sha256: digests.get(Algorithm::Sha256)?,
        sha512: digests.get(Algorithm::Sha512)?,
    })
}
