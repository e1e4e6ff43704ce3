//! A worker that sleeps inside a repair beyond its lease, and wakes when others have repaired the object and gone on.

use std::sync::Arc;
use std::sync::mpsc::channel;

use strongroom_storage::{Call, FolderStore, Key, Layered, Operation, Store};

use super::*;
use crate::meanwhile::{Meanwhile, When};

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
