//! Events of content items: each is recorded with the tasks that follow from it, in one transaction. What is known already, or is older than
//! what is known, makes none, so a feed may repeat its events and bring them in any order.

use std::collections::{BTreeMap, BTreeSet};

use strongroom_queue::tasks;
use strongroom_registry::content_events::{self as rows, ContentEvent};
use strongroom_registry::duplicated_items as items;
use strongroom_registry::duplication_routes as routes;
use strongroom_registry::{ContentEventKind, InstitutionId, RegistryError, Time, Transaction, duplication_policies};
use strongroom_spaces::SpaceName;
use strongroom_storage::Key;
use uuid::Uuid;

use super::acts::append_event;
use super::tasks::{Cause, HIGH, new_task};
use super::{CurrentPolicy, loaded};
use crate::{EngineError, Home};

/// Who acts in a destination, as events name it.
pub(super) const ACTOR: &str = "duplication";
/// How much the clock of who reports an event may differ from that of the registry, in microseconds. One that is further ahead would hide all
/// events that follow.
const CLOCKS_DIFFER: i64 = 24 * 3_600_000_000;

/// An event as it is reported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewEvent {
    /// The plain store.
    pub store: String,
    /// The space.
    pub space: SpaceName,
    /// The key of the content item; none for the space itself.
    pub key: Option<Key>,
    /// What happened.
    pub kind: ContentEventKind,
    /// When, by the clock of who reports it; none: now, and after every event that is known.
    pub happened_at: Option<Time>,
    /// Who reports it.
    pub actor: String,
    /// What they say of it.
    pub reason: String,
}

/// What came of events.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Recorded {
    /// Events that are the newest of their content items now.
    pub recorded: u64,
    /// Those that were known, or older than what is known.
    pub known: u64,
    /// Tasks that were made, or waited already.
    pub tasks: u64,
    /// Events of spaces of which no rule copies from that store: nothing follows from them.
    pub without_rule: u64,
    /// Deletions of content items that rules copy and of which nothing was known.
    pub unknown: u64,
}

/// The destinations to which rules copy a space of a store, each for an institution.
pub(super) type Destinations = Vec<(InstitutionId, String)>;

/// The policies that apply now, of every institution that has one. One that cannot be read is left out: a sweep of its institution says so.
pub(crate) fn policies(home: &Home) -> Result<Vec<(InstitutionId, CurrentPolicy)>, EngineError> {
    let newest = home.registry.read(duplication_policies::newest_of_all)?;
    let mut found = Vec::with_capacity(newest.len());
    for (institution, newest) in newest {
        match loaded(home, institution, &newest) {
            Ok(policy) => found.push((institution, policy)),
            Err(error @ EngineError::Registry(_)) => return Err(error),
            Err(_) => {}
        }
    }
    Ok(found)
}

/// Where rules copy a space of a store to.
pub(super) fn destinations(policies: &[(InstitutionId, CurrentPolicy)], store: &str, space: &str) -> Destinations {
    let of = |(institution, policy): &(InstitutionId, CurrentPolicy)| {
        let rules = policy.lookup().rules_from(store, space);
        rules.map(|rule| (*institution, rule.destination.clone())).collect::<Vec<_>>()
    };
    policies.iter().flat_map(of).collect()
}

/// Checks whether an event can be recorded; `now` is the time of the registry.
///
/// # Errors
/// The settings have no such plain store; the time of the event is too far ahead.
pub(crate) fn check(home: &Home, event: &NewEvent, now: Time) -> Result<(), EngineError> {
    home.plain_stores.settings(&event.store)?;
    match event.happened_at {
        Some(at) if at > now.plus(CLOCKS_DIFFER) => Err(EngineError::Usage(format!(
            "the event of {}/{} has the time {at}, more than a day ahead of {now}: it would hide every event before that",
            event.store, event.space
        ))
        .next("set the clock of who reports it, and report it again")),
        _ => Ok(()),
    }
}

/// Records events and their tasks: all of them, or none.
///
/// # Errors
/// The settings have no plain store of an event; its time is too far ahead.
pub fn record(home: &Home, events: &[NewEvent]) -> Result<Recorded, EngineError> {
    let now = crate::hold::now(home)?;
    events.iter().try_for_each(|event| check(home, event, now))?;
    let policies = policies(home)?;
    let mut by_space: BTreeMap<(String, String), Destinations> = BTreeMap::new();
    for event in events {
        let space = (event.store.clone(), event.space.to_string());
        by_space.entry(space).or_insert_with_key(|(store, space)| destinations(&policies, store, space));
    }
    let events: Vec<(ContentEvent, bool)> =
        events.iter().map(|event| (stored(event, now), event.happened_at.is_some())).collect();
    let max_attempts = home.settings.pool(HIGH).max_attempts;
    let recorded = home.registry.write(move |tx| {
        let mut recorded = Recorded::default();
        for (event, has_time) in &events {
            let none = Destinations::new();
            let to = by_space.get(&(event.store.clone(), event.space.clone())).unwrap_or(&none);
            recorded.without_rule += u64::from(to.is_empty());
            recorded.unknown += u64::from(!to.is_empty() && is_unknown(tx, event, to)?);
            let how = Recording { has_time: *has_time, is_reported: true, max_attempts };
            match record_one(tx, event, to, how)? {
                Some(tasks) => {
                    recorded.recorded += 1;
                    recorded.tasks += tasks;
                }
                None => recorded.known += 1,
            }
        }
        Ok::<_, RegistryError>(recorded)
    })?;
    if recorded.tasks > 0 {
        home.registry.wakeups().notify([HIGH]);
    }
    Ok(recorded)
}

