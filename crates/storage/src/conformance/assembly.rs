//! Cases of assemblies: out of sight until committed, found again, forward only.

use std::io::Read;
use std::thread;

use super::{Breaking, is_absent, key, list, put, read, sha512};
use crate::{Assembly, Key, PutOptions, StorageError, Store};

fn add(assembly: &dyn Assembly, name: &str, bytes: &[u8]) {
    assembly.put(&key(name), &mut &*bytes, &PutOptions::default()).expect("a put into the assembly");
}

fn inside(assembly: &dyn Assembly, name: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    assembly.open(&key(name)).expect("a body").read_to_end(&mut bytes).expect("its bytes");
    bytes
}

pub(super) fn an_assembly_becomes_visible_by_commit(store: &dyn Store) {
    let assembly = store.assembly("one", &key("x/object/v1")).unwrap();
    add(&*assembly, "one/inventory.json", b"{}");
    add(&*assembly, "content/one/cd", b"bytes");
    assert_eq!(inside(&*assembly, "content/one/cd"), b"bytes");
    assert_eq!(assembly.head(&key("one/inventory.json")).unwrap().size, 2);
    assert!(is_absent(&assembly.head(&key("content/one/ce"))));
    if store.capabilities().atomic_assembly {
        assert!(list(store, "").is_empty());
        assert_eq!(store.assemblies().unwrap(), ["one"]);
    }
    assembly.sync().unwrap();
    assembly.commit().unwrap();
    assert_eq!(list(store, ""), ["x/object/v1/content/one/cd", "x/object/v1/one/inventory.json"]);
    assert_eq!(read(store, "x/object/v1/content/one/cd"), b"bytes");
    assert_eq!(inside(&*assembly, "content/one/cd"), b"bytes");
    assert_eq!(assembly.head(&key("one/inventory.json")).unwrap().size, 2);
    assert!(store.assemblies().unwrap().is_empty());
}

pub(super) fn an_assembly_lists_what_was_put(store: &dyn Store) {
    let names = |assembly: &dyn Assembly, prefix: &Key| -> Vec<(String, u64)> {
        let lines = assembly.list(prefix).expect("a listing").map(|line| line.expect("a line"));
        lines.map(|line| (line.key.to_string(), line.size)).collect()
    };
    put(store, "o/v1/content/other/ab", b"another version");
    let assembly = store.assembly("lists", &key("o/v2")).unwrap();
    assert_eq!(names(&*assembly, &Key::ROOT), []);
    add(&*assembly, "content/lists/cd", b"bytes");
    add(&*assembly, "content/lists/ab", b"");
    let expected = [("content/lists/ab".to_owned(), 0), ("content/lists/cd".to_owned(), 5)];
    for is_committed in [false, true] {
        assert_eq!(names(&*assembly, &Key::ROOT), expected, "committed: {is_committed}");
        assert_eq!(names(&*assembly, &key("content/lists")), expected, "committed: {is_committed}");
        assert_eq!(names(&*assembly, &key("content/none")), [], "committed: {is_committed}");
        assembly.commit().unwrap();
    }
}

/// What a process that lost its lease does with its own id reaches nothing of another.
pub(super) fn an_assembly_reaches_only_its_own_keys(store: &dyn Store) {
    let asleep = store.assembly("asleep", &key("o")).unwrap();
    add(&*asleep, "v1/content/asleep/a", b"x");
    store.assembly("asleep", &key("o")).unwrap().discard().unwrap();
    let other = store.assembly("other", &key("o")).unwrap();
    add(&*other, "v1/content/other/a", b"y");
    other.commit().unwrap();
    // The process wakes up, puts what it was about to put, commits or discards.
    add(&*asleep, "v1/content/asleep/b", b"x");
    let _ = asleep.commit();
    asleep.discard().unwrap();
    assert_eq!(list(store, ""), ["o/v1/content/other/a"]);
    assert_eq!(read(store, "o/v1/content/other/a"), b"y");
}

pub(super) fn an_assembly_is_found_again(store: &dyn Store) {
    let assembly = store.assembly("again", &key("t/v1")).unwrap();
    add(&*assembly, "again/a", b"one");
    let broken = assembly.put(&key("again/b"), &mut Breaking(b"half of"), &PutOptions::default());
    assert!(broken.is_err());
    // As if the process had ended here.
    drop(assembly);
    let reopened = store.assembly("again", &key("t/v1")).unwrap();
    assert_eq!(inside(&*reopened, "again/a"), b"one");
    assert!(is_absent(&reopened.head(&key("again/b"))));
    add(&*reopened, "again/b", b"two");
    reopened.commit().unwrap();
    assert_eq!(list(store, "t"), ["t/v1/again/a", "t/v1/again/b"]);
}

