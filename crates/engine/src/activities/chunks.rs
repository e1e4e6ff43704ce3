//! Processing the records of an activity: a chunk is claimed, its records are given to the agent in batches, most often of one, and the
//! ends are committed with what was made and with who has work by it, each batch by itself or all together.
//!
//! A record that ended its worker comes back with the others of its chunk. From then on records are claimed one by one until one comes
//! that no worker had before, so that only the record that ends its worker each time spends its attempts.

use std::sync::Arc;
use std::time::{Duration, Instant};

use strongroom_queue::tasks;
use strongroom_records::{Chunk, ChunkLease, ClaimRequest, Claimed, Ending, Outcome, lists};
use strongroom_registry::activities::{self, Activity};
use strongroom_registry::provenance::{self, By, Made};
use strongroom_registry::{ActivityState, RegistryError, Scope, Transaction, counted};

use super::TOPIC;
use super::agent::{OpenAgent, RecordOutcome, RecordWrites, Work};
use super::error::{AgentError, Stop};
use super::handler::Run;
use super::keeper::Held;
use crate::crash_point;
use crate::runtime::Interrupted;

/// How long the records of a chunk are processed until it is asked again whether a person has stopped the activity.
const ASK_EVERY: Duration = Duration::from_millis(500);

/// Processes records until there is none to claim; how many ended.
pub(super) fn process(run: &Run<'_>, agent: &dyn OpenAgent, is_populated: bool) -> Result<u64, AgentError> {
    let (mut ended, mut is_careful) = (0, false);
    loop {
        run.check()?;
        let limit = if is_careful { 1 } else { agent.chunk() };
        let Some(mut chunk) = claim(run, limit, is_populated)? else { return Ok(ended) };
        crash_point("activity.claimed");
        run.keeper.hold(Some(Held::Chunk(chunk.lease)));
        let came_back = chunk.records.first().is_some_and(|record| record.attempts > 1);
        is_careful = came_back;
        if came_back && chunk.records.len() > 1 {
            let others = chunk.records.split_off(1);
            commit(run, chunk.lease, &others.iter().map(released).collect::<Vec<_>>())?;
        }
        let outcome = of_chunk(run, agent, &chunk);
        run.keeper.hold(None);
        ended += outcome?;
    }
}

fn claim(run: &Run<'_>, limit: usize, is_populated: bool) -> Result<Option<Chunk>, AgentError> {
    let id = run.activity.id;
    let request =
        ClaimRequest { list: run.activity.list, worker: run.worker.clone(), limit, lease: run.keeper.lease() };
    let (is_at_work, chunk) = run.home.registry.write(move |tx| {
        let mut activity = activities::find(tx, Scope::System, id)?;
        if is_populated && matches!(activity.state, ActivityState::Queued | ActivityState::Populating) {
            activity = activities::begin(tx, id, ActivityState::Running)?;
        }
        if !activity.state.is_at_work() || activity.list != request.list {
            return Ok((false, None));
        }
        Ok::<_, RegistryError>((true, lists::claim(tx, &request)?))
    })?;
    if is_at_work { Ok(chunk) } else { Err(Stop::NotAtWork.into()) }
}

/// A record that was processed, or was not.
struct Ended<'c> {
    record: &'c Claimed,
    outcome: Outcome,
    writes: Option<Arc<RecordWrites>>,
}

fn released(record: &Claimed) -> Ended<'_> {
    Ended { record, outcome: Outcome::Released, writes: None }
}

