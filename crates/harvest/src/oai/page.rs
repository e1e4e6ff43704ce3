//! One answer of a provider, read item by item (section 3.2).

use std::io::Read;

use crate::error::{HarvestError, Place, shown};
use crate::limits::Limits;
use crate::oai::answers::{Identify, MetadataFormat, SetInfo};
use crate::oai::code::{OaiCode, OaiError};
use crate::source::{Document, Record};
use crate::xml::{Bounds, Node, Start, Xml, XmlError};

/// The namespace of the protocol (section 3.2).
pub(crate) const SPACE: &str = "http://www.openarchives.org/OAI/2.0/";
/// Most bytes of a date or of the text of an error.
const MOST_TEXT: usize = 4 << 10;
/// Most errors of one answer that are kept.
const MOST_ERRORS: usize = 20;

/// A verb of the protocol (section 4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verb {
    GetRecord,
    Identify,
    ListIdentifiers,
    ListMetadataFormats,
    ListRecords,
    ListSets,
}

impl Verb {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::GetRecord => "GetRecord",
            Self::Identify => "Identify",
            Self::ListIdentifiers => "ListIdentifiers",
            Self::ListMetadataFormats => "ListMetadataFormats",
            Self::ListRecords => "ListRecords",
            Self::ListSets => "ListSets",
        }
    }
}

/// What an answer has.
#[derive(Debug)]
pub(crate) enum Item {
    Record(Record),
    /// A record that cannot be read: its identifier, and why.
    Unreadable {
        id: Option<String>,
        byte: u64,
        reason: String,
    },
    Set(SetInfo),
    Format(MetadataFormat),
    Identify(Identify),
}

/// An answer that is read.
pub(crate) struct PageReader<R> {
    xml: Xml<R>,
    verb: Verb,
    place: Place,
    limits: Limits,
    state: State,
    /// What the answer says about the whole list, once all was read.
    pub(crate) ending: Ending,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Beginning,
    /// Within the root element.
    Root,
    /// Within the element of the verb.
    Verb,
    Ended,
}

/// What an answer says besides its items.
#[derive(Debug, Default)]
pub(crate) struct Ending {
    pub(crate) response_date: Option<String>,
    pub(crate) errors: Vec<OaiError>,
    /// The token of the next page; none where there is none.
    pub(crate) token: Option<String>,
    pub(crate) has_verb: bool,
}

impl<R: Read> PageReader<R> {
    pub(crate) fn new(reader: R, verb: Verb, place: Place, limits: &Limits, ignores_encoding: bool) -> Self {
        let bounds = Bounds { record_bytes: limits.record_bytes, depth: limits.depth, ignores_encoding };
        let xml = Xml::new(reader, bounds);
        Self { xml, verb, place, limits: limits.clone(), state: State::Beginning, ending: Ending::default() }
    }

    pub(crate) fn place(&self) -> &Place {
        &self.place
    }

    /// The next item; none at the end of the answer.
    pub(crate) fn next(&mut self) -> Result<Option<Item>, HarvestError> {
        self.advance().map_err(|error| match error {
            XmlError::Malformed { fault, is_cut } => {
                HarvestError::Malformed { place: self.place.at(fault.byte), reason: fault.reason, is_cut }
            }
            XmlError::Io(source) => HarvestError::Kept { place: self.place.clone(), source },
        })
    }

    fn advance(&mut self) -> Result<Option<Item>, XmlError> {
        loop {
            let node = match self.state {
                State::Ended => return Ok(None),
                _ => self.xml.next()?,
            };
            match (self.state, node) {
                (State::Beginning, Node::Start(start)) => self.root(&start)?,
                (State::Root, Node::Start(start)) => {
                    if let Some(item) = self.child_of_root(&start)? {
                        return Ok(Some(item));
                    }
                }
                (State::Verb, Node::Start(start)) => {
                    self.sound_before(start.byte)?;
                    if let Some(item) = self.child_of_verb(&start)? {
                        return Ok(Some(item));
                    }
                }
                (State::Verb, Node::End) => self.state = State::Root,
                (_, Node::Eof) => {
                    self.sound()?;
                    self.state = State::Ended;
                }
                (_, Node::End | Node::Text(_)) => {}
                (State::Ended, Node::Start(_)) => return Ok(None),
            }
        }
    }

