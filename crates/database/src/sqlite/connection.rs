//! How connections are opened and set up. The caches together stay below 40 MB, so that the whole program keeps within
//! 128 MB. Memory-mapped reading stays off: there a disk error would end the process instead of failing a statement.

use std::fs::File;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use crate::DatabaseError;

use super::copied;
use super::failure::{Act, explain};

/// How long a statement waits for a program that is not ours and holds the database.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);
/// More than the statements of queue and registry together.
const CACHED_STATEMENTS: usize = 512;
/// Page cache in KiB of the writer.
const WRITER_CACHE_KIB: i64 = 24 * 1024;
/// Page cache in KiB of each reader.
const READER_CACHE_KIB: i64 = 2 * 1024;
/// Pages of 4 KiB in the log before it is written back: fewer syncs than the default of 1,000 at 16 MB of disk.
const CHECKPOINT_PAGES: i64 = 4_000;
/// A log that grew while a reader held it up is cut back to this.
const LOG_LIMIT_BYTES: i64 = 64 * 1024 * 1024;

/// Opens the file for writing, making it if need be, and changes nothing in it yet.
pub(super) fn open_unchecked(path: &Path) -> Result<Connection, DatabaseError> {
    // What the database holds is for its owner only; SQLite gives its log the rights of the file. Where the file is there,
    // or cannot be made, opening it says so.
    let _ = File::options().write(true).create_new(true).mode(0o600).open(path);
    copied::refuse_foreign_log(path)?;
    open(path, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE)
}

/// Opens a file that exists, and changes nothing in it. Not for reading only, since the log of a process that was killed
/// has to be looked through.
pub(super) fn open_existing(path: &Path) -> Result<Connection, DatabaseError> {
    copied::refuse_foreign_log(path)?;
    open(path, OpenFlags::SQLITE_OPEN_READ_WRITE)
}

/// Sets up the writer's connection, once the file is known to be ours.
pub(super) fn prepare_for_writing(connection: &Connection, path: &Path) -> Result<(), DatabaseError> {
    copied::unmark(connection, path)?;
    let failed = |error: rusqlite::Error| explain(path, Act::Other("set up the database"), &error);
    let mode: String = connection.query_row("PRAGMA journal_mode=WAL", [], |row| row.get(0)).map_err(failed)?;
    if !mode.eq_ignore_ascii_case("wal") {
        return Err(DatabaseError::Unavailable {
            act: "use a write-ahead log".into(),
            detail: format!("{}: the file system allows journal mode {mode} only", path.display()),
        });
    }
    let pragmas = format!(
        "PRAGMA synchronous=FULL; PRAGMA foreign_keys=ON; PRAGMA cache_size=-{WRITER_CACHE_KIB}; \
         PRAGMA wal_autocheckpoint={CHECKPOINT_PAGES}; PRAGMA journal_size_limit={LOG_LIMIT_BYTES}; \
         PRAGMA mmap_size=0; PRAGMA trusted_schema=OFF;"
    );
    connection.execute_batch(&pragmas).map_err(failed)
}

/// Opens a connection that can only read.
pub(super) fn open_reader(path: &Path) -> Result<Connection, DatabaseError> {
    let connection = open(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    connection
        .execute_batch(&format!(
            "PRAGMA query_only=ON; PRAGMA cache_size=-{READER_CACHE_KIB}; PRAGMA mmap_size=0; PRAGMA trusted_schema=OFF;"
        ))
        .map_err(|error| explain(path, Act::Other("set up a reader"), &error))?;
    Ok(connection)
}

fn open(path: &Path, access: OpenFlags) -> Result<Connection, DatabaseError> {
    // Each connection is used by one thread at a time, so SQLite's own mutexes are not needed.
    let connection = Connection::open_with_flags(path, access | OpenFlags::SQLITE_OPEN_NO_MUTEX)
        .map_err(|error| explain(path, Act::Other("open the database"), &error))?;
    connection.busy_timeout(BUSY_TIMEOUT).map_err(|error| explain(path, Act::Other("open the database"), &error))?;
    // A plan that may depend on the values given is made anew whenever they change; that costs more than it could gain.
    connection
        .set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)
        .map_err(|error| explain(path, Act::Other("open the database"), &error))?;
    connection.set_prepared_statement_cache_capacity(CACHED_STATEMENTS);
    Ok(connection)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_is_made_once_whatever_the_values() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let connection = open_unchecked(&folder.path().join("plan.db")).expect("opens");
        connection
            .execute_batch(
                "CREATE TABLE task (id INTEGER PRIMARY KEY, topic TEXT, state INTEGER);
                 CREATE INDEX ready ON task (topic) WHERE state = 0;",
            )
            .expect("makes a table");
        let mut statement = connection
            .prepare(
                "UPDATE task SET state = 2
                 WHERE id IN (SELECT id FROM task WHERE state = 0 AND topic = ?1 ORDER BY id LIMIT ?2)",
            )
            .expect("fits");
        for limit in 1..5 {
            statement.execute((format!("topic {limit}"), limit)).expect("runs");
        }
        assert_eq!(statement.get_status(rusqlite::StatementStatus::RePrepare), 0);
    }
}
