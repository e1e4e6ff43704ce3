//! A registry made out of a preservation store says what the one before it said.

use std::path::Path;

use strongroom_engine::fixity::{self, FixityRequest};
use strongroom_engine::rebuild::{self, AdoptRequest, Summary};
use strongroom_engine::{Home, restoration};
use strongroom_ocfl::{LastRecord, Layout, PurgePlan, Tombstone, User, VersionDetails, object_id};
use strongroom_registry::events::{self, Event, EventCursor};
use strongroom_registry::objects::{self, Object};
use strongroom_registry::{FileId, GenerationId, ObjectState, Scope, tenants, versions};
use strongroom_storage::{Key, Store};

use crate::fixture::{self, INSTITUTION, KEPT_IN, TestHome};

/// Copies both preservation stores.
pub(crate) fn copy_stores(from: &TestHome, to: &TestHome) {
    for store in KEPT_IN {
        copy_store(from, to, store);
    }
}

/// Copies a store's files into the same store of another home.
pub(crate) fn copy_store(from: &TestHome, to: &TestHome, store: &str) {
    copy_tree(&from.path().join("stores").join(store), &to.path().join("stores").join(store));
}

fn copy_tree(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("makes a folder");
    for entry in std::fs::read_dir(from).expect("lists") {
        let entry = entry.expect("an entry");
        let target = to.join(entry.file_name());
        if entry.file_type().expect("a type").is_dir() {
            copy_tree(&entry.path(), &target);
        } else if !target.exists() {
            std::fs::copy(entry.path(), target).expect("copies");
        }
    }
}

pub(crate) fn rebuilt(home: &Home, store: &str) -> Summary {
    rebuild::run(home, store, &mut |_| {}).expect("rebuilds")
}

pub(crate) fn all_objects(home: &Home) -> Vec<Object> {
    home.registry
        .read(|tx| objects::list(tx, Scope::System, &objects::ObjectFilter::default(), None, 1_000))
        .expect("objects")
}

pub(crate) fn all_events(home: &Home, object: &Object) -> Vec<Event> {
    let read =
        home.registry.read(|tx| events::of_object(tx, Scope::System, object.id, None, EventCursor::START, 100_000));
    read.expect("events").0
}

/// All that readers see of the objects, but for times that only the registry knows and copies outside `stores`.
pub(crate) fn dump(home: &Home, stores: &[&str]) -> Vec<String> {
    let mut lines = Vec::new();
    for object in all_objects(home) {
        lines.push(format!("{object:?}"));
        let found = home.registry.read(|tx| versions::list(tx, object.id, object.generation, false));
        for mut version in found.expect("versions") {
            version.published_at = None;
            lines.push(format!("{version:?}"));
            let files = home.registry.read(|tx| objects::files(tx, object.id, version.number, "", "", 100_000));
            for file in files.expect("files") {
                lines.push(format!("{file:?}"));
                for copy in home.registry.read(|tx| objects::copies(tx, file.content)).expect("copies") {
                    if stores.contains(&copy.store.as_str()) {
                        lines.push(format!("{} {} {:?} {}", copy.store, copy.key, copy.class, copy.state));
                    }
                }
            }
        }
        for (store, state, _) in home.registry.read(|tx| objects::object_copies(tx, object.id)).expect("copies") {
            if stores.contains(&store.as_str()) {
                lines.push(format!("{store} {state}"));
            }
        }
    }
    let collections = home.registry.read(|tx| tenants::collections(tx, Scope::System, false)).expect("collections");
    lines.extend(collections.into_iter().map(|one| format!("{} {}", one.institution_identifier, one.identifier)));
    lines
}

/// A home with several deposits, one of which is an update.
fn used_home() -> TestHome {
    let home = fixture::home();
    home.ingest("letters", &[("a.txt", b"one"), ("b/c.txt", b"two"), ("same-as-a.txt", b"one")]);
    home.ingest("photographs", &[("1.tif", b"II*\0 and so on"), ("empty.txt", b"")]);
    home.ingest("letters", &[("a.txt", b"one, changed"), ("d \u{e4}.txt", b"two")]);
    home
}

