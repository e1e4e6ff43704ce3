//! What the program says of its own state, and of damage.

use std::fs;
use std::sync::Arc;

use strongroom_database::{Clock as _, SystemClock};
use strongroom_registry::Registry;
use strongroom_registry::schedules::{self, Due};

use crate::program::{Place, assert_keys};

/// What is kept.
const OBJECT: &str = "example.edu/greeting";

/// A home that keeps one bag.
fn with_object() -> Place {
    let place = Place::with_home();
    place.bag("greeting", "hello\n");
    place.run(["deposit", "greeting.tar", "--wait"]).succeeds();
    place
}

/// The copies of the bag's payload in both stores.
fn copies(place: &Place) -> Vec<std::path::PathBuf> {
    let files = place.files("home/stores").into_iter();
    let copies: Vec<_> = files.filter(|(_, bytes)| bytes == b"hello\n").map(|(path, _)| path).collect();
    assert_eq!(copies.len(), 2);
    copies
}

fn health(place: &Place, object: &str) -> serde_json::Value {
    let shown = place.run(["objects", "show", object, "--json"]).succeeds().object()["health"].clone();
    let listed = place.run(["objects", "list", "--json"]).succeeds().object()["health"].clone();
    assert_eq!(shown, listed);
    shown
}

#[test]
fn damage_is_seen_where_people_look() {
    let place = with_object();
    assert_eq!(health(&place, OBJECT), "ok");
    place.run(["store", "check"]).succeeds();
    place.run(["config", "check"]).succeeds();
    for copy in copies(&place) {
        fs::write(copy, "hullo\n").unwrap();
    }
    place.run(["fixity", "run", "--all"]);
    assert_eq!(health(&place, OBJECT), "damaged");
    let listed = place.run(["objects", "list"]).succeeds().stdout;
    assert!(listed.contains("HEALTH") && listed.contains("damaged"), "{listed}");
    let checked = place.run(["store", "check", "primary", "--json"]);
    assert_eq!(checked.code, Some(1), "{checked:?}");
    let checked = checked.object();
    assert_eq!((&checked["ok"], &checked["problems"]), (&false.into(), &1.into()), "{checked}");
    let checked = place.run(["config", "check"]);
    assert_eq!(checked.code, Some(1), "{checked:?}");
    assert!(checked.stderr.contains("fixity problems"), "{checked:?}");
    let status = place.run(["status", "--json"]).succeeds().object();
    assert_eq!(status["review"]["problems"], 2);
    assert_eq!(status["fixity"]["problems"]["damaged"], 2);
    let said = place.run(["status"]).succeeds().stdout;
    assert!(said.contains("2 open findings"), "{said}");
    let is_utc =
        |word: &str| word.len() > 16 && word.get(10..11) == Some("T") && word.trim_end_matches(',').ends_with('Z');
    assert!(!said.split_whitespace().any(is_utc), "times are local: {said}");
    let report = place.run(["fixity", "report", "--json"]).succeeds().json();
    assert!(report.iter().all(|store| (store["due_now"] == true) == store["oldest"].is_null()), "{report:?}");
}

#[test]
fn a_copy_that_is_due_whatever_its_age_has_no_time_of_a_check() {
    let place = with_object();
    place.run(["store", "retire", "secondary", "--allow-one-copy"]).succeeds();
    place.run(["store", "retire", "secondary", "--undo"]).succeeds();
    let report = place.run(["fixity", "report", "--json"]).succeeds().json();
    let secondary = report.iter().find(|store| store["store"] == "secondary").unwrap();
    assert_eq!((&secondary["due_now"], &secondary["oldest"]), (&true.into(), &serde_json::Value::Null), "{secondary}");
    assert!(place.run(["fixity", "report"]).succeeds().stdout.contains("due now"));
}

