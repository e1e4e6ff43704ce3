//! Everything that can go wrong between a caller and a queue.

use strongroom_database::DatabaseError;

/// Why a queue did not do what it was asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum QueueError {
    /// The database that keeps the tasks failed; nothing was changed.
    #[error(transparent)]
    Database(#[from] DatabaseError),
    /// A text is not a holder's name.
    #[error("{0:?} is no holder of the form host:pid:start")]
    WorkerId(String),
    /// A text is not a cursor of an earlier page.
    #[error("{0:?} is no cursor of a page of tasks")]
    Cursor(String),
    /// A topic or key is empty or too long.
    #[error("a {what} has between 1 and {limit} bytes, and this one has {found}")]
    Name {
        /// `topic`, `key` or `fair key`.
        what: &'static str,
        /// The most bytes it may have.
        limit: usize,
        /// How many it has.
        found: usize,
    },
}

impl QueueError {
    /// Whether trying again later may succeed.
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::Database(error) if error.is_transient())
    }
}
