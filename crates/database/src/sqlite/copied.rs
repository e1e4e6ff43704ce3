//! Copies of a database file are marked until their first use, so that a copy is not opened together with the write-ahead log of
//! the file that it was put in the place of: SQLite would apply that log to the copy and destroy it. A log names no file that
//! it belongs to, so the mark is in the copy: its `user_version`, and journal mode DELETE, in which the file itself has the
//! mark. The first use removes the mark before there is a log, so a marked file has no log of its own.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags};

use crate::DatabaseError;

use super::failure::{Act, explain};

/// `PRAGMA user_version` of a copy that has not been used yet; of a file in use it is 0.
const COPY: i64 = 1;
/// The same of a file whose rows were moved to another database.
const MOVED: i64 = 2;

/// Marks a copy that was just made, before it gets its name.
pub(super) fn mark(copy: &Connection) -> rusqlite::Result<()> {
    let _: String = copy.query_row("PRAGMA journal_mode=DELETE", [], |row| row.get(0))?;
    copy.pragma_update(None, "user_version", COPY)
}

/// Removes the mark from a file that is going to be written to. The file has no log yet, or is not marked.
pub(super) fn unmark(connection: &Connection, path: &Path) -> Result<(), DatabaseError> {
    let failed = |error: rusqlite::Error| explain(path, Act::Other("begin to use a copy"), &error);
    if version(connection).map_err(failed)? == COPY {
        connection.pragma_update(None, "user_version", 0).map_err(failed)?;
    }
    Ok(())
}

/// Whether a file is neither a copy that was not used yet nor one whose rows were moved.
pub(super) fn is_in_use(connection: &Connection) -> rusqlite::Result<bool> {
    Ok(version(connection)? == 0)
}

/// Marks a file whose rows are in another database from now on: a process that still opened it would write what no
/// process reads.
pub(crate) fn mark_moved(connection: &Connection) -> rusqlite::Result<()> {
    connection.pragma_update(None, "user_version", MOVED)
}

/// Refuses a file whose rows were moved.
pub(crate) fn refuse_moved(connection: &Connection, path: &Path) -> Result<(), DatabaseError> {
    let failed = |error: rusqlite::Error| explain(path, Act::Other("read the mark of a copy"), &error);
    if version(connection).map_err(failed)? != MOVED {
        return Ok(());
    }
    Err(DatabaseError::Schema {
        path: path.display().to_string(),
        reason: "its rows were moved to PostgreSQL (strongroom migrate --to), and what is written here would be missing there; \
                 set registry.url to that database, in the settings and in the environment"
            .into(),
    })
}

/// Refuses a marked file beside which there is a log. Nothing is changed.
pub(crate) fn refuse_foreign_log(path: &Path) -> Result<(), DatabaseError> {
    let log = beside(path, "-wal");
    if !std::fs::metadata(&log).is_ok_and(|found| found.len() > 0) {
        return Ok(());
    }
    // Without locks and without the log: page 1 as it is in the file. SQLite opens the file, because closing a file that was
    // opened beside it would release the locks of this process (sqlite.org/howtocorrupt.html, section 2.2). Where the file
    // cannot be read in this way, opening it in the usual way says why.
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let found = Connection::open_with_flags(immutable(path), flags).and_then(|file| version(&file));
    if !found.is_ok_and(|found| found == COPY) {
        return Ok(());
    }
    Err(DatabaseError::ForeignLog {
        path: path.display().to_string(),
        log: log.display().to_string(),
        index: beside(path, "-shm").display().to_string(),
    })
}

fn version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.query_row("PRAGMA user_version", [], |row| row.get(0))
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name: OsString = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// The URI of a file that is read as if nothing could change it (sqlite.org/uri.html).
fn immutable(path: &Path) -> String {
    let mut uri = String::from(if path.is_absolute() { "file://" } else { "file:" });
    for byte in path.as_os_str().as_bytes() {
        match byte {
            b'/' | b'.' | b'-' | b'_' | b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' => uri.push(char::from(*byte)),
            other => {
                // A string takes whatever is written to it.
                let _ = write!(uri, "%{other:02X}");
            }
        }
    }
    uri.push_str("?immutable=1");
    uri
}