#[test]
fn a_registry_that_is_behind_is_told_of_and_fails_checks() {
    let place = with_object();
    let backup = place.run(["backup", "backups", "--json"]).succeeds().object();
    place.bag("farewell", "goodbye\n");
    place.run(["deposit", "farewell.tar", "--wait"]).succeeds();
    for suffix in ["", "-wal", "-shm"] {
        let _ = fs::remove_file(place.path(&format!("home/registry.db{suffix}")));
    }
    fs::copy(place.path(backup["registry"].as_str().unwrap()), place.path("home/registry.db")).unwrap();
    let checked = place.run(["config", "check", "--json"]);
    assert_eq!(checked.code, Some(4), "{checked:?}");
    let registry = checked.json().into_iter().find(|line| line["check"] == "registry").unwrap();
    assert_eq!(registry["ok"], false, "{registry}");
    assert!(checked.stderr.contains("rebuild --adopt"), "{checked:?}");
    let status = place.run(["status", "--json"]).succeeds().object();
    assert_eq!(status["review"]["registry_read_only"], true, "{status}");
    let said = place.run(["status"]).succeeds().stdout;
    assert!(said.contains("READ-ONLY: ") && said.contains("rebuild --adopt"), "{said}");
    place.run(["fixity", "run"]).fails(4, &["read-only"]);
    place.run(["rebuild", "--adopt"]).succeeds();
    place.run(["config", "check"]).succeeds();
}

#[test]
fn what_was_checked_on_demand_is_the_last_round() {
    let place = with_object();
    let fixity = |place: &Place| place.run(["status", "--json"]).succeeds().object()["fixity"].clone();
    assert!(fixity(&place)["last_round"].is_null());
    place.run(["fixity", "run", "--all"]).succeeds();
    let seen = fixity(&place);
    assert!(seen["last_round"].is_string() && seen["oldest_check"].is_string(), "{seen}");
    assert_eq!(seen["due_now"], false);
    fs::remove_file(place.path("home/registry.db")).unwrap();
    place.run(["rebuild"]).succeeds();
    let seen = fixity(&place);
    assert_eq!((&seen["oldest_check"], &seen["due_now"]), (&serde_json::Value::Null, &true.into()), "{seen}");
    let said = place.run(["status"]).succeeds().stdout;
    assert!(said.contains("oldest check due now") && !said.contains("1970"), "{said}");
}

#[test]
fn what_is_held_or_paused_is_to_be_looked_at() {
    let place = Place::with_home();
    place.bag("greeting", "hello\n");
    let item = place.run(["deposit", "greeting.tar", "--json"]).succeeds().object();
    let item = item["item"].as_str().unwrap();
    place.run(["items", "hold", item]).succeeds();
    place.run(["queue", "pause", "ingest.fetch"]).succeeds();
    let said = place.run(["status"]).succeeds().stdout;
    assert!(
        said.contains("1 work item held (strongroom items list --status held)") && said.contains("1 topic paused"),
        "{said}"
    );
    assert!(said.contains(item), "{said}");
    place.run(["queue", "pause", "--all"]).succeeds();
    let status = place.run(["status", "--json"]).succeeds().object();
    assert_eq!((&status["review"]["held"], &status["review"]["all_paused"]), (&1.into(), &true.into()));
    let said = place.run(["status"]).succeeds().stdout;
    assert!(said.contains("all topics are paused"), "{said}");
}

