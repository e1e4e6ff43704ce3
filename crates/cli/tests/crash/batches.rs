//! Kills the program behind the first step of what is asked of a batch. The background task `holds` does the rest.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;

use serde_json::Value;
use tempfile::TempDir;

use crate::{SIGKILL, program, succeed};

/// More than one transaction changes.
const ITEMS: usize = 60;

fn shown(home: &Path, arguments: &[&str]) -> Value {
    let output = succeed(program(home).args(arguments).arg("--json"));
    serde_json::from_slice(&output.stdout).expect("one JSON document")
}

fn survive(act: &str, more: &[&str], expected: &str) {
    let folder = TempDir::new().expect("a temporary folder");
    let (home, files) = (folder.path().join("home"), folder.path().join("files"));
    succeed(program(&home).arg("init").arg(&home));
    fs::create_dir(&files).expect("a folder");
    let mut deposit = program(&home);
    deposit.args(["deposit", "--json"]);
    for number in 0..ITEMS {
        let file = files.join(format!("letter-{number}.txt"));
        fs::write(&file, format!("letter {number}")).expect("a file");
        deposit.arg(file);
    }
    let made = succeed(&mut deposit).stdout;
    let first: Value = serde_json::from_slice(made.split(|byte| *byte == b'\n').next().expect("a line")).expect("JSON");
    let batch = first["batch"].as_str().expect("an identifier");
    let killed = program(&home)
        .env("FAILPOINTS", "batch.act.page=1*return")
        .args(["batches", act, batch])
        .args(more)
        .output()
        .expect("the program starts");
    assert_eq!(killed.status.signal(), Some(SIGKILL), "{act}: {}", String::from_utf8_lossy(&killed.stderr));
    let count = |status: &str| shown(&home, &["batches", "show", batch])[status].as_u64().expect("a number");
    assert_eq!(count("open"), ITEMS as u64, "{act}: no item was told yet");
    let stopping = shown(&home, &["batches", "show", batch])["stopping"]["status"].clone();
    assert_eq!(stopping, if act == "delete" { Value::Null } else { expected.into() }, "{act}");
    succeed(program(&home).args(["-q", "background", "run", "holds"]));
    assert_eq!((count("open"), count(expected)), (0, ITEMS as u64), "{act}");
    let journal = succeed(program(&home).args(["journal", "list", "--json"])).stdout;
    let journal = String::from_utf8(journal).expect("UTF-8");
    let lines = journal.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let outcomes: Vec<Value> =
        lines.filter(|line| line["act"] == format!("batches.{act}")).map(|line| line["outcome"].clone()).collect();
    assert_eq!(outcomes, ["begun"], "{act}: who asked it is known");
}

#[test]
fn a_request_for_a_batch_that_is_killed_behind_its_first_step_is_carried_out() {
    survive("cancel", &[], "cancelled");
    survive("fail", &["--reason", "a test"], "failed");
    survive("delete", &["--yes"], "deleted");
}
