//! What the dispatcher waits for: work in its topics, the end of a task, a request to stop. It registers before it reads the
//! queue, so that nothing between the two is missed.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use strongroom_queue::{Registered, Waited, Wakeups};

/// Distinguishes the runtimes of one process.
static RUNTIMES: AtomicU64 = AtomicU64::new(0);

/// The longest wait; it keeps sums of times from overflowing.
const LONGEST: Duration = Duration::from_hours(24);

/// A registration with the wake-ups of the queue, with a topic of its own for what the runtime itself signals.
#[derive(Debug)]
pub(super) struct Notifier {
    wakeups: Arc<Wakeups>,
    /// The topics served, and the own one last.
    topics: Vec<String>,
    own: String,
}

impl Notifier {
    pub(super) fn new(wakeups: Arc<Wakeups>, mut topics: Vec<String>) -> Self {
        // No topic of the queue has a control character in its name.
        let own = format!("\u{1}runtime {}", RUNTIMES.fetch_add(1, Ordering::Relaxed));
        topics.push(own.clone());
        Self { wakeups, topics, own }
    }

    /// Wakes the dispatcher.
    pub(super) fn notify(&self) {
        self.wakeups.notify_here(&self.own);
    }

    /// Call it before reading what the wait is for.
    pub(super) fn listen(&self) -> Registered {
        self.wakeups.register(&self.topics)
    }

    /// Waits for a notification after `listening`, at most for `at_most`; whether there was one.
    pub(super) fn wait(&self, listening: Registered, at_most: Duration) -> bool {
        let deadline = Instant::now() + at_most.min(LONGEST);
        self.wakeups.wait(&self.topics, listening, deadline) != Waited::TimedOut
    }
}

/// The end of a run, for the threads that do something every few seconds.
#[derive(Debug, Default)]
pub(super) struct Over {
    over: Mutex<bool>,
    declared: Condvar,
}

impl Over {
    pub(super) fn declare(&self) {
        *self.over.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.declared.notify_all();
    }

    /// Sleeps for `duration`, or until the end; whether the end has come.
    pub(super) fn sleep(&self, duration: Duration) -> bool {
        let guard = self.over.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.declared.wait_timeout_while(guard, duration, |over| !*over);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }
}
