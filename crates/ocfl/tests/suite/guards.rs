//! What guards a version on its way: what was put is proved and synced, and a root inventory is replaced only by whom it
//! was meant for.

use std::path::Path;
use std::sync::Arc;

use strongroom_digest::Algorithm;
use strongroom_ocfl::{Commit, Object, OcflError, VersionAssembly, VersionNumber};
use strongroom_storage::{Durability, FolderStore, Key, PutCondition, StorageError, Store};
use strongroom_storage_test::{Loss, Unsynced};

use crate::memory::{MemoryStore, Put};
use crate::sample::{Sample, sha512};

fn root() -> Key {
    Key::new("object").unwrap()
}

fn two_versions() -> Sample {
    Sample::new(&[&[("deposit/a.txt", "alpha")], &[("deposit/a.txt", "alpha"), ("deposit/b.txt", "beta")]])
}

fn open(store: &dyn Store, number: u32) -> VersionAssembly<'_> {
    VersionAssembly::open(store, &Sample::assembly(number as usize), &root(), VersionNumber::new(number).unwrap())
        .unwrap()
}

fn is_storage<T>(outcome: &Result<T, OcflError>) -> bool {
    matches!(outcome, Err(OcflError::Storage(error)) if !error.is_not_found())
}

#[test]
fn what_a_version_synced_survives_a_power_cut() {
    for loss in [Loss::Undone, Loss::Torn] {
        let folder = tempfile::tempdir().unwrap();
        let store = Unsynced::new(Arc::new(FolderStore::create("primary", folder.path()).unwrap()));
        let sample = two_versions();
        let (digest, size) = (sha512(b"alpha"), 5);
        let assembly = open(&store, 1);
        assembly.put_content(&digest, size, None, &mut &b"alpha"[..]).unwrap();
        store.cut(loss).unwrap();
        let again = open(&store, 1);
        assert!(!again.verify_content(&digest, size).unwrap(), "not synced yet");

        again.put_content(&digest, size, None, &mut &b"alpha"[..]).unwrap();
        again.sync().unwrap();
        assert_eq!(store.cut(loss).unwrap(), 0);
        let last = open(&store, 1);
        assert!(last.verify_content(&digest, size).unwrap());
        let seal = sample.commit(&last, 1).unwrap();
        assert_eq!(store.cut(loss).unwrap(), 0, "inventories and the root pair are durable when the commit returns");
        assert!(Object::new(&store, root()).is_at(&seal).unwrap());
        assert_eq!(last.contents().unwrap().count(), 1);
    }
}

#[test]
fn a_content_is_proved_by_digest_and_by_size() {
    for store in [MemoryStore::folder(), MemoryStore::bucket()] {
        let assembly = open(&store, 1);
        let alpha = sha512(b"alpha");
        assert!(assembly.head_content(&alpha).unwrap().is_none());
        assembly.put_content(&alpha, 5, None, &mut &b"alpha"[..]).unwrap();
        assert_eq!(assembly.head_content(&alpha).unwrap().unwrap().size, 5);
        assert!(assembly.verify_content(&alpha, 5).unwrap());
        assert!(!assembly.verify_content(&alpha, 6).unwrap(), "the size is not the declared one");
        let key = assembly.content_key(&alpha).unwrap();
        let inside = key.below(&root()).unwrap().to_owned();
        if store.capabilities().atomic_assembly {
            store.set_assembled("sample-v1", &inside, b"alphb");
        } else {
            store.set(key.as_str(), b"alphb");
        }
        assert!(!assembly.verify_content(&alpha, 5).unwrap(), "the digest is not the declared one");
    }
}

#[test]
fn the_contents_of_a_version_are_listed_with_their_sizes() {
    for store in [MemoryStore::folder(), MemoryStore::bucket()] {
        let assembly = open(&store, 1);
        let listed = |assembly: &VersionAssembly<'_>| -> Vec<(String, u64)> {
            assembly.contents().unwrap().map(Result::unwrap).collect()
        };
        assert_eq!(listed(&assembly), []);
        assembly.put_content(&sha512(b"alpha"), 5, None, &mut &b"alpha"[..]).unwrap();
        let expected = [(assembly.content_path(&sha512(b"alpha")), 5)];
        assert_eq!(listed(&assembly), expected);
        two_versions().commit(&assembly, 1).unwrap();
        assert_eq!(listed(&assembly), expected, "also when it is committed");
    }
}

