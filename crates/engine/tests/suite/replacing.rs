//! Another store in the place of a lost one: the registry forgets what lay in the lost one, and the new one gets it from the
//! other stores.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use strongroom_engine::backfill::{self, BackfillSummary, Replacement};
use strongroom_engine::fixity::{self, FixityRequest, FixitySummary};
use strongroom_engine::ingest::{DepositRequest, PackageSource, deposit};
use strongroom_engine::runtime::Shutdown;
use strongroom_engine::settings::Settings;
use strongroom_engine::{Availability, EngineError, Home, build_runtime, work_on};
use strongroom_registry::items;
use strongroom_registry::{
    CopyState, FindingState, ItemId, ItemStatus, Registry, Scope, Stage, VersionState, WaitReason, objects, stores,
    versions,
};
use strongroom_storage::{Body, FolderStore, Key, PutOptions, StorageError, Store};
use strongroom_storage_test::{Call, Layer, Operation};

use crate::fixture::{self, INSTITUTION, KEPT_IN, TestHome};
use crate::ingest::committing::layered;
use crate::ingest::hand_in;
use crate::ingest::identity::work_until;
use crate::older::MARK;
use crate::rebuild::{copy_store, dump, rebuilt};

fn lose(made: &TestHome, store: &str) {
    fs::remove_dir_all(made.path().join("stores").join(store)).expect("removes the store");
    made.try_stores();
}

fn replace(made: &Home, store: &str) -> Replacement {
    backfill::replace(made, store).expect("replaces")
}

fn fill(home: &Home, store: &str) -> BackfillSummary {
    backfill::run(home, &backfill::BackfillRequest::new(store), &mut |_| ()).expect("runs")
}

fn check(home: &Home) -> FixitySummary {
    fixity::run(home, &FixityRequest { all: true, ..FixityRequest::default() }, &mut |_| ()).expect("checks")
}

fn availability(home: &Home, store: &str) -> Availability {
    home.store_states().into_iter().find(|state| state.store == store).expect("a store").availability
}

/// Keys of storage roots with their bytes.
fn kept(made: &TestHome, store: &str) -> Vec<(String, Vec<u8>)> {
    let keys = made.keys(store).into_iter().filter(|key| key.starts_with(INSTITUTION));
    keys.map(|key| (key.clone(), fs::read(made.file(store, &key)).expect("reads"))).collect()
}

/// The content of an older version is damaged in one store, and the other store is lost and replaced.
#[test]
fn the_lost_content_of_an_older_version_is_kept_again_from_its_deposit_while_a_store_lacks_it() {
    let made = fixture::home();
    let first: [(&str, &[u8]); 2] = [("a.txt", b"one"), ("b.txt", b"same")];
    made.ingest("letters", &first);
    let copy = kept(&made, "primary").into_iter().find(|(_, bytes)| bytes == b"one").expect("the copy").0;
    made.ingest("letters", &[("a.txt", b"two"), ("b.txt", b"same")]);
    fs::write(made.file("primary", &copy), b"eno").expect("is damaged");
    lose(&made, "secondary");
    replace(&made, "secondary");
    let filled = fill(&made, "secondary");
    assert_eq!(filled.failed, 1, "{filled:?}");

    let work = |files: &[(&str, &[u8])]| {
        let id = hand_in(&made, &made.bag("letters", files));
        work_on(&made, &[id], &Shutdown::new()).expect("works");
        made.registry.read(|tx| items::find(tx, Scope::System, id)).expect("the item")
    };
    let other = work(&[("a.txt", b"three")]);
    let note = other.note.expect("a note");
    assert!(other.status == ItemStatus::Failed && note.contains("deposit a package that has them"), "{note}");
    let same = work(&first);
    assert_eq!((same.status, made.object("letters").head), (ItemStatus::Succeeded, 3), "{:?}", same.note);
    let checked = check(&made);
    assert_eq!((checked.damaged, checked.failed, checked.postponed), (0, 0, 0), "{checked:?}");
    assert!(fixity::problems(&made, None, None, 10).expect("problems").is_empty());
    assert_eq!(fs::read(made.file("primary", &copy)).expect("reads"), b"one");
}

