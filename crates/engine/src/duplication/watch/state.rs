//! Which plain stores are watched, by which process: a fact of the registry for each, renewed while it is so. One process at a time watches a store.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use strongroom_queue::WorkerId;
use strongroom_registry::{RegistryError, Time, Transaction, tenants};

use crate::EngineError;
use crate::Home;
use crate::duplication::events::policies;

/// A process that has not renewed what it says for so long has ended.
const LEASE: Duration = Duration::from_secs(90);
/// How often it is renewed.
pub(super) const RENEWED_EVERY: Duration = Duration::from_secs(20);
/// Longer reasons are cut, in characters.
const LONGEST: usize = 1_000;

/// What a process says of the watch of a store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct State {
    /// The process.
    pub(super) holder: String,
    /// Since when it watches, or cannot; in microseconds.
    since: i64,
    /// When it said so last.
    renewed_at: i64,
    /// Folders that are watched.
    pub(super) folders: usize,
    /// Why it does not watch.
    pub(super) problem: Option<String>,
    /// What it does not see.
    pub(super) unseen: Option<String>,
}

impl State {
    /// It begins to watch.
    pub(super) fn beginning(holder: &str) -> Self {
        let unseen =
            Some("the watch begins; what changes in folders that it has not reached is not seen yet".to_owned());
        Self { unseen, ..Self::new(holder) }
    }

    /// It watches.
    pub(super) fn watching(holder: &str, folders: usize, unreadable: Option<String>) -> Self {
        let unseen = unreadable
            .map(|folder| cut(&format!("what lies in folders that may not be read, such as {folder}, is not seen")));
        Self { folders, unseen, ..Self::new(holder) }
    }

    /// It cannot watch.
    pub(super) fn failed(holder: &str, problem: &str) -> Self {
        Self { problem: Some(cut(problem)), ..Self::new(holder) }
    }

    fn new(holder: &str) -> Self {
        Self { holder: holder.to_owned(), since: 0, renewed_at: 0, folders: 0, problem: None, unseen: None }
    }

    fn is_current(&self, now: Time) -> bool {
        let age = now.0.saturating_sub(self.renewed_at).unsigned_abs();
        u128::from(age) < LEASE.as_micros() && !self.holder.parse::<WorkerId>().is_ok_and(|holder| holder.is_gone())
    }
}

/// Whether a plain store is watched, for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum WatchStatus {
    /// The settings do not want it.
    Unwanted,
    /// It is watched.
    Watched { since: Time, unseen: Option<String> },
    /// It is not, and why. It is a problem where a process tried.
    Unwatched { reason: String, is_problem: bool },
}

/// Whether a plain store is watched.
pub(crate) fn status(home: &Home, store: &str) -> Result<WatchStatus, EngineError> {
    if !home.plain_stores.settings(store)?.is_watched() {
        return Ok(WatchStatus::Unwanted);
    }
    let (state, now) = home.registry.read(|tx| Ok::<_, RegistryError>((read(tx, store)?, tx.now()?)))?;
    Ok(match state.filter(|state| state.is_current(now)) {
        Some(State { problem: Some(reason), .. }) => WatchStatus::Unwatched { reason, is_problem: true },
        Some(state) => WatchStatus::Watched { since: Time(state.since), unseen: state.unseen },
        None => {
            let policies = policies(home)?;
            let reason = if policies.iter().any(|(_, policy)| policy.lookup().sources().contains(&store)) {
                "no process watches it: start \"strongroom serve\""
            } else {
                "no rule of a duplication policy copies from it"
            };
            WatchStatus::Unwatched { reason: reason.to_owned(), is_problem: false }
        }
    })
}

/// What came of what a process says of a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Claim {
    /// Another process watches it.
    Held,
    /// It is recorded. Perhaps another process watched it, and ended without saying so.
    Ours { after_crash: bool },
}

/// Records what this process says of a store.
pub(super) fn claim(tx: &mut dyn Transaction, store: &str, new: &State) -> Result<Claim, RegistryError> {
    let now = tx.now()?;
    let known = read(tx, store)?;
    let (mut new, mut after_crash) = (new.clone(), false);
    (new.since, new.renewed_at) = (now.0, now.0);
    if let Some(known) = known {
        let is_other = known.holder != new.holder;
        if is_other && known.problem.is_none() && known.is_current(now) {
            return Ok(Claim::Held);
        }
        after_crash = is_other && known.problem.is_none();
        if !is_other && known.problem == new.problem {
            new.since = known.since;
        }
    }
    // Texts and numbers only: it cannot fail.
    tenants::set_fact(tx, &name(store), &serde_json::to_string(&new).unwrap_or_default())?;
    Ok(Claim::Ours { after_crash })
}

/// Records that this process still watches a store; whether no other one does.
pub(super) fn renew(tx: &mut dyn Transaction, store: &str, holder: &str) -> Result<bool, RegistryError> {
    let known = read(tx, store)?.filter(|known| known.holder == holder);
    let new = known.unwrap_or_else(|| State::new(holder));
    Ok(claim(tx, store, &new)? != Claim::Held)
}

/// Records that a process does not watch a store any more.
pub(super) fn remove(tx: &mut dyn Transaction, store: &str, holder: &str) -> Result<(), RegistryError> {
    if read(tx, store)?.is_some_and(|known| known.holder == holder) {
        tenants::delete_fact(tx, &name(store))?;
    }
    Ok(())
}

/// What is recorded of a store. What cannot be read is of a newer program, and counts as nothing.
fn read(tx: &mut dyn Transaction, store: &str) -> Result<Option<State>, RegistryError> {
    let text = tenants::fact(tx, &name(store))?;
    Ok(text.and_then(|text| serde_json::from_str(&text).ok()))
}

fn name(store: &str) -> String {
    format!("duplication.watch.{store}")
}

fn cut(text: &str) -> String {
    text.chars().take(LONGEST).collect()
}
