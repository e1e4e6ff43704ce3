//! The frame of agents that make documents of documents, with steps of the test: mappings (case 8) and chains of enrichments (case 9).

use std::sync::Arc;

use serde_json::{Value, json};
use strongroom_engine::activities::{Agent, Content, DocumentAgent, DocumentStep, StepKind};
use strongroom_engine::app::activities::{self, ActivityState, Request};
use strongroom_engine::app::views::ActivityId;
use strongroom_records::RecordState;
use strongroom_registry::documents::{self, Document};
use strongroom_registry::provenance::{self, By, Made, Missing};
use strongroom_registry::{ProvenanceKind, RegistryError, Scope, activities as rows};

use super::{call, check_counts, options, records, show, work, world_of};
use crate::fixture::{Engine, TestHome, on_both_databases};

on_both_databases! {
    case_8_each_record_is_mapped_to_a_document_with_its_provenance
    case_8_a_mapping_that_fails_names_each_record_and_the_run_completes
    case_9_a_chain_is_applied_in_order_and_survives_the_registry
    case_9_an_error_of_a_chain_names_record_and_step_and_costs_no_other
    what_is_mapped_again_is_revised_and_what_changes_nothing_is_the_record_itself
    an_input_that_was_removed_or_invalidated_is_a_failed_record
    a_document_that_becomes_too_long_is_a_failed_record
}

const DOCUMENTS: usize = 12;

/// Makes JSON of the XML of the test.
struct Title;

/// Appends a text, unless the document has the text that it refuses.
struct Append;

struct Appending {
    text: String,
    refuses: Option<String>,
}

fn text_of(document: &Document) -> String {
    String::from_utf8(document.bytes.clone()).expect("UTF-8")
}

impl StepKind for Title {
    fn name(&self) -> &'static str {
        "title"
    }

    fn set_up(&self, _: &Value) -> Result<Box<dyn DocumentStep>, String> {
        Ok(Box::new(Self))
    }
}

impl DocumentStep for Title {
    fn apply(&self, document: &Document) -> Result<Content, String> {
        let text = text_of(document);
        let title = text.strip_prefix("<record>").and_then(|rest| rest.strip_suffix("</record>"));
        let title = title.ok_or("it has no title")?;
        Ok(Content {
            media_type: "application/json".to_owned(),
            bytes: json!({ "title": title }).to_string().into_bytes(),
        })
    }
}

impl StepKind for Append {
    fn name(&self) -> &'static str {
        "append"
    }

    fn set_up(&self, options: &Value) -> Result<Box<dyn DocumentStep>, String> {
        let option = |name: &str| options.get(name).and_then(Value::as_str).map(str::to_owned);
        Ok(Box::new(Appending { text: option("text").ok_or("it needs a text")?, refuses: option("refuses") }))
    }
}

impl DocumentStep for Appending {
    fn apply(&self, document: &Document) -> Result<Content, String> {
        let text = text_of(document);
        if self.refuses.as_ref().is_some_and(|refused| text.contains(refused)) {
            return Err(format!("{text} is refused"));
        }
        let times = if self.text == "much" { 1 << 19 } else { 1 };
        Ok(Content { media_type: document.media_type.clone(), bytes: (text + &self.text.repeat(times)).into_bytes() })
    }
}

fn world(engine: Engine) -> Option<(TestHome, ActivityId)> {
    let map: [Arc<dyn StepKind>; 1] = [Arc::new(Title)];
    let enrich: [Arc<dyn StepKind>; 1] = [Arc::new(Append)];
    let agents: Vec<Arc<dyn Agent>> = vec![
        Arc::new(DocumentAgent::new("map", "Map documents", map)),
        Arc::new(DocumentAgent::new("enrich", "Enrich documents", enrich)),
    ];
    world_of(engine, agents, DOCUMENTS)
}

fn begin(home: &TestHome, agent: &str, input: ActivityId, steps: &[&str]) -> ActivityId {
    let steps: Vec<(&str, &str)> = steps.iter().map(|step| ("step", *step)).collect();
    let request =
        Request { agent: agent.to_owned(), options: options(&steps), input: Some(input), ..Request::default() };
    activities::run(&call(home), &request).expect("an activity").activity
}

fn document(home: &TestHome, entity: &str) -> Document {
    let id = documents::of_entity(entity).expect("the name of a document");
    home.registry.read(|tx| documents::get(tx, id)).expect("reads").expect("it is kept")
}

