//! copy: passes on what another activity made, unchanged. It shows what the machinery alone costs, and takes a snapshot of records.

use std::sync::Arc;

use serde::Deserialize;
use strongroom_records::Takes;
use strongroom_registry::activities::Activity;

use crate::activities::agent::{Agent, AgentInput, AgentOption, Asked, Makes, OpenAgent, Planned, RecordOutcome, Work};
use crate::activities::options::{number, parsed};
use crate::{EngineError, Home};

const NAME: &str = "copy";

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Options {
    #[serde(deserialize_with = "number")]
    chunk: Option<usize>,
}

/// See the header of the file.
pub(super) struct Copy;

impl Agent for Copy {
    fn name(&self) -> &'static str {
        NAME
    }

    fn about(&self) -> &'static str {
        "Pass on what another activity made, unchanged"
    }

    fn options(&self) -> &'static [AgentOption] {
        &[AgentOption { name: "chunk", default: "1000", meaning: "records that are claimed and committed together" }]
    }

    fn input(&self) -> AgentInput {
        AgentInput::Activity(Takes::Results)
    }

    fn makes(&self) -> Makes {
        Makes::Input
    }

    fn plan(&self, _: &Home, asked: &Asked<'_>) -> Result<Planned, EngineError> {
        parsed::<Options>(NAME, asked.options)?;
        Ok(Planned { options: asked.options.clone(), watermark: None })
    }

    fn open(&self, _: &Arc<Home>, activity: &Activity) -> Result<Box<dyn OpenAgent>, EngineError> {
        Ok(Box::new(Copying(parsed(NAME, &activity.options)?)))
    }
}

struct Copying(Options);

impl OpenAgent for Copying {
    fn chunk(&self) -> usize {
        self.0.chunk.unwrap_or(1_000)
    }

    fn process(&self, _: &str, _: &Work<'_>) -> RecordOutcome {
        RecordOutcome::processed(None)
    }
}
