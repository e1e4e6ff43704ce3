//! How an activity goes on and ends, and what people ask of it. Each function locks the row of the activity first.

use strongroom_database::{Statement, Time, Transaction};
use strongroom_records::{ListId, RecordsError, lists};
use uuid::Uuid;

use super::activities::{enqueue, find, followers, lock, refused, set_state, wake_followers};
use super::watermarks;
use crate::model::activity::{Activity, Input};
use crate::{ActivityId, ActivityState, RegistryError, Scope};

/// Records that a person's request changes in its own transaction; the caller repeats it for the rest.
const PAGE: usize = 1_000;
/// Longer errors are cut, in characters.
const LONGEST_ERROR: usize = 2_000;

/// The state of an activity, in words, whose records were removed after their time.
pub const RECORDS_REMOVED: &str = "without its records, which were removed after their time";

/// The state of an activity, in words, that has ended before all of its records were in its list.
pub const LIST_UNFINISHED: &str = "without the rest of its records, which it had not found when it ended";

/// What another run of an activity takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rerun {
    /// All records of the list of the run before.
    SameRecords,
    /// What its input has now.
    Anew,
}

pub(super) fn bounded(error: &str) -> String {
    error.chars().take(LONGEST_ERROR).collect()
}

/// Notes that an activity is being populated, or that its records are processed; as it is then. One that a person has stopped
/// meanwhile, or that is further already, stays as it is: the worker reads its state.
pub fn begin(tx: &mut dyn Transaction, id: ActivityId, to: ActivityState) -> Result<Activity, RegistryError> {
    let activity = lock(tx, Scope::System, id)?;
    if activity.state.is_at_work() && activity.state.may_become(to) {
        set_state(tx, &activity, to, None)?;
    }
    find(tx, Scope::System, id)
}

/// Ends an activity whose list is complete and without open records, moves its watermark, and wakes those that follow it; the state in
/// which it ended. None where there is more to do, or the activity is not at work.
///
/// # Errors
/// [`RegistryError::Records`] with [`RecordsError::NoList`] where its list was lost: see [`super::populating::rebuild_list`].
pub fn finish_if_done(tx: &mut dyn Transaction, id: ActivityId) -> Result<Option<ActivityState>, RegistryError> {
    let activity = lock(tx, Scope::System, id)?;
    if !activity.state.is_at_work() {
        return Ok(None);
    }
    let status = lists::status(tx, activity.list)?;
    if !status.is_finished() {
        return Ok(None);
    }
    let has_failures = status.counts.failed > 0;
    let to = if has_failures { ActivityState::FinishedWithErrors } else { ActivityState::Finished };
    set_state(tx, &activity, to, None)?;
    watermarks::move_for(tx, &activity)?;
    wake_followers(tx, id)?;
    Ok(Some(to))
}

/// Ends an activity that cannot go on as a whole. Its list stays, so that it can be restarted. Those that follow it wait for that.
pub fn fail(tx: &mut dyn Transaction, id: ActivityId, error: &str) -> Result<(), RegistryError> {
    let activity = lock(tx, Scope::System, id)?;
    set_state(tx, &activity, ActivityState::Failed, Some(error))
}

/// Keeps an activity from going on. What workers have claimed, they end or release.
pub fn pause(tx: &mut dyn Transaction, scope: Scope, id: ActivityId) -> Result<(), RegistryError> {
    let activity = lock(tx, scope, id)?;
    set_state(tx, &activity, ActivityState::Paused, None)
}

/// Has a paused activity go on.
pub fn resume(tx: &mut dyn Transaction, scope: Scope, id: ActivityId) -> Result<(), RegistryError> {
    let activity = lock(tx, scope, id)?;
    if activity.state != ActivityState::Paused {
        return Err(refused(&activity, "resume it"));
    }
    queue(tx, &activity)
}

/// Has an activity that failed go on where it was: what ended stays ended.
pub fn restart(tx: &mut dyn Transaction, scope: Scope, id: ActivityId) -> Result<(), RegistryError> {
    let activity = lock(tx, scope, id)?;
    if activity.state != ActivityState::Failed {
        return Err(refused(&activity, "restart it"));
    }
    queue(tx, &activity)
}

/// Ends an activity, and cancels the first of its records that are to be processed. The caller repeats
/// [`lists::cancel_rest`] until none is left, also for those that come back later.
pub fn cancel(tx: &mut dyn Transaction, scope: Scope, id: ActivityId) -> Result<(), RegistryError> {
    let activity = lock(tx, scope, id)?;
    set_state(tx, &activity, ActivityState::Cancelled, None)?;
    match lists::cancel_rest(tx, activity.list, PAGE) {
        Ok(_) | Err(RecordsError::NoList(_)) => {}
        Err(error) => return Err(error.into()),
    }
    wake_followers(tx, id)?;
    Ok(())
}

