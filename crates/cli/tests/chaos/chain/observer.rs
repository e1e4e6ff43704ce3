//! Looks at all activities again and again, in one state of the database each time, and checks what has to be true in every one.

use std::collections::HashSet;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use strongroom_database::{Database, Location, Placeholders, PostgresSettings, Schema, Statement};
use strongroom_records::{Counts, ListId, ListStatus, lists};
use strongroom_registry::activities::{self, Activity, ActivityFilter, Input};
use strongroom_registry::{ActivityId, ActivityState, Order, Scope, Transaction};

use super::plan::ACTIVITIES;
use crate::world::World;

/// From the beginning of a look to that of the next one.
const EVERY: Duration = Duration::from_millis(50);
/// Provenance is counted at one look of so many: that reads a row for each record that was processed.
const PROVENANCE_EVERY: u64 = 10;

/// An activity as it was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) id: ActivityId,
    pub(super) state: ActivityState,
    pub(super) counts: Counts,
}

impl Found {
    pub(super) fn has_finished(&self) -> bool {
        matches!(self.state, ActivityState::Finished | ActivityState::FinishedWithErrors)
    }
}

/// What the looks have shown so far.
#[derive(Debug, Clone, Default)]
pub(super) struct Shown {
    /// The activities, the oldest first, as of the last look.
    pub(super) last: Vec<Found>,
    pub(super) looks: u64,
    /// The longest time from the beginning of a look to that of the next one.
    pub(super) longest: Duration,
    /// What was wrong. No look follows.
    pub(super) finding: Option<String>,
}

/// The database of a run, with the statements of the program and those of the observer.
pub(super) fn open(world: &World) -> Result<Arc<dyn Database>> {
    let location = match &world.database {
        None => Location::Sqlite(world.path("home/registry.db")),
        Some(scratch) => Location::Postgres { url: scratch.url(), settings: PostgresSettings::default() },
    };
    Ok(strongroom_database::open(&location, |dialect| {
        let Schema { statements, migrations } = strongroom_registry::schema(dialect);
        let placeholders = if dialect == "postgres" { Placeholders::Dollars } else { Placeholders::QuestionMarks };
        Schema { statements: statements.with_shared(placeholders, include_str!("counts.sql")), migrations }
    })?)
}

