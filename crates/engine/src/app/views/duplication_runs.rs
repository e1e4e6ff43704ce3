//! Sweeps of duplication, and what they found.

use serde::Serialize;
use strongroom_registry::duplicated_items::TroubledItem;
use strongroom_registry::sweeps::{Part, Sweep, Totals};

/// A sweep: a comparison of everything that the policy of an institution copies.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SweepView {
    /// Its identifier.
    pub run: String,
    /// The domain name of the institution.
    pub institution: String,
    /// `running`, `waiting` for a person, `done`, or `incomplete`.
    pub state: String,
    /// The version of the policy at its start.
    pub policy_version: u64,
    /// Whether every content item is queued, and not only what differs.
    pub all: bool,
    /// Who started it; none where its time had come.
    pub started_by: Option<String>,
    /// When it began.
    pub started_at: String,
    /// When it ended.
    pub ended_at: Option<String>,
    /// Its parts: a space of a rule, or the list of spaces of one.
    pub parts: u64,
    /// Those that are worked on.
    pub open_parts: u64,
    /// Those that failed, or fail now.
    pub failed_parts: u64,
    /// Names that were compared. Each is queued, equal, ignored or failed.
    pub listed: u64,
    /// Those of which a task was queued.
    pub queued: u64,
    /// Those that are known to be equal.
    pub equal: u64,
    /// What is no content item, and copies of which the source was deleted.
    pub ignored: u64,
    /// Those that are known to be lost or damaged.
    pub failed: u64,
    /// Tasks for deletions that were recorded before, besides.
    pub deletions: u64,
    /// Deletions that wait for a person.
    pub held: u64,
}

impl SweepView {
    pub(crate) fn new(sweep: Sweep, totals: Totals) -> Self {
        let state = match sweep.ended_at {
            None if totals.open_parts == 0 && totals.held > 0 => "waiting",
            None => "running",
            Some(_) if totals.failed_parts > 0 => "incomplete",
            Some(_) => "done",
        };
        Self {
            run: sweep.id.to_string(),
            institution: sweep.institution_identifier,
            state: state.to_owned(),
            policy_version: sweep.policy_version,
            all: sweep.is_whole,
            started_by: sweep.started_by,
            started_at: sweep.started_at.to_string(),
            ended_at: sweep.ended_at.map(|at| at.to_string()),
            parts: totals.parts,
            open_parts: totals.open_parts,
            failed_parts: totals.failed_parts,
            listed: totals.counts.listed,
            queued: totals.counts.queued,
            equal: totals.counts.equal,
            ignored: totals.counts.ignored,
            failed: totals.counts.failed,
            deletions: totals.counts.deletions,
            held: totals.held,
        }
    }
}

/// A sweep that was worked on, and what is left.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct WaitedSweepView {
    /// The sweep.
    #[serde(flatten)]
    pub sweep: SweepView,
    /// Tasks of both topics that are attempted again later.
    pub later: u64,
    /// Those that were given up.
    pub dead: u64,
    /// Whether content items of the institution are lost, damaged or in conflict.
    pub has_problems: bool,
}

/// A part of a sweep.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SweepPartView {
    /// The space; none for the list of spaces.
    pub space: Option<String>,
    /// The store that is read.
    pub source: String,
    /// The store that is written.
    pub destination: String,
    /// Where it is.
    pub phase: String,
    /// The name behind which it goes on.
    pub reached: String,
    /// Names that were compared. Each is queued, equal, ignored or failed.
    pub listed: u64,
    /// Those of which a task was queued.
    pub queued: u64,
    /// Those that are known to be equal.
    pub equal: u64,
    /// What is no content item, and copies of which the source was deleted.
    pub ignored: u64,
    /// Those that are known to be lost or damaged.
    pub failed: u64,
    /// Tasks for deletions that were recorded before, besides.
    pub deletions: u64,
    /// Deletions that wait for a person.
    pub held: u64,
    /// Attempts in a row that failed.
    pub attempts: u64,
    /// Why the last one failed.
    pub error: Option<String>,
}

impl From<Part> for SweepPartView {
    fn from(part: Part) -> Self {
        Self {
            space: Some(part.route.space).filter(|space| !space.is_empty()),
            source: part.route.source,
            destination: part.route.destination,
            phase: part.phase.to_string(),
            reached: part.reached,
            listed: part.counts.listed,
            queued: part.counts.queued,
            equal: part.counts.equal,
            ignored: part.counts.ignored,
            failed: part.counts.failed,
            deletions: part.counts.deletions,
            held: part.held,
            attempts: part.attempts,
            error: part.error,
        }
    }
}

/// A content item that is lost or damaged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TroubledItemView {
    /// The domain name of the institution whose rule copies it.
    pub institution: String,
    /// `lost` or `damaged`.
    pub outcome: String,
    /// The space.
    pub space: String,
    /// Its key.
    pub key: String,
    /// The store that is read.
    pub source: String,
    /// The store that is written.
    pub destination: String,
    /// Whether the destination has it.
    pub in_destination: bool,
    /// Its length in bytes, where it is known.
    pub size: Option<u64>,
    /// Since when it is known.
    pub since: String,
    /// In words.
    pub detail: String,
}

impl From<TroubledItem> for TroubledItemView {
    fn from(item: TroubledItem) -> Self {
        Self {
            institution: item.route.institution_identifier,
            outcome: item.outcome.to_string(),
            space: item.route.space,
            key: item.key,
            source: item.route.source,
            destination: item.route.destination,
            in_destination: item.is_in_destination,
            size: item.size,
            since: item.recorded_at.to_string(),
            detail: item.detail,
        }
    }
}

/// What came of events that were reported.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct RecordedEventsView {
    /// Events that are the newest of their content items now.
    pub recorded: u64,
    /// Those that were known, or are older than what is known.
    pub known: u64,
    /// Tasks that follow from them.
    pub tasks: u64,
}
