//! The parts of a sweep: a space that a source or a destination has, or that is recorded, becomes a part for each rule that copies it.

use std::collections::BTreeSet;

use strongroom_duplication::{Filter, Place};
use strongroom_queue::{NewTask, tasks};
use strongroom_registry::duplication_routes::{self as routes, Route};
use strongroom_registry::sweeps::{self, Next, Part};
use strongroom_registry::{RegistryError, SweepPhase};
use strongroom_spaces::{ListedSpace, SpaceName, Spaces};

use super::part::{Slice, filter};
use super::{LEASE, Ran, micros};
use crate::EngineError;
use crate::duplication::tasks::{Cause, LOW, new_task};
use crate::duplication::{CurrentPolicy, current};

/// Spaces that become parts in one transaction.
const PER_TURN: usize = 200;

/// A space, and which of both stores have it.
struct Found {
    space: SpaceName,
    in_source: bool,
    in_destination: bool,
}

/// The spaces of both stores, side by side.
struct BothLists {
    source: std::iter::Peekable<Spaces>,
    destination: std::iter::Peekable<Spaces>,
    /// What is no space.
    not_carried: u64,
}

impl BothLists {
    fn next(&mut self) -> Result<Option<Found>, EngineError> {
        let one = peek(&mut self.source, &mut self.not_carried)?;
        let other = peek(&mut self.destination, &mut self.not_carried)?;
        let space = match (&one, &other) {
            (None, None) => return Ok(None),
            (Some(one), None) => one.clone(),
            (None, Some(other)) => other.clone(),
            (Some(one), Some(other)) => one.min(other).clone(),
        };
        let (in_source, in_destination) = (one.as_ref() == Some(&space), other.as_ref() == Some(&space));
        if in_source {
            self.source.next();
        }
        if in_destination {
            self.destination.next();
        }
        Ok(Some(Found { space, in_source, in_destination }))
    }
}

/// The next space of a list, behind what is none.
fn peek(list: &mut std::iter::Peekable<Spaces>, not_carried: &mut u64) -> Result<Option<SpaceName>, EngineError> {
    loop {
        match list.peek() {
            None => return Ok(None),
            Some(Ok(ListedSpace::Space(space))) => return Ok(Some(space.clone())),
            Some(Ok(ListedSpace::NotCarried { .. })) => {
                *not_carried += 1;
                list.next();
            }
            Some(Err(_)) => {
                if let Some(Err(error)) = list.next() {
                    return Err(error.into());
                }
            }
        }
    }
}

/// Which spaces a sweep copies between two stores: by a policy, and by the filter of the settings.
struct Selection<'s> {
    route: &'s Route,
    policy: CurrentPolicy,
    filter: &'s Filter,
}

impl Selection<'_> {
    fn has(&self, space: &str) -> bool {
        let Route { institution_identifier, source, destination, .. } = self.route;
        let place = Place { institution: institution_identifier, store: Some(source), space: Some(space) };
        let mut rules = self.policy.lookup().rules_from(source, space);
        rules.any(|rule| rule.destination == *destination) && self.filter.decide(place).is_included()
    }
}

/// Makes the parts of the spaces between two stores, page by page.
pub(super) fn run(slice: &mut Slice<'_>, ran: &mut Ran) -> Result<(), EngineError> {
    let home = slice.home;
    let route = slice.part.route.clone();
    let filter = filter(&home.settings.duplication);
    let after = SpaceName::new(slice.part.reached.as_str()).ok();
    let list = |store: &str| -> Result<_, EngineError> {
        Ok(home.plain_stores.get(store)?.spaces(after.as_ref())?.peekable())
    };
    let mut lists = BothLists { source: list(&route.source)?, destination: list(&route.destination)?, not_carried: 0 };
    loop {
        let mut page = Vec::new();
        let mut is_end = false;
        let mut part = slice.part.clone();
        for _ in 0..PER_TURN {
            let Some(found) = lists.next()? else {
                is_end = true;
                break;
            };
            part.reached = found.space.to_string();
            page.push(found);
        }
        let not_carried = std::mem::take(&mut lists.not_carried);
        part.counts.listed += not_carried;
        part.counts.ignored += not_carried;
        if is_end {
            recorded_spaces(slice, &filter)?;
            (part.phase, part.reached) = (SweepPhase::Done, String::new());
        }
        turn(slice, part, page, &filter, ran)?;
        if is_end {
            return Ok(());
        }
        if !slice.goes_on() {
            let part = slice.part.clone();
            slice.part = home.registry.write(move |tx| sweeps::advance(tx, &part, Next::Leave(0)))?;
            return Ok(());
        }
    }
}

