//! Pipelines: agents in an order, as a record. A run of one makes an activity for each step at once; each follows the one before, and begins
//! when that has records.

use strongroom_database::{Row, Statement, Time, Transaction};
use uuid::Uuid;

use super::{activities, journal};
pub use crate::model::activity::Step;
use crate::model::activity::{Activity, Input, NewActivity, StepOf};
use crate::model::actor::Actor;
use crate::{ActivityId, InstitutionId, PipelineId, RegistryError, Scope};

/// The most steps of a pipeline.
pub const MOST_STEPS: usize = 50;

/// A pipeline as it stands.
#[derive(Debug, Clone, PartialEq)]
pub struct Pipeline {
    /// Its identifier.
    pub id: PipelineId,
    /// Whose it is; none for one of the installation.
    pub institution: Option<InstitutionId>,
    /// Its name, one for each institution.
    pub name: String,
    /// Its steps, in their order.
    pub steps: Vec<Step>,
    /// How often it was run.
    pub runs: u64,
    /// When it was made.
    pub made_at: Time,
    /// When its steps last changed.
    pub changed_at: Time,
}

/// Sets the steps of the pipeline of this name, which is made where there is none. Runs that there are keep their steps.
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
    let now = tx.now()?;
    // Texts and values of JSON only: it cannot fail.
    let text = serde_json::to_string(steps).unwrap_or_default();
    if let Some(pipeline) = by_name(tx, institution, name)? {
        tx.execute(Statement("pipelines.set_steps"), &[pipeline.id.into(), text.into(), now.into()])?;
        return Ok(pipeline.id);
    }
    journal::know(tx, actor)?;
    let id = PipelineId::new();
    let values = [id.into(), institution.into(), name.into(), text.into(), actor.id.into(), now.into()];
    tx.execute(Statement("pipelines.insert"), &values)?;
    Ok(id)
}

/// The pipeline of this name.
pub fn by_name(
    tx: &mut dyn Transaction,
    institution: Option<InstitutionId>,
    name: &str,
) -> Result<Option<Pipeline>, RegistryError> {
    let row = tx.query_one(Statement("pipelines.by_name"), &[institution.into(), name.into()])?;
    row.as_ref().map(pipeline_row).transpose()
}

/// Pipelines in the order in which they were made, behind `after`.
pub fn list(
    tx: &mut dyn Transaction,
    scope: Scope,
    after: Option<PipelineId>,
    limit: usize,
) -> Result<Vec<Pipeline>, RegistryError> {
    let values = [after.unwrap_or(PipelineId(Uuid::nil())).into(), scope.value(), limit.into()];
    tx.query(Statement("pipelines.list"), &values)?.iter().map(pipeline_row).collect()
}

/// Runs a pipeline: an activity for each step, in their order. The first takes its records from its source, behind its watermark where
/// the pipeline is run for what has changed only, and each other follows the one before.
pub fn run(
    tx: &mut dyn Transaction,
    pipeline: &Pipeline,
    actor: &Actor,
    only_changed: bool,
) -> Result<Vec<ActivityId>, RegistryError> {
    let row = tx.query_one(Statement("pipelines.begin_run"), &[pipeline.id.into()])?;
    let missing = || RegistryError::NotFound { what: "pipeline", id: pipeline.name.clone() };
    let run = row.ok_or_else(missing)?.count("runs")?;
    let mut made: Vec<ActivityId> = Vec::with_capacity(pipeline.steps.len());
    for (number, step) in (1..).zip(&pipeline.steps) {
        let input = made.last().map_or(Input::Source, |before| Input::Follow(*before, step.takes));
        let is_first = input == Input::Source;
        let new = NewActivity {
            id: ActivityId::new(),
            agent: step.agent.clone(),
            options: step.options.clone(),
            institution: pipeline.institution,
            actor: actor.clone(),
            input,
            watermark: is_first.then(|| format!("pipeline {} {}", pipeline.id, step.name)),
            only_changed: is_first && only_changed,
            step_of: Some(StepOf { pipeline: pipeline.id, run, step: number }),
        };
        activities::create(tx, &new)?;
        made.push(new.id);
    }
    Ok(made)
}

/// The activities of a run, in the order of their steps.
pub fn of_run(tx: &mut dyn Transaction, id: PipelineId, run: u64) -> Result<Vec<Activity>, RegistryError> {
    let rows = tx.query(Statement("activities.of_pipeline_run"), &[id.into(), run.into()])?;
    rows.iter().map(activities::activity_row).collect()
}

fn pipeline_row(row: &Row) -> Result<Pipeline, RegistryError> {
    let steps = row.text("steps")?;
    Ok(Pipeline {
        id: PipelineId(row.uuid("id")?),
        institution: row.optional_uuid("institution_id")?.map(InstitutionId),
        name: row.text("name")?.to_owned(),
        steps: serde_json::from_str(steps)
            .map_err(|_| RegistryError::Corrupt { wanted: "the steps of a pipeline", found: steps.to_owned() })?,
        runs: row.count("runs")?,
        made_at: row.time("made_at")?,
        changed_at: row.time("changed_at")?,
    })
}
