//! Watching: every copy has its own clock, oldest first, and no window lets one slip out. A readable copy is read and
//! hashed; one that cannot be read now is attested by what its store says, which is never called passed. Damage leads to
//! quarantine, repair from a copy that proves right, proof and evidence.
//!
//! One object in one store is the unit: its declaration and inventories, then its contents. Reading takes no lease; what
//! seems wrong is inspected again under the object's lease, so that a deposit under way is never taken for damage.

mod check;
mod copying;
mod evidence;
mod handler;
mod heal;
mod inventories;
mod inventory_files;
mod repair;
mod replace;
mod roots;
mod run;
mod suspect;
mod unit;

use serde::Serialize;
use strongroom_digest::Progress;
use strongroom_registry::events::EventRow;
use strongroom_registry::fixity::{self as record, WatchedCopy};
use strongroom_registry::journal::Actor;
use strongroom_registry::objects::{self, Object};
use strongroom_registry::{DeletionId, FindingId, FindingState, RegistryError, Time, deletions, versions};

use self::inventory_files::{Files, Wanted, Writer};
use crate::hold::{GoOn, ObjectHold, OperationError, now};
use crate::logs::object_root;
use crate::runtime::Shutdown;
use crate::{EngineError, Home, deletion};

pub(crate) use check::{is_unreadable, is_unreadable_source, read as read_copy, vouched};
pub(crate) use copying::{Copied, Copying, others as other_copies};
pub(crate) use evidence::About;
pub(crate) use handler::TASK;
pub use handler::TOPIC;
pub(crate) use heal::{Healed, Spare, Suspect, heal};
pub(crate) use inventories::{Recorded, put_right, put_right_first};
pub use repair::RepairOutcome;
pub(crate) use roots::{
    Root, open as open_root, open_known as open_known_root, retired_and_wrong_in as retired_and_wrong_roots,
};
pub(crate) use run::finding;
pub use run::{enqueue_due, problems, repair, report, run};
pub(crate) use suspect::{SuspectCopy, attempts as check_attempts, report as report_suspect};

/// Which copies a person asks about.
#[derive(Debug, Clone, Default)]
pub struct FixityRequest {
    /// Only those of the institution with this domain name.
    pub institution: Option<String>,
    /// Only those of this object, by identifier or `<institution>/<name>`.
    pub object: Option<String>,
    /// Only those in this store.
    pub store: Option<String>,
    /// Also those that are not due.
    pub all: bool,
    /// Those last checked before this time, instead of those that are due.
    pub checked_before: Option<Time>,
    /// At most this many copies.
    pub max: Option<usize>,
    /// On whose behalf; none for the program itself.
    pub actor: Option<Actor>,
    /// Asks to stop early: what was done is kept.
    pub stop: Shutdown,
    /// Counts the bytes that are read.
    pub progress: Progress,
}

/// What a round of checks came to. Copies are those of contents, and one for an object's declaration and inventories in a
/// store.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct FixitySummary {
    /// Copies inspected to the end.
    pub checked: u64,
    /// Read and right.
    pub passed: u64,
    /// Not readable now; what their store says of them is right.
    pub attested: u64,
    /// Found wrong or missing.
    pub damaged: u64,
    /// Of the damaged: put right, and proved.
    pub repaired: u64,
    /// Of the damaged: without a copy to repair them from.
    pub unrepairable: u64,
    /// Seemed wrong while another process worked on the object, or wait for the only right copy to be retrieved; they
    /// are checked again later.
    pub postponed: u64,
    /// Could not be inspected, because a store or the registry did not answer; they stay due.
    pub failed: u64,
    /// Bytes read of contents.
    pub bytes: u64,
    /// Why copies could not be inspected: the first few reasons.
    pub errors: Vec<String>,
}

fn about(copy: &WatchedCopy) -> About {
    About { institution: copy.institution, object: copy.object, content: Some(copy.content) }
}

/// The event of a copy that was read and is right.
fn passed(copy: &WatchedCopy, time: Time) -> EventRow {
    let detail = format!("read from store {}: {}", copy.store, copy.key);
    let came_of_it = format!("sha512:{}", copy.sha512);
    about(copy).event(time, "fixity check", "success", detail, came_of_it).in_store(&copy.store)
}

