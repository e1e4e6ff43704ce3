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
    assert!(said.contains("nothing lies"), "{said}");

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
