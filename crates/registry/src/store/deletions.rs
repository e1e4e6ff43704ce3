//! What is deleted of objects: the intent, recorded before a byte is removed; the rows that go; the stores in which it is still to
//! be carried out. The caller holds the object, and everything may be repeated.

use strongroom_database::{Row, Statement, Time, Transaction};
use strongroom_digest::Digest;
use uuid::Uuid;

use crate::backfill::{self, BroughtCopy, CopyProof};
use crate::objects::Object;
use crate::store::objects::optional_count;
use crate::versions::{self, NewContent, NewEntry, Version};
use crate::{
    ContentId, DeletionId, DeletionState, Description, Digests, FileId, Format, GenerationId, InstitutionId, ItemId,
    ObjectId, RegistryError, Scope, VersionId, VersionState, statistics,
};

/// At most so many paths or contents are given at a time.
pub const AT_ONCE: usize = 300;

/// A deletion as it is recorded.
#[derive(Debug, Clone)]
pub struct Deletion {
    /// Its identifier.
    pub id: DeletionId,
    /// The work item that carries it out; none where a store told of it.
    pub item: Option<ItemId>,
    /// Whose the object is.
    pub institution: InstitutionId,
    /// The object.
    pub object: ObjectId,
    /// Of which generation.
    pub generation: GenerationId,
    /// How many files are deleted; none: the whole object.
    pub files: Option<u64>,
    /// Where it is.
    pub state: DeletionState,
    /// The name of its tombstone in `logs/`.
    pub name: String,
    /// The tombstone.
    pub tombstone: String,
    /// When it was begun.
    pub begun_at: Time,
    /// When the registry said what is left.
    pub settled_at: Option<Time>,
    /// When no store had anything left.
    pub completed_at: Option<Time>,
}

/// How far a deletion is in a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeletionStore {
    /// The store.
    pub store: String,
    /// When it was carried out there.
    pub done_at: Option<Time>,
    /// Why it could not be when that was last tried.
    pub reason: Option<String>,
}

/// Records a deletion, and the stores that it has to be carried out in. Nothing changes where it is recorded.
pub fn insert(tx: &mut dyn Transaction, deletion: &Deletion, stores: &[String]) -> Result<(), RegistryError> {
    tx.execute(
        Statement("deletions.insert"),
        &[
            deletion.id.into(),
            deletion.item.into(),
            deletion.institution.into(),
            deletion.object.into(),
            deletion.generation.into(),
            deletion.files.into(),
            deletion.state.as_str().into(),
            (&deletion.name).into(),
            (&deletion.tombstone).into(),
            deletion.begun_at.into(),
        ],
    )?;
    let mut rows = stores.iter().map(|store| vec![deletion.id.into(), store.into(), deletion.object.into()]);
    tx.execute_each(Statement("deletions.insert_store"), &mut rows)?;
    if deletion.files.is_none() {
        let now = tx.now()?;
        let values = [deletion.object.into(), now.into(), deletion.generation.into()];
        tx.execute(Statement("deletions.set_object"), &values)?;
    }
    statistics::mark(tx, deletion.object)
}

/// A deletion by its identifier.
pub fn get(tx: &mut dyn Transaction, id: DeletionId) -> Result<Option<Deletion>, RegistryError> {
    tx.query_one(Statement("deletions.get"), &[id.into()])?.as_ref().map(row).transpose()
}

/// The deletion that a work item has begun.
pub fn of_item(tx: &mut dyn Transaction, item: ItemId) -> Result<Option<Deletion>, RegistryError> {
    tx.query_one(Statement("deletions.of_item"), &[item.into()])?.as_ref().map(row).transpose()
}

/// The deletions of an object and of files of it, oldest first.
pub fn of_object(tx: &mut dyn Transaction, object: ObjectId) -> Result<Vec<Deletion>, RegistryError> {
    tx.query(Statement("deletions.of_object"), &[object.into()])?.iter().map(row).collect()
}

