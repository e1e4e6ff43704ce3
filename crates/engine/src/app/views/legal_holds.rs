//! Legal holds.

use serde::Serialize;
use strongroom_registry::begun_deletions::BegunDeletion;
use strongroom_registry::legal_holds::{LegalHold, On};
use strongroom_registry::{ItemId, LegalHoldId};

use crate::content_name::in_package;

/// A legal hold.
#[derive(Debug, Clone, Serialize)]
pub struct LegalHoldView {
    /// Its identifier.
    pub legal_hold: LegalHoldId,
    /// `collection`, `object` or `file`.
    pub on: &'static str,
    /// The domain name of the institution.
    pub institution: String,
    /// The short name of the collection, where it is on one.
    pub collection: Option<String>,
    /// The object, `<institution>/<name>`, where it is on one or on one of its files.
    pub object: Option<String>,
    /// The path in the package, where it is on a file.
    pub path: Option<String>,
    /// `active` or `released`.
    pub state: &'static str,
    /// Why it was placed.
    pub reason: String,
    /// Who placed it.
    pub placed_by: String,
    /// When.
    pub placed_at: String,
    /// Who released it.
    pub released_by: Option<String>,
    /// When.
    pub released_at: Option<String>,
    /// Why.
    pub release_reason: Option<String>,
    /// The work items of deletions that had begun before it was placed and have not ended: it does not stop them. At most 100.
    pub begun_deletions: Vec<ItemId>,
}

impl LegalHoldView {
    /// A hold, with the deletions of its target that have begun.
    pub(crate) fn new(hold: LegalHold, begun: &[BegunDeletion]) -> Self {
        let (released_by, released_at, release_reason) = match hold.release {
            Some(release) => (Some(release.by.name), Some(release.at.to_string()), Some(release.reason)),
            None => (None, None, None),
        };
        Self {
            legal_hold: hold.id,
            on: match hold.on {
                On::Collection(_) => "collection",
                On::Object(_) => "object",
                On::File { .. } => "file",
            },
            institution: hold.institution_identifier,
            collection: hold.collection_identifier,
            object: hold.object_identifier,
            path: hold.path.map(|path| in_package(&path).to_owned()),
            state: if released_at.is_some() { "released" } else { "active" },
            reason: hold.reason,
            placed_by: hold.placed_by.name,
            placed_at: hold.placed_at.to_string(),
            released_by,
            released_at,
            release_reason,
            begun_deletions: begun.iter().map(|deletion| deletion.item).collect(),
        }
    }
}
