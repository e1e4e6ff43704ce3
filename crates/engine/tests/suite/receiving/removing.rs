//! What a removal takes out of the receiving store: the upload as it was taken in, durably, and nothing that has replaced it
//! at whatever moment.

use std::sync::{Arc, Mutex};

use strongroom_engine::Home;
use strongroom_registry::receiving as uploads_record;
use strongroom_registry::tenants::CollectionRules;
use strongroom_storage::{Key, PutOptions, StorageError, Store};
use strongroom_storage_test::{Call, Fault, Faults, Layer, Layered, Operation};

use super::collections::set_collection;
use super::*;

type Act = Box<dyn FnOnce() + Send>;

/// Writes down what is removed and when it is made durable, and acts once before the first removal.
struct Removals {
    lines: Arc<Mutex<Vec<String>>>,
    before: Mutex<Option<Act>>,
}

impl Layer for Removals {
    fn call<T>(&self, call: Call<'_>, act: &mut dyn FnMut() -> Result<T, StorageError>) -> Result<T, StorageError> {
        if call.operation == Operation::Delete
            && let Some(before) = self.before.lock().expect("locks").take()
        {
            before();
        }
        let outcome = act();
        if matches!(call.operation, Operation::Delete | Operation::Sync) && outcome.is_ok() {
            self.lines.lock().expect("locks").push(format!("{} {}", call.operation.name(), call.store));
        }
        outcome
    }
}

/// The home with such layers around the receiving store, where `before` happens, and the staging; and what they write down.
fn watched_removals(made: &TestHome, before: Option<Act>) -> (Arc<Home>, Arc<Mutex<Vec<String>>>) {
    let mut home = Home::with_registry(made.path(), made.settings.clone(), made.registry.clone()).expect("opens");
    let lines = Arc::new(Mutex::new(Vec::new()));
    let layered = |name: &str, before| -> Arc<dyn Store> {
        let layer = Removals { lines: lines.clone(), before: Mutex::new(before) };
        Arc::new(Layered::new(made.stores[name].clone(), layer))
    };
    home.roles.receiving = layered("receiving", before);
    home.roles.staging = layered("staging", None);
    home.stores.insert("receiving".into(), home.roles.receiving.clone());
    home.stores.insert("staging".into(), home.roles.staging.clone());
    (Arc::new(home), lines)
}

/// Works on the one item until it ends.
fn work_in(home: &Arc<Home>, made: &TestHome) {
    let [item] = all_items(made).try_into().expect("one item");
    work_on(home, &[item.id], &Shutdown::new()).expect("works");
    let item = made.registry.read(|tx| items::find(tx, Scope::System, item.id)).expect("the item");
    assert_eq!(item.status, ItemStatus::Succeeded, "{:?}", item.note);
}

/// An act that writes other bytes over a file of the receiving store, as a new file.
fn replaced(made: &TestHome, name: &str) -> (PathBuf, Act) {
    let (path, new) = (place(made, name), made.path().join("new"));
    fs::write(&new, b"what came since").expect("writes");
    let to = path.clone();
    (path, Box::new(move || fs::rename(new, to).expect("replaces it")))
}

#[test]
fn what_replaces_an_upload_at_the_moment_of_its_removal_stays() {
    let made = home();
    upload(&made, "letters", &[("a.txt", b"one")]);
    settle(&made);
    let (path, replace) = replaced(&made, "letters.tar");
    let (home, _) = watched_removals(&made, Some(replace));
    work_in(&home, &made);
    assert_eq!(fs::read(path).expect("it stays"), b"what came since");
    assert_eq!(state(&made, &key("letters.tar")), UploadState::Settling, "it is watched");
}

#[test]
fn what_replaces_a_file_of_an_upload_while_that_is_removed_stays() {
    let made = home();
    upload_folder(&made, "letters", &[("a.txt", b"one"), ("b.txt", b"two")]);
    settle(&made);
    let (path, replace) = replaced(&made, "letters/data/b.txt");
    let (home, _) = watched_removals(&made, Some(replace));
    work_in(&home, &made);
    assert_eq!(fs::read(path).expect("it stays"), b"what came since");
    assert_eq!(made.keys("receiving"), [key("letters/data/b.txt")], "and nothing else");
}

#[test]
fn a_folder_that_was_replaced_before_its_removal_stays_as_it_is() {
    let made = home();
    upload_folder(&made, "letters", &[("a.txt", b"one"), ("b.txt", b"two")]);
    settle(&made);
    work_until(&made, Stage::named("cleanup"));
    let before = made.keys("receiving");
    let (path, replace) = replaced(&made, "letters/data/b.txt");
    replace();
    work(&made);
    assert_eq!(made.keys("receiving"), before);
    assert_eq!(fs::read(path).expect("it stays"), b"what came since");
    assert_ne!(state(&made, &key("letters/")), UploadState::Removed);
    assert!(made.keys("staging").is_empty(), "nothing is written down for a removal");
}

