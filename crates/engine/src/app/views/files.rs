//! Files and the copies of their contents.

use serde::Serialize;
use strongroom_registry::objects::{Copy, File};
use strongroom_registry::{CopyState, Digests, FileId, ObjectState};

use crate::content_name::in_package;

/// A file of an object at one version.
#[derive(Debug, Clone, Serialize)]
pub struct FileView {
    /// Its identifier.
    pub file: FileId,
    /// Its path in the package.
    pub path: String,
    /// Bytes.
    pub size: u64,
    /// Its digests.
    pub digests: DigestsView,
    /// The PRONOM identifier of its format.
    pub puid: Option<String>,
    /// The MIME type of that format.
    pub mime: Option<String>,
    /// By what the format was found: its signature, container, text or extension.
    pub format_method: Option<String>,
    /// The name of the format.
    pub format_name: Option<String>,
    /// The version of the format.
    pub format_version: Option<String>,
    /// What the identification rests on, in words.
    pub format_basis: Option<String>,
    /// The names of the signature files that it was identified with.
    pub format_signatures: Option<String>,
    /// What to be wary of.
    pub format_warning: Option<String>,
    /// PRONOM identifiers of other formats that fit as well, with blanks between them.
    pub format_others: Option<String>,
    /// Whether its object is kept.
    pub state: ObjectState,
    /// Its copies in stores that are in use.
    pub copies: Vec<CopyView>,
    /// How many copies its object should have, by its placement.
    #[serde(skip)]
    pub expected_copies: u64,
}

/// The digests of a file.
#[derive(Debug, Clone, Serialize)]
pub struct DigestsView {
    /// MD5.
    pub md5: String,
    /// SHA-1.
    pub sha1: String,
    /// SHA-256.
    pub sha256: String,
    /// SHA-512.
    pub sha512: String,
}

/// One copy of a file's content.
#[derive(Debug, Clone, Serialize)]
pub struct CopyView {
    /// The store.
    pub store: String,
    /// The key within it.
    pub key: String,
    /// What is known of it.
    pub state: CopyState,
    /// When it was put.
    pub stored_at: String,
    /// When it was verified or attested after that.
    pub verified_at: Option<String>,
    /// When its digest was last found right.
    pub last_fixity_at: Option<String>,
}

impl FileView {
    /// A file of an object in this state, with its copies and how many there should be.
    pub(crate) fn new(file: File, state: ObjectState, copies: Vec<Copy>, expected_copies: u64) -> Self {
        Self {
            file: file.id,
            path: in_package(&file.path).to_owned(),
            size: file.size,
            digests: file.digests.into(),
            puid: file.format.puid,
            mime: file.format.mime,
            format_method: file.format.method,
            format_name: file.format.name,
            format_version: file.format.version,
            format_basis: file.format.basis,
            format_signatures: file.format.signatures,
            format_warning: file.format.warning,
            format_others: file.format.others,
            state,
            copies: copies.into_iter().map(CopyView::from).collect(),
            expected_copies,
        }
    }
}

impl From<Digests> for DigestsView {
    fn from(digests: Digests) -> Self {
        Self {
            md5: digests.md5.to_hex(),
            sha1: digests.sha1.to_hex(),
            sha256: digests.sha256.to_hex(),
            sha512: digests.sha512.to_hex(),
        }
    }
}

impl From<Copy> for CopyView {
    fn from(copy: Copy) -> Self {
        Self {
            store: copy.store,
            key: copy.key,
            state: copy.state,
            stored_at: copy.stored_at.to_string(),
            verified_at: copy.verified_at.map(|time| time.to_string()),
            last_fixity_at: copy.last_fixity_at.map(|time| time.to_string()),
        }
    }
}
