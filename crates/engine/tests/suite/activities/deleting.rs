//! Records that their source deletes, and brings back: what earlier harvests made of them is no longer valid, and valid again.

use std::sync::Arc;

use strongroom_engine::app::activities::{self, ActivityState, Request};
use strongroom_engine::app::views::ActivityId;
use strongroom_engine::runtime::Shutdown;
use strongroom_engine::{Home, work_on};
use strongroom_oai_double::{OaiDouble, OaiFault};
use strongroom_records::RecordState;
use strongroom_registry::items::{self, ItemFilter};
use strongroom_registry::provenance::{self, By, Entity};
use strongroom_registry::{InstitutionId, ProvenanceKind, Scope, activities as rows, documents, objects};
use strongroom_web_double::WebDouble;

use super::harvesting::some_records;
use super::{begin, begin_behind, call, check_counts, home_for, options, records, show, work};
use crate::fixture::{Engine, INSTITUTION, on_both_databases};

on_both_databases! {
    case_11_a_record_that_is_deleted_is_no_longer_valid_and_is_a_revision_when_it_is_back
    case_11_every_state_of_a_deleted_record_is_no_longer_valid
    case_5_what_is_no_longer_valid_is_left_out_unless_it_is_asked_for
    a_deletion_that_is_told_twice_is_counted_once_as_invalidated
    a_deletion_is_told_by_an_api_as_well
    a_deletion_in_one_source_leaves_those_of_others_alone
    what_was_deposited_of_a_deleted_record_stays
}

fn institution(home: &Arc<Home>, id: ActivityId) -> Option<InstitutionId> {
    home.registry.read(|tx| rows::find(tx, Scope::System, id)).expect("the activity").institution
}

fn entity(home: &Arc<Home>, id: ActivityId, name: &str) -> Entity {
    let of = institution(home, id);
    home.registry.read(|tx| provenance::get(tx, of, name)).expect("reads").expect("it stays")
}

fn kinds(home: &Arc<Home>, entity: &Entity) -> Vec<ProvenanceKind> {
    let acts = home.registry.read(|tx| provenance::history(tx, entity, None, 10)).expect("reads");
    acts.into_iter().map(|act| act.kind).collect()
}

/// The result of a record in an activity.
fn result(home: &Arc<Home>, id: ActivityId, record: &str) -> String {
    let mut all = records(home, id, RecordState::Processed).into_iter();
    all.find(|one| one.record == record).and_then(|one| one.result).expect("a result")
}

fn case_11_a_record_that_is_deleted_is_no_longer_valid_and_is_a_revision_when_it_is_back(engine: Engine) {
    let provider = OaiDouble::start(some_records(12));
    let Some(home) = home_for(engine, &provider.web().authority()) else { return };
    let harvest = || {
        let id = begin(&home, "harvest", &[("url", &provider.base_url())]);
        work(&home);
        // Times of provenance differ.
        home.clock.advance(std::time::Duration::from_secs(1));
        id
    };
    let first = harvest();
    let name = result(&home, first, "oai:x:05");
    provider.change(|records| records[5] = records[5].clone().deleted());
    let second = harvest();
    let view = show(&home, second);
    check_counts(&view);
    assert_eq!(
        (view.state, view.processed, view.deleted, view.invalidated),
        (ActivityState::Finished, Some(11), Some(1), Some(1))
    );
    let gone = entity(&home, first, &name);
    assert_eq!(gone.invalidated.map(|(_, by)| by), Some(second));
    assert_eq!(kinds(&home, &gone), [ProvenanceKind::Generated, ProvenanceKind::Invalidated]);
    let document = documents::of_entity(&name).expect("a document");
    assert!(home.registry.read(|tx| documents::get(tx, document)).expect("reads").is_some(), "it stays");
    // A later harvest has nothing more to invalidate.
    let third = harvest();
    let view = show(&home, third);
    assert_eq!((view.deleted, view.invalidated), (Some(1), Some(0)));
    assert_eq!(entity(&home, first, &name), gone);
    // It is back, as it was.
    provider.change(|records| records[5].is_deleted = false);
    let fourth = harvest();
    assert_eq!((show(&home, fourth).deleted, show(&home, fourth).invalidated), (Some(0), Some(0)));
    assert_eq!(result(&home, fourth, "oai:x:05"), name);
    let back = entity(&home, first, &name);
    assert_eq!(back.invalidated, None);
    assert_eq!(kinds(&home, &back), [ProvenanceKind::Generated, ProvenanceKind::Invalidated, ProvenanceKind::Revised]);
}

fn case_11_every_state_of_a_deleted_record_is_no_longer_valid(engine: Engine) {
    let provider = OaiDouble::start(some_records(3));
    let Some(home) = home_for(engine, &provider.web().authority()) else { return };
    let url = provider.base_url();
    let first = begin(&home, "harvest", &[("url", &url)]);
    work(&home);
    provider.change(|records| records[1] = records[1].clone().titled(b"Another"));
    // Another run of the same activity.
    let before = result(&home, first, "oai:x:01");
    activities::rerun(&call(&home), first, true).expect("runs again");
    work(&home);
    let after = result(&home, first, "oai:x:01");
    assert_ne!(before, after);
    provider.change(|records| records[1] = records[1].clone().deleted());
    let last = begin(&home, "harvest", &[("url", &url), ("set", "odd")]);
    work(&home);
    assert_eq!((show(&home, last).deleted, show(&home, last).invalidated), (Some(1), Some(2)));
    for name in [before, after] {
        assert_eq!(entity(&home, first, &name).invalidated.map(|(_, by)| by), Some(last));
    }
}

