//! Dublin Core in XML: `mrt-dc.xml`, `oai_dc`, and every other document with elements of the DC namespaces.

use std::fmt::Write as _;

use quick_xml::escape::escape;

use crate::error::{Format, MetadataError};
use crate::field::{Element, Field};
use crate::limits::Limits;
use crate::reading::{Collector, Reading};
use crate::record::Record;
use crate::xml::{Node, Space, Xml};

const ELEMENTS: &str = "http://purl.org/dc/elements/1.1/";
const TERMS: &str = "http://purl.org/dc/terms/";

/// Reads elements of Dublin Core at any depth of an XML document, whatever its root is. Elements are those of the namespace
/// `http://purl.org/dc/elements/1.1/`, and the properties of `http://purl.org/dc/terms/` that refine one of the 15; the prefixes `dc`
/// and `dcterms` stand for them where they are not declared. Elements of other namespaces that have text are ignored with a note;
/// within an element of Dublin Core their text belongs to its value.
///
/// # Errors
/// Every [`MetadataError`] about a file.
///
/// ```
/// use strongroom_metadata::{Element, Field, Limits, read_dublin_core};
///
/// # fn main() -> Result<(), strongroom_metadata::MetadataError> {
/// let file = br#"<DublinCore xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>Doors &amp; windows</dc:title></DublinCore>"#;
/// let record = read_dublin_core(file, &Limits::default())?.record;
/// assert_eq!(record.values(Field::Element(Element::Title)), ["Doors & windows"]);
/// # Ok(())
/// # }
/// ```
pub fn read_dublin_core(bytes: &[u8], limits: &Limits) -> Result<Reading, MetadataError> {
    let mut xml = Xml::new(Format::DublinCore, bytes, limits)?;
    let mut collector = Collector::new(Format::DublinCore, limits);
    let mut open: Vec<Open> = Vec::new();
    loop {
        match xml.next()? {
            Node::Start { space, start } => {
                let name = start.local_name().into_inner();
                let element = element_of(&space, name);
                open.push(Open { element, line: xml.line(), name: name.to_owned(), text: String::new() });
            }
            Node::Text(text) => {
                let taker = open.iter().rposition(|open| open.element.is_some()).or(open.len().checked_sub(1));
                if let Some(taker) = taker.and_then(|at| open.get_mut(at)) {
                    taker.text.push_str(&text);
                }
            }
            Node::End => {
                let Some(ended) = open.pop() else { continue };
                match ended.element {
                    Some(element) => collector.add(ended.line, Field::Element(element), &ended.text)?,
                    None if !ended.text.trim().is_empty() => collector.ignore(ended.line, &ended.name),
                    None => {}
                }
            }
            Node::Eof => return Ok(collector.finish()),
        }
    }
}

/// An element that has not ended.
struct Open {
    element: Option<Element>,
    line: u64,
    name: String,
    text: String,
}

fn element_of(space: &Space, name: &str) -> Option<Element> {
    let (is_element, is_term) = match space {
        Space::Uri(uri) => (uri == ELEMENTS, uri == TERMS),
        Space::Undeclared(prefix) => (prefix == "dc", prefix == "dcterms"),
        Space::None => (false, false),
    };
    if is_element {
        Element::of_name(name)
    } else if is_term {
        Element::of_term(name)
    } else {
        None
    }
}

/// Writes the elements of Dublin Core as a document that [`read_dublin_core`] reads as [`Record::dublin_core`].
pub fn write_dublin_core(record: &Record) -> String {
    let mut file = format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<DublinCore xmlns:dc=\"{ELEMENTS}\">\n");
    for element in Element::ALL {
        let name = element.as_str();
        for value in record.values(Field::Element(element)) {
            let _ = writeln!(file, "  <dc:{name}>{}</dc:{name}>", escape(value.as_str()));
        }
    }
    file.push_str("</DublinCore>\n");
    file
}
