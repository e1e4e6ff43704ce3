//! Sweeps of duplication, and what they found.

use std::collections::BTreeMap;

use serde::Serialize;
use strongroom_digest::Digest;
use strongroom_queue::TaskRecord;
use strongroom_registry::CopyOutcome;
use strongroom_registry::duplicated_items::{DuplicatedItem, TroubledItem};
use strongroom_registry::duplication_routes::Route;
use strongroom_registry::sweeps::{Part, Sweep, Totals};

use crate::EngineError;

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
    /// Tasks of both topics that are attempted again later, or wait until their topic is resumed.
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

/// A content item that is lost, damaged or in conflict, or of which a task was given up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TroubledItemView {
    /// The domain name of the institution whose rule copies it.
    pub institution: String,
    /// `lost`, `damaged` or `conflict`; `failed` where a task was given up.
    pub outcome: String,
    /// The space.
    pub space: String,
    /// Its key; empty for the space itself.
    pub key: String,
    /// The store that is read.
    pub source: String,
    /// The store that is written.
    pub destination: String,
    /// By which rule of the newest policy it is copied, in words.
    pub rule: String,
    /// Whether the destination has it.
    pub in_destination: bool,
    /// Its length in bytes, where it is known.
    pub size: Option<u64>,
    /// The etag of the source that was compared last; of what is lost, the one that it had.
    pub source_etag: Option<String>,
    /// The etag of the destination that was compared last.
    pub destination_etag: Option<String>,
    /// The SHA-512 of the bytes that were equal in both, where they were read.
    pub sha512: Option<String>,
    /// When the bytes of both were last found equal.
    pub verified_at: Option<String>,
    /// Since when it is known; of a task, when it was given up.
    pub since: String,
    /// In words.
    pub detail: String,
    /// What to do.
    pub next: String,
}

/// By which rule content items are copied, in words: by institution, source, destination and space.
pub(crate) type TroubledRules = BTreeMap<(String, String, String, String), String>;

impl From<TroubledItem> for TroubledItemView {
    fn from(item: TroubledItem) -> Self {
        let next = next_of(&item);
        Self {
            institution: item.route.institution_identifier,
            outcome: item.outcome.to_string(),
            space: item.route.space,
            key: item.key,
            source: item.route.source,
            destination: item.route.destination,
            rule: String::new(),
            in_destination: item.is_in_destination,
            size: item.size,
            source_etag: item.source_etag,
            destination_etag: item.destination_etag,
            sha512: item.sha512.as_deref().and_then(digest_in_hex),
            verified_at: item.verified_at.map(|at| at.to_string()),
            since: item.recorded_at.to_string(),
            detail: item.detail,
            next,
        }
    }
}

impl TroubledItemView {
    /// One of which a task was given up; `known` is what is recorded of it.
    pub(crate) fn given_up(route: Route, key: String, task: &TaskRecord, known: Option<&DuplicatedItem>) -> Self {
        let reason = task.reason.as_deref().unwrap_or("it does not say why");
        Self {
            institution: route.institution_identifier,
            outcome: "failed".to_owned(),
            space: route.space,
            key,
            source: route.source,
            destination: route.destination,
            rule: String::new(),
            in_destination: known.is_some_and(|item| item.destination_etag.is_some()),
            size: known.and_then(|item| item.size),
            source_etag: known.and_then(|item| item.source_etag.clone()),
            destination_etag: known.and_then(|item| item.destination_etag.clone()),
            sha512: known.and_then(|item| digest_in_hex(item.sha512.as_deref()?)),
            verified_at: known.and_then(|item| item.verified_at).map(|at| at.to_string()),
            since: task.ready_at.to_string(),
            detail: format!("a task of {} was given up after {} attempts: {reason}", task.topic, task.spent),
            next: format!(
                "remove the cause, then \"strongroom queue retry {topic} --task {task}\"; where nothing is to be done any more, \
                 \"strongroom queue delete {task}\"",
                topic = task.topic,
                task = task.task
            ),
        }
    }

    pub(crate) fn rule_of(&self) -> (String, String, String, String) {
        (self.institution.clone(), self.source.clone(), self.destination.clone(), self.space.clone())
    }

    pub(crate) fn with_rule(mut self, rules: &TroubledRules) -> Self {
        self.rule = rules.get(&self.rule_of()).cloned().unwrap_or_default();
        self
    }
}

/// A digest that the registry has, in hexadecimal digits.
pub(super) fn digest_in_hex(raw: &[u8]) -> Option<String> {
    Digest::from_bytes(raw).ok().map(|digest| digest.to_hex())
}

/// What to do about a content item.
fn next_of(item: &TroubledItem) -> String {
    let Route { institution_identifier: institution, source, destination, space, .. } = &item.route;
    let again = format!("\"strongroom duplicate run --institution {institution}\" compares it again");
    match item.outcome {
        CopyOutcome::Lost => {
            let from = if item.is_in_destination { format!(", such as from {destination}") } else { String::new() };
            let name = shell_word(&format!("{source}/{space}/{}", item.key));
            format!(
                "put it into {source} again{from}: {again}; where it was to be deleted, a system admin records that: \"strongroom duplicate \
                 event delete {name}\""
            )
        }
        CopyOutcome::Conflict => {
            format!("make both alike, or remove one of both, which is copied from the other then: {again}")
        }
        _ => format!("put the right bytes again where they are damaged, such as from the other store: {again}"),
    }
}

/// A text as one word of a shell.
fn shell_word(text: &str) -> String {
    let is_plain = |character: char| character.is_ascii_alphanumeric() || "/._-+=:@%,".contains(character);
    if text.chars().all(is_plain) { text.to_owned() } else { format!("'{}'", text.replace('\'', "'\\''")) }
}

/// Why an event cannot be recorded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct EventProblemView {
    /// What is wrong.
    pub problem: String,
    /// What to do.
    pub next: String,
}

impl From<EngineError> for EventProblemView {
    fn from(error: EngineError) -> Self {
        match error {
            EngineError::Advised(advised) => Self { problem: advised.error.chain(), next: advised.next },
            error => Self { problem: error.chain(), next: String::new() },
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
    /// Events of spaces that no rule copies from that store: nothing follows from them.
    pub without_rule: u64,
    /// Deletions of content items that rules copy, and of which nothing was known.
    pub unknown: u64,
}

/// A deletion that waits for a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HeldDeletionView {
    /// The space.
    pub space: String,
    /// The key.
    pub key: String,
    /// The store in which it was deleted.
    pub source: String,
    /// The store that has the copy.
    pub destination: String,
    /// When it was deleted, as it was reported.
    pub happened_at: String,
    /// Who reported it.
    pub actor: String,
    /// What was said of it.
    pub reason: String,
}
