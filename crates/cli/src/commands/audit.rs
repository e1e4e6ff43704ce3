//! `audit`: the chains of what was done, for outsiders to verify.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use strongroom_audit::{PublicKey, Verified, verify};
use strongroom_engine::app::audit::{self, Export, Form};
use strongroom_engine::app::views::{AuditChainView, AuditCheckView, AuditExportView};

use super::values::time;
use crate::context::Context;
use crate::failure::{Exit, Failure, Outcome};
use crate::output::{ListOptions, TableOptions, counted, printable, report};
use crate::signals;

/// Show, export and verify the audit chains
#[derive(Debug, Subcommand)]
pub(crate) enum Audit {
    /// List the chains: how many entries each has, and how many of them are published in the preservation stores
    List {
        /// Only that of this institution
        #[arg(long, value_name = "DOMAIN")]
        institution: Option<String>,
        #[command(flatten)]
        options: ListOptions,
    },
    /// Read now what the preservation stores have of the chains, and put back what is missing or changed; exit 1 where something was, or is of no chain
    Check {
        /// Only these stores
        #[arg(value_name = "STORE")]
        stores: Vec<String>,
        #[command(flatten)]
        options: TableOptions,
    },
    /// Write the chains into a folder, for others to verify
    Export(ExportArguments),
    /// Verify chains by their files alone; exit 1 names the first entry that does not hold. Needs no data directory
    Verify(VerifyArguments),
}

/// What is exported.
#[derive(Debug, Args)]
pub(crate) struct ExportArguments {
    /// The folder, made where missing; an earlier export there is continued
    dir: PathBuf,
    /// Only the chain of this institution
    #[arg(long, value_name = "DOMAIN")]
    institution: Option<String>,
    /// Only files with entries since: a date such as 2026-01-31, a time, or an age such as 7d
    #[arg(long, value_name = "DATE|TIME|AGE")]
    since: Option<String>,
    /// In which form
    #[arg(long, value_enum, default_value_t = ExportFormat::Jsonl)]
    format: ExportFormat,
    #[command(flatten)]
    options: TableOptions,
}

/// The form of an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportFormat {
    /// JSON Lines with the heads of the chain, which can be verified
    Jsonl,
    /// A table with the columns of the audit log of DuraCloud, which cannot
    Tsv,
}

/// What is verified.
#[derive(Debug, Args)]
pub(crate) struct VerifyArguments {
    /// Exports, folders of stores, folders of chains, or single files; each chain is compared with the heads from all of them
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// A file with the public key (PEM) that the last head has to be signed by; may be given several times [default: a head may be unsigned, or is signed by the key beside it]
    #[arg(long, value_name = "FILE")]
    key: Vec<PathBuf>,
}

report! {
    /// What a verification found of a chain in one place.
    VerifiedReport {
        path: String,
        chain: Option<String>,
        verdict: &'static str,
        first: u64,
        entries: u64,
        sha256: Option<String>,
        heads: u64,
        signed: u64,
        broken_at: Option<u64>,
        problem: Option<String>,
        near_duplicates: u64,
        first_near_duplicates: Vec<(u64, u64)>,
    }
}

pub(crate) fn run(command: Audit, context: &Context) -> Outcome {
    match command {
        Audit::List { institution, options } => list(institution.as_deref(), options, context),
        Audit::Check { stores, options } => check(&stores, options, context),
        Audit::Export(arguments) => export(arguments, context),
        Audit::Verify(arguments) => verify_files(&arguments, context),
    }
}

fn list(institution: Option<&str>, options: ListOptions, context: &Context) -> Outcome {
    let (chains, pending) = audit::list(&context.call()?, institution)?;
    let columns = ["chain", "entries", "published", "published_at"];
    let in_full = ["chain", "entries", "sha256", "published", "published_at", "signing_key"];
    let mut table = context
        .output
        .table(&columns)
        .with::<AuditChainView>(options.table)
        .if_room(&["sha256", "signing_key"])
        .in_full(&in_full);
    for chain in &chains {
        table.row(chain)?;
    }
    table.end(if pending > 0 { "nothing is appended yet" } else { "nothing was done yet" })?;
    if pending > 0 && !context.output.is_json() {
        eprintln!(
            "{} will be appended within a minute, where \"strongroom serve\" runs",
            counted(pending, "act", "acts")
        );
    }
    Ok(Exit::Done)
}

