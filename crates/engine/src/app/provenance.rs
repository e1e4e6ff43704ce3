//! Provenance: what activities have made, and what was done to an entity, as JSON-LD in the terms of PROV-O.

use std::io::Write;

use strongroom_registry::{ActivityId, RegistryError, activities, documents, provenance};

use super::authorization::PROVENANCE_EXPORT;
use super::deposits::only_institution;
use super::{OpContext, find_institution};
use crate::EngineError;
use crate::provenance::{write_activity, write_entity, write_record};

/// Writes what the runs of an activity have made.
///
/// # Errors
/// There is no such activity, the registry cannot be read, or `out` refuses bytes.
pub fn of_activity(context: &OpContext, id: ActivityId, out: &mut dyn Write) -> Result<(), EngineError> {
    let authorized = context.authorize(&PROVENANCE_EXPORT)?;
    let activity = authorized.read(|tx| activities::find(tx, authorized.scope(), id))?;
    write_activity(authorized.home(), &activity, out)
}

/// Writes what activities have done to an entity of an institution: a document or work item by its name; or what they have made of a
/// record, by its id.
///
/// # Errors
/// There is no such entity, and no activity has made anything of such a record; no institution is named, and there are several; the registry cannot be read, or `out` refuses bytes.
pub fn of_entity(
    context: &OpContext,
    entity: &str,
    institution: Option<&str>,
    out: &mut dyn Write,
) -> Result<(), EngineError> {
    let authorized = context.authorize(&PROVENANCE_EXPORT)?;
    let institution = institution.map_or_else(|| only_institution(context), |name| Ok(name.to_owned()))?;
    let (institution, found) = authorized.read(|tx| {
        let institution = find_institution(tx, authorized.scope(), &institution)?;
        let mut found = provenance::get(tx, Some(institution.id), entity)?;
        // A work item is an IRI in what is exported.
        if let (None, Some(item)) = (&found, entity.strip_prefix("urn:uuid:")) {
            found = provenance::get(tx, Some(institution.id), item)?;
        }
        // A document by a part of its name.
        if let (None, true) = (&found, entity.starts_with(documents::URN))
            && let Some(id) = super::documents::named(tx, institution.id, entity)?
        {
            found = provenance::get(tx, Some(institution.id), &documents::entity(id))?;
        }
        Ok::<_, RegistryError>((institution.id, found))
    })?;
    if let Some(found) = found {
        return write_entity(authorized.home(), &found, out);
    }
    if write_record(authorized.home(), institution, entity, out)? {
        return Ok(());
    }
    if entity.contains('…') || entity.contains("...") {
        let error = EngineError::NotFound { what: "entity or record", name: entity.to_owned(), hint: String::new() };
        return Err(error.next(
            "give the name of a record as a whole: \"strongroom activity records ACTIVITY --long\" does not shorten it",
        ));
    }
    let hint = " that an activity has made, or has made something of".to_owned();
    Err(EngineError::NotFound { what: "entity or record", name: entity.to_owned(), hint }
        .next("\"strongroom activity records ACTIVITY\" shows what its records have become"))
}
