//! Background tasks as `schedule --once` lists them.

use serde::Serialize;

use super::BackgroundTaskView;
use crate::background::TaskStatus;

/// A background task, with its name also under the key that scripts have read since before tasks had results.
#[derive(Debug, Clone, Serialize)]
pub struct ScheduleView {
    /// The name of the task.
    pub schedule: String,
    /// The task with its last run, its result, and its next run.
    #[serde(flatten)]
    pub task: BackgroundTaskView,
}

impl From<TaskStatus> for ScheduleView {
    fn from(task: TaskStatus) -> Self {
        Self { schedule: task.name.to_owned(), task: task.into() }
    }
}
