//! Reconciliation: the listing of a store beside the record, both in byte order of the key, and what only one of them knows.
//! Nothing is changed, but that what lies in a store of a version which was given up, or was assembled again of one that is over,
//! is swept by the next turn of the schedule. Whatever seems to differ is compared again under the object's lease before it is
//! reported, so that work that goes on meanwhile is no difference.

mod finding;
mod object;
mod sorted;

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use strongroom_ocfl::StorageRoot;
use strongroom_registry::rebuild::{self as rows, StoredObject};
use strongroom_registry::{
    ItemId, ObjectId, RegistryError, Scope, VersionId, VersionState, discarding, items, receiving, schedules, versions,
};
use strongroom_storage::{Key, StorageError, Store};

use crate::backfill;
use crate::error::chain;
use crate::hold::{Halt, ObjectHold};
use crate::home::storage_root;
use crate::ingest::is_over;
use crate::logs::object_root;
use crate::rebuild::generation_of;
use crate::receiving::REMOVAL;
use crate::{EngineError, Home, schedule};
use object::{Comparison, is_given_up, owner_of};
use sorted::Gathered;

pub use finding::{Code, Difference};

/// Objects of the record read at once.
const OBJECTS: usize = 1_000;
/// Objects that somebody works on are asked for again: how many are remembered, and for how long.
const POSTPONED: usize = 10_000;
const PATIENCE: Duration = Duration::from_secs(30);

/// What was compared.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Compared {
    /// Keys listed in the stores.
    pub keys: u64,
    /// Objects of the record, once for each store.
    pub objects: u64,
    /// Differences told.
    pub differences: u64,
}

/// Compares a store with the record; `tell` hears of each difference. A preservation store is compared key by key, any
/// store for what was left behind by work that has ended.
pub fn run(
    home: &Home,
    store: &str,
    tell: &mut dyn FnMut(Difference) -> Result<(), EngineError>,
) -> Result<Compared, EngineError> {
    let in_store = home.store(store)?.as_ref();
    let mut reconciling = Reconciling {
        home,
        store: in_store,
        tell,
        compared: Compared::default(),
        busy: Vec::new(),
        institutions: BTreeSet::new(),
    };
    if home.preservation_stores().iter().any(|kept| kept.name() == store) {
        reconciling.keys()?;
        reconciling.roots()?;
        reconciling.assemblies()?;
        reconciling.lacking()?;
    }
    if home.roles.staging.name() == store {
        reconciling.staging()?;
    }
    Ok(reconciling.compared)
}

