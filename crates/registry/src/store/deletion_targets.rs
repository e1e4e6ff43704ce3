//! What requests for deletion name: objects and files of them, noted page by page before a request is made, and the work items that are made
//! for them.

use strongroom_database::{Statement, Time, Transaction};
use uuid::Uuid;

use crate::{CollectionId, DeletionRequestId, FileId, ItemId, ItemStatus, ObjectId, RegistryError};

/// What a request names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewTarget {
    /// The object.
    pub object: ObjectId,
    /// A file of it with its logical path; none: all of the object.
    pub file: Option<(FileId, String)>,
}

/// What a request names, and how far its deletion is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// The object.
    pub object: ObjectId,
    /// `<institution>/<name>`.
    pub object_identifier: String,
    /// The file; none: all of the object.
    pub file: Option<FileId>,
    /// Its logical path.
    pub path: Option<String>,
    /// The work item.
    pub item: Option<ItemId>,
    /// Where that is; none where there is none, or it was removed when its time had ended.
    pub status: Option<ItemStatus>,
    /// What happened last to it, in words.
    pub note: Option<String>,
}

/// Where a page of targets ends.
pub type TargetCursor = (ObjectId, Uuid);

impl Target {
    /// Where the next page of a list begins that ends with this one.
    pub fn cursor(&self) -> TargetCursor {
        (self.object, self.file.map_or(self.object.0, |file| file.0))
    }
}

/// What two open requests name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    /// The object's identifier, `<institution>/<name>`.
    pub object_identifier: String,
    /// The logical path of the file; none: all of the object.
    pub path: Option<String>,
    /// The other request.
    pub request: DeletionRequestId,
}

/// An object of a request that has no work item yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unmade {
    /// The object.
    pub object: ObjectId,
    /// `<institution>/<name>`.
    pub identifier: String,
    /// Its collection.
    pub collection: Option<CollectionId>,
    /// Its bytes.
    pub bytes: u64,
    /// Whether all of it is named, and not files alone.
    pub is_whole: bool,
}

/// Begins to note what a request names. A draft of which no request is made is removed by [`old_drafts`] and [`drop_draft`].
pub fn begin_draft(tx: &mut dyn Transaction, id: DeletionRequestId) -> Result<(), RegistryError> {
    let now = tx.now()?;
    tx.execute(Statement("deletion_requests.begin_draft"), &[id.into(), now.into()])?;
    Ok(())
}

/// Notes what a request names, each once. How many were not noted before.
pub fn put(tx: &mut dyn Transaction, id: DeletionRequestId, targets: &[NewTarget]) -> Result<u64, RegistryError> {
    let mut rows = targets.iter().map(|target| {
        let (target_id, path) = match &target.file {
            Some((file, path)) => (file.0, Some(path.clone())),
            None => (target.object.0, None),
        };
        vec![id.into(), target.object.into(), FileId(target_id).into(), path.into()]
    });
    Ok(tx.execute_each(Statement("deletion_requests.put_target"), &mut rows)?)
}

/// How many objects and how many files by themselves are noted.
pub fn count(tx: &mut dyn Transaction, id: DeletionRequestId) -> Result<(u64, u64), RegistryError> {
    let row = tx.query_one(Statement("deletion_requests.count_targets"), &[id.into()])?;
    row.map_or(Ok((0, 0)), |row| Ok((row.count("objects")?, row.count("files")?)))
}

/// How many rows are noted.
pub fn count_rows(tx: &mut dyn Transaction, id: DeletionRequestId) -> Result<u64, RegistryError> {
    let row = tx.query_one(Statement("deletion_requests.count_rows"), &[id.into()])?;
    row.map_or(Ok(0), |row| Ok(row.count("row_count")?))
}

/// An object of which more than `most` files are noted by themselves, and how many; none where there is none.
pub fn most_files(
    tx: &mut dyn Transaction,
    id: DeletionRequestId,
    most: u64,
) -> Result<Option<(String, u64)>, RegistryError> {
    let row = tx.query_one(Statement("deletion_requests.most_files"), &[id.into(), most.into()])?;
    row.map(|row| Ok((row.text("identifier")?.to_owned(), row.count("files")?))).transpose()
}

/// Removes what was noted of a request that is not made, at most so many rows; the draft with the last. Whether there is more.
pub fn drop_draft(tx: &mut dyn Transaction, id: DeletionRequestId, limit: usize) -> Result<bool, RegistryError> {
    if tx.execute(Statement("deletion_requests.drop_targets"), &[id.into(), limit.into()])? > 0 {
        return Ok(true);
    }
    tx.query_one(Statement("deletion_requests.end_draft"), &[id.into()])?;
    Ok(false)
}

/// Drafts that were begun before `before`.
pub fn old_drafts(
    tx: &mut dyn Transaction,
    before: Time,
    limit: usize,
) -> Result<Vec<DeletionRequestId>, RegistryError> {
    let rows = tx.query(Statement("deletion_requests.old_drafts"), &[before.into(), limit.into()])?;
    rows.iter().map(|row| Ok(DeletionRequestId(row.uuid("request_id")?))).collect()
}

