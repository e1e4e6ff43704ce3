//! Which objects the stores do not hold whole: each object is compared once with each store of its placement, and then only those that are
//! marked ([`strongroom_registry::placements`]). The background task `placements` and `store backfill` both find it here. Objects get the
//! placement of their collection on the way, where that has changed.

use std::collections::BTreeSet;

use strongroom_registry::placements::{self, Marked, Rules};
use strongroom_registry::{ObjectId, Transaction, backfill as rows};
use uuid::Uuid;

use super::OBJECTS_AT_ONCE;
use crate::runtime::Shutdown;
use crate::{EngineError, Home, paging};

/// Compares what was not compared yet, and gives each page of the objects that lack something or may to `take`. How many objects got the
/// placement of their collection; none where it was stopped before the end.
pub(crate) fn each_marked(
    home: &Home,
    stop: &Shutdown,
    take: &mut dyn FnMut(&[Marked]) -> Result<(), EngineError>,
) -> Result<Option<u64>, EngineError> {
    let registry = &home.registry;
    if !compare(home, stop)? {
        return Ok(None);
    }
    let rules = Rules {
        default: home.settings.ingest.default_placement.clone(),
        known: home.settings.placements.keys().cloned().collect(),
    };
    let Some(mut followed) = compare_collections(home, &rules, stop)? else { return Ok(None) };
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
            // What their new placement lacks is found the next time.
            let rules = rules.clone();
            followed += registry.write(move |tx| placements::follow(tx, &others, &rules))?;
        }
        take(&page)?;
        let whole: Vec<ObjectId> =
            page.iter().filter(|marked| marked.lacking_in.is_empty()).map(|marked| marked.object).collect();
        if !whole.is_empty() {
            registry.write(move |tx| placements::unmark(tx, &whole))?;
        }
    }
    Ok(Some(followed))
}

/// Compares every object with the stores of its placement that it was not compared with yet; whether it came to the end.
fn compare(home: &Home, stop: &Shutdown) -> Result<bool, EngineError> {
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
                return Ok(false);
            }
            let (placement, store) = (one.placement.clone(), one.store.clone());
            if registry.write(move |tx| placements::advance(tx, (&placement, &store), OBJECTS_AT_ONCE))? {
                break;
            }
        }
    }
    Ok(true)
}

/// The placements of the settings with each store of theirs that is in use.
fn wanted(home: &Home) -> Result<BTreeSet<(String, String)>, EngineError> {
    let retired = home.registry.read(rows::retired)?;
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
