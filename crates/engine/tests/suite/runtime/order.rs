//! The order between topics: what goes after another topic is leased when that has nothing to lease, or when it has been ready for long.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize};

use strongroom_queue::{NewTask, Outcome};
use strongroom_registry::Transaction;

use super::*;
use crate::fixture::{Engine, INSTITUTION, home_on, on_both_databases};

on_both_databases! {
    stages_whose_ends_are_written_together_keep_to_the_order
}

const FIRST: &str = "test.first";
const LATER: &str = "test.later";

/// The topics of the tasks in the order in which they were begun.
#[derive(Default)]
struct Begun(Mutex<Vec<String>>);

impl Begun {
    fn add(&self, assignment: &Assignment) {
        self.0.lock().expect("a lock").push(assignment.task.topic.clone());
    }

    fn all(&self) -> Vec<String> {
        self.0.lock().expect("a lock").clone()
    }

    fn of(&self, topic: &str) -> usize {
        self.all().iter().filter(|one| *one == topic).count()
    }
}

fn handler<F>(topic: &str, act: F) -> Arc<dyn Handler>
where
    F: Fn(&Assignment) + Send + Sync + 'static,
{
    Arc::new(Script {
        topic: topic.to_owned(),
        act: move |assignment: &Assignment, _: &TaskContext| {
            act(assignment);
            TaskEnd::from(Outcome::Done)
        },
    })
}

/// Handlers of both topics, the later one preferred by its place, which note what is begun.
fn both(begun: &Arc<Begun>) -> Vec<Arc<dyn Handler>> {
    let note = |topic| {
        let begun = begun.clone();
        handler(topic, move |assignment| begun.add(assignment))
    };
    vec![note(FIRST), note(LATER)]
}

fn put(house: &House, topic: &str, count: usize) {
    let tasks: Vec<NewTask> = (0..count).map(|number| NewTask::new(topic, format!("{topic} {number}"), "")).collect();
    let topic = topic.to_owned();
    house
        .registry
        .write_and_wake(move |tx| {
            tasks::enqueue(tx, &tasks)?;
            Ok::<_, RegistryError>(vec![topic.clone()])
        })
        .expect("enqueues");
}

fn left(house: &House, topic: &str) -> u64 {
    let counts = house.registry.read(|tx| Ok::<_, RegistryError>(tasks::counts(tx)?)).expect("counts");
    counts.iter().find(|one| one.topic == topic).map_or(0, |one| one.ready + one.delayed + one.leased)
}

fn pause(house: &House, topic: &'static str, paused: bool) {
    house
        .registry
        .write_and_wake(move |tx| {
            tasks::set_paused(tx, topic, paused)?;
            Ok::<_, RegistryError>(vec![topic.to_owned()])
        })
        .expect("pauses or resumes");
}

fn pools(workers: usize, later: &PoolSettings) -> Pools {
    let first = PoolSettings { workers, ..PoolSettings::default() };
    Pools([(FIRST.to_owned(), first), (LATER.to_owned(), PoolSettings { workers, ..later.clone() })].into())
}

fn ordered(house: &House, handlers: Vec<Arc<dyn Handler>>) -> Builder {
    house.runtime(handlers).goes_after(LATER, &[FIRST])
}

fn run_until(runtime: &Runtime, done: &dyn Fn() -> bool) -> u64 {
    let shutdown = Shutdown::new();
    let _watchdog = watch(&shutdown);
    let summary = runtime.run_until(&shutdown, done);
    assert!(done(), "it was stuck");
    summary.ended
}

