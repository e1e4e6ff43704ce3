//! A home with plain stores of each kind, whose spaces are copied by a policy.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, SystemTime};

use strongroom_engine::app::duplication::{self, ReportedEvent};
use strongroom_engine::app::duplication_policies::{self as policies, NewVersion};
use strongroom_engine::app::users::{self, NewUser};
use strongroom_engine::app::views::{PolicyOutcome, SweepView};
use strongroom_engine::app::{OpContext, UserRole};
use strongroom_engine::build_runtime;
use strongroom_engine::duplication::{HIGH, LOW};
use strongroom_engine::runtime::Shutdown;
use strongroom_queue::tasks;
use strongroom_registry::duplicated_items::{self, DuplicatedItem};
use strongroom_registry::duplication_routes as routes;
use strongroom_registry::{CopyOutcome, RegistryError, Scope, tenants};
use strongroom_s3_double::{ACCESS_KEY, BUCKET, Double, SECRET_KEY};
use strongroom_spaces::{Description, ItemPut, PlainStore, Properties, SpaceName};
use strongroom_storage::{Key, PutCondition};

use crate::deletions::{ANN, add_admins, as_user, console};
use crate::fixture::{Engine, INSTITUTION, TestHome, home_on};

/// The variable by which tests find an S3 server: the settings of a store, as JSON.
const REAL: &str = "STRONGROOM_TEST_S3";
const ROOT: &str = "root@example.net";
pub(crate) const SPACE: &str = "maps";

/// What kind a plain store is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Folder,
    /// A folder that is watched.
    Watched,
    S3,
    /// The same with further settings, as lines.
    S3With(&'static str),
    /// A real server, of which `STRONGROOM_TEST_S3` says how to reach it.
    Real,
}

pub(crate) struct World {
    pub(crate) home: TestHome,
    pub(crate) double: Double,
    /// Whether a store is on a real server.
    is_real: bool,
}

/// The settings of a plain store on a real server, in a place of its own; none where there is no server.
fn real(name: &str) -> Option<String> {
    static PLACES: AtomicU32 = AtomicU32::new(0);
    let Ok(text) = std::env::var(REAL) else {
        println!("SKIPPED: duplication over a real S3 server: {REAL} is not set");
        return None;
    };
    let given: BTreeMap<String, String> = serde_json::from_str(&text).expect("the settings of a store as JSON");
    let settings: Vec<String> = given.iter().map(|(key, value)| format!("{key} = {value:?}\n")).collect();
    let settings = settings.concat();
    let place = PLACES.fetch_add(1, Ordering::SeqCst);
    Some(format!("{settings}prefix = \"duplicating/{}/{place}/{name}\"\nfirst_wait = \"20ms\"\n", std::process::id()))
}

pub(crate) fn world(engine: Engine, stores: &[(&str, Kind)], more: &str) -> Option<World> {
    let double = Double::start().expect("starts");
    let mut settings = String::new();
    for (name, kind) in stores {
        let in_double = |more: &str| {
            format!(
                "kind = \"s3\"\nbucket = \"{BUCKET}\"\nprefix = \"{name}\"\nendpoint = \"{}\"\naccess_key = \"{ACCESS_KEY}\"\n\
                 secret_key = \"{SECRET_KEY}\"\nfirst_wait = \"1ms\"\n{more}",
                double.endpoint()
            )
        };
        let place = match kind {
            Kind::Folder => format!("path = \"plain/{name}\"\nmarker = \".here\"\n"),
            Kind::Watched => format!("path = \"plain/{name}\"\nmarker = \".here\"\nwatch = true\n"),
            Kind::S3 => in_double(""),
            Kind::S3With(more) => in_double(more),
            Kind::Real => format!("kind = \"s3\"\n{}", real(name)?),
        };
        writeln!(settings, "[plain_stores.{name}]\n{place}").expect("is written");
    }
    let home = home_on(engine, &(settings + more))?;
    for (name, kind) in stores {
        if let Kind::Folder | Kind::Watched = kind {
            let folder = home.path().join("plain").join(name);
            std::fs::create_dir_all(&folder).expect("makes a folder");
            std::fs::write(folder.join(".here"), "").expect("marks it");
        }
    }
    add_admins(&home);
    let root = NewUser { email: ROOT.to_owned(), role: UserRole::SystemAdmin, institution: None, password: None };
    users::add(&console(&home), root).expect("is added");
    let is_real = stores.iter().any(|(_, kind)| *kind == Kind::Real);
    Some(World { home, double, is_real })
}

