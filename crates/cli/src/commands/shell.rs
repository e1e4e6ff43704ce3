//! `completions`: what a shell needs to know of the command line.

use clap::Args;
use clap_complete::Shell;

use crate::context::Context;
use crate::examples;
use crate::failure::{Exit, Outcome};

/// Print the completions of a shell
#[derive(Debug, Args)]
pub(crate) struct Completions {
    /// The shell
    shell: Shell,
}

pub(crate) fn completions(command: &Completions, context: &Context) -> Outcome {
    let mut text = Vec::new();
    clap_complete::generate(command.shell, &mut examples::command_line(), "strongroom", &mut text);
    context.output.raw(&text)?;
    Ok(Exit::Done)
}
