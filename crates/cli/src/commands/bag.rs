//! `bag`: bags made, checked and looked at, without a home.

use std::path::{Path, PathBuf};

use clap::{Subcommand, ValueEnum};
use strongroom_bagit::{
    BagError, BagOptions, CODES, CheckOptions, Problem, Profile, ProfileChoice, ProfileReason, Report, Serialization,
    Severity, Tag, Verdict, WriteError, WriterOptions, create, validate,
};
use strongroom_digest::Algorithm;
use strongroom_engine::settings::nearest;

use crate::context::Context;
use crate::failure::{Exit, Failure, Outcome};
use crate::output::{TableOptions, printable, report, size};
use crate::progress;

/// Make, check and show bags; needs no home
#[derive(Debug, Subcommand)]
pub(crate) enum Bag {
    /// Bag a folder, which is left as it is
    Create {
        /// The folder that becomes the payload
        source: PathBuf,
        /// The bag to make, which must not exist
        target: PathBuf,
        /// As a folder or an archive [default: by the target's extension]
        #[arg(long, value_enum)]
        form: Option<Form>,
        /// Algorithms of the manifests; repeat for several [default: sha512]
        #[arg(long = "algorithm", value_name = "ALGORITHM")]
        algorithms: Vec<Algorithm>,
        /// A tag of bag-info.txt; repeat for several
        #[arg(long = "tag", value_name = "LABEL=VALUE", value_parser = label_and_value)]
        tags: Vec<(String, String)>,
        /// A tag file to add; repeat for several
        #[arg(long = "tag-file", value_name = "PATH-IN-BAG=FILE", value_parser = label_and_value)]
        tag_files: Vec<(String, String)>,
        /// Keep empty folders, with an empty file .keep in each
        #[arg(long)]
        keep_empty: bool,
    },
    /// Check a bag: completeness, every digest, every rule; exit 1 unless it is valid
    Validate {
        /// The bag: a folder, or a tar, tar.gz or zip archive
        path: PathBuf,
        /// The profile it has to keep: a name (aptrust-2.3, aptrust-2.2, btr-1.0), a file, or none [default: the one it names, or aptrust-2.3 for one with an aptrust-info.txt]
        #[arg(long, value_name = "NAME|FILE|none")]
        profile: Option<String>,
        /// What to make of a bag that names a profile which is not known: it is invalid, or that is a warning
        #[arg(long, value_enum, default_value_t = UnknownProfile::Refuse)]
        unknown_profile: UnknownProfile,
    },
    /// Show what a bag says of itself and how many files it has
    Show {
        /// The bag
        path: PathBuf,
    },
    /// List every problem code with its meaning
    Codes(TableOptions),
}

/// What becomes of a bag that names a profile which is not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum UnknownProfile {
    /// It is invalid
    Refuse,
    /// That is a warning
    Warn,
}

/// How a bag lies on the disk.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Form {
    /// A folder
    Folder,
    /// A tar archive
    Tar,
    /// A tar archive, compressed
    TarGz,
    /// A zip archive
    Zip,
}

report! {
    /// What a check of a bag found.
    BagReport {
        path: String,
        verdict: Verdict,
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
    /// A bag that was made.
    BagMade {
        path: String,
        payload_files: u64,
        payload_bytes: u64,
        tag_files: u64,
        problems: Vec<Problem>,
    }
}

report! {
    /// A problem code.
    CodeReport { code: String, severity: Severity, meaning: String }
}

pub(crate) fn run(command: &Bag, context: &Context) -> Outcome {
    match command {
        Bag::Create { source, target, form, algorithms, tags, tag_files, keep_empty } => {
            let mut options = BagOptions {
                form: form.map_or_else(|| form_of(target), Serialization::from),
                bag_info: tags.clone(),
                tag_files: tag_files.iter().map(|(path, file)| (path.clone(), PathBuf::from(file))).collect(),
                keep_empty_directories: *keep_empty,
                writer: WriterOptions::default(),
            };
            if !algorithms.is_empty() {
                options.writer.algorithms.clone_from(algorithms);
            }
            make(source, target, &options, context)
        }
        Bag::Validate { path, profile, unknown_profile } => check(path, profile.as_deref(), *unknown_profile, context),
        Bag::Show { path } => show(path, context),
        Bag::Codes(options) => codes(*options, context),
    }
}

fn label_and_value(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((label, value)) if !label.is_empty() => Ok((label.to_owned(), value.to_owned())),
        _ => Err("it has not the form LABEL=VALUE".to_owned()),
    }
}

impl From<Form> for Serialization {
    fn from(form: Form) -> Self {
        match form {
            Form::Folder => Self::Directory,
            Form::Tar => Self::Tar,
            Form::TarGz => Self::TarGz,
            Form::Zip => Self::Zip,
        }
    }
}

