//! How workers hold and move work items. Claiming an item and leasing its task are one transaction, with one heartbeat;
//! every later write carries the fence that the claim raised; finishing a stage is one transaction that checks the fence,
//! writes the outcome and the history, and enqueues the next task.

use std::time::Duration;

use strongroom_database::{Row, Statement, Time, Transaction};
use strongroom_queue::{Heartbeat, Lease, LeaseRequest, Leased, NewTask, Outcome, Settled, Settlement, tasks};

pub use crate::advance::{Room, advance};
use crate::items::{self, Item, ItemProblem, Move};
pub use crate::recovery::{reclaim, requeue_stranded, revive, stranded};
use crate::{
    ItemId, ItemStatus, RegistryError, Scope, Stage, Subject, VersionState, WaitKey, WaitReason, Workflows, batches,
    discarding, leases, stores, versions, workflow,
};

/// How long an item rests whose version is being committed and whose worker cannot go on, in microseconds.
const REST_WHILE_COMMITTING: i64 = 60_000_000;
/// The same where its workers stopped without a word as often as a task may try.
const REST_AFTER_CRASHES: i64 = 600_000_000;
/// How long a task rests whose stage the worker that leased it does not know, in microseconds: others may know it.
const REST_OF_THE_UNKNOWN: i64 = 30_000_000;

/// The topic of the task that clears what an ended item left behind.
pub const SWEEP_TOPIC: &str = "ingest.sweep";

/// An item held by one worker.
#[derive(Debug, Clone)]
pub struct Claim {
    /// Which item.
    pub item: ItemId,
    /// What every write carries.
    pub fence: i64,
    /// How often stores had been replaced when the item was claimed. Every write carries it, too: what a worker knows of a
    /// store of this name need not be so of the one that has the name since.
    pub replacements: u64,
    /// The lease of the task behind it.
    pub lease: Lease,
    /// Attempts of the stage that are spent, this one included.
    pub spent: u32,
}

/// A leased task, with the item that it is a stage of, where it is one.
#[derive(Debug, Clone)]
pub struct Assignment {
    /// The task.
    pub task: Leased,
    /// The item as it was claimed, with its claim.
    pub claimed: Option<(Claim, Box<Item>)>,
}

/// What a look for work gave.
#[derive(Debug, Clone, Default)]
pub struct Leasing {
    /// What was leased.
    pub assignments: Vec<Assignment>,
    /// The topics that have new work because items ended on the way; those waiting for them are to be woken after the
    /// commit.
    pub topics: Vec<String>,
}

/// How a stage ended.
#[derive(Debug, Clone)]
pub enum StageEnd {
    /// On to `next`.
    Next {
        /// The stage that follows.
        next: Stage,
        /// What to tell people.
        note: String,
    },
    /// Not yet; look again at this time, or when someone wakes the item.
    Defer {
        /// When.
        until: Time,
        /// What it waits for.
        reason: WaitReason,
        /// The same, in words.
        note: String,
    },
    /// Went wrong in a way that may pass.
    Transient {
        /// When to try again.
        retry_at: Time,
        /// Give up when this many attempts went wrong.
        max_attempts: u32,
        /// The error in full.
        note: String,
    },
    /// Went wrong for good.
    Fatal {
        /// The error in full.
        note: String,
        /// What was found in the deposit.
        problems: Vec<ItemProblem>,
    },
    /// Ended by a verdict: its package was read and is not valid. Only this end says so; every other failure is ours.
    Invalid {
        /// What is wrong, in short.
        note: String,
        /// What was found in the deposit.
        problems: Vec<ItemProblem>,
    },
    /// What was staged is not what was fetched, and was discarded: back to an earlier stage to fetch it again. A person is
    /// asked for where that has happened too often since one was last at it.
    StagingLost {
        /// The stage to go back to.
        to: Stage,
        /// This many losses end the item.
        max_losses: u32,
        /// What was lost.
        note: String,
        /// What to tell a person where it ends the item.
        advice: String,
    },
    /// Back to an earlier stage, with what it left behind dropped.
    Back {
        /// The stage to go back to.
        to: Stage,
        /// Why.
        note: String,
    },
    /// A person must look first.
    Held {
        /// Why.
        note: String,
    },
    /// There is nothing left to do for it: something newer took its place, or what it was to take in is gone.
    Cancelled {
        /// Why.
        note: String,
    },
    /// The item is done.
    Succeeded {
        /// What to tell people.
        note: String,
    },
    /// The worker stops; the attempt is given back.
    Released {
        /// Why.
        note: String,
    },
}

