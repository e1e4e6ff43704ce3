//! receipt: when every other work item of the batch has ended, one document in the target says of each object what came of
//! it. It is written from rows, page by page, and appears whole or not at all, like any result.

use std::io::{self, Write};
use std::time::Duration;

use serde::Serialize;
use strongroom_registry::restorations::{self, ItemOfBatch};
use strongroom_registry::{BatchId, ItemId, ItemStatus, WaitReason};

use super::super::request::RestoreOptions;
use super::super::target::Target;
use super::super::{ROWS_AT_ONCE, record_result};
use super::{BatchOptions, batch_of};
use crate::workflow::{Outcome, StageContext, StageError};

/// How soon it is looked again whether all have ended: the more are open, the later.
const SOONEST_AGAIN: Duration = Duration::from_secs(1);
const LATEST_AGAIN: Duration = Duration::from_mins(5);
/// What an open work item adds to that.
const FOR_EACH: Duration = Duration::from_millis(50);

/// What a receipt begins with.
#[derive(Serialize)]
struct Head<'r> {
    batch: BatchId,
    institution: &'r str,
    collection: Option<&'r str>,
    requested_by: &'r str,
    requested_at: String,
}

/// What a receipt says of an object.
#[derive(Serialize)]
struct Line<'r> {
    object: &'r str,
    version: Option<u64>,
    item: ItemId,
    outcome: ItemStatus,
    /// Where the result was put; none where there is none.
    name: Option<&'r str>,
    /// Bytes.
    size: Option<u64>,
    sha256: Option<&'r str>,
    ended_at: String,
    /// Why there is no result.
    note: Option<&'r str>,
}

/// What a receipt ends with.
#[derive(Debug, Clone, Copy, Default, Serialize)]
struct Totals {
    total: u64,
    succeeded: u64,
    /// Of all results.
    bytes: u64,
}

pub(super) fn run(context: &StageContext<'_>) -> Result<Outcome, StageError> {
    let options: BatchOptions = serde_json::from_str(&context.item.options)?;
    let (batch, item) = (batch_of(context)?, context.item.id);
    let open = context.registry().read(|tx| restorations::open_items(tx, batch, item))?;
    if open > 0 {
        let again = FOR_EACH.saturating_mul(u32::try_from(open).unwrap_or(u32::MAX)).clamp(SOONEST_AGAIN, LATEST_AGAIN);
        let until = context.now()?.plus(i64::try_from(again.as_micros()).unwrap_or(i64::MAX));
        let note = format!("waits for {open} restorations of the batch to end");
        return Err(StageError::Waits { until, reason: WaitReason::Batch, note });
    }
    let target = Target::of(context, options.to.as_deref(), false)?;
    let mut written = None;
    let given = target.put(context, &[&context.item.name], None, &mut |out| {
        written = Some(write(context, batch, &options, out)?);
        Ok(())
    })?;
    // An earlier attempt may have put it.
    let totals = written.map_or_else(|| write(context, batch, &options, &mut io::sink()), Ok)?;
    let until = record_result(context, &given, None)?;
    let stays = until.map(|until| format!(", stays until {until}")).unwrap_or_default();
    let Totals { total, succeeded, .. } = totals;
    Ok(Outcome::done(format!("{succeeded} of {total} objects restored; receipt: {given}{stays}")))
}

/// Writes the receipt as one JSON document; what it ends with.
fn write(
    context: &StageContext<'_>,
    batch: BatchId,
    options: &BatchOptions,
    out: &mut (dyn Write + Send),
) -> Result<Totals, StageError> {
    let failed = |error: io::Error| match context.task.check() {
        Err(reason) => reason.into(),
        Ok(()) => StageError::Transient(format!("could not write the receipt: {error}")),
    };
    let head = serde_json::to_string(&Head {
        batch,
        institution: &context.item.institution_identifier,
        collection: context.item.collection_identifier.as_deref(),
        requested_by: &options.requested_by,
        requested_at: context.item.created_at.to_string(),
    })?;
    write!(out, "{},\"objects\":[", head.trim_end_matches('}')).map_err(failed)?;
    let mut totals = Totals::default();
    let mut after = None;
    loop {
        context.task.check()?;
        let own = context.item.id;
        let page = context.registry().read(|tx| restorations::items_of_batch(tx, batch, own, after, ROWS_AT_ONCE))?;
        let Some(last) = page.last() else { break };
        after = Some(last.id);
        for item in &page {
            let comma = if totals.total == 0 { "" } else { "," };
            write!(out, "{comma}\n{}", serde_json::to_string(&line(item)?)?).map_err(failed)?;
            totals.total += 1;
            if let (ItemStatus::Succeeded, Some(result)) = (item.status, &item.result) {
                totals.succeeded += 1;
                totals.bytes += result.size;
            }
        }
    }
    let end = serde_json::to_string(&totals)?;
    writeln!(out, "\n],{}", end.trim_start_matches('{')).map_err(failed)?;
    Ok(totals)
}

fn line(item: &ItemOfBatch) -> Result<Line<'_>, StageError> {
    let options: RestoreOptions = serde_json::from_str(&item.options)?;
    // An item that was cancelled behind its last byte has a result, which it does not answer for.
    let result = item.result.as_ref().filter(|_| item.status == ItemStatus::Succeeded);
    Ok(Line {
        object: &item.object_identifier,
        version: options.version,
        item: item.id,
        outcome: item.status,
        name: result.map(|result| result.place.as_str()),
        size: result.map(|result| result.size),
        sha256: result.map(|result| result.sha256.as_str()),
        ended_at: item.updated_at.to_string(),
        note: item.note.as_deref().filter(|_| result.is_none()),
    })
}
