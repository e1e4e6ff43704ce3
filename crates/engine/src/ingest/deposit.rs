//! A request to take something in: checked at the edge, then one batch with a work item for each payload.

use std::path::Path;

use serde::{Deserialize, Serialize};
use strongroom_digest::{Algorithm, Digest};
use strongroom_registry::items::{self, NewItem};
use strongroom_registry::tenants::{self, Collection};
use strongroom_registry::{
    BatchId, InstitutionId, ItemId, Part, RegistryError, Scope, Transaction, Workflows, batches, parts,
};

use super::intake::{Payload, bag_name, bag_part, is_url};
use super::workflow::INGEST;
use crate::journal::{JournalEntry, Target};
use crate::{EngineError, Home};

/// What is deposited.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DepositKind {
    /// Told by looking: today everything is a bag.
    #[default]
    Auto,
    /// BagIt bags.
    Bag,
}

/// What a depositor asks.
#[derive(Debug, Clone, Default)]
pub struct DepositRequest {
    /// The institution's domain name.
    pub institution: String,
    /// The collection's short name.
    pub collection: Option<String>,
    /// What is deposited.
    pub kind: DepositKind,
    /// Paths and URLs, one work item each.
    pub sources: Vec<String>,
    /// The depositor's own identifiers of the object.
    pub local_ids: Vec<String>,
    /// The object's name, where it is not the bag's.
    pub primary_id: Option<String>,
    /// A note to keep with batch and items.
    pub note: Option<String>,
    /// What the payload as a file must have, for a single serialized one.
    pub digest: Option<(Algorithm, Digest)>,
    /// The objects must exist already.
    pub update: bool,
    /// Whose act it is.
    pub by: JournalEntry,
}

/// What a work item keeps of the request.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct DepositOptions {
    pub(crate) local_ids: Vec<String>,
    pub(crate) digest: Option<(Algorithm, String)>,
    pub(crate) update: bool,
    pub(crate) submitted_by: String,
    pub(crate) note: Option<String>,
    /// What the payload must still be, where it is an upload.
    pub(crate) etag: Option<String>,
}

/// What a request made.
#[derive(Debug, Clone)]
pub struct Deposited {
    /// The batch.
    pub batch: BatchId,
    /// Its items, in the order of the sources.
    pub items: Vec<ItemId>,
}

/// Makes a batch and its work items. Nothing is made when anything of the request is wrong.
pub fn deposit(home: &Home, request: &DepositRequest) -> Result<Deposited, EngineError> {
    let scope = Scope::System;
    let institution = home
        .registry
        .read(|tx| tenants::institution(tx, scope, &request.institution))?
        .ok_or_else(|| unknown_institution(home, &request.institution))?;
    if !institution.active {
        return Err(EngineError::Usage(format!(
            "the institution {} is deactivated and cannot deposit",
            request.institution
        )));
    }
    let collection = match &request.collection {
        None => None,
        Some(name) => {
            Some(home.registry.read(|tx| tenants::collection(tx, scope, institution.id, name))?.ok_or_else(|| {
                EngineError::NotFound {
                    what: "collection",
                    name: name.clone(),
                    hint: format!(" of {}: `collection list` shows those there are", request.institution),
                }
            })?)
        }
    };
    if let Some(removed) = collection.as_ref().filter(|collection| !collection.active) {
        return Err(EngineError::Usage(takes_no_deposits(&removed.identifier, &request.institution)));
    }
    if request.sources.is_empty() {
        return Err(EngineError::Usage("nothing to deposit: name at least one path or URL".into()));
    }
    if request.sources.len() > 1 && (request.primary_id.is_some() || request.digest.is_some()) {
        return Err(EngineError::Usage("a primary id or a digest can only be given for a single deposit".into()));
    }
    if request.digest.is_some() && request.sources.iter().any(|source| is_url(source)) {
        let advice = "a digest can only be declared for a file of this machine: fetch the payload first";
        return Err(EngineError::Usage(advice.into()));
    }
    let options = DepositOptions {
        local_ids: request.local_ids.clone(),
        digest: request.digest.map(|(algorithm, digest)| (algorithm, digest.to_hex())),
        update: request.update,
        submitted_by: request.by.actor.name.clone(),
        note: request.note.clone(),
        etag: None,
    };
    let options = serde_json::to_string(&options).map_err(|error| EngineError::Usage(error.to_string()))?;
    let batch = BatchId::new();
    let mut new_items = Vec::with_capacity(request.sources.len());
    for source in &request.sources {
        let (source, file_name) = checked_source(source)?;
        let object_name = request.primary_id.clone().unwrap_or_else(|| bag_name(&file_name));
        if let Some(fault) = object_name_fault(&object_name) {
            return Err(EngineError::Usage(format!(
                "the object name {object_name:?} {fault}; rename the bag or give a primary id"
            )));
        }
        let part = bag_part(&file_name)
            .map_err(|fault| EngineError::Usage(format!("the name {file_name:?} cannot be that of a part: {fault}")))?;
        let object_identifier = format!("{}/{object_name}", institution.identifier);
        let item = NewItem {
            name: file_name,
            source: Some(source),
            options: options.clone(),
            note: request.note.clone().unwrap_or_else(|| "deposited".into()),
            actor: Some(request.by.actor.id),
            ..new_deposit(batch, institution.id, collection.as_ref(), object_identifier)
        };
        new_items.push((item, part));
    }
    let ids = new_items.iter().map(|(item, _)| item.id).collect();
    let (institution, collection) = (institution.id, collection.map(|collection| collection.id));
    let (by, note) = (request.by.clone(), request.note.clone());
    let workflows = home.registry.workflows();
    home.registry.write_and_wake(move |tx| {
        by.done(tx, &Target::of(institution, format!("batch {batch}")))?;
        batches::create(tx, batch, institution, collection, "bag", &by.actor.name, note.as_deref())?;
        let mut topics = Vec::new();
        for (item, part) in &new_items {
            topics.push(create(tx, workflows.as_ref(), item, *part)?);
        }
        topics.dedup();
        Ok::<_, RegistryError>(topics)
    })?;
    Ok(Deposited { batch, items: ids })
}

