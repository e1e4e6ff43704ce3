//! The tasks of topic `store.backfill`: one object in one store each.

use std::sync::Arc;
use std::time::Duration;

use strongroom_queue::Outcome;
use strongroom_registry::ObjectId;
use strongroom_registry::work::Assignment;

use crate::Home;
use crate::hold::{OperationError, ask_again};
use crate::runtime::{Handler, TaskContext, TaskEnd};

/// The topic of bringing stores up to date.
pub const TOPIC: &str = "store.backfill";

/// The handlers of bringing stores up to date.
pub fn handlers(home: &Arc<Home>) -> Vec<Arc<dyn Handler>> {
    vec![Arc::new(BackfillHandler { home: home.clone() })]
}

/// The key of the task for an object in a store.
pub(super) fn key(object: ObjectId, store: &str) -> String {
    format!("{object}/{store}")
}

struct BackfillHandler {
    home: Arc<Home>,
}

impl Handler for BackfillHandler {
    fn topic(&self) -> &str {
        TOPIC
    }

    fn run(&self, assignment: &Assignment, context: &TaskContext) -> TaskEnd {
        let parsed = assignment.task.key.split_once('/');
        let Some((object, store)) = parsed.and_then(|(object, store)| Some((object.parse().ok()?, store))) else {
            return Outcome::Dead { reason: "the task's key is no object and store".into() }.into();
        };
        if let Err(error) = super::check_store(&self.home, store) {
            return Outcome::Dead { reason: error.chain() }.into();
        }
        let go_on = || context.check();
        match super::bring_up(&self.home, object, store, &go_on) {
            Ok(None) => Outcome::Done.into(),
            Ok(Some(filled)) if filled.is_whole() => Outcome::Done.into(),
            Ok(Some(filled)) if filled.reasons.is_empty() => {
                Outcome::Defer(context.time_after(self.home.settings.restoration.retrieval_poll)).into()
            }
            Ok(Some(filled)) => context.transient(assignment, filled.reasons.join("; ")),
            Err(OperationError::Busy(until)) => {
                Outcome::Defer(ask_again(context.time_after(Duration::ZERO), until)).into()
            }
            Err(OperationError::Interrupted(reason)) => reason.into(),
            // No attempt is spent on a store that is away.
            Err(OperationError::Engine(error)) if error.away().is_some() => {
                let again = error.away().map(|(store, _)| self.home.ask_again_for(store));
                Outcome::Defer(context.time_after(again.unwrap_or_default())).into()
            }
            Err(OperationError::Engine(error)) => context.transient(assignment, error.chain()),
        }
    }
}
