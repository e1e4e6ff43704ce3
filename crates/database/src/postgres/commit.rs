//! What became of a transaction whose commit was never answered. To run it again could double it, to leave it could lose
//! it, so the server is asked.
//!
//! Every write transaction learns its id (`xid8`) when it begins, and the server says of an id whether it was committed
//! (`pg_xact_status`, PostgreSQL documentation, section 9.27). One thing stands in the way: an id that was given shortly before a
//! crash and left no trace on the disk is given again after it. So
//! - *not committed* is always true: what was committed is on the disk, and its id is not given again;
//! - *committed* is true as long as the server lives the same life as when the id was given (see `schema::server_epoch`);
//! - *committed* in another life can mean another transaction. Then it is not known, and the caller gets an error that
//!   says so.
//!   Operations of queue and registry bear being repeated: they carry fences, or identifiers fixed beforehand.

use super::connection::Connection;
use super::failure::Act;
use super::schema;
use crate::DatabaseError;

/// Enough to recognise a transaction later.
#[derive(Debug, Clone, Default)]
pub(super) struct Trace {
    /// Its id.
    pub(super) id: String,
    /// The life of the server in which the id was given.
    pub(super) server_epoch: Option<String>,
}

/// What became of a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CommitStatus {
    /// It was kept.
    Kept,
    /// It was not kept, and never will be.
    Undone,
    /// Its session has not noticed yet that it is alone.
    Open,
    /// It is not known.
    Unknown,
}

/// Asks the server, by another connection, what became of a transaction. A session that is still open is ended.
pub(super) fn commit_status(
    connection: &mut Connection,
    shown: &str,
    trace: &Trace,
) -> Result<CommitStatus, DatabaseError> {
    if trace.id.is_empty() || !trace.id.bytes().all(|byte| byte.is_ascii_digit()) {
        return Ok(CommitStatus::Unknown);
    }
    let id = &trace.id;
    let ask = format!("SELECT pg_xact_status('{id}'::xid8)");
    let row = match connection.try_first_row(&ask) {
        Ok(row) => row,
        // An id that was never given: the server forgot it in a crash.
        Err(error) if error.code().is_some_and(|code| code.code() == "22023") => return Ok(CommitStatus::Undone),
        Err(error) => {
            return Err(super::failure::explain(shown, Act::Other("read the status of a transaction"), &error));
        }
    };
    match row.first().and_then(Option::as_deref) {
        Some("committed") => {
            let present = schema::server_epoch(connection, shown)?;
            Ok(if trace.server_epoch.as_deref() == Some(present.as_str()) {
                CommitStatus::Kept
            } else {
                CommitStatus::Unknown
            })
        }
        Some("aborted") => Ok(CommitStatus::Undone),
        Some("in progress") => {
            let end =
                format!("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_xid = '{id}'::xid8::xid");
            connection.first_row(shown, "end a session that was left alone", &end)?;
            Ok(CommitStatus::Open)
        }
        _ => Ok(CommitStatus::Unknown),
    }
}