/// Tells each key that the registry has of an object in a store and that a listing of the object does not show with its
/// recorded size; the object root where nothing is shown. Takes no lease: work that goes on meanwhile may seem missing.
pub(crate) fn missing_of_object(
    home: &Home,
    store: &dyn Store,
    object: ObjectId,
    tell: &mut dyn FnMut(&str),
) -> Result<(), EngineError> {
    let stored = home.registry.read(|tx| rows::stored_object(tx, store.name(), object))?;
    let Some(stored) = stored else {
        tell("");
        return Ok(());
    };
    let root = object_root(&stored.institution, stored.generation)?;
    let mut comparison = Comparison::begin(home, store.name(), stored)?;
    let mut hear = |code: Code, path: &str, _: Option<String>| {
        if matches!(code, Code::CopyMissing | Code::CopySize | Code::InventoryMissing | Code::ObjectMissing) {
            tell(path);
        }
        Ok(())
    };
    for listed in store.list(&root)? {
        match listed {
            Ok(listed) => comparison.see(listed.key.as_str(), listed.size, &mut hear)?,
            // No key of ours has such a name.
            Err(StorageError::Key(_) | StorageError::Unusable { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    comparison.end(&mut hear)
}

struct Reconciling<'a> {
    home: &'a Home,
    store: &'a dyn Store,
    tell: &'a mut dyn FnMut(Difference) -> Result<(), EngineError>,
    compared: Compared,
    busy: Vec<StoredObject>,
    /// Those that the record has objects of in this store.
    institutions: BTreeSet<String>,
}

/// What a key is, by its name alone.
enum Place<'k> {
    /// Below the object root.
    Object(&'k str),
    /// Of a storage root, or of the store's own.
    Known,
    /// Nothing that belongs there.
    Foreign,
}

/// Tells objects by the layout: an institution, three folders of three hexadecimal digits, the digest of the id.
fn place(key: &str) -> Place<'_> {
    let mut ends = key.match_indices('/').map(|(at, _)| at);
    let Some(top) = ends.next() else { return Place::Foreign };
    let (institution, rest) = (key.get(..top).unwrap_or_default(), key.get(top + 1..).unwrap_or_default());
    if institution == "_strongroom" {
        return Place::Known;
    }
    if !strongroom_registry::tenants::is_institution_identifier(institution) {
        return Place::Foreign;
    }
    if rest == "0=ocfl_1.1" || rest.starts_with("ocfl_") || rest.starts_with("extensions/") {
        return Place::Known;
    }
    let is_hex =
        |text: &str, length| text.len() == length && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    let mut segments = rest.split('/');
    let is_root = segments.by_ref().take(3).filter(|segment| is_hex(segment, 3)).count() == 3
        && segments.next().is_some_and(|segment| is_hex(segment, 128));
    match ends.nth(3) {
        Some(end) if is_root => Place::Object(key.get(..end).unwrap_or_default()),
        _ => Place::Foreign,
    }
}

impl<'a> Reconciling<'a> {
    fn differs(
        &mut self,
        code: Code,
        path: &str,
        object: Option<ObjectId>,
        detail: Option<String>,
    ) -> Result<(), EngineError> {
        if code == Code::VersionDiscarded {
            self.sweep_again(path)?;
        }
        self.compared.differences += 1;
        (self.tell)(Difference { store: self.store.name().to_owned(), code, path: path.to_owned(), object, detail })
    }

    /// Every object that the record has in this store, in byte order of its root.
    fn recorded(
        &mut self,
    ) -> Result<impl Iterator<Item = Result<(String, StoredObject), EngineError>> + use<>, EngineError> {
        let failed = |source| EngineError::Io { act: "sort the objects of", path: "the record".into(), source };
        let mut gathered = Gathered::default();
        let mut after = None;
        loop {
            let name = self.store.name();
            let page = self.home.registry.read(|tx| rows::objects_in_store(tx, name, after, OBJECTS))?;
            let Some(last) = page.last() else { break };
            after = Some(last.object);
            for stored in &page {
                self.compared.objects += 1;
                if !self.institutions.contains(&stored.institution) {
                    self.institutions.insert(stored.institution.clone());
                }
                let root = object_root(&stored.institution, stored.generation)?;
                let line = format!("{root}/\t{}\t{}", stored.object, stored.generation);
                gathered.add(line).map_err(failed)?;
            }
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

    fn keys(&mut self) -> Result<(), EngineError> {
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
    fn roots(&mut self) -> Result<(), EngineError> {
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
            return Ok(());
        }
        self.look_again(stored)
    }

    /// Has an assembly that is swept because its version is over removed by the next turn of the schedule.
    fn sweep_assembly_soon(&self, id: &str) -> Result<(), EngineError> {
        let Ok(id) = id.parse::<VersionId>() else { return Ok(()) };
        let version = self.home.registry.read(|tx| versions::get(tx, id))?;
        if version.is_some_and(|version| is_over(&version)) { self.sweep_version_soon(id) } else { Ok(()) }
    }

    /// Has what lies under the identifier of a version that was given up removed by the schedule.
    fn sweep_again(&self, key: &str) -> Result<(), EngineError> {
        let Place::Object(root) = place(key) else { return Ok(()) };
        let relative = key.get(root.len() + 1..).unwrap_or_default();
        owner_of(relative).map_or(Ok(()), |version| self.sweep_version_soon(version))
    }

    /// Has the next turn of the schedule remove what lies of a version that was given up, and what was assembled of any that is
    /// over.
    fn sweep_version_soon(&self, version: VersionId) -> Result<(), EngineError> {
        if self.home.registry.refusal().is_none() {
            self.home.registry.write(move |tx| {
                discarding::sweep_again(tx, version)?;
                schedules::hasten(tx, schedule::STAGING)
            })?;
        }
        Ok(())
    }

    /// Tells the versions that were given up and have something in an object without a root inventory; whether nothing else
    /// lies there.
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

    /// Compares an object once more, while nobody can change it, and tells what still differs.
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

    /// The same for those that somebody worked on.
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
                    let root = object_root(&stored.institution, stored.generation)?;
                    self.differs(Code::ObjectBusy, root.as_str(), Some(stored.object), None)?;
                }
            }
            if !self.busy.is_empty() {
                std::thread::park_timeout(Duration::from_millis(100));
            }
        }
        Ok(())
    }

    /// Compares under the object's lease; false where somebody else has it. A registry that can only be read has nobody
    /// who works with it.
    fn compare(&mut self, stored: &StoredObject) -> Result<bool, EngineError> {
        let (home, store) = (self.home, self.store);
        let hold = match home.registry.refusal() {
            Some(_) => None,
            None => match ObjectHold::take(home, stored.object) {
                Ok(hold) => Some(hold),
                Err(Halt::Busy(_)) => return Ok(false),
                Err(Halt::Engine(error)) => return Err(error),
                Err(Halt::Interrupted(interrupted)) => return Err(EngineError::Usage(interrupted.to_string())),
            },
        };
        let object = stored.object;
        let root = object_root(&stored.institution, stored.generation)?;
        let copies = home.registry.read(|tx| rows::stored_object(tx, store.name(), object))?;
        if copies.as_ref() != Some(stored) {
            if copies.is_none() && store.list(&root)?.next().is_some() {
                self.differs(Code::ObjectUnrecorded, root.as_str(), Some(object), None)?;
            }
            return Ok(true);
        }
        let mut comparison = Comparison::begin(home, store.name(), stored.clone())?;
        let mut kept_at = Instant::now();
        let mut tell = |code: Code, path: &str, detail: Option<String>| self.differs(code, path, Some(object), detail);
        for listed in store.list(&root)? {
            // What is no key was told when it went by.
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

    /// What the store lacks of the objects of its placements.
    fn lacking(&mut self) -> Result<(), EngineError> {
        let (home, name) = (self.home, self.store.name());
        backfill::each_lacking((&home.settings, &home.registry), Scope::System, Some(name), &mut |lacking| {
            let of = &lacking.object;
            let root = object_root(&of.institution_identifier, of.generation)?;
            let inventories = if of.has_inventories { "" } else { ", and its inventories" };
            let detail = format!("{}: {} contents{inventories}", of.object_identifier, of.contents);
            self.differs(Code::ObjectLacking, root.as_str(), Some(of.object), Some(detail))
        })
    }

    fn assemblies(&mut self) -> Result<(), EngineError> {
        for id in self.store.assemblies()? {
            let is_owned = self.is_being_written(&id)? || self.is_owned(&id)?;
            if !is_owned && self.store.assemblies()?.contains(&id) {
                self.sweep_assembly_soon(&id)?;
                self.differs(Code::AssemblyAbandoned, &id, None, None)?;
            }
        }
        Ok(())
    }

    fn staging(&mut self) -> Result<(), EngineError> {
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

    /// Whether a work item of this identifier is open, or keeps what it has until somebody has looked at it.
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
}
