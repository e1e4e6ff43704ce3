//! Giving tasks to workers and keeping them there.

use std::collections::{BTreeSet, HashSet};
use std::time::Duration;

use strongroom_database::{Asked, DatabaseError, Row, Statement, Time, Transaction, Value};

use crate::{Heartbeat, Lease, LeaseRequest, Leased, QueueError, TaskId};

use super::administer::ALL_TOPICS;
use super::turns::{Turns, rank, turn};
use super::{after, priority, small};

const PAUSED: Statement = Statement("queue_paused");
const DUE: Statement = Statement("queue_due");
const MAKE_READY: Statement = Statement("queue_make_ready");
const LEASE: Statement = Statement("queue_lease");
const LEASE_TASK: Statement = Statement("queue_lease_task");
const READY_OF_KEY: Statement = Statement("queue_ready_of_key");
const READY_BEHIND: Statement = Statement("queue_ready_behind");
const READY_KEYS: Statement = Statement("queue_ready_keys");
const ADVANCE: Statement = Statement("queue_advance");
const EXTEND: Statement = Statement("queue_extend");
const CHECKPOINT: Statement = Statement("queue_checkpoint");
const OUTLOOK: Statement = Statement("queue_outlook");
const OUTLOOK_IF_FREE: Statement = Statement("queue_outlook_if_free");
const PASS_ON: Statement = Statement("queue_pass_on");
const LOOK: Statement = Statement("queue_look");
const LOCK_TOPIC: Statement = Statement("queue_lock_topic");
const LAST_LEASE: Statement = Statement("queue_last_lease");
const GO_ON: Statement = Statement("queue_go_on");
const LEASED_OF: Statement = Statement("queue_leased_of");

/// How many delayed tasks of a topic join the line in one call at least.
const DUE_AT_ONCE: usize = 256;

/// With more keys than these it is cheaper to walk the line than to look each of them up.
const KEYS_LOOKED_UP: usize = 64;

/// Tasks read at a time while the line is walked.
const PLACES_AT_ONCE: usize = 256;

/// How far from its head a line is searched for tasks of others. A priority is worth [`TURNS_PER_PRIORITY`](super::TURNS_PER_PRIORITY)
/// places at most, so that this is beyond what those of a hundred priorities can be passed by.
const SEARCHED_FOR_OTHERS: usize = 12_000;

/// How far from its head a line is searched for tasks that have been ready for long. None of the line is leased meanwhile, so that the tasks at
/// its head become such.
const SEARCHED_FOR_AGED: usize = 256;

/// Leases up to `limit` tasks, from the topics in order of preference, each topic's in the order of its line. The attempt
/// counts from here on. Paused topics give none.
pub fn lease(transaction: &mut dyn Transaction, request: &LeaseRequest) -> Result<Vec<Leased>, QueueError> {
    let now = transaction.now()?;
    let lease_until = after(now, request.duration);
    let holder = request.holder.to_string();
    let mut leased = Vec::new();
    for topic in &request.topics {
        let wanted = request.limit.saturating_sub(leased.len());
        if wanted == 0 {
            break;
        }
        admit_due(transaction, topic, now, wanted.max(DUE_AT_ONCE))?;
        let rows = match &request.keys {
            None => {
                let values =
                    [topic.into(), wanted.into(), holder.as_str().into(), lease_until.into(), ALL_TOPICS.into()];
                transaction.query(LEASE, &values)?
            }
            Some(_) if is_paused(transaction, topic)? => continue,
            Some(keys) => {
                let mut rows = Vec::new();
                for task in find(transaction, topic, keys, wanted)? {
                    rows.extend(
                        transaction
                            .query_one(LEASE_TASK, &[task.into(), holder.as_str().into(), lease_until.into()])?,
                    );
                }
                rows
            }
        };
        take(transaction, topic, rows, lease_until, &mut leased)?;
    }
    Ok(leased)
}

/// Some of the ready tasks of a topic.
#[derive(Debug, Clone, Copy, Default)]
pub struct ReadyFilter<'a> {
    /// None of these fair keys.
    pub without: &'a [String],
    /// Only those that have been ready since this time, or longer.
    pub since: Option<Time>,
}

