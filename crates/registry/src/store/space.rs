//! The ledger of staging space: which item has how much of it, which item waits for some, and since when. Small items pass large ones,
//! until one has waited for long; then it is first. It knows no stage and no store.

use std::time::Duration;

use strongroom_database::{Row, Statement, Time, Transaction};
use uuid::Uuid;

use super::endings::sweep_later;
use super::interim::{self, StagingPlace, place_row};
use crate::items::{self, NewLine};
use crate::objects::optional_count;
use crate::versions::ROWS_AT_ONCE;
use crate::work::{self, Claim};
use crate::{InstitutionId, ItemId, ItemStatus, RegistryError, Scope, Stage, WaitKey};

/// The fact that has how many bytes are to be free before an item begins again that gave its space back because there was no room for more.
const NEEDED: &str = "needed_space";
/// The fact that has how many bytes there was no room for then.
const REFUSED: &str = "refused_space";
/// The fact that has since when an item waited that has got some of its space: should it have to wait again, it has waited since then.
const WAITED_SINCE: &str = "waited_for_space_since";
/// The fact that an item failed and returned what it did not use of its space.
const RETURNED: &str = "returned_space";
/// The fact that bytes of an item may lie in staging that no row has.
const UNRECORDED: &str = "unrecorded_bytes";
/// The fact that has how many bytes of downloads are kept on their way for an item.
const KEPT: &str = "kept_bytes";

/// What an item asks for that begins. What it has already, or is known to need at least, it reserves in any case.
#[derive(Debug, Clone, Copy)]
pub struct Demand {
    /// Bytes that it reserves.
    pub bytes: u64,
    /// Bytes that must be free where it is not known how much it needs, or only by the word of others; what it reserves must be free in any
    /// case.
    pub free: u64,
    /// The same once it is first.
    pub free_when_first: u64,
    /// Bytes that it reserves ahead of those that come, where it reserves more as they come. What it is known to need must be free then, and of
    /// that it reserves what had come before, and so much, so that it gets further. None where it reserves all of it.
    pub ahead: Option<u64>,
    /// The whole of staging in bytes.
    pub capacity: u64,
    /// After which wait an item is first: no item that came later gets space before it.
    pub first_after: Duration,
}

impl Demand {
    /// Bytes that must be free for an item that waits since a time.
    fn needed(&self, waits_since: Option<Time>, now: Time) -> u64 {
        let is_first = waits_since.is_some_and(|since| since <= before(now, self.first_after));
        if is_first { self.needed_when_first() } else { self.bytes.max(self.free) }
    }

    /// Bytes that must be free once it is first.
    fn needed_when_first(&self) -> u64 {
        self.bytes.max(self.free_when_first)
    }

    /// The same for an item that has so many bytes, and is known to need more.
    fn at_least(self, has: u64, known: Needed) -> Self {
        let all = known.free.max(known.refused);
        let reserves =
            self.ahead.map_or(all, |ahead| known.refused.saturating_add(ahead.min(known.refused / 4)).min(all));
        Self {
            bytes: self.bytes.max(has).max(reserves),
            free: self.free.max(known.free),
            free_when_first: self.free_when_first.max(known.free),
            ..self
        }
    }
}

/// What is known of an item that gave its space back because there was no room for more.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Needed {
    /// Bytes that are to be free before it begins again. Others may keep so many for good; then less is enough.
    pub free: u64,
    /// Bytes that there was no room for: it cannot do with less.
    pub refused: u64,
}

