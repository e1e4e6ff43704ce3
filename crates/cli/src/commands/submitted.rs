//! What comes of a submission: its work items as they end, where the command waits for them, and a summary of its batch; else what it became.

use std::collections::BTreeSet;
use std::time::Instant;

use strongroom_engine::app::views::{
    Action, BatchId, BatchView, ItemId, ItemProblem, ItemStatus, ItemView, SubmittedView,
};
use strongroom_engine::app::{Listing, OpContext, Order, batches, deposits, items};

use super::items::problem_line;
use super::wait::{Ended, Stop, Waiting, wait_until};
use crate::context::Context;
use crate::failure::{Exit, Failure, Outcome};
use crate::output::{counted, printable};
use crate::signals;

/// The action of the work item that makes those of the rows of a list.
const EXPAND_BATCH: Action = Action::named("expand_batch");

/// Problems of an item that are printed.
const PROBLEMS: usize = 20;

/// Failed items that a summary names.
const FAILED: usize = 20;

/// Items that are read together.
const SHOWN_AT_ONCE: usize = 500;

/// The problem of a package that its server did not give.
const NOT_FETCHED: &str = "package.not_fetched";

/// Waits for what was submitted, or says what it became.
pub(crate) fn follow(
    call: &OpContext,
    submitted: &SubmittedView,
    context: &Context,
    waiting: &Waiting,
    waits: bool,
) -> Outcome {
    if waits {
        return wait_for_all(call, submitted, context, waiting);
    }
    for page in submitted.items.chunks(SHOWN_AT_ONCE) {
        for made in deposits::show_all(call, page)? {
            if context.output.is_json() {
                context.output.json(&made)?;
            } else {
                context.output.say(printable(&format!("accepted  {}  item {}", made.object, made.item)))?;
            }
        }
    }
    context.output.say(format!(
        "batch {}; workers do the rest; where none runs, start \"strongroom work\" or \"strongroom serve\"",
        submitted.batch
    ))?;
    Ok(Exit::Done)
}

/// Waits for the items of a submission, and then for those that lists of objects became. Of a submission that is a list, or has several
/// items, the batch is named at once, and counted at the end.
fn wait_for_all(call: &OpContext, submitted: &SubmittedView, context: &Context, waiting: &Waiting) -> Outcome {
    let has_list = has_list(call, submitted.batch)?;
    let output = &context.output;
    let is_batch = has_list || submitted.items.len() > 1;
    if is_batch {
        output.say(format!("batch {}", submitted.batch))?;
        if has_list && output.is_json() {
            output.json(&batches::show(call, submitted.batch)?)?;
        }
        output.flush()?;
    }
    let outcome = wait_for_items(call, submitted, context, waiting);
    if !is_batch || outcome.as_ref().is_err_and(Failure::is_silent) {
        return outcome;
    }
    // Also of one that is not waited for any more: how far it is.
    let told = batches::show(call, submitted.batch).map_err(Failure::from).and_then(|batch| match output.is_json() {
        true if has_list => output.json(&batch),
        true => Ok(()),
        false => tell_batch(call, &batch, context),
    });
    let exit = outcome?;
    told.map(|()| exit)
}

/// Whether a submission has lists whose rows become work items.
fn has_list(call: &OpContext, batch: BatchId) -> Result<bool, Failure> {
    let listing = Listing { order: Order::OldestFirst, limit: Some(1) };
    let filter = items::Filter { batch: Some(batch), action: Some(EXPAND_BATCH), listing, ..items::Filter::default() };
    Ok(!items::list(call, &filter, None)?.items.is_empty())
}

