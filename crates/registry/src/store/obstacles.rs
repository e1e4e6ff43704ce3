//! What in the registry forbids the deletion of an object or of some of its files: legal holds, a retention period that is not over, open
//! work items, a version that is being committed, and findings. Everything is found by an index, and at most [`MOST`] of each kind are
//! named. What stores say of their own, such as Object Lock, is not asked here. A lease of the object is no obstacle: the deletion waits
//! for it.

use strongroom_database::{Row, Statement, Time, Transaction, Value};

use crate::legal_holds::On;
use crate::{
    Action, CollectionId, FileId, FindingId, FindingState, InstitutionId, ItemId, LegalHoldId, ObjectId, Period,
    RegistryError, Scope, ToolFindingId, VersionId,
};

/// The most obstacles of a kind that are named.
pub const MOST: usize = 100;

/// Files that are asked for together.
const CHUNK: usize = 500;

/// Something that forbids a deletion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Obstacle {
    /// A legal hold. Of several on one file, one is named where only some files of the object are to be deleted.
    LegalHold {
        /// Its identifier.
        hold: LegalHoldId,
        /// What it is on.
        on: On,
    },
    /// The retention period of the collection is not over.
    Retention {
        /// When it is over.
        until: Time,
        /// By which version of the rules of the collection.
        rules_version: u64,
        /// Of which file; none: of the object.
        file: Option<FileId>,
    },
    /// A work item of the object that has not ended and is no deletion.
    WorkItem {
        /// Its identifier.
        item: ItemId,
        /// What it does.
        action: Action,
    },
    /// A version is being committed, and its work item has to complete it first, also where that failed.
    Committing {
        /// The version.
        version: VersionId,
        /// The work item that makes it.
        item: Option<ItemId>,
    },
    /// Damage of the object that is not repaired.
    Finding {
        /// Its identifier.
        finding: FindingId,
        /// Whether it is open or unrepairable.
        state: FindingState,
    },
    /// What a tool has found, such as a virus, and what was not dismissed.
    ToolFinding {
        /// Its identifier.
        finding: ToolFindingId,
        /// In which file.
        file: FileId,
    },
    /// There are more of a kind than are named.
    More(ObstacleKind),
}

/// A kind of obstacle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ObstacleKind {
    /// Legal holds.
    LegalHold,
    /// Files whose retention period is not over.
    Retention,
    /// Open work items.
    WorkItem,
    /// Versions that are being committed.
    Committing,
    /// Damage.
    Finding,
    /// What tools have found.
    ToolFinding,
}

/// What is asked of an object.
struct Asked<'a> {
    object: ObjectId,
    files: Option<&'a [FileId]>,
    institution: InstitutionId,
    identifier: String,
    generation: Value,
    collection: Option<CollectionId>,
    /// The version of the rules of its collection, with the retention that it has.
    retention: Option<(u64, Period)>,
}

/// What forbids the deletion of an object at `now`, or of these files of it: by kinds, each followed by [`Obstacle::More`] where there are
/// more than [`MOST`]. None: nothing. For an object its files count as well; for files, legal holds and findings of tools of other files do
/// not. What may have changed when the deletion begins, [`begun_deletions::begin`](crate::begun_deletions::begin) asks again.
///
/// # Errors
/// [`RegistryError::NotFound`] where there is no such object within the scope.
pub fn of_deletion(
    tx: &mut dyn Transaction,
    scope: Scope,
    object: ObjectId,
    files: Option<&[FileId]>,
    now: Time,
) -> Result<Vec<Obstacle>, RegistryError> {
    let asked = ask(tx, scope, object, files)?;
    let mut found = Vec::new();
    bounded(&mut found, ObstacleKind::LegalHold, legal_holds(tx, &asked)?);
    bounded(&mut found, ObstacleKind::Retention, retention(tx, &asked, now)?);
    bounded(&mut found, ObstacleKind::WorkItem, items(tx, &asked)?);
    bounded(&mut found, ObstacleKind::Committing, committing(tx, object)?);
    bounded(&mut found, ObstacleKind::Finding, findings(tx, object)?);
    bounded(&mut found, ObstacleKind::ToolFinding, tool_findings(tx, &asked)?);
    Ok(found)
}

