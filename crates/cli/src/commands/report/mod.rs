//! `report`: what an installation keeps and how, for people who ask. A file for each report.

mod core_trust_seal;
mod ndsa;

use clap::Subcommand;

use crate::context::Context;
use crate::failure::Outcome;

/// Report on the installation as a whole
#[derive(Debug, Subcommand)]
pub(crate) enum Report {
    /// Show which rows of the NDSA Levels of Digital Preservation 2.0 are met, with the reason and the command that shows it
    Ndsa(ndsa::Ndsa),
    /// Show what this installation has as evidence for the requirements of CoreTrustSeal 2023-2025
    CoreTrustSeal(core_trust_seal::CoreTrustSeal),
}

pub(crate) fn run(command: &Report, context: &Context) -> Outcome {
    match command {
        Report::Ndsa(command) => ndsa::run(command, context),
        Report::CoreTrustSeal(command) => core_trust_seal::run(command, context),
    }
}