    fn root(&mut self, start: &Start) -> Result<(), XmlError> {
        if (start.space.as_str(), start.local.as_str()) != (SPACE, "OAI-PMH") {
            let reason = format!("it is no answer of OAI-PMH 2.0: its root element is {:?}", shown(&start.local));
            return Err(self.xml.malformed(reason));
        }
        self.state = State::Root;
        Ok(())
    }

    fn child_of_root(&mut self, start: &Start) -> Result<Option<Item>, XmlError> {
        if start.space != SPACE {
            self.xml.skip()?;
            return Ok(None);
        }
        match start.local.as_str() {
            "responseDate" => {
                let date = self.xml.text(MOST_TEXT)?;
                self.ending.response_date = Some(shown(date.trim()));
            }
            "error" => {
                let code = OaiCode::parse(start.attribute("code").unwrap_or_default());
                let message = self.xml.text(self.limits.record_bytes)?;
                if self.ending.errors.len() < MOST_ERRORS {
                    self.ending.errors.push(OaiError { code, message: shown(message.trim()) });
                }
            }
            name if name == self.verb.as_str() => {
                self.ending.has_verb = true;
                if self.verb == Verb::Identify {
                    let identify = Identify::read(&mut self.xml)?;
                    self.sound()?;
                    return Ok(Some(Item::Identify(identify)));
                }
                self.state = State::Verb;
            }
            _ => self.xml.skip()?,
        }
        Ok(None)
    }

    fn child_of_verb(&mut self, start: &Start) -> Result<Option<Item>, XmlError> {
        let name = if start.space == SPACE { start.local.as_str() } else { "" };
        match (self.verb, name) {
            (Verb::ListRecords | Verb::GetRecord, "record") => self.record(start).map(Some),
            (Verb::ListIdentifiers, "header") => {
                let mut record = Found::default();
                self.header(start, &mut record)?;
                Ok(Some(self.judged(start, record)))
            }
            (Verb::ListSets, "set") => {
                let set = SetInfo::read(&mut self.xml)?;
                self.sound()?;
                Ok(Some(Item::Set(set)))
            }
            (Verb::ListMetadataFormats, "metadataFormat") => {
                let format = MetadataFormat::read(&mut self.xml)?;
                self.sound()?;
                Ok(Some(Item::Format(format)))
            }
            (_, "resumptionToken") => {
                let token = self.xml.text(self.limits.token_bytes)?;
                self.sound()?;
                // White space is part of a token, but not where an answer is written with indents.
                let token = if token.contains('\n') { token.trim() } else { token.as_str() };
                // An empty token ends the list (section 3.5).
                self.ending.token = (!token.trim().is_empty()).then(|| token.to_owned());
                Ok(None)
            }
            _ => {
                self.xml.skip()?;
                Ok(None)
            }
        }
    }

    /// What is wrong outside of records concerns the whole answer.
    fn sound(&mut self) -> Result<(), XmlError> {
        match self.xml.take_fault(0) {
            Some(fault) => Err(XmlError::Malformed { fault, is_cut: false }),
            None => Ok(()),
        }
    }

    fn sound_before(&mut self, byte: u64) -> Result<(), XmlError> {
        match self.xml.fault_before(byte) {
            Some(fault) => Err(XmlError::Malformed { fault, is_cut: false }),
            None => Ok(()),
        }
    }

    fn record(&mut self, start: &Start) -> Result<Item, XmlError> {
        let mut found = Found { wants_document: true, ..Found::default() };
        loop {
            match self.xml.next()? {
                Node::Start(child) => match (child.space.as_str(), child.local.as_str()) {
                    (SPACE, "header") => self.header(&child, &mut found)?,
                    (SPACE, "metadata") => {
                        if let Some(document) = self.contained()? {
                            found.document = Some(document);
                        }
                    }
                    (SPACE, "about") => found.about.extend(self.contained()?),
                    _ => self.xml.skip()?,
                },
                Node::Text(_) => {}
                Node::End => return Ok(self.judged(start, found)),
                Node::Eof => return Err(self.xml.cut()),
            }
        }
    }

