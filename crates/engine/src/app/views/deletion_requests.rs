//! Requests for deletion.

use serde::Serialize;
use strongroom_registry::deletion_requests::{Progress, Request};
use strongroom_registry::deletion_targets::Target;
use strongroom_registry::deletions::Unfinished;
use strongroom_registry::{
    BatchId, DeletionId, DeletionRequestId, DeletionRequestState, ItemId, ItemStatus, ObjectId, Time,
};

use crate::content_name::in_package;

/// A request for deletion.
#[derive(Debug, Clone, Serialize)]
pub struct DeletionView {
    /// Its identifier.
    pub request: DeletionRequestId,
    /// The domain name of the institution.
    pub institution: String,
    /// What is to be deleted, as people know it.
    pub name: String,
    /// Where it is.
    pub state: DeletionRequestState,
    /// Objects that it names.
    pub objects: u64,
    /// Files that go: those of objects that it names as a whole, and those that it names by themselves.
    pub files: u64,
    /// Bytes of the newest version of them; null where that was not counted yet when it was made.
    pub bytes: Option<u64>,
    /// Why.
    pub reason: String,
    /// Who asked.
    pub requested_by: String,
    /// The account of the operating system, at the console.
    pub requested_account: Option<String>,
    /// When.
    pub requested_at: String,
    /// Until when it can be approved.
    pub expires_at: String,
    /// Who approved it.
    pub approved_by: Option<String>,
    /// The account of the operating system, at the console.
    pub approved_account: Option<String>,
    /// When.
    pub approved_at: Option<String>,
    /// What the approver said.
    pub note: Option<String>,
    /// Who denied or cancelled it.
    pub closed_by: Option<String>,
    /// The account of the operating system, at the console.
    pub closed_account: Option<String>,
    /// When it was denied or cancelled, or expired.
    pub closed_at: Option<String>,
    /// Why it was denied or cancelled.
    pub closing_reason: Option<String>,
    /// The batch of its work items.
    pub batch: Option<BatchId>,
    /// Objects whose work items have deleted what they are for; null in lists.
    pub deleted: Option<u64>,
    /// Objects whose work items have failed.
    pub failed: Option<u64>,
    /// Objects whose work items were cancelled.
    pub cancelled: Option<u64>,
    /// Objects whose work items have not ended.
    pub open: Option<u64>,
    /// Objects whose work items have begun to delete, and cannot be cancelled.
    pub begun: Option<u64>,
    /// When its work items ended.
    pub ended_at: Option<String>,
}

impl DeletionView {
    /// A request as it is at a time, with how far its work items are where that was looked up.
    pub(crate) fn new(record: &Request, now: Time, progress: Option<Progress>) -> Self {
        let (approved, closed) = (record.approved.as_ref(), record.closed.as_ref());
        Self {
            request: record.id,
            institution: record.institution_identifier.clone(),
            name: record.name.clone(),
            state: record.state_at(now),
            objects: record.objects,
            files: record.files,
            bytes: record.bytes,
            reason: record.reason.clone(),
            requested_by: record.requested.name.clone(),
            requested_account: record.requested.account.clone(),
            requested_at: record.requested.at.to_string(),
            expires_at: record.expires_at.to_string(),
            approved_by: approved.map(|act| act.name.clone()),
            approved_account: approved.and_then(|act| act.account.clone()),
            approved_at: approved.map(|act| act.at.to_string()),
            note: approved.and_then(|act| act.words.clone()),
            closed_by: closed.map(|act| act.name.clone()),
            closed_account: closed.and_then(|act| act.account.clone()),
            closed_at: record.closed_at.map(|at| at.to_string()),
            closing_reason: closed.and_then(|act| act.words.clone()),
            batch: record.batch,
            deleted: progress.map(|progress| progress.deleted),
            failed: progress.map(|progress| progress.failed),
            cancelled: progress.map(|progress| progress.cancelled),
            open: progress.map(|progress| progress.open),
            begun: progress.map(|progress| progress.begun),
            ended_at: record.ended_at.map(|at| at.to_string()),
        }
    }
}

/// What a request names.
#[derive(Debug, Clone, Serialize)]
pub struct DeletionTargetView {
    /// The object, `<institution>/<name>`.
    pub object: String,
    /// The path of the file in the package; none: all of the object.
    pub path: Option<String>,
    /// The identifier of the object.
    pub object_id: ObjectId,
    /// The work item; none before one is made.
    pub item: Option<ItemId>,
    /// Where that is.
    pub status: Option<ItemStatus>,
    /// What happened last to it.
    pub note: Option<String>,
}

impl From<Target> for DeletionTargetView {
    fn from(record: Target) -> Self {
        Self {
            object: record.object_identifier,
            path: record.path.as_deref().map(|path| in_package(path).to_owned()),
            object_id: record.object,
            item: record.item,
            status: record.status,
            note: record.note,
        }
    }
}

/// What was deleted and is still to be removed from a store.
#[derive(Debug, Clone, Serialize)]
pub struct UnfinishedDeletionView {
    /// The object, `<institution>/<name>`.
    pub object: String,
    /// Its identifier.
    pub object_id: ObjectId,
    /// The store.
    pub store: String,
    /// How many files were deleted; null: the whole object.
    pub files: Option<u64>,
    /// Since when.
    pub begun_at: String,
    /// The deletion, as its tombstone names it.
    pub deletion: DeletionId,
    /// The work item; null where a store told of the deletion.
    pub item: Option<ItemId>,
    /// Why the store refused it when that was last tried; null: it was not reached since.
    pub reason: Option<String>,
}

impl From<Unfinished> for UnfinishedDeletionView {
    fn from(record: Unfinished) -> Self {
        Self {
            object: record.object_identifier,
            object_id: record.object,
            store: record.store,
            files: record.files,
            begun_at: record.begun_at.to_string(),
            deletion: record.deletion,
            item: record.item,
            reason: record.reason,
        }
    }
}
