//! Background tasks as people see them: their last run, their next, and what is not as it should be.

use std::time::Duration;

use strongroom_database::CLOCK_TOLERANCE;
use strongroom_registry::schedules::{self, Schedule};
use strongroom_registry::{Registry, RegistryError, Time};

use super::{BackgroundTask, TASKS};
use crate::EngineError;
use crate::settings::Settings;

/// A task that is due for so many microseconds, and that no process runs, is overdue.
const OVERDUE: i64 = 3_600_000_000;
/// A task that is due for so many microseconds, while no process runs it, is late.
const LATE: i64 = 60_000_000;

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
    /// Whether it has been due for an hour, and no process runs it.
    pub is_overdue: bool,
    /// Whether it has been due for a minute, and no process runs it.
    pub is_late: bool,
    /// The start of its last run, where that lies ahead: the clock of the registry was ahead then.
    pub started_ahead: Option<Time>,
}

impl TaskStatus {
    /// Whether a run ended well or was at least started.
    pub fn has_run(&self) -> bool {
        // Older programs did not record when a run started.
        self.last_started_at.is_some() || self.last_run_at.is_some()
    }

    /// Since when the run that is under way has been.
    pub fn running_since(&self) -> Option<Time> {
        self.last_started_at.filter(|_| self.holder.is_some())
    }
}

/// Every background task with its last run and its next, by name.
pub fn list(settings: &Settings, registry: &Registry) -> Result<Vec<TaskStatus>, EngineError> {
    let (now, known, due_since) =
        registry.read(|tx| Ok::<_, RegistryError>((tx.now()?, schedules::list(tx)?, schedules::due_since(tx)?)))?;
    let status = |task: &BackgroundTask| {
        let schedule = known.iter().find(|schedule| schedule.name == task.name).cloned();
        let due_at = schedule.as_ref().map(|one| one.next_run_at).or(due_since).unwrap_or(now);
        let is_held = schedule.as_ref().is_some_and(|one| is_held(one, now));
        let is_overdue = !is_held && due_at < now.plus(-OVERDUE);
        let is_late = !is_held && due_at < now.plus(-LATE);
        let every = (task.every)(settings);
        match schedule {
            Some(one) => TaskStatus {
                name: task.name,
                every,
                started_ahead: started_ahead(&one, now),
                last_started_at: one.last_started_at,
                last_elapsed: one.last_elapsed.map(Duration::from_micros),
                last_run_at: one.last_run_at,
                result: one.result,
                error: one.error,
                error_since: one.error_since,
                next_run_at: one.next_run_at,
                holder: one.holder.filter(|_| is_held),
                is_overdue,
                is_late,
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
                is_overdue,
                is_late,
                started_ahead: None,
            },
        }
    };
    Ok(TASKS.iter().map(status).collect())
}

/// Whether a process has the run of a task.
pub(super) fn is_held(schedule: &Schedule, now: Time) -> bool {
    schedule.holder.is_some() && schedule.lease_until.is_some_and(|until| until > now)
}

/// The start of the last run, where it lies ahead of `now`: its row was written while the clock was ahead.
pub(super) fn started_ahead(schedule: &Schedule, now: Time) -> Option<Time> {
    schedule.last_started_at.filter(|started| *started > now.plus(CLOCK_TOLERANCE))
}
