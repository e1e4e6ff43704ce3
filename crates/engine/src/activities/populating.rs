//! The population of the list of an activity: one worker at a time, page by page, by the agent or from another activity.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use strongroom_queue::{Lease, tasks};
use strongroom_records::{Addition, Arrival, NewRecord, Population, PopulationRequest, RecordsError, lists};
use strongroom_registry::activities::{self, Activity, Input};
use strongroom_registry::documents;
use strongroom_registry::provenance::{self, By, Made, Missing};
use strongroom_registry::{ActivityState, RegistryError, Scope, Transaction};

use super::agent::{Finding, Found, FoundPage, OpenAgent, PageAdded};
use super::error::{AgentError, Stop};
use super::handler::Run;
use super::keeper::Held;
use super::{TOPIC, enqueue_helpers, repeats};
use crate::{Home, crash_point};

/// Records that are taken from another activity in one transaction.
const PAGE: usize = 1_000;

/// How long an agent finds records until it is asked again whether a person has stopped the activity.
const ASK_EVERY: Duration = Duration::from_secs(1);

/// How far the population is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Progress {
    /// Every record is in the list.
    Complete,
    /// All that there is now is in the list; more comes, and this task is woken for it.
    CaughtUp,
    /// Another worker populates it.
    ByAnother,
}

/// Populates the list as far as there is anything to take now.
pub(super) fn populate(run: &Run<'_>, agent: &dyn OpenAgent) -> Result<Progress, AgentError> {
    let id = run.activity.id;
    let request = PopulationRequest { list: run.activity.list, worker: run.worker.clone(), lease: run.keeper.lease() };
    let taken = run.home.registry.write(move |tx| {
        let status = lists::status(tx, request.list)?;
        if status.is_complete {
            return Ok::<_, RegistryError>((None, true));
        }
        let taken = lists::take_population(tx, &request)?;
        if taken.is_some() {
            activities::begin(tx, id, ActivityState::Populating)?;
        }
        Ok((taken, false))
    })?;
    let population = match taken {
        (_, true) => return Ok(Progress::Complete),
        (None, false) => return Ok(Progress::ByAnother),
        (Some(population), false) => population,
    };
    crash_point("activity.population");
    run.keeper.hold(Some(Held::Population(population.clone())));
    let outcome = carry_on(run, agent, &population);
    run.keeper.hold(None);
    if !matches!(outcome, Ok(Progress::Complete) | Err(AgentError::ListLost | AgentError::Stop(Stop::Lost))) {
        // Another worker may go on at once. Where this fails, it does when the lease has run out.
        let _ = run.home.registry.write(move |tx| match lists::release_population(tx, &population) {
            Ok(()) | Err(RecordsError::PopulationLost(_)) => Ok::<_, RegistryError>(()),
            Err(error) => Err(error.into()),
        });
    }
    outcome
}

fn carry_on(run: &Run<'_>, agent: &dyn OpenAgent, population: &Population) -> Result<Progress, AgentError> {
    let (mut activity, mut population) = (run.activity.clone(), population.clone());
    loop {
        run.check()?;
        if activity.input == Input::Source && !activity.is_rebuilding && activity.previous_list.is_none() {
            let cursor = Mutex::new(population.cursor.take());
            let finder = Finder {
                run,
                activity: &activity,
                population,
                cursor,
                is_complete: AtomicBool::new(false),
                asked_at: Mutex::new(Instant::now()),
            };
            agent.find(&finder)?;
            if !finder.is_complete.load(Ordering::SeqCst) {
                return Err(AgentError::Fatal(format!(
                    "the agent {} did not say where its records end",
                    activity.agent
                )));
            }
            return Ok(Progress::Complete);
        }
        let (id, list, of, workers) = (activity.id, activity.list, population.clone(), run.workers);
        let spent = run.spent;
        let (populated, now, cursor) = run.home.registry.write(move |tx| {
            let populated = activities::populate(tx, id, &of, PAGE)?;
            let now = activities::find(tx, Scope::System, id)?;
            if populated.added > 0 {
                come_further(tx, spent)?;
                enqueue_helpers(tx, &now, workers)?;
            }
            Ok::<_, RegistryError>((populated, now, lists::status(tx, list)?.cursor))
        })?;
        run.home.registry.wakeups().notify([TOPIC]);
        crash_point("activity.page");
        if populated.is_complete {
            return Ok(Progress::Complete);
        }
        if !now.state.is_at_work() {
            return Err(Stop::NotAtWork.into());
        }
        if populated.is_caught_up {
            return Ok(Progress::CaughtUp);
        }
        activity = now;
        // A rebuilt list begins its source anew.
        population.cursor = cursor;
    }
}

/// Adds what an agent finds.
struct Finder<'f> {
    run: &'f Run<'f>,
    activity: &'f Activity,
    population: Population,
    cursor: Mutex<Option<String>>,
    is_complete: AtomicBool,
    /// When it was last asked whether a person has stopped the activity.
    asked_at: Mutex<Instant>,
}

