//! The queue kept in a SQL database: each call of [`Queue`] is one of the functions of [`tasks`] in a transaction of its own.

use std::sync::Arc;
use std::time::{Duration, Instant};

use strongroom_database::{Database, Isolation, Transaction};

use crate::tasks::{self, QueueStatus};
use crate::wakeups::Waited;
use crate::{
    Cursor, Enqueued, Heartbeat, Lease, LeaseRequest, Leased, NewTask, Outcome, Page, Queue, QueueError, Settled,
    Settlement, TakenOver, TaskId, TaskRecord, TaskState, TopicCounts, Wakeups,
};

/// Rows touched in one transaction by what may touch many: some 10 ms of other writers' time.
const ROWS_AT_ONCE: usize = 1_000;

/// How often a waiting worker checks for commits of other processes; one check costs microseconds.
const LOOK_INTERVAL: Duration = Duration::from_millis(25);

/// A queue in the database that also keeps the records.
pub struct DatabaseQueue {
    database: Arc<dyn Database>,
    wakeups: Arc<Wakeups>,
}

impl DatabaseQueue {
    /// A queue in `database`, whose schema holds the queue's tables. The caller that enqueues through [`tasks`] in
    /// transactions of their own calls `wakeups` after the commit.
    pub fn new(database: Arc<dyn Database>, wakeups: Arc<Wakeups>) -> Self {
        Self { database, wakeups }
    }

    /// Who is woken by this queue.
    pub fn wakeups(&self) -> &Arc<Wakeups> {
        &self.wakeups
    }

    fn write<T: Send + 'static>(
        &self,
        job: impl FnMut(&mut dyn Transaction) -> Result<T, QueueError> + Send + 'static,
    ) -> Result<T, QueueError> {
        self.database.write_as(Isolation::ReadCommitted, job)
    }

    fn notify_taken(&self, taken: &[TakenOver]) {
        self.wakeups.notify(taken.iter().map(|task| task.topic.as_str()));
    }

    /// Repeats a bounded change until it finds no more to do; how many rows in all.
    fn repeat(
        &self,
        job: impl FnMut(&mut dyn Transaction) -> Result<u64, QueueError> + Send + Clone + 'static,
    ) -> Result<u64, QueueError> {
        let mut all = 0;
        loop {
            let changed = self.write(job.clone())?;
            all += changed;
            if changed < ROWS_AT_ONCE as u64 {
                return Ok(all);
            }
        }
    }
}

impl Queue for DatabaseQueue {
    fn enqueue(&self, tasks: &[NewTask]) -> Result<Vec<Enqueued>, QueueError> {
        let owned = tasks.to_vec();
        let answers = self.write(move |transaction| tasks::enqueue(transaction, &owned))?;
        self.wakeups.notify(tasks.iter().map(|task| task.topic.as_str()));
        Ok(answers)
    }

    fn lease(&self, request: &LeaseRequest) -> Result<Vec<Leased>, QueueError> {
        let request = request.clone();
        self.write(move |transaction| tasks::lease(transaction, &request))
    }

    fn heartbeat(&self, leases: &[Lease], duration: Duration) -> Result<Vec<Heartbeat>, QueueError> {
        let leases = leases.to_vec();
        self.write(move |transaction| tasks::heartbeat(transaction, &leases, duration))
    }

    fn checkpoint(&self, lease: Lease) -> Result<bool, QueueError> {
        self.write(move |transaction| tasks::checkpoint(transaction, lease))
    }

    fn settle(&self, settlements: &[Settlement]) -> Result<Vec<Settled>, QueueError> {
        let owned = settlements.to_vec();
        let answers = self.write(move |transaction| tasks::settle(transaction, &owned))?;
        if settlements.iter().any(|settlement| settlement.outcome != Outcome::Done) {
            self.wakeups.notify_everybody();
        }
        Ok(answers)
    }

    fn take_over_expired(&self, limit: usize) -> Result<Vec<TakenOver>, QueueError> {
        let taken = self.write(move |transaction| tasks::take_over_expired(transaction, limit, &mut any))?;
        self.notify_taken(&taken);
        Ok(taken)
    }

    fn take_over_gone(&self, limit: usize) -> Result<Vec<TakenOver>, QueueError> {
        let holders = self.database.read(|transaction| tasks::holders(transaction))?;
        let mut all = Vec::new();
        for holder in holders.into_iter().filter(crate::WorkerId::is_gone) {
            let left = limit.saturating_sub(all.len());
            let taken = self.write(move |transaction| tasks::take_over_from(transaction, &holder, left, &mut any))?;
            self.notify_taken(&taken);
            all.extend(taken);
        }
        Ok(all)
    }

