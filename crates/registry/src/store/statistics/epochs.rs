//! Epochs: the counts that are read, and those that are being made from nothing beside them.

use strongroom_database::{Row, Statement, Transaction};
use uuid::Uuid;

use super::{Growth, add_part, lost};
use crate::{CollectionId, InstitutionId, ObjectId, RegistryError};

/// Counts of all objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Epoch {
    /// Its number.
    pub number: u64,
    /// Whether it is read. Otherwise it is in the making.
    pub is_current: bool,
    /// Up to which object it has every one.
    pub after: ObjectId,
}

/// All of them: at most one that is read and one in the making.
pub fn epochs(tx: &mut dyn Transaction) -> Result<Vec<Epoch>, RegistryError> {
    let rows = tx.query(Statement("statistics.epochs"), &[])?;
    let epoch = |row: &Row| {
        Ok(Epoch {
            number: row.count("epoch")?,
            is_current: row.text("state")? == "current",
            after: ObjectId(row.uuid("after_object")?),
        })
    };
    rows.iter().map(epoch).collect()
}

/// Begins counts from nothing, unless some are in the making; those.
pub fn begin(tx: &mut dyn Transaction) -> Result<Epoch, RegistryError> {
    let known = epochs(tx)?;
    if let Some(making) = known.iter().find(|epoch| !epoch.is_current) {
        return Ok(*making);
    }
    let number = known.last().map_or(1, |last| last.number + 1);
    let (after, now) = (ObjectId(Uuid::nil()), tx.now()?);
    tx.execute(Statement("statistics.begin_epoch"), &[number.into(), after.into(), now.into()])?;
    Ok(Epoch { number, is_current: false, after })
}

/// Notes that an epoch in the making has every object up to this one.
///
/// # Errors
/// [`RegistryError::FenceLost`] where another process has come further.
pub fn advance(tx: &mut dyn Transaction, making: &Epoch, to: ObjectId) -> Result<(), RegistryError> {
    let values = [making.number.into(), making.after.into(), to.into()];
    if tx.execute(Statement("statistics.advance"), &values)? == 1 { Ok(()) } else { Err(lost()) }
}

/// Has an epoch read that has every object. What was counted of stores and formats on earlier days stays, because the registry does not have
/// all that led to it; where it comes to something else than what is kept now, the difference is added to the day `today`. How many
/// differences there were.
///
/// # Errors
/// [`RegistryError::FenceLost`] where another process has done it.
pub fn end(tx: &mut dyn Transaction, made: &Epoch, today: i64) -> Result<u64, RegistryError> {
    let old = epochs(tx)?.into_iter().find(|epoch| epoch.is_current);
    let now = tx.now()?;
    if tx.execute(Statement("statistics.make_current"), &[made.number.into(), made.after.into(), now.into()])? != 1 {
        return Err(lost());
    }
    let Some(old) = old else { return Ok(0) };
    let mut differences = 0;
    for (difference, add, [first, second]) in [
        (Statement("statistics.storage_difference"), Statement("statistics.add_storage"), ["store", "class"]),
        (Statement("statistics.formats_difference"), Statement("statistics.add_format"), ["puid", "mime"]),
    ] {
        for row in tx.query(difference, &[made.number.into(), old.number.into()])? {
            let collection = Some(row.uuid("collection_id")?).filter(|id| !id.is_nil()).map(CollectionId);
            let key = (today, collection, row.text(first)?.to_owned(), row.text(second)?.to_owned());
            let objects = if first == "store" { row.integer("objects")? } else { 0 };
            let growth = Growth { objects, files: row.integer("files")?, bytes: row.integer("bytes")? };
            let institution = InstitutionId(row.uuid("institution_id")?);
            add_part(tx, add, (old.number, institution), &key, &growth)?;
            differences += 1;
        }
    }
    for drop in [Statement("statistics.drop_storage"), Statement("statistics.drop_formats")] {
        tx.execute(drop, &[made.number.into()])?;
    }
    for moved in [Statement("statistics.move_storage"), Statement("statistics.move_formats")] {
        tx.execute(moved, &[old.number.into(), made.number.into()])?;
    }
    for drop in [Statement("statistics.drop_days"), Statement("statistics.drop_epoch")] {
        tx.execute(drop, &[old.number.into()])?;
    }
    Ok(differences)
}

/// Removes what epochs before one had counted of objects, at most `limit`; how many.
pub fn drop_stale(tx: &mut dyn Transaction, before: u64, limit: usize) -> Result<u64, RegistryError> {
    Ok(tx.execute(Statement("statistics.stale_objects"), &[before.into(), limit.into()])?)
}
