//! What tables show to people: what damage is called, how wide they are, and what they say in full.

use std::fs;

use crate::program::Place;

/// What is kept.
const OBJECT: &str = "example.edu/greeting";
/// The first of their paths.
const PATH: &str = "data/a folder for photographs of 1873/another greeting.txt";

/// A home that keeps one bag, in which two files have equal bytes.
fn with_object() -> Place {
    let place = Place::with_home();
    place.write("greeting-payload/a folder for photographs of 1873/another greeting.txt", "hello\n");
    place.bag("greeting", "hello\n");
    place.run(["deposit", "greeting.tar", "--wait"]).succeeds();
    place
}

/// Changes the copies of the bag's payload in these stores.
fn damage(place: &Place, stores: &[&str]) {
    for store in stores {
        let copies = place.files(&format!("home/stores/{store}")).into_iter().filter(|(_, bytes)| bytes == b"hello\n");
        let copies: Vec<_> = copies.map(|(path, _)| path).collect();
        assert_eq!(copies.len(), 1);
        fs::write(&copies[0], "hullo\n").unwrap();
    }
}

#[test]
fn what_is_damaged_is_named_by_its_paths_in_the_package() {
    let place = with_object();
    damage(&place, &["primary", "secondary"]);
    let inventory = place.files("home/stores/primary").into_keys().find(|path| path.ends_with("inventory.json"));
    fs::write(inventory.unwrap(), "nothing").unwrap();
    place.run(["fixity", "run", "--all"]);
    let found = place.run(["fixity", "problems", "--all", "--json"]).json();
    let damaged: Vec<_> = found.iter().filter(|finding| finding["kind"] == "damaged").collect();
    assert_eq!(damaged.len(), 2, "{found:?}");
    for finding in damaged {
        assert_eq!((&finding["path"], &finding["more_paths"]), (&PATH.into(), &1.into()), "{finding}");
        assert!(finding["key"].as_str().unwrap().contains("/content/"), "{finding}");
    }
    let inventory = found.iter().find(|finding| finding["kind"] == "inventory").expect("a finding");
    assert_eq!((&inventory["path"], &inventory["more_paths"]), (&serde_json::Value::Null, &0.into()), "{inventory}");
    let said = place.run(["fixity", "problems"]).stdout;
    assert!(said.contains("PATH") && said.contains("/another greeting.txt and 1 more  "), "{said}");
}

#[test]
fn files_fit_into_120_columns_with_what_is_wrong_with_their_copies() {
    let place = with_object();
    // The identifier stands behind them, to be copied.
    let without_identifier = |line: &str| line.rsplit_once("  ").expect("columns").0.trim_end().to_owned() + "\n";
    let listed = |place: &Place| -> String {
        place.run(["objects", "files", OBJECT]).succeeds().stdout.lines().map(without_identifier).collect()
    };
    let said = listed(&place);
    assert!(said.lines().all(|line| line.chars().count() <= 120), "{said}");
    let row = |said: &str| said.lines().find(|line| line.contains("/another greeting.txt")).expect("a row").to_owned();
    assert!(row(&said).ends_with("  2 verified"), "{said}");
    damage(&place, &["secondary"]);
    fs::remove_dir_all(place.path("home/stores/primary")).unwrap();
    place.run(["fixity", "run", "--all"]);
    assert!(row(&listed(&place)).ends_with("  1 verified, damaged in secondary"), "{}", listed(&place));
}

#[test]
fn why_a_store_cannot_be_used_is_said_in_full() {
    let place = with_object();
    fs::rename(place.path("home/stores/secondary"), place.path("away")).unwrap();
    let stores = place.run(["store", "list", "--json"]).succeeds().json();
    let reason = stores.iter().find_map(|store| store["reason"].as_str()).expect("a reason").to_owned();
    let said = place.run(["store", "list"]).succeeds().stdout;
    let line = said.lines().find(|line| line.contains(&reason)).unwrap_or_else(|| panic!("{said}"));
    assert_eq!(line, format!("store secondary is away: {reason}"));
}

#[test]
fn a_store_that_cannot_be_used_is_told_of_once() {
    let place = with_object();
    fs::rename(place.path("home/stores/secondary"), place.path("away")).unwrap();
    for command in [&["items", "list"][..], &["objects", "list"], &["fixity", "report"], &["-v", "items", "list"]] {
        let told = place.run(command).succeeds().stderr;
        let lines: Vec<_> = told.lines().filter(|line| line.contains("secondary")).collect();
        assert_eq!(lines.len(), 1, "{command:?}: {told}");
        assert!(lines[0].starts_with("store secondary is away: "), "{told}");
    }
    let told = place.run(["store", "list"]).succeeds();
    assert_eq!(told.stderr, "", "the answer says it");
    assert_eq!(place.run(["-q", "items", "list"]).succeeds().stderr, "");
    // A program that goes on logs it, with its time.
    let told = place.run(["schedule", "--once"]).stderr;
    let count = |words: &str| told.lines().filter(|line| line.contains(words)).count();
    assert_eq!(count("WARN store lost"), 1, "{told}");
    assert!(!told.lines().any(|line| line.starts_with("store secondary")), "{told}");
}
