//! `report`: what an installation keeps and how, in lists and figures. A file for each report.

mod core_trust_seal;
mod manifest;
mod ndsa;
mod statistics;

use clap::Subcommand;

use crate::context::Context;
use crate::failure::Outcome;

/// Report what is kept and how, what came in and out, and what it costs
#[derive(Debug, Subcommand)]
pub(crate) enum Report {
    /// List every file that is kept of a collection, an institution or a store, with its digests
    Manifest(manifest::Manifest),
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
    /// Show which rows of the NDSA Levels of Digital Preservation 2.0 are met, with the reason and the command that shows it
    Ndsa(ndsa::Ndsa),
    /// Show what this installation has as evidence for the requirements of CoreTrustSeal 2026-2028
    CoreTrustSeal(core_trust_seal::CoreTrustSeal),
}

pub(crate) fn run(command: Report, context: &Context) -> Outcome {
    match command {
        Report::Manifest(arguments) => manifest::run(arguments, context),
        Report::Deposits(arguments) => statistics::deposits(&arguments, context),
        Report::Storage(arguments) => statistics::storage(&arguments, context),
        Report::Formats(arguments) => statistics::formats(&arguments, context),
        Report::Fixity(arguments) => statistics::fixity(&arguments, context),
        Report::Cost(arguments) => statistics::cost(&arguments, context),
        Report::Recompute => statistics::recompute(context),
        Report::Ndsa(arguments) => ndsa::run(&arguments, context),
        Report::CoreTrustSeal(arguments) => core_trust_seal::run(&arguments, context),
    }
}
