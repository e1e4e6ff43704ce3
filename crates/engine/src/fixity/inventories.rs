//! What an object has in a store besides contents: its declaration, its root inventory (that of the recorded head), the
//! inventory of each version, their sidecars, and the tombstones of deletions. What differs from the record is put back as
//! recorded, from wherever the recorded bytes still lie.

use strongroom_digest::Digest;
use strongroom_ocfl::InventorySeal;
use strongroom_registry::events::{self, EventRow};
use strongroom_registry::fixity::{self as record, Finding, NewFinding, WatchedObject};
use strongroom_registry::journal::Actor;
use strongroom_registry::objects::{self, Object};
use strongroom_registry::versions::{self, Version};
use strongroom_registry::work::Claim;
use strongroom_registry::{
    CopyState, FindingId, FindingKind, FindingState, GenerationId, ObjectId, RegistryError, deletions,
};
use strongroom_storage::Body;

use super::evidence::{self, About, DamagedCopy, Log};
use super::inventory_files::{FileFault, Files, Lying, Part, Wanted, Writer};
use super::repair::RepairOutcome;
use super::{GoOn, ObjectHold, OperationError, now};
use crate::event::Event;
use crate::logs::object_root;
use crate::{EngineError, Home, deletion, watermark};

/// Checks the object's files in a store, and repairs what is not as recorded.
pub(super) fn check(
    home: &Home,
    watched: &WatchedObject,
    actor: Option<&Actor>,
    go_on: &GoOn<'_>,
) -> Result<RepairOutcome, OperationError> {
    let (watched_object, generation) = (watched.object, watched.generation);
    let versions = home.registry.read(|tx| versions::list(tx, watched_object, generation, false))?;
    let root = object_root(&watched.institution_identifier, generation)?;
    let of = (watched_object, generation);
    let files = Files::new(home, &watched.store, root, &versions)?.with_tombstones(of)?.with_earlier(
        of,
        &watched.institution_identifier,
        Wanted::OfStore,
    )?;
    let faults = files.faults(go_on)?;
    if faults.is_empty() && watched.state == CopyState::Kept {
        let event = passed(watched, now(home)?).on_behalf_of(actor);
        let (object, store) = (watched.object, watched.store.clone());
        home.registry.write(move |tx| {
            record::set_object_right(tx, object, &store)?;
            events::append(tx, std::slice::from_ref(&event))
        })?;
        return Ok(RepairOutcome::Right);
    }
    treat(home, watched.object, &watched.store, actor, go_on)
}

/// Looks again under the object's lease, and repairs.
pub(super) fn treat(
    home: &Home,
    object: ObjectId,
    store: &str,
    actor: Option<&Actor>,
    go_on: &GoOn<'_>,
) -> Result<RepairOutcome, OperationError> {
    treat_held(home, ObjectHold::take(home, object)?.on_behalf_of(actor), object, store, go_on)
}

/// The same for a work item that holds the object: whether everything is as recorded then.
pub(crate) fn put_right(
    home: &Home,
    (object, claim): (ObjectId, &Claim),
    store: &str,
    go_on: &GoOn<'_>,
) -> Result<bool, OperationError> {
    let hold = ObjectHold::of_item(home, object, claim)?;
    Ok(matches!(treat_held(home, hold, object, store, go_on)?, RepairOutcome::Right | RepairOutcome::Repaired))
}

/// An inventory that is recorded and at hand.
pub(crate) struct Recorded<'a> {
    pub(crate) seal: InventorySeal,
    pub(crate) open: &'a dyn Fn() -> Result<Body, EngineError>,
}

