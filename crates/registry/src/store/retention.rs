//! What ends after a time that the settings say: lines of item history, messages of the outbox, receipts of uploads, ended
//! work items. Each function removes at most a bounded number of rows and says whether there may be more. And how many rows
//! the tables have that grow with use.

use strongroom_database::{Statement, Time, Transaction};
use uuid::Uuid;

use crate::versions::ROWS_AT_ONCE;
use crate::{BatchId, ItemId, RegistryError, tenants};

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

/// The tables that grow with use and hold nothing of what is kept, with the statements that count all of their rows, and some.
const TABLES: [(&str, Statement, Statement); 8] = [
    ("work_items", Statement("sizes.work_items"), Statement("sizes.work_items_up_to")),
    ("item_history", Statement("sizes.item_history"), Statement("sizes.item_history_up_to")),
    ("events", Statement("sizes.events"), Statement("sizes.events_up_to")),
    ("outbox", Statement("sizes.outbox"), Statement("sizes.outbox_up_to")),
    ("journal", Statement("sizes.journal"), Statement("sizes.journal_up_to")),
    ("receipts", Statement("sizes.receipts"), Statement("sizes.receipts_up_to")),
    ("report_rows", Statement("sizes.report_rows"), Statement("sizes.report_rows_up_to")),
    ("uploads", Statement("sizes.uploads"), Statement("sizes.uploads_up_to")),
];
/// What the names of the facts begin with that say how many rows a table had.
const ROWS: &str = "tables.rows/";
/// The fact that says when they were counted.
const COUNTED_AT: &str = "tables.counted_at";

/// The rows of the tables that grow with use and hold nothing of what is kept, by name.
pub fn sizes(tx: &mut dyn Transaction) -> Result<Vec<(&'static str, u64)>, RegistryError> {
    let mut sizes = Vec::with_capacity(TABLES.len());
    for (table, statement, _) in TABLES {
        let row = tx.query_one(statement, &[])?;
        sizes.push((table, row.map_or(Ok(0), |row| row.count("row_count"))?));
    }
    Ok(sizes)
}

/// Notes how many rows the tables had, for [`sizes_now`].
pub fn note_sizes(tx: &mut dyn Transaction, sizes: &[(&'static str, u64)]) -> Result<(), RegistryError> {
    let now = tx.now()?;
    for (table, rows) in sizes {
        tenants::set_fact(tx, &format!("{ROWS}{table}"), &rows.to_string())?;
    }
    tenants::set_fact(tx, COUNTED_AT, &now.to_string())
}

/// The rows of the tables that grow with use.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TableSizes {
    /// By name: counted now where there are no more than the limit, else as they were last noted.
    pub rows: Vec<(&'static str, u64)>,
    /// The tables that have more rows than that, and were never noted to.
    pub at_least: Vec<&'static str>,
    /// When those were noted that were not counted now.
    pub counted_at: Option<String>,
}

/// The rows of the tables that grow with use; of each no more than one beyond `limit` are counted.
pub fn sizes_now(tx: &mut dyn Transaction, limit: u64) -> Result<TableSizes, RegistryError> {
    let mut sizes = TableSizes::default();
    for (table, _, up_to) in TABLES {
        let row = tx.query_one(up_to, &[(limit + 1).into()])?;
        let mut rows = row.map_or(Ok(0), |row| row.count("row_count"))?;
        if rows > limit {
            let noted = tenants::fact(tx, &format!("{ROWS}{table}"))?.and_then(|text| text.parse::<u64>().ok());
            if let Some(noted) = noted.filter(|noted| *noted > limit) {
                rows = noted;
                sizes.counted_at = tenants::fact(tx, COUNTED_AT)?;
            } else {
                rows = limit;
                sizes.at_least.push(table);
            }
        }
        sizes.rows.push((table, rows));
    }
    Ok(sizes)
}
