//! The records of an API, page by page; the next page is asked for when it is wanted.

use std::collections::HashSet;
use std::hash::{BuildHasher, DefaultHasher, Hash, Hasher, RandomState};
use std::io::{BufReader, Read};

use serde_json::{Number, Value};
use strongroom_download::{Page, Supervision};
use url::Url;

use crate::error::{HarvestError, Place, Position, name, named, shown};
use crate::json::cursor::JsonCursor;
use crate::json::lines::{Line, read_line};
use crate::json::link::next_link;
use crate::json::paging::Paging;
use crate::json::source::{JsonForm, JsonSource};
use crate::json::spans::{Broken, Elements, Text, reason_of};
use crate::notice::Notice;
use crate::passed::Passed;
use crate::source::{Cursor, Document, Event, Record};

/// Lines after which there is a cursor.
const LINES_OF_CURSOR: u64 = 1000;

/// The records of an API.
pub(crate) struct JsonRecords<'s> {
    source: &'s JsonSource,
    supervision: Supervision<'s>,
    cursor: JsonCursor,
    page: Option<OpenPage>,
    /// The page before, by hash.
    previous: Option<u64>,
    /// How often the page was cut off.
    cuts: u32,
    /// What was given of the page, by hash.
    given: HashSet<u64>,
    hasher: RandomState,
    /// Lines of the page that the last cursor has passed.
    noted: u64,
    /// Told before anything of the page.
    notice: Option<Notice>,
    is_ended: bool,
}

/// A page that is read.
struct OpenPage {
    place: Place,
    /// The URL that answered, and the next one by the header.
    url: String,
    link: Option<String>,
    content: Content,
    /// Records that were found in its document.
    records: u64,
}

enum Content {
    Document { bytes: Vec<u8>, elements: Elements },
    Lines(BufReader<Page>),
}

impl<'s> JsonRecords<'s> {
    pub(crate) fn new(source: &'s JsonSource, cursor: JsonCursor, supervision: Supervision<'s>) -> Self {
        let (noted, is_ended) = (cursor.lines, cursor.is_finished);
        Self {
            source,
            supervision,
            cursor,
            page: None,
            previous: None,
            cuts: 0,
            given: HashSet::new(),
            hasher: RandomState::new(),
            noted,
            notice: None,
            is_ended,
        }
    }

    fn step(&mut self) -> Result<Option<Event>, HarvestError> {
        let page = match self.page.take() {
            Some(page) => page,
            None => self.open()?,
        };
        let page = self.page.insert(page);
        if let Some(notice) = self.notice.take() {
            return Ok(Some(Event::Notice(notice)));
        }
        match &mut page.content {
            Content::Document { bytes, elements } => {
                let text = Text::new(bytes);
                let Some(range) = text.next_element(elements).map_err(|broken| malformed(&page.place, broken))? else {
                    return self.end_page().map(Some);
                };
                page.records = page.records.saturating_add(1);
                let is_given = !self.given.insert(self.hasher.hash_one(text.slice(range.clone())));
                // The same record twice in one page is given twice; not so where the page was cut off.
                if is_given && self.cuts > 0 {
                    return Ok(None);
                }
                let place = page.place.at(range.start as u64);
                Ok(Some(event(self.source, text.slice(range), place)))
            }
            Content::Lines(reader) => {
                let most = self.source.connection.limits.record_bytes;
                let kept = |source| HarvestError::Kept { place: page.place.clone(), source };
                let line = read_line(reader, most).map_err(kept)?;
                if line == Line::End {
                    return self.end_page().map(Some);
                }
                pass(&mut self.cursor.passed, &line);
                self.cursor.lines = self.cursor.lines.saturating_add(1);
                let place = Place { at: Some(Position::Line(self.cursor.lines)), ..page.place.clone() };
                match line {
                    Line::Whole(line) if line.trim_ascii().is_empty() => Ok(None),
                    Line::Whole(line) => {
                        self.cursor.line_records = self.cursor.line_records.saturating_add(1);
                        Ok(Some(event(self.source, line.trim_ascii(), place)))
                    }
                    Line::TooLong | Line::End => {
                        self.cursor.line_records = self.cursor.line_records.saturating_add(1);
                        let reason = format!("it has more than {most} bytes");
                        Ok(Some(Event::Notice(Notice::Unreadable { id: None, place, reason })))
                    }
                }
            }
        }
    }

