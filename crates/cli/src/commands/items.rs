//! `items`: work items, shown and steered.

use std::fmt::Display;

use clap::{Args, Subcommand};
use jiff::{SignedDuration, Timestamp};
use strongroom_engine::workflow::Workflows;
use strongroom_queue::tasks;
use strongroom_registry::items::{self, Item, ItemFilter, ItemProblem, Request};
use strongroom_registry::restored::{self, Restored};
use strongroom_registry::{
    Action, ItemId, ItemStatus, Part, Registry, RegistryError, RestoredState, Scope, Stage, Time, Transaction,
    WaitReason, parts,
};

use super::PAGE;
use super::institution::scope;
use crate::context::Context;
use crate::failure::{Exit, Failure, Outcome};
use crate::output::report;

/// Problems shown with one item.
const PROBLEMS: usize = 1_000;

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
    /// Only those that ask for review
    #[arg(long)]
    needs_review: bool,
    /// Only those made since: a time such as 2026-01-31T00:00:00Z, or an age such as 7d
    #[arg(long, value_name = "TIME|AGE")]
    since: Option<String>,
}

report! {
    /// A work item.
    ItemReport {
        item: ItemId,
        batch: Option<strongroom_registry::BatchId>,
        action: Action,
        institution: String,
        collection: Option<String>,
        object: String,
        name: String,
        part: Option<u64>,
        parts: Option<u64>,
        file: Option<strongroom_registry::FileId>,
        stage: Stage,
        status: ItemStatus,
        priority: i64,
        attempts: u32,
        retry_count: u64,
        needs_review: bool,
        requested: Option<ItemStatus>,
        holder: Option<String>,
        lease_until: Option<String>,
        waits_for: Option<WaitReason>,
        waits_until: Option<String>,
        note: Option<String>,
        problems: Vec<ItemProblem>,
        created_at: String,
        updated_at: String,
        size: Option<u64>,
        restored: Vec<RestoredReport>,
    }
}

report! {
    /// What a restoration has put into the restoration store.
    RestoredReport {
        store: String,
        key: String,
        state: RestoredState,
        size: Option<u64>,
        expires_at: Option<String>,
    }
}

report! {
    /// A line of an item's history.
    HistoryReport {
        number: u64,
        time: String,
        stage: Stage,
        status: ItemStatus,
        note: Option<String>,
        holder: Option<String>,
        fence: i64,
    }
}

impl ItemReport {
    /// An item with what belongs to it.
    pub(crate) fn read(tx: &mut dyn Transaction, item: Item) -> Result<Self, RegistryError> {
        let problems = items::problems(tx, Scope::System, item.id, PROBLEMS)?;
        let restored = restored::of_item(tx, item.id)?;
        let attempts = tasks::of_key(tx, &item.id.to_string())?.iter().map(|task| task.spent).max().unwrap_or(0);
        let part = parts::of_item(tx, item.id)?;
        Ok(Self {
            item: item.id,
            name: item.name,
            part: part.map(Part::number),
            parts: part.map(Part::total),
            batch: item.batch,
            action: item.action,
            institution: item.institution_identifier,
            collection: item.collection_identifier,
            object: item.object_identifier,
            file: item.file,
            stage: item.stage,
            status: item.status,
            priority: item.priority,
            attempts,
            retry_count: item.retry_count,
            needs_review: item.needs_review,
            requested: item.cancel_requested,
            holder: item.holder,
            lease_until: item.lease_until.map(|time| time.to_string()),
            waits_for: item.wait_reason,
            waits_until: item.wait_until.map(|time| time.to_string()),
            note: item.note,
            problems,
            created_at: item.created_at.to_string(),
            updated_at: item.updated_at.to_string(),
            size: item.size,
            restored: restored.into_iter().map(RestoredReport::of).collect(),
        })
    }
}

impl RestoredReport {
    fn of(restored: Restored) -> Self {
        Self {
            store: restored.place.store,
            key: restored.place.key,
            state: restored.state,
            size: restored.size,
            expires_at: restored.expires_at.map(|time| time.to_string()),
        }
    }
}

