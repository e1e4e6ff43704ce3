//! A worker that sleeps inside a repair beyond its lease, and wakes when others have repaired the object and gone on.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};

use strongroom_storage::{Body, Capabilities, FolderStore, Key, StorageError, Store};
use strongroom_storage_test::{Call, Layer, Layered, Operation};

use super::*;
use crate::ingest::committing::layered;
use crate::meanwhile::{Meanwhile, When};
use crate::saying::{Says, saying};

/// Runs a check that pauses before its put of `key` in `primary`, and `meanwhile` when it has got there and its lease has run
/// out.
fn sleeping_at(made: &TestHome, key: &str, meanwhile: impl FnOnce()) -> FixitySummary {
    let (reached, has_reached) = channel();
    let (wake, go_on) = channel();
    let folder = FolderStore::open("primary", made.path().join("stores/primary")).expect("opens");
    let chosen = key.to_owned();
    let is_chosen = move |call: Call<'_>| call.operation == Operation::Put && call.key.as_str() == chosen;
    let pausing = Meanwhile::new(When::Before, is_chosen, move |_| {
        reached.send(()).expect("somebody waits");
        go_on.recv().expect("is told to go on");
    });
    let pausing = Layered::new(Arc::new(folder), pausing);
    let mut sleeper = Home::with_registry(made.path(), made.settings.clone(), made.registry.clone()).expect("opens");
    sleeper.stores.insert("primary".into(), Arc::new(pausing));
    std::thread::scope(|scope| {
        let asleep = scope.spawn(|| run(&sleeper, &all()));
        has_reached.recv().expect("it gets there");
        made.clock.advance(Duration::from_hours(1));
        meanwhile();
        wake.send(()).expect("it still sleeps");
        asleep.join().expect("it ends")
    })
}

fn etag(made: &TestHome, key: &str) -> String {
    let store = FolderStore::open("primary", made.path().join("stores/primary")).expect("opens");
    store.head(&Key::new(key).expect("a key")).expect("is there").etag
}

#[test]
fn a_worker_that_slept_inside_the_repair_of_a_copy_replaces_nothing() {
    for is_missing in [false, true] {
        let made = home();
        let object = letters(&made);
        let key = copy(&made, &object, "deposit/data/a.txt", "primary").key;
        if is_missing {
            fs::remove_file(made.file("primary", &key)).expect("removes");
        } else {
            damage(&made, "primary", &key);
        }
        let mut repaired = String::new();
        let summary = sleeping_at(&made, &key, || {
            let summary = run(&made, &all());
            assert_eq!((summary.damaged, summary.repaired), (1, 1), "{summary:?}");
            repaired = etag(&made, &key);
        });
        assert_eq!((summary.failed, summary.repaired), (1, 0), "{summary:?}");
        assert_eq!(etag(&made, &key), repaired, "what the other has put stays");
        assert_eq!(findings(&made).len(), 1);
        assert_eq!(findings(&made)[0].state, FindingState::Repaired);
        assert_eq!(run(&made, &all()).damaged, 0);
    }
}

#[test]
fn a_worker_that_slept_inside_the_repair_of_a_sidecar_does_not_touch_the_next_version() {
    let made = home();
    let object = letters(&made);
    let key = format!("{}/inventory.json.sha512", object_root(&made, &object, "primary"));
    damage(&made, "primary", &key);
    let summary = sleeping_at(&made, &key, || {
        assert_eq!(run(&made, &all()).repaired, 1);
        assert_eq!(made.ingest("letters", &[("a.txt", b"dear reader"), ("c.txt", b"more")]).head, 2);
    });
    assert_eq!((summary.failed, summary.repaired), (1, 0), "{summary:?}");
    let summary = run(&made, &all());
    assert_eq!((summary.damaged, summary.failed), (0, 0), "version 2 is as it was published: {summary:?}");
}

#[test]
fn a_worker_that_slept_inside_the_repair_of_an_inventory_does_not_touch_the_next_version() {
    let made = home();
    let object = letters(&made);
    let key = format!("{}/inventory.json", object_root(&made, &object, "primary"));
    damage(&made, "primary", &key);
    let summary = sleeping_at(&made, &key, || {
        assert_eq!(run(&made, &all()).repaired, 1);
        assert_eq!(made.ingest("letters", &[("a.txt", b"dear reader"), ("c.txt", b"more")]).head, 2);
    });
    assert_eq!((summary.failed, summary.repaired), (1, 0), "{summary:?}");
    let summary = run(&made, &all());
    assert_eq!((summary.damaged, summary.failed), (0, 0), "version 2 is as it was published: {summary:?}");
}

/// A store that honours no conditions, whose first opening of a key stops until it is told to go on.
struct PausingSource {
    key: String,
    ways: Mutex<Option<(Sender<()>, Receiver<()>)>>,
}

