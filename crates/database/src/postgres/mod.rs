//! The engine for many machines: a PostgreSQL server, 15 or later. Transactions run on their callers' threads, each on a
//! connection borrowed from a bounded pool. What was undone through no fault of its own (others changed the same rows,
//! the server went away) is run again for a while; decision 11 has the reasons.

mod address;
pub(crate) mod bare;
mod client;
mod commit;
mod connection;
mod failure;
mod notifier;
mod pool;
mod schema;
mod tls;
mod transaction;
mod values;

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::clock::SteadyTime;
use crate::migration::OlderSchema;
use crate::transaction::describe_panic;
use crate::{
    Clock, Database, DatabaseError, Isolation, Migration, Statement, Statements, Time, Transaction, Upgraded, WriteJob,
};

use address::Address;
use commit::{CommitStatus, Trace, commit_status};
use connection::Connection;
use failure::{Act, ErrorClass, explain, trouble};
use notifier::Notifier;
use pool::{Borrowed, Pool, Refusal, Use};
use transaction::{Begun, PostgresTransaction};

/// How a program uses its server.
#[derive(Clone)]
pub struct PostgresSettings {
    /// Connections at once at most, but for two more that are for leases alone and one that listens for work.
    pub connections: usize,
    /// How long to wait for one of them when all are in use.
    pub connection_wait: Duration,
    /// How long a transaction is tried again that others or the server undid.
    pub patience: Duration,
    /// The password, where it does not stand in the URL.
    pub password: Option<String>,
    /// A clock to go by instead of the server's, for tests.
    pub clock: Option<Arc<dyn Clock>>,
}

impl Default for PostgresSettings {
    fn default() -> Self {
        Self {
            connections: 10,
            connection_wait: Duration::from_secs(10),
            patience: Duration::from_secs(30),
            password: None,
            clock: None,
        }
    }
}

/// What every thread that uses one database shares.
struct Shared {
    pool: Pool,
    statements: Statements,
    clock: Option<Arc<dyn Clock>>,
    /// Keeps small differences between connections out of the times of this process.
    steady: SteadyTime,
    patience: Duration,
}

/// One PostgreSQL database.
///
/// A write that returned is as durable as the server's `synchronous_commit` makes it, which is never off.
pub struct Postgres {
    shared: Arc<Shared>,
    notifier: Notifier,
}

/// How long a transaction that extends leases is tried again: others can be extended without the rows it waits for.
const LEASE_PATIENCE: Duration = Duration::from_secs(3);
/// How long such a transaction waits for a row.
const LEASE_LOCKS: &str = "SET LOCAL lock_timeout = '1s';";

/// How one attempt at a transaction ended.
enum Attempt {
    /// For good.
    Over(Result<(), DatabaseError>),
    /// Undone through no fault of the job; with the error to tell where there is no time for another.
    Undone(ErrorClass, DatabaseError),
}

impl Postgres {
    /// Connects to the database at `url` (`postgres://user:password@host:port/database?...`, libpq's form) and brings its
    /// schema up to the last of `migrations`. Tables are made in the first existing schema of the search path.
    ///
    /// # Errors
    /// [`DatabaseError::Schema`] where the URL is none, the database is missing or not fit for us, or the schema is another
    /// program's or a newer one; [`DatabaseError::Permission`] where the server does not let us in or make tables;
    /// [`DatabaseError::Unavailable`] where it does not answer.
    pub fn open(
        url: &str,
        settings: PostgresSettings,
        statements: Statements,
        migrations: &[Migration],
    ) -> Result<Self, DatabaseError> {
        Self::open_as(url, settings, statements, migrations, OlderSchema::Migrate)
    }

    /// As [`Self::open`], where the schema is not older than the last of `migrations`.
    ///
    /// # Errors
    /// [`DatabaseError::OlderSchema`] besides, where it is.
    pub fn open_current(
        url: &str,
        settings: PostgresSettings,
        statements: Statements,
        migrations: &[Migration],
    ) -> Result<Self, DatabaseError> {
        Self::open_as(url, settings, statements, migrations, OlderSchema::Refuse)
    }

    /// Brings the schema of the database at `url` up to the last of `migrations`. Others that do so wait meanwhile.
    pub fn upgrade(
        url: &str,
        settings: &PostgresSettings,
        migrations: &[Migration],
    ) -> Result<Upgraded, DatabaseError> {
        let address = Address::parse(url, settings.password.as_deref())?;
        let connector = tls::connector(&address)?;
        let mut connection = Connection::open(&address, &connector)?;
        schema::migrate(&mut connection, &address.shown, migrations, OlderSchema::Migrate)
    }

