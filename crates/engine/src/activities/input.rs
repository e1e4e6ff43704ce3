//! Documents that an activity takes: what a record of its list names, as long as it is kept and valid.

use std::time::Duration;

use strongroom_registry::documents::{self, Document};
use strongroom_registry::provenance::{self, Entity};
use strongroom_registry::{ActivityId, InstitutionId, RegistryError, Time, Transaction};

use super::agent::{RecordOutcome, Work};
use crate::chain;

/// When a record is tried again whose document could not be read now.
const AGAIN_AFTER: Duration = Duration::from_secs(10);

/// What is advised where a document is no longer valid.
const INSTEAD: &str = "take what has replaced it";

/// The document that a record names.
///
/// # Errors
/// What comes of the record without it: it names no document of the institution of the activity, or one that was removed or invalidated.
pub fn document_of(record: &str, work: &Work<'_>) -> Result<Document, RecordOutcome> {
    let failed = |error: String| Err(RecordOutcome::Failed { error });
    let Some(id) = documents::of_entity(record) else {
        let next = "take the results of an activity that makes documents, such as a harvest, as the input";
        return failed(format!("it is no document; next: {next}"));
    };
    let institution = work.activity.institution;
    let found = work.home.registry.read(|tx| {
        let document = documents::get(tx, id)?.filter(|document| document.institution == institution);
        Ok::<_, RegistryError>((document, provenance::get(tx, institution, record)?))
    });
    match found {
        Ok((_, Some(Entity { invalidated: Some(invalidated), .. }))) => {
            failed(format!("the document was {}; next: {INSTEAD}", end_of_validity(invalidated)))
        }
        Ok((Some(document), _)) => Ok(document),
        Ok((None, _)) => {
            failed("the document was removed after its time; next: run the activity again that made it".to_owned())
        }
        Err(error) if error.is_transient() => Err(RecordOutcome::Later { after: AGAIN_AFTER, error: chain(&error) }),
        Err(error) => failed(chain(&error)),
    }
}

/// Refuses a document that has become invalid since it was read, and keeps it as it is until the transaction ends.
///
/// # Errors
/// [`RegistryError::State`].
pub(super) fn check_valid(
    tx: &mut dyn Transaction,
    institution: Option<InstitutionId>,
    document: &str,
) -> Result<(), RegistryError> {
    let entity = provenance::lock(tx, institution, document)?;
    let Some(invalidated) = entity.and_then(|entity| entity.invalidated) else { return Ok(()) };
    Err(RegistryError::State {
        what: "document",
        id: document.to_owned(),
        state: end_of_validity(invalidated),
        act: format!("go on with it; next: {INSTEAD}"),
    })
}

fn end_of_validity((at, by): (Time, ActivityId)) -> String {
    format!("invalidated by the activity {by} at {at}")
}