#[test]
fn no_task_of_a_later_topic_is_leased_while_one_of_an_earlier_topic_is_ready() {
    let house = House::new();
    put(&house, LATER, 40);
    put(&house, FIRST, 60);
    let (begun, wrong) = (Arc::new(Begun::default()), Arc::new(AtomicUsize::new(0)));
    let registry = house.registry.clone();
    let first = {
        let begun = begun.clone();
        handler(FIRST, move |assignment| begun.add(assignment))
    };
    let later = {
        let (begun, wrong) = (begun.clone(), wrong.clone());
        handler(LATER, move |assignment| {
            begun.add(assignment);
            // Nothing is enqueued meanwhile, so what is ready now was ready when this task was leased.
            let ready =
                registry.read(|tx| Ok::<_, RegistryError>(tasks::look(tx, &[FIRST.to_owned()])?)).expect("looks");
            wrong.fetch_add(usize::from(ready != tasks::QueueStatus::Nothing), Ordering::SeqCst);
        })
    };
    // With slots in advance, in two processes, each with several threads.
    let prefetching = PoolSettings { prefetch: 2, ..PoolSettings::default() };
    let runtimes = [&house.registry, &house.again()].map(|registry| {
        quiet(registry, vec![first.clone(), later.clone()])
            .goes_after(LATER, &[FIRST])
            .pools(pools(3, &prefetching))
            .build()
    });
    let done = || left(&house, FIRST) + left(&house, LATER) == 0;
    let ended: u64 = std::thread::scope(|scope| {
        let runs: Vec<_> = runtimes.iter().map(|runtime| scope.spawn(|| run_until(runtime, &done))).collect();
        runs.into_iter().map(|run| run.join().expect("ends")).sum()
    });
    assert_eq!((ended, begun.of(FIRST), begun.of(LATER)), (100, 60, 40));
    assert_eq!(wrong.load(Ordering::SeqCst), 0, "{:?}", begun.all());
}

#[test]
fn what_comes_into_an_earlier_topic_meanwhile_goes_before_what_is_left_of_a_later_one() {
    let house = House::new();
    put(&house, LATER, 6);
    let begun = Arc::new(Begun::default());
    let comes = Arc::new(AtomicBool::new(true));
    let later = {
        let (begun, registry) = (begun.clone(), house.registry.clone());
        handler(LATER, move |assignment| {
            begun.add(assignment);
            if comes.swap(false, Ordering::SeqCst) {
                let tasks: Vec<NewTask> = (0..4).map(|number| NewTask::new(FIRST, format!("{number}"), "")).collect();
                registry
                    .write(move |tx| Ok::<_, RegistryError>(tasks::enqueue(tx, &tasks).map(|_| ())?))
                    .expect("enqueues");
            }
        })
    };
    let first = {
        let begun = begun.clone();
        handler(FIRST, move |assignment| begun.add(assignment))
    };
    let runtime = ordered(&house, vec![first, later]).pools(pools(1, &PoolSettings::default())).build();
    assert_eq!(run_until(&runtime, &|| left(&house, FIRST) + left(&house, LATER) == 0), 10);
    // The slot of a task that ends is filled in the transaction of its end, which keeps to the order as well. With the last one
    // of the earlier topic at work, there is nothing of it to lease.
    let all = begun.all();
    let (front, rest) = all.split_at(4);
    assert_eq!(front.iter().filter(|topic| *topic == FIRST).count(), 3, "{all:?}");
    assert_eq!((front.first().map(String::as_str), rest.len()), (Some(LATER), 6), "{all:?}");
}

#[test]
fn an_earlier_topic_that_is_paused_stops_nothing() {
    let house = House::new();
    put(&house, FIRST, 3);
    put(&house, LATER, 5);
    pause(&house, FIRST, true);
    let begun = Arc::new(Begun::default());
    let runtime = ordered(&house, both(&begun)).pools(pools(2, &PoolSettings::default())).build();
    run_until(&runtime, &|| left(&house, LATER) == 0);
    assert_eq!((begun.of(FIRST), begun.of(LATER)), (0, 5));
    put(&house, LATER, 4);
    pause(&house, FIRST, false);
    run_until(&runtime, &|| left(&house, FIRST) + left(&house, LATER) == 0);
    assert_eq!((begun.of(FIRST), begun.of(LATER)), (3, 9));
}

