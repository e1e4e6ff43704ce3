//! How tasks end, and what follows from it.

use std::collections::HashSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use strongroom_engine::workflow::Workflows;
use strongroom_queue::{NewTask, Outcome, TaskState};
use strongroom_registry::items::Request;

use super::*;

#[test]
fn the_end_of_a_stage_leases_the_next_in_the_same_transaction() {
    let house = House::new();
    let item = house.item();
    let handlers = vec![
        leads(Stage::named("receive"), Stage::named("estimate")),
        leads(Stage::named("estimate"), Stage::named("provision")),
        stage(Stage::named("provision"), |_, _| succeeded()),
    ];
    let shutdown = Shutdown::new();
    let _watchdog = watch(&shutdown);
    let summary =
        house.runtime(handlers).build().run_until(&shutdown, &|| house.has_status(item, ItemStatus::Succeeded));
    assert!(house.has_status(item, ItemStatus::Succeeded));
    assert_eq!(summary.ended, 3);
    let history = house.history(item);
    for later in [Stage::named("estimate"), Stage::named("provision")] {
        let times: Vec<Time> = history
            .iter()
            .filter(|line| line.stage == later && line.status != ItemStatus::Succeeded)
            .map(|line| line.time)
            .collect();
        assert_eq!(times.len(), 2, "pending and started");
        assert_eq!(times[0], times[1], "every transaction has its own time, so this was one");
    }
}

#[test]
fn a_panic_costs_one_attempt_and_nothing_else() {
    let house = House::new();
    let item = house.item();
    let runs = Arc::new(AtomicUsize::new(0));
    let handler = stage(Stage::named("receive"), {
        let runs = runs.clone();
        move |_, _| {
            assert!(runs.fetch_add(1, Ordering::SeqCst) > 0, "the first time it breaks");
            succeeded()
        }
    });
    let shutdown = Shutdown::new();
    let _watchdog = watch(&shutdown);
    let summary = house.runtime(vec![handler]).build().run_until(&shutdown, &|| {
        house.clock.advance(Duration::from_secs(1));
        house.has_status(item, ItemStatus::Succeeded)
    });
    assert!(house.has_status(item, ItemStatus::Succeeded));
    assert_eq!((runs.load(Ordering::SeqCst), summary.panicked, summary.ended), (2, 1, 2));
    let notes: Vec<_> = house.history(item).into_iter().filter_map(|line| line.note).collect();
    assert!(notes.contains(&"the worker panicked: the first time it breaks".to_owned()), "{notes:?}");
}

#[test]
fn a_stage_that_always_panics_fails_its_item_when_its_attempts_are_spent() {
    let house = House::new();
    let item = house.item();
    let handler = stage(Stage::named("receive"), |_, _| panic!("it breaks"));
    let shutdown = Shutdown::new();
    let _watchdog = watch(&shutdown);
    let pools = pool(Stage::named("receive"), PoolSettings { max_attempts: 2, ..PoolSettings::default() });
    let summary = house.runtime(vec![handler]).pools(pools).build().run_until(&shutdown, &|| {
        house.clock.advance(Duration::from_secs(1));
        house.has_status(item, ItemStatus::Failed)
    });
    let item = house.find(item);
    assert_eq!((item.status, item.needs_review, summary.panicked), (ItemStatus::Failed, true, 2));
}

#[test]
fn a_task_without_an_item_is_retried_and_buried_by_its_own_count() {
    let house = House::new();
    let task = NewTask { max_attempts: 2, ..NewTask::new("test.chore", "dust", "") };
    house
        .registry
        .write(move |tx| tasks::enqueue(tx, std::slice::from_ref(&task)).map_err(RegistryError::from))
        .expect("enqueues");
    let runs = Arc::new(AtomicUsize::new(0));
    let handler = Arc::new(Script {
        topic: "test.chore".into(),
        act: {
            let runs = runs.clone();
            move |assignment: &Assignment, context: &TaskContext| {
                runs.fetch_add(1, Ordering::SeqCst);
                context.transient(assignment, "no duster")
            }
        },
    });
    let dead = || {
        let page = house
            .registry
            .read(|tx| tasks::list(tx, "test.chore", TaskState::Dead, None, 10).map_err(RegistryError::from))
            .expect("lists");
        page.tasks.into_iter().next()
    };
    let shutdown = Shutdown::new();
    let _watchdog = watch(&shutdown);
    house.runtime(vec![handler]).build().run_until(&shutdown, &|| {
        house.clock.advance(Duration::from_secs(1));
        dead().is_some()
    });
    assert_eq!(runs.load(Ordering::SeqCst), 2);
    assert_eq!(dead().and_then(|task| task.reason).as_deref(), Some("no duster"));
}

#[test]
fn a_stage_that_answers_as_a_task_still_ends() {
    let house = House::new();
    let item = house.item();
    let handler = stage(Stage::named("receive"), |_, _| Outcome::Dead { reason: "wrong words".into() }.into());
    let shutdown = Shutdown::new();
    let _watchdog = watch(&shutdown);
    house.runtime(vec![handler]).build().run_until(&shutdown, &|| house.has_status(item, ItemStatus::Failed));
    assert_eq!(house.find(item).note.as_deref(), Some("wrong words"));
}

