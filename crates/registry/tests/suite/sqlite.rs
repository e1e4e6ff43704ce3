//! The cases against SQLite, and what concerns this engine alone: its statements, their plans, its migrations.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use strongroom_database::{Clock, Database, ManualClock, Sqlite, Statement, SystemClock, Time, Value};
use strongroom_registry::items::Request;
use strongroom_registry::{ItemId, Registry, RegistryError, Stage, migrations, statements, work};
use tempfile::TempDir;

use super::conformance_suite;
use super::world::{Subject, Table, World, next};

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

    fn set_back(&self, by: Duration) {
        self.clock.advance(-(by.as_micros() as i64));
    }
}

conformance_suite!(fresh);

fn system_clock() -> Arc<dyn Clock> {
    Arc::new(SystemClock)
}

#[test]
fn every_statement_fits_the_schema() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    open(folder.path()).check_statements().expect("all fit");
}

pub(crate) fn open(folder: &Path) -> Sqlite {
    Sqlite::open(&folder.join("registry.db"), statements(), &migrations(), system_clock()).expect("opens")
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
        let columns = ["mime", "format_method", "puid", "format_signatures"]
            .map(|column| row.optional_text(column).expect("a text"));
        assert_eq!(columns, [Some("text/plain"), Some("extension"), None, None]);
    }
}

/// Statements of the schema before work items and findings said in a column what they wait for.
const NOTED: &str = "-- name: test.institution
INSERT INTO institutions (id, identifier, name, state, created_at, updated_at) VALUES (?1, 'a', 'a', 'active', 0, 0)
-- name: test.item
INSERT INTO work_items (id, institution_id, action, object_identifier, name, stage, status, note, created_at, updated_at)
VALUES (?1, ?2, 'ingest', 'test.edu/letters', 'letters.tar', 'compare', ?3, ?4, 0, 0)
-- name: test.finding
INSERT INTO findings (id, institution_id, object_id, store, key, kind, state, detail, found_at)
VALUES (?1, ?2, ?1, 'primary', 'k', 'damaged', 'open', ?3, 0)
";

/// Statements that read what they wait for.
const WAITING: &str = "-- name: test.waiting_items
SELECT wait_reason FROM work_items ORDER BY id
-- name: test.waiting_findings
SELECT wait_reason FROM findings ORDER BY id
";

#[test]
fn what_items_and_findings_wait_for_is_taken_from_what_older_rows_say() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("registry.db");
    let before =
        migrations().iter().position(|migration| migration.name == "waits and replacements").expect("is there");
    let earlier =
        Sqlite::open(&path, statements().with(NOTED), &migrations()[..before], system_clock()).expect("opens");
    let earlier: Arc<dyn Database> = Arc::new(earlier);
    let items = [
        ("pending", "waits for the older deposit 1 (pending at fetch)", Some("older_deposit")),
        ("pending", "waits for other work on the same object", Some("object")),
        ("pending", "waits for store secondary: it is gone", Some("store")),
        ("pending", "waits for 2 of 3 files to be thawed in secondary", Some("retrieval")),
        ("pending", "waits for 7 bytes of room in staging", Some("staging_space")),
        ("pending", "waits", Some("other")),
        ("pending", "fetched", None),
        ("failed", "waits for other work on the same object", None),
    ];
    let findings = [
        (
            "k in store primary waits for its copy to be thawed in store secondary, from which it is repaired",
            Some("retrieval"),
        ),
        ("expected this, found that", None),
    ];
    let institution = Value::from(uuid::Uuid::now_v7());
    earlier
        .write::<_, RegistryError, _>(move |tx| {
            tx.execute(Statement("test.institution"), std::slice::from_ref(&institution))?;
            for (status, note, _) in items {
                let id = Value::from(uuid::Uuid::now_v7());
                tx.execute(Statement("test.item"), &[id, institution.clone(), status.into(), note.into()])?;
            }
            for (detail, _) in findings {
                let id = Value::from(uuid::Uuid::now_v7());
                tx.execute(Statement("test.finding"), &[id, institution.clone(), detail.into()])?;
            }
            Ok(())
        })
        .expect("is written");
    drop(earlier);
    let later =
        Sqlite::open(&path, statements().with(WAITING), &migrations(), system_clock()).expect("is brought forward");
    let later: Arc<dyn Database> = Arc::new(later);
    let read = |statement| {
        let rows = later.read::<_, RegistryError, _>(move |tx| Ok(tx.query(statement, &[])?)).expect("is read");
        rows.iter().map(|row| row.optional_text("wait_reason").expect("a text").map(str::to_owned)).collect::<Vec<_>>()
    };
    let reasons: Vec<Option<String>> = items.iter().map(|(_, _, reason)| reason.map(str::to_owned)).collect();
    assert_eq!(read(Statement("test.waiting_items")), reasons);
    let reasons: Vec<Option<String>> = findings.iter().map(|(_, reason)| reason.map(str::to_owned)).collect();
    assert_eq!(read(Statement("test.waiting_findings")), reasons);
}