/// Looks in a thread of its own, until it is dropped.
pub(super) struct Observer {
    shown: Arc<Mutex<Shown>>,
    stop: Option<mpsc::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Observer {
    pub(super) fn start(database: Arc<dyn Database>) -> Self {
        let shown = Arc::new(Mutex::new(Shown::default()));
        let (stop, stopped) = mpsc::channel();
        let mut looking = Looking { database, known: Vec::new(), looks: 0 };
        let showing = shown.clone();
        let thread = std::thread::spawn(move || {
            let mut began = Instant::now();
            loop {
                let outcome = looking.look();
                let mut shown = locked(&showing);
                shown.looks = looking.looks;
                match outcome {
                    Ok(last) => shown.last = last,
                    Err(error) => {
                        shown.finding = Some(format!("look {}: {error:#}", looking.looks));
                        return;
                    }
                }
                drop(shown);
                if !matches!(
                    stopped.recv_timeout(EVERY.saturating_sub(began.elapsed())),
                    Err(mpsc::RecvTimeoutError::Timeout)
                ) {
                    return;
                }
                let mut shown = locked(&showing);
                shown.longest = shown.longest.max(began.elapsed());
                began = Instant::now();
            }
        });
        Self { shown, stop: Some(stop), thread: Some(thread) }
    }

    pub(super) fn shown(&self) -> Shown {
        locked(&self.shown).clone()
    }
}

impl Drop for Observer {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn locked(shown: &Mutex<Shown>) -> MutexGuard<'_, Shown> {
    shown.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What is known of an activity from earlier looks.
struct Known {
    list: ListId,
    counts: Counts,
    /// The last number that was seen of the sequence of each slot.
    sequences: Vec<i64>,
    /// The numbers of the records that were seen as processed.
    processed: HashSet<u64>,
}

struct Looking {
    database: Arc<dyn Database>,
    known: Vec<Known>,
    looks: u64,
}

/// An activity as one state of the database has it.
struct Look {
    activity: Activity,
    /// What the program says of its list.
    status: ListStatus,
    /// Counted row by row.
    rows: Counts,
    /// Records that workers have, by their chunks.
    claimed: u64,
    /// The sequence of each slot.
    sequences: Vec<i64>,
    /// Numbers of records that became processed since the last look.
    processed: Vec<u64>,
    /// Rows of provenance.
    made: Option<u64>,
}

impl Looking {
    fn look(&mut self) -> Result<Vec<Found>> {
        self.looks += 1;
        let with_provenance = self.looks.is_multiple_of(PROVENANCE_EVERY);
        let known = &self.known;
        // One transaction, which sees one state.
        let looks = self.database.read(|tx| {
            let filter = ActivityFilter { order: Order::OldestFirst, ..ActivityFilter::default() };
            let all = activities::list(tx, Scope::System, &filter, None, ACTIVITIES + 1)?;
            let one = |(nth, activity)| look(tx, activity, known.get(nth), with_provenance);
            all.into_iter().enumerate().map(one).collect::<Result<Vec<_>>>()
        })?;
        for (nth, look) in looks.iter().enumerate() {
            if nth == self.known.len() {
                let (list, counts) = (look.activity.list, Counts::default());
                self.known.push(Known { list, counts, sequences: Vec::new(), processed: HashSet::new() });
            }
            self.known[nth].take(look)?;
            check(look, &looks)?;
        }
        let found =
            |look: &Look| Found { id: look.activity.id, state: look.activity.state, counts: look.status.counts };
        Ok(looks.iter().map(found).collect())
    }
}

fn look(tx: &mut dyn Transaction, activity: Activity, known: Option<&Known>, with_provenance: bool) -> Result<Look> {
    let list = activity.list;
    let status = lists::status(tx, list)?;
    let row = tx.query_one(Statement("chain.counts"), &[list.into()])?.context("one row")?;
    let mut rows = Counts {
        todo: row.count("todo")?,
        processing: row.count("processing")?,
        processed: 0,
        failed: row.count("failed")?,
        cancelled: row.count("cancelled")?,
    };
    let claimed = row.count("claimed")?;
    let (mut sequences, mut processed) = (Vec::new(), Vec::new());
    for row in tx.query(Statement("chain.slots"), &[list.into()])? {
        let (slot, sequence) = (row.integer("slot")?, row.integer("sequence")?);
        let from = known.and_then(|known| known.sequences.get(sequences.len())).copied().unwrap_or(0);
        if sequence != from {
            let new = tx.query(Statement("chain.processed"), &[list.into(), slot.into(), from.into()])?;
            processed.extend(new.iter().map(|row| row.count("number")).collect::<Result<Vec<_>, _>>()?);
        }
        sequences.push(sequence);
    }
    rows.processed = (known.map_or(0, |known| known.processed.len()) + processed.len()) as u64;
    let made = with_provenance.then(|| {
        let row = tx.query_one(Statement("chain.made"), &[activity.id.into(), activity.run.into()])?;
        anyhow::Ok(row.context("one row")?.count("made")?)
    });
    Ok(Look { activity, status, rows, claimed, sequences, processed, made: made.transpose()? })
}

impl Known {
    /// Takes in a look, in which nothing may have gone back.
    fn take(&mut self, look: &Look) -> Result<()> {
        let (before, now) = (self.counts, look.status.counts);
        ensure!(self.list == look.activity.list, "another list: {look}");
        ensure!(now.populated() >= before.populated(), "populated went back from {before:?}: {look}");
        ensure!(now.processed >= before.processed, "processed went back from {before:?}: {look}");
        for number in &look.processed {
            ensure!(self.processed.insert(*number), "the record {number} was processed twice: {look}");
        }
        self.counts = now;
        self.sequences.clone_from(&look.sequences);
        Ok(())
    }
}

/// What has to be true of an activity in every state of the database.
fn check(look: &Look, all: &[Look]) -> Result<()> {
    let counts = look.status.counts;
    ensure!(counts == look.rows, "counted row by row it has {:?}: {look}", look.rows);
    ensure!(counts.processing == look.claimed, "chunks have {} records: {look}", look.claimed);
    ensure!(look.made.is_none_or(|made| made == counts.processed), "{:?} rows of provenance: {look}", look.made);
    let has_finished = |state| matches!(state, ActivityState::Finished | ActivityState::FinishedWithErrors);
    if has_finished(look.activity.state) {
        ensure!(look.status.is_finished(), "it has finished, and its list has not: {look}");
        let has_failed = look.activity.state == ActivityState::FinishedWithErrors;
        ensure!(has_failed == (counts.failed > 0), "its state does not fit its counts: {look}");
    }
    let Input::Follow(input, _) = look.activity.input else { return Ok(()) };
    let Some(followed) = all.iter().find(|other| other.activity.id == input) else { bail!("it follows none: {look}") };
    let (has, could_have) = (counts.populated(), followed.status.counts.processed);
    ensure!(has <= could_have, "it has more than was processed before: {look}; it follows {followed}");
    if has_finished(look.activity.state) {
        let is_over = has_finished(followed.activity.state);
        ensure!(is_over && has == could_have, "it has finished before what it follows: {look}; it follows {followed}");
    }
    Ok(())
}

impl fmt::Display for Look {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { activity, status, .. } = self;
        let complete = if status.is_complete { "complete" } else { "not complete" };
        write!(
            out,
            "{} {} is {}, its list is {complete}: {:?}",
            activity.agent, activity.id, activity.state, status.counts
        )
    }
}
