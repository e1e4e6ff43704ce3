//! Objects.

use serde::Serialize;
use strongroom_registry::objects::Object;
use strongroom_registry::search::Found;
use strongroom_registry::{DeletionRequestId, FileId, Health, ObjectId, ObjectState, Parts};

use crate::content_name::in_package;

/// An object.
#[derive(Debug, Clone, Serialize)]
pub struct ObjectView {
    /// Its identifier.
    pub object: ObjectId,
    /// `<institution>/<name>`.
    pub identifier: String,
    /// Its ARK, where one was minted.
    pub ark: Option<String>,
    /// Identifiers the depositor uses.
    pub local_ids: Vec<String>,
    /// Its title.
    pub title: Option<String>,
    /// Its description.
    pub description: Option<String>,
    /// Who made it.
    pub creator: Option<String>,
    /// When it was made.
    pub date: Option<String>,
    /// What else is known to describe it: fields of Dublin Core and ERC by their names, each a text or a list of them.
    pub metadata: Option<serde_json::Value>,
    /// `consortia`, `institution` or `restricted`.
    pub access: Option<String>,
    /// Whether it is kept.
    pub state: ObjectState,
    /// How its copies are; none where nothing of it is kept.
    pub health: Option<Health>,
    /// `complete`, or `incomplete` where parts of it have not come in.
    pub completeness: &'static str,
    /// How many parts it has, where it comes in parts.
    pub parts: Option<u64>,
    /// The numbers of those that have not come in.
    pub missing_parts: Vec<u64>,
    /// The domain name of its institution.
    pub institution: String,
    /// The short name of its collection.
    pub collection: Option<String>,
    /// The placement its copies belong in.
    pub placement: Option<String>,
    /// The profile it was checked against.
    pub profile: Option<String>,
    /// Which version of that profile; none where that was not recorded.
    pub profile_version: Option<u64>,
    /// `Source-Organization` of its bag.
    pub source_organization: Option<String>,
    /// The open request to delete it, or files of it.
    pub deletion_request: Option<DeletionRequestId>,
    /// How many versions it has.
    pub versions: u64,
    /// The number of the newest.
    pub head: u64,
    /// Files of the newest.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// When it was first deposited.
    pub created_at: String,
    /// When it last changed.
    pub updated_at: String,
    /// How many legal holds forbid its deletion: those on it, on its files and on its collection.
    pub legal_holds: u64,
}

/// An object that was found, with the file where files were looked for.
#[derive(Debug, Clone, Serialize)]
pub struct FoundView {
    /// The object's identifier.
    pub object: ObjectId,
    /// `<institution>/<name>`.
    pub identifier: String,
    /// Its title.
    pub title: Option<String>,
    /// Whether it is kept.
    pub state: ObjectState,
    /// How many versions it has.
    pub versions: u64,
    /// Files of the newest.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// When it was first deposited.
    pub created_at: String,
    /// When it last changed.
    pub updated_at: String,
    /// The identifier of the file.
    pub file: Option<FileId>,
    /// The path of the file in the package.
    pub path: Option<String>,
    /// Bytes of the file.
    pub size: Option<u64>,
    /// The PRONOM identifier of the file's format.
    pub puid: Option<String>,
}

impl From<Found> for FoundView {
    fn from(found: Found) -> Self {
        let file = found.file.as_ref();
        Self {
            file: file.map(|file| file.id),
            path: file.map(|file| in_package(&file.path).to_owned()),
            size: file.map(|file| file.size),
            puid: file.and_then(|file| file.puid.clone()),
            object: found.object,
            identifier: found.identifier,
            title: found.title,
            state: found.state,
            versions: found.head,
            files: found.files,
            bytes: found.bytes,
            created_at: found.created_at.to_string(),
            updated_at: found.updated_at.to_string(),
        }
    }
}

impl ObjectView {
    /// An object, with what came in where it comes in parts, and how many legal holds forbid its deletion.
    pub(crate) fn new(object: Object, parts: Option<&Parts>, health: Option<Health>, legal_holds: u64) -> Self {
        let is_complete = parts.is_none_or(Parts::is_complete);
        Self {
            completeness: if is_complete { "complete" } else { "incomplete" },
            parts: parts.map(Parts::total),
            missing_parts: parts.map(Parts::missing).unwrap_or_default(),
            object: object.id,
            identifier: object.identifier,
            ark: object.ark,
            local_ids: object.description.local_ids,
            title: object.description.title,
            description: object.description.description,
            creator: object.description.creator,
            date: object.description.date,
            metadata: object.description.metadata,
            access: object.description.access,
            state: object.state,
            health,
            institution: object.institution_identifier,
            collection: object.collection_identifier,
            placement: object.description.placement,
            profile: object.description.profile,
            profile_version: object.description.profile_version,
            source_organization: object.description.source_organization,
            deletion_request: None,
            // Versions are numbered without gaps, and the head is the newest.
            versions: object.head,
            head: object.head,
            files: object.files,
            bytes: object.bytes,
            created_at: object.created_at.to_string(),
            updated_at: object.updated_at.to_string(),
            legal_holds,
        }
    }
}