fn turn(
    slice: &mut Slice<'_>,
    mut part: Part,
    page: Vec<Found>,
    filter: &Filter,
    ran: &mut Ran,
) -> Result<(), EngineError> {
    let home = slice.home;
    (part.attempts, part.error) = (0, None);
    let route = part.route.clone();
    let Some(policy) = current(home, route.institution)? else {
        part.phase = SweepPhase::Dropped;
        return slice.turn(part, Vec::new(), ran);
    };
    let selection = Selection { route: &route, policy, filter };
    let page: Vec<Found> = page.into_iter().filter(|found| selection.has(found.space.as_str())).collect();
    let keeps = |store: &str| -> Result<bool, EngineError> {
        Ok(home.plain_stores.get(store)?.capabilities().keeps_empty_spaces)
    };
    let (source_keeps, destination_keeps) = (keeps(&route.source)?, keeps(&route.destination)?);
    let differing: BTreeSet<String> = page
        .iter()
        .filter(|found| match (found.in_source, found.in_destination) {
            (true, false) => destination_keeps,
            (false, true) => source_keeps,
            _ => false,
        })
        .map(|found| found.space.to_string())
        .collect();
    part.counts.listed += differing.len() as u64;
    part.counts.queued += differing.len() as u64;
    let max_attempts = home.settings.pool(LOW).max_attempts;
    let lease = micros(LEASE);
    let (part, queued) = home.registry.write(move |tx| {
        let advanced = sweeps::advance(tx, &part, Next::GoOn(lease))?;
        let mut new: Vec<NewTask> = Vec::new();
        for found in &page {
            let stores = (part.route.source.as_str(), part.route.destination.as_str(), found.space.as_str());
            let route = routes::ensure(tx, part.route.institution, stores)?;
            sweeps::add_part(tx, part.sweep, route.id, SweepPhase::Deletions)?;
            if differing.contains(found.space.as_str()) {
                new.push(new_task(max_attempts, &route, "", Cause::Difference));
            }
        }
        tasks::enqueue(tx, &new)?;
        Ok::<_, RegistryError>((advanced, new.len() as u64))
    })?;
    slice.took_turn(part, queued, ran);
    Ok(())
}

/// What is recorded of spaces that neither store has any more is compared, too.
fn recorded_spaces(slice: &Slice<'_>, filter: &Filter) -> Result<(), EngineError> {
    let home = slice.home;
    let (route, sweep) = (&slice.part.route, slice.part.sweep);
    let Some(policy) = current(home, route.institution)? else { return Ok(()) };
    let selection = Selection { route, policy, filter };
    let mut after = String::new();
    loop {
        let place = (route.source.as_str(), route.destination.as_str(), after.as_str());
        let page = home.registry.read(|tx| routes::between(tx, route.institution, place, PER_TURN))?;
        let Some(last) = page.last() else { return Ok(()) };
        after.clone_from(&last.space);
        let page: Vec<_> = page.into_iter().filter(|known| selection.has(&known.space)).collect();
        home.registry.write(move |tx| {
            page.iter().try_for_each(|known| sweeps::add_part(tx, sweep, known.id, SweepPhase::Deletions))
        })?;
    }
}
