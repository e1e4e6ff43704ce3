//! A home of its own for a test: real folder stores, a real registry, a clock that the test moves, and bags that are
//! ingested through every stage.

use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use strongroom_database::testing::Scratch;
use strongroom_database::{
    Clock, Database, Location, Postgres, PostgresSettings, Schema, Sqlite, Statement, Statements, SystemClock, Time,
};
use strongroom_digest::Algorithm;
use strongroom_engine::backfill::RetireRequest;
use strongroom_engine::ingest::{DepositRequest, PackageSource, deposit};
use strongroom_engine::runtime::Shutdown;
use strongroom_engine::settings::Settings;
use strongroom_engine::workflow::Workflows;
use strongroom_engine::{Home, work_on};
use strongroom_registry::items::Item;
use strongroom_registry::objects::{self, Object};
use strongroom_registry::{Action, ItemStatus, Registry, Scope, Stage, items};
use strongroom_storage::Key;
use tempfile::TempDir;

use crate::installation::{self, add_institution, write_bag};
pub(crate) use crate::installation::{INSTITUTION, KEPT_IN};

/// The system's clock, moved by the test.
#[derive(Default)]
pub(crate) struct MovedClock(AtomicI64);

impl MovedClock {
    /// Moves it forward.
    pub(crate) fn advance(&self, by: Duration) {
        self.0.fetch_add(i64::try_from(by.as_micros()).expect("fits"), Ordering::SeqCst);
    }

    /// Moves it back.
    pub(crate) fn set_back(&self, by: Duration) {
        self.0.fetch_sub(i64::try_from(by.as_micros()).expect("fits"), Ordering::SeqCst);
    }
}

impl Clock for MovedClock {
    fn now(&self) -> Time {
        SystemClock.now().plus(self.0.load(Ordering::SeqCst))
    }
}

/// A home that goes when it is dropped.
pub(crate) struct TestHome {
    pub(crate) home: Arc<Home>,
    pub(crate) clock: Arc<MovedClock>,
    folder: TempDir,
    /// The schema of its registry, where that is in PostgreSQL. It goes last.
    _schema: Option<Scratch>,
}

/// Which database a registry is in.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Engine {
    Sqlite,
    Postgres,
}

