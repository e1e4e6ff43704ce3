//! Restorations replace nothing: not what appeared under their name meanwhile, in a folder or in a store, nor what a later
//! attempt has put while an earlier one slept.

use std::fs;
use std::io::Read;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use strongroom_engine::restoration::{Expired, expire};
use strongroom_registry::RestoredState;
use strongroom_registry::restored::{self, Restored};
use strongroom_s3::S3Store;
use strongroom_s3_double::{Double, Rules};
use strongroom_storage::{FolderStore, Key, PutOptions, Store};
use strongroom_storage_test::{Layered, Operation};

use super::*;
use crate::installation;
use crate::meanwhile::{Meanwhile, When};

const THEIRS: &[u8] = b"of somebody else";
const RESULT: &str = "test.edu/letters.tar";

/// Does something once: in a put when all bytes have been read and before they get their name, else before the call.
fn meanwhile(operation: Operation, act: impl FnOnce() + Send + 'static) -> Meanwhile {
    Meanwhile::new(When::AllRead, move |call| call.operation == operation, move |_| act())
}

/// The same home with another store of this name.
pub(super) fn with_store(home: &TestHome, name: &str, store: Arc<dyn Store>) -> Arc<Home> {
    let mut changed = home.opened_again();
    if name == "restoration" {
        changed.roles.restoration = store.clone();
    }
    changed.stores.insert(name.to_owned(), store);
    Arc::new(changed)
}

fn folder_store(home: &TestHome, name: &str) -> Arc<dyn Store> {
    Arc::new(FolderStore::open(name, home.path().join("stores").join(name)).expect("opens"))
}

pub(super) fn bucket(double: &Double) -> Arc<dyn Store> {
    let settings = installation::bucket(double, "");
    Arc::new(S3Store::create("restoration", settings).expect("a store in a bucket"))
}

fn read(store: &dyn Store, key: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let key = Key::new(key).expect("a key");
    store.open(&key, 0, None).expect("opens").read_to_end(&mut bytes).expect("reads");
    bytes
}

pub(super) fn keys(store: &dyn Store) -> Vec<String> {
    let prefix = Key::new(INSTITUTION).expect("a key");
    store.list(&prefix).expect("lists").map(|listed| listed.expect("a key").key.to_string()).collect()
}

fn put_theirs(store: &dyn Store, key: &str) {
    store.put(&Key::new(key).expect("a key"), &mut &*THEIRS, &PutOptions::default()).expect("puts");
}

fn into_the_store() -> RestoreRequest {
    RestoreRequest::of_system(format!("{INSTITUTION}/letters"))
}

fn work(home: &Arc<Home>, id: ItemId) -> Item {
    work_on(home, &[id], &Shutdown::new()).expect("works");
    let item = home.registry.read(|tx| items::find(tx, Scope::System, id)).expect("the item");
    assert_eq!(item.status, ItemStatus::Succeeded, "{:?}", item.note);
    item
}

fn results(home: &Home, id: ItemId) -> Vec<Restored> {
    home.registry.read(|tx| restored::of_item(tx, id)).expect("results")
}

#[test]
fn a_file_that_appears_in_the_folder_meanwhile_stays_and_the_result_gets_the_next_name() {
    let home = fixture::home();
    home.ingest("letters", &[("a.txt", b"one")]);
    let folder = TempDir::new().expect("a folder");
    let theirs = folder.path().join("letters.tar");
    let appears = theirs.clone();
    let layer = meanwhile(Operation::Open, move || fs::write(appears, THEIRS).expect("writes"));
    let changed = with_store(&home, KEPT_IN[0], Arc::new(Layered::new(folder_store(&home, KEPT_IN[0]), layer)));
    let item = work(&changed, request_object(&changed, &to(&folder, "letters")).expect("asks"));
    assert_eq!(fs::read(&theirs).expect("reads"), THEIRS);
    let given = folder.path().join("letters-2.tar");
    assert_eq!(contents(&given)["data/a.txt"], b"one");
    assert!(item.note.is_some_and(|note| note.contains(given.to_str().expect("UTF-8"))), "the note says where");
    assert_eq!(names(folder.path()).len(), 2);
}