#[test]
fn an_earlier_topic_of_which_all_that_may_be_leased_is_leased_stops_nothing() {
    let house = House::new();
    put(&house, FIRST, 2);
    put(&house, LATER, 3);
    let goes_on = Arc::new(AtomicBool::new(false));
    let first = {
        let goes_on = goes_on.clone();
        handler(FIRST, move |_| until(|| goes_on.load(Ordering::SeqCst)))
    };
    let later = handler(LATER, |_| {});
    let mut pools = pools(2, &PoolSettings::default());
    if let Some(first) = pools.0.get_mut(FIRST) {
        first.max_total = 1;
    }
    let runtime = ordered(&house, vec![first, later]).pools(pools).build();
    let done = || {
        // One of the earlier topic is at work until nothing of the later one is left, and another one is ready all the time.
        if left(&house, LATER) == 0 {
            goes_on.store(true, Ordering::SeqCst);
        }
        left(&house, FIRST) == 0
    };
    assert_eq!(run_until(&runtime, &done), 5);
}

#[test]
fn a_process_that_works_on_the_later_topic_alone_is_not_stopped() {
    let house = House::new();
    put(&house, FIRST, 3);
    put(&house, LATER, 5);
    let begun = Arc::new(Begun::default());
    let only_later = both(&begun).into_iter().filter(|handler| handler.topic() == LATER).collect();
    run_until(&ordered(&house, only_later).build(), &|| left(&house, LATER) == 0);
    assert_eq!((begun.of(LATER), left(&house, FIRST)), (5, 3));
}

/// Runs while a task of the earlier topic is at work and others of it are ready, until something holds. The keys of what was begun of the later
/// topic by then.
fn begun_of_later(house: &House, aged_after: Duration, is_over: &dyn Fn(usize) -> bool) -> Vec<String> {
    put(house, FIRST, 3);
    let (keys, goes_on) = (Arc::new(Mutex::new(Vec::new())), Arc::new(AtomicBool::new(false)));
    let first = {
        let goes_on = goes_on.clone();
        handler(FIRST, move |_| until(|| goes_on.load(Ordering::SeqCst)))
    };
    let later = {
        let keys = keys.clone();
        handler(LATER, move |assignment| keys.lock().expect("a lock").push(assignment.task.key.clone()))
    };
    let later_pool = PoolSettings { aged_after, ..PoolSettings::default() };
    let runtime = ordered(house, vec![first, later]).pools(pools(1, &later_pool)).build();
    let (looks, found) = (AtomicUsize::new(0), Mutex::new(None));
    // This is asked before each look for tasks.
    run_until(&runtime, &|| {
        let begun = keys.lock().expect("a lock").clone();
        let mut found = found.lock().expect("a lock");
        if looks.fetch_add(1, Ordering::SeqCst) > 40 && is_over(begun.len()) {
            found.get_or_insert(begun);
            goes_on.store(true, Ordering::SeqCst);
        }
        found.is_some()
    });
    found.into_inner().expect("a lock").unwrap_or_default()
}

#[test]
fn a_task_of_a_later_topic_that_has_been_ready_for_long_is_leased_where_the_settings_say_so() {
    let ten = Duration::from_mins(10);
    for (aged_after, passed, count) in [
        (ten, Duration::from_mins(11), 2),
        (ten, Duration::from_mins(9), 0),
        // Strict where nothing is said.
        (Duration::ZERO, Duration::from_hours(1000), 0),
    ] {
        let house = House::new();
        put(&house, LATER, 2);
        house.clock.advance(passed);
        let begun = begun_of_later(&house, aged_after, &|begun| begun >= count);
        assert_eq!(begun.len(), count, "{aged_after:?} {passed:?}");
    }
}

#[test]
fn only_what_has_been_ready_for_long_is_leased_before_its_turn() {
    let house = House::new();
    put(&house, LATER, 2);
    house.clock.advance(Duration::from_mins(11));
    let young = |number| NewTask { priority: -9, ..NewTask::new(LATER, format!("young {number}"), "") };
    let young: Vec<NewTask> = (0..3).map(young).collect();
    house.registry.write(move |tx| Ok::<_, RegistryError>(tasks::enqueue(tx, &young).map(|_| ())?)).expect("enqueues");
    let begun = begun_of_later(&house, Duration::from_mins(10), &|begun| begun >= 2);
    assert_eq!(begun, [format!("{LATER} 0"), format!("{LATER} 1")]);
}