/// How many deletions of an object, and of files of it, were begun: what reads the object page by page compares it, to know that
/// nothing was deleted meanwhile.
pub fn count_of_object(tx: &mut dyn Transaction, object: ObjectId) -> Result<u64, RegistryError> {
    let row = tx.query_one(Statement("deletions.count_of_object"), &[object.into()])?;
    row.map_or(Ok(0), |row| Ok(row.count("deletions")?))
}

/// What is settled of an object and not yet carried out in some stores, in the order in which it was begun: the deletion and the
/// store.
pub fn pending_of_object(
    tx: &mut dyn Transaction,
    object: ObjectId,
) -> Result<Vec<(DeletionId, String)>, RegistryError> {
    let rows = tx.query(Statement("deletions.pending_of_object"), &[object.into()])?;
    rows.iter().map(|row| Ok((DeletionId(row.uuid("deletion_id")?), row.text("store")?.to_owned()))).collect()
}

/// The deletions of [`pending_of_object`] that are still to be carried out in one store.
pub fn pending_in(tx: &mut dyn Transaction, object: ObjectId, store: &str) -> Result<Vec<DeletionId>, RegistryError> {
    let pending = pending_of_object(tx, object)?.into_iter();
    Ok(pending.filter(|(_, of)| of == store).map(|(id, _)| id).collect())
}

/// What was carried out of an object in a store, in the order in which it was begun: the deletion and the generation.
pub fn done_of_object(
    tx: &mut dyn Transaction,
    object: ObjectId,
    store: &str,
) -> Result<Vec<(DeletionId, GenerationId)>, RegistryError> {
    let rows = tx.query(Statement("deletions.done_of_object"), &[object.into(), store.into()])?;
    rows.iter().map(|row| Ok((DeletionId(row.uuid("deletion_id")?), GenerationId(row.uuid("generation")?)))).collect()
}

/// The deletion of an earlier generation of an object, and how it is in a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Earlier {
    /// The deletion.
    pub deletion: DeletionId,
    /// The generation.
    pub generation: GenerationId,
    /// Whether it has to be carried out in the store, or was.
    pub is_of_store: bool,
    /// Whether it is known that it has left its record and its tombstone there.
    pub is_left: bool,
}

/// The deletions of an object as a whole, in other generations than the given one, and how each is in a store.
pub fn of_earlier(
    tx: &mut dyn Transaction,
    (object, generation): (ObjectId, GenerationId),
    store: &str,
) -> Result<Vec<Earlier>, RegistryError> {
    let rows = tx.query(Statement("deletions.of_earlier"), &[object.into(), generation.into(), store.into()])?;
    let earlier = |row: &Row| {
        let is_of_store = row.optional_uuid("in_store")?.is_some();
        Ok(Earlier {
            deletion: DeletionId(row.uuid("id")?),
            generation: GenerationId(row.uuid("generation")?),
            is_of_store,
            is_left: row.bool("is_left")?,
        })
    };
    rows.iter().map(earlier).collect()
}

/// Records that a store has what the deletion of an earlier generation has left.
pub fn put_left(tx: &mut dyn Transaction, id: DeletionId, object: ObjectId, store: &str) -> Result<(), RegistryError> {
    let now = tx.now()?;
    let values = [id.into(), store.into(), object.into(), now.into(), true.into()];
    tx.execute(Statement("deletions.put_left"), &values)?;
    Ok(())
}

/// What the deletion of an earlier generation of an object has left in a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Left {
    /// The deletion.
    pub deletion: DeletionId,
    /// The object.
    pub object: ObjectId,
    /// The generation.
    pub generation: GenerationId,
    /// The domain name of the institution.
    pub institution: String,
}

/// At most `limit` of what deletions have left in a store of earlier generations, after `after`.
pub fn left_in_store(
    tx: &mut dyn Transaction,
    store: &str,
    after: Option<DeletionId>,
    limit: usize,
) -> Result<Vec<Left>, RegistryError> {
    let after = after.unwrap_or(DeletionId(Uuid::nil()));
    let rows =
        tx.query(Statement("deletions.left_in_store"), &[store.into(), after.into(), limit.into(), true.into()])?;
    let left = |row: &Row| {
        Ok(Left {
            deletion: DeletionId(row.uuid("deletion_id")?),
            object: ObjectId(row.uuid("object_id")?),
            generation: GenerationId(row.uuid("generation")?),
            institution: row.text("identifier")?.to_owned(),
        })
    };
    rows.iter().map(left).collect()
}

