//! How tasks are held, and what happens when they no longer are.

use std::fs::File;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use rustix::fs::{FlockOperation, flock};
use strongroom_database::{Database, DatabaseError, Isolation, Transaction, WriteJob};
use strongroom_engine::runtime::Interrupted;
use strongroom_engine::workflow::Workflows;
use strongroom_queue::{LeaseRequest, WorkerId};
use strongroom_registry::work;

use super::*;

fn lease_as(registry: &Registry, holder: WorkerId) -> Vec<Assignment> {
    let request = LeaseRequest {
        topics: vec!["ingest.receive".to_owned()],
        keys: None,
        limit: 10,
        holder,
        duration: Duration::from_mins(1),
    };
    registry.write(move |tx| work::lease(tx, &Workflows::standard(), &request, &|_| 3)).expect("leases").assignments
}

fn elsewhere() -> WorkerId {
    WorkerId::new("elsewhere.invalid", 1, "0-0-1")
}

#[test]
fn a_task_that_was_taken_over_stops_and_its_end_changes_nothing() {
    let house = House::new();
    let item = house.item();
    let seen = Arc::new(Mutex::new(None));
    let began = Arc::new(AtomicBool::new(false));
    let handler = stage(Stage::named("receive"), {
        let (seen, began) = (seen.clone(), began.clone());
        move |_, context| {
            began.store(true, Ordering::SeqCst);
            let mut reason = None;
            until(|| {
                reason = context.check().err();
                reason.is_some()
            });
            *seen.lock().expect("lock") = reason;
            next(Stage::named("estimate")).with(Box::new(|tx, _| {
                tenants::set_fact(tx, "late", "written")?;
                Ok(Vec::new())
            }))
        }
    });
    let shutdown = Shutdown::new();
    let _watchdog = watch(&shutdown);
    let runtime = house.runtime(vec![handler]).beat_every(Duration::from_millis(5)).build();
    let summary = std::thread::scope(|scope| {
        let run = scope.spawn(|| runtime.run_until(&shutdown, &|| seen.lock().expect("lock").is_some()));
        until(|| began.load(Ordering::SeqCst));
        // In one transaction the lease runs out and somebody else has it: no heartbeat comes in between.
        let request = LeaseRequest {
            topics: vec!["ingest.receive".to_owned()],
            keys: None,
            limit: 1,
            holder: elsewhere(),
            duration: Duration::from_mins(1),
        };
        let clock = house.clock.clone();
        until(|| {
            clock.advance(Duration::from_mins(2));
            let request = request.clone();
            let taken = house.registry.write(move |tx| {
                work::reclaim(tx, 10)?;
                work::lease(tx, &Workflows::standard(), &request, &|_| 3)
            });
            !taken.expect("takes over").assignments.is_empty()
        });
        run.join().expect("ends")
    });
    assert_eq!(*seen.lock().expect("lock"), Some(Interrupted::LeaseLost));
    assert_eq!((summary.dropped, summary.ended), (1, 0));
    let item = house.find(item);
    assert_eq!((item.stage, item.status), (Stage::named("receive"), ItemStatus::Started));
    assert_eq!(item.holder, Some(elsewhere().to_string()));
    let late = house.registry.read(|tx| tenants::fact(tx, "late")).expect("reads");
    assert_eq!(late, None, "what was to be written with its end is not written either");
}

#[test]
fn a_task_whose_heartbeat_cannot_be_sent_stops_before_its_lease_ends() {
    let house = House::new();
    let item = house.item();
    let (began, go_on) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let (checks, stopped) = (Arc::new(Mutex::new(Vec::new())), Arc::new(AtomicBool::new(false)));
    let stopwatch = Arc::new(Stopwatch::default());
    let handler = stage(Stage::named("receive"), {
        let (began, go_on, checks, stopped) = (began.clone(), go_on.clone(), checks.clone(), stopped.clone());
        let stopwatch = stopwatch.clone();
        move |_, context| {
            if began.swap(true, Ordering::SeqCst) {
                return succeeded();
            }
            until(|| go_on.load(Ordering::SeqCst));
            let check = || checks.lock().expect("lock").push(context.check());
            stopwatch.advance(Duration::from_secs(53));
            check();
            stopwatch.advance(Duration::from_secs(2));
            check();
            stopped.store(true, Ordering::SeqCst);
            context.check().map_or_else(TaskEnd::from, |()| succeeded())
        }
    });
    let shutdown = Shutdown::new();
    let _watchdog = watch(&shutdown);
    let runtime = house.runtime(vec![handler]).clock(stopwatch).beat_every(Duration::from_millis(1)).build();
    std::thread::scope(|scope| {
        let run = scope.spawn(|| runtime.run_until(&shutdown, &|| house.has_status(item, ItemStatus::Succeeded)));
        until(|| began.load(Ordering::SeqCst));
        // The registry cannot be written while somebody has its lock. The watch stands still, so no beat before this one
        // has extended anything.
        let lock = File::open(house.folder.path().join("registry.lock")).expect("opens the lock");
        flock(&lock, FlockOperation::LockExclusive).expect("locks");
        go_on.store(true, Ordering::SeqCst);
        until(|| stopped.load(Ordering::SeqCst));
        drop(lock);
        run.join().expect("ends");
    });
    assert_eq!(*checks.lock().expect("lock"), [Ok(()), Err(Interrupted::LeaseLost)]);
    // The fence was still ours, so the task could be given back and was done by its next holder.
    assert!(house.has_status(item, ItemStatus::Succeeded));
}

