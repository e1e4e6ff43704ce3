//! `cargo xtask test`: every test there is, with its own set-up, and an honest account of what was not tested.

use std::io::{BufRead, BufReader};
use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context, Result, bail};

use crate::peers::Peers;
use crate::place;
use crate::services::{Services, Wish};
use crate::tally::Tally;

/// How many tests of a program run at once.
const THREADS: &str = "RUST_TEST_THREADS";

pub(crate) fn run(arguments: &[String]) -> Result<ExitCode> {
    let (switches, cargo_arguments): (Vec<&String>, Vec<&String>) =
        arguments.iter().partition(|argument| ["--peers", "--no-peers"].contains(&argument.as_str()));
    let peers = match switches.as_slice() {
        [] if place::is_ci() => Peers::installed()?,
        [] => Peers::installed_if_wanted()?,
        [only] if *only == "--peers" => Peers::installed()?,
        [only] if *only == "--no-peers" => Peers::default(),
        _ => bail!("test takes one of --peers and --no-peers"),
    };
    let wish = match switches.as_slice() {
        [only] if *only == "--no-peers" => Wish::None,
        // Where the peers are installed, tests need the other programs too.
        _ if peers.are_complete() => Wish::Installed,
        _ => Wish::Found,
    };
    let services = Services::start(wish)?;

    let mut tally = Tally::default();
    let mut faults = Vec::new();
    let mut everything = place::cargo();
    everything.args(["test", "--no-fail-fast"]);
    if cargo_arguments.is_empty() {
        // With the fail points, at which the crash tests kill the program. Nothing fails at them unless told to.
        everything.args(["--workspace", "--features", "strongroom/failpoints"]);
    } else {
        everything.args(&cargo_arguments);
    }
    services.tell(&mut everything);
    observe(everything, &peers, &mut tally, &mut faults)?;
    drop(services);
    if cargo_arguments.is_empty() {
        observe(model(), &peers, &mut tally, &mut faults)?;
    }
    Ok(account(&mut tally, &faults))
}

/// The tests of the model, which is a workspace of its own.
fn model() -> Command {
    let mut model = place::cargo();
    model.args(["test", "--no-fail-fast", "--manifest-path", "crates/model/Cargo.toml", "--target-dir"]);
    model.arg(place::target().join("model"));
    model
}

/// Runs one `cargo test`, shows its output as it comes and tallies it.
fn observe(mut command: Command, peers: &Peers, tally: &mut Tally, faults: &mut Vec<String>) -> Result<()> {
    command.args(["--", "--show-output"]).stdout(Stdio::piped());
    if std::env::var_os(THREADS).is_none() {
        // Much of what tests do waits for a disk: three at once for two processors.
        let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        command.env(THREADS, (processors + processors.div_ceil(2)).to_string());
    }
    peers.tell(&mut command);
    let failed_before = tally.failed;
    let mut child = command.spawn().with_context(|| format!("cannot run {command:?}"))?;
    let output = child.stdout.take().context("the output of cargo test is not a pipe")?;
    for line in BufReader::new(output).split(b'\n') {
        let line = line.context("cannot read the output of cargo test")?;
        let line = String::from_utf8_lossy(&line);
        if tally.take(&line) {
            println!("{line}");
        }
    }
    let status = child.wait().context("cannot wait for cargo test")?;
    if !status.success() && tally.failed == failed_before {
        faults.push(format!(
            "{command:?} ended with {status} and no failed test: it did not build, or a test program died"
        ));
    }
    Ok(())
}

/// Prints what failed once more, what was skipped and why, and the closing line.
fn account(tally: &mut Tally, faults: &[String]) -> ExitCode {
    println!();
    for line in &tally.failures {
        println!("failed: {line}");
    }
    for name in &tally.ignored {
        println!("ignored: {name}");
    }
    for (what, times) in &tally.skipped {
        println!("skipped: {what}{}", if *times > 1 { format!(" ({times} times)") } else { String::new() });
    }
    for fault in faults {
        println!("fault: {fault}");
        tally.failed += 1;
    }
    let is_refused = place::is_ci() && tally.skips() > 0;
    if is_refused {
        println!("in CI nothing may be skipped");
    }
    println!("{}", tally.line());
    if tally.failed > 0 || is_refused { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
