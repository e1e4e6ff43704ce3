//! Three sorted lists side by side: what the source has, what the destination has, and what is recorded. None is in memory as a whole.

use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::iter::Peekable;

use strongroom_duplication::{Line, Merge};
use strongroom_registry::duplicated_items::{self as items, DuplicatedItem};
use strongroom_registry::duplication_routes::Route;
use strongroom_registry::sweeps::Sweep;
use strongroom_registry::{ContentEventKind, CopyOutcome, content_events};
use strongroom_spaces::{ListedName, SpaceName};
use strongroom_storage::StorageError;

use crate::duplication::preview::listing;
use crate::duplication::tasks::Cause;
use crate::{EngineError, Home};

/// Records that are read at once.
const RECORDS_AT_ONCE: usize = 1_000;

/// What is under a name.
pub(super) struct One {
    /// The name.
    pub(super) name: ListedName,
    /// What the stores list; none where neither lists anything.
    line: Option<Line>,
    /// What is recorded.
    record: Option<DuplicatedItem>,
}

impl One {
    /// The key of the content item; empty where it is none.
    pub(super) fn key(&self) -> &str {
        std::str::from_utf8(self.name.as_bytes()).unwrap_or_default()
    }
}

/// The three lists.
pub(super) struct Compared<'c> {
    home: &'c Home,
    route: &'c Route,
    lines: Peekable<Merge>,
    records: VecDeque<DuplicatedItem>,
    /// The key behind which records are read; none where there are no more.
    records_after: Option<String>,
    /// Records up to this name were compared.
    reached: ListedName,
}

impl<'c> Compared<'c> {
    pub(super) fn open(
        home: &'c Home,
        route: &'c Route,
        space: &SpaceName,
        reached: &ListedName,
    ) -> Result<Self, EngineError> {
        let items = |store: &str| listing(home, store, space, reached);
        let lines = Merge::new(items(&route.source)?, items(&route.destination)?).peekable();
        let records_after = Some(text_before(reached));
        Ok(Self { home, route, lines, records: VecDeque::new(), records_after, reached: reached.clone() })
    }

    /// Reads the beginnings of all three.
    pub(super) fn fill(&mut self) -> Result<(), EngineError> {
        self.lines.peek();
        self.fill_records()
    }

    fn fill_records(&mut self) -> Result<(), EngineError> {
        while self.records.is_empty()
            && let Some(after) = self.records_after.take()
        {
            let page = self.home.registry.read(|tx| items::list(tx, self.route.id, &after, RECORDS_AT_ONCE))?;
            if page.len() == RECORDS_AT_ONCE {
                self.records_after = page.last().map(|last| last.key.clone());
            }
            self.records.extend(page.into_iter().filter(|item| item.key.as_bytes() > self.reached.as_bytes()));
        }
        Ok(())
    }

    /// The next name in the order of all three.
    ///
    /// # Errors
    /// A listing failed: that is not its end.
    pub(super) fn next(&mut self) -> Result<Option<One>, EngineError> {
        self.fill_records()?;
        let listed = match self.lines.peek() {
            Some(Ok(line)) => Some(line.name()),
            Some(Err(_)) => return Err(self.failed().into()),
            None => None,
        };
        let recorded = self.records.front().map(|record| ListedName::new(record.key.as_bytes()));
        let name = match (listed.clone(), recorded.clone()) {
            (None, None) => return Ok(None),
            (Some(one), None) | (None, Some(one)) => one,
            (Some(one), Some(other)) => one.min(other),
        };
        let line = if listed.as_ref() == Some(&name) { self.lines.next().transpose()? } else { None };
        let record = if recorded.as_ref() == Some(&name) { self.records.pop_front() } else { None };
        Ok(Some(One { name, line, record }))
    }

    fn failed(&mut self) -> StorageError {
        match self.lines.next() {
            Some(Err(error)) => error,
            _ => StorageError::Unusable { store: self.route.source.clone(), reason: "its listing ended".to_owned() },
        }
    }
}