/// Processes the records of a chunk, and ends them; how many ended. Where the work is to stop, what was processed is kept and the rest
/// is released unprocessed.
fn of_chunk(run: &Run<'_>, agent: &dyn OpenAgent, chunk: &Chunk) -> Result<u64, AgentError> {
    let check = || run.check();
    let work = run.work(&check);
    let (mut unwritten, mut ended) = (Vec::with_capacity(chunk.records.len()), 0);
    let (mut batches, mut asked_at) = (chunk.records.chunks(agent.batch().max(1)), Instant::now());
    let mut stop: Option<AgentError> = None;
    while stop.is_none() {
        let Some(batch) = batches.next() else { break };
        let outcome = carry_out(agent, batch, &work);
        unwritten.extend(outcome.ended);
        if outcome.stop.is_some() {
            stop = outcome.stop;
            break;
        }
        crash_point("activity.processed");
        if agent.commits_each() {
            ended += unwritten.len() as u64;
            if !commit(run, chunk.lease, &unwritten)? {
                stop = Some(Stop::NotAtWork.into());
            }
            unwritten.clear();
            crash_point("activity.committed");
        } else if asked_at.elapsed() >= ASK_EVERY {
            asked_at = Instant::now();
            stop = (!run.is_at_work()?).then(|| Stop::NotAtWork.into());
        }
        stop = stop.or_else(|| run.check().err().map(AgentError::from));
    }
    let is_lost = |stop: &Stop| matches!(stop, Stop::Lost | Stop::Interrupted(Interrupted::LeaseLost));
    if matches!(&stop, Some(AgentError::Stop(reason)) if is_lost(reason)) {
        return Err(AgentError::from(Stop::Lost));
    }
    ended += unwritten.iter().filter(|one| one.outcome != Outcome::Released).count() as u64;
    unwritten.extend(batches.flatten().map(released));
    let is_at_work = unwritten.is_empty() || commit(run, chunk.lease, &unwritten)?;
    crash_point("activity.committed");
    match stop {
        Some(reason) => Err(reason),
        None if is_at_work => Ok(ended),
        None => Err(Stop::NotAtWork.into()),
    }
}

/// What came of a batch.
struct OfBatch<'c> {
    /// All of its records; those that were not processed are released.
    ended: Vec<Ended<'c>>,
    /// Why those were not processed.
    stop: Option<AgentError>,
}

/// Gives a batch to the agent, without the records whose attempts are spent.
fn carry_out<'c>(agent: &dyn OpenAgent, batch: &'c [Claimed], work: &Work<'_>) -> OfBatch<'c> {
    let most = agent.max_attempts();
    let (spent, open): (Vec<&Claimed>, Vec<&Claimed>) = batch.iter().partition(|record| record.attempts > most);
    let given_up = |record: &'c Claimed| {
        let attempts = counted(most.into(), "attempt", "attempts");
        let error = format!("it is given up after {attempts}: the worker ended while it was processed");
        Ended { record, outcome: Outcome::Failed { error }, writes: None }
    };
    let mut of_batch = OfBatch { ended: spent.into_iter().map(given_up).collect(), stop: None };
    let ids: Vec<&str> = open.iter().map(|record| record.id.as_str()).collect();
    let outcomes = if ids.is_empty() { Vec::new() } else { agent.process_batch(&ids, work) };
    let mut outcomes = outcomes.into_iter();
    for record in open {
        if of_batch.stop.is_some() {
            of_batch.ended.push(released(record));
            continue;
        }
        let outcome = outcomes.next().unwrap_or_else(|| RecordOutcome::Failed {
            error: format!("the agent {} does not say what came of it", work.activity.agent),
        });
        match ended(record, outcome, most, work) {
            Ok(one) => of_batch.ended.push(one),
            Err(reason) => {
                of_batch.ended.push(released(record));
                of_batch.stop = Some(reason);
            }
        }
    }
    of_batch
}

fn ended<'c>(record: &'c Claimed, outcome: RecordOutcome, most: u32, work: &Work<'_>) -> Result<Ended<'c>, AgentError> {
    let ended = |outcome, writes| Ok(Ended { record, outcome, writes });
    let time_after = |after: Duration| {
        let now = work.home.registry.read(|tx| tx.now().map_err(RegistryError::from));
        let now = now.unwrap_or_else(|_| jiff::Timestamp::now().into());
        now.plus(i64::try_from(after.as_micros()).unwrap_or(i64::MAX))
    };
    match outcome {
        RecordOutcome::Processed { result, writes } => {
            let result = result.filter(|result| *result != record.id);
            ended(Outcome::Processed { result }, writes)
        }
        RecordOutcome::Failed { error } => ended(Outcome::Failed { error }, None),
        RecordOutcome::Later { after, error } => {
            ended(Outcome::Retry { not_before: time_after(after), error, max_attempts: most }, None)
        }
        RecordOutcome::Waits { after, reason } => {
            ended(Outcome::Waiting { not_before: time_after(after), error: reason }, None)
        }
        RecordOutcome::Stopped(reason) => Err(reason),
    }
}

