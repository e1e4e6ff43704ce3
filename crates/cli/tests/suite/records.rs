//! Institutions, collections, items, batches, objects and the queue, as scripts see them.

use std::process::Command;

use serde_json::json;

use crate::program::{Answer, Place, assert_keys};

#[test]
fn institutions_are_added_changed_and_put_away() {
    let place = Place::with_home();
    place.run(["institution", "add", "Other.Edu"]).fails(2, &["Other.Edu", "lower case"]);
    place.run(["institution", "add", "other.edu", "--name", "Other"]).succeeds();
    place.run(["institution", "add", "other.edu"]).fails(2, &["other.edu", "exists already"]);
    place.run(["institution", "set", "other.edu", "--name", "Another"]).succeeds();
    let removed = place.run(["institution", "remove", "other.edu", "--json"]).succeeds().object();
    assert_keys(
        &removed,
        &["institution", "name", "active", "staging_quota", "storage_quota", "second_factor_required", "created_at"],
    );
    assert_eq!(removed["active"], false);
    assert_eq!(removed["name"], "Another");
    place.bag("greeting", "hello\n");
    place.run(["deposit", "greeting.tar", "--institution", "other.edu"]).fails(2, &["other.edu", "deactivated"]);
    place.run(["institution", "set", "other.edu", "--active", "true"]).succeeds();
    place.run(["deposit", "greeting.tar", "--institution", "other.edu"]).succeeds();
}

#[test]
fn collections_have_rules_that_exist() {
    let place = Place::with_home();
    let which =
        |command: &'static str, name: &'static str| vec!["collection", command, name, "--institution", "example.edu"];
    let with = |mut arguments: Vec<&'static str>, more: &[&'static str]| {
        arguments.extend_from_slice(more);
        arguments
    };
    place.run(with(which("add", "theses"), &["--placement", "Standart"])).fails(2, &["Standart", "Standard"]);
    place.run(with(which("add", "theses"), &["--profile", "aptrst-2.3"])).fails(2, &["aptrust-2.3"]);
    place.run(which("show", "theses")).fails(3, &["theses"]);
    place.run(with(which("add", "theses"), &["--placement", "Wasabi-OR", "--held", "true"])).succeeds();
    let shown = place.run(with(which("show", "theses"), &["--json"])).succeeds().object();
    assert_keys(
        &shown,
        &[
            "collection",
            "institution",
            "name",
            "profile",
            "profile_version",
            "placement",
            "held",
            "public",
            "embargo_until",
            "priority",
            "accepted",
            "max_size",
            "max_rows",
            "shoulder",
            "retention",
            "disposal",
            "rules_version",
            "notify_to",
            "suppress",
            "callback_url",
            "callback_required",
            "active",
            "created_at",
            "holds",
            "legal_holds",
        ],
    );
    assert_eq!(shown["placement"], "Wasabi-OR");
    assert_eq!(shown["held"], true);
    let set = place.run(with(which("set", "theses"), &["--placement", "", "--json"])).succeeds().object();
    assert_eq!(set["placement"], serde_json::Value::Null);
    assert_eq!(set["held"], true, "what is not said stays");
}

