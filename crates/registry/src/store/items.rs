//! Work items: made, inspected, and moved from one stage and status to another. Workers claim them in [`crate::work`].

use std::collections::BTreeSet;
use std::collections::btree_map::{BTreeMap, Entry};
use std::time::Duration;

use strongroom_database::{Asked, Row, Statement, Time, Transaction, Value};
use strongroom_queue::tasks::{self, GoesOn};
use strongroom_queue::{Lease, NewTask};
use uuid::Uuid;

pub use super::requests::{is_permanent, move_to, request};
pub use crate::model::item::{Asker, HistoryLine, Item, ItemFilter, ItemProblem, NewItem, Request};
use crate::{
    Action, ActorId, BatchId, CollectionId, FileId, InstitutionId, ItemId, ItemStatus, ObjectId, Order, Origin,
    Position, RegistryError, Scope, Stage, Subject, WaitKey, WaitReason, Workflows, journal,
};

/// New items that are written together.
const ITEMS_AT_ONCE: usize = 1_000;

/// Makes an item and the task of its first stage; one whose batch or collection is on hold is held, and has no task. The task's topic, for waking workers after the commit.
pub fn create(tx: &mut dyn Transaction, workflows: &dyn Workflows, new: &NewItem) -> Result<String, RegistryError> {
    let mut making = NewItems::new(workflows);
    let topic = making.add(tx, new)?;
    making.finish(tx)?;
    Ok(topic)
}

/// The same for several items. The topics of their tasks, each once.
pub fn create_all(
    tx: &mut dyn Transaction,
    workflows: &dyn Workflows,
    new: &mut dyn Iterator<Item = NewItem>,
) -> Result<Vec<String>, RegistryError> {
    let mut making = NewItems::new(workflows);
    for new in new {
        making.add(tx, &new)?;
    }
    making.finish(tx)
}

/// Items that are made in one transaction, with the first lines of their histories and their tasks. They are written together, by
/// [`Self::write`] at the latest when they are finished: what the database is asked for many it is asked for one.
pub struct NewItems<'w> {
    workflows: &'w dyn Workflows,
    /// Names of the actors of the items.
    names: BTreeMap<ActorId, Option<String>>,
    topics: BTreeSet<String>,
    /// Batches of which items were held from the start.
    held: BTreeSet<BatchId>,
    /// Items that are not written yet.
    unwritten: Vec<Unwritten>,
}

/// An item that is not written yet.
struct Unwritten {
    id: ItemId,
    batch: Option<BatchId>,
    actor: Option<ActorId>,
    row: Vec<Value>,
    stage: Stage,
    note: String,
    task: NewTask,
}

impl<'w> NewItems<'w> {
    /// None yet.
    pub fn new(workflows: &'w dyn Workflows) -> Self {
        Self {
            workflows,
            names: BTreeMap::new(),
            topics: BTreeSet::new(),
            held: BTreeSet::new(),
            unwritten: Vec::new(),
        }
    }

    /// Adds an item, which is made unless there is one of its identifier. The topic of its first stage.
    pub fn add(&mut self, tx: &mut dyn Transaction, new: &NewItem) -> Result<String, RegistryError> {
        let now = tx.now()?;
        let first = self.workflows.stages(new.action).first().copied();
        let stage = first.ok_or_else(|| RegistryError::NotFound { what: "action", id: new.action.to_string() })?;
        let position = self.workflows.position(Subject::from(new), stage);
        let row = vec![
            new.id.into(),
            new.batch.into(),
            new.institution.into(),
            new.collection.into(),
            new.action.as_str().into(),
            new.object.into(),
            (&new.object_identifier).into(),
            new.file.into(),
            (&new.name).into(),
            new.source.clone().into(),
            new.size.into(),
            (&new.options).into(),
            stage.as_str().into(),
            new.priority.into(),
            (&new.note).into(),
            now.into(),
            (&position.topic).into(),
            position.wait_key.map(|key| key.0).into(),
            new.actor.into(),
            new.is_list.then_some("open").into(),
            new.activity.into(),
        ];
        let task = task_of(new.id, &position.topic, task_priority(new.priority, new.size), new.institution);
        let (id, actor, note) = (new.id, new.actor, new.note.clone());
        self.unwritten.push(Unwritten { id, batch: new.batch, actor, row, stage, note, task });
        self.topics.insert(position.topic.clone());
        if self.unwritten.len() >= ITEMS_AT_ONCE {
            self.write(tx)?;
        }
        Ok(position.topic)
    }