    fn open_as(
        url: &str,
        settings: PostgresSettings,
        statements: Statements,
        migrations: &[Migration],
        older: OlderSchema,
    ) -> Result<Self, DatabaseError> {
        let address = Address::parse(url, settings.password.as_deref())?;
        let connector = tls::connector(&address)?;
        schema::migrate(&mut Connection::open(&address, &connector)?, &address.shown, migrations, older)?;
        let shared = Arc::new(Shared {
            pool: Pool::new(address, connector, settings.connections, settings.connection_wait),
            statements,
            clock: settings.clock,
            steady: SteadyTime::new(),
            patience: settings.patience,
        });
        Ok(Self { notifier: Notifier::new(shared.clone()), shared })
    }

    /// Whether the database at `url` holds a schema of ours. Nothing is made or changed.
    pub fn exists(url: &str, settings: &PostgresSettings) -> Result<bool, DatabaseError> {
        let address = Address::parse(url, settings.password.as_deref())?;
        let connector = tls::connector(&address)?;
        Ok(schema::version(&mut Connection::open(&address, &connector)?, &address.shown)? > 0)
    }

    /// An address without its password.
    pub fn shown(url: &str, settings: &PostgresSettings) -> String {
        let address = Address::parse(url, settings.password.as_deref());
        address.map_or_else(|_| "postgres://...".to_owned(), |address| address.shown)
    }

    /// The address, without its password.
    pub fn address(&self) -> &str {
        &self.shared.pool.address.shown
    }

