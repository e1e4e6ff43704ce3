//! Statistics by day: which objects have changed since they were counted, what is known of an object, and the counts by day, institution and
//! collection. What follows from the facts of an object for the counts is the caller's.
//!
//! Counts belong to an epoch. One is `current` and read; another may be in the making beside it, from nothing.

mod epochs;
mod quota;
mod reading;

use std::collections::{HashMap, HashSet};

use strongroom_database::{Row, Statement, Time, Transaction};
use uuid::Uuid;

pub use epochs::{Epoch, advance, begin, drop_stale, end, epochs};
pub use quota::{Room, reserve};
pub use reading::{
    DayCount, DayCursor, FixityRow, FormatCount, GrowthCursor, GrowthRow, Span, StorageCount, days, fixity, formats_at,
    growth, kept_of_institution, storage_at,
};

use crate::{CollectionId, EventId, GenerationId, InstitutionId, ObjectId, RegistryError};

/// How many changes that are not counted are counted; more are said to be that many.
pub const MOST_COUNTED: u64 = 100_000;

/// A change of an object that is not counted yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pending {
    /// Its identifier.
    pub id: Uuid,
    /// The object.
    pub object: ObjectId,
}

/// Notes that something of an object has changed: what is stored of it, its formats, or what was given out. A version that is published is
/// noted by the database.
pub fn mark(tx: &mut dyn Transaction, object: ObjectId) -> Result<(), RegistryError> {
    tx.execute(Statement("statistics.mark"), &[Uuid::now_v7().into(), object.into()])?;
    Ok(())
}

/// Records what a restoration has given out.
pub fn disseminate(
    tx: &mut dyn Transaction,
    event: EventId,
    object: ObjectId,
    time: Time,
    bytes: u64,
) -> Result<(), RegistryError> {
    let values = [event.into(), object.into(), time.into(), bytes.into()];
    tx.execute(Statement("statistics.disseminate"), &values)?;
    mark(tx, object)
}

/// Changes that are not counted, those of one object behind one another.
pub fn pending(tx: &mut dyn Transaction, limit: usize) -> Result<Vec<Pending>, RegistryError> {
    let rows = tx.query(Statement("statistics.pending"), &[limit.into()])?;
    rows.iter().map(|row| Ok(Pending { id: row.uuid("id")?, object: ObjectId(row.uuid("object_id")?) })).collect()
}

/// How many changes are not counted; at most [`MOST_COUNTED`].
pub fn count_pending(tx: &mut dyn Transaction) -> Result<u64, RegistryError> {
    let row = tx.query_one(Statement("statistics.count_pending"), &[MOST_COUNTED.into()])?;
    Ok(row.map_or(Ok(0), |row| row.count("pending"))?)
}

/// Objects by their identifiers, behind `after`.
pub fn objects(tx: &mut dyn Transaction, after: ObjectId, limit: usize) -> Result<Vec<ObjectId>, RegistryError> {
    let rows = tx.query(Statement("statistics.objects"), &[after.into(), limit.into()])?;
    rows.iter().map(|row| Ok(ObjectId(row.uuid("id")?))).collect()
}

/// Files and bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Amount {
    /// Contents.
    pub files: u64,
    /// Their size.
    pub bytes: u64,
}

/// Amounts of a version by two words: store and class, or format and type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartOfVersion {
    /// The generation and the number of the published version that brought it.
    pub version: (GenerationId, u64),
    /// The store, or the identifier of the format.
    pub first: String,
    /// The storage class, or the type.
    pub second: String,
    /// How much.
    pub amount: Amount,
}

/// What the registry has of an object.
#[derive(Debug, Clone)]
pub struct ObjectFacts {
    /// Whose it is.
    pub institution: InstitutionId,
    /// Its collection.
    pub collection: Option<CollectionId>,
    /// Its published versions of all generations in order: generation, number, when it was made, and what it brought.
    pub versions: Vec<(GenerationId, u64, Time, Amount)>,
    /// What stores have of it, by the version that brought it.
    pub stored: Vec<PartOfVersion>,
    /// What is kept of it by format, by the version that brought it.
    pub formatted: Vec<PartOfVersion>,
    /// What was deleted, by the time at which the deletion was begun.
    pub deleted: Vec<(Time, Amount)>,
    /// When the object as a whole was deleted.
    pub deletions: Vec<Time>,
    /// What restorations gave out: when, and how many bytes.
    pub disseminations: Vec<(Time, u64)>,
}