    /// Writes the items that were added, so that statements find them.
    pub fn write(&mut self, tx: &mut dyn Transaction) -> Result<(), RegistryError> {
        let mut items = std::mem::take(&mut self.unwritten);
        if items.is_empty() {
            return Ok(());
        }
        let now = tx.now()?;
        let mut rows = items.iter_mut().map(|item| std::mem::take(&mut item.row));
        let made = tx.query_many(Statement("items.insert"), &mut rows)?;
        let (mut lines, mut tasks) = (Vec::with_capacity(items.len()), Vec::with_capacity(items.len()));
        for (item, made) in items.into_iter().zip(made) {
            let Some(made) = made else { continue };
            // The statement knows whether its batch or its collection is on hold.
            let status: ItemStatus = made.text("status")?.parse()?;
            lines.push(vec![
                item.id.into(),
                now.into(),
                item.stage.as_str().into(),
                status.as_str().into(),
                item.note.into(),
                self.name_of(tx, item.actor, item.id)?.into(),
            ]);
            if status == ItemStatus::Pending {
                tasks.push(item.task);
            } else {
                self.held.extend(item.batch);
            }
        }
        tx.execute_each(Statement("items.history_begin"), &mut lines.into_iter())?;
        tasks::enqueue(tx, &tasks)?;
        Ok(())
    }

    /// The name of the actor of an item that is there.
    fn name_of(
        &mut self,
        tx: &mut dyn Transaction,
        actor: Option<ActorId>,
        item: ItemId,
    ) -> Result<Option<String>, RegistryError> {
        let Some(actor) = actor else { return Ok(None) };
        match self.names.entry(actor) {
            Entry::Occupied(known) => Ok(known.get().clone()),
            Entry::Vacant(unknown) => {
                let name = journal::actor_of_item(tx, item)?.map(|actor| actor.to_string());
                Ok(unknown.insert(name).clone())
            }
        }
    }

    /// Writes the rest. The topics of the items, each once.
    pub fn finish(mut self, tx: &mut dyn Transaction) -> Result<Vec<String>, RegistryError> {
        self.write(tx)?;
        for batch in self.held {
            crate::batches::settle(tx, batch)?;
        }
        Ok(self.topics.into_iter().collect())
    }
}

/// Puts the item's task into a topic; a task that waits there already is brought forward to now.
pub(crate) fn enqueue(tx: &mut dyn Transaction, item: &Item, topic: &str) -> Result<(), RegistryError> {
    tasks::enqueue(tx, &[task_of(item.id, topic, task_priority(item.priority, item.size), item.institution)])?;
    Ok(())
}

/// The task of an item in a topic.
pub(crate) fn task_of(id: ItemId, topic: &str, priority: i32, institution: InstitutionId) -> NewTask {
    NewTask {
        priority,
        fair_key: institution.to_string(),
        // The settings of the worker decide, when it leases; see `work::lease`.
        max_attempts: u32::MAX,
        item: Some(id.0),
        ..NewTask::new(topic, id.to_string(), "")
    }
}

/// Puts the task of an item that is held into the line of the topic that follows, where nothing stands in the way; whether it did.
pub(crate) fn pass_on(tx: &mut dyn Transaction, lease: Lease, item: &Item, topic: &str) -> Result<bool, RegistryError> {
    let to = GoesOn {
        lease,
        topic,
        priority: task_priority(item.priority, item.size),
        fair_key: &item.institution.to_string(),
        duration: Duration::ZERO,
        passes: false,
    };
    Ok(tasks::pass_on(tx, &to)?)
}

/// Up to so many bytes, so much is added to the priority of an item: the small go before the large that came at the same time.
const BY_SIZE: [(u64, i64); 3] = [(1 << 30, 0), (64 << 30, 5), (u64::MAX, NewItem::OF_UNKNOWN_SIZE)];

