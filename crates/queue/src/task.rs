//! The words of a queue: tasks, leases, and what is asked and answered about them.

use std::collections::HashSet;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use strongroom_database::Time;
use uuid::Uuid;

use crate::{QueueError, WorkerId};

/// A task's number: given once, never used again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct TaskId(pub i64);

impl fmt::Display for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The right to work on a task, and the fence against those who had it before: a lease that is no longer the latest
/// changes nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Lease {
    /// The task.
    pub task: TaskId,
    /// How often the task has been leased, this time included; it only rises.
    pub attempt: u32,
}

/// A task to be put into a topic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewTask {
    /// The topic it goes to.
    pub topic: String,
    /// What it is about. At most one task of a topic and key is waiting at any time.
    pub key: String,
    /// The work item that it is a stage of; none for a task that stands for itself.
    pub item: Option<Uuid>,
    /// What the worker needs to know; the queue does not look inside. A few hundred bytes are well placed here.
    pub payload: Vec<u8>,
    /// Lower goes first; see [`TURNS_PER_PRIORITY`](crate::tasks::TURNS_PER_PRIORITY) for how much.
    pub priority: i32,
    /// Whose it is, usually the institution: those with the same priority take turns.
    pub fair_key: String,
    /// It is not leased before this time; none means at once.
    pub not_before: Option<Time>,
    /// How many attempts it has before it is buried; at least one.
    pub max_attempts: u32,
}

impl NewTask {
    /// A task of priority 0 with three attempts, of no group, to be done at once.
    pub fn new(topic: impl Into<String>, key: impl Into<String>, payload: impl Into<Vec<u8>>) -> Self {
        Self {
            topic: topic.into(),
            key: key.into(),
            item: None,
            payload: payload.into(),
            priority: 0,
            fair_key: String::new(),
            not_before: None,
            max_attempts: 3,
        }
    }
}

/// What became of a task that was enqueued.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Enqueued {
    /// It waits as a task of its own.
    Created(TaskId),
    /// One of its topic and key was waiting already and does for both; it has been brought forward to the earlier time
    /// and the lower priority of the two.
    Existing(TaskId),
    /// One of its topic and key is being worked on; when that one is done, it is made ready once more.
    MarkedAgain(TaskId),
}

impl Enqueued {
    /// The task that stands for what was enqueued.
    pub fn task(self) -> TaskId {
        match self {
            Self::Created(task) | Self::Existing(task) | Self::MarkedAgain(task) => task,
        }
    }
}

/// A wish for work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeaseRequest {
    /// The topics, the preferred one first: a later one is inspected when the earlier ones have no more.
    pub topics: Vec<String>,
    /// Only tasks of these keys; none means of any.
    pub keys: Option<Arc<HashSet<String>>>,
    /// The most tasks to lease.
    pub limit: usize,
    /// Who will hold them.
    pub holder: WorkerId,
    /// For how long, counted from the transaction's time.
    pub duration: Duration,
}

/// A task that was leased.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leased {
    /// The lease.
    pub lease: Lease,
    /// Its topic.
    pub topic: String,
    /// Its key.
    pub key: String,
    /// See [`NewTask::item`].
    pub item: Option<Uuid>,
    /// Its payload.
    pub payload: Vec<u8>,
    /// Its priority.
    pub priority: i32,
    /// Whose it is.
    pub fair_key: String,
    /// How many of `max_attempts` are spent, this one included.
    pub spent: u32,
    /// How many attempts it has in all.
    pub max_attempts: u32,
    /// Until when no other worker may take it over.
    pub lease_until: Time,
    /// When it was enqueued.
    pub enqueued_at: Time,
    /// Why the attempt before this one did not finish it, where it said so.
    pub reason: Option<String>,
}

/// The answer to a sign of life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Heartbeat {
    /// The lease holds until this time.
    Held(Time),
    /// The lease holds until this time, and the holder is asked to stop.
    CancelRequested(Time),
    /// The lease is not the latest one any more: stop, and write nothing.
    Lost,
}

/// How the work on a task ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It is done; the task goes.
    Done,
    /// It failed and may succeed later. Where the attempts are spent, it is buried with this reason.
    RetryAt {
        /// Not before this time.
        at: Time,
        /// What went wrong.
        reason: String,
    },
    /// It has to wait, which is no failure: the attempt is returned.
    Defer(Time),
    /// It cannot succeed; it is buried with this reason.
    Dead {
        /// What went wrong.
        reason: String,
    },
    /// It was not begun, or stopped at a checkpoint: another process may take it at once, the attempt is returned.
    Release,
}