#[test]
fn a_lost_store_is_replaced_by_one_that_holds_what_the_other_stores_hold() {
    let made = fixture::home();
    made.ingest("letters", &[("a.txt", b"dear reader"), ("b.txt", b"yours")]);
    made.ingest("letters", &[("a.txt", b"dear reader, again")]);
    made.ingest("photographs", &[("1.tif", b"II*\0 and so on")]);
    let before = kept(&made, "secondary");
    let known = made.registry.read(stores::list).expect("lists");
    let lost = known.iter().find(|store| store.name == "secondary").expect("is recorded").id;
    lose(&made, "secondary");

    let replacement = replace(&made, "secondary");
    assert_eq!((replacement.replaced, replacement.only_copies), (Some(lost), 0));
    assert_ne!(replacement.id, lost);
    assert_eq!(availability(&made, "secondary"), Availability::Available);
    let summary = fill(&made, "secondary");
    assert_eq!((summary.objects, summary.failed, summary.postponed), (2, 0, 0), "{summary:?}");
    assert_eq!(kept(&made, "secondary"), before);

    let summary = check(&made);
    assert_eq!((summary.checked, summary.damaged, summary.failed), (summary.passed, 0, 0), "{summary:?}");
    assert_eq!(made.ingest("letters", &[("c.txt", b"more")]).head, 3);
    made.ingest("diaries", &[("d.txt", b"dear diary")]);
    assert!(backfill::replace(&made, "secondary").is_err_and(|error| error.chain().contains("nothing is replaced")));
}

#[test]
fn a_registry_is_rebuilt_from_the_replacement_alone() {
    let made = fixture::home();
    made.ingest("letters", &[("a.txt", b"dear reader")]);
    made.ingest("letters", &[("a.txt", b"dear reader, again")]);
    lose(&made, "secondary");
    replace(&made, "secondary");
    fill(&made, "secondary");
    let fresh = fixture::home();
    copy_store(&made, &fresh, "secondary");
    let summary = rebuilt(&fresh, "secondary");
    assert_eq!((summary.objects, summary.versions, summary.failed), (1, 2, 0), "{summary:?}");
    let stores = ["secondary"];
    assert_eq!(dump(&fresh, &stores), dump(&made, &stores));
}

