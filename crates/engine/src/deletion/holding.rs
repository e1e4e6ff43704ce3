//! The stores in which a deletion is carried out, and what they report against it.

use std::collections::BTreeSet;
use std::time::SystemTime;

use jiff::Timestamp;
use strongroom_ocfl::{Object as StoredObject, OcflError};
use strongroom_registry::faults;
use strongroom_registry::objects::Object;
use strongroom_storage::RemovalHold;

use super::tombstone::DeletionLog;
use crate::Home;
use crate::logs::object_root;
use crate::workflow::{StageContext, StageError};

/// The stores in which a deletion is carried out: those that hold something of the object by the record, and the others of its placement.
pub(super) fn stores_of(home: &Home, object: &Object, holders: &[String], retired: &BTreeSet<String>) -> Vec<String> {
    let mut stores = holders.to_vec();
    let Some(placement) = object.description.placement.as_deref() else { return stores };
    if faults::is_put_back(faults::DELETION_OF_HOLDERS) {
        return stores;
    }
    let mut placements = home.settings.placements.iter();
    let placed = placements.find(|(name, _)| name.eq_ignore_ascii_case(placement)).map(|(_, stores)| stores);
    let is_new = |store: &&String| !retired.contains(*store) && !holders.contains(store);
    stores.extend(placed.into_iter().flatten().filter(is_new).cloned());
    stores
}

/// What stores report against the removal, where they are there: retention dates and legal holds of a service.
pub(super) fn held_by_stores(
    context: &StageContext<'_>,
    (object, stores): (&Object, &[String]),
    log: &DeletionLog,
) -> Result<Option<String>, StageError> {
    let mut held = Vec::new();
    let mut stopped = None;
    for name in stores {
        let Some(store) = context.home.stores.get(name) else { continue };
        let root = object_root(&object.institution_identifier, object.generation)?;
        let in_store = StoredObject::new(store.as_ref(), root.clone());
        let mut go_on = || {
            context.task.check().map_err(|reason| {
                stopped = Some(reason);
                OcflError::Purge { store: name.clone(), key: root.clone(), reason: "it stops".to_owned() }
            })
        };
        match log.plan.removal_hold(&in_store, &mut go_on) {
            Ok(Some(hold)) if hold.forbids_at(SystemTime::now()) => held.push(words_of(name, &hold)),
            Ok(_) => {}
            // What it reports when it is back keeps the deletion from being carried out there.
            Err(OcflError::Storage(error)) if error.away().is_some() => {}
            Err(error) => match stopped.take() {
                Some(reason) => return Err(reason.into()),
                None => return Err(error.into()),
            },
        }
    }
    Ok((!held.is_empty()).then(|| held.join("; ")))
}

fn words_of(store: &str, hold: &RemovalHold) -> String {
    let until = hold.retention.and_then(|retention| Timestamp::try_from(retention.until).ok());
    let why = match (hold.has_legal_hold, until) {
        (true, _) => "has a legal hold".to_owned(),
        (false, Some(until)) => format!("is retained until {until}"),
        (false, None) => "is retained".to_owned(),
    };
    format!("in store {store} {} {why} by the service", hold.key)
}
