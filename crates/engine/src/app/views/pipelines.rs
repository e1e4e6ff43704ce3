//! Pipelines and their runs.

use serde::Serialize;
use serde_json::Value;
use strongroom_registry::pipelines::{Pipeline, Step};

use super::ActivityView;
use crate::activities::shown;
use crate::pipelines::PipelineProblemView;

/// A pipeline.
#[derive(Debug, Clone, Serialize)]
pub struct PipelineView {
    /// Its name, one for each institution.
    pub pipeline: String,
    /// The domain name of the institution.
    pub institution: Option<String>,
    /// Its steps, in their order.
    pub steps: Vec<PipelineStepView>,
    /// How often it was run.
    pub runs: u64,
    /// Its last run.
    pub last_run: Option<PipelineRunView>,
    /// When it was made.
    pub made_at: String,
    /// When its steps were last set.
    pub changed_at: String,
}

/// A step of a pipeline.
#[derive(Debug, Clone, Serialize)]
pub struct PipelineStepView {
    /// Its number, from 1.
    pub step: u64,
    /// Its name.
    pub name: String,
    /// The agent that carries it out.
    pub agent: String,
    /// What the agent is to do. Of URLs the values of parameters are not shown, since they may be keys.
    pub options: Value,
}

/// A run of a pipeline.
#[derive(Debug, Clone, Serialize)]
pub struct PipelineRunView {
    /// The name of the pipeline.
    pub pipeline: String,
    /// The domain name of the institution.
    pub institution: Option<String>,
    /// Which of its runs this is, from 1.
    pub run: u64,
    /// The activities, one for each step, in their order.
    pub activities: Vec<ActivityView>,
}

/// What came of setting a pipeline.
#[derive(Debug, Clone, Serialize)]
pub struct SetPipelineView {
    /// The name of the pipeline.
    pub pipeline: String,
    /// The pipeline as it is now; none where it was not set.
    pub set: Option<PipelineView>,
    /// What is wrong with the file; where anything is, nothing was changed.
    pub problems: Vec<PipelineProblemView>,
}

impl PipelineView {
    pub(crate) fn new(pipeline: Pipeline, institution: Option<String>, last_run: Option<PipelineRunView>) -> Self {
        Self {
            pipeline: pipeline.name,
            institution,
            steps: (1..).zip(pipeline.steps).map(PipelineStepView::from).collect(),
            runs: pipeline.runs,
            last_run,
            made_at: pipeline.made_at.to_string(),
            changed_at: pipeline.changed_at.to_string(),
        }
    }
}

impl From<(u64, Step)> for PipelineStepView {
    fn from((step, of): (u64, Step)) -> Self {
        Self { step, name: of.name, agent: of.agent, options: shown(of.options) }
    }
}
