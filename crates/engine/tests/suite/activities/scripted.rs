//! An agent that does what a test says with each record.

use std::sync::{Arc, Mutex};

use serde_json::Value;
use strongroom_engine::activities::{Agent, AgentInput, AgentOption, Asked, OpenAgent, Planned, RecordOutcome, Work};
use strongroom_engine::{EngineError, Home};
use strongroom_records::Takes;
use strongroom_registry::activities::Activity;

type Act = dyn Fn(&str, &Work<'_>) -> RecordOutcome + Send + Sync;

/// What the agent does, and what it was given.
pub(super) struct Script {
    act: Mutex<Arc<Act>>,
    seen: Mutex<Vec<String>>,
    chunk: usize,
    commits_each: bool,
    takes: Takes,
}

impl Script {
    pub(super) fn new(
        chunk: usize,
        commits_each: bool,
        act: impl Fn(&str, &Work<'_>) -> RecordOutcome + Send + Sync + 'static,
    ) -> Arc<Self> {
        let takes = Takes::Records;
        Arc::new(Self { act: Mutex::new(Arc::new(act)), seen: Mutex::default(), chunk, commits_each, takes })
    }

    /// The same, for what was made of the records before.
    pub(super) fn of_results(
        chunk: usize,
        act: impl Fn(&str, &Work<'_>) -> RecordOutcome + Send + Sync + 'static,
    ) -> Arc<Self> {
        let (act, takes): (Arc<Act>, _) = (Arc::new(act), Takes::Results);
        Arc::new(Self { act: Mutex::new(act), seen: Mutex::default(), chunk, commits_each: true, takes })
    }

    /// Does something else from now on.
    pub(super) fn change(&self, act: impl Fn(&str, &Work<'_>) -> RecordOutcome + Send + Sync + 'static) {
        *self.act.lock().expect("no poison") = Arc::new(act);
    }

    /// The records that it was given, in order, since this was last asked.
    pub(super) fn take_seen(&self) -> Vec<String> {
        std::mem::take(&mut *self.seen.lock().expect("no poison"))
    }
}

/// The agent `scripted`.
pub(super) struct Scripted(pub(super) Arc<Script>);

impl Agent for Scripted {
    fn name(&self) -> &'static str {
        "scripted"
    }

    fn about(&self) -> &'static str {
        "Do what the test says"
    }

    fn options(&self) -> &'static [AgentOption] {
        &[]
    }

    fn input(&self) -> AgentInput {
        AgentInput::Activity(self.0.takes)
    }

    fn plan(&self, _: &Home, asked: &Asked<'_>) -> Result<Planned, EngineError> {
        assert_eq!(asked.options, &Value::Object(serde_json::Map::new()));
        Ok(Planned { options: asked.options.clone(), watermark: None })
    }

    fn open(&self, _: &Arc<Home>, _: &Activity) -> Result<Box<dyn OpenAgent>, EngineError> {
        Ok(Box::new(Open(self.0.clone())))
    }
}

struct Open(Arc<Script>);

impl OpenAgent for Open {
    fn chunk(&self) -> usize {
        self.0.chunk
    }

    fn commits_each(&self) -> bool {
        self.0.commits_each
    }

    fn process(&self, record: &str, work: &Work<'_>) -> RecordOutcome {
        self.0.seen.lock().expect("no poison").push(record.to_owned());
        let act = self.0.act.lock().expect("no poison").clone();
        act(record, work)
    }
}
