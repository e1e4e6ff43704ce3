//! Everything that can go wrong between us and a database.

use std::borrow::Cow;

/// Why a statement or transaction failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DatabaseError {
    /// A unique or foreign key, or a check, refused the row.
    #[error("the database refused {statement}: {detail}")]
    Constraint {
        /// The statement's name.
        statement: &'static str,
        /// The constraint, as the database names it.
        detail: String,
    },
    /// The disk, the lock or the connection failed; nothing of the transaction was kept.
    #[error("{}", unavailable(.act, .detail))]
    Unavailable {
        /// What was tried.
        act: String,
        /// Why.
        detail: String,
    },
    /// Others changed the same rows each time that the transaction was run; nothing of it was kept.
    #[error("{}", unavailable(.act, .detail))]
    Conflict {
        /// What was tried.
        act: String,
        /// In which database, and what to do.
        detail: String,
    },
    /// The connection ended while a transaction was being kept, and it cannot be determined whether it was.
    #[error("it is not known whether a transaction was committed: {detail}")]
    InDoubt {
        /// What happened.
        detail: String,
    },
    /// A statement is missing or wrong: a defect of ours.
    #[error("statement {statement} is not usable: {detail}")]
    Statement {
        /// The statement's name.
        statement: &'static str,
        /// Why.
        detail: String,
    },
    /// A column does not hold what the code expects.
    #[error("column {column} should hold {wanted} and holds {found}")]
    Column {
        /// Its name in the select list.
        column: Cow<'static, str>,
        /// What was expected.
        wanted: &'static str,
        /// What stands there.
        found: String,
    },
    /// The file was made by a newer program, or is no database of ours.
    #[error("{path}: {reason}")]
    Schema {
        /// The database.
        path: String,
        /// What is wrong and what to do.
        reason: String,
    },
    /// What was given as the address of a database is none.
    #[error("{shown:?} is no address of a database; use sqlite:PATH or postgres://USER@HOST/DATABASE")]
    Address {
        /// As it was given, without what may hold a password.
        shown: String,
    },
    /// The schema was made by an older program and has to be brought up to date first.
    #[error("{path}: its schema has version {found}, and this program needs version {known}")]
    OlderSchema {
        /// The database.
        path: String,
        /// Its version.
        found: u32,
        /// The version that is needed.
        known: u32,
    },
    /// The home lies where several machines could reach it, which SQLite cannot bear.
    #[error("{path} is on a network file system ({kind}), where SQLite loses data; use a local disk, or PostgreSQL")]
    NetworkFileSystem {
        /// The folder.
        path: String,
        /// The file system.
        kind: String,
    },
    /// The operating system does not let us read or write the file.
    #[error("not allowed to {act} at {path}: {detail}")]
    Permission {
        /// The file or folder.
        path: String,
        /// What was tried.
        act: String,
        /// Why.
        detail: String,
    },
    /// The database was opened for reading only.
    #[error("the registry is read-only: {reason}")]
    ReadOnly {
        /// Why.
        reason: String,
    },
    /// The database is damaged.
    #[error("{path} is damaged ({detail})")]
    Corrupt {
        /// The database.
        path: String,
        /// What the engine found.
        detail: String,
        /// Whether it is a file, with side files `-wal` and `-shm`.
        is_file: bool,
    },
    /// The file is a copy that was put in the place of another one, whose log is still beside it. Nothing was changed.
    #[error("{path} is a copy, and {log} is the log of the file that was there before; together they would be damaged")]
    ForeignLog {
        /// The database.
        path: String,
        /// The log.
        log: String,
        /// The index of the log.
        index: String,
    },
    /// The caller's own function stopped the transaction; nothing was kept.
    #[error("{0}")]
    Aborted(String),
}

/// The act of connecting, which [`DatabaseError::Unavailable`] says with the address behind it.
pub(crate) const CONNECT: &str = "connect to the database";

fn unavailable(act: &str, detail: &str) -> String {
    if act == CONNECT {
        format!("could not connect to {detail}")
    } else {
        format!("the database could not {act}: {detail}")
    }
}

impl DatabaseError {
    /// Whether trying again later may succeed.
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::Unavailable { .. } | Self::Conflict { .. } | Self::InDoubt { .. })
    }

    /// Whether others changed the same rows again and again: what is written by fewer rows at once comes about sooner.
    pub fn is_conflict(&self) -> bool {
        matches!(self, Self::Conflict { .. })
    }
}