#[test]
fn a_deposit_waits_for_workers_and_can_be_steered() {
    let place = Place::with_home();
    place.bag("greeting", "hello\n");
    let made = place.run(["deposit", "greeting.tar", "--json"]).succeeds().object();
    let (item, batch) = (made["item"].as_str().unwrap(), made["batch"].as_str().unwrap());
    let shown = place.run(["items", "show", item, "--json"]).succeeds().object();
    assert_keys(
        &shown,
        &[
            "actor",
            "item",
            "batch",
            "action",
            "institution",
            "collection",
            "object",
            "name",
            "part",
            "parts",
            "file",
            "stage",
            "topic",
            "status",
            "priority",
            "attempts",
            "retry_count",
            "requeues",
            "holds",
            "needs_review",
            "requested",
            "requested_by",
            "holder",
            "lease_until",
            "note",
            "next",
            "problems",
            "restored",
            "created_at",
            "updated_at",
            "waits_for",
            "waits_until",
            "paused",
            "size",
        ],
    );
    assert_eq!(shown["status"], "pending");
    assert_eq!(shown["stage"], "receive");
    let queue = place.run(["queue", "list", "--json"]).succeeds().json();
    let topic = queue.iter().find(|topic| topic["topic"] == "ingest.receive").unwrap();
    assert_keys(topic, &["topic", "ready", "delayed", "leased", "dead", "oldest_ready_seconds", "paused"]);
    assert_eq!(topic["ready"], 1);
    place.run(["items", "hold", item]).succeeds();
    place.run(["items", "requeue", item]).fails(4, &["held"]);
    assert_eq!(place.run(["items", "list", "--status", "held", "--json"]).succeeds().json().len(), 1);
    assert_eq!(place.run(["items", "list", "--status", "pending", "--json"]).succeeds().json().len(), 0);
    let provisional = place.run(["batches", "report", batch, "--json"]).json();
    assert_eq!((&provisional[0]["kind"], &provisional[0]["held"]), (&"provisional".into(), &1.into()));
    assert_eq!(provisional[1]["state"], "held");
    place.run(["batches", "release", batch]).fails(4, &["no hold on it", "items release"]);
    place.run(["items", "release", item]).succeeds();
    let cancelled = place.run(["batches", "cancel", batch, "--json"]).succeeds().object();
    assert_eq!(cancelled["open"], 0);
    let report = place.run(["batches", "report", batch, "--json"]);
    assert_eq!(report.code, Some(1), "{report:?}");
    let lines = report.json();
    assert_eq!(lines.len(), 2, "the report and its item");
    assert_keys(
        &lines[0],
        &[
            "batch",
            "number",
            "kind",
            "made_at",
            "made_by",
            "state",
            "deleted_at",
            "institution",
            "collection",
            "submitted",
            "submitted_by",
            "submitted_at",
            "note",
            "items",
            "succeeded",
            "failed",
            "cancelled",
            "deleted",
            "held",
            "open",
            "changed",
            "unresolved",
            "complete",
        ],
    );
    assert_keys(
        &lines[1],
        &[
            "row",
            "name",
            "state",
            "object",
            "version",
            "ark",
            "local_ids",
            "stage",
            "code",
            "message",
            "changed",
            "unresolved",
            "item",
        ],
    );
    assert_eq!(
        (&lines[0]["kind"], &lines[0]["cancelled"], &lines[1]["state"]),
        (&"final".into(), &1.into(), &"cancelled".into())
    );
    let listed = place.run(["batches", "reports", batch, "--json"]).succeeds().json();
    assert_eq!((listed.len(), &listed[1]), (2, &lines[0]), "the provisional one, and the final one");
    let again = place.run(["batches", "report", batch, "--number", "2", "--format", "json"]);
    assert_eq!(again.json(), lines, "a report does not change");
    place.run(["batches", "report", batch, "--number", "3"]).fails(3, &["no report 3", "batches reports"]);
    place.run(["batches", "report", batch, "--update"]).fails(4, &["nothing of it has changed", "batches reports"]);
    let csv = place.run(["batches", "report", batch, "--csv"]);
    assert_eq!((csv.code, csv.stdout.lines().count()), (Some(1), 2), "{csv:?}");
    let history = place.run(["items", "history", item, "--json"]).succeeds().json();
    let statuses: Vec<_> = history.iter().map(|line| line["status"].as_str().unwrap()).collect();
    assert_eq!(statuses, ["pending", "held", "pending", "cancelled"]);
    place.run(["items", "delete", item]).succeeds();
    assert_eq!(place.run(["items", "show", item, "--json"]).succeeds().object()["status"], "deleted");
}

#[test]
fn a_request_for_several_items_is_carried_out_for_all_or_none() {
    let place = Place::with_home();
    place.bag("one", "1\n");
    place.bag("two", "2\n");
    let made = place.run(["deposit", "one.tar", "two.tar", "--json"]).succeeds().json();
    let ids: Vec<&str> = made.iter().map(|item| item["item"].as_str().unwrap()).collect();
    place.run(["items", "hold", ids[0]]).succeeds();
    place.run(["items", "release", ids[0], ids[1]]).fails(4, &["not held"]);
    assert_eq!(place.run(["items", "show", ids[0], "--json"]).succeeds().object()["status"], "held");
}

