//! Batches: one submission and the work items made from it.

use strongroom_database::{Asked, Row, Statement, Time, Transaction};
use strongroom_queue::tasks;
use uuid::Uuid;

pub use super::batch_requests::{BatchAct, BatchRequest, Step, being_deleted, request};
pub use super::stops::{Stop, count_ending, stop_of, stops};
use crate::{
    BatchId, BatchState, CollectionId, InstitutionId, ItemId, ItemStatus, Order, RegistryError, Scope,
    deletion_requests, items, notifications, reports,
};

/// A batch as it stands.
#[derive(Debug, Clone)]
pub struct Batch {
    /// Its identifier.
    pub id: BatchId,
    /// Whose it is.
    pub institution: InstitutionId,
    /// The institution's domain name.
    pub institution_identifier: String,
    /// The collection that it is for.
    pub collection: Option<CollectionId>,
    /// The collection's short name.
    pub collection_identifier: Option<String>,
    /// What was submitted: `bag`, `file`, ...
    pub kind: String,
    /// Where it is.
    pub state: BatchState,
    /// Who submitted it.
    pub submitted_by: String,
    /// The depositor's note.
    pub note: Option<String>,
    /// How many items its rows became; none while not every row has one.
    pub row_count: Option<u64>,
    /// When it was made.
    pub created_at: Time,
    /// When it last changed.
    pub updated_at: Time,
}

/// A batch to be made.
#[derive(Debug, Clone, Copy)]
pub struct NewBatch<'a> {
    /// Fixed by the caller, so that a repeat makes nothing.
    pub id: BatchId,
    /// Whose it is.
    pub institution: InstitutionId,
    /// The collection it is for.
    pub collection: Option<CollectionId>,
    /// What was submitted: `bag`, `file`, ...
    pub kind: &'a str,
    /// Who submitted it.
    pub submitted_by: &'a str,
    /// The depositor's note.
    pub note: Option<&'a str>,
    /// How many items its rows become in the same transaction; none where an item makes them later, see [`list_made`].
    pub row_count: Option<u64>,
    /// The addresses that its mails go to, instead of those of its collection; none: those of the collection.
    pub notify_to: &'a [String],
}

/// Makes a batch: `processing` where its items are made in the same transaction, `pending` where the rows of a list become items later.
/// A repeat makes nothing. Where mails about it have recipients, a task follows.
pub fn create(tx: &mut dyn Transaction, new: &NewBatch<'_>) -> Result<(), RegistryError> {
    let now = tx.now()?;
    let state = if new.row_count.is_some() { BatchState::Processing } else { BatchState::Pending };
    let made = tx.query_one(
        Statement("batches.insert"),
        &[
            new.id.into(),
            new.institution.into(),
            new.collection.into(),
            new.kind.into(),
            state.as_str().into(),
            new.submitted_by.into(),
            new.note.into(),
            now.into(),
            new.row_count.into(),
            notifications::as_json(new.notify_to).into(),
        ],
    )?;
    if made.map_or(Ok(false), |row| row.bool("has_addresses"))? {
        reports::enqueue(tx, reports::Subject::Queued(new.id), new.institution, Vec::new())?;
    }
    Ok(())
}

/// Records that every row of a list has an item. Where that was the last list of the batch, its rows are counted. A repeat changes
/// nothing. The topics that have new work.
pub fn list_made(tx: &mut dyn Transaction, batch: BatchId, list: ItemId) -> Result<Vec<String>, RegistryError> {
    // The item before its batch, as where a stage ends.
    tx.execute(Statement("batches.make_list"), &[list.into()])?;
    tx.execute(Statement("batches.count_rows"), &[batch.into()])?;
    Ok(settle(tx, batch)?.topics)
}

/// A batch, or none within the scope.
pub fn get(tx: &mut dyn Transaction, scope: Scope, id: BatchId) -> Result<Option<Batch>, RegistryError> {
    tx.query_one(Statement("batches.get"), &[id.into(), scope.value()])?.as_ref().map(batch_row).transpose()
}