impl Says for PausingSource {
    fn capabilities(&self, of: Capabilities) -> Capabilities {
        Capabilities { conditional_put: false, ..of }
    }

    fn open(&self, key: &Key, body: Result<Body, StorageError>) -> Result<Body, StorageError> {
        let is_it = key.as_str() == self.key;
        if let Some((reached, go_on)) = self.ways.lock().expect("locks").take_if(|_| is_it) {
            reached.send(()).expect("somebody waits");
            go_on.recv().expect("is told to go on");
        }
        body
    }
}

#[test]
fn a_worker_that_lost_the_object_while_it_opened_a_source_replaces_nothing_where_no_conditions_are_honoured() {
    let made = home();
    let object = letters(&made);
    let key = copy(&made, &object, "deposit/data/a.txt", "primary").key;
    damage(&made, "primary", &key);
    let source = copy(&made, &object, "deposit/data/a.txt", "secondary").key;
    let (reached, has_reached) = channel();
    let (wake, go_on) = channel();
    let never = || Arc::new(PausingSource { key: String::new(), ways: Mutex::new(None) });
    let pausing = Arc::new(PausingSource { key: source, ways: Mutex::new(Some((reached, go_on))) });
    let sleeper = saying(&made, [("primary", never()), ("secondary", pausing)]);
    let only = FixityRequest { store: Some("primary".into()), ..all() };
    let (summary, repaired) = std::thread::scope(|scope| {
        let asleep = scope.spawn(|| run(&sleeper, &only));
        has_reached.recv().expect("it gets there");
        made.clock.advance(Duration::from_hours(1));
        let summary = run(&made, &only);
        assert_eq!((summary.damaged, summary.repaired), (1, 1), "{summary:?}");
        let repaired = etag(&made, &key);
        wake.send(()).expect("it still sleeps");
        (asleep.join().expect("it ends"), repaired)
    });
    assert_eq!((summary.failed, summary.repaired), (1, 0), "{summary:?}");
    assert_eq!(etag(&made, &key), repaired, "what the other has put stays");
    assert_eq!(outcomes(&made, &object, "recovery", "success"), 1);
    assert_eq!(findings(&made).len(), 1);
}

/// Stops the first put of a key that ends like this in quarantine.
struct PausingEvidence {
    ending: &'static str,
    ways: Mutex<Option<(Sender<()>, Receiver<()>)>>,
}

impl Layer for PausingEvidence {
    fn call<T>(&self, call: Call<'_>, act: &mut dyn FnMut() -> Result<T, StorageError>) -> Result<T, StorageError> {
        let is_it = call.operation == Operation::Put && call.key.as_str().ends_with(self.ending);
        if let Some((reached, go_on)) = self.ways.lock().expect("locks").take_if(|_| is_it) {
            reached.send(()).expect("somebody waits");
            go_on.recv().expect("is told to go on");
        }
        act()
    }
}

#[test]
fn a_worker_that_slept_before_it_kept_evidence_replaces_none() {
    for ending in ["", ".json"] {
        let made = home();
        let object = letters(&made);
        let key = copy(&made, &object, "deposit/data/a.txt", "primary").key;
        damage(&made, "primary", &key);
        let (reached, has_reached) = channel();
        let (wake, go_on) = channel();
        let mut sleeper =
            Home::with_registry(made.path(), made.settings.clone(), made.registry.clone()).expect("opens");
        let layer = PausingEvidence { ending, ways: Mutex::new(Some((reached, go_on))) };
        sleeper.roles.quarantine = Arc::new(Layered::new(made.roles.quarantine.clone(), layer));
        let etags = || {
            let listed = made.roles.quarantine.list(&Key::ROOT).expect("lists");
            listed.map(|listed| listed.expect("a key")).map(|listed| (listed.key, listed.etag)).collect::<Vec<_>>()
        };
        let (summary, kept) = std::thread::scope(|scope| {
            let asleep = scope.spawn(|| run(&sleeper, &all()));
            has_reached.recv().expect("it gets there");
            made.clock.advance(Duration::from_hours(1));
            let summary = run(&made, &all());
            assert_eq!((summary.damaged, summary.repaired), (1, 1), "{summary:?}");
            let kept = etags();
            wake.send(()).expect("it still sleeps");
            (asleep.join().expect("it ends"), kept)
        });
        assert_eq!((summary.failed, summary.repaired), (1, 0), "{ending:?}: {summary:?}");
        assert_eq!(kept.len(), 2, "the bytes and their note: {kept:?}");
        assert_eq!(etags(), kept, "what the other has kept stays: {ending:?}");
        assert_eq!(outcomes(&made, &object, "quarantine", "success"), 1);
    }
}

