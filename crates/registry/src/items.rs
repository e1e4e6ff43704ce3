//! Work items: made, looked at, and moved by people. Workers claim and move them in [`crate::work`].

use serde::Serialize;
use strongroom_database::{Row, Statement, Time, Transaction, Value};
use strongroom_queue::{NewTask, tasks};
use uuid::Uuid;

use crate::{
    Action, BatchId, CollectionId, FileId, InstitutionId, ItemId, ItemStatus, ObjectId, Position, RegistryError, Scope,
    Stage, Subject, WaitKey, WaitReason, Workflows, workflow,
};

/// A work item to be made.
#[derive(Debug, Clone)]
pub struct NewItem {
    /// Fixed by the caller, so that a repeat makes nothing.
    pub id: ItemId,
    /// The submission it belongs to.
    pub batch: Option<BatchId>,
    /// Whose it is.
    pub institution: InstitutionId,
    /// The collection it is for.
    pub collection: Option<CollectionId>,
    /// What it does.
    pub action: Action,
    /// The object, where it is known already.
    pub object: Option<ObjectId>,
    /// The object's identifier, `<institution>/<name>`.
    pub object_identifier: String,
    /// The file, for acts on one.
    pub file: Option<FileId>,
    /// The name people know it by: the bag's file name.
    pub name: String,
    /// Where the payload is: a path or URL.
    pub source: Option<String>,
    /// Bytes, where known.
    pub size: Option<u64>,
    /// What was asked for, as JSON.
    pub options: String,
    /// Lower is sooner.
    pub priority: i64,
    /// Whether a person must release it first.
    pub held: bool,
    /// The first note.
    pub note: String,
}

/// A work item as it stands.
#[derive(Debug, Clone)]
pub struct Item {
    /// Its identifier.
    pub id: ItemId,
    /// See [`NewItem::batch`].
    pub batch: Option<BatchId>,
    /// See [`NewItem::institution`].
    pub institution: InstitutionId,
    /// The institution's domain name.
    pub institution_identifier: String,
    /// See [`NewItem::collection`].
    pub collection: Option<CollectionId>,
    /// The collection's short name.
    pub collection_identifier: Option<String>,
    /// See [`NewItem::action`].
    pub action: Action,
    /// See [`NewItem::object`].
    pub object: Option<ObjectId>,
    /// See [`NewItem::object_identifier`].
    pub object_identifier: String,
    /// See [`NewItem::file`].
    pub file: Option<FileId>,
    /// See [`NewItem::name`].
    pub name: String,
    /// See [`NewItem::source`].
    pub source: Option<String>,
    /// The payload's etag when it was received.
    pub etag: Option<String>,
    /// See [`NewItem::size`].
    pub size: Option<u64>,
    /// See [`NewItem::options`].
    pub options: String,
    /// The stage it is at.
    pub stage: Stage,
    /// The topic whose tasks are that stage.
    pub topic: String,
    /// What wakes it where it waits at that stage.
    pub wait_key: Option<WaitKey>,
    /// Where it is.
    pub status: ItemStatus,
    /// See [`NewItem::priority`].
    pub priority: i64,
    /// The last thing that happened, in words.
    pub note: Option<String>,
    /// What it waits for; none while it does not wait.
    pub wait_reason: Option<WaitReason>,
    /// Until when it waits unless something wakes it; none while it does not wait.
    pub wait_until: Option<Time>,
    /// Whether what it makes is being committed or has been: from there it goes only forward, and cannot be held, cancelled or
    /// put away before it ends.
    pub is_committed: bool,
    /// Whether a person should look.
    pub needs_review: bool,
    /// Attempts of the stage that ended in a transient error.
    pub retry_count: u64,
    /// Set when a person asked a worker to stop: the status the item is to get.
    pub cancel_requested: Option<ItemStatus>,
    /// Raised at each claim.
    pub fence: i64,
    /// Who holds it.
    pub holder: Option<String>,
    /// Until when.
    pub lease_until: Option<Time>,
    /// The version it made.
    pub version: Option<u64>,
    /// When it was made.
    pub created_at: Time,
    /// When it last changed.
    pub updated_at: Time,
    /// Whether it ended because of what was read in its package itself; not so again once a person takes it up.
    pub is_verdict: bool,
    /// How often what was staged for it was lost since a person last asked for it.
    pub staging_losses: u64,
}

impl Item {
    /// Where it is in its workflow.
    pub fn position(&self) -> Position {
        Position { stage: self.stage, topic: self.topic.clone(), wait_key: self.wait_key.clone(), is_inline: false }
    }

    /// Whether a worker has it, or is to have it when its time comes.
    pub(crate) fn is_at_work(&self) -> bool {
        matches!(self.status, ItemStatus::Pending | ItemStatus::Started)
    }
}

