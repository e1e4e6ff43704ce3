//! The order of what is written: that of the transactions which wrote it, whatever the clocks of the machines say that made the
//! identifiers.

use std::sync::Arc;
use std::time::Duration;

use strongroom_database::testing::Scratch;
use strongroom_database::{
    Database, DatabaseError, Migration, Postgres, PostgresSettings, Sqlite, Statement, Statements, SystemClock, Value,
};
use strongroom_registry::items::{self, Item, ItemFilter, NewItem, Request};
use strongroom_registry::journal::{self, Actor, LineFilter};
use strongroom_registry::work::StageEnd;
use strongroom_registry::{
    ActorKind, BatchId, ItemId, JournalOutcome, Registry, RegistryError, Scope, Stage, WaitReason, outbox, schema,
};
use uuid::Uuid;

use super::world::*;

/// An identifier that a machine makes whose clock is ahead by hours.
fn ahead(hours: u64) -> Uuid {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("after 1970");
    let milliseconds = u64::try_from(now.as_millis()).expect("before the year 10000") + hours * 3_600_000;
    uuid::Builder::from_unix_timestamp_millis(milliseconds, &[7; 10]).into_uuid()
}

pub(crate) fn deposits_of_an_object_keep_the_order_of_their_submission_whatever_the_clocks_say(subject: &dyn Subject) {
    let world = World::new(subject);
    let first = world.make(&NewItem { id: ItemId(ahead(1)), ..world.new_item("bag") });
    let second = world.make(&NewItem { id: ItemId(ahead(2)), ..world.new_item("bag") });
    let third = world.item();
    assert!(third < first && first < second, "the clocks differ");
    let find = |id| world.find(id);
    let older = |item: Item| world.read(|tx| items::older_open(tx, &item));
    assert_eq!([first, second, third].map(|id| older(find(id))), [None, Some(first), Some(second)]);
    let up_to = |item: Item| world.read(|tx| items::open_up_to(tx, &item));
    assert_eq!(up_to(find(third)), [first, second, third]);
    assert_eq!(up_to(find(second)), [first, second]);

    // Each that ends wakes the next.
    world.drive(first, Stage::named("fetch"));
    let hour = world.later(Duration::from_hours(1));
    for _ in 0..2 {
        let (claim, _) = world.claim(Stage::named("receive"));
        world.finish(&claim, &StageEnd::Defer { until: hour, reason: WaitReason::Other, note: "waits".into() });
    }
    let (claim, _) = world.claim(Stage::named("fetch"));
    world.finish(&claim, &StageEnd::Succeeded { note: "done".into() });
    let (claim, _) = world.claim(Stage::named("receive"));
    assert_eq!(claim.item, second);
    world.finish(&claim, &StageEnd::Succeeded { note: "done".into() });
    assert_eq!(world.claim(Stage::named("receive")).0.item, third);
}

pub(crate) fn a_failed_deposit_is_put_right_by_one_that_was_submitted_later(subject: &dyn Subject) {
    let world = World::new(subject);
    let fatal = StageEnd::Fatal { note: "no".into(), problems: Vec::new() };
    let end = |id, end: &StageEnd| {
        let (claim, _) = world.claim(Stage::named("receive"));
        assert_eq!(claim.item, id);
        world.finish(&claim, end);
    };
    let needs_review = || {
        let filter = ItemFilter { needs_review: Some(true), ..ItemFilter::default() };
        let found = world.read(|tx| items::list(tx, Scope::System, &filter, None, 9));
        found.into_iter().map(|item| item.id).collect::<Vec<_>>()
    };
    let failed = world.make(&NewItem { id: ItemId(ahead(1)), ..world.new_item("bag") });
    end(failed, &fatal);
    assert_eq!(needs_review(), [failed]);
    let later = world.item();
    end(later, &StageEnd::Succeeded { note: "done".into() });
    assert_eq!(needs_review(), []);
    let last = world.item();
    end(last, &fatal);
    assert_eq!(needs_review(), [last]);
    world.ask(last, Request::Delete).expect("is deleted");
    // A later deposit that is only called alike is of another object.
    let options = r#"{"is_own_object":true}"#.to_owned();
    let own = world.make(&NewItem { options, ..world.new_item("bag") });
    end(own, &fatal);
    end(world.item(), &StageEnd::Succeeded { note: "done".into() });
    assert_eq!(needs_review(), [own]);
}

