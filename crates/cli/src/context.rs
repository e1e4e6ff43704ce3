//! What every command gets: where the home is, how to answer, and the doors to settings, registry and engine.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use strongroom_database::{DatabaseError, Upgraded};
use strongroom_engine::app::{Caller, OpContext};
use strongroom_engine::settings::{Loaded, Settings};
use strongroom_engine::survey::Survey;
use strongroom_engine::{Availability, Home, StoreState, guarded};
use strongroom_registry::Registry;

use crate::arguments::Global;
use crate::failure::{Exit, Failure};
use crate::logging::without_lost_stores;
use crate::output::{Output, printable};

/// The name of the settings file within a home.
pub(crate) const SETTINGS_FILE: &str = "strongroom.toml";

/// The surroundings of a command.
pub(crate) struct Context {
    pub(crate) output: Output,
    /// The folder of the home.
    pub(crate) home: PathBuf,
    /// The settings file.
    pub(crate) settings_file: PathBuf,
    pub(crate) is_quiet: bool,
    /// The email address of the person who acts, where it is named.
    actor: Option<String>,
    verbosity: i8,
}

impl Context {
    pub(crate) fn new(global: &Global) -> Self {
        let home = global
            .home
            .clone()
            .or_else(|| std::env::var_os("STRONGROOM_HOME").filter(|home| !home.is_empty()).map(PathBuf::from))
            .unwrap_or_else(|| PathBuf::from("strongroom"));
        let (home, settings_file) = match &global.config {
            Some(file) => {
                let parent = file.parent().filter(|parent| !parent.as_os_str().is_empty());
                (parent.unwrap_or(Path::new(".")).to_owned(), file.clone())
            }
            None => (home.clone(), home.join(SETTINGS_FILE)),
        };
        let verbosity = i8::try_from(global.verbose).unwrap_or(3) - i8::from(global.quiet);
        Self {
            output: Output::new(global.json),
            home,
            settings_file,
            is_quiet: global.quiet,
            actor: global.actor.clone(),
            verbosity,
        }
    }

    /// Reads the settings, and begins to log as they say, but a level less: a command that ends tells by its answer.
    pub(crate) fn settings(&self) -> Result<Loaded, Failure> {
        let loaded = Settings::load(&self.settings_file, std::env::vars_os())?;
        crate::logging::start(&loaded.settings.log, self.verbosity - 1);
        Ok(loaded)
    }

    /// Opens the home with its stores, for a command that ends by itself.
    pub(crate) fn open_home(&self) -> Result<Arc<Home>, Failure> {
        let settings = self.settings()?.settings;
        self.open(settings)
    }

    /// Opens the home for one call of whoever uses the command line.
    pub(crate) fn call(&self) -> Result<OpContext, Failure> {
        Ok(OpContext::new(self.open_home()?, self.caller()?))
    }

    /// Who uses the command line: the person named, or the account of the operating system.
    pub(crate) fn caller(&self) -> Result<Caller, Failure> {
        match &self.actor {
            Some(email) => Ok(Caller::named_at_console(email)?),
            None => Ok(Caller::at_console(&Self::who())),
        }
    }

    /// As [`Self::open_home`], for a program that runs until it is told to stop and logs what it does, also which stores
    /// cannot be used.
    pub(crate) fn open_home_for_service(&self) -> Result<Arc<Home>, Failure> {
        let loaded = Settings::load(&self.settings_file, std::env::vars_os())?;
        crate::logging::start(&loaded.settings.log, self.verbosity);
        self.upgrade_registry(&loaded.settings)?;
        let home = Arc::new(self.open_quietly(loaded.settings)?);
        match home.registry.refusal() {
            Some(reason) => Err(DatabaseError::ReadOnly { reason: reason.to_owned() }.into()),
            None => Ok(home),
        }
    }

    /// Every store as it stands; compared with one another only where there is no registry, or none that can be read.
    pub(crate) fn survey(&self, settings: &Settings) -> Result<Survey, Failure> {
        let registry = self.unguarded_registry(settings).ok().flatten();
        self.survey_with(settings, registry.as_ref())
    }

    /// The same with this registry. The command shows by itself how the stores stand.
    pub(crate) fn survey_with(&self, settings: &Settings, registry: Option<&Registry>) -> Result<Survey, Failure> {
        Ok(without_lost_stores(|| Survey::of(&self.home, settings, registry))?)
    }

