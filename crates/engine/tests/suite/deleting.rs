//! What two people have agreed to delete is gone from every store and stays gone: also where a store fails at any of its calls or was
//! away, where the registry is an older one or made from the stores, and where the object is deposited again.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use strongroom_engine::app::deletions;
use strongroom_engine::app::views::DeletionView;
use strongroom_engine::fixity::{self, FixityRequest};
use strongroom_engine::ingest::{DepositRequest, PackageSource, deposit};
use strongroom_engine::rebuild::{self, AdoptRequest};
use strongroom_engine::runtime::Shutdown;
use strongroom_engine::{Home, reconcile, work_on};
use strongroom_ocfl::{ValidateOptions, validate_object};
use strongroom_registry::items::{self, Item, ItemFilter};
use strongroom_registry::objects::{self, Object};
use strongroom_registry::{DeletionState, FileId, ItemStatus, ObjectState, Scope, deletions as rows};
use strongroom_storage::{Key, StorageError};
use strongroom_storage_test::{Call, Layer, Layered, Operation};

use crate::backfill::{THIRD, home_with_third};
use crate::deletions::{ANN, BOB, add_admins, as_user, world};
use crate::fixture::{Engine, INSTITUTION, KEPT_IN, TestHome, on_both_databases};
use crate::ingest::committing::layered;
use crate::rebuild::all_events;

on_both_databases! {
    a_deleted_object_leaves_its_tombstone_and_no_byte
    a_deleted_file_is_gone_from_every_version_and_the_object_goes_on
    what_was_deleted_begins_anew_with_the_same_files
    a_store_that_is_away_loses_its_bytes_when_it_is_back
    a_deletion_goes_on_at_whatever_call_a_store_fails
}

/// Words that only what is deleted has.
pub(crate) const SECRET: &[u8] = b"bytes that only deleted files have";

fn letters() -> String {
    format!("{INSTITUTION}/letters")
}

/// A home with an object of two versions, of which both have a secret file, and with another object that has the same bytes.
pub(crate) fn home_on(engine: Engine) -> Option<TestHome> {
    let home = world(engine, "")?;
    home.ingest("letters", &[("a.txt", b"one"), ("b.txt", b"two"), ("secret.txt", SECRET)]);
    home.ingest("letters", &[("a.txt", b"one"), ("b.txt", b"changed"), ("secret.txt", SECRET)]);
    Some(home)
}

/// Requests and approves a deletion; its request.
pub(crate) fn agreed(home: &TestHome, paths: &[&str]) -> DeletionView {
    let paths: Vec<String> = paths.iter().map(|path| (*path).to_owned()).collect();
    let made = deletions::of_object(&as_user(home, ANN), &letters(), &paths, "deposited by mistake").expect("asks");
    deletions::approve(&as_user(home, BOB), made.request, None).expect("approves")
}

/// The work items of a request.
fn items_of(home: &Home, request: &DeletionView) -> Vec<Item> {
    let filter = ItemFilter { batch: request.batch, ..ItemFilter::default() };
    home.registry.read(|tx| items::list(tx, Scope::System, &filter, None, 100)).expect("lists")
}

/// Works until nothing of a request can be done now.
pub(crate) fn work(home: &Arc<Home>, request: &DeletionView) {
    for _ in 0..3 {
        let open: Vec<_> = items_of(home, request).into_iter().filter(|item| !item.status.is_ended()).collect();
        if open.is_empty() {
            return;
        }
        let ids: Vec<_> = open.iter().map(|item| item.id).collect();
        let shutdown = Shutdown::new();
        let done = || {
            let chosen = items_of(home, request).into_iter().filter(|item| ids.contains(&item.id));
            chosen.into_iter().all(|item| {
                let was_tried = open.iter().all(|before| before.id != item.id || before.updated_at < item.updated_at);
                let rests = item.status == ItemStatus::Pending && (item.wait_reason.is_some() || item.retry_count > 0);
                item.status.is_ended() || was_tried && rests
            })
        };
        let chosen = ids.iter().copied();
        let runtime = strongroom_engine::build_runtime(home, None).expect("a runtime").only_items(chosen).build();
        runtime.run_until(&shutdown, &done);
    }
}

fn deletion_of(home: &Home, request: &DeletionView) -> Item {
    let found = items_of(home, request).into_iter().find(|item| item.action.as_str() != "delete_batch");
    found.expect("a work item")
}

