//! Another store in the place of a lost one: the registry forgets what lay in the lost one, and the new one gets it from the
//! other stores.

use std::fs;
use std::sync::Arc;

use strongroom_engine::backfill::{self, BackfillSummary, Replacement};
use strongroom_engine::fixity::{self, FixityRequest, FixitySummary};
use strongroom_engine::ingest::{DepositRequest, deposit};
use strongroom_engine::runtime::Shutdown;
use strongroom_engine::settings::Settings;
use strongroom_engine::{Availability, Home, runtime_over, work_on};
use strongroom_registry::items;
use strongroom_registry::{CopyState, FindingState, ItemStatus, Scope, Stage, VersionState, objects, stores, versions};
use strongroom_storage::{FolderStore, Key, PutOptions, Store};

use crate::fixture::{self, INSTITUTION, KEPT_IN, TestHome};
use crate::ingest::identity::work_until;
use crate::rebuild::{copy_store, dump, rebuilt};

fn lose(made: &TestHome, store: &str) {
    fs::remove_dir_all(made.path().join("stores").join(store)).expect("removes the store");
    made.try_stores();
}

fn replace(made: &Home, store: &str) -> Replacement {
    backfill::replace(made, store).expect("replaces")
}

fn fill(home: &Home, store: &str) -> BackfillSummary {
    backfill::run(home, store, &Shutdown::new(), &mut |_| ()).expect("runs")
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
    let key = Key::new("_strongroom/registry.json").expect("a key");
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
        institution: INSTITUTION.into(),
        sources: vec![bag.to_str().expect("UTF-8").to_owned()],
        submitted_by: "tester".into(),
        ..DepositRequest::default()
    };
    let id = deposit(&made, &request).expect("deposits").items.remove(0);
    work_until(&made, id, Stage::Record);
    // Something lies in the way of the version in one store, so that the commit fails there behind `committing`.
    let root = made.keys("secondary").into_iter().find(|key| key.ends_with("/v1/inventory.json")).expect("an object");
    let block = made.file("secondary", &root.replace("/v1/inventory.json", "/v2"));
    fs::write(&block, b"in the way").expect("blocks");
    let version = made.registry.read(|tx| versions::of_item(tx, id)).expect("reads").expect("a version");
    let workers = runtime_over(&made.home, None).expect("a runtime").build();
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
