//! Items that come to a stage whose threads are all busy.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize};

use strongroom_queue::{TaskState, WorkerId};

use super::*;

const ESTIMATE: Stage = Stage::named("estimate");

/// `receive` leads to `estimate`, which has one thread and ends when it is let go.
fn handlers(running: &Arc<AtomicUsize>, let_go: &Arc<AtomicBool>) -> Vec<Arc<dyn Handler>> {
    let (running, let_go) = (running.clone(), let_go.clone());
    let estimate = stage(ESTIMATE, move |_, _| {
        running.fetch_add(1, Ordering::SeqCst);
        until(|| let_go.load(Ordering::SeqCst));
        succeeded()
    });
    vec![leads(Stage::named("receive"), ESTIMATE), estimate]
}

/// As [`handlers`]; whose items `estimate` has begun is noted in their order.
fn noting(begun: &Arc<Mutex<Vec<InstitutionId>>>, let_go: &Arc<AtomicBool>) -> Vec<Arc<dyn Handler>> {
    let (begun, let_go) = (begun.clone(), let_go.clone());
    let estimate = stage(ESTIMATE, move |assignment, _| {
        let (_, item) = assignment.claimed.as_ref().expect("a stage of an item");
        begun.lock().expect("a lock").push(item.institution);
        until(|| let_go.load(Ordering::SeqCst));
        succeeded()
    });
    vec![leads(Stage::named("receive"), ESTIMATE), estimate]
}

fn another_institution(house: &House) -> InstitutionId {
    institution(house, "example.org")
}

fn institution(house: &House, domain: &'static str) -> InstitutionId {
    let id = InstitutionId::new();
    let add = move |tx: &mut dyn strongroom_registry::Transaction| {
        tenants::add_institution(tx, id, domain, "Another University")
    };
    house.registry.write(add).expect("adds an institution");
    id
}

/// A new item of an institution.
fn item_of(house: &House, institution: InstitutionId) -> ItemId {
    let id = ItemId::new();
    let make = move |tx: &mut dyn strongroom_registry::Transaction| {
        let topic = items::create(tx, &Workflows::standard(), &new_item(id, institution))?;
        Ok::<_, RegistryError>(vec![topic])
    };
    house.registry.write_and_wake(make).expect("makes an item");
    id
}

fn one_thread() -> Pools {
    pool(ESTIMATE, PoolSettings { workers: 1, ..PoolSettings::default() })
}

#[test]
fn as_many_items_as_a_stage_has_threads_wait_for_one_under_the_lease_they_have() {
    let house = House::new();
    let ids = house.items(3);
    let (running, let_go) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
    let runtime = house
        .runtime(handlers(&running, &let_go))
        .pools(one_thread())
        .leave_to_others_after(Duration::from_hours(1))
        .build();
    let shutdown = Shutdown::new();
    let _watchdog = watch(&shutdown);
    let are_at_estimate = |status: ItemStatus| {
        ids.iter().map(|id| house.find(*id)).filter(|item| item.stage == ESTIMATE && item.status == status).count()
    };
    let all_done = || ids.iter().all(|id| house.has_status(*id, ItemStatus::Succeeded));
    std::thread::scope(|scope| {
        let run = scope.spawn(|| runtime.run_until(&shutdown, &all_done));
        until(|| are_at_estimate(ItemStatus::Started) == 2 && are_at_estimate(ItemStatus::Pending) == 1);
        // An item counts as started before its thread has begun.
        until(|| running.load(Ordering::SeqCst) > 0);
        assert_eq!(running.load(Ordering::SeqCst), 1, "one of them waits for the thread, the third in the queue");
        let_go.store(true, Ordering::SeqCst);
        assert_eq!(run.join().expect("ends").given_back, 0);
    });
    let mut fences: Vec<i64> = ids.iter().map(|id| house.find(*id).fence).collect();
    fences.sort_unstable();
    assert_eq!(fences, [1, 1, 2], "the third was claimed anew");
}

#[test]
fn an_item_that_waits_for_a_thread_for_too_long_is_left_to_other_processes() {
    let house = House::new();
    let ids = house.items(2);
    let (running, let_go) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
    let busy =
        house.runtime(handlers(&running, &let_go)).pools(one_thread()).leave_to_others_after(Duration::ZERO).build();
    let other = quiet(&house.again(), vec![stage(ESTIMATE, |_, _| succeeded())])
        .holder(WorkerId::new("elsewhere.invalid", 1, "0-0-1"))
        .build();
    let shutdown = Shutdown::new();
    let _watchdog = watch(&shutdown);
    let succeeded = || ids.iter().filter(|id| house.has_status(**id, ItemStatus::Succeeded)).count();
    std::thread::scope(|scope| {
        let run = scope.spawn(|| busy.run_until(&shutdown, &|| succeeded() == 2));
        let waits = |id: &ItemId| {
            let tasks = house.tasks(&id.to_string());
            running.load(Ordering::SeqCst) == 1 && tasks.iter().any(|task| task.state == TaskState::Ready)
        };
        until(|| ids.iter().any(waits));
        let ended = other.run_until(&shutdown, &|| succeeded() == 1);
        assert_eq!(ended.ended, 1, "while the thread of the first process is busy");
        let_go.store(true, Ordering::SeqCst);
        run.join().expect("ends");
    });
    let lines = ids.iter().flat_map(|id| house.history(*id));
    assert!(lines.filter(|line| line.note.as_deref() == Some("returned to the queue before it began")).count() >= 1);
    assert!(ids.iter().all(|id| house.find(*id).retry_count == 0), "no attempt was spent");
}

