//! The tasks of topic `fixity.check`: one object in one store each, so that many small files cost one task.

use std::sync::Arc;

use strongroom_queue::Outcome;
use strongroom_registry::ObjectId;
use strongroom_registry::work::Assignment;

use super::unit::Unit;
use super::{FixitySummary, OperationError, now, run};
use crate::Home;
use crate::runtime::{Handler, TaskContext, TaskEnd};
use crate::task_kinds::TaskKind;
use crate::work::object_and_store;

/// The topic of checks.
pub const TOPIC: &str = "fixity.check";

/// The kind of checks.
pub(crate) const TASK: TaskKind = TaskKind {
    topic: TOPIC,
    goes_after: &[],
    is_before_stages: false,
    handler: |home| Arc::new(CheckHandler { home: home.clone() }),
};

struct CheckHandler {
    home: Arc<Home>,
}

impl Handler for CheckHandler {
    fn topic(&self) -> &str {
        TOPIC
    }

    fn run(&self, assignment: &Assignment, context: &TaskContext) -> TaskEnd {
        let (object, store) = match object_and_store(assignment) {
            Ok(parsed) => parsed,
            Err(end) => return end.into(),
        };
        match self.check(object, store, context) {
            Ok(None) => Outcome::Done.into(),
            Ok(Some(reason)) => context.transient(assignment, reason),
            Err(halt) => halt.task_end(&self.home, assignment, context),
        }
    }
}

impl CheckHandler {
    /// Checks what is due now: a copy that another process checked since the task was made is fresh, and skipped.
    fn check(&self, object: ObjectId, store: &str, context: &TaskContext) -> Result<Option<String>, OperationError> {
        let before = run::due_before(&self.home, now(&self.home)?);
        let unit = Unit { home: &self.home, object, store, before, actor: None, go_on: context };
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
