//! A deposit is compared with what is kept: lost and damaged copies are repaired from it, under its own lease.

use std::fs;
use std::path::Path;

use strongroom_engine::fixity::{self, FixityRequest};
use strongroom_engine::ingest::{DepositRequest, PackageSource, deposit};
use strongroom_engine::rebuild::{self, AdoptRequest};
use strongroom_engine::runtime::Shutdown;
use strongroom_engine::work_on;
use strongroom_registry::items::{self, Item};
use strongroom_registry::objects::{self, Object};
use strongroom_registry::{CopyState, ItemStatus, Scope, Stage};

use super::{hand_in, lose_staged_bytes, notes, work_with_a_pause};
use crate::fixity::failing_stores::with_spoiling;
use crate::fixture::{self, INSTITUTION, KEPT_IN, TestHome};

/// Deposits the bag of a name once more; its work item when it has ended.
fn deposit_again(home: &TestHome, name: &str, files: &[(&str, &[u8])]) -> Item {
    let bag = home.bag(name, files);
    let request = DepositRequest {
        sources: vec![PackageSource::LocalPath(bag.clone())],
        ..DepositRequest::of_system(INSTITUTION)
    };
    let made = deposit(home, &request).expect("deposits");
    work_on(home, &made.items, &Shutdown::new()).expect("works");
    let item = home.registry.read(|tx| items::find(tx, Scope::System, made.items[0])).expect("the item");
    assert_eq!(item.status, ItemStatus::Succeeded, "{:?} at {}", item.note, item.stage);
    item
}

/// The files of a payload file's copies, one for each store.
fn places(home: &TestHome, object: &Object, path: &str) -> Vec<std::path::PathBuf> {
    let prefix = format!("deposit/data/{path}");
    let files =
        home.registry.read(|tx| objects::files(tx, object.id, object.head, "deposit/", "", 100)).expect("files");
    let file = files.into_iter().find(|file| file.path == prefix).expect("the file");
    let copies = home.registry.read(|tx| objects::copies(tx, file.content)).expect("copies");
    assert_eq!(copies.len(), KEPT_IN.len());
    copies.iter().map(|copy| home.file(&copy.store, &copy.key)).collect()
}

fn assert_whole(home: &TestHome) {
    let all = FixityRequest { all: true, ..FixityRequest::default() };
    let summary = fixity::run(home, &all, &mut |_| ()).expect("checks");
    assert_eq!((summary.damaged, summary.failed, summary.postponed), (0, 0, 0), "{summary:?}");
    assert!(fixity::problems(home, None, None, 10).expect("problems").is_empty());
}

#[test]
fn equal_bytes_are_kept_again_where_every_copy_was_lost() {
    let home = fixture::home();
    let files: [(&str, &[u8]); 2] = [("a.txt", b"one"), ("b.txt", b"two")];
    let object = home.ingest("letters", &files);
    for place in places(&home, &object, "a.txt") {
        fs::remove_file(place).expect("is lost");
    }
    let item = deposit_again(&home, "letters", &files);
    let note = item.note.expect("a note");
    assert!(note.contains("no version is made") && note.contains("2 lost or damaged copies are repaired"), "{note}");
    assert!(note.contains("data/a.txt in primary") && note.contains("data/a.txt in secondary"), "{note}");
    assert_eq!(home.object("letters").head, 1);
    for place in places(&home, &object, "a.txt") {
        assert_eq!(fs::read(place).expect("is there"), b"one");
    }
    assert_whole(&home);
    assert!(home.keys("staging").is_empty());
}

#[test]
fn a_copy_of_another_size_is_repaired_from_the_deposit_and_kept_as_evidence() {
    let home = fixture::home();
    let files: [(&str, &[u8]); 1] = [("a.txt", b"one")];
    let object = home.ingest("letters", &files);
    let place = &places(&home, &object, "a.txt")[1];
    fs::write(place, b"something else").expect("is damaged");
    let note = deposit_again(&home, "letters", &files).note.expect("a note");
    assert!(note.contains("1 lost or damaged copy is repaired"), "{note}");
    assert_eq!(fs::read(place).expect("is there"), b"one");
    assert!(
        home.keys("quarantine").iter().any(|key| Path::new(key).extension().is_none_or(|kind| kind != "json")),
        "the bad bytes are kept"
    );
    assert_whole(&home);
}

