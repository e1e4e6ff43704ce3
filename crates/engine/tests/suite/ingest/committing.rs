//! What happens to a version behind `committing`: what is lost is made again and read back, and what a worker puts that
//! slept through the commit is no part of the version.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use strongroom_engine::Home;
use strongroom_engine::fixity::{self, FixityRequest};
use strongroom_registry::{ItemId, VersionState, copies, objects, versions};
use strongroom_storage::{Capabilities, StorageError, Store};
use strongroom_storage_test::{Call, Layer, Layered, Operation};

use super::identity::{finish, work_until};
use super::*;
use crate::meanwhile::{Meanwhile, When};
use crate::saying::{Says, saying};

/// Lets a worker try an item that is at `record` until its version is being committed and has failed.
pub(crate) fn work_until_its_commit_fails(home: &Arc<Home>, id: ItemId) {
    let version = home.registry.read(|tx| versions::of_item(tx, id)).expect("reads").expect("a version");
    let workers = strongroom_engine::build_runtime(home, None).expect("a runtime").build();
    workers.run_until(&Shutdown::new(), &|| {
        let state = home.registry.read(|tx| versions::get(tx, version.id)).expect("reads").expect("there").state;
        assert_ne!(state, VersionState::Published);
        let item = home.registry.read(|tx| items::find(tx, Scope::System, id)).expect("the item");
        state == VersionState::Committing && item.status == ItemStatus::Pending
    });
}

/// An item whose version is to be the second of its object, and whose commit has failed in `secondary`; where the root
/// inventory of the object lies there.
pub(crate) fn second_version_behind_committing(made: &TestHome) -> (ItemId, String) {
    made.ingest("letters", &[("a.txt", b"dear reader")]);
    let id = hand_in(made, &made.bag("letters", &[("a.txt", b"dear reader, again")]));
    work_until(made, id, Stage::named("record"));
    let inventory = made.keys("secondary").into_iter().find(|key| key.ends_with("/v1/inventory.json"));
    let inventory = inventory.expect("an object");
    let block = made.file("secondary", &inventory.replace("/v1/inventory.json", "/v2"));
    std::fs::write(&block, b"in the way").expect("blocks");
    work_until_its_commit_fails(&made.home, id);
    std::fs::remove_file(&block).expect("clears the way");
    (id, inventory.replace("/v1/", "/"))
}

#[test]
fn made_again_after_committing_is_read_back() {
    let home = home();
    let id = hand_in(&home, &home.bag("letters", &[("a.txt", b"one")]));
    work_until(&home, id, Stage::named("record"));
    let version = home.registry.read(|tx| versions::of_item(tx, id)).expect("reads").expect("a version");
    let brought = home.registry.read(|tx| copies::brought(tx, &version, None, 100)).expect("reads");
    let copies_of = |content| home.registry.read(|tx| objects::copies(tx, content)).expect("copies");
    // Something lies in the way of the object, so that the commit fails behind `committing`.
    let key = copies_of(brought[0].content)[0].key.clone();
    let parent: Vec<&str> = key.split('/').take(2).collect();
    let block = home.file("primary", &parent.join("/"));
    std::fs::write(&block, b"in the way").expect("blocks");
    work_until_its_commit_fails(&home.home, id);
    for store in KEPT_IN {
        std::fs::remove_dir_all(home.file(store, &format!(".strongroom/assembly/{}", version.id))).expect("is lost");
    }
    std::fs::remove_file(&block).expect("unblocks");
    home.clock.advance(Duration::from_hours(1));
    let made_again = strongroom_database::Clock::now(&*home.clock);
    work_on(&home.home, &[id], &Shutdown::new()).expect("works");
    let item = find(&home, id);
    assert_eq!(item.status, ItemStatus::Succeeded, "{:?}", item.note);
    let mut unread = 0;
    for content in &brought {
        for copy in copies_of(content.content) {
            assert!(home.file(&copy.store, &copy.key).exists());
            unread += u64::from(copy.verified_at.is_none_or(|at| at < made_again));
        }
    }
    assert_eq!(unread, 0, "copies count as proved that were never read since they were written");
}

