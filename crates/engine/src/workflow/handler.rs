//! Runs the stages of the registered workflows as the tasks of their topics, and says what each end means for the item.

use std::sync::{Arc, Mutex, PoisonError};

use strongroom_registry::discarding;
use strongroom_registry::work::{Assignment, StageEnd};
use strongroom_registry::{Stage as Name, WaitReason};

use super::{Outcome, StageContext, StageError, Workflow, local_topic};
use crate::runtime::{Handler, Interrupted, TaskContext, TaskEnd, retry_delay};
use crate::{Home, crash_point};

/// A handler for every topic of the registered workflows.
pub(crate) fn handlers(home: &Arc<Home>) -> Vec<Arc<dyn Handler>> {
    let handler = |topic| Arc::new(StageHandler { home: home.clone(), topic }) as Arc<dyn Handler>;
    home.workflows().topics().into_iter().map(handler).collect()
}

/// Runs the stages of one topic.
struct StageHandler {
    home: Arc<Home>,
    topic: String,
}

impl Handler for StageHandler {
    fn topic(&self) -> &str {
        &self.topic
    }

    fn waits_for_servers(&self) -> bool {
        local_topic(&self.topic).is_some()
    }

    fn run(&self, assignment: &Assignment, task: &TaskContext) -> TaskEnd {
        let Some((claim, item)) = &assignment.claimed else {
            let reason = "a stage's task without a work item".to_owned();
            return TaskEnd::from(strongroom_queue::Outcome::Dead { reason });
        };
        let context = StageContext {
            home: &self.home,
            item,
            claim,
            task,
            writes: Mutex::default(),
            wrong_roots: Mutex::default(),
        };
        let defined = self.home.workflows().of(item.action).copied();
        let Some((workflow, stage)) = defined.and_then(|workflow| Some((workflow, workflow.stage(item.stage)?))) else {
            // The registry was given other workflows than the home has.
            let note = format!("this worker does not know the stage {} of {}", item.stage, item.action);
            return TaskEnd::from(StageEnd::Released { note });
        };
        let point = workflow.topic(item.stage);
        crash_point(&format!("{point}.begin"));
        let compared = self.home.compare_stores_at(claim.replacements).map_err(StageError::from);
        let end = match compared.and_then(|()| (stage.run)(&context)) {
            Ok(outcome) => {
                let end = TaskEnd::from(end_of_outcome(&workflow, item.stage, outcome));
                let writes = context.writes.into_inner().unwrap_or_else(PoisonError::into_inner);
                writes.into_iter().fold(end, TaskEnd::with)
            }
            Err(error) => {
                if matches!(error, StageError::Interrupted(Interrupted::LeaseLost) | StageError::Transient(_)) {
                    sweep_again(&context);
                }
                self.end_of_error(&workflow, &context, error).into()
            }
        };
        crash_point(&format!("{point}.end"));
        end
    }
}

fn end_of_outcome(workflow: &Workflow, stage: Name, outcome: Outcome) -> StageEnd {
    match outcome {
        Outcome::Done { note } => match workflow.after(stage) {
            Some(next) => StageEnd::Next { next, note },
            None => StageEnd::Succeeded { note },
        },
        Outcome::End { note } => StageEnd::Succeeded { note },
        Outcome::Skip { to, note } => StageEnd::Next { next: to, note },
        Outcome::RestartFrom { stage, note } => StageEnd::Back { to: stage, note },
    }
}

impl StageHandler {
    fn end_of_error(&self, workflow: &Workflow, context: &StageContext<'_>, error: StageError) -> StageEnd {
        match error {
            StageError::Fatal { note, problems } => StageEnd::Fatal { note, problems },
            StageError::Invalid { note, problems } => StageEnd::Invalid { note, problems },
            StageError::Interrupted(reason) => StageEnd::Released { note: reason.to_string() },
            StageError::Transient(note) => self.transient(context, note),
            StageError::Waits { until, reason, note } => StageEnd::Defer { until, reason, note },
            StageError::Away { store, reason } => {
                let now = context.now().unwrap_or(context.item.updated_at);
                let again = self.home.ask_again_for(&store);
                let until = now.plus(i64::try_from(again.as_micros()).unwrap_or(i64::MAX));
                let note = format!("waits for store {store}: {reason}");
                let is_refused = self.home.is_refused(&store);
                let reason = if is_refused { WaitReason::RefusedStore } else { WaitReason::Store };
                StageEnd::Defer { until, reason, note }
            }
            StageError::Changed { again_at, note } => {
                let max_losses = self.home.settings.pool(&self.topic).max_attempts;
                let advice = format!(
                    "it is another one each time it is read; next: see that it stays as it is, then: strongroom items requeue {}",
                    context.item.id
                );
                StageEnd::StagingLost { to: again_at, max_losses, note, advice }
            }
            StageError::Withdrawn(note) => StageEnd::Cancelled { note },
            StageError::StagingLost(note) => match workflow.restage.map_or(Ok(None), |restage| restage(context)) {
                Ok(Some(stage)) => self.staging_lost(context, stage, note),
                Ok(None) => self.transient(context, note),
                Err(StageError::Interrupted(reason)) => StageEnd::Released { note: reason.to_string() },
                Err(error) => self.transient(context, format!("{note}; what is staged could not be cleared: {error}")),
            },
        }
    }

    fn staging_lost(&self, context: &StageContext<'_>, stage: Name, note: String) -> StageEnd {
        let store = context.staging().name();
        let advice = format!(
            "the staging store {store} returns other bytes than were put into it; next: check its disk, or name \
             another store \
             in roles.staging, then: strongroom items requeue {}",
            context.item.id
        );
        let max_losses = self.home.settings.pool(&self.topic).max_attempts;
        StageEnd::StagingLost { to: stage, max_losses, note, advice }
    }

    fn transient(&self, context: &StageContext<'_>, note: String) -> StageEnd {
        let now = context.now().unwrap_or(context.item.updated_at);
        let delay = retry_delay(context.claim.spent.into());
        let retry_at = now.plus(i64::try_from(delay.as_micros()).unwrap_or(i64::MAX));
        let max_attempts = self.home.settings.pool(&self.topic).max_attempts;
        StageEnd::Transient { retry_at, max_attempts, note }
    }
}

/// A stage that lost its lease may have slept past the sweep of what it was writing: for a while those versions of the item are
/// swept again each hour.
fn sweep_again(context: &StageContext<'_>) {
    let item = context.item.id;
    // Where this fails, `store reconcile` finds what was put.
    let _ = context.registry().write(move |tx| discarding::sweep_again_of_item(tx, item));
}