/// An item that has space in staging.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SpaceHolder {
    /// Which one.
    pub item: ItemId,
    /// Whose it is.
    pub institution: InstitutionId,
    /// How many bytes are reserved for it.
    pub bytes: u64,
    /// Where it is.
    pub status: ItemStatus,
    /// At which stage.
    pub stage: Stage,
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
        /// Bytes that the item needs.
        needed: u64,
        /// Bytes that are free to it.
        free: u64,
        /// Bytes that there was no room for when it was read before; 0 where it was not.
        refused: u64,
        /// The item that has waited for longer and is first, where there would be room without it.
        behind: Option<ItemId>,
        /// The item that has most of staging, or of the quota of the institution where that is what is not enough.
        most: Option<SpaceHolder>,
        /// Whether it is the quota of the institution that is not enough.
        is_quota: bool,
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
    let mut known = Needed::default();
    let waited = if space.has_rows { waited_since(tx, item)? } else { None };
    match space.place {
        Some(place) if place.is_discarded => return Ok(Provision::Uncleared),
        Some(_) => {}
        None if !space.has_rows => {}
        None => {
            known = needed_at_least(tx, item)?;
            tx.execute(Statement("interim.clear_facts_but"), &[item.into(), NEEDED.into(), REFUSED.into()])?;
            if let Some(since) = waited {
                put_waited_since(tx, item, since)?;
            }
            // Rows without a place are of a program that did not know places.
            let values = [item.into(), ROWS_AT_ONCE.into()];
            if tx.execute(Statement("interim.clear_files"), &values)? == ROWS_AT_ONCE as u64 {
                return Ok(Provision::Uncleared);
            }
        }
    }
    let now = tx.now()?;
    let known = reachable(tx, item, &space, known, demand.capacity)?;
    let demand = &demand.at_least(space.at_most(space.reserved, demand.capacity), known);
    // Where it is known what it needs, the quota of its institution is to have room for that, too.
    let of_quota = demand.bytes.max(known.free);
    let since = waited.into_iter().chain(space.waits_since).min();
    let needed = demand.needed(since, now);
    let free = demand.capacity.saturating_sub(space.reserved_by_others);
    let left = free.checked_sub(needed);
    let mut behind = None;
    let is_in_quota = space.is_in_quota(of_quota);
    // What takes nothing, such as a description, takes it from none.
    let takes_some = needed > 0;
    let mut has_room = !takes_some || left.is_some() && is_in_quota;
    // One that has space already could not end without more. An empty place is none.
    let begins = space.place.is_none() || space.reserved == 0;
    if let Some(left) = left.filter(|_| takes_some && has_room && begins && space.others_wait) {
        behind = first_before(tx, item, demand, (left, of_quota), now)?;
        has_room = behind.is_none();
    }
    if !has_room {
        let values = [
            item.into(),
            of_quota.into(),
            demand.needed_when_first().into(),
            since.map_or(now, |since| since.min(now)).into(),
        ];
        tx.execute(Statement("space.wait"), &values)?;
        let (needed, free) = if is_in_quota { (needed, free) } else { (of_quota, space.free_of_quota()) };
        let most = most(tx, item, !is_in_quota)?;
        let refused = known.refused;
        return Ok(Provision::NoRoom { needed, free, refused, behind, most, is_quota: !is_in_quota });
    }
    put_reservation(tx, item, demand.bytes)?;
    if space.has_rows {
        tx.execute(Statement("interim.drop_fact"), &[item.into(), RETURNED.into()])?;
    }
    if let Some(since) = space.waits_since {
        put_waited_since(tx, item, since)?;
    }
    let was_first = space.waits_since.is_some() && end_wait(tx, item)? && space.others_wait;
    Ok(Provision::Reserved { was_first })
}

/// What is known of an item that gave its space back because there was no room for more.
pub fn needed_at_least(tx: &mut dyn Transaction, item: ItemId) -> Result<Needed, RegistryError> {
    let free = bytes_fact(tx, item, NEEDED)?.unwrap_or_default();
    // An earlier program did not note it. It asked for twice as much at most.
    let refused = if free == 0 { None } else { bytes_fact(tx, item, REFUSED)? };
    Ok(Needed { free, refused: refused.unwrap_or(free / 2) })
}

fn bytes_fact(tx: &mut dyn Transaction, item: ItemId, name: &str) -> Result<Option<u64>, RegistryError> {
    Ok(interim::fact(tx, item, name)?.and_then(|text| text.parse().ok()))
}

/// A person sends an item back: what was known of its needs is asked anew.
pub(crate) fn forget_needed(tx: &mut dyn Transaction, item: ItemId) -> Result<(), RegistryError> {
    for name in [NEEDED, REFUSED] {
        tx.execute(Statement("interim.drop_fact"), &[item.into(), name.into()])?;
    }
    Ok(())
}

