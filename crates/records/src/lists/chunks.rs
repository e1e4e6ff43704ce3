//! Who works on which records, for how long, and what came of them. A chunk is the lease and the fence of its records: whoever
//! changes them locks its row first, and where the row is gone nothing is changed.

use std::time::Duration;

use strongroom_database::{Row, Statement, Transaction, Value};
use uuid::Uuid;

use super::{
    Delta, LONGEST_ID, LONGEST_WORKER, MOST_RECORDS, after, bounded, check_text, count, slot_for, state, unexpected,
    whole,
};
use crate::{
    Chunk, ChunkLease, ClaimRequest, Claimed, Ending, Finished, ListId, Outcome, RecordState, RecordsError, Returned,
};

/// Claims records that are to be processed: first those that came back, then those never claimed, by their number, then those
/// whose time has come. Each counts an attempt. None where there is nothing to claim now, also where the list is being removed.
/// Records that others are claiming at the same time are passed by.
///
/// A worker that dies leaves its records in processing until they are [returned](return_expired). A record that ends its worker each
/// time is told by its attempts.
pub fn claim(tx: &mut dyn Transaction, request: &ClaimRequest) -> Result<Option<Chunk>, RecordsError> {
    check_text("worker", &request.worker, LONGEST_WORKER)?;
    let (list, now) = (request.list, tx.now()?);
    let limit = request.limit.clamp(1, MOST_RECORDS);
    let lease = ChunkLease { list, chunk: Uuid::now_v7() };
    let slot = slot_for(lease.chunk);
    let outlook = tx.query_one(Statement("records_outlook"), &[list.into(), slot.into()])?;
    let Some(outlook) = outlook else { return Ok(None) };
    let todo = outlook.integer("todo")?;
    if todo <= 0 {
        return Ok(None);
    }
    // Below this number all was claimed before, and the entries of the index are dead until they are vacuumed. Only what another
    // claim let go again is passed by, until the rest is claimed.
    let claimed_to = outlook.integer("claimed_to")?;
    let mut claiming = Claiming { lease, limit, found: Vec::new() };
    claiming.read(tx, claimed_to)?;
    if claiming.found.len() < limit && todo > whole(claiming.found.len() as u64) && claimed_to > 0 {
        claiming.read(tx, 0)?;
    }
    let mut found = claiming.found;
    if found.is_empty() {
        return Ok(None);
    }
    let lease_until = after(now, request.lease);
    let records = whole(found.len() as u64);
    let values = [
        lease.chunk.into(),
        list.into(),
        slot.into(),
        request.worker.as_str().into(),
        lease_until.into(),
        records.into(),
    ];
    tx.execute(Statement("records_make_chunk"), &values)?;
    found.sort_unstable_by_key(|(due, record)| (*due, record.number));
    let fresh = found.iter().filter(|(due, _)| *due == NEVER_CLAIMED).map(|(_, record)| whole(record.number)).max();
    let claimed_to = fresh.unwrap_or(0);
    count(tx, list, slot, Delta { todo: -records, processing: records, claimed_to, ..Delta::default() })?;
    let records = found.into_iter().map(|(_, record)| record).collect();
    Ok(Some(Chunk { lease, lease_until, records }))
}

/// How `records.due` has what was never claimed.
const NEVER_CLAIMED: i64 = 1;

/// A claim under way.
struct Claiming {
    lease: ChunkLease,
    limit: usize,
    /// What was claimed, with its `due`.
    found: Vec<(i64, Claimed)>,
}

impl Claiming {
    /// Claims what is missing; of what was never claimed, from this number on.
    fn read(&mut self, tx: &mut dyn Transaction, from: i64) -> Result<(), RecordsError> {
        let (now, missing) = (tx.now()?, self.limit.saturating_sub(self.found.len()));
        let values: [Value; 5] =
            [self.lease.list.into(), now.into(), missing.into(), self.lease.chunk.into(), from.into()];
        tx.query_each(Statement("records_claim"), &values, &mut |row| {
            let record = Claimed {
                number: row.count("number")?,
                id: row.text("record")?.to_owned(),
                attempts: u32::try_from(row.count("attempts")?).unwrap_or(u32::MAX),
            };
            self.found.push((row.integer("due")?, record));
            Ok(())
        })?;
        Ok(())
    }
}

/// Extends leases; for each, in order, whether the worker still has the chunk. A lease that has run out is extended as well, while
/// its records were not returned.
pub fn extend(tx: &mut dyn Transaction, leases: &[ChunkLease], lease: Duration) -> Result<Vec<bool>, RecordsError> {
    let until = after(tx.now()?, lease);
    let mut held = Vec::with_capacity(leases.len());
    for ChunkLease { list, chunk } in leases {
        let values = [(*chunk).into(), (*list).into(), until.into()];
        held.push(tx.execute(Statement("records_extend"), &values)? == 1);
    }
    Ok(held)
}

