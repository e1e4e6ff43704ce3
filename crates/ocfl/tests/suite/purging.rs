//! What is purged is gone from every version, what remains is a valid object, and a purge that was cut short is completed
//! by its recorded plan.

use strongroom_digest::Algorithm;
use strongroom_ocfl::{
    InventoryEntry, InventoryHeader, InventoryWriter, LastRecord, Limits, Object, OcflError, PurgePlan, PurgeScope,
    Tombstone, ValidateOptions, VersionNumber, owned_content_path, validate_object,
};
use strongroom_storage::Key;

use crate::memory::MemoryStore;
use crate::sample::{Sample, digest_of, sample_id, sha512};

fn sample() -> Sample {
    let mut sample = Sample::new(&[
        &[("deposit/a.txt", "alpha"), ("deposit/b.txt", "beta"), ("deposit/secret.txt", "secret")],
        &[("deposit/a.txt", "alpha"), ("deposit/b.txt", "beta"), ("deposit/secret.txt", "secret two")],
        &[("deposit/a.txt", "alpha"), ("deposit/moved.txt", "beta")],
    ]);
    sample.fixity = true;
    sample
}

fn tombstone() -> Tombstone {
    Tombstone { name: "deletion-7.json".into(), text: "{\"deletion\":7}".into() }
}

fn root() -> Key {
    Key::new("object").unwrap()
}

fn plan_paths(store: &MemoryStore, paths: &[&str]) -> PurgePlan {
    let paths = paths.iter().map(|path| (*path).to_owned());
    PurgePlan { tombstone: tombstone(), ..PurgePlan::for_paths(&Object::new(store, root()), paths).unwrap() }
}

fn plan_object(store: &MemoryStore) -> PurgePlan {
    let plan =
        PurgePlan::for_object(&Object::new(store, root()), Sample::details(4), record("metadata/v4/record.jsonl"));
    PurgePlan { tombstone: tombstone(), ..plan.unwrap() }
}

fn record(path: &str) -> LastRecord<'_> {
    LastRecord { path, content: "{\"record\":\"version\"}\n", assembly: "purge-7" }
}

/// Every logical path with its version, and every content path.
fn named(store: &MemoryStore) -> (Vec<(u32, String)>, Vec<String>) {
    let (mut logical, mut contents) = (Vec::new(), Vec::new());
    Object::new(store, root())
        .read(Limits::default(), &mut |entry| {
            match entry {
                InventoryEntry::State { version, path, .. } => logical.push((version.number(), path.to_owned())),
                InventoryEntry::Manifest { path, .. } => contents.push(path.to_owned()),
                InventoryEntry::Fixity { .. } => {}
            }
            Ok(())
        })
        .unwrap();
    logical.sort();
    contents.sort();
    (logical, contents)
}

fn warnings(store: &MemoryStore) -> Vec<(&'static str, String)> {
    let report = validate_object(store, &root(), &ValidateOptions::default()).unwrap();
    assert!(report.is_valid(), "{report:#?}");
    report.warnings.into_iter().map(|warning| (warning.code, warning.path)).collect()
}

#[test]
fn a_purged_file_is_gone_from_every_version() {
    for store in [MemoryStore::folder(), MemoryStore::bucket()] {
        sample().write(&store, &root());
        let plan = plan_paths(&store, &["deposit/secret.txt"]);
        plan.carry_out(&Object::new(&store, root()), &mut || Ok(())).unwrap();

        assert_eq!(warnings(&store), []);
        assert!(named(&store).0.iter().all(|(_, path)| path != "deposit/secret.txt"));
        for (key, bytes) in store.files() {
            let text = String::from_utf8_lossy(&bytes);
            assert!(!text.contains("secret"), "{key}");
            for secret in ["secret", "secret two"] {
                assert!(!text.contains(&sha512(secret.as_bytes()).to_hex()), "{key}");
            }
        }
        assert_eq!(store.get("object/logs/deletion-7.json").unwrap(), b"{\"deletion\":7}");
        assert!(Object::new(&store, root()).is_at(&plan.after).unwrap());
    }
}

#[test]
fn a_content_that_another_path_uses_stays() {
    let store = MemoryStore::folder();
    sample().write(&store, &root());
    plan_paths(&store, &["deposit/moved.txt"]).carry_out(&Object::new(&store, root()), &mut || Ok(())).unwrap();
    assert_eq!(warnings(&store), []);
    let beta = Sample::content_path(1, &sha512(b"beta"));
    assert_eq!(store.get(&format!("object/{beta}")).unwrap(), b"beta");
    assert!(named(&store).1.contains(&beta));
}

