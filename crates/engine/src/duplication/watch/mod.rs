//! Folder watch: what changes in the folders of plain stores becomes events, while background tasks run. A store is watched where its settings
//! want that and a rule of a newest policy copies from it, by one process at a time (`state.rs`).
//!
//! For each store one thread reads what the kernel reports, and another one verifies it (`verify.rs`) once a key has been quiet (`pending.rs`).
//! An event lets copies be deleted, so a deletion is recorded only where all of this is so:
//!
//! 1. The kernel reported the removal of that name, and nothing else of the name after it.
//! 2. The store is there, before and after it was asked, and says that it has no such content item.
//! 3. Everything that the kernel had reported until then was read, and no report was lost.
//!
//! Where reports may be lost, everything that is copied from the store is compared: a sweep begins.

mod pending;
mod state;
mod verify;

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use strongroom_queue::WorkerId;
use strongroom_registry::{InstitutionId, schedules};
use strongroom_spaces::{Changes, PlainStore};

use self::pending::{Due, MOST, Name, Pending};
use self::state::{Claim, RENEWED_EVERY, State};
pub(crate) use self::state::{WatchStatus, status};
use self::verify::{ACTOR, Recorded, Seen, inspect, record};
use super::events::policies;
use super::sweep;
use crate::background;
use crate::event::Event;
use crate::runtime::{Shutdown, panic_message};
use crate::settings::PlainStoreSettings;
use crate::{EngineError, Home};

/// Changes that are verified, and recorded, at a time.
const PAGE: usize = 500;
/// How long one wait for the kernel is at most.
const WAIT: Duration = Duration::from_millis(100);
/// How long what is not verified yet may take when the process ends; the rest is left to sweeps.
const GRACE: Duration = Duration::from_secs(5);

/// How long a watch waits for what.
#[derive(Debug, Clone, Copy)]
pub struct Timing {
    /// How long a content item is left alone after its last change.
    pub quiet: Duration,
    /// How often it is decided which stores are watched.
    pub decide_every: Duration,
    /// After a failure, until the next attempt.
    pub retry: Duration,
}

impl Timing {
    /// As processes have it.
    pub const DEFAULT: Self =
        Self { quiet: Duration::from_secs(2), decide_every: Duration::from_secs(5), retry: Duration::from_secs(20) };
}

/// Watches every store that is to be watched, until asked to stop. What fails is tried again.
pub fn run(home: &Arc<Home>, shutdown: &Shutdown, timing: Timing) {
    let may_be_watched = |name: &&str| home.plain_stores.settings(name).is_ok_and(PlainStoreSettings::is_watched);
    let names: Vec<String> = home.plain_stores.names().filter(may_be_watched).map(str::to_owned).collect();
    if names.is_empty() {
        return;
    }
    let mut running: BTreeMap<String, (Shutdown, JoinHandle<()>)> = BTreeMap::new();
    while !shutdown.is_requested() {
        match sources(home) {
            Ok(sources) => {
                running.retain(|_, (_, thread)| !thread.is_finished());
                for name in &names {
                    match (running.get(name), sources.contains(name)) {
                        (Some((stop, _)), false) => stop.request_once(),
                        (None, true) => {
                            if let Some(started) = start(home, name, timing) {
                                running.insert(name.clone(), started);
                            }
                        }
                        _ => {}
                    }
                }
            }
            Err(error) => {
                Event::RegistryUnavailable { act: "read which plain stores are watched", error: &error.chain() }.emit();
            }
        }
        shutdown.wait(timing.decide_every);
    }
    for (stop, _) in running.values() {
        stop.request_once();
    }
    for (name, (_, thread)) in running {
        if let Err(panic) = thread.join() {
            let error = panic_message(panic.as_ref());
            Event::PlainStoreNotWatched { store: &name, error: &error }.emit();
        }
    }
}

/// The stores from which a rule of a newest policy copies.
fn sources(home: &Home) -> Result<BTreeSet<String>, EngineError> {
    let policies = policies(home)?;
    Ok(policies.iter().flat_map(|(_, policy)| policy.lookup().sources()).map(str::to_owned).collect())
}

fn start(home: &Arc<Home>, name: &str, timing: Timing) -> Option<(Shutdown, JoinHandle<()>)> {
    let stop = Shutdown::new();
    let watch = Watch {
        home: Arc::clone(home),
        store: name.to_owned(),
        stop: stop.clone(),
        timing,
        holder: WorkerId::this_process().to_string(),
    };
    match thread::Builder::new().name(format!("watch-{name}")).spawn(move || watch.run()) {
        Ok(thread) => Some((stop, thread)),
        Err(error) => {
            Event::ThreadNotStarted { name: "the watch of a plain store", error: &error }.emit();
            None
        }
    }
}

/// The watch of one store.
struct Watch {
    home: Arc<Home>,
    store: String,
    stop: Shutdown,
    timing: Timing,
    holder: String,
}

