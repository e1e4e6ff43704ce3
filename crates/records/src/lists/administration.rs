//! Counts and pages of a list, and what people do to it.

use strongroom_database::{Row, Statement, Time, Transaction, Value};

use super::population::locked;
use super::{Delta, MOST_RECORDS, NEVER_CLAIMED, any_slot, count, fresh, state, whole};
use crate::{Counts, Cursor, ListId, ListStatus, Page, Record, RecordState, RecordsError};

/// The counts of a list and how far its population is: one committed state. It reads a row for each slot, however long the list is.
///
/// # Errors
/// [`RecordsError::NoList`].
pub fn status(tx: &mut dyn Transaction, list: ListId) -> Result<ListStatus, RecordsError> {
    status_row(&tx.query_one(Statement("records_status"), &[list.into()])?.ok_or(RecordsError::NoList(list))?)
}

fn status_row(row: &Row) -> Result<ListStatus, RecordsError> {
    let populated_by = match (row.optional_text("populated_by")?, row.optional_time("populated_until")?) {
        (Some(worker), Some(until)) => Some((worker.to_owned(), until)),
        _ => None,
    };
    Ok(ListStatus {
        counts: Counts {
            todo: row.count("todo")?,
            processing: row.count("processing")?,
            processed: row.count("processed")?,
            failed: row.count("failed")?,
            cancelled: row.count("cancelled")?,
        },
        is_complete: row.bool("is_complete")?,
        cursor: row.optional_text("population_cursor")?.map(str::to_owned),
        populated_by,
    })
}

/// Records of one state behind a cursor: those to be processed in the order in which they are claimed, those processed by slot and
/// the order in which they became so, others by their number. A record that stays in its state is on exactly one page.
pub fn page(
    tx: &mut dyn Transaction,
    list: ListId,
    (state, after): (RecordState, Cursor),
    limit: usize,
) -> Result<Page, RecordsError> {
    let limit = limit.clamp(1, MOST_RECORDS);
    let Cursor(major, minor) = after;
    let statement = match state {
        RecordState::Todo => return page_todo(tx, list, after, limit),
        RecordState::Processing => return page_processing(tx, list, minor, limit),
        RecordState::Processed => Statement("records_page_processed"),
        RecordState::Failed => Statement("records_page_failed"),
        RecordState::Cancelled => Statement("records_page_cancelled"),
    };
    let mut values: Vec<Value> = vec![list.into()];
    if state == RecordState::Processed {
        values.push(major.into());
    }
    values.extend([minor.into(), limit.into()]);
    read(tx, statement, &values)
}

fn read(tx: &mut dyn Transaction, statement: Statement, values: &[Value]) -> Result<Page, RecordsError> {
    tx.query(statement, values)?.iter().map(record).collect()
}

/// What came back, then what was never claimed, then what waits for its time.
fn page_todo(
    tx: &mut dyn Transaction,
    list: ListId,
    Cursor(major, minor): Cursor,
    limit: usize,
) -> Result<Page, RecordsError> {
    let marked = |tx: &mut dyn Transaction, after: (i64, i64), to: i64, limit: usize| {
        let values = [list.into(), after.0.into(), after.1.into(), to.into(), limit.into()];
        read(tx, Statement("records_page_todo"), &values)
    };
    let mut page = Page::new();
    if major < NEVER_CLAIMED {
        page = marked(tx, (major, minor), 0, limit)?;
    }
    if page.len() < limit && major <= NEVER_CLAIMED {
        let after = if major == NEVER_CLAIMED { minor } else { 0 };
        let after = after.max(fresh::claimed_to(tx, list)?);
        let found = fresh::fresh(tx, list, after, limit - page.len())?;
        page.extend(found.records.into_iter().map(|record| {
            let cursor = Cursor(NEVER_CLAIMED, whole(record.number));
            untouched(record.number, record.id, (0, record.added_at), cursor)
        }));
    }
    if page.len() < limit {
        let after = if major > NEVER_CLAIMED { (major, minor) } else { (NEVER_CLAIMED, i64::MAX) };
        let missing = limit - page.len();
        page.extend(marked(tx, after, i64::MAX, missing)?);
    }
    Ok(page)
}

