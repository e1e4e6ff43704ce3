//! Kills the program at every operation of a sweep and of a copy. In the end both stores are as an undisturbed run leaves them, nothing is
//! counted twice, and no task is left.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

use crate::{SIGKILL, program, succeed};

const FILES: usize = 12;

/// A home with two plain stores: of the files of the first one, some are in the second one, some differ there, and one was deleted.
fn home() -> (TempDir, PathBuf) {
    let folder = TempDir::new().expect("a temporary folder");
    let home = folder.path().join("home");
    succeed(program(&home).arg("init").arg(&home));
    let mut settings = fs::read_to_string(home.join("strongroom.toml")).expect("reads");
    for store in ["one", "two"] {
        let space = home.join("plain").join(store).join("maps");
        fs::create_dir_all(&space).expect("makes a folder");
        writeln!(settings, "\n[plain_stores.{store}]\npath = \"plain/{store}\"").expect("is written");
    }
    // What is read whole by chance is no difference.
    let settings = settings.replace("[duplication]\n", "[duplication]\nverify_one_in = 0\n");
    fs::write(home.join("strongroom.toml"), settings).expect("writes");
    for number in 0..FILES {
        let name = format!("{number:02}.txt");
        fs::write(home.join("plain/one/maps").join(&name), format!("sheet {number}")).expect("writes");
        if number % 3 == 0 {
            fs::write(home.join("plain/two/maps").join(&name), format!("sheet {number}")).expect("writes");
        }
        if number % 3 == 1 {
            fs::write(home.join("plain/two/maps").join(&name), format!("old sheet {number}")).expect("writes");
        }
    }
    fs::create_dir_all(home.join("plain/one/empty")).expect("makes a folder");
    fs::write(home.join("plain/two/maps/deleted.txt"), "was deleted").expect("writes");
    fs::write(home.join("plain/two/maps/kept.txt"), "was not").expect("writes");
    let user = |email: &str, role: &[&str]| {
        succeed(program(&home).args(["user", "add", email]).args(role));
    };
    user("root@example.net", &["--role", "system_admin"]);
    user("ann@example.edu", &["--role", "institution_admin", "--institution", "example.edu"]);
    let policy = home.join("policy.toml");
    fs::write(&policy, "default = [{ source = \"one\", destination = \"two\", delete = true }]\n").expect("writes");
    let set = ["--as", "root@example.net", "duplicate", "policy", "set"];
    succeed(program(&home).args(set).arg(&policy).args(["--reason", "a copy"]));
    succeed(program(&home).args(["--as", "ann@example.edu", "duplicate", "policy", "approve", "1"]));
    succeed(program(&home).args(["duplicate", "event", "delete", "one/maps/deleted.txt"]));
    (folder, home)
}

/// The files below a folder, with what is in them.
fn files(folder: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        if name.starts_with(".strongroom") {
            // What the program itself keeps there.
            continue;
        }
        if path.is_dir() {
            found.insert(format!("{name}/"), String::new());
            found.extend(files(&path).into_iter().map(|(below, text)| (format!("{name}/{below}"), text)));
        } else {
            found.insert(name, fs::read_to_string(&path).expect("reads"));
        }
    }
    found
}

fn json(command: &mut Command) -> Value {
    let output = command.output().expect("the program starts");
    serde_json::from_slice(&output.stdout).expect("JSON")
}

/// Runs until nothing is left to do; the runs that there were, the first of them first.
fn run_to_the_end(home: &Path) -> Vec<Value> {
    let last = json(program(home).args(["--json", "duplicate", "run", "--wait"]));
    assert_eq!(last["state"], "done", "{last}");
    let output = program(home).args(["--json", "duplicate", "run", "list"]).output();
    let text = String::from_utf8(output.expect("the program starts").stdout).expect("text");
    text.lines().rev().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

/// What an undisturbed run leaves in the second store.
fn wanted(home: &Path) -> BTreeMap<String, String> {
    let mut wanted = files(&home.join("plain/one"));
    wanted.insert("maps/kept.txt".to_owned(), "was not".to_owned());
    wanted
}

/// What was done with something, by its name in the second store.
fn history(home: &Path, item: &str) -> Vec<String> {
    let output = program(home).args(["--json", "duplicate", "history", item]).output().expect("the program starts");
    let text = String::from_utf8(output.stdout).expect("text");
    let acts = text.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    acts.map(|act| act["act"].as_str().expect("a text").to_owned()).collect()
}

/// Each change is in the history once. What a killed attempt has done, the next one finds done.
fn check_history(home: &Path, point: &str) {
    let is_one_of = |item: &str, allowed: &[&str]| {
        let found = history(home, item);
        let [one] = found.as_slice() else { panic!("{point}: {item}: {found:?}") };
        assert!(allowed.contains(&one.as_str()), "{point}: {item}: {found:?}");
    };
    for number in 0..FILES {
        let item = format!("two/maps/{number:02}.txt");
        match number % 3 {
            0 => is_one_of(&item, &["equal"]),
            1 => is_one_of(&item, &["replaced", "equal"]),
            _ => is_one_of(&item, &["copied", "equal"]),
        }
    }
    is_one_of("two/maps/deleted.txt", &["deleted", "absent"]);
    is_one_of("two/maps/kept.txt", &["lost"]);
    is_one_of("two/empty", &["space_created"]);
    assert_eq!(history(home, "one/maps/deleted.txt")[0], "deletion_reported", "{point}");
}

#[test]
fn a_sweep_and_its_copies_end_as_they_do_undisturbed_after_a_kill_at_each_step() {
    let points = [
        "duplicate.put",
        "duplicate.done",
        "duplicate.deleted",
        "duplicate.compared",
        "duplicate.space",
        "sweep.turn",
        "sweep.turned",
    ];
    for point in points {
        for time in [1, 3] {
            let (_folder, home) = home();
            let mut killed = program(&home);
            let skipped = if time > 1 { format!("{}*off->", time - 1) } else { String::new() };
            killed.env("FAILPOINTS", format!("{point}={skipped}1*return")).args(["duplicate", "run", "--wait"]);
            let killed = killed.output().expect("the program starts");
            let is_killed = killed.status.signal() == Some(SIGKILL);
            // Not every step comes three times.
            let said = String::from_utf8_lossy(&killed.stderr);
            assert!(is_killed || time > 1, "{point}: {said}");
            let runs = run_to_the_end(&home);
            assert_eq!(files(&home.join("plain/two")), wanted(&home), "{point}");
            for run in &runs {
                let of = |name: &str| run[name].as_u64().expect("a number");
                let sum = of("queued") + of("equal") + of("ignored") + of("failed");
                assert_eq!(of("listed"), sum, "{point}: {run}");
            }
            // The files, the kept one, the deleted one, and the space that is made.
            let all = FILES as u64 + 3;
            assert!(runs[0]["listed"].as_u64().is_some_and(|listed| listed <= all), "{point}: {runs:?}");
            check_history(&home, point);
            let left = json(program(&home).args(["--json", "duplicate", "run", "--wait"]));
            assert_eq!((&left["queued"], &left["deletions"]), (&0.into(), &0.into()), "{point}: {left}");
            let lost = program(&home).args(["--json", "duplicate", "problems"]).output().expect("the program starts");
            let lost = String::from_utf8(lost.stdout).expect("text");
            assert!(lost.lines().count() == 1 && lost.contains("kept.txt"), "{point}: {lost}");
        }
    }
}
