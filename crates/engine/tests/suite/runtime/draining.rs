//! How a run ends when it is asked to.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use strongroom_database::{Migration, Sqlite};

use super::*;

fn flags<const N: usize>() -> [Arc<AtomicBool>; N] {
    std::array::from_fn(|_| Arc::default())
}

#[test]
fn a_drain_gives_back_what_was_not_begun_with_every_attempt_unspent() {
    let house = House::new();
    let items = house.items(5);
    let runs = Arc::new(AtomicUsize::new(0));
    let handler = stage(Stage::named("receive"), {
        let runs = runs.clone();
        move |_, context| {
            runs.fetch_add(1, Ordering::SeqCst);
            work_until_interrupted(context)
        }
    });
    let shutdown = Shutdown::new();
    let _watchdog = watch(&shutdown);
    let pools = pool(Stage::named("receive"), PoolSettings { workers: 1, prefetch: 3, ..PoolSettings::default() });
    let runtime = house.runtime(vec![handler]).pools(pools).build();
    let summary = std::thread::scope(|scope| {
        let run = scope.spawn(|| runtime.run(&shutdown));
        let started = || items.iter().filter(|item| house.has_status(**item, ItemStatus::Started)).count();
        until(|| started() == 4 && runs.load(Ordering::SeqCst) == 1);
        shutdown.request();
        run.join().expect("ends")
    });
    assert_eq!((summary.given_back, summary.ended, summary.abandoned), (3, 4, 0));
    assert_eq!(runs.load(Ordering::SeqCst), 1);
    for item in items {
        assert!(house.has_status(item, ItemStatus::Pending));
        let tasks = house.tasks(&item.to_string());
        assert_eq!(tasks.len(), 1);
        assert_eq!((tasks[0].spent, &tasks[0].holder), (0, &None));
    }
}

#[test]
fn what_outlasts_its_grace_is_left_behind() {
    let house = House::new();
    let item = house.item();
    let [began, release, ended] = flags();
    let handler = stage(Stage::named("receive"), {
        let (began, release, ended) = (began.clone(), release.clone(), ended.clone());
        move |_, _| {
            began.store(true, Ordering::SeqCst);
            until(|| release.load(Ordering::SeqCst));
            ended.store(true, Ordering::SeqCst);
            succeeded()
        }
    });
    let shutdown = Shutdown::new();
    let _watchdog = watch(&shutdown);
    let pools =
        pool(Stage::named("receive"), PoolSettings { shutdown_timeout: Duration::ZERO, ..PoolSettings::default() });
    let runtime = house.runtime(vec![handler]).pools(pools).build();
    let summary = std::thread::scope(|scope| {
        let run = scope.spawn(|| runtime.run(&shutdown));
        until(|| began.load(Ordering::SeqCst));
        shutdown.request();
        run.join().expect("ends")
    });
    assert_eq!((summary.abandoned, summary.ended), (1, 0));
    assert!(!ended.load(Ordering::SeqCst), "it was not waited for");
    release.store(true, Ordering::SeqCst);
    // Its lease still holds, so what it says in the end is as good as ever.
    until(|| house.has_status(item, ItemStatus::Succeeded));
}

#[test]
fn a_second_request_ends_the_run_at_once() {
    let house = House::new();
    let item = house.item();
    let [began, release] = flags();
    let handler = stage(Stage::named("receive"), {
        let (began, release) = (began.clone(), release.clone());
        move |_, _| {
            began.store(true, Ordering::SeqCst);
            until(|| release.load(Ordering::SeqCst));
            succeeded()
        }
    });
    let shutdown = Shutdown::new();
    let _watchdog = watch(&shutdown);
    let pools = pool(
        Stage::named("receive"),
        PoolSettings { shutdown_timeout: Duration::from_hours(1), ..PoolSettings::default() },
    );
    let runtime = house.runtime(vec![handler]).pools(pools).build();
    let summary = std::thread::scope(|scope| {
        let run = scope.spawn(|| runtime.run(&shutdown));
        until(|| began.load(Ordering::SeqCst));
        shutdown.request();
        shutdown.request();
        run.join().expect("ends")
    });
    assert_eq!(summary.abandoned, 1);
    release.store(true, Ordering::SeqCst);
    until(|| house.has_status(item, ItemStatus::Succeeded));
}