#[test]
fn a_registry_made_from_either_store_says_the_same() {
    let used = used_home();
    for store in KEPT_IN {
        let fresh = fixture::home();
        copy_stores(&used, &fresh);
        let summary = rebuilt(&fresh, store);
        assert!(summary.is_complete(), "{:?}", summary.problems);
        assert_eq!((summary.objects, summary.versions, summary.missing), (2, 3, 0));
        assert_eq!(dump(&fresh, &KEPT_IN), dump(&used, &KEPT_IN));
        for object in all_objects(&used) {
            assert_eq!(all_events(&fresh, &object), all_events(&used, &object));
        }
        let institutions = |home: &Home| {
            home.registry.read(|tx| tenants::institutions(tx, Scope::System, "", 10)).expect("institutions")
        };
        let (before, after) = (institutions(&used), institutions(&fresh));
        assert_eq!(after.len(), 1);
        assert_eq!((after[0].id, &after[0].name), (before[0].id, &before[0].name));
    }
}

#[test]
fn one_store_is_enough_and_what_the_others_lack_is_told() {
    let used = used_home();
    let fresh = fixture::home();
    copy_store(&used, &fresh, KEPT_IN[1]);
    let summary = rebuilt(&fresh, KEPT_IN[1]);
    assert_eq!((summary.objects, summary.failed, summary.problem_count), (2, 0, 2));
    assert!(summary.problems.iter().all(|problem| problem.store == KEPT_IN[0]), "{:?}", summary.problems);
    assert_eq!(dump(&fresh, &[KEPT_IN[1]]), dump(&used, &[KEPT_IN[1]]));
}

#[test]
fn the_rebuilt_registry_takes_deposits_and_gives_objects_back() {
    let used = used_home();
    let fresh = fixture::home();
    copy_stores(&used, &fresh);
    let summary = rebuilt(&fresh, KEPT_IN[0]);
    assert_eq!(summary.pending, [KEPT_IN[1]], "what the other store knows besides is not known yet");
    let rest = rebuild::adopt(&fresh, &rebuild::AdoptRequest::default(), &mut |_| {}).expect("adopts");
    assert_eq!((rest.taken, rest.pending.len()), (0, 0));
    let object = fresh.ingest("letters", &[("a.txt", b"one, changed"), ("e.txt", b"new")]);
    assert_eq!((object.head, object.id), (3, used.object("letters").id));
    let request = restoration::RestoreRequest::of_system(object.identifier);
    let item = restoration::request_object(&fresh, &request).expect("asks");
    strongroom_engine::work_on(&fresh, &[item], &strongroom_engine::runtime::Shutdown::new()).expect("works");
    assert_eq!(fresh.keys("restoration"), ["test.edu/letters.tar"]);
}

#[test]
fn a_registry_in_use_and_a_store_with_a_role_are_refused() {
    let used = used_home();
    assert!(rebuild::run(&used, KEPT_IN[0], &mut |_| {}).is_err());
    assert!(rebuild::run(&fixture::home(), "restoration", &mut |_| {}).is_err());
    assert!(rebuild::run(&fixture::home(), "nowhere", &mut |_| {}).is_err());
}

#[test]
fn an_object_that_cannot_be_read_is_told_and_comes_from_another_store_later() {
    let used = used_home();
    let fresh = fixture::home();
    copy_stores(&used, &fresh);
    let letters = used.object("letters");
    let files = used.registry.read(|tx| objects::files(tx, letters.id, 2, "metadata/v2/", "", 10)).expect("files");
    let copies = used.registry.read(|tx| objects::copies(tx, files[0].content)).expect("copies");
    let key = &copies.iter().find(|copy| copy.store == KEPT_IN[0]).expect("a copy").key;
    let record = fresh.file(KEPT_IN[0], key);
    let text = std::fs::read_to_string(&record).expect("reads").replacen("one", "two", 1).replacen("v2", "v3", 1);
    std::fs::remove_file(&record).expect("removes");
    std::fs::write(&record, text).expect("writes");

    let summary = rebuilt(&fresh, KEPT_IN[0]);
    assert_eq!((summary.objects, summary.failed), (1, 1));
    assert!(key.starts_with(&summary.problems[0].path), "{:?}", summary.problems);
    assert_eq!(all_objects(&fresh).len(), 1);
    assert!(fresh.registry.read(|tx| objects::get(tx, Scope::System, letters.id)).expect("reads").is_none());

    let summary = rebuilt(&fresh, KEPT_IN[1]);
    assert_eq!((summary.objects, summary.known, summary.failed), (2, 1, 0), "{:?}", summary.problems);
    assert_eq!(dump(&fresh, &KEPT_IN), dump(&used, &KEPT_IN));
    assert!(rebuild::run(&fresh, KEPT_IN[1], &mut |_| {}).is_err());
}

