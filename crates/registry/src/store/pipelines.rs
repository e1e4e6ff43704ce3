//! Pipelines: agents in an order, as a record. A run of one makes an activity for each step at once; each follows the one before, and begins
//! when that has records. A pipeline that was removed has no steps; its row stays, for the activities that were steps of it.

use serde_json::Value;
use strongroom_database::{Row, Statement, Time, Transaction};
use uuid::Uuid;

use super::{activities, journal, named, tenants};
pub use crate::model::activity::Step;
use crate::model::activity::{Activity, Input, NewActivity, StepOf};
use crate::model::actor::Actor;
use crate::{ActivityId, InstitutionId, PipelineId, RegistryError, Scope};

/// The most steps of a pipeline.
pub const MOST_STEPS: usize = 50;
/// The most characters of the name of a pipeline or step.
pub const LONGEST_NAME: usize = 100;

/// A pipeline as it stands.
#[derive(Debug, Clone, PartialEq)]
pub struct Pipeline {
    /// Its identifier.
    pub id: PipelineId,
    /// Whose it is; none for one of the installation.
    pub institution: Option<InstitutionId>,
    /// Its name, one for each institution.
    pub name: String,
    /// Its steps, in their order; none where it was removed.
    pub steps: Vec<Step>,
    /// How often it was run.
    pub runs: u64,
    /// When it was made.
    pub made_at: Time,
    /// When its steps last changed.
    pub changed_at: Time,
}

/// A run of a pipeline that is asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct NewRun {
    /// On whose behalf.
    pub actor: Actor,
    /// The options of each step, as its activity keeps them.
    pub options: Vec<Value>,
    /// What the first step names its watermark; none where its source does not tell what has changed.
    pub watermark: Option<String>,
    /// Whether the first step begins behind its watermark.
    pub only_changed: bool,
}

/// Whether a text can be the name of a pipeline or a step: up to [`LONGEST_NAME`] letters, digits, dots, `-` and `_`, of which the first
/// is a letter or a digit.
pub fn is_name(text: &str) -> bool {
    text.len() <= LONGEST_NAME
        && text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text.bytes().all(|c| c.is_ascii_alphanumeric() || matches!(c, b'-' | b'_' | b'.'))
}

/// Sets the steps of the pipeline of this name, which is made where there is none. Runs that there are keep their steps. One that was
/// removed is there again.
///
/// # Errors
/// [`RegistryError::State`] where it has no steps, or too many.
pub fn set(
    tx: &mut dyn Transaction,
    institution: Option<InstitutionId>,
    name: &str,
    steps: &[Step],
    actor: &Actor,
) -> Result<PipelineId, RegistryError> {
    if steps.is_empty() || steps.len() > MOST_STEPS {
        return Err(RegistryError::State {
            what: "pipeline",
            id: name.to_owned(),
            state: format!("given {} steps", steps.len()),
            act: format!("keep another number than 1 to {MOST_STEPS}"),
        });
    }
    if let Some(pipeline) = by_name(tx, institution, name)? {
        set_steps(tx, pipeline.id, steps)?;
        return Ok(pipeline.id);
    }
    journal::know(tx, actor)?;
    let (id, now) = (PipelineId::new(), tx.now()?);
    let values = [id.into(), institution.into(), name.into(), text_of(steps).into(), actor.id.into(), now.into()];
    tx.execute(Statement("pipelines.insert"), &values)?;
    Ok(id)
}

fn set_steps(tx: &mut dyn Transaction, id: PipelineId, steps: &[Step]) -> Result<(), RegistryError> {
    let now = tx.now()?;
    tx.execute(Statement("pipelines.set_steps"), &[id.into(), text_of(steps).into(), now.into()])?;
    Ok(())
}

/// Removes a pipeline: it cannot be run any more. Runs that there are go on, and say which pipeline they are of.
pub fn remove(tx: &mut dyn Transaction, id: PipelineId) -> Result<(), RegistryError> {
    set_steps(tx, id, &[])
}

/// The pipeline of this name, also where it was removed.
pub fn by_name(
    tx: &mut dyn Transaction,
    institution: Option<InstitutionId>,
    name: &str,
) -> Result<Option<Pipeline>, RegistryError> {
    let row = tx.query_one(Statement("pipelines.by_name"), &[institution.into(), name.into()])?;
    row.as_ref().map(pipeline_row).transpose()
}

/// The pipeline of this identifier, also where it was removed.
pub fn get(tx: &mut dyn Transaction, id: PipelineId) -> Result<Option<Pipeline>, RegistryError> {
    tx.query_one(Statement("pipelines.get"), &[id.into()])?.as_ref().map(pipeline_row).transpose()
}

