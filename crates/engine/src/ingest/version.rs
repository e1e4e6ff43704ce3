//! The object of a deposit and the version that it makes, as the registry has them.

use strongroom_digest::Digest;
use strongroom_registry::objects::{self, Object};
use strongroom_registry::versions::{self, Version};
use strongroom_registry::{Description, GenerationId, ObjectId, Scope, parts};

use super::stages::Resolved;
use crate::workflow::{StageContext, StageError};
use crate::{EngineError, Home};

/// The object as it is now.
pub(super) fn object(context: &StageContext<'_>, resolved: &Resolved) -> Result<Object, StageError> {
    context
        .registry()
        .read(|tx| objects::get(tx, Scope::System, resolved.object))?
        .ok_or_else(|| StageError::Transient(format!("the object {} is gone from the record", resolved.object)))
}

/// The version this item makes.
pub(super) fn open_version(context: &StageContext<'_>) -> Result<Option<Version>, StageError> {
    Ok(context.registry().read(|tx| versions::of_item(tx, context.item.id))?)
}

/// What an error means for a version that only goes forward: what fails other stages for good is tried again.
pub(super) fn going_forward(error: EngineError) -> StageError {
    match StageError::from(error) {
        StageError::Fatal { note, .. } => StageError::Transient(note),
        other => other,
    }
}

/// How the object stands with a part, to be put behind a note: `: part 1 of 3, incomplete: parts 2, 3 missing`. Nothing for
/// a deposit that is no part.
pub(super) fn standing(
    context: &StageContext<'_>,
    said: &Description,
    object: ObjectId,
    generation: GenerationId,
    version: u64,
) -> Result<String, StageError> {
    let Some(part) = said.part else { return Ok(String::new()) };
    let all = context.registry().read(|tx| parts::at(tx, object, generation, version))?;
    Ok(all.map_or_else(String::new, |all| format!(": {part}, {all}")))
}

/// The digest of the root inventory that the stores should hold for an object now; none before its first version.
pub(crate) fn previous_inventory(home: &Home, object: &Object) -> Result<Option<Digest>, EngineError> {
    let published = home.registry.read(|tx| versions::list(tx, object.id, object.generation, false))?;
    Ok(published.last().and_then(|version| version.inventory))
}
