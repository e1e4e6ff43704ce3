//! Where a registry stands to its stores: who it is, how many acts it has made there, and whether it is taking up what it
//! does not know. The stores keep marks of the same numbers; a mark that says more than the registry names acts that
//! are lost to it.

use serde::{Deserialize, Serialize};
use strongroom_database::{Statement, Transaction};
use uuid::Uuid;

use crate::{RegistryError, tenants};

const REGISTRY: &str = "registry";
const TERM: &str = "registry.term";
const ACTS: &str = "registry.acts";
const ADOPTION: &str = "registry.adoption";

/// Who a registry is and how far it has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RegistryEpoch {
    /// The registry, for as long as its record goes on; a backup of it has the same.
    pub registry: Uuid,
    /// Raised by each adoption: a process that works with the registry before it is distinguished by it.
    pub term: u64,
    /// Acts in the stores that were announced so far. An act is announced before it reaches a store.
    pub acts: u64,
}

/// An adoption that was begun and has not ended.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Adoption {
    /// Who is at it, as [`strongroom_queue::WorkerId`] writes it.
    pub holder: String,
    /// Until when no other process takes it over, unless the holder is known to be gone; microseconds since the epoch.
    pub until: i64,
    /// Stores that have to be walked before the registry may be written to.
    pub pending: Vec<String>,
}

/// Where the registry stands; none before its first act.
pub fn get(tx: &mut dyn Transaction) -> Result<Option<RegistryEpoch>, RegistryError> {
    Ok(read(tx)?.0)
}

/// Where the registry stands, and the adoption that is under way.
fn read(tx: &mut dyn Transaction) -> Result<(Option<RegistryEpoch>, Option<Adoption>), RegistryError> {
    let (mut registry, mut term, mut acts, mut under_way) = (None, 0, 0, None);
    let values = [REGISTRY.into(), TERM.into(), ACTS.into(), ADOPTION.into()];
    for row in tx.query(Statement("epoch.facts"), &values)? {
        let value = row.text("value")?;
        match row.text("name")? {
            REGISTRY => registry = Some(value.to_owned()),
            TERM => term = number(value)?,
            ACTS => acts = number(value)?,
            _ => under_way = parse_adoption(value)?,
        }
    }
    let epoch = match registry {
        None => None,
        Some(registry) => {
            let registry = Uuid::parse_str(&registry)
                .map_err(|_| RegistryError::Corrupt { wanted: "the identifier of the registry", found: registry })?;
            Some(RegistryEpoch { registry, term, acts })
        }
    };
    Ok((epoch, under_way))
}

/// Announces an act: whatever it does in a store is done after the store's mark says this number.
///
/// # Errors
/// [`RegistryError::State`] while what the stores know is being taken up.
pub fn announce(tx: &mut dyn Transaction) -> Result<RegistryEpoch, RegistryError> {
    tx.execute(Statement("epoch.raise"), &[ACTS.into()])?;
    let (epoch, adoption) = read(tx)?;
    if adoption.is_some_and(|adoption| !adoption.pending.is_empty()) {
        return Err(RegistryError::State {
            what: "registry",
            id: "of this data directory".into(),
            state: "importing what its stores have".into(),
            act: "change anything in them".into(),
        });
    }
    epoch.map_or_else(|| known(tx), Ok)
}

/// Where the registry stands, with an identifier made where it has none.
pub fn known(tx: &mut dyn Transaction) -> Result<RegistryEpoch, RegistryError> {
    if let Some(epoch) = get(tx)? {
        return Ok(epoch);
    }
    // Of several who come first, one gives it its name.
    tx.execute(Statement("epoch.name"), &[REGISTRY.into(), Uuid::now_v7().to_string().into()])?;
    get(tx)?.ok_or_else(|| RegistryError::NotFound { what: "registry", id: REGISTRY.into() })
}

/// The adoption that is under way.
pub fn adoption(tx: &mut dyn Transaction) -> Result<Option<Adoption>, RegistryError> {
    tenants::fact(tx, ADOPTION)?.map_or(Ok(None), |text| parse_adoption(&text))
}

fn parse_adoption(text: &str) -> Result<Option<Adoption>, RegistryError> {
    if text.is_empty() {
        return Ok(None);
    }
    let corrupt = |_| RegistryError::Corrupt { wanted: "an adoption", found: text.to_owned() };
    serde_json::from_str(text).map(Some).map_err(corrupt)
}

/// Notes how an adoption stands; none ends it.
pub fn set_adoption(tx: &mut dyn Transaction, adoption: Option<&Adoption>) -> Result<(), RegistryError> {
    let text = match adoption {
        Some(adoption) => serde_json::to_string(adoption)
            .map_err(|_| RegistryError::Corrupt { wanted: "an adoption", found: format!("{adoption:?}") })?,
        None => String::new(),
    };
    tenants::set_fact(tx, ADOPTION, &text)
}

/// Enters a new term above `term`: the caller that works with an older state of this registry is stopped by the marks.
pub fn enter_term(tx: &mut dyn Transaction, term: u64) -> Result<RegistryEpoch, RegistryError> {
    let epoch = known(tx)?;
    tenants::set_fact(tx, TERM, &(epoch.term.max(term) + 1).to_string())?;
    known(tx)
}

/// Counts every act up to `acts` as known.
pub fn catch_up(tx: &mut dyn Transaction, acts: u64) -> Result<RegistryEpoch, RegistryError> {
    if known(tx)?.acts < acts {
        tenants::set_fact(tx, ACTS, &acts.to_string())?;
    }
    known(tx)
}

fn number(text: &str) -> Result<u64, RegistryError> {
    text.parse().map_err(|_| RegistryError::Corrupt { wanted: "a number", found: text.to_owned() })
}
