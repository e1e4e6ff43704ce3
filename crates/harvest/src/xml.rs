//! XML as it is read here: one event at a time, UTF-8, no entities but the predefined ones, a bounded depth, bytes that say where
//! something is, and faults that do not end the reading where what comes after them can be found.

use std::io::Read;

use quick_xml::errors::IllFormedError;
use quick_xml::events::{BytesDecl, BytesRef, BytesStart, Event};
use quick_xml::name::{PrefixDeclaration, ResolveResult};
use quick_xml::{NsReader, XmlVersion, escape};

use crate::error::shown;
use crate::tape::{Beyond, Fault, Tape};

/// Most attributes of one element.
const MOST_ATTRIBUTES: usize = 256;
/// Most bytes of the declarations of namespaces that are added to an element.
const MOST_DECLARATIONS: usize = 64 << 10;

/// What comes next in a document.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Node {
    /// An element begins.
    Start(Start),
    /// Text, with its references resolved.
    Text(String),
    /// The element ends that began last.
    End,
    /// The document ends.
    Eof,
}

/// The start tag of an element.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Start {
    /// The URI of its namespace; empty where it has none.
    pub(crate) space: String,
    /// Its name without prefix.
    pub(crate) local: String,
    /// Names as they are written, with their values.
    pub(crate) attributes: Vec<(String, String)>,
    /// Its first byte.
    pub(crate) byte: u64,
}

impl Start {
    /// The value of an attribute, by its name as it is written.
    pub(crate) fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(found, _)| found == name).map(|(_, value)| value.as_str())
    }
}

/// Why nothing more can be read of a document.
#[derive(Debug)]
pub(crate) enum XmlError {
    /// It is not well-formed, or beyond a bound.
    Malformed { fault: Fault, is_cut: bool },
    /// Its bytes cannot be read.
    Io(std::io::Error),
}

/// How documents are read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    pub(crate) record_bytes: usize,
    pub(crate) depth: usize,
    /// Whether the encoding that the document declares does not matter.
    pub(crate) ignores_encoding: bool,
}

/// A document that is read from its beginning to its end.
pub(crate) struct Xml<R> {
    inner: NsReader<Tape<R>>,
    buffer: Vec<u8>,
    bounds: Bounds,
    depth: usize,
    has_root: bool,
    keeps: bool,
    /// What was found so far, in order.
    fault: Option<Fault>,
}

impl<R: Read> Xml<R> {
    pub(crate) fn new(reader: R, bounds: Bounds) -> Self {
        let mut inner = NsReader::from_reader(Tape::new(reader, bounds.record_bytes));
        inner.config_mut().expand_empty_elements = true;
        inner.config_mut().check_comments = true;
        Self { inner, buffer: Vec::new(), bounds, depth: 0, has_root: false, keeps: false, fault: None }
    }

    fn tape(&mut self) -> &mut Tape<R> {
        self.inner.get_mut()
    }

    /// The byte that is read next.
    pub(crate) fn position(&mut self) -> u64 {
        self.tape().position()
    }

    /// Elements that are open.
    pub(crate) fn depth(&self) -> usize {
        self.depth
    }

    /// Notes something that is wrong with what is read, unless something was noted before.
    pub(crate) fn note(&mut self, byte: u64, reason: impl Into<String>) {
        if self.fault.is_none() {
            self.fault = Some(Fault { byte, reason: reason.into() });
        }
    }

    /// What is wrong from a place on to what is read, first; it and what is before it is forgotten.
    pub(crate) fn take_fault(&mut self, from: u64) -> Option<Fault> {
        let to = self.position();
        let noted = self.fault.take();
        let unreadable = self.tape().fault_within(from, to).cloned();
        self.tape().forget_faults(to);
        match (noted, unreadable) {
            (Some(noted), Some(unreadable)) if unreadable.byte <= noted.byte => Some(unreadable),
            (Some(noted), _) => Some(noted),
            (None, unreadable) => unreadable,
        }
    }

