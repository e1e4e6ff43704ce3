//! Record lists as their users see them, whatever engine keeps them.

use std::time::Duration;

use strongroom_database::Time;

use crate::{
    Added, Addition, Chunk, ChunkLease, ClaimRequest, Copied, Cursor, Ending, Finished, From, ListId, ListStatus, Page,
    Population, PopulationRequest, RecordState, RecordsError, Returned,
};

/// Lists of records. Every call blocks, is one atomic change, and is durable when it returns. The rules are those of the
/// conformance suite, which every engine passes.
pub trait RecordLists: Send + Sync {
    /// See [`crate::lists::create`].
    fn create(&self, list: ListId) -> Result<(), RecordsError>;

    /// See [`crate::lists::take_population`].
    fn take_population(&self, request: &PopulationRequest) -> Result<Option<Population>, RecordsError>;

    /// See [`crate::lists::extend_population`].
    fn extend_population(&self, population: &Population, lease: Duration) -> Result<Time, RecordsError>;

    /// See [`crate::lists::release_population`].
    fn release_population(&self, population: &Population) -> Result<(), RecordsError>;

    /// See [`crate::lists::add`].
    fn add(&self, population: &Population, addition: &Addition) -> Result<Added, RecordsError>;

    /// See [`crate::lists::add_from`].
    fn add_from(&self, population: &Population, from: From, limit: usize) -> Result<Copied, RecordsError>;

    /// See [`crate::lists::reopen`].
    fn reopen(&self, list: ListId) -> Result<bool, RecordsError>;

    /// See [`crate::lists::claim`].
    fn claim(&self, request: &ClaimRequest) -> Result<Option<Chunk>, RecordsError>;

    /// See [`crate::lists::extend`].
    fn extend(&self, leases: &[ChunkLease], lease: Duration) -> Result<Vec<bool>, RecordsError>;

    /// See [`crate::lists::finish`].
    fn finish(&self, lease: ChunkLease, endings: &[Ending]) -> Result<Finished, RecordsError>;

    /// See [`crate::lists::return_expired`].
    fn return_expired(&self, limit: usize) -> Result<Vec<Returned>, RecordsError>;

    /// See [`crate::lists::return_of_worker`].
    fn return_of_worker(&self, worker: &str, limit: usize) -> Result<Vec<Returned>, RecordsError>;

    /// See [`crate::lists::status`].
    fn status(&self, list: ListId) -> Result<ListStatus, RecordsError>;

    /// See [`crate::lists::page`].
    fn page(&self, list: ListId, state: RecordState, after: Cursor, limit: usize) -> Result<Page, RecordsError>;

    /// See [`crate::lists::retry_failed`].
    fn retry_failed(&self, list: ListId, until: Time, limit: usize) -> Result<u64, RecordsError>;

    /// See [`crate::lists::cancel_rest`].
    fn cancel_rest(&self, list: ListId, limit: usize) -> Result<u64, RecordsError>;

    /// See [`crate::lists::remove`].
    fn remove(&self, list: ListId, limit: usize) -> Result<bool, RecordsError>;

    /// See [`crate::lists::remove_records`].
    fn remove_records(&self, list: ListId, limit: usize) -> Result<bool, RecordsError>;

    /// See [`crate::lists::outcome`].
    fn outcome(&self, list: ListId) -> Result<Option<(ListStatus, bool)>, RecordsError>;

    /// See [`crate::lists::being_removed`].
    fn being_removed(&self, limit: usize) -> Result<Vec<ListId>, RecordsError>;
}
