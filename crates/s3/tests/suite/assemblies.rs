//! Assemblies where keys are final from the first put: what discarding may remove.

use std::io::Read;

use strongroom_storage::{Assembly, PutOptions, Store};

use crate::served::{key, list, put, read, served};

fn add(assembly: &dyn Assembly, name: &str, bytes: &[u8]) {
    assembly.put(&key(name), &mut &*bytes, &PutOptions::default()).unwrap();
}

#[test]
fn an_assembly_is_known_from_its_first_put_to_its_end() {
    let (double, store) = served();
    let assembly = store.assembly("one", &key("o/v1")).unwrap();
    assert!(store.assemblies().unwrap().is_empty());
    add(&*assembly, "a", b"x");
    assert_eq!(store.assemblies().unwrap(), ["one"]);
    assert_eq!(list(&store, ""), ["o/v1/a"], "keys are final from the first put");
    let before = double.counts().all();
    add(&*assembly, "b", b"y");
    assert_eq!(double.counts().all() - before, 1, "only the first put costs more than itself");
    assembly.commit().unwrap();
    assert!(store.assemblies().unwrap().is_empty());
}

#[test]
fn discarding_leaves_what_lay_there_before() {
    let (_double, store) = served();
    put(&store, "o/v1/a", b"before");
    let assembly = store.assembly("late", &key("o/v1")).unwrap();
    add(&*assembly, "b", b"x");
    assembly.discard().unwrap();
    assert_eq!(list(&store, ""), ["o/v1/a", "o/v1/b"]);
    assert!(store.assemblies().unwrap().is_empty());
}

#[test]
fn an_assembly_found_again_is_discarded_as_a_whole() {
    let (_double, store) = served();
    add(&*store.assembly("id", &key("o")).unwrap(), "v1/content/a", b"x");
    // As after a crash.
    let again = store.assembly("id", &key("o")).unwrap();
    add(&*again, "v1/content/b", b"y");
    store.assembly("id", &key("o")).unwrap().discard().unwrap();
    assert!(list(&store, "").is_empty());
}

#[test]
fn a_worker_thought_dead_does_not_discard_what_another_committed() {
    let (_double, store) = served();
    let asleep = store.assembly("id", &key("o")).unwrap();
    let other = store.assembly("id", &key("o")).unwrap();
    add(&*other, "v1/a", b"x");
    other.commit().unwrap();
    // Woken up, it puts what it meant to put; a sweeper then drops its assembly.
    add(&*asleep, "v1/b", b"y");
    for id in store.assemblies().unwrap() {
        store.assembly(&id, &key("o")).unwrap().discard().unwrap();
    }
    assert_eq!(read(&store, "o/v1/a"), b"x");
}

#[test]
fn a_worker_asleep_between_its_records_does_not_take_a_filled_target_for_an_empty_one() {
    let (double, store) = served();
    let record = ".strongroom/assembly/id";
    // The first record of a worker that fell asleep before it looked at the target.
    double.lay(record, br#"{"target": "o", "found_something": true}"#);
    let other = store.assembly("id", &key("o")).unwrap();
    add(&*other, "v1/a", b"x");
    other.commit().unwrap();
    double.lay(record, br#"{"target": "o", "found_something": true}"#);
    store.assembly("id", &key("o")).unwrap().discard().unwrap();
    assert_eq!(list(&store, ""), ["o/v1/a"]);
}

#[test]
fn an_id_is_not_used_for_two_targets_at_once() {
    let (_double, store) = served();
    add(&*store.assembly("id", &key("o")).unwrap(), "a", b"x");
    let other = store.assembly("id", &key("p")).unwrap();
    assert!(other.put(&key("a"), &mut &b"x"[..], &PutOptions::default()).is_err());
    assert!(other.discard().is_err());
    assert_eq!(list(&store, ""), ["o/a"]);
    let mut bytes = Vec::new();
    store.assembly("id", &key("o")).unwrap().open(&key("a")).unwrap().read_to_end(&mut bytes).unwrap();
    assert_eq!(bytes, b"x");
}
