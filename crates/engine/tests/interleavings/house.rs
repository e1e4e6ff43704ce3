//! The stores and the registry's file that all engines of a run share, and nothing else; made once for a process, and copied
//! for each run. Engines over them are opened as separate processes would open them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use strongroom_database::{Clock, Database, Sqlite, Time};
use strongroom_digest::Algorithm;
use strongroom_engine::ingest::{DepositRequest, PackageSource, deposit};
use strongroom_engine::settings::Settings;
use strongroom_engine::workflow::Workflows;
use strongroom_engine::{Home, Roles};
use strongroom_registry::items::{self, Item, Request};
use strongroom_registry::{ItemId, Registry, Scope};
use strongroom_s3::S3Store;
use strongroom_s3_double::{Double, Rules, Stored};
use strongroom_storage::{FolderStore, Store};
use strongroom_storage_test::{Layered, Loss, Unsynced};
use tempfile::TempDir;

use crate::database::GatedDatabase;
use crate::deposits::{self, Payload};
use crate::gate::{Gate, Gated};
use crate::installation::{self, INSTITUTION, KEPT_IN, STORES, add_institution, write_bag};

pub(crate) const OBJECT: &str = "test.edu/letters";

/// Longer than any lease.
const BEYOND_LEASES: Duration = Duration::from_hours(7);
const START: i64 = 1_700_000_000_000_000;

/// The registry's clock, which tests move; each look at it takes a microsecond.
pub(crate) struct SharedClock(AtomicI64);

impl Clock for SharedClock {
    fn now(&self) -> Time {
        Time(self.0.fetch_add(1, Ordering::SeqCst))
    }
}

/// The clock of an engine, which stands still while the engine sleeps.
pub(crate) struct SleepingClock {
    shared: Arc<SharedClock>,
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

/// What keeps the bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Folders,
    /// All stores but the receiving one lie in a bucket.
    Buckets,
}

/// What is worked on.
#[derive(Debug, Clone, Default)]
pub(crate) struct Subject {
    pub(crate) item: Option<ItemId>,
    /// The keys of its tasks.
    pub(crate) keys: Vec<String>,
}

impl From<ItemId> for Subject {
    fn from(item: ItemId) -> Self {
        Self { item: Some(item), keys: vec![item.to_string()] }
    }
}

/// A house as it was prepared, to be copied.
pub(crate) struct Template {
    folder: TempDir,
    bucket: BTreeMap<String, Stored>,
    kind: Kind,
    time: i64,
    /// What the copies' servers honour, whatever the stores believe.
    pub(crate) rules: Rules,
    pub(crate) subject: Subject,
    payload: fn(usize) -> Payload,
}

pub(crate) struct House {
    folder: TempDir,
    settings: Settings,
    clock: Arc<SharedClock>,
    stores: BTreeMap<&'static str, Arc<dyn Store>>,
    /// The same stores where they can lose what is not synced.
    unsynced: Vec<Unsynced>,
    kind: Kind,
    double: Option<Double>,
    pub(crate) subject: Subject,
    /// Work items that a disturbance has made: they end before the end is checked.
    pub(crate) others: Mutex<Vec<ItemId>>,
    /// The payload of each deposit, counted from 1.
    pub(crate) payload: fn(usize) -> Payload,
}

/// A folder in memory where the system has one, so that syncing costs nothing. `word` becomes part of its name.
fn folder(word: &str) -> TempDir {
    let in_memory = Path::new("/dev/shm");
    let mut builder = tempfile::Builder::new();
    builder.prefix(word);
    if in_memory.is_dir()
        && let Ok(folder) = builder.tempdir_in(in_memory)
    {
        return folder;
    }
    builder.tempdir().expect("makes a folder")
}

fn copy_folder(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("makes a folder");
    std::fs::set_permissions(to, from.metadata().expect("is there").permissions()).expect("sets permissions");
    for entry in std::fs::read_dir(from).expect("lists") {
        let entry = entry.expect("an entry");
        let target = to.join(entry.file_name());
        if entry.file_type().expect("a type").is_dir() {
            copy_folder(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), &target).expect("copies");
        }
    }
}

fn read_folder(folder: &Path, all: &mut Vec<(String, Vec<u8>)>) {
    for entry in std::fs::read_dir(folder).expect("lists") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            read_folder(&path, all);
        } else {
            all.push((path.display().to_string(), std::fs::read(&path).expect("reads")));
        }
    }
}

impl Template {
    /// A copy to work with. `word` becomes part of the name of its folder.
    pub(crate) fn copy(&self, word: &str) -> House {
        let folder = folder(word);
        copy_folder(self.folder.path(), folder.path());
        let double = (self.kind == Kind::Buckets).then(|| {
            let double = Double::start().expect("starts");
            for (key, stored) in &self.bucket {
                double.lay_stored(key, stored.clone());
            }
            double
        });
        let mut house = House::over(folder, double, self.kind, self.time, self.subject.clone(), false);
        house.payload = self.payload;
        if let Some(double) = &house.double {
            double.set_rules(self.rules);
        }
        house
    }
}

impl House {
    /// A new one with an institution and empty stores.
    pub(crate) fn new(kind: Kind) -> Self {
        let folder = folder("prepared");
        installation::make_stores(folder.path());
        let double = (kind == Kind::Buckets).then(|| Double::start().expect("starts"));
        let house = Self::over(folder, double, kind, START, Subject::default(), true);
        let home = house.engine(None, house.clock());
        add_institution(&home.registry);
        house
    }