/// Ends records in one transaction; whether the activity is still at work. Where what is written with one of them is refused, each is
/// ended by itself, and that one has failed. Where others change the same rows all the time, the halves are ended one after the other.
fn commit(run: &Run<'_>, lease: ChunkLease, ended: &[Ended<'_>]) -> Result<bool, AgentError> {
    match commit_together(run, lease, ended) {
        Ok(is_at_work) => Ok(is_at_work),
        Err(error) if ended.len() > 1 && error.is_conflict() => {
            let (first, second) = ended.split_at(ended.len() / 2);
            commit(run, lease, first)?;
            commit(run, lease, second)
        }
        Err(error) => match AgentError::from(error) {
            AgentError::Fatal(reason) => {
                if let [one] = ended {
                    let failed = Ended { record: one.record, outcome: Outcome::Failed { error: reason }, writes: None };
                    return Ok(commit_together(run, lease, &[failed])?);
                }
                let mut is_at_work = true;
                for one in ended.chunks(1) {
                    is_at_work = commit(run, lease, one)?;
                }
                Ok(is_at_work)
            }
            error => Err(error),
        },
    }
}

fn commit_together(run: &Run<'_>, lease: ChunkLease, ended: &[Ended<'_>]) -> Result<bool, RegistryError> {
    let endings: Vec<Ending> =
        ended.iter().map(|one| Ending { number: one.record.number, outcome: one.outcome.clone() }).collect();
    let ids: Vec<String> = ended.iter().map(|one| one.record.id.clone()).collect();
    let writes: Vec<Arc<RecordWrites>> = ended.iter().filter_map(|one| one.writes.clone()).collect();
    let (activity, spent) = (run.activity.clone(), run.spent.filter(|_| has_come_further(ended)));
    let (topics, is_at_work) = run.home.registry.write(move |tx| {
        lists::finish(tx, lease, &endings)?;
        if let Some(task) = spent {
            tasks::checkpoint(tx, task)?;
        }
        let mut topics = vec![TOPIC.to_owned()];
        for write in &writes {
            topics.extend(write(tx, &activity.actor)?);
        }
        if record(tx, &activity, &endings, &ids)? {
            activities::wake_followers(tx, activity.id)?;
        }
        let is_at_work = activities::find(tx, Scope::System, activity.id)?.state.is_at_work();
        Ok::<_, RegistryError>((topics, is_at_work))
    })?;
    run.home.registry.wakeups().notify(topics.iter().map(String::as_str));
    if has_come_further(ended) {
        run.note_progress();
        run.note_success()?;
    }
    Ok(is_at_work)
}

/// Whether a record has ended for good.
fn has_come_further(ended: &[Ended<'_>]) -> bool {
    ended.iter().any(|one| matches!(one.outcome, Outcome::Processed { .. } | Outcome::Failed { .. }))
}

/// Records what was made of the records that were processed; whether there is any.
fn record(
    tx: &mut dyn Transaction,
    activity: &Activity,
    endings: &[Ending],
    ids: &[String],
) -> Result<bool, RegistryError> {
    let made: Vec<Made<'_>> = endings
        .iter()
        .zip(ids)
        .filter_map(|(ending, id)| match &ending.outcome {
            Outcome::Processed { result } => Some(Made { record: id, entity: result.as_deref().unwrap_or(id) }),
            _ => None,
        })
        .collect();
    provenance::record(tx, By::from(activity), &made)?;
    Ok(!made.is_empty())
}
