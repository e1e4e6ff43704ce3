//! `bag validate`: bags checked one after the other, each with a result of its own.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use strongroom_bagit::{BagError, CheckLevel, CheckOptions, Problem, ProfileChoice, ProfileReason, Severity, Verdict};

use super::super::check_each;
use super::profile::profile_of;
use super::{checked, tell, word};
use crate::context::Context;
use crate::failure::{Failure, Outcome};
use crate::output::{counted, printable, report, size};
use crate::signals;

/// Check bags: completeness, every digest, every rule; exit 1 unless all are valid
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  strongroom bag validate letters.tar
  strongroom bag validate --fast bags/*
  strongroom bag validate --profile maps.json --json bags/* > results.jsonl

Each bag is checked, also after one that is not valid or cannot be read. Exit 1 where one is not valid; 3, 4 or 5 where \
one could not be checked, which is said on standard error.")]
pub(crate) struct Validate {
    /// The bags: folders, or tar, tar.gz, tar.bz2 or zip archives
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Compare the payload with Payload-Oxum only: neither digests nor manifests are read. A bag without a Payload-Oxum is unsupported
    #[arg(long, conflicts_with = "completeness_only")]
    fast: bool,
    /// Compare the manifests with the files that are there, without digests
    #[arg(long)]
    completeness_only: bool,
    /// The profile it has to keep: a name (aptrust-2.3, aptrust-2.2, btr-1.0), a file, NAME or NAME@VERSION of one added to the data directory, or none [default: the one it names, or aptrust-2.3 for one with an aptrust-info.txt]
    #[arg(long, value_name = "NAME|FILE|none")]
    profile: Option<String>,
    /// What to make of a bag that names a profile which is not known: it is invalid, or that is a warning
    #[arg(long, value_enum, default_value_t = UnknownProfile::Refuse)]
    unknown_profile: UnknownProfile,
}

/// What becomes of a bag that names a profile which is not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum UnknownProfile {
    /// It is invalid
    Refuse,
    /// That is a warning
    Warn,
}

report! {
    /// What a check of a bag found.
    BagReport {
        path: String,
        verdict: Verdict,
        checked: CheckLevel,
        version: Option<String>,
        profile: Option<String>,
        profile_source: Option<&'static str>,
        files: u64,
        bytes: u64,
        errors: u64,
        warnings: u64,
        problems: Vec<Problem>,
    }
}

pub(super) fn run(command: &Validate, context: &Context) -> Outcome {
    let options = CheckOptions {
        level: match (command.fast, command.completeness_only) {
            (true, _) => CheckLevel::Fast,
            (_, true) => CheckLevel::Completeness,
            _ => CheckLevel::Full,
        },
        profile: match command.profile.as_deref() {
            None => ProfileChoice::Declared,
            Some("none") => ProfileChoice::Nothing,
            Some(name) => ProfileChoice::Given(Box::new(profile_of(name, context)?)),
        },
        unknown_profile_is_warning: command.unknown_profile == UnknownProfile::Warn,
        // As in a deposit.
        wrong_name_is_warning: true,
        ..CheckOptions::default()
    };
    signals::end_at_once(
        context,
        "nothing was changed, and bags that were not reported are not checked",
        "the same command checks them from the beginning",
    )?;
    check_each(&command.paths, ("bag", "bags"), context, &|path| check(path, &options, context))
}

/// Checks one bag and says what was found; whether it is valid.
fn check(path: &Path, options: &CheckOptions, context: &Context) -> Result<bool, Failure> {
    let report = report_on(path, options, context)?;
    let is_good = matches!(report.verdict, Verdict::Valid | Verdict::ValidWithWarnings);
    if context.output.is_json() {
        context.output.json(&report)?;
        return Ok(is_good);
    }
    report.problems.iter().try_for_each(|problem| tell(problem, context))?;
    let verdict = word(report.verdict).replace('_', " ");
    if report.verdict == Verdict::NotABag {
        context.output.say(printable(&format!("{}: {verdict}", report.path)))?;
        return Ok(is_good);
    }
    let profile = match (&report.profile, report.profile_source) {
        (Some(profile), Some(source)) => format!(", profile {profile}: {}", why(source)),
        _ => ", no profile applies".to_owned(),
    };
    let level = match report.checked {
        CheckLevel::Full => "",
        CheckLevel::Completeness => "; digests were not checked",
        CheckLevel::Fast => "; Payload-Oxum was compared, manifests and digests were not checked",
    };
    context.output.say(printable(&format!(
        "{}: {verdict} ({}, {}{profile}{level})",
        report.path,
        counted(report.files, "file", "files"),
        size(report.bytes)
    )))?;
    Ok(is_good)
}

/// A check's report; what is no bag at all is a verdict too.
fn report_on(path: &Path, options: &CheckOptions, context: &Context) -> Result<BagReport, Failure> {
    let shown = path.display().to_string();
    let report = match checked(path, options, context) {
        Ok(report) => report,
        Err(BagError::UnknownSerialization { path }) => {
            let message = format!("{} is neither a folder nor a tar, tar.gz, tar.bz2 or zip archive", path.display());
            return Ok(BagReport {
                path: shown,
                verdict: Verdict::NotABag,
                checked: options.level,
                version: None,
                profile: None,
                profile_source: None,
                files: 0,
                bytes: 0,
                errors: 1,
                warnings: 0,
                problems: vec![Problem {
                    severity: Severity::Error,
                    code: "bagit.declaration".to_owned(),
                    file: None,
                    path: None,
                    line: None,
                    message,
                }],
            });
        }
        Err(error) => return Err(Failure::from(error).while_trying(format!("check {shown}"))),
    };
    Ok(BagReport {
        path: shown,
        verdict: report.verdict,
        checked: report.level,
        version: report.version,
        profile: report.profile,
        profile_source: report.profile_reason.map(source_word),
        files: report.files,
        bytes: report.bytes,
        errors: report.errors,
        warnings: report.warnings,
        problems: report.problems,
    })
}

/// Why a profile applies, as a word for scripts.
fn source_word(reason: ProfileReason) -> &'static str {
    match reason {
        ProfileReason::Given => "option",
        ProfileReason::Declared => "declared",
        ProfileReason::Default => "setting",
        ProfileReason::AptrustInfo => "default",
    }
}

/// Why a profile applies, for people.
fn why(source: &str) -> &'static str {
    match source {
        "option" => "chosen by --profile",
        "declared" => "declared by the bag",
        "setting" => "chosen by a setting",
        _ => "the default of bags with an aptrust-info.txt",
    }
}
