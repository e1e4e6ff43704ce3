//! `rebuild`: a registry made out of a preservation store alone, or brought up to what its stores know.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use clap::Args;
use strongroom_database::Location;
use strongroom_engine::Home;
use strongroom_engine::rebuild::{self, AdoptRequest, Summary};
use strongroom_engine::settings::Settings;

use crate::context::Context;
use crate::failure::{Exit, Failure, Outcome};
use crate::output::{printable, report};
use crate::progress;

/// Make a registry from a preservation store alone, or bring an older one up to what its stores know
#[derive(Debug, Args)]
pub(crate) struct Rebuild {
    /// The store to read [default: the first of the default placement, then all others; with --adopt all]
    #[arg(long, value_name = "NAME")]
    store: Option<String>,
    /// Take up what the stores know and the registry does not, such as one restored from a backup
    #[arg(long)]
    adopt: bool,
    /// Only tell what would be taken up
    #[arg(long, requires = "adopt")]
    dry_run: bool,
}

report! {
    /// What came back.
    RebuildReport {
        store: Option<String>,
        dry_run: bool,
        objects: u64,
        known: u64,
        taken: u64,
        failed: u64,
        versions: u64,
        files: Option<u64>,
        copies: Option<u64>,
        missing: Option<u64>,
        events: Option<u64>,
        problem_count: u64,
        pending: Vec<String>,
        problems: Vec<ProblemReport>,
    }
}

/// Something that could not be read or was not found.
#[derive(Debug, Clone, serde::Serialize)]
pub(crate) struct ProblemReport {
    store: String,
    path: String,
    reason: String,
}

pub(crate) fn run(command: &Rebuild, context: &Context) -> Outcome {
    let settings = context.settings()?.settings;
    if let Some(store) = command.store.as_ref().filter(|store| !settings.stores.contains_key(*store)) {
        return Err(Failure::not_found("store", store).next("\"strongroom store list\" shows those there are"));
    }
    if command.adopt {
        return adopt(command, settings, context);
    }
    let first = settings.placement(&settings.ingest.default_placement).and_then(<[String]>::first);
    let store = match command.store.as_ref().or(first) {
        Some(store) => store.clone(),
        None => return Err(Failure::usage("there is no store to read: give --store")),
    };
    let home = open(settings, context)?;
    let bar = progress::spinner(context, format!("reading store {store}"));
    let summary = rebuild::run(&home, &store, &mut |so_far| {
        bar.set_message(format!("{} objects, {} versions, {} files", so_far.objects, so_far.versions, so_far.files));
    });
    bar.finish_and_clear();
    let summary = summary.map_err(|error| Failure::from(error).while_trying("rebuild the registry"))?;
    let mut summary = summary;
    // One store was read because none was named; what others know besides belongs to the registry, too.
    if command.store.is_none() && !summary.pending.is_empty() && summary.is_complete() {
        let request = AdoptRequest { stores: summary.pending.clone(), dry_run: false };
        let rest = take_up(&home, &request, context)?;
        summary.pending.clone_from(&rest.pending);
        summary.add(rest);
    }
    let exit = outcome(&summary);
    tell_pending(&summary, context);
    tell(Some(store), false, summary, context)?;
    Ok(exit)
}

/// Says on standard error what still keeps the registry from being written to.
fn tell_pending(summary: &Summary, context: &Context) {
    if !summary.pending.is_empty() && !context.is_quiet {
        eprintln!("the registry is read-only until what {} knows is taken up", summary.pending.join(", "));
        eprintln!("  next: \"strongroom rebuild --adopt\"");
    }
}

fn outcome(summary: &Summary) -> Exit {
    if summary.is_complete() { Exit::Done } else { Exit::No }
}

fn adopt(command: &Rebuild, settings: Settings, context: &Context) -> Outcome {
    context.check_registry(&settings)?;
    let home = open(settings, context)?;
    let request = AdoptRequest { stores: command.store.iter().cloned().collect(), dry_run: command.dry_run };
    let summary = take_up(&home, &request, context)?;
    let exit = if summary.pending.is_empty() { outcome(&summary) } else { Exit::No };
    tell_pending(&summary, context);
    tell(command.store.clone(), request.dry_run, summary, context)?;
    Ok(exit)
}

fn take_up(home: &Home, request: &AdoptRequest, context: &Context) -> Result<Summary, Failure> {
    let bar = progress::spinner(context, "reading the stores");
    let summary = rebuild::adopt(home, request, &mut |so_far| {
        bar.set_message(format!("{} objects, {} of them with something new", so_far.objects, so_far.taken));
    });
    bar.finish_and_clear();
    summary.map_err(|error| Failure::from(error).while_trying("take up what the stores know"))
}

/// Opens the home, with an empty registry where there is none.
fn open(settings: Settings, context: &Context) -> Result<Arc<Home>, Failure> {
    let location = settings.registry_location(&context.home)?;
    let made = match location {
        Location::Sqlite(path) if !path.exists() => Some(path),
        // Empty tables in a server's database are in nobody's way.
        _ => None,
    };
    Home::open_to_adopt(&context.home, settings).map(Arc::new).map_err(|error| {
        if let Some(path) = &made {
            remove_registry(path);
        }
        Failure::from(error).while_trying(format!("open the home {}", context.home.display()))
    })
}

/// Takes the registry away that opening has just made: nothing is in it.
fn remove_registry(path: &Path) {
    for suffix in ["", "-wal", "-shm"] {
        let mut name = path.as_os_str().to_owned();
        name.push(suffix);
        // What cannot be removed is an empty registry; the error that led here is the one to tell.
        let _ = fs::remove_file(name);
    }
}

fn tell(store: Option<String>, dry_run: bool, summary: Summary, context: &Context) -> Result<(), Failure> {
    let problems = summary
        .problems
        .into_iter()
        .map(|problem| ProblemReport { store: problem.store, path: problem.path, reason: problem.reason })
        .collect();
    // What no record was read for is not known.
    let known = |count: u64| Some(count).filter(|_| !dry_run);
    let report = RebuildReport {
        store,
        dry_run,
        objects: summary.objects,
        known: summary.known,
        taken: summary.taken,
        failed: summary.failed,
        versions: summary.versions,
        files: known(summary.files),
        copies: known(summary.copies),
        missing: known(summary.missing),
        events: known(summary.events),
        problem_count: summary.problem_count,
        pending: summary.pending,
        problems,
    };
    if context.output.is_json() {
        return context.output.json(&report);
    }
    for problem in &report.problems {
        context.output.say(printable(&format!("{} {}: {}", problem.store, problem.path, problem.reason)))?;
    }
    context.output.show(&RebuildReport { problems: Vec::new(), ..report })
}
