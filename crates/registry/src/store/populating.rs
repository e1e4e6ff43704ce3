//! Populating the list of an activity from another one, from that of the run before, or from provenance where a list was lost. One page
//! for each transaction, under the population of the list.

use strongroom_database::Transaction;
use strongroom_records::{
    Addition, Arrival, Copied, From, ListId, NewRecord, Population, RecordsError, Selection, Takes, lists,
};
use uuid::Uuid;

use super::activities::{enqueue, find, lock, refused};
use super::activity_runs::{present_input, set_list};
use super::provenance::{self, Taken};
use crate::model::activity::{Activity, Input};
use crate::{ActivityId, RegistryError, Scope};

/// How far the population of an activity has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Populated {
    /// Records that this page added.
    pub added: u64,
    /// Whether there is no more to take now.
    pub is_caught_up: bool,
    /// Whether the list is complete. One that follows is so when the other has ended.
    pub is_complete: bool,
}

/// Adds the next page to the list of an activity, at most `limit` records: of the run before, of provenance where the list is being
/// rebuilt, or of the other activity that it takes its records from. The list is completed in the transaction that finds that all was taken.
/// Nothing is asked of provenance unless a list was lost or removed.
///
/// # Errors
/// [`RegistryError::State`] where the agent itself finds the records: it adds them.
pub fn populate(
    tx: &mut dyn Transaction,
    id: ActivityId,
    population: &Population,
    limit: usize,
) -> Result<Populated, RegistryError> {
    let activity = find(tx, Scope::System, id)?;
    if population.list != activity.list {
        return Err(RecordsError::PopulationLost(population.list).into());
    }
    if activity.is_rebuilding {
        return rebuild(tx, &activity, population, limit);
    }
    if let Some(previous) = activity.previous_list {
        return copy_previous(tx, &activity, previous, (population, limit));
    }
    let (Some((other, takes)), Some(list)) = (activity.input.of(), activity.input_list) else {
        return Err(refused(&activity, "take its records from another one"));
    };
    // Before the records are read: what is processed until then is seen.
    let has_ended = match activity.input {
        Input::Follow(..) => has_ended(tx, other, list)?,
        _ => true,
    };
    let from = From { list, selection: Selection::Processed, takes };
    match lists::add_from(tx, population, from, limit) {
        Err(RecordsError::NoList(lost)) if lost == list => look_elsewhere(tx, &activity, other, population),
        copied => end_page(tx, population, &copied?, has_ended),
    }
}

/// Where the list of the other activity is gone, its records are taken from the list that it has now, or from provenance, from the beginning: ids
/// that are there already are left out.
fn look_elsewhere(
    tx: &mut dyn Transaction,
    activity: &Activity,
    other: ActivityId,
    population: &Population,
) -> Result<Populated, RegistryError> {
    let other = find(tx, Scope::System, other)?;
    if activity.input_list != Some(other.list) {
        set_list(tx, &Activity { input_list: Some(other.list), ..activity.clone() })?;
    } else if matches!(activity.input, Input::Snapshot(..)) || other.state.is_ended_for_followers() {
        set_list(tx, &Activity { is_rebuilding: true, ..activity.clone() })?;
    } else {
        // A worker of the other activity gives it another list.
        return Ok(Populated { is_caught_up: true, ..Populated::default() });
    }
    lists::add(tx, population, &Addition::default())?;
    Ok(Populated::default())
}

/// Whether a list that is followed gets no more.
fn has_ended(tx: &mut dyn Transaction, other: ActivityId, list: ListId) -> Result<bool, RegistryError> {
    let other = find(tx, Scope::System, other)?;
    // Records of one that is cancelled may still be at workers. One that has another list now has ended with this one.
    let is_over = other.list != list || other.state.is_ended_for_followers();
    match lists::status(tx, list) {
        Ok(status) => Ok(is_over && status.counts.processing == 0),
        Err(RecordsError::NoList(_)) => Ok(is_over),
        Err(error) => Err(error.into()),
    }
}

