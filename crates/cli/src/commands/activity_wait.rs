//! `--wait` of activities and pipelines: works on some activities until they end, and says how far they are.

use std::collections::BTreeSet;
use std::thread;
use std::time::{Duration, Instant};

use clap::Args;
use strongroom_engine::app::activities::{ActivityState, FindingFilter, RecordFilter};
use strongroom_engine::app::views::{ActivityId, ActivityView};
use strongroom_engine::app::{OpContext, activities};

use super::wait::{after_waiting, duration};
use crate::context::Context;
use crate::failure::{Exit, Failure, Outcome};
use crate::output::{counted, printable};
use crate::progress::spinner;
use crate::signals;

/// How often the counts of an activity that is waited for are read.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// Whether a command waits for its activities, and how long.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct Waiting {
    /// Work on it in this process until it ends; exit 1 if anything fails, or a tool finds something
    #[arg(long)]
    pub(super) wait: bool,
    /// Stop waiting after this time, such as 10m; exit 1 if it has not ended by then [default: none]
    #[arg(long, value_name = "DURATION", value_parser = duration, requires = "wait")]
    timeout: Option<Duration>,
}

/// What is waited for, in words.
pub(super) struct Told<'t> {
    /// Its name.
    pub(super) name: &'t str,
    /// The command that shows how far it is.
    pub(super) follow: &'t str,
}

/// How activities are that were waited for, and what the command answers when it has shown them.
pub(super) struct Waited {
    pub(super) views: Vec<ActivityView>,
    pub(super) outcome: Outcome,
}

/// Works on activities in this process until they end, a signal asks to stop, or the time is over.
pub(super) fn work_on(
    call: &OpContext,
    ids: &[ActivityId],
    told: &Told<'_>,
    waiting: Waiting,
    context: &Context,
) -> Result<Waited, Failure> {
    let (shutdown, began) = (signals::watch()?, Instant::now());
    let bar = spinner(context, told.name.to_owned());
    let now = || ids.iter().map(|id| activities::show(call, *id)).collect::<Result<Vec<_>, _>>();
    let mut is_late = false;
    let summary = thread::scope(|scope| {
        let worker = scope.spawn(|| activities::work(call, ids, &shutdown));
        while !worker.is_finished() {
            if let Ok(views) = now() {
                bar.set_message(views.iter().map(progress).collect::<Vec<_>>().join("; "));
            }
            let left = waiting.timeout.map(|timeout| timeout.saturating_sub(began.elapsed()));
            if left.is_some_and(|left| left.is_zero()) {
                is_late = true;
                // What was processed stays, and the rest of a chunk is released.
                shutdown.request();
            }
            let pause = left.filter(|_| !is_late).map_or(LOOK_EVERY, |left| left.min(LOOK_EVERY));
            thread::park_timeout(pause);
        }
        worker.join()
    });
    bar.finish_and_clear();
    let summary = summary.map_err(|_| Failure::new(Exit::OutOfReach, "the worker thread ended abnormally"))??;
    if let Some(failure) = summary.failure {
        return Err(Failure::from(failure).while_trying("work on the activities"));
    }
    let views = now()?;
    let is_open = |view: &&ActivityView| {
        matches!(view.state, ActivityState::Queued | ActivityState::Populating | ActivityState::Running)
    };
    let (open, all) = (views.iter().filter(is_open).count() as u64, views.len());
    if let (Some(timeout), true, true) = (waiting.timeout, is_late, open > 0) {
        let message = format!(
            "{open} of {} had not ended after {timeout:?}; workers continue",
            counted(all as u64, "activity", "activities")
        );
        let outcome = Err(Failure::new(Exit::No, message).next(after_waiting(told.follow)));
        return Ok(Waited { views, outcome });
    }
    let stuck = tell_stuck(call, &views, context)?;
    let open = open.saturating_sub(stuck);
    if open > 0 && !context.is_quiet {
        let open = counted(open, "activity has", "activities have");
        eprintln!("stopped waiting: {open} not ended; what is done stays, and workers continue from there");
        eprintln!("  next: {}", after_waiting(told.follow));
    }
    let mut exit = exit_of(&views);
    for view in views.iter().filter(|view| view.tool_failed.is_some_and(|failed| failed > 0)) {
        tell_found(call, view, context)?;
        if exit == Exit::Done {
            exit = Exit::No;
        }
    }
    Ok(Waited { views, outcome: Ok(exit) })
}

