//! What the crate promises: documents that the PREMIS 3.0 schema accepts, and that carry every text unharmed.

use std::path::{Path, PathBuf};
use std::process::Command;

use proptest::prelude::*;
use quick_xml::Reader;
use quick_xml::events::Event as Markup;
use strongroom_digest::{Algorithm, Digest};
use strongroom_premis::{
    Agent, AgentKind, AgentRole, Event, EventType, File, Fixity, Format, Identifier, IntellectualEntity, LinkedAgent,
    LinkedObject, Object, Outcome, PremisError, PremisWriter, Relationship, RelationshipKind, Representation, Storage,
    decode,
};
use uuid::Uuid;

const VALIDATE: &str = "
import sys
from lxml import etree
schema = etree.XMLSchema(etree.parse(sys.argv[1]))
for path in sys.argv[2:]:
    schema.assertValid(etree.parse(path))
print('valid')
";

fn id(number: u128) -> Identifier {
    Identifier::from(Uuid::from_u128(number))
}

fn entity() -> IntellectualEntity {
    let mut entity = IntellectualEntity::new(id(1));
    entity.other_identifiers =
        vec![Identifier::new("local", "example.edu/photographs"), Identifier::new("ARK", "ark:/99999/fk4x")];
    entity.properties = vec![("title".into(), "Photographs & <plates>".into())];
    entity.original_name = Some("photographs.tar".into());
    entity.relationships = vec![Relationship::new(RelationshipKind::IsRepresentedBy, id(2))];
    entity.events = vec![id(100)];
    entity
}

fn representation() -> Representation {
    let mut representation = Representation::new(id(2));
    representation.properties = vec![("version".into(), "v1".into())];
    representation.original_name = Some("photographs".into());
    representation.storage = vec![Storage {
        location_kind: "key".into(),
        location: "example.edu/abc".into(),
        medium: Some("primary".into()),
    }];
    let mut represents = Relationship::new(RelationshipKind::Represents, id(1));
    represents.other_objects = vec![id(9)];
    representation.relationships = vec![represents];
    representation.events = vec![id(100)];
    representation
}

fn file(name: &str) -> File {
    let mut file = File::new(id(3), Format::pronom("JPEG File Interchange Format", Some("1.01".into()), "fmt/43"));
    file.format.notes = vec!["byte match at 0, 11".into()];
    file.other_formats = vec![Format::named("image/jpeg"), Format::unknown()];
    file.fixity = Algorithm::ALL
        .into_iter()
        .map(|algorithm| Fixity {
            algorithm,
            digest: Digest::from_bytes(&vec![7; algorithm.length()]).expect("a digest"),
            originator: Some("Strongroom 0.1.0".into()),
        })
        .collect();
    file.size = Some(1_048_576);
    file.original_name = Some(name.into());
    file.storage = vec![
        Storage { location_kind: "key".into(), location: "v1/content/ab/abcd".into(), medium: Some("primary".into()) },
        Storage { location_kind: "key".into(), location: "v1/content/ab/abcd".into(), medium: None },
    ];
    file.relationships = [
        RelationshipKind::IsPartOf,
        RelationshipKind::HasPart,
        RelationshipKind::HasSource,
        RelationshipKind::IsSourceOf,
    ]
    .map(|kind| Relationship::new(kind, id(2)))
    .to_vec();
    file.events = vec![id(100), id(101)];
    file
}

fn event(event_type: EventType, outcome: Option<Outcome>) -> Event {
    let mut event = Event::new(id(100), event_type, "2026-03-01T12:00:00.5Z".parse().expect("a time"));
    event.detail = Some("read & hashed".into());
    event.outcome = outcome;
    event.outcome_notes = vec!["sha256:07".into(), "second note".into()];
    event.agents = [None, Some(AgentRole::Authorizer), Some(AgentRole::ExecutingProgram), Some(AgentRole::Implementer)]
        .map(|role| LinkedAgent { identifier: Identifier::new("local", "strongroom"), role })
        .to_vec();
    event.objects = vec![
        LinkedObject { identifier: id(3), role: Some("source".into()) },
        LinkedObject { identifier: id(1), role: None },
    ];
    event
}

/// A document in which every element that can be written is.
fn full_document(name: &str) -> Vec<u8> {
    let mut premis = PremisWriter::new(Vec::new()).expect("open");
    premis.object(&entity().into()).expect("entity");
    premis.object(&representation().into()).expect("representation");
    premis.object(&file(name).into()).expect("file");
    premis.object(&File::new(id(4), Format::unknown()).into()).expect("bare file");
    for event_type in EventType::NAMED {
        premis.event(&event(event_type.clone(), Some(Outcome::Success))).expect("event");
    }
    premis.event(&event(EventType::from("transcription"), Some(Outcome::Failure))).expect("event");
    premis.event(&event(EventType::Ingestion, Some(Outcome::Warning))).expect("event");
    premis.event(&event(EventType::Ingestion, Some(Outcome::Other("attested".into())))).expect("event");
    premis.event(&event(EventType::Ingestion, None)).expect("event");
    premis
        .event(&Event::new(id(102), EventType::Creation, "2026-03-01T12:00:00Z".parse().expect("a time")))
        .expect("bare event");
    for kind in [AgentKind::Organization, AgentKind::Person, AgentKind::Software] {
        let mut agent = Agent::new(Identifier::new("local", "strongroom"), kind, "Strongroom");
        agent.version = Some("0.1.0".into());
        agent.other_identifiers = vec![Identifier::new("URI", "https://example.edu/")];
        agent.notes = vec!["signature file V122".into()];
        premis.agent(&agent).expect("agent");
    }
    premis.finish().expect("finish")
}

