//! `init`: makes a data directory.

use std::path::PathBuf;

use clap::Args;
use strongroom_engine::app::installation::{self, NewInstallation};

use crate::context::Context;
use crate::failure::{Exit, Outcome};

/// Make a data directory: settings, registry, stores and a first institution
#[derive(Debug, Args)]
pub(crate) struct Init {
    /// The folder to make, which is absent or empty [default: the data directory]
    dir: Option<PathBuf>,
    /// The database of the registry, which must hold none yet: postgres://USER@HOST:PORT/DATABASE [default: a file]
    #[arg(long, value_name = "URL")]
    registry: Option<String>,
    /// The domain name of its institution, in lower case; it never changes [default: example.edu]
    #[arg(long, value_name = "DOMAIN")]
    institution: Option<String>,
    /// The display name of the institution [default: the domain name]
    #[arg(long)]
    name: Option<String>,
}

pub(crate) fn run(command: &Init, context: &Context) -> Outcome {
    let home = command.dir.as_ref().unwrap_or(&context.home);
    let Init { registry, institution, name, .. } = command;
    let new = NewInstallation { registry: registry.clone(), institution: institution.clone(), name: name.clone() };
    let made = installation::init(&context.acting_as()?, home, &new)?;
    if context.output.is_json() {
        context.output.show(&made)?;
    } else {
        let (shown, institution, collection) = (&made.home, &made.institution, &made.collection);
        context.output.say(format!(
            "made the data directory {shown} with institution {institution} and collection {collection}"
        ))?;
        context.output.say(format!("  settings  {}", made.settings))?;
        context
            .output
            .say(format!("  next      strongroom --home {shown} deposit --institution {institution} --wait BAG.tar"))?;
    }
    Ok(Exit::Done)
}
