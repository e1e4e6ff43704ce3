//! What a running task is given: whether to go on, who holds it, and the ends that every handler needs.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::time::Duration;

use jiff::Timestamp;
use strongroom_digest::Progress;
use strongroom_queue::Outcome;
use strongroom_registry::work::{self, Assignment, Claim, StageEnd};
use strongroom_registry::{Registry, RegistryError, Time};

use super::clock::MonotonicClock;
use super::{PoolSettings, TaskEnd, retry_delay};

/// Why a task must stop before it is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Interrupted {
    /// The process is asked to stop: reach a checkpoint and give the task back.
    #[error("the worker is shutting down")]
    Draining,
    /// A person asked that the work item stop.
    #[error("a person asked to stop")]
    StopRequested,
    /// Another worker may have the task by now: write nothing more.
    #[error("the lease ran out or was taken over")]
    LeaseLost,
}

impl Interrupted {
    /// The end of a stage that stopped for this reason: the attempt is returned, and a person's wish is carried out.
    pub fn stage_end(self) -> StageEnd {
        StageEnd::Released { note: self.to_string() }
    }
}

impl From<Interrupted> for TaskEnd {
    /// The end of a task, stage or not, that stopped for this reason.
    fn from(reason: Interrupted) -> Self {
        reason.stage_end().into()
    }
}

/// What the runtime signals to a task while it runs. Reasons only grow more urgent.
#[derive(Debug)]
pub(super) struct Signal {
    reason: AtomicU8,
    /// Until when the lease surely holds, in microseconds of the monotonic clock.
    safe_until: AtomicU64,
}

const GO_ON: u8 = 0;
const DRAINING: u8 = 1;
const STOP_REQUESTED: u8 = 2;
const LEASE_LOST: u8 = 3;

impl Signal {
    pub(super) fn new(safe_until: Duration) -> Self {
        Self { reason: AtomicU8::new(GO_ON), safe_until: AtomicU64::new(microseconds(safe_until)) }
    }

    /// Interrupts the task; a reason less urgent than the present one changes nothing.
    pub(super) fn interrupt(&self, reason: Interrupted) {
        let level = match reason {
            Interrupted::Draining => DRAINING,
            Interrupted::StopRequested => STOP_REQUESTED,
            Interrupted::LeaseLost => LEASE_LOST,
        };
        self.reason.fetch_max(level, Ordering::SeqCst);
    }

    /// The lease was extended.
    pub(super) fn extend(&self, safe_until: Duration) {
        self.safe_until.fetch_max(microseconds(safe_until), Ordering::SeqCst);
    }

    /// Whether the lease can no longer be relied on at `now`.
    pub(super) fn is_lost(&self, now: Duration) -> bool {
        self.reason.load(Ordering::SeqCst) == LEASE_LOST || microseconds(now) >= self.safe_until.load(Ordering::SeqCst)
    }

    fn check(&self, now: Duration) -> Result<(), Interrupted> {
        if self.is_lost(now) {
            // It stays lost: a heartbeat that succeeds later says nothing about what was done in between.
            self.interrupt(Interrupted::LeaseLost);
            return Err(Interrupted::LeaseLost);
        }
        match self.reason.load(Ordering::SeqCst) {
            GO_ON => Ok(()),
            DRAINING => Err(Interrupted::Draining),
            STOP_REQUESTED => Err(Interrupted::StopRequested),
            _ => Err(Interrupted::LeaseLost),
        }
    }
}

fn microseconds(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

/// Given to a running task.
#[derive(Clone)]
pub struct TaskContext {
    pub(super) registry: Registry,
    pub(super) holder: Arc<str>,
    pub(super) settings: Arc<PoolSettings>,
    pub(super) signal: Arc<Signal>,
    pub(super) clock: Arc<dyn MonotonicClock>,
    pub(super) progress: Progress,
}

impl TaskContext {
    /// A context that is never interrupted, for running a handler without a runtime.
    pub fn uninterrupted(registry: Registry, holder: &str) -> Self {
        Self {
            registry,
            holder: holder.into(),
            settings: Arc::new(PoolSettings::default()),
            signal: Arc::new(Signal::new(Duration::MAX)),
            clock: Arc::new(super::clock::BootClock),
            progress: Progress::default(),
        }
    }

    /// Whether to go on. Cheap: call it between files and between chunks, at least once a second of work.
    ///
    /// # Errors
    /// Why to stop: reach a checkpoint and return [`Interrupted::stage_end`]; with [`Interrupted::LeaseLost`], write
    /// nothing more.
    pub fn check(&self) -> Result<(), Interrupted> {
        self.signal.check(self.clock.now())
    }

    /// Whether the task is still ours, also where a stop is requested: for steps that are always completed.
    pub fn check_lease(&self) -> Result<(), Interrupted> {
        match self.check() {
            Err(Interrupted::LeaseLost) => Err(Interrupted::LeaseLost),
            _ => Ok(()),
        }
    }

    /// Who holds the task, as records name it.
    pub fn holder(&self) -> &str {
        &self.holder
    }

    /// The settings of the task's topic.
    pub fn settings(&self) -> &PoolSettings {
        &self.settings
    }

    /// Counts what the task reads, in this process alone.
    pub(crate) fn counts(&self) -> &Progress {
        &self.progress
    }

    /// Shows people how far the stage is, as the item's note. A write transaction of its own: every few seconds, not for
    /// every file.
    pub fn progress(&self, claim: &Claim, note: &str) -> Result<(), RegistryError> {
        let (claim, note) = (claim.clone(), note.to_owned());
        self.registry.write(move |tx| work::set_note(tx, &claim, &note))
    }

    /// The registry's time `after` from now.
    pub fn time_after(&self, after: Duration) -> Time {
        let now = self.registry.read(|tx| tx.now().map_err(RegistryError::from));
        let now = now.unwrap_or_else(|_| Timestamp::now().into());
        now.plus(i64::try_from(after.as_micros()).unwrap_or(i64::MAX))
    }

    /// The end of a task that went wrong in a way that may pass: again later, until its attempts are spent.
    pub fn transient(&self, assignment: &Assignment, note: impl Into<String>) -> TaskEnd {
        let note = note.into();
        let retry_at = self.time_after(retry_delay(assignment.task.spent.into()));
        if assignment.claimed.is_some() {
            StageEnd::Transient { retry_at, max_attempts: self.settings.max_attempts, note }.into()
        } else {
            Outcome::RetryAt { at: retry_at, reason: note }.into()
        }
    }
}
