//! What people ask of every open item of a batch: that it is cancelled, or fails. It is written down first, by a short transaction, and read
//! with each item, so that no stage begins from then on; then each item is told. Part of [`crate::batches`].

use std::fmt;

use strongroom_database::{Row, Statement, Time, Transaction};
use uuid::Uuid;

use super::items::Asker;
use crate::model::actor::name_of;
use crate::{BatchId, ItemStatus, RegistryError};

/// That the open items of a batch are being cancelled, or made to fail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stop {
    /// The batch.
    pub batch: BatchId,
    /// What its items are to be.
    pub status: ItemStatus,
    /// Who asked.
    pub asked_by: String,
    /// Why.
    pub reason: Option<String>,
    /// When.
    pub asked_at: Time,
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = if self.status == ItemStatus::Failed { "made to fail" } else { "cancelled" };
        write!(f, "being {what}, as {} asked at {}", name_of(&self.asked_by), self.asked_at)
    }
}

/// Has the open items of a batch cancelled or fail from now on. A cancellation takes the place of a failure, and stays. What stands then.
pub(super) fn begin(
    tx: &mut dyn Transaction,
    batch: BatchId,
    status: ItemStatus,
    by: Asker<'_>,
) -> Result<Option<Stop>, RegistryError> {
    let now = tx.now()?;
    let values = [batch.into(), status.as_str().into(), by.who.into(), by.reason.map(str::to_owned).into(), now.into()];
    tx.execute(Statement("batches.stop"), &values)?;
    stop_of(tx, batch)
}

/// Whether the stop of a batch is that of this time still; it stays until the transaction ends.
pub(super) fn keep(tx: &mut dyn Transaction, batch: BatchId, asked_at: Time) -> Result<bool, RegistryError> {
    Ok(tx.query_one(Statement("batches.keep_stop"), &[batch.into(), asked_at.into()])?.is_some())
}

/// Every item was told; of any status where none is given.
pub(super) fn end(tx: &mut dyn Transaction, batch: BatchId, status: Option<ItemStatus>) -> Result<(), RegistryError> {
    tx.execute(Statement("batches.end_stop"), &[batch.into(), status.map(ItemStatus::as_str).into()])?;
    Ok(())
}

/// What the open items of a batch are being made, if anything.
pub fn stop_of(tx: &mut dyn Transaction, batch: BatchId) -> Result<Option<Stop>, RegistryError> {
    tx.query_one(Statement("batches.stop_of"), &[batch.into()])?.as_ref().map(stop_row).transpose()
}

/// How many items of a batch workers have that were told to end.
pub fn count_ending(tx: &mut dyn Transaction, batch: BatchId) -> Result<u64, RegistryError> {
    let row = tx.query_one(Statement("batches.count_ending"), &[batch.into()])?;
    Ok(row.map_or(Ok(0), |row| row.count("items"))?)
}

/// Whether there is any. A read.
pub(super) fn has_stop(tx: &mut dyn Transaction) -> Result<bool, RegistryError> {
    let row = tx.query_one(Statement("batches.has_stop"), &[])?;
    Ok(row.map(|row| row.bool("has_stop")).transpose()?.unwrap_or(false))
}

/// At most `limit` of those that were begun and not ended, behind `after`. A read.
pub fn stops(tx: &mut dyn Transaction, after: Option<BatchId>, limit: usize) -> Result<Vec<Stop>, RegistryError> {
    let values = [after.unwrap_or(BatchId(Uuid::nil())).into(), limit.into()];
    tx.query(Statement("batches.stops"), &values)?.iter().map(stop_row).collect()
}

fn stop_row(row: &Row) -> Result<Stop, RegistryError> {
    Ok(Stop {
        batch: BatchId(row.uuid("batch_id")?),
        status: row.text("status")?.parse()?,
        asked_by: row.text("asked_by")?.to_owned(),
        reason: row.optional_text("reason")?.map(str::to_owned),
        asked_at: row.time("asked_at")?,
    })
}