/// What an item is known to need, as far as it can become free without a person: what it asks for beyond what there was no room for is only so
/// that it need not be read again soon. Held and failed items may keep theirs for good.
fn reachable(
    tx: &mut dyn Transaction,
    item: ItemId,
    space: &Space,
    known: Needed,
    capacity: u64,
) -> Result<Needed, RegistryError> {
    let refused = space.at_most(known.refused, capacity);
    let free = space.at_most(known.free, capacity).max(refused);
    if free == refused {
        return Ok(Needed { free, refused });
    }
    let row = tx.query_one(Statement("space.kept"), &[item.into()])?;
    let row = row.ok_or_else(|| RegistryError::NotFound { what: "work item", id: item.to_string() })?;
    let left = capacity.saturating_sub(row.count("kept")?);
    let of_institution = row.count("kept_by_institution")?;
    let left_of_quota = space.quota.map_or(u64::MAX, |quota| quota.saturating_sub(of_institution));
    Ok(Needed { free: free.min(left).min(left_of_quota).max(refused), refused })
}

/// Since when an item waited that has got some of its space.
pub fn waited_since(tx: &mut dyn Transaction, item: ItemId) -> Result<Option<Time>, RegistryError> {
    Ok(interim::fact(tx, item, WAITED_SINCE)?.and_then(|text| text.parse().ok()).map(Time))
}

fn put_waited_since(tx: &mut dyn Transaction, item: ItemId, since: Time) -> Result<(), RegistryError> {
    interim::put_facts(tx, item, &[(WAITED_SINCE.to_owned(), since.0.to_string())])
}

/// The latest time since which an item waits that has waited for so long.
fn before(now: Time, wait: Duration) -> Time {
    Time(now.0.saturating_sub(i64::try_from(wait.as_micros()).unwrap_or(i64::MAX)))
}

