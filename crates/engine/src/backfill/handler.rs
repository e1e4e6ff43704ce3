//! The tasks of topic `store.backfill`: one object in one store each.

use std::sync::Arc;

use strongroom_queue::{Outcome, tasks};
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
        match super::bring_up(&self.home, object, store, context) {
            Ok(None) => done(assignment),
            Ok(Some(filled)) if filled.is_whole() => done(assignment),
            Ok(Some(filled)) if filled.reasons.is_empty() => {
                Outcome::Defer(context.time_after(self.home.settings.restoration.retrieval_poll)).into()
            }
            Ok(Some(filled)) => context.transient(assignment, filled.reasons.join("; ")),
            Err(halt) => halt.task_end(&self.home, assignment, context),
        }
    }
}

/// The end of a task after which nothing is lacking: the tasks of the same object and store that were given up before are not needed any more.
fn done(assignment: &Assignment) -> TaskEnd {
    let key = assignment.task.key.clone();
    TaskEnd::from(Outcome::Done).with(Box::new(move |tx, _| {
        tasks::delete_dead_of_key(tx, TOPIC, &key)?;
        Ok(Vec::new())
    }))
}
