//! `demo`: the whole job on sample deposits, in a folder of its own: deposited, checked, damaged, repaired, and restored.

mod compare;
mod samples;
mod steps;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::Args;
use strongroom_engine::app::installation;
use strongroom_engine::app::installation::NewInstallation;

use crate::context::Context;
use crate::failure::{Exit, Failure, Outcome};
use crate::output::report;
use crate::signals;
use steps::Demo;

/// Says that a folder was made by the demonstration and may be made anew by it.
const MARKER: &str = ".strongroom-demo";

/// Show the whole job on sample deposits
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The folder to work in; one of an earlier demonstration is made anew
    #[arg(default_value = "strongroom-demo")]
    dir: PathBuf,
}

report! {
    /// What a step came to.
    StepReport { step: String, ok: bool, result: String, seconds: f64 }
}

pub(crate) fn run(arguments: &Arguments, context: &Context) -> Outcome {
    let dir = &arguments.dir;
    prepare(dir)?;
    let shutdown = signals::watch()?;
    let mut done: Vec<StepReport> = Vec::new();
    let home = dir.join("home");
    context.output.say(format!("making a data directory in {}", home.display()))?;
    installation::init(&steps::caller().into(), &home, &NewInstallation::default())?;
    let demo = Demo::open(dir, home, context, shutdown)?;
    for (name, step) in Demo::steps() {
        context.output.say(format!("\n{name}"))?;
        context.output.flush()?;
        let begin = Instant::now();
        let outcome = step(&demo).map_err(|failure| failure.while_trying(format!("{name} (demonstration)")))?;
        let seconds = (begin.elapsed().as_secs_f64() * 100.0).round() / 100.0;
        let line = StepReport { step: name.to_owned(), ok: outcome.ok, result: outcome.result, seconds };
        if context.output.is_json() {
            context.output.json(&line)?;
        }
        done.push(line);
    }
    let all_well = done.iter().all(|step| step.ok);
    if !context.output.is_json() {
        context.output.say("")?;
        let mut table = context.output.table(&["step", "ok", "seconds", "result"]).wrapping();
        for step in &done {
            table.row(step)?;
        }
        table.end("")?;
        context.output.say(format!(
            "\nnext, try these commands:\n  strongroom --home {} objects list",
            dir.join("home").display()
        ))?;
    }
    Ok(if all_well { Exit::Done } else { Exit::No })
}

/// Makes the folder empty: a new one, or one of an earlier demonstration.
fn prepare(dir: &Path) -> Result<(), Failure> {
    let failed = |error: std::io::Error| Failure::io("make the folder", dir, &error);
    let is_empty = match fs::read_dir(dir) {
        Ok(mut entries) => entries.next().is_none(),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => true,
        Err(error) => return Err(failed(error)),
    };
    if !is_empty {
        if !dir.join(MARKER).is_file() {
            return Err(Failure::usage(format!("{} is not empty and was not made by a demonstration", dir.display()))
                .next("name a folder that is absent or empty"));
        }
        fs::remove_dir_all(dir).map_err(failed)?;
    }
    fs::create_dir_all(dir.join("deposits")).map_err(failed)?;
    fs::write(dir.join(MARKER), "made by strongroom demo, which may make this folder anew\n").map_err(failed)
}
