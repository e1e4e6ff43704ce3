//! The same program on other ground: its registry in PostgreSQL, its stores in S3, several processes, and the way there from
//! a registry in a file.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::Value;
use strongroom_database::testing::Scratch;
use strongroom_s3_double::Double;

use crate::buckets::{copy_out, home_in, keys_below};
use crate::fixtures::{Made, make_bag};
use crate::homes::{Running, nothing_is_left, open, work_to_the_end};
use crate::peers::rocfl_accepts;
use crate::program::Place;

const SMALL: Made = Made { small: 30, large: (1, 12 << 20), says: "scale" };

/// What lies in the bucket here.
const IN_BUCKET: &[&str] = &["secondary", "quarantine", "staging"];

/// Keys of contents in the second preservation store.
fn contents(double: &Double) -> Vec<String> {
    let mut keys = keys_below(double, "secondary/example.edu/");
    keys.retain(|key| key.contains("/content/"));
    keys
}

/// Damage in the bucket is found and mended out of the folder; the object comes back whole; peers accept the bucket.
fn damage_mend_and_give_back(place: &Place, double: &Double, object: &str, bag: &Path) {
    let whole = place.run(["fixity", "run", "--all", "--json"]).succeeds().object();
    assert_eq!((&whole["damaged"], &whole["failed"]), (&0.into(), &0.into()), "{whole}");
    let key = contents(double).into_iter().next().unwrap();
    let right = double.stored(&key).unwrap().bytes();
    let mut wrong = right.clone();
    wrong[0] ^= 1;
    double.lay(&key, &wrong);
    let damaged = place.run(["fixity", "run", "--all", "--json"]).object();
    assert_eq!((&damaged["damaged"], &damaged["repaired"]), (&1.into(), &1.into()), "{damaged}");
    assert_eq!(double.stored(&key).unwrap().bytes(), right);
    let is_kept = |key: &String| key.starts_with("quarantine/") && double.stored(key).unwrap().bytes() == wrong;
    assert!(double.keys().iter().any(is_kept), "the bad bytes are kept as evidence");
    fs::create_dir(place.path("back")).unwrap();
    let item = place.run(["restore", "object", object, "--to", "back", "--wait", "--json"]).succeeds().object();
    assert_eq!(item["status"], "succeeded", "{item}");
    let back = place.path("back").join(bag.file_name().unwrap());
    place.run(["bag", "validate", &back.to_string_lossy(), "--profile", "aptrust-2.3"]).succeeds();
    let out = place.path("out");
    copy_out(double, "secondary/example.edu/", &out);
    place.run(["ocfl", "validate", "out"]).succeeds();
    rocfl_accepts(&out);
}

#[test]
fn a_bucket_keeps_what_a_folder_keeps() {
    let double = Double::start().unwrap();
    let place = home_in(&double, None, IN_BUCKET, "");
    let bag = make_bag(&place.path(""), "letters", SMALL);
    place.run(["deposit", &bag.to_string_lossy(), "--wait"]).succeeds();
    nothing_is_left(&place);
    damage_mend_and_give_back(&place, &double, "example.edu/letters", &bag);
}

#[test]
fn contents_in_a_cold_class_are_attested_and_never_said_to_have_passed() {
    let double = Double::start().unwrap();
    let place = home_in(&double, None, IN_BUCKET, "storage_class = \"GLACIER\"\n");
    place.bag("greeting", "hello\n");
    place.run(["deposit", "greeting.tar", "--wait"]).succeeds();
    let classes: BTreeMap<String, Option<String>> = double
        .keys()
        .into_iter()
        .filter(|key| key.starts_with("secondary/example.edu/"))
        .map(|key| (key.clone(), double.stored(&key).unwrap().class))
        .collect();
    let cold = classes.values().filter(|class| class.as_deref() == Some("GLACIER")).count();
    let in_content = classes.keys().filter(|key| key.contains("/content/")).count();
    assert_eq!(cold, in_content - 1, "all contents but the record: {classes:?}");
    assert!(classes.iter().all(|(key, class)| class.is_none() || key.contains("/content/")), "{classes:?}");
    let coverage = |place: &Place| {
        let lines = place.run(["fixity", "report", "--json"]).succeeds().json();
        lines.into_iter().find(|line| line["store"] == "secondary").unwrap()
    };
    assert_eq!(coverage(&place)["attested"], in_content, "proved at ingest by the checksum of the service");
    let round = place.run(["fixity", "run", "--all", "--json"]).succeeds().object();
    assert_eq!((&round["attested"], &round["damaged"]), (&cold.into(), &0.into()), "{round}");
    let copies = place.run(["objects", "files", "example.edu/greeting", "--json"]).succeeds().json();
    let passed = |file: &Value| {
        let copies = file["copies"].as_array().unwrap();
        let copy = copies.iter().find(|copy| copy["store"] == "secondary").unwrap();
        !copy["last_fixity_at"].is_null()
    };
    assert!(!copies.iter().any(passed), "nothing that was not read has passed: {copies:?}");
}

