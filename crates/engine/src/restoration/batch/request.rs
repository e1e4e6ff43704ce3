//! A request to restore many objects: those of a collection, or of a list. What it names is found within the scope of the
//! actor. A list is noted page by page before there is a batch; the last transaction makes batch and work item, so that a
//! list that was cut short is never one that seems whole.

use std::time::Duration;

use strongroom_registry::items::{self, NewItem};
use strongroom_registry::objects::Object;
use strongroom_registry::restorations::{self, ObjectVersion};
use strongroom_registry::{
    BatchId, CollectionId, InstitutionId, ItemId, ObjectState, RegistryError, Scope, Time, Transaction, Workflows,
    batches, tenants,
};

use super::super::request::{RestorationTarget, as_text, asked_by};
use super::{BatchOptions, OF_BATCHES};
use crate::arks::find_object;
use crate::journal::{JournalEntry, Target};
use crate::runtime::Shutdown;
use crate::{EngineError, Home};

/// Names of a list that are looked up and noted in one transaction.
const NAMES_AT_ONCE: usize = 200;
/// Unknown names that are listed; the rest is counted.
const MOST_UNKNOWN: usize = 1_000;
/// How long a list may be in the making before it counts as cut short.
const UNUSED_AFTER: Duration = Duration::from_hours(24);
/// The kind of a batch of restorations.
pub(crate) const KIND: &str = "restoration";

/// Which collection is asked for.
#[derive(Debug, Clone)]
pub struct CollectionRequest {
    /// What the actor acts for. An institution outside of it does not exist.
    pub scope: Scope,
    /// The institution's domain name.
    pub institution: String,
    /// The collection's short name.
    pub collection: String,
    /// Where bags and receipt are put.
    pub target: RestorationTarget,
    /// Whose act it is.
    pub by: JournalEntry,
}

/// How a list of objects is asked for.
#[derive(Debug, Clone)]
pub struct ListRequest {
    /// What the actor acts for. An object outside of it does not exist.
    pub scope: Scope,
    /// Where bags and receipt are put.
    pub target: RestorationTarget,
    /// Whose act it is.
    pub by: JournalEntry,
}

/// What a request made.
#[derive(Debug, Clone, Copy)]
pub struct BatchRequested {
    /// The batch.
    pub batch: BatchId,
    /// The work item that makes the others and writes the receipt.
    pub item: ItemId,
}

/// Makes a batch that restores every object of a collection as it is now.
///
/// # Errors
/// Institution or collection do not exist within the scope, the collection has no objects, or a request for one institution
/// names a folder of the server.
pub fn request_collection(home: &Home, request: &CollectionRequest) -> Result<BatchRequested, EngineError> {
    let to = request.target.folder(home, request.scope)?;
    let made = BatchRequested { batch: BatchId::new(), item: ItemId::new() };
    let (request, workflows) = (request.clone(), home.registry.workflows());
    home.registry.write_and_wake(move |tx| {
        let CollectionRequest { scope, institution, collection, by, .. } = &request;
        let unknown = |what, id: &str| RegistryError::NotFound { what, id: id.to_owned() };
        let institution =
            tenants::institution(tx, *scope, institution)?.ok_or_else(|| unknown("institution", institution))?;
        let found = tenants::collection(tx, *scope, institution.id, collection)?
            .ok_or_else(|| unknown("collection", collection))?;
        let name = format!("{}/{}", institution.identifier, found.identifier);
        if restorations::objects_of_collection(tx, found.id, None, 1)?.is_empty() {
            return Err(EngineError::Usage(format!("the collection {name} has no objects"))
                .next("\"strongroom objects list\" shows the objects with their collections"));
        }
        let new = NewBatch {
            made,
            institution: institution.id,
            collection: Some(found.id),
            name,
            options: BatchOptions { of_list: false, to: to.clone(), requested_by: by.actor.name.clone() },
        };
        create(tx, workflows.as_ref(), &new, by)
    })?;
    Ok(made)
}

/// Makes a batch that restores the objects of a list as they are now, each once. Names are those of objects: identifiers in
/// records, or `<institution>/<name>`.
///
/// # Errors
/// The list is empty or cannot be read; it names objects that do not exist within the scope, all of which the error
/// says; or objects of several institutions; or a request for one institution names a folder of the server. Nothing is
/// made then.
pub fn request_list(
    home: &Home,
    request: &ListRequest,
    names: &mut dyn Iterator<Item = Result<String, EngineError>>,
) -> Result<BatchRequested, EngineError> {
    let to = request.target.folder(home, request.scope)?;
    let made = BatchRequested { batch: BatchId::new(), item: ItemId::new() };
    let outcome = note_list(home, request, made.batch, names).and_then(|(institution, noted)| {
        let (request, workflows) = (request.clone(), home.registry.workflows());
        home.registry.write_and_wake(move |tx| {
            // A list that took longer than lists are kept, or met a clock that is ahead, lost its beginning.
            if restorations::count_entries(tx, made.batch)? != noted {
                return Err(EngineError::Refused(
                    "the list was not read to its end in time, and nothing is made".into(),
                )
                .next("request it again from a file, or in several lists"));
            }
            let known = tenants::institution_by_id(tx, request.scope, institution)?;
            let id = || RegistryError::NotFound { what: "institution", id: institution.to_string() };
            let new = NewBatch {
                made,
                institution,
                collection: None,
                name: format!("{}/{}", known.ok_or_else(id)?.identifier, made.batch),
                options: BatchOptions { of_list: true, to: to.clone(), requested_by: request.by.actor.name.clone() },
            };
            create(tx, workflows.as_ref(), &new, &request.by)
        })
    });
    if outcome.is_err() {
        forget(home, made.batch)?;
    }
    outcome.map(|()| made)
}

