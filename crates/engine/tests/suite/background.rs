//! Background tasks: each run is taken once, by the process that comes first; how it ended is recorded, and what failed is
//! repeated soon.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use strongroom_database::{Database, DatabaseError, Isolation, Transaction, WriteJob};
use strongroom_engine::Home;
use strongroom_engine::background::{self, BackgroundTask, ManualRun, TASKS, TaskStatus};
use strongroom_engine::fixity;
use strongroom_engine::runtime::Shutdown;
use strongroom_registry::schedules::{self, Due, RunEnd};
use strongroom_registry::{ItemId, Registry, RegistryError, Time};
use strongroom_storage::{Key, PutOptions};

use crate::fixture::{self, Engine, TestHome, home, on_both_databases};

fn named(home: &TestHome, name: &str) -> TaskStatus {
    listed(home).into_iter().find(|task| task.name == name).expect("the task")
}

fn listed(home: &TestHome) -> Vec<TaskStatus> {
    background::list(&home.settings, &home.registry).expect("lists")
}

fn task(name: &str) -> &'static BackgroundTask {
    TASKS.iter().find(|task| task.name == name).expect("the task")
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
    let sleep = background::run_due(&home, &go_on).expect("runs");
    assert_eq!(checks_waiting(&home), 0, "everything is fresh");
    let every = home.settings.fixity.poll_interval.min(home.settings.receiving.scan_interval);
    assert!(sleep <= every && sleep + Duration::from_mins(1) > every, "{sleep:?}");
    let first = named(&home, "fixity").last_run_at.expect("ran");

    home.clock.advance(Duration::from_hours(24 * 91));
    background::run_due(&home, &go_on).expect("runs");
    assert_eq!(checks_waiting(&home), 2);
    let second = named(&home, "fixity");
    assert!(second.last_run_at.expect("ran") > first);
    assert_eq!(second.holder, None);
    background::run_due(&home, &go_on).expect("runs");
    assert_eq!(named(&home, "fixity").last_run_at, second.last_run_at, "its turn has not come again");
}

#[test]
fn a_turn_that_somebody_has_is_left_to_them_until_their_lease_runs_out() {
    let home = home();
    let taken = home.registry.write(|tx| {
        let until = tx.now()?.plus(600_000_000);
        schedules::take(tx, "fixity", Due::Now, "somebody", until)
    });
    assert!(taken.expect("takes"));
    background::run_due(&home, &Shutdown::new()).expect("runs");
    assert_eq!(named(&home, "fixity").holder.as_deref(), Some("somebody"));
    assert_eq!(named(&home, "fixity").last_run_at, None);
    home.clock.advance(Duration::from_mins(11));
    background::run_due(&home, &Shutdown::new()).expect("runs");
    let after = named(&home, "fixity");
    assert!(after.last_run_at.is_some());
    // Who comes too late changes nothing.
    home.registry
        .write(|tx| {
            let at = tx.now()?;
            schedules::end(tx, "fixity", "somebody", &RunEnd::Done("late".into()), at)
        })
        .expect("ends");
    assert_eq!(named(&home, "fixity"), after);
}

#[test]
fn leftovers_of_nobody_are_swept_from_staging() {
    let home = home();
    let key = Key::new(format!("{}/left", ItemId::new())).expect("a key");
    home.roles.staging.put(&key, &mut &b"left"[..], &PutOptions::default()).expect("puts");
    background::run_due(&home, &Shutdown::new()).expect("runs");
    assert!(home.keys("staging").is_empty());
    assert!(named(&home, "staging").last_run_at.is_some());
}

#[test]
fn a_schedule_that_runs_stops_when_asked() {
    let home = home();
    let stop = Shutdown::new();
    std::thread::scope(|scope| {
        let running = scope.spawn(|| background::run(&home, &stop));
        while listed(&home).iter().filter(|one| one.last_run_at.is_some()).count() < 2 {
            std::thread::yield_now();
        }
        stop.request();
        running.join().expect("stops").expect("ends well");
    });
    assert!(stop.wait(Duration::from_hours(1)), "asked already: no wait");
}