impl World {
    /// Goes on to another second: S3 states times in seconds, and within one a changed description alone does not show in a listing.
    pub(crate) fn pass_a_second(&self) {
        self.double.turn_clock(Duration::from_secs(2));
        if self.is_real {
            let second = || SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).expect("a time").as_secs();
            let before = second();
            while second() == before {
                std::thread::park_timeout(Duration::from_millis(20));
            }
        }
    }

    pub(crate) fn call(&self) -> OpContext {
        as_user(&self.home, ROOT)
    }

    /// Sets a policy, and has it approved where it deletes.
    pub(crate) fn policy(&self, rules: &[(&str, &str, bool)]) {
        let rules: Vec<String> = rules
            .iter()
            .map(|(from, to, delete)| format!("{{ source = \"{from}\", destination = \"{to}\", delete = {delete} }}"))
            .collect();
        let newest = policies::history(&self.call(), Some(INSTITUTION), None).expect("reads");
        let newest = newest.items.iter().map(|version| version.version).max();
        let file = format!("default = [{}]\n", rules.join(", ")).into_bytes();
        let new = NewVersion {
            institution: Some(INSTITUTION.to_owned()),
            file,
            reason: "a copy of everything".to_owned(),
            if_version: newest.or(Some(0)),
        };
        let set = policies::set(&self.call(), &new).expect("is set");
        assert_eq!(set.outcome, PolicyOutcome::Set, "{:?}", set.problems);
        if set.deletes {
            policies::approve(&as_user(&self.home, ANN), Some(INSTITUTION), set.version.expect("a version"))
                .expect("is approved");
        }
    }

    pub(crate) fn store(&self, name: &str) -> std::sync::Arc<dyn PlainStore> {
        self.home.plain_stores.get(name).expect("opens")
    }

    pub(crate) fn put(&self, store: &str, key: &str, bytes: &str, property: &str) {
        let store = self.store(store);
        store.create_space(&space()).expect("makes the space");
        let properties = Properties::new([("creator".to_owned(), property.to_owned())]).expect("properties");
        let description = Description::new(Some("text/plain"), properties).expect("a description");
        let how = ItemPut { description, condition: PutCondition::Always, ..ItemPut::default() };
        store.put(&space(), &self::key(key), &mut bytes.as_bytes(), &how).expect("is put");
    }

    pub(crate) fn remove(&self, store: &str, key: &str) {
        let store = self.store(store);
        let head = store.head(&space(), &self::key(key)).expect("is there");
        store.delete(&space(), &self::key(key), &head.etag).expect("is deleted");
    }

    /// The bytes and the property of a content item, where a store has it.
    pub(crate) fn found(&self, store: &str, key: &str) -> Option<(String, String)> {
        let store = self.store(store);
        let head = match store.head(&space(), &self::key(key)) {
            Ok(head) => head,
            Err(error) if error.is_not_found() => return None,
            Err(error) => panic!("{error}"),
        };
        let mut text = String::new();
        let mut body = store.open(&space(), &self::key(key), &head.etag).expect("opens");
        std::io::Read::read_to_string(&mut body, &mut text).expect("reads");
        Some((text, head.description.properties().get("creator").unwrap_or_default().to_owned()))
    }

    pub(crate) fn report(&self, item: &str, is_deletion: bool, at: Option<&str>) -> u64 {
        let event = ReportedEvent {
            item: item.to_owned(),
            is_deletion,
            happened_at: at.map(str::to_owned),
            reason: "as the depositor says".to_owned(),
        };
        duplication::record_events(&self.call(), &[event]).expect("is recorded").recorded
    }

    /// Works on what waits, until nothing does.
    pub(crate) fn drain(&self) {
        let is_busy = || {
            let counts = self.home.registry.read(|tx| tasks::counts(tx).map_err(RegistryError::from)).expect("counts");
            let of = |topic: &str| [HIGH, LOW].contains(&topic);
            counts.iter().any(|one| of(&one.topic) && one.ready + one.leased > 0)
        };
        let runtime = build_runtime(&self.home, Some(&[HIGH.to_owned(), LOW.to_owned()])).expect("a runtime").build();
        runtime.run_until(&Shutdown::new(), &|| !is_busy());
    }

    pub(crate) fn sweep(&self, all: bool) -> SweepView {
        let (begun, _) = duplication::start(&self.call(), Some(INSTITUTION), all).expect("begins");
        let ended = duplication::wait(&self.call(), &begun.run, &Shutdown::new()).expect("ends").sweep;
        assert_eq!(ended.listed, ended.queued + ended.equal + ended.ignored + ended.failed, "{ended:?}");
        ended
    }

    pub(crate) fn outcome(&self, pair: (&str, &str), key: &str) -> Option<(CopyOutcome, String)> {
        self.recorded(pair, key).map(|item| (item.outcome, item.detail))
    }

    /// What is recorded of a content item.
    pub(crate) fn recorded(&self, (source, destination): (&str, &str), key: &str) -> Option<DuplicatedItem> {
        let found = self.home.registry.read(|tx| {
            let of = tenants::institution(tx, Scope::System, INSTITUTION)?.expect("is there");
            let Some(route) = routes::find(tx, of.id, (source, destination, SPACE))? else { return Ok(None) };
            duplicated_items::get(tx, route.id, key)
        });
        found.expect("reads")
    }

    pub(crate) fn dead(&self) -> u64 {
        let counts = self.home.registry.read(|tx| tasks::counts(tx).map_err(RegistryError::from)).expect("counts");
        counts.iter().map(|topic| topic.dead).sum()
    }
}

pub(crate) fn space() -> SpaceName {
    SpaceName::new(SPACE).expect("a name")
}

pub(crate) fn key(text: &str) -> Key {
    Key::new(text).expect("a key")
}

/// Changes the bytes of a file, and nothing else that shows.
pub(crate) fn rot(world: &World, store: &str, key: &str, bytes: &str) {
    let path = world.home.path().join("plain").join(store).join(SPACE).join(key);
    let before = std::fs::metadata(&path).expect("is there");
    std::fs::write(&path, bytes).expect("is written");
    let file = std::fs::File::options().write(true).open(&path).expect("opens");
    file.set_modified(before.modified().expect("a time")).expect("sets the time");
}
