//! Stores that are away, come back, or are not the ones they should be: what needs them waits and nothing else does.

use std::fs;
use std::io::{self, Read};
use std::path::PathBuf;
use std::time::Duration;

use strongroom_engine::app::{self, Caller, Installation};
use strongroom_engine::fixity::{self, FixityRequest, FixitySummary};
use strongroom_engine::restoration::{RestorationTarget, RestoreRequest, request_object};
use strongroom_engine::runtime::Shutdown;
use strongroom_engine::settings::{Loaded, Settings};
use strongroom_engine::{Availability, Home, StoreState, background, build_runtime, work_on};
use strongroom_registry::items::{self, Item};
use strongroom_registry::stores;
use strongroom_registry::{ItemId, ItemStatus, Scope, WaitReason};
use strongroom_s3::{S3Settings, S3Store, Secret};
use strongroom_s3_double::{ACCESS_KEY, BUCKET, Double, Fault, Operation, SECRET_KEY};
use strongroom_storage::{FolderStore, Key, PutOptions, Store};
use tempfile::TempDir;

use crate::fixture::{KEPT_IN, TestHome, home, home_with};
use crate::ingest::hand_in;
use crate::older::MARK;

fn folder(home: &TestHome, store: &str) -> PathBuf {
    home.path().join("stores").join(store)
}

fn take_away(home: &TestHome, store: &str) {
    fs::rename(folder(home, store), home.path().join(format!("{store}.away"))).expect("takes the store away");
}

fn bring_back(home: &TestHome, store: &str) {
    fs::rename(home.path().join(format!("{store}.away")), folder(home, store)).expect("brings the store back");
}

fn state(home: &Home, store: &str) -> StoreState {
    home.store_states().into_iter().find(|state| state.store == store).expect("a store")
}

fn item(home: &Home, id: ItemId) -> Item {
    home.registry.read(|tx| items::find(tx, Scope::System, id)).expect("the item")
}

fn submit(home: &TestHome, name: &str, files: &[(&str, &[u8])]) -> ItemId {
    hand_in(home, &home.bag(name, files))
}

/// Works until the item says that it waits for a store.
fn work_until_it_waits(home: &std::sync::Arc<Home>, id: ItemId) -> String {
    let waits = |note: &Option<String>| note.as_deref().is_some_and(|note| note.starts_with("waits for store"));
    let runtime = build_runtime(home, None).expect("a runtime").build();
    runtime.run_until(&Shutdown::new(), &|| {
        let item = item(home, id);
        item.status.is_ended() || (item.status == ItemStatus::Pending && waits(&item.note))
    });
    let item = item(home, id);
    assert_eq!(item.status, ItemStatus::Pending, "{:?}", item.note);
    assert_eq!(item.retry_count, 0, "no attempt is spent on a store that is away");
    item.note.expect("a note")
}

fn all() -> FixityRequest {
    FixityRequest { all: true, ..FixityRequest::default() }
}

fn check(home: &Home, request: &FixityRequest) -> FixitySummary {
    fixity::run(home, request, &mut |_| {}).expect("runs")
}

fn logs(home: &TestHome, store: &str) -> Vec<String> {
    home.keys(store).into_iter().filter(|key| key.contains("/logs/")).collect()
}

#[test]
fn with_a_store_away_the_rest_goes_on_and_a_deposit_waits_until_it_is_back() {
    let made = home();
    let object = made.ingest("letters", &[("a.txt", b"dear reader")]);
    take_away(&made, "secondary");
    let home = std::sync::Arc::new(made.opened_again());
    let secondary = state(&home, "secondary");
    assert_eq!(secondary.availability, Availability::Away);
    assert!(secondary.reason.expect("a reason").contains("stores/secondary"));
    assert!(secondary.since.is_some());
    assert_eq!(state(&home, "primary").availability, Availability::Available);

    let id = submit(&made, "diaries", &[("b.txt", b"dear diary")]);
    let note = work_until_it_waits(&home, id);
    assert!(note.starts_with("waits for store secondary: ") && note.contains("stores/secondary"), "{note}");

    // What the other store can do goes on.
    let to = TempDir::new().expect("a folder");
    let target = RestorationTarget::Folder(to.path().to_owned());
    let request = RestoreRequest { target, ..RestoreRequest::of_system(object.identifier.clone()) };
    let restoring = request_object(&home, &request).expect("asks");
    work_on(&home, &[restoring], &Shutdown::new()).expect("works");
    assert_eq!(item(&home, restoring).status, ItemStatus::Succeeded);

    bring_back(&made, "secondary");
    let states = home.try_stores();
    assert!(states.iter().all(|state| state.availability == Availability::Available), "{states:?}");
    made.clock.advance(Duration::from_mins(10));
    work_on(&home, &[id], &Shutdown::new()).expect("works");
    assert_eq!(item(&home, id).status, ItemStatus::Succeeded, "{:?}", item(&home, id).note);
    let summary = check(&home, &all());
    assert_eq!((summary.checked, summary.failed), (summary.passed, 0), "{summary:?}");
}

