//! A place in the lists of a provider, which can be stored.

use serde::{Deserialize, Serialize};

use crate::repetition::Repetition;
use crate::source::Cursor;

/// A place in the lists of a provider: which list it is, and which of its pages comes next.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
// A cursor that was stored before a field was added is read as well.
#[serde(default)]
pub struct OaiCursor {
    /// What is listed.
    pub(crate) verb: String,
    pub(crate) prefix: String,
    /// The window of dates, as the provider was asked.
    pub(crate) from: Option<String>,
    pub(crate) until: Option<String>,
    /// The set that is read; none where the whole provider is.
    pub(crate) set: Option<String>,
    /// The page that comes next; none for the first one of the list.
    pub(crate) token: Option<String>,
    /// Pages of the list that were read.
    pub(crate) pages: u64,
    /// Where the list began after its token had expired.
    pub(crate) restarted_at: Option<String>,
    /// How often the list began again without progress.
    pub(crate) restarts: u32,
    /// The latest datestamp of the list, and whether datestamps never went back.
    pub(crate) latest: Option<String>,
    pub(crate) is_unordered: bool,
    /// The tokens of the list, by which a list without end is found.
    pub(crate) repetition: Repetition,
    /// When the first list was answered.
    pub(crate) began: Option<String>,
    /// Sets that could not be read.
    pub(crate) failed: Vec<String>,
    pub(crate) is_finished: bool,
}

impl OaiCursor {
    /// The set that is read; none where the whole provider is.
    pub fn set(&self) -> Option<&str> {
        self.set.as_deref()
    }

    /// The pages of the list that were read.
    pub fn pages(&self) -> u64 {
        self.pages
    }

    /// The sets that could not be read to their ends. They can be read again by a source of these sets.
    pub fn failed_sets(&self) -> &[String] {
        &self.failed
    }

    /// The time of the provider's clock when it answered first (`responseDate`, section 3.2). It is the beginning of the window in which
    /// a later harvest finds what has changed since (section 2.7.1).
    pub fn began(&self) -> Option<&str> {
        self.began.as_deref()
    }

    /// The place in a stored cursor.
    pub(crate) fn of(cursor: Cursor) -> Option<Self> {
        match cursor {
            Cursor::Oai(cursor) => Some(cursor),
            _ => None,
        }
    }

    /// The beginning of the list of another set.
    pub(crate) fn begin_set(&mut self, set: Option<String>) {
        *self = Self {
            verb: std::mem::take(&mut self.verb),
            prefix: std::mem::take(&mut self.prefix),
            from: self.from.take(),
            until: self.until.take(),
            began: self.began.take(),
            failed: std::mem::take(&mut self.failed),
            set,
            ..Self::default()
        };
    }

    /// The beginning of the same list, where no record is left out: at the latest datestamp where the list is in their order.
    pub(crate) fn restart(&mut self, at: Option<String>) {
        // Some records were passed for good, so the list comes to its end.
        let is_progress = at.is_some() && at > self.restarted_at;
        self.restarts = if is_progress { 1 } else { self.restarts.saturating_add(1) };
        self.restarted_at = at;
        self.token = None;
        self.pages = 0;
        self.repetition = Repetition::default();
        if self.restarted_at.is_none() {
            self.latest = None;
            self.is_unordered = false;
        }
    }

    /// Notes the datestamp of a record.
    pub(crate) fn pass(&mut self, datestamp: &str) {
        match self.latest.as_deref() {
            Some(latest) if datestamp < latest => self.is_unordered = true,
            _ => self.latest = Some(datestamp.to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn restarts_are_counted_unless_they_make_progress() {
        let mut cursor = OaiCursor::default();
        let restarts = [None, None, Some("2024-01-02"), Some("2024-01-02"), Some("2024-01-03"), None].map(|at| {
            cursor.restart(at.map(str::to_owned));
            cursor.restarts
        });
        assert_eq!(restarts, [1, 2, 1, 2, 1, 2]);
    }
}
