//! The registry as a whole: copied while it is in use, its schema brought up to date, and moved into PostgreSQL. What it is
//! moved from stays as it is; the settings change only when every row is proved.

use std::fs::{self, DirBuilder, Permissions};
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use jiff::tz::TimeZone;
use strongroom_database::transfer::{self, FileSource, FolderSource, Source};
use strongroom_database::{DatabaseError, Location, Sqlite};
use strongroom_registry::Registry;

use super::authorization::{REGISTRY_BACKUP, REGISTRY_MIGRATE};
use super::installation::{AuthorizedInstallation, Installation, SETTINGS_FILE, io};
use super::views::{BackupView, MovedRegistryView, MovedTableView, SchemaView};
use crate::EngineError;
use crate::journal::Target;
use crate::settings::{Origin, with_registry};

/// Where in a backup the tables of a registry in PostgreSQL lie.
const REGISTRY_FOLDER: &str = "registry";

/// Copies the registry and the settings into a folder of their own in `folder`, which is made where it is missing. The copy is
/// complete and consistent, also while the registry is in use.
pub fn backup(installation: &Installation, folder: &Path) -> Result<BackupView, EngineError> {
    let authorized = installation.authorize(&REGISTRY_BACKUP)?;
    authorized.require_registry()?;
    let location = authorized.location()?;
    let time = Timestamp::now().to_zoned(TimeZone::UTC).strftime("%Y%m%dT%H%M%S%.6fZ").to_string();
    let backup = folder.join(format!("strongroom-{time}"));
    let private = |recursive| {
        let mut builder = DirBuilder::new();
        builder.recursive(recursive).mode(0o700);
        builder
    };
    private(true).create(folder).map_err(|source| io("make the folder", folder, source))?;
    private(false).create(&backup).map_err(|source| io("make the folder", &backup, source))?;
    let outcome = copy(&location, &backup).and_then(|copied| {
        let copy = backup.join(SETTINGS_FILE);
        fs::copy(authorized.settings_file(), &copy)
            .and_then(|_| fs::set_permissions(&copy, Permissions::from_mode(0o600)))
            .map_err(|source| io("copy the settings to", &copy, source))?;
        Ok(copied)
    });
    let (registry, bytes) = outcome.inspect_err(|_| {
        // Half a backup is none; the first error is the one to tell.
        let _ = fs::remove_dir_all(&backup);
    })?;
    Ok(BackupView { backup: backup.display().to_string(), registry: registry.display().to_string(), bytes })
}

/// Copies the registry into `folder`; where to, and how many bytes.
fn copy(location: &Location, folder: &Path) -> Result<(PathBuf, u64), EngineError> {
    match location {
        Location::Sqlite(registry) => {
            let to = folder.join("registry.db");
            Sqlite::backup_file(registry, &strongroom_registry::migrations(), &to)?;
            let bytes = size_of(&to)?;
            Ok((to, bytes))
        }
        Location::Postgres { url, settings } => {
            let to = folder.join(REGISTRY_FOLDER);
            fs::create_dir(&to).map_err(|source| io("make the folder", &to, source))?;
            let migrations = strongroom_registry::schema(location.dialect()).migrations;
            transfer::export(url, settings, &migrations, &to, &mut |_| {})?;
            let mut bytes = 0;
            for entry in fs::read_dir(&to).map_err(|source| io("inspect", &to, source))? {
                bytes += size_of(&entry.map_err(|source| io("inspect", &to, source))?.path())?;
            }
            Ok((to, bytes))
        }
    }
}

fn size_of(path: &Path) -> Result<u64, EngineError> {
    fs::metadata(path).map(|metadata| metadata.len()).map_err(|source| io("inspect", path, source))
}

/// Brings the schema of the registry, which must exist, up to what this program knows. A registry in a file is copied first,
/// beside it.
pub fn upgrade(installation: &Installation) -> Result<SchemaView, EngineError> {
    let authorized = installation.authorize(&REGISTRY_MIGRATE)?;
    authorized.require_registry()?;
    let location = authorized.location()?;
    let upgraded = Registry::upgrade(&location)?;
    authorized.tell_of_migration_if_possible(&location);
    Ok(SchemaView {
        registry: location.to_string(),
        from: upgraded.from,
        to: upgraded.to,
        copy: upgraded.copy.map(|copy| copy.display().to_string()),
    })
}