impl Finding for Finder<'_> {
    fn home(&self) -> &Home {
        self.run.home
    }

    fn activity(&self) -> &Activity {
        self.activity
    }

    fn cursor(&self) -> Option<String> {
        self.cursor.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn check(&self) -> Result<(), Stop> {
        self.run.check()?;
        let mut asked_at = self.asked_at.lock().unwrap_or_else(PoisonError::into_inner);
        if asked_at.elapsed() < ASK_EVERY {
            return Ok(());
        }
        *asked_at = Instant::now();
        // Where the registry does not answer, the next page finds out.
        if self.run.is_at_work().unwrap_or(true) { Ok(()) } else { Err(Stop::NotAtWork) }
    }

    fn attempt(&self) -> u32 {
        self.run.attempt
    }

    fn workers(&self) -> usize {
        self.run.workers_here()
    }

    /// One transaction: records, their documents, what was made of those that are processed already, what is no longer valid, the
    /// cursor, and who has work by it.
    fn add_page(&self, page: FoundPage) -> Result<PageAdded, AgentError> {
        self.run.check()?;
        let FoundPage { found, invalid, cursor, is_last, watermark, repeats } = page;
        let (activity, population, workers) = (self.activity.clone(), self.population.clone(), self.run.workers);
        let spent = self.run.spent;
        let (is_at_work, outcome, cursor) = self.run.home.registry.write(move |tx| {
            // What was read of the same page is valid, if it was deleted before.
            let invalidated = invalidate(tx, &activity, &invalid)?;
            let cursor = cursor(invalidated);
            let records = found.iter().map(|found| NewRecord { id: found.id.clone(), arrival: found.arrival.clone() });
            let addition = Addition { records: records.collect(), cursor: cursor.clone(), is_last: false };
            let left_out: HashSet<usize> = lists::add_new(tx, &population, &addition)?.into_iter().collect();
            let is_left_out = |place: &usize| left_out.contains(place);
            let (again, mut taken): (Vec<_>, Vec<_>) =
                found.iter().enumerate().partition(|(place, _)| is_left_out(place));
            let new = taken.len() as u64;
            if new > 0 {
                come_further(tx, spent)?;
            }
            let settled = repeats::settle(tx, &population, repeats, again.into_iter().map(|(_, found)| found))?;
            if !settled.again.is_empty() {
                let addition = Addition { records: settled.again, cursor: cursor.clone(), is_last: false };
                lists::add(tx, &population, &addition)?;
            }
            if is_last {
                lists::complete(tx, population.list)?;
            }
            taken.extend(settled.taken.into_iter().map(|found| (0, found)));
            let taken: Vec<&Found> = taken.into_iter().map(|(_, found)| found).collect();
            documents::put(tx, taken.iter().filter_map(|found| found.document.as_ref()))?;
            record(tx, &activity, &taken)?;
            // By then what has taken their place is recorded for their records, and a deletion ends the validity of that alone.
            invalidate(tx, &activity, &settled.earlier)?;
            if let Some(watermark) = &watermark {
                activities::note_watermark(tx, activity.id, watermark)?;
            }
            if !taken.is_empty() {
                activities::wake_followers(tx, activity.id)?;
                enqueue_helpers(tx, &activity, workers)?;
            }
            let is_at_work = activities::find(tx, Scope::System, activity.id)?.state.is_at_work();
            Ok::<_, RegistryError>((is_at_work, PageAdded { new, invalidated }, cursor))
        })?;
        self.run.home.registry.wakeups().notify([TOPIC]);
        *self.cursor.lock().unwrap_or_else(PoisonError::into_inner) = cursor;
        self.run.note_success()?;
        crash_point("activity.page");
        if outcome.new > 0 {
            self.run.note_progress();
        }
        if is_last {
            self.is_complete.store(true, Ordering::SeqCst);
        }
        if is_at_work || is_last { Ok(outcome) } else { Err(Stop::NotAtWork.into()) }
    }
}

/// Counts the attempts of a task anew that has spent some: the list has more records than before.
fn come_further(tx: &mut dyn Transaction, spent: Option<Lease>) -> Result<(), RegistryError> {
    if let Some(task) = spent {
        tasks::checkpoint(tx, task)?;
    }
    Ok(())
}

/// Ends the validity of entities; of how many.
fn invalidate(tx: &mut dyn Transaction, activity: &Activity, entities: &[String]) -> Result<u64, RegistryError> {
    let mut ended = 0;
    for entity in entities {
        let made = Made { record: entity, entity };
        ended += u64::from(provenance::invalidate(tx, By::from(activity), made, Missing::Ignore)?);
    }
    Ok(ended)
}

/// Records what was made of the records that are processed already.
fn record(tx: &mut dyn Transaction, activity: &Activity, records: &[&Found]) -> Result<(), RegistryError> {
    let made: Vec<Made<'_>> = records
        .iter()
        .filter_map(|record| match &record.arrival {
            Arrival::Processed { result } => {
                Some(Made { record: &record.id, entity: result.as_deref().unwrap_or(&record.id) })
            }
            _ => None,
        })
        .collect();
    provenance::record(tx, By::from(activity), &made)?;
    Ok(())
}
