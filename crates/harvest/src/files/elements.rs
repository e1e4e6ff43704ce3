//! The records of one file.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use crate::error::{HarvestError, Place, name as note, shown};
use crate::files::path::{ElementPath, Finder};
use crate::files::walk::open;
use crate::limits::Limits;
use crate::notice::Notice;
use crate::source::{Document, Event, Record};
use crate::xml::{Bounds, Node, Start, Xml, XmlError};

/// What is looked for in a file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wanted<'o> {
    /// The element that is a record; none where the whole file is one.
    pub(crate) element: Option<&'o str>,
    /// Its namespace; none where any will do.
    pub(crate) namespace: Option<&'o str>,
    /// Whether an element without a namespace will do as well.
    pub(crate) is_namespace_optional: bool,
    /// Where its identifier is; none where the path of the file is.
    pub(crate) id: Option<&'o ElementPath>,
    /// Where the leader of a MARC record is.
    pub(crate) leader: Option<&'o ElementPath>,
    pub(crate) media_type: &'o str,
    pub(crate) limits: &'o Limits,
}

/// The records of one file.
pub(crate) struct FileReader<'o> {
    wanted: Wanted<'o>,
    xml: Xml<Box<dyn Read + Send>>,
    place: Place,
    /// The bytes of a file that is one record.
    whole: Option<Vec<u8>>,
    /// The identifier of a file that is one record.
    name: String,
    /// Names of the elements within the root element that are no records.
    others: Vec<String>,
    is_ended: bool,
}

impl<'o> FileReader<'o> {
    /// Opens a file. `name` is its path below the folder.
    pub(crate) fn open(path: &Path, name: &str, wanted: Wanted<'o>) -> Result<Self, HarvestError> {
        let file = open(path)?;
        let place = Place { source: path.display().to_string(), ..Place::default() };
        let limits = wanted.limits;
        let bounds = Bounds { record_bytes: limits.record_bytes, depth: limits.depth, ignores_encoding: false };
        let (whole, reader): (_, Box<dyn Read + Send>) = if wanted.element.is_some() {
            (None, Box::new(file))
        } else {
            let bytes = whole(path, file, limits.record_bytes)?;
            (Some(bytes.clone()), Box::new(std::io::Cursor::new(bytes)))
        };
        Ok(Self {
            wanted,
            xml: Xml::new(reader, bounds),
            place,
            whole,
            name: name.to_owned(),
            others: Vec::new(),
            is_ended: false,
        })
    }

    /// Names of elements that are there where records are looked for.
    pub(crate) fn others(&self) -> &[String] {
        &self.others
    }

    /// The next record, or why one cannot be read; none at the end.
    pub(crate) fn next(&mut self) -> Result<Option<Event>, HarvestError> {
        if self.is_ended {
            return Ok(None);
        }
        self.advance().map_err(|error| match error {
            // A file of the disk is as it is: it is not whole when it is read again.
            XmlError::Malformed { fault, .. } => {
                HarvestError::Malformed { place: self.place.at(fault.byte), reason: fault.reason, is_cut: false }
            }
            XmlError::Io(source) => HarvestError::File { act: "read", path: self.place.source.clone().into(), source },
        })
    }

    fn advance(&mut self) -> Result<Option<Event>, XmlError> {
        loop {
            match self.xml.next()? {
                Node::Start(start) if self.whole.is_some() => return self.record(&start).map(Some),
                Node::Start(start) if self.is_record(&start) => {
                    if let Some(fault) = self.xml.fault_before(start.byte) {
                        return Err(XmlError::Malformed { fault, is_cut: false });
                    }
                    self.xml.keep(&start);
                    return self.record(&start).map(Some);
                }
                // Records are within the root element most often: what is there says what there is.
                Node::Start(start) if self.xml.depth() == 2 => {
                    let name = self.name_of(&start);
                    note(&mut self.others, &name);
                }
                Node::Start(_) | Node::Text(_) | Node::End => {}
                Node::Eof => {
                    self.is_ended = true;
                    return match self.xml.take_fault(0) {
                        Some(fault) => Err(XmlError::Malformed { fault, is_cut: false }),
                        None => Ok(None),
                    };
                }
            }
        }
    }