    fn open(&mut self) -> Result<OpenPage, HarvestError> {
        let place = self.source.place(&self.cursor);
        let url = self.source.page_url(&self.cursor);
        let connection = &self.source.connection;
        let is_fine = |page: &Page| match page.status() {
            200 => Ok(()),
            status => Err(HarvestError::Status { place: place.clone(), status }),
        };
        match &self.source.options.form {
            JsonForm::Document { records } => {
                let mut page = connection.small_page(&url, "application/json", &self.supervision)?;
                is_fine(&page)?;
                let mut bytes = Vec::new();
                let kept = |source| HarvestError::Kept { place: place.clone(), source };
                page.read_to_end(&mut bytes).map_err(kept)?;
                // A byte order mark is ignored (RFC 8259 section 8.1).
                if bytes.starts_with(b"\xef\xbb\xbf")
                    && let Some(mark) = bytes.get_mut(..3)
                {
                    mark.fill(b' ');
                }
                let text = Text::new(&bytes);
                let at = text.find(records).map_err(|broken| malformed(&place, broken))?;
                let Some(elements) = at.and_then(|at| text.elements(at)) else {
                    let reason =
                        format!("there is no array of records at {:?}{}", shown(records), beside(&bytes, records));
                    return Err(HarvestError::Malformed { place, reason, is_cut: false });
                };
                self.compare(&bytes, &place)?;
                let (url, link) = (page.url().to_owned(), next_link(page.links()));
                Ok(OpenPage { place, url, link, content: Content::Document { bytes, elements }, records: 0 })
            }
            JsonForm::Lines => {
                let page = connection.page(&url, "application/x-ndjson, application/jsonl", &self.supervision)?;
                is_fine(&page)?;
                let (url, link) = (page.url().to_owned(), next_link(page.links()));
                let mut reader = BufReader::new(page);
                // What a stored cursor has passed.
                let (most, mut again) = (connection.limits.record_bytes, Passed::default());
                for _ in 0..self.cursor.lines {
                    let kept = |source| HarvestError::Kept { place: place.clone(), source };
                    match read_line(&mut reader, most).map_err(kept)? {
                        Line::End => break,
                        line => pass(&mut again, &line),
                    }
                }
                if again != self.cursor.passed {
                    // By their number alone, lines would be passed that were never read.
                    (self.cursor.lines, self.cursor.line_records, self.noted) = (0, 0, 0);
                    self.cursor.passed = Passed::default();
                    self.notice = Some(Notice::Changed { place });
                    return self.open();
                }
                Ok(OpenPage { place, url, link, content: Content::Lines(reader), records: 0 })
            }
        }
    }

    /// A server that ignores the number of the page sends the same page without end.
    fn compare(&mut self, bytes: &[u8], place: &Place) -> Result<(), HarvestError> {
        let mut hasher = DefaultHasher::new();
        bytes.hash(&mut hasher);
        let hash = hasher.finish();
        let is_numbered = matches!(self.source.options.paging, Paging::Number { .. } | Paging::Offset { .. });
        // An empty page ends the list, so two of them do not follow each other.
        if is_numbered && self.cuts == 0 && self.previous == Some(hash) {
            return Err(HarvestError::Loop { place: place.clone() });
        }
        self.previous = Some(hash);
        Ok(())
    }

    fn end_page(&mut self) -> Result<Event, HarvestError> {
        let Some(page) = self.page.take() else { return Ok(Event::Page(Cursor::Json(self.cursor.clone()))) };
        let records = page.records.saturating_add(self.cursor.line_records);
        let next = match &self.source.options.paging {
            Paging::One => None,
            Paging::Number { .. } | Paging::Offset { .. } => {
                self.cursor.is_finished = records == 0;
                None
            }
            Paging::Link => page.link.clone(),
            Paging::Pointer(pointer) => pointed(&page, pointer)?,
        };
        if let Some(next) = &next {
            self.follow(&page, next)?;
        } else if !matches!(self.source.options.paging, Paging::Number { .. } | Paging::Offset { .. }) {
            self.cursor.is_finished = true;
        }
        (self.cuts, self.given) = (0, HashSet::new());
        self.cursor.pages = self.cursor.pages.saturating_add(1);
        self.cursor.records = self.cursor.records.saturating_add(records);
        self.cursor.line_records = 0;
        (self.cursor.lines, self.noted) = (0, 0);
        self.cursor.passed = Passed::default();
        self.is_ended = self.cursor.is_finished;
        if self.is_ended
            && self.cursor.records == 0
            && let (JsonForm::Document { records }, Content::Document { bytes, .. }) =
                (&self.source.options.form, &page.content)
            && let Some(total) = stated_total(bytes, records)
        {
            let sought = format!("record in the array at {:?}", shown(records));
            return Err(HarvestError::Nothing { place: page.place, sought: sought.into(), instead: [total].into() });
        }
        Ok(Event::Page(Cursor::Json(self.cursor.clone())))
    }

