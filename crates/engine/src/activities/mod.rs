//! Activities: runs of agents over lists of record ids. An [`Agent`] says which options it takes and, opened for an activity, finds
//! records or does something with one; all that has to be true whatever stops a worker is here: population, chunks, leases, ends and
//! provenance. Which rows there are is [`strongroom_registry::activities`].
//!
//! The task of an activity (topic `activity.run`) carries it on until there is nothing to do; its key is the activity. Further tasks
//! help with the records, with the number of the helper behind the activity in their keys.

mod agent;
pub(crate) mod agents;
mod chunks;
mod documents;
mod error;
mod handler;
mod input;
mod keeper;
mod options;
mod populating;
mod repeats;
mod sending;

use std::sync::Arc;

use strongroom_queue::{NewTask, tasks};
use strongroom_records::{RecordsError, Returned, lists};
use strongroom_registry::activities::{self, Activity};
use strongroom_registry::{ActivityId, ActivityState, RegistryError, Transaction};

pub use agent::{
    Agent, AgentInput, AgentOption, Asked, Finding, Found, FoundPage, Makes, OpenAgent, PageAdded, PageCursor, Planned,
    RecordOutcome, RecordWrites, Repeats, Work,
};
pub use agents::Agents;
pub use documents::{Content, DocumentAgent, DocumentStep, StepKind};
pub use error::{AgentError, Stop};
pub use input::document_of;
pub use options::parsed;
pub(crate) use options::shown;
pub use sending::{Sending, Sent, Sink, SinkError};
pub(crate) use strongroom_registry::activities::TOPIC;

use crate::Home;
use crate::task_kinds::TaskKind;

/// The kind of activities.
pub(crate) const TASK: TaskKind = TaskKind {
    topic: TOPIC,
    goes_after: &[],
    is_before_stages: false,
    handler: |home| Arc::new(handler::ActivityHandler { home: home.clone() }),
};

/// Records that are cancelled in one transaction.
const CANCELLED_AT_ONCE: usize = 1_000;

/// Cancels what is still to be processed of a cancelled activity, page by page; how many records.
pub(crate) fn cancel_rest(home: &Home, activity: &Activity) -> Result<u64, RegistryError> {
    let (list, mut all) = (activity.list, 0);
    loop {
        let cancelled = home.registry.write(move |tx| {
            match lists::cancel_rest(tx, list, CANCELLED_AT_ONCE) {
                // There is nothing left to cancel.
                Err(RecordsError::NoList(_)) => Ok(0),
                outcome => outcome.map_err(RegistryError::from),
            }
        })?;
        all += cancelled;
        if cancelled == 0 {
            return Ok(all);
        }
    }
}

/// Chunks whose records are returned in one transaction.
const CHUNKS_AT_ONCE: usize = 10;

/// Returns what the leases of workers that ended do not cover any more, of whichever activity, in one transaction, and has those
/// activities go on. As many records of a cancelled activity are cancelled as come back.
pub(crate) fn return_expired(home: &Home) -> Result<Vec<Returned>, RegistryError> {
    let returned = home.registry.write(|tx| {
        let returned = lists::return_expired(tx, CHUNKS_AT_ONCE)?;
        for chunk in &returned {
            let Some(activity) = activities::of_list(tx, chunk.list)? else { continue };
            if activity.state.is_at_work() {
                activities::enqueue(tx, activity.id, activity.institution)?;
            } else if activity.state == ActivityState::Cancelled {
                lists::cancel_rest(tx, chunk.list, usize::try_from(chunk.records).unwrap_or(usize::MAX))?;
                // Those that follow it may have waited for these records alone.
                activities::wake_followers(tx, activity.id)?;
            }
        }
        Ok::<_, RegistryError>(returned)
    })?;
    if !returned.is_empty() {
        home.registry.wakeups().notify([TOPIC]);
    }
    Ok(returned)
}

/// The key of a task that helps with the records of an activity.
fn helper_key(id: ActivityId, number: usize) -> String {
    format!("{id}/{number}")
}

/// The activity of a task, and which helper it is; 1 for the task that carries the activity on.
fn of_key(key: &str) -> Option<(ActivityId, usize)> {
    let (id, number) = match key.split_once('/') {
        Some((id, number)) => (id, number.parse().ok()?),
        None => (key, 1),
    };
    Some((id.parse().ok()?, number))
}

/// Puts the tasks that help with the records of an activity into the topic; one of each waits at most.
fn enqueue_helpers(tx: &mut dyn Transaction, activity: &Activity, workers: usize) -> Result<(), RegistryError> {
    let helper = |number| NewTask {
        fair_key: activity.institution.map(|id| id.to_string()).unwrap_or_default(),
        ..NewTask::new(TOPIC, helper_key(activity.id, number), "")
    };
    let new: Vec<NewTask> = (2..=workers).map(helper).collect();
    if !new.is_empty() {
        tasks::enqueue(tx, &new)?;
    }
    Ok(())
}
