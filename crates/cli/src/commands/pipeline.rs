//! `pipeline`: agents in an order, which one command runs.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use serde::Serialize;
use strongroom_engine::app::pipelines::{self, Which as Wanted};
use strongroom_engine::app::views::{PipelineRunView, PipelineView, SetPipelineView};
use strongroom_engine::app::{self, OpContext};

use super::activity_wait::{Told, Waiting, work_on};
use crate::context::Context;
use crate::failure::{Exit, Failure, Outcome};
use crate::output::{ListOptions, printable};

/// Stands for standard input.
const STANDARD_INPUT: &str = "-";

/// Run agents one behind the other, by one command
#[derive(Debug, Subcommand)]
pub(crate) enum Pipeline {
    /// Set the steps of a pipeline, which is made where there is none of this name; exit 1 and every problem where one cannot run
    #[command(
        after_help = "The file is TOML. Each step begins with [[steps]] and has a name, an agent and options, which are \
                            those of \"activity run --option\"."
    )]
    Set {
        #[command(flatten)]
        which: Which,
        /// The file that has the steps; - for standard input
        #[arg(value_name = "FILE|-")]
        file: PathBuf,
    },
    /// List pipelines
    List {
        /// Only those of this institution
        #[arg(long, value_name = "DOMAIN")]
        institution: Option<String>,
        #[command(flatten)]
        options: ListOptions,
    },
    /// Show a pipeline with its steps and its last run
    Show(Which),
    /// Run a pipeline: make an activity for each step, which workers carry out
    Run {
        #[command(flatten)]
        which: Which,
        /// Take only what has changed since the last run of this pipeline whose first step ended well
        #[arg(long)]
        only_changed: bool,
        #[command(flatten)]
        waiting: Waiting,
    },
    /// Remove a pipeline: it cannot be run any more; its runs go on
    Remove(Which),
}

/// Names a pipeline.
#[derive(Debug, Args)]
pub(crate) struct Which {
    /// Its name
    #[arg(value_name = "NAME")]
    pipeline: String,
    /// The institution it belongs to; the only one where it is not given
    #[arg(long, value_name = "DOMAIN")]
    institution: Option<String>,
}

impl From<Which> for Wanted {
    fn from(which: Which) -> Self {
        Self { name: which.pipeline, institution: which.institution }
    }
}

pub(crate) fn run(command: Pipeline, context: &Context) -> Outcome {
    let call = context.call()?;
    match command {
        Pipeline::Set { which, file } => {
            let told = file.display().to_string();
            return tell_set(&pipelines::set(&call, &which.into(), &bytes_of(&file)?)?, &told, context);
        }
        Pipeline::List { institution, options } => list(&call, institution.as_deref(), options, context)?,
        Pipeline::Show(which) => show(&pipelines::show(&call, &which.into())?, context)?,
        Pipeline::Run { which, only_changed, waiting } => {
            let made = pipelines::run(&call, &which.into(), only_changed)?;
            if waiting.wait {
                return wait_for(&call, made, waiting, context);
            }
            tell_run(&made, context)?;
        }
        Pipeline::Remove(which) => {
            let removed = pipelines::remove(&call, &which.into())?;
            if context.output.is_json() {
                context.output.json(&removed)?;
            }
            context.output.say(format!("removed pipeline {}", removed.pipeline))?;
        }
    }
    Ok(Exit::Done)
}

/// Reads a file, and no more of it than a pipeline can have.
fn bytes_of(path: &Path) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    let unreadable = |error: io::Error| Failure::io("read the pipeline", path, &error);
    if path == Path::new(STANDARD_INPUT) {
        io::stdin().lock().take(pipelines::READ).read_to_end(&mut bytes).map_err(unreadable)?;
    } else {
        let file = File::open(path).map_err(unreadable)?;
        file.take(pipelines::READ).read_to_end(&mut bytes).map_err(unreadable)?;
    }
    Ok(bytes)
}

