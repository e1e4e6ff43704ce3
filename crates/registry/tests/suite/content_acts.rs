//! Acts on content items stay as they were written, whatever statement tries to change them.

use std::sync::Arc;

use strongroom_database::testing::Scratch;
use strongroom_database::{
    Database, DatabaseError, Placeholders, Postgres, PostgresSettings, Sqlite, Statement, Statements, SystemClock, Time,
};
use strongroom_registry::content_acts::{self, ActEvent, ActTask, ContentAct};
use strongroom_registry::{ContentActKind, Registry, Scope};
use uuid::Uuid;

/// Statements that would change what was done.
const CHANGES: &str = "-- name: test.change_act
UPDATE content_acts SET event_reason = 'another one'
-- name: test.remove_acts
DELETE FROM content_acts
";
const TRUNCATIONS: &str = "-- name: test.truncate_acts
TRUNCATE content_acts
";
const REPLACEMENTS: &str = "-- name: test.replace_act
INSERT OR REPLACE INTO content_acts SELECT * FROM content_acts
";

fn act(key: &str) -> ContentAct {
    ContentAct {
        institution: None,
        time: Time(1),
        kind: ContentActKind::Deleted,
        event_type: "deletion".to_owned(),
        outcome: "success".to_owned(),
        actor: "duplication".to_owned(),
        source: "disk".to_owned(),
        destination: Some("cloud".to_owned()),
        space: "maps".to_owned(),
        key: key.to_owned(),
        size: Some(9),
        sha512: Some(vec![7; 64]),
        source_etag: None,
        etag_before: Some("\"1\"".to_owned()),
        etag_after: None,
        task: Some(ActTask { id: 3, topic: "duplicate.high".to_owned(), attempt: 2, policy_version: 5 }),
        event: Some(ActEvent {
            id: Uuid::nil(),
            happened_at: Time(2),
            actor: "ann".to_owned(),
            reason: "a NUL \0 in it".to_owned(),
        }),
        detail: "deleted in both".to_owned(),
    }
}

fn stays_as_it_was(
    open: impl Fn(Statements) -> Arc<dyn Database>,
    dialect: &str,
    others: &'static str,
    placeholders: Placeholders,
) {
    let names: Vec<&'static str> =
        [CHANGES, others].into_iter().flat_map(str::lines).filter_map(|line| line.strip_prefix("-- name: ")).collect();
    let statements = strongroom_registry::schema(dialect)
        .statements
        .with_shared(placeholders, CHANGES)
        .with_shared(placeholders, others);
    let database = open(statements);
    let registry = Registry::within(database.clone());
    for key in ["1.txt", "2.txt", "1.txt"] {
        registry.write(move |tx| content_acts::append(tx, &act(key))).expect("appends");
    }
    let read = |store, after| {
        registry
            .read(|tx| content_acts::of_item(tx, Scope::System, (store, "maps", "1.txt"), after, 10))
            .expect("reads")
    };
    let before = read("cloud", 0);
    assert_eq!(before.iter().map(|act| act.id).collect::<Vec<_>>(), [1, 3]);
    let mut written = act("1.txt");
    "a NUL \u{fffd} in it".clone_into(&mut written.event.as_mut().expect("an event").reason);
    assert!(before.iter().all(|recorded| recorded.act == written), "{before:#?}");
    assert_eq!((read("disk", 0), read("disk", 1)), (before.clone(), before[1..].to_vec()));
    assert!(read("tape", 0).is_empty());
    for name in names {
        let refused = database.write::<_, DatabaseError, _>(move |tx| tx.execute(Statement(name), &[]));
        let refused = refused.expect_err(name).to_string();
        assert!(refused.contains("an act on a content item is never"), "{name}: {refused}");
        assert_eq!(read("cloud", 0), before, "{name}");
    }
}

#[test]
fn acts_on_content_items_stay_as_they_were_in_sqlite() {
    let folder = tempfile::tempdir().expect("a folder");
    let open = |statements| {
        let migrations = strongroom_registry::schema("sqlite").migrations;
        let path = folder.path().join("registry.db");
        Arc::new(Sqlite::open(&path, statements, &migrations, Arc::new(SystemClock)).expect("opens"))
            as Arc<dyn Database>
    };
    stays_as_it_was(open, "sqlite", REPLACEMENTS, Placeholders::QuestionMarks);
}

#[test]
fn acts_on_content_items_stay_as_they_were_in_postgresql() {
    let Some(scratch) = Scratch::new() else { return };
    let open = |statements| {
        let migrations = strongroom_registry::schema("postgres").migrations;
        Arc::new(Postgres::open(&scratch.url(), PostgresSettings::default(), statements, &migrations).expect("opens"))
            as Arc<dyn Database>
    };
    stays_as_it_was(open, "postgres", TRUNCATIONS, Placeholders::Dollars);
}