    /// The one element within the element that began last.
    fn contained(&mut self) -> Result<Option<Document>, XmlError> {
        let mut found = None;
        loop {
            match self.xml.next()? {
                Node::Start(start) if found.is_none() => {
                    let bytes = self.xml.element(&start)?;
                    found = bytes.map(|bytes| Document { media_type: "application/xml".to_owned(), bytes });
                }
                Node::Start(start) => {
                    self.xml.note(start.byte, "there is a second element where one must be");
                    self.xml.skip()?;
                }
                Node::Text(text) if !text.trim().is_empty() => {
                    let byte = self.xml.position();
                    self.xml.note(byte, "there is text where an element must be");
                }
                Node::Text(_) => {}
                Node::End => return Ok(found),
                Node::Eof => return Err(self.xml.cut()),
            }
        }
    }

    fn header(&mut self, start: &Start, found: &mut Found) -> Result<(), XmlError> {
        found.is_deleted = start.attribute("status") == Some("deleted");
        let most = self.limits.id_bytes;
        loop {
            match self.xml.next()? {
                Node::Start(child) => match (child.space.as_str(), child.local.as_str()) {
                    (SPACE, "identifier") => {
                        // A longer one is shown shortened, so it is read a little further.
                        let id = self.xml.text(most.saturating_mul(4))?;
                        let is_known = !self.xml.is_unreadable_since(child.byte);
                        found.id = Some(id.trim().to_owned()).filter(|id| is_known && !id.is_empty());
                    }
                    (SPACE, "datestamp") => {
                        found.datestamp = Some(self.xml.text(most)?.trim().to_owned()).filter(|text| !text.is_empty());
                    }
                    (SPACE, "setSpec") if found.sets.len() < self.limits.sets => {
                        found.sets.push(self.xml.text(most)?.trim().to_owned());
                    }
                    (SPACE, "setSpec") => {
                        self.xml.note(child.byte, format!("it is in more than {} sets", self.limits.sets));
                        self.xml.skip()?;
                    }
                    _ => self.xml.skip()?,
                },
                Node::Text(_) => {}
                Node::End => return Ok(()),
                Node::Eof => return Err(self.xml.cut()),
            }
        }
    }

    /// A record if nothing is wrong with it.
    fn judged(&mut self, start: &Start, found: Found) -> Item {
        let fault = self.xml.take_fault(start.byte);
        let most = self.limits.id_bytes;
        let (byte, reason) = match (fault, &found.id) {
            (Some(fault), _) => (fault.byte, fault.reason),
            (None, None) => (start.byte, "it has no identifier".to_owned()),
            (None, Some(id)) if id.len() > most => (start.byte, format!("its identifier has more than {most} bytes")),
            (None, Some(id)) if id.chars().any(char::is_control) => {
                (start.byte, "its identifier has a control character".to_owned())
            }
            (None, Some(_)) if found.wants_document && !found.is_deleted && found.document.is_none() => {
                (start.byte, "it has no metadata".to_owned())
            }
            (None, Some(id)) => {
                return Item::Record(Record {
                    id: id.clone(),
                    datestamp: found.datestamp,
                    sets: found.sets,
                    is_deleted: found.is_deleted,
                    document: found.document.filter(|_| !found.is_deleted),
                    about: found.about,
                });
            }
        };
        let id = found.id.map(|id| if id.len() > most { shown(&id) } else { id });
        Item::Unreadable { id, byte, reason }
    }
}

/// What was found of a record.
#[derive(Default)]
struct Found {
    id: Option<String>,
    datestamp: Option<String>,
    sets: Vec<String>,
    is_deleted: bool,
    wants_document: bool,
    document: Option<Document>,
    about: Vec<Document>,
}
