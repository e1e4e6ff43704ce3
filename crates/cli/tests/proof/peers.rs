//! What we write, put before validators that others wrote. Where one is absent, the test says so.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::deposits::{home_with_deposits, take_in};
use crate::homes::{PRESERVATION, walk};

/// A peer, by the variable that says where it is.
pub(crate) fn peer(variable: &str, what: &str) -> Option<OsString> {
    let found = std::env::var_os(variable);
    if found.is_none() {
        println!("SKIPPED: {what}: {variable} is not set");
    }
    found
}

/// Runs a peer, which must be content.
#[track_caller]
pub(crate) fn accepts(command: &mut Command) {
    let output = command.output().unwrap();
    assert!(
        output.status.success(),
        "{command:?}: {}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}

/// Has rocfl validate a whole storage root.
#[track_caller]
pub(crate) fn rocfl_accepts(root: &Path) {
    if let Some(rocfl) = peer("STRONGROOM_PEERS_ROCFL", "stores before rocfl") {
        accepts(Command::new(rocfl).arg("--root").arg(root).arg("validate"));
    }
}

/// Has ocfl-py validate objects.
#[track_caller]
pub(crate) fn ocfl_py_accepts(objects: &[PathBuf]) {
    const VALIDATE: &str = "
import sys
from ocfl.validator import Validator
for path in sys.argv[1:]:
    validator = Validator()
    if not validator.validate_object(path):
        sys.exit(path + ': ' + str(validator))
";
    if let Some(python) = peer("STRONGROOM_PEERS_PYTHON", "stores before ocfl-py") {
        accepts(Command::new(python).args(["-c", VALIDATE]).args(objects));
    }
}

/// Has bagit-python validate bags in folders.
#[track_caller]
pub(crate) fn bagit_python_accepts(bags: &[PathBuf]) {
    const VALIDATE: &str = "
import sys, bagit
for path in sys.argv[1:]:
    bagit.Bag(path).validate()
";
    if let Some(python) = peer("STRONGROOM_PEERS_PYTHON", "restored bags before bagit-python") {
        accepts(Command::new(python).args(["-c", VALIDATE]).args(bags));
    }
}

/// The object roots below a storage root.
pub(crate) fn objects(root: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    walk(root, &mut |path| {
        if path.file_name().is_some_and(|name| name == "0=ocfl_object_1.1") {
            found.push(path.parent().unwrap().to_owned());
        }
    });
    found
}

#[test]
fn every_object_in_every_store_is_accepted_by_rocfl_and_ocfl_py() {
    let Some(place) = home_with_deposits() else { return };
    take_in(&place, "bags/deposits-updated");
    let mut found = Vec::new();
    for store in PRESERVATION {
        let root = place.path(&format!("home/stores/{store}/test.edu"));
        rocfl_accepts(&root);
        found.extend(objects(&root));
    }
    assert_eq!(found.len(), 10);
    // It knows no storage layout 0004, so object by object.
    ocfl_py_accepts(&found);
}

#[test]
fn what_deletions_leave_is_accepted_by_rocfl_and_ocfl_py() {
    let Some(place) = home_with_deposits() else { return };
    let listed = place.run(["objects", "list", "--json"]).succeeds().json();
    let names: Vec<&str> = listed.iter().map(|object| object["identifier"].as_str().unwrap()).collect();
    for user in ["ann@test.edu", "bob@test.edu"] {
        place.run(["user", "add", user, "--role", "institution_admin", "--institution", "test.edu"]).succeeds();
    }
    let delete = |target: &[&str]| {
        let ask = [&["--as", "ann@test.edu", "--json", "delete", "request"], target, &["--reason", "a test"]].concat();
        let request = place.run(&ask).succeeds().json()[0]["request"].as_str().unwrap().to_owned();
        place.run(["--as", "bob@test.edu", "delete", "approve", &request, "--wait"]).succeeds();
    };
    // Of one object a file, all of two, of which one is deposited again.
    let files = place.run(["objects", "files", names[0], "--json"]).succeeds().json();
    let file = files.iter().map(|file| file["path"].as_str().unwrap()).find(|path| path.starts_with("data/")).unwrap();
    delete(&[names[0], file]);
    for name in &names[1..] {
        delete(&[name]);
    }
    take_in(&place, "bags/deposits-updated");
    for store in PRESERVATION {
        let root = place.path(&format!("home/stores/{store}/test.edu"));
        rocfl_accepts(&root);
        ocfl_py_accepts(&objects(&root));
    }
}