/// The priority of an item as its tasks have it: its own, and what its size adds. A size that is not known is none or 0.
pub(crate) fn task_priority(priority: i64, size: Option<u64>) -> i32 {
    let size = size.filter(|size| *size > 0);
    let of_size = |size| BY_SIZE.iter().find(|(limit, _)| size <= *limit).map_or(0, |(_, add)| *add);
    i32::try_from(priority.saturating_add(size.map_or(NewItem::OF_UNKNOWN_SIZE, of_size))).unwrap_or(i32::MAX)
}

/// A line of history to be added.
#[derive(Clone, Copy)]
pub(crate) struct NewLine<'a> {
    pub(crate) stage: Stage,
    pub(crate) status: ItemStatus,
    pub(crate) note: Option<&'a str>,
    /// The worker that had the item.
    pub(crate) holder: Option<&'a str>,
    /// Who acted, where it was no worker.
    pub(crate) actor: Option<&'a str>,
}

impl NewLine<'_> {
    pub(crate) fn new(stage: Stage, status: ItemStatus) -> Self {
        Self { stage, status, note: None, holder: None, actor: None }
    }

    fn values(&self, id: ItemId, now: Time) -> Vec<Value> {
        vec![
            id.into(),
            now.into(),
            self.stage.as_str().into(),
            self.status.as_str().into(),
            self.note.into(),
            self.holder.into(),
            self.actor.into(),
        ]
    }
}

pub(crate) fn add_history(tx: &mut dyn Transaction, id: ItemId, line: NewLine<'_>) -> Result<(), RegistryError> {
    let values = line.values(id, tx.now()?);
    tx.execute(Statement("items.history_insert"), &values)?;
    Ok(())
}

/// An item, or none within the scope.
pub fn get(tx: &mut dyn Transaction, scope: Scope, id: ItemId) -> Result<Option<Item>, RegistryError> {
    tx.query_one(Statement("items.get"), &[id.into(), scope.value()])?.as_ref().map(item_row).transpose()
}

/// What the newest deposit of an object that a harvest has made, and that has not failed, says of its source, and what it was made of;
/// none where no harvest has made any. What it was made of is not known where the item is gone, as after a rebuild.
pub fn harvested_from(
    tx: &mut dyn Transaction,
    institution: InstitutionId,
    object: &str,
) -> Result<Option<(Origin, Option<String>)>, RegistryError> {
    let values = [institution.into(), object.into()];
    if let Some(row) = tx.query_one(Statement("items.harvested"), &values)? {
        let options: serde_json::Value = serde_json::from_str(row.text("options")?).unwrap_or_default();
        let noted =
            options.get("harvested_from").and_then(|noted| serde_json::from_value::<Origin>(noted.clone()).ok());
        // Work items of an older program say it in their notes.
        let note = || options.get("note").and_then(serde_json::Value::as_str).and_then(Origin::of_message);
        if let Some(origin) = noted.or_else(note) {
            return Ok(Some((origin, Some(row.text("source")?.to_owned()))));
        }
    }
    let row = tx.query_one(Statement("items.harvested_version"), &values)?;
    let Some(row) = row else { return Ok(None) };
    let part = row.optional_text("harvested_part")?.map(str::to_owned);
    let location = row.optional_text("harvested_from")?;
    Ok(location.map(|location| (Origin { location: location.to_owned(), part }, None)))
}

/// Keeps everybody else from changing an item until the transaction ends, for those that are kept apart by rows.
pub(crate) fn lock(tx: &mut dyn Transaction, id: ItemId) -> Result<(), RegistryError> {
    tx.query_one(Statement("items.lock"), &[id.into()])?;
    Ok(())
}

/// An item that must exist.
pub fn find(tx: &mut dyn Transaction, scope: Scope, id: ItemId) -> Result<Item, RegistryError> {
    get(tx, scope, id)?.ok_or_else(|| RegistryError::NotFound { what: "work item", id: id.to_string() })
}

