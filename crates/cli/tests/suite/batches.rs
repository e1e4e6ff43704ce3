//! Batches, collections and work items as those who manage them use them.

use crate::program::Place;

/// A home with a deposit that waits, its work item and its batch.
fn waiting() -> (Place, String, String) {
    let place = Place::with_home();
    place.write("a.txt", "a");
    let made = place.run(["deposit", "a.txt", "--collection", "default", "--json"]).succeeds().object();
    let text = |key: &str| made[key].as_str().unwrap().to_owned();
    let (item, batch) = (text("item"), text("batch"));
    (place, item, batch)
}

const REMOVE: [&str; 5] = ["collection", "remove", "default", "--institution", "example.edu"];

#[test]
fn a_collection_with_work_is_removed_only_by_those_who_say_so() {
    let (place, item, _) = waiting();
    place.run(["items", "hold", &item, "--reason", "rights"]).succeeds();
    place.write("b.txt", "b");
    place.run(["deposit", "b.txt", "--collection", "default", "--detach"]).succeeds();
    let words = [
        "collection example.edu/default has work that has not ended",
        "1 work item of it waits or is worked on",
        "1 work item of it is held",
        "strongroom items list --collection example.edu/default",
        "--yes",
    ];
    place.run(REMOVE).fails(2, &words);
    let (code, screen) = place.run_by_typing(200, &REMOVE, "n\n");
    assert_eq!(code, Some(130), "{screen}");
    assert!(screen.contains("remove it all the same? [y/N]") && screen.contains("nothing was removed"), "{screen}");
    let (code, screen) = place.run_by_typing(200, &REMOVE, "y\n");
    assert_eq!(code, Some(0), "{screen}");
    place.run([&REMOVE[..], &["--undo"]].concat()).succeeds();
    place.run([&REMOVE[..], &["--yes"]].concat()).succeeds();
}

#[test]
fn an_identifier_of_something_else_says_what_it_is() {
    let (place, item, batch) = waiting();
    place.run(["items", "show", &batch]).fails(3, &["is a batch, and no work item", &format!("batches show {batch}")]);
    place.run(["batches", "show", &item]).fails(3, &["is a work item, and no batch", &format!("items show {item}")]);
    place.run(["items", "show", "ffffffff"]).fails(3, &["items list"]);
}

#[test]
fn items_that_are_moved_show_their_priority() {
    let (place, item, _) = waiting();
    let said = place.run(["items", "move", &item, "--priority", "7"]).succeeds().stdout;
    assert!(said.lines().next().unwrap().contains("PRIORITY"), "{said}");
    assert!(said.lines().nth(1).unwrap().split_whitespace().any(|word| word == "7"), "{said}");
}

#[test]
fn each_hold_is_shown_in_a_line_with_the_command_that_lifts_it() {
    let (place, item, batch) = waiting();
    place.run(["batches", "hold", &batch, "--reason", "rights"]).succeeds();
    place.run(["collection", "hold", "default", "--institution", "example.edu"]).succeeds();
    for (resource, id) in [("items", &item), ("batches", &batch)] {
        let said = place.run([resource, "show", id]).succeeds().stdout;
        let (_, holds) = said.split_once("\nholds\n").unwrap();
        let lines: Vec<&str> = holds.lines().take(4).collect();
        assert!(lines[0].starts_with(&format!("  batch {batch} since ")) && lines[0].ends_with(": rights"), "{said}");
        assert_eq!(lines[1], format!("    next: strongroom batches release {batch}"));
        assert!(lines[2].starts_with("  collection example.edu/default since "), "{said}");
        assert_eq!(lines[3], "    next: strongroom collection release default --institution example.edu");
        assert!(!said.contains("kind="), "{said}");
    }
}

#[test]
fn the_versions_of_rules_have_every_column_when_they_are_shown_long() {
    let place = Place::with_home();
    let set = ["collection", "set", "default", "--institution", "example.edu", "--max-rows", "5", "--accept", "file"];
    place.run(set).succeeds();
    let said = place.run(["collection", "rules", "default", "--institution", "example.edu", "-l"]).succeeds().stdout;
    for column in ["MAX ROWS", "ACCEPTED", "MAX SIZE", "SHOULDER", "PUBLIC", "SUPPRESS", "CALLBACK URL"] {
        assert!(said.lines().next().unwrap().contains(column), "{column}: {said}");
    }
}

#[test]
fn the_addresses_of_a_batch_are_corrected() {
    let place = Place::with_home();
    place.write("a.txt", "a");
    let deposit = ["deposit", "a.txt", "--notify-to", "ann@exmaple.edu", "--json"];
    let batch = place.run(deposit).succeeds().object()["batch"].as_str().unwrap().to_owned();
    let shown = place.run(["batches", "set", &batch, "--notify-to", "ann@example.edu", "--json"]).succeeds().object();
    assert_eq!(shown["told"]["notify_to"], serde_json::json!(["ann@example.edu"]));
    place.run(["batches", "set", &batch]).code.filter(|code| *code == 2).unwrap();
}

#[test]
fn a_title_that_is_given_takes_the_place_of_that_of_the_file() {
    let place = Place::with_home();
    place.write("a.txt", "a");
    place.write("m.json", r#"{"title": "Of the file", "creator": "Ada", "subject": "maps"}"#);
    place.run(["deposit", "a.txt", "--title", "Given", "--metadata", "m.json", "--wait"]).succeeds();
    let shown = place.run(["objects", "show", "example.edu/a.txt", "--json"]).succeeds().object();
    assert_eq!((&shown["title"], &shown["metadata"]["title"]), (&"Given".into(), &"Given".into()), "{shown}");
    assert!(!shown.to_string().contains("Of the file"), "{shown}");
    assert_eq!((&shown["metadata"]["creator"], &shown["metadata"]["subject"]), (&"Ada".into(), &"maps".into()));
}

#[test]
fn what_reads_a_manifest_is_no_row_of_its_batch() {
    let place = Place::with_home();
    place.write(
        "list.checkm",
        "#%checkm_0.7\n#%profile | http://uc3.cdlib.org/registry/ingest/manifest/mrt-single-file-batch-manifest\n",
    );
    assert_eq!(place.run(["deposit", "list.checkm", "--wait"]).code, Some(1));
    // A manifest that cannot be read is what failed.
    let batch = place.run(["batches", "list", "--json"]).succeeds().object();
    assert_eq!((&batch["items"], &batch["failed"], &batch["succeeded"]), (&1.into(), &1.into(), &0.into()), "{batch}");
}

#[test]
fn what_a_note_advises_is_a_field_of_its_own() {
    let place = Place::with_home();
    place.write("a.txt", "a");
    let item = place.run(["deposit", "a.txt", "--update", "--wait", "--json"]).object();
    let shown = place.run(["items", "show", item["item"].as_str().unwrap(), "--json"]).succeeds().object();
    assert_eq!(shown["next"], "strongroom deposit without --update, where it is a new one");
    let said = place.run(["items", "show", item["item"].as_str().unwrap()]).succeeds().stdout;
    assert_eq!(said.matches("without --update").count(), 1, "{said}");
}

#[test]
fn a_kind_of_mails_that_there_is_not_names_those_that_there_are_and_the_word_for_all() {
    let place = Place::with_home();
    let set = ["collection", "set", "default", "--institution", "example.edu", "--suppress"];
    place.run([&set[..], &["everything"]].concat()).fails(2, &["there is no kind of mails", "queued", "all"]);
    place.run([&set[..], &["all"]].concat()).succeeds();
}
