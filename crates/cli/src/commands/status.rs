//! `status`: the state of the installation on one screen.

use clap::Args;
use strongroom_engine::app::activities::ActivityState;
use strongroom_engine::app::status;
use strongroom_engine::app::views::{
    InfectedFile, ItemStatus, Review, ReviewActivity, ReviewBatch, ReviewItem, Status,
};

use crate::context::Context;
use crate::failure::{Exit, Failure, Outcome};
use crate::logging::without_lost_stores;
use crate::output::{beginning_of, counted, minute, printable, size};

/// Show what is worked on, what needs a person, and how stores and copies are
#[derive(Debug, Args)]
#[command(after_help = "Example: strongroom status --json")]
pub(crate) struct StatusCommand {
    /// Exit with 1 where anything needs a person, for scripts that watch
    #[arg(long)]
    check: bool,
}

/// The column at which texts begin.
const INDENT: usize = 12;
/// How much further details are indented.
const DETAIL: usize = 2;
/// Longer notes are cut.
const NOTE: usize = 100;

pub(crate) fn run(command: &StatusCommand, context: &Context) -> Outcome {
    let installation = context.installation()?;
    let status = without_lost_stores(|| status::show(&installation))?;
    if context.output.is_json() {
        context.output.json(&status)?;
    } else {
        show(&status, context)?;
    }
    Ok(if command.check && (!status.review.entries.is_empty() || status.second_factors.is_some()) {
        Exit::No
    } else {
        Exit::Done
    })
}