/// Those that have a state, and those of the ranges of numbers that chunks have.
fn page_processing(tx: &mut dyn Transaction, list: ListId, after: i64, limit: usize) -> Result<Page, RecordsError> {
    let values: [Value; 3] = [list.into(), after.into(), limit.into()];
    let mut page = read(tx, Statement("records_page_processing"), &values)?;
    let mut missing = limit;
    for range in tx.query(Statement("records_open_ranges"), &values)? {
        if missing == 0 {
            break;
        }
        let (from, to) = (range.integer("after_number")?.max(after), range.integer("to_number")?);
        let claimed_at = range.time("claimed_at")?;
        let values = [list.into(), from.into(), to.into(), missing.into()];
        for row in tx.query(Statement("records_open_of_range"), &values)? {
            let number = row.count("number")?;
            let cursor = Cursor(0, whole(number));
            page.push(untouched(number, row.text("record")?.to_owned(), (1, claimed_at), cursor));
            missing -= 1;
        }
    }
    page.sort_unstable_by_key(|record| record.number);
    page.truncate(limit);
    Ok(page)
}

/// A record that has no state.
fn untouched(number: u64, id: String, (attempts, changed_at): (u32, Time), cursor: Cursor) -> Record {
    Record { number, id, attempts, changed_at, result: None, error: None, cursor }
}

fn record(row: &Row) -> Result<Record, RecordsError> {
    Ok(Record {
        number: row.count("number")?,
        id: row.text("record")?.to_owned(),
        attempts: u32::try_from(row.count("attempts")?).unwrap_or(u32::MAX),
        changed_at: row.time("changed_at")?,
        result: row.optional_text("result")?.map(str::to_owned),
        error: row.optional_text("error")?.map(str::to_owned),
        cursor: Cursor(row.integer("major")?, row.integer("minor")?),
    })
}

/// Has up to `limit` records processed again that had failed by this time, with all their attempts; how many. They keep their errors until
/// they end anew. To be repeated with the same time until there is none: what fails meanwhile is left alone.
pub fn retry_failed(tx: &mut dyn Transaction, list: ListId, until: Time, limit: usize) -> Result<u64, RecordsError> {
    let values = [list.into(), limit.clamp(1, MOST_RECORDS).into(), tx.now()?.into(), until.into()];
    let changed = tx.execute(Statement("records_retry_failed"), &values)?;
    let todo = whole(changed);
    if changed > 0 {
        count(tx, list, any_slot(), Delta { todo, failed: -todo, ..Delta::default() })?;
    }
    Ok(changed)
}

/// Cancels up to `limit` records that are to be processed; how many. Who populates the list adds no more to it: it stays incomplete where it was. What is being
/// processed ends as its worker says. To be repeated until nothing is to be processed: records that others are claiming at
/// the same time, and those that come back, are passed by.
pub fn cancel_rest(tx: &mut dyn Transaction, list: ListId, limit: usize) -> Result<u64, RecordsError> {
    if !locked(tx, list)?.bool("is_complete")? {
        tx.execute(Statement("records_end_population"), &[list.into()])?;
    }
    let limit = limit.clamp(1, MOST_RECORDS);
    let values = [list.into(), limit.into(), tx.now()?.into()];
    let mut changed = tx.execute(Statement("records_cancel"), &values)?;
    let missing = limit.saturating_sub(usize::try_from(changed).unwrap_or(usize::MAX));
    if missing > 0 {
        let taken = fresh::take(tx, list, missing)?;
        changed += fresh::mark(tx, list, (taken.after, taken.to), (state::CANCELLED, 0))?;
    }
    let cancelled = whole(changed);
    if changed > 0 {
        count(tx, list, any_slot(), Delta { todo: -cancelled, cancelled, ..Delta::default() })?;
    }
    Ok(changed)
}