/// Statements that write what a machine wrote whose clock is ahead.
const SQLITE: &str = "-- name: test.line
INSERT INTO journal (id, time, actor_id, request_id, act, target, outcome, number)
SELECT ?1, 0, a.id, ?1, 'items.hold', 'it', 'done', (SELECT next FROM journal_number) FROM actors a LIMIT 1
-- name: test.message
INSERT INTO outbox (id, institution_id, key, kind, payload, created_at, number)
VALUES (?1, ?2, 'ahead', 'ingested', '{}', 0, (SELECT next FROM outbox_number))
-- name: test.item
INSERT INTO work_items (id, institution_id, action, object_identifier, name, stage, status, created_at, updated_at)
VALUES (?1, ?2, 'ingest', 'a/b', 'b', 'receive', 'failed', 0, 0)
-- name: test.institution
INSERT INTO institutions (id, identifier, name, state, created_at, updated_at) VALUES (?1, 'a', 'a', 'active', 0, 0)
-- name: test.old_actor
INSERT INTO actors (id, kind, name, created_at) VALUES (?1, 'user', ?2, 1)
-- name: test.old_line
INSERT INTO journal (id, time, actor_id, request_id, act, target, outcome) VALUES (?1, 0, ?2, ?1, 'items.hold', 'it', 'done')
-- name: test.old_message
INSERT INTO outbox (id, institution_id, key, kind, payload, created_at) VALUES (?1, ?2, hex(?1), 'ingested', '{}', 0)
";
const POSTGRES: &str = "-- name: test.line
INSERT INTO journal (id, time, actor_id, request_id, act, target, outcome, number)
SELECT $1, 0, a.id, $1, 'items.hold', 'it', 'done', nextval('journal_number') FROM actors a LIMIT 1
-- name: test.message
INSERT INTO outbox (id, institution_id, key, kind, payload, created_at, number)
VALUES ($1, $2, 'ahead', 'ingested', '{}', 0, nextval('outbox_number'))
-- name: test.item
INSERT INTO work_items (id, institution_id, action, object_identifier, name, stage, status, created_at, updated_at)
VALUES ($1, $2, 'ingest', 'a/b', 'b', 'receive', 'failed', 0, 0)
-- name: test.institution
INSERT INTO institutions (id, identifier, name, state, created_at, updated_at) VALUES ($1, 'a', 'a', 'active', 0, 0)
-- name: test.old_actor
INSERT INTO actors (id, kind, name, created_at) VALUES ($1, 'user', $2, 1)
-- name: test.old_line
INSERT INTO journal (id, time, actor_id, request_id, act, target, outcome) VALUES ($1, 0, $2, $1, 'items.hold', 'it', 'done')
-- name: test.old_message
INSERT INTO outbox (id, institution_id, key, kind, payload, created_at) VALUES ($1, $2, gen_random_uuid()::text, 'ingested', '{}', 0)
";

/// Opens a database of one engine with these statements and migrations.
type Open<'o> = &'o dyn Fn(Statements, &[Migration]) -> Arc<dyn Database>;

