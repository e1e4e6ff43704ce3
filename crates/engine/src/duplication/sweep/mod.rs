//! Sweeps: everything that a policy copies is compared, and what differs is queued. A sweep of an institution begins when its time has come, or
//! its policy was changed. It has a part for each space of each rule; each turn of a part is one transaction with its tasks, its counts and
//! the name that it reached, under the fence of the part. So any number of processes may work on a sweep, one that is killed repeats a turn
//! at most, and one that sleeps and wakes changes nothing.
//!
//! Parts take turns by time: a large space delays no other one for longer than a slice.

mod compared;
mod due;
mod part;
mod spaces;

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use strongroom_queue::WorkerId;
use strongroom_queue::tasks::{self, QueueStatus};
use strongroom_registry::sweeps::{self, Next, Part, Sweep};
use strongroom_registry::{InstitutionId, RegistryError, RouteId, SweepId, SweepPhase, content_events, counted};
use uuid::Uuid;

pub(crate) use due::{begin, check_start};
pub(crate) use part::filter;

use super::tasks::{HIGH, LOW};
use crate::event::Event;
use crate::runtime::{Shutdown, retry_delay};
use crate::work::build_runtime;
use crate::{EngineError, Home};

/// How long a part is leased, and how often the lease is extended while a turn lasts.
const LEASE: Duration = Duration::from_mins(1);
const EXTENDED_EVERY: Duration = Duration::from_secs(15);
/// Parts that are read at once.
const PAGE: usize = 200;
/// After so many failures in a row a part has failed.
const MOST_ATTEMPTS: u64 = 20;

/// What a run of the background task did.
#[derive(Debug, Default)]
pub(crate) struct Ran {
    begun: u64,
    ended: u64,
    turns: u64,
    queued: u64,
    /// Parts that failed and are tried again later.
    set_aside: u64,
    is_full: bool,
}

impl Ran {
    /// In words.
    pub(crate) fn in_words(&self) -> String {
        let mut words = vec![
            format!("{} begun", counted(self.begun, "sweep", "sweeps")),
            format!("{} ended", self.ended),
            format!("{} queued in {}", counted(self.queued, "task", "tasks"), counted(self.turns, "turn", "turns")),
        ];
        if self.set_aside > 0 {
            words.push(format!("{} set aside", counted(self.set_aside, "part", "parts")));
        }
        if self.is_full {
            words.push(format!("as many tasks wait in {LOW} as may"));
        }
        words.join(", ")
    }
}

/// Begins the sweeps whose time has come, and works on those that are open until nothing is left, or the queue is full.
///
/// # Errors
/// The registry failed; or a policy cannot be read, and everything else was done.
pub(crate) fn run(home: &Home, stop: &Shutdown) -> Result<Ran, EngineError> {
    let mut ran = Ran::default();
    let mut failures = crate::error::Failures::default();
    for institution in home.registry.read(sweeps::institutions)? {
        match due::begin_if_due(home, institution) {
            Ok(begun) => ran.begun += u64::from(begun),
            Err(error) => failures.add(error),
        }
    }
    work(home, stop, &mut ran)?;
    release_held(home)?;
    for institution in home.registry.read(sweeps::institutions)? {
        ran.ended += u64::from(end_if_done(home, institution)?);
    }
    failures.or(ran)
}

/// How long to wait for tasks that other processes have, or whose time has not come.
const PAUSE: Duration = Duration::from_millis(200);

