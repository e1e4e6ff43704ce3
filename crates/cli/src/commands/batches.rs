//! `batches`: one submission each, with its work items.

use clap::{Args, Subcommand};
use strongroom_engine::app::items::{self, Ask, Filter};
use strongroom_engine::app::views::BatchId;
use strongroom_engine::app::{self, OpContext, batches};

use super::items::identifier;
use crate::context::Context;
use crate::failure::{Exit, Outcome};

/// Show what was submitted together
#[derive(Debug, Subcommand)]
pub(crate) enum Batches {
    /// List batches, oldest first
    List {
        /// Only those of this institution
        #[arg(long, value_name = "DOMAIN")]
        institution: Option<String>,
    },
    /// Show one
    Show(Which),
    /// Report on one: the batch, then each of its items; exit 1 while any is not a success
    Report {
        #[command(flatten)]
        which: Which,
        /// Make the report anew from the items as they are now
        #[arg(long)]
        update: bool,
    },
    /// Let its held items go on
    Release(Which),
    /// Keep its open items where they are
    Hold(Which),
    /// End its open items without success
    Cancel(Which),
    /// Put it away with its items; rows and history stay
    Delete(Which),
}

/// Names a batch.
#[derive(Debug, Args)]
pub(crate) struct Which {
    /// Its identifier
    batch: String,
}

pub(crate) fn run(command: Batches, context: &Context) -> Outcome {
    match command {
        Batches::List { institution } => list(institution.as_deref(), context),
        Batches::Show(which) => {
            let id = identifier(&which.batch, "batch")?;
            context.output.show(&batches::show(&context.call()?, id)?)?;
            Ok(Exit::Done)
        }
        Batches::Report { which, update: _ } => report_on(identifier(&which.batch, "batch")?, context),
        Batches::Release(which) => steer(&which, Ask::Release, context),
        Batches::Hold(which) => steer(&which, Ask::Hold, context),
        Batches::Cancel(which) => steer(&which, Ask::Cancel, context),
        Batches::Delete(which) => steer(&which, Ask::Delete, context),
    }
}

fn list(institution: Option<&str>, context: &Context) -> Outcome {
    let call = context.call()?;
    let mut table =
        context.output.table(&["batch", "institution", "kind", "state", "items", "succeeded", "failed", "created_at"]);
    app::each(|after| batches::list(&call, institution, after), |batch| table.row(&batch))?;
    table.end("there are no batches")?;
    Ok(Exit::Done)
}

fn report_on(id: BatchId, context: &Context) -> Outcome {
    let call = context.call()?;
    let batch = batches::show(&call, id)?;
    context.output.show(&batch)?;
    context.output.say("")?;
    tell_items(&call, id, context)?;
    Ok(if batch.succeeded == batch.items { Exit::Done } else { Exit::No })
}

fn tell_items(call: &OpContext, id: BatchId, context: &Context) -> Outcome {
    let mut table = context.output.table(&["item", "object", "part", "parts", "stage", "status", "note"]);
    let filter = Filter { batch: Some(id), ..Filter::default() };
    app::each(|after| items::list(call, &filter, after), |item| table.row(&item))?;
    table.end("it has no items")?;
    Ok(Exit::Done)
}

/// Asks something of the items of a batch that it can mean, all or none.
fn steer(which: &Which, ask: Ask, context: &Context) -> Outcome {
    let id: BatchId = identifier(&which.batch, "batch")?;
    context.output.show(&batches::steer(&context.call()?, id, ask)?)?;
    Ok(Exit::Done)
}
