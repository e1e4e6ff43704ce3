//! `receiving`: what lies in the receiving stores, what it waits for, and what became of it.

use clap::{Args, Subcommand};
use strongroom_engine::receiving::{self, UploadReport};
use strongroom_registry::{ItemId, Part, Scope, Stage, UploadId, UploadState};

use super::PAGE;
use super::institution::scope;
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
    /// Forget uploads as they are, so that they are taken up as if they were new
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
    /// An upload.
    ReceivedLine {
        upload: UploadId,
        institution: String,
        store: String,
        key: String,
        state: UploadState,
        note: Option<String>,
        item: Option<ItemId>,
        collection: Option<String>,
        stage: Option<Stage>,
        part: Option<u64>,
        parts: Option<u64>,
        size: u64,
        etag: String,
        first_seen_at: String,
        changed_at: String,
        settles_at: Option<String>,
        remove_after: Option<String>,
        warned_at: Option<String>,
    }
}

report! {
    /// An upload that was forgotten.
    Forgotten { upload: UploadId }
}

impl From<UploadReport> for ReceivedLine {
    fn from(upload: UploadReport) -> Self {
        let text = |time: Option<strongroom_registry::Time>| time.map(|time| time.to_string());
        Self {
            upload: upload.upload,
            institution: upload.institution,
            store: upload.store,
            key: upload.key,
            state: upload.state,
            note: upload.note,
            item: upload.item,
            collection: upload.collection,
            stage: upload.stage,
            part: upload.part.map(Part::number),
            parts: upload.part.map(Part::total),
            size: upload.size,
            etag: upload.etag,
            first_seen_at: upload.first_seen_at.to_string(),
            changed_at: upload.changed_at.to_string(),
            settles_at: text(upload.settles_at),
            remove_after: text(upload.remove_after),
            warned_at: text(upload.warned_at),
        }
    }
}

pub(crate) fn run(command: &Receiving, context: &Context) -> Outcome {
    match command {
        Receiving::List(which) => list(which, context),
        Receiving::Show { upload } => {
            let id = identifier(upload, "upload")?;
            let home = context.open_home()?;
            context.output.show(&ReceivedLine::from(receiving::show(&home, Scope::System, id)?))?;
            Ok(Exit::Done)
        }
        Receiving::Forget { uploads } => forget(uploads, context),
    }
}

fn list(which: &Which, context: &Context) -> Outcome {
    let home = context.open_home()?;
    let scope = scope(&home.registry, which.institution.as_deref())?;
    let mut table = context.output.table(&["upload", "store", "key", "state", "item", "remove_after", "note"]);
    let mut after = None;
    loop {
        let page = receiving::list(&home, scope, which.all, after, PAGE)?;
        let Some(last) = page.last().map(|upload| upload.upload) else { break };
        after = Some(last);
        for upload in page {
            table.row(&ReceivedLine::from(upload))?;
        }
    }
    table.end("nothing lies in the receiving stores, as far as they were looked at")?;
    Ok(Exit::Done)
}

fn forget(uploads: &[String], context: &Context) -> Outcome {
    let ids = uploads.iter().map(|id| identifier(id, "upload")).collect::<Result<Vec<UploadId>, _>>()?;
    let home = context.open_home()?;
    let mut table = context.output.table(&["upload"]);
    for upload in ids {
        receiving::forget(&home, Scope::System, upload)?;
        table.row(&Forgotten { upload })?;
    }
    table.end("nothing was forgotten")?;
    Ok(Exit::Done)
}
