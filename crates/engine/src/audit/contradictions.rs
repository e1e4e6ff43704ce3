//! Ranges of stores that contradict each other. People resolve them: they move the files of one out of its store.

use std::collections::BTreeSet;

use strongroom_audit::Sha256;
use strongroom_registry::audit as rows;
use strongroom_registry::audit_imports::{self as imports, Contradiction};
use strongroom_registry::tenants;

use super::candidates::small;
use super::import::import_chain;
use super::keys::own_fingerprint;
use super::{entries_key, head_key};
use crate::{EngineError, Home};

/// The fact that says by which key contradictions were left undecided last.
const UNDECIDED_BY: &str = "audit.undecided_by";

/// Those that are not resolved and concern files of a store, as an error.
pub(super) fn in_store(home: &Home, store: &str) -> Result<(), EngineError> {
    let mut found = home.registry.read(imports::contradictions)?;
    found.retain(|found| found.store == store);
    if found.is_empty() { Ok(()) } else { Err(EngineError::Refused(text(&found))) }
}

/// Imports again the chains of which a contradiction was resolved, or may be by what the settings say now.
///
/// # Errors
/// There are contradictions that are not resolved.
pub(super) fn check(home: &Home) -> Result<(), EngineError> {
    let known = home.registry.read(imports::contradictions)?;
    let key = own_fingerprint(home).or_else(|| home.settings.audit.signing_key.clone()).unwrap_or_default();
    let is_by_this_key = home.registry.read(|tx| tenants::fact(tx, UNDECIDED_BY))?.is_some_and(|fact| fact == key);
    let mut resolved = BTreeSet::new();
    for found in &known {
        let may_be_decided = !found.is_decided && !is_by_this_key;
        if may_be_decided || !is_open(home, found)? {
            resolved.insert(found.chain.clone());
        }
    }
    for chain in resolved {
        import_chain(home, &chain, &mut Vec::new())?;
    }
    if !known.is_empty() && !is_by_this_key {
        home.registry.write(move |tx| tenants::set_fact(tx, UNDECIDED_BY, &key))?;
    }
    let open = if known.is_empty() { known } else { home.registry.read(imports::contradictions)? };
    if open.is_empty() {
        return Ok(());
    }
    Err(EngineError::Refused(text(&open)).next(
        "compare these stores with heads that others have received (\"strongroom audit verify\"), move the entries and heads that are not of \
         the chain out of the stores by hand and keep them, or set audit.signing_key to the key of the chain where it has none here (\"none\" where the key is lost), then \"strongroom background run audit\"",
    ))
}

/// Chains of which nothing is published, because it is not decided which store is right.
pub(super) fn undecided(home: &Home) -> Result<BTreeSet<String>, EngineError> {
    let found = home.registry.read(imports::contradictions)?;
    Ok(found.into_iter().filter(|found| !found.is_decided).map(|found| found.chain).collect())
}

/// Whether the files are still in the store. Those of a store that is away are.
pub(super) fn is_open(home: &Home, found: &Contradiction) -> Result<bool, EngineError> {
    let Some(store) = home.stores.get(&found.store) else { return Ok(false) };
    if home.is_retired(store.name())? {
        return Ok(false);
    }
    if home.away(store.name()).is_some() {
        return Ok(true);
    }
    let before = found.last.saturating_sub(1);
    let own = home.registry.read(|tx| rows::ranges(tx, &found.chain, before, 1))?.into_iter().next();
    let own = own.filter(|own| own.last == found.last);
    // The head of the range that the chain has there stays.
    let is_of_own = own.as_ref().is_some_and(|own| Sha256::of(own.head.as_bytes()).0 == found.head);
    let head = small(store.as_ref(), &head_key(&found.chain, found.last)?)?;
    if !is_of_own && head.is_some_and(|head| Sha256::of(&head).0 == found.head) {
        return Ok(true);
    }
    let own = own.map(|own| super::publish::head_of(&own)).transpose()?;
    if own.is_some_and(|own| own.range().first == found.first) {
        // The name of a file of the chain itself: what it has is compared where the range is put into the store.
        return Ok(false);
    }
    match store.head(&entries_key(&found.chain, found.first, found.last)?) {
        Ok(_) => Ok(true),
        Err(error) if error.is_absent() => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// What contradicts, in words.
pub(super) fn text(found: &[Contradiction]) -> String {
    let named = |found: &Contradiction| {
        let Contradiction { first, last, store, .. } = found;
        if first == last {
            format!("entry {last} in store {store}")
        } else {
            format!("entries {first} to {last} in store {store}")
        }
    };
    let mut chains: Vec<&str> = found.iter().map(|found| found.chain.as_str()).collect();
    chains.dedup();
    let texts = chains.into_iter().map(|chain| {
        let of = |is_decided: bool| -> Vec<String> {
            let found = found.iter().filter(|found| found.chain == chain && found.is_decided == is_decided);
            found.map(named).collect()
        };
        let (undecided, decided) = (of(false), of(true));
        let mut said = Vec::new();
        if !undecided.is_empty() {
            said.push(format!(
                "stores contradict each other about the audit chain {chain}, or have a range that is not signed by its key; nothing of it is \
                 published until that is resolved: {}",
                undecided.join(", ")
            ));
        }
        if !decided.is_empty() {
            let files = decided.join(", ");
            said.push(format!(
                "files of entries or heads are not of the audit chain {chain}, which has others there or no head that holds: {files}"
            ));
        }
        said.join("; ")
    });
    texts.collect::<Vec<_>>().join("; ")
}
