//! One object in one store: its due copies, page by page, so that small files cost one transaction together. What is found
//! right is recorded at once; what seems wrong is treated one by one.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use strongroom_registry::checks::{self, PassedChecks, PassedCopy};
use strongroom_registry::events::EventRow;
use strongroom_registry::fixity::{self as record, DueCursor, Proof, WatchedCopy};
use strongroom_registry::journal::Actor;
use strongroom_registry::{ContentId, CopyState, EventId, ObjectId, Time};
use strongroom_storage::Store;

use super::check::{self, StoredBytes};
use super::repair::{self, RepairOutcome};
use super::roots::{self, Root};
use super::{FixitySummary, GoOn, OperationError, attested, inventories, now};
use crate::{AGENT, EngineError, Home, crash_point};

/// Copies listed and recorded at once.
const COPIES_AT_ONCE: usize = 500;
/// Bytes read before what was found is recorded.
const BYTES_AT_ONCE: u64 = 1 << 30;
/// A store that fails this often in one unit is left alone for now.
const FAILURES: u64 = 10;

/// What was seen of a copy, and how long after the page was begun.
type Looked = (Result<StoredBytes, OperationError>, Duration);
/// A copy that was attested: its content and store, the time of its check before, and the event.
type Attested = (ContentId, String, Time, Proof, EventRow);

/// What one unit came to.
#[derive(Debug, Default)]
pub(super) struct Checked {
    /// When to look again for what another process holds.
    pub(super) busy_until: Option<Time>,
    /// The first thing that could not be checked, and why.
    pub(super) failure: Option<EngineError>,
    /// How many could not be checked.
    failures: u64,
}

/// An object in a store, with what to do there.
pub(super) struct Unit<'a> {
    pub(super) home: &'a Home,
    pub(super) object: ObjectId,
    pub(super) store: &'a str,
    /// Copies last inspected later are fresh.
    pub(super) before: Time,
    /// On whose behalf; none for the program itself.
    pub(super) actor: Option<&'a Actor>,
    pub(super) go_on: &'a GoOn<'a>,
}

