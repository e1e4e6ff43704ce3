//! Connections that only read. A read runs on its caller's thread and sees one state of the database; writers go on
//! beside it.

use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::Connection;

use crate::{DatabaseError, Transaction};

use super::Shared;
use super::connection::open_reader;
use super::failure::{Act, explain};
use super::transaction::SqliteTransaction;

/// Connections kept open while no process reads. More are opened when more read at once, and closed after.
const KEPT_OPEN: usize = 4;

/// The connections of one database file that only read.
pub(super) struct Readers {
    idle: Mutex<Vec<Connection>>,
    /// A connection of its own: the number it gives is comparable on one connection only.
    watch: Mutex<Option<Connection>>,
    shared: Arc<Shared>,
}

impl Readers {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        Self { idle: Mutex::new(Vec::new()), watch: Mutex::new(None), shared }
    }

    /// Runs `job` in one read transaction.
    pub(super) fn run(
        &self,
        job: &mut dyn FnMut(&mut dyn Transaction) -> Result<(), DatabaseError>,
    ) -> Result<(), DatabaseError> {
        self.with_connection(|connection| {
            self.control(connection, "BEGIN DEFERRED", "begin a read")?;
            let mut transaction =
                SqliteTransaction { connection, shared: &self.shared, now: self.shared.clock.now(), reading: true };
            let outcome = job(&mut transaction);
            if connection.is_autocommit() {
                return outcome;
            }
            let ended = self.control(connection, "ROLLBACK", "end a read");
            outcome.and(ended)
        })
    }

    /// Lends a connection; it is kept for the next reader only when it came back outside any transaction.
    pub(super) fn with_connection<T>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, DatabaseError>,
    ) -> Result<T, DatabaseError> {
        let kept = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let connection = match kept {
            Some(connection) => connection,
            None => open_reader(&self.shared.path)?,
        };
        let outcome = work(&connection);
        if connection.is_autocommit() {
            let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
            if idle.len() < KEPT_OPEN {
                idle.push(connection);
            }
        }
        outcome
    }

    /// A number that changes when anybody, in whatever process, has committed a change.
    pub(super) fn revision(&self) -> Result<u64, DatabaseError> {
        let mut watch = self.watch.lock().unwrap_or_else(PoisonError::into_inner);
        let connection = match watch.take() {
            Some(connection) => connection,
            None => open_reader(&self.shared.path)?,
        };
        let connection = watch.insert(connection);
        connection
            .prepare_cached("PRAGMA data_version")
            .and_then(|mut statement| statement.query_row([], |row| row.get::<_, i64>(0)))
            .map(|version| version as u64)
            .map_err(|error| explain(&self.shared.path, Act::Other("check for changes"), &error))
    }

    fn control(&self, connection: &Connection, sql: &str, act: &'static str) -> Result<(), DatabaseError> {
        connection
            .prepare_cached(sql)
            .and_then(|mut statement| statement.raw_execute())
            .map(|_| ())
            .map_err(|error| explain(&self.shared.path, Act::Other(act), &error))
    }
}
