//! Work items and what happened to them.

use serde::Serialize;
use strongroom_queue::tasks;
use strongroom_registry::items::{self, HistoryLine, Item, ItemProblem};
use strongroom_registry::journal::{ShownActor, name_of};
use strongroom_registry::restored::{self, Restored};
use strongroom_registry::{
    Action, BatchId, FileId, ItemId, ItemStatus, Part, RegistryError, RestoredState, Scope, Stage, Transaction,
    WaitReason, advice, holds, journal, parts,
};

use super::HoldView;
use crate::workflow::local_topic;

/// Problems shown with one item.
pub(super) const PROBLEMS: usize = 1_000;

/// A work item.
#[derive(Debug, Clone, Serialize)]
pub struct ItemView {
    /// Its identifier.
    pub item: ItemId,
    /// The batch it belongs to.
    pub batch: Option<BatchId>,
    /// What it does.
    pub action: Action,
    /// The domain name of its institution.
    pub institution: String,
    /// The short name of its collection.
    pub collection: Option<String>,
    /// The object's identifier, `<institution>/<name>`.
    pub object: String,
    /// The name people know it by: the bag's file name.
    pub name: String,
    /// Which part of its object it is, where that comes in parts.
    pub part: Option<u64>,
    /// Of how many.
    pub parts: Option<u64>,
    /// The file, for acts on one.
    pub file: Option<FileId>,
    /// The stage it is at.
    pub stage: Stage,
    /// Where it is.
    pub status: ItemStatus,
    /// Lower is sooner.
    pub priority: i64,
    /// Attempts of its stage that were spent, also where it gave up there.
    pub attempts: u32,
    /// Attempts of its stage that ended in an error that may pass.
    pub retry_count: u64,
    /// How often a person had it worked on again.
    pub requeues: u64,
    /// Whether a person should look.
    pub needs_review: bool,
    /// The status that a person asked for and that it will have.
    pub requested: Option<ItemStatus>,
    /// Who asked for it.
    pub requested_by: Option<String>,
    /// Who works on it.
    pub holder: Option<String>,
    /// Until when, unless that is extended.
    pub lease_until: Option<String>,
    /// What it waits for.
    pub waits_for: Option<WaitReason>,
    /// Until when, unless something wakes it.
    pub waits_until: Option<String>,
    /// The topic in which it waits for a worker, or for what `waits_for` says; none where it does not wait.
    pub topic: Option<String>,
    /// The same, where that is paused.
    pub paused: Option<String>,
    /// The last thing that happened, in words.
    pub note: Option<String>,
    /// What that advises to do.
    pub next: Option<String>,
    /// What was found in its package.
    pub problems: Vec<ItemProblem>,
    /// When it was made.
    pub created_at: String,
    /// When it last changed.
    pub updated_at: String,
    /// Bytes of its package, where known.
    pub size: Option<u64>,
    /// What it put into the restoration store.
    pub restored: Vec<RestoredView>,
    /// On whose behalf it is worked on.
    pub actor: Option<String>,
    /// The holds on it, its batch and its collection, the oldest first.
    pub holds: Vec<HoldView>,
}

impl ItemView {
    /// That its topic is paused, or whose workers it waits for where these wait for servers: a free one may take long. None of one whose last attempt
    /// failed, which its note says.
    pub fn waits_in_topic(&self) -> Option<String> {
        if let Some(topic) = &self.paused {
            return Some(format!("the topic {topic} is paused"));
        }
        let is_behind = self.waits_for.is_none() && self.attempts == 0;
        let topic = self.topic.as_deref().filter(|topic| is_behind && local_topic(topic).is_some());
        topic.map(|topic| format!("waits for a worker of {topic}"))
    }

    /// The note without what it advises.
    pub fn said(&self) -> Option<&str> {
        self.note.as_deref().map(|note| advice::split(note).0)
    }

    /// The note without the problem that it names, for where the problems are shown besides it.
    pub fn note_without_problem(&self) -> &str {
        let note = self.note.as_deref().unwrap_or_default();
        self.problems.iter().find_map(|problem| note.strip_suffix(&problem.in_note())).unwrap_or(note)
    }
}

