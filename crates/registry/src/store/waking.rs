//! Waking items that wait.

use strongroom_database::{Statement, Transaction};

use super::items::{self, Item};
use crate::{ItemId, RegistryError, Scope, WaitKey};

/// Wakes the next deposit of the same object that waits for its turn. The topics that have new work.
pub fn wake_younger(tx: &mut dyn Transaction, item: &Item) -> Result<Vec<String>, RegistryError> {
    let key = WaitKey::turn(item.institution, &item.object_identifier);
    let Some(row) = tx.query_one(Statement("items.next_waiting"), &[key.0.into(), item.id.into()])? else {
        return Ok(Vec::new());
    };
    let younger = items::find(tx, Scope::System, ItemId(row.uuid("id")?))?;
    wake(tx, &younger).map(|topic| vec![topic])
}

/// Wakes the items at work that have a key, but for `except`, whose end it is that wakes them. One that is looking right now
/// for what it may have to wait for is woken too, so that it does not sleep through this. The topics that have new work.
pub fn wake_all(
    tx: &mut dyn Transaction,
    key: &WaitKey,
    except: Option<uuid::Uuid>,
) -> Result<Vec<String>, RegistryError> {
    let mut topics = Vec::new();
    for row in tx.query(Statement("items.waiting"), &[key.0.as_str().into(), except.into()])? {
        let item = items::find(tx, Scope::System, ItemId(row.uuid("id")?))?;
        topics.push(wake(tx, &item)?);
    }
    topics.dedup();
    Ok(topics)
}

/// Brings an item's waiting task forward to now: enqueueing it again does just that.
pub(super) fn wake(tx: &mut dyn Transaction, item: &Item) -> Result<String, RegistryError> {
    items::enqueue(tx, item.id, &item.topic, item.priority, item.institution)?;
    Ok(item.topic.clone())
}
