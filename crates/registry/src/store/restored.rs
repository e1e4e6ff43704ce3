//! What restorations have put into the restoration store: a row for each key, written before the first byte; what is about
//! to be put, by size and SHA-256, before the last one; and until when it stays. A place that one work item has used is
//! never used by another, so that a removal or a put that comes late meets only what its own item has put.

use strongroom_database::{Row, Statement, Time, Transaction, Value};
use uuid::Uuid;

use crate::work::{self, Claim};
use crate::{InstitutionId, ItemId, ItemStatus, RegistryError, RestoredState, Scope, items};

/// A place in a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The store's name.
    pub store: String,
    /// The key within it.
    pub key: String,
}

/// Something that a restoration has put, or is about to put.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restored {
    /// The work item that did.
    pub item: ItemId,
    /// Where.
    pub place: Place,
    /// For whom.
    pub institution: InstitutionId,
    /// What became of it.
    pub state: RestoredState,
    /// As the store knew it when it had been put.
    pub etag: Option<String>,
    /// Bytes.
    pub size: Option<u64>,
    /// The SHA-256 of what was about to be put when its last byte was sent, in hexadecimal.
    pub sha256: Option<String>,
    /// When its state last changed.
    pub changed_at: Time,
    /// When it is removed; none: it stays.
    pub expires_at: Option<Time>,
    /// How its work item stands.
    pub item_status: ItemStatus,
}

/// Whether a restoration may put something at a place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Turn {
    /// It may.
    Ours {
        /// What an earlier attempt of the same work item was about to put there, and may have put.
        announced: Option<Announced>,
    },
    /// Another work item has used the place, or this one has and is done with it.
    Taken,
}

/// Size and digest of what an attempt puts, known before the store can keep it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Announced {
    /// Bytes.
    pub size: u64,
    /// SHA-256 in hexadecimal.
    pub sha256: String,
}

impl Restored {
    /// What was about to be put, where that was said.
    pub fn announced(&self) -> Option<Announced> {
        Some(Announced { size: self.size?, sha256: self.sha256.clone()? })
    }

    /// Whether nothing was ever put or removed here: the place may be used.
    fn is_unused(&self) -> bool {
        self.state == RestoredState::Removed && self.etag.is_none()
    }
}

/// Notes that a work item is about to put something at a place, where no other has used it.
pub fn begin(
    tx: &mut dyn Transaction,
    claim: &Claim,
    institution: InstitutionId,
    place: &Place,
) -> Result<Turn, RegistryError> {
    work::check_fence(tx, claim)?;
    let now = tx.now()?;
    let values = [(&place.store).into(), (&place.key).into()];
    let mut announced = None;
    for row in tx.query(Statement("restored.users"), &values)? {
        let known = restored_row(&row)?;
        if known.item == claim.item && known.state == RestoredState::Putting {
            announced = known.announced();
        } else if !known.is_unused() {
            return Ok(Turn::Taken);
        }
    }
    let values: [Value; 5] =
        [claim.item.into(), (&place.store).into(), (&place.key).into(), institution.into(), now.into()];
    tx.execute(Statement("restored.begin"), &values)?;
    Ok(Turn::Ours { announced })
}

/// Notes what is put at a place, before the store can keep it. From here the bytes are known for what this work item has
/// put, also where nothing more is heard of the attempt.
pub fn announce(
    tx: &mut dyn Transaction,
    claim: &Claim,
    place: &Place,
    announced: &Announced,
) -> Result<(), RegistryError> {
    work::check_fence(tx, claim)?;
    let [whose, store, key]: [Value; 3] = [claim.item.into(), (&place.store).into(), (&place.key).into()];
    let values = [whose, store, key, announced.size.into(), announced.sha256.as_str().into(), tx.now()?.into()];
    tx.execute(Statement("restored.announce"), &values)?;
    Ok(())
}

/// Gives a place up at which the work item has put nothing: what lies there is not its own.
pub fn give_up(tx: &mut dyn Transaction, claim: &Claim, place: &Place) -> Result<(), RegistryError> {
    work::check_fence(tx, claim)?;
    let values: [Value; 3] = [claim.item.into(), (&place.store).into(), (&place.key).into()];
    tx.execute(Statement("restored.give_up"), &values)?;
    Ok(())
}

/// Notes that a work item has put something, and that nothing else of the record lies there any more.
pub fn keep(
    tx: &mut dyn Transaction,
    claim: &Claim,
    place: &Place,
    etag: &str,
    size: u64,
    expires_at: Option<Time>,
) -> Result<(), RegistryError> {
    work::check_fence(tx, claim)?;
    set_kept(tx, claim.item, place, etag, size, expires_at)
}

fn set_kept(
    tx: &mut dyn Transaction,
    item: ItemId,
    place: &Place,
    etag: &str,
    size: u64,
    expires_at: Option<Time>,
) -> Result<(), RegistryError> {
    let now = tx.now()?;
    let [whose, store, key]: [Value; 3] = [item.into(), (&place.store).into(), (&place.key).into()];
    tx.execute(Statement("restored.replace"), &[whose.clone(), store.clone(), key.clone(), now.into()])?;
    let values = [whose, store, key, etag.into(), size.into(), now.into(), expires_at.into()];
    tx.execute(Statement("restored.keep"), &values)?;
    Ok(())
}

/// What a work item has put.
pub fn of_item(tx: &mut dyn Transaction, item: ItemId) -> Result<Vec<Restored>, RegistryError> {
    tx.query(Statement("restored.of_item"), &[item.into()])?.iter().map(restored_row).collect()
}

