//! Holds that persons placed.

use serde::Serialize;
use strongroom_registry::HoldKind;
use strongroom_registry::holds::Hold;

/// A hold.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HoldView {
    /// What it is on.
    pub kind: HoldKind,
    /// Which one: `INSTITUTION/NAME` of a collection, else the identifier.
    pub on: String,
    /// Since when.
    pub since: String,
    /// Who placed it.
    pub by: String,
    /// Why.
    pub reason: Option<String>,
}

impl From<Hold> for HoldView {
    fn from(hold: Hold) -> Self {
        Self {
            kind: hold.on.kind(),
            on: hold.subject(),
            since: hold.placed_at.to_string(),
            by: hold.placed_by,
            reason: hold.reason,
        }
    }
}