/// Where an item is, and no more of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StandingView {
    /// Its identifier.
    pub item: ItemId,
    /// The object's identifier, `<institution>/<name>`.
    pub object: String,
    /// The stage it is at.
    pub stage: Stage,
    /// Where it is.
    pub status: ItemStatus,
    /// How far it is in bytes; none where its size is not known yet.
    pub bytes: Option<BytesView>,
}

/// How far a work item is, in bytes that its stages read: from where they come, from staging for each copy, and each copy again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct BytesView {
    /// Those that were read. What other processes read counts when its stage is over.
    pub read: u64,
    /// Those that there are to read, as most items need it.
    pub expected: u64,
}

impl StandingView {
    /// Whether nothing more happens to it without a person.
    pub fn is_over(&self) -> bool {
        is_over(self.status)
    }
}

/// Whether nothing more happens to an item without a person.
pub(super) fn is_over(status: ItemStatus) -> bool {
    status.is_ended() || status == ItemStatus::Held
}

impl StandingView {
    /// An item as it stands, where it is not known how far it is in bytes.
    pub(crate) fn new(item: Item, bytes: Option<BytesView>) -> Self {
        let Item { id, object_identifier, stage, status, .. } = item;
        Self { item: id, object: object_identifier, stage, status, bytes }
    }
}

/// What a restoration has put into the restoration store.
#[derive(Debug, Clone, Serialize)]
pub struct RestoredView {
    /// The store.
    pub store: String,
    /// The key within it.
    pub key: String,
    /// Whether it lies there still.
    pub state: RestoredState,
    /// Bytes.
    pub size: Option<u64>,
    /// When it goes.
    pub expires_at: Option<String>,
}

/// A line of an item's history.
#[derive(Debug, Clone, Serialize)]
pub struct HistoryLineView {
    /// From 1.
    pub number: u64,
    /// When.
    pub time: String,
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
    /// Who acted, where it was no worker.
    pub actor: Option<String>,
    /// The account of the operating system under which a user acted at the console.
    pub account: Option<String>,
    /// The identifier of the API key with which a program acted for a user.
    pub key: Option<String>,
}

/// Why an item does not go on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ObstacleView {
    /// The same for as long as it is the same obstacle, whatever its reason says.
    pub key: String,
    /// What it is, in words.
    pub reason: String,
    /// What to do.
    pub next: String,
}

impl ItemView {
    /// An item with what belongs to it.
    pub(crate) fn read(tx: &mut dyn Transaction, item: Item) -> Result<Self, RegistryError> {
        let problems = items::problems(tx, Scope::System, item.id, PROBLEMS)?;
        let restored = restored::of_item(tx, item.id)?;
        let spent = tasks::of_key(tx, &item.id.to_string())?.iter().map(|task| task.spent).max().unwrap_or(0);
        // The task of an item that has ended is gone; what it spent at its last stage is kept.
        let attempts = spent.max(u32::try_from(item.retry_count).unwrap_or(u32::MAX));
        let part = parts::of_item(tx, item.id)?;
        let actor = journal::actor_of_item(tx, item.id)?;
        let held = holds::of_item(tx, &item)?;
        let is_paused = item.status == ItemStatus::Pending && tasks::is_paused(tx, &item.topic)?;
        let paused = is_paused.then(|| item.topic.clone());
        let topic = (item.status == ItemStatus::Pending).then(|| item.topic.clone());
        let note = holds::note_now(&item, &held).or_else(|| item.note.clone());
        let (requested, requested_by) = match held.first() {
            Some(hold)
                if item.status == ItemStatus::Started && item.cancel_requested.is_none() && !item.is_committed =>
            {
                (Some(ItemStatus::Held), Some(name_of(&hold.placed_by).to_owned()))
            }
            _ => (item.cancel_requested, item.requested_by.as_deref().map(|who| name_of(who).to_owned())),
        };
        Ok(Self {
            item: item.id,
            name: item.name,
            part: part.map(Part::number),
            parts: part.map(Part::total),
            batch: item.batch,
            action: item.action,
            institution: item.institution_identifier,
            collection: item.collection_identifier,
            object: item.object_identifier,
            file: item.file,
            stage: item.stage,
            status: item.status,
            priority: item.priority,
            attempts,
            retry_count: item.retry_count,
            requeues: item.requeues,
            needs_review: item.needs_review,
            requested,
            requested_by,
            holder: item.holder,
            lease_until: item.lease_until.map(|time| time.to_string()),
            waits_for: item.wait_reason,
            waits_until: item.wait_until.map(|time| time.to_string()),
            next: note.as_deref().and_then(|note| advice::split(note).1).map(str::to_owned),
            note,
            topic,
            paused,
            problems,
            created_at: item.created_at.to_string(),
            updated_at: item.updated_at.to_string(),
            size: item.size,
            restored: restored.into_iter().map(RestoredView::from).collect(),
            actor: actor.map(|actor| actor.name),
            holds: held.into_iter().map(HoldView::from).collect(),
        })
    }
}

