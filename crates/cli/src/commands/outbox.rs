//! `outbox`: messages that cannot be delivered as things are, and those that wait.

use clap::Subcommand;
use strongroom_engine::EngineError;
use strongroom_engine::app::views::{MessageView, ToldView};
use strongroom_engine::app::{self, batches, outbox};
use uuid::Uuid;

use crate::context::Context;
use crate::failure::{Exit, Failure, Outcome};
use crate::output::{Table, TableOptions, counted};

/// Show the messages that cannot be delivered, send them again, or remove them
#[derive(Debug, Subcommand)]
pub(crate) enum Outbox {
    /// List the messages that cannot be delivered with the present settings, such as those for a store that is no longer in them
    #[command(after_help = "Example: strongroom outbox list --waiting --json")]
    List {
        /// Those that are to be delivered, instead, with the reason of the last attempt
        #[arg(long)]
        waiting: bool,
        #[command(flatten)]
        options: TableOptions,
    },
    /// Attempt undeliverable messages again, as soon as background tasks run
    #[command(after_help = "Example: strongroom outbox send 019f2c1e-5a0b-7c3d-8e4f-a1b2c3d4e5f6")]
    Send {
        /// Their identifiers, or parts of them that no others have
        #[arg(required_unless_present = "batch", conflicts_with = "batch")]
        messages: Vec<String>,
        /// All undeliverable messages about this batch
        #[arg(long)]
        batch: Option<String>,
    },
    /// Remove undeliverable messages, and those whose delivery work items wait for: they are never delivered
    #[command(after_help = "Example: strongroom outbox remove 019f2c1e-5a0b-7c3d-8e4f-a1b2c3d4e5f6")]
    Remove {
        /// Their identifiers, or parts of them that no others have
        #[arg(required = true)]
        messages: Vec<String>,
        /// Why no program confirms the work items that wait for these messages, or failed without them: they succeed, and their notes say this
        #[arg(long, value_name = "TEXT")]
        reason: Option<String>,
    },
}

pub(crate) fn run(command: &Outbox, context: &Context) -> Outcome {
    let call = context.call()?;
    let named = |texts: &[String]| texts.iter().map(|text| outbox::named(&call, text)).collect::<Result<Vec<_>, _>>();
    match command {
        Outbox::List { waiting: true, options } => {
            let columns = ["message", "kind", "batch", "item", "next_attempt_at", "reason"];
            let in_full = [
                "message",
                "institution",
                "kind",
                "created_at",
                "batch",
                "item",
                "to",
                "attempts",
                "next_attempt_at",
                "reason",
            ];
            let mut table = context.output.table(&columns).with::<MessageView>(*options).in_full(&in_full).wrapping();
            app::each(|after| outbox::waiting(&call, after), |message| table.row(&message))?;
            table.end("no message waits")?;
        }
        Outbox::List { options, .. } => {
            let columns = ["message", "institution", "kind", "undeliverable_at", "reason"];
            let mut table = context.output.table(&columns).with::<MessageView>(*options);
            app::each(|after| outbox::list(&call, after), |message| table.row(&message))?;
            table.end(if outbox::waiting(&call, None)?.items.is_empty() {
                "no message is undeliverable"
            } else {
                "no message is undeliverable; \"strongroom outbox list --waiting\" lists those that are to be delivered"
            })?;
        }
        Outbox::Send { batch: Some(batch), .. } => {
            let batch = batches::named(&call, batch)?;
            let mut table = changed(context);
            outbox::send_of_batch(&call, batch, &mut |message| table.row(&message))?;
            table.end("no message about the batch is undeliverable")?;
            if !context.output.is_json() {
                context.output.say(what_is_left(&batches::told(&call, batch)?))?;
            }
        }
        Outbox::Send { messages, .. } => match named(messages)?.as_slice() {
            [message] => context.output.show(&outbox::send(&call, *message)?)?,
            several => {
                let mut table = changed(context);
                outbox::send_all(&call, several)?.iter().try_for_each(|message| table.row(message))?;
                table.end("")?;
            }
        },
        Outbox::Remove { messages, reason } => {
            tell(&named(messages)?, |id| outbox::remove(&call, id, reason.as_deref()), context)?;
        }
    }
    Ok(Exit::Done)
}

/// How many messages about a batch are not delivered.
fn what_is_left(told: &ToldView) -> String {
    let (mut waiting, mut needs_review, mut incomplete) = (0, 0, 0);
    for counts in &told.counts {
        waiting += counts.waiting;
        needs_review += counts.needs_review;
        incomplete += counts.incomplete;
    }
    let mut text =
        format!("{} to be sent, {needs_review} need review", counted(waiting, "message waits", "messages wait"));
    if incomplete > 0 {
        text += ", ";
        text += &counted(incomplete, "mail was delivered", "mails were delivered");
        text += " not to every recipient";
    }
    text
}

fn changed(context: &Context) -> Table<'_> {
    context.output.table(&["message", "institution", "kind", "state", "to", "subject"])
}

/// Does something with messages, and shows them as they are then: one in full, several in a table.
fn tell(
    messages: &[Uuid],
    act: impl Fn(Uuid) -> Result<MessageView, EngineError>,
    context: &Context,
) -> Result<(), Failure> {
    if let [message] = messages {
        return context.output.show(&act(*message)?);
    }
    let mut table = changed(context);
    for message in messages {
        table.row(&act(*message)?)?;
    }
    table.end("")
}
