//! How many findings are open in each store: the one count behind `status`, `store check` and `config check`. Findings
//! of damage have rows in the registry; what a store of a placement lacks is derived from the copies that there are,
//! and a store that is refused from how it stands (see [`crate::survey`]). Stores that are out of use have none.

use strongroom_registry::{Registry, backfill, health};

use crate::EngineError;
use crate::settings::Settings;

/// The kind of a derived finding: an object that a store of its placement does not hold whole.
pub const LACKING: &str = "lacking";
/// The kind of a derived finding: a store that answers and is not the one that it should be.
pub const REFUSED: &str = "refused";

/// Open findings of one kind in one store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenFindings {
    /// The store.
    pub store: String,
    /// `damaged`, `missing`, `inventory`, [`LACKING`] or [`REFUSED`].
    pub kind: &'static str,
    /// How many.
    pub findings: u64,
}

/// Open findings by store and kind, those derived from the copies included: one for each object that a store lacks
/// something of.
pub(crate) fn count(settings: &Settings, registry: &Registry) -> Result<Vec<OpenFindings>, EngineError> {
    let recorded = registry.read(health::open_findings)?;
    let mut found: Vec<OpenFindings> = recorded
        .into_iter()
        .map(|one| OpenFindings { store: one.store, kind: one.kind.as_str(), findings: one.findings })
        .collect();
    for (placement, stores) in &settings.placements {
        for store in stores {
            if registry.read(|tx| backfill::retired_at(tx, store))?.is_some() {
                continue;
            }
            let findings = registry.read(|tx| backfill::count_lacking(tx, placement, store))?;
            if findings > 0 {
                found.push(OpenFindings { store: store.clone(), kind: LACKING, findings });
            }
        }
    }
    Ok(found)
}

/// How many findings are open, in words.
pub(crate) fn in_words(open: u64) -> String {
    if open == 1 { "1 finding is open".to_owned() } else { format!("{open} findings are open") }
}
