//! How a version that is not to be goes: marked `dropping` in one fenced transaction, then its rows, then it is `dropped`,
//! then its bytes in the stores, then `swept_at` is set. Until then it keeps its number, so that the next version of that
//! number finds nothing of it. Everything here goes by the identifier of the version and may be repeated by anyone.

use strongroom_database::{Statement, Time, Transaction, Value};
use uuid::Uuid;

use crate::leases::{self, Holding};
use crate::versions::{ROWS_AT_ONCE, Version, refusal, state_of, version_row};
use crate::work::{self, Claim};
use crate::{FileId, ItemId, ObjectId, RegistryError, Scope, VersionId, VersionState, items, versions};

/// Who may discard.
#[derive(Debug, Clone)]
pub enum Authority {
    /// The worker of a work item, under the item's lease and the object's.
    Worker(Claim),
    /// The caller that clears up behind a work item that has ended.
    Ended(ItemId),
}

impl Authority {
    /// Refuses where the authority is gone: another worker has the item, or a person has requeued it.
    pub fn check(&self, tx: &mut dyn Transaction) -> Result<(), RegistryError> {
        match self {
            Self::Worker(claim) => work::check_fence(tx, claim),
            Self::Ended(item) => {
                items::lock(tx, *item)?;
                match items::get(tx, Scope::System, *item)? {
                    Some(found) if !found.status.is_ended() => {
                        Err(RegistryError::FenceLost { what: "ended work item", id: item.to_string() })
                    }
                    _ => Ok(()),
                }
            }
        }
    }
}

/// Marks a version that is being prepared as one that is discarded. Nothing changes where that has happened before.
///
/// # Errors
/// The authority is gone; a worker of another item does not hold the object; or the version is committed.
pub fn discard(tx: &mut dyn Transaction, authority: &Authority, version: &Version) -> Result<(), RegistryError> {
    authority.check(tx)?;
    if let Authority::Worker(claim) = authority
        && version.item != Some(claim.item)
        && leases::holding(tx, version.object, claim.item.0)? != Holding::Held
    {
        return Err(RegistryError::FenceLost { what: "object", id: version.object.to_string() });
    }
    mark(tx, version)
}

/// Marks a version as discarded, for callers that hold the object by other means.
pub(crate) fn mark(tx: &mut dyn Transaction, version: &Version) -> Result<(), RegistryError> {
    if tx.execute(Statement("versions.discard"), &[version.id.into()])? == 1 {
        return Ok(());
    }
    match state_of(tx, version)? {
        VersionState::Dropping | VersionState::Dropped => Ok(()),
        state => Err(refusal(version, state, "discard it")),
    }
}

/// Marks what an item was preparing as discarded, in the transaction that ends the item.
pub(crate) fn discard_of_item(tx: &mut dyn Transaction, item: ItemId) -> Result<(), RegistryError> {
    #[cfg(feature = "failpoints")]
    if crate::faults::is_put_back(crate::faults::RESUMED_DISCARD) {
        return Ok(());
    }
    tx.execute(Statement("versions.discard_of_item"), &[item.into()])?;
    Ok(())
}

/// Drops some rows of a version that is discarded, about [`ROWS_AT_ONCE`] at a time, with the files that only it knew;
/// whether all are gone, and the version is `dropped`.
pub fn drop_rows(tx: &mut dyn Transaction, version: &Version) -> Result<bool, RegistryError> {
    match state_of(tx, version)? {
        VersionState::Dropped => return Ok(true),
        VersionState::Dropping => {}
        state => return Err(refusal(version, state, "drop its rows")),
    }
    // The item distinguishes its events from those of a version of the same number in an earlier generation.
    let events = [version.object.into(), version.number.into(), ROWS_AT_ONCE.into(), version.item.into()];
    let key = of_version(version);
    let dropped = tx.execute(Statement("events.drop"), &events)?
        + drop_entries(tx, version)?
        + tx.execute(Statement("copies.drop"), &key)?;
    if dropped > 0 {
        return Ok(false);
    }
    if tx.execute(Statement("contents.drop"), &key)? > 0 {
        return Ok(false);
    }
    tx.execute(Statement("versions.drop"), &[version.id.into()])?;
    Ok(true)
}

