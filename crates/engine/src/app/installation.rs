//! An installation as a whole: made, and opened for calls. What is asked where there may be no registry, or none that can be
//! opened, takes an [`Installation`] in the place of an [`OpContext`]: data directory, settings and actor.

use std::fs::{self, DirBuilder};
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use strongroom_database::{DatabaseError, Location};
use strongroom_registry::tenants::{self, CollectionRules};
use strongroom_registry::{CollectionId, InstitutionId, JournalOutcome, Registry, RegistryError};
use uuid::Uuid;

use super::authorization::{INSTALLATION_INIT, Permission};
use super::views::{InstallationView, UnusableStoreView};
use super::{ActingAs, Caller, OpContext};
use crate::event::Event;
use crate::findings::Counting;
use crate::journal::{self, JournalEntry, Target};
use crate::profiles;
use crate::settings::{Loaded, Settings, starting_file, with_registry};
use crate::survey::Survey;
use crate::{Availability, EngineError, Home};

/// The name of the settings file within a data directory.
pub const SETTINGS_FILE: &str = "strongroom.toml";
/// The institution of a new installation, in a reserved domain (RFC 2606 section 3).
pub const INSTITUTION: &str = "example.edu";
/// Its collection.
pub const COLLECTION: &str = "default";

/// A call about an installation whose registry is not open: it may be missing, or older than this program.
#[derive(Clone)]
pub struct Installation {
    directory: PathBuf,
    settings_file: PathBuf,
    loaded: Loaded,
    acting_as: ActingAs,
    request: Uuid,
}

/// An installation that was opened, and what its operator has to know of it.
pub struct Opened {
    /// For the calls of the actor.
    pub context: OpContext,
    /// Why the registry can only be read; none where it can be written to.
    pub read_only: Option<String>,
    /// The stores in use that cannot be used now.
    pub unusable: Vec<UnusableStoreView>,
}

impl Opened {
    /// The context for calls that write, such as those of workers.
    ///
    /// # Errors
    /// [`DatabaseError::ReadOnly`] where the registry can only be read.
    pub fn writable(self) -> Result<OpContext, EngineError> {
        match self.read_only {
            Some(reason) => Err(DatabaseError::ReadOnly { reason }.into()),
            None => Ok(self.context),
        }
    }
}

impl Installation {
    /// A call of its own about the installation in this directory, whose settings were read from `settings_file`.
    pub fn new(directory: &Path, settings_file: &Path, loaded: Loaded, acting_as: impl Into<ActingAs>) -> Self {
        let (directory, settings_file) = (directory.to_owned(), settings_file.to_owned());
        Self { directory, settings_file, loaded, acting_as: acting_as.into(), request: Uuid::now_v7() }
    }

    /// Opens the registry, which must exist, and the stores. A store that cannot be used is away; where stores that answer
    /// know more than the registry, or belong to another one, the registry can only be read.
    pub fn open(&self) -> Result<Opened, EngineError> {
        self.require_registry()?;
        let home = Home::open(&self.directory, self.loaded.settings.clone()).map_err(|error| self.not_opened(error))?;
        let caller = self.acting_as.caller(&home.registry)?;
        let mut unusable = Vec::new();
        for state in home.store_states() {
            let Some(reason) = state.reason.filter(|_| state.availability != Availability::Available) else { continue };
            if !home.is_retired(&state.store)? {
                unusable.push(UnusableStoreView { store: state.store, state: state.availability.as_str(), reason });
            }
        }
        let read_only = home.registry.refusal().map(str::to_owned);
        Ok(Opened { context: self.context(home, caller), read_only, unusable })
    }

