//! Bad input: a clear error, its exit code, and nothing changed.

use std::fs;
use std::process::{Command, Stdio};
use std::sync::Arc;

use strongroom_database::{Migration, Sqlite, SystemClock};

use crate::program::{Answer, Place};

/// Nothing was deposited.
#[track_caller]
fn assert_no_batch(place: &Place) {
    assert_eq!(place.run(["batches", "list", "--json"]).succeeds().stdout, "");
    assert_eq!(place.run(["items", "list", "--json"]).succeeds().stdout, "");
}

#[test]
fn a_write_beyond_the_limit_of_file_sizes_is_an_error_of_the_command() {
    let place = Place::empty();
    place.write("letters/a.txt", vec![b'a'; 100_000]);
    let mut limited = Command::new("sh");
    limited.args(["-c", "ulimit -f 8; exec \"$0\" bag create letters letters.tar", env!("CARGO_BIN_EXE_strongroom")]);
    Answer::of(limited.current_dir(place.path(""))).fails(5, &["File too large", "ulimit"]);
    assert!(!place.path("letters.tar").exists());
}

#[test]
fn a_file_that_does_not_exist_is_not_found() {
    let place = Place::with_home();
    let before = place.files("home");
    place.run(["deposit", "nothing.tar", "--wait"]).fails(3, &["nothing.tar"]);
    place.run(["bag", "validate", "nothing.tar"]).fails(3, &["nothing.tar"]);
    place.run(["checkm", "validate", "nothing.checkm"]).fails(3, &["nothing.checkm"]);
    place.run(["bag", "show", "nothing.tar"]).fails(3, &["nothing.tar"]);
    place.run(["bag", "create", "nothing", "bag.tar"]).fails(3, &["nothing"]);
    place.run(["ocfl", "validate", "nothing"]).fails(3, &["nothing"]);
    assert!(!place.path("bag.tar").exists());
    assert_eq!(place.files("home"), before);
    assert_no_batch(&place);
}

#[test]
fn what_is_no_bag_is_told_with_exit_code_1() {
    let place = Place::with_home();
    place.write("folder/file.txt", "text");
    place.write("text.tar", "this is no archive");
    place.write("empty.tar", "");
    for name in ["folder", "text.tar", "empty.tar"] {
        let answer = place.run(["bag", "validate", name, "--json"]);
        assert_eq!(answer.code, Some(1), "{answer:?}");
        let verdict = answer.object()["verdict"].as_str().unwrap().to_owned();
        assert!(["not_a_bag", "invalid"].contains(&verdict.as_str()), "{name} is {verdict}");
    }
    let kept = place.files("home/stores/primary");
    for name in ["folder", "text.tar", "empty.tar"] {
        let answer = place.run(["deposit", name, "--type", "bag", "--wait", "--json"]);
        assert_eq!(answer.code, Some(1), "{answer:?}");
        let item = answer.object();
        assert_eq!(item["status"], "failed", "{item}");
        assert!(!item["note"].as_str().unwrap().is_empty(), "{item}");
        assert!(place.path(name).exists(), "what was deposited is never touched");
    }
    assert_eq!(place.files("home/stores/primary"), kept);
    assert_eq!(place.run(["objects", "list", "--json"]).succeeds().stdout, "");
}

#[test]
fn a_truncated_bag_is_told_and_not_taken_in() {
    let place = Place::with_home();
    place.bag("whole", "a greeting\n");
    let bytes = fs::read(place.path("whole.tar")).unwrap();
    // In the middle of the first file's header.
    place.write("half.tar", &bytes[..bytes.len() / 2 + 100]);
    let answer = place.run(["bag", "validate", "half.tar", "--json"]);
    assert_eq!(answer.code, Some(1), "{answer:?}");
    assert!(!answer.object()["problems"].as_array().unwrap().is_empty());
    let answer = place.run(["deposit", "half.tar", "--wait", "--json"]);
    assert_eq!(answer.code, Some(1), "{answer:?}");
    assert_eq!(answer.object()["status"], "failed");
    assert_eq!(place.run(["objects", "list", "--json"]).succeeds().stdout, "");
}