/// Items in the order that the filter says, after `after`.
pub fn list(
    tx: &mut dyn Transaction,
    scope: Scope,
    filter: &ItemFilter,
    after: Option<ItemId>,
    limit: usize,
) -> Result<Vec<Item>, RegistryError> {
    if filter.status.is_some() || !is_by_collection(scope, filter) {
        return page(tx, scope, filter, after, limit);
    }
    // The index of collections has an order within each status.
    let mut found = Vec::new();
    for status in ItemStatus::ALL.iter().filter(|status| **status != ItemStatus::Deleted) {
        let of_status = ItemFilter { status: Some(*status), ..filter.clone() };
        found.extend(page(tx, scope, &of_status, after, limit)?);
    }
    match filter.order {
        Order::OldestFirst => found.sort_by_key(|one| one.id),
        Order::NewestFirst => found.sort_by_key(|one| std::cmp::Reverse(one.id)),
    }
    found.truncate(limit);
    Ok(found)
}

/// Items in the order that the filter says, after `after`, by one statement.
fn page(
    tx: &mut dyn Transaction,
    scope: Scope,
    filter: &ItemFilter,
    after: Option<ItemId>,
    limit: usize,
) -> Result<Vec<Item>, RegistryError> {
    let (institution, identifier) = filter.object.clone().unzip();
    let is_newest_first = filter.order == Order::NewestFirst && filter.batch.is_none();
    let cursor = after.unwrap_or(ItemId(if is_newest_first { Uuid::max() } else { Uuid::nil() }));
    let mut values = vec![
        cursor.into(),
        scope.value(),
        filter.status.map(ItemStatus::as_str).into(),
        filter.stage.as_ref().map(Stage::as_str).into(),
        filter.action.as_ref().map(Action::as_str).into(),
        filter.needs_review.into(),
        filter.since.into(),
        filter.batch.into(),
        limit.into(),
        filter.collection.into(),
        filter.activity.into(),
    ];
    if let (Some(institution), Some(identifier)) = (institution, identifier) {
        values.extend([institution.into(), identifier.into()]);
    }
    let statement = statement_of(scope, filter, is_newest_first);
    tx.query(statement, &values)?.iter().map(item_row).collect()
}

/// Whether a list is read by the index of collections.
fn is_by_collection(scope: Scope, filter: &ItemFilter) -> bool {
    let is_narrower = filter.object.is_some()
        || filter.batch.is_some()
        || filter.activity.is_some()
        || (filter.status.is_none() && filter.needs_review == Some(true));
    filter.collection.is_some() && matches!(scope, Scope::Institution(_)) && !is_narrower
}

/// The statement that reads the fewest rows for a filter: by the index of what it asks for most narrowly.
fn statement_of(scope: Scope, filter: &ItemFilter, is_newest_first: bool) -> Statement {
    let is_of_institution = matches!(scope, Scope::Institution(_));
    let (oldest, newest) = if filter.object.is_some() {
        (Statement("listing.oldest_of_object"), Statement("listing.newest_of_object"))
    } else if filter.batch.is_some() {
        // The order of the others is not asked for.
        (Statement("listing.oldest_of_batch"), Statement("listing.oldest_of_batch"))
    } else if filter.activity.is_some() {
        (Statement("listing.oldest_of_activity"), Statement("listing.newest_of_activity"))
    } else if is_by_collection(scope, filter) {
        (Statement("listing.oldest_of_collection"), Statement("listing.newest_of_collection"))
    } else if filter.status.is_some() && is_of_institution {
        (Statement("listing.oldest_of_status_of_institution"), Statement("listing.newest_of_status_of_institution"))
    } else if filter.status.is_some() {
        (Statement("listing.oldest_of_status"), Statement("listing.newest_of_status"))
    } else if filter.needs_review == Some(true) {
        (Statement("listing.oldest_to_review"), Statement("listing.newest_to_review"))
    } else if filter.action.is_some() {
        (Statement("listing.oldest_of_action"), Statement("listing.newest_of_action"))
    } else if is_of_institution {
        (Statement("listing.oldest_of_institution"), Statement("listing.newest_of_institution"))
    } else {
        (Statement("listing.oldest"), Statement("listing.newest"))
    };
    if is_newest_first { newest } else { oldest }
}