#[test]
fn a_worker_that_slept_through_the_commit_of_a_store_does_not_block_the_object() {
    let home = home();
    let id = hand_in(&home, &home.bag("letters", &[("a.txt", b"one")]));
    work_until(&home, id, Stage::named("record"));
    let version = home.registry.read(|tx| versions::of_item(tx, id)).expect("reads").expect("a version");
    let brought = home.registry.read(|tx| copies::brought(tx, &version, None, 100)).expect("reads");
    let key = home.registry.read(|tx| objects::copies(tx, brought[0].content)).expect("copies")[0].key.clone();
    let parent: Vec<&str> = key.split('/').take(2).collect();
    let block = home.file("secondary", &parent.join("/"));
    std::fs::write(&block, b"in the way").expect("the second store fails");
    work_until_its_commit_fails(&home.home, id);
    assert!(home.file("primary", &key).exists(), "the first store has the version in its place");
    // A worker that slept in `put_inventory` of the first store since before the take-over wakes: its put makes the folder
    // of the assembly anew; then it learns that its lease is gone.
    let stray = home.file("primary", &format!(".strongroom/assembly/{}/v1/inventory.json", version.id));
    std::fs::create_dir_all(stray.parent().expect("a folder")).expect("makes it");
    std::fs::copy(
        home.file("primary", &key.replace(key.split("/v1/").nth(1).expect("below"), "inventory.json")),
        &stray,
    )
    .expect("the same inventory");
    std::fs::remove_file(&block).expect("the second store is back");
    home.clock.advance(Duration::from_hours(1));
    work_on(&home.home, &[id], &Shutdown::new()).expect("works");
    assert_eq!(find(&home, id).status, ItemStatus::Succeeded);
}

/// An engine over the same registry and stores, with a layer around one store.
pub(crate) fn layered<L: Layer>(made: &TestHome, name: &str, layer: L) -> Arc<Home> {
    let mut home = Home::with_registry(made.path(), made.settings.clone(), made.registry.clone()).expect("opens");
    let store: Arc<dyn Store> = Arc::new(Layered::new(home.stores[name].clone(), layer));
    home.stores.insert(name.into(), store);
    Arc::new(home)
}

/// An item behind `committing` whose assembly in the second store is lost; and where that lay.
pub(super) fn committing_without_assembly(made: &TestHome) -> (ItemId, PathBuf) {
    let id = hand_in(made, &made.bag("letters", &[("a.txt", b"one")]));
    work_until(made, id, Stage::named("record"));
    let version = made.registry.read(|tx| versions::of_item(tx, id)).expect("reads").expect("a version");
    let brought = made.registry.read(|tx| copies::brought(tx, &version, None, 100)).expect("reads");
    let key = made.registry.read(|tx| objects::copies(tx, brought[0].content)).expect("copies")[0].key.clone();
    let parent: Vec<&str> = key.split('/').take(2).collect();
    let block = made.file("primary", &parent.join("/"));
    std::fs::write(&block, b"in the way").expect("blocks");
    work_until_its_commit_fails(&made.home, id);
    let assembly = made.file("secondary", &format!(".strongroom/assembly/{}", version.id));
    std::fs::remove_dir_all(&assembly).expect("is lost");
    std::fs::remove_file(block).expect("unblocks");
    made.clock.advance(Duration::from_hours(1));
    (id, assembly)
}

#[test]
fn what_does_not_read_back_behind_committing_is_written_again() {
    let made = home();
    let (id, assembly) = committing_without_assembly(&made);
    // A medium that changes one byte of the first content that is put.
    let is_content = |call: Call<'_>| call.operation == Operation::Put && call.key.as_str().contains("content/");
    let spoiling = Meanwhile::new(When::After, is_content, move |key| {
        let file = assembly.join(key.as_str());
        let mut bytes = std::fs::read(&file).expect("was put");
        bytes[0] ^= 1;
        std::fs::write(&file, bytes).expect("changes a byte");
    });
    let spoiling = layered(&made, "secondary", spoiling);
    work_on(&spoiling, &[id], &Shutdown::new()).expect("works");
    let ended = find(&made, id);
    assert_eq!(ended.status, ItemStatus::Succeeded, "{:?}", ended.note);
    let all = FixityRequest { all: true, ..FixityRequest::default() };
    let summary = fixity::run(&made, &all, &mut |_| ()).expect("checks");
    assert_eq!(summary.damaged, 0, "it succeeded, and a copy that counts as verified is wrong: {summary:?}");
}

/// A process that ends between the puts and the first sync.
struct Ending(AtomicBool);

impl Layer for Ending {
    fn call<T>(&self, call: Call<'_>, act: &mut dyn FnMut() -> Result<T, StorageError>) -> Result<T, StorageError> {
        if call.operation == Operation::Sync && !self.0.swap(true, Ordering::SeqCst) {
            let source = std::io::Error::other("the process ends here");
            return Err(StorageError::Io { store: call.store.into(), act: "sync", key: call.key.clone(), source });
        }
        act()
    }
}

