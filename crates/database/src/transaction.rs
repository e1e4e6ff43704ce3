//! What a transaction is, and the database that runs it.

use crate::{DatabaseError, Row, Statement, Time, Value};

/// A statement with its value lists.
#[derive(Debug, Clone)]
pub struct Asked {
    /// The statement.
    pub statement: Statement,
    /// Its value lists, which do not depend on each other.
    pub lists: Vec<Vec<Value>>,
}

impl Asked {
    /// A statement with one value list.
    pub fn once(statement: Statement, values: Vec<Value>) -> Self {
        Self { statement, lists: vec![values] }
    }
}

/// One open transaction. Every change made through it is kept together or not at all.
pub trait Transaction {
    /// Runs a statement that returns no rows; the number of rows it changed.
    fn execute(&mut self, statement: Statement, values: &[Value]) -> Result<u64, DatabaseError>;

    /// Runs one statement for many value lists (an engine may send them together); the number of rows changed in all.
    fn execute_each(
        &mut self,
        statement: Statement,
        lists: &mut dyn Iterator<Item = Vec<Value>>,
    ) -> Result<u64, DatabaseError>;

    /// Runs one statement for many value lists, which do not depend on each other (an engine may send them together); for
    /// each list, in order, the last row it gave, or none.
    fn query_many(
        &mut self,
        statement: Statement,
        lists: &mut dyn Iterator<Item = Vec<Value>>,
    ) -> Result<Vec<Option<Row>>, DatabaseError> {
        lists.map(|values| Ok(self.query(statement, &values)?.pop())).collect()
    }

    /// Runs a statement and returns all its rows: for answers whose size the caller bounds, by `LIMIT` or by key.
    fn query(&mut self, statement: Statement, values: &[Value]) -> Result<Vec<Row>, DatabaseError> {
        let mut rows = Vec::new();
        self.query_each(statement, values, &mut |row| {
            rows.push(row);
            Ok(())
        })?;
        Ok(rows)
    }

    /// Runs a statement and hands its rows over one by one, with memory that does not grow with their number. An error of
    /// `take` ends it and is returned.
    fn query_each(
        &mut self,
        statement: Statement,
        values: &[Value],
        take: &mut dyn FnMut(Row) -> Result<(), DatabaseError>,
    ) -> Result<(), DatabaseError>;

    /// The first row, or none.
    fn query_one(&mut self, statement: Statement, values: &[Value]) -> Result<Option<Row>, DatabaseError> {
        Ok(self.query(statement, values)?.into_iter().next())
    }

    /// Runs statements one behind the other whose values do not depend on each other's answers (an engine may send them
    /// together); of each, as [`Self::query_many`], the last row that each of its value lists gave, or none. Where one fails, those
    /// behind it change nothing.
    fn query_together(&mut self, asked: &[Asked]) -> Result<Vec<Vec<Option<Row>>>, DatabaseError> {
        asked.iter().map(|one| self.query_many(one.statement, &mut one.lists.iter().cloned())).collect()
    }

    /// The time of this transaction where it is known without asking the server; the statement goes by the server's own otherwise.
    fn known_now(&mut self) -> Result<Option<Time>, DatabaseError> {
        self.now().map(Some)
    }

    /// The time of this transaction: the database's own clock in PostgreSQL, the injected one in SQLite.
    fn now(&mut self) -> Result<Time, DatabaseError>;

    /// Whether no other write transaction runs at the same time, so that what was looked up stays as it is until the end.
    fn runs_alone(&self) -> bool;
}

/// How a write transaction is kept apart from those that run at the same time. SQLite runs one after another in any case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Isolation {
    /// As if it ran alone: where that cannot be, it is undone and run again.
    Serial,
    /// Each statement sees what others have kept by then. Only for jobs that lock the rows they decide by, or decide and
    /// change in one statement; where many want the same rows, they wait or pass by instead of starting over.
    ReadCommitted,
}

/// What a write transaction runs. It may be called again where the first run was undone.
pub type WriteJob = Box<dyn FnMut(&mut dyn Transaction) -> Result<(), DatabaseError> + Send>;

/// A database: one engine behind the port. Calls block. All methods may be called from many threads. A job may be run
/// more than once (a serialisation conflict), so it acts through its transaction only.
pub trait Database: Send + Sync {
    /// Runs `job` in a write transaction and returns when it is durable. An error of the job rolls everything back. The
    /// engine may commit several callers' jobs together; each job still succeeds or fails by itself.
    fn write_job(&self, job: WriteJob, isolation: Isolation) -> Result<(), DatabaseError>;

