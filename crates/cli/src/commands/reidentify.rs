//! `signatures reidentify`: identifies anew what was identified with other signature files than those in use.

use clap::Args;
use strongroom_engine::app::formats::{self, ReidentifyRequest};

use crate::context::Context;
use crate::failure::{Exit, Outcome};
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

pub(crate) fn run(command: &Reidentify, context: &Context) -> Outcome {
    let call = context.call()?;
    let request = ReidentifyRequest {
        institution: command.institution.clone(),
        object: command.object.clone(),
        stop: signals::watch()?,
    };
    if command.dry_run {
        context.output.show(&formats::behind(&call, &request)?)?;
        return Ok(Exit::Done);
    }
    if !command.wait {
        context.output.show(&formats::enqueue(&call, &request)?)?;
        return Ok(Exit::Done);
    }
    let bar = progress::spinner(context, "identifying files");
    let summary = formats::reidentify(&call, &request, &mut |so_far| {
        let files = so_far.changed + so_far.unchanged;
        bar.set_message(format!("identified {files} files of {} objects, {} changed", so_far.objects, so_far.changed));
    });
    bar.finish_and_clear();
    let summary = summary?;
    context.output.show(&summary)?;
    Ok(if request.stop.is_requested() {
        Exit::Interrupted
    } else if summary.failed > 0 {
        Exit::OutOfReach
    } else {
        Exit::Done
    })
}
