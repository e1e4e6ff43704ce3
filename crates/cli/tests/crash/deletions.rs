//! Kills the program about every step of a deletion, and of an adoption that learns of one.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use serde_json::Value;
use tempfile::TempDir;

use crate::{OBJECT, SIGKILL, Template, finish, nothing_is_left, open, program, stores_are_valid, succeed, told};

/// A file of the object that is deleted: both versions have other bytes of it.
const FILE: &str = "data/scan.tif";
/// What the two versions of the file are full of.
const BYTES: [u8; 2] = [9, 8];
/// Everything that is asked of a killed adoption and a killed deletion holds for both.
const WHAT: [&[&str]; 2] = [&[FILE], &[]];

/// A home with two versions of the object, and two users who may agree.
fn home() -> (TempDir, PathBuf) {
    static HOME: OnceLock<(TempDir, PathBuf)> = OnceLock::new();
    let (_, made) = HOME.get_or_init(|| {
        let (copy, home, bag) = Template::get().copy();
        succeed(program(&home).arg("deposit").arg(bag).args(["--institution", "example.edu", "--wait"]));
        for user in ["ann@example.edu", "bob@example.edu"] {
            let role = ["--role", "institution_admin", "--institution", "example.edu"];
            succeed(program(&home).args(["user", "add", user]).args(role));
        }
        assert!(has_bytes(&home), "the bytes are there before");
        (copy, home)
    });
    let copy = TempDir::new().expect("a temporary folder");
    let status = Command::new("cp").arg("-a").arg(made).arg(copy.path()).status().expect("cp runs");
    assert!(status.success());
    let home = copy.path().join(made.file_name().expect("a name"));
    (copy, home)
}

/// Requests a deletion; its identifier.
fn request(home: &Path, files: &[&str]) -> String {
    let mut asking = program(home);
    asking.args(["--as", "ann@example.edu", "--json", "delete", "request", OBJECT]).args(files);
    let made: Value = serde_json::from_slice(&succeed(asking.args(["--reason", "a test"])).stdout).expect("JSON");
    made["request"].as_str().expect("an identifier").to_owned()
}

/// Approves it and works, with a fail point.
fn approve(home: &Path, request: &str, point: &str) -> Output {
    let mut approving = program(home);
    approving.env("FAILPOINTS", point).args(["--as", "bob@example.edu", "delete", "approve", request, "--wait"]);
    approving.output().expect("the program starts")
}

fn each_file(folder: &Path, act: &mut dyn FnMut(&Path)) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() { each_file(&path, act) } else { act(&path) }
    }
}

/// Whether any store has the bytes of the file.
fn has_bytes(home: &Path) -> bool {
    let mut found = false;
    each_file(&home.join("stores"), &mut |path| {
        let bytes = fs::read(path).expect("a file");
        found |= BYTES.iter().any(|byte| bytes.windows(1_000).any(|window| window.iter().all(|one| one == byte)));
    });
    found
}

fn tombstones(home: &Path, store: &str) -> usize {
    let mut found = 0;
    each_file(&home.join("stores").join(store), &mut |path| {
        found += usize::from(path.to_string_lossy().contains("-deletion-"));
    });
    found
}

fn is_deleted_everywhere(home: &Path, files: &[&str], point: &str) {
    assert!(!has_bytes(home), "{point}: the bytes are gone");
    for store in ["primary", "secondary"] {
        assert_eq!(tombstones(home, store), 1, "{point}: in {store}");
    }
    let shown = succeed(program(home).args(["--json", "objects", "show", OBJECT]));
    let shown: Value = serde_json::from_slice(&shown.stdout).expect("JSON");
    assert_eq!(shown["state"], if files.is_empty() { "deleted" } else { "active" }, "{point}");
    stores_are_valid(&open(home), 1);
    succeed(program(home).args(["store", "reconcile"]));
    succeed(program(home).args(["fixity", "run", "--all"]));
    let events = succeed(program(home).args(["--json", "objects", "events", OBJECT]));
    let events = String::from_utf8(events.stdout).expect("UTF-8");
    assert_eq!(events.matches("\"type\":\"deletion\"").count(), 1, "{point}");
}

#[test]
fn a_deletion_killed_at_any_point_deletes_nothing_or_everything() {
    for files in WHAT {
        for point in [
            "deletion.approve.checked=1*return",
            "deletion.expand.page=1*return",
            "deletion.begun=1*return",
            "deletion.rows.page=1*return",
            "deletion.rows=1*return",
            "deletion.store.change=1*return",
            "deletion.store.change=2*off->1*return",
            "deletion.store.change=4*off->1*return",
            "deletion.store.change=7*off->1*return",
            "deletion.store.change=9*off->1*return",
            "deletion.stores=1*return",
            "deletion.settled=1*return",
        ] {
            let (_copy, home) = home();
            let id = request(&home, files);
            let killed = approve(&home, &id, point);
            let said = String::from_utf8_lossy(&killed.stderr);
            assert_eq!(killed.status.signal(), Some(SIGKILL), "{files:?} {point}: {said}");
            if point.starts_with("deletion.approve") {
                assert!(has_bytes(&home), "nobody has approved it yet");
                succeed(program(&home).args(["--as", "bob@example.edu", "delete", "approve", &id]));
            }
            finish(&home);
            is_deleted_everywhere(&home, files, point);
            nothing_is_left(&open(&home));
            let request = succeed(program(&home).args(["--json", "delete", "show", &id]));
            let request = String::from_utf8(request.stdout).expect("UTF-8");
            let request: Value = serde_json::from_str(request.lines().next().expect("a line")).expect("JSON");
            assert_eq!(request["state"], "completed", "{files:?} {point}");
        }
    }
}

#[test]
fn an_adoption_that_learns_of_a_deletion_and_is_killed_brings_nothing_back() {
    for files in WHAT {
        let (_copy, home) = home();
        let registry = home.join("registry.db");
        let backup = succeed(program(&home).args(["--json", "backup"]).arg(home.join("backups")));
        let backup: Value = serde_json::from_slice(&backup.stdout).expect("JSON");
        let backup = PathBuf::from(backup["registry"].as_str().expect("a path"));
        let id = request(&home, files);
        assert!(approve(&home, &id, "").status.success());
        let before = told(&home);
        for point in
            ["deletion.import.recorded", "deletion.rows.page", "deletion.import.rows", "rebuild.object.deleted"]
        {
            for suffix in ["-wal", "-shm"] {
                let _ = fs::remove_file(format!("{}{suffix}", registry.display()));
            }
            fs::copy(&backup, &registry).expect("restores the backup");
            let mut adopting = program(&home);
            adopting.env("FAILPOINTS", format!("{point}=1*return")).args(["rebuild", "--adopt"]);
            let killed = adopting.output().expect("the program starts");
            let said = String::from_utf8_lossy(&killed.stderr);
            assert_eq!(killed.status.signal(), Some(SIGKILL), "{files:?} {point}: {said}");
            succeed(program(&home).args(["rebuild", "--adopt"]));
            succeed(program(&home).args(["background", "run", "deletions"]));
            for (line, expected) in told(&home).iter().zip(&before) {
                assert_eq!(line, expected, "{files:?} after a kill at {point}");
            }
            assert_eq!(told(&home).len(), before.len(), "{files:?} after a kill at {point}");
            is_deleted_everywhere(&home, files, point);
        }
    }
}
