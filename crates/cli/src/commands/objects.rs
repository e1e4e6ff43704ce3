//! `objects`: what is kept, with its files, versions and events.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use strongroom_engine::app::objects::NewDescription;
use strongroom_engine::app::views::{
    CopyState, CopyView, EventView, FileView, FoundView, ObjectState, ObjectView, VersionView,
};
use strongroom_engine::app::{self, OpContext, events, files, objects, versions};

use super::deposit::{self, read_small};
use super::submitted::follow;
use super::values::{time, word};
use super::wait::Waiting;
use crate::context::Context;
use crate::failure::{Exit, Failure, Outcome};
use crate::output::{ListOptions, counted, printable};

/// Show objects: what is kept
#[derive(Debug, Subcommand)]
pub(crate) enum Objects {
    /// List objects, those deposited last first (with --json those deposited first)
    #[command(after_help = "Example: strongroom objects list --collection theses --since 30d")]
    List(Filter),
    /// Find objects by words, title and date; and files by path, format and digest
    #[command(after_help = SEARCH_EXAMPLES)]
    Search(Query),
    /// Show an object
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
        #[command(flatten)]
        options: ListOptions,
    },
    /// List its PREMIS events, oldest first
    Events {
        #[command(flatten)]
        which: Which,
        /// Only those of this file: its identifier, or a part of it that no other has
        #[arg(long, value_name = "ID")]
        file: Option<String>,
        /// Only this type, such as "fixity check"
        #[arg(long = "type", value_name = "TYPE")]
        kind: Option<String>,
        /// Only this outcome: success, failure or warning
        #[arg(long)]
        outcome: Option<String>,
        /// Only those since: a date such as 2026-01-31, a time, or an age such as 7d
        #[arg(long, value_name = "DATE|TIME|AGE")]
        since: Option<String>,
        #[command(flatten)]
        options: ListOptions,
    },
    /// List its versions
    Versions {
        #[command(flatten)]
        which: Which,
        #[command(flatten)]
        options: ListOptions,
    },
    /// Describe objects anew: each gets a version with the same files and another description
    #[command(after_help = DESCRIBE_EXAMPLES)]
    Describe(Describe),
    /// Print it as a PREMIS 3 document, with its files, events and agents
    Premis(Which),
}

const DESCRIBE_EXAMPLES: &str = "Examples:
  strongroom objects describe example.edu/letters --metadata dublin-core.xml
  strongroom objects describe --csv titles.csv

The fields that the file gives replace those that are known; the others stay. A table has a column \"object\" and one for each
field, such as \"title\", \"creator\" or \"who\".";

/// What describes which objects.
#[derive(Debug, Args)]
pub(crate) struct Describe {
    /// INSTITUTION/NAME, or its identifier or a part of it that no other has
    #[arg(required_unless_present = "csv", conflicts_with = "csv", requires = "metadata")]
    object: Option<String>,
    /// A file that describes it: Dublin Core (.xml), JSON (.json), one row of a table (.csv) or ERC (.txt)
    #[arg(long, value_name = "FILE", requires = "object")]
    metadata: Option<PathBuf>,
    /// A table that describes many objects, each by a row
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    #[command(flatten)]
    waiting: Waiting,
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
    /// In the identifier of the object, its title, its ARK, or an identifier that the depositor uses
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
    /// Only objects first deposited since: a date such as 2026-01-31, a time, or an age such as 7d
    #[arg(long, value_name = "DATE|TIME|AGE")]
    since: Option<String>,
    /// Only objects first deposited before: a date, a time, or an age
    #[arg(long, value_name = "DATE|TIME|AGE")]
    until: Option<String>,
    #[command(flatten)]
    options: ListOptions,
}

/// Names an object.
#[derive(Debug, Args)]
pub(crate) struct Which {
    /// INSTITUTION/NAME, or its identifier or a part of it that no other has
    object: String,
}

/// Which objects a listing shows.
#[derive(Debug, Args)]
pub(crate) struct Filter {
    /// Only those of this institution
    #[arg(long, value_name = "DOMAIN")]
    institution: Option<String>,
    /// Only those of the collection of this short name
    #[arg(long, value_name = "NAME")]
    collection: Option<String>,
    /// Only this state: active or deleted
    #[arg(long)]
    state: Option<String>,
    /// Only those first deposited since: a date such as 2026-01-31, a time, or an age such as 7d
    #[arg(long, value_name = "DATE|TIME|AGE")]
    since: Option<String>,
    #[command(flatten)]
    options: ListOptions,
}

/// Makes the versions that describe objects anew.
fn describe(call: &OpContext, command: &Describe, context: &Context) -> Outcome {
    let waits = command.waiting.is_wanted()?;
    let described = match (&command.csv, &command.metadata, &command.object) {
        (Some(path), ..) => objects::read_descriptions(&path.to_string_lossy(), &read_small(path)?)?,
        (None, Some(path), Some(object)) => {
            let metadata = deposit::read_description(path)?;
            vec![NewDescription { object: object.clone(), metadata }]
        }
        _ => return Err(Failure::usage("a file that describes the object is missing").next("give it with --metadata")),
    };
    let submitted = objects::describe(call, &described)?;
    follow(call, &submitted, context, &command.waiting, waits)
}

