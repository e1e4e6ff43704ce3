//! Bringing a store up to what the placements say that it holds: a task for each object that it does not hold whole. What is
//! lacking is derived from the rows of copies each time, so tasks may come twice or be forgotten. `retire` takes a store
//! out of use once the rest of each placement has verified copies; it deletes nothing. `replace` puts an empty store in the
//! place of a lost one, which is then filled like any other.

mod automatic;
mod compare;
mod fill;
mod handler;
mod rate;
mod replace;
mod retire;
mod turns;

use strongroom_digest::Progress;
use strongroom_registry::backfill::{self as rows, Lacking};
use strongroom_registry::counted;
use strongroom_registry::objects::{self, Object};
use strongroom_registry::placements::Marked;
use strongroom_registry::work::Claim;
use strongroom_registry::{ObjectId, Registry, RegistryError, Scope};

use crate::hold::{GoOn, ObjectHold, OperationError};
use crate::interruptible::Attended;
use crate::runtime::Shutdown;
use crate::settings::Settings;
use crate::work::{object_store_key, put_tasks};
use crate::{EngineError, Home, paging};

pub(crate) use automatic::Finding;
pub use automatic::{BackfillProgress, StoreProgress};
pub(crate) use compare::each_marked;
use fill::{Filled, Filling};
pub(crate) use handler::TASK;
pub use handler::TOPIC;
pub use replace::{Replacement, replace};
pub use retire::{RetireRequest, Retirement, Unretired, retire, use_again};

/// Objects listed at once.
const OBJECTS_AT_ONCE: usize = 500;
/// Reasons kept in a summary.
const ERRORS_KEPT: usize = 10;

/// A store that does not hold an object whole, though the object's placement names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LackingCopy {
    /// The store.
    pub store: String,
    /// The placement.
    pub placement: String,
    /// The object, and what is lacking of it.
    pub object: Lacking,
}

/// Hands every object that a store of its placement does not hold whole to `take`, store by store; with `store`, only what
/// that one lacks. Stores that are out of use lack nothing.
pub fn each_lacking<E: From<EngineError>>(
    (settings, registry): (&Settings, &Registry),
    scope: Scope,
    store: Option<&str>,
    take: &mut dyn FnMut(LackingCopy) -> Result<(), E>,
) -> Result<(), E> {
    for (placement, stores) in &settings.placements {
        for name in stores.iter().filter(|name| store.is_none_or(|store| store == name.as_str())) {
            let retired = registry.read(|tx| rows::retired_at(tx, name)).map_err(EngineError::from)?;
            if retired.is_some() {
                continue;
            }
            let list =
                |after, limit| registry.read(|tx| rows::lacking_objects(tx, scope, (placement, name), after, limit));
            for object in paging::rows(OBJECTS_AT_ONCE, |object: &Lacking| object.object, list) {
                let object = object.map_err(EngineError::from)?;
                take(LackingCopy { store: name.clone(), placement: placement.clone(), object })?;
            }
        }
    }
    Ok(())
}

/// What came of bringing a store up to date.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BackfillSummary {
    /// Objects that the store holds whole now.
    pub objects: u64,
    /// Contents put and proved.
    pub contents: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Objects left for later: other work holds them, or their contents are being retrieved from a cold storage class.
    pub postponed: u64,
    /// Objects that could not be brought.
    pub failed: u64,
    /// Why: the first few reasons.
    pub errors: Vec<String>,
}

/// How many objects a store that placements name does not hold whole, and how many bytes of their contents it lacks.
pub fn amount_lacking(home: &Home, store: &str) -> Result<(u64, u64), EngineError> {
    check_store(home, store)?;
    let mut sum = (0, 0);
    for (placement, _) in home.settings.placements.iter().filter(|(_, stores)| stores.iter().any(|name| name == store))
    {
        let (objects, bytes) = home.registry.read(|tx| rows::amount_lacking(tx, placement, store))?;
        sum = (sum.0 + objects, sum.1 + bytes);
    }
    Ok(sum)
}

/// Enqueues a task for each object that the store does not hold whole; how many there are. What waits already is not
/// enqueued twice.
pub fn enqueue(home: &Home, store: &str) -> Result<u64, EngineError> {
    check_store(home, store)?;
    let mut made = 0;
    each_marked(home, &Shutdown::new(), &mut |page| {
        let lacking = page.iter().filter(|marked| marked.lacking_in.iter().any(|one| one == store));
        let key =
            |marked: &Marked| (object_store_key(marked.object, store), marked.institution.clone().unwrap_or_default());
        let waiting: Vec<_> = lacking.map(key).collect();
        made += waiting.len() as u64;
        put_tasks(home, TOPIC, waiting)
    })?;
    Ok(made)
}

/// A store to bring up to date here and now.
#[derive(Debug, Clone)]
pub struct BackfillRequest {
    /// The store.
    pub store: String,
    /// Asks to stop early: what was copied is kept.
    pub stop: Shutdown,
    /// Counts the bytes that are read: each content is copied, and then read back unless its store vouches for it.
    pub progress: Progress,
}

