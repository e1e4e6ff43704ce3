//! Reported changes become events: what was reported is compared with what the store has, and what was removed counts as deleted only where it is
//! certain. A deletion that is not certain is left out: a sweep finds the content item missing, and its copies stay.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant, SystemTime};

use strongroom_registry::content_events::{self as rows, ContentEvent};
use strongroom_registry::duplicated_items::{self as items, DuplicatedItem};
use strongroom_registry::duplication_routes as routes;
use strongroom_registry::{ContentEventKind, CopyOutcome, RegistryError, Time, Transaction};
use strongroom_spaces::{ItemHead, PlainStore, SpaceName};
use strongroom_storage::{Key, StorageError};
use uuid::Uuid;

use super::pending::{Due, Name};
use crate::duplication::events::{self, Destinations, destinations, policies, record_one};
use crate::duplication::{HIGH, MOST_DELETED, counted_since};
use crate::{EngineError, Home};

/// Who reports, as events name it.
pub(super) const ACTOR: &str = "folder watch";
/// So many deletions of a space in a day are carried out at once, however small the space is.
const FEW: u64 = 10;

/// What the store has of something that was reported.
#[derive(Debug, Clone)]
pub(super) struct Seen {
    pub(super) name: Name,
    /// When it was reported last.
    at: Instant,
    found: Found,
    /// What it was called before, where nothing has that name any more.
    pub(super) renamed_from: Option<(SpaceName, Key)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Found {
    /// It is there, with this etag and this revision.
    There { etag: String, revision: Option<String> },
    /// It is there, and cannot be described; or it is a space.
    Something,
    /// It was removed, and is not there.
    Gone,
}

impl Seen {
    pub(super) fn is_gone(&self) -> bool {
        self.found == Found::Gone
    }
}

/// What inspecting a page found.
#[derive(Debug, Default)]
pub(super) struct Inspected {
    pub(super) seen: Vec<Seen>,
    /// What is still written.
    pub(super) busy: Vec<Due>,
    /// Whether something could not be inspected.
    pub(super) has_failures: bool,
}

/// What was recorded.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Recorded {
    pub(super) puts: u64,
    pub(super) deletions: u64,
    /// Deletions that are left to a sweep, which asks a person where they are many.
    pub(super) left_to_sweep: u64,
    tasks: u64,
}

/// The deletions of content items of a page, by space.
fn deletions_of(seen: &[Seen]) -> BTreeMap<SpaceName, u64> {
    let mut deletions = BTreeMap::new();
    for one in seen {
        let gone = (one.is_gone() && one.name.key.is_some()).then_some(&one.name.space);
        for space in gone.into_iter().chain(one.renamed_from.as_ref().map(|(space, _)| space)) {
            *deletions.entry(space.clone()).or_default() += 1;
        }
    }
    deletions
}

/// Inspects what was reported.
///
/// # Errors
/// The store is away.
pub(super) fn inspect(
    store: &dyn PlainStore,
    page: Vec<Due>,
    is_busy: &dyn Fn(&Due, Duration) -> bool,
) -> Result<Inspected, StorageError> {
    let mut inspected = Inspected::default();
    store.check_presence()?;
    for due in page {
        let (name, noted) = &due;
        let found = match &name.key {
            Some(key) => match store.head(&name.space, key) {
                Ok(head) => {
                    if age(&head).is_some_and(|since| is_busy(&due, since)) {
                        inspected.busy.push(due);
                        continue;
                    }
                    Found::There { etag: head.etag, revision: head.revision }
                }
                // It has properties that not every store can keep: its task says so.
                Err(StorageError::Unusable { .. }) => Found::Something,
                Err(error) if error.is_not_found() => Found::Gone,
                Err(error) if error.is_away() => return Err(error),
                Err(_) => {
                    inspected.has_failures = true;
                    continue;
                }
            },
            None if store.has_space(&name.space)? => Found::Something,
            None => Found::Gone,
        };
        // What was put and is not there went in a way that was not reported, or was never known.
        if found == Found::Gone && (!noted.is_removed || noted.is_new) {
            continue;
        }
        let renamed_from = noted.renamed_from.clone().filter(|(space, key)| {
            let before = store.head(space, key);
            matches!(found, Found::There { .. }) && before.is_err_and(|error| error.is_not_found())
        });
        inspected.seen.push(Seen { name: name.as_ref().clone(), at: noted.at, found, renamed_from });
    }
    // What was not there counts only while the store is.
    store.check_presence()?;
    Ok(inspected)
}

fn age(head: &ItemHead) -> Option<Duration> {
    // A time that lies ahead says nothing.
    SystemTime::now().duration_since(head.modified?).ok()
}

/// Records the events, with their tasks, in one transaction.
pub(super) fn record(home: &Home, store: &str, seen: Vec<Seen>) -> Result<Recorded, EngineError> {
    if seen.is_empty() {
        return Ok(Recorded::default());
    }
    let policies = policies(home)?;
    let mut by_space: BTreeMap<SpaceName, Destinations> = BTreeMap::new();
    for one in &seen {
        for space in [Some(&one.name.space), one.renamed_from.as_ref().map(|(space, _)| space)].into_iter().flatten() {
            by_space.entry(space.clone()).or_insert_with(|| destinations(&policies, store, space.as_str()));
        }
    }
    let deletions = deletions_of(&seen);
    let (store, max_attempts) = (store.to_owned(), home.settings.pool(HIGH).max_attempts);
    let recorded = home.registry.write(move |tx| {
        let now = tx.now()?;
        let mut recording = Recording {
            tx,
            store: &store,
            by_space: &by_space,
            many: BTreeSet::new(),
            max_attempts,
            recorded: Recorded::default(),
        };
        recording.find_many(&deletions, now)?;
        for one in &seen {
            let age = i64::try_from(one.at.elapsed().as_micros()).unwrap_or(i64::MAX);
            recording.one(one, now, now.plus(age.saturating_neg()))?;
        }
        Ok::<_, RegistryError>(recording.recorded)
    })?;
    if recorded.tasks > 0 {
        home.registry.wakeups().notify([HIGH]);
    }
    Ok(recorded)
}