impl ReadyFilter<'_> {
    /// How far from its head the line is searched for such tasks.
    fn searched(&self) -> usize {
        if self.without.is_empty() { SEARCHED_FOR_AGED } else { SEARCHED_FOR_OTHERS }
    }
}

/// The keys of the first `limit` ready tasks of a topic that pass the filter. Delayed tasks whose time has come join the line
/// first; a paused topic has none.
pub fn ready_keys(
    transaction: &mut dyn Transaction,
    topic: &str,
    filter: ReadyFilter<'_>,
    limit: usize,
) -> Result<Vec<String>, QueueError> {
    let now = transaction.now()?;
    admit_due(transaction, topic, now, limit.max(DUE_AT_ONCE))?;
    keys_in_line(transaction, topic, filter, limit)
}

/// Whether a topic has something to lease that passes the filter, also where it was delayed and is due; of a delayed task it is not known
/// whose it is. A paused topic has nothing.
pub fn has_ready(transaction: &mut dyn Transaction, topic: &str, filter: ReadyFilter<'_>) -> Result<bool, QueueError> {
    let latest = filter.since.unwrap_or(transaction.now()?);
    let names = serde_json::Value::from(vec![topic]).to_string();
    let row = transaction.query_one(LOOK, &[names.into(), ALL_TOPICS.into()])?;
    let due = row.map_or(Ok(None), |row| row.optional_time("first_ready_at"))?;
    Ok(due.is_some_and(|due| due <= latest) || !keys_in_line(transaction, topic, filter, 1)?.is_empty())
}

fn keys_in_line(
    transaction: &mut dyn Transaction,
    topic: &str,
    filter: ReadyFilter<'_>,
    limit: usize,
) -> Result<Vec<String>, QueueError> {
    let without = serde_json::Value::from(filter.without).to_string();
    let since = filter.since.unwrap_or(Time(i64::MAX));
    let values =
        [topic.into(), without.into(), limit.into(), ALL_TOPICS.into(), filter.searched().into(), since.into()];
    let rows = transaction.query(READY_KEYS, &values)?;
    rows.iter().map(|row| Ok(row.text("key")?.to_owned())).collect()
}

/// How many tasks of a topic are leased, by all holders together.
pub fn leased_of(transaction: &mut dyn Transaction, topic: &str) -> Result<usize, QueueError> {
    let row = transaction.query_one(LEASED_OF, &[topic.into()])?;
    Ok(row.map_or(Ok(0), |row| row.count("tasks")).map(|tasks| usize::try_from(tasks).unwrap_or(usize::MAX))?)
}

/// What a task that is held finds where it goes next, and leaves behind in its topic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outlook {
    /// Whether tasks wait in the next topic: some that are ready, or were delayed and are due.
    pub others_wait: bool,
    /// Whether its own topic has more to lease.
    pub more_waits: bool,
    /// Whether the task may not go on in the next topic in any case: the topic is paused, a task of the same key is there, or its holder
    /// is asked to stop.
    is_refused: bool,
    /// Where the line of the next topic is being served; none where the topic is not listed: it was neither leased from nor paused before.
    clock: Option<i64>,
}

/// The answers to what was asked besides, each with one for each of its value lists.
pub type Answers = Vec<Vec<Option<Row>>>;

/// How tasks that other transactions have locked are met.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Locked {
    /// They are waited for.
    Wait,
    /// They are passed by.
    PassBy,
}

/// Keeps other transactions from changing tasks until the transaction ends, each where this lease is its latest, and
/// inspects the topic that is next for it. For each in order what was found; none where the lease is lost, or the task was passed by. What
/// is asked `besides` goes with it, behind the locks, and its answers are returned.
pub fn lock_with_outlooks(
    transaction: &mut dyn Transaction,
    held: &[(Lease, &str)],
    locked: Locked,
    besides: Vec<Asked>,
) -> Result<(Vec<Option<Outlook>>, Answers), QueueError> {
    let now = transaction.known_now()?.map_or(Value::Null, Value::from);
    let values = |(lease, next): &(Lease, &str)| {
        vec![lease.task.0.into(), lease.attempt.into(), (*next).into(), ALL_TOPICS.into(), now.clone()]
    };
    let statement = match locked {
        Locked::Wait => OUTLOOK,
        Locked::PassBy => OUTLOOK_IF_FREE,
    };
    let asked = Asked { statement, lists: held.iter().map(values).collect() };
    let asked: Vec<Asked> = std::iter::once(asked).chain(besides).collect();
    let mut answers = transaction.query_together(&asked)?.into_iter();
    let outlooks = answers.next().unwrap_or_default();
    let outlooks: Result<_, QueueError> =
        outlooks.iter().map(|row| row.as_ref().map(outlook_row).transpose()).collect();
    Ok((outlooks?, answers.collect()))
}