#[test]
fn a_restoration_reads_another_store_where_the_first_is_away() {
    let made = home();
    let object = made.ingest("letters", &[("a.txt", b"dear reader"), ("b.bin", &vec![7; 5 << 20])]);
    take_away(&made, "primary");
    let to = TempDir::new().expect("a folder");
    let target = RestorationTarget::Folder(to.path().to_owned());
    let request = RestoreRequest { target, ..RestoreRequest::of_system(object.identifier.clone()) };
    let id = request_object(&made, &request).expect("asks");
    work_on(&made.home, &[id], &Shutdown::new()).expect("works");
    assert_eq!(item(&made, id).status, ItemStatus::Succeeded, "{:?}", item(&made, id).note);

    take_away(&made, "secondary");
    let elsewhere = TempDir::new().expect("a folder");
    let request = RestoreRequest { target: RestorationTarget::Folder(elsewhere.path().to_owned()), ..request };
    let id = request_object(&made, &request).expect("asks");
    let note = work_until_it_waits(&made.home, id);
    assert!(note.contains("waits for store primary"), "{note}");
}

#[test]
fn a_store_that_goes_away_while_it_is_open_is_no_store_that_lost_everything() {
    let made = home();
    made.ingest("letters", &[("a.txt", b"dear reader")]);
    let store = made.store("secondary").expect("a store");
    let key = Key::new("nothing").expect("a key");
    assert!(store.head(&key).expect_err("nothing there").is_not_found());
    take_away(&made, "secondary");
    assert!(store.head(&key).expect_err("away").is_away());
    assert!(store.list(&Key::ROOT).is_err_and(|error| error.is_away()));
    assert_eq!(state(&made, "secondary").availability, Availability::Away);
    // An empty folder in its place, as a mount point without its disk.
    fs::create_dir(folder(&made, "secondary")).expect("makes a folder");
    made.try_stores();
    assert!(store.head(&key).expect_err("away").is_away());
    let summary = check(&made, &all());
    assert_eq!((summary.damaged, summary.failed), (0, 1), "{summary:?}");
    assert!(summary.errors[0].contains("store secondary is away"), "{summary:?}");
    assert!(fixity::problems(&made, None, None, 10).expect("problems").is_empty());
    fs::remove_dir(folder(&made, "secondary")).expect("removes");
    bring_back(&made, "secondary");
    made.try_stores();
    assert!(store.head(&key).expect_err("nothing there").is_not_found());
    let summary = check(&made, &all());
    assert_eq!((summary.checked, summary.failed), (summary.passed, 0), "{summary:?}");
}

#[test]
fn an_empty_disk_in_the_place_of_a_store_is_refused_and_nothing_is_written_to_it() {
    let made = home();
    made.ingest("letters", &[("a.txt", b"dear reader")]);
    take_away(&made, "secondary");
    FolderStore::create("secondary", folder(&made, "secondary")).expect("makes another store");
    for (name, home) in [("diaries", made.home.clone()), ("notes", std::sync::Arc::new(made.opened_again()))] {
        let states = home.try_stores();
        let secondary = states.iter().find(|state| state.store == "secondary").expect("a store");
        assert_eq!(secondary.availability, Availability::Refused, "{secondary:?}");
        let reason = secondary.reason.clone().expect("a reason");
        assert!(reason.contains("strongroom store replace secondary"), "{reason}");
        let id = submit(&made, name, &[("a.txt", b"dear all")]);
        let note = work_until_it_waits(&home, id);
        assert!(note.contains("strongroom store replace secondary"), "{note}");
        let item = item(&home, id);
        assert_eq!((item.wait_reason, item.needs_review), (Some(WaitReason::RefusedStore), true));
    }
    let empty = FolderStore::open("secondary", folder(&made, "secondary")).expect("opens");
    assert_eq!(empty.list(&Key::ROOT).expect("lists").count(), 0);
    assert!(empty.assemblies().expect("lists").is_empty());
}

#[test]
fn a_store_that_belongs_to_another_registry_when_it_comes_back_is_refused() {
    let made = home();
    made.ingest("letters", &[("a.txt", b"dear reader")]);
    take_away(&made, "secondary");
    let home = std::sync::Arc::new(made.opened_again());
    bring_back(&made, "secondary");
    let mark =
        format!("{{\"form\":1,\"registry\":\"{}\",\"term\":1,\"acts\":1}}\n", "0197a0c0-0000-7000-8000-000000000000");
    let store = FolderStore::open("secondary", folder(&made, "secondary")).expect("opens");
    let key = Key::new(MARK).expect("a key");
    store.put(&key, &mut mark.as_bytes(), &PutOptions::default()).expect("puts");
    let before = made.path().join("stores/secondary");
    let count = || walk(&before);
    let files = count();
    home.try_stores();
    let secondary = state(&home, "secondary");
    assert_eq!(secondary.availability, Availability::Refused);
    assert!(secondary.reason.expect("a reason").contains("belongs to another registry"));
    let id = submit(&made, "diaries", &[("b.txt", b"dear diary")]);
    work_until_it_waits(&home, id);
    assert_eq!(count(), files, "nothing was written there");
}