/// One line of an item's history.
#[derive(Debug, Clone)]
pub struct HistoryLine {
    /// From 1.
    pub number: u64,
    /// When.
    pub time: Time,
    /// At which stage.
    pub stage: Stage,
    /// With which status.
    pub status: ItemStatus,
    /// What happened, in words.
    pub note: Option<String>,
    /// Who held it.
    pub holder: Option<String>,
    /// Under which fence.
    pub fence: i64,
}

/// One problem of a deposit, as kept with its item.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ItemProblem {
    /// `error` or `warning`.
    pub severity: String,
    /// A stable dotted word.
    pub code: String,
    /// The manifest or tag file it was found in.
    pub file: Option<String>,
    /// The path it is about.
    pub path: Option<String>,
    /// The line in the file.
    pub line: Option<u64>,
    /// What is wrong.
    pub message: String,
}

/// Which items a listing shows.
#[derive(Debug, Clone, Default)]
pub struct ItemFilter {
    /// Only this status.
    pub status: Option<ItemStatus>,
    /// Only this stage.
    pub stage: Option<Stage>,
    /// Only this action.
    pub action: Option<Action>,
    /// Only those that ask for review, or only those that do not.
    pub needs_review: Option<bool>,
    /// Only those made since.
    pub since: Option<Time>,
    /// Only those of a batch.
    pub batch: Option<BatchId>,
    /// Only those of an object.
    pub object: Option<ObjectId>,
}

/// Makes an item and the task of its first stage. The task's topic, for waking workers after the commit.
pub fn create(tx: &mut dyn Transaction, workflows: &dyn Workflows, new: &NewItem) -> Result<String, RegistryError> {
    let now = tx.now()?;
    let first = workflows.stages(new.action).first().copied();
    let stage = first.ok_or_else(|| RegistryError::NotFound { what: "action", id: new.action.to_string() })?;
    let position = workflows.position(Subject::from(new), stage);
    let status = if new.held { ItemStatus::Held } else { ItemStatus::Pending };
    let made = tx.execute(
        Statement("items.insert"),
        &[
            new.id.into(),
            new.batch.into(),
            new.institution.into(),
            new.collection.into(),
            new.action.word().into(),
            new.object.into(),
            (&new.object_identifier).into(),
            new.file.into(),
            (&new.name).into(),
            new.source.clone().into(),
            new.size.into(),
            (&new.options).into(),
            stage.word().into(),
            status.word().into(),
            new.priority.into(),
            (&new.note).into(),
            now.into(),
            (&position.topic).into(),
            position.wait_key.map(|key| key.0).into(),
        ],
    )?;
    let topic = position.topic;
    if made == 1 {
        add_history(tx, new.id, stage, status, Some(&new.note), None)?;
        if !new.held {
            enqueue(tx, new.id, &topic, new.priority, new.institution)?;
        }
    }
    Ok(topic)
}

/// Puts the item's task into a topic; a task that waits there already is brought forward to now.
pub(crate) fn enqueue(
    tx: &mut dyn Transaction,
    id: ItemId,
    topic: &str,
    priority: i64,
    institution: InstitutionId,
) -> Result<(), RegistryError> {
    let task = NewTask {
        priority: task_priority(priority),
        fair_key: institution.to_string(),
        // The settings of the worker decide, when it leases; see `work::lease`.
        max_attempts: u32::MAX,
        item: Some(id.0),
        ..NewTask::new(topic, id.to_string(), "")
    };
    tasks::enqueue(tx, &[task])?;
    Ok(())
}

/// The priority of an item as its tasks have it.
pub(crate) fn task_priority(priority: i64) -> i32 {
    i32::try_from(priority).unwrap_or(i32::MAX)
}

pub(crate) fn add_history(
    tx: &mut dyn Transaction,
    id: ItemId,
    stage: Stage,
    status: ItemStatus,
    note: Option<&str>,
    holder: Option<&str>,
) -> Result<(), RegistryError> {
    let now = tx.now()?;
    tx.execute(
        Statement("items.history_insert"),
        &[id.into(), now.into(), stage.word().into(), status.word().into(), note.into(), holder.into()],
    )?;
    Ok(())
}

