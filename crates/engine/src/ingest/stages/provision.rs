//! provision: staging space is reserved before a byte is read. Nobody waits holding space.

use strongroom_registry::work::StageEnd;
use strongroom_registry::{Stage, WaitReason, interim};

use crate::ingest::context::{StageContext, StageError};
use crate::ingest::sweep;

/// How long a deposit sleeps that finds no room, unless one that ends wakes it, in microseconds.
const WAIT_FOR_ROOM: i64 = 60_000_000;

pub(super) fn run(context: &StageContext<'_>) -> Result<StageEnd, StageError> {
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
        return Ok(StageEnd::Next { next: Stage::Fetch, note: format!("{wanted} bytes of staging reserved") });
    }
    let until = context.now()?.plus(WAIT_FOR_ROOM);
    Ok(StageEnd::Defer {
        until,
        reason: WaitReason::StagingSpace,
        note: format!("waits for {wanted} bytes of room in staging"),
    })
}
