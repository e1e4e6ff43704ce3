//! Taking a store out of use, and back into use. Nothing in it is deleted: it is no longer written, checked or counted.
//! A store that comes back was not watched meanwhile, so its copies count as unverified until they are read.

use std::collections::{BTreeMap, BTreeSet};

use strongroom_registry::backfill::{self as rows, Lacking};
use strongroom_registry::counted;
use strongroom_registry::stores::{self, KnownStore, LostCursor};
use strongroom_registry::{RegistryError, Time, Transaction};
use uuid::Uuid;

use super::OBJECTS_AT_ONCE;
use super::replace::take_anew;
use crate::access::Availability;
use crate::journal::{JournalEntry, Target};
use crate::{EngineError, Home, paging};

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

/// What is asked for when a store is to be taken out of use.
#[derive(Debug, Clone, Default)]
pub struct RetireRequest {
    /// The store.
    pub store: String,
    /// Also where a placement would be left with one store.
    pub allow_one_copy: bool,
    /// Whose act it is.
    pub by: JournalEntry,
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
/// placement is left with fewer than two stores in use, or with fewer than one where that is allowed. A store that cannot
/// be used now, or is being replaced, does not count as one that is left. Else `tell` hears of each that is not so.
pub fn retire<E: From<EngineError>>(
    home: &Home,
    request: &RetireRequest,
    tell: &mut dyn FnMut(Unretired) -> Result<(), E>,
) -> Result<Retirement, E> {
    check_is_kept_in(home, &request.store)?;
    let asked = Asked {
        store: request.store.clone(),
        fewest: if request.allow_one_copy { 1 } else { 2 },
        by: request.by.clone(),
        placements: home.settings.placements.clone(),
        usable: usable(home)?,
    };
    loop {
        // It is decided in the transaction that writes it: others may be taken out of use at the same time.
        let deciding = asked.clone();
        let decided = home.registry.write(move |tx| deciding.decide(tx));
        if let Some(retirement) = decided.map_err(|error| E::from(error.into()))? {
            return Ok(retirement);
        }
        let (objects, placements) = asked.tell_reasons(home, tell)?;
        if objects > 0 || !placements.is_empty() {
            return Ok(Retirement::Refused { objects, placements });
        }
        // What stood in the way is gone since.
    }
}

/// The preservation stores that can be used now, with their ids.
fn usable(home: &Home) -> Result<BTreeMap<String, Uuid>, EngineError> {
    home.compare_stores()?;
    home.try_stores();
    let stores = home.preservation_stores().into_iter();
    let available = stores.filter(|store| home.away(store.name()).is_none());
    Ok(available.filter_map(|store| Some((store.name().to_owned(), store.id()?))).collect())
}

/// A store that is asked to be taken out of use.
#[derive(Clone)]
struct Asked {
    store: String,
    /// How many stores of each placement have to be left.
    fewest: usize,
    /// Whose act it is.
    by: JournalEntry,
    /// The placements of the settings.
    placements: BTreeMap<String, Vec<String>>,
    /// The stores that can be used, with the ids that lie in them.
    usable: BTreeMap<String, Uuid>,
}

/// A placement without one of its stores.
struct Placement {
    /// In lower case.
    key: String,
    /// As the settings spell it.
    name: String,
    /// Its other stores that are in use.
    rest: Vec<String>,
    /// Those of them that can be used.
    usable: Vec<String>,
}

impl Asked {
    /// Takes the store out of use, if nothing depends on it; none where something does.
    fn decide(&self, tx: &mut dyn Transaction) -> Result<Option<Retirement>, RegistryError> {
        if let Some(since) = rows::retired_at(tx, &self.store)? {
            return Ok(Some(Retirement::Already(since)));
        }
        for placement in self.placements(tx)? {
            if placement.usable.len() < self.fewest {
                return Ok(None);
            }
            for other in &placement.rest {
                if !rows::unverified_objects(tx, (&placement.key, other), &self.store, None, 1)?.is_empty() {
                    return Ok(None);
                }
            }
        }
        let since = rows::retire(tx, &self.store)?;
        self.by.done(tx, &Target::of_system(&self.store))?;
        Ok(Some(Retirement::Retired(since)))
    }

    /// Says what depends on the store; how many objects, and which placements.
    fn tell_reasons<E: From<EngineError>>(
        &self,
        home: &Home,
        tell: &mut dyn FnMut(Unretired) -> Result<(), E>,
    ) -> Result<(u64, Vec<String>), E> {
        let found = home.registry.read(|tx| self.placements(tx)).map_err(|error| E::from(error.into()))?;
        let (mut objects, mut placements) = (0, Vec::new());
        for placement in found {
            if placement.usable.len() < self.fewest {
                let (name, reason) = (placement.name.clone(), too_few(&placement));
                tell(Unretired { object: None, placement: Some(name.clone()), store: None, reason })?;
                placements.push(name);
            }
            for other in &placement.rest {
                objects += unverified(home, (&placement.key, other), &self.store, tell)?;
            }
        }
        Ok((objects, placements))
    }

