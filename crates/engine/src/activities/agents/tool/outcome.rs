//! What is kept of a run of a tool: the event of the object, a document with everything that the tool said, a finding where a virus
//! check found something, the counts of the activity, and, of what a registry that is made from the stores has to know, a file in the
//! object's `logs/`. Of a document that was harvested there is no event and no log.

use std::collections::BTreeMap;

use serde::Serialize;
use strongroom_registry::documents::{self, Document};
use strongroom_registry::events::{self, EventRow};
use strongroom_registry::objects::{File, Object};
use strongroom_registry::tool_findings::{self, Examined, NewToolFinding, Outcomes};
use strongroom_registry::{GenerationId, ObjectId, RegistryError, Time, ToolFindingId, Transaction};
use strongroom_tool::{Fields, Outcome, Run};
use uuid::Uuid;

use super::looking::Halt;
use super::record::file_record;
use crate::activities::agent::Work;
use crate::content_name::in_package;
use crate::event::Event;
use crate::fixity::About;
use crate::hold::{ObjectHold, now};
use crate::tools::{ConfiguredTool, ToolAct, agent, bounded, in_words};
use crate::{EngineError, crash_point, logs};

/// The form of log files written today.
const FORM: u32 = 1;
/// The act, in the names of log files.
pub(crate) const ACT: &str = "tool";
/// The term of the events of virus checks.
pub(crate) const VIRUS_CHECK: &str = ToolAct::VirusCheck.as_str();
/// Most bytes of what a tool said of a file in a document or a log.
const MOST_SAID: usize = 64 << 10;

/// A run of a tool for a file.
pub(super) struct OfFile {
    pub(super) object: Object,
    pub(super) file: File,
    pub(super) version: u64,
    pub(super) run: Run,
}

/// What a tool said, as a document has it.
#[derive(Serialize)]
struct Said<'a> {
    tool: &'a str,
    version: Option<&'a str>,
    act: &'a str,
    outcome: Outcome,
    #[serde(skip_serializing_if = "Option::is_none")]
    object: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<&'a str>,
    record: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    sha512: Option<String>,
    message: &'a str,
    fields: Fields,
    /// Whether there was more than fields can have.
    is_cut: bool,
}

/// The document of what a tool said of something.
fn document(
    tool: &ConfiguredTool,
    said: &Said<'_>,
    institution: Option<strongroom_registry::InstitutionId>,
) -> Document {
    let bytes = serde_json::to_vec(said).unwrap_or_default();
    let source = format!("tool {}", tool.name());
    Document::new(institution, (source.as_str(), said.record), "application/json", bytes)
}

/// What a tool said of a document.
pub(super) fn of_document(tool: &ConfiguredTool, about: &Document, run: &Run) -> Document {
    let (fields, is_cut) = bounded(&run.fields, MOST_SAID);
    let said = Said {
        tool: tool.name(),
        version: run.version.as_deref(),
        act: tool.act.as_str(),
        outcome: run.outcome,
        object: None,
        path: None,
        record: &about.record,
        sha512: None,
        message: &run.message,
        fields,
        is_cut,
    };
    document(tool, &said, about.institution)
}

/// Whether a document of this agent is about a file, rather than about another document.
pub(super) fn is_of_file(document: &Document) -> bool {
    serde_json::from_slice::<serde_json::Value>(&document.bytes).is_ok_and(|said| said.get("path").is_some())
}

impl OfFile {
    fn has_failed(&self) -> bool {
        self.run.outcome == Outcome::Fail
    }

    /// What the tool said, whole.
    pub(super) fn document(&self, tool: &ConfiguredTool) -> Document {
        let (fields, is_cut) = bounded(&self.run.fields, MOST_SAID);
        let record = file_record(self.file.id, self.version);
        let said = Said {
            tool: tool.name(),
            version: self.run.version.as_deref(),
            act: tool.act.as_str(),
            outcome: self.run.outcome,
            object: Some(&self.object.identifier),
            path: Some(in_package(&self.file.path)),
            record: &record,
            sha512: Some(self.file.digests.sha512.to_hex()),
            message: &self.run.message,
            fields,
            is_cut,
        };
        document(tool, &said, Some(self.object.institution))
    }

    /// The event. Its identifier follows from run and file, so that what was cut short is recorded once.
    fn event(&self, tool: &ConfiguredTool, work: &Work<'_>, time: Time) -> EventRow {
        let (activity, run) = (work.activity.id, work.activity.run);
        let label = format!("tool {} v{} {activity} {run}", tool.name(), self.version);
        let about =
            About { institution: self.object.institution, object: self.object.id, content: Some(self.file.content) };
        let detail = format!("by the tool {}, in the activity {activity}", tool.name());
        let outcome = if self.has_failed() { "failure" } else { "success" };
        let row = about.event(time, tool.act.as_str(), outcome, detail, in_words(&self.run));
        let id = events::derived_id(self.file.id.0, &label);
        let row = EventRow { id, file: Some(self.file.id), agent: agent(tool, &self.run), ..row };
        row.on_behalf_of(Some(&work.activity.actor))
    }

    fn examined(&self) -> Examined {
        Examined::File { object: self.object.id, file: self.file.id, content: self.file.content }
    }
}

