//! What the end of a stage makes of its item, and what comes to rest with it.

use std::time::Duration;

use strongroom_database::{Statement, Transaction};
use strongroom_queue::{NewTask, Outcome, Settled, tasks};

use super::advance::begin_to_end;
use super::claims::settle;
use super::holds::{self, On};
use super::items::{self, Asker, Item, Move};
use super::requests::{is_swept, note_of};
use super::space;
use super::waking::{wake_all, wake_younger};
use crate::model::claim::{Claim, ItemOutcome, StageEnd};
use crate::{
    ItemId, ItemStatus, RegistryError, Stage, Subject, VersionState, WaitKey, WaitReason, Workflows, batches,
    discarding, interim, leases, reports, versions, workflow,
};

/// How long an item rests whose version is being committed and whose worker cannot go on, in microseconds.
const REST_WHILE_COMMITTING: i64 = 60_000_000;
/// The same where its workers stopped without a word as often as a task may try.
pub(super) const REST_AFTER_CRASHES: i64 = 600_000_000;

/// Who holds an item whose stage ended so that a person has to look at it.
const SYSTEM: &str = "system";

/// The topic of the task that clears what an ended item left behind.
pub const SWEEP_TOPIC: &str = "ingest.sweep";

/// The status that an item is to have instead of beginning a stage: it was cancelled while a worker had it, or it, its batch or its
/// collection is on hold. None where its version is committed: it goes on to its end. Every stage begins behind this check: it is
/// asked at the claim, at the end of the stage before, where the worker goes on with the next one, and where an item is taken over.
pub(crate) fn request_to_carry_out(item: &Item) -> Option<ItemStatus> {
    let wanted = item.cancel_requested.or(item.is_on_hold.then_some(ItemStatus::Held));
    wanted.filter(|_| !item.is_committed)
}

/// Gives an item that no process works on any more the status that a person asked for. The topics that have new work,
/// and what came of the item.
pub(crate) fn carry_out(
    tx: &mut dyn Transaction,
    item: &Item,
    wanted: ItemStatus,
) -> Result<(Vec<String>, Option<ItemOutcome>), RegistryError> {
    let why = Requested::find(tx, item, wanted)?;
    let change = why.on(Move::new(item, item.position(), wanted, String::new()));
    items::apply(tx, item, &change)?;
    let outcome = outcome_of(tx, item, &change)?;
    Ok((on_item_inactive(tx, item, wanted, is_swept(wanted))?, outcome))
}

/// What came of an item by a move; none where it goes on.
pub(super) fn outcome_of(
    tx: &mut dyn Transaction,
    item: &Item,
    change: &Move<'_>,
) -> Result<Option<ItemOutcome>, RegistryError> {
    if !is_inactive(change.status) {
        return Ok(None);
    }
    let age = tx.now()?.0.saturating_sub(item.created_at.0);
    Ok(Some(ItemOutcome {
        item: item.id,
        action: item.action,
        object_identifier: item.object_identifier.clone(),
        stage: change.position.stage,
        status: change.status,
        note: change.note.clone(),
        age: Duration::from_micros(u64::try_from(age).unwrap_or_default()),
    }))
}

/// Whether nothing more happens to an item of this status without a person.
pub(super) fn is_inactive(status: ItemStatus) -> bool {
    status.is_ended() || status == ItemStatus::Held
}

/// What a person asked of an item while a worker had it.
pub(super) struct Requested {
    note: String,
    who: Option<String>,
}

impl Requested {
    /// Why an item is to have a status.
    fn find(tx: &mut dyn Transaction, item: &Item, wanted: ItemStatus) -> Result<Self, RegistryError> {
        if wanted == ItemStatus::Held {
            let holds = holds::of_item(tx, item)?;
            let who = holds.first().map(|hold| hold.placed_by.clone());
            return Ok(Self { note: holds::note_of(&holds), who });
        }
        let who = item.requested_by.clone();
        let reason = item.request_reason.as_deref();
        let note =
            who.as_deref().map_or_else(|| format!("{wanted} as asked"), |who| note_of(wanted, Asker { who, reason }));
        Ok(Self { note, who })
    }

    /// The move as the person asked for it: history names the person, and not the worker.
    fn on<'a>(&'a self, change: Move<'a>) -> Move<'a> {
        let needs_review = change.status == ItemStatus::Failed;
        let change = Move { note: self.note.clone(), needs_review, ..change };
        match self.who.as_deref() {
            Some(who) => Move { actor: Some(who), holder: None, ..change },
            None => change,
        }
    }
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
    let (found, ..) = begin_to_end(tx, claim, "", None)?;
    Ok(finish_found(tx, workflows, (claim, holder), &found.item, end)?.0)
}

