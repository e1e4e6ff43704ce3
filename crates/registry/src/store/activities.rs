//! Activities: runs of agents over lists of record ids. The row of an activity says where it is; its list
//! ([`strongroom_records`]) says what came of each record. A state, its list and the task that follows from both change in one
//! transaction; whoever changes a state locks the row first.

use strongroom_database::{Row, Statement, Transaction, Value};
use strongroom_queue::{NewTask, tasks};
use strongroom_records::{ListId, RecordsError, Takes, lists};
use uuid::Uuid;

pub use super::activity_runs::{
    LIST_UNFINISHED, RECORDS_REMOVED, Rerun, begin, cancel, check_records, fail, finish_if_done, is_taken_from,
    may_get_more, pause, remove_previous, reopen_followers, rerun, restart, resume, retry_failed,
};
pub use super::populating::{Populated, populate, rebuild_list};
use super::{journal, watermarks};
pub use crate::model::activity::{Activity, Input, NewActivity, StepOf, TRANSITIONS};
use crate::model::actor::Actor;
use crate::model::ids::derived;
use crate::{ActivityId, ActivityInput, ActivityState, InstitutionId, ItemId, Order, PipelineId, RegistryError, Scope};

/// The topic of the tasks that carry an activity on; the key of a task is the activity.
pub const TOPIC: &str = "activity.run";
/// Attempts that such a task has.
const MAX_ATTEMPTS: u32 = 10;
/// The most bytes of the options of an activity.
pub const LONGEST_OPTIONS: usize = 65_536;
/// Followers that are read at once.
const PAGE: usize = 100;

/// Which activities are listed.
#[derive(Debug, Clone, Default)]
pub struct ActivityFilter {
    /// Only those in this state.
    pub state: Option<ActivityState>,
    /// Only those of this agent.
    pub agent: Option<String>,
    /// In which order.
    pub order: Order,
}

/// Makes an activity with its list, and its first task unless it follows another one: then the task comes when there are records
/// ([`wake_followers`]). What it follows belongs to the same institution.
///
/// # Errors
/// [`RegistryError::NotFound`] where there is no such other activity; [`RegistryError::State`] where the options are too long.
pub fn create(tx: &mut dyn Transaction, new: &NewActivity) -> Result<(), RegistryError> {
    let options = new.options.to_string();
    if options.len() > LONGEST_OPTIONS {
        return Err(RegistryError::State {
            what: "activity",
            id: new.id.to_string(),
            state: format!("given options of {} bytes", options.len()),
            act: format!("keep more than {LONGEST_OPTIONS}"),
        });
    }
    let other = match new.input.of() {
        None => None,
        Some((id, takes)) => Some((input_of(tx, new, id)?, takes)),
    };
    let watermark = match &new.watermark {
        Some(name) if new.only_changed => watermarks::get(tx, new.institution, name)?.map(|found| found.value),
        _ => None,
    };
    journal::know(tx, &new.actor)?;
    let (list, now) = (ListId::new(), tx.now()?);
    lists::create(tx, list)?;
    let values = [
        new.id.into(),
        new.agent.as_str().into(),
        options.into(),
        new.institution.into(),
        new.actor.id.into(),
        list.0.into(),
        new.input.kind().as_str().into(),
        other.as_ref().map(|(other, _)| other.id).into(),
        other.as_ref().map(|(other, _)| other.list.0).into(),
        other.as_ref().is_some_and(|(_, takes)| *takes == Takes::Results).into(),
        new.watermark.as_deref().into(),
        watermark.into(),
        new.step_of.map(|step| step.pipeline).into(),
        new.step_of.map(|step| step.run).into(),
        new.step_of.map(|step| step.step).into(),
        now.into(),
    ];
    tx.execute(Statement("activities.insert"), &values)?;
    if matches!(new.input, Input::Follow(..)) {
        return Ok(());
    }
    enqueue(tx, new.id, new.institution)
}

/// The activity that a new one takes its records from.
fn input_of(tx: &mut dyn Transaction, new: &NewActivity, id: ActivityId) -> Result<Activity, RegistryError> {
    let other = get(tx, Scope::System, id)?.filter(|other| other.institution == new.institution);
    other.ok_or_else(|| RegistryError::NotFound { what: "activity", id: id.to_string() })
}

