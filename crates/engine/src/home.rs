//! A home opened for work: its settings, its record, its stores.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use strongroom_registry::{Registry, backfill};
use strongroom_storage::{Key, Store};

use crate::EngineError;
use crate::identification::Identifiers;
use crate::mark::{self, Marks};
use crate::settings::Settings;

/// A home: everything the engine works with.
pub struct Home {
    /// The folder of the home.
    pub directory: PathBuf,
    /// Its settings.
    pub settings: Settings,
    /// Its record.
    pub registry: Registry,
    /// Every store, by name.
    pub stores: BTreeMap<String, Arc<dyn Store>>,
    /// The stores that have a role of their own.
    pub roles: Roles,
    /// What files are identified with.
    pub(crate) identifiers: Identifiers,
    /// The whole of staging in bytes, as it is now.
    staging_capacity: AtomicU64,
    /// The marks that this process has set in the preservation stores.
    pub(crate) marks: Marks,
}

/// A store with its name in the settings.
pub type NamedStore = (String, Arc<dyn Store>);

/// Stores by role.
pub struct Roles {
    /// Where depositors put things.
    pub receiving: Arc<dyn Store>,
    /// Interim bytes.
    pub staging: Arc<dyn Store>,
    /// Where things are given back.
    pub restoration: Arc<dyn Store>,
    /// Bad bytes, kept as evidence.
    pub quarantine: Arc<dyn Store>,
}

impl Home {
    /// Opens the home at `directory` with these settings.
    pub fn open(directory: &Path, settings: Settings) -> Result<Self, EngineError> {
        let registry = Registry::open(&settings.registry_location(directory)?)?;
        Self::with_registry(directory, settings, registry)
    }

    /// Opens the home to take up what its stores know, whether or not the registry is behind them.
    pub fn open_to_adopt(directory: &Path, settings: Settings) -> Result<Self, EngineError> {
        let registry = Registry::open(&settings.registry_location(directory)?)?;
        Self::assemble(directory, settings, registry)
    }

    /// Opens the home's stores beside a registry that is open already. Where the stores know more than the registry, or
    /// belong to another one, the home can only be read; [`Registry::refusal`] says why.
    pub fn with_registry(directory: &Path, settings: Settings, registry: Registry) -> Result<Self, EngineError> {
        let mut home = Self::assemble(directory, settings, registry)?;
        if let Some(reason) = mark::refusal(&home.registry, &home.preservation_stores())? {
            home.registry = home.registry.read_only(&reason);
        }
        Ok(home)
    }

    /// The stores that some placement names, in order of their names.
    pub fn preservation_stores(&self) -> Vec<&dyn Store> {
        let names = self.settings.preservation_stores();
        names.into_iter().filter_map(|name| self.stores.get(name)).map(AsRef::as_ref).collect()
    }

    fn assemble(directory: &Path, settings: Settings, registry: Registry) -> Result<Self, EngineError> {
        let mut stores: BTreeMap<String, Arc<dyn Store>> = BTreeMap::new();
        for (name, store) in &settings.stores {
            stores.insert(name.clone(), store.open(name, directory)?);
        }
        let role = |role: &'static str, name: &str| {
            stores.get(name).cloned().ok_or_else(|| {
                EngineError::Settings(format!("roles.{role} names the store {name:?}, which does not exist"))
            })
        };
        let roles = Roles {
            receiving: role("receiving", &settings.roles.receiving)?,
            staging: role("staging", &settings.roles.staging)?,
            restoration: role("restoration", &settings.roles.restoration)?,
            quarantine: role("quarantine", &settings.roles.quarantine)?,
        };
        let identifiers = Identifiers::default();
        let marks = Marks::default();
        let directory = directory.to_owned();
        let home = Self {
            directory,
            settings,
            registry,
            stores,
            roles,
            identifiers,
            staging_capacity: AtomicU64::new(0),
            marks,
        };
        home.take_up_capacity(&home.settings);
        Ok(home)
    }

    /// Goes by the capacity of staging in these settings from now on.
    pub fn take_up_capacity(&self, settings: &Settings) {
        let capacity = match settings.staging.capacity {
            0 => i64::MAX.unsigned_abs(),
            capacity => capacity,
        };
        self.staging_capacity.store(capacity, Ordering::Relaxed);
    }

    /// The whole of staging in bytes.
    pub(crate) fn staging_capacity(&self) -> u64 {
        self.staging_capacity.load(Ordering::Relaxed)
    }

    /// The store of this name.
    pub fn store(&self, name: &str) -> Result<&Arc<dyn Store>, EngineError> {
        self.stores.get(name).ok_or_else(|| EngineError::NotFound {
            what: "store",
            name: name.to_owned(),
            hint: format!(": the settings have {}", self.stores.keys().cloned().collect::<Vec<_>>().join(", ")),
        })
    }

    /// Whether a store is out of use: no longer written, checked or counted.
    pub fn is_retired(&self, name: &str) -> Result<bool, EngineError> {
        Ok(self.registry.read(|tx| backfill::retired_at(tx, name))?.is_some())
    }

    /// The stores of a placement that are in use, in the order of the settings. The name is taken in any letter case.
    pub fn placement(&self, name: &str) -> Result<(String, Vec<NamedStore>), EngineError> {
        let found = self.settings.placements.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        let Some((name, stores)) = found else {
            return Err(EngineError::NotFound {
                what: "placement",
                name: name.to_owned(),
                hint: format!(
                    ": the settings have {}",
                    self.settings.placements.keys().cloned().collect::<Vec<_>>().join(", ")
                ),
            });
        };
        let mut in_use = Vec::with_capacity(stores.len());
        for store in stores {
            if !self.is_retired(store)? {
                in_use.push((store.clone(), self.store(store)?.clone()));
            }
        }
        if in_use.is_empty() {
            return Err(EngineError::Settings(format!("every store of the placement {name} is retired")));
        }
        Ok((name.clone(), in_use))
    }
}

/// Where an institution's storage root lies in every preservation store.
pub(crate) fn storage_root(institution: &str) -> Result<Key, EngineError> {
    Key::new(institution).map_err(|error| EngineError::Storage(error.into()))
}

/// The registry of a home whose stores are not opened, as [`Home::with_registry`] guards it. A store that does not answer
/// says nothing.
pub fn guarded(directory: &Path, settings: &Settings, registry: Registry) -> Result<Registry, EngineError> {
    let names = settings.preservation_stores();
    let named = names.into_iter().filter_map(|name| Some((name, settings.stores.get(name)?)));
    let stores: Vec<Arc<dyn Store>> = named.filter_map(|(name, store)| store.open(name, directory).ok()).collect();
    let stores: Vec<&dyn Store> = stores.iter().map(AsRef::as_ref).collect();
    Ok(match mark::refusal(&registry, &stores)? {
        Some(reason) => registry.read_only(&reason),
        None => registry,
    })
}