/// What identifies the rows of a version: where they may lie, how many at once, and its identifier. Rows of any other version of
/// that number are not touched.
fn of_version(version: &Version) -> [Value; 5] {
    [version.object.into(), version.generation.into(), version.number.into(), ROWS_AT_ONCE.into(), version.id.into()]
}

fn drop_entries(tx: &mut dyn Transaction, version: &Version) -> Result<u64, RegistryError> {
    let key = of_version(version);
    let mut files = Vec::new();
    for row in tx.query(Statement("entries.of_version"), &key)? {
        files.push(FileId(row.uuid("file_id")?));
    }
    let [object, generation, number, ..] = key;
    let dropped = tx.execute_each(
        Statement("entries.drop"),
        &mut files.iter().map(|file| vec![object.clone(), generation.clone(), number.clone(), (*file).into()]),
    )?;
    tx.execute_each(Statement("files.drop_unused"), &mut files.iter().map(|file| vec![(*file).into()]))?;
    Ok(dropped)
}

/// Notes that no byte of a dropped version is left in the stores: its number is free.
pub fn set_swept(tx: &mut dyn Transaction, version: VersionId) -> Result<(), RegistryError> {
    let now = tx.now()?;
    tx.execute(Statement("versions.swept"), &[version.into(), now.into()])?;
    Ok(())
}

/// Begins anew the time in which a swept version is swept once a day: something of it was seen in a store.
pub fn sweep_again(tx: &mut dyn Transaction, version: VersionId) -> Result<bool, RegistryError> {
    let now = tx.now()?;
    Ok(tx.execute(Statement("versions.sweep_again"), &[version.into(), now.into()])? > 0)
}

/// The same for every swept version of an item, for a process that learns that it has lost the item: it may have slept, and
/// put something since. How many those are.
pub fn sweep_again_of_item(tx: &mut dyn Transaction, item: ItemId) -> Result<u64, RegistryError> {
    let now = tx.now()?;
    Ok(tx.execute(Statement("versions.sweep_again_of_item"), &[item.into(), now.into()])?)
}

/// Notes the stores that a version is going to be written to, before anything is put there.
pub fn note_stores(
    tx: &mut dyn Transaction,
    claim: &Claim,
    version: &Version,
    stores: &[String],
) -> Result<(), RegistryError> {
    versions::check_claimed(tx, claim, version, "write it")?;
    insert_stores(tx, version, stores)
}

/// The same for a caller that has checked that the version is being prepared.
pub(crate) fn insert_stores(
    tx: &mut dyn Transaction,
    version: &Version,
    stores: &[String],
) -> Result<(), RegistryError> {
    let mut rows = stores.iter().map(|store| vec![version.id.into(), store.into()]);
    tx.execute_each(Statement("version_stores.insert"), &mut rows)?;
    Ok(())
}

/// The stores that a version which was not published may have been written to, as far as they were noted.
pub fn noted_stores(tx: &mut dyn Transaction, version: VersionId) -> Result<Vec<String>, RegistryError> {
    tx.query(Statement("version_stores.list"), &[version.into()])?
        .iter()
        .map(|row| Ok(row.text("store")?.to_owned()))
        .collect()
}

/// The discarded versions of an object that keep their numbers.
pub fn unswept_of_object(tx: &mut dyn Transaction, object: ObjectId) -> Result<Vec<Version>, RegistryError> {
    tx.query(Statement("versions.unswept_of_object"), &[object.into()])?.iter().map(version_row).collect()
}

/// The discarded versions of an item that keep their numbers.
pub fn unswept_of_item(tx: &mut dyn Transaction, item: ItemId) -> Result<Vec<Version>, RegistryError> {
    tx.query(Statement("versions.unswept_of_item"), &[item.into()])?.iter().map(version_row).collect()
}

/// Versions swept since, in order of their identifiers after `after`: a process that slept through the sweep may have put
/// bytes under them all the same.
pub fn swept_since(
    tx: &mut dyn Transaction,
    since: Time,
    after: Option<VersionId>,
    limit: usize,
) -> Result<Vec<Version>, RegistryError> {
    let after = after.unwrap_or(VersionId(Uuid::nil()));
    let values = [since.into(), after.into(), limit.into()];
    tx.query(Statement("versions.swept_since"), &values)?.iter().map(version_row).collect()
}
