//! How a version becomes true in the record: prepared row by row, committed, published. Every write carries the fence of
//! the work item that makes the version; readers see nothing of it before it is published.

use strongroom_database::{DatabaseError, Row, Statement, Time, Transaction};
use strongroom_digest::Digest;

pub(crate) use super::publishing::set_head;
pub use super::publishing::{commit, publish};
use crate::events::{self, EventRow};
use crate::interim::{self, digest};
pub use crate::model::version::{ContentPlace, NewContent, NewEntry, NewVersion, Version};
use crate::work::{self, Claim};
use crate::{
    ContentId, FileId, GenerationId, InstitutionId, ItemId, ObjectId, RegistryError, VersionId, VersionState,
    discarding,
};

/// At most this many rows change in one transaction, so that no other writer waits long.
pub const ROWS_AT_ONCE: usize = 1_000;

/// Begins a version, or returns the one that this item began before. Refused while a discarded version of that number still
/// has rows, or bytes in a store.
pub fn prepare(tx: &mut dyn Transaction, claim: &Claim, new: &NewVersion<'_>) -> Result<Version, RegistryError> {
    work::check_fence(tx, claim)?;
    if let Some(version) = of_item(tx, claim.item)? {
        return Ok(version);
    }
    let now = tx.now()?;
    let description = serde_json::to_string(new.description)
        .map_err(|_| RegistryError::Corrupt { wanted: "a description", found: format!("{:?}", new.description) })?;
    let made = tx.query_one(
        Statement("versions.insert"),
        &[
            VersionId::new().into(),
            new.object.into(),
            new.generation.into(),
            new.number.into(),
            VersionState::Preparing.as_str().into(),
            claim.item.into(),
            new.message.into(),
            new.user.into(),
            description.into(),
            now.into(),
            new.harvested_from.map(|origin| origin.location.as_str()).into(),
            new.harvested_from.and_then(|origin| origin.part.as_deref()).into(),
        ],
    )?;
    tx.execute(Statement("items.set_version"), &[claim.item.into(), claim.fence.into(), new.number.into()])?;
    made.as_ref()
        .map(version_row)
        .transpose()?
        .ok_or_else(|| RegistryError::NotFound { what: "version of work item", id: claim.item.to_string() })
}

/// The version that an item makes or made, unless it was discarded.
pub fn of_item(tx: &mut dyn Transaction, item: ItemId) -> Result<Option<Version>, RegistryError> {
    tx.query_one(Statement("versions.of_item"), &[item.into()])?.as_ref().map(version_row).transpose()
}

/// A version that readers see, by what it is called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedVersion {
    /// Its identifier.
    pub id: VersionId,
    /// The identifier of its object.
    pub object: String,
    /// From 1, within the generation of the object.
    pub number: u64,
    /// When readers first saw it.
    pub published_at: Time,
}

/// The version that an item of an institution has published.
pub fn published_of_item(
    tx: &mut dyn Transaction,
    institution: InstitutionId,
    item: ItemId,
) -> Result<Option<NamedVersion>, RegistryError> {
    let row = tx.query_one(Statement("versions.published_of_item"), &[item.into(), institution.into()])?;
    let version = |row: &Row| {
        Ok(NamedVersion {
            id: VersionId(row.uuid("id")?),
            object: row.text("identifier")?.to_owned(),
            number: row.count("number")?,
            published_at: row.time("published_at")?,
        })
    };
    row.as_ref().map(version).transpose()
}

/// The version of an object that is being prepared or committed.
pub fn open_of_object(tx: &mut dyn Transaction, object: ObjectId) -> Result<Option<Version>, RegistryError> {
    tx.query_one(Statement("versions.open_of_object"), &[object.into()])?.as_ref().map(version_row).transpose()
}

