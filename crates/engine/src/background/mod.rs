//! Background tasks: what is done every so often, by whichever process comes first. One file each, with the task's name, its
//! interval and a function; [`TASKS`] lists them, `driver.rs` runs them, `listing.rs` shows them.
//!
//! The rules that every task keeps:
//!
//! 1. It compares what should be with what is, and does or enqueues what is missing. It does not rely on its last run: a
//!    repeated run, and one that was killed at any moment, do no harm.
//! 2. One process at a time runs it, by a lease on its row in the table of schedules, which a heartbeat extends (`turn.rs`).
//!    A process that lost the lease may still be at work for a moment, so a second run beside it must do no harm either.
//! 3. It returns between two objects, rows or files when it is asked to stop. The next run does the rest.
//! 4. One object, store or message that fails keeps nothing else from being done. The failures together are the error of the run
//!    (`Failures` of `error.rs`), unless each is recorded where it happened and shown there.
//! 5. It returns what it did in words, with counts, for people.
//! 6. Its memory does not grow with what it compares: it reads pages.

mod activities;
pub(crate) mod audit;
mod catalogue;
mod deletions;
mod driver;
pub(crate) mod duplication;
pub(crate) mod fixity;
pub(crate) mod holds;
mod listing;
mod logs;
pub(crate) mod outbox;
mod placements;
mod problems;
mod receiving;
mod restoration;
mod retention;
mod spot_tests;
pub(crate) mod staging;
mod statistics;
mod turn;
mod uploads;

use std::time::Duration;

pub use driver::{DueRuns, LOOK_EVERY, ManualRun, run, run_due, run_each_due, run_now, run_tasks};
pub use listing::{TaskStatus, list};
pub use turn::Loss;

use crate::runtime::Shutdown;
use crate::settings::Settings;
use crate::{EngineError, Home};

/// A background task.
#[derive(Debug, Clone, Copy)]
pub struct BackgroundTask {
    /// Its name, which is that of its row in the table of schedules.
    pub name: &'static str,
    /// How long after the end of a run the next one begins.
    pub every: fn(&Settings) -> Duration,
    /// One run; returns what it did, in words.
    pub run: fn(&Home, &Shutdown) -> Result<String, EngineError>,
}

/// Every background task, by name.
pub const TASKS: [BackgroundTask; 18] = [
    activities::TASK,
    audit::TASK,
    catalogue::TASK,
    deletions::TASK,
    duplication::TASK,
    fixity::TASK,
    holds::TASK,
    logs::TASK,
    outbox::TASK,
    placements::TASK,
    problems::TASK,
    receiving::TASK,
    restoration::TASK,
    retention::TASK,
    spot_tests::TASK,
    staging::TASK,
    statistics::TASK,
    uploads::TASK,
];
