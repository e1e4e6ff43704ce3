//! Questions to a person at a terminal.

use std::io::{self, BufRead as _, IsTerminal as _};

use crate::context::Context;
use crate::failure::Failure;
use crate::output::printable;

/// Whether a person is there to answer.
pub(super) fn is_person(context: &Context) -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal() && !context.output.is_json()
}

/// Whether a deletion is confirmed: by `--yes`, or since nothing is kept from the depositor, or by the answer of a person at a terminal, who
/// is told what is. Elsewhere nothing is asked, and it is not.
///
/// # Errors
/// The person does not want it.
pub(super) fn confirm_deletion(untold: &[String], is_yes: bool, context: &Context) -> Result<bool, Failure> {
    if is_yes || untold.is_empty() || !is_person(context) {
        return Ok(is_yes);
    }
    eprintln!("the depositor does not hear everything when this is deleted:");
    for line in untold {
        eprintln!("{}", printable(&format!("  {line}")));
    }
    eprint!("delete it all the same? [y/N] ");
    let mut answer = String::new();
    io::stdin()
        .lock()
        .read_line(&mut answer)
        .map_err(|error| Failure::usage(format!("could not read the answer: {error}")))?;
    if matches!(answer.trim().to_lowercase().as_str(), "y" | "yes") {
        return Ok(true);
    }
    Err(Failure::usage("nothing was deleted"))
}
