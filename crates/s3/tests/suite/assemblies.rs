//! Assemblies where keys are final from the first put: an id reaches its own keys only, and costs no request of its own.

use strongroom_storage::{Assembly, PutOptions, StorageError, Store};

use crate::served::{key, list, put, served};

fn add(assembly: &dyn Assembly, name: &str, bytes: &[u8]) {
    assembly.put(&key(name), &mut &*bytes, &PutOptions::default()).unwrap();
}

#[test]
fn an_assembly_costs_no_request_besides_its_puts() {
    let (double, store) = served();
    let before = double.counts().all();
    let assembly = store.assembly("one", &key("o/v1")).unwrap();
    add(&*assembly, "content/one/a", b"x");
    add(&*assembly, "content/one/b", b"y");
    assembly.commit().unwrap();
    assert_eq!(double.counts().all() - before, 2);
    assert_eq!(list(&store, ""), ["o/v1/content/one/a", "o/v1/content/one/b"]);
    assert!(store.assemblies().unwrap().is_empty());
}

#[test]
fn a_key_without_the_id_of_its_assembly_is_refused() {
    let (_double, store) = served();
    let assembly = store.assembly("id", &key("o")).unwrap();
    for name in ["inventory.json", "v1/content/idx/a", "v1/content/other/a"] {
        let refused = assembly.put(&key(name), &mut &b"x"[..], &PutOptions::default());
        assert!(matches!(refused, Err(StorageError::Unusable { .. })), "{name}: {refused:?}");
    }
    assert!(list(&store, "").is_empty());
}

#[test]
fn discarding_removes_the_keys_of_the_id_and_no_others() {
    let (_double, store) = served();
    put(&store, "o/v1/content/before/a", b"before");
    put(&store, "o/inventory.json", b"{}");
    put(&store, "p/v1/content/late/a", b"another object");
    let assembly = store.assembly("late", &key("o")).unwrap();
    add(&*assembly, "v1/content/late/a", b"x");
    add(&*assembly, "v1/content/late/b", b"x");
    // As after a crash: nothing but the id is known.
    store.assembly("late", &key("o")).unwrap().discard().unwrap();
    assert_eq!(list(&store, ""), ["o/inventory.json", "o/v1/content/before/a", "p/v1/content/late/a"]);
}
