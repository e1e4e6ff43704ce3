//! A provider as a source of records: the whole of it or some of its sets, in a window of dates.

use std::collections::VecDeque;

use strongroom_download::Supervision;

use crate::error::{HarvestError, shown};
use crate::notice::Notice;
use crate::oai::client::OaiClient;
use crate::oai::cursor::OaiCursor;
use crate::oai::dates::Window;
use crate::oai::list::{List, Step};
use crate::oai::page::{Item, Verb};
use crate::source::{Cursor, Description, Event, RecordSource, Records};

/// What is read of a provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OaiOptions {
    /// The format, `metadataPrefix`; `oai_dc` is what every provider has (section 3.4).
    pub prefix: String,
    /// The sets, one after the other; the whole provider where there are none.
    pub sets: Vec<String>,
    /// When the records were changed.
    pub window: Window,
    /// Whether only identifiers, datestamps and sets are listed, by `ListIdentifiers` (section 4.3).
    pub headers_only: bool,
    /// Whether the provider lists records by their datestamps, which the protocol does not ask for. A list whose token has expired then
    /// begins again at the latest datestamp, and otherwise at its beginning.
    pub is_ordered: bool,
}

impl Default for OaiOptions {
    fn default() -> Self {
        Self {
            prefix: "oai_dc".to_owned(),
            sets: Vec::new(),
            window: Window::default(),
            headers_only: false,
            is_ordered: false,
        }
    }
}

/// A provider as a source of records.
#[derive(Debug)]
pub struct OaiSource {
    client: OaiClient,
    options: OaiOptions,
}

impl OaiSource {
    /// Reads the records of a provider.
    pub fn new(client: OaiClient, options: OaiOptions) -> Result<Self, HarvestError> {
        let most = client.connection.limits.id_bytes;
        let setting = |what, value: &str, reason: &str| {
            Err(HarvestError::Setting { what, value: shown(value), reason: reason.to_owned() })
        };
        // Section 3.4: the characters that need no escape in a URL.
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.!~*'()".contains(&byte);
        if options.prefix.is_empty() || options.prefix.len() > most || !options.prefix.bytes().all(is_plain) {
            return setting("the metadata prefix", &options.prefix, "it must be letters, digits and any of -_.!~*'()");
        }
        for (index, set) in options.sets.iter().enumerate() {
            if set.is_empty() || set.len() > most {
                return setting("a set", set, "it is empty or too long");
            }
            if options.sets.iter().take(index).any(|other| other == set) {
                return setting("a set", set, "it is named twice");
            }
        }
        if let (Some(from), Some(until)) = (options.window.from, options.window.until)
            && from > until
        {
            return setting("the window of dates", &format!("{from} to {until}"), "it ends before it begins");
        }
        Ok(Self { client, options })
    }

    /// The client.
    pub fn client(&self) -> &OaiClient {
        &self.client
    }

    fn verb(&self) -> Verb {
        if self.options.headers_only { Verb::ListIdentifiers } else { Verb::ListRecords }
    }

    /// The beginning.
    fn beginning(&self, supervision: &Supervision<'_>) -> Result<OaiCursor, HarvestError> {
        let window = self.options.window;
        let (mut from, mut until) = (None, None);
        if !window.is_open() {
            let granularity = self.client.granularity(supervision)?;
            from = window.from.map(|time| granularity.format(time));
            until = window.until.map(|time| granularity.format(time));
        }
        Ok(OaiCursor {
            verb: self.verb().as_str().to_owned(),
            prefix: self.options.prefix.clone(),
            from,
            until,
            set: self.options.sets.first().cloned(),
            ..OaiCursor::default()
        })
    }

    /// Compares a stored cursor with what this source reads.
    fn check(&self, cursor: &OaiCursor, supervision: &Supervision<'_>) -> Result<(), HarvestError> {
        let beginning = self.beginning(supervision)?;
        let is_same = |what: &str, ours: Option<&str>, its: Option<&str>| {
            if ours == its {
                return Ok(());
            }
            let quoted = |value: Option<&str>| value.map_or("none".to_owned(), |value| format!("{:?}", shown(value)));
            let reason = format!("its {what} is {}, and that of the source is {}", quoted(its), quoted(ours));
            Err(HarvestError::Cursor { reason })
        };
        is_same("verb", Some(&beginning.verb), Some(&cursor.verb))?;
        is_same("metadata prefix", Some(&beginning.prefix), Some(&cursor.prefix))?;
        is_same("beginning of the window", beginning.from.as_deref(), cursor.from.as_deref())?;
        is_same("end of the window", beginning.until.as_deref(), cursor.until.as_deref())?;
        let is_known = match &cursor.set {
            Some(set) => self.options.sets.contains(set),
            None => self.options.sets.is_empty(),
        };
        if is_known {
            return Ok(());
        }
        let set = cursor.set.as_deref().map_or("no set".to_owned(), |set| format!("the set {:?}", shown(set)));
        Err(HarvestError::Cursor { reason: format!("it is of {set}, which the source does not read") })
    }

