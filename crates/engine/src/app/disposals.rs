//! Disposal schedules: which objects of a collection are due for disposal by its rules, and what forbids their deletion now. Nothing is
//! deleted by it: what is due becomes a request, which takes two persons.

use strongroom_registry::obstacles::{self, Obstacle};
use strongroom_registry::{ObjectId, RegistryError, Scope, Time, Transaction};

use super::authorization::COLLECTIONS_DUE;
use super::collections::existing;
use super::views::{DueView, ObstacleToDeletionView};
use super::{OpContext, Page};
use crate::EngineError;

/// Objects whose times are read at once. Of those that are due, what forbids their deletion is asked as well.
const OBJECTS_AT_ONCE: usize = 200;

/// Objects of a collection that are due for disposal at `until` at the latest, or by now, in the order in which they were first deposited,
/// behind `after`. A page may be empty although others follow. None is due where the rules of the collection have no disposal.
pub fn due(
    context: &OpContext,
    (institution, collection): (&str, &str),
    until: Option<Time>,
    after: Option<ObjectId>,
) -> Result<Page<DueView, ObjectId>, EngineError> {
    let (authorized, found) = existing(context, &COLLECTIONS_DUE, institution, collection)?;
    let Some(disposal) = found.rules.disposal else { return Ok(Page { items: Vec::new(), next: None }) };
    Ok(authorized.read(|tx| {
        let now = tx.now()?;
        let until = until.unwrap_or(now);
        let objects = obstacles::deposits_of_collection(tx, found.id, after, OBJECTS_AT_ONCE)?;
        let next = objects.last().map(|last| last.object);
        let mut items = Vec::new();
        for object in objects {
            let due_since = disposal.end(object.deposited_at);
            if due_since > until {
                continue;
            }
            items.push(DueView {
                object: object.object,
                identifier: object.identifier,
                institution: found.institution_identifier.clone(),
                collection: found.identifier.clone(),
                deposited_at: object.deposited_at.to_string(),
                due_since: due_since.to_string(),
                disposal: disposal.to_string(),
                rules_version: found.rules_version,
                files: object.files,
                bytes: object.bytes,
                obstacles: what_forbids(tx, object.object, now)?,
            });
        }
        Ok::<_, RegistryError>(Page { items, next })
    })?)
}

/// What in the registry forbids the deletion of an object now.
fn what_forbids(
    tx: &mut dyn Transaction,
    object: ObjectId,
    now: Time,
) -> Result<Vec<ObstacleToDeletionView>, RegistryError> {
    let found: Vec<Obstacle> = obstacles::of_deletion(tx, Scope::System, object, None, now)?;
    Ok(found.iter().map(ObstacleToDeletionView::from).collect())
}
