//! What the registry notes of the marks of stores is later than every act that it knows.

use std::fs;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use strongroom_engine::fixity::{self, FixityRequest};
use strongroom_engine::rebuild::AdoptRequest;
use strongroom_engine::runtime::Shutdown;
use strongroom_engine::{Home, backfill, background, rebuild, work_on};
use strongroom_registry::{CopyState, ItemStatus, objects};

use super::{
    MARK, assert_is_refused, check, copy_folder, is_commit, item, kept, mark_behind_a_commit, roll_back, snapshot,
    submit, work_until_it_waits,
};
use crate::backfill::home_with_third;
use crate::fixture;
use crate::fixture::{TestHome, home};
use crate::ingest::committing::layered;
use crate::meanwhile::{Meanwhile, When};
use crate::rebuild::{copy_stores, rebuilt};

/// The mark of a snapshot that is taken between the announcement of an act and the act tells of what the snapshot lacks. With
/// deposits always under way, each snapshot is one of these as far as the last acts are concerned.
#[test]
fn a_snapshot_that_was_taken_while_a_version_was_published_is_older() {
    let made = home();
    made.ingest("letters", &[("a.txt", b"dear reader")]);
    let (folder, copy) = (made.path().join("stores/secondary"), made.path().join("snapshot"));
    let layer = Meanwhile::new(When::Before, is_commit, move |_| copy_folder(&folder, &copy));
    let layered = layered(&made, "secondary", layer);
    let id = submit(&layered, &made, "diaries", &[("d.txt", b"dear diary")]);
    work_on(&layered, &[id], &Shutdown::new()).expect("works");
    assert_eq!(item(&made, id).status, ItemStatus::Succeeded);
    roll_back(&made, "secondary");
    let object = made.object("diaries");
    made.try_stores();
    let files = made.registry.read(|tx| objects::files(tx, object.id, 1, "deposit/data/", "", 10)).expect("files");
    let copies = made.registry.read(|tx| objects::copies(tx, files[0].content)).expect("copies");
    let copy = copies.into_iter().find(|copy| copy.store == "secondary").expect("a copy");
    assert!(copy.state == CopyState::Kept && !made.file("secondary", &copy.key).exists(), "a false claim: {copy:?}");
    assert_is_refused(&made.opened_again(), "secondary");
}

/// `primary` goes away when the last mark is written behind its commit, which is the last call before the note; or when its own
/// is.
#[test]
fn a_store_that_goes_away_before_its_mark_is_noted_is_not_passed_over() {
    for with_mark_of in ["secondary", "primary"] {
        let made = home();
        made.ingest("letters", &[("a.txt", b"dear reader")]);
        snapshot(&made, "primary");
        let (folder, gone) = (made.path().join("stores/primary"), made.path().join("gone"));
        let layer = Meanwhile::new(When::After, mark_behind_a_commit(), move |_| {
            fs::rename(folder, gone).expect("takes it away");
        });
        let layered = layered(&made, with_mark_of, layer);
        let id = submit(&layered, &made, "diaries", &[("d.txt", b"dear diary")]);
        let ended = work_until_it_waits(&layered, id);
        assert!(made.path().join("gone").is_dir(), "it was removed");
        fs::rename(made.path().join("snapshot"), made.path().join("stores/primary")).expect("puts the snapshot there");
        if ended.status == ItemStatus::Succeeded {
            assert_is_refused(&made.opened_again(), "primary");
        }
    }
}

/// What is brought into a store is recorded page by page, also where the object does not come to be whole.
#[test]
fn what_was_brought_of_an_object_in_part_is_noted_too() {
    let made = home();
    made.ingest("letters", &[("a.txt", b"dear reader"), ("b.txt", b"yours")]);
    fs::remove_dir_all(made.path().join("stores/secondary")).expect("loses the store");
    made.try_stores();
    backfill::replace(&made, "secondary").expect("replaces");
    snapshot(&made, "secondary");
    let key = made.keys("primary").into_iter().find(|key| key.ends_with("a.txt") || key.contains("/content/"));
    fs::write(made.file("primary", &key.expect("a content")), b"other bytes").expect("damages it");
    let summary = backfill::run(&made, &backfill::BackfillRequest::new("secondary"), &mut |_| ()).expect("fills");
    assert!(summary.failed == 1 && summary.contents > 0, "{summary:?}");
    roll_back(&made, "secondary");
    assert_is_refused(&made.opened_again(), "secondary");
}

/// The marks that lie in the stores when a rebuilt registry first opens them count, before any act of its own.
#[test]
fn older_content_that_comes_back_behind_a_rebuild_is_refused() {
    let made = home();
    made.ingest("letters", &[("a.txt", b"dear reader")]);
    made.ingest("diaries", &[("d.txt", b"dear diary")]);
    let mut fresh = fixture::home();
    copy_stores(&made, &fresh);
    let fresh_home = fresh.opened_to_adopt();
    rebuilt(&fresh_home, "primary");
    rebuild::adopt(&fresh_home, &AdoptRequest::default(), &mut |_| ()).expect("adopts");
    drop(fresh_home);
    fresh.home = Arc::new(fresh.opened_again());
    assert_eq!(check(&fresh).damaged, 0);
    // What the rebuilt registry claims is there goes back to an earlier state, with the mark of the rebuilt registry.
    let mark = fs::read(fresh.file("secondary", MARK)).expect("reads the mark");
    let mut parsed: serde_json::Value = serde_json::from_slice(&mark).expect("a mark");
    parsed["acts"] = 1.into();
    parsed["revision"] = 1.into();
    for key in kept(&fresh, "secondary").into_iter().map(|(key, _)| key) {
        if key.contains(&fresh.object("diaries").generation.to_string()) {
            fs::remove_file(fresh.file("secondary", &key)).expect("removes");
        }
    }
    fs::write(fresh.file("secondary", MARK), parsed.to_string()).expect("writes");
    assert_is_refused(&fresh.opened_again(), "secondary");
}