/// A text that is not behind a name, in the order of bytes: as much of it as is text.
fn text_before(name: &ListedName) -> String {
    let valid = name.as_bytes().utf8_chunks().next().map(|chunk| chunk.valid()).unwrap_or_default();
    // PostgreSQL holds no U+0000.
    valid.split('\0').next().unwrap_or_default().to_owned()
}

/// What is done with a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// A task is queued.
    Queue(Cause),
    /// Both are known to be equal.
    Equal,
    /// It is no content item, or a deletion of it is recorded: those are not queued by comparisons.
    Ignored,
    /// It is known to be lost, damaged, or in conflict, and nothing has changed since.
    Failed,
    /// Neither store has it, and nothing is missing.
    Nothing,
}

/// How names of a sweep are judged.
pub(super) struct Verdicts<'v> {
    sweep: &'v Sweep,
    /// Of so many that are equal one is read whole; 0: none.
    verify_one_in: u64,
}

impl<'v> Verdicts<'v> {
    pub(super) fn new(sweep: &'v Sweep, verify_one_in: u64) -> Self {
        Self { sweep, verify_one_in }
    }

    pub(super) fn of(&self, home: &Home, route: &Route, one: &One) -> Result<Verdict, EngineError> {
        let record = one.record.as_ref();
        let is = |outcome: CopyOutcome| record.is_some_and(|record| record.outcome == outcome);
        let there = |etag: &str| record.is_some_and(|record| record.destination_etag.as_deref() == Some(etag));
        let here = |etag: &str| record.is_some_and(|record| record.source_etag.as_deref() == Some(etag));
        let difference = Verdict::Queue(Cause::Difference);
        Ok(match &one.line {
            Some(Line::Unknown { .. }) => Verdict::Ignored,
            Some(Line::NotCarried { in_source, other, .. }) => {
                // A content item was there, or is there in the source.
                let was_there = is(CopyOutcome::Equal) || is(CopyOutcome::Damaged) || is(CopyOutcome::Conflict);
                if is(CopyOutcome::Lost) {
                    Verdict::Failed
                } else if was_there || (!in_source && other.is_some()) {
                    difference
                } else {
                    Verdict::Ignored
                }
            }
            Some(Line::InSource(_)) => difference,
            Some(Line::InBoth { source, destination }) => {
                let is_as_listed = record.is_some_and(|record| {
                    record.source_revision.as_ref() == Some(&source.revision)
                        && record.destination_revision.as_ref() == Some(&destination.revision)
                });
                if (is(CopyOutcome::Damaged) || is(CopyOutcome::Conflict))
                    && here(&source.etag)
                    && there(&destination.etag)
                {
                    if self.sweep.is_whole { Verdict::Queue(Cause::Sample) } else { Verdict::Failed }
                } else if is(CopyOutcome::Equal) && is_as_listed && !self.sweep.is_whole {
                    self.sampled(one)
                } else {
                    difference
                }
            }
            Some(Line::InDestination(listed)) => {
                let key = listed.key.as_str();
                let event = home.registry.read(|tx| content_events::get(tx, (&route.source, &route.space, key)))?;
                if event.is_some_and(|event| event.kind == ContentEventKind::Delete) {
                    Verdict::Ignored
                } else if is(CopyOutcome::Lost) && there(&listed.etag) {
                    Verdict::Failed
                } else {
                    difference
                }
            }
            None if is(CopyOutcome::Lost) => match record.and_then(|record| record.destination_etag.as_ref()) {
                // The copy was there when the source was found to be lost.
                Some(_) => difference,
                None => Verdict::Failed,
            },
            None if is(CopyOutcome::Equal) || is(CopyOutcome::Damaged) || is(CopyOutcome::Conflict) => difference,
            None => Verdict::Nothing,
        })
    }

    fn sampled(&self, one: &One) -> Verdict {
        let mut hasher = DefaultHasher::new();
        (self.sweep.id, one.name.as_bytes()).hash(&mut hasher);
        match hasher.finish().checked_rem(self.verify_one_in) {
            Some(0) => Verdict::Queue(Cause::Sample),
            _ => Verdict::Equal,
        }
    }
}
