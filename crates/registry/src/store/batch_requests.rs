//! What people ask of batches. Part of [`crate::batches`].

use strongroom_database::{Statement, Transaction};
use uuid::Uuid;

use super::batches::{Batch, get, set_state, settle, take_new_rules};
use super::confirmations;
use super::holds::{self, On};
use super::items::{self, Asker, Item, ItemFilter, Request};
use crate::{BatchId, BatchState, ItemId, ItemStatus, RegistryError, Scope, Workflows};

/// What a person asks of a batch: one transaction carries it out for a page of its items.
#[derive(Debug, Clone, Copy)]
pub struct BatchAct<'a> {
    /// What is asked.
    pub request: Request,
    /// Who asks, and why.
    pub by: Asker<'a>,
    /// The last item of the page before; none at the beginning.
    pub after: Option<ItemId>,
    /// Whether the batch goes on with the rules that its collection has now. Its items that wait for a confirmation look at them at once.
    pub takes_new_rules: bool,
}

/// What one transaction of a request for a batch did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BatchRequest {
    /// The topics that have new work.
    pub topics: Vec<String>,
    /// How many of its items the request changed, or asked a worker to end; of the others nothing was asked.
    pub items: u64,
    /// Whether the request changed anything.
    pub has_changed: bool,
    /// How many of its failed items cannot be requeued, because their packages would fail again.
    pub permanent: u64,
    /// How many items refused the request, though it meant them; they are as they were.
    pub refused: u64,
    /// Why the first of them did.
    pub refusal: Option<String>,
    /// The last item of the page, to go on behind; none where the request is carried out.
    pub last: Option<ItemId>,
}

/// Carries out a person's request for a batch, for one page of its items. A hold is placed on the batch itself, or lifted; the first of
/// its items follow in the same transaction, the others by [`holds::settle`]. The other requests are for every item of it that they mean:
/// the open are cancelled, those that wait or are worked on fail, those that failed are requeued unless their packages would fail
/// again, and all are deleted. Items whose version is committed go on to their end. What makes items of rows is stopped by the first
/// transaction, so that none is made behind it.
///
/// A batch is deleted by its first transaction: no stage of its items begins from then on, and no report is made of their ends. An item
/// that a worker has is cancelled, and deleted when it has ended. Where the process is killed, or something fails, the same request does
/// the rest; see also [`being_deleted`].
///
/// New rules are taken by the first transaction. Each wakes the items of its page that wait for the confirmation of a program: they may wait
/// by rules that hold no more. What a killed process has not woken, the same request wakes.
///
/// # Errors
/// [`RegistryError::StillHeld`] where the batch has no hold of its own to be lifted.
pub fn request(
    tx: &mut dyn Transaction,
    workflows: &dyn Workflows,
    scope: Scope,
    id: BatchId,
    act: BatchAct<'_>,
) -> Result<BatchRequest, RegistryError> {
    let BatchAct { request, by, after, takes_new_rules } = act;
    let Some(batch) = get(tx, scope, id)? else {
        return Err(RegistryError::NotFound { what: "batch", id: id.to_string() });
    };
    if matches!(request, Request::Hold | Request::Release) {
        return hold_or_release(tx, workflows, &batch, request, by);
    }
    let mut done = BatchRequest::default();
    if after.is_none() {
        if request == Request::Delete {
            begin_deletion(tx, &batch, by)?;
        }
        if !matches!(request, Request::Requeue(_)) {
            for row in tx.query(Statement("batches.open_lists"), &[id.into()])? {
                let list = items::find(tx, Scope::System, ItemId(row.uuid("id")?))?;
                carry_out_for(tx, workflows, &list, (request, by), &mut done)?;
            }
        }
    }
    let filter = ItemFilter { batch: Some(id), ..ItemFilter::default() };
    let page = items::list(tx, Scope::System, &filter, after, ITEMS_AT_ONCE)?;
    let mut woken = Vec::new();
    for item in &page {
        if takes_new_rules {
            woken.extend(confirmations::look_again(tx, item)?);
        }
        carry_out_for(tx, workflows, item, (request, by), &mut done)?;
    }
    done.last = page.last().map(|last| last.id).filter(|_| page.len() == ITEMS_AT_ONCE);
    if request == Request::Delete {
        if done.last.is_none() {
            end_deletion(tx, id)?;
        }
    } else if done.items > 0 {
        done.topics.extend(settle(tx, id)?.topics);
    }
    done.has_changed = done.items > 0 || !woken.is_empty();
    // The items before their batch, as where a stage ends.
    if takes_new_rules && after.is_none() {
        done.has_changed |= take_new_rules(tx, id)?;
    }
    done.topics.extend(woken);
    done.topics.sort();
    done.topics.dedup();
    Ok(done)
}

