//! Batches: one submission and the work items made from it.

use strongroom_database::{Row, Statement, Time, Transaction};
use uuid::Uuid;

use crate::holds::{self, On};
use crate::items::{self, Asker, Item, ItemFilter, Request};
use crate::{
    BatchId, BatchState, CollectionId, InstitutionId, ItemId, ItemStatus, Order, RegistryError, Scope, Workflows,
    notifications, reports,
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
    let (statement, start) = match filter.order {
        Order::OldestFirst => (Statement("batches.list"), Uuid::nil()),
        Order::NewestFirst => (Statement("batches.newest"), Uuid::max()),
    };
    let values = [
        after.unwrap_or(BatchId(start)).into(),
        scope.value(),
        filter.state.map(BatchState::as_str).into(),
        filter.since.into(),
        limit.into(),
    ];
    tx.query(statement, &values)?.iter().map(batch_row).collect()
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

/// Has a batch go on with the rules that its collection has now. Whether it had others.
pub fn take_new_rules(tx: &mut dyn Transaction, id: BatchId) -> Result<bool, RegistryError> {
    Ok(tx.execute(Statement("batches.take_new_rules"), &[id.into()])? > 0)
}

/// What a request for a batch did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BatchRequest {
    /// The topics that have new work.
    pub topics: Vec<String>,
    /// How many of its items the request meant; of the others nothing was asked.
    pub items: u64,
    /// Whether the request changed anything.
    pub has_changed: bool,
    /// How many of its failed items cannot be requeued, because their packages would fail again.
    pub permanent: u64,
}

/// Carries out a person's request for a batch. A hold is placed on the batch itself, or lifted; the first of its items follow in the same
/// transaction, the others by [`holds::settle`]. The other requests are for every item of it that they mean, all or none: the open are
/// cancelled, all are deleted, those that failed are requeued unless their packages would fail again. Items whose version is committed
/// go on to their end.
///
/// # Errors
/// [`RegistryError::StillHeld`] where the batch has no hold of its own to be lifted.
pub fn request<'a>(
    tx: &mut dyn Transaction,
    workflows: &dyn Workflows,
    scope: Scope,
    id: BatchId,
    request: Request,
    by: impl Into<Asker<'a>>,
) -> Result<BatchRequest, RegistryError> {
    let by = by.into();
    let Some(batch) = get(tx, scope, id)? else {
        return Err(RegistryError::NotFound { what: "batch", id: id.to_string() });
    };
    if matches!(request, Request::Hold | Request::Release) {
        return hold_or_release(tx, workflows, &batch, request, by);
    }
    let mut permanent = 0;
    if request == Request::Delete {
        // First, so that no report is made of the ends of its items.
        holds::lift(tx, On::Batch(id))?;
        set_state(tx, id, BatchState::Deleted)?;
    }
    let filter = ItemFilter { batch: Some(id), ..ItemFilter::default() };
    let (mut topics, mut meant, mut after) = (Vec::new(), 0, None);
    loop {
        let page = items::list(tx, scope, &filter, after, PAGE)?;
        let Some(last) = page.last() else { break };
        after = Some(last.id);
        for item in page.iter().filter(|item| is_meant(request, item)) {
            if request == Request::Cancel && item.is_committed {
                continue;
            }
            if matches!(request, Request::Requeue(_)) && items::is_permanent(tx, item)?.is_some() {
                permanent += 1;
                continue;
            }
            topics.extend(items::request(tx, workflows, scope, item.id, request, by)?);
            meant += 1;
        }
    }
    if request != Request::Delete {
        topics.extend(settle(tx, id)?.topics);
    }
    topics.sort();
    topics.dedup();
    Ok(BatchRequest { topics, items: meant, has_changed: meant > 0, permanent })
}

/// Places a hold on a batch, or lifts it.
fn hold_or_release(
    tx: &mut dyn Transaction,
    workflows: &dyn Workflows,
    batch: &Batch,
    request: Request,
    by: Asker<'_>,
) -> Result<BatchRequest, RegistryError> {
    let (status, has_changed) = if request == Request::Hold {
        (ItemStatus::Pending, batch.state.is_open() && holds::place(tx, On::Batch(batch.id), batch.institution, by)?)
    } else {
        let before = holds::of_batch(tx, batch)?;
        let is_lifted = holds::lift(tx, On::Batch(batch.id))?;
        if !is_lifted && !before.is_empty() {
            return Err(RegistryError::StillHeld { what: "batch", id: batch.id.to_string(), holds: before });
        }
        (ItemStatus::Held, is_lifted)
    };
    if !has_changed {
        return Ok(BatchRequest::default());
    }
    let found = holds::unsettled(tx, Some(batch.id), status, None, PAGE)?.items;
    let (items, topics) = holds::settle(tx, workflows, &found, by.who)?;
    Ok(BatchRequest { topics, items, has_changed, permanent: 0 })
}

/// Items inspected in one go.
const PAGE: usize = 500;

/// Whether a request for a batch means an item; the others are left as they are.
fn is_meant(request: Request, item: &Item) -> bool {
    match request {
        Request::Hold | Request::Release => false,
        Request::Cancel => !item.status.is_ended(),
        Request::Delete => item.status != ItemStatus::Deleted,
        Request::Requeue(_) => item.status == ItemStatus::Failed,
    }
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
    tx.execute(Statement("batches.lock"), &[id.into()])?;
    let Some(batch) = get(tx, Scope::System, id)? else { return Ok(Settled::default()) };
    if batch.state == BatchState::Deleted {
        // It has no report; the ends of its items are told like those of others.
        let has_callback = notifications::of_batch(tx, id)?.callback_url.is_some();
        return Ok(Settled { topics: Vec::new(), has_callback });
    }
    let Some(row) = tx.query_one(Statement("batches.has_items"), &[id.into()])? else { return Ok(Settled::default()) };
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
