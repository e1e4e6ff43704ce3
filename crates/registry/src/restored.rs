//! What restorations have put into the restoration store: a row for each key, written before the first byte, so that nothing
//! lies there that the record does not know; and until when it stays. At one place one restoration puts at a time.

use std::time::Duration;

use strongroom_database::{Row, Statement, Time, Transaction, Value};
use uuid::Uuid;

use crate::work::{self, Claim};
use crate::{InstitutionId, ItemId, ItemStatus, RegistryError, RestoredState, Scope, items};

/// How long a removal that has begun is given before a restoration under the same name takes its place.
const REMOVAL_TAKES: Duration = Duration::from_mins(5);
/// How soon a place is looked at again at which somebody else is putting something.
const LOOK_AGAIN: Duration = Duration::from_secs(10);

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
    /// When its state last changed.
    pub changed_at: Time,
    /// When it is removed; none: it stays.
    pub expires_at: Option<Time>,
    /// How its work item stands.
    pub item_status: ItemStatus,
}

/// Whether a restoration may put something at a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    /// It may.
    Ours,
    /// Somebody else is at it; look again then.
    Busy(Time),
}

/// Notes that a work item is about to put something at a place, unless another one is doing so, or what lies there is being
/// removed.
pub fn begin(
    tx: &mut dyn Transaction,
    claim: &Claim,
    institution: InstitutionId,
    place: &Place,
) -> Result<Turn, RegistryError> {
    work::check_fence(tx, claim)?;
    let now = tx.now()?;
    for other in at_place(tx, place)?.iter().filter(|other| other.item != claim.item) {
        match other.state {
            RestoredState::Putting if other.item_status == ItemStatus::Started => {
                return Ok(Turn::Busy(now.plus(micros(LOOK_AGAIN))));
            }
            RestoredState::Removing if other.changed_at.plus(micros(REMOVAL_TAKES)) > now => {
                return Ok(Turn::Busy(other.changed_at.plus(micros(REMOVAL_TAKES))));
            }
            _ => {}
        }
    }
    let values: [Value; 5] =
        [claim.item.into(), (&place.store).into(), (&place.key).into(), institution.into(), now.into()];
    tx.execute(Statement("restored.begin"), &values)?;
    Ok(Turn::Ours)
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

/// What is to be removed by now, in order of the work items, after `after`; also what somebody has begun to remove.
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

/// Begins to remove something whose time has run out, where it is still what the record has there and nobody is putting
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
        (RestoredState::Removed, format!("{key} removed from store {store}: its time had run out"))
    } else {
        (RestoredState::Changed, format!("{key} in store {store} was changed by somebody else and stays"))
    };
    set_state(tx, &current, state)?;
    let item = items::find(tx, Scope::System, current.item)?;
    items::add_history(tx, item.id, item.stage, item.status, Some(&note), None)
}

/// What lies at a place where a work item was about to put something when it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Left<'e> {
    /// Nothing.
    Nothing,
    /// Something of this etag and size.
    Bytes(&'e str, u64),
}

/// Settles what a work item was about to put when it ended: what it had put is kept until `expires_at`, what lay there
/// before stays what it was.
pub fn settle_abandoned(
    tx: &mut dyn Transaction,
    abandoned: &Restored,
    left: Left<'_>,
    expires_at: Option<Time>,
) -> Result<(), RegistryError> {
    let is_abandoned = |one: &Restored| one.state == RestoredState::Putting && one.item_status.is_ended();
    let Some(current) = get(tx, abandoned)?.filter(is_abandoned) else { return Ok(()) };
    let others: Vec<Restored> =
        at_place(tx, &current.place)?.into_iter().filter(|other| other.item != current.item).collect();
    let (etag, size) = match left {
        Left::Nothing => return set_state(tx, &current, RestoredState::Removed),
        Left::Bytes(etag, size) => (etag, size),
    };
    let is_at_work = |other: &Restored| match other.state {
        RestoredState::Putting => !other.item_status.is_ended(),
        state => state == RestoredState::Removing,
    };
    if others.iter().any(is_at_work) {
        // Whoever is at it settles it.
        return Ok(());
    }
    if others.iter().any(|other| other.etag.as_deref() == Some(etag)) {
        return set_state(tx, &current, RestoredState::Replaced);
    }
    set_kept(tx, current.item, &current.place, etag, size, expires_at)
}

fn get(tx: &mut dyn Transaction, known: &Restored) -> Result<Option<Restored>, RegistryError> {
    let values = [known.item.into(), (&known.place.store).into(), (&known.place.key).into()];
    tx.query_one(Statement("restored.get"), &values)?.as_ref().map(restored_row).transpose()
}

fn set_state(tx: &mut dyn Transaction, known: &Restored, state: RestoredState) -> Result<(), RegistryError> {
    let now = tx.now()?;
    let values: [Value; 5] =
        [known.item.into(), (&known.place.store).into(), (&known.place.key).into(), state.word().into(), now.into()];
    tx.execute(Statement("restored.move"), &values)?;
    Ok(())
}

fn micros(span: Duration) -> i64 {
    i64::try_from(span.as_micros()).unwrap_or(i64::MAX)
}

fn restored_row(row: &Row) -> Result<Restored, RegistryError> {
    Ok(Restored {
        item: ItemId(row.uuid(0)?),
        place: Place { store: row.text(1)?.to_owned(), key: row.text(2)?.to_owned() },
        institution: InstitutionId(row.uuid(3)?),
        state: row.text(4)?.parse()?,
        etag: row.optional_text(5)?.map(str::to_owned),
        size: row.optional_integer(6)?.and_then(|size| u64::try_from(size).ok()),
        changed_at: row.time(7)?,
        expires_at: row.optional_time(8)?,
        item_status: row.text(9)?.parse()?,
    })
}
