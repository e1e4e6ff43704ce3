//! Everything but the registry in a bucket: what lies in cold storage only is retrieved, given back and repaired from, results
//! go when their time has run out, and a bucket that fails and a process that is killed leave nothing behind.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;
use std::time::Duration;

use serde_json::Value;
use strongroom_s3_double::{Double, Fault, Operation, Rules};

use crate::buckets::{change_settings, copy_out, home_in, keys_below};
use crate::fixtures::{Made, make_bag};
use crate::homes::{Running, nothing_is_left, open, until, work_to_the_end};
use crate::peers::{accepts, bagit_python_accepts};
use crate::program::Place;
use crate::restorations::unpack;

const IN_BUCKET: &[&str] = &["staging", "primary", "secondary", "restoration", "quarantine"];
const COLD: &str = "storage_class = \"GLACIER\"\n";
const LETTERS: Made = Made { small: 12, large: (1, 12 << 20), says: "object storage" };
const OBJECT: &str = "example.edu/letters";
const RESULT: &str = "restoration/example.edu/letters.tar";
const RETRIEVAL_TIME: Duration = Duration::from_hours(5);

/// A home in the bucket that has taken in a bag, with further settings of restoration.
fn home_with_letters(double: &Double, of_secondary: &str, of_restoration: &str) -> Place {
    let place = home_in(double, None, IN_BUCKET, of_secondary);
    change_settings(&place, "[restoration]\n", &format!("[restoration]\n{of_restoration}"));
    let bag = make_bag(&place.path("sent"), "letters", LETTERS);
    place.run(["deposit", &bag.to_string_lossy(), "--wait"]).succeeds();
    place
}

/// Keys of contents in a store of the bucket.
fn contents(double: &Double, store: &str) -> Vec<String> {
    let mut keys = keys_below(double, &format!("{store}/example.edu/"));
    keys.retain(|key| key.contains("/content/"));
    keys
}

fn is_cold(double: &Double, key: &str) -> bool {
    double.stored(key).is_some_and(|stored| stored.class.as_deref() == Some("GLACIER"))
}

fn item(place: &Place, id: &Value) -> Value {
    place.run(["items", "show", id.as_str().unwrap(), "--json"]).succeeds().object()
}

/// Waits until the item says so.
#[track_caller]
fn until_item(place: &Place, id: &Value, what: &str, is_so: impl Fn(&Value) -> bool) -> Value {
    until(what, || Some(item(place, id)).filter(|item| is_so(item)))
}

fn waits_for_retrieval(item: &Value) -> bool {
    item["status"] == "pending"
        && item["note"].as_str().unwrap().starts_with("waits for the retrieval of ")
        && item["note"].as_str().unwrap().ends_with(" in secondary")
}

/// What lies in the restoration store is a bag that we and others accept.
#[track_caller]
fn is_a_right_bag(place: &Place, double: &Double) {
    let back = place.path("back");
    let _ = fs::remove_dir_all(&back);
    copy_out(double, "restoration/example.edu/", &back);
    place.run(["bag", "validate", "back/letters.tar", "--profile", "aptrust-2.3"]).succeeds();
    unpack(&back.join("letters.tar"), &back.join("letters"));
    bagit_python_accepts(&[back.join("letters")]);
    let _ = fs::remove_dir_all(place.path("sent/unpacked"));
    unpack(&place.path("sent/letters.tar"), &place.path("sent/unpacked"));
    accepts(
        Command::new("diff").arg("--recursive").args([back.join("letters/data"), place.path("sent/unpacked/data")]),
    );
}

#[test]
fn what_lies_in_cold_storage_only_is_retrieved_at_once_while_no_worker_waits_and_anew_when_it_has_expired() {
    let double = Double::start().unwrap();
    let place = home_with_letters(&double, COLD, "retrieval_poll = \"1s\"\n");
    let files = place.run(["objects", "files", OBJECT, "--json"]).succeeds().json();
    let digests: BTreeSet<&str> = files.iter().map(|file| file["digests"]["sha512"].as_str().unwrap()).collect();
    for key in contents(&double, "primary") {
        double.take(&key).unwrap();
    }
    let asked = place.run(["restore", "object", OBJECT, "--json"]).succeeds().object();
    let workers = Running::start(&place, &["-q", "work"]);
    until_item(&place, &asked["item"], "the item waits", waits_for_retrieval);
    // Somebody else is worked for meanwhile.
    place.bag("greeting", "hello\n");
    place.run(["deposit", "greeting.tar", "--wait"]).succeeds();
    until_item(&place, &asked["item"], "the item waits still", waits_for_retrieval);
    let requests = double.counts().of(Operation::RestoreObject);
    let wanted = digests.len() as u64 + 1;
    // The copies that are gone are findings by now; what was asked for is not asked for again to repair them.
    assert_eq!(requests, wanted, "every content and the declaration are asked for once");
    double.turn_clock(RETRIEVAL_TIME);
    until_item(&place, &asked["item"], "the bag is given back", |item| item["status"] == "succeeded");
    is_a_right_bag(&place, &double);

    double.turn_clock(Duration::from_hours(24 * 11));
    let wanted = files.iter().find(|file| file["path"] == "data/scan 0.tif").unwrap();
    let asked = place.run(["restore", "file", wanted["file"].as_str().unwrap(), "--json"]).succeeds().object();
    let waiting = until_item(&place, &asked["item"], "the item waits", waits_for_retrieval);
    assert!(waiting["note"].as_str().unwrap().starts_with("waits for the retrieval of 1 of 1 file "), "{waiting}");
    assert!(double.counts().of(Operation::RestoreObject) > requests);
    double.turn_clock(RETRIEVAL_TIME);
    let given = until_item(&place, &asked["item"], "the file is given back", |item| item["status"] == "succeeded");
    let key = format!("restoration/{}", given["restored"][0]["key"].as_str().unwrap());
    assert_eq!(double.stored(&key).unwrap().bytes(), fs::read(place.path("sent/unpacked/data/scan 0.tif")).unwrap());
    // A check of the copies that are gone may still be under way, and goes back to the queue when its worker ends.
    until("every check has ended", || {
        let topics = place.run(["queue", "list", "--json"]).succeeds().json();
        topics.iter().all(|topic| ["ready", "delayed", "leased"].iter().all(|state| topic[state] == 0)).then_some(())
    });
    assert_eq!(workers.terminate().code(), Some(0));
    nothing_is_left(&place);
}