#[test]
fn topics_are_paused_and_emptied() {
    let place = Place::with_home();
    place.bag("greeting", "hello\n");
    place.run(["deposit", "greeting.tar"]).succeeds();
    let paused = place.run(["queue", "pause", "ingest.receive", "--json"]).succeeds().object();
    assert_eq!(paused["paused"], true);
    let resumed = place.run(["queue", "resume", "ingest.receive", "--json"]).succeeds().object();
    assert_eq!(resumed["paused"], false);
    let task = place.run(["queue", "show", "ingest.receive", "--json"]).succeeds().object();
    assert_eq!(task["state"], "ready");
    let emptied = place.run(["queue", "empty", "ingest.receive", "--json"]).succeeds().object();
    assert_eq!(emptied["tasks"], 1);
    assert_eq!(place.run(["queue", "dead", "--json"]).succeeds().stdout, "");
}

#[test]
fn acts_on_the_installation_are_in_the_journal() {
    let place = Place::with_home_and_admin("ann@example.edu");
    place.run(["--as", "ann@example.edu", "store", "retire", "primary", "--allow-one-copy"]).succeeds();
    place.run(["--as", "ann@example.edu", "store", "retire", "primary", "--undo"]).succeeds();
    place.run(["--as", "ann@example.edu", "store", "create", "secondary"]).succeeds();
    place.run(["--as", "ann@example.edu", "store", "replace", "secondary"]).fails(2, &["nothing is replaced"]);
    place.run(["--as", "ann@example.edu", "rebuild", "--adopt", "--dry-run"]).succeeds();
    place.run(["--as", "ann@example.edu", "rebuild", "--adopt"]).succeeds();
    place.run(["--as", "ann@example.edu", "backup", "backups"]).succeeds();
    let lines = place.run(["journal", "list", "--json"]).succeeds().json();
    let text = |line: &serde_json::Value, key: &str| line[key].as_str().unwrap().to_owned();
    assert_eq!((text(&lines[0], "act"), text(&lines[0], "kind")), ("installation.init".into(), "console".into()));
    let told: Vec<String> = lines
        .iter()
        .filter(|line| line["actor"] == "ann@example.edu")
        .map(|line| ["act", "target", "outcome"].map(|key| text(line, key)).join(" "))
        .collect();
    assert_eq!(
        told,
        [
            "stores.retire primary done",
            "stores.use primary begun",
            "stores.use primary done",
            "stores.create secondary begun",
            "stores.create secondary done",
            "stores.replace secondary begun",
            "stores.replace secondary failed",
            "registry.adopt the registry, from all stores begun",
            "registry.adopt the registry, from all stores done",
        ]
    );
}

#[test]
fn a_profile_is_read_from_standard_input_and_given_back_byte_for_byte() {
    let place = Place::with_home();
    let document = place.run(["profile", "show", "btr", "--document"]).succeeds().stdout;
    let file = place.write("btr.json", &document);
    let add = |arguments: &[&str]| {
        let input = std::fs::File::open(&file).unwrap();
        Answer::of(place.command().args(["profile", "add", "-"]).args(arguments).stdin(input))
    };
    add(&[]).fails(2, &["--name"]);
    add(&["--name", "btr-1.0"]).succeeds();
    add(&["--name", "Ours", "--json"]).succeeds();
    assert_eq!(place.run(["profile", "show", "ours", "--document"]).succeeds().stdout, document);
    let shown = place.run(["profile", "show", "ours", "--document", "--json"]).succeeds().object();
    assert_keys(&shown, &["profile", "version", "document"]);
    assert_eq!(shown["document"], document);
    place.run(["profile", "add", "nowhere.json"]).fails(3, &["nowhere.json"]);
    place.run(["profile", "add", "btr.json", "--name", "none"]).fails(2, &["none"]);
    place.run(["profile", "show", "ours", "--version", "7"]).fails(3, &["ours version 7", "profile list"]);
}