    /// What is wrong before a place, first.
    pub(crate) fn fault_before(&mut self, byte: u64) -> Option<Fault> {
        let noted = self.fault.clone().filter(|fault| fault.byte < byte);
        noted.or_else(|| self.tape().fault_within(0, byte).cloned())
    }

    /// Whether there are characters that cannot be read, from a place on.
    pub(crate) fn is_unreadable_since(&mut self, from: u64) -> bool {
        let to = self.position();
        self.tape().fault_within(from, to).is_some()
    }

    /// Why reading ends, at the byte that is read.
    pub(crate) fn malformed(&mut self, reason: impl Into<String>) -> XmlError {
        let byte = self.position();
        XmlError::Malformed { fault: Fault { byte, reason: reason.into() }, is_cut: false }
    }

    /// What comes next.
    pub(crate) fn next(&mut self) -> Result<Node, XmlError> {
        loop {
            if let Some(node) = self.advance(true)? {
                return Ok(node);
            }
        }
    }

    /// Passes over the rest of the element that began last. What is in it is checked.
    pub(crate) fn skip(&mut self) -> Result<(), XmlError> {
        let outside = self.depth.saturating_sub(1);
        while self.depth > outside {
            if self.advance(false)? == Some(Node::Eof) {
                return Err(self.cut());
            }
        }
        Ok(())
    }

    /// The text of the element that began last, up to its end. Elements within it, and more bytes than `most`, are faults.
    pub(crate) fn text(&mut self, most: usize) -> Result<String, XmlError> {
        let begin = self.position();
        let mut found = String::new();
        loop {
            match self.next()? {
                Node::Text(text) if found.len().saturating_add(text.len()) <= most => found.push_str(&text),
                Node::Text(_) => self.note(begin, format!("a text in it has more than {most} bytes")),
                Node::Start(start) => {
                    self.note(
                        start.byte,
                        format!("it has an element {:?} where there is only text", shown(&start.local)),
                    );
                    self.skip()?;
                }
                Node::End => return Ok(found),
                Node::Eof => return Err(self.cut()),
            }
        }
    }

    /// The bytes of the element whose start tag was read last, up to its end, as a document by itself: with the declarations of
    /// namespaces in whose scope it is. None where it is too long, which is a fault.
    pub(crate) fn element(&mut self, start: &Start) -> Result<Option<Vec<u8>>, XmlError> {
        self.keep(start);
        self.skip()?;
        Ok(self.kept())
    }

    /// Keeps the bytes from the start tag on that was read last, with the declarations.
    pub(crate) fn keep(&mut self, start: &Start) {
        self.keeps = true;
        let declarations = self.declarations(start);
        let Some(bytes) = self.tape().take_kept() else {
            let most = self.bounds.record_bytes;
            return self.note(start.byte, format!("a tag in it has more than {most} bytes"));
        };
        let name = bytes.iter().position(|byte| matches!(byte, b' ' | b'\t' | b'\r' | b'\n' | b'/' | b'>'));
        let (name, rest) = bytes.split_at(name.unwrap_or(bytes.len()));
        let whole = [name, declarations.as_bytes(), rest].concat();
        self.tape().put_kept(whole);
    }

    /// What was kept. None where it is too long, which is a fault.
    pub(crate) fn kept(&mut self) -> Option<Vec<u8>> {
        self.keeps = false;
        let kept = self.tape().take_kept();
        if kept.is_none() {
            let (byte, most) = (self.position(), self.bounds.record_bytes);
            self.note(byte, format!("it has more than {most} bytes"));
        }
        kept
    }

