//! Kills the program about every step of appending to audit chains, publishing them, moving them and importing them.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::{SIGKILL, Template, succeed};

/// The program, with settings by which everything of a chain is done at once.
fn program(home: &Path) -> Command {
    let mut program = crate::program(home);
    program.env("STRONGROOM_AUDIT__PUBLISH_INTERVAL", "0s").env("STRONGROOM_RETENTION__AUDIT_ENTRIES", "1ms");
    program
}

/// Every act is in a chain once, and the chains in the stores and in an export are whole.
fn assert_whole(home: &Path, point: &str) {
    // By the defaults nothing further is published behind the export.
    let folder = home.join("exported");
    let _ = fs::remove_dir_all(&folder);
    succeed(crate::program(home).args(["audit", "export"]).arg(&folder));
    succeed(crate::program(home).args(["background", "run", "audit"]));
    let stores = ["primary", "secondary"].map(|store| home.join("stores").join(store));
    succeed(crate::program(home).args(["audit", "verify"]).arg(&folder).args(&stores));
    let mut acts = Vec::new();
    for chain in fs::read_dir(&folder).expect("a folder") {
        for file in fs::read_dir(chain.expect("a chain").path().join("entries")).expect("a folder") {
            for line in fs::read_to_string(file.expect("a file").path()).expect("reads").lines() {
                let entry: Value = serde_json::from_str(line).expect("JSON");
                acts.push(entry["id"].as_str().expect("an id").to_owned());
            }
        }
    }
    acts.sort();
    let count = acts.len();
    acts.dedup();
    assert_eq!(acts.len(), count, "an act is in a chain twice after a kill at {point}");
    let lines = succeed(crate::program(home).args(["--json", "journal", "list", "--limit", "1000"])).stdout;
    for line in String::from_utf8(lines).expect("text").lines() {
        let line: Value = serde_json::from_str(line).expect("JSON");
        let id = line["line"].as_str().expect("an id").to_owned();
        let is_later = line["act"].as_str().is_some_and(|act| act.starts_with("audit.") || act == "background.run");
        assert!(is_later || acts.contains(&id), "{line} is in no chain after a kill at {point}");
    }
}

fn kill(home: &Path, point: &str, arguments: &[&str]) {
    let mut killed = program(home);
    killed.env("FAILPOINTS", format!("{point}=1*return")).args(arguments);
    let killed = killed.output().expect("the program starts");
    let said = String::from_utf8_lossy(&killed.stderr);
    assert_eq!(killed.status.signal(), Some(SIGKILL), "{point}: {said}");
}

#[test]
fn chains_are_whole_after_a_kill_at_each_step() {
    let (_copy, home, bag) = Template::get().copy();
    succeed(program(&home).arg("deposit").arg(&bag).args(["--institution", "example.edu", "--wait"]));
    let run = ["background", "run", "audit"];
    for point in ["audit.sealed", "audit.published", "audit.put", "audit.moved"] {
        kill(&home, point, &run);
        assert_whole(&home, point);
    }
    // A registry that is made anew.
    let settings = fs::read_to_string(home.join("strongroom.toml")).expect("reads");
    let anew = home.with_extension("anew");
    fs::create_dir_all(&anew).expect("makes a folder");
    let stores = home.join("stores");
    fs::write(anew.join("strongroom.toml"), settings.replace("stores/", &format!("{}/", stores.display())))
        .expect("writes");
    succeed(program(&anew).args(["rebuild", "--store", "primary"]));
    kill(&anew, "audit.imported", &["rebuild", "--adopt"]);
    succeed(program(&anew).args(["rebuild", "--adopt"]));
    let folder = anew.join("exported");
    succeed(crate::program(&anew).args(["audit", "export"]).arg(&folder));
    succeed(crate::program(&anew).args(["background", "run", "audit"]));
    succeed(
        crate::program(&anew)
            .args(["audit", "verify"])
            .arg(&folder)
            .arg(stores.join("primary"))
            .arg(stores.join("secondary")),
    );
}
