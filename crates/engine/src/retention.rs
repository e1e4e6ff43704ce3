//! What is kept for a time only, where the settings say so: history, messages of the outbox, receipts and ended work items are
//! removed in transactions of a bounded number of rows. Without a setting nothing is removed.

use std::time::Duration;

use strongroom_registry::versions::ROWS_AT_ONCE;
use strongroom_registry::{RegistryError, Time, retention as record};

use crate::runtime::Shutdown;
use crate::{EngineError, Home};

/// What a sweep removed, in rows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Swept {
    /// Lines of item history.
    pub item_history: u64,
    /// Messages of the outbox.
    pub outbox: u64,
    /// Receipts of uploads.
    pub receipts: u64,
    /// Ended work items.
    pub ended_items: u64,
}

/// Removes what has had its time. Asked to stop, it stops between two transactions; the next sweep goes on.
pub fn sweep(home: &Home, stop: &Shutdown) -> Result<Swept, EngineError> {
    let settings = &home.settings.retention;
    let now = home.registry.read(|tx| Ok::<_, RegistryError>(tx.now()?))?;
    let mut swept = Swept::default();
    if let Some(before) = before(now, settings.item_history) {
        swept.item_history = until_end(stop, &mut |after| {
            Ok(home.registry.write(move |tx| record::drop_history(tx, before, after))?)
        })?;
    }
    if let Some(before) = before(now, settings.outbox) {
        swept.outbox = until_few(stop, &mut || Ok(home.registry.write(move |tx| record::drop_outbox(tx, before))?))?;
    }
    if let Some(before) = before(now, settings.receipts) {
        swept.receipts =
            until_few(stop, &mut || Ok(home.registry.write(move |tx| record::drop_receipts(tx, before))?))?;
    }
    if let Some(before) = before(now, settings.ended_items) {
        swept.ended_items =
            until_end(stop, &mut |after| Ok(home.registry.write(move |tx| record::drop_items(tx, before, after))?))?;
    }
    Ok(swept)
}

/// Repeats an act, which says how many rows it removed and where it goes on, until it has come to the end.
fn until_end<C>(
    stop: &Shutdown,
    act: &mut dyn FnMut(Option<C>) -> Result<(u64, Option<C>), EngineError>,
) -> Result<u64, EngineError> {
    let (mut all, mut after) = (0, None);
    loop {
        let (dropped, next) = act(after)?;
        all += dropped;
        after = next;
        if after.is_none() || stop.is_requested() {
            return Ok(all);
        }
    }
}

/// Repeats an act until it removes fewer rows than it may.
fn until_few(stop: &Shutdown, act: &mut dyn FnMut() -> Result<u64, EngineError>) -> Result<u64, EngineError> {
    let mut all = 0;
    loop {
        let dropped = act()?;
        all += dropped;
        if dropped < ROWS_AT_ONCE as u64 || stop.is_requested() {
            return Ok(all);
        }
    }
}

/// What is older than this has had its time; `None` where it is kept without end.
fn before(now: Time, retention: Duration) -> Option<Time> {
    if retention.is_zero() {
        return None;
    }
    Some(Time(now.0.saturating_sub(i64::try_from(retention.as_micros()).unwrap_or(i64::MAX))))
}
