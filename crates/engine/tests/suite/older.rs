//! A store whose place holds older content under its own id, or another store, while the registry remembers more: it is
//! refused, nothing is published into it, and a person takes it anew.

mod anew;
mod buckets;
mod doubts;
mod inventories;
mod notes;

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use strongroom_engine::fixity::{self, FixityRequest, FixitySummary};
use strongroom_engine::runtime::Shutdown;
use strongroom_engine::settings::Settings;
use strongroom_engine::{Availability, Home, StoreState, backfill, build_runtime, work_on};
use strongroom_registry::items::{self, Item};
use strongroom_registry::{CopyState, ItemId, ItemStatus, Scope, Stage, VersionState, objects, versions};
use strongroom_s3::{S3Settings, S3Store, Secret};
use strongroom_s3_double::{ACCESS_KEY, BUCKET, Double, SECRET_KEY};
use strongroom_storage::Key;
use strongroom_storage_test::{Call, Operation};

use crate::fixture::{INSTITUTION, KEPT_IN, TestHome, home};
use crate::ingest::committing::layered;
use crate::ingest::hand_in;
use crate::meanwhile::{Meanwhile, When};

/// Where the mark of a store lies.
pub(crate) const MARK: &str = "_strongroom/registry.json";

fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("makes a folder");
    for entry in fs::read_dir(from).expect("reads") {
        let entry = entry.expect("an entry").path();
        let to = to.join(entry.file_name().expect("a name"));
        if entry.is_dir() {
            copy_folder(&entry, &to);
        } else {
            fs::copy(&entry, &to).expect("copies");
        }
    }
}

/// Keeps what lies in the store now.
fn snapshot(made: &TestHome, store: &str) {
    copy_folder(&made.path().join("stores").join(store), &made.path().join("snapshot"));
}

/// Puts it back, as somebody does who restores a disk.
fn roll_back(made: &TestHome, store: &str) {
    let folder = made.path().join("stores").join(store);
    fs::remove_dir_all(&folder).expect("removes the store");
    fs::rename(made.path().join("snapshot"), folder).expect("puts the snapshot there");
}

fn state(home: &Home, store: &str) -> StoreState {
    home.try_stores();
    home.store_states().into_iter().find(|state| state.store == store).expect("a store")
}

fn assert_is_refused(home: &Home, store: &str) -> String {
    let state = state(home, store);
    assert_eq!(state.availability, Availability::Refused, "{state:?}");
    let reason = state.reason.expect("a reason");
    assert!(reason.contains(&format!("strongroom store replace {store}")), "{reason}");
    reason
}

fn submit(home: &Home, made: &TestHome, name: &str, files: &[(&str, &[u8])]) -> ItemId {
    hand_in(home, &made.bag(name, files))
}

fn item(home: &Home, id: ItemId) -> Item {
    home.registry.read(|tx| items::find(tx, Scope::System, id)).expect("the item")
}

fn is_commit(call: Call<'_>) -> bool {
    call.operation == Operation::Commit
}

/// Chooses the first write of the mark behind the first commit.
fn mark_behind_a_commit() -> impl Fn(Call<'_>) -> bool + Send + Sync {
    let is_committed = AtomicBool::new(false);
    move |call| {
        let is_mark = call.operation == Operation::Put && call.key.as_str() == MARK;
        is_committed.fetch_or(is_commit(call), Ordering::SeqCst) && is_mark
    }
}

/// Works until the item has ended or waits for a store.
fn work_until_it_waits(home: &Arc<Home>, id: ItemId) -> Item {
    let runtime = build_runtime(home, None).expect("a runtime").build();
    runtime.run_until(&Shutdown::new(), &|| {
        let item = item(home, id);
        item.status.is_ended() || item.status == ItemStatus::Pending && item.wait_reason.is_some()
    });
    item(home, id)
}

fn succeed(made: &TestHome, id: ItemId) {
    made.clock.advance(std::time::Duration::from_hours(1));
    work_on(&made.home, &[id], &Shutdown::new()).expect("works");
    let item = item(made, id);
    assert_eq!(item.status, ItemStatus::Succeeded, "{:?} at {}", item.note, item.stage);
}

