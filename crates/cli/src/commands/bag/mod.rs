//! `bag`: makes, checks and shows bags, without a data directory.

mod create;
mod profile;
mod tags;
mod validate;

use std::path::{Path, PathBuf};

use clap::Subcommand;
use strongroom_bagit::{BagError, CODES, CheckOptions, Problem, ProfileChoice, Report, Severity, Tag, Verdict};
use strongroom_digest::Algorithm;

use crate::context::Context;
use crate::failure::{Exit, Failure, Outcome};
use crate::output::{TableOptions, printable, report};
use crate::progress::{Line, Unit};

/// Make, check and show bags; needs no data directory
#[derive(Debug, Subcommand)]
pub(crate) enum Bag {
    Create(Box<create::Create>),
    Validate(validate::Validate),
    /// Show what a bag says of itself and how many files it has
    #[command(after_help = "Example: strongroom bag show letters.tar")]
    Show {
        /// The bag
        path: PathBuf,
    },
    /// List every problem code with its meaning
    #[command(after_help = "Example: strongroom bag codes --json")]
    Codes(TableOptions),
}

report! {
    /// What a bag says of itself.
    BagShown {
        path: String,
        verdict: Verdict,
        version: Option<String>,
        encoding: Option<String>,
        profile: Option<String>,
        files: u64,
        bytes: u64,
        payload_files: u64,
        payload_bytes: u64,
        manifests: Vec<Algorithm>,
        tag_manifests: Vec<Algorithm>,
        fetch: bool,
        tags: Vec<TagShown>,
    }
}

/// A tag.
#[derive(Debug, Clone, serde::Serialize)]
pub(crate) struct TagShown {
    file: String,
    label: String,
    value: String,
}

report! {
    /// A problem code.
    CodeReport { code: String, severity: Severity, meaning: String }
}

pub(crate) fn run(command: &Bag, context: &Context) -> Outcome {
    match command {
        Bag::Create(command) => create::run(command, context),
        Bag::Validate(command) => validate::run(command, context),
        Bag::Show { path } => show(path, context),
        Bag::Codes(options) => codes(*options, context),
    }
}

fn checked(path: &Path, options: &CheckOptions, context: &Context) -> Result<Report, BagError> {
    let line = Line::new(context, Unit::Files, &path.display().to_string());
    let options = CheckOptions { progress: line.counts().clone(), ..options.clone() };
    strongroom_bagit::validate(path, &options)
}

fn show(path: &Path, context: &Context) -> Outcome {
    let options = CheckOptions { profile: ProfileChoice::Nothing, ..CheckOptions::default() };
    let report = match checked(path, &options, context) {
        Ok(report) => report,
        Err(error) => return Err(Failure::from(error).while_trying(format!("show {}", path.display()))),
    };
    let tags = report.tags.iter().map(tag_shown).collect();
    let profile = report.tag("bag-info.txt", "BagIt-Profile-Identifier").next().map(str::to_owned);
    let shown = BagShown {
        path: path.display().to_string(),
        verdict: report.verdict,
        version: report.version,
        encoding: report.encoding,
        profile,
        files: report.files,
        bytes: report.bytes,
        payload_files: report.payload_files,
        payload_bytes: report.payload_bytes,
        manifests: report.manifests,
        tag_manifests: report.tag_manifests,
        fetch: report.has_fetch,
        tags,
    };
    if context.output.is_json() {
        context.output.json(&shown)?;
        return Ok(Exit::Done);
    }
    let tags = shown.tags.clone();
    context.output.show(&BagShown { tags: Vec::new(), ..shown })?;
    for tag in tags {
        context.output.say(printable(&format!("{}  {}: {}", tag.file, tag.label, tag.value)))?;
    }
    Ok(Exit::Done)
}

fn tag_shown(tag: &Tag) -> TagShown {
    TagShown { file: tag.file.clone(), label: tag.label.clone(), value: tag.value.clone() }
}

fn codes(options: TableOptions, context: &Context) -> Outcome {
    let mut table = context.output.table(&["code", "severity", "meaning"]).with::<CodeReport>(options).wrapping();
    for (code, severity, meaning) in CODES {
        table.row(&CodeReport { code: (*code).to_owned(), severity: *severity, meaning: (*meaning).to_owned() })?;
    }
    table.end("there are no codes")?;
    Ok(Exit::Done)
}

/// A problem on one line.
pub(super) fn tell(problem: &Problem, context: &Context) -> Result<(), Failure> {
    let severity = match problem.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    };
    let mut place = String::new();
    if let Some(file) = &problem.file {
        place = format!(" {file}");
        if let Some(line) = problem.line {
            place = format!("{place}:{line}");
        }
    }
    if let Some(path) = &problem.path {
        place = format!("{place} {path}");
    }
    context.output.say(printable(&format!("  {severity:7} {}{place}: {}", problem.code, problem.message)))
}

fn word(verdict: Verdict) -> String {
    serde_json::to_value(verdict).ok().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
}
