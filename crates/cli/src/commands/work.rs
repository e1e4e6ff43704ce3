//! `serve`, `work` and `schedule`: what runs until it is told to stop.

use std::sync::Arc;
use std::thread;

use clap::Args;
use strongroom_engine::runtime::{Pools, Shutdown};
use strongroom_engine::settings::Settings;
use strongroom_engine::{Home, background, handlers, runtime_following, runtime_over};

use crate::context::Context;
use crate::failure::{Exit, Failure, Outcome};
use crate::output::report;
use crate::signals;

/// Run everything: workers and producers
#[derive(Debug, Args)]
pub(crate) struct Serve {
    /// Tasks at once in each topic [default: as the settings say]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    workers: Option<u16>,
}

/// Run workers until told to stop
#[derive(Debug, Args)]
pub(crate) struct Work {
    /// Only these topics, separated by commas [default: all]
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    topics: Option<Vec<String>>,
    /// Tasks at once in each topic [default: as the settings say]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    workers: Option<u16>,
}

pub(crate) fn work(command: &Work, context: &Context) -> Outcome {
    let shutdown = signals::watch()?;
    let home = context.open_home_for_service()?;
    run_workers(&home, command.topics.as_deref(), command.workers, context, &shutdown)
}

/// Run only producers until told to stop: what is done every so often
#[derive(Debug, Args)]
pub(crate) struct ScheduleOnly {
    /// Take the turns that are due now, and end
    #[arg(long)]
    once: bool,
}

report! {
    /// A schedule.
    ScheduleReport { schedule: String, last_run_at: Option<String>, next_run_at: String }
}

pub(crate) fn schedule(command: &ScheduleOnly, context: &Context) -> Outcome {
    let shutdown = signals::watch()?;
    let home = context.open_home_for_service()?;
    if !command.once {
        background::run(&home, &shutdown)?;
        return Ok(Exit::Done);
    }
    background::run_due(&home, &shutdown)?;
    let mut table = context.output.table(&["schedule", "last_run_at", "next_run_at"]);
    for one in background::list(&home.settings, &home.registry)? {
        table.row(&ScheduleReport {
            schedule: one.name.to_owned(),
            last_run_at: one.last_run_at.map(|time| time.to_string()),
            next_run_at: one.next_run_at.to_string(),
        })?;
    }
    table.end("there are no schedules")?;
    Ok(Exit::Done)
}

pub(crate) fn serve(command: &Serve, context: &Context) -> Outcome {
    let shutdown = signals::watch()?;
    let home = context.open_home_for_service()?;
    if !context.is_quiet {
        eprintln!("running workers and schedules; the HTTP side is not in this version");
    }
    thread::scope(|scope| {
        let producing = scope.spawn(|| {
            let outcome = background::run(&home, &shutdown);
            if outcome.is_err() {
                shutdown.request();
            }
            outcome
        });
        let outcome = run_workers(&home, None, command.workers, context, &shutdown);
        // Where the workers ended by themselves, the producers have nobody to work for.
        shutdown.request();
        match producing.join() {
            Ok(Err(error)) => outcome.and(Err(error.into())),
            _ => outcome,
        }
    })
}

fn run_workers(
    home: &Arc<Home>,
    topics: Option<&[String]>,
    workers: Option<u16>,
    context: &Context,
    shutdown: &Shutdown,
) -> Outcome {
    let named: Vec<String> = handlers(home).iter().map(|handler| handler.topic().to_owned()).collect();
    let pools = move |settings: &Settings| pools(settings, &named, workers);
    let builder = runtime_over(home, topics)?.pools(pools(&home.settings));
    let summary = runtime_following(builder, home, &context.settings_file, pools).build().run(shutdown);
    match summary.failure {
        Some(failure) => Err(Failure::from(failure).while_trying("go on working")),
        None => Ok(Exit::Done),
    }
}

/// The settings of the topics, where `workers` says how many tasks at once each has whatever the settings say.
fn pools(settings: &Settings, topics: &[String], workers: Option<u16>) -> Pools {
    let Pools(mut pools) = settings.pools();
    let Some(workers) = workers else { return Pools(pools) };
    for topic in topics {
        pools.entry(topic.clone()).or_default();
    }
    for pool in pools.values_mut() {
        pool.workers = usize::from(workers);
    }
    Pools(pools)
}
