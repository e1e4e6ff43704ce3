//! Putting tasks into topics.

use strongroom_database::{Statement, Time, Transaction, Value};

use crate::{Enqueued, NewTask, QueueError, TaskId};

use super::state;
use super::turns::{TURNS_PER_PRIORITY, Turns};

const TAKE_IDS: Statement = Statement("queue_take_ids");
const INSERT: Statement = Statement("queue_insert");
const LIVE: Statement = Statement("queue_live");
const BRING_FORWARD: Statement = Statement("queue_bring_forward");
const RAISE: Statement = Statement("queue_raise");
const MARK_AGAIN: Statement = Statement("queue_mark_again");

/// The most bytes of a topic, a key or a fair key: they are part of several indexes.
const NAME_LIMIT: usize = 512;

/// Puts tasks into their topics; one answer for each, in order. Of one topic and key one task waits at most: see
/// [`Enqueued`] for what happens where one is there already.
pub fn enqueue(transaction: &mut dyn Transaction, tasks: &[NewTask]) -> Result<Vec<Enqueued>, QueueError> {
    if tasks.is_empty() {
        return Ok(Vec::new());
    }
    tasks.iter().try_for_each(check_names)?;
    let now = transaction.now()?;
    let first_id = take_ids(transaction, tasks.len())?;
    let at_once = tasks.iter().filter(|task| !is_delayed(task, now)).map(share);
    let mut turns = Turns::reserve(transaction, at_once)?;
    let mut answers = Vec::with_capacity(tasks.len());
    for (task, id) in tasks.iter().zip(first_id..) {
        let (topic, fair_key, priority) = share(task);
        let delayed = is_delayed(task, now);
        let rank = if delayed { 0 } else { turns.next_rank(topic, fair_key, priority) };
        let created = transaction.execute(
            INSERT,
            &[
                id.into(),
                topic.into(),
                task.key.as_str().into(),
                Value::Integer(if delayed { state::DELAYED } else { state::READY }),
                priority.into(),
                fair_key.into(),
                rank.into(),
                task.not_before.map_or(now, |time| time.max(now)).into(),
                task.max_attempts.max(1).into(),
                now.into(),
                task.payload.as_slice().into(),
            ],
        )? == 1;
        if !created {
            answers.push(join_live(transaction, task, now)?);
            continue;
        }
        if !delayed {
            turns.used(topic, fair_key, priority);
        }
        answers.push(Enqueued::Created(TaskId(id)));
    }
    turns.finish(transaction)?;
    Ok(answers)
}

/// The first of `count` fresh ids.
pub(super) fn take_ids(transaction: &mut dyn Transaction, count: usize) -> Result<i64, QueueError> {
    let row = transaction.query_one(TAKE_IDS, &[count.into()])?;
    let row = row.ok_or_else(|| missing(TAKE_IDS, "the sequence of task ids has no row"))?;
    Ok(row.integer(0)?)
}

/// The task of this topic and key that is there already does for the new one as well.
fn join_live(transaction: &mut dyn Transaction, task: &NewTask, now: Time) -> Result<Enqueued, QueueError> {
    let live = transaction.query_one(LIVE, &[task.key.as_str().into(), task.topic.as_str().into()])?;
    let live = live.ok_or_else(|| missing(INSERT, "a row was refused though no task of its key is live"))?;
    let id = live.integer(0)?;
    let wanted_at = task.not_before.map_or(now, |time| time.max(now));
    match live.integer(1)? {
        state::READY => {
            transaction.execute(RAISE, &[id.into(), task.priority.into(), TURNS_PER_PRIORITY.into()])?;
            Ok(Enqueued::Existing(TaskId(id)))
        }
        state::LEASED => {
            let values = [id.into(), wanted_at.into(), task.priority.into(), task.payload.as_slice().into()];
            transaction.execute(MARK_AGAIN, &values)?;
            Ok(Enqueued::MarkedAgain(TaskId(id)))
        }
        _ => {
            transaction.execute(BRING_FORWARD, &[id.into(), wanted_at.into(), task.priority.into()])?;
            Ok(Enqueued::Existing(TaskId(id)))
        }
    }
}

fn share(task: &NewTask) -> (&str, &str, i32) {
    (&task.topic, &task.fair_key, task.priority)
}

fn is_delayed(task: &NewTask, now: Time) -> bool {
    task.not_before.is_some_and(|time| time > now)
}

fn check_names(task: &NewTask) -> Result<(), QueueError> {
    for (what, name, least) in [("topic", &task.topic, 1), ("key", &task.key, 1), ("fair key", &task.fair_key, 0)] {
        if name.len() < least || name.len() > NAME_LIMIT {
            return Err(QueueError::Name { what, limit: NAME_LIMIT, found: name.len() });
        }
    }
    Ok(())
}

fn missing(statement: Statement, detail: &str) -> QueueError {
    strongroom_database::DatabaseError::Statement { statement: statement.0, detail: detail.into() }.into()
}
