//! Every order of the steps of two workers, with crashes, sleep, failing stores, lost assemblies, cancellations and requeues,
//! keeps the rules; and the two faults that were in the protocol before are found when they are put back.

mod rules;
mod state;
mod steps;

use stateright::{Checker, HasDiscoveries, Model};
use steps::Protocol;

/// Disturbances in one run: enough for a cancellation, a failing sweep, a requeue and a lease that runs out meanwhile.
/// `STRONGROOM_MODEL_DISTURBANCES` searches further, at about six times the states for each one more.
const DISTURBANCES: usize = 3;

fn protocol() -> Protocol {
    let wished = std::env::var("STRONGROOM_MODEL_DISTURBANCES").ok().and_then(|text| text.parse().ok());
    Protocol { disturbances: wished.unwrap_or(DISTURBANCES), ..Protocol::default() }
}

/// Searches until a rule is seen broken; the shortest way there, as the search goes breadth first.
fn expect_broken(protocol: Protocol, rule: &'static str) {
    let found = HasDiscoveries::AllOf([rule].into());
    let checker = protocol.checker().threads(2).finish_when(found).spawn_bfs().join();
    println!("{} states", checker.unique_state_count());
    let Some(path) = checker.discovery(rule) else { panic!("nothing broke: {rule}") };
    println!("{path}");
}

#[test]
fn every_order_of_steps_keeps_the_rules() {
    let checker = protocol().checker().threads(2).spawn_bfs().join();
    println!("{} states", checker.unique_state_count());
    checker.assert_properties();
}

#[test]
fn an_assembly_named_by_its_deposit_and_removed_before_its_rows_is_found() {
    expect_broken(Protocol { has_fault_1: true, ..protocol() }, rules::WHOLE);
}

#[test]
fn a_root_inventory_put_unconditionally_by_a_worker_that_slept_is_found() {
    expect_broken(Protocol { has_fault_4: true, ..protocol() }, rules::HEAD);
}
