//! Uploads that change, are replaced, come back or go, at every moment.

use std::sync::Arc;

use strongroom_database::{Clock, ManualClock, SystemClock};
use strongroom_engine::Home;
use strongroom_registry::Registry;

use super::*;

#[test]
fn an_upload_that_goes_on_is_not_taken_in() {
    let home = home();
    let bag = fs::read(home.bag("letters", &[("a.txt", &[7; 4_000])])).expect("a bag");
    for part in bag.chunks(1_000) {
        let path = place(&home, "letters.tar");
        let mut so_far = fs::read(&path).unwrap_or_default();
        so_far.extend_from_slice(part);
        fs::write(path, so_far).expect("appends");
        assert_eq!(look(&home).submitted, 0);
        home.clock.advance(SETTLE);
    }
    assert_eq!(look(&home).submitted, 1);
    work(&home);
    assert_eq!(home.object("letters").head, 1);
}

#[test]
fn a_corrected_bag_is_taken_up_as_another_deposit() {
    let home = home();
    upload(&home, "letters", &[("a.txt", b"one")]);
    let path = place(&home, "letters.tar");
    let mut damaged = fs::read(&path).expect("a bag");
    let at = damaged.windows(3).position(|three| three == b"one").expect("the payload");
    damaged[at] ^= 1;
    fs::write(&path, damaged).expect("damages it");
    settle(&home);
    work(&home);
    look(&home);
    assert_eq!(state(&home, &key("letters.tar")), UploadState::Invalid);
    assert!(path.exists(), "an invalid bag stays");
    assert_eq!(settle(&home).submitted, 0, "the same bytes are not tried again");
    upload(&home, "letters", &[("a.txt", b"one")]);
    assert_eq!(settle(&home).submitted, 1);
    work(&home);
    assert_eq!(home.object("letters").head, 1);
    assert_eq!(state(&home, &key("letters.tar")), UploadState::Removed);
    let statuses: Vec<_> = all_items(&home).iter().map(|item| item.status).collect();
    assert_eq!(statuses, [ItemStatus::Failed, ItemStatus::Succeeded]);
}

#[test]
fn a_newer_upload_takes_the_place_of_one_that_nobody_has_begun() {
    let home = home();
    upload(&home, "letters", &[("a.txt", b"one")]);
    settle(&home);
    upload(&home, "letters", &[("a.txt", b"two")]);
    assert_eq!(settle(&home).submitted, 1);
    let [older, newer] = all_items(&home).try_into().expect("two items");
    assert_eq!((older.status, newer.status), (ItemStatus::Cancelled, ItemStatus::Pending));
    assert!(older.note.as_ref().is_some_and(|note| note.contains(&newer.id.to_string())), "{:?}", older.note);
    work(&home);
    assert_eq!(home.object("letters").head, 1);
    assert!(home.keys("receiving").is_empty());
}

#[test]
fn an_upload_that_is_replaced_before_it_is_read_is_left_for_what_replaced_it() {
    let home = home();
    upload(&home, "letters", &[("a.txt", b"one")]);
    settle(&home);
    upload(&home, "letters", &[("a.txt", b"two")]);
    work(&home);
    let [older] = all_items(&home).try_into().expect("one item");
    assert_eq!(older.status, ItemStatus::Cancelled, "{:?}", older.note);
    assert_eq!(settle(&home).submitted, 1);
    work(&home);
    assert_eq!(home.object("letters").head, 1);
    assert_eq!(state(&home, &key("letters.tar")), UploadState::Removed);
}

#[test]
fn what_replaced_an_upload_after_it_was_read_is_not_removed_with_it() {
    let home = home();
    upload(&home, "letters", &[("a.txt", b"one")]);
    settle(&home);
    let [item] = all_items(&home).try_into().expect("one item");
    // As far as the bytes are staged.
    work_until_read(&home);
    upload(&home, "letters", &[("a.txt", b"two")]);
    work(&home);
    let first = home.registry.read(|tx| items::find(tx, Scope::System, item.id)).expect("the item");
    assert_eq!(first.status, ItemStatus::Succeeded, "{:?}", first.note);
    assert!(place(&home, "letters.tar").exists(), "the newer one stays");
    assert_eq!(settle(&home).submitted, 1);
    work(&home);
    assert_eq!(home.object("letters").head, 2);
    assert!(home.keys("receiving").is_empty());
}

#[test]
fn an_upload_that_is_taken_away_ends_its_work() {
    let home = home();
    upload(&home, "letters", &[("a.txt", b"one")]);
    settle(&home);
    fs::remove_file(place(&home, "letters.tar")).expect("takes it away");
    work(&home);
    let [item] = all_items(&home).try_into().expect("one item");
    assert_eq!(item.status, ItemStatus::Cancelled);
    look(&home);
    assert_eq!(state(&home, &key("letters.tar")), UploadState::Withdrawn);
    // The same bytes come again: nothing came of them before.
    upload(&home, "letters", &[("a.txt", b"one")]);
    assert_eq!(settle(&home).submitted, 1);
    work(&home);
    assert_eq!(home.object("letters").head, 1);
}

#[test]
fn names_of_uploads_under_way_are_ignored_until_they_are_renamed() {
    let home = home();
    upload(&home, "letters", &[("a.txt", b"one")]);
    for name in [".letters.tar", "letters.tar.part", "letters.tar.filepart"] {
        fs::rename(place(&home, "letters.tar"), place(&home, name)).expect("renames");
        assert_eq!(settle(&home).submitted, 0);
        assert!(uploads(&home).iter().all(|upload| upload.state != UploadState::Settling), "{name}");
        fs::rename(place(&home, name), place(&home, "letters.tar")).expect("renames back");
    }
    assert_eq!(settle(&home).submitted, 1);
}

#[test]
fn a_clock_that_is_put_back_only_makes_an_upload_wait_longer() {
    let home = home();
    upload(&home, "letters", &[("a.txt", b"one")]);
    home.clock.advance(Duration::from_hours(24 * 365));
    look(&home);
    // Another process, whose clock is right again.
    let clock = Arc::new(ManualClock::at(SystemClock.now()));
    let registry = Registry::open_sqlite(&home.path().join("registry.db"), clock.clone()).expect("a registry");
    let other = Home::with_registry(home.path(), home.settings.clone(), registry).expect("opens the home");
    assert_eq!(receiving::watch(&other, &Shutdown::new()).expect("looks").submitted, 0);
    clock.advance(31_000_000);
    assert_eq!(receiving::watch(&other, &Shutdown::new()).expect("looks").submitted, 1);
}
