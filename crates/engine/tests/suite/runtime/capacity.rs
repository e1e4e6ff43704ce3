//! How much is taken on changes while a process works.

use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex};

use super::*;

fn workers(workers: usize) -> Pools {
    pool(Stage::named("receive"), PoolSettings { workers, ..PoolSettings::default() })
}

#[test]
fn more_and_then_fewer_are_worked_on_at_once_as_the_capacity_changes() {
    let house = House::new();
    let ids = house.items(6);
    let (running, most, let_go) =
        (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let handler = {
        let (running, most, let_go) = (running.clone(), most.clone(), let_go.clone());
        stage(Stage::named("receive"), move |_, _| {
            most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            until(|| let_go.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_ok());
            running.fetch_sub(1, Ordering::SeqCst);
            succeeded()
        })
    };
    let (wanted, asked) = (Arc::new(Mutex::new(None)), Arc::new(AtomicUsize::new(0)));
    let ask = {
        let (wanted, asked) = (wanted.clone(), asked.clone());
        move || {
            asked.fetch_add(1, Ordering::SeqCst);
            wanted.lock().expect("a lock").take()
        }
    };
    // What was said is in force when it is asked for the second time since.
    let say = |pools: Pools| {
        *wanted.lock().expect("a lock") = Some(pools);
        let before = asked.load(Ordering::SeqCst);
        until(|| asked.load(Ordering::SeqCst) >= before + 2);
    };
    let runtime =
        house.runtime(vec![handler]).pools(workers(1)).capacity(Duration::from_millis(1), Arc::new(ask)).build();
    let shutdown = Shutdown::new();
    let _watchdog = watch(&shutdown);
    let all_done = || ids.iter().all(|id| house.has_status(*id, ItemStatus::Succeeded));
    std::thread::scope(|scope| {
        let run = scope.spawn(|| runtime.run_until(&shutdown, &all_done));
        until(|| running.load(Ordering::SeqCst) == 1);
        say(workers(3));
        until(|| running.load(Ordering::SeqCst) == 3);
        say(workers(1));
        most.store(0, Ordering::SeqCst);
        let_go.store(ids.len(), Ordering::SeqCst);
        assert_eq!(run.join().expect("ends").ended, ids.len() as u64);
    });
    assert_eq!(most.load(Ordering::SeqCst), 1, "what began since began alone");
}

#[test]
fn all_processes_together_have_no_more_tasks_of_a_topic_than_its_limit() {
    let house = House::new();
    let ids = house.items(12);
    let (running, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let pools = pool(Stage::named("receive"), PoolSettings { workers: 3, max_total: 2, ..PoolSettings::default() });
    let process = || {
        let (running, most) = (running.clone(), most.clone());
        let handler = stage(Stage::named("receive"), move |_, _| {
            most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            // Each goes on once two have run at once.
            until(|| most.load(Ordering::SeqCst) >= 2);
            running.fetch_sub(1, Ordering::SeqCst);
            succeeded()
        });
        house.runtime(vec![handler]).pools(pools.clone()).build()
    };
    let shutdown = Shutdown::new();
    let _watchdog = watch(&shutdown);
    let all_done = || ids.iter().all(|id| house.has_status(*id, ItemStatus::Succeeded));
    let ended = std::thread::scope(|scope| {
        let runs = [process(), process()].map(|runtime| {
            let (shutdown, all_done) = (&shutdown, &all_done);
            scope.spawn(move || runtime.run_until(shutdown, all_done).ended)
        });
        runs.into_iter().map(|run| run.join().expect("ends")).sum::<u64>()
    });
    assert_eq!(ended, ids.len() as u64);
    assert_eq!(most.load(Ordering::SeqCst), 2);
}
