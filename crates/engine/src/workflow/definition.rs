//! What a workflow is made of, and those that are registered.

use strongroom_registry::items::Item;
use strongroom_registry::{Action, Position, RegistryError, Stage as Name, Subject, Transaction, WaitKey};

use super::{Outcome, StageContext, StageError};

/// A stage's work. It may have been done before, in part or whole: a repeat does only what is missing.
pub type StageWork = fn(&StageContext<'_>) -> Result<Outcome, StageError>;

/// Where an item begins again that a person takes up at `wanted`: an earlier stage where what that needs is gone, a later one
/// where there is no way back.
pub type Restart = fn(tx: &mut dyn Transaction, item: &Item, wanted: Name) -> Result<Name, RegistryError>;

/// Discards what was staged and prepared, where a stage finds that it is not what was staged: the stage to begin again at; none
/// where there is no way back.
pub type Restage = fn(&StageContext<'_>) -> Result<Option<Name>, StageError>;

/// Whether an item reads from servers at a stage: how long that takes, others decide.
pub type IsRemote = fn(Subject<'_>) -> bool;

/// What follows the topic of a stage in the name of the topic of items that read from servers there.
const REMOTE: &str = ".remote";

/// Whether a topic is that of items that read from servers: the topic of their stage for others, where it is.
pub(crate) fn local_topic(topic: &str) -> Option<&str> {
    topic.strip_suffix(REMOTE)
}

/// One kind of work item: its stages in their order.
#[derive(Debug, Clone, Copy)]
pub struct Workflow {
    /// The action of its items.
    pub action: Action,
    /// What stands before a stage's name in the name of its topic: `<group>.<stage>`. Workflows whose stages are done by the same
    /// workers share it.
    pub group: &'static str,
    /// Its stages.
    pub stages: &'static [Stage],
    /// See [`Restart`]; without one, items begin at the stage asked for.
    pub restart: Option<Restart>,
    /// See [`Restage`]; without one, the stage is tried again.
    pub restage: Option<Restage>,
}

/// One stage of a workflow.
#[derive(Debug, Clone, Copy)]
pub struct Stage {
    /// Its name.
    pub name: Name,
    /// What it does.
    pub run: StageWork,
    /// What an item may have to wait for there.
    pub waits_for: WaitsFor,
    /// Whether it may begin under the lease of the stage before it, without a trip through the queue.
    pub inline: bool,
    /// How often it reads the bytes of its item.
    pub passes: Passes,
    /// See [`IsRemote`]: these items have a topic of their own at the stage, `<group>.<stage>.remote`, so that others do not wait for servers.
    /// None where no item reads from servers.
    pub is_remote: Option<IsRemote>,
}

/// How often a stage reads all the bytes of its item, as most items need it: what a person who waits is shown is measured by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Passes {
    /// Not at all, or a few of them.
    None,
    /// Once.
    Once,
    /// Once for each store that has a copy.
    OncePerStore,
}

impl Passes {
    fn number(self, stores: u64) -> u64 {
        match self {
            Self::None => 0,
            Self::Once => 1,
            Self::OncePerStore => stores,
        }
    }
}

/// Bytes that the stages of an item read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StageBytes {
    /// Those of the stages before the one that it is at.
    pub before: u64,
    /// Those of that stage.
    pub here: u64,
    /// Those of all its stages.
    pub all: u64,
}

/// What an item may have to wait for at a stage, and is woken by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WaitsFor {
    /// Nothing but time.
    Time,
    /// Its turn among the deposits and deletions of its object.
    Turn,
    /// Room in staging.
    Staging,
    /// The lease of its object.
    ObjectLease,
    /// The confirmation of a program.
    Confirmation,
}

impl Workflow {
    /// The place of a stage among the others, from 0.
    pub fn place(&self, stage: Name) -> Option<usize> {
        self.stages.iter().position(|one| one.name == stage)
    }