/// What was done to an entity by an activity.
fn acts(home: &TestHome, entity: &str, by: ActivityId) -> Vec<ProvenanceKind> {
    let acts = home.registry.read(|tx| {
        let institution = rows::find(tx, Scope::System, by)?.institution;
        let entity = provenance::get(tx, institution, entity)?.expect("an entity");
        provenance::history(tx, &entity, None, 100)
    });
    acts.expect("reads").into_iter().filter(|act| act.activity == by).map(|act| act.kind).collect()
}

/// The entity that a processed record has become.
fn entities(home: &TestHome, id: ActivityId) -> Vec<String> {
    let processed = records(home, id, RecordState::Processed).into_iter();
    processed.map(|record| record.result.unwrap_or(record.record)).collect()
}

fn case_8_each_record_is_mapped_to_a_document_with_its_provenance(engine: Engine) {
    let Some((home, harvest)) = world(engine) else { return };
    let map = begin(&home, "map", harvest, &["title"]);
    work(&home);
    let view = show(&home, map);
    check_counts(&view);
    assert_eq!((view.state, view.processed), (ActivityState::Finished, Some(DOCUMENTS as u64)));
    for record in records(&home, map, RecordState::Processed) {
        let entity = record.result.expect("another document");
        let (from, made) = (document(&home, &record.record), document(&home, &entity));
        assert_eq!(
            (&made.record, &made.origin, made.media_type.as_str()),
            (&from.record, &from.origin, "application/json")
        );
        let number: usize = made.record.trim_end_matches(".xml").parse().expect("a number");
        assert_eq!(text_of(&made), json!({ "title": number.to_string() }).to_string());
        assert_eq!(acts(&home, &entity, map), [ProvenanceKind::Generated]);
    }
}

fn case_8_a_mapping_that_fails_names_each_record_and_the_run_completes(engine: Engine) {
    let Some((home, harvest)) = world(engine) else { return };
    let first = begin(&home, "map", harvest, &["title"]);
    work(&home);
    // What is mapped already has no title as XML.
    let second = begin(&home, "map", first, &["title"]);
    work(&home);
    let view = show(&home, second);
    check_counts(&view);
    assert_eq!((view.state, view.failed), (ActivityState::FinishedWithErrors, Some(DOCUMENTS as u64)));
    for failed in records(&home, second, RecordState::Failed) {
        let record = document(&home, &failed.record).record;
        let expected = format!("step 1 (title) of the record {record}: it has no title");
        assert_eq!(failed.error.as_deref(), Some(expected.as_str()));
    }
}

const CHAIN: [&str; 2] = [
    r#"{"step": "append", "options": {"text": "a"}}"#,
    r#"{"step": "append", "options": {"text": "b", "refuses": "<record>7<"}}"#,
];

fn case_9_a_chain_is_applied_in_order_and_survives_the_registry(engine: Engine) {
    let Some((home, harvest)) = world(engine) else { return };
    let id = begin(&home, "enrich", harvest, &CHAIN);
    let kept = show(&home, id).options;
    let expected: Vec<Value> = CHAIN.iter().map(|step| serde_json::from_str(step).expect("JSON")).collect();
    assert_eq!(kept, json!({ "step": expected }));
    work(&home);
    assert_eq!(show(&home, id).processed, Some(DOCUMENTS as u64 - 1));
    for record in records(&home, id, RecordState::Processed) {
        let entity = record.result.expect("another document");
        assert_eq!(text_of(&document(&home, &entity)), text_of(&document(&home, &record.record)) + "ab");
        assert_eq!(acts(&home, &entity, id), [ProvenanceKind::Generated]);
    }
    // The options that are kept plan the same again.
    let before = entities(&home, id);
    activities::rerun(&call(&home), id, false).expect("runs again");
    work(&home);
    assert_eq!((show(&home, id).options, entities(&home, id)), (kept, before));
}

