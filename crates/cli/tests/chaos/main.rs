//! Chaos: the real program with two worker processes, on which acts come down that a seed has chosen: kills, sleep beyond
//! the lease, wishes of people, stores that go away, fail, fill up and lose bytes. Afterwards everything is healed, the work
//! is done to its end, and what the program promises is checked by a reader of OCFL that is not the program's.
//!
//! `cargo xtask chaos` asks for many runs; without it a few short ones are made.

mod acts;
mod arks;
mod bags;
mod chain;
mod chance;
mod commands;
mod deletion_plan;
mod deletions;
mod duplicating;
mod hook;
mod joining;
mod kept;
mod late;
mod ocfl;
mod options;
mod origins;
mod packages;
mod perform;
mod plan;
mod promises;
mod promises_of_bags;
mod promises_of_batches;
mod promises_of_catalogues;
mod promises_of_chains;
mod promises_of_deletions;
mod promises_of_packages;
mod promises_of_problems;
mod promises_of_records;
mod settle;
mod stores;
mod tombstones;
mod web;
mod workers;
mod world;

use anyhow::{Result, bail};

use crate::bags::{VARIANTS, slots};
use crate::chain::{ChainPlan, Size};
use crate::options::{Database, Options, Stores};
use crate::perform::Cast;
use crate::plan::Plan;
use crate::world::{World, place};

/// Makes one run; false where it could not be made.
fn run(plan: &Plan) -> Result<bool> {
    let Some(mut world) = World::new(&plan.equipment())? else { return Ok(false) };
    world.log(format!("seed {}, {}, stores: {}, {} s", plan.seed, plan.database, plan.stores, plan.seconds));
    world.log(format!(
        "copies are damaged in {}, {} attempts, ARKs: {}",
        plan.damaged, plan.max_attempts, plan.has_arks
    ));
    let folder = world.path("bags");
    let mut bags = Vec::new();
    for slot in slots() {
        bags.push((0..VARIANTS).map(|variant| slot.bag(plan.seed, variant, &folder)).collect::<Result<Vec<_>>>()?);
    }
    let mut cast = Cast::new(world, bags, plan);
    // In every other run a store joins, since objects that a killed worker held are waited for; in the others spaces are copied.
    let joins = plan.seed.is_multiple_of(2);
    let settled = cast.perform(plan).and_then(|()| cast.settle());
    let joined = settled.and_then(|()| if joins { cast.join_store() } else { cast.duplicate() });
    let outcome = joined.and_then(|()| cast.check());
    if let Err(error) = outcome {
        cast.findings.push(format!("{error:#}"));
        cast.world.log(format!("FINDING: {error:#}"));
    }
    let _ = cast.workers.kill_all(&mut cast.world);
    if cast.findings.is_empty() {
        cast.world.remove()?;
        return Ok(true);
    }
    let kept = cast.world.keep();
    let (folder, log) = place(&plan.equipment().name);
    bail!(
        "seed {} found:\n  {}\n\nthe acts are in {}\nthe data directory is {} (kept whole: {})\nagain: cargo xtask chaos \
         --runs 1 --seed {} --database {} --stores {} --seconds {}",
        plan.seed,
        cast.findings.join("\n  "),
        log.display(),
        folder.join("home").display(),
        kept.is_ok(),
        plan.seed,
        plan.database,
        plan.stores,
        plan.seconds,
    )
}

/// Makes runs one after the other, also behind one that found something; tells all that was found.
fn run_all(plans: impl IntoIterator<Item = Plan>) {
    make_all(plans, run, |plan| plan.seed, |plan| format!("on {}, stores: {}", plan.database, plan.stores));
}

/// The same with chains of activities.
fn run_chains(seeds: std::ops::Range<u64>, database: Database, size: Size, seconds: u64) {
    let plans = seeds.map(|seed| ChainPlan::new(seed, database, size, seconds));
    make_all(plans, chain::run, |plan| plan.seed, ToString::to_string);
}

fn make_all<P>(
    plans: impl IntoIterator<Item = P>,
    run: fn(&P) -> Result<bool>,
    seed: fn(&P) -> u64,
    describe: fn(&P) -> String,
) {
    let (mut made, mut found) = (0, Vec::new());
    for plan in plans {
        let began = std::time::Instant::now();
        match run(&plan) {
            Ok(false) => return,
            Ok(true) => println!("seed {}, {}: {:.1?}", seed(&plan), describe(&plan), began.elapsed()),
            Err(error) => {
                eprintln!("{error:#}");
                found.push(seed(&plan));
            }
        }
        made += 1;
    }
    assert!(found.is_empty(), "of {made} runs those with the seeds {found:?} broke a promise");
}

/// Short runs, of which each takes some seconds.
fn short_runs(seeds: std::ops::Range<u64>, database: Database, stores: Stores) {
    run_all(seeds.map(|seed| Plan::new(seed, database, stores, 3)));
}

#[test]
fn every_promise_holds_after_short_runs_of_chaos_over_folders() {
    short_runs(1..4, Database::Sqlite, Stores::Folders);
}

#[test]
fn every_promise_holds_after_short_runs_of_chaos_over_object_storage() {
    short_runs(4..6, Database::Sqlite, Stores::S3);
    short_runs(6..8, Database::Sqlite, Stores::Both);
}

#[test]
fn every_promise_holds_after_short_runs_of_chaos_on_postgresql() {
    short_runs(8..10, Database::Postgres, Stores::Both);
    short_runs(10..11, Database::Postgres, Stores::S3);
}

#[test]
fn chains_of_activities_end_as_undisturbed_whatever_is_killed() {
    run_chains(11..12, Database::Sqlite, Size::of(2_000), 8);
}

#[test]
fn chains_of_activities_end_as_undisturbed_whatever_is_killed_on_postgresql() {
    run_chains(12..13, Database::Postgres, Size::of(2_000), 8);
}

#[test]
fn every_promise_holds_after_the_runs_of_chaos_that_were_asked_for() {
    let Some(options) = Options::from_environment().unwrap() else { return };
    let seeds = options.seed..options.seed + options.runs;
    if let Some(records) = options.chain {
        return run_chains(seeds, options.database, Size::of(records), options.seconds);
    }
    run_all(seeds.map(|seed| Plan::new(seed, options.database, options.stores_of(seed), options.seconds)));
}

#[test]
fn a_seed_always_plans_the_same_acts() {
    let acts = |seed| Plan::new(seed, Database::Sqlite, Stores::Both, 20).acts;
    assert_eq!(acts(7), acts(7));
    assert_ne!(acts(7), acts(8));
    let acts = |seed| ChainPlan::new(seed, Database::Sqlite, Size::of(2_000), 20).acts;
    assert_eq!(acts(7), acts(7));
    assert_ne!(acts(7), acts(8));
}
