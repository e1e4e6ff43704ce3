//! Where the bytes come from that a store lacks behind `committing`: the staging, another store, the deposit, in this
//! order; and what happens while they are nowhere.

use std::fs;

use strongroom_registry::{VersionId, VersionState, copies, objects, versions};

use super::identity::{assembly, assert_whole, version, work_until};
use super::*;

/// Payload files; two of one size, and one of another.
const FILES: [(&str, &[u8]); 3] = [("a.txt", b"one"), ("b.txt", b"two"), ("c.txt", b"three and more")];

/// Works until the item waits behind `committing` with a note that contains this text.
fn work_until_note(home: &TestHome, id: ItemId, text: &str) {
    let workers = strongroom_engine::build_runtime(&home.home, None).expect("a runtime").build();
    let begun = Instant::now();
    workers.run_until(&Shutdown::new(), &|| {
        let item = find(home, id);
        let has_note = item.note.as_deref().is_some_and(|note| note.contains(text));
        assert!(begun.elapsed() < Duration::from_mins(1), "{} at {}: {:?}", item.status, item.stage, item.note);
        item.status.is_ended() || item.status == ItemStatus::Pending && has_note
    });
}

/// An item whose version is being committed and in no store yet, its bag, and its version.
fn committing(home: &TestHome) -> (ItemId, PathBuf, VersionId) {
    let bag = home.bag("letters", &FILES);
    let id = hand_in(home, &bag);
    work_until(home, id, Stage::named("record"));
    let of = version(home, id);
    let found = home.registry.read(|tx| versions::get(tx, of)).expect("reads").expect("there");
    let brought = home.registry.read(|tx| copies::brought(tx, &found, None, 1)).expect("reads");
    let key = home.registry.read(|tx| objects::copies(tx, brought[0].content)).expect("copies")[0].key.clone();
    let parent: Vec<&str> = key.split('/').take(2).collect();
    // Something lies in the way of the object, so that the commit fails behind `committing`.
    let block = home.file("primary", &parent.join("/"));
    fs::write(&block, b"in the way").expect("blocks");
    let workers = strongroom_engine::build_runtime(&home.home, None).expect("a runtime").build();
    workers.run_until(&Shutdown::new(), &|| {
        state(home, of) == VersionState::Committing && find(home, id).status == ItemStatus::Pending
    });
    fs::remove_file(block).expect("unblocks");
    home.clock.advance(Duration::from_hours(1));
    (id, bag, of)
}

fn state(home: &TestHome, version: VersionId) -> VersionState {
    home.registry.read(|tx| versions::get(tx, version)).expect("reads").expect("there").state
}

fn lose_staging(home: &TestHome) {
    for key in home.keys("staging") {
        fs::remove_file(home.file("staging", &key)).expect("is lost");
    }
}

fn lose_assembly(home: &TestHome, store: &str, version: VersionId) {
    fs::remove_dir_all(assembly(home, store, version)).expect("is lost");
}

fn assert_published(home: &TestHome, id: ItemId, version: VersionId) {
    let item = find(home, id);
    assert_eq!(item.status, ItemStatus::Succeeded, "{:?} at {}", item.note, item.stage);
    assert_eq!(state(home, version), VersionState::Published);
    assert_whole(home);
}

#[test]
fn behind_committing_what_a_store_lost_is_taken_from_another_store() {
    for lacks in KEPT_IN {
        let home = home();
        let (id, bag, of) = committing(&home);
        lose_staging(&home);
        lose_assembly(&home, lacks, of);
        fs::remove_file(bag).expect("the deposit is gone, too");
        work_until_note(&home, id, "neither in staging");
        assert_published(&home, id, of);
    }
}

#[test]
fn behind_committing_staged_bytes_that_are_wrong_are_not_used() {
    let home = home();
    let (id, bag, of) = committing(&home);
    lose_staged_bytes(&home);
    lose_assembly(&home, "secondary", of);
    fs::remove_file(bag).expect("the deposit is gone");
    work_until_note(&home, id, "neither in staging");
    assert_published(&home, id, of);
}

#[test]
fn behind_committing_what_every_store_lost_is_taken_from_the_deposit() {
    for is_staging_there in [false, true] {
        let home = home();
        let (id, _, of) = committing(&home);
        if is_staging_there {
            lose_staged_bytes(&home);
        } else {
            lose_staging(&home);
        }
        for store in KEPT_IN {
            lose_assembly(&home, store, of);
        }
        work_until_note(&home, id, "neither in staging");
        assert_published(&home, id, of);
    }
}

#[test]
fn behind_committing_a_version_waits_for_bytes_that_are_nowhere_and_is_not_published_without_them() {
    let home = home();
    let (id, bag, of) = committing(&home);
    lose_staging(&home);
    for store in KEPT_IN {
        lose_assembly(&home, store, of);
    }
    // Another deposit lies where the bytes were: some files are equal, one of the same size is not.
    let kept = home.path().join("kept.tar");
    fs::rename(&bag, &kept).expect("takes it away");
    home.bag("letters", &[("a.txt", b"one"), ("b.txt", b"owt"), ("c.txt", b"three and more")]);
    work_until_note(&home, id, "neither in staging");
    assert_eq!(find(&home, id).status, ItemStatus::Pending, "{:?}", find(&home, id).note);
    assert_eq!(state(&home, of), VersionState::Committing);
    fs::rename(kept, bag).expect("puts it back");
    home.clock.advance(Duration::from_hours(1));
    work_on(&home.home, &[id], &Shutdown::new()).expect("works");
    assert_published(&home, id, of);
}