#[test]
fn nothing_is_leased_after_a_request_to_stop() {
    let house = House::new();
    let item = house.item();
    let shutdown = Shutdown::new();
    shutdown.request();
    let summary = house.runtime(vec![stage(Stage::named("receive"), |_, _| succeeded())]).build().run(&shutdown);
    assert_eq!((summary.looks, summary.ended), (0, 0));
    assert_eq!(house.find(item).fence, 0);
}

#[test]
fn a_stage_that_ends_while_draining_does_not_begin_the_next() {
    let house = House::new();
    let item = house.item();
    let [began] = flags();
    let begins = began.clone();
    let handlers = vec![
        stage(Stage::named("receive"), move |_, context| {
            begins.store(true, Ordering::SeqCst);
            until(|| context.check().is_err());
            next(Stage::named("estimate"))
        }),
        stage(Stage::named("estimate"), |_, _| succeeded()),
    ];
    let shutdown = Shutdown::new();
    let _watchdog = watch(&shutdown);
    let runtime = house.runtime(handlers).build();
    std::thread::scope(|scope| {
        let run = scope.spawn(|| runtime.run(&shutdown));
        until(|| began.load(Ordering::SeqCst));
        shutdown.request();
        run.join().expect("ends");
    });
    let item = house.find(item);
    assert_eq!((item.stage, item.status), (Stage::named("estimate"), ItemStatus::Pending));
}

#[test]
fn a_runtime_that_meets_a_newer_schema_finishes_what_it_holds_and_takes_nothing_new() {
    let house = House::new();
    let items = house.items(2);
    let [began, go_on] = flags();
    let handler = stage(Stage::named("receive"), {
        let (began, go_on) = (began.clone(), go_on.clone());
        move |_, _| {
            began.store(true, Ordering::SeqCst);
            until(|| go_on.load(Ordering::SeqCst));
            succeeded()
        }
    });
    let shutdown = Shutdown::new();
    let _watchdog = watch(&shutdown);
    let pools = pool(Stage::named("receive"), PoolSettings { workers: 1, prefetch: 0, ..PoolSettings::default() });
    let runtime = house.runtime(vec![handler]).pools(pools).build();
    let summary = std::thread::scope(|scope| {
        let running = scope.spawn(|| runtime.run(&shutdown));
        until(|| began.load(Ordering::SeqCst));
        bring_forward(&house);
        go_on.store(true, Ordering::SeqCst);
        running.join().expect("ends")
    });
    assert!(matches!(summary.failure, Some(RegistryError::NewerSchema { .. })), "{:?}", summary.failure);
    assert_eq!((summary.ended, summary.dropped, summary.abandoned), (1, 0, 0), "{summary:?}");
    let count = |status| items.iter().filter(|item| house.has_status(**item, status)).count();
    assert_eq!((count(ItemStatus::Succeeded), count(ItemStatus::Pending)), (1, 1));
}

#[test]
fn an_idle_runtime_that_meets_a_newer_schema_ends() {
    let house = House::new();
    let shutdown = Shutdown::new();
    let _watchdog = watch(&shutdown);
    let runtime = house.runtime(vec![stage(Stage::named("receive"), |_, _| succeeded())]).build();
    let summary = std::thread::scope(|scope| {
        let running = scope.spawn(|| runtime.run(&shutdown));
        bring_forward(&house);
        running.join().expect("ends")
    });
    assert!(matches!(summary.failure, Some(RegistryError::NewerSchema { .. })), "{:?}", summary.failure);
}

/// What a newer program does when it starts.
fn bring_forward(house: &House) {
    let mut newer = strongroom_registry::migrations();
    let version = u32::try_from(newer.len() + 1).expect("fits");
    newer.push(Migration { version, name: "of a newer program", sql: "CREATE TABLE newer (x INTEGER)" });
    Sqlite::upgrade(&house.folder.path().join("registry.db"), &newer, house.clock.as_ref())
        .expect("is brought forward");
}