fn replace_and_fill(made: &TestHome, store: &str) -> u64 {
    let replacement = backfill::replace(made, store).expect("replaces");
    assert_eq!(replacement.replaced, None, "it is the same store");
    let summary = backfill::run(made, &backfill::BackfillRequest::new(store), &mut |_| ()).expect("fills");
    assert_eq!(summary.failed, 0, "{summary:?}");
    assert_eq!(state(made, store).availability, Availability::Available);
    replacement.only_copies
}

fn check(home: &Home) -> FixitySummary {
    fixity::run(home, &FixityRequest { all: true, ..FixityRequest::default() }, &mut |_| ()).expect("checks")
}

/// Keys of storage roots with their bytes.
fn kept(made: &TestHome, store: &str) -> Vec<(String, Vec<u8>)> {
    let keys = made.keys(store).into_iter().filter(|key| key.starts_with(INSTITUTION));
    keys.map(|key| (key.clone(), fs::read(made.file(store, &key)).expect("reads"))).collect()
}

#[test]
fn a_store_that_comes_back_with_older_content_is_refused_until_it_is_taken_anew() {
    let made = home();
    made.ingest("letters", &[("a.txt", b"dear reader")]);
    snapshot(&made, "secondary");
    made.ingest("letters", &[("a.txt", b"dear reader, again")]);
    made.ingest("diaries", &[("d.txt", b"dear diary")]);
    roll_back(&made, "secondary");

    let reason = assert_is_refused(&made, "secondary");
    assert!(reason.contains("older"), "{reason}");
    assert_is_refused(&made.opened_again(), "secondary");
    let id = submit(&made, &made, "photographs", &[("1.tif", b"II*\0 and so on")]);
    assert_eq!(work_until_it_waits(&made.home, id).status, ItemStatus::Pending);

    assert_eq!(replace_and_fill(&made, "secondary"), 0);
    succeed(&made, id);
    assert_eq!(kept(&made, "secondary"), kept(&made, "primary"));
    let summary = check(&made);
    assert_eq!((summary.checked, summary.damaged, summary.failed), (summary.passed, 0, 0), "{summary:?}");
    assert_eq!(made.ingest("letters", &[("c.txt", b"more")]).head, 3);
}

#[test]
fn older_content_under_an_open_store_is_noticed_before_a_version_is_published_into_it() {
    let made = home();
    made.ingest("letters", &[("a.txt", b"dear reader")]);
    let mark = made.file("secondary", MARK);
    let older = fs::read(&mark).expect("reads the mark");
    made.ingest("diaries", &[("d.txt", b"dear diary")]);
    // The folder stays the same: only what lies in it is older.
    fs::write(&mark, older).expect("puts the older mark back");
    let id = submit(&made, &made, "photographs", &[("1.tif", b"II*\0 and so on")]);
    assert_eq!(work_until_it_waits(&made.home, id).status, ItemStatus::Pending);
    assert_is_refused(&made, "secondary");
    replace_and_fill(&made, "secondary");
    succeed(&made, id);
}

#[test]
fn a_store_without_its_mark_is_refused_until_it_is_taken_anew() {
    let made = home();
    made.ingest("letters", &[("a.txt", b"dear reader")]);
    fs::remove_file(made.file("secondary", MARK)).expect("removes the mark");
    let again = made.opened_again();
    let reason = assert_is_refused(&again, "secondary");
    assert!(reason.contains("mark"), "{reason}");
    assert!(again.registry.refusal().is_none(), "the registry itself is right");
    let id = submit(&made, &made, "diaries", &[("d.txt", b"dear diary")]);
    assert_eq!(work_until_it_waits(&made.home, id).status, ItemStatus::Pending);
    replace_and_fill(&made, "secondary");
    succeed(&made, id);
    assert_eq!(check(&made).damaged, 0);
}