/// Ends a stage of an item that is locked behind its task. The topics that have new work, and what came of the item, where it
/// ended or is held by it.
pub(super) fn finish_found(
    tx: &mut dyn Transaction,
    workflows: &dyn Workflows,
    by: (&Claim, &str),
    item: &Item,
    end: &StageEnd,
) -> Result<(Vec<String>, Option<ItemOutcome>), RegistryError> {
    let Finished { rested, mut topics, outcome } = finish_but_conclude(tx, workflows, by, item, end)?;
    if is_inactive(rested.status) {
        topics.extend(conclude(tx, &[rested])?);
    }
    Ok((topics, outcome))
}

/// What came of the end of a stage, which is to be concluded with [`conclude`] where its item came to rest.
pub(super) struct Finished<'a> {
    pub(super) rested: Rested<'a>,
    pub(super) topics: Vec<String>,
    pub(super) outcome: Option<ItemOutcome>,
}

/// As [`finish_found`] up to what items have in common: a transaction that ends stages of several does it for all of them first.
pub(super) fn finish_but_conclude<'a>(
    tx: &mut dyn Transaction,
    workflows: &dyn Workflows,
    (claim, holder): (&Claim, &str),
    item: &'a Item,
    end: &StageEnd,
) -> Result<Finished<'a>, RegistryError> {
    let requested = match request_to_carry_out(item) {
        Some(wanted) if !ends_item(end) => Some((wanted, Requested::find(tx, item, wanted)?)),
        _ => None,
    };
    let (change, outcome) = match &requested {
        Some((wanted, why)) => {
            let stage = match end {
                StageEnd::Next { next: to, .. } | StageEnd::Back { to, .. } | StageEnd::StagingLost { to, .. } => *to,
                _ => item.stage,
            };
            let position = workflow::position(workflows, Subject::from(item), stage)?;
            (why.on(Move::new(item, position, *wanted, "")), Outcome::Done)
        }
        None => decide(tx, workflows, item, claim, end)?,
    };
    let change = Move { holder: Some(holder).filter(|_| change.actor.is_none()), ..change };
    items::apply(tx, item, &change)?;
    match end {
        StageEnd::Fatal { problems, .. } => items::put_problems(tx, item.id, problems)?,
        StageEnd::Invalid { problems, .. } => {
            items::put_problems(tx, item.id, problems)?;
            if change.status == ItemStatus::Failed {
                tx.execute(Statement("items.set_verdict"), &[item.id.into()])?;
            }
        }
        StageEnd::StagingLost { .. } => {
            let losses = item.staging_losses.saturating_add(1);
            tx.execute(Statement("items.set_staging_losses"), &[item.id.into(), losses.into()])?;
        }
        StageEnd::Held { note } if change.status == ItemStatus::Held && requested.is_none() => {
            holds::place(tx, On::Item(item.id), item.institution, Asker { who: SYSTEM, reason: Some(note) })?;
        }
        _ => {}
    }
    let goes_on_with_this_task = !matches!(outcome, Outcome::Done);
    let outcome = match outcome {
        // The item was made ready while it was decided that it should wait.
        Outcome::Defer(_) if tasks::show(tx, claim.lease.task)?.is_some_and(|task| task.again) => Outcome::Done,
        outcome => outcome,
    };
    let topic = &change.position.topic;
    let is_pending = change.status == ItemStatus::Pending;
    let is_passed_on = is_pending && outcome == Outcome::Done && items::pass_on(tx, claim.lease, item, topic)?;
    if !is_passed_on && settle(tx, claim.lease, outcome)? == Settled::Lost {
        return Err(RegistryError::FenceLost { what: "task", id: claim.item.to_string() });
    }
    let mut topics = Vec::new();
    if is_pending {
        if !(is_passed_on || goes_on_with_this_task) {
            items::enqueue(tx, item, topic)?;
        }
        topics.push(topic.clone());
    }
    if change.status == ItemStatus::Succeeded {
        // It cannot be requeued, so no stage reads them again. Of other ends the sweep drops them, or a requeue needs them.
        interim::clear_facts(tx, item.id)?;
    }
    // Spent attempts keep what was staged, so that a person can requeue where it stopped.
    let is_swept =
        change.status == ItemStatus::Cancelled || matches!(end, StageEnd::Fatal { .. } | StageEnd::Invalid { .. });
    topics.extend(free_others(tx, item, change.status)?);
    let outcome = outcome_of(tx, item, &change)?;
    Ok(Finished { rested: Rested { item, status: change.status, is_swept }, topics, outcome })
}

