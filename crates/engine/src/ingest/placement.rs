//! What the stores that keep a deposit lack of its object's earlier versions.

use strongroom_registry::objects::Object;

use super::version::going_forward;
use crate::backfill;
use crate::home::NamedStore;
use crate::workflow::{StageContext, StageError};

/// Brings what the stores lack of the published versions of an object.
pub(super) fn bring_up(context: &StageContext<'_>, object: &Object, stores: &[NamedStore]) -> Result<(), StageError> {
    let stores: Vec<String> = stores.iter().map(|(name, _)| name.clone()).collect();
    let go_on = || context.task.check();
    match backfill::bring_up_for(context.home, context.claim, object, &stores, &go_on) {
        Ok(None) => Ok(()),
        Ok(Some(reason)) => Err(StageError::Transient(reason)),
        Err(halt) => Err(StageError::of_halt(halt, going_forward)),
    }
}
