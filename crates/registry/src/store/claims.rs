//! Taking items up and keeping them: leases with their items, heartbeats, and the fence that every write begins with.

use std::time::Duration;

use strongroom_database::{Asked, Row, Statement, Transaction, Value};
use strongroom_queue::{Heartbeat, Lease, LeaseRequest, Leased, Outcome, Settled, Settlement, tasks};

use super::endings::{
    REST_AFTER_CRASHES, attempts_in_words, carry_out, on_item_inactive, outcome_of, request_to_carry_out,
};
use super::items::{self, Item, Move};
use super::stops;
use crate::model::claim::{Assignment, Claim, FenceCheck, HeartbeatOutcome, ItemOutcome, Leasing, MaxAttempts};
use crate::{ItemId, ItemStatus, Position, RegistryError, Scope, VersionState, Workflows, leases, versions, workflow};

/// How long a task rests whose stage the worker that leased it does not know, in microseconds: others may know it.
const REST_OF_THE_UNKNOWN: i64 = 30_000_000;

/// Leases tasks, and claims the items that they are stages of. Right by rows, too: it locks each item before it decides. A
/// task whose item has ended or moved on is settled in the same transaction and not returned; so is one whose item is on hold or
/// was to be cancelled while a worker had it. One whose item is at a stage of no registered workflow is deferred, for workers that
/// know it. One whose item belongs in another topic is put there. One whose attempts all ended without a word, with the worker gone, is buried, and its item fails.
pub fn lease(
    tx: &mut dyn Transaction,
    workflows: &dyn Workflows,
    request: &LeaseRequest,
    max_attempts: &MaxAttempts<'_>,
) -> Result<Leasing, RegistryError> {
    let worker = Worker { workflows, holder: &request.holder.to_string() };
    let mut leasing = Leasing::default();
    // An item that is ended here wakes younger ones, whose tasks must not be among those that another such transaction has leased.
    let limit = if request.limit > 1 && stops::has_stop(tx)? { 1 } else { request.limit };
    for task in tasks::lease(tx, &LeaseRequest { limit, ..request.clone() })? {
        let Some(item) = item_of(tx, workflows, &task)? else {
            leasing.assignments.push(Assignment { task, claimed: None });
            continue;
        };
        let limit = max_attempts(&task.topic);
        if let Some(claimed) = claim(tx, &worker, (&task, item), limit, &mut leasing)? {
            leasing.assignments.push(Assignment { task, claimed: Some(claimed) });
        }
    }
    Ok(leasing)
}

/// The item that a task is a stage of. A program that did not know yet that tasks name it has named it by the task's key alone.
fn item_of(
    tx: &mut dyn Transaction,
    workflows: &dyn Workflows,
    task: &Leased,
) -> Result<Option<ItemId>, RegistryError> {
    if let Some(id) = task.item {
        return Ok(Some(ItemId(id)));
    }
    let Ok(id) = task.key.parse::<ItemId>() else { return Ok(None) };
    let item = items::get(tx, Scope::System, id)?;
    Ok(item.filter(|item| workflow::here(workflows, item).topic == task.topic).map(|item| item.id))
}

/// Who leases.
struct Worker<'a> {
    workflows: &'a dyn Workflows,
    holder: &'a str,
}

