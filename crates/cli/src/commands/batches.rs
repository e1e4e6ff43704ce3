//! `batches`: one submission each, with its work items.

use clap::{Args, Subcommand};
use strongroom_engine::app::items::{Ask, Filter as ItemFilter};
use strongroom_engine::app::views::{BatchId, BatchState, BatchView};
use strongroom_engine::app::{self, OpContext, batches};

use super::items;
use super::values::{time, word};
use crate::context::Context;
use crate::failure::{Exit, Outcome};
use crate::output::{ListOptions, TableOptions};

/// Show what was submitted together
#[derive(Debug, Subcommand)]
pub(crate) enum Batches {
    /// List batches, the newest first (with --json the oldest)
    #[command(after_help = "Example: strongroom batches list --state failed --limit 20")]
    List(Filter),
    /// Show a batch
    Show(Which),
    /// Report on a batch: the batch, then each of its items; exit 1 unless all items succeeded
    Report {
        #[command(flatten)]
        which: Which,
        /// Make the report again from the items as they are now
        #[arg(long)]
        update: bool,
        #[command(flatten)]
        options: TableOptions,
    },
    /// Requeue the failed items of a batch; those that were cancelled are requeued one by one, with "items requeue"
    Requeue {
        #[command(flatten)]
        which: Which,
        /// The stage to begin with [default: the one that each stopped at]
        #[arg(long)]
        stage: Option<String>,
        /// Go on with the rules that the collection has now, instead of those that the batch began with
        #[arg(long)]
        new_rules: bool,
    },
    /// Release a held batch: its items continue where they stood, unless they or their collection are held
    Release(Which),
    /// Hold a batch: its items stay where they are until it is released
    Hold {
        #[command(flatten)]
        which: Which,
        #[command(flatten)]
        why: items::Why,
    },
    /// Cancel the open items of a batch
    Cancel(Which),
    /// Delete a batch with its items: they are no longer listed; rows and history stay
    Delete(Which),
}

/// Names a batch.
#[derive(Debug, Args)]
pub(crate) struct Which {
    /// Its identifier, or a part of it that no other has
    batch: String,
}

/// Which batches a listing shows.
#[derive(Debug, Args)]
pub(crate) struct Filter {
    /// Only those of this institution
    #[arg(long, value_name = "DOMAIN")]
    institution: Option<String>,
    /// Only this state: pending, held, processing, reporting, completed, failed, cancelled or deleted
    #[arg(long)]
    state: Option<String>,
    /// Only those made since: a date such as 2026-01-31, a time, or an age such as 7d
    #[arg(long, value_name = "DATE|TIME|AGE")]
    since: Option<String>,
    #[command(flatten)]
    options: ListOptions,
}

pub(crate) fn run(command: Batches, context: &Context) -> Outcome {
    match command {
        Batches::List(filter) => list(&filter, context),
        Batches::Show(which) => {
            let call = context.call()?;
            context.output.show(&batches::show(&call, batches::named(&call, &which.batch)?)?)?;
            Ok(Exit::Done)
        }
        Batches::Report { which, update: _, options } => report_on(&which, options, context),
        Batches::Requeue { which, stage, new_rules } => {
            let call = context.call()?;
            let stage = stage.as_deref().map(|stage| word(stage, "stage", &app::items::stages(&call)?)).transpose()?;
            if !new_rules {
                return steer(&which, (Ask::Requeue(stage), None), context);
            }
            let id = batches::named(&call, &which.batch)?;
            context.output.show(&batches::requeue_with_new_rules(&call, id, stage)?)?;
            Ok(Exit::Done)
        }
        Batches::Release(which) => steer(&which, (Ask::Release, None), context),
        Batches::Hold { which, why } => steer(&which, (Ask::Hold, why.reason.as_deref()), context),
        Batches::Cancel(which) => steer(&which, (Ask::Cancel, None), context),
        Batches::Delete(which) => steer(&which, (Ask::Delete, None), context),
    }
}

fn list(filter: &Filter, context: &Context) -> Outcome {
    let state = filter.state.as_deref().map(|text| word(text, "state", BatchState::ALL)).transpose()?;
    let since = filter.since.as_deref().map(time).transpose()?;
    let listing = filter.options.newest_first(&context.output);
    let wanted = batches::Filter { institution: filter.institution.clone(), state, since, listing };
    let call = context.call()?;
    let columns = ["batch", "created_at", "institution", "state", "items", "succeeded", "failed"];
    let mut table = context
        .output
        .table(&columns)
        .with::<BatchView>(filter.options.table)
        .if_room(&["kind", "submitted_by"])
        .in_full(&[
            "batch",
            "created_at",
            "institution",
            "collection",
            "kind",
            "state",
            "items",
            "succeeded",
            "failed",
            "open",
            "held",
            "deleted",
            "submitted_by",
            "updated_at",
            "note",
        ]);
    app::first(listing.limit, |after| batches::list(&call, &wanted, after), |batch| table.row(&batch))?;
    table.end("there are no such batches")?;
    Ok(Exit::Done)
}

fn report_on(which: &Which, options: TableOptions, context: &Context) -> Outcome {
    let call = context.call()?;
    let id = batches::named(&call, &which.batch)?;
    let batch = batches::show(&call, id)?;
    if !options.csv {
        context.output.show(&batch)?;
        context.output.say("")?;
    }
    tell_items(&call, id, options, context)?;
    Ok(if batch.succeeded == batch.items { Exit::Done } else { Exit::No })
}

fn tell_items(call: &OpContext, id: BatchId, options: TableOptions, context: &Context) -> Outcome {
    let mut table = items::table(context, options);
    let filter = ItemFilter { batch: Some(id), ..ItemFilter::default() };
    app::each(|after| app::items::list(call, &filter, after), |item| table.row(&item))?;
    table.end("it has no items")?;
    Ok(Exit::Done)
}

/// Asks something of a batch.
fn steer(which: &Which, (ask, reason): (Ask, Option<&str>), context: &Context) -> Outcome {
    let call = context.call()?;
    let id = batches::named(&call, &which.batch)?;
    context.output.show(&batches::steer(&call, id, ask, reason)?)?;
    Ok(Exit::Done)
}
