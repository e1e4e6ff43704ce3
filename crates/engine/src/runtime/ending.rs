//! How a task ended, whichever kind of task it was, and how that is written to the registry.

use std::sync::Arc;
use std::time::Duration;

use strongroom_queue::{Outcome, Settled, Settlement, tasks};
use strongroom_registry::work::{self, Assignment, BareEnd, Claim, Ended, Next, Room, StageEnd};
use strongroom_registry::{Position, RegistryError, Subject, Transaction, WaitReason, Workflows};

use super::held::HeldTask;
use crate::event::Event;

/// How a task ended, and what is to be written with its end.
#[derive(Clone)]
pub struct TaskEnd {
    end: End,
    writes: Vec<Arc<Writes>>,
}

/// What is written in the transaction that records the end of a task, before the end itself: the topics that have new work by it.
/// The task is locked; what else it decides by it locks itself, since others write at the same time. Where the transaction does
/// not come about, or it cannot be determined whether it did, it is run again: identifiers of what it appends are
/// fixed beforehand. Where another process has the task by then, nothing is written.
///
/// Of a task that is a stage of a work item they are given its claim. The end checks its fence behind them, for all of them, so
/// that they carry that claim and no other.
pub type Writes = dyn Fn(&mut dyn Transaction, Option<&Claim>) -> Result<Vec<String>, RegistryError> + Send + Sync;

#[derive(Debug, Clone)]
enum End {
    /// Of a task that is a stage of a work item.
    Stage(StageEnd),
    /// Of any other task.
    Task(Outcome),
}

impl TaskEnd {
    /// The same end, with which these are written.
    #[must_use]
    pub fn with(mut self, writes: Box<Writes>) -> Self {
        self.writes.push(writes.into());
        self
    }

    /// The same as the end of this task: one of the wrong kind becomes the nearest of the right one, for nothing may be left
    /// without an end.
    pub(super) fn fitting(self, assignment: &Assignment) -> Self {
        let end = match (self.end, &assignment.claimed) {
            (End::Task(outcome), Some(_)) => End::Stage(stage_end_of(outcome, assignment.task.max_attempts)),
            (End::Stage(end), None) => End::Task(outcome_of(&end)),
            (end, _) => end,
        };
        Self { end, ..self }
    }

    /// The same task returned with its attempt, where something was to be written with its end; none where nothing was.
    pub(super) fn without_writes(&self) -> Option<Self> {
        if self.writes.is_empty() {
            return None;
        }
        Some(match &self.end {
            End::Stage(_) => StageEnd::Released { note: "what it wrote with its end was refused".into() }.into(),
            End::Task(_) => Outcome::Release.into(),
        })
    }

    /// Where the item of the task goes by it, where that is another stage.
    pub(super) fn next(&self, assignment: &Assignment, workflows: &dyn Workflows) -> Option<Position> {
        match (&self.end, &assignment.claimed) {
            (End::Stage(StageEnd::Next { next, .. } | StageEnd::Back { to: next, .. }), Some((_, item))) => {
                Some(workflows.position(Subject::from(item.as_ref()), *next))
            }
            _ => None,
        }
    }

    /// Whether the work item of the task succeeds by it.
    pub(super) fn is_success(&self) -> bool {
        matches!(self.end, End::Stage(StageEnd::Succeeded { .. }))
    }

    /// Whether it is the end of a stage of a work item that is held.
    pub(super) fn is_of_stage(&self, held: &HeldTask) -> bool {
        matches!(self.end, End::Stage(_)) && held.claim.is_some()
    }

    /// The end of a stage that others may be written with: nothing else is written with it, and the worker may go on with the item at once, or
    /// the item succeeds.
    pub(super) fn bare(&self, held: &HeldTask, (room, known_schema): (Option<Room>, Option<u32>)) -> Option<BareEnd> {
        let (End::Stage(end), Some(claim)) = (&self.end, &held.claim) else { return None };
        let leads_on = matches!(end, StageEnd::Next { .. }) && room.is_some();
        let is_bare = self.writes.is_empty() && (leads_on || self.is_success());
        is_bare.then(|| BareEnd { claim: claim.clone(), end: end.clone(), room, known_schema })
    }