/// Bytes of an identifier in which its time is.
const BYTES_OF_TIME: usize = 6;

/// The identifier of the work item that an activity makes of a record in its present run: the same however often it is made. It begins with
/// the time of the activity's own, so that it is listed with others in the order of time.
pub fn item_of(activity: &Activity, record: &str) -> ItemId {
    let hash = derived(activity.id.0, &format!("item:{}:{record}", activity.run));
    let mut bytes = hash.into_bytes();
    for (byte, of_time) in bytes.iter_mut().zip(activity.id.0.as_bytes()).take(BYTES_OF_TIME) {
        *byte = *of_time;
    }
    ItemId(Uuid::from_bytes(bytes))
}

/// Puts the task of an activity into its topic; one waits at most.
pub fn enqueue(
    tx: &mut dyn Transaction,
    id: ActivityId,
    institution: Option<InstitutionId>,
) -> Result<(), RegistryError> {
    let task = NewTask {
        fair_key: institution.map(|id| id.to_string()).unwrap_or_default(),
        max_attempts: MAX_ATTEMPTS,
        ..NewTask::new(TOPIC, id.to_string(), "")
    };
    tasks::enqueue(tx, &[task])?;
    Ok(())
}

/// Has those that follow an activity, and are at work, look for records; how many there are. To be called in a transaction in which
/// records were processed, or in which the activity has ended.
pub fn wake_followers(tx: &mut dyn Transaction, id: ActivityId) -> Result<u64, RegistryError> {
    let (mut after, mut woken) = (ActivityId(Uuid::nil()), 0);
    loop {
        let page = followers(tx, id, after)?;
        let Some(last) = page.last() else { return Ok(woken) };
        after = last.id;
        for follower in page.iter().filter(|one| one.state.is_at_work() && matches!(one.input, Input::Follow(..))) {
            enqueue(tx, follower.id, follower.institution)?;
            woken += 1;
        }
    }
}

/// The next of those that follow an activity.
pub(super) fn followers(
    tx: &mut dyn Transaction,
    id: ActivityId,
    after: ActivityId,
) -> Result<Vec<Activity>, RegistryError> {
    let values = [id.into(), after.into(), PAGE.into()];
    tx.query(Statement("activities.followers"), &values)?.iter().map(activity_row).collect()
}

/// The activity of this identifier.
pub fn get(tx: &mut dyn Transaction, scope: Scope, id: ActivityId) -> Result<Option<Activity>, RegistryError> {
    let row = tx.query_one(Statement("activities.get"), &[id.into(), scope.value()])?;
    row.as_ref().map(activity_row).transpose()
}

/// As [`get`], where it has to be there.
pub fn find(tx: &mut dyn Transaction, scope: Scope, id: ActivityId) -> Result<Activity, RegistryError> {
    get(tx, scope, id)?.ok_or_else(|| RegistryError::NotFound { what: "activity", id: id.to_string() })
}

/// The activity whose present list this is: for a worker that was given records of it.
pub fn of_list(tx: &mut dyn Transaction, list: ListId) -> Result<Option<Activity>, RegistryError> {
    tx.query_one(Statement("activities.of_list"), &[list.0.into()])?.as_ref().map(activity_row).transpose()
}

/// As [`find`]; it stays as it is until the transaction ends.
pub fn lock(tx: &mut dyn Transaction, scope: Scope, id: ActivityId) -> Result<Activity, RegistryError> {
    tx.execute(Statement("activities.lock"), &[id.into()])?;
    find(tx, scope, id)
}

/// Activities in the order that the filter says, behind `after`.
pub fn list(
    tx: &mut dyn Transaction,
    scope: Scope,
    filter: &ActivityFilter,
    after: Option<ActivityId>,
    limit: usize,
) -> Result<Vec<Activity>, RegistryError> {
    let (statement, start) = match filter.order {
        Order::NewestFirst => (Statement("activities.newest"), Uuid::max()),
        Order::OldestFirst => (Statement("activities.list"), Uuid::nil()),
    };
    let values = [
        after.unwrap_or(ActivityId(start)).into(),
        scope.value(),
        filter.state.map(ActivityState::as_str).into(),
        filter.agent.as_deref().into(),
        limit.into(),
    ];
    tx.query(statement, &values)?.iter().map(activity_row).collect()
}