fn wait_for_items(call: &OpContext, submitted: &SubmittedView, context: &Context, waiting: &Waiting) -> Outcome {
    let stop = Stop { shutdown: signals::watch()?, timeout: waiting.timeout, began: Instant::now() };
    let mut lists = 0;
    let exit = wait_until(call, &submitted.items, context, &stop, &mut |item| {
        if item.action == EXPAND_BATCH && item.status == ItemStatus::Succeeded {
            lists += 1;
            if context.output.is_json() {
                return Ok(Ended::Well);
            }
        }
        told(call, &item, context)
    })?;
    if lists == 0 || matches!(exit, Exit::Interrupted) {
        return Ok(exit);
    }
    let known: BTreeSet<ItemId> = submitted.items.iter().copied().collect();
    let (mut after, mut worst) = (None, exit);
    loop {
        let filter = items::Filter { batch: Some(submitted.batch), ..items::Filter::default() };
        let page = items::list(call, &filter, after)?;
        // Those that were submitted with the lists are told already.
        let is_of_row = |item: &&ItemView| item.action != EXPAND_BATCH && !known.contains(&item.item);
        let of_rows: Vec<ItemId> = page.items.iter().filter(is_of_row).map(|item| item.item).collect();
        after = page.next;
        let exit = if of_rows.is_empty() {
            Exit::Done
        } else {
            wait_until(call, &of_rows, context, &stop, &mut |item| told(call, &item, context))?
        };
        match exit {
            Exit::Done => {}
            Exit::Interrupted => return Ok(Exit::Interrupted),
            other => worst = other,
        }
        if after.is_none() {
            return Ok(worst);
        }
    }
}

/// What a batch has come to: its items counted, the first that failed with their reasons, and what shows the rest.
fn tell_batch(call: &OpContext, batch: &BatchView, context: &Context) -> Result<(), Failure> {
    let output = &context.output;
    let counts = [
        (batch.succeeded, "succeeded"),
        (batch.failed, "failed"),
        (batch.cancelled, "cancelled"),
        (batch.deleted, "deleted"),
        (batch.held, "held"),
        (batch.open.saturating_sub(batch.held), "open"),
    ];
    let parts: Vec<String> =
        counts.iter().filter(|(count, _)| *count > 0).map(|(count, word)| format!("{count} {word}")).collect();
    let items = counted(batch.items, "item", "items");
    output.say(format!("batch {} is {}: {items}: {}", batch.batch, batch.state, parts.join(", ")))?;
    let listing = Listing { order: Order::OldestFirst, limit: Some(FAILED as u64) };
    let failed = items::Filter {
        batch: Some(batch.batch),
        status: Some(ItemStatus::Failed),
        listing,
        ..items::Filter::default()
    };
    let failed = if batch.failed > 0 { items::list(call, &failed, None)?.items } else { Vec::new() };
    for item in &failed {
        let note = item.note.as_deref().unwrap_or_default();
        output.say(printable(&format!("  {}  {}  {note}", item.item, item.object)))?;
    }
    if let Some(more) = batch.failed.checked_sub(failed.len() as u64).filter(|more| *more > 0) {
        output.say(format!("  {more} more: strongroom items list --batch {} --status failed", batch.batch))?;
    }
    if batch.succeeded < batch.items {
        output.say(format!("  next: strongroom batches report {}", batch.batch))?;
    }
    Ok(())
}

/// Whether an item failed for something else than its package: a server, a setting, a quota. Then the same package can be deposited.
fn may_be_put_right(item: &ItemView) -> bool {
    let is_of_package = |problem: &ItemProblem| problem.severity == "error" && problem.code != NOT_FETCHED;
    item.status == ItemStatus::Failed && item.next.is_none() && !item.problems.iter().any(is_of_package)
}

/// One line for an item that ended; whether it succeeded.
fn told(call: &OpContext, item: &ItemView, context: &Context) -> Result<Ended, Failure> {
    let ended = Ended::of(item.status);
    if context.output.is_json() {
        context.output.json(&deposits::show(call, item.item)?)?;
        return Ok(ended);
    }
    let note = item.note_without_problem();
    context.output.say(printable(&format!("{:9}  {}  {note}", item.status, item.object)))?;
    for problem in item.problems.iter().take(PROBLEMS) {
        context.output.say(printable(&format!("  {}", problem_line(problem))))?;
    }
    if let Some(more) = item.problems.len().checked_sub(PROBLEMS).filter(|more| *more > 0) {
        context.output.say(format!("  {more} more: strongroom items show {} --json", item.item))?;
    }
    if ended == Ended::Otherwise {
        if item.status == ItemStatus::Held {
            for hold in items::show(call, item.item)?.holds {
                let reason = hold.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
                let held = format!("  held with the {} {} by {}{reason}", hold.kind, hold.on, hold.by);
                context.output.say(printable(&held))?;
                context.output.say(format!("  next: {}", hold.lifted_by()))?;
            }
        } else {
            context.output.say(format!("  next: strongroom items history {}", item.item))?;
        }
        if may_be_put_right(item) {
            context.output.say(format!("  when that is put right: strongroom items requeue {}", item.item))?;
        }
    }
    Ok(ended)
}
