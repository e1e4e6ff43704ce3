//! The version that a deposit makes: what an error means for it, and how its object stands with it.

use strongroom_registry::{Description, GenerationId, ObjectId, parts};

use crate::EngineError;
use crate::workflow::{StageContext, StageError};

/// What an error means for a version that only goes forward: what fails other stages for good is tried again.
pub(super) fn going_forward(error: EngineError) -> StageError {
    match StageError::from(error) {
        StageError::Fatal { note, .. } | StageError::Invalid { note, .. } => StageError::Transient(note),
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
