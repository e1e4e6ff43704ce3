//! Activities: runs of agents over lists of record ids, and how their states follow each other.

use serde::{Deserialize, Serialize};
use strongroom_database::Time;
use strongroom_records::{ListId, Takes};

use super::actor::Actor;
use super::{ActivityId, ActivityInput, ActivityState, InstitutionId, PipelineId};

use ActivityState::{Cancelled, Failed, Finished, FinishedWithErrors, Paused, Populating, Queued, Running};

/// Which state may follow which, and no other.
pub const TRANSITIONS: &[(ActivityState, ActivityState)] = &[
    // A worker begins, or goes on after a pause.
    (Queued, Populating),
    (Queued, Running),
    (Populating, Running),
    // Every record may have ended while the list was populated, as a harvest does.
    (Queued, Finished),
    (Queued, FinishedWithErrors),
    (Populating, Finished),
    (Populating, FinishedWithErrors),
    (Running, Finished),
    (Running, FinishedWithErrors),
    (Queued, Failed),
    (Populating, Failed),
    (Running, Failed),
    // Persons.
    (Queued, Paused),
    (Populating, Paused),
    (Running, Paused),
    (Paused, Queued),
    (Queued, Cancelled),
    (Populating, Cancelled),
    (Running, Cancelled),
    (Paused, Cancelled),
    (Failed, Cancelled),
    // Its failed records are given up.
    (FinishedWithErrors, Cancelled),
    // Restarted, retried, run again, or continued because what it follows has got more.
    (Failed, Queued),
    (Finished, Queued),
    (FinishedWithErrors, Queued),
    (Cancelled, Queued),
];

impl ActivityState {
    /// Whether this state may follow by `to`.
    pub fn may_become(self, to: Self) -> bool {
        TRANSITIONS.contains(&(self, to))
    }

    /// Whether nothing happens without a person's act.
    pub fn is_ended(self) -> bool {
        matches!(self, Finished | FinishedWithErrors | Failed | Cancelled)
    }

    /// Whether those that follow it have all that they will get. One that has failed may be restarted, and they wait for that; one
    /// that is cancelled has ended for them.
    pub fn is_ended_for_followers(self) -> bool {
        matches!(self, Finished | FinishedWithErrors | Cancelled)
    }

    /// Whether workers may go on with it.
    pub fn is_at_work(self) -> bool {
        matches!(self, Queued | Populating | Running)
    }
}

/// Where the records of an activity come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Input {
    /// The agent itself finds them.
    Source,
    /// What another activity has processed when the list is populated.
    Snapshot(ActivityId, Takes),
    /// What another activity processes, until it has ended.
    Follow(ActivityId, Takes),
}

impl Input {
    /// The word of it.
    pub fn kind(self) -> ActivityInput {
        match self {
            Self::Source => ActivityInput::Source,
            Self::Snapshot(..) => ActivityInput::Snapshot,
            Self::Follow(..) => ActivityInput::Follow,
        }
    }

    /// The other activity, and what is taken of it.
    pub fn of(self) -> Option<(ActivityId, Takes)> {
        match self {
            Self::Source => None,
            Self::Snapshot(id, takes) | Self::Follow(id, takes) => Some((id, takes)),
        }
    }
}

/// Which step of which run of a pipeline an activity is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StepOf {
    /// The pipeline.
    pub pipeline: PipelineId,
    /// Which of its runs, from 1.
    pub run: u64,
    /// Which of its steps, from 1.
    pub step: u64,
}

/// An activity that is to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewActivity {
    /// Made before, so that making it again is refused.
    pub id: ActivityId,
    /// The name of the agent.
    pub agent: String,
    /// What the agent is to do: a JSON object.
    pub options: serde_json::Value,
    /// Whose it is; none for one of the installation.
    pub institution: Option<InstitutionId>,
    /// On whose behalf.
    pub actor: Actor,
    /// Where its records come from.
    pub input: Input,
    /// The name of the watermark that it moves where it ends well.
    pub watermark: Option<String>,
    /// Whether it begins behind its watermark, and takes only what has changed since the last run of the same.
    pub only_changed: bool,
    /// Which step it is, where it is one.
    pub step_of: Option<StepOf>,
}

/// An activity as it stands.
#[derive(Debug, Clone, PartialEq)]
pub struct Activity {
    /// Its identifier.
    pub id: ActivityId,
    /// The name of the agent.
    pub agent: String,
    /// What the agent is to do: a JSON object.
    pub options: serde_json::Value,
    /// Whose it is; none for one of the installation.
    pub institution: Option<InstitutionId>,
    /// On whose behalf.
    pub actor: Actor,
    /// Where it is.
    pub state: ActivityState,
    /// Which of its runs this is, from 1.
    pub run: u64,
    /// The list of this run.
    pub list: ListId,
    /// The list of the run before, where this run takes its records.
    pub previous_list: Option<ListId>,
    /// Whether its list was lost, and is populated from provenance.
    pub is_rebuilding: bool,
    /// Where its records come from.
    pub input: Input,
    /// The list of the other activity.
    pub input_list: Option<ListId>,
    /// The name of its watermark.
    pub watermark: Option<String>,
    /// What the watermark was when it was made: the agent takes what came after.
    pub watermark_from: Option<String>,
    /// What the watermark will be when it ends well.
    pub watermark_to: Option<String>,
    /// Which step it is, where it is one.
    pub step_of: Option<StepOf>,
    /// When it was made.
    pub made_at: Time,
    /// When this run began.
    pub started_at: Option<Time>,
    /// When workers went on with it last: at its beginning, or after a pause, a restart or a retry.
    pub resumed_at: Option<Time>,
    /// How many of its records had been processed or had failed then.
    pub ended_before: u64,
    /// When this run ended, well or not.
    pub ended_at: Option<Time>,
    /// When its state last changed.
    pub changed_at: Time,
    /// Why it failed.
    pub error: Option<String>,
    /// Why the last attempt at it could not go on, until something succeeds.
    pub attempt_error: Option<String>,
}

/// A step of a pipeline.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// Its name, such as `map`.
    pub name: String,
    /// The agent that carries it out.
    pub agent: String,
    /// What the agent is to do: a JSON object.
    pub options: serde_json::Value,
    /// What it takes of the step before.
    pub takes: Takes,
}