/// The file of an object that has a logical path in any version that readers see.
pub fn file_at(tx: &mut dyn Transaction, object: ObjectId, path: &str) -> Result<Option<FileId>, RegistryError> {
    let row = tx.query_one(Statement("deletion_requests.file_at"), &[object.into(), path.into()])?;
    Ok(row.map(|row| row.uuid("id").map(FileId)).transpose()?)
}

/// What a request or a draft names and another open request names as well, at most so many.
pub fn conflicts(
    tx: &mut dyn Transaction,
    id: DeletionRequestId,
    limit: usize,
) -> Result<Vec<Conflict>, RegistryError> {
    let rows = tx.query(Statement("deletion_requests.conflicts"), &[id.into(), limit.into()])?;
    rows.iter()
        .map(|row| {
            Ok(Conflict {
                object_identifier: row.text("identifier")?.to_owned(),
                path: row.optional_text("path")?.map(str::to_owned),
                request: DeletionRequestId(row.uuid("request_id")?),
            })
        })
        .collect()
}

/// Whether what a request names of an object was deposited again since: the version that there was then, and the one that there is now.
/// What was deposited since, nobody has agreed to delete.
pub fn changed_since(
    tx: &mut dyn Transaction,
    id: DeletionRequestId,
    object: ObjectId,
) -> Result<Option<(u64, u64)>, RegistryError> {
    let row = tx.query_one(Statement("deletion_requests.changed"), &[id.into(), object.into()])?;
    row.map(|row| Ok((row.count("version")?, row.count("head")?))).transpose()
}

/// Objects of a request that have no work items yet, in order of their identifiers after `after`.
pub fn unmade(
    tx: &mut dyn Transaction,
    id: DeletionRequestId,
    after: Option<ObjectId>,
    limit: usize,
) -> Result<Vec<Unmade>, RegistryError> {
    let after = after.unwrap_or(ObjectId(Uuid::nil()));
    let rows = tx.query(Statement("deletion_requests.unmade"), &[id.into(), after.into(), limit.into()])?;
    rows.iter()
        .map(|row| {
            Ok(Unmade {
                object: ObjectId(row.uuid("object_id")?),
                identifier: row.text("identifier")?.to_owned(),
                collection: row.optional_uuid("collection_id")?.map(CollectionId),
                bytes: row.count("bytes")?,
                is_whole: row.bool("is_whole")?,
            })
        })
        .collect()
}

/// Records the work item that deletes an object, or the files of it that a request names.
pub fn set_item(
    tx: &mut dyn Transaction,
    id: DeletionRequestId,
    object: ObjectId,
    item: ItemId,
) -> Result<(), RegistryError> {
    tx.execute(Statement("deletion_requests.set_item"), &[id.into(), object.into(), item.into()])?;
    Ok(())
}

/// What a request names, after `after`.
pub fn list(
    tx: &mut dyn Transaction,
    id: DeletionRequestId,
    after: Option<TargetCursor>,
    limit: usize,
) -> Result<Vec<Target>, RegistryError> {
    let (object, target) = after.unwrap_or((ObjectId(Uuid::nil()), Uuid::nil()));
    let rows = tx.query(
        Statement("deletion_requests.targets"),
        &[id.into(), object.into(), FileId(target).into(), limit.into()],
    )?;
    rows.iter()
        .map(|row| {
            let path = row.optional_text("path")?.map(str::to_owned);
            let target = row.uuid("target_id")?;
            Ok(Target {
                object: ObjectId(row.uuid("object_id")?),
                object_identifier: row.text("identifier")?.to_owned(),
                file: path.is_some().then_some(FileId(target)),
                path,
                item: row.optional_uuid("item_id")?.map(ItemId),
                status: row.optional_text("status")?.map(str::parse).transpose()?,
                note: row.optional_text("note")?.map(str::to_owned),
            })
        })
        .collect()
}

/// The files of an object that a request names by themselves, with their logical paths, in order of their identifiers after `after`.
pub fn files(
    tx: &mut dyn Transaction,
    id: DeletionRequestId,
    object: ObjectId,
    after: Option<FileId>,
    limit: usize,
) -> Result<Vec<(FileId, String)>, RegistryError> {
    let after = after.unwrap_or(FileId(Uuid::nil()));
    let rows =
        tx.query(Statement("deletion_requests.files"), &[id.into(), object.into(), after.into(), limit.into()])?;
    rows.iter().map(|row| Ok((FileId(row.uuid("file_id")?), row.text("path")?.to_owned()))).collect()
}

/// The open request that names an object, or files of it; the first where there are several.
pub fn open_of_object(tx: &mut dyn Transaction, object: ObjectId) -> Result<Option<DeletionRequestId>, RegistryError> {
    let row = tx.query_one(Statement("deletion_requests.open_of_object"), &[object.into()])?;
    Ok(row.map(|row| row.uuid("id").map(DeletionRequestId)).transpose()?)
}