#[test]
fn what_versions_were_harvested_from_is_taken_from_what_older_rows_say() {
    const EARLIER: &str = "-- name: test.institution
INSERT INTO institutions (id, identifier, name, state, created_at, updated_at) VALUES (?1, 'a', 'a', 'active', 0, 0)
-- name: test.object
INSERT INTO objects (id, institution_id, identifier, generation, state, created_at, updated_at)
VALUES (?1, ?1, 'a', ?1, 'active', 0, 0)
-- name: test.item
INSERT INTO work_items (id, institution_id, action, object_identifier, name, stage, status, source, created_at, updated_at, number)
VALUES (?1, ?2, 'ingest', 'a', 'a', 'compare', 'succeeded', ?3, 0, 0, (SELECT count(*) + 1 FROM work_items))
-- name: test.version
INSERT INTO versions (id, object_id, generation, number, state, item_id, message, user_name, description, created_at)
VALUES (?1, ?3, ?3, ?4, 'published', ?2, ?5, 'a', '{}', 0)
";
    const LATER: &str = "-- name: test.origins
SELECT harvested_from, harvested_part FROM versions ORDER BY number
";
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("registry.db");
    let before = migrations().iter().position(|migration| migration.name == "origins").expect("is there");
    let earlier =
        Sqlite::open(&path, statements().with(EARLIER), &migrations()[..before], system_clock()).expect("opens");
    let earlier: Arc<dyn Database> = Arc::new(earlier);
    // The source of the work item, the message, and what the version was harvested from.
    let rows = [
        (Some("document:1"), "harvested from /records", Some("/records")),
        (Some("/tmp/file"), "harvested from /records", None),
        (None, "harvested from /records", Some("/records")),
        (None, "harvested from ", None),
        (None, "Harvested from /records", None),
        (Some("document:1"), "deposit of a", None),
    ];
    let institution = Value::from(uuid::Uuid::now_v7());
    earlier
        .write::<_, RegistryError, _>(move |tx| {
            tx.execute(Statement("test.institution"), std::slice::from_ref(&institution))?;
            tx.execute(Statement("test.object"), std::slice::from_ref(&institution))?;
            for (number, (source, message, _)) in rows.into_iter().enumerate() {
                let [item, version] = std::array::from_fn(|_| Value::from(uuid::Uuid::now_v7()));
                if let Some(source) = source {
                    tx.execute(Statement("test.item"), &[item.clone(), institution.clone(), source.into()])?;
                }
                let values = [version, item, institution.clone(), (number + 1).into(), message.into()];
                tx.execute(Statement("test.version"), &values)?;
            }
            Ok(())
        })
        .expect("is written");
    drop(earlier);
    let later =
        Sqlite::open(&path, statements().with(LATER), &migrations(), system_clock()).expect("is brought forward");
    let later: Arc<dyn Database> = Arc::new(later);
    let found = later.read::<_, RegistryError, _>(|tx| Ok(tx.query(Statement("test.origins"), &[])?)).expect("is read");
    let found: Vec<_> = found.iter().map(|row| row.optional_text("harvested_from").expect("a text")).collect();
    assert_eq!(found, rows.map(|(_, _, origin)| origin));
}

