//! One deposit, the stores it goes into, and engines over them that share nothing but those stores and the registry's file.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::PathBuf;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use strongroom_bagit::{BagWriter, NewFile, Serialization, WriterOptions};
use strongroom_database::{Clock, Time};
use strongroom_digest::Algorithm;
use strongroom_engine::ingest::{DepositRequest, deposit};
use strongroom_engine::runtime::{Handler, PoolSettings, Pools, Runtime, Shutdown, TaskContext, TaskEnd};
use strongroom_engine::settings::Settings;
use strongroom_engine::{Home, Roles, handlers};
use strongroom_queue::{TaskState, tasks};
use strongroom_registry::items::{self, Item, Request};
use strongroom_registry::work::Assignment;
use strongroom_registry::{InstitutionId, ItemId, Registry, RegistryError, Scope, tenants};
use strongroom_storage::{FolderStore, Layered, Store};
use tempfile::TempDir;

use crate::gate::{Gate, Gated, PATIENCE};

pub(crate) const INSTITUTION: &str = "test.edu";
pub(crate) const KEPT_IN: [&str; 2] = ["primary", "secondary"];
/// Paths of the payload and their bytes.
pub(crate) const PAYLOAD: [(&str, &[u8]); 1] = [("data/letter.txt", b"a letter")];

const STORES: [&str; 6] = ["receiving", "staging", "primary", "secondary", "restoration", "quarantine"];
/// Longer than any lease.
const BEYOND_LEASES: Duration = Duration::from_hours(72);
const LEASE: Duration = Duration::from_hours(24);

/// The registry's clock, which tests move; each look at it takes a microsecond.
#[derive(Default)]
pub(crate) struct ManualClock(AtomicI64);

