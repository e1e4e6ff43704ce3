//! `background`: what is done every so often, task by task.

use std::time::Duration;

use clap::Subcommand;
use strongroom_engine::background::{self, BackgroundTask, ManualRun, TASKS, TaskStatus};
use strongroom_engine::settings::nearest;

use crate::context::Context;
use crate::failure::{Exit, Failure, Outcome};
use crate::output::report;
use crate::signals;

/// So many names are proposed in the place of one that is unknown.
const PROPOSED: usize = 3;

/// Show the background tasks, and run one now
#[derive(Debug, Subcommand)]
pub(crate) enum Background {
    /// List the background tasks with their last run, its result, and their next run
    #[command(after_help = "Example: strongroom background list --json")]
    List,
    /// Run a background task now in this process, whether it is due or not
    #[command(after_help = "Example: strongroom background run fixity")]
    Run {
        /// The name of the task, such as fixity
        name: String,
    },
}

report! {
    /// A background task. Times of runs are those of the last one; `result` is that of the last run that ended well.
    TaskReport {
        task: String,
        every_seconds: f64,
        last_started_at: Option<String>,
        last_elapsed_seconds: Option<f64>,
        last_run_at: Option<String>,
        result: Option<String>,
        error: Option<String>,
        error_since: Option<String>,
        next_run_at: String,
        holder: Option<String>,
    }
}

report! {
    /// A run that was asked for.
    RunReport { task: String, result: String, elapsed_seconds: f64 }
}

impl From<TaskStatus> for TaskReport {
    fn from(task: TaskStatus) -> Self {
        Self {
            task: task.name.to_owned(),
            every_seconds: seconds(task.every),
            last_started_at: task.last_started_at.map(|time| time.to_string()),
            last_elapsed_seconds: task.last_elapsed.map(seconds),
            last_run_at: task.last_run_at.map(|time| time.to_string()),
            result: task.result,
            error: task.error,
            error_since: task.error_since.map(|time| time.to_string()),
            next_run_at: task.next_run_at.to_string(),
            holder: task.holder,
        }
    }
}

/// Seconds with three digits behind the point.
fn seconds(span: Duration) -> f64 {
    Duration::from_millis(u64::try_from(span.as_millis()).unwrap_or(u64::MAX)).as_secs_f64()
}

pub(crate) fn run(command: &Background, context: &Context) -> Outcome {
    match command {
        Background::List => list(context),
        Background::Run { name } => run_task(find(name)?, context),
    }
}

fn list(context: &Context) -> Outcome {
    let settings = context.settings()?.settings;
    let registry = context.registry_of(&settings)?;
    let mut table = context.output.table(&["task", "every", "last_run_at", "next_run_at", "holder", "last_result"]);
    for task in background::list(&settings, &registry)? {
        let last = match (&task.error, task.error_since) {
            (Some(error), Some(since)) => format!("FAILED since {since}: {error}"),
            _ => task.result.clone().unwrap_or_default(),
        };
        let every = format!("{} s", seconds(task.every));
        table.row_with(&TaskReport::from(task), &[("every", every), ("last_result", last)])?;
    }
    table.end("there are no background tasks")?;
    Ok(Exit::Done)
}

fn run_task(task: &BackgroundTask, context: &Context) -> Outcome {
    let shutdown = signals::watch()?;
    let home = context.open_home()?;
    let name = task.name;
    match background::run_now(&home, task, &shutdown)? {
        ManualRun::Done { result, elapsed } => {
            let elapsed_seconds = seconds(elapsed);
            context.output.show(&RunReport { task: name.to_owned(), result, elapsed_seconds })?;
            Ok(Exit::Done)
        }
        ManualRun::Held { holder } => {
            let message = format!("another process runs background task {name} now: {holder}");
            Err(Failure::new(Exit::NotAllowed, message).next("\"strongroom background list\" shows when it has ended"))
        }
        ManualRun::Lost => {
            let message = format!("another process took background task {name} over while this one ran it");
            Err(Failure::new(Exit::NotAllowed, message).next("\"strongroom background list\" shows when it has ended"))
        }
        ManualRun::Stopped => Ok(Exit::Interrupted),
    }
}

fn find(name: &str) -> Result<&'static BackgroundTask, Failure> {
    TASKS.iter().find(|task| task.name == name).ok_or_else(|| {
        let mut names: Vec<&str> = TASKS.iter().map(|task| task.name).collect();
        let mut proposed = Vec::new();
        while proposed.len() < PROPOSED
            && let Some(found) = nearest(name, names.iter().copied())
        {
            names.retain(|other| *other != found);
            proposed.push(found);
        }
        Failure::not_found("background task", name).next(format!("did you mean {}?", proposed.join(", ")))
    })
}
