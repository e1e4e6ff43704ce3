//! Waking items that wait.

use std::collections::BTreeSet;

use strongroom_database::{Statement, Transaction};
use strongroom_queue::tasks;

use super::items::{self, Item};
use super::objects::optional_count;
use crate::{InstitutionId, ItemId, RegistryError, Scope, WaitKey};

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
    let mut tasks = Vec::new();
    for row in tx.query(Statement("items.waiting"), &[key.0.as_str().into(), except.into()])? {
        let (id, institution) = (ItemId(row.uuid("id")?), InstitutionId(row.uuid("institution_id")?));
        let urgency = items::task_priority(row.integer("priority")?, optional_count(&row, "size")?);
        tasks.push(items::task_of(id, row.text("topic")?, urgency, institution));
    }
    if *key == WaitKey::staging() {
        // Many items wait for this, and every end of a stage that frees space wakes them with its own task locked: two that waited for the tasks of
        // each other would never end. An item that is passed by looks again within a minute.
        tasks::hasten(tx, &tasks)?;
    } else {
        tasks::enqueue(tx, &tasks)?;
    }
    let topics: BTreeSet<String> = tasks.into_iter().map(|task| task.topic).collect();
    Ok(topics.into_iter().collect())
}

/// Brings an item's waiting task forward to now: enqueueing it again does just that.
pub(super) fn wake(tx: &mut dyn Transaction, item: &Item) -> Result<String, RegistryError> {
    items::enqueue(tx, item, &item.topic)?;
    Ok(item.topic.clone())
}
