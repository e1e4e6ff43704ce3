//! What workers and background tasks log: one line for each outcome.

use std::io::Read as _;
use std::process::{Child, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::program::Place;

/// A program that runs until it is stopped.
struct Running(Option<Child>);

impl Running {
    fn start(place: &Place, command: &str) -> Self {
        let mut started = place.command();
        started.arg(command).env("STRONGROOM_LOG__FORMAT", "json").stdout(Stdio::null()).stderr(Stdio::piped());
        Self(Some(started.spawn().unwrap()))
    }

    /// Stops it; the lines that it has logged.
    fn stop(mut self) -> Vec<Value> {
        let mut child = self.0.take().unwrap();
        kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
        let mut logged = String::new();
        child.stderr.take().unwrap().read_to_string(&mut logged).unwrap();
        assert!(child.wait().unwrap().success(), "{logged}");
        logged.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(mut child) = self.0.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// The lines of a message, by their fields.
fn of_message<'l>(lines: &'l [Value], message: &str) -> Vec<&'l Value> {
    let is_of = |line: &&Value| line["fields"]["message"].as_str().is_some_and(|found| found.starts_with(message));
    lines.iter().filter(is_of).collect()
}

fn status_of(place: &Place, object: &str) -> String {
    let items = place.run(["items", "list", "--object", object, "--json"]).succeeds().json();
    items[0]["status"].as_str().unwrap().to_owned()
}

fn until(place: &Place, object: &str, statuses: &[&str]) {
    while !statuses.contains(&status_of(place, object).as_str()) {
        std::thread::yield_now();
    }
}

#[test]
fn workers_log_one_line_for_each_item_that_ends() {
    let place = Place::with_home();
    place.bag("letters", "good day");
    place.bag("broken", "good day");
    let mut bytes = std::fs::read(place.path("broken.tar")).unwrap();
    let at = bytes.windows(8).position(|window| window == b"good day").unwrap();
    bytes[at] = b'G';
    place.write("broken.tar", bytes);
    place.run(["deposit", "letters.tar", "broken.tar", "--detach"]).succeeds();
    let running = Running::start(&place, "work");
    for object in ["example.edu/letters", "example.edu/broken"] {
        until(&place, object, &["succeeded", "failed"]);
    }
    place.run(["restore", "object", "example.edu/letters", "--to", "back"]).succeeds();
    until(&place, "example.edu/letters", &["succeeded"]);
    while place.run(["items", "list", "--status", "succeeded", "--json"]).succeeds().json().len() < 2 {
        std::thread::yield_now();
    }
    let lines = running.stop();
    let ended = of_message(&lines, "work item ");
    assert_eq!(ended.len(), 3, "{lines:#?}");
    let of = |object: &str, action: &str| {
        let found: Vec<&&Value> = ended
            .iter()
            .filter(|line| line["fields"]["object"] == object && line["fields"]["action"] == action)
            .collect();
        assert_eq!(found.len(), 1, "{object} {action}: {ended:#?}");
        *found[0]
    };
    let kept = of("example.edu/letters", "ingest");
    assert_eq!(
        (kept["level"].as_str(), kept["fields"]["message"].as_str()),
        (Some("INFO"), Some("work item succeeded"))
    );
    assert_eq!(kept["fields"]["stage"], "cleanup");
    let failed = of("example.edu/broken", "ingest");
    assert_eq!(failed["fields"]["message"], "work item failed");
    assert_eq!(failed["fields"]["stage"], "validate");
    assert!(failed["fields"]["error"].as_str().unwrap().contains("manifest.digest_mismatch"), "{failed}");
    of("example.edu/letters", "restore_object");
    for line in &ended {
        let item = line["fields"]["item"].as_str().unwrap();
        assert!(place.run(["items", "show", item]).succeeds().stdout.contains(item));
        assert!(line["fields"]["elapsed"].as_str().is_some_and(|elapsed| !elapsed.is_empty()), "{line}");
    }
}

#[test]
fn background_tasks_log_what_they_did_once_while_it_stays_the_same() {
    let place = Place::with_home();
    let logged = place.run(["schedule", "--once"]).succeeds().stderr;
    let ran = |logged: &str, name: &str| {
        logged.lines().filter(|line| line.contains("background task ran") && line.contains(name)).count()
    };
    for name in ["fixity", "outbox", "retention"] {
        assert_eq!(ran(&logged, &format!("name=\"{name}\"")), 1, "{logged}");
    }
    let again = place.run(["background", "run", "retention"]).succeeds();
    assert_eq!(ran(&again.stderr, "retention"), 0, "{again:?}");
}
