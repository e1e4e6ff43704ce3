//! The depositor's bytes go last: an upload is removed only while its object is whole in every store.

use strongroom_engine::fixity::{self, FixityRequest};
use strongroom_registry::objects::Object;

use super::*;
use crate::fixture::KEPT_IN;

/// The files in the stores that hold an object's payload.
fn copies(home: &TestHome, object: &Object) -> Vec<PathBuf> {
    let files = home.registry.read(|tx| objects::files(tx, object.id, object.head, "deposit/data/", "", 10));
    let mut copies = Vec::new();
    for file in files.expect("files") {
        for copy in home.registry.read(|tx| objects::copies(tx, file.content)).expect("copies") {
            copies.push(home.file(&copy.store, &copy.key));
        }
    }
    assert_eq!(copies.len(), KEPT_IN.len());
    copies
}

/// Another name of an upload's file, so that the same bytes with the same etag can be put there again.
fn another_name(home: &TestHome, name: &str) -> PathBuf {
    let other = home.path().join("bags").join(format!("kept {name}.tar"));
    fs::hard_link(place(home, &format!("{name}.tar")), &other).expect("links");
    other
}

fn check_all(home: &TestHome) {
    let request = FixityRequest { all: true, ..FixityRequest::default() };
    fixity::run(home, &request, &mut |_| {}).expect("checks");
}

/// Takes `letters.tar` in, and puts the same bytes there again after `lose` has changed something.
fn put_again(home: &TestHome, lose: impl FnOnce(&TestHome)) {
    upload(home, "letters", &[("a.txt", b"one")]);
    let other = another_name(home, "letters");
    settle(home);
    work(home);
    assert_eq!(state(home, &key("letters.tar")), UploadState::Removed);
    lose(home);
    fs::hard_link(other, place(home, "letters.tar")).expect("puts it there again");
    settle(home);
}

#[test]
fn equal_bytes_of_a_whole_object_are_not_taken_in_twice() {
    let home = home();
    put_again(&home, |_| {});
    look(&home);
    assert_eq!(all_items(&home).len(), 1);
    assert_eq!(state(&home, &key("letters.tar")), UploadState::Removed);
}

#[test]
fn equal_bytes_are_deposited_again_where_a_store_lacks_a_copy_that_the_registry_believes_in() {
    let home = home();
    put_again(&home, |home| {
        for copy in copies(home, &home.object("letters")) {
            fs::remove_file(copy).expect("loses it");
        }
    });
    assert_eq!(all_items(&home).len(), 2, "it is a deposit");
    assert!(place(&home, "letters.tar").exists());
    work(&home);
    look(&home);
    let is_kept = copies(&home, &home.object("letters")).iter().all(|copy| copy.exists());
    assert!(is_kept || place(&home, "letters.tar").exists(), "the bytes are kept, or still lie where they were put");
}

#[test]
fn equal_bytes_are_deposited_again_where_the_registry_knows_of_damage() {
    let home = home();
    put_again(&home, |home| {
        for copy in copies(home, &home.object("letters")) {
            fs::write(copy, b"two").expect("damages it");
        }
        check_all(home);
    });
    assert_eq!(all_items(&home).len(), 2, "it is a deposit");
    assert!(place(&home, "letters.tar").exists());
}

#[test]
fn an_upload_is_not_removed_while_a_copy_of_it_is_lost() {
    let home = home();
    upload(&home, "letters", &[("a.txt", b"one")]);
    settle(&home);
    work_until(&home, Stage::Cleanup);
    let lost = copies(&home, &home.object("letters")).remove(0);
    fs::remove_file(&lost).expect("loses it");
    work(&home);
    let [item] = all_items(&home).try_into().expect("one item");
    assert_eq!(item.status, ItemStatus::Succeeded, "{:?}", item.note);
    assert!(place(&home, "letters.tar").exists());
    let [known] = uploads(&home).try_into().expect("one upload");
    assert_eq!(known.state, UploadState::Published);
    assert!(known.note.as_deref().is_some_and(|note| note.contains("not removed")), "{:?}", known.note);
    home.clock.advance(Duration::from_hours(2));
    look(&home);
    assert!(place(&home, "letters.tar").exists(), "it is still lost");
    check_all(&home);
    assert!(lost.exists(), "it was repaired");
    look(&home);
    assert!(place(&home, "letters.tar").exists(), "it is not asked in every turn");
    home.clock.advance(Duration::from_hours(2));
    look(&home);
    assert!(!place(&home, "letters.tar").exists());
    assert_eq!(state(&home, &key("letters.tar")), UploadState::Removed);
}
