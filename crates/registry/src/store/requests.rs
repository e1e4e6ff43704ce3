//! What people ask of work items. Part of [`crate::items`].

use strongroom_database::{Statement, Transaction};
use strongroom_queue::tasks;

use super::endings::{Rested, conclude, free_others};
use super::holds::{self, On};
use super::items::{
    Asker, Item, ItemProblem, Move, NewLine, Request, add_history, apply, enqueue, find, lock, problems, task_priority,
};
use super::space;
use super::waking::wake_all;
use crate::model::actor::name_of;
use crate::{
    BatchState, ItemId, ItemStatus, RegistryError, Scope, Stage, Subject, WaitKey, Workflows, batches, workflow,
};

/// The action of deposits, whose versions are of objects that are kept.
const INGEST: &str = "ingest";
/// Problems of a package that are inspected.
const PROBLEMS: usize = 1_000;

/// The code of the first problem by which the package of an item fails again, so that it cannot be requeued.
pub fn is_permanent(tx: &mut dyn Transaction, item: &Item) -> Result<Option<String>, RegistryError> {
    if item.status != ItemStatus::Failed || !item.is_verdict {
        return Ok(None);
    }
    let found = problems(tx, Scope::System, item.id, PROBLEMS)?;
    Ok(found.into_iter().find(ItemProblem::is_permanent).map(|problem| problem.code))
}

/// Keeps everybody else from changing an item until the transaction ends, for those that are kept apart by rows: its task first and then
/// the item, as everybody takes them.
pub(super) fn lock_with_task(tx: &mut dyn Transaction, id: ItemId) -> Result<(), RegistryError> {
    tasks::lock_key(tx, &id.to_string())?;
    lock(tx, id)
}

/// Carries out a person's request. An item that a worker holds right now is asked to stop; it is met when the stage ends,
/// or when the worker has died. The topics that have new work. Right by rows, but for a requeue.
///
/// # Errors
/// [`RegistryError::Permanent`] where the item failed by what its package is, [`RegistryError::StillHeld`] where it has no hold of its
/// own to be lifted.
pub fn request<'a>(
    tx: &mut dyn Transaction,
    workflows: &dyn Workflows,
    scope: Scope,
    id: ItemId,
    request: Request,
    by: impl Into<Asker<'a>>,
) -> Result<Vec<String>, RegistryError> {
    // Nothing of another institution is locked.
    find(tx, scope, id)?;
    lock_with_task(tx, id)?;
    let item = find(tx, scope, id)?;
    let (mut topics, rested) = request_of_locked(tx, workflows, &item, request, by.into())?;
    topics.extend(conclude(tx, rested.as_slice())?);
    Ok(topics)
}

/// The same for an item that was found behind [`lock_with_task`], but for what is left to [`conclude`].
pub(super) fn request_of_locked<'i>(
    tx: &mut dyn Transaction,
    workflows: &dyn Workflows,
    item: &'i Item,
    request: Request,
    by: Asker<'_>,
) -> Result<(Vec<String>, Option<Rested<'i>>), RegistryError> {
    let (id, who) = (item.id, by.who);
    let refuse = |act: &str| RegistryError::State {
        what: "work item",
        id: id.to_string(),
        state: format!("{} at {}", item.status, item.stage),
        act: act.to_owned(),
    };
    let stops_it = matches!(request, Request::Hold | Request::Cancel | Request::Fail | Request::Delete);
    if item.is_committed && stops_it && !item.status.is_ended() {
        return Err(refuse("stop it: its version is committed and is always completed"));
    }
    let here = workflow::here(workflows, item);
    let (status, position, note) = match request {
        Request::Hold => {
            if item.status.is_ended() {
                return Err(refuse("hold it: it has ended"));
            }
            if !holds::place(tx, On::Item(id), item.institution, by)? {
                return Err(refuse("hold it: it is on hold already"));
            }
            return Ok((holds::settle_item(tx, workflows, id, who)?.unwrap_or_default(), None));
        }
        Request::Release => return Ok((holds::release(tx, workflows, item, by)?, None)),
        Request::Cancel => (ItemStatus::Cancelled, here, note_of(ItemStatus::Cancelled, by)),
        Request::Fail if item.status == ItemStatus::Held => {
            return Err(refuse("let it fail: it is held; release it first, or cancel it"));
        }
        Request::Fail if item.cancel_requested == Some(ItemStatus::Cancelled) => {
            return Err(refuse("let it fail: it is being cancelled"));
        }
        Request::Fail => (ItemStatus::Failed, here, note_of(ItemStatus::Failed, by)),
        Request::Delete => {
            let kept = item.version_made().filter(|_| item.action.as_str() == INGEST);
            let kept = kept.map(|version| format!("; the object is kept, with version {version}")).unwrap_or_default();
            (ItemStatus::Deleted, here, note_of(ItemStatus::Deleted, by) + &kept)
        }
        Request::Requeue(stage) => {
            if !matches!(item.status, ItemStatus::Failed | ItemStatus::Cancelled | ItemStatus::Pending) {
                return Err(refuse("requeue it: only failed, cancelled and pending items can be"));
            }
            if let Some(batch) = item.batch.map(|batch| batches::get(tx, Scope::System, batch)).transpose()?.flatten() {
                if batch.state == BatchState::Deleted {
                    return Err(refuse("requeue it: its batch was deleted"));
                }
                if let Some(stop) = batches::stop_of(tx, batch.id)? {
                    return Err(refuse(&format!("requeue it: its batch is {stop}; wait until that is done")));
                }
            }
            if let Some(code) = is_permanent(tx, item)? {
                return Err(RegistryError::Permanent { id: id.to_string(), code });
            }
            let stage = requeue_stage(tx, workflows, item, stage)?;
            let note = format!("requeued for {stage} by {}", name_of(who));
            (ItemStatus::Pending, workflow::position(workflows, Subject::from(item), stage)?, note)
        }
    };
    if item.status == ItemStatus::Started {
        if !matches!(status, ItemStatus::Cancelled | ItemStatus::Failed) {
            return Err(refuse("do this while a worker has it; cancel or hold it first"));
        }
        let values = [id.into(), status.as_str().into(), who.into(), by.reason.map(str::to_owned).into()];
        tx.execute(Statement("items.ask_cancel"), &values)?;
        return Ok((Vec::new(), None));
    }
    let topic = position.topic.clone();
    let needs_review = status == ItemStatus::Failed;
    let change = Move {
        retry_count: 0,
        holder: None,
        actor: Some(who),
        needs_review,
        ..Move::new(item, position, status, note)
    };
    apply(tx, item, &change)?;
    let mut topics = Vec::new();
    if let Request::Requeue(_) = request {
        // What was found then says nothing of how the item ends next.
        tx.execute(Statement("items.problems_clear"), &[id.into()])?;
        tx.execute(Statement("items.set_staging_losses"), &[id.into(), 0_u64.into()])?;
        space::forget_needed(tx, id)?;
        if space::end_wait(tx, id)? {
            // Others may have waited for it.
            topics.extend(wake_all(tx, &WaitKey::staging(), Some(id.0))?);
        }
        tx.execute(Statement("items.count_requeue"), &[id.into()])?;
    }
    tasks::delete_key(tx, &id.to_string())?;
    if status == ItemStatus::Pending {
        enqueue(tx, item, &topic)?;
        topics.push(topic);
    }
    topics.extend(free_others(tx, item, status)?);
    if status == ItemStatus::Pending && item.is_on_hold {
        topics.extend(holds::settle_item(tx, workflows, id, who)?.unwrap_or_default());
    }
    Ok((topics, Some(Rested { item, status, is_swept: is_swept(status) })))
}

