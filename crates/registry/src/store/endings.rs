//! What the end of a stage makes of its item, and what comes to rest with it.

use strongroom_database::{Statement, Time, Transaction};
use strongroom_queue::{NewTask, Outcome, Settled, tasks};

use super::claims::{check_claim, settle};
use super::items::{self, Item, Move};
use super::waking::wake_younger;
use crate::model::claim::{Claim, StageEnd};
use crate::{
    ItemId, ItemStatus, RegistryError, Scope, Stage, Subject, VersionState, WaitReason, Workflows, batches, discarding,
    leases, versions, workflow,
};

/// How long an item rests whose version is being committed and whose worker cannot go on, in microseconds.
const REST_WHILE_COMMITTING: i64 = 60_000_000;
/// The same where its workers stopped without a word as often as a task may try.
pub(super) const REST_AFTER_CRASHES: i64 = 600_000_000;

/// The topic of the task that clears what an ended item left behind.
pub const SWEEP_TOPIC: &str = "ingest.sweep";

/// The status that a person asked for while a worker had the item, where it may still be given.
pub(crate) fn request_to_carry_out(item: &Item) -> Option<ItemStatus> {
    item.cancel_requested.filter(|_| !item.is_committed)
}

/// Gives an item that nobody works on any more the status that a person asked for. The topics that have new work.
pub(crate) fn carry_out(
    tx: &mut dyn Transaction,
    item: &Item,
    wanted: ItemStatus,
) -> Result<Vec<String>, RegistryError> {
    let note = format!("{wanted} as asked");
    let change = Move {
        position: item.position(),
        status: wanted,
        note: Some(&note),
        wait_reason: None,
        wait_until: None,
        needs_review: false,
        retry_count: item.retry_count,
        cancel_requested: None,
        holder: item.holder.as_deref(),
    };
    items::apply(tx, item, &change)?;
    come_to_rest(tx, item, wanted, true)
}

/// From here an item goes only forward: see [`Item::is_committed`].
pub(crate) fn set_committed(tx: &mut dyn Transaction, item: ItemId) -> Result<(), RegistryError> {
    tx.execute(Statement("items.set_committed"), &[item.into()])?;
    Ok(())
}

/// Ends a stage. The topics that have new work; those waiting for them are to be woken after the commit. Right by rows, too:
/// the task and then its item are locked before anything is decided, and the batch before it is derived.
pub fn finish(
    tx: &mut dyn Transaction,
    workflows: &dyn Workflows,
    claim: &Claim,
    holder: &str,
    end: &StageEnd,
) -> Result<Vec<String>, RegistryError> {
    // Everybody takes the task first and then its item, or two could wait for each other.
    tasks::lock(tx, claim.lease)?;
    check_claim(tx, claim)?;
    let item = items::find(tx, Scope::System, claim.item)?;
    let version = versions::of_item(tx, item.id)?.map(|version| version.state);
    let now = tx.now()?;
    let plan = plan(&item, claim, end, version, now);
    let position = workflow::position(workflows, Subject::from(&item), plan.stage)?;
    let topic = position.topic.clone();
    let change = Move {
        position,
        status: plan.status,
        note: Some(&plan.note),
        wait_reason: plan.wait_reason,
        wait_until: plan.wait_until(),
        needs_review: plan.needs_review,
        retry_count: plan.retry_count,
        cancel_requested: None,
        holder: Some(holder),
    };
    items::apply(tx, &item, &change)?;
    match end {
        StageEnd::Fatal { problems, .. } => items::put_problems(tx, item.id, problems)?,
        StageEnd::Invalid { problems, .. } => {
            items::put_problems(tx, item.id, problems)?;
            if plan.status == ItemStatus::Failed {
                tx.execute(Statement("items.set_verdict"), &[item.id.into()])?;
            }
        }
        StageEnd::StagingLost { .. } => {
            let losses = item.staging_losses.saturating_add(1);
            tx.execute(Statement("items.set_staging_losses"), &[item.id.into(), losses.into()])?;
        }
        _ => {}
    }
    let outcome = match plan.outcome {
        // Somebody woke the item while it was decided that it should sleep.
        Outcome::Defer(_) if tasks::show(tx, claim.lease.task)?.is_some_and(|task| task.again) => Outcome::Done,
        outcome => outcome,
    };
    if settle(tx, claim.lease, outcome)? == Settled::Lost {
        return Err(RegistryError::FenceLost { what: "task", id: claim.item.to_string() });
    }
    let mut topics = Vec::new();
    if plan.status == ItemStatus::Pending {
        if !plan.goes_on_with_this_task {
            items::enqueue(tx, item.id, &topic, item.priority, item.institution)?;
        }
        topics.push(topic);
    }
    // Spent attempts keep what was staged, so that a person can requeue where it stopped.
    let sweep =
        plan.status == ItemStatus::Cancelled || matches!(end, StageEnd::Fatal { .. } | StageEnd::Invalid { .. });
    topics.extend(come_to_rest(tx, &item, plan.status, sweep)?);
    Ok(topics)
}

struct Plan {
    stage: Stage,
    status: ItemStatus,
    note: String,
    wait_reason: Option<WaitReason>,
    needs_review: bool,
    retry_count: u64,
    outcome: Outcome,
    goes_on_with_this_task: bool,
}

impl Plan {
    /// Until when the item waits, unless something wakes it.
    fn wait_until(&self) -> Option<Time> {
        match self.outcome {
            Outcome::Defer(until) | Outcome::RetryAt { at: until, .. } => Some(until),
            _ => None,
        }
    }

    fn waits(self, outcome: Outcome) -> Self {
        Self { outcome, goes_on_with_this_task: true, ..self }
    }
}

