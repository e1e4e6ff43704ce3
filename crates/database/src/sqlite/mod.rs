//! The embedded engine: one SQLite file in WAL mode, one writer thread with group commit, readers on their callers'
//! threads. Several processes of one machine may open the same file; each group of writes is made under an exclusive
//! `flock`, because SQLite's own lock lets a busy process starve the others.

mod backup;
mod connection;
mod copied;
mod failure;
mod file_system;
mod lock;
mod readers;
mod schema;
mod transaction;
mod writer;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::Connection;

use crate::clock::SteadyClock;
use crate::migration::{OlderSchema, check_order, check_version};
use crate::value::Columns;
use crate::{
    Clock, Database, DatabaseError, Isolation, Migration, Statement, Statements, Time, Transaction, Upgraded, WriteJob,
};

pub(crate) use copied::{mark_moved, refuse_foreign_log, refuse_moved};
use lock::WriteLock;
use readers::Readers;
use writer::Writer;

/// What every thread that uses one database file shares.
struct Shared {
    path: PathBuf,
    statements: Statements,
    clock: SteadyClock,
    /// Of statements that were used, by name.
    columns: Mutex<HashMap<&'static str, Arc<Columns>>>,
}

impl Shared {
    /// The columns of a statement's answer; looked up at its first use.
    fn columns_of(&self, statement: Statement, prepared: &rusqlite::Statement<'_>) -> Arc<Columns> {
        let mut known = self.columns.lock().unwrap_or_else(PoisonError::into_inner);
        known.entry(statement.0).or_insert_with(|| Arc::new(Columns::of(prepared.column_names().into_iter()))).clone()
    }
}

/// One SQLite database file.
///
/// Durability is `synchronous=FULL`: a write that returned is on the disk. Dropping the last handle waits for the writes
/// that are under way.
pub struct Sqlite {
    writer: Writer,
    readers: Readers,
    shared: Arc<Shared>,
}

impl Sqlite {
    /// Opens the database at `path`, making the file if there is none, and brings its schema up to the last of
    /// `migrations`.
    ///
    /// # Errors
    /// [`DatabaseError::NetworkFileSystem`] where the folder is no local disk; [`DatabaseError::Schema`] where the file is
    /// not one of ours or was made by a newer program; [`DatabaseError::Permission`], [`DatabaseError::Corrupt`] and
    /// [`DatabaseError::Unavailable`] for what the disk says.
    pub fn open(
        path: &Path,
        statements: Statements,
        migrations: &[Migration],
        clock: Arc<dyn Clock>,
    ) -> Result<Self, DatabaseError> {
        Self::open_as(path, statements, migrations, clock, OlderSchema::Migrate)
    }

    /// As [`Self::open`], where the schema is not older than the last of `migrations`.
    ///
    /// # Errors
    /// [`DatabaseError::OlderSchema`] besides, where it is.
    pub fn open_current(
        path: &Path,
        statements: Statements,
        migrations: &[Migration],
        clock: Arc<dyn Clock>,
    ) -> Result<Self, DatabaseError> {
        Self::open_as(path, statements, migrations, clock, OlderSchema::Refuse)
    }

    /// Brings the schema of the file at `path` up to the last of `migrations`, after a copy of the file beside it
    /// (`NAME.before-NNNN`, after the first migration that it has not had). Others that open the file wait meanwhile, as long
    /// as they wait for any turn to write.
    pub fn upgrade(path: &Path, migrations: &[Migration], clock: &dyn Clock) -> Result<Upgraded, DatabaseError> {
        file_system::refuse_network(path)?;
        let lock = WriteLock::beside(path)?;
        Ok(prepare(path, &lock, migrations, clock.now(), OlderSchema::Migrate)?.1)
    }

