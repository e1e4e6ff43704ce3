//! Claiming records. Those that were never claimed are not written: the chunk has the numbers behind which and up to which they are.

use strongroom_database::{Statement, Transaction, Value};
use uuid::Uuid;

use super::fresh::{Taken, take};
use super::{Delta, LONGEST_WORKER, MOST_RECORDS, NEVER_CLAIMED, after, check_text, count, slot_for, whole};
use crate::{Chunk, ChunkLease, ClaimRequest, Claimed, RecordsError};

/// Claims records that are to be processed: first those that came back, then those never claimed, by their number, then those
/// whose time has come. Each counts an attempt. None where there is nothing to claim now, also where the list is being removed.
/// Records that came back and that others are claiming at the same time are passed by; for the ends of claims of what was never
/// claimed it waits.
///
/// A worker that dies leaves its records in processing until they are [returned](super::return_expired). A record that ends its worker
/// each time is told by its attempts.
pub fn claim(tx: &mut dyn Transaction, request: &ClaimRequest) -> Result<Option<Chunk>, RecordsError> {
    check_text("worker", &request.worker, LONGEST_WORKER)?;
    let (list, now) = (request.list, tx.now()?);
    let limit = request.limit.clamp(1, MOST_RECORDS);
    let outlook = tx.query_one(Statement("records_outlook"), &[list.into()])?;
    if outlook.map_or(Ok(0), |row| row.integer("todo"))? <= 0 {
        return Ok(None);
    }
    let lease = ChunkLease { list, chunk: Uuid::now_v7() };
    let first_due = tx.query_one(Statement("records_first_due"), &[list.into()])?;
    let first_due = first_due.map_or(Ok(i64::MAX), |row| row.integer("due"))?;
    let mut records = if first_due == 0 { marked(tx, lease, (0, 0), limit)? } else { Vec::new() };
    let mut taken = Taken { records: Vec::new(), after: 0, to: 0 };
    if records.len() < limit {
        taken = take(tx, list, limit - records.len())?;
    }
    let fresh = taken.records.len();
    let first_time = |record: super::fresh::Fresh| Claimed { number: record.number, id: record.id, attempts: 1 };
    records.extend(taken.records.into_iter().map(first_time));
    if records.len() < limit && first_due <= now.0 {
        let missing = limit - records.len();
        records.extend(marked(tx, lease, (NEVER_CLAIMED + 1, now.0), missing)?);
    }
    if records.is_empty() {
        return Ok(None);
    }
    let (lease_until, slot) = (after(now, request.lease), slot_for(lease.chunk));
    let all = whole(records.len() as u64);
    let (after_number, to_number) = if fresh > 0 { (taken.after, taken.to) } else { (0, 0) };
    let has_gaps = to_number - after_number > whole(fresh as u64);
    let values = [
        lease.chunk.into(),
        list.into(),
        slot.into(),
        request.worker.as_str().into(),
        lease_until.into(),
        all.into(),
        (all - whole(fresh as u64)).into(),
        after_number.into(),
        to_number.into(),
        has_gaps.into(),
        now.into(),
    ];
    tx.execute(Statement("records_make_chunk"), &values)?;
    count(tx, list, slot, Delta { todo: -all, processing: all, ..Delta::default() })?;
    Ok(Some(Chunk { lease, lease_until, records }))
}

/// Claims records that have a state, those whose `due` is between two numbers, in the order of it.
fn marked(
    tx: &mut dyn Transaction,
    lease: ChunkLease,
    (from, to): (i64, i64),
    limit: usize,
) -> Result<Vec<Claimed>, RecordsError> {
    let values: [Value; 6] =
        [lease.list.into(), tx.now()?.into(), limit.into(), lease.chunk.into(), from.into(), to.into()];
    let mut found = Vec::new();
    tx.query_each(Statement("records_claim_marked"), &values, &mut |row| {
        let record = Claimed {
            number: row.count("number")?,
            id: row.text("record")?.to_owned(),
            attempts: u32::try_from(row.count("attempts")?).unwrap_or(u32::MAX),
        };
        found.push((row.integer("due")?, record));
        Ok(())
    })?;
    found.sort_unstable_by_key(|(due, record)| (*due, record.number));
    Ok(found.into_iter().map(|(_, record)| record).collect())
}
