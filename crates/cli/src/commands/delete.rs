//! `delete`: a user requests the deletion of objects or files, and another one approves it.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use strongroom_engine::app::deletions;
use strongroom_engine::app::views::{DeletionRequestState, DeletionTargetView, DeletionView, UnfinishedDeletionView};
use strongroom_engine::app::{self, OpContext};

use super::restore_many::{self, Lines};
use super::user::{LONGEST_TOKEN, read_text};
use super::values::word;
use super::wait::Waiting;
use crate::context::Context;
use crate::failure::{Exit, Failure, Outcome};
use crate::output::{ListOptions, TableOptions};

/// The longest line of a list, in bytes: the name of an object, and a path.
const LONGEST_LINE: u64 = 10_000;

/// Request deletions, and approve or deny those of another user
#[derive(Debug, Subcommand)]
pub(crate) enum Delete {
    /// Request the deletion of an object, of files of it, or of what a list names; another user has to approve it
    #[command(
        override_usage = "strongroom delete request <OBJECT> [PATH]... --reason <REASON>\n       strongroom delete request --list <FILE> --reason <REASON>"
    )]
    Request(Request),
    /// Approve a request of another user: work items delete what it names
    Approve {
        /// Its identifier, or a part that no other request has
        #[arg(required_unless_present = "token_stdin", conflicts_with = "token_stdin")]
        request: Option<String>,
        /// Approve the request whose token of a mail standard input has, in one line
        #[arg(long)]
        token_stdin: bool,
        /// What to say of it
        #[arg(long)]
        note: Option<String>,
        #[command(flatten)]
        waiting: Waiting,
    },
    /// Deny a request
    Deny(Ended),
    /// Cancel a request; work items that have begun to delete go on
    Cancel(Ended),
    /// List requests, the newest first (with --json the oldest)
    List(Filter),
    /// Show a request, what it names and how far the deletion is
    Show {
        /// Its identifier, or a part that no other request has
        request: String,
        #[command(flatten)]
        table: TableOptions,
    },
    /// List what was deleted and is still to be removed from stores: of one that was away, refuses it, or was put back as it was before
    Unfinished {
        #[command(flatten)]
        table: TableOptions,
    },
}

/// What is to be deleted.
#[derive(Debug, Args)]
pub(crate) struct Request {
    /// The object: its identifier, or INSTITUTION/NAME
    #[arg(required_unless_present = "list", conflicts_with = "list")]
    object: Option<String>,
    /// Paths of files of the object, as in the package [default: the whole object]
    #[arg(value_name = "PATH", conflicts_with = "list")]
    paths: Vec<String>,
    /// A file that names an object a line, or an object, a tab and the path of a file; lines that begin with # are comments; - for standard
    /// input
    #[arg(long, value_name = "FILE")]
    list: Option<PathBuf>,
    /// Why, in up to 2,000 characters
    #[arg(long)]
    reason: String,
}

/// A request that comes to its end.
#[derive(Debug, Args)]
pub(crate) struct Ended {
    /// Its identifier, or a part that no other request has
    request: String,
    /// Why, in up to 2,000 characters
    #[arg(long)]
    reason: String,
}

/// Which requests are listed.
#[derive(Debug, Args)]
pub(crate) struct Filter {
    /// Only this state: requested, approved, denied, cancelled, expired, completed or failed
    #[arg(long)]
    state: Option<String>,
    /// Only those about objects of this institution
    #[arg(long, value_name = "DOMAIN")]
    institution: Option<String>,
    /// Only those that name this object, or files of it
    #[arg(long)]
    object: Option<String>,
    #[command(flatten)]
    options: ListOptions,
}

