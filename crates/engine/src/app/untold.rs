//! What depositors do not hear because a batch or an item of one is deleted before a report says how it ended.

use strongroom_registry::batches::Batch;
use strongroom_registry::items::Item;
use strongroom_registry::{
    BatchState, ItemStatus, MailKind, RegistryError, Scope, Transaction, batches, counted, notifications, reports,
};

use crate::deletion::BATCH_KIND;
use crate::restoration::KIND_OF_BATCHES;
use crate::settings::Settings;

/// Items that are named.
const NAMED: usize = 20;

/// What is not told because a batch is deleted, a sentence each; nothing where the last report says how it ended, or it was deleted
/// before.
pub(super) fn of_batch(
    tx: &mut dyn Transaction,
    settings: &Settings,
    batch: &Batch,
) -> Result<Vec<String>, RegistryError> {
    if batch.state == BatchState::Deleted || reports::is_ended(batch.state) {
        return Ok(Vec::new());
    }
    let Batch { id, state, .. } = batch;
    let counts = batches::counts(tx, batch)?;
    let sum = |is_wanted: fn(ItemStatus) -> bool| {
        counts.iter().filter(|(status, _)| is_wanted(*status)).map(|(_, count)| count).sum::<u64>()
    };
    let open = counted(sum(|status| !status.is_ended()), "item has", "items have");
    let last = reports::last(tx, *id)?;
    let report = match &last {
        None => format!("batch {id} is {state}, and no final report is made of it: {open} not ended"),
        Some(last) => {
            format!("batch {id} is {state}, and no update follows its report {}: {open} not ended again", last.number)
        }
    };
    let mut untold = vec![report];
    if batch.kind == KIND_OF_BATCHES || batch.kind == BATCH_KIND {
        return Ok(untold);
    }
    let listeners = notifications::of_batch(tx, *id)?;
    let kinds = match &last {
        None => vec![MailKind::Done, MailKind::Failed],
        Some(_) => vec![MailKind::Update],
    };
    let kinds = kinds.into_iter().filter(|kind| !listeners.recipients(*kind).is_empty());
    let names: Vec<String> = kinds.map(|kind| format!("\"{}\"", kind.as_str())).collect();
    if !names.is_empty() && settings.mail.is_set() {
        untold.push(format!("no mail {} is sent to {}", names.join(" or "), listeners.addresses.join(", ")));
    }
    if let Some(url) = &listeners.callback_url {
        let of_batch = if last.is_none() { "batch.completed, batch.failed" } else { "batch.updated" };
        untold.push(format!(
            "no event {of_batch} is posted to {}; of its items item.deleted is, behind item.cancelled where a worker has one",
            strongroom_download::shown_url(url)
        ));
    }
    Ok(untold)
}

/// What is not told because items are deleted, a sentence for each; nothing of those whose ends are in a report, and of those of no batch.
pub(super) fn of_items(tx: &mut dyn Transaction, found: &[Item]) -> Result<Vec<String>, RegistryError> {
    let mut untold = Vec::new();
    for item in found {
        let Some(batch) = item.batch else { continue };
        if item.status == ItemStatus::Deleted || is_reported(tx, item)? {
            continue;
        }
        let next = match item.version_made() {
            Some(version) => format!("the next one says that it was deleted, and that version {version} is kept"),
            None => "the next one says only that it was deleted".to_owned(),
        };
        untold.push(format!(
            "item {} ({}) is {}, and no report of batch {batch} says so: {next}",
            item.id, item.name, item.status
        ));
    }
    if untold.len() > NAMED {
        let more = untold.len() - NAMED;
        untold.truncate(NAMED);
        untold.push(format!("and so on for {}", counted(more as u64, "more item", "more items")));
    }
    Ok(untold)
}

/// Whether the last report that lists an item says how it ended.
fn is_reported(tx: &mut dyn Transaction, item: &Item) -> Result<bool, RegistryError> {
    let Some(batch) = item.batch else { return Ok(true) };
    if !item.status.is_ended() {
        return Ok(false);
    }
    // Its end is in the report that was made when the batch ended, or in one before.
    match batches::get(tx, Scope::System, batch)? {
        Some(batch) if !reports::is_ended(batch.state) && batch.state != BatchState::Deleted => reports::says(tx, item),
        _ => Ok(true),
    }
}
