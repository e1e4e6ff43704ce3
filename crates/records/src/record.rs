//! The words of record lists: records, chunks, and what is asked and answered about them.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use strongroom_database::{Time, Value};
use uuid::Uuid;

use crate::RecordsError;

/// A list of records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ListId(pub Uuid);

impl ListId {
    /// A new identifier.
    #[expect(clippy::new_without_default, reason = "each is another one")]
    pub fn new() -> Self {
        Self(Uuid::now_v7())
    }
}

impl fmt::Display for ListId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::convert::From<ListId> for Value {
    fn from(id: ListId) -> Self {
        Self::Uuid(id.0)
    }
}

/// Where a record is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RecordState {
    /// To be processed.
    Todo,
    /// A worker has it.
    Processing,
    /// Done.
    Processed,
    /// It could not be processed.
    Failed,
    /// It is not to be processed any more.
    Cancelled,
}

impl RecordState {
    /// Every state, in order.
    pub const ALL: [Self; 5] = [Self::Todo, Self::Processing, Self::Processed, Self::Failed, Self::Cancelled];

    /// The word in JSON and on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Todo => "todo",
            Self::Processing => "processing",
            Self::Processed => "processed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }
}

impl fmt::Display for RecordState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// What a record that is added is already.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Arrival {
    /// It is to be processed.
    Todo,
    /// The agent that populates has processed it, as a harvest does that gets records with their list.
    Processed {
        /// What came of it.
        result: Option<String>,
    },
    /// The agent that populates could not process it.
    Failed {
        /// Why; cut where it is long.
        error: String,
    },
}

/// A record that is added.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewRecord {
    /// Its id, such as a URI.
    pub id: String,
    /// What it is already.
    pub arrival: Arrival,
}

impl NewRecord {
    /// One that is to be processed.
    pub fn todo(id: impl Into<String>) -> Self {
        Self { id: id.into(), arrival: Arrival::Todo }
    }
}

/// Who wants to populate a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PopulationRequest {
    /// The list.
    pub list: ListId,
    /// The worker.
    pub worker: String,
    /// How long it has the population, unless it extends it.
    pub lease: Duration,
}

/// The population of a list, held by one worker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Population {
    /// The list.
    pub list: ListId,
    /// The number that each write repeats; it rises with each worker that takes the population.
    pub fence: u64,
    /// How far the population has come; none where it begins.
    pub cursor: Option<String>,
}

/// Records that are added in one transaction with the cursor behind them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Addition {
    /// The records, at most [`crate::lists::MOST_RECORDS`]. Ids that the list has already are left out.
    pub records: Vec<NewRecord>,
    /// How far the population has come with them.
    pub cursor: Option<String>,
    /// Whether the list is complete with them.
    pub is_last: bool,
}

/// What came of an addition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Added {
    /// Records that are new in the list.
    pub added: u64,
    /// Ids that the list had already.
    pub duplicates: u64,
}

/// A record of a list, as it is now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// Its number.
    pub number: u64,
    /// Its state.
    pub state: RecordState,
    /// What came of it.
    pub result: Option<String>,
    /// Why it failed, or why its last attempt did.
    pub error: Option<String>,
}

/// Which records of another list are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Selection {
    /// Those that were processed, slot by slot in the order in which they became so.
    Processed,
    /// All, in the order in which they were added.
    All,
}

/// What of a processed record becomes the id of a record of the next list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Takes {
    /// Its own id.
    Records,
    /// Its result, and its own id where it has none.
    Results,
}

/// Another list that a list is populated from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct From {
    /// The list.
    pub list: ListId,
    /// Which of its records.
    pub selection: Selection,
    /// What of them; of [`Selection::All`], the ids in any case.
    pub takes: Takes,
}

/// What was taken from another list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Copied {
    /// What came of it.
    pub added: Added,
    /// The cursor behind it, as the list has it now.
    pub cursor: String,
    /// Whether the other list has, in what this transaction sees, no more to take.
    pub is_caught_up: bool,
}

/// What a worker wants to claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimRequest {
    /// The list.
    pub list: ListId,
    /// The worker.
    pub worker: String,
    /// At most so many records, and no more than [`crate::lists::MOST_RECORDS`].
    pub limit: usize,
    /// How long it has them, unless it extends the lease.
    pub lease: Duration,
}