/// How many attempts the tasks of a topic have, by the settings.
pub type MaxAttempts<'a> = dyn Fn(&str) -> u32 + 'a;

/// Leases tasks, and claims the items that they are stages of. Right by rows, too: it locks each item before it decides. A
/// task whose item has ended or moved on is settled on the spot and not returned; one whose item is at a stage of no registered
/// workflow is left to others for a while. So is one whose item a person asked to hold or cancel while a worker had it. One whose attempts
/// all ended without a word, with the worker gone, is buried, and its item fails, in the same transaction.
pub fn lease(
    tx: &mut dyn Transaction,
    workflows: &dyn Workflows,
    request: &LeaseRequest,
    max_attempts: &MaxAttempts<'_>,
) -> Result<Leasing, RegistryError> {
    let worker = Worker { workflows, holder: &request.holder.to_string() };
    let mut leasing = Leasing::default();
    for task in tasks::lease(tx, request)? {
        if task.item.is_none() {
            leasing.assignments.push(Assignment { task, claimed: None });
            continue;
        }
        let limit = max_attempts(&task.topic);
        if let Some(claimed) = take_up(tx, &worker, &task, limit, &mut leasing.topics)? {
            leasing.assignments.push(Assignment { task, claimed: Some(claimed) });
        }
    }
    Ok(leasing)
}

/// Who leases.
struct Worker<'a> {
    workflows: &'a dyn Workflows,
    holder: &'a str,
}

/// Claims the item that a leased task stands for; none where the task was settled instead.
fn take_up(
    tx: &mut dyn Transaction,
    worker: &Worker<'_>,
    task: &Leased,
    max_attempts: u32,
    topics: &mut Vec<String>,
) -> Result<Option<(Claim, Box<Item>)>, RegistryError> {
    let Some(id) = task.item.map(ItemId) else { return Ok(None) };
    let Worker { workflows, holder } = *worker;
    items::lock(tx, id)?;
    let is_meant = |item: &Item| item.is_at_work() && item.topic == task.topic;
    let Some(mut item) = items::get(tx, Scope::System, id)?.filter(is_meant) else {
        settle(tx, task.lease, Outcome::Done)?;
        return Ok(None);
    };
    if !workflows.stages(item.action).contains(&item.stage) {
        let until = tx.now()?.plus(REST_OF_THE_UNKNOWN);
        settle(tx, task.lease, Outcome::Defer(until))?;
        return Ok(None);
    }
    if let Some(wanted) = request_to_carry_out(&item) {
        settle(tx, task.lease, Outcome::Done)?;
        topics.extend(carry_out(tx, &item, wanted)?);
        return Ok(None);
    }
    if task.spent > max_attempts {
        topics.extend(give_up(tx, task, &item)?);
        return Ok(None);
    }
    let now = tx.now()?;
    let values = [id.into(), holder.into(), task.lease_until.into(), now.into(), item.stage.word().into()];
    let Some(row) = tx.query_one(Statement("items.claim"), &values)? else {
        settle(tx, task.lease, Outcome::Done)?;
        return Ok(None);
    };
    items::add_history(tx, id, item.stage, ItemStatus::Started, None, Some(holder))?;
    item.fence = row.integer("fence")?;
    item.status = ItemStatus::Started;
    item.holder = Some(holder.to_owned());
    item.lease_until = Some(task.lease_until);
    item.updated_at = now;
    let replacements = stores::replacements(tx)?;
    let claim = Claim { item: id, fence: item.fence, replacements, lease: task.lease, spent: task.spent };
    Ok(Some((claim, Box::new(item))))
}

fn settle(tx: &mut dyn Transaction, lease: Lease, outcome: Outcome) -> Result<Settled, RegistryError> {
    let settled = tasks::settle(tx, &[Settlement { lease, outcome }])?;
    Ok(settled.first().copied().unwrap_or(Settled::Lost))
}

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