#[test]
fn two_processes_do_the_whole_job_on_postgresql_a_bucket_and_a_folder() {
    let Some(scratch) = Scratch::new() else { return };
    let double = Double::start().unwrap();
    let place = home_in(&double, Some(&scratch.url()), IN_BUCKET, "");
    let bags = ["letters", "diaries", "maps"].map(|name| make_bag(&place.path(""), name, SMALL));
    let other = Running::start(&place, &["-q", "work"]);
    for bag in &bags {
        place.run(["deposit", &bag.to_string_lossy()]).succeeds();
    }
    work_to_the_end(&place, &[]);
    assert_eq!(other.terminate().code(), Some(0));
    nothing_is_left(&place);
    for name in ["letters", "diaries", "maps"] {
        let items = place.run(["objects", "show", &format!("example.edu/{name}"), "--json"]).succeeds().object();
        assert_eq!(items["head"], 1, "{items}");
    }
    damage_mend_and_give_back(&place, &double, "example.edu/letters", &bags[0]);
}

/// What a registry says that a person can see.
fn told(place: &Place) -> Vec<String> {
    [
        vec!["objects", "list", "--json"],
        vec!["objects", "files", "example.edu/greeting", "--json"],
        vec!["objects", "events", "example.edu/greeting", "--json"],
        vec!["items", "list", "--json"],
        vec!["institution", "list", "--json"],
    ]
    .into_iter()
    .map(|command| place.run(command).succeeds().stdout)
    .collect()
}

#[test]
fn a_registry_moves_to_postgresql_and_from_its_backup_into_another_database() {
    let (Some(first), Some(second)) = (Scratch::new(), Scratch::new()) else { return };
    let place = Place::with_home();
    place.bag("greeting", "hello\n");
    place.bag("farewell", "good bye\n");
    place.run(["deposit", "greeting.tar", "--wait"]).succeeds();
    // One that is still to be worked on.
    place.run(["deposit", "farewell.tar"]).succeeds();
    let before = told(&place);
    // As a worker has it open that has nothing to do.
    let home = open(&place);
    place.run(["migrate", "--to", &first.url()]).fails(4, &["in use", "workers"]);
    drop(home);
    let settings = fs::read_to_string(place.path("home/strongroom.toml")).unwrap();
    let moved = place.run(["migrate", "--to", &first.url(), "--json"]).succeeds().json();
    let old_address = [("STRONGROOM_REGISTRY__URL", "sqlite:registry.db")];
    let again = second.url();
    for command in [vec!["objects", "list"], vec!["schedule", "--once"], vec!["migrate", "--to", &again]] {
        place.run_with(&old_address, command).fails(2, &["its rows were moved to PostgreSQL", "registry.url"]);
    }
    let objects = moved.iter().find(|table| table["table"] == "objects").unwrap();
    assert_eq!(objects["rows"], 1, "{objects}");
    let changed = fs::read_to_string(place.path("home/strongroom.toml")).unwrap();
    assert_eq!(changed.lines().count(), settings.lines().count() + 1, "one line more: {changed}");
    assert_eq!(told(&place), before);
    work_to_the_end(&place, &[]);
    assert_eq!(place.run(["objects", "list", "--json"]).succeeds().json().len(), 2);

    let backup = place.run(["backup", "backups", "--json"]).succeeds().object();
    let backup = backup["backup"].as_str().unwrap();
    let kept = told(&place);
    place.run(["migrate", "--from", backup]).fails(2, &["has rows already"]);
    let elsewhere = second.url();
    let elsewhere = [("STRONGROOM_REGISTRY__URL", elsewhere.as_str())];
    place.run_with(&elsewhere, ["objects", "list"]).fails(3, &["there is no registry"]);
    place.run_with(&elsewhere, ["migrate", "--from", backup]).succeeds();
    fs::write(place.path("home/strongroom.toml"), changed.replace(&first.url(), &second.url())).unwrap();
    assert_eq!(told(&place), kept);
    place.bag("letter", "dear\n");
    place.run(["deposit", "letter.tar", "--wait"]).succeeds();
}

#[test]
fn a_damaged_backup_fills_nothing() {
    let (Some(first), Some(second)) = (Scratch::new(), Scratch::new()) else { return };
    let place = Place::empty();
    place.run(["init", "home", "--registry", &first.url()]).succeeds();
    let backup = place.run(["backup", "backups", "--json"]).succeeds().object();
    let backup = backup["backup"].as_str().unwrap();
    let rows = place.path(backup).join("registry/institutions.copy");
    let text = fs::read_to_string(&rows).unwrap();
    fs::write(&rows, text.replace("example.edu", "example.org")).unwrap();
    let url = second.url();
    let elsewhere = [("STRONGROOM_REGISTRY__URL", url.as_str())];
    place.run_with(&elsewhere, ["migrate", "--from", backup]).fails(2, &["institutions", "damaged"]);
    fs::write(&rows, text).unwrap();
    place.run_with(&elsewhere, ["migrate", "--from", backup]).succeeds();
    let listed = place.run_with(&elsewhere, ["institution", "list", "--json"]).succeeds().object();
    assert_eq!(listed["institution"], "example.edu");
}

#[test]
fn a_check_of_stores_that_the_journal_cannot_have_is_not_done() {
    let Some(registry) = Scratch::new() else { return };
    let place = Place::empty();
    place.run(["init", "home", "--registry", &registry.url()]).succeeds();
    place.run(["store", "check"]).succeeds();
    // A role that may only read (PostgreSQL, "Predefined Roles").
    let url = format!("{}%20-crole%3Dpg_read_all_data", registry.url());
    let checked = place.run_with(&[("STRONGROOM_REGISTRY__URL", url.as_str())], ["store", "check", "--json"]);
    assert!(matches!(checked.code, Some(4 | 5)), "{checked:?}");
    assert!(checked.json().iter().all(|store| store["ok"] == true), "{checked:?}");
    assert!(checked.stderr.contains("could not record in the journal that the stores were checked"), "{checked:?}");
}
