//! Checkm manifests, without a data directory.

use std::fs;

use crate::program::{Place, assert_keys};

const REPORT: &[&str] = &["path", "verdict", "profile", "rows", "errors", "warnings", "problems"];
const PROBLEM: &[&str] = &["severity", "code", "row", "line", "column", "value", "message"];
const URL: &str = "https://files.example.edu/letters";

/// A manifest of files with these rows.
fn manifest(rows: &str) -> String {
    format!(
        "#%checkm_0.7\n#%profile | http://uc3.cdlib.org/registry/ingest/manifest/mrt-ingest-manifest\n\
         #%fields | nfo:fileUrl | nfo:hashAlgorithm | nfo:hashValue | nfo:fileSize | nfo:fileLastModified | nfo:fileName\n{rows}\n#%eof\n"
    )
}

#[test]
fn a_manifest_that_was_made_is_valid_and_names_every_file() {
    let place = Place::empty();
    place.write("letters/1923.txt", "hello\n");
    place.write("letters/spring|summer/50% off é.txt", "goodbye\n");
    let made = place.run(["checkm", "create", "letters", "letters.checkm", "--url", URL, "--json"]).succeeds().object();
    assert_keys(&made, &["path", "profile", "rows", "bytes", "problems"]);
    assert_eq!((&made["rows"], &made["profile"]), (&2.into(), &"mrt-ingest-manifest".into()));
    let text = fs::read_to_string(place.path("letters.checkm")).unwrap();
    assert_eq!(made["bytes"], text.len());
    let digest = "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03";
    assert!(text.contains(&format!("\n{URL}/1923.txt | sha256 | {digest} | 6 |  | 1923.txt\n")), "{text}");
    let other = format!("{URL}/spring%7Csummer/50%25%20off%20%C3%A9.txt | sha256 | ");
    assert!(text.contains(&other) && text.contains(" | spring%7csummer/50% off é.txt\n"), "{text}");
    let report = place.run(["checkm", "validate", "letters.checkm", "--json"]).succeeds().object();
    assert_keys(&report, REPORT);
    assert_eq!((&report["verdict"], &report["rows"]), (&"valid".into(), &2.into()));
    let input = fs::read(place.path("letters.checkm")).unwrap();
    let answer = place.run_with_input(&["checkm", "validate", "-"], &input).succeeds();
    assert!(answer.stdout.starts_with("-: valid (2 rows, "), "{answer:?}");
}

#[test]
fn every_problem_is_told_with_its_row() {
    let place = Place::empty();
    let rows = "https://files/a.jpg | md5 | 00 | 3kb | 1.9.2009 | a.jpg\n\nftp://example.org/b.jpg";
    place.write("a.checkm", manifest(rows));
    let answer = place.run(["checkm", "validate", "a.checkm", "--json"]);
    assert_eq!(answer.code, Some(1));
    let report = answer.object();
    assert_eq!((&report["verdict"], &report["errors"]), (&"invalid".into(), &5.into()));
    let problems = report["problems"].as_array().unwrap();
    assert_keys(&problems[0], PROBLEM);
    let found: Vec<_> = problems.iter().map(|problem| (problem["code"].as_str().unwrap(), &problem["row"])).collect();
    let (first, second) = (1.into(), 2.into());
    assert_eq!(
        found,
        [
            ("url.host", &first),
            ("digest.malformed", &first),
            ("size.malformed", &first),
            ("modified.malformed", &first),
            ("url.scheme", &second)
        ]
    );
    assert_eq!((&problems[2]["column"], &problems[2]["value"]), (&"nfo:fileSize".into(), &"3kb".into()));
    let told = place.run(["checkm", "validate", "a.checkm"]);
    assert!(told.stdout.contains("error   size.malformed row 1 (line 4) nfo:fileSize: "), "{told:?}");
    let lenient = place.run(["checkm", "validate", "--lenient", "a.checkm", "--json"]).object();
    assert_eq!((&lenient["errors"], &lenient["warnings"]), (&3.into(), &2.into()));
}

