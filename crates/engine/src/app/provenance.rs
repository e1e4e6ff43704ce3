//! Provenance: what activities have made, and what was done to an entity, as JSON-LD in the terms of PROV-O.

use std::io::Write;

use strongroom_registry::{ActivityId, activities, provenance};

use super::authorization::PROVENANCE_EXPORT;
use super::deposits::only_institution;
use super::{OpContext, find_institution};
use crate::EngineError;
use crate::provenance::{write_activity, write_entity};

/// Writes what the runs of an activity have made.
///
/// # Errors
/// There is no such activity, the registry cannot be read, or `out` refuses bytes.
pub fn of_activity(context: &OpContext, id: ActivityId, out: &mut dyn Write) -> Result<(), EngineError> {
    let authorized = context.authorize(&PROVENANCE_EXPORT)?;
    let activity = authorized.read(|tx| activities::find(tx, authorized.scope(), id))?;
    write_activity(authorized.home(), &activity, out)
}

/// Writes what activities have done to an entity of an institution: a document, record or work item by its name.
///
/// # Errors
/// There is no such entity; no institution is named, and there are several; the registry cannot be read, or `out` refuses bytes.
pub fn of_entity(
    context: &OpContext,
    entity: &str,
    institution: Option<&str>,
    out: &mut dyn Write,
) -> Result<(), EngineError> {
    let authorized = context.authorize(&PROVENANCE_EXPORT)?;
    let institution = institution.map_or_else(|| only_institution(context), |name| Ok(name.to_owned()))?;
    let found = authorized.read(|tx| {
        let institution = find_institution(tx, authorized.scope(), &institution)?;
        provenance::get(tx, Some(institution.id), entity)
    })?;
    let found = found.ok_or_else(|| {
        EngineError::NotFound { what: "entity", name: entity.to_owned(), hint: " that an activity has made".to_owned() }
            .next("\"strongroom activity records ACTIVITY\" shows what its records have become")
    })?;
    write_entity(authorized.home(), &found, out)
}
