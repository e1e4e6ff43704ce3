//! What later acts have left in an object's `logs/`: events, formats that were found anew, and what became of damage. Files
//! there that are not ours say nothing.

use std::io::Read as _;

use serde::Deserialize;
use strongroom_registry::events::{self, EventRow};
use strongroom_registry::fixity;
use strongroom_registry::identification::{self, NewFormat};
use strongroom_registry::legal_holds::{self as recorded_holds, RecordedHold};
use strongroom_registry::tool_findings::{self, Examined, NewToolFinding};
use strongroom_registry::{
    ContentId, FindingId, FindingState, GenerationId, InstitutionId, ObjectId, Scope, Time, rebuild as rows,
};
use strongroom_storage::{Key, Store};

use super::object_summary::unreadable;
use super::{RebuildError, Summary};
use crate::Home;
use crate::activities::agents::tool;
use crate::deletion;
use crate::hold::ObjectHold;
use crate::legal_holds;
use crate::logs::LARGEST_READ;

/// Formats put at once.
const FORMATS_AT_ONCE: usize = 300;
/// Events put at once.
const EVENTS_AT_ONCE: usize = 1_000;

/// One file, as far as it matters here.
#[derive(Debug, Deserialize)]
struct Log {
    events: Vec<EventRow>,
    #[serde(default)]
    formats: Vec<NewFormat>,
    #[serde(default)]
    act: String,
    #[serde(default)]
    finding: Option<FindingId>,
    #[serde(default)]
    content: Option<ContentId>,
    #[serde(default)]
    store: String,
    #[serde(default)]
    detail: String,
    #[serde(default)]
    legal_hold: Option<RecordedHold>,
    /// The tool of an act of the agent `tool`.
    #[serde(default)]
    tool: String,
}

/// The object whose logs are read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Of<'a> {
    pub(super) root: &'a Key,
    pub(super) institution: InstitutionId,
    pub(super) object: ObjectId,
    pub(super) generation: GenerationId,
}

/// How many logs a store has of acts that the record does not know.
pub(super) fn unknown(home: &Home, store: &dyn Store, of: Of<'_>, summary: &mut Summary) -> Result<u64, RebuildError> {
    let mut count = 0;
    note_too_large(store, of, summary)?;
    each(store, of, &mut |log| {
        count += u64::from(!is_known(home, &log)?);
        Ok(())
    })?;
    Ok(count)
}

/// Takes up, in order of time, the acts that the record does not know; how many events they are.
pub(super) fn import(home: &Home, hold: &ObjectHold<'_>, store: &dyn Store, of: Of<'_>) -> Result<u64, RebuildError> {
    let mut taken = 0;
    each(store, of, &mut |log| {
        if is_known(home, &log)? {
            return Ok(());
        }
        let Log { events, formats, .. } = &log;
        let (object, generation) = (of.object, of.generation);
        for formats in formats.chunks(FORMATS_AT_ONCE) {
            let formats = formats.to_vec();
            hold.write(move |tx| identification::set_formats(tx, object, generation, &formats))?;
        }
        let state = match log.act.as_str() {
            "damage" => Some(FindingState::Open),
            "repair" => Some(FindingState::Repaired),
            "unrepairable" => Some(FindingState::Unrepairable),
            _ => None,
        };
        if let (Some(state), Some(finding)) = (state, log.finding) {
            settle(hold, of.object, &log, finding, state)?;
        }
        if log.act == tool::ACT {
            settle_tool_findings(hold, &log)?;
        }
        if let (legal_holds::ACT, Some(recorded)) = (log.act.as_str(), &log.legal_hold) {
            let (recorded, institution) = (recorded.clone(), of.institution);
            hold.write(move |tx| recorded_holds::import(tx, (institution, object), &recorded))?;
        }
        // Last: an act whose events are there is one that was taken up whole.
        for events in events.chunks(EVENTS_AT_ONCE) {
            let events = events.to_vec();
            taken += events.len() as u64;
            hold.write(move |tx| events::import(tx, &events))?;
        }
        Ok(())
    })?;
    Ok(taken)
}

