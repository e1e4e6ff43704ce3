//! Watching, as the record keeps it: which copies are due, and what came of each check. A check's event and its time are one
//! transaction. Only copies of published versions are ever due.

use strongroom_database::{Row, Statement, Time, Transaction};
use strongroom_digest::Digest;
use uuid::Uuid;

pub use super::findings::{
    Finding, FindingFilter, NewFinding, close_finding, finding, findings, open_finding, set_quarantined, set_waiting,
    unsolved,
};
use crate::events::{self, EventRow};
use crate::interim::digest;
use crate::{ContentId, CopyState, GenerationId, InstitutionId, ObjectId, RegistryError, Scope, tenants};

/// Where a listing in order of the last check goes on: behind this time and identifier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DueCursor(pub Time, pub Uuid);

impl DueCursor {
    /// Before the first.
    pub const START: Self = Self(Time(i64::MIN), Uuid::nil());
}

/// A copy that is due: of a content, or of what an object has besides contents.
#[derive(Debug, Clone)]
pub struct Due {
    /// Its object.
    pub object: ObjectId,
    /// Whose it is, by domain name.
    pub institution_identifier: String,
    /// Where it stands in the listing.
    pub cursor: DueCursor,
}

/// Copies of contents in a store whose last check is no later than `before`, oldest first.
pub fn due_contents(
    tx: &mut dyn Transaction,
    scope: Scope,
    store: &str,
    before: Time,
    after: DueCursor,
    limit: usize,
) -> Result<Vec<Due>, RegistryError> {
    due(tx, Statement("fixity.due_contents"), scope, store, before, after, limit)
}

/// The same for the declarations and inventories of objects.
pub fn due_objects(
    tx: &mut dyn Transaction,
    scope: Scope,
    store: &str,
    before: Time,
    after: DueCursor,
    limit: usize,
) -> Result<Vec<Due>, RegistryError> {
    due(tx, Statement("fixity.due_objects"), scope, store, before, after, limit)
}

fn due(
    tx: &mut dyn Transaction,
    statement: Statement,
    scope: Scope,
    store: &str,
    before: Time,
    after: DueCursor,
    limit: usize,
) -> Result<Vec<Due>, RegistryError> {
    let values = [store.into(), before.into(), after.0.into(), after.1.into(), scope.value(), limit.into()];
    tx.query(statement, &values)?
        .iter()
        .map(|row| {
            Ok(Due {
                object: ObjectId(row.uuid("object_id")?),
                institution_identifier: row.text("institution_identifier")?.to_owned(),
                cursor: DueCursor(row.time("checked_at")?, row.uuid("cursor_id")?),
            })
        })
        .collect()
}

/// A copy of a content with what is needed to check it.
#[derive(Debug, Clone)]
pub struct WatchedCopy {
    /// The content.
    pub content: ContentId,
    /// Its object.
    pub object: ObjectId,
    /// Whose it is.
    pub institution: InstitutionId,
    /// Whose it is, by domain name.
    pub institution_identifier: String,
    /// The store.
    pub store: String,
    /// The key within it.
    pub key: String,
    /// The storage class, where the store has them.
    pub class: Option<String>,
    /// What is known of it.
    pub state: CopyState,
    /// When it was last inspected.
    pub checked_at: Time,
    /// The digest it must have.
    pub sha512: Digest,
    /// The size it must have.
    pub size: u64,
    /// The SHA-256 of the same bytes: what some stores vouch for.
    pub sha256: Digest,
}

impl WatchedCopy {
    /// Where it stands in a listing by the last check.
    pub fn cursor(&self) -> DueCursor {
        DueCursor(self.checked_at, self.content.0)
    }
}

/// Due copies of one object's contents in one store, oldest first.
pub fn due_of_object(
    tx: &mut dyn Transaction,
    object: ObjectId,
    store: &str,
    before: Time,
    after: DueCursor,
    limit: usize,
) -> Result<Vec<WatchedCopy>, RegistryError> {
    let values = [object.into(), store.into(), before.into(), after.0.into(), after.1.into(), limit.into()];
    tx.query(Statement("fixity.due_of_object"), &values)?.iter().map(watched_copy).collect()
}

/// Every copy of a content that readers see.
pub fn copies_of_content(tx: &mut dyn Transaction, content: ContentId) -> Result<Vec<WatchedCopy>, RegistryError> {
    tx.query(Statement("fixity.copies_of_content"), &[content.into()])?.iter().map(watched_copy).collect()
}

