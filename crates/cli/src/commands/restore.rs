//! `restore`: asks for an object or a file, and with `--wait` works on it; many objects are restored by [`restore_many`].

use std::path::PathBuf;

use clap::{Args, Subcommand};
use strongroom_engine::app::restorations::{self, ObjectRequest, RestorationTarget};

use super::restore_many::{self, Many};
use super::wait::{Ended, Waiting, wait};
use crate::context::Context;
use crate::failure::{Exit, Failure, Outcome};
use crate::output::printable;

/// Restore objects and files out of the stores
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct Restore {
    #[command(subcommand)]
    one: Option<One>,
    #[command(flatten)]
    many: Many,
}

/// One object, or one file.
#[derive(Debug, Subcommand)]
pub(crate) enum One {
    /// Restore an object as a bag
    Object {
        /// Its identifier, or INSTITUTION/NAME
        object: String,
        /// The version [default: the newest]
        #[arg(long, value_name = "N")]
        version: Option<u64>,
        /// The deposit that made the version byte for byte, instead of a bag made anew
        #[arg(long)]
        submission: bool,
        #[command(flatten)]
        how: How,
    },
    /// Restore one file
    File {
        /// Its identifier, as "objects files" shows it, or a part of it that no other has
        file: String,
        #[command(flatten)]
        how: How,
    },
}

/// Where to, and whether to wait for it.
#[derive(Debug, Args)]
pub(crate) struct How {
    /// The folder to put it into [default: the institution's folder in the restoration store]
    #[arg(long, value_name = "DIR")]
    to: Option<PathBuf>,
    /// See to it here and now; exit 1 if it does not succeed
    #[arg(long)]
    pub(super) wait: bool,
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
    let (One::Object { how, .. } | One::File { how, .. }) = &one;
    how.waiting.refuse_without(how.wait)?;
    let (asked, how) = match one {
        One::Object { object, version, submission, how } => {
            let request = ObjectRequest { object, version, submission, target: how.target() };
            (restorations::of_object(&call, request)?, how)
        }
        One::File { file, how } => (restorations::of_file(&call, &file, how.target())?, how),
    };
    if !how.wait {
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