    /// The stage of this name.
    pub fn stage(&self, name: Name) -> Option<&'static Stage> {
        self.stages.iter().find(|stage| stage.name == name)
    }

    /// The stage that follows; none behind the last.
    pub fn after(&self, stage: Name) -> Option<Name> {
        self.stages.get(self.place(stage)? + 1).map(|next| next.name)
    }

    /// What the stages of an item of so many bytes read, with copies in so many stores.
    pub fn bytes(&self, stage: Name, size: u64, stores: u64) -> StageBytes {
        let sum = |stages: &[Stage]| stages.iter().map(|one| one.passes.number(stores)).sum::<u64>() * size;
        let place = self.place(stage).unwrap_or(self.stages.len());
        let (before, rest) = self.stages.split_at(place);
        StageBytes { before: sum(before), here: sum(rest.get(..1).unwrap_or_default()), all: sum(self.stages) }
    }

    /// The topic whose tasks are a stage.
    pub fn topic(&self, stage: Name) -> String {
        format!("{}.{stage}", self.group)
    }

    /// The topics whose tasks are a stage: that of items that read from servers comes first, where the stage has one.
    fn topics(&self, stage: &Stage) -> Vec<String> {
        let topic = self.topic(stage.name);
        let remote = stage.is_remote.map(|_| format!("{topic}{REMOTE}"));
        remote.into_iter().chain([topic]).collect()
    }
}

impl Stage {
    /// What wakes an item that waits there.
    fn wait_key(&self, subject: Subject<'_>) -> Option<WaitKey> {
        match self.waits_for {
            WaitsFor::Time => None,
            WaitsFor::Turn => Some(WaitKey::turn(subject.institution, subject.object_identifier)),
            WaitsFor::Staging => Some(WaitKey::staging()),
            WaitsFor::Confirmation => Some(WaitKey::confirmation()),
            WaitsFor::ObjectLease => subject.object.map(WaitKey::object),
        }
    }
}

/// The workflows that are registered.
#[derive(Debug, Clone)]
pub struct Workflows(Vec<Workflow>);

impl Workflows {
    /// Those of the system: deposits, restorations and deletions.
    pub fn standard() -> Self {
        use crate::restoration::{OF_BATCHES, OF_FILES, OF_OBJECTS};
        use crate::{deletion, ingest};
        Self(vec![
            ingest::WORKFLOW,
            ingest::OF_BATCHES,
            OF_OBJECTS,
            OF_FILES,
            OF_BATCHES,
            deletion::OF_OBJECTS,
            deletion::OF_FILES,
            deletion::OF_REQUESTS,
        ])
    }

    /// The same and another one, which takes the place of one of the same action.
    #[must_use]
    pub fn with(mut self, workflow: Workflow) -> Self {
        self.0.retain(|known| known.action != workflow.action);
        self.0.push(workflow);
        self
    }

    /// That of an action.
    pub fn of(&self, action: Action) -> Option<&Workflow> {
        self.0.iter().find(|workflow| workflow.action == action)
    }

    /// Every topic whose tasks are stages, each once, in the order of workflows and stages.
    pub fn topics(&self) -> Vec<String> {
        let mut topics: Vec<String> = Vec::new();
        for workflow in &self.0 {
            for topic in workflow.stages.iter().flat_map(|stage| workflow.topics(stage)) {
                if !topics.contains(&topic) {
                    topics.push(topic);
                }
            }
        }
        topics
    }

    /// Every stage, of whichever action, each once.
    pub fn stages(&self) -> Vec<Name> {
        let mut stages: Vec<Name> = Vec::new();
        for stage in self.0.iter().flat_map(|workflow| workflow.stages) {
            if !stages.contains(&stage.name) {
                stages.push(stage.name);
            }
        }
        stages
    }

    /// Every action.
    pub fn actions(&self) -> Vec<Action> {
        self.0.iter().map(|workflow| workflow.action).collect()
    }
}

impl strongroom_registry::Workflows for Workflows {
    fn stages(&self, action: Action) -> Vec<Name> {
        self.of(action).map(|workflow| workflow.stages.iter().map(|stage| stage.name).collect()).unwrap_or_default()
    }

    fn position(&self, subject: Subject<'_>, stage: Name) -> Position {
        let workflow = self.of(subject.action);
        let defined = workflow.and_then(|workflow| workflow.stage(stage));
        let is_remote = defined.and_then(|stage| stage.is_remote).is_some_and(|is_remote| is_remote(subject));
        let topic = workflow.map_or_else(|| stage.to_string(), |workflow| workflow.topic(stage));
        Position {
            stage,
            topic: if is_remote { topic + REMOTE } else { topic },
            wait_key: defined.and_then(|stage| stage.wait_key(subject)),
            is_inline: defined.is_some_and(|stage| stage.inline),
        }
    }

    fn restart(&self, tx: &mut dyn Transaction, item: &Item, wanted: Name) -> Result<Name, RegistryError> {
        match self.of(item.action).and_then(|workflow| workflow.restart) {
            Some(restart) => restart(tx, item, wanted),
            None => Ok(wanted),
        }
    }
}