#[test]
fn items_and_tasks_made_before_workflows_were_data_say_where_they_belong() {
    const EARLIER: &str = "-- name: test.institution
INSERT INTO institutions (id, identifier, name, state, created_at, updated_at) VALUES (?1, 'a', 'a', 'active', 0, 0)
-- name: test.item
INSERT INTO work_items (id, institution_id, action, object_identifier, name, stage, status, created_at, updated_at)
VALUES (?1, ?2, ?3, 'a/b', 'b', ?4, 'pending', 0, 0)
-- name: test.task
INSERT INTO task (id, topic, key, state, priority, fair_key, rank, ready_at, max_attempts, enqueued_at, payload)
VALUES (?1, ?2, ?3, 0, 50, '', 0, 0, 3, 0, x'')
-- name: test.version
INSERT INTO versions (id, object_id, generation, number, state, item_id, message, user_name, description, created_at)
VALUES (?1, ?1, ?1, 1, ?3, ?2, 'a', 'a', '{}', 0)
-- name: test.object
INSERT INTO objects (id, institution_id, identifier, generation, state, created_at, updated_at)
VALUES (?1, ?2, hex(?1), ?1, 'active', 0, 0)
";
    const LATER: &str = "-- name: test.items
SELECT topic, is_committed FROM work_items ORDER BY id
-- name: test.tasks
SELECT item_id FROM task ORDER BY id
";
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("registry.db");
    let before = migrations().iter().take_while(|migration| migration.name != "workflows").count() - 1;
    let earlier =
        Sqlite::open(&path, statements().with(EARLIER), &migrations()[..before], system_clock()).expect("opens");
    let earlier: Arc<dyn Database> = Arc::new(earlier);
    let items = [
        ("ingest", "receive", None, "ingest.receive"),
        ("ingest", "write", Some("preparing"), "ingest.write"),
        ("ingest", "record", Some("committing"), "ingest.record"),
        ("ingest", "notify", Some("published"), "ingest.notify"),
        ("restore_file", "restore", None, "restoration.restore"),
    ];
    let ids = items.map(|_| uuid::Uuid::now_v7());
    earlier
        .write::<_, RegistryError, _>(move |tx| {
            let institution = Value::from(uuid::Uuid::now_v7());
            tx.execute(Statement("test.institution"), std::slice::from_ref(&institution))?;
            for ((action, stage, version, topic), id) in items.into_iter().zip(ids) {
                tx.execute(Statement("test.item"), &[id.into(), institution.clone(), action.into(), stage.into()])?;
                let number = tx.query(Statement("items.count_by_status"), &[])?[0].count("items")?;
                tx.execute(Statement("test.task"), &[number.into(), topic.into(), id.to_string().into()])?;
                if let Some(state) = version {
                    let version = Value::from(uuid::Uuid::now_v7());
                    tx.execute(Statement("test.object"), &[version.clone(), institution.clone()])?;
                    tx.execute(Statement("test.version"), &[version, id.into(), state.into()])?;
                }
            }
            let sweep = ["ingest.sweep".into(), ids[0].to_string().into()];
            tx.execute(Statement("test.task"), &[[9_u64.into()].as_slice(), &sweep].concat())?;
            Ok(())
        })
        .expect("is written");
    drop(earlier);
    let later: Arc<dyn Database> = Arc::new(
        Sqlite::open(&path, statements().with(LATER), &migrations(), system_clock()).expect("is brought forward"),
    );
    let read = |statement| later.read::<_, RegistryError, _>(move |tx| Ok(tx.query(statement, &[])?)).expect("is read");
    let found: Vec<(String, bool)> = read(Statement("test.items"))
        .iter()
        .map(|row| (row.text("topic").expect("a topic").to_owned(), row.bool("is_committed").expect("is told")))
        .collect();
    let expected =
        items.map(|(_, _, version, topic)| (topic.to_owned(), matches!(version, Some("committing" | "published"))));
    assert_eq!(found, expected);
    let found: Vec<Option<uuid::Uuid>> =
        read(Statement("test.tasks")).iter().map(|row| row.optional_uuid("item_id").expect("an id")).collect();
    let mut expected: Vec<Option<uuid::Uuid>> = ids.into_iter().map(Some).collect();
    expected.push(None);
    assert_eq!(found, expected, "a sweep is no stage of its item");
}

