//! Making a list, and adding records to it: by one worker at a time, with a cursor that is kept in the transaction that adds.

use std::time::Duration;

use strongroom_database::{Row, Statement, Time, Transaction, Value};

use super::{
    Delta, LONGEST_CURSOR, LONGEST_ID, LONGEST_WORKER, MOST_RECORDS, SLOTS, after, any_slot, bounded, check_result,
    check_text, count, state, unexpected, whole,
};
use crate::{
    Added, Addition, Arrival, ListId, Listed, NewRecord, Population, PopulationRequest, RecordState, RecordsError,
};

/// Makes a list without records. One that is there already stays as it is.
pub fn create(tx: &mut dyn Transaction, list: ListId) -> Result<(), RecordsError> {
    let now = tx.now()?;
    if tx.execute(Statement("records_make_list"), &[list.into(), now.into()])? == 1 {
        let mut slots = (0..SLOTS).map(|slot| vec![list.into(), slot.into()]);
        tx.execute_each(Statement("records_make_slot"), &mut slots)?;
        tx.execute(Statement("records_make_cursor"), &[list.into()])?;
    }
    Ok(())
}

/// Takes the population of a list for one worker. None where the list is complete, or another worker has the population and its
/// lease has not run out. A worker that had it before can add nothing more.
///
/// # Errors
/// [`RecordsError::NoList`].
pub fn take_population(
    tx: &mut dyn Transaction,
    request: &PopulationRequest,
) -> Result<Option<Population>, RecordsError> {
    check_text("worker", &request.worker, LONGEST_WORKER)?;
    let (list, now) = (request.list, tx.now()?);
    let row = locked(tx, list)?;
    let is_held = row.optional_text("populated_by")?.is_some_and(|worker| worker != request.worker)
        && row.optional_time("populated_until")?.is_some_and(|until| until > now);
    if is_held || row.bool("is_complete")? {
        return Ok(None);
    }
    let cursor = row.optional_text("population_cursor")?.map(str::to_owned);
    let values = [list.into(), request.worker.as_str().into(), after(now, request.lease).into()];
    let taken = tx.query_one(Statement("records_take_population"), &values)?;
    let fence = taken.ok_or(RecordsError::NoList(list))?.count("population_fence")?;
    Ok(Some(Population { list, fence, cursor }))
}

/// Extends the lease of a population; until when. A lease that has run out is extended as well, while no other worker has taken the
/// population over.
///
/// # Errors
/// [`RecordsError::PopulationLost`].
pub fn extend_population(
    tx: &mut dyn Transaction,
    population: &Population,
    lease: Duration,
) -> Result<Time, RecordsError> {
    let until = after(tx.now()?, lease);
    let values = [population.list.into(), population.fence.into(), until.into()];
    if tx.execute(Statement("records_extend_population"), &values)? == 0 {
        return Err(RecordsError::PopulationLost(population.list));
    }
    Ok(until)
}

/// Gives the population back, so that any worker may go on from its cursor at once.
///
/// # Errors
/// [`RecordsError::PopulationLost`].
pub fn release_population(tx: &mut dyn Transaction, population: &Population) -> Result<(), RecordsError> {
    let values = [population.list.into(), population.fence.into()];
    if tx.execute(Statement("records_release_population"), &values)? == 0 {
        return Err(RecordsError::PopulationLost(population.list));
    }
    Ok(())
}

/// Adds records and moves the cursor, in one: a worker that goes on from the cursor neither repeats nor leaves out any. An id
/// that the list has already is left out, and the record stays as it is. With the last addition the list is complete, and the
/// population is over.
///
/// # Errors
/// [`RecordsError::PopulationLost`]; [`RecordsError::Text`] where an id, a result or the cursor is not fit to be kept.
pub fn add(tx: &mut dyn Transaction, population: &Population, addition: &Addition) -> Result<Added, RecordsError> {
    let duplicates = add_new(tx, population, addition)?.len() as u64;
    Ok(Added { added: (addition.records.len() as u64).saturating_sub(duplicates), duplicates })
}

