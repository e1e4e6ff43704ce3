//! `deposit`: hands payloads to the engine, and with `--wait` works on them until they end.

use clap::{Args, ValueEnum};
use strongroom_digest::{Algorithm, Digest};
use strongroom_engine::app::OpContext;
use strongroom_engine::app::deposits::{self, DepositKind, PackageSource, Request};
use strongroom_engine::app::views::{ItemStatus, ItemView};

use super::items::problem_line;
use super::wait::{Ended, Waiting, wait};
use crate::context::Context;
use crate::failure::{Exit, Failure, Outcome};
use crate::output::printable;

/// Deposit packages
#[derive(Debug, Args)]
pub(crate) struct Deposit {
    /// The packages: files, folders or URLs; one work item for each
    #[arg(required = true, value_name = "PATH|URL")]
    sources: Vec<String>,
    /// The institution they belong to [default: the only institution, where there is one only]
    #[arg(long, value_name = "DOMAIN")]
    institution: Option<String>,
    /// The collection they belong to
    #[arg(long, value_name = "NAME")]
    collection: Option<String>,
    /// The type of the packages
    #[arg(long = "type", value_enum, default_value_t = Kind::Auto)]
    kind: Kind,
    /// The depositor's own identifier of the object; repeat for several
    #[arg(long = "local-id", value_name = "ID")]
    local_ids: Vec<String>,
    /// The name of the object [default: the name of the package]
    #[arg(long, value_name = "NAME")]
    primary_id: Option<String>,
    /// A note to keep with the deposit
    #[arg(long)]
    note: Option<String>,
    /// The digest that the package must have as a file, such as sha256:9f86…
    #[arg(long, value_name = "ALGORITHM:HEX", value_parser = digest)]
    digest: Option<(Algorithm, Digest)>,
    /// Refuse to make new objects: each must exist already
    #[arg(long)]
    update: bool,
    #[command(flatten)]
    waiting: Waiting,
}

/// What is deposited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Kind {
    /// Recognised from the package
    Auto,
    /// BagIt bags
    Bag,
    /// Single files (not in this version)
    File,
    /// Archives whose members are the object (not in this version)
    Container,
    /// Manifests that name the files of an object (not in this version)
    Manifest,
    /// Manifests of manifests (not in this version)
    BatchManifest,
    /// Manifests of single-file objects (not in this version)
    SingleFileBatchManifest,
    /// Manifests of containers (not in this version)
    ContainerBatchManifest,
}

fn digest(text: &str) -> Result<(Algorithm, Digest), String> {
    let (name, hex) = text.split_once(':').ok_or("it has not the form ALGORITHM:HEX")?;
    let algorithm: Algorithm = name.parse().map_err(|error| format!("{error}"))?;
    let digest: Digest = hex.parse().map_err(|error| format!("{error}"))?;
    if digest.as_bytes().len() == algorithm.length() {
        Ok((algorithm, digest))
    } else {
        Err(format!("a {algorithm} digest has {} hex digits", algorithm.length() * 2))
    }
}

pub(crate) fn run(command: Deposit, context: &Context) -> Outcome {
    let kind = match command.kind {
        Kind::Auto => DepositKind::Auto,
        Kind::Bag => DepositKind::Bag,
        other => {
            let name = other.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default();
            return Err(Failure::usage(format!("deposits of type {name} are not in this version"))
                .next("make a bag of it with \"strongroom bag create\", and deposit that"));
        }
    };
    let waits = command.waiting.is_wanted()?;
    let request = Request {
        institution: command.institution,
        collection: command.collection,
        kind,
        sources: command.sources.iter().map(|source| PackageSource::parse(source)).collect::<Result<_, _>>()?,
        local_ids: command.local_ids,
        primary_id: command.primary_id,
        note: command.note,
        digest: command.digest,
        update: command.update,
    };
    let call = context.call()?;
    let submitted = deposits::submit(&call, request)?;
    if waits {
        return wait(&call, &submitted.items, context, &command.waiting, &mut |item| told(&call, &item, context));
    }
    for page in submitted.items.chunks(SHOWN_AT_ONCE) {
        for made in deposits::show_all(&call, page)? {
            if context.output.is_json() {
                context.output.json(&made)?;
            } else {
                context.output.say(printable(&format!("accepted  {}  item {}", made.object, made.item)))?;
            }
        }
    }
    context.output.say(format!(
        "batch {}; workers do the rest; where none runs, start \"strongroom work\" or \"strongroom serve\"",
        submitted.batch
    ))?;
    Ok(Exit::Done)
}

/// Problems of an item that are printed.
const PROBLEMS: usize = 20;

/// Items that are read together.
const SHOWN_AT_ONCE: usize = 500;

/// One line for an item that ended; whether it succeeded.
fn told(call: &OpContext, item: &ItemView, context: &Context) -> Result<Ended, Failure> {
    let ended = Ended::of(item.status);
    if context.output.is_json() {
        context.output.json(&deposits::show(call, item.item)?)?;
        return Ok(ended);
    }
    let note = item.note.as_deref().unwrap_or_default();
    context.output.say(printable(&format!("{:9}  {}  {note}", item.status, item.object)))?;
    for problem in item.problems.iter().take(PROBLEMS) {
        context.output.say(printable(&format!("  {}", problem_line(problem))))?;
    }
    if let Some(more) = item.problems.len().checked_sub(PROBLEMS).filter(|more| *more > 0) {
        context.output.say(format!("  {more} more: strongroom items show {} --json", item.item))?;
    }
    if ended == Ended::Otherwise {
        let act = if item.status == ItemStatus::Held { "release" } else { "history" };
        context.output.say(format!("  next: strongroom items {act} {}", item.item))?;
    }
    Ok(ended)
}
