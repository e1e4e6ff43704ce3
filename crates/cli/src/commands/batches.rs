//! `batches`: one submission each, with its work items.

use clap::{Args, Subcommand, ValueEnum};
use serde::Serialize;
use strongroom_engine::app::items::Ask;
use strongroom_engine::app::reports::{self, ReportForm};
use strongroom_engine::app::views::{
    BatchState, BatchView, ItemStatus, MessageState, MessageView, ReportRowView, ReportView, StopView, ToldView,
};
use strongroom_engine::app::{self, OpContext, batches};

use super::confirm::{DELETION, confirm};
use super::holds::show_holds;
use super::items;
use super::values::{time, word};
use crate::context::Context;
use crate::failure::{Exit, Failure, Outcome};
use crate::output::{ListOptions, TableOptions, minute, printable};

/// Show what was submitted together
#[derive(Debug, Subcommand)]
pub(crate) enum Batches {
    /// List batches, the newest first (with --json the oldest)
    #[command(after_help = "Example: strongroom batches list --state failed --limit 20")]
    List(Filter),
    /// Show a batch, who hears of it, what was told, and what is still to be delivered
    Show(Which),
    /// Show the last report of a batch, or a provisional report while it is open; exit 1 unless all items succeeded
    Report {
        #[command(flatten)]
        which: Which,
        /// The number of the report, of those that "batches reports" lists [default: the last one; of an open batch a new provisional one]
        #[arg(long, value_name = "N", conflicts_with = "update")]
        number: Option<u64>,
        /// Make a report of the items as they are now: what changed since the last one, and what is unresolved
        #[arg(long)]
        update: bool,
        /// How the report is written
        #[arg(long, value_enum, conflicts_with_all = ["json", "csv", "long"])]
        format: Option<Format>,
        #[command(flatten)]
        options: TableOptions,
    },
    /// List the reports of a batch
    Reports {
        #[command(flatten)]
        which: Which,
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
    /// Correct the addresses that mails about a batch go to: what was refused or is not delivered goes to them
    Set {
        #[command(flatten)]
        which: Which,
        /// An address, instead of those before; given once for each; "" alone for those of the collection
        #[arg(long, value_name = "EMAIL", required = true)]
        notify_to: Vec<String>,
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
    /// End the items of a batch that wait or are worked on as failed; those that are held stay
    Fail {
        #[command(flatten)]
        which: Which,
        #[command(flatten)]
        why: items::FailedWhy,
    },
    /// Delete a batch with its items: they are no longer listed; rows and history stay, and objects are not touched
    Delete {
        #[command(flatten)]
        which: Which,
        #[command(flatten)]
        confirmed: items::Confirmed,
    },
}

/// How a report is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For a terminal
    Text,
    /// JSON Lines: the report, then each item, as with --json
    Json,
    /// A table for a spreadsheet
    Csv,
    /// A page for a browser
    Html,
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
    /// Only those of this collection: its short name, or INSTITUTION/NAME
    #[arg(long, value_name = "NAME")]
    collection: Option<String>,
    /// Only this state: pending, processing, held, completed, failed or deleted
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
            show(&call, &which, context)
        }
        Batches::Report { which, number, update, format, options } => {
            let call = context.call()?;
            let report = chosen(&call, &which, (number, update))?;
            show_report(&call, &report, format, options, context)
        }
        Batches::Reports { which, options } => list_reports(&which, options, context),
        Batches::Requeue { which, stage, new_rules } => {
            let call = context.call()?;
            let stage = stage.as_deref().map(|stage| word(stage, "stage", &app::items::stages(&call)?)).transpose()?;
            if !new_rules {
                return steer(&which, (Ask::Requeue(stage), None), context);
            }
            let id = batches::named(&call, &which.batch)?;
            show_batch(&batches::requeue_with_new_rules(&call, id, stage)?, context)
        }
        Batches::Set { which, notify_to } => {
            let call = context.call()?;
            batches::set_addresses(&call, batches::named(&call, &which.batch)?, &notify_to)?;
            show(&call, &which, context)
        }
        Batches::Release(which) => steer(&which, (Ask::Release, None), context),
        Batches::Hold { which, why } => steer(&which, (Ask::Hold, why.reason.as_deref()), context),
        Batches::Cancel(which) => steer(&which, (Ask::Cancel, None), context),
        Batches::Fail { which, why } => steer(&which, (Ask::Fail, why.reason.as_deref()), context),
        Batches::Delete { which, confirmed } => {
            let call = context.call()?;
            let id = batches::named(&call, &which.batch)?;
            let untold = batches::untold_by_deletion(&call, id)?;
            let is_confirmed = confirm(&DELETION, &untold, confirmed.yes, context)?;
            show_batch(&batches::steer(&call, id, Ask::Delete { is_confirmed }, None)?, context)
        }
    }
}

