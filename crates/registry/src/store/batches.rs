//! Batches: one submission and the work items made from it.

use strongroom_database::{Row, Statement, Time, Transaction};
use uuid::Uuid;

use crate::items::{self, Item, ItemFilter, Request};
use crate::reports;
use crate::{BatchId, BatchState, CollectionId, InstitutionId, ItemStatus, Order, RegistryError, Scope, Workflows};

/// A batch as it stands.
#[derive(Debug, Clone)]
pub struct Batch {
    /// Its identifier.
    pub id: BatchId,
    /// Whose it is.
    pub institution: InstitutionId,
    /// The institution's domain name.
    pub institution_identifier: String,
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
    /// When it was made.
    pub created_at: Time,
    /// When it last changed.
    pub updated_at: Time,
}

/// Makes a batch, `processing` from the start: its items come in the same transaction. A repeat makes nothing. Where its collection
/// has it told, a task follows.
pub fn create(
    tx: &mut dyn Transaction,
    id: BatchId,
    institution: InstitutionId,
    collection: Option<CollectionId>,
    kind: &str,
    submitted_by: &str,
    note: Option<&str>,
) -> Result<(), RegistryError> {
    let now = tx.now()?;
    let made = tx.query_one(
        Statement("batches.insert"),
        &[
            id.into(),
            institution.into(),
            collection.into(),
            kind.into(),
            BatchState::Processing.as_str().into(),
            submitted_by.into(),
            note.into(),
            now.into(),
        ],
    )?;
    if made.map_or(Ok(false), |row| row.bool("has_listeners"))? {
        reports::enqueue(tx, reports::Subject::Queued(id), institution, Vec::new())?;
    }
    Ok(())
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

/// What a request for a batch did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BatchRequest {
    /// The topics that have new work.
    pub topics: Vec<String>,
    /// How many of its items the request meant; of the others nothing was asked.
    pub items: u64,
}

/// Carries out a person's request for every item of a batch that it means, all or none: those at work or waiting are held,
/// the held are released, the open are cancelled, all are put away, the failed are requeued. Items whose version is
/// committed go on to their end.
pub fn request(
    tx: &mut dyn Transaction,
    workflows: &dyn Workflows,
    scope: Scope,
    id: BatchId,
    request: Request,
    who: &str,
) -> Result<BatchRequest, RegistryError> {
    if get(tx, scope, id)?.is_none() {
        return Err(RegistryError::NotFound { what: "batch", id: id.to_string() });
    }
    if request == Request::Delete {
        // First, so that no report is made of the ends of its items.
        set_state(tx, id, BatchState::Deleted)?;
    }
    let filter = ItemFilter { batch: Some(id), ..ItemFilter::default() };
    let (mut topics, mut meant, mut after) = (Vec::new(), 0, None);
    loop {
        let page = items::list(tx, scope, &filter, after, PAGE)?;
        let Some(last) = page.last() else { break };
        after = Some(last.id);
        for item in page.iter().filter(|item| is_meant(request, item)) {
            let stops_it = matches!(request, Request::Hold | Request::Cancel);
            if stops_it && item.is_committed {
                continue;
            }
            topics.extend(items::request(tx, workflows, scope, item.id, request, who)?);
            meant += 1;
        }
    }
    if request != Request::Delete {
        topics.extend(settle(tx, id)?.topics);
    }
    topics.sort();
    topics.dedup();
    Ok(BatchRequest { topics, items: meant })
}

/// Items inspected in one go.
const PAGE: usize = 500;

/// Whether a request for a batch means an item; the others are left as they are.
fn is_meant(request: Request, item: &Item) -> bool {
    match request {
        Request::Hold => matches!(item.status, ItemStatus::Pending | ItemStatus::Started),
        Request::Release => item.status == ItemStatus::Held || item.cancel_requested == Some(ItemStatus::Held),
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

/// Derives a batch's state from its items, whenever one of them came to rest or was taken up again: `processing` while one
/// is at work or waits, `held` when all that are open are held, then `failed` or `completed`, with a report.
pub(crate) fn settle(tx: &mut dyn Transaction, id: BatchId) -> Result<Settled, RegistryError> {
    // Two items that come to rest together would each see the other at work; changed, not only locked, the row says
    // every kind of transaction that the other was there.
    tx.execute(Statement("batches.lock"), &[id.into()])?;
    let Some(batch) = get(tx, Scope::System, id)? else { return Ok(Settled::default()) };
    if batch.state == BatchState::Deleted {
        return Ok(Settled::default());
    }
    let Some(row) = tx.query_one(Statement("batches.has_items"), &[id.into()])? else { return Ok(Settled::default()) };
    let (at_work, held, failed) =
        (row.bool("has_items_at_work")?, row.bool("has_held_items")?, row.bool("has_failed_items")?);
    let state = match (at_work, held, failed) {
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
        collection_identifier: row.optional_text("collection_identifier")?.map(str::to_owned),
        kind: row.text("type")?.to_owned(),
        state: row.text("state")?.parse()?,
        submitted_by: row.text("submitted_by")?.to_owned(),
        note: row.optional_text("note")?.map(str::to_owned),
        created_at: row.time("created_at")?,
        updated_at: row.time("updated_at")?,
    })
}