    fn wait_for_work(&self, topics: &[String], deadline: Instant) -> Result<bool, QueueError> {
        loop {
            let registered = self.wakeups.register(topics);
            let revision = self.database.revision()?;
            let began = Instant::now();
            let (prospect, now) = self
                .database
                .read(|transaction| Ok::<_, QueueError>((tasks::look(transaction, topics)?, transaction.now()?)))?;
            let look_again = match prospect {
                QueueStatus::Work(_) => return Ok(true),
                QueueStatus::Nothing => deadline,
                QueueStatus::At(time) => {
                    let wait = Duration::from_micros(u64::try_from(time.0.saturating_sub(now.0)).unwrap_or(0));
                    began.checked_add(wait).map_or(deadline, |due| due.min(deadline))
                }
            };
            loop {
                let pause = look_again.min(Instant::now() + LOOK_INTERVAL);
                match self.wakeups.wait(topics, registered, pause) {
                    Waited::Called => break,
                    Waited::Interrupted => return Ok(false),
                    Waited::TimedOut if self.database.revision()? != revision => break,
                    Waited::TimedOut => {}
                }
                let present = Instant::now();
                if present >= deadline {
                    return Ok(false);
                }
                if present >= look_again {
                    break;
                }
            }
        }
    }

    fn counts(&self) -> Result<Vec<TopicCounts>, QueueError> {
        self.database.read(|transaction| tasks::counts(transaction))
    }

    fn set_paused(&self, topic: &str, paused: bool) -> Result<(), QueueError> {
        let owned = topic.to_owned();
        self.write(move |transaction| tasks::set_paused(transaction, &owned, paused))?;
        self.wakeups.notify([topic]);
        Ok(())
    }

    fn empty(&self, topic: &str) -> Result<u64, QueueError> {
        let topic = topic.to_owned();
        self.repeat(move |transaction| tasks::empty(transaction, &topic, ROWS_AT_ONCE))
    }

    fn delete(&self, task: TaskId) -> Result<bool, QueueError> {
        self.write(move |transaction| tasks::delete(transaction, task))
    }

    fn delete_key(&self, key: &str) -> Result<u64, QueueError> {
        let key = key.to_owned();
        self.write(move |transaction| tasks::delete_key(transaction, &key))
    }

    fn delete_keys_with_prefix(&self, prefix: &str) -> Result<u64, QueueError> {
        let prefix = prefix.to_owned();
        self.repeat(move |transaction| tasks::delete_keys_with_prefix(transaction, &prefix, ROWS_AT_ONCE))
    }

    fn request_cancel(&self, key: &str) -> Result<u64, QueueError> {
        let key = key.to_owned();
        self.write(move |transaction| tasks::request_cancel(transaction, &key))
    }

    fn retry(&self, task: TaskId) -> Result<bool, QueueError> {
        let retried = self.write(move |transaction| tasks::retry(transaction, task))?;
        self.wakeups.notify_everybody();
        Ok(retried)
    }

    fn retry_topic(&self, topic: &str) -> Result<u64, QueueError> {
        let (mut retried, mut after) = (0, None);
        loop {
            let owned = topic.to_owned();
            let seen = self.write(move |transaction| tasks::retry_topic(transaction, &owned, after, ROWS_AT_ONCE))?;
            retried += seen.iter().filter(|(_, retried)| *retried).count() as u64;
            self.wakeups.notify([topic]);
            let Some((last, _)) = seen.last() else { return Ok(retried) };
            after = Some(*last);
        }
    }

    fn show(&self, task: TaskId) -> Result<Option<TaskRecord>, QueueError> {
        self.database.read(|transaction| tasks::show(transaction, task))
    }

    fn of_key(&self, key: &str) -> Result<Vec<TaskRecord>, QueueError> {
        self.database.read(|transaction| tasks::of_key(transaction, key))
    }

    fn list(&self, topic: &str, state: TaskState, after: Option<Cursor>, limit: usize) -> Result<Page, QueueError> {
        self.database.read(|transaction| tasks::list(transaction, topic, state, after, limit))
    }
}

/// A queue alone keeps no task from being taken over.
#[expect(clippy::unnecessary_wraps, reason = "others may fail")]
fn any(_: &mut dyn Transaction, _: uuid::Uuid) -> Result<bool, QueueError> {
    Ok(true)
}
