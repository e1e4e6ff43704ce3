//! Questions to a person at a terminal.

use std::io::{self, BufRead as _, IsTerminal as _};

use crate::context::Context;
use crate::failure::{Exit, Failure};
use crate::output::printable;

/// Whether a person is there to answer.
pub(super) fn is_person(context: &Context) -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal() && !context.output.is_json()
}

/// What is asked before something is done that may not be meant.
pub(super) struct Question {
    /// What the lines below it are about.
    pub(super) about: &'static str,
    /// The question, which yes or no answers.
    pub(super) asked: &'static str,
    /// What is said where it is not wanted.
    pub(super) refused: &'static str,
}

/// What is asked before a deletion.
pub(super) const DELETION: Question = Question {
    about: "the depositor does not hear everything when this is deleted",
    asked: "delete it all the same?",
    refused: "nothing was deleted",
};

/// Whether an act is confirmed: by `--yes`, or since nothing speaks against it, or by the answer of a person at a terminal, who is told
/// what does. Elsewhere nothing is asked, and it is not.
///
/// # Errors
/// The person does not want it: the command ends as one that the person interrupts.
pub(super) fn confirm(
    question: &Question,
    against: &[String],
    is_yes: bool,
    context: &Context,
) -> Result<bool, Failure> {
    if is_yes || against.is_empty() || !is_person(context) {
        return Ok(is_yes);
    }
    eprintln!("{}:", question.about);
    for line in against {
        eprintln!("{}", printable(&format!("  {line}")));
    }
    eprint!("{} [y/N] ", question.asked);
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer).map_err(|error| {
        Failure::usage(format!("could not read the answer: {error}")).next("repeat the command with --yes")
    })?;
    if matches!(answer.trim().to_lowercase().as_str(), "y" | "yes") {
        return Ok(true);
    }
    Err(Failure::new(Exit::Interrupted, question.refused))
}
