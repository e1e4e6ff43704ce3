//! Runs background tasks: what is due, or one by name. Whatever comes of a run is recorded in the task's row.

use std::time::{Duration, Instant};

use strongroom_queue::WorkerId;
use strongroom_registry::schedules::{self, Due, RunEnd, Schedule};
use strongroom_registry::{Registry, RegistryError, Time, check_schema};

use super::turn::Turn;
use super::{BackgroundTask, TASKS};
use crate::event::Event;
use crate::runtime::Shutdown;
use crate::settings::Settings;
use crate::{EngineError, Home};

/// After so long without a heartbeat another process may take a run over.
const LEASE: Duration = Duration::from_secs(90);
/// How soon a run that failed is repeated.
const AFTER_FAILURE: Duration = Duration::from_mins(1);
/// The longest sleep: another process may have taken a run and ended.
const LONGEST_SLEEP: Duration = Duration::from_mins(1);
/// The shortest, so that a clock that stands still costs no processor time.
const SHORTEST_SLEEP: Duration = Duration::from_millis(100);

/// A background task as it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskStatus {
    /// Its name.
    pub name: &'static str,
    /// How long after the end of a run the next one begins.
    pub every: Duration,
    /// When its last run started; that run may still be under way.
    pub last_started_at: Option<Time>,
    /// How long the last run that ended took.
    pub last_elapsed: Option<Duration>,
    /// When a run last ended well.
    pub last_run_at: Option<Time>,
    /// What that run did, in words.
    pub result: Option<String>,
    /// Why the last run failed; none where it ended well.
    pub error: Option<String>,
    /// When the first of the failures in a row was.
    pub error_since: Option<Time>,
    /// When it runs next; now, where it never ran.
    pub next_run_at: Time,
    /// The process that runs it now.
    pub holder: Option<String>,
}

impl TaskStatus {
    /// Whether a run ended well or was at least started.
    pub fn has_run(&self) -> bool {
        // Older programs did not record when a run started.
        self.last_started_at.is_some() || self.last_run_at.is_some()
    }
}

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
    /// Another process took it over, since the registry did not hear of this one for too long.
    Lost,
}

/// What became of a run that this process took.
enum Run {
    Done { result: String, elapsed: Duration },
    Failed(EngineError),
    Stopped,
    Lost,
}

/// Runs what is due whenever it is, until asked to stop. Whatever fails is repeated.
///
/// # Errors
/// [`RegistryError::NewerSchema`] where another program has brought the registry beyond what this one knows.
pub fn run(home: &Home, shutdown: &Shutdown) -> Result<(), EngineError> {
    while !shutdown.is_requested() {
        let sleep = match run_due(home, shutdown) {
            Ok(sleep) => sleep,
            Err(error @ EngineError::Registry(RegistryError::NewerSchema { .. })) => return Err(error),
            Err(error) => {
                Event::RegistryUnavailable { act: "run background tasks", error: &error.chain() }.emit();
                AFTER_FAILURE
            }
        };
        if shutdown.wait(sleep.clamp(SHORTEST_SLEEP, LONGEST_SLEEP)) {
            return Ok(());
        }
    }
    Ok(())
}

/// What came of running every task that was due.
#[derive(Debug)]
pub struct DueRuns {
    /// How long until the next run of any task.
    pub next_in: Duration,
    /// Why the first task failed that did; it is recorded in the task's row as well.
    pub first_failure: Option<EngineError>,
}

/// Runs every task that is due, once; returns how long until the next run of any.
pub fn run_due(home: &Home, shutdown: &Shutdown) -> Result<Duration, EngineError> {
    Ok(run_each_due(home, shutdown)?.next_in)
}