    /// The registry before it is compared with the stores; none where there is none.
    pub(crate) fn unguarded_registry(&self, settings: &Settings) -> Result<Option<Registry>, Failure> {
        if self.check_registry(settings).is_err() {
            return Ok(None);
        }
        Ok(Some(Registry::open(&settings.registry_location(&self.home)?)?))
    }

    /// As [`Self::open_home`], for a command that shows by itself how the stores stand.
    pub(crate) fn open_home_quietly(&self) -> Result<Home, Failure> {
        let settings = self.settings()?.settings;
        self.open_quietly(settings)
    }

    fn open_quietly(&self, settings: Settings) -> Result<Home, Failure> {
        self.check_registry(&settings)?;
        let home = Home::open(&self.home, settings)
            .map_err(|error| Failure::from(error).while_trying(format!("open the home {}", self.home.display())))?;
        self.tell_refusal(&home.registry);
        Ok(home)
    }

    fn open(&self, settings: Settings) -> Result<Arc<Home>, Failure> {
        let home = without_lost_stores(|| self.open_quietly(settings))?;
        let mut states = Vec::new();
        for state in home.store_states() {
            if !home.is_retired(&state.store)? {
                states.push(state);
            }
        }
        self.tell_states(&states);
        Ok(Arc::new(home))
    }

    /// Says on standard error which stores cannot be used.
    fn tell_states(&self, states: &[StoreState]) {
        for state in states {
            if let Some(reason) = state.reason.as_ref().filter(|_| !self.is_quiet) {
                let text = format!("store {} is {}: {reason}", state.store, state.availability.as_str());
                eprintln!("{}", printable(&text));
            }
        }
    }

    /// Says on standard error that the registry can only be read.
    fn tell_refusal(&self, registry: &Registry) {
        if let Some(reason) = registry.refusal().filter(|_| !self.is_quiet) {
            eprintln!("the registry is read-only: {}", printable(reason));
            eprintln!("  next: \"strongroom rebuild --adopt\" imports what the stores know");
        }
    }

    /// Opens the record of the home, which must exist.
    pub(crate) fn registry(&self) -> Result<Registry, Failure> {
        let settings = self.settings()?.settings;
        self.registry_of(&settings)
    }

    pub(crate) fn registry_of(&self, settings: &Settings) -> Result<Registry, Failure> {
        Ok(self.registry_with_stores(settings)?.0)
    }

    /// The same with the preservation stores that are refused; all that cannot be used are told of on standard error.
    pub(crate) fn registry_with_stores(&self, settings: &Settings) -> Result<(Registry, Vec<StoreState>), Failure> {
        self.check_registry(settings)?;
        let registry = Registry::open(&settings.registry_location(&self.home)?)?;
        let (registry, states) = without_lost_stores(|| guarded(&self.home, settings, registry))?;
        self.tell_refusal(&registry);
        self.tell_states(&states);
        let refused = states.into_iter().filter(|state| state.availability == Availability::Refused).collect();
        Ok((registry, refused))
    }

    /// Brings the schema of the registry, which must exist, up to date, and says so on standard error.
    pub(crate) fn upgrade_registry(&self, settings: &Settings) -> Result<Upgraded, Failure> {
        self.check_registry(settings)?;
        let upgraded = Registry::upgrade(&settings.registry_location(&self.home)?)?;
        if upgraded.from < upgraded.to && !self.is_quiet {
            eprintln!("the registry's schema was brought from version {} to {}", upgraded.from, upgraded.to);
            if let Some(copy) = &upgraded.copy {
                eprintln!("  the registry as it was is in {}", printable(&copy.display().to_string()));
            }
        }
        Ok(upgraded)
    }

    /// Opening would make an empty registry where none is; that would hide a disk that is not mounted, or a database of
    /// another name.
    pub(crate) fn check_registry(&self, settings: &Settings) -> Result<(), Failure> {
        let location = settings.registry_location(&self.home)?;
        if strongroom_database::exists(&location)? {
            return Ok(());
        }
        Err(Failure::new(Exit::NotFound, format!("there is no registry at {location}"))
            .next("restore a backup, or make it from the stores with \"strongroom rebuild\""))
    }

    /// How much more than the settings say is logged.
    pub(crate) fn verbosity(&self) -> i8 {
        self.verbosity
    }

    /// Who asks, as history names them.
    pub(crate) fn who() -> String {
        ["USER", "LOGNAME"]
            .into_iter()
            .filter_map(|name| std::env::var(name).ok())
            .find(|name| !name.is_empty())
            .unwrap_or_else(|| "console".to_owned())
    }
}
