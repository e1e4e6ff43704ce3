//! Requests to delete objects and files: what each names, who asked, who decided, and what became of it. Who may do what is decided by
//! the callers; here one of two acts at the same time changes the state, and the other is told that it did not.

use serde::{Deserialize, Serialize};
use strongroom_credentials::TokenId;
use strongroom_database::{Row, Statement, Time, Transaction};
use uuid::Uuid;

use crate::items::Item;
use crate::journal::{self, Actor};
use crate::store::{approval_tokens, deletion_targets};
use crate::{
    ActorId, BatchId, BatchState, DeletionRequestId, DeletionRequestState, InstitutionId, ItemStatus, ObjectId,
    RegistryError, Scope, UserId, batches, schedules,
};

/// The kind of the batch with the work items of a request.
pub const BATCH_KIND: &str = "deletion";
/// The background task that tells of requests and brings their states in line.
pub const TASK: &str = "deletions";

/// What a work item of a request keeps of it, as JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Options {
    /// The request.
    pub request: DeletionRequestId,
}

/// What a person did with a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Act {
    /// The user; none for an account of the operating system that is no user.
    pub user: Option<UserId>,
    /// The name of the actor: the address of the user, or the name of the account.
    pub name: String,
    /// The account of the operating system, where it was done at the console.
    pub account: Option<String>,
    /// When.
    pub at: Time,
    /// What the person said of it.
    pub words: Option<String>,
}

/// A request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// Its identifier.
    pub id: DeletionRequestId,
    /// Whose the objects are.
    pub institution: InstitutionId,
    /// The domain name of the institution.
    pub institution_identifier: String,
    /// What is to be deleted, as people know it.
    pub name: String,
    /// Where it is.
    pub state: DeletionRequestState,
    /// Why it is to be deleted.
    pub reason: String,
    /// Objects that it names.
    pub objects: u64,
    /// Files that go: those of objects that it names as a whole, and those that it names by themselves.
    pub files: u64,
    /// Bytes of the newest version of them; none where that was not counted yet when it was made.
    pub bytes: Option<u64>,
    /// The user who asked.
    pub requester: UserId,
    /// Who asked, and when.
    pub requested: Act,
    /// Until when it can be approved.
    pub expires_at: Time,
    /// Who approved it, and when.
    pub approved: Option<Act>,
    /// The token by which it was approved; none at the console.
    pub approval_token: Option<String>,
    /// Who denied or cancelled it, and when.
    pub closed: Option<Act>,
    /// When it was denied or cancelled, or expired.
    pub closed_at: Option<Time>,
    /// The batch of its work items.
    pub batch: Option<BatchId>,
    /// When its work items ended.
    pub ended_at: Option<Time>,
    /// How often they did.
    pub ends: u64,
}

impl Request {
    /// Where it is at a time: what can no longer be approved has expired, also where that is not recorded yet.
    pub fn state_at(&self, now: Time) -> DeletionRequestState {
        if self.state == DeletionRequestState::Requested && self.expires_at <= now {
            DeletionRequestState::Expired
        } else {
            self.state
        }
    }
}

/// A request to be made, when all that it names is noted.
#[derive(Debug, Clone)]
pub struct NewRequest {
    /// Its identifier.
    pub id: DeletionRequestId,
    /// Whose the objects are.
    pub institution: InstitutionId,
    /// What is to be deleted, as people know it.
    pub name: String,
    /// Why.
    pub reason: String,
    /// Who asks.
    pub by: Doer,
    /// Until when it can be approved.
    pub expires_at: Time,
}

/// Who does something with a request.
#[derive(Debug, Clone)]
pub struct Doer {
    /// The actor, as the journal names it.
    pub actor: Actor,
    /// The user.
    pub user: Option<UserId>,
    /// The account of the operating system, at the console.
    pub account: Option<String>,
}

/// Which requests are listed.
#[derive(Debug, Clone, Copy, Default)]
pub struct Filter {
    /// Only this state.
    pub state: Option<DeletionRequestState>,
    /// Only those that name an object, or files of it.
    pub object: Option<ObjectId>,
}

/// How many work items of a batch are where.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Progress {
    /// They have deleted what they are for.
    pub deleted: u64,
    /// They have failed.
    pub failed: u64,
    /// They were cancelled.
    pub cancelled: u64,
    /// They have not ended.
    pub open: u64,
    /// They have begun to delete, whatever became of it: these cannot be cancelled.
    pub begun: u64,
}

