//! `backup`: a copy of the registry and its settings, complete and consistent, while both are in use.

use std::fs::{self, DirBuilder, Permissions};
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use clap::Args;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use strongroom_database::{Location, Sqlite, transfer};

use crate::context::{Context, SETTINGS_FILE};
use crate::failure::{Exit, Failure, Outcome};
use crate::output::report;

/// Copy the registry while it is in use
#[derive(Debug, Args)]
pub(crate) struct Backup {
    /// The folder to copy into, made where missing; each backup gets a folder of its own in it
    dir: PathBuf,
}

/// Where in a backup the tables of a registry in PostgreSQL lie.
pub(super) const REGISTRY_FOLDER: &str = "registry";

report! {
    /// A backup.
    BackupReport { backup: String, registry: String, bytes: u64 }
}

pub(crate) fn run(command: &Backup, context: &Context) -> Outcome {
    let settings = context.settings()?.settings;
    context.check_registry(&settings)?;
    let location = settings.registry_location(&context.home)?;
    let time = Timestamp::now().to_zoned(TimeZone::UTC).strftime("%Y%m%dT%H%M%S%.6fZ").to_string();
    let folder = command.dir.join(format!("strongroom-{time}"));
    let private = |recursive| {
        let mut builder = DirBuilder::new();
        builder.recursive(recursive).mode(0o700);
        builder
    };
    private(true).create(&command.dir).map_err(|error| Failure::io("make the folder", &command.dir, &error))?;
    private(false).create(&folder).map_err(|error| Failure::io("make the folder", &folder, &error))?;
    let outcome = copy(&location, &folder).and_then(|copied| {
        let copy = folder.join(SETTINGS_FILE);
        fs::copy(&context.settings_file, &copy)
            .and_then(|_| fs::set_permissions(&copy, Permissions::from_mode(0o600)))
            .map_err(|error| Failure::io("copy the settings to", &copy, &error))?;
        Ok(copied)
    });
    let (registry, bytes) = match outcome {
        Ok(copied) => copied,
        Err(failure) => {
            // Half a backup is none; the first error is the one to tell.
            let _ = fs::remove_dir_all(&folder);
            return Err(failure);
        }
    };
    context.output.show(&BackupReport {
        backup: folder.display().to_string(),
        registry: registry.display().to_string(),
        bytes,
    })?;
    Ok(Exit::Done)
}

/// Copies the registry into `folder`; where to, and how many bytes.
fn copy(location: &Location, folder: &Path) -> Result<(PathBuf, u64), Failure> {
    match location {
        Location::Sqlite(registry) => {
            let to = folder.join("registry.db");
            Sqlite::backup_file(registry, &strongroom_registry::migrations(), &to)?;
            let bytes = size_of(&to)?;
            Ok((to, bytes))
        }
        Location::Postgres { url, settings } => {
            let to = folder.join(REGISTRY_FOLDER);
            fs::create_dir(&to).map_err(|error| Failure::io("make the folder", &to, &error))?;
            let migrations = strongroom_registry::schema(location.dialect()).migrations;
            transfer::export(url, settings, &migrations, &to, &mut |_| {})?;
            let mut bytes = 0;
            for entry in fs::read_dir(&to).map_err(|error| Failure::io("look at", &to, &error))? {
                bytes += size_of(&entry.map_err(|error| Failure::io("look at", &to, &error))?.path())?;
            }
            Ok((to, bytes))
        }
    }
}

fn size_of(path: &Path) -> Result<u64, Failure> {
    fs::metadata(path).map(|metadata| metadata.len()).map_err(|error| Failure::io("look at", path, &error))
}