/// A link leads to a folder of a store by the time of the work, and led elsewhere when the restoration was asked for.
#[test]
fn nothing_is_restored_into_a_store_to_which_the_folder_leads_by_now() {
    let home = fixture::home();
    home.ingest("letters", &[("a.txt", b"one")]);
    let folder = TempDir::new().expect("a folder");
    let link = folder.path().join("link");
    std::os::unix::fs::symlink(folder.path(), &link).expect("links");
    let target = RestorationTarget::Folder(link.clone());
    let request = RestoreRequest { target, ..RestoreRequest::of_system(format!("{INSTITUTION}/letters")) };
    let id = request_object(&home, &request).expect("asks");
    let store = home.path().join("stores").join(KEPT_IN[0]).join(INSTITUTION);
    let before = home.keys(KEPT_IN[0]);
    fs::remove_file(&link).expect("removes");
    std::os::unix::fs::symlink(store, &link).expect("links");
    let item = worked(&home, id);
    assert_eq!(item.status, ItemStatus::Failed, "{:?}", item.note);
    assert!(item.note.is_some_and(|note| note.contains("is in the folder of store primary")));
    assert_eq!(home.keys(KEPT_IN[0]), before);
}

#[test]
fn a_result_that_an_earlier_attempt_has_named_already_is_enough() {
    let home = fixture::home();
    let object = home.ingest("letters", &[("a.txt", b"one")]);
    let folder = TempDir::new().expect("a folder");
    let wanted = file(&home, &object, "data/a.txt").id.to_string();
    let target = RestorationTarget::Folder(folder.path().to_owned());
    let id = request_file(&home, &RestoreFileRequest { target, ..RestoreFileRequest::of_system(wanted) });
    // As an attempt that was killed after it had named the file.
    fs::write(folder.path().join("a.txt"), "one").expect("writes");
    work(&home, id.expect("asks"));
    assert_eq!(names(folder.path()), ["a.txt"]);
}

/// Somebody puts something under the name while the result is being put.
fn appears_in(home: &TestHome, store: &Arc<dyn Store>) {
    let theirs = store.clone();
    let layer = meanwhile(Operation::Put, move || put_theirs(theirs.as_ref(), RESULT));
    let changed = with_store(home, "restoration", Arc::new(Layered::new(store.clone(), layer)));
    let item = work(&changed, request_object(&changed, &into_the_store()).expect("asks"));
    assert_eq!(read(store.as_ref(), RESULT), THEIRS);
    let rows = results(&changed, item.id);
    assert_eq!(rows.len(), 1, "{rows:?}");
    assert_eq!((rows[0].place.key.as_str(), rows[0].state), ("test.edu/letters-2.tar", RestoredState::Kept));
    assert!(item.note.is_some_and(|note| note.contains("letters-2.tar")));
    let next = work(&changed, request_object(&changed, &into_the_store()).expect("asks"));
    assert_eq!(results(&changed, next.id)[0].place.key, "test.edu/letters-3.tar");
    home.clock.advance(Duration::from_hours(24 * 31));
    assert_eq!(expire(&changed, &Shutdown::new()).expect("expires"), Expired { removed: 2, changed: 0 });
    assert_eq!(keys(store.as_ref()), [RESULT], "what somebody else put there stays");
}

#[test]
fn what_appears_in_the_restoration_store_meanwhile_stays_and_the_result_gets_the_next_name() {
    let home = fixture::home();
    home.ingest("letters", &[("a.txt", b"one")]);
    appears_in(&home, &folder_store(&home, "restoration"));
    let home = fixture::home();
    home.ingest("letters", &[("a.txt", b"one")]);
    let double = Double::start().expect("a server");
    appears_in(&home, &bucket(&double));
}

/// A worker sleeps with its put all but done; another takes the item over and ends it; the first wakes.
fn sleeps_before_the_end_of_a_put(home: &TestHome, store: &Arc<dyn Store>) -> Vec<Restored> {
    let id = request_object(home, &into_the_store()).expect("asks");
    let other = with_store(home, "restoration", store.clone());
    let clock = home.clock.clone();
    let delivered = Arc::new(Mutex::new(None));
    let (seen, lies_in) = (delivered.clone(), store.clone());
    let layer = meanwhile(Operation::Put, move || {
        clock.advance(Duration::from_hours(1));
        work(&other, id);
        let kept = results(&other, id).into_iter().find(|one| one.state == RestoredState::Kept).expect("a result");
        let key = Key::new(kept.place.key.as_str()).expect("a key");
        *seen.lock().expect("not poisoned") = Some((kept, lies_in.head(&key).expect("lies there").etag));
    });
    let sleeper = with_store(home, "restoration", Arc::new(Layered::new(store.clone(), layer)));
    work(&sleeper, id);
    let (kept, etag) = delivered.lock().expect("not poisoned").take().expect("the other delivered");
    let key = Key::new(kept.place.key.as_str()).expect("a key");
    assert_eq!(store.head(&key).expect("lies there").etag, etag, "what was delivered is as it was");
    assert_eq!(kept.etag.as_deref(), Some(etag.as_str()));
    let rows = results(home, id);
    assert!(rows.contains(&kept), "{rows:?}");
    rows
}

