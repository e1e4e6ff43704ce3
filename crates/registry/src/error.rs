//! Everything that can go wrong with the record.

use strongroom_credentials::CredentialError;
use strongroom_database::DatabaseError;
use strongroom_queue::QueueError;
use strongroom_records::RecordsError;

use crate::ReportId;
use crate::holds::Hold;

/// Why an operation on the record failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RegistryError {
    /// The database failed or refused.
    #[error(transparent)]
    Database(#[from] DatabaseError),
    /// The queue failed or refused.
    #[error(transparent)]
    Queue(QueueError),
    /// A record list failed or refused.
    #[error(transparent)]
    Records(RecordsError),
    /// What is stored of a credential cannot be read.
    #[error(transparent)]
    Credential(#[from] CredentialError),
    /// Another program has brought the tables beyond the version that this one knows.
    #[error("the registry's schema was brought to version {found}, and this program knows version {known}")]
    NewerSchema {
        /// The version found.
        found: u64,
        /// The version known.
        known: u32,
    },
    /// The caller no longer holds what it writes to: another worker has taken over.
    #[error("{what} {id} is no longer held by this worker")]
    FenceLost {
        /// What was held.
        what: &'static str,
        /// Which one.
        id: String,
    },
    /// No such record, or not within the caller's institution.
    #[error("no {what} {id:?}")]
    NotFound {
        /// What was looked for.
        what: &'static str,
        /// By which identifier.
        id: String,
    },
    /// Several records have identifiers that begin so.
    #[error("{what} {id:?} is ambiguous: {candidates}")]
    Ambiguous {
        /// What was looked for.
        what: &'static str,
        /// By which beginning of an identifier.
        id: String,
        /// Those that it may mean, or the first of them.
        candidates: String,
    },
    /// The record is not in a state in which this may be done.
    #[error("{what} {id} {}: cannot {act}", standing(.state))]
    State {
        /// What the record is.
        what: &'static str,
        /// Which one.
        id: String,
        /// Its state.
        state: String,
        /// What was asked.
        act: String,
    },
    /// Something else names the record, so that this may not be done.
    #[error("{what} {id} is named by {by}: cannot {act}")]
    Named {
        /// What the record is.
        what: &'static str,
        /// Which one.
        id: String,
        /// What names it.
        by: String,
        /// What was asked.
        act: String,
    },
    /// A record of this name exists already.
    #[error("{what} {id:?} exists already")]
    Exists {
        /// What the record is.
        what: &'static str,
        /// Which one.
        id: String,
    },
    /// The package of the work item fails again by what was found in it.
    #[error("work item {id} failed by its package itself, by {code}, and would fail again: cannot requeue it")]
    Permanent {
        /// Which one.
        id: String,
        /// The first problem that is permanent.
        code: String,
    },
    /// It has no hold of its own that could be lifted, and other holds apply to it.
    #[error("{what} {id} has no hold of its own: cannot release it; it is held by {}", listed(.holds))]
    StillHeld {
        /// What the record is.
        what: &'static str,
        /// Which one.
        id: String,
        /// What holds it.
        holds: Vec<Hold>,
    },
    /// An item that has ended was to be changed, and a long report that says how it ended is not written yet.
    #[error("report {report} is not written yet, and says of an item what is about to change")]
    ReportUnwritten {
        /// The report.
        report: ReportId,
    },
    /// The report of an open batch says what is true at one moment, and this one has too many rows for one transaction.
    #[error("batch {batch} has too many items for a report that is written in one transaction")]
    ReportTooLong {
        /// The batch.
        batch: crate::BatchId,
    },
    /// A stored value cannot be understood.
    #[error("the registry has {found:?} in place of {wanted}")]
    Corrupt {
        /// What belongs there.
        wanted: &'static str,
        /// What stands there.
        found: String,
    },
}

impl From<QueueError> for RegistryError {
    fn from(error: QueueError) -> Self {
        match error {
            QueueError::Database(error) => Self::Database(error),
            other => Self::Queue(other),
        }
    }
}

impl From<RecordsError> for RegistryError {
    fn from(error: RecordsError) -> Self {
        match error {
            RecordsError::Database(error) => Self::Database(error),
            other => Self::Records(other),
        }
    }
}

/// Holds, one behind the other.
fn listed(holds: &[Hold]) -> String {
    holds.iter().map(Hold::to_string).collect::<Vec<_>>().join(" and ")
}

/// A state behind the name of what has it: "is held at fetch", "has succeeded at cleanup".
fn standing(state: &str) -> String {
    let verb = match state.split(' ').next() {
        Some("succeeded" | "failed") => "has",
        Some("cancelled" | "deleted") => "was",
        _ => "is",
    };
    format!("{verb} {state}")
}

impl RegistryError {
    /// Whether trying again later may succeed.
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::Database(error) if error.is_transient())
    }

    /// Whether others changed the same rows again and again: what is written by fewer rows at once comes about sooner.
    pub fn is_conflict(&self) -> bool {
        matches!(self, Self::Database(error) if error.is_conflict())
    }
}
