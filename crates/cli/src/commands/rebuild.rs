//! `rebuild`: a registry made out of a preservation store alone.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use clap::Args;
use strongroom_engine::Home;
use strongroom_engine::rebuild::{self, Summary};
use strongroom_engine::settings::Settings;

use crate::context::Context;
use crate::failure::{Exit, Failure, Outcome};
use crate::output::{printable, report};
use crate::progress;

/// Make a registry from a preservation store alone
#[derive(Debug, Args)]
pub(crate) struct Rebuild {
    /// The store to read [default: the first of the default placement]
    #[arg(long, value_name = "NAME")]
    store: Option<String>,
    /// Take up what a restored, older registry does not know (not in this version)
    #[arg(long)]
    adopt: bool,
}

report! {
    /// What came back.
    RebuildReport {
        store: String,
        objects: u64,
        known: u64,
        failed: u64,
        versions: u64,
        files: u64,
        copies: u64,
        missing: u64,
        events: u64,
        problem_count: u64,
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
    if command.adopt {
        return Err(Failure::usage("taking up what an older registry does not know is not in this version")
            .next("make a new home with the same stores, and rebuild that"));
    }
    let settings = context.settings()?.settings;
    let first = settings.placement(&settings.ingest.default_placement).and_then(<[String]>::first);
    let store = match command.store.as_ref().or(first) {
        Some(store) if settings.stores.contains_key(store) => store.clone(),
        Some(store) => {
            return Err(Failure::not_found("store", store).next("\"strongroom store list\" shows those there are"));
        }
        None => return Err(Failure::usage("there is no store to read: give --store")),
    };
    let home = open(settings, context)?;
    let bar = progress::spinner(context, format!("reading store {store}"));
    let summary = rebuild::run(&home, &store, &mut |so_far| {
        bar.set_message(format!("{} objects, {} versions, {} files", so_far.objects, so_far.versions, so_far.files));
    });
    bar.finish_and_clear();
    let summary = summary.map_err(|error| Failure::from(error).while_trying("rebuild the registry"))?;
    let exit = if summary.is_complete() { Exit::Done } else { Exit::No };
    tell(store, summary, context)?;
    Ok(exit)
}

/// Opens the home, with an empty registry where there is none.
fn open(settings: Settings, context: &Context) -> Result<Arc<Home>, Failure> {
    let path = settings.registry_path(&context.home);
    let was_there = path.exists();
    Home::open(&context.home, settings).map(Arc::new).map_err(|error| {
        if !was_there {
            remove_registry(&path);
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

fn tell(store: String, summary: Summary, context: &Context) -> Result<(), Failure> {
    let problems = summary
        .problems
        .into_iter()
        .map(|problem| ProblemReport { store: problem.store, path: problem.path, reason: problem.reason })
        .collect();
    let report = RebuildReport {
        store,
        objects: summary.objects,
        known: summary.known,
        failed: summary.failed,
        versions: summary.versions,
        files: summary.files,
        copies: summary.copies,
        missing: summary.missing,
        events: summary.events,
        problem_count: summary.problem_count,
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
