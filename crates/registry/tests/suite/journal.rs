//! The journal: its lines and the names of its actors stay as they were written, whatever statement tries to change them.

use std::sync::Arc;

use strongroom_database::testing::Scratch;
use strongroom_database::{
    Database, DatabaseError, Placeholders, Postgres, PostgresSettings, Sqlite, Statement, Statements, SystemClock,
};
use strongroom_registry::journal::{self, Actor, LineFilter, NewLine};
use strongroom_registry::{ActorKind, JournalOutcome, Registry, Scope};
use uuid::Uuid;

use super::world::*;

fn line<'a>(actor: &'a Actor, act: &'a str, outcome: JournalOutcome) -> NewLine<'a> {
    NewLine { actor, request: Uuid::nil(), act, target: "it", institution: None, object: None, outcome, detail: None }
}

pub(crate) fn a_refusal_is_found_by_its_actor_and_act_since_a_time(subject: &dyn Subject) {
    let world = World::new(subject);
    let (ann, bob) = (Actor::new(ActorKind::User, "ann@example.edu"), Actor::new(ActorKind::User, "bob@example.edu"));
    let refused = ann.clone();
    world.write(move |tx| journal::append(tx, &line(&refused, "items.hold", JournalOutcome::Refused)));
    world.write({
        let ann = ann.clone();
        move |tx| journal::append(tx, &line(&ann, "items.cancel", JournalOutcome::Done))
    });
    let before = world.now().plus(-60_000_000);
    let was_refused = |actor: &Actor, act: &str, since| world.read(|tx| journal::was_refused(tx, actor, act, since));
    assert!(was_refused(&ann, "items.hold", before));
    assert!(!was_refused(&ann, "items.cancel", before));
    assert!(!was_refused(&bob, "items.hold", before));
}

/// Statements that would change what the journal says, with how many there are in each dialect.
const CHANGES: &str = "-- name: test.change_line
UPDATE journal SET target = 'that'
-- name: test.remove_lines
DELETE FROM journal
-- name: test.change_actor
UPDATE actors SET name = 'mallory'
-- name: test.remove_actors
DELETE FROM actors
";
const TRUNCATIONS: &str = "-- name: test.truncate_journal
TRUNCATE journal
-- name: test.truncate_actors
TRUNCATE actors CASCADE
";
const REPLACEMENTS: &str = "-- name: test.replace_line
INSERT OR REPLACE INTO journal SELECT id, time, actor_id, request_id, act, 'that', institution_id, outcome, detail, number
FROM journal
-- name: test.replace_line_of_number
INSERT OR REPLACE INTO journal SELECT x'00', time, actor_id, request_id, act, 'that', institution_id, outcome, detail, number
FROM journal
";

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
    let ann = Actor::new(ActorKind::User, "ann@example.edu");
    registry.write(move |tx| journal::append(tx, &line(&ann, "items.hold", JournalOutcome::Done))).expect("appends");
    let read =
        || registry.read(|tx| journal::list(tx, Scope::System, &LineFilter::default(), None, 10)).expect("lists");
    let before = read();
    for name in names {
        // What is ignored without an error changes nothing either.
        let _ = database.write::<_, DatabaseError, _>(move |tx| tx.execute(Statement(name), &[]));
        assert_eq!(read(), before, "{name}");
    }
}

#[test]
fn lines_and_actors_stay_as_they_were_in_sqlite() {
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
fn lines_and_actors_stay_as_they_were_in_postgresql() {
    let Some(scratch) = Scratch::new() else { return };
    let open = |statements| {
        let migrations = strongroom_registry::schema("postgres").migrations;
        Arc::new(Postgres::open(&scratch.url(), PostgresSettings::default(), statements, &migrations).expect("opens"))
            as Arc<dyn Database>
    };
    stays_as_it_was(open, "postgres", TRUNCATIONS, Placeholders::Dollars);
}
