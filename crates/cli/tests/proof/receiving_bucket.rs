//! Receiving from a bucket: uploads of either form are taken in once they have settled, looks go on where the ones before
//! stopped, what is replaced is not lost, and bags of other people go from one bucket through another and back.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use strongroom_registry::{ItemStatus, Stage};
use strongroom_s3_double::{Double, Rules};

use crate::buckets::{copy_out, home_in, keys_below, lay_folder, look_until, uploads, watch_closely};
use crate::deposits::{DEPOSITS, UPDATED};
use crate::fixtures::{Made, fixture, listed, make_bag};
use crate::homes::{PRESERVATION, Running, all_items, nothing_is_left, open, until, work_to_the_end};
use crate::peers::{bagit_python_accepts, objects, ocfl_py_accepts, rocfl_accepts};
use crate::program::Place;
use crate::restorations::{profile_of, unpack};

/// What lies in the bucket here.
const IN_BUCKET: &[&str] = &["receiving", "staging", "primary", "secondary", "restoration", "quarantine"];
const LETTERS: &str = "receiving/example.edu/letters.tar";
/// All that is done before an upload is removed.
const TO_NOTIFY: &str = "ingest.receive,ingest.estimate,ingest.provision,ingest.fetch,ingest.validate,ingest.resolve,\
                         ingest.compare,ingest.gather,ingest.characterize,ingest.write,ingest.verify,ingest.record,\
                         ingest.notify";

fn small(says: &'static str) -> Made {
    Made { small: 3, large: (0, 0), says }
}

fn lay_file(double: &Double, key: &str, path: &Path) {
    double.lay(key, &fs::read(path).unwrap());
}

/// Lays a bag into the bucket that is a folder. APTrust's profile wants archives, so it keeps none.
fn lay_loose(place: &Place, double: &Double, name: &str, files: usize) {
    let payload = format!("payload of {name}");
    for number in 0..files {
        place.write(&format!("{payload}/leaf {number}.txt"), format!("leaf {number} of {name}\n"));
    }
    fs::create_dir(place.path(&format!("loose {name}"))).unwrap();
    place.run(["bag", "create", &payload, &format!("loose {name}/{name}")]).succeeds();
    lay_folder(double, &place.path(&format!("loose {name}")), "receiving/example.edu/");
}

fn are_all(uploads: &BTreeMap<String, String>, state: &str) -> bool {
    uploads.values().all(|known| known == state)
}

#[test]
fn archives_and_folders_in_a_bucket_are_taken_in_and_removed_and_what_is_wrong_stays() {
    let double = Double::start().unwrap();
    let place = home_in(&double, None, IN_BUCKET, "");
    watch_closely(&place, "");
    let bags = place.path("bags");
    lay_file(&double, LETTERS, &make_bag(&bags, "letters", small("as an archive")));
    lay_loose(&place, &double, "diary", 3);
    lay_loose(&place, &double, "torn", 3);
    let torn = keys_below(&double, "receiving/example.edu/torn/data/");
    double.take(&torn[0]).unwrap();
    for other in ["notes.txt", "going-on.tar.part"] {
        double.lay(&format!("receiving/example.edu/{other}"), b"no bag");
    }
    double.lay("receiving/example.org/letters.tar", b"of nobody we know");

    place.run(["schedule", "--once"]).succeeds();
    let seen = ["diary/", "letters.tar", "notes.txt", "torn/"].map(|name| format!("example.edu/{name}"));
    assert_eq!(uploads(&place).into_keys().collect::<Vec<_>>(), seen);
    assert!(are_all(&uploads(&place), "settling"), "one look says nothing");
    look_until(&place, "nothing settles any more", |all| !all.values().any(|state| state == "settling"));
    let kept: BTreeSet<String> = double.keys().into_iter().filter(|key| key.starts_with("receiving/")).collect();
    work_to_the_end(&place, &[]);
    look_until(&place, "the look knows how the items ended", |all| !all.values().any(|state| state == "submitted"));
    let states: Vec<String> = uploads(&place).into_values().collect();
    assert_eq!(states, ["removed", "removed", "not_a_bag", "invalid"]);
    let left: BTreeSet<String> = keys_below(&double, "receiving/").into_iter().collect();
    let is_ours = |key: &String| key.contains("/diary/") || key.ends_with("example.edu/letters.tar");
    let gone: BTreeSet<&String> = kept.difference(&left).collect();
    assert_eq!(gone, kept.iter().filter(|key| is_ours(key)).collect(), "what was taken in is removed, and no more");
    let objects = place.run(["objects", "list", "--json"]).succeeds().json();
    let mut names: Vec<&str> = objects.iter().map(|object| object["identifier"].as_str().unwrap()).collect();
    names.sort_unstable();
    assert_eq!(names, ["example.edu/diary", "example.edu/letters"]);
    nothing_is_left(&place);
}

