//! Right stores that are refused, a wrong one that is taken, and work that does not go on.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use strongroom_engine::backfill::Retirement;
use strongroom_engine::fixity::{self, FixityRequest};
use strongroom_engine::rebuild::{self, AdoptRequest};
use strongroom_engine::runtime::Shutdown;
use strongroom_engine::settings::Settings;
use strongroom_engine::watermark::{self, StoredWatermark};
use strongroom_engine::{Availability, EngineError, Home, backfill, build_runtime, work_on};
use strongroom_registry::{ItemId, ItemStatus, Stage, VersionState, stores, versions};
use strongroom_storage::{Capabilities, FolderStore, Key, StorageError};
use strongroom_storage_test::{Call, Layer, Layered, Operation};

use super::{MARK, check, is_commit, item, mark_behind_a_commit, state, submit, work_until_it_waits};
use crate::fixture::{KEPT_IN, TestHome, home};
use crate::ingest::committing::{layered, second_version_behind_committing, work_until_its_commit_fails};
use crate::ingest::hand_in;
use crate::ingest::identity::work_until;
use crate::meanwhile::{Meanwhile, When};
use crate::saying::{Says, saying};

/// Another disk is mounted where a retired store was. Taking the retired store into use again is no answer to what lies there:
/// that is another store, which no registry knows.
#[test]
fn a_retired_store_is_not_exchanged_for_another_one_by_taking_it_into_use_again() {
    let made = home();
    made.ingest("letters", &[("a.txt", b"dear reader")]);
    check(&made);
    let retirement =
        backfill::retire(&made, &crate::fixture::retire_request("secondary", true), &mut |_| Ok::<_, EngineError>(()))
            .expect("asks");
    assert!(matches!(retirement, Retirement::Retired(_)), "{retirement:?}");
    let known = |home: &Home| {
        let known = home.registry.read(stores::list).expect("lists");
        known.into_iter().find(|known| known.name == "secondary").expect("is known").id
    };
    let before = known(&made);
    let folder = made.path().join("stores/secondary");
    fs::rename(&folder, made.path().join("elsewhere")).expect("takes it away");
    FolderStore::create("other", &folder).expect("another store lies there");
    let again = made.opened_again();
    assert_eq!(state(&again, "secondary").availability, Availability::Refused);
    let undone = backfill::use_again(&again, "secondary").map_err(|error| error.chain());
    assert!(undone.is_err(), "another store took the place without being asked for");
    assert_eq!(known(&again), before, "the registry has forgotten the retired store");
}

/// A store gets another name in the settings before anything is kept in it: no store of the settings has its id, so it is taken.
#[test]
fn a_store_that_got_another_name_in_the_settings_is_not_taken_for_two() {
    let made = home();
    let text = fs::read_to_string(made.path().join("strongroom.toml")).expect("settings");
    let text = text
        .replace("[\"primary\", \"secondary\"]", "[\"primary\", \"tertiary\"]")
        .replace("[stores.secondary]", "[stores.tertiary]");
    let settings = Settings::from_toml(&text).expect("settings");
    let renamed =
        || Arc::new(Home::with_registry(made.path(), settings.clone(), made.registry.clone()).expect("opens the home"));
    let first = renamed();
    let id = submit(&first, &made, "letters", &[("a.txt", b"dear reader")]);
    let ended = work_until_it_waits(&first, id);
    assert_eq!(ended.status, ItemStatus::Succeeded, "{:?}", ended.note);
    drop(first);
    let later = renamed();
    assert_eq!(state(&later, "tertiary").availability, Availability::Available);
    let id = submit(&later, &made, "diaries", &[("d.txt", b"dear diary")]);
    let ended = work_until_it_waits(&later, id);
    assert_eq!(ended.status, ItemStatus::Succeeded, "{:?}", ended.note);
}

/// The mark of a store is damaged, and a person adopts, as the refusal says. What lies in the store is right.
#[test]
fn a_store_whose_damaged_mark_was_claimed_by_an_adoption_is_used() {
    let made = home();
    made.ingest("letters", &[("a.txt", b"dear reader")]);
    fs::write(made.file("secondary", MARK), b"{\"form\":1,").expect("damages the mark");
    assert!(made.opened_again().registry.refusal().is_some_and(|reason| reason.contains("cannot be read")));
    let adopting = made.opened_to_adopt();
    let summary = rebuild::adopt(&adopting, &AdoptRequest::default(), &mut |_| ()).expect("adopts");
    assert!(summary.is_complete() && summary.pending.is_empty(), "{summary:?}");
    let again = made.opened_again();
    assert_eq!(again.registry.refusal(), None);
    let state = state(&again, "secondary");
    assert_eq!(state.availability, Availability::Available, "{state:?}");
}