    /// Asks whether the actor may do this. A refused act that would have changed something is recorded in the journal
    /// of the registry, where there is one that can be opened.
    pub(crate) fn authorize(&self, permission: &'static Permission) -> Result<AuthorizedInstallation<'_>, EngineError> {
        let caller = self.caller()?;
        caller.authorize(permission, |reason| {
            if let Ok(Some(registry)) = self.registry() {
                caller.tell_of_refusal(&registry, caller.entry(self.request, permission), reason);
            }
        })?;
        Ok(AuthorizedInstallation { installation: self, permission, caller })
    }

    /// Who asks. A user whom a registry of an older schema, or none, does not know cannot.
    fn caller(&self) -> Result<Caller, EngineError> {
        if let ActingAs::Named { .. } = self.acting_as
            && let Some(registry) = self.registry()?
        {
            return self.acting_as.caller(&registry);
        }
        self.acting_as.without_registry()
    }

    fn context(&self, home: Home, caller: Caller) -> OpContext {
        OpContext::of_request(Arc::new(home), caller, self.request)
    }

    fn not_opened(&self, error: EngineError) -> EngineError {
        error.while_trying(format!("open the data directory {}", self.directory.display()))
    }

    fn location(&self) -> Result<Location, EngineError> {
        Ok(self.loaded.settings.registry_location(&self.directory)?)
    }

    /// Opening would make an empty registry where none is; that would hide a disk that is not mounted, or a database of
    /// another name.
    fn require_registry(&self) -> Result<(), EngineError> {
        let location = self.location()?;
        if strongroom_database::exists(&location)? {
            return Ok(());
        }
        Err(EngineError::Absent(format!("there is no registry at {location}"))
            .next("restore a backup, or make it from the stores with \"strongroom rebuild\""))
    }

    fn registry(&self) -> Result<Option<Registry>, EngineError> {
        if self.require_registry().is_err() {
            return Ok(None);
        }
        Ok(Some(Registry::open(&self.location()?)?))
    }
}

/// The proof that an actor may do something with an installation, and the only way to what belongs to it.
pub(crate) struct AuthorizedInstallation<'i> {
    installation: &'i Installation,
    permission: &'static Permission,
    caller: Caller,
}

impl<'i> AuthorizedInstallation<'i> {
    /// The data directory.
    pub(crate) fn directory(&self) -> &'i Path {
        &self.installation.directory
    }

    /// The settings file.
    pub(crate) fn settings_file(&self) -> &'i Path {
        &self.installation.settings_file
    }

    /// The settings.
    pub(crate) fn settings(&self) -> &'i Settings {
        &self.installation.loaded.settings
    }

    /// The settings, and where each comes from.
    pub(crate) fn loaded(&self) -> &'i Loaded {
        &self.installation.loaded
    }

    /// Where the registry is.
    pub(crate) fn location(&self) -> Result<Location, EngineError> {
        self.installation.location()
    }

    /// Refuses where there is no registry.
    pub(crate) fn require_registry(&self) -> Result<(), EngineError> {
        self.installation.require_registry()
    }

    /// The registry, before it is compared with the stores; none where there is none.
    pub(crate) fn registry(&self) -> Result<Option<Registry>, EngineError> {
        self.installation.registry()
    }

    /// Every store as it stands; without a registry that can be read, the stores are compared with one another only.
    pub(crate) fn survey(&self, registry: Option<&Registry>, counting: Counting) -> Result<Survey, EngineError> {
        Survey::of(self.directory(), self.settings(), registry, counting)
    }

    /// Opens the installation to import what its stores know, with an empty registry where there is none.
    pub(crate) fn open_to_adopt(&self) -> Result<OpContext, EngineError> {
        let made = match self.location()? {
            Location::Sqlite(path) if !path.exists() => Some(path),
            // Empty tables in a server's database do no harm.
            _ => None,
        };
        let home = Home::open_to_adopt(self.directory(), self.settings().clone()).map_err(|error| {
            if let Some(path) = &made {
                remove_registry(path);
            }
            self.installation.not_opened(error)
        })?;
        Ok(self.installation.context(home, self.caller.clone()))
    }

    /// Does what is not one transaction of the registry: a line of the journal says that it begins, another how it went.
    pub(crate) fn around<T>(
        &self,
        registry: &Registry,
        target: &Target,
        work: impl FnOnce() -> Result<T, EngineError>,
    ) -> Result<T, EngineError> {
        self.tell(registry, target, JournalOutcome::Begun, None)?;
        let outcome = work();
        self.tell_if_possible(registry, target, outcome.as_ref().err().map(EngineError::chain));
        outcome
    }

    /// Records an act that is done, also where the journal cannot be written.
    pub(crate) fn tell_done_if_possible(&self, location: &Location, target: &Target) {
        let told =
            Registry::open(location).and_then(|registry| self.tell(&registry, target, JournalOutcome::Done, None));
        if let Err(error) = told {
            Event::RegistryUnavailable { act: "record the end of an act in the journal", error: &error }.emit();
        }
    }

    /// Records a migration of the schema. Where the journal cannot be written now, the next program that opens the registry does.
    pub(crate) fn tell_of_migration_if_possible(&self, location: &Location) {
        let told = Registry::open(location).and_then(|registry| journal::tell_of_migration(&registry, &self.entry()));
        if let Err(error) = told {
            Event::RegistryUnavailable { act: "record the end of an act in the journal", error: &error }.emit();
        }
    }

    /// Records an act that is done, or that failed for this reason, also where the journal cannot be written.
    pub(crate) fn tell_if_possible(&self, registry: &Registry, target: &Target, failure: Option<String>) {
        if let Err(error) = self.tell_of_end(registry, target, failure) {
            Event::RegistryUnavailable { act: "record the end of an act in the journal", error: &error }.emit();
        }
    }

    /// Records an act that is done, or that failed for this reason.
    pub(crate) fn tell_of_end(
        &self,
        registry: &Registry,
        target: &Target,
        failure: Option<String>,
    ) -> Result<(), RegistryError> {
        let outcome = if failure.is_none() { JournalOutcome::Done } else { JournalOutcome::Failed };
        self.tell(registry, target, outcome, failure)
    }

    fn tell(
        &self,
        registry: &Registry,
        target: &Target,
        outcome: JournalOutcome,
        detail: Option<String>,
    ) -> Result<(), RegistryError> {
        let (entry, target) = (self.entry(), target.clone());
        registry.write(move |tx| entry.append(tx, &target, outcome, detail.as_deref()))
    }

    fn entry(&self) -> JournalEntry {
        self.caller.entry(self.installation.request, self.permission)
    }
}

