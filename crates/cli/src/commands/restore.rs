//! `restore`: asks for an object or a file, and works on it where it waits; many objects are restored by [`restore_many`].

use std::path::PathBuf;

use clap::{Args, Subcommand};
use strongroom_engine::app::restorations::{self, ObjectRequest, PathsRequest, RestorationTarget};

use super::restore_many::{self, Many};
use super::restore_tests::{self, Tests};
use super::wait::{Ended, Waiting, wait};
use crate::context::Context;
use crate::failure::{Exit, Failure, Outcome};
use crate::output::printable;

/// Restore objects and files from the stores
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Restore {
    #[command(subcommand)]
    one: Option<One>,
    #[command(flatten)]
    many: Many,
}

/// One object, one file, or the tests of restoration.
#[derive(Debug, Subcommand)]
pub(crate) enum One {
    /// Restore an object as a bag
    Object {
        /// Its identifier, or INSTITUTION/NAME
        object: String,
        /// The version [default: the newest]
        #[arg(long, value_name = "N")]
        version: Option<u64>,
        /// In which form: "bag" for a bag made anew of everything that the version has, "submitted" for the files of the deposit
        /// that made the version, byte for byte
        #[arg(long, value_name = "FORM", default_value = "bag", conflicts_with = "submission")]
        format: Form,
        /// The old name of --format submitted
        #[arg(long, hide = true)]
        submission: bool,
        /// As a folder instead of a tar; needs --to
        #[arg(long, requires = "to")]
        folder: bool,
        #[command(flatten)]
        how: How,
    },
    /// Restore one file, or several files of an object
    #[command(after_help = FILE_EXAMPLES)]
    File {
        /// The identifier of a file, as "objects files" shows it, or a part of it that no other has; or an object,
        /// with paths
        #[arg(value_name = "FILE|OBJECT")]
        of: String,
        /// Paths of files of the object, folders, or patterns with `*`, `?`, `**`, `[ab]` and `{a,b}`
        #[arg(value_name = "PATH")]
        paths: Vec<String>,
        /// The version of the object [default: the newest]
        #[arg(long, value_name = "N", requires = "paths")]
        version: Option<u64>,
        #[command(flatten)]
        how: How,
    },
    /// Show the spot tests of restoration, and say what you think of their results
    #[command(subcommand)]
    Tests(Tests),
}

const FILE_EXAMPLES: &str = "Examples:
  strongroom restore file 0190f7a2-4c1e-7a53-9d0e-8f1b2c3d4e5f --to back --wait
  strongroom restore file example.edu/maps data/1.tif --version 2 --to back
  strongroom restore file example.edu/maps 'data/**/*.tif' data/text --to back

Several files are put into the folder back/maps; without --to, the restoration store gets maps-files.tar.";

/// In which form an object is restored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Form {
    /// As a bag made anew
    Bag,
    /// As it was deposited
    Submitted,
}

/// Where to, and whether to wait for it.
#[derive(Debug, Args)]
pub(crate) struct How {
    /// The folder to put it into [default: the institution's folder in the restoration store]
    #[arg(long, value_name = "DIR")]
    to: Option<PathBuf>,
    #[command(flatten)]
    pub(super) waiting: Waiting,
}

impl How {
    pub(super) fn target(&self) -> RestorationTarget {
        self.to.clone().map_or(RestorationTarget::RestorationStore, RestorationTarget::Folder)
    }
}

pub(crate) fn run(command: Restore, context: &Context) -> Outcome {
    let call = context.call()?;
    let Some(one) = command.one else { return restore_many::run(&call, &command.many, context) };
    let waits = match &one {
        One::Object { how, .. } | One::File { how, .. } => how.waiting.is_wanted()?,
        One::Tests(_) => false,
    };
    let (asked, how) = match one {
        One::Tests(command) => return restore_tests::run(&call, command, context),
        One::Object { object, version, format, submission, folder, how } => {
            let (submission, unpacked) = (submission || format == Form::Submitted, folder);
            let request = ObjectRequest { object, version, submission, unpacked, target: how.target() };
            (restorations::of_object(&call, request)?, how)
        }
        One::File { of, paths, how, .. } if paths.is_empty() => (restorations::of_file(&call, &of, how.target())?, how),
        One::File { of, paths, version, how } => {
            let request = PathsRequest { object: of, version, paths, target: how.target() };
            (restorations::of_paths(&call, request)?, how)
        }
    };
    if !waits {
        context.output.show(&asked)?;
        return Ok(Exit::Done);
    }
    wait(&call, &[asked.item], context, &how.waiting, &mut |item| {
        if context.output.is_json() {
            context.output.json(&item)?;
        } else {
            let note = item.note.as_deref().unwrap_or_default();
            context.output.say(printable(&format!("{:9}  {}  {note}", item.status, item.object)))?;
        }
        Ok::<_, Failure>(Ended::of(item.status))
    })
}