#[test]
fn a_collection_and_a_list_are_restored_as_batches_with_receipts() {
    let place = Place::with_home();
    place.run(["collection", "add", "papers", "--institution", "example.edu"]).succeeds();
    for name in ["one", "two"] {
        place.bag(name, name);
        let bag = format!("{name}.tar");
        place.run(["deposit", &bag, "--collection", "papers", "--wait"]).succeeds();
    }
    let all = place.run(["restore", "--collection", "example.edu/papers", "--to", "back", "--wait", "--json"]);
    let items = all.succeeds().json();
    assert_eq!(items.len(), 3, "two objects, and what tells of them: {items:?}");
    assert!(items.iter().all(|item| item["status"] == "succeeded"), "{items:?}");
    let batch = items[0]["batch"].as_str().unwrap();
    let receipt = std::fs::read_to_string(place.path(&format!("back/restoration-{batch}.json"))).unwrap();
    let receipt: serde_json::Value = serde_json::from_str(&receipt).unwrap();
    assert_keys(
        &receipt,
        &[
            "batch",
            "institution",
            "collection",
            "requested_by",
            "requested_at",
            "objects",
            "total",
            "succeeded",
            "bytes",
        ],
    );
    let keys = ["object", "version", "item", "outcome", "name", "size", "sha256", "ended_at", "note"];
    assert_keys(&receipt["objects"][0], &keys);
    assert!(place.path("back/one.tar").is_file() && place.path("back/two.tar").is_file());

    std::fs::write(place.path("wanted.txt"), "example.edu/one\n\n  example.edu/none \nexample.edu/nothing\n").unwrap();
    let unknown = ["restore", "--list", "wanted.txt", "--json"];
    place.run(unknown).fails(3, &["example.edu/none", "example.edu/nothing", "nothing is made"]);
    std::fs::write(place.path("wanted.txt"), "example.edu/one\r\nexample.edu/one").unwrap();
    let made = place.run(unknown).succeeds().object();
    assert_keys(&made, &["batch", "item"]);
    let made = place.run(["batches", "show", made["batch"].as_str().unwrap(), "--json"]).succeeds().object();
    assert_eq!((&made["kind"], &made["state"], &made["open"]), (&"restoration".into(), &"pending".into(), &1.into()));
    place.run(["restore", "--collection", "papers"]).fails(2, &["INSTITUTION/COLLECTION"]);
    place.run(["restore", "--collection", "example.edu/none"]).fails(3, &["none"]);
    place.run(["restore", "--list", "absent.txt"]).fails(3, &["absent.txt"]);
    place.run(["restore"]).fails(2, &["--collection"]);
}

#[test]
fn the_items_of_an_object_are_listed_with_who_asked_for_them() {
    let place = Place::with_home_and_admin("ann@example.edu");
    place.bag("letters", "hello\n");
    place.bag("diaries", "goodbye\n");
    place.run(["--as", "ann@example.edu", "deposit", "letters.tar", "diaries.tar"]).succeeds();
    let list = |arguments: &[&str]| place.run(["items", "list"].iter().chain(arguments)).succeeds();
    let found = list(&["--object", "example.edu/letters", "--json"]).object();
    assert_eq!((&found["object"], &found["actor"]), (&"example.edu/letters".into(), &"ann@example.edu".into()));
    assert!(
        list(&["--object", "example.edu/letters", "--long"]).stdout.contains("ann@example.edu"),
        "the text has it, too"
    );
    assert!(list(&["--object", "example.edu/maps", "--json"]).json().is_empty());
    place.run(["items", "list", "--object", "other.edu/letters"]).fails(3, &["other.edu"]);
    place.run(["items", "list", "--object", "letters"]).fails(2, &["example.edu/letters"]);
}

#[test]
fn a_check_of_a_store_is_in_the_journal() {
    let place = Place::with_home_and_admin("ann@example.edu");
    place.run(["--as", "ann@example.edu", "store", "check", "primary"]).succeeds();
    let lines = place.run(["journal", "list", "--json"]).succeeds().json();
    let last = lines.iter().find(|line| line["act"] == "stores.check").unwrap();
    let told = [&last["actor"], &last["target"], &last["outcome"]];
    assert_eq!(told, [&"ann@example.edu".into(), &"primary".into(), &"done".into()] as [&serde_json::Value; 3]);
}

