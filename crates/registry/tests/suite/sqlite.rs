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

#[expect(clippy::unnecessary_wraps, reason = "the suite asks: other engines may be absent")]
fn fresh() -> Option<SqliteSubject> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let clock = Arc::new(ManualClock::at(Time(1_750_000_000_000_000)));
    let registry = Registry::open_sqlite(&folder.path().join("registry.db"), clock.clone()).expect("opens");
    Some(SqliteSubject { registry, clock, _folder: folder })
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
fn formats_of_contents_become_those_of_what_paths_hold() {
    const EARLIER: &str = "-- name: test.insert
INSERT INTO entries (object_id, file_id, generation, version, content_id) VALUES (?1, ?2, ?3, 1, ?4)
-- name: test.content
INSERT INTO contents (id, object_id, generation, sha512, size, md5, sha1, sha256, version, mime, format_method, created_at)
VALUES (?4, ?1, ?3, x'00', 1, x'00', x'00', x'00', 1, 'text/plain', 'extension', 0)
-- name: test.file
INSERT INTO files (id, object_id, path, created_at) VALUES (?2, ?1, hex(?2), 0)
-- name: test.object
INSERT INTO objects (id, institution_id, identifier, generation, state, created_at, updated_at)
VALUES (?1, ?5, 'a', ?3, 'active', 0, 0)
-- name: test.institution
INSERT INTO institutions (id, identifier, name, state, created_at, updated_at) VALUES (?5, 'a', 'a', 'active', 0, 0)
";
    const LATER: &str = "-- name: test.formats
SELECT mime, format_method, puid, format_signatures FROM entries
";
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("registry.db");
    let earlier = Sqlite::open(&path, statements().with(EARLIER), &migrations()[..3], system_clock()).expect("opens");
    let earlier: Arc<dyn Database> = Arc::new(earlier);
    let [object, generation, content, institution] = std::array::from_fn(|_| Value::from(uuid::Uuid::now_v7()));
    let files = [(); 2].map(|()| Value::from(uuid::Uuid::now_v7()));
    earlier
        .write::<_, RegistryError, _>(move |tx| {
            let values =
                |file: &Value| [object.clone(), file.clone(), generation.clone(), content.clone(), institution.clone()];
            for (index, file) in files.iter().enumerate() {
                let all = values(file);
                if index == 0 {
                    tx.execute(Statement("test.institution"), &all)?;
                    tx.execute(Statement("test.object"), &all)?;
                    tx.execute(Statement("test.content"), &all[..4])?;
                }
                tx.execute(Statement("test.file"), &all[..2])?;
                tx.execute(Statement("test.insert"), &all[..4])?;
            }
            Ok(())
        })
        .expect("is written");
    drop(earlier);
    let later =
        Sqlite::open(&path, statements().with(LATER), &migrations(), system_clock()).expect("is brought forward");
    let later: Arc<dyn Database> = Arc::new(later);
    let rows = later.read::<_, RegistryError, _>(|tx| Ok(tx.query(Statement("test.formats"), &[])?)).expect("is read");
    assert_eq!(rows.len(), 2);
    for row in rows {
        let columns = [0, 1, 2, 3].map(|column| row.optional_text(column).expect("a text"));
        assert_eq!(columns, [Some("text/plain"), Some("extension"), None, None]);
    }
}

#[test]
fn migrations_rise_from_one_without_gaps() {
    let numbers: Vec<u32> = migrations().iter().map(|migration| migration.version).collect();
    assert_eq!(numbers, (1..=numbers.len() as u32).collect::<Vec<_>>());
}

/// Statements that may read a whole table: reports for people, and tables that stay small.
pub(crate) const MAY_SCAN: &[&str] = &[
    "batches.list",
    "collections.list",
    "findings.list",
    "fixity.report",
    "institutions.list",
    "items.count_by_status",
    "items.count_by_status_of_institution",
    "leases.live",
    "schedules.list",
    "space.reserved",
    // Counts of rows for `status`, open findings and messages by their partial indexes, and a daily sweep.
    "health.open_by_store",
    "outbox.waiting",
    "retention.drop_outbox",
    "sizes.copies",
    "sizes.events",
    "sizes.files",
    "sizes.findings",
    "sizes.item_history",
    "sizes.objects",
    "sizes.outbox",
    "sizes.receipts",
    "sizes.uploads",
    "sizes.work_items",
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
