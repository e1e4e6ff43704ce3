//! `completions` and `man`: what a shell and a manual need to know of the command line.

use std::fs;
use std::path::PathBuf;

use clap::{Args, CommandFactory as _};
use clap_complete::Shell;

use crate::arguments::Arguments;
use crate::context::Context;
use crate::failure::{Exit, Failure, Outcome};

/// Print the completions of a shell
#[derive(Debug, Args)]
pub(crate) struct Completions {
    /// The shell
    shell: Shell,
}

/// Write the manual pages
#[derive(Debug, Args)]
pub(crate) struct Man {
    /// The folder to write into, made where missing
    dir: PathBuf,
}

pub(crate) fn completions(command: &Completions, context: &Context) -> Outcome {
    let mut text = Vec::new();
    clap_complete::generate(command.shell, &mut Arguments::command(), "strongroom", &mut text);
    context.output.raw(&text)?;
    Ok(Exit::Done)
}

pub(crate) fn man(command: &Man, context: &Context) -> Outcome {
    let dir = &command.dir;
    fs::create_dir_all(dir).map_err(|error| Failure::io("make the folder", dir, &error))?;
    clap_mangen::generate_to(Arguments::command().disable_help_subcommand(true), dir)
        .map_err(|error| Failure::io("write manual pages to", dir, &error))?;
    context.output.say(format!("wrote the manual pages to {}", dir.display()))?;
    Ok(Exit::Done)
}
