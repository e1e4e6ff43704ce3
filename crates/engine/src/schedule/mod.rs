//! What is done every so often: each producer has a schedule in the record, leased while it runs, so that any number of
//! processes may run this and each turn is taken once. A producer only finds work and enqueues it, or sweeps; repeating
//! one does no harm.

mod turn;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use strongroom_queue::Holder;
use strongroom_registry::schedules::{self, Schedule};
use strongroom_registry::{RegistryError, Scope, check_schema};

use self::turn::Turn;
use crate::event::Event;
use crate::fixity::FixityRequest;
use crate::runtime::Shutdown;
use crate::{EngineError, Home, backfill, fixity, ingest, logs, outbox, receiving, restoration, retention};

/// After so long without a sign of life another process may take a turn over.
const LEASE: Duration = Duration::from_secs(90);
/// How soon a turn that failed is tried again.
const AFTER_FAILURE: Duration = Duration::from_mins(1);
/// The longest sleep: another process may have taken a turn and gone.
const LONGEST_SLEEP: Duration = Duration::from_mins(1);
/// The shortest, so that a clock that stands still costs no processor.
const SHORTEST_SLEEP: Duration = Duration::from_millis(100);
/// How often the copies that there are are compared with those that the placements name.
const COMPARE_PLACEMENTS_EVERY: Duration = Duration::from_hours(24);
/// How often staging is looked through for what no open work item owns.
const SWEEP_EVERY: Duration = Duration::from_hours(1);
/// How often what was given back is looked through for what has had its time.
const EXPIRE_EVERY: Duration = Duration::from_hours(1);

/// How often records that have had their time are removed.
const SWEEP_RECORDS_EVERY: Duration = Duration::from_hours(24);
/// How often stores are looked through for large puts that nobody went on with.
const SWEEP_UPLOADS_EVERY: Duration = Duration::from_hours(24);
/// How old those are: longer than any put takes.
const UPLOAD_IS_OVER: Duration = Duration::from_hours(7 * 24);

/// The schedule that removes what is left of work that is over.
pub(crate) const STAGING: &str = "staging";

/// What a schedule does when its turn comes, told in words.
type Produce = fn(&Home, &Shutdown) -> Result<String, EngineError>;

struct Producer {
    name: &'static str,
    every: Duration,
    produce: Produce,
}

fn producers(home: &Home) -> [Producer; 9] {
    [
        Producer { name: "fixity", every: home.settings.fixity.every, produce: check_copies },
        Producer { name: "logs", every: home.settings.fixity.every, produce: put_missed_logs },
        Producer { name: "outbox", every: home.settings.receiving.every, produce: deliver_outbox },
        Producer { name: "placements", every: COMPARE_PLACEMENTS_EVERY, produce: compare_placements },
        Producer { name: "receiving", every: home.settings.receiving.every, produce: watch_receiving },
        Producer { name: "restoration", every: EXPIRE_EVERY, produce: expire_restored },
        Producer { name: "retention", every: SWEEP_RECORDS_EVERY, produce: sweep_records },
        Producer { name: STAGING, every: SWEEP_EVERY, produce: sweep_staging },
        Producer { name: "uploads", every: SWEEP_UPLOADS_EVERY, produce: sweep_uploads },
    ]
}

fn check_copies(home: &Home, stop: &Shutdown) -> Result<String, EngineError> {
    let max = Some(home.settings.fixity.max_per_run);
    let due = FixityRequest { max, stop: stop.clone(), ..FixityRequest::default() };
    Ok(format!("{} objects in stores have copies that are due", fixity::enqueue_due(home, &due)?))
}

/// Derives which stores of a placement do not hold its objects whole.
fn compare_placements(home: &Home, _: &Shutdown) -> Result<String, EngineError> {
    let mut lacking = BTreeMap::<String, u64>::new();
    backfill::each_lacking((&home.settings, &home.registry), Scope::System, None, &mut |found| {
        *lacking.entry(found.store).or_default() += 1;
        Ok::<_, EngineError>(())
    })?;
    for (store, objects) in &lacking {
        Event::CopiesLacking { store, objects: *objects }.emit();
    }
    Ok(format!("{} times a store lacks an object of its placement", lacking.values().sum::<u64>()))
}

fn put_missed_logs(home: &Home, stop: &Shutdown) -> Result<String, EngineError> {
    let (put, objects) = (logs::put_missed(home, stop)?, logs::copy_unread(home, stop)?);
    Ok(format!("{put} logs put that stores had missed, logs of {objects} objects copied that could not be read before"))
}

fn watch_receiving(home: &Home, stop: &Shutdown) -> Result<String, EngineError> {
    let watched = receiving::watch(home, stop)?;
    Ok(format!("{} keys listed, {} uploads changed, {} submitted", watched.keys, watched.changed, watched.submitted))
}

fn deliver_outbox(home: &Home, stop: &Shutdown) -> Result<String, EngineError> {
    let delivered = outbox::deliver(home, stop)?;
    Ok(format!("{} notices delivered, {} no longer needed", delivered.delivered, delivered.obsolete))
}

fn expire_restored(home: &Home, stop: &Shutdown) -> Result<String, EngineError> {
    let expired = restoration::expire(home, stop)?;
    let (removed, changed) = (expired.removed, expired.changed);
    Ok(format!("{removed} results of restorations removed, {changed} left as somebody changed them"))
}

