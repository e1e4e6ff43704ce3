//! What the registry knows of the stores themselves: which store each name stands for, and what has still to be put into
//! one that could not be reached.

use strongroom_database::{Row, Statement, Time, Transaction};
use uuid::Uuid;

use crate::{GenerationId, ObjectId, RegistryError};

/// A store as the registry knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownStore {
    /// Its name in the settings.
    pub name: String,
    /// The id that lies in it.
    pub id: Uuid,
    /// When the name was given to it.
    pub recorded_at: Time,
}

/// Every store that was ever used, by name.
pub fn list(tx: &mut dyn Transaction) -> Result<Vec<KnownStore>, RegistryError> {
    let rows = tx.query(Statement("stores.list"), &[])?;
    rows.iter()
        .map(|row| Ok(KnownStore { name: row.text(0)?.to_owned(), id: row.uuid(1)?, recorded_at: row.time(2)? }))
        .collect()
}

/// Records which store a name stands for, where that is not recorded yet; the id that is recorded then.
pub fn record(tx: &mut dyn Transaction, name: &str, id: Uuid) -> Result<Uuid, RegistryError> {
    let now = tx.now()?;
    tx.execute(Statement("stores.insert"), &[name.into(), id.into(), now.into()])?;
    let recorded = list(tx)?.into_iter().find(|store| store.name == name);
    Ok(recorded.map_or(id, |store| store.id))
}

/// A file of an object's `logs/` that has still to be put into a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissedLog {
    /// The store.
    pub store: String,
    /// The object.
    pub object: ObjectId,
    /// The file's name.
    pub name: String,
    /// The generation of the object.
    pub generation: GenerationId,
    /// Whose it is, by domain name.
    pub institution: String,
    /// What the file holds.
    pub bytes: Vec<u8>,
    /// When it was to be put.
    pub missed_at: Time,
}

/// Notes that a file has to be put into a store.
pub fn note_log(tx: &mut dyn Transaction, log: &MissedLog) -> Result<(), RegistryError> {
    tx.execute(
        Statement("missed_logs.insert"),
        &[
            (&log.store).into(),
            log.object.into(),
            (&log.name).into(),
            log.generation.into(),
            (&log.institution).into(),
            log.bytes.clone().into(),
            log.missed_at.into(),
        ],
    )?;
    Ok(())
}

/// Notes that a file lies in its store.
pub fn log_is_put(tx: &mut dyn Transaction, store: &str, object: ObjectId, name: &str) -> Result<(), RegistryError> {
    tx.execute(Statement("missed_logs.delete"), &[store.into(), object.into(), name.into()])?;
    Ok(())
}

/// Files that have to be put into a store since `before` or longer, in order of object and name, after `after`.
pub fn missed_logs(
    tx: &mut dyn Transaction,
    store: &str,
    before: Time,
    after: Option<&(ObjectId, String)>,
    limit: usize,
) -> Result<Vec<MissedLog>, RegistryError> {
    let (object, name) = after.map_or((ObjectId(Uuid::nil()), ""), |(object, name)| (*object, name.as_str()));
    let values = [store.into(), before.into(), object.into(), name.into(), limit.into()];
    tx.query(Statement("missed_logs.list"), &values)?.iter().map(missed_log).collect()
}

fn missed_log(row: &Row) -> Result<MissedLog, RegistryError> {
    Ok(MissedLog {
        store: row.text(0)?.to_owned(),
        object: ObjectId(row.uuid(1)?),
        name: row.text(2)?.to_owned(),
        generation: GenerationId(row.uuid(3)?),
        institution: row.text(4)?.to_owned(),
        bytes: row.bytes(5)?.to_vec(),
        missed_at: row.time(6)?,
    })
}

/// How many files a store misses, and since when: only stores that miss any.
pub fn missed_log_counts(tx: &mut dyn Transaction) -> Result<Vec<(String, u64, Time)>, RegistryError> {
    let rows = tx.query(Statement("missed_logs.count"), &[])?;
    rows.iter().map(|row| Ok((row.text(0)?.to_owned(), row.count(1)?, row.time(2)?))).collect()
}
