//! `init`: a home, made beside its place and moved in as a whole, so that a home is there or is not.

use std::fs::{self, DirBuilder};
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use clap::Args;
use strongroom_engine::settings::{Settings, starting_file, with_registry};
use strongroom_registry::tenants::{self, CollectionRules};
use strongroom_registry::{CollectionId, InstitutionId, Registry, RegistryError};
use uuid::Uuid;

use crate::context::{Context, SETTINGS_FILE};
use crate::failure::{Exit, Failure, Outcome};
use crate::output::report;

/// The institution of a new home, in a domain that is nobody's (RFC 2606 section 3).
pub(crate) const INSTITUTION: &str = "example.edu";
/// Its collection.
pub(crate) const COLLECTION: &str = "default";

/// Make a home: settings, registry, stores and a first institution
#[derive(Debug, Args)]
pub(crate) struct Init {
    /// The folder to make, which is absent or empty [default: the home]
    dir: Option<PathBuf>,
    /// The database of the registry, which must hold none yet: postgres://USER@HOST:PORT/DATABASE [default: a file]
    #[arg(long, value_name = "URL")]
    registry: Option<String>,
}

report! {
    /// What was made.
    Made { home: String, settings: String, institution: String, collection: String }
}

pub(crate) fn run(command: &Init, context: &Context) -> Outcome {
    let home = command.dir.as_ref().unwrap_or(&context.home);
    make(home, command.registry.as_deref())?;
    let shown = home.display();
    if context.output.is_json() {
        context.output.show(&Made {
            home: shown.to_string(),
            settings: home.join(SETTINGS_FILE).display().to_string(),
            institution: INSTITUTION.to_owned(),
            collection: COLLECTION.to_owned(),
        })?;
    } else {
        context
            .output
            .say(format!("made the home {shown} with institution {INSTITUTION} and collection {COLLECTION}"))?;
        context.output.say(format!("  settings  {}", home.join(SETTINGS_FILE).display()))?;
        context
            .output
            .say(format!("  next      strongroom --home {shown} deposit --institution {INSTITUTION} --wait BAG.tar"))?;
    }
    Ok(Exit::Done)
}

/// Makes a home at `home`, with its registry at `registry` where one is named, or changes nothing.
pub(crate) fn make(home: &Path, registry: Option<&str>) -> Result<(), Failure> {
    refuse_what_is_there(home)?;
    let parent = home.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if !parent.is_dir() {
        return Err(Failure::new(Exit::NotFound, format!("there is no folder {} to make a home in", parent.display()))
            .next("make it first, or name another place"));
    }
    let beside = parent.join(format!(".strongroom-{}", Uuid::new_v4().simple()));
    let outcome = fill(&beside, registry).and_then(|()| {
        fs::rename(&beside, home).map_err(|error| Failure::io("make the home", home, &error))?;
        fs::File::open(parent).and_then(|folder| folder.sync_all()).map_err(|error| Failure::io("sync", parent, &error))
    });
    if outcome.is_err() {
        // What cannot be removed is beside the home and in nobody's way; the first error is the one to tell.
        let _ = fs::remove_dir_all(&beside);
    }
    outcome
}

fn refuse_what_is_there(home: &Path) -> Result<(), Failure> {
    let is_link = fs::symlink_metadata(home).is_ok_and(|metadata| metadata.is_symlink());
    let entries = match fs::read_dir(home) {
        Ok(mut entries) => entries.next().is_some(),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound && !is_link => return Ok(()),
        Err(error) => return Err(Failure::io("make a home at", home, &error)),
    };
    let shown = home.display();
    if home.join(SETTINGS_FILE).exists() {
        return Err(Failure::usage(format!("{shown} is a home already; nothing was changed"))
            .next("use it, or name another folder"));
    }
    if entries || is_link {
        return Err(Failure::usage(format!("{shown} is not an empty folder; nothing was changed"))
            .next("name a folder that is absent or empty"));
    }
    Ok(())
}

fn fill(folder: &Path, registry: Option<&str>) -> Result<(), Failure> {
    // What a data directory holds is for its owner only, unless a setting or a person opens it.
    DirBuilder::new().mode(0o700).create(folder).map_err(|error| Failure::io("make the folder", folder, &error))?;
    let text = match registry {
        Some(url) => with_registry(&starting_file(), url)?,
        None => starting_file(),
    };
    let settings = Settings::from_toml(&text)?;
    for (name, store) in &settings.stores {
        if let Some(path) = store.folder(folder) {
            store.make_folder(folder).map_err(|error| Failure::io("make the store", &path, &error))?;
        }
        store.create(name, folder)?;
    }
    let receiving = folder.join("stores").join(&settings.roles.receiving).join(INSTITUTION);
    fs::create_dir(&receiving).map_err(|error| Failure::io("make the folder", &receiving, &error))?;
    let file = folder.join(SETTINGS_FILE);
    fs::File::options()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&file)
        .and_then(|mut file| file.write_all(text.as_bytes()).and_then(|()| file.sync_all()))
        .map_err(|error| Failure::io("write", &file, &error))?;
    let location = settings.registry_location(folder)?;
    if strongroom_database::exists(&location)? {
        return Err(Failure::new(Exit::NotAllowed, format!("there is a registry at {location} already"))
            .next("name an empty database"));
    }
    Registry::open(&location)?.write(|tx| {
        let institution = InstitutionId::new();
        tenants::add_institution(tx, institution, INSTITUTION, "Example University")?;
        let rules = CollectionRules { name: "Default collection".to_owned(), ..CollectionRules::default() };
        tenants::add_collection(tx, CollectionId::new(), institution, COLLECTION, &rules)?;
        Ok::<_, RegistryError>(())
    })?;
    Ok(())
}