/// What the threads of a watch share.
struct Shared {
    pending: Mutex<Pending>,
    /// How often everything was read that the kernel had reported.
    drained: AtomicU64,
    /// Whether the reader has to end, or has ended.
    is_ended: AtomicBool,
    failure: Mutex<Option<EngineError>>,
}

impl Watch {
    fn run(&self) {
        let mut last: Option<String> = None;
        // Changes are missed from the end of one attempt to the next.
        let mut is_missed = false;
        while !self.stop.is_requested() {
            let error = match self.attempt(last.is_none(), &mut is_missed) {
                Ok(is_ours) => {
                    last = None;
                    if !is_ours {
                        self.stop.wait(self.timing.decide_every);
                    }
                    continue;
                }
                Err(error) => error.chain(),
            };
            if last.as_ref() != Some(&error) {
                Event::PlainStoreNotWatched { store: &self.store, error: &error }.emit();
            }
            if let Err(error) = self.claim(State::failed(&self.holder, &error)) {
                unavailable(&error);
            }
            last = Some(error);
            self.stop.wait(self.timing.retry);
        }
        let (store, holder) = (self.store.clone(), self.holder.clone());
        if let Err(error) = self.home.registry.write(move |tx| state::remove(tx, &store, &holder)) {
            unavailable(&error.into());
        }
    }

    /// Watches until a stop is asked for, or something fails; whether no other process does.
    fn attempt(&self, is_first: bool, is_missed: &mut bool) -> Result<bool, EngineError> {
        let store = self.home.plain_stores.get(&self.store)?;
        if is_first {
            match self.claim(State::beginning(&self.holder))? {
                Claim::Held => return Ok(false),
                Claim::Ours { after_crash } => *is_missed |= after_crash,
            }
        }
        let changes = store.changes()?.ok_or_else(|| {
            EngineError::Refused(format!("plain store {} reports no changes: set watch = false", self.store))
        })?;
        let folders = changes.folders();
        if self.claim(State::watching(&self.holder, folders, changes.unreadable()))? == Claim::Held {
            return Ok(false);
        }
        Event::PlainStoreWatched { store: &self.store, folders }.emit();
        let shared = Shared {
            pending: Mutex::new(Pending::new(self.timing.quiet, MOST)),
            drained: AtomicU64::new(0),
            is_ended: AtomicBool::new(false),
            failure: Mutex::new(None),
        };
        let outcome = thread::scope(|scope| {
            scope.spawn(|| shared.read(changes));
            let _end = EndOnDrop(&shared.is_ended);
            self.verify(store.as_ref(), &shared, std::mem::take(is_missed))
        });
        *is_missed = true;
        let failure = shared.failure.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let (Ok(true), None) = (&outcome, &failure) {
            Event::PlainStoreWatchEnded { store: &self.store }.emit();
        }
        failure.map_or(outcome, Err)
    }

    /// Verifies what is due until the end; whether no other process watches the store.
    fn verify(&self, store: &dyn PlainStore, shared: &Shared, is_missed: bool) -> Result<bool, EngineError> {
        if is_missed {
            shared.pending().miss();
        }
        let (mut to_sweep, mut swept) = (None, None::<Instant>);
        let mut renewed = Instant::now();
        while !self.stop.is_requested() && !shared.has_ended() {
            let (is_full, is_left) = self.page(store, shared, false)?;
            if is_left {
                to_sweep = Some(BTreeSet::new());
            }
            if shared.pending().take_missed() {
                Event::ChangesMissed { store: &self.store }.emit();
                to_sweep = Some(BTreeSet::new());
            }
            if to_sweep.is_some() && swept.is_none_or(|at| at.elapsed() >= self.timing.decide_every) {
                self.while_registry_answers(self.sweep(&mut to_sweep))?;
                swept = Some(Instant::now());
            }
            if renewed.elapsed() >= RENEWED_EVERY {
                if self.while_registry_answers(self.renew())? == Some(false) {
                    return Ok(false);
                }
                renewed = Instant::now();
            }
            if !is_full {
                self.stop.wait(WAIT);
            }
        }
        let began = Instant::now();
        while began.elapsed() < GRACE && !shared.has_ended() && self.page(store, shared, true)?.0 {}
        Ok(true)
    }

