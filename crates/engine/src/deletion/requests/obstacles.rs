//! What stands against the deletion of what a request names, in words. It is asked when a request is made and when it is approved. Each work
//! item asks again where it begins (`begun_deletions::begin` of the registry).

use strongroom_registry::deletion_targets::{self, Unmade};
use strongroom_registry::legal_holds::On;
use strongroom_registry::obstacles::{self, MOST as MOST_OF_A_KIND, Obstacle};
use strongroom_registry::{DeletionRequestId, FileId, ObjectId, RegistryError, Scope, Transaction};

use crate::{EngineError, Home};

/// Objects that are asked for in one transaction.
const OBJECTS_AT_ONCE: usize = 100;
/// Obstacles that are named.
const MOST: usize = 100;
/// Files of an object that are read at once.
const FILES_AT_ONCE: usize = 1_000;

/// What stands against a request, of which everything is noted: page by page, in a read transaction each.
pub(super) fn of_request(home: &Home, id: DeletionRequestId) -> Result<Vec<String>, EngineError> {
    let (mut found, mut after) = (Vec::new(), None);
    loop {
        let (page, last) = home.registry.read(|tx| page(tx, id, after))?;
        found.extend(page);
        if last.is_none() || found.len() > MOST {
            return Ok(bounded(found));
        }
        after = last;
    }
}

/// What stands against the first objects of a request, in the transaction that decides by it: against all of most requests.
pub(super) fn of_first(tx: &mut dyn Transaction, id: DeletionRequestId) -> Result<Vec<String>, RegistryError> {
    Ok(bounded(page(tx, id, None)?.0))
}

fn bounded(mut found: Vec<String>) -> Vec<String> {
    if found.len() > MOST {
        found.truncate(MOST);
        found.push("and more".to_owned());
    }
    found
}

/// What stands against a page of objects, and where the next one begins.
fn page(
    tx: &mut dyn Transaction,
    id: DeletionRequestId,
    after: Option<ObjectId>,
) -> Result<(Vec<String>, Option<ObjectId>), RegistryError> {
    let objects = deletion_targets::unmade(tx, id, after, OBJECTS_AT_ONCE)?;
    let last = objects.last().filter(|_| objects.len() == OBJECTS_AT_ONCE).map(|last| last.object);
    let mut found = Vec::new();
    for object in &objects {
        found.extend(of_object(tx, id, object)?);
        if found.len() > MOST {
            break;
        }
    }
    Ok((found, last))
}

fn of_object(tx: &mut dyn Transaction, id: DeletionRequestId, object: &Unmade) -> Result<Vec<String>, RegistryError> {
    let now = tx.now()?;
    let files = if object.is_whole { None } else { Some(files(tx, id, object.object)?) };
    let files: Option<Vec<FileId>> = files.map(|files| files.into_iter().map(|(file, _)| file).collect());
    let found = obstacles::of_deletion(tx, Scope::System, object.object, files.as_deref(), now)?;
    Ok(found.iter().map(|obstacle| format!("{}: {}", object.identifier, in_words(obstacle))).collect())
}

/// The files of an object that a request names by themselves, with their logical paths.
pub(in crate::deletion) fn files(
    tx: &mut dyn Transaction,
    id: DeletionRequestId,
    object: ObjectId,
) -> Result<Vec<(FileId, String)>, RegistryError> {
    let mut files: Vec<(FileId, String)> = Vec::new();
    loop {
        let page = deletion_targets::files(tx, id, object, files.last().map(|(file, _)| *file), FILES_AT_ONCE)?;
        let is_last = page.len() < FILES_AT_ONCE;
        files.extend(page);
        if is_last {
            return Ok(files);
        }
    }
}

/// What an obstacle is, in words.
pub(crate) fn in_words(obstacle: &Obstacle) -> String {
    match obstacle {
        Obstacle::LegalHold { hold, on } => {
            let subject = match on {
                On::Collection(_) => "the collection",
                On::Object(_) => "the object",
                On::File { .. } => "a file",
            };
            format!("legal hold {hold} on {subject}")
        }
        Obstacle::Retention { until, rules_version, .. } => {
            format!("retention until {until}, by version {rules_version} of the rules of the collection")
        }
        Obstacle::WorkItem { item, action } => format!("work item {item} ({action}) has not ended"),
        Obstacle::Committing { version, item } => {
            let by = item.map(|item| format!(", by work item {item}")).unwrap_or_default();
            format!("version {version} is committed and not complete{by}")
        }
        Obstacle::Finding { finding, state } => format!("finding {finding} is {state}"),
        Obstacle::ToolFinding { finding, .. } => format!("finding {finding} of a tool is open"),
        Obstacle::More(_) => format!("and more of this kind than {MOST_OF_A_KIND}"),
    }
}