/// Takes the registry away that opening has just made: nothing is in it.
fn remove_registry(path: &Path) {
    for suffix in ["", "-wal", "-shm"] {
        let mut name = path.as_os_str().to_owned();
        name.push(suffix);
        // What cannot be removed is an empty registry; the error that led here is the one to tell.
        let _ = fs::remove_file(name);
    }
}

/// What a new installation begins with.
#[derive(Debug, Clone, Default)]
pub struct NewInstallation {
    /// The URL of the database of its registry; a file in the data directory where absent.
    pub registry: Option<String>,
    /// The domain name of its institution; one in a reserved domain where absent.
    pub institution: Option<String>,
    /// What people call that institution; its domain name where absent.
    pub name: Option<String>,
}

impl NewInstallation {
    fn institution(&self) -> (&str, &str) {
        match (self.institution.as_deref(), self.name.as_deref()) {
            (None, name) => (INSTITUTION, name.unwrap_or("Example University")),
            (Some(institution), name) => (institution, name.unwrap_or(institution)),
        }
    }
}

/// Makes an installation in `directory`, which is absent or empty: settings, registry, stores, an institution and a collection. It is made beside its place and moved in as a whole, so that it
/// is there or is not.
pub fn init(acting_as: &ActingAs, directory: &Path, new: &NewInstallation) -> Result<InstallationView, EngineError> {
    let caller = acting_as.without_registry()?;
    // There is no journal yet that could record a refusal.
    caller.authorize(&INSTALLATION_INIT, |_| {})?;
    let (institution, _) = new.institution();
    if !tenants::is_institution_identifier(institution) {
        return Err(super::institutions::no_institution_name(institution));
    }
    refuse_what_is_there(directory)?;
    let parent = directory.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if !parent.is_dir() {
        return Err(EngineError::Absent(format!(
            "there is no folder {} to make a data directory in",
            parent.display()
        ))
        .next("make it first, or name another place"));
    }
    let beside = parent.join(format!(".strongroom-{}", Uuid::new_v4().simple()));
    let entry = caller.entry(Uuid::now_v7(), &INSTALLATION_INIT);
    let outcome = fill(&beside, new, entry).and_then(|()| {
        fs::rename(&beside, directory).map_err(|source| io("make the data directory", directory, source))?;
        fs::File::open(parent).and_then(|folder| folder.sync_all()).map_err(|source| io("sync", parent, source))
    });
    if outcome.is_err() {
        // What cannot be removed lies beside the data directory and does no harm; the first error is the one to tell.
        let _ = fs::remove_dir_all(&beside);
    }
    outcome?;
    Ok(InstallationView {
        home: directory.display().to_string(),
        settings: directory.join(SETTINGS_FILE).display().to_string(),
        institution: institution.to_owned(),
        collection: COLLECTION.to_owned(),
    })
}