pub(crate) fn delete(home: &TestHome, paths: &[&str]) -> DeletionView {
    let request = agreed(home, paths);
    work(&home.home, &request);
    let item = deletion_of(home, &request);
    assert_eq!(item.status, ItemStatus::Succeeded, "{:?} at {}", item.note, item.stage);
    request
}

/// The files of a folder with their bytes, below it.
fn files_below(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else {
                found.push((path.display().to_string(), std::fs::read(&path).expect("reads")));
            }
        }
    }
    found
}

pub(crate) fn has(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

/// The folders of the objects that a store has.
fn roots(home: &Home, store: &str) -> BTreeSet<Key> {
    let store = home.store(store).expect("a store");
    let keys = store.list(&Key::ROOT).expect("lists").map(|listed| listed.expect("a key").key);
    keys.filter_map(|key| Key::new(key.as_str().strip_suffix("/0=ocfl_object_1.1")?).ok()).collect()
}

/// Everything that lies in a store is valid, and as the registry says.
pub(crate) fn check(home: &Home, stores: &[&str]) {
    for name in stores {
        let store = home.store(name).expect("a store");
        for root in roots(home, name) {
            let report = validate_object(store.as_ref(), &root, &ValidateOptions::default()).expect("validates");
            assert!(report.is_valid(), "{name}: {root}: {report:#?}");
        }
        let mut differences = Vec::new();
        let note = &mut |difference| {
            differences.push(difference);
            Ok(())
        };
        reconcile::run(home, name, note).expect("reconciles");
        assert!(differences.is_empty(), "{name}: {differences:?}");
    }
}

pub(crate) fn check_fixity(home: &Home) {
    let summary = fixity::run(home, &FixityRequest { all: true, ..FixityRequest::default() }, &mut |_| {});
    let summary = summary.expect("checks");
    assert_eq!((summary.damaged, summary.failed), (0, 0), "{summary:?}");
}

/// No store has a part of what was deleted.
pub(crate) fn is_nowhere(home: &TestHome, part: &[u8]) {
    for (path, bytes) in files_below(&home.path().join("stores")) {
        assert!(!has(&bytes, part), "{path}");
    }
}

fn tombstones(home: &TestHome, store: &str) -> usize {
    home.keys(store).iter().filter(|key| key.contains("/logs/") && key.contains("-deletion-")).count()
}

fn deletion_events(home: &Home, object: &Object) -> usize {
    all_events(home, object).into_iter().filter(|event| event.kind == "deletion").count()
}

fn file_ids(home: &Home, object: &Object) -> Vec<(String, FileId)> {
    let files = home.registry.read(|tx| objects::files(tx, object.id, object.head, "deposit/", "", 100));
    files.expect("files").into_iter().map(|file| (file.path, file.id)).collect()
}

fn a_deleted_object_leaves_its_tombstone_and_no_byte(engine: Engine) {
    let Some(home) = home_on(engine) else { return };
    let before = home.object("letters");
    delete(&home, &[]);
    let object = home.object("letters");
    assert_eq!((object.state, object.head, object.files, object.bytes), (ObjectState::Deleted, before.head + 1, 0, 0));
    is_nowhere(&home, SECRET);
    is_nowhere(&home, b"changed");
    for store in KEPT_IN {
        assert_eq!(tombstones(&home, store), 1, "{store}");
        let contents = home.keys(store).into_iter().filter(|key| key.contains("/content/")).count();
        assert_eq!(contents, 1, "{store} has the record of the last version");
    }
    check(&home, &KEPT_IN);
    check_fixity(&home);
    let events = all_events(&home, &object);
    let deletion: Vec<_> = events.iter().filter(|event| event.kind == "deletion").collect();
    assert_eq!(deletion.len(), 1);
    let said = deletion[0].outcome_detail.clone().unwrap_or_default();
    for part in [ANN, BOB, "deposited by mistake"] {
        assert!(said.contains(part), "{said}");
    }
    assert!(events.iter().any(|event| event.kind == "ingestion"), "what happened before is kept");
    let digests = events.iter().filter(|event| event.kind == "message digest calculation").count();
    assert!(digests > 0, "the digests of what was deleted are kept");
}

fn a_deleted_file_is_gone_from_every_version_and_the_object_goes_on(engine: Engine) {
    let Some(home) = home_on(engine) else { return };
    let before = home.object("letters");
    delete(&home, &["data/secret.txt", "data/b.txt"]);
    let object = home.object("letters");
    assert_eq!((object.state, object.head), (ObjectState::Active, before.head));
    assert_eq!(object.files, before.files - 2);
    is_nowhere(&home, SECRET);
    is_nowhere(&home, b"changed");
    check(&home, &KEPT_IN);
    check_fixity(&home);
    let deletions = all_events(&home, &object).into_iter().filter(|event| event.kind == "deletion").count();
    assert_eq!(deletions, 2, "one for each file");
    home.ingest("letters", &[("a.txt", b"one"), ("b.txt", b"again"), ("c.txt", b"new")]);
    check(&home, &KEPT_IN);
    check_fixity(&home);
    delete(&home, &[]);
    is_nowhere(&home, b"again");
    check(&home, &KEPT_IN);
}

fn what_was_deleted_begins_anew_with_the_same_files(engine: Engine) {
    let Some(home) = home_on(engine) else { return };
    let before = home.object("letters");
    let files = file_ids(&home, &before);
    delete(&home, &[]);
    let events = all_events(&home, &home.object("letters")).len();
    let object = home.ingest("letters", &[("a.txt", b"one"), ("b.txt", b"two"), ("secret.txt", b"no secret any more")]);
    assert_eq!((object.id, object.state, object.head), (before.id, ObjectState::Active, 1));
    assert!(object.generation > before.generation);
    assert_eq!(file_ids(&home, &object), files);
    assert!(all_events(&home, &object).len() > events, "the events of what was deleted are still there");
    check(&home, &KEPT_IN);
    check_fixity(&home);
    home.ingest("letters", &[("a.txt", b"two"), ("b.txt", b"two")]);
    delete(&home, &[]);
    check(&home, &KEPT_IN);
    is_nowhere(&home, b"no secret any more");
    assert_eq!(roots(&home, "primary").len(), 2, "each generation has its tombstone");
}

fn a_store_that_is_away_loses_its_bytes_when_it_is_back(engine: Engine) {
    let Some(home) = home_on(engine) else { return };
    for paths in [&["data/secret.txt"][..], &[]] {
        let request = agreed(&home, paths);
        let (there, away) = (home.file("secondary", ""), home.path().join("unmounted"));
        std::fs::rename(&there, &away).expect("is away");
        home.try_stores();
        work(&home.home, &request);
        let item = deletion_of(&home, &request);
        assert_eq!(item.status, ItemStatus::Pending, "{:?}", item.note);
        assert!(item.note.as_deref().unwrap_or_default().contains("waits for store secondary"), "{:?}", item.note);
        assert!(item.is_committed, "it cannot be cancelled any more");
        let unfinished = deletions::unfinished(&as_user(&home, ANN), None).expect("lists").items;
        let named: Vec<_> = unfinished.iter().map(|one| (one.store.as_str(), one.reason.as_deref())).collect();
        assert_eq!(named, [("secondary", None)]);
        let object = home.object("letters");
        assert_eq!(object.state == ObjectState::Deleted, paths.is_empty());
        check(&home, &["primary"]);
        std::fs::rename(&away, &there).expect("is back");
        home.try_stores();
        home.clock.advance(Duration::from_hours(2));
        // Another that works with the object first removes what was deleted.
        check_fixity(&home);
        work(&home.home, &request);
        let item = deletion_of(&home, &request);
        assert_eq!(item.status, ItemStatus::Succeeded, "{:?}", item.note);
        is_nowhere(&home, SECRET);
        check(&home, &KEPT_IN);
        check_fixity(&home);
    }
}

/// Fails the call of a number, counted from 0, and all that follow it.
#[derive(Clone)]
struct FailsFrom {
    calls: Arc<AtomicU64>,
    from: Arc<AtomicU64>,
}

impl Layer for FailsFrom {
    fn call<T>(&self, call: Call<'_>, act: &mut dyn FnMut() -> Result<T, StorageError>) -> Result<T, StorageError> {
        let changes =
            !matches!(call.operation, Operation::Head | Operation::Open | Operation::List | Operation::Assembly);
        if changes && self.calls.fetch_add(1, Ordering::SeqCst) >= self.from.load(Ordering::SeqCst) {
            return Err(StorageError::Io {
                store: "layered".to_owned(),
                act: "change",
                key: call.key.clone(),
                source: std::io::Error::other("injected"),
            });
        }
        act()
    }
}

fn a_deletion_goes_on_at_whatever_call_a_store_fails(engine: Engine) {
    // What the stores do is the same with each database.
    let step = if matches!(engine, Engine::Sqlite) { 2 } else { 9 };
    for (paths, store) in [(&["data/secret.txt", "data/b.txt"][..], KEPT_IN[0]), (&[], KEPT_IN[1])] {
        let mut from = 0;
        while fails_from(engine, paths, store, from) {
            from += step;
        }
    }
}

/// Whether the deletion met the failure.
fn fails_from(engine: Engine, paths: &[&str], store: &str, from: u64) -> bool {
    let Some(home) = home_on(engine) else { return false };
    let request = agreed(&home, paths);
    let layer = FailsFrom { calls: Arc::default(), from: Arc::new(AtomicU64::new(u64::MAX)) };
    let failing = layered(&home, store, layer.clone());
    layer.from.store(from, Ordering::SeqCst);
    work(&failing, &request);
    let has_failed = layer.calls.load(Ordering::SeqCst) > from;
    for name in KEPT_IN {
        let store = home.store(name).expect("a store");
        for root in roots(&home, name) {
            strongroom_ocfl::Object::new(store.as_ref(), root.clone())
                .read(strongroom_ocfl::Limits::default(), &mut |entry| {
                    if let strongroom_ocfl::InventoryEntry::Manifest { path, .. } = entry {
                        let key = root.join(path).expect("a key");
                        assert!(store.head(&key).is_ok(), "{name}: the root inventory names {key}, call {from}");
                    }
                    Ok(())
                })
                .expect("reads");
        }
    }
    for unfinished in deletions::unfinished(&as_user(&home, ANN), None).expect("lists").items {
        assert_eq!(unfinished.store, store, "call {from}");
        assert!(unfinished.reason.is_some_and(|reason| reason.contains("injected")), "call {from}");
    }
    layer.from.store(u64::MAX, Ordering::SeqCst);
    drop(failing);
    home.clock.advance(Duration::from_hours(2));
    let item = deletion_of(&home, &request);
    if item.status == ItemStatus::Failed {
        crate::ingest::identity::ask(&home, item.id, items::Request::Requeue(None));
    }
    work(&home.home, &request);
    let item = deletion_of(&home, &request);
    assert_eq!(item.status, ItemStatus::Succeeded, "{store} from call {from}: {:?}", item.note);
    is_nowhere(&home, SECRET);
    check(&home, &KEPT_IN);
    check_fixity(&home);
    for store in KEPT_IN {
        assert_eq!(tombstones(&home, store), 1, "{store} from call {from}");
    }
    has_failed
}

#[test]
fn what_an_interrupted_backfill_has_put_goes_with_the_object() {
    let home = home_with_third();
    add_admins(&home);
    let is_secret = |key: &String| std::fs::read(home.file(KEPT_IN[0], key)).is_ok_and(|bytes| bytes == b"yours");
    let key = home.keys(KEPT_IN[0]).into_iter().find(is_secret).expect("is kept");
    // It ends before it records what it has put.
    let to = home.file(THIRD, &key);
    std::fs::create_dir_all(to.parent().expect("a folder")).expect("makes folders");
    std::fs::copy(home.file(KEPT_IN[0], &key), &to).expect("copies");
    delete(&home, &[]);
    is_nowhere(&home, b"yours");
}

#[test]
fn a_registry_from_before_a_deletion_learns_of_it_and_brings_nothing_back() {
    for paths in [&["data/secret.txt"][..], &[]] {
        let Some(home) = home_on(Engine::Sqlite) else { return };
        let backup = home.backup("before");
        delete(&home, paths);
        let home = home.restored(&backup);
        assert!(home.registry.refusal().is_some(), "it is behind its stores");
        let adopting = home.opened_to_adopt();
        let summary = rebuild::adopt(&adopting, &AdoptRequest::default(), &mut |_| {}).expect("adopts");
        assert!(summary.is_complete(), "{:?}", summary.problems);
        drop(adopting);
        let home_again = home.opened_again();
        let object = home.object("letters");
        assert_eq!(object.state == ObjectState::Deleted, paths.is_empty());
        check(&home_again, &KEPT_IN);
        check_fixity(&home_again);
        is_nowhere(&home, SECRET);
        assert_eq!(deletion_events(&home_again, &object), 1);
    }
}

#[test]
fn stores_of_which_one_was_not_reached_by_a_deletion_agree_after_a_rebuild_from_either() {
    for paths in [&["data/secret.txt"][..], &[]] {
        for from in KEPT_IN {
            let Some(home) = home_on(Engine::Sqlite) else { return };
            let (there, away) = (home.file("secondary", ""), home.path().join("unmounted"));
            let request = agreed(&home, paths);
            std::fs::rename(&there, &away).expect("is away");
            home.try_stores();
            work(&home.home, &request);
            std::fs::rename(&away, &there).expect("is back");
            let empty = tempfile::TempDir::new().expect("a folder");
            let text = std::fs::read_to_string(home.path().join("strongroom.toml")).expect("settings");
            let stores = home.path().join("stores");
            let text = text.replace("path = \"stores/", &format!("path = \"{}/", stores.display()));
            let settings = strongroom_engine::settings::Settings::from_toml(&text).expect("settings");
            let made = Home::open_to_adopt(empty.path(), settings).expect("opens");
            rebuild::run(&made, from, &mut |_| {}).expect("rebuilds");
            rebuild::adopt(&made, &AdoptRequest::default(), &mut |_| {}).expect("adopts");
            drop(made);
            let text = std::fs::read_to_string(home.path().join("strongroom.toml")).expect("settings");
            let text = text.replace("path = \"stores/", &format!("path = \"{}/", stores.display()));
            let settings = strongroom_engine::settings::Settings::from_toml(&text).expect("settings");
            let made = Home::open_to_adopt(empty.path(), settings).expect("opens");
            let task = strongroom_engine::background::TASKS.iter().find(|task| task.name == "deletions").expect("it");
            strongroom_engine::background::run_now(&made, task, &Shutdown::new()).expect("runs");
            is_nowhere(&home, SECRET);
            check_fixity(&made);
            let identifier = letters();
            let object = made.registry.read(|tx| objects::find(tx, Scope::System, &identifier)).expect("the object");
            assert_eq!(object.state == ObjectState::Deleted, paths.is_empty(), "from {from}");
            let open = made.registry.read(|tx| rows::is_any_pending(tx, object.id)).expect("reads");
            assert!(!open, "from {from}");
        }
    }
}

#[test]
fn a_tombstone_that_is_gone_or_altered_is_found_and_put_back() {
    for paths in [&["data/secret.txt"][..], &[]] {
        let Some(home) = home_on(Engine::Sqlite) else { return };
        delete(&home, paths);
        let is_tombstone = |key: &&String| key.contains("/logs/") && key.contains("-deletion-");
        let key = home.keys("secondary").iter().find(is_tombstone).expect("a tombstone").clone();
        let file = home.file("secondary", &key);
        let text = std::fs::read(&file).expect("a file");
        std::fs::remove_file(&file).expect("removes");
        let mut codes = Vec::new();
        reconcile::run(&home, "secondary", &mut |difference| {
            codes.push((difference.code, difference.path));
            Ok(())
        })
        .expect("reconciles");
        assert_eq!(codes, [(reconcile::Code::InventoryMissing, key)]);
        let round = || fixity::run(&home, &FixityRequest { all: true, ..FixityRequest::default() }, &mut |_| {});
        assert_eq!(round().expect("checks").repaired, 1);
        assert_eq!(std::fs::read(&file).expect("it is back"), text);
        std::fs::write(&file, b"{}").expect("writes");
        assert_eq!(round().expect("checks").repaired, 1);
        assert_eq!(std::fs::read(&file).expect("it is back"), text);
        check(&home, &KEPT_IN);
        check_fixity(&home);
    }
}

#[test]
fn what_was_deposited_after_the_request_is_not_deleted() {
    for (paths, is_meant) in [(&[][..], false), (&["data/a.txt"], false), (&["data/secret.txt"], true)] {
        let Some(home) = home_on(Engine::Sqlite) else { return };
        let request = agreed(&home, paths);
        let object = home.ingest("letters", &[("a.txt", b"one more"), ("b.txt", b"changed"), ("secret.txt", SECRET)]);
        work(&home.home, &request);
        let item = deletion_of(&home, &request);
        let after = home.object("letters");
        if is_meant {
            assert_eq!(item.status, ItemStatus::Succeeded, "{:?}", item.note);
            assert_eq!(after.files, object.files - 1);
        } else {
            assert_eq!(item.status, ItemStatus::Failed, "{:?}", item.note);
            assert!(item.note.as_deref().unwrap_or_default().contains("nothing is deleted"), "{:?}", item.note);
            assert_eq!((after.state, after.head, after.files), (ObjectState::Active, object.head, object.files));
        }
        check(&home, &KEPT_IN);
        check_fixity(&home);
    }
}

#[test]
fn a_later_deposit_waits_for_the_deletion_and_begins_the_object_anew() {
    let Some(home) = home_on(Engine::Sqlite) else { return };
    let request = agreed(&home, &[]);
    let expand: Vec<_> = items_of(&home, &request).into_iter().map(|item| item.id).collect();
    work_on(&home, &expand, &Shutdown::new()).expect("makes the work items");
    let deletion = deletion_of(&home, &request);
    let bag = home.bag("letters", &[("a.txt", b"one more")]);
    let sources = vec![PackageSource::LocalPath(bag)];
    let made = deposit(&home, &DepositRequest { sources, ..DepositRequest::of_system(INSTITUTION) }).expect("deposits");
    assert_eq!(deletion.status, ItemStatus::Pending);
    work_on(&home, &made.items, &Shutdown::new()).expect("works");
    let object = home.object("letters");
    assert_eq!((object.state, object.head), (ObjectState::Active, 1));
    assert_eq!(deletion_of(&home, &request).status, ItemStatus::Succeeded, "it was worked on first");
    is_nowhere(&home, SECRET);
    check(&home, &KEPT_IN);
}

#[test]
fn a_registry_from_the_middle_of_a_deletion_goes_on_after_an_adoption() {
    for paths in [&["data/secret.txt"][..], &[]] {
        let Some(made) = home_on(Engine::Sqlite) else { return };
        let request = agreed(&made, paths);
        let layer = FailsFrom { calls: Arc::default(), from: Arc::new(AtomicU64::new(0)) };
        let mut failing =
            Home::with_registry(made.path(), made.settings.clone(), made.registry.clone()).expect("opens");
        for store in KEPT_IN {
            let layered = Layered::new(failing.stores[store].clone(), layer.clone());
            failing.stores.insert(store.into(), Arc::new(layered));
        }
        let failing = Arc::new(failing);
        work(&failing, &request);
        drop(failing);
        let object = made.object("letters").id;
        let state = |home: &Home| home.registry.read(|tx| rows::of_object(tx, object)).expect("reads")[0].state;
        assert_eq!(state(&made), DeletionState::Begun);
        let backup = made.backup("begun");
        made.clock.advance(Duration::from_hours(2));
        let item = deletion_of(&made, &request);
        if item.status == ItemStatus::Failed {
            crate::ingest::identity::ask(&made, item.id, items::Request::Requeue(None));
        }
        work(&made.home, &request);
        assert_eq!(state(&made), DeletionState::Completed);
        let made = made.restored(&backup);
        let adopting = made.opened_to_adopt();
        let summary = rebuild::adopt(&adopting, &AdoptRequest::default(), &mut |_| {}).expect("adopts");
        assert!(summary.is_complete() && summary.pending.is_empty(), "{:?} {:?}", summary.problems, summary.pending);
        drop(adopting);
        let home = Arc::new(made.opened_again());
        let item = deletion_of(&home, &request);
        if item.status == ItemStatus::Failed {
            crate::ingest::identity::ask(&made, item.id, items::Request::Requeue(None));
        }
        work(&home, &request);
        let item = deletion_of(&home, &request);
        assert_eq!(item.status, ItemStatus::Succeeded, "{:?}", item.note);
        check(&home, &KEPT_IN);
        check_fixity(&home);
        is_nowhere(&made, SECRET);
    }
}

pub(crate) fn copy_over(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("makes a folder");
    for entry in std::fs::read_dir(from).expect("a folder") {
        let entry = entry.expect("an entry");
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy_over(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), &target).expect("copies");
        }
    }
}

