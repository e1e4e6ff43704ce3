//! Operations on record lists within a caller's transaction; one implementation for all dialects. In PostgreSQL they may run at
//! `READ COMMITTED`: they lock what they decide by, in the order that the header of the crate states.

mod administration;
mod chunks;
mod claims;
mod copying;
mod fresh;
mod population;

pub use administration::{being_removed, cancel_rest, outcome, page, remove, remove_records, retry_failed, status};
pub use chunks::{extend, finish, return_expired, return_of_worker};
pub use claims::claim;
pub use copying::add_from;
pub use population::{
    add, add_new, complete, create, extend_population, find, release_population, reopen, supersede, take_population,
};

use std::time::Duration;

use strongroom_database::{DatabaseError, Statement, Time, Transaction, Value};
use uuid::Uuid;

use crate::{ListId, RecordsError};

/// The most records of one claim, one addition or one page.
pub const MOST_RECORDS: usize = 10_000;
/// The most bytes of a record id or a result: they are part of an index, whose entries PostgreSQL limits to some 2,700 bytes.
pub const LONGEST_ID: usize = 2_048;
/// The most bytes of a worker's name.
const LONGEST_WORKER: usize = 512;
/// The most bytes of the cursor of a population: resumption tokens can be long.
const LONGEST_CURSOR: usize = 1 << 20;
/// Longer errors are cut, in characters.
const LONGEST_ERROR: usize = 2_000;

/// The slots of a list. With so many, two of eight workers seldom wait for one another, and the sum of their rows is still cheap.
const SLOTS: i64 = 16;

/// How `record_states.state` has the states.
mod state {
    pub(super) const TODO: i64 = 0;
    pub(super) const PROCESSED: i64 = 2;
    pub(super) const FAILED: i64 = 3;
    pub(super) const CANCELLED: i64 = 4;
}

/// Where what was never claimed stands in the order of what is to be processed: behind what came back (0), and before what waits for a time
/// (the time).
const NEVER_CLAIMED: i64 = 1;

/// Changes of the counts of a list.
#[derive(Debug, Clone, Copy, Default)]
struct Delta {
    todo: i64,
    processing: i64,
    processed: i64,
    failed: i64,
    cancelled: i64,
    /// Numbers that were taken from the sequence of the slot.
    taken: i64,
}

/// Changes the counts of a slot, which stays locked until the transaction ends.
fn count(tx: &mut dyn Transaction, list: ListId, slot: i64, delta: Delta) -> Result<(), RecordsError> {
    let Delta { todo, processing, processed, failed, cancelled, taken } = delta;
    let changes = [todo, processing, processed, failed, cancelled, taken].map(Value::Integer);
    let values: Vec<Value> = [list.into(), slot.into()].into_iter().chain(changes).collect();
    // Where the slot is gone, the list is being removed.
    if tx.execute(Statement("records_count"), &values)? == 1 { Ok(()) } else { Err(RecordsError::NoList(list)) }
}

/// A slot for something that is done once: which one does not matter, so that those of different workers seldom meet.
fn slot_for(id: Uuid) -> i64 {
    // The last byte of a version 7 identifier is random.
    id.as_bytes().last().map_or(0, |byte| i64::from(*byte) % SLOTS)
}

/// A slot by chance.
fn any_slot() -> i64 {
    slot_for(Uuid::now_v7())
}

fn whole(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn after(now: Time, duration: Duration) -> Time {
    now.plus(i64::try_from(duration.as_micros()).unwrap_or(i64::MAX))
}

fn check_text(what: &'static str, text: &str, limit: usize) -> Result<(), RecordsError> {
    if text.is_empty() || text.len() > limit || text.contains(char::is_control) {
        return Err(RecordsError::Text { what, limit, found: text.len() });
    }
    Ok(())
}

fn check_result(result: Option<&String>) -> Result<(), RecordsError> {
    result.map_or(Ok(()), |result| check_text("result", result, LONGEST_ID))
}

/// An error as it is kept: parts of it come from servers and from the records themselves.
fn bounded(error: &str) -> String {
    let printable = |character: char| if character == '\0' { char::REPLACEMENT_CHARACTER } else { character };
    error.chars().take(LONGEST_ERROR).map(printable).collect()
}

fn unexpected(statement: &'static str, detail: &str) -> RecordsError {
    DatabaseError::Statement { statement, detail: detail.to_owned() }.into()
}
