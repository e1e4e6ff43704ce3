//! Provenance as JSON-LD in the terms of PROV-O (<https://www.w3.org/TR/prov-o/>): what an activity has made, what was done to an
//! entity, or what was made of a record. The document is written node by node, so that memory holds a page of it whatever its length. It names every term in full and
//! needs nothing of the network.
//!
//! An activity with several runs is one node. Its results in a run are entities that it generated. Where an entity was there already, it
//! is not generated a second time, which PROV does not allow: the activity has influenced it. Nor is an entity invalidated twice: where it
//! is valid again, what it was until then is an entity of its own, which specializes it and is invalid. A version of an object is derived from the work item that
//! has published it. What is not an absolute IRI, such as the
//! name of a file, is named by the identifier of the entity, and has its name as the label.

mod of_record;

use std::fmt::Write as _;
use std::io::Write;

use serde::Serialize;
use serde_json::{Map, Value, json};
use strongroom_registry::activities::{self, Activity};
use strongroom_registry::provenance::{self, By, EndOfValidity, Entity, Produced};
use strongroom_registry::{ActivityId, InstitutionId, ItemId, ProvenanceKind, RegistryError, Scope, Time, versions};

use crate::{EngineError, Home};

pub(crate) use self::of_record::write_record;

/// Results and acts that are read at once.
const PAGE: usize = 500;
/// The vocabularies.
const PROV: &str = "http://www.w3.org/ns/prov#";
const RDFS: &str = "http://www.w3.org/2000/01/rdf-schema#";
const DATE_TIME: &str = "http://www.w3.org/2001/XMLSchema#dateTime";
const CLASSES: [&str; 4] = ["Activity", "Agent", "Entity", "SoftwareAgent"];
const LABEL: &str = "label";
/// Properties whose values are nodes.
const OF_NODES: [&str; 8] = [
    "specializationOf",
    "used",
    "wasAssociatedWith",
    "wasDerivedFrom",
    "wasGeneratedBy",
    "wasInfluencedBy",
    "wasInformedBy",
    "wasInvalidatedBy",
];
/// Properties whose values are times.
const OF_TIMES: [&str; 4] = ["startedAtTime", "endedAtTime", "generatedAtTime", "invalidatedAtTime"];

/// Writes what the runs of an activity have made, with the activity.
///
/// # Errors
/// The registry cannot be read, or `out` refuses bytes.
pub(crate) fn write_activity(home: &Home, activity: &Activity, out: &mut dyn Write) -> Result<(), EngineError> {
    let mut document = Document::new(out);
    document.activity(home, activity)?;
    for run in 1..=activity.run {
        let by = By { run, ..By::from(activity) };
        let mut after = None;
        loop {
            let (page, ends) = home.registry.read(|tx| {
                let page = provenance::results(tx, by, true, after, PAGE)?;
                let ends = provenance::ends_of(tx, by, after, &page)?;
                Ok::<_, RegistryError>((page, ends))
            })?;
            for result in &page {
                document.result(by, result)?;
            }
            document.versions(home, by.institution, page.iter().map(|result| result.entity.as_str()))?;
            for end in ends.iter().filter(|end| !end.is_present) {
                document.end_of_validity(end)?;
            }
            match page.last() {
                Some(last) if page.len() == PAGE => after = Some(last.cursor),
                _ => break,
            }
        }
        document.ended_by(home, by)?;
    }
    document.end()
}

