//! What an object has in a store besides contents: its declaration, its root inventory (that of the recorded head), the
//! inventory of each version, and their sidecars. What differs from the record is put back as recorded, from wherever the
//! recorded bytes still lie.

use strongroom_digest::{Algorithm, Digest, hash_reader};
use strongroom_ocfl::InventorySeal;
use strongroom_registry::events::{self, EventRow};
use strongroom_registry::fixity::{self as record, Finding, NewFinding, WatchedObject};
use strongroom_registry::versions::{self, Version};
use strongroom_registry::{FindingId, FindingKind, FindingState, ObjectId, RegistryError, objects};
use strongroom_storage::{Key, PutCondition, PutOptions, StorageError, Store};

use super::check::Interruptible;
use super::evidence::{self, About, FoundBytes, Log, Witness};
use super::repair::Treated;
use super::{GoOn, Halt, ObjectHold, check, now};
use crate::event::Event;
use crate::logs::object_root;
use crate::{EngineError, Home};

const INVENTORY: &str = "inventory.json";
const SIDECAR: &str = "inventory.json.sha512";
/// The declaration of an object of OCFL 1.1 (section 3.3): its name, and what it says.
const DECLARATION: (&str, &str) = ("0=ocfl_object_1.1", "ocfl_object_1.1\n");

/// One of the files that are watched together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Declaration,
    Inventory(Place),
    Sidecar(Place),
}

/// The object root, or a version's directory; with the number of the version whose inventory belongs there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Root(u64),
    Version(u64),
}

impl Place {
    fn number(self) -> u64 {
        match self {
            Self::Root(number) | Self::Version(number) => number,
        }
    }

    fn file(self, name: &str) -> String {
        match self {
            Self::Root(_) => name.to_owned(),
            Self::Version(number) => format!("v{number}/{name}"),
        }
    }
}

/// A file that is not as recorded.
#[derive(Debug, Clone)]
struct Fault {
    part: Part,
    /// Relative to the object root.
    file: String,
    /// What lies there.
    found: Option<Lying>,
    /// The digest recorded.
    expected: Option<Digest>,
}

/// What lies under a key.
#[derive(Debug, Clone)]
struct Lying {
    size: u64,
    /// None where the medium cannot read it.
    digest: Option<Digest>,
    /// Why it cannot.
    unreadable: Option<String>,
    /// The store's etag of it.
    etag: String,
}

impl Lying {
    fn bytes(&self) -> Option<FoundBytes<'_>> {
        match (&self.unreadable, self.digest) {
            (Some(reason), _) => Some(FoundBytes::Unreadable(self.size, reason)),
            (None, Some(digest)) => Some(FoundBytes::Read(self.size, digest)),
            (None, None) => None,
        }
    }
}

impl Fault {
    fn words(&self) -> String {
        match &self.found {
            Some(Lying { unreadable: Some(reason), .. }) => {
                format!("{} cannot be read by its medium ({reason})", self.file)
            }
            Some(_) => format!("{} differs", self.file),
            None => format!("{} is missing", self.file),
        }
    }
}

/// The object's files in one store, as the record has them.
struct Files<'a> {
    store: &'a dyn Store,
    root: Key,
    /// What belongs where: the head's inventory twice.
    places: Vec<(Place, Digest)>,
}

impl<'a> Files<'a> {
    fn new(store: &'a dyn Store, root: Key, versions: &[Version]) -> Self {
        let recorded = |version: &Version| version.inventory.map(|digest| (version.number, digest));
        let head = versions.last().and_then(recorded).map(|(number, digest)| (Place::Root(number), digest));
        let each = versions.iter().filter_map(recorded).map(|(number, digest)| (Place::Version(number), digest));
        Self { store, root, places: head.into_iter().chain(each).collect() }
    }

    fn key(&self, file: &str) -> Result<Key, Halt> {
        Ok(self.root.join(file).map_err(StorageError::from)?)
    }