#[test]
fn what_was_held_before_holds_were_rows_is_held_by_them() {
    const EARLIER: &str = "-- name: test.institution
INSERT INTO institutions (id, identifier, name, state, created_at, updated_at) VALUES (?1, 'example.edu', 'Ours', 'active', 0, 0)
-- name: test.collection
INSERT INTO collections (id, institution_id, identifier, name, held, state, created_at, updated_at)
VALUES (?1, ?2, ?3, 'A collection', ?4, 'active', 0, 0)
-- name: test.batch
INSERT INTO batches (id, institution_id, type, state, submitted_by, created_at, updated_at)
VALUES (?1, ?2, 'bag', 'processing', 'ann', 0, 0)
-- name: test.item
INSERT INTO work_items (id, institution_id, collection_id, batch_id, action, object_identifier, name, stage, status, note,
    cancel_requested, requested_by, topic, created_at, updated_at, number)
VALUES (?1, ?2, ?3, ?4, ?5, 'example.edu/bag', 'bag', ?6, ?7, ?8, ?9, 'bob', '', 0, 7, (SELECT count(*) + 1 FROM work_items))
-- name: test.history
INSERT INTO item_history (item_id, number, time, stage, status, fence, actor) VALUES (?1, ?2, 0, 'fetch', ?3, 0, 'ann')
";
    const LATER: &str = "-- name: test.holds
SELECT h.kind, h.subject_id, h.placed_by, h.reason FROM holds h ORDER BY h.kind, h.subject_id
-- name: test.items
SELECT id, cancel_requested, deleted_from, list_state FROM work_items ORDER BY number
-- name: test.batches
SELECT state, row_count FROM batches ORDER BY id
";
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("registry.db");
    let before = migrations().iter().take_while(|migration| migration.name != "holds").count();
    let earlier: Arc<dyn Database> = Arc::new(
        Sqlite::open(&path, statements().with(EARLIER), &migrations()[..before], system_clock()).expect("opens"),
    );
    let id = uuid::Uuid::now_v7;
    let (institution, held, free, batches) = (id(), id(), id(), [id(), id()]);
    let items = [
        // By the collection, by a person within it, by a person, by a stage, by a person while a worker has it.
        (id(), held, batches[0], "ingest", "fetch", "held", "submitted", None),
        (id(), held, batches[0], "ingest", "fetch", "held", "held by ann", None),
        (id(), free, batches[0], "ingest", "fetch", "held", "held by ann", None),
        (id(), free, batches[0], "ingest", "fetch", "held", "look at this", None),
        (id(), free, batches[0], "ingest", "fetch", "started", "fetches", Some("held")),
        (id(), free, batches[0], "ingest", "fetch", "deleted", "deleted by ann", None),
        (id(), free, batches[1], "expand_batch", "expand", "pending", "submitted", None),
        (id(), free, batches[0], "expand_batch", "expand", "succeeded", "3 objects", None),
    ];
    earlier
        .write::<_, RegistryError, _>(move |tx| {
            tx.execute(Statement("test.institution"), &[institution.into()])?;
            for (collection, is_held) in [(held, true), (free, false)] {
                let name = format!("held-{is_held}");
                let values = [collection.into(), institution.into(), name.into(), is_held.into()];
                tx.execute(Statement("test.collection"), &values)?;
            }
            for batch in batches {
                tx.execute(Statement("test.batch"), &[batch.into(), institution.into()])?;
            }
            for (id, collection, batch, action, stage, status, note, asked) in items {
                let values: [Value; 9] = [
                    id.into(),
                    institution.into(),
                    collection.into(),
                    batch.into(),
                    action.into(),
                    stage.into(),
                    status.into(),
                    note.into(),
                    asked.into(),
                ];
                tx.execute(Statement("test.item"), &values)?;
                for (number, status) in
                    (1_u64..).zip(["pending", if status == "deleted" { "failed" } else { "held" }, status])
                {
                    tx.execute(Statement("test.history"), &[id.into(), number.into(), status.into()])?;
                }
            }
            Ok(())
        })
        .expect("is written");
    drop(earlier);
    let later: Arc<dyn Database> = Arc::new(
        Sqlite::open(&path, statements().with(LATER), &migrations(), system_clock()).expect("is brought forward"),
    );
    let read = |statement| later.read::<_, RegistryError, _>(move |tx| Ok(tx.query(statement, &[])?)).expect("is read");
    let found: Vec<_> = read(Statement("test.holds"))
        .iter()
        .map(|row| {
            (row.uuid("subject_id").expect("an id"), row.optional_text("reason").expect("a reason").map(str::to_owned))
        })
        .collect();
    let reason = |text: &str| Some(text.to_owned());
    let expected = [
        (held, None),
        (items[1].0, None),
        (items[2].0, None),
        (items[3].0, reason("look at this")),
        (items[4].0, None),
    ];
    assert_eq!(found, expected);
    let of_items = read(Statement("test.items"));
    assert!(of_items.iter().all(|row| row.optional_text("cancel_requested").expect("none").is_none()));
    assert_eq!(of_items[5].optional_text("deleted_from").expect("a status"), Some("failed"));
    let lists: Vec<_> = of_items.iter().filter_map(|row| row.optional_text("list_state").expect("a state")).collect();
    assert_eq!(lists, ["open", "made"]);
    let of_batches: Vec<_> = read(Statement("test.batches"))
        .iter()
        .map(|row| {
            (row.text("state").expect("a state").to_owned(), row.optional_integer("row_count").expect("a count"))
        })
        .collect();
    assert_eq!(of_batches, [("processing".to_owned(), Some(6)), ("pending".to_owned(), None)]);
}