/// Published versions of a generation, oldest first; the one being committed too, when `committing`.
pub fn list(
    tx: &mut dyn Transaction,
    object: ObjectId,
    generation: GenerationId,
    committing: bool,
) -> Result<Vec<Version>, RegistryError> {
    let also = if committing { VersionState::Committing } else { VersionState::Published };
    tx.query(Statement("versions.list"), &[object.into(), generation.into(), also.as_str().into()])?
        .iter()
        .map(version_row)
        .collect()
}

/// The last published version of a generation before a number.
pub fn published_before(
    tx: &mut dyn Transaction,
    object: ObjectId,
    generation: GenerationId,
    number: u64,
) -> Result<Option<Version>, RegistryError> {
    let values = [object.into(), generation.into(), number.into()];
    tx.query_one(Statement("versions.before"), &values)?.as_ref().map(version_row).transpose()
}

/// The discarded versions of a generation that keep their numbers, oldest first.
pub(crate) fn unswept_of_generation(
    tx: &mut dyn Transaction,
    generation: GenerationId,
) -> Result<Vec<Version>, RegistryError> {
    tx.query(Statement("rebuild.unswept_of_generation"), &[generation.into()])?.iter().map(version_row).collect()
}

/// The versions of a generation that were not dropped, oldest first.
pub(crate) fn of_generation(tx: &mut dyn Transaction, generation: GenerationId) -> Result<Vec<Version>, RegistryError> {
    tx.query(Statement("rebuild.of_generation"), &[generation.into()])?.iter().map(version_row).collect()
}

/// Refuses rows for a version that is not being prepared: one that was dropped or committed meanwhile.
fn check_preparing(tx: &mut dyn Transaction, version: &Version, act: &str) -> Result<(), RegistryError> {
    let state = state_of(tx, version)?;
    if state == VersionState::Preparing {
        return Ok(());
    }
    Err(refusal(version, state, act))
}

/// Refuses a worker that has lost its item, or whose version was discarded by another who holds the object: the fence of the
/// item alone does not say that. Rows come only to a version that is being prepared.
pub(crate) fn check_claimed(
    tx: &mut dyn Transaction,
    claim: &Claim,
    version: &Version,
    act: &str,
) -> Result<(), RegistryError> {
    match claimed_state(tx, claim, version)? {
        VersionState::Preparing => Ok(()),
        state => Err(refusal(version, state, act)),
    }
}

/// The version's state now, for a worker whose claim is current: as [`work::check_fence`] and [`state_of`], in one statement. In
/// the transaction that ends a stage, which checks the fence itself and where others write at the same time, the version keeps that
/// state until its end, and no store is replaced before it: who replaces one waits, and reads afterwards what was written.
pub(crate) fn claimed_state(
    tx: &mut dyn Transaction,
    claim: &Claim,
    version: &Version,
) -> Result<VersionState, RegistryError> {
    let row = if claim.fence_check.is_by_end() {
        tx.query_one(Statement("versions.lock_state"), &[version.id.into()])?
    } else {
        let values = [claim.item.into(), claim.fence.into(), claim.replacements.to_string().into(), version.id.into()];
        let row = tx.query_one(Statement("items.may_write_version"), &values)?;
        work::may_go_on(claim, row.as_ref())?;
        row
    };
    match row.map(|row| row.optional_text("state").map(|state| state.map(str::to_owned))).transpose()?.flatten() {
        Some(state) => state.parse(),
        None => Err(RegistryError::NotFound { what: "version", id: version.id.to_string() }),
    }
}

/// The version's state now, whatever the caller has read before.
pub(crate) fn state_of(tx: &mut dyn Transaction, version: &Version) -> Result<VersionState, RegistryError> {
    match tx.query_one(Statement("versions.state"), &[version.id.into()])? {
        Some(row) => row.text("state")?.parse(),
        None => Err(RegistryError::NotFound { what: "version", id: version.id.to_string() }),
    }
}

pub(crate) fn refusal(version: &Version, state: VersionState, act: &str) -> RegistryError {
    RegistryError::State {
        what: "version",
        id: version.number.to_string(),
        state: state.to_string(),
        act: act.to_owned(),
    }
}