    /// Prepares every statement against the schema and names the first that does not fit: for tests, so that a misspelt
    /// column is found without running the statement. The columns that each answers, by the statement's name.
    pub fn check_statements(&self) -> Result<BTreeMap<&'static str, Vec<String>>, DatabaseError> {
        let names: BTreeSet<&'static str> = self.shared.statements.names().collect();
        let mut borrowed = self.shared.pool.borrow(Use::Any).map_err(Refusal::into_error)?;
        names
            .into_iter()
            .map(|name| {
                let prepared = borrowed
                    .get()?
                    .prepared(&self.shared.statements, Statement(name))?
                    .map_err(|error| explain(self.address(), Act::Statement(name), &error))?;
                Ok((name, prepared.statement.columns().iter().map(|column| column.name().to_owned()).collect()))
            })
            .collect()
    }

    /// Runs attempts until one is over or patience is.
    fn retry(&self, purpose: Use, attempt: &mut dyn FnMut(u32) -> Attempt) -> Result<(), DatabaseError> {
        let patience = match purpose {
            Use::Any => self.shared.patience,
            Use::Leases => self.shared.patience.min(LEASE_PATIENCE),
        };
        let began = Instant::now();
        let mut undone = 0;
        loop {
            let (trouble, error) = match attempt(undone) {
                Attempt::Over(outcome) => return outcome,
                Attempt::Undone(trouble, error) => (trouble, error),
            };
            undone += 1;
            let pause = match trouble {
                ErrorClass::Conflict | ErrorClass::Duplicate => jitter(Duration::from_millis(1 << undone.min(7))),
                ErrorClass::Lost => Duration::from_millis(50) * undone.min(20),
            };
            if began.elapsed() + pause > patience {
                return Err(error);
            }
            std::thread::sleep(pause);
        }
    }

    /// Borrows a connection.
    fn borrow(&self, purpose: Use) -> Result<Borrowed<'_>, Attempt> {
        self.shared.pool.borrow(purpose).map_err(|refusal| match refusal {
            Refusal::Lost(error) => Attempt::Undone(ErrorClass::Lost, error),
            Refusal::Final(error) => Attempt::Over(Err(error)),
        })
    }

    fn attempt_write(&self, job: &mut WriteJob, isolation: Isolation, purpose: Use, undone: u32) -> Attempt {
        let level = match isolation {
            Isolation::Serial => "SERIALIZABLE",
            Isolation::ReadCommitted => "READ COMMITTED",
        };
        let locks = if purpose == Use::Leases { LEASE_LOCKS } else { "" };
        let begin = format!("BEGIN ISOLATION LEVEL {level} READ WRITE; {locks} SELECT pg_current_xact_id(), {NOW}");
        let mut borrowed = match self.borrow(purpose) {
            Ok(borrowed) => borrowed,
            Err(attempt) => return attempt,
        };
        let connection = match borrowed.get() {
            Ok(connection) => connection,
            Err(error) => return Attempt::Over(Err(error)),
        };
        let server_epoch = connection.server_epoch.clone();
        let mut transaction = self.shared.transaction(connection, begin);
        let outcome = catch_unwind(AssertUnwindSafe(|| job(&mut transaction)))
            .unwrap_or_else(|panic| Err(DatabaseError::Aborted(describe_panic(panic.as_ref()))));
        let (trouble, failure) = (transaction.trouble, transaction.failure.take());
        match (outcome, failure, transaction.begun) {
            // Nothing was asked of the server.
            (outcome, None, Begun::No(_)) => Attempt::Over(outcome),
            (Ok(()), None, Begun::Yes(answer)) => {
                let id = answer.into_iter().next().flatten().unwrap_or_default();
                self.commit(borrowed, &Trace { id, server_epoch })
            }
            (outcome, failure, _) => {
                // The server keeps nothing of a transaction in which a statement failed, whatever its job makes of it.
                let error = match outcome {
                    Err(error) => error,
                    Ok(()) => DatabaseError::Aborted(failure.unwrap_or_default()),
                };
                self.give_up(borrowed, trouble);
                match trouble {
                    None => Attempt::Over(Err(error)),
                    // Twice the same key is no coincidence.
                    Some(ErrorClass::Duplicate) if undone > 0 => Attempt::Over(Err(error)),
                    Some(trouble) => Attempt::Undone(trouble, error),
                }
            }
        }
    }

    fn attempt_read(&self, job: &mut dyn FnMut(&mut dyn Transaction) -> Result<(), DatabaseError>) -> Attempt {
        let mut borrowed = match self.borrow(Use::Any) {
            Ok(borrowed) => borrowed,
            Err(attempt) => return attempt,
        };
        let connection = match borrowed.get() {
            Ok(connection) => connection,
            Err(error) => return Attempt::Over(Err(error)),
        };
        // Most reads have no use for the time: it is asked for where one does.
        let begin = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";
        let mut transaction = self.shared.transaction(connection, begin.to_owned());
        let outcome = job(&mut transaction);
        let (trouble, failure) = (transaction.trouble, transaction.failure.take());
        let has_succeeded = transaction.has_succeeded;
        if !matches!(transaction.begun, Begun::No(_)) || failure.is_some() {
            self.end_read(borrowed, failure.is_some(), trouble);
        }
        match (trouble, failure) {
            // Rows may have been handed over only where a statement has succeeded.
            (Some(ErrorClass::Lost), Some(failure)) if !has_succeeded => {
                Attempt::Undone(ErrorClass::Lost, DatabaseError::Unavailable { act: "read".into(), detail: failure })
            }
            _ => Attempt::Over(outcome),
        }
    }

    /// Ends a transaction that only read. Where all went well it is committed: who watches the server counts transactions
    /// that were rolled back.
    fn end_read(&self, borrowed: Borrowed<'_>, has_failed: bool, trouble: Option<ErrorClass>) {
        self.end(borrowed, if has_failed { "ROLLBACK" } else { "COMMIT" }, trouble);
    }

    /// Ends a transaction of which nothing is to be kept.
    fn give_up(&self, borrowed: Borrowed<'_>, trouble: Option<ErrorClass>) {
        self.end(borrowed, "ROLLBACK", trouble);
    }

    fn end(&self, mut borrowed: Borrowed<'_>, sql: &str, trouble: Option<ErrorClass>) {
        let ended = trouble != Some(ErrorClass::Lost)
            && borrowed.get().is_ok_and(|connection| connection.client.batch_execute(sql).is_ok());
        if !ended {
            borrowed.discard();
            self.shared.pool.forget_all();
        }
    }

    fn commit(&self, mut borrowed: Borrowed<'_>, trace: &Trace) -> Attempt {
        let committed = match borrowed.get() {
            Ok(connection) => connection.client.batch_execute("COMMIT"),
            Err(error) => return Attempt::Over(Err(error)),
        };
        let Err(error) = committed else { return Attempt::Over(Ok(())) };
        let purpose = borrowed.purpose();
        let explained = explain(self.address(), Act::Other("commit"), &error);
        match trouble(&error) {
            Some(ErrorClass::Lost) => {
                borrowed.discard();
                self.shared.pool.forget_all();
                self.settle_doubt(trace, purpose, explained)
            }
            trouble => {
                self.give_up(borrowed, None);
                match trouble {
                    Some(trouble) => Attempt::Undone(trouble, explained),
                    None => Attempt::Over(Err(explained)),
                }
            }
        }
    }

    /// Finds out what became of a transaction whose commit was not answered.
    fn settle_doubt(&self, trace: &Trace, purpose: Use, error: DatabaseError) -> Attempt {
        let asked = self.retry(purpose, &mut |_| {
            let mut borrowed = match self.shared.pool.borrow(purpose) {
                Ok(borrowed) => borrowed,
                Err(Refusal::Lost(error) | Refusal::Final(error)) => return Attempt::Undone(ErrorClass::Lost, error),
            };
            let told = borrowed.get().and_then(|connection| commit_status(connection, self.address(), trace));
            match told {
                Ok(CommitStatus::Kept) => Attempt::Over(Ok(())),
                Ok(CommitStatus::Undone) => Attempt::Over(Err(DatabaseError::Aborted(String::new()))),
                Ok(CommitStatus::Unknown) => Attempt::Over(Err(in_doubt(&error))),
                Ok(CommitStatus::Open) => Attempt::Undone(ErrorClass::Lost, in_doubt(&error)),
                Err(error) => {
                    borrowed.discard();
                    self.shared.pool.forget_all();
                    Attempt::Undone(ErrorClass::Lost, error)
                }
            }
        });
        match asked {
            Ok(()) => Attempt::Over(Ok(())),
            Err(DatabaseError::Aborted(_)) => Attempt::Undone(ErrorClass::Lost, error),
            Err(_) => Attempt::Over(Err(in_doubt(&error))),
        }
    }
}

