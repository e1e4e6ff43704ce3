//! How many findings are open in each store: the one count behind `status`, `store check` and `config check`. Findings
//! of damage have rows in the registry; what a store of a placement lacks is derived from the copies that there are,
//! and a store that is refused from how it stands (see [`crate::survey`]). Stores that are out of use have none.

use std::fmt;

use serde::Serialize;
use strongroom_registry::counted;
use strongroom_registry::fixity::{self, FindingFilter};
use strongroom_registry::placements::{self, LackingCount};
use strongroom_registry::{FindingId, FindingKind, Registry, RegistryError, Scope, Transaction, backfill, health};

use crate::EngineError;
use crate::content_name::{ContentName, named};
use crate::settings::Settings;

/// The kind of a derived finding: an object that a store of its placement does not hold whole.
pub const LACKING: &str = "lacking";
/// The kind of a derived finding: a store that answers and is not the one that it should be.
pub const REFUSED: &str = "refused";

/// How far the objects are counted that a store lacks something of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counting {
    /// Among those that may lack something, up to a bound: in a time that does not grow with what is kept.
    Bounded,
    /// Object by object, all of them.
    Whole,
}

/// Objects that are examined for each store of a placement where the count is bounded: so many that are marked, and so many that were not
/// compared yet.
const EXAMINED: usize = 10_000;

/// Open findings of one kind in one store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenFindings {
    /// The store.
    pub store: String,
    /// `damaged`, `missing`, `inventory`, [`LACKING`] or [`REFUSED`].
    pub kind: &'static str,
    /// How many.
    pub findings: u64,
    /// Whether there are no more: the count did not stop at its bound.
    pub is_all: bool,
}

/// Open findings by store and kind, those derived from the copies included: one for each object that a store lacks
/// something of. Where not all were examined, the count is there even if it is 0.
pub(crate) fn count(
    settings: &Settings,
    registry: &Registry,
    counting: Counting,
) -> Result<Vec<OpenFindings>, EngineError> {
    let recorded = registry.read(health::open_findings)?;
    let mut found: Vec<OpenFindings> = recorded
        .into_iter()
        .map(|one| OpenFindings { store: one.store, kind: one.kind.as_str(), findings: one.findings, is_all: true })
        .collect();
    for (placement, stores) in &settings.placements {
        for store in stores {
            if registry.read(|tx| backfill::retired_at(tx, store))?.is_some() {
                continue;
            }
            let LackingCount { objects: findings, is_all } = registry.read(|tx| match counting {
                Counting::Bounded => placements::count_lacking(tx, (placement, store), EXAMINED),
                Counting::Whole => {
                    let objects = backfill::count_lacking(tx, placement, store)?;
                    Ok(LackingCount { objects, is_all: true })
                }
            })?;
            if findings > 0 || !is_all {
                found.push(OpenFindings { store: store.clone(), kind: LACKING, findings, is_all });
            }
        }
    }
    Ok(found)
}

/// A finding of damage that is open, with the name of what it is about.
#[derive(Debug, Clone, Serialize)]
pub struct NamedFinding {
    /// Its identifier.
    pub finding: FindingId,
    /// The object, `<institution>/<name>`.
    pub object: String,
    /// The first path of the content in the package; none where inventories or declarations are wrong.
    pub path: Option<String>,
    /// How many other paths have the content.
    pub more_paths: u64,
    /// The store.
    pub store: String,
    /// What is wrong.
    pub kind: FindingKind,
}

impl fmt::Display for NamedFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = named(&self.object, self.path.as_deref(), self.more_paths);
        let is_wrong = match self.kind {
            FindingKind::Damaged => "is damaged",
            FindingKind::Missing => "is missing",
            FindingKind::Inventory => "has a declaration or inventories that differ",
        };
        write!(f, "{name} {is_wrong} in store {}", self.store)
    }
}

/// The first findings of damage that are open, in one store or in all, oldest first. What is derived from the copies is not
/// among them.
pub(crate) fn first_named(
    tx: &mut dyn Transaction,
    store: Option<&str>,
    limit: usize,
) -> Result<Vec<NamedFinding>, RegistryError> {
    let filter = FindingFilter { store, repaired_too: false };
    let mut found = Vec::new();
    for finding in fixity::findings(tx, Scope::System, filter, None, limit)? {
        let ContentName { object, path, more_paths } =
            ContentName::read(tx, &finding.object_identifier, finding.content)?;
        let (store, kind) = (finding.store, finding.kind);
        found.push(NamedFinding { finding: finding.id, object, path, more_paths, store, kind });
    }
    Ok(found)
}

/// How many findings are open, in words; `is_all` where there are no more.
pub(crate) fn in_words((open, is_all): (u64, bool)) -> String {
    let at_least = if is_all { "" } else { "at least " };
    format!("{at_least}{}", counted(open, "finding is open", "findings are open"))
}

/// The same with the first of them.
pub(crate) fn in_words_with(open: (u64, bool), first: Option<&NamedFinding>) -> String {
    match first {
        Some(first) if open.0 > 1 => format!("{}, first: {first}", in_words(open)),
        Some(first) => format!("{}: {first}", in_words(open)),
        None => in_words(open),
    }
}