fn copy_previous(
    tx: &mut dyn Transaction,
    activity: &Activity,
    previous: ListId,
    (population, limit): (&Population, usize),
) -> Result<Populated, RegistryError> {
    let from = From { list: previous, selection: Selection::All, takes: Takes::Records };
    let copied = match lists::add_from(tx, population, from, limit) {
        Err(RecordsError::NoList(lost)) if lost == previous => {
            return Err(refused(activity, "take the records of the run before, which are gone"));
        }
        copied => copied?,
    };
    if copied.is_caught_up {
        set_list(tx, &Activity { previous_list: None, ..activity.clone() })?;
        // The rest is removed page by page.
        lists::remove(tx, previous, 1)?;
        // What it follows may get more: it is taken from the beginning then, and ids that are there already are left out.
        lists::add(tx, population, &Addition::default())?;
    }
    end_page(tx, population, &copied, true)
}

fn end_page(
    tx: &mut dyn Transaction,
    population: &Population,
    copied: &Copied,
    is_last: bool,
) -> Result<Populated, RegistryError> {
    let is_complete = copied.is_caught_up && is_last;
    if is_complete {
        lists::complete(tx, population.list)?;
    }
    Ok(Populated { added: copied.added.added, is_caught_up: copied.is_caught_up, is_complete })
}

/// Gives an activity whose list was lost a new one, which [`populate`] fills from provenance: with what the activity has processed in
/// this run, as processed, and with what the other activity made and it has not. One whose agent finds the records itself
/// begins with what it has processed, and its agent goes on from the beginning. Whether the list was lost.
pub fn rebuild_list(tx: &mut dyn Transaction, id: ActivityId) -> Result<bool, RegistryError> {
    let activity = lock(tx, Scope::System, id)?;
    match lists::status(tx, activity.list) {
        Err(RecordsError::NoList(_)) => {}
        Err(error) => return Err(error.into()),
        Ok(_) => return Ok(false),
    }
    let next = Activity {
        list: ListId::new(),
        previous_list: None,
        is_rebuilding: true,
        input_list: present_input(tx, &activity)?,
        ..activity.clone()
    };
    lists::create(tx, next.list)?;
    set_list(tx, &next)?;
    if activity.state.is_at_work() {
        enqueue(tx, id, activity.institution)?;
    }
    Ok(true)
}

fn rebuild(
    tx: &mut dyn Transaction,
    activity: &Activity,
    population: &Population,
    limit: usize,
) -> Result<Populated, RegistryError> {
    let after = match &population.cursor {
        None => Uuid::nil(),
        Some(cursor) => cursor.parse().map_err(|_| RecordsError::Cursor(cursor.clone()))?,
    };
    let limit = limit.clamp(1, lists::MOST_RECORDS);
    let (page, is_last) = match (activity.input, activity.input_list) {
        (Input::Source, _) => (provenance::taken_by_itself(tx, activity, after, limit)?, false),
        (Input::Snapshot(other, takes), _) => (taken(tx, activity, (other, takes), (after, limit))?, true),
        (Input::Follow(other, takes), list) => {
            let has_ended = list.map_or(Ok(true), |list| has_ended(tx, other, list))?;
            (taken(tx, activity, (other, takes), (after, limit))?, has_ended)
        }
    };
    let is_caught_up = page.len() < limit;
    let is_complete = is_caught_up && is_last;
    // What is not complete then goes on with its input from the beginning; ids that are there already are left out.
    let cursor = if is_caught_up { None } else { page.last().map(|taken| taken.used.to_string()) };
    let records = page.into_iter().filter_map(arrival).collect();
    let added = lists::add(tx, population, &Addition { records, cursor, is_last: is_complete })?;
    if is_caught_up {
        set_list(tx, &Activity { is_rebuilding: false, ..activity.clone() })?;
    }
    let is_caught_up = is_caught_up && is_complete;
    Ok(Populated { added: added.added, is_caught_up, is_complete })
}

fn taken(
    tx: &mut dyn Transaction,
    activity: &Activity,
    (other, takes): (ActivityId, Takes),
    (after, limit): (Uuid, usize),
) -> Result<Vec<Taken>, RegistryError> {
    let other = find(tx, Scope::System, other)?;
    provenance::taken(tx, (activity, &other), takes, (after, limit))
}

/// What was made and is no longer valid is not to be processed.
fn arrival(taken: Taken) -> Option<NewRecord> {
    let arrival = match taken.result {
        Some(result) => Arrival::Processed { result: Some(result).filter(|result| *result != taken.record) },
        None if taken.is_invalid => return None,
        None => Arrival::Todo,
    };
    Some(NewRecord { id: taken.record, arrival })
}
