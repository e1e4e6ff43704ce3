//! Object leases: who may change an object in the stores. One row an object, with a fence of its own; an object whose
//! version is being committed can be taken over only by the one who commits it.

use strongroom_database::{Asked, Row, Statement, Time, Transaction};
use uuid::Uuid;

use crate::work::Claim;
use crate::{ObjectId, RegistryError, WaitKey, work};

/// What asking for an object's lease gave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hold {
    /// Held under this fence. `kept` says that it was held without a gap since the same owner last asked.
    Held {
        /// Raised whenever the owner changes.
        fence: i64,
        /// Whether no other process can have changed the object in between.
        kept: bool,
    },
    /// Another process holds it, until then.
    Busy {
        /// When it runs out, unless extended.
        until: Time,
    },
}

/// How the lease of an object is, for the owner who asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeaseState {
    owner: Option<Uuid>,
    fence: i64,
    until: Time,
    is_committed_by_other: bool,
    asked_as: Uuid,
}

impl LeaseState {
    /// Whether the owner who asks has the lease at least until then, and no other process can have changed the object
    /// since it last asked: then there is nothing to take.
    pub fn is_kept_until(&self, until: Time) -> bool {
        self.owner == Some(self.asked_as) && self.until >= until && self.until.0 != 0 && !self.is_committed_by_other
    }
}

/// Looks how the lease of an object is, for `owner`; changes nothing.
pub fn look(tx: &mut dyn Transaction, object: ObjectId, owner: Uuid) -> Result<LeaseState, RegistryError> {
    let row = tx.query_one(Statement("leases.look"), &[object.into(), owner.into()])?;
    let row = row.ok_or_else(|| RegistryError::NotFound { what: "lease of object", id: object.to_string() })?;
    lease_row(&row, owner)
}

/// The lease of an object in a row, as `owner` sees it.
pub(crate) fn lease_row(row: &Row, owner: Uuid) -> Result<LeaseState, RegistryError> {
    let holder = row.optional_uuid("owner")?;
    let (fence, until) = match holder {
        Some(_) => (row.integer("fence")?, row.time("lease_until")?),
        None => (0, Time(0)),
    };
    let is_committed_by_other = row.bool("is_committed_by_other")?;
    Ok(LeaseState { owner: holder, fence, until, is_committed_by_other, asked_as: owner })
}

/// Takes or keeps the lease of an object for `owner` (a work item, or a fixity task's own identifier).
pub fn hold(tx: &mut dyn Transaction, object: ObjectId, owner: Uuid, until: Time) -> Result<Hold, RegistryError> {
    let now = tx.now()?;
    let found = look(tx, object, owner)?;
    let (fence, kept) = match found.owner {
        None => (1, false),
        // A lease that ran out and that no process took in between is as good as kept.
        Some(holder) if holder == owner => (found.fence, found.until.0 != 0),
        Some(_) if found.until > now => return Ok(Hold::Busy { until: found.until }),
        Some(_) => (found.fence + 1, false),
    };
    if found.is_committed_by_other {
        return Ok(Hold::Busy { until: now.plus(5_000_000) });
    }
    tx.execute(Statement("leases.put"), &[object.into(), owner.into(), fence.into(), until.into()])?;
    Ok(Hold::Held { fence, kept })
}

/// As [`hold`], for the work item of a claim: refused where the claim is no longer current, since an item that another worker has
/// ended would hold the object until the lease runs out.
pub fn hold_for_item(
    tx: &mut dyn Transaction,
    claim: &Claim,
    object: ObjectId,
    until: Time,
) -> Result<Hold, RegistryError> {
    work::check_fence(tx, claim)?;
    hold(tx, object, claim.item.0, until)
}

/// Whether an owner has an object's lease right now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holding {
    /// It has the lease, which no other process can take before it runs out.
    Held,
    /// It let the lease go, it ran out, or another has it.
    NotHeld,
}

/// Whether `owner` holds an object's lease; changes nothing.
pub fn holding(tx: &mut dyn Transaction, object: ObjectId, owner: Uuid) -> Result<Holding, RegistryError> {
    let now = tx.now()?;
    let Some(row) = tx.query_one(Statement("leases.get"), &[object.into()])? else { return Ok(Holding::NotHeld) };
    let is_held = row.uuid("owner")? == owner && row.time("lease_until")? > now;
    Ok(if is_held { Holding::Held } else { Holding::NotHeld })
}

/// Whether no other owner has taken the lease of an object since `owner` took it under this fence, also where it ran out.
pub fn is_last(tx: &mut dyn Transaction, object: ObjectId, owner: Uuid, fence: i64) -> Result<bool, RegistryError> {
    let Some(row) = tx.query_one(Statement("leases.get"), &[object.into()])? else { return Ok(false) };
    Ok(row.uuid("owner")? == owner && row.integer("fence")? == fence)
}

/// Extends every lease that an owner has not let go.
pub fn extend_owner(tx: &mut dyn Transaction, owner: Uuid, until: Time) -> Result<(), RegistryError> {
    tx.execute(Statement("leases.extend_owner"), &[owner.into(), until.into()])?;
    Ok(())
}

/// What extends every lease that an owner has not let go.
pub(super) fn ask_to_extend(owner: Uuid, until: Time) -> Asked {
    Asked::once(Statement("leases.extend_owner"), vec![owner.into(), until.into()])
}

/// Lets every lease of an owner go, and wakes the work items that wait for the objects. The topics that have new work.
pub fn release_owner(tx: &mut dyn Transaction, owner: Uuid) -> Result<Vec<String>, RegistryError> {
    let released = tx.query(Statement("leases.release_owner"), &[owner.into()])?;
    let mut topics = Vec::new();
    for row in released {
        let key = WaitKey::object(ObjectId(row.uuid("object_id")?));
        topics.extend(work::wake_all(tx, &key, Some(owner))?);
    }
    Ok(topics)
}

/// How many leases are live: none when nothing is at work.
pub fn live(tx: &mut dyn Transaction) -> Result<u64, RegistryError> {
    let now = tx.now()?;
    Ok(tx.query_one(Statement("leases.live"), &[now.into()])?.map_or(Ok(0), |row| row.count("leases"))?)
}
