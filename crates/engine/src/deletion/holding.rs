//! The stores in which a deletion is carried out, and what they report against it.

use std::time::SystemTime;

use jiff::Timestamp;
use strongroom_ocfl::{Object as StoredObject, OcflError};
use strongroom_registry::objects::Object;
use strongroom_registry::{RegistryError, Transaction};
use strongroom_storage::RemovalHold;

use super::tombstone::DeletionLog;
use crate::logs::object_root;
use crate::settings::Settings;
use crate::status;
use crate::workflow::{StageContext, StageError};

/// The stores in which a deletion is carried out: those that hold something of the object by the record, and the others of its placement.
pub(super) fn stores_of(
    tx: &mut dyn Transaction,
    settings: &Settings,
    object: &Object,
    holders: &[String],
) -> Result<Vec<String>, RegistryError> {
    let mut stores = holders.to_vec();
    #[cfg(feature = "failpoints")]
    if strongroom_registry::faults::is_put_back(strongroom_registry::faults::DELETION_OF_HOLDERS) {
        return Ok(stores);
    }
    stores.extend(status::stores_of(tx, settings, object)?.into_iter().filter(|store| !holders.contains(store)));
    Ok(stores)
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
