//! What lies in the receiving stores: a row for each name, what was submitted of it, and where the listings continue. What a
//! scan of a store means is decided above; here rows are kept.

use strongroom_database::{Row, Statement, Time, Transaction, Value};
use uuid::Uuid;

use crate::items::Item;
use crate::work::Claim;
use crate::{InstitutionId, ItemId, RegistryError, Scope, UploadId, UploadState, items, work};

/// An upload as it was last seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Upload {
    /// Its identifier in records.
    pub id: UploadId,
    /// Whose it is.
    pub institution: InstitutionId,
    /// The institution's domain name.
    pub institution_identifier: String,
    /// The store it lies in.
    pub store: String,
    /// Its key; with a slash at the end for a folder, of which all keys together are one upload.
    pub key: String,
    /// The etag, or for a folder a digest over keys and etags.
    pub etag: String,
    /// Bytes.
    pub size: u64,
    /// What became of it.
    pub state: UploadState,
    /// The same in words, where there is more to say.
    pub note: Option<String>,
    /// The latest work item made of it.
    pub item: Option<ItemId>,
    /// When it was first seen under this name.
    pub first_seen_at: Time,
    /// The first look that found it as it is.
    pub changed_at: Time,
    /// When it is removed from the store, for what is invalid; when it is inspected again, for what was published and is
    /// not removed because its object is not whole.
    pub remove_after: Option<Time>,
    /// When the notice of its removal was delivered.
    pub warned_at: Option<Time>,
}

/// Where the listing of a place goes on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cursor {
    /// The last key that was seen.
    pub after_key: String,
    /// The last upload of which all keys were seen.
    pub after_upload: String,
    /// What is known of a folder whose keys were not all seen.
    pub folder: Option<String>,
    /// When the listing came so far.
    pub looked_at: Option<Time>,
}

/// Where the listing of a place goes on; at its beginning where nothing is known.
pub fn cursor(tx: &mut dyn Transaction, store: &str, institution: InstitutionId) -> Result<Cursor, RegistryError> {
    let row = tx.query_one(Statement("receiving.cursor"), &[store.into(), institution.into()])?;
    let Some(row) = row else { return Ok(Cursor::default()) };
    Ok(Cursor {
        after_key: row.text("after_key")?.to_owned(),
        after_upload: row.text("after_upload")?.to_owned(),
        folder: row.optional_text("folder")?.map(str::to_owned),
        looked_at: Some(row.time("looked_at")?),
    })
}

/// Keeps where the listing of a place goes on.
pub fn put_cursor(
    tx: &mut dyn Transaction,
    store: &str,
    institution: InstitutionId,
    cursor: &Cursor,
) -> Result<(), RegistryError> {
    let now = tx.now()?;
    let values: [Value; 6] = [
        store.into(),
        institution.into(),
        (&cursor.after_key).into(),
        (&cursor.after_upload).into(),
        cursor.folder.clone().into(),
        now.into(),
    ];
    tx.execute(Statement("receiving.put_cursor"), &values)?;
    Ok(())
}

/// The next listing of a place begins at its beginning.
pub fn drop_cursor(tx: &mut dyn Transaction, store: &str, institution: InstitutionId) -> Result<(), RegistryError> {
    tx.execute(Statement("receiving.drop_cursor"), &[store.into(), institution.into()])?;
    Ok(())
}

/// Uploads of a store in order of their keys, after one key up to another.
pub fn between(
    tx: &mut dyn Transaction,
    store: &str,
    after: &str,
    to: &str,
    limit: usize,
) -> Result<Vec<Upload>, RegistryError> {
    let values = [store.into(), after.into(), to.into(), limit.into()];
    tx.query(Statement("receiving.between"), &values)?.iter().map(upload_row).collect()
}

/// An upload, or none within the scope.
pub fn get(tx: &mut dyn Transaction, scope: Scope, id: UploadId) -> Result<Option<Upload>, RegistryError> {
    tx.query_one(Statement("receiving.get"), &[id.into(), scope.value()])?.as_ref().map(upload_row).transpose()
}

/// The upload that a work item was made of, while no newer item was.
pub fn of_item(tx: &mut dyn Transaction, item: ItemId) -> Result<Option<Upload>, RegistryError> {
    tx.query_one(Statement("receiving.of_item"), &[item.into()])?.as_ref().map(upload_row).transpose()
}