/// What proves that a worker has a chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ChunkLease {
    /// The list.
    pub list: ListId,
    /// The identifier of the chunk: made for one claim, and never used again.
    pub chunk: Uuid,
}

/// A record that was claimed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claimed {
    /// Its number in the list.
    pub number: u64,
    /// Its id.
    pub id: String,
    /// How often it was claimed, with this time. An attempt that was released does not count.
    pub attempts: u32,
}

/// Records that were claimed together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunk {
    /// What proves that the worker has them.
    pub lease: ChunkLease,
    /// Until when.
    pub lease_until: Time,
    /// The records: first those that came back, then those never claimed, by their number, then those that waited for a time.
    pub records: Vec<Claimed>,
}

/// What came of a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It was processed.
    Processed {
        /// What came of it, such as the URI of what was made.
        result: Option<String>,
    },
    /// It could not be processed.
    Failed {
        /// Why; cut where it is long.
        error: String,
    },
    /// It is to be tried again, and has failed where no attempts are left.
    Retry {
        /// Not before.
        not_before: Time,
        /// Why; cut where it is long.
        error: String,
        /// The attempts that it has.
        max_attempts: u32,
    },
    /// It waits for something else: it is claimed again, and the attempt is given back.
    Waiting {
        /// Not before.
        not_before: Time,
        /// For what; cut where it is long.
        error: String,
    },
    /// It was not tried. Its attempt is given back, and it comes first again.
    Released,
}

/// The end of one claimed record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ending {
    /// Its number.
    pub number: u64,
    /// What came of it.
    pub outcome: Outcome,
}

/// What came of endings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finished {
    /// The states of the records, in the order of the endings.
    pub states: Vec<RecordState>,
    /// Records of the chunk that have not ended; with none the chunk is over.
    pub open: u64,
}

/// A chunk whose records were returned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Returned {
    /// The list.
    pub list: ListId,
    /// The worker that had them.
    pub worker: String,
    /// How many came back.
    pub records: u64,
}

/// Records of a list by their state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Counts {
    /// To be processed.
    pub todo: u64,
    /// Claimed by a worker.
    pub processing: u64,
    /// Processed.
    pub processed: u64,
    /// Failed.
    pub failed: u64,
    /// Cancelled.
    pub cancelled: u64,
}

impl Counts {
    /// All records of the list.
    pub fn populated(&self) -> u64 {
        self.todo + self.processing + self.processed + self.failed + self.cancelled
    }

    /// Records that will change without a person's act.
    pub fn open(&self) -> u64 {
        self.todo + self.processing
    }
}

/// A list as it is in one committed state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListStatus {
    /// Its records.
    pub counts: Counts,
    /// Whether every record is in it.
    pub is_complete: bool,
    /// How far the population has come.
    pub cursor: Option<String>,
    /// Who populates it, and until when.
    pub populated_by: Option<(String, Time)>,
}

impl ListStatus {
    /// Whether the list is complete and every record of it has ended.
    pub fn is_finished(&self) -> bool {
        self.is_complete && self.counts.open() == 0
    }
}

/// A record with what came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// Its number in the list.
    pub number: u64,
    /// Its id.
    pub id: String,
    /// How often it was claimed.
    pub attempts: u32,
    /// When it came into its state.
    pub changed_at: Time,
    /// What came of it.
    pub result: Option<String>,
    /// Why it failed, or why its last attempt did.
    pub error: Option<String>,
    /// The place of the record in its state: a page begins behind it.
    pub cursor: Cursor,
}

/// A page of records.
pub type Page = Vec<Record>;

/// A place among the records of one state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cursor(pub(crate) i64, pub(crate) i64);

impl Cursor {
    /// Before the first record.
    pub const START: Self = Self(i64::MIN, 0);
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.0, self.1)
    }
}

impl FromStr for Cursor {
    type Err = RecordsError;

    fn from_str(text: &str) -> Result<Self, RecordsError> {
        let parts = text.split_once('.').and_then(|(one, other)| Some(Self(one.parse().ok()?, other.parse().ok()?)));
        parts.ok_or_else(|| RecordsError::Cursor(text.to_owned()))
    }
}