/// Takes over what a log says became of a finding. A log says what was done, not what lies there now: the copy is due, and
/// counts as right when it has been read.
fn settle(
    hold: &ObjectHold<'_>,
    object: ObjectId,
    log: &Log,
    finding: FindingId,
    state: FindingState,
) -> Result<(), RebuildError> {
    let (content, store, detail) = (log.content, log.store.clone(), log.detail.clone());
    hold.write(move |tx| {
        let is_repaired = state == FindingState::Repaired;
        match content {
            Some(content) if is_repaired => fixity::set_unread(tx, content, &store)?,
            Some(content) => fixity::make_due(tx, content, &store)?,
            None if is_repaired => fixity::set_object_unread(tx, object, &store)?,
            None => fixity::make_object_due(tx, object, &store)?,
        }
        let known = fixity::finding(tx, Scope::System, finding)?;
        if state == FindingState::Open || known.is_none_or(|known| known.state == FindingState::Repaired) {
            return Ok(());
        }
        fixity::close_finding(tx, finding, state, &detail)
    })?;
    Ok(())
}

/// Opens and settles what virus checks found, as the events of a log say.
fn settle_tool_findings(hold: &ObjectHold<'_>, log: &Log) -> Result<(), RebuildError> {
    for events in log.events.chunks(EVENTS_AT_ONCE) {
        let (events, tool) = (events.to_vec(), log.tool.clone());
        hold.write(move |tx| {
            for event in events.iter().filter(|event| event.kind == tool::VIRUS_CHECK) {
                let (Some(object), Some(file), Some(content)) = (event.object, event.file, event.content) else {
                    continue;
                };
                let examined = Examined::File { object, file, content };
                if event.outcome != "failure" {
                    tool_findings::pass(tx, examined.finding_id(&tool))?;
                    continue;
                }
                let detail = event.outcome_detail.clone().unwrap_or_default();
                let (institution, tool, found_at) = (event.institution, tool.clone(), Time(event.time));
                tool_findings::open(
                    tx,
                    &NewToolFinding { institution, examined, tool, detail, activity: None, found_at },
                )?;
            }
            Ok(())
        })?;
    }
    Ok(())
}

fn is_known(home: &Home, log: &Log) -> Result<bool, RebuildError> {
    let Some(last) = log.events.last() else { return Ok(log.formats.is_empty()) };
    Ok(home.registry.read(|tx| rows::has_event(tx, last.id))?)
}

/// Notes the files that are too large to be inspected: what they say of later acts is not imported.
pub(super) fn note_too_large(store: &dyn Store, of: Of<'_>, summary: &mut Summary) -> Result<(), RebuildError> {
    for listed in store.list(&of.root.join("logs")?)? {
        let listed = listed?;
        if listed.size > LARGEST_READ {
            let reason = format!(
                "it has {} bytes, and no log that this program writes has more than {LARGEST_READ}: the later acts in it \
                 are not in the registry; inspect it, and remove it by hand if it is not yours",
                listed.size
            );
            summary.note(store.name(), listed.key.as_str(), reason);
        }
    }
    Ok(())
}

fn each(
    store: &dyn Store,
    of: Of<'_>,
    act: &mut dyn FnMut(Log) -> Result<(), RebuildError>,
) -> Result<(), RebuildError> {
    for listed in store.list(&of.root.join("logs")?)? {
        let listed = listed?;
        if listed.size > LARGEST_READ {
            continue;
        }
        let mut bytes = Vec::new();
        let body = store.open(&listed.key, 0, Some(LARGEST_READ))?;
        body.take(LARGEST_READ).read_to_end(&mut bytes).map_err(|error| unreadable(&listed.key, &error))?;
        let Ok(mut log) = serde_json::from_slice::<Log>(&bytes) else { continue };
        // Its events are imported with the deletion, where the inventories show that it was carried out.
        if log.act == deletion::ACT {
            continue;
        }
        log.events.retain(|event| event.object == Some(of.object) && event.institution == of.institution);
        act(log)?;
    }
    Ok(())
}
