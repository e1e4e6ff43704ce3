//! `report`: what is kept, in lists and figures; a file for each.

mod manifest;

use clap::Subcommand;

use crate::context::Context;
use crate::failure::Outcome;

/// Report what is kept
#[derive(Debug, Subcommand)]
pub(crate) enum Report {
    /// List every file that is kept of a collection, an institution or a store, with its digests
    Manifest(manifest::Manifest),
}

pub(crate) fn run(command: Report, context: &Context) -> Outcome {
    match command {
        Report::Manifest(arguments) => manifest::run(arguments, context),
    }
}