#[test]
fn a_damaged_copy_waits_for_the_only_right_one_to_be_retrieved_and_is_repaired_from_it() {
    let double = Double::start().unwrap();
    let place = home_with_letters(&double, COLD, "");
    let keys = contents(&double, "primary");
    let key = keys.iter().find(|key| is_cold(&double, &key.replacen("primary", "secondary", 1))).unwrap();
    let right = double.stored(key).unwrap().bytes();
    let mut wrong = right.clone();
    wrong[0] ^= 1;
    double.lay(key, &wrong);
    let events = || {
        let all = place.run(["objects", "events", OBJECT, "--json"]).succeeds().json();
        all.iter().filter(|event| event["outcome"] == "failure").count()
    };
    let mut told = None;
    for _ in 0..2 {
        let round = place.run(["fixity", "run", "--all", "--json"]).object();
        assert_eq!((&round["postponed"], &round["damaged"]), (&1.into(), &0.into()), "{round}");
        let finding = place.run(["fixity", "problems", "--json"]).object();
        assert_eq!(finding["state"], "open", "{finding}");
        assert!(finding["detail"].as_str().unwrap().contains("waits for the retrieval of its copy in store secondary"));
        assert_eq!(*told.get_or_insert_with(events), events(), "what is known is not told again");
    }
    assert_eq!(double.counts().of(Operation::RestoreObject), 1);
    let is_evidence = |key: &String| double.stored(key).unwrap().bytes() == wrong;
    assert!(keys_below(&double, "quarantine/").iter().any(is_evidence), "the bad bytes are kept");
    double.turn_clock(RETRIEVAL_TIME);
    let round = place.run(["fixity", "run", "--all", "--json"]).object();
    assert_eq!((&round["repaired"], &round["postponed"]), (&1.into(), &0.into()), "{round}");
    assert_eq!(double.stored(key).unwrap().bytes(), right);
}

#[test]
fn a_store_that_honours_no_conditions_is_named_by_config_check() {
    for (rules, named) in [(Rules::AWS, vec![]), (Rules::GARAGE, vec!["conditions of store primary"])] {
        let double = Double::start_with(rules).unwrap();
        let place = home_in(&double, None, &["primary"], "");
        let checked = place.run(["config", "check", "--json"]).succeeds().json();
        let told = checked.iter().filter(|line| line["check"].as_str().unwrap().starts_with("conditions of "));
        assert_eq!(told.clone().map(|line| line["check"].as_str().unwrap()).collect::<Vec<_>>(), named);
        assert!(
            told.into_iter().all(|line| line["ok"] == true && line["message"].as_str().unwrap().contains("older one"))
        );
    }
}

#[test]
fn new_copies_are_read_back_only_where_the_service_vouches_for_no_digest() {
    const LARGE: u64 = 12 << 20;
    for (rules, is_read) in [(Rules::AWS, false), (Rules::PLAIN, true)] {
        let double = Double::start_with(rules).unwrap();
        let place = home_in(&double, None, &["primary", "secondary"], "");
        let bag = make_bag(&place.path("sent"), "letters", LETTERS);
        place.run(["deposit", &bag.to_string_lossy(), "--wait"]).succeeds();
        let read = double.counts().bytes_out;
        assert_eq!(read > LARGE, is_read, "{read} bytes were read of two copies of {LARGE} and more");
        let copies = place.run(["objects", "files", OBJECT, "--json"]).succeeds().json();
        for copy in copies.iter().flat_map(|file| file["copies"].as_array().unwrap()) {
            assert!(copy["verified_at"].is_string(), "{copy}");
            assert_eq!(copy["last_fixity_at"].is_string(), is_read, "only what was read has passed: {copy}");
        }
    }
}

