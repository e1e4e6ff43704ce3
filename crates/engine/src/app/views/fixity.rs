//! How the copies are watched, what was found wrong, and what came of repairs.

use serde::Serialize;
use strongroom_registry::backfill::Lacking;
use strongroom_registry::counted;
use strongroom_registry::fixity::{Coverage, Finding};
use strongroom_registry::{ContentId, FindingId};

use crate::content_name::{ContentName, named};
use crate::fixity::RepairOutcome;
use crate::status::oldest_check;
use crate::{StoreState, findings};

/// How well the copies in one store are watched. Contents, and what objects have besides, count alike.
#[derive(Debug, Clone, Serialize)]
pub struct CoverageView {
    /// The store.
    pub store: String,
    /// Copies that should lie there.
    pub copies: u64,
    /// Bytes of the contents among them.
    pub bytes: u64,
    /// Copies whose digest was checked.
    pub checked: u64,
    /// Copies that were never checked.
    pub never: u64,
    /// Copies of which only what their store says was compared.
    pub attested: u64,
    /// Copies that are damaged or missing.
    pub damaged: u64,
    /// Copies whose check is due.
    pub due: u64,
    /// When the copy that waits longest was last checked; none where one is due now whatever its age.
    pub oldest: Option<String>,
    /// Whether a copy is due now that was never checked, or was asked for.
    pub due_now: bool,
}

/// Something wrong that was found. What a store lacks of its placement, and a store that is refused, are derived each time: they
/// have no identifier, and end when the copies are there.
#[derive(Debug, Clone, Serialize)]
pub struct FindingView {
    /// Its identifier.
    pub finding: Option<FindingId>,
    /// The domain name of the institution that it belongs to; empty for a store that is refused.
    pub institution: String,
    /// The object, `<institution>/<name>`; empty for a store that is refused.
    pub object: String,
    /// The content; none where inventories or declarations are wrong.
    pub content: Option<ContentId>,
    /// The first path of the content in the package.
    pub path: Option<String>,
    /// How many other paths have the content.
    pub more_paths: u64,
    /// The store.
    pub store: String,
    /// The key within it.
    pub key: String,
    /// `damaged`, `missing`, `inventory`, `lacking` or `refused`.
    pub kind: String,
    /// What became of it.
    pub state: String,
    /// In words.
    pub detail: String,
    /// Where the bad bytes are kept.
    pub quarantine_key: Option<String>,
    /// When it was found.
    pub found_at: Option<String>,
    /// When it was repaired.
    pub repaired_at: Option<String>,
}

/// What came of a repair.
#[derive(Debug, Clone, Serialize)]
pub struct RepairView {
    /// The finding.
    pub finding: FindingId,
    /// The object, `<institution>/<name>`.
    pub object: String,
    /// The first path of the content in the package.
    pub path: Option<String>,
    /// How many other paths have the content.
    pub more_paths: u64,
    /// The store.
    pub store: String,
    /// What came of it.
    pub outcome: RepairOutcome,
}

impl RepairView {
    pub(crate) fn new(finding: Finding, name: ContentName, outcome: RepairOutcome) -> Self {
        let ContentName { object, path, more_paths } = name;
        Self { finding: finding.id, object, path, more_paths, store: finding.store, outcome }
    }

    /// As [`FindingView::what`].
    pub fn what(&self) -> String {
        named(&self.object, self.path.as_deref(), self.more_paths)
    }
}

impl From<Coverage> for CoverageView {
    fn from(coverage: Coverage) -> Self {
        let (oldest, due_now) = oldest_check(coverage.oldest);
        Self {
            store: coverage.store,
            copies: coverage.copies,
            bytes: coverage.bytes,
            checked: coverage.checked,
            never: coverage.never,
            attested: coverage.attested,
            damaged: coverage.damaged,
            due: coverage.due,
            oldest,
            due_now,
        }
    }
}

impl FindingView {
    /// A finding, with the name of what it is about.
    pub(crate) fn new(finding: Finding, name: ContentName) -> Self {
        Self {
            finding: Some(finding.id),
            institution: finding.institution_identifier,
            object: name.object,
            content: finding.content,
            path: name.path,
            more_paths: name.more_paths,
            store: finding.store,
            key: finding.key,
            kind: finding.kind.to_string(),
            state: finding.state.to_string(),
            detail: finding.detail,
            quarantine_key: finding.quarantine_key,
            found_at: Some(finding.found_at.to_string()),
            repaired_at: finding.repaired_at.map(|time| time.to_string()),
        }
    }

    /// What it is about: `<institution>/<name>: <path>`, and how many other paths have the content.
    pub fn what(&self) -> String {
        named(&self.object, self.path.as_deref(), self.more_paths)
    }

    /// An object that a store of this placement does not hold whole.
    pub(crate) fn of_lacking(placement: &str, store: &str, object: Lacking) -> Self {
        let inventories = if object.has_inventories { "" } else { " and its inventories" };
        let detail = format!(
            "the placement {placement} names store {store}, which lacks {}{inventories}: \
             strongroom store backfill {store}",
            counted(object.contents, "content", "contents")
        );
        Self {
            institution: object.institution_identifier,
            object: object.object_identifier,
            ..Self::derived(findings::LACKING, store, detail)
        }
    }

    /// A store that is not the one that it should be: no copy in it counts.
    pub(crate) fn of_refused(state: StoreState) -> Self {
        Self::derived(findings::REFUSED, &state.store, state.reason.unwrap_or_default())
    }

    fn derived(kind: &str, store: &str, detail: String) -> Self {
        Self {
            finding: None,
            institution: String::new(),
            object: String::new(),
            content: None,
            path: None,
            more_paths: 0,
            store: store.to_owned(),
            key: String::new(),
            kind: kind.to_owned(),
            state: "open".to_owned(),
            detail,
            quarantine_key: None,
            found_at: None,
            repaired_at: None,
        }
    }
}
