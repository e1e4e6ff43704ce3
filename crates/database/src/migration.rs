//! One step of a schema's history.

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
