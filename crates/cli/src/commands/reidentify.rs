//! `signatures reidentify`: identifies anew what was identified with other signature files than those in use.

use clap::Args;
use strongroom_engine::identification::{self, Behind, ReidentifyRequest, ReidentifySummary};

use crate::context::Context;
use crate::failure::{Exit, Outcome};
use crate::output::report;
use crate::{progress, signals};

/// Identify anew the files that were identified with other signatures than those in use
#[derive(Debug, Args)]
#[command(
    after_help = "Without --wait or --dry-run this is left to the workers. What a file was found to be is changed, and \
                        told by an event, only where the answer is another now."
)]
pub(crate) struct Reidentify {
    /// Only files of the institution with this domain name
    #[arg(long, value_name = "DOMAIN")]
    institution: Option<String>,
    /// Only files of this object: its identifier, or INSTITUTION/NAME
    #[arg(long)]
    object: Option<String>,
    /// Only say how many there are
    #[arg(long, conflicts_with = "wait")]
    dry_run: bool,
    /// Do it here and now
    #[arg(long)]
    wait: bool,
}

report! {
    /// How much was identified with other signatures.
    BehindReport { signatures: String, objects: u64, files: u64, bytes: u64 }
}

report! {
    /// What was left to the workers.
    Enqueued { topic: String, tasks: u64 }
}

report! {
    /// What identifying anew came to.
    ReidentifyReport {
        objects: u64,
        changed: u64,
        unchanged: u64,
        cold: u64,
        postponed: u64,
        failed: u64,
        errors: Vec<String>,
    }
}

impl From<Behind> for BehindReport {
    fn from(behind: Behind) -> Self {
        let Behind { signatures, objects, files, bytes } = behind;
        Self { signatures, objects, files, bytes }
    }
}

impl From<ReidentifySummary> for ReidentifyReport {
    fn from(summary: ReidentifySummary) -> Self {
        let ReidentifySummary { objects, changed, unchanged, cold, postponed, failed, errors } = summary;
        Self { objects, changed, unchanged, cold, postponed, failed, errors }
    }
}

pub(crate) fn run(command: &Reidentify, context: &Context) -> Outcome {
    let home = context.open_home()?;
    let request = ReidentifyRequest {
        institution: command.institution.clone(),
        object: command.object.clone(),
        stop: signals::watch()?,
    };
    if command.dry_run {
        context.output.show(&BehindReport::from(identification::behind(&home, &request)?))?;
        return Ok(Exit::Done);
    }
    if !command.wait {
        let tasks = identification::enqueue(&home, &request)?;
        context.output.show(&Enqueued { topic: identification::TOPIC.to_owned(), tasks })?;
        return Ok(Exit::Done);
    }
    let bar = progress::spinner(context, "identifying files");
    let summary = identification::run(&home, &request, &mut |so_far| {
        let files = so_far.changed + so_far.unchanged;
        bar.set_message(format!("identified {files} files of {} objects, {} changed", so_far.objects, so_far.changed));
    });
    bar.finish_and_clear();
    let summary = summary?;
    let exit = if request.stop.is_requested() {
        Exit::Interrupted
    } else if summary.failed > 0 {
        Exit::OutOfReach
    } else {
        Exit::Done
    };
    context.output.show(&ReidentifyReport::from(summary))?;
    Ok(exit)
}
