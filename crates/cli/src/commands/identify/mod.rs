//! `identify`: which formats files have, by PRONOM. Here are its arguments and what it prints.

mod listed;

use std::io::IsTerminal as _;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::{Args, ValueEnum};
use strongroom_digest::Algorithm;
use strongroom_engine::settings::{parse_duration, parse_size};
use strongroom_engine::signatures;
use strongroom_identify::{
    ARCHIVE_BYTES, Archives, DEPTH, Examined, Examiner, Form, IdentifyError, MEMBER_BYTES, Reporter, Siegfried, Target,
    Unidentified, UnidentifiedKind,
};
use strongroom_pronom::{Identifier, Options, SignatureSet};

use self::listed::ListedPaths;
use crate::context::Context;
use crate::failure::{Exit, Failure, Outcome};
use crate::output::{printable, printable_lines};
use crate::progress::{Expected, Line, Unit};

/// Say which formats files have, by PRONOM; needs no data directory
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  strongroom identify letters/ photograph.tif
  strongroom identify --format sf-yaml --hash sha256 letters/ > results.yaml
  find letters -print0 | strongroom identify --files-from - --null --csv

A file without a match is no failure: the exit code is 0. A path that does not exist: 3. A file that could not be read: \
5, after the rest was done.")]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag that may be given")]
pub(crate) struct Identify {
    /// Files, folders with all that is below them, or - for standard input
    #[arg(required_unless_present = "files_from", value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// A list of files and folders, one a line; - for standard input. They follow the paths
    #[arg(long, value_name = "FILE|-")]
    files_from: Option<PathBuf>,
    /// The paths of the list each end in a NUL, as of find -print0, so that they may have line ends
    #[arg(long, requires = "files_from")]
    null: bool,
    /// The name of what comes from standard input; its extension counts
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// A DROID signature file, or a compiled one [default: those of the data directory, else the built-in ones]
    #[arg(long, value_name = "FILE")]
    signatures: Option<PathBuf>,
    /// The DROID container signature file that goes with it
    #[arg(long, value_name = "FILE", requires = "signatures")]
    containers: Option<PathBuf>,
    /// One match at most for each file
    #[arg(long)]
    conclusive: bool,
    /// The form of the answer
    #[arg(long, value_enum, value_name = "FORM", conflicts_with_all = ["csv", "sf"])]
    format: Option<Format>,
    /// The same as --format csv
    #[arg(long)]
    csv: bool,
    /// As --format sf-csv, with names that can be shown: control characters are escaped, invalid bytes replaced
    #[arg(long, conflicts_with = "csv")]
    sf: bool,
    /// Also compute a digest of each file: md5, sha1, sha256 or sha512. Reads every file whole
    #[arg(long, value_name = "ALGORITHM", value_parser = hash)]
    hash: Option<Algorithm>,
    /// Also identify the members of zip, tar and gzip archives
    #[arg(long)]
    archives: bool,
    /// How deep archives within archives are opened
    #[arg(long, value_name = "N", requires = "archives", default_value_t = DEPTH)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=32))]
    depth: u32,
    /// Bytes of one member that are unpacked; the rest is cut off, with a warning
    #[arg(long, value_name = "BYTES", requires = "archives", default_value_t = MEMBER_BYTES)]
    member_bytes: u64,
    /// Bytes that all members of one archive are unpacked to
    #[arg(long, value_name = "BYTES", requires = "archives", default_value_t = ARCHIVE_BYTES)]
    archive_bytes: u64,
    /// How many files are identified at the same time [default: as many as there are processors]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    threads: Option<u16>,
    /// Read only this much from each end, such as 64KiB or a number of bytes [default: the whole file]
    #[arg(long, value_name = "SIZE", value_parser = window)]
    window: Option<u64>,
    /// Longest time for one file, such as 30s, 5m or a number of seconds; then the answer is what is known by then, with a warning [default: 5m]
    #[arg(long, value_name = "DURATION", value_parser = time_limit)]
    time_limit: Option<Duration>,
}

/// The form of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Lines for people
    Text,
    /// An object for each file, as with --json
    Json,
    /// For a spreadsheet: a line for each match
    Csv,
    /// The CSV of siegfried (sf -csv)
    SfCsv,
    /// The YAML of siegfried (sf)
    SfYaml,
    /// The export of DROID 6: a line for each folder and match
    DroidCsv,
}