pub(crate) fn run(command: Items, context: &Context) -> Outcome {
    match command {
        Items::List(filter) => list(&filter, context),
        Items::Show { item } => show(&item, context),
        Items::History { item } => history(&item, context),
        Items::Requeue { items, stage } => {
            let stage =
                stage.as_deref().map(|stage| word(stage, "stage", &Workflows::standard().stages())).transpose()?;
            ask(&items, Request::Requeue(stage), context)
        }
        Items::Hold { items } => ask(&items, Request::Hold, context),
        Items::Release { items } => ask(&items, Request::Release, context),
        Items::Cancel { items } => ask(&items, Request::Cancel, context),
        Items::Delete { items } => ask(&items, Request::Delete, context),
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
    let workflows = Workflows::standard();
    let wanted = ItemFilter {
        status: filter.status.as_deref().map(|text| word(text, "status", ItemStatus::ALL)).transpose()?,
        stage: filter.stage.as_deref().map(|text| word(text, "stage", &workflows.stages())).transpose()?,
        action: filter.action.as_deref().map(|text| word(text, "action", &workflows.actions())).transpose()?,
        needs_review: filter.needs_review.then_some(true),
        since: filter.since.as_deref().map(since).transpose()?,
        batch: None,
        object: None,
    };
    let registry = context.registry()?;
    let scope = scope(&registry, filter.institution.as_deref())?;
    let mut table = context.output.table(&["item", "action", "object", "stage", "status", "requested", "note"]);
    each(&registry, scope, &wanted, |item| table.row(&item))?;
    table.end("there are no such work items")?;
    Ok(Exit::Done)
}

/// Hands over the items of a filter one by one, oldest first.
pub(crate) fn each(
    registry: &Registry,
    scope: Scope,
    filter: &ItemFilter,
    mut take: impl FnMut(ItemReport) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut after = None;
    loop {
        let page = registry.read(|tx| {
            let page = items::list(tx, scope, filter, after, PAGE)?;
            page.into_iter().map(|item| ItemReport::read(tx, item)).collect::<Result<Vec<_>, RegistryError>>()
        })?;
        let Some(last) = page.last().map(|item| item.item) else { return Ok(()) };
        after = Some(last);
        for item in page {
            take(item)?;
        }
    }
}

fn show(item: &str, context: &Context) -> Outcome {
    let id: ItemId = identifier(item, "work item")?;
    let registry = context.registry()?;
    let report = registry.read(|tx| {
        let item = items::find(tx, Scope::System, id)?;
        ItemReport::read(tx, item)
    })?;
    context.output.show(&report)?;
    Ok(Exit::Done)
}

fn history(item: &str, context: &Context) -> Outcome {
    let id: ItemId = identifier(item, "work item")?;
    let registry = context.registry()?;
    let lines = registry.read(|tx| {
        items::find(tx, Scope::System, id)?;
        items::history(tx, Scope::System, id)
    })?;
    let mut table = context.output.table(&["number", "time", "stage", "status", "note", "holder"]);
    for line in lines {
        table.row(&HistoryReport {
            number: line.number,
            time: line.time.to_string(),
            stage: line.stage,
            status: line.status,
            note: line.note,
            holder: line.holder,
            fence: line.fence,
        })?;
    }
    table.end("nothing happened yet")?;
    Ok(Exit::Done)
}

/// Carries out one request for several items, all or none.
fn ask(items: &[String], request: Request, context: &Context) -> Outcome {
    let ids = items.iter().map(|item| identifier(item, "work item")).collect::<Result<Vec<ItemId>, Failure>>()?;
    let registry = context.registry()?;
    let (who, workflows) = (Context::who(), registry.workflows());
    let asked = ids.clone();
    registry.write_and_wake(move |tx| {
        let mut topics = Vec::new();
        for id in &asked {
            topics.extend(items::request(tx, workflows.as_ref(), Scope::System, *id, request, &who)?);
        }
        Ok::<_, RegistryError>(topics)
    })?;
    let mut table = context.output.table(&["item", "object", "stage", "status", "requested", "note"]);
    for id in ids {
        let report = registry.read(|tx| {
            let item = items::find(tx, Scope::System, id)?;
            ItemReport::read(tx, item)
        })?;
        table.row(&report)?;
    }
    table.end("")?;
    Ok(Exit::Done)
}
