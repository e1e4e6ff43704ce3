//! Provenance as JSON-LD, as rdflib reads it.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io::Write as _;
use std::process::{Command, Stdio};
use std::sync::Arc;

use serde_json::Value;
use strongroom_engine::Home;
use strongroom_engine::app::views::ActivityId;
use strongroom_engine::app::{activities, provenance};
use strongroom_oai_double::{OaiDouble, OaiRecord};
use strongroom_records::RecordState;
use strongroom_registry::provenance::{self as rows, By, Made, Missing};
use strongroom_registry::{RegistryError, Scope};

use super::harvesting::work_on_all;
use super::{begin, begin_behind, call, home_for, records, show, work};
use crate::fixture::{Engine, INSTITUTION, on_both_databases};

on_both_databases! {
    what_an_activity_made_is_read_by_another_program
    the_history_of_an_entity_names_every_activity
    a_document_of_many_results_is_written_page_by_page
}

const PYTHON: &str = "STRONGROOM_PEERS_PYTHON";
const PROV: &str = "http://www.w3.org/ns/prov#";
const TYPE: &str = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type";
const LABEL: &str = "http://www.w3.org/2000/01/rdf-schema#label";
const DATE_TIME: &str = "http://www.w3.org/2001/XMLSchema#dateTime";

/// The Python with rdflib; none, with a line that says so, where there is none.
fn python() -> Option<OsString> {
    let found = std::env::var_os(PYTHON);
    if found.is_none() {
        println!("SKIPPED: provenance before rdflib: no python with rdflib ({PYTHON} is not set)");
    }
    found
}

/// What a document says: triples with the datatypes of their values.
struct Triples(BTreeSet<(String, String, String, Option<String>)>);

impl Triples {
    fn of(python: &OsString, document: &[u8]) -> Self {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/suite/activities/triples.py");
        let mut process = Command::new(python)
            .args(["-W", "ignore", script])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("starts");
        process.stdin.take().expect("an input").write_all(document).expect("writes");
        let answer = process.wait_with_output().expect("ends");
        assert!(answer.status.success(), "rdflib reads {}", String::from_utf8_lossy(document));
        Self(serde_json::from_slice(&answer.stdout).expect("triples"))
    }

    fn values(&self, subject: &str, property: &str) -> Vec<&str> {
        let is_meant = |(s, p, ..): &&(String, String, String, Option<String>)| s == subject && p == property;
        self.0.iter().filter(is_meant).map(|(_, _, value, _)| value.as_str()).collect()
    }

    /// Those of a property of PROV-O.
    fn prov(&self, subject: &str, property: &str) -> Vec<&str> {
        self.values(subject, &format!("{PROV}{property}"))
    }

    /// Whether every property and class is one of the W3C, and every time one.
    /// What was derived from an entity.
    fn derived_from(&self, entity: &str) -> Vec<&str> {
        let derives = format!("{PROV}wasDerivedFrom");
        let of_entity = self.0.iter().filter(|(_, property, value, _)| *property == derives && value == entity);
        of_entity.map(|(subject, ..)| subject.as_str()).collect()
    }

    fn check(&self) {
        for (subject, property, value, datatype) in &self.0 {
            assert!(property.starts_with(PROV) || property == TYPE || property == LABEL, "{property}");
            assert!(subject.contains(':') && !subject.starts_with("file:///work"), "{subject}");
            if property == TYPE {
                assert!(value.starts_with(PROV), "{value}");
            }
            assert_eq!(property.ends_with("Time"), datatype.as_deref() == Some(DATE_TIME), "{property} {value}");
            assert!(
                property == LABEL || property.ends_with("Time") || datatype.is_none() && value.contains(':'),
                "{value}"
            );
        }
    }
}

fn of_activity(home: &Arc<Home>, id: ActivityId) -> Vec<u8> {
    let mut document = Vec::new();
    provenance::of_activity(&call(home), id, &mut document).expect("writes");
    serde_json::from_slice::<Value>(&document).expect("one JSON document");
    document
}

fn of_entity(home: &Arc<Home>, entity: &str) -> Vec<u8> {
    let mut document = Vec::new();
    provenance::of_entity(&call(home), entity, Some(INSTITUTION), &mut document).expect("writes");
    document
}

fn iri(id: ActivityId) -> String {
    format!("urn:uuid:{id}")
}