/// Writes what was done to an entity, by whichever activities, with these, and what was made of it.
///
/// # Errors
/// The registry cannot be read, or `out` refuses bytes.
pub(crate) fn write_entity(home: &Home, entity: &Entity, out: &mut dyn Write) -> Result<(), EngineError> {
    let mut document = Document::new(out);
    let mut after = None;
    let mut last_activity = None;
    loop {
        let page = home.registry.read(|tx| {
            let acts = provenance::history(tx, entity, after.as_ref(), PAGE)?;
            let mut acts_of = Vec::with_capacity(acts.len());
            for act in acts {
                acts_of.push((activities::get(tx, Scope::System, act.activity)?, act));
            }
            Ok::<_, RegistryError>(acts_of)
        })?;
        for (activity, act) in &page {
            if let Some(activity) = activity.as_ref().filter(|one| last_activity != Some(one.id)) {
                document.activity(home, activity)?;
                last_activity = Some(activity.id);
            }
            let by = By { activity: act.activity, run: act.run, institution: entity.institution };
            if act.kind == ProvenanceKind::Invalidated {
                // The one that it has now is a property of the entity.
                if entity.invalidated != Some((act.at, act.activity)) {
                    let (entity, cursor) = (entity.entity.clone(), entity.id.0);
                    document.end_of_validity(&EndOfValidity { by, entity, at: act.at, is_present: false, cursor })?;
                }
            } else {
                let result = Produced {
                    record: act.record.clone(),
                    entity: entity.entity.clone(),
                    kind: act.kind,
                    at: act.at,
                    invalidated: None,
                    cursor: entity.id.0,
                };
                document.result(by, &result)?;
            }
        }
        let is_full = page.len() == PAGE;
        after = page.into_iter().next_back().map(|(_, last)| last);
        if !is_full {
            break;
        }
    }
    let mut node = node_of(entity.institution, &entity.entity);
    invalidate(&mut node, entity.invalidated);
    document.node(&node)?;
    document.versions(home, entity.institution, std::iter::once(entity.entity.as_str()))?;
    if let Some(institution) = entity.institution {
        of_record::write_made_of(home, institution, &entity.entity, &mut document)?;
    }
    document.end()
}

/// A document that is being written. It begins with its first node.
struct Document<'o> {
    out: &'o mut dyn Write,
    has_nodes: bool,
}

impl<'o> Document<'o> {
    fn new(out: &'o mut dyn Write) -> Self {
        Self { out, has_nodes: false }
    }

    fn begin(&mut self) -> Result<(), EngineError> {
        self.text("{\"@context\": ")?;
        self.json(&context())?;
        self.text(",\n\"@graph\": [")
    }

    fn end(mut self) -> Result<(), EngineError> {
        if !self.has_nodes {
            self.begin()?;
        }
        self.text("\n]}\n")
    }

    fn text(&mut self, text: &str) -> Result<(), EngineError> {
        self.out.write_all(text.as_bytes()).map_err(refused)
    }

    fn json(&mut self, value: &impl Serialize) -> Result<(), EngineError> {
        serde_json::to_writer(&mut self.out, value).map_err(|error| refused(error.into()))
    }

    fn node(&mut self, node: &Map<String, Value>) -> Result<(), EngineError> {
        if !self.has_nodes {
            self.begin()?;
        }
        self.text(if self.has_nodes { ",\n" } else { "\n" })?;
        self.has_nodes = true;
        self.json(node)
    }

    /// The activity, its agents, and what it takes.
    fn activity(&mut self, home: &Home, activity: &Activity) -> Result<(), EngineError> {
        let mut node = labelled(activity_iri(activity.id), "Activity", format!("{} {}", activity.agent, activity.id));
        // Of runs before the last one only what came of them is known.
        let began = if activity.run > 1 { Some(activity.made_at) } else { activity.started_at };
        put(&mut node, "startedAtTime", began.map(|time| time.to_string()));
        put(&mut node, "endedAtTime", activity.ended_at.map(|time| time.to_string()));
        let (agent, actor) = (named_iri("agent", &activity.agent), named_iri("actor", &activity.actor.name));
        node.insert("wasAssociatedWith".to_owned(), json!([agent, actor]));
        put(&mut node, "wasInformedBy", activity.input.of().map(|(other, _)| activity_iri(other)));
        let source = home.agents().find(&activity.agent).ok().and_then(|agent| agent.source(activity));
        let source = source.map(|source| node_of(activity.institution, &source));
        put(&mut node, "used", source.as_ref().and_then(|source| source.get("@id")?.as_str().map(str::to_owned)));
        self.node(&node)?;
        self.node(&labelled(agent, "SoftwareAgent", activity.agent.clone()))?;
        self.node(&labelled(actor, "Agent", activity.actor.name.clone()))?;
        source.map_or(Ok(()), |source| self.node(&source))
    }

    /// What an activity has made of a record, and the record.
    fn result(&mut self, by: By, result: &Produced) -> Result<(), EngineError> {
        let mut node = node_of(by.institution, &result.entity);
        let activity = Some(activity_iri(by.activity));
        if result.kind == ProvenanceKind::Generated {
            put(&mut node, "wasGeneratedBy", activity);
            put(&mut node, "generatedAtTime", Some(result.at.to_string()));
        } else {
            put(&mut node, "wasInfluencedBy", activity);
        }
        invalidate(&mut node, result.invalidated);
        if result.record != result.entity {
            let record = node_of(by.institution, &result.record);
            node.insert("wasDerivedFrom".to_owned(), record.get("@id").cloned().unwrap_or_default());
            self.node(&record)?;
        }
        self.node(&node)
    }