#[test]
fn a_content_that_only_a_later_version_uses_costs_the_earlier_inventories() {
    let store = MemoryStore::folder();
    sample().write(&store, &root());
    plan_paths(&store, &["deposit/b.txt"]).carry_out(&Object::new(&store, root()), &mut || Ok(())).unwrap();
    assert_eq!(warnings(&store), [("W010", "v1".to_owned()), ("W010", "v2".to_owned())]);
    let beta = Sample::content_path(1, &sha512(b"beta"));
    assert_eq!(store.get(&format!("object/{beta}")).unwrap(), b"beta");
}

#[test]
fn a_version_that_has_neither_inventory_nor_content_left_keeps_its_folder() {
    for store in [MemoryStore::folder(), MemoryStore::bucket()] {
        sample().write(&store, &root());
        plan_paths(&store, &["deposit/b.txt"]).carry_out(&Object::new(&store, root()), &mut || Ok(())).unwrap();
        let plan = plan_object(&store);
        assert_eq!(plan.made.len(), 2);
        plan.carry_out(&Object::new(&store, root()), &mut || Ok(())).unwrap();
        assert_eq!(warnings(&store), []);
        // Again, and where something of it is gone.
        for gone in ["object/v1/inventory.json", "object/v2/inventory.json.sha512"] {
            store.remove(gone);
            plan.carry_out(&Object::new(&store, root()), &mut || Ok(())).unwrap();
            assert_eq!(warnings(&store), [], "{gone}");
        }
        let key = store.keys().into_iter().find(|key| key.contains("/content/")).unwrap();
        store.remove(&key);
        plan.carry_out(&Object::new(&store, root()), &mut || Ok(())).unwrap();
        assert_eq!(warnings(&store), []);
    }
}

#[test]
fn several_files_are_purged_at_once() {
    let store = MemoryStore::bucket();
    sample().write(&store, &root());
    plan_paths(&store, &["deposit/b.txt", "deposit/moved.txt"])
        .carry_out(&Object::new(&store, root()), &mut || Ok(()))
        .unwrap();
    assert_eq!(warnings(&store), []);
    let beta = Sample::content_path(1, &sha512(b"beta"));
    assert_eq!(store.get(&format!("object/{beta}")), None);
}

#[test]
fn a_purged_object_keeps_only_its_tombstone() {
    for store in [MemoryStore::folder(), MemoryStore::bucket()] {
        sample().write(&store, &root());
        let plan = plan_object(&store);
        plan.carry_out(&Object::new(&store, root()), &mut || Ok(())).unwrap();

        assert_eq!(warnings(&store), []);
        let (logical, contents) = named(&store);
        assert_eq!(logical, [(4, "metadata/v4/record.jsonl".to_owned())]);
        let kept = sha512(record("").content.as_bytes());
        assert_eq!(contents, [owned_content_path(VersionNumber::new(4).unwrap(), "purge-7", &kept)]);
        assert_eq!(store.keys().iter().filter(|key| key.contains("/content/")).count(), 1);
    }
}

#[test]
fn a_purge_cut_short_at_any_write_is_completed_by_its_recorded_plan() {
    type Planner = fn(&MemoryStore) -> PurgePlan;
    let planners: [Planner; 3] = [
        |store| plan_paths(store, &["deposit/secret.txt"]),
        |store| plan_paths(store, &["deposit/b.txt", "deposit/a.txt"]),
        plan_object,
    ];
    for make in [MemoryStore::folder, MemoryStore::bucket] {
        for planner in planners {
            let whole = make();
            sample().write(&whole, &root());
            planner(&whole).carry_out(&Object::new(&whole, root()), &mut || Ok(())).unwrap();
            let mut writes = 0;
            loop {
                let store = make();
                sample().write(&store, &root());
                let recorded = serde_json::to_string(&planner(&store)).unwrap();
                let plan: PurgePlan = serde_json::from_str(&recorded).unwrap();
                let plan = PurgePlan { tombstone: tombstone(), ..plan };
                let object = Object::new(&store, root());
                store.fail_after(Some(writes));
                let cut = plan.carry_out(&object, &mut || Ok(())).is_err();
                store.fail_after(None);
                let (_, contents) = named(&store);
                for content in contents {
                    assert!(
                        store.get(&format!("object/{content}")).is_some(),
                        "the root inventory names missing bytes"
                    );
                }
                plan.carry_out(&object, &mut || Ok(())).unwrap();
                assert_eq!(store.files(), whole.files(), "cut after {writes} writes");
                writes += 1;
                if !cut {
                    break;
                }
            }
            assert!(writes > 5, "every step was cut");
        }
    }
}

