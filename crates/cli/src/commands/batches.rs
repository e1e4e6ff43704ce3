//! `batches`: one submission each, with its work items.

use clap::{Args, Subcommand};
use strongroom_registry::batches::{self, Batch};
use strongroom_registry::items::{self, ItemFilter, Request};
use strongroom_registry::{BatchId, BatchState, ItemStatus, Registry, RegistryError, Scope, Transaction};

use super::PAGE;
use super::institution::scope;
use super::items::{each, identifier};
use crate::context::Context;
use crate::failure::{Exit, Failure, Outcome};
use crate::output::report;

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

report! {
    /// A batch.
    BatchReport {
        batch: BatchId,
        institution: String,
        collection: Option<String>,
        kind: String,
        state: BatchState,
        items: u64,
        succeeded: u64,
        failed: u64,
        open: u64,
        submitted_by: String,
        note: Option<String>,
        created_at: String,
        updated_at: String,
    }
}

impl BatchReport {
    fn read(tx: &mut dyn Transaction, batch: Batch) -> Result<Self, RegistryError> {
        let counts = items::counts(tx, Scope::System, Some(batch.id))?;
        let sum = |wanted: fn(ItemStatus) -> bool| {
            counts.iter().filter(|(status, _)| wanted(*status)).map(|(_, count)| count).sum::<u64>()
        };
        Ok(Self {
            batch: batch.id,
            institution: batch.institution_identifier,
            collection: batch.collection_identifier,
            kind: batch.kind,
            state: batch.state,
            items: sum(|_| true),
            succeeded: sum(|status| status == ItemStatus::Succeeded),
            failed: sum(|status| status == ItemStatus::Failed),
            open: sum(|status| !status.is_ended()),
            submitted_by: batch.submitted_by,
            note: batch.note,
            created_at: batch.created_at.to_string(),
            updated_at: batch.updated_at.to_string(),
        })
    }
}

pub(crate) fn run(command: Batches, context: &Context) -> Outcome {
    let registry = context.registry()?;
    match command {
        Batches::List { institution } => list(&registry, institution.as_deref(), context),
        Batches::Show(which) => show(&registry, identifier(&which.batch, "batch")?, context),
        Batches::Report { which, update: _ } => report_on(&registry, identifier(&which.batch, "batch")?, context),
        Batches::Release(which) => ask(&registry, &which, Request::Release, context),
        Batches::Hold(which) => ask(&registry, &which, Request::Hold, context),
        Batches::Cancel(which) => ask(&registry, &which, Request::Cancel, context),
        Batches::Delete(which) => ask(&registry, &which, Request::Delete, context),
    }
}

fn list(registry: &Registry, institution: Option<&str>, context: &Context) -> Outcome {
    let scope = scope(registry, institution)?;
    let mut table =
        context.output.table(&["batch", "institution", "kind", "state", "items", "succeeded", "failed", "created_at"]);
    let mut after = None;
    loop {
        let page = registry.read(|tx| {
            let page = batches::list(tx, scope, after, PAGE)?;
            page.into_iter().map(|batch| BatchReport::read(tx, batch)).collect::<Result<Vec<_>, RegistryError>>()
        })?;
        let Some(last) = page.last().map(|batch| batch.batch) else { break };
        after = Some(last);
        for batch in &page {
            table.row(batch)?;
        }
    }
    table.end("there are no batches")?;
    Ok(Exit::Done)
}

fn read(registry: &Registry, id: BatchId) -> Result<BatchReport, Failure> {
    Ok(registry.read(|tx| {
        let batch = find(tx, id)?;
        BatchReport::read(tx, batch)
    })?)
}

fn find(tx: &mut dyn Transaction, id: BatchId) -> Result<Batch, RegistryError> {
    batches::get(tx, Scope::System, id)?.ok_or_else(|| RegistryError::NotFound { what: "batch", id: id.to_string() })
}

fn show(registry: &Registry, id: BatchId, context: &Context) -> Outcome {
    context.output.show(&read(registry, id)?)?;
    Ok(Exit::Done)
}

fn report_on(registry: &Registry, id: BatchId, context: &Context) -> Outcome {
    let batch = read(registry, id)?;
    context.output.show(&batch)?;
    context.output.say("")?;
    let mut table = context.output.table(&["item", "object", "part", "parts", "stage", "status", "note"]);
    let filter = ItemFilter { batch: Some(id), ..ItemFilter::default() };
    each(registry, Scope::System, &filter, |item| table.row(&item))?;
    table.end("it has no items")?;
    Ok(if batch.succeeded == batch.items { Exit::Done } else { Exit::No })
}

/// Carries out a request for the items it means, all or none.
fn ask(registry: &Registry, which: &Which, request: Request, context: &Context) -> Outcome {
    let id: BatchId = identifier(&which.batch, "batch")?;
    let (who, workflows) = (Context::who(), registry.workflows());
    registry.write_and_wake(move |tx| batches::request(tx, workflows.as_ref(), Scope::System, id, request, &who))?;
    show(registry, id, context)
}
