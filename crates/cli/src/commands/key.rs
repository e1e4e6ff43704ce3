//! `key`: keys of programs that act for a user.

use clap::{Args, Subcommand};
use strongroom_engine::app::views::KeyView;
use strongroom_engine::app::{self, KeyScope, keys};

use super::values::{expiry, word};
use crate::context::Context;
use crate::failure::{Exit, Failure, Outcome};
use crate::output::ListOptions;

/// Show, make and revoke keys of programs
#[derive(Debug, Subcommand)]
pub(crate) enum Key {
    /// List the keys that were not revoked
    List(Filter),
    /// Show a key, without its token
    Show {
        /// Its identifier, which lists show and the token has in its middle, or a part that no other key has
        key: String,
    },
    /// Make a key: its token is shown this once
    #[command(override_usage = "strongroom key add --user <EMAIL> --scope <SCOPE> --expires <TIME>")]
    Add {
        /// The address of the user for whom it acts
        #[arg(long, value_name = "EMAIL")]
        user: String,
        /// What it may be used for, at most: read, deposit, restore or manage, which include read; several with commas between them
        #[arg(long = "scope", value_name = "SCOPE", required = true, value_delimiter = ',')]
        scopes: Vec<String>,
        /// When it expires: a date, a time, a span such as 90d, or never
        #[arg(long, value_name = "TIME")]
        expires: String,
    },
    /// Revoke a key: programs that present it are refused from now on
    Revoke {
        /// Its identifier, which lists show and the token has in its middle, or a part that no other key has
        key: String,
    },
}

/// Which keys are listed.
#[derive(Debug, Args)]
pub(crate) struct Filter {
    /// Only those of this user
    #[arg(long, value_name = "EMAIL")]
    user: Option<String>,
    /// Only those of users of this institution
    #[arg(long, value_name = "DOMAIN")]
    institution: Option<String>,
    /// Also those that were revoked
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    options: ListOptions,
}

pub(crate) fn run(command: Key, context: &Context) -> Outcome {
    match command {
        Key::List(filter) => return list(filter, context),
        Key::Add { user, scopes, expires } => {
            let scopes =
                scopes.iter().map(|scope| word(scope, "scope", KeyScope::ALL)).collect::<Result<_, Failure>>()?;
            let request = keys::Request { user, scopes, expires_at: expiry(&expires)? };
            let added = keys::add(&context.call()?, request)?;
            context.output.show(&added)?;
            if !context.output.is_json() {
                context.output.say("the token is not shown again")?;
            }
        }
        Key::Show { key } => context.output.show(&keys::show(&context.call()?, &key)?)?,
        Key::Revoke { key } => context.output.show(&keys::revoke(&context.call()?, &key)?)?,
    }
    Ok(Exit::Done)
}

fn list(filter: Filter, context: &Context) -> Outcome {
    let wanted = keys::Filter { user: filter.user, institution: filter.institution, revoked_too: filter.all };
    let call = context.call()?;
    let columns = ["key", "user", "scopes", "state", "expires_at", "last_used_at"];
    let mut table = context.output.table(&columns).with::<KeyView>(filter.options.table);
    let page = |after| keys::list(&call, &wanted, after);
    app::arranged(filter.options.oldest_first(), page, |key| table.row(&key))?;
    table.end("there are no keys")?;
    Ok(Exit::Done)
}
