//! `profile`: what bags are checked against, as versions that stay.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use strongroom_bagit::Profile as BagProfile;
use strongroom_engine::app::profiles::{self, Document};
use strongroom_engine::app::views::{AddedProfileView, ProfileOutcome, ProfileView};

use super::bag;
use crate::context::Context;
use crate::failure::{Exit, Failure, Outcome};
use crate::output::{ListOptions, printable};

/// Stands for standard input.
const STANDARD_INPUT: &str = "-";

/// Show, add and remove the profiles that bags are checked against
#[derive(Debug, Subcommand)]
pub(crate) enum Profile {
    /// List every version of every profile, built-in ones included
    List(ListOptions),
    /// Show a version of a profile, or its document
    #[command(after_help = "Example: strongroom profile show aptrust-2.3 --document > aptrust-2.3.json")]
    Show {
        #[command(flatten)]
        which: Which,
        /// Print the document, byte for byte as it was added
        #[arg(long)]
        document: bool,
    },
    /// Add a profile, or a new version of one; exit 1 and every problem where the document is not a valid profile
    #[command(after_help = "Example: strongroom profile add maps.json --name maps")]
    Add {
        /// The document: a BagIt Profile as JSON, also in the form of DART; - for standard input
        #[arg(value_name = "FILE|-")]
        file: PathBuf,
        /// The name of the profile [default: the name of the file without its extension]
        #[arg(long)]
        name: Option<String>,
    },
    /// Remove a version of a profile, or all: no new deposit is checked against it; what was keeps its version
    #[command(
        after_help = "Refused while a collection names it. Adding the same document again brings a version back."
    )]
    Remove(Which),
}

/// Names a profile, or a version of it.
#[derive(Debug, Args)]
pub(crate) struct Which {
    /// Its name
    profile: String,
    /// The number of its version [default: the newest for "show", all for "remove"]
    #[arg(long, value_name = "N")]
    version: Option<u64>,
}

pub(crate) fn run(command: Profile, context: &Context) -> Outcome {
    match command {
        Profile::List(options) => tell(profiles::list(&context.call()?)?, &options, context)?,
        Profile::Show { which, document: false } => {
            context.output.show(&profiles::show(&context.call()?, &which.profile, which.version)?)?;
        }
        Profile::Show { which, document: true } => {
            let found = profiles::document(&context.call()?, &which.profile, which.version)?;
            if context.output.is_json() {
                context.output.json(&found)?;
            } else {
                context.output.raw(found.document.as_bytes())?;
            }
        }
        Profile::Add { file, name } => {
            let added = profiles::add(&context.call()?, document(&file, name)?)?;
            return tell_added(&added, context);
        }
        Profile::Remove(which) => {
            let removed = profiles::remove(&context.call()?, &which.profile, which.version)?;
            tell(removed, &ListOptions::default(), context)?;
        }
    }
    Ok(Exit::Done)
}

/// Reads a document, and no more of one than can be a profile.
fn document(path: &Path, name: Option<String>) -> Result<Document, Failure> {
    let most = BagProfile::LONGEST_DOCUMENT as u64 + 1;
    let mut bytes = Vec::new();
    let unreadable = |error: io::Error| Failure::io("read the profile", path, &error);
    if path == Path::new(STANDARD_INPUT) {
        io::stdin().lock().take(most).read_to_end(&mut bytes).map_err(unreadable)?;
        return Ok(Document { name, file: None, bytes });
    }
    File::open(path).and_then(|file| file.take(most).read_to_end(&mut bytes)).map_err(unreadable)?;
    let file = path.file_name().map(|name| name.to_string_lossy().into_owned());
    Ok(Document { name, file, bytes })
}

fn tell(versions: Vec<ProfileView>, options: &ListOptions, context: &Context) -> Result<(), Failure> {
    let columns = ["profile", "version", "state", "origin", "source", "added_at"];
    let in_full =
        ["profile", "version", "state", "origin", "source", "identifier", "description", "added_by", "added_at"];
    let mut table = context.output.table(&columns).with::<ProfileView>(options.table).in_full(&in_full);
    for version in options.of(versions) {
        table.row(&version)?;
    }
    table.end("there are no profiles")
}

fn tell_added(added: &AddedProfileView, context: &Context) -> Outcome {
    let exit = if added.outcome == ProfileOutcome::Refused { Exit::No } else { Exit::Done };
    if context.output.is_json() {
        context.output.json(added)?;
        return Ok(exit);
    }
    added.problems.iter().try_for_each(|problem| bag::tell(problem, context))?;
    let version = added.version.unwrap_or_default();
    let name = &added.profile;
    let text = match added.outcome {
        ProfileOutcome::Added => format!("added profile {name} version {version}"),
        ProfileOutcome::Restored => format!("profile {name} version {version} is in use again"),
        ProfileOutcome::Unchanged => {
            format!("profile {name} version {version} is this document already; nothing was changed")
        }
        ProfileOutcome::Refused => {
            format!("refused: the document for profile {name} has errors; nothing was changed")
        }
    };
    context.output.say(printable(&text))?;
    Ok(exit)
}
