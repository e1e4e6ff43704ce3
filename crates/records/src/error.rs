//! Everything that can go wrong between a caller and a record list.

use strongroom_database::DatabaseError;
use uuid::Uuid;

use crate::ListId;

/// Why a record list did not do what it was asked. Nothing was changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordsError {
    /// The database that keeps the lists failed.
    #[error(transparent)]
    Database(#[from] DatabaseError),
    /// There is no such list, or it is being removed.
    #[error("no record list {0}")]
    NoList(ListId),
    /// Another worker has taken over, or the list is complete.
    #[error("the population of record list {0} is no longer held by this worker")]
    PopulationLost(ListId),
    /// The lease of a chunk was returned, or a record does not belong to what is left of the chunk.
    #[error("chunk {0} is no longer held by this worker, or has ended")]
    ChunkLost(Uuid),
    /// A text is empty or too long, or has characters that it may not have.
    #[error("a {what} has between 1 and {limit} bytes and no control characters, and this one has {found} bytes")]
    Text {
        /// `record id`, `result`, `cursor` or `worker`.
        what: &'static str,
        /// The most bytes it may have.
        limit: usize,
        /// How many it has.
        found: usize,
    },
    /// More records at once than a transaction takes.
    #[error("at most {limit} records are added at once, and these are {found}")]
    Many {
        /// The most.
        limit: usize,
        /// How many they are.
        found: usize,
    },
    /// A text is no cursor of an earlier page or population.
    #[error("{0:?} is no cursor of a record list")]
    Cursor(String),
}

impl RecordsError {
    /// Whether trying again later may succeed.
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::Database(error) if error.is_transient())
    }
}