/// How many activities are in a state, up to `limit`.
pub fn count_in_state(tx: &mut dyn Transaction, state: ActivityState, limit: usize) -> Result<u64, RegistryError> {
    let row = tx.query_one(Statement("activities.count_in_state"), &[state.as_str().into(), limit.into()])?;
    Ok(row.map(|row| row.count("activities")).transpose()?.unwrap_or_default())
}

/// The newest activities in a state.
pub fn in_state(tx: &mut dyn Transaction, state: ActivityState, limit: usize) -> Result<Vec<Activity>, RegistryError> {
    let rows = tx.query(Statement("activities.in_state"), &[state.as_str().into(), limit.into()])?;
    rows.iter().map(activity_row).collect()
}

/// The newest activities at work that follow one that has failed or is paused, or follow such a one, up to `limit`.
pub fn behind(tx: &mut dyn Transaction, state: ActivityState, limit: usize) -> Result<Vec<ActivityId>, RegistryError> {
    let rows = tx.query(Statement("activities.behind"), &[state.as_str().into(), limit.into()])?;
    rows.iter().map(|row| Ok(ActivityId(row.uuid("id")?))).collect()
}

/// The newest activities whose last attempt could not go on, and that are tried again.
pub fn tried_again(tx: &mut dyn Transaction, limit: usize) -> Result<Vec<Activity>, RegistryError> {
    tx.query(Statement("activities.tried_again"), &[limit.into()])?.iter().map(activity_row).collect()
}

/// Notes why an attempt at an activity could not go on. It stays until something succeeds, or the state of the activity changes.
pub fn note_attempt_error(tx: &mut dyn Transaction, id: ActivityId, error: &str) -> Result<(), RegistryError> {
    let error = super::activity_runs::bounded(error);
    tx.execute(Statement("activities.set_attempt_error"), &[id.into(), error.into()])?;
    Ok(())
}

/// Notes that something has succeeded since.
pub fn clear_attempt_error(tx: &mut dyn Transaction, id: ActivityId) -> Result<(), RegistryError> {
    tx.execute(Statement("activities.clear_attempt_error"), &[id.into()])?;
    Ok(())
}

/// The activity for which one that follows waits, because only a person can have it go on: it has failed or is paused, and nothing between the
/// two has work.
pub fn waits_for(tx: &mut dyn Transaction, activity: &Activity) -> Result<Option<Activity>, RegistryError> {
    let mut follower = activity.clone();
    while follower.state.is_at_work()
        && let Input::Follow(other, _) = follower.input
    {
        let other = find(tx, Scope::System, other)?;
        if follower.input_list != Some(other.list) || other.state.is_ended_for_followers() {
            return Ok(None);
        }
        if !other.state.is_at_work() {
            return Ok(Some(other));
        }
        if !tasks::of_key(tx, &other.id.to_string())?.is_empty() {
            return Ok(None);
        }
        follower = other;
    }
    Ok(None)
}

/// Notes how far an activity will have come when it ends well: the watermark that the next run of the same begins behind.
pub fn note_watermark(tx: &mut dyn Transaction, id: ActivityId, value: &str) -> Result<(), RegistryError> {
    tx.execute(Statement("activities.set_watermark_to"), &[id.into(), value.into()])?;
    Ok(())
}