    fn open_as(
        path: &Path,
        statements: Statements,
        migrations: &[Migration],
        clock: Arc<dyn Clock>,
        older: OlderSchema,
    ) -> Result<Self, DatabaseError> {
        file_system::refuse_network(path)?;
        let shared = Arc::new(Shared {
            path: path.to_owned(),
            statements,
            clock: SteadyClock::new(clock),
            columns: Mutex::default(),
        });
        let lock = WriteLock::beside(path)?;
        // What only reads does not wait for those that write.
        let connection = match open_as_it_is(path, migrations)? {
            Some(connection) => connection,
            None => prepare(path, &lock, migrations, shared.clock.now(), older)?.0,
        };
        let readers = Readers::new(shared.clone());
        let writer = Writer::start(connection, lock, shared.clone())?;
        Ok(Self { writer, readers, shared })
    }

    /// The database file.
    pub fn path(&self) -> &Path {
        &self.shared.path
    }

    /// Writes a complete, consistent copy to the new file `to` while the database is in use. Nothing is left behind when
    /// it fails, and an existing file is never overwritten.
    pub fn backup(&self, to: &Path) -> Result<(), DatabaseError> {
        self.readers.with_connection(|connection| backup::copy(connection, &self.shared.path, to))
    }

    /// As [`Self::backup`], of a file whose schema may be older than the last of `migrations`; it is copied as it is.
    pub fn backup_file(path: &Path, migrations: &[Migration], to: &Path) -> Result<(), DatabaseError> {
        file_system::refuse_network(path)?;
        let connection = connection::open_existing(path)?;
        schema::refuse_foreign(&connection, path)?;
        let found = schema::version(&connection, path)?;
        check_version(&path.display().to_string(), found, check_order(migrations)?, OlderSchema::Migrate)?;
        backup::copy(&connection, path, to)
    }

    /// Prepares every statement against the schema and names the first that does not fit: for tests, so that a misspelt
    /// column is found without running the statement. The columns that each answers, by the statement's name.
    pub fn check_statements(&self) -> Result<BTreeMap<&'static str, Vec<String>>, DatabaseError> {
        let names: BTreeSet<&'static str> = self.shared.statements.names().collect();
        self.readers.with_connection(|connection| {
            names
                .into_iter()
                .map(|name| {
                    let sql = self.shared.statements.sql(Statement(name)).unwrap_or_default();
                    let prepared = connection
                        .prepare(sql)
                        .map_err(|error| DatabaseError::Statement { statement: name, detail: error.to_string() })?;
                    Ok((name, prepared.column_names().into_iter().map(str::to_owned).collect()))
                })
                .collect()
        })
    }
}

/// Opens the file for writing where nothing in it is to be changed first; none where something is, or it cannot be used.
fn open_as_it_is(path: &Path, migrations: &[Migration]) -> Result<Option<Connection>, DatabaseError> {
    if !path.exists() {
        return Ok(None);
    }
    let connection = connection::open_existing(path)?;
    let is_ready = schema::refuse_foreign(&connection, path).is_ok()
        && copied::is_in_use(&connection).unwrap_or(false)
        && schema::version(&connection, path)? == check_order(migrations)?;
    if !is_ready {
        return Ok(None);
    }
    connection::prepare_for_writing(&connection, path)?;
    Ok(Some(connection))
}

/// Opens the file for writing, and makes its tables or brings them up to date, while no other process writes.
fn prepare(
    path: &Path,
    lock: &WriteLock,
    migrations: &[Migration],
    now: Time,
    older: OlderSchema,
) -> Result<(Connection, Upgraded), DatabaseError> {
    let _held = lock.acquire()?;
    let mut connection = connection::open_unchecked(path)?;
    schema::refuse_foreign(&connection, path)?;
    connection::prepare_for_writing(&connection, path)?;
    let upgraded = schema::migrate(&mut connection, path, migrations, now, older)?;
    Ok((connection, upgraded))
}

impl Database for Sqlite {
    fn write_job(&self, job: WriteJob, _: Isolation) -> Result<(), DatabaseError> {
        self.writer.run(job)
    }

    fn read_job(
        &self,
        job: &mut dyn FnMut(&mut dyn Transaction) -> Result<(), DatabaseError>,
    ) -> Result<(), DatabaseError> {
        self.readers.run(job)
    }

    fn dialect(&self) -> &'static str {
        "sqlite"
    }

    fn revision(&self) -> Result<u64, DatabaseError> {
        self.readers.revision()
    }
}