/// Whether a user has made another one, changed what the other one may do or how the other one signs in, at a time or after it. Both are
/// named by their addresses, as the journal has them.
pub fn has_changed_user(tx: &mut dyn Transaction, user: &str, other: &str, since: Time) -> Result<bool, RegistryError> {
    for row in tx.query(Statement("deletion_requests.actors_of_user"), &[user.into()])? {
        let values = [ActorId(row.uuid("id")?).into(), other.into(), since.into()];
        if tx.query_one(Statement("deletion_requests.has_changed_user"), &values)?.is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The users who have made a user, or changed what it may do, at a time or after it.
pub fn granters(tx: &mut dyn Transaction, user: UserId, since: Time) -> Result<Vec<UserId>, RegistryError> {
    let rows = tx.query(Statement("deletion_requests.granters"), &[user.into(), since.into()])?;
    rows.iter().map(|row| Ok(UserId(row.uuid("by_user_id")?))).collect()
}

/// Makes a request of a draft. False where there is no draft any more: it was removed for being old.
pub fn create(tx: &mut dyn Transaction, new: &NewRequest, requester: UserId) -> Result<bool, RegistryError> {
    if tx.query_one(Statement("deletion_requests.end_draft"), &[new.id.into()])?.is_none() {
        return Ok(false);
    }
    journal::know(tx, &new.by.actor)?;
    let now = tx.now()?;
    let (objects, _) = deletion_targets::count(tx, new.id)?;
    let (files, bytes) = match tx.query_one(Statement("deletion_requests.totals"), &[new.id.into()])? {
        Some(row) => (row.count("files")?, row.count("bytes")?),
        None => (0, 0),
    };
    let values = [
        new.id.into(),
        new.institution.into(),
        (&new.name).into(),
        (&new.reason).into(),
        objects.into(),
        files.into(),
        bytes.into(),
        requester.into(),
        new.by.actor.id.into(),
        new.by.account.clone().into(),
        now.into(),
        new.expires_at.into(),
    ];
    tx.execute(Statement("deletion_requests.insert"), &values)?;
    Ok(true)
}

/// A request, or none within the scope.
pub fn get(tx: &mut dyn Transaction, scope: Scope, id: DeletionRequestId) -> Result<Option<Request>, RegistryError> {
    tx.query_one(Statement("deletion_requests.get"), &[id.into(), scope.value()])?.as_ref().map(request_row).transpose()
}

/// A request that must exist within the scope.
pub fn find(tx: &mut dyn Transaction, scope: Scope, id: DeletionRequestId) -> Result<Request, RegistryError> {
    get(tx, scope, id)?.ok_or_else(|| RegistryError::NotFound { what: "request for deletion", id: id.to_string() })
}

/// The request for which a work item deletes; none where it is of none.
pub fn of_item(tx: &mut dyn Transaction, item: &Item) -> Result<Option<Request>, RegistryError> {
    let Ok(options) = serde_json::from_str::<Options>(&item.options) else { return Ok(None) };
    get(tx, Scope::Institution(item.institution), options.request)
}

/// Requests in the order in which they were made, after `after`.
pub fn list(
    tx: &mut dyn Transaction,
    scope: Scope,
    filter: &Filter,
    after: Option<DeletionRequestId>,
    limit: usize,
) -> Result<Vec<Request>, RegistryError> {
    let after = after.unwrap_or(DeletionRequestId(Uuid::nil()));
    let mut values =
        vec![after.into(), scope.value(), filter.state.map(DeletionRequestState::as_str).into(), limit.into()];
    let statement = match (filter.object, scope) {
        (Some(object), _) => {
            values.push(object.into());
            Statement("deletion_requests.list_of_object")
        }
        (None, Scope::Institution(_)) => Statement("deletion_requests.list_of_institution"),
        (None, Scope::System) => Statement("deletion_requests.list"),
    };
    tx.query(statement, &values)?.iter().map(request_row).collect()
}

/// Approves a request that waits for it and whose time has not run out; its work items are to be of `batch`. False where it does not wait.
pub fn approve(
    tx: &mut dyn Transaction,
    id: DeletionRequestId,
    (by, note): (&Doer, Option<&str>),
    token: Option<&TokenId>,
    batch: BatchId,
) -> Result<bool, RegistryError> {
    journal::know(tx, &by.actor)?;
    let now = tx.now()?;
    let values = [
        id.into(),
        by.user.into(),
        by.actor.id.into(),
        by.account.clone().into(),
        now.into(),
        note.into(),
        token.map(TokenId::as_str).into(),
        batch.into(),
    ];
    let is_approved = tx.query_one(Statement("deletion_requests.approve"), &values)?.is_some();
    if is_approved {
        approval_tokens::end_all(tx, id)?;
    }
    Ok(is_approved)
}

/// Denies a request that waits for approval. False where it does not.
pub fn deny(tx: &mut dyn Transaction, id: DeletionRequestId, by: &Doer, reason: &str) -> Result<bool, RegistryError> {
    close(tx, Statement("deletion_requests.deny"), id, by, reason)
}

/// Cancels a request that waits for approval, or is approved: no work item of it begins to delete from then on. False where it is neither.
pub fn cancel(tx: &mut dyn Transaction, id: DeletionRequestId, by: &Doer, reason: &str) -> Result<bool, RegistryError> {
    close(tx, Statement("deletion_requests.cancel"), id, by, reason)
}

fn close(
    tx: &mut dyn Transaction,
    statement: Statement,
    id: DeletionRequestId,
    by: &Doer,
    reason: &str,
) -> Result<bool, RegistryError> {
    journal::know(tx, &by.actor)?;
    let now = tx.now()?;
    let values = [id.into(), by.user.into(), by.actor.id.into(), by.account.clone().into(), now.into(), reason.into()];
    let is_closed = tx.query_one(statement, &values)?.is_some();
    if is_closed {
        approval_tokens::end_all(tx, id)?;
    }
    Ok(is_closed)
}

/// Records that a request was not approved in time. False where its time has not run out, or it does not wait.
pub fn expire(tx: &mut dyn Transaction, id: DeletionRequestId) -> Result<bool, RegistryError> {
    let now = tx.now()?;
    let is_expired = tx.query_one(Statement("deletion_requests.expire"), &[id.into(), now.into()])?.is_some();
    if is_expired {
        approval_tokens::end_all(tx, id)?;
    }
    Ok(is_expired)
}

/// How many requests wait for approval.
pub fn count_requested(tx: &mut dyn Transaction) -> Result<u64, RegistryError> {
    let now = tx.now()?;
    let row = tx.query_one(Statement("deletion_requests.count_requested"), &[now.into()])?;
    row.map_or(Ok(0), |row| Ok(row.count("requests")?))
}

/// Requests that wait for approval and whose time has run out.
pub fn overdue(tx: &mut dyn Transaction, limit: usize) -> Result<Vec<DeletionRequestId>, RegistryError> {
    let now = tx.now()?;
    ids(&tx.query(Statement("deletion_requests.overdue"), &[now.into(), limit.into()])?)
}

/// Requests that are approved, after `after`.
pub fn at_work(
    tx: &mut dyn Transaction,
    after: Option<DeletionRequestId>,
    limit: usize,
) -> Result<Vec<DeletionRequestId>, RegistryError> {
    let after = after.unwrap_or(DeletionRequestId(Uuid::nil()));
    ids(&tx.query(Statement("deletion_requests.at_work"), &[after.into(), limit.into()])?)
}

/// Requests whose work items have ended and of which that was not told, after `after`.
pub fn untold(
    tx: &mut dyn Transaction,
    after: Option<DeletionRequestId>,
    limit: usize,
) -> Result<Vec<DeletionRequestId>, RegistryError> {
    let after = after.unwrap_or(DeletionRequestId(Uuid::nil()));
    ids(&tx.query(Statement("deletion_requests.untold"), &[after.into(), limit.into()])?)
}

/// Records that this end of the work items of a request was told. False where that is recorded, or they are at work again.
pub fn set_told(tx: &mut dyn Transaction, id: DeletionRequestId, ends: u64) -> Result<bool, RegistryError> {
    let now = tx.now()?;
    Ok(tx.query_one(Statement("deletion_requests.set_told"), &[id.into(), ends.into(), now.into()])?.is_some())
}

/// Whether a request is approved. It stays so until the transaction ends: a cancellation at the same time waits for it, or was first.
pub fn keep_approved(tx: &mut dyn Transaction, id: DeletionRequestId) -> Result<bool, RegistryError> {
    Ok(tx.query_one(Statement("deletion_requests.keep_approved"), &[id.into()])?.is_some())
}

/// Has a request whose work items failed be approved again, because one of them is done again.
pub fn resume(tx: &mut dyn Transaction, id: DeletionRequestId) -> Result<(), RegistryError> {
    tx.execute(Statement("deletion_requests.resume"), &[id.into()])?;
    Ok(())
}

/// How many work items of a batch are where.
pub fn progress(tx: &mut dyn Transaction, batch: BatchId) -> Result<Progress, RegistryError> {
    let mut progress = Progress::default();
    for row in tx.query(Statement("deletion_requests.count_items"), &[batch.into()])? {
        let items = row.count("items")?;
        match row.text("status")?.parse()? {
            ItemStatus::Succeeded => progress.deleted += items,
            ItemStatus::Failed => progress.failed += items,
            ItemStatus::Cancelled | ItemStatus::Deleted => progress.cancelled += items,
            ItemStatus::Pending | ItemStatus::Started | ItemStatus::Held => progress.open += items,
        }
        if row.bool("is_begun")? {
            progress.begun += items;
        }
    }
    Ok(progress)
}

/// Ends the request of a batch that has ended.
pub(crate) fn end_with_batch(tx: &mut dyn Transaction, batch: BatchId) -> Result<(), RegistryError> {
    for id in ids(&tx.query(Statement("deletion_requests.of_batch"), &[batch.into()])?)? {
        end_if_done(tx, id)?;
    }
    Ok(())
}

/// Ends a request that is approved and whose work items have ended: completed where all that it names was deleted, cancelled where they were
/// cancelled before any of them began, else failed. Whether it did.
pub fn end_if_done(tx: &mut dyn Transaction, id: DeletionRequestId) -> Result<bool, RegistryError> {
    let Some(request) = get(tx, Scope::System, id)?.filter(|request| request.state == DeletionRequestState::Approved)
    else {
        return Ok(false);
    };
    let Some(batch) = request.batch else { return Ok(false) };
    // The item that makes the others is open for as long as it has not made all of them.
    if tx.query_one(Statement("deletion_requests.has_open_items"), &[batch.into()])?.is_some() {
        return Ok(false);
    }
    let progress = progress(tx, batch)?;
    let state = if progress.deleted == request.objects {
        DeletionRequestState::Completed
    } else if progress.deleted == 0 && progress.failed == 0 && is_cancelled(tx, batch, progress)? {
        DeletionRequestState::Cancelled
    } else {
        DeletionRequestState::Failed
    };
    let now = tx.now()?;
    let has_ended =
        tx.query_one(Statement("deletion_requests.end"), &[id.into(), state.as_str().into(), now.into()])?.is_some();
    if has_ended {
        schedules::hasten(tx, TASK)?;
    }
    Ok(has_ended)
}

/// Whether people have ended a batch of which nothing was deleted: it was deleted itself, or work items of it were cancelled.
fn is_cancelled(tx: &mut dyn Transaction, batch: BatchId, progress: Progress) -> Result<bool, RegistryError> {
    if progress.cancelled > 0 {
        return Ok(true);
    }
    let Some(batch) = batches::get(tx, Scope::System, batch)? else { return Ok(true) };
    let counts = crate::items::counts(tx, Scope::System, Some(batch.id))?;
    let is_ended_so = |(status, _): &(ItemStatus, u64)| *status == ItemStatus::Cancelled;
    Ok(batch.state == BatchState::Deleted || counts.iter().any(is_ended_so))
}

fn ids(rows: &[Row]) -> Result<Vec<DeletionRequestId>, RegistryError> {
    rows.iter().map(|row| Ok(DeletionRequestId(row.uuid("id")?))).collect()
}

fn request_row(row: &Row) -> Result<Request, RegistryError> {
    let text = |column| Ok::<_, RegistryError>(row.optional_text(column)?.map(str::to_owned));
    let act = |name: &'static str, user, account, at, words| {
        let Some(name) = text(name)? else { return Ok(None) };
        let at = row.optional_time(at)?;
        Ok::<_, RegistryError>(Some(Act {
            user: row.optional_uuid(user)?.map(UserId),
            name,
            account: text(account)?,
            at: at.ok_or_else(|| RegistryError::Corrupt { wanted: "the time of an act", found: String::new() })?,
            words: text(words)?,
        }))
    };
    Ok(Request {
        id: DeletionRequestId(row.uuid("id")?),
        institution: InstitutionId(row.uuid("institution_id")?),
        institution_identifier: row.text("institution_identifier")?.to_owned(),
        name: row.text("name")?.to_owned(),
        state: row.text("state")?.parse()?,
        reason: row.text("reason")?.to_owned(),
        objects: row.count("objects")?,
        files: row.count("files")?,
        bytes: crate::store::objects::optional_count(row, "bytes")?,
        requester: UserId(row.uuid("requested_by")?),
        requested: Act {
            user: Some(UserId(row.uuid("requested_by")?)),
            name: row.text("requested_name")?.to_owned(),
            account: text("requested_account")?,
            at: row.time("requested_at")?,
            words: text("reason")?,
        },
        expires_at: row.time("expires_at")?,
        approved: act("approved_name", "approved_by", "approved_account", "approved_at", "approval_note")?,
        approval_token: text("approval_token")?,
        closed: act("closed_name", "closed_by", "closed_account", "closed_at", "closing_reason")?,
        closed_at: row.optional_time("closed_at")?,
        batch: row.optional_uuid("batch_id")?.map(BatchId),
        ended_at: row.optional_time("ended_at")?,
        ends: row.count("ends")?,
    })
}