#[test]
fn the_journal_is_listed_by_actor_whoever_asks() {
    let place = Place::with_home_and_admin("ann@example.edu");
    place.run(["user", "add", "bob@example.edu", "--role", "system_admin"]).succeeds();
    place.run(["--as", "Ann@Example.edu", "queue", "pause", "ingest.fetch"]).succeeds();
    let acts = |arguments: &[&str]| -> Vec<String> {
        let lines = place.run(["--json"].iter().chain(arguments)).succeeds().json();
        lines.iter().map(|line| line["act"].as_str().unwrap().to_owned()).collect()
    };
    let all = acts(&["journal", "list"]);
    assert_eq!(all.len(), 4, "{all:?}");
    assert_eq!(acts(&["--as", "bob@example.edu", "journal", "list"]), all, "who asks is no filter");
    for name in ["ann@example.edu", "ANN@example.EDU"] {
        assert_eq!(acts(&["journal", "list", "--actor", name]), ["queues.pause"]);
    }
    let init = place.run(["journal", "list", "--json"]).succeeds().json().remove(0);
    let of_account = acts(&["journal", "list", "--actor", init["actor"].as_str().unwrap()]);
    assert_eq!(of_account, all, "an account has done what was done by it for users");
    let none = place.run(["journal", "list", "--actor", "carol@example.edu"]).succeeds().stdout;
    assert_eq!(none.trim(), "no lines match");
}

#[test]
fn the_actor_is_the_account_of_the_process_whatever_the_environment_says() {
    let place = Place::with_home();
    let account = Command::new("id").arg("-un").output().unwrap();
    let account = String::from_utf8(account.stdout).unwrap().trim().to_owned();
    place.run_with(&[("USER", "mallory"), ("LOGNAME", "mallory")], ["queue", "pause", "ingest.fetch"]).succeeds();
    let mut bare = place.command();
    bare.env_clear().env("STRONGROOM_HOME", "home");
    Answer::of(bare.args(["queue", "resume", "ingest.fetch"])).succeeds();
    let lines = place.run(["journal", "list", "--json"]).succeeds().json();
    assert_eq!(lines.len(), 3);
    assert!(lines.iter().all(|line| line["actor"] == account.as_str()), "{lines:?}");
}

#[test]
fn a_request_for_a_batch_that_would_change_nothing_is_refused_and_not_journalled() {
    let place = Place::with_home();
    place.bag("greeting", "hello\n");
    let item = place.run(["deposit", "greeting.tar", "--wait", "--json"]).succeeds().object();
    let batch = item["batch"].as_str().unwrap();
    for act in ["hold", "release", "cancel"] {
        place.run(["batches", act, batch]).fails(4, &[act, "completed", "batches report"]);
    }
    let deleted = place.run(["batches", "delete", batch, "--json"]).succeeds().object();
    assert_eq!((&deleted["deleted"], &deleted["succeeded"]), (&1.into(), &0.into()));
    place.run(["batches", "delete", batch]).fails(4, &["deleted before"]);
    let lines = place.run(["journal", "list", "--json"]).succeeds().json();
    let of_batches: Vec<_> =
        lines.iter().filter(|line| line["act"].as_str().unwrap().starts_with("batches.")).collect();
    let outcomes: Vec<_> = of_batches.iter().map(|line| line["outcome"].as_str()).collect();
    assert_eq!(outcomes, [Some("begun"), Some("done")], "{of_batches:?}");
}