#[test]
fn a_run_is_recorded_with_what_it_did() {
    let home = home();
    let never = named(&home, "staging");
    assert_eq!((never.last_run_at, never.last_started_at, never.result), (None, None, None));
    background::run_due(&home, &Shutdown::new()).expect("runs");
    let ran = named(&home, "staging");
    assert_eq!(ran.result.as_deref(), Some("0 leftovers removed from staging"));
    assert!(ran.last_started_at <= ran.last_run_at && ran.last_elapsed.is_some(), "{ran:?}");
    assert_eq!((ran.error, ran.error_since, ran.holder), (None, None, None));
    assert_eq!(listed(&home).len(), TASKS.len());
}

#[test]
fn a_run_that_fails_is_recorded_with_why_and_since_when_until_one_ends_well() {
    let home = home();
    background::run_due(&home, &Shutdown::new()).expect("runs");
    let good = named(&home, "receiving");
    let (store, away) = (home.path().join("stores/receiving"), home.path().join("away"));
    std::fs::rename(&store, &away).expect("takes the store away");
    let run = || {
        home.clock.advance(Duration::from_mins(2));
        background::run_due(&home, &Shutdown::new()).expect("the failure of a task is not that of the others");
        named(&home, "receiving")
    };
    let first = run();
    assert!(first.error.is_some(), "{first:?}");
    assert_eq!((first.last_run_at, &first.result), (good.last_run_at, &good.result), "that of the last good run");
    let second = run();
    assert_eq!(second.error_since, first.error_since);
    assert!(second.last_started_at > first.last_started_at);
    std::fs::rename(&away, &store).expect("brings the store back");
    home.try_stores();
    assert_eq!(run().error_since, None);
}

#[test]
fn a_run_that_is_asked_for_happens_now_and_the_next_comes_after_the_interval() {
    let home = home();
    background::run_due(&home, &Shutdown::new()).expect("runs");
    let before = named(&home, "staging");
    home.clock.advance(Duration::from_mins(5));
    let ran = background::run_now(&home, task("staging"), &Shutdown::new()).expect("runs");
    assert!(
        matches!(ran, ManualRun::Done { ref result, .. } if result == "0 leftovers removed from staging"),
        "{ran:?}"
    );
    let after = named(&home, "staging");
    assert!(after.last_run_at > before.last_run_at && after.next_run_at > before.next_run_at);
}

#[test]
fn a_run_that_is_asked_for_is_left_to_the_process_that_has_it() {
    let home = home();
    home.registry
        .write(|tx| {
            let until = tx.now()?.plus(600_000_000);
            schedules::take(tx, "staging", Due::Now, "another", until)
        })
        .expect("takes");
    let ran = background::run_now(&home, task("staging"), &Shutdown::new()).expect("asks");
    assert_eq!(ran, ManualRun::Held { holder: "another".into() });
    assert_eq!(named(&home, "staging").holder.as_deref(), Some("another"));
    // What that process left when it ended without a word is nobody's.
    home.clock.advance(Duration::from_mins(11));
    assert_eq!(named(&home, "staging").holder, None);
    let ran = background::run_now(&home, task("staging"), &Shutdown::new()).expect("runs");
    assert!(matches!(ran, ManualRun::Done { .. }), "{ran:?}");
}

#[test]
fn a_run_that_is_stopped_is_due_again() {
    let home = home();
    let stop = Shutdown::new();
    stop.request();
    assert_eq!(background::run_now(&home, task("staging"), &stop).expect("runs"), ManualRun::Stopped);
    let stopped = named(&home, "staging");
    assert_eq!((stopped.last_run_at, stopped.result, stopped.error), (None, None, None));
    assert!(stopped.next_run_at <= strongroom_database::Clock::now(&*home.clock));
}

const DAY: Duration = Duration::from_hours(24);

#[test]
fn a_clock_that_was_ahead_puts_no_background_task_off() {
    let home = home();
    let go_on = Shutdown::new();
    background::run_due(&home, &go_on).expect("runs");
    home.clock.advance(2 * DAY);
    background::run_due(&home, &go_on).expect("runs");
    home.clock.set_back(2 * DAY);
    home.clock.advance(Duration::from_secs(10));
    assert!(listed(&home).iter().all(|task| task.started_ahead.is_some()), "it is told");
    background::run_due(&home, &go_on).expect("runs");
    let now = strongroom_database::Clock::now(&*home.clock);
    for task in listed(&home) {
        assert_eq!(task.started_ahead, None, "{task:?}");
        assert!(task.last_run_at.expect("ran") <= now, "{task:?}");
        let every = i64::try_from(task.every.as_micros()).expect("fits");
        assert!(task.next_run_at <= now.plus(every), "{task:?}");
    }
}

