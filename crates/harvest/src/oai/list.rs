//! A list, page by page (section 3.5): the next page is asked for when it is wanted, a page that is cut off is asked for again, a token
//! that has expired begins the list again, and a list without end is found.

use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};

use strongroom_download::{Page, Supervision};

use crate::error::HarvestError;
use crate::oai::client::{OaiClient, refused};
use crate::oai::code::{OaiCode, OaiError};
use crate::oai::cursor::OaiCursor;
use crate::oai::page::{Item, PageReader, Verb};

/// What comes next of a list.
#[derive(Debug)]
pub(crate) enum Step {
    Item(Item),
    /// A page has ended, and the cursor is after it.
    Page {
        is_last: bool,
    },
    /// The token has expired, and the cursor is at the beginning of the list, or at a datestamp.
    Restarted,
}

/// A list that is read.
pub(crate) struct List<'c> {
    client: &'c OaiClient,
    verb: Verb,
    pub(crate) cursor: OaiCursor,
    supervision: Supervision<'c>,
    /// Whether the provider lists records by their datestamps.
    is_ordered: bool,
    page: Option<PageReader<Page>>,
    /// How often the page was cut off, and what was given of it, by hash.
    cuts: u32,
    given: HashSet<u64>,
    hasher: RandomState,
}

impl<'c> List<'c> {
    pub(crate) fn new(client: &'c OaiClient, verb: Verb, cursor: OaiCursor, supervision: Supervision<'c>) -> Self {
        Self {
            client,
            verb,
            cursor,
            supervision,
            is_ordered: false,
            page: None,
            cuts: 0,
            given: HashSet::new(),
            hasher: RandomState::new(),
        }
    }

    /// Begins at the latest datestamp where a token has expired.
    pub(crate) fn ordered(self, is_ordered: bool) -> Self {
        Self { is_ordered, ..self }
    }

    /// What comes next. After an error, or the last page, there is nothing more.
    pub(crate) fn next(&mut self) -> Result<Step, HarvestError> {
        loop {
            let page = match self.page.take() {
                Some(page) => page,
                None => self.open()?,
            };
            let page = self.page.insert(page);
            match page.next() {
                Ok(Some(item)) if self.is_given(&item) => {}
                Ok(Some(item)) => {
                    if let Item::Record(record) = &item
                        && let Some(datestamp) = &record.datestamp
                    {
                        self.cursor.pass(datestamp);
                    }
                    return Ok(Step::Item(item));
                }
                Ok(None) => return self.end_page(),
                Err(HarvestError::Malformed { is_cut: true, .. })
                    if self.cuts.saturating_add(1) < self.client.connection.limits.page_attempts =>
                {
                    self.cuts += 1;
                    self.page = None;
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Whether an item was given before its page was cut off.
    fn is_given(&mut self, item: &Item) -> bool {
        let hash = match item {
            Item::Record(record) => self.hasher.hash_one((0, &record.id, &record.datestamp)),
            Item::Unreadable { id, byte, .. } => self.hasher.hash_one((1, id, byte)),
            Item::Set(set) => self.hasher.hash_one((2, &set.spec, &set.name)),
            Item::Format(_) | Item::Identify(_) => return false,
        };
        // The same record twice in one page is given twice, as the provider says it.
        if self.cuts == 0 {
            self.given.insert(hash);
            return false;
        }
        !self.given.insert(hash)
    }

    fn open(&mut self) -> Result<PageReader<Page>, HarvestError> {
        let cursor = &self.cursor;
        let place = self.client.place(self.verb, cursor.set.as_deref(), Some(cursor.pages.saturating_add(1)));
        let mut arguments: Vec<(&str, &str)> = Vec::new();
        match &cursor.token {
            // The token is an exclusive argument (section 3.5).
            Some(token) => arguments.push(("resumptionToken", token)),
            None if self.verb == Verb::ListSets => {}
            None => {
                arguments.push(("metadataPrefix", &cursor.prefix));
                let from = cursor.restarted_at.as_deref().or(cursor.from.as_deref());
                arguments.extend(from.map(|from| ("from", from)));
                arguments.extend(cursor.until.as_deref().map(|until| ("until", until)));
                arguments.extend(cursor.set.as_deref().map(|set| ("set", set)));
            }
        }
        self.client.open(self.verb, &arguments, place, &self.supervision)
    }

    fn end_page(&mut self) -> Result<Step, HarvestError> {
        let Some(page) = self.page.take() else { return Ok(Step::Page { is_last: true }) };
        (self.cuts, self.given) = (0, HashSet::new());
        let has = |code: &OaiCode| page.ending.errors.iter().any(|error: &OaiError| error.code == *code);
        // A token stands for records that are there (section 3.5): where there are none, it has expired, or the list has changed.
        let is_expired = has(&OaiCode::BadResumptionToken) || has(&OaiCode::NoRecordsMatch);
        if is_expired && self.cursor.token.is_some() {
            return self.restart(&page);
        }
        let is_empty = page.ending.errors.len() == 1 && has(&OaiCode::NoRecordsMatch);
        let is_right = page.ending.errors.is_empty() && page.ending.has_verb;
        if !(is_empty || is_right) {
            return Err(refused(&page));
        }
        if self.cursor.began.is_none() {
            self.cursor.began.clone_from(&page.ending.response_date);
        }
        self.cursor.pages = self.cursor.pages.saturating_add(1);
        if let Some(token) = &page.ending.token
            && self.cursor.repetition.is_found(token)
        {
            return Err(HarvestError::Loop { place: page.place().clone() });
        }
        self.cursor.token.clone_from(&page.ending.token);
        Ok(Step::Page { is_last: self.cursor.token.is_none() })
    }

    /// Begins the list again. Only where the provider lists by datestamp, and what was read is in that order, no record is left out by
    /// beginning at the latest datestamp.
    fn restart(&mut self, page: &PageReader<Page>) -> Result<Step, HarvestError> {
        let latest = self.cursor.latest.clone().filter(|_| self.is_ordered && !self.cursor.is_unordered);
        let at = match latest {
            Some(latest) => self.client.granularity(&self.supervision)?.of_record(&latest),
            None => None,
        };
        self.cursor.restart(at);
        if self.cursor.restarts > self.client.connection.limits.restarts {
            let restarts = self.cursor.restarts.saturating_sub(1);
            return Err(HarvestError::TokenExpired { place: page.place().clone(), restarts });
        }
        Ok(Step::Restarted)
    }
}