fn refuse_what_is_there(directory: &Path) -> Result<(), EngineError> {
    let is_link = fs::symlink_metadata(directory).is_ok_and(|metadata| metadata.is_symlink());
    let entries = match fs::read_dir(directory) {
        Ok(mut entries) => entries.next().is_some(),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound && !is_link => return Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::NotADirectory && directory.exists() => {
            return Err(EngineError::Exists(format!(
                "{} is a file, not a folder; nothing was changed",
                directory.display()
            ))
            .next("name a folder that is absent or empty"));
        }
        Err(source) => return Err(io("make a data directory at", directory, source)),
    };
    let shown = directory.display();
    if directory.join(SETTINGS_FILE).exists() {
        return Err(EngineError::Exists(format!("{shown} is a data directory already; nothing was changed"))
            .next("use it, or name another folder"));
    }
    if entries || is_link {
        return Err(EngineError::Exists(format!("{shown} is not an empty folder; nothing was changed"))
            .next("name a folder that is absent or empty"));
    }
    Ok(())
}

fn fill(folder: &Path, new: &NewInstallation, entry: JournalEntry) -> Result<(), EngineError> {
    let (identifier, name) = new.institution();
    // What a data directory holds is for its owner only, unless a setting or a person opens it.
    DirBuilder::new().mode(0o700).create(folder).map_err(|source| io("make the folder", folder, source))?;
    let text = match &new.registry {
        Some(url) => with_registry(&starting_file(), url)?,
        None => starting_file(),
    };
    let settings = Settings::from_toml(&text)?;
    for (name, store) in &settings.stores {
        if let Some(path) = store.folder(folder) {
            store.make_folder(folder).map_err(|source| io("make the store", &path, source))?;
        }
        store.create(name, folder)?;
    }
    let receiving = folder.join("stores").join(&settings.roles.receiving).join(identifier);
    fs::create_dir(&receiving).map_err(|source| io("make the folder", &receiving, source))?;
    let file = folder.join(SETTINGS_FILE);
    fs::File::options()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&file)
        .and_then(|mut file| file.write_all(text.as_bytes()).and_then(|()| file.sync_all()))
        .map_err(|source| io("write", &file, source))?;
    let location = settings.registry_location(folder)?;
    if strongroom_database::exists(&location)? {
        return Err(
            EngineError::Refused(format!("there is a registry at {location} already")).next("name an empty database")
        );
    }
    let registry = Registry::open(&location)?;
    profiles::put_builtins(&registry)?;
    let (identifier, name) = (identifier.to_owned(), name.to_owned());
    registry.write(move |tx| {
        let institution = InstitutionId::new();
        tenants::add_institution(tx, institution, &identifier, &name)?;
        let rules = CollectionRules { name: "Default collection".to_owned(), ..CollectionRules::default() };
        tenants::add_collection(tx, CollectionId::new(), institution, COLLECTION, (&rules, "init"))?;
        entry.done(tx, &Target::of_system("the installation"))?;
        strongroom_registry::journal::set_schema_told(tx)
    })?;
    Ok(())
}

/// An error of the system about a path.
pub(super) fn io(act: &'static str, path: &Path, source: std::io::Error) -> EngineError {
    EngineError::Io { act, path: path.display().to_string(), source }
}
