//! Keeps activities going: returns the records of workers that ended, gives activities that lack a task one, fails those whose workers end
//! without coming further, and continues what was begun of removals.

use std::time::Duration;

use strongroom_queue::tasks;
use strongroom_records::lists;
use strongroom_registry::activities::{self, Activity, ActivityFilter};
use strongroom_registry::{ActivityId, ActivityState, Order, RegistryError, Scope, counted};

use super::BackgroundTask;
use crate::activities::{TOPIC, return_expired};
use crate::event::Event;
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
    let Given { given, failed } = give_tasks(home, stop)?;
    let removed = remove_lists(home, stop)?;
    let failed =
        if failed > 0 { format!(" {} failed,", counted(failed, "activity", "activities")) } else { String::new() };
    Ok(format!(
        "{} of workers that ended returned, {} given a task,{failed} {} removed",
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

/// What became of activities without a task.
#[derive(Default)]
struct Given {
    given: u64,
    failed: u64,
}

/// Gives each activity that is at work and has no task one. The task of one that follows another checks whether its input has more. One whose
/// task was buried has failed: its workers ended without a word as often as it may be tried, and would do so again.
fn give_tasks(home: &Home, stop: &Shutdown) -> Result<Given, EngineError> {
    let mut all = Given::default();
    for state in [ActivityState::Queued, ActivityState::Populating, ActivityState::Running] {
        for activity in in_state(home, state) {
            if stop.is_requested() {
                return Ok(all);
            }
            let (id, institution) = {
                let activity = activity?;
                (activity.id, activity.institution)
            };
            let done = home.registry.write(move |tx| {
                let key = id.to_string();
                if tasks::of_key(tx, &key)?.iter().any(|task| task.topic == TOPIC) {
                    return Ok(None);
                }
                let mut dead = tasks::dead_of_key(tx, &key)?;
                dead.retain(|task| task.topic == TOPIC);
                let activity = activities::lock(tx, Scope::System, id)?;
                if !activity.state.is_at_work() {
                    return Ok(None);
                }
                let Some(last) = dead.last() else {
                    activities::enqueue(tx, id, institution)?;
                    return Ok(Some(None));
                };
                let why = why_failed(id, last.reason.as_deref());
                activities::fail(tx, id, &why)?;
                // The activity says it now.
                for task in &dead {
                    tasks::delete(tx, task.task)?;
                }
                Ok::<_, RegistryError>(Some(Some((activity.agent, why))))
            })?;
            match done {
                None => {}
                Some(None) => all.given += 1,
                Some(Some((agent, why))) => {
                    Event::ActivityFailed { activity: id, agent: &agent, reason: &why }.emit();
                    all.failed += 1;
                }
            }
        }
    }
    if all.given > 0 {
        home.registry.wakeups().notify([TOPIC]);
    }
    Ok(all)
}

fn why_failed(id: ActivityId, reason: Option<&str>) -> String {
    format!(
        "its worker ended each time that it was carried on, and it came no further: {}; next: find out in the log of the machine what ended the \
         workers, such as a lack of memory, and then \"strongroom activity restart {id}\"",
        reason.unwrap_or("it is not known why")
    )
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
