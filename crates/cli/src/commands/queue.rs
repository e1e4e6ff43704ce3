//! `queue`: the task queue, topic by topic.

use clap::{Args, Subcommand};
use strongroom_engine::app::views::{TaskId, TaskState, TaskView, TopicView};
use strongroom_engine::app::{self, OpContext, queues};

use super::values::word;
use crate::context::Context;
use crate::failure::{Exit, Failure, Outcome};
use crate::output::{ListOptions, minute};

/// Show and control the task queue
#[derive(Debug, Subcommand)]
pub(crate) enum Queue {
    /// Count the tasks of each topic
    List(ListOptions),
    /// List the tasks of a topic
    Show {
        #[command(flatten)]
        topic: Topic,
        /// Only this state: ready, delayed, leased or dead
        #[arg(long)]
        state: Option<String>,
        #[command(flatten)]
        options: ListOptions,
    },
    /// Pause a topic, or all topics: workers lease no more of their tasks
    Pause(Topics),
    /// Resume a topic, or all topics
    Resume(Topics),
    /// Delete the waiting tasks of a topic
    ///
    /// A work item whose task is deleted gets a new one; "items hold" or "items cancel" stops it.
    Empty(Topic),
    /// List the dead tasks of a topic, or of all
    Dead {
        /// The topic, such as ingest.fetch
        topic: Option<String>,
        #[command(flatten)]
        options: ListOptions,
    },
    /// Put dead tasks of a topic back into its queue: one, or all
    #[command(alias = "revive")]
    Retry {
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
    /// All topics, including those that are made later
    #[arg(long)]
    all: bool,
}

pub(crate) fn run(command: Queue, context: &Context) -> Outcome {
    let call = context.call()?;
    match command {
        Queue::List(options) => tell_topics(queues::list(&call)?, &options, context),
        Queue::Show { topic, state, options } => {
            let state = state.as_deref().map(state_of).transpose()?;
            show(&call, Some(&topic.topic), state, &options, context)
        }
        Queue::Pause(Topics { topic: Some(topic), .. }) => tell_topic(&queues::pause(&call, &topic)?, context),
        Queue::Pause(_) => tell_topics(queues::pause_all(&call)?, &ListOptions::default(), context),
        Queue::Resume(Topics { topic: Some(topic), .. }) => tell_topic(&queues::resume(&call, &topic)?, context),
        Queue::Resume(_) => tell_topics(queues::resume_all(&call)?, &ListOptions::default(), context),
        Queue::Empty(Topic { topic }) => {
            context.output.show(&queues::empty(&call, &topic)?)?;
            Ok(Exit::Done)
        }
        Queue::Dead { topic, options } => show(&call, topic.as_deref(), Some(TaskState::Dead), &options, context),
        Queue::Retry { topic, task } => {
            context.output.show(&queues::retry(&call, &topic.topic, task.map(TaskId))?)?;
            Ok(Exit::Done)
        }
        Queue::Delete { task } => {
            context.output.show(&queues::delete(&call, TaskId(task))?)?;
            Ok(Exit::Done)
        }
    }
}

fn state_of(text: &str) -> Result<TaskState, Failure> {
    word(text, "state", &[TaskState::Ready, TaskState::Delayed, TaskState::Leased, TaskState::Dead])
}

fn tell_topic(topic: &TopicView, context: &Context) -> Outcome {
    context.output.show(topic)?;
    Ok(Exit::Done)
}

fn tell_topics(topics: Vec<TopicView>, options: &ListOptions, context: &Context) -> Outcome {
    let columns = ["topic", "ready", "delayed", "leased", "dead", "oldest_ready_seconds", "paused"];
    let mut table = context.output.table(&columns).with::<TopicView>(options.table);
    for topic in options.of(topics) {
        table.row(&topic)?;
    }
    table.end("there are no tasks")?;
    Ok(Exit::Done)
}

fn show(
    call: &OpContext,
    topic: Option<&str>,
    state: Option<TaskState>,
    options: &ListOptions,
    context: &Context,
) -> Outcome {
    let columns = ["task", "topic", "state", "key", "attempts", "reason"];
    let mut table = context.output.table(&columns).with::<TaskView>(options.table).wrapping().in_full(&[
        "task",
        "topic",
        "state",
        "key",
        "priority",
        "ready_at",
        "attempts",
        "max_attempts",
        "holder",
        "lease_until",
        "reason",
    ]);
    let page = |after| queues::tasks(call, topic, state, after);
    app::arranged(options.oldest_first(), page, |task| match lease_of(&task) {
        Some(lease) => table.row_with(&task, &[("reason", lease)]),
        None => table.row(&task),
    })?;
    table.end("there are no such tasks")?;
    Ok(Exit::Done)
}

/// Who has a task, until when, and what happens where that process is gone.
fn lease_of(task: &TaskView) -> Option<String> {
    let (holder, until) = (task.holder.as_ref()?, minute(task.lease_until.as_ref()?));
    Some(format!("{holder} has it until {until}; unless that process extends its lease, other workers take it then"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_that_is_leased_says_who_has_it_and_when_it_can_be_taken_again() {
        let task = TaskView {
            task: TaskId(1),
            topic: "ingest.fetch".to_owned(),
            key: "item".to_owned(),
            state: TaskState::Leased,
            priority: 0,
            ready_at: "2026-11-24T19:00:00Z".to_owned(),
            attempts: 0,
            max_attempts: None,
            holder: Some("machine/12/3".to_owned()),
            lease_until: Some("2026-11-24T19:02:00Z".to_owned()),
            reason: None,
        };
        let said = lease_of(&task).unwrap_or_default();
        assert!(said.starts_with("machine/12/3 has it until 2026-11-24 "), "{said}");
        assert!(said.ends_with("; unless that process extends its lease, other workers take it then"), "{said}");
        assert_eq!(lease_of(&TaskView { holder: None, lease_until: None, ..task }), None);
    }
}