/// Works on a sweep and on the tasks of duplication in this process until nothing of it is left to do, or waits for a person. Tasks that are
/// attempted again later are left to later.
///
/// # Errors
/// The registry failed.
pub(crate) fn work_on(home: &Arc<Home>, sweep: &Sweep, stop: &Shutdown) -> Result<(), EngineError> {
    let id = sweep.id;
    while !stop.is_requested() {
        let mut ran = Ran::default();
        // What events have queued comes first: a sweep that finds it undone would take it for more work.
        run_tasks(home, stop)?;
        work(home, stop, &mut ran)?;
        run_tasks(home, stop)?;
        release_held(home)?;
        end_if_done(home, sweep.institution)?;
        let totals = home.registry.read(|tx| sweeps::totals(tx, id))?;
        if totals.open_parts == 0 && !is_busy(home)? {
            return Ok(());
        }
        if ran.turns == 0 {
            if are_all_set_aside(home, id)? {
                return Ok(());
            }
            stop.wait(PAUSE);
        }
    }
    Ok(())
}

/// Whether all open parts of a sweep are tried again later.
fn are_all_set_aside(home: &Home, id: SweepId) -> Result<bool, RegistryError> {
    let mut after = RouteId(Uuid::nil());
    loop {
        let page = home.registry.read(|tx| sweeps::parts(tx, id, after, PAGE))?;
        let Some(last) = page.last() else { return Ok(true) };
        after = last.route.id;
        if page.iter().any(|part| part.phase.is_open() && part.attempts == 0) {
            return Ok(false);
        }
    }
}

/// Whether tasks of duplication wait or are worked on that are not attempted later.
fn is_busy(home: &Home) -> Result<bool, RegistryError> {
    // Not by counting: it is asked after each task.
    home.registry.read(|tx| {
        let waits = matches!(tasks::look(tx, &[HIGH.to_owned(), LOW.to_owned()])?, QueueStatus::Work(_));
        Ok(waits || tasks::leased_of(tx, HIGH)? > 0 || tasks::leased_of(tx, LOW)? > 0)
    })
}

/// Works on the tasks of duplication until none waits.
fn run_tasks(home: &Arc<Home>, stop: &Shutdown) -> Result<(), EngineError> {
    let runtime = build_runtime(home, Some(&[HIGH.to_owned(), LOW.to_owned()]))?.build();
    let summary = runtime.run_until(stop, &|| !is_busy(home).unwrap_or(true));
    summary.failure.map_or(Ok(()), |failure| Err(failure.into()))
}

/// Works on the parts of open sweeps.
fn work(home: &Home, stop: &Shutdown, ran: &mut Ran) -> Result<(), EngineError> {
    let (lease, holder) = (micros(LEASE), WorkerId::this_process().to_string());
    let_go_of_ended(home)?;
    let mut left = 0;
    while !stop.is_requested() {
        // Parts may be many and small: the queue is counted again only when what it had room for is queued.
        if left == 0 {
            left = room(home)?;
        }
        if left == 0 {
            ran.is_full = true;
            return Ok(());
        }
        let name = holder.clone();
        let Some(part) = home.registry.write(move |tx| sweeps::take(tx, &name, lease))? else { return Ok(()) };
        let queued = match kept(home, &part, || part::slice(home, stop, part.clone(), left, ran)) {
            Ok(queued) => queued,
            // A person or another process has it now.
            Err(EngineError::Registry(RegistryError::State { .. })) => 0,
            Err(error @ EngineError::Registry(_)) => return Err(error),
            Err(error) => {
                set_aside(home, &part, &error, ran)?;
                0
            }
        };
        left = left.saturating_sub(queued);
        ran.queued += queued;
    }
    Ok(())
}

/// Ends the leases of processes of this machine that have ended.
fn let_go_of_ended(home: &Home) -> Result<(), EngineError> {
    for holder in home.registry.read(sweeps::holders)? {
        if holder.parse::<WorkerId>().is_ok_and(|holder| holder.is_gone()) {
            home.registry.write(move |tx| sweeps::let_go(tx, &holder))?;
        }
    }
    Ok(())
}