#[test]
fn what_was_made_again_behind_committing_by_an_attempt_that_ended_is_read_back_by_the_next() {
    let made = home();
    let (id, _) = committing_without_assembly(&made);
    let made_again = strongroom_database::Clock::now(&*made.clock);
    let ending = layered(&made, "secondary", Ending(AtomicBool::new(false)));
    work_on(&ending, &[id], &Shutdown::new()).expect("works");
    assert_eq!(find(&made, id).status, ItemStatus::Succeeded);
    let version = made.registry.read(|tx| versions::of_item(tx, id)).expect("reads").expect("a version");
    let brought = made.registry.read(|tx| copies::brought(tx, &version, None, 100)).expect("reads");
    let copies = brought
        .iter()
        .flat_map(|content| made.registry.read(|tx| objects::copies(tx, content.content)).expect("copies").into_iter());
    let unread =
        copies.filter(|copy| copy.store == "secondary" && copy.verified_at.is_none_or(|at| at < made_again)).count();
    assert_eq!(unread, 0, "copies count as proved that were never read since they were written");
}

/// A store that honours no conditions.
struct Unconditional;

impl Says for Unconditional {
    fn capabilities(&self, of: Capabilities) -> Capabilities {
        Capabilities { conditional_put: false, ..of }
    }
}

#[test]
fn inventories_are_due_again_soon_after_a_commit_in_a_store_that_honours_no_conditions() {
    let made = home();
    let before = strongroom_database::Clock::now(&*made.clock);
    let home = Arc::new(saying(&made, [("secondary", Arc::new(Unconditional))]));
    let id = hand_in(&made, &made.bag("letters", &[("a.txt", b"one")]));
    work_on(&home, &[id], &Shutdown::new()).expect("works");
    assert_eq!(find(&made, id).status, ItemStatus::Succeeded);
    let object = made.object("letters").id;
    let copies = made.registry.read(|tx| objects::object_copies(tx, object)).expect("copies");
    let checked_at = |name: &str| copies.iter().find(|(store, ..)| store == name).expect("a copy").2;
    assert!(checked_at("primary") >= before, "a whole interval from now on");
    // Due when every lease of before the commit has ended, and not at once.
    let interval = i64::try_from(made.settings.fixity.max_age.as_micros()).expect("fits");
    let due = checked_at("secondary").plus(interval);
    assert!(due > before && due < before.plus(3_600_000_000), "{due:?}");
}

#[test]
fn a_root_inventory_that_is_damaged_behind_committing_is_put_back_and_the_version_published() {
    let made = home();
    let (id, inventory) = second_version_behind_committing(&made);
    let root = made.file("secondary", &inventory);
    let bytes = std::fs::read(&root).expect("reads");
    std::fs::write(&root, &bytes[..bytes.len() - 1]).expect("damages it");
    made.clock.advance(std::time::Duration::from_hours(1));
    finish(&made, id);
    assert_eq!(made.object("letters").head, 2);
    let found = fixity::problems(&made, None, None, 10).expect("problems");
    assert!(found.is_empty(), "{found:?}");
    assert_eq!(made.keys("quarantine").len(), 2, "the bytes and their note");
    let all = FixityRequest { all: true, ..FixityRequest::default() };
    let summary = fixity::run(&made, &all, &mut |_| ()).expect("checks");
    assert_eq!((summary.checked, summary.damaged, summary.failed), (summary.passed, 0, 0), "{summary:?}");
}

#[test]
fn a_version_whose_rows_changed_behind_committing_is_not_published() {
    let made = home();
    let (id, _) = second_version_behind_committing(&made);
    made.change_rows("-- name: change\nUPDATE versions SET message = message || ', changed' WHERE number = 2");
    made.clock.advance(Duration::from_hours(1));
    let workers = strongroom_engine::build_runtime(&made.home, None).expect("a runtime").build();
    let is_refused = || find(&made, id).note.is_some_and(|note| note.contains("no longer the one that was committed"));
    workers.run_until(&Shutdown::new(), &|| find(&made, id).status.is_ended() || is_refused());
    assert!(is_refused(), "{:?}", find(&made, id));
    assert_eq!(made.object("letters").head, 1);
    made.change_rows(
        "-- name: change\nUPDATE versions SET message = replace(message, ', changed', '') WHERE number = 2",
    );
    made.clock.advance(Duration::from_hours(1));
    finish(&made, id);
    assert_eq!(made.object("letters").head, 2);
}
