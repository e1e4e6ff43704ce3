//! The cases against SQLite, and what concerns this engine alone: its statements, their plans, its migrations.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use strongroom_database::{Clock, Database, ManualClock, Sqlite, Statement, SystemClock, Time, Value};
use strongroom_registry::{Registry, RegistryError, migrations, statements};
use tempfile::TempDir;

use super::conformance_suite;
use super::world::{Subject, World};

struct SqliteSubject {
    registry: Registry,
    clock: Arc<ManualClock>,
    _folder: TempDir,
}

fn fresh() -> SqliteSubject {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let clock = Arc::new(ManualClock::at(Time(1_750_000_000_000_000)));
    let registry = Registry::open_sqlite(&folder.path().join("registry.db"), clock.clone()).expect("opens");
    SqliteSubject { registry, clock, _folder: folder }
}

impl Subject for SqliteSubject {
    fn registry(&self) -> Registry {
        self.registry.clone()
    }

    fn advance(&self, by: Duration) {
        self.clock.advance(by.as_micros() as i64);
    }
}

conformance_suite!(fresh);

fn system_clock() -> Arc<dyn Clock> {
    Arc::new(SystemClock)
}

#[test]
fn every_statement_fits_the_schema() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("registry.db");
    let database = Sqlite::open(&path, statements(), &migrations(), system_clock()).expect("opens");
    database.check_statements().expect("all fit");
}

#[test]
fn a_registry_of_any_earlier_version_is_brought_forward() {
    for known in 1..=migrations().len() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("registry.db");
        let earlier = &migrations()[..known];
        drop(Sqlite::open(&path, statements(), earlier, system_clock()).expect("opens as it was"));
        let clock = Arc::new(ManualClock::at(Time(1_750_000_000_000_000)));
        let registry = Registry::open_sqlite(&path, clock.clone()).expect("is brought forward");
        let subject = SqliteSubject { registry, clock, _folder: folder };
        let world = World::new(&subject);
        let item = world.item();
        assert_eq!(world.tasks(item).len(), 1, "from version {known}");
    }
}

#[test]
fn migrations_rise_from_one_without_gaps() {
    let numbers: Vec<u32> = migrations().iter().map(|migration| migration.version).collect();
    assert_eq!(numbers, (1..=numbers.len() as u32).collect::<Vec<_>>());
}

/// Statements that may read a whole table: reports for people, and tables that stay small.
const MAY_SCAN: &[&str] = &[
    "batches.list",
    "collections.list",
    "findings.list",
    "fixity.report",
    "institutions.list",
    "items.count_by_status",
    "leases.live",
    "schedules.list",
    "space.reserved",
];

#[test]
fn no_statement_reads_a_table_that_grows_from_end_to_end() {
    // The queue's statements (without a dot) have tests of their own; a rebuild reads everything in any case.
    let is_meant = |name: &&str| name.contains('.') && !name.starts_with("rebuild.");
    let own: BTreeSet<&str> = statements().names().filter(is_meant).collect();
    let mut explained = statements();
    for name in &own {
        let sql = statements().sql(Statement(name)).expect("is there");
        let text = format!("-- name: explain {name}\nEXPLAIN QUERY PLAN {sql}\n");
        explained = explained.with(Box::leak(text.into_boxed_str()));
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("registry.db");
    let database: Arc<dyn Database> =
        Arc::new(Sqlite::open(&path, explained, &migrations(), system_clock()).expect("opens"));
    let mut scans = Vec::new();
    for name in own {
        let sql = statements().sql(Statement(name)).expect("is there");
        let count = (1..40).take_while(|number| sql.contains(&format!("?{number}"))).count();
        let explain: &'static str = Box::leak(format!("explain {name}").into_boxed_str());
        let plan =
            database.read::<_, RegistryError, _>(|tx| Ok(tx.query(Statement(explain), &vec![Value::Null; count])?));
        for row in plan.unwrap_or_else(|error| panic!("{name}: {error}")) {
            let step = row.text(3).expect("a step").to_owned();
            if step.starts_with("SCAN") && !step.contains("CONSTANT ROW") && !MAY_SCAN.contains(&name) {
                scans.push(format!("{name}: {step}"));
            }
        }
    }
    assert!(scans.is_empty(), "{scans:#?}");
}
