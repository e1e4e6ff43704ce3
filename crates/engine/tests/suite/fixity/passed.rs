//! Passed checks are one row for an object in a store, and told apart on reading.

use std::collections::BTreeSet;

use strongroom_engine::export;
use strongroom_registry::retention;

use super::*;

fn rows_of_events(home: &TestHome) -> u64 {
    let sizes = home.registry.read(retention::sizes).expect("sizes");
    sizes.into_iter().find(|(table, _)| *table == "events").expect("the table").1
}

fn passed(home: &TestHome, object: &Object) -> Vec<Event> {
    let mut found = events(home, object);
    found.retain(|event| {
        event.kind == "fixity check" && event.detail.as_deref().is_some_and(|text| text.contains("read from"))
    });
    found
}

#[test]
fn passed_checks_of_an_object_in_a_store_are_one_row_that_is_told_apart_on_reading() {
    let home = home();
    let object = letters(&home);
    let (rows, known) = (rows_of_events(&home), passed(&home, &object).len());
    home.clock.advance(INTERVAL);
    let summary = run(&home, &FixityRequest::default());
    // For each store: the contents, and what the object has besides.
    assert_eq!(rows_of_events(&home), rows + 4);
    let checks = passed(&home, &object).split_off(known);
    assert_eq!(checks.len() as u64 + 2, summary.passed, "{checks:?}");
    let ids: BTreeSet<String> = checks.iter().map(|event| event.id.to_string()).collect();
    assert_eq!(ids.len(), checks.len(), "each has an identifier of its own");
    for copy in copies(&home, &object, "deposit/data/a.txt") {
        let told = format!("read from store {}: {}", copy.store, copy.key);
        let check = checks.iter().find(|event| event.detail.as_ref() == Some(&told)).expect("its event");
        assert_eq!(Some(check.time), copy.last_fixity_at, "its own time");
        assert_eq!((check.outcome.as_str(), check.object), ("success", Some(object.id)));
        assert!(check.outcome_detail.as_deref().is_some_and(|text| text.starts_with("sha512:")), "{check:?}");
    }
    assert_eq!(checks, passed(&home, &object).split_off(known), "told the same each time");
    let mut document = Vec::new();
    export::premis(&home, &object, &mut document).expect("writes");
    let document = String::from_utf8(document).expect("UTF-8");
    for check in &checks {
        assert!(document.contains(&check.id.to_string()), "{check:?}");
    }
}

#[test]
fn the_events_of_a_file_have_its_own_passed_checks_and_no_others() {
    let home = home();
    let object = letters(&home);
    home.clock.advance(INTERVAL);
    run(&home, &FixityRequest::default());
    let files = home.registry.read(|tx| objects::files(tx, object.id, 1, "deposit/data/a.txt/", "", 1)).expect("files");
    assert!(files.is_empty());
    let files = home.registry.read(|tx| objects::files(tx, object.id, 1, "deposit/data/", "", 10)).expect("files");
    for file in &files {
        let of_file = home
            .registry
            .read(|tx| events::of_object(tx, Scope::System, object.id, Some(file.id), EventCursor::START, 10_000));
        let told: Vec<Event> = of_file.expect("events").0;
        let read =
            told.iter().filter(|event| event.detail.as_deref().is_some_and(|text| text.contains("read from store")));
        assert_eq!(read.count(), KEPT_IN.len(), "{}: {told:?}", file.path);
    }
}