/// As [`add`]; says which of the records were left out, by their places in the addition.
///
/// # Errors
/// Those of [`add`].
pub fn add_new(
    tx: &mut dyn Transaction,
    population: &Population,
    addition: &Addition,
) -> Result<Vec<usize>, RecordsError> {
    check(addition)?;
    let first = held(tx, population)?.integer("next_number")?;
    let repeated = insert(tx, population.list, &addition.records, first)?;
    let next = first.saturating_add(whole(addition.records.len() as u64));
    record_progress(tx, population.list, next, addition.cursor.as_deref())?;
    if addition.is_last {
        complete(tx, population.list)?;
    }
    Ok(repeated)
}

/// The record of an id, as the list has it; none where it has none.
pub fn find(tx: &mut dyn Transaction, list: ListId, id: &str) -> Result<Option<Listed>, RecordsError> {
    let Some(row) = tx.query_one(Statement("records_find"), &[list.into(), id.into()])? else { return Ok(None) };
    let state = usize::try_from(row.integer("state")?).ok().and_then(|state| RecordState::ALL.get(state));
    Ok(Some(Listed {
        number: row.count("number")?,
        state: *state.ok_or_else(|| unexpected("records_find", "a state that is none"))?,
        result: row.optional_text("result")?.map(str::to_owned),
        error: row.optional_text("error")?.map(str::to_owned),
    }))
}

/// Gives a record that has ended another end, where the source that is read says more of it; whether it did. One that was processed comes
/// last among the processed ones, so that those who take them take it. One that has changed since it was found stays as it is, and so does one that
/// has not ended.
///
/// # Errors
/// [`RecordsError::PopulationLost`]; [`RecordsError::Text`] where the result is not fit to be kept.
pub fn supersede(
    tx: &mut dyn Transaction,
    population: &Population,
    record: &Listed,
    arrival: &Arrival,
) -> Result<bool, RecordsError> {
    held(tx, population)?;
    let (list, now, slot) = (population.list, tx.now()?, any_slot());
    let mut delta = match record.state {
        RecordState::Processed => Delta { processed: -1, ..Delta::default() },
        RecordState::Failed => Delta { failed: -1, ..Delta::default() },
        RecordState::Todo | RecordState::Processing | RecordState::Cancelled => return Ok(false),
    };
    let was = if record.state == RecordState::Processed { state::PROCESSED } else { state::FAILED };
    let mut values: Vec<Value> = vec![list.into(), whole(record.number).into(), was.into()];
    // Before the slot, which is locked last: others wait for nothing behind it.
    if *arrival == Arrival::Todo || tx.query_one(Statement("records_lock_ended"), &values)?.is_none() {
        return Ok(false);
    }
    let ending = match arrival {
        Arrival::Todo => return Ok(false),
        Arrival::Processed { result } => {
            check_result(result.as_ref())?;
            let row = tx.query_one(Statement("records_slot"), &[list.into(), slot.into()])?;
            let sequence = row.ok_or(RecordsError::NoList(list))?.integer("sequence")?;
            (delta.processed, delta.taken) = (delta.processed + 1, 1);
            [
                state::PROCESSED.into(),
                slot.into(),
                (sequence + 1).into(),
                now.into(),
                result.as_ref().into(),
                Value::Null,
            ]
        }
        Arrival::Failed { error } => {
            delta.failed += 1;
            [state::FAILED.into(), Value::Null, Value::Null, now.into(), Value::Null, bounded(error).into()]
        }
    };
    values.extend(ending);
    if tx.execute(Statement("records_supersede"), &values)? == 0 {
        return Ok(false);
    }
    count(tx, list, slot, delta)?;
    Ok(true)
}

/// Marks a list as complete, whichever worker holds its population: all records of its input are in it.
pub fn complete(tx: &mut dyn Transaction, list: ListId) -> Result<(), RecordsError> {
    tx.execute(Statement("records_complete"), &[list.into()])?;
    Ok(())
}

