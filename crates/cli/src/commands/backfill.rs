//! `store backfill` and `store retire`: what a store should hold, and taking one out of use.

use strongroom_engine::backfill::{self, BackfillSummary, Retirement};

use crate::context::Context;
use crate::failure::{Exit, Failure, Outcome};
use crate::output::{report, size};
use crate::{progress, signals};

report! {
    /// What was left to the workers.
    BackfillEnqueued { store: String, topic: String, tasks: u64 }
}

report! {
    /// What came of bringing a store up to date.
    BackfillReport {
        store: String,
        objects: u64,
        contents: u64,
        bytes: u64,
        postponed: u64,
        failed: u64,
        errors: Vec<String>,
    }
}

report! {
    /// An object that would lack verified copies without a store.
    UnretiredReport { object: Option<String>, store: Option<String>, reason: String }
}

report! {
    /// A store that is out of use.
    RetiredReport { store: String, retired_at: String }
}

/// Brings a store up to date: leaves it to the workers, or does it here and now.
pub(super) fn backfill(store: &str, wait: bool, context: &Context) -> Outcome {
    let home = context.open_home()?;
    if !wait {
        let tasks = backfill::enqueue(&home, store)?;
        let (store, topic) = (store.to_owned(), backfill::TOPIC.to_owned());
        context.output.show(&BackfillEnqueued { store, topic, tasks })?;
        return Ok(Exit::Done);
    }
    let stop = signals::watch()?;
    let bar = progress::spinner(context, format!("bringing store {store} up to date"));
    let summary = backfill::run(&home, store, &stop, &mut |so_far| {
        let size = size(so_far.bytes);
        bar.set_message(format!("brought {} objects, {} contents, {size}", so_far.objects, so_far.contents));
    });
    bar.finish_and_clear();
    let BackfillSummary { objects, contents, bytes, postponed, failed, errors } = summary?;
    let store = store.to_owned();
    context.output.show(&BackfillReport { store, objects, contents, bytes, postponed, failed, errors })?;
    Ok(match (stop.is_requested(), failed + postponed) {
        (true, _) => Exit::Interrupted,
        (false, 0) => Exit::Done,
        (false, _) => Exit::No,
    })
}

/// Takes a store out of use, or says what depends on it.
pub(super) fn retire(store: &str, context: &Context) -> Outcome {
    let home = context.open_home()?;
    let mut table = context.output.table(&["object", "store", "reason"]);
    let outcome = backfill::retire(&home, store, &mut |unretired| {
        let backfill::Unretired { object, store, reason } = unretired;
        table.row(&UnretiredReport { object, store, reason })
    })?;
    let retired_at = match outcome {
        Retirement::Refused { objects } => {
            table.end("")?;
            let text = format!("the store {store} stays in use: {objects} objects lack verified copies elsewhere");
            return Err(Failure::new(Exit::No, text).next(
                "\"strongroom store backfill NAME\" brings a store up to date, \"strongroom fixity run\" verifies",
            ));
        }
        Retirement::Retired(since) => since.to_string(),
        Retirement::Already(since) => since,
    };
    context.output.show(&RetiredReport { store: store.to_owned(), retired_at })?;
    Ok(Exit::Done)
}
