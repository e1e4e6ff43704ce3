//! The worker runtime: leases tasks from the registry's queue, runs each on a pooled thread, keeps the leases alive, ends
//! every task in one transaction, and drains when asked to stop. It knows no job of the system: those are [`Handler`]s.
//!
//! Rules it keeps. A task runs only while its lease holds by a clock that never goes back. What a handler does wrong,
//! a panic too, costs that attempt and nothing else. An end that is reported late meets the fence and changes nothing.
//! Nothing waits for a poll that a finished task could announce, and everything still works by polling alone.

mod backoff;
mod clock;
mod context;
mod settings;
mod shutdown;

use std::sync::Arc;

use strongroom_queue::tasks::Outcome;
use strongroom_registry::work::{Assignment, StageEnd};

pub use backoff::retry_delay;
pub use clock::{BootClock, MonotonicClock};
pub use context::{Interrupted, TaskContext};
pub use settings::{PoolSettings, Pools};
pub use shutdown::Shutdown;

/// Does the tasks of one topic. It may be called for several tasks at once, from as many threads.
pub trait Handler: Send + Sync {
    /// The topic, such as `ingest.fetch`.
    fn topic(&self) -> &str;

    /// Does one task and says how it ended. The task may have been done before, in part or whole: a repeat does only what
    /// is missing. Calls [`TaskContext::check`] at least once a second of work and stops where that fails.
    fn run(&self, assignment: &Assignment, context: &TaskContext) -> TaskEnd;
}

/// How a task ended.
#[derive(Debug)]
pub enum TaskEnd {
    /// For a task that is a stage of a work item.
    Stage(StageEnd),
    /// For any other task.
    Task(Outcome),
}

impl From<StageEnd> for TaskEnd {
    fn from(end: StageEnd) -> Self {
        Self::Stage(end)
    }
}

impl From<Outcome> for TaskEnd {
    fn from(outcome: Outcome) -> Self {
        Self::Task(outcome)
    }
}

/// Handlers by topic, as the runtime takes them.
pub type Handlers = Vec<Arc<dyn Handler>>;
