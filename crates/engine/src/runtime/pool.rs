//! The threads and slots of one topic: tasks wait here for a thread, and threads for tasks. A pool never holds more than its
//! workers and its buffer.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use strongroom_registry::work::Assignment;

use super::held::Held;
use super::{Handler, PoolSettings};

/// A task to be done.
#[derive(Debug)]
pub(super) struct Work {
    pub(super) assignment: Assignment,
    pub(super) held: Arc<Held>,
}

#[derive(Default)]
struct State {
    /// Held and not begun.
    waiting: VecDeque<Work>,
    /// Being worked on.
    running: usize,
    /// Slots kept for tasks that a transaction under way may lease.
    reserved: usize,
    threads: usize,
    idle: usize,
    closed: bool,
}

/// One topic's share of this process.
pub(super) struct Pool {
    pub(super) topic: String,
    pub(super) settings: Arc<PoolSettings>,
    pub(super) handler: Arc<dyn Handler>,
    state: Mutex<State>,
    changed: Condvar,
}

impl Pool {
    pub(super) fn new(handler: Arc<dyn Handler>, settings: PoolSettings) -> Self {
        Self {
            topic: handler.topic().to_owned(),
            settings: Arc::new(settings),
            handler,
            state: Mutex::default(),
            changed: Condvar::new(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Slots that are free right now.
    pub(super) fn free(&self) -> usize {
        self.free_of(&self.state())
    }

    fn free_of(&self, state: &State) -> usize {
        if state.closed {
            return 0;
        }
        let used = state.waiting.len() + state.running + state.reserved;
        self.settings.workers.saturating_add(self.settings.buffer).saturating_sub(used)
    }

    /// Keeps up to `limit` free slots for tasks about to be leased; how many. Each is used or given up by [`Self::fill`].
    pub(super) fn reserve(&self, limit: usize) -> usize {
        let mut state = self.state();
        let granted = self.free_of(&state).min(limit);
        state.reserved += granted;
        granted
    }

    /// Keeps the slot of a running task that is about to end for the one that follows it; how many slots that is.
    pub(super) fn reserve_own(&self) -> usize {
        let mut state = self.state();
        let granted = usize::from(!state.closed);
        state.reserved += granted;
        granted
    }

    /// Gives up `reserved` slots and puts `work` into them. Where the pool is closed, or has no thread and cannot start
    /// one with `start`, the work comes back.
    pub(super) fn fill(&self, reserved: usize, work: Vec<Work>, start: &dyn Fn() -> bool) -> Vec<Work> {
        let mut state = self.state();
        state.reserved = state.reserved.saturating_sub(reserved);
        if state.closed {
            return work;
        }
        for one in work {
            state.waiting.push_back(one);
            self.changed.notify_one();
        }
        while state.idle < state.waiting.len() && state.threads < self.settings.workers {
            // Counted before it runs, or the next caller would start it a second time.
            state.threads += 1;
            state.idle += 1;
            if !start() {
                state.threads -= 1;
                state.idle -= 1;
                break;
            }
        }
        if state.threads == 0 { state.waiting.drain(..).collect() } else { Vec::new() }
    }

    /// The next task for a thread, when there is one; none when the pool is closed. A thread counts as idle before it
    /// calls this first, and afterwards only while it waits here.
    pub(super) fn next(&self) -> Option<Work> {
        let mut state = self.state();
        loop {
            if let Some(work) = state.waiting.pop_front() {
                state.idle = state.idle.saturating_sub(1);
                state.running += 1;
                return Some(work);
            }
            if state.closed {
                state.idle = state.idle.saturating_sub(1);
                state.threads = state.threads.saturating_sub(1);
                return None;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// A task ended; its thread is idle again.
    pub(super) fn ended(&self) {
        let mut state = self.state();
        state.running = state.running.saturating_sub(1);
        state.idle += 1;
    }

    /// Takes no more work and lets idle threads go; what was not begun.
    pub(super) fn close(&self) -> Vec<Work> {
        let mut state = self.state();
        state.closed = true;
        self.changed.notify_all();
        state.waiting.drain(..).collect()
    }

    /// Tasks being worked on.
    pub(super) fn running(&self) -> usize {
        self.state().running
    }
}