/// An object, with when a version was published last that brought files that people see: retention and disposal count from it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LastDeposit {
    /// The object.
    pub object: ObjectId,
    /// The object by its name.
    pub identifier: String,
    /// Files of its newest version.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// When that was.
    pub deposited_at: Time,
}

/// At most `limit` objects of a collection behind `after`, in the order of their identifiers. One without files that people see counts as
/// deposited now.
pub fn deposits_of_collection(
    tx: &mut dyn Transaction,
    collection: CollectionId,
    after: Option<ObjectId>,
    limit: usize,
) -> Result<Vec<LastDeposit>, RegistryError> {
    let now = tx.now()?;
    let after = after.unwrap_or(ObjectId(uuid::Uuid::nil()));
    let values = [collection.into(), after.into(), limit.into()];
    let rows = tx.query(Statement("obstacles.deposits_of_collection"), &values)?;
    let deposit = |row: &Row| {
        Ok(LastDeposit {
            object: ObjectId(row.uuid("id")?),
            identifier: row.text("identifier")?.to_owned(),
            files: row.count("files")?,
            bytes: row.count("bytes")?,
            deposited_at: row.optional_time("deposited_at")?.unwrap_or(now),
        })
    };
    rows.iter().map(deposit).collect()
}

fn ask<'a>(
    tx: &mut dyn Transaction,
    scope: Scope,
    object: ObjectId,
    files: Option<&'a [FileId]>,
) -> Result<Asked<'a>, RegistryError> {
    let missing = || RegistryError::NotFound { what: "object", id: object.to_string() };
    let row = tx.query_one(Statement("obstacles.object"), &[object.into()])?.ok_or_else(missing)?;
    let institution = InstitutionId(row.uuid("institution_id")?);
    if !scope.admits(institution) {
        return Err(missing());
    }
    let retention = match row.optional_text("retention")? {
        Some(text) => Some((row.count("rules_version")?, text.parse()?)),
        None => None,
    };
    Ok(Asked {
        object,
        files,
        institution,
        identifier: row.text("identifier")?.to_owned(),
        generation: row.uuid("generation")?.into(),
        collection: row.optional_uuid("collection_id")?.map(CollectionId),
        retention,
    })
}

/// Adds at most [`MOST`] of a kind, and that there are more.
fn bounded(found: &mut Vec<Obstacle>, kind: ObstacleKind, of_kind: Vec<Obstacle>) {
    let has_more = of_kind.len() > MOST;
    found.extend(of_kind.into_iter().take(MOST));
    if has_more {
        found.push(Obstacle::More(kind));
    }
}

/// One more than are named.
fn limit() -> Value {
    (MOST + 1).into()
}

fn each(
    rows: &[Row],
    obstacle: impl Fn(&Row) -> Result<Obstacle, RegistryError>,
) -> Result<Vec<Obstacle>, RegistryError> {
    rows.iter().map(obstacle).collect()
}

/// What a statement finds for each file, until there are more than are named.
fn of_files(
    tx: &mut dyn Transaction,
    statement: Statement,
    files: &[FileId],
    values: impl Fn(FileId) -> Vec<Value>,
    obstacle: impl Fn(FileId, &Row) -> Result<Option<Obstacle>, RegistryError>,
) -> Result<Vec<Obstacle>, RegistryError> {
    let mut found = Vec::new();
    for chunk in files.chunks(CHUNK) {
        let rows = tx.query_many(statement, &mut chunk.iter().map(|file| values(*file)))?;
        for (file, row) in chunk.iter().zip(rows) {
            let one = row.map(|row| obstacle(*file, &row)).transpose()?.flatten();
            found.extend(one);
        }
        if found.len() > MOST {
            break;
        }
    }
    Ok(found)
}

