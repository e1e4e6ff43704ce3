//! The places that are watched: each institution's folder in the common receiving store, and the stores that the settings
//! name as one institution's own.

use std::sync::Arc;

use strongroom_registry::tenants::{self, Institution};
use strongroom_registry::{InstitutionId, Scope};
use strongroom_storage::{Key, StorageError, Store};

use crate::{EngineError, Home};

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
}

/// Every place of institutions that may deposit.
pub(super) fn places(home: &Home) -> Result<Vec<Place>, EngineError> {
    let mut places = Vec::new();
    let mut after = String::new();
    loop {
        let page = home.registry.read(|tx| tenants::institutions(tx, Scope::System, &after, PAGE))?;
        let Some(last) = page.last() else { return Ok(places) };
        after.clone_from(&last.identifier);
        for institution in page.iter().filter(|institution| institution.active) {
            let common = &home.settings.roles.receiving;
            let prefix = Key::new(institution.identifier.as_str()).map_err(StorageError::from)?;
            places.push(place(home, common, institution, prefix)?);
            let own = home.settings.institutions.get(&institution.identifier).map(|own| own.receiving.as_str());
            if let Some(own) = own.filter(|own| !own.is_empty()) {
                places.push(place(home, own, institution, Key::ROOT)?);
            }
        }
    }
}

fn place(home: &Home, store: &str, institution: &Institution, prefix: Key) -> Result<Place, EngineError> {
    Ok(Place {
        store_name: store.to_owned(),
        store: home.store(store)?.clone(),
        institution: institution.id,
        institution_identifier: institution.identifier.clone(),
        prefix,
    })
}
