//! How an item goes on at its next stage under the lease that its worker has: one transaction, fenced as every end of a stage, and
//! without a trip through the queue. Part of [`crate::work`].

use strongroom_database::{Statement, Transaction};
use strongroom_queue::tasks::{self, GoesOn};

use super::claims::claimed;
use crate::model::claim::{Assignment, Claim, Room, StageEnd};
use crate::{RegistryError, Subject, Workflows, items, leases, workflow};

/// Ends a stage and begins the one that follows, where the same worker may go on at once: what the worker holds from then on,
/// instead of its claim. None, with nothing changed, where the end is another one, a person asked for something, or the topic of
/// the stage that follows is paused, has others waiting or has no room: [`crate::work::finish`] ends the stage then. Right by rows.
pub fn advance(
    tx: &mut dyn Transaction,
    workflows: &dyn Workflows,
    claim: &Claim,
    (end, room): (&StageEnd, &Room),
    holder: &str,
) -> Result<Option<Assignment>, RegistryError> {
    let StageEnd::Next { next, note } = end else { return Ok(None) };
    // Everybody takes the task first and then its item, or two could wait for each other.
    tasks::lock(tx, claim.lease)?;
    let (mut item, replacements) = claimed(tx, claim)?;
    let position = workflow::position(workflows, Subject::from(&item), *next)?;
    if position.topic != room.topic || (item.cancel_requested.is_some() && !item.is_committed) {
        return Ok(None);
    }
    if let Some(most) = room.max_total
        && tasks::room(tx, &room.topic, most)? == 0
    {
        return Ok(None);
    }
    let goes_on = GoesOn {
        lease: claim.lease,
        topic: &room.topic,
        priority: items::task_priority(item.priority),
        fair_key: &item.institution.to_string(),
        duration: room.duration,
    };
    let Some(task) = tasks::go_on(tx, &goes_on)? else { return Ok(None) };
    let now = tx.now()?;
    let values = [
        item.id.into(),
        claim.fence.into(),
        next.as_str().into(),
        (&position.topic).into(),
        position.wait_key.as_ref().map(|key| key.0.as_str()).into(),
        note.into(),
        task.lease_until.into(),
        now.into(),
    ];
    tx.execute(Statement("items.go_on"), &values)?;
    leases::extend_owner(tx, item.id.0, task.lease_until)?;
    let lines = [item.id.into(), now.into(), next.as_str().into(), note.into(), holder.into()];
    tx.execute(Statement("items.history_go_on"), &lines)?;
    (item.stage, item.topic, item.wait_key) = (position.stage, position.topic, position.wait_key);
    item.note = Some(note.clone());
    (item.retry_count, item.needs_review, item.cancel_requested, item.requested_by) = (0, false, None, None);
    (item.lease_until, item.updated_at) = (Some(task.lease_until), now);
    let claim = Claim { replacements, spent: task.spent, ..claim.clone() };
    Ok(Some(Assignment { task, claimed: Some((claim, Box::new(item))) }))
}
