//! A home opened for work: its settings, its record, its stores.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock};
use std::time::Duration;

use jiff::Timestamp;
use strongroom_database::DatabaseError;
use strongroom_registry::{
    InstitutionId, Registry, RegistryError, Scope, Time, Transaction, backfill, stores, tenants,
};
use strongroom_storage::{Key, Store};

use crate::EngineError;
use crate::access::{Admission, Availability, StoreAccess, StoreState, by_name};
use crate::activities::{Agent, Agents};
use crate::arks::Ezid;
use crate::downloads::Downloads;
use crate::duplication::{CachedPolicies, LargeCopies};
use crate::identification::Identifiers;
use crate::journal::{self, JournalEntry};
use crate::notifications::{MailSessions, callback_client};
use crate::places;
use crate::plain_stores::PlainStores;
use crate::profiles;
use crate::runtime::RunningTasks;
use crate::settings::{Settings, StoreSettings};
use crate::status;
use crate::tools::{ToolLauncher, Tools};
use crate::watermark::{self, Marks};
use crate::workflow::{Workflow, Workflows};

/// The shortest and the longest time until it is asked again for a store that is away.
const SOONEST_AGAIN: Duration = Duration::from_secs(5);
const LATEST_AGAIN: Duration = Duration::from_mins(2);

/// A home: everything the engine works with.
pub struct Home {
    /// The folder of the home.
    pub directory: PathBuf,
    /// Its settings.
    pub settings: Settings,
    /// Its record.
    pub registry: Registry,
    /// The registered workflows.
    workflows: Arc<Workflows>,
    /// The agents of activities.
    agents: Agents,
    /// The plain stores, opened when they are needed.
    pub plain_stores: PlainStores,
    /// Every other store, by name.
    pub stores: BTreeMap<String, Arc<dyn Store>>,
    /// The same stores, as they stand.
    access: BTreeMap<String, StoreAccess>,
    /// What a store is compared with before it is used.
    admission: Arc<Admission>,
    /// The stores that have a role of their own.
    pub roles: Roles,
    /// What files are identified with.
    pub(crate) identifiers: Identifiers,
    /// How space in staging is given, as it is now.
    staging_limits: RwLock<StagingLimits>,
    /// When storage roots were last checked, by store and institution.
    checked_roots: Mutex<BTreeMap<(String, InstitutionId), Time>>,
    /// How often stores had been replaced, and how often one had been opened in this process, when they were last compared.
    compared_at: Mutex<Option<(u64, u64)>>,
    /// The marks that this process has set in the preservation stores.
    pub(crate) marks: Marks,
    /// The tasks that run in this process.
    pub(crate) running: Arc<RunningTasks>,
    /// What downloads packages.
    pub downloads: Downloads,
    /// What registers ARKs, made when it is first needed.
    ezid: OnceLock<Option<Ezid>>,
    /// What posts callbacks, made when it is first needed.
    callbacks: OnceLock<strongroom_download::Client>,
    /// The sessions with the mail server.
    pub(crate) mail_sessions: MailSessions,
    /// What runs tools.
    pub(crate) tools: Tools,
    /// The duplication policies that this process has read.
    pub(crate) policies: CachedPolicies,
    /// The large content items that this process copies now.
    pub(crate) large_copies: LargeCopies,
}

/// How space in staging is given.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StagingLimits {
    /// The whole of staging in bytes.
    pub(crate) capacity: u64,
    /// Bytes that must be free before a deposit of unknown size begins.
    pub(crate) free_for_unknown: u64,
    /// Bytes that are reserved at most for what is not there yet.
    pub(crate) ahead: u64,
    /// After which wait a deposit is passed by none.
    pub(crate) first_after: Duration,
}

/// Most bytes that are reserved for what is not there yet, and which part of the capacity that is at most.
const MOST_AHEAD: u64 = 4 << 30;
const PART_AHEAD: u64 = 20;

impl StagingLimits {
    /// Where the settings name no capacity, it is the size of the file system, and object storage has no limit.
    fn of(settings: &Settings, directory: &Path) -> Self {
        let folder = || settings.stores.get(&settings.roles.staging)?.folder(directory);
        let capacity = match settings.staging.capacity {
            0 => folder().and_then(|folder| status::space(&folder)).map_or(0, |(_, capacity)| capacity),
            capacity => capacity,
        };
        let capacity = if capacity == 0 { i64::MAX.unsigned_abs() } else { capacity };
        let free = u128::from(capacity) * u128::from(settings.staging.free_for_unknown) / 100;
        Self {
            capacity,
            free_for_unknown: u64::try_from(free).unwrap_or(capacity).min(capacity),
            ahead: (capacity / PART_AHEAD).clamp(1, MOST_AHEAD),
            first_after: settings.staging.first_after,
        }
    }
}

