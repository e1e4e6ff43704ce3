//! `objects`: what is kept, with its files, versions and events.

use clap::{Args, Subcommand};
use strongroom_engine::app::views::{CopyState, CopyView, FileId, FileView, ObjectState};
use strongroom_engine::app::{self, OpContext, events, files, objects, versions};

use super::items::{identifier, since, word};
use crate::context::Context;
use crate::failure::{Exit, Failure, Outcome};
use crate::output::{beginning_of, end_of};

/// Characters of the columns of paths, and of names and warnings of formats, at most.
const PATH: usize = 38;
const FORMAT: usize = 22;

/// Show what is kept
#[derive(Debug, Subcommand)]
pub(crate) enum Objects {
    /// List objects, oldest first
    List {
        /// Only those of this institution
        #[arg(long, value_name = "DOMAIN")]
        institution: Option<String>,
        /// Only this state: active or deleted
        #[arg(long)]
        state: Option<String>,
    },
    /// Find objects by words, title and date; and files by path, format and digest
    #[command(after_help = SEARCH_EXAMPLES)]
    Search(Query),
    /// Show one
    Show(Which),
    /// List its files, with formats, copies and identifiers; with --json also digests, and where and when each copy was checked
    Files {
        #[command(flatten)]
        which: Which,
        /// The version [default: the newest]
        #[arg(long, value_name = "N")]
        version: Option<u64>,
        /// Only files below this folder
        #[arg(long, value_name = "FOLDER")]
        below: Option<String>,
    },
    /// List its PREMIS events
    Events {
        #[command(flatten)]
        which: Which,
        /// Only those of this file
        #[arg(long, value_name = "ID")]
        file: Option<String>,
    },
    /// List its versions
    Versions(Which),
    /// Print it as a PREMIS 3 document, with its files, events and agents
    Premis(Which),
}

const SEARCH_EXAMPLES: &str = "Examples:
  strongroom objects search photographs
  strongroom objects search --path '*.tif' --institution example.edu
  strongroom objects search --digest md5:9e107d9d372bb6826bd81d3542a419d6
  strongroom objects search --puid fmt/353 --since 30d

Words are found anywhere in a text, in any case of the letters a to z. With * (any characters) or ? (one character), the
whole text has to fit. Files are searched as objects have them now.";

/// What is looked for; all that is given has to fit.
#[derive(Debug, Args)]
pub(crate) struct Query {
    /// In the identifier of the object, its title, or an identifier that the depositor uses
    words: Option<String>,
    /// In the title
    #[arg(long, value_name = "WORDS")]
    title: Option<String>,
    /// Files: in the path
    #[arg(long, value_name = "WORDS")]
    path: Option<String>,
    /// Files: of this format, by its PRONOM identifier
    #[arg(long, value_name = "PUID")]
    puid: Option<String>,
    /// Files: with this md5, sha1, sha256 or sha512
    #[arg(long, value_name = "[ALGORITHM:]HEX")]
    digest: Option<String>,
    /// Only in this institution
    #[arg(long, value_name = "DOMAIN")]
    institution: Option<String>,
    /// Only objects first deposited since: a time such as 2026-01-31T00:00:00Z, or an age such as 7d
    #[arg(long, value_name = "TIME|AGE")]
    since: Option<String>,
    /// Only objects first deposited before: a time, or an age
    #[arg(long, value_name = "TIME|AGE")]
    until: Option<String>,
}

/// Names an object.
#[derive(Debug, Args)]
pub(crate) struct Which {
    /// Its identifier, or INSTITUTION/NAME
    object: String,
}

pub(crate) fn run(command: Objects, context: &Context) -> Outcome {
    let call = context.call()?;
    match command {
        Objects::List { institution, state } => {
            let state = state.as_deref().map(state_of).transpose()?;
            return list(&call, &objects::Filter { institution, state }, context);
        }
        Objects::Search(query) => return search(&call, query, context),
        Objects::Show(which) => context.output.show(&objects::show(&call, &which.object)?)?,
        Objects::Files { which, version, below } => {
            return list_files(&call, &which.object, &files::Filter { version, below }, context);
        }
        Objects::Events { which, file } => {
            let file = file.as_deref().map(|file| identifier(file, "file")).transpose()?;
            return list_events(&call, &which.object, file, context);
        }
        Objects::Versions(which) => return list_versions(&call, &which.object, context),
        Objects::Premis(which) => context.output.document(|out| objects::premis(&call, &which.object, out))?,
    }
    Ok(Exit::Done)
}