/// Uploads in order of their first sight, after `after`; also those that no longer lie there when `gone_too`.
pub fn list(
    tx: &mut dyn Transaction,
    scope: Scope,
    gone_too: bool,
    after: Option<UploadId>,
    limit: usize,
) -> Result<Vec<Upload>, RegistryError> {
    let only_there = (!gone_too).then_some(true);
    let values = [after_value(after), scope.value(), only_there.into(), limit.into()];
    tx.query(Statement("receiving.list"), &values)?.iter().map(upload_row).collect()
}

/// What asks for an act beside the scans of the stores.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Due {
    /// Submitted, and the work item has ended.
    Ended,
    /// Failed, invalid or cancelled, and a process took its work item up again.
    Reopened,
    /// Invalid and to be removed by then, and no notice of it was delivered.
    Warning(Time),
    /// Invalid and to be removed by the first time, and its notice was delivered by the second.
    Expiry(Time, Time),
    /// To be removed, no worker is at it, and not put off beyond this time.
    Removal(Time),
}

/// Uploads for which something is due, in order of their first sight, after `after`.
pub fn due(
    tx: &mut dyn Transaction,
    due: Due,
    after: Option<UploadId>,
    limit: usize,
) -> Result<Vec<Upload>, RegistryError> {
    let (statement, times) = match due {
        Due::Ended => (Statement("receiving.ended"), vec![]),
        Due::Reopened => (Statement("receiving.reopened"), vec![]),
        Due::Warning(by) => (Statement("receiving.to_warn"), vec![by]),
        Due::Expiry(by, warned_by) => (Statement("receiving.to_expire"), vec![by, warned_by]),
        Due::Removal(by) => (Statement("receiving.to_remove"), vec![by]),
    };
    let mut values: Vec<Value> = vec![after_value(after), limit.into()];
    values.extend(times.into_iter().map(Value::from));
    tx.query(statement, &values)?.iter().map(upload_row).collect()
}

fn after_value(after: Option<UploadId>) -> Value {
    after.unwrap_or(UploadId(Uuid::nil())).into()
}

/// What a look found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScannedUpload {
    /// See [`Upload::key`].
    pub key: String,
    /// See [`Upload::etag`].
    pub etag: String,
    /// See [`Upload::size`].
    pub size: u64,
}

/// Records the first scan of something.
pub fn first_seen(
    tx: &mut dyn Transaction,
    store: &str,
    institution: InstitutionId,
    seen: &ScannedUpload,
) -> Result<(), RegistryError> {
    let now = tx.now()?;
    let values: [Value; 7] = [
        UploadId::new().into(),
        institution.into(),
        store.into(),
        (&seen.key).into(),
        (&seen.etag).into(),
        seen.size.into(),
        now.into(),
    ];
    tx.execute(Statement("receiving.insert"), &values)?;
    Ok(())
}

/// Keeps what an upload was seen to be, when that is not what it was: it settles anew.
pub fn changed(tx: &mut dyn Transaction, id: UploadId, etag: &str, size: u64) -> Result<(), RegistryError> {
    let now = tx.now()?;
    tx.execute(Statement("receiving.changed"), &[id.into(), etag.into(), size.into(), now.into()])?;
    Ok(())
}

/// What becomes of an upload.
#[derive(Debug, Clone)]
pub struct Fate {
    /// Its state.
    pub state: UploadState,
    /// In words.
    pub note: Option<String>,
    /// The work item made of it, where it is a new one.
    pub item: Option<ItemId>,
    /// When it is to be removed.
    pub remove_after: Option<Time>,
    /// When its institution was warned of that.
    pub warned_at: Option<Time>,
}

impl Fate {
    /// A state and its words.
    pub fn new(state: UploadState, note: impl Into<String>) -> Self {
        let note = Some(note.into()).filter(|note| !note.is_empty());
        Self { state, note, item: None, remove_after: None, warned_at: None }
    }
}

/// Keeps what becomes of an upload.
pub fn decide(tx: &mut dyn Transaction, id: UploadId, fate: &Fate) -> Result<(), RegistryError> {
    let values: [Value; 6] = [
        id.into(),
        fate.state.as_str().into(),
        fate.note.clone().into(),
        fate.item.into(),
        fate.remove_after.into(),
        fate.warned_at.into(),
    ];
    tx.execute(Statement("receiving.decide"), &values)?;
    Ok(())
}

/// The upload that a work item took in, where it is still as it was ingested and is to be removed.
pub fn to_remove(tx: &mut dyn Transaction, item: ItemId, etag: &str) -> Result<Option<Upload>, RegistryError> {
    let is_meant = |upload: &Upload| {
        let was_left_alone =
            matches!(upload.state, UploadState::Submitted | UploadState::Published | UploadState::Removing);
        was_left_alone && upload.etag == etag
    };
    Ok(of_item(tx, item)?.filter(is_meant))
}

