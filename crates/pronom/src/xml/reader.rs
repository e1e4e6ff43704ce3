//! A document as a tree that is walked once, in order: elements by their local names, unknown ones passed over. Nothing
//! is expanded but character references and the five entities of XML; what is kept at a time is one path of elements.

use quick_xml::events::{BytesStart, Event};
use quick_xml::{XmlVersion, escape};

use crate::error::PronomError;

/// Signature files are eight elements deep.
const MAX_DEPTH: usize = 64;

/// A document that is being read.
pub(super) struct Reader<'a> {
    what: &'a str,
    inner: quick_xml::Reader<&'a [u8]>,
    /// Bytes before the text that `inner` sees.
    skipped: u64,
    depth: usize,
}

/// The start of an element.
pub(super) struct Element<'a> {
    start: BytesStart<'a>,
    /// Where it stands in the document.
    pub(super) position: u64,
    /// How many elements are open once it is, itself among them.
    depth: usize,
}

impl<'a> Reader<'a> {
    /// Opens a document and reads up to its root, which must have this name. `what` names the document in errors.
    pub(super) fn open(what: &'a str, bytes: &'a [u8], root: &str) -> Result<(Self, Element<'a>), PronomError> {
        let fault = |position: u64, reason: &str| fault(what, position, reason);
        if bytes.starts_with(&[0xFE, 0xFF]) || bytes.starts_with(&[0xFF, 0xFE]) {
            return Err(fault(0, "the encoding is UTF-16; only UTF-8 can be read"));
        }
        let text = std::str::from_utf8(bytes).map_err(|error| {
            fault(error.valid_up_to() as u64, "the bytes are not UTF-8, the only encoding that can be read")
        })?;
        let stripped = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut inner = quick_xml::Reader::from_str(stripped);
        inner.config_mut().expand_empty_elements = true;
        let mut reader = Self { what, inner, skipped: (text.len() - stripped.len()) as u64, depth: 0 };
        match reader.next_element(0)? {
            Some(element) if element.name() == root => Ok((reader, element)),
            Some(element) => {
                let reason = format!("the root element is {:?}, not {root:?}", element.name());
                Err(reader.fault(element.position, &reason))
            }
            None => Err(reader.fault(0, "there is no element in it")),
        }
    }

