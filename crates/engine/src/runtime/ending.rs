//! The end of a task as it is written to the registry, whichever kind of task it was.

use std::sync::Arc;
use std::time::Duration;

use strongroom_queue::{Lease, Outcome, Settled, Settlement, tasks};
use strongroom_registry::work::{self, Assignment, Claim, Room, StageEnd};
use strongroom_registry::{RegistryError, Subject, Transaction, WaitReason, Workflows};

use super::held::Held;
use super::pool::Work;
use super::{End, TaskEnd, Writes};
use crate::event::Event;

/// The end of a task as it is to be recorded.
#[derive(Clone)]
pub(super) struct Record {
    ended: Ended,
    writes: Arc<[Box<Writes>]>,
}

#[derive(Debug, Clone)]
enum Ended {
    Stage { claim: Claim, end: StageEnd, next_topic: Option<String>, is_inline: bool },
    Task { settlement: Settlement, topic: String },
}

impl Record {
    /// An end of the wrong kind becomes the nearest of the right one: nothing may be left without an end.
    pub(super) fn new(work: &Work, ended: TaskEnd, workflows: &dyn Workflows) -> Self {
        let task = &work.assignment.task;
        let TaskEnd { end, writes } = ended;
        let writes = writes.into();
        let Some((claim, item)) = &work.assignment.claimed else {
            let outcome = match end {
                End::Task(outcome) => outcome,
                End::Stage(end) => outcome_of(end),
            };
            let settlement = Settlement { lease: task.lease, outcome };
            return Self { ended: Ended::Task { settlement, topic: task.topic.clone() }, writes };
        };
        let end = match end {
            End::Stage(end) => end,
            End::Task(outcome) => stage_end_of(outcome, task.max_attempts),
        };
        let next = match &end {
            StageEnd::Next { next, .. } | StageEnd::Back { to: next, .. } => {
                Some(workflows.position(Subject::from(item.as_ref()), *next))
            }
            _ => None,
        };
        let is_inline = next.as_ref().is_some_and(|next| next.is_inline) && matches!(end, StageEnd::Next { .. });
        let next_topic = next.map(|next| next.topic);
        Self { ended: Ended::Stage { claim: claim.clone(), end, next_topic, is_inline }, writes }
    }

    pub(super) fn write(
        &self,
        tx: &mut dyn Transaction,
        workflows: &dyn Workflows,
        holder: &str,
        room: Option<&Room>,
    ) -> Result<(Vec<String>, Option<Assignment>), RegistryError> {
        let mut topics = Vec::new();
        if !self.writes.is_empty() {
            // Everybody takes the task first, and then what it stands for.
            tasks::lock(tx, self.lease())?;
        }
        for write in &*self.writes {
            topics.extend(write(tx)?);
        }
        match &self.ended {
            Ended::Stage { claim, end, .. } => {
                if let Some(room) = room
                    && let Some(goes_on) = work::advance(tx, workflows, claim, (end, room), holder)?
                {
                    return Ok((topics, Some(goes_on)));
                }
                topics.extend(work::finish(tx, workflows, claim, holder, end)?);
            }
            Ended::Task { settlement, topic } => match tasks::settle(tx, std::slice::from_ref(settlement))?.first() {
                Some(Settled::Ok | Settled::Buried) => topics.push(topic.clone()),
                _ => return Err(RegistryError::FenceLost { what: "task", id: settlement.lease.task.to_string() }),
            },
        }
        Ok((topics, None))
    }

    /// Whether the next stage of the item may begin under the lease of this one.
    pub(super) fn may_go_on(&self) -> bool {
        matches!(self.ended, Ended::Stage { is_inline: true, .. })
    }

    /// The task given back with its attempt, where something was to be written with its end; none where nothing was.
    pub(super) fn without_writes(&self) -> Option<Self> {
        if self.writes.is_empty() {
            return None;
        }
        let ended = match self.ended.clone() {
            Ended::Stage { claim, .. } => {
                let end = StageEnd::Released { note: "what it wrote with its end was refused".into() };
                Ended::Stage { claim, end, next_topic: None, is_inline: false }
            }
            Ended::Task { settlement, topic } => {
                Ended::Task { settlement: Settlement { outcome: Outcome::Release, ..settlement }, topic }
            }
        };
        Some(Self { ended, writes: Arc::new([]) })
    }

    fn lease(&self) -> Lease {
        match &self.ended {
            Ended::Stage { claim, .. } => claim.lease,
            Ended::Task { settlement, .. } => settlement.lease,
        }
    }

    pub(super) fn next_topic(&self) -> Option<String> {
        match &self.ended {
            Ended::Stage { next_topic, .. } => next_topic.clone(),
            Ended::Task { .. } => None,
        }
    }

    /// Whether the item may have ended by this.
    pub(super) fn ends_item(&self) -> bool {
        self.next_topic().is_none()
    }

    pub(super) fn emit(&self, held: &Held, elapsed: Duration) {
        let (end, note) = match &self.ended {
            Ended::Stage { end, .. } => stage_words(end),
            Ended::Task { settlement, .. } => task_words(&settlement.outcome),
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
