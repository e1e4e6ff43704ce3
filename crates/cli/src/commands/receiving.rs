//! `receiving`: what lies in the receiving stores, what it waits for, and what became of it.

use clap::{Args, Subcommand};
use strongroom_engine::app::views::UploadId;
use strongroom_engine::app::{self, receiving};

use super::items::identifier;
use crate::context::Context;
use crate::failure::{Exit, Outcome};
use crate::output::report;

/// Show what was put into the receiving stores
#[derive(Debug, Subcommand)]
pub(crate) enum Receiving {
    /// List what lies there, what it waits for, and when it is removed
    List(Which),
    /// Show one upload
    Show {
        /// Its identifier, as "receiving list" shows it
        upload: String,
    },
    /// Forget uploads as they are, so that the next scan treats them as new
    Forget {
        /// Their identifiers, as "receiving list" shows them
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
    /// What no longer lies there as well
    #[arg(long)]
    all: bool,
}

report! {
    /// An upload that was forgotten.
    Forgotten { upload: UploadId }
}

pub(crate) fn run(command: &Receiving, context: &Context) -> Outcome {
    match command {
        Receiving::List(which) => list(which, context),
        Receiving::Show { upload } => {
            let id = identifier(upload, "upload")?;
            context.output.show(&receiving::show(&context.call()?, id)?)?;
            Ok(Exit::Done)
        }
        Receiving::Forget { uploads } => forget(uploads, context),
    }
}

fn list(which: &Which, context: &Context) -> Outcome {
    let call = context.call()?;
    let mut table = context.output.table(&["upload", "store", "key", "state", "item", "remove_after", "note"]);
    let institution = which.institution.as_deref();
    app::each(|after| receiving::list(&call, institution, which.all, after), |upload| table.row(&upload))?;
    table.end("nothing lies in the receiving stores, as far as they were looked at")?;
    Ok(Exit::Done)
}

fn forget(uploads: &[String], context: &Context) -> Outcome {
    let ids = uploads.iter().map(|id| identifier(id, "upload")).collect::<Result<Vec<UploadId>, _>>()?;
    let call = context.call()?;
    let mut table = context.output.table(&["upload"]);
    for upload in ids {
        receiving::forget(&call, upload)?;
        table.row(&Forgotten { upload })?;
    }
    table.end("nothing was forgotten")?;
    Ok(Exit::Done)
}