#[test]
fn a_version_that_loses_all_its_files_stays_in_its_order() {
    let store = MemoryStore::folder();
    sample().write(&store, &root());
    plan_paths(&store, &["deposit/a.txt", "deposit/moved.txt"])
        .carry_out(&Object::new(&store, root()), &mut || Ok(()))
        .unwrap();
    let (logical, _) = named(&store);
    assert!(logical.iter().all(|(version, _)| *version < 3), "{logical:?}");
    assert_eq!(warnings(&store), []);
}

#[test]
fn a_version_without_an_inventory_of_its_own_is_purged_too() {
    let store = MemoryStore::folder();
    sample().write(&store, &root());
    store.remove("object/v1/inventory.json");
    store.remove("object/v1/inventory.json.sha512");
    plan_paths(&store, &["deposit/secret.txt"]).carry_out(&Object::new(&store, root()), &mut || Ok(())).unwrap();
    assert_eq!(store.get("object/v1/inventory.json"), None);
    assert!(!named(&store).0.iter().any(|(_, path)| path == "deposit/secret.txt"));
}

#[test]
fn a_version_whose_inventory_cannot_be_read_does_not_pass_for_purged() {
    let store = MemoryStore::folder();
    sample().write(&store, &root());
    let plan = plan_paths(&store, &["deposit/secret.txt"]);
    store.unreadable("object/v1/inventory.json");
    let refused = plan.carry_out(&Object::new(&store, root()), &mut || Ok(()));
    assert!(matches!(&refused, Err(OcflError::Storage(error)) if !error.is_not_found()), "{refused:?}");
}

#[test]
fn a_finished_purge_is_repeated_without_writing_its_tombstone_again() {
    for store in [MemoryStore::folder(), MemoryStore::bucket()] {
        sample().write(&store, &root());
        let plan = plan_object(&store);
        let object = Object::new(&store, root());
        plan.carry_out(&object, &mut || Ok(())).unwrap();
        let whole = store.files();
        let (puts, outcome) = store.puts(|| plan.carry_out(&object, &mut || Ok(())));
        outcome.unwrap();
        assert!(!puts.iter().any(|put| put.key.contains("content/")), "{puts:?}");
        assert!(store.files() == whole);

        store.remove("object/v4/inventory.json");
        plan.carry_out(&object, &mut || Ok(())).unwrap();
        assert!(store.files() == whole, "the inventory of the tombstone's version is made again");
    }
}

/// Writes a version 1 whose inventory says where its contents lie, or by which algorithm it names them.
fn written_by_others(algorithm: Algorithm, directory: Option<&str>) -> MemoryStore {
    let store = MemoryStore::folder();
    let mut header = InventoryHeader::new(sample_id(), VersionNumber::FIRST);
    header.algorithm = algorithm;
    header.content_directory = directory.map(str::to_owned);
    let digest = digest_of(algorithm, b"alpha");
    let path = format!("v1/{}/a", directory.unwrap_or("content"));
    let mut writer = InventoryWriter::new(Vec::new(), &header).unwrap();
    writer.manifest(&digest, &path).unwrap();
    writer.version(VersionNumber::FIRST, &Sample::details(1)).unwrap();
    writer.state(&digest, "a").unwrap();
    let (inventory, seal) = writer.finish().unwrap();
    let sidecar = format!("{} inventory.json\n", seal.digest);
    store.set("object/0=ocfl_object_1.1", b"ocfl_object_1.1\n");
    store.set("object/inventory.json", &inventory);
    store.set(&format!("object/inventory.json.{}", algorithm.name()), sidecar.as_bytes());
    store.set(&format!("object/{path}"), b"alpha");
    store
}

#[test]
fn an_object_of_another_form_than_ours_is_not_purged_whole() {
    for (algorithm, directory, is_ours) in [
        (Algorithm::Sha512, None, true),
        (Algorithm::Sha512, Some("content"), true),
        (Algorithm::Sha512, Some("files"), false),
        (Algorithm::Sha256, None, false),
    ] {
        let store = written_by_others(algorithm, directory);
        let plan =
            PurgePlan::for_object(&Object::new(&store, root()), Sample::details(2), record("metadata/v2/record.jsonl"));
        let is_refused = matches!(plan, Err(OcflError::Purge { .. }));
        assert_eq!((plan.is_ok(), is_refused), (is_ours, !is_ours), "{algorithm} {directory:?}");
    }
}

#[test]
fn a_plan_is_refused_once_the_object_has_changed() {
    let store = MemoryStore::folder();
    let all = sample();
    all.write_version(&store, &root(), 1).unwrap();
    let plan = plan_paths(&store, &["deposit/secret.txt"]);
    all.write_version(&store, &root(), 2).unwrap();
    let before = store.files();
    let refused = plan.carry_out(&Object::new(&store, root()), &mut || Ok(()));
    assert!(matches!(refused, Err(OcflError::Purge { .. })), "{refused:?}");
    assert_eq!(store.files(), before);
}