/// How many items of a collection have a status.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Counted {
    /// The short name of the collection; none for items that are in none.
    pub collection: Option<String>,
    /// The status.
    pub status: ItemStatus,
    /// How many.
    pub items: u64,
}

/// How many items of an institution have each status, by collection: first those that are in none, then in order of the names.
pub fn count_by_collection(
    tx: &mut dyn Transaction,
    institution: InstitutionId,
) -> Result<Vec<Counted>, RegistryError> {
    let read = |row: &Row| {
        Ok(Counted {
            collection: row.optional_text("collection")?.map(str::to_owned),
            status: row.text("status")?.parse()?,
            items: row.count("items")?,
        })
    };
    tx.query(Statement("items.count_by_collection"), &[institution.into()])?.iter().map(read).collect()
}

/// How many items of a collection have not ended, by status.
pub fn open_of_collection(
    tx: &mut dyn Transaction,
    institution: InstitutionId,
    collection: CollectionId,
) -> Result<Vec<(ItemStatus, u64)>, RegistryError> {
    let rows = tx.query(Statement("items.open_of_collection"), &[institution.into(), collection.into()])?;
    rows.iter().map(|row| Ok((row.text("status")?.parse()?, row.count("items")?))).collect()
}

/// How many items have each status, in the order of the words; of one batch when given.
pub fn counts(
    tx: &mut dyn Transaction,
    scope: Scope,
    batch: Option<BatchId>,
) -> Result<Vec<(ItemStatus, u64)>, RegistryError> {
    let rows = match (batch, scope) {
        // Counted in the index by status alone.
        (None, Scope::System) => tx.query(Statement("items.count_by_status"), &[])?,
        (None, Scope::Institution(id)) => tx.query(Statement("items.count_by_status_of_institution"), &[id.into()])?,
        (Some(batch), _) => tx.query(Statement("items.count_by_status_of_batch"), &[scope.value(), batch.into()])?,
    };
    rows.iter().map(|row| Ok((row.text("status")?.parse()?, row.count("items")?))).collect()
}

/// How many items have each status, for those that any has; of one status no more than one beyond `limit` are counted.
pub fn counts_up_to(tx: &mut dyn Transaction, limit: u64) -> Result<Vec<(ItemStatus, u64)>, RegistryError> {
    let mut counts = Vec::new();
    for status in ItemStatus::ALL {
        let values = [status.as_str().into(), (limit + 1).into()];
        let count = tx.query_one(Statement("items.count_up_to"), &values)?.map_or(Ok(0), |row| row.count("items"))?;
        if count > 0 {
            counts.push((*status, count));
        }
    }
    Ok(counts)
}

/// An item's history, oldest first.
pub fn history(tx: &mut dyn Transaction, scope: Scope, id: ItemId) -> Result<Vec<HistoryLine>, RegistryError> {
    tx.query(Statement("items.history"), &[id.into(), scope.value()])?
        .iter()
        .map(|row| {
            Ok(HistoryLine {
                number: row.count("number")?,
                time: row.time("time")?,
                stage: row.text("stage")?.parse()?,
                status: row.text("status")?.parse()?,
                note: row.optional_text("note")?.map(str::to_owned),
                holder: row.optional_text("holder")?.map(str::to_owned),
                fence: row.integer("fence")?,
                actor: row.optional_text("actor")?.map(str::to_owned),
            })
        })
        .collect()
}

/// What the stage before said of an item when it last came to a stage, whatever workers and people said since. None where that is forgotten.
pub fn note_at(tx: &mut dyn Transaction, id: ItemId, stage: Stage) -> Result<Option<String>, RegistryError> {
    let row = tx.query_one(Statement("items.note_at"), &[id.into(), stage.as_str().into()])?;
    Ok(row.map(|row| row.optional_text("note").map(|note| note.map(str::to_owned))).transpose()?.flatten())
}

