//! The lease of a deposit's object: held from `compare` until the version is published, and kept by each stage in between; and
//! what such a stage knows, read at once when it begins.

use strongroom_registry::interim::{self, Facts};
use strongroom_registry::leases::{self, Hold};
use strongroom_registry::objects::{self, Object};
use strongroom_registry::versions::Version;
use strongroom_registry::{Time, Transaction, VersionState, WaitReason};

use super::stages::Resolved;
use super::workflow::COMPARE;
use crate::home::NamedStore;
use crate::workflow::{Outcome, StageContext, StageError};

/// What a stage knows of the version that it works on, under the lease of its object.
pub(super) struct Known {
    /// What the stages before left behind.
    pub(super) facts: Facts,
    /// The object.
    pub(super) object: Object,
    /// The version.
    pub(super) version: Version,
    /// The stores of the object's placement that are in use.
    pub(super) stores: Vec<NamedStore>,
}

impl Known {
    /// The names of the stores.
    pub(super) fn store_names(&self) -> Vec<String> {
        self.stores.iter().map(|(name, _)| name.clone()).collect()
    }
}

/// How a stage begins that works under the object's lease.
pub(super) enum Begun<T> {
    /// With what it knows, and what it read besides.
    Known(Box<Known>, T),
    /// It ends at once: the version was discarded, or the object was free for others.
    Ends(Outcome),
}

/// A fact that an earlier stage left behind.
pub(super) fn fact<T: serde::de::DeserializeOwned>(facts: &Facts, name: &str) -> Result<Option<T>, StageError> {
    Ok(facts.get(name).map(serde_json::from_str).transpose()?)
}

/// A fact that an earlier stage must have left behind; without it the item begins anew.
pub(super) fn expect<T: serde::de::DeserializeOwned>(facts: &Facts, name: &str) -> Result<T, StageError> {
    fact(facts, name)?.ok_or_else(|| StageError::StagingLost(format!("what an earlier stage knew is gone ({name})")))
}

/// Takes or keeps the object's lease for this item; as long as the task's, and extended with it. With what the stages before
/// left behind.
pub(super) fn hold_object(context: &StageContext<'_>) -> Result<(Hold, Facts, Resolved), StageError> {
    let lease = context.task.settings().lease_microseconds();
    let item = context.item.id;
    let (hold, facts) = context.write(move |tx, claim| {
        let facts = interim::facts(tx, item)?;
        // Where it cannot be read, it is reported below.
        let resolved = facts.get("resolved").and_then(|text| serde_json::from_str::<Resolved>(text).ok());
        let Some(resolved) = resolved else { return Ok((None, facts)) };
        let until = tx.now()?.plus(lease);
        Ok((Some(leases::hold_for_item(tx, claim, resolved.object, until)?), facts))
    })?;
    let resolved: Resolved = expect(&facts, "resolved")?;
    let hold = hold.ok_or_else(|| StageError::Transient("the object of the deposit could not be held".to_owned()))?;
    Ok((hold, facts, resolved))
}

/// Begins a later stage under the object's lease, which the item has; `also` reads what else the stage needs, of the same
/// state. When the lease was lost in between, the deposit is compared anew.
pub(super) fn keep_object<T>(
    context: &StageContext<'_>,
    also: &mut dyn FnMut(&mut dyn Transaction, &Known) -> Result<T, StageError>,
) -> Result<Begun<T>, StageError> {
    let (begun, is_kept) = look(context, also)?;
    if is_kept {
        return Ok(begun);
    }
    let (hold, ..) = hold_object(context)?;
    match hold {
        Hold::Held { kept: true, .. } => Ok(look(context, also)?.0),
        Hold::Held { kept: false, .. } => match look(context, also)?.0 {
            Begun::Known(known, _) if known.version.state == VersionState::Preparing => Ok(Begun::Ends(compare_anew())),
            begun => Ok(begun),
        },
        Hold::Busy { until } => Err(waits_for_object(until)),
    }
}

/// Reads what a stage knows; and whether the item has the object's lease for as long as it has its task's, so that there is
/// nothing to take.
fn look<T>(
    context: &StageContext<'_>,
    also: &mut dyn FnMut(&mut dyn Transaction, &Known) -> Result<T, StageError>,
) -> Result<(Begun<T>, bool), StageError> {
    let item = context.item;
    context.registry().read(|tx| {
        let facts = interim::facts(tx, item.id)?;
        let resolved: Resolved = expect(&facts, "resolved")?;
        let gone = || StageError::Transient(format!("the object {} is gone from the registry", resolved.object));
        let (mut object, version, lease) = objects::with_version(tx, item.id, resolved.object)?.ok_or_else(gone)?;
        let is_kept = item.lease_until.is_some_and(|until| lease.is_kept_until(until));
        object.ark = object.ark.or_else(|| resolved.ark.clone());
        let Some(version) = version else { return Ok((Begun::Ends(compare_anew()), is_kept)) };
        let stores = stores(context, tx, &resolved)?;
        let known = Known { facts, object, version, stores };
        let besides = also(tx, &known)?;
        Ok((Begun::Known(Box::new(known), besides), is_kept))
    })
}

/// The stores of a deposit's placement that are in use; what the attempt has to know to open storage roots is read with them.
pub(super) fn stores(
    context: &StageContext<'_>,
    tx: &mut dyn Transaction,
    resolved: &Resolved,
) -> Result<Vec<NamedStore>, StageError> {
    let retired = context.look_at_stores(tx)?;
    let placement = context.home.placement_without(&resolved.placement, &retired);
    Ok(placement.map_err(|error| StageError::fatal(error.chain()))?.1)
}

/// Why a stage waits whose object is held by other work.
pub(super) fn waits_for_object(until: Time) -> StageError {
    StageError::Waits { until, reason: WaitReason::Object, note: "waits for other work on the same object".into() }
}

/// The end of a stage whose version was discarded, or whose object was free for others.
pub(super) fn compare_anew() -> Outcome {
    let note = "the object was free for others in between; comparing anew".to_owned();
    Outcome::RestartFrom { stage: COMPARE, note }
}
