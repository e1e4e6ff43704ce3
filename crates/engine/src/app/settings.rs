//! The settings: what is set and where it comes from, and whether the installation is as they say.

use strongroom_database::DatabaseError;
use strongroom_registry::{Registry, RegistryError, Scope, tenants};
use strongroom_storage::StorageError;

use super::authorization::{SETTINGS_CHECK, SETTINGS_SHOW};
use super::installation::{AuthorizedInstallation, Installation};
use super::views::{CheckView, SettingView};
use crate::findings::Counting;
use crate::places::Conflict;
use crate::plain_stores::PlainStores;
use crate::settings::prices::former_stores;
use crate::settings::{Origin, Settings};
use crate::survey::{Condition, Survey, SurveyedStore};
use crate::{EngineError, findings, people, profiles, rights, tools};

/// What remains possible in a store that honours no conditions on puts.
const NOT_COMPARED: &str = "not every object was compared with the stores of its placement yet: the background task placements does it; \
     \"strongroom store check\" counts what stores lack object by object";
const UNCONDITIONAL: &str = "it supports no conditional puts: a process that is suspended for longer than its lease between \
     reading and putting can replace an inventory by an older one; inventories are read again, and corrected, when \
     every lease of that time has ended";

/// Every setting with its value, its source and its meaning, in the order of the file.
pub fn show(installation: &Installation) -> Result<Vec<SettingView>, EngineError> {
    let authorized = installation.authorize(&SETTINGS_SHOW)?;
    let entries = authorized.loaded().entries.iter();
    let view = entries.map(|entry| SettingView {
        key: entry.key.clone(),
        value: entry.value.clone(),
        source: match &entry.origin {
            Origin::Default => "default".to_owned(),
            Origin::File(_) => "file".to_owned(),
            Origin::Environment(name) => format!("env {name}"),
        },
        meaning: entry.meaning.to_owned(),
    });
    Ok(view.collect())
}

/// What was found when the settings were checked.
#[derive(Debug, Default)]
pub struct Checked {
    /// Everything that was checked.
    pub checks: Vec<CheckView>,
    /// The first thing that is not as it should be.
    pub first: Option<EngineError>,
}

impl Checked {
    fn add(&mut self, check: String, outcome: Result<(), EngineError>) {
        let message = outcome.as_ref().err().map(EngineError::chain);
        self.checks.push(CheckView { check, ok: outcome.is_ok(), message });
        if let Err(error) = outcome {
            self.first.get_or_insert(error);
        }
    }

    fn warn(&mut self, check: String, message: String) {
        self.checks.push(CheckView { check, ok: true, message: Some(message) });
    }
}

/// Checks settings, stores, registry, whether damage is open, whether tools can be run, and who can read what the data directory holds.
pub fn check(installation: &Installation) -> Result<Checked, EngineError> {
    let authorized = installation.authorize(&SETTINGS_CHECK)?;
    let settings = authorized.settings();
    // Before the registry is opened: its log has the same rights as the file, and would be reported besides.
    let too_wide = rights::too_wide(authorized.directory(), authorized.settings_file(), settings);
    let mut checked = Checked::default();
    checked.add("settings".to_owned(), Ok(()));
    // Without a registry that can be read, the stores are compared with one another only.
    let registry = authorized.registry();
    let survey = authorized.survey(registry.as_ref().ok().and_then(Option::as_ref), Counting::Bounded)?;
    for one in &survey.stores {
        checked.add(format!("store {}", one.name), judged(one));
    }
    let plain_stores = PlainStores::of(settings, authorized.directory());
    for name in plain_stores.names() {
        checked.add(format!("plain store {name}"), plain_stores.get(name).map(drop));
    }
    for Conflict { store, other, reason } in &survey.conflicts {
        checked.add(format!("places of {other} and {store}"), Err(EngineError::Usage(reason.clone())));
    }
    if let Some(registry) = &survey.registry {
        if let Some(outcome) = people::check_factor_key(authorized.directory(), registry)? {
            checked.add("second factors".to_owned(), outcome);
        }
        for (institution, outcome) in check_institutions(registry, settings)? {
            checked.add(format!("institution {institution}"), outcome);
        }
        for (pattern, message) in crate::duplication::matches(settings, authorized.directory(), registry)? {
            checked.warn(format!("pattern {pattern}"), message);
        }
        if let Some(name) = Some(&settings.ingest.default_profile).filter(|name| !name.is_empty()) {
            checked.add("ingest.default_profile".to_owned(), check_profile(registry, name));
        }
    }
    checked.add("registry".to_owned(), registry.and_then(|_| check_registry(&authorized, &survey)));
    if let Some(open) = survey.open_findings() {
        match open {
            0 if survey.is_counted_whole(None) => checked.add("copies".to_owned(), Ok(())),
            0 => checked.warn("copies".to_owned(), NOT_COMPARED.to_owned()),
            _ => checked.add("copies".to_owned(), Err(open_findings(open, &survey)?)),
        }
    }
    for (placement, retired) in survey.retired_in_placements(settings) {
        let message = format!("it names retired stores, which get no copies: {}", retired.join(", "));
        checked.warn(format!("placement {placement}"), message);
    }
    for store in former_stores(settings) {
        let message = "it is not in [stores]: the price counts only for months in which it had copies; if the name is misspelt, \
                       correct it in statistics.prices";
        checked.warn(format!("price of store {store}"), message.to_owned());
    }
    for one in survey.stores.iter().filter(|one| one.condition == Condition::Available) {
        if one.store.as_ref().is_some_and(|store| !store.capabilities().conditional_put) {
            checked.warn(format!("conditions of store {}", one.name), UNCONDITIONAL.to_owned());
        }
    }
    for (name, outcome) in tools::look_at(settings, authorized.directory())? {
        checked.add(format!("tool {name}"), outcome);
    }
    for (path, warning) in too_wide {
        checked.warn(format!("access {}", path.display()), warning);
    }
    Ok(checked)
}

