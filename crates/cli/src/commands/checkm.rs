//! `checkm`: manifests of files, containers and manifests, checked and made, without a data directory.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use clap::{Args, Subcommand, ValueEnum};
use strongroom_bagit::{BagError, Source};
use strongroom_checkm::{
    CODES, CheckmError, Checksum, Column, Limits, ManifestProfile, ManifestWriter, Mode, NewRow, Problem, ReadOptions,
    Report, Severity, ValidateOptions, Verdict, encode_url_path, validate,
};
use strongroom_digest::{Algorithm, hash_reader};
use tempfile::NamedTempFile;

use super::{bag, check_each};
use crate::context::Context;
use crate::failure::{Exit, Failure, Outcome};
use crate::output::{TableOptions, counted, printable, report, size};
use crate::{progress, signals};

/// Bytes that are read from a manifest at once.
const BUFFER: usize = 256 << 10;

/// Check and make Checkm manifests; needs no data directory
#[derive(Debug, Subcommand)]
pub(crate) enum Checkm {
    Validate(Validate),
    Create(Create),
    /// List every problem code with its severity in each mode and its meaning
    #[command(after_help = "Example: strongroom checkm codes --json")]
    Codes(TableOptions),
}

/// Check manifests: every line, every value of every row; exit 1 unless all are valid
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  strongroom checkm validate letters.checkm
  strongroom checkm validate --lenient --json deposits/*.checkm > results.jsonl

Each manifest is checked, also after one that is not valid or cannot be read. What it names is not fetched. Exit 1 where one \
is not valid; 3, 4 or 5 where one could not be checked, which is said on standard error.")]
pub(crate) struct Validate {
    /// The manifests; - for standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Accept with a warning what can be read without doubt ("strongroom checkm codes" lists what)
    #[arg(long)]
    lenient: bool,
    /// What the manifests must list [default: what each says]
    #[arg(long = "type", value_enum, value_name = "TYPE")]
    kind: Option<Kind>,
    /// Most rows of a manifest; one that has more is not valid
    #[arg(long, value_name = "N", default_value_t = Limits::default().rows)]
    max_rows: u64,
    /// Most bytes of a line; a manifest with a longer one is not valid
    #[arg(long, value_name = "BYTES", default_value_t = Limits::default().line_bytes)]
    max_line_bytes: usize,
}

/// Write a manifest of the files of a folder, each with its size and digest
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  strongroom checkm create letters l.checkm --url https://example.edu/letters/
  strongroom checkm create m m.checkm --url https://a.edu/ --type batch-manifest

The manifest is checked as by \"strongroom checkm validate\" before it appears. Nothing that exists is written over.")]
pub(crate) struct Create {
    /// The folder whose files are listed, with all that is below it
    folder: PathBuf,
    /// The manifest to write, outside the folder; it must not exist
    #[arg(value_name = "FILE")]
    target: PathBuf,
    /// Where the folder can be fetched: the path of each file in the folder is added to it
    #[arg(long, value_name = "URL")]
    url: String,
    /// What the manifest lists: files of one object, or objects
    #[arg(long = "type", value_enum, value_name = "TYPE", default_value_t = Kind::Manifest)]
    kind: Kind,
    /// The algorithm of the digests
    #[arg(long, value_name = "ALGORITHM", default_value_t = Algorithm::Sha256)]
    algorithm: Algorithm,
}

/// What a manifest lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Kind {
    /// The files of one object
    Manifest,
    /// Manifests, each of them an object
    BatchManifest,
    /// Files, each of them an object
    SingleFileBatchManifest,
    /// Containers, each of them an object
    ContainerBatchManifest,
}

impl From<Kind> for ManifestProfile {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::Manifest => Self::Object,
            Kind::BatchManifest => Self::Batch,
            Kind::SingleFileBatchManifest => Self::SingleFileBatch,
            Kind::ContainerBatchManifest => Self::ContainerBatch,
        }
    }
}

report! {
    /// What a check of a manifest found.
    ManifestReport {
        path: String,
        verdict: Verdict,
        profile: Option<&'static str>,
        rows: u64,
        errors: u64,
        warnings: u64,
        problems: Vec<Problem>,
    }
}

report! {
    /// A manifest that was made.
    ManifestMade { path: String, profile: &'static str, rows: u64, bytes: u64, problems: Vec<Problem> }
}

report! {
    /// A problem code.
    CodeReport { code: &'static str, strict: Severity, lenient: Severity, meaning: &'static str }
}

pub(crate) fn run(command: &Checkm, context: &Context) -> Outcome {
    match command {
        Checkm::Validate(command) => validate_all(command, context),
        Checkm::Create(command) => create(command, context),
        Checkm::Codes(options) => codes(*options, context),
    }
}

fn validate_all(command: &Validate, context: &Context) -> Outcome {
    let limits = Limits { rows: command.max_rows, line_bytes: command.max_line_bytes, ..Limits::default() };
    let mode = if command.lenient { Mode::Lenient } else { Mode::Strict };
    let read = ReadOptions { mode, limits, profile: command.kind.map(ManifestProfile::from) };
    let options = ValidateOptions { read, ..ValidateOptions::default() };
    check_each(&command.files, ("manifest", "manifests"), context, &|path| {
        let report = checked(path, &options, context)?;
        say(path, report, mode, context)
    })
}

fn checked(path: &Path, options: &ValidateOptions, context: &Context) -> Result<Report, Failure> {
    let bar = progress::spinner(context, format!("checking {}", path.display()));
    let failed = |error: CheckmError| Failure::from(error).while_trying(format!("check {}", path.display()));
    let report = if path == Path::new("-") {
        validate(BufReader::with_capacity(BUFFER, io::stdin().lock()), options).map_err(failed)
    } else {
        open(path).and_then(|file| validate(BufReader::with_capacity(BUFFER, file), options).map_err(failed))
    };
    bar.finish_and_clear();
    report
}

fn open(path: &Path) -> Result<File, Failure> {
    let failed = |error| Failure::io("open", path, &error);
    let file = File::open(path).map_err(failed)?;
    if file.metadata().map_err(failed)?.is_dir() {
        let message = format!("{} is a folder, not a manifest", path.display());
        return Err(Failure::usage(message).next("name a manifest; \"strongroom checkm create\" makes one of a folder"));
    }
    Ok(file)
}

/// Says what was found; whether the manifest is valid.
fn say(path: &Path, found: Report, mode: Mode, context: &Context) -> Result<bool, Failure> {
    let is_valid = found.verdict == Verdict::Valid;
    let report = ManifestReport {
        path: path.display().to_string(),
        verdict: found.verdict,
        profile: found.profile.map(ManifestProfile::name),
        rows: found.rows,
        errors: found.errors,
        warnings: found.warnings,
        problems: found.problems,
    };
    if context.output.is_json() {
        context.output.json(&report)?;
        return Ok(is_valid);
    }
    report.problems.iter().try_for_each(|problem| tell(problem, context))?;
    let verdict = match (report.verdict, report.warnings) {
        (Verdict::Invalid, _) => "invalid",
        (Verdict::Valid, 0) => "valid",
        (Verdict::Valid, _) => "valid with warnings",
    };
    let mode = if mode == Mode::Lenient { ", read leniently" } else { "" };
    let rows = counted(report.rows, "row", "rows");
    let profile = report.profile.unwrap_or("no profile that is known");
    context.output.say(printable(&format!("{}: {verdict} ({rows}, {profile}{mode})", report.path)))?;
    Ok(is_valid)
}

/// A problem on one line.
fn tell(problem: &Problem, context: &Context) -> Result<(), Failure> {
    let severity = match problem.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    };
    let place = match (problem.row, problem.line) {
        (Some(row), Some(line)) => format!(" row {row} (line {line})"),
        (_, Some(line)) => format!(" line {line}"),
        _ => String::new(),
    };
    let column = problem.column.map(|column| format!(" {column}")).unwrap_or_default();
    context.output.say(printable(&format!("  {severity:7} {}{place}{column}: {}", problem.code, problem.message)))
}

fn codes(options: TableOptions, context: &Context) -> Outcome {
    let mut table =
        context.output.table(&["code", "strict", "lenient", "meaning"]).with::<CodeReport>(options).wrapping();
    for rule in CODES {
        table.row(&CodeReport {
            code: rule.code,
            strict: rule.strict,
            lenient: rule.lenient,
            meaning: rule.meaning,
        })?;
    }
    table.end("there are no codes")?;
    Ok(Exit::Done)
}

fn create(command: &Create, context: &Context) -> Outcome {
    let (folder, target) = (&command.folder, &command.target);
    let what = || format!("make a manifest of {}", folder.display());
    let metadata = std::fs::metadata(folder).map_err(|error| Failure::io("read the folder", folder, &error))?;
    if !metadata.is_dir() {
        let message = format!("{} is not a folder", folder.display());
        return Err(Failure::usage(message).next("name the folder whose files are to be listed"));
    }
    let mut file = partial(folder, target)?;
    let interrupt = signals::flag()?;
    let bar = progress::spinner(context, format!("listing {}", folder.display()));
    let mut stopped = None;
    let profile = ManifestProfile::from(command.kind);
    let mut writer = ManifestWriter::new(BufWriter::with_capacity(BUFFER, file.as_file_mut()), profile, &[])?;
    let scanned = Source::open(folder).and_then(|source| {
        source.scan(&strongroom_bagit::Limits::default(), &mut |entry, reader| {
            if interrupt.load(Ordering::Relaxed) {
                return Err(io::ErrorKind::Interrupted.into());
            }
            write_row(command, &entry.path, reader, &mut writer).map_err(|failure| {
                stopped = Some(failure);
                io::Error::other("the listing ends here")
            })
        })
    });
    let written = writer.finish().map(drop);
    bar.finish_and_clear();
    if interrupt.load(Ordering::Relaxed) {
        return Err(Failure::new(Exit::Interrupted, format!("could not {}: interrupted", what()))
            .next("the same command makes it from the beginning"));
    }
    if let Some(failure) = stopped {
        return Err(failure.while_trying(what()));
    }
    let scan = scanned.map_err(|error: BagError| Failure::from(error).while_trying(what()))?;
    written.map_err(|error| Failure::from(error).while_trying(what()))?;
    let refused: Vec<_> = scan.problems.into_iter().filter(is_refusal).collect();
    if let Some(first) = refused.first() {
        let path = first.path.as_deref().map(|path| format!("{path}: ")).unwrap_or_default();
        let message = format!("could not {}: {path}{}", what(), first.message);
        if !context.output.is_json() {
            refused.iter().try_for_each(|problem| bag::tell(problem, context))?;
        }
        let next = "list a folder of regular files alone, with names that are UTF-8";
        return Err(Failure::new(Exit::No, message).next(next));
    }
    keep(file, command, context)
}

/// Whether a file of a folder cannot be in a manifest.
fn is_refusal(problem: &strongroom_bagit::Problem) -> bool {
    problem.severity == strongroom_bagit::Severity::Error || problem.code == "path.not_utf8"
}

/// A new file beside the target, which becomes it at the end.
fn partial(folder: &Path, target: &Path) -> Result<NamedTempFile, Failure> {
    if target.symlink_metadata().is_ok() {
        let message = format!("{} exists already", target.display());
        return Err(Failure::usage(message).next("name a target that does not exist"));
    }
    let parent = target.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let real = |path: &Path| path.canonicalize().map_err(|error| Failure::io("find", path, &error));
    if real(parent)?.starts_with(real(folder)?) {
        let message = format!("{} is within {}, and would be listed", target.display(), folder.display());
        return Err(Failure::usage(message).next("name a target outside the folder"));
    }
    let name = target.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let mut builder = tempfile::Builder::new();
    let prefix = format!(".{name}.");
    builder.prefix(&prefix).suffix(".partial");
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    builder.tempfile_in(parent).map_err(|error| Failure::io("create a file in", parent, &error))
}

fn write_row(
    command: &Create,
    path: &str,
    reader: &mut dyn Read,
    writer: &mut ManifestWriter<impl Write>,
) -> Result<(), Failure> {
    let (bytes, digests) = hash_reader(reader, &[command.algorithm])
        .map_err(|error| Failure::io("read", &command.folder.join(path), &error))?;
    let separator = if command.url.ends_with('/') { "" } else { "/" };
    let url = format!("{}{separator}{}", command.url, encode_url_path(path));
    let mut row = NewRow::new(&url).size(bytes).text(Column::FileName, path);
    let digest = digests.get(command.algorithm);
    if let Some(checksum) = digest.and_then(|digest| Checksum::new(command.algorithm, digest)) {
        row = row.checksum(checksum);
    }
    writer.row(&row).map_err(|error| Failure::from(error).next("correct --url, or rename the file"))
}

/// Checks what was written, and gives it its name.
fn keep(mut file: NamedTempFile, command: &Create, context: &Context) -> Outcome {
    let target = &command.target;
    let failed = |error: io::Error| Failure::io("write", target, &error);
    file.as_file_mut().rewind().map_err(failed)?;
    let found = validate(BufReader::with_capacity(BUFFER, file.as_file()), &ValidateOptions::default())?;
    if found.verdict == Verdict::Invalid {
        let first = found.problems.iter().find(|problem| problem.severity == Severity::Error);
        let reason = first.map_or("it is not valid", |problem| problem.message.as_str());
        let message = format!("could not make a manifest of {}: {reason}", command.folder.display());
        return Err(Failure::new(Exit::No, message).next("correct the folder, or choose another --type"));
    }
    let bytes = file.as_file().metadata().map_err(failed)?.len();
    file.as_file().sync_all().map_err(failed)?;
    file.persist_noclobber(target).map_err(|error| failed(error.error))?;
    let made = ManifestMade {
        path: target.display().to_string(),
        profile: ManifestProfile::from(command.kind).name(),
        rows: found.rows,
        bytes,
        problems: found.problems,
    };
    if context.output.is_json() {
        context.output.json(&made)?;
        return Ok(Exit::Done);
    }
    made.problems.iter().try_for_each(|problem| tell(problem, context))?;
    let rows = counted(made.rows, "row", "rows");
    context.output.say(printable(&format!("made {}: {rows}, {}", made.path, size(made.bytes))))?;
    Ok(Exit::Done)
}