/// What a bare connection of a test is made with.
#[cfg(feature = "testing")]
pub(crate) fn test_connection(
    url: &str,
) -> Result<(tokio_postgres::Config, tokio_postgres_rustls::MakeRustlsConnect), DatabaseError> {
    let address = Address::parse(url, None)?;
    let connector = tls::connector(&address)?;
    Ok((address.config, connector))
}

/// The server's clock, in microseconds.
const NOW: &str = "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint";

impl Shared {
    fn now(&self, told: Option<&str>) -> Time {
        let present = match &self.clock {
            Some(clock) => clock.now().0,
            None => told.and_then(|text| text.parse().ok()).unwrap_or(i64::MIN),
        };
        self.steady.at(Time(present))
    }

    /// A transaction that begins by this SQL.
    fn transaction<'c>(&'c self, connection: &'c mut Connection, begin: String) -> PostgresTransaction<'c> {
        PostgresTransaction {
            connection,
            shared: self,
            statements: &self.statements,
            shown: &self.pool.address.shown,
            begun: Begun::No(begin),
            now: None,
            trouble: None,
            failure: None,
            has_succeeded: false,
        }
    }
}

fn in_doubt(error: &DatabaseError) -> DatabaseError {
    DatabaseError::InDoubt { detail: error.to_string() }
}

/// Some time up to `most`, so that those who met do not meet again.
fn jitter(most: Duration) -> Duration {
    let random = RandomState::new().build_hasher().finish();
    most.mul_f64((random >> 11) as f64 / (1_u64 << 53) as f64)
}

impl Database for Postgres {
    fn write_job(&self, mut job: WriteJob, isolation: Isolation) -> Result<(), DatabaseError> {
        self.retry(Use::Any, &mut |undone| self.attempt_write(&mut job, isolation, Use::Any, undone))
    }

    fn write_lease_job(&self, mut job: WriteJob, isolation: Isolation) -> Result<(), DatabaseError> {
        self.retry(Use::Leases, &mut |undone| self.attempt_write(&mut job, isolation, Use::Leases, undone))
    }

    fn read_job(
        &self,
        job: &mut dyn FnMut(&mut dyn Transaction) -> Result<(), DatabaseError>,
    ) -> Result<(), DatabaseError> {
        self.retry(Use::Any, &mut |_| self.attempt_read(job))
    }

    fn dialect(&self) -> &'static str {
        "postgres"
    }

    fn writes_alone(&self) -> bool {
        false
    }

    fn revision(&self) -> Result<u64, DatabaseError> {
        Ok(self.notifier.revision())
    }

    fn notify(&self) {
        self.notifier.notify();
    }
}