    /// The name of an element, with its namespace where that is why it is no record.
    fn name_of(&self, start: &Start) -> String {
        match self.wanted.element {
            Some(element) if element == start.local => format!("{} of {}", start.local, start.space),
            _ => start.local.clone(),
        }
    }

    fn is_record(&self, start: &Start) -> bool {
        let is_right = match self.wanted.namespace {
            None => true,
            Some(namespace) => {
                start.space == namespace || (self.wanted.is_namespace_optional && start.space.is_empty())
            }
        };
        self.wanted.element == Some(start.local.as_str()) && is_right
    }

    /// Reads the record whose start tag was read.
    fn record(&mut self, start: &Start) -> Result<Event, XmlError> {
        let limits = self.wanted.limits;
        let mut id = self.wanted.id.map(|path| Finder::new(path, limits.id_bytes));
        let mut leader = self.wanted.leader.map(|path| Finder::new(path, limits.id_bytes));
        let outside = self.xml.depth().saturating_sub(1);
        for finder in id.iter_mut().chain(&mut leader) {
            finder.begin(start);
        }
        while self.xml.depth() > outside {
            let node = self.xml.next()?;
            if node == Node::Eof {
                return Err(self.xml.cut());
            }
            if self.xml.depth() > outside {
                for finder in id.iter_mut().chain(&mut leader) {
                    finder.see(&node);
                }
            }
        }
        let bytes = match self.whole.take() {
            Some(bytes) => {
                // What comes after the root element belongs to the file.
                while self.xml.next()? != Node::Eof {}
                self.is_ended = true;
                Some(bytes)
            }
            None => self.xml.kept(),
        };
        let from = if self.is_ended { 0 } else { start.byte };
        let fault = self.xml.take_fault(from);
        let found = match &id {
            Some(id) => id.found(),
            None => Some(self.name.clone()),
        };
        // Byte 5 of the leader is the status of a record (MARC 21).
        let is_deleted =
            leader.as_ref().and_then(Finder::exact).is_some_and(|text| text.as_bytes().get(5) == Some(&b'd'));
        Ok(self.judged(start, (fault, found), bytes, is_deleted))
    }

    fn judged(
        &self,
        start: &Start,
        (fault, id): (Option<crate::tape::Fault>, Option<String>),
        bytes: Option<Vec<u8>>,
        is_deleted: bool,
    ) -> Event {
        let most = self.wanted.limits.id_bytes;
        let is_fine = |id: &String| id.len() <= most && !id.chars().any(char::is_control);
        let (byte, reason) = match (fault, &id, bytes) {
            (Some(fault), _, _) => (fault.byte, fault.reason),
            (None, None, _) => (start.byte, "it has no identifier at its path".to_owned()),
            (None, Some(id), _) if !is_fine(id) => {
                (start.byte, format!("its identifier has control characters or more than {most} bytes"))
            }
            (None, Some(id), Some(bytes)) => {
                return Event::Record(Record {
                    id: id.clone(),
                    datestamp: None,
                    sets: Vec::new(),
                    is_deleted,
                    document: Some(Document { media_type: self.wanted.media_type.to_owned(), bytes }),
                    about: Vec::new(),
                });
            }
            (None, Some(_), None) => (start.byte, "it is too long".to_owned()),
        };
        let id = id.map(|id| if is_fine(&id) { id } else { shown(&id) });
        Event::Notice(Notice::Unreadable { id, place: self.place.at(byte), reason })
    }
}

/// The bytes of a file that is one record.
fn whole(path: &Path, file: File, most: usize) -> Result<Vec<u8>, HarvestError> {
    let failed = |source| HarvestError::File { act: "read", path: path.to_owned(), source };
    let mut bytes = Vec::new();
    file.take(most as u64 + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() > most {
        return Err(failed(std::io::Error::other(format!("it has more than {most} bytes"))));
    }
    Ok(bytes)
}
