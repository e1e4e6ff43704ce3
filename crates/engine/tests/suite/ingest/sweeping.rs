//! What a sweep removes and what it leaves: assemblies and staged bytes that nothing can use any more, and no others.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use strongroom_database::{Database, DatabaseError, Isolation, Transaction, WriteJob};
use strongroom_engine::backfill::{self, Retirement};
use strongroom_engine::ingest::{sweep_assemblies, sweep_staging};
use strongroom_engine::workflow::Workflows;
use strongroom_engine::{EngineError, Home};
use strongroom_registry::items::Request;
use strongroom_registry::leases::Holding;
use strongroom_registry::work::SWEEP_TOPIC;
use strongroom_registry::{Registry, VersionId, discarding};
use strongroom_s3_double::Double;
use strongroom_storage::{FolderStore, StorageError};
use strongroom_storage_test::{Call, Fault, Faults, Layer, Layered, Operation};

use super::identity::{ask, assembly, finish, version, work_until};
use super::jumping::{bucket, with_primary};
use super::waiting::{bring_back, take_away};
use super::*;

const DAY: Duration = Duration::from_hours(24);

/// An item that was cancelled before its version was published, and is swept; and that version.
fn discarded(home: &TestHome, name: &str) -> (ItemId, VersionId) {
    let id = hand_in(home, &home.bag(name, &[("a.txt", b"one")]));
    work_until(home, id, Stage::named("record"));
    let of = version(home, id);
    ask(home, id, Request::Cancel);
    work_on(&home.home, &[id], &Shutdown::new()).expect("sweeps");
    (id, of)
}

/// Puts something into the assembly of a version, as a process does that slept through its end.
fn stray(home: &TestHome, store: &str, name: &str) -> PathBuf {
    let file = home.file(store, &format!(".strongroom/assembly/{name}/v1/content/{name}/ab/abc"));
    std::fs::create_dir_all(file.parent().expect("a folder")).expect("makes it");
    std::fs::write(&file, b"late").expect("writes");
    file
}

#[test]
fn assemblies_of_versions_that_are_over_are_swept_and_no_others() {
    let home = home();
    let published = hand_in(&home, &home.bag("letters", &[("a.txt", b"one")]));
    finish(&home, published);
    let published = version(&home, published);
    let (_, dropped) = discarded(&home, "diaries");
    let open = hand_in(&home, &home.bag("photographs", &[("a.txt", b"one")]));
    work_until(&home, open, Stage::named("record"));
    let open_version = version(&home, open);
    // Long after the time in which a discarded version is swept again.
    home.clock.advance(DAY * 30);
    let over = [published, dropped].map(|of| stray(&home, "primary", &of.to_string()));
    let other = [VersionId::new().to_string(), "by-somebody-else".to_owned()].map(|of| stray(&home, "primary", &of));
    let stop = Shutdown::new();
    stop.request();
    sweep_assemblies(&home, &stop).expect("stops");
    assert!(over.iter().all(|file| file.exists()), "asked to stop, it leaves the rest");
    sweep_assemblies(&home, &Shutdown::new()).expect("sweeps");
    assert!(over.iter().all(|file| !file.exists()), "{over:?}");
    assert!(other.iter().all(|file| file.exists()), "{other:?}");
    assert!(KEPT_IN.iter().all(|store| assembly(&home, store, open_version).exists()));
    finish(&home, open);
}

#[test]
fn what_is_put_late_under_a_discarded_version_goes_for_two_days_also_where_keys_are_final() {
    let home = home();
    let double = Double::start().expect("a server");
    let in_bucket = with_primary(&home, bucket(&double));
    let id = hand_in(&home, &home.bag("letters", &[("a.txt", b"one")]));
    let record = Stage::named("record");
    let topics = topics_before(record);
    let workers = strongroom_engine::build_runtime(&in_bucket, Some(&topics)).expect("a runtime").build();
    workers.run_until(&Shutdown::new(), &|| has_reached(&find(&home, id), record));
    let of = version(&home, id).to_string();
    let put = |keys: Vec<String>| keys.into_iter().find(|key| key.contains(&of));
    let key = put(double.keys()).expect("a content of it");
    ask(&home, id, Request::Cancel);
    work_on(&in_bucket, &[id], &Shutdown::new()).expect("sweeps");
    assert_eq!(put(double.keys()), None);
    home.clock.advance(Duration::from_hours(47));
    double.lay(&key, b"late");
    sweep_assemblies(&in_bucket, &Shutdown::new()).expect("sweeps");
    assert_eq!(put(double.keys()), None);
}