fn legal_holds(tx: &mut dyn Transaction, asked: &Asked<'_>) -> Result<Vec<Obstacle>, RegistryError> {
    let hold = |row: &Row| {
        Ok::<_, RegistryError>(Obstacle::LegalHold { hold: LegalHoldId(row.uuid("id")?), on: On::of_row(row)? })
    };
    let mut rows = Vec::new();
    if let Some(collection) = asked.collection {
        rows = tx.query(Statement("legal_holds.of_collection"), &[collection.into(), limit()])?;
    }
    let of_object = match asked.files {
        None => Statement("legal_holds.of_object"),
        Some(_) => Statement("legal_holds.of_object_itself"),
    };
    rows.extend(tx.query(of_object, &[asked.object.into(), limit()])?);
    let mut found = each(&rows, hold)?;
    if let Some(files) = asked.files {
        let values = |file: FileId| vec![file.into(), asked.object.into()];
        found.extend(of_files(tx, Statement("legal_holds.of_file"), files, values, |_, row| hold(row).map(Some))?);
    }
    Ok(found)
}

fn retention(tx: &mut dyn Transaction, asked: &Asked<'_>, now: Time) -> Result<Vec<Obstacle>, RegistryError> {
    let Some((rules_version, period)) = asked.retention else { return Ok(Vec::new()) };
    let open = |row: &Row, file: Option<FileId>| {
        let until = row.optional_time("deposited_at")?.map(|from| period.end(from)).filter(|until| *until > now);
        Ok::<_, RegistryError>(until.map(|until| Obstacle::Retention { until, rules_version, file }))
    };
    if let Some(files) = asked.files {
        let values = |file: FileId| vec![file.into(), asked.object.into(), asked.generation.clone()];
        let statement = Statement("obstacles.file_deposited_at");
        return of_files(tx, statement, files, values, |file, row| open(row, Some(file)));
    }
    let values = [asked.object.into(), asked.generation.clone()];
    let row = tx.query_one(Statement("obstacles.deposited_at"), &values)?;
    Ok(row.map(|row| open(&row, None)).transpose()?.flatten().into_iter().collect())
}

fn items(tx: &mut dyn Transaction, asked: &Asked<'_>) -> Result<Vec<Obstacle>, RegistryError> {
    let values = [asked.institution.into(), (&asked.identifier).into(), limit()];
    let rows = tx.query(Statement("obstacles.items"), &values)?;
    each(&rows, |row| Ok(Obstacle::WorkItem { item: ItemId(row.uuid("id")?), action: row.text("action")?.parse()? }))
}

fn committing(tx: &mut dyn Transaction, object: ObjectId) -> Result<Vec<Obstacle>, RegistryError> {
    let rows = tx.query(Statement("obstacles.committing"), &[object.into(), limit()])?;
    each(&rows, |row| {
        let item = row.optional_uuid("item_id")?.map(ItemId);
        Ok(Obstacle::Committing { version: VersionId(row.uuid("id")?), item })
    })
}

fn findings(tx: &mut dyn Transaction, object: ObjectId) -> Result<Vec<Obstacle>, RegistryError> {
    let rows = tx.query(Statement("obstacles.findings"), &[object.into(), limit()])?;
    each(&rows, |row| Ok(Obstacle::Finding { finding: FindingId(row.uuid("id")?), state: row.text("state")?.parse()? }))
}

fn tool_findings(tx: &mut dyn Transaction, asked: &Asked<'_>) -> Result<Vec<Obstacle>, RegistryError> {
    let finding = |row: &Row| {
        let (finding, file) = (ToolFindingId(row.uuid("id")?), FileId(row.uuid("file_id")?));
        Ok::<_, RegistryError>(Obstacle::ToolFinding { finding, file })
    };
    if let Some(files) = asked.files {
        let values = |file: FileId| vec![asked.object.into(), file.into()];
        let statement = Statement("obstacles.tool_finding_of_file");
        return of_files(tx, statement, files, values, |_, row| finding(row).map(Some));
    }
    let rows = tx.query(Statement("obstacles.tool_findings"), &[asked.object.into(), limit()])?;
    each(&rows, finding)
}
