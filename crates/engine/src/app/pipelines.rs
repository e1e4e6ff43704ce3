//! Pipelines: agents in an order, which one command runs.

use strongroom_registry::pipelines::{self, NewRun, Pipeline, is_name};
use strongroom_registry::{InstitutionId, PipelineId, RegistryError, Scope, Transaction, tenants};

use super::activities::{topics, view_of};
use super::authorization::{PIPELINES_LIST, PIPELINES_REMOVE, PIPELINES_RUN, PIPELINES_SET, PIPELINES_SHOW};
use super::deposits::only_institution;
use super::views::{PipelineProblemView, PipelineRunView, PipelineView, SetPipelineView};
use super::{Authorized, OpContext, Page, find_institution};
use crate::EngineError;
use crate::journal::Target;
use crate::pipelines::{LONGEST_FILE, PlannedFor, plan, read, written};

/// Pipelines on a page: each comes with its last run.
const PAGE: usize = 20;
/// Bytes of a file that are read: one more than it may have.
pub const READ: u64 = LONGEST_FILE as u64 + 1;

/// A pipeline that is asked for.
#[derive(Debug, Clone, Default)]
pub struct Which {
    /// Its name.
    pub name: String,
    /// The domain name of its institution; the only one that has a pipeline of this name where it is not given.
    pub institution: Option<String>,
}

/// Sets the steps of a pipeline, which is made where there is none of its name, from a file. Runs that there are keep their steps. Where
/// anything is wrong with the file, or a step cannot run, nothing is changed, and the answer has all that is wrong.
///
/// # Errors
/// The name is none; no institution is named, and there are several.
pub fn set(context: &OpContext, which: &Which, file: &[u8]) -> Result<SetPipelineView, EngineError> {
    let authorized = context.authorize(&PIPELINES_SET)?;
    let name = which.name.clone();
    if !is_name(&name) {
        return Err(EngineError::Usage(format!("{name:?} cannot name a pipeline"))
            .next("give up to 100 letters, digits, dots, - and _, of which the first is a letter or a digit"));
    }
    let institution = which.institution.clone().map_or_else(|| only_institution(context), Ok)?;
    let institution = authorized.read(|tx| find_institution(tx, authorized.scope(), &institution))?.id;
    let (steps, mut problems) = read(file);
    let of = PlannedFor { scope: authorized.scope(), institution };
    let planned = match plan(authorized.home(), &steps, of)? {
        Ok(planned) if problems.is_empty() => planned,
        outcome => {
            problems.extend(outcome.err().unwrap_or_default());
            problems.sort_by_key(|problem| problem.line);
            return Ok(SetPipelineView { pipeline: name, set: None, problems });
        }
    };
    let (actor, kept) = (authorized.actor().clone(), name.clone());
    let id = authorized.write(move |tx| {
        let id = pipelines::set(tx, Some(institution), &kept, &planned.steps, &actor)?;
        Ok((target(&kept, Some(institution)), id))
    })?;
    let set = authorized.read(|tx| {
        let found = pipelines::get(tx, id)?;
        found.map(|found| view(tx, found)).transpose()
    })?;
    Ok(SetPipelineView { pipeline: name, set, problems })
}

/// Pipelines with their last runs, in the order in which they were made, behind `after`.
pub fn list(
    context: &OpContext,
    institution: Option<&str>,
    after: Option<PipelineId>,
) -> Result<Page<PipelineView, PipelineId>, EngineError> {
    let authorized = context.authorize(&PIPELINES_LIST)?;
    let scope = authorized.scope_of(institution)?;
    Ok(authorized.read(|tx| {
        let found = pipelines::list(tx, scope, after, PAGE)?;
        let next = found.last().map(|last| last.id);
        let items = found.into_iter().map(|pipeline| view(tx, pipeline)).collect::<Result<Vec<_>, _>>()?;
        Ok(Page { items, next })
    })?)
}

/// A pipeline with its steps and its last run.
pub fn show(context: &OpContext, which: &Which) -> Result<PipelineView, EngineError> {
    let authorized = context.authorize(&PIPELINES_SHOW)?;
    let found = find(&authorized, which)?;
    Ok(authorized.read(|tx| view(tx, found.clone()))?)
}

