//! The state of an installation on one page.

use std::time::Duration;

use super::authorization::STATUS_SHOW;
use super::installation::Installation;
use super::views::Status;
use crate::EngineError;
use crate::findings::Counting;
use crate::settings::Settings;
use crate::status;
use crate::survey::Survey;

/// How long the answer of a store is waited for. Workers wait as long as the settings say, and attempt a request several times: a server that
/// takes connections and never answers would take that for minutes.
const ANSWER_WITHIN: Duration = Duration::from_secs(5);

/// What is worked on, what needs a person, and how stores and copies are.
pub fn show(installation: &Installation) -> Result<Status, EngineError> {
    let authorized = installation.authorize(&STATUS_SHOW)?;
    authorized.require_registry()?;
    let registry = authorized.registry()?;
    let settings = answering_soon(authorized.settings());
    let survey = Survey::of(authorized.directory(), &settings, registry.as_ref(), Counting::Bounded)?;
    let registry = survey.registry.as_ref().ok_or_else(|| EngineError::NotFound {
        what: "registry",
        name: authorized.directory().display().to_string(),
        hint: String::new(),
    })?;
    status::collect(authorized.directory(), authorized.settings(), registry, &survey)
}

/// Settings by which a store that does not answer soon is away.
pub(super) fn answering_soon(settings: &Settings) -> Settings {
    let settings = settings.clone();
    let stores = settings.stores.into_iter().map(|(name, store)| (name, store.answering_within(ANSWER_WITHIN)));
    Settings { stores: stores.collect(), ..settings }
}
