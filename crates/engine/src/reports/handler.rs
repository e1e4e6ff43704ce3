//! The tasks of topic `batch.report`: a long report is finished page by page, and what is told of a batch or of an item is put into the
//! outbox with the end of the task, so that it is told once whatever stops the worker.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use strongroom_queue::{Outcome, TaskRecord, TaskState, tasks};
use strongroom_registry::reports::{self, EndedItem, Subject, TOPIC, Untold};
use strongroom_registry::work::Assignment;
use strongroom_registry::{RegistryError, ReportId, Transaction, schedules};

use super::messages::{self, Composed};
use crate::event::Event;
use crate::hold::OperationError;
use crate::runtime::{Handler, Shutdown, TaskContext, TaskEnd, panic_message};
use crate::task_kinds::TaskKind;
use crate::{EngineError, Home, background, crash_point, paging};

/// Pages of a report that are written in one transaction.
const PAGES_AT_ONCE: usize = 1;

/// The kind of reports.
pub(crate) const TASK: TaskKind = TaskKind {
    topic: TOPIC,
    goes_after: &[],
    is_before_stages: false,
    handler: |home| Arc::new(ReportHandler { home: home.clone() }),
};

struct ReportHandler {
    home: Arc<Home>,
}

impl Handler for ReportHandler {
    fn topic(&self) -> &str {
        TOPIC
    }

    fn run(&self, assignment: &Assignment, context: &TaskContext) -> TaskEnd {
        let Ok(subject) = assignment.task.key.parse::<Subject>() else {
            return Outcome::Dead { reason: "the task's key names no report, batch or work item".into() }.into();
        };
        self.end(subject, assignment, context).unwrap_or_else(|error| error.task_end(&self.home, assignment, context))
    }
}

impl ReportHandler {
    fn end(&self, subject: Subject, assignment: &Assignment, context: &TaskContext) -> Result<TaskEnd, OperationError> {
        let messages = match subject {
            Subject::Report(report) => {
                let messages = self.finish(report, context)?;
                crash_point("report.composed");
                Some(messages)
            }
            notice => compose_notice(&self.home, notice, &assignment.task.payload)?,
        };
        let Some(messages) = messages else {
            let reason = "the payload of the task does not say how the item ended".to_owned();
            return Ok(Outcome::Dead { reason }.into());
        };
        Ok(TaskEnd::from(Outcome::Done).with(Box::new(move |tx, _| {
            put(tx, subject, &messages)?;
            Ok(Vec::new())
        })))
    }

    /// Lists what a report lacks, and composes what is told of it.
    fn finish(&self, id: ReportId, context: &TaskContext) -> Result<Vec<Composed>, OperationError> {
        loop {
            context.check()?;
            match self.home.registry.write(move |tx| reports::fill(tx, id, PAGES_AT_ONCE)) {
                Ok(true) => break,
                Ok(false) => crash_point("report.page"),
                // Its batch was removed when the time of its items had ended.
                Err(RegistryError::NotFound { .. }) => return Ok(Vec::new()),
                Err(error) => return Err(error.into()),
            }
        }
        crash_point("report.filled");
        Ok(compose(&self.home, id)?)
    }
}

/// Composes what is told of the reports that were not told, and puts it into the outbox: no task does it where nobody but
/// those who run the installation may hear of them, or where the task of one was given up. What such a one lacks is written first. What other
/// tasks of the topic were to tell is told as well where they were given up.
///
/// # Errors
/// One of them cannot be told; the others are.
pub(crate) fn tell_untold(home: &Home, stop: &Shutdown) -> Result<(), EngineError> {
    let page = |after, limit| home.registry.read(|tx| reports::untold(tx, after, limit));
    let mut outcome = Ok(());
    for untold in paging::rows(UNTOLD_AT_ONCE, |untold: &Untold| untold.report, page) {
        if stop.is_requested() {
            return outcome;
        }
        let untold = untold?;
        outcome = outcome.and(guarded(&untold.report.to_string(), || tell(home, untold, stop)));
    }
    outcome.and(tell_given_up(home, stop))
}

/// Does what the dead tasks of the topic were to do, each with the end of its task. One that cannot be told stays among the dead tasks, where
/// people see it. At most so many fail in a run.
fn tell_given_up(home: &Home, stop: &Shutdown) -> Result<(), EngineError> {
    let (mut outcome, mut after, mut failures) = (Ok(()), None, 0);
    loop {
        let page = home
            .registry
            .read(|tx| tasks::list(tx, TOPIC, TaskState::Dead, after, UNTOLD_AT_ONCE).map_err(RegistryError::from))?;
        for task in page.tasks {
            if stop.is_requested() || failures >= MOST_FAILURES {
                return outcome;
            }
            let told = guarded(&task.key, || tell_of(home, &task));
            failures += usize::from(told.is_err());
            outcome = outcome.and(told);
        }
        match page.next {
            Some(next) => after = Some(next),
            None => return outcome,
        }
    }
}