    /// Everything that differs from the record.
    fn faults(&self, go_on: &GoOn<'_>) -> Result<Vec<Fault>, Halt> {
        let mut faults = Vec::new();
        self.compare_text(Part::Declaration, DECLARATION.0, DECLARATION.1, &mut faults)?;
        for (place, expected) in &self.places {
            go_on()?;
            let file = place.file(INVENTORY);
            let found = lying(self.store, &self.key(&file)?, go_on)?;
            if found.as_ref().and_then(|found| found.digest) != Some(*expected) {
                faults.push(Fault { part: Part::Inventory(*place), file, found, expected: Some(*expected) });
            }
            let text = sidecar_text(expected);
            self.compare_text(Part::Sidecar(*place), &place.file(SIDECAR), &text, &mut faults)?;
        }
        Ok(faults)
    }

    fn compare_text(&self, part: Part, file: &str, expected: &str, faults: &mut Vec<Fault>) -> Result<(), Halt> {
        let key = self.key(file)?;
        let digest = digest_of(expected.as_bytes());
        let found = lying(self.store, &key, &|| Ok(()))?;
        if digest.is_some() && found.as_ref().and_then(|found| found.digest) == digest {
            return Ok(());
        }
        faults.push(Fault { part, file: file.to_owned(), found, expected: digest });
        Ok(())
    }

    /// The recorded bytes of an inventory, wherever they lie among `all` stores.
    fn recorded(
        &self,
        fault: &Fault,
        place: Place,
        all: &[Files<'a>],
        go_on: &GoOn<'_>,
    ) -> Option<(InventorySeal, &'a dyn Store, Key)> {
        let expected = fault.expected?;
        for files in std::iter::once(self).chain(all) {
            for (other, digest) in &files.places {
                if other.number() != place.number() || *digest != expected {
                    continue;
                }
                let Ok(key) = files.key(&other.file(INVENTORY)) else { continue };
                // A store that does not answer is one that cannot help.
                if let Ok(Some(found)) = lying(files.store, &key, go_on)
                    && found.digest == Some(expected)
                {
                    return Some((InventorySeal { digest: expected, size: found.size }, files.store, key));
                }
            }
        }
        None
    }
}

/// Checks the object's files in a store, and repairs what is not as recorded.
pub(super) fn check(home: &Home, watched: &WatchedObject, go_on: &GoOn<'_>) -> Result<Treated, Halt> {
    let (watched_object, generation) = (watched.object, watched.generation);
    let versions = home.registry.read(|tx| versions::list(tx, watched_object, generation, false))?;
    let store = home.store(&watched.store)?.as_ref();
    let root = object_root(&watched.institution_identifier, generation)?;
    let faults = Files::new(store, root, &versions).faults(go_on)?;
    if faults.is_empty() && watched.state == strongroom_registry::CopyState::Kept {
        let event = passed(watched, now(home)?);
        let (object, store) = (watched.object, watched.store.clone());
        home.registry.write(move |tx| {
            record::set_object_right(tx, object, &store)?;
            events::append(tx, std::slice::from_ref(&event))
        })?;
        return Ok(Treated::Right);
    }
    treat(home, watched.object, &watched.store, go_on)
}

/// Looks again under the object's lease, and repairs.
pub(super) fn treat(home: &Home, object: ObjectId, store: &str, go_on: &GoOn<'_>) -> Result<Treated, Halt> {
    let hold = ObjectHold::take(home, object)?;
    let unsolved = home.registry.read(|tx| record::unsolved(tx, object, store, None))?;
    let Some(watched) = home.registry.read(|tx| record::object_copy(tx, object, store))? else {
        super::close_gone(&hold, unsolved.map(|finding| finding.id))?;
        return Ok(Treated::Gone);
    };
    let versions = home.registry.read(|tx| versions::list(tx, object, watched.generation, false))?;
    let root = object_root(&watched.institution_identifier, watched.generation)?;
    let files = Files::new(home.store(store)?.as_ref(), root.clone(), &versions);
    let faults = files.faults(go_on)?;
    let case = Case { home, hold, watched: &watched, files, go_on };
    if faults.is_empty() {
        case.record_right(unsolved)?;
        return Ok(Treated::Right);
    }
    let others = home.registry.read(|tx| objects::object_copies(tx, object))?;
    let others: Vec<Files<'_>> = others
        .iter()
        .filter(|(other, _, _)| other != store)
        .filter_map(|(other, _, _)| home.store(other).ok())
        .map(|other| Files::new(other.as_ref(), root.clone(), &versions))
        .collect();
    case.repair(unsolved.map_or_else(FindingId::new, |finding| finding.id), &faults, &others)
}

/// One object in one store under treatment.
struct Case<'a> {
    home: &'a Home,
    hold: ObjectHold<'a>,
    watched: &'a WatchedObject,
    files: Files<'a>,
    go_on: &'a GoOn<'a>,
}

