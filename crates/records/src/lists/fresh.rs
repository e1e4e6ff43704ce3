//! What was never claimed: the records behind the number to which a list is claimed that did not arrive with a state. It is read
//! between two numbers at a time, so that the work follows from what is asked for, also where a database knows little of the table.

use std::collections::HashSet;

use strongroom_database::{Row, Statement, Time, Transaction};

use super::{MOST_RECORDS, whole};
use crate::{ListId, RecordsError};

/// The fewest numbers that are looked at once after the first look.
const LEAST_LOOK: i64 = 1_000;

/// A record that was never claimed.
pub(super) struct Fresh {
    pub(super) number: u64,
    pub(super) id: String,
    pub(super) added_at: Time,
}

/// What was found behind a number.
pub(super) struct FoundFresh {
    pub(super) records: Vec<Fresh>,
    /// The number from which to look on: up to it there is nothing else.
    pub(super) reached: i64,
}

/// Up to `limit` records behind a number, in their order.
pub(super) fn fresh(
    tx: &mut dyn Transaction,
    list: ListId,
    behind: i64,
    limit: usize,
) -> Result<FoundFresh, RecordsError> {
    let mut found = FoundFresh { records: Vec::new(), reached: behind };
    let first_look = behind.saturating_add(whole(limit as u64));
    look(tx, list, first_look, limit, &mut found)?;
    if found.records.len() == limit {
        return Ok(found);
    }
    // Read before the records: whatever is added later has higher numbers.
    let row = tx.query_one(Statement("records_next_number"), &[list.into()])?;
    let last = row.map_or(Ok(0), |row| row.integer("next_number"))? - 1;
    let mut width = whole(limit as u64).max(LEAST_LOOK);
    while found.records.len() < limit && found.reached < last {
        let to = last.min(found.reached.saturating_add(width));
        look(tx, list, to, limit, &mut found)?;
        if found.records.len() < limit {
            found.reached = to;
        }
        width = width.saturating_mul(2).min(MOST_RECORDS as i64);
    }
    Ok(found)
}

/// Adds what is between the number that was reached and another one.
fn look(
    tx: &mut dyn Transaction,
    list: ListId,
    to: i64,
    limit: usize,
    found: &mut FoundFresh,
) -> Result<(), RecordsError> {
    let missing = limit.saturating_sub(found.records.len());
    let values = [list.into(), found.reached.into(), to.into(), missing.into()];
    let records = &mut found.records;
    let mut take = |row: Row| {
        let (number, id) = (row.count("number")?, row.text("record")?.to_owned());
        records.push(Fresh { number, id, added_at: row.time("added_at")? });
        Ok(())
    };
    tx.query_each(Statement("records_fresh"), &values, &mut take)?;
    if let Some(last) = found.records.last() {
        found.reached = found.reached.max(whole(last.number));
    }
    Ok(())
}

/// What was taken of a list for the first time: the records behind `after`, up to `to`.
pub(super) struct Taken {
    pub(super) records: Vec<Fresh>,
    pub(super) after: i64,
    pub(super) to: i64,
}

/// Takes up to `limit` records that were never claimed. Whoever takes some of the same list waits until the transaction has ended.
pub(super) fn take(tx: &mut dyn Transaction, list: ListId, limit: usize) -> Result<Taken, RecordsError> {
    let Some(row) = tx.query_one(Statement("records_cursor"), &[list.into()])? else {
        // The list is being removed.
        return Ok(Taken { records: Vec::new(), after: 0, to: 0 });
    };
    let after = row.integer("claimed_to")?;
    let FoundFresh { records, reached: to } = fresh(tx, list, after, limit)?;
    if to > after {
        tx.execute(Statement("records_move_cursor"), &[list.into(), to.into()])?;
    }
    Ok(Taken { records, after, to })
}

/// The number to which a list is claimed.
pub(super) fn claimed_to(tx: &mut dyn Transaction, list: ListId) -> Result<i64, RecordsError> {
    let row = tx.query_one(Statement("records_claimed_to"), &[list.into()])?;
    Ok(row.map_or(Ok(0), |row| row.integer("claimed_to"))?)
}

/// Gives records between two numbers that have no state this one, with so many attempts; how many.
pub(super) fn mark(
    tx: &mut dyn Transaction,
    list: ListId,
    (after, to): (i64, i64),
    (state, attempts): (i64, i64),
) -> Result<u64, RecordsError> {
    let now = tx.now()?;
    let values = [list.into(), after.into(), to.into(), state.into(), attempts.into(), now.into()];
    Ok(tx.execute(Statement("records_mark_range"), &values)?)
}

/// The numbers of those behind a number, up to another one, that did not arrive with a state; of a range that a chunk has.
pub(super) fn between(
    tx: &mut dyn Transaction,
    list: ListId,
    (after, to): (i64, i64),
) -> Result<HashSet<i64>, RecordsError> {
    let mut numbers = HashSet::new();
    let values = [list.into(), after.into(), to.into(), MOST_RECORDS.into()];
    tx.query_each(Statement("records_fresh"), &values, &mut |row| {
        numbers.insert(row.integer("number")?);
        Ok(())
    })?;
    Ok(numbers)
}
