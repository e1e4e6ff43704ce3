//! `ocfl`: OCFL objects and storage roots in any folder, made by any program.

mod browse;
mod names;
mod validate;

use std::path::PathBuf;

use clap::{Args, Subcommand};
use strongroom_ocfl::VersionNumber;

use crate::context::Context;
use crate::failure::Outcome;
use crate::output::TableOptions;

/// Check and read OCFL objects and storage roots; needs no data directory
#[derive(Debug, Subcommand)]
pub(crate) enum Ocfl {
    /// Validate an object or a storage root, every digest included; exit 1 if anything is wrong
    #[command(after_help = "Example: strongroom ocfl validate stores/one/example.edu")]
    Validate {
        /// The folder of the object or storage root
        dir: PathBuf,
        /// Leave contents unread: check names and inventories only
        #[arg(long)]
        quick: bool,
    },
    /// List the objects of a storage root, or the files of an object
    #[command(after_help = "Examples:
  strongroom ocfl ls stores/one/example.edu
  strongroom ocfl ls stores/one/example.edu example.edu/letters --version v2

OBJECT is an OCFL id, the path of the object relative to the storage root, or, of objects that this program wrote, the name \
INSTITUTION/NAME. A search for a name reads every object.")]
    Ls {
        #[command(flatten)]
        which: Which,
        /// The version whose files are listed [default: the newest]
        #[arg(long, value_name = "vN", value_parser = version)]
        version: Option<VersionNumber>,
        #[command(flatten)]
        options: TableOptions,
    },
    /// Write the content of a file to standard output; exit 1 if it has not the digest that the inventory states
    #[command(after_help = "Examples:
  strongroom ocfl cat stores/one/example.edu example.edu/letters data/1.txt
  strongroom ocfl cat stores/one/example.edu/object-1 letters/1.txt --version v1")]
    Cat {
        /// The folder of a storage root or of an object
        dir: PathBuf,
        /// In a storage root the object and the path of the file; in an object the path. The end of a path is enough where
        /// no other path ends with it
        #[arg(required = true, num_args = 1..=2, value_names = ["OBJECT", "PATH"])]
        target: Vec<String>,
        /// The version [default: the newest]
        #[arg(long, value_name = "vN", value_parser = version)]
        version: Option<VersionNumber>,
    },
    /// List the versions of an object: when, by whom, why, and how many files each added, changed and removed
    #[command(after_help = "Examples:
  strongroom ocfl log stores/one/example.edu example.edu/letters
  strongroom ocfl log stores/one/example.edu example.edu/letters --limit 1")]
    Log {
        #[command(flatten)]
        which: Which,
        /// The newest version first
        #[arg(long)]
        reverse: bool,
        /// So many versions at most
        #[arg(long, value_name = "N")]
        limit: Option<usize>,
        #[command(flatten)]
        options: TableOptions,
    },
    /// List the files that differ between two versions of an object
    #[command(after_help = "Examples:
  strongroom ocfl diff stores/one/example.edu example.edu/letters
  strongroom ocfl diff stores/one example.edu/letters --from v1 --to v3")]
    Diff {
        #[command(flatten)]
        which: Which,
        /// The one version [default: the one before the other; of the first version everything is new]
        #[arg(long, value_name = "vN", value_parser = version)]
        from: Option<VersionNumber>,
        /// The other version [default: the newest]
        #[arg(long, value_name = "vN", value_parser = version)]
        to: Option<VersionNumber>,
        #[command(flatten)]
        options: TableOptions,
    },
    /// Show what an object or a storage root is
    #[command(after_help = "Examples:
  strongroom ocfl info stores/one/example.edu
  strongroom ocfl info stores/one/example.edu example.edu/letters")]
    Info {
        #[command(flatten)]
        which: Which,
    },
}

/// A storage root, an object in it, or an object.
#[derive(Debug, Args)]
pub(crate) struct Which {
    /// The folder of a storage root or of an object
    dir: PathBuf,
    /// The object in the storage root: its OCFL id, its path, or INSTITUTION/NAME
    object: Option<String>,
}

fn version(text: &str) -> Result<VersionNumber, String> {
    let named = if text.starts_with('v') { text.to_owned() } else { format!("v{text}") };
    named.parse().map_err(|_| "it is not a version, such as v2".to_owned())
}

pub(crate) fn run(command: &Ocfl, context: &Context) -> Outcome {
    match command {
        Ocfl::Validate { dir, quick } => validate::run(dir, *quick, context),
        Ocfl::Ls { which, version, options } => browse::list(which, *version, *options, context),
        Ocfl::Cat { dir, target, version } => browse::cat(dir, target, *version, context),
        Ocfl::Log { which, reverse, limit, options } => browse::log(which, *reverse, *limit, *options, context),
        Ocfl::Diff { which, from, to, options } => browse::diff(which, *from, *to, *options, context),
        Ocfl::Info { which } => browse::info(which, context),
    }
}
