//! What people ask of batches. Part of [`crate::batches`].

use strongroom_database::{Statement, Time, Transaction};
use uuid::Uuid;

use super::batches::{Batch, get, set_state, take_new_rules};
use super::confirmations;
use super::endings::{Rested, conclude};
use super::holds::{self, On};
use super::items::{self, Asker, Item, ItemFilter, Request};
use super::requests::{lock_with_task, request_of_locked};
use super::stops;
use crate::{BatchId, BatchState, ItemId, ItemStatus, RegistryError, Scope, Workflows};

/// What a person asks of a batch: one transaction carries out one step of it.
#[derive(Debug, Clone, Copy)]
pub struct BatchAct<'a> {
    /// What is asked.
    pub request: Request,
    /// Who asks, and why.
    pub by: Asker<'a>,
    /// Which step.
    pub step: Step,
    /// Whether the batch goes on with the rules that its collection has now. Its items that wait for a confirmation look at them at once.
    pub takes_new_rules: bool,
}

/// The transactions of a request, in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// What is asked is written down. From then on no stage begins of an item that it means.
    Begin,
    /// It is carried out for a page of the items: the first, or those behind one.
    Page {
        /// The item.
        after: Option<ItemId>,
        /// When the cancellation or failure was asked for that is carried out: nothing is done where another one stands, or none any more.
        of: Option<Time>,
    },
    /// The cancellation or failure of this time ends, where every item was told. Else the pages follow once more: a worker that had not seen it has
    /// made items of rows behind them.
    End(Time),
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
    /// The step that follows; none where the request is carried out.
    pub next: Option<Step>,
}

/// Carries out one step of a person's request for a batch. A hold is placed on the batch itself, or lifted, and [`holds::settle`] brings
/// its items in line. The other requests are for every item of it that they mean: the open are cancelled, those that wait or are worked on fail,
/// those that failed are requeued unless their packages would fail again, and all are deleted. Items whose version is committed go on to
/// their end. What makes items of rows is stopped by the first page, so that none is made behind it.
///
/// The first step is short, however many items there are: workers find what it wrote with each item and carry it out, so that none of them begins
/// another stage while the pages come. A deletion marks the batch as deleted and holds its items; no report is made of their ends. An item
/// that a worker has is cancelled, and deleted when it has ended. Where the process is killed, or something fails, the same request does
/// the rest; see also [`being_deleted`] and [`super::stops::stops`].
///
/// Right by rows, but for a requeue.
///
/// New rules are taken by the first step. Each page wakes those of its items that wait for the confirmation of a program: they may wait
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
    let unknown = || RegistryError::NotFound { what: "batch", id: id.to_string() };
    get(tx, scope, id)?.ok_or_else(unknown)?;
    match act.step {
        Step::Page { after, of } => return carry_out_page(tx, workflows, id, (act, after, of)),
        Step::End(of) => return end_stop(tx, id, act.request, of),
        Step::Begin if matches!(act.request, Request::Cancel | Request::Fail) => {
            let batch = get(tx, scope, id)?.ok_or_else(unknown)?;
            return begin_stop(tx, &batch, act);
        }
        // Before the batch, as pages take them.
        Step::Begin if act.request == Request::Delete => stops::end(tx, id, None)?,
        Step::Begin => {}
    }
    tx.execute(Statement("batches.lock"), &[id.into()])?;
    let batch = get(tx, scope, id)?.ok_or_else(unknown)?;
    begin(tx, &batch, act)
}

/// The first page, of a cancellation or failure that was asked for at a time.
fn pages(of: Option<Time>) -> Step {
    Step::Page { after: None, of }
}