/// Does what a dead task was to do. Nothing where the task does not say what that is.
fn tell_of(home: &Home, task: &TaskRecord) -> Result<(), EngineError> {
    let Ok(subject) = task.key.parse::<Subject>() else { return Ok(()) };
    let messages = match subject {
        // It was told before, unless it cannot be told.
        Subject::Report(report) => match home.registry.read(|tx| reports::get(tx, report)) {
            Ok(found) if found.completed_at.is_none() => return Ok(()),
            Ok(_) | Err(RegistryError::NotFound { .. }) => Vec::new(),
            Err(error) => return Err(error.into()),
        },
        notice => match compose_notice(home, notice, &task.payload)? {
            Some(messages) => messages,
            None => return Ok(()),
        },
    };
    let id = task.task;
    Ok(home.registry.write(move |tx| {
        put(tx, subject, &messages)?;
        tasks::delete(tx, id).map_err(RegistryError::from).map(drop)
    })?)
}

/// What is told that is no report; none where the payload of its task cannot be read.
fn compose_notice(home: &Home, subject: Subject, payload: &[u8]) -> Result<Option<Vec<Composed>>, EngineError> {
    Ok(match subject {
        Subject::Queued(batch) => Some(messages::of_queued(home, batch)?),
        Subject::Item(item, at) => match serde_json::from_slice::<EndedItem>(payload) {
            Ok(ended) => Some(messages::of_item(home, item, at, &ended)?),
            Err(_) => None,
        },
        Subject::Report(_) => None,
    })
}

/// A panic is a failure of one subject alone: it keeps no other from being told, and no message from being delivered.
fn guarded(key: &str, act: impl FnOnce() -> Result<(), EngineError>) -> Result<(), EngineError> {
    catch_unwind(AssertUnwindSafe(act)).unwrap_or_else(|panic| {
        let source = std::io::Error::other(format!("it panicked: {}", panic_message(panic.as_ref())));
        Err(EngineError::Io { act: "compose what is told of", path: key.to_owned(), source })
    })
}

/// Tells a report where no task is to write it. Its batch may have been removed when the time of its items had ended.
fn tell(home: &Home, Untold { report, is_filled }: Untold, stop: &Shutdown) -> Result<(), EngineError> {
    let told = || -> Result<(), EngineError> {
        if !is_filled && (home.registry.read(|tx| reports::has_task(tx, report))? || !fill(home, report, stop)?) {
            return Ok(());
        }
        let messages = compose(home, report)?;
        Ok(home.registry.write(move |tx| put(tx, Subject::Report(report), &messages))?)
    };
    match told() {
        Err(EngineError::Registry(RegistryError::NotFound { .. })) => Ok(()),
        other => other,
    }
}

/// Writes what a report lacks, page by page, unless a stop is asked for; whether it is whole.
pub(crate) fn fill(home: &Home, id: ReportId, stop: &Shutdown) -> Result<bool, RegistryError> {
    while !home.registry.write(move |tx| reports::fill(tx, id, PAGES_AT_ONCE))? {
        if stop.is_requested() {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Does what changes items that have ended. Where a long report that says how they ended is not written yet, it is written first: not in
/// the transaction of the act, which would be as long as the report.
pub(crate) fn behind_reports<T>(
    home: &Home,
    mut act: impl FnMut() -> Result<T, EngineError>,
) -> Result<T, EngineError> {
    loop {
        match act() {
            Err(EngineError::Registry(RegistryError::ReportUnwritten { report })) => {
                match fill(home, report, &Shutdown::new()) {
                    Ok(_) | Err(RegistryError::NotFound { .. }) => {}
                    Err(error) => return Err(error.into()),
                }
            }
            outcome => return outcome,
        }
    }
}

/// Reports, or dead tasks, that are looked up at once.
const UNTOLD_AT_ONCE: usize = 100;
/// Dead tasks that fail again in a run before it leaves the others to the next.
const MOST_FAILURES: usize = 100;

/// Puts messages into the outbox, those of a report where they are not there.
fn put(tx: &mut dyn Transaction, subject: Subject, messages: &[Composed]) -> Result<(), RegistryError> {
    let is_wanted = match subject {
        Subject::Report(report) => reports::complete(tx, report)?,
        // A mail that the batch is queued must not follow the mail that it has ended.
        Subject::Queued(batch) => !reports::has_ended_once(tx, batch)?,
        Subject::Item(..) => true,
    };
    if is_wanted && !messages.is_empty() {
        for Composed { message, about } in messages {
            message.insert_about(tx, *about)?;
        }
        schedules::hasten(tx, background::outbox::NAME)?;
    }
    Ok(())
}

/// What is told of a report that is whole; nothing where it was told.
fn compose(home: &Home, id: ReportId) -> Result<Vec<Composed>, EngineError> {
    let (report, view) =
        home.registry.read(|tx| Ok::<_, RegistryError>((reports::get(tx, id)?, super::view(tx, id)?)))?;
    if report.completed_at.is_some() {
        return Ok(Vec::new());
    }
    Event::ReportMade { report: &view }.emit();
    messages::of_report(home, &report, &view)
}
