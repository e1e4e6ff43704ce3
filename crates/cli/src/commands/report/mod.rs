//! `report`: what an installation keeps and how, in lists and figures. A file for each report.

mod core_trust_seal;
mod manifest;
mod ndsa;

use clap::Subcommand;

use crate::context::Context;
use crate::failure::Outcome;

/// Report what is kept, and how
#[derive(Debug, Subcommand)]
pub(crate) enum Report {
    /// List every file that is kept of a collection, an institution or a store, with its digests
    Manifest(manifest::Manifest),
    /// Show which rows of the NDSA Levels of Digital Preservation 2.0 are met, with the reason and the command that shows it
    Ndsa(ndsa::Ndsa),
    /// Show what this installation has as evidence for the requirements of CoreTrustSeal 2023-2025
    CoreTrustSeal(core_trust_seal::CoreTrustSeal),
}

pub(crate) fn run(command: Report, context: &Context) -> Outcome {
    match command {
        Report::Manifest(arguments) => manifest::run(arguments, context),
        Report::Ndsa(arguments) => ndsa::run(&arguments, context),
        Report::CoreTrustSeal(arguments) => core_trust_seal::run(&arguments, context),
    }
}
