//! provision: staging space is reserved before a byte is read. Nobody waits holding space.

use strongroom_registry::{WaitReason, interim};

use crate::ingest::sweep;
use crate::workflow::{Outcome, StageContext, StageError};

/// How long a deposit sleeps that finds no room, unless one that ends wakes it, in microseconds.
const WAIT_FOR_ROOM: i64 = 60_000_000;

pub(crate) fn run(context: &StageContext<'_>) -> Result<Outcome, StageError> {
    let wanted = context.item.size.unwrap_or(0);
    let capacity = context.home.staging_capacity();
    if wanted > capacity {
        return Err(StageError::fatal(format!(
            "{wanted} bytes are more than all of staging ({capacity} bytes); raise staging.capacity or split the deposit"
        )));
    }
    let place = context.registry().read(|tx| interim::staging_place(tx, context.item.id))?;
    if place.is_none_or(|place| place.is_discarded) {
        // What is left of an earlier attempt has another place.
        sweep::clear_staging(context.home, context.item.id, &context.authority())?;
    }
    let has_room = context.write(move |tx, claim| interim::reserve(tx, claim, wanted, capacity))?;
    if has_room {
        return Ok(Outcome::done(format!("{wanted} bytes of staging reserved")));
    }
    let until = context.now()?.plus(WAIT_FOR_ROOM);
    Err(StageError::Waits {
        until,
        reason: WaitReason::StagingSpace,
        note: format!("waits for {wanted} bytes of room in staging"),
    })
}
