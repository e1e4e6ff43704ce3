//! Provisional reports of batches that are too long for one transaction. Items of an open batch may change at any moment, so what such a
//! report says is read in one read transaction, which keeps no writer waiting, and written page by page afterwards. Until it is whole,
//! nothing shows it; then it takes the place of the one before, whose rows go page by page as well.

use strongroom_database::{Statement, Time, Transaction};
use uuid::Uuid;

use super::reports::{
    PAGE, ReportRow, complete, end_of_page, get, is_ended, lock_to_report, numbered_in_page, row_of_report,
};
use crate::batches::{self, Batch};
use crate::{BatchId, BatchState, ItemId, RegistryError, ReportId, Scope};

/// A batch at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// Where the batch was.
    pub state: BatchState,
    /// The moment.
    pub at: Time,
    /// How many items a report lists, and of these how many had succeeded, failed, were cancelled, deleted, held, and at work.
    counts: [u64; 7],
}

/// Reads what is true of a batch, and hands the rows of a report to `take`, page after page. None where the batch is not open. The
/// transaction is a read transaction, so that all of it is true of one moment.
pub fn read<E: From<RegistryError>>(
    tx: &mut dyn Transaction,
    batch: BatchId,
    mut take: impl FnMut(&ReportRow) -> Result<(), E>,
) -> Result<Option<Snapshot>, E> {
    let Some(snapshot) = count(tx, batch)? else { return Ok(None) };
    let (mut after, mut numbered) = (ItemId(Uuid::nil()), 0);
    loop {
        for row in rows(tx, batch, after, numbered)? {
            take(&row)?;
        }
        let Some(last) = end_of_page(tx, batch, after)? else { return Ok(Some(snapshot)) };
        numbered += numbered_in_page(tx, batch, after)?;
        after = last;
    }
}

/// A batch that is open, with the counts of a report.
fn count(tx: &mut dyn Transaction, batch: BatchId) -> Result<Option<Snapshot>, RegistryError> {
    let found = batches::get(tx, Scope::System, batch)?.filter(|found| found.state.is_open());
    let row = tx.query_one(Statement("reports.count_now"), &[batch.into()])?;
    let (Some(found), Some(row)) = (found, row) else { return Ok(None) };
    let mut counts = [0; 7];
    let columns = ["items", "succeeded", "failed", "cancelled", "deleted", "held", "at_work"];
    for (count, column) in counts.iter_mut().zip(columns) {
        *count = row.count(column)?;
    }
    // A transaction may have ended after this one that began before it.
    let at = tx.now()?.max(row.time("last_change")?);
    Ok(Some(Snapshot { state: found.state, at, counts }))
}

/// What is said of a page of items behind `after`, with the numbers behind `numbered`.
fn rows(
    tx: &mut dyn Transaction,
    batch: BatchId,
    after: ItemId,
    numbered: u64,
) -> Result<Vec<ReportRow>, RegistryError> {
    let values = [numbered.into(), batch.into(), after.into(), PAGE.into()];
    tx.query(Statement("report_rows.now"), &values)?.iter().map(row_of_report).collect()
}

/// Begins the report of a snapshot. None where the batch has ended since: it has another report then.
///
/// # Errors
/// The batch was deleted.
pub fn begin(
    tx: &mut dyn Transaction,
    batch: &Batch,
    who: &str,
    snapshot: &Snapshot,
) -> Result<Option<ReportId>, RegistryError> {
    if is_ended(lock_to_report(tx, batch)?) {
        return Ok(None);
    }
    let id = ReportId::new();
    let mut values = vec![id.into(), batch.id.into(), snapshot.state.as_str().into(), snapshot.at.into(), who.into()];
    values.extend(snapshot.counts.iter().map(|count| (*count).into()));
    tx.execute(Statement("reports.insert_counted"), &values)?;
    Ok(Some(id))
}

/// Writes rows of a report that was begun; at most 1,000 at a time. A repeat changes nothing.
pub fn put(tx: &mut dyn Transaction, report: ReportId, rows: &[ReportRow]) -> Result<(), RegistryError> {
    let mut rows = rows.iter().map(|row| {
        // Texts only: it cannot fail.
        let local_ids = serde_json::to_string(&row.local_ids).unwrap_or_default();
        vec![
            report.into(),
            row.row.into(),
            row.item.into(),
            (&row.name).into(),
            (&row.object_identifier).into(),
            row.version.into(),
            local_ids.into(),
            row.ark.clone().into(),
            row.state.as_str().into(),
            row.stage.as_str().into(),
            row.code.clone().into(),
            row.message.clone().into(),
            row.is_changed.into(),
        ]
    });
    tx.execute_each(Statement("report_rows.put"), &mut rows)?;
    Ok(())
}

/// Ends a report all rows of which are written: from here on it is shown, and the provisional ones before it are not.
pub fn end(tx: &mut dyn Transaction, report: ReportId) -> Result<(), RegistryError> {
    let found = get(tx, report)?;
    tx.execute(Statement("reports.set_filled"), &[report.into()])?;
    complete(tx, report)?;
    tx.execute(Statement("reports.abandon_provisional"), &[found.batch.into(), found.number.into()])?;
    Ok(())
}

/// A provisional report that is not whole and of which no process goes on: another took its place, or it was begun before `before`.
pub fn next_abandoned(tx: &mut dyn Transaction, before: Time) -> Result<Option<ReportId>, RegistryError> {
    let row = tx.query_one(Statement("reports.abandoned"), &[before.into()])?;
    row.map(|row| Ok(ReportId(row.uuid("id")?))).transpose()
}

/// Removes a page of the rows of such a report, and the report where there are no more. Whether it is gone.
pub fn drop_page(tx: &mut dyn Transaction, report: ReportId) -> Result<bool, RegistryError> {
    let dropped = tx.execute(Statement("report_rows.drop"), &[report.into(), PAGE.into()])?;
    if usize::try_from(dropped).is_ok_and(|dropped| dropped == PAGE) {
        return Ok(false);
    }
    tx.execute(Statement("reports.drop"), &[report.into()])?;
    Ok(true)
}