/// The same for a work item that is committing the first version of its object: of that nothing is published, so nothing
/// else can put it right. Whether what was damaged is as it will be recorded then; what is missing is left to the commit.
pub(crate) fn put_right_first(
    home: &Home,
    (object, claim): (&Object, &Claim),
    version: &Version,
    (store, recorded): (&str, &Recorded<'_>),
    go_on: &GoOn<'_>,
) -> Result<bool, OperationError> {
    let root = object_root(&object.institution_identifier, object.generation)?;
    let files = Files::new(home, store, root, std::slice::from_ref(version))?;
    // Read before the fence and the mark are checked: a later version is published only behind this item, or by a registry
    // that has adopted the store, so nothing here is of one.
    let mut faults = files.faults(go_on)?;
    faults.retain(|fault| fault.found.is_some());
    let hold = ObjectHold::of_item(home, object.id, claim)?;
    watermark::check_epoch(home, files.store)?;
    let about = About { institution: object.institution, object: object.id, content: None };
    // Of the version and the store, so that the same evidence is kept once, however often the item is tried.
    let finding = FindingId(events::derived_id(version.id.0, store).0);
    for fault in &faults {
        let detail = format!("{}: {} before the first version is published", object.identifier, fault.words());
        Event::DamageFound { store, key: files.root().as_str(), detail: &detail }.emit();
        let owner = Owner { about, institution: &object.institution_identifier, object: &object.identifier, finding };
        let kept = keep(home, &hold, &files, &owner, fault, go_on)?;
        if let Some((_, event)) = kept {
            hold.write(move |tx| events::append(tx, std::slice::from_ref(&event)))?;
        }
    }
    let writer = Writer { hold: &hold, files: &files, go_on };
    // Inventories first: a sidecar is put beside a right inventory only.
    faults.sort_by_key(|fault| !matches!(fault.part, Part::Inventory(_)));
    let mut is_right = true;
    for fault in &faults {
        is_right &= match fault.part {
            Part::Inventory(_) => {
                writer.put_inventory(fault, &recorded.seal, (recorded.open)()?)?;
                true
            }
            Part::Declaration | Part::Sidecar(_) | Part::Tombstone(_) | Part::LastRecord(_) => {
                writer.put_back(fault, &[])?
            }
        };
    }
    Ok(is_right)
}

/// What bad bytes are evidence of.
struct Owner<'a> {
    about: About,
    institution: &'a str,
    /// The object, `<institution>/<name>`.
    object: &'a str,
    finding: FindingId,
}

/// Keeps what lies in the place of a file as evidence: its key, and the event; none where nothing lies there.
fn keep(
    home: &Home,
    hold: &ObjectHold<'_>,
    files: &Files<'_>,
    owner: &Owner<'_>,
    fault: &FileFault,
    go_on: &GoOn<'_>,
) -> Result<Option<(String, EventRow)>, OperationError> {
    let Some(found) = fault.found.as_ref().and_then(Lying::bytes) else { return Ok(None) };
    let from = fault.key()?;
    let witness = DamagedCopy {
        institution: owner.institution,
        object: owner.about.object,
        name: format!("{}: {}", owner.object, fault.name()),
        finding: owner.finding,
        store: files.store,
        key: &from,
        expected: fault.expected,
        found,
        found_at: now(home)?,
    };
    let key = evidence::quarantine(home, hold, &witness, go_on)?;
    let mut event = evidence::quarantined(owner.about, &witness, home, &key)?.on_behalf_of(hold.actor());
    let key = key.to_string();
    // The same bytes are kept once for a finding, however often it is checked.
    event.id = events::derived_id(owner.finding.0, &key);
    Ok(Some((key, event)))
}

fn treat_held(
    home: &Home,
    hold: ObjectHold<'_>,
    object: ObjectId,
    store: &str,
    go_on: &GoOn<'_>,
) -> Result<RepairOutcome, OperationError> {
    let unsolved = home.registry.read(|tx| record::unsolved(tx, object, store, None))?;
    let Some(watched) = home.registry.read(|tx| record::object_copy(tx, object, store))? else {
        super::close_gone(&hold, unsolved.map(|finding| finding.id))?;
        return Ok(RepairOutcome::Gone);
    };
    let versions = home.registry.read(|tx| versions::list(tx, object, watched.generation, false))?;
    let root = object_root(&watched.institution_identifier, watched.generation)?;
    let of = (object, watched.generation);
    let files_in = |store: &str, wanted: Wanted| {
        let files = Files::new(home, store, root.clone(), &versions)?.with_tombstones(of)?;
        files.with_earlier(of, &watched.institution_identifier, wanted)
    };
    let files = files_in(store, Wanted::OfStore)?;
    let faults = files.faults(go_on)?;
    let case = Case { home, hold, watched: &watched, files, go_on };
    if faults.is_empty() {
        case.record_right(unsolved)?;
        return Ok(RepairOutcome::Right);
    }
    let (waiting, faults) = waiting_for_deletions(home, &watched, faults)?;
    if faults.is_empty() {
        if waiting.iter().all(|fault| fault.earlier.is_some()) {
            case.record_right(unsolved)?;
            return Ok(RepairOutcome::Right);
        }
        // "delete unfinished" tells of it.
        if watched.state == CopyState::Kept {
            let name = store.to_owned();
            case.hold.write(move |tx| record::set_object_right(tx, object, &name))?;
        }
        return Ok(RepairOutcome::Gone);
    }
    // What is of a registry that has adopted the store since is no damage.
    watermark::check_epoch(home, case.files.store)?;
    let others = home.registry.read(|tx| objects::object_copies(tx, object))?;
    let others: Vec<Files<'_>> = others
        .iter()
        .filter(|(other, _, _)| other != store)
        .filter_map(|(other, _, _)| files_in(other, Wanted::All).ok())
        .collect();
    let outcome = case.repair(unsolved.map_or_else(FindingId::new, |finding| finding.id), faults, &others)?;
    Ok(outcome)
}

