//! Objects that come in parts, through the program: in an odd order, with a part that is wrong at first, with two workers and
//! with workers that are killed. In the end everything is as if the parts had been deposited one after the other.

use std::fs;
use std::path::Path;

use serde_json::Value;
use strongroom_bagit::{BagWriter, NewFile, Serialization, WriterOptions};
use strongroom_digest::Algorithm;
use strongroom_registry::ItemStatus;

use crate::buckets::watch_closely;
use crate::homes::{Running, all_items, end_state, open, until, work_to_the_end};
use crate::program::Place;

const OBJECT: &str = "example.edu/letters";
const TOTAL: usize = 4;
/// Each kill costs an attempt, as it should; here there are many in one stage.
const MANY_ATTEMPTS: &[(&str, &str)] = &[("STRONGROOM_WORKERS__DEFAULT__MAX_ATTEMPTS", "100")];
/// Where a worker is killed while it takes in one part, in the order of its way.
const KILLED_AT: [&str; 7] = [
    "ingest.receive.end",
    "ingest.compare.end",
    "ingest.write.middle",
    "ingest.record.committing",
    "ingest.record.middle",
    "ingest.record.published",
    "ingest.cleanup.begin",
];

fn part_name(number: usize) -> String {
    format!("letters.b{number:02}.of{TOTAL:02}")
}

/// Makes a part, whose folder is named like the part or like the whole. Parts 3 and 4 differ in their payload alone, so that it
/// does not matter which of them comes first.
fn make_part(folder: &Path, number: usize) {
    fs::create_dir_all(folder).unwrap();
    let name = part_name(number);
    let base = if number.is_multiple_of(2) { "letters".to_owned() } else { name.clone() };
    let options = WriterOptions {
        algorithms: vec![Algorithm::Md5, Algorithm::Sha256],
        base_directory: Some(base),
        ..WriterOptions::default()
    };
    let path = folder.join(format!("{name}.tar"));
    let mut writer = BagWriter::create(&path, Serialization::Tar, options).unwrap();
    for letter in 0..20 + number.min(3) {
        let text = format!("letter {letter} of part {number}\n");
        let file = format!("data/part {number}/letter {letter:02}.txt");
        writer.add_payload(&NewFile::new(&file, text.len() as u64), text.as_bytes()).unwrap();
    }
    let info = "Title: Letters\nAccess: Institution\nStorage-Option: Standard\n";
    writer.add_tag_file(&NewFile::new("aptrust-info.txt", info.len() as u64), info.as_bytes()).unwrap();
    writer.finish(&[("Source-Organization".to_owned(), "Example University".to_owned())]).unwrap();
}

/// The same with one byte of its payload changed.
fn damage(path: &Path) {
    let mut bytes = fs::read(path).unwrap();
    let at = bytes.windows(9).position(|nine| nine == b"letter 1 ").unwrap();
    bytes[at] ^= 1;
    fs::write(path, bytes).unwrap();
}

/// Puts files into the receiving store, and looks until each has become a work item.
fn upload(place: &Place, from: &str, numbers: &[usize]) {
    let inbox = place.path("home/stores/receiving/example.edu");
    fs::create_dir_all(&inbox).unwrap();
    let home = open(place);
    let before = all_items(&home).len();
    for number in numbers {
        let name = format!("{}.tar", part_name(*number));
        fs::copy(place.path(from).join(&name), inbox.join(format!(".{name}"))).unwrap();
        fs::rename(inbox.join(format!(".{name}")), inbox.join(&name)).unwrap();
    }
    until("the uploads have become work items", || {
        place.run(["schedule", "--once"]).succeeds();
        (all_items(&home).len() == before + numbers.len()).then_some(())
    });
}

/// Runs a worker that is killed at a point of the program. Where the program has no such points, it just works to the end.
fn work_until_killed(place: &Place, point: &str) {
    if !cfg!(feature = "failpoints") {
        println!("SKIPPED: the kill at {point}: it needs the feature failpoints");
        return;
    }
    let home = open(place);
    let mut worker = Running::of(
        place
            .command()
            .args(["-q", "work"])
            .envs(MANY_ATTEMPTS.iter().copied())
            .env("FAILPOINTS", format!("{point}=return")),
    );
    until("the worker was killed", || {
        let is_over = all_items(&home).iter().all(|item| item.status.is_ended());
        assert!(!is_over, "{point} was passed by");
        worker.has_ended().then_some(())
    });
}

/// What is told of the object: whether it is complete, of how many parts, and which are missing.
fn told(place: &Place) -> (String, Value, Value) {
    let shown = place.run(["objects", "show", OBJECT, "--json"]).succeeds().object();
    let listed = place.run(["objects", "list", "--json"]).succeeds().object();
    assert_eq!(shown, listed);
    (shown["completeness"].as_str().unwrap().to_owned(), shown["parts"].clone(), shown["missing_parts"].clone())
}

fn incomplete(missing: &[u64]) -> (String, Value, Value) {
    ("incomplete".to_owned(), Value::from(TOTAL), Value::from(missing.to_vec()))
}

fn complete() -> (String, Value, Value) {
    ("complete".to_owned(), Value::from(TOTAL), Value::from(Vec::<u64>::new()))
}