#[test]
fn an_inventory_that_its_sidecar_does_not_state_is_told() {
    let used = used_home();
    let fresh = fixture::home();
    copy_store(&used, &fresh, KEPT_IN[0]);
    let sidecars: Vec<String> = fresh.keys(KEPT_IN[0]);
    let sidecar = sidecars
        .iter()
        .find(|key| key.ends_with("/inventory.json.sha512") && !key.contains("/v1/") && !key.contains("/v2/"))
        .expect("a sidecar");
    let path = fresh.file(KEPT_IN[0], sidecar);
    std::fs::remove_file(&path).expect("removes");
    std::fs::write(&path, format!("{} inventory.json\n", "0".repeat(128))).expect("writes");
    let summary = rebuilt(&fresh, KEPT_IN[0]);
    assert_eq!((summary.objects, summary.failed), (1, 1));
}

#[test]
fn acts_that_the_stores_tell_of_come_back() {
    let used = used_home();
    let letters = used.object("letters");
    let files = used.registry.read(|tx| objects::files(tx, letters.id, 2, "deposit/", "", 10)).expect("files");
    let copies = used.registry.read(|tx| objects::copies(tx, files[1].content)).expect("copies");
    let damaged = used.file(&copies[0].store, &copies[0].key);
    std::fs::remove_file(&damaged).expect("removes");
    std::fs::write(&damaged, b"other bytes").expect("writes");
    let checked =
        fixity::run(&used, &FixityRequest { all: true, ..FixityRequest::default() }, &mut |_| {}).expect("checks");
    assert_eq!(checked.repaired, 1, "{checked:?}");

    let fresh = fixture::home();
    copy_stores(&used, &fresh);
    let summary = rebuilt(&fresh, KEPT_IN[0]);
    assert!(summary.is_complete(), "{:?}", summary.problems);
    let (before, after) = (all_events(&used, &letters), all_events(&fresh, &letters));
    assert!(after.iter().all(|event| before.contains(event)));
    let lost: Vec<_> = before.iter().filter(|event| !after.contains(event)).collect();
    assert!(lost.iter().all(|event| event.kind == "fixity check" && event.outcome == "success"), "{lost:?}");
    assert!(after.iter().any(|event| event.kind == "repair" || event.outcome == "failure"), "{after:?}");
}

/// The object as it lies in a store.
fn in_store<'s>(store: &'s dyn Store, object: &Object) -> strongroom_ocfl::Object<'s> {
    let path = Layout::ours().path(&object_id(&object.generation.to_string()).expect("an id")).expect("a path");
    let root = format!("{}/{path}", object.institution_identifier);
    strongroom_ocfl::Object::new(store, Key::new(root).expect("a key"))
}

fn tombstone(text: &str) -> Tombstone {
    Tombstone { name: "taken-out.json".into(), text: text.into() }
}

#[test]
fn what_was_taken_out_of_the_stores_does_not_come_back() {
    let used = used_home();
    let letters = used.object("letters");
    let out = ["deposit/data/b/c.txt", "deposit/data/a.txt"];
    for store in KEPT_IN {
        let store = used.store(store).expect("a store");
        let object = in_store(store.as_ref(), &letters);
        let plan = PurgePlan::for_paths(&object, out.map(str::to_owned)).expect("plans");
        let plan = PurgePlan { tombstone: tombstone("{}"), ..plan };
        plan.carry_out(&object, &mut || Ok(())).expect("takes out");
    }
    let fresh = fixture::home();
    copy_stores(&used, &fresh);
    let summary = rebuilt(&fresh, KEPT_IN[0]);
    assert!(summary.is_complete(), "{:?}", summary.problems);
    for version in 1..=2 {
        let paths = |home: &Home| -> Vec<String> {
            let files = home.registry.read(|tx| objects::files(tx, letters.id, version, "deposit/data/", "", 100));
            files.expect("files").into_iter().map(|file| file.path).collect()
        };
        let mut expected = paths(&used);
        expected.retain(|path| !out.contains(&path.as_str()));
        assert!(!expected.is_empty());
        assert_eq!(paths(&fresh), expected, "version {version}");
    }
    assert_eq!(fresh.object("letters").files, letters.files - 2);
}

