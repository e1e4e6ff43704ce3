//! What follows from time and from the ends of work items: requests expire and end, the admins are told, and drafts of which no request was made
//! are removed. Each is done by a conditional update, so that a repeat or a second process does nothing twice.

use strongroom_registry::deletion_requests::{self, Request};
use strongroom_registry::deletion_targets;
use strongroom_registry::{
    DeletionRequestId, DeletionRequestState, JournalOutcome, RegistryError, Scope, Time, Transaction, counted,
};

use super::mails;
use super::noting::{UNUSED_AFTER, forget, target};
use crate::journal::JournalEntry;
use crate::paging::rows;
use crate::runtime::Shutdown;
use crate::settings::MailSettings;
use crate::{EngineError, Home};

/// Requests that are looked up at once.
const REQUESTS_AT_ONCE: usize = 100;

/// One run; what it did, in words.
pub(crate) fn keep(home: &Home, stop: &Shutdown) -> Result<String, EngineError> {
    forget_drafts(home, stop)?;
    let expired = expire(home, stop)?;
    let ended = end(home, stop)?;
    let told = tell(home, stop)?;
    Ok(format!(
        "{} expired, {ended} ended with their work items, the ends of {told} told",
        counted(expired, "request", "requests")
    ))
}

fn forget_drafts(home: &Home, stop: &Shutdown) -> Result<(), EngineError> {
    let after = i64::try_from(UNUSED_AFTER.as_micros()).unwrap_or(i64::MAX);
    let now = home.registry.read(|tx| Ok::<_, RegistryError>(tx.now()?))?;
    let before = Time(now.0.saturating_sub(after));
    while !stop.is_requested() {
        let drafts = home.registry.read(|tx| deletion_targets::old_drafts(tx, before, REQUESTS_AT_ONCE))?;
        if drafts.is_empty() {
            break;
        }
        for draft in drafts {
            forget(home, draft)?;
        }
    }
    Ok(())
}

fn expire(home: &Home, stop: &Shutdown) -> Result<u64, EngineError> {
    let mut expired = 0;
    while !stop.is_requested() {
        let overdue = home.registry.read(|tx| deletion_requests::overdue(tx, REQUESTS_AT_ONCE))?;
        if overdue.is_empty() {
            break;
        }
        for id in overdue {
            let mail = home.settings.mail.clone();
            expired += u64::from(home.registry.write(move |tx| expire_if_late(tx, &mail, id))?);
        }
    }
    Ok(expired)
}

/// Records that a request has expired, where it waits for approval and its time has run out; whether it did.
pub(super) fn expire_if_late(
    tx: &mut dyn Transaction,
    mail: &MailSettings,
    id: DeletionRequestId,
) -> Result<bool, EngineError> {
    if !deletion_requests::expire(tx, id)? {
        return Ok(false);
    }
    let request = deletion_requests::find(tx, Scope::System, id)?;
    let entry = JournalEntry::of_system("deletions.expire");
    let of = target(tx, &request)?;
    entry.append(tx, &of, JournalOutcome::Done, None)?;
    mails::tell(tx, mail, &request, mails::Act::Expired)?;
    Ok(true)
}

/// Ends the requests whose work items have ended without it, as where their batch was deleted.
fn end(home: &Home, stop: &Shutdown) -> Result<u64, EngineError> {
    let page = |after, limit| home.registry.read(|tx| deletion_requests::at_work(tx, after, limit));
    let mut ended = 0;
    for id in rows(REQUESTS_AT_ONCE, |id: &DeletionRequestId| *id, page) {
        if stop.is_requested() {
            break;
        }
        let id = id?;
        ended += u64::from(home.registry.write(move |tx| deletion_requests::end_if_done(tx, id))?);
    }
    Ok(ended)
}

/// Tells the ends of requests that were not told.
fn tell(home: &Home, stop: &Shutdown) -> Result<u64, EngineError> {
    let page = |after, limit| home.registry.read(|tx| deletion_requests::untold(tx, after, limit));
    let mut told = 0;
    for id in rows(REQUESTS_AT_ONCE, |id: &DeletionRequestId| *id, page) {
        if stop.is_requested() {
            break;
        }
        let (id, mail) = (id?, home.settings.mail.clone());
        told += home.registry.write(move |tx| {
            let request = deletion_requests::find(tx, Scope::System, id)?;
            if !deletion_requests::set_told(tx, id, request.ends)? {
                return Ok(0);
            }
            if let Some(act) = end_of(&request) {
                mails::tell(tx, &mail, &request, act)?;
            }
            Ok::<_, EngineError>(1)
        })?;
    }
    Ok(told)
}

fn end_of(request: &Request) -> Option<mails::Act> {
    Some(match request.state {
        DeletionRequestState::Completed => mails::Act::Completed,
        DeletionRequestState::Failed => mails::Act::Failed,
        DeletionRequestState::Cancelled => mails::Act::Cancelled,
        _ => return None,
    })
}
