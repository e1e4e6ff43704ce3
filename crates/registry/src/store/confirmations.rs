//! Items that wait for the confirmation of a program: what becomes of its message wakes them, and a person can give the confirmation up.

use serde::{Deserialize, Serialize};
use strongroom_database::Transaction;

use super::items::{self, Asker, Item, NewLine, Request};
use super::waking::wake;
use crate::model::actor::name_of;
use crate::{ItemId, ItemStatus, RegistryError, Scope, WaitKey, Workflows, interim};

/// The fact of an item that nobody confirms it any more.
const FACT: &str = "confirmation_given_up";

/// How the confirmation of an item was given up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GivenUp {
    /// By whom.
    pub by: String,
    /// Why.
    pub reason: String,
}

/// Whether all that an item lacks is the confirmation of a program.
pub fn is_awaited(item: &Item) -> bool {
    item.wait_key == Some(WaitKey::confirmation()) && matches!(item.status, ItemStatus::Pending | ItemStatus::Started)
}

/// Wakes an item that waits for the confirmation of a program, also one that is looking for it right now. The topics that have new work.
pub fn look_again(tx: &mut dyn Transaction, item: &Item) -> Result<Vec<String>, RegistryError> {
    if is_awaited(item) { wake(tx, item).map(|topic| vec![topic]) } else { Ok(Vec::new()) }
}

/// The same for the item that a message is about, if there is one.
pub fn look_again_for(tx: &mut dyn Transaction, about: Option<ItemId>) -> Result<Vec<String>, RegistryError> {
    let item = about.map(|id| items::get(tx, Scope::System, id)).transpose()?.flatten();
    item.map_or(Ok(Vec::new()), |item| look_again(tx, &item))
}

/// Has an item succeed without the confirmation that it waits for, or that it failed without, when it is next looked at: at once. One that
/// failed is requeued. The topics that have new work.
///
/// # Errors
/// It failed, and cannot be requeued.
pub fn give_up(
    tx: &mut dyn Transaction,
    workflows: &dyn Workflows,
    item: &Item,
    given_up: &GivenUp,
) -> Result<Vec<String>, RegistryError> {
    let by = Asker { who: &given_up.by, reason: Some(&given_up.reason) };
    let topics = if item.status == ItemStatus::Failed {
        items::request(tx, workflows, Scope::System, item.id, Request::Requeue(None), by)?
    } else {
        look_again(tx, item)?
    };
    let note = format!("its confirmation was given up by {}: {}", name_of(&given_up.by), given_up.reason);
    let status = if item.status == ItemStatus::Failed { ItemStatus::Pending } else { item.status };
    let line = NewLine { note: Some(&note), actor: Some(&given_up.by), ..NewLine::new(item.stage, status) };
    items::add_history(tx, item.id, line)?;
    // Texts only: it cannot fail.
    let text = serde_json::to_string(given_up).unwrap_or_default();
    interim::put_facts(tx, item.id, &[(FACT.to_owned(), text)])?;
    Ok(topics)
}

/// How the confirmation of an item was given up, where it was.
pub fn given_up(tx: &mut dyn Transaction, item: ItemId) -> Result<Option<GivenUp>, RegistryError> {
    let found = interim::fact(tx, item, FACT)?;
    let corrupt =
        |text: &str| RegistryError::Corrupt { wanted: "how a confirmation was given up", found: text.to_owned() };
    found.map(|text| serde_json::from_str(&text).map_err(|_| corrupt(&text))).transpose()
}