#[test]
fn an_object_that_was_taken_out_comes_back_as_deleted() {
    let used = used_home();
    let letters = used.object("letters");
    let files = used.registry.read(|tx| objects::files(tx, letters.id, 2, "metadata/v2/", "", 10)).expect("files");
    let copies = used.registry.read(|tx| objects::copies(tx, files[0].content)).expect("copies");
    let record = std::fs::read_to_string(used.file(&copies[0].store, &copies[0].key)).expect("reads");
    let mut first: serde_json::Value = serde_json::from_str(record.lines().next().expect("a line")).expect("json");
    first["version"] = 3.into();
    for id in ["version_id", "own_file", "own_content"] {
        first[id] = FileId::new().to_string().into();
    }
    let details = VersionDetails {
        created: "2026-01-31T12:00:00Z".into(),
        message: Some("taken out".into()),
        user: Some(User { name: "tester".into(), address: None }),
    };
    for store in KEPT_IN {
        let store = used.store(store).expect("a store");
        let object = in_store(store.as_ref(), &letters);
        let content = format!("{first}\n");
        let assembly = first["version_id"].as_str().expect("an identifier");
        let record = LastRecord { path: "metadata/v3/record.jsonl", content: &content, assembly };
        let plan = PurgePlan::for_object(&object, details.clone(), record).expect("plans");
        let plan = PurgePlan { tombstone: tombstone("{}"), ..plan };
        plan.carry_out(&object, &mut || Ok(())).expect("takes out");
    }
    let fresh = fixture::home();
    copy_stores(&used, &fresh);
    let summary = rebuilt(&fresh, KEPT_IN[0]);
    assert!(summary.is_complete(), "{:?}", summary.problems);
    let object = fresh.object("letters");
    assert_eq!((object.id, object.state, object.head, object.files), (letters.id, ObjectState::Deleted, 3, 0));
}

#[test]
fn folders_that_are_no_storage_roots_do_not_stop_the_rest() {
    let used = used_home();
    let fresh = fixture::home();
    copy_store(&used, &fresh, KEPT_IN[0]);
    let primary = fresh.store(KEPT_IN[0]).expect("a store");
    for key in ["a.edu/something.txt", "z.edu/0=ocfl_object_1.1", "Not an institution/readme.txt", "top.txt"] {
        let key = Key::new(key).expect("a key");
        primary.put(&key, &mut &b"x"[..], &strongroom_storage::PutOptions::default()).expect("puts");
    }
    let summary = rebuilt(&fresh, KEPT_IN[0]);
    let told: Vec<&str> =
        summary.problems.iter().filter(|one| one.store == KEPT_IN[0]).map(|one| one.path.as_str()).collect();
    assert_eq!(told, ["a.edu", "z.edu"]);
    assert_eq!((summary.objects, summary.failed), (2, 2));
    assert!(all_objects(&fresh).iter().all(|object| object.institution_identifier == INSTITUTION));
}

#[test]
fn a_later_generation_that_claims_a_known_object_is_a_conflict_and_replaces_nothing() {
    let home = fixture::home();
    let letters = home.ingest("letters", &[("a.txt", b"one")]);
    // The same identifiers in another home, with a generation of a later time.
    let other = fixture::home();
    let (id, institution) = (letters.id, letters.institution);
    other
        .registry
        .write(move |tx| {
            strongroom_registry::rebuild::put_institution(tx, institution, INSTITUTION, "Test University")?;
            let generation = GenerationId::new();
            objects::find_or_make(tx, institution, None, &format!("{INSTITUTION}/letters"), id, generation)
        })
        .expect("makes the object");
    let forged = other.ingest("letters", &[("a.txt", b"forged")]);
    assert_eq!(forged.id, letters.id);
    assert!(forged.generation > letters.generation);
    copy_stores(&other, &home);

    let adopting = home.opened_to_adopt();
    let summary = rebuild::adopt(&adopting, &AdoptRequest::default(), &mut |_| {}).expect("adopts");
    assert!(!summary.is_complete());
    assert!(summary.problems.iter().all(|problem| problem.reason.starts_with("conflict: ")), "{:?}", summary.problems);
    assert_eq!(summary.failed, 2, "in each store: {:?}", summary.problems);
    let known = home.object("letters");
    assert_eq!((known.generation, known.head), (letters.generation, 1), "nothing is replaced");

    // In a rebuild from the stores alone both claim the object: a person has to look, whichever came first.
    let fresh = fixture::home();
    copy_stores(&home, &fresh);
    let summary = rebuilt(&fresh.opened_to_adopt(), "primary");
    assert_eq!((summary.taken, summary.failed), (1, 1), "{:?}", summary.problems);
    assert!(summary.problems.iter().any(|problem| problem.reason.starts_with("conflict: ")), "{:?}", summary.problems);
}