/// The deletion of a generation of an object as a whole.
pub fn whole_of_generation(
    tx: &mut dyn Transaction,
    (object, generation): (ObjectId, GenerationId),
) -> Result<Option<Deletion>, RegistryError> {
    let found = tx.query_one(Statement("deletions.whole_of_generation"), &[object.into(), generation.into()])?;
    found.as_ref().map(row).transpose()
}

/// The deletion of an object, or of files of it, that has begun and is not settled: by a work item, or as stores tell of it.
pub fn begun_of_object(tx: &mut dyn Transaction, object: ObjectId) -> Result<Option<Deletion>, RegistryError> {
    tx.query_one(Statement("deletions.begun_of_object"), &[object.into()])?.as_ref().map(row).transpose()
}

/// Of how many objects something is still to be removed from each store that has any.
pub fn unfinished(tx: &mut dyn Transaction) -> Result<Vec<(String, u64)>, RegistryError> {
    let rows = tx.query(Statement("deletions.unfinished"), &[])?;
    rows.iter().map(|row| Ok((row.text("store")?.to_owned(), row.count("objects")?))).collect()
}

/// What is still to be removed from a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unfinished {
    /// The object.
    pub object: ObjectId,
    /// Its identifier, `<institution>/<name>`.
    pub object_identifier: String,
    /// The store.
    pub store: String,
    /// The deletion.
    pub deletion: DeletionId,
    /// How many files it deletes; none: the whole object.
    pub files: Option<u64>,
    /// When it was begun.
    pub begun_at: Time,
    /// The work item that began it; none where a store told of it.
    pub item: Option<ItemId>,
    /// Why the store refused it when that was last tried; none: it was not reached since.
    pub reason: Option<String>,
}

/// Where a page of them ends.
pub type UnfinishedCursor = (ObjectId, String, DeletionId);

impl Unfinished {
    /// Where the next page begins of a list that ends with this one.
    pub fn cursor(&self) -> UnfinishedCursor {
        (self.object, self.store.clone(), self.deletion)
    }
}

/// At most `limit` of what is still to be removed from stores, in the order of the objects after `after`.
pub fn list_unfinished(
    tx: &mut dyn Transaction,
    scope: Scope,
    after: Option<&UnfinishedCursor>,
    limit: usize,
) -> Result<Vec<Unfinished>, RegistryError> {
    let first = (ObjectId(Uuid::nil()), String::new(), DeletionId(Uuid::nil()));
    let (object, store, deletion) = after.unwrap_or(&first);
    let values = [(*object).into(), store.into(), (*deletion).into(), scope.value(), limit.into()];
    let rows = tx.query(Statement("deletions.list_unfinished"), &values)?;
    let unfinished = |row: &Row| {
        Ok(Unfinished {
            object: ObjectId(row.uuid("object_id")?),
            object_identifier: row.text("identifier")?.to_owned(),
            store: row.text("store")?.to_owned(),
            deletion: DeletionId(row.uuid("deletion_id")?),
            files: optional_count(row, "files")?,
            begun_at: row.time("begun_at")?,
            item: row.optional_uuid("item_id")?.map(ItemId),
            reason: row.optional_text("reason")?.map(str::to_owned),
        })
    };
    rows.iter().map(unfinished).collect()
}

/// How many removals stores refuse; at most `most` are counted.
pub fn count_refused(tx: &mut dyn Transaction, most: usize) -> Result<u64, RegistryError> {
    let row = tx.query_one(Statement("deletions.count_refused"), &[most.into()])?;
    row.map_or(Ok(0), |row| Ok(row.count("removals")?))
}