/// The work item of one deposit of a batch, as far as its collection decides it.
pub(crate) fn new_deposit(
    batch: BatchId,
    institution: InstitutionId,
    collection: Option<&Collection>,
    object_identifier: String,
) -> NewItem {
    NewItem {
        batch: Some(batch),
        collection: collection.map(|collection| collection.id),
        held: collection.is_some_and(|collection| collection.held),
        ..NewItem::new(INGEST, institution, object_identifier)
    }
}

/// Makes the work item of a deposit, with the part of its object that it is, where it is one. The topic that has new work.
pub(crate) fn create(
    tx: &mut dyn Transaction,
    workflows: &dyn Workflows,
    new: &NewItem,
    part: Option<Part>,
) -> Result<String, RegistryError> {
    let topic = items::create(tx, workflows, new)?;
    if let Some(part) = part {
        parts::put_item(tx, new.id, part)?;
    }
    Ok(topic)
}

/// Why a deposit into a removed collection is refused.
pub(crate) fn takes_no_deposits(collection: &str, institution: &str) -> String {
    format!(
        "the collection {collection} of {institution} was removed and takes no deposits; name another collection \
         (`collection list` shows those there are) or none"
    )
}

/// A path as an absolute one, which must exist; a URL as it is. With the name of the file.
fn checked_source(source: &str) -> Result<(String, String), EngineError> {
    let payload = Payload::parse(source).map_err(EngineError::Usage)?;
    let nameless = || EngineError::Usage(format!("{source:?} has no file name to name the object by"));
    match &payload {
        Payload::Url(_) | Payload::Upload(_) => Ok((source.to_owned(), payload.file_name().ok_or_else(nameless)?)),
        Payload::Path(path) => {
            let absolute = path.canonicalize().map_err(|error| match error.kind() {
                std::io::ErrorKind::NotFound => {
                    EngineError::NotFound { what: "file or folder", name: source.to_owned(), hint: String::new() }
                }
                _ => EngineError::Io { act: "look at", path: source.to_owned(), source: error },
            })?;
            let text = absolute.to_str().ok_or_else(|| {
                EngineError::Usage(format!("{source:?} is not UTF-8; give the deposit a path that is"))
            })?;
            // The name as the depositor wrote it, not what a link points to.
            let name = path.file_name().or_else(|| Path::new(text).file_name()).ok_or_else(nameless)?;
            Ok((text.to_owned(), name.to_string_lossy().into_owned()))
        }
    }
}

/// What is wrong with an object's name, which stands in identifiers and file names that people type.
pub(crate) fn object_name_fault(name: &str) -> Option<&'static str> {
    if name.is_empty() || name == "." || name == ".." {
        "is empty or dots"
    } else if name.len() > 200 {
        "is longer than 200 bytes"
    } else if name.contains('/') {
        "contains a slash"
    } else if name.chars().any(char::is_control) {
        "contains a control character"
    } else {
        return None;
    }
    .into()
}

fn unknown_institution(home: &Home, name: &str) -> EngineError {
    let known = home.registry.read(|tx| tenants::institutions(tx, Scope::System, "", 5)).unwrap_or_default();
    let known: Vec<String> = known.into_iter().map(|institution| institution.identifier).collect();
    EngineError::NotFound {
        what: "institution",
        name: name.to_owned(),
        hint: format!(": known are {}; `institution add` makes one", known.join(", ")),
    }
}
