//! How long workers have their records, and what came of them. A chunk is the lease and the fence of its records: whoever
//! changes them locks its row first, and where the row is gone nothing is changed. A record that was claimed for the first time gets
//! a state with its end.

use std::collections::HashSet;
use std::time::Duration;

use strongroom_database::{Row, Statement, Time, Transaction, Value};

use super::fresh::{between, mark};
use super::{Delta, LONGEST_ID, NEVER_CLAIMED, after, bounded, check_text, count, state, unexpected, whole};
use crate::{ChunkLease, Ending, Finished, ListId, Outcome, RecordState, RecordsError, Returned};

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
    let held = HeldChunk::of(&row)?;
    let (slot, mut sequence) = (row.integer("slot")?, row.integer("sequence")?);
    let first = sequence;
    let mut ends: Vec<End<'_>> = Vec::with_capacity(endings.len());
    for ending in endings {
        let mut place = [Value::Null, Value::Null];
        if matches!(ending.outcome, Outcome::Processed { .. }) {
            sequence += 1;
            place = [slot.into(), sequence.into()];
        }
        ends.push(End { number: whole(ending.number), change: Change::of(&ending.outcome), place });
    }
    let mut states = vec![None; ends.len()];
    let mut marked = 0;
    if held.marked > 0 {
        let mut lists = ends.iter().map(|end| end.of_marked(lease, now));
        for (state, row) in states.iter_mut().zip(tx.query_many(Statement("records_finish"), &mut lists)?) {
            *state = row.as_ref().map(state_of).transpose()?;
            marked += i64::from(state.is_some());
        }
    }
    // Those that have no state end for the first time.
    let rest = || states.iter().zip(&ends).filter(|(state, _)| state.is_none()).map(|(_, end)| end);
    let others = whole(rest().count() as u64);
    if others > 0 {
        if !held.has(tx, list, rest().map(|end| end.number))? {
            return Err(lost());
        }
        let mut lists = rest().map(|end| end.of_fresh(lease, now));
        // One that has ended before, or is named twice, is not added.
        if tx.execute_each(Statement("records_end"), &mut lists)? != others.unsigned_abs() {
            return Err(lost());
        }
    }
    let states: Vec<RecordState> =
        states.into_iter().zip(&ends).map(|(state, end)| state.unwrap_or_else(|| end.change.first_state())).collect();
    let ended = whole(states.len() as u64);
    let of = |state| whole(states.iter().filter(|one| **one == state).count() as u64);
    let delta = Delta {
        todo: of(RecordState::Todo),
        processing: -ended,
        processed: of(RecordState::Processed),
        failed: of(RecordState::Failed),
        taken: sequence - first,
        ..Delta::default()
    };
    let left = held.open - ended;
    if left > 0 {
        let values = [lease.chunk.into(), ended.into(), marked.into()];
        tx.execute(Statement("records_shrink_chunk"), &values)?;
    } else {
        tx.execute(Statement("records_drop_chunk"), &[lease.chunk.into()])?;
    }
    count(tx, list, slot, delta)?;
    Ok(Finished { states, open: left.max(0).unsigned_abs() })
}

/// What a chunk still has.
struct HeldChunk {
    /// Records that have not ended.
    open: i64,
    /// Those of them that have a state.
    marked: i64,
    /// The others are behind this number,
    after: i64,
    /// up to this one.
    to: i64,
    /// Whether not every number between them is one of the chunk.
    has_gaps: bool,
}

impl HeldChunk {
    fn of(row: &Row) -> Result<Self, RecordsError> {
        Ok(Self {
            open: row.integer("open")?,
            marked: row.integer("marked")?,
            after: row.integer("after_number")?,
            to: row.integer("to_number")?,
            has_gaps: row.bool("has_gaps")?,
        })
    }

    /// Whether all numbers are of records that were claimed with it for the first time.
    fn has(
        &self,
        tx: &mut dyn Transaction,
        list: ListId,
        numbers: impl Iterator<Item = i64> + Clone,
    ) -> Result<bool, RecordsError> {
        if !numbers.clone().all(|number| number > self.after && number <= self.to) {
            return Ok(false);
        }
        if !self.has_gaps {
            return Ok(true);
        }
        let (least, most) =
            numbers.clone().fold((self.to, self.after), |(a, b), number| (a.min(number), b.max(number)));
        let known: HashSet<i64> = between(tx, list, (least - 1, most))?;
        Ok(numbers.into_iter().all(|number| known.contains(&number)))
    }
}

/// The end of a record, with its place among the processed.
struct End<'a> {
    number: i64,
    change: Change<'a>,
    place: [Value; 2],
}

impl End<'_> {
    /// The values for a record that has a state.
    fn of_marked(&self, lease: ChunkLease, now: Time) -> Vec<Value> {
        let Self { number, change, place } = self;
        let mut values = vec![lease.list.into(), (*number).into(), lease.chunk.into(), change.state.into()];
        values.extend([change.due.into(), change.max_attempts.into(), change.given_back.into()]);
        values.extend(place.clone());
        values.extend([now.into(), change.result.into(), change.error.as_deref().into()]);
        values
    }

    /// The values for a record that was claimed for the first time.
    fn of_fresh(&self, lease: ChunkLease, now: Time) -> Vec<Value> {
        let Self { number, change, place } = self;
        let state = if change.first_state() == RecordState::Failed { state::FAILED } else { change.state };
        let mut values = vec![lease.list.into(), (*number).into(), state.into(), change.due.into()];
        values.push((1 - change.given_back).into());
        values.extend(place.clone());
        values.extend([now.into(), change.result.into(), change.error.as_deref().into()]);
        values
    }
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

    /// The state of a record that was claimed once.
    fn first_state(&self) -> RecordState {
        match self.state {
            state::PROCESSED => RecordState::Processed,
            state::TODO if self.max_attempts > 1 => RecordState::Todo,
            _ => RecordState::Failed,
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
    let (held, now) = (HeldChunk::of(row)?, tx.now()?);
    let mut records = 0;
    if held.marked > 0 {
        records += tx.execute(Statement("records_return"), &[list.into(), chunk.into(), now.into()])?;
    }
    if held.open > held.marked {
        records += mark(tx, list, (held.after, held.to), (state::TODO, 1))?;
    }
    tx.execute(Statement("records_drop_chunk"), &[chunk.into()])?;
    let todo = whole(records);
    count(tx, list, slot, Delta { todo, processing: -todo, ..Delta::default() })?;
    Ok(Returned { list, worker: row.text("worker")?.to_owned(), records })
}