/// Has the population of a complete list go on from its cursor, as where the list that it follows has got more; whether it was
/// complete.
pub fn reopen(tx: &mut dyn Transaction, list: ListId) -> Result<bool, RecordsError> {
    Ok(tx.execute(Statement("records_reopen"), &[list.into()])? == 1)
}

/// The row of a list, locked.
pub(super) fn locked(tx: &mut dyn Transaction, list: ListId) -> Result<Row, RecordsError> {
    tx.query_one(Statement("records_population"), &[list.into()])?.ok_or(RecordsError::NoList(list))
}

/// The row of a list, locked, whose population is held.
pub(super) fn held(tx: &mut dyn Transaction, population: &Population) -> Result<Row, RecordsError> {
    let row = locked(tx, population.list)?;
    if row.count("population_fence")? != population.fence || row.bool("is_complete")? {
        return Err(RecordsError::PopulationLost(population.list));
    }
    Ok(row)
}

/// Notes how far the population of a locked list has come.
pub(super) fn record_progress(
    tx: &mut dyn Transaction,
    list: ListId,
    next: i64,
    cursor: Option<&str>,
) -> Result<(), RecordsError> {
    tx.execute(Statement("records_populated"), &[list.into(), next.into(), cursor.into()])?;
    Ok(())
}

fn check(addition: &Addition) -> Result<(), RecordsError> {
    if let Some(cursor) = &addition.cursor {
        check_text("cursor", cursor, LONGEST_CURSOR)?;
    }
    if addition.records.len() > MOST_RECORDS {
        let found = addition.records.len();
        return Err(RecordsError::Many { limit: MOST_RECORDS, found });
    }
    for record in &addition.records {
        check_text("record id", &record.id, LONGEST_ID)?;
        if let Arrival::Processed { result } = &record.arrival {
            check_result(result.as_ref())?;
        }
    }
    Ok(())
}

/// Inserts records, numbered from `first`; the places of those whose ids the list has.
fn insert(
    tx: &mut dyn Transaction,
    list: ListId,
    records: &[NewRecord],
    first: i64,
) -> Result<Vec<usize>, RecordsError> {
    if records.is_empty() {
        return Ok(Vec::new());
    }
    let now = tx.now()?;
    let mut lists = (first..).zip(records).map(|(number, record)| {
        let has_state = record.arrival != Arrival::Todo;
        vec![list.into(), number.into(), record.id.as_str().into(), now.into(), has_state.into()]
    });
    let made = tx.query_many(Statement("records_insert"), &mut lists)?;
    drop(lists);
    let slot = any_slot();
    // The slot is locked before numbers of its sequence are used.
    let row = tx.query_one(Statement("records_slot"), &[list.into(), slot.into()])?;
    let sequence = row.ok_or(RecordsError::NoList(list))?.integer("sequence")?;
    let (mut delta, mut repeated, mut arrived) = (Delta::default(), Vec::new(), Vec::new());
    for (place, ((number, record), made)) in (first..).zip(records).zip(&made).enumerate() {
        if made.is_none() {
            repeated.push(place);
            continue;
        }
        let come = match &record.arrival {
            Arrival::Todo => {
                delta.todo += 1;
                continue;
            }
            Arrival::Processed { result } => {
                delta.processed += 1;
                delta.taken += 1;
                let place = [slot.into(), (sequence + delta.taken).into()];
                (state::PROCESSED, place, [result.as_ref().into(), Value::Null])
            }
            Arrival::Failed { error } => {
                delta.failed += 1;
                (state::FAILED, [Value::Null, Value::Null], [Value::Null, bounded(error).into()])
            }
        };
        let (state, place, came) = come;
        let mut values = vec![list.into(), number.into(), state.into()];
        values.extend(place);
        values.push(now.into());
        values.extend(came);
        arrived.push(values);
    }
    if !arrived.is_empty() {
        tx.execute_each(Statement("records_arrive"), &mut arrived.into_iter())?;
    }
    count(tx, list, slot, delta)?;
    Ok(repeated)
}