#[test]
fn two_processes_never_do_one_task_at_a_time_and_each_stage_ends_once() {
    let house = House::new();
    let items = house.items(40);
    let busy = Arc::new(Mutex::new(HashSet::new()));
    let runs = Arc::new(AtomicUsize::new(0));
    let handlers = || -> Vec<Arc<dyn Handler>> {
        [
            (Stage::named("receive"), Some(Stage::named("estimate"))),
            (Stage::named("estimate"), Some(Stage::named("provision"))),
            (Stage::named("provision"), None),
        ]
        .into_iter()
        .map(|(from, to)| {
            let (busy, runs) = (busy.clone(), runs.clone());
            stage(from, move |assignment, _| {
                runs.fetch_add(1, Ordering::SeqCst);
                let key = assignment.task.key.clone();
                assert!(busy.lock().expect("lock").insert(key.clone()), "somebody else works on this item");
                std::thread::yield_now();
                busy.lock().expect("lock").remove(&key);
                to.map_or_else(succeeded, next)
            })
        })
        .collect()
    };
    let all_done = || items.iter().all(|item| house.has_status(*item, ItemStatus::Succeeded));
    let shutdown = Shutdown::new();
    let _watchdog = watch(&shutdown);
    let (one, other) = std::thread::scope(|scope| {
        let runtimes = [quiet(&house.registry, handlers()).build(), quiet(&house.again(), handlers()).build()];
        let [one, other] = runtimes.map(|runtime| {
            scope.spawn({
                let (shutdown, all_done) = (&shutdown, &all_done);
                move || runtime.run_until(shutdown, all_done)
            })
        });
        (one.join().expect("ends"), other.join().expect("ends"))
    });
    assert!(all_done());
    assert_eq!(runs.load(Ordering::SeqCst), 120);
    assert_eq!((one.ended + other.ended, one.dropped + other.dropped, one.panicked + other.panicked), (120, 0, 0));
}

#[test]
fn no_more_tasks_run_at_once_than_there_are_workers() {
    let house = House::new();
    let items = house.items(12);
    let (running, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let handler = stage(Stage::named("receive"), {
        let (running, most) = (running.clone(), most.clone());
        move |_, _| {
            most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            std::thread::yield_now();
            running.fetch_sub(1, Ordering::SeqCst);
            succeeded()
        }
    });
    let shutdown = Shutdown::new();
    let _watchdog = watch(&shutdown);
    let pools = pool(Stage::named("receive"), PoolSettings { workers: 3, prefetch: 4, ..PoolSettings::default() });
    let done = || items.iter().all(|item| house.has_status(*item, ItemStatus::Succeeded));
    let summary = house.runtime(vec![handler]).pools(pools).build().run_until(&shutdown, &done);
    assert_eq!(summary.ended, 12);
    assert!((1..=3).contains(&most.load(Ordering::SeqCst)), "{most:?}");
}

#[test]
fn a_run_for_some_items_leaves_the_others_alone() {
    let house = House::new();
    let items = house.items(3);
    let wanted = items[1];
    let handlers = vec![
        leads(Stage::named("receive"), Stage::named("estimate")),
        stage(Stage::named("estimate"), |_, _| succeeded()),
    ];
    let shutdown = Shutdown::new();
    let _watchdog = watch(&shutdown);
    let summary = house
        .runtime(handlers)
        .only_items([wanted])
        .build()
        .run_until(&shutdown, &|| house.has_status(wanted, ItemStatus::Succeeded));
    assert_eq!(summary.ended, 2);
    for other in [items[0], items[2]] {
        assert_eq!(house.find(other).fence, 0, "never claimed");
        assert!(house.has_status(other, ItemStatus::Pending));
    }
}

#[test]
fn a_person_s_wish_to_stop_reaches_the_task() {
    let house = House::new();
    let item = house.item();
    let handler = stage(Stage::named("receive"), |_, context| work_until_interrupted(context));
    let shutdown = Shutdown::new();
    let _watchdog = watch(&shutdown);
    let runtime = house.runtime(vec![handler]).beat_every(Duration::from_millis(5)).build();
    std::thread::scope(|scope| {
        let run = scope.spawn(|| runtime.run_until(&shutdown, &|| house.has_status(item, ItemStatus::Cancelled)));
        until(|| house.has_status(item, ItemStatus::Started));
        house
            .registry
            .write_and_wake(move |tx| {
                items::request(tx, &Workflows::standard(), Scope::System, item, Request::Cancel, "a librarian")
            })
            .expect("asks");
        run.join().expect("ends");
    });
    assert!(house.has_status(item, ItemStatus::Cancelled));
}

#[test]
fn a_task_whose_writes_are_refused_is_given_back_with_its_attempt() {
    let house = House::new();
    let item = house.item();
    let is_refused = Arc::new(AtomicBool::new(true));
    let handler = stage(Stage::named("receive"), {
        let is_refused = is_refused.clone();
        move |_, _| {
            let is_refused = is_refused.clone();
            // As every write of a worker is refused when a store was replaced since it claimed the item.
            succeeded().with(Box::new(move |_, _| {
                if is_refused.swap(false, Ordering::SeqCst) {
                    return Err(RegistryError::FenceLost { what: "work item", id: item.to_string() });
                }
                Ok(Vec::new())
            }))
        }
    });
    let shutdown = Shutdown::new();
    let _watchdog = watch(&shutdown);
    let done = || house.has_status(item, ItemStatus::Succeeded);
    let summary = house.runtime(vec![handler]).build().run_until(&shutdown, &done);
    assert_eq!((summary.ended, summary.dropped), (2, 0));
    let lines = house.history(item);
    let given_back = lines.iter().find(|line| line.note.as_deref() == Some("what it wrote with its end was refused"));
    assert_eq!(given_back.map(|line| line.status), Some(ItemStatus::Pending));
    assert_eq!(house.find(item).retry_count, 0, "no attempt was spent");
}