/// An upload meanwhile finds the folder, and the folder keeps the rights that were given to it.
#[test]
fn the_folder_of_an_institution_and_that_of_a_collection_stay_when_they_are_empty() {
    let made = home();
    set_collection(&made, "papers", CollectionRules { name: "Papers".into(), ..CollectionRules::default() }, true);
    fs::create_dir_all(place(&made, "papers")).expect("makes the folder of the collection");
    plain_bag(&place(&made, "papers/letters.tar"), Serialization::Tar, &[("a.txt", b"one")]);
    plain_bag(&place(&made, "papers/maps"), Serialization::Directory, &[("m.txt", b"two")]);
    upload_folder(&made, "diaries", &[("d.txt", b"three")]);
    settle(&made);
    work(&made);
    assert!(made.keys("receiving").is_empty(), "all are kept");
    assert!(place(&made, "papers").is_dir(), "the folder of the collection is gone");
    let left: Vec<_> = fs::read_dir(place(&made, "")).expect("the folder of the institution").collect();
    assert_eq!(left.len(), 1, "{left:?}");
    assert_eq!(fs::read_dir(place(&made, "papers")).expect("lists").count(), 0);
}

#[test]
fn a_removal_is_durable_before_it_is_recorded() {
    let made = home();
    upload(&made, "letters", &[("a.txt", b"one")]);
    settle(&made);
    let (home, lines) = watched_removals(&made, None);
    work_in(&home, &made);
    let in_receiving: Vec<String> =
        lines.lock().expect("locks").iter().filter(|line| line.ends_with(" receiving")).cloned().collect();
    assert_eq!(in_receiving, ["delete receiving", "sync receiving"]);
    assert_eq!(state(&made, &key("letters.tar")), UploadState::Removed);
}

#[test]
fn what_is_written_down_for_a_removal_goes_when_the_removal_is_durable() {
    let made = home();
    upload_folder(&made, "letters", &[("a.txt", b"one")]);
    settle(&made);
    let (home, lines) = watched_removals(&made, None);
    work_in(&home, &made);
    let lines = lines.lock().expect("locks");
    let last = lines.iter().rposition(|line| line == "delete receiving").expect("it is removed");
    let forgotten = lines.iter().rposition(|line| line == "delete staging").expect("the list is removed");
    let synced = lines.iter().skip(last).position(|line| line == "sync receiving").expect("it is durable") + last;
    assert!(synced < forgotten, "{lines:?}");
}

#[test]
fn a_removal_whose_list_cannot_be_looked_at_goes_on_when_it_can() {
    let made = home();
    upload_folder(&made, "letters", &[("a.txt", b"one"), ("b.txt", b"two")]);
    settle(&made);
    work_until(&made, Stage::named("cleanup"));
    // The process stopped behind the first key of the removal.
    let [item] = all_items(&made).try_into().expect("one item");
    let receiving = made.store("receiving").expect("a store");
    let prefix = Key::new(key("letters")).expect("a key");
    let keys: Vec<_> = receiving.list(&prefix).expect("lists").map(|listed| listed.expect("a key")).collect();
    let lines: Vec<String> = keys
        .iter()
        .map(|listed| serde_json::to_string(&(listed.key.as_str(), &listed.etag)).expect("a line") + "\n")
        .collect();
    let list = Key::new(format!("{}/removal", item.id)).expect("a key");
    let staging = made.store("staging").expect("a store");
    staging.put(&list, &mut lines.concat().as_bytes(), &PutOptions::default()).expect("puts");
    receiving.delete(&keys[0].key).expect("removes the first");
    let [known] = uploads(&made).try_into().expect("one upload");
    let fate = uploads_record::Fate::new(UploadState::Removing, "begun");
    made.registry.write(move |tx| uploads_record::decide(tx, known.upload, &fate)).expect("begins");
    let mut failing = Home::with_registry(made.path(), made.settings.clone(), made.registry.clone()).expect("opens");
    let faulty = Layered::new(staging.clone(), Faults::new());
    let faults = faulty.layer().clone();
    failing.roles.staging = Arc::new(faulty);
    failing.stores.insert("staging".into(), failing.roles.staging.clone());
    faults.plan(Operation::Head, 1, Fault::Fail(std::io::ErrorKind::TimedOut));
    work_on(&Arc::new(failing), &[item.id], &Shutdown::new()).expect("works");
    assert_eq!(faults.happened(), 1);
    work(&made);
    made.clock.advance(Duration::from_hours(2));
    look(&made);
    assert_eq!(state(&made, &key("letters/")), UploadState::Removed);
    assert_eq!((made.keys("receiving"), made.keys("staging")), (Vec::new(), Vec::new()));
    assert_eq!(all_items(&made).len(), 1, "the rest of it is no other upload");
}
