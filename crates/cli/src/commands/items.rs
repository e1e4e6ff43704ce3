//! `items`: work items, shown and steered.

use clap::{Args, Subcommand, ValueEnum};
use strongroom_engine::EngineError;
use strongroom_engine::app::items::{Ask, Filter as Wanted};
use strongroom_engine::app::views::{
    FactView, FailureGroupView, HistoryLineView, InterimFileView, InterimView, ItemCountsView, ItemId, ItemProblem,
    ItemStatus, ItemView,
};
use strongroom_engine::app::{self, OpContext, activities, batches, counts, failures, interim, items};

use super::confirm::{DELETION, confirm};
use super::holds::show_holds;
use super::values::{time, word};
use crate::context::Context;
use crate::failure::{Exit, Failure, Outcome};
use crate::output::{ListOptions, Table, TableOptions, counted, printable};

/// Show and control work items
#[derive(Debug, Subcommand)]
pub(crate) enum Items {
    /// List work items, the newest first (with --json the oldest)
    #[command(after_help = "Example: strongroom items list --status failed --since 7d")]
    List(Filter),
    /// Show a work item
    Show {
        /// Its identifier, or a part of it that no other has
        item: String,
        /// Show what it has in staging and of downloads, what its stages recorded, and its staged files
        #[arg(long)]
        interim: bool,
        /// Show at most this many staged files; counts and sums are of all
        #[arg(long, value_name = "N", requires = "interim", value_parser = clap::value_parser!(u64).range(0..))]
        limit: Option<u64>,
        #[command(flatten)]
        table: TableOptions,
    },
    /// Show the history of a work item, line by line
    History {
        /// Its identifier, or a part of it that no other has
        item: String,
        #[command(flatten)]
        options: ListOptions,
    },
    /// Count items by status, for each institution or collection: those that "items list" lists, also those that read manifests
    Count {
        /// What is counted together
        #[arg(long, value_enum, default_value_t = By::Collection)]
        by: By,
        /// Only those of this institution
        #[arg(long, value_name = "DOMAIN")]
        institution: Option<String>,
        #[command(flatten)]
        options: ListOptions,
    },
    /// Count failed items in groups of the same code, host and stage
    Failures {
        #[command(flatten)]
        which: Failed,
        #[command(flatten)]
        options: ListOptions,
    },
    /// Requeue failed, cancelled or pending items: those that are named, or all failed items of a group
    Requeue {
        /// Their identifiers, or parts of them that no others have
        #[arg(required_unless_present = "group", conflicts_with = "group")]
        items: Vec<String>,
        /// The stage to begin with [default: the one it stopped at]
        #[arg(long)]
        stage: Option<String>,
        #[command(flatten)]
        which: Failed,
    },
    /// Hold items: they stay where they are until they are released
    Hold {
        /// Their identifiers, or parts of them that no others have
        #[arg(required = true)]
        items: Vec<String>,
        #[command(flatten)]
        why: Why,
    },
    /// Release held items: they continue where they stood, unless their batch or their collection is held
    Release {
        /// Their identifiers, or parts of them that no others have
        #[arg(required = true)]
        items: Vec<String>,
    },
    /// Set the priority of items that have not ended: their work comes before that of items with a higher number
    Move {
        /// Their identifiers, or parts of them that no others have
        #[arg(required = true)]
        items: Vec<String>,
        /// From 0, the most urgent, to 99
        #[arg(long, value_name = "N")]
        priority: u32,
    },
    /// Cancel items: they end without success
    Cancel {
        /// Their identifiers, or parts of them that no others have
        #[arg(required = true)]
        items: Vec<String>,
    },
    /// End items as failed: they keep what they have in staging, and can be requeued
    Fail {
        /// Their identifiers, or parts of them that no others have
        #[arg(required = true)]
        items: Vec<String>,
        #[command(flatten)]
        why: FailedWhy,
    },
    /// Delete items that no worker has: they are no longer listed; their row and history stay
    Delete {
        /// Their identifiers, or parts of them that no others have
        #[arg(required = true)]
        items: Vec<String>,
        #[command(flatten)]
        confirmed: Confirmed,
    },
}