/// Says on standard error that a tool has found something, and which command shows it.
fn tell_found(call: &OpContext, view: &ActivityView, context: &Context) -> Result<(), Failure> {
    if context.is_quiet {
        return Ok(());
    }
    let filter = FindingFilter { activity: Some(view.activity), ..FindingFilter::default() };
    let command = if activities::findings(call, &filter, None)?.items.is_empty() {
        records_that_failed(call, view.activity)
    } else {
        format!("activity findings --activity {}", view.activity)
    };
    let tool = view.options.get("tool").and_then(|tool| tool.as_str()).unwrap_or(&view.agent);
    let failed = counted(view.tool_failed.unwrap_or(0), "file or document", "files or documents");
    eprintln!("{}", printable(&format!("the tool {tool} has found something in {failed}")));
    eprintln!("  next: \"strongroom {command}\" shows which");
    Ok(())
}

/// The command that lists what the tool of an activity has failed. Records that are work items have no outcome of their own.
pub(super) fn records_that_failed(call: &OpContext, id: ActivityId) -> String {
    let failed = RecordFilter { state: None, outcome: Some("fail") };
    // Where its records were removed after their time, the command says so.
    let has_some = activities::records(call, id, failed, None).is_ok_and(|page| !page.items.is_empty());
    format!("activity records {id}{}", if has_some { " --outcome fail" } else { "" })
}

/// Says on standard error, of activities that have failed, ended with records that failed, are paused, or wait for such a one, what has them go
/// on; how many of those that are at work wait for another one.
fn tell_stuck(call: &OpContext, views: &[ActivityView], context: &Context) -> Result<u64, Failure> {
    let mut waiting = 0;
    let mut told = BTreeSet::new();
    for view in views {
        let Some(next) = &view.next else { continue };
        let cause = match view.waits_for {
            Some(other) => {
                waiting += 1;
                activities::show(call, other)?
            }
            None => view.clone(),
        };
        let how = match cause.state {
            ActivityState::Paused => "is paused",
            ActivityState::Failed => "has failed",
            _ => "",
        };
        let text = match (view.waits_for, &cause.error) {
            (Some(other), _) => {
                format!("the activity {} ({}) waits for {other}, which {how}", view.activity, view.agent)
            }
            (None, Some(error)) => format!("the activity {} ({}) {how}: {error}", view.activity, view.agent),
            (None, None) if how.is_empty() => {
                let failed = counted(view.failed.unwrap_or(0), "record", "records");
                format!("{failed} failed of the activity {} ({})", view.activity, view.agent)
            }
            (None, None) => format!("the activity {} ({}) {how}", view.activity, view.agent),
        };
        if context.is_quiet {
            continue;
        }
        eprintln!("{}", printable(&text));
        // What several wait for has one answer.
        if told.insert(next) {
            eprintln!("  next: {}", printable(next));
        }
    }
    Ok(waiting)
}

/// What the states of activities mean, of which later ones may follow earlier ones.
fn exit_of(ended: &[ActivityView]) -> Exit {
    let is = |states: &[ActivityState]| ended.iter().any(|one| states.contains(&one.state));
    if ended.iter().all(|one| one.state == ActivityState::Finished) {
        Exit::Done
    } else if is(&[ActivityState::Failed, ActivityState::Paused]) || ended.iter().any(|one| one.waits_for.is_some()) {
        // Those behind it wait.
        Exit::No
    } else if is(&[ActivityState::Queued, ActivityState::Populating, ActivityState::Running]) {
        Exit::Interrupted
    } else {
        Exit::No
    }
}

/// How far an activity is, in a line.
fn progress(view: &ActivityView) -> String {
    let ended = view.processed.unwrap_or(0) + view.failed.unwrap_or(0);
    let of = match (view.is_complete, view.populated) {
        (Some(true), Some(all)) => format!(" of {all}"),
        _ => String::new(),
    };
    let failed =
        view.failed.filter(|failed| *failed > 0).map(|failed| format!(", {failed} failed")).unwrap_or_default();
    let found = view.tool_failed.filter(|found| *found > 0).map(|found| format!(", something found in {found}"));
    let found = found.unwrap_or_default();
    let rate = view.records_per_second.map(|rate| format!(", {rate}/s")).unwrap_or_default();
    let left = view.seconds_left.map(|left| format!(", {left} s left")).unwrap_or_default();
    format!("{}: {}{of}{failed}{found}{rate}{left}", view.agent, counted(ended, "record", "records"))
}
