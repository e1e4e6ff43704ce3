//! A preservation store key by key: the listing and the objects of the record go by beside each other, and an object of which
//! anything differs is compared again under its lease.

use std::time::{Duration, Instant};

use strongroom_ocfl::StorageRoot;
use strongroom_registry::rebuild::{self as rows, StoredObject};
use strongroom_registry::{ItemId, Scope, VersionState, deletions, items, objects};
use strongroom_storage::{Key, StorageError};

use super::object::{Comparison, is_given_up, owner_of};
use super::place::{Place, place};
use super::sorted::Gathered;
use super::{Code, Reconciling};
use crate::error::chain;
use crate::hold::{ObjectHold, OperationError};
use crate::home::storage_root;
use crate::logs::object_root;
use crate::rebuild::generation_of;
use crate::{EngineError, paging};

/// Objects of the record read at once.
const OBJECTS: usize = 1_000;
/// Objects that a worker works on are asked for again: how many are remembered, and for how long.
const POSTPONED: usize = 10_000;
const PATIENCE: Duration = Duration::from_secs(30);

impl<'a> Reconciling<'a> {
    /// Every object that the record has in this store, in byte order of its root.
    fn recorded(
        &mut self,
    ) -> Result<impl Iterator<Item = Result<(String, StoredObject), EngineError>> + use<>, EngineError> {
        let failed = |source| EngineError::Io { act: "sort the objects of", path: "the registry".into(), source };
        let mut gathered = Gathered::default();
        let (registry, name) = (&self.home.registry, self.store.name());
        let list = |after, limit| registry.read(|tx| rows::objects_in_store(tx, name, after, limit));
        for stored in paging::rows(OBJECTS, |stored: &StoredObject| stored.object, list) {
            let stored = stored?;
            self.compared.objects += 1;
            if !self.institutions.contains(&stored.institution) {
                self.institutions.insert(stored.institution.clone());
            }
            let root = object_root(&stored.institution, stored.generation)?;
            let line = format!("{root}/\t{}\t{}", stored.object, stored.generation);
            gathered.add(line).map_err(failed)?;
        }
        let sorted = gathered.sorted().map_err(failed)?;
        Ok(sorted.map(move |line| {
            let line = line.map_err(failed)?;
            let wrong = || EngineError::Usage(format!("a sorted line cannot be read: {line:?}"));
            let mut fields = line.split('\t');
            let root = fields.next().and_then(|root| root.strip_suffix('/')).ok_or_else(wrong)?;
            let object = fields.next().and_then(|id| id.parse().ok()).ok_or_else(wrong)?;
            let generation = fields.next().and_then(|id| id.parse().ok()).ok_or_else(wrong)?;
            let institution = root.split('/').next().unwrap_or_default().to_owned();
            Ok((root.to_owned(), StoredObject { object, generation, institution }))
        }))
    }

