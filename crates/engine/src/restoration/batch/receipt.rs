//! receipt: when every other work item of the batch has ended, one document in the target says of each object what came of
//! it. It is written from rows, page by page in one transaction, so that it is true of one moment, and appears whole or not at
//! all, like any result. Where items of the batch are requeued later, another receipt follows when they have ended.

use std::fs::File;
use std::io::{self, BufWriter, Seek as _, Write};
use std::time::Duration;

use serde::Serialize;
use strongroom_digest::{Algorithm, Digest, hash_reader};
use strongroom_registry::counted;
use strongroom_registry::items::{self, Item, ItemFilter, NewItem};
use strongroom_registry::restorations::{self, ItemOfBatch};
use strongroom_registry::{
    BatchId, ItemId, ItemStatus, RegistryError, Scope, Transaction, WaitReason, Workflows, journal,
};

use super::super::request::RestoreOptions;
use super::super::target::Target;
use super::super::{ROWS_AT_ONCE, record_result};
use super::{BatchOptions, OF_BATCHES, batch_of};
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
    /// Where the result is; none where there is none, or none any more.
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
    /// Of all results that are there.
    bytes: u64,
}

/// A receipt on its way into the target.
struct Written {
    /// The document, from its beginning; in a file without a name.
    document: File,
    totals: Totals,
}

pub(super) fn run(context: &StageContext<'_>) -> Result<Outcome, StageError> {
    let options: BatchOptions = serde_json::from_str(&context.item.options)?;
    let batch = batch_of(context)?;
    let open = match context.registry().read(|tx| Ok::<_, RegistryError>(written(tx, context, batch, &options)))? {
        Ok(receipt) => return put(context, batch, &options, receipt),
        Err(NotWritten::Open(open)) => open,
        Err(NotWritten::Failed(error)) => return Err(error),
    };
    let again = FOR_EACH.saturating_mul(u32::try_from(open).unwrap_or(u32::MAX)).clamp(SOONEST_AGAIN, LATEST_AGAIN);
    let until = context.now()?.plus(i64::try_from(again.as_micros()).unwrap_or(i64::MAX));
    let note = format!("waits for {open} restorations of the batch to end");
    Err(StageError::Waits { until, reason: WaitReason::Batch, note })
}

/// Puts a receipt into the target. Where an item of the batch was requeued since the receipt was true, another one follows.
fn put(
    context: &StageContext<'_>,
    batch: BatchId,
    options: &BatchOptions,
    mut receipt: Written,
) -> Result<Outcome, StageError> {
    let target = Target::of(context, options.to.as_deref(), false)?;
    let given = target.put(context, &[&context.item.name], None, &mut |out| {
        let copied = receipt.document.rewind().and_then(|()| io::copy(&mut receipt.document, out));
        copied.map(drop).map_err(|error| failed(context, &error))
    })?;
    let until = record_result(context, &given, None)?;
    // An earlier attempt may have put it, at a moment of which another receipt was true.
    let is_other = given.sha256 != sha256(context, &mut receipt.document)?;
    let workflows = context.registry().workflows();
    context.with_end(move |tx, claim| {
        if !is_other && restorations::open_items(tx, batch)? == 0 {
            return Ok(Vec::new());
        }
        let item = items::find(tx, Scope::System, claim.item)?;
        again(tx, workflows.as_ref(), &item)
    });
    let stays = until.map(|until| format!(", stays until {until}")).unwrap_or_default();
    let Totals { total, succeeded, .. } = receipt.totals;
    Ok(Outcome::done(format!(
        "{succeeded} of {} restored; receipt: {given}{stays}",
        counted(total, "object", "objects")
    )))
}

fn sha256(context: &StageContext<'_>, document: &mut File) -> Result<Digest, StageError> {
    let failed = |error: io::Error| failed(context, &error);
    document.rewind().map_err(failed)?;
    let (_, digests) = hash_reader(document, &[Algorithm::Sha256]).map_err(failed)?;
    digests.get(Algorithm::Sha256).ok_or_else(|| StageError::fatal("sha256 was not computed"))
}

