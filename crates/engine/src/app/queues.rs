//! The task queue, topic by topic.

use strongroom_queue::{Cursor, TaskId, TaskState, TopicCounts, tasks};
use strongroom_registry::counted;
use strongroom_registry::{RegistryError, Transaction, work};

use super::authorization::{
    QUEUES_DELETE, QUEUES_EMPTY, QUEUES_LIST, QUEUES_PAUSE, QUEUES_RESUME, QUEUES_RETRY, QUEUES_TASKS,
};
use super::views::{AffectedTasksView, TaskView, TopicView};
use super::{Authorized, OpContext, PAGE, Page};
use crate::EngineError;
use crate::journal::Target;
use crate::reports::behind_reports;
use crate::settings::{nearest_few, topics};

/// The states in which tasks are listed where none is named, in this order.
const STATES: [TaskState; 4] = [TaskState::Ready, TaskState::Delayed, TaskState::Leased, TaskState::Dead];

/// Where a listing of tasks goes on.
#[derive(Debug, Clone)]
pub struct TaskCursor {
    /// Which of the topics and states it is at.
    place: usize,
    within: Option<Cursor>,
}

/// Every topic, with how many tasks it has: those that the program knows, and those of other programs that have had tasks or were paused.
pub fn list(context: &OpContext) -> Result<Vec<TopicView>, EngineError> {
    let authorized = context.authorize(&QUEUES_LIST)?;
    every_topic(&authorized)
}

/// Tasks of a topic, or of all, in this state or in each, after `after`.
pub fn tasks(
    context: &OpContext,
    topic: Option<&str>,
    state: Option<TaskState>,
    after: Option<TaskCursor>,
) -> Result<Page<TaskView, TaskCursor>, EngineError> {
    let authorized = context.authorize(&QUEUES_TASKS)?;
    let topics = match topic {
        Some(topic) => {
            check_topic(&authorized, topic)?;
            vec![topic.to_owned()]
        }
        None => counts(&authorized)?.into_iter().map(|one| one.topic).collect(),
    };
    let states = state.as_ref().map_or(STATES.as_slice(), std::slice::from_ref);
    let places: Vec<(&String, TaskState)> =
        topics.iter().flat_map(|topic| states.iter().map(move |state| (topic, *state))).collect();
    let TaskCursor { mut place, mut within } = after.unwrap_or(TaskCursor { place: 0, within: None });
    while let Some((topic, state)) = places.get(place) {
        let page = authorized.read(|tx| tasks::list(tx, topic, *state, within, PAGE).map_err(RegistryError::from))?;
        let next = match page.next {
            Some(next) => Some(TaskCursor { place, within: Some(next) }),
            None => (place + 1 < places.len()).then_some(TaskCursor { place: place + 1, within: None }),
        };
        if !page.tasks.is_empty() || next.is_none() {
            return Ok(Page { items: page.tasks.into_iter().map(TaskView::from).collect(), next });
        }
        (place, within) = (place + 1, None);
    }
    Ok(Page { items: Vec::new(), next: None })
}

/// Stops handing out the tasks of a topic.
pub fn pause(context: &OpContext, topic: &str) -> Result<TopicView, EngineError> {
    let authorized = context.authorize(&QUEUES_PAUSE)?;
    set_paused(&authorized, topic, true)
}

/// Hands out the tasks of a topic again.
///
/// # Errors
/// All topics are paused, this one with them.
pub fn resume(context: &OpContext, topic: &str) -> Result<TopicView, EngineError> {
    let authorized = context.authorize(&QUEUES_RESUME)?;
    check_topic(&authorized, topic)?;
    if authorized.read(|tx| tasks::are_all_paused(tx).map_err(RegistryError::from))? {
        return Err(EngineError::Refused(format!("all topics are paused, {topic} with them"))
            .next("\"strongroom queue resume --all\" resumes them"));
    }
    set_paused(&authorized, topic, false)
}

/// Stops handing out the tasks of all topics, those that come to be later as well.
pub fn pause_all(context: &OpContext) -> Result<Vec<TopicView>, EngineError> {
    let authorized = context.authorize(&QUEUES_PAUSE)?;
    set_all_paused(&authorized, true)
}

/// Hands out the tasks of all topics again.
pub fn resume_all(context: &OpContext) -> Result<Vec<TopicView>, EngineError> {
    let authorized = context.authorize(&QUEUES_RESUME)?;
    set_all_paused(&authorized, false)
}

/// Deletes the tasks of a topic that wait.
pub fn empty(context: &OpContext, topic: &str) -> Result<AffectedTasksView, EngineError> {
    let authorized = context.authorize(&QUEUES_EMPTY)?;
    check_topic(&authorized, topic)?;
    let mut all = 0;
    loop {
        let name = topic.to_owned();
        let deleted = authorized.write(move |tx| {
            let deleted = tasks::empty(tx, &name, PAGE)?;
            Ok((Target::of_system(format!("{name}: {}", counted(deleted, "task", "tasks"))), deleted))
        })?;
        all += deleted;
        if usize::try_from(deleted).is_ok_and(|deleted| deleted < PAGE) {
            return Ok(AffectedTasksView { topic: topic.to_owned(), tasks: all });
        }
    }
}