pub(super) fn committing_again_succeeds(store: &dyn Store) {
    let assembly = store.assembly("twice", &key("t/v1")).unwrap();
    add(&*assembly, "twice/a", b"one");
    assembly.commit().unwrap();
    assembly.commit().unwrap();
    let reopened = store.assembly("twice", &key("t/v1")).unwrap();
    assert_eq!(inside(&*reopened, "twice/a"), b"one");
    reopened.commit().unwrap();
    assert_eq!(list(store, ""), ["t/v1/twice/a"]);
}

pub(super) fn the_same_assembly_again_is_committed(store: &dyn Store) {
    for _ in 0..2 {
        let assembly = store.assembly("same", &key("t/v1")).unwrap();
        add(&*assembly, "same/a", b"one");
        add(&*assembly, "same/b/c", b"two");
        assembly.commit().unwrap();
    }
    assert_eq!(list(store, ""), ["t/v1/same/a", "t/v1/same/b/c"]);
    assert!(store.assemblies().unwrap().is_empty());
}

pub(super) fn an_assembly_does_not_replace_others(store: &dyn Store) {
    if !store.capabilities().atomic_assembly {
        return;
    }
    for (name, there) in [("size", &b"other size"[..]), ("byte", b"onf"), ("more", b"one")] {
        let target = key(&format!("t/{name}"));
        put(store, &format!("t/{name}/a"), there);
        let assembly = store.assembly(name, &target).unwrap();
        add(&*assembly, "a", b"one");
        if name == "more" {
            add(&*assembly, "b", b"more");
        }
        let refused = assembly.commit();
        assert!(matches!(refused, Err(StorageError::Condition { .. })), "{refused:?}");
        assert_eq!(read(store, &format!("t/{name}/a")), there);
        assert_eq!(inside(&*assembly, "a"), b"one");
        assembly.discard().unwrap();
    }
    let nothing = store.assembly("nothing", &key("t/nothing")).unwrap();
    assert!(nothing.commit().is_err(), "nothing was put");
}

pub(super) fn a_discarded_assembly_is_gone(store: &dyn Store) {
    let assembly = store.assembly("dropped", &key("t/v1")).unwrap();
    add(&*assembly, "a/dropped/b", b"one");
    assembly.discard().unwrap();
    assembly.discard().unwrap();
    assert!(is_absent(&assembly.head(&key("a/dropped/b"))));
    assert!(list(store, "").is_empty());
    assert!(store.assemblies().unwrap().is_empty());
}

pub(super) fn an_assembly_refuses_wrong_bytes(store: &dyn Store) {
    let assembly = store.assembly("wrong", &key("t/v1")).unwrap();
    let options = PutOptions { digest: Some(sha512(b"right")), size: Some(5), ..PutOptions::default() };
    for wrong in [&b"wrong"[..], b"longer", b""] {
        let refused = assembly.put(&key("wrong/a"), &mut &*wrong, &options);
        assert!(matches!(refused, Err(StorageError::Mismatch { .. })), "{refused:?}");
        assert!(is_absent(&assembly.head(&key("wrong/a"))));
    }
    assembly.put(&key("wrong/a"), &mut &b"right"[..], &options).unwrap();
    assembly.commit().unwrap();
    assert_eq!(list(store, ""), ["t/v1/wrong/a"]);
}

pub(super) fn a_version_is_committed_beside_another(store: &dyn Store) {
    put(store, "o/v1/content/x", b"1");
    put(store, "o/inventory.json", b"{}");
    let assembly = store.assembly("y", &key("o/v2")).unwrap();
    add(&*assembly, "content/y", b"2");
    assembly.commit().unwrap();
    assert_eq!(list(store, "o"), ["o/inventory.json", "o/v1/content/x", "o/v2/content/y"]);
}

pub(super) fn names_of_assemblies_are_one_segment(store: &dyn Store) {
    for id in ["", ".", "..", "a/b", "../x", ".hidden", "a\0"] {
        assert!(store.assembly(id, &key("t")).is_err(), "{id:?}");
    }
}

pub(super) fn many_assemblies_at_once(store: &dyn Store) {
    thread::scope(|scope| {
        for thread in 0..6 {
            scope.spawn(move || {
                for round in 0..3 {
                    let name = format!("{thread}-{round}");
                    let assembly = store.assembly(&name, &key(&format!("shared/{name}/v1"))).unwrap();
                    for n in 0..5 {
                        add(&*assembly, &format!("content/{name}/{n}"), name.as_bytes());
                    }
                    assembly.sync().unwrap();
                    assembly.commit().unwrap();
                }
            });
        }
    });
    assert_eq!(list(store, "shared").len(), 6 * 3 * 5);
    assert!(store.assemblies().unwrap().is_empty());
}