fn show(status: &Status, context: &Context) -> Result<(), Failure> {
    let line = |name: &str, text: String| context.output.field(name, INDENT, &printable(&text));
    let counts = |map: &std::collections::BTreeMap<&'static str, u64>| {
        let some: Vec<String> =
            map.iter().filter(|(_, count)| **count > 0).map(|(name, count)| format!("{count} {name}")).collect();
        if some.is_empty() { "none".to_owned() } else { some.join(", ") }
    };
    if let Some(reason) = &status.read_only {
        line("registry", format!("READ-ONLY: {reason}; next: strongroom rebuild --adopt"))?;
    }
    if let Some(reason) = &status.second_factors {
        line("sign-in", format!("second factors cannot be checked: {reason}"))?;
    }
    let items: Vec<String> = status
        .items
        .iter()
        .map(|(state, count)| format!("{}{count} {state}", at_least(status.items_at_least.contains(state))))
        .collect();
    line("items", if items.is_empty() { "none".to_owned() } else { items.join(", ") })?;
    show_review(&status.review, context)?;
    let busy =
        status.queue.iter().filter(|topic| topic.ready + topic.delayed + topic.leased + topic.dead > 0 || topic.paused);
    let mut is_idle = true;
    for topic in busy {
        let oldest = topic.oldest_ready_seconds.map(|age| format!(", oldest {age} s")).unwrap_or_default();
        let paused = if topic.paused { ", paused" } else { "" };
        let (ready, delayed, leased, dead) = (topic.ready, topic.delayed, topic.leased, topic.dead);
        let text =
            format!("{}: {ready} ready{oldest}, {leased} leased, {delayed} delayed, {dead} dead{paused}", topic.topic);
        line(if is_idle { "queue" } else { "" }, text)?;
        is_idle = false;
    }
    if is_idle {
        line("queue", "empty".to_owned())?;
    }
    let staging = &status.staging;
    let mut parts: Vec<String> = staging
        .bytes
        .iter()
        .map(|(state, bytes)| {
            let items = staging.items.get(state).copied().unwrap_or_default();
            format!("{} of {} {state}", size(*bytes), counted(items, "work item", "work items"))
        })
        .collect();
    if staging.kept_bytes > 0 {
        let items = counted(staging.kept_items, "work item", "work items");
        parts.push(format!("{} of downloads kept for {items}", size(staging.kept_bytes)));
    }
    if staging.unfinished_entries > 0 {
        parts.push(format!("{} left by processes that ended in the middle", size(staging.unfinished_bytes)));
    }
    line("staging", if parts.is_empty() { "empty".to_owned() } else { parts.join(", ") })?;
    for (index, quota) in status.storage_quotas.iter().enumerate() {
        let text = format!(
            "{} uses {} % of its storage quota: {} of {}",
            quota.institution,
            quota.percent,
            size(quota.kept),
            size(quota.quota)
        );
        line(if index == 0 { "quotas" } else { "" }, text)?;
    }
    for (index, store) in status.stores.iter().enumerate() {
        let reach = match (store.state, &store.message) {
            ("retired", _) => "retired".to_owned(),
            ("available", None) => "available".to_owned(),
            ("available", Some(message)) => format!("available, PROBLEM: {message}"),
            ("refused", message) => format!("REFUSED: {}", message.as_deref().unwrap_or_default()),
            (_, message) => format!("AWAY: {}", message.as_deref().unwrap_or_default()),
        };
        let space = match (store.free, store.capacity) {
            (Some(free), Some(all)) => format!(", {} of {} free", size(free), size(all)),
            _ => String::new(),
        };
        let problems = if store.problems > 0 {
            let bound = at_least(store.problems_at_least);
            format!(", {bound}{}", counted(store.problems, "open finding", "open findings"))
        } else {
            String::new()
        };
        let missed = if store.missed_logs > 0 {
            format!(", {} to be put", counted(store.missed_logs, "log", "logs"))
        } else {
            String::new()
        };
        let deleted = if store.unfinished_deletions > 0 {
            format!(
                ", {} of which something is still to be deleted there",
                counted(store.unfinished_deletions, "object", "objects")
            )
        } else {
            String::new()
        };
        let text = format!("{} ({}): {reach}{space}{problems}{missed}{deleted}", store.store, store.kind);
        line(if index == 0 { "stores" } else { "" }, text)?;
    }
    if let Some(text) = &status.backfill.text {
        let found_at = status.backfill.found_at.as_deref().map(minute).unwrap_or_default();
        line("backfill", format!("{text} (as found {found_at})"))?;
    }
    let never = || "never".to_owned();
    let fixity = &status.fixity;
    let round = fixity.last_round.as_deref().map(minute);
    let oldest = if fixity.due_now { Some("due now".to_owned()) } else { fixity.oldest_check.as_deref().map(minute) };
    let found = match (fixity.problems_at_least, fixity.problems.values().any(|count| *count > 0)) {
        (false, _) => counts(&fixity.problems),
        (true, true) => format!("at least {}", counts(&fixity.problems)),
        (true, false) => "none among the objects that were compared until now".to_owned(),
    };
    line(
        "fixity",
        format!(
            "last round {}, oldest check {}, open findings: {found}",
            round.unwrap_or_else(never),
            oldest.unwrap_or_else(never)
        ),
    )?;
    if status.requested_deletions > 0 {
        let requests = counted(status.requested_deletions, "request waits", "requests wait");
        line("deletions", format!("{requests} for approval: strongroom delete list --state requested"))?;
    }
    line("uploads", counts(&status.uploads))?;
    let notices = &status.notices;
    let next = notices.next_removal.as_ref().map(|at| format!(", next removal {}", minute(at))).unwrap_or_default();
    line(
        "notices",
        format!(
            "{} delivered about uploads that are not removed yet{next}, {} undelivered",
            notices.delivered, notices.undelivered
        ),
    )?;
    let outbox = &status.outbox;
    if let Some(oldest) = &outbox.oldest_waiting {
        let messages = counted(outbox.waiting, "message waits", "messages wait");
        line("outbox", format!("{messages} to be sent, the oldest since {}", minute(oldest)))?;
    }
    if outbox.overdue > 0 {
        let error = outbox.last_error.as_deref().unwrap_or("no attempt was made");
        let messages = counted(outbox.overdue, "message", "messages");
        line("", format!("{messages} undelivered for more than an hour: {error}"))?;
    }
    for (index, task) in status.background.iter().enumerate() {
        let last = task.last_run_at.as_deref().map_or_else(never, minute);
        let running = match &task.running_since {
            Some(since) => format!(", running since {}", minute(since)),
            None => String::new(),
        };
        let failed = match (&task.error, &task.error_since) {
            (Some(error), Some(since)) => format!(", FAILED since {}: {error}", minute(since)),
            _ => String::new(),
        };
        let next = minute(&task.next_run_at);
        let text = format!("{}: last {last}, next {next}{running}{failed}", task.task);
        line(if index == 0 { "background" } else { "" }, text)?;
    }
    let tables: Vec<String> = status
        .tables
        .iter()
        .map(|(table, rows)| format!("{table} {}{rows}", at_least(status.tables_at_least.contains(table))))
        .collect();
    let counted_at = status.tables_counted_at.as_deref().map(minute);
    let counted_at = counted_at.map_or_else(String::new, |at| format!(" (more than 10000: as counted {at})"));
    line("rows", format!("{}{counted_at}", tables.join(", ")))
}