/// Runs while the lease of a part is extended. Where it is lost, the next turn is refused.
fn kept<T>(home: &Home, part: &Part, run: impl FnOnce() -> T) -> T {
    let over = Shutdown::new();
    thread::scope(|scope| {
        let heart = thread::Builder::new().name("part of a sweep".to_owned());
        let beating = heart.spawn_scoped(scope, || {
            while !over.wait(EXTENDED_EVERY) {
                let part = part.clone();
                let extended = home.registry.write_by_rows(move |tx| sweeps::extend(tx, &part, micros(LEASE)));
                if let Err(error) = extended {
                    Event::RegistryUnavailable { act: "extend the lease of a part of a sweep", error: &error }.emit();
                }
            }
        });
        if let Err(error) = beating {
            Event::ThreadNotStarted { name: "part of a sweep", error: &error }.emit();
        }
        let _over = over.request_on_drop();
        run()
    })
}

/// How many tasks sweeps may queue now.
fn room(home: &Home) -> Result<u64, EngineError> {
    let counts = home.registry.read(|tx| tasks::counts(tx).map_err(RegistryError::from))?;
    let low = counts.into_iter().find(|topic| topic.topic == LOW).unwrap_or_default();
    Ok(home.settings.duplication.most_queued.saturating_sub(low.ready + low.delayed + low.leased))
}

/// A part that failed is tried later, and fails for good after as many attempts as it has. The others go on.
fn set_aside(home: &Home, part: &Part, error: &EngineError, ran: &mut Ran) -> Result<(), EngineError> {
    let newest = home.registry.read(|tx| sweeps::part(tx, part.sweep, part.route.id))?;
    // What the slice did before it failed is recorded.
    let Some(mut newest) = newest.filter(|newest| newest.is_same_lease(part)) else { return Ok(()) };
    newest.attempts += 1;
    newest.error = Some(error.chain());
    if newest.attempts >= MOST_ATTEMPTS {
        newest.phase = SweepPhase::Failed;
    }
    let pause = Next::Leave(micros(retry_delay(newest.attempts)));
    match home.registry.write(move |tx| sweeps::advance(tx, &newest, pause)) {
        Ok(_) | Err(RegistryError::State { .. }) => {}
        Err(error) => return Err(error.into()),
    }
    ran.set_aside += 1;
    Ok(())
}

/// Ends the parts in which deletions waited for a person that were carried out by their events since.
fn release_held(home: &Home) -> Result<(), EngineError> {
    for institution in home.registry.read(sweeps::institutions)? {
        let Some(open) = home.registry.read(|tx| sweeps::open_of(tx, institution))? else { continue };
        let mut after = RouteId(Uuid::nil());
        loop {
            let page = home.registry.read(|tx| sweeps::parts_in_trouble(tx, open.id, after, PAGE))?;
            let Some(last) = page.last() else { break };
            after = last.route.id;
            for part in page.into_iter().filter(|part| part.phase == SweepPhase::Held) {
                let started_at = open.started_at;
                home.registry.write(move |tx| {
                    let place = (part.route.source.as_str(), part.route.space.as_str());
                    match content_events::count_pending(tx, place, part.route.id, started_at, 1)? {
                        0 => sweeps::release(tx, &part),
                        _ => Ok(()),
                    }
                })?;
            }
        }
    }
    Ok(())
}

/// Ends the open sweep of an institution, where none of its parts is open.
fn end_if_done(home: &Home, institution: InstitutionId) -> Result<bool, EngineError> {
    let ended = home.registry.write(move |tx| {
        let Some(open) = sweeps::open_of(tx, institution)? else { return Ok(None) };
        let is_ended = sweeps::end(tx, open.id)?;
        Ok::<_, RegistryError>(if is_ended { Some((sweeps::totals(tx, open.id)?, open)) } else { None })
    })?;
    let Some((totals, sweep)) = &ended else { return Ok(false) };
    Event::SweepEnded { sweep, totals }.emit();
    Ok(true)
}

fn micros(span: Duration) -> i64 {
    i64::try_from(span.as_micros()).unwrap_or(i64::MAX)
}