/// Which items are counted together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum By {
    /// Those of an institution
    Institution,
    /// Those of a collection
    Collection,
}

/// Which failed items are meant.
#[derive(Debug, Args)]
#[group(id = "group", multiple = true)]
pub(crate) struct Failed {
    /// Only failed items of this institution
    #[arg(long, value_name = "DOMAIN")]
    institution: Option<String>,
    /// Only failed items of this batch
    #[arg(long, value_name = "BATCH")]
    batch: Option<String>,
    /// Only items that failed by this code of a problem; "" for those without one
    #[arg(long, value_name = "CODE")]
    code: Option<String>,
    /// Only items whose package is of this host; "" for those of no host
    #[arg(long, value_name = "HOST")]
    host: Option<String>,
    /// Only items that failed at this stage
    #[arg(id = "failed_at", long = "failed-at", value_name = "STAGE")]
    at: Option<String>,
}

impl Failed {
    /// None where nothing says which.
    fn read(self, call: &OpContext) -> Result<Option<failures::Filter>, Failure> {
        let Self { institution, batch, code, host, at } = self;
        if [&institution, &batch, &code, &host, &at].iter().all(|one| one.is_none()) {
            return Ok(None);
        }
        let batch = batch.map(|batch| batches::named(call, &batch)).transpose()?;
        let stage = at.map(|stage| word(&stage, "stage", &items::stages(call)?)).transpose()?;
        Ok(Some(failures::Filter { institution, batch, code, host, stage }))
    }
}

/// Why something is held.
#[derive(Debug, Args)]
pub(crate) struct Why {
    /// The reason, which is shown with the hold
    #[arg(long, value_name = "TEXT")]
    pub(super) reason: Option<String>,
}

/// Why something fails.
#[derive(Debug, Args)]
pub(crate) struct FailedWhy {
    /// The reason, which the depositor hears
    #[arg(long, value_name = "TEXT")]
    pub(super) reason: Option<String>,
}

/// Whether a deletion is confirmed.
#[derive(Debug, Args)]
pub(crate) struct Confirmed {
    /// Delete also what no report has told the depositor of; without it a terminal asks, and scripts are refused
    #[arg(long)]
    pub(super) yes: bool,
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
    #[arg(
        long,
        help = "Only this action: ingest, expand_batch, restore_object, restore_file, restore_batch, delete_object, delete_files or delete_batch"
    )]
    action: Option<String>,
    /// Only those of this institution
    #[arg(long, value_name = "DOMAIN")]
    institution: Option<String>,
    /// Only those of this collection: its short name, or INSTITUTION/NAME
    #[arg(long, value_name = "NAME")]
    collection: Option<String>,
    /// Only those of this object: INSTITUTION/NAME, kept or not, or its identifier or a part of it
    #[arg(long, value_name = "OBJECT")]
    object: Option<String>,
    /// Only those of this batch, the oldest first: its identifier, or a part of it that no other has
    #[arg(long, value_name = "BATCH")]
    batch: Option<String>,
    /// Only those that this activity made: its identifier, or a part of it that no other has
    #[arg(long, value_name = "ACTIVITY")]
    activity: Option<String>,
    /// Only those that ask for review
    #[arg(long)]
    needs_review: bool,
    /// Only those made since: a date such as 2026-01-31, a time, or an age such as 7d
    #[arg(long, value_name = "DATE|TIME|AGE")]
    since: Option<String>,
    #[command(flatten)]
    options: ListOptions,
}