fn what_an_activity_made_is_read_by_another_program(engine: Engine) {
    let Some(python) = python() else { return };
    let given = ["oai:x:1", "oai:x:2", "map 3"].map(|id| OaiRecord::new(id, "2024-01-02T00:00:00Z"));
    let provider = OaiDouble::start(given.to_vec());
    let Some(home) = home_for(engine, &provider.web().authority()) else { return };
    let harvest = begin(&home, "harvest", &[("url", &provider.base_url())]);
    let deposit = begin_behind(&home, "deposit", harvest, true);
    // Before it began there is nothing but the activity.
    let triples = Triples::of(&python, &of_activity(&home, harvest));
    assert_eq!(triples.values(&iri(harvest), TYPE), [format!("{PROV}Activity")]);
    assert!(triples.prov(&iri(harvest), "startedAtTime").is_empty());
    work(&home);
    let triples = Triples::of(&python, &of_activity(&home, harvest));
    triples.check();
    let (activity, view) = (iri(harvest), show(&home, harvest));
    assert_eq!(triples.prov(&activity, "startedAtTime"), [view.started_at.as_deref().expect("it began")]);
    assert_eq!(triples.prov(&activity, "endedAtTime"), [view.ended_at.as_deref().expect("it ended")]);
    assert_eq!(triples.prov(&activity, "used"), [provider.base_url()]);
    let agents = triples.prov(&activity, "wasAssociatedWith");
    let labels: BTreeSet<&str> = agents.iter().flat_map(|agent| triples.values(agent, LABEL)).collect();
    assert_eq!(labels, BTreeSet::from(["harvest", "operator"]));
    assert!(agents.iter().any(|agent| triples.values(agent, TYPE) == [format!("{PROV}SoftwareAgent")]));
    let made = records(&home, harvest, RecordState::Processed);
    assert_eq!(made.len(), 3);
    for record in &made {
        let entity = record.result.as_deref().expect("a document");
        assert_eq!(triples.values(entity, TYPE), [format!("{PROV}Entity")]);
        assert_eq!(triples.prov(entity, "wasGeneratedBy"), [activity.as_str()]);
        assert_eq!(triples.prov(entity, "generatedAtTime").len(), 1);
        let [from] = triples.prov(entity, "wasDerivedFrom")[..] else { panic!("one record") };
        if record.record == "map 3" {
            assert_eq!(triples.values(from, LABEL), ["map 3"]);
        } else {
            assert_eq!(from, record.record);
        }
    }
    // The next one is informed by it, and begins with what it has made.
    let behind = Triples::of(&python, &of_activity(&home, deposit));
    behind.check();
    assert_eq!(behind.prov(&iri(deposit), "wasInformedBy"), [activity.as_str()]);
    for record in records(&home, deposit, RecordState::Processed) {
        let item = format!("urn:uuid:{}", record.result.expect("a work item"));
        assert_eq!(behind.prov(&item, "wasDerivedFrom"), [record.record.as_str()]);
        assert_eq!(behind.prov(&item, "wasGeneratedBy"), [iri(deposit)]);
        assert!(behind.derived_from(&item).is_empty(), "nothing is published");
    }
    // When they are published, the versions of the objects follow.
    work_on_all(&home);
    let behind = Triples::of(&python, &of_activity(&home, deposit));
    behind.check();
    for record in records(&home, deposit, RecordState::Processed) {
        let of_document = Triples::of(&python, &of_entity(&home, &record.record));
        let item = format!("urn:uuid:{}", record.result.expect("a work item"));
        for document in [&behind, &of_document] {
            let [version] = document.derived_from(&item)[..] else { panic!("one version") };
            let [label] = document.values(version, LABEL)[..] else { panic!("one name") };
            assert!(label.starts_with(&format!("{INSTITUTION}/")) && label.ends_with(" version 1"), "{label}");
            assert_eq!(document.prov(version, "generatedAtTime").len(), 1);
        }
    }
}