/// Has records processed again that had failed by this time, the first of them in this transaction; how many. The caller repeats it until there
/// is none. An activity that had ended goes on, and those that followed it to its end do so again.
pub fn retry_failed(tx: &mut dyn Transaction, scope: Scope, id: ActivityId, until: Time) -> Result<u64, RegistryError> {
    let activity = lock(tx, scope, id)?;
    if activity.state == ActivityState::Cancelled {
        return Err(refused(&activity, "retry what failed in it"));
    }
    check_records(tx, &activity, "process its failed records again")?;
    let changed = lists::retry_failed(tx, activity.list, until, PAGE)?;
    if changed == 0 {
        return Ok(0);
    }
    if activity.state.is_ended() {
        queue(tx, &activity)?;
        reopen_followers(tx, &activity)?;
    } else if activity.state.is_at_work() {
        enqueue(tx, id, activity.institution)?;
    }
    Ok(changed)
}

/// Begins another run of an activity that has ended, with a number and a list of its own; the number. The list of the run before is removed
/// when it is no longer needed: what came of its records stays in the provenance.
///
/// A run that has ended before it had taken all records of the one before is over the list of that one.
///
/// # Errors
/// [`RegistryError::State`] where it has not ended, or, with [`LIST_UNFINISHED`], where the same records are asked for and its list is not complete:
/// what it had not found would be left out in silence; [`RegistryError::Named`] where another activity is still taking records from its list.
pub fn rerun(tx: &mut dyn Transaction, scope: Scope, id: ActivityId, rerun: Rerun) -> Result<u64, RegistryError> {
    let activity = lock(tx, scope, id)?;
    if !activity.state.is_ended() {
        return Err(refused(&activity, "run it again"));
    }
    let takes = |other: &Activity| other.input_list == Some(activity.list) && !has_all(other);
    if let Some(other) = first_follower(tx, id, &takes)? {
        return Err(RegistryError::Named {
            what: "activity",
            id: id.to_string(),
            by: format!("activity {}, which takes its records and has not ended", other.id),
            act: "run it again".to_owned(),
        });
    }
    let previous = match rerun {
        Rerun::SameRecords => Some(list_of_all(tx, &activity)?),
        Rerun::Anew => None,
    };
    for list in [Some(activity.list), activity.previous_list].into_iter().flatten() {
        if Some(list) != previous {
            // The rest of it is removed page by page, by whoever asks for what is being removed.
            lists::remove(tx, list, 1)?;
        }
    }
    let next = Activity {
        run: activity.run + 1,
        list: ListId::new(),
        previous_list: previous,
        is_rebuilding: false,
        input_list: present_input(tx, &activity)?,
        ..activity.clone()
    };
    lists::create(tx, next.list)?;
    set_list(tx, &next)?;
    // It has not started yet.
    queue(tx, &Activity { started_at: None, resumed_at: None, ended_before: 0, ..next.clone() })?;
    Ok(next.run)
}

/// The list that has all records of an activity.
fn list_of_all(tx: &mut dyn Transaction, activity: &Activity) -> Result<ListId, RegistryError> {
    const ACT: &str = "run it again over the same records";
    check_records(tx, activity, ACT)?;
    if let Some(previous) = activity.previous_list {
        // It ended before all of these were in its own list.
        lists::status(tx, previous)?;
        return Ok(previous);
    }
    if !lists::status(tx, activity.list)?.is_complete {
        return Err(RegistryError::State {
            what: "activity",
            id: activity.id.to_string(),
            state: LIST_UNFINISHED.to_owned(),
            act: ACT.to_owned(),
        });
    }
    Ok(activity.list)
}

/// Removes the list of the run before where a locked activity still has it, up to one row; whether it had one. The rest is removed by whoever asks
/// for what is being removed.
pub fn remove_previous(tx: &mut dyn Transaction, activity: &Activity) -> Result<bool, RegistryError> {
    let Some(previous) = activity.previous_list else { return Ok(false) };
    set_list(tx, &Activity { previous_list: None, ..activity.clone() })?;
    lists::remove(tx, previous, 1)?;
    Ok(true)
}

/// Whether another activity that has not ended takes records from the list of this one.
pub fn is_taken_from(tx: &mut dyn Transaction, activity: &Activity) -> Result<bool, RegistryError> {
    let takes = |other: &Activity| other.input_list == Some(activity.list) && !has_all(other);
    Ok(first_follower(tx, activity.id, &takes)?.is_some())
}