#[test]
fn a_lease_of_a_clock_that_was_ahead_lasts_no_longer_than_others() {
    let home = home();
    home.registry
        .write(|tx| {
            let until = tx.now()?.plus(365 * 24 * 3_600_000_000);
            schedules::take(tx, "staging", Due::Now, "a machine that died", until)
        })
        .expect("takes");
    background::run_due(&home, &Shutdown::new()).expect("runs");
    assert_eq!(named(&home, "staging").last_run_at, None, "its holder may be at work");
    home.clock.advance(Duration::from_mins(2));
    background::run_due(&home, &Shutdown::new()).expect("runs");
    assert!(named(&home, "staging").last_run_at.is_some());
}

#[test]
fn tasks_that_no_process_runs_are_overdue_after_an_hour() {
    let home = home();
    assert!(!listed(&home).iter().any(|task| task.is_overdue));
    home.clock.advance(Duration::from_mins(61));
    assert!(listed(&home).iter().all(|task| task.is_overdue), "none ever ran");
    background::run_due(&home, &Shutdown::new()).expect("runs");
    assert!(!listed(&home).iter().any(|task| task.is_overdue));
}

#[test]
fn a_panic_of_a_task_is_recorded_as_its_failure() {
    let home = home();
    let panics =
        BackgroundTask { name: "staging", every: |_| Duration::from_hours(1), run: |_, _| panic!("out of order") };
    let error = background::run_now(&home, &panics, &Shutdown::new()).expect_err("fails");
    assert!(error.chain().contains("out of order"), "{}", error.chain());
    let after = named(&home, "staging");
    assert!(after.error.as_ref().is_some_and(|error| error.contains("panicked: out of order")), "{after:?}");
    assert_eq!(after.holder, None, "it is repeated");
}

static RELEASED: AtomicBool = AtomicBool::new(false);
static OTHER_RUNS: AtomicU32 = AtomicU32::new(0);
static TASKS_OF_WHICH_ONE_HANGS: [BackgroundTask; 2] = [
    BackgroundTask {
        name: "fixity",
        every: |_| Duration::from_hours(1),
        run: |_, _| {
            while !RELEASED.load(Ordering::SeqCst) {
                std::thread::yield_now();
            }
            Ok(String::new())
        },
    },
    BackgroundTask {
        name: "staging",
        every: |_| Duration::ZERO,
        run: |_, _| {
            OTHER_RUNS.fetch_add(1, Ordering::SeqCst);
            Ok(String::new())
        },
    },
];

#[test]
fn a_task_that_hangs_holds_up_no_other_and_no_end_of_the_process() {
    let home = home();
    let stop = Shutdown::new();
    std::thread::scope(|scope| {
        let running =
            scope.spawn(|| background::run_tasks(&TASKS_OF_WHICH_ONE_HANGS, &home, &stop, background::LOOK_EVERY));
        while OTHER_RUNS.load(Ordering::SeqCst) < 3 || named(&home, "fixity").holder.is_none() {
            std::thread::yield_now();
        }
        assert!(named(&home, "fixity").running_since().is_some());
        stop.request();
        stop.request();
        running.join().expect("stops").expect("ends well");
        assert!(!RELEASED.load(Ordering::SeqCst));
    });
    RELEASED.store(true, Ordering::SeqCst);
}

/// No look follows by itself before the test is given up.
const NEVER: Duration = Duration::from_hours(24);
/// Nothing here takes this long, unless what ends the sleep was lost.
const PATIENCE: Duration = Duration::from_mins(1);

macro_rules! tasks {
    ($($name:literal)*) => {
        [$(BackgroundTask { name: $name, every: |_| Duration::from_hours(1), run: |_, _| Ok(String::new()) }),*]
    };
}

/// More than a look has reads.
static EACH_HOUR: [BackgroundTask; 8] = tasks!["a" "b" "c" "d" "e" "f" "g" "h"];

