//! Whose file it is, and which version its schema has. Versions only go forward; a newer one than the program knows is
//! refused, since an older program would write what the newer one does not expect.

use std::path::{Path, PathBuf};

use rusqlite::{Connection, OptionalExtension, TransactionBehavior, params};

use crate::migration::{OlderSchema, check_order, check_version};
use crate::{DatabaseError, Migration, Time, Upgraded};

use super::failure::{Act, explain};
use super::{backup, copied};

/// "STRM" in SQLite's header, where a file says which program it belongs to (`PRAGMA application_id`).
const APPLICATION_ID: i64 = 0x5354_524D;

const CHECK: Act = Act::Other("read the schema");

/// Refuses a file that another program made. An empty file is taken as new.
pub(super) fn refuse_foreign(connection: &Connection, path: &Path) -> Result<(), DatabaseError> {
    let failed = |error: rusqlite::Error| explain(path, CHECK, &error);
    let id: i64 = connection.query_row("PRAGMA application_id", [], |row| row.get(0)).map_err(failed)?;
    if id == APPLICATION_ID {
        return copied::refuse_moved(connection, path);
    }
    let tables: i64 =
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0)).map_err(failed)?;
    if id == 0 && tables == 0 {
        return Ok(());
    }
    Err(DatabaseError::Schema {
        path: path.display().to_string(),
        reason: "this SQLite database belongs to another program; name another file".into(),
    })
}

/// Applies the migrations that the file has not had yet, each in a transaction of its own, after a copy of what is there.
/// The caller holds the write lock, so that nothing is written between the copy and the first migration.
pub(super) fn migrate(
    connection: &mut Connection,
    path: &Path,
    migrations: &[Migration],
    now: Time,
    older: OlderSchema,
) -> Result<Upgraded, DatabaseError> {
    let known = check_order(migrations)?;
    let present = version(connection, path)?;
    check_version(&path.display().to_string(), present, known, older)?;
    let copy = if present > 0 && present < known {
        let copy = copy_before(path, present + 1);
        backup::copy_over(connection, path, &copy)?;
        Some(copy)
    } else {
        None
    };
    for migration in migrations.iter().filter(|migration| migration.version > present) {
        apply(connection, migration, now).map_err(|error| match error {
            // A step that does not parse is reported with its own name, not with that of a statement.
            rusqlite::Error::SqlInputError { .. } => {
                DatabaseError::Statement { statement: migration.name, detail: error.to_string() }
            }
            error => explain(path, Act::Other("bring the schema up to date"), &error),
        })?;
    }
    Ok(Upgraded { from: present, to: known, copy })
}

/// Where the copy lies of a file that has not had this migration yet.
fn copy_before(path: &Path, migration: u32) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".before-{migration:04}"));
    name.into()
}

/// The version of the file's schema; 0 where there is none.
pub(super) fn version(connection: &Connection, path: &Path) -> Result<u32, DatabaseError> {
    let failed = |error: rusqlite::Error| explain(path, CHECK, &error);
    let exists = connection
        .query_row("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'schema_version'", [], |_| Ok(()))
        .optional()
        .map_err(failed)?
        .is_some();
    if !exists {
        return Ok(0);
    }
    connection.query_row("SELECT coalesce(max(version), 0) FROM schema_version", [], |row| row.get(0)).map_err(failed)
}

fn apply(connection: &mut Connection, migration: &Migration, now: Time) -> rusqlite::Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    if migration.version == 1 {
        transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
        transaction.execute_batch(
            "CREATE TABLE schema_version (
                 version    INTEGER PRIMARY KEY,
                 name       TEXT NOT NULL,
                 applied_at INTEGER NOT NULL
             ) STRICT",
        )?;
    }
    transaction.execute_batch(migration.sql)?;
    transaction.execute(
        "INSERT INTO schema_version (version, name, applied_at) VALUES (?1, ?2, ?3)",
        params![migration.version, migration.name, now.0],
    )?;
    transaction.commit()
}
