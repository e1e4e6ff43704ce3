//! `journal`: who did what, and what was refused.

use clap::{Args, Subcommand};
use strongroom_engine::app::views::JournalView;
use strongroom_engine::app::{self, journal};

use super::values::time;
use crate::context::Context;
use crate::failure::{Exit, Outcome};
use crate::output::ListOptions;

/// Show who did what, and what was refused
#[derive(Debug, Subcommand)]
pub(crate) enum Journal {
    /// List the acts of people and of the system on records, the newest first (with --json the oldest)
    #[command(after_help = "Example: strongroom journal list --since 1d --csv > journal.csv")]
    List(Filter),
}

/// Which lines are listed.
#[derive(Debug, Args)]
pub(crate) struct Filter {
    /// Only those about what belongs to this institution
    #[arg(long, value_name = "DOMAIN")]
    institution: Option<String>,
    /// Only those of this actor: an email address, or the name of an account, which also acts for users
    #[arg(id = "journal_actor", long = "actor", value_name = "NAME")]
    actor: Option<String>,
    /// Only those of this act, such as items.hold, or about this kind of thing, such as items
    #[arg(long, value_name = "ACT")]
    act: Option<String>,
    /// Only those about this object: INSTITUTION/NAME, its UUID or its ARK
    #[arg(long, value_name = "OBJECT")]
    object: Option<String>,
    /// Only those since: a date such as 2026-01-31, a time, or an age such as 7d
    #[arg(long, value_name = "DATE|TIME|AGE")]
    since: Option<String>,
    #[command(flatten)]
    options: ListOptions,
}

pub(crate) fn run(command: Journal, context: &Context) -> Outcome {
    let Journal::List(filter) = command;
    let since = filter.since.as_deref().map(time).transpose()?;
    let is_filtered = filter.institution.is_some()
        || filter.actor.is_some()
        || filter.act.is_some()
        || filter.object.is_some()
        || since.is_some();
    let listing = filter.options.newest_first(&context.output);
    let wanted = journal::Filter {
        institution: filter.institution,
        actor: filter.actor,
        act: filter.act,
        object: filter.object,
        since,
        listing,
    };
    let call = context.call()?;
    let columns = ["time", "actor", "act", "target", "outcome"];
    let in_full = [
        "time",
        "actor",
        "kind",
        "account",
        "key",
        "act",
        "target",
        "object",
        "institution",
        "outcome",
        "request",
        "detail",
    ];
    let mut table =
        context.output.table(&columns).with::<JournalView>(filter.options.table).if_room(&["detail"]).in_full(&in_full);
    app::first(listing.limit, |after| journal::list(&call, &wanted, after), |line| table.row(&line))?;
    table.end(if is_filtered { "no lines match" } else { "nothing was done yet" })?;
    Ok(Exit::Done)
}