pub(crate) fn run(command: Items, context: &Context) -> Outcome {
    match command {
        Items::List(filter) => list(&filter, context),
        Items::Show { interim: false, table, .. } if table.csv => {
            Err(Failure::usage("a work item itself is no table").next("give --interim for its staged files, or --json"))
        }
        Items::Show { item, interim: false, .. } => show(&item, context),
        Items::Show { item, limit, table, .. } => show_interim(&item, limit, table, context),
        Items::History { item, options } => history(&item, &options, context),
        Items::Count { by, institution, options } => count(by, institution.as_deref(), &options, context),
        Items::Failures { which, options } => {
            let call = context.call()?;
            let columns = ["items", "code", "host", "stage", "newest", "note"];
            let mut table = context.output.table(&columns).with::<FailureGroupView>(options.table).wrapping();
            let filter = which.read(&call)?.unwrap_or_default();
            let found = failures::groups(&call, &filter)?;
            let none = if found.groups.is_empty() { none_failed(&call, &filter)? } else { String::new() };
            for group in options.of(found.groups) {
                table.row(&group)?;
            }
            table.end(&none)?;
            if found.others > 0 {
                let others = counted(found.others, "failed work item", "failed work items");
                eprintln!("and {others} in other groups, which are smaller");
                eprintln!("  next: narrow what is counted with --batch, --code, --stage or --host");
            }
            Ok(Exit::Done)
        }
        Items::Requeue { items: ids, stage, which } => {
            let call = context.call()?;
            let stage = stage.as_deref().map(|stage| word(stage, "stage", &items::stages(&call)?)).transpose()?;
            if let Some(filter) = which.read(&call)? {
                context.output.show(&failures::requeue(&call, &filter, stage)?)?;
                return Ok(Exit::Done);
            }
            steer(&call, &ids, (Ask::Requeue(stage), None), context)
        }
        Items::Hold { items, why } => steer(&context.call()?, &items, (Ask::Hold, why.reason.as_deref()), context),
        Items::Release { items } => steer(&context.call()?, &items, (Ask::Release, None), context),
        Items::Move { items: wanted, priority } => {
            let call = context.call()?;
            let columns = ["item", "object", "stage", "status", "priority", "note"];
            tell_columns(items::move_to(&call, &ids(&call, &wanted)?, priority)?, &columns, context)
        }
        Items::Cancel { items } => steer(&context.call()?, &items, (Ask::Cancel, None), context),
        Items::Fail { items, why } => steer(&context.call()?, &items, (Ask::Fail, why.reason.as_deref()), context),
        Items::Delete { items: wanted, confirmed } => {
            let call = context.call()?;
            let found = ids(&call, &wanted)?;
            let untold = items::untold_by_deletion(&call, &found)?;
            let is_confirmed = confirm(&DELETION, &untold, confirmed.yes, context)?;
            tell(items::steer(&call, &found, Ask::Delete { is_confirmed }, None)?, context)
        }
    }
}

/// What is said where nothing failed that a filter means: also what else failed, since a code or a host may be misspelt.
fn none_failed(call: &OpContext, filter: &failures::Filter) -> Result<String, Failure> {
    const NOTHING: &str = "nothing failed that waits for a person";
    if filter.code.is_none() && filter.host.is_none() && filter.stage.is_none() {
        return Ok(NOTHING.to_owned());
    }
    let all = failures::groups(call, &failures::Filter { code: None, host: None, stage: None, ..filter.clone() })?;
    let items = all.groups.iter().map(|group| group.items).sum::<u64>() + all.others;
    if items == 0 {
        return Ok(NOTHING.to_owned());
    }
    let words = |of: fn(&FailureGroupView) -> String| {
        let mut words: Vec<String> = Vec::new();
        for word in all.groups.iter().map(of).filter(|word| !word.is_empty()) {
            if !words.contains(&word) && words.len() <= NAMED {
                words.push(if words.len() == NAMED { "...".to_owned() } else { word });
            }
        }
        if words.is_empty() { "none".to_owned() } else { words.join(", ") }
    };
    Ok(format!(
        "none of these; {} otherwise: codes {}; hosts {}; stages {}",
        counted(items, "item failed", "items failed"),
        words(|group| group.code.clone().unwrap_or_default()),
        words(|group| group.host.clone().unwrap_or_default()),
        words(|group| group.stage.to_string()),
    ))
}

