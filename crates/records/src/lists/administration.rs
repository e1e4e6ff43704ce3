//! Counts and pages of a list, and what people do to it.

use strongroom_database::{Row, Statement, Time, Transaction, Value};

use super::population::{complete, locked};
use super::{Delta, MOST_RECORDS, any_slot, count, whole};
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
    let Cursor(major, minor) = after;
    let statement = match state {
        RecordState::Todo => Statement("records_page_todo"),
        RecordState::Processing => Statement("records_page_processing"),
        RecordState::Processed => Statement("records_page_processed"),
        RecordState::Failed => Statement("records_page_failed"),
        RecordState::Cancelled => Statement("records_page_cancelled"),
    };
    let mut values: Vec<Value> = vec![list.into()];
    if matches!(state, RecordState::Todo | RecordState::Processed) {
        values.push(major.into());
    }
    values.extend([minor.into(), limit.clamp(1, MOST_RECORDS).into()]);
    tx.query(statement, &values)?.iter().map(record).collect()
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

/// Cancels up to `limit` records that are to be processed, and completes the list, so that no more are added; how many. What is being
/// processed ends as its worker says. To be repeated until nothing is to be processed: records that others are claiming at
/// the same time, and those that come back, are passed by.
pub fn cancel_rest(tx: &mut dyn Transaction, list: ListId, limit: usize) -> Result<u64, RecordsError> {
    if !locked(tx, list)?.bool("is_complete")? {
        complete(tx, list)?;
    }
    let values = [list.into(), limit.clamp(1, MOST_RECORDS).into(), tx.now()?.into()];
    let changed = tx.execute(Statement("records_cancel"), &values)?;
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
    // Those who take records from it are let finish first; see `add_from`.
    tx.query_one(Statement("records_lock_list"), &[list.into()])?;
    tx.execute(Statement("records_mark_removed"), &[list.into()])?;
    // Chunks before slots, as everywhere. Without the row of its slot a claim that is under way changes nothing.
    if tx.execute(Statement("records_delete_chunks"), &[list.into(), limit.into()])? == limit as u64 {
        return Ok(false);
    }
    tx.execute(Statement("records_delete_slots"), &[list.into()])?;
    if tx.execute(Statement("records_delete_some"), &[list.into(), limit.into()])? == limit as u64 {
        return Ok(false);
    }
    tx.execute(Statement("records_delete_list"), &[list.into()])?;
    Ok(true)
}

/// Removes the records of a list, up to `limit` in this transaction, and keeps its counts; whether all are gone. From the first call on the
/// list is as one that is removed, and [`outcome`] has its counts. To be repeated until they are gone. A list that is being
/// [removed](remove) with its counts goes on being so.
pub fn remove_records(tx: &mut dyn Transaction, list: ListId, limit: usize) -> Result<bool, RecordsError> {
    let limit = limit.clamp(1, MOST_RECORDS);
    tx.query_one(Statement("records_lock_list"), &[list.into()])?;
    tx.execute(Statement("records_mark_removed"), &[list.into()])?;
    // Without the row of its slot a claim that is under way changes nothing.
    tx.execute(Statement("records_keep_counts"), &[list.into()])?;
    tx.execute(Statement("records_delete_counted_slots"), &[list.into()])?;
    if tx.execute(Statement("records_delete_chunks"), &[list.into(), limit.into()])? == limit as u64 {
        return Ok(false);
    }
    Ok(tx.execute(Statement("records_delete_some"), &[list.into(), limit.into()])? < limit as u64)
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