/// Decides for a work item's worker what becomes of the upload that it took in, where that is still as it was ingested; the
/// upload as it was before.
pub fn decide_ingested(
    tx: &mut dyn Transaction,
    claim: &Claim,
    etag: &str,
    fate: &Fate,
) -> Result<Option<Upload>, RegistryError> {
    work::check_fence(tx, claim)?;
    let Some(upload) = to_remove(tx, claim.item, etag)? else { return Ok(None) };
    decide(tx, upload.id, fate)?;
    Ok(Some(upload))
}

/// Forgets that something lay there.
pub fn drop_upload(tx: &mut dyn Transaction, id: UploadId) -> Result<(), RegistryError> {
    tx.execute(Statement("receiving.delete"), &[id.into()])?;
    Ok(())
}

/// The work item that was made of these bytes under this name.
pub fn receipt(tx: &mut dyn Transaction, store: &str, key: &str, etag: &str) -> Result<Option<ItemId>, RegistryError> {
    let row = tx.query_one(Statement("receiving.receipt"), &[store.into(), key.into(), etag.into()])?;
    Ok(row.map(|row| row.uuid("item_id")).transpose()?.map(ItemId))
}

/// Remembers that a work item was made of an upload as it is.
pub fn put_receipt(tx: &mut dyn Transaction, upload: &Upload, item: ItemId) -> Result<(), RegistryError> {
    let now = tx.now()?;
    let values: [Value; 5] =
        [(&upload.store).into(), (&upload.key).into(), (&upload.etag).into(), item.into(), now.into()];
    tx.execute(Statement("receiving.put_receipt"), &values)?;
    Ok(())
}

/// Forgets an upload as it is, so that the next look takes it up as if it were new. Refused while it is worked on.
pub fn forget(tx: &mut dyn Transaction, scope: Scope, id: UploadId) -> Result<Upload, RegistryError> {
    let upload = get(tx, scope, id)?.ok_or_else(|| RegistryError::NotFound { what: "upload", id: id.to_string() })?;
    let is_open = match upload.item {
        Some(item) => items::get(tx, Scope::System, item)?.is_some_and(|item| !item.status.is_ended()),
        None => false,
    };
    if is_open || upload.state == UploadState::Removing {
        return Err(RegistryError::State {
            what: "upload",
            id: id.to_string(),
            state: upload.state.to_string(),
            act: "forget it before that has ended".into(),
        });
    }
    let values: [Value; 3] = [(&upload.store).into(), (&upload.key).into(), (&upload.etag).into()];
    tx.execute(Statement("receiving.drop_receipt"), &values)?;
    drop_upload(tx, id)?;
    Ok(upload)
}

/// The work items that wait of the same source, but for a newer one.
pub fn waiting_of_source(
    tx: &mut dyn Transaction,
    institution: InstitutionId,
    object_identifier: &str,
    source: &str,
    newer: ItemId,
) -> Result<Vec<Item>, RegistryError> {
    let values = [institution.into(), object_identifier.into(), source.into(), newer.into()];
    let mut found = Vec::new();
    for row in tx.query(Statement("receiving.waiting_of_source"), &values)? {
        found.push(items::find(tx, Scope::System, ItemId(row.uuid("id")?))?);
    }
    Ok(found)
}

/// Whether an upload that became this work item is being removed from its store.
pub fn is_removing(tx: &mut dyn Transaction, item: ItemId) -> Result<bool, RegistryError> {
    let row = tx.query_one(Statement("receiving.is_removing"), &[item.into()])?;
    Ok(row.map_or(Ok(false), |row| row.bool("is_removing"))?)
}

fn upload_row(row: &Row) -> Result<Upload, RegistryError> {
    Ok(Upload {
        id: UploadId(row.uuid("id")?),
        institution: InstitutionId(row.uuid("institution_id")?),
        institution_identifier: row.text("institution_identifier")?.to_owned(),
        store: row.text("store")?.to_owned(),
        key: row.text("key")?.to_owned(),
        etag: row.text("etag")?.to_owned(),
        size: row.count("size")?,
        state: row.text("state")?.parse()?,
        note: row.optional_text("note")?.map(str::to_owned),
        item: row.optional_uuid("item_id")?.map(ItemId),
        first_seen_at: row.time("first_seen_at")?,
        changed_at: row.time("changed_at")?,
        remove_after: row.optional_time("remove_after")?,
        warned_at: row.optional_time("warned_at")?,
    })
}