fn the_history_of_an_entity_names_every_activity(engine: Engine) {
    let Some(python) = python() else { return };
    let provider = OaiDouble::start(vec![OaiRecord::new("oai:x:1", "2024-01-02T00:00:00Z")]);
    let Some(home) = home_for(engine, &provider.web().authority()) else { return };
    let [first, second] = [(); 2].map(|()| {
        let id = begin(&home, "harvest", &[("url", &provider.base_url())]);
        work(&home);
        id
    });
    let entity = records(&home, first, RecordState::Processed)[0].result.clone().expect("a document");
    let invalid = entity.clone();
    home.registry
        .write(move |tx| {
            let by = By::from(&strongroom_registry::activities::find(tx, Scope::System, second)?);
            let made = Made { record: &invalid, entity: &invalid };
            rows::invalidate(tx, by, made, Missing::Refuse)?;
            Ok::<_, RegistryError>(())
        })
        .expect("invalidates");
    for document in [of_entity(&home, &entity), of_activity(&home, first)] {
        let triples = Triples::of(&python, &document);
        triples.check();
        assert_eq!(triples.prov(&entity, "wasGeneratedBy"), [iri(first)]);
        assert_eq!(triples.prov(&entity, "wasInvalidatedBy"), [iri(second)]);
        assert_eq!(triples.prov(&entity, "invalidatedAtTime").len(), 1);
    }
    let history = Triples::of(&python, &of_entity(&home, &entity));
    // It was there already when it was read again: an entity is generated once.
    assert_eq!(history.prov(&entity, "wasInfluencedBy"), [iri(second)]);
    for activity in [first, second] {
        assert_eq!(history.values(&iri(activity), TYPE), [format!("{PROV}Activity")]);
    }
    // Another run of an activity does not generate it again either.
    activities::rerun(&call(&home), first, true).expect("runs again");
    work(&home);
    let again = Triples::of(&python, &of_activity(&home, first));
    again.check();
    assert_eq!((again.prov(&entity, "wasGeneratedBy").len(), again.prov(&entity, "generatedAtTime").len()), (1, 1));
    assert_eq!(again.prov(&entity, "wasInfluencedBy"), [iri(first)]);
    assert!(again.prov(&entity, "invalidatedAtTime").is_empty(), "it is valid again");
    // What happened stays known: what it was until then is an entity of its own.
    for document in
        [of_entity(&home, &entity), of_activity(&home, first), of_activity(&home, second), of_entity(&home, "oai:x:1")]
    {
        let triples = Triples::of(&python, &document);
        triples.check();
        let states: Vec<&str> = triples
            .0
            .iter()
            .filter(|(_, property, value, _)| *property == format!("{PROV}specializationOf") && *value == entity)
            .map(|(subject, ..)| subject.as_str())
            .collect();
        let [state] = states.as_slice() else { panic!("one state: {states:?}") };
        assert_eq!(triples.prov(state, "wasInvalidatedBy"), [iri(second)]);
        assert_eq!(triples.prov(state, "invalidatedAtTime").len(), 1);
    }
    // Of a record, everything that was made of it.
    let of_record = Triples::of(&python, &of_entity(&home, "oai:x:1"));
    assert_eq!(of_record.prov(&entity, "wasDerivedFrom"), ["oai:x:1"]);
    assert_eq!(of_record.prov(&entity, "wasGeneratedBy"), [iri(first)]);
    for activity in [first, second] {
        assert_eq!(of_record.values(&iri(activity), TYPE), [format!("{PROV}Activity")]);
    }
    provenance::of_entity(&call(&home), "urn:none", Some(INSTITUTION), &mut Vec::new()).expect_err("there is none");
}

/// Takes a document, and keeps how long it is, and how long the longest piece is that it was given.
#[derive(Default)]
struct Measuring {
    bytes: usize,
    longest: usize,
}

impl std::io::Write for Measuring {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.bytes += bytes.len();
        self.longest = self.longest.max(bytes.len());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn a_document_of_many_results_is_written_page_by_page(engine: Engine) {
    let Some((home, harvest)) = super::world_of(engine, Vec::new(), 1) else { return };
    home.registry
        .write(move |tx| {
            let by = By::from(&strongroom_registry::activities::find(tx, Scope::System, harvest)?);
            let names: Vec<(String, String)> =
                (0..1_300).map(|n| (format!("record {n}"), format!("urn:x:{n}"))).collect();
            let made: Vec<Made<'_>> = names.iter().map(|(record, entity)| Made { record, entity }).collect();
            rows::record(tx, by, &made)?;
            Ok::<_, RegistryError>(())
        })
        .expect("records");
    let document: Value = serde_json::from_slice(&of_activity(&home, harvest)).expect("JSON");
    let nodes = document["@graph"].as_array().expect("nodes");
    let generated = nodes.iter().filter(|node| node.get("wasGeneratedBy").is_some());
    let ids: BTreeSet<&str> = generated.filter_map(|node| node["@id"].as_str()).collect();
    assert_eq!(ids.len(), 1_301);
    let mut measuring = Measuring::default();
    provenance::of_activity(&call(&home), harvest, &mut measuring).expect("writes");
    assert!(measuring.bytes > 1_301 * 100 && measuring.longest < 1_000, "{} {}", measuring.bytes, measuring.longest);
}
