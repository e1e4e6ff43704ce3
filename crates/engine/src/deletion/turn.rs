//! wait: the turn of a deletion among the deposits and deletions of its object: the older ones come first, and later ones wait for it.

use strongroom_registry::{RegistryError, Scope, WaitReason, items};

use crate::workflow::{Outcome, StageContext, StageError};

/// How long a deletion sleeps unless the older item wakes it by ending, in microseconds.
const WAIT_FOR_OLDER: i64 = 60_000_000;

pub(super) fn run(context: &StageContext<'_>) -> Result<Outcome, StageError> {
    let item = context.item;
    let older = context.registry().read(|tx| match items::older_open(tx, item)? {
        Some(older) => items::get(tx, Scope::System, older),
        None => Ok::<_, RegistryError>(None),
    })?;
    let Some(older) = older else { return Ok(Outcome::done("nothing older is to be done with the object")) };
    Err(StageError::Waits {
        until: context.now()?.plus(WAIT_FOR_OLDER),
        reason: WaitReason::OlderDeposit,
        note: format!("waits for the older work item {} ({} at {})", older.id, older.status, older.stage),
    })
}