/// Moves the registry from its file to the empty database at `url`, and changes the settings. `tell` hears of each table that
/// was moved and read back.
///
/// # Errors
/// The registry is in PostgreSQL already, or in use; the database has rows already, or what was read back differs: the
/// settings are unchanged then. Or the settings cannot be changed, when everything was moved: the file is not opened any more
/// then, and the error says what to set.
pub fn move_to(
    installation: &Installation,
    url: &str,
    tell: &mut dyn FnMut(MovedTableView),
) -> Result<MovedRegistryView, EngineError> {
    let authorized = installation.authorize(&REGISTRY_MIGRATE)?;
    let Location::Sqlite(file) = authorized.location()? else {
        return Err(EngineError::Refused("the registry of this data directory is in PostgreSQL already".to_owned()).next("\"strongroom config show\" says in which; \"strongroom migrate --schema\" brings its schema up to date"));
    };
    let target = authorized.settings().registry.location(url, authorized.directory())?;
    authorized.require_registry()?;
    // What could go wrong with the settings should do so before anything is moved.
    let change = Change::prepare(url, &authorized)?;
    let mut source = FileSource::open(&file).map_err(|error| match error {
        DatabaseError::Aborted(reason) => EngineError::Refused(reason),
        other => other.into(),
    })?;
    fill(&mut source, &target, tell)?;
    // Before the settings: a line in a database that nothing uses yet does no harm, and no move is without one.
    let told = format!("the registry, from {} to {target}", file.display());
    authorized.tell_done_if_possible(&target, &Target::of_system(told));
    // Before the settings name the other one: two registries are never in use at once.
    source.retire().map_err(|error| {
        EngineError::from(error)
            .next(format!("see that nothing uses the file any more, and set registry.url to {target}"))
    })?;
    let (settings, variable) = change.make()?;
    // Until here no other process could begin to work with the file.
    drop(source);
    Ok(MovedRegistryView { from: file.display().to_string(), to: target.to_string(), settings, variable })
}

/// Fills the empty database in PostgreSQL that the settings name from a backup of a registry in PostgreSQL; where that is.
/// `tell` hears of each table that was filled and read back.
pub fn fill_from(
    installation: &Installation,
    backup: &Path,
    tell: &mut dyn FnMut(MovedTableView),
) -> Result<String, EngineError> {
    let authorized = installation.authorize(&REGISTRY_MIGRATE)?;
    let target = authorized.location()?;
    if matches!(target, Location::Sqlite(_)) {
        return Err(EngineError::Usage("the settings name no registry in PostgreSQL to be filled".to_owned()).next(
            "set registry.url; to restore a registry in a file, move it away with its -wal and -shm, \
                   and copy the backup to its place",
        ));
    }
    let mut source = FolderSource::open(&backup.join(REGISTRY_FOLDER))?;
    fill(&mut source, &target, tell)?;
    let told = format!("the registry, from the backup {}", backup.display());
    authorized.tell_done_if_possible(&target, &Target::of_system(told));
    Ok(target.to_string())
}

fn fill(source: &mut dyn Source, target: &Location, tell: &mut dyn FnMut(MovedTableView)) -> Result<(), EngineError> {
    let Location::Postgres { url, settings } = target else {
        return Err(EngineError::Usage("a registry is moved to PostgreSQL only".to_owned())
            .next("give postgres://USER@HOST:PORT/DATABASE"));
    };
    let migrations = strongroom_registry::schema(target.dialect()).migrations;
    for moved in transfer::fill(source, url, settings, &migrations, &mut |_| {})? {
        tell(MovedTableView { table: moved.table, rows: moved.tally.rows, digest: moved.tally.digest() });
    }
    Ok(())
}

/// The change of the settings that a move ends with.
enum Change {
    /// The file gets this text.
    File { path: PathBuf, text: String },
    /// The variable says where the registry is, and a person has to change it.
    Variable(String),
}

impl Change {
    fn prepare(url: &str, authorized: &AuthorizedInstallation<'_>) -> Result<Self, EngineError> {
        let entry = authorized.loaded().entries.iter().find(|entry| entry.key == "registry.url");
        if let Some(Origin::Environment(variable)) = entry.map(|entry| &entry.origin) {
            return Ok(Self::Variable(variable.clone()));
        }
        // A link stays one.
        let file = authorized.settings_file();
        let path = fs::canonicalize(file).map_err(|source| io("read", file, source))?;
        let text = fs::read_to_string(&path).map_err(|source| io("read", &path, source))?;
        Ok(Self::File { text: with_registry(&text, url)?, path })
    }

    /// Makes it; the file that was changed, or the variable that is still to be changed.
    fn make(self) -> Result<(Option<String>, Option<String>), EngineError> {
        match self {
            Self::Variable(variable) => Ok((None, Some(variable))),
            Self::File { path, text } => {
                replace(&path, &text).map_err(|source| {
                    io("change the settings", &path, source).next("set registry.url to the new address yourself")
                })?;
                Ok((Some(path.display().to_string()), None))
            }
        }
    }
}

/// Puts another text in the place of a file's, with the same permissions, at once.
fn replace(path: &Path, text: &str) -> std::io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.as_file().set_permissions(fs::metadata(path)?.permissions())?;
    file.write_all(text.as_bytes())?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    fs::File::open(folder)?.sync_all()
}
