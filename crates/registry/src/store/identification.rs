//! Formats that were found with other signature files than those in use, and what identifying them anew gave. Records that
//! this program itself puts beside the files of an object have no format to find out.

use serde::{Deserialize, Serialize};
use strongroom_database::{Statement, Transaction};
use strongroom_digest::Digest;
use uuid::Uuid;

use crate::interim::digest;
use crate::{ContentId, FileId, Format, GenerationId, ObjectId, RegistryError, Scope, statistics};

/// An object that has files identified with other signature files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectBehind {
    /// Which.
    pub object: ObjectId,
    /// Whose it is, by domain name.
    pub institution_identifier: String,
}

/// What a path holds from a version on, identified with other signature files.
#[derive(Debug, Clone)]
pub struct FileBehind {
    /// The generation of the object.
    pub generation: GenerationId,
    /// The version.
    pub version: u64,
    /// The file.
    pub file: FileId,
    /// Its logical path, with its prefix.
    pub path: String,
    /// What it holds.
    pub content: ContentId,
    /// Bytes.
    pub size: u64,
    /// SHA-512 of the bytes.
    pub sha512: Digest,
    /// What it was found to be.
    pub format: Format,
}

/// A format for what a path holds from a version on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewFormat {
    /// The version.
    pub version: u64,
    /// The file.
    pub file: FileId,
    /// What it is.
    pub format: Format,
}

/// Objects with files that were not identified with `signatures`, in order of their making, after `after`.
pub fn objects_behind(
    tx: &mut dyn Transaction,
    scope: Scope,
    signatures: &str,
    after: Option<ObjectId>,
    limit: usize,
) -> Result<Vec<ObjectBehind>, RegistryError> {
    let after = after.unwrap_or(ObjectId(Uuid::nil()));
    tx.query(
        Statement("identification.objects_behind"),
        &[after.into(), scope.value(), signatures.into(), limit.into()],
    )?
    .iter()
    .map(|row| {
        Ok(ObjectBehind {
            object: ObjectId(row.uuid("id")?),
            institution_identifier: row.text("identifier")?.to_owned(),
        })
    })
    .collect()
}

/// How many files of an object were not identified with `signatures`, of all its versions, and their bytes.
pub fn amount_behind(
    tx: &mut dyn Transaction,
    object: ObjectId,
    signatures: &str,
) -> Result<(u64, u64), RegistryError> {
    let row = tx.query_one(Statement("identification.amount_behind"), &[object.into(), signatures.into()])?;
    row.map_or(Ok((0, 0)), |row| Ok((row.count("files")?, row.count("bytes")?)))
}

/// Files of an object that were not identified with `signatures`, of all its versions, after one of a version.
pub fn files_behind(
    tx: &mut dyn Transaction,
    object: ObjectId,
    signatures: &str,
    after: Option<(u64, FileId)>,
    limit: usize,
) -> Result<Vec<FileBehind>, RegistryError> {
    let (version, file) = after.unwrap_or((0, FileId(Uuid::nil())));
    tx.query(
        Statement("identification.files_behind"),
        &[object.into(), signatures.into(), version.into(), file.into(), limit.into()],
    )?
    .iter()
    .map(|row| {
        Ok(FileBehind {
            generation: GenerationId(row.uuid("generation")?),
            version: row.count("version")?,
            file: FileId(row.uuid("file_id")?),
            path: row.text("path")?.to_owned(),
            content: ContentId(row.uuid("content_id")?),
            size: row.count("size")?,
            sha512: digest(row, "sha512")?,
            format: Format::of_row(row)?,
        })
    })
    .collect()
}

/// Notes formats; at most [`crate::versions::ROWS_AT_ONCE`] at a time. The caller holds the object, or no other
/// process knows it yet. What was taken out meanwhile stays so.
pub fn set_formats(
    tx: &mut dyn Transaction,
    object: ObjectId,
    generation: GenerationId,
    formats: &[NewFormat],
) -> Result<(), RegistryError> {
    tx.execute_each(
        Statement("identification.set_format"),
        &mut formats.iter().map(|new| {
            let mut values = vec![object.into(), generation.into(), new.version.into(), new.file.into()];
            values.extend(new.format.values());
            values
        }),
    )?;
    statistics::mark(tx, object)
}
