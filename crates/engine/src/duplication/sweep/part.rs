//! A slice of work on one part of a sweep, in turns.

use std::time::{Duration, Instant};

use strongroom_duplication::Filter;
use strongroom_queue::{NewTask, tasks};
use strongroom_registry::content_events;
use strongroom_registry::sweeps::{self, Next, Part, Sweep};
use strongroom_registry::{RegistryError, RouteId, SweepPhase, Time, Transaction};
use strongroom_spaces::{ListedItem, ListedName, SpaceName};
use strongroom_storage::Key;

use super::compared::{Compared, Verdict, Verdicts};
use super::{LEASE, Ran, micros, spaces};
use crate::duplication::acts::SeenAgain;
use crate::duplication::handler::{Applied, applied, may_delete};
use crate::duplication::preview::listing;
use crate::duplication::tasks::{Cause, LOW, new_task};
use crate::duplication::{MOST_DELETED, counted_since};
use crate::runtime::Shutdown;
use crate::settings::DuplicationSettings;
use crate::{EngineError, Home, crash_point};

/// Names that one turn compares, and deletions that it queues.
pub(super) const PER_TURN: usize = 1_000;
/// The shortest slice. To go on with a listing may take long, so a slice is at least as many times longer as [`TIMES_OPENING`] says.
const SHORTEST: Duration = Duration::from_secs(1);
const TIMES_OPENING: u32 = 4;

/// How deletions of a space are listed.
type List = fn(&mut dyn Transaction, (&str, &str), RouteId, (&str, Time), usize) -> Result<Vec<String>, RegistryError>;

/// A part that this process has leased.
pub(super) struct Slice<'s> {
    pub(super) home: &'s Home,
    stop: &'s Shutdown,
    pub(super) sweep: Sweep,
    pub(super) part: Part,
    /// Tasks that may be queued still.
    room: u64,
    /// Those that were.
    queued: u64,
    began: Instant,
    shortest: Duration,
}

/// Works on a part for a slice of time; how many tasks were queued.
pub(super) fn slice(home: &Home, stop: &Shutdown, part: Part, room: u64, ran: &mut Ran) -> Result<u64, EngineError> {
    let id = part.sweep;
    let Some(sweep) = home.registry.read(|tx| sweeps::get(tx, id))? else { return Ok(0) };
    let mut slice = Slice { home, stop, sweep, part, room, queued: 0, began: Instant::now(), shortest: SHORTEST };
    slice.run(ran)?;
    Ok(slice.queued)
}

/// The filter of the settings, which were checked before.
pub(crate) fn filter(settings: &DuplicationSettings) -> Filter {
    Filter::new(settings.include.iter().map(String::as_str), settings.exclude.iter().map(String::as_str)).0
}

