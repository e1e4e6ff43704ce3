//! Runs background tasks: what is due, each in a thread of its own, or one by name. The outcome of a run is recorded in the
//! task's row.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::{Duration, Instant};

use strongroom_database::CLOCK_TOLERANCE;
use strongroom_queue::WorkerId;
use strongroom_registry::schedules::{self, Due, RunEnd, Schedule};
use strongroom_registry::{HastenedListener, Registry, RegistryError, Time, check_schema};

use super::listing::{is_held, started_ahead};
use super::turn::{Loss, Turn};
use super::{BackgroundTask, TASKS};
use crate::duplication::watch::{self, Timing};
use crate::event::Event;
use crate::runtime::{Listener, Shutdown, panic_message};
use crate::{EngineError, Home};

/// After so long without a heartbeat another process may take a run over.
const LEASE: Duration = Duration::from_secs(90);
/// How soon a run that failed is repeated.
const AFTER_FAILURE: Duration = Duration::from_mins(1);
/// The longest sleep: another process may have made a task due, or have taken a run and ended. A transaction of this process that makes a task
/// due ends the sleep; one of another process does not, in either database. SQLite notifies no other process, and its revision changes with
/// every commit; notifications of PostgreSQL are for work and may be lost. So the schedules are read every two seconds, by four small
/// reads, and a message to people waits no longer than that.
pub const LOOK_EVERY: Duration = Duration::from_secs(2);
/// The shortest, so that neither a clock that stands still nor transactions that make a task due again and again cost processor time.
const SHORTEST_SLEEP: Duration = Duration::from_millis(100);
/// How long runs that are under way may take to end once a stop was asked for; then the process ends without them.
const GRACE: Duration = Duration::from_secs(30);

/// What became of a run that a person asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ManualRun {
    /// It ran to its end.
    Done {
        /// What it did, in words.
        result: String,
        /// How long it took.
        elapsed: Duration,
    },
    /// Another process runs it now; nothing was done.
    Held {
        /// That process.
        holder: String,
    },
    /// It was stopped before its end; the next run does the rest.
    Stopped,
    /// It was not recorded, since the lease of the run was lost.
    Lost(Loss),
}

/// What became of a run that this process took.
enum Run {
    Done { result: String, elapsed: Duration },
    Failed(EngineError),
    Stopped,
    Lost(Loss),
}