/// The one pipeline within the scope that has this name, and was not removed.
///
/// # Errors
/// [`RegistryError::NotFound`] where there is none, [`RegistryError::Ambiguous`] where several institutions have one.
pub fn find(tx: &mut dyn Transaction, scope: Scope, name: &str) -> Result<Pipeline, RegistryError> {
    let values = [name.into(), scope.value(), (named::CANDIDATES + 1).into()];
    let rows = tx.query(Statement("pipelines.named"), &values)?;
    let mut found = rows.iter().map(pipeline_row).collect::<Result<Vec<_>, _>>()?;
    match found.len() {
        0 => Err(missing(name)),
        1 => Ok(found.remove(0)),
        _ => {
            let mut owners = Vec::with_capacity(found.len());
            for institution in found.iter().filter_map(|one| one.institution) {
                owners.extend(tenants::institution_by_id(tx, Scope::System, institution)?.map(|one| one.identifier));
            }
            Err(RegistryError::Ambiguous {
                what: "pipeline",
                id: name.to_owned(),
                candidates: format!("those of {}", named::listed(owners)),
            })
        }
    }
}

/// Pipelines in the order in which they were made, behind `after`, without those that were removed.
pub fn list(
    tx: &mut dyn Transaction,
    scope: Scope,
    after: Option<PipelineId>,
    limit: usize,
) -> Result<Vec<Pipeline>, RegistryError> {
    let values = [after.unwrap_or(PipelineId(Uuid::nil())).into(), scope.value(), limit.into()];
    tx.query(Statement("pipelines.list"), &values)?.iter().map(pipeline_row).collect()
}

/// Runs a pipeline: an activity for each step, in their order. The first takes its records from its source, behind the watermark that
/// this pipeline has for it where only what has changed is asked for, and each other follows the one before. The number of the run,
/// and the activities.
///
/// # Errors
/// [`RegistryError::State`] where the pipeline does not have these steps any more; [`RegistryError::NotFound`] where it was removed.
pub fn run(
    tx: &mut dyn Transaction,
    pipeline: &Pipeline,
    new: &NewRun,
) -> Result<(u64, Vec<ActivityId>), RegistryError> {
    let row = tx.query_one(Statement("pipelines.begin_run"), &[pipeline.id.into()])?;
    let row = row.ok_or_else(|| missing(&pipeline.name))?;
    let run = row.count("runs")?;
    let steps = steps_of(&row)?;
    if steps.is_empty() {
        return Err(missing(&pipeline.name));
    }
    if steps != pipeline.steps || steps.len() != new.options.len() {
        return Err(RegistryError::State {
            what: "pipeline",
            id: pipeline.name.clone(),
            state: "changed by another command at the same time".to_owned(),
            act: "run it with the steps that it had".to_owned(),
        });
    }
    let mut made: Vec<ActivityId> = Vec::with_capacity(steps.len());
    for (number, (step, options)) in (1..).zip(steps.iter().zip(&new.options)) {
        let input = made.last().map_or(Input::Source, |before| Input::Follow(*before, step.takes));
        // Others that take the same source hand nothing on to this pipeline.
        let watermark = new.watermark.as_ref().filter(|_| made.is_empty());
        let new = NewActivity {
            id: ActivityId::new(),
            agent: step.agent.clone(),
            options: options.clone(),
            institution: pipeline.institution,
            actor: new.actor.clone(),
            input,
            only_changed: watermark.is_some() && new.only_changed,
            watermark: watermark.map(|name| format!("pipeline {} {name}", pipeline.id)),
            step_of: Some(StepOf { pipeline: pipeline.id, run, step: number }),
        };
        activities::create(tx, &new)?;
        made.push(new.id);
    }
    Ok((run, made))
}

/// The activities of a run, in the order of their steps.
pub fn of_run(tx: &mut dyn Transaction, id: PipelineId, run: u64) -> Result<Vec<Activity>, RegistryError> {
    let rows = tx.query(Statement("activities.of_pipeline_run"), &[id.into(), run.into()])?;
    rows.iter().map(activities::activity_row).collect()
}

fn missing(name: &str) -> RegistryError {
    RegistryError::NotFound { what: "pipeline", id: name.to_owned() }
}

/// Texts and values of JSON only: it cannot fail.
fn text_of(steps: &[Step]) -> String {
    serde_json::to_string(steps).unwrap_or_default()
}

fn steps_of(row: &Row) -> Result<Vec<Step>, RegistryError> {
    let steps = row.text("steps")?;
    serde_json::from_str(steps)
        .map_err(|_| RegistryError::Corrupt { wanted: "the steps of a pipeline", found: steps.to_owned() })
}

fn pipeline_row(row: &Row) -> Result<Pipeline, RegistryError> {
    Ok(Pipeline {
        id: PipelineId(row.uuid("id")?),
        institution: row.optional_uuid("institution_id")?.map(InstitutionId),
        name: row.text("name")?.to_owned(),
        steps: steps_of(row)?,
        runs: row.count("runs")?,
        made_at: row.time("made_at")?,
        changed_at: row.time("changed_at")?,
    })
}
