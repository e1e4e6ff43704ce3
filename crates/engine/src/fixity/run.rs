//! What people and schedules ask of watching: enqueue what is due, check it here and now, report, repair a finding.

use std::collections::{BTreeMap, HashSet, VecDeque};

use strongroom_registry::fixity::{self as record, Coverage, Due, DueCursor, Finding, FindingFilter};
use strongroom_registry::journal::Actor;
use strongroom_registry::{FindingId, FindingState, ObjectId, RegistryError, Scope, Time, backfill, epoch, objects};

use super::handler::TOPIC;
use super::repair::{RepairOutcome, treat};
use super::roots::{self, Root};
use super::unit::Unit;
use super::{FixityRequest, FixitySummary, OperationError, inventories, now};
use crate::arks::find_object;
use crate::interruptible::Attended;
use crate::{EngineError, Home, watermark, work};

/// Due copies listed of each store at once.
const LISTED_AT_ONCE: usize = 1_000;
/// Tasks enqueued in one transaction.
const TASKS_AT_ONCE: usize = 500;
/// Reasons kept in a summary.
const ERRORS_KEPT: usize = 5;

/// A copy last inspected by then is due.
pub(super) fn due_before(home: &Home, now: Time) -> Time {
    let interval = i64::try_from(home.settings.fixity.max_age.as_micros()).unwrap_or(i64::MAX);
    Time(now.0.saturating_sub(interval))
}

/// Enqueues the checks of the copies that a request names and that are due, oldest first; how many tasks there are for
/// them. What waits already is not enqueued twice. Every store has its share, so that one whose copies stay due, because
/// it does not answer, holds up no other.
pub fn enqueue_due(home: &Home, request: &FixityRequest) -> Result<u64, EngineError> {
    home.require_writable()?;
    let asked = Asked::of(home, request)?;
    let mut left = request.max.unwrap_or(usize::MAX);
    let mut made = 0;
    let mut rounds = asked.rounds();
    rounds.share(left)?;
    while left > 0 && !request.stop.is_requested() {
        let (units, copies) = rounds.next(left)?;
        if units.is_empty() {
            break;
        }
        left = left.saturating_sub(copies);
        made += units.len() as u64;
        for some in units.chunks(TASKS_AT_ONCE) {
            leave_to_workers(home, some)?;
        }
    }
    Ok(made)
}

/// Checks due copies here and now, oldest first, through the same steps as the workers; `progress` hears of each object
/// in a store that is done. What another process works on is left to the workers.
pub fn run(
    home: &Home,
    request: &FixityRequest,
    progress: &mut dyn FnMut(&FixitySummary),
) -> Result<FixitySummary, EngineError> {
    home.require_writable()?;
    let asked = Asked::of(home, request)?;
    let mut summary = FixitySummary::default();
    for store in &asked.away {
        summary.failed += 1;
        let reason = home.away(store).unwrap_or_default();
        summary.errors.push(format!("store {store} is away, so nothing in it was checked: {reason}"));
    }
    let mut left = request.max.unwrap_or(usize::MAX);
    let go_on = Attended { stop: &request.stop, progress: &request.progress };
    let mut rounds = asked.rounds();
    while left > 0 && !request.stop.is_requested() {
        let (units, _) = rounds.next(left)?;
        if units.is_empty() {
            break;
        }
        for found in units {
            let unit = Unit {
                home,
                object: found.object,
                store: &found.store,
                before: asked.before,
                actor: request.actor.as_ref(),
                go_on: &go_on,
            };
            let before = summary.checked + summary.failed + summary.postponed;
            let checked = match unit.check(left, &mut summary) {
                Ok(checked) => checked,
                Err(OperationError::Engine(error)) => return Err(error),
                // Asked to stop: what was done is on record.
                Err(OperationError::Interrupted(_) | OperationError::Busy(_)) => return Ok(summary),
            };
            let done = summary.checked + summary.failed + summary.postponed - before;
            left = left.saturating_sub(usize::try_from(done).unwrap_or(usize::MAX));
            if let Some(error) = checked.failure
                && summary.errors.len() < ERRORS_KEPT
            {
                summary.errors.push(error.chain());
            }
            if checked.busy_until.is_some() {
                leave_to_workers(home, std::slice::from_ref(&found))?;
            }
            progress(&summary);
            if left == 0 {
                break;
            }
        }
    }
    let is_narrowed = request.institution.is_some() || request.object.is_some() || request.max.is_some();
    if !is_narrowed && request.checked_before.is_none() && !request.stop.is_requested() {
        if request.all {
            asked.put_back_marks()?;
        }
        if request.store.is_none() && asked.away.is_empty() {
            home.registry.write(record::set_last_run)?;
        }
    }
    Ok(summary)
}