/// Ends records of a chunk, one, some or all of them, as each came out. Either all that is said is done, or nothing.
///
/// # Errors
/// [`RecordsError::ChunkLost`] where the records were returned, or one of them does not belong to the chunk or has ended before;
/// [`RecordsError::Text`] where a result is not fit to be kept.
pub fn finish(tx: &mut dyn Transaction, lease: ChunkLease, endings: &[Ending]) -> Result<Finished, RecordsError> {
    endings.iter().try_for_each(check)?;
    let lost = || RecordsError::ChunkLost(lease.chunk);
    let (list, now) = (lease.list, tx.now()?);
    let row = tx.query_one(Statement("records_hold_chunk"), &[lease.chunk.into(), list.into()])?.ok_or_else(lost)?;
    let (slot, open, sequence) = (row.integer("slot")?, row.integer("open")?, row.integer("sequence")?);
    let mut taken = 0;
    let mut lists = endings.iter().map(|ending| {
        let mut place = [Value::Null, Value::Null];
        if matches!(ending.outcome, Outcome::Processed { .. }) {
            taken += 1;
            place = [slot.into(), (sequence + taken).into()];
        }
        let change = Change::of(&ending.outcome);
        let mut values = vec![list.into(), ending.number.into(), lease.chunk.into(), change.state.into()];
        values.extend([change.due.into(), change.max_attempts.into(), change.given_back.into()]);
        values.extend(place);
        values.extend([now.into(), change.result.into(), change.error.into()]);
        values
    });
    let rows = tx.query_many(Statement("records_finish"), &mut lists)?;
    drop(lists);
    let states: Vec<RecordState> =
        rows.iter().map(|row| state_of(row.as_ref().ok_or_else(lost)?)).collect::<Result<_, RecordsError>>()?;
    let ended = whole(states.len() as u64);
    let of = |state| whole(states.iter().filter(|one| **one == state).count() as u64);
    let delta = Delta {
        todo: of(RecordState::Todo),
        processing: -ended,
        processed: of(RecordState::Processed),
        failed: of(RecordState::Failed),
        taken,
        ..Delta::default()
    };
    let left = open - ended;
    if left > 0 {
        tx.execute(Statement("records_shrink_chunk"), &[lease.chunk.into(), ended.into()])?;
    } else {
        tx.execute(Statement("records_drop_chunk"), &[lease.chunk.into()])?;
    }
    count(tx, list, slot, delta)?;
    Ok(Finished { states, open: left.max(0).unsigned_abs() })
}

/// What an outcome makes of a record.
struct Change<'a> {
    state: i64,
    due: i64,
    max_attempts: i64,
    given_back: i64,
    result: Option<&'a str>,
    error: Option<String>,
}

impl<'a> Change<'a> {
    fn of(outcome: &'a Outcome) -> Self {
        let unlimited =
            Self { state: state::TODO, due: 0, max_attempts: i64::MAX, given_back: 0, result: None, error: None };
        match outcome {
            Outcome::Processed { result } => Self { state: state::PROCESSED, result: result.as_deref(), ..unlimited },
            Outcome::Failed { error } => Self { state: state::FAILED, error: Some(bounded(error)), ..unlimited },
            Outcome::Retry { not_before, error, max_attempts } => Self {
                // Lower numbers say something else.
                due: not_before.0.max(NEVER_CLAIMED + 1),
                max_attempts: (*max_attempts).into(),
                error: Some(bounded(error)),
                ..unlimited
            },
            Outcome::Waiting { not_before, error } => Self {
                due: not_before.0.max(NEVER_CLAIMED + 1),
                given_back: 1,
                error: Some(bounded(error)),
                ..unlimited
            },
            Outcome::Released => Self { given_back: 1, ..unlimited },
        }
    }
}

fn check(ending: &Ending) -> Result<(), RecordsError> {
    match &ending.outcome {
        Outcome::Processed { result: Some(result) } => check_text("result", result, LONGEST_ID),
        _ => Ok(()),
    }
}

fn state_of(row: &Row) -> Result<RecordState, RecordsError> {
    match row.integer("state")? {
        state::TODO => Ok(RecordState::Todo),
        state::PROCESSED => Ok(RecordState::Processed),
        state::FAILED => Ok(RecordState::Failed),
        other => Err(unexpected("records_finish", &format!("it left a record in state {other}"))),
    }
}

/// Returns what up to `limit` chunks have whose lease has run out. Their workers can end nothing more; the records come first in
/// the next claims, with the attempts that were counted. It is as much work as there are records in the chunks.
pub fn return_expired(tx: &mut dyn Transaction, limit: usize) -> Result<Vec<Returned>, RecordsError> {
    let now = tx.now()?;
    let chunks = tx.query(Statement("records_expired"), &[now.into(), limit.into()])?;
    chunks.iter().map(|chunk| return_chunk(tx, chunk)).collect()
}

/// As [`return_expired`], for the chunks of a worker that is known to have ended, before their leases run out.
pub fn return_of_worker(tx: &mut dyn Transaction, worker: &str, limit: usize) -> Result<Vec<Returned>, RecordsError> {
    let chunks = tx.query(Statement("records_of_worker"), &[worker.into(), limit.into()])?;
    chunks.iter().map(|chunk| return_chunk(tx, chunk)).collect()
}

fn return_chunk(tx: &mut dyn Transaction, row: &Row) -> Result<Returned, RecordsError> {
    let (list, chunk, slot) = (ListId(row.uuid("list_id")?), row.uuid("id")?, row.integer("slot")?);
    let now = tx.now()?;
    let records = tx.execute(Statement("records_return"), &[list.into(), chunk.into(), now.into()])?;
    tx.execute(Statement("records_drop_chunk"), &[chunk.into()])?;
    let todo = whole(records);
    count(tx, list, slot, Delta { todo, processing: -todo, ..Delta::default() })?;
    Ok(Returned { list, worker: row.text("worker")?.to_owned(), records })
}