/// The event of a copy that could not be read. Not a fixity check: its bytes were not read.
fn attested(copy: &WatchedCopy, time: Time, size: u64, class: &str) -> EventRow {
    let detail = format!("not readable now in store {}, not read: {}", copy.store, copy.key);
    let came_of_it = format!("{size} bytes, class {class}, as the store says");
    about(copy).event(time, "validation", "success", detail, came_of_it).in_store(&copy.store)
}

/// Puts declaration, inventories, sidecars and tombstones of an object into a store that lacks them, as recorded, from the stores that
/// hold the object; the root inventory last. Returns what could not be put.
pub(crate) fn put_inventories(
    home: &Home,
    hold: &ObjectHold<'_>,
    object: &Object,
    store: &str,
    go_on: &GoOn<'_>,
) -> Result<Vec<String>, OperationError> {
    let (id, generation) = (object.id, object.generation);
    let (versions, holders) = home.registry.read(|tx| {
        Ok::<_, RegistryError>((versions::list(tx, id, generation, false)?, objects::object_copies(tx, id)?))
    })?;
    let root = object_root(&object.institution_identifier, generation)?;
    let (of, institution) = ((id, generation), object.institution_identifier.as_str());
    let files_in = |store: &str| {
        let files = Files::new(home, store, root.clone(), &versions)?.with_tombstones(of)?;
        files.with_earlier(of, institution, Wanted::All)
    };
    let others: Vec<Files<'_>> = holders
        .iter()
        .filter(|(other, _, _)| other != store)
        .filter_map(|(other, _, _)| files_in(other).ok())
        .collect();
    let present = Files::new(home, store, root.clone(), &versions)?.with_tombstones(of)?;
    // What is replaced may be of a time before a deletion: then what was deleted may lie there as well.
    let was_there = !home.registry.read(|tx| deletions::done_of_object(tx, id, store))?.is_empty();
    if was_there {
        let name = store.to_owned();
        hold.write(move |tx| deletions::reopen_of_object_in(tx, id, &name))?;
    }
    let left = Writer { hold, files: &present, go_on }.put_all(&others)?;
    if left.is_empty() {
        for (deletion, earlier) in files_in(store)?.earlier() {
            put_earlier(hold, deletion, &earlier, &others, go_on)?;
        }
    }
    if was_there {
        deletion::finish_pending(home, hold, go_on)?;
    }
    Ok(left)
}

/// Puts what the deletion of an earlier generation has left, as far as that is possible: nothing that is kept waits for it.
fn put_earlier(
    hold: &ObjectHold<'_>,
    deletion: DeletionId,
    files: &Files<'_>,
    others: &[Files<'_>],
    go_on: &GoOn<'_>,
) -> Result<(), OperationError> {
    let writer = Writer { hold, files, go_on };
    let is_of_store = |halt: &OperationError| matches!(halt, OperationError::Engine(EngineError::Storage(_)));
    let looked = files.faults(go_on).and_then(|faults| Ok((writer.can_put(&faults, others)?, faults)));
    let faults = match looked {
        Ok((false, _)) => return Ok(()),
        Ok((true, faults)) => faults,
        Err(halt) if is_of_store(&halt) => Vec::new(),
        Err(halt) => return Err(halt),
    };
    // Recorded first: what cannot be put now is missed by the next check, and put then.
    let (object, store) = (hold.object(), files.store.name().to_owned());
    hold.write(move |tx| deletions::put_left(tx, deletion, object, &store))?;
    match writer.put(faults, others) {
        Err(halt) if !is_of_store(&halt) => Err(halt),
        _ => Ok(()),
    }
}

/// Closes the finding of something that is no longer kept.
fn close_gone(hold: &ObjectHold<'_>, finding: Option<FindingId>) -> Result<(), OperationError> {
    let Some(id) = finding else { return Ok(()) };
    hold.write(move |tx| record::close_finding(tx, id, FindingState::Repaired, "no longer kept: nothing to repair"))
}