/// What is written of some runs in the transaction that ends their record.
#[derive(Default)]
pub(super) struct Kept {
    events: Vec<EventRow>,
    opened: Vec<NewToolFinding>,
    passed: Vec<ToolFindingId>,
    /// Of these runs.
    pub(super) outcomes: Outcomes,
}

/// Adds outcomes to others.
pub(super) fn sum(one: Outcomes, other: Outcomes) -> Outcomes {
    Outcomes { passed: one.passed + other.passed, failed: one.failed + other.failed }
}

/// The outcomes of one run.
fn outcomes_of(run: &Run) -> Outcomes {
    let has_failed = run.outcome == Outcome::Fail;
    Outcomes { passed: u64::from(!has_failed), failed: u64::from(has_failed) }
}

/// Keeps what came of the run for a document that was harvested.
pub(super) fn keep_of_document(
    tool: &ConfiguredTool,
    work: &Work<'_>,
    about: &Document,
    run: &Run,
) -> Result<Kept, Halt> {
    let mut kept = Kept { outcomes: outcomes_of(run), ..Kept::default() };
    let Some(institution) = about.institution.filter(|_| tool.act == ToolAct::VirusCheck) else { return Ok(kept) };
    let examined = Examined::Document { document: about.id, record: about.record.clone() };
    if run.outcome != Outcome::Fail {
        kept.passed.push(examined.finding_id(tool.name()));
        return Ok(kept);
    }
    kept.opened.push(NewToolFinding {
        institution,
        examined,
        tool: tool.name().to_owned(),
        detail: in_words(run),
        activity: Some(work.activity.id),
        found_at: now(work.home)?,
    });
    let object = documents::entity(about.id);
    Event::VirusFound { object: &object, path: &about.record, tool: tool.name(), detail: &run.message }.emit();
    Ok(kept)
}

impl Kept {
    pub(super) fn write(&self, tx: &mut dyn Transaction) -> Result<(), RegistryError> {
        events::append(tx, &self.events)?;
        for new in &self.opened {
            tool_findings::open(tx, new)?;
        }
        for id in &self.passed {
            tool_findings::pass(tx, *id)?;
        }
        Ok(())
    }
}

/// One act, of some files of an object, as a log has it.
#[derive(Serialize)]
struct Log<'a> {
    form: u32,
    act: &'a str,
    object: ObjectId,
    generation: GenerationId,
    tool: &'a str,
    time: String,
    /// What the tool said, by the identifiers of the events.
    said: BTreeMap<String, Fields>,
    /// The events of the act, whole.
    events: Vec<EventRow>,
}

/// Keeps what came of runs for files of one object: in the stores what cannot be found out again from the rest, under the object's lease,
/// and the rest is returned, to be written with the end of the record.
pub(super) fn keep<'h>(
    tool: &ConfiguredTool,
    work: &Work<'h>,
    looked: &[OfFile],
    hold: impl FnOnce(ObjectId) -> Result<ObjectHold<'h>, Halt>,
) -> Result<Kept, Halt> {
    let time = now(work.home)?;
    let mut kept = Kept::default();
    let (mut said, mut logged) = (BTreeMap::new(), Vec::new());
    for one in looked {
        let event = one.event(tool, work, time);
        let examined = one.examined();
        let id = examined.finding_id(tool.name());
        kept.outcomes = sum(kept.outcomes, outcomes_of(&one.run));
        let is_check = tool.act == ToolAct::VirusCheck;
        let was_open = is_check && work.home.registry.read(|tx| tool_findings::is_open(tx, id))?;
        if is_check && one.has_failed() {
            kept.opened.push(NewToolFinding {
                institution: one.object.institution,
                examined,
                tool: tool.name().to_owned(),
                detail: in_words(&one.run),
                activity: Some(work.activity.id),
                found_at: time,
            });
        } else if was_open {
            kept.passed.push(id);
        }
        if one.has_failed() || was_open || tool.act == ToolAct::MetadataExtraction {
            said.insert(event.id.to_string(), bounded(&one.run.fields, MOST_SAID).0);
            logged.push(event.clone());
        }
        kept.events.push(event);
    }
    if let (Some(first), false) = (looked.first(), logged.is_empty()) {
        let (object, generation) = (first.object.id, first.object.generation);
        let log = Log {
            form: FORM,
            act: ACT,
            object,
            generation,
            tool: tool.name(),
            time: time.to_string(),
            said,
            events: logged,
        };
        let bytes = serde_json::to_vec(&log).map_err(|error| EngineError::Usage(error.to_string()))?;
        let name = logs::name(time, ACT, Uuid::now_v7());
        let hold = hold(object)?;
        logs::put(work.home, &first.object.institution_identifier, object, generation, &name, &bytes)?;
        drop(hold);
        crash_point("activity.tool.logged");
    }
    for one in looked.iter().filter(|one| one.has_failed() && tool.act == ToolAct::VirusCheck) {
        let (object, path) = (one.object.identifier.as_str(), in_package(&one.file.path));
        Event::VirusFound { object, path, tool: tool.name(), detail: &one.run.message }.emit();
    }
    Ok(kept)
}