/// Removes a list, up to `limit` rows in this transaction; whether it is gone. From the first call on it is not found, and nothing
/// of it can be claimed, ended or added. To be repeated until it is gone; [`being_removed`] lists what was left at a crash.
pub fn remove(tx: &mut dyn Transaction, list: ListId, limit: usize) -> Result<bool, RecordsError> {
    let limit = limit.clamp(1, MOST_RECORDS);
    let has_begun = begin_removal(tx, list)?;
    // Without the row of its slot a claim that is under way changes nothing.
    if tx.execute(Statement("records_delete_chunks"), &[list.into(), limit.into()])? == limit as u64 {
        return Ok(false);
    }
    tx.execute(Statement("records_delete_slots"), &[list.into()])?;
    if !has_begun || !delete_some(tx, list, limit)? {
        return Ok(false);
    }
    tx.execute(Statement("records_delete_list"), &[list.into()])?;
    Ok(true)
}

/// Marks a list as one that is being removed; whether it was one before. Where it was not, records may be claimed until the transaction is
/// kept, and are removed by a later one.
fn begin_removal(tx: &mut dyn Transaction, list: ListId) -> Result<bool, RecordsError> {
    // Those who take records from it are let finish first; see `add_from`.
    tx.query_one(Statement("records_lock_list"), &[list.into()])?;
    tx.execute(Statement("records_mark_removed"), &[list.into()])?;
    Ok(tx.execute(Statement("records_delete_cursor"), &[list.into()])? == 0)
}

/// Deletes up to `limit` rows of records, their states first; whether none is left.
fn delete_some(tx: &mut dyn Transaction, list: ListId, limit: usize) -> Result<bool, RecordsError> {
    for statement in [Statement("records_delete_states"), Statement("records_delete_some")] {
        if tx.execute(statement, &[list.into(), limit.into()])? == limit as u64 {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Removes the records of a list, up to `limit` in this transaction, and keeps its counts; whether all are gone. From the first call on the
/// list is as one that is removed, and [`outcome`] has its counts. To be repeated until they are gone. A list that is being
/// [removed](remove) with its counts goes on being so.
pub fn remove_records(tx: &mut dyn Transaction, list: ListId, limit: usize) -> Result<bool, RecordsError> {
    let limit = limit.clamp(1, MOST_RECORDS);
    let has_begun = begin_removal(tx, list)?;
    // Without the row of its slot a claim that is under way changes nothing.
    tx.execute(Statement("records_keep_counts"), &[list.into()])?;
    tx.execute(Statement("records_delete_counted_slots"), &[list.into()])?;
    if tx.execute(Statement("records_delete_chunks"), &[list.into(), limit.into()])? == limit as u64 {
        return Ok(false);
    }
    Ok(has_begun && delete_some(tx, list, limit)?)
}

/// What came of a list whose records were [removed](remove_records), and whether all of them are gone; none of any other list.
pub fn outcome(tx: &mut dyn Transaction, list: ListId) -> Result<Option<(ListStatus, bool)>, RecordsError> {
    let Some(row) = tx.query_one(Statement("records_outcome"), &[list.into()])? else { return Ok(None) };
    Ok(Some((status_row(&row)?, !row.bool("has_records")?)))
}

/// Lists whose removal has begun and not ended, at most `limit`. Those whose counts are kept are not among them.
pub fn being_removed(tx: &mut dyn Transaction, limit: usize) -> Result<Vec<ListId>, RecordsError> {
    let rows = tx.query(Statement("records_being_removed"), &[limit.into()])?;
    rows.iter().map(|row| Ok(ListId(row.uuid("id")?))).collect()
}
