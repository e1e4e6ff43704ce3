//! Batches.

use serde::Serialize;
use strongroom_registry::batches::{self, Batch};
use strongroom_registry::{BatchId, BatchState, ItemStatus, RegistryError, Transaction, holds};

use super::{HoldView, StopView};

/// A batch.
#[derive(Debug, Clone, Serialize)]
pub struct BatchView {
    /// Its identifier.
    pub batch: BatchId,
    /// The domain name of its institution.
    pub institution: String,
    /// The short name of its collection.
    pub collection: Option<String>,
    /// What was submitted.
    pub kind: String,
    /// Where it is.
    pub state: BatchState,
    /// How many items it has; the work item that reads a manifest counts until every row has one.
    pub items: u64,
    /// How many of them succeeded.
    pub succeeded: u64,
    /// How many failed.
    pub failed: u64,
    /// How many were cancelled.
    pub cancelled: u64,
    /// How many have not ended, with those that are held.
    pub open: u64,
    /// How many are held.
    pub held: u64,
    /// How many were deleted.
    pub deleted: u64,
    /// Who submitted it.
    pub submitted_by: String,
    /// The depositor's note.
    pub note: Option<String>,
    /// How many items its rows became; none while not every row has one.
    pub rows: Option<u64>,
    /// The holds on it and on its collection, the oldest first.
    pub holds: Vec<HoldView>,
    /// What its open items are being made, until each was told.
    pub stopping: Option<StopView>,
    /// How many of its items workers have that are to end: they were told, and their workers have not noticed it, or are gone.
    pub ending: u64,
    /// The topics that are paused and in which its items wait; `all` where all topics are.
    pub paused: Vec<String>,
    /// When it was made.
    pub created_at: String,
    /// When it last changed.
    pub updated_at: String,
}

impl BatchView {
    /// A batch with its items counted.
    pub(crate) fn read(tx: &mut dyn Transaction, batch: Batch) -> Result<Self, RegistryError> {
        let counts = batches::counts(tx, &batch)?;
        let sum = |wanted: fn(ItemStatus) -> bool| {
            counts.iter().filter(|(status, _)| wanted(*status)).map(|(_, count)| count).sum::<u64>()
        };
        let holds = holds::of_batch(tx, &batch)?;
        let has_started = sum(|status| status == ItemStatus::Started) > 0;
        let waits = sum(|status| status == ItemStatus::Pending) > 0;
        let paused = if waits { batches::paused_topics(tx, batch.id)? } else { Vec::new() };
        Ok(Self {
            batch: batch.id,
            institution: batch.institution_identifier,
            collection: batch.collection_identifier,
            kind: batch.kind,
            state: batch.state,
            items: sum(|_| true),
            succeeded: sum(|status| status == ItemStatus::Succeeded),
            failed: sum(|status| status == ItemStatus::Failed),
            cancelled: sum(|status| status == ItemStatus::Cancelled),
            open: sum(|status| !status.is_ended()),
            held: sum(|status| status == ItemStatus::Held),
            deleted: sum(|status| status == ItemStatus::Deleted),
            submitted_by: batch.submitted_by,
            note: batch.note,
            rows: batch.row_count,
            holds: holds.into_iter().map(HoldView::from).collect(),
            stopping: batches::stop_of(tx, batch.id)?.map(StopView::from),
            ending: if has_started { batches::count_ending(tx, batch.id)? } else { 0 },
            paused,
            created_at: batch.created_at.to_string(),
            updated_at: batch.updated_at.to_string(),
        })
    }
}