fn check(stores: &[String], options: TableOptions, context: &Context) -> Outcome {
    let checked = audit::check(&context.call()?, stores, &signals::watch()?)?;
    let columns = ["store", "ok", "ranges", "put_back", "message"];
    let mut table = context.output.table(&columns).with::<AuditCheckView>(options).wrapping();
    let mut exit = Exit::Done;
    for store in &checked {
        if !store.ok {
            exit = Exit::No;
        }
        table.row(store)?;
    }
    table.end("no preservation store is in use")?;
    Ok(exit)
}

fn export(arguments: ExportArguments, context: &Context) -> Outcome {
    let since = arguments.since.as_deref().map(time).transpose()?;
    let form = match arguments.format {
        ExportFormat::Jsonl => Form::Lines,
        ExportFormat::Tsv => Form::Tsv,
    };
    let wanted = Export { institution: arguments.institution, since, form };
    let exported = audit::export(&context.call()?, &arguments.dir, &wanted, &signals::watch()?)?;
    let mut table = context
        .output
        .table(&["chain", "first", "last", "sha256", "path"])
        .with::<AuditExportView>(arguments.options)
        .in_full(&["chain", "first", "last", "count", "sha256", "path"]);
    for chain in &exported {
        table.row(chain)?;
    }
    table.end("there is nothing to export")?;
    Ok(Exit::Done)
}

fn verify_files(arguments: &VerifyArguments, context: &Context) -> Outcome {
    let mut keys = Vec::new();
    for path in &arguments.key {
        let text = std::fs::read_to_string(path).map_err(|error| Failure::io("read", path, &error))?;
        keys.push(PublicKey::from_pem(&text)?);
    }
    signals::end_at_once(
        context,
        "nothing was changed, and what was not reported is not verified",
        "the same command begins anew",
    )?;
    let mut exit = Exit::Done;
    for found in verify(&arguments.paths, &keys)? {
        if found.fault.is_some() {
            exit = Exit::No;
        }
        show(&found, context)?;
    }
    Ok(exit)
}

fn show(found: &Verified, context: &Context) -> Result<(), Failure> {
    let report = VerifiedReport {
        path: found.path.display().to_string(),
        chain: found.chain.clone(),
        verdict: if found.fault.is_some() { "invalid" } else { "valid" },
        first: found.first,
        entries: found.entries,
        sha256: found.link.as_ref().map(|link| link.sha256().to_string()),
        heads: found.heads,
        signed: found.signed,
        broken_at: found.fault.as_ref().map(|broken| broken.sequence),
        problem: found.fault.as_ref().map(ToString::to_string),
        near_duplicates: found.near_duplicates.count,
        first_near_duplicates: found.near_duplicates.named.clone(),
    };
    if context.output.is_json() {
        return context.output.json(&report);
    }
    if let Some(problem) = &report.problem {
        context.output.say(printable(&format!("  {problem}")))?;
    }
    let whole = if report.first > 1 { format!(", from entry {} on", report.first) } else { String::new() };
    let near = match report.near_duplicates {
        0 => String::new(),
        many => format!(", {} of those before them", counted(many, "near duplicate", "near duplicates")),
    };
    context.output.say(printable(&format!(
        "{}: {}: {} ({}{whole}, compared with {}, {} signed{near})",
        report.path,
        report.chain.as_deref().unwrap_or("no chain that can be read"),
        report.verdict,
        if found.fault.is_some() {
            counted(report.entries, "entry holds", "entries hold")
        } else {
            counted(report.entries, "entry", "entries")
        },
        counted(report.heads, "head", "heads"),
        report.signed
    )))
}
