//! The streaming writer: records in, a PREMIS 3.0 document out, elements in the order of the schema's sequences.

use std::io::{BufWriter, Write};

use quick_xml::Writer;
use quick_xml::events::{BytesDecl, BytesEnd, BytesStart, BytesText, Event as Markup};

use crate::text::markup;
use crate::vocabulary::{Term, algorithm};
use crate::{
    Agent, Event, File, Format, Identifier, IntellectualEntity, Object, PremisError, Relationship, Representation,
    Storage,
};

const NAMESPACE: &str = "http://www.loc.gov/premis/v3";
const SCHEMA_INSTANCE: &str = "http://www.w3.org/2001/XMLSchema-instance";

/// The parts of a document, in the order of the schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    Start,
    Object,
    Event,
    Agent,
}

impl Part {
    fn name(self) -> &'static str {
        match self {
            Self::Start => "document",
            Self::Object => "object",
            Self::Event => "event",
            Self::Agent => "agent",
        }
    }
}

/// Writes one PREMIS document: first all objects (at least one), then all events, then all agents, then [`finish`].
/// It buffers its output and keeps nothing of what it has written.
///
/// [`finish`]: PremisWriter::finish
pub struct PremisWriter<W: Write> {
    xml: Writer<BufWriter<W>>,
    part: Part,
}

