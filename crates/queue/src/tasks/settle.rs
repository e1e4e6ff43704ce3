//! Ending leases. Each settlement is one atomic change, and only the latest lease of a task can make it.

use strongroom_database::{Statement, Time, Transaction, Value};

use crate::{Lease, Outcome, QueueError, Settled, Settlement, TaskId};

use super::enqueue::take_ids;
use super::small;

const FINISH: Statement = Statement("queue_finish");
const HELD: Statement = Statement("queue_held");
const START_AGAIN: Statement = Statement("queue_start_again");
const DELAY: Statement = Statement("queue_delay");
const RELEASE: Statement = Statement("queue_release");
const BURY: Statement = Statement("queue_bury");
const SUCCEED_BURIED: Statement = Statement("queue_succeed_buried");
const FORGET_AGAIN: Statement = Statement("queue_forget_again");

/// Ends leases as their holders say; one answer for each, in order.
pub fn settle(transaction: &mut dyn Transaction, settlements: &[Settlement]) -> Result<Vec<Settled>, QueueError> {
    let now = transaction.now()?;
    let mut answers = Vec::with_capacity(settlements.len());
    for alike in settlements.chunk_by(|one, other| is_done(one) == is_done(other)) {
        let finished =
            if alike.first().is_some_and(is_done) { finish(transaction, alike)? } else { vec![false; alike.len()] };
        for (Settlement { lease, outcome }, finished) in alike.iter().zip(finished) {
            answers.push(if finished { Settled::Ok } else { settle_held(transaction, *lease, outcome, now)? });
        }
    }
    Ok(answers)
}

fn is_done(settlement: &Settlement) -> bool {
    settlement.outcome == Outcome::Done
}

/// Deletes tasks that are not enqueued again; for each whether it was, or there is more to check.
fn finish(transaction: &mut dyn Transaction, done: &[Settlement]) -> Result<Vec<bool>, QueueError> {
    let mut leases =
        done.iter().map(|settlement| vec![settlement.lease.task.0.into(), settlement.lease.attempt.into()]);
    let rows = transaction.query_many(FINISH, &mut leases)?;
    Ok(rows.iter().map(Option::is_some).collect())
}

/// Keeps everybody else from changing a task until the transaction ends, where this lease is its latest.
pub fn lock(transaction: &mut dyn Transaction, lease: Lease) -> Result<(), QueueError> {
    transaction.query_one(HELD, &[lease.task.0.into(), lease.attempt.into()])?;
    Ok(())
}

fn settle_held(
    transaction: &mut dyn Transaction,
    lease: Lease,
    outcome: &Outcome,
    now: Time,
) -> Result<Settled, QueueError> {
    let held = transaction.query_one(HELD, &[lease.task.0.into(), lease.attempt.into()])?;
    let Some(held) = held else { return Ok(Settled::Lost) };
    let attempts_spent = small(&held, "spent")? >= small(&held, "max_attempts")?;
    let wanted_again = held.optional_time("again_at")?.is_some();
    let task = lease.task;
    match outcome {
        Outcome::Done => {
            transaction.execute(START_AGAIN, &[task.0.into(), now.into()])?;
        }
        Outcome::RetryAt { reason, .. } if attempts_spent => {
            bury(transaction, task, reason, wanted_again, now)?;
            return Ok(Settled::Buried);
        }
        Outcome::RetryAt { at, reason } => {
            delay(transaction, task, *at, Some(reason), 0)?;
        }
        Outcome::Defer(time) => delay(transaction, task, *time, None, 1)?,
        Outcome::Dead { reason } => bury(transaction, task, reason, wanted_again, now)?,
        Outcome::Release => release(transaction, task, 1, now)?,
    }
    Ok(Settled::Ok)
}

fn delay(
    transaction: &mut dyn Transaction,
    task: TaskId,
    until: Time,
    reason: Option<&str>,
    given_back: i64,
) -> Result<(), QueueError> {
    transaction.execute(DELAY, &[task.0.into(), until.into(), reason.into(), Value::Integer(given_back)])?;
    Ok(())
}

/// Makes a leased task ready at its old place in the line, returning so many attempts.
pub(super) fn release(
    transaction: &mut dyn Transaction,
    task: TaskId,
    given_back: i64,
    now: Time,
) -> Result<(), QueueError> {
    transaction.execute(RELEASE, &[task.0.into(), now.into(), Value::Integer(given_back)])?;
    Ok(())
}

/// Moves a leased task to the dead letters. Where its key is wanted once more, a new task takes its place.
pub(super) fn bury(
    transaction: &mut dyn Transaction,
    task: TaskId,
    reason: &str,
    wanted_again: bool,
    now: Time,
) -> Result<(), QueueError> {
    transaction.execute(BURY, &[task.0.into(), now.into(), reason.into()])?;
    if wanted_again {
        for successor in take_ids(transaction, 1)? {
            transaction.execute(SUCCEED_BURIED, &[task.0.into(), successor.into(), now.into()])?;
        }
        transaction.execute(FORGET_AGAIN, &[task.0.into()])?;
    }
    Ok(())
}