#[test]
fn an_unknown_institution_is_not_found_and_nothing_is_deposited() {
    let place = Place::with_home();
    place.bag("greeting", "hello\n");
    let before = place.files("home");
    place.run(["deposit", "greeting.tar", "--institution", "exampel.edu"]).fails(3, &["exampel.edu", "example.edu"]);
    place.run(["deposit", "greeting.tar", "--collection", "nowhere"]).fails(3, &["nowhere", "collection"]);
    place.run(["institution", "show", "exampel.edu"]).fails(3, &["exampel.edu", "institution list"]);
    assert_eq!(place.files("home"), before);
    assert_no_batch(&place);
}

#[test]
fn a_folder_that_cannot_be_read_is_not_allowed() {
    use std::os::unix::fs::PermissionsExt as _;
    let place = Place::empty();
    place.write("closed/data/file.txt", "text");
    fs::set_permissions(place.path("closed"), fs::Permissions::from_mode(0o000)).unwrap();
    place.run_bound_by_permissions(&["bag", "validate", "closed"]).fails(4, &["closed", "permission"]);
    place.run_bound_by_permissions(&["bag", "create", "closed", "bag.tar"]).fails(4, &["closed", "permission"]);
    place.run_bound_by_permissions(&["init", "closed/home"]).fails(4, &["closed", "permission"]);
    fs::set_permissions(place.path("closed"), fs::Permissions::from_mode(0o700)).unwrap();
}

