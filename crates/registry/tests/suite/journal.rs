//! The journal: its lines and the names of its actors stay as they were written, whatever statement tries to change them.

use strongroom_registry::journal::{self, Actor, Line, LineFilter, NewLine};
use strongroom_registry::{ActorKind, JournalOutcome, Registry, Scope, Transaction};
use uuid::Uuid;

use super::append_only::{Changes, stays_as_it_was_in_postgresql, stays_as_it_was_in_sqlite};
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
INSERT OR REPLACE INTO journal SELECT id, time, actor_id, request_id, act, 'that', institution_id, outcome, detail, number, object
FROM journal
-- name: test.replace_line_of_number
INSERT OR REPLACE INTO journal SELECT x'00', time, actor_id, request_id, act, 'that', institution_id, outcome, detail, number, object
FROM journal
";

const ATTEMPTS: Changes = Changes { shared: CHANGES, of_sqlite: REPLACEMENTS, of_postgresql: TRUNCATIONS };

/// A line, which is written where there is none.
fn written(registry: &Registry) -> Vec<Line> {
    let read =
        || registry.read(|tx| journal::list(tx, Scope::System, &LineFilter::default(), None, 10)).expect("lists");
    if read().is_empty() {
        let ann = Actor::new(ActorKind::User, "ann@example.edu");
        let append =
            move |tx: &mut dyn Transaction| journal::append(tx, &line(&ann, "items.hold", JournalOutcome::Done));
        registry.write(append).expect("appends");
    }
    read()
}

#[test]
fn lines_and_actors_stay_as_they_were_in_sqlite() {
    stays_as_it_was_in_sqlite(&ATTEMPTS, written);
}

#[test]
fn lines_and_actors_stay_as_they_were_in_postgresql() {
    stays_as_it_was_in_postgresql(&ATTEMPTS, written);
}
