//! What persons have asked of work that is under way: holds, and ends of batches.

use serde::Serialize;
use strongroom_registry::batches::Stop;
use strongroom_registry::holds::Hold;
use strongroom_registry::journal::name_of;
use strongroom_registry::{HoldKind, ItemStatus};

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
    /// Whether it is on a batch that is being deleted.
    #[serde(skip)]
    pub is_of_deletion: bool,
}

impl HoldView {
    /// The command that lifts it: of a batch that is being deleted, the one that completes that.
    pub fn lifted_by(&self) -> String {
        match (self.kind, self.on.split_once('/')) {
            (HoldKind::Collection, Some((institution, name))) => {
                format!("strongroom collection release {name} --institution {institution}")
            }
            (HoldKind::Batch, _) if self.is_of_deletion => format!("strongroom batches delete {} --yes", self.on),
            (HoldKind::Batch, _) => format!("strongroom batches release {}", self.on),
            _ => format!("strongroom items release {}", self.on),
        }
    }
}

impl From<Hold> for HoldView {
    fn from(hold: Hold) -> Self {
        Self {
            is_of_deletion: hold.is_of_deletion,
            kind: hold.on.kind(),
            on: hold.subject(),
            since: hold.placed_at.to_string(),
            by: name_of(&hold.placed_by).to_owned(),
            reason: hold.reason,
        }
    }
}

/// That the open items of a batch are being cancelled, or made to fail.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StopView {
    /// What they are to be.
    pub status: ItemStatus,
    /// Since when.
    pub since: String,
    /// Who asked.
    pub by: String,
    /// Why.
    pub reason: Option<String>,
}

impl From<Stop> for StopView {
    fn from(stop: Stop) -> Self {
        Self {
            status: stop.status,
            since: stop.asked_at.to_string(),
            by: name_of(&stop.asked_by).to_owned(),
            reason: stop.reason,
        }
    }
}
