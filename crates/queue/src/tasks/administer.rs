//! What people do to a queue, and what they see of it. Whatever could touch many rows takes a limit and says how many it
//! touched, so that the caller repeats it in short transactions.

use std::collections::BTreeMap;

use strongroom_database::{Row, Statement, Time, Transaction, Value};

use crate::{Cursor, Page, QueueError, TaskId, TaskRecord, TaskState, TopicCounts};

use super::{TURNS_PER_PRIORITY, priority, small, state};

const TOPICS: Statement = Statement("queue_topics");
const COUNT_READY: Statement = Statement("queue_count_ready");
const COUNT_DELAYED: Statement = Statement("queue_count_delayed");
const COUNT_LEASED: Statement = Statement("queue_count_leased");
const COUNT_DEAD: Statement = Statement("queue_count_dead");
const SET_PAUSED: Statement = Statement("queue_set_paused");
const SET_EVERY_PAUSED: Statement = Statement("queue_set_every_paused");
const EMPTY_READY: Statement = Statement("queue_empty_ready");
const EMPTY_DELAYED: Statement = Statement("queue_empty_delayed");
const DELETE: Statement = Statement("queue_delete");
const DELETE_LIVE_KEY: Statement = Statement("queue_delete_live_key");
const DELETE_DEAD_KEY: Statement = Statement("queue_delete_dead_key");
const DELETE_LIVE_KEYS: Statement = Statement("queue_delete_live_keys");
const DELETE_DEAD_KEYS: Statement = Statement("queue_delete_dead_keys");
const LOCK_KEY: Statement = Statement("queue_lock_key");
const REQUEST_CANCEL: Statement = Statement("queue_request_cancel");
const DEAD_OF_TOPIC: Statement = Statement("queue_dead_of_topic");
const RETRY: Statement = Statement("queue_retry");
const SET_PRIORITY: Statement = Statement("queue_set_priority");
const SHOW: Statement = Statement("queue_show");
const OF_KEY: Statement = Statement("queue_of_key");
const DEAD_OF_KEY: Statement = Statement("queue_dead_of_key");
const KNOWN: Statement = Statement("queue_known");
const DELETE_DEAD_OF_KEY: Statement = Statement("queue_delete_dead_of_key");
const LIST_READY: Statement = Statement("queue_list_ready");
const LIST_DELAYED: Statement = Statement("queue_list_delayed");
const LIST_LEASED: Statement = Statement("queue_list_leased");
const LIST_DEAD: Statement = Statement("queue_list_dead");

/// The row among the topics that stands for all of them; no topic has this name.
pub(super) const ALL_TOPICS: &str = "*";

/// More tasks of one key than there are topics.
const TASKS_OF_KEY: usize = 1_000;

/// Exact counts of every topic that has tasks, was paused or was ever leased from, by name. It reads an index entry for each
/// task: some 30 ms for a million.
pub fn counts(transaction: &mut dyn Transaction) -> Result<Vec<TopicCounts>, QueueError> {
    let now = transaction.now()?;
    let mut topics: BTreeMap<String, TopicCounts> = BTreeMap::new();
    let mut oldest: BTreeMap<String, Time> = BTreeMap::new();
    let mut are_all_paused = false;
    for row in transaction.query(TOPICS, &[])? {
        if row.text("topic")? == ALL_TOPICS {
            are_all_paused = row.bool("paused")?;
        } else {
            entry(&mut topics, &row)?.paused = row.bool("paused")?;
        }
    }
    for row in transaction.query(COUNT_READY, &[])? {
        entry(&mut topics, &row)?.ready = row.count("tasks")?;
        oldest.insert(row.text("topic")?.to_owned(), row.time("first_ready_at")?);
    }
    for row in transaction.query(COUNT_DELAYED, &[now.into()])? {
        let (all, due, first) = (row.count("tasks")?, row.count("due_tasks")?, row.time("first_ready_at")?);
        let topic = entry(&mut topics, &row)?;
        topic.delayed = all.saturating_sub(due);
        topic.ready += due;
        if due > 0 {
            let since = oldest.entry(row.text("topic")?.to_owned()).or_insert(first);
            *since = first.min(*since);
        }
    }
    for row in transaction.query(COUNT_LEASED, &[])? {
        entry(&mut topics, &row)?.leased = row.count("tasks")?;
    }
    for row in transaction.query(COUNT_DEAD, &[])? {
        entry(&mut topics, &row)?.dead = row.count("tasks")?;
    }
    for (topic, since) in oldest {
        if let Some(counts) = topics.get_mut(&topic) {
            counts.oldest_ready_seconds = Some((now.0.saturating_sub(since.0).max(0) / 1_000_000) as u64);
        }
    }
    for topic in topics.values_mut() {
        topic.paused |= are_all_paused;
    }
    Ok(topics.into_values().collect())
}