/// The end of a lease.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settlement {
    /// The lease.
    pub lease: Lease,
    /// How the work ended.
    pub outcome: Outcome,
}

/// What became of a settlement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Settled {
    /// It was carried out.
    Ok,
    /// It asked for a retry, but the attempts are spent: the task is buried.
    Buried,
    /// The lease was not the latest one any more; nothing was changed.
    Lost,
}

/// A task that was taken away from a holder who let its lease run out, or is gone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TakenOver {
    /// The lease that is lost.
    pub lease: Lease,
    /// The task's topic.
    pub topic: String,
    /// The task's key.
    pub key: String,
    /// See [`NewTask::item`].
    pub item: Option<Uuid>,
    /// The task's payload.
    pub payload: Vec<u8>,
    /// Who had it.
    pub holder: String,
    /// Why it was buried; none where it is ready again.
    pub buried: Option<String>,
}

/// Where a task stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskState {
    /// It waits for a worker.
    Ready,
    /// It waits for its time.
    Delayed,
    /// A worker works on it.
    Leased,
    /// It failed for good and waits for a person.
    Dead,
}

impl fmt::Display for TaskState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Ready => "ready",
            Self::Delayed => "delayed",
            Self::Leased => "leased",
            Self::Dead => "dead",
        })
    }
}

/// How many tasks a topic has.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct TopicCounts {
    /// The topic.
    pub topic: String,
    /// Tasks that could be leased now, were the topic not paused.
    pub ready: u64,
    /// Tasks whose time has not come.
    pub delayed: u64,
    /// Tasks under lease.
    pub leased: u64,
    /// Buried tasks.
    pub dead: u64,
    /// For how long the oldest ready task has been ready; none where none is.
    pub oldest_ready_seconds: Option<u64>,
    /// Whether leasing is stopped.
    pub paused: bool,
}

/// A task as people see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskRecord {
    /// Its number.
    pub task: TaskId,
    /// Its topic.
    pub topic: String,
    /// Its key.
    pub key: String,
    /// See [`NewTask::item`].
    pub item: Option<Uuid>,
    /// Where it stands.
    pub state: TaskState,
    /// Its priority.
    pub priority: i32,
    /// Whose it is.
    pub fair_key: String,
    /// Ready: since when. Delayed: until when. Dead: since when. Leased: since when it had been ready.
    pub ready_at: Time,
    /// How often it was leased.
    pub attempt: u32,
    /// How many attempts count.
    pub spent: u32,
    /// How many attempts it has.
    pub max_attempts: u32,
    /// Who works on it, or who had it when it was buried.
    pub holder: Option<String>,
    /// Until when no other worker may take it over.
    pub lease_until: Option<Time>,
    /// Whether its holder is asked to stop.
    pub cancel_requested: bool,
    /// When it was enqueued.
    pub enqueued_at: Time,
    /// Why it was buried or is to be tried again.
    pub reason: Option<String>,
    /// Whether it is wanted once more when done.
    pub again: bool,
    /// Its payload.
    pub payload: Vec<u8>,
}

/// The place behind the last task of a page. Its text may be handed out and parsed again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cursor {
    pub(crate) part: i64,
    pub(crate) order: i64,
    pub(crate) time: i64,
    pub(crate) task: i64,
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}.{}", self.part, self.order, self.time, self.task)
    }
}

impl FromStr for Cursor {
    type Err = QueueError;

    fn from_str(text: &str) -> Result<Self, QueueError> {
        let wrong = || QueueError::Cursor(text.to_owned());
        let mut numbers = text.split('.').map(str::parse::<i64>);
        let mut next = || numbers.next().and_then(Result::ok).ok_or_else(wrong);
        let cursor = Self { part: next()?, order: next()?, time: next()?, task: next()? };
        if numbers.next().is_some() { Err(wrong()) } else { Ok(cursor) }
    }
}

/// Some tasks of a topic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// The tasks.
    pub tasks: Vec<TaskRecord>,
    /// Where the next page begins; none at the end.
    pub next: Option<Cursor>,
}
