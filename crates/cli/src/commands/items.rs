//! `items`: work items, shown and steered.

use std::fmt::Display;

use clap::{Args, Subcommand};
use jiff::{SignedDuration, Timestamp};
use strongroom_engine::app::items::{Ask, Filter as Wanted};
use strongroom_engine::app::views::{ItemId, ItemProblem, ItemStatus, ItemView, Time};
use strongroom_engine::app::{self, OpContext, items};

use crate::context::Context;
use crate::failure::{Exit, Failure, Outcome};
use crate::output::printable;

/// Show and steer work items
#[derive(Debug, Subcommand)]
pub(crate) enum Items {
    /// List work items, oldest first
    List(Filter),
    /// Show one
    Show {
        /// Its identifier
        item: String,
    },
    /// Show what happened to one, line by line
    History {
        /// Its identifier
        item: String,
    },
    /// Work on failed or cancelled items again
    Requeue {
        /// Their identifiers
        #[arg(required = true)]
        items: Vec<String>,
        /// The stage to begin with [default: the one it stopped at]
        #[arg(long)]
        stage: Option<String>,
    },
    /// Keep items where they are until released
    Hold {
        /// Their identifiers
        #[arg(required = true)]
        items: Vec<String>,
    },
    /// Let held items go on
    Release {
        /// Their identifiers
        #[arg(required = true)]
        items: Vec<String>,
    },
    /// End items without success
    Cancel {
        /// Their identifiers
        #[arg(required = true)]
        items: Vec<String>,
    },
    /// Put ended items away; their row and history stay
    Delete {
        /// Their identifiers
        #[arg(required = true)]
        items: Vec<String>,
    },
}

/// Which items a listing shows.
#[derive(Debug, Args)]
pub(crate) struct Filter {
    /// Only this status: pending, started, held, failed, cancelled, succeeded or deleted
    #[arg(long)]
    status: Option<String>,
    /// Only this stage
    #[arg(long)]
    stage: Option<String>,
    /// Only this action
    #[arg(long, help = "Only this action: ingest, restore_object or restore_file")]
    action: Option<String>,
    /// Only those of this institution
    #[arg(long, value_name = "DOMAIN")]
    institution: Option<String>,
    /// Only those of this object, kept or not: INSTITUTION/NAME
    #[arg(long, value_name = "OBJECT")]
    object: Option<String>,
    /// Only those that ask for review
    #[arg(long)]
    needs_review: bool,
    /// Only those made since: a time such as 2026-01-31T00:00:00Z, or an age such as 7d
    #[arg(long, value_name = "TIME|AGE")]
    since: Option<String>,
}

pub(crate) fn run(command: Items, context: &Context) -> Outcome {
    match command {
        Items::List(filter) => list(&filter, context),
        Items::Show { item } => show(&item, context),
        Items::History { item } => history(&item, context),
        Items::Requeue { items: ids, stage } => {
            let call = context.call()?;
            let stage = stage.as_deref().map(|stage| word(stage, "stage", &items::stages(&call)?)).transpose()?;
            steer(&call, &ids, Ask::Requeue(stage), context)
        }
        Items::Hold { items } => steer(&context.call()?, &items, Ask::Hold, context),
        Items::Release { items } => steer(&context.call()?, &items, Ask::Release, context),
        Items::Cancel { items } => steer(&context.call()?, &items, Ask::Cancel, context),
        Items::Delete { items } => steer(&context.call()?, &items, Ask::Delete, context),
    }
}

/// A word of a closed set, or an error that tells the set.
pub(crate) fn word<T: Copy + Display>(text: &str, what: &str, all: &[T]) -> Result<T, Failure> {
    all.iter().copied().find(|one| one.to_string() == text).ok_or_else(|| {
        let words: Vec<String> = all.iter().map(T::to_string).collect();
        Failure::usage(format!("{text:?} is no {what}; known are {}", words.join(", ")))
    })
}

