//! The tasks of topic `signatures.reidentify`: one object each, whose files were identified with other signature files.

use std::sync::Arc;

use strongroom_queue::Outcome;
use strongroom_registry::ObjectId;
use strongroom_registry::work::Assignment;

use super::renewal::Renewal;
use super::{Identifying, ReidentifySummary};
use crate::Home;
use crate::hold::OperationError;
use crate::runtime::{Handler, TaskContext, TaskEnd};
use crate::task_kinds::TaskKind;

/// The topic of identification anew.
pub const TOPIC: &str = "signatures.reidentify";

/// The kind of renewed identification.
pub(crate) const TASK: TaskKind = TaskKind {
    topic: TOPIC,
    goes_after: &[],
    is_before_stages: false,
    handler: |home| Arc::new(RenewalHandler { home: home.clone() }),
};

struct RenewalHandler {
    home: Arc<Home>,
}

impl Handler for RenewalHandler {
    fn topic(&self) -> &str {
        TOPIC
    }

    fn run(&self, assignment: &Assignment, context: &TaskContext) -> TaskEnd {
        let Ok(object) = assignment.task.key.parse::<ObjectId>() else {
            return Outcome::Dead { reason: "the task's key is no object".into() }.into();
        };
        match self.renew(object, context) {
            Ok(None) => Outcome::Done.into(),
            Ok(Some(reason)) => context.transient(assignment, reason),
            Err(halt) => halt.task_end(&self.home, assignment, context),
        }
    }
}

impl RenewalHandler {
    /// Identifies what was not identified with the signature files in use now; why some files could not be.
    fn renew(&self, object: ObjectId, context: &TaskContext) -> Result<Option<String>, OperationError> {
        let with = Identifying::of(&self.home)?;
        let renewal = Renewal { home: &self.home, object, with: &with, go_on: context };
        let mut summary = ReidentifySummary::default();
        renewal.renew(&mut summary)?;
        Ok(summary.errors.into_iter().next())
    }
}