#[test]
fn each_of_several_manifests_has_a_result() {
    let place = Place::empty();
    place.write("good.checkm", manifest("https://files.example.edu/a.jpg"));
    place.write("odd.checkm", manifest("https://files/a.jpg"));
    let answer = place.run(["checkm", "validate", "good.checkm", "nothing.checkm", "odd.checkm"]);
    assert_eq!(answer.code, Some(3));
    assert!(answer.stdout.ends_with("3 manifests: 1 not valid, 1 could not be checked\n"), "{answer:?}");
    let answer = place.run(["checkm", "validate", "good.checkm", "odd.checkm", "--json"]);
    assert_eq!((answer.code, answer.json().len()), (Some(1), 2));
    place.run(["checkm", "validate", "--lenient", "good.checkm", "odd.checkm"]).succeeds();
    let folder = place.path("");
    place.run(["checkm", "validate", folder.to_str().unwrap()]).fails(2, &["is a folder", "next: "]);
}

#[test]
fn the_type_and_the_limits_that_are_given_bind() {
    let place = Place::empty();
    place.write("a.checkm", manifest("https://files.example.edu/a.jpg\nhttps://files.example.edu/b.jpg"));
    let code = |arguments: &[&str]| {
        let answer = place.run([&["checkm", "validate", "a.checkm", "--json"], arguments].concat());
        assert_eq!(answer.code, Some(1), "{answer:?}");
        answer.object()["problems"][0]["code"].as_str().unwrap().to_owned()
    };
    assert_eq!(code(&["--type", "batch-manifest"]), "profile.mismatch");
    assert_eq!(code(&["--max-rows", "1"]), "limit.rows");
    assert_eq!(code(&["--max-line-bytes", "20"]), "limit.line");
    place.run(["checkm", "validate", "a.checkm", "--type", "manifest", "--max-rows", "2"]).succeeds();
}

#[test]
fn what_strangers_write_does_nothing_to_a_terminal() {
    let place = Place::empty();
    place.write("a.checkm", manifest("https://files.example.edu/\u{1b}[2J\u{202e}"));
    let told = place.run(["checkm", "validate", "a.checkm"]);
    assert_eq!(told.code, Some(1));
    assert!(!told.stdout.contains(['\u{1b}', '\u{202e}']), "{told:?}");
}

#[test]
fn a_manifest_that_would_not_be_valid_is_not_made() {
    let place = Place::empty();
    place.write("letters/a.txt", "hello\n");
    let create = |arguments: &[&str]| place.run([&["checkm", "create", "letters"], arguments].concat());
    create(&["a.checkm", "--url", "https://files/letters"]).fails(1, &["has no dot", "next: correct --url"]);
    create(&["a.checkm", "--url", "letters"]).fails(1, &["is not a URL"]);
    create(&["a.checkm", "--url", URL, "--type", "container-batch-manifest"]).fails(1, &["ending of a container"]);
    create(&["letters/a.checkm", "--url", URL]).fails(2, &["within letters"]);
    create(&["none/a.checkm", "--url", URL]).fails(3, &["none"]);
    place.write("letters/b%20c.txt", "hello\n");
    create(&["a.checkm", "--url", URL]).fails(1, &["b%20c.txt", "rename the file"]);
    fs::remove_file(place.path("letters/b%20c.txt")).unwrap();
    std::os::unix::fs::symlink("a.txt", place.path("letters/link")).unwrap();
    let answer = create(&["a.checkm", "--url", URL]);
    assert_eq!(answer.code, Some(1));
    assert!(
        answer.stdout.contains("entry.not_a_file link") && answer.stderr.contains("link: a symbolic"),
        "{answer:?}"
    );
    fs::remove_file(place.path("letters/link")).unwrap();
    place.write("empty/.keep", "");
    fs::remove_file(place.path("empty/.keep")).unwrap();
    place.run(["checkm", "create", "empty", "a.checkm", "--url", URL]).fails(1, &["no rows"]);
    place.run(["checkm", "create", "letters/a.txt", "a.checkm", "--url", URL]).fails(2, &["not a folder"]);
    let names: Vec<_> = fs::read_dir(place.path("")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(names.iter().all(|name| !name.to_string_lossy().contains("checkm")), "{names:?}");
    place.write("a.checkm", "kept");
    create(&["a.checkm", "--url", URL]).fails(2, &["exists already"]);
    assert_eq!(fs::read_to_string(place.path("a.checkm")).unwrap(), "kept");
}

#[test]
fn every_code_is_listed_with_its_severity_in_both_modes() {
    let place = Place::empty();
    let codes = place.run(["checkm", "codes", "--json"]).succeeds().json();
    assert_keys(&codes[0], &["code", "strict", "lenient", "meaning"]);
    let host = codes.iter().find(|line| line["code"] == "url.host").unwrap();
    assert_eq!((&host["strict"], &host["lenient"]), (&"error".into(), &"warning".into()));
}