/// An item whose version is to be the first of its object, lies in `primary` already, and failed in `secondary`, whose disk
/// went away and is back; where the root inventory lies in `primary`.
fn first_version_behind_committing(made: &TestHome) -> (ItemId, String) {
    let id = hand_in(made, &made.bag("letters", &[("a.txt", b"dear reader")]));
    work_until(made, id, Stage::named("record"));
    let (folder, gone) = (made.path().join("stores/secondary"), made.path().join("gone"));
    let (from, to) = (folder.clone(), gone.clone());
    let away = Meanwhile::new(When::After, is_commit, move |_| fs::rename(from, to).expect("takes it away"));
    work_until_its_commit_fails(&layered(made, "primary", away), id);
    fs::rename(&gone, &folder).expect("brings it back");
    made.try_stores();
    let inventory = made.keys("primary").into_iter().find(|key| key.ends_with("/v1/inventory.json"));
    (id, inventory.expect("the object").replace("/v1/", "/"))
}

#[test]
fn a_root_inventory_of_a_first_version_that_is_damaged_behind_committing_is_put_back() {
    let made = home();
    let (id, inventory) = first_version_behind_committing(&made);
    let inventory = made.file("primary", &inventory);
    let bytes = fs::read(&inventory).expect("reads");
    fs::write(&inventory, &bytes[..bytes.len() - 1]).expect("damages it");
    assert_succeeds_in_a_while(&made.home, &made, id);
    assert_eq!(made.keys("quarantine").len(), 2, "the damaged bytes and their note");
    let told = crate::rebuild::all_events(&made, &made.object("letters"));
    assert_eq!(told.iter().filter(|event| event.kind == "quarantine").count(), 1, "{told:?}");
    assert_eq!(check(&made).damaged, 0);
}

#[test]
fn a_root_inventory_of_a_first_version_that_cannot_be_read_behind_committing_is_put_back() {
    let made = home();
    let (id, inventory) = first_version_behind_committing(&made);
    let layered = layered(&made, "primary", Unreadable { key: inventory, is_put: AtomicBool::new(false) });
    assert_succeeds_in_a_while(&layered, &made, id);
    assert_eq!(made.keys("quarantine").len(), 1, "a note");
}

/// Another worker has the item when the first one has seen the damage.
#[test]
fn a_worker_that_lost_its_item_puts_back_no_root_inventory_of_a_first_version() {
    let made = Arc::new(home());
    let (id, inventory) = first_version_behind_committing(&made);
    let file = made.file("primary", &inventory);
    let bytes = fs::read(&file).expect("reads");
    fs::write(&file, &bytes[..bytes.len() - 1]).expect("damages it");
    // The last that is compared of the object.
    let last = inventory.replace("/inventory.json", "/v1/inventory.json.sha512");
    let is_damaged = AtomicBool::new(false);
    let is_last = move |call: Call<'_>| {
        let is_read = call.operation == Operation::Open && call.key.as_str() == inventory;
        is_damaged.fetch_or(is_read, Ordering::SeqCst) && call.operation == Operation::Open && call.key.as_str() == last
    };
    let is_lost = Arc::new(AtomicBool::new(false));
    let losing = Meanwhile::new(When::After, is_last, {
        let (made, is_lost) = (made.clone(), is_lost.clone());
        move |_| {
            made.change_rows("-- name: change\nUPDATE work_items SET fence = fence + 1");
            is_lost.store(true, Ordering::SeqCst);
        }
    });
    made.clock.advance(Duration::from_hours(1));
    let workers = build_runtime(&layered(&made, "primary", losing), None).expect("a runtime").build();
    workers.run_until(&Shutdown::new(), &|| is_lost.load(Ordering::SeqCst));
    assert_eq!(made.keys("quarantine"), Vec::<String>::new());
    assert_eq!(fs::read(&file).expect("reads").len(), bytes.len() - 1);
    made.clock.advance(Duration::from_hours(1));
    try_for_a_while(&made.home, &made, id);
    assert_eq!(item(&made, id).status, ItemStatus::Succeeded, "{:?}", item(&made, id).note);
}

