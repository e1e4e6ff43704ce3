//! `restore`: asks the engine to give an object or a file back, and with `--wait` sees to it.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use strongroom_engine::Home;
use strongroom_engine::restoration::{RestoreFileRequest, RestoreRequest, request_file, request_object};
use strongroom_registry::{ItemId, Scope, items};

use super::items::ItemReport;
use super::wait::{Ended, Waiting, wait};
use crate::context::Context;
use crate::failure::{Exit, Failure, Outcome};
use crate::output::{printable, report};

/// Give back what is kept
#[derive(Debug, Subcommand)]
pub(crate) enum Restore {
    /// Give an object back as a bag
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
    /// Give one file back
    File {
        /// Its identifier, as "objects files" shows it
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
    wait: bool,
    #[command(flatten)]
    waiting: Waiting,
}

report! {
    /// What was asked for.
    Asked { item: ItemId, object: String, action: strongroom_registry::Action, status: strongroom_registry::ItemStatus }
}

pub(crate) fn run(command: Restore, context: &Context) -> Outcome {
    let home = context.open_home()?;
    let (id, how) = match command {
        Restore::Object { object, version, submission, how } => {
            let to = how.to.clone();
            let request = RestoreRequest { object, version, to, submission, requested_by: Context::who() };
            (request_object(&home, &request)?, how)
        }
        Restore::File { file, how } => {
            let request = RestoreFileRequest { file, to: how.to.clone(), requested_by: Context::who() };
            (request_file(&home, &request)?, how)
        }
    };
    if !how.wait {
        return accepted(&home, id, context);
    }
    wait(&home, &[id], context, &how.waiting, &mut |item, _| {
        let ended = Ended::of(item.status);
        if context.output.is_json() {
            let report = home.registry.read(|tx| ItemReport::read(tx, item.clone()))?;
            context.output.json(&report)?;
        } else {
            let note = item.note.as_deref().unwrap_or_default();
            context.output.say(printable(&format!("{:9}  {}  {note}", item.status, item.object_identifier)))?;
        }
        Ok::<_, Failure>(ended)
    })
}

fn accepted(home: &Home, id: ItemId, context: &Context) -> Outcome {
    let item = home.registry.read(|tx| items::find(tx, Scope::System, id))?;
    context.output.show(&Asked {
        item: id,
        object: item.object_identifier,
        action: item.action,
        status: item.status,
    })?;
    Ok(Exit::Done)
}