/// A batch, with what was told of it.
#[derive(Serialize)]
struct Shown {
    #[serde(flatten)]
    batch: BatchView,
    told: ToldView,
}

/// A batch as it is now, and the holds on it in lines of their own.
fn show_batch(batch: &BatchView, context: &Context) -> Outcome {
    if context.output.is_json() {
        context.output.json(batch)?;
        return Ok(Exit::Done);
    }
    context.output.show(&BatchView { holds: Vec::new(), stopping: None, ..batch.clone() })?;
    if let Some(StopView { status, since, by, reason }) = &batch.stopping {
        let reason = reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
        let what = if *status == ItemStatus::Failed { "made to fail" } else { "cancelled" };
        let text = format!("its open items are being {what}, as {by} asked at {}{reason}", minute(since));
        context.output.say("stopping")?;
        context.output.say(format!("  {}", printable(&text)))?;
    }
    if batch.ending > 0 {
        let (which, ends) = if batch.ending == 1 {
            ("item that a worker has is", "it ends")
        } else {
            ("items that workers have are", "they end")
        };
        let text = format!(
            "{} {which} asked to end; {ends} when the worker notices it, or, where its process is gone, when the lease has ended and another \
             worker takes the task",
            batch.ending
        );
        context.output.field("", 0, &text)?;
        context.output.say(format!("  next: strongroom items list --batch {} --status started --long", batch.batch))?;
    }
    show_holds(&batch.holds, context)?;
    Ok(Exit::Done)
}

