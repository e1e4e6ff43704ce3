//! Which source a record is of: documents of two parts of a location are different ones, and whose object a record is follows from fields
//! and from nothing that people write.

use strongroom_engine::app::activities::{self, Request};
use strongroom_engine::app::views::{ActivityId, RecordView};
use strongroom_engine::ingest::{DepositKind, DepositRequest, PackageSource, deposit};
use strongroom_engine::runtime::Shutdown;
use strongroom_engine::work_on;
use strongroom_records::RecordState;
use strongroom_registry::documents::{self, Document};
use strongroom_registry::items::{self, ItemFilter};
use strongroom_registry::provenance::{self, By, Made};
use strongroom_registry::{ItemStatus, Scope, activities as rows, versions};
use strongroom_web_double::WebDouble;

use super::harvesting::{deposit_of, work_on_all};
use super::{begin, call, home_for, records, show, work};
use crate::fixture::{Engine, INSTITUTION, TestHome, on_both_databases};

on_both_databases! {
    records_of_two_parts_of_a_location_are_documents_of_their_own
    a_document_that_two_parts_shared_stays_valid_while_one_of_them_has_the_record
    a_record_of_another_part_is_no_version_of_an_object
    what_people_write_does_not_say_whose_object_a_record_is
    deposits_of_harvests_say_their_origin_in_a_field
}

