//! Compares the copies that there are with those that the placements name, and reports which stores lack some: each object once for each
//! store of its placement, and then only those that may lack something since. `status` shows what is found here
//! ([`strongroom_registry::placements`]).

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use strongroom_registry::{ObjectId, RegistryError, Time, backfill, placements, tenants};
use uuid::Uuid;

use super::BackgroundTask;
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
    let Some(lacking) = compare_marked(home, stop)? else { return Ok(STOPPED.to_owned()) };
    if !lacking.is_empty() && is_to_be_reported(home)? {
        for (store, objects) in &lacking {
            Event::CopiesLacking { store, objects: *objects }.emit();
        }
    }
    Ok(format!("{} times a store lacks an object of its placement", lacking.values().sum::<u64>()))
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

/// Removes the marks of objects that lack nothing. How many of the others each store lacks; none where it was stopped: what was counted
/// until then is less than there is.
fn compare_marked(home: &Home, stop: &Shutdown) -> Result<Option<BTreeMap<String, u64>>, EngineError> {
    let registry = &home.registry;
    let (mut lacking, mut whole) = (BTreeMap::<String, u64>::new(), Vec::new());
    let list = |after: Option<ObjectId>, limit| {
        registry.read(|tx| placements::marked(tx, after.unwrap_or(ObjectId(Uuid::nil())), limit))
    };
    let unmark = |whole: &mut Vec<ObjectId>| {
        let objects = std::mem::take(whole);
        if objects.is_empty() { Ok(0) } else { registry.write(move |tx| placements::unmark(tx, &objects)) }
    };
    for marked in paging::rows(OBJECTS_AT_ONCE, |marked: &placements::Marked| marked.object, list) {
        let marked = marked?;
        if stop.is_requested() {
            return Ok(None);
        }
        if marked.lacking_in.is_empty() {
            whole.push(marked.object);
        }
        if whole.len() == OBJECTS_AT_ONCE {
            unmark(&mut whole)?;
        }
        for store in marked.lacking_in {
            *lacking.entry(store).or_default() += 1;
        }
    }
    unmark(&mut whole)?;
    Ok(Some(lacking))
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