#[test]
fn a_discarded_version_is_swept_daily_for_as_long_as_a_retired_store_is_away() {
    let home = home();
    let id = hand_in(&home, &home.bag("letters", &[("a.txt", b"one")]));
    work_until(&home, id, Stage::named("record"));
    let of = version(&home, id);
    ask(&home, id, Request::Cancel);
    let away = take_away(&home, "secondary");
    let retired =
        backfill::retire(&home, &crate::fixture::retire_request("secondary", true), &mut |_| Ok::<_, EngineError>(()));
    assert!(matches!(retired, Ok(Retirement::Retired(_))), "{retired:?}");
    work_on(&home.home, &[id], &Shutdown::new()).expect("sweeps");
    let is_swept_again = || {
        let since = strongroom_database::Clock::now(&*home.clock).plus(-2 * 24 * 3_600_000_000);
        let again = home.registry.read(|tx| discarding::swept_since(tx, since, None, 9)).expect("reads");
        again.iter().any(|version| version.id == of)
    };
    for day in 1..=4 {
        home.clock.advance(DAY);
        // The folder of the store itself is away, which is told behind what can be swept.
        let _ = sweep_assemblies(&home, &Shutdown::new());
        assert!(is_swept_again(), "day {day}");
    }
    bring_back(&home, "secondary", &away);
    sweep_assemblies(&home, &Shutdown::new()).expect("sweeps");
    assert!(!assembly(&home, "secondary", of).exists());
    home.clock.advance(DAY * 3);
    assert!(!is_swept_again(), "nothing is left to be swept");
}

#[test]
fn a_discarded_version_that_cannot_be_swept_keeps_no_other_from_it_and_is_told() {
    let home = home();
    let versions = ["letters", "diaries"].map(|name| discarded(&home, name).1);
    let late = versions.map(|of| stray(&home, "primary", &of.to_string()));
    let folder = FolderStore::open("primary", home.path().join("stores/primary")).expect("opens");
    let faulty = Layered::new(Arc::new(folder), Faults::new());
    // Each is tried once by its version, and then by its assembly.
    for nth in [1, 3] {
        faulty.layer().plan(Operation::Discard, nth, Fault::Fail(std::io::ErrorKind::Other));
    }
    let mut failing = home.opened_again();
    failing.stores.insert("primary".into(), Arc::new(faulty));
    let swept = sweep_assemblies(&failing, &Shutdown::new());
    assert!(swept.is_err_and(|error| error.chain().contains("a planned fault")));
    assert_eq!(late.iter().filter(|file| file.exists()).count(), 1);
}

#[test]
fn the_failure_to_sweep_a_discarded_version_is_told_when_all_is_done() {
    let home = home();
    let (_, of) = discarded(&home, "letters");
    let late = stray(&home, "primary", &of.to_string());
    let folder = FolderStore::open("primary", home.path().join("stores/primary")).expect("opens");
    let faulty = Layered::new(Arc::new(folder), Faults::new());
    faulty.layer().plan(Operation::Discard, 1, Fault::Fail(std::io::ErrorKind::Other));
    let mut failing = home.opened_again();
    failing.stores.insert("primary".into(), Arc::new(faulty));
    let swept = sweep_assemblies(&failing, &Shutdown::new());
    assert!(swept.is_err_and(|error| error.chain().contains("a planned fault")));
    assert!(!late.exists(), "it is swept by its assembly");
}

/// Writes a staged file.
fn staged(home: &TestHome, place: &str) -> PathBuf {
    let file = home.file("staging", &format!("{place}/pack-1"));
    std::fs::create_dir_all(file.parent().expect("a folder")).expect("makes it");
    std::fs::write(&file, b"staged").expect("writes");
    file
}

#[test]
fn staged_places_that_nothing_can_use_are_swept_and_no_others() {
    let home = home();
    let open = hand_in(&home, &home.bag("letters", &[("a.txt", b"one")]));
    work_until(&home, open, Stage::named("validate"));
    let in_use = home.keys("staging");
    let ended = hand_in(&home, &home.bag("diaries", &[("a.txt", b"one")]));
    finish(&home, ended);
    // It failed, and a person has to look: what was staged in the form of before may be looked at.
    let bag = home.path().join("bags/broken.tar");
    std::fs::write(&bag, b"no bag").expect("writes");
    let failed = hand_in(&home, &bag);
    work_on(&home.home, &[failed], &Shutdown::new()).expect("works");
    assert!(find(&home, failed).needs_review);
    let unknown = ItemId::new();
    let place = uuid::Uuid::now_v7();
    let garbage = [
        staged(&home, &format!("{open}/{place}")),
        staged(&home, &format!("{ended}/{place}")),
        staged(&home, &ended.to_string()),
        staged(&home, &unknown.to_string()),
    ];
    let kept = [staged(&home, &open.to_string()), staged(&home, &failed.to_string()), staged(&home, "no-item")];
    assert_eq!(sweep_staging(&home, &Shutdown::new()).expect("sweeps"), garbage.len() as u64);
    assert!(garbage.iter().all(|file| !file.exists()), "{garbage:?}");
    assert!(kept.iter().all(|file| file.exists()), "{kept:?}");
    assert!(in_use.iter().all(|key| home.file("staging", key).exists()), "{in_use:?}");
    finish(&home, open);
}