impl ManualClock {
    fn advance(&self, by: Duration) {
        self.0.fetch_add(i64::try_from(by.as_micros()).expect("fits"), Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Time {
        Time(1_700_000_000_000_000 + self.0.fetch_add(1, Ordering::SeqCst))
    }
}

/// The clock of a worker, which stands still while the worker sleeps.
pub(crate) struct SleepingClock {
    shared: Arc<ManualClock>,
    stands_at: Mutex<Option<Time>>,
}

impl SleepingClock {
    pub(crate) fn stand_still(&self) {
        *self.stands_at.lock().expect("a lock") = Some(self.shared.now());
    }

    pub(crate) fn go_on(&self) {
        *self.stands_at.lock().expect("a lock") = None;
    }
}

impl Clock for SleepingClock {
    fn now(&self) -> Time {
        self.stands_at.lock().expect("a lock").unwrap_or_else(|| self.shared.now())
    }
}

pub(crate) struct House {
    folder: TempDir,
    settings: Settings,
    clock: Arc<ManualClock>,
    stores: BTreeMap<&'static str, Arc<dyn Store>>,
    pub(crate) item: ItemId,
}

impl House {
    pub(crate) fn new() -> Self {
        let folder = TempDir::new().expect("makes a folder");
        let mut text = String::from("[placements]\n");
        for placement in ["Standard", "Glacier-OH", "Glacier-OR", "Glacier-VA", "Glacier-Deep-OH", "Glacier-Deep-OR"] {
            writeln!(text, "{placement} = {KEPT_IN:?}").expect("writes");
        }
        for placement in ["Glacier-Deep-VA", "Wasabi-OR", "Wasabi-VA", "Wasabi-TX"] {
            writeln!(text, "{placement} = {KEPT_IN:?}").expect("writes");
        }
        let mut stores = BTreeMap::new();
        for name in STORES {
            write!(text, "[stores.{name}]\nkind = \"folder\"\npath = \"stores/{name}\"\n").expect("writes");
            let in_folder = FolderStore::create(name, folder.path().join("stores").join(name)).expect("makes a store");
            stores.insert(name, Arc::new(in_folder) as Arc<dyn Store>);
        }
        let settings = Settings::from_toml(&text).expect("settings");
        let clock = Arc::new(ManualClock::default());
        let registry = Registry::open_sqlite(&folder.path().join("strongroom.db"), clock.clone()).expect("a registry");
        registry
            .write(|tx| tenants::add_institution(tx, InstitutionId::new(), INSTITUTION, "Test University"))
            .expect("adds the institution");
        drop(registry);
        let mut house = Self { folder, settings, clock, stores, item: ItemId::new() };
        house.item = house.deposit();
        house
    }

    fn registry_file(&self) -> PathBuf {
        self.folder.path().join("strongroom.db")
    }

    fn deposit(&self) -> ItemId {
        let path = self.folder.path().join("letters.tar");
        let options = WriterOptions { algorithms: vec![Algorithm::Md5], ..WriterOptions::default() };
        let mut writer = BagWriter::create(&path, Serialization::Tar, options).expect("begins a bag");
        for (name, bytes) in PAYLOAD {
            writer.add_payload(&NewFile::new(name, bytes.len() as u64), bytes).expect("adds a file");
        }
        let info = "Title: letters\nAccess: Institution\nStorage-Option: Standard\n";
        writer.add_tag_file(&NewFile::new("aptrust-info.txt", info.len() as u64), info.as_bytes()).expect("adds tags");
        let tags = [
            ("Source-Organization", "Test University"),
            ("Bagging-Date", "2026-01-31"),
            ("Bag-Count", ""),
            ("Bag-Group-Identifier", ""),
            ("Internal-Sender-Description", ""),
            ("Internal-Sender-Identifier", ""),
        ];
        let tags = tags.map(|(label, value)| (label.to_owned(), value.to_owned()));
        writer.finish(&tags).expect("finishes the bag");
        let request = DepositRequest {
            institution: INSTITUTION.into(),
            sources: vec![path.to_str().expect("UTF-8").to_owned()],
            submitted_by: "tester".into(),
            ..DepositRequest::default()
        };
        let home = self.engine(None, self.clock.clone());
        deposit(&home, &request).expect("deposits").items[0]
    }

    pub(crate) fn clock(&self) -> Arc<SleepingClock> {
        Arc::new(SleepingClock { shared: self.clock.clone(), stands_at: Mutex::new(None) })
    }

    /// An engine as another process would open it, with a gate around its stores.
    pub(crate) fn engine(&self, gate: Option<&Arc<Gate>>, clock: Arc<dyn Clock>) -> Arc<Home> {
        let registry = Registry::open_sqlite(&self.registry_file(), clock).expect("a registry");
        let mut home = Home::with_registry(self.folder.path(), self.settings.clone(), registry).expect("a home");
        for (name, store) in &self.stores {
            let store: Arc<dyn Store> = match gate {
                Some(gate) => Arc::new(Layered::new(store.clone(), Gated(gate.clone()))),
                None => store.clone(),
            };
            home.stores.insert((*name).to_owned(), store);
        }
        let role = |name: &str| home.stores[name].clone();
        home.roles = Roles {
            receiving: role("receiving"),
            staging: role("staging"),
            restoration: role("restoration"),
            quarantine: role("quarantine"),
        };
        Arc::new(home)
    }

    pub(crate) fn store(&self, name: &str) -> &dyn Store {
        self.stores[name].as_ref()
    }

    pub(crate) fn expire_leases(&self) {
        self.clock.advance(BEYOND_LEASES);
    }

    pub(crate) fn read<T>(
        &self,
        act: impl FnMut(&mut dyn strongroom_registry::Transaction) -> Result<T, RegistryError>,
    ) -> T {
        let registry = Registry::open_sqlite(&self.registry_file(), self.clock.clone()).expect("a registry");
        registry.read(act).expect("reads")
    }

    pub(crate) fn item(&self) -> Item {
        self.read(|tx| items::find(tx, Scope::System, self.item))
    }

    /// Asks for something as a person does; whether it was accepted.
    pub(crate) fn request(&self, home: &Home, request: Request) -> bool {
        let item = self.item;
        home.registry.write_and_wake(move |tx| items::request(tx, Scope::System, item, request, "a librarian")).is_ok()
    }

    /// Works until the deposit has ended and nothing of it is left to do, or until `is_enough`. Time passes meanwhile.
    pub(crate) fn work(&self, home: &Arc<Home>, is_enough: impl Fn() -> bool) -> Result<(), String> {
        let runtime = builder(home, handlers(home), self.item)
            .poll_every(Duration::from_millis(2))
            .sweep_every(Duration::from_millis(2))
            .build();
        let began = Instant::now();
        let is_stuck = || began.elapsed() > PATIENCE;
        runtime.run_until(&Shutdown::new(), &|| {
            self.clock.advance(Duration::from_secs(1));
            is_enough() || is_done(home, self.item) || is_stuck()
        });
        if is_stuck() { Err(format!("the deposit does not end: {:?}", self.item())) } else { Ok(()) }
    }
}

fn is_done(home: &Home, item: ItemId) -> bool {
    let is_done = home.registry.read(|tx| {
        let has_ended = items::find(tx, Scope::System, item)?.status.is_ended();
        let is_left = tasks::of_key(tx, &item.to_string())?.iter().any(|task| task.state != TaskState::Dead);
        Ok::<_, RegistryError>(has_ended && !is_left)
    });
    is_done.expect("reads")
}

fn builder(home: &Arc<Home>, handlers: Vec<Arc<dyn Handler>>, item: ItemId) -> strongroom_engine::runtime::Builder {
    let settings = PoolSettings { lease: LEASE, max_attempts: 50, ..PoolSettings::default() };
    let pools = handlers.iter().map(|handler| (handler.topic().to_owned(), settings.clone())).collect();
    let never = Duration::from_hours(1);
    Runtime::builder(home.registry.clone(), handlers).pools(Pools(pools)).only_items([item]).beat_every(never)
}

/// A worker that may fall asleep: it looks for work when it starts and goes on with what it has, and never looks again.
pub(crate) struct Sleeper {
    shutdown: Shutdown,
    running: Arc<AtomicUsize>,
}

/// Counts the tasks that run.
struct Counted {
    inner: Arc<dyn Handler>,
    running: Arc<AtomicUsize>,
}

impl Handler for Counted {
    fn topic(&self) -> &str {
        self.inner.topic()
    }

    fn run(&self, assignment: &Assignment, context: &TaskContext) -> TaskEnd {
        self.running.fetch_add(1, Ordering::SeqCst);
        let end = self.inner.run(assignment, context);
        self.running.fetch_sub(1, Ordering::SeqCst);
        end
    }
}

impl Sleeper {
    pub(crate) fn new() -> Self {
        Self { shutdown: Shutdown::new(), running: Arc::default() }
    }

    /// Works in this thread until it is let go.
    pub(crate) fn work(&self, home: &Arc<Home>, item: ItemId) {
        let counted = handlers(home).into_iter().map(|inner| {
            let running = self.running.clone();
            Arc::new(Counted { inner, running }) as Arc<dyn Handler>
        });
        let never = Duration::from_hours(1);
        let runtime = builder(home, counted.collect(), item).poll_every(never).sweep_every(never).build();
        runtime.run_until(&self.shutdown, &|| is_done(home, item));
    }

    /// Waits until what it was doing has ended, then lets it go.
    pub(crate) fn let_go(&self, home: &Home, is_gone: impl Fn() -> bool) {
        let began = Instant::now();
        while self.running.load(Ordering::SeqCst) > 0 {
            assert!(began.elapsed() < PATIENCE, "the woken worker does not come to an end");
            std::thread::yield_now();
        }
        self.shutdown.request();
        while !is_gone() {
            // It looks at the request when something wakes it.
            home.registry.wakeups().notify(["ingest.fetch", "ingest.write"]);
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}
