//! `receiving`: what lies in the receiving stores, what it waits for, and what became of it.

use clap::{Args, Subcommand};
use strongroom_engine::EngineError;
use strongroom_engine::app::views::{UploadId, UploadView};
use strongroom_engine::app::{self, receiving};

use crate::context::Context;
use crate::failure::{Exit, Outcome};
use crate::output::{ListOptions, report};

/// Show uploads: what was put into the receiving stores
#[derive(Debug, Subcommand)]
pub(crate) enum Receiving {
    /// List uploads, what each waits for, and when it is removed
    List(Which),
    /// Show an upload
    Show {
        /// Its identifier, as "receiving list" shows it, or a part of it that no other has
        upload: String,
    },
    /// Forget uploads as they are, so that the next scan treats them as new
    Forget {
        /// Their identifiers, as "receiving list" shows them, or parts of them that no others have
        #[arg(required = true)]
        uploads: Vec<String>,
    },
}

/// Which uploads.
#[derive(Debug, Args)]
pub(crate) struct Which {
    /// Only those of this institution
    #[arg(long, value_name = "DOMAIN")]
    institution: Option<String>,
    /// Also those that are no longer there
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    options: ListOptions,
}

report! {
    /// An upload that was forgotten.
    Forgotten { upload: UploadId }
}

pub(crate) fn run(command: &Receiving, context: &Context) -> Outcome {
    match command {
        Receiving::List(which) => list(which, context),
        Receiving::Show { upload } => {
            let call = context.call()?;
            context.output.show(&receiving::show(&call, receiving::named(&call, upload)?)?)?;
            Ok(Exit::Done)
        }
        Receiving::Forget { uploads } => forget(uploads, context),
    }
}

fn list(which: &Which, context: &Context) -> Outcome {
    let call = context.call()?;
    let columns = ["upload", "key", "state", "remove_after", "note"];
    let mut table = context.output.table(&columns).with::<UploadView>(which.options.table).in_full(&[
        "upload",
        "store",
        "key",
        "size",
        "state",
        "item",
        "stage",
        "part",
        "parts",
        "first_seen_at",
        "changed_at",
        "remove_after",
        "note",
    ]);
    let page = |after| receiving::list(&call, which.institution.as_deref(), which.all, after);
    app::arranged(which.options.oldest_first(), page, |upload| table.row(&upload))?;
    table.end("no uploads were found in the receiving stores so far")?;
    Ok(Exit::Done)
}

fn forget(uploads: &[String], context: &Context) -> Outcome {
    let call = context.call()?;
    let ids = uploads.iter().map(|id| receiving::named(&call, id)).collect::<Result<Vec<UploadId>, EngineError>>()?;
    let mut table = context.output.table(&["upload"]);
    for upload in ids {
        receiving::forget(&call, upload)?;
        table.row(&Forgotten { upload })?;
    }
    table.end("nothing was forgotten")?;
    Ok(Exit::Done)
}