#[test]
fn a_put_of_a_worker_that_slept_does_not_touch_what_a_later_attempt_delivered() {
    let home = fixture::home();
    home.ingest("letters", &[("a.txt", b"one")]);
    assert_eq!(sleeps_before_the_end_of_a_put(&home, &folder_store(&home, "restoration")).len(), 1);
    assert_eq!(home.keys("restoration"), [RESULT]);
    let home = fixture::home();
    home.ingest("letters", &[("a.txt", b"one")]);
    let double = Double::start().expect("a server");
    assert_eq!(sleeps_before_the_end_of_a_put(&home, &bucket(&double)).len(), 1);
}

#[test]
fn without_conditional_puts_each_attempt_has_a_place_of_its_own_and_what_the_late_one_put_has_its_time() {
    let home = fixture::home();
    home.ingest("letters", &[("a.txt", b"one")]);
    let double = Double::start_with(Rules::PLAIN).expect("a server");
    let store = bucket(&double);
    assert!(!store.capabilities().conditional_put);
    let rows = sleeps_before_the_end_of_a_put(&home, &store);
    assert_eq!(rows.len(), 2, "{rows:?}");
    assert_eq!(keys(store.as_ref()).len(), 2);
    let changed = with_store(&home, "restoration", store.clone());
    assert_eq!(expire(&changed, &Shutdown::new()).expect("settles"), Expired::default());
    home.clock.advance(Duration::from_hours(24 * 31));
    assert_eq!(expire(&changed, &Shutdown::new()).expect("expires"), Expired { removed: 2, changed: 0 });
    assert_eq!(keys(store.as_ref()), Vec::<String>::new());
}

#[test]
fn a_removal_that_slept_does_not_touch_what_was_delivered_after_it() {
    let double = Double::start().expect("a server");
    for is_bucket in [false, true] {
        let home = fixture::home();
        home.ingest("letters", &[("a.txt", b"one")]);
        let store = if is_bucket { bucket(&double) } else { folder_store(&home, "restoration") };
        let other = with_store(&home, "restoration", store.clone());
        work(&other, request_object(&other, &into_the_store()).expect("asks"));
        home.clock.advance(Duration::from_hours(24 * 31));
        let awake = other.clone();
        let layer = meanwhile(Operation::Delete, move || {
            assert_eq!(expire(&awake, &Shutdown::new()).expect("expires").removed, 1);
            work(&awake, request_object(&awake, &into_the_store()).expect("asks"));
        });
        let sleeper = with_store(&home, "restoration", Arc::new(Layered::new(store.clone(), layer)));
        expire(&sleeper, &Shutdown::new()).expect("expires");
        assert_eq!(keys(store.as_ref()), ["test.edu/letters-2.tar"], "a name that was used is not used again");
    }
}

#[test]
fn what_somebody_put_where_a_restoration_ended_early_is_never_removed() {
    let home = fixture::home();
    let object = home.ingest("letters", &[("a.txt", b"one")]);
    for store in KEPT_IN {
        damage(&home, &file(&home, &object, "data/a.txt"), store);
    }
    let item = worked(&home, request_object(&home, &into_the_store()).expect("asks"));
    assert_eq!(item.status, ItemStatus::Failed);
    put_theirs(folder_store(&home, "restoration").as_ref(), RESULT);
    expire(&home, &Shutdown::new()).expect("settles");
    home.clock.advance(Duration::from_hours(24 * 31));
    assert_eq!(expire(&home, &Shutdown::new()).expect("expires"), Expired::default());
    assert_eq!(fs::read(home.file("restoration", RESULT)).expect("reads"), THEIRS);
}
