//! Background tasks and their runs.

use std::time::Duration;

use serde::Serialize;

use crate::background::TaskStatus;

/// A background task. Times of runs are those of the last one; `result` is that of the last run that ended well.
#[derive(Debug, Clone, Serialize)]
pub struct BackgroundTaskView {
    /// Its name.
    pub task: String,
    /// How long after the end of a run the next one begins.
    pub every_seconds: f64,
    /// When its last run started; that run may still be under way.
    pub last_started_at: Option<String>,
    /// How long the last run that ended took.
    pub last_elapsed_seconds: Option<f64>,
    /// When it last ran to its end.
    pub last_run_at: Option<String>,
    /// What the last run did that ended well, in words.
    pub result: Option<String>,
    /// Why the last run failed; none where it ended well.
    pub error: Option<String>,
    /// Since when runs have failed.
    pub error_since: Option<String>,
    /// When the next run is due.
    pub next_run_at: String,
    /// Who runs it now.
    pub holder: Option<String>,
}

/// A run that was asked for.
#[derive(Debug, Clone, Serialize)]
pub struct BackgroundRunView {
    /// The task.
    pub task: String,
    /// What it did, in words.
    pub result: String,
    /// How long it took.
    pub elapsed_seconds: f64,
}

impl BackgroundRunView {
    pub(crate) fn new(task: &str, result: String, elapsed: Duration) -> Self {
        Self { task: task.to_owned(), result, elapsed_seconds: seconds(elapsed) }
    }
}

impl From<TaskStatus> for BackgroundTaskView {
    fn from(task: TaskStatus) -> Self {
        Self {
            task: task.name.to_owned(),
            every_seconds: seconds(task.every),
            last_started_at: task.last_started_at.map(|time| time.to_string()),
            last_elapsed_seconds: task.last_elapsed.map(seconds),
            last_run_at: task.last_run_at.map(|time| time.to_string()),
            result: task.result,
            error: task.error,
            error_since: task.error_since.map(|time| time.to_string()),
            next_run_at: task.next_run_at.to_string(),
            holder: task.holder,
        }
    }
}

/// Seconds with three digits behind the point.
fn seconds(span: Duration) -> f64 {
    Duration::from_millis(u64::try_from(span.as_millis()).unwrap_or(u64::MAX)).as_secs_f64()
}
