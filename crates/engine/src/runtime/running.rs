//! What the tasks that run in this process have read so far: for a command that waits for a work item, without the
//! registry.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use strongroom_digest::Progress;

/// The running tasks of a process, by topic and key, with what each has read.
#[derive(Debug, Default)]
pub struct RunningTasks {
    tasks: Mutex<HashMap<(String, String), Progress>>,
    /// Bytes that tasks which have ended had read.
    ended: AtomicU64,
}

impl RunningTasks {
    fn tasks(&self) -> MutexGuard<'_, HashMap<(String, String), Progress>> {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Bytes that the task of this topic and key has read; none where it does not run here.
    pub fn bytes(&self, topic: &str, key: &str) -> Option<u64> {
        self.tasks().get(&(topic.to_owned(), key.to_owned())).map(Progress::bytes)
    }

    /// Bytes that all tasks of the process have read, also those that have ended.
    pub fn all_bytes(&self) -> u64 {
        let tasks = self.tasks();
        self.ended.load(Ordering::Relaxed) + tasks.values().map(Progress::bytes).sum::<u64>()
    }

    /// A task begins.
    pub(super) fn begin(&self, topic: &str, key: &str) -> Progress {
        let progress = Progress::default();
        self.tasks().insert((topic.to_owned(), key.to_owned()), progress.clone());
        progress
    }

    /// A task has ended.
    pub(super) fn end(&self, topic: &str, key: &str) {
        let mut tasks = self.tasks();
        if let Some(progress) = tasks.remove(&(topic.to_owned(), key.to_owned())) {
            self.ended.fetch_add(progress.bytes(), Ordering::Relaxed);
        }
    }
}