#[test]
fn a_store_whose_inventories_contradict_its_tombstones_deletes_nothing_by_itself_and_follows_the_other() {
    for paths in [&["data/secret.txt"][..], &[]] {
        let Some(home) = home_on(Engine::Sqlite) else { return };
        let old = home.path().join("old");
        copy_over(&home.file("secondary", ""), &old);
        delete(&home, paths);
        // An older copy, put over what is there: the tombstones stay, and the inventories are from before.
        copy_over(&old, &home.file("secondary", ""));
        std::fs::remove_dir_all(&old).expect("removes it");
        let empty = tempfile::TempDir::new().expect("a folder");
        let text = std::fs::read_to_string(home.path().join("strongroom.toml")).expect("settings");
        let text = text.replace("path = \"stores/", &format!("path = \"{}/", home.path().join("stores").display()));
        let settings = strongroom_engine::settings::Settings::from_toml(&text).expect("settings");
        let made = Home::open_to_adopt(empty.path(), settings.clone()).expect("opens");
        rebuild::run(&made, "secondary", &mut |_| {}).expect("rebuilds");
        let identifier = letters();
        let object = made.registry.read(|tx| objects::find(tx, Scope::System, &identifier)).expect("the object");
        assert_eq!(object.state, ObjectState::Active, "what the inventory names was not deleted there");
        assert_eq!(deletion_events(&made, &object), 0, "and no event says so");
        rebuild::adopt(&made, &AdoptRequest::default(), &mut |_| {}).expect("adopts");
        drop(made);
        let made = Home::open_to_adopt(empty.path(), settings).expect("opens");
        let task = strongroom_engine::background::TASKS.iter().find(|task| task.name == "deletions").expect("it");
        strongroom_engine::background::run_now(&made, task, &Shutdown::new()).expect("runs");
        let object = made.registry.read(|tx| objects::find(tx, Scope::System, &identifier)).expect("the object");
        assert_eq!(object.state == ObjectState::Deleted, paths.is_empty());
        assert_eq!(deletion_events(&made, &object), 1);
        check(&made, &KEPT_IN);
        check_fixity(&made);
        is_nowhere(&home, SECRET);
    }
}

