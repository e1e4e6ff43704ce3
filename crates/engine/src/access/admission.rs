//! Whether a store that was opened is the one that the registry knows by its name. It is asked before the store is first
//! used, and again each time it comes back: an empty disk in the place of a lost one, a copy of another store, and a store
//! that another registry works with are refused, and nothing is written there.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use super::Refusal;
use crate::EngineError;
use crate::places;
use crate::settings::Settings;
use crate::watermark;
use strongroom_registry::epoch::{self, RegistryEpoch};
use strongroom_registry::stores::{self, KnownStore};
use strongroom_registry::{Registry, RegistryError, backfill};
use strongroom_storage::Store;

/// What every store of a home is compared with.
pub(crate) struct Admission {
    settings: Settings,
    directory: PathBuf,
    /// What was recorded when the home was opened; none where stores are not to be compared with it.
    recorded: Option<BTreeMap<String, KnownStore>>,
    /// Where the registry stood then.
    epoch: Option<RegistryEpoch>,
    /// Stores that were out of use when the home was opened.
    retired: BTreeSet<String>,
    /// The registry as the home uses it, once the stores that answered at the start were compared with it.
    registry: OnceLock<Registry>,
    /// How often a store was opened in this process.
    opened: AtomicU64,
}

impl Admission {
    /// Compares stores with what the registry knows of them.
    pub(crate) fn by(registry: &Registry, settings: &Settings, directory: PathBuf) -> Result<Self, RegistryError> {
        let (known, epoch) = registry.read(|tx| Ok::<_, RegistryError>((stores::list(tx)?, epoch::get(tx)?)))?;
        let recorded = Some(by_name(known));
        let mut retired = BTreeSet::new();
        for name in settings.stores.keys() {
            if registry.read(|tx| backfill::retired_at(tx, name))?.is_some() {
                retired.insert(name.clone());
            }
        }
        Ok(Self {
            settings: settings.clone(),
            directory,
            recorded,
            epoch,
            retired,
            registry: OnceLock::new(),
            opened: AtomicU64::new(0),
        })
    }

    /// Counts that a store is open from now on.
    pub(super) fn note_opened(&self) {
        self.opened.fetch_add(1, Ordering::SeqCst);
    }

    /// How often a store was opened in this process.
    pub(crate) fn times_opened(&self) -> u64 {
        self.opened.load(Ordering::SeqCst)
    }

    /// Takes every store as it is: for acts that find out what the stores hold.
    pub(crate) fn unconditional(settings: &Settings, directory: PathBuf) -> Self {
        let (settings, retired) = (settings.clone(), BTreeSet::new());
        Self {
            settings,
            directory,
            recorded: None,
            epoch: None,
            retired,
            registry: OnceLock::new(),
            opened: AtomicU64::new(0),
        }
    }

    /// Whether stores are compared with the registry at all.
    pub(crate) fn compares(&self) -> bool {
        self.recorded.is_some()
    }

    /// Whether nothing needs the store, so that its loss is not reported.
    pub(crate) fn is_retired(&self, name: &str) -> bool {
        self.retired.contains(name)
    }

    /// From now on stores are compared with this registry, marks included, and new ones are recorded in it.
    pub(crate) fn rely_on(&self, registry: &Registry) {
        let _ = self.registry.set(registry.clone());
    }

    /// Whether the store may be used under this name.
    pub(crate) fn admit(&self, name: &str, store: &dyn Store) -> Result<(), Refusal> {
        let Some(recorded) = &self.recorded else { return Ok(()) };
        let Some(registry) = self.registry.get() else {
            self.compare(name, store, recorded)?;
            return self.look_for_mark(name, store, recorded, self.epoch.as_ref()).map(|_| ());
        };
        // It may have been replaced, or first used, by another process since this one began.
        let known = by_name(registry.read(stores::list).map_err(|error| Refusal::unknown(&error))?);
        self.compare(name, store, &known)?;
        let conflicts = places::conflicts(&self.settings, &self.directory);
        if let Some(conflict) = conflicts.into_iter().find(|one| one.store == name || one.other == name) {
            return Err(Refusal::refused(conflict.reason));
        }
        let epoch = registry.read(epoch::get).map_err(|error| Refusal::unknown(&error))?;
        if let Some(found) = self.look_for_mark(name, store, &known, epoch.as_ref())? {
            let epoch = registry.read(epoch::get).map_err(|error| Refusal::unknown(&error))?;
            if let Some(reason) = watermark::contradiction(&found, epoch.as_ref()) {
                return Err(Refusal::refused(format!(
                    "it {reason}; if it belongs to this registry, \"strongroom rebuild --adopt\" imports what it has"
                )));
            }
        }
        self.record(registry, name, store).map_err(|error| Refusal::unknown(&error))
    }

