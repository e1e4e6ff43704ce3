//! What the marks of stores say against the registry: that a store belongs to another one, or that either is an older state of
//! itself.

use strongroom_registry::epoch::{self, RegistryEpoch};
use strongroom_registry::stores::{self as registered, KnownStore};
use strongroom_registry::{Registry, RegistryError};
use strongroom_storage::{StorageError, Store};
use uuid::Uuid;

use super::{StoredWatermark, read, read_with_etag};
use crate::{EngineError, Home};

/// Refuses to go on where the store belongs to another registry.
pub(super) fn check(store: &dyn Store, found: &StoredWatermark, epoch: &RegistryEpoch) -> Result<(), EngineError> {
    match contradiction(found, Some(epoch)) {
        Some(reason) => Err(superseded(store, reason)),
        None => Ok(()),
    }
}

pub(super) fn superseded(store: &dyn Store, reason: impl Into<String>) -> EngineError {
    EngineError::Superseded { store: store.name().to_owned(), reason: reason.into() }
}

/// Reads the mark of a store in use. One that is older than the registry has seen it, or belongs to another of its stores,
/// shows that something else is in the place: the store is opened again, which shows what.
pub(super) fn read_current(home: &Home, store: &dyn Store) -> Result<(StoredWatermark, Option<String>), EngineError> {
    // The registry first: marks only rise.
    let (known, epoch) = home.registry.read(|tx| Ok::<_, RegistryError>((registered::list(tx)?, epoch::get(tx)?)))?;
    let (found, etag) = read_with_etag(store)?;
    let own = known.iter().find(|known| known.name == store.name());
    if let Some(reason) = own.and_then(|known| behind(&found, known, epoch.as_ref(), store)) {
        return Err(look_again(home, store, &reason));
    }
    let others =
        known.iter().filter(|other| other.name != store.name() && home.settings.stores.contains_key(&other.name));
    let others: Vec<Uuid> = others.map(|other| other.id).collect();
    if found.mark().and_then(|mark| mark.store).is_some_and(|id| others.contains(&id)) {
        return Err(look_again(home, store, "has the registry watermark of another store of this registry"));
    }
    if epoch.is_some_and(|epoch| found.mark().is_some_and(|mark| mark.is_by(&epoch) && mark.acts > epoch.acts)) {
        // Acts are announced before they are marked: by now the registry knows those of all who work with it. What it does
        // not know is an act of an earlier term, done late.
        let epoch = home.registry.read(epoch::get)?;
        if let Some(reason) = contradiction(&found, epoch.as_ref()) {
            return Err(superseded(store, reason));
        }
    }
    Ok((found, etag))
}

/// Stops using a store until it was opened anew and compared with the registry; the error for what was under way.
pub(super) fn look_again(home: &Home, store: &dyn Store, reason: &str) -> EngineError {
    let state = match home.access(store.name()) {
        Ok(access) => access.open_anew(),
        Err(error) => return error,
    };
    EngineError::Storage(StorageError::Away {
        store: store.name().to_owned(),
        reason: state.reason.unwrap_or_else(|| format!("it {reason}")),
    })
}

/// Why what lies in a store is older than what the registry has seen there; none where it is not.
pub(crate) fn behind(
    found: &StoredWatermark,
    known: &KnownStore,
    epoch: Option<&RegistryEpoch>,
    store: &dyn Store,
) -> Option<String> {
    let is_behind = match found {
        // Where puts have no conditions, a late put may put an earlier mark back.
        StoredWatermark::Watermark(mark) => {
            mark.revision < known.mark_revision
                && epoch.is_some_and(|epoch| epoch.registry == mark.registry)
                && store.capabilities().conditional_put
        }
        StoredWatermark::None => known.mark_revision > 0,
        StoredWatermark::Unreadable(_) => false,
    };
    is_behind.then(|| match found.mark() {
        Some(mark) => format!(
            "holds older content, such as a snapshot: its registry watermark has number {}, and the registry has \
             recorded number {} there",
            mark.revision, known.mark_revision
        ),
        None => format!(
            "has no registry watermark, and the registry has recorded number {} there: its content is gone, or older \
             content was put back",
            known.mark_revision
        ),
    })
}

/// Refuses to go on where a store in use belongs to another registry, or to a later state of this one.
pub(crate) fn check_epoch(home: &Home, store: &dyn Store) -> Result<(), EngineError> {
    let found = read_current(home, store)?.0;
    // The registry last: acts are announced before they are marked.
    match home.registry.read(epoch::get)? {
        Some(epoch) => check(store, &found, &epoch),
        None => Ok(()),
    }
}

/// What a mark says against a registry of this epoch (none: one that has kept nothing yet).
pub(crate) fn contradiction(found: &StoredWatermark, epoch: Option<&RegistryEpoch>) -> Option<String> {
    let mark = match found {
        StoredWatermark::None => return None,
        StoredWatermark::Watermark(mark) => mark,
        StoredWatermark::Unreadable(why) => {
            return Some(format!(
                "has a registry watermark that cannot be read \
                 ({why})"
            ));
        }
    };
    match epoch {
        Some(epoch) if epoch.registry == mark.registry => {
            if mark.term > epoch.term || mark.acts > epoch.acts {
                return Some(format!(
                    "holds acts up to number {} of term {}, and the registry knows them up to {} of term {}: it is an older \
                     state of itself",
                    mark.acts, mark.term, epoch.acts, epoch.term
                ));
            }
            None
        }
        _ => Some(format!("belongs to another registry, {}", mark.registry)),
    }
}

/// Why a registry may only be read beside these stores; none where it knows all that they tell.
pub(crate) fn refusal(registry: &Registry, stores: &[&dyn Store]) -> Result<Option<String>, EngineError> {
    // The marks first: an act that is announced in between is known to the registry by then.
    let mut found = Vec::with_capacity(stores.len());
    for store in stores {
        match read(*store) {
            Ok(mark) => found.push((store.name(), mark)),
            // It says nothing, and is asked when it comes back.
            Err(error) if error.is_away() => {}
            Err(error) => return Err(error.into()),
        }
    }
    let (epoch, adoption) = registry.read(|tx| Ok::<_, EngineError>((epoch::get(tx)?, epoch::adoption(tx)?)))?;
    let pending = adoption.map(|adoption| adoption.pending).unwrap_or_default();
    if !pending.is_empty() {
        return Ok(Some(format!(
            "the content of {} is being imported, and not all of it is imported yet",
            pending.join(", ")
        )));
    }
    let reasons: Vec<String> = found
        .iter()
        .filter_map(|(name, found)| Some(format!("store {name} {}", contradiction(found, epoch.as_ref())?)))
        .collect();
    Ok((!reasons.is_empty()).then(|| reasons.join("; ")))
}
