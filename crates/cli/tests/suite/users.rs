//! Passwords come by standard input, keys are shown once, and neither is anywhere else.

use serde_json::json;

use crate::program::{Place, assert_keys};

const PASSWORD: &str = "seven teapots beside the harbour";
const ADD: [&str; 7] = ["user", "add", "ann@example.edu", "--role", "auditor", "--password-stdin", "--json"];

#[test]
fn a_password_is_one_line_of_standard_input() {
    let place = Place::with_home();
    for (input, reason) in [
        ("", "standard input has no password"),
        ("\n", "standard input has no password"),
        ("short\n", "at least 15 are required"),
        ("two lines of a\npassword\n", "is a control character"),
        ("aaaaaaaaaaaaaaaaaaaaaaaa", "easily guessed"),
    ] {
        place.run_with_input(&ADD, input.as_bytes()).fails(2, &[reason]);
    }
    place.run_with_input(&ADD, &[0xff; 20]).fails(2, &["the password is not UTF-8"]);
    place.run_with_input(&ADD, &[b'x'; 9_000]).fails(2, &["more than 1024 characters"]);
    let added = place.run_with_input(&ADD, format!("{PASSWORD}\r\n").as_bytes()).succeeds().object();
    assert_keys(
        &added,
        &[
            "user",
            "email",
            "role",
            "institution",
            "active",
            "has_password",
            "second_factor",
            "signed_in_at",
            "created_at",
            "deactivated_at",
        ],
    );
    assert_eq!((&added["has_password"], &added["second_factor"]), (&json!(true), &json!("none")));
    assert_nowhere(&place, PASSWORD);
}

#[test]
fn a_key_is_shown_once_and_its_token_is_nowhere_else() {
    let place = Place::with_home();
    place.run(["user", "add", "ann@example.edu", "--role", "auditor"]).succeeds();
    let add = ["key", "add", "--user", "Ann@Example.edu", "--scope", "read", "--expires", "90d", "--json"];
    let added = place.run(add).succeeds().object();
    let (key, token) = (added["key"].as_str().unwrap(), added["token"].as_str().unwrap());
    assert!(token.starts_with(&format!("strongroom_key_{key}_")), "{added}");
    let listed = place.run(["key", "list", "--json"]).succeeds().object();
    assert_eq!((&listed["key"], &listed["token"]), (&added["key"], &json!(null)));
    let revoked = place.run(["key", "revoke", &key[..10], "--json"]).succeeds().object();
    assert_eq!(revoked["state"], "revoked");
    place.run(["key", "revoke", key]).fails(4, &["is revoked: cannot revoke it"]);
    assert_nowhere(&place, &token[token.len() - 50..]);
}

/// Looks for a secret in the files of the registry, and for what is there.
fn assert_nowhere(place: &Place, secret: &str) {
    let entries = std::fs::read_dir(place.path("home")).unwrap().map(|entry| entry.unwrap().path());
    let files: Vec<Vec<u8>> = entries.filter(|path| path.is_file()).map(|path| std::fs::read(path).unwrap()).collect();
    let has = |text: &str| files.iter().any(|bytes| bytes.windows(text.len()).any(|part| part == text.as_bytes()));
    assert!(has("ann@example.edu") && !has(secret));
}

#[test]
fn a_deletion_is_approved_with_the_token_of_standard_input_alone() {
    let place = Place::with_home();
    let add = ["user", "add", "ann@example.edu", "--role", "system_admin"];
    place.run(add).succeeds();
    let approve = ["--as", "ann@example.edu", "delete", "approve", "--token-stdin"];
    for input in ["", "wrong\n", "strongroom_approve_wrong\n"] {
        place.run_with_input(&approve, input.as_bytes()).fails(4, &["the token approves nothing"]);
    }
    place.run_with_input(&approve, &[b'x'; 9_000]).fails(4, &["the token approves nothing"]);
    place.run(["delete", "approve"]).fails(2, &["<REQUEST>"]);
}
