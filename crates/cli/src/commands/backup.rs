//! `backup`: a copy of the registry and its settings, complete and consistent, while both are in use.

use std::path::PathBuf;

use clap::Args;
use strongroom_engine::app::registry;

use crate::context::Context;
use crate::failure::{Exit, Outcome};

/// Copy the registry while it is in use
#[derive(Debug, Args)]
pub(crate) struct Backup {
    /// The folder to copy into, made where missing; each backup gets a folder of its own in it
    dir: PathBuf,
}

pub(crate) fn run(command: &Backup, context: &Context) -> Outcome {
    context.output.show(&registry::backup(&context.installation()?, &command.dir)?)?;
    Ok(Exit::Done)
}
