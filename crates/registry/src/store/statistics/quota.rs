//! How much may be kept of what an institution deposits. What a version will add is reserved until the version is counted, so that two
//! deposits at once do not both get the same room.

use strongroom_database::{Statement, Transaction};

use super::epochs;
use crate::store::objects::optional_count;
use crate::versions::Version;
use crate::{InstitutionId, ItemId, RegistryError, statistics};

/// What there is of the quota of an institution.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    /// Bytes that may be kept.
    pub quota: u64,
    /// Bytes that are kept, of one copy of each content, as far as they are counted.
    pub kept: u64,
    /// Bytes of versions that are on their way or not counted yet.
    pub reserved: u64,
    /// Bytes that this version brings.
    pub wanted: u64,
}

impl Room {
    /// Whether there is room for the version.
    pub fn is_enough(&self) -> bool {
        self.wanted == 0 || self.used() <= self.quota
    }

    /// Bytes that will be kept with it.
    pub fn used(&self) -> u64 {
        self.kept.saturating_add(self.reserved).saturating_add(self.wanted)
    }
}

/// Reserves what a version brings, where the institution has a quota and there is room; none where it has no quota. What is said is what there
/// was without the version. The transaction may be of either isolation: the row of the institution is locked.
pub fn reserve(
    tx: &mut dyn Transaction,
    (institution, item): (InstitutionId, ItemId),
    version: &Version,
) -> Result<Option<Room>, RegistryError> {
    tx.execute(Statement("statistics.lock_institution"), &[institution.into()])?;
    let row = tx.query_one(Statement("statistics.quota"), &[institution.into()])?;
    let Some(quota) = row.map(|row| optional_count(&row, "storage_quota")).transpose()?.flatten() else {
        return Ok(None);
    };
    let version_key = [version.object.into(), version.generation.into(), version.number.into()];
    let wanted = tx.query_one(Statement("statistics.brought_by_version"), &version_key)?;
    let reserved = tx.query_one(Statement("statistics.reserved"), &[institution.into(), item.into()])?;
    let epoch = epochs(tx)?.first().map_or(0, |epoch| epoch.number);
    let room = Room {
        quota,
        kept: statistics::kept_of_institution(tx, epoch, institution)?,
        reserved: reserved.map_or(Ok(0), |row| row.count("bytes"))?,
        wanted: wanted.map_or(Ok(0), |row| row.count("bytes"))?,
    };
    if room.is_enough() {
        let values = [item.into(), institution.into(), version.id.into(), room.wanted.into()];
        tx.execute(Statement("statistics.reserve"), &values)?;
    }
    Ok(Some(room))
}
