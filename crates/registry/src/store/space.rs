//! The ledger of staging space: who has how much of it, who waits for some, and since when. Small items pass large ones, until one
//! has waited for long; then it is first. It knows no stage and no store.

use std::time::Duration;

use strongroom_database::{Statement, Time, Transaction};
use uuid::Uuid;

use super::interim::{StagingPlace, place_row};
use crate::objects::optional_count;
use crate::versions::ROWS_AT_ONCE;
use crate::work::{self, Claim};
use crate::{ItemId, RegistryError, WaitKey};

/// What an item asks for that begins.
#[derive(Debug, Clone, Copy)]
pub struct Demand {
    /// Bytes that it reserves.
    pub bytes: u64,
    /// Bytes that must be free where it is not known how much it needs; what it reserves must be free in any case.
    pub free: u64,
    /// The whole of staging in bytes.
    pub capacity: u64,
    /// After which wait an item is first: no item that came later gets space before it.
    pub first_after: Duration,
}

impl Demand {
    /// Bytes that must be free.
    fn needed(&self) -> u64 {
        self.bytes.max(self.free)
    }
}

/// What came of asking for a place in staging.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Provision {
    /// The item has one.
    Reserved {
        /// Whether others wait, and it had waited for longest: they may have been kept waiting for it, and are to be woken.
        was_first: bool,
    },
    /// There is no room.
    NoRoom {
        /// The item that has waited for longer and is first, where there would be room without it.
        behind: Option<ItemId>,
    },
    /// What the item had staged has still to be removed.
    Uncleared,
}

/// Reserves staging space: whether there was room. `capacity` is the whole of staging, in bytes. An item that has none yet
/// gets a place of its own in staging, which is never used again. An item that has space gets more also where others wait for some:
/// it could not end without it.
pub fn reserve(tx: &mut dyn Transaction, claim: &Claim, bytes: u64, capacity: u64) -> Result<bool, RegistryError> {
    work::check_fence(tx, claim)?;
    let space = look_at_space(tx, claim.item)?;
    if space.reserved_by_others.saturating_add(bytes) > capacity || !space.is_in_quota(bytes) {
        return Ok(false);
    }
    put_reservation(tx, claim.item, bytes)?;
    Ok(true)
}

/// As [`reserve`], for an item that begins: nothing of an earlier attempt may be left. Where there is no room, it is recorded that the
/// item waits, and since when.
pub fn provision(tx: &mut dyn Transaction, claim: &Claim, demand: &Demand) -> Result<Provision, RegistryError> {
    work::check_fence(tx, claim)?;
    let item = claim.item;
    let space = look_at_space(tx, item)?;
    match space.place {
        Some(place) if place.is_discarded => return Ok(Provision::Uncleared),
        Some(_) => {}
        None if !space.has_rows => {}
        None => {
            tx.execute(Statement("interim.clear_facts"), &[item.into()])?;
            // Rows without a place are of a program that did not know places.
            let values = [item.into(), ROWS_AT_ONCE.into()];
            if tx.execute(Statement("interim.clear_files"), &values)? == ROWS_AT_ONCE as u64 {
                return Ok(Provision::Uncleared);
            }
        }
    }
    let now = tx.now()?;
    let needed = demand.needed();
    let left = demand.capacity.checked_sub(space.reserved_by_others).and_then(|free| free.checked_sub(needed));
    let mut behind = None;
    let mut has_room = left.is_some() && space.is_in_quota(demand.bytes);
    if let Some(left) = left.filter(|_| has_room && space.place.is_none() && space.others_wait) {
        behind = first_before(tx, item, demand, left, now)?;
        has_room = behind.is_none();
    }
    if !has_room {
        let values = [item.into(), demand.bytes.into(), needed.into(), now.into()];
        tx.execute(Statement("space.wait"), &values)?;
        return Ok(Provision::NoRoom { behind });
    }
    put_reservation(tx, item, demand.bytes)?;
    let was_first = space.waits && end_wait(tx, item)? && space.others_wait;
    Ok(Provision::Reserved { was_first })
}

