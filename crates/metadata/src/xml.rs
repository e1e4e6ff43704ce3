//! XML as descriptions have it: UTF-8, no entities but the predefined ones, a bounded depth, and line numbers.

use quick_xml::events::{BytesStart, Event};
use quick_xml::name::ResolveResult;
use quick_xml::{NsReader, XmlVersion, escape};

use crate::error::{Format, MetadataError, Place, quoted};
use crate::limits::Limits;
use crate::reading::text_of;

/// Most elements that are open at one time.
const MOST_DEPTH: usize = 64;

/// The namespace of an element.
pub(crate) enum Space {
    /// Its URI.
    Uri(String),
    /// The element has no prefix, and there is no default namespace.
    None,
    /// The prefix, which is not declared.
    Undeclared(String),
}

/// What comes next in a document.
pub(crate) enum Node<'x> {
    /// An element begins.
    Start { space: Space, start: BytesStart<'x> },
    /// Text.
    Text(String),
    /// The element ends that began last.
    End,
    /// The document ends.
    Eof,
}

/// A document that is read from its beginning to its end.
pub(crate) struct Xml<'x> {
    format: Format,
    text: &'x str,
    inner: NsReader<&'x [u8]>,
    depth: usize,
    has_root: bool,
    /// A place before the one that is read, and its line.
    counted: (usize, u64),
}

impl<'x> Xml<'x> {
    pub(crate) fn new(format: Format, bytes: &'x [u8], limits: &Limits) -> Result<Self, MetadataError> {
        let text = text_of(format, bytes, limits)?;
        let mut inner = NsReader::from_str(text);
        inner.config_mut().expand_empty_elements = true;
        Ok(Self { format, text, inner, depth: 0, has_root: false, counted: (0, 1) })
    }

    /// The line that is read, from 1.
    pub(crate) fn line(&mut self) -> u64 {
        self.line_of(self.inner.buffer_position())
    }

    fn line_of(&mut self, position: u64) -> u64 {
        let position = usize::try_from(position).unwrap_or(usize::MAX).min(self.text.len());
        let (from, line) = if position < self.counted.0 { (0, 1) } else { self.counted };
        let passed = self.text.as_bytes().get(from..position).unwrap_or_default();
        let line = line + memchr::memchr_iter(b'\n', passed).count() as u64;
        self.counted = (position, line);
        line
    }

    pub(crate) fn syntax(&mut self, reason: impl Into<String>) -> MetadataError {
        let line = self.line();
        MetadataError::Syntax { place: Place::line(self.format, line), reason: reason.into() }
    }

    /// The value of an attribute without a namespace.
    pub(crate) fn attribute(&mut self, start: &BytesStart<'_>, name: &str) -> Result<Option<String>, MetadataError> {
        // The parser's own search for doubles takes quadratic time.
        for attribute in start.attributes().with_checks(false) {
            let attribute = attribute.map_err(|error| self.syntax(format!("an attribute is malformed: {error}")))?;
            if attribute.key.into_inner() == name {
                let value = attribute
                    .normalized_value(XmlVersion::Implicit1_0)
                    .map_err(|error| self.syntax(format!("the attribute {name:?} is malformed: {error}")))?;
                return Ok(Some(value.into_owned()));
            }
        }
        Ok(None)
    }

    pub(crate) fn next(&mut self) -> Result<Node<'x>, MetadataError> {
        loop {
            let read = self.inner.read_resolved_event();
            let (space, event) = match read {
                Ok((space, event)) => (space_of(space), event),
                Err(error) => {
                    let line = self.line_of(self.inner.error_position());
                    let reason = format!("the XML is malformed: {error}");
                    return Err(MetadataError::Syntax { place: Place::line(self.format, line), reason });
                }
            };
            match event {
                Event::Start(start) => {
                    if self.depth == MOST_DEPTH {
                        return Err(self.syntax(format!("more than {MOST_DEPTH} elements are in each other")));
                    }
                    if self.depth == 0 && self.has_root {
                        return Err(self.syntax("there is a second root element"));
                    }
                    (self.depth, self.has_root) = (self.depth + 1, true);
                    return Ok(Node::Start { space, start });
                }
                Event::End(_) => {
                    self.depth = self.depth.saturating_sub(1);
                    return Ok(Node::End);
                }
                Event::Text(text) => {
                    let text = text.xml10_content();
                    if self.depth == 0 && !text.trim().is_empty() {
                        return Err(self.syntax("there is text outside of the root element"));
                    }
                    return Ok(Node::Text(text.into_owned()));
                }
                Event::CData(text) => return Ok(Node::Text(text.xml10_content().into_owned())),
                Event::GeneralRef(reference) => return self.reference(&reference),
                Event::DocType(declaration) => {
                    // An external DTD is never fetched, so naming one changes nothing.
                    if declaration.contains('[') {
                        return Err(
                            self.syntax("a document type declaration with entities or other content is not read")
                        );
                    }
                }
                Event::Decl(declaration) => self.declaration(&declaration)?,
                Event::Eof if self.depth > 0 => return Err(self.syntax("the document ends within an element")),
                Event::Eof if !self.has_root => return Err(self.syntax("there is no element in it")),
                Event::Eof => return Ok(Node::Eof),
                Event::Empty(_) | Event::Comment(_) | Event::PI(_) => {}
            }
        }
    }

    fn reference(&mut self, reference: &quick_xml::events::BytesRef<'_>) -> Result<Node<'x>, MetadataError> {
        let character = reference.resolve_char_ref().map_err(|error| self.syntax(error.to_string()))?;
        if let Some(character) = character {
            return Ok(Node::Text(character.into()));
        }
        match escape::resolve_predefined_entity(reference) {
            Some(text) => Ok(Node::Text(text.to_owned())),
            None => Err(self.syntax(format!("the entity {} is not known, and none are read", quoted(reference)))),
        }
    }

    fn declaration(&mut self, declaration: &quick_xml::events::BytesDecl<'_>) -> Result<(), MetadataError> {
        let encoding = declaration.encoding().transpose().map_err(|error| self.syntax(error.to_string()))?;
        let is_read = |encoding: &str| ["utf-8", "us-ascii"].iter().any(|known| encoding.eq_ignore_ascii_case(known));
        match encoding {
            Some(encoding) if !is_read(&encoding) => {
                let line = self.line();
                let reason = format!("it declares the encoding {}", quoted(&encoding));
                Err(MetadataError::Encoding { place: Place::line(self.format, line), reason })
            }
            _ => Ok(()),
        }
    }
}

fn space_of(resolved: ResolveResult<'_>) -> Space {
    match resolved {
        ResolveResult::Bound(namespace) => Space::Uri(namespace.into_inner().to_owned()),
        ResolveResult::Unbound => Space::None,
        ResolveResult::Unknown(prefix) => Space::Undeclared(prefix),
    }
}