    /// As [`Self::write_job`], for a job that takes or extends leases and does little else: it does not wait for the
    /// connections that other work has in use, and not long for rows. SQLite runs it with the next group, as every job.
    fn write_lease_job(&self, job: WriteJob, isolation: Isolation) -> Result<(), DatabaseError> {
        self.write_job(job, isolation)
    }

    /// Runs `job` in a read transaction: one consistent state.
    fn read_job(
        &self,
        job: &mut dyn FnMut(&mut dyn Transaction) -> Result<(), DatabaseError>,
    ) -> Result<(), DatabaseError>;

    /// The dialect's folder name: `sqlite` or `postgres`.
    fn dialect(&self) -> &'static str;

    /// Whether write transactions run one after another, and are made durable together by the engine itself.
    fn writes_alone(&self) -> bool {
        true
    }

    /// A number that changes when anybody, in whatever process, may have made work; cheap enough to ask for forty times a
    /// second. It is compared for equality only. SQLite's changes with every commit, PostgreSQL's when [`Self::notify`] was
    /// called, and every second for those who were not heard.
    fn revision(&self) -> Result<u64, DatabaseError>;

    /// Notifies those who wait in other processes, where they do not see it by themselves. To be called after the
    /// commit, and outside of transactions; calls that come close together are heard as one.
    fn notify(&self) {}
}

impl dyn Database + '_ {
    /// Runs `job` in a write transaction that is as good as alone; its value, once durable. `E` is the caller's own error;
    /// any error rolls back.
    pub fn write<T, E, F>(&self, job: F) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<DatabaseError> + Send + 'static,
        F: FnMut(&mut dyn Transaction) -> Result<T, E> + Send + 'static,
    {
        self.write_as(Isolation::Serial, job)
    }

    /// As `write`, kept apart from others as `isolation` says.
    pub fn write_as<T, E, F>(&self, isolation: Isolation, job: F) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<DatabaseError> + Send + 'static,
        F: FnMut(&mut dyn Transaction) -> Result<T, E> + Send + 'static,
    {
        Self::answered(job, |job| self.write_job(job, isolation))
    }

    /// As `write_as`, for a job that takes or extends leases; see [`Database::write_lease_job`].
    pub fn write_lease<T, E, F>(&self, isolation: Isolation, job: F) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<DatabaseError> + Send + 'static,
        F: FnMut(&mut dyn Transaction) -> Result<T, E> + Send + 'static,
    {
        Self::answered(job, |job| self.write_lease_job(job, isolation))
    }

    /// Has `run` run `job`; the job's value.
    fn answered<T, E, F>(mut job: F, run: impl FnOnce(WriteJob) -> Result<(), DatabaseError>) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<DatabaseError> + Send + 'static,
        F: FnMut(&mut dyn Transaction) -> Result<T, E> + Send + 'static,
    {
        let answer = std::sync::Arc::new(std::sync::Mutex::new(None));
        let slot = answer.clone();
        let job: WriteJob = Box::new(move |transaction| {
            let result = job(transaction);
            let failed = result.is_err();
            *slot.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Some(result);
            if failed { Err(DatabaseError::Aborted("the job failed".into())) } else { Ok(()) }
        });
        let outcome = run(job);
        let result = answer.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take();
        match (outcome, result) {
            // The job's own error says more than the abort it caused.
            (Err(_), Some(Err(own))) => Err(own),
            (Err(error), _) => Err(error.into()),
            (Ok(()), Some(result)) => result,
            (Ok(()), None) => Err(DatabaseError::Unavailable {
                act: "run a transaction".into(),
                detail: "the engine reported success without running it".into(),
            }
            .into()),
        }
    }

    /// Runs `job` in a read transaction; its value.
    pub fn read<T, E, F>(&self, mut job: F) -> Result<T, E>
    where
        E: From<DatabaseError>,
        F: FnMut(&mut dyn Transaction) -> Result<T, E>,
    {
        let mut answer = None;
        self.read_job(&mut |transaction| {
            answer = Some(job(transaction));
            Ok(())
        })?;
        answer.unwrap_or_else(|| {
            Err(DatabaseError::Unavailable {
                act: "run a transaction".into(),
                detail: "the engine reported success without running it".into(),
            }
            .into())
        })
    }
}

/// The error of a job that panicked.
pub(crate) fn describe_panic(panic: &(dyn std::any::Any + Send)) -> String {
    let message = panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message");
    format!("the job panicked: {message}")
}
