//! The tasks of topic `store.backfill`: one object in one store each.

use std::sync::Arc;

use strongroom_queue::Outcome;
use strongroom_registry::work::Assignment;

use crate::Home;
use crate::runtime::{Handler, TaskContext, TaskEnd};
use crate::task_kinds::TaskKind;
use crate::work::object_and_store;

/// The topic of bringing stores up to date.
pub const TOPIC: &str = "store.backfill";

/// The kind of what fills stores.
pub(crate) const TASK: TaskKind = TaskKind {
    topic: TOPIC,
    goes_after: &[],
    is_before_stages: false,
    handler: |home| Arc::new(BackfillHandler { home: home.clone() }),
};

struct BackfillHandler {
    home: Arc<Home>,
}

impl Handler for BackfillHandler {
    fn topic(&self) -> &str {
        TOPIC
    }

    fn run(&self, assignment: &Assignment, context: &TaskContext) -> TaskEnd {
        let (object, store) = match object_and_store(assignment) {
            Ok(parsed) => parsed,
            Err(end) => return end.into(),
        };
        if let Err(error) = super::check_store(&self.home, store) {
            return Outcome::Dead { reason: error.chain() }.into();
        }
        match super::bring_up(&self.home, object, store, context) {
            Ok(None) => Outcome::Done.into(),
            Ok(Some(filled)) if filled.is_whole() => Outcome::Done.into(),
            Ok(Some(filled)) if filled.reasons.is_empty() => {
                Outcome::Defer(context.time_after(self.home.settings.restoration.retrieval_poll)).into()
            }
            Ok(Some(filled)) => context.transient(assignment, filled.reasons.join("; ")),
            Err(halt) => halt.task_end(&self.home, assignment, context),
        }
    }
}
