//! Restorations of many objects as one batch: the objects that have no work items yet, and where results were put.

use strongroom_database::{Row, Statement, Time, Transaction, Value};
use uuid::Uuid;

use crate::work::{self, Claim};
use crate::{BatchId, CollectionId, ItemId, ItemStatus, ObjectId, RegistryError};

/// An object at a version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ObjectVersion {
    /// The object.
    pub object: ObjectId,
    /// Which version of it.
    pub version: u64,
}

/// Where a result was put, and how to verify it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RestorationResult {
    /// The place, as people read it.
    pub place: String,
    /// Bytes.
    pub size: u64,
    /// SHA-256 in hexadecimal.
    pub sha256: String,
}

/// A work item of a batch of restorations, as the receipt has it.
#[derive(Debug, Clone)]
pub struct ItemOfBatch {
    /// The work item.
    pub id: ItemId,
    /// The object's identifier.
    pub object_identifier: String,
    /// How it ended.
    pub status: ItemStatus,
    /// The last thing that happened, in words.
    pub note: Option<String>,
    /// What was asked for, as JSON.
    pub options: String,
    /// When it last changed.
    pub updated_at: Time,
    /// What was put where, if anything was.
    pub result: Option<RestorationResult>,
    /// Whether it was in the restoration store, and is not there any more.
    pub was_removed: bool,
}

/// Notes objects of a batch that is to be made. One that is there stays as it is.
pub fn put_entries(tx: &mut dyn Transaction, batch: BatchId, entries: &[ObjectVersion]) -> Result<u64, RegistryError> {
    let now = tx.now()?;
    let mut added = 0;
    for entry in entries {
        let values: [Value; 4] = [batch.into(), entry.object.into(), entry.version.into(), now.into()];
        added += tx.execute(Statement("restorations.put_entry"), &values)?;
    }
    Ok(added)
}

/// How many objects of a batch have no work items yet.
pub fn count_entries(tx: &mut dyn Transaction, batch: BatchId) -> Result<u64, RegistryError> {
    let row = tx.query_one(Statement("restorations.count_entries"), &[batch.into()])?;
    Ok(row.map(|row| row.count("entries")).transpose()?.unwrap_or(0))
}

/// The first objects of a batch that have no work items yet, in order of their identifiers.
pub fn entries(tx: &mut dyn Transaction, batch: BatchId, limit: usize) -> Result<Vec<ObjectVersion>, RegistryError> {
    let rows = tx.query(Statement("restorations.entries"), &[batch.into(), limit.into()])?;
    rows.iter()
        .map(|row| Ok(ObjectVersion { object: ObjectId(row.uuid("object_id")?), version: row.count("version")? }))
        .collect()
}

/// Forgets an object of a batch, of which the work item is made in the same transaction.
pub fn drop_entry(tx: &mut dyn Transaction, batch: BatchId, object: ObjectId) -> Result<(), RegistryError> {
    tx.execute(Statement("restorations.drop_entry"), &[batch.into(), object.into()])?;
    Ok(())
}

/// Forgets objects of a batch that is not made after all, at most `limit`. How many.
pub fn drop_entries(tx: &mut dyn Transaction, batch: BatchId, limit: usize) -> Result<u64, RegistryError> {
    Ok(tx.execute(Statement("restorations.drop_entries"), &[batch.into(), limit.into()])?)
}

/// Forgets objects noted before `before` of which no batch was made, at most `limit`. How many.
pub fn drop_unused(tx: &mut dyn Transaction, before: Time, limit: usize) -> Result<u64, RegistryError> {
    Ok(tx.execute(Statement("restorations.drop_unused"), &[before.into(), limit.into()])?)
}

/// The objects of a collection that have files, at their heads, after `after` in order of their identifiers.
pub fn objects_of_collection(
    tx: &mut dyn Transaction,
    collection: CollectionId,
    after: Option<ObjectId>,
    limit: usize,
) -> Result<Vec<ObjectVersion>, RegistryError> {
    let after = after.unwrap_or(ObjectId(Uuid::nil()));
    let values = [collection.into(), after.into(), limit.into()];
    let rows = tx.query(Statement("restorations.objects_of_collection"), &values)?;
    rows.iter()
        .map(|row| Ok(ObjectVersion { object: ObjectId(row.uuid("id")?), version: row.count("head")? }))
        .collect()
}

