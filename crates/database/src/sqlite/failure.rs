//! One place where SQLite's errors become ours, with what was tried and on which file.

use std::path::Path;

use rusqlite::ErrorCode;

use crate::DatabaseError;

/// What was being done when SQLite answered with an error.
#[derive(Clone, Copy)]
pub(super) enum Act {
    /// A statement of ours in a write transaction, by name.
    Write(&'static str),
    /// A statement of ours in a read transaction, by name.
    Read(&'static str),
    /// Anything else, as it reads behind "could not".
    Other(&'static str),
}

impl Act {
    fn statement(self) -> &'static str {
        match self {
            Self::Write(name) | Self::Read(name) | Self::Other(name) => name,
        }
    }

    fn describe(self) -> String {
        match self {
            Self::Write(name) | Self::Read(name) => format!("run {name}"),
            Self::Other(act) => act.to_owned(),
        }
    }
}

/// Our error for one of SQLite's, met while doing `act` on the database at `path`.
pub(super) fn explain(path: &Path, act: Act, error: &rusqlite::Error) -> DatabaseError {
    let rusqlite::Error::SqliteFailure(failure, message) = error else {
        return DatabaseError::Statement { statement: act.statement(), detail: error.to_string() };
    };
    let shown_path = path.display();
    let detail = message.clone().unwrap_or_else(|| failure.to_string());
    let unavailable =
        |advice: &str| DatabaseError::Unavailable { act: act.describe(), detail: format!("{shown_path}: {advice}") };
    match failure.code {
        ErrorCode::ConstraintViolation => DatabaseError::Constraint { statement: act.statement(), detail },
        ErrorCode::DiskFull => unavailable("the disk is full; free space and try again"),
        ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked | ErrorCode::FileLockingProtocolFailed => {
            unavailable("another program holds the database; try again when it is done")
        }
        ErrorCode::SystemIoFailure
        | ErrorCode::OutOfMemory
        | ErrorCode::OperationInterrupted
        | ErrorCode::OperationAborted
        | ErrorCode::SchemaChanged
        | ErrorCode::NoLargeFileSupport => unavailable(&detail),
        ErrorCode::CannotOpen => match permission_problem(path) {
            Some(problem) => {
                DatabaseError::Permission { path: shown_path.to_string(), act: act.describe(), detail: problem }
            }
            None => unavailable(&detail),
        },
        ErrorCode::ReadOnly if matches!(act, Act::Read(_)) => DatabaseError::Statement {
            statement: act.statement(),
            detail: "it writes, and was used in a read transaction".into(),
        },
        ErrorCode::ReadOnly | ErrorCode::PermissionDenied | ErrorCode::AuthorizationForStatementDenied => {
            DatabaseError::Permission { path: shown_path.to_string(), act: act.describe(), detail }
        }
        ErrorCode::DatabaseCorrupt => DatabaseError::Corrupt { path: shown_path.to_string(), detail, is_file: true },
        ErrorCode::NotADatabase => DatabaseError::Schema {
            path: shown_path.to_string(),
            reason: "this is not a SQLite database; name another file, or restore a backup".into(),
        },
        _ => DatabaseError::Statement { statement: act.statement(), detail },
    }
}

/// Our error for one of the operating system's, met while doing `act` on the file or folder at `path`.
pub(super) fn explain_io(path: &Path, act: &'static str, error: &std::io::Error) -> DatabaseError {
    let shown_path = path.display().to_string();
    match error.kind() {
        std::io::ErrorKind::PermissionDenied | std::io::ErrorKind::ReadOnlyFilesystem => {
            DatabaseError::Permission { path: shown_path, act: act.into(), detail: error.to_string() }
        }
        _ => DatabaseError::Unavailable { act: act.into(), detail: format!("{shown_path}: {error}") },
    }
}

/// SQLite says "unable to open" for many reasons; whether it is a missing right is asked of the operating system.
fn permission_problem(path: &Path) -> Option<String> {
    let error = std::fs::OpenOptions::new().read(true).write(true).open(path).err()?;
    (error.kind() == std::io::ErrorKind::PermissionDenied).then(|| error.to_string())
}
