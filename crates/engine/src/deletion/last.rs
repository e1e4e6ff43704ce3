//! The last version of an object that is deleted: its record says what the object was, and that it was deleted. A registry that is made
//! from the stores knows the object by it.

use strongroom_digest::{Algorithm, Digest, hash_reader};
use strongroom_ocfl::PurgeScope;
use strongroom_registry::deletions::{self, Deletion, LastVersion};
use strongroom_registry::events::EventRow;
use strongroom_registry::objects::Object;
use strongroom_registry::{
    ContentId, Description, Digests, FileId, InstitutionId, ItemId, RegistryError, Time, Transaction, VersionId,
};

use super::carrying_out::last_key;
use super::tombstone::{self, DeletionLog};
use strongroom_storage::Key;

use crate::EngineError;
use crate::hold::OperationError;
use crate::record::{self, HarvestedFrom, Line, VersionLine};

/// What the record of the last version is made of.
pub(super) struct NewLast<'a> {
    pub(super) object: &'a Object,
    pub(super) institution: (InstitutionId, &'a str),
    pub(super) version: (VersionId, u64),
    pub(super) item: ItemId,
    pub(super) created_at: Time,
    pub(super) message: &'a str,
    pub(super) user: &'a str,
    /// What the newest version said of the object.
    pub(super) description: Description,
    pub(super) file: FileId,
    pub(super) event: &'a EventRow,
}

/// The record of the last version.
pub(super) fn record_of(new: NewLast<'_>) -> Result<String, OperationError> {
    let NewLast { object, institution: (institution_id, institution_name), version: (version_id, version), .. } = new;
    let line = VersionLine {
        form: record::FORM,
        institution: object.institution_identifier.clone(),
        institution_id,
        institution_name: institution_name.to_owned(),
        collection: object.collection_identifier.clone(),
        object: object.id,
        identifier: object.identifier.clone(),
        ark: object.ark.clone(),
        object_created_at: object.created_at.0,
        generation: object.generation,
        version,
        version_id,
        created_at: new.created_at.0,
        message: new.message.to_owned(),
        user: new.user.to_owned(),
        harvested_from: HarvestedFrom::Stated(None),
        item: new.item,
        description: Description { part: None, ..new.description },
        own_file: new.file,
        own_content: ContentId::new(),
    };
    let mut text = Vec::new();
    let unwritable = |error: std::io::Error| EngineError::Usage(format!("could not write the record: {error}"));
    record::write_line(&mut text, &Line::Version(Box::new(line))).map_err(unwritable)?;
    record::write_line(&mut text, &Line::Event(Box::new(new.event.clone()))).map_err(unwritable)?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}

/// The first line of the record.
fn first_line(content: &str) -> Result<VersionLine, EngineError> {
    match content.lines().next().map(serde_json::from_str::<Line>) {
        Some(Ok(Line::Version(line))) => Ok(*line),
        _ => Err(EngineError::Usage("the record of the last version cannot be read".to_owned())),
    }
}

/// The file of the record relative to the object root, and what it says; none where files were deleted.
pub(crate) fn last_record(deletion: &Deletion, root: &Key) -> Result<Option<(String, String)>, EngineError> {
    let log = tombstone::of(deletion)?;
    let PurgeScope::Object { content, .. } = &log.plan.scope else { return Ok(None) };
    let key = last_key(&log, root)?.and_then(|(key, _)| key.below(root).map(str::to_owned));
    Ok(key.map(|file| (file, content.clone())))
}

/// The inventories that the deletion of an object leaves to its older versions: the number of each, and the digest.
pub(crate) fn emptied(deletion: &Deletion) -> Result<Vec<(u64, Digest)>, EngineError> {
    let plan = tombstone::of(deletion)?.plan;
    let rewritten = plan.inventories.iter().filter_map(|(number, one)| Some((number, one.after?.digest)));
    let made = plan.made.iter().map(|(number, seal)| (number, seal.digest));
    Ok(rewritten.chain(made).map(|(number, digest)| (u64::from(number.number()), digest)).collect())
}

/// The content of the record; none where files are deleted.
pub(super) fn content_of(log: &DeletionLog) -> Result<Option<ContentId>, EngineError> {
    match &log.plan.scope {
        PurgeScope::Object { content, .. } => Ok(Some(first_line(content)?.own_content)),
        PurgeScope::Paths { .. } => Ok(None),
    }
}

/// The rows of the last version; none where files are deleted.
pub(super) fn rows_of(log: &DeletionLog) -> Result<Option<LastVersion>, EngineError> {
    let PurgeScope::Object { path, content, .. } = &log.plan.scope else { return Ok(None) };
    let line = first_line(content)?;
    let failed = |source| strongroom_ocfl::OcflError::Io { act: "hash a record", source };
    let (size, digests) = hash_reader(content.as_bytes(), &Algorithm::RECORDED).map_err(failed)?;
    let digest = |algorithm| {
        digests
            .get(algorithm)
            .ok_or_else(|| EngineError::Usage(format!("the {algorithm} of a record was not computed")))
    };
    Ok(Some(LastVersion {
        id: line.version_id,
        number: line.version,
        item: line.item,
        message: line.message,
        user: line.user,
        description: line.description,
        created_at: Time(line.created_at),
        inventory: log.plan.after.digest,
        file: line.own_file,
        path: path.clone(),
        content: line.own_content,
        size,
        digests: Digests {
            md5: digest(Algorithm::Md5)?,
            sha1: digest(Algorithm::Sha1)?,
            sha256: digest(Algorithm::Sha256)?,
            sha512: digest(Algorithm::Sha512)?,
        },
        format: record::format(),
    }))
}

/// The file of the record of a version: the one that has had its path, or a new one.
pub(super) fn file_of(tx: &mut dyn Transaction, object: &Object, version: u64) -> Result<FileId, RegistryError> {
    Ok(deletions::file_of_path(tx, object.id, &record::path(version))?.unwrap_or_else(FileId::new))
}