fn entry<'a>(topics: &'a mut BTreeMap<String, TopicCounts>, row: &Row) -> Result<&'a mut TopicCounts, QueueError> {
    let name = row.text("topic")?;
    let new = || TopicCounts { topic: name.to_owned(), ..TopicCounts::default() };
    Ok(topics.entry(name.to_owned()).or_insert_with(new))
}

/// Stops leasing from a topic, or lets it go on. What is leased stays leased.
pub fn set_paused(transaction: &mut dyn Transaction, topic: &str, paused: bool) -> Result<(), QueueError> {
    transaction.execute(SET_PAUSED, &[topic.into(), paused.into()])?;
    Ok(())
}

/// As [`set_paused`] for all topics, those that come to be later as well.
pub fn set_all_paused(transaction: &mut dyn Transaction, paused: bool) -> Result<(), QueueError> {
    transaction.execute(SET_EVERY_PAUSED, &[paused.into()])?;
    set_paused(transaction, ALL_TOPICS, paused)
}

/// The topics that are paused by their names, also where all are.
pub fn paused_topics(transaction: &mut dyn Transaction) -> Result<Vec<String>, QueueError> {
    let mut paused = Vec::new();
    for row in transaction.query(TOPICS, &[])? {
        if row.bool("paused")? && row.text("topic")? != ALL_TOPICS {
            paused.push(row.text("topic")?.to_owned());
        }
    }
    Ok(paused)
}

/// Whether all topics are paused by [`set_all_paused`].
pub fn are_all_paused(transaction: &mut dyn Transaction) -> Result<bool, QueueError> {
    super::lease::is_paused(transaction, ALL_TOPICS)
}

/// Deletes up to `limit` tasks of a topic that wait, ready or delayed; how many. What is leased is finished by its holder,
/// and the dead stay.
pub fn empty(transaction: &mut dyn Transaction, topic: &str, limit: usize) -> Result<u64, QueueError> {
    let ready = transaction.execute(EMPTY_READY, &[topic.into(), limit.into()])?;
    let left = (limit as u64).saturating_sub(ready);
    Ok(ready + transaction.execute(EMPTY_DELAYED, &[topic.into(), left.into()])?)
}

/// Deletes a task, whatever its state; false where there is none. Who holds it finds the lease lost.
pub fn delete(transaction: &mut dyn Transaction, task: TaskId) -> Result<bool, QueueError> {
    Ok(transaction.execute(DELETE, &[task.0.into()])? == 1)
}

/// Keeps everybody else from leasing, extending and settling the live tasks of a key until the transaction ends, for those that are kept
/// apart by rows.
pub fn lock_key(transaction: &mut dyn Transaction, key: &str) -> Result<(), QueueError> {
    transaction.query(LOCK_KEY, &[key.into()])?;
    Ok(())
}

/// Deletes every task of a key in every topic, the dead as well; how many.
pub fn delete_key(transaction: &mut dyn Transaction, key: &str) -> Result<u64, QueueError> {
    let live = transaction.execute(DELETE_LIVE_KEY, &[key.into()])?;
    Ok(live + transaction.execute(DELETE_DEAD_KEY, &[key.into()])?)
}

/// Deletes up to `limit` tasks whose keys begin with `prefix`, as [`delete_key`] does; how many. An empty prefix names
/// no task and deletes nothing.
pub fn delete_keys_with_prefix(
    transaction: &mut dyn Transaction,
    prefix: &str,
    limit: usize,
) -> Result<u64, QueueError> {
    let Some(end) = end_of_prefix(prefix) else { return Ok(0) };
    let live = transaction.execute(DELETE_LIVE_KEYS, &[prefix.into(), end.as_str().into(), limit.into()])?;
    let left = (limit as u64).saturating_sub(live);
    Ok(live + transaction.execute(DELETE_DEAD_KEYS, &[prefix.into(), end.into(), left.into()])?)
}