fn form_of(target: &Path) -> Serialization {
    let name = target.file_name().map(|name| name.to_string_lossy().to_lowercase()).unwrap_or_default();
    // No bytes: told by the name alone.
    Serialization::detect(&[], &name).unwrap_or(Serialization::Directory)
}

fn make(source: &Path, target: &Path, options: &BagOptions, context: &Context) -> Outcome {
    let metadata = std::fs::metadata(source).map_err(|error| Failure::io("read the folder", source, &error))?;
    if !metadata.is_dir() {
        return Err(Failure::usage(format!("{} is not a folder", source.display())).next("name the folder to bag"));
    }
    let bar = progress::spinner(context, format!("bagging {}", source.display()));
    let made = create(source, target, options);
    bar.finish_and_clear();
    let written = match made {
        Ok(written) => written,
        Err(error) => {
            if let WriteError::Refused { problems, .. } = &error {
                problems.iter().try_for_each(|problem| tell(problem, context))?;
            }
            return Err(Failure::from(error).while_trying(format!("bag {}", source.display())));
        }
    };
    let report = BagMade {
        path: target.display().to_string(),
        payload_files: written.payload_files,
        payload_bytes: written.payload_bytes,
        tag_files: written.tag_files,
        problems: written.warnings,
    };
    if context.output.is_json() {
        context.output.json(&report)?;
        return Ok(Exit::Done);
    }
    report.problems.iter().try_for_each(|problem| tell(problem, context))?;
    context.output.say(format!(
        "made {}: {} files, {}",
        report.path,
        report.payload_files,
        size(report.payload_bytes)
    ))?;
    Ok(Exit::Done)
}

fn check(path: &Path, profile: Option<&str>, unknown_profile: UnknownProfile, context: &Context) -> Outcome {
    let profile = match profile {
        None => ProfileChoice::Declared,
        Some("none") => ProfileChoice::Nothing,
        Some(name) => ProfileChoice::Given(Box::new(profile_of(name)?)),
    };
    let options = CheckOptions {
        profile,
        unknown_profile_is_warning: unknown_profile == UnknownProfile::Warn,
        // As in a deposit.
        wrong_name_is_warning: true,
        ..CheckOptions::default()
    };
    let report = report_on(path, &options, context)?;
    let exit = match report.verdict {
        Verdict::Valid | Verdict::ValidWithWarnings => Exit::Done,
        _ => Exit::No,
    };
    if context.output.is_json() {
        context.output.json(&report)?;
        return Ok(exit);
    }
    report.problems.iter().try_for_each(|problem| tell(problem, context))?;
    let verdict = word(report.verdict).replace('_', " ");
    let profile = match (&report.profile, report.profile_source) {
        (Some(profile), Some(source)) => format!(", profile {profile}: {}", why(source)),
        _ => ", no profile applies".to_owned(),
    };
    context.output.say(printable(&format!(
        "{}: {verdict} ({} files, {}{profile})",
        report.path,
        report.files,
        size(report.bytes)
    )))?;
    Ok(exit)
}

/// A check's report; what is no bag at all is a verdict too.
fn report_on(path: &Path, options: &CheckOptions, context: &Context) -> Result<BagReport, Failure> {
    let shown = path.display().to_string();
    let report = match checked(path, options, context) {
        Ok(report) => report,
        Err(BagError::UnknownSerialization { path }) => {
            let message = format!("{} is neither a folder nor a tar, tar.gz or zip archive", path.display());
            return Ok(BagReport {
                path: shown,
                verdict: Verdict::NotABag,
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

fn checked(path: &Path, options: &CheckOptions, context: &Context) -> Result<Report, BagError> {
    let bar = progress::spinner(context, format!("checking {}", path.display()));
    let report = validate(path, options);
    bar.finish_and_clear();
    report
}

/// A profile by name, or from a file.
fn profile_of(name: &str) -> Result<Profile, Failure> {
    if let Some(profile) = Profile::builtin(name) {
        return Ok(profile);
    }
    let path = Path::new(name);
    let document = match std::fs::read(path) {
        Ok(document) => document,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let near = nearest(name, Profile::builtin_names()).unwrap_or_default();
            return Err(Failure::new(Exit::NotFound, format!("there is no profile {name:?}, nor a file of this name"))
                .next(format!("the nearest profile is {near}")));
        }
        Err(error) => return Err(Failure::io("read the profile", path, &error)),
    };
    let (profile, problems) = Profile::parse(&document)
        .map_err(|error| Failure::usage(format!("{name} is not a profile: {}", strongroom_engine::chain(&error))))?;
    match problems.iter().find(|problem| problem.severity == Severity::Error) {
        None => Ok(profile),
        Some(problem) => Err(Failure::usage(format!("{name} is not a usable profile: {}", problem.message))),
    }
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
    let mut table = context.output.table(&["code", "severity", "meaning"]).with(options).wrapping();
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