/// The text of the first element of this name, unescaped as a parser does it.
fn text_of(document: &[u8], element: &str) -> Option<String> {
    let mut reader = Reader::from_reader(document);
    let mut text: Option<String> = None;
    loop {
        match reader.read_event().expect("well-formed") {
            Markup::Start(start) if start.name().as_ref() == element => text = Some(String::new()),
            Markup::Text(part) => {
                if let Some(text) = &mut text {
                    text.push_str(&part.xml10_content());
                }
            }
            Markup::GeneralRef(reference) => {
                if let Some(text) = &mut text {
                    match reference.resolve_char_ref().expect("a character") {
                        Some(character) => text.push(character),
                        None => text.push_str(match reference.as_ref() {
                            "amp" => "&",
                            "lt" => "<",
                            "gt" => ">",
                            other => panic!("unexpected entity {other:?}"),
                        }),
                    }
                }
            }
            Markup::End(end) if end.name().as_ref() == element => return text,
            Markup::Eof => return None,
            _ => {}
        }
    }
}

fn schema() -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/fixtures/premis/premis-v3.xsd");
    path.exists().then_some(path)
}

#[test]
fn full_and_hostile_documents_are_valid_by_the_schema() {
    let Some(python) = std::env::var_os("STRONGROOM_PEERS_PYTHON") else {
        println!(
            "SKIPPED: premis documents against the schema: no python with lxml (STRONGROOM_PEERS_PYTHON is not set)"
        );
        return;
    };
    let Some(schema) = schema() else {
        println!("SKIPPED: premis documents against the schema: the fixture premis-v3.xsd is absent");
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let hostile: String =
        (0..=0x20).filter_map(char::from_u32).chain("\u{fffe}\u{ffff}]]>&<\"'\\u{1}é".chars()).collect();
    let mut arguments = vec![schema];
    for (number, name) in ["data/plate 1.jpg", hostile.as_str(), ""].iter().enumerate() {
        let path = folder.path().join(format!("{number}.xml"));
        std::fs::write(&path, full_document(name)).expect("write");
        arguments.push(path);
    }
    let output = Command::new(python).arg("-c").arg(VALIDATE).args(&arguments).output().expect("python runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn every_control_character_in_a_name_can_be_read_back() {
    let name: String = (0..=0x9f).filter_map(char::from_u32).collect();
    let document = full_document(&name);
    // The first originalName is the entity's own.
    let files = document.windows(16).position(|part| part == b"xsi:type=\"file\">").expect("a file");
    let text = text_of(&document[files - 8..], "originalName").expect("a name");
    assert_eq!(decode(&text), name);
}

#[test]
fn events_before_objects_and_after_agents_are_refused() {
    let mut premis = PremisWriter::new(Vec::new()).expect("open");
    assert!(matches!(premis.event(&event(EventType::Ingestion, None)), Err(PremisError::NoObject)));
    premis.object(&Object::from(entity())).expect("object");
    let agent = Agent::new(id(5), AgentKind::Software, "Strongroom");
    premis.agent(&agent).expect("agent");
    let refused = premis.event(&event(EventType::Ingestion, None));
    assert!(matches!(refused, Err(PremisError::Order { late: "event", earlier: "agent" })));
}

#[test]
fn a_document_without_objects_is_refused() {
    let premis = PremisWriter::new(Vec::new()).expect("open");
    assert!(matches!(premis.finish(), Err(PremisError::NoObject)));
}

#[test]
fn a_failing_output_is_an_error() {
    struct Full;
    impl std::io::Write for Full {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::ErrorKind::StorageFull.into())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut premis = PremisWriter::new(Full).expect("buffered");
    premis.object(&entity().into()).expect("buffered");
    assert!(matches!(premis.finish(), Err(PremisError::Output(_))));
}

proptest! {
    #[test]
    fn any_name_comes_back_from_a_well_formed_document(name in any::<String>()) {
        let mut file = File::new(id(1), Format::unknown());
        file.original_name = Some(name.clone());
        let mut premis = PremisWriter::new(Vec::new()).expect("open");
        premis.object(&file.into()).expect("file");
        let document = premis.finish().expect("finish");
        let text = text_of(&document, "originalName").unwrap_or_default();
        prop_assert_eq!(decode(&text), name);
    }
}
