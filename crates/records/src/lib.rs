//! Lists of record ids: what an agent has to work through, and what came of each record.
//!
//! A list is populated by one worker at a time, with a cursor by which another resumes, and has an end mark. Workers claim chunks
//! of it under a lease, and end each record for itself. Its counts are exact in every committed state. The functions in [`lists`] work
//! within a caller's transaction, so that a record and what follows from it change together; [`RecordLists`] is the same behind a
//! trait, for users who need no transaction of their own, and for engines that are no database.
//!
//! # Where the state of a record is
//!
//! A record is written when it is added, and its id not again. Where it arrived with a state, has ended, was cancelled or came back, a row of
//! `record_states` has the state. Of the others, those up to the number to which the list is claimed (`record_cursors`) are being
//! processed, each by the chunk whose range of numbers it is in, and those behind it are to be processed. So a claim of what was never
//! claimed writes no record, and an end writes one row.
//!
//! # Which locks keep which rule, in PostgreSQL
//!
//! - The row of a list is locked by whoever adds to it: population is one transaction at a time, and its fence is checked there.
//! - The row of a chunk is locked before its records change, by the worker and by who returns what an expired lease holds.
//! - The row of how far a list is claimed is locked by whoever claims, or cancels, what was never claimed, and kept until the commit. Whoever
//!   locks it takes no other row but the chunk that it makes, records that nobody has locked, and the slot.
//! - The row of a slot is locked last, and kept until the commit. Records get their number in the sequence of processed records
//!   under this lock: within a slot, a number is committed after all lower ones, or after they were given back. So a reader that
//!   sees a number sees every lower one, and a follower that keeps one cursor for each slot misses none.

#[cfg(feature = "conformance")]
pub mod conformance;
mod database_lists;
mod error;
pub mod lists;
mod record;
mod record_lists;
mod schema;

pub use database_lists::DatabaseRecordLists;
pub use error::RecordsError;
pub use record::{
    Added, Addition, Arrival, Chunk, ChunkLease, ClaimRequest, Claimed, Copied, Counts, Cursor, Ending, Finished, From,
    ListId, ListStatus, Listed, NewRecord, Outcome, Page, Population, PopulationRequest, Record, RecordState, Returned,
    Selection, Takes,
};
pub use record_lists::RecordLists;
pub use schema::{schema, statements};