#[test]
fn a_path_that_no_version_has_cannot_be_purged() {
    let store = MemoryStore::folder();
    sample().write(&store, &root());
    let object = Object::new(&store, root());
    for paths in [vec!["deposit/none.txt".to_owned()], Vec::new()] {
        let refused = PurgePlan::for_paths(&object, paths);
        assert!(matches!(refused, Err(OcflError::Purge { .. })), "{refused:?}");
    }
}

#[test]
fn a_file_of_an_object_that_others_wrote_can_be_purged() {
    let fixture = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../../shared/fixtures/ocfl/1.1/good-objects/updates_all_actions");
    if !fixture.is_dir() {
        println!("SKIPPED: {} is absent", fixture.display());
        return;
    }
    let store = MemoryStore::load(&fixture);
    let object = Object::new(&store, Key::ROOT);
    let paths = ["my_content/dracula.txt".to_owned()];
    let plan = PurgePlan { tombstone: tombstone(), ..PurgePlan::for_paths(&object, paths).unwrap() };
    plan.carry_out(&object, &mut || Ok(())).unwrap();
    let report = validate_object(&store, &Key::ROOT, &ValidateOptions::default()).unwrap();
    assert!(report.is_valid(), "{report:#?}");
    assert!(!String::from_utf8(store.get("inventory.json").unwrap()).unwrap().contains("\"my_content/dracula.txt\""));
}

#[test]
fn a_store_with_a_later_inventory_is_swept_and_one_that_names_what_goes_is_not() {
    let store = MemoryStore::bucket();
    let all = sample();
    all.write_version(&store, &root(), 1).unwrap();
    let secret = Sample::content_path(1, &sha512(b"secret"));
    let plan = plan_paths(&store, &["deposit/secret.txt"]);
    let object = Object::new(&store, root());
    let refused = plan.sweep(&object, &mut || Ok(()));
    assert!(matches!(refused, Err(OcflError::Purge { .. })), "{refused:?}");
    assert!(store.get(&format!("object/{secret}")).is_some());

    let later = MemoryStore::bucket();
    all.write(&later, &root());
    plan_paths(&later, &["deposit/secret.txt"]).carry_out(&Object::new(&later, root()), &mut || Ok(())).unwrap();
    later.set(&format!("object/{secret}"), b"secret");
    plan.sweep(&Object::new(&later, root()), &mut || Ok(())).unwrap();
    assert_eq!(later.get(&format!("object/{secret}")), None);
    assert_eq!(later.get("object/logs/deletion-7.json").unwrap(), b"{\"deletion\":7}");
    assert_eq!(warnings(&later), []);
}

#[test]
fn a_plan_that_takes_away_what_another_path_has_is_refused() {
    let store = MemoryStore::folder();
    sample().write(&store, &root());
    let mut plan = plan_paths(&store, &["deposit/secret.txt"]);
    let PurgeScope::Paths { contents, .. } = &mut plan.scope else { panic!("a purge of paths") };
    contents.insert(Sample::content_path(1, &sha512(b"alpha")));
    let before = store.files();
    let refused = plan.carry_out(&Object::new(&store, root()), &mut || Ok(()));
    assert!(matches!(refused, Err(OcflError::Purge { .. })), "{refused:?}");
    assert_eq!(store.files(), before);
}

#[test]
fn a_plan_says_what_the_inventories_of_versions_become() {
    let store = MemoryStore::folder();
    sample().write(&store, &root());
    let number = |version: u32| VersionNumber::new(version).unwrap();
    let object = Object::new(&store, root());
    let now = |version| object.version_inventory(number(version)).unwrap().map(|found| found.seal);
    for planner in [|store: &MemoryStore| plan_paths(store, &["deposit/b.txt"]), plan_object] {
        let plan = planner(&store);
        let before: Vec<_> = (1..=3).map(now).collect();
        let said: Vec<_> =
            (1..=3).map(|version| plan.inventories.get(&number(version)).map(|one| one.before)).collect();
        assert_eq!(before, said);
        plan.carry_out(&object, &mut || Ok(())).unwrap();
        let after: Vec<_> = (1..=3).map(now).collect();
        let said = (1..=3).map(|version| plan.inventories.get(&number(version)).and_then(|one| one.after));
        let made = (1..=3).map(|version| plan.made.get(&number(version)).copied());
        let said: Vec<_> = said.zip(made).map(|(rewritten, made)| rewritten.or(made)).collect();
        assert_eq!(after, said);
    }
}
