//! What a queue does, as functions over an open transaction: the caller that keeps records beside the tasks calls
//! these in the transaction that changes the record, so that both are kept or neither.

mod administer;
mod enqueue;
mod lease;
mod settle;
mod take_over;
mod turns;

pub use administer::{
    KnownTasks, are_all_paused, counts, dead_of_key, delete, delete_dead_of_key, delete_key, delete_keys_with_prefix,
    empty, known, list, lock_key, of_key, paused_topics, request_cancel, retry, retry_topic, set_all_paused,
    set_paused, set_priority, show,
};
pub use enqueue::{enqueue, hasten};
pub use lease::{
    Answers, GoesOn, Locked, Outlook, QueueStatus, ReadyFilter, checkpoint, go_on, has_ready, heartbeat, is_paused,
    last_lease, lease, leased_of, lock_with_outlooks, look, pass_on, ready_keys, room,
};
pub use settle::{lock, settle};
pub use take_over::{MayTake, holders, take_over_expired, take_over_from};
pub use turns::TURNS_PER_PRIORITY;

use strongroom_database::{DatabaseError, Row, Time};

/// The states as the table holds them.
mod state {
    pub(super) const READY: i64 = 0;
    pub(super) const DELAYED: i64 = 1;
    pub(super) const LEASED: i64 = 2;
}

/// A small number out of a row.
fn small(row: &Row, column: &'static str) -> Result<u32, DatabaseError> {
    u32::try_from(row.integer(column)?).map_err(|error| DatabaseError::Column {
        column: column.into(),
        wanted: "a small count",
        found: error.to_string(),
    })
}

/// A priority out of a row.
fn priority(row: &Row, column: &'static str) -> Result<i32, DatabaseError> {
    i32::try_from(row.integer(column)?).map_err(|error| DatabaseError::Column {
        column: column.into(),
        wanted: "a priority",
        found: error.to_string(),
    })
}

/// The time a duration after `now`.
fn after(now: Time, duration: std::time::Duration) -> Time {
    now.plus(i64::try_from(duration.as_micros()).unwrap_or(i64::MAX))
}