/// The problems found in an item's deposit, at most `limit`.
pub fn problems(
    tx: &mut dyn Transaction,
    scope: Scope,
    id: ItemId,
    limit: usize,
) -> Result<Vec<ItemProblem>, RegistryError> {
    tx.query(Statement("items.problems"), &[id.into(), scope.value(), limit.into()])?
        .iter()
        .map(|row| {
            Ok(ItemProblem {
                severity: row.text("severity")?.to_owned(),
                code: row.text("code")?.to_owned(),
                file: row.optional_text("file")?.map(str::to_owned),
                path: row.optional_text("path")?.map(str::to_owned),
                line: row.optional_integer("line")?.map(i64::unsigned_abs),
                message: row.text("message")?.to_owned(),
            })
        })
        .collect()
}

/// Replaces the problems kept with an item.
pub(crate) fn put_problems(
    tx: &mut dyn Transaction,
    id: ItemId,
    problems: &[ItemProblem],
) -> Result<(), RegistryError> {
    tx.execute(Statement("items.problems_clear"), &[id.into()])?;
    if problems.is_empty() {
        return Ok(());
    }
    tx.execute_each(
        Statement("items.problem_insert"),
        &mut problems.iter().zip(1_u64..).map(|(problem, number)| {
            vec![
                id.into(),
                number.into(),
                (&problem.severity).into(),
                (&problem.code).into(),
                problem.file.clone().into(),
                problem.path.clone().into(),
                problem.line.into(),
                (&problem.message).into(),
            ]
        }),
    )?;
    Ok(())
}

/// What moves an item from one stage and status to another.
pub(crate) struct Move<'a> {
    pub(crate) position: Position,
    pub(crate) status: ItemStatus,
    pub(crate) note: String,
    pub(crate) wait_reason: Option<WaitReason>,
    pub(crate) wait_until: Option<Time>,
    pub(crate) needs_review: bool,
    pub(crate) retry_count: u64,
    pub(crate) holder: Option<&'a str>,
    /// Who acts, where it is no worker.
    pub(crate) actor: Option<&'a str>,
}

impl<'a> Move<'a> {
    /// To this position and status, with the attempts that are spent and the holder as they are; it waits for nothing, and
    /// no person has to look.
    pub(crate) fn new(item: &'a Item, position: Position, status: ItemStatus, note: impl Into<String>) -> Self {
        Self {
            position,
            status,
            note: note.into(),
            wait_reason: None,
            wait_until: None,
            needs_review: false,
            retry_count: item.retry_count,
            holder: item.holder.as_deref(),
            actor: None,
        }
    }
}

/// The one way an item's status changes: checks the transition table, writes row and history. What a person asked for while a
/// worker had the item is met by it, or no longer applies. An item that is open again has no verdict.
pub(crate) fn apply(tx: &mut dyn Transaction, item: &Item, change: &Move<'_>) -> Result<(), RegistryError> {
    if !item.status.may_become(change.status) {
        return Err(RegistryError::State {
            what: "work item",
            id: item.id.to_string(),
            state: item.status.to_string(),
            act: act_of(change.status).to_owned(),
        });
    }
    if let Some(batch) = item.batch.filter(|_| item.status.is_ended()) {
        super::reports::finish_unfilled(tx, batch)?;
    }
    let now = tx.now()?;
    let moved = Asked::once(
        Statement("items.move"),
        vec![
            item.id.into(),
            change.position.stage.as_str().into(),
            change.status.as_str().into(),
            (&change.note).into(),
            change.needs_review.into(),
            change.retry_count.into(),
            now.into(),
            change.wait_reason.map(WaitReason::as_str).into(),
            (&change.position.topic).into(),
            change.position.wait_key.as_ref().map(|key| key.0.as_str()).into(),
            change.wait_until.into(),
        ],
    );
    let line = NewLine {
        note: Some(&change.note),
        holder: change.holder,
        actor: change.actor,
        ..NewLine::new(change.position.stage, change.status)
    };
    let line = Asked::once(Statement("items.history_insert"), line.values(item.id, now));
    tx.query_together(&[moved, line])?;
    Ok(())
}