/// Which batches are listed.
#[derive(Debug, Clone, Default)]
pub struct BatchFilter {
    /// Only this state; those that were deleted only by it.
    pub state: Option<BatchState>,
    /// Only those of a collection.
    pub collection: Option<CollectionId>,
    /// Only those made since.
    pub since: Option<Time>,
    /// In which order.
    pub order: Order,
}

/// Batches in the order that the filter says, after `after`.
pub fn list(
    tx: &mut dyn Transaction,
    scope: Scope,
    filter: &BatchFilter,
    after: Option<BatchId>,
    limit: usize,
) -> Result<Vec<Batch>, RegistryError> {
    let start = match filter.order {
        Order::OldestFirst => Uuid::nil(),
        Order::NewestFirst => Uuid::max(),
    };
    let values = [
        after.unwrap_or(BatchId(start)).into(),
        scope.value(),
        filter.state.map(BatchState::as_str).into(),
        filter.since.into(),
        limit.into(),
        filter.collection.into(),
    ];
    tx.query(statement_of(scope, filter), &values)?.iter().map(batch_row).collect()
}

/// The statement that reads the fewest rows for a filter: by the index of what it asks for most narrowly.
fn statement_of(scope: Scope, filter: &BatchFilter) -> Statement {
    let (oldest, newest) = if filter.collection.is_some() {
        (Statement("batches.oldest_of_collection"), Statement("batches.newest_of_collection"))
    } else if matches!(scope, Scope::Institution(_)) {
        (Statement("batches.oldest_of_institution"), Statement("batches.newest_of_institution"))
    } else {
        (Statement("batches.oldest"), Statement("batches.newest"))
    };
    match filter.order {
        Order::OldestFirst => oldest,
        Order::NewestFirst => newest,
    }
}

/// How many items of a batch have each status. An item that makes those of the rows of a list counts while it has not done so, as reports
/// list it: what is counted of a batch that has ended is its rows.
pub fn counts(tx: &mut dyn Transaction, batch: &Batch) -> Result<Vec<(ItemStatus, u64)>, RegistryError> {
    let mut counts = items::counts(tx, Scope::System, Some(batch.id))?;
    let all: u64 = counts.iter().map(|(_, count)| count).sum();
    if batch.row_count == Some(all) {
        return Ok(counts);
    }
    for row in tx.query(Statement("batches.done_lists"), &[batch.id.into()])? {
        let (of, lists) = (row.text("status")?.parse()?, row.count("items")?);
        for (_, count) in counts.iter_mut().filter(|(status, _)| *status == of) {
            *count = count.saturating_sub(lists);
        }
    }
    Ok(counts)
}

/// Sets the state that a person asked for.
pub fn set_state(tx: &mut dyn Transaction, id: BatchId, state: BatchState) -> Result<(), RegistryError> {
    let now = tx.now()?;
    tx.execute(Statement("batches.set_state"), &[id.into(), state.as_str().into(), now.into()])?;
    Ok(())
}

/// Which version of the rules of its collection a batch has; none without a collection.
pub fn rules_version(tx: &mut dyn Transaction, id: BatchId) -> Result<Option<u64>, RegistryError> {
    let row = tx.query_one(Statement("batches.rules_version"), &[id.into()])?;
    Ok(row.map(|row| row.optional_integer("rules_version")).transpose()?.flatten().map(i64::unsigned_abs))
}

/// Sets the addresses that mails about a batch go to; none: those of its collection.
pub fn set_addresses(tx: &mut dyn Transaction, id: BatchId, addresses: &[String]) -> Result<(), RegistryError> {
    tx.execute(Statement("batches.set_addresses"), &[id.into(), notifications::as_json(addresses).into()])?;
    Ok(())
}

/// Has a batch go on with the rules that its collection has now. Whether it had others.
pub fn take_new_rules(tx: &mut dyn Transaction, id: BatchId) -> Result<bool, RegistryError> {
    Ok(tx.execute(Statement("batches.take_new_rules"), &[id.into()])? > 0)
}