/// The latest time since which an item waits that has waited for so long.
fn before(now: Time, wait: Duration) -> Time {
    Time(now.0.saturating_sub(i64::try_from(wait.as_micros()).unwrap_or(i64::MAX)))
}

/// An item that has waited for so long that it is first, and that could not begin if this one did. `left` is what would be free then.
/// One that cannot begin because of the quota of its institution keeps no other institution waiting, and one that can never begin
/// keeps nothing waiting.
fn first_before(
    tx: &mut dyn Transaction,
    item: ItemId,
    demand: &Demand,
    left: u64,
    now: Time,
) -> Result<Option<ItemId>, RegistryError> {
    let values = [
        item.into(),
        before(now, demand.first_after).into(),
        left.into(),
        demand.capacity.into(),
        demand.bytes.into(),
        WaitKey::staging().0.into(),
    ];
    let row = tx.query_one(Statement("space.first_before"), &values)?;
    Ok(row.map(|row| row.uuid("item_id")).transpose()?.map(ItemId))
}

/// An item does not wait for space any more: it has some, or a person stopped it or sent it back. Whether it was the one that waited
/// for longest, so that others may have waited for it.
pub(crate) fn end_wait(tx: &mut dyn Transaction, item: ItemId) -> Result<bool, RegistryError> {
    let Some(row) = tx.query_one(Statement("space.end_wait"), &[item.into()])? else { return Ok(false) };
    let since = row.time("since")?;
    Ok(tx.query_one(Statement("space.waits_before"), &[since.into()])?.is_none())
}

/// An item that failed keeps space for what it has in staging, and no more, since it may never be requeued. Whether some was freed.
pub(crate) fn keep_staged(tx: &mut dyn Transaction, item: ItemId) -> Result<bool, RegistryError> {
    Ok(tx.execute(Statement("space.keep_staged"), &[item.into()])? == 1)
}

fn put_reservation(tx: &mut dyn Transaction, item: ItemId, bytes: u64) -> Result<(), RegistryError> {
    let now = tx.now()?;
    let place = Uuid::now_v7();
    tx.execute(Statement("space.reserve"), &[item.into(), bytes.into(), now.into(), place.into()])?;
    Ok(())
}

/// What there is of an item in staging, how much the others have, and who waits.
struct Space {
    place: Option<StagingPlace>,
    /// Whether it has rows of staged files, or facts.
    has_rows: bool,
    /// Bytes.
    reserved_by_others: u64,
    /// Most bytes that the institution of the item may have in staging.
    quota: Option<u64>,
    /// Bytes of the other items of the institution, where it has a quota.
    reserved_by_institution: u64,
    /// Whether it waits for space.
    waits: bool,
    /// Whether other items wait for space.
    others_wait: bool,
}

impl Space {
    /// Whether the institution may have so many bytes more.
    fn is_in_quota(&self, bytes: u64) -> bool {
        self.quota.is_none_or(|quota| self.reserved_by_institution.saturating_add(bytes) <= quota)
    }
}

fn look_at_space(tx: &mut dyn Transaction, item: ItemId) -> Result<Space, RegistryError> {
    let row = tx.query_one(Statement("space.look"), &[item.into()])?;
    let row = row.ok_or_else(|| RegistryError::NotFound { what: "staging of work item", id: item.to_string() })?;
    Ok(Space {
        place: row.optional_uuid("item_id")?.map(|_| place_row(&row)).transpose()?,
        has_rows: row.bool("has_rows")?,
        reserved_by_others: row.count("reserved_bytes")?,
        quota: optional_count(&row, "staging_quota")?,
        reserved_by_institution: row.count("reserved_by_institution")?,
        waits: row.bool("waits")?,
        others_wait: row.bool("others_wait")?,
    })
}
