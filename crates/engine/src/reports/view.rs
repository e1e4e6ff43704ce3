//! What functions of the application layer answer about reports, and what the forms of a report are written from.

use serde::Serialize;
use strongroom_registry::batches::Batch;
use strongroom_registry::reports::{Report, ReportRow};
use strongroom_registry::{BatchId, BatchState, ItemId, ItemStatus, ReportKind};

/// A report of a batch, without its rows.
#[derive(Debug, Clone, Serialize)]
pub struct ReportView {
    /// The batch.
    pub batch: BatchId,
    /// Its number among the reports of the batch, from 1.
    pub number: u64,
    /// What it is.
    pub kind: ReportKind,
    /// The moment of which it is true.
    pub made_at: String,
    /// Who asked for it; none for one that was made because the batch ended.
    pub made_by: Option<String>,
    /// Where the batch was.
    pub state: BatchState,
    /// When the batch was deleted, which the report itself does not say; none where it was not.
    pub deleted_at: Option<String>,
    /// The domain name of its institution.
    pub institution: String,
    /// The short name of its collection.
    pub collection: Option<String>,
    /// What was submitted.
    pub submitted: String,
    /// Who submitted it.
    pub submitted_by: String,
    /// When it was submitted.
    pub submitted_at: String,
    /// The depositor's note.
    pub note: Option<String>,
    /// How many items it had.
    pub items: u64,
    /// How many had succeeded.
    pub succeeded: u64,
    /// How many had failed.
    pub failed: u64,
    /// How many had been cancelled.
    pub cancelled: u64,
    /// How many had been deleted.
    pub deleted: u64,
    /// How many were held.
    pub held: u64,
    /// How many had not ended, with those that were held.
    pub open: u64,
    /// Rows that differ from the last report before.
    pub changed: u64,
    /// How many had neither succeeded nor been deleted.
    pub unresolved: u64,
    /// Whether all its rows are written.
    pub complete: bool,
}

impl ReportView {
    pub(crate) fn new(report: &Report, batch: &Batch) -> Self {
        Self {
            batch: report.batch,
            number: report.number,
            kind: report.kind,
            made_at: report.made_at.to_string(),
            made_by: report.made_by.clone(),
            state: report.batch_state,
            deleted_at: (batch.state == BatchState::Deleted).then(|| batch.updated_at.to_string()),
            institution: batch.institution_identifier.clone(),
            collection: batch.collection_identifier.clone(),
            submitted: batch.kind.clone(),
            submitted_by: batch.submitted_by.clone(),
            submitted_at: batch.created_at.to_string(),
            note: batch.note.clone(),
            items: report.items,
            succeeded: report.succeeded,
            failed: report.failed,
            cancelled: report.cancelled,
            deleted: report.deleted,
            held: report.held,
            open: report.held + report.at_work,
            changed: report.changed,
            unresolved: report.unresolved(),
            complete: report.is_filled,
        }
    }
}

/// What a report says of an item.
#[derive(Debug, Clone, Serialize)]
pub struct ReportRowView {
    /// Its place among those of the batch, from 1: the row of a manifest. None for the item that reads a manifest.
    pub row: Option<u64>,
    /// What was sent, such as the name of a file.
    pub name: String,
    /// Where the item was.
    pub state: ItemStatus,
    /// The identifier of the object.
    pub object: String,
    /// The version that was made.
    pub version: Option<u64>,
    /// The ARK of the object.
    pub ark: Option<String>,
    /// The local identifiers that the depositor gave.
    pub local_ids: Vec<String>,
    /// The stage that the item had reached.
    pub stage: String,
    /// The code of the first error that was found.
    pub code: Option<String>,
    /// What the item says of itself.
    pub message: Option<String>,
    /// Whether the last report before says something else of it, or nothing.
    pub changed: bool,
    /// Whether it had neither succeeded nor been deleted.
    pub unresolved: bool,
    /// The item.
    pub item: ItemId,
}

/// The keys of a row, in their order.
pub(super) const ROW_KEYS: [&str; 13] = [
    "row",
    "name",
    "state",
    "object",
    "version",
    "ark",
    "local_ids",
    "stage",
    "code",
    "message",
    "changed",
    "unresolved",
    "item",
];

impl From<ReportRow> for ReportRowView {
    fn from(row: ReportRow) -> Self {
        Self {
            unresolved: row.is_unresolved(),
            row: row.row,
            name: row.name,
            state: row.state,
            object: row.object_identifier,
            version: row.version,
            ark: row.ark,
            local_ids: row.local_ids,
            stage: row.stage.to_string(),
            code: row.code,
            message: row.message,
            changed: row.is_changed,
            item: row.item,
        }
    }
}
