//! Putting another store in the place of a lost one, or taking the same one anew when it came back with older content. The
//! registry first forgets what lay in the lost one, then takes the new one for the store of that name; what it lacks is copied like into a store that has joined a placement. In between
//! neither store is used, and what was cut short goes on where it stopped.

use std::path::Path;
use std::sync::Arc;

use strongroom_registry::stores::{self, KnownStore, LostCursor};
use strongroom_registry::{DeletionId, RegistryError, Transaction, deletions, epoch};
use strongroom_storage::Store;
use uuid::Uuid;

use crate::access::Availability;
use crate::event::Event;
use crate::settings::StoreSettings;
use crate::{EngineError, Home, crash_point, watermark};

/// Copies taken out of the registry in one transaction.
const COPIES_AT_ONCE: usize = 500;

/// What came of replacing a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replacement {
    /// The store that the registry knew; none where it had not recorded it.
    pub replaced: Option<Uuid>,
    /// The store that has its name now.
    pub id: Uuid,
    /// Contents of which no other store in use has a good copy.
    pub only_copies: u64,
}

/// Puts the store that lies in the place of `name` now, or a new one where none does, in the place of the one that the
/// registry knows. What it lacks is brought by [`run`](super::run) or [`enqueue`](super::enqueue).
///
/// # Errors
/// [`EngineError::Usage`] where the store that lies there is the one that the registry knows, or is another of its stores,
/// or belongs to another registry.
pub fn replace(home: &Home, name: &str) -> Result<Replacement, EngineError> {
    if home.is_retired(name)? {
        return Err(EngineError::Usage(format!("the store {name} is retired: it takes no copies"))
            .next(format!("\"strongroom store retire --undo {name}\" takes it back into use")));
    }
    put_in_place(home, name, false)
}

/// Takes a store anew that may be retired, where what lies in its place is older content of that very store.
pub(super) fn take_anew(home: &Home, name: &str) -> Result<Replacement, EngineError> {
    put_in_place(home, name, true)
}

fn put_in_place(home: &Home, name: &str, only_itself: bool) -> Result<Replacement, EngineError> {
    let access = home.access(name)?;
    let (new, id) = open_or_make(home, name, !only_itself)?;
    let known = home.registry.read(stores::list)?;
    let replaced = known.iter().find(|store| store.name == name);
    let found = watermark::read(new.as_ref())?;
    let epoch = home.registry.read(epoch::get)?;
    let is_behind = replaced.is_some_and(|known| {
        known.id == id && watermark::behind(&found, known, epoch.as_ref(), new.as_ref()).is_some()
    });
    let is_begun = replaced.is_some_and(|known| known.id == id && known.replacing == Some(id));
    if only_itself && !(is_behind || is_begun) {
        let reason = home.access(name)?.state().reason.unwrap_or_default();
        return Err(EngineError::Usage(format!("the store {name} stays retired, since it cannot be used: {reason}"))
            .next(format!("\"strongroom store check {name}\" says more of it")));
    }
    check(home, name, id, is_behind, &known)?;
    if let Some(reason) = watermark::contradiction(&found, epoch.as_ref()) {
        return Err(EngineError::Usage(format!("what is in the place of store {name} {reason}")).next(format!(
            "empty the place, or give the store another one, and run \"strongroom store replace {name}\" again"
        )));
    }
    write(home, name, move |tx, name| stores::begin_replacing(tx, name, id))?;
    crash_point("replace.begun");
    let only_copies = forget(home, name)?;
    // Other content may be there now than was removed before.
    let mut after = DeletionId(Uuid::nil());
    while let Some(last) =
        write(home, name, move |tx, name| deletions::reopen_in_store(tx, name, after, COPIES_AT_ONCE))?
    {
        after = last;
    }
    write(home, name, stores::end_replacing)?;
    Event::StoreReplaced { store: name, only_copies }.emit();
    let state = access.try_now();
    if state.availability != Availability::Available {
        let reason = state.reason.unwrap_or_default();
        return Err(EngineError::Usage(format!(
            "the registry knows store {name} as {id} now, and cannot use it: {reason}"
        ))
        .next(format!("\"strongroom store check {name}\" says more of it")));
    }
    let replaced = replaced.map(|store| store.id).filter(|replaced| *replaced != id);
    Ok(Replacement { replaced, id, only_copies })
}

