//! What is kept for a time only, where the settings say so: history, messages of the outbox, receipts, ended work items, the records of
//! ended activities, and documents are removed in transactions of a bounded number of rows. Without a setting nothing is removed.

use std::time::Duration;

use jiff::SignedDuration;
use strongroom_credentials::{SessionLimits, ThrottlePolicy};
use strongroom_records::{RecordsError, lists};
use strongroom_registry::activities::{self, Activity, ActivityFilter};
use strongroom_registry::versions::ROWS_AT_ONCE;
use strongroom_registry::{
    ActivityState, Order, RegistryError, Scope, Time, documents, one_time_tokens, retention as record, sessions,
    throttles,
};

use crate::runtime::Shutdown;
use crate::{EngineError, Home, paging};

/// Documents that are removed in one transaction: each may have a megabyte.
const DOCUMENTS_AT_ONCE: usize = 100;
/// How long a token that expired is kept, to say that it did.
const KEPT_EXPIRED: SignedDuration = SignedDuration::from_hours(30 * 24);
/// Activities that are read at once.
const PAGE: usize = 200;

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
    /// Ended activities whose records are not kept any more.
    pub record_lists: u64,
    /// Documents.
    pub documents: u64,
    /// Sessions, tokens and counts of attempts whose time is over.
    pub credentials: u64,
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
        swept.outbox = until_few(stop, ROWS_AT_ONCE, &mut || {
            Ok(home.registry.write(move |tx| record::drop_outbox(tx, before))?)
        })?;
    }
    if let Some(before) = before(now, settings.receipts) {
        swept.receipts = until_few(stop, ROWS_AT_ONCE, &mut || {
            Ok(home.registry.write(move |tx| record::drop_receipts(tx, before))?)
        })?;
    }
    if let Some(before) = before(now, settings.ended_items) {
        swept.ended_items =
            until_end(stop, &mut |after| Ok(home.registry.write(move |tx| record::drop_items(tx, before, after))?))?;
    }
    if let Some(before) = before(now, settings.record_lists) {
        swept.record_lists = drop_records(home, stop, before)?;
    }
    if let Some(before) = before(now, settings.documents) {
        swept.documents = until_few(stop, DOCUMENTS_AT_ONCE, &mut || {
            Ok(home.registry.write(move |tx| documents::drop(tx, before, DOCUMENTS_AT_ONCE))?)
        })?;
    }
    swept.credentials = drop_credentials(home, stop, now)?;
    Ok(swept)
}

/// Removes sessions that have lasted for the longest time, tokens that expired a month ago, and attempts from addresses and on accounts that
/// there are not once they are forgotten. No setting says how long: none of them is of use any more.
fn drop_credentials(home: &Home, stop: &Shutdown, now: Time) -> Result<u64, EngineError> {
    let before = |age: SignedDuration| now.plus(i64::try_from(-age.as_micros()).unwrap_or(i64::MIN));
    let (started, expired) = (before(SessionLimits::default().absolute), before(KEPT_EXPIRED));
    let tried = before(ThrottlePolicy::AUTHENTICATOR.forget_after.max(ThrottlePolicy::ADDRESS.forget_after));
    let registry = &home.registry;
    let old = until_few(stop, ROWS_AT_ONCE, &mut || {
        Ok(registry.write(move |tx| sessions::drop_old(tx, started, ROWS_AT_ONCE))?)
    })?;
    let tokens = until_few(stop, ROWS_AT_ONCE, &mut || {
        Ok(registry.write(move |tx| one_time_tokens::drop_expired(tx, expired, ROWS_AT_ONCE))?)
    })?;
    let attempts = until_few(stop, ROWS_AT_ONCE, &mut || {
        Ok(registry.write(move |tx| throttles::drop_old(tx, tried, ROWS_AT_ONCE))?)
    })?;
    Ok(old + tokens + attempts)
}

/// Removes the records of activities that ended before a time, but for those that other activities still take, and those of activities that get
/// more when failed records of what they follow are processed again. Their counts stay, and provenance says what came of them. One that failed
/// has its records as long as it may be restarted.
fn drop_records(home: &Home, stop: &Shutdown, before: Time) -> Result<u64, EngineError> {
    let mut dropped = 0;
    // Those with failed records come first: those that follow them need theirs no more then.
    for state in [ActivityState::FinishedWithErrors, ActivityState::Finished, ActivityState::Cancelled] {
        let filter = ActivityFilter { state: Some(state), agent: None, order: Order::OldestFirst };
        let page = |after, limit| home.registry.read(|tx| activities::list(tx, Scope::System, &filter, after, limit));
        for activity in paging::rows(PAGE, |activity: &Activity| activity.id, page) {
            let activity = activity?;
            if activity.ended_at.is_none_or(|ended| ended >= before) || !has_records(home, &activity)? {
                continue;
            }
            let mut is_gone = false;
            while !is_gone {
                if stop.is_requested() {
                    return Ok(dropped);
                }
                let (id, list) = (activity.id, activity.list);
                is_gone = home.registry.write(move |tx| {
                    let now = activities::lock(tx, Scope::System, id)?;
                    let is_needed = activities::is_taken_from(tx, &now)? || activities::may_get_more(tx, &now)?;
                    if !now.state.is_ended() || now.list != list || is_needed {
                        return Ok::<_, RegistryError>(true);
                    }
                    // Of a run that ended before it had taken them all from the list of the run before.
                    activities::remove_previous(tx, &now)?;
                    Ok(lists::remove_records(tx, now.list, ROWS_AT_ONCE)?)
                })?;
            }
            let now = home.registry.read(|tx| activities::find(tx, Scope::System, activity.id))?;
            dropped += u64::from(now.list == activity.list && !has_records(home, &now)?);
        }
    }
    Ok(dropped)
}

/// Whether there is a list of an activity, or what a removal has left of its records.
fn has_records(home: &Home, activity: &Activity) -> Result<bool, RegistryError> {
    if activity.previous_list.is_some() {
        return Ok(true);
    }
    home.registry.read(|tx| match lists::status(tx, activity.list) {
        Ok(_) => Ok(true),
        Err(RecordsError::NoList(_)) => Ok(lists::outcome(tx, activity.list)?.is_some_and(|(_, are_gone)| !are_gone)),
        Err(error) => Err(error.into()),
    })
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
fn until_few(
    stop: &Shutdown,
    at_once: usize,
    act: &mut dyn FnMut() -> Result<u64, EngineError>,
) -> Result<u64, EngineError> {
    let mut all = 0;
    loop {
        let dropped = act()?;
        all += dropped;
        if dropped < at_once as u64 || stop.is_requested() {
            return Ok(all);
        }
    }
}

/// What is older than this has had its time; `None` where it is kept without end.
pub(crate) fn before(now: Time, retention: Duration) -> Option<Time> {
    if retention.is_zero() {
        return None;
    }
    Some(Time(now.0.saturating_sub(i64::try_from(retention.as_micros()).unwrap_or(i64::MAX))))
}