#[test]
fn damage_that_is_known_is_repaired_from_a_deposit_that_brings_something_new_too() {
    let home = fixture::home();
    let object = home.ingest("letters", &[("a.txt", b"one")]);
    for place in places(&home, &object, "a.txt") {
        fs::write(place, b"eno").expect("is damaged");
    }
    let all = FixityRequest { all: true, ..FixityRequest::default() };
    assert_eq!(
        fixity::run(&home, &all, &mut |_| ()).expect("checks").unrepairable,
        2,
        "there is nothing to repair it from"
    );
    deposit_again(&home, "letters", &[("a.txt", b"one"), ("b.txt", b"two")]);
    assert_eq!(home.object("letters").head, 2);
    let states = home.registry.read(|tx| {
        let mut states = Vec::new();
        for file in objects::files(tx, object.id, 2, "deposit/", "", 100)? {
            states.extend(objects::copies(tx, file.content)?.into_iter().map(|copy| copy.state));
        }
        Ok::<_, strongroom_registry::RegistryError>(states)
    });
    assert!(states.expect("states").iter().all(|state| *state == CopyState::Kept));
    assert_whole(&home);
}

#[test]
fn a_content_under_a_new_name_is_not_taken_for_kept_where_its_copies_were_lost() {
    let home = fixture::home();
    let object = home.ingest("letters", &[("a.txt", b"one")]);
    let lost = places(&home, &object, "a.txt");
    for place in &lost {
        fs::remove_file(place).expect("is lost");
    }
    deposit_again(&home, "letters", &[("renamed.txt", b"one")]);
    for place in &lost {
        assert_eq!(fs::read(place).expect("is there"), b"one");
    }
    assert_whole(&home);
}

#[test]
fn many_healed_copies_are_counted_and_the_first_are_named() {
    let home = fixture::home();
    let names: Vec<String> = (0..9).map(|number| format!("{number}.txt")).collect();
    let files: Vec<(&str, &[u8])> = names.iter().map(|name| (name.as_str(), name.as_bytes())).collect();
    let object = home.ingest("letters", &files);
    for name in &names {
        for place in places(&home, &object, name) {
            fs::remove_file(place).expect("is lost");
        }
    }
    let note = deposit_again(&home, "letters", &files).note.expect("a note");
    assert!(note.contains("18 lost or damaged copies are repaired") && note.ends_with(", ..."), "{note}");
    assert_eq!(note.matches(" in primary").count() + note.matches(" in secondary").count(), 5, "{note}");
    assert_whole(&home);
}

#[test]
fn staged_bytes_that_are_wrong_repair_nothing_and_are_fetched_again() {
    let home = fixture::home();
    let files: [(&str, &[u8]); 1] = [("a.txt", b"one")];
    let object = home.ingest("letters", &files);
    let lost = places(&home, &object, "a.txt");
    for place in &lost {
        fs::remove_file(place).expect("is lost");
    }
    let id = hand_in(&home, &home.bag("letters", &files));
    let item = work_with_a_pause(&home, id, Stage::named("compare"), || lose_staged_bytes(&home));
    assert_eq!(item.status, ItemStatus::Succeeded, "{:?}", item.note);
    let told = notes(&home, id);
    assert!(
        told.iter().any(|note| note.contains("are not those that were staged") && note.contains("; fetching again")),
        "{told:?}"
    );
    for place in &lost {
        assert_eq!(fs::read(place).expect("is there"), b"one");
    }
    assert_whole(&home);
}

#[test]
fn a_copy_that_does_not_read_back_after_its_repair_from_a_deposit_ends_no_deposit_well() {
    let home = fixture::home();
    let files: [(&str, &[u8]); 1] = [("a.txt", b"one")];
    let object = home.ingest("letters", &files);
    fs::remove_file(&places(&home, &object, "a.txt")[0]).expect("is lost");
    let spoiling = std::sync::Arc::new(with_spoiling(&home, "primary"));
    let id = hand_in(&home, &home.bag("letters", &files));
    let workers = strongroom_engine::build_runtime(&spoiling, None).expect("a runtime").build();
    let item = || home.registry.read(|tx| items::find(tx, Scope::System, id)).expect("the item");
    let note = "was replaced and does not read back as recorded";
    workers.run_until(&Shutdown::new(), &|| {
        item().status.is_ended() || notes(&home, id).iter().any(|told| told.contains(note))
    });
    assert_ne!(item().status, ItemStatus::Succeeded, "{:?}", item().note);
}