    /// The declarations of namespaces in whose scope an element is and which it has not itself.
    fn declarations(&mut self, start: &Start) -> String {
        let mut declarations = String::new();
        for (prefix, namespace) in self.inner.resolver().bindings() {
            let name = match prefix {
                PrefixDeclaration::Default => "xmlns".to_owned(),
                PrefixDeclaration::Named(prefix) => format!("xmlns:{prefix}"),
            };
            if start.attribute(&name).is_none() {
                // The parser has the value as it is written, where it may be in single quotes.
                let value = namespace.into_inner().replace('"', "&quot;");
                declarations.extend([" ", name.as_str(), "=\"", value.as_str(), "\""]);
            }
        }
        if declarations.len() > MOST_DECLARATIONS {
            self.note(start.byte, format!("the namespaces in force there have more than {MOST_DECLARATIONS} bytes"));
            declarations.clear();
        }
        declarations
    }

    pub(crate) fn cut(&mut self) -> XmlError {
        let byte = self.position();
        let reason = if self.has_root { "it ends within an element" } else { "there is no element in it" };
        XmlError::Malformed { fault: Fault { byte, reason: reason.to_owned() }, is_cut: true }
    }

    /// Reads an event. None where it is nothing that matters; where `is_wanted` is false, a node has no contents.
    fn advance(&mut self, is_wanted: bool) -> Result<Option<Node>, XmlError> {
        let keeps = self.keeps;
        self.tape().begin_event(keeps);
        let byte = self.tape().position();
        self.buffer.clear();
        let mut buffer = std::mem::take(&mut self.buffer);
        let node = match self.inner.read_resolved_event_into(&mut buffer) {
            Ok((space, event)) => {
                let space = match space {
                    ResolveResult::Bound(namespace) => {
                        Ok(if is_wanted { namespace.into_inner() } else { "" }.to_owned())
                    }
                    ResolveResult::Unbound => Ok(String::new()),
                    ResolveResult::Unknown(prefix) => Err(prefix),
                };
                self.judge(byte, space, event, is_wanted)
            }
            // What comes after these can be found.
            Err(quick_xml::Error::IllFormed(IllFormedError::UnclosedReference)) => {
                self.note(byte, "a \"&\" in it begins no reference");
                Ok(None)
            }
            Err(quick_xml::Error::IllFormed(IllFormedError::DoubleHyphenInComment)) => {
                self.note(byte, "a comment in it has \"--\"");
                Ok(None)
            }
            Err(error) => Err(self.failed(byte, error)),
        };
        // A large event is rare, and its memory need not stay.
        if buffer.capacity() <= 1 << 20 {
            self.buffer = buffer;
        }
        node
    }

    fn judge(
        &mut self,
        byte: u64,
        space: Result<String, String>,
        event: Event<'_>,
        is_wanted: bool,
    ) -> Result<Option<Node>, XmlError> {
        let node = match event {
            Event::Start(start) => {
                if self.depth >= self.bounds.depth {
                    let most = self.bounds.depth;
                    return Err(self.malformed(format!("more than {most} elements are in each other")));
                }
                if self.depth == 0 && self.has_root {
                    return Err(self.malformed("there is a second root element"));
                }
                (self.depth, self.has_root) = (self.depth + 1, true);
                let space = space.unwrap_or_else(|prefix| {
                    self.note(byte, format!("the prefix {:?} has no namespace", shown(&prefix)));
                    String::new()
                });
                Node::Start(self.start(byte, space, &start, is_wanted))
            }
            Event::End(_) => {
                self.depth = self.depth.saturating_sub(1);
                Node::End
            }
            Event::Text(text) => {
                if self.depth == 0 && !text.trim().is_empty() {
                    return Err(self.malformed("there is text outside of the root element"));
                }
                if text.contains("]]>") {
                    self.note(byte, "it has \"]]>\" in a text");
                }
                Node::Text(if is_wanted { text.xml10_content().into_owned() } else { String::new() })
            }
            Event::CData(_) | Event::GeneralRef(_) if self.depth == 0 => {
                return Err(self.malformed("there is text outside of the root element"));
            }
            Event::CData(text) => Node::Text(if is_wanted { text.xml10_content().into_owned() } else { String::new() }),
            Event::GeneralRef(reference) => Node::Text(self.reference(byte, &reference)),
            Event::DocType(declaration) => {
                if self.depth > 0 || self.has_root {
                    return Err(self.malformed("there is a document type declaration after the root element has begun"));
                }
                // An external DTD is never fetched, so naming one changes nothing.
                if declaration.contains('[') {
                    return Err(
                        self.malformed("a document type declaration with entities or other content is not read")
                    );
                }
                return Ok(None);
            }
            Event::Decl(declaration) => {
                self.declaration(byte, &declaration)?;
                return Ok(None);
            }
            Event::Eof if self.depth > 0 || !self.has_root => return Err(self.cut()),
            Event::Eof => Node::Eof,
            Event::PI(instruction) => {
                let target = instruction.target();
                if !is_name(target) || target.eq_ignore_ascii_case("xml") {
                    self.note(byte, format!("{:?} is no name of a processing instruction", shown(target)));
                }
                return Ok(None);
            }
            Event::Empty(_) | Event::Comment(_) => return Ok(None),
        };
        Ok(Some(node))
    }

