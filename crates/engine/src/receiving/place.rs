//! The places that are watched: each institution's folder in the common receiving store, and the stores that the settings
//! name as one institution's own.

use std::collections::BTreeMap;
use std::sync::Arc;

use strongroom_registry::tenants::{self, Collection, Institution};
use strongroom_registry::{InstitutionId, RegistryError, Scope, Transaction};
use strongroom_storage::{Key, StorageError, Store};

use crate::{EngineError, Home, paging};

const PAGE: usize = 1_000;

/// Where one institution's uploads lie.
pub(super) struct Place {
    /// The store's name in the settings.
    pub(super) store_name: String,
    pub(super) store: Arc<dyn Store>,
    pub(super) institution: InstitutionId,
    pub(super) institution_identifier: String,
    /// What all keys of the place have before them; the root for an own store.
    pub(super) prefix: Key,
    /// The institution's collections by their short names, also those that were removed.
    pub(super) collections: BTreeMap<String, Collection>,
    /// The collection of uploads that name none, by the settings.
    pub(super) default_collection: Option<String>,
}

impl Place {
    /// What stands before the name of an upload in its key.
    pub(super) fn beginning(&self) -> String {
        if self.prefix.is_root() { String::new() } else { format!("{}/", self.prefix) }
    }

    /// What comes behind every key of the place.
    pub(super) fn end(&self) -> String {
        // '0' is the character after '/'.
        if self.prefix.is_root() { "\u{10ffff}".to_owned() } else { format!("{}0", self.prefix) }
    }

    /// The collection that an upload of this key names: the folder between the top of the place and the upload; else that of
    /// the settings.
    pub(super) fn collection_of<'a>(&'a self, key: &'a str) -> Option<&'a str> {
        let name = key.strip_prefix(&self.beginning()).unwrap_or(key);
        let folder = name.split_once('/').filter(|(_, rest)| !rest.is_empty()).map(|(folder, _)| folder);
        folder.or(self.default_collection.as_deref())
    }

    /// Whether an upload of this key may be taken in now, as far as its collection is concerned.
    pub(super) fn takes(&self, key: &str) -> bool {
        let named = self.collection_of(key).map(|name| self.collections.get(name));
        named.is_none_or(|found| found.is_some_and(|collection| collection.active))
    }
}

/// The collection of an upload, as the registry has it now, or why it takes none.
pub(super) fn open_collection(
    tx: &mut dyn Transaction,
    institution: InstitutionId,
    named: Option<&str>,
) -> Result<Result<Option<Collection>, String>, RegistryError> {
    let Some(name) = named else { return Ok(Ok(None)) };
    Ok(match tenants::collection(tx, Scope::System, institution, name)? {
        Some(collection) if collection.active => Ok(Some(collection)),
        Some(_) => Err(format!("the collection {name} was removed and takes no deposits; put it elsewhere")),
        None => {
            let owner = tenants::institution_by_id(tx, Scope::System, institution)?
                .map(|one| one.identifier)
                .unwrap_or_default();
            Err(format!(
                "there is no collection {name}, which the settings name for its institution; next: strongroom collection \
                 add {name} --institution {owner}"
            ))
        }
    })
}

/// Every place of institutions that may deposit.
pub(super) fn places(home: &Home) -> Result<Vec<Place>, EngineError> {
    let mut places = Vec::new();
    let list = |after: Option<String>, limit| {
        let after = after.unwrap_or_default();
        home.registry.read(|tx| tenants::institutions(tx, Scope::System, &after, limit))
    };
    for institution in paging::rows(PAGE, |institution: &Institution| institution.identifier.clone(), list) {
        let institution = institution?;
        if !institution.active {
            continue;
        }
        let common = &home.settings.roles.receiving;
        let prefix = Key::new(institution.identifier.as_str()).map_err(StorageError::from)?;
        places.push(place(home, common, &institution, prefix)?);
        let own = home.settings.institutions.get(&institution.identifier).map(|own| own.receiving.as_str());
        if let Some(own) = own.filter(|own| !own.is_empty()) {
            places.push(place(home, own, &institution, Key::ROOT)?);
        }
    }
    Ok(places)
}

fn place(home: &Home, store: &str, institution: &Institution, prefix: Key) -> Result<Place, EngineError> {
    let collections = home.registry.read(|tx| tenants::collections_of(tx, institution.id))?;
    let own = home.settings.institutions.get(&institution.identifier);
    Ok(Place {
        collections: collections.into_iter().map(|one| (one.identifier.clone(), one)).collect(),
        default_collection: own.map(|own| own.collection.clone()).filter(|name| !name.is_empty()),
        store_name: store.to_owned(),
        store: home.store(store)?.clone(),
        institution: institution.id,
        institution_identifier: institution.identifier.clone(),
        prefix,
    })
}
