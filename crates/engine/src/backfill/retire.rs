//! Taking a store out of use, and back into use. Nothing in it is deleted: it is no longer written, checked or counted.
//! A store that comes back was not watched meanwhile, so its copies count as unverified until they are read.

use std::collections::BTreeSet;

use strongroom_registry::backfill as rows;
use strongroom_registry::stores::{self, LostCursor};
use strongroom_registry::{RegistryError, Time, Transaction};

use super::OBJECTS_AT_ONCE;
use crate::access::Availability;
use crate::{EngineError, Home};

/// Copies whose verification is taken back in one transaction.
const COPIES_AT_ONCE: usize = 500;

/// What came of asking for a store to be taken out of use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Retirement {
    /// It is out of use since then.
    Retired(Time),
    /// It was before.
    Already(String),
    /// Something depends on it; nothing was changed.
    Refused {
        /// How many objects in other stores lack verified copies.
        objects: u64,
        /// The placements, as the settings spell them, that would be left with too few stores in use.
        placements: Vec<String>,
    },
}

/// What would be wrong without a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unretired {
    /// `<institution>/<name>`; none where it is about a whole placement.
    pub object: Option<String>,
    /// The placement, where it is about a whole one.
    pub placement: Option<String>,
    /// The store that lacks the object.
    pub store: Option<String>,
    /// Why, in words.
    pub reason: String,
}

/// Takes a store out of use where every object in it has verified copies in every other store of its placement, and no
/// placement is left with fewer than two stores in use, or with fewer than one where `allow_one_copy`. Else `tell`
/// hears of each that is not so.
pub fn retire<E: From<EngineError>>(
    home: &Home,
    store: &str,
    allow_one_copy: bool,
    tell: &mut dyn FnMut(Unretired) -> Result<(), E>,
) -> Result<Retirement, E> {
    check_is_kept_in(home, store)?;
    let read = |result: Result<_, RegistryError>| result.map_err(|error| E::from(error.into()));
    if let Some(since) = read(home.registry.read(|tx| rows::retired_at(tx, store)))? {
        return Ok(Retirement::Already(since));
    }
    let fewest = if allow_one_copy { 1 } else { 2 };
    let (mut objects, mut placements) = (0, Vec::new());
    for placement in placements_of(home, store)? {
        let Placement { name, rest } = in_use_besides(home, &placement, store);
        if rest.len() < fewest {
            let left = match rest.first() {
                None => "no store of it would remain in use: name another store in the settings of the placement, and \
                         fill it with \"strongroom store backfill NAME\""
                    .to_owned(),
                Some(only) => format!(
                    "only {only} would remain in use, and new objects would get one copy: name another store in the \
                     settings of the placement, or say --allow-one-copy"
                ),
            };
            tell(Unretired { object: None, placement: Some(name.clone()), store: None, reason: left })?;
            placements.push(name);
        }
        for other in rest {
            objects += unverified(home, (&placement, &other), store, tell)?;
        }
    }
    if objects > 0 || !placements.is_empty() {
        return Ok(Retirement::Refused { objects, placements });
    }
    let name = store.to_owned();
    let since = home.registry.write(move |tx| rows::retire(tx, &name)).map_err(|error| E::from(error.into()))?;
    Ok(Retirement::Retired(since))
}

/// Refuses a store that keeps no copies.
fn check_is_kept_in(home: &Home, store: &str) -> Result<(), EngineError> {
    home.store(store)?;
    let is_named = home.settings.preservation_stores().contains(&store);
    if is_named || home.registry.read(|tx| rows::holds_objects(tx, store))? {
        return Ok(());
    }
    Err(EngineError::Usage(format!(
        "{store} is not a preservation store: no placement names it, and no object lies in it"
    )))
}

/// The placements that need a store, in lower case: those of objects that lie in it, and those that name it.
fn placements_of(home: &Home, store: &str) -> Result<BTreeSet<String>, EngineError> {
    let of_objects = home.registry.read(|tx| rows::placements_in_store(tx, store))?;
    // Also where nothing lies in it yet, the placements that name it need another store.
    let named = home.settings.placements.iter().filter(|(_, stores)| stores.iter().any(|name| name == store));
    Ok(of_objects.into_iter().chain(named.map(|(name, _)| name.to_lowercase())).collect())
}

/// A placement without one of its stores.
struct Placement {
    /// As the settings spell it.
    name: String,
    /// Its other stores that are in use.
    rest: Vec<String>,
}

fn in_use_besides(home: &Home, placement: &str, store: &str) -> Placement {
    if let Ok((name, stores)) = home.placement(placement) {
        let rest = stores.into_iter().map(|(name, _)| name).filter(|name| name != store).collect();
        return Placement { name, rest };
    }
    let spelled = home.settings.placements.keys().find(|name| name.eq_ignore_ascii_case(placement));
    Placement { name: spelled.map_or(placement, String::as_str).to_owned(), rest: Vec::new() }
}

/// Tells each object of a placement that lies in `store` and has no verified copies in `other`; how many there are.
fn unverified<E: From<EngineError>>(
    home: &Home,
    (placement, other): (&str, &str),
    store: &str,
    tell: &mut dyn FnMut(Unretired) -> Result<(), E>,
) -> Result<u64, E> {
    let (mut objects, mut after) = (0, None);
    loop {
        let page = home
            .registry
            .read(|tx| rows::unverified_objects(tx, (placement, other), store, after, OBJECTS_AT_ONCE))
            .map_err(|error| E::from(error.into()))?;
        let Some(last) = page.last() else { return Ok(objects) };
        after = Some(last.object);
        for lacking in page {
            objects += 1;
            let mut reasons = Vec::new();
            if lacking.contents > 0 {
                reasons.push(format!("{} contents without a verified copy", lacking.contents));
            }
            if !lacking.has_inventories {
                reasons.push("inventories that are not verified".to_owned());
            }
            tell(Unretired {
                object: Some(lacking.object_identifier),
                placement: None,
                store: Some(other.to_owned()),
                reason: reasons.join(", "),
            })?;
        }
    }
}

/// Takes a retired store back into use. First its copies count as unverified, so that the next fixity round reads them;
/// what it lacks is brought by [`run`](super::run) or [`enqueue`](super::enqueue). What was cut short goes on where it
/// stopped.
///
/// # Errors
/// [`EngineError::Usage`] where it is not retired, or cannot be used.
pub fn use_again(home: &Home, store: &str) -> Result<(), EngineError> {
    if !home.is_retired(store)? {
        return Err(EngineError::Usage(format!("the store {store} is in use: it is not retired")));
    }
    let state = home.access(store)?.try_now();
    if state.availability != Availability::Available {
        let reason = state.reason.unwrap_or_default();
        return Err(EngineError::Usage(format!("the store {store} stays retired, since it cannot be used: {reason}")));
    }
    doubt(home, store, stores::doubt_copies)?;
    doubt(home, store, stores::doubt_object_copies)?;
    let name = store.to_owned();
    home.registry.write(move |tx| rows::use_again(tx, &name))?;
    Ok(())
}

type Doubt = fn(&mut dyn Transaction, &str, LostCursor, usize) -> Result<Option<LostCursor>, RegistryError>;

fn doubt(home: &Home, store: &str, act: Doubt) -> Result<(), EngineError> {
    let mut cursor = LostCursor::START;
    loop {
        let name = store.to_owned();
        match home.registry.write(move |tx| act(tx, &name, cursor, COPIES_AT_ONCE))? {
            Some(next) => cursor = next,
            None => return Ok(()),
        }
    }
}