impl<W: Write> PremisWriter<W> {
    /// Opens the document.
    pub fn new(output: W) -> Result<Self, PremisError> {
        let mut xml = Writer::new_with_indent(BufWriter::new(output), b' ', 1);
        xml.write_event(Markup::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))?;
        let mut root = BytesStart::new("premis");
        root.push_attribute(("xmlns", NAMESPACE));
        root.push_attribute(("xmlns:xsi", SCHEMA_INSTANCE));
        root.push_attribute(("version", "3.0"));
        xml.write_event(Markup::Start(root))?;
        Ok(Self { xml, part: Part::Start })
    }

    /// Writes an object.
    pub fn object(&mut self, object: &Object) -> Result<(), PremisError> {
        self.enter(Part::Object)?;
        let category = match object {
            Object::IntellectualEntity(_) => "intellectualEntity",
            Object::Representation(_) => "representation",
            Object::File(_) => "file",
        };
        let mut start = BytesStart::new("object");
        start.push_attribute(("xsi:type", category));
        self.xml.write_event(Markup::Start(start))?;
        match object {
            Object::IntellectualEntity(entity) => self.intellectual_entity(entity)?,
            Object::Representation(representation) => self.representation(representation)?,
            Object::File(file) => self.file(file)?,
        }
        self.close("object")
    }

    /// Writes an event.
    pub fn event(&mut self, event: &Event) -> Result<(), PremisError> {
        self.enter(Part::Event)?;
        self.open("event")?;
        self.identifier("event", &event.identifier)?;
        self.term("eventType", event.event_type.term())?;
        self.leaf("eventDateTime", &event.time.to_string())?;
        if let Some(detail) = &event.detail {
            self.open("eventDetailInformation")?;
            self.leaf("eventDetail", detail)?;
            self.close("eventDetailInformation")?;
        }
        if event.outcome.is_some() || !event.outcome_notes.is_empty() {
            self.open("eventOutcomeInformation")?;
            if let Some(outcome) = &event.outcome {
                self.term("eventOutcome", outcome.term())?;
            }
            for note in &event.outcome_notes {
                self.open("eventOutcomeDetail")?;
                self.leaf("eventOutcomeDetailNote", note)?;
                self.close("eventOutcomeDetail")?;
            }
            self.close("eventOutcomeInformation")?;
        }
        for agent in &event.agents {
            self.open("linkingAgentIdentifier")?;
            self.identifier_pair("linkingAgent", &agent.identifier)?;
            if let Some(role) = agent.role {
                self.term("linkingAgentRole", role.term())?;
            }
            self.close("linkingAgentIdentifier")?;
        }
        for object in &event.objects {
            self.open("linkingObjectIdentifier")?;
            self.identifier_pair("linkingObject", &object.identifier)?;
            if let Some(role) = &object.role {
                self.leaf("linkingObjectRole", role)?;
            }
            self.close("linkingObjectIdentifier")?;
        }
        self.close("event")
    }

    /// Writes an agent.
    pub fn agent(&mut self, agent: &Agent) -> Result<(), PremisError> {
        self.enter(Part::Agent)?;
        self.open("agent")?;
        self.identifiers("agent", &agent.identifier, &agent.other_identifiers)?;
        self.leaf("agentName", &agent.name)?;
        self.term("agentType", agent.kind.term())?;
        if let Some(version) = &agent.version {
            self.leaf("agentVersion", version)?;
        }
        for note in &agent.notes {
            self.leaf("agentNote", note)?;
        }
        self.close("agent")
    }

    /// Closes the document and gives the output back, flushed.
    pub fn finish(mut self) -> Result<W, PremisError> {
        if self.part == Part::Start {
            return Err(PremisError::NoObject);
        }
        self.close("premis")?;
        let mut output = self.xml.into_inner();
        output.write_all(b"\n")?;
        let mut inner = output.into_inner().map_err(std::io::IntoInnerError::into_error)?;
        inner.flush()?;
        Ok(inner)
    }

    fn enter(&mut self, part: Part) -> Result<(), PremisError> {
        if part < self.part {
            return Err(PremisError::Order { late: part.name(), earlier: self.part.name() });
        }
        if self.part == Part::Start && part != Part::Object {
            return Err(PremisError::NoObject);
        }
        self.part = part;
        Ok(())
    }

    fn intellectual_entity(&mut self, entity: &IntellectualEntity) -> Result<(), PremisError> {
        self.identifiers("object", &entity.identifier, &entity.other_identifiers)?;
        self.properties(&entity.properties)?;
        self.original_name(entity.original_name.as_deref())?;
        self.relationships(&entity.relationships)?;
        self.linked_events(&entity.events)
    }

    fn representation(&mut self, representation: &Representation) -> Result<(), PremisError> {
        self.identifiers("object", &representation.identifier, &representation.other_identifiers)?;
        self.properties(&representation.properties)?;
        self.original_name(representation.original_name.as_deref())?;
        self.storage(&representation.storage)?;
        self.relationships(&representation.relationships)?;
        self.linked_events(&representation.events)
    }

    fn file(&mut self, file: &File) -> Result<(), PremisError> {
        self.identifiers("object", &file.identifier, &file.other_identifiers)?;
        self.open("objectCharacteristics")?;
        self.leaf("compositionLevel", "0")?;
        for fixity in &file.fixity {
            self.open("fixity")?;
            self.term("messageDigestAlgorithm", algorithm(fixity.algorithm))?;
            self.leaf("messageDigest", &fixity.digest.to_hex())?;
            if let Some(originator) = &fixity.originator {
                self.leaf("messageDigestOriginator", originator)?;
            }
            self.close("fixity")?;
        }
        // The schema's type is xs:long.
        if let Some(size) = file.size.and_then(|size| i64::try_from(size).ok()) {
            self.leaf("size", &size.to_string())?;
        }
        self.format(&file.format)?;
        for format in &file.other_formats {
            self.format(format)?;
        }
        self.close("objectCharacteristics")?;
        self.original_name(file.original_name.as_deref())?;
        self.storage(&file.storage)?;
        self.relationships(&file.relationships)?;
        self.linked_events(&file.events)
    }

    fn format(&mut self, format: &Format) -> Result<(), PremisError> {
        self.open("format")?;
        self.open("formatDesignation")?;
        self.leaf("formatName", &format.name)?;
        if let Some(version) = &format.version {
            self.leaf("formatVersion", version)?;
        }
        self.close("formatDesignation")?;
        if let Some(puid) = &format.puid {
            self.open("formatRegistry")?;
            self.leaf("formatRegistryName", "PRONOM")?;
            self.leaf("formatRegistryKey", puid)?;
            self.close("formatRegistry")?;
        }
        for note in &format.notes {
            self.leaf("formatNote", note)?;
        }
        self.close("format")
    }

    fn properties(&mut self, properties: &[(String, String)]) -> Result<(), PremisError> {
        for (name, value) in properties {
            self.open("significantProperties")?;
            self.leaf("significantPropertiesType", name)?;
            self.leaf("significantPropertiesValue", value)?;
            self.close("significantProperties")?;
        }
        Ok(())
    }

    fn original_name(&mut self, name: Option<&str>) -> Result<(), PremisError> {
        name.map_or(Ok(()), |name| self.leaf("originalName", name))
    }

    fn storage(&mut self, places: &[Storage]) -> Result<(), PremisError> {
        for place in places {
            self.open("storage")?;
            self.open("contentLocation")?;
            self.leaf("contentLocationType", &place.location_kind)?;
            self.leaf("contentLocationValue", &place.location)?;
            self.close("contentLocation")?;
            if let Some(medium) = &place.medium {
                self.leaf("storageMedium", medium)?;
            }
            self.close("storage")?;
        }
        Ok(())
    }

    fn relationships(&mut self, relationships: &[Relationship]) -> Result<(), PremisError> {
        for relationship in relationships {
            let (kind, subtype) = relationship.kind.terms();
            self.open("relationship")?;
            self.term("relationshipType", kind)?;
            self.term("relationshipSubType", subtype)?;
            self.identifier("relatedObject", &relationship.object)?;
            for object in &relationship.other_objects {
                self.identifier("relatedObject", object)?;
            }
            self.close("relationship")?;
        }
        Ok(())
    }

    fn linked_events(&mut self, events: &[Identifier]) -> Result<(), PremisError> {
        events.iter().try_for_each(|event| self.identifier("linkingEvent", event))
    }

    fn identifiers(
        &mut self,
        element: &str,
        identifier: &Identifier,
        others: &[Identifier],
    ) -> Result<(), PremisError> {
        self.identifier(element, identifier)?;
        others.iter().try_for_each(|other| self.identifier(element, other))
    }

    fn identifier(&mut self, element: &str, identifier: &Identifier) -> Result<(), PremisError> {
        let name = format!("{element}Identifier");
        self.open(&name)?;
        self.identifier_pair(element, identifier)?;
        self.close(&name)
    }

    fn identifier_pair(&mut self, element: &str, identifier: &Identifier) -> Result<(), PremisError> {
        self.leaf(&format!("{element}IdentifierType"), &identifier.scheme)?;
        self.leaf(&format!("{element}IdentifierValue"), &identifier.value)
    }

    fn open(&mut self, element: &str) -> Result<(), PremisError> {
        Ok(self.xml.write_event(Markup::Start(BytesStart::new(element)))?)
    }

    fn close(&mut self, element: &str) -> Result<(), PremisError> {
        Ok(self.xml.write_event(Markup::End(BytesEnd::new(element)))?)
    }

    fn leaf(&mut self, element: &str, text: &str) -> Result<(), PremisError> {
        self.element(BytesStart::new(element), element, text)
    }

    fn term(&mut self, element: &str, term: Term<'_>) -> Result<(), PremisError> {
        let mut start = BytesStart::new(element);
        if let (Some(scheme), Some(scheme_uri), Some(uri)) = (term.scheme(), term.scheme_uri(), term.uri()) {
            start.push_attribute(("authority", scheme));
            start.push_attribute(("authorityURI", scheme_uri.as_str()));
            start.push_attribute(("valueURI", uri.as_str()));
        }
        self.element(start, element, term.label)
    }

    fn element(&mut self, start: BytesStart<'_>, name: &str, text: &str) -> Result<(), PremisError> {
        self.xml.write_event(Markup::Start(start))?;
        self.xml.write_event(Markup::Text(BytesText::from_escaped(markup(text))))?;
        Ok(self.xml.write_event(Markup::End(BytesEnd::new(name)))?)
    }
}
