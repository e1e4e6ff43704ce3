//! How far a harvest has come, as the cursor of its list keeps it, and when a list has no end.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use strongroom_harvest::Cursor;
use strongroom_records::lists;
use strongroom_registry::RegistryError;

use crate::activities::agent::Finding;
use crate::activities::error::AgentError;

/// Pages in which no record is new, after which a list has no end.
const MOST_PAGES: i64 = 100;
/// So many of them where they have deleted records, which are in no list: a provider may have many.
const MOST_PAGES_OF_DELETED: i64 = 10_000;
/// What a page in which nothing is new counts, where one with deleted records counts one.
const PAGE: i64 = MOST_PAGES_OF_DELETED / MOST_PAGES;

/// See the header of the file.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
// One that was kept before a field was added is read as well.
#[serde(default)]
pub(super) struct State {
    pub(super) cursor: Option<Cursor>,
    /// Deleted records that were passed by.
    pub(super) deleted: u64,
    /// Documents of earlier harvests that are no longer valid by it.
    pub(super) invalidated: u64,
    /// When it began, by the clock of this machine.
    began: Option<String>,
    /// Deleted records of the lists before the one that is read.
    deleted_before: u64,
    /// Pages that were read, of all lists.
    pages: i64,
    /// What the pages count that came since a record was new; below zero where as many pages may repeat what was read.
    idle: i64,
}

/// Deleted records that a harvest has passed by, and documents of earlier ones that are no longer valid by it, of the cursor of its list.
pub(crate) fn deleted(cursor: &str) -> Option<(u64, u64)> {
    serde_json::from_str::<State>(cursor).ok().map(|state| (state.deleted, state.invalidated))
}

impl State {
    /// How far the population has come.
    pub(super) fn of(finding: &dyn Finding) -> Result<Self, AgentError> {
        if let Some(text) = finding.cursor() {
            return serde_json::from_str(&text)
                .map_err(|error| AgentError::Fatal(format!("the cursor of the harvest cannot be read: {error}")));
        }
        let list = finding.activity().list;
        let read = |tx: &mut dyn strongroom_registry::Transaction| {
            Ok::<_, RegistryError>((tx.now()?, lists::status(tx, list)?.counts.populated()))
        };
        let (now, there) = finding.home().registry.read(read)?;
        // A list that was lost begins with what it had, and the source is read from its beginning.
        let idle = i64::try_from(there).unwrap_or(i64::MAX).saturating_mul(-PAGE);
        Ok(Self { began: Some(now.timestamp().to_string()), idle, ..Self::default() })
    }

    /// As the list keeps it, where a page invalidates so many documents.
    pub(super) fn text(&self, invalidated: u64) -> Option<String> {
        serde_json::to_string(&Self { invalidated: self.invalidated + invalidated, ..self.clone() }).ok()
    }

    pub(super) fn is_finished(&self) -> bool {
        self.cursor.as_ref().is_some_and(Cursor::is_finished)
    }

    /// Goes behind a page.
    pub(super) fn pass(&mut self, cursor: Cursor, deleted: u64) {
        self.pages = self.pages.saturating_add(1);
        // The list of another set comes next, and records may be in several.
        if matches!(&cursor, Cursor::Oai(cursor) if cursor.pages() == 0) {
            self.deleted_before = deleted;
            self.repeat();
        }
        (self.cursor, self.deleted) = (Some(cursor), deleted);
    }

    /// Begins the list that is read again; the deleted records without those of it.
    pub(super) fn begin_again(&mut self) -> u64 {
        self.repeat();
        self.deleted_before
    }

    /// From here on as many pages may have nothing new as were read.
    pub(super) fn repeat(&mut self) {
        self.idle = self.pages.saturating_mul(-PAGE);
    }

    /// Judges a page by how many records are new, after it was written.
    ///
    /// # Errors
    /// The list has no end.
    pub(super) fn judge(&mut self, new: u64, has_deleted: bool, location: &str) -> Result<(), AgentError> {
        if new > 0 {
            self.idle = self.idle.min(0);
            return Ok(());
        }
        self.idle = self.idle.saturating_add(if has_deleted { 1 } else { PAGE });
        if self.idle < MOST_PAGES_OF_DELETED {
            return Ok(());
        }
        Err(AgentError::Fatal(format!(
            "no record was new in the last {MOST_PAGES} pages of {location}, so its list has no end; what came before is kept; \
             next: check how its pages follow each other, such as the options paging and parameter"
        )))
    }

    /// Until when everything was read: when the provider answered first, by its clock, and not later than this machine began to ask. None
    /// where the provider says no time.
    pub(super) fn reached(&self) -> Option<String> {
        let Some(Cursor::Oai(cursor)) = &self.cursor else { return None };
        // What a set lacks is asked for again by the next harvest of what has changed.
        let text = cursor.began().filter(|_| cursor.failed_sets().is_empty())?;
        // Times are in UTC (section 3.3), also where that is not said.
        let time: Timestamp = text.parse().or_else(|_| format!("{text}Z").parse()).ok()?;
        let ours = self.began.as_deref().and_then(|began| began.parse::<Timestamp>().ok());
        let earliest = ours.map_or(time, |ours| ours.min(time));
        Timestamp::from_second(earliest.as_second()).ok().map(|time| time.to_string())
    }
}