impl Slice<'_> {
    fn run(&mut self, ran: &mut Ran) -> Result<(), EngineError> {
        match self.part.phase {
            SweepPhase::Spaces => return spaces::run(self, ran),
            SweepPhase::Deletions | SweepPhase::Allowed => self.deletions(ran)?,
            _ => {}
        }
        if self.part.phase == SweepPhase::Copies && self.goes_on() {
            self.copies(ran)?;
        }
        if self.part.phase.is_open() { self.leave() } else { Ok(()) }
    }

    /// Whether the slice goes on with another turn.
    pub(super) fn goes_on(&self) -> bool {
        !self.stop.is_requested() && self.queued < self.room && self.began.elapsed() < self.shortest
    }

    fn leave(&mut self) -> Result<(), EngineError> {
        let part = self.part.clone();
        self.part = self.home.registry.write(move |tx| sweeps::advance(tx, &part, Next::Leave(0)))?;
        Ok(())
    }

    /// Records a turn with its tasks.
    pub(super) fn turn(&mut self, mut part: Part, new: Vec<NewTask>, ran: &mut Ran) -> Result<(), EngineError> {
        (part.attempts, part.error) = (0, None);
        let queued = new.len() as u64;
        let lease = micros(LEASE);
        crash_point("sweep.turn");
        let part = self.home.registry.write(move |tx| {
            let part = sweeps::advance(tx, &part, Next::GoOn(lease))?;
            tasks::enqueue(tx, &new)?;
            Ok::<_, RegistryError>(part)
        })?;
        crash_point("sweep.turned");
        self.took_turn(part, queued, ran);
        Ok(())
    }

    /// A turn was recorded.
    pub(super) fn took_turn(&mut self, part: Part, queued: u64, ran: &mut Ran) {
        if queued > 0 {
            self.home.registry.wakeups().notify([LOW]);
        }
        self.part = part;
        self.queued += queued;
        ran.turns += 1;
    }

    /// What the newest policy says of the route; none where no rule has it any more, and the part ends.
    fn applied(&mut self, ran: &mut Ran) -> Result<Option<Applied>, EngineError> {
        let found = applied(self.home, &self.part.route)?;
        if found.is_none() {
            self.turn(self.part.to(SweepPhase::Dropped), Vec::new(), ran)?;
        }
        Ok(found)
    }

    /// Queues deletions that were recorded and not carried out, unless these are so many that a person has to allow them. Of a rule that keeps
    /// its copies those are queued of which nothing is recorded yet, and nothing is deleted by them.
    fn deletions(&mut self, ran: &mut Ran) -> Result<(), EngineError> {
        let is_allowed = self.part.phase == SweepPhase::Allowed;
        let after = if is_allowed { SweepPhase::Done } else { SweepPhase::Copies };
        let Some(applied) = self.applied(ran)? else { return Ok(()) };
        if !is_allowed && self.part.reached.is_empty() && may_delete(self.home, &self.part.route, &applied)? {
            match self.count_deletions()? {
                // The process stops: the next one counts again.
                None => return Ok(()),
                Some(0) => {}
                Some(held) => {
                    let mut part = self.part.to(after);
                    part.held = held;
                    return self.turn(part, Vec::new(), ran);
                }
            }
        }
        // At least once: what was counted is not counted again.
        loop {
            let Some(applied) = self.applied(ran)? else { return Ok(()) };
            let route = &self.part.route;
            let up_to = self.part.allowed_to.filter(|_| is_allowed).unwrap_or(self.sweep.started_at);
            let place = (route.source.as_str(), route.space.as_str());
            let reached = (self.part.reached.as_str(), up_to);
            let (cause, list) = if may_delete(self.home, route, &applied)? {
                (Cause::Deletion, content_events::pending as List)
            } else {
                (Cause::Kept, content_events::unseen as List)
            };
            let keys = self.home.registry.read(|tx| list(tx, place, route.id, reached, PER_TURN))?;
            let mut part = self.part.clone();
            let new: Vec<NewTask> = keys.iter().map(|key| self.task(key, cause)).collect();
            part.counts.deletions += keys.len() as u64;
            let is_end = keys.is_empty();
            if let Some(last) = keys.last() {
                part.reached.clone_from(last);
            } else {
                (part.phase, part.reached) = (after, String::new());
                part.held = if is_allowed { 0 } else { part.held };
            }
            self.turn(part, new, ran)?;
            if is_end || !self.goes_on() {
                return Ok(());
            }
        }
    }

    /// How many deletions have to wait for a person: all that would be carried out, or none, where they are few. Nothing where the process
    /// stops. A deletion of what the source has again is used up.
    fn count_deletions(&self) -> Result<Option<u64>, EngineError> {
        let (route, space) = (&self.part.route, self.space()?);
        let source = self.home.plain_stores.get(&route.source)?;
        let destination = self.home.plain_stores.get(&route.destination)?;
        let place = (route.source.as_str(), route.space.as_str());
        let (mut pending, mut after) = (0_u64, String::new());
        loop {
            // What was recorded since the sweep began has its own tasks.
            let reached = (after.as_str(), self.sweep.started_at);
            let page = self.home.registry.read(|tx| content_events::pending(tx, place, route.id, reached, PER_TURN))?;
            let Some(last) = page.last() else { break };
            after.clone_from(last);
            let mut seen_again = Vec::new();
            for key in page {
                if self.stop.is_requested() {
                    return Ok(None);
                }
                let Ok(name) = Key::new(key.as_str()) else { continue };
                // Read before the store is inspected: an event that comes meanwhile is another one.
                let event = self.home.registry.read(|tx| content_events::get(tx, (place.0, place.1, &key)))?;
                match source.head(&space, &name) {
                    Ok(found) => seen_again.extend(SeenAgain::new(route, event, &found, crate::hold::now(self.home)?)),
                    Err(error) if error.is_not_found() => match destination.head(&space, &name) {
                        Ok(_) => pending += 1,
                        // Nothing is deleted.
                        Err(error) if error.is_not_found() => {}
                        Err(error) => return Err(error.into()),
                    },
                    Err(error) => return Err(error.into()),
                }
            }
            self.home.registry.write(move |tx| seen_again.iter().try_for_each(|seen| seen.write(tx)))?;
        }
        if pending == 0 {
            return Ok(Some(0));
        }
        // A space that is emptied little by little is emptied, too.
        let before = self.home.registry.read(|tx| {
            let now = tx.now()?;
            let since = counted_since(tx, route, now)?;
            content_events::count_carried_out(tx, place, route.id, since)
        })?;
        let enough = pending.saturating_add(before).saturating_mul(MOST_DELETED);
        let mut seen = 0_u64;
        for item in listing(self.home, &route.destination, &space, &ListedName::START)? {
            if let ListedItem::Item(_) = item? {
                seen += 1;
            }
            if seen >= enough {
                return Ok(Some(0));
            }
            if self.stop.is_requested() {
                return Ok(None);
            }
        }
        Ok(Some(pending))
    }

    pub(super) fn space(&self) -> Result<SpaceName, EngineError> {
        let space = SpaceName::new(self.part.route.space.as_str());
        space.map_err(|error| EngineError::CheckFailed(error.to_string()))
    }

    fn task(&self, key: &str, cause: Cause) -> NewTask {
        new_task(self.home.settings.pool(LOW).max_attempts, &self.part.route, key, cause)
    }

    /// Compares both listings, and queues what differs.
    fn copies(&mut self, ran: &mut Ran) -> Result<(), EngineError> {
        let opening = Instant::now();
        let (space, route) = (self.space()?, self.part.route.clone());
        let reached: ListedName = self.part.reached.parse().unwrap_or_default();
        let mut compared = Compared::open(self.home, &route, &space, &reached)?;
        compared.fill()?;
        self.shortest = self.shortest.max(self.began.elapsed() + opening.elapsed() * TIMES_OPENING);
        let settings = &self.home.settings.duplication;
        let sweep = self.sweep.clone();
        let verdicts = Verdicts::new(&sweep, settings.verify_one_in);
        while self.goes_on() {
            let Some(_) = self.applied(ran)? else { return Ok(()) };
            let mut part = self.part.clone();
            let mut new = Vec::new();
            let mut is_end = false;
            for _ in 0..PER_TURN {
                let Some(one) = compared.next()? else {
                    is_end = true;
                    break;
                };
                part.reached = one.name.to_string();
                let verdict = verdicts.of(self.home, &route, &one)?;
                let counts = &mut part.counts;
                counts.listed += u64::from(verdict != Verdict::Nothing);
                match verdict {
                    Verdict::Queue(cause) => {
                        counts.queued += 1;
                        new.push(self.task(one.key(), cause));
                    }
                    Verdict::Equal => counts.equal += 1,
                    Verdict::Ignored => counts.ignored += 1,
                    Verdict::Failed => counts.failed += 1,
                    Verdict::Nothing => {}
                }
            }
            if is_end {
                (part.phase, part.reached) = Self::after_copies(&part);
            }
            self.turn(part, new, ran)?;
            if is_end {
                return Ok(());
            }
        }
        Ok(())
    }

    /// The phase of a part of which everything was compared.
    fn after_copies(part: &Part) -> (SweepPhase, String) {
        let phase = match (part.held, part.allowed_to) {
            (0, _) => SweepPhase::Done,
            (_, Some(_)) => SweepPhase::Allowed,
            (_, None) => SweepPhase::Held,
        };
        (phase, String::new())
    }
}