/// The registry that adopted the first version goes on to the second, whose root inventory the process of before does not
/// know.
#[test]
fn a_process_of_before_an_adoption_puts_back_no_root_inventory_over_that_of_a_later_version() {
    let made = home();
    let backup = made.backup("early");
    let (id, _) = first_version_behind_committing(&made);
    let (folder, elsewhere) = made.with_registry_elsewhere(&backup);
    let settings = elsewhere.settings.clone();
    let next = made.path().join("letters.tar");
    fs::rename(made.bag("letters", &[("a.txt", b"dear reader, again")]), &next).expect("moves");
    let further = move |_: &Key| {
        rebuild::adopt(&elsewhere, &AdoptRequest::default(), &mut |_| ()).expect("adopts");
        drop(elsewhere);
        let server = Arc::new(Home::open(folder.path(), settings).expect("opens the home"));
        let id = hand_in(&server, &next);
        work_on(&server, &[id], &Shutdown::new()).expect("works");
        let ended = item(&server, id);
        assert_eq!(ended.status, ItemStatus::Succeeded, "{:?}", ended.note);
    };
    let before = layered(&made, "primary", Meanwhile::new(When::After, is_commit, further));
    made.clock.advance(Duration::from_hours(1));
    let workers = build_runtime(&before, None).expect("a runtime").build();
    let is_refused = || item(&made, id).note.is_some_and(|note| note.contains("another registry"));
    workers.run_until(&Shutdown::new(), &|| item(&made, id).status.is_ended() || is_refused());
    for store in KEPT_IN {
        let latest = made.keys(store).into_iter().find(|key| key.ends_with("/v2/inventory.json")).expect("version 2");
        let read = |key: &str| fs::read_to_string(made.file(store, key)).expect("reads");
        assert_eq!(read(&latest.replace("/v2/", "/")), read(&latest), "{store}");
    }
    assert!(is_refused(), "{:?}", item(&made, id));
}

/// Tries the item again and again, each time an hour later, until it has ended.
fn try_for_a_while(home: &Arc<Home>, made: &TestHome, id: ItemId) {
    let workers = build_runtime(home, None).expect("a runtime").build();
    let begun = Instant::now();
    let tries = std::cell::Cell::new(0);
    workers.run_until(&Shutdown::new(), &|| {
        let item = item(made, id);
        if item.status == ItemStatus::Pending && item.retry_count >= tries.get() {
            tries.set(item.retry_count + 1);
            made.clock.advance(Duration::from_hours(1));
        }
        item.status.is_ended() || tries.get() > 6 || begun.elapsed() > Duration::from_secs(15)
    });
}

fn assert_succeeds_in_a_while(home: &Arc<Home>, made: &TestHome, id: ItemId) {
    try_for_a_while(home, made, id);
    let ended = item(made, id);
    assert_eq!(ended.status, ItemStatus::Succeeded, "{:?} at {}", ended.note, ended.stage);
}

/// A store that honours no conditions on puts.
struct NoConditions;

impl Says for NoConditions {
    fn capabilities(&self, of: Capabilities) -> Capabilities {
        Capabilities { conditional_put: false, ..of }
    }
}

/// A process that works with an older state of the registry is stopped by the marks, whether or not it has written them before
/// and whatever the stores honour.
#[test]
fn a_process_of_before_an_adoption_publishes_nothing_into_stores_without_conditions() {
    let made = home();
    made.ingest("letters", &[("a.txt", b"one")]);
    let backup = made.backup("early");
    let says = Arc::new(NoConditions);
    let before = Arc::new(saying(&made, [("primary", says.clone()), ("secondary", says)]));
    let id = submit(&before, &made, "letters", &[("a.txt", b"one, changed")]);
    work_on(&before, &[id], &Shutdown::new()).expect("works");
    assert_eq!(item(&made, id).status, ItemStatus::Succeeded);
    let (_folder, elsewhere) = made.with_registry_elsewhere(&backup);
    rebuild::adopt(&elsewhere, &AdoptRequest::default(), &mut |_| ()).expect("adopts");
    let marks = || fs::read_to_string(made.file("primary", MARK)).expect("reads the mark");
    let adopted = marks();
    let id = submit(&before, &made, "diaries", &[("d.txt", b"dear diary")]);
    let workers = build_runtime(&before, None).expect("a runtime").build();
    let begun = Instant::now();
    workers.run_until(&Shutdown::new(), &|| {
        assert!(begun.elapsed() < Duration::from_mins(1), "{:?}", item(&made, id));
        let version = made.registry.read(|tx| versions::of_item(tx, id)).expect("reads");
        let is_tried = version.is_some_and(|version| version.state == VersionState::Committing)
            && item(&made, id).status == ItemStatus::Pending;
        item(&made, id).status.is_ended() || is_tried
    });
    let ended = item(&made, id);
    assert_ne!(ended.status, ItemStatus::Succeeded, "the registry of before publishes nothing; {adopted} {}", marks());
}

/// Works with a registry of before until an item tells why it is not published.
fn work_until_refused(before: &Arc<Home>, id: ItemId, why: &str) {
    let workers = build_runtime(before, None).expect("a runtime").build();
    let begun = Instant::now();
    workers.run_until(&Shutdown::new(), &|| {
        let item = item(before, id);
        assert!(begun.elapsed() < Duration::from_mins(1), "{:?}", item.note);
        item.status.is_ended() || item.note.is_some_and(|note| note.contains(why))
    });
    assert!(!item(before, id).status.is_ended(), "{:?}", item(before, id).note);
}

