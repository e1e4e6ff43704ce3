//! What declares the storage root of an institution in a store: the declaration, the layout file and the layout's
//! configuration. They are checked when an object below them is due, once in a round for each storage root and store. They
//! say the same everywhere, so what is missing or differs is put back from what this program writes, after the bad bytes are
//! kept as evidence. No lease is needed: a file is replaced only where the store still holds what was found.

use std::collections::BTreeSet;

use strongroom_digest::{Algorithm, hash_reader};
use strongroom_ocfl::{OcflError, RootFault, StorageRoot};
use strongroom_registry::events::{self, EventRow};
use strongroom_registry::fixity::{self as record, Finding, NewFinding};
use strongroom_registry::journal::Actor;
use strongroom_registry::{
    EventId, FindingId, FindingKind, FindingState, InstitutionId, ObjectId, RegistryError, Time, Transaction, backfill,
};
use strongroom_storage::{Key, PutOptions, StorageError, Store};

use super::now;
use super::repair::RepairOutcome;
use crate::event::Event;
use crate::hold::OperationError;
use crate::home::storage_root;
use crate::{AGENT, EngineError, Home};

/// The storage root of an institution in a store.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Root<'a> {
    pub(crate) store: &'a str,
    pub(crate) institution: InstitutionId,
    /// The institution's domain name.
    pub(crate) identifier: &'a str,
}

/// Findings of a storage root are of no object: they name the institution in its place.
pub(crate) fn owner(institution: InstitutionId) -> ObjectId {
    ObjectId(institution.0)
}

/// Whether a finding is of a storage root.
pub(super) fn is_of_root(finding: &Finding) -> bool {
    finding.object == owner(finding.institution)
}

/// Checks a storage root that was last checked by `before`, and puts back what is wrong; none where it is fresh.
pub(super) fn check(
    home: &Home,
    root: Root<'_>,
    actor: Option<&Actor>,
    before: Time,
) -> Result<Option<RepairOutcome>, OperationError> {
    let key = (root.store.to_owned(), root.institution);
    if home.checked_roots().get(&key).is_some_and(|checked_at| *checked_at > before) {
        return Ok(None);
    }
    let treated = treat(home, root, actor)?;
    home.checked_roots().insert(key, now(home)?);
    Ok(Some(treated))
}

/// The storage root of an institution in a store, made where nothing lies there yet; what is lacking of its declaration
/// although objects lie there is put back first, and what was found wrong of it before is closed.
pub(crate) fn open<'s>(home: &Home, root: Root<'_>, store: &'s dyn Store) -> Result<StorageRoot<'s>, OperationError> {
    open_known(home, root, store, &|| {
        Ok(home.registry.read(|tx| record::unsolved(tx, owner(root.institution), root.store, None))?.is_some())
    })
}

/// The same, where `is_found_wrong` knows whether something was found wrong of its declaration that is not solved.
pub(crate) fn open_known<'s>(
    home: &Home,
    root: Root<'_>,
    store: &'s dyn Store,
    is_found_wrong: &dyn Fn() -> Result<bool, OperationError>,
) -> Result<StorageRoot<'s>, OperationError> {
    let prefix = storage_root(root.identifier)?;
    store.check_identity()?;
    let opened = match StorageRoot::init(store, &prefix) {
        Err(OcflError::Root { .. }) => {
            treat(home, root, None)?;
            return Ok(StorageRoot::init(store, &prefix)?);
        }
        outcome => outcome?,
    };
    if is_found_wrong()? {
        treat(home, root, None)?;
    }
    Ok(opened)
}

/// The stores that are out of use, and those in which the storage root of an institution was found wrong, and it is not solved.
pub(crate) fn retired_and_wrong_in(
    tx: &mut dyn Transaction,
    institution: InstitutionId,
) -> Result<(BTreeSet<String>, BTreeSet<String>), RegistryError> {
    backfill::retired_and_found_wrong(tx, owner(institution))
}

/// Checks a storage root now, and puts back what is wrong, on behalf of an actor.
pub(crate) fn treat(home: &Home, root: Root<'_>, actor: Option<&Actor>) -> Result<RepairOutcome, OperationError> {
    let store = home.store(root.store)?.as_ref();
    let prefix = storage_root(root.identifier)?;
    let faults = StorageRoot::faults(store, &prefix)?;
    let unsolved = home.registry.read(|tx| record::unsolved(tx, owner(root.institution), root.store, None))?;
    let case = Case { home, root, store, prefix, actor };
    if faults.is_empty() {
        if let Some(finding) = unsolved {
            case.close(finding.id, "the storage root is declared as it should be again", &[])?;
        }
        return Ok(RepairOutcome::Right);
    }
    case.repair(unsolved.map_or_else(FindingId::new, |finding| finding.id), &faults)
}

struct Case<'a> {
    home: &'a Home,
    root: Root<'a>,
    store: &'a dyn Store,
    prefix: Key,
    actor: Option<&'a Actor>,
}

