//! What `bag create` asks for at a terminal, where tags that a profile requires are missing.

use std::fs;

use crate::program::Place;

/// A profile that requires three tags, one with values that it allows, and one in a tag file of its own.
const PROFILE: &str = r#"{
    "BagIt-Profile-Info": {"BagIt-Profile-Identifier": "https://example.edu/maps.json", "BagIt-Profile-Version": "1.4.0",
        "Source-Organization": "Example", "External-Description": "Maps", "Version": "1"},
    "Bag-Info": {"Source-Organization": {"required": true},
        "Access": {"required": true, "values": ["open", "closed"]},
        "Contact-Name": {"required": true, "description": "Who answers questions"},
        "Bag-Size": {"required": false}},
    "Manifests-Required": ["sha256"], "Allow-Fetch.txt": false, "Serialization": "optional",
    "Accept-Serialization": ["application/tar"], "Accept-BagIt-Version": ["1.0"]}"#;

fn place() -> Place {
    let place = Place::empty();
    place.write("maps.json", PROFILE);
    place.write("letters/a.txt", "hello\n");
    place
}

const CREATE: [&str; 6] = ["bag", "create", "letters", "letters.bag", "--form", "folder"];

fn create(place: &Place, arguments: &[&str], typed: &str) -> (Option<i32>, String) {
    place.run_by_typing(100, &[&CREATE[..], &["--profile", "maps.json"], arguments].concat(), typed)
}

#[test]
fn missing_tags_are_asked_for_until_they_are_what_the_profile_allows() {
    let place = place();
    let typed = "secret\nOPEN\n\nAnn\n";
    let (code, screen) = create(&place, &["--tag", "Source-Organization: Example"], typed);
    assert_eq!(code, Some(0), "{screen}");
    assert!(screen.contains(" requires 2 more tags; Ctrl-D ends the questions"), "{screen}");
    assert!(screen.contains("  Who answers questions\n"), "{screen}");
    assert_eq!(screen.matches("bag-info.txt/Access (open, closed): ").count(), 2, "{screen}");
    assert_eq!(screen.matches("not one of the values allowed").count(), 1, "{screen}");
    assert!(!screen.contains("bag-info.txt/Source-Organization"), "it was given: {screen}");
    assert!(screen.contains("made letters.bag: 1 file, 6 B"), "{screen}");
    let tags = fs::read_to_string(place.path("letters.bag/bag-info.txt")).unwrap();
    for tag in ["Source-Organization: Example\n", "Contact-Name: Ann\n", "Access: open\n"] {
        assert!(tags.contains(tag), "{tags}");
    }
    place.run(["bag", "validate", "letters.bag", "--profile", "maps.json"]).succeeds();
}

#[test]
fn the_end_of_the_input_ends_the_questions_and_the_bag_is_refused() {
    let place = place();
    let (code, screen) = create(&place, &[], "\u{4}");
    assert_eq!(code, Some(2), "{screen}");
    for tag in ["Source-Organization", "Access", "Contact-Name"] {
        assert!(screen.contains(&format!("tag {tag} is missing")), "{tag}: {screen}");
    }
    assert!(screen.contains("next: give tags with --tag"), "{screen}");
    assert!(!place.path("letters.bag").exists());
}

#[test]
fn nothing_is_asked_where_scripts_read_or_where_nothing_is_missing() {
    let place = place();
    let (code, screen) = create(&place, &["--json"], "Ann\n");
    assert_eq!(code, Some(2), "{screen}");
    assert!(!screen.contains("more tags"), "{screen}");
    let tags = ["--tag", "Source-Organization: Example", "--tag", "Contact-Name: Ann", "--tag", "Access: closed"];
    let (code, screen) = create(&place, &tags, "");
    assert_eq!(code, Some(0), "{screen}");
    assert!(!screen.contains("Ctrl-D"), "{screen}");
}

#[test]
fn a_name_that_the_profile_forbids_is_told_of_once_before_any_question() {
    let place = Place::empty();
    place.write("letters/a\u{7}b.txt", "hello\n");
    let create = ["bag", "create", "letters", "letters.tar", "--profile", "aptrust-2.3"];
    let (code, screen) = place.run_by_typing(200, &create, "Title\n");
    assert_eq!(code, Some(2), "{screen}");
    assert!(screen.contains(r#"the name "data/a\u{7}b.txt" has a control character"#), "{screen}");
    assert!(screen.contains("next: rename the files whose names the profile forbids"), "{screen}");
    assert!(!screen.contains("Ctrl-D") && !screen.contains("--tag"), "{screen}");
}

#[test]
fn help_fits_the_terminal_that_it_is_shown_at() {
    let place = Place::empty();
    for columns in [60, 80] {
        let (code, screen) = place.run_by_typing(columns, &["deposit", "--help"], "");
        assert_eq!(code, Some(0), "{screen}");
        let widest = screen.lines().map(|line| line.trim_end().chars().count()).max().unwrap();
        assert!(widest <= columns.into() && widest > usize::from(columns) - 20, "{columns}: {screen}");
    }
}