/// Whether a content was deleted from a version of a generation of an object, by its SHA-512.
pub fn has_deleted_content(
    tx: &mut dyn Transaction,
    (object, generation): (ObjectId, GenerationId),
    version: u64,
    sha512: &Digest,
) -> Result<bool, RegistryError> {
    let values = [object.into(), generation.into(), version.into(), sha512.as_bytes().into()];
    Ok(tx.query_one(Statement("deletions.has_deleted_content"), &values)?.is_some())
}

/// The deletions of a generation of an object whose tombstones a store that holds it has, with the names of these, oldest first: all
/// that are not still to be carried out there.
pub fn tombstones_in(
    tx: &mut dyn Transaction,
    (object, generation): (ObjectId, GenerationId),
    store: &str,
) -> Result<Vec<(DeletionId, String)>, RegistryError> {
    let rows = tx.query(Statement("deletions.tombstones_in"), &[object.into(), generation.into(), store.into()])?;
    rows.iter().map(|row| Ok((DeletionId(row.uuid("id")?), row.text("name")?.to_owned()))).collect()
}

/// Whether something is to be deleted of an object in a store.
pub fn is_any_pending(tx: &mut dyn Transaction, object: ObjectId) -> Result<bool, RegistryError> {
    Ok(tx.query_one(Statement("deletions.any_pending"), &[object.into()])?.is_some())
}

/// Objects of which something is to be deleted in a store, after `after`.
pub fn pending_objects(
    tx: &mut dyn Transaction,
    after: Option<ObjectId>,
    limit: usize,
) -> Result<Vec<ObjectId>, RegistryError> {
    let after = after.unwrap_or(ObjectId(Uuid::nil()));
    let rows = tx.query(Statement("deletions.pending_objects"), &[after.into(), limit.into()])?;
    rows.iter().map(|row| Ok(ObjectId(row.uuid("object_id")?))).collect()
}

/// How far a deletion is in its stores.
pub fn stores(tx: &mut dyn Transaction, id: DeletionId) -> Result<Vec<DeletionStore>, RegistryError> {
    let rows = tx.query(Statement("deletions.stores"), &[id.into()])?;
    let store = |row: &Row| {
        Ok(DeletionStore {
            store: row.text("store")?.to_owned(),
            done_at: row.optional_time("done_at")?,
            reason: row.optional_text("reason")?.map(str::to_owned),
        })
    };
    rows.iter().map(store).collect()
}

/// Records that a deletion was carried out in a store, and whether it has left its record there.
pub fn set_done(tx: &mut dyn Transaction, id: DeletionId, store: &str, is_left: bool) -> Result<(), RegistryError> {
    let now = tx.now()?;
    tx.execute(Statement("deletions.store_is_done"), &[id.into(), store.into(), now.into(), is_left.into()])?;
    Ok(())
}

/// Records why a deletion could not be carried out in a store.
pub fn set_failed(tx: &mut dyn Transaction, id: DeletionId, store: &str, reason: &str) -> Result<(), RegistryError> {
    tx.execute(Statement("deletions.store_failed"), &[id.into(), store.into(), reason.into()])?;
    Ok(())
}

/// The stores that hold something of an object, by the record, also those that are out of use.
pub fn holders(tx: &mut dyn Transaction, object: ObjectId) -> Result<Vec<String>, RegistryError> {
    let rows = tx.query(Statement("deletions.holders"), &[object.into()])?;
    rows.iter().map(|row| Ok(row.text("store")?.to_owned())).collect()
}

/// The keys of the bytes that were found damaged and are kept as evidence, of what a deletion has removed: found before it, or
/// contents that it removed. Inventories and tombstones that were found since hold no deleted bytes.
pub fn evidence(tx: &mut dyn Transaction, deletion: &Deletion) -> Result<Vec<String>, RegistryError> {
    let values = [deletion.object.into(), deletion.files.is_none().into(), deletion.begun_at.into()];
    let rows = tx.query(Statement("deletions.evidence"), &values)?;
    rows.iter().map(|row| Ok(row.text("quarantine_key")?.to_owned())).collect()
}

