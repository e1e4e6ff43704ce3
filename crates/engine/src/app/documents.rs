//! Documents that activities have made: what was harvested, and what tools have said.

use strongroom_registry::{
    DocumentId, InstitutionId, RegistryError, Scope, Transaction, documents, named as named_rows,
};

use super::OpContext;
use super::authorization::DOCUMENTS_SHOW;
use super::deposits::only_institution;
use super::find_institution;
use super::views::DocumentView;
use crate::EngineError;

/// A document of an institution, by its name `urn:uuid:...`, its identifier alone, or a part of that which no other has; with its bytes.
/// Without an institution it is the only one.
///
/// # Errors
/// It has no such document, or several; the document was removed after its time; no institution is named, and there are several.
pub fn show(
    context: &OpContext,
    document: &str,
    institution: Option<&str>,
) -> Result<(DocumentView, Vec<u8>), EngineError> {
    let authorized = context.authorize(&DOCUMENTS_SHOW)?;
    let institution = institution.map_or_else(|| only_institution(context), |name| Ok(name.to_owned()))?;
    let found = authorized.read(|tx| {
        let institution = find_institution(tx, authorized.scope(), &institution)?.id;
        let id = named(tx, institution, document)?;
        let found = id.map(|id| documents::get(tx, id)).transpose()?.flatten();
        Ok::<_, RegistryError>(found.filter(|document| document.institution == Some(institution)))
    })?;
    let found = found.ok_or_else(|| {
        EngineError::NotFound { what: "document", name: document.to_owned(), hint: " that is kept".to_owned() }.next(
            "\"strongroom activity records ACTIVITY\" names documents as results; they go after retention.documents",
        )
    })?;
    Ok(DocumentView::of(found, institution))
}

/// The document of an institution that a text names; none where no document fits.
pub(super) fn named(
    tx: &mut dyn Transaction,
    institution: InstitutionId,
    text: &str,
) -> Result<Option<DocumentId>, RegistryError> {
    if let Some(id) = documents::of_entity(text).or_else(|| text.parse().ok()) {
        return Ok(Some(id));
    }
    let part = text.strip_prefix(documents::URN).unwrap_or(text);
    match named_rows::find(tx, Scope::Institution(institution), part) {
        Ok(id) => Ok(Some(id)),
        Err(RegistryError::NotFound { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}