/// A version by its identifier, whatever became of it.
pub fn get(tx: &mut dyn Transaction, id: VersionId) -> Result<Option<Version>, RegistryError> {
    tx.query_one(Statement("versions.get"), &[id.into()])?.as_ref().map(version_row).transpose()
}

/// Keeps the first line of a version's record, unless one is kept already; the one that is kept.
pub fn freeze_record(
    tx: &mut dyn Transaction,
    claim: &Claim,
    version: &Version,
    head: &str,
) -> Result<String, RegistryError> {
    work::check_fence(tx, claim)?;
    keep_head(tx, version, head)
}

fn keep_head(tx: &mut dyn Transaction, version: &Version, head: &str) -> Result<String, RegistryError> {
    if tx.execute(Statement("versions.freeze_record"), &[version.id.into(), head.into()])? == 1 {
        return Ok(head.to_owned());
    }
    let kept = get(tx, version.id)?.and_then(|version| version.record_head);
    kept.ok_or_else(|| RegistryError::NotFound { what: "record of version", id: version.id.to_string() })
}

/// Puts a content of a version that is being prepared; the identifier of these bytes in the generation. The caller checks its
/// fence in the same transaction.
pub fn put_content(
    tx: &mut dyn Transaction,
    version: &Version,
    content: &NewContent,
) -> Result<ContentId, RegistryError> {
    let put = put_contents(tx, version, std::slice::from_ref(content))?.pop();
    put.ok_or_else(|| RegistryError::NotFound { what: "content", id: content.digests.sha512.to_hex() })
}

/// Puts contents of a version that is being prepared, at most [`ROWS_AT_ONCE`] at a time; the identifiers of their bytes in the
/// generation, in their order. The caller checks its fence in the same transaction.
pub fn put_contents(
    tx: &mut dyn Transaction,
    version: &Version,
    contents: &[NewContent],
) -> Result<Vec<ContentId>, RegistryError> {
    check_preparing(tx, version, "put a content into it")?;
    insert_contents(tx, version, contents)
}

pub(crate) fn insert_contents(
    tx: &mut dyn Transaction,
    version: &Version,
    contents: &[NewContent],
) -> Result<Vec<ContentId>, RegistryError> {
    let now = tx.now()?;
    let put = tx.execute_each(
        Statement("contents.insert"),
        &mut contents.iter().map(|content| {
            vec![
                content.id.into(),
                version.object.into(),
                version.generation.into(),
                content.digests.sha512.as_bytes().into(),
                content.size.into(),
                content.digests.md5.as_bytes().into(),
                content.digests.sha1.as_bytes().into(),
                content.digests.sha256.as_bytes().into(),
                version.number.into(),
                now.into(),
                version.place().owner.into(),
            ]
        }),
    )?;
    if put == contents.len() as u64 {
        return Ok(contents.iter().map(|content| content.id).collect());
    }
    // Bytes that the generation has already keep the identifier that they have.
    let keys = &mut contents.iter().map(|content| {
        vec![version.object.into(), version.generation.into(), content.digests.sha512.as_bytes().into()]
    });
    let found = tx.query_many(Statement("contents.by_digest"), keys)?;
    contents
        .iter()
        .zip(found)
        .map(|(content, row)| {
            let missing = || RegistryError::NotFound { what: "content", id: content.digests.sha512.to_hex() };
            Ok(ContentId(row.ok_or_else(missing)?.uuid("id")?))
        })
        .collect()
}

/// Puts files and their entries; at most [`ROWS_AT_ONCE`] at a time. Repeating it puts nothing twice.
pub fn put_entries(
    tx: &mut dyn Transaction,
    claim: &Claim,
    version: &Version,
    entries: &[NewEntry],
) -> Result<(), RegistryError> {
    check_claimed(tx, claim, version, "put entries into it")?;
    insert_entries(tx, version, entries)
}

