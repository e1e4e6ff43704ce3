//! DataCite metadata in XML, kernels 2 to 4: what of it Dublin Core and the resource type can say.

use quick_xml::events::BytesStart;

use crate::error::{Format, MetadataError};
use crate::field::{Element, Field};
use crate::limits::Limits;
use crate::reading::{Collector, Reading};
use crate::xml::{Node, Space, Xml};

const NAMESPACE: &str = "http://datacite.org/schema/kernel-";

/// What is taken: the path below `resource`, and the element of Dublin Core.
const PATHS: [(&str, Element); 18] = [
    ("identifier", Element::Identifier),
    ("creators/creator/creatorName", Element::Creator),
    ("titles/title", Element::Title),
    ("publisher", Element::Publisher),
    ("publicationYear", Element::Date),
    ("subjects/subject", Element::Subject),
    ("contributors/contributor/contributorName", Element::Contributor),
    ("dates/date", Element::Date),
    ("language", Element::Language),
    ("alternateIdentifiers/alternateIdentifier", Element::Identifier),
    ("relatedIdentifiers/relatedIdentifier", Element::Relation),
    ("sizes/size", Element::Format),
    ("formats/format", Element::Format),
    ("rightsList/rights", Element::Rights),
    ("rights", Element::Rights),
    ("descriptions/description", Element::Description),
    ("geoLocations/geoLocation/geoLocationPlace", Element::Coverage),
    ("geoLocations/geoLocationPlace", Element::Coverage),
];

/// Reads a DataCite document: its `resource` element, which may stand within another one. The year of publication is the first date,
/// whatever stands before it; the resource type becomes [`Field::ResourceType`], its general part also a `type`. Elements that have no
/// counterpart, such as funding references, are ignored with a note.
///
/// # Errors
/// Every [`MetadataError`] about a file; a document without a `resource` element is a [`MetadataError::Syntax`].
pub fn read_datacite(bytes: &[u8], limits: &Limits) -> Result<Reading, MetadataError> {
    let mut xml = Xml::new(Format::DataCite, bytes, limits)?;
    let mut found = Found { collector: Collector::new(Format::DataCite, limits), dates: Vec::new(), year: None };
    // The elements that are open below `resource`; nothing outside of it.
    let mut open: Option<Vec<Open>> = None;
    let mut has_resource = false;
    loop {
        match xml.next()? {
            Node::Start { space, start } => match &mut open {
                None if is_resource(&space, &start) => (open, has_resource) = (Some(Vec::new()), true),
                None => {}
                Some(open) => {
                    let opened = Open::new(&mut xml, &start, open.last())?;
                    open.push(opened);
                }
            },
            Node::Text(text) => {
                if let Some(taker) = open.as_mut().and_then(|open| open.last_mut()) {
                    taker.text.push_str(&text);
                }
            }
            Node::End => {
                let Some(within) = &mut open else { continue };
                match within.pop() {
                    Some(ended) => found.take(&ended, within.last_mut())?,
                    None => open = None,
                }
            }
            Node::Eof if has_resource => return found.finish(),
            Node::Eof => return Err(xml.syntax("there is no element \"resource\" of DataCite in it")),
        }
    }
}

fn is_resource(space: &Space, start: &BytesStart<'_>) -> bool {
    let is_datacite = match space {
        Space::Uri(uri) => uri.starts_with(NAMESPACE),
        Space::None => true,
        Space::Undeclared(_) => false,
    };
    is_datacite && start.local_name().into_inner() == "resource"
}

/// An element that has not ended.
struct Open {
    line: u64,
    /// The names from below `resource` to this element.
    path: String,
    text: String,
    /// The general type of a resource type, and the URI of rights.
    attribute: Option<String>,
}

impl Open {
    fn new(xml: &mut Xml<'_>, start: &BytesStart<'_>, parent: Option<&Self>) -> Result<Self, MetadataError> {
        let name = start.local_name().into_inner();
        let path = parent.map_or_else(|| name.to_owned(), |parent| format!("{}/{name}", parent.path));
        let attribute = match name {
            "resourceType" => xml.attribute(start, "resourceTypeGeneral")?,
            "rights" => xml.attribute(start, "rightsURI")?,
            _ => None,
        };
        Ok(Self { line: xml.line(), path, text: String::new(), attribute })
    }
}

/// What a document has.
struct Found<'l> {
    collector: Collector<'l>,
    dates: Vec<(u64, String)>,
    year: Option<(u64, String)>,
}

impl Found<'_> {
    fn take(&mut self, ended: &Open, parent: Option<&mut Open>) -> Result<(), MetadataError> {
        let Open { line, path, text, attribute } = ended;
        if path == "resourceType" {
            return self.resource_type(*line, attribute.as_deref().unwrap_or_default().trim(), text.trim());
        }
        let Some((_, element)) = PATHS.iter().find(|(known, _)| known == path) else {
            // A line break within a description, or markup within a title: the text belongs to what it stands in.
            if let Some(parent) = parent.filter(|parent| PATHS.iter().any(|(known, _)| *known == parent.path)) {
                parent.text.push_str(if path.ends_with("/br") { "\n" } else { text });
            } else if !text.trim().is_empty() {
                self.collector.ignore(*line, path);
            }
            return Ok(());
        };
        match (*element, path.as_str()) {
            (Element::Date, "publicationYear") if self.year.is_none() => self.year = Some((*line, text.clone())),
            (Element::Date, _) => self.dates.push((*line, text.clone())),
            (Element::Rights, _) if text.trim().is_empty() => {
                let uri = attribute.as_deref().unwrap_or_default();
                self.collector.add(*line, Field::Element(Element::Rights), uri)?;
            }
            (element, _) => self.collector.add(*line, Field::Element(element), text)?,
        }
        Ok(())
    }

    fn resource_type(&mut self, line: u64, general: &str, text: &str) -> Result<(), MetadataError> {
        let value = match (general, text) {
            ("", text) => text.to_owned(),
            (general, "") => general.to_owned(),
            (general, text) => format!("{general}/{text}"),
        };
        self.collector.add(line, Field::ResourceType, &value)?;
        self.collector.add(line, Field::Element(Element::Type), if general.is_empty() { text } else { general })
    }

    fn finish(mut self) -> Result<Reading, MetadataError> {
        for (line, date) in self.year.iter().chain(&self.dates) {
            self.collector.add(*line, Field::Element(Element::Date), date)?;
        }
        Ok(self.collector.finish())
    }
}