/// A transaction that records events.
struct Recording<'r> {
    tx: &'r mut dyn Transaction,
    store: &'r str,
    by_space: &'r BTreeMap<SpaceName, Destinations>,
    /// The spaces of which so much is deleted that no task follows from it.
    many: BTreeSet<SpaceName>,
    max_attempts: u32,
    recorded: Recorded,
}

impl Recording<'_> {
    /// Finds the spaces of which too much is deleted: together with what was deleted before, more than one in a hundred.
    fn find_many(&mut self, deletions: &BTreeMap<SpaceName, u64>, now: Time) -> Result<(), RegistryError> {
        for (space, &new) in deletions {
            for (institution, destination) in self.by_space.get(space).into_iter().flatten() {
                let route = routes::find(self.tx, *institution, (self.store, destination, space.as_str()))?;
                let Some(route) = route else { continue };
                let since = counted_since(self.tx, &route, now)?;
                let before = rows::count_deleted(self.tx, (self.store, space.as_str()), since)?;
                let sum = before.saturating_add(new);
                let enough = sum.saturating_mul(MOST_DELETED);
                if sum > FEW && items::count_equal(self.tx, route.id, enough)? < enough {
                    self.many.insert(space.clone());
                }
            }
        }
        Ok(())
    }

    fn one(&mut self, seen: &Seen, now: Time, at: Time) -> Result<(), RegistryError> {
        let Name { space, key } = &seen.name;
        let key = key.as_ref().map(Key::as_str).unwrap_or_default();
        if let (Some((space, before)), Found::There { etag, .. }) = (&seen.renamed_from, &seen.found) {
            // The same file, by its etag, was compared under that name.
            let known = self.known(space, before.as_str())?;
            let is_same = |item: &DuplicatedItem| {
                item.outcome == CopyOutcome::Equal && item.source_etag.as_deref() == Some(etag.as_str())
            };
            if known.iter().flatten().any(is_same) && !is_lost(&known) {
                self.event((space, before.as_str()), ContentEventKind::Delete, now, at)?;
            }
        }
        let newest = rows::get(self.tx, (self.store, space.as_str(), key))?.map(|event| event.kind);
        let known = self.known(space, key)?;
        if seen.is_gone() {
            // What is lost was removed before: this was something else of the same name.
            let is_wanted = !known.is_empty() || newest == Some(ContentEventKind::Put);
            if is_wanted && !is_lost(&known) {
                self.event((space, key), ContentEventKind::Delete, now, at)?;
            }
            return Ok(());
        }
        let is_as_known = |item: &Option<DuplicatedItem>| match (item, &seen.found) {
            (Some(item), Found::There { etag, revision }) => {
                item.outcome == CopyOutcome::Equal
                    && item.source_etag.as_ref() == Some(etag)
                    && item.source_revision == *revision
            }
            _ => false,
        };
        // Where no rule copies the space, none of them is other than it is known.
        if newest == Some(ContentEventKind::Delete) || !known.iter().all(is_as_known) {
            self.event((space, key), ContentEventKind::Put, now, at)?;
        }
        Ok(())
    }

    /// What is known of a content item on each route of its space.
    fn known(&mut self, space: &SpaceName, key: &str) -> Result<Vec<Option<DuplicatedItem>>, RegistryError> {
        let mut known = Vec::new();
        for (institution, destination) in self.by_space.get(space).into_iter().flatten() {
            let route = routes::find(self.tx, *institution, (self.store, destination, space.as_str()))?;
            known.push(route.map(|route| items::get(self.tx, route.id, key)).transpose()?.flatten());
        }
        Ok(known)
    }

    fn event(
        &mut self,
        (space, key): (&SpaceName, &str),
        kind: ContentEventKind,
        now: Time,
        at: Time,
    ) -> Result<(), RegistryError> {
        let event = ContentEvent {
            store: self.store.to_owned(),
            space: space.to_string(),
            key: key.to_owned(),
            id: Uuid::now_v7(),
            kind,
            happened_at: at,
            recorded_at: now,
            actor: ACTOR.to_owned(),
            reason: String::new(),
            left_to_sweep: kind == ContentEventKind::Delete && !key.is_empty() && self.many.contains(space),
        };
        let none = Destinations::new();
        let to = self.by_space.get(space).unwrap_or(&none);
        let how = events::Recording { has_time: true, is_reported: true, max_attempts: self.max_attempts };
        if let Some(tasks) = record_one(self.tx, &event, to, how)? {
            self.recorded.tasks += tasks;
            match kind {
                ContentEventKind::Put => self.recorded.puts += 1,
                ContentEventKind::Delete => self.recorded.deletions += 1,
            }
            self.recorded.left_to_sweep += u64::from(event.left_to_sweep);
        }
        Ok(())
    }
}

fn is_lost(known: &[Option<DuplicatedItem>]) -> bool {
    known.iter().flatten().any(|item| item.outcome == CopyOutcome::Lost)
}
