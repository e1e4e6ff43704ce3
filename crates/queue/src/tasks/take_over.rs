//! Taking tasks away from those who no longer work on them. The attempt stays counted, so that a task that kills its worker
//! ends in the dead letters too.

use strongroom_database::{Row, Statement, Time, Transaction};

use uuid::Uuid;

use crate::{Lease, QueueError, TakenOver, TaskId, WorkerId};

use super::settle::{bury, release};
use super::small;

const EXPIRED: Statement = Statement("queue_expired");
const HELD_BY: Statement = Statement("queue_held_by");
const HOLDERS: Statement = Statement("queue_holders");
const FORGET_TURNS: Statement = Statement("queue_forget_turns");

/// Whether the task of a work item may be taken over now; one that stands for itself always may.
pub type MayTake<'a, E> = dyn FnMut(&mut dyn Transaction, Uuid) -> Result<bool, E> + 'a;

/// Makes up to `limit` tasks ready again whose leases have run out, the longest ago first; those without attempts left are
/// buried, and the caller that keeps a record of them has to note it in this same transaction. Those that `may_take`
/// refuses are left.
pub fn take_over_expired<E: From<QueueError>>(
    transaction: &mut dyn Transaction,
    limit: usize,
    may_take: &mut MayTake<'_, E>,
) -> Result<Vec<TakenOver>, E> {
    let now = transaction.now().map_err(QueueError::from)?;
    let rows = transaction.query(EXPIRED, &[now.into(), limit.into()]).map_err(QueueError::from)?;
    if rows.is_empty() {
        // The rows of those who wait no more say nothing; this is the quiet moment to drop them.
        transaction.execute(FORGET_TURNS, &[]).map_err(QueueError::from)?;
    }
    take_over_all(transaction, &rows, "the lease ran out", may_take)
}

/// As [`take_over_expired`], for all leases of a holder that is known to be gone, without waiting for them to run out.
pub fn take_over_from<E: From<QueueError>>(
    transaction: &mut dyn Transaction,
    holder: &WorkerId,
    limit: usize,
    may_take: &mut MayTake<'_, E>,
) -> Result<Vec<TakenOver>, E> {
    let values = [holder.to_string().into(), limit.into()];
    let rows = transaction.query(HELD_BY, &values).map_err(QueueError::from)?;
    take_over_all(transaction, &rows, "the holder's process has ended", may_take)
}

fn take_over_all<E: From<QueueError>>(
    transaction: &mut dyn Transaction,
    rows: &[Row],
    cause: &str,
    may_take: &mut MayTake<'_, E>,
) -> Result<Vec<TakenOver>, E> {
    let now = transaction.now().map_err(QueueError::from)?;
    let mut taken = Vec::with_capacity(rows.len());
    for row in rows {
        if let Some(item) = row.optional_uuid("item_id").map_err(QueueError::from)?
            && !may_take(transaction, item)?
        {
            continue;
        }
        taken.push(take_over(transaction, row, cause, now)?);
    }
    Ok(taken)
}

/// Everybody who holds a lease, for asking which of them are gone. Names that do not parse are left out.
pub fn holders(transaction: &mut dyn Transaction) -> Result<Vec<WorkerId>, QueueError> {
    let mut holders = Vec::new();
    for row in transaction.query(HOLDERS, &[])? {
        if let Some(Ok(holder)) = row.optional_text("holder")?.map(str::parse) {
            holders.push(holder);
        }
    }
    Ok(holders)
}

fn take_over(transaction: &mut dyn Transaction, row: &Row, cause: &str, now: Time) -> Result<TakenOver, QueueError> {
    let task = TaskId(row.integer("id")?);
    let (spent, max_attempts) = (small(row, "spent")?, small(row, "max_attempts")?);
    let holder = row.optional_text("holder")?.unwrap_or_default().to_owned();
    let wanted_again = row.optional_time("again_at")?.is_some();
    let buried =
        (spent >= max_attempts).then(|| format!("{cause} on attempt {spent} of {max_attempts}, held by {holder}"));
    match &buried {
        Some(reason) => bury(transaction, task, reason, wanted_again, now)?,
        None => release(transaction, task, 0, now)?,
    }
    Ok(TakenOver {
        lease: Lease { task, attempt: small(row, "attempt")? },
        topic: row.text("topic")?.to_owned(),
        key: row.text("key")?.to_owned(),
        item: row.optional_uuid("item_id")?,
        payload: row.bytes("payload")?.to_vec(),
        holder,
        buried,
    })
}
