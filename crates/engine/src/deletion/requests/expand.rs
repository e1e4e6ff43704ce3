//! expand: makes the work items of a request, one for each object, page by page in one transaction each. What has no work item yet says where
//! to go on, so that what was cut short goes on there and makes none twice.

use strongroom_registry::deletion_requests::{self, Options, Request};
use strongroom_registry::deletion_targets::{self, Unmade};
use strongroom_registry::items::{self, NewItem};
use strongroom_registry::{
    ActorId, BatchId, DeletionRequestId, ItemId, RegistryError, Transaction, Workflows, batches, counted, work,
};

use super::super::{OF_FILES, OF_OBJECTS};
use super::options;
use crate::crash_point;
use crate::workflow::{Outcome, StageContext, StageError};

/// Work items made in one transaction.
const ITEMS_AT_ONCE: usize = 200;

/// What a page came to.
enum Page {
    /// The topics of the work items that were made.
    Made(Vec<String>),
    /// Every object has one.
    Over,
    /// A person asked it to stop.
    Stopped,
    /// The request is not approved any more.
    NotApproved,
}

pub(super) fn run(context: &StageContext<'_>) -> Result<Outcome, StageError> {
    let Options { request: id } = serde_json::from_str(&context.item.options)?;
    let batch = context.item.batch.ok_or_else(|| StageError::fatal("the work item is of no batch"))?;
    let actor = context.actor()?.map(|actor| actor.id);
    loop {
        context.task.check()?;
        let workflows = context.registry().workflows();
        let page = context.write(move |tx, claim| {
            if work::is_asked_to_stop(tx, claim)? {
                return Ok(Page::Stopped);
            }
            make(tx, workflows.as_ref(), id, (batch, actor))
        })?;
        match page {
            Page::Made(topics) => context.registry().wakeups().notify(topics.iter().map(String::as_str)),
            Page::Over => break,
            Page::Stopped => return Err(StageError::asked_to_stop()),
            Page::NotApproved => return Err(StageError::fatal("the request for deletion is not approved any more")),
        }
        crash_point("deletion.expand.page");
    }
    let request = context.registry().read(|tx| deletion_requests::find(tx, strongroom_registry::Scope::System, id))?;
    let list = context.item.id;
    context.with_end(move |tx, _| batches::list_made(tx, batch, list));
    Ok(Outcome::done(format!("{} to be deleted from", counted(request.objects, "object is", "objects are"))))
}

/// Makes the work items of the next objects.
fn make(
    tx: &mut dyn Transaction,
    workflows: &dyn Workflows,
    id: DeletionRequestId,
    (batch, actor): (BatchId, Option<ActorId>),
) -> Result<Page, RegistryError> {
    if !deletion_requests::keep_approved(tx, id)? {
        return Ok(Page::NotApproved);
    }
    let request = deletion_requests::find(tx, strongroom_registry::Scope::System, id)?;
    let objects = deletion_targets::unmade(tx, id, None, ITEMS_AT_ONCE)?;
    if objects.is_empty() {
        return Ok(Page::Over);
    }
    let mut new = Vec::with_capacity(objects.len());
    for object in objects {
        let item = item_of(&request, object, (batch, actor))?;
        if let Some(object) = item.object {
            deletion_targets::set_item(tx, id, object, item.id)?;
        }
        new.push(item);
    }
    Ok(Page::Made(items::create_all(tx, workflows, &mut new.into_iter())?))
}

fn item_of(
    request: &Request,
    object: Unmade,
    (batch, actor): (BatchId, Option<ActorId>),
) -> Result<NewItem, RegistryError> {
    let action = if object.is_whole { OF_OBJECTS.action } else { OF_FILES.action };
    let by = request.approved.as_ref().map_or("", |act| act.name.as_str());
    let name = object.identifier.split_once('/').map_or(object.identifier.as_str(), |(_, name)| name).to_owned();
    Ok(NewItem {
        id: ItemId::new(),
        batch: Some(batch),
        collection: object.collection,
        object: Some(object.object),
        name,
        size: Some(object.bytes),
        options: options(request.id)?,
        note: format!("requested by {}, approved by {by}", request.requested.name),
        actor,
        ..NewItem::new(action, request.institution, object.identifier)
    })
}
