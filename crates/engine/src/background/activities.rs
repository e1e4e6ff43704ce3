//! Keeps activities going: returns the records of workers that ended, gives activities that lack a task one, and continues what was begun
//! of removals.

use std::time::Duration;

use strongroom_queue::{TaskState, tasks};
use strongroom_records::lists;
use strongroom_registry::activities::{self, Activity, ActivityFilter};
use strongroom_registry::{ActivityState, Order, RegistryError, Scope, counted};

use super::BackgroundTask;
use crate::activities::{TOPIC, return_expired};
use crate::runtime::Shutdown;
use crate::{EngineError, Home, paging};

const EVERY: Duration = Duration::from_secs(15);
/// Activities that are read at once.
const PAGE: usize = 200;
/// Rows that are removed in one transaction.
const ROWS_AT_ONCE: usize = 1_000;

pub(super) const TASK: BackgroundTask = BackgroundTask { name: "activities", every: |_| EVERY, run };

fn run(home: &Home, stop: &Shutdown) -> Result<String, EngineError> {
    let returned = return_all_expired(home, stop)?;
    let given = give_tasks(home, stop)?;
    let removed = remove_lists(home, stop)?;
    Ok(format!(
        "{} of workers that ended returned, {} given a task, {} removed",
        counted(returned, "record", "records"),
        counted(given, "activity", "activities"),
        counted(removed, "list", "lists")
    ))
}

/// Returns the records whose leases have run out; how many.
fn return_all_expired(home: &Home, stop: &Shutdown) -> Result<u64, EngineError> {
    let mut all = 0;
    while !stop.is_requested() {
        let returned = return_expired(home)?;
        if returned.is_empty() {
            break;
        }
        all += returned.iter().map(|chunk| chunk.records).sum::<u64>();
    }
    Ok(all)
}

/// Activities in a state, read page by page.
fn in_state(home: &Home, state: ActivityState) -> impl Iterator<Item = Result<Activity, RegistryError>> {
    let filter = ActivityFilter { state: Some(state), agent: None, order: Order::OldestFirst };
    let page = move |after, limit| home.registry.read(|tx| activities::list(tx, Scope::System, &filter, after, limit));
    paging::rows(PAGE, |activity: &Activity| activity.id, page)
}

/// Gives each activity that is at work and has no task one. The task of one that follows another checks whether its input has more.
fn give_tasks(home: &Home, stop: &Shutdown) -> Result<u64, EngineError> {
    let mut given = 0;
    for state in [ActivityState::Queued, ActivityState::Populating, ActivityState::Running] {
        for activity in in_state(home, state) {
            if stop.is_requested() {
                return Ok(given);
            }
            let (id, institution) = {
                let activity = activity?;
                (activity.id, activity.institution)
            };
            given += home.registry.write(move |tx| {
                let of_activity = tasks::of_key(tx, &id.to_string())?;
                if of_activity.iter().any(|task| task.topic == TOPIC && task.state != TaskState::Dead) {
                    return Ok(0);
                }
                let activity = activities::lock(tx, Scope::System, id)?;
                if !activity.state.is_at_work() {
                    return Ok(0);
                }
                activities::enqueue(tx, id, institution)?;
                Ok::<_, RegistryError>(1_u64)
            })?;
        }
    }
    if given > 0 {
        home.registry.wakeups().notify([TOPIC]);
    }
    Ok(given)
}

/// Removes what is left of lists whose removal has begun.
fn remove_lists(home: &Home, stop: &Shutdown) -> Result<u64, EngineError> {
    let mut removed = 0;
    loop {
        let left = home.registry.read(|tx| Ok::<_, RegistryError>(lists::being_removed(tx, PAGE)?))?;
        if left.is_empty() {
            return Ok(removed);
        }
        for list in left {
            while !home.registry.write(move |tx| Ok::<_, RegistryError>(lists::remove(tx, list, ROWS_AT_ONCE)?))? {
                if stop.is_requested() {
                    return Ok(removed);
                }
            }
            removed += 1;
        }
    }
}
