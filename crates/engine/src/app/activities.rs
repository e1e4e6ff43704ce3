//! Activities: runs of agents over lists of record ids.

use std::collections::BTreeMap;

use serde_json::Value;
use strongroom_queue::{TaskRecord, TaskState, tasks};
use strongroom_records::{Cursor, ListId, Record, RecordsError, lists};
use strongroom_registry::activities::{self, Activity, ActivityFilter, Input, NewActivity, Rerun};
use strongroom_registry::tool_findings::{Examined, ToolFindingFilter};
use strongroom_registry::{
    ActivityId, InstitutionId, RegistryError, Scope, ToolFindingId, Transaction, documents, pipelines, tenants,
    tool_findings,
};

use super::authorization::{
    ACTIVITIES_AGENTS, ACTIVITIES_CANCEL, ACTIVITIES_DISMISS, ACTIVITIES_FINDINGS, ACTIVITIES_LIST, ACTIVITIES_PAUSE,
    ACTIVITIES_RERUN, ACTIVITIES_RESTART, ACTIVITIES_RESUME, ACTIVITIES_RETRY, ACTIVITIES_RUN, ACTIVITIES_SHOW,
    ACTIVITIES_WORK, Permission,
};
use super::deposits::only_institution;
use super::views::{ActivityNames, ActivityView, AgentView, RecordView, RetriedView, ToolFindingView};
use super::{Authorized, Listing, OpContext, PAGE, Page, find_institution};
use crate::activities::agents::tool;
use crate::activities::{Agent, AgentInput, Asked, Makes, TOPIC, cancel_rest};
use crate::journal::Target;
use crate::runtime::{Shutdown, Summary};
use crate::{EngineError, build_runtime};

pub use strongroom_records::RecordState;
pub use strongroom_registry::ActivityState;

/// The option that says whose an activity is; every agent that finds its records has it.
const INSTITUTION: &str = "institution";

/// An activity that is asked for.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// The agent.
    pub agent: String,
    /// Its options; one may be there several times.
    pub options: Vec<(String, String)>,
    /// The institution that it belongs to; may be an option as well. With an input it is that of the input.
    pub institution: Option<String>,
    /// The activity that its records come from.
    pub input: Option<ActivityId>,
    /// Whether it follows that activity until it has ended, instead of taking what was processed until now.
    pub follow: bool,
    /// Whether only what changed since the last activity of the same is taken.
    pub only_changed: bool,
}

/// Which activities are listed.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// Only those in this state.
    pub state: Option<ActivityState>,
    /// Only those of this agent.
    pub agent: Option<String>,
    /// Only those of this institution.
    pub institution: Option<String>,
    /// In which order, and at most how many on a page.
    pub listing: Listing,
}

/// The activity that a text names: its identifier, or a part of it that no other activity has.
pub fn named(context: &OpContext, text: &str) -> Result<ActivityId, EngineError> {
    context.authorize(&ACTIVITIES_SHOW)?.named(text)
}

/// The agents with their options.
pub fn agents(context: &OpContext) -> Result<Vec<AgentView>, EngineError> {
    let authorized = context.authorize(&ACTIVITIES_AGENTS)?;
    Ok(authorized.home().agents().all().map(AgentView::from).collect())
}

