//! What was put into the restoration store, and is removed when its time has ended: only as it was put, never what
//! another program put in its place. What a restoration that stopped has left there is found by its row and has its
//! time, too.

use std::time::Duration;

use strongroom_registry::restored::{self, Left, Restored};
use strongroom_registry::{RegistryError, Time, Transaction};
use strongroom_storage::{Key, StorageError};

use super::into_store::is_announced;
use crate::runtime::Shutdown;
use crate::{EngineError, Home, crash_point};

/// Rows inspected at once.
const ROWS_AT_ONCE: usize = 200;

/// What came of looking for what has had its time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Expired {
    /// Removed.
    pub removed: u64,
    /// Left alone, since another process had changed them.
    pub changed: u64,
}

/// Removes what has had its time in the restoration store, until asked to stop. Repeating it does no harm.
pub fn expire(home: &Home, stop: &Shutdown) -> Result<Expired, EngineError> {
    settle_abandoned(home, stop)?;
    let mut expired = Expired::default();
    let mut first_failure = None;
    each(home, stop, restored::expired, |one| match remove(home, one) {
        Ok(None) => {}
        Ok(Some(true)) => expired.removed += 1,
        Ok(Some(false)) => expired.changed += 1,
        // What cannot be removed keeps nothing else from it.
        Err(error) => first_failure = first_failure.take().or(Some(error)),
    })?;
    first_failure.map_or(Ok(expired), Err)
}

/// When what is put into the restoration store now is to be removed; none: it stays.
pub(super) fn expires_at(retention: Duration, now: Time) -> Option<Time> {
    (retention > Duration::ZERO).then(|| now.plus(i64::try_from(retention.as_micros()).unwrap_or(i64::MAX)))
}

/// Removes one thing where it lies as it was put; nothing where its turn has not come.
fn remove(home: &Home, one: &Restored) -> Result<Option<bool>, EngineError> {
    let row = one.clone();
    if !home.registry.write(move |tx| restored::begin_removal(tx, &row))? {
        return Ok(None);
    }
    crash_point("restoration.expire.begun");
    let store = home.store(&one.place.store)?;
    let key = Key::new(one.place.key.as_str()).map_err(StorageError::from)?;
    let institution = key.as_str().split_once('/').map_or("", |(institution, _)| institution);
    let keep = Key::new(institution).map_err(StorageError::from)?;
    let was_there = store.delete_match(&key, one.etag.as_deref().unwrap_or_default(), &keep)?;
    store.sync()?;
    crash_point("restoration.expire.removed");
    let row = one.clone();
    home.registry.write(move |tx| restored::end_removal(tx, &row, was_there))?;
    Ok(Some(was_there))
}

/// Finds what restorations have put that ended before they could say so.
fn settle_abandoned(home: &Home, stop: &Shutdown) -> Result<(), EngineError> {
    let mut outcome = Ok(());
    each(home, stop, restored::abandoned, |one| {
        if outcome.is_ok() {
            outcome = settle(home, one);
        }
    })?;
    outcome
}

fn settle(home: &Home, one: &Restored) -> Result<(), EngineError> {
    let key = Key::new(one.place.key.as_str()).map_err(StorageError::from)?;
    let store = home.store(&one.place.store)?;
    let head = match store.head(&key) {
        Ok(head) => Some(head),
        Err(error) if error.is_not_found() => None,
        Err(error) => return Err(error.into()),
    };
    // What lies there may be another process's: it has a time only where it is what the restoration was about to put.
    let is_ours = match (&head, one.announced()) {
        (Some(head), Some(announced)) => is_announced(store.as_ref(), &key, head, &announced)?,
        _ => false,
    };
    let row = one.clone();
    let retention = home.settings.restoration.retention;
    Ok(home.registry.write(move |tx| {
        let left = match &head {
            None => Left::Nothing,
            Some(head) if is_ours => Left::Ours(&head.etag, head.size),
            Some(_) => Left::Other,
        };
        let expires_at = expires_at(retention, tx.now()?);
        restored::settle_abandoned(tx, &row, left, expires_at)
    })?)
}

type ListRows = fn(&mut dyn Transaction, Option<&Restored>, usize) -> Result<Vec<Restored>, RegistryError>;

/// Runs over rows page by page.
fn each(home: &Home, stop: &Shutdown, list: ListRows, mut act: impl FnMut(&Restored)) -> Result<(), EngineError> {
    let mut after: Option<Restored> = None;
    loop {
        let page = home.registry.read(|tx| list(tx, after.as_ref(), ROWS_AT_ONCE))?;
        let Some(last) = page.last() else { return Ok(()) };
        after = Some(last.clone());
        for one in &page {
            if stop.is_requested() {
                return Ok(());
            }
            act(one);
        }
    }
}
