//! What is written for a version belongs to its identity: nothing that was discarded is resumed, and no version is
//! published whose bytes are gone.

use std::fs;

use strongroom_engine::fixity::{self, FixityRequest};
use strongroom_engine::workflow::Workflows;
use strongroom_registry::items::Request;
use strongroom_registry::work::SWEEP_TOPIC;
use strongroom_registry::{VersionId, VersionState, discarding, versions};

use super::*;

/// Works on what is open until the item has come to a stage, and no further; nothing is swept.
pub(crate) fn work_until(home: &TestHome, id: ItemId, stage: Stage) {
    let topics = topics_before(stage);
    let workers = strongroom_engine::build_runtime(&home.home, Some(&topics)).expect("a runtime").build();
    workers.run_until(&Shutdown::new(), &|| {
        let item = find(home, id);
        item.status.is_ended() || has_reached(&item, stage)
    });
}

pub(crate) fn ask(home: &TestHome, id: ItemId, request: Request) {
    home.registry
        .write(move |tx| items::request(tx, &Workflows::standard(), Scope::System, id, request, "a person"))
        .expect("is done");
}

pub(crate) fn finish(home: &TestHome, id: ItemId) -> Item {
    work_on(&home.home, &[id], &Shutdown::new()).expect("works");
    let item = find(home, id);
    assert_eq!(item.status, ItemStatus::Succeeded, "{:?} at {}", item.note, item.stage);
    item
}

pub(crate) fn version(home: &TestHome, id: ItemId) -> VersionId {
    home.registry.read(|tx| versions::of_item(tx, id)).expect("reads").expect("a version").id
}

pub(crate) fn assembly(home: &TestHome, store: &str, version: VersionId) -> PathBuf {
    home.file(store, &format!(".strongroom/assembly/{version}"))
}

/// Every copy of every object is there and right, by its own digest.
pub(crate) fn assert_whole(home: &TestHome) {
    let all = FixityRequest { all: true, ..FixityRequest::default() };
    let summary = fixity::run(&home.home, &all, &mut |_| ()).expect("checks");
    assert!(summary.passed > 0, "{summary:?}");
    assert_eq!((summary.damaged, summary.failed, summary.postponed), (0, 0, 0), "{summary:?}");
}

#[test]
fn a_cancel_at_record_with_half_a_sweep_and_a_requeue_publish_everything_anew() {
    for lost_in in [&KEPT_IN[..1], &KEPT_IN[1..], &KEPT_IN[..]] {
        let home = home();
        let id = hand_in(&home, &home.bag("letters", &[("a.txt", b"one")]));
        work_until(&home, id, Stage::named("record"));
        let first = version(&home, id);
        ask(&home, id, Request::Cancel);
        assert!(home.registry.read(|tx| versions::of_item(tx, id)).expect("reads").is_none(), "it is not resumed");
        // The sweep stopped between its stores, or between its steps.
        for store in lost_in {
            fs::remove_dir_all(assembly(&home, store, first)).expect("is swept");
        }
        ask(&home, id, Request::Requeue(None));
        let item = finish(&home, id);
        assert_ne!(version(&home, id), first);
        assert_eq!((item.version, home.object("letters").head), (Some(1), 1));
        let dropped = home.registry.read(|tx| versions::get(tx, first)).expect("reads").expect("the row stays");
        assert_eq!((dropped.state, dropped.swept_at.is_some()), (VersionState::Dropped, true));
        for store in KEPT_IN {
            assert!(!assembly(&home, store, first).exists(), "nothing of it is left in {store}");
        }
        assert_whole(&home);
    }
}

#[test]
fn a_part_that_discards_what_another_was_writing_leaves_nothing_of_it() {
    let home = home();
    let first = hand_in(&home, &home.bag("letters.b1.of2", &[("a.txt", b"one")]));
    work_until(&home, first, Stage::named("record"));
    let begun = version(&home, first);
    ask(&home, first, Request::Hold);
    let second = hand_in(&home, &home.bag("letters.b2.of2", &[("b.txt", b"two")]));
    finish(&home, second);
    for store in KEPT_IN {
        assert!(!assembly(&home, store, begun).exists());
    }
    ask(&home, first, Request::Release);
    finish(&home, first);
    assert_eq!(home.object("letters").head, 2);
    assert_whole(&home);
}

#[test]
fn an_assembly_that_was_lost_after_verify_is_written_again() {
    for lost_in in [&KEPT_IN[..1], &KEPT_IN[..]] {
        let home = home();
        let id = hand_in(&home, &home.bag("letters", &[("a.txt", b"one")]));
        work_until(&home, id, Stage::named("record"));
        for store in lost_in {
            fs::remove_dir_all(assembly(&home, store, version(&home, id))).expect("is lost");
        }
        finish(&home, id);
        assert!(notes(&home, id).iter().any(|note| note.contains("lost after it was verified")));
        assert_whole(&home);
    }
}