/// Makes an activity, which workers carry out.
///
/// # Errors
/// There is no such agent or input, an option is unknown or wrong, or the actor may not ask for it.
pub fn run(context: &OpContext, request: &Request) -> Result<ActivityView, EngineError> {
    let authorized = context.authorize(&ACTIVITIES_RUN)?;
    let home = authorized.home();
    let agent = home.agents().find(&request.agent)?;
    let mut options = options_of(&request.options);
    let wrong = |text: String, next: &str| Err(EngineError::Usage(text).next(next.to_owned()));
    let (input, institution) = match (agent.input(), request.input) {
        (AgentInput::Source, Some(_)) => {
            return wrong(
                format!("the agent {} finds its records itself, and takes none of another activity", agent.name()),
                "leave --input out",
            );
        }
        (AgentInput::Activity(_), None) => {
            return wrong(
                format!("the agent {} takes the records of another activity", agent.name()),
                "add --input ACTIVITY; \"strongroom activity list\" shows those there are",
            );
        }
        (AgentInput::Source | AgentInput::SourceOrActivity(_), None) => {
            let name = match (options.remove(INSTITUTION), &request.institution) {
                (Some(Value::String(name)), None) => name,
                (Some(Value::String(name)), Some(other)) if name == *other => name,
                (Some(_), _) => return wrong("an activity belongs to one institution".to_owned(), "name one of them"),
                (None, Some(name)) => name.clone(),
                (None, None) => only_institution(context)?,
            };
            let found = authorized.read(|tx| find_institution(tx, authorized.scope(), &name))?;
            (Input::Source, Some(found.id))
        }
        (AgentInput::Activity(takes) | AgentInput::SourceOrActivity(takes), Some(id)) => {
            let other = authorized.read(|tx| activities::find(tx, authorized.scope(), id))?;
            let made = made_by(&authorized, &other)?;
            made.check_for(agent, &other.agent)?;
            if let Some(name) = &request.institution {
                let found = authorized.read(|tx| find_institution(tx, authorized.scope(), name))?;
                if other.institution != Some(found.id) {
                    let text = format!("the input {id} does not belong to the institution {name}");
                    return wrong(text, "leave --institution out: an activity belongs where its input does");
                }
            }
            let input = if request.follow { Input::Follow(id, takes) } else { Input::Snapshot(id, takes) };
            (input, other.institution)
        }
    };
    if request.follow && input == Input::Source {
        return wrong("only another activity can be followed".to_owned(), "leave --follow out");
    }
    let options = Value::Object(options);
    let has_input = input != Input::Source;
    let asked = Asked { options: &options, scope: authorized.scope(), institution, has_input };
    let planned = agent.plan(home, &asked)?;
    if request.only_changed && planned.watermark.is_none() {
        return wrong("this source does not tell what has changed".to_owned(), "leave --only-changed out");
    }
    let new = NewActivity {
        id: ActivityId::new(),
        agent: agent.name().to_owned(),
        options: planned.options,
        institution,
        actor: authorized.actor().clone(),
        input,
        watermark: planned.watermark,
        only_changed: request.only_changed,
        step_of: None,
    };
    let id = new.id;
    authorized.write_and_wake(move |tx| {
        activities::create(tx, &new)?;
        // The task of one that follows checks at once whether its input has records.
        activities::enqueue(tx, new.id, new.institution)?;
        Ok((target(new.institution, id), ((), topics())))
    })?;
    Ok(authorized.read(|tx| view(tx, authorized.scope(), id))?)
}

/// What the results of an activity are; of one that passes on what it was given, what those are.
fn made_by(authorized: &Authorized<'_>, activity: &Activity) -> Result<Makes, EngineError> {
    let mut activity = activity.clone();
    loop {
        // One whose agent is not there any more may still have made something.
        let made = authorized.home().agents().find(&activity.agent).map_or(Makes::Other, Agent::makes);
        match (made, activity.input.of()) {
            (Makes::Input, Some((other, _))) => {
                activity = authorized.read(|tx| activities::find(tx, authorized.scope(), other))?;
            }
            (made, _) => return Ok(made),
        }
    }
}

/// Options as a JSON object of texts and lists of texts.
fn options_of(given: &[(String, String)]) -> serde_json::Map<String, Value> {
    let mut by_name: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (name, value) in given {
        by_name.entry(name).or_default().push(value);
    }
    let mut options = serde_json::Map::new();
    for (name, values) in by_name {
        let value = match values.as_slice() {
            [one] => Value::String((*one).to_owned()),
            several => several.iter().map(|one| Value::String((*one).to_owned())).collect(),
        };
        options.insert(name.to_owned(), value);
    }
    options
}