fn state_of(text: &str) -> Result<ObjectState, Failure> {
    word(text, "state", &[ObjectState::Active, ObjectState::Deleted])
}

fn list(call: &OpContext, filter: &objects::Filter, context: &Context) -> Outcome {
    let mut table = context.output.table(&[
        "object",
        "identifier",
        "title",
        "state",
        "health",
        "completeness",
        "versions",
        "files",
        "bytes",
        "missing_parts",
    ]);
    app::each(|after| objects::list(call, filter, after), |object| table.row(&object))?;
    table.end("there are no objects")?;
    Ok(Exit::Done)
}

fn search(call: &OpContext, query: Query, context: &Context) -> Outcome {
    let (words, title, path, puid) = (query.words, query.title, query.path, query.puid);
    let [since, until] = [query.since, query.until].map(|time| time.as_deref().map(since).transpose());
    let filter = objects::SearchFilter { words, title, path, puid, digest: None, since: since?, until: until? };
    let is_about_files = query.digest.is_some() || filter.is_about_files();
    let search = objects::Search { institution: query.institution, digest: query.digest, filter };
    let mut table = context.output.table(if is_about_files {
        &["identifier", "path", "size", "puid", "file"]
    } else {
        &["identifier", "title", "state", "versions", "files", "bytes", "created_at", "object"]
    });
    app::each(|after| objects::search(call, &search, after), |found| table.row(&found))?;
    table.end("nothing fits")?;
    Ok(Exit::Done)
}

fn list_files(call: &OpContext, object: &str, filter: &files::Filter, context: &Context) -> Outcome {
    let mut table = context.output.table(&["path", "size", "puid", "format_name", "format_warning", "copies", "file"]);
    app::each(|after| files::list(call, object, filter, after), |file| table.row_with(&file, &cells(&file)))?;
    table.end("it has no such files")?;
    Ok(Exit::Done)
}

/// What a narrow table shows of a file in place of whole fields.
fn cells(file: &FileView) -> [(&'static str, String); 4] {
    let short = |text: &Option<String>| beginning_of(text.as_deref().unwrap_or_default(), FORMAT);
    [
        ("path", end_of(&file.path, PATH)),
        ("format_name", short(&file.format_name)),
        ("format_warning", short(&file.format_warning)),
        ("copies", summary(&file.copies)),
    ]
}

/// How many copies are verified, attested and unverified, and where those lie that are damaged or missing.
fn summary(copies: &[CopyView]) -> String {
    let count = |word: &str, is_counted: &dyn Fn(&CopyView) -> bool| {
        let count = copies.iter().filter(|copy| copy.state == CopyState::Kept && is_counted(copy)).count();
        (count > 0).then(|| format!("{count} {word}"))
    };
    let stores = |state: CopyState| {
        let stores: Vec<&str> =
            copies.iter().filter(|copy| copy.state == state).map(|copy| copy.store.as_str()).collect();
        (!stores.is_empty()).then(|| format!("{state} in {}", stores.join(" ")))
    };
    let parts = [
        count("verified", &|copy| copy.last_fixity_at.is_some()),
        count("attested", &|copy| copy.last_fixity_at.is_none() && copy.verified_at.is_some()),
        count("unverified", &|copy| copy.last_fixity_at.is_none() && copy.verified_at.is_none()),
        stores(CopyState::Damaged),
        stores(CopyState::Missing),
    ];
    let said = parts.into_iter().flatten().collect::<Vec<_>>().join(", ");
    if said.is_empty() { "none".to_owned() } else { said }
}

fn list_events(call: &OpContext, object: &str, file: Option<FileId>, context: &Context) -> Outcome {
    let mut table = context.output.table(&["time", "type", "outcome", "path", "actor", "detail", "outcome_detail"]);
    app::each(
        |after| events::list(call, object, file, after),
        |event| table.row_with(&event, &[("path", end_of(event.path.as_deref().unwrap_or_default(), PATH))]),
    )?;
    table.end("it has no events")?;
    Ok(Exit::Done)
}

fn list_versions(call: &OpContext, object: &str, context: &Context) -> Outcome {
    let mut table =
        context.output.table(&["version", "part", "parts", "files", "bytes", "message", "user", "published_at"]);
    for version in versions::list(call, object)? {
        table.row(&version)?;
    }
    table.end("it has no versions")?;
    Ok(Exit::Done)
}