/// Leaves objects in stores to the workers.
fn leave_to_workers(home: &Home, units: &[FoundUnit]) -> Result<(), EngineError> {
    let key = |unit: &FoundUnit| (work::object_store_key(unit.object, &unit.store), unit.institution.clone());
    work::put_tasks(home, TOPIC, units.iter().map(key))
}

/// How well the copies that a scope sees are watched, store by store.
pub fn report(home: &Home, scope: Scope) -> Result<Vec<Coverage>, EngineError> {
    let since = due_before(home, now(home)?);
    let mut found = Vec::new();
    for coverage in home.registry.read(|tx| record::report(tx, scope, since))? {
        if !home.is_retired(&coverage.store)? {
            found.push(coverage);
        }
    }
    Ok(found)
}

/// Findings that are not solved, in order of their making, after `after`.
pub fn problems(
    home: &Home,
    institution: Option<&str>,
    after: Option<FindingId>,
    limit: usize,
) -> Result<Vec<Finding>, EngineError> {
    let scope = home.scope_of(institution)?;
    Ok(home.registry.read(|tx| record::findings(tx, scope, FindingFilter::default(), after, limit))?)
}

/// A finding that a scope sees.
pub(crate) fn finding(home: &Home, scope: Scope, id: FindingId) -> Result<Finding, EngineError> {
    home.registry.read(|tx| record::finding(tx, scope, id))?.ok_or_else(|| EngineError::NotFound {
        what: "finding",
        name: id.to_string(),
        hint: String::new(),
    })
}

/// Tries to repair what a finding is about, in this process, on behalf of an actor.
pub fn repair(home: &Home, id: FindingId, actor: Option<&Actor>) -> Result<RepairOutcome, EngineError> {
    let finding = finding(home, Scope::System, id)?;
    if finding.state == FindingState::Repaired {
        return Ok(RepairOutcome::Right);
    }
    let go_on = || Ok(());
    let treated = match finding.content {
        None if roots::is_of_root(&finding) => {
            let institution = finding.institution;
            let root = Root { store: &finding.store, institution, identifier: &finding.institution_identifier };
            roots::treat(home, root, actor)
        }
        None => inventories::treat(home, finding.object, &finding.store, actor, &go_on),
        Some(content) => {
            let copies = home.registry.read(|tx| record::copies_of_content(tx, content))?;
            match copies.iter().find(|copy| copy.store == finding.store) {
                Some(copy) => treat(home, copy, actor, &go_on),
                None => gone(home, finding.object, id),
            }
        }
    };
    match treated {
        // A person who asks for a repair is shown that nothing is wrong.
        Ok(RepairOutcome::Attested) => Ok(RepairOutcome::Right),
        Ok(outcome) => Ok(outcome),
        Err(OperationError::Busy(until)) => Err(EngineError::Usage(format!(
            "the object {} is being worked on until {until}",
            finding.object_identifier
        ))
        .next("try again then")),
        Err(OperationError::Interrupted(reason)) => Err(EngineError::Usage(reason.to_string())),
        Err(OperationError::Engine(error)) => Err(error),
    }
}

fn gone(home: &Home, object: ObjectId, id: FindingId) -> Result<RepairOutcome, OperationError> {
    let hold = super::ObjectHold::take(home, object)?;
    super::close_gone(&hold, Some(id))?;
    Ok(RepairOutcome::Gone)
}

/// An object in a store that has something due.
struct FoundUnit {
    object: ObjectId,
    store: String,
    institution: String,
}

/// A request, looked up.
struct Asked<'h> {
    home: &'h Home,
    before: Time,
    scope: Scope,
    stores: Vec<String>,
    /// Stores that would be checked, and are away.
    away: Vec<String>,
    object: Option<objects::Object>,
}

impl<'h> Asked<'h> {
    fn of(home: &'h Home, request: &FixityRequest) -> Result<Self, EngineError> {
        let now = now(home)?;
        let before = match request.checked_before {
            Some(time) => time.min(now),
            None if request.all => now,
            None => due_before(home, now),
        };
        let scope = home.scope_of(request.institution.as_deref())?;
        let object = match &request.object {
            None => None,
            Some(name) => Some(home.registry.read(|tx| find_object(tx, scope, name))?),
        };
        let stores = match &request.store {
            Some(name) => vec![home.store(name)?.name().to_owned()],
            None => home.stores.keys().cloned().collect(),
        };
        let mut in_use = Vec::with_capacity(stores.len());
        for store in stores {
            if !home.is_retired(&store)? {
                in_use.push(store);
            }
        }
        // What lies in a store that is away stays due.
        home.try_stores();
        let (away, stores) = in_use.into_iter().partition(|store| home.away(store).is_some());
        Ok(Self { home, before, scope, stores, away, object })
    }