/// A worker of an older program ends what it holds beside tables that were brought forward.
#[test]
fn what_a_program_that_knows_no_workflows_still_writes_is_understood() {
    const OLDER: &str = "-- name: test.commits
UPDATE work_items SET is_committed = 0
-- name: test.moves
UPDATE work_items SET topic = ''
-- name: test.enqueues
UPDATE task SET item_id = NULL
-- name: test.loses_tasks
DELETE FROM task
";
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("registry.db");
    let clock = Arc::new(ManualClock::at(Time(1_750_000_000_000_000)));
    let registry = Registry::open_sqlite(&path, clock.clone()).expect("opens");
    let older: Arc<dyn Database> =
        Arc::new(Sqlite::open(&path, statements().with(OLDER), &migrations(), clock.clone()).expect("opens"));
    let write =
        |statement| older.write::<_, RegistryError, _>(move |tx| Ok(tx.execute(statement, &[])?)).expect("is written");
    let subject = SqliteSubject { registry, clock, _folder: folder };
    let world = World::new(&subject);
    let (claim, version) = world.committing();
    write(Statement("test.commits"));
    world.crash();
    for request in [Request::Cancel, Request::Hold] {
        assert!(
            world.ask(claim.item, request).is_err(),
            "{request:?}: its version {} is being committed",
            version.number
        );
    }
    write(Statement("test.moves"));
    write(Statement("test.enqueues"));
    let (claim, item) = world.claim(Stage::named("record"));
    assert_eq!(item.stage, Stage::named("record"));
    assert_eq!(world.find(item.id).topic, "ingest.record", "and is right from then on");
    world.publish(&claim, &[]);
    world.finish(&claim, &next(Stage::named("notify")));
    write(Statement("test.moves"));
    write(Statement("test.loses_tasks"));
    let found = world.read(|tx| work::open_items(tx, ItemId(uuid::Uuid::nil()), 9)).without_task;
    assert_eq!(found, [item.id]);
    assert_eq!(world.write(move |tx| work::requeue_stranded(tx, &Table, &found)), ["ingest.notify"]);
    world.claim(Stage::named("notify"));
    let held = world.item_named("another");
    world.ask(held, Request::Hold).expect("is held");
    write(Statement("test.moves"));
    assert_eq!(world.ask(held, Request::Release).expect("is released"), ["ingest.receive"]);
}

#[test]
fn migrations_rise_from_one_without_gaps() {
    let numbers: Vec<u32> = migrations().iter().map(|migration| migration.version).collect();
    assert_eq!(numbers, (1..=numbers.len() as u32).collect::<Vec<_>>());
}