/// What the registry has of an object; none where there is no such object.
pub fn facts(tx: &mut dyn Transaction, object: ObjectId) -> Result<Option<ObjectFacts>, RegistryError> {
    let Some(known) = tx.query_one(Statement("statistics.object"), &[object.into()])? else { return Ok(None) };
    let brought = tx.query(Statement("statistics.brought"), &[object.into()])?;
    let brought = brought.iter().map(|row| Ok(((row.uuid("generation")?, row.count("version")?), amount(row)?)));
    let brought = brought.collect::<Result<HashMap<_, _>, RegistryError>>()?;
    let versions = tx.query(Statement("statistics.versions"), &[object.into()])?;
    let version = |row: &Row| {
        let (generation, number) = (row.uuid("generation")?, row.count("number")?);
        let amount = brought.get(&(generation, number)).copied().unwrap_or_default();
        Ok((GenerationId(generation), number, row.time("created_at")?, amount))
    };
    let versions = versions.iter().map(version).collect::<Result<Vec<_>, RegistryError>>()?;
    let published = versions.iter().map(|(generation, number, ..)| (*generation, *number)).collect();
    let stored = tx.query(Statement("statistics.stored"), &[object.into()])?;
    let formatted = tx.query(Statement("statistics.formatted"), &[object.into()])?;
    let deleted = tx.query(Statement("statistics.deleted"), &[object.into()])?;
    let deletions = tx.query(Statement("statistics.deletions"), &[object.into()])?;
    let disseminations = tx.query(Statement("statistics.disseminations"), &[object.into()])?;
    Ok(Some(ObjectFacts {
        institution: InstitutionId(known.uuid("institution_id")?),
        collection: known.optional_uuid("collection_id")?.map(CollectionId),
        versions,
        stored: parts(&stored, &published, ["store", "class"])?,
        formatted: parts(&formatted, &published, ["puid", "mime"])?,
        deleted: deleted
            .iter()
            .map(|row| Ok((row.time("time")?, amount(row)?)))
            .collect::<Result<_, RegistryError>>()?,
        deletions: deletions.iter().map(|row| Ok(row.time("time")?)).collect::<Result<_, RegistryError>>()?,
        disseminations: disseminations
            .iter()
            .map(|row| Ok((row.time("time")?, row.count("bytes")?)))
            .collect::<Result<_, RegistryError>>()?,
    }))
}

/// What published versions brought; what is being deposited now is not counted.
fn parts(
    rows: &[Row],
    published: &HashSet<(GenerationId, u64)>,
    [first, second]: [&'static str; 2],
) -> Result<Vec<PartOfVersion>, RegistryError> {
    let mut parts = Vec::new();
    for row in rows {
        let version = (GenerationId(row.uuid("generation")?), row.count("version")?);
        if published.contains(&version) {
            let (first, second) = (row.text(first)?.to_owned(), row.text(second)?.to_owned());
            parts.push(PartOfVersion { version, first, second, amount: amount(row)? });
        }
    }
    Ok(parts)
}

fn amount(row: &Row) -> Result<Amount, RegistryError> {
    Ok(Amount { files: row.count("files")?, bytes: row.count("bytes")? })
}

/// What an epoch counts of an object, as the caller has written it.
pub fn counted(tx: &mut dyn Transaction, epoch: u64, object: ObjectId) -> Result<Option<String>, RegistryError> {
    let row = tx.query_one(Statement("statistics.counted"), &[epoch.into(), object.into()])?;
    row.map(|row| Ok(row.text("counted")?.to_owned())).transpose()
}

/// What is added to a day of a collection.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Flow {
    /// Versions that were published.
    pub versions: i64,
    /// Objects that were made.
    pub objects: i64,
    /// Contents that the versions brought.
    pub files: i64,
    /// Their size.
    pub bytes: i64,
    /// Restorations.
    pub restorations: i64,
    /// The size of their results.
    pub restored_bytes: i64,
    /// Objects that were deleted as a whole.
    pub deleted_objects: i64,
    /// Contents that were deleted.
    pub deleted_files: i64,
    /// Their size.
    pub deleted_bytes: i64,
}

impl Flow {
    /// Adds another one.
    pub fn add(&mut self, other: &Self) {
        self.versions += other.versions;
        self.objects += other.objects;
        self.files += other.files;
        self.bytes += other.bytes;
        self.restorations += other.restorations;
        self.restored_bytes += other.restored_bytes;
        self.deleted_objects += other.deleted_objects;
        self.deleted_files += other.deleted_files;
        self.deleted_bytes += other.deleted_bytes;
    }
}

/// By how much something grows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Growth {
    /// Objects.
    pub objects: i64,
    /// Contents.
    pub files: i64,
    /// Their size.
    pub bytes: i64,
}

/// A day (since 1970-01-01 in UTC), and the collection.
pub type DayKey = (i64, Option<CollectionId>);
/// The same with store and class, or format and type.
pub type PartKey = (i64, Option<CollectionId>, String, String);