fn walk(folder: &std::path::Path) -> usize {
    let entries = fs::read_dir(folder).expect("reads").map(|entry| entry.expect("an entry").path());
    entries.map(|path| if path.is_dir() { walk(&path) } else { 1 }).sum()
}

#[test]
fn logs_that_a_store_missed_are_added_when_it_is_back() {
    let made = home();
    let object = made.ingest("letters", &[("a.txt", b"dear reader")]);
    take_away(&made, "secondary");
    let declaration = made.keys("primary").into_iter().find(|key| key.ends_with("0=ocfl_object_1.1")).expect("a key");
    fs::remove_file(made.file("primary", &declaration)).expect("removes");
    let summary = check(&made, &FixityRequest { store: Some("primary".into()), ..all() });
    assert_eq!((summary.damaged, summary.repaired), (1, 1), "{summary:?}");
    let missed = made.registry.read(stores::missed_log_counts).expect("counts");
    assert_eq!(missed.iter().map(|(store, logs, _)| (store.as_str(), *logs)).collect::<Vec<_>>(), [("secondary", 2)]);

    made.clock.advance(Duration::from_hours(1));
    background::run_due(&made, &Shutdown::new()).expect("runs");
    bring_back(&made, "secondary");
    made.try_stores();
    made.clock.advance(Duration::from_hours(1));
    background::run_due(&made, &Shutdown::new()).expect("runs");
    assert_eq!(logs(&made, "secondary"), logs(&made, "primary"));
    assert_eq!(logs(&made, "secondary").len(), 2, "of {}", object.identifier);
    assert!(made.registry.read(stores::missed_log_counts).expect("counts").is_empty());
}

#[test]
fn a_repair_uses_the_stores_that_are_there() {
    let made = home();
    made.ingest("letters", &[("a.txt", b"dear reader")]);
    take_away(&made, "secondary");
    let key = made.keys("primary").into_iter().find(|key| key.contains("/content/")).expect("a content");
    fs::remove_file(made.file("primary", &key)).expect("removes");
    let only = FixityRequest { store: Some("primary".into()), ..all() };
    let summary = check(&made, &only);
    assert_eq!((summary.damaged, summary.unrepairable, summary.failed), (0, 0, 1), "it is not given up: {summary:?}");
    bring_back(&made, "secondary");
    made.try_stores();
    let summary = check(&made, &only);
    assert_eq!((summary.repaired, summary.unrepairable), (1, 0), "{summary:?}");
}

#[test]
fn a_bucket_whose_rights_are_gone_is_waited_for() {
    let mut made = home();
    let double = Double::start().expect("a server");
    let settings = || S3Settings {
        bucket: BUCKET.into(),
        endpoint: Some(double.endpoint()),
        access_key: Some(ACCESS_KEY.into()),
        secret_key: Some(Secret::new(SECRET_KEY)),
        ..S3Settings::default()
    };
    S3Store::create("third", settings()).expect("a store in a bucket");
    let text = fs::read_to_string(made.path().join("strongroom.toml")).expect("settings");
    let text = text.replace(&format!("{KEPT_IN:?}"), "[\"primary\", \"third\"]");
    let table = format!(
        "[stores.third]\nkind = \"s3\"\nbucket = {BUCKET:?}\nendpoint = {:?}\naccess_key = {ACCESS_KEY:?}\n\
         secret_key = {SECRET_KEY:?}\n",
        double.endpoint()
    );
    let with_third = Settings::from_toml(&format!("{text}\n{table}")).expect("settings");
    let opened = Home::with_registry(made.path(), with_third, made.registry.clone()).expect("opens");
    made.home = std::sync::Arc::new(opened);
    made.ingest("letters", &[("a.txt", b"dear reader")]);
    let refuse = |fault: Option<u16>| {
        for asked in [
            Operation::HeadBucket,
            Operation::HeadObject,
            Operation::GetObject,
            Operation::PutObject,
            Operation::DeleteObject,
            Operation::DeleteObjects,
            Operation::ListObjects,
        ] {
            double.always(asked, fault.map(Fault::Refuse));
        }
    };
    refuse(Some(403));
    let id = submit(&made, "photographs", &[("1.tif", b"II*\0 and so on")]);
    assert!(work_until_it_waits(&made, id).starts_with("waits for store third"));
    refuse(None);
    made.try_stores();
    made.clock.advance(Duration::from_hours(1));
    work_on(&made, &[id], &Shutdown::new()).expect("works");
    assert_eq!(item(&made, id).status, ItemStatus::Succeeded);
}

