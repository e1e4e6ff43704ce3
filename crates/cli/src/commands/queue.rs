//! `queue`: the task queue, topic by topic.

use clap::{Args, Subcommand};
use strongroom_engine::settings::nearest;
use strongroom_queue::{TaskId, TaskRecord, TaskState, TopicCounts, tasks};
use strongroom_registry::{Registry, RegistryError, work};

use super::PAGE;
use super::items::word;
use crate::context::Context;
use crate::failure::{Exit, Failure, Outcome};
use crate::output::report;

/// Show and steer the task queue
#[derive(Debug, Subcommand)]
pub(crate) enum Queue {
    /// Count the tasks of each topic
    List,
    /// List the tasks of a topic
    Show {
        #[command(flatten)]
        topic: Topic,
        /// Only this state: ready, delayed, leased or dead
        #[arg(long)]
        state: Option<String>,
    },
    /// Stop handing out the tasks of a topic, or of all topics
    Pause(Topics),
    /// Hand out the tasks of a topic again, or of all topics
    Resume(Topics),
    /// Delete the tasks of a topic that wait
    Empty(Topic),
    /// List the dead tasks of a topic, or of all
    Dead {
        /// The topic, such as ingest.fetch
        topic: Option<String>,
    },
    /// Bring dead tasks of a topic back: those named, or all
    Revive {
        #[command(flatten)]
        topic: Topic,
        /// The task's number [default: all]
        #[arg(long, value_name = "NUMBER")]
        task: Option<i64>,
    },
    /// Delete one task
    Delete {
        /// Its number
        task: i64,
    },
}

/// Names a topic.
#[derive(Debug, Args)]
pub(crate) struct Topic {
    /// The topic, such as ingest.fetch
    topic: String,
}

/// Names a topic, or all of them.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub(crate) struct Topics {
    /// The topic, such as ingest.fetch
    topic: Option<String>,
    /// All topics, those that come to be later as well
    #[arg(long)]
    all: bool,
}

report! {
    /// A topic.
    TopicReport {
        topic: String,
        ready: u64,
        delayed: u64,
        leased: u64,
        dead: u64,
        oldest_ready_seconds: Option<u64>,
        paused: bool,
    }
}

report! {
    /// A task.
    TaskReport {
        task: TaskId,
        topic: String,
        key: String,
        state: TaskState,
        priority: i32,
        ready_at: String,
        attempts: u32,
        max_attempts: u32,
        holder: Option<String>,
        lease_until: Option<String>,
        reason: Option<String>,
    }
}

report! {
    /// How many tasks something happened to.
    Affected { topic: String, tasks: u64 }
}

impl From<TopicCounts> for TopicReport {
    fn from(counts: TopicCounts) -> Self {
        Self {
            topic: counts.topic,
            ready: counts.ready,
            delayed: counts.delayed,
            leased: counts.leased,
            dead: counts.dead,
            oldest_ready_seconds: counts.oldest_ready_seconds,
            paused: counts.paused,
        }
    }
}

impl From<TaskRecord> for TaskReport {
    fn from(task: TaskRecord) -> Self {
        Self {
            task: task.task,
            topic: task.topic,
            key: task.key,
            state: task.state,
            priority: task.priority,
            ready_at: task.ready_at.to_string(),
            attempts: task.spent,
            max_attempts: task.max_attempts,
            holder: task.holder,
            lease_until: task.lease_until.map(|time| time.to_string()),
            reason: task.reason,
        }
    }
}

pub(crate) fn run(command: Queue, context: &Context) -> Outcome {
    let registry = context.registry()?;
    if let Queue::Show { topic: Topic { topic }, .. }
    | Queue::Empty(Topic { topic })
    | Queue::Dead { topic: Some(topic) }
    | Queue::Revive { topic: Topic { topic }, .. } = &command
    {
        check_topic(&registry, topic)?;
    }
    match command {
        Queue::List => list(&registry, context),
        Queue::Show { topic, state } => {
            let states = match state {
                None => vec![TaskState::Ready, TaskState::Delayed, TaskState::Leased, TaskState::Dead],
                Some(state) => vec![state_of(&state)?],
            };
            show(&registry, &[topic.topic], &states, context)
        }
        Queue::Pause(topics) => pause(&registry, topics, true, context),
        Queue::Resume(topics) => pause(&registry, topics, false, context),
        Queue::Empty(topic) => empty(&registry, topic.topic, context),
        Queue::Dead { topic } => {
            let topics = match topic {
                Some(topic) => vec![topic],
                None => counts(&registry)?.into_iter().filter(|one| one.dead > 0).map(|one| one.topic).collect(),
            };
            show(&registry, &topics, &[TaskState::Dead], context)
        }
        Queue::Revive { topic, task } => revive(&registry, topic.topic, task.map(TaskId), context),
        Queue::Delete { task } => delete(&registry, TaskId(task), context),
    }
}

fn state_of(text: &str) -> Result<TaskState, Failure> {
    word(text, "state", &[TaskState::Ready, TaskState::Delayed, TaskState::Leased, TaskState::Dead])
}

fn counts(registry: &Registry) -> Result<Vec<TopicCounts>, Failure> {
    Ok(registry.read(|tx| tasks::counts(tx).map_err(RegistryError::from))?)
}

fn list(registry: &Registry, context: &Context) -> Outcome {
    tell_topics(counts(registry)?, context)
}