/// Whether the end of a stage ends its item, so that nothing that was asked of it has to be carried out.
fn ends_item(end: &StageEnd) -> bool {
    matches!(
        end,
        StageEnd::Fatal { .. } | StageEnd::Invalid { .. } | StageEnd::Succeeded { .. } | StageEnd::Cancelled { .. }
    )
}

/// What the end of a stage makes of its item, and of its task, where nothing was asked of the item meanwhile.
fn decide<'a>(
    tx: &mut dyn Transaction,
    workflows: &dyn Workflows,
    item: &'a Item,
    claim: &Claim,
    end: &StageEnd,
) -> Result<(Move<'a>, Outcome), RegistryError> {
    // Only of an item that goes only forward can the version be one that is being committed, and only where a stage went wrong
    // does it matter.
    let has_failed = matches!(
        end,
        StageEnd::StagingLost { .. } | StageEnd::Fatal { .. } | StageEnd::Invalid { .. } | StageEnd::Transient { .. }
    );
    let version = if item.is_committed && has_failed { versions::of_item(tx, item.id)? } else { None };
    let is_committing = version.is_some_and(|version| version.state == VersionState::Committing);
    let rest_until = tx.now()?.plus(REST_WHILE_COMMITTING);
    let spent = u64::from(claim.spent);
    let losses = item.staging_losses.saturating_add(1);
    let go = |stage: Stage, status: ItemStatus, note: &str| {
        let position = workflow::position(workflows, Subject::from(item), stage)?;
        Ok::<_, RegistryError>(Move::new(item, position, status, note))
    };
    let stay = |status, note| go(item.stage, status, note);
    let begin = |stage, note| Ok::<_, RegistryError>(Move { retry_count: 0, ..go(stage, ItemStatus::Pending, note)? });
    let (change, outcome) = match end {
        StageEnd::Next { next: to, note } | StageEnd::Back { to, note } => (begin(*to, note)?, Outcome::Done),
        StageEnd::Defer { until, reason, note } => {
            // A store that is refused does not come back by itself.
            let needs_review = *reason == WaitReason::RefusedStore;
            let stays = stay(ItemStatus::Pending, note)?;
            (Move { wait_reason: Some(*reason), needs_review, ..stays }, Outcome::Defer(*until))
        }
        StageEnd::Released { note } => (stay(ItemStatus::Pending, note)?, Outcome::Release),
        StageEnd::Held { note } => (stay(ItemStatus::Held, note)?, Outcome::Done),
        StageEnd::Succeeded { note } => (Move { retry_count: 0, ..stay(ItemStatus::Succeeded, note)? }, Outcome::Done),
        StageEnd::Cancelled { note } if item.is_committed => {
            (stay(ItemStatus::Pending, note)?, Outcome::Defer(rest_until))
        }
        StageEnd::Cancelled { note } => (stay(ItemStatus::Cancelled, note)?, Outcome::Done),
        StageEnd::StagingLost { max_losses, note, advice, .. }
            if !is_committing && losses >= u64::from(*max_losses) =>
        {
            let note = format!("failed: what was staged was lost {losses} times: {note}; {advice}");
            (Move { needs_review: true, ..stay(ItemStatus::Failed, &note)? }, Outcome::Done)
        }
        StageEnd::StagingLost { to, note, .. } => (begin(*to, &format!("{note}; fetching again"))?, Outcome::Done),
        StageEnd::Fatal { note, .. } | StageEnd::Invalid { note, .. } if is_committing => {
            let stays = stay(ItemStatus::Pending, note)?;
            (Move { needs_review: true, retry_count: spent, ..stays }, Outcome::Defer(rest_until))
        }
        StageEnd::Fatal { note, .. } | StageEnd::Invalid { note, .. } => {
            (Move { needs_review: true, ..stay(ItemStatus::Failed, note)? }, Outcome::Done)
        }
        StageEnd::Transient { max_attempts, note, .. } if claim.spent >= *max_attempts && !is_committing => {
            let note = format!("failed after {}: {note}", attempts_in_words(spent));
            let fails = stay(ItemStatus::Failed, &note)?;
            (Move { needs_review: true, retry_count: spent, ..fails }, Outcome::Dead { reason: note })
        }
        StageEnd::Transient { retry_at, max_attempts, note } => {
            // From `committing` on there is only forward: it is tried without end, and the item is marked for review.
            let needs_review = claim.spent >= *max_attempts;
            let outcome = if needs_review {
                Outcome::Defer(*retry_at)
            } else {
                Outcome::RetryAt { at: *retry_at, reason: note.clone() }
            };
            (Move { needs_review, retry_count: spent, ..stay(ItemStatus::Pending, note)? }, outcome)
        }
    };
    let wait_until = match &outcome {
        Outcome::Defer(until) | Outcome::RetryAt { at: until, .. } => Some(*until),
        _ => None,
    };
    Ok((Move { wait_until, ..change }, outcome))
}