fn case_5_what_is_no_longer_valid_is_left_out_unless_it_is_asked_for(engine: Engine) {
    let provider = OaiDouble::start(some_records(6));
    let Some(home) = home_for(engine, &provider.web().authority()) else { return };
    let first = begin(&home, "harvest", &[("url", &provider.base_url())]);
    work(&home);
    provider.change(|records| records[2] = records[2].clone().deleted());
    begin(&home, "harvest", &[("url", &provider.base_url())]);
    work(&home);
    let by = home.registry.read(|tx| rows::find(tx, Scope::System, first)).expect("the activity");
    let results = |with_invalidated: bool| {
        let page = home.registry.read(|tx| provenance::results(tx, By::from(&by), with_invalidated, None, 100));
        let mut found: Vec<String> = page.expect("reads").into_iter().map(|one| one.record).collect();
        found.sort();
        found
    };
    assert_eq!(results(false), ["oai:x:00", "oai:x:01", "oai:x:03", "oai:x:04", "oai:x:05"]);
    assert_eq!(results(true).len(), 6);
}

fn a_deletion_that_is_told_twice_is_counted_once_as_invalidated(engine: Engine) {
    let provider = OaiDouble::start(some_records(35));
    let Some(home) = home_for(engine, &provider.web().authority()) else { return };
    begin(&home, "harvest", &[("url", &provider.base_url())]);
    work(&home);
    provider.change(|records| {
        for number in [0, 9, 10, 29] {
            records[number] = records[number].clone().deleted();
        }
    });
    // Pages begin with the last record of the page before, and the list begins again in its middle.
    provider.on(OaiFault::RepeatsRecords);
    provider.on(OaiFault::ExpiredToken { offset: 20, times: 1 });
    let again = begin(&home, "harvest", &[("url", &provider.base_url())]);
    work(&home);
    let view = show(&home, again);
    check_counts(&view);
    assert_eq!(
        (view.state, view.processed, view.invalidated),
        (ActivityState::Finished, Some(31), Some(4)),
        "{view:?}"
    );
}

fn a_deletion_is_told_by_an_api_as_well(engine: Engine) {
    let web = WebDouble::start();
    web.put("/api", "[{\"id\": \"a\"}, {\"id\": \"b\"}]");
    let Some(home) = home_for(engine, &web.authority()) else { return };
    let harvest = || {
        let id = begin(&home, "harvest", &[("kind", "json"), ("url", &web.url("/api")), ("deleted", "/gone")]);
        work(&home);
        id
    };
    let first = harvest();
    let name = result(&home, first, "b");
    web.put("/api", "[{\"id\": \"a\"}, {\"id\": \"b\", \"gone\": true}]");
    let second = harvest();
    assert_eq!((show(&home, second).deleted, show(&home, second).invalidated), (Some(1), Some(1)));
    assert_eq!(entity(&home, first, &name).invalidated.map(|(_, by)| by), Some(second));
}

fn a_deletion_in_one_source_leaves_those_of_others_alone(engine: Engine) {
    let web = WebDouble::start();
    for path in ["/one", "/other"] {
        web.put(path, "[{\"id\": \"a\"}]");
    }
    let Some(home) = home_for(engine, &web.authority()) else { return };
    let harvest = |path: &str| {
        let id = begin(&home, "harvest", &[("kind", "json"), ("url", &web.url(path)), ("deleted", "/gone")]);
        work(&home);
        id
    };
    let (one, other) = (harvest("/one"), harvest("/other"));
    web.put("/one", "[{\"id\": \"a\", \"gone\": true}]");
    assert_eq!(show(&home, harvest("/one")).invalidated, Some(1));
    assert!(entity(&home, one, &result(&home, one, "a")).invalidated.is_some());
    assert_eq!(entity(&home, other, &result(&home, other, "a")).invalidated, None);
}

fn what_was_deposited_of_a_deleted_record_stays(engine: Engine) {
    let provider = OaiDouble::start(some_records(2));
    let Some(home) = home_for(engine, &provider.web().authority()) else { return };
    let deposit_behind = |harvest| {
        begin_behind(&home, "deposit", harvest, false);
        work(&home);
        let all = home.registry.read(|tx| items::list(tx, Scope::System, &ItemFilter::default(), None, 100));
        let ids: Vec<_> = all.expect("lists").into_iter().map(|item| item.id).collect();
        work_on(&home, &ids, &Shutdown::new()).expect("works");
        ids.len()
    };
    let first = begin(&home, "harvest", &[("url", &provider.base_url())]);
    work(&home);
    assert_eq!(deposit_behind(first), 2);
    provider.change(|records| records[0] = records[0].clone().deleted());
    let request = Request {
        agent: "harvest".to_owned(),
        options: options(&[("url", &provider.base_url())]),
        ..Request::default()
    };
    let second = activities::run(&call(&home), &request).expect("an activity").activity;
    work(&home);
    assert_eq!(deposit_behind(second), 3, "of the record that is there, and none of the deleted one");
    let name = format!("{INSTITUTION}/oai:x:00");
    let object = home.registry.read(|tx| objects::by_identifier(tx, Scope::System, &name)).expect("reads");
    let object = object.expect("the object");
    assert_eq!((object.state, object.head), (strongroom_registry::ObjectState::Active, 1));
}
