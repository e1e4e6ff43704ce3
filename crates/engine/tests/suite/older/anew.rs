//! A store with older content is taken anew: what lies there is proved, and what it lacks is brought or told.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use strongroom_engine::backfill::Retirement;
use strongroom_engine::fixity::FixityRequest;
use strongroom_engine::runtime::Shutdown;
use strongroom_engine::{Availability, EngineError, backfill, background, fixity, work_on};
use strongroom_registry::{CopyState, ItemStatus, Stage, objects, stores};

use super::{
    MARK, assert_is_refused, check, copy_folder, item, kept, replace_and_fill, roll_back, snapshot, state, submit,
    succeed,
};
use crate::fixture::{KEPT_IN, TestHome, home};
use crate::ingest::identity::work_until;

fn logs(made: &TestHome, store: &str) -> Vec<String> {
    made.keys(store).into_iter().filter(|key| key.contains("/logs/")).collect()
}

fn walk(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("lists") {
        let path = entry.expect("an entry").path();
        if path.is_dir() { found.extend(walk(&path)) } else { found.push(path) }
    }
    found
}

/// Both stores come back older, such as two folders of one server: a row that says `kept` in a store that is refused itself
/// is no good copy.
#[test]
fn what_two_older_stores_hold_is_found_and_what_both_lost_is_told() {
    let made = home();
    made.ingest("letters", &[("a.txt", b"dear reader")]);
    for store in KEPT_IN {
        copy_folder(&made.path().join("stores").join(store), &made.path().join("both").join(store));
    }
    made.ingest("diaries", &[("d.txt", b"dear diary")]);
    for store in KEPT_IN {
        let folder = made.path().join("stores").join(store);
        fs::remove_dir_all(&folder).expect("removes");
        fs::rename(made.path().join("both").join(store), folder).expect("puts it back");
    }
    for store in KEPT_IN {
        assert_is_refused(&made, store);
    }
    let only = KEPT_IN.map(|store| backfill::replace(&made, store).expect("replaces").only_copies);
    for store in KEPT_IN {
        backfill::run(&made, &backfill::BackfillRequest::new(store), &mut |_| ()).expect("fills");
    }
    check(&made);
    check(&made);
    let letters = made.object("letters");
    for file in made.registry.read(|tx| objects::files(tx, letters.id, 1, "", "", 100)).expect("files") {
        let copies = made.registry.read(|tx| objects::copies(tx, file.content)).expect("copies");
        assert!(copies.len() == 2 && copies.iter().all(|copy| copy.state == CopyState::Kept), "{copies:?}");
    }
    assert!(!fixity::problems(&made, None, None, 100).expect("problems").is_empty(), "what was lost is told");
    assert!(only.iter().all(|only| *only > 0), "{only:?}");
    // Its inventories lie nowhere any more, so nothing is built on it, and a person is told.
    let id = submit(&made, &made, "diaries", &[("d.txt", b"dear diary")]);
    work_on(&made, &[id], &Shutdown::new()).expect("works");
    let ended = item(&made, id);
    assert_eq!((ended.status, ended.needs_review), (ItemStatus::Failed, true), "{:?}", ended.note);
    assert!(ended.note.as_deref().is_some_and(|note| note.contains("fixity run")), "{:?}", ended.note);
}

#[test]
fn a_retired_store_with_older_content_can_be_taken_into_use_again() {
    let made = home();
    made.ingest("letters", &[("a.txt", b"dear reader")]);
    snapshot(&made, "secondary");
    made.ingest("diaries", &[("d.txt", b"dear diary")]);
    check(&made);
    let retirement =
        backfill::retire(&made, &crate::fixture::retire_request("secondary", true), &mut |_| Ok::<_, EngineError>(()))
            .expect("asks");
    assert!(matches!(retirement, Retirement::Retired(_)), "{retirement:?}");
    roll_back(&made, "secondary");
    let made = made.opened_again();
    let undone = backfill::use_again(&made, "secondary").map_err(|error| error.chain());
    let replaced = backfill::replace(&made, "secondary").map_err(|error| error.chain());
    assert!(undone.is_ok() || replaced.is_ok(), "{undone:?}\n{replaced:?}");
}

/// A log that only the older store got, since the other one was away, is lost there with the later content. The registry has it
/// still, as one that the other store misses.
#[test]
fn a_log_that_one_store_misses_comes_into_the_other_that_was_taken_anew() {
    let made = home();
    made.ingest("letters", &[("a.txt", b"dear reader")]);
    snapshot(&made, "secondary");
    let (primary, gone) = (made.path().join("stores/primary"), made.path().join("gone"));
    fs::rename(&primary, &gone).expect("takes it away");
    made.try_stores();
    let declaration = made.keys("secondary").into_iter().find(|key| key.ends_with("0=ocfl_object_1.1")).expect("a key");
    fs::remove_file(made.file("secondary", &declaration)).expect("removes");
    let request = FixityRequest { all: true, store: Some("secondary".into()), ..FixityRequest::default() };
    let summary = fixity::run(&made, &request, &mut |_| ()).expect("checks");
    assert_eq!(summary.damaged, 1, "{summary:?}");
    assert!(!logs(&made, "secondary").is_empty());
    roll_back(&made, "secondary");
    fs::rename(&gone, &primary).expect("brings it back");
    assert_is_refused(&made, "secondary");
    replace_and_fill(&made, "secondary");
    made.clock.advance(Duration::from_hours(1));
    background::run_due(&made, &Shutdown::new()).expect("runs");
    assert!(made.registry.read(stores::missed_log_counts).expect("counts").is_empty());
    assert!(!logs(&made, "primary").is_empty());
    assert_eq!(logs(&made, "secondary"), logs(&made, "primary"));
}