/// The topics that are paused and in which items of a batch wait. Where all topics are, those that come to be later as well, and an item
/// waits, the answer is `all`.
pub fn paused_topics(tx: &mut dyn Transaction, id: BatchId) -> Result<Vec<String>, RegistryError> {
    if tasks::are_all_paused(tx)? {
        let waits = tx.query_one(Statement("batches.waits"), &[id.into()])?.is_some();
        return Ok(if waits { vec!["all".to_owned()] } else { Vec::new() });
    }
    let mut paused = Vec::new();
    for topic in tasks::paused_topics(tx)? {
        if tx.query_one(Statement("batches.waits_in"), &[id.into(), (&topic).into()])?.is_some() {
            paused.push(topic);
        }
    }
    Ok(paused)
}

/// What follows from the state of a batch.
#[derive(Debug, Default)]
pub(crate) struct Settled {
    /// The topics that have new work.
    pub(crate) topics: Vec<String>,
    /// Whether the ends of its items are told to a program.
    pub(crate) has_callback: bool,
}

/// Derives a batch's state from its items, whenever one of them ended, was held or continues. While one is at work or waits: `pending`
/// until every row has an item, then `processing`. When all that are open are held: `held`. When none is open, with a report: `completed`
/// where every row has an item and all succeeded, else `failed`; one that was deleted counts as what it was before.
pub(crate) fn settle(tx: &mut dyn Transaction, id: BatchId) -> Result<Settled, RegistryError> {
    // Two items that come to rest together would each see the other at work; changed, not only locked, the row says
    // every kind of transaction that the other was there.
    let found = tx.query_together(&[
        Asked::once(Statement("batches.lock"), vec![id.into()]),
        Asked::once(Statement("batches.get"), vec![id.into(), Scope::System.value()]),
        Asked::once(Statement("batches.has_items"), vec![id.into()]),
    ])?;
    let mut found = found.into_iter().skip(1).map(|rows| rows.into_iter().next().flatten());
    let (Some(batch), Some(row)) = (found.next().flatten(), found.next().flatten()) else {
        return Ok(Settled::default());
    };
    let batch = batch_row(&batch)?;
    if batch.state == BatchState::Deleted {
        // It has no report; the ends of its items are told like those of others.
        let has_callback = notifications::of_batch(tx, id)?.callback_url.is_some();
        return Ok(Settled { topics: Vec::new(), has_callback });
    }
    let (at_work, held) = (row.bool("has_items_at_work")?, row.bool("has_held_items")?);
    let has_failed = row.bool("has_unsuccessful_items")? || batch.row_count.is_none();
    let state = match (at_work, held, has_failed) {
        (true, _, _) if batch.row_count.is_none() => BatchState::Pending,
        (true, _, _) => BatchState::Processing,
        (false, true, _) => BatchState::Held,
        (false, false, true) => BatchState::Failed,
        (false, false, false) => BatchState::Completed,
    };
    let (has_listeners, has_callback) = (row.bool("has_listeners")?, row.bool("has_callback")?);
    let mut settled = Settled { topics: Vec::new(), has_callback };
    if state != batch.state {
        set_state(tx, id, state)?;
        let has_ended = reports::is_ended(state) && !reports::is_ended(batch.state);
        if has_ended && reports::make_at_end(tx, &batch, state, has_listeners)? {
            settled.topics.push(reports::TOPIC.to_owned());
        }
        if has_ended && batch.kind == deletion_requests::BATCH_KIND {
            deletion_requests::end_with_batch(tx, id)?;
        }
    }
    Ok(settled)
}

fn batch_row(row: &Row) -> Result<Batch, RegistryError> {
    Ok(Batch {
        id: BatchId(row.uuid("id")?),
        institution: InstitutionId(row.uuid("institution_id")?),
        institution_identifier: row.text("institution_identifier")?.to_owned(),
        collection: row.optional_uuid("collection_id")?.map(CollectionId),
        collection_identifier: row.optional_text("collection_identifier")?.map(str::to_owned),
        kind: row.text("type")?.to_owned(),
        state: row.text("state")?.parse()?,
        submitted_by: row.text("submitted_by")?.to_owned(),
        note: row.optional_text("note")?.map(str::to_owned),
        row_count: row.optional_integer("row_count")?.map(i64::unsigned_abs),
        created_at: row.time("created_at")?,
        updated_at: row.time("updated_at")?,
    })
}