/// The least text that comes behind every text with this prefix, in the order of code points, which is that of UTF-8 bytes.
/// None for the empty prefix, and for one of highest characters only, which no key of ours has.
fn end_of_prefix(prefix: &str) -> Option<String> {
    let kept = prefix.trim_end_matches(char::MAX);
    let last = kept.chars().next_back()?;
    let next = (last..=char::MAX).nth(1)?;
    Some(format!("{}{next}", &kept[..kept.len() - last.len_utf8()]))
}

/// Asks the caller that holds a task of this key, now or later, to stop: the next heartbeat says so. How many tasks it
/// concerns.
pub fn request_cancel(transaction: &mut dyn Transaction, key: &str) -> Result<u64, QueueError> {
    Ok(transaction.execute(REQUEST_CANCEL, &[key.into()])?)
}

/// Gives a live task another priority, in the line too; the attempts that it has spent and the time for which it waits stay. One that is leased
/// has it when it waits again. False where there is no live task of this topic and key.
pub fn set_priority(
    transaction: &mut dyn Transaction,
    (topic, key): (&str, &str),
    priority: i32,
) -> Result<bool, QueueError> {
    let values = [topic.into(), key.into(), priority.into(), TURNS_PER_PRIORITY.into()];
    Ok(transaction.execute(SET_PRIORITY, &values)? == 1)
}

/// Makes a dead task ready with its attempts unspent. False where it is not dead, or a live task has its topic and key and
/// does its work.
pub fn retry(transaction: &mut dyn Transaction, task: TaskId) -> Result<bool, QueueError> {
    let now = transaction.now()?;
    Ok(transaction.execute(RETRY, &[task.0.into(), now.into()])? == 1)
}

/// As [`retry`], for up to `limit` dead tasks of a topic with ids above `after`: the ids of those inspected with
/// whether each was retried. Go on behind the last until none comes.
pub fn retry_topic(
    transaction: &mut dyn Transaction,
    topic: &str,
    after: Option<TaskId>,
    limit: usize,
) -> Result<Vec<(TaskId, bool)>, QueueError> {
    let after = after.map_or(0, |task| task.0);
    let mut seen = Vec::new();
    for row in transaction.query(DEAD_OF_TOPIC, &[topic.into(), after.into(), limit.into()])? {
        let task = TaskId(row.integer("id")?);
        seen.push((task, retry(transaction, task)?));
    }
    Ok(seen)
}

/// One task.
pub fn show(transaction: &mut dyn Transaction, task: TaskId) -> Result<Option<TaskRecord>, QueueError> {
    let now = transaction.now()?;
    transaction.query_one(SHOW, &[task.0.into()])?.map(|row| record(&row, now)).transpose()
}

/// The live tasks of a key, in every topic: none means that nothing is under way for it.
pub fn of_key(transaction: &mut dyn Transaction, key: &str) -> Result<Vec<TaskRecord>, QueueError> {
    let now = transaction.now()?;
    transaction.query(OF_KEY, &[key.into(), TASKS_OF_KEY.into()])?.iter().map(|row| record(row, now)).collect()
}

/// The dead tasks of a key, in every topic.
pub fn dead_of_key(transaction: &mut dyn Transaction, key: &str) -> Result<Vec<TaskRecord>, QueueError> {
    let now = transaction.now()?;
    transaction.query(DEAD_OF_KEY, &[key.into(), TASKS_OF_KEY.into()])?.iter().map(|row| record(row, now)).collect()
}

/// Which tasks a topic has of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KnownTasks {
    /// Whether one waits or is being worked on.
    pub is_live: bool,
    /// Whether one was given up, and is kept until a person acts on it.
    pub is_dead: bool,
}

/// Which tasks a topic has of each of these keys, in their order.
pub fn known(transaction: &mut dyn Transaction, topic: &str, keys: &[String]) -> Result<Vec<KnownTasks>, QueueError> {
    let mut names = keys.iter().map(|key| vec![key.as_str().into(), topic.into()]);
    let rows = transaction.query_many(KNOWN, &mut names)?;
    let known = |row: Option<Row>| match row {
        Some(row) => Ok(KnownTasks { is_live: row.bool("is_live")?, is_dead: row.bool("is_dead")? }),
        None => Ok(KnownTasks { is_live: false, is_dead: false }),
    };
    rows.into_iter().map(known).collect()
}