/// An item that has waited for so long that it is first, and that could not begin if this one did. `left` is what would be free then, and
/// `of_quota` what this one needs of the quota of its institution.
/// One that cannot begin because of the quota of its institution, or beside what that has itself, keeps no other institution waiting, and one that
/// can never begin keeps nothing waiting.
fn first_before(
    tx: &mut dyn Transaction,
    item: ItemId,
    demand: &Demand,
    (left, of_quota): (u64, u64),
    now: Time,
) -> Result<Option<ItemId>, RegistryError> {
    let values = [
        item.into(),
        before(now, demand.first_after).into(),
        left.into(),
        demand.capacity.into(),
        of_quota.into(),
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

/// An item that failed keeps space for what it has in staging and of downloads, and no more, since it may never be requeued. Where it is not
/// known what it has there, it keeps all. Whether some was freed.
pub(crate) fn keep_staged(tx: &mut dyn Transaction, item: ItemId) -> Result<bool, RegistryError> {
    if has_unrecorded(tx, item)? {
        return Ok(false);
    }
    let (had, keeps) = (reserved(tx, item)?, staged_and_kept(tx, item)?);
    if tx.execute(Statement("space.keep_staged"), &[item.into(), keeps.into()])? == 0 || keeps > had {
        return Ok(false);
    }
    interim::put_facts(tx, item, &[(RETURNED.to_owned(), "true".to_owned())])?;
    Ok(true)
}

/// Whether an item has returned space when it failed: it has to ask for it again before it goes on.
pub fn has_returned(tx: &mut dyn Transaction, item: ItemId) -> Result<bool, RegistryError> {
    Ok(interim::fact(tx, item, RETURNED)?.is_some())
}

/// Notes whether bytes of an item may lie in staging that no row has. A worker that is killed leaves them there: until they are recorded or removed,
/// nothing of what covers them is returned.
pub fn set_unrecorded(tx: &mut dyn Transaction, claim: &Claim, may_lie_there: bool) -> Result<(), RegistryError> {
    if may_lie_there {
        return interim::set_fact(tx, claim, UNRECORDED, "true");
    }
    work::check_fence(tx, claim)?;
    tx.execute(Statement("interim.drop_fact"), &[claim.item.into(), UNRECORDED.into()])?;
    Ok(())
}

/// Whether bytes of an item may lie in staging that no row has.
pub fn has_unrecorded(tx: &mut dyn Transaction, item: ItemId) -> Result<bool, RegistryError> {
    Ok(interim::fact(tx, item, UNRECORDED)?.is_some())
}

/// Bytes of downloads that are kept on their way for an item, as far as that was noted.
pub fn kept(tx: &mut dyn Transaction, item: ItemId) -> Result<u64, RegistryError> {
    Ok(bytes_fact(tx, item, KEPT)?.unwrap_or_default())
}

/// Notes how many bytes of downloads are kept on their way for an item: should it fail, they count as what it has.
pub fn set_kept(tx: &mut dyn Transaction, claim: &Claim, bytes: u64) -> Result<(), RegistryError> {
    interim::set_fact(tx, claim, KEPT, &bytes.to_string())
}

/// Returns what is reserved for an item beyond what it has in staging and of downloads: its bytes do not come now. What it has waited for because
/// there was no room for it, it keeps. The topics that have new work, where that is some.
pub fn return_unused(tx: &mut dyn Transaction, claim: &Claim) -> Result<Vec<String>, RegistryError> {
    let has = staged_and_kept(tx, claim.item)?.max(needed_at_least(tx, claim.item)?.refused);
    shrink(tx, claim, has)
}

/// Bytes that an item has in staging and of downloads.
fn staged_and_kept(tx: &mut dyn Transaction, item: ItemId) -> Result<u64, RegistryError> {
    let row = tx.query_one(Statement("space.staged"), &[item.into()])?;
    let staged = row.map(|row| row.count("bytes")).transpose()?.unwrap_or_default();
    Ok(staged.saturating_add(kept(tx, item)?))
}

/// Returns what is reserved for an item beyond so many bytes; where that is some, those that wait for space are woken. The topics that have new
/// work.
pub fn shrink(tx: &mut dyn Transaction, claim: &Claim, bytes: u64) -> Result<Vec<String>, RegistryError> {
    work::check_fence(tx, claim)?;
    if tx.execute(Statement("space.shrink"), &[claim.item.into(), bytes.into()])? == 0 {
        return Ok(Vec::new());
    }
    work::wake_all(tx, &WaitKey::staging(), Some(claim.item.0))
}

/// Bytes that are reserved for an item.
pub fn reserved(tx: &mut dyn Transaction, item: ItemId) -> Result<u64, RegistryError> {
    let row = tx.query_one(Statement("space.reserved"), &[item.into()])?;
    Ok(row.map(|row| row.count("bytes")).transpose()?.unwrap_or_default())
}

/// Gives staging space back before the item ends, because there is no room for more. It begins again when what it needs is free, and has
/// waited since then where it had waited before.
pub fn give_back(
    tx: &mut dyn Transaction,
    claim: &Claim,
    needed: Needed,
    waited_since: Option<Time>,
) -> Result<(), RegistryError> {
    interim::set_fact(tx, claim, NEEDED, &needed.free.to_string())?;
    interim::set_fact(tx, claim, REFUSED, &needed.refused.to_string())?;
    if let Some(since) = waited_since {
        put_waited_since(tx, claim.item, since)?;
    }
    tx.execute(Statement("space.release"), &[claim.item.into()])?;
    Ok(())
}

/// At most `limit` items that have waited for space for so long, in the order of their waits.
pub fn waiting_for(tx: &mut dyn Transaction, wait: Duration, limit: usize) -> Result<Vec<ItemId>, RegistryError> {
    let since = before(tx.now()?, wait);
    let rows = tx.query(Statement("space.waiting_since"), &[since.into(), limit.into()])?;
    rows.iter().map(|row| Ok(ItemId(row.uuid("item_id")?))).collect()
}

/// What the items of a status have in staging.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SpaceOfStatus {
    /// Where they are.
    pub status: ItemStatus,
    /// How many they are.
    pub items: u64,
    /// Bytes that are reserved for them.
    pub bytes: u64,
}

/// What there is in staging, by the status of the items that have it.
pub fn by_status(tx: &mut dyn Transaction) -> Result<Vec<SpaceOfStatus>, RegistryError> {
    let rows = tx.query(Statement("space.sums"), &[])?;
    let of_row = |row: &Row| {
        Ok::<_, RegistryError>(SpaceOfStatus {
            status: row.text("status")?.parse()?,
            items: row.count("items")?,
            bytes: row.count("bytes")?,
        })
    };
    rows.iter().map(of_row).collect()
}

/// At most `limit` items after one, by their identifiers, that failed at `before` or earlier and still have space.
pub fn failed_before(
    tx: &mut dyn Transaction,
    before: Time,
    after: ItemId,
    limit: usize,
) -> Result<Vec<ItemId>, RegistryError> {
    let rows = tx.query(Statement("space.failed_before"), &[before.into(), after.into(), limit.into()])?;
    rows.iter().map(|row| Ok(ItemId(row.uuid("item_id")?))).collect()
}

/// Marks what an item that failed at `before` or earlier has in staging as being removed, discards what it prepared, and enqueues the
/// task that removes both, with a line in the history of the item. The topics that have new work; none where it is another item by now.
pub fn reclaim_failed(
    tx: &mut dyn Transaction,
    id: ItemId,
    before: Time,
    note: &str,
) -> Result<Option<Vec<String>>, RegistryError> {
    items::lock(tx, id)?;
    let Some(item) = items::get(tx, Scope::System, id)? else { return Ok(None) };
    if item.status != ItemStatus::Failed || item.updated_at > before || !interim::has_reservation(tx, id)? {
        return Ok(None);
    }
    interim::discard_staging(tx, id)?;
    items::add_history(tx, id, NewLine { note: Some(note), ..NewLine::new(item.stage, item.status) })?;
    sweep_later(tx, &item).map(Some)
}

/// The item that has most of staging beside one, or of what the institution of that has there.
fn most(tx: &mut dyn Transaction, item: ItemId, of_institution: bool) -> Result<Option<SpaceHolder>, RegistryError> {
    let row = tx.query_one(Statement("space.most"), &[item.into(), of_institution.into()])?;
    row.map(|row| {
        Ok::<_, RegistryError>(SpaceHolder {
            item: ItemId(row.uuid("item_id")?),
            institution: InstitutionId(row.uuid("institution_id")?),
            bytes: row.count("bytes")?,
            status: row.text("status")?.parse()?,
            stage: row.text("stage")?.parse()?,
        })
    })
    .transpose()
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
    /// Bytes that it has.
    reserved: u64,
    /// Whether it has rows of staged files, or facts.
    has_rows: bool,
    /// Bytes.
    reserved_by_others: u64,
    /// Most bytes that the institution of the item may have in staging.
    quota: Option<u64>,
    /// Bytes of the other items of the institution, where it has a quota.
    reserved_by_institution: u64,
    /// Since when it waits for space.
    waits_since: Option<Time>,
    /// Whether other items wait for space.
    others_wait: bool,
}

impl Space {
    /// Whether the institution may have so many bytes more.
    fn is_in_quota(&self, bytes: u64) -> bool {
        self.quota.is_none_or(|quota| self.reserved_by_institution.saturating_add(bytes) <= quota)
    }

    /// As many bytes as the item could have alone.
    fn at_most(&self, bytes: u64, capacity: u64) -> u64 {
        bytes.min(capacity).min(self.quota.unwrap_or(u64::MAX))
    }

    /// Bytes of the quota of the institution that no item has.
    fn free_of_quota(&self) -> u64 {
        self.quota.unwrap_or(u64::MAX).saturating_sub(self.reserved_by_institution)
    }
}

fn look_at_space(tx: &mut dyn Transaction, item: ItemId) -> Result<Space, RegistryError> {
    let row = tx.query_one(Statement("space.look"), &[item.into()])?;
    let row = row.ok_or_else(|| RegistryError::NotFound { what: "staging of work item", id: item.to_string() })?;
    Ok(Space {
        place: row.optional_uuid("item_id")?.map(|_| place_row(&row)).transpose()?,
        reserved: optional_count(&row, "bytes")?.unwrap_or_default(),
        has_rows: row.bool("has_rows")?,
        reserved_by_others: row.count("reserved_bytes")?,
        quota: optional_count(&row, "staging_quota")?,
        reserved_by_institution: row.count("reserved_by_institution")?,
        waits_since: row.optional_time("waits_since")?,
        others_wait: row.bool("others_wait")?,
    })
}
