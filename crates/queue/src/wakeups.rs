//! Waking those who wait for work, as soon as a transaction that made some has committed: in this process at once, in others
//! by way of the database.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use strongroom_database::Database;

/// The waiting of one process. Share one among everybody who enqueues into and leases from the same queue.
#[derive(Default)]
pub struct Wakeups {
    calls: Mutex<Calls>,
    called: Condvar,
    /// By which other processes are notified; none where there are no others.
    database: Option<Arc<dyn Database>>,
}

#[derive(Debug, Default)]
struct Calls {
    of_topic: HashMap<String, u64>,
    to_everybody: u64,
    interrupts: u64,
}

/// What had been called when a worker began to query for tasks: calls made since then are not missed.
#[derive(Debug, Clone, Copy)]
pub struct Registered {
    calls: u64,
    interrupts: u64,
}

/// Why waiting ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Waited {
    /// There may be work.
    Called,
    /// Everybody is to stop waiting.
    Interrupted,
    /// The deadline has come.
    TimedOut,
}

impl fmt::Debug for Wakeups {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Wakeups").field("calls", &self.calls).finish_non_exhaustive()
    }
}

impl Wakeups {
    /// The waiting of a process whose tasks are kept in `database`, where other processes wait for them too.
    pub fn through(database: Arc<dyn Database>) -> Self {
        Self { database: Some(database), ..Self::default() }
    }

    /// Wakes those who wait for one of these topics. To be called after the commit, not before.
    pub fn notify<'a>(&self, topics: impl IntoIterator<Item = &'a str>) {
        let mut topics = topics.into_iter().peekable();
        if topics.peek().is_none() {
            // There is nothing new for anybody.
            return;
        }
        let mut calls = self.lock();
        for topic in topics {
            match calls.of_topic.get_mut(topic) {
                Some(count) => *count += 1,
                None => {
                    calls.of_topic.insert(topic.to_owned(), 1);
                }
            }
        }
        drop(calls);
        self.called.notify_all();
        self.tell_others();
    }

    /// Wakes those of this process who wait for a topic that no other process has.
    pub fn notify_here(&self, topic: &str) {
        *self.lock().of_topic.entry(topic.to_owned()).or_default() += 1;
        self.called.notify_all();
    }

    /// Wakes everybody to look: something may be ready, in whatever topic.
    pub fn notify_everybody(&self) {
        self.lock().to_everybody += 1;
        self.called.notify_all();
        self.tell_others();
    }

    fn tell_others(&self) {
        if let Some(database) = &self.database {
            database.notify();
        }
    }

    /// Ends everybody's waiting, work or not: to be called when workers are to stop.
    pub fn interrupt(&self) {
        self.lock().interrupts += 1;
        self.called.notify_all();
    }

    /// To be called before looking for work.
    pub fn register(&self, topics: &[String]) -> Registered {
        self.lock().registered(topics)
    }

    /// Waits for a call that came after `since`, until `deadline`.
    pub fn wait(&self, topics: &[String], since: Registered, deadline: Instant) -> Waited {
        let mut calls = self.lock();
        loop {
            let present = calls.registered(topics);
            if present.interrupts != since.interrupts {
                return Waited::Interrupted;
            }
            if present.calls != since.calls {
                return Waited::Called;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Waited::TimedOut;
            }
            calls = self.called.wait_timeout(calls, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Calls> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Calls {
    fn registered(&self, topics: &[String]) -> Registered {
        let of_topics: u64 = topics.iter().filter_map(|topic| self.of_topic.get(topic)).sum();
        Registered { calls: of_topics + self.to_everybody, interrupts: self.interrupts }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_between_registering_and_waiting_is_not_missed() {
        let wakeups = Wakeups::default();
        let topics = ["a".to_owned()];
        let now = Instant::now();
        let since = wakeups.register(&topics);
        assert_eq!(wakeups.wait(&topics, since, now), Waited::TimedOut);
        wakeups.notify(["b"]);
        assert_eq!(wakeups.wait(&topics, since, now), Waited::TimedOut);
        wakeups.notify(["a"]);
        assert_eq!(wakeups.wait(&topics, since, now), Waited::Called);
        let since = wakeups.register(&topics);
        wakeups.interrupt();
        assert_eq!(wakeups.wait(&topics, since, now), Waited::Interrupted);
    }

    #[test]
    fn no_topic_wakes_nobody_and_one_of_this_process_alone_wakes_those_who_wait_for_it() {
        let wakeups = Wakeups::default();
        let topics = ["a".to_owned()];
        let now = Instant::now();
        let since = wakeups.register(&topics);
        wakeups.notify([]);
        wakeups.notify_here("b");
        assert_eq!(wakeups.wait(&topics, since, now), Waited::TimedOut);
        wakeups.notify_here("a");
        assert_eq!(wakeups.wait(&topics, since, now), Waited::Called);
    }
}