/// An identifier as records have them.
pub(crate) fn identifier<T: std::str::FromStr>(text: &str, what: &str) -> Result<T, Failure> {
    text.parse()
        .map_err(|_| Failure::not_found(what, text).next("identifiers look like 0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b"))
}

/// A point in time, given as such or as an age.
pub(super) fn since(text: &str) -> Result<Time, Failure> {
    if let Ok(time) = text.parse::<Timestamp>() {
        return Ok(time.into());
    }
    // Days are 24 hours: an age has no time zone.
    let hours = text.strip_suffix('d').and_then(|days| days.parse::<i64>().ok()).and_then(|days| days.checked_mul(24));
    let age = hours.and_then(SignedDuration::try_from_hours).or_else(|| text.parse().ok());
    age.filter(|age| !age.is_negative())
        .and_then(|age| Timestamp::now().checked_sub(age).ok())
        .map(Time::from)
        .ok_or_else(|| {
            Failure::usage(format!("{text:?} is neither a time nor an age"))
                .next("give for example 2026-01-31T00:00:00Z, 7d or 12h")
        })
}

fn list(filter: &Filter, context: &Context) -> Outcome {
    let status = filter.status.as_deref().map(|text| word(text, "status", ItemStatus::ALL)).transpose()?;
    let since = filter.since.as_deref().map(since).transpose()?;
    let call = context.call()?;
    let stage = filter.stage.as_deref().map(|text| word(text, "stage", &items::stages(&call)?)).transpose()?;
    let action = filter.action.as_deref().map(|text| word(text, "action", &items::actions(&call)?)).transpose()?;
    let (institution, object) = (filter.institution.clone(), filter.object.clone());
    let needs_review = filter.needs_review;
    let wanted = Wanted { institution, object, batch: None, status, stage, action, needs_review, since };
    let mut table =
        context.output.table(&["item", "action", "object", "stage", "status", "requested", "actor", "note"]);
    app::each(|after| items::list(&call, &wanted, after), |item| table.row(&item))?;
    table.end("there are no such work items")?;
    Ok(Exit::Done)
}

fn show(item: &str, context: &Context) -> Outcome {
    let id: ItemId = identifier(item, "work item")?;
    let item = items::show(&context.call()?, id)?;
    if context.output.is_json() {
        context.output.json(&item)?;
        return Ok(Exit::Done);
    }
    // One problem a line, behind the other fields.
    let problems: Vec<String> = item.problems.iter().map(problem_line).collect();
    context.output.show(&ItemView { problems: Vec::new(), ..item })?;
    if !problems.is_empty() {
        context.output.say("problems")?;
    }
    problems.iter().try_for_each(|line| context.output.say(printable(&format!("  {line}"))))?;
    Ok(Exit::Done)
}

/// A problem of a package on one line.
pub(super) fn problem_line(problem: &ItemProblem) -> String {
    let place = [&problem.file, &problem.path].into_iter().flatten().cloned().collect::<Vec<_>>().join(" ");
    let place = if place.is_empty() { place } else { format!(" {place}") };
    format!("{:7} {}{place}: {}", problem.severity, problem.code, problem.message)
}

fn history(item: &str, context: &Context) -> Outcome {
    let id: ItemId = identifier(item, "work item")?;
    let lines = items::history(&context.call()?, id)?;
    let mut table = context.output.table(&["number", "time", "stage", "status", "actor", "note", "holder"]);
    for line in lines {
        table.row(&line)?;
    }
    table.end("nothing happened yet")?;
    Ok(Exit::Done)
}

/// Asks something of several items, all or none of them.
fn steer(call: &OpContext, wanted: &[String], ask: Ask, context: &Context) -> Outcome {
    let ids = wanted.iter().map(|item| identifier(item, "work item")).collect::<Result<Vec<ItemId>, Failure>>()?;
    let mut table = context.output.table(&["item", "object", "stage", "status", "requested", "note"]);
    for item in items::steer(call, &ids, ask)? {
        table.row(&item)?;
    }
    table.end("")?;
    Ok(Exit::Done)
}