/// The algorithms that siegfried and DROID know, too.
fn hash(text: &str) -> Result<Algorithm, String> {
    const KNOWN: [Algorithm; 4] = [Algorithm::Md5, Algorithm::Sha1, Algorithm::Sha256, Algorithm::Sha512];
    KNOWN
        .into_iter()
        .find(|algorithm| algorithm.name() == text)
        .ok_or_else(|| "it is none of md5, sha1, sha256 and sha512".to_owned())
}

fn window(text: &str) -> Result<u64, String> {
    let size = text.parse().ok().or_else(|| parse_size(text)).filter(|size| *size > 0);
    size.ok_or_else(|| "it is neither a number of bytes nor a size with a unit (B, kB, KiB, MB, MiB, ...)".to_owned())
}

fn time_limit(text: &str) -> Result<Duration, String> {
    const LONGEST: Duration = Duration::from_hours(24);
    let time = text.parse().ok().map(Duration::from_secs).or_else(|| parse_duration(text));
    time.filter(|time| !time.is_zero() && *time <= LONGEST)
        .ok_or_else(|| "it is no duration from 1ms to 24h, such as 30s or 5m, and no number of seconds".to_owned())
}

pub(crate) fn run(command: &Identify, context: &Context) -> Outcome {
    let targets = command.targets()?;
    let form = command.form(context)?;
    let set = command.load(context)?;
    let is_siegfried = matches!(form, Form::Siegfried | Form::SiegfriedCsv | Form::SiegfriedYaml);
    let siegfried = if is_siegfried { Siegfried::new(&set) } else { Siegfried::default() };
    let identifier = Identifier::new(set);
    let mut reporter = Reporter::new(form, command.hash, identifier.signatures(), siegfried, printable);
    let is_terminal = std::io::stdout().is_terminal();
    let write = |lines: Vec<Vec<u8>>| -> Result<(), Failure> {
        for line in lines {
            // Names of strangers do nothing to a terminal; a program reads them as they are.
            let line = if is_terminal { printable_lines(&String::from_utf8_lossy(&line)).into_bytes() } else { line };
            context.output.raw(&line)?;
            context.output.raw(b"\n")?;
        }
        Ok(())
    };
    write(reporter.header())?;
    crate::signals::end_at_once(
        context,
        "nothing was changed, and what was printed is not complete",
        "the same command begins anew",
    )?;
    let line = command.line(context);
    let examiner = Arc::new(Examiner {
        identifier,
        options: command.options(),
        archives: command.archives.then_some(Archives {
            depth: command.depth,
            member_bytes: command.member_bytes,
            archive_bytes: command.archive_bytes,
        }),
        hash: command.hash,
        progress: line.counts().clone(),
    });
    let mut worst = Exit::Done;
    let outcome = strongroom_identify::run(targets, &examiner, command.threads(), &mut |found| match found {
        Examined::IdentifiedFile(mut entry) => {
            if command.conclusive {
                entry.conclude();
            }
            write(reporter.entry(&entry)?)
        }
        Examined::Folder(folder) => write(reporter.folder(&folder)),
        Examined::Unidentified(trouble) => {
            line.suspend(|| tell(&trouble, context));
            worst = worse(worst, trouble.kind);
            write(reporter.trouble(&trouble))
        }
    });
    drop(line);
    outcome?;
    Ok(worst)
}

impl Identify {
    /// The targets named by arguments, and those of the list.
    fn targets(&self) -> Result<impl Iterator<Item = Result<Target, Unidentified>> + Send + use<>, Failure> {
        let is_list_input = self.files_from.as_deref().is_some_and(|list| list.as_os_str() == "-");
        let mut takes_input = false;
        let mut targets = Vec::with_capacity(self.paths.len());
        for path in &self.paths {
            if path.as_os_str() != "-" {
                targets.push(Ok(Target::File(path.clone())));
                continue;
            }
            if takes_input || is_list_input {
                return Err(Failure::usage("standard input (-) can be read once only").next("leave one - out"));
            }
            takes_input = true;
            targets.push(Ok(Target::StandardInput { name: self.name.clone().unwrap_or_default() }));
        }
        if self.name.is_some() && !takes_input {
            return Err(Failure::usage("--name is for standard input").next("name - among the paths, or leave it out"));
        }
        let separator = if self.null { 0 } else { b'\n' };
        let list = self.files_from.as_deref().map(|list| ListedPaths::open(list, separator)).transpose()?;
        Ok(targets.into_iter().chain(list.into_iter().flatten()))
    }