    /// Marks the stores of which every copy was checked, where they have no mark any more.
    fn put_back_marks(&self) -> Result<(), EngineError> {
        let Some(epoch) = self.home.registry.read(epoch::get)? else { return Ok(()) };
        for name in &self.stores {
            let is_kept = self.home.registry.read(|tx| backfill::holds_objects(tx, name))?;
            let store = self.home.store(name)?;
            if is_kept && watermark::read(store.as_ref())? == watermark::StoredWatermark::None {
                watermark::advance(self.home, store.as_ref(), &epoch)?;
            }
        }
        Ok(())
    }

    fn rounds(&self) -> Rounds<'_> {
        let start = self
            .stores
            .iter()
            .map(|store| [Listing::new(store, record::due_contents), Listing::new(store, record::due_objects)]);
        Rounds {
            asked: self,
            listings: start.flatten().collect(),
            share: usize::MAX,
            taken: BTreeMap::new(),
            object_done: false,
        }
    }
}

type ListDue = fn(
    &mut dyn strongroom_registry::Transaction,
    Scope,
    &str,
    Time,
    DueCursor,
    usize,
) -> Result<Vec<Due>, RegistryError>;

/// What is due in one store, page by page.
struct Listing<'a> {
    store: &'a str,
    list: ListDue,
    after: DueCursor,
    page: VecDeque<Due>,
    ended: bool,
}

impl<'a> Listing<'a> {
    fn new(store: &'a str, list: ListDue) -> Self {
        Self { store, list, after: DueCursor::START, page: VecDeque::new(), ended: false }
    }

    /// The oldest that was not taken yet.
    fn oldest(&mut self, asked: &Asked<'_>) -> Result<Option<Time>, EngineError> {
        if self.page.is_empty() && !self.ended {
            let (store, list, after) = (self.store, self.list, self.after);
            let registry = &asked.home.registry;
            let found = registry.read(|tx| list(tx, asked.scope, store, asked.before, after, LISTED_AT_ONCE))?;
            self.ended = found.len() < LISTED_AT_ONCE;
            if let Some(last) = found.last() {
                self.after = last.cursor;
            }
            self.page = found.into();
        }
        Ok(self.page.front().map(|due| due.cursor.0))
    }
}

/// Walks what is due in all stores, oldest first: a listing by store, so that a store that does not answer holds up no
/// other, merged by the time of the last check. Each goes on behind what it has given, so that nothing that stays due is
/// met twice.
struct Rounds<'a> {
    asked: &'a Asked<'a>,
    listings: Vec<Listing<'a>>,
    /// How many copies of one store come before those of others that are younger.
    share: usize,
    taken: BTreeMap<&'a str, usize>,
    object_done: bool,
}

impl Rounds<'_> {
    /// Gives each store that has something due the same share of `all`; what one does not need falls to the others.
    fn share(&mut self, all: usize) -> Result<(), EngineError> {
        let mut stores = HashSet::new();
        for listing in &mut self.listings {
            if listing.oldest(self.asked)?.is_some() {
                stores.insert(listing.store);
            }
        }
        self.share = all.div_ceil(stores.len().max(1));
        Ok(())
    }

    /// The next units, of at most `limit` due copies, oldest first; and how many copies that were. None at the end.
    fn next(&mut self, limit: usize) -> Result<(Vec<FoundUnit>, usize), EngineError> {
        if let Some(object) = &self.asked.object {
            let units =
                if std::mem::replace(&mut self.object_done, true) { Vec::new() } else { self.of_object(object)? };
            let copies = units.len();
            return Ok((units, copies));
        }
        let mut units = Vec::new();
        let mut known = HashSet::new();
        let mut copies = 0;
        while copies < limit.min(LISTED_AT_ONCE) {
            let mut first: Option<((bool, Time), usize)> = None;
            for (index, listing) in self.listings.iter_mut().enumerate() {
                let Some(time) = listing.oldest(self.asked)? else { continue };
                let had_its_share = self.taken.get(listing.store).is_some_and(|taken| *taken >= self.share);
                let rank = (had_its_share, time);
                if first.is_none_or(|(best, _)| rank < best) {
                    first = Some((rank, index));
                }
            }
            let Some(listing) = first.and_then(|(_, index)| self.listings.get_mut(index)) else { break };
            let Some(due) = listing.page.pop_front() else { break };
            copies += 1;
            *self.taken.entry(listing.store).or_default() += 1;
            if known.insert((due.object, listing.store)) {
                units.push(FoundUnit {
                    object: due.object,
                    store: listing.store.to_owned(),
                    institution: due.institution_identifier,
                });
            }
        }
        Ok((units, copies))
    }

    fn of_object(&self, object: &objects::Object) -> Result<Vec<FoundUnit>, EngineError> {
        let stores = self.asked.home.registry.read(|tx| objects::object_copies(tx, object.id))?;
        let stores = stores.into_iter().map(|(store, _, _)| store).filter(|store| self.asked.stores.contains(store));
        Ok(stores
            .map(|store| FoundUnit { object: object.id, store, institution: object.institution_identifier.clone() })
            .collect())
    }
}
