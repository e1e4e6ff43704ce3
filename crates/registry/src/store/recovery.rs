//! How work continues that no worker does any more: taken over from workers that are silent or gone, retried from the dead
//! letters, and given a task anew. Part of [`crate::work`].

use strongroom_database::{CLOCK_TOLERANCE, Statement, Time, Transaction};
use strongroom_queue::{Cursor, TaskId, TaskRecord, TaskState, tasks};
use uuid::Uuid;

use crate::items::{self, Item, Move};
use crate::store::waking::wake;
use crate::work::{ItemOutcome, Reclaimed, carry_out, request_to_carry_out};
use crate::{ItemId, ItemStatus, RegistryError, Scope, Workflows, workflow};

/// Takes over what dead or silent workers held, at most `limit` tasks of each cause.
pub fn reclaim(tx: &mut dyn Transaction, limit: usize) -> Result<Reclaimed, RegistryError> {
    let mut taken = tasks::take_over_expired(tx, limit, &mut is_free)?;
    for holder in tasks::holders(tx)? {
        if holder.is_gone() {
            taken.extend(tasks::take_over_from(tx, &holder, limit, &mut is_free)?);
        }
    }
    let Reclaimed { mut topics, mut outcomes } = Reclaimed::default();
    for task in taken {
        if let Some(id) = task.item
            && let Some(item) = items::get(tx, Scope::System, ItemId(id))?
            && item.status == ItemStatus::Started
            && item.topic == task.topic
        {
            let (released, outcome) = release_by_force(tx, &item)?;
            topics.extend(released);
            outcomes.extend(outcome);
        }
        topics.push(task.topic);
    }
    topics.sort();
    topics.dedup();
    Ok(Reclaimed { topics, outcomes })
}

/// Whether no other transaction has an item: one that hangs keeps only its own item from being taken over. The item is locked
/// then.
fn is_free(tx: &mut dyn Transaction, item: Uuid) -> Result<bool, RegistryError> {
    let id = ItemId(item);
    Ok(tx.query_one(Statement("items.lock_if_free"), &[id.into()])?.is_some()
        || items::get(tx, Scope::System, id)?.is_none())
}

/// Takes an item away from a worker that is silent or gone, and meets a person's request that was waiting for it. The
/// topics that have new work, and what came of the item.
fn release_by_force(
    tx: &mut dyn Transaction,
    item: &Item,
) -> Result<(Vec<String>, Option<ItemOutcome>), RegistryError> {
    if let Some(wanted) = request_to_carry_out(item) {
        tasks::delete_key(tx, &item.id.to_string())?;
        return carry_out(tx, item, wanted);
    }
    let note = "its worker stopped without reporting an end";
    let change = Move::new(item, item.position(), ItemStatus::Pending, note);
    items::apply(tx, item, &Move { needs_review: item.needs_review, ..change })?;
    Ok((Vec::new(), None))
}

/// What was brought back of a page of dead tasks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Retried {
    /// How many tasks.
    pub tasks: u64,
    /// The topics that have new work.
    pub topics: Vec<String>,
    /// Where the next page begins; none behind the last.
    pub next: Option<Cursor>,
}

/// Brings the dead tasks of a topic back behind `after`, at most 100: those that are a stage by requeueing their items. A topic may have a
/// million of them.
pub fn retry(
    tx: &mut dyn Transaction,
    workflows: &dyn Workflows,
    topic: &str,
    after: Option<Cursor>,
    who: &str,
) -> Result<Retried, RegistryError> {
    let page = tasks::list(tx, topic, TaskState::Dead, after, RETRIED_AT_ONCE)?;
    let mut retried = Retried { next: page.next, ..Retried::default() };
    for task in page.tasks {
        bring_back(tx, workflows, &task, who, &mut retried)?;
    }
    Ok(retried)
}

