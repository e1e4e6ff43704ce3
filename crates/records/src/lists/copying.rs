//! Populating a list from another one in the same database, without the ids leaving it.

use strongroom_database::{Row, Statement, Transaction, Value};

use super::population::{held, record_progress};
use super::{Delta, MOST_RECORDS, SLOTS, any_slot, count};
use crate::{Added, Copied, From, ListId, Population, RecordsError, Selection, Takes};

/// Adds up to `limit` records of another list, behind those that were taken from it before, and moves the cursor, in one. Processed
/// records are taken slot by slot, in the order in which they became processed: what is committed later comes behind the cursor of
/// its slot, so that none is missed and none is taken twice. Ids that the list has already are left out.
///
/// The other list may still grow. Whoever follows it has read before, in this transaction, that it has ended, and then
/// [completes](super::complete) the list where this says that it has caught up.
///
/// # Errors
/// [`RecordsError::PopulationLost`]; [`RecordsError::NoList`] where the other list is not there any more, or is being removed;
/// [`RecordsError::Cursor`] where the population began in another way.
pub fn add_from(
    tx: &mut dyn Transaction,
    population: &Population,
    from: From,
    limit: usize,
) -> Result<Copied, RecordsError> {
    let row = held(tx, population)?;
    // It is not removed before this transaction ends.
    tx.query_one(Statement("records_pin_list"), &[from.list.into()])?.ok_or(RecordsError::NoList(from.list))?;
    let cursor = row.optional_text("population_cursor")?;
    let copying = Copying {
        list: population.list,
        from,
        limit: limit.clamp(1, MOST_RECORDS),
        next: row.integer("next_number")?,
        added: Added::default(),
    };
    match from.selection {
        Selection::Processed => copying.processed(tx, cursor),
        Selection::All => copying.all(tx, cursor),
    }
}

/// A copy under way.
struct Copying {
    list: ListId,
    from: From,
    /// Records that may still be read.
    limit: usize,
    /// The number of the next record.
    next: i64,
    added: Added,
}

impl Copying {
    fn processed(mut self, tx: &mut dyn Transaction, cursor: Option<&str>) -> Result<Copied, RecordsError> {
        let mut cursors = cursors_of(cursor)?;
        for (slot, reached) in (0..SLOTS).zip(&mut cursors) {
            if self.limit == 0 {
                break;
            }
            let values = [self.from.list.into(), slot.into(), (*reached).into(), self.limit.into()];
            let Some((reach, found)) = reach(tx.query_one(Statement("records_reach"), &values)?.as_ref())? else {
                continue;
            };
            let takes_results = self.from.takes == Takes::Results;
            let now = tx.now()?;
            let values = [
                self.list.into(),
                self.next.into(),
                self.from.list.into(),
                slot.into(),
                (*reached).into(),
                reach.into(),
                takes_results.into(),
                now.into(),
            ];
            let added = tx.execute(Statement("records_copy"), &values)?;
            self.note(found, added);
            *reached = reach;
        }
        let cursor = cursors.map(|number| number.to_string()).join(",");
        self.end(tx, cursor)
    }

    fn all(mut self, tx: &mut dyn Transaction, cursor: Option<&str>) -> Result<Copied, RecordsError> {
        let mut reached = match cursor {
            None => 0,
            Some(cursor) => number_of(cursor, cursor)?,
        };
        let values = [self.from.list.into(), reached.into(), self.limit.into()];
        if let Some((reach, found)) = reach(tx.query_one(Statement("records_reach_all"), &values)?.as_ref())? {
            let now = tx.now()?;
            let values: [Value; 6] =
                [self.list.into(), self.next.into(), self.from.list.into(), reached.into(), reach.into(), now.into()];
            let added = tx.execute(Statement("records_copy_all"), &values)?;
            self.note(found, added);
            reached = reach;
        }
        self.end(tx, reached.to_string())
    }

    /// Counts what a statement read and added. Numbers of what it left out are not used.
    fn note(&mut self, found: u64, added: u64) {
        self.next = self.next.saturating_add(super::whole(found));
        self.limit = self.limit.saturating_sub(usize::try_from(found).unwrap_or(usize::MAX));
        self.added.added += added;
        self.added.duplicates += found.saturating_sub(added);
    }

    fn end(self, tx: &mut dyn Transaction, cursor: String) -> Result<Copied, RecordsError> {
        record_progress(tx, self.list, self.next, Some(&cursor))?;
        let todo = super::whole(self.added.added);
        if todo > 0 {
            count(tx, self.list, any_slot(), Delta { todo, ..Delta::default() })?;
        }
        Ok(Copied { added: self.added, cursor, is_caught_up: self.limit > 0 })
    }
}

/// How far a page reaches and how many it has; none where there is nothing.
fn reach(row: Option<&Row>) -> Result<Option<(i64, u64)>, RecordsError> {
    let Some(row) = row else { return Ok(None) };
    let reach = row.optional_integer("reach")?;
    reach.map(|reach| Ok((reach, row.count("found")?))).transpose()
}

/// The last number that was taken, for each slot.
fn cursors_of(text: Option<&str>) -> Result<[i64; SLOTS as usize], RecordsError> {
    let mut cursors = [0; SLOTS as usize];
    let Some(text) = text else { return Ok(cursors) };
    let mut numbers = text.split(',');
    for cursor in &mut cursors {
        *cursor = number_of(numbers.next().unwrap_or_default(), text)?;
    }
    if numbers.next().is_some() { Err(RecordsError::Cursor(text.to_owned())) } else { Ok(cursors) }
}

fn number_of(number: &str, text: &str) -> Result<i64, RecordsError> {
    number.parse().map_err(|_| RecordsError::Cursor(text.to_owned()))
}
