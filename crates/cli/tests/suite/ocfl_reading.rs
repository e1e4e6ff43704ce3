//! Reading OCFL of the disk through the program: what this program wrote, and what others made.

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha512};

use crate::program::Place;

const ROOT: &str = "home/stores/primary/example.edu";

/// A data directory with an object of two versions.
fn deposited() -> Place {
    let place = Place::with_home();
    for text in ["hello\n", "hello again\n"] {
        place.bag("greeting", text);
        place.run(["deposit", "greeting.tar", "--wait"]).succeeds();
        fs::remove_file(place.path("greeting.tar")).unwrap();
    }
    place
}

fn sha512(bytes: &[u8]) -> String {
    Sha512::digest(bytes).iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// An object that has one file with these logical path and content, and one version.
fn object(place: &Place, root: &str, id: &str, logical: &str, content: &[u8]) {
    let digest = sha512(content);
    let inventory = serde_json::json!({
        "id": id, "type": "https://ocfl.io/1.0/spec/#inventory", "digestAlgorithm": "sha512", "head": "v1",
        "manifest": { digest.as_str(): ["v1/content/file"] },
        "versions": { "v1": { "created": "2020-01-02T03:04:05Z", "message": "first",
            "user": { "name": "A", "address": "mailto:a@example.edu" }, "state": { digest.as_str(): [logical] } } },
    })
    .to_string();
    place.write(&format!("{root}/0=ocfl_object_1.0"), "ocfl_object_1.0\n");
    place.write(&format!("{root}/inventory.json"), inventory);
    place.write(&format!("{root}/v1/content/file"), content);
}

/// A storage root of OCFL 1.0 without a layout.
fn root_of_others(place: &Place) {
    place.write("root/0=ocfl_1.0", "ocfl_1.0\n");
    object(place, "root/a/b/one", "info:one", "letters/é \"1\".txt", b"first\n");
    object(place, "root/two", "info:two", "x", b"second\n");
}

#[test]
fn objects_have_the_names_that_this_program_gave_them() {
    let place = deposited();
    let lines = place.run(["ocfl", "ls", ROOT, "--json"]).succeeds().json();
    assert_eq!(lines.len(), 1);
    assert_eq!(
        (&lines[0]["name"], &lines[0]["head"], &lines[0]["versions"]),
        (&"example.edu/greeting".into(), &"v2".into(), &2.into())
    );
    let id = lines[0]["object"].as_str().unwrap();
    let path = lines[0]["path"].as_str().unwrap();
    assert!(id.starts_with("urn:uuid:"), "{id}");
    let table = place.run(["ocfl", "ls", ROOT, "--long"]).succeeds().stdout;
    assert!(table.contains("example.edu/greeting") && table.contains(id), "{table}");
    let by_id = place.run(["ocfl", "info", ROOT, id, "--json"]).succeeds().stdout;
    for name in ["example.edu/greeting", path] {
        assert_eq!(place.run(["ocfl", "info", ROOT, name, "--json"]).succeeds().stdout, by_id);
    }
    place.run(["ocfl", "info", ROOT, "example.edu/nothing"]).fails(3, &["example.edu/nothing", "ocfl ls"]);
    let root = place.run(["ocfl", "info", ROOT, "--json"]).succeeds().object();
    assert_eq!((&root["objects"], &root["layout"]), (&1.into(), &"0004-hashed-n-tuple-storage-layout".into()));
}

#[test]
fn an_object_that_is_named_without_its_institution_and_a_version_that_is_none_say_what_to_do() {
    let place = deposited();
    let known = place.run(["ocfl", "ls", ROOT, "--json"]).succeeds().json();
    let name = known[0]["name"].as_str().unwrap();
    let (_, last) = name.split_once('/').unwrap();
    place.run(["ocfl", "ls", ROOT, last]).fails(3, &[&format!("next: give the name with its institution: {name}")]);
    place.run(["ocfl", "ls", ROOT, name, "--version", "v9"]).fails(3, &["next: \"strongroom ocfl log\""]);
}

#[test]
fn versions_are_listed_compared_and_their_files_written_out() {
    let place = deposited();
    let name = "example.edu/greeting";
    let files = place.run(["ocfl", "ls", ROOT, name, "--version", "v1", "--json"]).succeeds().json();
    let file = files.iter().find(|file| file["path"].as_str().unwrap().ends_with("greeting.txt")).unwrap();
    assert_eq!((&file["size"], &file["algorithm"]), (&6.into(), &"sha512".into()));
    assert_eq!(file["digest"], sha512(b"hello\n"));
    let path = file["path"].as_str().unwrap();
    assert!(place.path(ROOT).join(file["content_path"].as_str().unwrap()).parent().is_some());
    let cat = |version: &[&str]| place.run(["ocfl", "cat", ROOT, name, path].iter().chain(version)).succeeds().stdout;
    assert_eq!((cat(&["--version", "1"]), cat(&[])), ("hello\n".to_owned(), "hello again\n".to_owned()));
    let log = place.run(["ocfl", "log", ROOT, name, "--json"]).succeeds().json();
    assert_eq!(log.len(), 2);
    assert_eq!((&log[0]["version"], &log[0]["changed"], &log[0]["removed"]), (&"v1".into(), &0.into(), &0.into()));
    assert_eq!(log[0]["files"], log[0]["added"]);
    assert!(log[1]["changed"].as_u64().unwrap() >= 1, "{log:?}");
    let newest = place.run(["ocfl", "log", ROOT, name, "--reverse", "--limit", "1", "--json"]).succeeds().object();
    assert_eq!(newest, log[1]);
    let diff = place.run(["ocfl", "diff", ROOT, name, "--json"]).succeeds().json();
    let changed = diff.iter().find(|line| line["path"] == path).unwrap();
    assert_eq!((&changed["change"], &changed["before"]), (&"changed".into(), &sha512(b"hello\n").into()));
    let first = place.run(["ocfl", "diff", ROOT, name, "--to", "v1", "--json"]).succeeds().json();
    assert!(first.iter().all(|line| line["change"] == "added"));
    let same = place.run(["ocfl", "diff", ROOT, name, "--from", "v2", "--to", "v2"]).succeeds().stdout;
    assert_eq!(same, "v2 and v2 have the same files\n");
    place.run(["ocfl", "ls", ROOT, name, "--version", "v7"]).fails(3, &["version v7", "newest is v2"]);
    place.run(["ocfl", "cat", ROOT, name, "nothing"]).fails(3, &["nothing", "version v2", name, "ocfl ls"]);
    assert_eq!(path, "deposit/data/greeting.txt");
    for known in ["data/greeting.txt", "greeting.txt"] {
        let cat = place.run(["ocfl", "cat", ROOT, name, known]).succeeds();
        assert_eq!(cat.stdout, "hello again\n", "a file is known as it was in the package, too");
    }
    place.run(["ocfl", "cat", ROOT, name, "data/greting.txt"]).fails(3, &["data/greting.txt", path]);
    let record = "record.jsonl";
    place.run(["ocfl", "cat", ROOT, name, record]).fails(2, &["2 files", record, "metadata/v1/record.jsonl"]);
    place.run(["ocfl", "ls", ROOT, name, "--version", "x"]).fails(2, &["such as v2"]);
}

#[test]
fn roots_of_others_without_a_layout_are_read() {
    let place = Place::empty();
    root_of_others(&place);
    let ids: Vec<String> = place
        .run(["ocfl", "ls", "root", "--json"])
        .succeeds()
        .json()
        .iter()
        .map(|line| format!("{} {}", line["object"].as_str().unwrap(), line["path"].as_str().unwrap()))
        .collect();
    assert_eq!(ids, ["info:one a/b/one", "info:two two"]);
    let cat = place.run(["ocfl", "cat", "root", "info:one", "letters/é \"1\".txt"]).succeeds();
    assert_eq!(cat.stdout, "first\n");
    assert_eq!(place.run(["ocfl", "cat", "root/two", "x"]).succeeds().stdout, "second\n");
    let info = place.run(["ocfl", "info", "root/two", "--json"]).succeeds().object();
    assert_eq!((&info["spec"], &info["contents"], &info["content_bytes"]), (&"1.0".into(), &1.into(), &7.into()));
    let log = place.run(["ocfl", "log", "root", "two", "--csv"]).succeeds().stdout;
    assert!(log.contains("2020-01-02T03:04:05Z") && log.contains("first"), "{log}");
}

#[test]
fn content_that_is_not_what_the_inventory_states_is_an_error_after_its_bytes() {
    let place = Place::empty();
    root_of_others(&place);
    place.write("root/two/v1/content/file", "sEcond\n");
    let answer = place.run(["ocfl", "cat", "root", "info:two", "x"]);
    assert_eq!((answer.code, answer.stdout.as_str()), (Some(1), "sEcond\n"), "{answer:?}");
    assert!(answer.stderr.contains("sha512") && answer.stderr.contains(&sha512(b"second\n")), "{answer:?}");
    fs::remove_file(place.path("root/two/v1/content/file")).unwrap();
    place.run(["ocfl", "cat", "root", "info:two", "x"]).fails(3, &["v1/content/file"]);
    assert_eq!(place.run(["ocfl", "ls", "root", "info:two"]).code, Some(1));
    assert_eq!(place.run(["ocfl", "info", "root", "info:two", "--json"]).object()["missing_contents"], 1);
}

#[test]
fn a_folder_that_is_no_ocfl_is_told_in_a_line_with_where_it_is() {
    let place = Place::empty();
    root_of_others(&place);
    place.write("empty/file", "");
    place.run(["ocfl", "ls", "."]).fails(2, &["a storage root is ./root"]);
    place.run(["ocfl", "ls", "root/a"]).fails(2, &["inside the storage root", "/root"]);
    place.run(["ocfl", "ls", "empty"]).fails(2, &["there is no declaration"]);
    place.run(["ocfl", "ls", "nothing"]).fails(3, &["nothing"]);
    place.run(["ocfl", "ls", "empty/file"]).fails(2, &["empty/file"]);
    place.run(["ocfl", "log", "root"]).fails(2, &["the object is missing", "ocfl ls root"]);
    place.run(["ocfl", "log", "root/two", "info:two"]).fails(2, &["leave the object out"]);
    place.write("new/0=ocfl_2.0", "ocfl_2.0\n");
    place.run(["ocfl", "info", "new"]).fails(2, &["0=ocfl_2.0", "1.0 and 1.1"]);
    place.write("wrong/0=ocfl_1.1", "nonsense\n");
    place.run(["ocfl", "info", "wrong"]).fails(2, &["does not say"]);
}

#[test]
fn a_broken_object_does_not_hide_the_others() {
    let place = Place::empty();
    root_of_others(&place);
    place.write("root/broken/0=ocfl_object_1.0", "ocfl_object_1.0\n");
    for (inventory, word) in
        [(&b"{\"id\": "[..], "ends too early"), (b"", "ends too early"), (b"[]", "E033"), (b"\xFF", "no value")]
    {
        place.write("root/broken/inventory.json", inventory);
        let answer = place.run(["ocfl", "ls", "root", "--json"]);
        assert_eq!(answer.code, Some(1), "{answer:?}");
        assert_eq!(answer.json().iter().filter(|line| line["error"].is_null()).count(), 2, "{answer:?}");
        assert!(answer.stderr.contains("broken/inventory.json") && answer.stderr.contains(word), "{word}: {answer:?}");
        assert_eq!(place.run(["ocfl", "cat", "root", "info:two", "x"]).succeeds().stdout, "second\n");
        place.run(["ocfl", "log", "root", "broken"]).fails(1, &["broken/inventory.json"]);
    }
    fs::remove_file(place.path("root/broken/inventory.json")).unwrap();
    let status = std::process::Command::new("mkfifo").arg(place.path("root/broken/inventory.json")).status().unwrap();
    assert!(status.success());
    let answer = place.run(["ocfl", "ls", "root"]);
    assert!(answer.code == Some(1) && answer.stderr.contains("no regular file"), "{answer:?}");
}

#[test]
fn links_are_not_followed_out_of_the_root() {
    let place = Place::empty();
    root_of_others(&place);
    place.write("outside/secret", "second\n");
    fs::remove_file(place.path("root/two/v1/content/file")).unwrap();
    symlink(place.path("outside/secret"), place.path("root/two/v1/content/file")).unwrap();
    let link = place.run(["ocfl", "cat", "root", "info:two", "x"]);
    assert!(link.code != Some(0) && link.stdout.is_empty() && link.stderr.contains("symbolic link"), "{link:?}");
    fs::remove_dir_all(place.path("root/two/v1/content")).unwrap();
    place.write("outside/file", "second\n");
    symlink(place.path("outside"), place.path("root/two/v1/content")).unwrap();
    let folder = place.run(["ocfl", "cat", "root", "info:two", "x"]);
    assert!(folder.code != Some(0) && folder.stdout.is_empty(), "{folder:?}");
    symlink("..", place.path("root/a/loop")).unwrap();
    symlink(place.path("root/a"), place.path("root/again")).unwrap();
    assert_eq!(place.run(["ocfl", "ls", "root", "--json"]).succeeds().json().len(), 2);
    place.run(["ocfl", "info", "root", "../outside"]).fails(3, &["../outside"]);
    // A link that is named is followed: whoever runs the command chose it.
    symlink(place.path("root"), place.path("named")).unwrap();
    assert_eq!(place.run(["ocfl", "ls", "named", "--json"]).succeeds().json().len(), 2);
}

#[test]
fn names_of_strangers_do_nothing_to_a_terminal() {
    let place = Place::empty();
    place.write("root/0=ocfl_1.0", "ocfl_1.0\n");
    object(&place, "root/x", "info:\u{1b}[2J", "a\u{1b}[2J\nb", b"bytes\n");
    for command in [
        &["ls", "root"][..],
        &["ls", "root", "x"],
        &["log", "root", "x"],
        &["diff", "root", "x"],
        &["info", "root", "x"],
    ] {
        let answer = place.run(["ocfl"].iter().chain(command));
        assert!(!answer.stdout.contains('\u{1b}') && !answer.stderr.contains('\u{1b}'), "{answer:?}");
        assert_eq!(answer.code, Some(0), "{answer:?}");
    }
    let files = place.run(["ocfl", "ls", "root", "x", "--json"]).succeeds().object();
    assert_eq!(files["path"], "a\u{1b}[2J\nb");
}

fn fixtures() -> Option<PathBuf> {
    let folder: PathBuf = [env!("CARGO_MANIFEST_DIR"), "../../../shared/fixtures/ocfl"].iter().collect();
    if folder.is_dir() {
        return Some(folder);
    }
    println!("SKIPPED: there are no published OCFL objects in the folder of fixtures beside the project");
    None
}

fn objects_in(folder: &Path) -> Vec<PathBuf> {
    let mut objects: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    objects.sort();
    objects
}

#[test]
fn published_objects_are_read_whole() {
    let Some(folder) = fixtures() else { return };
    let place = Place::empty();
    for version in ["1.0", "1.1"] {
        for kind in ["good-objects", "warn-objects"] {
            for object in objects_in(&folder.join(version).join(kind)) {
                let dir = object.to_str().unwrap();
                let log = place.run(["ocfl", "log", dir, "--json"]).succeeds().json();
                assert!(!log.is_empty(), "{dir}");
                for line in &log {
                    let version = line["version"].as_str().unwrap();
                    let files = place.run(["ocfl", "ls", dir, "--version", version, "--json"]).succeeds().json();
                    assert_eq!(files.len() as u64, line["files"].as_u64().unwrap(), "{dir} {version}");
                    for file in files {
                        let path = file["path"].as_str().unwrap();
                        // Contents need not be text.
                        let cat = place.command().args(["ocfl", "cat", dir, path, "--version", version]).output();
                        assert!(cat.unwrap().status.success(), "{dir} {version} {path}");
                    }
                }
            }
        }
        for object in objects_in(&folder.join(version).join("bad-objects")) {
            let dir = object.to_str().unwrap();
            for command in ["ls", "log", "diff", "info"] {
                let answer = place.run(["ocfl", command, dir]);
                assert!(matches!(answer.code, Some(0..=5)) && !answer.stderr.contains("panicked"), "{dir}: {answer:?}");
            }
        }
    }
    let updates = folder.join("1.1/good-objects/updates_all_actions");
    let log = place.run(["ocfl", "log", updates.to_str().unwrap(), "--json"]).succeeds().json();
    assert_eq!(log.len(), 4);
}