/// An item, or none within the scope.
pub fn get(tx: &mut dyn Transaction, scope: Scope, id: ItemId) -> Result<Option<Item>, RegistryError> {
    tx.query_one(Statement("items.get"), &[id.into(), scope.value()])?.as_ref().map(item_row).transpose()
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

/// Items in order of their making, after `after`.
pub fn list(
    tx: &mut dyn Transaction,
    scope: Scope,
    filter: &ItemFilter,
    after: Option<ItemId>,
    limit: usize,
) -> Result<Vec<Item>, RegistryError> {
    let statement = match filter.batch {
        None => Statement("items.list"),
        Some(_) => Statement("items.list_of_batch"),
    };
    tx.query(
        statement,
        &[
            after.unwrap_or(ItemId(Uuid::nil())).into(),
            scope.value(),
            filter.status.map(ItemStatus::word).into(),
            filter.stage.as_ref().map(Stage::word).into(),
            filter.action.as_ref().map(Action::word).into(),
            filter.needs_review.into(),
            filter.since.into(),
            filter.batch.into(),
            filter.object.into(),
            limit.into(),
        ],
    )?
    .iter()
    .map(item_row)
    .collect()
}

/// How many items have each status; of one batch when given.
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
            })
        })
        .collect()
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
    pub(crate) note: Option<&'a str>,
    pub(crate) wait_reason: Option<WaitReason>,
    pub(crate) wait_until: Option<Time>,
    pub(crate) needs_review: bool,
    pub(crate) retry_count: u64,
    pub(crate) cancel_requested: Option<ItemStatus>,
    pub(crate) holder: Option<&'a str>,
}

/// The one way an item's status changes: checks the transition table, writes row and history. An item that is open again has
/// no verdict.
pub(crate) fn apply(tx: &mut dyn Transaction, item: &Item, change: &Move<'_>) -> Result<(), RegistryError> {
    if !item.status.may_become(change.status) {
        return Err(RegistryError::State {
            what: "work item",
            id: item.id.to_string(),
            state: item.status.to_string(),
            act: format!("make it {}", change.status),
        });
    }
    let now = tx.now()?;
    tx.execute(
        Statement("items.move"),
        &[
            item.id.into(),
            change.position.stage.word().into(),
            change.status.word().into(),
            change.note.into(),
            change.needs_review.into(),
            change.retry_count.into(),
            now.into(),
            change.cancel_requested.map(ItemStatus::word).into(),
            change.wait_reason.map(WaitReason::word).into(),
            (&change.position.topic).into(),
            change.position.wait_key.as_ref().map(|key| key.0.as_str()).into(),
            change.wait_until.into(),
        ],
    )?;
    add_history(tx, item.id, change.position.stage, change.status, change.note, change.holder)
}

/// What a person may ask of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Request {
    /// Keep it where it is until released.
    Hold,
    /// Let a held item go on.
    Release,
    /// End it.
    Cancel,
    /// Put it away; row and history stay.
    Delete,
    /// Work again from a stage, or from the one it stopped at.
    Requeue(Option<Stage>),
}

/// Carries out a person's request. An item that a worker holds right now is asked to stop; it is met when the stage ends,
/// or when the worker has died. The topics that have new work.
pub fn request(
    tx: &mut dyn Transaction,
    workflows: &dyn Workflows,
    scope: Scope,
    id: ItemId,
    request: Request,
    who: &str,
) -> Result<Vec<String>, RegistryError> {
    let item = find(tx, scope, id)?;
    let refuse = |act: &str| RegistryError::State {
        what: "work item",
        id: id.to_string(),
        state: format!("{} at {}", item.status, item.stage),
        act: act.to_owned(),
    };
    let stops_it = matches!(request, Request::Hold | Request::Cancel | Request::Delete);
    if item.is_committed && stops_it && !item.status.is_ended() {
        return Err(refuse("stop it: its version is committed and only goes forward"));
    }
    if request == Request::Release && item.cancel_requested == Some(ItemStatus::Held) {
        // The worker that has it was asked to stop, and need not.
        tx.execute(Statement("items.ask_cancel"), &[id.into(), Value::Null])?;
        return Ok(Vec::new());
    }
    let (status, position, note) = match request {
        Request::Hold => (ItemStatus::Held, item.position(), format!("held by {who}")),
        Request::Release => {
            if item.status != ItemStatus::Held {
                return Err(refuse("release it: it is not held"));
            }
            (ItemStatus::Pending, item.position(), format!("released by {who}"))
        }
        Request::Cancel => (ItemStatus::Cancelled, item.position(), format!("cancelled by {who}")),
        Request::Delete => (ItemStatus::Deleted, item.position(), format!("deleted by {who}")),
        Request::Requeue(stage) => {
            if !matches!(item.status, ItemStatus::Failed | ItemStatus::Cancelled | ItemStatus::Pending) {
                return Err(refuse("requeue it: only failed, cancelled and pending items can be"));
            }
            let stage = requeue_stage(tx, workflows, &item, stage)?;
            let note = format!("requeued for {stage} by {who}");
            (ItemStatus::Pending, workflow::position(workflows, Subject::from(&item), stage)?, note)
        }
    };
    if item.status == ItemStatus::Started {
        if !matches!(status, ItemStatus::Held | ItemStatus::Cancelled) {
            return Err(refuse("do this while a worker holds it; cancel or hold it first"));
        }
        tx.execute(Statement("items.ask_cancel"), &[id.into(), status.word().into()])?;
        return Ok(Vec::new());
    }
    let topic = position.topic.clone();
    let change = Move {
        position,
        status,
        note: Some(&note),
        wait_reason: None,
        wait_until: None,
        needs_review: false,
        retry_count: 0,
        cancel_requested: None,
        holder: None,
    };
    apply(tx, &item, &change)?;
    if let Request::Requeue(_) = request {
        // What was found then says nothing of how the item ends next.
        tx.execute(Statement("items.problems_clear"), &[id.into()])?;
        tx.execute(Statement("items.set_staging_losses"), &[id.into(), 0_u64.into()])?;
    }
    tasks::delete_key(tx, &id.to_string())?;
    let mut topics = Vec::new();
    if status == ItemStatus::Pending {
        enqueue(tx, id, &topic, item.priority, item.institution)?;
        topics.push(topic);
    }
    topics.extend(crate::work::come_to_rest(tx, &item, status, true)?);
    if status == ItemStatus::Pending
        && let Some(batch) = item.batch
    {
        crate::batches::settle(tx, batch)?;
    }
    Ok(topics)
}

