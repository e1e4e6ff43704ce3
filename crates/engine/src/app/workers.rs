//! Workers and schedules: what runs in this process until a stop is asked for. What they do is recorded in the journal
//! by the acts that they work on, and not of each process that begins and ends.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;

use super::OpContext;
use super::authorization::{BACKGROUND_LIST, BACKGROUND_RUN, WORKERS_RUN};
use super::views::ScheduleView;
use crate::runtime::{Pools, Shutdown, panic_message};
use crate::settings::Settings;
use crate::{EngineError, Home, background, build_runtime, handlers, with_settings_reload};

/// How workers run.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// Only these topics, and those of the kinds; all where neither is given.
    pub topics: Option<Vec<String>>,
    /// The worker kinds whose topics are worked on besides those.
    pub kinds: Vec<String>,
    /// Tasks at once in each topic; as the settings say where absent.
    pub workers: Option<u16>,
    /// The settings file: when it changes, the capacity of workers and staging follows.
    pub settings_file: PathBuf,
}

/// Runs workers until a stop is asked for.
///
/// # Errors
/// There is no topic or worker kind of one of the names, or the workers cannot go on.
pub fn run(context: &OpContext, request: &Request, shutdown: &Shutdown) -> Result<(), EngineError> {
    let authorized = context.authorize(&WORKERS_RUN)?;
    authorized.home().plain_stores.log_changes();
    run_workers(authorized.home(), request, shutdown)
}

/// Runs workers, and the schedules beside them, until a stop is asked for or one of both cannot go on.
pub fn serve(context: &OpContext, request: &Request, shutdown: &Shutdown) -> Result<(), EngineError> {
    let home = context.authorize(&WORKERS_RUN)?.home();
    context.authorize(&BACKGROUND_RUN)?;
    home.plain_stores.log_changes();
    thread::scope(|scope| {
        let producing = scope.spawn(|| {
            let _stop = shutdown.request_on_drop();
            background::run(home, shutdown)
        });
        let outcome = run_workers(home, request, shutdown);
        // Where the workers ended by themselves, the schedules have nothing to work for.
        shutdown.request_once();
        match producing.join() {
            Ok(ended) => outcome.and(ended),
            Err(panic) => {
                let source = std::io::Error::other(format!("a thread panicked: {}", panic_message(panic.as_ref())));
                outcome.and(Err(EngineError::Io { act: "run", path: "background tasks".to_owned(), source }))
            }
        }
    })
}

/// Runs the schedules until a stop is asked for.
pub fn run_schedules(context: &OpContext, shutdown: &Shutdown) -> Result<(), EngineError> {
    let home = context.authorize(&BACKGROUND_RUN)?.home();
    home.plain_stores.log_changes();
    background::run(home, shutdown)
}

/// Runs the background tasks that are due now, once; returns why the first of them failed, where one did. All are run whether
/// or not one fails.
pub fn run_due_schedules(context: &OpContext, shutdown: &Shutdown) -> Result<Option<EngineError>, EngineError> {
    Ok(background::run_each_due(context.authorize(&BACKGROUND_RUN)?.home(), shutdown)?.first_failure)
}

/// Every schedule with its last run and its next.
pub fn schedules(context: &OpContext) -> Result<Vec<ScheduleView>, EngineError> {
    let authorized = context.authorize(&BACKGROUND_LIST)?;
    let home = authorized.home();
    Ok(background::list(&home.settings, &home.registry)?.into_iter().map(ScheduleView::from).collect())
}

fn run_workers(home: &Arc<Home>, request: &Request, shutdown: &Shutdown) -> Result<(), EngineError> {
    let named: Vec<String> = handlers(home).iter().map(|handler| handler.topic().to_owned()).collect();
    let topics = topics(home, request, &named)?;
    let workers = request.workers;
    let pools = move |settings: &Settings| pools(settings, &named, workers);
    let builder = build_runtime(home, topics.as_deref())?.pools(pools(&home.settings));
    let file: &Path = &request.settings_file;
    let summary = with_settings_reload(builder, home, file, pools).build().run(shutdown);
    match summary.failure {
        Some(failure) => Err(EngineError::from(failure).while_trying("continue to work")),
        None => Ok(()),
    }
}

/// The topics that a request is for; none where it is for all.
fn topics(home: &Home, request: &Request, known: &[String]) -> Result<Option<Vec<String>>, EngineError> {
    let mut topics = request.topics.clone();
    for kind in &request.kinds {
        let of_kind = home.settings.topics_of_kind(kind, known).map_err(|reason| {
            EngineError::Usage(reason).next("name one of these, or add it to [worker_kinds] of the settings")
        })?;
        topics.get_or_insert_default().extend(of_kind);
    }
    Ok(topics)
}

/// The settings of the topics, where `workers` says how many tasks at once each has whatever the settings say.
fn pools(settings: &Settings, topics: &[String], workers: Option<u16>) -> Pools {
    let Pools(mut pools) = settings.pools();
    let Some(workers) = workers else { return Pools(pools) };
    for topic in topics {
        pools.entry(topic.clone()).or_insert_with(|| settings.pool(topic));
    }
    for pool in pools.values_mut() {
        pool.workers = usize::from(workers);
    }
    Pools(pools)
}