/// A registry that is made from one store, then brought up to the others.
pub(crate) fn rebuilt(home: &TestHome, from: &str) -> (tempfile::TempDir, Home) {
    let empty = tempfile::TempDir::new().expect("a folder");
    let text = std::fs::read_to_string(home.path().join("strongroom.toml")).expect("settings");
    let text = text.replace("path = \"stores/", &format!("path = \"{}/", home.path().join("stores").display()));
    let settings = strongroom_engine::settings::Settings::from_toml(&text).expect("settings");
    let made = Home::open_to_adopt(empty.path(), settings.clone()).expect("opens");
    let summary = rebuild::run(&made, from, &mut |_| {}).expect("rebuilds");
    assert_eq!(summary.failed, 0, "{:?}", summary.problems);
    let summary = rebuild::adopt(&made, &AdoptRequest::default(), &mut |_| {}).expect("adopts");
    assert!(summary.is_complete(), "{:?}", summary.problems);
    drop(made);
    let made = Home::open(empty.path(), settings).expect("opens");
    (empty, made)
}

#[test]
fn what_was_deleted_and_deposited_again_is_there_after_a_rebuild() {
    // The same bytes under the same path and under another one, and other bytes.
    for again in [("secret.txt", SECRET), ("other.txt", SECRET), ("secret.txt", b"other words")] {
        let Some(home) = home_on(Engine::Sqlite) else { return };
        delete(&home, &["data/secret.txt"]);
        home.ingest("letters", &[("a.txt", b"one"), ("b.txt", b"changed"), again]);
        let object = home.object("letters");
        let before = file_ids(&home, &object);
        for from in KEPT_IN {
            let (_folder, made) = rebuilt(&home, from);
            let identifier = letters();
            let found = made.registry.read(|tx| objects::find(tx, Scope::System, &identifier)).expect("the object");
            assert_eq!((found.head, found.files, found.bytes), (object.head, object.files, object.bytes), "{again:?}");
            assert_eq!(file_ids(&made, &found), before, "{again:?}");
            assert_eq!(deletion_events(&made, &found), 1, "{again:?}");
            check(&made, &KEPT_IN);
            check_fixity(&made);
        }
    }
}

