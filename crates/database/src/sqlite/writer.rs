//! The one thread that writes. It takes the jobs that wait, runs each in a savepoint of one transaction, commits them with
//! one sync, and only then answers. A group is bounded in jobs and in time, so that other processes get their turn.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rusqlite::Connection;

use crate::transaction::describe_panic;
use crate::{DatabaseError, WriteJob};

use super::Shared;
use super::failure::{Act, explain};
use super::lock::WriteLock;
use super::transaction::SqliteTransaction;

/// Jobs in one group at most.
const GROUP_JOBS: usize = 256;
/// No job is added to a group that has run this long.
const GROUP_TIME: Duration = Duration::from_millis(50);

type Outcome = Result<(), DatabaseError>;

struct Job {
    work: WriteJob,
    answer: SyncSender<Outcome>,
}

/// The writer thread, seen from those who have work for it.
pub(super) struct Writer {
    /// Taken when the writer is asked to stop.
    jobs: Option<Sender<Job>>,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    /// Starts the thread, which owns the connection and the lock from here on.
    pub(super) fn start(connection: Connection, lock: WriteLock, shared: Arc<Shared>) -> Result<Self, DatabaseError> {
        let (jobs, pending) = channel();
        let thread = std::thread::Builder::new()
            .name("sqlite-writer".into())
            .spawn(move || WriterThread { connection, lock, shared, pending }.run())
            .map_err(|error| DatabaseError::Unavailable {
                act: "start the writer thread".into(),
                detail: error.to_string(),
            })?;
        Ok(Self { jobs: Some(jobs), thread: Some(thread) })
    }

    /// Runs `work` and returns when its changes are durable, or when it failed and left none.
    pub(super) fn run(&self, work: WriteJob) -> Outcome {
        let (answer, outcome) = sync_channel(1);
        let stopped =
            || DatabaseError::Unavailable { act: "write".into(), detail: "the writer thread has stopped".into() };
        if self.thread.as_ref().is_some_and(|thread| thread.thread().id() == std::thread::current().id()) {
            // It would wait for itself without end.
            return Err(DatabaseError::Aborted("a write transaction was begun within another one".into()));
        }
        let jobs = self.jobs.as_ref().ok_or_else(stopped)?;
        jobs.send(Job { work, answer }).map_err(|_| stopped())?;
        outcome.recv().unwrap_or_else(|_| Err(stopped()))
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            // A panic of the thread was answered to the callers that waited; no caller is left.
            let _ = thread.join();
        }
    }
}

struct WriterThread {
    connection: Connection,
    lock: WriteLock,
    shared: Arc<Shared>,
    pending: Receiver<Job>,
}

impl WriterThread {
    fn run(self) {
        while let Ok(first) = self.pending.recv() {
            self.run_group(first);
        }
    }

    fn run_group(&self, first: Job) {
        let turn = match self.lock.acquire() {
            Ok(turn) => turn,
            Err(error) => return answer(first, Err(error)),
        };
        if let Err(error) = self.control("BEGIN IMMEDIATE", "begin a transaction") {
            drop(turn);
            return answer(first, Err(error));
        }
        let began = Instant::now();
        let mut group = Vec::new();
        let mut next = Some(first);
        while let Some(mut job) = next.take() {
            let outcome = self.run_job(&mut job);
            group.push((job, outcome));
            if self.connection.is_autocommit() {
                // A full disk or an I/O error makes SQLite roll everything back at once.
                drop(turn);
                return answer_all(group, Some("a job of the same group met an error that ended the transaction"));
            }
            let may_grow = group.len() < GROUP_JOBS && began.elapsed() < GROUP_TIME;
            next = if may_grow { self.pending.try_recv().ok() } else { None };
        }
        let committed = self.control("COMMIT", "commit");
        if committed.is_err() && !self.connection.is_autocommit() {
            // Where even this fails, the next BEGIN reports it.
            let _ = self.control("ROLLBACK", "roll back");
        }
        drop(turn);
        let failure = committed.err().map(|error| error.to_string());
        answer_all(group, failure.as_deref());
    }

    fn run_job(&self, job: &mut Job) -> Outcome {
        self.control("SAVEPOINT job", "begin a job")?;
        let mut transaction = SqliteTransaction {
            connection: &self.connection,
            shared: &self.shared,
            now: self.shared.clock.now(),
            reading: false,
        };
        let outcome = catch_unwind(AssertUnwindSafe(|| (job.work)(&mut transaction)))
            .unwrap_or_else(|panic| Err(DatabaseError::Aborted(describe_panic(panic.as_ref()))));
        if self.connection.is_autocommit() {
            return outcome;
        }
        let undone = if outcome.is_err() { self.control("ROLLBACK TO job", "undo a job") } else { Ok(()) };
        let ended = undone.and_then(|()| self.control("RELEASE job", "end a job"));
        if ended.is_err() {
            // What the job did cannot be determined from what others did any more, so nothing of the group is kept.
            let _ = self.control("ROLLBACK", "roll back");
        }
        outcome.and(ended)
    }

    fn control(&self, sql: &str, act: &'static str) -> Outcome {
        self.connection
            .prepare_cached(sql)
            .and_then(|mut statement| statement.raw_execute())
            .map(|_| ())
            .map_err(|error| explain(&self.shared.path, Act::Other(act), &error))
    }
}

/// Answers every job of a group; where the group as a whole failed, nothing of it was kept and all may try again.
fn answer_all(group: Vec<(Job, Outcome)>, failure: Option<&str>) {
    for (job, outcome) in group {
        let outcome = match (outcome, failure) {
            (Ok(()), Some(detail)) => {
                Err(DatabaseError::Unavailable { act: "commit a transaction".into(), detail: detail.to_owned() })
            }
            (outcome, _) => outcome,
        };
        answer(job, outcome);
    }
}

fn answer(job: Job, outcome: Outcome) {
    let Job { work, answer } = job;
    // What the job holds is let go before its caller goes on.
    drop(work);
    // The caller waits for this answer, unless its thread is gone.
    let _ = answer.send(outcome);
}
