//! Restorations.

use serde::Serialize;
use strongroom_registry::{Action, BatchId, ItemId, ItemStatus};

/// A restoration that was asked for.
#[derive(Debug, Clone, Serialize)]
pub struct RestorationView {
    /// Its work item.
    pub item: ItemId,
    /// The object's identifier, `<institution>/<name>`.
    pub object: String,
    /// What is restored: an object or a file.
    pub action: Action,
    /// Where the work item is.
    pub status: ItemStatus,
}

/// A restoration of many objects that was asked for.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct RestorationBatchView {
    /// Its batch.
    pub batch: BatchId,
    /// The work item that makes those of the objects, and writes the receipt when they have ended.
    pub item: ItemId,
}