type Act = Box<dyn FnOnce() + Send>;

/// Does something once, before something is removed.
struct AtRemoval(Mutex<Option<Act>>);

impl Layer for AtRemoval {
    fn call<T>(&self, call: Call<'_>, act: &mut dyn FnMut() -> Result<T, StorageError>) -> Result<T, StorageError> {
        if matches!(call.operation, Operation::Delete | Operation::DeleteAll)
            && let Some(act) = self.0.lock().expect("locks").take()
        {
            act();
        }
        act()
    }
}

#[test]
fn what_a_requeued_item_can_use_by_now_is_not_swept() {
    let home = home();
    let first = staged(&home, &ItemId::new().to_string());
    let (id, _) = discarded(&home, "letters");
    let used = staged(&home, &id.to_string());
    let folder = FolderStore::open("staging", home.path().join("stores/staging")).expect("opens");
    let registry = home.registry.clone();
    let requeue: Act = Box::new(move || {
        let request = move |tx: &mut dyn strongroom_registry::Transaction| {
            items::request(tx, &Workflows::standard(), Scope::System, id, Request::Requeue(None), "a person")
        };
        registry.write(request).expect("requeues");
    });
    let mut meanwhile: Home = home.opened_again();
    meanwhile.roles.staging = Arc::new(Layered::new(Arc::new(folder), AtRemoval(Mutex::new(Some(requeue)))));
    assert_eq!(sweep_staging(&meanwhile, &Shutdown::new()).expect("sweeps"), 1);
    assert!(!first.exists() && used.exists());
}

/// Does something once, before a write transaction of a sweep: before the nth of the first that sweeps.
struct BetweenWrites {
    inner: Arc<dyn Database>,
    left: AtomicUsize,
    act: Mutex<Option<Act>>,
}

impl Database for BetweenWrites {
    fn write_job(&self, job: WriteJob, isolation: Isolation) -> Result<(), DatabaseError> {
        let is_sweep = std::thread::current().name() == Some(SWEEP_TOPIC);
        if is_sweep && self.left.fetch_sub(1, Ordering::SeqCst) == 1 {
            let act = self.act.lock().expect("locks").take();
            act.expect("it happens once")();
        }
        self.inner.write_job(job, isolation)
    }

    fn read_job(
        &self,
        job: &mut dyn FnMut(&mut dyn Transaction) -> Result<(), DatabaseError>,
    ) -> Result<(), DatabaseError> {
        self.inner.read_job(job)
    }

    fn dialect(&self) -> &'static str {
        self.inner.dialect()
    }

    fn revision(&self) -> Result<u64, DatabaseError> {
        self.inner.revision()
    }
}

/// Before its facts, its staged rows and its lease are swept.
#[test]
fn an_item_that_a_person_requeues_during_its_sweep_keeps_what_its_stages_have_since() {
    for nth in 1..=3 {
        let home = Arc::new(home());
        let id = hand_in(&home, &home.bag("letters", &[("a.txt", b"one")]));
        work_until(&home, id, Stage::named("record"));
        ask(&home, id, Request::Cancel);
        let is_requeued = Arc::new(AtomicBool::new(false));
        let requeue: Act = Box::new({
            let (home, is_requeued) = (home.clone(), is_requeued.clone());
            move || {
                ask(&home, id, Request::Requeue(None));
                work_until(&home, id, Stage::named("write"));
                is_requeued.store(true, Ordering::SeqCst);
            }
        });
        let inner = Arc::new(home.database(strongroom_registry::statements()));
        let between = BetweenWrites { inner, left: AtomicUsize::new(nth), act: Mutex::new(Some(requeue)) };
        let registry = Registry::within(Arc::new(between));
        let sweeping = Arc::new(Home::with_registry(home.path(), home.settings.clone(), registry).expect("opens"));
        let workers = strongroom_engine::build_runtime(&sweeping, Some(&[SWEEP_TOPIC.to_owned()])).expect("a runtime");
        workers.build().run_until(&Shutdown::new(), &|| is_requeued.load(Ordering::SeqCst));
        assert_eq!(
            (find(&home, id).status, find(&home, id).stage),
            (ItemStatus::Pending, Stage::named("write")),
            "{nth}"
        );
        let object = find(&home, id).object.expect("an object");
        let holding = home.registry.read(|tx| leases::holding(tx, object, id.0)).expect("reads");
        assert_eq!(holding, Holding::Held, "{nth}");
        assert!(!home.keys("staging").is_empty(), "{nth}");
        finish(&home, id);
        assert!(notes(&home, id).iter().all(|note| !note.contains("again")), "{nth}: {:?}", notes(&home, id));
    }
}