/// Lets every deletion be carried out in a store once more, of which other content is in use now: a page of them behind `after`.
/// Where the next page begins; none where there is no more.
pub fn reopen_in_store(
    tx: &mut dyn Transaction,
    store: &str,
    after: DeletionId,
    limit: usize,
) -> Result<Option<DeletionId>, RegistryError> {
    let rows = tx.query(Statement("deletions.page_of_store"), &[store.into(), after.into(), limit.into()])?;
    let last = rows.last().map(|row| row.uuid("deletion_id")).transpose()?.map(DeletionId);
    if let Some(last) = last {
        tx.execute(Statement("deletions.store_again"), &[store.into(), after.into(), last.into()])?;
        tx.execute(Statement("deletions.page_not_completed"), &[store.into(), after.into(), last.into()])?;
    }
    Ok(last)
}

/// Lets every deletion of an object and of files of it be carried out once more in a store, which has something of the time before it.
pub fn reopen_of_object_in(tx: &mut dyn Transaction, object: ObjectId, store: &str) -> Result<(), RegistryError> {
    tx.execute(Statement("deletions.in_store_again"), &[object.into(), store.into()])?;
    tx.execute(Statement("deletions.not_completed"), &[object.into()])?;
    Ok(())
}

/// Lets every deletion of an object and of files of it be carried out once more in its stores: `owner`, who no longer held the object, may have
/// put bytes there since. Another owner who holds the object now loses it, since it may be carrying one out, and may have been there before
/// those bytes were.
pub fn reopen_of_object(tx: &mut dyn Transaction, object: ObjectId, owner: Uuid) -> Result<(), RegistryError> {
    tx.execute(Statement("deletions.object_again"), &[object.into()])?;
    tx.execute(Statement("deletions.not_completed"), &[object.into()])?;
    tx.execute(Statement("deletions.take_again"), &[object.into(), owner.into()])?;
    Ok(())
}

/// Removes the entries of paths in every version up to a number; at most [`AT_ONCE`] at a time. The identifiers of their files stay.
pub fn remove_paths(
    tx: &mut dyn Transaction,
    (object, generation, head): (ObjectId, GenerationId, u64),
    paths: &[String],
) -> Result<(), RegistryError> {
    for path in paths {
        let Some(file) = file_of_path(tx, object, path)? else { continue };
        let key = [object.into(), generation.into(), file.into(), head.into()];
        tx.execute(Statement("deletions.keep_entries"), &key)?;
        tx.execute(Statement("deletions.remove_entries"), &key)?;
    }
    Ok(())
}

/// Whether an object was deleted before, as a whole: an earlier generation of it has had paths.
pub fn was_deleted(tx: &mut dyn Transaction, object: ObjectId) -> Result<bool, RegistryError> {
    Ok(tx.query_one(Statement("deletions.was_deleted"), &[object.into()])?.is_some())
}

/// Whether some version of an object, of its present generation, has a file.
pub fn has_entries(tx: &mut dyn Transaction, object: &Object, file: FileId) -> Result<bool, RegistryError> {
    let values = [object.id.into(), object.generation.into(), file.into()];
    Ok(tx.query_one(Statement("deletions.has_entries"), &values)?.is_some())
}

/// The file that an object has, or had, under a logical path.
pub fn file_of_path(tx: &mut dyn Transaction, object: ObjectId, path: &str) -> Result<Option<FileId>, RegistryError> {
    let row = tx.query_one(Statement("deletions.file_of_path"), &[object.into(), path.into()])?;
    row.map(|row| Ok(FileId(row.uuid("id")?))).transpose()
}

/// Removes contents of the versions up to a number that no path has any more, with their copies, by their SHA-512; at most [`AT_ONCE`] at a time.
pub fn remove_contents(
    tx: &mut dyn Transaction,
    (object, generation, head): (ObjectId, GenerationId, u64),
    contents: &[Digest],
) -> Result<(), RegistryError> {
    for content in contents {
        let key = [object.into(), generation.into(), content.as_bytes().into(), head.into()];
        tx.execute(Statement("deletions.keep_content"), &key)?;
        tx.execute(Statement("deletions.remove_copies"), &key)?;
        tx.execute(Statement("deletions.remove_content"), &key)?;
    }
    Ok(())
}