pub(crate) fn insert_entries(
    tx: &mut dyn Transaction,
    version: &Version,
    entries: &[NewEntry],
) -> Result<(), RegistryError> {
    let now = tx.now()?;
    tx.execute_each(
        Statement("files.insert"),
        &mut entries.iter().map(|entry| {
            let modified = entry.modified.map(Time::from);
            vec![entry.file.into(), version.object.into(), (&entry.path).into(), modified.into(), now.into()]
        }),
    )?;
    tx.execute_each(
        Statement("entries.insert"),
        &mut entries.iter().map(|entry| {
            let mut values = vec![
                version.object.into(),
                entry.file.into(),
                version.generation.into(),
                version.number.into(),
                entry.content.into(),
            ];
            values.extend(entry.format.values());
            values
        }),
    )?;
    Ok(())
}

/// Puts events of a version that is being prepared; at most [`ROWS_AT_ONCE`] at a time. Repeating it puts nothing twice.
pub fn put_events(
    tx: &mut dyn Transaction,
    claim: &Claim,
    version: &Version,
    rows: &[EventRow],
) -> Result<(), RegistryError> {
    check_claimed(tx, claim, version, "put events into it")?;
    events::append(tx, rows)
}

/// Rows of a version that are put together.
#[derive(Debug, Clone, Default)]
pub struct NewRows {
    /// Contents, whose identifiers nothing else has.
    pub contents: Vec<NewContent>,
    /// Files and their entries.
    pub entries: Vec<NewEntry>,
    /// Events.
    pub events: Vec<EventRow>,
    /// Stores that the version is going to be written to.
    pub stores: Vec<String>,
    /// Facts of the work item about it: names and values.
    pub facts: Vec<(String, String)>,
    /// The first line of its record, unless one is kept already.
    pub head: Option<String>,
}

/// Puts rows of a version that is being prepared, all by one transaction; at most [`ROWS_AT_ONCE`] of each kind at a time.
/// Repeating it puts nothing twice. The first line of the record that is kept, where one was given.
pub fn put_rows(
    tx: &mut dyn Transaction,
    claim: &Claim,
    version: &Version,
    rows: &NewRows,
) -> Result<Option<String>, RegistryError> {
    check_claimed(tx, claim, version, "put rows into it")?;
    if !rows.stores.is_empty() {
        discarding::insert_stores(tx, version, &rows.stores)?;
    }
    if !rows.contents.is_empty() {
        insert_contents(tx, version, &rows.contents)?;
    }
    if !rows.entries.is_empty() {
        insert_entries(tx, version, &rows.entries)?;
    }
    if !rows.events.is_empty() {
        events::append(tx, &rows.events)?;
    }
    interim::put_facts(tx, claim.item, &rows.facts)?;
    rows.head.as_deref().map(|head| keep_head(tx, version, head)).transpose()
}

/// Puts that a version being prepared does not have paths any more: those noted for the item after `after` and up to `last`, at
/// most [`ROWS_AT_ONCE`] at a time. Repeating it puts nothing twice.
pub fn put_removals(
    tx: &mut dyn Transaction,
    claim: &Claim,
    version: &Version,
    (after, last): (&str, &str),
) -> Result<(), RegistryError> {
    check_claimed(tx, claim, version, "take paths out of it")?;
    let parameters = [
        version.object.into(),
        version.generation.into(),
        version.number.into(),
        claim.item.into(),
        after.into(),
        last.into(),
    ];
    tx.execute(Statement("entries.insert_removals"), &parameters)?;
    Ok(())
}

/// The files that a version does not have any more, which the one before had, in byte order of their logical paths, after `after`.
pub fn removals(
    tx: &mut dyn Transaction,
    version: &Version,
    after: &str,
    limit: usize,
) -> Result<Vec<(FileId, String)>, RegistryError> {
    let parameters =
        [version.object.into(), version.generation.into(), version.number.into(), after.into(), limit.into()];
    let rows = tx.query(Statement("versions.removals"), &parameters)?;
    rows.iter().map(|row| Ok((FileId(row.uuid("id")?), row.text("path")?.to_owned()))).collect()
}