on_both_databases! {
    a_task_that_is_made_due_behind_any_read_of_a_look_is_run
    a_task_that_another_process_makes_due_is_run_by_the_next_look
}

/// A database that makes a task due behind each read of the thread `driver`, from some time on: another task each time, as long as there are any.
struct MakesDue {
    inner: Arc<dyn Database>,
    /// By which it does; none before.
    by: Mutex<Option<Registry>>,
    made: AtomicUsize,
}

impl Database for MakesDue {
    fn write_job(&self, job: WriteJob, isolation: Isolation) -> Result<(), DatabaseError> {
        self.inner.write_job(job, isolation)
    }

    fn read_job(
        &self,
        job: &mut dyn FnMut(&mut dyn Transaction) -> Result<(), DatabaseError>,
    ) -> Result<(), DatabaseError> {
        self.inner.read_job(job)?;
        let by = self.by.lock().expect("no thread panicked").clone();
        if let Some(by) = by.filter(|_| std::thread::current().name() == Some("driver"))
            && let Some(task) = EACH_HOUR.get(self.made.fetch_add(1, Ordering::SeqCst))
        {
            make_due(&by, task.name);
        }
        Ok(())
    }

    fn dialect(&self) -> &'static str {
        self.inner.dialect()
    }

    fn revision(&self) -> Result<u64, DatabaseError> {
        self.inner.revision()
    }
}

fn make_due(registry: &Registry, name: &'static str) {
    registry.write(move |tx| schedules::hasten(tx, name)).expect("is made due");
}

/// Waits until each task has ended a run that began after `since`.
fn until_each_has_run(registry: &Registry, since: Time) {
    let began = std::time::Instant::now();
    let has_run = || {
        let known = registry.read(schedules::list).expect("reads");
        let runs = known.iter().filter(|one| one.holder.is_none() && one.last_started_at > Some(since));
        runs.count() == EACH_HOUR.len()
    };
    while !has_run() {
        assert!(began.elapsed() < PATIENCE, "a task was made due, and did not run");
        std::thread::yield_now();
    }
}

struct StopsWhenDropped<'s>(&'s Shutdown);

impl Drop for StopsWhenDropped<'_> {
    fn drop(&mut self) {
        self.0.request();
    }
}

/// Runs the tasks once, then does something while nobody looks by itself, and waits until each has run again.
fn each_runs_again(home: &Arc<Home>, look_every: Duration, act: impl FnOnce()) {
    let stop = Shutdown::new();
    std::thread::scope(|scope| {
        let driver = std::thread::Builder::new().name("driver".into());
        let driver = driver.spawn_scoped(scope, || background::run_tasks(&EACH_HOUR, home, &stop, look_every));
        // Also where this fails: the driver would run on.
        let stops = StopsWhenDropped(&stop);
        until_each_has_run(&home.registry, Time(0));
        let before = home.registry.read(|tx| Ok::<_, RegistryError>(tx.now()?)).expect("reads");
        act();
        until_each_has_run(&home.registry, before);
        drop(stops);
        driver.expect("starts").join().expect("stops").expect("ends well");
    });
}

fn a_task_that_is_made_due_behind_any_read_of_a_look_is_run(engine: Engine) {
    let Some(made) = fixture::home_on(engine, "") else { return };
    let inner = made.registry.database().clone();
    let database = Arc::new(MakesDue { inner, by: Mutex::new(None), made: AtomicUsize::new(0) });
    let registry = Registry::within(database.clone());
    let home = Arc::new(Home::with_registry(made.path(), made.settings.clone(), registry).expect("opens the home"));
    each_runs_again(&home, NEVER, || {
        *database.by.lock().expect("no thread panicked") = Some(home.registry.clone());
        make_due(&home.registry, EACH_HOUR[0].name);
    });
    *database.by.lock().expect("no thread panicked") = None;
}

fn a_task_that_another_process_makes_due_is_run_by_the_next_look(engine: Engine) {
    let Some(made) = fixture::home_on(engine, "") else { return };
    // It has the same database, and calls of its own.
    let other = Registry::within(made.registry.database().clone());
    each_runs_again(&made.home, background::LOOK_EVERY, || {
        for task in &EACH_HOUR {
            make_due(&other, task.name);
        }
    });
}