/// Workers attempt each request five times.
#[test]
fn status_asks_a_store_that_does_not_answer_once() {
    let made = home();
    let double = Double::start().expect("a server");
    for asked in [Operation::HeadBucket, Operation::HeadObject, Operation::GetObject, Operation::ListObjects] {
        double.always(asked, Some(Fault::Refuse(503)));
    }
    let text = fs::read_to_string(made.path().join("strongroom.toml")).expect("settings");
    let table = format!(
        "[stores.third]\nkind = \"s3\"\nbucket = {BUCKET:?}\nendpoint = {:?}\naccess_key = {ACCESS_KEY:?}\n\
         secret_key = {SECRET_KEY:?}\n",
        double.endpoint()
    );
    let settings = Settings::from_toml(&format!("{text}\n{table}")).expect("settings");
    let loaded = Loaded { settings, entries: Vec::new(), old_names: Vec::new() };
    let file = made.path().join("strongroom.toml");
    let installation = Installation::new(made.path(), &file, loaded, Caller::at_console("a person"));
    let status = app::status::show(&installation).expect("the other stores are there");
    assert_eq!(status.review.stores_away, 1);
    assert_eq!(double.counts().all(), 1);
}

/// The settings give a shorter interval when the program starts again.
#[test]
fn a_schedule_that_was_put_off_for_longer_than_the_settings_now_say_is_brought_forward() {
    let made = home();
    background::run_due(&made, &Shutdown::new()).expect("runs");
    let next = |home: &Home| {
        let known = home.registry.read(strongroom_registry::schedules::list).expect("lists");
        known.into_iter().find(|schedule| schedule.name == "fixity").expect("the schedule").next_run_at
    };
    let before = next(&made);
    let mut settings = made.settings.clone();
    settings.fixity.poll_interval = Duration::from_secs(5);
    let again = Home::with_registry(made.path(), settings, made.registry.clone()).expect("opens");
    background::run_due(&again, &Shutdown::new()).expect("runs");
    assert!(next(&again) < before.plus(-60_000_000), "{} was {before}", next(&again));
    made.clock.advance(Duration::from_secs(6));
    background::run_due(&again, &Shutdown::new()).expect("runs");
    let known = again.registry.read(strongroom_registry::schedules::list).expect("lists");
    let fixity = known.iter().find(|schedule| schedule.name == "fixity").expect("the schedule");
    assert_eq!(fixity.last_run_at.map(|at| at > before.plus(-1_800_000_000)), Some(true), "{fixity:?}");
}

/// Bytes that remember the longest read that was asked for.
struct Asked {
    left: io::Take<io::Repeat>,
    longest: usize,
}

impl Asked {
    fn of(bytes: u64) -> Self {
        Self { left: io::repeat(7).take(bytes), longest: 0 }
    }
}

impl Read for Asked {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.longest = self.longest.max(buffer.len());
        self.left.read(buffer)
    }
}

#[test]
fn a_limit_of_bytes_a_second_holds_for_every_body_that_is_read_from_a_store_or_put_there() {
    const TENTH_OF_A_SECOND: usize = (64 << 10) / 10;
    // The settings end with the table of this store.
    let home = home_with("max_bytes_per_second = \"64 KiB\"\n");
    let limited = home.store("quarantine").expect("a store");
    let key = Key::new("a/b").expect("a key");
    let read = |mut body: strongroom_storage::Body| body.read(&mut [0; 10_000]).expect("reads");

    let mut body = Asked::of(10_000);
    limited.put(&key, &mut body, &PutOptions::default()).expect("is put");
    assert_eq!(body.longest, TENTH_OF_A_SECOND);
    assert_eq!(read(limited.open(&key, 0, None).expect("opens")), TENTH_OF_A_SECOND);

    let assembly = limited.assembly("assembly", &Key::new("target").expect("a key")).expect("begins");
    let mut body = Asked::of(10_000);
    assembly.put(&key, &mut body, &PutOptions::default()).expect("is put");
    assert_eq!(body.longest, TENTH_OF_A_SECOND);
    assert_eq!(read(assembly.open(&key).expect("opens")), TENTH_OF_A_SECOND);

    let other = home.store("primary").expect("a store");
    let mut body = Asked::of(10_000);
    other.put(&key, &mut body, &PutOptions::default()).expect("is put");
    assert!(body.longest > TENTH_OF_A_SECOND);
    assert_eq!(read(other.open(&key, 0, None).expect("opens")), 10_000);
}
