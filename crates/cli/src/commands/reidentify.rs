//! `signatures reidentify`: identifies anew what was identified with other signature files than those in use.

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use clap::Args;
use strongroom_engine::app::Shutdown;
use strongroom_engine::app::formats::{self, ReidentifyRequest};

use crate::context::Context;
use crate::failure::{Exit, Outcome};
use crate::progress::{Line, Unit};
use crate::signals;

/// So long the work waits until its files are counted; they are counted on while it runs.
const COUNTED_FIRST: Duration = Duration::from_secs(10);

/// Identify anew the files that were identified with other signatures than those in use
#[derive(Debug, Args)]
#[command(
    after_help = "Without --wait or --dry-run this is left to the workers. The format of a file is changed, and the \
                  change recorded by an event, only where the answer is another now."
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
    /// Do it in this process and wait until it ends
    #[arg(long)]
    wait: bool,
}

pub(crate) fn run(command: &Reidentify, context: &Context) -> Outcome {
    let call = context.call()?;
    let is_shown = command.wait && !command.dry_run;
    let line = if is_shown { Line::new(context, Unit::Files, "") } else { Line::hidden(Unit::Files) };
    let request = ReidentifyRequest {
        institution: command.institution.clone(),
        object: command.object.clone(),
        stop: signals::watch()?,
        progress: line.counts().clone(),
    };
    if command.dry_run {
        context.output.show(&formats::behind(&call, &request)?)?;
        return Ok(Exit::Done);
    }
    if !command.wait {
        context.output.show(&formats::enqueue(&call, &request)?)?;
        return Ok(Exit::Done);
    }
    let counting = ReidentifyRequest { stop: Shutdown::default(), ..request.clone() };
    let summary = thread::scope(|scope| {
        if !line.is_hidden() {
            let (sender, counted) = mpsc::channel();
            let (call, counting, line) = (&call, &counting, &line);
            scope.spawn(move || {
                // Of each file only parts are read, so that their bytes have no known end.
                if let Ok(behind) = formats::behind(call, counting)
                    && !counting.stop.is_requested()
                {
                    line.counts().set_expected(behind.files, 0);
                }
                // The receiver is gone where the count took too long.
                let _ = sender.send(());
            });
            let _ = counted.recv_timeout(COUNTED_FIRST);
        }
        let summary = formats::reidentify(&call, &request, &mut |so_far| {
            line.counts().set_files(so_far.changed + so_far.unchanged + so_far.cold + so_far.failed);
            line.note(&format!("{} changed", so_far.changed));
        });
        counting.stop.request();
        summary
    });
    drop(line);
    let summary = summary?;
    context.output.show(&summary)?;
    Ok(if request.stop.is_requested() {
        if !context.is_quiet {
            eprintln!("stopped; what was identified is recorded, and the other files keep the formats that they had");
            eprintln!("  next: the same command continues with them; without --wait it leaves them to the workers");
        }
        Exit::Interrupted
    } else if summary.failed > 0 {
        Exit::OutOfReach
    } else {
        Exit::Done
    })
}