/// The codes, hosts and stages that are named where none is meant.
const NAMED: usize = 5;

fn list(filter: &Filter, context: &Context) -> Outcome {
    let status = filter.status.as_deref().map(|text| word(text, "status", ItemStatus::ALL)).transpose()?;
    let since = filter.since.as_deref().map(time).transpose()?;
    let call = context.call()?;
    let stage = filter.stage.as_deref().map(|text| word(text, "stage", &items::stages(&call)?)).transpose()?;
    let action = filter.action.as_deref().map(|text| word(text, "action", &items::actions(&call)?)).transpose()?;
    let (institution, collection) = (filter.institution.clone(), filter.collection.clone());
    let object = filter.object.clone();
    let batch = filter.batch.as_deref().map(|batch| batches::named(&call, batch)).transpose()?;
    let activity = filter.activity.as_deref().map(|activity| activities::named(&call, activity)).transpose()?;
    let needs_review = filter.needs_review;
    let listing = filter.options.newest_first(&context.output);
    let wanted = Wanted {
        institution,
        collection,
        activity,
        object,
        batch,
        status,
        stage,
        action,
        needs_review,
        since,
        listing,
    };
    let mut table = table(context, filter.options.table);
    app::first(listing.limit, |after| items::list(&call, &wanted, after), |item| row(&mut table, &item))?;
    table.end("there are no such work items")?;
    Ok(Exit::Done)
}

/// A work item in a table. People see of one whose topic is paused, or whose workers wait for servers, that it waits for that.
fn row(table: &mut Table<'_>, item: &ItemView) -> Result<(), Failure> {
    match item.waits_in_topic() {
        Some(note) => table.row_with(item, &[("note", note)]),
        None => table.row(item),
    }
}

/// A table of work items.
pub(super) fn table(context: &Context, options: TableOptions) -> Table<'_> {
    let columns = ["item", "object", "stage", "status", "note"];
    let extra = ["created_at", "action", "actor"];
    context.output.table(&columns).with::<ItemView>(options).if_room(&extra).in_full(&[
        "item",
        "batch",
        "action",
        "object",
        "collection",
        "part",
        "parts",
        "stage",
        "status",
        "requested",
        "needs_review",
        "actor",
        "holder",
        "size",
        "created_at",
        "updated_at",
        "note",
    ])
}

fn count(by: By, institution: Option<&str>, options: &ListOptions, context: &Context) -> Outcome {
    let call = context.call()?;
    let by = match by {
        By::Institution => counts::By::Institution,
        By::Collection => counts::By::Collection,
    };
    let columns = [
        "institution",
        "collection",
        "items",
        "pending",
        "started",
        "held",
        "failed",
        "succeeded",
        "cancelled",
        "deleted",
    ];
    let is_wanted = |column: &&'static str| by == counts::By::Collection || *column != "collection";
    let columns: Vec<&'static str> = columns.into_iter().filter(is_wanted).collect();
    // All are shown, so that they add up.
    let mut table = context.output.table(&columns).with::<ItemCountsView>(options.table);
    let page = |after| counts::list(&call, by, institution, after);
    app::arranged(options.oldest_first(), page, |counted| table.row(&counted))?;
    table.end("there are no work items")?;
    Ok(Exit::Done)
}

fn show(item: &str, context: &Context) -> Outcome {
    let call = context.call()?;
    let item = items::show(&call, items::named(&call, item)?)?;
    if context.output.is_json() {
        context.output.json(&item)?;
        return Ok(Exit::Done);
    }
    // One problem and one hold a line, behind the other fields; what the note advises is a field of its own.
    let problems: Vec<String> = item.problems.iter().map(problem_line).collect();
    let in_topic = if item.paused.is_none() { item.waits_in_topic() } else { None };
    let note = in_topic.or_else(|| item.said().map(str::to_owned));
    context.output.show(&ItemView { problems: Vec::new(), holds: Vec::new(), note, ..item.clone() })?;
    show_holds(&item.holds, context)?;
    if !problems.is_empty() {
        context.output.say("problems")?;
    }
    problems.iter().try_for_each(|line| context.output.say(printable(&format!("  {line}"))))?;
    Ok(Exit::Done)
}