    /// Verifies and records what is due, at most a page; whether there may be more, and whether deletions are left to a sweep.
    fn page(&self, store: &dyn PlainStore, shared: &Shared, all: bool) -> Result<(bool, bool), EngineError> {
        let (page, losses) = {
            let mut pending = shared.pending();
            (pending.take_due(Instant::now(), PAGE, all), pending.losses())
        };
        if page.is_empty() {
            return Ok((false, false));
        }
        let is_full = page.len() == PAGE;
        let is_busy = |due: &Due, since| !all && shared.pending().is_busy(&due.1, since, Instant::now());
        let mut inspected = inspect(store, page, &is_busy)?;
        for due in inspected.busy.drain(..) {
            shared.pending().put_back(due, Instant::now());
        }
        if inspected.has_failures {
            shared.pending().miss();
        }
        let is_deletion = |one: &Seen| one.is_gone() || one.renamed_from.is_some();
        if inspected.seen.iter().any(is_deletion) {
            let is_drained = shared.wait_until_drained();
            let pending = shared.pending();
            let is_certain = is_drained && pending.losses() == losses;
            inspected.seen.retain(|one| !one.is_gone() || (is_certain && !pending.has(&one.name)));
            for one in &mut inspected.seen {
                one.renamed_from = one.renamed_from.take().filter(|(space, key)| {
                    is_certain && !pending.has(&Name { space: space.clone(), key: Some(key.clone()) })
                });
            }
        }
        let recorded = self.record(&inspected.seen)?;
        if recorded.puts + recorded.deletions > 0 {
            Event::ChangesRecorded { store: &self.store, puts: recorded.puts, deletions: recorded.deletions }.emit();
        }
        if recorded.left_to_sweep > 0 {
            Event::DeletionsLeftToSweep { store: &self.store, deletions: recorded.left_to_sweep }.emit();
        }
        Ok((is_full, recorded.left_to_sweep > 0))
    }

    /// Records events, as soon as the registry answers.
    fn record(&self, seen: &[Seen]) -> Result<Recorded, EngineError> {
        loop {
            let outcome = self.while_registry_answers(record(&self.home, &self.store, seen.to_vec()))?;
            if let Some(recorded) = outcome {
                return Ok(recorded);
            }
            if self.stop.wait(WAIT) {
                return Ok(Recorded::default());
            }
        }
    }

    /// Begins the sweeps of the institutions whose rules copy from the store, but for those where that was done. One that is at work may have
    /// passed what was missed, so its end is waited for.
    fn sweep(&self, begun: &mut Option<BTreeSet<InstitutionId>>) -> Result<(), EngineError> {
        let Some(done) = begun else { return Ok(()) };
        let (mut is_all, mut is_new) = (true, false);
        for (institution, policy) in policies(&self.home)? {
            let is_concerned = policy.lookup().sources().contains(&self.store.as_str());
            // Without an interval, people alone begin sweeps.
            if !is_concerned || done.contains(&institution) || self.home.settings.duplication.every.is_zero() {
                continue;
            }
            if sweep::begin(&self.home, institution, &policy, false, Some(ACTOR.to_owned()))?.is_some() {
                done.insert(institution);
                is_new = true;
            } else {
                is_all = false;
            }
        }
        if is_new {
            self.home.registry.write(|tx| schedules::hasten(tx, background::duplication::NAME))?;
        }
        if is_all {
            *begun = None;
        }
        Ok(())
    }

    fn claim(&self, new: State) -> Result<Claim, EngineError> {
        let store = self.store.clone();
        Ok(self.home.registry.write(move |tx| state::claim(tx, &store, &new))?)
    }

    fn renew(&self) -> Result<bool, EngineError> {
        let (store, holder) = (self.store.clone(), self.holder.clone());
        Ok(self.home.registry.write(move |tx| state::renew(tx, &store, &holder))?)
    }

    /// An outcome; none where the registry does not answer, so that it is attempted again.
    fn while_registry_answers<T>(&self, outcome: Result<T, EngineError>) -> Result<Option<T>, EngineError> {
        match outcome {
            Ok(outcome) => Ok(Some(outcome)),
            Err(error @ EngineError::Registry(_)) => {
                unavailable(&error);
                self.stop.wait(self.timing.decide_every);
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }
}

/// Says that the registry does not answer.
fn unavailable(error: &EngineError) {
    Event::RegistryUnavailable { act: "record what changes in a plain store", error: &error.chain() }.emit();
}

impl Shared {
    fn pending(&self) -> MutexGuard<'_, Pending> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn has_ended(&self) -> bool {
        self.is_ended.load(Ordering::SeqCst)
    }

    /// Reads what the kernel reports, until the end.
    fn read(&self, mut changes: Box<dyn Changes>) {
        let _end = EndOnDrop(&self.is_ended);
        let mut outcome = Ok(());
        while outcome.is_ok() && !self.has_ended() {
            let wait = || {
                let mut take = |change| self.pending().note(change, Instant::now());
                if !changes.wait(WAIT, &mut take)? {
                    self.drained.fetch_add(1, Ordering::SeqCst);
                }
                Ok::<_, EngineError>(())
            };
            outcome = catch_unwind(AssertUnwindSafe(wait)).unwrap_or_else(|panic| {
                Err(EngineError::CheckFailed(format!("a thread panicked: {}", panic_message(panic.as_ref()))))
            });
        }
        if let Err(error) = outcome {
            *self.failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
        }
    }

    /// Waits until everything was read that the kernel has reported until now; whether it was.
    fn wait_until_drained(&self) -> bool {
        // The wait that ends first may have ended before now.
        let until = self.drained.load(Ordering::SeqCst) + 2;
        while self.drained.load(Ordering::SeqCst) < until {
            if self.has_ended() {
                return false;
            }
            thread::sleep(WAIT / 10);
        }
        true
    }
}

/// Says when its thread ends, also by a panic.
struct EndOnDrop<'e>(&'e AtomicBool);

impl Drop for EndOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}
