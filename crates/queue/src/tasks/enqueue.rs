//! Putting tasks into topics.

use std::collections::HashSet;

use strongroom_database::{Row, Statement, Time, Transaction, Value};

use crate::{Enqueued, NewTask, QueueError, TaskId};

use super::turns::{TURNS_PER_PRIORITY, Turns};
use super::{priority, state};

const TAKE_IDS: Statement = Statement("queue_take_ids");
const INSERT: Statement = Statement("queue_insert");
const LIVE: Statement = Statement("queue_live");
const LIVE_IF_FREE: Statement = Statement("queue_live_if_free");
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
    let ids = take_ids(transaction, tasks.len())?;
    let numbered: Vec<(&NewTask, i64)> = tasks.iter().zip(ids).collect();
    if transaction.runs_alone() {
        enqueue_alone(transaction, &numbered, now)
    } else {
        enqueue_beside_others(transaction, &numbered, now)
    }
}

/// As [`enqueue`], for those of which a task is there already that no other transaction has at this moment: none is waited for. How many
/// these are.
pub fn hasten(transaction: &mut dyn Transaction, tasks: &[NewTask]) -> Result<usize, QueueError> {
    let mut names = tasks.iter().map(|task| vec![task.key.as_str().into(), task.topic.as_str().into()]);
    let found = transaction.query_many(LIVE_IF_FREE, &mut names)?;
    let free: Vec<NewTask> =
        tasks.iter().zip(found).filter(|(_, found)| found.is_some()).map(|(task, _)| task.clone()).collect();
    enqueue(transaction, &free)?;
    Ok(free.len())
}

/// Where no other process enqueues at the same time, each task is put by itself, and who is refused joins the one that
/// is there.
fn enqueue_alone(
    transaction: &mut dyn Transaction,
    tasks: &[(&NewTask, i64)],
    now: Time,
) -> Result<Vec<Enqueued>, QueueError> {
    let at_once = tasks.iter().filter(|(task, _)| !is_delayed(task, now)).map(|(task, _)| share(task));
    let mut turns = Turns::reserve(transaction, at_once)?;
    let mut answers = Vec::with_capacity(tasks.len());
    for (task, id) in tasks {
        let (topic, fair_key, priority) = share(task);
        let delayed = is_delayed(task, now);
        let rank = if delayed { 0 } else { turns.next_rank(topic, fair_key, priority) };
        if transaction.execute(INSERT, &values(task, *id, rank, now))? != 1 {
            let live = transaction.query_one(LIVE, &[task.key.as_str().into(), task.topic.as_str().into()])?;
            let live = live.ok_or_else(|| missing(INSERT, "a row was refused though no task of its key is live"))?;
            answers.push(join_live(transaction, task, &live, now)?);
            continue;
        }
        if !delayed {
            turns.used(topic, fair_key, priority);
        }
        answers.push(Enqueued::Created(TaskId(*id)));
    }
    turns.finish(transaction)?;
    Ok(answers)
}

/// Where others enqueue, lease and settle at the same time, those that are there are locked and joined first, all together;
/// then the rest is put, all together. Who is refused because others were faster begins again.
fn enqueue_beside_others(
    transaction: &mut dyn Transaction,
    tasks: &[(&NewTask, i64)],
    now: Time,
) -> Result<Vec<Enqueued>, QueueError> {
    let mut answers: Vec<Option<Enqueued>> = vec![None; tasks.len()];
    loop {
        let open: Vec<usize> = (0..tasks.len()).filter(|place| answers[*place].is_none()).collect();
        if open.is_empty() {
            return Ok(answers.into_iter().flatten().collect());
        }
        let mut keys = open.iter().map(|place| {
            let (task, _) = tasks[*place];
            vec![task.key.as_str().into(), task.topic.as_str().into()]
        });
        let live = transaction.query_many(LIVE, &mut keys)?;
        let mut seen = HashSet::new();
        let mut fresh = Vec::new();
        for (place, live) in open.into_iter().zip(live) {
            let (task, id) = tasks[place];
            match live {
                Some(live) => answers[place] = Some(join_live(transaction, task, &live, now)?),
                // The second of a key within these tasks joins the first when that is there.
                None if seen.insert((&task.topic, &task.key)) => fresh.push((place, task, id)),
                None => {}
            }
        }
        let at_once = fresh.iter().filter(|(_, task, _)| !is_delayed(task, now)).map(|(_, task, _)| share(task));
        let mut places = Turns::reserve(transaction, at_once.clone())?;
        let mut lists = Vec::with_capacity(fresh.len());
        for (_, task, id) in &fresh {
            let (topic, fair_key, priority) = share(task);
            let mut rank = 0;
            if !is_delayed(task, now) {
                rank = places.next_rank(topic, fair_key, priority);
                places.used(topic, fair_key, priority);
            }
            lists.push(values(task, *id, rank, now));
        }
        let made = transaction.query_many(INSERT, &mut lists.into_iter())?;
        for ((place, _, id), made) in fresh.into_iter().zip(made) {
            answers[place] = made.map(|_| Enqueued::Created(TaskId(id)));
        }
    }
}

/// What a new row is made of.
fn values(task: &NewTask, id: i64, rank: i64, now: Time) -> Vec<Value> {
    let (topic, fair_key, priority) = share(task);
    vec![
        id.into(),
        topic.into(),
        task.key.as_str().into(),
        Value::Integer(if is_delayed(task, now) { state::DELAYED } else { state::READY }),
        priority.into(),
        fair_key.into(),
        rank.into(),
        task.not_before.map_or(now, |time| time.max(now)).into(),
        task.max_attempts.max(1).into(),
        now.into(),
        task.payload.as_slice().into(),
        task.item.into(),
    ]
}

/// So many fresh ids, rising.
pub(super) fn take_ids(transaction: &mut dyn Transaction, count: usize) -> Result<Vec<i64>, QueueError> {
    let mut ids = Vec::with_capacity(count);
    for row in transaction.query(TAKE_IDS, &[count.into()])? {
        let (first, run) = (row.integer("first_id")?, row.integer("ids")?);
        ids.extend(first..first.saturating_add(run));
    }
    if ids.len() == count { Ok(ids) } else { Err(missing(TAKE_IDS, "the sequence of task ids gave another number")) }
}

/// The task of this topic and key that is there already does for the new one as well.
fn join_live(transaction: &mut dyn Transaction, task: &NewTask, live: &Row, now: Time) -> Result<Enqueued, QueueError> {
    let id = live.integer("id")?;
    let wanted_at = task.not_before.map_or(now, |time| time.max(now));
    match live.integer("state")? {
        // Most often it is as urgent, and nothing changes.
        state::READY if priority(live, "priority")? <= task.priority => Ok(Enqueued::Existing(TaskId(id))),
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
