//! The tasks of topic `fixity.check`: one object in one store each, so that many small files cost one task.

use std::sync::Arc;

use strongroom_queue::Outcome;
use strongroom_registry::ObjectId;
use strongroom_registry::work::Assignment;

use super::unit::Unit;
use super::{FixitySummary, OperationError, now, run};
use crate::Home;
use crate::hold::ask_again;
use crate::runtime::{Handler, TaskContext, TaskEnd};

/// The topic of checks.
pub const TOPIC: &str = "fixity.check";

/// The handlers of watching.
pub fn handlers(home: &Arc<Home>) -> Vec<Arc<dyn Handler>> {
    vec![Arc::new(CheckHandler { home: home.clone() })]
}

/// The key of the task for an object in a store.
pub(super) fn key(object: ObjectId, store: &str) -> String {
    format!("{object}/{store}")
}

struct CheckHandler {
    home: Arc<Home>,
}

impl Handler for CheckHandler {
    fn topic(&self) -> &str {
        TOPIC
    }

    fn run(&self, assignment: &Assignment, context: &TaskContext) -> TaskEnd {
        let parsed =
            assignment.task.key.split_once('/').and_then(|(object, store)| Some((object.parse().ok()?, store)));
        let Some((object, store)) = parsed else {
            return Outcome::Dead { reason: "the task's key is no object and store".into() }.into();
        };
        match self.check(object, store, context) {
            Ok(None) => Outcome::Done.into(),
            Ok(Some(end)) => context.transient(assignment, end),
            Err(OperationError::Busy(until)) => {
                let now = context.time_after(std::time::Duration::ZERO);
                Outcome::Defer(ask_again(now, until)).into()
            }
            Err(OperationError::Interrupted(reason)) => reason.into(),
            Err(OperationError::Engine(error)) if error.away().is_some() => {
                let again = error.away().map(|(store, _)| self.home.ask_again_for(store));
                Outcome::Defer(context.time_after(again.unwrap_or_default())).into()
            }
            Err(OperationError::Engine(error)) => context.transient(assignment, error.chain()),
        }
    }
}

impl CheckHandler {
    /// Checks what is due now: a copy that somebody else checked since the task was made is fresh, and skipped.
    fn check(&self, object: ObjectId, store: &str, context: &TaskContext) -> Result<Option<String>, OperationError> {
        let before = run::due_before(&self.home, now(&self.home)?);
        let go_on = || context.check();
        let unit = Unit { home: &self.home, object, store, before, go_on: &go_on };
        let checked = unit.check(usize::MAX, &mut FixitySummary::default())?;
        match (checked.failure, checked.busy_until) {
            // No attempt is spent on a store that is away.
            (Some(error), _) if error.away().is_some() => Err(error.into()),
            (Some(error), _) => Ok(Some(error.chain())),
            (None, Some(until)) => Err(OperationError::Busy(until)),
            (None, None) => Ok(None),
        }
    }
}
