//! Files, contents and copies of a version made from what the preservation stores say. Part of [`crate::rebuild`].

use jiff::Timestamp;
use strongroom_database::{Statement, Time, Transaction};
use strongroom_digest::Digest;

use crate::deletions;
use crate::interim::digest;
use crate::versions::ContentPlace;
use crate::{
    ContentId, Digests, FileId, Format, GenerationId, InstitutionId, ObjectId, RegistryError, VersionId, statistics,
};

/// A file that got a content with a version.
#[derive(Debug, Clone)]
pub struct RecordedFile {
    /// The file.
    pub file: FileId,
    /// Its logical path.
    pub path: String,
    /// When it was last modified.
    pub modified: Option<Timestamp>,
    /// The content.
    pub content: ContentId,
    /// Bytes.
    pub size: u64,
    /// All four.
    pub digests: Digests,
    /// What it is.
    pub format: Format,
    /// Whether the stores still hold the content: bytes that were taken out have no row.
    pub has_content: bool,
    /// Whether the version still has the path.
    pub has_entry: bool,
    /// The version under whose identifier the content lies, where it does.
    pub owner: Option<VersionId>,
}

/// Puts the files of a version; three rows each at most, so a third of [`ROWS_AT_ONCE`](crate::versions::ROWS_AT_ONCE) at a time.
pub fn put_files(
    tx: &mut dyn Transaction,
    object: ObjectId,
    generation: GenerationId,
    version: u64,
    created_at: Time,
    files: &[RecordedFile],
) -> Result<(), RegistryError> {
    tx.execute_each(
        Statement("files.insert"),
        &mut files.iter().map(|file| {
            let modified = file.modified.map(Time::from);
            vec![file.file.into(), object.into(), (&file.path).into(), modified.into(), created_at.into()]
        }),
    )?;
    tx.execute_each(
        Statement("contents.insert"),
        &mut files.iter().filter(|file| file.has_content).map(|file| {
            vec![
                file.content.into(),
                object.into(),
                generation.into(),
                file.digests.sha512.as_bytes().into(),
                file.size.into(),
                file.digests.md5.as_bytes().into(),
                file.digests.sha1.as_bytes().into(),
                file.digests.sha256.as_bytes().into(),
                version.into(),
                created_at.into(),
                file.owner.into(),
            ]
        }),
    )?;
    let gone = files.iter().filter(|file| !(file.has_entry && file.has_content));
    let gone: Vec<_> = gone.map(|file| (file.file, file.content, file.size, file.digests)).collect();
    deletions::keep_recorded(tx, (object, generation), version, &gone)?;
    tx.execute_each(
        Statement("entries.insert"),
        &mut files.iter().filter(|file| file.has_entry && file.has_content).map(|file| {
            let mut values =
                vec![object.into(), file.file.into(), generation.into(), version.into(), file.content.into()];
            values.extend(file.format.values());
            values
        }),
    )?;
    Ok(())
}

/// Puts that a version does not have these files any more, by their identifiers and logical paths; at most
/// [`ROWS_AT_ONCE`](crate::versions::ROWS_AT_ONCE) at a time.
pub fn put_removals(
    tx: &mut dyn Transaction,
    object: ObjectId,
    generation: GenerationId,
    version: u64,
    removed: &[FileId],
) -> Result<(), RegistryError> {
    for file in removed {
        let parameters = [object.into(), (*file).into(), generation.into(), version.into()];
        tx.execute(Statement("rebuild.insert_removal"), &parameters)?;
    }
    Ok(())
}

/// A content and where its bytes should lie.
#[derive(Debug, Clone)]
pub struct RecordedContent {
    /// Its identifier.
    pub id: ContentId,
    /// Its SHA-512.
    pub sha512: Digest,
    /// Bytes.
    pub size: u64,
    /// Where they lie in the object.
    pub place: ContentPlace,
    /// When that version was begun.
    pub created_at: Time,
}

/// Contents of a generation that have no copy in a store by the record, in order of their SHA-512, after `after`.
pub fn uncopied(
    tx: &mut dyn Transaction,
    object: ObjectId,
    generation: GenerationId,
    store: &str,
    after: Option<Digest>,
    limit: usize,
) -> Result<Vec<RecordedContent>, RegistryError> {
    let after = after.map_or_else(Vec::new, |digest| digest.as_bytes().to_vec());
    let values = [object.into(), generation.into(), after.into(), limit.into(), store.into()];
    tx.query(Statement("rebuild.uncopied"), &values)?
        .iter()
        .map(|row| {
            Ok(RecordedContent {
                id: ContentId(row.uuid("id")?),
                sha512: digest(row, "sha512")?,
                size: row.count("size")?,
                place: ContentPlace {
                    version: row.count("version")?,
                    owner: row.optional_uuid("version_id")?.map(VersionId),
                },
                created_at: row.time("created_at")?,
            })
        })
        .collect()
}

/// A copy that a store was seen to hold.
#[derive(Debug, Clone)]
pub struct RecordedCopy {
    /// The content.
    pub content: ContentId,
    /// Its key in the store.
    pub key: String,
    /// Its storage class.
    pub class: Option<String>,
    /// When it was put, as far as is known.
    pub stored_at: Time,
}

/// Puts copies, which are due to be checked at once; at most [`ROWS_AT_ONCE`](crate::versions::ROWS_AT_ONCE) at a time.
pub fn put_copies(
    tx: &mut dyn Transaction,
    institution: InstitutionId,
    object: ObjectId,
    store: &str,
    copies: &[RecordedCopy],
) -> Result<(), RegistryError> {
    tx.execute_each(
        Statement("rebuild.insert_copy"),
        &mut copies.iter().map(|copy| {
            vec![
                copy.content.into(),
                store.into(),
                institution.into(),
                object.into(),
                (&copy.key).into(),
                copy.class.clone().into(),
                copy.stored_at.into(),
            ]
        }),
    )?;
    statistics::mark(tx, object)
}
