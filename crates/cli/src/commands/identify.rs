//! `identify`: which formats files have, by PRONOM. Here are its arguments and what it prints.

use std::io::IsTerminal as _;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use indicatif::ProgressBar;
use strongroom_engine::signatures;
use strongroom_identify::{
    ARCHIVE_BYTES, Archives, DEPTH, Examined, Examiner, Form, IdentifyError, MEMBER_BYTES, Reporter, Siegfried, Target,
    Unidentified, UnidentifiedKind,
};
use strongroom_pronom::{Identifier, Options, SignatureSet};

use crate::context::Context;
use crate::failure::{Exit, Failure, Outcome};
use crate::output::printable;
use crate::progress::{self, per_second};

/// Say which formats files have, by PRONOM; needs no home
#[derive(Debug, Args)]
#[command(
    after_help = "A file without a match is no failure: the exit code is 0. A path that does not exist: 3. A file \
                        that could not be read: 5, after the rest was done."
)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag that may be given")]
pub(crate) struct Identify {
    /// Files, folders with all that is below them, or - for standard input
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// The name of what comes from standard input; its extension counts
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// A DROID signature file, or a compiled one [default: those of the home, else the built-in ones]
    #[arg(long, value_name = "FILE")]
    signatures: Option<PathBuf>,
    /// The DROID container signature file that goes with it
    #[arg(long, value_name = "FILE", requires = "signatures")]
    containers: Option<PathBuf>,
    /// One match at most for each file
    #[arg(long)]
    conclusive: bool,
    /// Answer as a spreadsheet: a line for each match
    #[arg(long)]
    csv: bool,
    /// Answer in the columns of siegfried's CSV
    #[arg(long, conflicts_with = "csv")]
    sf: bool,
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
    /// How many files are looked at at once [default: as many as there are processors]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    threads: Option<u16>,
    /// Look at so many bytes from each end only [default: the whole file]
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u64).range(1..))]
    window: Option<u64>,
    /// Longest time for one file; then the answer is what is known by then, with a warning
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    time_limit: Option<u64>,
}

pub(crate) fn run(command: &Identify, context: &Context) -> Outcome {
    let targets = command.targets()?;
    let form = command.form(context)?;
    let set = command.load(context)?;
    let siegfried = if form == Form::Siegfried { Siegfried::new(&set) } else { Siegfried::default() };
    let identifier = Identifier::new(set);
    let reporter = Reporter::new(form, identifier.signatures(), siegfried, printable);
    reporter.header().map_or(Ok(()), |line| context.output.line(&line))?;
    let examiner = Arc::new(Examiner {
        identifier,
        options: command.options(),
        archives: command.archives.then_some(Archives {
            depth: command.depth,
            member_bytes: command.member_bytes,
            archive_bytes: command.archive_bytes,
        }),
    });
    let bar = progress_bar(context);
    let mut worst = Exit::Done;
    let mut count = 0_u64;
    let outcome = strongroom_identify::run(targets, &examiner, command.threads(), &mut |found| match found {
        Examined::IdentifiedFile(mut entry) => {
            count += 1;
            if count.is_multiple_of(100) {
                bar.set_message(format!("{count} files identified, {}/s", per_second(count, bar.elapsed())));
            }
            if command.conclusive {
                entry.conclude();
            }
            reporter.entry(&entry)?.iter().try_for_each(|line| context.output.line(line))
        }
        Examined::Unidentified(trouble) => {
            bar.suspend(|| tell(&trouble, context));
            worst = worse(worst, trouble.kind);
            reporter.trouble(&trouble).map_or(Ok(()), |line| context.output.line(&line))
        }
    });
    bar.finish_and_clear();
    outcome?;
    Ok(worst)
}

impl Identify {
    fn targets(&self) -> Result<Vec<Target>, Failure> {
        let mut takes_input = false;
        let mut targets = Vec::with_capacity(self.paths.len());
        for path in &self.paths {
            if path.as_os_str() != "-" {
                targets.push(Target::File(path.clone()));
                continue;
            }
            if takes_input {
                return Err(Failure::usage("standard input (-) can be read once only"));
            }
            takes_input = true;
            targets.push(Target::StandardInput { name: self.name.clone().unwrap_or_default() });
        }
        if self.name.is_some() && !takes_input {
            return Err(Failure::usage("--name is for standard input").next("name - among the paths, or leave it out"));
        }
        Ok(targets)
    }

    fn form(&self, context: &Context) -> Result<Form, Failure> {
        let is_json = context.output.is_json();
        match (self.csv, self.sf) {
            (true, _) | (_, true) if is_json => Err(Failure::usage("--json goes neither with --csv nor with --sf")),
            (true, _) => Ok(Form::Csv),
            (_, true) => Ok(Form::Siegfried),
            _ if is_json => Ok(Form::Json),
            _ => Ok(Form::Text),
        }
    }

    fn load(&self, context: &Context) -> Result<SignatureSet, Failure> {
        match &self.signatures {
            Some(binary) => Ok(signatures::read_files(binary, self.containers.as_deref())?),
            None => Ok(signatures::load(&context.home)?.set),
        }
    }

    fn options(&self) -> Options {
        let mut options = Options { window: self.window, ..Options::default() };
        if let Some(seconds) = self.time_limit {
            options.time_limit = Duration::from_secs(seconds);
        }
        options
    }

    fn threads(&self) -> usize {
        self.threads.map_or_else(|| std::thread::available_parallelism().map_or(1, NonZeroUsize::get), usize::from)
    }
}

impl From<IdentifyError> for Failure {
    fn from(error: IdentifyError) -> Self {
        Self::new(Exit::OutOfReach, error.to_string())
    }
}

/// A sign of life, unless the answers are one.
fn progress_bar(context: &Context) -> ProgressBar {
    if std::io::stdout().is_terminal() { ProgressBar::hidden() } else { progress::spinner(context, "identifying") }
}

fn tell(trouble: &Unidentified, context: &Context) {
    let path = printable(&trouble.path.to_string_lossy());
    let reason = printable(&trouble.reason);
    match trouble.kind {
        UnidentifiedKind::Skipped | UnidentifiedKind::Incomplete if context.is_quiet => {}
        UnidentifiedKind::Skipped => eprintln!("warning: {path} is skipped: {reason}"),
        UnidentifiedKind::Incomplete => eprintln!("warning: {path}: {reason}"),
        UnidentifiedKind::Missing | UnidentifiedKind::Unreadable => {
            eprintln!("error: could not identify {path}: {reason}");
        }
    }
}

/// What could not be read outweighs what is missing: there, looking again may help.
fn worse(exit: Exit, kind: UnidentifiedKind) -> Exit {
    match (exit, kind) {
        (_, UnidentifiedKind::Unreadable) => Exit::OutOfReach,
        (Exit::Done, UnidentifiedKind::Missing) => Exit::NotFound,
        _ => exit,
    }
}