/// The topics of activities.
pub(super) fn topics() -> Vec<String> {
    vec![TOPIC.to_owned()]
}

fn target(institution: Option<InstitutionId>, id: ActivityId) -> Target {
    let about = format!("activity {id}");
    institution.map_or_else(|| Target::of_system(about.clone()), |institution| Target::of(institution, about.clone()))
}

/// Activities in the order that the filter says, behind `after`.
pub fn list(
    context: &OpContext,
    filter: &Filter,
    after: Option<ActivityId>,
) -> Result<Page<ActivityView, ActivityId>, EngineError> {
    let authorized = context.authorize(&ACTIVITIES_LIST)?;
    let scope = authorized.scope_of(filter.institution.as_deref())?;
    let wanted = ActivityFilter { state: filter.state, agent: filter.agent.clone(), order: filter.listing.order };
    let items = authorized.read(|tx| {
        let found = activities::list(tx, scope, &wanted, after, filter.listing.page().min(100))?;
        found.into_iter().map(|activity| view_of(tx, activity)).collect::<Result<Vec<_>, _>>()
    })?;
    let next = items.last().map(|last| last.activity);
    Ok(Page { items, next })
}

/// An activity with its counts, all of one moment.
pub fn show(context: &OpContext, id: ActivityId) -> Result<ActivityView, EngineError> {
    let authorized = context.authorize(&ACTIVITIES_SHOW)?;
    Ok(authorized.read(|tx| view(tx, authorized.scope(), id))?)
}

fn view(tx: &mut dyn Transaction, scope: Scope, id: ActivityId) -> Result<ActivityView, RegistryError> {
    let activity = activities::find(tx, scope, id)?;
    view_of(tx, activity)
}

/// An activity with what it belongs to.
pub(super) fn view_of(tx: &mut dyn Transaction, activity: Activity) -> Result<ActivityView, RegistryError> {
    let (status, are_removed) = match lists::status(tx, activity.list) {
        Ok(status) => (Some(status), false),
        Err(RecordsError::NoList(_)) => match lists::outcome(tx, activity.list)? {
            Some((status, _)) => (Some(status), true),
            None => (None, false),
        },
        Err(error) => return Err(error.into()),
    };
    let institution = match activity.institution {
        Some(id) => tenants::institution_by_id(tx, Scope::System, id)?.map(|found| found.identifier),
        None => None,
    };
    let pipeline = match activity.step_of {
        Some(of) => pipelines::get(tx, of.pipeline)?.map(|found| found.name),
        None => None,
    };
    let outcomes = if activity.agent == tool::NAME {
        Some(tool_findings::outcomes(tx, (activity.id, activity.run))?)
    } else {
        None
    };
    let now = tx.now()?;
    let names = ActivityNames { institution, pipeline, outcomes };
    let other = activities::waits_for(tx, &activity)?;
    let tried_again_at = tried_again_at(tx, &activity)?;
    let next =
        next_of(&activity, other.as_ref(), status.as_ref().map_or(0, |status| status.counts.failed), are_removed);
    Ok(ActivityView {
        records_removed: are_removed,
        waits_for: other.map(|other| other.id),
        tried_again_at,
        next,
        ..ActivityView::new(activity, status.as_ref(), names, now)
    })
}

/// When an activity is tried again after an error; none while a worker has its task.
fn tried_again_at(tx: &mut dyn Transaction, activity: &Activity) -> Result<Option<String>, RegistryError> {
    if !activity.state.is_at_work() || activity.attempt_error.is_none() {
        return Ok(None);
    }
    let waits = |task: &TaskRecord| {
        task.topic == TOPIC && matches!(task.state, TaskState::Ready | TaskState::Delayed) && task.spent > 0
    };
    let of_activity = tasks::of_key(tx, &activity.id.to_string())?;
    Ok(of_activity.into_iter().find(waits).map(|task| task.ready_at.to_string()))
}