/// The faults that are none, because the store refuses a deletion and has what was before it, then the others.
fn waiting_for_deletions(
    home: &Home,
    watched: &WatchedObject,
    faults: Vec<FileFault>,
) -> Result<(Vec<FileFault>, Vec<FileFault>), EngineError> {
    let roots = other_roots(watched, &faults);
    let pending = deletion::still_before(home, watched.object, &watched.store)?;
    let waits = |fault: &FileFault| {
        let generation = fault.earlier.unwrap_or(watched.generation);
        let mut of_folder = pending.iter().filter(|one| one.generation == generation);
        let is_before =
            pending.iter().any(|one| one.generation == generation && roots.contains(&(generation, one.root)));
        is_before
            && match fault.part {
                Part::Declaration => false,
                Part::Inventory(_) => {
                    fault.digest().is_none_or(|digest| of_folder.any(|one| one.inventories.contains(&digest)))
                }
                Part::Sidecar(_) | Part::Tombstone(_) | Part::LastRecord(_) => true,
            }
    };
    Ok(faults.into_iter().partition(waits))
}

/// The root inventories that lie in the place of recorded ones, of the present generation and of earlier ones.
fn other_roots(watched: &WatchedObject, faults: &[FileFault]) -> Vec<(GenerationId, Digest)> {
    let root = |fault: &FileFault| Some((fault.earlier.unwrap_or(watched.generation), fault.other_root()?));
    faults.iter().filter_map(root).collect()
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
    /// The object as people know it, then the store and the folder of the object in it.
    fn place(&self) -> String {
        format!("{} in store {} ({})", self.watched.object_identifier, self.watched.store, self.files.root())
    }

    fn record_right(&self, finding: Option<Finding>) -> Result<(), OperationError> {
        let mut acts = vec![passed(self.watched, now(self.home)?).on_behalf_of(self.hold.actor())];
        let (object, store) = (self.watched.object, self.watched.store.clone());
        let mut solved = None;
        if let Some(finding) = finding {
            let detail =
                format!("{} is as recorded again: put back by hand, or by a repair that was interrupted", self.place());
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
    ) -> Result<(), OperationError> {
        let (watched, root) = (self.watched, self.files.root());
        let log = Log {
            act,
            finding,
            object: watched.object,
            content: None,
            store: &watched.store,
            key: root.as_str(),
            kind: FindingKind::Inventory.as_str(),
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

    fn event(&self, kind: &str, outcome: &str, detail: String, came_of_it: String) -> Result<EventRow, OperationError> {
        let event = about(self.watched).event(now(self.home)?, kind, outcome, detail, came_of_it);
        Ok(event.in_store(&self.watched.store).on_behalf_of(self.hold.actor()))
    }

    /// What is wrong now.
    fn faults(&self) -> Result<Vec<FileFault>, OperationError> {
        Ok(waiting_for_deletions(self.home, self.watched, self.files.faults(self.go_on)?)?.1)
    }

    fn repair(
        &self,
        id: FindingId,
        mut faults: Vec<FileFault>,
        others: &[Files<'_>],
    ) -> Result<RepairOutcome, OperationError> {
        let (object, store) = (self.watched.object, self.watched.store.as_str());
        let is_of_before = deletion::is_of_before(self.home, object, store, &other_roots(self.watched, &faults))?;
        let may_be_older = faults.iter().any(FileFault::may_be_older);
        let mut words = faults.iter().map(FileFault::words).collect::<Vec<_>>().join(", ");
        if is_of_before {
            words.push_str(", as before a deletion, which is carried out again");
        }
        let mut acts = vec![self.open(id, &words, may_be_older)?];
        if is_of_before {
            deletion::finish_pending(self.home, &self.hold, self.go_on)?;
            faults = self.faults()?;
        }
        let faults = &faults;
        let mut kept = Vec::new();
        for fault in faults {
            self.quarantine(id, fault, &mut kept, &mut acts)?;
        }
        self.log("damage", id, kept.first().map(String::as_str), &words, &acts)?;
        let mut unsolved = Vec::new();
        let writer = Writer { hold: &self.hold, files: &self.files, go_on: self.go_on };
        // Inventories first: a sidecar is put beside a right inventory only.
        for fault in faults.iter().filter(|fault| matches!(fault.part, Part::Inventory(_))) {
            if !writer.put_back(fault, others)? {
                unsolved.push(format!("no store has the recorded {}", fault.name()));
            }
        }
        for fault in faults.iter().filter(|fault| !matches!(fault.part, Part::Inventory(_))) {
            writer.put_back(fault, others)?;
        }
        for fault in self.faults()? {
            if unsolved.is_empty() {
                unsolved.push(format!("after the repair {}", fault.words()));
            }
        }
        if may_be_older {
            // No inventory that was put back names what may have come with the other one.
            deletion::finish_pending(self.home, &self.hold, self.go_on)?;
        }
        self.close(id, &words, &kept, &unsolved)
    }

    /// Records what was found before anything of it is replaced: what may be of a time before a deletion also as what is to be deleted again.
    fn open(&self, id: FindingId, words: &str, may_be_older: bool) -> Result<EventRow, OperationError> {
        let watched = self.watched;
        let detail = format!("declaration and inventories of {}", self.place());
        let event = self.event("fixity check", "failure", detail, words.to_owned())?;
        let finding = NewFinding {
            id,
            institution: watched.institution,
            object: watched.object,
            content: None,
            store: watched.store.clone(),
            key: self.files.root().to_string(),
            kind: FindingKind::Inventory,
            detail: words.to_owned(),
        };
        let (object, store, row) = (watched.object, watched.store.clone(), event.clone());
        self.hold.write(move |tx| {
            record::open_finding(tx, &finding)?;
            record::set_object_damaged(tx, object, &store)?;
            if may_be_older {
                deletions::reopen_of_object_in(tx, object, &store)?;
            }
            events::append(tx, std::slice::from_ref(&row))
        })?;
        let detail = format!("{}: {words}", watched.object_identifier);
        Event::DamageFound { store: &watched.store, key: self.files.root().as_str(), detail: &detail }.emit();
        Ok(event)
    }

    fn quarantine(
        &self,
        id: FindingId,
        fault: &FileFault,
        kept: &mut Vec<String>,
        acts: &mut Vec<EventRow>,
    ) -> Result<(), OperationError> {
        let owner = Owner {
            about: about(self.watched),
            institution: &self.watched.institution_identifier,
            object: &self.watched.object_identifier,
            finding: id,
        };
        let Some((key, event)) = keep(self.home, &self.hold, &self.files, &owner, fault, self.go_on)? else {
            return Ok(());
        };
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

    fn close(
        &self,
        id: FindingId,
        words: &str,
        kept: &[String],
        unsolved: &[String],
    ) -> Result<RepairOutcome, OperationError> {
        let watched = self.watched;
        let is_repaired = unsolved.is_empty();
        let place = self.place();
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
        Ok(if is_repaired { RepairOutcome::Repaired } else { RepairOutcome::Unrepairable })
    }
}

fn about(watched: &WatchedObject) -> About {
    About { institution: watched.institution, object: watched.object, content: None }
}

fn passed(watched: &WatchedObject, time: strongroom_registry::Time) -> EventRow {
    let detail = format!("declaration, inventories and sidecars in store {} compared with the registry", watched.store);
    about(watched).event(time, "fixity check", "success", detail, "as recorded".into()).in_store(&watched.store)
}
