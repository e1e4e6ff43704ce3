//! Profiles of bags and their versions.

use serde::Serialize;
use strongroom_bagit::Problem;
use strongroom_registry::ProfileOrigin;
use strongroom_registry::profiles::ProfileVersion;

/// What a version of a profile is to new deposits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ProfileState {
    /// The newest one: deposits are checked against it where its profile is named without a version.
    Current,
    /// A newer one is there; deposits are checked against it where it is named by its version.
    Earlier,
    /// It was removed: no new deposit is checked against it.
    Removed,
    /// Its document is missing; a record in a store names it.
    Missing,
}

/// A version of a profile.
#[derive(Debug, Clone, Serialize)]
pub struct ProfileView {
    /// The name of the profile.
    pub profile: String,
    /// Which version of it, from 1.
    pub version: u64,
    /// What it is to new deposits.
    pub state: ProfileState,
    /// `built-in`, `file` or `stores`.
    pub origin: ProfileOrigin,
    /// The program it came with, or the name of the file.
    pub source: String,
    /// The `BagIt-Profile-Identifier` by which bags name it.
    pub identifier: Option<String>,
    /// Its version by its own word.
    pub stated_version: Option<String>,
    /// What it is for, by its own word.
    pub description: Option<String>,
    /// The SHA-256 of its document.
    pub sha256: Option<String>,
    /// The SHA-512 of its document.
    pub sha512: String,
    /// Who added it; none for one that came with a program.
    pub added_by: Option<String>,
    /// When it was added.
    pub added_at: String,
    /// When it was removed.
    pub removed_at: Option<String>,
}

impl ProfileView {
    /// A version; `current` is the number of the newest of its profile that may be used.
    pub(crate) fn new(found: &ProfileVersion, current: Option<u64>) -> Self {
        let state = match found {
            _ if !found.has_document => ProfileState::Missing,
            _ if found.removed_at.is_some() => ProfileState::Removed,
            _ if current == Some(found.version) => ProfileState::Current,
            _ => ProfileState::Earlier,
        };
        let said = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
        Self {
            profile: found.name.clone(),
            version: found.version,
            state,
            origin: found.origin,
            source: found.source.clone(),
            identifier: said(&found.identifier),
            stated_version: said(&found.stated_version),
            description: said(&found.description),
            sha256: found.sha256.map(|digest| digest.to_hex()),
            sha512: found.sha512.to_hex(),
            added_by: found.actor.as_ref().map(|actor| actor.name.clone()),
            added_at: found.added_at.to_string(),
            removed_at: found.removed_at.map(|time| time.to_string()),
        }
    }
}

/// The document of a version of a profile.
#[derive(Debug, Clone, Serialize)]
pub struct ProfileDocumentView {
    /// The name of the profile.
    pub profile: String,
    /// Which version of it.
    pub version: u64,
    /// The document, byte for byte as it was added.
    pub document: String,
}

/// What became of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ProfileOutcome {
    /// It is a new version.
    Added,
    /// It is a version again that was removed, or whose document was missing.
    Restored,
    /// The newest version is the same document; nothing was changed.
    Unchanged,
    /// It is no sound profile; nothing was changed.
    Refused,
}

/// What became of a document that was to be added.
#[derive(Debug, Clone, Serialize)]
pub struct AddedProfileView {
    /// The name of the profile.
    pub profile: String,
    /// Which version has the document; none where it was refused.
    pub version: Option<u64>,
    /// What became of it.
    pub outcome: ProfileOutcome,
    /// Everything that is wrong with it; a refused one has errors among it.
    pub problems: Vec<Problem>,
}