#[test]
fn findings_of_a_lost_store_are_closed_when_its_replacement_is_filled() {
    let made = fixture::home();
    made.ingest("letters", &[("a.txt", b"dear reader")]);
    let keys = made.keys("secondary");
    for key in keys.iter().filter(|key| key.starts_with(INSTITUTION)) {
        fs::remove_file(made.file("secondary", key)).expect("removes");
    }
    let primary = made.path().join("stores/primary");
    fs::rename(&primary, made.path().join("elsewhere")).expect("takes the store away");
    check(&made);
    fs::rename(made.path().join("elsewhere"), &primary).expect("brings the store back");
    let open = || fixity::problems(&made, None, None, 100).expect("problems");
    assert!(!open().is_empty());
    lose(&made, "secondary");
    replace(&made, "secondary");
    let summary = fill(&made, "secondary");
    assert_eq!((summary.objects, summary.failed), (1, 0), "{summary:?}");
    let left: Vec<_> = open().into_iter().filter(|finding| finding.state != FindingState::Repaired).collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn a_content_that_lay_in_the_lost_store_alone_stays_recorded_as_missing() {
    let mut made = fixture::home();
    let text = fs::read_to_string(made.path().join("strongroom.toml")).expect("settings");
    let text = text.replace(&format!("{KEPT_IN:?}"), "[\"secondary\"]");
    let settings = Settings::from_toml(&text).expect("settings");
    let home = Home::with_registry(made.path(), settings, made.registry.clone()).expect("opens");
    made.home = Arc::new(home);
    made.ingest("letters", &[("a.txt", b"dear reader")]);
    lose(&made, "secondary");
    let replacement = replace(&made, "secondary");
    assert!(replacement.only_copies > 0, "{replacement:?}");
    fill(&made, "secondary");
    let summary = check(&made);
    assert!(summary.unrepairable > 0, "{summary:?}");
    assert!(!fixity::problems(&made, None, None, 100).expect("problems").is_empty());
}

#[test]
fn what_belongs_to_another_registry_is_no_replacement() {
    let made = fixture::home();
    made.ingest("letters", &[("a.txt", b"dear reader")]);
    lose(&made, "secondary");
    let store = FolderStore::create("secondary", made.path().join("stores/secondary")).expect("makes a store");
    let mark = "{\"form\":1,\"registry\":\"0197a0c0-0000-7000-8000-000000000000\",\"term\":1,\"acts\":1}\n";
    let key = Key::new(MARK).expect("a key");
    store.put(&key, &mut mark.as_bytes(), &PutOptions::default()).expect("puts");
    let error = backfill::replace(&made, "secondary").expect_err("is refused").chain();
    assert!(error.contains("another registry"), "{error}");
    assert!(made.registry.read(stores::list).expect("lists").iter().all(|store| store.replacing.is_none()));
}

#[test]
fn a_replacement_that_was_cut_short_keeps_the_store_out_of_use_and_goes_on() {
    let made = fixture::home();
    made.ingest("letters", &[("a.txt", b"dear reader")]);
    lose(&made, "secondary");
    let store = FolderStore::create("secondary", made.path().join("stores/secondary")).expect("makes a store");
    let id = store.id();
    made.registry.write(move |tx| stores::begin_replacing(tx, "secondary", id)).expect("begins");
    for home in [made.home.clone(), Arc::new(made.opened_again())] {
        home.try_stores();
        let states = home.store_states();
        let state = states.iter().find(|state| state.store == "secondary").expect("a store");
        assert_eq!(state.availability, Availability::Refused);
        assert!(state.reason.as_deref().is_some_and(|reason| reason.contains("store replace secondary")), "{state:?}");
    }
    assert_eq!(replace(&made, "secondary").id, id);
    assert_eq!(fill(&made, "secondary").objects, 1);
    assert_eq!(check(&made).damaged, 0);
}

#[test]
fn a_version_that_is_being_committed_is_completed_in_the_replacement() {
    let made = fixture::home();
    made.ingest("letters", &[("a.txt", b"dear reader"), ("b.txt", b"yours")]);
    let bag = made.bag("letters", &[("a.txt", b"dear reader, again")]);
    let request = DepositRequest {
        sources: vec![PackageSource::LocalPath(bag.clone())],
        ..DepositRequest::of_system(INSTITUTION)
    };
    let id = deposit(&made, &request).expect("deposits").items.remove(0);
    work_until(&made, id, Stage::named("record"));
    // Something lies in the way of the version in one store, so that the commit fails there behind `committing`.
    let root = made.keys("secondary").into_iter().find(|key| key.ends_with("/v1/inventory.json")).expect("an object");
    let block = made.file("secondary", &root.replace("/v1/inventory.json", "/v2"));
    fs::write(&block, b"in the way").expect("blocks");
    let version = made.registry.read(|tx| versions::of_item(tx, id)).expect("reads").expect("a version");
    let workers = build_runtime(&made.home, None).expect("a runtime").build();
    workers.run_until(&Shutdown::new(), &|| {
        let state = made.registry.read(|tx| versions::get(tx, version.id)).expect("reads").expect("there").state;
        let item = made.registry.read(|tx| items::find(tx, Scope::System, id)).expect("the item");
        state == VersionState::Committing && item.status == ItemStatus::Pending
    });
    lose(&made, "secondary");
    replace(&made, "secondary");
    made.clock.advance(std::time::Duration::from_hours(1));
    work_on(&made.home, &[id], &Shutdown::new()).expect("works");
    let item = made.registry.read(|tx| items::find(tx, Scope::System, id)).expect("the item");
    assert_eq!(item.status, ItemStatus::Succeeded, "{:?}", item.note);
    assert_eq!(fill(&made, "secondary").failed, 0);
    assert_eq!(kept(&made, "secondary"), kept(&made, "primary"));
    assert_eq!(check(&made).damaged, 0);
}

#[test]
fn a_content_whose_only_good_copy_was_in_the_lost_store_is_counted() {
    let made = fixture::home();
    let object = made.ingest("letters", &[("a.txt", b"dear reader")]);
    let files = made.registry.read(|tx| objects::files(tx, object.id, 1, "deposit/data/", "", 10)).expect("files");
    let copies = || made.registry.read(|tx| objects::copies(tx, files[0].content)).expect("copies");
    let key = copies().into_iter().find(|copy| copy.store == "primary").expect("a copy").key;
    fs::write(made.file("primary", &key), b"other bytes").expect("damages it");
    lose(&made, "secondary");
    check(&made);
    let is_damaged = |copy: &objects::Copy| copy.store == "primary" && copy.state == CopyState::Damaged;
    assert!(copies().iter().any(is_damaged), "{:?}", copies());
    assert_eq!(replace(&made, "secondary").only_copies, 1);
}

fn submit(home: &Home, made: &TestHome, name: &str, files: &[(&str, &[u8])]) -> ItemId {
    hand_in(home, &made.bag(name, files))
}

/// Objects that some store does not hold whole, as far as the registry knows.
fn lacking(home: &Home) -> usize {
    let mut found = 0;
    backfill::each_lacking((&home.settings, &home.registry), Scope::System, None, &mut |_| {
        found += 1;
        Ok::<_, EngineError>(())
    })
    .expect("asks");
    found
}

/// Keys of the storage root in a store that may lie anywhere.
fn listed(home: &Home, store: &str) -> Vec<String> {
    let root = Key::new(INSTITUTION).expect("a key");
    let listing = home.stores[store].list(&root).expect("lists");
    listing.map(|listed| listed.expect("a key").key.to_string()).collect()
}

/// What another process does at a moment of this one: it finds the store `secondary` lost, and replaces it.
struct Elsewhere {
    made: PathBuf,
    settings: Settings,
    registry: Registry,
}

impl Elsewhere {
    fn of(made: &TestHome) -> Self {
        Self { made: made.path().to_owned(), settings: made.settings.clone(), registry: made.registry.clone() }
    }

    fn replace(&self) {
        fs::remove_dir_all(self.made.join("stores/secondary")).expect("is lost");
        let other = Home::with_registry(&self.made, self.settings.clone(), self.registry.clone()).expect("opens");
        backfill::replace(&other, "secondary").expect("replaces");
    }
}

#[test]
fn a_process_with_the_old_store_open_records_no_copies_in_its_replacement() {
    let made = fixture::home();
    made.ingest("letters", &[("a.txt", b"dear reader")]);
    let text = fs::read_to_string(made.path().join("strongroom.toml")).expect("settings");
    let moved = Settings::from_toml(&text.replace("stores/secondary", "stores/replacement")).expect("settings");
    let new = Home::with_registry(made.path(), moved, made.registry.clone()).expect("opens");
    replace(&new, "secondary");
    fill(&new, "secondary");
    assert_eq!(lacking(&new), 0);
    // This worker goes by the settings of before.
    let id = submit(&made, &made, "photographs", &[("1.tif", b"II*\0 and so on")]);
    let item = || made.registry.read(|tx| items::find(tx, Scope::System, id)).expect("the item");
    let workers = build_runtime(&made.home, None).expect("a runtime").build();
    workers.run_until(&Shutdown::new(), &|| {
        item().status.is_ended() || item().wait_reason == Some(WaitReason::RefusedStore)
    });
    assert_eq!(item().status, ItemStatus::Pending, "{:?}", item().note);
    assert_eq!(availability(&made, "secondary"), Availability::Refused);
    assert!(!item().note.unwrap_or_default().is_empty());
    let kept = listed(&new, "secondary").len();
    // One that goes by the new settings completes it.
    let new = Arc::new(new);
    made.clock.advance(std::time::Duration::from_hours(1));
    work_on(&new, &[id], &Shutdown::new()).expect("works");
    assert_eq!(item().status, ItemStatus::Succeeded, "{:?}", item().note);
    assert!(listed(&new, "secondary").len() > kept);
    assert_eq!((lacking(&new), check(&new).damaged), (0, 0));
}

/// Replaces the store when its mark was written for the last time before a version is published there.
struct ReplacedBeforePublishing {
    elsewhere: Elsewhere,
    commits: AtomicU64,
    replacements: AtomicU64,
}

impl Layer for ReplacedBeforePublishing {
    fn call<T>(&self, call: Call<'_>, act: &mut dyn FnMut() -> Result<T, StorageError>) -> Result<T, StorageError> {
        let outcome = act();
        if call.operation == Operation::Commit {
            self.commits.fetch_add(1, Ordering::SeqCst);
        }
        let is_mark = call.operation == Operation::Put && call.key.as_str() == MARK;
        let is_last = is_mark && self.commits.load(Ordering::SeqCst) > 0;
        if is_last && self.replacements.fetch_add(1, Ordering::SeqCst) == 0 {
            self.elsewhere.replace();
        }
        outcome
    }
}

#[test]
fn a_version_whose_store_is_replaced_before_it_is_published_is_completed_in_the_replacement() {
    let made = fixture::home();
    let elsewhere = Elsewhere::of(&made);
    let (commits, replacements) = (AtomicU64::new(0), AtomicU64::new(0));
    let home = layered(&made, "secondary", ReplacedBeforePublishing { elsewhere, commits, replacements });
    let id = submit(&home, &made, "letters", &[("a.txt", b"dear reader")]);
    work_on(&home, &[id], &Shutdown::new()).expect("works");
    let item = made.registry.read(|tx| items::find(tx, Scope::System, id)).expect("the item");
    assert_eq!(item.status, ItemStatus::Succeeded, "{:?}", item.note);
    let known = made.registry.read(stores::replacements).expect("reads");
    assert_eq!(known, 2, "the store was replaced meanwhile");
    let fresh = made.opened_again();
    assert!(!listed(&fresh, "secondary").is_empty() || lacking(&fresh) > 0);
    assert_eq!((lacking(&fresh), check(&fresh).damaged), (0, 0));
}

/// Replaces the store when the last of its contents is read back.
struct ReplacedAtTheLastContent {
    elsewhere: Elsewhere,
    left: AtomicU64,
}

impl Layer for ReplacedAtTheLastContent {
    fn call<T>(&self, _: Call<'_>, act: &mut dyn FnMut() -> Result<T, StorageError>) -> Result<T, StorageError> {
        act()
    }

    fn open(&self, call: Call<'_>, act: &mut dyn FnMut() -> Result<Body, StorageError>) -> Result<Body, StorageError> {
        let body = act();
        if call.key.as_str().contains("/content/") && self.left.fetch_sub(1, Ordering::SeqCst) == 1 {
            self.elsewhere.replace();
        }
        body
    }
}

#[test]
fn a_backfill_that_a_replacement_overtakes_puts_no_inventory_without_its_bytes() {
    let made = fixture::home();
    made.ingest("letters", &[("a.txt", b"dear reader")]);
    lose(&made, "secondary");
    replace(&made, "secondary");
    let are_contents = |keys: &[String]| keys.iter().filter(|key| key.contains("/content/")).count();
    let contents = are_contents(&made.keys("primary"));
    let left = AtomicU64::new(contents.try_into().expect("fits"));
    let losing = layered(&made, "secondary", ReplacedAtTheLastContent { elsewhere: Elsewhere::of(&made), left });
    let summary = fill(&losing, "secondary");
    assert_eq!((summary.objects, summary.failed), (0, 1), "{summary:?}");
    let fresh = made.opened_again();
    assert!(!listed(&fresh, "secondary").iter().any(|key| key.ends_with("/inventory.json")));
    let summary = fill(&fresh, "secondary");
    assert_eq!((summary.objects, summary.failed), (1, 0), "{summary:?}");
    assert_eq!(are_contents(&listed(&fresh, "secondary")), contents);
    assert_eq!(check(&fresh).damaged, 0);
}

/// A store is being opened, and was found to be the one that the registry knows. Before it is used, another process replaces it,
/// and the stores that are open are compared with the registry.
#[cfg(feature = "failpoints")]
#[test]
fn a_store_that_was_opened_by_an_older_state_of_the_registry_is_compared_again() {
    const POINT: &str = "store.admitted";
    let made = fixture::home();
    let (place, elsewhere) = (made.path().join("stores/secondary"), made.path().join("elsewhere"));
    fs::rename(&place, &elsewhere).expect("takes the store away");
    made.try_stores();
    assert_eq!(availability(&made, "secondary"), Availability::Away);
    fs::rename(&elsewhere, &place).expect("brings the store back");
    let receive = |name| {
        let item = hand_in(&made, &made.bag(name, &[("a.txt", b"one")]));
        work_until(&made, item, Stage::named("estimate"));
    };
    let (reached, is_reached) = std::sync::mpsc::channel();
    let (go_on, may_go_on) = std::sync::mpsc::channel::<()>();
    let opener = Arc::new(std::sync::Mutex::new(None));
    let (wanted, may_go_on) = (opener.clone(), std::sync::Mutex::new(may_go_on));
    fail::cfg_callback(POINT, move || {
        // Other tests of this process open stores, too.
        if *wanted.lock().expect("no poison") == Some(std::thread::current().id()) {
            reached.send(()).expect("is awaited");
            may_go_on.lock().expect("no poison").recv().expect("goes on");
        }
    })
    .expect("a fail point");
    std::thread::scope(|scope| {
        scope.spawn(|| {
            *opener.lock().expect("no poison") = Some(std::thread::current().id());
            made.try_stores();
        });
        is_reached.recv().expect("the store is being opened");
        made.change_rows(
            "-- name: change
UPDATE stores SET store_id = x'00112233445566778899aabbccddeeff' WHERE name = 'secondary'",
        );
        made.change_rows(
            "-- name: change
INSERT INTO registry_facts (name, value) VALUES ('stores.replacements', '1')              ON CONFLICT (name) DO UPDATE SET value = '1'",
        );
        receive("letters");
        go_on.send(()).expect("is awaited");
    });
    fail::remove(POINT);
    receive("diaries");
    assert_eq!(availability(&made, "secondary"), Availability::Refused);
}