impl From<Restored> for RestoredView {
    fn from(restored: Restored) -> Self {
        Self {
            store: restored.place.store,
            key: restored.place.key,
            state: restored.state,
            size: restored.size,
            expires_at: restored.expires_at.map(|time| time.to_string()),
        }
    }
}

impl From<HistoryLine> for HistoryLineView {
    fn from(line: HistoryLine) -> Self {
        let by = line.actor.as_deref().map(ShownActor::parse);
        Self {
            number: line.number,
            time: line.time.to_string(),
            stage: line.stage,
            status: line.status,
            note: line.note,
            holder: line.holder,
            fence: line.fence,
            actor: by.as_ref().map(|by| by.name.clone()),
            account: by.as_ref().and_then(|by| by.account.clone()),
            key: by.and_then(|by| by.key),
        }
    }
}

/// Work items that failed at the same stage, by the same problem, of the same host.
#[derive(Debug, Clone, Serialize)]
pub struct FailureGroupView {
    /// The code of the first problem; none where the package was not what failed.
    pub code: Option<String>,
    /// The host that the packages come from; none for paths.
    pub host: Option<String>,
    /// The stage at which they failed.
    pub stage: Stage,
    /// How many they are.
    pub items: u64,
    /// The newest of them.
    pub newest: ItemId,
    /// Why that one failed, in words.
    pub note: Option<String>,
}

/// Failures in groups.
#[derive(Debug, Clone, Default)]
pub struct FailureGroupsView {
    /// The groups, the largest first.
    pub groups: Vec<FailureGroupView>,
    /// How many work items failed that are in none of these groups, because there are too many.
    pub others: u64,
}

/// How many work items have each status, of an institution or of a collection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ItemCountsView {
    /// The domain name of the institution.
    pub institution: String,
    /// The short name of the collection; none for items of no collection, and where those of an institution are counted together.
    pub collection: Option<String>,
    /// All of them.
    pub items: u64,
    /// Those that wait.
    pub pending: u64,
    /// Those that a worker works on.
    pub started: u64,
    /// Those that are held.
    pub held: u64,
    /// Those that failed.
    pub failed: u64,
    /// Those that were cancelled.
    pub cancelled: u64,
    /// Those that succeeded.
    pub succeeded: u64,
    /// Those that were deleted.
    pub deleted: u64,
}

impl ItemCountsView {
    /// One without items.
    pub(crate) fn new(institution: String, collection: Option<String>) -> Self {
        Self {
            institution,
            collection,
            items: 0,
            pending: 0,
            started: 0,
            held: 0,
            failed: 0,
            cancelled: 0,
            succeeded: 0,
            deleted: 0,
        }
    }

    /// Adds so many items of a status.
    pub(crate) fn add(&mut self, status: ItemStatus, items: u64) {
        let of_status = match status {
            ItemStatus::Pending => &mut self.pending,
            ItemStatus::Started => &mut self.started,
            ItemStatus::Held => &mut self.held,
            ItemStatus::Failed => &mut self.failed,
            ItemStatus::Cancelled => &mut self.cancelled,
            ItemStatus::Succeeded => &mut self.succeeded,
            ItemStatus::Deleted => &mut self.deleted,
        };
        *of_status += items;
        self.items += items;
    }
}

/// What came of requeueing failures.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct RequeuedView {
    /// How many work items were requeued.
    pub requeued: u64,
    /// How many are left as they are, since they would fail again.
    pub left: u64,
}
