//! What the registry knows of the state of an object's copies: whether each content has a verified copy in each store where
//! it belongs, and what was found wrong. Only contents of published versions count.

use strongroom_database::{Row, Statement, Time, Transaction, Value};

use crate::counted;
use crate::objects::Object;
use crate::{CopyState, FindingKind, GenerationId, Health, ObjectId, ObjectState, RegistryError, UploadState};

/// Why an object is not whole in these stores, by the registry alone; `None` where every published content has a verified
/// copy in state `kept` in each store, the object's inventories are `kept` there, and no finding is open.
pub fn shortfall(
    tx: &mut dyn Transaction,
    object: &Object,
    stores: &[String],
) -> Result<Option<String>, RegistryError> {
    if object.state != ObjectState::Active || object.head == 0 {
        return Ok(Some(format!("the object is {}", object.state)));
    }
    let found = tx.query_one(Statement("health.unsolved_of_object"), &[object.id.into()])?;
    let findings = found.map_or(Ok(0), |row| row.count("findings"))?;
    if findings > 0 {
        return Ok(Some(counted(findings, "finding of damage is open", "findings of damage are open")));
    }
    for store in stores {
        let state = object_copy(tx, object.id, object.generation, store)?;
        if state != Some(CopyState::Kept) {
            let state = state.map_or("not recorded", CopyState::as_str);
            return Ok(Some(format!("its inventories in store {store} are {state}")));
        }
        let values = [object.id.into(), object.generation.into(), object.head.into(), store.into()];
        let unkept = tx.query_one(Statement("health.unkept"), &values)?.map_or(Ok(0), |row| row.count("contents"))?;
        if unkept > 0 {
            return Ok(Some(format!(
                "{} no verified copy in store {store}",
                counted(unkept, "of its contents has", "of its contents have")
            )));
        }
    }
    Ok(None)
}

/// The state of an object's copies in the stores of its placement; `None` for an object that is not kept. Where the stores
/// are not known it is never said to be whole.
pub fn of(tx: &mut dyn Transaction, object: &Object, stores: &[String]) -> Result<Option<Health>, RegistryError> {
    if object.state != ObjectState::Active || object.head == 0 {
        return Ok(None);
    }
    if !stores.is_empty() && shortfall(tx, object, stores)?.is_none() {
        return Ok(Some(Health::Whole));
    }
    let of_object: [Value; 3] = [object.id.into(), object.generation.into(), object.head.into()];
    let [mut damaged, mut missing] = [false, false];
    if let Some(row) = tx.query_one(Statement("health.wrong"), &of_object)? {
        damaged = row.bool("has_damage_findings")?
            || row.bool("has_damaged_object_copies")?
            || row.bool("has_damaged_copies")?;
        missing = row.bool("has_missing_findings")?
            || row.bool("has_missing_object_copies")?
            || row.bool("has_missing_copies")?;
    }
    for store in stores {
        if damaged || missing {
            break;
        }
        let [object_id, generation, head] = of_object.clone();
        let absent = tx.query_one(Statement("health.absent"), &[object_id, generation, head, store.into()])?;
        missing = absent.map_or(Ok(0), |row| row.count("contents"))? > 0
            || object_copy(tx, object.id, object.generation, store)?.is_none();
    }
    Ok(Some(match (damaged, missing) {
        (true, _) => Health::Damaged,
        (false, true) => Health::MissingCopies,
        (false, false) => Health::Unverified,
    }))
}

/// Findings that are not repaired, in one store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenFindings {
    /// The store.
    pub store: String,
    /// What is wrong.
    pub kind: FindingKind,
    /// How many.
    pub findings: u64,
}

/// Findings that are not repaired, by store and kind.
pub fn open_findings(tx: &mut dyn Transaction) -> Result<Vec<OpenFindings>, RegistryError> {
    let rows = tx.query(Statement("health.open_by_store"), &[])?;
    let read = |row: &Row| {
        Ok(OpenFindings {
            store: row.text("store")?.to_owned(),
            kind: row.text("kind")?.parse()?,
            findings: row.count("findings")?,
        })
    };
    rows.iter().map(read).collect()
}

/// When the copy in a store that waits longest was last inspected; `None` where the store has no copies.
pub fn oldest_check(tx: &mut dyn Transaction, store: &str) -> Result<Option<Time>, RegistryError> {
    let row = tx.query_one(Statement("health.oldest_check"), &[store.into()])?;
    Ok(row.map_or(Ok(None), |row| row.optional_time("oldest_checked_at"))?)
}

/// How many invalid uploads wait for their removal with a delivered notice, and when the first is due.
pub fn notices(tx: &mut dyn Transaction) -> Result<(u64, Option<Time>), RegistryError> {
    let Some(row) = tx.query_one(Statement("health.notices"), &[])? else { return Ok((0, None)) };
    Ok((row.count("uploads")?, row.optional_time("first_remove_after")?))
}

/// How many uploads wait in each state in which a person may have to act.
pub fn uploads(tx: &mut dyn Transaction) -> Result<Vec<(UploadState, u64)>, RegistryError> {
    let rows = tx.query(Statement("health.uploads"), &[])?;
    rows.iter().map(|row| Ok((row.text("state")?.parse()?, row.count("uploads")?))).collect()
}

fn object_copy(
    tx: &mut dyn Transaction,
    object: ObjectId,
    generation: GenerationId,
    store: &str,
) -> Result<Option<CopyState>, RegistryError> {
    let row = tx.query_one(Statement("health.object_copy"), &[object.into(), generation.into(), store.into()])?;
    row.map(|row| row.text("state")?.parse()).transpose()
}

/// Makes copies of an object in a store, and its inventories there, the next that fixity checks: a listing of the store did
/// not show them as recorded.
pub fn doubt(tx: &mut dyn Transaction, object: ObjectId, store: &str, keys: &[String]) -> Result<(), RegistryError> {
    for key in keys {
        tx.execute(Statement("health.doubt_copy"), &[object.into(), store.into(), key.into()])?;
    }
    tx.execute(Statement("health.doubt_object"), &[object.into(), store.into()])?;
    Ok(())
}
