//! Root inventories that are damaged, or cannot be read, where a deposit builds on them or a commit has begun.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use strongroom_engine::rebuild::{self, AdoptRequest};
use strongroom_engine::runtime::Shutdown;
use strongroom_engine::{Home, build_runtime, work_on};
use strongroom_registry::{ItemId, ItemStatus, Stage};
use strongroom_storage::{Key, StorageError};
use strongroom_storage_test::{Call, Layer, Operation};

use super::{MARK, check, is_commit, item};
use crate::fixture::{KEPT_IN, TestHome, home};
use crate::ingest::committing::{layered, second_version_behind_committing, work_until_its_commit_fails};
use crate::ingest::hand_in;
use crate::ingest::identity::work_until;
use crate::meanwhile::{Meanwhile, When};

/// A medium that cannot read some files of a store until they are put again.
struct Unreadable {
    store: &'static str,
    keys: Vec<String>,
    put: Mutex<Vec<String>>,
}

impl Unreadable {
    fn new(store: &'static str, keys: Vec<String>) -> Self {
        Self { store, keys, put: Mutex::default() }
    }
}

impl Layer for Unreadable {
    fn call<T>(&self, call: Call<'_>, act: &mut dyn FnMut() -> Result<T, StorageError>) -> Result<T, StorageError> {
        let key = call.key.as_str().to_owned();
        let mut put = self.put.lock().expect("locks");
        if !self.keys.contains(&key) || put.contains(&key) {
            return act();
        }
        match call.operation {
            Operation::Open => Err(StorageError::Io {
                store: self.store.into(),
                act: "read",
                key: call.key.clone(),
                source: std::io::Error::from_raw_os_error(5),
            }),
            Operation::Put => {
                put.push(key);
                act()
            }
            _ => act(),
        }
    }
}

/// An item whose version is to be the first of its object, lies in `primary` already, and failed in `secondary`, whose disk
/// went away and is back; where the root inventory lies in `primary`.
fn first_version_behind_committing(made: &TestHome) -> (ItemId, String) {
    let id = hand_in(made, &made.bag("letters", &[("a.txt", b"dear reader")]));
    work_until(made, id, Stage::named("record"));
    let (folder, gone) = (made.path().join("stores/secondary"), made.path().join("gone"));
    let (from, to) = (folder.clone(), gone.clone());
    let away = Meanwhile::new(When::After, is_commit, move |_| fs::rename(from, to).expect("takes it away"));
    work_until_its_commit_fails(&layered(made, "primary", away), id);
    fs::rename(&gone, &folder).expect("brings it back");
    made.try_stores();
    let inventory = made.keys("primary").into_iter().find(|key| key.ends_with("/v1/inventory.json"));
    (id, inventory.expect("the object").replace("/v1/", "/"))
}

#[test]
fn a_root_inventory_of_a_first_version_that_is_damaged_behind_committing_is_put_back() {
    let made = home();
    let (id, inventory) = first_version_behind_committing(&made);
    let inventory = made.file("primary", &inventory);
    let bytes = fs::read(&inventory).expect("reads");
    fs::write(&inventory, &bytes[..bytes.len() - 1]).expect("damages it");
    assert_succeeds_in_a_while(&made.home, &made, id);
    assert_eq!(made.keys("quarantine").len(), 2, "the damaged bytes and their note");
    let told = crate::rebuild::all_events(&made, &made.object("letters"));
    assert_eq!(told.iter().filter(|event| event.kind == "quarantine").count(), 1, "{told:?}");
    assert_eq!(check(&made).damaged, 0);
}

#[test]
fn a_root_inventory_of_a_first_version_that_cannot_be_read_behind_committing_is_put_back() {
    let made = home();
    let (id, inventory) = first_version_behind_committing(&made);
    let layered = layered(&made, "primary", Unreadable::new("primary", vec![inventory]));
    assert_succeeds_in_a_while(&layered, &made, id);
    assert_eq!(made.keys("quarantine").len(), 1, "a note");
}