    /// The mark of a preservation store, refused where it is older than what the registry has seen there. What the registry
    /// knows was read before: marks only rise.
    fn look_for_mark(
        &self,
        name: &str,
        store: &dyn Store,
        known: &BTreeMap<String, KnownStore>,
        epoch: Option<&RegistryEpoch>,
    ) -> Result<Option<watermark::StoredWatermark>, Refusal> {
        if !self.settings.preservation_stores().contains(&name) {
            return Ok(None);
        }
        let found = watermark::read(store).map_err(|error| Refusal::away(&error))?;
        match known.get(name).and_then(|known| watermark::behind(&found, known, epoch, store)) {
            Some(reason) => Err(Refusal::refused(format!(
                "it {reason}; put the later content back in its place, or run \"strongroom store {} {name}\", which \
                 uses the store as a new one: what is there is verified, and what it lacks is copied from the other \
                 stores",
                if self.is_retired(name) { "retire --undo" } else { "replace" }
            ))),
            None => Ok(Some(found)),
        }
    }

    /// Records which store the name stands for, and the mark of a preservation store, where the registry does not know yet.
    pub(crate) fn record(&self, registry: &Registry, name: &str, store: &dyn Store) -> Result<(), EngineError> {
        let Some(id) = store.id().filter(|_| registry.refusal().is_none()) else { return Ok(()) };
        let known = |registry: &Registry| {
            let known = registry.read(stores::list)?;
            Ok::<_, RegistryError>(known.into_iter().find(|known| known.name == name))
        };
        if known(registry)?.is_none() {
            let name = name.to_owned();
            registry.write(move |tx| stores::record(tx, &name, id))?;
        }
        if !self.settings.preservation_stores().contains(&name) {
            return Ok(());
        }
        known(registry)?.map_or(Ok(()), |known| watermark::note_first(registry, &known, store))
    }

    /// Whether the store is the one that is recorded under this name, and is not being replaced.
    pub(super) fn compare(
        &self,
        name: &str,
        store: &dyn Store,
        recorded: &BTreeMap<String, KnownStore>,
    ) -> Result<(), Refusal> {
        let Some(id) = store.id() else { return Ok(()) };
        let place = self.settings.stores.get(name).map(|store| store.place(&self.directory)).unwrap_or_default();
        match recorded.get(name) {
            Some(KnownStore { replacing: Some(new), .. }) => Err(Refusal::refused(format!(
                "it is being replaced by the store {new}; \"strongroom store replace {name}\" continues"
            ))),
            Some(known) if known.id != id => Err(Refusal::refused(format!(
                "{place} holds the store {id}, and the registry knows {name} as the store {}; put that one back in its \
                 place, or, if it is lost, run \"strongroom store replace {name}\", which fills the new one from the \
                 other stores",
                known.id
            ))),
            Some(_) => Ok(()),
            None => {
                let mut others = recorded.iter().filter(|(other, _)| self.settings.stores.contains_key(*other));
                match others.find(|(_, known)| known.id == id) {
                    Some((other, _)) => Err(Refusal::refused(format!(
                        "{place} holds the store {id}, which the registry knows as {other}: stores {name} and {other} are one \
                         place or copies of each other; give {name} a place of its own and run \
                         \"strongroom store create {name}\""
                    ))),
                    None => Ok(()),
                }
            }
        }
    }
}

/// Stores by their names.
pub(crate) fn by_name(known: Vec<KnownStore>) -> BTreeMap<String, KnownStore> {
    known.into_iter().map(|store| (store.name.clone(), store)).collect()
}