/// A home, and an answer that has people and places of the same identifiers.
fn two_lists(engine: Engine) -> Option<(WebDouble, TestHome)> {
    let web = WebDouble::start();
    web.put("/api", r#"{"people": [{"id": 1}, {"id": 2}], "places": [{"id": 1}, {"id": 2}]}"#);
    let home = home_for(engine, &web.authority())?;
    Some((web, home))
}

fn harvest(home: &TestHome, web: &WebDouble, list: &str) -> ActivityId {
    let url = web.url("/api");
    let id = begin(home, "harvest", &[("kind", "json"), ("url", &url), ("records", list), ("deleted", "/gone")]);
    work(home);
    id
}

/// The names of the documents of an activity, in the order of its records.
fn made(home: &TestHome, id: ActivityId) -> Vec<String> {
    let mut all = records(home, id, RecordState::Processed);
    all.sort_by(|one, other| one.record.cmp(&other.record));
    all.into_iter().map(|record| record.result.expect("a document")).collect()
}

fn is_valid(home: &TestHome, id: ActivityId, entity: &str) -> bool {
    let found = home.registry.read(|tx| {
        let activity = rows::find(tx, Scope::System, id)?;
        provenance::get(tx, activity.institution, entity)
    });
    found.expect("reads").expect("an entity").invalidated.is_none()
}

fn records_of_two_parts_of_a_location_are_documents_of_their_own(engine: Engine) {
    let Some((web, home)) = two_lists(engine) else { return };
    let (people, places) = (harvest(&home, &web, "/people"), harvest(&home, &web, "/places"));
    let (of_people, of_places) = (made(&home, people), made(&home, places));
    assert!(of_people.iter().all(|document| !of_places.contains(document)), "{of_people:?} {of_places:?}");
    let id = documents::of_entity(&of_people[0]).expect("a document");
    let kept = home.registry.read(|tx| documents::get(tx, id)).expect("reads").expect("it is kept");
    assert_eq!((kept.origin.location, kept.origin.part.as_deref()), (web.url("/api"), Some("records /people")));
    // Harvested again, they are the same.
    assert_eq!(made(&home, harvest(&home, &web, "/people")), of_people);
    // What one of them has deleted stays valid in the other.
    web.put("/api", r#"{"people": [{"id": 1, "gone": true}, {"id": 2}], "places": [{"id": 1}, {"id": 2}]}"#);
    let later = harvest(&home, &web, "/people");
    assert_eq!((show(&home, later).deleted, show(&home, later).invalidated), (Some(1), Some(1)));
    assert!(!is_valid(&home, people, &of_people[0]) && is_valid(&home, people, &of_people[1]));
    assert!(of_places.iter().all(|document| is_valid(&home, places, document)));
}

fn a_document_that_two_parts_shared_stays_valid_while_one_of_them_has_the_record(engine: Engine) {
    let Some((web, home)) = two_lists(engine) else { return };
    let (people, places) = (harvest(&home, &web, "/people"), harvest(&home, &web, "/places"));
    // As they were before parts were told apart: one document, made by both.
    let location = web.url("/api");
    let shared = home.registry.write(move |tx| {
        let mut entity = String::new();
        for id in [people, places] {
            let activity = rows::find(tx, Scope::System, id)?;
            let document =
                Document::new(activity.institution, (location.as_str(), "3"), "application/json", b"{}".to_vec());
            documents::put(tx, [&document])?;
            entity = documents::entity(document.id);
            provenance::record(tx, By::from(&activity), &[Made { record: "3", entity: &entity }])?;
        }
        Ok::<_, strongroom_registry::RegistryError>(entity)
    });
    let shared = shared.expect("writes");
    web.put("/api", r#"{"people": [{"id": 3, "gone": true}], "places": [{"id": 1}]}"#);
    harvest(&home, &web, "/people");
    assert!(is_valid(&home, places, &shared));
}

/// The records of a deposit of what an activity has made.
fn deposited(home: &TestHome, harvest: ActivityId) -> Vec<RecordView> {
    let request = Request { agent: "deposit".to_owned(), input: Some(harvest), ..Request::default() };
    let deposit = activities::run(&call(home), &request).expect("an activity").activity;
    work(home);
    activities::records(&call(home), deposit, None, None).expect("the records").items
}

fn a_record_of_another_part_is_no_version_of_an_object(engine: Engine) {
    let Some((web, home)) = two_lists(engine) else { return };
    let (people, places) = (harvest(&home, &web, "/people"), harvest(&home, &web, "/places"));
    assert!(deposited(&home, people).iter().all(|record| record.state == RecordState::Processed));
    for _ in 0..2 {
        for record in deposited(&home, places) {
            let error = record.error.unwrap_or_default();
            assert!(error.contains("made from another source, ") && error.contains("(records /people)"), "{error}");
        }
        // Also when the first are published.
        work_on_all(&home);
    }
    // The records of the part make versions.
    assert!(deposited(&home, people).iter().all(|record| record.state == RecordState::Processed));
    // A registry that was made from a store knows it as well.
    let fresh = crate::fixture::home_with(&super::settings(&web.authority()));
    crate::rebuild::copy_stores(&home, &fresh);
    crate::rebuild::rebuilt(&fresh, crate::fixture::KEPT_IN[0]);
    let (people, places) = (harvest(&fresh, &web, "/people"), harvest(&fresh, &web, "/places"));
    assert!(deposited(&fresh, places).iter().all(|record| record.state == RecordState::Failed));
    assert!(deposited(&fresh, people).iter().all(|record| record.state == RecordState::Processed));
}

fn what_people_write_does_not_say_whose_object_a_record_is(engine: Engine) {
    let Some(home) = home_for(engine, "example.edu") else { return };
    let file = home.path().join("m1.xml");
    std::fs::write(&file, "<r>of a person</r>").expect("a file");
    let request = DepositRequest {
        kind: DepositKind::File,
        sources: vec![PackageSource::LocalPath(file)],
        local_ids: vec!["m1.xml".to_owned()],
        note: Some("harvested from /elsewhere".to_owned()),
        ..DepositRequest::of_system(INSTITUTION)
    };
    let asked = deposit(&home.home, &request).expect("deposits");
    work_on(&home.home, &asked.items, &Shutdown::new()).expect("works");
    let item = home.registry.read(|tx| items::find(tx, Scope::System, asked.items[0])).expect("the item");
    assert_eq!(item.status, ItemStatus::Succeeded, "{:?}", item.note);
    let fresh = crate::fixture::home();
    crate::rebuild::copy_stores(&home, &fresh);
    crate::rebuild::rebuilt(&fresh, crate::fixture::KEPT_IN[0]);
    for home in [&home, &fresh] {
        let object = home.object("m1.xml");
        let found = home.registry.read(|tx| versions::list(tx, object.id, object.generation, false));
        assert_eq!(found.expect("versions")[0].message, "harvested from /elsewhere");
        let record = deposit_of(home, ("cat1", "<r>of a harvest</r>"), &[]);
        assert_eq!(record.state, RecordState::Processed, "{record:?}");
    }
}

fn deposits_of_harvests_say_their_origin_in_a_field(engine: Engine) {
    let Some(home) = home_for(engine, "example.edu") else { return };
    assert_eq!(deposit_of(&home, ("cat1", "<r>one</r>"), &[]).state, RecordState::Processed);
    work_on_all(&home);
    let old = home.registry.read(|tx| {
        let item = items::list(tx, Scope::System, &ItemFilter::default(), None, 1)?.remove(0);
        let options: serde_json::Value = serde_json::from_str(&item.options).expect("JSON");
        Ok::<_, strongroom_registry::RegistryError>((item, options))
    });
    let (item, options) = old.expect("reads");
    let location = home.path().join("cat1").to_str().expect("UTF-8").to_owned();
    assert_eq!(options["harvested_from"], serde_json::json!({ "location": location, "part": "" }));
    assert_eq!(options["note"], format!("harvested from {location}"), "people read it");
    let institution = item.institution;
    let object = home.object("m1.xml").identifier;
    let origin = home.registry.read(|tx| items::harvested_from(tx, institution, &object)).expect("reads");
    assert_eq!(origin.map(|(origin, source)| (origin.to_string(), source)), Some((location, item.source)));
}