/// The act is under way when the stores are adopted.
#[test]
fn a_late_act_does_not_put_its_mark_in_the_place_of_an_adopted_one_where_no_conditions_are_honoured() {
    let made = home();
    made.ingest("letters", &[("a.txt", b"one")]);
    let (folder, elsewhere) = made.with_registry_elsewhere(&made.backup("early"));
    let settings = elsewhere.settings.clone();
    let says = Arc::new(NoConditions);
    let mut before = saying(&made, [("primary", says.clone()), ("secondary", says)]);
    let adopting = Meanwhile::new(When::Before, is_commit, move |_| {
        rebuild::adopt(&elsewhere, &AdoptRequest::default(), &mut |_| ()).expect("adopts");
    });
    let inner = before.stores["secondary"].clone();
    before.stores.insert("secondary".into(), Arc::new(Layered::new(inner, adopting)));
    let id = submit(&before, &made, "diaries", &[("d.txt", b"dear diary")]);
    work_until_refused(&Arc::new(before), id, "adopted by another state");
    let again = Home::open(folder.path(), settings).expect("opens the home");
    assert!(again.registry.refusal().is_some_and(|reason| reason.contains("older state")), "it learns of the act");
}

/// The mark tells of more acts than the process of before has announced.
#[test]
fn a_process_of_before_an_adoption_does_nothing_where_later_acts_are_marked() {
    let made = home();
    made.ingest("letters", &[("a.txt", b"one")]);
    let backup = made.backup("early");
    made.ingest("letters", &[("a.txt", b"one, changed")]);
    let (folder, elsewhere) = made.with_registry_elsewhere(&backup);
    let settings = elsewhere.settings.clone();
    rebuild::adopt(&elsewhere, &AdoptRequest::default(), &mut |_| ()).expect("adopts");
    drop(elsewhere);
    let server = Arc::new(Home::open(folder.path(), settings).expect("opens the home"));
    for name in ["maps", "plans"] {
        let id = submit(&server, &made, name, &[("m.txt", name.as_bytes())]);
        work_on(&server, &[id], &Shutdown::new()).expect("works");
        assert_eq!(item(&server, id).status, ItemStatus::Succeeded, "{:?}", item(&server, id).note);
    }
    let mark = || fs::read_to_string(made.file("primary", MARK)).expect("reads the mark");
    let marked = mark();
    let id = submit(&made, &made, "diaries", &[("d.txt", b"dear diary")]);
    work_until_refused(&made.home, id, "older state of itself");
    assert_eq!(mark(), marked);
}

/// What lies in a folder is exchanged for another store, as `rsync --delete` does it: the folder itself stays the same one.
#[test]
fn nothing_is_published_into_an_exchanged_folder_of_which_no_act_was_noted() {
    let made = home();
    let folder = made.path().join("stores/secondary");
    for entry in fs::read_dir(&folder).expect("lists") {
        let path = entry.expect("an entry").path();
        if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) }.expect("removes");
    }
    let other = FolderStore::create("other", &folder).expect("another store lies there").id();
    let known = made.registry.read(stores::list).expect("lists");
    assert!(known.iter().all(|known| known.id != other));
    let id = submit(&made, &made, "letters", &[("a.txt", b"dear reader")]);
    let waiting = work_until_it_waits(&made.home, id);
    assert_ne!(waiting.status, ItemStatus::Succeeded, "published into the store {other}, which no registry knows");
}

/// A process sleeps between the last write of a mark and its note, and the store is taken anew meanwhile.
#[test]
fn a_mark_that_is_noted_late_does_not_refuse_a_store_that_was_taken_anew_meanwhile() {
    let made = home();
    made.ingest("letters", &[("a.txt", b"dear reader")]);
    let mark = made.file("secondary", MARK);
    let older = fs::read(&mark).expect("reads the mark");
    made.ingest("maps", &[("m.txt", b"a map")]);
    let other = Arc::new(made.opened_again());
    let taken_anew = Meanwhile::new(When::After, mark_behind_a_commit(), move |_| {
        fs::write(&mark, &older).expect("puts the older mark back");
        backfill::replace(&other, "secondary").expect("replaces");
    });
    let layered = layered(&made, "secondary", taken_anew);
    let id = submit(&layered, &made, "diaries", &[("d.txt", b"dear diary")]);
    let runtime = build_runtime(&layered, None).expect("a runtime").build();
    let begun = Instant::now();
    let replaced = || {
        let known = made.registry.read(stores::list).expect("lists");
        known.into_iter().find(|known| known.name == "secondary").expect("is known")
    };
    let before = replaced().recorded_at;
    runtime.run_until(&Shutdown::new(), &|| {
        assert!(begun.elapsed() < Duration::from_mins(1), "{:?}", item(&made, id));
        replaced().recorded_at != before && item(&made, id).status != ItemStatus::Started
    });
    let state = state(&made.opened_again(), "secondary");
    assert_eq!(state.availability, Availability::Available, "{state:?}, {:?}", replaced());
}

