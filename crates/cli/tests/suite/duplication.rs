//! Duplication as people use it: what a file of events has wrong is said at once, reasons are said once, and changes are logged once.

use std::fs;
use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::program::Place;

/// A home with the plain stores `disk`, `cloud` and `tape`, and a policy that copies from the first one to the others.
fn place() -> Place {
    let place = Place::with_home();
    let mut settings = fs::read_to_string(place.path("home/strongroom.toml")).unwrap();
    for name in ["disk", "cloud", "tape"] {
        for line in [&format!("\n[plain_stores.{name}]"), &format!("path = \"plain/{name}\""), "marker = \".here\""] {
            settings += line;
            settings += "\n";
        }
        place.write(&format!("home/plain/{name}/.here"), "");
    }
    place.write("home/strongroom.toml", settings);
    place.write(
        "policy.toml",
        "default = [{ source = \"disk\", destination = \"cloud\" }, { source = \"disk\", destination = \"tape\" }]\n",
    );
    place.run(["duplicate", "policy", "set", "policy.toml", "--reason", "a copy"]).succeeds();
    place
}

#[test]
fn every_line_that_is_no_event_is_said_and_none_is_recorded() {
    let place = place();
    let good = "{\"item\": \"disk/maps/1.txt\", \"kind\": \"put\"}\n";
    let long = format!("{{\"item\": \"disk/maps/{}\", \"kind\": \"put\"}}\n", "x".repeat(200_000));
    let lines = format!(
        "{good}\nnothing\n{}{}{long}{}{good}",
        "{\"item\": \"nowhere/maps/1.txt\", \"kind\": \"put\"}\n",
        "{\"item\": \"disk/maps/1.txt\", \"kind\": \"put\", \"at\": \"noon\"}\n",
        "{\"item\": \"disk\", \"kind\": \"delete\"}\n",
    );
    place.write("events.jsonl", lines);
    let refused = place.run(["duplicate", "event", "import", "events.jsonl", "--json"]);
    assert_eq!(refused.code, Some(1), "{}", refused.stderr);
    let refused = refused.object();
    assert_eq!((&refused["lines"], &refused["refused"]), (&Value::from(7), &Value::from(5)), "{refused}");
    let problems = refused["problems"].as_array().unwrap();
    let numbers: Vec<u64> = problems.iter().map(|problem| problem["line"].as_u64().unwrap()).collect();
    assert_eq!(numbers, [3, 4, 5, 6, 7], "{refused}");
    assert!(problems.iter().all(|problem| !problem["next"].as_str().unwrap().is_empty()), "{refused}");
    let said = place.run(["duplicate", "event", "import", "events.jsonl"]);
    assert_eq!(said.code, Some(1));
    assert!(
        said.stdout.ends_with("refused: 5 lines of 7 cannot be recorded; no event was recorded\n"),
        "{}",
        said.stdout
    );
    // What was right is news still.
    place.write("events.jsonl", good);
    let recorded = place.run(["duplicate", "event", "import", "events.jsonl", "--json"]).succeeds().object();
    assert_eq!((&recorded["recorded"], &recorded["tasks"]), (&Value::from(1), &Value::from(2)), "{recorded}");
}

#[test]
fn lines_that_are_no_events_are_said_up_to_a_hundred() {
    let place = place();
    place.write("events.jsonl", "nothing\n".repeat(1_234));
    let refused = place.run(["duplicate", "event", "import", "events.jsonl"]);
    assert_eq!(refused.code, Some(1));
    assert_eq!(refused.stdout.matches("it is no event").count(), 100);
    assert!(refused.stdout.contains("and 1134 further lines\n"), "{}", refused.stdout);
}

#[test]
fn a_preview_says_once_that_a_store_is_away() {
    let place = place();
    for number in 0..8 {
        place.write(&format!("home/plain/disk/space-{number}/1.txt"), "sheet");
    }
    fs::remove_file(place.path("home/plain/tape/.here")).unwrap();
    let preview = place.run(["duplicate", "policy", "preview"]);
    assert_eq!(preview.code, Some(1));
    assert_eq!(preview.stderr.lines().filter(|line| line.contains(".here")).count(), 1, "{}", preview.stderr);
    assert!(
        preview.stderr.contains("space-0 disk -> tape") && preview.stderr.contains("and 3 more"),
        "{}",
        preview.stderr
    );
}

/// The lines that a program has logged until now, as their fields.
fn logged(place: &Place) -> Vec<Value> {
    let text = fs::read_to_string(place.path("log.jsonl")).unwrap();
    let lines = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    lines.map(|mut line| line["fields"].take()).collect()
}

#[test]
fn stores_items_and_sweeps_are_logged_once_for_each_change() {
    let place = place();
    place.write("home/plain/disk/maps/1.txt", "sheet");
    fs::remove_file(place.path("home/plain/tape/.here")).unwrap();
    let log = fs::File::create(place.path("log.jsonl")).unwrap();
    let mut serve = place.command();
    serve.arg("serve").env("STRONGROOM_LOG__FORMAT", "json").stdout(Stdio::null()).stderr(log);
    let mut child = serve.spawn().unwrap();
    let until = |message: &str, is_it: &dyn Fn(&Value) -> bool| {
        let is_of =
            |line: &&Value| line["message"].as_str().is_some_and(|found| found.starts_with(message)) && is_it(line);
        loop {
            if let Some(found) = logged(&place).into_iter().find(|line| is_of(&line)) {
                return found;
            }
            std::thread::yield_now();
        }
    };
    let any = |_: &Value| true;
    let away = until("plain store is away", &any);
    assert_eq!((&away["store"], &away["next"]), (&"tape".into(), &"strongroom space list --store tape".into()));
    place.write("home/plain/tape/.here", "");
    place.run(["duplicate", "event", "put", "disk/maps/1.txt"]).succeeds();
    assert_eq!(until("plain store is back", &any)["store"], "tape");
    // What vanishes is found by a sweep.
    while !place.path("home/plain/tape/maps/1.txt").exists() || !place.path("home/plain/cloud/maps/1.txt").exists() {
        place.run(["duplicate", "run"]);
    }
    fs::remove_file(place.path("home/plain/disk/maps/1.txt")).unwrap();
    place.run(["duplicate", "event", "put", "disk/maps/1.txt"]).succeeds();
    let lost = until("content item needs a person", &|line| line["destination"] == "cloud");
    assert_eq!((&lost["store"], &lost["key"], &lost["outcome"]), (&"disk".into(), &"1.txt".into(), &"lost".into()));
    assert!(lost["next"].as_str().unwrap().starts_with("strongroom duplicate problems --institution "), "{lost}");
    until("content item needs a person", &|line| line["destination"] == "tape");
    let ended = until("sweep ended", &any);
    assert!(ended["listed"].is_u64() && ended["queued"].is_u64() && ended["held"].is_u64(), "{ended}");
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    assert!(child.wait().unwrap().success());
    for (message, count) in [("plain store is away", 1), ("plain store is back", 1), ("content item needs a person", 2)]
    {
        let lines = logged(&place);
        let is_of = |line: &&Value| line["message"].as_str().is_some_and(|found| found.starts_with(message));
        assert_eq!(lines.iter().filter(is_of).count(), count, "{message}");
    }
}