pub(crate) fn run(command: Delete, context: &Context) -> Outcome {
    let shown = match command {
        Delete::List(filter) => return list(filter, context),
        Delete::Show { request, table } => return show(&request, table, context),
        Delete::Unfinished { table } => return unfinished(table, context),
        Delete::Request(request) => requested(&context.call()?, &request)?,
        Delete::Approve { request, token_stdin: _, note, waiting } => {
            let waits = waiting.is_wanted()?;
            let call = context.call()?;
            let approved = match request {
                Some(request) => deletions::approve(&call, deletions::named(&call, &request)?, note.as_deref())?,
                None => deletions::approve_by_token(&call, read_text(LONGEST_TOKEN)?.trim(), note.as_deref())?,
            };
            match approved.batch {
                Some(batch) if waits => return restore_many::wait(&call, batch, &waiting, context),
                _ => approved,
            }
        }
        Delete::Deny(Ended { request, reason }) => {
            let call = context.call()?;
            deletions::deny(&call, deletions::named(&call, &request)?, &reason)?
        }
        Delete::Cancel(Ended { request, reason }) => {
            let call = context.call()?;
            deletions::cancel(&call, deletions::named(&call, &request)?, &reason)?
        }
    };
    context.output.show(&shown)?;
    tell_next(&shown, context)?;
    Ok(Exit::Done)
}

fn requested(call: &OpContext, request: &Request) -> Result<DeletionView, Failure> {
    match (&request.list, &request.object) {
        (Some(list), _) => Ok(deletions::of_list(call, &mut Lines::up_to(LONGEST_LINE, list)?, &request.reason)?),
        (None, Some(object)) => Ok(deletions::of_object(call, object, &request.paths, &request.reason)?),
        (None, None) => {
            Err(Failure::usage("nothing to delete is named").next("name an object, or a list with --list FILE"))
        }
    }
}

/// What follows, for people.
fn tell_next(shown: &DeletionView, context: &Context) -> Result<(), Failure> {
    if context.output.is_json() {
        return Ok(());
    }
    match shown.state {
        DeletionRequestState::Requested => context
            .output
            .say(format!("another user approves it with \"strongroom --as EMAIL delete approve {}\"", shown.request)),
        DeletionRequestState::Approved => context
            .output
            .say("workers do the rest; where none runs, start \"strongroom work\" or \"strongroom serve\""),
        DeletionRequestState::Cancelled if shown.begun.is_some_and(|begun| begun > 0) => context.output.say(format!(
            "{} had begun and go on; \"strongroom delete show {}\" shows them",
            crate::output::counted(shown.begun.unwrap_or(0), "work item", "work items"),
            shown.request
        )),
        _ => Ok(()),
    }
}

fn list(filter: Filter, context: &Context) -> Outcome {
    let state = filter.state.map(|state| word(&state, "state", DeletionRequestState::ALL)).transpose()?;
    let is_filtered = state.is_some() || filter.institution.is_some() || filter.object.is_some();
    let listing = filter.options.newest_first(&context.output);
    let wanted = deletions::Filter { institution: filter.institution, state, object: filter.object };
    let call = context.call()?;
    let columns = ["request", "state", "name", "requested_by", "requested_at"];
    let mut table =
        context.output.table(&columns).with::<DeletionView>(filter.options.table).if_room(&["approved_by", "reason"]);
    app::arranged(listing, |after| deletions::list(&call, &wanted, after), |request| table.row(&request))?;
    table.end(if is_filtered { "no requests match" } else { "there are no requests for deletion" })?;
    Ok(Exit::Done)
}

fn unfinished(options: TableOptions, context: &Context) -> Outcome {
    let call = context.call()?;
    let columns = ["object", "store", "files", "begun_at"];
    let mut table = context.output.table(&columns).with::<UnfinishedDeletionView>(options).if_room(&["reason", "item"]);
    app::each(|after| deletions::unfinished(&call, after), |unfinished| table.row(&unfinished))?;
    table.end("nothing is still to be removed from a store")?;
    Ok(Exit::Done)
}

/// Shows a request and what it names. With --json the request is the first object, and the others follow.
fn show(request: &str, options: TableOptions, context: &Context) -> Outcome {
    let call = context.call()?;
    let id = deletions::named(&call, request)?;
    let shown = deletions::show(&call, id)?;
    if !options.csv {
        context.output.show(&shown)?;
    }
    let mut table = context
        .output
        .table(&["object", "path", "item", "status"])
        .with::<DeletionTargetView>(options)
        .if_room(&["note"]);
    app::each(|after| deletions::targets(&call, id, after), |target| table.row(&target))?;
    table.end("it names nothing")?;
    Ok(Exit::Done)
}
