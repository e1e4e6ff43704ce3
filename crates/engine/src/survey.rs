//! How every store of the settings stands, judged in one place: `status`, `store list`, `store check` and `config
//! check` show what is found here, so that none of them passes a store that another one refuses.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use strongroom_registry::{Registry, backfill, deletions, stores};
use strongroom_storage::{StorageError, Store};

use crate::access::{Admission, Availability};
use crate::findings::{self, Counting, OpenFindings};
use crate::places::{self, Conflict};
use crate::settings::Settings;
use crate::watermark::{self, StoredWatermark, Watermark};
use crate::{EngineError, Home};

/// How a store stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Condition {
    /// It can be used.
    Available,
    /// It does not answer, or is not there.
    Away,
    /// It answers, and is not the store that it should be.
    Refused,
    /// It was taken out of use: it is neither written nor checked nor counted, so nothing of it is wrong.
    Retired,
}

impl Condition {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Available => Availability::Available.as_str(),
            Self::Away => Availability::Away.as_str(),
            Self::Refused => Availability::Refused.as_str(),
            Self::Retired => "retired",
        }
    }
}

impl From<Availability> for Condition {
    fn from(availability: Availability) -> Self {
        match availability {
            Availability::Available => Self::Available,
            Availability::Away => Self::Away,
            Availability::Refused => Self::Refused,
        }
    }
}

/// A store of the settings as it stands.
pub struct SurveyedStore {
    /// Its name.
    pub name: String,
    /// Whether it can be used.
    pub condition: Condition,
    /// What is wrong with the store itself, and what to do.
    pub problem: Option<String>,
    /// Whether the problem is that nothing can be written.
    pub is_read_only: bool,
    /// The store, where it can be used.
    pub store: Option<Arc<dyn Store>>,
    /// Its registry watermark, where it has one.
    pub mark: Option<Watermark>,
    /// Files of objects' logs that it has still to get; none without a registry.
    pub missed_logs: Option<u64>,
    /// Objects of which it still has something that was deleted; none without a registry.
    pub unfinished_deletions: Option<u64>,
}

/// Every store of the settings as it stands.
pub struct Survey {
    /// The stores, in order of their names.
    pub stores: Vec<SurveyedStore>,
    /// Stores that are in one place.
    pub conflicts: Vec<Conflict>,
    /// The registry, read-only where the stores know more than it does; none where there is none.
    pub registry: Option<Registry>,
    /// Open findings, also those in stores that the settings do not name any more; none without a registry.
    pub findings: Option<Vec<OpenFindings>>,
}

impl Survey {
    /// Inspects every store, without writing to one that is not the store that it should be. `registry` is none where
    /// there is none yet: then stores are compared with one another only.
    pub fn of(
        directory: &Path,
        settings: &Settings,
        registry: Option<&Registry>,
        counting: Counting,
    ) -> Result<Self, EngineError> {
        let conflicts = places::conflicts(settings, directory);
        // A home has no two stores in one place.
        let registry_of_home = registry.filter(|_| conflicts.is_empty());
        let home = registry_of_home
            .and_then(|registry| Home::with_registry(directory, settings.clone(), registry.clone()).ok());
        let (stores, conflicts, registry) = if let Some(home) = home {
            (of_home(&home), conflicts, Some(home.registry.clone()))
        } else {
            let (stores, conflicts) = by_themselves(directory, settings, registry, conflicts)?;
            (stores, conflicts, registry.cloned())
        };
        let mut survey = Self { stores, conflicts, registry, findings: None };
        if let Some(registry) = survey.registry.clone() {
            survey.compare(settings, &registry, counting)?;
        }
        Ok(survey)
    }

    /// The stores of a data directory that is open, each tried again where it was not there; what stores lack is counted up to a bound.
    pub(crate) fn of_open(home: &Home) -> Result<Self, EngineError> {
        home.try_stores();
        let registry = home.registry.clone();
        let mut survey =
            Self { stores: of_home(home), conflicts: Vec::new(), registry: Some(registry), findings: None };
        survey.compare(&home.settings, &home.registry, Counting::Bounded)?;
        Ok(survey)
    }

