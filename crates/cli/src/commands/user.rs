//! `user`: who may do what, and how they prove who they are.

use std::io::{self, Read as _};

use clap::{Args, Subcommand};
use strongroom_engine::app::users::{self, Changes, NewUser};
use strongroom_engine::app::views::UserView;
use strongroom_engine::app::{self, Password, UserRole};
use zeroize::Zeroizing;

use super::values::word;
use crate::context::Context;
use crate::failure::{Exit, Failure, Outcome};
use crate::output::ListOptions;

/// More of standard input is not read as a password: four bytes for each character that one may have, and the end of the line.
const LONGEST: usize = Password::LONGEST * 4 + 2;

/// More is no token.
pub(super) const LONGEST_TOKEN: usize = 256;

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
    /// Send a mail with which the user chooses a password: an invitation, or a reset where there is a password
    #[command(visible_alias = "reset-password")]
    Invite {
        /// The address
        email: String,
    },
    /// Choose a password with the token of a mail: standard input has the token and the password, one line each
    ChoosePassword,
    /// Users are never removed: deactivate them
    #[command(hide = true)]
    Remove {
        /// The address
        email: String,
    },
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
        User::Invite { email } => {
            context.output.show(&users::invite(&context.call()?, &email)?)?;
            return Ok(Exit::Done);
        }
        User::ChoosePassword => return choose_password(context),
        User::Remove { email } => {
            return Err(Failure::new(
                Exit::NotAllowed,
                format!("user {email} cannot be removed: the journal names what users did for as long as it is kept"),
            )
            .next(format!("strongroom user deactivate {email}")));
        }
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
    Ok(users::set(&context.call()?, &email, Changes { role, institution, reset_second_factor, password })?)
}

/// Chooses a password with a token. The system does it for the one who has the token, whatever account runs the program.
fn choose_password(context: &Context) -> Outcome {
    let text = read_text(LONGEST + LONGEST_TOKEN)?;
    let Some((token, rest)) = text.split_once('\n') else {
        return Err(Failure::usage("standard input has no password behind the token")
            .next("write the token and the password to standard input, one line each"));
    };
    let password = line_of(rest)?;
    if !users::choose_password(&context.call_of_system()?, token.trim(), password)? {
        return Err(Failure::new(
            Exit::NotAllowed,
            "the token is not valid: it was used, has expired, or is another one".to_owned(),
        )
        .next("ask for another mail: \"strongroom user reset-password EMAIL\""));
    }
    context.output.say("the password is set")?;
    Ok(Exit::Done)
}

/// The password that standard input has: its one line, without the end of it.
fn password() -> Result<Password, Failure> {
    line_of(&read_text(LONGEST)?)
}

/// What standard input has, so many bytes at most and one more.
pub(super) fn read_text(longest: usize) -> Result<Zeroizing<String>, Failure> {
    let mut bytes = Zeroizing::new(Vec::with_capacity(longest + 1));
    let unreadable = |error: io::Error| Failure::new(Exit::OutOfReach, format!("could not read the password: {error}"));
    io::stdin().lock().take(longest as u64 + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    let text = std::str::from_utf8(&bytes).map_err(|_| Failure::usage("the password is not UTF-8"))?;
    Ok(Zeroizing::new(text.to_owned()))
}

fn line_of(text: &str) -> Result<Password, Failure> {
    let line = text.strip_suffix('\n').unwrap_or(text);
    let line = line.strip_suffix('\r').unwrap_or(line);
    if line.is_empty() {
        return Err(Failure::usage("standard input has no password").next("write it to standard input as one line"));
    }
    Ok(app::password(line)?)
}