    fn set_after(&self, set: Option<&str>) -> Option<&String> {
        let at = self.options.sets.iter().position(|other| Some(other.as_str()) == set)?;
        self.options.sets.get(at + 1)
    }
}

impl RecordSource for OaiSource {
    fn describe(&self, supervision: &Supervision<'_>) -> Result<Description, HarvestError> {
        let identify = self.client.identify(supervision)?;
        Ok(Description {
            name: identify.repository_name,
            location: self.client.location(),
            kind: format!("OAI-PMH {}", shown(&identify.protocol_version)),
            deleted_records: Some(identify.deleted_record),
        })
    }

    fn records<'s>(&'s self, from: Option<Cursor>, supervision: Supervision<'s>) -> Result<Records<'s>, HarvestError> {
        let cursor = match from {
            None => self.beginning(&supervision)?,
            Some(cursor) => {
                let reason = "it is of another kind of source".to_owned();
                let cursor = OaiCursor::of(cursor).ok_or(HarvestError::Cursor { reason })?;
                self.check(&cursor, &supervision)?;
                cursor
            }
        };
        let is_ended = cursor.is_finished;
        let list = self.list(cursor, supervision.clone());
        Ok(Box::new(OaiRecords { source: self, list, supervision, events: VecDeque::new(), is_ended }))
    }
}

impl OaiSource {
    fn list<'s>(&'s self, cursor: OaiCursor, supervision: Supervision<'s>) -> List<'s> {
        List::new(&self.client, self.verb(), cursor, supervision).ordered(self.options.is_ordered)
    }
}

/// The records of the sets, one after the other.
struct OaiRecords<'s> {
    source: &'s OaiSource,
    list: List<'s>,
    supervision: Supervision<'s>,
    /// What is given before anything else is read.
    events: VecDeque<Event>,
    is_ended: bool,
}

impl OaiRecords<'_> {
    fn step(&mut self) -> Result<(), HarvestError> {
        match self.list.next() {
            Ok(Step::Item(item)) => self.events.extend(self.event(item)),
            Ok(Step::Page { is_last }) => {
                if is_last {
                    self.next_set();
                }
                self.events.push_back(Event::Page(Cursor::Oai(self.list.cursor.clone())));
            }
            Ok(Step::Restarted) => {
                let cursor = &self.list.cursor;
                let notice = Notice::Restarted { set: cursor.set.clone(), from: cursor.restarted_at.clone() };
                self.events.push_back(Event::Notice(notice));
            }
            Err(error) => {
                let set = self.list.cursor.set.clone().filter(|_| !error.is_of_all());
                let Some(set) = set else { return Err(error) };
                self.list.cursor.failed.push(set.clone());
                self.next_set();
                self.events.push_back(Event::Notice(Notice::SetFailed { set, error }));
                self.events.push_back(Event::Page(Cursor::Oai(self.list.cursor.clone())));
            }
        }
        Ok(())
    }

    fn event(&self, item: Item) -> Option<Event> {
        match item {
            Item::Record(record) => Some(Event::Record(record)),
            Item::Unreadable { id, byte, reason } => {
                let cursor = &self.list.cursor;
                let page = Some(cursor.pages.saturating_add(1));
                let place = self.source.client.place(self.source.verb(), cursor.set.as_deref(), page).at(byte);
                Some(Event::Notice(Notice::Unreadable { id, place, reason }))
            }
            _ => None,
        }
    }

    /// Goes to the set after the one that is read, or to the end.
    fn next_set(&mut self) {
        let mut cursor = self.list.cursor.clone();
        if let Some(set) = self.source.set_after(cursor.set.as_deref()) {
            cursor.begin_set(Some(set.clone()));
        } else {
            cursor.is_finished = true;
            self.is_ended = true;
        }
        self.list = self.source.list(cursor, self.supervision.clone());
    }
}

impl Iterator for OaiRecords<'_> {
    type Item = Result<Event, HarvestError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(event) = self.events.pop_front() {
                return Some(Ok(event));
            }
            if self.is_ended {
                return None;
            }
            if let Err(error) = self.step() {
                self.is_ended = true;
                return Some(Err(error));
            }
        }
    }
}