#[test]
fn an_item_of_another_institution_that_waits_for_a_thread_is_begun_before_more_of_the_first() {
    let house = House::new();
    let (ours, theirs) = (house.institution, another_institution(&house));
    let (begun, let_go) = (Arc::new(Mutex::new(Vec::new())), Arc::new(AtomicBool::new(false)));
    let runtime = house
        .runtime(noting(&begun, &let_go))
        .pools(pool(ESTIMATE, PoolSettings { workers: 1, prefetch: 3, ..PoolSettings::default() }))
        .leave_to_others_after(Duration::from_hours(1))
        .build();
    let shutdown = Shutdown::new();
    let _watchdog = watch(&shutdown);
    let mut ids = house.items(3);
    let other = ItemId::new();
    let are_at_estimate = |ids: &[ItemId]| {
        ids.iter().map(|id| house.find(*id)).all(|item| item.stage == ESTIMATE && item.status == ItemStatus::Started)
    };
    let waited_for = [ids.as_slice(), &[other]].concat();
    let all_done = || waited_for.iter().all(|id| house.has_ended(*id));
    std::thread::scope(|scope| {
        let run = scope.spawn(|| runtime.run_until(&shutdown, &all_done));
        until(|| are_at_estimate(&ids));
        house
            .registry
            .write_and_wake(move |tx| {
                Ok::<_, strongroom_registry::RegistryError>(vec![items::create(
                    tx,
                    &Workflows::standard(),
                    &new_item(other, theirs),
                )?])
            })
            .expect("makes an item");
        ids.push(other);
        until(|| are_at_estimate(&ids));
        let_go.store(true, Ordering::SeqCst);
        run.join().expect("ends");
    });
    assert_eq!(*begun.lock().expect("a lock"), [ours, theirs, ours, ours]);
}

#[test]
fn an_item_of_another_institution_does_not_wait_behind_a_long_batch_in_the_queue_of_its_next_stage() {
    let house = House::new();
    let (ours, theirs) = (house.institution, another_institution(&house));
    let (begun, let_go) = (Arc::new(Mutex::new(Vec::new())), Arc::new(AtomicBool::new(false)));
    let runtime = house
        .runtime(noting(&begun, &let_go))
        .pools(one_thread())
        .leave_to_others_after(Duration::from_hours(1))
        .build();
    let shutdown = Shutdown::new();
    let _watchdog = watch(&shutdown);
    let ids = house.items(5);
    let other = ItemId::new();
    let are_at_estimate = |status: ItemStatus| {
        ids.iter().map(|id| house.find(*id)).filter(|item| item.stage == ESTIMATE && item.status == status).count()
    };
    let all_done = || ids.iter().chain([&other]).all(|id| house.has_ended(*id));
    std::thread::scope(|scope| {
        let run = scope.spawn(|| runtime.run_until(&shutdown, &all_done));
        until(|| are_at_estimate(ItemStatus::Started) == 2 && are_at_estimate(ItemStatus::Pending) == 3);
        house
            .registry
            .write_and_wake(move |tx| {
                let workflows = Workflows::standard();
                Ok::<_, strongroom_registry::RegistryError>(vec![items::create(
                    tx,
                    &workflows,
                    &new_item(other, theirs),
                )?])
            })
            .expect("makes an item");
        until(|| house.find(other).stage == ESTIMATE);
        assert_eq!(house.find(other).status, ItemStatus::Started, "it passes the three that wait in the queue");
        let_go.store(true, Ordering::SeqCst);
        run.join().expect("ends");
    });
    assert_eq!(begun.lock().expect("a lock")[..2], [ours, theirs]);
    assert_eq!(house.find(other).fence, 1, "it was claimed once");
}