/// Has requests of many kinds refused and bodies cut off, here and there.
fn trouble(double: &Double) {
    let refused = [
        Operation::HeadObject,
        Operation::GetObject,
        Operation::PutObject,
        Operation::ListObjects,
        Operation::CreateMultipartUpload,
        Operation::UploadPart,
        Operation::CompleteMultipartUpload,
        Operation::DeleteObject,
    ];
    for operation in refused {
        for nth in [1, 4, 9] {
            double.plan(operation, nth, Fault::Refuse(503));
        }
    }
    for nth in [2, 6, 7] {
        double.plan(Operation::GetObject, nth, Fault::Torn { after: 100 });
    }
}

#[test]
fn a_bucket_that_refuses_and_breaks_off_takes_everything_in_and_gives_everything_back() {
    let double = Double::start().unwrap();
    let place = home_in(&double, None, IN_BUCKET, "");
    let bag = make_bag(&place.path("sent"), "letters", LETTERS);
    trouble(&double);
    place.run(["deposit", &bag.to_string_lossy(), "--wait"]).succeeds();
    nothing_is_left(&place);
    trouble(&double);
    place.run(["restore", "object", OBJECT, "--wait"]).succeeds();
    is_a_right_bag(&place, &double);

    trouble(&double);
    place.run(["restore", "object", OBJECT, "--submission", "--wait"]).succeeds();
    let back = place.path("submission");
    copy_out(&double, "restoration/example.edu/", &back);
    unpack(&back.join("letters-2.tar"), &back.join("given"));
    accepts(Command::new("diff").arg("--recursive").args([back.join("given"), place.path("sent/unpacked")]));

    trouble(&double);
    let key = contents(&double, "primary").remove(0);
    let right = double.stored(&key).unwrap().bytes();
    double.lay(&key, b"damaged");
    let round = place.run(["fixity", "run", "--all", "--json"]).object();
    assert_eq!((&round["damaged"], &round["repaired"]), (&1.into(), &1.into()), "{round}");
    assert_eq!(double.stored(&key).unwrap().bytes(), right);
    let is_evidence = |key: &String| double.stored(key).unwrap().bytes() == b"damaged";
    assert!(keys_below(&double, "quarantine/").iter().any(is_evidence));
    assert_eq!(double.uploads(), Vec::<String>::new());
}

#[test]
fn a_restoration_that_is_killed_ends_when_it_is_taken_up_and_leaves_nothing_that_is_not_swept() {
    let double = Double::start().unwrap();
    let place = home_with_letters(&double, "", "retention = \"1ms\"\n");
    for point in ["restoration.put.begun", "restoration.put.done"] {
        let asked = place.run(["restore", "object", OBJECT, "--json"]).succeeds().object();
        let killed = place.run_with(&[("FAILPOINTS", &format!("{point}=1*return"))], ["-q", "work"]);
        assert_eq!(killed.code, None, "{point}: {killed:?}");
        work_to_the_end(&place, &[]);
        assert_eq!(item(&place, &asked["item"])["status"], "succeeded", "{point}");
        is_a_right_bag(&place, &double);
    }
    // In the middle of an upload.
    double.always(Operation::UploadPart, Some(Fault::Late(Duration::from_millis(300))));
    let asked = place.run(["restore", "object", OBJECT, "--json"]).succeeds().object();
    let worker = Running::start(&place, &["-q", "work"]);
    until("an upload is under way", || (!double.uploads().is_empty()).then_some(()));
    worker.kill();
    double.always(Operation::UploadPart, None);
    work_to_the_end(&place, &[]);
    assert_eq!(item(&place, &asked["item"])["status"], "succeeded");
    is_a_right_bag(&place, &double);
    nothing_is_left(&place);
    let unfinished = double.uploads().len() as u64;
    assert_eq!(unfinished, 1, "of the process that was killed");
    let restoration = open(&place).roles.restoration;
    assert_eq!(restoration.sweep_unfinished(Duration::from_hours(1)).unwrap(), 0, "somebody may be at it");
    assert_eq!(restoration.sweep_unfinished(Duration::ZERO).unwrap(), unfinished);
    assert_eq!(double.uploads(), Vec::<String>::new());

    // Each turn is the first of a schedule, or one that was cut short.
    for point in ["restoration.expire.begun", "restoration.expire.removed"] {
        let killed = place.run_with(&[("FAILPOINTS", &format!("{point}=1*return"))], ["schedule", "--once"]);
        assert_eq!(killed.code, None, "{point}: {killed:?}");
    }
    place.run(["schedule", "--once"]).succeeds();
    assert_eq!(keys_below(&double, RESULT), Vec::<String>::new());
    let ended = item(&place, &asked["item"]);
    assert_eq!(ended["restored"][0]["state"], "removed", "{ended}");
    let history = place.run(["items", "history", asked["item"].as_str().unwrap(), "--json"]).succeeds().json();
    assert!(history.last().unwrap()["note"].as_str().unwrap().contains("removed from store restoration"));
}