/// What one object adds to the counts of an epoch.
#[derive(Debug, Clone)]
pub struct Increment {
    /// The epoch.
    pub epoch: u64,
    /// The object.
    pub object: ObjectId,
    /// Whose it is.
    pub institution: InstitutionId,
    /// What was counted of it before.
    pub before: Option<String>,
    /// What is counted of it with this.
    pub after: String,
    /// The last version that is counted with this.
    pub last: Option<(GenerationId, u64)>,
    /// What is added to days.
    pub days: Vec<(DayKey, Flow)>,
    /// What is added to stores.
    pub storage: Vec<(PartKey, Growth)>,
    /// What is added to formats.
    pub formats: Vec<(PartKey, Growth)>,
}

/// Adds what objects add, and removes the changes that are counted with it.
///
/// # Errors
/// [`RegistryError::FenceLost`] where another process has counted one of them, or has ended an epoch.
pub fn apply(tx: &mut dyn Transaction, changes: &[Pending], increments: &[Increment]) -> Result<(), RegistryError> {
    let counted =
        tx.execute_each(Statement("statistics.is_counted"), &mut changes.iter().map(|change| vec![change.id.into()]))?;
    if counted != changes.len() as u64 {
        return Err(lost());
    }
    let known = epochs(tx)?;
    for increment in increments {
        if !known.iter().any(|epoch| epoch.number == increment.epoch) {
            return Err(lost());
        }
        if increment.before.as_ref() != Some(&increment.after) {
            apply_one(tx, increment)?;
        }
        if let Some((generation, number)) = increment.last {
            let values = [increment.object.into(), generation.into(), number.into()];
            tx.execute(Statement("statistics.release_counted"), &values)?;
        }
    }
    Ok(())
}

fn lost() -> RegistryError {
    RegistryError::FenceLost { what: "statistics", id: "an object".to_owned() }
}

fn apply_one(tx: &mut dyn Transaction, increment: &Increment) -> Result<(), RegistryError> {
    let mut values = vec![increment.epoch.into(), increment.object.into(), (&increment.after).into()];
    let statement = match &increment.before {
        None => Statement("statistics.put_counted"),
        Some(before) => {
            values.push(before.into());
            Statement("statistics.set_counted")
        }
    };
    if tx.execute(statement, &values)? != 1 {
        return Err(lost());
    }
    let Increment { epoch, institution, .. } = increment;
    for ((day, collection), flow) in &increment.days {
        add_day(tx, (*epoch, *day, *institution, *collection), flow)?;
    }
    for (key, growth) in &increment.storage {
        add_part(tx, Statement("statistics.add_storage"), (*epoch, *institution), key, growth)?;
    }
    for (key, growth) in &increment.formats {
        add_part(tx, Statement("statistics.add_format"), (*epoch, *institution), key, growth)?;
    }
    Ok(())
}

fn add_day(
    tx: &mut dyn Transaction,
    (epoch, day, institution, collection): (u64, i64, InstitutionId, Option<CollectionId>),
    flow: &Flow,
) -> Result<(), RegistryError> {
    tx.execute(
        Statement("statistics.add_day"),
        &[
            epoch.into(),
            day.into(),
            institution.into(),
            or_nil(collection).into(),
            flow.versions.into(),
            flow.objects.into(),
            flow.files.into(),
            flow.bytes.into(),
            flow.restorations.into(),
            flow.restored_bytes.into(),
            flow.deleted_objects.into(),
            flow.deleted_files.into(),
            flow.deleted_bytes.into(),
        ],
    )?;
    Ok(())
}

fn add_part(
    tx: &mut dyn Transaction,
    statement: Statement,
    (epoch, institution): (u64, InstitutionId),
    (day, collection, first, second): &PartKey,
    growth: &Growth,
) -> Result<(), RegistryError> {
    let mut values =
        vec![epoch.into(), (*day).into(), institution.into(), or_nil(*collection).into(), first.into(), second.into()];
    // A content has one format, and an object may have many: objects are counted by store alone.
    if statement == Statement("statistics.add_storage") {
        values.push(growth.objects.into());
    }
    values.extend([growth.files.into(), growth.bytes.into()]);
    tx.execute(statement, &values)?;
    Ok(())
}

fn or_nil(collection: Option<CollectionId>) -> Uuid {
    collection.map_or_else(Uuid::nil, |id| id.0)
}

/// Releases what is reserved for versions that will not be published.
pub fn release_ended(tx: &mut dyn Transaction) -> Result<u64, RegistryError> {
    Ok(tx.execute(Statement("statistics.release_ended"), &[])?)
}