fn plan(item: &Item, claim: &Claim, end: &StageEnd, version: Option<VersionState>, now: Time) -> Plan {
    let committing = version == Some(VersionState::Committing);
    let only_forward = item.is_committed;
    let stay = |status, note: &str| Plan {
        stage: item.stage,
        status,
        note: note.to_owned(),
        wait_reason: None,
        needs_review: false,
        retry_count: item.retry_count,
        outcome: Outcome::Done,
        goes_on_with_this_task: false,
    };
    // A person's request is met at the first moment at which the item is free and nothing is being committed.
    if let Some(wanted) = item.cancel_requested
        && !only_forward
        && !matches!(
            end,
            StageEnd::Fatal { .. } | StageEnd::Invalid { .. } | StageEnd::Succeeded { .. } | StageEnd::Cancelled { .. }
        )
    {
        let next = match end {
            StageEnd::Next { next, .. } | StageEnd::Back { to: next, .. } | StageEnd::StagingLost { to: next, .. } => {
                *next
            }
            _ => item.stage,
        };
        return Plan { stage: next, ..stay(wanted, &format!("{wanted} as asked")) };
    }
    let spent = u64::from(claim.spent);
    match end {
        StageEnd::Next { next, note } => Plan { stage: *next, retry_count: 0, ..stay(ItemStatus::Pending, note) },
        StageEnd::Back { to, note } => Plan { stage: *to, retry_count: 0, ..stay(ItemStatus::Pending, note) },
        StageEnd::Defer { until, reason, note } => {
            let stays = stay(ItemStatus::Pending, note).waits(Outcome::Defer(*until));
            // A store that is refused does not come back by itself.
            let needs_review = *reason == WaitReason::RefusedStore;
            Plan { wait_reason: Some(*reason), needs_review, ..stays }
        }
        StageEnd::Released { note } => stay(ItemStatus::Pending, note).waits(Outcome::Release),
        StageEnd::Held { note } => stay(ItemStatus::Held, note),
        StageEnd::Succeeded { note } => Plan { retry_count: 0, ..stay(ItemStatus::Succeeded, note) },
        StageEnd::Cancelled { note } if only_forward => {
            stay(ItemStatus::Pending, note).waits(Outcome::Defer(now.plus(REST_WHILE_COMMITTING)))
        }
        StageEnd::Cancelled { note } => stay(ItemStatus::Cancelled, note),
        StageEnd::StagingLost { max_losses, note, advice, .. }
            if !committing && item.staging_losses.saturating_add(1) >= u64::from(*max_losses) =>
        {
            let losses = item.staging_losses.saturating_add(1);
            let note = format!("gave up after what was staged was lost {losses} times: {note}; {advice}");
            Plan { needs_review: true, ..stay(ItemStatus::Failed, &note) }
        }
        StageEnd::StagingLost { to, note, .. } => {
            Plan { stage: *to, retry_count: 0, ..stay(ItemStatus::Pending, &format!("{note}; fetching again")) }
        }
        StageEnd::Fatal { note, .. } | StageEnd::Invalid { note, .. } if committing => Plan {
            needs_review: true,
            retry_count: spent,
            ..stay(ItemStatus::Pending, note).waits(Outcome::Defer(now.plus(REST_WHILE_COMMITTING)))
        },
        StageEnd::Fatal { note, .. } | StageEnd::Invalid { note, .. } => {
            Plan { needs_review: true, ..stay(ItemStatus::Failed, note) }
        }
        StageEnd::Transient { retry_at, max_attempts, note } => {
            let gave_up = claim.spent >= *max_attempts;
            if gave_up && !committing {
                let note = format!("gave up after {}: {note}", attempts_in_words(spent));
                Plan {
                    needs_review: true,
                    retry_count: spent,
                    outcome: Outcome::Dead { reason: note.clone() },
                    ..stay(ItemStatus::Failed, &note)
                }
            } else {
                // From `committing` on there is only forward: it is tried for ever, and a person is asked to look.
                let outcome = if gave_up {
                    Outcome::Defer(*retry_at)
                } else {
                    Outcome::RetryAt { at: *retry_at, reason: note.clone() }
                };
                Plan { needs_review: gave_up, retry_count: spent, ..stay(ItemStatus::Pending, note).waits(outcome) }
            }
        }
    }
}

/// What an item's coming to rest brings with it: its object leases go; where it ended, a newer deposit of the same object
/// is woken and, when `sweep`, what it was preparing is marked as discarded, and the task is enqueued that clears what it
/// left behind; its batch is derived anew. Nothing for a status that is no rest. The topics that have new work.
pub(crate) fn come_to_rest(
    tx: &mut dyn Transaction,
    item: &Item,
    status: ItemStatus,
    sweep: bool,
) -> Result<Vec<String>, RegistryError> {
    if !status.is_ended() && status != ItemStatus::Held {
        return Ok(Vec::new());
    }
    let mut topics = leases::release_owner(tx, item.id.0)?;
    if status.is_ended() {
        topics.extend(wake_younger(tx, item)?);
        if sweep {
            discarding::discard_of_item(tx, item.id)?;
            let task = NewTask {
                fair_key: item.institution.to_string(),
                max_attempts: 10,
                ..NewTask::new(SWEEP_TOPIC, item.id.to_string(), "")
            };
            tasks::enqueue(tx, &[task])?;
            topics.push(SWEEP_TOPIC.to_owned());
        }
    }
    if let Some(batch) = item.batch {
        batches::settle(tx, batch)?;
    }
    Ok(topics)
}

pub(super) fn attempts_in_words(number: impl Into<u64>) -> String {
    match number.into() {
        1 => "1 attempt".to_owned(),
        number => format!("{number} attempts"),
    }
}