    /// The versions of objects that readers see of what these entities have made, as far as they are work items.
    fn versions<'e>(
        &mut self,
        home: &Home,
        institution: Option<InstitutionId>,
        entities: impl Iterator<Item = &'e str>,
    ) -> Result<(), EngineError> {
        let Some(institution) = institution else { return Ok(()) };
        let items: Vec<ItemId> = entities.filter_map(work_item).collect();
        if items.is_empty() {
            return Ok(());
        }
        let found = home.registry.read(|tx| {
            let of = |item: &ItemId| versions::published_of_item(tx, institution, *item);
            items.iter().map(of).collect::<Result<Vec<_>, RegistryError>>()
        })?;
        for (item, version) in items.iter().zip(found) {
            let Some(version) = version else { continue };
            let label = format!("{} version {}", version.object, version.number);
            let mut node = labelled(format!("urn:uuid:{}", version.id), "Entity", label);
            put(&mut node, "generatedAtTime", Some(version.published_at.to_string()));
            put(&mut node, "wasDerivedFrom", Some(format!("urn:uuid:{item}")));
            self.node(&node)?;
        }
        Ok(())
    }

    /// What a run has ended the validity of.
    fn ended_by(&mut self, home: &Home, by: By) -> Result<(), EngineError> {
        let mut after = None;
        loop {
            let page = home.registry.read(|tx| provenance::invalidated_by(tx, by, after, PAGE))?;
            for end in &page {
                self.end_of_validity(end)?;
            }
            match page.last() {
                Some(last) if page.len() == PAGE => after = Some(last.cursor),
                _ => return Ok(()),
            }
        }
    }

    /// An entity that is no longer valid; of one that is valid again, or has ended again since, what it was until then.
    fn end_of_validity(&mut self, end: &EndOfValidity) -> Result<(), EngineError> {
        let invalidated = Some((end.at, end.by.activity));
        let mut node = node_of(end.by.institution, &end.entity);
        if !end.is_present {
            let of = node.get("@id").cloned().unwrap_or_default();
            let name = format!("state:{}:{}:{}", end.entity, end.by.activity, end.by.run);
            let iri = format!("urn:uuid:{}", provenance::entity_id(end.by.institution, &name));
            node = labelled(iri, "Entity", format!("{} until {}", end.entity, end.at));
            node.insert("specializationOf".to_owned(), of);
        }
        invalidate(&mut node, invalidated);
        self.node(&node)
    }
}

fn refused(source: std::io::Error) -> EngineError {
    EngineError::Io { act: "write", path: "the provenance".to_owned(), source }
}

fn context() -> Value {
    let mut terms = Map::new();
    let name = |term: &str| format!("{PROV}{term}");
    for term in CLASSES {
        terms.insert(term.to_owned(), name(term).into());
    }
    for term in OF_NODES {
        terms.insert(term.to_owned(), json!({ "@id": name(term), "@type": "@id" }));
    }
    for term in OF_TIMES {
        terms.insert(term.to_owned(), json!({ "@id": name(term), "@type": DATE_TIME }));
    }
    terms.insert(LABEL.to_owned(), format!("{RDFS}{LABEL}").into());
    Value::Object(terms)
}

fn put(node: &mut Map<String, Value>, property: &str, value: Option<String>) {
    if let Some(value) = value {
        node.insert(property.to_owned(), value.into());
    }
}

fn labelled(iri: String, class: &str, label: String) -> Map<String, Value> {
    let mut node = Map::new();
    node.insert("@id".to_owned(), iri.into());
    node.insert("@type".to_owned(), class.into());
    node.insert(LABEL.to_owned(), label.into());
    node
}

/// The work item that an entity of this name is.
fn work_item(entity: &str) -> Option<ItemId> {
    if entity.starts_with("urn:") { None } else { entity.parse().ok() }
}