    /// Writes the end of a task that is held: what is reported of the end of a stage, and the topics that have new work
    /// by any other.
    pub(super) fn write(
        &self,
        tx: &mut dyn Transaction,
        held: &HeldTask,
        (workflows, holder): (&dyn Workflows, &str),
        (room, known_schema): (Option<&Room>, Option<u32>),
    ) -> Result<Ended, RegistryError> {
        let writes = |tx: &mut dyn Transaction, claim: Option<&Claim>| {
            let mut topics = Vec::new();
            for write in &self.writes {
                topics.extend(write(tx, claim)?);
            }
            Ok::<_, RegistryError>(topics)
        };
        if let (End::Stage(end), Some(claim)) = (&self.end, &held.claim) {
            let of_stage = |tx: &mut dyn Transaction, claim: &Claim| writes(tx, Some(claim));
            let of_stage = (!self.writes.is_empty()).then_some(&of_stage as _);
            let next = Next { writes: of_stage, room, known_schema };
            return work::end_stage(tx, workflows, (claim, holder), end, next);
        }
        if !self.writes.is_empty() {
            // Everybody takes the task first, and then what it stands for.
            tasks::lock(tx, held.lease)?;
        }
        let mut topics = writes(tx, None)?;
        let outcome = match &self.end {
            End::Stage(end) => outcome_of(end),
            End::Task(outcome) => outcome.clone(),
        };
        match tasks::settle(tx, &[Settlement { lease: held.lease, outcome }])?.first() {
            Some(Settled::Ok | Settled::Buried) => topics.push(held.topic.clone()),
            _ => return Err(RegistryError::FenceLost { what: "task", id: held.lease.task.to_string() }),
        }
        Ok(Ended { topics, ..Ended::default() })
    }

    pub(super) fn emit(&self, held: &HeldTask, elapsed: Duration) {
        let (end, note) = match &self.end {
            End::Stage(end) => stage_words(end),
            End::Task(outcome) => task_words(outcome),
        };
        Event::TaskEnded { topic: &held.topic, key: &held.key, end, note, elapsed }.emit();
    }
}

impl From<StageEnd> for TaskEnd {
    fn from(end: StageEnd) -> Self {
        Self { end: End::Stage(end), writes: Vec::new() }
    }
}

impl From<Outcome> for TaskEnd {
    fn from(outcome: Outcome) -> Self {
        Self { end: End::Task(outcome), writes: Vec::new() }
    }
}

fn outcome_of(end: &StageEnd) -> Outcome {
    match end {
        StageEnd::Next { .. }
        | StageEnd::Back { .. }
        | StageEnd::StagingLost { .. }
        | StageEnd::Succeeded { .. }
        | StageEnd::Cancelled { .. } => Outcome::Done,
        StageEnd::Defer { until, .. } => Outcome::Defer(*until),
        StageEnd::Transient { retry_at, note, .. } => Outcome::RetryAt { at: *retry_at, reason: note.clone() },
        StageEnd::Fatal { note, .. } | StageEnd::Invalid { note, .. } | StageEnd::Held { note } => {
            Outcome::Dead { reason: note.clone() }
        }
        StageEnd::Released { .. } => Outcome::Release,
    }
}

fn stage_end_of(outcome: Outcome, max_attempts: u32) -> StageEnd {
    match outcome {
        Outcome::Defer(until) => StageEnd::Defer { until, reason: WaitReason::Other, note: "waits".into() },
        Outcome::RetryAt { at, reason } => StageEnd::Transient { retry_at: at, max_attempts, note: reason },
        Outcome::Dead { reason } => StageEnd::Fatal { note: reason, problems: Vec::new() },
        Outcome::Release => StageEnd::Released { note: "returned to the queue before it began".into() },
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
