//! The depositor's bytes go last: an upload is removed only while its object is whole in every store.

use strongroom_engine::fixity::{self, FixityRequest};
use strongroom_registry::objects::Object;
use strongroom_registry::receiving as uploads_record;

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
    work_until(&home, Stage::named("cleanup"));
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

#[test]
fn what_is_written_down_for_a_removal_outlives_every_sweep_until_the_upload_is_gone() {
    let home = home();
    upload_folder(&home, "letters", &[("a.txt", b"one"), ("b.txt", b"two")]);
    settle(&home);
    work_until(&home, Stage::named("cleanup"));
    // Not whole, so that it stays for now.
    let lost = copies_of_one(&home, "a.txt");
    let aside = home.path().join("aside");
    fs::rename(&lost, &aside).expect("loses a copy");
    work(&home);
    assert_eq!(state(&home, &key("letters/")), UploadState::Published);
    fs::rename(&aside, &lost).expect("finds it again");
    // The process stopped behind the first key of the removal.
    let [upload] = uploads(&home).try_into().expect("one upload");
    let [item] = all_items(&home).try_into().expect("one item");
    let receiving = home.store("receiving").expect("a store");
    let prefix = strongroom_storage::Key::new(key("letters")).expect("a key");
    let keys: Vec<_> = receiving.list(&prefix).expect("lists").map(|listed| listed.expect("a key")).collect();
    let lines: Vec<String> = keys
        .iter()
        .map(|listed| serde_json::to_string(&(listed.key.as_str(), &listed.etag)).expect("a line") + "\n")
        .collect();
    let list = strongroom_storage::Key::new(format!("{}/removal", item.id)).expect("a key");
    let staging = home.store("staging").expect("a store");
    staging.put(&list, &mut lines.concat().as_bytes(), &strongroom_storage::PutOptions::default()).expect("puts");
    receiving.delete(&keys[0].key).expect("removes the first");
    let id = upload.upload;
    home.registry
        .write(move |tx| uploads_record::decide(tx, id, &uploads_record::Fate::new(UploadState::Removing, "begun")))
        .expect("begins");
    strongroom_engine::ingest::sweep_staging(&home, &Shutdown::new()).expect("sweeps");
    assert_eq!(home.keys("staging"), [list.to_string()], "it is still needed");
    let found = strongroom_engine::reconcile::run(&home, "staging", &mut |difference| panic!("{difference:?}"));
    assert_eq!(found.expect("compares").differences, 0);
    home.clock.advance(Duration::from_hours(2));
    look(&home);
    settle(&home);
    assert_eq!(state(&home, &key("letters/")), UploadState::Removed);
    assert!(home.keys("receiving").is_empty());
    assert_eq!(all_items(&home).len(), 1, "the rest of it is no other upload");
    // What nobody needs any more goes.
    staging.put(&list, &mut lines.concat().as_bytes(), &strongroom_storage::PutOptions::default()).expect("puts");
    strongroom_engine::ingest::sweep_staging(&home, &Shutdown::new()).expect("sweeps");
    assert!(home.keys("staging").is_empty());
}

/// The file that holds one copy of a payload file of `letters`.
fn copies_of_one(home: &TestHome, name: &str) -> PathBuf {
    let object = home.object("letters");
    let path = format!("deposit/data/{name}");
    let files = home.registry.read(|tx| objects::files(tx, object.id, object.head, &path, "", 10)).expect("files");
    let copies = home.registry.read(|tx| objects::copies(tx, files[0].content)).expect("copies");
    home.file(&copies[0].store, &copies[0].key)
}