#[test]
fn a_registry_of_a_newer_program_is_refused_and_left_alone() {
    let place = Place::with_home();
    let path = place.path("home/registry.db");
    let mut migrations = strongroom_registry::migrations();
    let version = migrations.last().unwrap().version + 1;
    migrations.push(Migration { version, name: "of a later time", sql: "CREATE TABLE later (id INTEGER)" });
    drop(Sqlite::open(&path, strongroom_registry::statements(), &migrations, Arc::new(SystemClock)).unwrap());
    let before = fs::read(&path).unwrap();
    place.run(["items", "list"]).fails(2, &["newer program"]);
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[test]
fn a_registry_that_is_none_is_refused_and_left_alone() {
    let place = Place::with_home();
    for name in ["registry.db-wal", "registry.db-shm"] {
        let _ = fs::remove_file(place.path("home").join(name));
    }
    let path = place.write("home/registry.db", "this is no database, and long enough to be looked at more closely");
    let answer = place.run(["items", "list"]);
    assert!(matches!(answer.code, Some(2 | 5)), "{answer:?}");
    answer.stderr.find("registry.db").expect("the file is named");
    assert!(fs::read_to_string(path).unwrap().starts_with("this is no database"));
}

#[test]
fn a_missing_registry_is_not_made_anew() {
    let place = Place::with_home();
    for name in ["registry.db", "registry.db-wal", "registry.db-shm"] {
        let _ = fs::remove_file(place.path("home").join(name));
    }
    place.run(["items", "list"]).fails(3, &["no registry", "rebuild"]);
    place.run(["work"]).fails(3, &["no registry"]);
    assert!(!place.path("home/registry.db").exists());
}

#[test]
fn a_deposit_waits_for_a_store_that_is_not_mounted() {
    let place = Place::with_home();
    place.bag("greeting", "hello\n");
    fs::rename(place.path("home/stores/primary"), place.path("elsewhere")).unwrap();
    place.run(["deposit", "greeting.tar", "--wait", "--timeout", "5s"]).fails(1, &["primary", "mounted"]);
    let items = place.run(["items", "list", "--json"]).succeeds().json();
    assert_eq!((&items[0]["status"], &items[0]["attempts"]), (&"pending".into(), &0.into()), "{items:?}");
    let answer = place.run(["store", "check", "--json"]);
    assert_eq!(answer.code, Some(5), "{answer:?}");
    let failed: Vec<_> = answer.json().into_iter().filter(|store| store["ok"] == false).collect();
    assert_eq!(failed.len(), 1);
    assert_eq!(failed[0]["store"], "primary");
}

#[test]
fn a_full_disk_is_told() {
    let place = Place::empty();
    let full = fs::File::options().write(true).open("/dev/full");
    let Ok(full) = full else {
        println!("SKIPPED: there is no /dev/full");
        return;
    };
    let output = place.command().args(["bag", "codes"]).stdout(Stdio::from(full)).output().unwrap();
    assert_eq!(output.status.code(), Some(5));
    assert!(String::from_utf8_lossy(&output.stderr).contains("No space left"), "{output:?}");
}

#[test]
fn a_reader_that_goes_away_ends_the_program_quietly() {
    let place = Place::empty();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let output = place.command().args(["bag", "codes"]).stdout(Stdio::from(writer)).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn wrong_usage_has_exit_code_2() {
    let place = Place::empty();
    for arguments in [
        &["nonsense"][..],
        &["items"],
        &["items", "list", "--colour"],
        &["deposit"],
        &["work", "--workers", "0"],
        &["--home", "a", "--config", "b", "items", "list"],
        &["bag", "create", "a", "b", "--algorithm", "md7"],
        &["bag", "create", "a", "b", "--tag", "no equals sign"],
        &["checkm", "create", "a", "a.checkm"],
        &["checkm", "validate", "a", "--type", "nonsense"],
        &["deposit", "a", "--digest", "sha256:00"],
    ] {
        let answer = place.run(arguments);
        assert_eq!(answer.code, Some(2), "{arguments:?}: {answer:?}");
        assert_eq!(answer.stdout, "");
    }
}

#[test]
fn records_that_do_not_exist_are_not_found() {
    let place = Place::with_home();
    let id = "0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b";
    for arguments in [
        &["items", "show", id][..],
        &["items", "show", "nonsense"],
        &["items", "history", id],
        &["items", "cancel", id],
        &["batches", "show", id],
        &["batches", "cancel", id],
        &["objects", "show", id],
        &["objects", "files", "example.edu/none"],
        &["queue", "delete", "77"],
        &["queue", "show", "nonsense"],
        &["queue", "dead", "nonsense"],
        &["queue", "empty", "nonsense"],
        &["queue", "retry", "nonsense"],
        &["queue", "retry", "ingest.fetch", "--task", "77"],
        &["collection", "show", "none", "--institution", "example.edu"],
        &["store", "check", "none"],
    ] {
        let answer: Answer = place.run(arguments);
        assert_eq!(answer.code, Some(3), "{arguments:?}: {answer:?}");
        assert!(answer.stderr.starts_with("error: "), "{answer:?}");
    }
}

#[test]
fn words_outside_a_closed_set_are_told_with_the_set() {
    let place = Place::with_home();
    place.run(["items", "list", "--status", "lost"]).fails(2, &["lost", "pending", "succeeded"]);
    place.run(["items", "list", "--stage", "fetsh"]).fails(2, &["fetsh", "receive"]);
    place.run(["items", "list", "--since", "yesterday"]).fails(2, &["yesterday", "7d"]);
    place.run(["queue", "show", "ingest.fetch", "--state", "odd"]).fails(2, &["odd", "ready"]);
}

#[test]
fn errors_escape_what_would_steer_a_terminal() {
    let place = Place::with_home();
    let name = "a\u{202e}b\u{1b}[31m\nc";
    for command in [
        vec!["objects", "show", name],
        vec!["queue", "pause", name],
        vec!["bag", "validate", name],
        vec!["checkm", "validate", name],
        vec![name],
    ] {
        let ended = place.run(command);
        assert!(ended.stderr.contains("a\\u{202e}b"), "{ended:?}");
        assert!(!ended.stderr.contains(['\u{202e}', '\u{1b}']), "{ended:?}");
    }
}

#[test]
fn a_folder_that_overlaps_the_data_directory_or_a_store_is_refused_at_submission() {
    let place = Place::with_home();
    place.write("home/stores/receiving/example.edu/bag/bagit.txt", "x");
    place.write("home/drafts/bag/bagit.txt", "x");
    for (folder, words) in [
        (".", "contains the data directory"),
        ("home", "it is the data directory"),
        ("home/stores", "contains the folder of store"),
        ("home/stores/primary", "it is the folder of store primary"),
        ("home/stores/receiving/example.edu/bag", "is within store receiving"),
        ("home/drafts/bag", "is within the data directory"),
    ] {
        place.run(["deposit", folder]).fails(2, &["cannot be deposited", words]);
    }
    assert_no_batch(&place);
}

#[test]
fn what_is_no_bag_ends_before_a_byte_is_staged_with_the_verdict_of_bag_validate() {
    let place = Place::with_home();
    place.write("folder/data/file.txt", "text");
    place.write("plain.pdf", "%PDF-1.7");
    for name in ["folder", "plain.pdf"] {
        let validated = place.run(["bag", "validate", name, "--json"]).object();
        assert_eq!(validated["verdict"], "not_a_bag");
        let answer = place.run(["deposit", name, "--type", "bag", "--wait", "--json"]);
        assert_eq!(answer.code, Some(1), "{answer:?}");
        let item = answer.object();
        assert_eq!((&item["status"], &item["stage"]), (&"failed".into(), &"receive".into()), "{item}");
        for key in ["code", "file", "path", "severity"] {
            assert_eq!(item["problems"][0][key], validated["problems"][0][key], "{name}: {key}");
        }
        assert!(item["note"].as_str().unwrap().starts_with("the package is not a bag: bagit.declaration"), "{item}");
        let said = place.run(["items", "show", item["item"].as_str().unwrap()]).succeeds().stdout;
        assert!(said.contains("\nproblems\n  error   bagit.declaration"), "{said}");
    }
}

#[test]
fn a_deposit_with_many_problems_prints_the_first() {
    let place = Place::with_home();
    place.write("bag/bagit.txt", "BagIt-Version: 1.0\nTag-File-Character-Encoding: UTF-8\n");
    let digest = "0".repeat(64);
    let lines: Vec<String> = (0..50).map(|number| format!("{digest}  data/{number}.txt\n")).collect();
    let lines = lines.concat();
    place.write("bag/manifest-sha256.txt", lines);
    place.write("bag/data/other.txt", "");
    let answer = place.run(["deposit", "bag", "--wait"]);
    assert_eq!(answer.code, Some(1), "{answer:?}");
    let printed = answer.stdout.lines().filter(|line| line.starts_with("  error ") || line.starts_with("  warning"));
    assert_eq!(printed.count(), 20, "{answer:?}");
    assert!(answer.stdout.contains(" more: strongroom items show "), "{answer:?}");
}

#[test]
fn what_can_be_refused_at_once_is() {
    let place = Place::with_home();
    place.run(["deposit", "ftp://example.edu/letters.tar"]).fails(2, &["only http and https URLs"]);
    place.run(["fixity", "run", "--store", "staging"]).fails(2, &["staging", "store list"]);
    place.bag("greeting", "hello\n");
    place.run(["deposit", "greeting.tar", "--wait"]).succeeds();
    place.write("file", "in the way");
    place.run(["restore", "object", "example.edu/greeting", "--to", "file"]).fails(2, &["is no folder"]);
    std::fs::rename(place.path("home/stores/secondary"), place.path("away")).unwrap();
    assert_eq!(place.run(["store", "check"]).code, Some(5));
    assert_eq!(place.run(["config", "check"]).code, Some(5));
}