/// Claims the item that a leased task stands for; none where the task was settled instead.
fn claim(
    tx: &mut dyn Transaction,
    worker: &Worker<'_>,
    (task, id): (&Leased, ItemId),
    max_attempts: u32,
    leasing: &mut Leasing,
) -> Result<Option<(Claim, Box<Item>)>, RegistryError> {
    let Worker { workflows, holder } = *worker;
    let row = tx.query_one(Statement("items.to_take_up"), &[id.into()])?;
    let here = |item: &Item| workflow::here(workflows, item);
    let is_meant = |item: &Item| item.is_at_work() && (here(item).topic == task.topic || item.topic == task.topic);
    let read = |row| Ok::<_, RegistryError>((items::item_row(row)?, replacements(row)?, row.bool("holds_object")?));
    let found = row.as_ref().map(read).transpose()?;
    let Some((mut item, replacements, holds_object)) = found.filter(|(item, ..)| is_meant(item)) else {
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
        leasing.add(carry_out(tx, &item, wanted)?);
        return Ok(None);
    }
    let position = here(&item);
    if position.topic != task.topic {
        settle(tx, task.lease, Outcome::Done)?;
        leasing.add((vec![change_topic(tx, &item, position)?], None));
        return Ok(None);
    }
    if task.spent > max_attempts {
        leasing.add(give_up(tx, task, &item)?);
        return Ok(None);
    }
    let now = tx.now()?;
    let values = [
        id.into(),
        holder.into(),
        task.lease_until.into(),
        now.into(),
        item.stage.as_str().into(),
        (&task.topic).into(),
    ];
    let Some(row) = tx.query_one(Statement("items.claim"), &values)? else {
        settle(tx, task.lease, Outcome::Done)?;
        return Ok(None);
    };
    let line = items::NewLine { holder: Some(holder), ..items::NewLine::new(item.stage, ItemStatus::Started) };
    items::add_history(tx, id, line)?;
    // The lease of an object that the item has not let go, and that no process took since, goes on with the task's.
    if holds_object {
        leases::extend_owner(tx, id.0, task.lease_until)?;
    }
    item.fence = row.integer("fence")?;
    item.status = ItemStatus::Started;
    item.holder = Some(holder.to_owned());
    item.lease_until = Some(task.lease_until);
    item.updated_at = now;
    let claim = Claim {
        item: id,
        fence: item.fence,
        replacements,
        lease: task.lease,
        spent: task.spent,
        fence_check: FenceCheck::default(),
    };
    Ok(Some((claim, Box::new(item))))
}

/// Puts an item into the topic of its stage, where its task is in another one: a program of another version put it there, or what the item
/// is about became known since. The topic, which has new work.
fn change_topic(tx: &mut dyn Transaction, item: &Item, position: Position) -> Result<String, RegistryError> {
    let topic = position.topic.clone();
    let change = Move {
        needs_review: item.needs_review,
        retry_count: item.retry_count,
        ..Move::new(item, position, ItemStatus::Pending, format!("goes on in the topic {topic}"))
    };
    items::apply(tx, item, &change)?;
    items::enqueue(tx, item, &topic)?;
    Ok(topic)
}

pub(super) fn settle(tx: &mut dyn Transaction, lease: Lease, outcome: Outcome) -> Result<Settled, RegistryError> {
    let settled = tasks::settle(tx, &[Settlement { lease, outcome }])?;
    Ok(settled.first().copied().unwrap_or(Settled::Lost))
}

/// Buries a task whose attempts all ended without a word, and fails its item. One whose version is being committed only
/// goes forward: it rests, and then has as many attempts again. The topics that have new work, and what came of the item.
fn give_up(
    tx: &mut dyn Transaction,
    task: &Leased,
    item: &Item,
) -> Result<(Vec<String>, Option<ItemOutcome>), RegistryError> {
    let attempts = task.spent - 1;
    let last_word = task.reason.as_deref().map(|reason| format!("; the last reason was: {reason}")).unwrap_or_default();
    let committing = versions::of_item(tx, item.id)?.is_some_and(|version| version.state == VersionState::Committing);
    let (status, outcome, note) = if committing {
        let note = format!(
            "waits after {attempts} attempts, in each of which the worker stopped without reporting \
             an end{last_word}"
        );
        tasks::checkpoint(tx, task.lease)?;
        (ItemStatus::Pending, Outcome::Defer(tx.now()?.plus(REST_AFTER_CRASHES)), note)
    } else {
        let note = format!(
            "failed after {}, in each of which the worker stopped without reporting an end{last_word}",
            attempts_in_words(attempts)
        );
        (ItemStatus::Failed, Outcome::Dead { reason: note.clone() }, note)
    };
    tx.execute(Statement("items.raise_fence"), &[item.id.into()])?;
    let change = Move {
        wait_until: match outcome {
            Outcome::Defer(until) => Some(until),
            _ => None,
        },
        needs_review: true,
        retry_count: u64::from(attempts),
        ..Move::new(item, item.position(), status, note)
    };
    items::apply(tx, item, &change)?;
    settle(tx, task.lease, outcome)?;
    let outcome = outcome_of(tx, item, &change)?;
    Ok((on_item_inactive(tx, item, status, false)?, outcome))
}