fn outlook_row(row: &Row) -> Result<Outlook, QueueError> {
    Ok(Outlook {
        others_wait: row.bool("others_wait")?,
        more_waits: row.bool("more_waits")?,
        is_refused: row.bool("is_paused")? || row.bool("is_refused")?,
        clock: row.optional_integer("clock")?,
    })
}

/// What a task that is held goes on as; see [`go_on`] and [`pass_on`].
#[derive(Debug, Clone)]
pub struct GoesOn<'a> {
    /// The lease under which it goes on.
    pub lease: Lease,
    /// Its new topic.
    pub topic: &'a str,
    /// Its priority there.
    pub priority: i32,
    /// Whose it is.
    pub fair_key: &'a str,
    /// For how long the lease is extended, counted from the transaction's time.
    pub duration: Duration,
    /// Whether it is its turn before those that wait in the topic. Only for [`go_on`].
    pub passes: bool,
}

impl GoesOn<'_> {
    /// Whether the outlook lets the task go on.
    pub fn may_go_on(&self, outlook: &Outlook) -> bool {
        !outlook.is_refused && (self.passes || !outlook.others_wait)
    }
}

/// Moves tasks that are held into other topics, under the same leases, as if each had been enqueued there and leased at once: its
/// attempts count anew. No task waits there, or it passes them (see [`GoesOn::may_go_on`]), so it takes the turn that is being served, and no
/// task loses one by it. The tasks are locked since their outlooks.
///
/// `with` is given until when they are leased then, and says what is written with them.
pub fn go_on(
    transaction: &mut dyn Transaction,
    wanted: &[(GoesOn<'_>, Outlook)],
    with: impl FnOnce(&[Time]) -> Vec<Asked>,
) -> Result<Vec<Leased>, QueueError> {
    let now = transaction.now()?;
    let leased_until: Vec<Time> = wanted.iter().map(|(one, _)| after(now, one.duration)).collect();
    let values = wanted.iter().zip(&leased_until).map(|((one, outlook), lease_until)| {
        vec![
            one.lease.task.0.into(),
            one.lease.attempt.into(),
            one.topic.into(),
            one.priority.into(),
            rank(outlook.clock.unwrap_or_default(), one.priority).into(),
            (*lease_until).into(),
            now.into(),
        ]
    });
    let mut asked = vec![Asked { statement: GO_ON, lists: values.collect() }];
    let new: BTreeSet<&str> =
        wanted.iter().filter(|(_, outlook)| outlook.clock.is_none()).map(|(one, _)| one.topic).collect();
    asked.extend(new.into_iter().map(|topic| Asked::once(ADVANCE, vec![topic.into(), 0_i64.into()])));
    asked.extend(with(&leased_until));
    let rows = transaction.query_together(&asked)?.into_iter().next().unwrap_or_default();
    let leased = rows.iter().zip(wanted.iter().zip(leased_until)).map(|(row, ((one, _), lease_until))| {
        // What goes with it was written: all of it is undone.
        let changed = || DatabaseError::Aborted(format!("task {} changed while it was locked", one.lease.task.0));
        leased_row(row.as_ref().ok_or_else(changed)?, one.topic, lease_until)
    });
    leased.collect()
}

/// Ends a lease by putting the task into the line of another topic, as if it had been done and another of its key and payload
/// had been enqueued there. False, with nothing changed, where its key is wanted once more in its own topic, where one of the
/// same key is in the other topic, and where the lease is lost.
pub fn pass_on(transaction: &mut dyn Transaction, wanted: &GoesOn<'_>) -> Result<bool, QueueError> {
    let GoesOn { lease, topic, priority, fair_key, .. } = *wanted;
    let now = transaction.now()?;
    let mut turns = Turns::reserve(transaction, std::iter::once((topic, fair_key, priority)))?;
    let values = [
        lease.task.0.into(),
        lease.attempt.into(),
        topic.into(),
        priority.into(),
        turns.next_rank(topic, fair_key, priority).into(),
        now.into(),
    ];
    let is_passed_on = transaction.execute(PASS_ON, &values)? == 1;
    if is_passed_on {
        turns.used(topic, fair_key, priority);
    }
    turns.finish(transaction)?;
    Ok(is_passed_on)
}

/// When the last lease of any task ends; none where no task is leased.
pub fn last_lease(transaction: &mut dyn Transaction) -> Result<Option<Time>, QueueError> {
    let row = transaction.query_one(LAST_LEASE, &[])?;
    Ok(row.map_or(Ok(None), |row| row.optional_time("lease_until"))?)
}

/// How many more tasks of a topic may be leased where all holders together are to have `most` at most. Others that ask for the
/// same topic wait until the end of the transaction, which is to lease no more than that.
pub fn room(transaction: &mut dyn Transaction, topic: &str, most: usize) -> Result<usize, QueueError> {
    transaction.query_one(LOCK_TOPIC, &[topic.into()])?;
    Ok(most.saturating_sub(leased_of(transaction, topic)?))
}

/// The first `wanted` ready tasks of a topic that have one of `keys`, by their ids. A few keys are looked up one by one; for
/// many, the line is walked until enough are found.
fn find(
    transaction: &mut dyn Transaction,
    topic: &str,
    keys: &HashSet<String>,
    wanted: usize,
) -> Result<Vec<i64>, QueueError> {
    let mut places = Vec::new();
    if keys.len() <= KEYS_LOOKED_UP {
        for key in keys {
            if let Some(row) = transaction.query_one(READY_OF_KEY, &[key.into(), topic.into()])? {
                places.push((row.integer("rank")?, row.integer("ready_at")?, row.integer("id")?));
            }
        }
        places.sort_unstable();
    } else {
        let mut behind = (i64::MIN, i64::MIN, 0);
        while places.len() < wanted {
            let values = [topic.into(), behind.0.into(), behind.1.into(), behind.2.into(), PLACES_AT_ONCE.into()];
            let page = transaction.query(READY_BEHIND, &values)?;
            for row in &page {
                behind = (row.integer("rank")?, row.integer("ready_at")?, row.integer("id")?);
                if keys.contains(row.text("key")?) {
                    places.push(behind);
                }
            }
            if page.len() < PLACES_AT_ONCE {
                break;
            }
        }
    }
    Ok(places.into_iter().take(wanted).map(|(_, _, task)| task).collect())
}

fn take(
    transaction: &mut dyn Transaction,
    topic: &str,
    rows: Vec<Row>,
    lease_until: Time,
    leased: &mut Vec<Leased>,
) -> Result<(), QueueError> {
    let mut taken = Vec::new();
    for row in rows {
        let place = (row.integer("rank")?, row.time("ready_at")?, row.integer("id")?);
        taken.push((place, leased_row(&row, topic, lease_until)?));
    }
    // UPDATE ... RETURNING promises no order.
    taken.sort_unstable_by_key(|(place, _)| *place);
    let latest = taken.iter().map(|((rank, ..), task)| turn(*rank, task.priority)).max();
    if let Some(latest) = latest {
        transaction.execute(ADVANCE, &[topic.into(), latest.into()])?;
    }
    leased.extend(taken.into_iter().map(|(_, task)| task));
    Ok(())
}

fn leased_row(row: &Row, topic: &str, lease_until: Time) -> Result<Leased, QueueError> {
    Ok(Leased {
        lease: Lease { task: TaskId(row.integer("id")?), attempt: small(row, "attempt")? },
        topic: topic.to_owned(),
        key: row.text("key")?.to_owned(),
        item: row.optional_uuid("item_id")?,
        payload: row.bytes("payload")?.to_vec(),
        priority: priority(row, "priority")?,
        fair_key: row.text("fair_key")?.to_owned(),
        spent: small(row, "spent")?,
        max_attempts: small(row, "max_attempts")?,
        lease_until,
        enqueued_at: row.time("enqueued_at")?,
        reason: row.optional_text("reason")?.map(str::to_owned),
    })
}

/// Delayed tasks whose time has come join the line, with the turn that is free now: what failed together does not come back
/// in front of everybody. A paused topic admits none.
fn admit_due(transaction: &mut dyn Transaction, topic: &str, now: Time, limit: usize) -> Result<(), QueueError> {
    let due = transaction.query(DUE, &[topic.into(), now.into(), limit.into(), ALL_TOPICS.into()])?;
    if due.is_empty() {
        return Ok(());
    }
    let mut waiting = Vec::with_capacity(due.len());
    for row in &due {
        waiting.push((row.integer("id")?, row.text("fair_key")?, priority(row, "priority")?));
    }
    let shares = waiting.iter().map(|(_, fair_key, priority)| (topic, *fair_key, *priority));
    let mut turns = Turns::reserve(transaction, shares)?;
    let mut places = waiting.into_iter().map(|(id, fair_key, priority)| {
        let rank = turns.next_rank(topic, fair_key, priority);
        turns.used(topic, fair_key, priority);
        vec![id.into(), rank.into()]
    });
    transaction.execute_each(MAKE_READY, &mut places)?;
    Ok(())
}

/// Whether a topic gives no tasks: it is paused, or all are.
pub fn is_paused(transaction: &mut dyn Transaction, topic: &str) -> Result<bool, QueueError> {
    match transaction.query_one(PAUSED, &[topic.into(), ALL_TOPICS.into()])? {
        Some(row) => Ok(row.bool("paused")?),
        None => Ok(false),
    }
}

/// Extends leases by `duration` from now, one answer for each, in order. A lease that has run out is extended as well, as
/// long as no process took the task over.
pub fn heartbeat(
    transaction: &mut dyn Transaction,
    leases: &[Lease],
    duration: Duration,
) -> Result<Vec<Heartbeat>, QueueError> {
    let until = after(transaction.now()?, duration);
    let mut values = leases.iter().map(|lease| vec![lease.task.0.into(), lease.attempt.into(), until.into()]);
    let rows = transaction.query_many(EXTEND, &mut values)?;
    rows.iter()
        .map(|row| {
            Ok(match row {
                None => Heartbeat::Lost,
                Some(row) if row.bool("cancel_requested")? => Heartbeat::CancelRequested(row.time("lease_until")?),
                Some(row) => Heartbeat::Held(row.time("lease_until")?),
            })
        })
        .collect()
}

/// Notes that the work has come further than ever before: the attempts are counted anew, this one as the first. False where
/// the lease is lost.
pub fn checkpoint(transaction: &mut dyn Transaction, lease: Lease) -> Result<bool, QueueError> {
    Ok(transaction.execute(CHECKPOINT, &[lease.task.0.into(), lease.attempt.into()])? == 1)
}

/// What a worker could expect of some topics.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum QueueStatus {
    /// There is something to lease, in these of the topics.
    Work(Vec<String>),
    /// There is nothing yet; the first task becomes due at this time.
    At(Time),
    /// There is nothing.
    Nothing,
}

/// Looks whether any of `topics` has something to lease, without leasing it. Paused topics have nothing.
pub fn look(transaction: &mut dyn Transaction, topics: &[String]) -> Result<QueueStatus, QueueError> {
    let names = serde_json::Value::from(topics).to_string();
    let (mut work, mut earliest) = (Vec::new(), None::<Time>);
    for row in transaction.query(LOOK, &[names.into(), ALL_TOPICS.into()])? {
        let due = row.optional_time("first_ready_at")?;
        let is_due = match due {
            Some(due) => due <= transaction.now()?,
            None => false,
        };
        if is_due || row.bool("is_ready")? {
            work.push(row.text("topic")?.to_owned());
        } else if let Some(due) = due {
            earliest = Some(earliest.map_or(due, |other| other.min(due)));
        }
    }
    Ok(if work.is_empty() { earliest.map_or(QueueStatus::Nothing, QueueStatus::At) } else { QueueStatus::Work(work) })
}