/// How an event is recorded.
#[derive(Debug, Clone, Copy)]
pub(super) struct Recording {
    /// Whether its time was stated; else it comes after everything that is known.
    pub(super) has_time: bool,
    /// Whether it was reported, and is no act of duplication itself, which has its own place in the history.
    pub(super) is_reported: bool,
    /// The attempts of its tasks.
    pub(super) max_attempts: u32,
}

/// Whether an event is a deletion of something of which nothing is known: no event, and nothing that came of it on a route.
fn is_unknown(tx: &mut dyn Transaction, event: &ContentEvent, to: &Destinations) -> Result<bool, RegistryError> {
    let (store, space, key) = (event.store.as_str(), event.space.as_str(), event.key.as_str());
    if event.kind != ContentEventKind::Delete || rows::get(tx, (store, space, key))?.is_some() {
        return Ok(false);
    }
    for (institution, destination) in to {
        let Some(route) = routes::find(tx, *institution, (store, destination, space))? else { continue };
        // A space is known by its route.
        if key.is_empty() || items::get(tx, route.id, key)?.is_some() {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Records an event and its tasks; how many these are, or none where the event is no news.
pub(super) fn record_one(
    tx: &mut dyn Transaction,
    event: &ContentEvent,
    to: &Destinations,
    how: Recording,
) -> Result<Option<u64>, RegistryError> {
    let Recording { has_time, is_reported, max_attempts } = how;
    let mut event = event.clone();
    let known = if has_time && !is_reported { None } else { rows::get(tx, (&event.store, &event.space, &event.key))? };
    if let Some(known) = known.as_ref().filter(|known| !has_time && known.id != event.id) {
        // An act that is reported now comes after everything that is known, whatever clocks say.
        event.happened_at = event.happened_at.max(known.happened_at.plus(1));
    }
    if (has_time && is_reported && was_there_after(tx, &event, to)?) || !rows::record(tx, &event)? {
        return Ok(None);
    }
    if is_reported {
        let whose: BTreeSet<InstitutionId> = to.iter().map(|(institution, _)| *institution).collect();
        let whose: Vec<_> = if whose.is_empty() { vec![None] } else { whose.into_iter().map(Some).collect() };
        append_event(tx, &event, known.as_ref(), &whose)?;
    }
    let mut new = Vec::with_capacity(to.len());
    for (institution, destination) in to {
        let route = routes::ensure(tx, *institution, (&event.store, destination, &event.space))?;
        if event.left_to_sweep {
            continue;
        }
        new.push(new_task(max_attempts, &route, &event.key, Cause::Event));
    }
    tasks::enqueue(tx, &new)?;
    Ok(Some(new.len() as u64))
}

/// Whether it is the deletion of a content item that was seen in its store long after: it was put again, of which no event is known.
fn was_there_after(tx: &mut dyn Transaction, event: &ContentEvent, to: &Destinations) -> Result<bool, RegistryError> {
    if event.kind != ContentEventKind::Delete || event.key.is_empty() {
        return Ok(false);
    }
    for (institution, destination) in to {
        let Some(route) = routes::find(tx, *institution, (&event.store, destination, &event.space))? else { continue };
        let seen_at = items::get(tx, route.id, &event.key)?.and_then(|item| item.verified_at);
        if seen_at.is_some_and(|seen_at| seen_at > event.happened_at.plus(CLOCKS_DIFFER)) {
            return Ok(true);
        }
    }
    Ok(false)
}

fn stored(event: &NewEvent, now: Time) -> ContentEvent {
    ContentEvent {
        store: event.store.clone(),
        space: event.space.to_string(),
        key: event.key.as_ref().map(ToString::to_string).unwrap_or_default(),
        id: Uuid::now_v7(),
        kind: event.kind,
        happened_at: event.happened_at.unwrap_or(now),
        recorded_at: now,
        actor: event.actor.clone(),
        reason: event.reason.clone(),
        left_to_sweep: false,
    }
}

/// An act of duplication in a destination, which is an event there: rules may copy from it, too.
#[derive(Debug, Clone)]
pub(super) struct Follow {
    event: ContentEvent,
    to: Destinations,
    max_attempts: u32,
}

impl Follow {
    pub(super) fn new(
        home: &Home,
        policies: &[(InstitutionId, CurrentPolicy)],
        (store, space, key): (&str, &str, &str),
        kind: ContentEventKind,
        reason: &str,
        now: Time,
    ) -> Self {
        let event = ContentEvent {
            store: store.to_owned(),
            space: space.to_owned(),
            key: key.to_owned(),
            id: Uuid::now_v7(),
            kind,
            happened_at: now,
            recorded_at: now,
            actor: ACTOR.to_owned(),
            reason: reason.to_owned(),
            left_to_sweep: false,
        };
        let to = destinations(policies, store, space);
        Self { event, to, max_attempts: home.settings.pool(HIGH).max_attempts }
    }

    /// Records it with its tasks; the topics that have new work by it. A put of which nothing follows is left out.
    pub(super) fn write(&self, tx: &mut dyn Transaction) -> Result<Vec<String>, RegistryError> {
        let event = &self.event;
        if self.to.is_empty() && event.kind == ContentEventKind::Put {
            let known = rows::get(tx, (&event.store, &event.space, &event.key))?;
            if known.is_none_or(|known| known.kind == ContentEventKind::Put) {
                return Ok(Vec::new());
            }
        }
        let how = Recording { has_time: false, is_reported: false, max_attempts: self.max_attempts };
        let tasks = record_one(tx, event, &self.to, how)?.unwrap_or_default();
        Ok(if tasks > 0 { vec![HIGH.to_owned()] } else { Vec::new() })
    }
}