    fn over(folder: TempDir, double: Option<Double>, kind: Kind, time: i64, subject: Subject, is_new: bool) -> Self {
        let mut stores = BTreeMap::new();
        let mut unsynced = Vec::new();
        for name in STORES {
            let store: Arc<dyn Store> = match &double {
                Some(double) if name != "receiving" => {
                    let settings = installation::bucket(double, name);
                    let opened = if is_new { S3Store::create(name, settings) } else { S3Store::open(name, settings) };
                    Arc::new(opened.expect("a store in a bucket"))
                }
                _ => {
                    let path = folder.path().join("stores").join(name);
                    let store = Unsynced::new(Arc::new(FolderStore::open(name, path).expect("opens a store")));
                    unsynced.push(store.clone());
                    Arc::new(store)
                }
            };
            stores.insert(name, store);
        }
        let clock = Arc::new(SharedClock(AtomicI64::new(time)));
        let settings = Settings::from_toml(&installation::settings()).expect("settings");
        let (others, payload) = (Mutex::default(), deposits::growing as fn(usize) -> Payload);
        Self { folder, settings, clock, stores, unsynced, kind, double, subject, others, payload }
    }

    /// What was prepared, to be copied.
    pub(crate) fn into_template(self) -> Template {
        let Self { folder, clock, kind, double, subject, payload, .. } = self;
        let mut bucket = BTreeMap::new();
        if let Some(double) = &double {
            for key in double.keys() {
                bucket.extend(double.stored(&key).map(|stored| (key, stored)));
            }
        }
        let time = clock.0.load(Ordering::SeqCst);
        Template { folder, bucket, kind, time, rules: Rules::AWS, subject, payload }
    }

    /// Deposits a payload as the object, counted from 1.
    pub(crate) fn deposit(&self, number: usize) -> ItemId {
        let folder = tempfile::tempdir_in(self.folder.path()).expect("makes a folder").keep();
        let path = folder.join("letters.tar");
        write_bag(&path, "letters", "Standard", &[Algorithm::Md5], (self.payload)(number));
        let request = DepositRequest {
            sources: vec![PackageSource::LocalPath(path.clone())],
            ..DepositRequest::of_system(INSTITUTION)
        };
        let home = self.engine(None, self.clock());
        deposit(&home, &request).expect("deposits").items[0]
    }

    pub(crate) fn clock(&self) -> Arc<SleepingClock> {
        Arc::new(SleepingClock { shared: self.clock.clone(), stands_at: Mutex::new(None) })
    }

    fn registry(&self, gate: Option<&Arc<Gate>>, clock: Arc<dyn Clock>) -> Registry {
        let path: PathBuf = self.folder.path().join("strongroom.db");
        let (statements, migrations) = (strongroom_registry::statements(), strongroom_registry::migrations());
        let inner: Arc<dyn Database> = Arc::new(Sqlite::open(&path, statements, &migrations, clock).expect("opens"));
        Registry::within(match gate {
            Some(gate) => Arc::new(GatedDatabase { inner, gate: gate.clone() }),
            None => inner,
        })
    }

    /// An engine as another process would open it, with a gate around its stores and its registry.
    pub(crate) fn engine(&self, gate: Option<&Arc<Gate>>, clock: Arc<dyn Clock>) -> Arc<Home> {
        let registry = self.registry(gate, clock);
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

    /// Lets the placements name only the first preservation store, until the house is copied or places in all of them again.
    pub(crate) fn place_in_one_store(&mut self) {
        let text = installation::settings().replace(&format!("{KEPT_IN:?}"), &format!("{:?}", &KEPT_IN[..1]));
        self.settings = Settings::from_toml(&text).expect("settings");
    }

    /// Lets the placements name all preservation stores.
    pub(crate) fn place_in_all_stores(&mut self) {
        self.settings = Settings::from_toml(&installation::settings()).expect("settings");
    }

    /// All bytes that lie in the stores, also those that no key names, by where they are.
    pub(crate) fn bytes(&self) -> Vec<(String, Vec<u8>)> {
        let mut all = Vec::new();
        read_folder(&self.folder.path().join("stores"), &mut all);
        if let Some(double) = &self.double {
            for key in double.keys() {
                all.extend(double.stored(&key).map(|stored| (key, stored.bytes())));
            }
        }
        all
    }

    pub(crate) fn store(&self, name: &str) -> &dyn Store {
        self.stores[name].as_ref()
    }

    /// Cuts the power of all stores at once.
    pub(crate) fn cut(&self, loss: Loss) {
        for store in &self.unsynced {
            store.cut(loss).expect("cuts");
        }
    }

    pub(crate) fn expire_leases(&self) {
        self.pass_time(BEYOND_LEASES);
    }

    pub(crate) fn pass_time(&self, by: Duration) {
        self.clock.0.fetch_add(i64::try_from(by.as_micros()).expect("fits"), Ordering::SeqCst);
    }

    /// Asks for something as a person does; whether it was accepted.
    pub(crate) fn request(&self, home: &Home, request: Request) -> bool {
        let Some(item) = self.subject.item else { return false };
        home.registry
            .write_and_wake(move |tx| {
                items::request(tx, &Workflows::standard(), Scope::System, item, request, "a librarian")
            })
            .is_ok()
    }
}

/// A work item as an engine reads it.
pub(crate) fn item(home: &Home, item: ItemId) -> Item {
    home.registry.read(|tx| items::find(tx, Scope::System, item)).expect("the item")
}