/// Puts a store back as it was, but for the tombstones, of which each is changed.
fn forge(home: &TestHome, store: &str, old: &Path, change: &dyn Fn(&mut serde_json::Value)) {
    let keys: Vec<String> = home.keys(store).iter().filter(|key| key.contains("-deletion-")).cloned().collect();
    let texts: Vec<Vec<u8>> = keys.iter().map(|key| std::fs::read(home.file(store, key)).expect("reads")).collect();
    std::fs::remove_dir_all(home.file(store, "")).expect("removes");
    copy_over(old, &home.file(store, ""));
    for (key, text) in keys.iter().zip(texts) {
        let mut log: serde_json::Value = serde_json::from_slice(&text).expect("JSON");
        change(&mut log);
        let file = home.file(store, key);
        std::fs::create_dir_all(file.parent().expect("a folder")).expect("makes it");
        std::fs::write(file, log.to_string()).expect("writes");
    }
}

#[test]
fn a_forged_tombstone_deletes_nothing() {
    let changes: [&dyn Fn(&mut serde_json::Value); 4] = [
        &|_| {},
        // A plan of which the versions do not fit each other.
        &|log| {
            log["version"] = 99.into();
            log["plan"]["head"] = "v1".into();
            log["plan"]["inventories"] = serde_json::json!({});
        },
        &|log| log["plan"]["head"] = "v4000000000".into(),
        // Keys that are no contents.
        &|log| {
            let contents = &mut log["plan"]["scope"]["paths"]["contents"];
            if contents.is_array() {
                *contents = serde_json::json!(["inventory.json", "0=ocfl_object_1.1"]);
            }
        },
    ];
    for paths in [&["data/secret.txt"][..], &[]] {
        for (number, change) in changes.iter().enumerate() {
            let Some(home) = home_on(Engine::Sqlite) else { return };
            let object = home.object("letters");
            let old: Vec<_> = KEPT_IN.iter().map(|store| home.path().join(format!("old-{store}"))).collect();
            for (store, old) in KEPT_IN.iter().zip(&old) {
                copy_over(&home.file(store, ""), old);
            }
            delete(&home, paths);
            for (store, old) in KEPT_IN.iter().zip(&old) {
                forge(&home, store, old, change);
                std::fs::remove_dir_all(old).expect("removes");
            }
            let (_folder, made) = rebuilt(&home, "primary");
            let task = strongroom_engine::background::TASKS.iter().find(|task| task.name == "deletions").expect("it");
            strongroom_engine::background::run_now(&made, task, &Shutdown::new()).expect("runs");
            let identifier = letters();
            let found = made.registry.read(|tx| objects::find(tx, Scope::System, &identifier)).expect("the object");
            assert_eq!((found.state, found.files), (ObjectState::Active, object.files), "{paths:?} {number}");
            assert_eq!(deletion_events(&made, &found), 0, "{paths:?} {number}");
            check(&made, &KEPT_IN);
            check_fixity(&made);
        }
    }
}

