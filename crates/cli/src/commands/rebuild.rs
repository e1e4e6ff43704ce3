//! `rebuild`: a registry made out of a preservation store alone, or brought up to what its stores know.

use clap::Args;
use strongroom_engine::app::rebuild::{self, Progress};
use strongroom_engine::app::views::RebuildView;

use crate::context::Context;
use crate::failure::{Exit, Failure, Outcome};
use crate::output::{counted, printable};
use crate::progress;

/// Make a registry from a preservation store alone, or import into an older one what its stores have
#[derive(Debug, Args)]
pub(crate) struct Rebuild {
    /// The store to read [default: the first of the default placement, then all others; with --adopt all]
    #[arg(long, value_name = "NAME")]
    store: Option<String>,
    /// Import what the stores have and the registry lacks, for example after the registry was restored from a backup
    #[arg(long)]
    adopt: bool,
    /// Only show what would be imported
    #[arg(long, requires = "adopt")]
    dry_run: bool,
}

pub(crate) fn run(command: &Rebuild, context: &Context) -> Outcome {
    let installation = context.installation()?;
    let store = command.store.as_deref();
    let bar = progress::spinner(
        context,
        match store {
            Some(store) => format!("reading store {store}"),
            None => "reading the stores".to_owned(),
        },
    );
    let mut tell = |so_far: Progress| bar.set_message(message(so_far));
    let outcome = match command {
        Rebuild { adopt: true, dry_run: true, .. } => rebuild::compare(&installation, store, &mut tell),
        Rebuild { adopt: true, .. } => rebuild::adopt(&installation, store, &mut tell),
        _ => rebuild::run(&installation, store, &mut tell),
    };
    bar.finish_and_clear();
    let found = outcome?;
    if !found.pending.is_empty() && !context.is_quiet {
        eprintln!("the registry is read-only until what {} has is imported", found.pending.join(", "));
        eprintln!("  next: \"strongroom rebuild --adopt\"");
    }
    let is_whole = found.is_complete() && (!command.adopt || found.pending.is_empty());
    show(found, context)?;
    Ok(if is_whole { Exit::Done } else { Exit::No })
}

fn message(so_far: Progress) -> String {
    match so_far {
        Progress::Rebuilding { objects, versions, files } => {
            let versions = counted(versions, "version", "versions");
            format!("{}, {versions}, {}", counted(objects, "object", "objects"), counted(files, "file", "files"))
        }
        Progress::Adopting { objects, taken } => {
            format!("{}, {taken} of them with something new", counted(objects, "object", "objects"))
        }
    }
}

fn show(found: RebuildView, context: &Context) -> Result<(), Failure> {
    if context.output.is_json() {
        return context.output.json(&found);
    }
    for problem in &found.problems {
        context.output.say(printable(&format!("{} {}: {}", problem.store, problem.path, problem.reason)))?;
    }
    // One object is counted in each store that has it.
    context.output.show_named(&RebuildView { problems: Vec::new(), ..found }, &[("objects", "objects in stores")])
}