/// Cancels an item, which takes no workflow to know.
pub(crate) fn cancel(tx: &mut dyn Transaction, id: ItemId, who: &str) -> Result<Vec<String>, RegistryError> {
    request(tx, &workflow::NoWorkflows, Scope::System, id, Request::Cancel, who)
}

/// Where a requeued item begins: the stage asked for, or the one that its workflow names instead. A sweep that is pending or
/// under way needs no waiting for: it goes by the identifiers of what was discarded, and stops where the item has not ended
/// any more.
fn requeue_stage(
    tx: &mut dyn Transaction,
    workflows: &dyn Workflows,
    item: &Item,
    wanted: Option<Stage>,
) -> Result<Stage, RegistryError> {
    let stage = wanted.unwrap_or(item.stage);
    let refuse = |what: &str| RegistryError::State {
        what: "work item",
        id: item.id.to_string(),
        state: format!("at {}", item.stage),
        act: format!("requeue it for {what} {stage}"),
    };
    let stages = workflows.stages(item.action);
    let place = |stage: Stage| stages.iter().position(|one| *one == stage);
    let Some(wanted) = place(stage) else { return Err(refuse("a stage that it does not have,")) };
    if place(item.stage).is_none_or(|reached| wanted > reached) {
        return Err(refuse("the later stage"));
    }
    workflows.restart(tx, item, stage)
}

pub(crate) fn item_row(row: &Row) -> Result<Item, RegistryError> {
    Ok(Item {
        id: ItemId(row.uuid("id")?),
        topic: row.text("topic")?.to_owned(),
        wait_key: row.optional_text("wait_key")?.map(|key| WaitKey(key.to_owned())),
        wait_until: row.optional_time("wait_until")?,
        is_committed: row.truth("is_committed")?,
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
        needs_review: row.truth("needs_review")?,
        retry_count: row.count("retry_count")?,
        cancel_requested: row.optional_text("cancel_requested")?.map(str::parse).transpose()?,
        fence: row.integer("fence")?,
        holder: row.optional_text("holder")?.map(str::to_owned),
        lease_until: row.optional_time("lease_until")?,
        version: row.optional_integer("version")?.map(i64::unsigned_abs),
        created_at: row.time("created_at")?,
        updated_at: row.time("updated_at")?,
        institution_identifier: row.text("institution_identifier")?.to_owned(),
        collection_identifier: row.optional_text("collection_identifier")?.map(str::to_owned),
        is_verdict: row.truth("is_verdict")?,
        staging_losses: row.count("staging_losses")?,
        wait_reason: row.optional_text("wait_reason")?.map(str::parse).transpose()?,
    })
}

/// The next older open ingest of the same object for which a newer one waits. Parts of one set do not wait for each other.
pub fn older_open(tx: &mut dyn Transaction, item: &Item) -> Result<Option<ItemId>, RegistryError> {
    let values: [Value; 3] = [item.institution.into(), (&item.object_identifier).into(), item.id.into()];
    let row = tx.query_one(Statement("items.older_open"), &values)?;
    Ok(row.map(|row| row.uuid("id").map(ItemId)).transpose()?)
}

/// Every open ingest of an object up to an item of it, oldest first.
pub fn open_up_to(tx: &mut dyn Transaction, item: &Item) -> Result<Vec<ItemId>, RegistryError> {
    let values: [Value; 3] = [item.institution.into(), (&item.object_identifier).into(), item.id.into()];
    tx.query(Statement("items.open_up_to"), &values)?.iter().map(|row| Ok(ItemId(row.uuid("id")?))).collect()
}
