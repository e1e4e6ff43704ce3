//! What people ask of work items. Part of [`crate::items`].

use strongroom_database::{Statement, Transaction, Value};
use strongroom_queue::tasks;

use super::items::{Item, Move, Request, apply, enqueue, find};
use crate::{ItemId, ItemStatus, RegistryError, Scope, Stage, Subject, Workflows, workflow};

/// Carries out a person's request. An item that a worker holds right now is asked to stop; it is met when the stage ends,
/// or when the worker has died. The topics that have new work.
pub fn request(
    tx: &mut dyn Transaction,
    workflows: &dyn Workflows,
    scope: Scope,
    id: ItemId,
    request: Request,
    who: &str,
) -> Result<Vec<String>, RegistryError> {
    let item = find(tx, scope, id)?;
    let refuse = |act: &str| RegistryError::State {
        what: "work item",
        id: id.to_string(),
        state: format!("{} at {}", item.status, item.stage),
        act: act.to_owned(),
    };
    let stops_it = matches!(request, Request::Hold | Request::Cancel | Request::Delete);
    if item.is_committed && stops_it && !item.status.is_ended() {
        return Err(refuse("stop it: its version is committed and is always completed"));
    }
    if request == Request::Release && item.cancel_requested == Some(ItemStatus::Held) {
        // The worker that has it was asked to stop, and need not.
        tx.execute(Statement("items.ask_cancel"), &[id.into(), Value::Null, Value::Null])?;
        return Ok(Vec::new());
    }
    let here = workflow::here(workflows, &item);
    let (status, position, note) = match request {
        Request::Hold => (ItemStatus::Held, here, format!("held by {who}")),
        Request::Release => {
            if item.status != ItemStatus::Held {
                return Err(refuse("release it: it is not held"));
            }
            (ItemStatus::Pending, here, format!("released by {who}"))
        }
        Request::Cancel => (ItemStatus::Cancelled, here, format!("cancelled by {who}")),
        Request::Delete => (ItemStatus::Deleted, here, format!("deleted by {who}")),
        Request::Requeue(stage) => {
            if !matches!(item.status, ItemStatus::Failed | ItemStatus::Cancelled | ItemStatus::Pending) {
                return Err(refuse("requeue it: only failed, cancelled and pending items can be"));
            }
            let stage = requeue_stage(tx, workflows, &item, stage)?;
            let note = format!("requeued for {stage} by {who}");
            (ItemStatus::Pending, workflow::position(workflows, Subject::from(&item), stage)?, note)
        }
    };
    if item.status == ItemStatus::Started {
        if !matches!(status, ItemStatus::Held | ItemStatus::Cancelled) {
            return Err(refuse("do this while a worker holds it; cancel or hold it first"));
        }
        tx.execute(Statement("items.ask_cancel"), &[id.into(), status.as_str().into(), who.into()])?;
        return Ok(Vec::new());
    }
    let topic = position.topic.clone();
    let change = Move { retry_count: 0, holder: None, actor: Some(who), ..Move::new(&item, position, status, note) };
    apply(tx, &item, &change)?;
    if let Request::Requeue(_) = request {
        // What was found then says nothing of how the item ends next.
        tx.execute(Statement("items.problems_clear"), &[id.into()])?;
        tx.execute(Statement("items.set_staging_losses"), &[id.into(), 0_u64.into()])?;
        super::space::end_wait(tx, id)?;
    }
    tasks::delete_key(tx, &id.to_string())?;
    let mut topics = Vec::new();
    if status == ItemStatus::Pending {
        enqueue(tx, id, &topic, item.priority, item.institution)?;
        topics.push(topic);
    }
    topics.extend(crate::work::on_item_inactive(tx, &item, status, true)?);
    if status == ItemStatus::Pending
        && let Some(batch) = item.batch
    {
        topics.extend(crate::batches::settle(tx, batch)?.topics);
    }
    Ok(topics)
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
