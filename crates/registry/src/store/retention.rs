//! What ends after a time that the settings say: lines of item history, messages of the outbox, receipts of uploads, ended
//! work items. Each function removes at most a bounded number of rows and says whether there may be more. And how many rows
//! the tables have that grow with use.

use strongroom_database::{Statement, Time, Transaction};
use uuid::Uuid;

use crate::versions::ROWS_AT_ONCE;
use crate::{BatchId, ItemId, RegistryError};

/// Work items inspected in one transaction: each has rows in other tables.
const ITEMS_AT_ONCE: usize = 100;

/// Removes lines of history from before `before`, of items that have ended, after `after`; an item's last line stays. How many
/// lines, and where to go on; `None` at the end.
pub fn drop_history(
    tx: &mut dyn Transaction,
    before: Time,
    after: Option<ItemId>,
) -> Result<(u64, Option<ItemId>), RegistryError> {
    let after = after.unwrap_or(ItemId(Uuid::nil()));
    let rows = tx.query(Statement("retention.old_items"), &[after.into(), before.into(), ITEMS_AT_ONCE.into()])?;
    let (mut dropped, mut last) = (0, None);
    for row in &rows {
        let item = ItemId(row.uuid("id")?);
        last = Some(item);
        dropped += tx.execute(Statement("retention.drop_history"), &[item.into(), before.into()])?;
    }
    Ok((dropped, if rows.len() < ITEMS_AT_ONCE { None } else { last }))
}

/// Removes messages put into the outbox before `before`: those that were delivered, and those of kinds that nothing delivers.
/// How many; fewer than [`ROWS_AT_ONCE`] are all.
pub fn drop_outbox(tx: &mut dyn Transaction, before: Time) -> Result<u64, RegistryError> {
    Ok(tx.execute(Statement("retention.drop_outbox"), &[before.into(), ROWS_AT_ONCE.into()])?)
}

/// Removes receipts from before `before` of items that have ended. How many; fewer than [`ROWS_AT_ONCE`] are all.
pub fn drop_receipts(tx: &mut dyn Transaction, before: Time) -> Result<u64, RegistryError> {
    Ok(tx.execute(Statement("retention.drop_receipts"), &[before.into(), ROWS_AT_ONCE.into()])?)
}

/// Removes items that ended before `before`, after `after`, with their history and problems, and batches of which no item is
/// left with their reports. The items of a batch go together, when it has ended before `before` as well. What a person has to review stays,
/// and what a receipt, an upload, a result of a restoration or an unpublished version names. How many items, and where to go on; `None` at the end.
pub fn drop_items(
    tx: &mut dyn Transaction,
    before: Time,
    after: Option<ItemId>,
) -> Result<(u64, Option<ItemId>), RegistryError> {
    let after = after.unwrap_or(ItemId(Uuid::nil()));
    let values = [before.into(), after.into(), false.into(), ITEMS_AT_ONCE.into()];
    let rows = tx.query(Statement("retention.ended_items"), &values)?;
    let mut last = None;
    let mut dropped = 0;
    for row in &rows {
        let item = ItemId(row.uuid("id")?);
        last = Some(item);
        let tasks = strongroom_queue::tasks::of_key(tx, &item.to_string())?;
        if !tasks.is_empty() {
            continue;
        }
        tx.execute(Statement("retention.drop_item_history"), &[item.into()])?;
        tx.execute(Statement("items.problems_clear"), &[item.into()])?;
        tx.execute(Statement("retention.drop_item_parts"), &[item.into()])?;
        tx.execute(Statement("retention.drop_item_restored"), &[item.into()])?;
        tx.execute(Statement("retention.drop_item_result"), &[item.into()])?;
        super::space::end_wait(tx, item)?;
        dropped += tx.execute(Statement("retention.drop_item"), &[item.into()])?;
        if let Some(batch) = row.optional_uuid("batch_id")?.map(BatchId) {
            tx.execute(Statement("retention.drop_report_rows"), &[batch.into()])?;
            tx.execute(Statement("retention.drop_reports"), &[batch.into()])?;
            tx.execute(Statement("retention.drop_batch"), &[batch.into()])?;
        }
    }
    Ok((dropped, if rows.len() < ITEMS_AT_ONCE { None } else { last }))
}

/// The rows of the tables that grow with use and hold nothing of what is kept, by name.
pub fn sizes(tx: &mut dyn Transaction) -> Result<Vec<(&'static str, u64)>, RegistryError> {
    let tables = [
        ("work_items", Statement("sizes.work_items")),
        ("item_history", Statement("sizes.item_history")),
        ("events", Statement("sizes.events")),
        ("outbox", Statement("sizes.outbox")),
        ("journal", Statement("sizes.journal")),
        ("receipts", Statement("sizes.receipts")),
        ("report_rows", Statement("sizes.report_rows")),
        ("uploads", Statement("sizes.uploads")),
    ];
    let mut sizes = Vec::with_capacity(tables.len());
    for (table, statement) in tables {
        let row = tx.query_one(statement, &[])?;
        sizes.push((table, row.map_or(Ok(0), |row| row.count("row_count"))?));
    }
    Ok(sizes)
}