    /// Compares every key of the store with the record.
    pub(super) fn keys(&mut self) -> Result<(), EngineError> {
        let mut recorded = self.recorded()?.peekable();
        let (home, store) = (self.home, self.store);
        // The object whose keys go by, with its comparison where the record knows it, and whether anything differs.
        let mut current: Option<(String, Option<Comparison<'a>>, Option<StoredObject>, bool)> = None;
        for listed in store.list(&Key::ROOT)? {
            let listed = match listed {
                Ok(listed) => listed,
                Err(error @ (StorageError::Key(_) | StorageError::Unusable { .. })) => {
                    self.differs(Code::NameUnusable, &chain(&error), None, None)?;
                    continue;
                }
                Err(error) => return Err(error.into()),
            };
            self.compared.keys += 1;
            let key = listed.key.as_str();
            let root = match place(key) {
                Place::Object(root) => root,
                Place::Known => continue,
                Place::Foreign => {
                    if store.head(&listed.key).is_ok() {
                        self.differs(Code::FileForeign, key, None, None)?;
                    }
                    continue;
                }
            };
            if current.as_ref().is_none_or(|(now, ..)| now != root) {
                if let Some((root, comparison, stored, differs)) = current.take() {
                    self.end(&root, comparison, stored, differs)?;
                }
                let own = format!("{root}/");
                let is_before = |other: &(String, StoredObject)| format!("{}/", other.0) < own;
                while let Some(next) = recorded.next_if(|next| next.as_ref().map_or(true, is_before)) {
                    self.look_again(next?.1)?;
                }
                let known = recorded.next_if(|next| next.as_ref().is_ok_and(|(other, _)| other == root));
                let known = known.transpose()?.map(|(_, stored)| stored);
                let comparison =
                    known.clone().map(|stored| Comparison::begin(home, store.name(), stored)).transpose()?;
                current = Some((root.to_owned(), comparison, known, false));
            }
            if let Some((_, Some(comparison), _, differs)) = &mut current {
                comparison.see(key, listed.size, &mut |_, _, _| {
                    *differs = true;
                    Ok(())
                })?;
            }
        }
        if let Some((root, comparison, stored, differs)) = current.take() {
            self.end(&root, comparison, stored, differs)?;
        }
        for next in recorded {
            self.look_again(next?.1)?;
        }
        self.ask_again()
    }

    /// What declares the storage roots of the institutions that have objects there.
    pub(super) fn roots(&mut self) -> Result<(), EngineError> {
        for institution in std::mem::take(&mut self.institutions) {
            let prefix = storage_root(&institution)?;
            for fault in StorageRoot::faults(self.store, &prefix)? {
                let detail = if fault.found.is_some() { "it differs" } else { "it is missing" };
                let path = format!("{prefix}/{}", fault.name);
                self.differs(Code::RootDeclaration, &path, None, Some(detail.to_owned()))?;
            }
        }
        Ok(())
    }

    /// Ends an object that went by.
    fn end(
        &mut self,
        root: &str,
        comparison: Option<Comparison<'_>>,
        stored: Option<StoredObject>,
        mut differs: bool,
    ) -> Result<(), EngineError> {
        let (Some(comparison), Some(stored)) = (comparison, stored) else { return self.unknown(root) };
        comparison.end(&mut |_, _, _| {
            differs = true;
            Ok(())
        })?;
        if differs { self.look_again(stored) } else { Ok(()) }
    }

    /// An object in the store that the record did not name when the comparison began.
    fn unknown(&mut self, root: &str) -> Result<(), EngineError> {
        let key = Key::new(root).map_err(StorageError::from)?;
        let found = match generation_of(self.store, &key) {
            Ok(Some(generation)) => self.home.registry.read(|tx| rows::of_generation(tx, generation))?,
            Ok(None) => {
                if !self.given_up_alone(&key)? && !self.is_being_made(root)? {
                    return self.differs(Code::ObjectIncomplete, root, None, None);
                }
                return Ok(());
            }
            Err(reason) => return self.differs(Code::ObjectUnknown, root, None, Some(reason)),
        };
        let Some(version) = found.first() else { return self.differs(Code::ObjectUnknown, root, None, None) };
        let institution = root.split('/').next().unwrap_or_default().to_owned();
        let stored = StoredObject { object: version.object, generation: version.generation, institution };
        if found.iter().all(|version| version.state != VersionState::Published) {
            // The work item of a deposit goes on with it. What a rebuild did not publish has none.
            let of_items: Vec<ItemId> = found.iter().filter_map(|version| version.item).collect();
            for item in of_items {
                if self.home.registry.read(|tx| items::get(tx, Scope::System, item))?.is_some() {
                    return Ok(());
                }
            }
            let detail = Some("a rebuild did not publish it".to_owned());
            return self.differs(Code::ObjectUnknown, root, Some(stored.object), detail);
        }
        self.look_again(stored)
    }

    /// Reports the versions that were given up and have something in an object without a root inventory; whether
    /// nothing else lies there.
    fn given_up_alone(&mut self, root: &Key) -> Result<bool, EngineError> {
        let (mut told, mut is_alone) = (None, true);
        for listed in self.store.list(root)? {
            let Ok(listed) = listed else { continue };
            let owner = listed.key.below(root).and_then(owner_of);
            match owner {
                Some(owner) if told == Some(owner) => {}
                Some(owner) if is_given_up(self.home, owner)? => {
                    told = Some(owner);
                    self.differs(Code::VersionDiscarded, listed.key.as_str(), None, Some(owner.to_string()))?;
                }
                _ => is_alone = false,
            }
        }
        Ok(is_alone)
    }

    /// Whether some open version belongs to this object root.
    fn is_being_made(&self, root: &str) -> Result<bool, EngineError> {
        for (institution, generation) in self.home.registry.read(rows::open_generations)? {
            if object_root(&institution, generation)?.as_str() == root {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Compares an object once more, while no process can change it, and says what still differs.
    fn look_again(&mut self, stored: StoredObject) -> Result<(), EngineError> {
        if !self.compare(&stored)? {
            if self.busy.len() < POSTPONED {
                self.busy.push(stored);
            } else {
                let root = object_root(&stored.institution, stored.generation)?;
                self.differs(Code::ObjectBusy, root.as_str(), Some(stored.object), None)?;
            }
        }
        Ok(())
    }

    /// The same for those that a process worked on.
    fn ask_again(&mut self) -> Result<(), EngineError> {
        let begun = Instant::now();
        while !self.busy.is_empty() {
            for stored in std::mem::take(&mut self.busy) {
                if self.compare(&stored)? {
                    continue;
                }
                if begun.elapsed() < PATIENCE {
                    self.busy.push(stored);
                } else {
                    // A deletion that has begun keeps it, also while no worker is at it.
                    let object = stored.object;
                    let begun = self.home.registry.read(|tx| deletions::begun_of_object(tx, object))?;
                    let code = if begun.is_some() { Code::DeletionUnfinished } else { Code::ObjectBusy };
                    let root = object_root(&stored.institution, stored.generation)?;
                    self.differs(code, root.as_str(), Some(object), None)?;
                }
            }
            if !self.busy.is_empty() {
                std::thread::park_timeout(Duration::from_millis(100));
            }
        }
        Ok(())
    }

    /// Whether a deletion of this generation is still to be carried out in the store, and whether one of all of it is.
    fn pending(&self, stored: &StoredObject) -> Result<(bool, bool), EngineError> {
        let (object, mut found) = (stored.object, (false, false));
        for id in self.home.registry.read(|tx| deletions::pending_in(tx, object, self.store.name()))? {
            let deletion = self.home.registry.read(|tx| deletions::get(tx, id))?;
            if let Some(deletion) = deletion.filter(|deletion| deletion.generation == stored.generation) {
                found = (true, found.1 || deletion.files.is_none());
            }
        }
        Ok(found)
    }

    /// What deletions of earlier generations have left, where it is gone.
    pub(super) fn earlier(&mut self) -> Result<(), EngineError> {
        let (registry, name) = (&self.home.registry, self.store.name());
        let list = |after, limit| registry.read(|tx| deletions::left_in_store(tx, name, after, limit));
        for left in paging::rows(OBJECTS, |left: &deletions::Left| left.deletion, list) {
            let left = left?;
            let root = object_root(&left.institution, left.generation)?;
            if self.store.list(&root)?.next().is_none() {
                self.differs(Code::ObjectMissing, root.as_str(), Some(left.object), None)?;
            }
        }
        Ok(())
    }

    /// Whether this is an earlier generation of an object, which was deleted in this store: what deletion left of it stays there.
    fn was_deleted(&self, stored: &StoredObject) -> Result<bool, EngineError> {
        let (object, name) = (stored.object, self.store.name());
        let known = self.home.registry.read(|tx| objects::get(tx, Scope::System, object))?;
        let Some(known) = known.filter(|known| known.generation != stored.generation) else { return Ok(false) };
        let deleted = self.home.registry.read(|tx| deletions::of_earlier(tx, (object, known.generation), name))?;
        Ok(deleted.iter().any(|earlier| earlier.is_of_store && earlier.generation == stored.generation))
    }

    /// Compares under the object's lease; false where another process has it. A registry that can only be read has no
    /// process that works with it.
    fn compare(&mut self, stored: &StoredObject) -> Result<bool, EngineError> {
        let (home, store) = (self.home, self.store);
        let hold = match home.registry.refusal() {
            Some(_) => None,
            None => match ObjectHold::take(home, stored.object) {
                Ok(hold) => Some(hold),
                Err(OperationError::Busy(_)) => return Ok(false),
                Err(OperationError::Engine(error)) => return Err(error),
                Err(OperationError::Interrupted(interrupted)) => {
                    return Err(EngineError::Usage(interrupted.to_string()));
                }
            },
        };
        let object = stored.object;
        let root = object_root(&stored.institution, stored.generation)?;
        let copies = home.registry.read(|tx| rows::stored_object(tx, store.name(), object))?;
        if copies.as_ref() != Some(stored) && !self.was_deleted(stored)? {
            if copies.is_none() && store.list(&root)?.next().is_some() {
                self.differs(Code::ObjectUnrecorded, root.as_str(), Some(object), None)?;
            }
            return Ok(true);
        }
        let (is_pending, is_whole) = self.pending(stored)?;
        if is_pending {
            self.differs(Code::DeletionUnfinished, root.as_str(), Some(object), None)?;
        }
        let mut comparison = Comparison::begin(home, store.name(), stored.clone())?;
        let mut kept_at = Instant::now();
        // What the deletion is still to remove, and to put, is no other difference.
        let follows = |code: Code| match code {
            Code::CopyDeleted | Code::CopyUnknown => is_pending,
            Code::CopyMissing | Code::InventoryMissing | Code::VersionUnknown => is_pending && is_whole,
            _ => false,
        };
        let mut tell = |code: Code, path: &str, detail: Option<String>| {
            if follows(code) { Ok(()) } else { self.differs(code, path, Some(object), detail) }
        };
        for listed in store.list(&root)? {
            // What is no key was reported when it went by.
            let Ok(listed) = listed else { continue };
            comparison.see(listed.key.as_str(), listed.size, &mut tell)?;
            if kept_at.elapsed() > Duration::from_secs(10) {
                kept_at = Instant::now();
                if hold.as_ref().is_some_and(|hold| hold.keep().is_err()) {
                    return Ok(false);
                }
            }
        }
        comparison.end(&mut tell)?;
        Ok(true)
    }
}
