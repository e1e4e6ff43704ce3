//! `cargo xtask bench`: our time beside the bare work or a peer, taken in the same run, because ratios hold where
//! absolute times drift from machine to machine.

mod bags;
mod bare;
mod batch;
mod duplication;
mod home;
mod identify;
mod ingest;
mod records;
mod scale;
mod validate;

use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use nix::sys::resource::{UsageWho, getrusage};

pub(crate) use identify::Siegfried;

use crate::place;

/// The hidden command by which this program runs another one and reports what that needed.
pub(crate) const MEASURE: &str = "measure";

/// What a person asked for.
#[derive(Debug, Default)]
struct Options {
    /// Also the cases that take minutes and gigabytes.
    is_large: bool,
    /// A program to measure instead of the release build of this checkout.
    program: Option<PathBuf>,
    /// One part of the benchmark alone.
    part: Option<String>,
    /// A hundredth of the sizes, to see whether the benchmark works.
    is_small: bool,
}

pub(crate) fn run(arguments: &[String]) -> Result<ExitCode> {
    if cfg!(debug_assertions) {
        // The bare work, too, is measured with optimised code.
        let mut optimised = place::cargo();
        optimised.args(["run", "--quiet", "--release", "--package", "xtask", "--", "bench"]).args(arguments);
        place::succeed(&mut optimised)?;
        return Ok(ExitCode::SUCCESS);
    }
    let Some((what, rest)) = arguments.split_first() else {
        bail!("bench takes batch, duplication, identify, ingest, records, scale or validate")
    };
    let mut options = Options::default();
    let mut rest = rest.iter();
    while let Some(option) = rest.next() {
        match option.as_str() {
            "--large" => options.is_large = true,
            "--program" => options.program = Some(rest.next().context("--program takes a path")?.into()),
            "--part" => options.part = Some(rest.next().context("--part takes a name")?.clone()),
            "--small" => options.is_small = true,
            other => {
                bail!(
                    "bench takes --large, --program PATH, --part PART, and for batch, duplication and records --small, found {other:?}"
                )
            }
        }
    }
    match what.as_str() {
        "batch" => batch::run(&options),
        "duplication" => duplication::run(&options),
        "identify" => identify::run(&options),
        "ingest" => ingest::run(&options),
        "records" => records::run(&options),
        "scale" => scale::run(&options),
        "validate" => validate::run(&options),
        other => bail!("bench takes batch, duplication, identify, ingest, records, scale or validate, found {other:?}"),
    }?;
    Ok(ExitCode::SUCCESS)
}

/// What a finished program needed.
#[derive(Debug, Clone, Copy)]
struct Need {
    wall: Duration,
    /// Processor time of all its threads.
    cpu: Duration,
    /// The largest resident set of one process, in bytes.
    peak: u64,
}

/// Runs a program under a process of its own, whose only child it is, so that the kernel's account is of it alone.
fn measured(program: &Command) -> Result<Need> {
    let report = tempfile::NamedTempFile::new().context("cannot make a temporary file")?;
    let mut measure = Command::new(std::env::current_exe().context("where is this program?")?);
    measure.arg(MEASURE).arg(report.path()).arg(program.get_program()).args(program.get_args());
    measure.envs(program.get_envs().filter_map(|(name, value)| Some((name, value?))));
    measure.stdin(Stdio::null()).stdout(Stdio::null());
    place::succeed(&mut measure)?;
    let text = std::fs::read_to_string(report.path()).context("cannot read the report")?;
    let numbers: Vec<u64> = text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    let [wall, cpu, peak] = numbers[..] else { bail!("the report reads {text:?}") };
    Ok(Need { wall: Duration::from_micros(wall), cpu: Duration::from_micros(cpu), peak })
}

/// The other side of [`measured`]: the report's path, the program, its arguments.
pub(crate) fn measure_child(arguments: &[String]) -> Result<ExitCode> {
    let [report, program, rest @ ..] = arguments else { bail!("measure takes REPORT PROGRAM ARGUMENTS") };
    let begin = Instant::now();
    let status = Command::new(program).args(rest).status().with_context(|| format!("cannot run {program}"))?;
    let wall = begin.elapsed();
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).context("cannot ask for the resources used")?;
    let microseconds = |time: nix::sys::time::TimeVal| time.tv_sec() * 1_000_000 + time.tv_usec();
    let cpu = microseconds(usage.user_time()) + microseconds(usage.system_time());
    // Linux counts the resident set in KiB.
    std::fs::write(report, format!("{} {cpu} {}", wall.as_micros(), usage.max_rss() * 1024))
        .with_context(|| format!("cannot write {report}"))?;
    Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// A folder for one benchmark below the target folder, on the same disk as any checkout; removed when dropped.
fn scratch() -> Result<tempfile::TempDir> {
    let folder = place::target().join("bench");
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    tempfile::tempdir_in(&folder).with_context(|| format!("cannot make a folder in {}", folder.display()))
}

/// The program to measure: the one asked for, or the release build.
fn strongroom(options: &Options) -> Result<PathBuf> {
    if let Some(program) = &options.program {
        return std::path::absolute(program).with_context(|| format!("cannot find {}", program.display()));
    }
    place::succeed(place::cargo().args(["build", "--release", "--package", "strongroom"]))?;
    Ok(place::target().join("release/strongroom"))
}

fn seconds(time: Duration) -> String {
    format!("{:.2}", time.as_secs_f64())
}

fn ratio(ours: Duration, theirs: Duration) -> String {
    format!("{:.2}", ours.as_secs_f64() / theirs.as_secs_f64())
}

fn mebibytes(bytes: u64) -> String {
    format!("{:.0}", bytes as f64 / 1_048_576.0)
}
