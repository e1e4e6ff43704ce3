//! One place where PostgreSQL's errors become ours, and where it is decided which of them end a transaction that may be
//! run again. The five characters are SQLSTATE codes (PostgreSQL documentation, appendix A).

use crate::DatabaseError;

use super::values::Unfit;

/// Why a transaction could not go on though its job did nothing wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ErrorClass {
    /// Others changed the same rows.
    Conflict,
    /// A row of the same key was there; perhaps only since a moment ago.
    Duplicate,
    /// The connection ended.
    Lost,
}

/// What was being done.
#[derive(Clone, Copy)]
pub(super) enum Act {
    /// A statement of ours, by name.
    Statement(&'static str),
    /// Anything else, as it reads behind "could not".
    Other(&'static str),
}

/// The trouble that an error stands for, if it is one.
pub(super) fn trouble(error: &tokio_postgres::Error) -> Option<ErrorClass> {
    let Some(found) = error.as_db_error() else {
        return if unfit(error).is_some() { None } else { Some(ErrorClass::Lost) };
    };
    match found.code().code() {
        // Serialisation failure, deadlock, a lock that was not got in time.
        "40001" | "40P01" | "55P03" => Some(ErrorClass::Conflict),
        "23505" => Some(ErrorClass::Duplicate),
        // Shut down, crashed, not up yet, time-outs that end the connection; class 08: connection exceptions.
        "57P01" | "57P02" | "57P03" | "57P05" | "25P03" => Some(ErrorClass::Lost),
        code if code.starts_with("08") => Some(ErrorClass::Lost),
        _ => None,
    }
}

/// Our error for one of the server's or the client's, met while doing `act` with the database at `shown`.
pub(super) fn explain(shown: &str, act: Act, error: &tokio_postgres::Error) -> DatabaseError {
    let statement = match act {
        Act::Statement(name) | Act::Other(name) => name,
    };
    let described = match act {
        Act::Statement(name) => format!("run {name}"),
        Act::Other(act) => act.to_owned(),
    };
    if let Some(unfit) = unfit(error) {
        return DatabaseError::Statement { statement, detail: unfit.to_string() };
    }
    let Some(found) = error.as_db_error() else {
        return DatabaseError::Unavailable { act: described, detail: format!("{shown}: {}", with_causes(error)) };
    };
    let detail = match found.detail() {
        Some(detail) => format!("{} ({detail})", found.message()),
        None => found.message().to_owned(),
    };
    let code = found.code().code();
    match code {
        "25006" => {
            DatabaseError::Statement { statement, detail: "it writes, and was used in a read transaction".into() }
        }
        "42501" => DatabaseError::Permission { path: shown.to_owned(), act: described, detail },
        "3D000" | "3F000" => DatabaseError::Schema {
            path: shown.to_owned(),
            reason: format!("{detail}; create it first, and give this user the right to make tables in it"),
        },
        "40001" | "40P01" | "55P03" => DatabaseError::Conflict {
            act: described,
            detail: format!("{shown}: others changed the same rows; try again"),
        },
        "53100" => unavailable(shown, described, "the server's disk is full; free space and try again"),
        "XX001" | "XX002" => DatabaseError::Corrupt { path: shown.to_owned(), detail, is_file: false },
        _ => match code.get(..2).unwrap_or_default() {
            "23" | "54" => DatabaseError::Constraint { statement, detail },
            "28" => DatabaseError::Permission { path: shown.to_owned(), act: described, detail },
            "08" | "53" | "57" | "58" | "25" | "40" | "55" => unavailable(shown, described, &detail),
            _ => DatabaseError::Statement { statement, detail },
        },
    }
}

fn unavailable(shown: &str, act: String, detail: &str) -> DatabaseError {
    DatabaseError::Unavailable { act, detail: format!("{shown}: {detail}") }
}

fn unfit(error: &tokio_postgres::Error) -> Option<&Unfit> {
    std::error::Error::source(error)?.downcast_ref()
}

/// An error with its causes, which the client does not print itself.
fn with_causes(error: &tokio_postgres::Error) -> String {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(present) = cause {
        text = format!("{text}: {present}");
        cause = present.source();
    }
    text
}
