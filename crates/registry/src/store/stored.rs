//! What a store holds by the record, to be compared with what lies there. Part of [`crate::rebuild`].

use strongroom_database::{Row, Statement, Transaction};
use uuid::Uuid;

use crate::{GenerationId, ObjectId, RegistryError};

/// An object in a store, by the record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredObject {
    /// The object.
    pub object: ObjectId,
    /// The generation that lies there.
    pub generation: GenerationId,
    /// The institution's domain name.
    pub institution: String,
}

fn stored_row(row: &Row) -> Result<StoredObject, RegistryError> {
    Ok(StoredObject {
        object: ObjectId(row.uuid("object_id")?),
        generation: GenerationId(row.uuid("generation")?),
        institution: row.text("identifier")?.to_owned(),
    })
}

/// Objects that a store holds by the record, in order of their making, after `after`.
pub fn objects_in_store(
    tx: &mut dyn Transaction,
    store: &str,
    after: Option<ObjectId>,
    limit: usize,
) -> Result<Vec<StoredObject>, RegistryError> {
    let after = after.unwrap_or(ObjectId(Uuid::nil()));
    let values = [store.into(), after.into(), limit.into()];
    tx.query(Statement("rebuild.objects_in_store"), &values)?.iter().map(stored_row).collect()
}

/// One object that a store holds by the record.
pub fn stored_object(
    tx: &mut dyn Transaction,
    store: &str,
    object: ObjectId,
) -> Result<Option<StoredObject>, RegistryError> {
    let values = [store.into(), object.into()];
    tx.query_one(Statement("rebuild.stored_object"), &values)?.as_ref().map(stored_row).transpose()
}

/// Copies of the published contents of a generation of an object in a store, in byte order of their keys after `after`: key and size.
pub fn copies_by_key(
    tx: &mut dyn Transaction,
    (object, generation): (ObjectId, GenerationId),
    store: &str,
    after: &str,
    limit: usize,
) -> Result<Vec<(String, u64)>, RegistryError> {
    let values = [object.into(), store.into(), after.into(), limit.into(), generation.into()];
    tx.query(Statement("rebuild.copies_by_key"), &values)?
        .iter()
        .map(|row| Ok((row.text("key")?.to_owned(), row.count("size")?)))
        .collect()
}

/// The generations of which a version is being made, with the domain names of their institutions.
pub fn open_generations(tx: &mut dyn Transaction) -> Result<Vec<(String, GenerationId)>, RegistryError> {
    tx.query(Statement("rebuild.open_generations"), &[])?
        .iter()
        .map(|row| Ok((row.text("identifier")?.to_owned(), GenerationId(row.uuid("generation")?))))
        .collect()
}