    /// Adds what the registry knows of each store.
    fn compare(&mut self, settings: &Settings, registry: &Registry, counting: Counting) -> Result<(), EngineError> {
        let missed = registry.read(stores::missed_log_counts)?;
        let unfinished = registry.read(deletions::unfinished)?;
        let mut findings = findings::count(settings, registry, counting)?;
        for one in &mut self.stores {
            let logs = missed.iter().find(|(name, _, _)| *name == one.name).map_or(0, |(_, logs, _)| *logs);
            one.missed_logs = Some(logs);
            let objects = unfinished.iter().find(|(name, _)| *name == one.name).map_or(0, |(_, objects)| *objects);
            one.unfinished_deletions = Some(objects);
            if registry.read(|tx| backfill::retired_at(tx, &one.name))?.is_some() {
                one.condition = Condition::Retired;
                one.problem = None;
                one.missed_logs = Some(0);
                continue;
            }
            if one.condition == Condition::Refused {
                findings.push(OpenFindings {
                    store: one.name.clone(),
                    kind: findings::REFUSED,
                    findings: 1,
                    is_all: true,
                });
            }
            let Some(store) = &one.store else { continue };
            if settings.preservation_stores().contains(&one.name.as_str()) {
                match look_for_mark(registry, store.as_ref())? {
                    Ok(mark) => one.mark = mark,
                    Err(problem) => one.problem = Some(problem),
                }
            }
            if one.condition == Condition::Available
                && one.problem.is_none()
                && let Err(error) = store.check_writable()
            {
                let reason = match error {
                    StorageError::Unusable { reason, .. } => reason,
                    other => crate::chain(&other),
                };
                (one.problem, one.is_read_only) = (Some(reason), true);
            }
        }
        self.findings = Some(findings);
        Ok(())
    }

    /// The store of this name.
    pub fn store(&self, name: &str) -> Option<&SurveyedStore> {
        self.stores.iter().find(|store| store.name == name)
    }

    /// How many findings are open in a store; none without a registry.
    pub fn findings_in(&self, store: &str) -> Option<u64> {
        let findings = self.findings.as_ref()?;
        Some(findings.iter().filter(|one| one.store == store).map(|one| one.findings).sum())
    }

    /// How many findings are open; none without a registry.
    pub fn open_findings(&self) -> Option<u64> {
        Some(self.findings.as_ref()?.iter().map(|one| one.findings).sum())
    }

    /// Whether all objects were examined for what a store lacks, or each store without one: the counts of findings are complete.
    pub fn is_counted_whole(&self, store: Option<&str>) -> bool {
        let is_meant = |one: &&OpenFindings| store.is_none_or(|store| one.store == store);
        self.findings.iter().flatten().filter(is_meant).all(|one| one.is_all)
    }

    /// How many findings of each kind are open.
    pub fn findings_by_kind(&self) -> BTreeMap<&'static str, u64> {
        let mut found = BTreeMap::new();
        for one in self.findings.iter().flatten() {
            *found.entry(one.kind).or_default() += one.findings;
        }
        found
    }

    /// How many stores are in this condition.
    pub fn count(&self, condition: Condition) -> u64 {
        self.stores.iter().filter(|store| store.condition == condition).count() as u64
    }

    /// Placements with the retired stores that they name still.
    pub fn retired_in_placements<'s>(&'s self, settings: &'s Settings) -> Vec<(&'s str, Vec<&'s str>)> {
        let is_retired = |name: &str| self.store(name).is_some_and(|store| store.condition == Condition::Retired);
        let retired = settings.placements.iter().map(|(placement, stores)| {
            (placement.as_str(), stores.iter().map(String::as_str).filter(|name| is_retired(name)).collect::<Vec<_>>())
        });
        retired.filter(|(_, stores)| !stores.is_empty()).collect()
    }
}