#[test]
fn what_is_missing_of_a_committed_version_is_put_in_its_place() {
    for store in [MemoryStore::folder(), MemoryStore::bucket()] {
        let assembly = open(&store, 1);
        let alpha = sha512(b"alpha");
        assembly.put_content(&alpha, 5, None, &mut &b"alpha"[..]).unwrap();
        two_versions().commit(&assembly, 1).unwrap();
        let key = assembly.content_key(&alpha).unwrap();
        store.remove(key.as_str());
        assembly.put_missing_content(&alpha, 5, None, &mut &b"alpha"[..]).unwrap();
        assert_eq!(store.get(key.as_str()).unwrap(), b"alpha");
        assert_eq!(store.assembled("sample-v1"), Vec::<String>::new());
    }
}

#[test]
fn a_damaged_inventory_in_an_assembly_is_put_again_by_the_commit() {
    let store = MemoryStore::folder();
    let seal = two_versions().inventory(1).1;
    let assembly = open(&store, 1);
    assembly.put_content(&sha512(b"alpha"), 5, None, &mut &b"alpha"[..]).unwrap();
    let sidecar = format!("{} inventory.json\n", seal.digest);
    store.set_assembled("sample-v1", "v1/inventory.json", b"{}");
    store.set_assembled("sample-v1", "v1/inventory.json.sha512", format!("{sidecar}more").as_bytes());
    store.set_assembled("sample-v1", "0=ocfl_object_1.1", b"ocfl_object_1.0\n");
    two_versions().commit(&assembly, 1).unwrap();
    assert_eq!(store.get("object/v1/inventory.json.sha512").unwrap(), sidecar.as_bytes());
    assert_eq!(store.get("object/0=ocfl_object_1.1").unwrap(), b"ocfl_object_1.1\n");
}

/// What has to be put is put before the assembly becomes visible: then the version is whole from its first moment.
#[test]
fn an_assembly_is_whole_before_it_becomes_visible() {
    let store = MemoryStore::folder();
    let assembly = open(&store, 1);
    assembly.put_content(&sha512(b"alpha"), 5, None, &mut &b"alpha"[..]).unwrap();
    let sidecar = format!("{} inventory.json\n", two_versions().inventory(1).1.digest);
    store.set_assembled("sample-v1", "v1/inventory.json.sha512", format!("{sidecar}more").as_bytes());
    store.set_assembled("sample-v1", "0=ocfl_object_1.1", b"ocfl_object_1.0\n");
    store.fail_after(Some(5));
    let (puts, outcome) = store.puts(|| two_versions().commit(&assembly, 1));
    assert!(outcome.is_err(), "cut right before it becomes visible");
    let names = |puts: &[Put]| puts.iter().map(|put| put.key.clone()).collect::<Vec<_>>();
    let whole = [
        "v1/inventory.json",
        "v1/inventory.json.sha512",
        "0=ocfl_object_1.1",
        "inventory.json",
        "inventory.json.sha512",
    ];
    assert_eq!(names(&puts), whole);
    assert!(puts.iter().all(|put| put.is_assembled && put.options.size.is_some()), "{puts:?}");
    assert!(puts.iter().all(|put| put.options.durability == Durability::OnSync), "one sync is for all: {puts:?}");
    let with_digest = puts.iter().filter(|put| put.options.digest.is_some());
    assert_eq!(with_digest.map(|put| put.key.as_str()).collect::<Vec<_>>(), ["v1/inventory.json", "inventory.json"]);

    store.fail_after(None);
    let (puts, outcome) = store.puts(|| two_versions().commit(&assembly, 1));
    outcome.unwrap();
    assert_eq!(names(&puts), [""; 0], "nothing is put twice, nor behind the visible assembly");
}