#[test]
fn what_fails_is_named_at_once_with_the_command_that_shows_it() {
    // Nothing answers at this port.
    const MAIL: [(&str, &str); 5] = [
        ("STRONGROOM_MAIL__HOST", "127.0.0.1"),
        ("STRONGROOM_MAIL__PORT", "1"),
        ("STRONGROOM_MAIL__TLS", "none"),
        ("STRONGROOM_MAIL__FROM", "strongroom@example.edu"),
        ("STRONGROOM_MAIL__ADMINS", "admins@example.edu"),
    ];
    let place = Place::with_home();
    for name in ["one.tar", "two.tar"] {
        place.write(name, "no bag");
    }
    let deposit = ["deposit", "one.tar", "two.tar", "--type", "bag", "--collection", "default", "--wait", "--json"];
    let ended = place.run_with(&MAIL, deposit).json();
    let (batch, item) = (ended[0]["batch"].as_str().unwrap(), ended[0]["item"].as_str().unwrap());
    place.run_with(&MAIL, ["background", "run", "outbox"]);
    let hold = ["collection", "hold", "default", "--institution", "example.edu", "--reason", "rights"];
    place.run(hold).succeeds();
    let said = place.run(["status"]).succeeds().stdout;
    for words in [
        "2 work items to review (strongroom items list --needs-review)",
        item,
        "1 batch with work items to review (strongroom items failures)",
        &format!("{batch} of example.edu/default, failed: 2 to review (strongroom batches report {batch})"),
        "collection example.edu/default held since ",
        ": rights (strongroom collection release default --institution example.edu)",
        "1 message not delivered yet, after an error (strongroom outbox list --waiting)",
        "outbox      1 message waits to be sent, the oldest since ",
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
    let review = place.run(["status", "--json"]).succeeds().object()["review"].clone();
    assert_eq!((&review["failing_messages"], &review["undeliverable_messages"]), (&1.into(), &0.into()), "{review}");
    assert!(review["message_error"].is_string(), "{review}");
    assert_eq!(
        (&review["batches"][0]["batch"], &review["batches"][0]["items"]),
        (&batch.into(), &2.into()),
        "{review}"
    );
    // The message by all commands: nothing of it is cut at 80 columns, and what it is about is named.
    let message = place.run(["outbox", "list", "--waiting", "--json"]).succeeds().object();
    let id = message["message"].as_str().unwrap();
    let again = message["next_attempt_at"].as_str().unwrap();
    assert!(message["next"].as_str().is_some_and(|next| next.contains(again)), "{message}");
    let listed = place.run(["outbox", "list", "--waiting"]).succeeds().stdout;
    assert!(listed.contains("NEXT ATTEMPT AT"), "{listed}");
    let listed = place.run(["outbox", "list"]).succeeds().stdout;
    assert!(listed.contains("strongroom outbox list --waiting"), "{listed}");
    let (code, screen) = place.run_by_typing(80, &["batches", "show", batch], "");
    assert_eq!(code, Some(0), "{screen}");
    assert!(screen.contains(&format!("Message {id}")), "{screen}");
    assert!(screen.contains("to admins@example.edu") && screen.contains(" waiting"), "{screen}");
    let listed = place.run(["outbox", "list", "--waiting", "--long"]).succeeds().stdout;
    assert!(listed.contains(batch), "{listed}");
    let said = place.run(["outbox", "send", "--batch", batch]).succeeds().stdout;
    assert!(said.ends_with("1 message waits to be sent, 0 need review\n"), "{said}");
    let entries = review["entries"].as_array().unwrap();
    assert!(entries.iter().all(|entry| entry["next"].as_str().unwrap().starts_with("strongroom ")), "{review}");
}

#[test]
fn a_copy_that_is_gone_is_no_health() {
    let place = with_object();
    for copy in copies(&place) {
        fs::remove_file(copy).unwrap();
    }
    place.run(["fixity", "run", "--all"]);
    assert_eq!(health(&place, OBJECT), "missing copies");
}

#[test]
fn status_is_one_page_that_shows_a_store_that_is_away() {
    let place = Place::with_home();
    let status = place.run(["status", "--json"]).succeeds().object();
    assert_keys(
        &status,
        &[
            "read_only",
            "requested_deletions",
            "second_factors",
            "items",
            "items_at_least",
            "review",
            "queue",
            "stores",
            "backfill",
            "fixity",
            "uploads",
            "notices",
            "outbox",
            "background",
            "staging",
            "storage_quotas",
            "tables",
            "tables_at_least",
            "tables_counted_at",
        ],
    );
    assert!(status["stores"].as_array().unwrap().iter().all(|store| store["reachable"] == true), "{status}");
    assert!(status["stores"][0]["free"].is_number(), "{status}");
    assert!(status["tables"]["events"].is_number(), "{status}");
    fs::rename(place.path("home/stores/secondary"), place.path("away")).unwrap();
    let status = place.run(["status", "--json"]).succeeds().object();
    let stores = status["stores"].as_array().unwrap();
    let away: Vec<_> = stores.iter().filter(|store| store["reachable"] == false).map(|store| &store["store"]).collect();
    assert_eq!(away, ["secondary"]);
    assert_eq!(status["review"]["stores_away"], 1);
    let said = place.run(["status"]).succeeds().stdout;
    assert!(said.contains("AWAY: ") && said.lines().count() < 30, "{said}");
}

#[test]
fn an_item_that_a_later_deposit_put_right_needs_no_review() {
    let place = Place::with_home();
    place.bag("greeting", "hello\n");
    let whole = fs::read(place.path("greeting.tar")).unwrap();
    // What is read and cannot be understood: it fails at once, and a person is asked.
    place.write("greeting.tar", b"no archive at all");
    place.run(["deposit", "greeting.tar", "--wait"]);
    let review = |place: &Place| place.run(["items", "list", "--needs-review", "--json"]).succeeds().json().len();
    assert_eq!(review(&place), 1);
    place.write("greeting.tar", whole);
    place.run(["deposit", "greeting.tar", "--wait"]).succeeds();
    assert_eq!(review(&place), 0);
}

/// A root is not called valid while an object of it is not.
#[test]
fn a_storage_root_with_an_invalid_object_is_invalid() {
    let place = with_object();
    for copy in copies(&place) {
        fs::write(copy, "hullo\n").unwrap();
    }
    let root = "home/stores/primary/example.edu";
    let told = place.run(["ocfl", "validate", root]);
    assert_eq!(told.code, Some(1));
    assert!(told.stdout.trim_end().ends_with(": invalid (1 objects, 1 of them invalid)"), "{}", told.stdout);
    let lines = place.run(["ocfl", "validate", root, "--json"]).json();
    assert!(lines.iter().all(|line| line["verdict"] == "invalid"), "{lines:?}");
}

#[test]
fn a_background_task_that_fails_is_to_be_looked_at() {
    let place = Place::with_home();
    place.run(["background", "run", "receiving"]).succeeds();
    let (store, away) = (place.path("home/stores/receiving"), place.path("away"));
    fs::rename(&store, &away).unwrap();
    let failed = place.run(["background", "run", "receiving"]);
    assert_eq!(failed.code, Some(5), "{failed:?}");
    let status = place.run(["status", "--json"]).succeeds().object();
    assert_eq!(status["review"]["failed_background_tasks"], 1, "{status}");
    let task = &status["background"][0];
    assert_keys(
        task,
        &["task", "last_run_at", "result", "error", "error_since", "next_run_at", "running", "running_since"],
    );
    assert!(task["error"].is_string() && task["error_since"].is_string() && task["result"].is_string(), "{task}");
    let said = place.run(["status"]).succeeds().stdout;
    assert!(said.contains("1 background task failed (strongroom background list)"), "{said}");
    assert!(said.lines().any(|line| line.contains("receiving: last") && line.contains("FAILED since")), "{said}");
    let listed = place.run(["background", "list"]).succeeds().stdout;
    assert!(listed.lines().any(|line| line.starts_with("receiving") && line.contains("FAILED since")), "{listed}");
    fs::rename(&away, &store).unwrap();
    place.run(["background", "run", "receiving"]).succeeds();
    let status = place.run(["status", "--json"]).succeeds().object();
    assert_eq!(status["review"]["failed_background_tasks"], 0, "{status}");
}

#[test]
fn a_background_task_that_another_process_runs_is_left_to_it() {
    let place = Place::with_home();
    let registry = Registry::open_sqlite(&place.path("home/registry.db"), Arc::new(SystemClock)).unwrap();
    let until = SystemClock.now().plus(600_000_000);
    registry.write(move |tx| schedules::take(tx, "fixity", Due::Now, "another", until)).unwrap();
    place.run(["background", "run", "fixity"]).fails(4, &["another process runs", "another", "background list"]);
    let listed = place.run(["background", "list", "--json"]).succeeds().json();
    let fixity = listed.iter().find(|task| task["task"] == "fixity").unwrap();
    assert_eq!(fixity["holder"], "another");
    assert!(place.run(["status"]).succeeds().stdout.lines().any(|line| line.contains("fixity: last never")));
}