impl Case<'_> {
    fn record_right(&self, finding: Option<Finding>) -> Result<(), Halt> {
        let mut acts = vec![passed(self.watched, now(self.home)?)];
        let (object, store) = (self.watched.object, self.watched.store.clone());
        let mut solved = None;
        if let Some(finding) = finding {
            let detail = format!(
                "{} in store {store} is as recorded again: put back by hand, or by a repair that was cut short",
                self.files.root
            );
            acts.push(self.event("recovery", "success", detail.clone(), finding.detail)?);
            self.log("repair", finding.id, finding.quarantine_key.as_deref(), &detail, &acts)?;
            solved = Some((finding.id, detail));
        }
        self.hold.write(move |tx| {
            record::set_object_right(tx, object, &store)?;
            events::append(tx, &acts)?;
            let Some((id, detail)) = &solved else { return Ok(()) };
            record::close_finding(tx, *id, FindingState::Repaired, detail)
        })
    }

    fn log(
        &self,
        act: &str,
        finding: FindingId,
        quarantine_key: Option<&str>,
        detail: &str,
        events: &[EventRow],
    ) -> Result<(), Halt> {
        let watched = self.watched;
        let log = Log {
            act,
            finding,
            object: watched.object,
            content: None,
            store: &watched.store,
            key: self.files.root.as_str(),
            kind: FindingKind::Inventory.word(),
            detail,
            expected_sha512: None,
            found_sha512: None,
            unreadable: None,
            quarantine_key,
            repaired_from: None,
            time: now(self.home)?,
            events,
        };
        evidence::put_log(self.home, &self.hold, &watched.institution_identifier, watched.generation, &log)
    }

    fn event(&self, kind: &str, outcome: &str, detail: String, came_of_it: String) -> Result<EventRow, Halt> {
        Ok(about(self.watched).event(now(self.home)?, kind, outcome, detail, came_of_it))
    }

    fn repair(&self, id: FindingId, faults: &[Fault], others: &[Files<'_>]) -> Result<Treated, Halt> {
        let words = faults.iter().map(Fault::words).collect::<Vec<_>>().join(", ");
        let mut acts = vec![self.open(id, &words)?];
        let mut kept = Vec::new();
        for fault in faults {
            self.quarantine(id, fault, &mut kept, &mut acts)?;
        }
        self.log("damage", id, kept.first().map(String::as_str), &words, &acts)?;
        let mut unsolved = Vec::new();
        // Inventories first: a sidecar is put beside a right inventory only.
        for fault in faults.iter().filter(|fault| matches!(fault.part, Part::Inventory(_))) {
            if !self.put_back(fault, others)? {
                unsolved.push(format!("no store has the recorded {}", fault.file));
            }
        }
        for fault in faults.iter().filter(|fault| !matches!(fault.part, Part::Inventory(_))) {
            self.put_back(fault, others)?;
        }
        for fault in self.files.faults(self.go_on)? {
            if unsolved.is_empty() {
                unsolved.push(format!("after the repair {}", fault.words()));
            }
        }
        self.close(id, &words, &kept, &unsolved)
    }

    fn open(&self, id: FindingId, words: &str) -> Result<EventRow, Halt> {
        let watched = self.watched;
        let detail = format!("declaration and inventories of {} in store {}", self.files.root, watched.store);
        let event = self.event("fixity check", "failure", detail, words.to_owned())?;
        let finding = NewFinding {
            id,
            institution: watched.institution,
            object: watched.object,
            content: None,
            store: watched.store.clone(),
            key: self.files.root.to_string(),
            kind: FindingKind::Inventory,
            detail: words.to_owned(),
        };
        let (object, store, row) = (watched.object, watched.store.clone(), event.clone());
        self.hold.write(move |tx| {
            record::open_finding(tx, &finding)?;
            record::set_object_damaged(tx, object, &store)?;
            events::append(tx, std::slice::from_ref(&row))
        })?;
        Event::DamageFound { store: &watched.store, key: self.files.root.as_str(), detail: words }.emit();
        Ok(event)
    }

    fn quarantine(
        &self,
        id: FindingId,
        fault: &Fault,
        kept: &mut Vec<String>,
        acts: &mut Vec<EventRow>,
    ) -> Result<(), Halt> {
        let Some(found) = fault.found.as_ref().and_then(Lying::bytes) else { return Ok(()) };
        let from = self.files.key(&fault.file)?;
        let witness = Witness {
            institution: &self.watched.institution_identifier,
            object: self.watched.object,
            finding: id,
            store: self.files.store,
            key: &from,
            expected: fault.expected,
            found,
            found_at: now(self.home)?,
        };
        let key = evidence::quarantine(self.home, &self.hold, &witness, self.go_on)?;
        let mut event = evidence::quarantined(about(self.watched), &witness, self.home, &key)?;
        let key = key.to_string();
        // The same bytes are kept once for a finding, however often it is looked at.
        event.id = events::derived_id(id.0, &key);
        // One finding may have several files: it names the first, the events name all.
        let first = kept.is_empty();
        let (row, text) = (event.clone(), key.clone());
        self.hold.write(move |tx| {
            if first {
                record::set_quarantined(tx, id, &text)?;
            }
            events::append(tx, std::slice::from_ref(&row))
        })?;
        kept.push(key);
        acts.push(event);
        Ok(())
    }

    /// Puts one file back; false when its recorded bytes are nowhere. Only what was seen is replaced, so that a worker that
    /// lost the object's lease meanwhile changes nothing.
    fn put_back(&self, fault: &Fault, others: &[Files<'_>]) -> Result<bool, Halt> {
        let place = match fault.part {
            Part::Declaration => {
                self.put_text(fault, DECLARATION.1)?;
                return Ok(true);
            }
            Part::Sidecar(place) => {
                // Its inventory is right, or there is nothing to put beside it.
                let recorded = self.files.places.iter().find(|(other, _)| *other == place).map(|(_, digest)| *digest);
                let inventory = lying(self.files.store, &self.files.key(&place.file(INVENTORY))?, self.go_on)?;
                let digest = inventory.and_then(|found| found.digest).filter(|digest| Some(*digest) == recorded);
                let Some(digest) = digest else { return Ok(false) };
                self.put_text(fault, &sidecar_text(&digest))?;
                return Ok(true);
            }
            Part::Inventory(place) => place,
        };
        let Some((seal, from, key)) = self.files.recorded(fault, place, others, self.go_on) else { return Ok(false) };
        let body = from.open(&key, 0, None)?;
        self.hold.keep()?;
        let mut body = self.hold.keeping(Interruptible { body, go_on: self.go_on });
        let options = PutOptions {
            digest: Some((Algorithm::Sha512, seal.digest)),
            size: Some(seal.size),
            condition: self.replacing(fault),
            ..PutOptions::default()
        };
        self.files.store.put(&self.files.key(&fault.file)?, &mut body, &options)?;
        Ok(true)
    }

    fn put_text(&self, fault: &Fault, text: &str) -> Result<(), Halt> {
        self.hold.keep()?;
        let condition = self.replacing(fault);
        let options = PutOptions { size: Some(text.len() as u64), condition, ..PutOptions::default() };
        self.files.store.put(&self.files.key(&fault.file)?, &mut text.as_bytes(), &options)?;
        Ok(())
    }

    fn replacing(&self, fault: &Fault) -> PutCondition {
        evidence::replacing(self.files.store, fault.found.as_ref().map(|found| found.etag.as_str()))
    }

    fn close(&self, id: FindingId, words: &str, kept: &[String], unsolved: &[String]) -> Result<Treated, Halt> {
        let watched = self.watched;
        let is_repaired = unsolved.is_empty();
        let place = format!("{} in store {}", self.files.root, watched.store);
        let evidence = if kept.is_empty() { String::new() } else { format!("; evidence kept as {}", kept.join(", ")) };
        let detail = if is_repaired {
            format!("{place}: {words}; put back as recorded and read back{evidence}")
        } else {
            format!("{place}: {words}; cannot be repaired: {}{evidence}", unsolved.join("; "))
        };
        let (act, outcome) = if is_repaired { ("repair", "success") } else { ("unrepairable", "failure") };
        let mut acts = vec![self.event("recovery", outcome, detail.clone(), words.to_owned())?];
        if is_repaired {
            acts.push(passed(watched, now(self.home)?));
        }
        self.log(act, id, kept.first().map(String::as_str), &detail, &acts)?;
        let (object, store, text) = (watched.object, watched.store.clone(), detail.clone());
        self.hold.write(move |tx| {
            events::append(tx, &acts)?;
            if is_repaired {
                record::set_object_right(tx, object, &store)?;
            } else {
                record::set_object_given_up(tx, object, &store)?;
            }
            let state = if is_repaired { FindingState::Repaired } else { FindingState::Unrepairable };
            record::close_finding(tx, id, state, &text)?;
            Ok::<_, RegistryError>(())
        })?;
        Event::DamageTreated { repaired: is_repaired, detail: &detail }.emit();
        Ok(if is_repaired { Treated::Repaired } else { Treated::Unrepairable })
    }
}

fn about(watched: &WatchedObject) -> About {
    About { institution: watched.institution, object: watched.object, content: None }
}

fn passed(watched: &WatchedObject, time: strongroom_registry::Time) -> EventRow {
    let detail = format!("declaration, inventories and sidecars in store {} compared with the record", watched.store);
    about(watched).event(time, "fixity check", "success", detail, "as recorded".into())
}

fn sidecar_text(digest: &Digest) -> String {
    format!("{digest} {INVENTORY}\n")
}

/// What lies under a key; none where nothing does.
fn lying(store: &dyn Store, key: &Key, go_on: &GoOn<'_>) -> Result<Option<Lying>, Halt> {
    let head = match store.head(key) {
        Ok(head) => head,
        Err(error) if error.is_not_found() => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    match check::read(store, key, go_on) {
        Ok((size, digest)) => Ok(Some(Lying { size, digest: Some(digest), unreadable: None, etag: head.etag })),
        Err(Halt::Engine(EngineError::Storage(error))) if error.is_not_found() => Ok(None),
        Err(Halt::Engine(EngineError::Storage(error))) if check::is_unreadable(&error) => {
            let unreadable = Some(check::medium_says(&error));
            Ok(Some(Lying { size: head.size, digest: None, unreadable, etag: head.etag }))
        }
        Err(halt) => Err(halt),
    }
}

fn digest_of(bytes: &[u8]) -> Option<Digest> {
    hash_reader(bytes, &[Algorithm::Sha512]).ok().and_then(|(_, digests)| digests.get(Algorithm::Sha512))
}