/// The store that lies in the place of `name`, or one that is made there where that may be; with its id.
fn open_or_make(home: &Home, name: &str, may_make: bool) -> Result<(Arc<dyn Store>, Uuid), EngineError> {
    let settings = home.settings.stores.get(name);
    let settings = settings.ok_or_else(|| {
        EngineError::Usage(format!("the settings have no store {name}"))
            .next("\"strongroom store list\" shows those there are")
    })?;
    let store = match settings.open(name, &home.directory) {
        Ok(store) => store,
        Err(_) if may_make => make(settings, name, &home.directory)?,
        Err(error) => return Err(error.into()),
    };
    match store.id() {
        Some(id) => Ok((store, id)),
        None => Err(EngineError::Usage(format!("store {name} has no id to be recorded"))),
    }
}

/// Makes the place a store, and its folder first where it is one.
fn make(settings: &StoreSettings, name: &str, directory: &Path) -> Result<Arc<dyn Store>, EngineError> {
    settings.make_folder(directory).map_err(|source| EngineError::Io {
        act: "make the folder",
        path: settings.place(directory),
        source,
    })?;
    Ok(settings.create(name, directory)?)
}

/// Refuses a store that is one of the registry's already; the one of this name may be taken anew where its content is older
/// than what the registry has seen there.
fn check(home: &Home, name: &str, id: Uuid, is_behind: bool, known: &[KnownStore]) -> Result<(), EngineError> {
    let place = home.settings.stores.get(name).map(|store| store.place(&home.directory)).unwrap_or_default();
    let refused = known.iter().find_map(|store| match store {
        store if store.name != name && store.id == id && home.settings.stores.contains_key(&store.name) => {
            Some(format!("{place} holds the store {id}, which the registry knows as {}", store.name))
        }
        store if store.name == name && store.id == id && store.replacing.is_none() && !is_behind => Some(format!(
            "{place} holds the store {id}, which is the one that the registry knows as {name}: nothing is replaced; \
             \"strongroom store backfill {name}\" copies what it lacks, and \"strongroom fixity run --all --store {name}\" \
             checks and repairs what it has"
        )),
        _ => None,
    });
    refused.map_or(Ok(()), |reason| Err(EngineError::Usage(reason)))
}

/// Takes what lay in the lost store out of the registry; how many contents lie in no other store that can be relied on.
fn forget(home: &Home, name: &str) -> Result<u64, EngineError> {
    let refused: Vec<String> = home
        .store_states()
        .into_iter()
        .filter(|state| state.availability == Availability::Refused)
        .map(|state| state.store)
        .collect();
    let (mut cursor, mut only_copies) = (LostCursor::START, 0);
    while let Some((next, only)) = write(home, name, {
        let refused = refused.clone();
        move |tx, name| stores::lose_copies(tx, (name, &refused), cursor, COPIES_AT_ONCE)
    })? {
        cursor = next;
        only_copies += only;
        crash_point("replace.copies");
    }
    let mut cursor = LostCursor::START;
    while let Some(next) = write(home, name, {
        let refused = refused.clone();
        move |tx, name| stores::lose_object_copies(tx, (name, &refused), cursor, COPIES_AT_ONCE)
    })? {
        cursor = next;
    }
    Ok(only_copies)
}

fn write<T, F>(home: &Home, name: &str, mut act: F) -> Result<T, EngineError>
where
    T: Send + 'static,
    F: FnMut(&mut dyn Transaction, &str) -> Result<T, RegistryError> + Send + 'static,
{
    let name = name.to_owned();
    Ok(home.registry.write(move |tx| act(tx, &name))?)
}
