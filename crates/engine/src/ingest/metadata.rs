//! What describes an object: what the depositor gives, what files of the package say, and the files that are kept of both.

use strongroom_registry::items::ItemProblem;

use super::deposit::DepositOptions;
use super::naming::Identifiers;
use crate::workflow::{StageContext, StageError};

/// What is found to describe an object.
#[derive(Debug, Clone, Default)]
pub(crate) struct Found {
    pub(crate) title: Option<String>,
    pub(crate) description: Option<String>,
    pub(crate) creator: Option<String>,
    pub(crate) date: Option<String>,
    pub(crate) local_ids: Vec<String>,
    /// The ARK, in its normal form.
    pub(crate) ark: Option<String>,
    pub(crate) metadata: Option<serde_json::Value>,
}

/// Reads what describes the object of a deposit.
pub(crate) fn read(
    context: &StageContext<'_>,
    given: &DepositOptions,
    problems: &mut Vec<ItemProblem>,
) -> Result<Found, StageError> {
    let _ = (context, problems);
    let ids = Identifiers { name: None, ark: given.ark.clone(), local_ids: given.local_ids.clone() };
    Ok(Found {
        title: given.description.title.clone(),
        description: None,
        creator: given.description.creator.clone(),
        date: given.description.date.clone(),
        local_ids: ids.local_ids,
        ark: ids.ark,
        metadata: given.description.metadata.clone(),
    })
}

/// Stages the files that describe the object from the new version on, and which of them there are.
pub(crate) fn stage(
    context: &StageContext<'_>,
    findings: &super::stages::Findings,
    known: Option<&strongroom_registry::objects::Object>,
    ark: Option<&str>,
) -> Result<Vec<strongroom_registry::interim::InterimFile>, StageError> {
    let _ = (context, findings, known, ark);
    Ok(Vec::new())
}