#[test]
fn a_content_is_put_with_its_digest_size_and_class() {
    for store in [MemoryStore::folder(), MemoryStore::bucket()] {
        let assembly = open(&store, 1);
        let alpha = sha512(b"alpha");
        let put = |bytes: &[u8], size| {
            let class = Some("GLACIER_IR".to_owned());
            let (puts, outcome) = store.puts(|| assembly.put_missing_content(&alpha, size, class, &mut &*bytes));
            assert_eq!(puts.len(), 1);
            assert_eq!(puts[0].options.class.as_deref(), Some("GLACIER_IR"));
            (puts[0].clone(), outcome)
        };
        for is_committed in [false, true] {
            assert!(put(b"alphb", 5).1.is_err(), "not the digest");
            assert!(put(b"alpha", 6).1.is_err(), "not the size");
            let (put, outcome) = put(b"alpha", 5);
            outcome.unwrap();
            let is_final = is_committed && store.capabilities().atomic_assembly;
            let durability = if is_final { Durability::OnReturn } else { Durability::OnSync };
            assert_eq!(put.options.durability, durability, "what is put behind the commit's sync is durable at once");
            two_versions().commit(&assembly, 1).unwrap();
        }
    }
}

#[test]
fn a_version_begun_before_content_paths_had_the_id_is_completed_there() {
    for store in [MemoryStore::folder(), MemoryStore::bucket()] {
        let assembly = VersionAssembly::open_without_id(&store, "item", &root(), VersionNumber::FIRST).unwrap();
        let alpha = sha512(b"alpha");
        let (puts, outcome) = store.puts(|| assembly.put_content(&alpha, 5, None, &mut &b"alpha"[..]));
        outcome.unwrap();
        let is_atomic = store.capabilities().atomic_assembly;
        let path = format!("v1/content/{}/{alpha}", &alpha.to_hex()[..2]);
        assert_eq!(assembly.content_path(&alpha), path);
        assert_eq!(puts[0].is_assembled, is_atomic, "out of sight where the store can");
        assert_eq!(store.get(&format!("object/{path}")).is_some(), !is_atomic);
        assert!(assembly.verify_content(&alpha, 5).unwrap());
        let listed: Vec<_> = assembly.contents().unwrap().map(Result::unwrap).collect();
        assert_eq!(listed, [(path, 5)]);
    }
}

#[test]
fn a_commit_that_may_not_go_on_changes_nothing_that_others_see() {
    for store in [MemoryStore::folder(), MemoryStore::bucket()] {
        let sample = two_versions();
        sample.write_version(&store, &root(), 1).unwrap();
        let assembly = open(&store, 2);
        assembly.put_content(&sha512(b"beta"), 4, None, &mut &b"beta"[..]).unwrap();
        let before = store.files();
        let (inventory, seal) = sample.inventory(2);
        let stopped = assembly.commit(&mut Commit {
            seal: &seal,
            replaces: Some(&sample.inventory(1).1.digest),
            inventory: &mut || Ok(Box::new(std::io::Cursor::new(inventory.clone()))),
            may_go_on: &mut || Err(OcflError::Stopped { reason: "the lease is gone".into() }),
        });
        assert!(matches!(stopped, Err(OcflError::Stopped { .. })), "{stopped:?}");
        assert!(store.files() == before);
    }
}

/// A process sleeps between its reading and its puts while another completes the version and a later one.
#[test]
fn a_commit_that_slept_replaces_nothing_of_a_later_version() {
    for store in [MemoryStore::folder(), MemoryStore::bucket()] {
        let sample = Sample::new(&[&[("a", "alpha")], &[("a", "beta")], &[("a", "gamma")]]);
        sample.write_version(&store, &root(), 1).unwrap();
        let assembly = open(&store, 2);
        assembly.put_content(&sha512(b"beta"), 4, None, &mut &b"beta"[..]).unwrap();
        let (inventory, seal) = sample.inventory(2);
        for sleeps_at in 0..6 {
            let store = store.fork();
            let assembly = open(&store, 2);
            let mut asked = 0;
            let _ = assembly.commit(&mut Commit {
                seal: &seal,
                replaces: Some(&sample.inventory(1).1.digest),
                inventory: &mut || Ok(Box::new(std::io::Cursor::new(inventory.clone()))),
                may_go_on: &mut || {
                    if asked == sleeps_at {
                        sample.write_version(&store, &root(), 2)?;
                        sample.write_version(&store, &root(), 3)?;
                    }
                    asked += 1;
                    Ok(())
                },
            });
            if asked <= sleeps_at {
                break;
            }
            assert!(Object::new(&store, root()).is_at(&sample.inventory(3).1).unwrap(), "asleep at {sleeps_at}");
            let sidecar = format!("{} inventory.json\n", sample.inventory(3).1.digest);
            assert_eq!(store.get("object/inventory.json.sha512").unwrap(), sidecar.as_bytes(), "asleep at {sleeps_at}");
        }
    }
}