/// Gives the object's lease to another holder, which does nothing with it.
pub(crate) fn lose(made: &TestHome, object: &Object) -> impl FnOnce(&Key) + Send + 'static {
    let (registry, clock, object) = (made.registry.clone(), made.clock.clone(), object.id);
    move |_| {
        clock.advance(Duration::from_hours(1));
        let held = registry.write(move |tx| {
            let until = tx.now()?.plus(3_600_000_000);
            leases::hold(tx, object, Uuid::now_v7(), until)
        });
        assert!(matches!(held.expect("asks"), Hold::Held { .. }));
    }
}

#[test]
fn a_worker_that_lost_the_object_puts_back_none_of_its_files() {
    for file in ["v1/inventory.json", "v1/inventory.json.sha512"] {
        let made = home();
        let object = letters(&made);
        let key = format!("{}/{file}", object_root(&made, &object, "primary"));
        let bad = damage(&made, "primary", &key);
        // Behind the log of the damage, while the inventory is read.
        let is_logged = AtomicBool::new(false);
        let is_chosen = move |call: Call<'_>| {
            let is_log = call.operation == Operation::Put && call.key.as_str().contains("/logs/");
            let is_inventory = call.operation == Operation::Open && call.key.as_str().ends_with("/inventory.json");
            is_logged.fetch_or(is_log, Ordering::SeqCst) && is_inventory
        };
        let losing = layered(&made, "primary", Meanwhile::new(When::Before, is_chosen, lose(&made, &object)));
        let summary = run(&losing, &all());
        assert_eq!((summary.failed, summary.repaired), (1, 0), "{file}: {summary:?}");
        assert_eq!(fs::read(made.file("primary", &key)).expect("reads"), bad, "{file}");
    }
}

#[test]
fn a_worker_that_lost_the_object_tells_no_store_of_its_repair() {
    let made = home();
    let object = letters(&made);
    let key = format!("{}/v1/inventory.json.sha512", object_root(&made, &object, "primary"));
    damage(&made, "primary", &key);
    // While it reads what it has put back.
    let is_put = AtomicBool::new(false);
    let is_chosen = move |call: Call<'_>| {
        call.key.as_str() == key
            && is_put.fetch_or(call.operation == Operation::Put, Ordering::SeqCst)
            && call.operation == Operation::Open
    };
    let losing = layered(&made, "primary", Meanwhile::new(When::Before, is_chosen, lose(&made, &object)));
    let summary = run(&losing, &all());
    assert_eq!((summary.failed, summary.repaired), (1, 0), "{summary:?}");
    for store in KEPT_IN {
        let told = logs(&made, store);
        assert!(told.len() == 1 && told[0].contains("-damage-"), "{told:?}");
    }
}

/// The home with such a layer around its quarantine, that acts before the first `head` of a key that ends like this.
fn looking_into_quarantine(made: &TestHome, ending: &'static str, act: impl FnOnce(&Key) + Send + 'static) -> Home {
    let is_chosen = move |call: Call<'_>| call.operation == Operation::Head && call.key.as_str().ends_with(ending);
    let layer = Meanwhile::new(When::Before, is_chosen, act);
    let mut home = Home::with_registry(made.path(), made.settings.clone(), made.registry.clone()).expect("opens");
    home.roles.quarantine = Arc::new(Layered::new(made.roles.quarantine.clone(), layer));
    home
}

#[test]
fn a_worker_that_lost_the_object_keeps_no_evidence() {
    for (ending, kept) in [("", 0), (".json", 1)] {
        let made = home();
        let object = letters(&made);
        damage(&made, "primary", &copy(&made, &object, "deposit/data/a.txt", "primary").key);
        let losing = looking_into_quarantine(&made, ending, lose(&made, &object));
        let summary = run(&losing, &all());
        assert_eq!((summary.failed, summary.repaired), (1, 0), "{ending:?}: {summary:?}");
        assert_eq!(made.keys("quarantine").len(), kept, "{ending:?}");
    }
}

/// A medium that goes on failing: what is copied is not what was read before.
#[test]
fn bytes_that_change_while_they_are_kept_as_evidence_do_not_get_the_name_of_others() {
    let made = home();
    let object = letters(&made);
    let key = copy(&made, &object, "deposit/data/a.txt", "primary").key;
    let (file, mut worse) = (made.file("primary", &key), damage(&made, "primary", &key));
    worse[1] ^= 1;
    let changing = looking_into_quarantine(&made, "", move |_| fs::write(file, worse).expect("changes"));
    let summary = run(&changing, &all());
    assert_eq!((summary.failed, summary.repaired), (1, 0), "{summary:?}");
    assert_eq!(made.keys("quarantine"), Vec::<String>::new());
    let summary = run(&made, &all());
    assert_eq!((summary.damaged, summary.repaired), (1, 1), "{summary:?}");
}