/// Why a store of this name is not to be made: the registry knows it, and what lies in its place is not that store.
pub fn may_be_made(
    settings: &Settings,
    directory: &Path,
    registry: &Registry,
    name: &str,
) -> Result<Option<String>, EngineError> {
    let Some(known) = registry.read(stores::list)?.into_iter().find(|known| known.name == name) else {
        return Ok(None);
    };
    let Some(store) = settings.stores.get(name) else { return Ok(None) };
    let found = store.open(name, directory).ok().and_then(|store| store.id());
    if found == Some(known.id) || found.is_some() && found == known.replacing {
        return Ok(None);
    }
    Ok(Some(format!(
        "the registry knows {name} as the store {}, which is not at {}; put that one back in its place, or, if \
         it is lost, run \"strongroom store replace {name}\", which makes a new one and fills it from the other stores",
        known.id,
        store.place(directory)
    )))
}

/// The watermark of a store that keeps copies, or what is wrong with it.
fn look_for_mark(registry: &Registry, store: &dyn Store) -> Result<Result<Option<Watermark>, String>, EngineError> {
    Ok(match watermark::read(store) {
        Ok(StoredWatermark::Watermark(mark)) => Ok(Some(mark)),
        Ok(StoredWatermark::Unreadable(why)) => Err(format!("its registry watermark cannot be read: {why}")),
        Ok(StoredWatermark::None) => {
            let name = store.name();
            if registry.read(|tx| backfill::holds_objects(tx, name))? {
                Err(format!(
                    "it has no registry watermark, and the registry keeps objects in it: its content is gone, or was \
                     put back without the watermark; \"strongroom fixity run --all --store {name}\" checks every \
                     copy, \
                     and repairs from the other stores"
                ))
            } else {
                Ok(None)
            }
        }
        Err(error) => Err(crate::chain(&error)),
    })
}

fn of_home(home: &Home) -> Vec<SurveyedStore> {
    home.store_states()
        .into_iter()
        .map(|state| SurveyedStore {
            condition: state.availability.into(),
            store: home.stores.get(&state.store).filter(|_| state.availability == Availability::Available).cloned(),
            problem: state.reason,
            is_read_only: false,
            mark: None,
            missed_logs: None,
            unfinished_deletions: None,
            name: state.store,
        })
        .collect()
}

/// The stores where no home can be opened: each by itself, and those that are in one place refused.
fn by_themselves(
    directory: &Path,
    settings: &Settings,
    registry: Option<&Registry>,
    mut conflicts: Vec<Conflict>,
) -> Result<(Vec<SurveyedStore>, Vec<Conflict>), EngineError> {
    let admission = match registry {
        Some(registry) => Admission::by(registry, settings, directory.to_owned())?,
        None => Admission::unconditional(settings, directory.to_owned()),
    };
    let mut found = Vec::with_capacity(settings.stores.len());
    for (name, store) in &settings.stores {
        let opened = store.open(name, directory);
        let (condition, reason) = match opened.as_ref().map(|store| admission.admit(name, store.as_ref())) {
            Ok(Ok(())) => (Condition::Available, None),
            Ok(Err(refusal)) => (refusal.availability.into(), Some(refusal.reason)),
            Err(error) => (Condition::Away, Some(crate::chain(error))),
        };
        found.push(SurveyedStore {
            name: name.clone(),
            condition,
            problem: reason,
            is_read_only: false,
            store: opened.ok(),
            mark: None,
            missed_logs: None,
            unfinished_deletions: None,
        });
    }
    let ids = found.iter().map(|one| (one.name.as_str(), one.store.as_ref().and_then(|store| store.id())));
    // Stores in one place are reported once: they hold one id, too.
    for same in places::same_ids(settings, directory, ids) {
        if !conflicts.iter().any(|known| (&known.store, &known.other) == (&same.store, &same.other)) {
            conflicts.push(same);
        }
    }
    for one in &mut found {
        if let Some(conflict) = conflicts.iter().find(|conflict| conflict.names(&one.name)) {
            one.condition = Condition::Refused;
            one.problem = Some(conflict.reason.clone());
        }
        if one.condition != Condition::Available {
            one.store = None;
        }
    }
    Ok((found, conflicts))
}