/// What a person can do about an activity, and about the one that it waits for.
fn next_of(activity: &Activity, other: Option<&Activity>, failed: u64, are_removed: bool) -> Option<String> {
    let id = other.map_or(activity.id, |other| other.id);
    match other.map_or(activity.state, |other| other.state) {
        ActivityState::Paused => Some(format!("\"strongroom activity resume {id}\" has it go on")),
        ActivityState::Failed => {
            Some(format!("remove the cause; \"strongroom activity restart {id}\" has it go on where it was"))
        }
        ActivityState::FinishedWithErrors if are_removed => {
            Some(format!("\"strongroom activity rerun {id} --anew\" finds its records anew"))
        }
        ActivityState::FinishedWithErrors if failed > 0 => Some(format!(
            "\"strongroom activity records {id} --state failed\" shows why; \"strongroom activity retry-failed {id}\" processes them again"
        )),
        _ => None,
    }
}

/// Where a listing of records goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordsAfter {
    /// The list that is read: another run of the activity has another one.
    list: ListId,
    state: RecordState,
    cursor: Cursor,
}

/// Which records of an activity are listed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RecordFilter {
    /// Only those in this state.
    pub state: Option<RecordState>,
    /// Only those of which the tool said this, `pass` or `fail`: processed ones of files and documents.
    pub outcome: Option<&'static str>,
}

impl From<Option<RecordState>> for RecordFilter {
    fn from(state: Option<RecordState>) -> Self {
        Self { state, outcome: None }
    }
}

/// Records of an activity, of one state or of all, state by state.
///
/// # Errors
/// There is no such activity, its records were removed, or it has been run again since the page before; they are to have an outcome, and
/// no tool was run for them, or they are in another state than processed.
pub fn records(
    context: &OpContext,
    id: ActivityId,
    filter: impl Into<RecordFilter>,
    mut after: Option<RecordsAfter>,
) -> Result<Page<RecordView, RecordsAfter>, EngineError> {
    let authorized = context.authorize(&ACTIVITIES_SHOW)?;
    let RecordFilter { mut state, outcome } = filter.into();
    let Some(outcome) = outcome else { return records_in(&authorized, id, state, after) };
    if state.replace(RecordState::Processed).is_some_and(|state| state != RecordState::Processed) {
        let error = EngineError::Usage("only processed records have an outcome".to_owned());
        return Err(error.next("leave --state out, or give --state processed"));
    }
    let agent = authorized.read(|tx| activities::find(tx, authorized.scope(), id))?.agent;
    if agent != tool::NAME {
        let error = EngineError::Usage(format!("records of the agent {agent} have no outcome of a tool"));
        return Err(error.next("leave --outcome out; activities of the agent tool have records with outcomes"));
    }
    loop {
        let mut page = records_in(&authorized, id, state, after)?;
        page.items.retain(|record| record.outcome.as_deref() == Some(outcome));
        after = page.next;
        if !page.items.is_empty() || after.is_none() {
            return Ok(page);
        }
    }
}

/// A page of records, of one state or of all, state by state.
fn records_in(
    authorized: &Authorized<'_>,
    id: ActivityId,
    state: Option<RecordState>,
    after: Option<RecordsAfter>,
) -> Result<Page<RecordView, RecordsAfter>, EngineError> {
    let states: Vec<RecordState> = match state {
        Some(state) => vec![state],
        None => RecordState::ALL.into_iter().filter(|state| after.is_none_or(|at| *state >= at.state)).collect(),
    };
    let mut page = Page { items: Vec::new(), next: None };
    let mut list = after.map(|at| at.list);
    for state in states {
        let from = after.filter(|at| at.state == state).map_or(Cursor::START, |at| at.cursor);
        let (found, of) = authorized
            .read(|tx| {
                let activity = activities::find(tx, authorized.scope(), id)?;
                activities::check_records(tx, &activity, "list them")?;
                let found = lists::page(tx, activity.list, (state, from), PAGE)?;
                let shown = |record: Record| {
                    let cursor = record.cursor;
                    Ok((shown_record(tx, &activity, record, state)?, cursor))
                };
                let found = found.into_iter().map(shown).collect::<Result<Vec<_>, RegistryError>>()?;
                Ok((found, activity.list))
            })
            .map_err(without_records)?;
        if list.is_some_and(|list| list != of) {
            let text = format!("the activity {id} was run again while its records were listed, and has others now");
            return Err(EngineError::Refused(text).next("what was listed is not whole; list the records again"));
        }
        list = Some(of);
        page.next = found.last().map(|(_, cursor)| RecordsAfter { list: of, state, cursor: *cursor });
        page.items.extend(found.into_iter().map(|(record, _)| record));
        if page.next.is_some() {
            break;
        }
    }
    Ok(page)
}

