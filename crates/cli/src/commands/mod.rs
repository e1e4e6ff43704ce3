//! The commands, a file for each group, and what several of them share: how records look as reports.

pub(crate) mod activity;
mod activity_wait;
pub(crate) mod audit;
mod backfill;
pub(crate) mod background;
pub(crate) mod backup;
pub(crate) mod bag;
pub(crate) mod batches;
pub(crate) mod bench;
pub(crate) mod checkm;
pub(crate) mod collection;
pub(crate) mod config;
mod confirm;
pub(crate) mod delete;
pub(crate) mod demo;
pub(crate) mod deposit;
pub(crate) mod duplicate;
pub(crate) mod fixity;
pub(crate) mod hold;
mod holds;
pub(crate) mod identify;
pub(crate) mod init;
pub(crate) mod institution;
pub(crate) mod items;
pub(crate) mod journal;
pub(crate) mod key;
pub(crate) mod man;
pub(crate) mod migrate;
pub(crate) mod notify;
pub(crate) mod objects;
pub(crate) mod ocfl;
pub(crate) mod outbox;
pub(crate) mod pipeline;
pub(crate) mod problems;
pub(crate) mod profile;
pub(crate) mod queue;
pub(crate) mod rebuild;
pub(crate) mod receiving;
pub(crate) mod reidentify;
pub(crate) mod report;
pub(crate) mod restore;
mod restore_many;
mod restore_tests;
pub(crate) mod shell;
pub(crate) mod signatures;
pub(crate) mod space;
pub(crate) mod status;
pub(crate) mod store;
mod submitted;
pub(crate) mod user;
mod values;
pub(crate) mod wait;
pub(crate) mod work;

use std::path::{Path, PathBuf};

use crate::arguments::Command;
use crate::context::Context;
use crate::failure::{Exit, Failure, Outcome};
use crate::output::counted;

/// Does a command.
pub(crate) fn run(command: Command, context: &Context) -> Outcome {
    match command {
        Command::Init(command) => init::run(&command, context),
        Command::Status(command) => status::run(&command, context),
        Command::Demo(arguments) => demo::run(&arguments, context),
        Command::Serve(command) => work::serve(&command, context),
        Command::Work(command) => work::work(&command, context),
        Command::Deposit(command) => deposit::run(command, context),
        Command::Fixity(command) => fixity::run(&command, context),
        Command::Schedule(command) => work::schedule(&command, context),
        Command::Restore(command) => restore::run(*command, context),
        Command::Batches(command) => batches::run(command, context),
        Command::Items(command) => items::run(command, context),
        Command::Objects(command) => objects::run(command, context),
        Command::Delete(command) => delete::run(command, context),
        Command::Duplicate(command) => duplicate::run(command, context),
        Command::Activity(command) => activity::run(command, context),
        Command::Pipeline(command) => pipeline::run(command, context),
        Command::Queue(command) => queue::run(command, context),
        Command::Background(command) => background::run(&command, context),
        Command::Notify(command) => notify::run(&command, context),
        Command::Outbox(command) => outbox::run(&command, context),
        Command::Store(command) => store::run(&command, context),
        Command::Space(command) => space::run(&command, context),
        Command::Receiving(command) => receiving::run(&command, context),
        Command::Rebuild(command) => rebuild::run(&command, context),
        Command::Backup(command) => backup::run(&command, context),
        Command::Migrate(command) => migrate::run(&command, context),
        Command::Institution(command) => institution::run(command, context),
        Command::User(command) => user::run(command, context),
        Command::Key(command) => key::run(command, context),
        Command::Hold(command) => hold::run(command, context),
        Command::Collection(command) => collection::run(command, context),
        Command::Problems(command) => problems::run(command, context),
        Command::Profile(command) => profile::run(command, context),
        Command::Journal(command) => journal::run(command, context),
        Command::Audit(command) => audit::run(command, context),
        Command::Report(command) => report::run(command, context),
        Command::Bag(command) => bag::run(&command, context),
        Command::Checkm(command) => checkm::run(&command, context),
        Command::Ocfl(command) => ocfl::run(&command, context),
        Command::Identify(command) => identify::run(&command, context),
        Command::Signatures(command) => signatures::run(command, context),
        Command::Config(command) => config::run(&command, context),
        Command::Bench(command) => bench::run(&command, context),
        Command::Completions(command) => shell::completions(&command, context),
        Command::Man(command) => man::run(&command, context),
    }
}

/// Checks packages one after the other; `check` says what it found, and whether the package is valid. One that cannot
/// be checked is reported, and the others follow. Where there are several, a last line counts them.
fn check_each(
    paths: &[PathBuf],
    (one, many): (&str, &str),
    context: &Context,
    check: &dyn Fn(&Path) -> Result<bool, Failure>,
) -> Outcome {
    if let [path] = paths {
        return Ok(if check(path)? { Exit::Done } else { Exit::No });
    }
    let (mut bad, mut failed) = (0_u64, 0_u64);
    let mut exit = Exit::Done;
    for path in paths {
        match check(path) {
            Ok(true) => {}
            Ok(false) => {
                bad += 1;
                if exit == Exit::Done {
                    exit = Exit::No;
                }
            }
            Err(failure) if failure.is_silent() => return Err(failure),
            Err(failure) => {
                if failed == 0 {
                    exit = Exit::from(&failure);
                }
                failed += 1;
                context.output.flush()?;
                failure.tell(context.output.is_json());
            }
        }
    }
    let all = counted(paths.len() as u64, one, many);
    let unchecked = if failed > 0 { format!(", {failed} could not be checked") } else { String::new() };
    context.output.say(format!("{all}: {bad} not valid{unchecked}"))?;
    Ok(exit)
}