/// Another worker has the item when the first one has seen the damage.
#[test]
fn a_worker_that_lost_its_item_puts_back_no_root_inventory_of_a_first_version() {
    let made = Arc::new(home());
    let (id, inventory) = first_version_behind_committing(&made);
    let file = made.file("primary", &inventory);
    let bytes = fs::read(&file).expect("reads");
    fs::write(&file, &bytes[..bytes.len() - 1]).expect("damages it");
    // The last that is compared of the object.
    let last = inventory.replace("/inventory.json", "/v1/inventory.json.sha512");
    let is_damaged = AtomicBool::new(false);
    let is_last = move |call: Call<'_>| {
        let is_read = call.operation == Operation::Open && call.key.as_str() == inventory;
        is_damaged.fetch_or(is_read, Ordering::SeqCst) && call.operation == Operation::Open && call.key.as_str() == last
    };
    let is_lost = Arc::new(AtomicBool::new(false));
    let losing = Meanwhile::new(When::After, is_last, {
        let (made, is_lost) = (made.clone(), is_lost.clone());
        move |_| {
            made.change_rows("-- name: change\nUPDATE work_items SET fence = fence + 1");
            is_lost.store(true, Ordering::SeqCst);
        }
    });
    made.clock.advance(Duration::from_hours(1));
    let workers = build_runtime(&layered(&made, "primary", losing), None).expect("a runtime").build();
    workers.run_until(&Shutdown::new(), &|| is_lost.load(Ordering::SeqCst));
    assert_eq!(made.keys("quarantine"), Vec::<String>::new());
    assert_eq!(fs::read(&file).expect("reads").len(), bytes.len() - 1);
    made.clock.advance(Duration::from_hours(1));
    try_for_a_while(&made.home, &made, id);
    assert_eq!(item(&made, id).status, ItemStatus::Succeeded, "{:?}", item(&made, id).note);
}

/// The registry that adopted the first version goes on to the second, whose root inventory the process of before does not
/// know.
#[test]
fn a_process_of_before_an_adoption_puts_back_no_root_inventory_over_that_of_a_later_version() {
    let made = home();
    let backup = made.backup("early");
    let (id, _) = first_version_behind_committing(&made);
    let (folder, elsewhere) = made.with_registry_elsewhere(&backup);
    let settings = elsewhere.settings.clone();
    let next = made.path().join("letters.tar");
    fs::rename(made.bag("letters", &[("a.txt", b"dear reader, again")]), &next).expect("moves");
    let further = move |_: &Key| {
        rebuild::adopt(&elsewhere, &AdoptRequest::default(), &mut |_| ()).expect("adopts");
        drop(elsewhere);
        let server = Arc::new(Home::open(folder.path(), settings).expect("opens the home"));
        let id = hand_in(&server, &next);
        work_on(&server, &[id], &Shutdown::new()).expect("works");
        let ended = item(&server, id);
        assert_eq!(ended.status, ItemStatus::Succeeded, "{:?}", ended.note);
    };
    let before = layered(&made, "primary", Meanwhile::new(When::After, is_commit, further));
    made.clock.advance(Duration::from_hours(1));
    let workers = build_runtime(&before, None).expect("a runtime").build();
    let is_refused = || item(&made, id).note.is_some_and(|note| note.contains("another registry"));
    workers.run_until(&Shutdown::new(), &|| item(&made, id).status.is_ended() || is_refused());
    for store in KEPT_IN {
        let latest = made.keys(store).into_iter().find(|key| key.ends_with("/v2/inventory.json")).expect("version 2");
        let read = |key: &str| fs::read_to_string(made.file(store, key)).expect("reads");
        assert_eq!(read(&latest.replace("/v2/", "/")), read(&latest), "{store}");
    }
    assert!(is_refused(), "{:?}", item(&made, id));
}

/// Tries the item again and again, each time an hour later, until it has ended.
pub(super) fn try_for_a_while(home: &Arc<Home>, made: &TestHome, id: ItemId) {
    let workers = build_runtime(home, None).expect("a runtime").build();
    let begun = Instant::now();
    let tries = std::cell::Cell::new(0);
    workers.run_until(&Shutdown::new(), &|| {
        let item = item(made, id);
        if item.status == ItemStatus::Pending && item.retry_count >= tries.get() {
            tries.set(item.retry_count + 1);
            made.clock.advance(Duration::from_hours(1));
        }
        item.status.is_ended() || tries.get() > 6 || begun.elapsed() > Duration::from_secs(15)
    });
}

pub(super) fn assert_succeeds_in_a_while(home: &Arc<Home>, made: &TestHome, id: ItemId) {
    try_for_a_while(home, made, id);
    let ended = item(made, id);
    assert_eq!(ended.status, ItemStatus::Succeeded, "{:?} at {}", ended.note, ended.stage);
}

#[test]
fn a_root_inventory_that_cannot_be_read_is_put_back_before_a_deposit_builds_on_it() {
    let made = home();
    made.ingest("letters", &[("a.txt", b"dear reader")]);
    let inventory = made.keys("secondary").into_iter().find(|key| key.ends_with("/v1/inventory.json"));
    let key = inventory.expect("an object").replace("/v1/", "/");
    let layered = layered(&made, "secondary", Unreadable::new("secondary", vec![key]));
    let id = hand_in(&made, &made.bag("letters", &[("a.txt", b"dear reader, again")]));
    assert_succeeds_in_a_while(&layered, &made, id);
}

/// A root inventory behind `committing` lies in a sector that cannot be read any more.
#[test]
fn a_root_inventory_that_cannot_be_read_behind_committing_is_put_back_and_the_version_published() {
    let made = home();
    let (id, inventory) = second_version_behind_committing(&made);
    let layered = layered(&made, "secondary", Unreadable::new("secondary", vec![inventory]));
    assert_succeeds_in_a_while(&layered, &made, id);
}

