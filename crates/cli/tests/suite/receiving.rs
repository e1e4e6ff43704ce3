//! Bags put into a receiving store, as a depositor and an operator see it.

use std::fs;

use crate::program::Place;

fn uploads(place: &Place, arguments: &[&str]) -> Vec<serde_json::Value> {
    let all: Vec<&str> = ["--json", "receiving", "list"].into_iter().chain(arguments.iter().copied()).collect();
    let answer = place.run(all).succeeds();
    answer.stdout.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

#[test]
fn what_was_put_there_is_listed_with_its_state_and_can_be_forgotten() {
    let place = Place::with_home();
    assert!(uploads(&place, &[]).is_empty());
    let said = place.run(["receiving", "list"]).succeeds().stdout;
    assert!(said.contains("no uploads were found"), "{said}");

    let store = place.path("home/stores/receiving/example.edu");
    fs::create_dir_all(&store).expect("a folder");
    fs::write(store.join("notes.txt"), "hello").expect("writes");
    place.run(["schedule", "--once"]).succeeds();
    let listed = uploads(&place, &["--institution", "example.edu"]);
    assert_eq!(listed.len(), 1);
    assert_eq!(listed[0]["key"], "example.edu/notes.txt");
    assert_eq!(listed[0]["state"], "settling");
    assert_eq!(listed[0]["size"], 5);
    assert!(listed[0]["settles_at"].is_string());
    let id = listed[0]["upload"].as_str().expect("an identifier").to_owned();
    let shown = place.run(["--json", "receiving", "show", &id]).succeeds().stdout;
    assert!(shown.contains("\"settling\""), "{shown}");
    place.run(["receiving", "forget", &id]).succeeds();
    assert!(uploads(&place, &["--all"]).is_empty());
    assert_eq!(place.run(["receiving", "show", &id]).code, Some(3));
    assert_eq!(place.run(["receiving", "forget", "nonsense"]).code, Some(3));
}

#[test]
fn uploads_that_are_refused_are_counted_among_what_needs_a_person() {
    let place = Place::with_home();
    place.bag("letters", "hello\n");
    let file = place.path("home/strongroom.toml");
    let settings = fs::read_to_string(&file).expect("settings");
    fs::write(&file, settings + "\n[institutions.\"example.edu\"]\ncollection = \"nope\"\n").expect("writes");
    let folder = place.path("home/stores/receiving/example.edu");
    fs::create_dir_all(&folder).expect("a folder");
    fs::rename(place.path("letters.tar"), folder.join("letters.tar")).expect("moves");
    let quiet = [("STRONGROOM_RECEIVING__QUIET_PERIOD", "1s"), ("STRONGROOM_RECEIVING__SCAN_INTERVAL", "1s")];
    let began = std::time::Instant::now();
    loop {
        place.run_with(&quiet, ["background", "run", "receiving"]).succeeds();
        let listed = uploads(&place, &[]);
        if listed[0]["state"] == "refused" {
            let note = listed[0]["note"].as_str().expect("a note");
            assert!(note.contains("next: strongroom collection add nope --institution example.edu"), "{note}");
            break;
        }
        assert!(began.elapsed() < std::time::Duration::from_mins(1), "{listed:?}");
    }
    let status = place.run(["status", "--json"]).succeeds().object();
    assert_eq!(status["review"]["uploads"], 1, "{status}");
    let said = place.run(["status"]).succeeds().stdout;
    assert!(said.contains("1 upload refused or failed (strongroom receiving list)"), "{said}");
}

#[test]
fn a_background_task_that_fails_decides_the_answer_of_one_round() {
    let place = Place::with_home();
    fs::rename(place.path("home/stores/receiving"), place.path("away")).expect("moves");
    let answer = place.run(["schedule", "--once", "--json"]);
    assert_eq!(answer.code, Some(5), "{answer:?}");
    let lines = answer.json();
    let line = lines.iter().find(|line| line["schedule"] == "receiving").expect("a line");
    assert_eq!(line["task"], "receiving");
    assert!(line["error"].as_str().is_some_and(|error| error.contains("away")), "{line}");
    assert!(lines.iter().any(|line| line["result"].is_string()), "the others are run: {lines:?}");
    assert!(answer.stderr.contains("{\"error\":\"could not run background task receiving"), "{answer:?}");
}