/// What an item's coming to rest brings with it: its object leases go; where it was the first that waits for space in staging, or
/// failed and frees some, or is held with what it has, the others that wait are woken; where it ended, a newer deposit of the same object is woken and, when
/// `sweep`, what it was preparing is marked as discarded, and the task is enqueued that clears what it left behind; its batch is
/// derived anew, and its end told where the collection has it told. Nothing for a status that is no rest. The topics that have new work.
pub(crate) fn on_item_inactive(
    tx: &mut dyn Transaction,
    item: &Item,
    status: ItemStatus,
    sweep: bool,
) -> Result<Vec<String>, RegistryError> {
    if !is_inactive(status) {
        return Ok(Vec::new());
    }
    let mut topics = free_others(tx, item, status)?;
    topics.extend(conclude(tx, &[Rested { item, status, is_swept: sweep }])?);
    Ok(topics)
}

/// An item that came to rest, or that continues, and its status.
pub(super) struct Rested<'a> {
    pub(super) item: &'a Item,
    pub(super) status: ItemStatus,
    /// Whether what it was preparing is discarded.
    pub(super) is_swept: bool,
}

/// The first half of [`on_item_inactive`]: it may wait for the tasks of other items, so that a transaction that changes several items does it for
/// all of them before it takes what they have in common, by [`conclude`]. The topics that have new work.
pub(super) fn free_others(
    tx: &mut dyn Transaction,
    item: &Item,
    status: ItemStatus,
) -> Result<Vec<String>, RegistryError> {
    if !is_inactive(status) {
        return Ok(Vec::new());
    }
    let mut topics = leases::release_owner(tx, item.id.0)?;
    // One that was refused its first bytes while it was read waits as well, whatever its stage waits for.
    if space::end_wait(tx, item.id)? {
        topics.extend(wake_all(tx, &WaitKey::staging(), Some(item.id.0))?);
    }
    if status.is_ended() {
        // One that failed can be requeued, and is on hold then, as before.
        if item.is_on_hold && status != ItemStatus::Failed {
            holds::lift(tx, On::Item(item.id))?;
        }
        topics.extend(wake_younger(tx, item)?);
    }
    // What it does not use of its space is free to others; what it keeps, keeps none waiting behind the one that is first.
    let frees_space = match status {
        ItemStatus::Failed => space::keep_staged(tx, item.id)?,
        ItemStatus::Held => interim::has_reservation(tx, item.id)?,
        _ => false,
    };
    if frees_space {
        topics.extend(wake_all(tx, &WaitKey::staging(), Some(item.id.0))?);
    }
    Ok(topics)
}

/// The second half, for items that are all of one batch, or a single one: what they prepared is discarded, their batch is derived anew, and
/// their ends are told. The topics that have new work.
///
/// # Errors
/// [`RegistryError::ReportUnwritten`] where one of them had ended, and a report that says how is not written.
pub(super) fn conclude(tx: &mut dyn Transaction, rested: &[Rested<'_>]) -> Result<Vec<String>, RegistryError> {
    let mut topics = Vec::new();
    for Rested { item, status, is_swept } in rested {
        if *is_swept && status.is_ended() {
            topics.extend(sweep_later(tx, item)?);
        }
    }
    if let Some(batch) = rested.first().and_then(|first| first.item.batch) {
        if rested.iter().any(|one| one.item.status.is_ended()) {
            reports::refuse_unfilled(tx, batch)?;
        }
        let settled = batches::settle(tx, batch)?;
        topics.extend(settled.topics);
        if settled.has_callback {
            for ended in rested.iter().filter(|one| one.status.is_ended()) {
                reports::tell_end(tx, ended.item.id)?;
                topics.push(reports::TOPIC.to_owned());
            }
        }
    }
    Ok(topics)
}

/// Discards what an item that has ended prepared, and enqueues the task that removes it. The topics that have new work.
pub(super) fn sweep_later(tx: &mut dyn Transaction, item: &Item) -> Result<Vec<String>, RegistryError> {
    discarding::discard_of_item(tx, item.id)?;
    let task = NewTask {
        fair_key: item.institution.to_string(),
        max_attempts: 10,
        ..NewTask::new(SWEEP_TOPIC, item.id.to_string(), "")
    };
    tasks::enqueue(tx, &[task])?;
    Ok(vec![SWEEP_TOPIC.to_owned()])
}

pub(super) fn attempts_in_words(number: impl Into<u64>) -> String {
    match number.into() {
        1 => "1 attempt".to_owned(),
        number => format!("{number} attempts"),
    }
}
