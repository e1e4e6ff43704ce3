//! Taking a store out of use. Nothing in it is deleted: it is no longer written, checked or counted.

use strongroom_registry::backfill as rows;
use strongroom_registry::{RegistryError, Time};

use super::OBJECTS_AT_ONCE;
use crate::{EngineError, Home};

/// What came of asking for a store to be taken out of use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Retirement {
    /// It is out of use since then.
    Retired(Time),
    /// It was before.
    Already(String),
    /// Objects lack verified copies elsewhere; nothing was changed.
    Refused {
        /// How many objects in stores lack copies.
        objects: u64,
    },
}

/// An object that would lack verified copies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unretired {
    /// `<institution>/<name>`; none where a whole placement has no other store.
    pub object: Option<String>,
    /// The store that lacks it.
    pub store: Option<String>,
    /// Why, in words.
    pub reason: String,
}

/// Takes a store out of use where every object in it has verified copies in every other store of its placement. Else
/// `tell` hears of each that has not.
pub fn retire<E: From<EngineError>>(
    home: &Home,
    store: &str,
    tell: &mut dyn FnMut(Unretired) -> Result<(), E>,
) -> Result<Retirement, E> {
    home.store(store)?;
    let read = |result: Result<_, RegistryError>| result.map_err(|error| E::from(error.into()));
    if let Some(since) = read(home.registry.read(|tx| rows::retired_at(tx, store)))? {
        return Ok(Retirement::Already(since));
    }
    let placements =
        home.registry.read(|tx| rows::placements_in_store(tx, store)).map_err(|error| E::from(error.into()))?;
    let mut objects = 0;
    // Also where nothing lies in it yet, the placements that name it need another store.
    let named = home.settings.placements.iter().filter(|(_, stores)| stores.iter().any(|name| name == store));
    let mut placements: Vec<String> =
        placements.into_iter().chain(named.map(|(name, _)| name.to_lowercase())).collect();
    placements.sort();
    placements.dedup();
    for placement in placements {
        let rest: Vec<String> = match home.placement(&placement) {
            Ok((_, stores)) => stores.into_iter().map(|(name, _)| name).filter(|name| name != store).collect(),
            Err(_) => Vec::new(),
        };
        if rest.is_empty() {
            objects += 1;
            let reason = format!("the placement {placement:?} has no other store in use");
            tell(Unretired { object: None, store: None, reason })?;
        }
        for other in rest {
            let mut after = None;
            loop {
                let page = home
                    .registry
                    .read(|tx| rows::unverified_objects(tx, (&placement, &other), store, after, OBJECTS_AT_ONCE))
                    .map_err(|error| E::from(error.into()))?;
                let Some(last) = page.last() else { break };
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
                        store: Some(other.clone()),
                        reason: reasons.join(", "),
                    })?;
                }
            }
        }
    }
    if objects > 0 {
        return Ok(Retirement::Refused { objects });
    }
    let name = store.to_owned();
    let since = home.registry.write(move |tx| rows::retire(tx, &name)).map_err(|error| E::from(error.into()))?;
    Ok(Retirement::Retired(since))
}
