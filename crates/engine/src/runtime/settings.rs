//! How much of a topic one process takes on, and how long it may take: the `[workers."<topic>"]` tables.

use std::collections::BTreeMap;
use std::time::Duration;

/// The settings of one topic's pool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PoolSettings {
    /// Tasks worked on at once.
    pub workers: usize,
    /// Tasks leased beyond those being worked on.
    pub prefetch: usize,
    /// Tasks that all processes together have at once; 0: as many as there are slots for.
    pub max_total: usize,
    /// Attempts that may go wrong before the work item fails, or the task is buried.
    pub max_attempts: u32,
    /// How long a task stays ours without a heartbeat.
    pub lease: Duration,
    /// How long a running task may take to reach a checkpoint once the process is asked to stop.
    pub shutdown_timeout: Duration,
    /// After how long a task that is ready is leased although topics that go before its own have tasks to lease; zero: never.
    pub aged_after: Duration,
}

impl Default for PoolSettings {
    fn default() -> Self {
        Self {
            workers: 2,
            prefetch: 0,
            max_total: 0,
            max_attempts: 3,
            lease: Duration::from_mins(1),
            shutdown_timeout: Duration::from_secs(30),
            aged_after: Duration::ZERO,
        }
    }
}

impl PoolSettings {
    /// The same, with what would never work made to work: at least one worker and one attempt, and a lease of at least a
    /// second.
    #[must_use]
    pub fn workable(mut self) -> Self {
        self.workers = self.workers.max(1);
        self.max_attempts = self.max_attempts.max(1);
        self.lease = self.lease.max(Duration::from_secs(1));
        self
    }

    /// The lease in microseconds, as the queue counts it.
    pub fn lease_microseconds(&self) -> i64 {
        i64::try_from(self.lease.as_micros()).unwrap_or(i64::MAX)
    }
}

/// The name that stands for all topics that are not named.
pub const DEFAULT_TOPIC: &str = "default";

/// The pools' settings by topic; a topic that is not named has those of [`DEFAULT_TOPIC`], or where that is not named, the
/// defaults.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pools(pub BTreeMap<String, PoolSettings>);

impl Pools {
    /// The settings of a topic.
    pub fn of(&self, topic: &str) -> PoolSettings {
        self.0.get(topic).or_else(|| self.0.get(DEFAULT_TOPIC)).cloned().unwrap_or_default().workable()
    }
}