/// The parts of the versions, in order.
fn parts_of_versions(place: &Place) -> Vec<(u64, u64)> {
    let versions = place.run(["objects", "versions", OBJECT, "--json"]).succeeds().json();
    versions.iter().map(|version| (version["part"].as_u64().unwrap(), version["parts"].as_u64().unwrap())).collect()
}

#[test]
fn parts_that_come_in_disorder_to_workers_that_are_killed_end_as_those_that_are_handed_in_one_by_one() {
    let place = Place::with_home();
    watch_closely(&place, "");
    for number in 1..=TOTAL {
        make_part(&place.path("good"), number);
        make_part(&place.path("bad"), number);
    }
    damage(&place.path("bad").join(format!("{}.tar", part_name(1))));

    // Two workers at once on three parts, one of which is wrong.
    upload(&place, "bad", &[3, 1, 4]);
    let second = Running::of(place.command().args(["-q", "work"]).envs(MANY_ATTEMPTS.iter().copied()));
    work_to_the_end(&place, MANY_ATTEMPTS);
    assert_eq!(second.terminate().code(), Some(0));
    let statuses: Vec<ItemStatus> = all_items(&open(&place)).into_iter().map(|item| item.status).collect();
    assert_eq!(statuses.iter().filter(|status| **status == ItemStatus::Failed).count(), 1, "{statuses:?}");
    assert_eq!(told(&place), incomplete(&[1, 2]));
    until("the wrong part is known as such", || {
        place.run(["schedule", "--once"]).succeeds();
        let listed = place.run(["receiving", "list", "--json"]).succeeds().json();
        listed.iter().any(|upload| upload["state"] == "invalid" && upload["part"] == 1).then_some(())
    });

    // It is corrected, and the workers that take it in are killed again and again.
    upload(&place, "good", &[1]);
    for point in KILLED_AT {
        work_until_killed(&place, point);
    }
    work_to_the_end(&place, MANY_ATTEMPTS);
    assert_eq!(told(&place), incomplete(&[2]));
    upload(&place, "good", &[2]);
    work_to_the_end(&place, MANY_ATTEMPTS);
    assert_eq!(told(&place), complete());
    let mut parts = parts_of_versions(&place);
    parts[..2].sort_unstable();
    assert_eq!(parts, [(3, 4), (4, 4), (1, 4), (2, 4)]);

    let alone = Place::with_home();
    let good = place.path("good");
    for (number, told) in [
        (3, "part 3 of 4, incomplete: parts 1, 2, 4 missing"),
        (4, "part 4 of 4, incomplete: parts 1, 2 missing"),
        (1, "part 1 of 4, incomplete: part 2 missing"),
        (2, "part 2 of 4, complete"),
    ] {
        let bag = good.join(format!("{}.tar", part_name(number)));
        let said = alone.run(["deposit".as_ref(), bag.as_os_str(), "--wait".as_ref()]).succeeds().stdout;
        assert!(said.contains(told), "{said}");
        assert!(!said.contains("warning"), "the folder may be named like the part or like the whole: {said}");
    }
    assert_eq!(end_state(&place, OBJECT), end_state(&alone, OBJECT));

    given_back(&place);
    made_anew(&place);
}

/// Everything comes back, as one bag.
fn given_back(place: &Place) {
    fs::create_dir(place.path("back")).unwrap();
    place.run(["restore", "object", OBJECT, "--to", "back", "--wait"]).succeeds();
    let bag = place.path("back/letters.tar");
    let report = place.run(["bag".as_ref(), "validate".as_ref(), bag.as_os_str(), "--json".as_ref()]).succeeds();
    assert_eq!(report.object()["verdict"], "valid");
    let mut archive = tar::Archive::new(fs::File::open(bag).unwrap());
    let mut letters = Vec::new();
    for entry in archive.entries().unwrap() {
        let mut entry = entry.unwrap();
        let is_file = entry.header().entry_type().is_file();
        let path = entry.path().unwrap().to_string_lossy().into_owned();
        if let Some(name) = path.strip_prefix("letters/data/").filter(|_| is_file) {
            let text = std::io::read_to_string(&mut entry).unwrap();
            let (part, letter) = name.split_once("/letter ").unwrap();
            let letter: usize = letter.strip_suffix(".txt").unwrap().parse().unwrap();
            assert_eq!(text, format!("letter {letter} of {part}\n"));
            letters.push(path);
        }
    }
    assert_eq!(letters.len(), (1..=TOTAL).map(|number| 20 + number.min(3)).sum::<usize>());
}

/// A registry made from one store says the same.
fn made_anew(place: &Place) {
    let say = |place: &Place| {
        let mut shown = place.run(["objects", "show", OBJECT, "--json"]).succeeds().object();
        shown["collection"].take();
        // Copies that a registry was made from are unverified until they are read.
        shown["health"].take();
        (shown, parts_of_versions(place))
    };
    let before = say(place);
    for name in ["registry.db", "registry.db-wal", "registry.db-shm"] {
        let _ = fs::remove_file(place.path("home").join(name));
    }
    place.run(["rebuild", "--store", "secondary"]).succeeds();
    place.run(["rebuild", "--adopt"]).succeeds();
    assert_eq!(say(place), before);
    assert_eq!(told(place), complete());
}