pub(super) fn activity_row(row: &Row) -> Result<Activity, RegistryError> {
    let text = |column: &'static str| Ok::<_, RegistryError>(row.optional_text(column)?.map(str::to_owned));
    let options = row.text("options")?;
    Ok(Activity {
        id: ActivityId(row.uuid("id")?),
        agent: row.text("agent")?.to_owned(),
        options: serde_json::from_str(options)
            .map_err(|_| RegistryError::Corrupt { wanted: "the options of an activity", found: options.to_owned() })?,
        institution: row.optional_uuid("institution_id")?.map(InstitutionId),
        actor: Actor::of(
            row.text("actor_kind")?.parse()?,
            row.text("actor_name")?,
            row.optional_text("actor_account")?,
            row.optional_text("actor_key")?,
        ),
        state: row.text("state")?.parse()?,
        run: row.count("run")?,
        list: ListId(row.uuid("list_id")?),
        previous_list: row.optional_uuid("previous_list_id")?.map(ListId),
        is_rebuilding: row.bool("is_rebuilding")?,
        input: input(row)?,
        input_list: row.optional_uuid("input_list_id")?.map(ListId),
        watermark: text("watermark")?,
        watermark_from: text("watermark_from")?,
        watermark_to: text("watermark_to")?,
        step_of: step_of(row)?,
        made_at: row.time("made_at")?,
        started_at: row.optional_time("started_at")?,
        resumed_at: row.optional_time("resumed_at")?,
        ended_before: row.count("ended_before")?,
        ended_at: row.optional_time("ended_at")?,
        changed_at: row.time("changed_at")?,
        error: text("error")?,
        attempt_error: text("attempt_error")?,
    })
}

fn input(row: &Row) -> Result<Input, RegistryError> {
    let kind: ActivityInput = row.text("input")?.parse()?;
    let takes = if row.bool("takes_results")? { Takes::Results } else { Takes::Records };
    let other = row.optional_uuid("input_activity_id")?.map(ActivityId);
    match (kind, other) {
        (ActivityInput::Source, None) => Ok(Input::Source),
        (ActivityInput::Snapshot, Some(other)) => Ok(Input::Snapshot(other, takes)),
        (ActivityInput::Follow, Some(other)) => Ok(Input::Follow(other, takes)),
        _ => Err(RegistryError::Corrupt { wanted: "the input of an activity", found: kind.to_string() }),
    }
}

fn step_of(row: &Row) -> Result<Option<StepOf>, RegistryError> {
    let Some(pipeline) = row.optional_uuid("pipeline_id")?.map(PipelineId) else { return Ok(None) };
    Ok(Some(StepOf { pipeline, run: row.count("pipeline_run")?, step: row.count("step")? }))
}

/// Moves a locked activity into a state, and sets its times.
///
/// # Errors
/// [`RegistryError::State`] where that state may not follow.
pub(super) fn set_state(
    tx: &mut dyn Transaction,
    activity: &Activity,
    to: ActivityState,
    error: Option<&str>,
) -> Result<(), RegistryError> {
    if !activity.state.may_become(to) {
        return Err(refused(activity, &format!("make it {to}")));
    }
    let now = tx.now()?;
    let (mut started_at, mut resumed_at, mut ended_before) =
        (activity.started_at, activity.resumed_at, activity.ended_before);
    if matches!(to, ActivityState::Populating | ActivityState::Running) {
        started_at = started_at.or(Some(now));
        if activity.state == ActivityState::Queued {
            (resumed_at, ended_before) = (Some(now), ended_records(tx, activity)?);
        }
    }
    let values: [Value; 8] = [
        activity.id.into(),
        to.as_str().into(),
        started_at.into(),
        resumed_at.into(),
        ended_before.into(),
        to.is_ended().then_some(now).into(),
        error.map(super::activity_runs::bounded).into(),
        now.into(),
    ];
    tx.execute(Statement("activities.set_state"), &values)?;
    Ok(())
}

/// How many records of an activity were processed or have failed; none where its list was lost.
fn ended_records(tx: &mut dyn Transaction, activity: &Activity) -> Result<u64, RegistryError> {
    match lists::status(tx, activity.list) {
        Ok(status) => Ok(status.counts.processed + status.counts.failed),
        Err(RecordsError::NoList(_)) => Ok(0),
        Err(error) => Err(error.into()),
    }
}

pub(super) fn refused(activity: &Activity, act: &str) -> RegistryError {
    RegistryError::State {
        what: "activity",
        id: activity.id.to_string(),
        state: activity.state.to_string(),
        act: act.to_owned(),
    }
}