/// The node of an entity or record.
fn node_of(institution: Option<InstitutionId>, name: &str) -> Map<String, Value> {
    let (iri, has_label) = match name.parse::<uuid::Uuid>() {
        // A work item.
        Ok(id) => (format!("urn:uuid:{id}"), !name.starts_with("urn:")),
        Err(_) if is_iri(name) => (name.to_owned(), false),
        Err(_) => (format!("urn:uuid:{}", provenance::entity_id(institution, name)), true),
    };
    let mut node = Map::new();
    node.insert("@id".to_owned(), iri.into());
    node.insert("@type".to_owned(), "Entity".into());
    put(&mut node, LABEL, has_label.then(|| name.to_owned()));
    node
}

fn invalidate(node: &mut Map<String, Value>, invalidated: Option<(Time, ActivityId)>) {
    let (at, by) = invalidated.unzip();
    put(node, "invalidatedAtTime", at.map(|at| at.to_string()));
    put(node, "wasInvalidatedBy", by.map(activity_iri));
}

fn activity_iri(id: ActivityId) -> String {
    format!("urn:uuid:{id}")
}

/// The IRI of an agent or actor: the same in every document of every installation.
fn named_iri(kind: &str, name: &str) -> String {
    format!("urn:uuid:{}", provenance::entity_id(None, &format!("{kind}:{name}")))
}

/// The IRI of a path of the server.
pub(crate) fn file_iri(path: &str) -> String {
    let mut iri = "file://".to_owned();
    for byte in path.bytes() {
        match byte {
            b'/' | b'-' | b'.' | b'_' | b'~' | b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' => iri.push(char::from(byte)),
            _ => {
                let _ = write!(iri, "%{byte:02X}");
            }
        }
    }
    iri
}

/// Whether a name is an absolute IRI that no reader takes for something else: RFC 3987, and no scheme that is a term of the context.
fn is_iri(name: &str) -> bool {
    let Some((scheme, rest)) = name.split_once(':') else { return false };
    let is_scheme = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.len() > 1
        && scheme.bytes().all(|c| c.is_ascii_alphanumeric() || matches!(c, b'+' | b'-' | b'.'));
    let is_forbidden = |c: char| {
        c.is_control() || c.is_whitespace() || matches!(c, '<' | '>' | '"' | '{' | '}' | '|' | '\\' | '^' | '`')
    };
    let is_encoded = |part: &str| part.bytes().take(2).filter(u8::is_ascii_hexdigit).count() == 2;
    let is_term =
        OF_NODES.contains(&scheme) || OF_TIMES.contains(&scheme) || CLASSES.contains(&scheme) || scheme == LABEL;
    is_scheme && !rest.is_empty() && !rest.contains(is_forbidden) && rest.split('%').skip(1).all(is_encoded) && !is_term
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_absolute_iri_is_named_by_its_identifier_and_labelled() {
        for name in ["oai:example.org:map-1", "urn:uuid:0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b", "https://x/%20ä?q=1#2"]
        {
            let node = node_of(None, name);
            assert_eq!((node.get("@id"), node.get("label")), (Some(&Value::from(name)), None));
        }
        for name in [
            "map-1.xml",
            "set maps",
            "a:b",
            "C:\\maps",
            "Entity:1",
            "label:x",
            "used:x",
            "_:b0",
            "@id",
            "oai:a b",
            "oai:",
            "oai:<x>",
            "oai:%",
            "oai:%4",
            "oai:%zz",
            "1ai:x",
            "",
            "0190a1b2@3",
        ] {
            let node = node_of(None, name);
            let iri = node.get("@id").and_then(Value::as_str).unwrap_or_default();
            assert!(iri.starts_with("urn:uuid:"), "{name}: {iri}");
            assert_eq!(node.get("label"), Some(&Value::from(name)), "{name}");
        }
        let item = "0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b";
        assert_eq!(node_of(None, item).get("@id"), Some(&Value::from(format!("urn:uuid:{item}"))));
        assert_eq!(file_iri("/srv/a b/ä"), "file:///srv/a%20b/%C3%A4");
    }

    #[test]
    fn every_term_of_the_context_is_one_of_the_w3c() {
        for (term, meaning) in context().as_object().expect("an object") {
            let iri = meaning.as_str().or_else(|| meaning.get("@id")?.as_str()).expect("an IRI");
            assert!(iri == format!("{PROV}{term}") || iri == format!("{RDFS}{term}"), "{iri}");
        }
    }
}