/// Makes two tests of each case, a function that takes the [`Engine`]: `sqlite::CASE` and `postgres::CASE`.
macro_rules! on_both_databases {
    ($($case:ident)*) => {
        mod sqlite {
            $(#[test] fn $case() { super::$case(crate::fixture::Engine::Sqlite); })*
        }
        mod postgres {
            $(#[test] fn $case() { super::$case(crate::fixture::Engine::Postgres); })*
        }
    };
}
pub(crate) use on_both_databases;

impl Deref for TestHome {
    type Target = Arc<Home>;

    fn deref(&self) -> &Arc<Home> {
        &self.home
    }
}

/// A home with the institution `test.edu`, where every placement is `primary` and `secondary`.
pub(crate) fn home() -> TestHome {
    home_with("")
}

/// The same with further settings, as TOML tables.
pub(crate) fn home_with(settings: &str) -> TestHome {
    home_prepared(|_, text| text + settings)
}

/// A home of which the folder and the settings are changed before it is opened.
pub(crate) fn home_prepared(prepare: impl FnOnce(&Path, String) -> String) -> TestHome {
    let folder = TempDir::new().expect("makes a folder");
    installation::make_stores(folder.path());
    let text = prepare(folder.path(), installation::settings());
    std::fs::write(folder.path().join("strongroom.toml"), &text).expect("writes the settings");
    let settings = Settings::from_toml(&text).expect("settings");
    let clock = Arc::new(MovedClock::default());
    let registry = Registry::open_sqlite(&registry_file(&settings, folder.path()), clock.clone()).expect("a registry");
    add_institution(&registry);
    let home = Arc::new(Home::with_registry(folder.path(), settings, registry).expect("opens the home"));
    TestHome { home, clock, folder, _schema: None }
}

/// The same with a registry in this database; none where its server is absent.
pub(crate) fn home_on(engine: Engine, settings: &str) -> Option<TestHome> {
    let Engine::Postgres = engine else { return Some(home_with(settings)) };
    let schema = Scratch::new()?;
    let folder = TempDir::new().expect("makes a folder");
    installation::make_stores(folder.path());
    let text = format!("[registry]\nurl = \"{}\"\n", schema.url()) + &installation::settings() + settings;
    std::fs::write(folder.path().join("strongroom.toml"), &text).expect("writes the settings");
    let settings = Settings::from_toml(&text).expect("settings");
    let clock = Arc::new(MovedClock::default());
    let of_server = PostgresSettings { clock: Some(clock.clone()), ..PostgresSettings::default() };
    let Schema { statements, migrations } = strongroom_registry::schema("postgres");
    let database = Postgres::open(&schema.url(), of_server, statements, &migrations).expect("opens the database");
    let registry = Registry::within(Arc::new(database));
    add_institution(&registry);
    let home = Arc::new(Home::with_registry(folder.path(), settings, registry).expect("opens the home"));
    Some(TestHome { home, clock, folder, _schema: Some(schema) })
}

fn open(folder: &Path, settings: Settings, clock: &Arc<MovedClock>) -> Home {
    let registry = Registry::open_sqlite(&registry_file(&settings, folder), clock.clone()).expect("a registry");
    Home::with_registry(folder, settings, registry).expect("opens the home")
}

impl TestHome {
    /// The folder of the home; `bags/` below it is for deposits.
    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// The file that holds a key of a store.
    pub(crate) fn file(&self, store: &str, key: &str) -> PathBuf {
        self.folder.path().join("stores").join(store).join(key)
    }

    /// Every key of a store, in order.
    pub(crate) fn keys(&self, store: &str) -> Vec<String> {
        let store = self.home.store(store).expect("a store");
        let listing = store.list(&Key::ROOT).expect("lists");
        listing.map(|listed| listed.expect("a key").key.to_string()).collect()
    }

    /// Writes a bag that the APTrust profile accepts: `<name>.tar`, with these payload files.
    pub(crate) fn bag(&self, name: &str, files: &[(&str, &[u8])]) -> PathBuf {
        self.bag_for("Standard", name, files)
    }

    /// The same with the storage option that it asks for.
    pub(crate) fn bag_for(&self, option: &str, name: &str, files: &[(&str, &[u8])]) -> PathBuf {
        let folder = self.folder.path().join("bags");
        std::fs::create_dir_all(&folder).expect("makes a folder");
        let path = folder.join(format!("{name}.tar"));
        // The bag of an earlier deposit of this name.
        let _ = std::fs::remove_file(&path);
        let files: Vec<_> = files.iter().map(|(file, bytes)| (format!("data/{file}"), *bytes)).collect();
        write_bag(&path, name, option, &[Algorithm::Md5, Algorithm::Sha256], &files);
        path
    }

    /// Makes a bag, ingests it, and returns the object; depositing the same name again makes a version.
    pub(crate) fn ingest(&self, name: &str, files: &[(&str, &[u8])]) -> Object {
        let bag = self.bag(name, files);
        let request = DepositRequest {
            sources: vec![PackageSource::LocalPath(bag.clone())],
            ..DepositRequest::of_system(INSTITUTION)
        };
        let made = deposit(&self.home, &request).expect("deposits");
        work_on(&self.home, &made.items, &Shutdown::new()).expect("works");
        for id in made.items {
            let item = self.home.registry.read(|tx| items::find(tx, Scope::System, id)).expect("the item");
            assert_eq!(item.status, ItemStatus::Succeeded, "{:?} at {}", item.note, item.stage);
        }
        self.object(name)
    }

    /// A copy of the registry as it is now, beside the home.
    pub(crate) fn backup(&self, name: &str) -> PathBuf {
        let to = self.folder.path().join(format!("{name}.backup"));
        let database = self.database(strongroom_registry::statements());
        database.backup(&to).expect("copies");
        to
    }

    /// The registry's database, as another process has it.
    pub(crate) fn database(&self, statements: Statements) -> Sqlite {
        let path = registry_file(&self.home.settings, self.folder.path());
        Sqlite::open(&path, statements, &strongroom_registry::migrations(), self.clock.clone())
            .expect("opens beside it")
    }

    /// Changes rows of the registry as nothing of ours does, by a statement that is named `change`.
    pub(crate) fn change_rows(&self, change: &'static str) {
        let database: Box<dyn Database> = Box::new(self.database(strongroom_registry::statements().with(change)));
        database.write(|tx| tx.execute(Statement("change"), &[])).expect("changes them");
    }

    /// The home with its registry replaced by a copy.
    pub(crate) fn restored(self, backup: &Path) -> Self {
        let Self { home, clock, folder, _schema: schema } = self;
        let settings = home.settings.clone();
        let path = registry_file(&settings, folder.path());
        // Threads of the workers may be a moment behind their last task.
        let begun = std::time::Instant::now();
        while Arc::strong_count(&home) > 1 {
            assert!(begun.elapsed() < Duration::from_mins(1), "somebody still works with the registry");
            std::thread::park_timeout(Duration::from_millis(5));
        }
        drop(home);
        for suffix in ["-wal", "-shm"] {
            let _ = std::fs::remove_file(format!("{}{suffix}", path.display()));
        }
        std::fs::copy(backup, &path).expect("puts the copy in place");
        Self { home: Arc::new(open(folder.path(), settings, &clock)), clock, folder, _schema: schema }
    }

    /// Another home over the same stores, with a copy of the registry, opened to take up what the stores know.
    pub(crate) fn with_registry_elsewhere(&self, backup: &Path) -> (TempDir, Home) {
        let folder = TempDir::new().expect("makes a folder");
        let text = std::fs::read_to_string(self.folder.path().join("strongroom.toml")).expect("settings");
        let stores = self.folder.path().join("stores");
        let text = text.replace("path = \"stores/", &format!("path = \"{}/", stores.display()));
        let settings = Settings::from_toml(&text).expect("settings");
        std::fs::copy(backup, registry_file(&settings, folder.path())).expect("copies");
        let home = Home::open_to_adopt(folder.path(), settings).expect("opens the home");
        (folder, home)
    }

    /// The home opened anew, as another process would.
    pub(crate) fn opened_again(&self) -> Home {
        open(self.folder.path(), self.home.settings.clone(), &self.clock)
    }

    /// The home opened anew with other settings: placements that name these stores only, and without the stores `gone`.
    pub(crate) fn opened_with(&self, placed: &[&str], gone: &[&str]) -> Home {
        let text = std::fs::read_to_string(self.folder.path().join("strongroom.toml")).expect("settings");
        let mut text = text.replace(&format!("{KEPT_IN:?}"), &format!("{placed:?}"));
        for store in gone {
            let table = format!("[stores.{store}]\nkind = \"folder\"\npath = \"stores/{store}\"\n");
            assert!(text.contains(&table), "{store} is named");
            text = text.replace(&table, "");
        }
        open(self.folder.path(), Settings::from_toml(&text).expect("settings"), &self.clock)
    }

    /// The home opened to take up what its stores know.
    pub(crate) fn opened_to_adopt(&self) -> Home {
        Home::open_to_adopt(self.folder.path(), self.home.settings.clone()).expect("opens the home")
    }

    /// An object by its name.
    pub(crate) fn object(&self, name: &str) -> Object {
        let identifier = format!("{INSTITUTION}/{name}");
        self.home.registry.read(|tx| objects::find(tx, Scope::System, &identifier)).expect("the object")
    }
}

#[test]
fn an_ingested_bag_is_kept_in_both_stores() {
    let home = home();
    let object = home.ingest("letters", &[("a.txt", b"one"), ("b/c.txt", b"two")]);
    assert_eq!((object.head, object.files), (1, 4));
    let files = home.registry.read(|tx| objects::files(tx, object.id, 1, "deposit/", "", 100)).expect("files");
    for file in files {
        let copies = home.registry.read(|tx| objects::copies(tx, file.content)).expect("copies");
        assert_eq!(copies.iter().map(|copy| copy.store.as_str()).collect::<Vec<_>>(), KEPT_IN);
        for copy in copies {
            assert!(home.file(&copy.store, &copy.key).is_file());
        }
    }
    assert!(home.keys("staging").is_empty());
}

/// The database file of a home whose registry is one.
fn registry_file(settings: &Settings, home: &Path) -> PathBuf {
    match settings.registry_location(home).expect("a location") {
        Location::Sqlite(path) => path,
        Location::Postgres { .. } => panic!("the registry is no file"),
    }
}

/// The topics of the stages of a deposit before this one.
pub(crate) fn topics_before(stage: Stage) -> Vec<String> {
    let workflows = Workflows::standard();
    let deposit = workflows.of(Action::named("ingest")).expect("deposits");
    let before = deposit.stages.iter().take_while(|earlier| earlier.name != stage);
    before.map(|earlier| deposit.topic(earlier.name)).collect()
}

/// Whether a deposit has come to a stage, or beyond.
pub(crate) fn has_reached(item: &Item, stage: Stage) -> bool {
    let workflows = Workflows::standard();
    let deposit = workflows.of(Action::named("ingest")).expect("deposits");
    deposit.place(item.stage) >= deposit.place(stage)
}

/// A request to take a store out of use, by the system.
pub(crate) fn retire_request(store: &str, allow_one_copy: bool) -> RetireRequest {
    RetireRequest { store: store.to_owned(), allow_one_copy, ..RetireRequest::default() }
}