/// Whether an activity gets more records when people have failed ones processed again, of what it follows or of what that follows.
pub fn may_get_more(tx: &mut dyn Transaction, activity: &Activity) -> Result<bool, RegistryError> {
    let mut follower = activity.clone();
    while let Input::Follow(other, _) = follower.input {
        let other = find(tx, Scope::System, other)?;
        if follower.input_list != Some(other.list) || other.state == ActivityState::Cancelled {
            return Ok(false);
        }
        match lists::status(tx, other.list) {
            Ok(status) if status.counts.failed > 0 => return Ok(true),
            Ok(_) => {}
            Err(RecordsError::NoList(_)) => return Ok(false),
            Err(error) => return Err(error.into()),
        }
        follower = other;
    }
    Ok(false)
}

/// Refuses what needs the records of an activity where they were removed after their time.
///
/// # Errors
/// [`RegistryError::State`], with [`RECORDS_REMOVED`] as the state.
pub fn check_records(tx: &mut dyn Transaction, activity: &Activity, act: &str) -> Result<(), RegistryError> {
    if lists::outcome(tx, activity.list)?.is_none() {
        return Ok(());
    }
    Err(RegistryError::State {
        what: "activity",
        id: activity.id.to_string(),
        state: RECORDS_REMOVED.to_owned(),
        act: act.to_owned(),
    })
}

/// Whether an activity takes no more of its input.
fn has_all(activity: &Activity) -> bool {
    activity.state.is_ended() && activity.state != ActivityState::Failed
}

/// The first of those that take records of an activity of which this is true.
fn first_follower(
    tx: &mut dyn Transaction,
    id: ActivityId,
    is_meant: &dyn Fn(&Activity) -> bool,
) -> Result<Option<Activity>, RegistryError> {
    let mut after = ActivityId(Uuid::nil());
    loop {
        let page = followers(tx, id, after)?;
        let Some(last) = page.last() else { return Ok(None) };
        after = last.id;
        if let Some(found) = page.into_iter().find(is_meant) {
            return Ok(Some(found));
        }
    }
}

/// The list that the input of an activity has now.
pub(super) fn present_input(tx: &mut dyn Transaction, activity: &Activity) -> Result<Option<ListId>, RegistryError> {
    let Some((other, _)) = activity.input.of() else { return Ok(None) };
    Ok(Some(find(tx, Scope::System, other)?.list))
}

/// Writes which list an activity has, and where it comes from.
pub(super) fn set_list(tx: &mut dyn Transaction, activity: &Activity) -> Result<(), RegistryError> {
    let values = [
        activity.id.into(),
        activity.run.into(),
        activity.list.0.into(),
        activity.previous_list.map(|list| list.0).into(),
        activity.is_rebuilding.into(),
        activity.input_list.map(|list| list.0).into(),
    ];
    tx.execute(Statement("activities.set_list"), &values)?;
    Ok(())
}

/// Has those that followed an activity to its end follow it again, and those that followed them. They go on behind what they have
/// taken: those that have ended are queued, those that are at work look again, and those that a person has to resume or restart do so then.
pub fn reopen_followers(tx: &mut dyn Transaction, activity: &Activity) -> Result<(), RegistryError> {
    let mut open = vec![(activity.id, activity.list)];
    while let Some((id, list)) = open.pop() {
        let mut after = ActivityId(Uuid::nil());
        loop {
            let page = followers(tx, id, after)?;
            let Some(last) = page.last() else { break };
            after = last.id;
            for follower in page.iter().filter(|one| is_following(one, list)) {
                let follower = lock(tx, Scope::System, follower.id)?;
                if !is_following(&follower, list) || !lists::reopen(tx, follower.list)? {
                    continue;
                }
                if matches!(follower.state, ActivityState::Finished | ActivityState::FinishedWithErrors) {
                    queue(tx, &follower)?;
                } else if follower.state.is_at_work() {
                    enqueue(tx, follower.id, follower.institution)?;
                }
                open.push((follower.id, follower.list));
            }
        }
    }
    Ok(())
}

/// Whether an activity follows this list, and may go on with it.
fn is_following(activity: &Activity, list: ListId) -> bool {
    let is_cancelled = activity.state == ActivityState::Cancelled;
    !is_cancelled && matches!(activity.input, Input::Follow(..)) && activity.input_list == Some(list)
}

/// Has a worker go on with a locked activity.
fn queue(tx: &mut dyn Transaction, activity: &Activity) -> Result<(), RegistryError> {
    set_state(tx, activity, ActivityState::Queued, None)?;
    enqueue(tx, activity.id, activity.institution)
}
