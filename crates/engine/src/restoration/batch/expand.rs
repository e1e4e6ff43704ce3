//! expand: makes the work items of a batch, page by page in one transaction each. Where the next page begins follows from the
//! work items that are there, so that what was cut short goes on there and makes none twice.

use strongroom_registry::counted;
use strongroom_registry::items::{self, NewItem};
use strongroom_registry::restorations::{self, ObjectVersion};
use strongroom_registry::{ActorId, ObjectId, RegistryError, Scope, batches, objects, work};

use super::super::request::{RestoreOptions, of_object};
use super::{BatchOptions, batch_of};
use crate::crash_point;
use crate::workflow::{Outcome, StageContext, StageError};

/// Work items made in one transaction.
const ITEMS_AT_ONCE: usize = 200;

pub(super) fn run(context: &StageContext<'_>) -> Result<Outcome, StageError> {
    let options: BatchOptions = serde_json::from_str(&context.item.options)?;
    let actor = context.actor()?.map(|actor| actor.id);
    let batch = batch_of(context)?;
    let (mut made, mut after) = context.registry().read(|tx| restorations::progress(tx, batch))?;
    loop {
        context.task.check()?;
        let page = next_page(context, &options, after)?;
        let Some(last) = page.last() else { break };
        after = Some(last.object);
        made += page.len() as u64;
        make(context, &options, actor, page)?;
        crash_point("restoration.expand.page");
    }
    let list = context.item.id;
    context.with_end(move |tx, _| batches::list_made(tx, batch, list));
    Ok(Outcome::done(format!("{} to be restored", counted(made, "object is", "objects are"))))
}

/// The next objects that have no work items. Those of a list go from it as work items are made of them.
fn next_page(
    context: &StageContext<'_>,
    options: &BatchOptions,
    after: Option<ObjectId>,
) -> Result<Vec<ObjectVersion>, StageError> {
    let batch = batch_of(context)?;
    let collection = context.item.collection.filter(|_| !options.of_list);
    let page = context.registry().read(|tx| match collection {
        None => restorations::entries(tx, batch, ITEMS_AT_ONCE),
        Some(collection) => restorations::objects_of_collection(tx, collection, after, ITEMS_AT_ONCE),
    });
    Ok(page?)
}

/// Makes the work items of a page.
fn make(
    context: &StageContext<'_>,
    options: &BatchOptions,
    actor: Option<ActorId>,
    page: Vec<ObjectVersion>,
) -> Result<(), StageError> {
    let (batch, workflows) = (batch_of(context)?, context.registry().workflows());
    let scope = Scope::Institution(context.item.institution);
    let (to, requested_by) = (options.to.clone(), options.requested_by.clone());
    let (collection, priority) = (context.item.collection, context.item.priority);
    let topics = context.write(move |tx, claim| {
        if work::is_asked_to_stop(tx, claim)? {
            return Ok(None);
        }
        let mut topics = Vec::new();
        for entry in &page {
            let Some(object) = objects::get(tx, scope, entry.object)? else {
                return Err(RegistryError::NotFound { what: "object", id: entry.object.to_string() });
            };
            let options = RestoreOptions {
                version: Some(entry.version),
                to: to.clone(),
                requested_by: requested_by.clone(),
                ..RestoreOptions::default()
            };
            let new = NewItem { batch: Some(batch), collection, priority, actor, ..of_object(&object, &options)? };
            topics.push(items::create(tx, workflows.as_ref(), &new)?);
            restorations::drop_entry(tx, batch, entry.object)?;
        }
        topics.dedup();
        Ok(Some(topics))
    })?;
    let topics = topics.ok_or_else(StageError::asked_to_stop)?;
    context.registry().wakeups().notify(topics.iter().map(String::as_str));
    Ok(())
}