fn case_9_an_error_of_a_chain_names_record_and_step_and_costs_no_other(engine: Engine) {
    let Some((home, harvest)) = world(engine) else { return };
    let id = begin(&home, "enrich", harvest, &CHAIN);
    work(&home);
    let view = show(&home, id);
    check_counts(&view);
    assert_eq!((view.state, view.processed, view.failed), (ActivityState::FinishedWithErrors, Some(11), Some(1)));
    let failed = records(&home, id, RecordState::Failed);
    assert_eq!(
        failed[0].error.as_deref(),
        Some("step 2 (append) of the record 07.xml: <record>7</record>a is refused")
    );
    for (steps, expected) in [
        (&["prepend"][..], "knows no step \"prepend\""),
        (&["append"][..], "the options of step 1 (append) cannot be used: it needs a text"),
        (&[][..], "is given no step"),
    ] {
        let steps: Vec<(&str, &str)> = steps.iter().map(|step| ("step", *step)).collect();
        let request = Request {
            agent: "enrich".to_owned(),
            options: options(&steps),
            input: Some(harvest),
            ..Request::default()
        };
        let error = activities::run(&call(&home), &request).expect_err("it is refused").to_string();
        assert!(error.contains(expected), "{error}");
    }
}

fn what_is_mapped_again_is_revised_and_what_changes_nothing_is_the_record_itself(engine: Engine) {
    let Some((home, harvest)) = world(engine) else { return };
    let [first, second] = [(); 2].map(|()| {
        let id = begin(&home, "map", harvest, &["title"]);
        work(&home);
        id
    });
    assert_eq!(entities(&home, first), entities(&home, second));
    for entity in entities(&home, first) {
        assert_eq!(acts(&home, &entity, first), [ProvenanceKind::Generated]);
        assert_eq!(acts(&home, &entity, second), [ProvenanceKind::Revised]);
    }
    let nothing = begin(&home, "enrich", first, &[r#"{"step": "append", "options": {"text": ""}}"#]);
    work(&home);
    for record in records(&home, nothing, RecordState::Processed) {
        assert_eq!(record.result, None);
        assert_eq!(acts(&home, &record.record, nothing), [ProvenanceKind::Revised]);
    }
}

fn an_input_that_was_removed_or_invalidated_is_a_failed_record(engine: Engine) {
    let Some((home, harvest)) = world(engine) else { return };
    let all = entities(&home, harvest);
    let invalid = all[0].clone();
    home.registry
        .write(move |tx| {
            let by = By::from(&rows::find(tx, Scope::System, harvest)?);
            let made = Made { record: &invalid, entity: &invalid };
            provenance::invalidate(tx, by, made, Missing::Refuse)?;
            Ok::<_, RegistryError>(())
        })
        .expect("invalidates");
    let behind = begin(&home, "map", harvest, &["title"]);
    work(&home);
    let failed = records(&home, behind, RecordState::Failed);
    assert_eq!((failed.len(), &failed[0].record), (1, &all[0]));
    let error = failed[0].error.as_deref().unwrap_or_default();
    assert!(error.contains(&format!("was invalidated by the activity {harvest} at 2")), "{error}");
    // Documents go after their time.
    let removed = home.registry.write(move |tx| {
        let now = tx.now()?.plus(1_000_000);
        documents::drop(tx, now, 3)
    });
    assert_eq!(removed.expect("removes"), 3);
    let behind = begin(&home, "map", harvest, &["title"]);
    work(&home);
    let failed = records(&home, behind, RecordState::Failed);
    let is_told = |failed: &&strongroom_engine::app::views::RecordView| {
        failed.error.as_deref().is_some_and(|error| error.contains("was removed after its time; next:"))
    };
    assert!(failed.iter().filter(is_told).count() >= 2, "{failed:?}");
    // What is no document is none, also where it is an entity.
    let of_records = begin(&home, "deposit", harvest, &[]);
    work(&home);
    let items = begin(&home, "enrich", of_records, &[CHAIN[0]]);
    work(&home);
    let failed = records(&home, items, RecordState::Failed);
    assert!(
        !failed.is_empty()
            && failed
                .iter()
                .all(|one| one.error.as_deref().is_some_and(|error| error.starts_with("it is no document")))
    );
}

fn a_document_that_becomes_too_long_is_a_failed_record(engine: Engine) {
    let Some((home, harvest)) = world(engine) else { return };
    let id = begin(&home, "enrich", harvest, &[r#"{"step": "append", "options": {"text": "much"}}"#]);
    work(&home);
    let failed = records(&home, id, RecordState::Failed);
    assert_eq!(failed.len(), DOCUMENTS);
    let error = failed[0].error.as_deref().unwrap_or_default();
    assert!(
        error.starts_with("step 1 (append) of the record ") && error.contains("at most 1048576 are kept"),
        "{error}"
    );
}