/// What was put before a store was taken anew tells nothing of what lies there now.
#[test]
fn a_repair_is_not_recorded_in_a_store_that_was_taken_anew_meanwhile() {
    let made = home();
    made.ingest("letters", &[("a.txt", b"dear reader")]);
    let mark = made.file("secondary", MARK);
    let older = fs::read(&mark).expect("reads the mark");
    made.ingest("maps", &[("m.txt", b"a map")]);
    let content = made.keys("secondary").into_iter().find(|key| key.contains("/content/")).expect("a content");
    fs::write(made.file("secondary", &content), b"other bytes").expect("damages it");
    let other = Arc::new(made.opened_again());
    let is_repair = move |call: Call<'_>| call.operation == Operation::Put && call.key.as_str() == content;
    let taken_anew = Meanwhile::new(When::After, is_repair, move |_| {
        fs::write(&mark, &older).expect("puts the older mark back");
        backfill::replace(&other, "secondary").expect("replaces");
    });
    let request = FixityRequest { all: true, store: Some("secondary".into()), ..FixityRequest::default() };
    let summary = fixity::run(&layered(&made, "secondary", taken_anew), &request, &mut |_| ()).expect("checks");
    assert_eq!((summary.damaged, summary.repaired), (0, 0), "{summary:?}");
    assert!(summary.failed > 0, "{summary:?}");
}

/// A medium that cannot read one file until it is put again.
struct Unreadable {
    key: String,
    is_put: AtomicBool,
}

impl Layer for Unreadable {
    fn call<T>(&self, call: Call<'_>, act: &mut dyn FnMut() -> Result<T, StorageError>) -> Result<T, StorageError> {
        if call.key.as_str() != self.key || self.is_put.load(Ordering::SeqCst) {
            return act();
        }
        match call.operation {
            Operation::Open => Err(StorageError::Io {
                store: "secondary".into(),
                act: "read",
                key: call.key.clone(),
                source: std::io::Error::from_raw_os_error(5),
            }),
            Operation::Put => {
                self.is_put.store(true, Ordering::SeqCst);
                act()
            }
            _ => act(),
        }
    }
}

#[test]
fn a_root_inventory_that_cannot_be_read_is_put_back_before_a_deposit_builds_on_it() {
    let made = home();
    made.ingest("letters", &[("a.txt", b"dear reader")]);
    let inventory = made.keys("secondary").into_iter().find(|key| key.ends_with("/v1/inventory.json"));
    let key = inventory.expect("an object").replace("/v1/", "/");
    let layered = layered(&made, "secondary", Unreadable { key, is_put: AtomicBool::new(false) });
    let id = hand_in(&made, &made.bag("letters", &[("a.txt", b"dear reader, again")]));
    assert_succeeds_in_a_while(&layered, &made, id);
}

/// A root inventory behind `committing` lies in a sector that cannot be read any more.
#[test]
fn a_root_inventory_that_cannot_be_read_behind_committing_is_put_back_and_the_version_published() {
    let made = home();
    let (id, inventory) = second_version_behind_committing(&made);
    let layered = layered(&made, "secondary", Unreadable { key: inventory, is_put: AtomicBool::new(false) });
    assert_succeeds_in_a_while(&layered, &made, id);
}

const FOREIGN: &[u8] = br#"{"form":1,"registry":"0198f000-0000-7000-8000-000000000001","term":0,"acts":1}"#;

/// Two registries begin with a store at the same moment.
#[test]
fn the_mark_of_a_registry_that_was_first_is_not_overwritten() {
    let made = home();
    let mark = made.file("secondary", MARK);
    let is_mark = |call: Call<'_>| call.operation == Operation::Put && call.key.as_str() == MARK;
    let first = Meanwhile::new(When::Before, is_mark, {
        let mark = mark.clone();
        move |_| {
            fs::create_dir_all(mark.parent().expect("a folder")).expect("makes a folder");
            fs::write(mark, FOREIGN).expect("writes");
        }
    });
    let layered = layered(&made, "secondary", first);
    let id = submit(&layered, &made, "letters", &[("a.txt", b"dear reader")]);
    let workers = build_runtime(&layered, None).expect("a runtime").build();
    workers.run_until(&Shutdown::new(), &|| item(&made, id).status.is_ended() || item(&made, id).retry_count > 0);
    assert_ne!(item(&made, id).status, ItemStatus::Succeeded);
    assert_eq!(fs::read_to_string(mark).expect("reads"), String::from_utf8_lossy(FOREIGN));
}

/// A medium that cannot read some files until they are put again.
struct UnreadableFiles {
    keys: Vec<String>,
    put: std::sync::Mutex<Vec<String>>,
}