/// What of an object lies in a store besides contents.
#[derive(Debug, Clone)]
pub struct WatchedObject {
    /// The object.
    pub object: ObjectId,
    /// The object by its name, `<institution>/<name>`.
    pub object_identifier: String,
    /// The store.
    pub store: String,
    /// Whose it is.
    pub institution: InstitutionId,
    /// Whose it is, by domain name.
    pub institution_identifier: String,
    /// The generation it is of.
    pub generation: GenerationId,
    /// What is known of it.
    pub state: CopyState,
    /// When it was last inspected.
    pub checked_at: Time,
}

/// What of an object lies in a store besides contents; `None` when nothing should.
pub fn object_copy(
    tx: &mut dyn Transaction,
    object: ObjectId,
    store: &str,
) -> Result<Option<WatchedObject>, RegistryError> {
    let Some(row) = tx.query_one(Statement("fixity.object_copy"), &[object.into(), store.into()])? else {
        return Ok(None);
    };
    Ok(Some(WatchedObject {
        object: ObjectId(row.uuid("object_id")?),
        object_identifier: row.text("object_identifier")?.to_owned(),
        store: row.text("store")?.to_owned(),
        institution: InstitutionId(row.uuid("institution_id")?),
        institution_identifier: row.text("institution_identifier")?.to_owned(),
        generation: GenerationId(row.uuid("generation")?),
        state: row.text("state")?.parse()?,
        checked_at: row.time("checked_at")?,
    }))
}

/// How a copy was found right.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Proof {
    /// Read, and its digest is right.
    Read,
    /// It cannot be read now; what the store says of it is right.
    Attested,
}

/// Records that copies were found right: time and event of each together. One that another process recorded since it was
/// listed gets neither. At most [`ROWS_AT_ONCE`](crate::versions::ROWS_AT_ONCE) at a time; how many were recorded.
pub fn record_right(
    tx: &mut dyn Transaction,
    checks: &[(ContentId, String, Time, Proof, EventRow)],
) -> Result<usize, RegistryError> {
    let now = tx.now()?;
    let mut recorded = Vec::with_capacity(checks.len());
    for (content, store, seen, proof, event) in checks {
        let statement = match proof {
            Proof::Read => Statement("fixity.passed"),
            Proof::Attested => Statement("fixity.attested"),
        };
        // A check in the same microsecond as the last still moves the clock on.
        let now = Time(now.0.max(seen.0 + 1));
        if tx.execute(statement, &[(*content).into(), store.into(), (*seen).into(), now.into()])? == 1 {
            recorded.push(event.clone());
        }
    }
    events::append(tx, &recorded)?;
    Ok(recorded.len())
}

/// Records that a copy is wrong. It stays due: the check is over when it is known what became of the damage.
pub fn set_damaged(
    tx: &mut dyn Transaction,
    content: ContentId,
    store: &str,
    state: CopyState,
) -> Result<(), RegistryError> {
    tx.execute(Statement("fixity.damaged"), &[content.into(), store.into(), state.as_str().into()])?;
    Ok(())
}

/// Records that a copy that is wrong was inspected to the end: there is nothing to repair it from now.
pub fn set_given_up(tx: &mut dyn Transaction, content: ContentId, store: &str) -> Result<(), RegistryError> {
    let now = tx.now()?;
    tx.execute(Statement("fixity.given_up"), &[content.into(), store.into(), now.into()])?;
    Ok(())
}

/// Records that a copy is right again, by its digest.
pub fn set_mended(tx: &mut dyn Transaction, content: ContentId, store: &str) -> Result<(), RegistryError> {
    let now = tx.now()?;
    tx.execute(Statement("fixity.mended"), &[content.into(), store.into(), now.into()])?;
    Ok(())
}

/// Makes a copy the first to be inspected: there is reason to doubt it.
pub fn make_due(tx: &mut dyn Transaction, content: ContentId, store: &str) -> Result<(), RegistryError> {
    tx.execute(Statement("fixity.make_due"), &[content.into(), store.into(), Time(0).into()])?;
    Ok(())
}

/// Records that a copy is said to be right by what another registry has done, and was not read since: it is due at once.
pub fn set_unread(tx: &mut dyn Transaction, content: ContentId, store: &str) -> Result<(), RegistryError> {
    tx.execute(Statement("fixity.unread"), &[content.into(), store.into()])?;
    Ok(())
}

