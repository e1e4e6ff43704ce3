//! The state of an installation on one page.

use super::authorization::STATUS_SHOW;
use super::installation::Installation;
use super::views::Status;
use crate::EngineError;
use crate::status;
use crate::survey::Survey;

/// What is worked on, what needs a person, and how stores and copies are.
pub fn show(installation: &Installation) -> Result<Status, EngineError> {
    let authorized = installation.authorize(&STATUS_SHOW)?;
    authorized.require_registry()?;
    let registry = authorized.registry()?;
    let survey = Survey::bounded(authorized.directory(), authorized.settings(), registry.as_ref())?;
    let registry = survey.registry.as_ref().ok_or_else(|| EngineError::NotFound {
        what: "registry",
        name: authorized.directory().display().to_string(),
        hint: String::new(),
    })?;
    status::collect(authorized.directory(), authorized.settings(), registry, &survey)
}
