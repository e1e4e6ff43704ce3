//! A store that is taken out of use, and back into use.

use std::fs;

use crate::program::Place;

/// A home whose placements name a third store, which holds everything, with one object.
fn with_third() -> Place {
    let place = Place::with_home();
    place.bag("greeting", "hello\n");
    place.run(["deposit", "greeting.tar", "--wait"]).succeeds();
    join_third(&place);
    place.run(["store", "backfill", "third", "--wait"]).succeeds();
    place
}

fn edit(place: &Place, change: impl Fn(String) -> String) {
    let file = place.path("home/strongroom.toml");
    let text = change(fs::read_to_string(&file).unwrap());
    fs::write(file, text).unwrap();
}

/// Makes a third store, and names it in every placement.
fn join_third(place: &Place) {
    edit(place, |text| {
        let text = text.replace("\"secondary\"]", "\"secondary\", \"third\"]");
        format!("{text}\n[stores.third]\nkind = \"folder\"\npath = \"stores/third\"\n")
    });
    place.run(["store", "create", "third"]).succeeds();
}

fn state(place: &Place, store: &str) -> serde_json::Value {
    let listed = place.run(["store", "list", "--json"]).succeeds().json();
    listed.into_iter().find(|one| one["store"] == store).unwrap()["state"].clone()
}

/// The stores in which the files of an object have copies, as `objects files` shows them.
fn stores_of_files(place: &Place, object: &str) -> Vec<String> {
    let files = place.run(["objects", "files", object, "--json"]).succeeds().json();
    let copies = files[0]["copies"].as_array().unwrap().iter();
    copies.map(|copy| copy["store"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_store_is_not_retired_where_one_copy_would_remain_unless_that_is_asked_for() {
    let place = with_third();
    place.run(["store", "retire", "primary"]).succeeds();
    let refused = place.run(["store", "retire", "secondary"]);
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(refused.stderr.contains("Standard") && refused.stderr.contains("--allow-one-copy"), "{refused:?}");
    assert!(!refused.stderr.contains("objects lack"), "no object lacks a copy: {refused:?}");
    assert_eq!((state(&place, "primary"), state(&place, "secondary")), ("retired".into(), "available".into()));
    place.run(["store", "retire", "secondary", "--allow-one-copy"]).succeeds();
    assert_eq!(state(&place, "secondary"), "retired");
    let last = place.run(["store", "retire", "third", "--allow-one-copy"]);
    assert_eq!(last.code, Some(1), "{last:?}");
}

#[test]
fn a_retired_store_is_shown_as_such_everywhere_and_alarms_nobody() {
    let place = with_third();
    place.run(["store", "retire", "primary"]).succeeds();
    let configured = place.run(["config", "check", "--json"]).succeeds().json();
    let warned = configured.iter().find(|line| line["check"] == "placement Standard").unwrap();
    assert!(warned["message"].as_str().unwrap().contains("primary"), "{warned}");
    // What lay there does not count as kept.
    assert_eq!(stores_of_files(&place, "example.edu/greeting"), ["secondary", "third"]);
    let premis = place.run(["objects", "premis", "example.edu/greeting"]).succeeds().stdout;
    let is_kept_in = |store: &str| premis.contains(&format!("<storageMedium>{store}</storageMedium>"));
    assert!(is_kept_in("secondary") && !is_kept_in("primary"), "{premis}");
    // Also when it is gone.
    fs::remove_dir_all(place.path("home/stores/primary")).unwrap();
    assert_eq!(state(&place, "primary"), "retired");
    let said = place.run(["status"]).succeeds().stdout;
    assert!(said.contains("primary (folder): retired") && said.contains("to review   nothing"), "{said}");
    place.run(["config", "check"]).succeeds();
    let checked = place.run(["store", "check", "--json"]).succeeds().json();
    let primary = checked.iter().find(|store| store["store"] == "primary").unwrap();
    assert_eq!((&primary["ok"], &primary["state"]), (&true.into(), &"retired".into()), "{primary}");
    let problems = place.run(["fixity", "problems"]).succeeds();
    assert!(!problems.stderr.contains("primary"), "{problems:?}");
    place.run(["fixity", "run", "--all"]).succeeds();
}

#[test]
fn a_retired_store_comes_back_unverified_and_gets_what_it_lacks() {
    let place = with_third();
    place.run(["store", "retire", "secondary"]).succeeds();
    place.bag("farewell", "goodbye\n");
    place.run(["deposit", "farewell.tar", "--wait"]).succeeds();
    place.run(["store", "retire", "--undo", "third"]).fails(2, &["third", "not retired"]);
    let back = place.run(["store", "retire", "--undo", "secondary", "--json"]).succeeds().object();
    assert_eq!((&back["store"], &back["tasks"]), (&"secondary".into(), &1.into()), "{back}");
    let health = |object: &str| place.run(["objects", "show", object, "--json"]).succeeds().object()["health"].clone();
    assert_eq!(health("example.edu/greeting"), "unverified");
    assert_eq!(health("example.edu/farewell"), "missing copies");
    place.run(["store", "backfill", "secondary", "--wait"]).succeeds();
    place.run(["fixity", "run"]).succeeds();
    assert_eq!((health("example.edu/greeting"), health("example.edu/farewell")), ("ok".into(), "ok".into()));
    place.run(["config", "check"]).succeeds();
}

#[test]
fn only_preservation_stores_are_retired() {
    let place = Place::with_home();
    for store in ["staging", "quarantine", "receiving", "restoration"] {
        place.run(["store", "retire", store]).fails(2, &[store, "not a preservation store"]);
        assert_eq!(state(&place, store), "available");
    }
}

#[test]
fn what_a_joined_store_lacks_is_counted_wherever_findings_are() {
    let place = Place::with_home();
    place.bag("greeting", "hello\n");
    place.run(["deposit", "greeting.tar", "--wait"]).succeeds();
    join_third(&place);
    let status = place.run(["status", "--json"]).succeeds().object();
    assert_eq!((&status["review"]["problems"], &status["fixity"]["problems"]["lacking"]), (&1.into(), &1.into()));
    assert_eq!(place.run(["config", "check"]).code, Some(1));
    let checked = place.run(["store", "check", "third", "--json"]);
    assert_eq!((checked.code, &checked.object()["problems"]), (Some(1), &1.into()));
    place.run(["store", "check", "primary"]).succeeds();
    place.run(["store", "backfill", "third", "--wait"]).succeeds();
    place.run(["config", "check"]).succeeds();
    place.run(["store", "check"]).succeeds();
    assert_eq!(place.run(["status", "--json"]).succeeds().object()["review"]["problems"], 0);
}
