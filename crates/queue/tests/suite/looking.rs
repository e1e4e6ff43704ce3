//! What a worker is told that looks before it leases, and how much room a topic has.

use std::sync::Arc;
use std::time::Duration;

use strongroom_database::testing::Scratch;
use strongroom_database::{Database, Isolation, ManualClock, SystemClock, Time, Transaction};
use strongroom_queue::tasks::{self, QueueStatus, ReadyFilter};
use strongroom_queue::{LeaseRequest, NewTask, QueueError, WorkerId};

const NOW: Time = Time(1_750_000_000_000_000);

fn look(database: &dyn Database, topics: &[&str]) -> QueueStatus {
    let topics: Vec<String> = topics.iter().map(|topic| (*topic).to_owned()).collect();
    database.read::<_, QueueError, _>(|tx| tasks::look(tx, &topics)).expect("looks")
}

#[test]
fn a_look_tells_when_the_first_task_of_the_topics_is_due() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let clock = Arc::new(ManualClock::at(NOW));
    let database: Arc<dyn Database> = Arc::new(super::open(&folder.path().join("registry.db"), clock.clone()));
    let [soon, later, latest] = [1, 2, 3].map(|seconds| NOW.plus(seconds * 1_000_000));
    assert_eq!(look(&*database, &["a", "b"]), QueueStatus::Nothing);
    let tasks = [("a", latest), ("b", later), ("b", latest), ("c", soon)].map(|(topic, time)| NewTask {
        not_before: Some(time),
        ..NewTask::new(topic, format!("{topic} {}", time.0), "")
    });
    database
        .write::<_, QueueError, _>(move |tx| {
            tasks::enqueue(tx, &tasks)?;
            tasks::set_paused(tx, "c", true)
        })
        .expect("enqueues");
    assert_eq!(look(&*database, &["a", "b", "c"]), QueueStatus::At(later));
    assert_eq!(look(&*database, &["b", "a"]), QueueStatus::At(later));
    assert_eq!(look(&*database, &["a"]), QueueStatus::At(latest));
    assert_eq!(look(&*database, &["c"]), QueueStatus::Nothing);
    clock.advance(2_000_000);
    assert_eq!(look(&*database, &["a", "b"]), QueueStatus::Work(vec!["b".to_owned()]));
    assert_eq!(look(&*database, &["a"]), QueueStatus::At(latest));
}

/// Leases as many tasks as a limit of three leaves room for, eight times at once; how many that were together.
fn lease_within_three(database: &Arc<dyn Database>) -> usize {
    let tasks: Vec<_> = (0..20).map(|number| NewTask::new("a", number.to_string(), "")).collect();
    database.write::<_, QueueError, _>(move |tx| tasks::enqueue(tx, &tasks).map(|_| ())).expect("enqueues");
    let lease = || {
        let leased = database.write_as::<_, QueueError, _>(Isolation::ReadCommitted, |tx| {
            let request = LeaseRequest {
                topics: vec!["a".to_owned()],
                keys: None,
                limit: tasks::room(tx, "a", 3)?.min(2),
                holder: WorkerId::this_process(),
                duration: Duration::from_mins(1),
            };
            tasks::lease(tx, &request)
        });
        leased.expect("leases").len()
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(lease)).collect();
        threads.into_iter().map(|thread| thread.join().expect("lives")).sum()
    })
}

#[test]
fn who_leases_at_once_leases_no_more_than_there_is_room_for() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file: Arc<dyn Database> = Arc::new(super::open(&folder.path().join("registry.db"), Arc::new(SystemClock)));
    let scratch = Scratch::new();
    let server =
        scratch.as_ref().map(|scratch| Arc::new(super::postgres::open(&scratch.url(), None)) as Arc<dyn Database>);
    for database in [Some(file), server].into_iter().flatten() {
        assert_eq!(lease_within_three(&database), 3, "{}", database.dialect());
        let leased = database.read::<_, QueueError, _>(|tx| tasks::leased_of(tx, "a")).expect("counts");
        assert_eq!(leased, 3);
    }
}

#[test]
fn it_is_known_until_when_somebody_holds_a_task() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let clock = Arc::new(ManualClock::at(NOW));
    let database: Arc<dyn Database> = Arc::new(super::open(&folder.path().join("registry.db"), clock));
    let last = || database.read::<_, QueueError, _>(tasks::last_lease).expect("looks");
    assert_eq!(last(), None);
    let lease = |minutes: u64| {
        let request = LeaseRequest {
            topics: vec!["a".to_owned()],
            keys: None,
            limit: 1,
            holder: WorkerId::this_process(),
            duration: Duration::from_mins(minutes),
        };
        database.write::<_, QueueError, _>(move |tx| {
            tasks::enqueue(tx, &[NewTask::new("a", minutes.to_string(), "")])?;
            tasks::lease(tx, &request).map(|leased| leased.len())
        })
    };
    assert_eq!((lease(3).expect("leases"), lease(2).expect("leases")), (1, 1));
    assert_eq!(last(), Some(NOW.plus(180_000_000)));
}