/// Statements that may read a whole table or index, and why each may.
const MAY_SCAN: &[(&str, &str)] = &[
    ("activities.behind", "what it has found itself"),
    ("activities.count_in_state", "what was found by an index"),
    ("activities.tried_again", "an index of those that are tried again after an error"),
    ("audit.chains", "as few as institutions"),
    ("audit.contradictions", "as few as people have to resolve"),
    ("audit.drop_contradictions_of_store", "as few as people have to resolve"),
    ("audit.pending", "a count up to a bound"),
    ("audit.pending_of", "a count up to a bound"),
    ("backfill.amount_lacking", "an amount that a person waits for"),
    ("backfill.count_lacking", "a count that a person asks for"),
    ("batches.has_stop", "as few as batches are being cancelled"),
    ("batches.oldest", "a page in the order of the key"),
    ("collections.list", "as few as people make"),
    ("content_events.count_pending", "a count up to a bound"),
    ("deletions.count_refused", "an index of what is still to be removed from stores, up to a bound"),
    ("deletions.unfinished", "an index of what is still to be removed from stores"),
    ("duplicated_items.count_equal", "a count up to a bound"),
    ("duplicated_items.count_in_trouble", "an index of those that are lost or damaged"),
    ("duplication_parts.holders", "an index of the parts that are open"),
    ("duplication_parts.let_go", "an index of the parts that are open"),
    ("duplication_parts.next", "an index of the parts that are open"),
    ("duplication_policies.newest_of_all", "as few as versions of policies"),
    ("duplication_runs.institutions", "as few as versions of policies"),
    ("findings.list", "a page in the order of the key"),
    ("fixity.report", "a report that a person asks for"),
    ("health.open_by_store", "an index of the findings that are open"),
    ("institutions.list", "as few as people make"),
    ("items.count_by_collection", "what was counted by an index: a row for each collection and status"),
    ("items.count_by_status", "a report that a person asks for"),
    ("items.count_by_status_of_institution", "a report that a person asks for"),
    ("items.count_up_to", "what was found by an index, up to a bound"),
    ("items.waiting_for_tools", "an index of those that wait for a tool"),
    ("leases.live", "as few as work is done at once"),
    ("levels.files", "a page in the order of the key"),
    ("levels.objects", "a page in the order of the key"),
    ("levels.unverified", "an index of the copies that were not read back, up to a bound"),
    ("levels.users", "as few as people"),
    ("levels.without_second_admin", "as few as people make"),
    ("manifests.copies", "a page that was found by an index"),
    ("missed_logs.count", "rows are there only while a store is away"),
    ("outbox.count_undeliverable", "an index of the messages that are undeliverable"),
    ("outbox.waiting", "an index of the messages that wait"),
    ("pipelines.named", "as few as people set"),
    ("placements.count_behind", "what was found by the key, up to a bound"),
    ("placements.count_marked", "a count that stops at a bound"),
    ("placements.list", "as few as the settings name"),
    ("placements.marked", "a page in the order of the key"),
    ("placements.of_collection", "a page of the collection, which is read by its index"),
    ("placements.unmark", "as few as the settings name"),
    ("placements.wanted_of", "one row that is made of a value"),
    ("problems.waivers_ended", "an index of the problems that are not resolved"),
    ("profiles.list", "as few as people add"),
    ("profiles.of_digest", "as few as people add"),
    ("queue_set_every_paused", "as few as there are topics"),
    ("report_rows.insert", "a page of a batch"),
    ("report_rows.now", "a page of a batch"),
    ("reports.abandoned", "an index of the reports that are not told"),
    ("reports.changed_in_page", "a page of a batch"),
    ("reports.page_end", "a page of a batch"),
    ("restorations.amount", "the sum over what its parts find by indexes of batches and of collections"),
    ("schedules.list", "as few as there are schedules"),
    ("sizes.events", "a count that the background task retention makes each day"),
    ("sizes.events_up_to", "a count that stops at a bound"),
    ("sizes.item_history", "a count that the background task retention makes each day"),
    ("sizes.item_history_up_to", "a count that stops at a bound"),
    ("sizes.journal", "a count that the background task retention makes each day"),
    ("sizes.journal_up_to", "a count that stops at a bound"),
    ("sizes.outbox", "a count that the background task retention makes each day"),
    ("sizes.outbox_up_to", "a count that stops at a bound"),
    ("sizes.receipts", "a count that the background task retention makes each day"),
    ("sizes.receipts_up_to", "a count that stops at a bound"),
    ("sizes.report_rows", "a count that the background task retention makes each day"),
    ("sizes.report_rows_up_to", "a count that stops at a bound"),
    ("sizes.uploads", "a count that the background task retention makes each day"),
    ("sizes.uploads_up_to", "a count that stops at a bound"),
    ("sizes.work_items", "a count that the background task retention makes each day"),
    ("sizes.work_items_up_to", "a count that stops at a bound"),
    ("space.first_before", "as few as items are staged at once"),
    ("space.kept", "as few as items are staged at once"),
    ("space.look", "as few as items are staged at once, and whether any waits"),
    ("space.most", "as few as items are staged at once"),
    ("space.sums", "as few as items are staged at once"),
    ("spot_tests.add_turns", "as few as there are institutions"),
    ("spot_tests.count_failed", "an index of the tests that failed"),
    ("spot_tests.due", "as few as there are institutions"),
    ("statistics.brought", "the contents of one object, found by an index"),
    ("statistics.count_pending", "a count up to a bound"),
    ("statistics.epochs", "at most two"),
    ("statistics.formats_at", "what was summed up, of days found by an index"),
    ("statistics.formats_difference", "what was found by an index, when statistics were made anew"),
    ("statistics.formatted", "the contents of one object, found by an index"),
    ("statistics.pending", "a page in the order of an index"),
    ("statistics.release_ended", "as few as deposits of institutions with a quota are open"),
    ("statistics.storage_at", "what was summed up, of days found by an index"),
    ("statistics.storage_difference", "what was found by an index, when statistics were made anew"),
    ("stores.list", "as few as the settings name"),
    ("tool_findings.count", "an index of the findings that are open"),
];

