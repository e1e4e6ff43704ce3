//! `store backfill`, `store replace` and `store retire`: what a store should hold, putting another in the place of a lost
//! one, and taking one out of use.

use strongroom_engine::app::stores::BackfillRequest;
use strongroom_engine::app::views::BackfillView;
use strongroom_engine::app::{OpContext, stores};

use crate::context::Context;
use crate::failure::{Exit, Failure, Outcome};
use crate::progress::{Line, Unit};
use crate::signals;

/// Brings a store up to date: leaves it to the workers, or does it here and now.
pub(super) fn backfill(store: &str, wait: bool, context: &Context) -> Outcome {
    let call = context.call()?;
    if !wait {
        context.output.show(&stores::enqueue_backfill(&call, store)?)?;
        return Ok(Exit::Done);
    }
    let (filled, exit) = copy(&call, store, context)?;
    context.output.show(&filled)?;
    Ok(exit)
}

/// Copies what a store lacks here and now.
fn copy(call: &OpContext, store: &str, context: &Context) -> Result<(BackfillView, Exit), Failure> {
    let stop = signals::watch()?;
    let line = Line::new(context, Unit::Objects, &format!("store {store}"));
    if !line.is_hidden() {
        let (objects, bytes) = stores::amount_lacking(call, store)?;
        // What is copied is read back.
        line.counts().set_expected(objects, bytes.saturating_mul(2));
    }
    let request = BackfillRequest { store: store.to_owned(), stop, progress: line.counts().clone() };
    let filled = stores::backfill(call, &request, &mut |so_far| {
        line.counts().set_files(so_far.objects + so_far.postponed + so_far.failed);
    });
    drop(line);
    let (filled, stop) = (filled?, request.stop);
    if stop.is_requested() && !context.is_quiet {
        eprintln!("stopped; what was copied stays, and workers continue");
        eprintln!("  next: \"strongroom store backfill {store} --wait\" continues in this process");
    }
    let exit = match (stop.is_requested(), filled.failed + filled.postponed) {
        (true, _) => Exit::Interrupted,
        (false, 0) => Exit::Done,
        (false, _) => Exit::No,
    };
    Ok((filled, exit))
}

/// Puts another store in the place of a lost one, and copies into it what the others have.
pub(super) fn replace(store: &str, no_wait: bool, context: &Context) -> Outcome {
    let call = context.call_quietly()?;
    let mut replaced = stores::replace(&call, store)?;
    let mut exit = Exit::Done;
    if replaced.keeps_copies && no_wait {
        replaced.tasks = Some(stores::enqueue_backfill(&call, store)?.tasks);
    } else if replaced.keeps_copies {
        let (filled, copied) = copy(&call, store, context)?;
        exit = copied;
        replaced = replaced.filled(filled);
    }
    context.output.show(&replaced)?;
    if exit != Exit::Done && !context.is_quiet {
        eprintln!("store {store} is not whole yet");
        eprintln!("  next: \"strongroom store backfill {store} --wait\" continues");
    }
    let is_whole = replaced.only_copies == 0;
    if !is_whole && !context.is_quiet {
        eprintln!("{} contents have no good copy in another store in use", replaced.only_copies);
        eprintln!(
            "  next: \"strongroom fixity run --all --store {store}\" lists them; a deposit of the same bytes repairs \
             them"
        );
    }
    Ok(if is_whole { exit } else { Exit::No })
}

/// Takes a store out of use, or says what depends on it.
pub(super) fn retire(store: &str, allow_one_copy: bool, context: &Context) -> Outcome {
    let call = context.call()?;
    let mut table = context.output.table(&["placement", "object", "store", "reason"]).wrapping();
    let mut is_told = false;
    let outcome = stores::retire(&call, store, allow_one_copy, &mut |unretired| {
        is_told = true;
        table.row(&unretired)
    });
    if is_told {
        table.end("")?;
    }
    context.output.show(&outcome?)?;
    Ok(Exit::Done)
}

/// Takes a retired store back into use, and leaves it to the workers to bring what it lacks.
pub(super) fn use_again(store: &str, context: &Context) -> Outcome {
    let call = context.call()?;
    context.output.show(&stores::use_again(&call, store)?)?;
    if !context.is_quiet {
        eprintln!("its copies count as unverified until they are read");
        eprintln!(
            "  next: \"strongroom store backfill {store} --wait\" copies what it lacks now, \
             \"strongroom fixity run --store {store}\" reads its copies; workers do both"
        );
    }
    Ok(Exit::Done)
}