/// Writes down what is asked of a batch that is locked.
fn begin(tx: &mut dyn Transaction, batch: &Batch, act: BatchAct<'_>) -> Result<BatchRequest, RegistryError> {
    let BatchAct { request, by, takes_new_rules, .. } = act;
    let (has_changed, next) = match request {
        Request::Delete => (begin_deletion(tx, batch, by)?, Some(pages(None))),
        Request::Requeue(_) => {
            if let Some(stop) = stops::stop_of(tx, batch.id)? {
                return Err(refused(batch, format!("requeue it: it is {stop}; wait until that is done")));
            }
            (takes_new_rules && take_new_rules(tx, batch.id)?, Some(pages(None)))
        }
        _ => (hold_or_release(tx, batch, request, by)?, None),
    };
    Ok(BatchRequest { has_changed, next, ..BatchRequest::default() })
}

/// Carries out a request for a page of items. All of them are locked before the first is changed: the batch is locked with the first, and
/// workers take their item before its batch.
fn carry_out_page(
    tx: &mut dyn Transaction,
    workflows: &dyn Workflows,
    id: BatchId,
    (act, after, of): (BatchAct<'_>, Option<ItemId>, Option<Time>),
) -> Result<BatchRequest, RegistryError> {
    let BatchAct { request, by, takes_new_rules, .. } = act;
    if let Some(of) = of
        && !stops::keep(tx, id, of)?
    {
        return Ok(BatchRequest::default());
    }
    let mut meant = Vec::new();
    if after.is_none() && !matches!(request, Request::Requeue(_)) {
        for row in tx.query(Statement("batches.open_lists"), &[id.into()])? {
            meant.push(ItemId(row.uuid("id")?));
        }
    }
    // Before the items are read: what was made of rows until then is among them.
    for list in &meant {
        lock_with_task(tx, *list)?;
    }
    let filter = ItemFilter { batch: Some(id), ..ItemFilter::default() };
    let page = items::list(tx, Scope::System, &filter, after, ITEMS_AT_ONCE)?;
    let is_meant = |item: &&Item| request_for(request, item).is_some() && !meant.contains(&item.id);
    let of_page: Vec<ItemId> = page.iter().filter(is_meant).map(|item| item.id).collect();
    for item in &of_page {
        lock_with_task(tx, *item)?;
    }
    meant.extend(of_page);
    let found = meant.into_iter().map(|item| items::find(tx, Scope::System, item)).collect::<Result<Vec<_>, _>>()?;
    let mut done = BatchRequest::default();
    if takes_new_rules {
        for item in &page {
            done.topics.extend(confirmations::look_again(tx, item)?);
        }
    }
    done.has_changed = !done.topics.is_empty();
    let mut rested = Vec::new();
    for item in &found {
        rested.extend(carry_out_for(tx, workflows, item, (request, by), &mut done)?);
    }
    done.topics.extend(conclude(tx, &rested)?);
    let last = page.last().map(|last| last.id).filter(|_| page.len() == ITEMS_AT_ONCE);
    done.next = last.map(|last| Step::Page { after: Some(last), of }).or_else(|| of.map(Step::End));
    if request == Request::Delete && done.next.is_none() {
        end_deletion(tx, id)?;
    }
    done.has_changed |= done.items > 0;
    done.topics.sort();
    done.topics.dedup();
    Ok(done)
}

/// Items that one transaction of a request changes.
const ITEMS_AT_ONCE: usize = 50;

/// Carries out a request for one item of a batch, where it means the item; what is to be concluded then.
fn carry_out_for<'i>(
    tx: &mut dyn Transaction,
    workflows: &dyn Workflows,
    item: &'i Item,
    (request, by): (Request, Asker<'_>),
    done: &mut BatchRequest,
) -> Result<Option<Rested<'i>>, RegistryError> {
    let Some(request) = request_for(request, item) else { return Ok(None) };
    match request_of_locked(tx, workflows, item, request, by) {
        Ok((topics, rested)) => {
            done.topics.extend(topics);
            done.items += 1;
            return Ok(rested);
        }
        Err(RegistryError::Permanent { .. }) => done.permanent += 1,
        Err(error @ RegistryError::State { .. }) => {
            done.refused += 1;
            done.refusal.get_or_insert_with(|| error.to_string());
        }
        Err(error) => return Err(error),
    }
    Ok(None)
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

/// What the items are to be that a cancellation or a failure means.
fn wanted(request: Request) -> ItemStatus {
    if request == Request::Fail { ItemStatus::Failed } else { ItemStatus::Cancelled }
}

/// Has every item that a cancellation or a failure means obey it from now on, where there is one. Of a batch that is deleted there is none. It
/// does not wait for the batch, which workers change all the time.
fn begin_stop(tx: &mut dyn Transaction, batch: &Batch, act: BatchAct<'_>) -> Result<BatchRequest, RegistryError> {
    let BatchAct { request, by, .. } = act;
    let statement = match request {
        Request::Fail => Statement("batches.has_items_to_fail"),
        _ => Statement("batches.has_items_to_cancel"),
    };
    if batch.state == BatchState::Deleted || tx.query_one(statement, &[batch.id.into()])?.is_none() {
        stops::end(tx, batch.id, Some(wanted(request)))?;
        return Ok(BatchRequest::default());
    }
    match stops::begin(tx, batch.id, wanted(request), by)? {
        Some(stop) if stop.status == wanted(request) => {
            Ok(BatchRequest { has_changed: true, next: Some(pages(Some(stop.asked_at))), ..BatchRequest::default() })
        }
        Some(stop) => Err(refused(batch, format!("let it fail: it is {stop}"))),
        None => Err(RegistryError::Corrupt { wanted: "what was asked of the batch", found: "nothing".to_owned() }),
    }
}

/// Ends a cancellation or failure, where every item was told.
fn end_stop(tx: &mut dyn Transaction, id: BatchId, request: Request, of: Time) -> Result<BatchRequest, RegistryError> {
    let statement = match request {
        Request::Fail => Statement("batches.has_untold_to_fail"),
        _ => Statement("batches.has_untold_to_cancel"),
    };
    let mut done = BatchRequest::default();
    if stops::keep(tx, id, of)? {
        if tx.query_one(statement, &[id.into()])?.is_some() {
            done.next = Some(pages(Some(of)));
        } else {
            stops::end(tx, id, Some(wanted(request)))?;
        }
    }
    Ok(done)
}

/// Why something is not done with a batch.
fn refused(batch: &Batch, act: String) -> RegistryError {
    RegistryError::State { what: "batch", id: batch.id.to_string(), state: batch.state.to_string(), act }
}

/// Marks a batch as deleted, and holds its items until they are deleted as well; whether it was not deleted before.
fn begin_deletion(tx: &mut dyn Transaction, batch: &Batch, by: Asker<'_>) -> Result<bool, RegistryError> {
    let is_first = batch.state != BatchState::Deleted;
    if is_first {
        holds::lift(tx, On::Batch(batch.id))?;
        set_state(tx, batch.id, BatchState::Deleted)?;
    }
    if tx.query_one(Statement("batches.has_undeleted"), &[batch.id.into()])?.is_some() {
        let by = Asker { reason: Some(BEING_DELETED), ..by };
        holds::place(tx, On::Batch(batch.id), batch.institution, by)?;
    }
    Ok(is_first)
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

/// Places a hold on a batch that is open, or lifts it; whether that changed anything.
fn hold_or_release(
    tx: &mut dyn Transaction,
    batch: &Batch,
    request: Request,
    by: Asker<'_>,
) -> Result<bool, RegistryError> {
    if request == Request::Hold {
        return Ok(batch.state.is_open() && holds::place(tx, On::Batch(batch.id), batch.institution, by)?);
    }
    if batch.state == BatchState::Deleted {
        return Ok(false);
    }
    let before = holds::of_batch(tx, batch)?;
    let is_lifted = holds::lift(tx, On::Batch(batch.id))?;
    if !is_lifted && !before.is_empty() {
        return Err(RegistryError::StillHeld { what: "batch", id: batch.id.to_string(), holds: before });
    }
    Ok(is_lifted)
}
