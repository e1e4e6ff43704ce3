//! `serve`, `work` and `schedule`: what runs until it is asked to stop.

use clap::Args;
use strongroom_engine::app::workers::{self, Request};

use super::background::{COLUMNS, cells};
use crate::context::Context;
use crate::failure::{Exit, Outcome};
use crate::signals;

/// Run workers and background tasks
#[derive(Debug, Args)]
pub(crate) struct Serve {
    /// Tasks at once in each topic [default: as the settings say]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    workers: Option<u16>,
}

/// Run workers until stopped
#[derive(Debug, Args)]
pub(crate) struct Work {
    /// Only these topics, separated by commas [default: all]
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    topics: Option<Vec<String>>,
    /// Only the topics of this worker kind, such as ingest; may be repeated
    ///
    /// Together with --topics, the topics of both. A kind is a group of topics, or one that the settings name.
    #[arg(long = "kind", value_name = "NAME")]
    kinds: Vec<String>,
    /// Tasks at once in each topic [default: as the settings say]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    workers: Option<u16>,
}

pub(crate) fn work(command: &Work, context: &Context) -> Outcome {
    let shutdown = signals::watch()?;
    let call = context.call_for_service()?;
    workers::run(
        &call,
        &request((command.topics.clone(), command.kinds.clone()), command.workers, context),
        &shutdown,
    )?;
    Ok(Exit::Done)
}

/// Run only background tasks until stopped
#[derive(Debug, Args)]
pub(crate) struct ScheduleOnly {
    /// Run the background tasks that are due, list all, and end; the exit code is that of the first task that failed
    #[arg(long)]
    once: bool,
}

pub(crate) fn schedule(command: &ScheduleOnly, context: &Context) -> Outcome {
    let shutdown = signals::watch()?;
    let call = context.call_for_service()?;
    if !command.once {
        workers::run_schedules(&call, &shutdown)?;
        return Ok(Exit::Done);
    }
    let failure = workers::run_due_schedules(&call, &shutdown)?;
    let mut table = context.output.table(&COLUMNS).wrapping();
    for one in workers::schedules(&call)? {
        table.row_with(&one, &cells(&one.task))?;
    }
    table.end("there are no background tasks")?;
    failure.map_or(Ok(Exit::Done), |error| Err(error.into()))
}

pub(crate) fn serve(command: &Serve, context: &Context) -> Outcome {
    let shutdown = signals::watch()?;
    let call = context.call_for_service()?;
    if !context.is_quiet {
        eprintln!("running workers and background tasks; the HTTP side is not in this version");
    }
    workers::serve(&call, &request((None, Vec::new()), command.workers, context), &shutdown)?;
    Ok(Exit::Done)
}

fn request((topics, kinds): (Option<Vec<String>>, Vec<String>), workers: Option<u16>, context: &Context) -> Request {
    Request { topics, kinds, workers, settings_file: context.settings_file.clone() }
}