impl Layer for UnreadableFiles {
    fn call<T>(&self, call: Call<'_>, act: &mut dyn FnMut() -> Result<T, StorageError>) -> Result<T, StorageError> {
        let key = call.key.as_str().to_owned();
        let mut put = self.put.lock().expect("locks");
        if !self.keys.contains(&key) || put.contains(&key) {
            return act();
        }
        match call.operation {
            Operation::Open => Err(StorageError::Io {
                store: "primary".into(),
                act: "read",
                key: call.key.clone(),
                source: std::io::Error::from_raw_os_error(5),
            }),
            Operation::Put => {
                put.push(key);
                act()
            }
            _ => act(),
        }
    }
}

/// Both inventories of a first version lie in sectors that cannot be read any more. The item can make them again, byte for
/// byte; and it is tried without end, so that no try may keep evidence anew.
#[test]
fn both_inventories_of_a_first_version_that_cannot_be_read_are_put_back_or_kept_as_evidence_once() {
    let made = home();
    let (id, inventory) = first_version_behind_committing(&made);
    let version = inventory.replace("/inventory.json", "/v1/inventory.json");
    let layer = UnreadableFiles { keys: vec![inventory, version], put: std::sync::Mutex::default() };
    let layered = layered(&made, "primary", layer);
    try_for_a_while(&layered, &made, id);
    let ended = item(&made, id);
    let kept = made.keys("quarantine");
    assert!(kept.len() <= 2, "one note for each file, and not anew at each try: {kept:#?}");
    assert_eq!(ended.status, ItemStatus::Succeeded, "{:?} at {}", ended.note, ended.stage);
}

/// The mark of a store is damaged while a version is published, and a person adopts, as the refusal says, beside the process
/// that works with the very same registry. That registry knows of the act: it announced it.
#[test]
fn an_adoption_beside_a_worker_of_the_same_registry_does_not_stop_it_for_good() {
    let made = home();
    made.ingest("letters", &[("a.txt", b"dear reader")]);
    let mark = made.file("secondary", MARK);
    let path = made.path().to_owned();
    let settings = made.settings.clone();
    let adopt = move |_: &Key| {
        fs::write(&mark, b"{\"form\":1,").expect("damages the mark");
        let adopting = Home::open_to_adopt(&path, settings).expect("opens");
        let only = AdoptRequest { stores: vec!["secondary".into()], ..AdoptRequest::default() };
        let summary = rebuild::adopt(&adopting, &only, &mut |_| ()).expect("adopts");
        assert!(summary.is_complete() && summary.pending.is_empty(), "{summary:?}");
    };
    let layered = layered(&made, "secondary", Meanwhile::new(When::Before, is_commit, adopt));
    let id = submit(&layered, &made, "diaries", &[("d.txt", b"dear diary")]);
    assert_succeeds_in_a_while(&layered, &made, id);
    assert_eq!(made.opened_again().registry.refusal(), None);
}

/// The home, where the secondary store honours no conditions, and a late put of a mark lands there behind the first commit.
fn with_a_late_mark(made: &TestHome, mark: std::path::PathBuf, bytes: Vec<u8>) -> Arc<Home> {
    let late = Meanwhile::new(When::After, is_commit, move |_| fs::write(&mark, &bytes).expect("a late put"));
    let mut home = saying(made, [("secondary", Arc::new(NoConditions))]);
    let store: Arc<dyn strongroom_storage::Store> = Arc::new(Layered::new(home.stores["secondary"].clone(), late));
    home.stores.insert("secondary".into(), store);
    Arc::new(home)
}

/// In a store without conditions a late put of a mark of an earlier term lands between an act and the mark behind it.
#[test]
fn a_late_mark_of_an_earlier_term_does_not_stop_the_registry_that_adopted() {
    let made = home();
    made.ingest("letters", &[("a.txt", b"dear reader")]);
    let mark = made.file("secondary", MARK);
    let earlier = fs::read(&mark).expect("the mark of the first term");
    // A new term, in both stores.
    for store in ["primary", "secondary"] {
        fs::write(made.file(store, MARK), b"{\"form\":1,").expect("damages the mark");
    }
    let adopting = made.opened_to_adopt();
    rebuild::adopt(&adopting, &AdoptRequest::default(), &mut |_| ()).expect("adopts");
    drop(adopting);
    let again = made.opened_again();
    assert_eq!(again.registry.refusal(), None);
    drop(again);
    let home = with_a_late_mark(&made, mark, earlier);
    let id = submit(&home, &made, "diaries", &[("d.txt", b"dear diary")]);
    assert_succeeds_in_a_while(&home, &made, id);
}

