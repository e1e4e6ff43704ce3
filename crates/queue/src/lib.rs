//! What a task queue is: topics, leases, retries, dead letters.
//!
//! A task is a cheap, repeatable message in a topic; it may be delivered more than once and is forgotten when done. The
//! functions in [`tasks`] work within a caller's transaction, so that a record and its next task change together; [`Queue`]
//! is the same behind a trait, for users who need no transaction of their own, and for engines that are no database.

#[cfg(feature = "conformance")]
pub mod conformance;
mod database_queue;
mod error;
mod queue;
mod schema;
mod task;
pub mod tasks;
mod wakeups;
mod worker_id;

pub use database_queue::DatabaseQueue;
pub use error::QueueError;
pub use queue::Queue;
pub use schema::{schema, statements};
pub use task::{
    Cursor, Enqueued, Heartbeat, Lease, LeaseRequest, Leased, NewTask, Outcome, Page, Settled, Settlement, TakenOver,
    TaskId, TaskRecord, TaskState, TopicCounts,
};
pub use wakeups::{Registered, Waited, Wakeups};
pub use worker_id::{Liveness, WorkerId};