pub(crate) fn run(command: Objects, context: &Context) -> Outcome {
    let call = context.call()?;
    match command {
        Objects::Describe(command) => return describe(&call, &command, context),
        Objects::List(filter) => return list(&call, &filter, context),
        Objects::Search(query) => return search(&call, query, context),
        Objects::Show(which) => show(&objects::show(&call, &which.object)?, context)?,
        Objects::Files { which, version, below, options } => {
            return list_files(&call, &which.object, &files::Filter { version, below }, &options, context);
        }
        Objects::Events { which, file, kind, outcome, since, options } => {
            let file = file.as_deref().map(|file| files::named(&call, file)).transpose()?;
            let kind = kind.as_deref().map(|text| word(text, "type of event", &EventView::types())).transpose()?;
            let outcome = outcome.as_deref().map(|text| word(text, "outcome", &events::OUTCOMES)).transpose()?;
            let since = since.as_deref().map(time).transpose()?;
            let (kind, outcome) = (kind.map(str::to_owned), outcome.map(str::to_owned));
            let filter = events::Filter { file, r#type: kind, outcome, since };
            return list_events(&call, &which.object, &filter, &options, context);
        }
        Objects::Versions { which, options } => return list_versions(&call, &which.object, &options, context),
        Objects::Premis(which) => context.output.document(|out| objects::premis(&call, &which.object, out))?,
    }
    Ok(Exit::Done)
}

/// An object; behind it, for people, each field of its metadata on a line.
fn show(object: &ObjectView, context: &Context) -> Result<(), Failure> {
    if context.output.is_json() {
        return context.output.json(object);
    }
    context.output.show(&ObjectView { metadata: None, ..object.clone() })?;
    let Some(fields) = object.metadata.as_ref().and_then(|metadata| metadata.as_object()) else { return Ok(()) };
    // What the title, the creator and the date say already.
    let is_shown = |name: &str| matches!(name, "what" | "who" | "when");
    let lines: Vec<(&String, &str)> = fields
        .iter()
        .filter(|(name, _)| !is_shown(name))
        .flat_map(|(name, value)| {
            let values = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
            values.iter().filter_map(move |value| Some((name, value.as_str()?)))
        })
        .collect();
    let Some(width) = lines.iter().map(|(name, _)| name.len()).max() else { return Ok(()) };
    context.output.say("metadata")?;
    for (name, value) in lines {
        context.output.field(&format!("  {name}"), width + 4, &printable(value))?;
    }
    Ok(())
}

fn list(call: &OpContext, filter: &Filter, context: &Context) -> Outcome {
    let state = filter.state.as_deref().map(|text| word(text, "state", &[ObjectState::Active, ObjectState::Deleted]));
    let since = filter.since.as_deref().map(time).transpose()?;
    let listing = filter.options.newest_first(&context.output);
    let (institution, collection) = (filter.institution.clone(), filter.collection.clone());
    let wanted = objects::Filter { institution, state: state.transpose()?, collection, since, listing };
    let columns = ["identifier", "title", "health", "files", "bytes"];
    let extra = ["created_at", "versions", "collection", "object"];
    let mut table = context.output.table(&columns).with::<ObjectView>(filter.options.table).if_room(&extra).in_full(&[
        "object",
        "identifier",
        "title",
        "collection",
        "state",
        "health",
        "completeness",
        "missing_parts",
        "versions",
        "files",
        "bytes",
        "placement",
        "created_at",
        "updated_at",
    ]);
    let is_long = filter.options.table.long;
    app::first(
        listing.limit,
        |after| objects::list(call, &wanted, after),
        |object| if is_long { table.row(&object) } else { table.row_with(&object, &[("health", condition(&object))]) },
    )?;
    table.end("there are no such objects")?;
    Ok(Exit::Done)
}

fn search(call: &OpContext, query: Query, context: &Context) -> Outcome {
    let (words, title, path, puid) = (query.words, query.title, query.path, query.puid);
    let [since, until] = [query.since, query.until].map(|text| text.as_deref().map(time).transpose());
    let filter = objects::SearchFilter { words, title, path, puid, digest: None, since: since?, until: until? };
    let is_about_files = query.digest.is_some() || filter.is_about_files();
    let search = objects::Search { institution: query.institution, digest: query.digest, filter };
    let (columns, in_full): (&[_], &[_]) = if is_about_files {
        (&["identifier", "path", "size", "puid", "file"], &["identifier", "path", "size", "puid", "file", "object"])
    } else {
        (
            &["identifier", "title", "state", "versions", "files", "bytes", "created_at"],
            &["identifier", "title", "state", "versions", "files", "bytes", "created_at", "updated_at", "object"],
        )
    };
    let mut table = context.output.table(columns).with::<FoundView>(query.options.table).in_full(in_full);
    app::arranged(
        query.options.oldest_first(),
        |after| objects::search(call, &search, after.as_ref()),
        |found| table.row(&found),
    )?;
    table.end("nothing fits")?;
    Ok(Exit::Done)
}

/// How an object is, in one cell.
fn condition(object: &ObjectView) -> String {
    if object.state == ObjectState::Deleted {
        return object.state.to_string();
    }
    let health = object.health.map(|health| health.to_string()).unwrap_or_default();
    if object.missing_parts.is_empty() { health } else { format!("{health}, {}", object.completeness) }
}

fn list_files(
    call: &OpContext,
    object: &str,
    filter: &files::Filter,
    options: &ListOptions,
    context: &Context,
) -> Outcome {
    let columns = ["path", "size", "puid", "file", "copies"];
    let in_full = ["path", "size", "puid", "mime", "format_name", "format_version", "format_warning", "file", "copies"];
    let mut table = context
        .output
        .table(&columns)
        .with::<FileView>(options.table)
        .if_room(&["format_name", "format_warning"])
        .in_full(&in_full);
    app::arranged(
        options.oldest_first(),
        |after| files::list(call, object, filter, after),
        |file| table.row_with(&file, &[("copies", summary(&file))]),
    )?;
    table.end("it has no such files")?;
    Ok(Exit::Done)
}

/// How many copies are good of those that there should be, which of them were only attested or never checked, and where those
/// lie that are damaged or missing.
fn summary(file: &FileView) -> String {
    let good = |is_counted: &dyn Fn(&CopyView) -> bool| {
        file.copies.iter().filter(|copy| copy.state == CopyState::Kept && is_counted(copy)).count()
    };
    let stores = |state: CopyState| {
        let stores: Vec<&str> =
            file.copies.iter().filter(|copy| copy.state == state).map(|copy| copy.store.as_str()).collect();
        (!stores.is_empty()).then(|| format!("{state} in {}", stores.join(" ")))
    };
    let some = |count: usize, word: &str| (count > 0).then(|| format!("{count} {word}"));
    let parts = [
        Some(format!("{}/{} ok", good(&|_| true), file.expected_copies.max(file.copies.len() as u64))),
        some(good(&|copy| copy.last_fixity_at.is_none() && copy.verified_at.is_some()), "attested"),
        some(good(&|copy| copy.last_fixity_at.is_none() && copy.verified_at.is_none()), "unverified"),
        stores(CopyState::Damaged),
        stores(CopyState::Missing),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

fn list_events(
    call: &OpContext,
    object: &str,
    filter: &events::Filter,
    options: &ListOptions,
    context: &Context,
) -> Outcome {
    let columns = ["time", "type", "outcome", "stores", "path"];
    let extra = ["actor", "detail", "outcome_detail"];
    let in_full = ["time", "type", "outcome", "stores", "path", "actor", "agent", "detail", "outcome_detail"];
    let mut table = context.output.table(&columns).with::<EventView>(options.table).if_room(&extra).in_full(&in_full);
    let page = |after| events::list(call, object, filter, after);
    let is_long = options.table.long;
    app::arranged(options.oldest_first(), page, |event| {
        if is_long {
            return table.row_with(&event, &[("path", path_of(&event).unwrap_or_default().to_owned())]);
        }
        let mut cells = vec![("path", about(&event))];
        if let stores @ [_, _, ..] = event.stores.as_slice() {
            cells.push(("stores", counted(stores.len() as u64, "store", "stores")));
        }
        table.row_with(&event, &cells)
    })?;
    table.end("it has no such events")?;
    Ok(Exit::Done)
}

/// The path that an event is about: of its file, or of the content whose digest it names.
fn path_of(event: &EventView) -> Option<&str> {
    event.path.as_deref().or(event.content_path.as_deref())
}

/// What an event is about, with what makes it another one than those of the same time and type: the algorithm of a digest, and what
/// kind of identifier was assigned; for a fixity check of no content, what was compared.
fn about(event: &EventView) -> String {
    let Some(path) = path_of(event) else {
        let compared = event.detail.as_deref().filter(|_| event.r#type == "fixity check");
        return compared.unwrap_or_default().to_owned();
    };
    let outcome = event.outcome_detail.as_deref().unwrap_or_default();
    match (event.r#type.as_str(), outcome.split_once(':')) {
        ("message digest calculation", Some((algorithm, _))) => format!("{path} ({algorithm})"),
        ("identifier assignment", _) if outcome == path => format!("{path} (path)"),
        ("identifier assignment", _) => format!("{path} (id)"),
        _ => path.to_owned(),
    }
}

fn list_versions(call: &OpContext, object: &str, options: &ListOptions, context: &Context) -> Outcome {
    let columns = ["version", "published_at", "files", "bytes", "user", "message"];
    let in_full = ["version", "state", "part", "parts", "published_at", "files", "bytes", "user", "item", "message"];
    let mut table = context.output.table(&columns).with::<VersionView>(options.table).in_full(&in_full);
    for version in options.of(versions::list(call, object)?) {
        table.row(&version)?;
    }
    table.end("it has no versions")?;
    Ok(Exit::Done)
}