fn logs(made: &TestHome, store: &str) -> Vec<String> {
    made.keys(store).into_iter().filter(|key| key.contains("/logs/")).collect()
}

/// Leaves logs in `has` that `lacks` misses, since it was away.
fn with_missed_logs(made: &TestHome, has: &str, lacks: &str) {
    let (folder, gone) = (made.path().join("stores").join(lacks), made.path().join("gone"));
    fs::rename(&folder, &gone).expect("takes it away");
    let declaration = made.keys(has).into_iter().find(|key| key.ends_with("0=ocfl_object_1.1")).expect("a key");
    fs::remove_file(made.file(has, &declaration)).expect("removes");
    let request = FixityRequest { all: true, store: Some(has.into()), ..FixityRequest::default() };
    fixity::run(made, &request, &mut |_| ()).expect("checks");
    fs::rename(&gone, &folder).expect("brings it back");
    made.try_stores();
    assert!(!logs(made, has).is_empty() && logs(made, lacks).is_empty());
}

fn run_due(made: &TestHome) {
    made.clock.advance(Duration::from_hours(1));
    background::run_due(made, &Shutdown::new()).expect("runs");
}

#[test]
fn a_snapshot_of_before_missed_logs_were_put_is_older() {
    let made = home();
    made.ingest("letters", &[("a.txt", b"dear reader")]);
    with_missed_logs(&made, "primary", "secondary");
    snapshot(&made, "secondary");
    run_due(&made);
    assert_eq!(logs(&made, "secondary"), logs(&made, "primary"));
    roll_back(&made, "secondary");
    assert_is_refused(&made.opened_again(), "secondary");
}

#[test]
fn a_snapshot_of_before_logs_were_copied_from_a_holder_that_was_away_is_older() {
    let made = home_with_third();
    with_missed_logs(&made, "secondary", "primary");
    // What the registry knows of them is done with: only the second store has them.
    for log in logs(&made, "secondary") {
        let to = made.file("primary", &log);
        fs::create_dir_all(to.parent().expect("a folder")).expect("makes a folder");
        fs::copy(made.file("secondary", &log), to).expect("copies");
    }
    run_due(&made);
    for log in logs(&made, "primary") {
        fs::remove_file(made.file("primary", &log)).expect("removes");
    }
    let (folder, gone) = (made.path().join("stores/secondary"), made.path().join("gone"));
    fs::rename(&folder, &gone).expect("takes it away");
    let summary = backfill::run(&made, &backfill::BackfillRequest::new("third"), &mut |_| ()).expect("fills");
    assert_eq!(summary.failed, 0, "{summary:?}");
    fs::rename(&gone, &folder).expect("brings it back");
    made.try_stores();
    snapshot(&made, "third");
    run_due(&made);
    assert_eq!(logs(&made, "third"), logs(&made, "secondary"));
    roll_back(&made, "third");
    assert_is_refused(&made.opened_again(), "third");
}

/// The mark behind a version that was published does not tell of another one that was announced before it and is published
/// after it.
#[test]
fn a_snapshot_from_between_two_versions_that_are_published_at_once_is_older() {
    let made = Arc::new(home());
    made.ingest("letters", &[("a.txt", b"dear reader")]);
    let shared = Arc::new(OnceLock::<Arc<Home>>::new());
    let other = Meanwhile::new(When::Before, is_commit, {
        let (made, shared) = (made.clone(), shared.clone());
        move |_| {
            let home = shared.get().expect("is there");
            let id = submit(home, &made, "maps", &[("m.txt", b"a map")]);
            work_on(home, &[id], &Shutdown::new()).expect("works");
            assert_eq!(item(home, id).status, ItemStatus::Succeeded, "{:?}", item(home, id).note);
            snapshot(&made, "secondary");
        }
    });
    let layered = layered(&made, "secondary", other);
    assert!(shared.set(layered.clone()).is_ok());
    let id = submit(&layered, &made, "diaries", &[("d.txt", b"dear diary")]);
    work_on(&layered, &[id], &Shutdown::new()).expect("works");
    assert_eq!(item(&made, id).status, ItemStatus::Succeeded);
    roll_back(&made, "secondary");
    assert_is_refused(&made.opened_again(), "secondary");
}

/// The logs of a repair are acts in the stores that were right, too.
#[test]
fn a_snapshot_of_before_the_logs_of_a_repair_is_older() {
    let made = home();
    made.ingest("letters", &[("a.txt", b"dear reader")]);
    snapshot(&made, "secondary");
    let content = made.keys("primary").into_iter().find(|key| key.contains("/content/")).expect("a content");
    fs::write(made.file("primary", &content), b"other bytes").expect("damages it");
    assert_eq!(check(&made).repaired, 1);
    roll_back(&made, "secondary");
    assert_is_refused(&made.opened_again(), "secondary");
}
