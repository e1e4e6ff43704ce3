//! `config`: what is set, where it comes from, and whether it is all right.

use clap::Subcommand;
use strongroom_engine::app::settings;

use crate::context::Context;
use crate::failure::{Exit, Outcome};
use crate::logging::without_lost_stores;

/// Check and show the settings
#[derive(Debug, Subcommand)]
pub(crate) enum Config {
    /// Check settings, stores, registry and whether damage is open; exit 0 when all is well
    Check,
    /// Show every setting with its value, its source and its meaning; secrets masked
    Show,
}

pub(crate) fn run(command: &Config, context: &Context) -> Outcome {
    match command {
        Config::Check => check(context),
        Config::Show => show(context),
    }
}

fn show(context: &Context) -> Outcome {
    let mut table = context.output.table(&["key", "value", "source", "meaning"]);
    for setting in settings::show(&context.installation()?)? {
        table.row(&setting)?;
    }
    table.end("there are no settings")?;
    Ok(Exit::Done)
}

fn check(context: &Context) -> Outcome {
    let installation = context.installation()?;
    let checked = without_lost_stores(|| settings::check(&installation))?;
    let mut table = context.output.table(&["check", "ok", "message"]);
    checked.checks.iter().try_for_each(|line| table.row(line))?;
    table.end("")?;
    match checked.first {
        Some(error) => Err(error.into()),
        None => Ok(Exit::Done),
    }
}
