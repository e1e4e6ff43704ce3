//! An SQLite file to move rows out of. It is held alone: no other process has it open meanwhile, and nothing in it changes.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension};
use uuid::Uuid;

use super::line::Line;
use super::{Source, Table, Tally};
use crate::{DatabaseError, sqlite};

/// How long another process may still need to close the file.
const PATIENCE: Duration = Duration::from_secs(2);
/// Bookkeeping of the engines, which each keeps in its own way.
const OWN: [&str; 2] = ["schema_version", "task_sequence"];

/// A file that no other process uses.
pub struct FileSource {
    connection: Connection,
    path: PathBuf,
}

impl FileSource {
    /// Opens the file, where no other process has it open.
    ///
    /// # Errors
    /// [`DatabaseError::Aborted`] where it is in use; [`DatabaseError::Schema`] where its rows were moved before.
    pub fn open(path: &Path) -> Result<Self, DatabaseError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let failed = |error: rusqlite::Error| match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => DatabaseError::Aborted(format!(
                "{} is in use: stop the workers and all else that works with this data directory",
                path.display()
            )),
            _ => unavailable(path, &error),
        };
        sqlite::refuse_foreign_log(path)?;
        let connection = Connection::open_with_flags(path, flags).map_err(failed)?;
        connection.busy_timeout(PATIENCE).map_err(failed)?;
        // Log and file stay as they are, also when this connection is the last to close them.
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).map_err(failed)?;
        // In this mode the first look takes a lock that bears no other connection (SQLite documentation, "Write-Ahead
        // Logging", section 8), and keeps it.
        let _: String = connection.query_row("PRAGMA locking_mode=EXCLUSIVE", [], |row| row.get(0)).map_err(failed)?;
        connection.execute_batch("BEGIN; SELECT count(*) FROM sqlite_schema; COMMIT; BEGIN").map_err(failed)?;
        sqlite::refuse_moved(&connection, path)?;
        Ok(Self { connection, path: path.to_owned() })
    }

    /// Marks the file as one whose rows are elsewhere: no program opens it any more. It keeps all its rows.
    pub fn retire(&self) -> Result<(), DatabaseError> {
        let marked = self.connection.execute_batch("COMMIT").and_then(|()| sqlite::mark_moved(&self.connection));
        marked.map_err(|error| DatabaseError::Unavailable {
            act: "mark the database as moved".into(),
            detail: format!("{}: {error}", self.path.display()),
        })
    }

    fn failed(&self, error: &rusqlite::Error) -> DatabaseError {
        unavailable(&self.path, error)
    }
}

fn unavailable(path: &Path, error: &rusqlite::Error) -> DatabaseError {
    DatabaseError::Unavailable { act: "read the database".into(), detail: format!("{}: {error}", path.display()) }
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

impl Source for FileSource {
    fn version(&mut self) -> Result<u32, DatabaseError> {
        let version = self.connection.query_row("SELECT max(version) FROM schema_version", [], |row| row.get(0));
        version.map_err(|error| self.failed(&error))
    }

    fn check(&mut self, tables: &[Table]) -> Result<(), DatabaseError> {
        let names: Vec<String> = self
            .connection
            .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
            .and_then(|mut statement| statement.query_map([], |row| row.get(0))?.collect())
            .map_err(|error| self.failed(&error))?;
        for name in names.iter().filter(|name| !OWN.contains(&name.as_str())) {
            if !tables.iter().any(|table| table.name == *name) {
                return Err(DatabaseError::Schema {
                    path: self.path.display().to_string(),
                    reason: format!("its table {name} has no place in the other database"),
                });
            }
        }
        Ok(())
    }

    fn lines(
        &mut self,
        table: &Table,
        take: &mut dyn FnMut(&[u8]) -> Result<(), DatabaseError>,
    ) -> Result<(), DatabaseError> {
        let columns: Vec<String> = table.columns.iter().map(|(name, _)| quoted(name)).collect();
        let sql = format!("SELECT {} FROM {}", columns.join(", "), quoted(&table.name));
        let mut statement = self.connection.prepare(&sql).map_err(|error| self.failed(&error))?;
        let mut rows = statement.query([]).map_err(|error| self.failed(&error))?;
        let mut line = Line::default();
        while let Some(row) = rows.next().map_err(|error| self.failed(&error))? {
            line.clear();
            for (place, (name, kind)) in table.columns.iter().enumerate() {
                let value = row.get_ref(place).map_err(|error| self.failed(&error))?;
                if !field(&mut line, kind, value) {
                    return Err(DatabaseError::Unavailable {
                        act: "move a row".into(),
                        detail: format!(
                            "{}.{name} holds {:?}, which does not fit {kind}",
                            table.name,
                            value.data_type()
                        ),
                    });
                }
            }
            take(line.end())?;
        }
        Ok(())
    }

    fn expected(&self, _: &Table) -> Option<Tally> {
        None
    }

    fn next_of(&mut self, sequence: &str) -> Result<Option<i64>, DatabaseError> {
        let sql = format!("SELECT next FROM {}", quoted(sequence));
        let next = self.connection.query_row(&sql, [], |row| row.get(0)).optional();
        next.map_err(|error| self.failed(&error))
    }
}

/// Writes a value as its column has it in PostgreSQL; whether it fits.
fn field(line: &mut Line, kind: &str, value: ValueRef<'_>) -> bool {
    match (kind, value) {
        (_, ValueRef::Null) => line.null(),
        ("bigint" | "integer" | "smallint", ValueRef::Integer(number)) => line.integer(number),
        ("boolean", ValueRef::Integer(number)) => line.bool(number != 0),
        ("text", ValueRef::Text(text)) => match std::str::from_utf8(text) {
            Ok(text) => line.text(text),
            Err(_) => return false,
        },
        ("bytea", ValueRef::Blob(bytes)) => line.bytes(bytes),
        ("uuid", ValueRef::Blob(bytes)) => match Uuid::from_slice(bytes) {
            Ok(uuid) => line.uuid(uuid),
            Err(_) => return false,
        },
        _ => return false,
    }
    true
}
