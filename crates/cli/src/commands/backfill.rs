//! `store backfill`, `store replace` and `store retire`: what a store should hold, putting another in the place of a lost
//! one, and taking one out of use.

use strongroom_engine::Home;
use strongroom_engine::backfill::{self, BackfillSummary, Replacement, Retirement};

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
    /// What came of replacing a store.
    #[derive(Default)]
    ReplaceReport {
        store: String,
        id: String,
        replaced: Option<String>,
        only_copies: u64,
        tasks: Option<u64>,
        objects: u64,
        contents: u64,
        bytes: u64,
        postponed: u64,
        failed: u64,
        errors: Vec<String>,
    }
}

report! {
    /// An object, or a placement, that a store cannot be taken from.
    UnretiredReport { placement: Option<String>, object: Option<String>, store: Option<String>, reason: String }
}

report! {
    /// A store that is in use again, and how many tasks bring what it lacks.
    UsedAgain { store: String, tasks: u64 }
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
    let (summary, exit) = copy(&home, store, context)?;
    let BackfillSummary { objects, contents, bytes, postponed, failed, errors } = summary;
    let store = store.to_owned();
    context.output.show(&BackfillReport { store, objects, contents, bytes, postponed, failed, errors })?;
    Ok(exit)
}

/// Copies what a store lacks here and now.
fn copy(home: &Home, store: &str, context: &Context) -> Result<(BackfillSummary, Exit), Failure> {
    let stop = signals::watch()?;
    let bar = progress::spinner(context, format!("bringing store {store} up to date"));
    let summary = backfill::run(home, store, &stop, &mut |so_far| {
        let size = size(so_far.bytes);
        bar.set_message(format!("brought {} objects, {} contents, {size}", so_far.objects, so_far.contents));
    });
    bar.finish_and_clear();
    let summary = summary?;
    let exit = match (stop.is_requested(), summary.failed + summary.postponed) {
        (true, _) => Exit::Interrupted,
        (false, 0) => Exit::Done,
        (false, _) => Exit::No,
    };
    Ok((summary, exit))
}

/// Puts another store in the place of a lost one, and copies into it what the others have.
pub(super) fn replace(store: &str, no_wait: bool, context: &Context) -> Outcome {
    let home = context.open_home_quietly()?;
    let tried = format!("replace store {store}");
    let Replacement { replaced, id, only_copies } =
        backfill::replace(&home, store).map_err(|error| Failure::from(error).while_trying(tried))?;
    let mut report = ReplaceReport {
        store: store.to_owned(),
        id: id.to_string(),
        replaced: replaced.map(|id| id.to_string()),
        only_copies,
        ..ReplaceReport::default()
    };
    let mut exit = Exit::Done;
    if home.settings.preservation_stores().contains(&store) {
        if no_wait {
            report.tasks = Some(backfill::enqueue(&home, store)?);
        } else {
            let (summary, copied) = copy(&home, store, context)?;
            exit = copied;
            let BackfillSummary { objects, contents, bytes, postponed, failed, errors } = summary;
            report = ReplaceReport { objects, contents, bytes, postponed, failed, errors, ..report };
        }
    }
    let is_whole = only_copies == 0;
    context.output.show(&report)?;
    if exit != Exit::Done && !context.is_quiet {
        eprintln!("store {store} is not whole yet");
        eprintln!("  next: \"strongroom store backfill {store} --wait\" goes on");
    }
    if !is_whole && !context.is_quiet {
        eprintln!("{only_copies} contents have no good copy in another store in use");
        eprintln!(
            "  next: \"strongroom fixity run --all --store {store}\" lists them; a deposit of the same bytes heals them"
        );
    }
    Ok(if is_whole { exit } else { Exit::No })
}

/// Takes a store out of use, or says what depends on it.
pub(super) fn retire(store: &str, allow_one_copy: bool, context: &Context) -> Outcome {
    let home = context.open_home()?;
    let mut table = context.output.table(&["placement", "object", "store", "reason"]);
    let outcome = backfill::retire(&home, store, allow_one_copy, &mut |unretired| {
        let backfill::Unretired { object, placement, store, reason } = unretired;
        table.row(&UnretiredReport { placement, object, store, reason })
    })?;
    let retired_at = match outcome {
        Retirement::Refused { objects, placements } => {
            table.end("")?;
            return Err(refused(store, objects, &placements));
        }
        Retirement::Retired(since) => since.to_string(),
        Retirement::Already(since) => since,
    };
    context.output.show(&RetiredReport { store: store.to_owned(), retired_at })?;
    Ok(Exit::Done)
}

/// Why a store stays in use, and what to do about it.
fn refused(store: &str, objects: u64, placements: &[String]) -> Failure {
    let mut reasons = Vec::new();
    if !placements.is_empty() {
        reasons.push(format!("too few stores would remain in use in the placements {}", placements.join(", ")));
    }
    if objects > 0 {
        reasons.push(format!("{objects} objects lack verified copies elsewhere"));
    }
    let failure = Failure::new(Exit::No, format!("the store {store} stays in use: {}", reasons.join("; ")));
    failure.next(match (placements.is_empty(), objects > 0) {
        (false, _) => {
            "name another store in the settings of each placement, and fill it with \
             \"strongroom store backfill NAME --wait\"; \"--allow-one-copy\" leaves a placement with one store"
        }
        (true, _) => "\"strongroom store backfill NAME\" brings a store up to date, \"strongroom fixity run\" verifies",
    })
}

/// Takes a retired store back into use, and leaves it to the workers to bring what it lacks.
pub(super) fn use_again(store: &str, context: &Context) -> Outcome {
    let home = context.open_home()?;
    backfill::use_again(&home, store)?;
    let is_kept = home.settings.preservation_stores().contains(&store);
    let tasks = if is_kept { backfill::enqueue(&home, store)? } else { 0 };
    context.output.show(&UsedAgain { store: store.to_owned(), tasks })?;
    if !context.is_quiet {
        eprintln!("its copies count as unverified until they are read");
        eprintln!(
            "  next: \"strongroom store backfill {store} --wait\" brings what it lacks now, \
             \"strongroom fixity run --store {store}\" reads its copies; workers do both"
        );
    }
    Ok(Exit::Done)
}