/// A store with its name in the settings.
pub type NamedStore = (String, Arc<dyn Store>);

/// Stores by role.
pub struct Roles {
    /// Where depositors put things.
    pub receiving: Arc<dyn Store>,
    /// Interim bytes.
    pub staging: Arc<dyn Store>,
    /// Where results of restorations are put, for institutions that have no store of their own for them.
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
        let admission = Admission::unconditional(&settings, directory.to_owned());
        Self::assemble(directory, settings, registry, admission)
    }

    /// Opens the home's stores beside a registry that is open already. A store that does not answer, or is not the one that
    /// the registry knows, is away: what needs it waits. Where the stores that answer know more than the registry, or
    /// belong to another one, the home can only be read; [`Registry::refusal`] says why.
    pub fn with_registry(directory: &Path, settings: Settings, registry: Registry) -> Result<Self, EngineError> {
        let admission = Admission::by(&registry, &settings, directory.to_owned())?;
        let mut home = Self::assemble(directory, settings, registry, admission)?;
        if let Some(reason) = watermark::refusal(&home.registry, &home.available(&home.preservation_stores()))? {
            home.registry = home.registry.read_only(&reason);
        } else {
            journal::tell_of_migration(&home.registry, &JournalEntry::of_system("registry.migrate"))?;
            profiles::put_builtins(&home.registry)?;
        }
        for access in home.access.values() {
            if access.state().availability == Availability::Available {
                home.admission.record(&home.registry, access.name(), access)?;
            }
        }
        home.admission.rely_on(&home.registry);
        Ok(home)
    }

    /// What downloads packages, from the hosts that the settings allow.
    pub(crate) fn downloads(&self) -> Result<&strongroom_download::Client, EngineError> {
        self.downloads.client()
    }

    /// What posts callbacks, to the hosts that the settings allow.
    pub(crate) fn callbacks(&self) -> Result<&strongroom_download::Client, EngineError> {
        if let Some(client) = self.callbacks.get() {
            return Ok(client);
        }
        let client = callback_client(self)?;
        Ok(self.callbacks.get_or_init(|| client))
    }

    /// The certificates of authorities in a file that the settings name, as PEM.
    pub(crate) fn authorities(&self, file: Option<&str>) -> Result<Option<String>, EngineError> {
        let Some(file) = file else { return Ok(None) };
        let path = self.directory.join(file);
        let read = std::fs::read_to_string(&path);
        let path = path.display().to_string();
        read.map(Some).map_err(|source| EngineError::Io { act: "read the certificates in", path, source })
    }

    /// What registers ARKs; none where the settings name no account at EZID.
    pub(crate) fn ezid(&self) -> Result<Option<&Ezid>, EngineError> {
        if self.ezid.get().is_none() {
            // Another thread may have made it in between.
            let _ = self.ezid.set(Ezid::of(&self.settings.identifiers)?);
        }
        Ok(self.ezid.get().and_then(Option::as_ref))
    }

    /// The registered workflows.
    pub fn workflows(&self) -> &Workflows {
        &self.workflows
    }

    /// Registers another workflow; one of the same action is replaced.
    pub fn register(&mut self, workflow: Workflow) {
        self.workflows = Arc::new(self.workflows.as_ref().clone().with(workflow));
        self.registry = self.registry.clone().with_workflows(self.workflows.clone());
    }

    /// The agents of activities.
    pub fn agents(&self) -> &Agents {
        &self.agents
    }

    /// Has tools started by another program than this one, which has no command for it. It says nothing where tools were run already.
    pub fn set_tool_launcher(&self, launcher: ToolLauncher) {
        self.tools.set_launcher(launcher);
    }

    /// Registers another agent; one of the same name is replaced.
    pub fn register_agent(&mut self, agent: Arc<dyn Agent>) {
        self.agents = self.agents.clone().with(agent);
    }

    /// What belongs to the institution with this domain name, or everything.
    pub(crate) fn scope_of(&self, institution: Option<&str>) -> Result<Scope, EngineError> {
        let Some(name) = institution else { return Ok(Scope::System) };
        let found = self.registry.read(|tx| tenants::institution(tx, Scope::System, name))?;
        let found = found.ok_or_else(|| EngineError::NotFound {
            what: "institution",
            name: name.to_owned(),
            hint: String::new(),
        })?;
        Ok(Scope::Institution(found.id))
    }

    /// A store of the settings as it stands.
    pub(crate) fn access(&self, name: &str) -> Result<&StoreAccess, EngineError> {
        self.store(name)?;
        self.access.get(name).ok_or_else(|| {
            EngineError::Usage(format!("the settings have no store {name}"))
                .next("\"strongroom store list\" shows those there are")
        })
    }

    /// How every store stands in this process, in order of their names.
    pub fn store_states(&self) -> Vec<StoreState> {
        self.access.values().map(StoreAccess::state).collect()
    }

    /// Looks whether every store is there, and tries those that are not, however recently they were tried; how all stand
    /// then.
    pub fn try_stores(&self) -> Vec<StoreState> {
        for access in self.access.values() {
            let is_lost = access.check_presence().is_err();
            if is_lost || access.state().availability != Availability::Available {
                access.try_now();
            }
        }
        self.store_states()
    }

    /// Compares the stores that are open with the registry, and stops using those that were replaced since they were opened,
    /// or are being replaced. Every attempt of a stage and every hold of an object begins with it, once it remembers how
    /// often stores were replaced.
    pub(crate) fn compare_stores(&self) -> Result<(), RegistryError> {
        if !self.admission.compares() {
            return Ok(());
        }
        // Read before the stores: one that another thread opens meanwhile, by an older state of the registry, is compared again.
        let opened = self.admission.times_opened();
        let read = |tx: &mut dyn Transaction| Ok::<_, RegistryError>((stores::list(tx)?, stores::replacements(tx)?));
        let (known, replacements) = self.registry.read(read)?;
        let known = by_name(known);
        for access in self.access.values() {
            access.compare(&known);
        }
        *self.compared_at.lock().unwrap_or_else(PoisonError::into_inner) = Some((replacements, opened));
        Ok(())
    }

    /// The same for the attempt of a stage whose item was claimed when stores had been replaced so often. Where they were compared
    /// when it was just as often, and none was opened since, the registry has nothing else to say of them, and nothing is read: what
    /// it says of a store changes with that number alone.
    pub(crate) fn compare_stores_at(&self, replacements: u64) -> Result<(), RegistryError> {
        let compared_at = *self.compared_at.lock().unwrap_or_else(PoisonError::into_inner);
        if compared_at == Some((replacements, self.admission.times_opened())) {
            return Ok(());
        }
        self.compare_stores()
    }

    /// When to look again for what waits for a store: soon where it was lost lately, later where it is away for long.
    pub(crate) fn ask_again_for(&self, store: &str) -> Duration {
        let since = self.access.get(store).and_then(|access| access.state().since);
        let away_for = since.and_then(|since| Duration::try_from(Timestamp::now().duration_since(since)).ok());
        (away_for.unwrap_or_default() / 4).clamp(SOONEST_AGAIN, LATEST_AGAIN)
    }

    /// When storage roots were last inspected, by store and institution.
    pub(crate) fn checked_roots(&self) -> MutexGuard<'_, BTreeMap<(String, InstitutionId), Time>> {
        self.checked_roots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Why a store cannot be used, where that is known without trying it.
    pub(crate) fn away(&self, store: &str) -> Option<String> {
        let state = self.access.get(store)?.state();
        state.reason.filter(|_| state.availability != Availability::Available)
    }

    /// Whether a store answers and is not the one that it should be, so that it does not come back by itself.
    pub(crate) fn is_refused(&self, store: &str) -> bool {
        self.access.get(store).is_some_and(|access| access.state().availability == Availability::Refused)
    }

    /// Refuses an act that has to be recorded where the registry can only be read.
    pub(crate) fn require_writable(&self) -> Result<(), EngineError> {
        match self.registry.refusal() {
            Some(reason) => Err(DatabaseError::ReadOnly { reason: reason.to_owned() }.into()),
            None => Ok(()),
        }
    }

    fn available<'s>(&self, stores: &[&'s dyn Store]) -> Vec<&'s dyn Store> {
        stores.iter().filter(|store| self.away(store.name()).is_none()).copied().collect()
    }

    /// The stores that some placement names, in order of their names.
    pub fn preservation_stores(&self) -> Vec<&dyn Store> {
        let names = self.settings.preservation_stores();
        names.into_iter().filter_map(|name| self.stores.get(name)).map(AsRef::as_ref).collect()
    }

    fn assemble(
        directory: &Path,
        settings: Settings,
        registry: Registry,
        admission: Admission,
    ) -> Result<Self, EngineError> {
        places::check(&settings, directory)?;
        let admission = Arc::new(admission);
        let access = open_stores(directory, settings.stores.iter(), &admission);
        let ids = access.iter().filter(|(_, access)| access.state().availability == Availability::Available);
        places::check_ids(&settings, directory, ids.map(|(name, access)| (name.as_str(), access.id())))?;
        let stores: BTreeMap<String, Arc<dyn Store>> =
            access.iter().map(|(name, access)| (name.clone(), Arc::new(access.clone()) as Arc<dyn Store>)).collect();
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
        let downloads = Downloads::of(&settings.ingest);
        let workflows = Arc::new(Workflows::standard());
        let staging_limits = StagingLimits::of(&settings, &directory);
        let plain_stores = PlainStores::of(&settings, &directory);
        let home = Self {
            plain_stores,
            directory,
            settings,
            registry: registry.with_workflows(workflows.clone()),
            workflows,
            agents: Agents::standard(),
            stores,
            access,
            admission,
            roles,
            identifiers,
            staging_limits: RwLock::new(staging_limits),
            checked_roots: Mutex::default(),
            compared_at: Mutex::new(None),
            marks,
            downloads,
            ezid: OnceLock::new(),
            callbacks: OnceLock::new(),
            mail_sessions: MailSessions::default(),
            tools: Tools::default(),
            policies: CachedPolicies::default(),
            large_copies: LargeCopies::default(),
            running: Arc::default(),
        };
        Ok(home)
    }

    /// Gives space in staging as these settings say from now on.
    pub fn apply_capacity(&self, settings: &Settings) {
        let limits = StagingLimits::of(settings, &self.directory);
        *self.staging_limits.write().unwrap_or_else(PoisonError::into_inner) = limits;
    }

    /// How space in staging is given.
    pub(crate) fn staging_limits(&self) -> StagingLimits {
        *self.staging_limits.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// The whole of staging in bytes.
    pub(crate) fn staging_capacity(&self) -> u64 {
        self.staging_limits().capacity
    }

    /// The store of this name.
    pub fn store(&self, name: &str) -> Result<&Arc<dyn Store>, EngineError> {
        self.stores.get(name).ok_or_else(|| EngineError::NotFound {
            what: "store",
            name: name.to_owned(),
            hint: format!(": the settings have {}", self.stores.keys().cloned().collect::<Vec<_>>().join(", ")),
        })
    }

    /// The store into which results of restorations are put for an institution: its own, or the common one.
    pub fn restoration_store(&self, institution: &str) -> Result<&Arc<dyn Store>, EngineError> {
        self.settings.own_restoration_store(institution).map_or(Ok(&self.roles.restoration), |own| self.store(own))
    }

    /// Whether a store is out of use: no longer written, checked or counted.
    pub fn is_retired(&self, name: &str) -> Result<bool, EngineError> {
        Ok(self.registry.read(|tx| backfill::retired_at(tx, name))?.is_some())
    }

    /// In how many stores most deposits have copies.
    pub(crate) fn usual_copies(&self) -> u64 {
        let usual = &self.settings.ingest.default_placement;
        let found = self.settings.placements.iter().find(|(name, _)| name.eq_ignore_ascii_case(usual));
        found.map_or(1, |(_, stores)| stores.len() as u64)
    }

    /// The stores of a placement that are in use, in the order of the settings. The name is taken in any letter case.
    pub fn placement(&self, name: &str) -> Result<(String, Vec<NamedStore>), EngineError> {
        let retired = self.registry.read(backfill::retired)?;
        self.placement_without(name, &retired)
    }

    /// The same, where it is known which stores are out of use.
    pub(crate) fn placement_without(
        &self,
        name: &str,
        retired: &BTreeSet<String>,
    ) -> Result<(String, Vec<NamedStore>), EngineError> {
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
            if !retired.contains(store) {
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

/// Opens stores all at once, since one that does not answer takes its time. Those that cannot be used are away.
fn open_stores<'s>(
    directory: &Path,
    stores: impl Iterator<Item = (&'s String, &'s StoreSettings)>,
    admission: &Arc<Admission>,
) -> BTreeMap<String, StoreAccess> {
    let access: BTreeMap<String, StoreAccess> = stores
        .map(|(name, store)| (name.clone(), StoreAccess::new(name, store, directory.to_owned(), admission.clone())))
        .collect();
    std::thread::scope(|scope| {
        for access in access.values() {
            scope.spawn(|| access.try_now());
        }
    });
    access
}