/// Removes some rows of the versions of a generation up to a number: entries, then contents with their copies. Whether all are gone.
pub fn remove_rows(
    tx: &mut dyn Transaction,
    (object, generation): (ObjectId, GenerationId),
    head: u64,
) -> Result<bool, RegistryError> {
    let page = [object.into(), generation.into(), head.into(), AT_ONCE.into()];
    tx.execute(Statement("deletions.keep_all_entries"), &page)?;
    if tx.execute(Statement("deletions.remove_all_entries"), &page)? > 0 {
        return Ok(false);
    }
    tx.execute(Statement("deletions.keep_all_contents"), &page)?;
    tx.execute(Statement("deletions.remove_all_copies"), &page)?;
    Ok(tx.execute(Statement("deletions.remove_all_contents"), &page)? == 0)
}

/// What a version is after a deletion: its number, and the digest of its own inventory where it still has one.
pub type Rewritten = (u64, Option<Digest>);

/// Records what the inventories of versions are now, with how many files and bytes readers see of each; at most [`AT_ONCE`] at a time.
pub fn set_inventories(
    tx: &mut dyn Transaction,
    (object, generation): (ObjectId, GenerationId),
    versions: &[Rewritten],
) -> Result<(), RegistryError> {
    for (number, inventory) in versions {
        let key = [object.into(), generation.into(), (*number).into()];
        let (files, bytes) = totals(tx, &key)?;
        let [object, generation, number] = key;
        let inventory = inventory.map(|digest| digest.as_bytes().to_vec());
        let values = [object, generation, number, inventory.into(), files.into(), bytes.into()];
        tx.execute(Statement("deletions.set_inventory"), &values)?;
    }
    Ok(())
}

fn totals(tx: &mut dyn Transaction, key: &[strongroom_database::Value; 3]) -> Result<(u64, u64), RegistryError> {
    match tx.query_one(Statement("versions.totals"), key)? {
        Some(row) => Ok((row.count("files")?, row.count("bytes")?)),
        None => Ok((0, 0)),
    }
}

/// The last version of an object that was deleted: it holds its record and nothing else.
#[derive(Debug, Clone)]
pub struct LastVersion {
    /// Its identifier.
    pub id: VersionId,
    /// Its number.
    pub number: u64,
    /// The work item that makes it.
    pub item: ItemId,
    /// Why it is made.
    pub message: String,
    /// Who has it made.
    pub user: String,
    /// What the object was.
    pub description: Description,
    /// When it was begun.
    pub created_at: Time,
    /// SHA-512 of its inventory.
    pub inventory: Digest,
    /// The file of its record.
    pub file: FileId,
    /// The logical path of it.
    pub path: String,
    /// The content of it.
    pub content: ContentId,
    /// Its bytes.
    pub size: u64,
    /// Its digests.
    pub digests: Digests,
    /// What it is.
    pub format: Format,
}

/// Settles the deletion of an object: its last version is published.
pub fn settle_whole(tx: &mut dyn Transaction, deletion: &Deletion, last: &LastVersion) -> Result<(), RegistryError> {
    let now = tx.now()?;
    let (object, generation) = (deletion.object, deletion.generation);
    let description = serde_json::to_string(&last.description)
        .map_err(|_| RegistryError::Corrupt { wanted: "a description", found: format!("{:?}", last.description) })?;
    tx.execute(
        Statement("deletions.insert_version"),
        &[
            last.id.into(),
            object.into(),
            generation.into(),
            last.number.into(),
            last.item.into(),
            (&last.message).into(),
            (&last.user).into(),
            description.into(),
            last.created_at.into(),
            last.inventory.as_bytes().into(),
            now.into(),
            true.into(),
        ],
    )?;
    let version = versions::get(tx, last.id)?.filter(|version| version.state == VersionState::Published);
    let version =
        version.ok_or_else(|| RegistryError::NotFound { what: "last version of object", id: object.to_string() })?;
    put_last(tx, &version, last)?;
    tx.execute(Statement("deletions.set_head"), &[object.into(), generation.into(), last.number.into()])?;
    settle(tx, deletion.id)
}

