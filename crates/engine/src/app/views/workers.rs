//! Schedules: when background tasks run.

use serde::Serialize;

use crate::background::TaskStatus;

/// A schedule.
#[derive(Debug, Clone, Serialize)]
pub struct ScheduleView {
    /// Its name.
    pub schedule: String,
    /// When it last ran to its end.
    pub last_run_at: Option<String>,
    /// When it runs next.
    pub next_run_at: String,
}

impl From<TaskStatus> for ScheduleView {
    fn from(task: TaskStatus) -> Self {
        Self {
            schedule: task.name.to_owned(),
            last_run_at: task.last_run_at.map(|time| time.to_string()),
            next_run_at: task.next_run_at.to_string(),
        }
    }
}