/// How many work items of objects a batch has, and the last of their objects in order of their identifiers.
pub fn progress(tx: &mut dyn Transaction, batch: BatchId) -> Result<(u64, Option<ObjectId>), RegistryError> {
    let values: [Value; 1] = [batch.into()];
    let made = tx.query_one(Statement("restorations.count"), &values)?.map_or(Ok(0), |row| row.count("items"))?;
    let last = tx.query_one(Statement("restorations.last_object"), &values)?;
    Ok((made, last.map(|row| row.uuid("object_id")).transpose()?.map(ObjectId)))
}

/// How many objects a batch restores, also those that have no work items yet, and their bytes.
pub fn amount(tx: &mut dyn Transaction, batch: BatchId) -> Result<(u64, u64), RegistryError> {
    let (_, last) = progress(tx, batch)?;
    let last = last.unwrap_or(ObjectId(Uuid::nil()));
    let row = tx.query_one(Statement("restorations.amount"), &[batch.into(), last.into()])?;
    row.map_or(Ok((0, 0)), |row| Ok((row.count("objects")?, row.count("bytes")?)))
}

/// Notes where a work item has put its result.
pub fn put_result(tx: &mut dyn Transaction, claim: &Claim, result: &RestorationResult) -> Result<(), RegistryError> {
    work::check_fence(tx, claim)?;
    let values: [Value; 4] = [claim.item.into(), (&result.place).into(), result.size.into(), (&result.sha256).into()];
    tx.execute(Statement("restorations.put_result"), &values)?;
    Ok(())
}

/// Where a work item has put its result, if it has.
pub fn result(tx: &mut dyn Transaction, item: ItemId) -> Result<Option<RestorationResult>, RegistryError> {
    let row = tx.query_one(Statement("restorations.result"), &[item.into()])?;
    let result = |row: &Row| {
        let (place, sha256) = (row.text("place")?.to_owned(), row.text("sha256")?.to_owned());
        Ok(RestorationResult { place, size: row.count("size")?, sha256 })
    };
    row.as_ref().map(result).transpose()
}

/// How many work items of objects of a batch have not ended.
pub fn open_items(tx: &mut dyn Transaction, batch: BatchId) -> Result<u64, RegistryError> {
    let row = tx.query_one(Statement("restorations.open_items"), &[batch.into()])?;
    row.map_or(Ok(0), |row| Ok(row.count("items")?))
}

/// The work items of objects of a batch, after `after` in order of their identifiers; those that were deleted too.
pub fn items_of_batch(
    tx: &mut dyn Transaction,
    batch: BatchId,
    after: Option<ItemId>,
    limit: usize,
) -> Result<Vec<ItemOfBatch>, RegistryError> {
    let after = after.unwrap_or(ItemId(Uuid::nil()));
    let values = [batch.into(), after.into(), limit.into()];
    tx.query(Statement("restorations.items_of_batch"), &values)?.iter().map(item_row).collect()
}

fn item_row(row: &Row) -> Result<ItemOfBatch, RegistryError> {
    let result = match row.optional_text("place")? {
        None => None,
        Some(place) => Some(RestorationResult {
            place: place.to_owned(),
            size: row.count("size")?,
            sha256: row.text("sha256")?.to_owned(),
        }),
    };
    Ok(ItemOfBatch {
        id: ItemId(row.uuid("id")?),
        object_identifier: row.text("object_identifier")?.to_owned(),
        status: row.text("status")?.parse()?,
        note: row.optional_text("note")?.map(str::to_owned),
        options: row.text("options")?.to_owned(),
        updated_at: row.time("updated_at")?,
        result,
        was_removed: row.bool("was_removed")?,
    })
}