#[test]
fn the_only_good_copy_in_older_content_is_found_and_used() {
    let made = home();
    let object = made.ingest("letters", &[("a.txt", b"dear reader")]);
    snapshot(&made, "secondary");
    made.ingest("diaries", &[("d.txt", b"dear diary")]);
    roll_back(&made, "secondary");
    let files = made.registry.read(|tx| objects::files(tx, object.id, 1, "deposit/data/", "", 10)).expect("files");
    let copies = || made.registry.read(|tx| objects::copies(tx, files[0].content)).expect("copies");
    let key = copies().into_iter().find(|copy| copy.store == "primary").expect("a copy").key;
    fs::write(made.file("primary", &key), b"other bytes").expect("damages it");
    assert_is_refused(&made, "secondary");
    check(&made);
    assert!(copies().iter().any(|copy| copy.state != CopyState::Kept), "{:?}", copies());

    assert_eq!(replace_and_fill(&made, "secondary"), 1);
    check(&made);
    let summary = check(&made);
    assert_eq!((summary.checked, summary.damaged, summary.failed), (summary.passed, 0, 0), "{summary:?}");
    assert!(copies().iter().all(|copy| copy.state == CopyState::Kept), "{:?}", copies());
    assert_eq!(fs::read(made.file("primary", &key)).expect("reads"), b"dear reader");
}

/// A home whose second store is a bucket.
fn with_bucket(double: &Double) -> TestHome {
    let mut made = home();
    S3Store::create("bucket", bucket_settings(double)).expect("a store in a bucket");
    let text = fs::read_to_string(made.path().join("strongroom.toml")).expect("settings");
    let text = text.replace(&format!("{KEPT_IN:?}"), "[\"primary\", \"bucket\"]");
    let table = format!(
        "[stores.bucket]\nkind = \"s3\"\nbucket = {BUCKET:?}\nendpoint = {:?}\naccess_key = {ACCESS_KEY:?}\n\
         secret_key = {SECRET_KEY:?}\n",
        double.endpoint()
    );
    let settings = Settings::from_toml(&format!("{text}\n{table}")).expect("settings");
    made.home = Arc::new(Home::with_registry(made.path(), settings, made.registry.clone()).expect("opens"));
    made
}

fn bucket_settings(double: &Double) -> S3Settings {
    S3Settings {
        bucket: BUCKET.into(),
        endpoint: Some(double.endpoint()),
        access_key: Some(ACCESS_KEY.into()),
        secret_key: Some(Secret::new(SECRET_KEY)),
        ..S3Settings::default()
    }
}

/// Empties the bucket and makes another store in it, as somebody does who gives the name to another bucket.
fn exchange(double: &Double) {
    for key in double.keys() {
        double.take(&key);
    }
    S3Store::create("another", bucket_settings(double)).expect("makes another store");
}

#[test]
fn nothing_is_published_into_a_bucket_that_became_another_store_while_it_was_open() {
    let double = Double::start().expect("a server");
    let made = with_bucket(&double);
    made.ingest("letters", &[("a.txt", b"dear reader")]);
    exchange(&double);
    let id = submit(&made, &made, "diaries", &[("d.txt", b"dear diary")]);
    let waiting = work_until_it_waits(&made.home, id);
    assert_eq!(waiting.status, ItemStatus::Pending, "{:?}", waiting.note);
    assert_is_refused(&made, "bucket");
}

#[test]
fn a_version_whose_bucket_is_exchanged_behind_its_commit_is_not_published() {
    let double = Arc::new(Double::start().expect("a server"));
    let made = with_bucket(&double);
    made.ingest("letters", &[("a.txt", b"dear reader")]);
    // Before the commit is confirmed.
    let bucket = double.clone();
    let layered = layered(&made, "bucket", Meanwhile::new(When::After, is_commit, move |_| exchange(&bucket)));
    let id = submit(&layered, &made, "diaries", &[("d.txt", b"dear diary")]);
    let waiting = work_until_it_waits(&layered, id);
    assert_eq!((waiting.status, waiting.stage), (ItemStatus::Pending, Stage::named("record")), "{:?}", waiting.note);
    let version = made.registry.read(|tx| versions::of_item(tx, id)).expect("reads").expect("a version");
    assert_eq!(version.state, VersionState::Committing);
    assert_is_refused(&layered, "bucket");
    // The other store takes the place, and the version is completed in it.
    backfill::replace(&made, "bucket").expect("replaces");
    succeed(&made, id);
    let summary = backfill::run(&made, &backfill::BackfillRequest::new("bucket"), &mut |_| ()).expect("fills");
    assert_eq!(summary.failed, 0, "{summary:?}");
    let root = Key::new(INSTITUTION).expect("a key");
    let listed = |store: &str| {
        let listing = made.stores[store].list(&root).expect("lists");
        listing.map(|listed| listed.expect("a key").key.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(listed("bucket"), listed("primary"));
    assert_eq!(check(&made).damaged, 0);
}
