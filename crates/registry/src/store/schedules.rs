//! Schedules: one row for each background task, with when it runs next, how its last runs ended, and which process runs it
//! now. The row is leased while the task runs, so that one process at a time runs it.

use strongroom_database::{Row, Statement, Time, Transaction};

use crate::{RegistryError, hastened};

/// Longer results and errors are cut, in characters: parts of them come from stores and servers.
const LONGEST_TEXT: usize = 1_000;

/// A schedule as it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schedule {
    /// The name of the background task.
    pub name: String,
    /// When its last run started; that run may still be under way.
    pub last_started_at: Option<Time>,
    /// How long the last run that ended took, in microseconds.
    pub last_elapsed: Option<u64>,
    /// When a run last ended well.
    pub last_run_at: Option<Time>,
    /// What that run did, in words.
    pub result: Option<String>,
    /// Why the last run failed; none where it ended well.
    pub error: Option<String>,
    /// When the first of the failures in a row was.
    pub error_since: Option<Time>,
    /// When it runs next.
    pub next_run_at: Time,
    /// The process that has taken the run.
    pub holder: Option<String>,
    /// Until when that process has it, unless the run ends before.
    pub lease_until: Option<Time>,
}

/// Which run is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Due {
    /// One whose time has come.
    Now,
    /// The next one, whenever its time would come.
    AnyTime,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunEnd {
    /// Well; what it did, in words.
    Done(String),
    /// With an error.
    Failed(String),
    /// It was stopped before its end, which says nothing of the task.
    Stopped,
}

/// Takes a run of a schedule for a process until `until`, where it is due and no process has it. A schedule without a row is
/// due at once.
pub fn take(tx: &mut dyn Transaction, name: &str, due: Due, holder: &str, until: Time) -> Result<bool, RegistryError> {
    let now = tx.now()?;
    let due_by = match due {
        Due::Now => now,
        Due::AnyTime => Time(i64::MAX),
    };
    let values = [name.into(), now.into(), holder.into(), until.into(), due_by.into()];
    Ok(tx.query_one(Statement("schedules.take"), &values)?.is_some())
}

/// Extends the lease of a run that is still this holder's, also where the lease has run out; whether it is.
pub fn extend(tx: &mut dyn Transaction, name: &str, holder: &str, until: Time) -> Result<bool, RegistryError> {
    let values = [name.into(), holder.into(), until.into()];
    Ok(tx.query_one(Statement("schedules.extend"), &values)?.is_some())
}

/// Cuts a lease that lasts beyond `until`. Where `until` lies as far ahead as a lease may last, one that lasts longer was given by a
/// clock that was ahead: a holder that is at work extends it again, and the run of one that died can be taken over then.
pub fn bound_lease(tx: &mut dyn Transaction, name: &str, until: Time) -> Result<(), RegistryError> {
    tx.execute(Statement("schedules.bound_lease"), &[name.into(), until.into()])?;
    Ok(())
}

/// When the tables of the registry were made: since then a schedule without a row is due.
pub fn due_since(tx: &mut dyn Transaction) -> Result<Option<Time>, RegistryError> {
    let row = tx.query_one(Statement("schema.made_at"), &[])?;
    Ok(row.map(|row| row.optional_time("made_at")).transpose()?.flatten())
}

/// Ends a run and records how it ended. The next run is at `next_run_at`, or earlier where [`due_by`] asked for one while this
/// one was under way. Changes nothing where another process has taken the run over.
pub fn end(
    tx: &mut dyn Transaction,
    name: &str,
    holder: &str,
    end: &RunEnd,
    next_run_at: Time,
) -> Result<(), RegistryError> {
    let now = tx.now()?;
    let recorded = match end {
        RunEnd::Done(result) => Some((Statement("schedules.done"), result)),
        RunEnd::Failed(error) => Some((Statement("schedules.failed"), error)),
        RunEnd::Stopped => None,
    };
    if let Some((statement, text)) = recorded {
        let text: String = text.chars().take(LONGEST_TEXT).collect();
        tx.execute(statement, &[name.into(), holder.into(), now.into(), text.into()])?;
    }
    tx.execute(Statement("schedules.free"), &[name.into(), holder.into(), next_run_at.into()])?;
    Ok(())
}

/// Makes a schedule due now. Those who wait for it in this process are told when the transaction has committed
/// ([`Registry::listen_for_hastened`](crate::Registry::listen_for_hastened)). Where a run is under way, another follows it: the one under way may have passed what the caller
/// wants done.
pub fn hasten(tx: &mut dyn Transaction, name: &str) -> Result<(), RegistryError> {
    let now = tx.now()?;
    due_by(tx, name, now)
}

/// As [`hasten`], at a time at the latest.
pub fn due_by(tx: &mut dyn Transaction, name: &str, time: Time) -> Result<(), RegistryError> {
    tx.execute(Statement("schedules.hasten"), &[name.into(), time.into()])?;
    hastened::note();
    Ok(())
}

/// Every schedule that was ever taken, by name.
pub fn list(tx: &mut dyn Transaction) -> Result<Vec<Schedule>, RegistryError> {
    tx.query(Statement("schedules.list"), &[])?.iter().map(schedule_row).collect()
}

fn schedule_row(row: &Row) -> Result<Schedule, RegistryError> {
    let text = |column: &'static str| Ok::<_, RegistryError>(row.optional_text(column)?.map(str::to_owned));
    Ok(Schedule {
        name: row.text("name")?.to_owned(),
        last_started_at: row.optional_time("last_started_at")?,
        // A clock that was set back makes it negative.
        last_elapsed: row.optional_integer("last_elapsed")?.map(|elapsed| elapsed.max(0).unsigned_abs()),
        last_run_at: row.optional_time("last_run_at")?,
        result: text("result")?,
        error: text("error")?,
        error_since: row.optional_time("error_since")?,
        next_run_at: row.time("next_run_at")?,
        holder: text("holder")?,
        lease_until: row.optional_time("lease_until")?,
    })
}