#[test]
fn a_content_that_was_cut_short_after_verify_is_written_again() {
    let home = home();
    let id = hand_in(&home, &home.bag("letters", &[("a.txt", b"one")]));
    work_until(&home, id, Stage::named("record"));
    let contents = assembly(&home, "secondary", version(&home, id));
    let mut folders = vec![contents];
    let mut cut = 0;
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("lists") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if cut == 0 && fs::read(&path).expect("reads") == b"one" {
                fs::write(path, b"on").expect("cuts it short");
                cut += 1;
            }
        }
    }
    assert_eq!(cut, 1);
    finish(&home, id);
    assert!(notes(&home, id).iter().any(|note| note.contains("lost after it was verified: 1 content in secondary")));
    assert_whole(&home);
}

#[test]
fn what_is_staged_anew_is_not_reached_by_a_sweep_that_slept() {
    let home = home();
    let id = hand_in(&home, &home.bag("letters", &[("a.txt", b"one")]));
    work_until(&home, id, Stage::named("validate"));
    let before = home.keys("staging");
    ask(&home, id, Request::Cancel);
    home.registry.write(move |tx| strongroom_registry::interim::discard_staging(tx, id)).expect("marks it");
    ask(&home, id, Request::Requeue(None));
    work_until(&home, id, Stage::named("validate"));
    let after = home.keys("staging");
    assert!(!after.is_empty() && before.iter().all(|key| !after.contains(key)), "another place: {before:?} {after:?}");
    finish(&home, id);
    assert!(home.keys("staging").is_empty());
    assert_whole(&home);
}

#[test]
fn a_number_is_free_only_when_no_store_holds_anything_of_the_discarded_version() {
    let home = home();
    let id = hand_in(&home, &home.bag("letters", &[("a.txt", b"one")]));
    work_until(&home, id, Stage::named("record"));
    let object = find(&home, id).object.expect("an object");
    let begun = version(&home, id);
    ask(&home, id, Request::Cancel);
    let unswept = || home.registry.read(|tx| discarding::unswept_of_object(tx, object)).expect("reads").len();
    assert_eq!(unswept(), 1);
    work_on(&home.home, &[id], &Shutdown::new()).expect("sweeps");
    let next = hand_in(&home, &home.bag("letters", &[("b.txt", b"two")]));
    finish(&home, next);
    assert_eq!(unswept(), 0);
    assert!(KEPT_IN.iter().all(|store| !assembly(&home, store, begun).exists()));
    assert_whole(&home);
}

#[test]
fn a_sweep_visits_every_store_that_the_version_was_written_to_whatever_the_settings_say_since() {
    let home = home();
    let id = hand_in(&home, &home.bag("letters", &[("a.txt", b"one")]));
    work_until(&home, id, Stage::named("record"));
    let begun = version(&home, id);
    assert!(assembly(&home, "secondary", begun).exists());
    ask(&home, id, Request::Cancel);
    let unswept = |home: &strongroom_engine::Home| {
        home.registry.read(|tx| discarding::unswept_of_item(tx, id)).expect("reads").len()
    };
    // The store is not even named any more: the number stays occupied, and the sweep is tried again.
    let gone = std::sync::Arc::new(home.opened_with(&["primary"], &["secondary"]));
    let swept = strongroom_engine::build_runtime(&gone, Some(&[SWEEP_TOPIC.to_owned()])).expect("a runtime").build();
    swept.run_until(&Shutdown::new(), &|| {
        let tasks = gone.registry.read(|tx| Ok::<_, RegistryError>(tasks::of_key(tx, &id.to_string())?));
        tasks.expect("reads").iter().all(|task| task.spent > 0 && task.reason.is_some())
    });
    let tasks = gone.registry.read(|tx| Ok::<_, RegistryError>(tasks::of_key(tx, &id.to_string())?)).expect("reads");
    let reason = tasks.first().and_then(|task| task.reason.clone()).expect("a reason");
    assert!(reason.contains("store secondary"), "{reason}");
    assert_eq!(unswept(&gone), 1);
    // Named again, and in no placement.
    home.clock.advance(Duration::from_hours(1));
    let left = std::sync::Arc::new(home.opened_with(&["primary"], &[]));
    work_on(&left, &[id], &Shutdown::new()).expect("sweeps");
    assert_eq!(unswept(&left), 0);
    assert!(!assembly(&home, "secondary", begun).exists(), "nothing is left where no placement looks");
}
