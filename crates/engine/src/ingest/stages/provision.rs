//! provision: a place in staging before a byte is read, with space for all of what lies here; of what others state, as its bytes come. No
//! deposit waits while it has space. Small deposits pass large ones that have to wait, until one has waited for long.

use strongroom_registry::counted;
use strongroom_registry::interim::{self, Demand, Provision, SpaceHolder};
use strongroom_registry::items;
use strongroom_registry::tenants;
use strongroom_registry::work;
use strongroom_registry::{ItemId, Scope, WaitKey, WaitReason};

use crate::ingest::deposit::DepositOptions;
use crate::ingest::intake::{PackageSource, package_source};
use crate::ingest::kept_downloads;
use crate::ingest::kind::DepositKind;
use crate::ingest::sweep;
use crate::ingest::workflow::restage;
use crate::workflow::{Outcome, StageContext, StageError};

/// How long a deposit sleeps that finds no room, unless one that ends wakes it, in microseconds.
const WAIT_FOR_ROOM: i64 = 60_000_000;

pub(crate) fn run(context: &StageContext<'_>) -> Result<Outcome, StageError> {
    let demand = demand(context)?;
    let (capacity, size) = (demand.capacity, context.item.size.unwrap_or(0));
    if size > capacity {
        return Err(StageError::fatal(format!(
            "{size} bytes are more than all of staging ({capacity} bytes); next: raise staging.capacity or split the deposit"
        )));
    }
    if size > demand.bytes {
        check_quota(context, size)?;
    }
    let provision = || context.write(move |tx, claim| interim::provision(tx, claim, &demand));
    let mut provided = provision()?;
    if provided == Provision::Uncleared {
        // What is left of an earlier attempt has another place.
        sweep::clear_staging(context.home, context.item.id, &context.authority())?;
        provided = provision()?;
    }
    match provided {
        Provision::Reserved { was_first } => {
            if was_first {
                let item = context.item.id.0;
                context.with_end(move |tx, _| work::wake_all(tx, &WaitKey::staging(), Some(item)));
            }
            let note = match demand.free {
                0 => format!("{} of staging reserved", counted(demand.bytes, "byte", "bytes")),
                _ => "has a place in staging; space is reserved when its bytes come".to_owned(),
            };
            Ok(Outcome::done(note))
        }
        Provision::NoRoom { needed, free, refused, behind, most, is_quota } => {
            check_quota(context, size)?;
            return_space(context)?;
            let note = if is_quota {
                let institution = &context.item.institution_identifier;
                format!("waits for {needed} bytes of the staging quota of {institution}, {free} free")
                    + &before(refused)
            } else {
                waits_for(&demand, size, (needed, refused), free)
            };
            Err(waits(context, note + &whose(context, behind, most)?)?)
        }
        Provision::Uncleared => Err(waits(context, "waits until what it had in staging is removed".to_owned())?),
    }
}

fn waits(context: &StageContext<'_>, note: String) -> Result<StageError, StageError> {
    let until = context.now()?.plus(WAIT_FOR_ROOM);
    Ok(StageError::Waits { until, reason: WaitReason::StagingSpace, note })
}

/// Gives back what a deposit has that failed or was read before, and that has to wait now: two of them could wait for each other.
pub(super) fn return_space(context: &StageContext<'_>) -> Result<(), StageError> {
    let item = context.item.id;
    if !context.registry().read(|tx| interim::has_reservation(tx, item))? {
        return Ok(());
    }
    if restage(context)?.is_none() {
        // Its version is being committed: it goes only forward, with what it has.
        return Ok(());
    }
    // What cannot be removed now is removed with the item.
    let _ = kept_downloads::forget(context.home, item);
    let topics = context.write(move |tx, _| work::wake_all(tx, &WaitKey::staging(), Some(item.0)))?;
    context.registry().wakeups().notify(topics.iter().map(String::as_str));
    Ok(())
}

/// What a deposit asks for. Of what is not known, nothing can be reserved: a deposit of unknown size begins while there is some room left. So
/// does one of which others say how large it is.
fn demand(context: &StageContext<'_>) -> Result<Demand, StageError> {
    let limits = context.home.staging_limits();
    let of_all = |size: u64, most: u64| if size == 0 { most } else { size.min(most) };
    let size = context.item.size.unwrap_or(0);
    let ahead = is_stated(context)?.then_some(limits.ahead);
    let (bytes, free, free_when_first) = if ahead.is_some() {
        let free = of_all(size, limits.free_for_unknown);
        (0, free, free.min(limits.ahead))
    } else {
        (size, 0, 0)
    };
    Ok(Demand { bytes, free, free_when_first, ahead, capacity: limits.capacity, first_after: limits.first_after })
}

/// Whether the size of a deposit is what a server or a manifest says, and no file that lies here.
pub(crate) fn is_stated(context: &StageContext<'_>) -> Result<bool, StageError> {
    let kind = DepositOptions::of(context.item)?.kind();
    let is_listed = kind == DepositKind::Manifest;
    Ok(is_listed || kind != DepositKind::Metadata && matches!(package_source(context)?, PackageSource::Url(_)))
}

/// Fails for good where a deposit is larger than the quota of its institution.
fn check_quota(context: &StageContext<'_>, bytes: u64) -> Result<(), StageError> {
    match quota(context)?.filter(|quota| bytes > *quota) {
        Some(quota) => Err(StageError::fatal(more_than_quota(context, &format!("{bytes} bytes are"), quota))),
        None => Ok(()),
    }
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

fn waits_for(demand: &Demand, size: u64, (needed, refused): (u64, u64), free: u64) -> String {
    if demand.free == 0 || refused > 0 {
        let (needed, free) = (counted(needed, "byte", "bytes"), counted(free, "byte", "bytes"));
        return format!("waits for {needed} of space in staging, {free} free") + &before(refused);
    }
    let why = if size == 0 { "is not known" } else { "is only stated" };
    format!("waits until {needed} bytes of staging are free, {} now: its size {why}", counted(free, "byte", "bytes"))
}

/// What a deposit was refused when it was read before.
fn before(refused: u64) -> String {
    match refused {
        0 => String::new(),
        refused => format!("; there was no room for {} when it was read", counted(refused, "byte", "bytes")),
    }
}

/// Which other deposits have the space. Of those of other institutions nothing else is said.
fn whose(context: &StageContext<'_>, behind: Option<ItemId>, most: Option<SpaceHolder>) -> Result<String, StageError> {
    if let Some(first) = behind {
        let scope = Scope::Institution(context.item.institution);
        let is_ours = context.registry().read(|tx| items::get(tx, scope, first))?.is_some();
        let first =
            if is_ours { format!("work item {first}") } else { "a work item of another institution".to_owned() };
        return Ok(format!(", behind {first}, which has waited for longer than staging.first_after"));
    }
    let Some(SpaceHolder { item, institution, bytes, status, stage }) = most else { return Ok(String::new()) };
    if institution != context.item.institution {
        return Ok("; a work item of another institution has most".to_owned());
    }
    Ok(format!("; work item {item} ({status} at {stage}) has most: {}", counted(bytes, "byte", "bytes")))
}
