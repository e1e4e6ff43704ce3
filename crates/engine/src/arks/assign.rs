//! The ARK of the object of a deposit: the one that it has, the one that the deposit names, or a new one. A new one is recorded for the
//! name of the object in one transaction, under the fence of the item, before EZID or anything that is kept has it. Whatever happens
//! then, the next attempt and every later deposit of the object find it there.

use strongroom_ark::{Ark, EzidError, Minter};
use strongroom_registry::objects::Object;
use strongroom_registry::{WaitReason, object_ids, tenants, work};
use uuid::Uuid;

use super::ezid::{Ezid, with_advice};
use crate::workflow::{StageContext, StageError};
use crate::{chain, crash_point};

/// Names that are tried before it is said that none is free: with the default length one in 500,000 is taken where there are a
/// million.
const CANDIDATES: usize = 16;

/// The ARK that the object has from the version of the deposit on, registered where the settings say so; none where it gets none.
/// `known` is the object as it is published, `named` the ARK that the deposit names, in normal form, and `erc` what EZID gets to know.
pub(crate) fn assign(
    context: &StageContext<'_>,
    known: Option<&Object>,
    named: Option<&str>,
    erc: &dyn Fn() -> Result<Vec<(String, String)>, StageError>,
) -> Result<Option<String>, StageError> {
    if let Some(kept) = known.and_then(|object| object.ark.clone()) {
        return Ok(Some(kept));
    }
    let settings = &context.home.settings.identifiers;
    let chosen = match named {
        Some(named) => named.to_owned(),
        None => match minter(context)? {
            Some(minter) => choose(context, &minter)?,
            None => return Ok(None),
        },
    };
    crash_point("ingest.resolve.chosen");
    if settings.is_ours(&chosen)
        && let Some(ezid) = context.home.ezid()?
    {
        register(context, ezid, (&chosen, named.is_none()), &erc()?)?;
        crash_point("ingest.resolve.registered");
    }
    Ok(Some(chosen))
}

/// The minter of new ARKs, with the shoulder of the item's collection; none where none are made.
fn minter(context: &StageContext<'_>) -> Result<Option<Minter>, StageError> {
    let settings = &context.home.settings.identifiers;
    if settings.minter(None).is_none() {
        return Ok(None);
    }
    let collection = context.registry().read(|tx| tenants::collection_of(tx, context.item))?;
    let shoulder = collection.and_then(|collection| collection.rules.shoulder);
    // A shoulder that was taken out of the settings since then is not used.
    Ok(settings.minter(shoulder.as_deref().filter(|shoulder| settings.has_shoulder(shoulder))))
}

/// Records a new name for the object of the item; the one that an earlier attempt or deposit of the object recorded, where one did.
fn choose(context: &StageContext<'_>, minter: &Minter) -> Result<String, StageError> {
    let new_name = || minter.random_name(Uuid::new_v4().as_u128()).normal().to_owned();
    let candidates: Vec<String> = std::iter::repeat_with(new_name).take(CANDIDATES).collect();
    let (institution, identifier) = (context.item.institution, context.item.object_identifier.clone());
    let settings = context.home.settings.identifiers.clone();
    let chosen = context.write(move |tx, claim| {
        work::check_fence(tx, claim)?;
        let recorded = object_ids::arks_of(tx, institution, &identifier)?;
        match recorded.into_iter().find(|ark| settings.is_ours(ark)) {
            Some(ark) => Ok(Some(ark)),
            None => object_ids::choose_ark(tx, institution, &identifier, &candidates),
        }
    })?;
    chosen.ok_or_else(|| {
        let text = format!("no ARK is free for {}: {CANDIDATES} names were tried", context.item.object_identifier);
        StageError::Transient(text)
    })
}

/// Has EZID register an ARK. One that was chosen here is created; one that a deposit names may be there already, with a status of its
/// own.
fn register(
    context: &StageContext<'_>,
    ezid: &Ezid,
    (ark, is_chosen): (&str, bool),
    erc: &[(String, String)],
) -> Result<(), StageError> {
    let now = context.now()?;
    if let Some((until, reason)) = ezid.is_away(now) {
        return Err(waits(ark, until, &reason));
    }
    let parsed: Ark = ark.parse().map_err(|error: strongroom_ark::ArkError| StageError::fatal(error.to_string()))?;
    let outcome = if is_chosen { ezid.create(&parsed, erc) } else { ezid.update(&parsed, erc) };
    let error = match outcome {
        Ok(()) => {
            ezid.note_answer();
            return Ok(());
        }
        Err(error) => error,
    };
    let requeue = format!("strongroom items requeue {}", context.item.id);
    Err(match &error {
        _ if error.is_transient() => {
            let reason = chain(&error);
            let until = ezid.note_failure(context.now()?, &reason);
            waits(ark, until, &reason)
        }
        EzidError::Answer { .. } => StageError::Transient(with_advice(&error, &requeue)),
        _ => StageError::fatal(with_advice(&error, &requeue)),
    })
}

fn waits(ark: &str, until: strongroom_registry::Time, reason: &str) -> StageError {
    let note = format!("waits for EZID, with which {ark} is to be registered: {reason}");
    StageError::Waits { until, reason: WaitReason::IdentifierService, note }
}
