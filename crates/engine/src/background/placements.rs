//! Compares the copies that there are with those that the placements name, and reports which stores lack some: each object once for each
//! store of its placement, and then only those that may lack something since. `status` shows what is found here
//! ([`strongroom_registry::placements`]). What is lacking is enqueued for the workers, at the rate of the settings.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::time::Duration;

use strongroom_registry::placements::{self, Marked, Rules};
use strongroom_registry::{ObjectId, RegistryError, Time, Transaction, backfill, tenants};
use uuid::Uuid;

use super::BackgroundTask;
use crate::backfill::{Finding, StoreProgress};
use crate::event::Event;
use crate::runtime::Shutdown;
use crate::{EngineError, Home, paging};

const EVERY: Duration = Duration::from_mins(1);
/// How often it is logged what stores lack, in microseconds.
const REPORTED_EVERY: i64 = 24 * 3_600_000_000;
/// The fact that says when that was last logged.
const REPORTED_AT: &str = "placements.reported_at";
/// Objects that are compared in one transaction.
const OBJECTS_AT_ONCE: usize = 500;
/// What a run returns that ended before everything was compared.
const STOPPED: &str = "stopped before every placement was compared";

pub(super) const TASK: BackgroundTask = BackgroundTask { name: "placements", every: |_| EVERY, run };

fn run(home: &Home, stop: &Shutdown) -> Result<String, EngineError> {
    let registry = &home.registry;
    let wanted = wanted(home)?;
    let begun = registry.read(placements::list)?.into_iter().map(|one| (one.placement, one.store));
    if !begun.collect::<BTreeSet<_>>().iter().eq(&wanted) {
        let wanted: Vec<_> = wanted.into_iter().collect();
        registry.write(move |tx| placements::set(tx, &wanted))?;
    }
    for one in registry.read(placements::list)?.into_iter().filter(|one| !one.is_complete) {
        loop {
            if stop.is_requested() {
                return Ok(STOPPED.to_owned());
            }
            let (placement, store) = (one.placement.clone(), one.store.clone());
            if registry.write(move |tx| placements::advance(tx, (&placement, &store), OBJECTS_AT_ONCE))? {
                break;
            }
        }
    }
    let rules = Rules {
        default: home.settings.ingest.default_placement.clone(),
        known: home.settings.placements.keys().cloned().collect(),
    };
    let Some(mut followed) = compare_collections(home, &rules, stop)? else { return Ok(STOPPED.to_owned()) };
    let Some((found, enqueued)) = compare_marked(home, (&rules, &mut followed), stop)? else {
        return Ok(STOPPED.to_owned());
    };
    if !found.is_empty() && is_to_be_reported(home)? {
        for (store, found) in &found {
            Event::CopiesLacking { store, objects: found.lacking }.emit();
        }
    }
    let sum = |count: fn(&StoreProgress) -> u64| found.values().map(count).sum::<u64>();
    let lacking = sum(|found| found.lacking);
    let mut done = format!("{lacking} times a store lacks an object of its placement");
    for (count, what) in [
        (followed, "given the placement of their collection"),
        (enqueued, "enqueued"),
        (sum(|found| found.given_up), "given up"),
    ] {
        if count > 0 {
            let _ = write!(done, ", {count} {what}");
        }
    }
    Ok(done)
}

/// The placements of the settings with each store of theirs that is in use.
fn wanted(home: &Home) -> Result<BTreeSet<(String, String)>, EngineError> {
    let retired = home.registry.read(backfill::retired)?;
    let mut wanted = BTreeSet::new();
    for (placement, stores) in &home.settings.placements {
        let in_use = stores.iter().filter(|store| !retired.contains(*store));
        wanted.extend(in_use.map(|store| (placement.clone(), store.clone())));
    }
    Ok(wanted)
}

/// Gives objects the placement of their collection where that has changed and no deposit named theirs; how many. None where it was stopped.
fn compare_collections(home: &Home, rules: &Rules, stop: &Shutdown) -> Result<Option<u64>, EngineError> {
    let mut followed = 0;
    for collection in home.registry.read(placements::changed_collections)? {
        loop {
            if stop.is_requested() {
                return Ok(None);
            }
            let rules = rules.clone();
            let page =
                move |tx: &mut dyn Transaction| placements::follow_collection(tx, collection, &rules, OBJECTS_AT_ONCE);
            let (changed, is_end) = home.registry.write(page)?;
            followed += changed;
            if is_end {
                break;
            }
        }
    }
    Ok(Some(followed))
}

/// Removes the marks of objects that lack nothing, and enqueues what the others lack. What was found, and how many tasks were enqueued;
/// none where it was stopped: what was counted until then is less than there is.
fn compare_marked(
    home: &Home,
    (rules, followed): (&Rules, &mut u64),
    stop: &Shutdown,
) -> Result<Option<(BTreeMap<String, StoreProgress>, u64)>, EngineError> {
    let registry = &home.registry;
    let mut finding = Finding::begin(home)?;
    let list = |after: Option<ObjectId>, limit| {
        registry.read(|tx| placements::marked(tx, &rules.default, after.unwrap_or(ObjectId(Uuid::nil())), limit))
    };
    for page in paging::pages(OBJECTS_AT_ONCE, |marked: &Marked| marked.object, list) {
        let mut page = page?;
        if stop.is_requested() {
            return Ok(None);
        }
        let is_to_follow =
            |marked: &mut Marked| marked.wanted.as_deref().is_some_and(|wanted| rules.known(wanted).is_some());
        let others: Vec<ObjectId> = page.extract_if(.., is_to_follow).map(|marked| marked.object).collect();
        if !others.is_empty() {
            // What their new placement lacks is found by the next run.
            let rules = rules.clone();
            *followed += registry.write(move |tx| placements::follow(tx, &others, &rules))?;
        }
        finding.add(&page)?;
        let whole: Vec<ObjectId> =
            page.iter().filter(|marked| marked.lacking_in.is_empty()).map(|marked| marked.object).collect();
        if !whole.is_empty() {
            registry.write(move |tx| placements::unmark(tx, &whole))?;
        }
    }
    finding.end(stop).map(Some)
}

/// Whether it was not logged for a day what stores lack. Where it was not, it is from now on.
fn is_to_be_reported(home: &Home) -> Result<bool, EngineError> {
    Ok(home.registry.write(|tx| {
        let now = tx.now()?;
        let reported = tenants::fact(tx, REPORTED_AT)?.and_then(|text| text.parse::<i64>().ok()).map(Time);
        // A time that lies ahead was noted by a clock that was ahead.
        let is_recent = reported.is_some_and(|at| at <= now && now < at.plus(REPORTED_EVERY));
        if !is_recent {
            tenants::set_fact(tx, REPORTED_AT, &now.0.to_string())?;
        }
        Ok::<_, RegistryError>(!is_recent)
    })?)
}