#[test]
fn a_look_that_may_list_no_more_goes_on_in_the_next_and_takes_each_upload_in_once() {
    const UPLOADS: usize = 20;
    const MOST: usize = 7;
    let double = Double::start().unwrap();
    let place = home_in(&double, None, &["receiving"], "");
    watch_closely(&place, &format!("max_per_run = {MOST}\n"));
    // A folder of more keys than one look lists, between archives.
    lay_loose(&place, &double, "letters-03-folder", 12);
    for number in 0..UPLOADS {
        let bag = make_bag(&place.path("bags"), &format!("letters-{number:02}"), small("in pieces"));
        lay_file(&double, &format!("receiving/example.edu/letters-{number:02}.tar"), &bag);
    }
    place.run(["schedule", "--once"]).succeeds();
    let first = uploads(&place).len();
    assert!((1..=MOST).contains(&first), "{first} uploads by one look");
    let is_whole = |all: &BTreeMap<String, String>| all.len() == UPLOADS + 1 && are_all(all, "submitted");
    look_until(&place, "every upload is submitted", is_whole);
    work_to_the_end(&place, &[]);
    assert_eq!(all_items(&open(&place)).len(), UPLOADS + 1);
    assert!(are_all(&uploads(&place), "removed"));
    assert_eq!(keys_below(&double, "receiving/example.edu/"), Vec::<String>::new());
    nothing_is_left(&place);
}

#[test]
fn what_is_replaced_while_it_waits_gives_way_and_what_is_replaced_later_becomes_a_further_version() {
    // With and without a service that looks after the etag of what is deleted.
    for rules in [Rules::AWS, Rules::GARAGE] {
        let double = Double::start_with(rules).unwrap();
        let place = home_in(&double, None, IN_BUCKET, "");
        watch_closely(&place, "");
        let bags = ["first", "second", "third"].map(|says| make_bag(&place.path(says), "letters", small(says)));
        lay_file(&double, LETTERS, &bags[0]);
        look_until(&place, "the first is submitted", |all| are_all(all, "submitted"));
        lay_file(&double, LETTERS, &bags[1]);
        let home = open(&place);
        look_until(&place, "the second is submitted", |_| all_items(&home).len() == 2);
        assert_eq!(all_items(&home)[0].status, ItemStatus::Cancelled, "its bytes were never read");

        let mut workers = Running::start(&place, &["-q", "work", "--topics", TO_NOTIFY]);
        until("the second is published", || {
            assert!(!workers.has_ended());
            (all_items(&home)[1].stage == Stage::named("cleanup")).then_some(())
        });
        assert_eq!(workers.terminate().code(), Some(0));
        lay_file(&double, LETTERS, &bags[2]);
        work_to_the_end(&place, &[]);
        assert_eq!(double.stored(LETTERS).unwrap().bytes(), fs::read(&bags[2]).unwrap(), "what replaced it stays");

        look_until(&place, "the third is submitted", |_| all_items(&home).len() == 3);
        work_to_the_end(&place, &[]);
        assert_eq!(keys_below(&double, LETTERS), Vec::<String>::new());
        let object = place.run(["objects", "show", "example.edu/letters", "--json"]).succeeds().object();
        assert_eq!(object["head"], 2, "{object}");
        nothing_is_left(&place);
    }
}