    fn start(&mut self, byte: u64, space: String, start: &BytesStart<'_>, is_wanted: bool) -> Start {
        if !is_name(start.name().into_inner()) {
            self.note(byte, format!("{:?} is no name of an element", shown(start.name().into_inner())));
        }
        if !is_spaced(start.attributes_raw()) {
            self.note(byte, "there is no space between two attributes in it");
        }
        let mut names: Vec<&str> = Vec::new();
        let mut attributes = Vec::new();
        // The parser's own search for doubles takes quadratic time.
        for attribute in start.attributes().with_checks(false) {
            let attribute = match attribute {
                Ok(attribute) if names.len() < MOST_ATTRIBUTES => attribute,
                Ok(_) => {
                    self.note(byte, format!("an element in it has more than {MOST_ATTRIBUTES} attributes"));
                    break;
                }
                Err(error) => {
                    self.note(byte, format!("an attribute in it is malformed: {error}"));
                    break;
                }
            };
            let name = attribute.key.into_inner();
            names.push(name);
            if !is_name(name) {
                self.note(byte, format!("{:?} is no name of an attribute", shown(name)));
            }
            if attribute.value.contains('<') {
                self.note(byte, format!("the attribute {:?} has a \"<\"", shown(name)));
            }
            let prefix = attribute.key.prefix().filter(|prefix| !prefix.is_xmlns());
            if let Some(prefix) = prefix
                && matches!(self.inner.resolver().resolve_prefix(Some(prefix), false), ResolveResult::Unknown(_))
            {
                self.note(byte, format!("the prefix {:?} has no namespace", shown(prefix.into_inner())));
            }
            let value = attribute.normalized_value(XmlVersion::Implicit1_0).unwrap_or_else(|error| {
                self.note(byte, format!("the attribute {:?} is malformed: {error}", shown(name)));
                String::new().into()
            });
            if value.chars().any(is_forbidden) {
                self.note(byte, format!("the attribute {:?} has a character that XML forbids", shown(name)));
            }
            let is_declaration = name == "xmlns" || name.starts_with("xmlns:");
            if is_wanted || is_declaration {
                attributes.push((name.to_owned(), value.into_owned()));
            }
        }
        names.sort_unstable();
        if let Some([name, _]) = names.windows(2).find(|pair| pair.first() == pair.last()) {
            self.note(byte, format!("an element in it has the attribute {:?} twice", shown(name)));
        }
        let local = if is_wanted { start.local_name().into_inner().to_owned() } else { String::new() };
        Start { space, local, attributes, byte }
    }

