//! Topics and tasks.

use serde::Serialize;
use strongroom_queue::{TaskId, TaskRecord, TaskState, TopicCounts};

/// A topic.
#[derive(Debug, Clone, Serialize)]
pub struct TopicView {
    /// Its name.
    pub topic: String,
    /// Tasks that can be taken.
    pub ready: u64,
    /// Tasks that wait for a time.
    pub delayed: u64,
    /// Tasks that workers have.
    pub leased: u64,
    /// Tasks whose attempts are spent.
    pub dead: u64,
    /// How long the oldest ready task waits.
    pub oldest_ready_seconds: Option<u64>,
    /// Whether its tasks are not handed out.
    pub paused: bool,
}

impl From<TopicCounts> for TopicView {
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

/// A task.
#[derive(Debug, Clone, Serialize)]
pub struct TaskView {
    /// Its number.
    pub task: TaskId,
    /// Its topic.
    pub topic: String,
    /// What it is about: for a stage, the work item.
    pub key: String,
    /// Where it is.
    pub state: TaskState,
    /// Lower is sooner.
    pub priority: i32,
    /// When it can be taken.
    pub ready_at: String,
    /// Attempts that were spent.
    pub attempts: u32,
    /// Attempts it has; none where the settings of the workers say.
    pub max_attempts: Option<u32>,
    /// Who has it.
    pub holder: Option<String>,
    /// Until when.
    pub lease_until: Option<String>,
    /// Why it is where it is.
    pub reason: Option<String>,
}

impl From<TaskRecord> for TaskView {
    fn from(task: TaskRecord) -> Self {
        Self {
            task: task.task,
            topic: task.topic,
            key: task.key,
            state: task.state,
            priority: task.priority,
            ready_at: task.ready_at.to_string(),
            attempts: task.spent,
            max_attempts: Some(task.max_attempts).filter(|most| *most != u32::MAX),
            holder: task.holder,
            lease_until: task.lease_until.map(|time| time.to_string()),
            reason: task.reason,
        }
    }
}

/// How many tasks of a topic something happened to.
#[derive(Debug, Clone, Serialize)]
pub struct AffectedTasksView {
    /// The topic.
    pub topic: String,
    /// How many.
    pub tasks: u64,
}