    /// Notes the URL of the next page, which may be relative to the one that answered.
    fn follow(&mut self, page: &OpenPage, next: &str) -> Result<(), HarvestError> {
        let most = self.source.connection.limits.token_bytes;
        let place = || page.place.clone();
        if next.len() > most {
            let reason = format!("the URL of its next page has more than {most} bytes");
            return Err(HarvestError::Malformed { place: place(), reason, is_cut: false });
        }
        let Ok(url) = Url::parse(&page.url).and_then(|base| base.join(next)) else {
            let reason = format!("the URL of its next page is malformed: {:?}", strongroom_download::shown_url(next));
            return Err(HarvestError::Malformed { place: place(), reason, is_cut: false });
        };
        let url = url.to_string();
        if url == page.url || self.cursor.repetition.is_found(&url) {
            return Err(HarvestError::Loop { place: place() });
        }
        self.cursor.next = Some(url);
        Ok(())
    }

    fn is_tried_again(&mut self, error: &HarvestError) -> bool {
        let is_cut = matches!(error, HarvestError::Malformed { is_cut: true, .. });
        self.cuts = self.cuts.saturating_add(1);
        is_cut && self.cuts < self.source.connection.limits.page_attempts
    }
}

impl Iterator for JsonRecords<'_> {
    type Item = Result<Event, HarvestError>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.is_ended {
            if self.cursor.lines >= self.noted.saturating_add(LINES_OF_CURSOR) {
                self.noted = self.cursor.lines;
                return Some(Ok(Event::Page(Cursor::Json(self.cursor.clone()))));
            }
            match self.step() {
                Ok(Some(event)) => return Some(Ok(event)),
                Ok(None) => {}
                Err(error) if self.is_tried_again(&error) => self.page = None,
                Err(error) => {
                    self.is_ended = true;
                    return Some(Err(error));
                }
            }
        }
        None
    }
}

/// The values that a pointer leads through, from the whole answer on; the last one is the deepest that is there.
fn on_the_way<'v>(value: &'v Value, pointer: &str) -> Vec<&'v Value> {
    let mut way = vec![value];
    let mut prefix = String::new();
    for token in pointer.split('/').skip(1) {
        prefix.push('/');
        prefix.push_str(token);
        match value.pointer(&prefix) {
            Some(value) => way.push(value),
            None => break,
        }
    }
    way
}

/// What is there instead of an array of records, behind the text that there is none.
fn beside(bytes: &[u8], pointer: &str) -> String {
    let Ok(value) = serde_json::from_slice::<Value>(bytes) else { return String::new() };
    let Some(Value::Object(members)) = on_the_way(&value, pointer).pop() else { return String::new() };
    let mut names = Vec::new();
    members.keys().for_each(|member| name(&mut names, member));
    if names.is_empty() { String::new() } else { format!("; what is there has {}", named(&names)) }
}

/// What an answer without records says of their number, where that is not zero. APIs call it `total`, `totalResults`, `numFound` or `count`.
fn stated_total(bytes: &[u8], pointer: &str) -> Option<String> {
    let value: Value = serde_json::from_slice(bytes).ok()?;
    let members: Vec<(String, u64)> = on_the_way(&value, pointer)
        .into_iter()
        .filter_map(Value::as_object)
        .flatten()
        .filter_map(|(name, value)| Some((name.clone(), value.as_u64()?)))
        .collect();
    let is_total = |name: &str| {
        let name = name.to_ascii_lowercase();
        name.contains("total") || name.contains("found")
    };
    let totals: Vec<_> = members.iter().filter(|(name, _)| is_total(name)).collect();
    // Where a total is told, a count may be that of the page.
    let told = if totals.is_empty() { members.iter().filter(|(name, _)| name == "count").collect() } else { totals };
    if told.iter().any(|(_, number)| *number == 0) {
        return None;
    }
    told.first().map(|(name, number)| format!("{name} {number}"))
}