/// Two institutions send items all the time; whichever has less in the process passes what waits in the queue of the stage. An item of a third
/// one waits there.
#[test]
fn an_item_in_the_queue_of_a_stage_is_begun_however_many_of_others_pass_it() {
    const ROUNDS: usize = 8;
    let house = House::new();
    let (ours, theirs, third) = (house.institution, another_institution(&house), institution(&house, "example.net"));
    let (begun, may_end) = (Arc::new(Mutex::new(Vec::new())), Arc::new(AtomicUsize::new(0)));
    let estimate = {
        let (begun, may_end) = (begun.clone(), may_end.clone());
        stage(ESTIMATE, move |assignment, _| {
            let (_, item) = assignment.claimed.as_ref().expect("a stage of an item");
            let place = {
                let mut begun = begun.lock().expect("a lock");
                begun.push(item.institution);
                begun.len()
            };
            until(|| may_end.load(Ordering::SeqCst) >= place);
            succeeded()
        })
    };
    let runtime = house
        .runtime(vec![leads(Stage::named("receive"), ESTIMATE), estimate])
        .pools(one_thread())
        .leave_to_others_after(Duration::from_hours(1))
        .build();
    let shutdown = Shutdown::new();
    let _watchdog = watch(&shutdown);
    let batch = house.items(5);
    let is_over = AtomicBool::new(false);
    let has = |id: &ItemId, status: ItemStatus| {
        let item = house.find(*id);
        item.stage == ESTIMATE && item.status == status
    };
    std::thread::scope(|scope| {
        let run = scope.spawn(|| runtime.run_until(&shutdown, &|| is_over.load(Ordering::SeqCst)));
        until(|| {
            let are = |status| batch.iter().filter(|id| has(id, status)).count();
            are(ItemStatus::Started) == 2 && are(ItemStatus::Pending) == 3
        });
        let passing = item_of(&house, theirs);
        until(|| has(&passing, ItemStatus::Started));
        let waiting = item_of(&house, third);
        until(|| has(&waiting, ItemStatus::Pending));
        for round in 1..=ROUNDS {
            // That of the institution which runs nothing, so that it is held back nowhere.
            let runs = *begun.lock().expect("a lock").last().expect("one runs");
            let next = item_of(&house, if runs == ours { theirs } else { ours });
            until(|| house.find(next).stage == ESTIMATE);
            may_end.store(round, Ordering::SeqCst);
            until(|| begun.lock().expect("a lock").len() == round + 1);
        }
        may_end.store(usize::MAX, Ordering::SeqCst);
        until(|| house.has_ended(waiting));
        is_over.store(true, Ordering::SeqCst);
        run.join().expect("ends");
    });
    let begun = begun.lock().expect("a lock");
    let before = begun.iter().skip(1).take_while(|of| **of != third).count();
    assert!(before <= 3, "as many as there are institutions at most: {begun:?}");
}

#[test]
fn a_long_batch_gives_way_in_all_stages_while_another_institution_has_an_item() {
    let house = House::new();
    let theirs = another_institution(&house);
    // One for each of theirs, and a quarter of the processors.
    let most = 1 + std::thread::available_parallelism().map_or(1, usize::from) / 4;
    let count = most + 3;
    let (their_item_may_end, ours_may_end) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let (their_item_runs, ours_run) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let receive = {
        let (runs, may_end) = (their_item_runs.clone(), their_item_may_end.clone());
        stage(Stage::named("receive"), move |assignment, _| {
            let (_, item) = assignment.claimed.as_ref().expect("a stage of an item");
            if item.institution == theirs {
                runs.store(true, Ordering::SeqCst);
                until(|| may_end.load(Ordering::SeqCst));
                return succeeded();
            }
            next(ESTIMATE)
        })
    };
    let estimate = {
        let (run, may_end) = (ours_run.clone(), ours_may_end.clone());
        stage(ESTIMATE, move |_, _| {
            run.fetch_add(1, Ordering::SeqCst);
            until(|| may_end.load(Ordering::SeqCst));
            succeeded()
        })
    };
    let runtime = house
        .runtime(vec![receive, estimate])
        .pools(pool(ESTIMATE, PoolSettings { workers: count, ..PoolSettings::default() }))
        .leave_to_others_after(Duration::from_hours(1))
        .build();
    let shutdown = Shutdown::new();
    let _watchdog = watch(&shutdown);
    let (other, is_over, looks) = (ItemId::new(), AtomicBool::new(false), AtomicUsize::new(0));
    house
        .registry
        .write(move |tx| items::create(tx, &Workflows::standard(), &new_item(other, theirs)).map(drop))
        .expect("makes an item");
    std::thread::scope(|scope| {
        let has_ended = || {
            looks.fetch_add(1, Ordering::SeqCst);
            is_over.load(Ordering::SeqCst)
        };
        let run = scope.spawn(move || runtime.run_until(&shutdown, &has_ended));
        until(|| their_item_runs.load(Ordering::SeqCst));
        let ids = house.items(count);
        until(|| ours_run.load(Ordering::SeqCst) == most);
        // As often as this the process has had the occasion to begin more.
        let until_now = looks.load(Ordering::SeqCst);
        until(|| looks.load(Ordering::SeqCst) > until_now + 40);
        assert_eq!(ours_run.load(Ordering::SeqCst), most, "of {count} that have a thread");
        their_item_may_end.store(true, Ordering::SeqCst);
        until(|| ours_run.load(Ordering::SeqCst) == count);
        ours_may_end.store(true, Ordering::SeqCst);
        until(|| ids.iter().chain([&other]).all(|id| house.has_ended(*id)));
        is_over.store(true, Ordering::SeqCst);
        run.join().expect("ends");
    });
}