#[test]
fn a_hold_on_a_collection_holds_what_arrives_and_is_named_until_it_is_lifted() {
    let place = Place::with_home_and_admin("ann@example.edu");
    place.bag("greeting", "hello\n");
    let which = |act| ["collection", act, "default", "--institution", "example.edu", "--json"];
    let hold = ["--as", "ann@example.edu", "collection", "hold", "default", "--institution", "example.edu"];
    place.run([&hold[..], &["--reason", "rights", "--json"]].concat()).succeeds();
    place.run(hold).fails(4, &["could not hold", "ann@example.edu", "rights", "collection show default"]);
    let shown = place.run(which("show")).succeeds().object();
    let told = &shown["holds"][0];
    assert_eq!((&told["kind"], &told["on"]), (&"collection".into(), &"example.edu/default".into()));
    assert_eq!(
        (&told["by"], &told["reason"], &shown["held"]),
        (&"ann@example.edu".into(), &"rights".into(), &true.into())
    );
    let made = place.run(["deposit", "greeting.tar", "--collection", "default", "--json"]).succeeds().object();
    let (item, batch) = (made["item"].as_str().unwrap(), made["batch"].as_str().unwrap());
    let item_now = || place.run(["items", "show", item, "--json"]).succeeds().object();
    assert_eq!((&item_now()["status"], &item_now()["holds"][0]), (&"held".into(), told));
    assert_eq!(place.run(["batches", "show", batch, "--json"]).succeeds().object()["holds"][0], *told);
    place.run(["items", "release", item]).fails(
        4,
        &["no hold of its own", "example.edu/default", "collection release default --institution example.edu"],
    );
    place.run(["batches", "release", batch]).fails(4, &["collection release default --institution example.edu"]);
    let status = place.run(["status"]).succeeds().stdout;
    let lifted = ": rights (strongroom collection release default --institution example.edu)";
    assert!(status.contains("collection example.edu/default held since ") && status.contains(lifted), "{status}");
    // The hold of the item is another one: each stays when the other is lifted.
    place.run(["items", "hold", item, "--reason", "page 3"]).succeeds();
    place.run(which("release")).succeeds();
    place.run(which("release")).fails(4, &["there is no hold on it"]);
    assert_eq!(item_now()["status"], "held");
    assert_eq!(item_now()["holds"][0]["reason"], "page 3");
    place.run(["items", "release", item]).succeeds();
    assert_eq!((&item_now()["status"], &item_now()["holds"]), (&"pending".into(), &serde_json::json!([])));
}

#[test]
fn a_held_batch_counts_what_is_held_and_history_names_who_did_it() {
    let place = Place::with_home_and_admin("ann@example.edu");
    place.bag("greeting", "hello\n");
    let item = place.run(["deposit", "greeting.tar", "--json"]).succeeds().object();
    let (item, batch) = (item["item"].as_str().unwrap(), item["batch"].as_str().unwrap());
    let held = place.run(["--as", "ann@example.edu", "batches", "hold", batch, "--json"]).succeeds().object();
    assert_eq!((&held["state"], &held["held"], &held["open"]), (&"held".into(), &1.into(), &1.into()));
    let history = place.run(["items", "history", item, "--json"]).succeeds().json();
    let last = history.last().unwrap();
    assert_eq!(
        (&last["actor"], &last["note"]),
        (&"ann@example.edu".into(), &"held with its batch by ann@example.edu".into())
    );
    assert_eq!(history[0]["actor"], place.run(["items", "show", item, "--json"]).succeeds().object()["actor"]);
    let said = place.run(["items", "history", item]).succeeds().stdout;
    assert!(said.contains("ACTOR") && said.contains("ann@example.edu"), "{said}");
    place.run(["items", "cancel", item]).succeeds();
    place.run(["items", "cancel", item]).fails(4, &["was cancelled", "cannot cancel it"]);
}

#[test]
fn tables_name_files_and_actors() {
    let place = Place::with_home_and_admin("ann@example.edu");
    place.bag("greeting", "hello\n");
    place.run(["--as", "ann@example.edu", "deposit", "greeting.tar", "--wait"]).succeeds();
    let said = place.run(["objects", "files", "example.edu/greeting"]).succeeds().stdout;
    let line = said.lines().find(|line| line.starts_with("data/greeting.txt")).unwrap_or_else(|| panic!("{said}"));
    let file = line.split_whitespace().find(|word| word.contains('…')).expect("a short identifier");
    place.run(["restore", "file", file, "--to", "out", "--wait"]).succeeds();
    assert_eq!(std::fs::read(place.path("out/greeting.txt")).unwrap(), b"hello\n");
    let said = place.run(["objects", "events", "example.edu/greeting", "-l"]).succeeds().stdout;
    assert!(said.starts_with("TIME") && said.contains("PATH") && said.contains("ACTOR"), "{said}");
    assert!(said.lines().any(|line| line.contains("data/greeting.txt") && line.contains("ann@example.edu")), "{said}");
}