/// What a heartbeat learned of one assignment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pulse {
    /// Still held, until then.
    Held(Time),
    /// Still held, but a person asks to stop.
    StopRequested,
    /// Another worker has it, or it ended.
    Lost,
}

/// Extends tasks, items and the object leases of those items, all by one transaction. Right by rows, too.
pub fn heartbeat(
    tx: &mut dyn Transaction,
    held: &[(Lease, Option<Claim>)],
    duration: Duration,
) -> Result<Vec<Pulse>, RegistryError> {
    let leases: Vec<Lease> = held.iter().map(|(lease, _)| *lease).collect();
    let mut pulses = Vec::with_capacity(held.len());
    for ((_, claim), state) in held.iter().zip(tasks::heartbeat(tx, &leases, duration)?) {
        let until = match state {
            Heartbeat::Held(until) | Heartbeat::CancelRequested(until) => until,
            Heartbeat::Lost => {
                pulses.push(Pulse::Lost);
                continue;
            }
        };
        let Some(claim) = claim else {
            let is_asked = matches!(state, Heartbeat::CancelRequested(_));
            pulses.push(if is_asked { Pulse::StopRequested } else { Pulse::Held(until) });
            continue;
        };
        let values = [claim.item.into(), claim.fence.into(), until.into()];
        match tx.query_one(Statement("items.extend"), &values)? {
            None => pulses.push(Pulse::Lost),
            Some(row) => {
                // One that is asked to stop and is committing goes on all the same.
                leases::extend_owner(tx, claim.item.0, until)?;
                let is_asked =
                    row.optional_text("cancel_requested")?.is_some() || matches!(state, Heartbeat::CancelRequested(_));
                pulses.push(if is_asked { Pulse::StopRequested } else { Pulse::Held(until) });
            }
        }
    }
    Ok(pulses)
}

/// Refuses when the claim is no longer current, or a store was replaced since it was made. Every write of a worker begins
/// with it.
pub fn check_fence(tx: &mut dyn Transaction, claim: &Claim) -> Result<(), RegistryError> {
    let values = [claim.item.into(), claim.fence.into(), claim.replacements.to_string().into()];
    may_go_on(claim, tx.query_one(Statement("items.may_write"), &values)?.as_ref())
}

/// Refuses when another has the item. A stage ends by this, also where it could write no more since a store was replaced.
pub(crate) fn check_claim(tx: &mut dyn Transaction, claim: &Claim) -> Result<(), RegistryError> {
    let values = [claim.item.into(), claim.fence.into()];
    may_go_on(claim, tx.query_one(Statement("items.fence"), &values)?.as_ref())
}