    /// The placements that need the store, without it: those of objects that lie in it, and those that name it.
    fn placements(&self, tx: &mut dyn Transaction) -> Result<Vec<Placement>, RegistryError> {
        let of_objects = rows::placements_in_store(tx, &self.store)?;
        // Also where nothing lies in it yet, the placements that name it need another store.
        let named = self.placements.iter().filter(|(_, stores)| stores.contains(&self.store));
        let keys: BTreeSet<String> = of_objects.into_iter().chain(named.map(|(name, _)| name.to_lowercase())).collect();
        let known = stores::list(tx)?;
        keys.into_iter().map(|key| self.placement(tx, key, &known)).collect()
    }

    fn placement(
        &self,
        tx: &mut dyn Transaction,
        key: String,
        known: &[KnownStore],
    ) -> Result<Placement, RegistryError> {
        let found = self.placements.iter().find(|(name, _)| name.eq_ignore_ascii_case(&key));
        let Some((name, named)) = found else {
            return Ok(Placement { name: key.clone(), key, rest: Vec::new(), usable: Vec::new() });
        };
        let mut rest = Vec::new();
        for other in named.iter().filter(|other| **other != self.store) {
            if rows::retired_at(tx, other)?.is_none() {
                rest.push(other.clone());
            }
        }
        let is_usable = |name: &&String| {
            let known = known.iter().find(|known| known.name == **name && known.replacing.is_none());
            known.is_some_and(|known| self.usable.get(*name) == Some(&known.id))
        };
        let usable = rest.iter().filter(is_usable).cloned().collect();
        Ok(Placement { key, name: name.clone(), rest, usable })
    }
}

/// Why the stores that are left of a placement are too few.
fn too_few(placement: &Placement) -> String {
    let unusable: Vec<&str> =
        placement.rest.iter().filter(|name| !placement.usable.contains(name)).map(String::as_str).collect();
    if !unusable.is_empty() {
        return format!(
            "of the stores that would remain in use, {} cannot be used now: \"strongroom store list\" shows why",
            unusable.join(", ")
        );
    }
    match placement.usable.first() {
        None => "no store of it would remain in use: name another store in the settings of the placement, and \
                 fill it with \"strongroom store backfill NAME\""
            .to_owned(),
        Some(only) => format!(
            "only {only} would remain in use, and new objects would get one copy: name another store in the \
             settings of the placement, or say --allow-one-copy"
        ),
    }
}

/// Refuses a store that keeps no copies.
fn check_is_kept_in(home: &Home, store: &str) -> Result<(), EngineError> {
    home.store(store)?;
    let is_named = home.settings.preservation_stores().contains(&store);
    if is_named || home.registry.read(|tx| rows::holds_objects(tx, store))? {
        return Ok(());
    }
    Err(EngineError::Usage(format!(
        "{store} is not a preservation store: no placement names it, and no object is in it"
    ))
    .next("\"strongroom store list\" shows the stores and what they are for"))
}

/// Reports each object of a placement that lies in `store` and has no verified copies in `other`; how many there are.
fn unverified<E: From<EngineError>>(
    home: &Home,
    (placement, other): (&str, &str),
    store: &str,
    tell: &mut dyn FnMut(Unretired) -> Result<(), E>,
) -> Result<u64, E> {
    let list =
        |after, limit| home.registry.read(|tx| rows::unverified_objects(tx, (placement, other), store, after, limit));
    let mut objects = 0;
    for lacking in paging::rows(OBJECTS_AT_ONCE, |object: &Lacking| object.object, list) {
        let lacking = lacking.map_err(|error| E::from(error.into()))?;
        objects += 1;
        let mut reasons = Vec::new();
        if lacking.contents > 0 {
            reasons.push(format!("{} without a verified copy", counted(lacking.contents, "content", "contents")));
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
    Ok(objects)
}

/// Takes a retired store back into use. First its copies count as unverified, so that the next fixity round reads them;
/// what it lacks is brought by [`run`](super::run) or [`enqueue`](super::enqueue). What was cut short goes on where it
/// stopped.
///
/// # Errors
/// [`EngineError::Usage`] where it is not retired, or cannot be used.
pub fn use_again(home: &Home, store: &str) -> Result<(), EngineError> {
    if !home.is_retired(store)? {
        return Err(EngineError::Usage(format!("the store {store} is in use: it is not retired"))
            .next("\"strongroom store list\" shows which are retired"));
    }
    let mut state = home.access(store)?.try_now();
    if state.availability == Availability::Refused {
        // Older content is taken anew; anything else stays refused.
        take_anew(home, store)?;
        state = home.access(store)?.state();
    }
    if state.availability != Availability::Available {
        let reason = state.reason.unwrap_or_default();
        return Err(EngineError::Usage(format!("the store {store} stays retired, since it cannot be used: {reason}"))
            .next(format!("\"strongroom store check {store}\" says more of it")));
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