#[test]
fn a_deleted_task_is_journalled_with_its_topic_and_item() {
    let place = Place::with_home();
    place.bag("greeting", "hello\n");
    let item = place.run(["deposit", "greeting.tar", "--json"]).succeeds().object();
    let task = place.run(["queue", "show", "ingest.receive", "--json"]).succeeds().object();
    let deleted = place.run(["queue", "delete", &task["task"].to_string(), "--json"]).succeeds().object();
    assert_eq!(deleted["max_attempts"], serde_json::Value::Null, "the settings of the workers say");
    let lines = place.run(["journal", "list", "--json"]).succeeds().json();
    let target = lines.last().unwrap()["target"].as_str().unwrap();
    assert_eq!(target, format!("task {} of ingest.receive, {}", task["task"], item["item"].as_str().unwrap()));
}

#[test]
fn a_deletion_that_keeps_something_from_the_depositor_says_what_and_needs_a_confirmation() {
    let place = Place::with_home();
    place.bag("greeting", "hello\n");
    let made = place.run(["deposit", "greeting.tar", "--json"]).succeeds().object();
    let (item, batch) = (made["item"].as_str().unwrap(), made["batch"].as_str().unwrap());
    place.run(["items", "delete", item]).fails(2, &["no report of batch", "pending", "--yes"]);
    place.run(["batches", "delete", batch]).fails(2, &["no final report", "1 item has", "--yes"]);
    let failed = place.run(["items", "fail", item, "--reason", "the scan is made anew", "--json"]).succeeds().object();
    assert_eq!(failed["status"], "failed");
    assert!(failed["note"].as_str().unwrap().ends_with(": the scan is made anew"), "{failed}");
    let interim = place.run(["items", "show", item, "--interim", "--json"]).succeeds().json();
    assert_eq!((interim.len(), &interim[0]["files"], &interim[0]["reserved"]), (1, &0.into(), &0.into()));
    place.run(["items", "show", item, "--interim"]).succeeds();
    place.run(["items", "show", item, "--limit", "1"]).fails(2, &["--interim"]);
    place.run(["batches", "requeue", batch]).succeeds();
    place.run(["batches", "delete", batch]).fails(2, &["no update follows its report 1"]);
    assert_eq!(place.run(["batches", "fail", batch, "--json"]).succeeds().object()["failed"], 1);
    place.run(["batches", "fail", batch]).fails(4, &["fail", "waits or is worked on"]);
    place.run(["batches", "requeue", batch]).succeeds();
    let deleted = place.run(["batches", "delete", batch, "--yes", "--json"]).succeeds().object();
    assert_eq!((&deleted["state"], &deleted["deleted"], &deleted["holds"]), (&"deleted".into(), &1.into(), &json!([])));
    let report = place.run(["batches", "report", batch, "--json"]);
    assert!(report.json()[0]["deleted_at"].is_string(), "{report:?}");
    place.run(["items", "requeue", item]).fails(4, &["requeue"]);
}

#[test]
fn an_item_in_a_paused_topic_says_so() {
    let place = Place::with_home();
    place.bag("greeting", "hello\n");
    let made = place.run(["deposit", "greeting.tar", "--json"]).succeeds().object();
    let (item, batch) = (made["item"].as_str().unwrap(), made["batch"].as_str().unwrap());
    assert_eq!(place.run(["items", "show", item, "--json"]).succeeds().object()["paused"], json!(null));
    place.run(["queue", "pause", "ingest.receive"]).succeeds();
    assert_eq!(place.run(["items", "show", item, "--json"]).succeeds().object()["paused"], "ingest.receive");
    assert_eq!(
        place.run(["batches", "show", batch, "--json"]).succeeds().object()["paused"],
        json!(["ingest.receive"])
    );
    assert!(place.run(["items", "list", "--long"]).succeeds().stdout.contains("ingest.receive is paused"));
    place.run(["queue", "pause", "--all"]).succeeds();
    assert_eq!(place.run(["batches", "show", batch, "--json"]).succeeds().object()["paused"], json!(["all"]));
}

