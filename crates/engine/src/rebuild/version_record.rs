//! The record of one version, turned into rows while it is read: whose and which version it is, its files, its events.

use std::io::BufReader;

use strongroom_digest::{Algorithm, Digest, DigestSet, HashingReader};
use strongroom_ocfl::{InventoryEntry, Limits, Object};
use strongroom_registry::events::{self, EventRow};
use strongroom_registry::rebuild::{self as rows, RecordedFile, RecordedObject, RecordedVersion};
use strongroom_registry::versions::ContentPlace;
use strongroom_registry::{Digests, FileId, GenerationId, ObjectState, Scope, Time, objects};

use super::RebuildError;
use super::object::Rebuilding;
use super::state::{VersionLines, line};
use crate::hold::ObjectHold;
use crate::layout::content_path;
use crate::record::{self, FileLine, Line, VersionLine};

/// Files put at once: each is up to three rows, and a transaction changes at most a thousand.
const FILES_AT_ONCE: usize = 300;
/// Bytes of lines held before they are put.
const BYTES_AT_ONCE: usize = record::LONGEST_LINE;
/// Events put at once.
const EVENTS_AT_ONCE: usize = 1_000;

impl Rebuilding<'_> {
    /// Turns the record of the version whose state has been read into rows.
    pub(super) fn take_record(&mut self, held: &VersionLines) -> Result<(), RebuildError> {
        let number = held.versions.len() as u64;
        if number <= self.after {
            return Ok(());
        }
        let Some(digest) = &held.record else {
            if held.state.is_empty() {
                // The version of an object that was taken out: what it was, the last version's record says.
                return Ok(());
            }
            return Err(RebuildError::Object(format!("version {number} has no {}", record::path(number))));
        };
        let key = self.root.join(&path_of(held.place_of(number, digest), digest)?)?;
        let bad =
            |error: &dyn std::fmt::Display| RebuildError::Object(format!("the record {key} cannot be read: {error}"));
        let mut hashing = HashingReader::new(self.store.open(&key, 0, None)?, &Algorithm::RECORDED);
        let mut first: Option<Box<VersionLine>> = None;
        let mut files = Vec::with_capacity(FILES_AT_ONCE);
        let mut events = Vec::new();
        let mut removed = Vec::new();
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
                (Line::Removal(line), Some(_)) => {
                    removed.push(line.file);
                    if removed.len() >= EVENTS_AT_ONCE
                        && let Some(version) = &first
                    {
                        self.put_removals(version, std::mem::take(&mut removed))?;
                    }
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
        self.put_removals(&version, removed)?;
        self.put_events(events)
    }

    /// Takes the first line of a record: whose and which version it is.
    fn put_version(&mut self, number: u64, said: &VersionLine, owns_contents: bool) -> Result<(), RebuildError> {
        let wrong = |what: &str| RebuildError::Object(format!("{} says another {what}", record::path(number)));
        if said.form != record::FORM {
            return Err(RebuildError::Object(format!("{} has the unknown form {}", record::path(number), said.form)));
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
            harvested_from: said.origin(),
            description: said.description.clone(),
            created_at: Time(said.created_at),
            owns_contents,
        };
        let (identity, put) = (identity.clone(), version.clone());
        if self.hold.is_none() {
            let (object, id) = (identity.clone(), identity.id);
            self.home.registry.write(move |tx| rows::put_object(tx, &object))?;
            self.hold = Some(ObjectHold::take_alone(self.home, id)?);
        }
        let ark = said.ark.clone();
        self.write(move |tx| {
            // An object may have got its ARK with a later version.
            ark.as_ref().map_or(Ok(()), |ark| rows::put_ark(tx, &identity, ark))?;
            rows::put_version(tx, &identity, &put)
        })?;
        self.versions.push(version);
        Ok(())
    }

    /// Refuses a generation of an object that the registry has in another one, unless the earlier of the two was taken out:
    /// only then does an object begin anew. Which of them is the object, a person has to say.
    fn check_generation(&mut self, said: &VersionLine) -> Result<(), RebuildError> {
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
    fn holds_only_its_record(&self) -> Result<bool, RebuildError> {
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

    fn put_files(&mut self, version: &VersionLine, files: Vec<RecordedFile>) -> Result<(), RebuildError> {
        self.files += files.len() as u64;
        let (object, generation, number) = (version.object, version.generation, version.version);
        let created_at = Time(version.created_at);
        self.write(move |tx| rows::put_files(tx, object, generation, number, created_at, &files))?;
        Ok(())
    }

    fn put_removals(&mut self, version: &VersionLine, removed: Vec<FileId>) -> Result<(), RebuildError> {
        if removed.is_empty() {
            return Ok(());
        }
        let (object, generation, number) = (version.object, version.generation, version.version);
        self.write(move |tx| rows::put_removals(tx, object, generation, number, &removed))?;
        Ok(())
    }

    fn put_events(&mut self, rows: Vec<EventRow>) -> Result<(), RebuildError> {
        if rows.is_empty() {
            return Ok(());
        }
        self.events += rows.len() as u64;
        self.write(move |tx| events::import(tx, &rows))?;
        Ok(())
    }
}

/// Two generations claim to be an object.
fn conflict(object: &str, found: GenerationId, known: GenerationId) -> RebuildError {
    RebuildError::Object(format!(
        "conflict: it says that it is the object {object}, which the registry has as generation {known}; this is generation \
         {found}, and the earlier of them was never taken out. Nothing is replaced. next: inspect both and move the \
         one away that is not the object's, then rebuild again"
    ))
}

fn recorded_file(said: FileLine, number: u64, held: &VersionLines) -> Result<RecordedFile, RebuildError> {
    let digests = said.digests().map_err(|error| RebuildError::Object(error.to_string()))?;
    let owner = held.place_of(number, &digests.sha512).owner;
    Ok(RecordedFile {
        file: said.file,
        modified: said.modified,
        content: said.content,
        size: said.size,
        digests,
        format: said.format,
        // What was taken out since is named by the record of its time, and no more by the inventory.
        has_content: held.has_content(number, &digests.sha512),
        has_entry: held.state.contains(&line(&digests.sha512, &said.path)),
        path: said.path,
        owner,
    })
}

/// Where a content lies relative to the root of its object.
fn path_of(place: ContentPlace, digest: &Digest) -> Result<String, RebuildError> {
    content_path(place, digest).map_err(|error| RebuildError::Object(error.chain()))
}

fn recorded(digests: &DigestSet) -> Option<Digests> {
    Some(Digests {
        md5: digests.get(Algorithm::Md5)?,
        sha1: digests.get(Algorithm::Sha1)?,
        sha256: digests.get(Algorithm::Sha256)?,
        sha512: digests.get(Algorithm::Sha512)?,
    })
}
