//! Schedules: each turn is taken once, by whoever comes first, and what fails is tried again soon.

use std::time::Duration;

use strongroom_engine::runtime::Shutdown;
use strongroom_engine::{fixity, schedule};
use strongroom_registry::schedules::{self, Schedule};
use strongroom_registry::{ItemId, RegistryError};
use strongroom_storage::{Key, PutOptions};

use crate::fixture::{TestHome, home};

fn named(home: &TestHome, name: &str) -> Schedule {
    let all = schedule::list(home).expect("lists");
    all.into_iter().find(|schedule| schedule.name == name).expect("the schedule")
}

fn checks_waiting(home: &TestHome) -> u64 {
    let counts = home.registry.read(|tx| Ok::<_, RegistryError>(strongroom_queue::tasks::counts(tx)?)).expect("counts");
    counts.iter().filter(|topic| topic.topic == fixity::TOPIC).map(|topic| topic.ready).sum()
}

#[test]
fn copies_that_are_due_are_enqueued_when_the_turn_comes_and_not_before() {
    let home = home();
    home.ingest("letters", &[("a.txt", b"one")]);
    let go_on = Shutdown::new();
    let sleep = schedule::run_due(&home, &go_on).expect("runs");
    assert_eq!(checks_waiting(&home), 0, "everything is fresh");
    let every = home.settings.fixity.every.min(home.settings.receiving.every);
    assert!(sleep <= every && sleep + Duration::from_mins(1) > every, "{sleep:?}");
    let first = named(&home, "fixity").last_run_at.expect("ran");

    home.clock.advance(Duration::from_hours(24 * 91));
    schedule::run_due(&home, &go_on).expect("runs");
    assert_eq!(checks_waiting(&home), 2);
    let second = named(&home, "fixity");
    assert!(second.last_run_at.expect("ran") > first);
    assert_eq!(second.holder, None);
    schedule::run_due(&home, &go_on).expect("runs");
    assert_eq!(named(&home, "fixity").last_run_at, second.last_run_at, "its turn has not come again");
}

#[test]
fn a_turn_that_somebody_has_is_left_to_them_until_their_lease_runs_out() {
    let home = home();
    let taken = home.registry.write(|tx| {
        let until = tx.now()?.plus(600_000_000);
        schedules::take(tx, "fixity", "somebody", until)
    });
    assert!(taken.expect("takes"));
    schedule::run_due(&home, &Shutdown::new()).expect("runs");
    assert_eq!(named(&home, "fixity").holder.as_deref(), Some("somebody"));
    assert_eq!(named(&home, "fixity").last_run_at, None);
    home.clock.advance(Duration::from_mins(11));
    schedule::run_due(&home, &Shutdown::new()).expect("runs");
    let after = named(&home, "fixity");
    assert!(after.last_run_at.is_some());
    // Who comes too late changes nothing.
    home.registry
        .write(|tx| {
            let at = tx.now()?;
            schedules::end(tx, "fixity", "somebody", true, at)
        })
        .expect("ends");
    assert_eq!(named(&home, "fixity"), after);
}

#[test]
fn leftovers_of_nobody_are_swept_from_staging() {
    let home = home();
    let key = Key::new(format!("{}/left", ItemId::new())).expect("a key");
    home.roles.staging.put(&key, &mut &b"left"[..], &PutOptions::default()).expect("puts");
    schedule::run_due(&home, &Shutdown::new()).expect("runs");
    assert!(home.keys("staging").is_empty());
    assert!(named(&home, "staging").last_run_at.is_some());
}

#[test]
fn a_schedule_that_runs_stops_when_asked() {
    let home = home();
    let stop = Shutdown::new();
    std::thread::scope(|scope| {
        let running = scope.spawn(|| schedule::run(&home, &stop));
        while schedule::list(&home).expect("lists").iter().filter(|one| one.last_run_at.is_some()).count() < 2 {
            std::thread::yield_now();
        }
        stop.request();
        running.join().expect("stops").expect("ends well");
    });
    assert!(stop.wait(Duration::from_hours(1)), "asked already: no wait");
}
