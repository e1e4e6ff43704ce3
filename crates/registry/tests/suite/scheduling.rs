//! Schedules of background tasks: one process at a time has a run, what is wanted meanwhile is not lost, and how a run ended is
//! recorded.

use std::time::Duration;

use strongroom_registry::schedules::{self, Due, RunEnd, Schedule};

use super::world::*;

const NAME: &str = "staging";
const MINUTE: Duration = Duration::from_mins(1);
const HOUR: Duration = Duration::from_hours(1);

fn row(world: &World<'_>) -> Schedule {
    world.read(schedules::list).into_iter().find(|one| one.name == NAME).expect("a row")
}

fn take(world: &World<'_>, due: Due, holder: &'static str) -> bool {
    world.write(move |tx| {
        let until = tx.now()?.plus(MINUTE.as_micros() as i64);
        schedules::take(tx, NAME, due, holder, until)
    })
}

/// Ends a run after which the next is in an hour.
fn end(world: &World<'_>, holder: &'static str, end: RunEnd) -> Schedule {
    let next = world.later(HOUR);
    world.write(move |tx| schedules::end(tx, NAME, holder, &end, next));
    row(world)
}

fn done() -> RunEnd {
    RunEnd::Done("did it".to_owned())
}

pub(crate) fn a_run_that_is_wanted_while_one_is_under_way_follows_it(subject: &dyn Subject) {
    let world = World::new(subject);
    assert!(take(&world, Due::Now, "we"));
    let asked_at = world.now();
    world.write(|tx| schedules::hasten(tx, NAME));
    let later = world.later(MINUTE);
    world.write(move |tx| schedules::due_by(tx, NAME, later));
    subject.advance(MINUTE / 2);
    assert_eq!(end(&world, "we", done()).next_run_at, asked_at, "the earliest that was asked for");
    assert!(take(&world, Due::Now, "we"), "it follows");
    assert_eq!(end(&world, "we", done()).next_run_at, world.later(HOUR), "and was asked for once");

    // The run of a process that was killed is taken over: what it was asked for meanwhile is done by who takes it over.
    assert!(take(&world, Due::AnyTime, "we"));
    world.write(|tx| schedules::hasten(tx, NAME));
    subject.advance(MINUTE * 2);
    assert!(take(&world, Due::Now, "others"));
    assert_eq!(end(&world, "others", done()).next_run_at, world.later(HOUR));
}

pub(crate) fn a_run_is_wanted_no_later_than_its_time(subject: &dyn Subject) {
    let world = World::new(subject);
    take(&world, Due::Now, "we");
    let planned = end(&world, "we", done()).next_run_at;
    let later = planned.plus(1);
    world.write(move |tx| schedules::due_by(tx, NAME, later));
    assert_eq!(row(&world).next_run_at, planned);
    world.write(|tx| schedules::hasten(tx, NAME));
    assert_eq!(row(&world).next_run_at, world.now());
    assert!(take(&world, Due::Now, "we"));
    assert_eq!(
        end(&world, "we", done()).next_run_at,
        world.later(HOUR),
        "what was wanted before it began is done by it"
    );
}

pub(crate) fn a_run_is_taken_once_and_ended_by_who_has_it(subject: &dyn Subject) {
    let world = World::new(subject);
    assert!(take(&world, Due::Now, "we"));
    for due in [Due::Now, Due::AnyTime] {
        assert!(!take(&world, due, "others"), "{due:?}");
    }
    let ours = row(&world);
    assert_eq!(end(&world, "others", done()), ours);
    let ended = end(&world, "we", done());
    assert_eq!((ended.holder, ended.lease_until), (None, None));
    assert!(!take(&world, Due::Now, "others"), "it is not due");
    assert!(take(&world, Due::AnyTime, "others"), "a person wants it all the same");
}

pub(crate) fn how_a_run_ended_is_told_until_the_next_one_ends(subject: &dyn Subject) {
    let world = World::new(subject);
    let run = |ended: RunEnd| {
        assert!(take(&world, Due::AnyTime, "we"));
        subject.advance(MINUTE / 2);
        end(&world, "we", ended)
    };
    let good = run(done());
    assert_eq!((good.result.as_deref(), good.error, good.last_run_at), (Some("did it"), None, Some(world.now())));
    assert_eq!(good.last_elapsed, Some(30_000_000));
    assert_eq!(good.last_started_at, Some(world.now().plus(-30_000_000)));
    let failed = run(RunEnd::Failed("no".repeat(1_000)));
    assert_eq!(failed.error.map(|error| error.len()), Some(1_000), "errors of others are cut");
    assert_eq!((failed.result.as_deref(), failed.last_run_at), (Some("did it"), good.last_run_at));
    let since = failed.error_since;
    assert_eq!(since, Some(world.now()));
    let again = run(RunEnd::Failed("still no".to_owned()));
    assert_eq!((again.error.as_deref(), again.error_since), (Some("still no"), since));
    let stopped = run(RunEnd::Stopped);
    assert_eq!((stopped.error, stopped.error_since), (again.error, since), "a run that was stopped tells nothing");
    let good = run(done());
    assert_eq!((good.error, good.error_since), (None, None));
}