/// The same for declarations and inventories of an object in a store.
pub fn set_object_unread(tx: &mut dyn Transaction, object: ObjectId, store: &str) -> Result<(), RegistryError> {
    tx.execute(Statement("fixity.object_unread"), &[object.into(), store.into()])?;
    Ok(())
}

/// Makes declarations and inventories of an object in a store the first to be inspected.
pub fn make_object_due(tx: &mut dyn Transaction, object: ObjectId, store: &str) -> Result<(), RegistryError> {
    tx.execute(Statement("fixity.object_make_due"), &[object.into(), store.into()])?;
    Ok(())
}

/// Records that declarations and inventories of an object in a store are right.
pub fn set_object_right(tx: &mut dyn Transaction, object: ObjectId, store: &str) -> Result<(), RegistryError> {
    let now = tx.now()?;
    tx.execute(Statement("fixity.object_passed"), &[object.into(), store.into(), now.into()])?;
    Ok(())
}

/// Records that they are not. They stay due, as copies do.
pub fn set_object_damaged(tx: &mut dyn Transaction, object: ObjectId, store: &str) -> Result<(), RegistryError> {
    let values = [object.into(), store.into(), CopyState::Damaged.as_str().into()];
    tx.execute(Statement("fixity.object_damaged"), &values)?;
    Ok(())
}

/// Records that they were inspected to the end, and that there is nothing to repair them from now.
pub fn set_object_given_up(tx: &mut dyn Transaction, object: ObjectId, store: &str) -> Result<(), RegistryError> {
    let now = tx.now()?;
    tx.execute(Statement("fixity.object_given_up"), &[object.into(), store.into(), now.into()])?;
    Ok(())
}

/// How well the copies in one store are watched. Contents, and what objects have besides, count alike.
#[derive(Debug, Clone)]
pub struct Coverage {
    /// The store.
    pub store: String,
    /// Copies that should lie there.
    pub copies: u64,
    /// Bytes of the contents among them.
    pub bytes: u64,
    /// Found right by digest within the interval.
    pub checked: u64,
    /// Never found right by digest.
    pub never: u64,
    /// Inspected by size and class only, because they could not be read.
    pub attested: u64,
    /// Known to be wrong.
    pub damaged: u64,
    /// Due now.
    pub due: u64,
    /// When the one that waits longest was last inspected.
    pub oldest: Option<Time>,
}

/// How well copies are watched, store by store; `since` is the beginning of the interval.
pub fn report(tx: &mut dyn Transaction, scope: Scope, since: Time) -> Result<Vec<Coverage>, RegistryError> {
    tx.query(Statement("fixity.report"), &[scope.value(), since.into()])?
        .iter()
        .map(|row| {
            Ok(Coverage {
                store: row.text("store")?.to_owned(),
                copies: row.count("copies")?,
                bytes: row.count("bytes")?,
                // Of copies that were never checked SQL knows no comparison.
                checked: row.optional_integer("checked")?.unwrap_or(0).unsigned_abs(),
                never: row.count("never_checked")?,
                attested: row.count("attested")?,
                damaged: row.count("damaged")?,
                due: row.count("due")?,
                oldest: row.optional_time("oldest_checked_at")?,
            })
        })
        .collect()
}

/// The fact that says when copies in all stores were last checked on demand.
const LAST_RUN: &str = "fixity.last_run";

/// When a check of what was due in all stores last ended that a person had asked for.
pub fn last_run(tx: &mut dyn Transaction) -> Result<Option<Time>, RegistryError> {
    Ok(tenants::fact(tx, LAST_RUN)?.and_then(|text| text.parse().ok()).map(Time))
}

/// Notes that such a check ended now.
pub fn set_last_run(tx: &mut dyn Transaction) -> Result<(), RegistryError> {
    let now = tx.now()?;
    tenants::set_fact(tx, LAST_RUN, &now.0.to_string())
}

fn watched_copy(row: &Row) -> Result<WatchedCopy, RegistryError> {
    Ok(WatchedCopy {
        content: ContentId(row.uuid("content_id")?),
        object: ObjectId(row.uuid("object_id")?),
        institution: InstitutionId(row.uuid("institution_id")?),
        institution_identifier: row.text("institution_identifier")?.to_owned(),
        store: row.text("store")?.to_owned(),
        key: row.text("key")?.to_owned(),
        class: row.optional_text("class")?.map(str::to_owned),
        state: row.text("state")?.parse()?,
        checked_at: row.time("checked_at")?,
        sha512: digest(row, "sha512")?,
        size: row.count("size")?,
        sha256: digest(row, "sha256")?,
    })
}