fn may_go_on(claim: &Claim, found: Option<&Row>) -> Result<(), RegistryError> {
    match found {
        Some(_) => Ok(()),
        None => Err(RegistryError::FenceLost { what: "work item", id: claim.item.to_string() }),
    }
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

/// Wakes the next deposit of the same object that waits for its turn. The topics that have new work.
pub fn wake_younger(tx: &mut dyn Transaction, item: &Item) -> Result<Vec<String>, RegistryError> {
    let key = WaitKey::turn(item.institution, &item.object_identifier);
    let Some(row) = tx.query_one(Statement("items.next_waiting"), &[key.0.into(), item.id.into()])? else {
        return Ok(Vec::new());
    };
    let younger = items::find(tx, Scope::System, ItemId(row.uuid("id")?))?;
    wake(tx, &younger).map(|topic| vec![topic])
}

/// Wakes the items at work that have a key, but for `except`, whose end it is that wakes them. One that is looking right now
/// for what it may have to wait for is woken too, so that it does not sleep through this. The topics that have new work.
pub fn wake_all(
    tx: &mut dyn Transaction,
    key: &WaitKey,
    except: Option<uuid::Uuid>,
) -> Result<Vec<String>, RegistryError> {
    let mut topics = Vec::new();
    for row in tx.query(Statement("items.waiting"), &[key.0.as_str().into(), except.into()])? {
        let item = items::find(tx, Scope::System, ItemId(row.uuid("id")?))?;
        topics.push(wake(tx, &item)?);
    }
    topics.dedup();
    Ok(topics)
}

/// Brings an item's waiting task forward to now: enqueueing it again does just that.
fn wake(tx: &mut dyn Transaction, item: &Item) -> Result<String, RegistryError> {
    items::enqueue(tx, item.id, &item.topic, item.priority, item.institution)?;
    Ok(item.topic.clone())
}

/// Buries a task whose attempts all ended without a word, and fails its item. One whose version is being committed only
/// goes forward: it rests, and then has as many attempts again. The topics that have new work.
fn give_up(tx: &mut dyn Transaction, task: &Leased, item: &Item) -> Result<Vec<String>, RegistryError> {
    let attempts = task.spent - 1;
    let last_word = task.reason.as_deref().map(|reason| format!("; the last word was: {reason}")).unwrap_or_default();
    let committing = versions::of_item(tx, item.id)?.is_some_and(|version| version.state == VersionState::Committing);
    let (status, outcome, note) = if committing {
        let note = format!("rests after {attempts} attempts, whose workers stopped without a word{last_word}");
        tasks::checkpoint(tx, task.lease)?;
        (ItemStatus::Pending, Outcome::Defer(tx.now()?.plus(REST_AFTER_CRASHES)), note)
    } else {
        let note =
            format!("gave up after {}, whose workers stopped without a word{last_word}", attempts_in_words(attempts));
        (ItemStatus::Failed, Outcome::Dead { reason: note.clone() }, note)
    };
    tx.execute(Statement("items.raise_fence"), &[item.id.into()])?;
    let change = Move {
        position: item.position(),
        status,
        note: Some(&note),
        wait_reason: None,
        wait_until: match outcome {
            Outcome::Defer(until) => Some(until),
            _ => None,
        },
        needs_review: true,
        retry_count: u64::from(attempts),
        cancel_requested: None,
        holder: item.holder.as_deref(),
    };
    items::apply(tx, item, &change)?;
    settle(tx, task.lease, outcome)?;
    come_to_rest(tx, item, status, false)
}

/// Keeps what was found in a deposit that is taken in all the same.
pub fn note_problems(tx: &mut dyn Transaction, claim: &Claim, problems: &[ItemProblem]) -> Result<(), RegistryError> {
    check_fence(tx, claim)?;
    items::put_problems(tx, claim.item, problems)
}

/// Sets the note of an item while it is being worked on: progress for people to see.
pub fn set_note(tx: &mut dyn Transaction, claim: &Claim, note: &str) -> Result<(), RegistryError> {
    check_fence(tx, claim)?;
    let now = tx.now()?;
    tx.execute(Statement("items.note"), &[claim.item.into(), claim.fence.into(), note.into(), now.into()])?;
    Ok(())
}

/// Notes what was received: the payload's etag, its size where known, its name where it changed.
pub fn set_source(
    tx: &mut dyn Transaction,
    claim: &Claim,
    etag: &str,
    size: Option<u64>,
    name: Option<&str>,
) -> Result<(), RegistryError> {
    check_fence(tx, claim)?;
    tx.execute(
        Statement("items.set_source"),
        &[claim.item.into(), claim.fence.into(), etag.into(), size.into(), name.into()],
    )?;
    Ok(())
}

/// Adjusts an item's priority from its next task on.
pub fn set_priority(tx: &mut dyn Transaction, claim: &Claim, priority: i64) -> Result<(), RegistryError> {
    check_fence(tx, claim)?;
    tx.execute(Statement("items.set_priority"), &[claim.item.into(), priority.into()])?;
    Ok(())
}

/// Notes which object the item is about.
pub fn set_object(tx: &mut dyn Transaction, claim: &Claim, object: crate::ObjectId) -> Result<(), RegistryError> {
    check_fence(tx, claim)?;
    tx.execute(Statement("items.set_object"), &[claim.item.into(), claim.fence.into(), object.into()])?;
    Ok(())
}

fn attempts_in_words(number: impl Into<u64>) -> String {
    match number.into() {
        1 => "1 attempt".to_owned(),
        number => format!("{number} attempts"),
    }
}