/// A root inventory of a first version is damaged in the attempt that has marked the version `committing`.
#[test]
fn a_root_inventory_of_a_first_version_is_put_back_in_the_attempt_that_began_the_commit() {
    let made = home();
    let id = hand_in(&made, &made.bag("letters", &[("a.txt", b"dear reader")]));
    work_until(&made, id, Stage::named("record"));
    let folder = made.path().join("stores/primary");
    let damage = Meanwhile::new(When::After, is_commit, move |key| {
        let inventory = folder.join(key.as_str()).join("inventory.json");
        let bytes = fs::read(&inventory).expect("reads");
        fs::write(&inventory, &bytes[..bytes.len() - 1]).expect("damages it");
    });
    let layered = layered(&made, "primary", damage);
    try_for_a_while(&layered, &made, id);
    assert_eq!(item(&made, id).status, ItemStatus::Succeeded);
    let history = made
        .registry
        .read(|tx| strongroom_registry::items::history(tx, strongroom_registry::Scope::System, id))
        .expect("its history");
    let failed: Vec<_> =
        history.into_iter().filter_map(|line| line.note).filter(|note| note.contains("inventory")).collect();
    assert!(failed.is_empty(), "{failed:?}");
}

/// A worker that commits a first version sleeps after it checked the mark, over an adoption elsewhere and a second version.
#[test]
fn a_worker_that_slept_over_an_adoption_puts_no_first_version_over_a_second() {
    let made = home();
    let (id, inventory) = first_version_behind_committing(&made);
    let backup = made.backup("early");
    made.ingest("diaries", &[("d.txt", b"dear diary")]);
    let (folder, elsewhere) = made.with_registry_elsewhere(&backup);
    let settings = elsewhere.settings.clone();
    let root = made.file("primary", &inventory);
    let bytes = fs::read(&root).expect("reads");
    fs::write(&root, &bytes[..bytes.len() - 1]).expect("damages it");
    let bag = made.path().join("bags/letters.tar");
    let first = fs::read(&bag).expect("the first deposit");
    made.bag("letters", &[("a.txt", b"dear reader, again")]);
    let second = made.path().join("second");
    fs::create_dir_all(&second).expect("makes a folder");
    fs::rename(&bag, second.join("letters.tar")).expect("moves it");
    fs::write(&bag, first).expect("puts it back");
    let (slept, has_slept) = std::sync::mpsc::channel();
    let asleep = {
        let root = root.clone();
        move |_: &Key| {
            fs::write(&root, &bytes).expect("puts it back");
            rebuild::adopt(&elsewhere, &AdoptRequest::default(), &mut |_| ()).expect("adopts");
            drop(elsewhere);
            let again = Arc::new(Home::open(folder.path(), settings).expect("opens the home"));
            assert_eq!(again.registry.refusal(), None);
            let later = hand_in(&again, &second.join("letters.tar"));
            work_on(&again, &[id, later], &Shutdown::new()).expect("works");
            let ended = item(&again, later);
            assert_eq!(ended.status, ItemStatus::Succeeded, "{:?} at {}", ended.note, ended.stage);
            assert_eq!(ended.version, Some(2));
            slept.send(fs::read(&root).expect("the second root inventory")).expect("is heard");
        }
    };
    let is_committed = AtomicBool::new(false);
    let is_look = move |call: Call<'_>| {
        let is_mark = call.operation == Operation::Open && call.key.as_str() == MARK;
        is_committed.fetch_or(is_commit(call), Ordering::SeqCst) && is_mark
    };
    let layered = layered(&made, "primary", Meanwhile::new(When::After, is_look, asleep));
    try_for_a_while(&layered, &made, id);
    let published = has_slept.try_recv().expect("the second version is published");
    let found = fs::read(&root).expect("reads");
    assert!(found == published, "the root inventory of a published second version was replaced by that of the first");
}

/// As `a_late_act_is_learned_of_also_where_the_registry_that_adopted_works_on`; but the late act ends in one store alone, since
/// the other is away by then. No mark tells of it.
#[test]
fn a_late_act_that_ends_in_one_store_alone_is_learned_of() {
    let made = home();
    made.ingest("letters", &[("a.txt", b"one")]);
    let backup = made.backup("early");
    // The registry elsewhere is behind, so that it adopts.
    made.ingest("letters", &[("a.txt", b"one, changed")]);
    let (folder, elsewhere) = made.with_registry_elsewhere(&backup);
    let settings = elsewhere.settings.clone();
    let (secondary, gone) = (made.path().join("stores/secondary"), made.path().join("gone"));
    let (from, to) = (secondary.clone(), gone.clone());
    let adopt = move |_: &Key| {
        let summary = rebuild::adopt(&elsewhere, &AdoptRequest::default(), &mut |_| ()).expect("adopts");
        assert!(summary.is_complete() && summary.pending.is_empty(), "{summary:?}");
        fs::rename(from, to).expect("takes it away");
    };
    let layered = layered(&made, "primary", Meanwhile::new(When::Before, is_commit, adopt));
    let id = submit(&layered, &made, "maps", &[("m.txt", b"a map")]);
    let before = made.keys("primary").len();
    work_until_it_waits(&layered, id);
    fs::rename(&gone, &secondary).expect("brings it back");
    assert!(made.keys("primary").len() > before, "the late act ended in one store");
    layered.try_stores();
    try_for_a_while(&layered, &made, id);
    let ended = item(&made, id);
    assert!(ended.note.as_ref().is_some_and(|note| note.contains("older state")), "{:?}", ended.note);
    let again = Home::open(folder.path(), settings).expect("opens the home");
    assert!(
        again.registry.refusal().is_some(),
        "primary holds a version that the registry which adopted it does not know"
    );
}

