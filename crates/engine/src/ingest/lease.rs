//! The lease of a deposit's object: held from `compare` until the version is published, and kept by each stage in between.

use strongroom_registry::leases::{self, Hold};
use strongroom_registry::{Time, VersionState, WaitReason};

use super::stages::Resolved;
use super::version::open_version;
use super::workflow::COMPARE;
use crate::workflow::{Outcome, StageContext, StageError};

/// Takes or keeps the object's lease for this item; as long as the task's, and extended with it.
pub(super) fn hold_object(context: &StageContext<'_>, resolved: &Resolved) -> Result<Hold, StageError> {
    let object = resolved.object;
    let lease = context.task.settings().lease_microseconds();
    context.write(move |tx, claim| {
        let until = tx.now()?.plus(lease);
        leases::hold(tx, object, claim.item.0, until)
    })
}

/// Keeps the object's lease in a later stage; when it was lost in between, the deposit is compared anew.
pub(super) fn keep_object(context: &StageContext<'_>, resolved: &Resolved) -> Result<Option<Outcome>, StageError> {
    match hold_object(context, resolved)? {
        Hold::Held { kept: true, .. } => Ok(None),
        Hold::Held { kept: false, .. } => {
            let committing = open_version(context)?.is_some_and(|version| version.state != VersionState::Preparing);
            Ok((!committing).then(compare_anew))
        }
        Hold::Busy { until } => Err(waits_for_object(until)),
    }
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
