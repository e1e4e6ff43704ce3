//! `cargo xtask fuzz`: the fuzz targets below `crates/*/fuzz`, run with cargo-fuzz where that is installed.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};

use crate::place;

pub(crate) fn run(arguments: &[String]) -> Result<ExitCode> {
    let targets = targets()?;
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (name, seconds) = match arguments.as_slice() {
        [] => {
            for (name, folder) in targets {
                println!("{name:30} {}", folder.display());
            }
            return Ok(ExitCode::SUCCESS);
        }
        [name] => (*name, 60),
        [name, "--seconds", seconds] | ["--seconds", seconds, name] => {
            (*name, seconds.parse::<u32>().with_context(|| format!("not a number of seconds: {seconds}"))?)
        }
        _ => bail!("fuzz takes TARGET and --seconds N"),
    };
    let Some((_, folder)) = targets.iter().find(|(target, _)| target == name) else {
        let known: Vec<&str> = targets.iter().map(|(target, _)| target.as_str()).collect();
        bail!("no fuzz target {name:?}; there are: {}", known.join(", "));
    };
    if place::output_of(place::cargo().args(["fuzz", "--version"])).is_none() {
        bail!("cargo-fuzz is not installed; install it with `cargo install cargo-fuzz` (it wants a nightly toolchain)");
    }
    let mut fuzz = place::cargo();
    fuzz.args(["fuzz", "run", "--fuzz-dir"]).arg(folder).arg(name).arg("--").arg(format!("-max_total_time={seconds}"));
    place::succeed(&mut fuzz)?;
    Ok(ExitCode::SUCCESS)
}

/// Name and fuzz folder of every target.
fn targets() -> Result<Vec<(String, PathBuf)>> {
    let mut targets = Vec::new();
    for folder in place::crates()?.into_iter().map(|folder| folder.join("fuzz")) {
        let Ok(entries) = std::fs::read_dir(folder.join("fuzz_targets")) else { continue };
        for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
            if path.extension().is_some_and(|extension| extension == "rs")
                && let Some(name) = path.file_stem().and_then(|stem| stem.to_str())
            {
                targets.push((name.to_owned(), folder.clone()));
            }
        }
    }
    targets.sort();
    Ok(targets)
}
