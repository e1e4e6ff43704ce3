//! What is shown of a record besides its id: the file that it stands for, and what the tool said of it.

use serde::Deserialize;
use strongroom_registry::{InstitutionId, RegistryError, Scope, Transaction, documents, objects};

use super::record::Record;
use crate::content_name::in_package;

/// The file that a record stands for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct AboutFile {
    /// The object by its name.
    pub(crate) object: Option<String>,
    /// The path in the package.
    pub(crate) path: Option<String>,
    /// The version of the object at which it is looked at.
    pub(crate) version: Option<u64>,
}

/// The file that a record stands for; nothing where it stands for something else, or for one that is not kept any more.
pub(crate) fn about(
    tx: &mut dyn Transaction,
    institution: Option<InstitutionId>,
    record: &str,
) -> Result<AboutFile, RegistryError> {
    let (Some(institution), Some(Record::File(file, version))) = (institution, Record::parse(record)) else {
        return Ok(AboutFile::default());
    };
    let found = objects::file(tx, Scope::Institution(institution), file, Some(version))?;
    Ok(found.map_or_else(AboutFile::default, |(object, file)| AboutFile {
        object: Some(object.identifier),
        path: Some(in_package(&file.path).to_owned()),
        version: Some(version),
    }))
}

/// What a tool said of what a record stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SaidOf {
    /// `pass` or `fail`.
    pub(crate) outcome: String,
    /// Its message; none of what passed without one.
    pub(crate) message: Option<String>,
}

/// What a tool said, by the result of a record. None where there is no such document any more, as with work items, whose files have
/// outcomes of their own.
pub(crate) fn said_of(
    tx: &mut dyn Transaction,
    institution: Option<InstitutionId>,
    result: Option<&str>,
) -> Result<Option<SaidOf>, RegistryError> {
    #[derive(Deserialize)]
    struct Said {
        outcome: String,
        #[serde(default)]
        message: String,
    }
    let Some(id) = result.and_then(documents::of_entity) else { return Ok(None) };
    let document = documents::get(tx, id)?.filter(|document| document.institution == institution);
    let said = document.and_then(|document| serde_json::from_slice::<Said>(&document.bytes).ok());
    Ok(said.map(|Said { outcome, message }| SaidOf { outcome, message: Some(message).filter(|text| !text.is_empty()) }))
}
