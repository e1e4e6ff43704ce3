//! Several processes on one home at the same time.

use std::collections::{BTreeMap, BTreeSet};
use std::process::{Child, Stdio};

use serde_json::Value;

use crate::fixtures::{Made, make_bag};
use crate::homes::{Running, end_state, nothing_is_left, stored_contents, work_to_the_end};
use crate::program::{Answer, Place};

/// Begins a deposit that is waited for.
fn begin_deposit(place: &Place, bags: &[String]) -> Child {
    let mut command = place.command();
    command.arg("deposit").args(bags).args(["--wait", "--json"]).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

/// Its items as they ended, all well.
#[track_caller]
fn end_deposit(deposit: Child) -> Vec<Value> {
    let output = deposit.wait_with_output().unwrap();
    let answer = Answer {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    };
    let items = answer.succeeds().json();
    for item in &items {
        assert_eq!(item["status"], "succeeded", "{item}");
    }
    items
}

fn small(says: &'static str) -> Made {
    Made { small: 60, large: (1, 1 << 20), says }
}

/// Path to SHA-512 in a version.
fn files_of_version(place: &Place, object: &str, version: &str) -> BTreeMap<String, String> {
    let files = place.run(["objects", "files", object, "--version", version, "--json"]).succeeds().json();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    files.iter().map(|file| (text(&file["path"]), text(&file["digests"]["sha512"]))).collect()
}

#[test]
fn four_processes_on_one_home_do_every_step_once() {
    let place = Place::with_home();
    let bags: Vec<String> = (0..8)
        .map(|number| make_bag(&place.path(""), &format!("letters-{number}"), small("together")))
        .map(|path| path.to_string_lossy().into_owned())
        .collect();
    let workers = [0, 1].map(|_| Running::start(&place, &["-q", "work"]));
    let (first, second) = bags.split_at(4);
    let deposits = [begin_deposit(&place, first), begin_deposit(&place, second)];
    let items: Vec<Value> = deposits.into_iter().flat_map(end_deposit).collect();
    assert_eq!(items.len(), 8);
    for worker in workers {
        assert_eq!(worker.terminate().code(), Some(0));
    }
    for item in &items {
        assert_eq!(item["version"], 1, "{item}");
        let history = place.run(["items", "history", item["item"].as_str().unwrap(), "--json"]).succeeds().json();
        let begun = history.iter().filter(|line| line["status"] == "started");
        let mut stages: Vec<&str> = begun.map(|line| line["stage"].as_str().unwrap()).collect();
        // What waited too long for a thread of its process went back to the queue, and nothing of it was done.
        for unbegun in history.iter().filter(|line| line["note"] == "returned to the queue before it began") {
            let started = stages.iter().rposition(|stage| *stage == unbegun["stage"]).unwrap();
            stages.remove(started);
        }
        let distinct: BTreeSet<&&str> = stages.iter().collect();
        assert_eq!((stages.len(), distinct.len()), (14, 14), "{stages:?}");
    }
    nothing_is_left(&place);
    for store in crate::homes::PRESERVATION {
        place.run(["ocfl", "validate", &format!("home/stores/{store}/example.edu")]).succeeds();
    }
}

#[test]
fn two_deposits_of_one_name_at_once_become_versions_in_order() {
    let place = Place::with_home();
    let bags = ["one", "two"].map(|folder| {
        let path = make_bag(&place.path(folder), "letters", small(folder));
        path.to_string_lossy().into_owned()
    });
    let deposits = bags.each_ref().map(|bag| begin_deposit(&place, std::slice::from_ref(bag)));
    let [one, two] = deposits.map(|deposit| end_deposit(deposit).remove(0));

    // The item that was made first makes the first version, whoever's it is: identifiers of one moment have any order, and the
    // transactions that make items come one after the other.
    let made_at = |item: &Value| {
        let shown = place.run(["items", "show", item["item"].as_str().unwrap(), "--json"]).succeeds().object();
        shown["created_at"].as_str().unwrap().parse::<jiff::Timestamp>().unwrap()
    };
    let (first, second, first_bag, second_bag) =
        if made_at(&one) < made_at(&two) { (&one, &two, &bags[0], &bags[1]) } else { (&two, &one, &bags[1], &bags[0]) };
    assert_eq!((&first["version"], &second["version"]), (&1.into(), &2.into()));

    // Each version holds what was sent, byte for byte.
    for (version, bag) in [("1", first_bag), ("2", second_bag)] {
        let alone = Place::with_home();
        alone.run(["deposit", bag, "--wait"]).succeeds();
        let sent = files_of_version(&alone, "example.edu/letters", "1");
        assert_eq!(files_of_version(&place, "example.edu/letters", version), sent, "version {version}");
    }
    end_state(&place, "example.edu/letters");
}

#[test]
fn the_same_bag_deposited_twice_at_once_makes_one_version() {
    let place = Place::with_home();
    let bag = make_bag(&place.path(""), "letters", small("twice")).to_string_lossy().into_owned();
    let deposits = [0, 1].map(|_| begin_deposit(&place, std::slice::from_ref(&bag)));
    let mut versions: Vec<Option<u64>> =
        deposits.into_iter().map(|deposit| end_deposit(deposit)[0]["version"].as_u64()).collect();
    versions.sort_unstable();
    assert_eq!(versions, [None, Some(1)]);
    let twice = end_state(&place, "example.edu/letters");

    let alone = Place::with_home();
    alone.run(["deposit", &bag, "--wait"]).succeeds();
    assert_eq!(twice, end_state(&alone, "example.edu/letters"));
    assert_eq!(stored_contents(&place).len(), stored_contents(&alone).len());
}

#[test]
fn deposits_go_in_while_every_copy_is_checked_and_neither_minds_the_other() {
    let place = Place::with_home();
    let bags: Vec<[String; 2]> = (0..4)
        .map(|number| {
            ["first", "second"].map(|says| {
                let path = make_bag(&place.path(says), &format!("letters-{number}"), small(says));
                path.to_string_lossy().into_owned()
            })
        })
        .collect();
    let [first, second] = [0, 1].map(|which| bags.iter().map(|bag| bag[which].clone()).collect::<Vec<_>>());
    end_deposit(begin_deposit(&place, &first));

    let mut deposit = begin_deposit(&place, &second);
    let mut rounds = 0;
    let is_over = |deposit: &mut Child| deposit.try_wait().unwrap().is_some();
    while rounds == 0 || !is_over(&mut deposit) {
        let report = place.run(["fixity", "run", "--all", "--json"]).succeeds().object();
        assert_eq!(report["checked"], report["passed"], "{report}");
        for key in ["damaged", "unrepairable", "failed"] {
            assert_eq!(report[key], 0, "{report}");
        }
        rounds += 1;
    }
    for item in end_deposit(deposit) {
        assert_eq!(item["version"], 2, "{item}");
    }

    // What was in somebody's hands at the time was left to the workers.
    work_to_the_end(&place, &[]);
    // In the end every copy there is can be checked, the inventory of each object in each store too, and is right.
    let report = place.run(["fixity", "run", "--all", "--json"]).succeeds().object();
    let inventories = bags.len() * crate::homes::PRESERVATION.len();
    assert_eq!(report["passed"], stored_contents(&place).len() + inventories, "{report}");
    nothing_is_left(&place);
    for store in crate::homes::PRESERVATION {
        place.run(["ocfl", "validate", &format!("home/stores/{store}/example.edu")]).succeeds();
    }
}