/// Extends tasks, items and the object leases of those items, all by one transaction. Right by rows, too.
pub fn heartbeat(
    tx: &mut dyn Transaction,
    held: &[(Lease, Option<Claim>)],
    duration: Duration,
) -> Result<Vec<HeartbeatOutcome>, RegistryError> {
    let leases: Vec<Lease> = held.iter().map(|(lease, _)| *lease).collect();
    let mut pulses = Vec::with_capacity(held.len());
    for ((_, claim), state) in held.iter().zip(tasks::heartbeat(tx, &leases, duration)?) {
        let until = match state {
            Heartbeat::Held(until) | Heartbeat::CancelRequested(until) => until,
            Heartbeat::Lost => {
                pulses.push(HeartbeatOutcome::Lost);
                continue;
            }
        };
        let Some(claim) = claim else {
            let is_asked = matches!(state, Heartbeat::CancelRequested(_));
            pulses.push(if is_asked { HeartbeatOutcome::StopRequested } else { HeartbeatOutcome::Held(until) });
            continue;
        };
        let values = [claim.item.into(), claim.fence.into(), until.into()];
        match tx.query_one(Statement("items.extend"), &values)? {
            None => pulses.push(HeartbeatOutcome::Lost),
            Some(row) => {
                // One that was asked to end and is committing goes on all the same.
                leases::extend_owner(tx, claim.item.0, until)?;
                let is_asked = row.bool("is_asked_to_stop")? || matches!(state, Heartbeat::CancelRequested(_));
                pulses.push(if is_asked { HeartbeatOutcome::StopRequested } else { HeartbeatOutcome::Held(until) });
            }
        }
    }
    Ok(pulses)
}

/// Refuses when the claim is no longer current, or a store was replaced since it was made. Every write of a worker begins
/// with it. In the transaction that ends a stage, the end refuses instead; see [`FenceCheck`].
pub fn check_fence(tx: &mut dyn Transaction, claim: &Claim) -> Result<(), RegistryError> {
    if claim.fence_check.is_by_end() {
        return Ok(());
    }
    let values = [claim.item.into(), claim.fence.into(), claim.replacements.to_string().into()];
    may_go_on(claim, tx.query_one(Statement("items.may_write"), &values)?.as_ref())
}

/// An item as its worker finds it at the end of a stage.
pub(super) struct Claimed {
    pub(super) item: Item,
    /// Whether it holds the lease of an object, or held one that ran out and that no process took since.
    pub(super) holds_object: bool,
    /// How often stores have been replaced.
    pub(super) replacements: u64,
    /// The version of the tables.
    pub(super) schema: u64,
}

/// The item; refuses when another has it. A stage ends by this, also where it could write no more since a store was replaced.
pub(super) fn claimed(tx: &mut dyn Transaction, claim: &Claim) -> Result<Claimed, RegistryError> {
    claimed_row(claim, tx.query_one(Statement("items.claimed"), &claimed_values(claim))?.as_ref())
}

/// What asks for the item; [`claimed_row`] reads the answer.
pub(super) fn ask_claimed(claim: &Claim) -> Asked {
    Asked::once(Statement("items.claimed"), claimed_values(claim))
}

pub(super) fn claimed_values(claim: &Claim) -> Vec<Value> {
    vec![claim.item.into(), claim.fence.into()]
}

pub(super) fn claimed_row(claim: &Claim, row: Option<&Row>) -> Result<Claimed, RegistryError> {
    may_go_on(claim, row)?;
    let row = row.ok_or_else(|| RegistryError::NotFound { what: "work item", id: claim.item.to_string() })?;
    Ok(Claimed {
        item: items::item_row(row)?,
        holds_object: row.bool("holds_object")?,
        replacements: replacements(row)?,
        schema: row.count("schema_version")?,
    })
}

fn replacements(row: &Row) -> Result<u64, RegistryError> {
    Ok(row.text("replacements")?.parse().unwrap_or(0))
}

/// Refuses where a look for the claim found nothing.
pub(crate) fn may_go_on(claim: &Claim, found: Option<&Row>) -> Result<(), RegistryError> {
    match found {
        Some(_) => Ok(()),
        None => Err(RegistryError::FenceLost { what: "work item", id: claim.item.to_string() }),
    }
}