#[test]
fn tasks_of_others_are_found_behind_those_of_the_fair_keys_that_are_left_out() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file: Arc<dyn Database> = Arc::new(super::open(&folder.path().join("registry.db"), Arc::new(SystemClock)));
    let scratch = Scratch::new();
    let server =
        scratch.as_ref().map(|scratch| Arc::new(super::postgres::open(&scratch.url(), None)) as Arc<dyn Database>);
    for database in [Some(file), server].into_iter().flatten() {
        let of = |fair_key: &str, key: String| NewTask { fair_key: fair_key.into(), ..NewTask::new("a", key, "") };
        let add = |tasks: Vec<NewTask>| {
            database.write::<_, QueueError, _>(move |tx| tasks::enqueue(tx, &tasks).map(|_| ())).expect("enqueues");
        };
        let without: Vec<String> = vec!["many".to_owned(), "it's \"quoted\"".to_owned()];
        let filter = ReadyFilter { without: &without, since: None };
        let has = || database.read::<_, QueueError, _>(|tx| tasks::has_ready(tx, "a", filter)).expect("looks");
        let keys = |limit| {
            let without = without.clone();
            let read = move |tx: &mut dyn Transaction| {
                tasks::ready_keys(tx, "a", ReadyFilter { without: &without, since: None }, limit)
            };
            database.write::<_, QueueError, _>(read).expect("reads")
        };
        add((0..300).map(|number| of("many", format!("many {number}"))).collect());
        add(vec![of("it's \"quoted\"", "quoted".to_owned())]);
        assert!(!has(), "{}", database.dialect());
        assert_eq!(keys(9), Vec::<String>::new());
        let less_urgent = NewTask { priority: 2, ..of("few", "few 2".to_owned()) };
        add(vec![of("few", "few 1".to_owned()), less_urgent]);
        assert!(has());
        assert_eq!((keys(9), keys(1)), (vec!["few 1".to_owned(), "few 2".to_owned()], vec!["few 1".to_owned()]));
        database.write::<_, QueueError, _>(|tx| tasks::set_paused(tx, "a", true)).expect("pauses");
        assert!(!has() && keys(9).is_empty());
    }
}

#[test]
fn tasks_that_have_been_ready_for_long_are_found_behind_those_that_have_not() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let clock = Arc::new(ManualClock::at(NOW));
    let file: Arc<dyn Database> = Arc::new(super::open(&folder.path().join("registry.db"), clock.clone()));
    let scratch = Scratch::new();
    let server = scratch
        .as_ref()
        .map(|scratch| Arc::new(super::postgres::open(&scratch.url(), Some(clock.clone()))) as Arc<dyn Database>);
    for database in [Some(file), server].into_iter().flatten() {
        let add = |task: NewTask| {
            database
                .write::<_, QueueError, _>(move |tx| tasks::enqueue(tx, std::slice::from_ref(&task)).map(|_| ()))
                .expect("enqueues");
        };
        let now = || database.read::<_, QueueError, _>(|tx| Ok(tx.now()?)).expect("the time");
        let has = |since: Time| {
            let filter = ReadyFilter { without: &[], since: Some(since) };
            database.read::<_, QueueError, _>(|tx| tasks::has_ready(tx, "a", filter)).expect("looks")
        };
        let keys = |since: Time| {
            let read = move |tx: &mut dyn Transaction| {
                tasks::ready_keys(tx, "a", ReadyFilter { without: &[], since: Some(since) }, 9)
            };
            database.write::<_, QueueError, _>(read).expect("reads")
        };
        let first = now();
        add(NewTask::new("a", "first", ""));
        // A delayed task is ready from the time for which it was meant, not from the time of the next lease.
        let second = first.plus(5_000_000);
        add(NewTask { not_before: Some(second), ..NewTask::new("a", "second", "") });
        clock.advance(60_000_000);
        add(NewTask { priority: -5, ..NewTask::new("a", "urgent", "") });
        assert!(has(second) && has(first) && !has(first.plus(-1)), "{}", database.dialect());
        assert_eq!(keys(first.plus(-1)), Vec::<String>::new());
        assert_eq!(keys(first), ["first"]);
        assert_eq!(keys(second), ["first", "second"]);
        assert_eq!(keys(now()), ["urgent", "first", "second"]);
        database.write::<_, QueueError, _>(|tx| tasks::set_paused(tx, "a", true)).expect("pauses");
        assert!(!has(second) && keys(second).is_empty());
    }
}
