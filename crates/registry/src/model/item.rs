//! A work item as it is made, kept and listed, and what a person may ask of it.

use serde::Serialize;
use strongroom_database::{Isolation, Time};

use super::{
    Action, ActivityId, ActorId, BatchId, CollectionId, FileId, InstitutionId, ItemId, ItemStatus, ObjectId, Order,
    Position, Stage, WaitKey, WaitReason,
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
    /// From 0 to 99, lower is sooner. What its tasks have is more by its size: see [`Self::OF_UNKNOWN_SIZE`].
    pub priority: i64,
    /// Whether it makes the items of the rows of a list: its batch is pending until [`crate::batches::list_made`].
    pub is_list: bool,
    /// The first note.
    pub note: String,
    /// On whose behalf workers act; an actor that the registry knows.
    pub actor: Option<ActorId>,
    /// The activity that makes it.
    pub activity: Option<ActivityId>,
}

impl NewItem {
    /// The priority of an item that is as urgent as most.
    pub const PRIORITY: i64 = 50;
    /// What is added to the priority of the tasks of an item whose size is not known, as to those of the largest.
    pub const OF_UNKNOWN_SIZE: i64 = 10;

    /// An item with an identifier of its own, of which only this is known: what else there is to say of it is set field by
    /// field.
    pub fn new(action: Action, institution: InstitutionId, object_identifier: impl Into<String>) -> Self {
        Self {
            id: ItemId::new(),
            batch: None,
            institution,
            collection: None,
            action,
            object: None,
            object_identifier: object_identifier.into(),
            file: None,
            name: String::new(),
            source: None,
            size: None,
            options: "{}".to_owned(),
            priority: Self::PRIORITY,
            is_list: false,
            note: String::new(),
            actor: None,
            activity: None,
        }
    }
}

/// A work item as it stands.
#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "what is read of a row, each independent of the others")]
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
    /// Who asked for it.
    pub requested_by: Option<String>,
    /// Why, where that was said.
    pub request_reason: Option<String>,
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
    /// Whether a person holds it, its batch or its collection: it begins no stage unless its version is committed.
    pub is_on_hold: bool,
    /// How often a person had it worked on again.
    pub requeues: u64,
    /// The status it had when it was deleted.
    pub deleted_from: Option<ItemStatus>,
}

impl Item {
    /// The version that it made: of one that succeeded, also where it was deleted since. The object keeps it.
    pub fn version_made(&self) -> Option<u64> {
        let end = self.deleted_from.unwrap_or(self.status);
        self.version.filter(|_| end == ItemStatus::Succeeded)
    }

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
    /// Who acted, where it was no worker.
    pub actor: Option<String>,
}

/// One problem of a deposit, as kept with its item.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, serde::Deserialize)]
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

/// Most characters of a problem's message in the note of an item.
const MOST_CHARACTERS: usize = 500;

impl ItemProblem {
    /// What the note of an item ends with whose package has this problem as its worst, or as the first of the worst.
    pub fn in_note(&self) -> String {
        let message: String = self.message.chars().take(MOST_CHARACTERS).collect();
        let place = self.path.as_deref().or(self.file.as_deref());
        let place = place.map(|place| format!(" {place}:")).unwrap_or_default();
        format!("; first: {}{place} {message}", self.code)
    }
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
    /// Only those of a collection; the scope is that of its institution.
    pub collection: Option<CollectionId>,
    /// Only those that an activity made.
    pub activity: Option<ActivityId>,
    /// Only those of the object of this identifier, `<institution>/<name>`, at this institution, whether it is known yet or not.
    pub object: Option<(InstitutionId, String)>,
    /// In which order; those of a batch are listed oldest first.
    pub order: Order,
}

/// Who asks something, and why.
#[derive(Debug, Clone, Copy)]
pub struct Asker<'a> {
    /// The name of the person.
    pub who: &'a str,
    /// The reason, where one was given.
    pub reason: Option<&'a str>,
}

impl<'a> From<&'a str> for Asker<'a> {
    fn from(who: &'a str) -> Self {
        Self { who, reason: None }
    }
}

impl<'a> From<&'a String> for Asker<'a> {
    fn from(who: &'a String) -> Self {
        Self::from(who.as_str())
    }
}

/// What a person may ask of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Request {
    /// Place a hold on it: it stays where it is until that is lifted.
    Hold,
    /// Lift the hold that was placed on it.
    Release,
    /// End it without success, for good unless it is requeued.
    Cancel,
    /// End it as failed: it keeps what it has, and can be requeued.
    Fail,
    /// Put it away; row and history stay.
    Delete,
    /// Work again from a stage, or from the one it stopped at.
    Requeue(Option<Stage>),
}

impl Request {
    /// How the transactions are kept apart that carry it out. All but a requeue lock the rows that they decide by, so that workers who end
    /// stages all the time make none of them start over.
    pub fn isolation(self) -> Isolation {
        match self {
            Self::Requeue(_) => Isolation::Serial,
            Self::Hold | Self::Release | Self::Cancel | Self::Fail | Self::Delete => Isolation::ReadCommitted,
        }
    }
}