fn tell_set(set: &SetPipelineView, file: &str, context: &Context) -> Outcome {
    let exit = if set.set.is_some() { Exit::Done } else { Exit::No };
    if context.output.is_json() {
        context.output.json(set)?;
        return Ok(exit);
    }
    for problem in &set.problems {
        let line = problem.line.map(|line| format!(" line {line}")).unwrap_or_default();
        let step = problem.step.as_ref().map(|step| format!(", {step}")).unwrap_or_default();
        context.output.say(printable(&format!("{file}{line}{step}: {}", problem.problem)))?;
        context.output.say(printable(&format!("  next: {}", problem.next)))?;
    }
    match &set.set {
        Some(pipeline) => show(pipeline, context)?,
        None => context.output.say(printable(&format!("refused: pipeline {} was not set", set.pipeline)))?,
    }
    Ok(exit)
}

fn list(call: &OpContext, institution: Option<&str>, options: ListOptions, context: &Context) -> Result<(), Failure> {
    let columns = ["pipeline", "institution", "steps", "runs", "last_run", "changed_at"];
    let mut table = context.output.table(&columns).with::<PipelineView>(options.table);
    app::arranged(
        options.oldest_first(),
        |after| pipelines::list(call, institution, after),
        |pipeline| {
            let steps: Vec<&str> = pipeline.steps.iter().map(|step| step.name.as_str()).collect();
            let states = pipeline.last_run.as_ref().map(|run| {
                let states: Vec<&str> = run.activities.iter().map(|one| one.state.as_str()).collect();
                states.join(", ")
            });
            table.row_with(&pipeline, &[("steps", steps.join(", ")), ("last_run", states.unwrap_or_default())])
        },
    )?;
    table.end(if institution.is_some() { "no pipelines match" } else { "there are no pipelines" })
}

/// A pipeline without what has rows of its own.
#[derive(Serialize)]
struct Summary<'p> {
    pipeline: &'p str,
    institution: Option<&'p str>,
    runs: u64,
    made_at: &'p str,
    changed_at: &'p str,
}

fn show(pipeline: &PipelineView, context: &Context) -> Result<(), Failure> {
    let output = &context.output;
    if output.is_json() {
        return output.json(pipeline);
    }
    output.show(&Summary {
        pipeline: &pipeline.pipeline,
        institution: pipeline.institution.as_deref(),
        runs: pipeline.runs,
        made_at: &pipeline.made_at,
        changed_at: &pipeline.changed_at,
    })?;
    output.say("")?;
    let mut table = output.table(&["step", "name", "agent", "options"]).wrapping();
    for step in &pipeline.steps {
        table.row(step)?;
    }
    table.end("it has no steps")?;
    match &pipeline.last_run {
        None => output.say("\nit has not been run"),
        Some(run) => {
            output.say(format!("\nrun {}:", run.run))?;
            activities(run, context)
        }
    }
}

fn tell_run(run: &PipelineRunView, context: &Context) -> Result<(), Failure> {
    if context.output.is_json() {
        return context.output.json(run);
    }
    context.output.say(format!("run {} of pipeline {}:", run.run, run.pipeline))?;
    activities(run, context)
}

fn activities(run: &PipelineRunView, context: &Context) -> Result<(), Failure> {
    let columns = ["step", "agent", "activity", "state", "populated", "processed", "failed", "error"];
    let mut table = context.output.table(&columns).wrapping();
    for activity in &run.activities {
        table.row(activity)?;
    }
    table.end("its activities are not there any more")
}

fn wait_for(call: &OpContext, made: PipelineRunView, waiting: Waiting, context: &Context) -> Outcome {
    let ids: Vec<_> = made.activities.iter().map(|one| one.activity).collect();
    let follow = match &made.institution {
        Some(institution) => format!("pipeline show {} --institution {institution}", made.pipeline),
        None => format!("pipeline show {}", made.pipeline),
    };
    let waited = work_on(call, &ids, &Told { name: &made.pipeline, follow: &follow }, waiting, context)?;
    tell_run(&PipelineRunView { activities: waited.views, ..made }, context)?;
    waited.outcome
}