/// The same, with the first failure: that of one task keeps no other from being run.
pub fn run_each_due(home: &Home, shutdown: &Shutdown) -> Result<DueRuns, EngineError> {
    let holder = WorkerId::this_process().to_string();
    prepare(home)?;
    keep_to_settings(home)?;
    let mut first_failure = None;
    for task in &TASKS {
        if shutdown.is_requested() {
            break;
        }
        let Some(turn) = Turn::take(&home.registry, task.name, Due::Now, &holder, LEASE)? else { continue };
        if let Run::Failed(error) = run_task(home, task, turn, shutdown)? {
            first_failure.get_or_insert(error.while_trying(format!("run background task {}", task.name)));
        }
    }
    let (now, known) = now_and_schedules(&home.registry)?;
    let is_ours = |schedule: &&Schedule| TASKS.iter().any(|task| task.name == schedule.name);
    let next = known.iter().filter(is_ours).map(|one| one.next_run_at).min();
    let wait = next.map_or(0, |next| next.0.saturating_sub(now.0)).max(0);
    Ok(DueRuns { next_in: Duration::from_micros(wait.unsigned_abs()), first_failure })
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
        Run::Lost => Ok(ManualRun::Lost),
    }
}

/// Every background task with its last run and its next, by name.
pub fn list(settings: &Settings, registry: &Registry) -> Result<Vec<TaskStatus>, EngineError> {
    let (now, known) = now_and_schedules(registry)?;
    let status = |task: &BackgroundTask| {
        let schedule = known.iter().find(|schedule| schedule.name == task.name).cloned();
        let is_held = schedule.as_ref().is_some_and(|one| one.lease_until.is_some_and(|until| until > now));
        let every = (task.every)(settings);
        match schedule {
            Some(one) => TaskStatus {
                name: task.name,
                every,
                last_started_at: one.last_started_at,
                last_elapsed: one.last_elapsed.map(Duration::from_micros),
                last_run_at: one.last_run_at,
                result: one.result,
                error: one.error,
                error_since: one.error_since,
                next_run_at: one.next_run_at,
                holder: one.holder.filter(|_| is_held),
            },
            None => TaskStatus {
                name: task.name,
                every,
                last_started_at: None,
                last_elapsed: None,
                last_run_at: None,
                result: None,
                error: None,
                error_since: None,
                next_run_at: now,
                holder: None,
            },
        }
    };
    Ok(TASKS.iter().map(status).collect())
}

fn now_and_schedules(registry: &Registry) -> Result<(Time, Vec<Schedule>), RegistryError> {
    registry.read(|tx| Ok((tx.now()?, schedules::list(tx)?)))
}

/// What comes before any run: the tables must be as this program knows them, and runs of processes of this machine that are
/// gone are free again.
fn prepare(home: &Home) -> Result<(), EngineError> {
    let known = home.registry.known_schema();
    home.registry.read(|tx| check_schema(tx, known))?;
    let is_gone = |holder: &str| holder.parse::<WorkerId>().is_ok_and(|holder| holder.is_gone());
    for schedule in home.registry.read(schedules::list)? {
        let Some(holder) = schedule.holder.filter(|holder| is_gone(holder)) else { continue };
        home.registry.write(move |tx| {
            let now = tx.now()?;
            schedules::end(tx, &schedule.name, &holder, &RunEnd::Stopped, now)
        })?;
    }
    Ok(())
}

/// Brings forward what was put off by a longer interval than the settings have now.
fn keep_to_settings(home: &Home) -> Result<(), EngineError> {
    let (now, known) = now_and_schedules(&home.registry)?;
    for task in &TASKS {
        let every = (task.every)(&home.settings);
        let latest = now.plus(i64::try_from(every.as_micros()).unwrap_or(i64::MAX));
        if known.iter().any(|schedule| schedule.name == task.name && schedule.next_run_at > latest) {
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
    let outcome = turn.keep(LEASE / 3, shutdown, |stop| (task.run)(home, stop));
    let elapsed = began.elapsed();
    if turn.is_lost() {
        Event::BackgroundTaskLost { name }.emit();
        return Ok(Run::Lost);
    }
    match outcome {
        Ok(_) if shutdown.is_requested() => {
            turn.end(RunEnd::Stopped, Duration::ZERO)?;
            Ok(Run::Stopped)
        }
        Ok(result) => {
            Event::BackgroundTaskRan { name, outcome: &result, elapsed }.emit();
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