#[test]
fn an_item_goes_into_a_topic_that_goes_after_others_by_the_queue() {
    let house = House::new();
    let (receive, estimate) = (Stage::named("receive"), Stage::named("estimate"));
    let ids = house.items(3);
    put(&house, FIRST, 12);
    let (begun, wrong) = (Arc::new(Begun::default()), Arc::new(AtomicUsize::new(0)));
    let first = {
        let begun = begun.clone();
        handler(FIRST, move |assignment| begun.add(assignment))
    };
    let estimates = {
        let (begun, wrong) = (begun.clone(), wrong.clone());
        let registry = house.registry.clone();
        stage(estimate, move |assignment, _| {
            begun.add(assignment);
            let ready =
                registry.read(|tx| Ok::<_, RegistryError>(tasks::look(tx, &[FIRST.to_owned()])?)).expect("looks");
            wrong.fetch_add(usize::from(ready != tasks::QueueStatus::Nothing), Ordering::SeqCst);
            succeeded()
        })
    };
    let runtime = house
        .runtime(vec![first, leads(receive, estimate), estimates])
        .goes_after("ingest.estimate", &[FIRST])
        .pools(Pools([(FIRST.to_owned(), PoolSettings { workers: 1, ..PoolSettings::default() })].into()))
        .build();
    run_until(&runtime, &|| ids.iter().all(|id| house.has_ended(*id)) && left(&house, FIRST) == 0);
    assert_eq!((begun.of(FIRST), begun.of("ingest.estimate"), wrong.load(Ordering::SeqCst)), (12, 3, 0));
}

/// On a server, workers whose stages end at the same time write their ends and lease what is next in one transaction.
fn stages_whose_ends_are_written_together_keep_to_the_order(engine: Engine) {
    let Some(home) = home_on(engine, "") else { return };
    let later = "ingest.receive";
    let institution = home
        .registry
        .read(|tx| tenants::institution(tx, Scope::System, INSTITUTION))
        .expect("reads")
        .expect("the institution")
        .id;
    let ids: Vec<ItemId> = (0..40).map(|_| ItemId::new()).collect();
    let made = ids.clone();
    home.registry
        .write_and_wake(move |tx| {
            let create = |id: &ItemId| items::create(tx, &Workflows::standard(), &new_item(*id, institution));
            made.iter().map(create).collect()
        })
        .expect("makes items");
    let (begun, wrong) = (Arc::new(Begun::default()), Arc::new(AtomicUsize::new(0)));
    let tasks: Vec<NewTask> = (0..10).map(|number| NewTask::new(FIRST, number.to_string(), "")).collect();
    home.registry.write(move |tx| Ok::<_, RegistryError>(tasks::enqueue(tx, &tasks).map(|_| ())?)).expect("enqueues");
    let receive = {
        let (begun, wrong, registry) = (begun.clone(), wrong.clone(), home.registry.clone());
        stage(Stage::named("receive"), move |assignment, _| {
            let look = |tx: &mut dyn Transaction| Ok::<_, RegistryError>(tasks::look(tx, &[FIRST.to_owned()])?);
            let is_nothing = registry.read(look).expect("looks") == tasks::QueueStatus::Nothing;
            wrong.fetch_add(usize::from(!is_nothing), Ordering::SeqCst);
            begun.add(assignment);
            succeeded()
        })
    };
    let first = {
        let begun = begun.clone();
        handler(FIRST, move |assignment| begun.add(assignment))
    };
    let workers = |workers: usize| PoolSettings { workers, ..PoolSettings::default() };
    let runtime = Runtime::builder(home.registry.clone(), vec![first, receive])
        .goes_after(later, &[FIRST])
        .pools(Pools([(FIRST.to_owned(), workers(2)), (later.to_owned(), workers(6))].into()))
        .poll_every(Duration::from_millis(5))
        .build();
    let done = || {
        let ended = |id: &ItemId| home.registry.read(|tx| items::get(tx, Scope::System, *id)).expect("reads");
        ids.iter().all(|id| ended(id).is_some_and(|item| item.status == ItemStatus::Succeeded))
    };
    assert!(run_until(&runtime, &done) >= 50);
    assert_eq!((begun.of(FIRST), begun.of(later), wrong.load(Ordering::SeqCst)), (10, 40, 0));
}