fn sqlite(test: impl Fn(Open<'_>, &str)) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("registry.db");
    let open = |statements: Statements, migrations: &[Migration]| {
        Arc::new(Sqlite::open(&path, statements.with(SQLITE), migrations, Arc::new(SystemClock)).expect("opens"))
            as Arc<dyn Database>
    };
    test(&open, "sqlite");
}

fn postgres(test: impl Fn(Open<'_>, &str)) {
    let Some(scratch) = Scratch::new() else { return };
    let open = |statements: Statements, migrations: &[Migration]| {
        let settings = PostgresSettings::default();
        Arc::new(Postgres::open(&scratch.url(), settings, statements.with(POSTGRES), migrations).expect("opens"))
            as Arc<dyn Database>
    };
    test(&open, "postgres");
}

fn line(actor: &Actor) -> journal::NewLine<'_> {
    journal::NewLine {
        actor,
        request: Uuid::nil(),
        act: "items.release",
        target: "it",
        institution: None,
        outcome: JournalOutcome::Done,
        object: None,
        detail: None,
    }
}

fn lines_and_messages_have_the_order_in_which_they_were_written(open: Open<'_>, dialect: &str) {
    let schema = schema(dialect);
    let database = open(schema.statements, &schema.migrations);
    let registry = Registry::within(database.clone());
    let ann = Actor::new(ActorKind::User, "ann@example.edu");
    let institution = strongroom_registry::InstitutionId::new();
    registry
        .write::<_, RegistryError, _>(move |tx| {
            journal::append(tx, &line(&ann))?;
            tx.execute(Statement("test.institution"), &[institution.into()])?;
            let item = ItemId::new();
            outbox::insert(tx, institution, item, "first", outbox::INGESTED, "{}")?;
            tx.execute(Statement("test.line"), &[ahead(1).into()])?;
            tx.execute(Statement("test.message"), &[ahead(1).into(), institution.into()])?;
            journal::append(tx, &line(&ann))?;
            outbox::insert(tx, institution, item, "last", outbox::INGESTED, "{}")
        })
        .expect("is written");
    let page = |after| {
        registry.read(|tx| journal::list(tx, Scope::System, &LineFilter::default(), after, 2)).expect("is read")
    };
    let first = page(None);
    let second = page(first.last().map(|line| line.number));
    let acts: Vec<&str> = first.iter().chain(&second).map(|line| line.act.as_str()).collect();
    assert_eq!(acts, ["items.release", "items.hold", "items.release"]);
    assert!(first[1].id > second[0].id, "the clocks differ");
    let page =
        |after| registry.read(|tx| outbox::undelivered(tx, outbox::INGESTED, institution, after, 2)).expect("is read");
    let first = page(0);
    let second = page(first[1].number);
    let keys: Vec<&str> = first.iter().chain(&second).map(|message| message.key.as_str()).collect();
    assert_eq!(keys, ["first", "ahead", "last"]);
}

#[test]
fn lines_and_messages_have_the_order_in_which_they_were_written_in_sqlite() {
    sqlite(lines_and_messages_have_the_order_in_which_they_were_written);
}

#[test]
fn lines_and_messages_have_the_order_in_which_they_were_written_in_postgresql() {
    postgres(lines_and_messages_have_the_order_in_which_they_were_written);
}

/// Statements that read the numbers.
const NUMBERS: [&str; 3] = ["test.numbers_of_items", "test.numbers_of_lines", "test.numbers_of_messages"];
const READ: &str = "-- name: test.numbers_of_items
SELECT id, number FROM work_items ORDER BY number
-- name: test.numbers_of_lines
SELECT id, number FROM journal ORDER BY number
-- name: test.numbers_of_messages
SELECT id, number FROM outbox ORDER BY number
";

fn what_was_written_before_keeps_its_order(open: Open<'_>, dialect: &str) {
    let schema = schema(dialect);
    let before = schema.migrations.iter().position(|one| one.name == "numbers of work items").expect("is there");
    let earlier = open(schema.statements.clone(), &schema.migrations[..before]);
    let institution = Value::from(Uuid::now_v7());
    let ann = Actor::new(ActorKind::User, "ann@example.edu");
    let ids: Vec<Uuid> = (1..=4).map(ahead).collect();
    let made = ids.clone();
    earlier
        .write::<_, RegistryError, _>(move |tx| {
            tx.execute(Statement("test.institution"), std::slice::from_ref(&institution))?;
            tx.execute(Statement("test.old_actor"), &[ann.id.into(), (&ann.name).into()])?;
            for index in [2, 0, 3, 1] {
                let id = Value::from(made[index]);
                tx.execute(Statement("test.item"), &[id.clone(), institution.clone()])?;
                tx.execute(Statement("test.old_line"), &[id.clone(), ann.id.into()])?;
                tx.execute(Statement("test.old_message"), &[id, institution.clone()])?;
            }
            Ok(())
        })
        .expect("is written");
    drop(earlier);
    let schema_version = u64::from(schema.migrations.last().expect("migrations").version);
    let later = open(schema.statements.with(READ), &schema.migrations);
    let expected: Vec<(Uuid, i64)> = ids.into_iter().zip(1..).collect();
    for statement in NUMBERS {
        let rows = later.read::<_, DatabaseError, _>(|tx| tx.query(Statement(statement), &[])).expect("is read");
        let found: Vec<(Uuid, i64)> =
            rows.iter().map(|row| (row.uuid("id").expect("an id"), row.integer("number").expect("a number"))).collect();
        assert_eq!(found, expected, "{statement}");
    }
    let registry = Registry::within(later);
    assert_eq!(registry.read(journal::untold_migration).expect("reads"), Some((before as u64, schema_version)));
    registry.write(journal::set_schema_told).expect("is told");
    assert_eq!(registry.read(journal::untold_migration).expect("reads"), None);
    // What is written next follows, and a line of before is as unchangeable as ever.
    registry
        .write(move |tx| journal::append(tx, &line(&Actor::new(ActorKind::User, "ann@example.edu"))))
        .expect("appends");
    let lines = registry.read(|tx| journal::list(tx, Scope::System, &LineFilter::default(), None, 9)).expect("lists");
    assert_eq!(lines.iter().map(|line| line.number).collect::<Vec<_>>(), [1, 2, 3, 4, 5]);
    assert_eq!(lines[4].act, "items.release");
}

#[test]
fn what_was_written_before_keeps_its_order_in_sqlite() {
    sqlite(what_was_written_before_keeps_its_order);
}

#[test]
fn what_was_written_before_keeps_its_order_in_postgresql() {
    postgres(what_was_written_before_keeps_its_order);
}

/// Two transactions that make items of one institution at the same time, and append lines: the one that has the lower numbers
/// is visible before the other can be.
#[test]
fn what_is_written_at_the_same_time_becomes_visible_in_the_order_of_its_numbers() {
    let Some(scratch) = Scratch::new() else { return };
    let open = || {
        let schema = schema("postgres");
        let settings = PostgresSettings::default();
        Registry::within(Arc::new(
            Postgres::open(&scratch.url(), settings, schema.statements, &schema.migrations).expect("opens"),
        ))
    };
    let (registry, other) = (open(), open());
    let institution = strongroom_registry::InstitutionId::new();
    registry
        .write(move |tx| strongroom_registry::tenants::add_institution(tx, institution, "example.edu", "Ours"))
        .expect("an institution");
    let new = move || NewItem::new(strongroom_registry::Action::named("ingest"), institution, "example.edu/bag");
    let (first, second) = (new(), new());
    let (first_id, second_id) = (first.id, second.id);
    let mut client = scratch.client();
    std::thread::scope(|scope| {
        let (made, is_made) = std::sync::mpsc::channel();
        let (go_on, may_go_on) = std::sync::mpsc::channel::<()>();
        let may_go_on = std::sync::Mutex::new(may_go_on);
        let registry = registry.clone();
        scope.spawn(move || {
            registry
                .write::<_, RegistryError, _>(move |tx| {
                    items::create(tx, &Table, &first)?;
                    made.send(()).expect("is awaited");
                    may_go_on.lock().expect("one waits").recv().expect("goes on");
                    Ok(())
                })
                .expect("the first is made");
        });
        is_made.recv().expect("is made");
        let late = scope.spawn(move || other.write(move |tx| items::create(tx, &Table, &second)).expect("is made"));
        // The server tells the beginning of a statement only.
        let waits = "SELECT 1 FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid
            WHERE l.locktype = 'advisory' AND NOT l.granted AND a.query LIKE '%AS new (id, batch_id%'";
        while !late.is_finished() && client.query(waits, &[]).expect("looks").is_empty() {
            std::thread::yield_now();
        }
        assert!(!late.is_finished(), "the second waits for the commit of the first");
        go_on.send(()).expect("is awaited");
        late.join().expect("ends");
    });
    let item = registry.read(|tx| items::find(tx, Scope::System, second_id)).expect("is there");
    assert_eq!(registry.read(|tx| items::older_open(tx, &item)).expect("reads"), Some(first_id));
}

/// A person deletes an item that has ended while the last item of its batch ends in another transaction, which inserts the report.
#[test]
fn an_item_that_changes_while_its_batch_ends_waits_for_the_report_that_says_how_it_ended() {
    const ROWS: usize = 150;
    let Some(scratch) = Scratch::new() else { return };
    let open = || {
        let schema = schema("postgres");
        let settings = PostgresSettings::default();
        let database = Postgres::open(&scratch.url(), settings, schema.statements, &schema.migrations).expect("opens");
        Registry::within(Arc::new(database)).with_workflows(Arc::new(Table))
    };
    let (registry, other) = (open(), open());
    let institution = strongroom_registry::InstitutionId::new();
    let batch = BatchId::new();
    let ids: Vec<ItemId> = (0..ROWS).map(|_| ItemId::new()).collect();
    let (first, last) = (ids[0], ids[ROWS - 1]);
    let made = ids.clone();
    registry
        .write(move |tx| {
            strongroom_registry::tenants::add_institution(tx, institution, "example.edu", "Ours")?;
            strongroom_registry::batches::create(tx, &new_batch(batch, institution, Some(ROWS as u64)))?;
            let new = |id: &ItemId| {
                let action = strongroom_registry::Action::named("ingest");
                NewItem {
                    id: *id,
                    batch: Some(batch),
                    ..NewItem::new(action, institution, format!("example.edu/{id}"))
                }
            };
            items::create_all(tx, &Table, &mut made.iter().map(new))
        })
        .expect("a batch");
    let ask = |id, request: Request| {
        move |tx: &mut dyn strongroom_registry::Transaction| {
            items::request(tx, &Table, Scope::System, id, request, "a person")
        }
    };
    for id in ids.iter().filter(|id| **id != last) {
        registry.write_as(Request::Cancel.isolation(), ask(*id, Request::Cancel)).expect("is cancelled");
    }
    let mut client = scratch.client();
    let deleted = std::thread::scope(|scope| {
        let (ended, has_ended) = std::sync::mpsc::channel();
        let (go_on, may_go_on) = std::sync::mpsc::channel::<()>();
        let may_go_on = std::sync::Mutex::new(may_go_on);
        let registry = registry.clone();
        scope.spawn(move || {
            registry
                .write_as(Request::Cancel.isolation(), move |tx| {
                    ask(last, Request::Cancel)(tx)?;
                    ended.send(()).expect("is awaited");
                    may_go_on.lock().expect("one waits").recv().expect("goes on");
                    Ok::<_, RegistryError>(())
                })
                .expect("the last ends");
        });
        has_ended.recv().expect("ends");
        let late = scope.spawn(|| other.write_as(Request::Delete.isolation(), ask(first, Request::Delete)));
        // Of those that wait, the one that has tables of this schema locked.
        let waits = "SELECT 1 FROM pg_locks l JOIN pg_locks t ON t.pid = l.pid JOIN pg_class c ON c.oid = t.relation
            WHERE NOT l.granted AND c.relnamespace = current_schema()::regnamespace";
        while !late.is_finished() && client.query(waits, &[]).expect("looks").is_empty() {
            std::thread::yield_now();
        }
        assert!(!late.is_finished(), "the deletion waits for the batch");
        go_on.send(()).expect("is awaited");
        late.join().expect("ends")
    });
    let refused = deleted.expect_err("the report is not written");
    assert!(matches!(refused, RegistryError::ReportUnwritten { .. }), "{refused}");
    assert_eq!(
        registry.read(|tx| items::find(tx, Scope::System, first)).expect("reads").status,
        strongroom_registry::ItemStatus::Cancelled
    );
}
