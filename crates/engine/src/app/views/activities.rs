//! Activities, their records, and agents.

use serde::Serialize;
use serde_json::Value;
use strongroom_database::Time;
use strongroom_records::{ListStatus, Record, RecordState};
use strongroom_registry::activities::{Activity, Input};
use strongroom_registry::tool_findings::{Examined, Outcomes, ToolFinding};
use strongroom_registry::{ActivityId, ActivityState, FileId, ToolFindingId, ToolFindingState, documents};

use crate::activities::{Agent, AgentInput, agents::harvest, shown};
use crate::content_name::in_package;

/// An activity.
#[derive(Debug, Clone, Serialize)]
pub struct ActivityView {
    /// Its identifier.
    pub activity: ActivityId,
    /// Its agent.
    pub agent: String,
    /// Where it is.
    pub state: ActivityState,
    /// Records of its list; the counts are of one moment. None where the list was lost.
    pub populated: Option<u64>,
    /// Those to be processed.
    pub todo: Option<u64>,
    /// Those that workers have.
    pub processing: Option<u64>,
    /// Those that were processed.
    pub processed: Option<u64>,
    /// Those that failed.
    pub failed: Option<u64>,
    /// Those that are not processed any more.
    pub cancelled: Option<u64>,
    /// Records that the source says are deleted, and that a harvest passed by.
    pub deleted: Option<u64>,
    /// Documents of earlier harvests of the source that are no longer valid, because their records are deleted there.
    pub invalidated: Option<u64>,
    /// Files and documents that the tool has passed in this run; none of another agent.
    pub tool_passed: Option<u64>,
    /// Files and documents that the tool has failed, such as those with a virus. Their records are processed.
    pub tool_failed: Option<u64>,
    /// Whether every record is in the list.
    pub is_complete: Option<bool>,
    /// Whether its records were removed after their time; the counts say what came of them.
    pub records_removed: bool,
    /// Records that ended per second, since workers went on with the run.
    pub records_per_second: Option<f64>,
    /// Seconds until all records have ended, at this rate; none while the list is not complete.
    pub seconds_left: Option<u64>,
    /// The domain name of the institution.
    pub institution: Option<String>,
    /// What the agent is to do. Of URLs the values of parameters are not shown, since they may be keys.
    pub options: Value,
    /// The activity that its records come from.
    pub input: Option<ActivityId>,
    /// Whether it follows that activity until it has ended.
    pub follows: bool,
    /// The activity that it waits for, because it follows it: that one has failed or is paused, and a person can have it go on.
    pub waits_for: Option<ActivityId>,
    /// The pipeline that it is a step of.
    pub pipeline: Option<String>,
    /// Which run of the pipeline, from 1.
    pub pipeline_run: Option<u64>,
    /// Which step of it, from 1.
    pub step: Option<u64>,
    /// Which of its runs this is, from 1.
    pub run: u64,
    /// Behind which time a harvest of what has changed begins.
    pub changed_since: Option<String>,
    /// On whose behalf.
    pub actor: String,
    /// When it was made.
    pub made_at: String,
    /// When this run began first.
    pub started_at: Option<String>,
    /// When it ended.
    pub ended_at: Option<String>,
    /// Why it failed.
    pub error: Option<String>,
    /// Why it could not go on at the last attempt, after which it is tried again; until something succeeds.
    pub attempt_error: Option<String>,
    /// When it is tried again; none while it is.
    pub tried_again_at: Option<String>,
    /// What a person can do so that it goes on, or that what failed is processed; none where nothing is to be done.
    pub next: Option<String>,
}

/// What is shown of an activity that other rows have.
#[derive(Debug, Default)]
pub(crate) struct ActivityNames {
    /// The domain name of its institution.
    pub(crate) institution: Option<String>,
    /// Its pipeline, also where that was removed.
    pub(crate) pipeline: Option<String>,
    /// What its tool has passed and failed, where it has one.
    pub(crate) outcomes: Option<Outcomes>,
}

impl ActivityView {
    pub(crate) fn new(activity: Activity, status: Option<&ListStatus>, names: ActivityNames, now: Time) -> Self {
        let counts = status.map(|status| status.counts);
        let (input, follows) = (activity.input.of().map(|(id, _)| id), matches!(activity.input, Input::Follow(..)));
        let is_complete = status.map(|status| status.is_complete);
        // Those that ended before workers went on, such as before a retry, took another time.
        let resumed_at = activity.resumed_at.or(activity.started_at);
        let rate = resumed_at.zip(counts).and_then(|(began, counts)| {
            let seconds = (activity.ended_at.unwrap_or(now).0 - began.0) as f64 / 1e6;
            let ended = (counts.processed + counts.failed).saturating_sub(activity.ended_before);
            (seconds > 0.0 && ended > 0).then(|| (ended as f64 / seconds * 100.0).round() / 100.0)
        });
        let is_counted_down = activity.state.is_at_work() && is_complete == Some(true);
        let open = counts.map(|counts| counts.open()).filter(|_| is_counted_down);
        let seconds_left =
            rate.filter(|rate| *rate > 0.0).zip(open).map(|(rate, open)| (open as f64 / rate).ceil() as u64);
        let is_harvest = activity.agent == harvest::NAME;
        let deleted =
            status.and_then(|status| status.cursor.as_deref()).filter(|_| is_harvest).and_then(harvest::deleted);
        Self {
            activity: activity.id,
            agent: activity.agent,
            state: activity.state,
            populated: counts.map(|counts| counts.populated()),
            todo: counts.map(|counts| counts.todo),
            processing: counts.map(|counts| counts.processing),
            processed: counts.map(|counts| counts.processed),
            failed: counts.map(|counts| counts.failed),
            cancelled: counts.map(|counts| counts.cancelled),
            deleted: deleted.map(|(deleted, _)| deleted),
            invalidated: deleted.map(|(_, invalidated)| invalidated),
            tool_passed: names.outcomes.map(|outcomes| outcomes.passed),
            tool_failed: names.outcomes.map(|outcomes| outcomes.failed),
            is_complete,
            records_removed: false,
            records_per_second: rate,
            seconds_left,
            institution: names.institution,
            options: shown(activity.options),
            input,
            follows,
            waits_for: None,
            pipeline: names.pipeline,
            pipeline_run: activity.step_of.map(|of| of.run),
            step: activity.step_of.map(|of| of.step),
            run: activity.run,
            changed_since: activity.watermark_from,
            actor: activity.actor.name,
            made_at: activity.made_at.to_string(),
            started_at: activity.started_at.map(|time| time.to_string()),
            ended_at: activity.ended_at.map(|time| time.to_string()),
            error: activity.error,
            attempt_error: activity.attempt_error,
            tried_again_at: None,
            next: None,
        }
    }
}