/// The newest work items that wait for a tool that cannot tell now, up to `limit`.
pub fn waiting_for_tools(tx: &mut dyn Transaction, limit: usize) -> Result<Vec<Item>, RegistryError> {
    tx.query(Statement("items.waiting_for_tools"), &[limit.into()])?.iter().map(item_row).collect()
}

pub(crate) fn item_row(row: &Row) -> Result<Item, RegistryError> {
    Ok(Item {
        id: ItemId(row.uuid("id")?),
        topic: row.text("topic")?.to_owned(),
        wait_key: row.optional_text("wait_key")?.map(|key| WaitKey(key.to_owned())),
        wait_until: row.optional_time("wait_until")?,
        is_committed: row.bool("is_committed")?,
        batch: row.optional_uuid("batch_id")?.map(BatchId),
        institution: InstitutionId(row.uuid("institution_id")?),
        collection: row.optional_uuid("collection_id")?.map(CollectionId),
        action: row.text("action")?.parse()?,
        object: row.optional_uuid("object_id")?.map(ObjectId),
        object_identifier: row.text("object_identifier")?.to_owned(),
        file: row.optional_uuid("file_id")?.map(FileId),
        name: row.text("name")?.to_owned(),
        source: row.optional_text("source")?.map(str::to_owned),
        etag: row.optional_text("etag")?.map(str::to_owned),
        size: row.optional_integer("size")?.map(i64::unsigned_abs),
        options: row.text("options")?.to_owned(),
        stage: row.text("stage")?.parse()?,
        status: row.text("status")?.parse()?,
        priority: row.integer("priority")?,
        note: row.optional_text("note")?.map(str::to_owned),
        needs_review: row.bool("needs_review")?,
        retry_count: row.count("retry_count")?,
        cancel_requested: row.optional_text("cancel_requested")?.map(str::parse).transpose()?,
        requested_by: row.optional_text("requested_by")?.map(str::to_owned),
        request_reason: row.optional_text("request_reason")?.map(str::to_owned),
        fence: row.integer("fence")?,
        holder: row.optional_text("holder")?.map(str::to_owned),
        lease_until: row.optional_time("lease_until")?,
        version: row.optional_integer("version")?.map(i64::unsigned_abs),
        created_at: row.time("created_at")?,
        updated_at: row.time("updated_at")?,
        institution_identifier: row.text("institution_identifier")?.to_owned(),
        collection_identifier: row.optional_text("collection_identifier")?.map(str::to_owned),
        is_verdict: row.bool("is_verdict")?,
        staging_losses: row.count("staging_losses")?,
        wait_reason: row.optional_text("wait_reason")?.map(str::parse).transpose()?,
        is_on_hold: row.bool("is_on_hold")?,
        requeues: row.count("requeues")?,
        deleted_from: row.optional_text("deleted_from")?.map(str::parse).transpose()?,
    })
}

/// The next older open deposit or deletion of the same object for which an item waits. Parts of one set do not wait for each other.
pub fn older_open(tx: &mut dyn Transaction, item: &Item) -> Result<Option<ItemId>, RegistryError> {
    let values: [Value; 3] = [item.institution.into(), (&item.object_identifier).into(), item.id.into()];
    let row = tx.query_one(Statement("items.older_open"), &values)?;
    Ok(row.map(|row| row.uuid("id").map(ItemId)).transpose()?)
}

/// Every open deposit and deletion of an object up to an item of it, oldest first.
pub fn open_up_to(tx: &mut dyn Transaction, item: &Item) -> Result<Vec<ItemId>, RegistryError> {
    let values: [Value; 3] = [item.institution.into(), (&item.object_identifier).into(), item.id.into()];
    tx.query(Statement("items.open_up_to"), &values)?.iter().map(|row| Ok(ItemId(row.uuid("id")?))).collect()
}

/// What gives an item a status, in words.
fn act_of(status: ItemStatus) -> &'static str {
    match status {
        ItemStatus::Pending => "make it pending",
        ItemStatus::Started => "start it",
        ItemStatus::Held => "hold it",
        ItemStatus::Failed => "let it fail",
        ItemStatus::Cancelled => "cancel it",
        ItemStatus::Succeeded => "let it succeed",
        ItemStatus::Deleted => "delete it",
    }
}
