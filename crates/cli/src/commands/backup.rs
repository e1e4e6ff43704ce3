//! `backup`: a copy of the registry and its settings, complete and consistent, while both are in use.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use strongroom_database::{Location, Sqlite, SystemClock};

use crate::context::{Context, SETTINGS_FILE};
use crate::failure::{Exit, Failure, Outcome};
use crate::output::report;

/// Copy the registry while it is in use
#[derive(Debug, Args)]
pub(crate) struct Backup {
    /// The folder to copy into, made where missing; each backup gets a folder of its own in it
    dir: PathBuf,
}

report! {
    /// A backup.
    BackupReport { backup: String, registry: String, bytes: u64 }
}

pub(crate) fn run(command: &Backup, context: &Context) -> Outcome {
    let settings = context.settings()?.settings;
    context.check_registry(&settings)?;
    let registry = match settings.registry_location(&context.home)? {
        Location::Sqlite(path) => path,
        Location::Postgres { .. } => {
            return Err(
                Failure::usage("a registry in PostgreSQL is copied by the server's own programs").next("use pg_dump")
            );
        }
    };
    let time = Timestamp::now().to_zoned(TimeZone::UTC).strftime("%Y%m%dT%H%M%S%.6fZ").to_string();
    let folder = command.dir.join(format!("strongroom-{time}"));
    fs::create_dir_all(&command.dir).map_err(|error| Failure::io("make the folder", &command.dir, &error))?;
    fs::create_dir(&folder).map_err(|error| Failure::io("make the folder", &folder, &error))?;
    let to = folder.join("registry.db");
    let outcome = (|| {
        let database = Sqlite::open(
            &registry,
            strongroom_registry::statements(),
            &strongroom_registry::migrations(),
            Arc::new(SystemClock),
        )?;
        database.backup(&to)?;
        let copy = folder.join(SETTINGS_FILE);
        fs::copy(&context.settings_file, &copy).map_err(|error| Failure::io("copy the settings to", &copy, &error))?;
        fs::metadata(&to).map_err(|error| Failure::io("look at", &to, &error))
    })();
    let metadata = match outcome {
        Ok(metadata) => metadata,
        Err(failure) => {
            // Half a backup is none; the first error is the one to tell.
            let _ = fs::remove_dir_all(&folder);
            return Err(failure);
        }
    };
    context.output.show(&BackupReport {
        backup: folder.display().to_string(),
        registry: to.display().to_string(),
        bytes: metadata.len(),
    })?;
    Ok(Exit::Done)
}
