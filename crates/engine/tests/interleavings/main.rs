//! One deposit, stopped before every operation that changes a store, with every disturbance there: what is published in the
//! end is whole in every store, and what is not published leaves nothing.
//!
//! Two engines share the stores and the registry's file, as two processes would, under a clock that tests move. The first
//! falls asleep before an operation; something happens; then it wakes and does what it was about to do.

mod check;
mod gate;
mod house;

use std::sync::atomic::{AtomicBool, Ordering};

use strongroom_engine::ingest::sweep_staging;
use strongroom_engine::runtime::Shutdown;
use strongroom_registry::ItemStatus;
use strongroom_registry::items::Request;

use gate::Gate;
use house::{House, Sleeper};

/// What happens while the first worker sleeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Disturbance {
    /// Its lease runs out, and another worker takes over and finishes.
    TakeOver,
    /// A person cancels, and another worker clears up.
    Cancel,
    /// A person cancels, clearing up fails in one store, the person requeues, and another worker finishes.
    CancelAndRequeue,
}

/// Disturbs a deposit at an operation: the operation in words and what is wrong in the end; nothing when the deposit has
/// fewer operations.
fn disturb(operation: usize, disturbance: Disturbance) -> Option<(String, Vec<String>)> {
    let house = House::new();
    let gate = Gate::at(operation);
    let clock = house.clock();
    let first = house.engine(Some(&gate), clock.clone());
    let sleeper = Sleeper::new();
    let is_over = AtomicBool::new(false);
    let mut problems = Vec::new();
    std::thread::scope(|scope| {
        let running = scope.spawn(|| {
            sleeper.work(&first, house.item);
            is_over.store(true, Ordering::SeqCst);
        });
        if gate.wait(|| is_over.load(Ordering::SeqCst)) {
            clock.stand_still();
            house.expire_leases();
            problems.extend(meanwhile(&house, disturbance).err());
            clock.go_on();
            gate.wake();
        }
        sleeper.let_go(&first, || running.is_finished());
        running.join().expect("ends");
    });
    let reached = gate.reached()?;
    house.expire_leases();
    let last = house.engine(None, house.clock());
    problems.extend(house.work(&last, || false).err());
    // What a woken worker put under its own name is garbage, which goes by the sweep that every start makes.
    problems.extend(sweep_staging(&last, &Shutdown::new()).err().map(|error| error.chain()));
    drop(last);
    problems.extend(check::problems(&house));
    let wanted = match disturbance {
        Disturbance::Cancel => None,
        _ => Some(ItemStatus::Succeeded),
    };
    let status = house.item().status;
    if wanted.is_some_and(|wanted| wanted != status) {
        problems.push(format!("the deposit is {status}"));
    }
    Some((reached, problems))
}

/// What the others do while the first worker sleeps.
fn meanwhile(house: &House, disturbance: Disturbance) -> Result<(), String> {
    let second = house.engine(None, house.clock());
    match disturbance {
        Disturbance::TakeOver => house.work(&second, || false),
        Disturbance::Cancel => {
            house.request(&second, Request::Cancel);
            house.work(&second, || false)
        }
        Disturbance::CancelAndRequeue => {
            house.request(&second, Request::Cancel);
            let gate = Gate::refusing_removals("secondary");
            let failing = house.engine(Some(&gate), house.clock());
            house.work(&failing, || gate.failures() > 0 && house.item().status.is_ended())?;
            drop(failing);
            if !house.request(&second, Request::Requeue(None)) {
                house.work(&second, || false)?;
                house.request(&second, Request::Requeue(None));
            }
            house.work(&second, || false)
        }
    }
}

fn at_every_operation(disturbance: Disturbance) {
    let mut wrong = Vec::new();
    let mut operations = 0;
    while let Some((reached, problems)) = disturb(operations + 1, disturbance) {
        operations += 1;
        if !problems.is_empty() {
            wrong.push(format!("operation {operations}, {reached}: {}", problems.join("; ")));
        }
    }
    println!("{operations} operations");
    assert!(operations > 10, "the deposit has operations");
    assert!(wrong.is_empty(), "{disturbance:?}:\n{}", wrong.join("\n"));
}

macro_rules! interleavings {
    ($($name:ident: $disturbance:expr;)*) => {$(
        #[test]
        fn $name() {
            at_every_operation($disturbance);
        }
    )*};
}

interleavings! {
    folders_survive_a_take_over: Disturbance::TakeOver;
    folders_survive_a_cancellation: Disturbance::Cancel;
    folders_survive_a_requeue_after_a_failing_sweep: Disturbance::CancelAndRequeue;
}