/// Removes the dead tasks of a key in a topic: what they were for was done by another one. How many they were.
pub fn delete_dead_of_key(transaction: &mut dyn Transaction, topic: &str, key: &str) -> Result<u64, QueueError> {
    Ok(transaction.execute(DELETE_DEAD_OF_KEY, &[key.into(), topic.into()])?)
}

/// A page of the tasks of a topic in one state: ready ones in the order of the line, delayed ones by their time, leased ones
/// by the end of the lease, dead ones by their ids.
pub fn list(
    transaction: &mut dyn Transaction,
    topic: &str,
    wanted: TaskState,
    after: Option<Cursor>,
    limit: usize,
) -> Result<Page, QueueError> {
    let now = transaction.now()?;
    let start = after.unwrap_or(Cursor { part: 0, order: i64::MIN, time: i64::MIN, task: 0 });
    let topic_value = || Value::from(topic);
    let mut rows = Vec::new();
    match wanted {
        TaskState::Ready => {
            // First the line, then those whose time has come and that join it when a worker next queries for tasks.
            if start.part == 0 {
                let values = [topic_value(), start.order.into(), start.time.into(), start.task.into(), limit.into()];
                rows = transaction.query(LIST_READY, &values)?;
            }
            let left = limit.saturating_sub(rows.len());
            if left > 0 {
                let (time, task) = if start.part == 1 { (start.time, start.task) } else { (i64::MIN, 0) };
                let values = [topic_value(), time.into(), task.into(), now.into(), left.into()];
                rows.extend(transaction.query(LIST_DELAYED, &values)?);
            }
        }
        TaskState::Delayed => {
            let from = Time(start.time).max(now);
            let task = if start.time > now.0 { start.task } else { i64::MAX };
            let values = [topic_value(), from.into(), task.into(), Value::Integer(i64::MAX), limit.into()];
            rows = transaction.query(LIST_DELAYED, &values)?;
        }
        TaskState::Leased => {
            let values = [topic_value(), start.time.into(), start.task.into(), limit.into()];
            rows = transaction.query(LIST_LEASED, &values)?;
        }
        TaskState::Dead => {
            rows = transaction.query(LIST_DEAD, &[topic_value(), start.task.into(), limit.into()])?;
        }
    }
    let next = match rows.last() {
        Some(last) if rows.len() >= limit => Some(cursor_behind(last)?),
        _ => None,
    };
    let tasks = rows.iter().map(|row| record(row, now)).collect::<Result<_, _>>()?;
    Ok(Page { tasks, next })
}

fn cursor_behind(row: &Row) -> Result<Cursor, QueueError> {
    let stored = row.integer("state")?;
    Ok(Cursor {
        part: i64::from(stored == state::DELAYED),
        order: row.integer("rank")?,
        time: row.integer(if stored == state::LEASED { "lease_until" } else { "ready_at" })?,
        task: row.integer("id")?,
    })
}

fn record(row: &Row, now: Time) -> Result<TaskRecord, QueueError> {
    let ready_at = row.time("ready_at")?;
    let state = match row.integer("state")? {
        state::READY => TaskState::Ready,
        state::DELAYED if ready_at <= now => TaskState::Ready,
        state::DELAYED => TaskState::Delayed,
        state::LEASED => TaskState::Leased,
        _ => TaskState::Dead,
    };
    Ok(TaskRecord {
        task: TaskId(row.integer("id")?),
        topic: row.text("topic")?.to_owned(),
        key: row.text("key")?.to_owned(),
        item: row.optional_uuid("item_id")?,
        state,
        priority: priority(row, "priority")?,
        fair_key: row.text("fair_key")?.to_owned(),
        ready_at,
        attempt: small(row, "attempt")?,
        spent: small(row, "spent")?,
        max_attempts: small(row, "max_attempts")?,
        holder: row.optional_text("holder")?.map(str::to_owned),
        lease_until: row.optional_time("lease_until")?,
        cancel_requested: row.bool("cancel_requested")?,
        enqueued_at: row.time("enqueued_at")?,
        reason: row.optional_text("reason")?.map(str::to_owned),
        again: row.optional_time("again_at")?.is_some(),
        payload: row.bytes("payload")?.to_vec(),
    })
}
