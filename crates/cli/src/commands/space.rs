//! `space`: the spaces of plain stores, and what lies in them.

use clap::{Args, Subcommand};
use strongroom_engine::EngineError;
use strongroom_engine::app::spaces;
use strongroom_engine::app::views::{SpaceItemView, SpaceView};

use crate::context::Context;
use crate::failure::{Exit, Failure, Outcome};
use crate::output::TableOptions;

/// Show the spaces of plain stores, and what lies in them
#[derive(Debug, Subcommand)]
pub(crate) enum Space {
    /// List the spaces; a store that is away is a line that says why
    List {
        /// Only those of this plain store
        #[arg(long, value_name = "NAME")]
        store: Option<String>,
        #[command(flatten)]
        options: Options,
    },
    /// Show a space, and what its store supports
    Show {
        /// The plain store and the space
        #[arg(value_name = "STORE/SPACE")]
        space: String,
    },
    /// List what lies in a space, in byte order of the key; what no store can keep is a line that says why
    Items {
        /// The plain store and the space
        #[arg(value_name = "STORE/SPACE")]
        space: String,
        /// Begin after this name
        #[arg(long, value_name = "KEY")]
        after: Option<String>,
        #[command(flatten)]
        options: Options,
    },
}

/// How much of a list is shown, and how.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct Options {
    #[command(flatten)]
    table: TableOptions,
    /// Show at most this many
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    limit: Option<u64>,
}

pub(crate) fn run(command: &Space, context: &Context) -> Outcome {
    match command {
        Space::List { store, options } => list(store.as_deref(), *options, context),
        Space::Show { space } => {
            context.output.show(&spaces::show(&context.call()?, space)?)?;
            Ok(Exit::Done)
        }
        Space::Items { space, after, options } => items(space, after.as_deref(), *options, context),
    }
}

fn list(store: Option<&str>, options: Options, context: &Context) -> Outcome {
    let columns = ["store", "space", "reason"];
    let mut table = context.output.table(&columns).with::<SpaceView>(options.table).wrapping();
    let call = context.call()?;
    handed(|failed| {
        spaces::list(&call, store, options.limit, &mut |line| table.row(&line).map_err(|error| stopped(failed, error)))
    })?;
    table.end("there are no spaces")?;
    Ok(Exit::Done)
}

fn items(space: &str, after: Option<&str>, options: Options, context: &Context) -> Outcome {
    let columns = ["name", "size", "etag", "reason"];
    let mut table = context.output.table(&columns).with::<SpaceItemView>(options.table).wrapping();
    let call = context.call()?;
    handed(|failed| {
        spaces::items(&call, space, after, options.limit, &mut |line| {
            table.row(&line).map_err(|error| stopped(failed, error))
        })
    })?;
    table.end("nothing lies there")?;
    Ok(Exit::Done)
}

/// Lists; where the answer could not be written, that is the failure.
fn handed(list: impl FnOnce(&mut Option<Failure>) -> Result<(), EngineError>) -> Result<(), Failure> {
    let mut failed = None;
    let outcome = list(&mut failed);
    match failed {
        Some(failure) => Err(failure),
        None => Ok(outcome?),
    }
}

/// Ends a listing whose answer cannot be written.
fn stopped(failed: &mut Option<Failure>, error: Failure) -> EngineError {
    *failed = Some(error);
    EngineError::Usage("the answer could not be written".into())
}