    /// The next child of an element that is open; `None` at its end. What lies within a child is passed over unless it
    /// has been read.
    pub(super) fn child(&mut self, parent: &Element<'_>) -> Result<Option<Element<'a>>, PronomError> {
        self.next_element(parent.depth)
    }

    /// The text of an element, up to its end, without the blanks around it.
    pub(super) fn text(&mut self, element: &Element<'_>) -> Result<String, PronomError> {
        let mut text = String::new();
        while self.depth >= element.depth {
            let position = self.position();
            match self.event()? {
                Event::Text(part) => text.push_str(&part.xml10_content()),
                Event::CData(part) => text.push_str(&part.xml10_content()),
                Event::GeneralRef(reference) => {
                    let character =
                        reference.resolve_char_ref().map_err(|error| self.fault(position, &error.to_string()))?;
                    match (character, escape::resolve_predefined_entity(&reference)) {
                        (Some(character), _) => text.push(character),
                        (None, Some(entity)) => text.push_str(entity),
                        (None, None) => {
                            return Err(self.fault(position, &format!("unknown entity {:?}", cut(&reference))));
                        }
                    }
                }
                Event::Start(_) => {
                    return Err(self.fault(position, &format!("an element within the text of {:?}", element.name())));
                }
                _ => {}
            }
        }
        Ok(text.trim().to_owned())
    }

    /// Reads what may stand behind the root element, once that is at its end.
    pub(super) fn finish(mut self) -> Result<(), PronomError> {
        match self.next_element(0)? {
            Some(element) => Err(self.fault(element.position, "a second root element")),
            None => Ok(()),
        }
    }

    /// An error about a place in the document.
    pub(super) fn fault(&self, position: u64, reason: &str) -> PronomError {
        fault(self.what, position, reason)
    }

    /// The value of an attribute, by its local name.
    pub(super) fn attribute(&self, element: &Element<'_>, name: &str) -> Result<Option<String>, PronomError> {
        let mut found = None;
        // The parser's own search for doubles takes quadratic time.
        for attribute in element.start.attributes().with_checks(false) {
            let attribute = attribute.map_err(|error| self.fault(element.position, &error.to_string()))?;
            let is_namespace = attribute.key.as_namespace_binding().is_some();
            if is_namespace || attribute.key.local_name().as_ref() != name {
                continue;
            }
            if found.is_some() {
                return Err(self.fault(element.position, &format!("{:?} has two attributes {name:?}", element.name())));
            }
            let value = attribute
                .normalized_value(XmlVersion::Implicit1_0)
                .map_err(|error| self.fault(element.position, &error.to_string()))?;
            found = Some(value.into_owned());
        }
        Ok(found)
    }

    /// The value of an attribute that must be there.
    pub(super) fn required(&self, element: &Element<'_>, name: &str) -> Result<String, PronomError> {
        self.attribute(element, name)?
            .ok_or_else(|| self.fault(element.position, &format!("{:?} has no attribute {name:?}", element.name())))
    }

    /// The value of an attribute that is a whole number.
    pub(super) fn number(&self, element: &Element<'_>, name: &str) -> Result<Option<u64>, PronomError> {
        let Some(value) = self.attribute(element, name)? else { return Ok(None) };
        self.parse(element, &value).map(Some)
    }

    /// The value of an attribute that must be there and is an id.
    pub(super) fn id(&self, element: &Element<'_>, name: &str) -> Result<u32, PronomError> {
        self.parse(element, &self.required(element, name)?)
    }

    /// A number that stands in an element or in one of its attributes.
    pub(super) fn parse<T: std::str::FromStr>(&self, element: &Element<'_>, text: &str) -> Result<T, PronomError> {
        text.trim()
            .parse()
            .map_err(|_| self.fault(element.position, &format!("{:?}: {:?} is no number", element.name(), cut(text))))
    }

    /// The next element that opens within as many as `depth` others; `None` once fewer are open.
    fn next_element(&mut self, depth: usize) -> Result<Option<Element<'a>>, PronomError> {
        while self.depth >= depth {
            let position = self.position();
            match self.event()? {
                Event::Start(start) if self.depth == depth + 1 => {
                    return Ok(Some(Element { start, position, depth: self.depth }));
                }
                Event::Eof => return Ok(None),
                _ => {}
            }
        }
        Ok(None)
    }

    fn position(&self) -> u64 {
        self.skipped.saturating_add(self.inner.buffer_position())
    }

    fn event(&mut self) -> Result<Event<'a>, PronomError> {
        let position = self.position();
        let event = self.inner.read_event().map_err(|error| {
            self.fault(self.skipped.saturating_add(self.inner.error_position()), &error.to_string())
        })?;
        match &event {
            Event::Start(_) if self.depth >= MAX_DEPTH => {
                return Err(self.fault(position, "too many elements in each other"));
            }
            Event::Start(_) => self.depth += 1,
            Event::End(_) => self.depth = self.depth.saturating_sub(1),
            Event::Eof if self.depth > 0 => return Err(self.fault(position, "it ends within an element")),
            Event::DocType(_) => return Err(self.fault(position, "document type declarations are not read")),
            Event::Decl(declaration) => {
                let encoding =
                    declaration.encoding().transpose().map_err(|error| self.fault(position, &error.to_string()))?;
                let is_read =
                    |encoding: &str| ["utf-8", "us-ascii"].iter().any(|known| encoding.eq_ignore_ascii_case(known));
                if let Some(encoding) = encoding.filter(|encoding| !is_read(encoding)) {
                    let reason = format!("the encoding is {:?}; only UTF-8 can be read", cut(&encoding));
                    return Err(self.fault(position, &reason));
                }
            }
            _ => {}
        }
        Ok(event)
    }
}

impl Element<'_> {
    /// Its local name.
    pub(super) fn name(&self) -> &str {
        self.start.local_name().into_inner()
    }
}

fn fault(what: &str, position: u64, reason: &str) -> PronomError {
    PronomError::Xml { what: what.to_owned(), reason: reason.to_owned(), position }
}

/// So much of a text as an error shows.
fn cut(text: &str) -> String {
    text.chars().take(80).collect()
}