/// Where no content of an object has a good copy elsewhere, its rows in the store that was taken anew stay, so the store does
/// not lack the object, and bringing it up to date passes over it.
#[test]
fn logs_come_into_older_content_that_holds_the_only_good_copies() {
    let made = home();
    made.ingest("letters", &[("a.txt", b"dear reader")]);
    snapshot(&made, "secondary");
    let keys = made.keys("primary");
    let declaration = keys.iter().find(|key| key.ends_with("0=ocfl_object_1.1")).expect("a key");
    fs::remove_file(made.file("primary", declaration)).expect("removes");
    check(&made);
    let written = logs(&made, "secondary");
    assert!(!written.is_empty() && written == logs(&made, "primary"));
    roll_back(&made, "secondary");
    assert_is_refused(&made, "secondary");
    for key in keys.iter().filter(|key| key.contains("/content/")) {
        fs::write(made.file("primary", key), b"other bytes").expect("damages it");
    }
    check(&made);
    assert!(replace_and_fill(&made, "secondary") > 0);
    for _ in 0..3 {
        check(&made);
        made.clock.advance(Duration::from_hours(24));
        background::run_due(&made, &Shutdown::new()).expect("runs");
        backfill::run(&made, &backfill::BackfillRequest::new("secondary"), &mut |_| ()).expect("fills");
    }
    let summary = check(&made);
    assert_eq!((summary.checked, summary.damaged, summary.failed), (summary.passed, 0, 0), "{summary:?}");
    let lacking: Vec<String> = written.into_iter().filter(|log| !logs(&made, "secondary").contains(log)).collect();
    assert!(lacking.is_empty(), "{lacking:?}");
}

/// A snapshot that was taken before a file was synced can hold the right number of other bytes, such as zeros.
#[test]
fn copies_of_an_unpublished_version_are_proved_when_a_store_is_taken_anew() {
    let made = home();
    made.ingest("letters", &[("a.txt", b"dear reader")]);
    let mark = made.file("secondary", MARK);
    let older = fs::read(&mark).expect("reads the mark");
    made.ingest("maps", &[("m.txt", b"a map")]);
    let before = made.keys("secondary");
    let id = submit(&made, &made, "diaries", &[("d.txt", b"dear diary")]);
    work_until(&made, id, Stage::named("record"));
    assert_eq!(item(&made, id).stage, Stage::named("record"));
    let new: Vec<PathBuf> = walk(&made.path().join("stores/secondary"))
        .into_iter()
        .filter(|path| fs::read(path).is_ok_and(|bytes| bytes == b"dear diary"))
        .collect();
    assert_eq!(new.len(), 1, "{new:?}, {before:?}");
    fs::write(&new[0], [0; 10]).expect("zeros");
    fs::write(&mark, older).expect("puts the older mark back");
    fs::rename(made.path().join("stores/secondary"), made.path().join("snapshot")).expect("moves");
    copy_folder(&made.path().join("snapshot"), &made.path().join("stores/secondary"));
    assert_is_refused(&made, "secondary");
    replace_and_fill(&made, "secondary");
    succeed(&made, id);
    let wrong: Vec<PathBuf> = walk(&made.path().join("stores/secondary/test.edu"))
        .into_iter()
        .filter(|path| fs::read(path).is_ok_and(|bytes| bytes == [0; 10]))
        .collect();
    assert!(wrong.is_empty(), "published as verified: {wrong:?}");
}

#[test]
fn another_process_has_the_store_open_while_it_is_taken_anew() {
    let made = home();
    made.ingest("letters", &[("a.txt", b"dear reader")]);
    let mark = made.file("secondary", MARK);
    let older = fs::read(&mark).expect("reads the mark");
    made.ingest("maps", &[("m.txt", b"a map")]);
    fs::write(&mark, older).expect("puts the older mark back");
    let other = made.opened_again();
    assert_is_refused(&other, "secondary");
    backfill::replace(&other, "secondary").expect("replaces");
    made.ingest("diaries", &[("d.txt", b"dear diary")]);
    backfill::run(&other, &backfill::BackfillRequest::new("secondary"), &mut |_| ()).expect("fills");
    made.ingest("plans", &[("p.txt", b"a plan")]);
    assert_eq!(kept(&made, "secondary"), kept(&made, "primary"));
    assert_eq!(state(&made.opened_again(), "secondary").availability, Availability::Available);
    assert_eq!(check(&made).damaged, 0);
}

#[test]
fn replacing_older_content_that_was_cut_short_goes_on_also_with_the_later_content() {
    let made = home();
    made.ingest("letters", &[("a.txt", b"dear reader")]);
    let mark = made.file("secondary", MARK);
    let older = fs::read(&mark).expect("reads the mark");
    made.ingest("maps", &[("m.txt", b"a map")]);
    let later = fs::read(&mark).expect("reads the mark");
    fs::write(&mark, older).expect("puts the older mark back");
    let known = made.registry.read(stores::list).expect("lists");
    let id = known.iter().find(|store| store.name == "secondary").expect("is known").id;
    made.registry.write(move |tx| stores::begin_replacing(tx, "secondary", id)).expect("begins");
    fs::write(&mark, later).expect("puts the later mark back");
    let again = made.opened_again();
    assert_eq!(state(&again, "secondary").availability, Availability::Refused);
    assert_eq!(backfill::replace(&again, "secondary").expect("goes on").only_copies, 0);
    backfill::run(&again, &backfill::BackfillRequest::new("secondary"), &mut |_| ()).expect("fills");
    made.ingest("plans", &[("p.txt", b"a plan")]);
    assert_eq!(kept(&made, "secondary"), kept(&made, "primary"));
    assert_eq!(check(&made).damaged, 0);
}