/// A medium that fails at an operation on the mark.
struct MarkFails(Operation);

impl Layer for MarkFails {
    fn call<T>(&self, call: Call<'_>, act: &mut dyn FnMut() -> Result<T, StorageError>) -> Result<T, StorageError> {
        if call.key.as_str() != MARK || call.operation != self.0 {
            return act();
        }
        let source = std::io::Error::from_raw_os_error(5);
        Err(StorageError::Io { store: "secondary".into(), act: "use", key: call.key.clone(), source })
    }
}

#[test]
fn a_mark_that_cannot_be_read_is_not_taken_for_none_and_one_of_another_form_is_told() {
    let made = home();
    made.ingest("letters", &[("a.txt", b"dear reader")]);
    for operation in [Operation::Head, Operation::Open] {
        let failing = layered(&made, "secondary", MarkFails(operation));
        let found = watermark::read(failing.store("secondary").expect("a store").as_ref());
        assert!(matches!(found, Err(StorageError::Io { .. })), "{operation:?}: {found:?}");
    }
    let file = made.file("secondary", MARK);
    let later = fs::read_to_string(&file).expect("reads").replace("\"form\":1", "\"form\":2");
    fs::write(&file, later).expect("writes");
    let found = watermark::read(made.store("secondary").expect("a store").as_ref()).expect("reads");
    assert!(matches!(&found, StoredWatermark::Unreadable(why) if why.contains("form 2")), "{found:?}");
}

#[test]
fn a_mark_that_cannot_be_written_is_told_as_what_it_is() {
    let made = home();
    let failing = layered(&made, "secondary", MarkFails(Operation::Put));
    let id = submit(&failing, &made, "letters", &[("a.txt", b"dear reader")]);
    let workers = build_runtime(&failing, None).expect("a runtime").build();
    workers.run_until(&Shutdown::new(), &|| item(&made, id).status.is_ended() || item(&made, id).retry_count > 0);
    let note = item(&made, id).note.expect("a note");
    assert!(note.contains("Input/output error"), "{note}");
}

/// A snapshot of before an act takes the place of a store between the act and the mark behind it.
#[test]
fn a_store_that_was_put_back_between_an_act_and_its_mark_is_written_to_again() {
    let made = home();
    made.ingest("letters", &[("a.txt", b"dear reader")]);
    let mark = made.file("secondary", MARK);
    let earlier = fs::read(&mark).expect("reads");
    let folder = made.path().join("stores/secondary");
    let put_back = Meanwhile::new(When::After, is_commit, move |key| {
        fs::remove_dir_all(folder.join(key.as_str())).expect("takes the object out");
        fs::write(&mark, &earlier).expect("puts the mark back");
    });
    let layered = layered(&made, "secondary", put_back);
    let id = submit(&layered, &made, "diaries", &[("d.txt", b"dear diary")]);
    assert_succeeds_in_a_while(&layered, &made, id);
    let summary = check(&made);
    assert_eq!((summary.damaged, summary.failed), (0, 0), "{summary:?}");
    assert_eq!(made.opened_again().registry.refusal(), None);
}

/// In a store without conditions a late put of an earlier mark lands between an act and the mark behind it. The mark tells of
/// the act all the same, so that a registry which does not know it is refused.
#[test]
fn a_late_mark_of_before_an_act_does_not_hide_it() {
    let made = home();
    made.ingest("letters", &[("a.txt", b"dear reader")]);
    let mark = made.file("secondary", MARK);
    let earlier = fs::read(&mark).expect("the mark of before");
    let home = with_a_late_mark(&made, mark, earlier);
    let id = submit(&home, &made, "diaries", &[("d.txt", b"dear diary")]);
    assert_succeeds_in_a_while(&home, &made, id);
    let acts = |name: &str| match watermark::read(made.store(name).expect("a store").as_ref()).expect("reads") {
        StoredWatermark::Watermark(mark) => mark.acts,
        other => panic!("{other:?}"),
    };
    assert_eq!(acts("secondary"), acts("primary"));
}