fn at_place(tx: &mut dyn Transaction, place: &Place) -> Result<Vec<Restored>, RegistryError> {
    let values = [(&place.store).into(), (&place.key).into()];
    tx.query(Statement("restored.at_place"), &values)?.iter().map(restored_row).collect()
}

/// What is to be removed by now, in order of the work items, after `after`; also what a process has begun to remove.
pub fn expired(
    tx: &mut dyn Transaction,
    after: Option<&Restored>,
    limit: usize,
) -> Result<Vec<Restored>, RegistryError> {
    let mut values: Vec<Value> = vec![tx.now()?.into()];
    values.extend(behind(after));
    values.push(limit.into());
    tx.query(Statement("restored.expired"), &values)?.iter().map(restored_row).collect()
}

/// What work items were about to put that have ended since, in order of the work items, after `after`.
pub fn abandoned(
    tx: &mut dyn Transaction,
    after: Option<&Restored>,
    limit: usize,
) -> Result<Vec<Restored>, RegistryError> {
    let mut values: Vec<Value> = behind(after).into();
    values.push(limit.into());
    tx.query(Statement("restored.abandoned"), &values)?.iter().map(restored_row).collect()
}

fn behind(after: Option<&Restored>) -> [Value; 3] {
    match after {
        None => [ItemId(Uuid::nil()).into(), "".into(), "".into()],
        Some(last) => [last.item.into(), (&last.place.store).into(), (&last.place.key).into()],
    }
}

/// Begins to remove something whose time has run out, where it is still what the record has there and no process is putting
/// something in its place. Whether that is so.
pub fn begin_removal(tx: &mut dyn Transaction, expired: &Restored) -> Result<bool, RegistryError> {
    let now = tx.now()?;
    let here = at_place(tx, &expired.place)?;
    let is_ours = here.iter().any(|one| {
        let is_meant = matches!(one.state, RestoredState::Kept | RestoredState::Removing);
        one.item == expired.item && is_meant && one.expires_at.is_some_and(|at| at <= now)
    });
    let is_being_put =
        here.iter().any(|one| one.state == RestoredState::Putting && one.item_status == ItemStatus::Started);
    if !is_ours || is_being_put {
        return Ok(false);
    }
    set_state(tx, expired, RestoredState::Removing)?;
    Ok(true)
}

/// Ends a removal: it is gone, or (`was_there` is false) something else lies in its place. A line of the item's history says
/// so.
pub fn end_removal(tx: &mut dyn Transaction, removed: &Restored, was_there: bool) -> Result<(), RegistryError> {
    let Some(current) = get(tx, removed)?.filter(|current| current.state == RestoredState::Removing) else {
        return Ok(());
    };
    let Place { key, store } = &current.place;
    let (state, note) = if was_there {
        (RestoredState::Removed, format!("{key} removed from store {store}: its time had ended"))
    } else {
        (RestoredState::Changed, format!("{key} in store {store} was changed by another program or person and stays"))
    };
    set_state(tx, &current, state)?;
    let item = items::find(tx, Scope::System, current.item)?;
    let line = items::NewLine { note: Some(&note), ..items::NewLine::new(item.stage, item.status) };
    items::add_history(tx, item.id, line)
}

/// What lies at a place where a work item was about to put something when it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Left<'e> {
    /// Nothing.
    Nothing,
    /// The bytes that it was about to put, under this etag and of this size.
    Ours(&'e str, u64),
    /// Something that cannot be shown to be its own.
    Other,
}

/// Settles what a work item was about to put when it ended: what it had put is kept until `expires_at`; what is not its own
/// stays, and is never removed.
pub fn settle_abandoned(
    tx: &mut dyn Transaction,
    abandoned: &Restored,
    left: Left<'_>,
    expires_at: Option<Time>,
) -> Result<(), RegistryError> {
    let is_abandoned = |one: &Restored| one.state == RestoredState::Putting && one.item_status.is_ended();
    let Some(current) = get(tx, abandoned)?.filter(is_abandoned) else { return Ok(()) };
    match left {
        Left::Nothing => set_state(tx, &current, RestoredState::Removed),
        Left::Other => set_state(tx, &current, RestoredState::Changed),
        Left::Ours(etag, size) => set_kept(tx, current.item, &current.place, etag, size, expires_at),
    }
}

fn get(tx: &mut dyn Transaction, known: &Restored) -> Result<Option<Restored>, RegistryError> {
    let values = [known.item.into(), (&known.place.store).into(), (&known.place.key).into()];
    tx.query_one(Statement("restored.get"), &values)?.as_ref().map(restored_row).transpose()
}

fn set_state(tx: &mut dyn Transaction, known: &Restored, state: RestoredState) -> Result<(), RegistryError> {
    let now = tx.now()?;
    let values: [Value; 5] =
        [known.item.into(), (&known.place.store).into(), (&known.place.key).into(), state.as_str().into(), now.into()];
    tx.execute(Statement("restored.move"), &values)?;
    Ok(())
}

fn restored_row(row: &Row) -> Result<Restored, RegistryError> {
    Ok(Restored {
        item: ItemId(row.uuid("item_id")?),
        place: Place { store: row.text("store")?.to_owned(), key: row.text("key")?.to_owned() },
        institution: InstitutionId(row.uuid("institution_id")?),
        state: row.text("state")?.parse()?,
        etag: row.optional_text("etag")?.map(str::to_owned),
        size: row.optional_integer("size")?.and_then(|size| u64::try_from(size).ok()),
        changed_at: row.time("changed_at")?,
        expires_at: row.optional_time("expires_at")?,
        item_status: row.text("status")?.parse()?,
        sha256: row.optional_text("sha256")?.map(str::to_owned),
    })
}