fn put_last(tx: &mut dyn Transaction, version: &Version, last: &LastVersion) -> Result<(), RegistryError> {
    let content = NewContent { id: last.content, size: last.size, digests: last.digests };
    let content = versions::insert_contents(tx, version, std::slice::from_ref(&content))?;
    let content = content.first().copied().unwrap_or(last.content);
    let (file, path, format) = (last.file, last.path.clone(), last.format.clone());
    versions::insert_entries(tx, version, &[NewEntry { file, path, modified: None, content, format }])
}

/// Records that a store has the last version of an object: it was read back there.
pub fn put_last_copy(
    tx: &mut dyn Transaction,
    deletion: &Deletion,
    store: &str,
    (content, key): (ContentId, &str),
) -> Result<(), RegistryError> {
    let copy = BroughtCopy { content, key: key.to_owned(), class: None, proof: CopyProof::Read };
    backfill::put_copies(tx, deletion.institution, deletion.object, store, std::slice::from_ref(&copy))
}

/// Settles the deletion of files: readers see of the object what is left.
pub fn settle_files(tx: &mut dyn Transaction, deletion: &Deletion, head: u64) -> Result<(), RegistryError> {
    let now = tx.now()?;
    let key = [deletion.object.into(), deletion.generation.into(), head.into()];
    let (files, bytes) = totals(tx, &key)?;
    let [object, generation, _] = key;
    tx.execute(
        Statement("deletions.set_totals_of_object"),
        &[object, generation, files.into(), bytes.into(), now.into()],
    )?;
    settle(tx, deletion.id)
}

/// Records that the registry says what is left.
pub fn settle(tx: &mut dyn Transaction, id: DeletionId) -> Result<(), RegistryError> {
    let now = tx.now()?;
    tx.execute(Statement("deletions.settle"), &[id.into(), now.into()])?;
    get(tx, id)?.map_or(Ok(()), |deletion| statistics::mark(tx, deletion.object))
}

/// Records that a deletion was carried out in every store, where that is so. Whether it is.
pub fn complete(tx: &mut dyn Transaction, id: DeletionId) -> Result<bool, RegistryError> {
    let now = tx.now()?;
    tx.execute(Statement("deletions.complete"), &[id.into(), now.into()])?;
    Ok(get(tx, id)?.is_some_and(|deletion| deletion.state == DeletionState::Completed))
}

/// Keeps what a record says of contents that are not in the stores any more: for the events that name them.
pub fn keep_recorded(
    tx: &mut dyn Transaction,
    (object, generation): (ObjectId, GenerationId),
    version: u64,
    files: &[(FileId, ContentId, u64, Digests)],
) -> Result<(), RegistryError> {
    for (file, content, size, digests) in files {
        tx.execute(
            Statement("deletions.keep_recorded"),
            &[
                (*content).into(),
                object.into(),
                generation.into(),
                digests.sha512.as_bytes().into(),
                (*size).into(),
                digests.md5.as_bytes().into(),
                digests.sha1.as_bytes().into(),
                digests.sha256.as_bytes().into(),
                version.into(),
            ],
        )?;
        tx.execute(Statement("deletions.keep_recorded_entry"), &[(*file).into(), (*content).into()])?;
    }
    Ok(())
}

fn row(row: &Row) -> Result<Deletion, RegistryError> {
    Ok(Deletion {
        id: DeletionId(row.uuid("id")?),
        item: row.optional_uuid("item_id")?.map(ItemId),
        institution: InstitutionId(row.uuid("institution_id")?),
        object: ObjectId(row.uuid("object_id")?),
        generation: GenerationId(row.uuid("generation")?),
        files: optional_count(row, "files")?,
        state: row.text("state")?.parse()?,
        name: row.text("name")?.to_owned(),
        tombstone: row.text("tombstone")?.to_owned(),
        begun_at: row.time("begun_at")?,
        settled_at: row.optional_time("settled_at")?,
        completed_at: row.optional_time("completed_at")?,
    })
}