    fn reference(&mut self, byte: u64, reference: &BytesRef<'_>) -> String {
        match reference.resolve_char_ref() {
            Ok(Some(character)) if is_forbidden(character) => {
                self.note(
                    byte,
                    format!("it has a reference to the character U+{:04X}, which XML forbids", character as u32),
                );
            }
            Ok(Some(character)) => return character.into(),
            Ok(None) => match escape::resolve_predefined_entity(reference) {
                Some(text) => return text.to_owned(),
                None => self.note(byte, format!("the entity {:?} is not known, and none are read", shown(reference))),
            },
            Err(error) => self.note(byte, format!("a reference is malformed: {error}")),
        }
        String::new()
    }

    fn declaration(&mut self, byte: u64, declaration: &BytesDecl<'_>) -> Result<(), XmlError> {
        // A byte order mark may be before it.
        if self.depth > 0 {
            self.note(byte, "there is an XML declaration within an element");
            return Ok(());
        }
        if !matches!(byte, 0 | 3) {
            return Err(self.malformed("there is something before the XML declaration"));
        }
        let encoding = match declaration.encoding().transpose() {
            Ok(encoding) => encoding,
            Err(error) => return Err(self.malformed(format!("the XML declaration is malformed: {error}"))),
        };
        let is_read =
            |encoding: &str| ["utf-8", "utf8", "us-ascii"].iter().any(|known| encoding.eq_ignore_ascii_case(known));
        match encoding {
            Some(encoding) if !is_read(&encoding) && !self.bounds.ignores_encoding => {
                let encoding = shown(&encoding);
                let fault = Fault { byte, reason: format!("it declares the encoding {encoding:?}, and UTF-8 is read") };
                Err(XmlError::Malformed { fault, is_cut: false })
            }
            _ => Ok(()),
        }
    }

    fn failed(&mut self, byte: u64, error: quick_xml::Error) -> XmlError {
        let byte = byte.max(self.inner.error_position());
        let (reason, is_cut) = match error {
            quick_xml::Error::Io(error) => match error.get_ref().and_then(|inner| inner.downcast_ref::<Beyond>()) {
                Some(beyond) => (beyond.to_string(), false),
                None => return XmlError::Io(std::io::Error::new(error.kind(), error)),
            },
            quick_xml::Error::Syntax(error) => (format!("the XML is malformed: {error}"), true),
            error => (format!("the XML is malformed: {}", shown(&error.to_string())), false),
        };
        XmlError::Malformed { fault: Fault { byte, reason }, is_cut }
    }
}

/// Whether a character of a reference is none of XML 1.0 (section 2.2, production 2).
fn is_forbidden(character: char) -> bool {
    matches!(character, '\0'..='\u{8}' | '\u{b}' | '\u{c}' | '\u{e}'..='\u{1f}' | '\u{fffe}' | '\u{ffff}')
}

/// Whether the attributes of a start tag have white space between them.
fn is_spaced(attributes: &str) -> bool {
    let mut quote = None;
    let mut is_closed = false;
    for byte in attributes.bytes() {
        let is_space = matches!(byte, b' ' | b'\t' | b'\r' | b'\n');
        if is_closed && !is_space {
            return false;
        }
        is_closed = false;
        match quote {
            None if matches!(byte, b'"' | b'\'') => quote = Some(byte),
            Some(open) if open == byte => (quote, is_closed) = (None, true),
            _ => {}
        }
    }
    true
}

/// Whether a text is a name, as far as ASCII goes (XML 1.0, section 2.3).
fn is_name(text: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_alphabetic() || byte == b'_' || byte >= 0x80;
    let mut parts = text.split(':');
    let is_part = |part: &str| {
        let mut bytes = part.bytes();
        bytes.next().is_some_and(is_letter)
            && bytes.all(|byte| is_letter(byte) || byte.is_ascii_digit() || matches!(byte, b'-' | b'.'))
    };
    parts.next().is_some_and(is_part) && parts.next().is_none_or(is_part) && parts.next().is_none()
}