#[test]
fn a_user_named_at_the_console_acts_with_the_own_role_and_is_recorded_with_the_account() {
    let place = Place::with_home();
    place.bag("letters", "hello\n");
    place.run(["--as", "ann@example.edu", "items", "list"]).fails(4, &["ann@example.edu", "no such user", "user add"]);
    place.run(["--as", "ann@example.edu", "status"]).fails(4, &["no such user"]);
    place.run(["--as", "ann@example.edu", "init", "other"]).fails(4, &["leave out --as"]);
    place.run(["--as", "ann", "items", "list"]).fails(2, &["no email address"]);
    place.run(["user", "add", "ann@example.edu", "--role", "system_admin"]).succeeds();
    let admin = ["user", "add", "bob@example.edu", "--role", "institution_admin", "--institution", "example.edu"];
    place.run(["--as", "ann@example.edu"].iter().chain(&admin)).succeeds();
    place.run(["user", "add", "eve@example.edu", "--role", "auditor"]).succeeds();

    place.run(["--as", "ann@example.edu", "deposit", "letters.tar", "--wait"]).succeeds();
    place.run(["--as", "bob@example.edu", "deposit", "letters.tar"]).fails(4, &["path of the server"]);
    place.run(["--as", "bob@example.edu", "queue", "pause", "ingest.fetch"]).fails(4, &["institution admin"]);
    place.run(["--as", "eve@example.edu", "items", "list"]).succeeds();
    place.run(["--as", "eve@example.edu", "backup", "copy"]).fails(4, &["auditor"]);
    // What was asked for is worked on at the console, whatever the role of the user.
    place.run(["--as", "bob@example.edu", "restore", "object", "example.edu/letters", "--wait"]).succeeds();
    place.run(["user", "deactivate", "bob@example.edu"]).succeeds();
    place.run(["--as", "bob@example.edu", "items", "list"]).fails(4, &["deactivated", "--undo"]);
    place.run(["user", "add", "bob@example.edu", "--role", "auditor"]).fails(2, &["deactivated", "--undo"]);
    place.run(["user", "remove", "bob@example.edu"]).fails(4, &["user deactivate bob@example.edu"]);

    let lines = place.run(["journal", "list", "--json"]).succeeds().json();
    let account = lines[0]["actor"].as_str().unwrap().to_owned();
    let of_ann =
        |act: &str| lines.iter().find(|line| line["act"] == act && line["actor"] == "ann@example.edu").unwrap();
    assert_eq!(
        (&of_ann("users.add")["account"], &of_ann("users.add")["kind"]),
        (&account.as_str().into(), &"user".into())
    );
    let refused = lines.iter().filter(|line| line["outcome"] == "refused" && line["account"] == account.as_str());
    assert_eq!(refused.count(), 1, "to pause a topic: {lines:?}");
    let items = place.run(["items", "list", "--json"]).succeeds().json();
    let item = items.iter().find(|item| item["actor"] == "ann@example.edu").unwrap()["item"].as_str().unwrap();
    let history = place.run(["items", "history", item, "--json"]).succeeds().json();
    assert!(
        history.iter().any(|line| line["actor"] == "ann@example.edu" && line["account"] == account.as_str()),
        "{history:?}"
    );
    let premis = place.run(["objects", "premis", "example.edu/letters"]).succeeds().stdout;
    assert!(premis.contains(">ann@example.edu<") && premis.contains(&format!(">{account}<")), "both are agents");
    let count =
        |arguments: &[&str]| place.run(["journal", "list", "--json"].iter().chain(arguments)).succeeds().json().len();
    assert_eq!(count(&["--actor", &account]), lines.len());
    assert!(count(&["--act", "users"]) >= 4 && count(&["--act", "users.add"]) == 3 && count(&["--act", "user"]) == 0);
    assert_eq!(count(&["--object", "example.edu/letters"]), 1, "the restoration");
    assert_eq!(count(&["--object", "example.edu/maps"]), 0);
    let csv = place.run(["journal", "list", "--act", "users", "--csv"]).succeeds().stdout;
    assert!(csv.lines().next().unwrap().contains("account") && csv.lines().count() > 4, "{csv}");
}

#[test]
fn a_missing_key_of_second_factors_is_no_matter_where_there_are_none() {
    let place = Place::with_home();
    let checked = place.run(["config", "check"]).succeeds().stdout;
    assert!(!checked.contains("second factors"), "{checked}");
    assert_eq!(place.run(["status", "--json"]).succeeds().object()["second_factors"], serde_json::Value::Null);
}
