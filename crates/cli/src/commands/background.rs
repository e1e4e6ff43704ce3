//! `background`: what is done every so often, task by task.

use clap::Subcommand;
use strongroom_engine::app::background;
use strongroom_engine::app::views::BackgroundTaskView;

use crate::context::Context;
use crate::failure::{Exit, Outcome};
use crate::output::ListOptions;
use crate::signals;

/// Show the background tasks, and run one now
#[derive(Debug, Subcommand)]
pub(crate) enum Background {
    /// List the background tasks with their last run, its result, and their next run
    #[command(after_help = "Example: strongroom background list --json")]
    List(ListOptions),
    /// Run a background task now in this process, whether it is due or not
    #[command(after_help = "Example: strongroom background run fixity")]
    Run {
        /// The name of the task, such as fixity
        name: String,
    },
}

pub(crate) fn run(command: &Background, context: &Context) -> Outcome {
    match command {
        Background::List(options) => list(options, context),
        Background::Run { name } => run_task(name, context),
    }
}

fn list(options: &ListOptions, context: &Context) -> Outcome {
    let call = context.call()?;
    let mut table =
        context.output.table(&COLUMNS).with::<BackgroundTaskView>(options.table).in_full(&IN_FULL).wrapping();
    for task in options.of(background::list(&call)?) {
        table.row_with(&task, &cells(&task))?;
    }
    table.end("there are no background tasks")?;
    Ok(Exit::Done)
}

/// The columns of a table of background tasks.
pub(super) const COLUMNS: [&str; 4] = ["task", "last_run_at", "next_run_at", "last_result"];
const IN_FULL: [&str; 6] = ["task", "every", "last_run_at", "next_run_at", "holder", "last_result"];

/// What people see of a background task in columns that are no field of it.
pub(super) fn cells(task: &BackgroundTaskView) -> [(&'static str, String); 2] {
    let last = match (&task.error, &task.error_since) {
        (Some(error), Some(since)) => format!("FAILED since {since}: {error}"),
        _ => task.result.clone().unwrap_or_default(),
    };
    [("every", format!("{} s", task.every_seconds)), ("last_result", last)]
}

fn run_task(name: &str, context: &Context) -> Outcome {
    let shutdown = signals::watch()?;
    match background::run(&context.call()?, name, &shutdown)? {
        Some(done) => {
            context.output.show(&done)?;
            Ok(Exit::Done)
        }
        None => Ok(Exit::Interrupted),
    }
}