/// Hands over every content of a generation up to a version, in order of SHA-512, with where its bytes lie: an inventory's
/// manifest.
pub fn manifest(
    tx: &mut dyn Transaction,
    object: ObjectId,
    generation: GenerationId,
    up_to: u64,
    take: &mut dyn FnMut(Digest, ContentPlace) -> Result<(), DatabaseError>,
) -> Result<(), RegistryError> {
    tx.query_each(Statement("contents.manifest"), &[object.into(), generation.into(), up_to.into()], &mut |row| {
        let sha512 = digest(&row, "sha512").map_err(|error| DatabaseError::Aborted(error.to_string()))?;
        take(
            sha512,
            ContentPlace { version: row.count("version")?, owner: row.optional_uuid("version_id")?.map(VersionId) },
        )
    })?;
    Ok(())
}

/// Hands over the state of a version: SHA-512 and logical path, in order of both.
pub fn state(
    tx: &mut dyn Transaction,
    object: ObjectId,
    generation: GenerationId,
    number: u64,
    take: &mut dyn FnMut(Digest, &str) -> Result<(), DatabaseError>,
) -> Result<(), RegistryError> {
    tx.query_each(Statement("entries.state"), &[object.into(), generation.into(), number.into()], &mut |row| {
        let sha512 = digest(&row, "sha512").map_err(|error| DatabaseError::Aborted(error.to_string()))?;
        take(sha512, row.text("path")?)
    })?;
    Ok(())
}

/// The names of a version's columns that other rows have, too.
struct Columns {
    id: &'static str,
    generation: &'static str,
    state: &'static str,
    description: &'static str,
    files: &'static str,
    bytes: &'static str,
    created_at: &'static str,
}

/// In a row of versions alone.
const OWN: Columns = Columns {
    id: "id",
    generation: "generation",
    state: "state",
    description: "description",
    files: "files",
    bytes: "bytes",
    created_at: "created_at",
};

/// In a row of an object with a version.
const BESIDE_OBJECT: Columns = Columns {
    id: "version_id",
    generation: "version_generation",
    state: "version_state",
    description: "version_description",
    files: "version_files",
    bytes: "version_bytes",
    created_at: "version_created_at",
};

pub(crate) fn version_row(row: &Row) -> Result<Version, RegistryError> {
    version_by(row, &OWN)
}

/// The version in a row of an object with the version that an item makes of it; none where it makes none.
pub(crate) fn version_beside_object(row: &Row) -> Result<Option<Version>, RegistryError> {
    let is_there = row.optional_uuid(BESIDE_OBJECT.id)?.is_some();
    is_there.then(|| version_by(row, &BESIDE_OBJECT)).transpose()
}

fn version_by(row: &Row, columns: &Columns) -> Result<Version, RegistryError> {
    let description = row.text(columns.description)?;
    Ok(Version {
        id: VersionId(row.uuid(columns.id)?),
        object: ObjectId(row.uuid("object_id")?),
        generation: GenerationId(row.uuid(columns.generation)?),
        number: row.count("number")?,
        state: row.text(columns.state)?.parse()?,
        item: row.optional_uuid("item_id")?.map(ItemId),
        message: row.text("message")?.to_owned(),
        user: row.text("user_name")?.to_owned(),
        inventory: row.optional_bytes("inventory_sha512")?.map(|_| digest(row, "inventory_sha512")).transpose()?,
        description: serde_json::from_str(description)
            .map_err(|_| RegistryError::Corrupt { wanted: "a description", found: description.to_owned() })?,
        files: row.count(columns.files)?,
        bytes: row.count(columns.bytes)?,
        created_at: row.time(columns.created_at)?,
        published_at: row.optional_time("published_at")?,
        owns_contents: row.bool("owns_contents")?,
        record_head: row.optional_text("record_head")?.map(str::to_owned),
        swept_at: row.optional_time("swept_at")?,
    })
}