/// Goes behind a line.
fn pass(passed: &mut Passed, line: &Line) {
    match line {
        Line::Whole(line) => passed.pass(&[line.as_slice()]),
        Line::TooLong | Line::End => passed.pass(&[]),
    }
}

/// The URL of the next page within a page.
fn pointed(page: &OpenPage, pointer: &str) -> Result<Option<String>, HarvestError> {
    let Content::Document { bytes, .. } = &page.content else { return Ok(None) };
    let text = Text::new(bytes);
    let broken = |broken| malformed(&page.place, broken);
    let Some(at) = text.find(pointer).map_err(broken)? else { return Ok(None) };
    match text.value::<Value>(at).map_err(broken)?.0 {
        Value::Null => Ok(None),
        Value::String(next) => Ok(Some(next).filter(|next| !next.is_empty())),
        _ => {
            let reason = format!("what is at {:?} is no URL", shown(pointer));
            Err(HarvestError::Malformed { place: page.place.at(at as u64), reason, is_cut: false })
        }
    }
}

/// A record, or why it is none.
fn event(source: &JsonSource, bytes: &[u8], place: Place) -> Event {
    match record(source, bytes) {
        Ok(record) => Event::Record(record),
        Err((id, reason)) => Event::Notice(Notice::Unreadable { id, place, reason }),
    }
}

fn record(source: &JsonSource, bytes: &[u8]) -> Result<Record, (Option<String>, String)> {
    let options = &source.options;
    let limits = &source.connection.limits;
    if bytes.len() > limits.record_bytes {
        return Err((None, format!("it has more than {} bytes", limits.record_bytes)));
    }
    let value: Value = serde_json::from_slice(bytes).map_err(|error| (None, reason_of(&error)))?;
    let id = match value.pointer(&options.id) {
        Some(Value::String(id)) => id.clone(),
        Some(Value::Number(id)) => digits(bytes, &options.id, id).map_err(|reason| (None, reason))?,
        _ => return Err((None, format!("it has no text or number at {:?}", shown(&options.id)))),
    };
    if id.is_empty() || id.len() > limits.id_bytes || id.chars().any(char::is_control) {
        let reason = format!("its identifier is empty, has control characters or more than {} bytes", limits.id_bytes);
        return Err((Some(shown(&id)), reason));
    }
    let datestamp = match options.datestamp.as_deref().and_then(|pointer| value.pointer(pointer)) {
        None | Some(Value::Null) => None,
        Some(Value::String(text)) if text.len() <= limits.id_bytes => Some(text.clone()),
        Some(Value::Number(number)) => Some(number.to_string()),
        Some(_) => return Err((Some(id), "its datestamp is neither a text nor a number, or too long".to_owned())),
    };
    let deleted = options.deleted.as_deref().and_then(|pointer| value.pointer(pointer));
    let document = Document { media_type: "application/json".to_owned(), bytes: bytes.to_vec() };
    Ok(Record {
        id,
        datestamp,
        sets: Vec::new(),
        is_deleted: deleted == Some(&Value::Bool(true)),
        document: Some(document),
        about: Vec::new(),
    })
}

/// The bytes of a number that is an identifier: as a value it may be rounded, and be that of another record.
fn digits(bytes: &[u8], pointer: &str, number: &Number) -> Result<String, String> {
    let text = Text::new(bytes);
    let found = text.find(pointer).ok().flatten().and_then(|at| {
        let (value, end) = text.value::<Number>(at).ok()?;
        Some((value, String::from_utf8(text.slice(at..end).to_vec()).ok()?))
    });
    match found {
        Some((value, digits)) if value == *number => Ok(digits),
        // The text names the first member of a name, and the value is the last.
        _ => Err(format!("what is at {:?} is there more than once", shown(pointer))),
    }
}

fn malformed(place: &Place, broken: Broken) -> HarvestError {
    HarvestError::Malformed { place: place.at(broken.byte as u64), reason: broken.reason, is_cut: broken.is_cut }
}