/// What the note of an item says that ends as a person asked.
pub(super) fn note_of(status: ItemStatus, by: Asker<'_>) -> String {
    let reason = by.reason.map(|reason| format!(": {reason}")).unwrap_or_default();
    format!("{status} by {}{reason}", name_of(by.who))
}

/// Whether what an item has in staging is removed when it ends as a person asked: one that failed keeps it for when it is requeued.
pub(super) fn is_swept(status: ItemStatus) -> bool {
    status != ItemStatus::Failed
}

/// Sets an item's priority, from 0 to 99, lower is sooner: at once where it waits, otherwise from its next task on. The attempts that its
/// stage has spent stay spent. The topics that have new work.
///
/// # Errors
/// The item has ended.
pub fn move_to(
    tx: &mut dyn Transaction,
    scope: Scope,
    id: ItemId,
    priority: u32,
    who: &str,
) -> Result<Vec<String>, RegistryError> {
    let item = find(tx, scope, id)?;
    if item.status.is_ended() {
        return Err(RegistryError::State {
            what: "work item",
            id: id.to_string(),
            state: format!("{} at {}", item.status, item.stage),
            act: "move it: it has ended".to_owned(),
        });
    }
    tx.execute(Statement("items.set_priority"), &[id.into(), priority.into()])?;
    let note = format!("moved from priority {} to {priority} by {}", item.priority, name_of(who));
    let line = NewLine { note: Some(&note), actor: Some(who), ..NewLine::new(item.stage, item.status) };
    add_history(tx, id, line)?;
    let urgency = task_priority(priority.into(), item.size);
    let is_set = tasks::set_priority(tx, (&item.topic, &id.to_string()), urgency)?;
    Ok(if is_set && item.status == ItemStatus::Pending { vec![item.topic] } else { Vec::new() })
}

/// Where a requeued item begins: the stage asked for, or the one that its workflow names instead. A sweep that is pending or
/// under way needs no waiting for: it goes by the identifiers of what was discarded, and stops where the item has not ended
/// any more.
fn requeue_stage(
    tx: &mut dyn Transaction,
    workflows: &dyn Workflows,
    item: &Item,
    wanted: Option<Stage>,
) -> Result<Stage, RegistryError> {
    let stage = wanted.unwrap_or(item.stage);
    let refuse = |what: &str| RegistryError::State {
        what: "work item",
        id: item.id.to_string(),
        state: format!("at {}", item.stage),
        act: format!("requeue it for {what} {stage}"),
    };
    let stages = workflows.stages(item.action);
    let place = |stage: Stage| stages.iter().position(|one| *one == stage);
    let Some(wanted) = place(stage) else { return Err(refuse("a stage that it does not have,")) };
    if place(item.stage).is_none_or(|reached| wanted > reached) {
        return Err(refuse("the later stage"));
    }
    workflows.restart(tx, item, stage)
}