/// What stands before a count that stopped at its bound.
fn at_least(is_bound: bool) -> &'static str {
    if is_bound { "at least " } else { "" }
}

/// What needs a person: each thing with the command that shows it, and below it the first that it means.
fn show_review(review: &Review, context: &Context) -> Result<(), Failure> {
    let output = &context.output;
    if review.entries.is_empty() {
        return output.field("to review", INDENT, "nothing");
    }
    let item = |item: &ReviewItem| {
        let note = beginning_of(item.note.as_deref().unwrap_or_default(), NOTE);
        format!("{} {} {} at {}: {note}", item.item, item.object, item.status, item.stage)
    };
    let activity = |one: &ReviewActivity| {
        let what = match (one.waits_for, &one.error, one.failed) {
            (Some(other), ..) => format!("waits for {other}"),
            (None, Some(error), _) => beginning_of(error, NOTE),
            (None, None, _) if one.state == ActivityState::Paused => one.state.to_string(),
            (None, None, failed) => format!("{} failed", counted(failed.unwrap_or(0), "record", "records")),
        };
        format!("{} {}: {what}", one.activity, one.agent)
    };
    let mut name = "to review";
    for entry in &review.entries {
        // Times are those of records.
        let text = entry.text.split(' ').map(minute).collect::<Vec<_>>().join(" ");
        output.field(std::mem::take(&mut name), INDENT, &printable(&format!("{text} ({})", entry.next)))?;
        let of_status =
            |is_held: bool| review.first.iter().filter(move |one| (one.status == ItemStatus::Held) == is_held);
        let lines: Vec<String> = match entry.of {
            "items" => of_status(false).map(item).collect(),
            "held" => of_status(true).map(item).collect(),
            "retried" => review.first_retried.iter().map(item).collect(),
            "waiting_for_space" => review.first_waiting_for_space.iter().map(item).collect(),
            "waiting_for_tools" => review.first_waiting_for_tools.iter().map(item).collect(),
            "tool_findings" => {
                let infected = review.first_tool_findings.iter();
                let said = |file: &InfectedFile| beginning_of(&file.detail, NOTE);
                infected
                    .map(|file| format!("{}: {}: {} says {}", file.object, file.path, file.tool, said(file)))
                    .collect()
            }
            "problems" => review.findings.iter().map(ToString::to_string).collect(),
            "failing_messages" => review.message_error.iter().map(|error| beginning_of(error, NOTE)).collect(),
            "batches" => {
                let line = |batch: &ReviewBatch| {
                    let place = batch.collection.as_ref().map(|name| format!("/{name}")).unwrap_or_default();
                    format!(
                        "{} of {}{place}, {}: {} to review (strongroom batches report {})",
                        batch.batch, batch.institution, batch.state, batch.items, batch.batch
                    )
                };
                review.batches.iter().map(line).collect()
            }
            of => review.first_activities.iter().filter(|one| one.of == of).map(activity).collect(),
        };
        lines.iter().try_for_each(|line| output.field("", INDENT + DETAIL, &printable(line)))?;
    }
    Ok(())
}