/// Whether a statement may read a whole table or index.
pub(crate) fn may_scan(name: &str) -> bool {
    MAY_SCAN.iter().any(|(may, _)| *may == name)
}

#[test]
fn no_statement_reads_a_table_that_grows_from_end_to_end() {
    let is_scan = |step: &str| step.starts_with("SCAN") && !step.contains("CONSTANT ROW");
    let plans = plans().into_iter().filter(|(name, step)| is_scan(step) && !may_scan(name));
    assert_eq!(plans.collect::<Vec<_>>(), []);
}

/// Indexes in which as many items are alike as an institution, a collection or a batch has: for statements that read what they show page by page,
/// and for those that count.
const OF_MANY: &[&str] = &[
    "work_items_by_status",
    "work_items_by_institution",
    "work_items_by_institution_status",
    "work_items_by_collection",
    "work_items_by_action",
    "work_items_by_time",
];

/// Statements that may use one of them, and why each may; besides the lists, `listing.`.
const MAY_READ_MANY: &[(&str, &str)] = &[
    ("failures.list", "a page of those that have failed"),
    ("holds.page", "a page of those of a status"),
    ("items.count_by_collection", "a report that a person asks for"),
    ("items.count_by_status", "a report that a person asks for"),
    ("items.count_by_status_of_institution", "a report that a person asks for"),
    ("items.count_up_to", "a count that stops at a bound"),
    ("items.open_of_collection", "a count of what is open, before a collection is removed"),
    ("retention.ended_items", "a page of those that have ended"),
    ("sizes.work_items", "a count that the background task retention makes each day"),
    ("sizes.work_items_up_to", "a count that stops at a bound"),
];

#[test]
fn what_is_one_of_many_is_found_by_an_index_that_tells_it_from_the_others() {
    let uses = |step: &str| OF_MANY.iter().any(|index| step.split_whitespace().any(|word| word == *index));
    // Of one row only whether it has the status is looked up.
    let is_one_row = |step: &str| step.contains(" id=?");
    let may = |name: &str| name.starts_with("listing.") || MAY_READ_MANY.iter().any(|(may, _)| *may == name);
    let plans = plans().into_iter().filter(|(name, step)| uses(step) && !is_one_row(step) && !may(name));
    assert_eq!(plans.collect::<Vec<_>>(), []);
}

/// How SQLite carries each statement out, step by step, with its name. The queue's statements (without a dot) have tests of their own; a rebuild
/// reads everything in any case.
fn plans() -> Vec<(&'static str, String)> {
    let is_meant = |name: &&str| name.contains('.') && !name.starts_with("rebuild.");
    let own: BTreeSet<&str> = statements().names().filter(is_meant).collect();
    let all = statements();
    let mut explained = all.clone();
    for name in &own {
        let sql = all.sql(Statement(name)).expect("is there");
        let text = format!("-- name: explain {name}\nEXPLAIN QUERY PLAN {sql}\n");
        explained = explained.with(Box::leak(text.into_boxed_str()));
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("registry.db");
    let database: Arc<dyn Database> =
        Arc::new(Sqlite::open(&path, explained, &migrations(), system_clock()).expect("opens"));
    let mut plans = Vec::new();
    for name in own {
        let sql = all.sql(Statement(name)).expect("is there");
        let count = (1..40).take_while(|number| sql.contains(&format!("?{number}"))).count();
        let explain: &'static str = Box::leak(format!("explain {name}").into_boxed_str());
        let plan =
            database.read::<_, RegistryError, _>(|tx| Ok(tx.query(Statement(explain), &vec![Value::Null; count])?));
        for row in plan.unwrap_or_else(|error| panic!("{name}: {error}")) {
            plans.push((name, row.text("detail").expect("a step").to_owned()));
        }
    }
    plans
}