fn tell_topics(topics: Vec<TopicCounts>, context: &Context) -> Outcome {
    let mut table =
        context.output.table(&["topic", "ready", "delayed", "leased", "dead", "oldest_ready_seconds", "paused"]);
    for topic in topics {
        table.row(&TopicReport::from(topic))?;
    }
    table.end("there are no tasks")?;
    Ok(Exit::Done)
}

fn show(registry: &Registry, topics: &[String], states: &[TaskState], context: &Context) -> Outcome {
    let mut table = context.output.table(&["task", "topic", "state", "key", "attempts", "reason"]);
    for (topic, state) in topics.iter().flat_map(|topic| states.iter().map(move |state| (topic, *state))) {
        let mut cursor = None;
        loop {
            let page = registry.read(|tx| tasks::list(tx, topic, state, cursor, PAGE).map_err(RegistryError::from))?;
            for task in page.tasks {
                table.row(&TaskReport::from(task))?;
            }
            match page.next {
                Some(next) => cursor = Some(next),
                None => break,
            }
        }
    }
    table.end("there are no such tasks")?;
    Ok(Exit::Done)
}

/// Refuses a topic that neither the program nor the queue knows.
fn check_topic(registry: &Registry, topic: &str) -> Result<(), Failure> {
    let mut known = strongroom_engine::settings::topics();
    known.extend(counts(registry)?.into_iter().map(|one| one.topic));
    if known.iter().any(|one| one == topic) {
        return Ok(());
    }
    Err(Failure::not_found("topic", topic).next(format!("did you mean {}?", near_names(topic, known))))
}

fn pause(registry: &Registry, topics: Topics, paused: bool, context: &Context) -> Outcome {
    let Some(topic) = topics.topic else { return pause_all(registry, paused, context) };
    check_topic(registry, &topic)?;
    if !paused && registry.read(|tx| tasks::are_all_paused(tx).map_err(RegistryError::from))? {
        return Err(Failure::new(Exit::NotAllowed, format!("all topics are paused, {topic} with them"))
            .next("\"strongroom queue resume --all\" resumes them"));
    }
    let name = topic.clone();
    registry.write_and_wake(move |tx| {
        tasks::set_paused(tx, &topic, paused)?;
        Ok::<_, RegistryError>(vec![topic.clone()])
    })?;
    let counted = counts(registry)?.into_iter().find(|one| one.topic == name);
    let counted = counted.unwrap_or(TopicCounts { topic: name, paused, ..TopicCounts::default() });
    context.output.show(&TopicReport::from(counted))?;
    Ok(Exit::Done)
}

fn pause_all(registry: &Registry, paused: bool, context: &Context) -> Outcome {
    registry.write_and_wake(move |tx| {
        tasks::set_all_paused(tx, paused)?;
        Ok::<_, RegistryError>(strongroom_engine::settings::topics())
    })?;
    let mut known = counts(registry)?;
    for topic in strongroom_engine::settings::topics() {
        if known.iter().all(|one| one.topic != topic) {
            known.push(TopicCounts { topic, paused, ..TopicCounts::default() });
        }
    }
    known.sort_by(|one, other| one.topic.cmp(&other.topic));
    tell_topics(known, context)
}

/// The names most like a word, the most similar first.
fn near_names(word: &str, mut names: Vec<String>) -> String {
    let mut near = Vec::new();
    while near.len() < 3
        && let Some(found) = nearest(word, names.iter().map(String::as_str)).map(str::to_owned)
    {
        names.retain(|name| *name != found);
        near.push(found);
    }
    near.join(", ")
}

fn empty(registry: &Registry, topic: String, context: &Context) -> Outcome {
    let mut tasks_deleted = 0;
    loop {
        let name = topic.clone();
        let deleted = registry.write(move |tx| tasks::empty(tx, &name, PAGE).map_err(RegistryError::from))?;
        tasks_deleted += deleted;
        if deleted == 0 {
            break;
        }
    }
    context.output.show(&Affected { topic, tasks: tasks_deleted })?;
    Ok(Exit::Done)
}

fn revive(registry: &Registry, topic: String, task: Option<TaskId>, context: &Context) -> Outcome {
    let (name, who, workflows) = (topic.clone(), Context::who(), registry.workflows());
    let (revived, topics) = registry.write(move |tx| work::revive(tx, workflows.as_ref(), &name, task, &who))?;
    registry.wakeups().notify(topics.iter().map(String::as_str));
    if let (0, Some(task)) = (revived, task) {
        return Err(Failure::not_found("dead task", task).next("\"strongroom queue dead\" shows those there are"));
    }
    context.output.show(&Affected { topic, tasks: revived })?;
    Ok(Exit::Done)
}

fn delete(registry: &Registry, task: TaskId, context: &Context) -> Outcome {
    let record = registry.read(|tx| tasks::show(tx, task).map_err(RegistryError::from))?;
    let deleted = registry.write(move |tx| tasks::delete(tx, task).map_err(RegistryError::from))?;
    match record.filter(|_| deleted) {
        Some(record) => {
            context.output.show(&TaskReport::from(record))?;
            Ok(Exit::Done)
        }
        None => Err(Failure::not_found("task", task)
            .next("\"strongroom queue list\" shows the topics, \"queue show TOPIC\" their tasks")),
    }
}