/// Brings one dead task of a topic back, if there is such a one.
pub fn retry_one(
    tx: &mut dyn Transaction,
    workflows: &dyn Workflows,
    (topic, task): (&str, TaskId),
    who: &str,
) -> Result<Retried, RegistryError> {
    let mut retried = Retried::default();
    let found = tasks::show(tx, task)?.filter(|found| found.topic == topic && found.state == TaskState::Dead);
    if let Some(found) = found {
        bring_back(tx, workflows, &found, who, &mut retried)?;
    }
    Ok(retried)
}

/// Dead tasks that one transaction brings back.
const RETRIED_AT_ONCE: usize = 100;

fn bring_back(
    tx: &mut dyn Transaction,
    workflows: &dyn Workflows,
    task: &TaskRecord,
    who: &str,
    retried: &mut Retried,
) -> Result<(), RegistryError> {
    if let Some(id) = task.item {
        let request = items::Request::Requeue(None);
        retried.topics.extend(items::request(tx, workflows, Scope::System, ItemId(id), request, who)?);
    } else if tasks::retry(tx, task.task)? {
        retried.topics.push(task.topic.clone());
    } else {
        return Ok(());
    }
    retried.tasks += 1;
    Ok(())
}

/// A page of open items, as a sweep needs it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OpenItems {
    /// The last item of the page, to go on behind; none at the end.
    pub last: Option<ItemId>,
    /// Those that have no task.
    pub without_task: Vec<ItemId>,
    /// Those that wait, and whose wait was written down by a clock that was ahead: it says nothing of when they are due.
    pub written_ahead: Vec<ItemId>,
}

/// What a sweep has to do among at most `limit` open items behind `after`. A read: no writer waits for it.
pub fn open_items(tx: &mut dyn Transaction, after: ItemId, limit: usize) -> Result<OpenItems, RegistryError> {
    let now = tx.now()?;
    let mut found = OpenItems::default();
    for row in tx.query(Statement("items.open_after"), &[after.into(), limit.into()])? {
        let id = ItemId(row.uuid("id")?);
        found.last = Some(id);
        if !has_task(tx, id, row.text("topic")?)? {
            found.without_task.push(id);
        } else if is_written_ahead(now, row.time("updated_at")?, row.optional_time("wait_until")?) {
            found.written_ahead.push(id);
        }
    }
    Ok(found)
}

fn is_written_ahead(now: Time, updated_at: Time, wait_until: Option<Time>) -> bool {
    let tolerated = now.plus(CLOCK_TOLERANCE);
    updated_at > tolerated && wait_until.is_some_and(|until| until > tolerated)
}

/// Wakes those of these items that still wait by a clock that was ahead. Their topics.
pub fn wake_written_ahead(tx: &mut dyn Transaction, found: &[ItemId]) -> Result<Vec<String>, RegistryError> {
    let now = tx.now()?;
    let mut topics = Vec::new();
    for id in found {
        let Some(item) = items::get(tx, Scope::System, *id)? else { continue };
        if item.status == ItemStatus::Pending && is_written_ahead(now, item.updated_at, item.wait_until) {
            topics.push(wake(tx, &item)?);
        }
    }
    Ok(topics)
}

/// Gives those of these items that are open and still have no task one. Their topics.
pub fn requeue_stranded(
    tx: &mut dyn Transaction,
    workflows: &dyn Workflows,
    found: &[ItemId],
) -> Result<Vec<String>, RegistryError> {
    let mut topics = Vec::new();
    for id in found {
        let Some(item) = items::get(tx, Scope::System, *id)? else { continue };
        let topic = workflow::here(workflows, &item).topic;
        if !item.is_at_work() || topic.is_empty() || has_task(tx, item.id, &topic)? {
            continue;
        }
        items::enqueue(tx, &item, &topic)?;
        let note = Some("had no task and was given one");
        items::add_history(tx, item.id, items::NewLine { note, ..items::NewLine::new(item.stage, item.status) })?;
        topics.push(topic);
    }
    Ok(topics)
}

fn has_task(tx: &mut dyn Transaction, item: ItemId, topic: &str) -> Result<bool, RegistryError> {
    let live = tasks::of_key(tx, &item.to_string())?;
    Ok(live.iter().any(|task| task.topic == topic))
}
