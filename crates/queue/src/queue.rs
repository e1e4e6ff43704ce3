//! A queue as its users see it, whatever engine keeps the tasks.

use std::time::{Duration, Instant};

use crate::{
    Cursor, Enqueued, Heartbeat, Lease, LeaseRequest, Leased, NewTask, Page, QueueError, Settled, Settlement,
    TakenOver, TaskId, TaskRecord, TaskState, TopicCounts,
};

/// A task queue. Every call blocks, is one atomic change unless it says otherwise, and is durable when it returns. The rules
/// are those of the conformance suite, which every engine passes.
pub trait Queue: Send + Sync {
    /// See [`crate::tasks::enqueue`].
    fn enqueue(&self, tasks: &[NewTask]) -> Result<Vec<Enqueued>, QueueError>;

    /// See [`crate::tasks::lease`].
    fn lease(&self, request: &LeaseRequest) -> Result<Vec<Leased>, QueueError>;

    /// See [`crate::tasks::heartbeat`].
    fn heartbeat(&self, leases: &[Lease], duration: Duration) -> Result<Vec<Heartbeat>, QueueError>;

    /// See [`crate::tasks::checkpoint`].
    fn checkpoint(&self, lease: Lease) -> Result<bool, QueueError>;

    /// See [`crate::tasks::settle`].
    fn settle(&self, settlements: &[Settlement]) -> Result<Vec<Settled>, QueueError>;

    /// See [`crate::tasks::take_over_expired`].
    fn take_over_expired(&self, limit: usize) -> Result<Vec<TakenOver>, QueueError>;

    /// Takes over the tasks of every holder whose process ran on this host and has ended; one transaction for each holder.
    fn take_over_gone(&self, limit: usize) -> Result<Vec<TakenOver>, QueueError>;

    /// Waits until one of `topics` may have something to lease: true; false at the deadline, or when waiting is
    /// interrupted. It is a hint: another process may be faster.
    fn wait_for_work(&self, topics: &[String], deadline: Instant) -> Result<bool, QueueError>;

    /// See [`crate::tasks::counts`].
    fn counts(&self) -> Result<Vec<TopicCounts>, QueueError>;

    /// See [`crate::tasks::set_paused`].
    fn set_paused(&self, topic: &str, paused: bool) -> Result<(), QueueError>;

    /// Deletes every waiting task of a topic, in several transactions; how many. See [`crate::tasks::empty`].
    fn empty(&self, topic: &str) -> Result<u64, QueueError>;

    /// See [`crate::tasks::delete`].
    fn delete(&self, task: TaskId) -> Result<bool, QueueError>;

    /// See [`crate::tasks::delete_key`].
    fn delete_key(&self, key: &str) -> Result<u64, QueueError>;

    /// As [`crate::tasks::delete_keys_with_prefix`], in several transactions.
    fn delete_keys_with_prefix(&self, prefix: &str) -> Result<u64, QueueError>;

    /// See [`crate::tasks::request_cancel`].
    fn request_cancel(&self, key: &str) -> Result<u64, QueueError>;

    /// See [`crate::tasks::retry`].
    fn retry(&self, task: TaskId) -> Result<bool, QueueError>;

    /// Retries every dead task of a topic, in several transactions; how many. See [`crate::tasks::retry_topic`].
    fn retry_topic(&self, topic: &str) -> Result<u64, QueueError>;

    /// See [`crate::tasks::show`].
    fn show(&self, task: TaskId) -> Result<Option<TaskRecord>, QueueError>;

    /// See [`crate::tasks::of_key`].
    fn of_key(&self, key: &str) -> Result<Vec<TaskRecord>, QueueError>;

    /// See [`crate::tasks::list`].
    fn list(&self, topic: &str, state: TaskState, after: Option<Cursor>, limit: usize) -> Result<Page, QueueError>;
}