fn show(call: &OpContext, which: &Which, context: &Context) -> Outcome {
    let output = &context.output;
    let id = batches::named(call, &which.batch)?;
    let (batch, told) = (batches::show(call, id)?, batches::told(call, id)?);
    if output.is_json() {
        output.show(&Shown { batch, told })?;
        return Ok(Exit::Done);
    }
    show_batch(&batch, context)?;
    let mut is_first = true;
    let mut line = |name: &str, text: String| {
        if text.is_empty() {
            return Ok(());
        }
        if std::mem::take(&mut is_first) {
            output.say("")?;
        }
        output.field(name, FACT, &text)
    };
    line("Mails to", told.notify_to.join(", "))?;
    line("Not sent", told.suppress.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "))?;
    let required = if told.callback_required { ", which has to confirm each deposit" } else { "" };
    line("Events to", told.callback_url.map(|url| format!("{url}{required}")).unwrap_or_default())?;
    for number in &told.reports_not_told {
        let text = format!(
            "{number}; its mails and events are not written yet: a worker of the topic batch.report writes them"
        );
        line("Report", text)?;
    }
    for counts in &told.counts {
        let parts = [
            (counts.delivered, "delivered"),
            (counts.incomplete, "of these not to every recipient"),
            (counts.waiting, "waiting"),
            (counts.needs_review, "for review"),
            (counts.removed, "removed"),
        ];
        let parts: Vec<String> =
            parts.iter().filter(|(count, _)| *count > 0).map(|(count, word)| format!("{count} {word}")).collect();
        line(if counts.kind == "mail" { "Mails" } else { "Events" }, parts.join(", "))?;
    }
    told.messages.iter().try_for_each(|message| show_message(message, context)).map(|()| Exit::Done)
}

/// A message in lines of its own, none of which is cut: to whom, what became of it, and why it is not delivered, or not to all of its
/// recipients, with what to do.
fn show_message(message: &MessageView, context: &Context) -> Result<(), Failure> {
    let output = &context.output;
    let state = match (message.state, message.refused.len()) {
        (MessageState::Delivered, refused @ 1..) => format!("delivered, {refused} refused"),
        (MessageState::Delivered, 0) => "delivered".to_owned(),
        (MessageState::NeedsReview, _) => "needs review".to_owned(),
        (MessageState::Removed, _) => "removed".to_owned(),
        (MessageState::Waiting, _) => "waiting".to_owned(),
    };
    let ended = message.delivered_at.as_deref().map(|at| format!(" {}", minute(at))).unwrap_or_default();
    let subject = message.subject.as_ref().map(|subject| format!(": {subject}")).unwrap_or_default();
    output.say("")?;
    output.say(format!("Message {}", message.message))?;
    let kind = if message.kind == "mail" { "mail" } else { "event" };
    let made = minute(&message.created_at);
    output.field("", FACT_OF_MESSAGE, &printable(&format!("{kind} of {made}, {state}{ended}{subject}")))?;
    if !message.to.is_empty() {
        output.field("", FACT_OF_MESSAGE, &printable(&format!("to {}", message.to.join(", "))))?;
    }
    let mut lines: Vec<String> = Vec::new();
    if message.state != MessageState::NeedsReview {
        lines.extend(message.refused.iter().map(|refusal| format!("refused for {refusal}")));
    }
    if let Some(reason) = message.said() {
        lines.push(reason.to_owned());
        lines.extend(message.next.iter().map(|next| format!("next: {next}")));
    }
    lines.iter().try_for_each(|line| output.say(format!("  {}", printable(line))))
}

fn list(filter: &Filter, context: &Context) -> Outcome {
    // No batch has the states of reports.
    let is_of_batches = |state: &BatchState| !matches!(state, BatchState::Reporting | BatchState::UpdateReporting);
    let states: Vec<BatchState> = BatchState::ALL.iter().copied().filter(is_of_batches).collect();
    let state = filter.state.as_deref().map(|text| word(text, "state", &states)).transpose()?;
    let since = filter.since.as_deref().map(time).transpose()?;
    let listing = filter.options.newest_first(&context.output);
    let (institution, collection) = (filter.institution.clone(), filter.collection.clone());
    let wanted = batches::Filter { institution, collection, state, since, listing };
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

/// The report that is asked for: one of a number, one that is made now, or the last one.
fn chosen(call: &OpContext, which: &Which, (number, update): (Option<u64>, bool)) -> Result<ReportView, Failure> {
    let id = batches::named(call, &which.batch)?;
    if number.is_some() {
        return Ok(reports::show(call, id, number)?);
    }
    let is_open =
        !matches!(batches::show(call, id)?.state, BatchState::Completed | BatchState::Failed | BatchState::Deleted);
    Ok(if update || is_open { reports::make(call, id)? } else { reports::show(call, id, None)? })
}

fn show_report(
    call: &OpContext,
    report: &ReportView,
    format: Option<Format>,
    options: TableOptions,
    context: &Context,
) -> Outcome {
    let output = &context.output;
    let format = format.unwrap_or(match options.csv {
        true => Format::Csv,
        false if output.is_json() => Format::Json,
        false => Format::Text,
    });
    let which = (report.batch, report.number);
    let form = match format {
        Format::Text => None,
        Format::Json => Some(ReportForm::Json),
        Format::Csv => Some(ReportForm::Csv),
        Format::Html => Some(ReportForm::Html),
    };
    match form {
        Some(form) => output.document(|out| reports::write(call, which, form, out))?,
        None => tell(call, report, options, context)?,
    }
    Ok(if report.succeeded == report.items { Exit::Done } else { Exit::No })
}

/// A report for a terminal: what it says of the batch, then its parts.
fn tell(call: &OpContext, report: &ReportView, options: TableOptions, context: &Context) -> Result<(), Failure> {
    let output = &context.output;
    output.field("Batch", FACT, &report.batch.to_string())?;
    output.field("Report", FACT, &format!("{}, {}", report.number, report.kind))?;
    for (name, text) in reports::facts(report) {
        output.field(name, FACT, &minute(&text))?;
    }
    for (title, filter) in reports::sections(report) {
        output.say("")?;
        output.say(title)?;
        let mut table =
            output.table(&["row", "name", "state", "message"]).with::<ReportRowView>(options).wrapping().in_full(&[
                "row",
                "name",
                "state",
                "object",
                "version",
                "ark",
                "local_ids",
                "stage",
                "code",
                "message",
                "item",
            ]);
        let rows = |after| reports::rows(call, (report.batch, report.number), filter, after);
        app::each(rows, |row| table.row(&row))?;
        table.end("nothing")?;
    }
    Ok(())
}

/// The column at which the texts of a report begin.
const FACT: usize = 14;
/// The column at which the lines about a message begin.
const FACT_OF_MESSAGE: usize = 2;

fn list_reports(which: &Which, options: TableOptions, context: &Context) -> Outcome {
    let call = context.call()?;
    let id = batches::named(&call, &which.batch)?;
    let columns = ["number", "kind", "made_at", "state", "items", "succeeded", "unresolved", "changed"];
    let mut table = context.output.table(&columns).with::<ReportView>(options).if_room(&["made_by"]);
    app::each(|after| reports::list(&call, id, after), |report| table.row(&report))?;
    table.end("the batch has no reports")?;
    Ok(Exit::Done)
}

/// Asks something of a batch.
fn steer(which: &Which, (ask, reason): (Ask, Option<&str>), context: &Context) -> Outcome {
    let call = context.call()?;
    let id = batches::named(&call, &which.batch)?;
    show_batch(&batches::steer(&call, id, ask, reason)?, context)
}
