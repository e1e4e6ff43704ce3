//! The end of a task as it is written to the registry, whichever kind of task it was.

use std::time::Duration;

use strongroom_queue::{Outcome, Settled, Settlement, tasks};
use strongroom_registry::work::{self, Claim, StageEnd};
use strongroom_registry::{RegistryError, Subject, Transaction, WaitReason, Workflows};

use super::TaskEnd;
use super::held::Held;
use super::pool::Work;
use crate::event::Event;

/// The end of a task as it is to be recorded.
#[derive(Debug, Clone)]
pub(super) enum Record {
    Stage { claim: Claim, end: StageEnd, next_topic: Option<String> },
    Task { settlement: Settlement, topic: String },
}

impl Record {
    /// An end of the wrong kind becomes the nearest of the right one: nothing may be left without an end.
    pub(super) fn new(work: &Work, end: TaskEnd, workflows: &dyn Workflows) -> Self {
        let task = &work.assignment.task;
        let Some((claim, item)) = &work.assignment.claimed else {
            let outcome = match end {
                TaskEnd::Task(outcome) => outcome,
                TaskEnd::Stage(end) => outcome_of(end),
            };
            return Self::Task { settlement: Settlement { lease: task.lease, outcome }, topic: task.topic.clone() };
        };
        let end = match end {
            TaskEnd::Stage(end) => end,
            TaskEnd::Task(outcome) => stage_end_of(outcome, task.max_attempts),
        };
        let next_topic = match &end {
            StageEnd::Next { next, .. } | StageEnd::Back { to: next, .. } => {
                Some(workflows.position(Subject::from(item.as_ref()), *next).topic)
            }
            _ => None,
        };
        Self::Stage { claim: claim.clone(), end, next_topic }
    }

    pub(super) fn write(
        &self,
        tx: &mut dyn Transaction,
        workflows: &dyn Workflows,
        holder: &str,
    ) -> Result<Vec<String>, RegistryError> {
        match self {
            Self::Stage { claim, end, .. } => work::finish(tx, workflows, claim, holder, end),
            Self::Task { settlement, topic } => match tasks::settle(tx, std::slice::from_ref(settlement))?.first() {
                Some(Settled::Ok | Settled::Buried) => Ok(vec![topic.clone()]),
                _ => Err(RegistryError::FenceLost { what: "task", id: settlement.lease.task.to_string() }),
            },
        }
    }

    pub(super) fn next_topic(&self) -> Option<String> {
        match self {
            Self::Stage { next_topic, .. } => next_topic.clone(),
            Self::Task { .. } => None,
        }
    }

    /// Whether the item may have ended by this.
    pub(super) fn ends_item(&self) -> bool {
        self.next_topic().is_none()
    }

    pub(super) fn emit(&self, held: &Held, elapsed: Duration) {
        let (end, note) = match self {
            Self::Stage { end, .. } => stage_words(end),
            Self::Task { settlement, .. } => task_words(&settlement.outcome),
        };
        Event::TaskEnded { topic: &held.topic, key: &held.key, end, note, elapsed }.emit();
    }
}

fn outcome_of(end: StageEnd) -> Outcome {
    match end {
        StageEnd::Next { .. }
        | StageEnd::Back { .. }
        | StageEnd::StagingLost { .. }
        | StageEnd::Succeeded { .. }
        | StageEnd::Cancelled { .. } => Outcome::Done,
        StageEnd::Defer { until, .. } => Outcome::Defer(until),
        StageEnd::Transient { retry_at, note, .. } => Outcome::RetryAt { at: retry_at, reason: note },
        StageEnd::Fatal { note, .. } | StageEnd::Invalid { note, .. } | StageEnd::Held { note } => {
            Outcome::Dead { reason: note }
        }
        StageEnd::Released { .. } => Outcome::Release,
    }
}

fn stage_end_of(outcome: Outcome, max_attempts: u32) -> StageEnd {
    match outcome {
        Outcome::Defer(until) => StageEnd::Defer { until, reason: WaitReason::Other, note: "waits".into() },
        Outcome::RetryAt { at, reason } => StageEnd::Transient { retry_at: at, max_attempts, note: reason },
        Outcome::Dead { reason } => StageEnd::Fatal { note: reason, problems: Vec::new() },
        Outcome::Release => StageEnd::Released { note: "given back unbegun".into() },
        Outcome::Done => StageEnd::Held { note: "the stage ended without saying what comes next".into() },
    }
}

fn stage_words(end: &StageEnd) -> (&'static str, &str) {
    match end {
        StageEnd::Next { note, .. } => ("next", note),
        StageEnd::Defer { note, .. } => ("deferred", note),
        StageEnd::Transient { note, .. } => ("transient", note),
        StageEnd::Fatal { note, .. } => ("fatal", note),
        StageEnd::Invalid { note, .. } => ("invalid", note),
        StageEnd::StagingLost { note, .. } => ("staging lost", note),
        StageEnd::Back { note, .. } => ("back", note),
        StageEnd::Held { note } => ("held", note),
        StageEnd::Succeeded { note } => ("succeeded", note),
        StageEnd::Cancelled { note } => ("cancelled", note),
        StageEnd::Released { note } => ("released", note),
    }
}

fn task_words(outcome: &Outcome) -> (&'static str, &str) {
    match outcome {
        Outcome::Done => ("done", ""),
        Outcome::RetryAt { reason, .. } => ("transient", reason),
        Outcome::Defer(_) => ("deferred", ""),
        Outcome::Dead { reason } => ("dead", reason),
        Outcome::Release => ("released", ""),
    }
}
