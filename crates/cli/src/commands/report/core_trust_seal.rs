//! `report core-trust-seal`: what this installation has as evidence for the requirements of CoreTrustSeal.

use clap::Args;
use strongroom_engine::app::levels;
use strongroom_engine::app::views::SealRowView;

use crate::context::Context;
use crate::failure::{Exit, Outcome};
use crate::logging::without_lost_stores;
use crate::output::ListOptions;

/// What is reported.
#[derive(Debug, Args)]
pub(crate) struct CoreTrustSeal {
    /// Examine every object and file, instead of the first 10,000
    #[arg(long)]
    whole: bool,
    #[command(flatten)]
    options: ListOptions,
}

pub(crate) fn run(command: &CoreTrustSeal, context: &Context) -> Outcome {
    let installation = context.installation()?;
    let rows = without_lost_stores(|| levels::core_trust_seal(&installation, command.whole))?;
    let columns = ["requirement", "name", "verdict", "evidence"];
    let in_full = ["requirement", "name", "asks", "verdict", "evidence", "commands"];
    let mut table =
        context.output.table(&columns).with::<SealRowView>(command.options.table).in_full(&in_full).wrapping();
    for row in command.options.of(rows) {
        table.row(&row)?;
    }
    table.end("there are no requirements")?;
    Ok(Exit::Done)
}