/// What is wrong with a store itself.
fn judged(one: &SurveyedStore) -> Result<(), EngineError> {
    let (Some(problem), store) = (&one.problem, &one.name) else { return Ok(()) };
    Err(match one.condition {
        Condition::Refused => EngineError::Usage(format!("store {store} is refused: {problem}")),
        Condition::Away => StorageError::Away { store: store.clone(), reason: problem.clone() }.into(),
        Condition::Available | Condition::Retired => EngineError::CheckFailed(format!("store {store}: {problem}")),
    })
}

fn check_registry(authorized: &AuthorizedInstallation<'_>, survey: &Survey) -> Result<(), EngineError> {
    authorized.require_registry()?;
    match survey.registry.as_ref().and_then(Registry::refusal) {
        Some(reason) => Err(DatabaseError::ReadOnly { reason: reason.to_owned() }.into()),
        None => Ok(()),
    }
}

/// An institution that the settings name, and what is wrong with it.
type CheckedInstitution = (String, Result<(), EngineError>);

/// Whether the registry has the institutions that the settings name, and their collections.
fn check_institutions(registry: &Registry, settings: &Settings) -> Result<Vec<CheckedInstitution>, RegistryError> {
    registry.read(|tx| {
        let mut found = Vec::with_capacity(settings.institutions.len());
        for (name, own) in &settings.institutions {
            let (institution, collection) = (tenants::institution(tx, Scope::System, name)?, own.collection.as_str());
            let Some(institution) = institution else {
                found.push((name.clone(), Err(no_institution(name))));
                continue;
            };
            let is_open = collection.is_empty()
                || tenants::collection(tx, Scope::System, institution.id, collection)?.is_some_and(|one| one.active);
            found.push((name.clone(), if is_open { Ok(()) } else { Err(no_collection(name, collection)) }));
        }
        Ok(found)
    })
}

/// Whether deposits can be checked against the profile that the settings name.
fn check_profile(registry: &Registry, name: &str) -> Result<(), EngineError> {
    let found = profiles::chosen(registry, name, None).map(drop).map_err(EngineError::from);
    found.map_err(|error| {
        error.next("\"strongroom profile list\" shows the profiles; correct the setting, or add the profile")
    })
}

fn no_institution(name: &str) -> EngineError {
    EngineError::Usage(format!("the settings name institution {name}, which the registry does not have"))
        .next(format!("strongroom institution add {name}, or correct the name in [institutions.\"{name}\"]"))
}

fn no_collection(institution: &str, collection: &str) -> EngineError {
    let text = format!(
        "there is no collection {collection:?} that takes deposits of {institution}; uploads that name no collection are \
         refused"
    );
    EngineError::Usage(text).next(format!(
        "strongroom collection add {collection} --institution {institution}, or correct collection in \
         [institutions.\"{institution}\"]"
    ))
}

fn open_findings(open: u64, survey: &Survey) -> Result<EngineError, EngineError> {
    let first = match &survey.registry {
        Some(registry) => registry.read(|tx| findings::first_named(tx, None, 1))?,
        None => Vec::new(),
    };
    let text = findings::in_words_with((open, survey.is_counted_whole(None)), first.first());
    Ok(EngineError::CheckFailed(text).next("\"strongroom fixity problems\" lists all"))
}