/// Runs a pipeline: makes an activity for each step, which workers carry out. With `only_changed`, the first step takes only what has
/// changed since the last run of this pipeline whose first step ended well.
///
/// # Errors
/// There is no such pipeline, a step cannot run any more, its source does not tell what has changed, or the pipeline is being set at the
/// same time.
pub fn run(context: &OpContext, which: &Which, only_changed: bool) -> Result<PipelineRunView, EngineError> {
    let authorized = context.authorize(&PIPELINES_RUN)?;
    let pipeline = find(&authorized, which)?;
    let Some(institution) = pipeline.institution else {
        return Err(EngineError::Usage("the pipeline belongs to no institution".to_owned()));
    };
    let of = PlannedFor { scope: authorized.scope(), institution };
    let planned = plan(authorized.home(), &written(&pipeline.steps), of)?
        .map_err(|problems| cannot_run(&pipeline.name, &problems))?;
    if only_changed && planned.watermark.is_none() {
        let text = "the source of the first step does not tell what has changed".to_owned();
        return Err(EngineError::Usage(text).next("leave --only-changed out"));
    }
    let new = NewRun {
        actor: authorized.actor().clone(),
        options: planned.steps.into_iter().map(|step| step.options).collect(),
        watermark: planned.watermark,
        only_changed,
    };
    let (name, id) = (pipeline.name.clone(), pipeline.id);
    let made = authorized.write_and_wake(move |tx| {
        let (run, _) = pipelines::run(tx, &pipeline, &new)?;
        let about = target(&format!("{} run {run}", pipeline.name), pipeline.institution);
        Ok((about, (run, topics())))
    });
    let run = made.map_err(|error| match error {
        error @ RegistryError::State { .. } => EngineError::from(error)
            .next(format!("\"strongroom pipeline show {name}\" shows what it is now; run it again where it is right")),
        error => error.into(),
    })?;
    Ok(authorized.read(|tx| run_view(tx, (id, &name), Some(institution), run))?)
}

/// Removes a pipeline: it cannot be run any more. Its runs go on, and say which pipeline they are of.
pub fn remove(context: &OpContext, which: &Which) -> Result<PipelineView, EngineError> {
    let authorized = context.authorize(&PIPELINES_REMOVE)?;
    let found = find(&authorized, which)?;
    let (id, name, institution) = (found.id, found.name.clone(), found.institution);
    authorized.write(move |tx| {
        pipelines::remove(tx, id)?;
        Ok((target(&name, institution), ()))
    })?;
    Ok(authorized.read(|tx| view(tx, found.clone()))?)
}

fn target(name: &str, institution: Option<InstitutionId>) -> Target {
    let about = format!("pipeline {name}");
    institution.map_or_else(|| Target::of_system(about.clone()), |institution| Target::of(institution, about.clone()))
}

fn find(authorized: &Authorized<'_>, which: &Which) -> Result<Pipeline, EngineError> {
    let scope = authorized.scope_of(which.institution.as_deref())?;
    authorized.read(|tx| pipelines::find(tx, scope, &which.name)).map_err(|error| match error {
        error @ RegistryError::Ambiguous { .. } => {
            EngineError::from(error).next("name the institution with --institution")
        }
        error => error.into(),
    })
}

/// Why a pipeline that was set cannot be run now.
fn cannot_run(name: &str, problems: &[PipelineProblemView]) -> EngineError {
    let told: Vec<String> = problems
        .iter()
        .map(|one| format!("{}: {}", one.step.as_deref().unwrap_or("the pipeline"), one.problem))
        .collect();
    let next = problems.first().map(|one| one.next.as_str()).unwrap_or_default();
    EngineError::Refused(format!("the pipeline {name} cannot run: {}", told.join("; "))).next(next)
}

fn institution_name(tx: &mut dyn Transaction, id: Option<InstitutionId>) -> Result<Option<String>, RegistryError> {
    let Some(id) = id else { return Ok(None) };
    Ok(tenants::institution_by_id(tx, Scope::System, id)?.map(|found| found.identifier))
}

fn view(tx: &mut dyn Transaction, pipeline: Pipeline) -> Result<PipelineView, RegistryError> {
    let institution = institution_name(tx, pipeline.institution)?;
    let last_run = match pipeline.runs {
        0 => None,
        run => Some(run_view(tx, (pipeline.id, &pipeline.name), pipeline.institution, run)?),
    };
    Ok(PipelineView::new(pipeline, institution, last_run))
}

fn run_view(
    tx: &mut dyn Transaction,
    (id, name): (PipelineId, &str),
    institution: Option<InstitutionId>,
    run: u64,
) -> Result<PipelineRunView, RegistryError> {
    let made = pipelines::of_run(tx, id, run)?;
    let activities = made.into_iter().map(|activity| view_of(tx, activity)).collect::<Result<Vec<_>, _>>()?;
    let institution = institution_name(tx, institution)?;
    Ok(PipelineRunView { pipeline: name.to_owned(), institution, run, activities })
}
