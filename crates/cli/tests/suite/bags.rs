//! Bags, without a home.

use crate::program::{Place, assert_keys};

const REPORT: &[&str] = &["path", "verdict", "version", "profile", "files", "bytes", "problems"];
const PROBLEM: &[&str] = &["severity", "code", "file", "path", "line", "message"];

#[test]
fn a_bag_that_was_made_is_valid() {
    let place = Place::empty();
    place.bag("greeting", "hello\n");
    let report =
        place.run(["bag", "validate", "greeting.tar", "--profile", "aptrust-2.3", "--json"]).succeeds().object();
    assert_keys(&report, REPORT);
    assert_eq!(report["verdict"], "valid");
    assert_eq!(report["version"], "1.0");
    assert_eq!(report["profile"], "aptrust-2.3");
    assert_eq!(report["problems"].as_array().unwrap().len(), 0);
}

#[test]
fn every_form_of_a_bag_can_be_made_and_checked() {
    let place = Place::empty();
    place.write("payload/a/b.txt", "text");
    for target in ["folder-bag", "bag.tar", "bag.tar.gz", "bag.zip"] {
        place.run(["bag", "create", "payload", target, "--algorithm", "sha256"]).succeeds();
        let report = place.run(["bag", "validate", target, "--json"]).succeeds().object();
        assert_eq!(report["verdict"], "valid", "{target}: {report}");
    }
    place.run(["bag", "create", "payload", "bag.tar"]).fails(2, &["bag.tar exists already"]);
}

#[test]
fn damage_is_told_with_its_code() {
    let place = Place::empty();
    place.write("payload/a.txt", "text");
    place.run(["bag", "create", "payload", "bag"]).succeeds();
    place.write("bag/data/a.txt", "TEXT");
    place.write("bag/data/b.txt", "more");
    let answer = place.run(["bag", "validate", "bag", "--json"]);
    assert_eq!(answer.code, Some(1));
    let report = answer.object();
    assert_eq!(report["verdict"], "invalid");
    let problems = report["problems"].as_array().unwrap();
    assert_keys(&problems[0], PROBLEM);
    let has = |code: &str| problems.iter().any(|problem| problem["code"] == code);
    assert!(has("manifest.digest_mismatch") && has("manifest.file_unlisted"), "{report}");
    let told = place.run(["bag", "validate", "bag"]);
    assert!(told.stdout.contains("manifest.digest_mismatch") && told.stdout.contains("data/a.txt"), "{told:?}");
}

#[test]
fn names_of_strangers_do_nothing_to_a_terminal() {
    let place = Place::empty();
    place.write("payload/a.txt", "text");
    place.run(["bag", "create", "payload", "bag"]).succeeds();
    place.write("bag/data/\u{1b}[2Jb.txt", "more");
    let told = place.run(["bag", "validate", "bag"]);
    assert_eq!(told.code, Some(1));
    assert!(!told.stdout.contains('\u{1b}'), "{told:?}");
}

#[test]
fn a_bag_tells_of_itself() {
    let place = Place::empty();
    place.bag("greeting", "hello\n");
    let shown = place.run(["bag", "show", "greeting.tar", "--json"]).succeeds().object();
    assert_eq!(shown["payload_files"], 1);
    let tags = shown["tags"].as_array().unwrap();
    assert!(tags.iter().any(|tag| tag["label"] == "Title" && tag["value"] == "A greeting"), "{shown}");
}

#[test]
fn every_code_is_listed_with_its_meaning() {
    let place = Place::empty();
    let codes = place.run(["bag", "codes", "--json"]).succeeds().json();
    for code in [
        "manifest.digest_mismatch",
        "manifest.file_missing",
        "manifest.file_unlisted",
        "profile.tag_required",
        "profile.tag_value",
        "bagit.declaration",
        "oxum.mismatch",
        "path.unsafe",
        "entry.not_a_file",
    ] {
        assert!(codes.iter().any(|line| line["code"] == code), "{code}");
    }
    assert_keys(&codes[0], &["code", "severity", "meaning"]);
}

#[test]
fn an_unknown_profile_is_refused_with_the_nearest() {
    let place = Place::empty();
    place.bag("greeting", "hello\n");
    place
        .run(["bag", "validate", "greeting.tar", "--profile", "aptrust-2.4"])
        .fails(3, &["aptrust-2.4", "aptrust-2.3"]);
    place.write("profile.json", "{");
    place.run(["bag", "validate", "greeting.tar", "--profile", "profile.json"]).fails(2, &["profile.json"]);
}
