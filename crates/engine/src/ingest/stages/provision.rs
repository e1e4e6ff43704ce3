//! provision: staging space is reserved before a byte is read. No deposit waits while it has space. Small deposits pass large ones
//! that have to wait, until one has waited for long.

use strongroom_registry::counted;
use strongroom_registry::interim::{self, Demand, Provision};
use strongroom_registry::tenants;
use strongroom_registry::work;
use strongroom_registry::{ItemId, Scope, WaitKey, WaitReason};

use crate::ingest::sweep;
use crate::workflow::{Outcome, StageContext, StageError};

/// How long a deposit sleeps that finds no room, unless one that ends wakes it, in microseconds.
const WAIT_FOR_ROOM: i64 = 60_000_000;

pub(crate) fn run(context: &StageContext<'_>) -> Result<Outcome, StageError> {
    let demand = demand(context);
    let Demand { bytes, capacity, .. } = demand;
    if bytes > capacity {
        return Err(StageError::fatal(format!(
            "{bytes} bytes are more than all of staging ({capacity} bytes); raise staging.capacity or split the deposit"
        )));
    }
    let provision = || context.write(move |tx, claim| interim::provision(tx, claim, &demand));
    let mut provided = provision()?;
    if provided == Provision::Uncleared {
        // What is left of an earlier attempt has another place.
        sweep::clear_staging(context.home, context.item.id, &context.authority())?;
        provided = provision()?;
    }
    let behind = match provided {
        Provision::Reserved { was_first } => {
            if was_first {
                let item = context.item.id.0;
                context.with_end(move |tx, _| work::wake_all(tx, &WaitKey::staging(), Some(item)));
            }
            return Ok(Outcome::done(format!("{} of staging reserved", counted(bytes, "byte", "bytes"))));
        }
        Provision::NoRoom { behind } => behind,
        Provision::Uncleared => None,
    };
    if let Some(quota) = quota(context)?.filter(|quota| bytes > *quota) {
        return Err(StageError::fatal(more_than_quota(context, &format!("{bytes} bytes are"), quota)));
    }
    let until = context.now()?.plus(WAIT_FOR_ROOM);
    Err(StageError::Waits { until, reason: WaitReason::StagingSpace, note: waits_for(&demand, behind) })
}

/// What a deposit asks for. Of what is known to be nothing, nothing can be reserved: a deposit of unknown size begins while there is
/// some room left.
fn demand(context: &StageContext<'_>) -> Demand {
    let limits = context.home.staging_limits();
    let bytes = context.item.size.unwrap_or(0);
    let free = if bytes > 0 { bytes } else { limits.free_for_unknown };
    Demand { bytes, free, capacity: limits.capacity, first_after: limits.first_after }
}

/// How much the deposits of the institution may have in staging together, where that is limited.
pub(crate) fn quota(context: &StageContext<'_>) -> Result<Option<u64>, StageError> {
    let id = context.item.institution;
    let institution = context.registry().read(|tx| tenants::institution_by_id(tx, Scope::System, id))?;
    Ok(institution.and_then(|institution| institution.staging_quota))
}

/// Why a deposit can never begin that is larger than the quota of its institution.
pub(crate) fn more_than_quota(context: &StageContext<'_>, what: &str, quota: u64) -> String {
    let institution = &context.item.institution_identifier;
    format!(
        "{what} more than {institution} may have in staging ({quota} bytes); next: strongroom institution set {institution} \
         --staging-quota SIZE, or split the deposit"
    )
}

fn waits_for(demand: &Demand, behind: Option<ItemId>) -> String {
    let wanted = match demand.bytes {
        0 => format!("waits until {} bytes of staging are free: its size is not known", demand.free),
        bytes => format!("waits for {bytes} bytes of space in staging"),
    };
    match behind {
        Some(first) => {
            format!("{wanted}, behind work item {first}, which has waited for longer than staging.first_after")
        }
        None => wanted,
    }
}