fn sweep_records(home: &Home, stop: &Shutdown) -> Result<String, EngineError> {
    let swept = retention::sweep(home, stop)?;
    Ok(format!(
        "{} lines of history, {} messages, {} receipts and {} ended work items removed",
        swept.item_history, swept.outbox, swept.receipts, swept.ended_items
    ))
}

fn sweep_staging(home: &Home, stop: &Shutdown) -> Result<String, EngineError> {
    let removed = ingest::sweep_staging(home, stop)?;
    ingest::sweep_assemblies(home, stop)?;
    Ok(format!("{removed} leftovers removed from staging"))
}

fn sweep_uploads(home: &Home, stop: &Shutdown) -> Result<String, EngineError> {
    let mut swept = 0;
    for store in home.stores.values() {
        if stop.is_requested() {
            break;
        }
        match store.sweep_unfinished(UPLOAD_IS_OVER) {
            Ok(leftovers) => swept += leftovers,
            // It is swept another day; the others need not wait.
            Err(error) if error.is_away() => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(format!("{swept} leftovers of large puts removed from the stores"))
}

/// Runs what is due whenever it is, until asked to stop. Whatever fails is tried again.
///
/// # Errors
/// [`RegistryError::NewerSchema`] where another program has brought the registry beyond what this one knows.
pub fn run(home: &Home, shutdown: &Shutdown) -> Result<(), EngineError> {
    while !shutdown.is_requested() {
        let sleep = match run_due(home, shutdown) {
            Ok(sleep) => sleep,
            Err(error @ EngineError::Registry(RegistryError::NewerSchema { .. })) => return Err(error),
            Err(error) => {
                Event::RegistryUnavailable { act: "take the turn of a schedule", error: &error.chain() }.emit();
                AFTER_FAILURE
            }
        };
        if shutdown.wait(sleep.clamp(SHORTEST_SLEEP, LONGEST_SLEEP)) {
            return Ok(());
        }
    }
    Ok(())
}

/// Runs every schedule whose turn it is, once; how long until the next turn of any.
pub fn run_due(home: &Home, shutdown: &Shutdown) -> Result<Duration, EngineError> {
    let holder = Holder::this_process().to_string();
    let known = home.registry.known_schema();
    home.registry.read(|tx| check_schema(tx, known))?;
    free_turns(home)?;
    keep_to_settings(home)?;
    for producer in producers(home) {
        if shutdown.is_requested() {
            break;
        }
        take_turn(home, &producer, &holder, shutdown)?;
    }
    let (now, known) = home.registry.read(|tx| Ok::<_, RegistryError>((tx.now()?, schedules::list(tx)?)))?;
    let names: Vec<&str> = producers(home).iter().map(|producer| producer.name).collect();
    let next = known.iter().filter(|schedule| names.contains(&schedule.name.as_str())).map(|one| one.next_run_at).min();
    let wait = next.map_or(0, |next| next.0.saturating_sub(now.0)).max(0);
    Ok(Duration::from_micros(wait.unsigned_abs()))
}

/// Brings forward what was put off by a longer interval than the settings have now.
fn keep_to_settings(home: &Home) -> Result<(), EngineError> {
    let (now, known) = home.registry.read(|tx| Ok::<_, RegistryError>((tx.now()?, schedules::list(tx)?)))?;
    for producer in producers(home) {
        let latest = now.plus(i64::try_from(producer.every.as_micros()).unwrap_or(i64::MAX));
        if known.iter().any(|schedule| schedule.name == producer.name && schedule.next_run_at > latest) {
            home.registry.write(move |tx| schedules::due_by(tx, producer.name, latest))?;
        }
    }
    Ok(())
}

/// Gives back the turns of processes that ended here without a word.
fn free_turns(home: &Home) -> Result<(), EngineError> {
    let is_gone = |holder: &str| holder.parse::<Holder>().is_ok_and(|holder| holder.is_gone());
    for schedule in home.registry.read(schedules::list)? {
        let Some(holder) = schedule.holder.filter(|holder| is_gone(holder)) else { continue };
        home.registry.write(move |tx| {
            let now = tx.now()?;
            schedules::end(tx, &schedule.name, &holder, false, now)
        })?;
    }
    Ok(())
}

fn take_turn(home: &Home, producer: &Producer, holder: &str, shutdown: &Shutdown) -> Result<(), EngineError> {
    let name = producer.name;
    let Some(turn) = Turn::take(&home.registry, name, holder, LEASE)? else { return Ok(()) };
    let began = Instant::now();
    let outcome = turn.keep(LEASE / 3, shutdown, |stop| (producer.produce)(home, stop));
    if turn.is_lost() {
        Event::ScheduleLost { name }.emit();
        return Ok(());
    }
    let (has_run, next) = match &outcome {
        // The rest is left to whoever comes next.
        Ok(_) if shutdown.is_requested() => (false, Duration::ZERO),
        Ok(did) => {
            Event::ScheduleRan { name, outcome: did, elapsed: began.elapsed() }.emit();
            (true, producer.every)
        }
        Err(error) => {
            Event::ScheduleFailed { name, error: &error.chain() }.emit();
            (false, AFTER_FAILURE.min(producer.every))
        }
    };
    turn.end(has_run, next)
}

/// Every schedule with its last run and its next.
pub fn list(home: &Home) -> Result<Vec<Schedule>, EngineError> {
    Ok(home.registry.read(schedules::list)?)
}