#[test]
fn what_a_commit_puts_in_its_final_place_is_declared_and_conditional() {
    for store in [MemoryStore::folder(), MemoryStore::bucket()] {
        let sample = two_versions();
        sample.write_version(&store, &root(), 1).unwrap();
        let assembly = open(&store, 2);
        assembly.put_content(&sha512(b"beta"), 4, None, &mut &b"beta"[..]).unwrap();
        let (puts, outcome) = store.puts(|| sample.commit(&assembly, 2));
        outcome.unwrap();
        let last: Vec<&Put> = puts.iter().filter(|put| !put.is_assembled).collect();
        assert!(last.len() >= 2, "the root pair");
        for put in last {
            assert!(put.options.size.is_some(), "{put:?}");
            assert_eq!(
                put.options.digest.is_some(),
                Path::new(&put.key).extension().is_some_and(|kind| kind == "json"),
                "{put:?}"
            );
            assert_ne!(put.options.condition, PutCondition::Always, "{put:?}");
            assert_eq!(put.options.durability, Durability::OnReturn, "{put:?}");
        }
    }
}

#[test]
fn a_sidecar_that_somebody_put_meanwhile_stays_and_must_be_the_right_one() {
    for (right, wrong) in [(true, false), (false, true)] {
        let store = MemoryStore::bucket();
        let sample = two_versions();
        let assembly = open(&store, 1);
        assembly.put_content(&sha512(b"alpha"), 5, None, &mut &b"alpha"[..]).unwrap();
        let sidecar = format!("{} inventory.json\n", sample.inventory(1).1.digest);
        let text = if right { sidecar.as_bytes() } else { b"somebody else's" };
        store.interfere("object/inventory.json.sha512", text);
        let outcome = sample.commit(&assembly, 1);
        let is_refused = matches!(outcome, Err(OcflError::Storage(StorageError::Condition { .. })));
        assert_eq!((outcome.is_ok(), is_refused), (right, wrong), "{outcome:?}");
        assert_eq!(store.get("object/inventory.json.sha512").unwrap(), text);
    }
}

#[test]
fn what_cannot_be_read_is_not_put_anew() {
    for name in ["object/0=ocfl_object_1.1", "object/v1/inventory.json.sha512", "object/inventory.json.sha512"] {
        let store = MemoryStore::bucket();
        let sample = two_versions();
        sample.write_version(&store, &root(), 1).unwrap();
        store.unreadable(name);
        let (puts, outcome) = store.puts(|| sample.commit(&open(&store, 1), 1));
        assert!(is_storage(&outcome), "{name}: {outcome:?}");
        assert!(puts.iter().all(|put| put.key != name), "{puts:?}");
    }
}

#[test]
fn what_cannot_be_read_is_not_taken_for_absent() {
    let store = MemoryStore::folder();
    let sample = two_versions();
    let assembly = open(&store, 1);
    let alpha = sha512(b"alpha");
    let inside = assembly.content_key(&alpha).unwrap().below(&root()).unwrap().to_owned();
    store.unreadable(&inside);
    assert!(is_storage(&assembly.head_content(&alpha)));
    assert!(is_storage(&assembly.verify_content(&alpha, 5)));
    for name in ["v1/inventory.json", "v1/inventory.json.sha512", "0=ocfl_object_1.1"] {
        store.unreadable(name);
        assert!(is_storage(&sample.commit(&assembly, 1)), "{name}");
    }
    store.unreadable("object/inventory.json");
    assert!(is_storage(&Object::new(&store, root()).root_inventory()));
    assert!(is_storage(&sample.commit(&assembly, 1)));
}