/// What a list is found to be so far.
#[derive(Default)]
struct Found {
    institution: Option<InstitutionId>,
    /// Objects noted, each once.
    noted: u64,
    /// What cannot be restored, each with why; only the first ones.
    unknown: Vec<String>,
    more_unknown: u64,
}

/// Notes the objects of a list; the institution of all of them, and how many there are.
fn note_list(
    home: &Home,
    request: &ListRequest,
    batch: BatchId,
    names: &mut dyn Iterator<Item = Result<String, EngineError>>,
) -> Result<(InstitutionId, u64), EngineError> {
    let mut found = Found::default();
    loop {
        let page: Vec<String> = (&mut *names).take(NAMES_AT_ONCE).collect::<Result<_, _>>()?;
        if page.is_empty() {
            break;
        }
        let scope = request.scope;
        let (looked_up, added) = home.registry.write(move |tx| note_page(tx, scope, batch, &page))?;
        found.noted += added;
        for one in looked_up {
            match one {
                Ok(object) => {
                    let institution = *found.institution.get_or_insert(object.institution);
                    if institution != object.institution {
                        return Err(EngineError::Usage(format!(
                            "the list names objects of several institutions, such as {}",
                            object.identifier
                        ))
                        .next("give one list for each institution"));
                    }
                }
                Err(reason) if found.unknown.len() < MOST_UNKNOWN => found.unknown.push(reason),
                Err(_) => found.more_unknown += 1,
            }
        }
    }
    if found.more_unknown > 0 {
        found.unknown.push(format!("and {} more", found.more_unknown));
    }
    if !found.unknown.is_empty() {
        return Err(EngineError::Absent(format!(
            "the list names objects that cannot be restored, and nothing is made: {}",
            found.unknown.join("; ")
        ))
        .next("correct the list; \"strongroom objects list\" shows the objects that there are"));
    }
    let institution = found.institution.ok_or_else(|| {
        EngineError::Usage("the list names no object".to_owned())
            .next("name objects in it, one a line, as INSTITUTION/NAME")
    })?;
    Ok((institution, found.noted))
}

/// Notes the objects of a page of names; of each name its object, or why that cannot be restored. With how many were not noted
/// before.
fn note_page(
    tx: &mut dyn Transaction,
    scope: Scope,
    batch: BatchId,
    names: &[String],
) -> Result<(Vec<Result<Object, String>>, u64), RegistryError> {
    let mut looked_up = Vec::with_capacity(names.len());
    let mut entries = Vec::with_capacity(names.len());
    for name in names {
        let object = match find_object(tx, scope, name) {
            Ok(object) if object.state == ObjectState::Deleted => {
                Err(format!("{}: every file of it was deleted", object.identifier))
            }
            Ok(object) if object.head == 0 => Err(format!("{}: it has no version yet", object.identifier)),
            Ok(object) => Ok(object),
            Err(RegistryError::NotFound { .. }) => Err(format!("{}: there is no such object", shown(name))),
            Err(error) => return Err(error),
        };
        if let Ok(object) = &object {
            entries.push(ObjectVersion { object: object.id, version: object.head });
        }
        looked_up.push(object);
    }
    let added = restorations::put_entries(tx, batch, &entries)?;
    Ok((looked_up, added))
}

/// A name from outside, as an error may show it.
fn shown(name: &str) -> String {
    let text: String = name.chars().take(200).collect();
    format!("{text:?}")
}

/// A batch before it is made.
struct NewBatch {
    made: BatchRequested,
    institution: InstitutionId,
    collection: Option<CollectionId>,
    /// What is restored, as people know it.
    name: String,
    options: BatchOptions,
}

/// Makes a batch with the work item that makes the others. The topics that have new work.
fn create(
    tx: &mut dyn Transaction,
    workflows: &dyn Workflows,
    new: &NewBatch,
    by: &JournalEntry,
) -> Result<Vec<String>, EngineError> {
    let BatchRequested { batch, item } = new.made;
    by.done(tx, &Target::of(new.institution, format!("batch {batch} of {}", new.name)))?;
    let new_batch = batches::NewBatch {
        id: batch,
        institution: new.institution,
        collection: new.collection,
        kind: KIND,
        submitted_by: &by.actor.name,
        note: None,
        row_count: None,
        notify_to: &[],
    };
    batches::create(tx, &new_batch)?;
    let item = NewItem {
        id: item,
        batch: Some(batch),
        collection: new.collection,
        is_list: true,
        name: format!("restoration-{batch}.json"),
        options: as_text(&new.options)?,
        note: asked_by(&by.actor.name),
        actor: Some(by.actor.id),
        ..NewItem::new(OF_BATCHES.action, new.institution, &new.name)
    };
    Ok(vec![items::create(tx, workflows, &item)?])
}

/// Forgets what was noted of a list of which no batch is made.
fn forget(home: &Home, batch: BatchId) -> Result<(), EngineError> {
    while home.registry.write(move |tx| restorations::drop_entries(tx, batch, NAMES_AT_ONCE))? > 0 {}
    Ok(())
}

/// Forgets lists that were cut short before a batch was made of them, until asked to stop.
pub fn forget_unused_lists(home: &Home, stop: &Shutdown) -> Result<(), EngineError> {
    let after = i64::try_from(UNUSED_AFTER.as_micros()).unwrap_or(i64::MAX);
    let now = home.registry.read(|tx| Ok::<_, RegistryError>(tx.now()?))?;
    let before = Time(now.0.saturating_sub(after));
    while !stop.is_requested()
        && home.registry.write(move |tx| restorations::drop_unused(tx, before, NAMES_AT_ONCE))? > 0
    {}
    Ok(())
}
