//! `user`: who may do what, and how they prove who they are.

use std::io::{self, Read as _};

use clap::{Args, Subcommand};
use strongroom_engine::app::users::{self, Changes, NewUser};
use strongroom_engine::app::views::UserView;
use strongroom_engine::app::{self, OpContext, Password, UserRole, second_factors};
use zeroize::Zeroizing;

use super::values::word;
use crate::context::Context;
use crate::failure::{Exit, Failure, Outcome};
use crate::output::ListOptions;

/// More of standard input is not read as a password: four bytes for each character that one may have, and the end of the line.
const LONGEST: usize = Password::LONGEST * 4 + 2;

/// The roles, as the help shows them.
const ROLE: &str = "What the user may do: system_admin, institution_admin, institution_user or auditor";

/// Show and change users
#[derive(Debug, Subcommand)]
pub(crate) enum User {
    /// List the users that are active
    List(Filter),
    /// Show a user
    Show {
        /// The address
        email: String,
    },
    /// Add a user
    Add {
        /// The address
        email: String,
        /// What the user may do
        #[arg(long, help = ROLE)]
        role: String,
        /// The domain name of the institution; without it the user is one of the whole installation
        #[arg(long, value_name = "DOMAIN")]
        institution: Option<String>,
        /// Read the password from standard input, one line; without it the user cannot sign in
        #[arg(long)]
        password_stdin: bool,
    },
    /// Change a user
    Set(Set),
    /// Deactivate a user: sessions and keys end, and the user can do nothing more
    Deactivate {
        /// The address
        email: String,
        /// Activate the user again; keys stay revoked
        #[arg(long)]
        undo: bool,
    },
}

/// Which users are listed.
#[derive(Debug, Args)]
pub(crate) struct Filter {
    /// Only those of this institution
    #[arg(long, value_name = "DOMAIN")]
    institution: Option<String>,
    /// Only those of this role
    #[arg(long)]
    role: Option<String>,
    /// Also those that were deactivated
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    options: ListOptions,
}

/// What is changed of a user.
#[derive(Debug, Args)]
pub(crate) struct Set {
    /// The address
    email: String,
    /// What the user may do
    #[arg(long, help = ROLE)]
    role: Option<String>,
    /// The domain name of the institution; '' for the whole installation. Keys of the user end when it changes
    #[arg(long, value_name = "DOMAIN")]
    institution: Option<String>,
    /// Read a new password from standard input, one line; sessions of the user end
    #[arg(long)]
    password_stdin: bool,
    /// Remove the second factor, which the user has lost, and its backup codes; sessions of the user end
    #[arg(long)]
    reset_second_factor: bool,
}

pub(crate) fn run(command: User, context: &Context) -> Outcome {
    let shown = match command {
        User::List(filter) => return list(filter, context),
        User::Show { email } => users::show(&context.call()?, &email)?,
        User::Add { email, role, institution, password_stdin } => {
            let role = word(&role, "role", UserRole::ALL)?;
            let password = password_stdin.then(password).transpose()?;
            users::add(&context.call()?, NewUser { email, role, institution, password })?
        }
        User::Set(set) => change(set, context)?,
        User::Deactivate { email, undo: false } => users::deactivate(&context.call()?, &email)?,
        User::Deactivate { email, undo: true } => users::activate(&context.call()?, &email)?,
    };
    context.output.show(&shown)?;
    Ok(Exit::Done)
}

fn list(filter: Filter, context: &Context) -> Outcome {
    let role = filter.role.map(|role| word(&role, "role", UserRole::ALL)).transpose()?;
    let wanted = users::Filter { institution: filter.institution, role, deactivated_too: filter.all };
    let call = context.call()?;
    let mut table = context
        .output
        .table(&["user", "role", "institution", "active", "second_factor", "signed_in_at"])
        .with::<UserView>(filter.options.table);
    let page = |after| users::list(&call, &wanted, after);
    app::arranged(filter.options.oldest_first(), page, |user| table.row(&user))?;
    table.end("there are no users")?;
    Ok(Exit::Done)
}

fn change(set: Set, context: &Context) -> Result<UserView, Failure> {
    let Set { email, role, institution, password_stdin, reset_second_factor } = set;
    let role = role.map(|role| word(&role, "role", UserRole::ALL)).transpose()?;
    let password = password_stdin.then(password).transpose()?;
    let has_place = role.is_some() || institution.is_some();
    if !has_place && password.is_none() && !reset_second_factor {
        return Err(Failure::usage("nothing to set")
            .next("give --role ROLE, --institution DOMAIN, --password-stdin or --reset-second-factor"));
    }
    let call: OpContext = context.call()?;
    let mut shown = None;
    if has_place {
        shown = Some(users::set(&call, &email, &Changes { role, institution })?);
    }
    if reset_second_factor {
        shown = Some(second_factors::reset(&call, &email)?);
    }
    if let Some(password) = password {
        shown = Some(users::set_password(&call, &email, password)?);
    }
    shown.map_or_else(|| Ok(users::show(&call, &email)?), Ok)
}

/// The password that standard input has: its one line, without the end of it.
fn password() -> Result<Password, Failure> {
    let mut bytes = Zeroizing::new(Vec::with_capacity(LONGEST + 1));
    let unreadable = |error: io::Error| Failure::new(Exit::OutOfReach, format!("could not read the password: {error}"));
    io::stdin().lock().take(LONGEST as u64 + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    let text = std::str::from_utf8(&bytes).map_err(|_| Failure::usage("the password is not UTF-8"))?;
    let line = text.strip_suffix('\n').unwrap_or(text);
    let line = line.strip_suffix('\r').unwrap_or(line);
    if line.is_empty() {
        return Err(Failure::usage("standard input has no password").next("write it to standard input as one line"));
    }
    Ok(app::password(line)?)
}
