//! How the stage of an item ends: it goes on at its next stage under the lease that its worker has, without a trip through the
//! queue, or by the queue. One transaction, fenced. Part of [`crate::work`].

use strongroom_database::{Asked, Statement, Time, Transaction};
use strongroom_queue::tasks::{self, GoesOn, Outlook};

use super::claims::{Claimed, ask_claimed, claimed, claimed_row};
use super::endings;
use crate::model::claim::{Assignment, Claim, Ended, FenceCheck, Room, StageEnd};
use crate::{RegistryError, Subject, Workflows, items, leases, workflow};

/// Writes of a stage that go with its end: the topics that have new work by them. They are given the claim, whose fence the end
/// checks behind them; see [`FenceCheck`].
pub(crate) type EndWrites<'a> = dyn Fn(&mut dyn Transaction, &Claim) -> Result<Vec<String>, RegistryError> + 'a;

/// What goes with the end of a stage.
#[derive(Clone, Copy)]
pub struct Next<'a> {
    /// What is written before the end itself.
    pub writes: Option<&'a EndWrites<'a>>,
    /// The stage that follows, where the worker may begin it at once.
    pub room: Option<&'a Room>,
    /// The tables that the program knows: it begins nothing where they are newer. None where it begins nothing in any case.
    pub known_schema: Option<u32>,
}

/// Ends a stage. Where there is room for the stage that follows, the end is one that leads there, the item is not to be held or cancelled, and
/// the topic of that stage is neither paused nor has others waiting nor is full, the worker goes on with the item at once.
/// Otherwise as [`crate::work::finish`]. Right by rows.
///
/// # Errors
/// [`RegistryError::NewerSchema`] where something is to be begun and the tables are newer than the program.
pub fn end_stage(
    tx: &mut dyn Transaction,
    workflows: &dyn Workflows,
    (claim, holder): (&Claim, &str),
    end: &StageEnd,
    next: Next<'_>,
) -> Result<Ended, RegistryError> {
    let topic = next.room.map_or("", |room| room.topic.as_str());
    let (found, outlook, written) = begin_to_end(tx, claim, topic, next.writes)?;
    if let Some(known) = next.known_schema
        && found.schema > u64::from(known)
    {
        return Err(RegistryError::NewerSchema { found: found.schema, known });
    }
    let left = outlook.more_waits.then(|| found.item.topic.clone());
    if let (Some(room), StageEnd::Next { .. }) = (next.room, end)
        && let Some(assignment) = go_on(tx, workflows, (claim, holder), &found, (end, room, &outlook))?
    {
        return Ok(Ended { topics: written, left, goes_on: Some(assignment), outcome: None });
    }
    let mut topics = written;
    let (finished, outcome) = endings::finish_found(tx, workflows, (claim, holder), &found.item, end)?;
    topics.extend(finished);
    Ok(Ended { topics, left, goes_on: None, outcome })
}

/// Locks the task and then its item, with what is found of both; what is to be written with the end is written in between, so that
/// the item is found as it is then. Everybody takes the task first and then its item, or two could wait for each other.
///
/// The fence is checked once, behind the writes: where another worker has the item, or a store was replaced since it was claimed,
/// the transaction is undone with them.
pub(super) fn begin_to_end(
    tx: &mut dyn Transaction,
    claim: &Claim,
    next_topic: &str,
    writes: Option<&EndWrites<'_>>,
) -> Result<(Claimed, Outlook, Vec<String>), RegistryError> {
    let lost = |what| RegistryError::FenceLost { what, id: claim.item.to_string() };
    let besides = if writes.is_none() { vec![ask_claimed(claim)] } else { Vec::new() };
    let (outlook, answers) = tasks::lock_with_outlook(tx, claim.lease, next_topic, besides)?;
    let outlook = outlook.ok_or_else(|| lost("task"))?;
    let Some(writes) = writes else {
        let found = claimed_row(claim, answers.into_iter().next().flatten().as_ref())?;
        return Ok((found, outlook, Vec::new()));
    };
    let topics = writes(tx, &Claim { fence_check: FenceCheck::BY_END, ..claim.clone() })?;
    let found = claimed(tx, claim)?;
    if found.replacements != claim.replacements {
        return Err(lost("work item"));
    }
    Ok((found, outlook, topics))
}

/// What the worker holds from then on, instead of its claim. None, with nothing changed, where the item goes by the queue.
fn go_on(
    tx: &mut dyn Transaction,
    workflows: &dyn Workflows,
    (claim, holder): (&Claim, &str),
    found: &Claimed,
    (end, room, outlook): (&StageEnd, &Room, &Outlook),
) -> Result<Option<Assignment>, RegistryError> {
    let StageEnd::Next { next, note } = end else { return Ok(None) };
    let mut item = found.item.clone();
    let position = workflow::position(workflows, Subject::from(&item), *next)?;
    if position.topic != room.topic || endings::request_to_carry_out(&item).is_some() {
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
        priority: items::task_priority(item.priority, item.size),
        fair_key: &item.institution.to_string(),
        duration: room.duration,
        passes: room.passes,
    };
    let now = tx.now()?;
    let written = |lease_until: Time| {
        let values = vec![
            item.id.into(),
            claim.fence.into(),
            next.as_str().into(),
            (&position.topic).into(),
            position.wait_key.as_ref().map(|key| key.0.as_str()).into(),
            note.into(),
            lease_until.into(),
            now.into(),
        ];
        let lines = vec![item.id.into(), now.into(), next.as_str().into(), note.into(), holder.into()];
        let mut written = vec![
            Asked { statement: Statement("items.go_on"), values },
            Asked { statement: Statement("items.history_go_on"), values: lines },
        ];
        written.extend(found.holds_object.then(|| leases::ask_to_extend(item.id.0, lease_until)));
        written
    };
    let Some(task) = tasks::go_on(tx, &goes_on, outlook, written)? else { return Ok(None) };
    (item.stage, item.topic, item.wait_key) = (position.stage, position.topic, position.wait_key);
    item.note = Some(note.clone());
    (item.retry_count, item.needs_review) = (0, false);
    (item.cancel_requested, item.requested_by, item.request_reason) = (None, None, None);
    (item.lease_until, item.updated_at) = (Some(task.lease_until), now);
    let claim = Claim { replacements: found.replacements, spent: task.spent, ..claim.clone() };
    Ok(Some(Assignment { task, claimed: Some((claim, Box::new(item))) }))
}