impl BackfillRequest {
    /// For a store, until all that it lacks is there.
    pub fn new(store: impl Into<String>) -> Self {
        Self { store: store.into(), stop: Shutdown::new(), progress: Progress::default() }
    }
}

/// Brings a store up to date here and now, object by object; `progress` is called after each.
pub fn run(
    home: &Home,
    request: &BackfillRequest,
    progress: &mut dyn FnMut(&BackfillSummary),
) -> Result<BackfillSummary, EngineError> {
    let BackfillRequest { store, stop, progress: counts } = request;
    check_store(home, store)?;
    let mut summary = BackfillSummary::default();
    let go_on = Attended { stop, progress: counts };
    each_lacking((&home.settings, &home.registry), Scope::System, Some(store), &mut |lacking| {
        if stop.is_requested() {
            return Ok(());
        }
        match bring_up(home, lacking.object.object, store, &go_on) {
            Ok(Some(filled)) => {
                summary.contents += filled.contents;
                summary.bytes += filled.bytes;
                if filled.is_whole() {
                    summary.objects += 1;
                } else if filled.reasons.is_empty() {
                    summary.postponed += 1;
                } else {
                    summary.failed += 1;
                    note(&mut summary, &lacking.object.object_identifier, &filled.reasons.join("; "));
                }
            }
            Ok(None) => {}
            Err(OperationError::Busy(_)) => summary.postponed += 1,
            Err(OperationError::Interrupted(_)) => return Ok(()),
            Err(OperationError::Engine(error)) => {
                summary.failed += 1;
                note(&mut summary, &lacking.object.object_identifier, &error.chain());
            }
        }
        progress(&summary);
        Ok::<_, EngineError>(())
    })?;
    Ok(summary)
}

fn note(summary: &mut BackfillSummary, object: &str, reason: &str) {
    if summary.errors.len() < ERRORS_KEPT {
        summary.errors.push(format!("{object}: {reason}"));
    }
}

/// Refuses a store that no placement names, or that is out of use.
fn check_store(home: &Home, store: &str) -> Result<(), EngineError> {
    home.store(store)?;
    if !home.settings.preservation_stores().contains(&store) {
        return Err(EngineError::Usage(format!("{store} is not a preservation store: no placement names it"))
            .next("\"strongroom store list\" shows the stores and what they are for"));
    }
    if home.is_retired(store)? {
        return Err(EngineError::Usage(format!("the store {store} is retired: it takes no copies"))
            .next(format!("\"strongroom store retire --undo {store}\" takes it back into use")));
    }
    Ok(())
}

/// Brings one object up to date in a store, under the object's lease; none where there is nothing to bring.
fn bring_up(home: &Home, object: ObjectId, store: &str, go_on: &GoOn<'_>) -> Result<Option<Filled>, OperationError> {
    let hold = ObjectHold::take(home, object)?;
    let found = home.registry.read(|tx| objects::get(tx, Scope::System, object))?;
    let Some(found) = found.filter(|found| found.head > 0) else { return Ok(None) };
    // The store may have left the placement, or the object may have got another one, since the task was enqueued.
    if !belongs_into(home, &found, store)? {
        return Ok(None);
    }
    Ok(Some(Filling { home, hold: &hold, object: &found, store, go_on }.run()?))
}

/// Whether the object's placement names the store.
fn belongs_into(home: &Home, object: &Object, store: &str) -> Result<bool, EngineError> {
    let placement = object.description.placement.as_deref().unwrap_or_default();
    let named = home.settings.placements.iter().find(|(name, _)| name.eq_ignore_ascii_case(placement));
    Ok(named.is_some_and(|(_, stores)| stores.iter().any(|name| name == store)) && !home.is_retired(store)?)
}

/// Brings the stores that lack older versions of an object up to date, for a work item that holds the object. Returns why
/// a store does not hold the object whole; none when all do.
pub(crate) fn bring_up_for(
    home: &Home,
    claim: &Claim,
    object: &Object,
    stores: &[String],
    go_on: &GoOn<'_>,
) -> Result<Option<String>, OperationError> {
    if object.head == 0 {
        return Ok(None);
    }
    let id = object.id;
    let lacks = home.registry.read(|tx| {
        let held = objects::object_copies(tx, id)?;
        let mut lacks = Vec::new();
        for store in stores {
            let has_inventories = held.iter().any(|(holder, _, _)| holder == store);
            if !has_inventories || !rows::lacking_contents(tx, id, store, None, 1)?.is_empty() {
                lacks.push(store.clone());
            }
        }
        Ok::<_, RegistryError>(lacks)
    })?;
    if lacks.is_empty() {
        return Ok(None);
    }
    let hold = ObjectHold::of_item(home, id, claim)?;
    for store in &lacks {
        let filled = Filling { home, hold: &hold, object, store, go_on }.run()?;
        if !filled.is_whole() {
            let reason = if filled.reasons.is_empty() {
                format!(
                    "{} being retrieved from an archived storage class",
                    counted(filled.waiting, "content is", "contents are")
                )
            } else {
                filled.reasons.join("; ")
            };
            return Ok(Some(format!("store {store} lacks earlier versions of {}: {reason}", object.identifier)));
        }
    }
    Ok(None)
}
