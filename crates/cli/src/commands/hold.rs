//! `hold`: legal holds, which forbid deletion.

use clap::{Args, Subcommand};
use strongroom_engine::app;
use strongroom_engine::app::legal_holds::{self, Subject};
use strongroom_engine::app::views::LegalHoldView;

use crate::context::Context;
use crate::failure::{Exit, Failure, Outcome};
use crate::output::{ListOptions, printable};

/// Forbid the deletion of collections, objects and files
#[derive(Debug, Subcommand)]
pub(crate) enum Hold {
    /// Place, release and list legal holds
    #[command(subcommand)]
    Legal(Legal),
}

/// Place, release and list legal holds
#[derive(Debug, Subcommand)]
pub(crate) enum Legal {
    /// Place a legal hold: nothing of what it is on is deleted until it is released
    Add(Add),
    /// Release a legal hold; others on the same collection, object or file stay
    Release {
        /// Its identifier, or a part that no other legal hold has
        hold: String,
        /// Why, at most 2000 characters
        #[arg(long, value_name = "TEXT")]
        reason: String,
    },
    /// List the legal holds that were not released
    List(Filter),
}

/// What a hold is placed on.
#[derive(Debug, Args)]
pub(crate) struct Add {
    /// The object: INSTITUTION/NAME, its ARK or identifier, or a part of it
    #[arg(required_unless_present = "collection", conflicts_with = "collection")]
    object: Option<String>,
    /// The paths of files in the package, a hold for each [default: the whole object]
    #[arg(value_name = "PATH")]
    paths: Vec<String>,
    /// The collection, with every object that is in it now or later
    #[arg(long, value_name = "NAME", requires = "institution")]
    collection: Option<String>,
    /// The institution that the collection belongs to
    #[arg(long, value_name = "DOMAIN", requires = "collection")]
    institution: Option<String>,
    /// Why, at most 2000 characters
    #[arg(long, value_name = "TEXT")]
    reason: String,
}

/// Which holds are listed.
#[derive(Debug, Args)]
pub(crate) struct Filter {
    /// Only those on this object and on its files
    #[arg(long, value_name = "OBJECT", conflicts_with = "collection")]
    object: Option<String>,
    /// Only those on this collection itself: its name, or INSTITUTION/NAME
    #[arg(long, value_name = "NAME")]
    collection: Option<String>,
    /// Only those of this institution
    #[arg(long, value_name = "DOMAIN")]
    institution: Option<String>,
    /// Also those that were released
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    options: ListOptions,
}

pub(crate) fn run(command: Hold, context: &Context) -> Outcome {
    let Hold::Legal(command) = command;
    match command {
        Legal::Add(add) => place(add, context),
        Legal::Release { hold, reason } => {
            context.output.show(&legal_holds::release(&context.call()?, &hold, &reason)?)?;
            Ok(Exit::Done)
        }
        Legal::List(filter) => list(filter, context),
    }
}

fn place(add: Add, context: &Context) -> Outcome {
    let subject = match (add.object, add.collection, add.institution) {
        (Some(object), None, _) => Subject::Object { object, paths: add.paths },
        (None, Some(collection), Some(institution)) => Subject::Collection { institution, collection },
        _ => return Err(Failure::usage("there is nothing to place a hold on").next("name an object or a collection")),
    };
    for (number, hold) in legal_holds::add(&context.call()?, &subject, &add.reason)?.iter().enumerate() {
        if number > 0 {
            context.output.say("")?;
        }
        context.output.show(hold)?;
        warn(hold, context)?;
    }
    Ok(Exit::Done)
}

/// Says which deletions a hold came too late for.
fn warn(hold: &LegalHoldView, context: &Context) -> Result<(), Failure> {
    let name = hold.object.as_deref().or(hold.collection.as_deref()).unwrap_or_default();
    for item in &hold.begun_deletions {
        let line = format!("the deletion of {name} has begun and cannot be stopped by a hold: work item {item}");
        context.output.say(printable(&line))?;
        context.output.say(format!("  next: strongroom items show {item}"))?;
    }
    Ok(())
}

fn list(filter: Filter, context: &Context) -> Outcome {
    let wanted = legal_holds::Filter {
        institution: filter.institution,
        object: filter.object,
        collection: filter.collection,
        released_too: filter.all,
    };
    let call = context.call()?;
    let columns = ["legal_hold", "on", "subject", "placed_at", "placed_by", "reason"];
    let with_state = ["legal_hold", "on", "subject", "state", "placed_at", "placed_by", "reason"];
    let shown = if filter.all { &with_state[..] } else { &columns[..] };
    let mut table = context.output.table(shown).with::<LegalHoldView>(filter.options.table);
    let page = |after| legal_holds::list(&call, &wanted, after);
    app::arranged(filter.options.oldest_first(), page, |hold| {
        let subject = match (&hold.collection, &hold.object, &hold.path) {
            (Some(collection), _, _) => format!("{}/{collection}", hold.institution),
            (None, Some(object), Some(path)) => format!("{object}: {path}"),
            (None, object, _) => object.clone().unwrap_or_default(),
        };
        table.row_with(&hold, &[("subject", subject)])
    })?;
    table.end("there are no legal holds")?;
    Ok(Exit::Done)
}