/// A record; of one that a tool is run for, with the file and what the tool said.
fn shown_record(
    tx: &mut dyn Transaction,
    activity: &Activity,
    record: Record,
    state: RecordState,
) -> Result<RecordView, RegistryError> {
    let view = RecordView::new(record, state);
    if activity.agent != tool::NAME {
        return Ok(view);
    }
    let about = tool::about(tx, activity.institution, &view.record)?;
    let said = tool::said_of(tx, activity.institution, view.result.as_deref())?;
    let (outcome, message) = said.map(|said| (said.outcome, said.message)).unzip();
    let message = message.flatten();
    Ok(RecordView { object: about.object, path: about.path, version: about.version, outcome, message, ..view })
}

/// An error where records are needed that were removed after their time, with what to do.
fn without_records(error: impl Into<EngineError>) -> EngineError {
    let error = error.into();
    match &error {
        EngineError::Registry(RegistryError::State { id, state, .. }) if state == activities::RECORDS_REMOVED => {
            let next =
                format!("\"strongroom activity rerun {id} --anew\" finds the records of its input or source anew");
            error.next(next)
        }
        EngineError::Registry(RegistryError::State { id, state, .. }) if state == activities::LIST_UNFINISHED => {
            let next = format!(
                "\"strongroom activity restart {id}\" has it go on where it was, and \"strongroom activity rerun {id} --anew\" finds all of its \
                 records anew"
            );
            error.next(next)
        }
        _ => error,
    }
}

/// Changes an activity in one transaction, with a line of the journal.
fn steer(
    context: &OpContext,
    permission: &'static Permission,
    id: ActivityId,
    act: impl Fn(&mut dyn Transaction, Scope) -> Result<(), RegistryError> + Send + 'static,
) -> Result<ActivityView, EngineError> {
    let authorized = context.authorize(permission)?;
    let scope = authorized.scope();
    authorized.write_and_wake(move |tx| {
        act(tx, scope)?;
        let activity = activities::find(tx, scope, id)?;
        Ok((target(activity.institution, id), ((), topics())))
    })?;
    Ok(authorized.read(|tx| view(tx, scope, id))?)
}

/// Keeps an activity from going on; workers stop after the record that they are at.
pub fn pause(context: &OpContext, id: ActivityId) -> Result<ActivityView, EngineError> {
    steer(context, &ACTIVITIES_PAUSE, id, move |tx, scope| activities::pause(tx, scope, id))
}

/// Has a paused activity go on.
pub fn resume(context: &OpContext, id: ActivityId) -> Result<ActivityView, EngineError> {
    steer(context, &ACTIVITIES_RESUME, id, move |tx, scope| activities::resume(tx, scope, id)).map_err(instead)
}

/// An error where the state of an activity does not allow that it goes on in one way, with the way that there is.
fn instead(error: EngineError) -> EngineError {
    let EngineError::Registry(RegistryError::State { what: "activity", id, state, .. }) = &error else { return error };
    let next = match state.parse::<ActivityState>() {
        Ok(ActivityState::Paused) => format!("\"strongroom activity resume {id}\" has it go on"),
        Ok(ActivityState::Failed) => format!("\"strongroom activity restart {id}\" has it go on where it was"),
        Ok(ActivityState::FinishedWithErrors) => {
            format!("\"strongroom activity retry-failed {id}\" processes its failed records again")
        }
        Ok(ActivityState::Finished | ActivityState::Cancelled) => {
            format!("\"strongroom activity rerun {id}\" runs it again")
        }
        _ => return error,
    };
    error.next(next)
}

