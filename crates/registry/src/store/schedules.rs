//! Schedules: what is done every so often, by whichever process takes its turn first. One row each, leased while it runs.

use strongroom_database::{Statement, Time, Transaction};

use crate::RegistryError;

/// A schedule as it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schedule {
    /// Its name.
    pub name: String,
    /// When it last ran to its end.
    pub last_run_at: Option<Time>,
    /// When its next turn is.
    pub next_run_at: Time,
    /// Who runs it now.
    pub holder: Option<String>,
    /// Until when, unless it ends before.
    pub lease_until: Option<Time>,
}

/// Takes the turn of a schedule, where it is due and nobody runs it; a schedule that was never run is due at once.
pub fn take(tx: &mut dyn Transaction, name: &str, holder: &str, until: Time) -> Result<bool, RegistryError> {
    let now = tx.now()?;
    let values = [name.into(), now.into(), holder.into(), until.into()];
    Ok(tx.query_one(Statement("schedules.take"), &values)?.is_some())
}

/// Keeps a turn that is still this holder's, also where its lease has run out; whether it is.
pub fn extend(tx: &mut dyn Transaction, name: &str, holder: &str, until: Time) -> Result<bool, RegistryError> {
    let values = [name.into(), holder.into(), until.into()];
    Ok(tx.query_one(Statement("schedules.extend"), &values)?.is_some())
}

/// Ends a turn: when the next is, and whether this one ran to its end. Changes nothing when somebody else has taken over.
pub fn end(
    tx: &mut dyn Transaction,
    name: &str,
    holder: &str,
    has_run: bool,
    next_run_at: Time,
) -> Result<(), RegistryError> {
    let now = tx.now()?;
    let last_run_at = has_run.then_some(now);
    tx.execute(Statement("schedules.done"), &[name.into(), last_run_at.into(), next_run_at.into(), holder.into()])?;
    Ok(())
}

/// Makes a schedule due now.
pub fn hasten(tx: &mut dyn Transaction, name: &str) -> Result<(), RegistryError> {
    let now = tx.now()?;
    due_by(tx, name, now)
}

/// Makes a schedule due at a time at the latest.
pub fn due_by(tx: &mut dyn Transaction, name: &str, time: Time) -> Result<(), RegistryError> {
    tx.execute(Statement("schedules.hasten"), &[name.into(), time.into()])?;
    Ok(())
}

/// Every schedule that was ever taken, by name.
pub fn list(tx: &mut dyn Transaction) -> Result<Vec<Schedule>, RegistryError> {
    tx.query(Statement("schedules.list"), &[])?
        .iter()
        .map(|row| {
            Ok(Schedule {
                name: row.text("name")?.to_owned(),
                last_run_at: row.optional_time("last_run_at")?,
                next_run_at: row.time("next_run_at")?,
                holder: row.optional_text("holder")?.map(str::to_owned),
                lease_until: row.optional_time("lease_until")?,
            })
        })
        .collect()
}