/// Brings dead tasks of a topic back: the one named, or all, 100 in a transaction, with a line of the journal for each. Where the process is
/// killed, the same call does the rest.
pub fn retry(context: &OpContext, topic: &str, task: Option<TaskId>) -> Result<AffectedTasksView, EngineError> {
    let authorized = context.authorize(&QUEUES_RETRY)?;
    check_topic(&authorized, topic)?;
    let (name, who) = (topic.to_owned(), authorized.actor().to_string());
    let workflows = authorized.home().registry.workflows();
    let (mut all, mut after) = (0, None);
    loop {
        let (name, who, workflows) = (name.clone(), who.clone(), workflows.clone());
        let act = move |tx: &mut dyn Transaction| {
            let page = match task {
                Some(task) => work::retry_one(tx, workflows.as_ref(), (&name, task), &who)?,
                None => work::retry(tx, workflows.as_ref(), &name, after, &who)?,
            };
            if let (0, Some(task)) = (page.tasks, task) {
                return Err(RegistryError::NotFound { what: "dead task", id: task.to_string() });
            }
            let target = Target::of_system(format!("{name}: {}", counted(page.tasks, "task", "tasks")));
            Ok((target, ((page.tasks, page.next), page.topics)))
        };
        let done = behind_reports(authorized.home(), || Ok(authorized.write_and_wake(act.clone())?));
        let (retried, next) = done.map_err(|error| match error {
            EngineError::Registry(RegistryError::NotFound { .. }) => {
                error.next("\"strongroom queue dead\" shows those there are")
            }
            other => other,
        })?;
        all += retried;
        if next.is_none() {
            return Ok(AffectedTasksView { topic: topic.to_owned(), tasks: all });
        }
        after = next;
    }
}

/// Deletes one task; the task as it was.
pub fn delete(context: &OpContext, task: TaskId) -> Result<TaskView, EngineError> {
    let authorized = context.authorize(&QUEUES_DELETE)?;
    let record = authorized.read(|tx| tasks::show(tx, task).map_err(RegistryError::from))?;
    let absent =
        || not_found("task", task).next("\"strongroom queue list\" shows the topics, \"queue show TOPIC\" their tasks");
    let record = record.ok_or_else(absent)?;
    // The key of a task of a stage is the work item.
    let target = format!("task {task} of {}, {}", record.topic, record.key);
    let deleted = authorized.write(move |tx| Ok((Target::of_system(target.as_str()), tasks::delete(tx, task)?)))?;
    if deleted { Ok(TaskView::from(record)) } else { Err(absent()) }
}

fn not_found(what: &'static str, task: TaskId) -> EngineError {
    EngineError::NotFound { what, name: task.to_string(), hint: String::new() }
}

fn counts(authorized: &Authorized<'_>) -> Result<Vec<TopicCounts>, EngineError> {
    Ok(authorized.read(|tx| tasks::counts(tx).map_err(RegistryError::from))?)
}

/// Refuses a topic that neither the program nor the queue knows.
fn check_topic(authorized: &Authorized<'_>, topic: &str) -> Result<(), EngineError> {
    let mut known = topics(authorized.home().workflows());
    known.extend(counts(authorized)?.into_iter().map(|one| one.topic));
    if known.iter().any(|one| one == topic) {
        return Ok(());
    }
    let error = EngineError::NotFound { what: "topic", name: topic.to_owned(), hint: String::new() };
    let near = nearest_few(topic, known.iter().map(String::as_str)).join(", ");
    Err(error.next(if near.is_empty() {
        "\"strongroom queue list\" shows those there are".to_owned()
    } else {
        format!("did you mean {near}?")
    }))
}

fn set_paused(authorized: &Authorized<'_>, topic: &str, paused: bool) -> Result<TopicView, EngineError> {
    check_topic(authorized, topic)?;
    let name = topic.to_owned();
    authorized.write_and_wake(move |tx| {
        tasks::set_paused(tx, &name, paused)?;
        Ok((Target::of_system(&name), ((), vec![name.clone()])))
    })?;
    let counted = counts(authorized)?.into_iter().find(|one| one.topic == topic);
    let none = || TopicCounts { topic: topic.to_owned(), paused, ..TopicCounts::default() };
    Ok(counted.unwrap_or_else(none).into())
}

fn set_all_paused(authorized: &Authorized<'_>, paused: bool) -> Result<Vec<TopicView>, EngineError> {
    let all = topics(authorized.home().workflows());
    authorized.write_and_wake(move |tx| {
        tasks::set_all_paused(tx, paused)?;
        Ok((Target::of_system("all topics"), ((), all.clone())))
    })?;
    every_topic(authorized)
}

/// Counts of every topic, also of those without tasks, by name.
fn every_topic(authorized: &Authorized<'_>) -> Result<Vec<TopicView>, EngineError> {
    let (mut known, paused) =
        authorized.read(|tx| Ok::<_, RegistryError>((tasks::counts(tx)?, tasks::are_all_paused(tx)?)))?;
    for topic in topics(authorized.home().workflows()) {
        if known.iter().all(|one| one.topic != topic) {
            known.push(TopicCounts { topic, paused, ..TopicCounts::default() });
        }
    }
    known.sort_by(|one, other| one.topic.cmp(&other.topic));
    Ok(known.into_iter().map(TopicView::from).collect())
}