/// Items that one transaction of a request changes.
const ITEMS_AT_ONCE: usize = 100;

/// Carries out a request for one item of a batch, where it means the item.
fn carry_out_for(
    tx: &mut dyn Transaction,
    workflows: &dyn Workflows,
    item: &Item,
    (request, by): (Request, Asker<'_>),
    done: &mut BatchRequest,
) -> Result<(), RegistryError> {
    let Some(request) = request_for(request, item) else { return Ok(()) };
    match items::request(tx, workflows, Scope::System, item.id, request, by) {
        Ok(topics) => {
            done.topics.extend(topics);
            done.items += 1;
        }
        Err(RegistryError::Permanent { .. }) => done.permanent += 1,
        Err(error @ RegistryError::State { .. }) => {
            done.refused += 1;
            done.refusal.get_or_insert_with(|| error.to_string());
        }
        Err(error) => return Err(error),
    }
    Ok(())
}

/// What a request for a batch asks of an item; none where it does not mean it.
fn request_for(request: Request, item: &Item) -> Option<Request> {
    let is_open = !item.status.is_ended();
    if is_open && item.is_committed {
        return None;
    }
    let is_meant = match request {
        Request::Hold | Request::Release => false,
        Request::Cancel => is_open,
        // What was cancelled stays so.
        Request::Fail => {
            let is_cancelled = item.cancel_requested == Some(ItemStatus::Cancelled);
            is_open && item.status != ItemStatus::Held && !is_cancelled
        }
        Request::Delete if item.status == ItemStatus::Started => {
            return item.cancel_requested.is_none().then_some(Request::Cancel);
        }
        Request::Delete => item.status != ItemStatus::Deleted,
        Request::Requeue(_) => item.status == ItemStatus::Failed,
    };
    is_meant.then_some(request)
}

/// Why nothing of a batch begins that is being deleted.
const BEING_DELETED: &str = "the batch is being deleted";

/// Marks a batch as deleted, and holds its items until they are deleted as well. A repeat changes nothing.
fn begin_deletion(tx: &mut dyn Transaction, batch: &Batch, by: Asker<'_>) -> Result<(), RegistryError> {
    tx.execute(Statement("batches.lock"), &[batch.id.into()])?;
    let state = get(tx, Scope::System, batch.id)?.map_or(batch.state, |batch| batch.state);
    if state != BatchState::Deleted {
        holds::lift(tx, On::Batch(batch.id))?;
        set_state(tx, batch.id, BatchState::Deleted)?;
    }
    if tx.query_one(Statement("batches.has_undeleted"), &[batch.id.into()])?.is_some() {
        let by = Asker { reason: Some(BEING_DELETED), ..by };
        holds::place(tx, On::Batch(batch.id), batch.institution, by)?;
    }
    Ok(())
}

/// Lifts the hold by which a batch is being deleted, where all of its items are.
fn end_deletion(tx: &mut dyn Transaction, id: BatchId) -> Result<(), RegistryError> {
    if tx.query_one(Statement("batches.has_undeleted"), &[id.into()])?.is_none() {
        holds::lift(tx, On::Batch(id))?;
    }
    Ok(())
}

/// At most `limit` batches that were deleted and have items that are not, behind `after`, each with who deleted it. A read.
pub fn being_deleted(
    tx: &mut dyn Transaction,
    after: Option<BatchId>,
    limit: usize,
) -> Result<Vec<(BatchId, String)>, RegistryError> {
    let values = [after.unwrap_or(BatchId(Uuid::nil())).into(), limit.into()];
    let rows = tx.query(Statement("batches.being_deleted"), &values)?;
    rows.iter().map(|row| Ok((BatchId(row.uuid("id")?), row.text("placed_by")?.to_owned()))).collect()
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
    } else if batch.state == BatchState::Deleted {
        (ItemStatus::Held, false)
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
    let found = holds::unsettled(tx, Some(batch.id), status, None, ITEMS_AT_ONCE)?.items;
    let (items, topics) = holds::settle(tx, workflows, &found, by.who)?;
    Ok(BatchRequest { topics, items, has_changed, ..BatchRequest::default() })
}