/// What the loop waits for.
enum Signal {
    /// The run of a task in this process ended, and how long it is to be left alone.
    Ended(&'static str, Duration),
    /// A transaction of this process has made a task due earlier.
    Hastened,
    /// A stop was asked for.
    Stop,
}

/// The tasks that run in this process, and those that are left alone until a moment after their registry failed.
#[derive(Default)]
struct Running(BTreeMap<&'static str, Option<Instant>>);

impl Running {
    fn apply(&mut self, signal: &Signal) {
        if let Signal::Ended(name, pause) = signal {
            self.0.insert(name, Instant::now().checked_add(*pause));
        }
    }

    fn forget_past(&mut self) {
        let now = Instant::now();
        self.0.retain(|_, until| until.is_none_or(|until| until > now));
    }

    fn under_way(&self) -> impl Iterator<Item = &'static str> + '_ {
        self.0.iter().filter(|(_, until)| until.is_none()).map(|(name, _)| *name)
    }
}

/// Reports to the loop that a run ended, however it did.
struct Ending {
    name: &'static str,
    pause: Duration,
    signals: Sender<Signal>,
}

impl Drop for Ending {
    fn drop(&mut self) {
        // The loop may have ended before.
        let _ = self.signals.send(Signal::Ended(self.name, self.pause));
    }
}

/// Runs every task of [`TASKS`] whenever it is due, and watches plain stores; see [`run_tasks`] and [`watch::run`].
///
/// # Errors
/// [`RegistryError::NewerSchema`] where another program has brought the registry beyond what this one knows.
pub fn run(home: &Arc<Home>, shutdown: &Shutdown) -> Result<(), EngineError> {
    thread::scope(|scope| {
        let watching = scope.spawn(|| watch::run(home, shutdown, Timing::DEFAULT));
        // It asks for a stop when it ends.
        let outcome = run_tasks(&TASKS, home, shutdown, LOOK_EVERY);
        if let Err(panic) = watching.join() {
            let message = panic_message(panic.as_ref());
            Event::ThreadNotStarted { name: "the watch of plain stores", error: &message }.emit();
        }
        outcome
    })
}

/// Runs what is due whenever it is, until asked to stop: at once where this process makes it due, and after `look_every` where another one
/// does. What fails is repeated. Each task has a thread of its own: one that hangs
/// holds up no other. Runs that are under way when a stop is asked for have a grace time to end, and none after a second request.
///
/// # Errors
/// [`RegistryError::NewerSchema`] where another program has brought the registry beyond what this one knows.
pub fn run_tasks(
    tasks: &'static [BackgroundTask],
    home: &Arc<Home>,
    shutdown: &Shutdown,
    look_every: Duration,
) -> Result<(), EngineError> {
    let (sender, signals) = mpsc::channel();
    let listener: Arc<Listener> = {
        let sender = sender.clone();
        Arc::new(move || {
            // The loop may have ended before.
            let _ = sender.send(Signal::Stop);
        })
    };
    shutdown.listen(&listener);
    let is_called = Arc::new(AtomicBool::new(false));
    let hastened: Arc<HastenedListener> = {
        let (sender, is_called) = (sender.clone(), is_called.clone());
        Arc::new(move || {
            // Once for each look, however often: the signals are not to grow in number.
            if !is_called.swap(true, Ordering::SeqCst) {
                let _ = sender.send(Signal::Hastened);
            }
        })
    };
    home.registry.listen_for_hastened(&hastened);
    let mut running = Running::default();
    let outcome = loop {
        if shutdown.is_requested() {
            break Ok(());
        }
        running.forget_past();
        // Before the look: what is made due from here on may not be in what is read, and its signal stays until it is waited for one.
        is_called.store(false, Ordering::SeqCst);
        let sleep = match start_due(tasks, home, shutdown, &mut running, &sender) {
            Ok(sleep) => sleep.clamp(SHORTEST_SLEEP, look_every),
            Err(error @ EngineError::Registry(RegistryError::NewerSchema { .. })) => break Err(error),
            Err(error) => {
                Event::RegistryUnavailable { act: "run background tasks", error: &error.chain() }.emit();
                AFTER_FAILURE
            }
        };
        wait(&signals, sleep, &mut running);
    };
    shutdown.request_once();
    wait_for_runs(&mut running, &signals, shutdown);
    outcome
}

/// Waits for so long, until a run ends, or until a task was made due and the shortest sleep is over.
fn wait(signals: &Receiver<Signal>, sleep: Duration, running: &mut Running) {
    let began = Instant::now();
    let mut sleep = sleep;
    loop {
        match signals.recv_timeout(sleep.saturating_sub(began.elapsed())) {
            Ok(Signal::Hastened) => sleep = sleep.min(SHORTEST_SLEEP),
            Ok(signal) => return running.apply(&signal),
            Err(_) => return,
        }
    }
}

/// Waits for the runs that are under way, for as long as the grace time.
fn wait_for_runs(running: &mut Running, signals: &Receiver<Signal>, shutdown: &Shutdown) {
    let began = Instant::now();
    while running.under_way().next().is_some() && !shutdown.is_urgent() {
        let left = GRACE.saturating_sub(began.elapsed());
        let Ok(signal) = signals.recv_timeout(left) else { break };
        running.apply(&signal);
    }
    for name in running.under_way() {
        Event::BackgroundTaskLeft { name }.emit();
    }
}

/// Starts a thread for every task that is due and that no process runs; returns how long until the next may be.
fn start_due(
    tasks: &'static [BackgroundTask],
    home: &Arc<Home>,
    shutdown: &Shutdown,
    running: &mut Running,
    signals: &Sender<Signal>,
) -> Result<Duration, EngineError> {
    prepare(home)?;
    keep_to_settings(home)?;
    let (now, known) = now_and_schedules(&home.registry)?;
    let mut sleep = Duration::MAX;
    for task in tasks {
        if let Some(until) = running.0.get(task.name) {
            sleep = until.map_or(sleep, |until| sleep.min(until.saturating_duration_since(Instant::now())));
            continue;
        }
        let schedule = known.iter().find(|schedule| schedule.name == task.name);
        if schedule.is_some_and(|schedule| is_held(schedule, now)) {
            continue;
        }
        let wait = schedule.map_or(0, |schedule| schedule.next_run_at.0.saturating_sub(now.0)).max(0);
        if wait > 0 {
            sleep = sleep.min(Duration::from_micros(wait.unsigned_abs()));
            continue;
        }
        let ending = Ending { name: task.name, pause: Duration::ZERO, signals: signals.clone() };
        let (home, shutdown) = (home.clone(), shutdown.clone());
        let spawned = thread::Builder::new().name(format!("background {}", task.name)).spawn(move || {
            let mut ending = ending;
            if let Err(error) = run_if_due(&home, task, &shutdown) {
                ending.pause = AFTER_FAILURE;
                Event::RegistryUnavailable { act: "run a background task", error: &error.chain() }.emit();
            }
        });
        match spawned {
            Ok(_) => _ = running.0.insert(task.name, None),
            Err(error) => Event::ThreadNotStarted { name: task.name, error: &error }.emit(),
        }
    }
    Ok(sleep)
}

/// What came of running every task that was due.
#[derive(Debug)]
pub struct DueRuns {
    /// How long until the next run of any task.
    pub next_in: Duration,
    /// Why the first task failed that did; it is recorded in the task's row as well.
    pub first_failure: Option<EngineError>,
}

/// Runs every task that is due, once, one after another; returns how long until the next run of any.
pub fn run_due(home: &Home, shutdown: &Shutdown) -> Result<Duration, EngineError> {
    Ok(run_each_due(home, shutdown)?.next_in)
}

/// The same, with the first failure: that of one task keeps no other from being run.
pub fn run_each_due(home: &Home, shutdown: &Shutdown) -> Result<DueRuns, EngineError> {
    prepare(home)?;
    keep_to_settings(home)?;
    let mut first_failure = None;
    for task in &TASKS {
        if shutdown.is_requested() {
            break;
        }
        if let Some(failure) = run_if_due(home, task, shutdown)? {
            first_failure.get_or_insert(failure);
        }
    }
    let (now, known) = now_and_schedules(&home.registry)?;
    let is_ours = |schedule: &&Schedule| TASKS.iter().any(|task| task.name == schedule.name);
    let next = known.iter().filter(is_ours).map(|one| one.next_run_at).min();
    let wait = next.map_or(0, |next| next.0.saturating_sub(now.0)).max(0);
    Ok(DueRuns { next_in: Duration::from_micros(wait.unsigned_abs()), first_failure })
}

/// Runs a task where it is due and no other process runs it; why the run failed, if it did.
fn run_if_due(home: &Home, task: &BackgroundTask, shutdown: &Shutdown) -> Result<Option<EngineError>, EngineError> {
    let holder = WorkerId::this_process().to_string();
    let Some(turn) = Turn::take(&home.registry, task.name, Due::Now, &holder, LEASE)? else { return Ok(None) };
    Ok(match run_task(home, task, turn, shutdown)? {
        Run::Failed(error) => Some(error.while_trying(format!("run background task {}", task.name))),
        _ => None,
    })
}

/// Runs a task now in this process, whether it is due or not, unless another process runs it.
///
/// # Errors
/// That of the task, which is recorded as for any other run.
pub fn run_now(home: &Home, task: &BackgroundTask, shutdown: &Shutdown) -> Result<ManualRun, EngineError> {
    let holder = WorkerId::this_process().to_string();
    prepare(home)?;
    let Some(turn) = Turn::take(&home.registry, task.name, Due::AnyTime, &holder, LEASE)? else {
        let known = home.registry.read(schedules::list)?;
        let holder = known.into_iter().find(|schedule| schedule.name == task.name).and_then(|schedule| schedule.holder);
        return Ok(ManualRun::Held { holder: holder.unwrap_or_else(|| "a process that has just ended".to_owned()) });
    };
    match run_task(home, task, turn, shutdown)? {
        Run::Done { result, elapsed } => Ok(ManualRun::Done { result, elapsed }),
        Run::Failed(error) => Err(error),
        Run::Stopped => Ok(ManualRun::Stopped),
        Run::Lost(loss) => Ok(ManualRun::Lost(loss)),
    }
}

fn now_and_schedules(registry: &Registry) -> Result<(Time, Vec<Schedule>), RegistryError> {
    registry.read(|tx| Ok((tx.now()?, schedules::list(tx)?)))
}

/// What comes before any run: the tables must be as this program knows them, runs of processes of this machine that are gone are
/// free again, and no lease lasts longer than one that is given now.
fn prepare(home: &Home) -> Result<(), EngineError> {
    let known = home.registry.known_schema();
    home.registry.read(|tx| check_schema(tx, known))?;
    let is_gone = |holder: &str| holder.parse::<WorkerId>().is_ok_and(|holder| holder.is_gone());
    let (now, known) = now_and_schedules(&home.registry)?;
    let longest = i64::try_from(LEASE.as_micros()).unwrap_or(i64::MAX);
    for schedule in known {
        // Extended before `now` was read, it may last a little longer.
        if schedule.lease_until.is_some_and(|until| until > now.plus(longest).plus(CLOCK_TOLERANCE)) {
            let name = schedule.name.clone();
            home.registry.write(move |tx| {
                let until = tx.now()?.plus(longest);
                schedules::bound_lease(tx, &name, until)
            })?;
        }
        let Some(holder) = schedule.holder.filter(|holder| is_gone(holder)) else { continue };
        home.registry.write(move |tx| {
            let now = tx.now()?;
            schedules::end(tx, &schedule.name, &holder, &RunEnd::Stopped, now)
        })?;
    }
    Ok(())
}

/// Brings forward what was put off by a longer interval than the settings have now, and makes due what was recorded by a clock
/// that was ahead: when it last ran, and when it is to run next, says nothing then.
fn keep_to_settings(home: &Home) -> Result<(), EngineError> {
    let (now, known) = now_and_schedules(&home.registry)?;
    for task in &TASKS {
        let every = (task.every)(&home.settings);
        let Some(schedule) = known.iter().find(|schedule| schedule.name == task.name) else { continue };
        let mut latest = now.plus(i64::try_from(every.as_micros()).unwrap_or(i64::MAX));
        // Where a run is under way, its end is awaited.
        if !is_held(schedule, now)
            && let Some(started) = started_ahead(schedule, now)
        {
            Event::ClockWasAhead { name: task.name, time: &started }.emit();
            latest = now;
        }
        if schedule.next_run_at > latest {
            let name = task.name;
            home.registry.write(move |tx| schedules::due_by(tx, name, latest))?;
        }
    }
    Ok(())
}

/// Runs a task whose run was taken, and records how it ended.
fn run_task(home: &Home, task: &BackgroundTask, turn: Turn<'_>, shutdown: &Shutdown) -> Result<Run, EngineError> {
    let (name, every) = (task.name, (task.every)(&home.settings));
    let began = Instant::now();
    let outcome = turn.keep(LEASE / 3, shutdown, |stop| {
        catch_unwind(AssertUnwindSafe(|| (task.run)(home, stop))).unwrap_or_else(|panic| {
            let source = std::io::Error::other(format!("it panicked: {}", panic_message(panic.as_ref())));
            Err(EngineError::Io { act: "run background task", path: name.to_owned(), source })
        })
    });
    let elapsed = began.elapsed();
    if let Some(loss) = turn.loss() {
        match loss {
            Loss::TakenOver => Event::BackgroundTaskLost { name }.emit(),
            Loss::NotExtended => Event::BackgroundTaskNotExtended { name }.emit(),
        }
        return Ok(Run::Lost(loss));
    }
    match outcome {
        Ok(_) if shutdown.is_requested() => {
            Event::BackgroundTaskStopped { name }.emit();
            turn.end(RunEnd::Stopped, Duration::ZERO)?;
            Ok(Run::Stopped)
        }
        Ok(result) => {
            // Most runs have nothing to do, and say so each time.
            let known = home.registry.read(schedules::list).unwrap_or_default();
            let before =
                known.iter().find(|schedule| schedule.name == name).and_then(|schedule| schedule.result.as_ref());
            let is_news = before != Some(&result);
            Event::BackgroundTaskRan { name, outcome: &result, elapsed, is_news }.emit();
            turn.end(RunEnd::Done(result.clone()), every)?;
            Ok(Run::Done { result, elapsed })
        }
        Err(error) => {
            let text = error.chain();
            Event::BackgroundTaskFailed { name, error: &text }.emit();
            turn.end(RunEnd::Failed(text), AFTER_FAILURE.min(every))?;
            Ok(Run::Failed(error))
        }
    }
}
