//! What every command gets: where the home is, how to answer, and the way to settings and engine.

use std::path::{Path, PathBuf};

use strongroom_engine::app::installation::SETTINGS_FILE;
use strongroom_engine::app::views::SchemaView;
use strongroom_engine::app::{ActingAs, Caller, Installation, OpContext, Opened, registry};
use strongroom_engine::settings::{Loaded, Settings};

use crate::arguments::Global;
use crate::failure::Failure;
use crate::logging::{Logging, without_lost_stores};
use crate::output::{Output, note_told, printable};

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

    /// Reads the settings, and begins to log as they say, but a level less: a command that ends says by its answer.
    pub(crate) fn settings(&self) -> Result<Loaded, Failure> {
        let loaded = self.load()?;
        crate::logging::start(&loaded.settings.log, self.verbosity - 1, Logging::Command);
        Ok(loaded)
    }

    /// Reads the settings, and warns on standard error of old names.
    fn load(&self) -> Result<Loaded, Failure> {
        let loaded = Settings::load(&self.settings_file, std::env::vars_os())?;
        for old in loaded.old_names.iter().filter(|_| !self.is_quiet) {
            eprintln!("warning: {}", printable(&old.to_string()));
        }
        Ok(loaded)
    }

    /// The installation, for calls that may have no registry to be opened.
    pub(crate) fn installation(&self) -> Result<Installation, Failure> {
        let loaded = self.settings()?;
        self.installation_of(loaded)
    }

    /// Opens the home for one call of the person who uses the command line.
    pub(crate) fn call(&self) -> Result<OpContext, Failure> {
        let installation = self.installation()?;
        let opened = without_lost_stores(|| installation.open())?;
        self.tell_read_only(&opened);
        for store in opened.unusable.iter().filter(|_| !self.is_quiet) {
            let text = format!("store {} is {}: {}", store.store, store.state, store.reason);
            eprintln!("{}", printable(&text));
            note_told(&store.reason);
        }
        Ok(opened.context)
    }

    /// As [`Self::call`], for what the system does for the one who presents a secret.
    pub(crate) fn call_of_system(&self) -> Result<OpContext, Failure> {
        let loaded = self.settings()?;
        let installation = Installation::new(&self.home, &self.settings_file, loaded, Caller::system());
        let opened = without_lost_stores(|| installation.open())?;
        self.tell_read_only(&opened);
        Ok(opened.context)
    }

    /// As [`Self::call`], for a command about a store that cannot be used.
    pub(crate) fn call_quietly(&self) -> Result<OpContext, Failure> {
        let opened = self.installation()?.open()?;
        self.tell_read_only(&opened);
        Ok(opened.context)
    }

    /// As [`Self::call`], for a program that runs until it is asked to stop: it brings the registry up to date, and
    /// logs what it does, also which stores cannot be used.
    pub(crate) fn call_for_service(&self) -> Result<OpContext, Failure> {
        let loaded = self.load()?;
        crate::logging::start(&loaded.settings.log, self.verbosity, Logging::Service);
        let installation = self.installation_of(loaded)?;
        self.tell_upgrade(&registry::upgrade(&installation)?);
        let opened = installation.open()?;
        self.tell_read_only(&opened);
        Ok(opened.writable()?)
    }

    fn installation_of(&self, loaded: Loaded) -> Result<Installation, Failure> {
        Ok(Installation::new(&self.home, &self.settings_file, loaded, self.acting_as()?))
    }

    /// Who uses the command line: the user named, or the account of the operating system.
    pub(crate) fn acting_as(&self) -> Result<ActingAs, Failure> {
        match &self.actor {
            Some(email) => Ok(ActingAs::named_at_console(email, &Self::account())?),
            None => Ok(Caller::at_console(&Self::account()).into()),
        }
    }

    /// Says on standard error that the registry can only be read.
    fn tell_read_only(&self, opened: &Opened) {
        if let Some(reason) = opened.read_only.as_ref().filter(|_| !self.is_quiet) {
            eprintln!("the registry is read-only: {}", printable(reason));
            eprintln!("  next: \"strongroom rebuild --adopt\" imports what the stores have and the registry lacks");
        }
    }

    /// Says on standard error that the schema of the registry was brought up to date, where it was not before.
    pub(crate) fn tell_upgrade(&self, upgraded: &SchemaView) {
        if upgraded.from < upgraded.to && !self.is_quiet {
            eprintln!("the registry's schema was brought from version {} to {}", upgraded.from, upgraded.to);
            if let Some(copy) = &upgraded.copy {
                eprintln!("  the registry as it was is in {}", printable(copy));
            }
        }
    }

    /// How much more than the settings say is logged.
    pub(crate) fn verbosity(&self) -> i8 {
        self.verbosity
    }

    /// The account that the process runs under, as history names it. The environment is not used: everyone can set it.
    fn account() -> String {
        let name = whoami::username().ok().filter(|name| !name.is_empty() && !name.chars().any(char::is_control));
        name.unwrap_or_else(|| format!("uid {}", rustix::process::geteuid().as_raw()))
    }
}