/// Has an activity that failed go on where it was.
pub fn restart(context: &OpContext, id: ActivityId) -> Result<ActivityView, EngineError> {
    steer(context, &ACTIVITIES_RESTART, id, move |tx, scope| activities::restart(tx, scope, id)).map_err(instead)
}

/// Begins another run of an activity that has ended, over the same records or over what its input has now.
pub fn rerun(context: &OpContext, id: ActivityId, is_anew: bool) -> Result<ActivityView, EngineError> {
    let rerun = if is_anew { Rerun::Anew } else { Rerun::SameRecords };
    if !is_anew {
        let authorized = context.authorize(&ACTIVITIES_RERUN)?;
        let activity = authorized.read(|tx| activities::find(tx, authorized.scope(), id))?;
        // One whose agent is not there any more is refused by the worker.
        if let Ok(agent) = authorized.home().agents().find(&activity.agent) {
            agent.check_rerun(&activity)?;
        }
    }
    steer(context, &ACTIVITIES_RERUN, id, move |tx, scope| activities::rerun(tx, scope, id, rerun).map(drop))
        .map_err(without_records)
}

/// Ends an activity; what is still to be processed is cancelled.
pub fn cancel(context: &OpContext, id: ActivityId) -> Result<ActivityView, EngineError> {
    let authorized = context.authorize(&ACTIVITIES_CANCEL)?;
    let scope = authorized.scope();
    let activity = authorized.write_and_wake(move |tx| {
        activities::cancel(tx, scope, id)?;
        let activity = activities::find(tx, scope, id)?;
        // Where this process is killed, a worker cancels the rest.
        activities::enqueue(tx, id, activity.institution)?;
        Ok((target(activity.institution, id), (activity, topics())))
    })?;
    cancel_rest(authorized.home(), &activity)?;
    Ok(authorized.read(|tx| view(tx, scope, id))?)
}

/// Has the records of an activity processed again that have failed until now, and no others.
pub fn retry_failed(context: &OpContext, id: ActivityId) -> Result<RetriedView, EngineError> {
    let authorized = context.authorize(&ACTIVITIES_RETRY)?;
    let scope = authorized.scope();
    // A worker may fail them again before all of them are changed.
    let until = authorized.read(|tx| Ok::<_, RegistryError>(tx.now()?))?;
    let retried = authorized.write_and_wake(move |tx| {
        let changed = activities::retry_failed(tx, scope, id, until)?;
        let activity = activities::find(tx, scope, id)?;
        Ok((target(activity.institution, id), (changed, topics())))
    });
    let mut records = retried.map_err(without_records).map_err(instead)?;
    let mut changed = records;
    while changed > 0 {
        changed = authorized.home().registry.write(move |tx| activities::retry_failed(tx, scope, id, until))?;
        records += changed;
    }
    Ok(RetriedView { activity: id, records })
}

/// Which findings of tools are listed.
#[derive(Debug, Clone, Default)]
pub struct FindingFilter {
    /// Only those of this institution.
    pub institution: Option<String>,
    /// Also those that are settled.
    pub settled_too: bool,
    /// All that this activity has found, settled or not.
    pub activity: Option<ActivityId>,
}

/// What virus checks have found in files that are kept, in order of identifiers, behind `after`.
pub fn findings(
    context: &OpContext,
    filter: &FindingFilter,
    after: Option<ToolFindingId>,
) -> Result<Page<ToolFindingView, ToolFindingId>, EngineError> {
    let authorized = context.authorize(&ACTIVITIES_FINDINGS)?;
    let scope = authorized.scope_of(filter.institution.as_deref())?;
    let wanted = ToolFindingFilter { settled_too: filter.settled_too, activity: filter.activity };
    let found = authorized.read(|tx| tool_findings::list(tx, scope, wanted, after, PAGE))?;
    let next = found.last().map(|last| last.id);
    Ok(Page { items: found.into_iter().map(ToolFindingView::from).collect(), next })
}

