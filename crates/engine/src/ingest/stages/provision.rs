//! provision: staging space is reserved before a byte is read. No deposit waits while it has space.

use strongroom_registry::WaitReason;
use strongroom_registry::counted;
use strongroom_registry::interim::{self, Provision};

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
    let provision = || context.write(move |tx, claim| interim::provision(tx, claim, wanted, capacity));
    let mut provided = provision()?;
    if provided == Provision::Uncleared {
        // What is left of an earlier attempt has another place.
        sweep::clear_staging(context.home, context.item.id, &context.authority())?;
        provided = provision()?;
    }
    if provided == Provision::Reserved {
        return Ok(Outcome::done(format!("{} of staging reserved", counted(wanted, "byte", "bytes"))));
    }
    let until = context.now()?.plus(WAIT_FOR_ROOM);
    Err(StageError::Waits {
        until,
        reason: WaitReason::StagingSpace,
        note: format!("waits for {wanted} bytes of space in staging"),
    })
}