impl Unit<'_> {
    /// Checks at most `limit` due copies. What is done is recorded, also where this returns early.
    pub(super) fn check(&self, limit: usize, summary: &mut FixitySummary) -> Result<Checked, OperationError> {
        let mut checked = Checked::default();
        if self.home.is_retired(self.store)? {
            return Ok(checked);
        }
        let mut left = limit;
        let store = self.home.store(self.store)?;
        if left > 0 {
            left -= self.check_object(summary, &mut checked)?;
        }
        let mut after = DueCursor::START;
        while left > 0 && checked.failures < FAILURES {
            let (object, name, before) = (self.object, self.store, self.before);
            let most = left.min(COPIES_AT_ONCE);
            let mut page =
                self.home.registry.read(|tx| record::due_of_object(tx, object, name, before, after, most))?;
            let mut bytes = 0;
            let fitting = page.iter().take_while(|copy| {
                let fits = bytes < BYTES_AT_ONCE;
                bytes += copy.size;
                fits
            });
            page.truncate(fitting.count());
            let Some(last) = page.last() else { break };
            after = last.cursor();
            left -= page.len();
            self.check_page(store.as_ref(), &page, summary, &mut checked)?;
        }
        Ok(checked)
    }

    /// The object's declaration and inventories, where they are due; how many copies that were.
    fn check_object(&self, summary: &mut FixitySummary, checked: &mut Checked) -> Result<usize, OperationError> {
        let (object, name) = (self.object, self.store);
        let Some(watched) = self.home.registry.read(|tx| record::object_copy(tx, object, name))? else { return Ok(0) };
        if watched.checked_at > self.before {
            return Ok(0);
        }
        let root = Root { store: name, institution: watched.institution, identifier: &watched.institution_identifier };
        let actor = self.actor;
        // What declares the storage root comes first: without it nothing below can be found. It is no copy of an object, so
        // only damage is counted.
        match roots::check(self.home, root, actor, self.before) {
            Ok(None | Some(RepairOutcome::Right)) => {}
            Ok(Some(treated)) => count(Ok(treated), summary, checked)?,
            Err(halt) => count(Err(halt), summary, checked)?,
        }
        let treated = inventories::check(self.home, &watched, actor, self.go_on);
        count(treated, summary, checked)?;
        Ok(1)
    }

    fn check_page(
        &self,
        store: &dyn Store,
        page: &[WatchedCopy],
        summary: &mut FixitySummary,
        checked: &mut Checked,
    ) -> Result<(), OperationError> {
        let begun = now(self.home)?;
        let seen = self.look(store, page);
        let time = now(self.home)?;
        let mut read = Vec::with_capacity(page.len());
        let mut right = Vec::new();
        let mut suspects = Vec::new();
        let mut interrupted = None;
        for (copy, seen) in page.iter().zip(seen) {
            let Some((seen, after)) = seen else { continue };
            match seen {
                Err(OperationError::Interrupted(reason)) => {
                    interrupted = Some(reason);
                    continue;
                }
                Err(halt) => {
                    count(Err(halt), summary, checked)?;
                    continue;
                }
                Ok(StoredBytes::Right) if copy.state == CopyState::Kept => {
                    summary.passed += 1;
                    summary.bytes += copy.size;
                    let at = begun.plus(i64::try_from(after.as_micros()).unwrap_or(0));
                    read.push(PassedCopy { content: copy.content, seen: copy.checked_at, at });
                }
                Ok(StoredBytes::Attested { size, class }) => {
                    summary.attested += 1;
                    let event = attested(copy, time, size, &class).on_behalf_of(self.actor);
                    right.push((copy.content, copy.store.clone(), copy.checked_at, Proof::Attested, event));
                }
                Ok(_) => {
                    suspects.push(copy);
                    continue;
                }
            }
            summary.checked += 1;
        }
        crash_point("fixity.check.read");
        self.record(page, read, right)?;
        if let Some(reason) = interrupted {
            return Err(OperationError::Interrupted(reason));
        }
        for copy in suspects {
            self.go_on.check()?;
            summary.bytes += copy.size;
            count(repair::treat(self.home, copy, self.actor, self.go_on), summary, checked)?;
        }
        Ok(())
    }

    /// Records what was found right: times and evidence in one transaction, with one event for all that was read.
    fn record(
        &self,
        page: &[WatchedCopy],
        read: Vec<PassedCopy>,
        attested: Vec<Attested>,
    ) -> Result<(), OperationError> {
        let Some(first) = page.first().filter(|_| !read.is_empty() || !attested.is_empty()) else { return Ok(()) };
        let passed = PassedChecks {
            id: EventId::new(),
            institution: first.institution,
            object: self.object,
            store: self.store.to_owned(),
            agent: AGENT.to_owned(),
            actor: self.actor.cloned(),
            copies: read,
        };
        self.home.registry.write(move |tx| {
            checks::record(tx, &passed)?;
            record::record_right(tx, &attested)
        })?;
        Ok(())
    }

    /// Inspects a page with two threads, with how long after the beginning each was done; none for what was not
    /// inspected any more.
    fn look(&self, store: &dyn Store, page: &[WatchedCopy]) -> Vec<Option<Looked>> {
        let begun = Instant::now();
        let next = AtomicUsize::new(0);
        let work = || {
            let mut found = Vec::new();
            loop {
                let index = next.fetch_add(1, Ordering::Relaxed);
                let Some(copy) = page.get(index) else { return found };
                let seen = self.go_on.check().map_err(OperationError::Interrupted);
                let seen = seen.and_then(|()| check::look(store, copy, self.go_on));
                let stop = matches!(seen, Err(OperationError::Interrupted(_)));
                found.push((index, (seen, begun.elapsed())));
                if stop {
                    return found;
                }
            }
        };
        let mut seen: Vec<Option<Looked>> = Vec::new();
        seen.resize_with(page.len(), || None);
        let both = std::thread::scope(|scope| {
            if page.len() < 2 {
                return [work(), Vec::new()];
            }
            let other = scope.spawn(work);
            // A thread that panicked leaves its copies due.
            [work(), other.join().unwrap_or_default()]
        });
        for (index, outcome) in both.into_iter().flatten() {
            if let Some(slot) = seen.get_mut(index) {
                *slot = Some(outcome);
            }
        }
        seen
    }
}

/// Counts how one copy ended. What stops only that copy is noted; what stops everything is returned.
fn count(
    treated: Result<RepairOutcome, OperationError>,
    summary: &mut FixitySummary,
    checked: &mut Checked,
) -> Result<(), OperationError> {
    match treated {
        Ok(RepairOutcome::Gone) => return Ok(()),
        Ok(RepairOutcome::Right) => summary.passed += 1,
        Ok(RepairOutcome::Attested) => summary.attested += 1,
        Ok(RepairOutcome::Repaired) => {
            summary.damaged += 1;
            summary.repaired += 1;
        }
        Ok(RepairOutcome::Unrepairable) => {
            summary.damaged += 1;
            summary.unrepairable += 1;
        }
        Ok(RepairOutcome::Retrieving) => {
            summary.postponed += 1;
            return Ok(());
        }
        Err(OperationError::Busy(until)) => {
            summary.postponed += 1;
            let earlier = checked.busy_until.map_or(until, |known| known.min(until));
            checked.busy_until = Some(earlier);
            return Ok(());
        }
        Err(OperationError::Engine(error)) => {
            summary.failed += 1;
            checked.failures += 1;
            checked.failure.get_or_insert(error);
            return Ok(());
        }
        Err(halt @ OperationError::Interrupted(_)) => return Err(halt),
    }
    summary.checked += 1;
    Ok(())
}
