//! What levels of digital preservation ask of the registry: what is kept and what is recorded of it, page by page, and counts that stop at a
//! bound.

use strongroom_database::{Row, Statement, Time, Transaction};
use uuid::Uuid;

use crate::{FileId, GenerationId, ObjectId, RegistryError};

/// An object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExaminedObject {
    /// Its identifier.
    pub id: ObjectId,
    /// Whether it is kept: it has a published version and was not deleted.
    pub is_kept: bool,
    /// Its placement.
    pub placement: Option<String>,
    /// Whether it has a title or a description.
    pub is_described: bool,
}

/// Objects in the order of their identifiers, after one.
pub fn objects(tx: &mut dyn Transaction, after: ObjectId, limit: usize) -> Result<Vec<ExaminedObject>, RegistryError> {
    let rows = tx.query(Statement("levels.objects"), &[after.into(), limit.into()])?;
    let object = |row: &Row| {
        Ok(ExaminedObject {
            id: ObjectId(row.uuid("id")?),
            is_kept: row.bool("is_kept")?,
            placement: row.optional_text("placement")?.map(str::to_owned),
            is_described: row.bool("is_described")?,
        })
    };
    rows.iter().map(object).collect()
}

/// Where a listing of files goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileCursor {
    object: ObjectId,
    generation: GenerationId,
    version: u64,
    file: FileId,
}

impl Default for FileCursor {
    fn default() -> Self {
        let nil = Uuid::nil();
        Self { object: ObjectId(nil), generation: GenerationId(nil), version: 0, file: FileId(nil) }
    }
}

/// How well the format of a file is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KnownFormat {
    /// It is not known.
    Unknown,
    /// It is known by the extension alone, or there is a warning.
    Unverified,
    /// It was found in the bytes, and nothing speaks against it.
    Verified,
}

/// A file as it came into a version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExaminedFile {
    /// Where a listing goes on behind it.
    pub cursor: FileCursor,
    /// Whether it belongs to a published version of an object, and was deposited.
    pub is_kept: bool,
    /// How well its format is known.
    pub format: KnownFormat,
    /// Whether its ingest is recorded: that its digests were compared and computed, and when.
    pub is_recorded: bool,
    /// Whether a virus check of these bytes has found nothing.
    pub is_virus_checked: bool,
}

/// Files in the order of their objects, after a cursor.
pub fn files(tx: &mut dyn Transaction, after: FileCursor, limit: usize) -> Result<Vec<ExaminedFile>, RegistryError> {
    let FileCursor { object, generation, version, file } = after;
    let values = [object.into(), generation.into(), version.into(), file.into(), limit.into()];
    tx.query(Statement("levels.files"), &values)?.iter().map(examined_file).collect()
}

fn examined_file(row: &Row) -> Result<ExaminedFile, RegistryError> {
    let is_identified = row.optional_text("puid")?.is_some();
    let is_by_bytes = row.optional_text("format_method")?.is_some_and(|method| method != "extension");
    let format = match (is_identified, is_by_bytes && row.optional_text("format_warning")?.is_none()) {
        (false, _) => KnownFormat::Unknown,
        (true, false) => KnownFormat::Unverified,
        (true, true) => KnownFormat::Verified,
    };
    Ok(ExaminedFile {
        cursor: FileCursor {
            object: ObjectId(row.uuid("object_id")?),
            generation: GenerationId(row.uuid("generation")?),
            version: row.count("version")?,
            file: FileId(row.uuid("file_id")?),
        },
        is_kept: row.bool("is_kept")?,
        format,
        is_recorded: row.bool("is_recorded")?,
        is_virus_checked: row.bool("is_virus_checked")?,
    })
}

/// How many copies of what is published were never compared with their digest, and whether all were examined: those of deposits on their
/// way are examined as well.
pub fn unverified(tx: &mut dyn Transaction, limit: usize) -> Result<(u64, bool), RegistryError> {
    let Some(row) = tx.query_one(Statement("levels.unverified"), &[limit.into()])? else { return Ok((0, true)) };
    Ok((row.count("unverified")?, row.count("examined")? < limit as u64))
}

/// When the inventories of an object were last checked that wait longest in a store; none where it has none.
pub fn oldest_object_check(tx: &mut dyn Transaction, store: &str) -> Result<Option<Time>, RegistryError> {
    let row = tx.query_one(Statement("levels.oldest_object_check"), &[store.into()])?;
    Ok(row.map_or(Ok(None), |row| row.optional_time("oldest_checked_at"))?)
}

/// How many active users have each role, by its word.
pub fn users(tx: &mut dyn Transaction) -> Result<Vec<(String, u64)>, RegistryError> {
    let rows = tx.query(Statement("levels.users"), &[])?;
    rows.iter().map(|row| Ok((row.text("role")?.to_owned(), row.count("users")?))).collect()
}

/// How many institutions have fewer than two active admins, system admins included.
pub fn without_second_admin(tx: &mut dyn Transaction) -> Result<u64, RegistryError> {
    let row = tx.query_one(Statement("levels.without_second_admin"), &[])?;
    row.map_or(Ok(0), |row| Ok(row.count("institutions")?))
}