/// A record of the list of an activity.
#[derive(Debug, Clone, Serialize)]
pub struct RecordView {
    /// Its id.
    pub record: String,
    /// Where it is.
    pub state: RecordState,
    /// How often it was tried.
    pub attempts: u32,
    /// When it came into its state.
    pub changed_at: String,
    /// What was made of it, where that is not the record itself.
    pub result: Option<String>,
    /// Why it failed, or why its last attempt did.
    pub error: Option<String>,
    /// The object that a tool is run for, `<institution>/<name>`.
    pub object: Option<String>,
    /// The path of the file that a tool is run for.
    pub path: Option<String>,
    /// What the tool said, `pass` or `fail`, where the record was processed by one.
    pub outcome: Option<String>,
    /// The version of the object at which the file is looked at.
    pub version: Option<u64>,
    /// What the tool said, in its words.
    pub message: Option<String>,
}

impl RecordView {
    pub(crate) fn new(record: Record, state: RecordState) -> Self {
        Self {
            record: record.id,
            state,
            attempts: record.attempts,
            changed_at: record.changed_at.to_string(),
            result: record.result,
            error: record.error,
            object: None,
            path: None,
            outcome: None,
            version: None,
            message: None,
        }
    }
}

/// How many records a request changed.
#[derive(Debug, Clone, Serialize)]
pub struct RetriedView {
    /// The activity.
    pub activity: ActivityId,
    /// Records that are processed again.
    pub records: u64,
}

/// Something that a tool has found in a file or document that is kept.
#[derive(Debug, Clone, Serialize)]
pub struct ToolFindingView {
    /// Its identifier.
    pub finding: ToolFindingId,
    /// The domain name of the institution.
    pub institution: String,
    /// The object, `<institution>/<name>`, where it is a file.
    pub object: Option<String>,
    /// The path of the file in the package.
    pub path: Option<String>,
    /// The file.
    pub file: Option<FileId>,
    /// The tool.
    pub tool: String,
    /// What it has found, in its words.
    pub detail: String,
    /// `open`, `passed` where the tool has passed the same bytes later, or `dismissed` by a person.
    pub state: ToolFindingState,
    /// When it was found.
    pub found_at: String,
    /// When it was settled.
    pub settled_at: Option<String>,
    /// Why it was dismissed.
    pub note: Option<String>,
    /// The document, where it is one that was harvested.
    pub document: Option<String>,
    /// The record that the document was made of.
    pub record: Option<String>,
    /// The activity that found it last; none where that is not known.
    pub activity: Option<ActivityId>,
}

impl From<ToolFinding> for ToolFindingView {
    fn from(found: ToolFinding) -> Self {
        let (file, document, record) = match found.examined {
            Examined::File { file, .. } => (Some(file), None, None),
            Examined::Document { document, record } => (None, Some(documents::entity(document)), Some(record)),
        };
        Self {
            finding: found.id,
            institution: found.institution_identifier,
            object: found.object_identifier,
            path: found.path.map(|path| in_package(&path).to_owned()),
            file,
            tool: found.tool,
            detail: found.detail,
            state: found.state,
            found_at: found.found_at.to_string(),
            settled_at: found.settled_at.map(|time| time.to_string()),
            note: found.note,
            document,
            record,
            activity: found.activity,
        }
    }
}

/// An agent with its options.
#[derive(Debug, Clone, Serialize)]
pub struct AgentView {
    /// Its name.
    pub agent: &'static str,
    /// What it does.
    pub about: &'static str,
    /// Where its records come from: `source`, `activity`, or `source or activity`.
    pub input: &'static str,
    /// Its options.
    pub options: Vec<AgentOptionView>,
}

/// An option of an agent.
#[derive(Debug, Clone, Serialize)]
pub struct AgentOptionView {
    /// Its name.
    pub option: &'static str,
    /// The value where none is given; empty where there is none.
    pub default: &'static str,
    /// What it means.
    pub meaning: &'static str,
}

impl From<&dyn Agent> for AgentView {
    fn from(agent: &dyn Agent) -> Self {
        let options = agent.options().iter();
        Self {
            agent: agent.name(),
            about: agent.about(),
            input: match agent.input() {
                AgentInput::Source => "source",
                AgentInput::Activity(_) => "activity",
                AgentInput::SourceOrActivity(_) => "source or activity",
            },
            options: options
                .map(|option| AgentOptionView { option: option.name, default: option.default, meaning: option.meaning })
                .collect(),
        }
    }
}