impl Case<'_> {
    /// The storage root in words; its key is the domain name of the institution.
    fn name(&self) -> String {
        format!("the storage root of {}", self.root.identifier)
    }

    fn repair(&self, id: FindingId, faults: &[RootFault]) -> Result<RepairOutcome, OperationError> {
        let words: Vec<String> = faults
            .iter()
            .map(|fault| format!("{} {}", fault.name, if fault.found.is_some() { "differs" } else { "is missing" }))
            .collect();
        let words = words.join(", ");
        self.store.check_identity()?;
        self.open(id, &words)?;
        let mut kept = Vec::new();
        for fault in faults {
            if let Some(found) = &fault.found {
                kept.push(self.quarantine(id, fault, found)?);
            }
            StorageRoot::restore(self.store, &self.prefix, fault)?;
        }
        self.store.sync()?;
        if let Some(fault) = StorageRoot::faults(self.store, &self.prefix)?.first() {
            let reason = format!("{} was put and does not read back as it was put", fault.name);
            return Err(StorageError::Unusable { store: self.store.name().to_owned(), reason }.into());
        }
        let detail = format!("{} in store {}: {words}; put back and read back", self.name(), self.root.store);
        self.close(id, &detail, &kept)?;
        Event::DamageTreated { repaired: true, detail: &detail }.emit();
        Ok(RepairOutcome::Repaired)
    }

    fn event(
        &self,
        kind: &str,
        outcome: &str,
        detail: String,
        outcome_detail: String,
    ) -> Result<EventRow, OperationError> {
        Ok(EventRow {
            id: EventId::new(),
            institution: self.root.institution,
            object: None,
            file: None,
            content: None,
            item: None,
            version: None,
            kind: kind.into(),
            components: None,
            time: now(self.home)?.0,
            outcome: outcome.into(),
            detail: Some(detail),
            outcome_detail: Some(outcome_detail),
            store: Some(self.root.store.to_owned()),
            agent: AGENT.into(),
            actor: self.actor.cloned(),
        })
    }

    fn open(&self, id: FindingId, words: &str) -> Result<(), OperationError> {
        let detail = format!("declaration and layout of {} in store {}", self.name(), self.root.store);
        let event = self.event("fixity check", "failure", detail, words.to_owned())?;
        let finding = NewFinding {
            id,
            institution: self.root.institution,
            object: owner(self.root.institution),
            content: None,
            store: self.root.store.to_owned(),
            key: self.prefix.to_string(),
            kind: FindingKind::Inventory,
            detail: words.to_owned(),
        };
        self.home.registry.write(move |tx| {
            record::open_finding(tx, &finding)?;
            events::append(tx, std::slice::from_ref(&event))
        })?;
        let detail = format!("{}: {words}", self.name());
        Event::DamageFound { store: self.root.store, key: self.prefix.as_str(), detail: &detail }.emit();
        Ok(())
    }

    /// Keeps what lay there instead.
    fn quarantine(&self, id: FindingId, fault: &RootFault, found: &[u8]) -> Result<String, OperationError> {
        let digests = hash_reader(found, &[Algorithm::Sha512]).map(|(_, digests)| digests);
        let sha512 = digests.ok().and_then(|digests| digests.get(Algorithm::Sha512));
        let sha512 = sha512.ok_or_else(|| EngineError::Usage("sha512 was not computed".into()))?;
        let to = self.home.roles.quarantine.as_ref();
        let key = Key::new(format!("{}/{id}/{sha512}", self.root.identifier)).map_err(StorageError::from)?;
        let options = PutOptions {
            digest: Some((Algorithm::Sha512, sha512)),
            size: Some(found.len() as u64),
            ..PutOptions::default()
        };
        to.put(&key, &mut &*found, &options)?;
        let detail = format!(
            "the bytes found as {}/{} in store {} are kept in store {}",
            self.prefix,
            fault.name,
            self.root.store,
            to.name()
        );
        let mut event = self.event("quarantine", "success", detail, format!("{key} sha512:{sha512}"))?;
        // The same bytes are kept once for a finding, however often it is checked.
        event.id = events::derived_id(id.0, key.as_str());
        let text = key.to_string();
        self.home.registry.write(move |tx| {
            record::set_quarantined(tx, id, &text)?;
            events::append(tx, std::slice::from_ref(&event))
        })?;
        Ok(key.to_string())
    }

    fn close(&self, id: FindingId, detail: &str, kept: &[String]) -> Result<(), OperationError> {
        let evidence =
            if kept.is_empty() { String::new() } else { format!("; corrupt bytes kept as {}", kept.join(", ")) };
        let detail = format!("{detail}{evidence}");
        let event = self.event("recovery", "success", detail.clone(), "as this program writes it".into())?;
        self.home.registry.write(move |tx| {
            events::append(tx, std::slice::from_ref(&event))?;
            record::close_finding(tx, id, FindingState::Repaired, &detail)?;
            Ok::<_, RegistryError>(())
        })?;
        Ok(())
    }
}