/// The bags of the fixtures that a depositor may send, and what becomes of each.
#[rustfmt::skip]
const SENT: [(&str, &str); 22] = [
    ("example.edu.sample_bad_oxum.tar", "invalid"),
    ("example.edu.sample_good.tar", "removed"),
    ("example.edu.sample_good.zip", "invalid"),
    ("example.edu.sample_missing_data_file.tar", "invalid"),
    ("example.edu.sample_no_bag_info.tar", "invalid"),
    ("example.edu.sample_no_data_dir.tar", "invalid"),
    ("example.edu.sample_no_md5_manifest.tar", "invalid"),
    ("example.edu.sample_wrong_folder_name.tar", "removed"),
    ("example.edu.tagsample_bad.tar", "invalid"),
    ("example.edu.tagsample_good.tar", "removed"),
    ("example.edu.tagsample_good.tar.gz", "invalid"),
    ("example.edu.tagsample_good.tgz", "invalid"),
    ("test.edu.btr-glacier-deep-oh.tar", "removed"),
    ("test.edu.btr-wasabi-or.tar", "removed"),
    ("test.edu.btr_bad_checksums.tar", "invalid"),
    ("test.edu.btr_bad_extraneous_file.tar", "invalid"),
    ("test.edu.btr_bad_missing_payload_file.tar", "invalid"),
    ("test.edu.btr_bad_missing_required_tags.tar", "invalid"),
    ("test.edu.btr_good_sha256.tar", "removed"),
    ("test.edu.btr_good_sha512.tar", "removed"),
    ("test.edu.sample_illegal_control.tar", "invalid"),
    ("virginia.edu.uva-lib_2278801.tar", "invalid"),
];

/// Puts every bag of a folder of fixtures into the bucket and has it taken in; what became of each upload, by its name.
fn send(place: &Place, double: &Double, folder: &Path) -> BTreeMap<String, String> {
    const PLACE: &str = "receiving/test.edu/";
    let mut sent = BTreeSet::new();
    for bag in [".tar", ".tar.gz", ".tgz", ".zip"].iter().flat_map(|ending| listed(folder, ending)) {
        let name = bag.file_name().unwrap().to_string_lossy().into_owned();
        lay_file(double, &format!("{PLACE}{name}"), &bag);
        sent.insert(name);
    }
    let workers = Running::start(place, &["-q", "work"]);
    let has_ended = |state: &String| ["removed", "invalid"].contains(&state.as_str());
    let lies_there = |name: &String| double.stored(&format!("{PLACE}{name}")).is_some();
    let mut ends = BTreeMap::new();
    look_until(place, "every upload has its end", |all| {
        let by_name = all.iter().map(|(key, state)| (key.trim_start_matches("test.edu/").to_owned(), state.clone()));
        ends = by_name.filter(|(name, _)| sent.contains(name)).collect();
        // What was removed before is known under its name.
        ends.len() == sent.len()
            && ends.iter().all(|(name, state)| has_ended(state) && lies_there(name) == (state == "invalid"))
    });
    assert_eq!(workers.terminate().code(), Some(0));
    ends
}

#[test]
fn bags_of_other_people_go_from_a_bucket_into_others_and_back() {
    let folders = ["bags/deposits", "bags/deposits-updated", "bags"].map(fixture);
    let [Some(deposits), Some(updated), Some(bags)] = folders else { return };
    let double = Double::start().unwrap();
    let place = home_in(&double, None, IN_BUCKET, "");
    watch_closely(&place, "");
    place.run(["institution", "add", "test.edu"]).succeeds();
    for (folder, names) in [(deposits, &DEPOSITS[..]), (updated, &UPDATED[..])] {
        let ends = send(&place, &double, &folder);
        assert_eq!(ends, names.iter().map(|name| (format!("{name}.tar"), "removed".to_owned())).collect());
    }
    let ends = send(&place, &double, &bags);
    assert_eq!(ends, SENT.map(|(name, end)| (name.to_owned(), end.to_owned())).into());
    nothing_is_left(&place);

    let good = SENT.iter().filter(|(_, end)| *end == "removed").filter_map(|(name, _)| name.strip_suffix(".tar"));
    let names: Vec<&str> = DEPOSITS.into_iter().chain(good).collect();
    for name in &names {
        let item =
            place.run(["restore", "object", &format!("test.edu/{name}"), "--wait", "--json"]).succeeds().object();
        assert_eq!(item["status"], "succeeded", "{item}");
    }
    let back = place.path("back");
    copy_out(&double, "restoration/test.edu/", &back);
    let mut unpacked = Vec::new();
    for name in &names {
        let bag = back.join(format!("{name}.tar"));
        place.run(["bag", "validate", &bag.to_string_lossy(), "--profile", profile_of(name)]).succeeds();
        unpacked.push(place.path("unpacked").join(name));
        unpack(&bag, &place.path("unpacked").join(name));
    }
    bagit_python_accepts(&unpacked);

    for store in PRESERVATION {
        let out = place.path("out").join(store);
        copy_out(&double, &format!("{store}/test.edu/"), &out);
        place.run(["ocfl", "validate", &out.to_string_lossy()]).succeeds();
        rocfl_accepts(&out);
        assert_eq!(objects(&out).len(), names.len());
        ocfl_py_accepts(&objects(&out));
    }
}
