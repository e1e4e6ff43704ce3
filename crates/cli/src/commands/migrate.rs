//! `migrate`: a registry moved from its file into PostgreSQL, or back into PostgreSQL from a backup, or its schema brought up
//! to date. The file and the backup stay as they are; the settings change only when everything is proved.

use std::path::{Path, PathBuf};

use clap::Args;
use strongroom_engine::EngineError;
use strongroom_engine::app::views::MovedTableView;
use strongroom_engine::app::{Installation, registry};

use crate::context::Context;
use crate::failure::{Exit, Failure, Outcome};

/// Migrate the registry: its schema, to PostgreSQL, or there from a backup
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub(crate) struct Migrate {
    /// Move the registry of this data directory from its file to this empty database, and change the settings:
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

pub(crate) fn run(command: &Migrate, context: &Context) -> Outcome {
    let installation = context.installation()?;
    match (&command.to, &command.from) {
        (Some(url), _) => move_to(url, &installation, context),
        (None, Some(backup)) => fill_from(backup, &installation, context),
        (None, None) if command.schema => upgrade(&installation, context),
        (None, None) => Err(Failure::usage("nothing to migrate is named")
            .next("give --schema, --to URL or --from DIR; \"strongroom help migrate\" explains them")),
    }
}

fn upgrade(installation: &Installation, context: &Context) -> Outcome {
    let upgraded = registry::upgrade(installation)?;
    context.tell_upgrade(&upgraded);
    context.output.show(&upgraded)?;
    Ok(Exit::Done)
}

fn move_to(url: &str, installation: &Installation, context: &Context) -> Outcome {
    let moved = with_tables(context, |tell| registry::move_to(installation, url, tell))?;
    let (from, to) = (&moved.from, &moved.to);
    context.output.say(format!("the registry is at {to} now; {from} keeps its rows and is not opened any more"))?;
    if let Some(file) = &moved.settings {
        context.output.say(format!("changed registry.url in {file}"))?;
    }
    if let Some(variable) = &moved.variable {
        context.output.say(format!(
            "next: set {variable} to the new address; it takes precedence over the settings \
             file"
        ))?;
    }
    Ok(Exit::Done)
}

fn fill_from(backup: &Path, installation: &Installation, context: &Context) -> Outcome {
    let target = with_tables(context, |tell| registry::fill_from(installation, backup, tell))?;
    context.output.say(format!("the registry at {target} is as it was when the backup was taken"))?;
    Ok(Exit::Done)
}

/// Shows the tables that were moved, also where what follows them fails.
fn with_tables<T>(
    context: &Context,
    work: impl FnOnce(&mut dyn FnMut(MovedTableView)) -> Result<T, EngineError>,
) -> Result<T, Failure> {
    let mut moved = Vec::new();
    let outcome = work(&mut |table| moved.push(table));
    if outcome.is_ok() || !moved.is_empty() {
        let mut table = context.output.table(&["table", "rows", "digest"]);
        moved.iter().try_for_each(|one| table.row(one))?;
        table.end("there are no tables")?;
    }
    Ok(outcome?)
}
