//! One step of a schema's history.

use std::path::PathBuf;

use crate::DatabaseError;

/// A forward step from one schema version to the next. Steps are never edited once released, and never undone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Migration {
    /// The version this step leads to; versions rise from 1 without gaps.
    pub version: u32,
    /// What the step is about, in a few words; kept in the database for the reader.
    pub name: &'static str,
    /// The statements, run together in one transaction.
    pub sql: &'static str,
}

/// What opening a database does where its schema is older than the program's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OlderSchema {
    /// It is refused and stays as it is.
    Refuse,
    /// It is brought up to date.
    Migrate,
}

/// What bringing a schema up to date did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Upgraded {
    /// The version before; 0 where there was none.
    pub from: u32,
    /// The version now.
    pub to: u32,
    /// A copy of the database as it was before, where one was made.
    pub copy: Option<PathBuf>,
}

/// Refuses a version that the program does not know, or one that is not to be brought up to date.
pub(crate) fn check_version(path: &str, found: u32, known: u32, older: OlderSchema) -> Result<(), DatabaseError> {
    if found > known {
        return Err(DatabaseError::Schema {
            path: path.to_owned(),
            reason: format!(
                "its schema has version {found}, made by a newer program; this one knows version {known}; use the newer \
                 program"
            ),
        });
    }
    if found > 0 && found < known && older == OlderSchema::Refuse {
        return Err(DatabaseError::OlderSchema { path: path.to_owned(), found, known });
    }
    Ok(())
}

/// The last version, where the steps rise from 1 without gaps.
pub(crate) fn check_order(migrations: &[Migration]) -> Result<u32, DatabaseError> {
    let mut last = 0;
    for migration in migrations {
        if migration.version != last + 1 {
            return Err(DatabaseError::Statement {
                statement: migration.name,
                detail: format!("migration {} does not follow migration {last}", migration.version),
            });
        }
        last = migration.version;
    }
    Ok(last)
}
