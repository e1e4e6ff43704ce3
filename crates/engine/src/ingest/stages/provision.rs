//! provision: staging space is reserved before a byte is read. No deposit waits while it has space.

use strongroom_registry::counted;
use strongroom_registry::interim::{self, Provision};
use strongroom_registry::tenants;
use strongroom_registry::{Scope, WaitReason};

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
    // Of what is known to be nothing, nothing can be reserved: a deposit of unknown size begins while there is some room left.
    let is_known = context.item.size.is_some_and(|size| size > 0);
    let limit = if is_known { capacity } else { capacity / 5 * 4 };
    let provision = || context.write(move |tx, claim| interim::provision(tx, claim, wanted, limit));
    let mut provided = provision()?;
    if provided == Provision::Uncleared {
        // What is left of an earlier attempt has another place.
        sweep::clear_staging(context.home, context.item.id, &context.authority())?;
        provided = provision()?;
    }
    if provided == Provision::Reserved {
        return Ok(Outcome::done(format!("{} of staging reserved", counted(wanted, "byte", "bytes"))));
    }
    let institution =
        context.registry().read(|tx| tenants::institution_by_id(tx, Scope::System, context.item.institution))?;
    let quota = institution.and_then(|institution| institution.staging_quota);
    if let Some(quota) = quota.filter(|quota| wanted > *quota) {
        return Err(StageError::fatal(format!(
            "{wanted} bytes are more than {} may have in staging ({quota} bytes); next: strongroom institution set {} --staging-quota SIZE, or \
             split the deposit",
            context.item.institution_identifier, context.item.institution_identifier
        )));
    }
    let until = context.now()?.plus(WAIT_FOR_ROOM);
    Err(StageError::Waits {
        until,
        reason: WaitReason::StagingSpace,
        note: format!("waits for {wanted} bytes of space in staging"),
    })
}
