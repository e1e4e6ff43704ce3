//! Whether two stores of the settings are one place. Two copies in one place are one copy, and a store within another one
//! would take the other's files for its own, so neither is opened. Compared are the real places, which need no store to
//! answer, and the ids that lie in the stores themselves.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::path::Path;

use strongroom_registry::Scope;
use strongroom_storage::{FolderLocation, Overlap};
use uuid::Uuid;

use crate::EngineError;
use crate::settings::{Location, Settings, elsewhere, plain_elsewhere, shared_place};

/// Refuses a path of the server to who acts for one institution: such a caller could have any file read, or written over.
pub(crate) fn check_may_name(scope: Scope, path: impl Display, next: &str) -> Result<(), EngineError> {
    match scope {
        Scope::System => Ok(()),
        Scope::Institution(_) => {
            Err(EngineError::Refused(format!("{path} is a path of the server, and the actor acts for one institution"))
                .next(next))
        }
    }
}

/// Refuses a path in the folder of a store: what is put there would pass for something of the store's.
pub(crate) fn check_outside_stores(
    settings: &Settings,
    home: &Path,
    path: &Path,
    next: &str,
) -> Result<(), EngineError> {
    let wanted = FolderLocation::of(path);
    let found =
        overlapping(settings, home, &wanted).find(|(_, _, overlap)| matches!(overlap, Overlap::Same | Overlap::Within));
    let Some((name, place, _)) = found else { return Ok(()) };
    let text = format!("{} is in the folder of store {name}, {}", path.display(), place.path().display());
    Err(EngineError::Usage(text).next(next))
}

/// Two stores that are not apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    /// The store that comes later in the settings' order: the one to be changed.
    pub store: String,
    /// The other store.
    pub other: String,
    /// What is wrong, where, and what to change.
    pub reason: String,
}

impl Conflict {
    /// Whether it is about the store of this name.
    pub fn names(&self, store: &str) -> bool {
        self.store == store || self.other == store
    }
}

/// Every pair of stores whose real places are one, or one within the other.
pub fn conflicts(settings: &Settings, home: &Path) -> Vec<Conflict> {
    let plain = settings.plain_stores.iter().map(|(name, store)| (name.as_str(), store.location(home)));
    let places: Vec<(&str, Location)> =
        settings.stores.iter().map(|(name, store)| (name.as_str(), store.location(home))).chain(plain).collect();
    let mut found = Vec::new();
    for (index, (store, place)) in places.iter().enumerate() {
        for (other, other_place) in places.iter().take(index) {
            if let Some(overlap) = place.overlap(other_place) {
                found.push(conflict(settings, home, (store, other), &shared_place(store, other, overlap)));
            }
        }
    }
    found
}

/// Pairs of opened stores that hold one id: one is another path to the other, or a copy of it.
pub fn same_ids<'s>(
    settings: &Settings,
    home: &Path,
    ids: impl IntoIterator<Item = (&'s str, Option<Uuid>)>,
) -> Vec<Conflict> {
    let mut known: BTreeMap<Uuid, &str> = BTreeMap::new();
    let mut found = Vec::new();
    for (store, id) in ids {
        let Some(id) = id else { continue };
        if let Some(other) = known.get(&id) {
            let what = format!("{}; both hold the store id {id}", shared_place(store, other, Overlap::Same));
            found.push(conflict(settings, home, (store, other), &what));
        } else {
            known.insert(id, store);
        }
    }
    found
}

/// The folder stores that a folder overlaps with: their names, where they are, and how.
pub(crate) fn overlapping<'s>(
    settings: &'s Settings,
    home: &Path,
    folder: &FolderLocation,
) -> impl Iterator<Item = (&'s str, FolderLocation, Overlap)> {
    settings.stores.iter().filter_map(|(name, store)| {
        let Location::Folder(place) = store.location(home) else { return None };
        let overlap = folder.overlap(&place)?;
        Some((name.as_str(), place, overlap))
    })
}

fn conflict(settings: &Settings, home: &Path, (store, other): (&str, &str), what: &str) -> Conflict {
    let plain = |name: &str| settings.plain_stores.get(name);
    let place = |name: &str| match (settings.stores.get(name), plain(name)) {
        (Some(store), _) => store.place(home),
        (None, plain) => plain.map(|store| store.place(home)).unwrap_or_default(),
    };
    let next = match (settings.stores.get(store), plain(store)) {
        (Some(found), _) => elsewhere(store, found),
        (None, plain) => plain.map(|found| plain_elsewhere(store, found)).unwrap_or_default(),
    };
    let reason = format!(
        "{what} ({store}: {}, {}; {other}: {}, {}); {next}",
        place(store),
        use_of(settings, store),
        place(other),
        use_of(settings, other),
    );
    Conflict { store: store.to_owned(), other: other.to_owned(), reason }
}

/// What a store is for, for people.
fn use_of(settings: &Settings, store: &str) -> String {
    if let Some((role, _)) = settings.roles.named().iter().find(|(_, name)| *name == store) {
        return (*role).to_owned();
    }
    if settings.is_restoration_store(store) {
        return "restoration".to_owned();
    }
    if settings.plain_stores.contains_key(store) {
        return "plain store".to_owned();
    }
    if settings.preservation_stores().contains(&store) { "preservation".to_owned() } else { "no role".to_owned() }
}

/// Refuses settings of which two stores are in one place.
pub(crate) fn check(settings: &Settings, home: &Path) -> Result<(), EngineError> {
    first(conflicts(settings, home))
}

/// Refuses opened stores of which two hold one id.
pub(crate) fn check_ids<'s>(
    settings: &Settings,
    home: &Path,
    ids: impl IntoIterator<Item = (&'s str, Option<Uuid>)>,
) -> Result<(), EngineError> {
    first(same_ids(settings, home, ids))
}

fn first(conflicts: Vec<Conflict>) -> Result<(), EngineError> {
    conflicts.into_iter().next().map_or(Ok(()), |conflict| Err(EngineError::Settings(conflict.reason)))
}