#[test]
fn what_no_store_had_when_the_registry_was_rebuilt_is_healed_by_a_deposit_of_the_same_bytes() {
    const FILES: &[(&str, &[u8])] = &[("a.txt", b"dear reader"), ("b.txt", b"yours")];
    let made = fixture::home();
    let object = made.ingest("letters", FILES);
    let files = made.registry.read(|tx| objects::files(tx, object.id, 1, "deposit/data/a.txt", "", 1)).expect("files");
    for copy in made.registry.read(|tx| objects::copies(tx, files[0].content)).expect("copies") {
        std::fs::remove_file(made.file(&copy.store, &copy.key)).expect("loses it");
    }
    let mut fresh = fixture::home();
    crate::rebuild::copy_stores(&made, &fresh);
    let adopting = fresh.opened_to_adopt();
    crate::rebuild::rebuilt(&adopting, "primary");
    rebuild::adopt(&adopting, &AdoptRequest::default(), &mut |_| ()).expect("adopts");
    drop(adopting);
    fresh.home = std::sync::Arc::new(fresh.opened_again());
    fresh.ingest("letters", FILES);
    assert_eq!(fresh.object("letters").head, 1, "no version is made");
    let all = FixityRequest { all: true, ..FixityRequest::default() };
    let summary = fixity::run(&fresh, &all, &mut |_| ()).expect("checks");
    assert_eq!((summary.checked, summary.damaged, summary.failed), (summary.passed, 0, 0), "{summary:?}");
    assert!(fixity::problems(&fresh, None, None, 10).expect("problems").is_empty());
}

#[test]
fn a_root_inventory_that_is_damaged_is_put_back_before_a_deposit_builds_on_it() {
    let home = fixture::home();
    let object = home.ingest("letters", &[("a.txt", b"one")]);
    let root = home.keys("secondary").into_iter().find(|key| key.ends_with("/v1/inventory.json")).expect("an object");
    let root = home.file("secondary", &root.replace("/v1/", "/"));
    let right = fs::read(&root).expect("reads");
    fs::write(&root, &right[..right.len() - 1]).expect("damages it");
    deposit_again(&home, "letters", &[("a.txt", b"one, changed")]);
    assert_eq!(home.object("letters").head, 2);
    fs::remove_file(&root).expect("is lost");
    let item = deposit_again(&home, "letters", &[("a.txt", b"one, changed")]);
    assert!(item.note.as_ref().is_some_and(|note| note.contains("nothing changed")), "{:?}", item.note);
    assert_eq!(object.id, home.object("letters").id);
    assert_eq!(home.keys("quarantine").len(), 2, "the damaged bytes and their note");
    assert_whole(&home);
}

/// A store is replaced while a deposit is compared with what is kept, just before a lost copy is healed from it.
#[test]
fn a_deposit_that_heals_while_a_store_is_replaced_goes_on() {
    use std::sync::Arc;
    use std::time::{Duration, Instant};

    use strongroom_engine::{backfill, build_runtime};
    use strongroom_storage_test::{Call, Operation};

    let made = fixture::home();
    let files: [(&str, &[u8]); 2] = [("a.txt", b"one"), ("b.txt", b"two")];
    let object = made.ingest("letters", &files);
    let lost = places(&made, &object, "a.txt");
    fs::remove_file(&lost[0]).expect("is lost");
    let other = Arc::new(made.opened_again());
    let secondary = made.path().join("stores/secondary");
    let act = move |_: &strongroom_storage::Key| {
        fs::remove_dir_all(&secondary).expect("is lost");
        other.try_stores();
        backfill::replace(&other, "secondary").expect("replaces");
    };
    let is_list = |call: Call<'_>| call.operation == Operation::List && call.key.as_str().split('/').count() > 3;
    let layered = crate::ingest::committing::layered(
        &made,
        "primary",
        crate::meanwhile::Meanwhile::new(crate::meanwhile::When::Before, is_list, act),
    );
    let id = hand_in(&made, &made.bag("letters", &files));
    let workers = build_runtime(&layered, None).expect("a runtime").build();
    let begun = Instant::now();
    let find = || made.registry.read(|tx| items::find(tx, Scope::System, id)).expect("the item");
    let tries = std::cell::Cell::new(0);
    workers.run_until(&Shutdown::new(), &|| {
        let item = find();
        if item.status == ItemStatus::Pending
            && item.retry_count >= tries.get()
            && begun.elapsed() > Duration::from_secs(5)
        {
            tries.set(item.retry_count + 1);
            made.clock.advance(Duration::from_hours(1));
        }
        item.status.is_ended() || begun.elapsed() > Duration::from_mins(1)
    });
    let item = find();
    assert_eq!(item.status, ItemStatus::Succeeded, "{:?} at {}: {:?}", item.note, item.stage, notes(&made, id));
}
