//! The tasks of topic `batch.report`: a long report is finished page by page, and what is told of a batch or of an item is put into the
//! outbox with the end of the task, so that it is told once whatever stops the worker.

use std::sync::Arc;

use strongroom_queue::Outcome;
use strongroom_registry::reports::{self, EndedItem, Subject, TOPIC, Untold};
use strongroom_registry::work::Assignment;
use strongroom_registry::{RegistryError, ReportId, Transaction, schedules};

use super::messages::{self, Composed};
use crate::event::Event;
use crate::hold::OperationError;
use crate::runtime::{Handler, Shutdown, TaskContext, TaskEnd};
use crate::{EngineError, Home, background, crash_point, paging};

/// Pages of a report that are written in one transaction.
const PAGES_AT_ONCE: usize = 1;

/// The handlers of reports.
pub(crate) fn handlers(home: &Arc<Home>) -> Vec<Arc<dyn Handler>> {
    vec![Arc::new(ReportHandler { home: home.clone() })]
}

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
        let (messages, report) = match subject {
            Subject::Queued(batch) => (messages::of_queued(&self.home, batch)?, None),
            Subject::Report(report) => {
                let messages = self.finish(report, context)?;
                crash_point("report.composed");
                (messages, Some(report))
            }
            Subject::Item(item, at) => {
                let Ok(ended) = serde_json::from_slice::<EndedItem>(&assignment.task.payload) else {
                    return Ok(Outcome::Dead {
                        reason: "the payload of the task does not say how the item ended".into(),
                    }
                    .into());
                };
                (messages::of_item(&self.home, item, at, &ended)?, None)
            }
        };
        Ok(TaskEnd::from(Outcome::Done).with(Box::new(move |tx, _| {
            // A mail that the batch is queued must not follow the mail that it has ended.
            if let Subject::Queued(batch) = subject
                && reports::has_ended_once(tx, batch)?
            {
                return Ok(Vec::new());
            }
            put(tx, report, &messages)?;
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
/// those who run the installation may hear of them, or where the task of one was given up. What such a one lacks is written first.
///
/// # Errors
/// One of them cannot be told; the others are.
pub(crate) fn tell_untold(home: &Home, stop: &Shutdown) -> Result<(), EngineError> {
    let page = |after, limit| home.registry.read(|tx| reports::untold(tx, after, limit));
    let mut outcome = Ok(());
    for untold in paging::rows(UNTOLD_AT_ONCE, |untold: &Untold| untold.report, page) {
        if stop.is_requested() {
            break;
        }
        match tell(home, untold?, stop) {
            // Its batch was removed when the time of its items had ended.
            Ok(()) | Err(EngineError::Registry(RegistryError::NotFound { .. })) => {}
            Err(error) => outcome = outcome.and(Err(error)),
        }
    }
    outcome
}

fn tell(home: &Home, Untold { report, is_filled }: Untold, stop: &Shutdown) -> Result<(), EngineError> {
    if !is_filled && (home.registry.read(|tx| reports::has_task(tx, report))? || !fill(home, report, stop)?) {
        return Ok(());
    }
    let messages = compose(home, report)?;
    Ok(home.registry.write(move |tx| put(tx, Some(report), &messages))?)
}

/// Writes what a report lacks, page by page, unless a stop is asked for; whether it is whole.
fn fill(home: &Home, id: ReportId, stop: &Shutdown) -> Result<bool, RegistryError> {
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

/// Reports that are looked up at once.
const UNTOLD_AT_ONCE: usize = 100;

/// Puts messages into the outbox, those of a report where they are not there.
fn put(tx: &mut dyn Transaction, report: Option<ReportId>, messages: &[Composed]) -> Result<(), RegistryError> {
    let is_first = match report {
        Some(report) => reports::complete(tx, report)?,
        None => true,
    };
    if is_first && !messages.is_empty() {
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