#[test]
fn a_root_inventory_that_somebody_put_meanwhile_is_not_replaced() {
    for store in [MemoryStore::folder(), MemoryStore::bucket()] {
        let sample = two_versions();
        for number in 1..=2 {
            let assembly = open(&store, number);
            let text: &[u8] = if number == 1 { b"alpha" } else { b"beta" };
            assembly.put_content(&sha512(text), text.len() as u64, None, &mut &*text).unwrap();
            if number == 1 && store.capabilities().atomic_assembly {
                // The root pair of a first version is renamed in with the rest.
                sample.commit(&assembly, 1).unwrap();
                continue;
            }
            store.interfere("object/inventory.json", b"somebody else's");
            let refused = sample.commit(&assembly, number as usize);
            assert!(
                matches!(refused, Err(OcflError::Storage(StorageError::Condition { .. }) | OcflError::Head { .. })),
                "{refused:?}"
            );
            assert_eq!(store.get("object/inventory.json").unwrap(), b"somebody else's");
            if number == 1 {
                store.remove("object/inventory.json");
                sample.commit(&assembly, 1).unwrap();
            }
        }
    }
}

#[test]
fn a_store_that_honours_no_conditions_is_asked_for_none() {
    let store = MemoryStore::unconditional();
    two_versions().write(&store, &root());
    assert!(Object::new(&store, root()).is_at(&two_versions().inventory(2).1).unwrap());
}

#[test]
fn a_root_inventory_that_is_not_read_back_as_written_is_an_error() {
    for store in [MemoryStore::folder(), MemoryStore::bucket()] {
        let sample = two_versions();
        sample.write_version(&store, &root(), 1).unwrap();
        let assembly = open(&store, 2);
        assembly.put_content(&sha512(b"beta"), 4, None, &mut &b"beta"[..]).unwrap();
        store.alter_after_put("object/inventory.json");
        let refused = sample.commit(&assembly, 2);
        assert!(matches!(refused, Err(OcflError::ReadBack { .. })), "{refused:?}");
    }
}

#[test]
fn only_a_strong_checksum_of_the_same_algorithm_spares_the_reading() {
    for (algorithm, is_read) in [(Algorithm::Sha512, false), (Algorithm::Sha256, true)] {
        let store = MemoryStore::folder().vouching(algorithm);
        let sample = two_versions();
        sample.write(&store, &root());
        let object = Object::new(&store, root());
        assert!(object.is_at(&sample.inventory(2).1).unwrap(), "{algorithm}");
        assert_eq!(store.reads("object/inventory.json", || drop(object.root_inventory().unwrap())) > 0, is_read);
    }
}

#[test]
fn what_an_inventory_names_is_never_abandoned() {
    for store in [MemoryStore::folder(), MemoryStore::bucket()] {
        two_versions().write(&store, &root());
        let kept = store.keys();
        for number in 1..=2 {
            let refused = open(&store, number).abandon();
            assert!(
                matches!(&refused, Err(OcflError::Published { key, .. }) if key.as_str() == "object/inventory.json")
            );
        }
        // Where that of the root was lost, the version's own says it.
        store.remove("object/inventory.json");
        let refused = open(&store, 2).abandon();
        assert!(
            matches!(&refused, Err(OcflError::Published { key, .. }) if key.as_str() == "object/v2/inventory.json")
        );
        store.unreadable("object/v2/inventory.json");
        assert!(is_storage(&open(&store, 2).abandon()), "nothing is removed while it is not known");
        let left = store.keys();
        assert_eq!(left.len() + 1, kept.len(), "nothing else is gone");
        // One of the same number that was given up goes by its own id.
        let other = VersionAssembly::open(&store, "given-up", &root(), VersionNumber::new(3).unwrap()).unwrap();
        other.put_content(&sha512(b"gamma"), 5, None, &mut &b"gamma"[..]).unwrap();
        other.abandon().unwrap();
        assert_eq!(store.keys(), left);
        assert_eq!(store.assembled("given-up"), Vec::<String>::new());
    }
}
