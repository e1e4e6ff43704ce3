//! `migrate`: a registry moved from its file into PostgreSQL, or back into PostgreSQL from a backup, or its schema brought up
//! to date. The file and the backup stay as they are; the settings change only when everything is proved.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;
use strongroom_database::transfer::{self, FileSource, FolderSource, Moved, Source};
use strongroom_database::{DatabaseError, Location};
use strongroom_engine::settings::{Loaded, Origin, with_registry};

use super::backup::REGISTRY_FOLDER;
use crate::context::Context;
use crate::failure::{Exit, Failure, Outcome};
use crate::output::{Table, report};

/// Migrate the registry: its schema, to PostgreSQL, or there from a backup
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub(crate) struct Migrate {
    /// Move the registry of this home from its file to this empty database, and change the settings:
    /// postgres://USER@HOST:PORT/DATABASE
    #[arg(long, value_name = "URL")]
    to: Option<String>,
    /// Fill the empty database that the settings name from this backup of a registry in PostgreSQL
    #[arg(long, value_name = "BACKUP")]
    from: Option<PathBuf>,
    /// Bring the schema of the registry up to what this program knows; a registry in a file is copied first, beside it
    #[arg(long)]
    schema: bool,
}

report! {
    /// A schema that is up to date.
    SchemaReport { registry: String, from: u32, to: u32, copy: Option<String> }
}

report! {
    /// A table that was moved and read back.
    MovedTable { table: String, rows: u64, digest: String }
}

pub(crate) fn run(command: &Migrate, context: &Context) -> Outcome {
    let loaded = context.settings()?;
    match (&command.to, &command.from) {
        (Some(url), _) => move_to(url, &loaded, context),
        (None, Some(backup)) => fill_from(backup, &loaded, context),
        (None, None) if command.schema => upgrade(&loaded, context),
        (None, None) => Err(Failure::usage("give --schema, --to or --from")),
    }
}

fn upgrade(loaded: &Loaded, context: &Context) -> Outcome {
    let upgraded = context.upgrade_registry(&loaded.settings)?;
    context.output.show(&SchemaReport {
        registry: loaded.settings.registry_location(&context.home)?.to_string(),
        from: upgraded.from,
        to: upgraded.to,
        copy: upgraded.copy.map(|copy| copy.display().to_string()),
    })?;
    Ok(Exit::Done)
}

fn move_to(url: &str, loaded: &Loaded, context: &Context) -> Outcome {
    let settings = &loaded.settings;
    let Location::Sqlite(file) = settings.registry_location(&context.home)? else {
        return Err(Failure::new(Exit::NotAllowed, "the registry of this home is in PostgreSQL already"));
    };
    let target = settings.registry.location(url, &context.home)?;
    context.check_registry(settings)?;
    // What could go wrong with the settings should do so before anything is moved.
    let change = Change::prepare(url, loaded, context)?;
    let mut source = FileSource::open(&file).map_err(|error| match error {
        DatabaseError::Aborted(reason) => Failure::new(Exit::NotAllowed, reason),
        other => other.into(),
    })?;
    fill(&mut source, &target, context)?;
    let told = change.make()?;
    // Until here nobody else could begin to work with the file.
    drop(source);
    context.output.say(format!(
        "the registry is at {target} now; {} stayed as it was and is not used any more",
        file.display()
    ))?;
    context.output.say(told)?;
    Ok(Exit::Done)
}

fn fill_from(backup: &Path, loaded: &Loaded, context: &Context) -> Outcome {
    let target = loaded.settings.registry_location(&context.home)?;
    if matches!(target, Location::Sqlite(_)) {
        return Err(Failure::usage("the settings name no registry in PostgreSQL to be filled")
            .next("set registry.url; a backup of a registry in a file is put back by copying the file"));
    }
    let mut source = FolderSource::open(&backup.join(REGISTRY_FOLDER))?;
    fill(&mut source, &target, context)?;
    context.output.say(format!("the registry at {target} is as it was when the backup was taken"))?;
    Ok(Exit::Done)
}

fn fill(source: &mut dyn Source, target: &Location, context: &Context) -> Result<(), Failure> {
    let Location::Postgres { url, settings } = target else {
        return Err(
            Failure::usage("a registry is moved to PostgreSQL only").next("give postgres://USER@HOST:PORT/DATABASE")
        );
    };
    let migrations = strongroom_registry::schema(target.dialect()).migrations;
    let mut table = context.output.table(&["table", "rows", "digest"]);
    for moved in &transfer::fill(source, url, settings, &migrations, &mut |_| {})? {
        row(&mut table, moved)?;
    }
    table.end("there are no tables")
}

/// Tells of a table.
fn row(table: &mut Table<'_>, moved: &Moved) -> Result<(), Failure> {
    table.row(&MovedTable { table: moved.table.clone(), rows: moved.tally.rows, digest: moved.tally.digest() })
}

/// The change of the settings that a move ends with.
enum Change {
    /// The file gets this text.
    File { path: PathBuf, text: String },
    /// The variable says where the registry is, and a person has to change it.
    Variable(String),
}

impl Change {
    fn prepare(url: &str, loaded: &Loaded, context: &Context) -> Result<Self, Failure> {
        let entry = loaded.entries.iter().find(|entry| entry.key == "registry.url");
        if let Some(Origin::Environment(variable)) = entry.map(|entry| &entry.origin) {
            return Ok(Self::Variable(variable.clone()));
        }
        // A link stays one.
        let path = fs::canonicalize(&context.settings_file)
            .map_err(|error| Failure::io("read", &context.settings_file, &error))?;
        let text = fs::read_to_string(&path).map_err(|error| Failure::io("read", &path, &error))?;
        Ok(Self::File { text: with_registry(&text, url)?, path })
    }

    fn make(self) -> Result<String, Failure> {
        match self {
            Self::Variable(variable) => {
                Ok(format!("next: set {variable} to the new address; it wins over the settings file"))
            }
            Self::File { path, text } => {
                replace(&path, &text).map_err(|error| {
                    Failure::io("change the settings", &path, &error)
                        .next("set registry.url to the new address yourself")
                })?;
                Ok(format!("changed registry.url in {}", path.display()))
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
