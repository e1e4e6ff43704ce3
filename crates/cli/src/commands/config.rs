//! `config`: what is set, where it comes from, and whether it is all right.

use std::io::{self, IsTerminal as _};

use clap::Subcommand;
use strongroom_engine::app::settings;
use strongroom_engine::app::views::{CheckView, SettingView};

use crate::context::Context;
use crate::failure::{Exit, Outcome};
use crate::logging::without_lost_stores;
use crate::output::{TableOptions, note_told};

/// Check and show the settings
#[derive(Debug, Subcommand)]
pub(crate) enum Config {
    /// Check settings, stores, registry and whether damage is open; exit 0 where no problem is found
    Check(TableOptions),
    /// Show every setting with its value, its source and, where there is space and with --long, its meaning; secrets are masked
    Show(TableOptions),
}

pub(crate) fn run(command: &Config, context: &Context) -> Outcome {
    match command {
        Config::Check(options) => check(*options, context),
        Config::Show(options) => show(*options, context),
    }
}

fn show(options: TableOptions, context: &Context) -> Outcome {
    let in_full = ["key", "value", "source", "meaning"];
    let mut table = context
        .output
        .table(&["key", "value", "source"])
        .with::<SettingView>(options)
        .if_room(&["meaning"])
        .in_full(&in_full);
    for setting in settings::show(&context.installation()?)? {
        table.row(&setting)?;
    }
    table.end("there are no settings")?;
    Ok(Exit::Done)
}

fn check(options: TableOptions, context: &Context) -> Outcome {
    let installation = context.installation()?;
    let checked = without_lost_stores(|| settings::check(&installation))?;
    let mut table = context.output.table(&["check", "ok", "message"]).with::<CheckView>(options).wrapping();
    checked.checks.iter().try_for_each(|line| table.row(line))?;
    table.end("")?;
    if !context.output.is_json() && io::stdout().is_terminal() {
        // The table says in full why a store cannot be used, to the person who reads the error, too.
        let failed = checked.checks.iter().filter(|line| !line.ok).filter_map(|line| line.message.as_deref());
        failed.filter_map(|message| message.split_once(": ")).for_each(|(_, reason)| note_told(reason));
    }
    match checked.first {
        Some(error) => Err(error.into()),
        None => Ok(Exit::Done),
    }
}