#[test]
fn a_registry_that_is_not_behind_learns_of_no_deletion_from_a_store() {
    for paths in [&["data/secret.txt"][..], &[]] {
        let Some(home) = home_on(Engine::Sqlite) else { return };
        let other = home.path().join("other");
        let before = home.path().join("before");
        for store in KEPT_IN {
            copy_over(&home.file(store, ""), &before.join(store));
        }
        let backup = home.backup("before");
        delete(&home, paths);
        copy_over(&home.file("secondary", ""), &other);
        // Back to before the deletion, but for one store, which tells of it.
        for store in KEPT_IN {
            std::fs::remove_dir_all(home.file(store, "")).expect("removes");
            copy_over(&before.join(store), &home.file(store, ""));
        }
        let home = home.restored(&backup);
        assert!(home.registry.refusal().is_none(), "it is not behind");
        let institution = home.file("secondary", INSTITUTION);
        std::fs::remove_dir_all(&institution).expect("removes");
        copy_over(&other.join(INSTITUTION), &institution);
        let adopting = home.opened_to_adopt();
        let summary = rebuild::adopt(&adopting, &AdoptRequest::default(), &mut |_| {}).expect("adopts");
        assert!(summary.problems.iter().any(|problem| problem.reason.contains("tell of a deletion")), "{summary:?}");
        drop(adopting);
        let home_again = home.opened_again();
        let task = strongroom_engine::background::TASKS.iter().find(|task| task.name == "deletions").expect("it");
        strongroom_engine::background::run_now(&home_again, task, &Shutdown::new()).expect("runs");
        let object = home.object("letters");
        assert_eq!(object.state, ObjectState::Active, "{paths:?}");
        check(&home_again, &["primary"]);
        assert!(has(
            &files_below(&home.file("primary", "")).into_iter().flat_map(|(_, bytes)| bytes).collect::<Vec<_>>(),
            SECRET
        ));
    }
}