/// Has the receipt of a batch written again, behind an item of it that was requeued after the receipt had been written. The
/// topics that have new work: none where the receipt is still to be written.
pub(crate) fn follow(
    tx: &mut dyn Transaction,
    workflows: &dyn Workflows,
    batch: BatchId,
) -> Result<Vec<String>, RegistryError> {
    if restorations::open_items(tx, batch)? == 0 {
        return Ok(Vec::new());
    }
    let filter = ItemFilter { batch: Some(batch), action: Some(OF_BATCHES.action), ..ItemFilter::default() };
    let (mut latest, mut after) = (None, None);
    loop {
        let page = items::list(tx, Scope::System, &filter, after, ROWS_AT_ONCE)?;
        let Some(last) = page.last() else { break };
        after = Some(last.id);
        if page.iter().any(|item| !matches!(item.status, ItemStatus::Succeeded | ItemStatus::Deleted)) {
            return Ok(Vec::new());
        }
        latest = page.into_iter().last();
    }
    latest.map_or_else(|| Ok(Vec::new()), |item| again(tx, workflows, &item))
}

/// Makes the work item of another receipt of the batch of an item.
fn again(tx: &mut dyn Transaction, workflows: &dyn Workflows, item: &Item) -> Result<Vec<String>, RegistryError> {
    let unreadable = |_| RegistryError::Corrupt { wanted: "the options of a batch", found: item.options.clone() };
    let options: BatchOptions = serde_json::from_str(&item.options).map_err(unreadable)?;
    // The work items of all objects are there, also where the collection has more by now.
    let options = BatchOptions { of_list: true, ..options };
    let new = NewItem {
        batch: item.batch,
        collection: item.collection,
        name: item.name.clone(),
        options: serde_json::to_string(&options).map_err(unreadable)?,
        note: "writes the receipt again: items of the batch were requeued".to_owned(),
        actor: journal::actor_of_item(tx, item.id)?.map(|actor| actor.id),
        ..NewItem::new(OF_BATCHES.action, item.institution, &item.object_identifier)
    };
    Ok(vec![items::create(tx, workflows, &new)?])
}

/// Why there is no receipt yet.
enum NotWritten {
    /// So many items of the batch have not ended.
    Open(u64),
    Failed(StageError),
}

impl<E: Into<StageError>> From<E> for NotWritten {
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}

/// Writes the receipt as one JSON document that is true of the moment which the transaction sees.
fn written(
    tx: &mut dyn Transaction,
    context: &StageContext<'_>,
    batch: BatchId,
    options: &BatchOptions,
) -> Result<Written, NotWritten> {
    let open = restorations::open_items(tx, batch)?;
    if open > 0 {
        return Err(NotWritten::Open(open));
    }
    let failed = |error: io::Error| failed(context, &error);
    let mut out = BufWriter::new(tempfile::tempfile().map_err(failed)?);
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
        let page = restorations::items_of_batch(tx, batch, after, ROWS_AT_ONCE)?;
        let Some(last) = page.last() else { break };
        after = Some(last.id);
        for item in &page {
            let comma = if totals.total == 0 { "" } else { "," };
            write!(out, "{comma}\n{}", serde_json::to_string(&line(item)?)?).map_err(failed)?;
            totals.total += 1;
            if let (ItemStatus::Succeeded, Some(result)) = (item.status, &item.result) {
                totals.succeeded += 1;
                totals.bytes += if item.was_removed { 0 } else { result.size };
            }
        }
    }
    let end = serde_json::to_string(&totals)?;
    writeln!(out, "\n],{}", end.trim_start_matches('{')).map_err(failed)?;
    let document = out.into_inner().map_err(|error| failed(error.into_error()))?;
    Ok(Written { document, totals })
}

fn failed(context: &StageContext<'_>, error: &io::Error) -> StageError {
    match context.task.check() {
        Err(reason) => reason.into(),
        Ok(()) => StageError::Transient(format!("could not write the receipt: {error}")),
    }
}

fn line(item: &ItemOfBatch) -> Result<Line<'_>, StageError> {
    let options: RestoreOptions = serde_json::from_str(&item.options)?;
    // An item that was cancelled behind its last byte has a result, which it does not answer for.
    let result = item.result.as_ref().filter(|_| item.status == ItemStatus::Succeeded && !item.was_removed);
    let was_removed = item.status == ItemStatus::Succeeded && item.was_removed;
    let note = if was_removed { Some("the result was removed when its time had ended") } else { item.note.as_deref() };
    Ok(Line {
        object: &item.object_identifier,
        version: options.version,
        item: item.id,
        outcome: item.status,
        name: result.map(|result| result.place.as_str()),
        size: result.map(|result| result.size),
        sha256: result.map(|result| result.sha256.as_str()),
        ended_at: item.updated_at.to_string(),
        note: note.filter(|_| result.is_none()),
    })
}