/// Both inventories of a first version lie in sectors that cannot be read any more. The item can make them again, byte for
/// byte; and it is tried without end, so that no try may keep evidence anew.
#[test]
fn both_inventories_of_a_first_version_that_cannot_be_read_are_put_back_or_kept_as_evidence_once() {
    let made = home();
    let (id, inventory) = first_version_behind_committing(&made);
    let version = inventory.replace("/inventory.json", "/v1/inventory.json");
    let layered = layered(&made, "primary", Unreadable::new("primary", vec![inventory, version]));
    try_for_a_while(&layered, &made, id);
    let ended = item(&made, id);
    let kept = made.keys("quarantine");
    assert!(kept.len() <= 2, "one note for each file, and not anew at each try: {kept:#?}");
    assert_eq!(ended.status, ItemStatus::Succeeded, "{:?} at {}", ended.note, ended.stage);
}

/// A root inventory of a first version is damaged in the attempt that has marked the version `committing`.
#[test]
fn a_root_inventory_of_a_first_version_is_put_back_in_the_attempt_that_began_the_commit() {
    let made = home();
    let id = hand_in(&made, &made.bag("letters", &[("a.txt", b"dear reader")]));
    work_until(&made, id, Stage::named("record"));
    let folder = made.path().join("stores/primary");
    let damage = Meanwhile::new(When::After, is_commit, move |key| {
        let inventory = folder.join(key.as_str()).join("inventory.json");
        let bytes = fs::read(&inventory).expect("reads");
        fs::write(&inventory, &bytes[..bytes.len() - 1]).expect("damages it");
    });
    let layered = layered(&made, "primary", damage);
    try_for_a_while(&layered, &made, id);
    assert_eq!(item(&made, id).status, ItemStatus::Succeeded);
    let history = made
        .registry
        .read(|tx| strongroom_registry::items::history(tx, strongroom_registry::Scope::System, id))
        .expect("its history");
    let failed: Vec<_> =
        history.into_iter().filter_map(|line| line.note).filter(|note| note.contains("inventory")).collect();
    assert!(failed.is_empty(), "{failed:?}");
}

/// A worker that commits a first version sleeps after it checked the mark, over an adoption elsewhere and a second version.
#[test]
fn a_worker_that_slept_over_an_adoption_puts_no_first_version_over_a_second() {
    let made = home();
    let (id, inventory) = first_version_behind_committing(&made);
    let backup = made.backup("early");
    made.ingest("diaries", &[("d.txt", b"dear diary")]);
    let (folder, elsewhere) = made.with_registry_elsewhere(&backup);
    let settings = elsewhere.settings.clone();
    let root = made.file("primary", &inventory);
    let bytes = fs::read(&root).expect("reads");
    fs::write(&root, &bytes[..bytes.len() - 1]).expect("damages it");
    let bag = made.path().join("bags/letters.tar");
    let first = fs::read(&bag).expect("the first deposit");
    made.bag("letters", &[("a.txt", b"dear reader, again")]);
    let second = made.path().join("second");
    fs::create_dir_all(&second).expect("makes a folder");
    fs::rename(&bag, second.join("letters.tar")).expect("moves it");
    fs::write(&bag, first).expect("puts it back");
    let (slept, has_slept) = std::sync::mpsc::channel();
    let asleep = {
        let root = root.clone();
        move |_: &Key| {
            fs::write(&root, &bytes).expect("puts it back");
            rebuild::adopt(&elsewhere, &AdoptRequest::default(), &mut |_| ()).expect("adopts");
            drop(elsewhere);
            let again = Arc::new(Home::open(folder.path(), settings).expect("opens the home"));
            assert_eq!(again.registry.refusal(), None);
            let later = hand_in(&again, &second.join("letters.tar"));
            work_on(&again, &[id, later], &Shutdown::new()).expect("works");
            let ended = item(&again, later);
            assert_eq!(ended.status, ItemStatus::Succeeded, "{:?} at {}", ended.note, ended.stage);
            assert_eq!(ended.version, Some(2));
            slept.send(fs::read(&root).expect("the second root inventory")).expect("is heard");
        }
    };
    let is_committed = AtomicBool::new(false);
    let is_look = move |call: Call<'_>| {
        let is_mark = call.operation == Operation::Open && call.key.as_str() == MARK;
        is_committed.fetch_or(is_commit(call), Ordering::SeqCst) && is_mark
    };
    let layered = layered(&made, "primary", Meanwhile::new(When::After, is_look, asleep));
    try_for_a_while(&layered, &made, id);
    let published = has_slept.try_recv().expect("the second version is published");
    let found = fs::read(&root).expect("reads");
    assert!(found == published, "the root inventory of a published second version was replaced by that of the first");
}
