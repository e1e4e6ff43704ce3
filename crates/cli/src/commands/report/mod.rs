//! `report`: reports on what is kept. One file for each kind.

mod statistics;

use clap::Subcommand;

use crate::context::Context;
use crate::failure::Outcome;

/// Report what came in and out, what is kept, and what it costs
#[derive(Debug, Subcommand)]
pub(crate) enum Report {
    /// Report what came in, went out and was deleted
    Deposits(statistics::Deposits),
    /// Report what the stores have
    Storage(statistics::Storage),
    /// Report what is kept by format, each content once
    Formats(statistics::Formats),
    /// Report how many copies were read and compared with their digests [default: in the last 30 days]
    Fixity(statistics::Fixity),
    /// Report what storage costs by month, by the prices of the settings
    Cost(statistics::Cost),
    /// Make the statistics anew from what the registry has
    Recompute,
}

pub(crate) fn run(command: &Report, context: &Context) -> Outcome {
    match command {
        Report::Deposits(arguments) => statistics::deposits(arguments, context),
        Report::Storage(arguments) => statistics::storage(arguments, context),
        Report::Formats(arguments) => statistics::formats(arguments, context),
        Report::Fixity(arguments) => statistics::fixity(arguments, context),
        Report::Cost(arguments) => statistics::cost(arguments, context),
        Report::Recompute => statistics::recompute(context),
    }
}