    fn form(&self, context: &Context) -> Result<Form, Failure> {
        let format = match (self.format, self.csv, self.sf) {
            (Some(format), ..) => Some(format),
            (None, true, _) => Some(Format::Csv),
            (None, false, true) => return only_without_json(Form::Siegfried, context),
            (None, false, false) => None,
        };
        match format {
            None if context.output.is_json() => Ok(Form::Json),
            Some(Format::Json) => Ok(Form::Json),
            None => Ok(Form::Text),
            Some(Format::Text) => only_without_json(Form::Text, context),
            Some(Format::Csv) => only_without_json(Form::Csv, context),
            Some(Format::SfCsv) => only_without_json(Form::SiegfriedCsv, context),
            Some(Format::SfYaml) => only_without_json(Form::SiegfriedYaml, context),
            Some(Format::DroidCsv) => only_without_json(Form::Droid { has_archives: self.archives }, context),
        }
    }

    fn load(&self, context: &Context) -> Result<SignatureSet, Failure> {
        match &self.signatures {
            Some(binary) => Ok(signatures::read_files(binary, self.containers.as_deref())?),
            None => Ok(signatures::load(&context.home)?.set),
        }
    }

    fn options(&self) -> Options {
        let time_limit = self.time_limit.unwrap_or(Options::default().time_limit);
        Options { window: self.window, time_limit }
    }

    /// A line, unless the answers are printed in its place. What there is to read is known of named paths only.
    fn line(&self, context: &Context) -> Line {
        if std::io::stdout().is_terminal() {
            return Line::hidden(Unit::Files);
        }
        let line = Line::new(context, Unit::Files, "");
        if self.files_from.is_none() && self.paths.iter().all(|path| path.as_os_str() != "-") {
            // Without a digest only parts of files are read.
            let expected = if self.hash.is_some() { Expected::Both } else { Expected::Files };
            line.expect_below(self.paths.clone(), expected);
        }
        line
    }

    fn threads(&self) -> usize {
        self.threads.map_or_else(|| std::thread::available_parallelism().map_or(1, NonZeroUsize::get), usize::from)
    }
}

/// A form that is not JSON, unless JSON was asked for.
fn only_without_json(form: Form, context: &Context) -> Result<Form, Failure> {
    if context.output.is_json() {
        return Err(Failure::usage("--json goes neither with --csv nor with --sf nor with another --format")
            .next("leave --json out, or say --format json"));
    }
    Ok(form)
}

impl From<IdentifyError> for Failure {
    fn from(error: IdentifyError) -> Self {
        Self::new(Exit::OutOfReach, error.to_string())
    }
}

fn tell(trouble: &Unidentified, context: &Context) {
    let (path, reason) = (trouble.path.to_string_lossy(), &trouble.reason);
    let (exit, next) = match trouble.kind {
        UnidentifiedKind::Skipped | UnidentifiedKind::Incomplete if context.is_quiet => return,
        UnidentifiedKind::Skipped => {
            eprintln!("warning: {} is skipped: {}", printable(&path), printable(reason));
            return;
        }
        UnidentifiedKind::Incomplete => {
            eprintln!("warning: {}: {}", printable(&path), printable(reason));
            return;
        }
        UnidentifiedKind::Missing => (Exit::NotFound, "check the path"),
        UnidentifiedKind::Unreadable => {
            (Exit::OutOfReach, "check owner, permissions and disk, then run the command again with this path")
        }
    };
    Failure::new(exit, format!("could not identify {path}: {reason}")).next(next).tell(context.output.is_json());
}

/// What could not be read outweighs what is missing: there, looking again may help.
fn worse(exit: Exit, kind: UnidentifiedKind) -> Exit {
    match (exit, kind) {
        (_, UnidentifiedKind::Unreadable) => Exit::OutOfReach,
        (Exit::Done, UnidentifiedKind::Missing) => Exit::NotFound,
        _ => exit,
    }
}