/// What is known of the staged work of an item; with `--json` it, and then each staged file.
fn show_interim(item: &str, limit: Option<u64>, options: TableOptions, context: &Context) -> Outcome {
    let (call, output) = (context.call()?, &context.output);
    let item = items::named(&call, item)?;
    let view = interim::show(&call, item)?;
    if output.is_json() {
        output.json(&view)?;
    } else if !options.csv {
        // One fact a line, behind the other fields.
        output.show(&InterimView { facts: Vec::new(), ..view.clone() })?;
        if !view.facts.is_empty() {
            output.say("recorded")?;
        }
        for FactView { name, value, length } in &view.facts {
            let rest = length.saturating_sub(value.chars().count() as u64);
            let more = if rest > 0 { format!("… ({rest} characters more)") } else { String::new() };
            output.say(printable(&format!("  {name}: {value}{more}")))?;
        }
    }
    if limit == Some(0) || (view.files == 0 && !options.csv) {
        return Ok(Exit::Done);
    }
    if !options.csv {
        output.say("")?;
    }
    let columns = ["path", "size", "decision", "key"];
    let in_full = ["path", "size", "digests", "modified", "puid", "mime", "decision", "key", "offset"];
    let mut table = output.table(&columns).with::<InterimFileView>(options).in_full(&in_full);
    app::first(limit, |after| interim::files(&call, item, after), |file| table.row(&file))?;
    table.end("no file is staged")?;
    if let Some(more) = limit.and_then(|limit| view.files.checked_sub(limit)).filter(|more| *more > 0 && !options.csv) {
        output.say(format!("{more} more"))?;
    }
    Ok(Exit::Done)
}

/// A problem of a package on one line.
pub(super) fn problem_line(problem: &ItemProblem) -> String {
    let place = [&problem.file, &problem.path].into_iter().flatten().cloned().collect::<Vec<_>>().join(" ");
    let place = if place.is_empty() { place } else { format!(" {place}") };
    format!("{:7} {}{place}: {}", problem.severity, problem.code, problem.message)
}

fn history(item: &str, options: &ListOptions, context: &Context) -> Outcome {
    let call = context.call()?;
    let lines = items::history(&call, items::named(&call, item)?)?;
    let columns = ["number", "time", "stage", "status", "note", "actor"];
    let in_full = ["number", "time", "stage", "status", "actor", "holder", "note"];
    let mut table =
        context.output.table(&columns).with::<HistoryLineView>(options.table).if_room(&["holder"]).in_full(&in_full);
    for line in options.of(lines) {
        table.row(&line)?;
    }
    table.end("nothing happened yet")?;
    Ok(Exit::Done)
}

/// Asks something of several items, all or none of them.
fn steer(call: &OpContext, wanted: &[String], (ask, reason): (Ask, Option<&str>), context: &Context) -> Outcome {
    tell(items::steer(call, &ids(call, wanted)?, ask, reason)?, context)
}

/// The items that texts name.
fn ids(call: &OpContext, wanted: &[String]) -> Result<Vec<ItemId>, EngineError> {
    wanted.iter().map(|item| items::named(call, item)).collect()
}

/// Items as they are after something was asked of them.
fn tell(changed: Vec<ItemView>, context: &Context) -> Outcome {
    tell_columns(changed, &["item", "object", "stage", "status", "requested", "note"], context)
}

fn tell_columns(changed: Vec<ItemView>, columns: &[&'static str], context: &Context) -> Outcome {
    let mut table = context.output.table(columns);
    for item in changed {
        table.row(&item)?;
    }
    table.end("")?;
    Ok(Exit::Done)
}
