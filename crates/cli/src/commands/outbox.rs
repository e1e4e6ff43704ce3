//! `outbox`: messages that cannot be delivered as things are, and those that wait.

use clap::Subcommand;
use strongroom_engine::app::{self, outbox};
use uuid::Uuid;

use crate::context::Context;
use crate::failure::{Exit, Outcome};

/// Show the messages that cannot be delivered, send one again, or remove it
#[derive(Debug, Subcommand)]
pub(crate) enum Outbox {
    /// List the messages that cannot be delivered with the present settings, such as those for a store that is no longer in them
    #[command(after_help = "Example: strongroom outbox list --waiting --json")]
    List {
        /// Those that are to be delivered, instead, with the reason of the last attempt
        #[arg(long)]
        waiting: bool,
    },
    /// Attempt an undeliverable message again, as soon as background tasks run
    #[command(after_help = "Example: strongroom outbox send 019f2c1e-5a0b-7c3d-8e4f-a1b2c3d4e5f6")]
    Send {
        /// The identifier of the message
        message: Uuid,
    },
    /// Remove an undeliverable message: it is never delivered
    #[command(after_help = "Example: strongroom outbox remove 019f2c1e-5a0b-7c3d-8e4f-a1b2c3d4e5f6")]
    Remove {
        /// The identifier of the message
        message: Uuid,
    },
}

pub(crate) fn run(command: &Outbox, context: &Context) -> Outcome {
    let call = context.call()?;
    match command {
        Outbox::List { waiting: true } => {
            let mut table =
                context.output.table(&["message", "institution", "kind", "created_at", "to", "attempts", "reason"]);
            app::each(|after| outbox::waiting(&call, after), |message| table.row(&message))?;
            table.end("no message waits")?;
        }
        Outbox::List { .. } => {
            let mut table = context.output.table(&["message", "institution", "kind", "undeliverable_at", "reason"]);
            app::each(|after| outbox::list(&call, after), |message| table.row(&message))?;
            table.end("no message is undeliverable")?;
        }
        Outbox::Send { message } => context.output.show(&outbox::send(&call, *message)?)?,
        Outbox::Remove { message } => context.output.show(&outbox::remove(&call, *message)?)?,
    }
    Ok(Exit::Done)
}