/// The finding of a tool that a text names: its identifier, or a part of it that no other finding has.
pub fn finding_named(context: &OpContext, text: &str) -> Result<ToolFindingId, EngineError> {
    context.authorize(&ACTIVITIES_FINDINGS)?.named(text)
}

/// The longest note of a dismissal, in characters.
const LONGEST_NOTE: usize = 2_000;

/// Settles a finding of a tool, because a person has decided that it is nothing.
///
/// # Errors
/// The note is empty or too long, there is no such finding, or it is settled already.
pub fn dismiss(context: &OpContext, id: ToolFindingId, note: &str) -> Result<ToolFindingView, EngineError> {
    let authorized = context.authorize(&ACTIVITIES_DISMISS)?;
    let note = note.trim().to_owned();
    if note.is_empty() || note.chars().count() > LONGEST_NOTE {
        let error = EngineError::Usage(format!("a note has 1 to {LONGEST_NOTE} characters"));
        return Err(error.next("say why the finding is nothing, with --note"));
    }
    let scope = authorized.scope();
    let found = authorized.write(move |tx| {
        let found = tool_findings::dismiss(tx, scope, id, &note)?;
        let place = match &found.examined {
            Examined::Document { document, .. } => documents::entity(*document),
            Examined::File { .. } => found.object_identifier.clone().unwrap_or_default(),
        };
        let about = format!("finding {id} of the tool {} in {place}", found.tool);
        Ok((Target::of(found.institution, about), found))
    })?;
    Ok(found.into())
}

/// Works on activities in this process, and on work items where one of these waits for such, until all of these have ended, or wait for a person, or a stop is asked for.
pub fn work(context: &OpContext, ids: &[ActivityId], shutdown: &Shutdown) -> Result<Summary, EngineError> {
    let scope = context.caller().scope;
    let context = context.for_work();
    let authorized = context.authorize(&ACTIVITIES_WORK)?;
    let home = authorized.home();
    let chosen = authorized
        .read(|tx| ids.iter().map(|id| activities::find(tx, scope, *id)).collect::<Result<Vec<_>, RegistryError>>())?;
    let mut waits_for_items = false;
    for activity in &chosen {
        waits_for_items |= takes_work_items_that_end(&authorized, activity)?;
    }
    // What waits for work items goes on when these have ended.
    let topics = (!waits_for_items).then(topics);
    let runtime = build_runtime(home, topics.as_deref())?.build();
    let is_over = || home.registry.read(|tx| is_over(tx, scope, ids)).unwrap_or(false);
    Ok(runtime.run_until(shutdown, &is_over))
}

/// Whether an activity does something with the work items of another one when these have ended.
fn takes_work_items_that_end(authorized: &Authorized<'_>, activity: &Activity) -> Result<bool, EngineError> {
    let waits = authorized.home().agents().find(&activity.agent).is_ok_and(Agent::waits_for_work_items);
    let Some((other, _)) = activity.input.of().filter(|_| waits) else { return Ok(false) };
    let other = authorized.read(|tx| activities::find(tx, authorized.scope(), other))?;
    Ok(made_by(authorized, &other)? == Makes::WorkItems)
}

/// Whether none of these activities goes on without a person's act.
fn is_over(tx: &mut dyn Transaction, scope: Scope, ids: &[ActivityId]) -> Result<bool, RegistryError> {
    for id in ids {
        let activity = activities::find(tx, scope, *id)?;
        if !activity.state.is_at_work() {
            continue;
        }
        // What has no task has taken all that there was.
        let waits = activities::waits_for(tx, &activity)?.is_some();
        if !waits || !tasks::of_key(tx, &id.to_string())?.is_empty() {
            return Ok(false);
        }
    }
    Ok(true)
}
