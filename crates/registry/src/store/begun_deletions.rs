//! How a deletion begins, and those that have begun and are not completed. Where one begins, what forbids it is asked for the last time;
//! afterwards it is completed whatever happens, since a part of it may be done.

use strongroom_database::{Row, Statement, Time, Transaction};

use crate::deletions::{self, Deletion};
use crate::obstacles::{self, Obstacle};
use crate::store::objects::optional_count;
use crate::{CollectionId, FileId, ItemId, ObjectId, RegistryError, Scope, work};

/// The most deletions that are named.
pub const MOST: usize = 100;

/// A deletion that has begun.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BegunDeletion {
    /// Its work item; none where a store told of it.
    pub item: Option<ItemId>,
    /// The object.
    pub object: ObjectId,
    /// The object by its name.
    pub object_identifier: String,
    /// How many files it deletes; none: the whole object.
    pub files: Option<u64>,
    /// When it began.
    pub begun_at: Time,
}

/// Whether a deletion has begun.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Beginning {
    /// It has, now or before: it is completed.
    Begun,
    /// It has not, and nothing may be removed: what forbids it.
    Forbidden(Vec<Obstacle>),
}

/// Records the deletion of an object, or of some files of it, by a work item, and the stores that it has to be carried out in, unless something in the registry forbids it. Nothing may be
/// removed before the transaction of this call is kept. One that has begun before is not asked for again.
///
/// The row of the object is written first, then the row of its collection. Both order it with
/// [`legal_holds::place`](crate::legal_holds::place), and the second one also with
/// [`tenants::set_collection`](crate::tenants::set_collection), which may lengthen the retention: what was there before is met here, and what
/// comes later is told that the deletion has begun. The transaction may be of either isolation, as said there; it may have read other
/// things before, but not what it decides this by.
///
/// # Errors
/// [`RegistryError::NotFound`] where the object is not there, or was deleted.
pub fn begin(
    tx: &mut dyn Transaction,
    scope: Scope,
    (deletion, stores): (&Deletion, &[String]),
    files: Option<&[FileId]>,
) -> Result<Beginning, RegistryError> {
    let object = deletion.object;
    if let Some(item) = deletion.item
        && deletions::of_item(tx, item)?.is_some()
    {
        return Ok(Beginning::Begun);
    }
    let locked = tx
        .query_one(Statement("legal_holds.lock_object"), &[object.into()])?
        .ok_or_else(|| RegistryError::NotFound { what: "object", id: object.to_string() })?;
    if let Some(id) = locked.optional_uuid("collection_id")? {
        tx.query_one(Statement("legal_holds.lock_collection"), &[id.into()])?;
    }
    let now = tx.now()?;
    let obstacles = obstacles::of_item(tx, scope, (object, files), now, deletion.item)?;
    if !obstacles.is_empty() {
        return Ok(Beginning::Forbidden(obstacles));
    }
    deletions::insert(tx, deletion, stores)?;
    if let Some(item) = deletion.item {
        work::set_committed(tx, item)?;
    }
    Ok(Beginning::Begun)
}

/// At most [`MOST`] of an object.
pub fn of_object(tx: &mut dyn Transaction, object: ObjectId) -> Result<Vec<BegunDeletion>, RegistryError> {
    let rows = tx.query(Statement("begun_deletions.of_object"), &[object.into(), MOST.into()])?;
    rows.iter().map(deletion_row).collect()
}

/// At most [`MOST`] of the objects of a collection.
pub fn of_collection(tx: &mut dyn Transaction, collection: CollectionId) -> Result<Vec<BegunDeletion>, RegistryError> {
    let rows = tx.query(Statement("begun_deletions.of_collection"), &[collection.into(), MOST.into()])?;
    rows.iter().map(deletion_row).collect()
}

fn deletion_row(row: &Row) -> Result<BegunDeletion, RegistryError> {
    Ok(BegunDeletion {
        item: row.optional_uuid("item_id")?.map(ItemId),
        object: ObjectId(row.uuid("object_id")?),
        object_identifier: row.text("identifier")?.to_owned(),
        files: optional_count(row, "files")?,
        begun_at: row.time("begun_at")?,
    })
}