#[test]
fn a_heartbeat_keeps_the_lease() {
    let house = House::new();
    let item = house.item();
    let stopwatch = Arc::new(Stopwatch::default());
    let handler = stage(Stage::named("receive"), {
        let (stopwatch, clock, registry) = (stopwatch.clone(), house.clock.clone(), house.registry.clone());
        move |assignment, context| {
            // The lease of 60 seconds is outlived. What a beat learned is known at the latest when the next one is on
            // record, so two rounds have to fit into one lease.
            for _ in 0..4 {
                stopwatch.advance(Duration::from_secs(25));
                clock.advance(Duration::from_secs(25));
                // Whether the beat has come can be seen in the record.
                let key = assignment.task.key.clone();
                let mut now = None;
                until(|| {
                    let read = registry.read(|tx| {
                        now = Some(tx.now()?);
                        Ok::<_, RegistryError>(tasks::of_key(tx, &key)?)
                    });
                    let until = read.expect("reads")[0].lease_until.expect("leased");
                    now.is_some_and(|now| until.0 - now.0 > 55_000_000)
                });
                if let Err(reason) = context.check() {
                    return reason.into();
                }
            }
            succeeded()
        }
    });
    let shutdown = Shutdown::new();
    let _watchdog = watch(&shutdown);
    let summary = house
        .runtime(vec![handler])
        .clock(stopwatch)
        .beat_every(Duration::from_millis(1))
        .sweep_every(Duration::from_millis(1))
        .build()
        .run_until(&shutdown, &|| house.has_status(item, ItemStatus::Succeeded));
    assert_eq!((summary.ended, summary.dropped), (1, 0));
    assert_eq!(house.find(item).fence, 1, "claimed once");
}

#[test]
fn what_a_silent_worker_held_is_taken_over() {
    let house = House::new();
    let item = house.item();
    assert_eq!(lease_as(&house.registry, elsewhere()).len(), 1);
    let runs = Arc::new(AtomicUsize::new(0));
    let handler = stage(Stage::named("receive"), {
        let runs = runs.clone();
        move |_, _| {
            runs.fetch_add(1, Ordering::SeqCst);
            succeeded()
        }
    });
    let shutdown = Shutdown::new();
    let _watchdog = watch(&shutdown);
    let run = house.runtime(vec![handler]).sweep_every(Duration::from_millis(1)).build().run_until(&shutdown, &|| {
        house.clock.advance(Duration::from_secs(10));
        house.has_status(item, ItemStatus::Succeeded)
    });
    assert_eq!((run.ended, runs.load(Ordering::SeqCst)), (1, 1));
    assert_eq!(house.find(item).fence, 2);
}

#[test]
fn an_item_without_a_task_is_given_one() {
    let house = House::new();
    let item = house.item();
    house
        .registry
        .write(move |tx| tasks::delete_key(tx, &item.to_string()).map_err(RegistryError::from))
        .expect("loses the task");
    let shutdown = Shutdown::new();
    let _watchdog = watch(&shutdown);
    house
        .runtime(vec![stage(Stage::named("receive"), |_, _| succeeded())])
        .build()
        .run_until(&shutdown, &|| house.has_status(item, ItemStatus::Succeeded));
    assert!(house.has_status(item, ItemStatus::Succeeded));
}

/// A registry in which of three transactions that extend leases the first fails: the one for all.
struct FailsForAll {
    inner: Registry,
    calls: AtomicUsize,
}

impl Database for FailsForAll {
    fn write_job(&self, job: WriteJob, isolation: Isolation) -> Result<(), DatabaseError> {
        self.inner.database().write_job(job, isolation)
    }

    fn write_lease_job(&self, job: WriteJob, isolation: Isolation) -> Result<(), DatabaseError> {
        let is_heartbeat = std::thread::current().name() == Some("heartbeat");
        if is_heartbeat && self.calls.fetch_add(1, Ordering::SeqCst).is_multiple_of(3) {
            return Err(DatabaseError::Unavailable { act: "extend".into(), detail: "a row is locked".into() });
        }
        self.inner.database().write_lease_job(job, isolation)
    }

    fn read_job(
        &self,
        job: &mut dyn FnMut(&mut dyn Transaction) -> Result<(), DatabaseError>,
    ) -> Result<(), DatabaseError> {
        self.inner.database().read_job(job)
    }

    fn dialect(&self) -> &'static str {
        self.inner.database().dialect()
    }

    fn revision(&self) -> Result<u64, DatabaseError> {
        self.inner.database().revision()
    }
}

#[test]
fn leases_that_cannot_be_extended_together_are_extended_one_by_one() {
    let house = House::new();
    let ids = house.items(2);
    let is_over = Arc::new(AtomicBool::new(false));
    let handler = stage(Stage::named("receive"), {
        let is_over = is_over.clone();
        move |_, _| {
            until(|| is_over.load(Ordering::SeqCst));
            succeeded()
        }
    });
    let shutdown = Shutdown::new();
    let _watchdog = watch(&shutdown);
    let failing = FailsForAll { inner: house.again(), calls: AtomicUsize::new(0) };
    let registry = Registry::within(Arc::new(failing)).with_workflows(Arc::new(Workflows::standard()));
    let runtime = quiet(&registry, vec![handler]).beat_every(Duration::from_millis(1)).build();
    let all_done = || ids.iter().all(|id| house.has_status(*id, ItemStatus::Succeeded));
    std::thread::scope(|scope| {
        let run = scope.spawn(|| runtime.run_until(&shutdown, &all_done));
        until(|| ids.iter().all(|id| house.has_status(*id, ItemStatus::Started)));
        let ends = || ids.iter().map(|id| house.find(*id).lease_until).collect::<Vec<_>>();
        let before = ends();
        house.clock.advance(Duration::from_secs(10));
        until(|| ends().iter().zip(&before).all(|(now, before)| now > before));
        is_over.store(true, Ordering::SeqCst);
        assert_eq!(run.join().expect("ends").dropped, 0);
    });
}
