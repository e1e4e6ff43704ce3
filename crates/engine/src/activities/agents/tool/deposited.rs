//! What a work item of a deposit stands for: every file of the version that it made or, where everything that it brought was there already, of
//! the one that its object had when it ended. A version may have no file of its own, as where a deposit leaves files out, so it is not asked which
//! files are new in it. While the item is open its record waits.

use std::time::Duration;

use strongroom_registry::items::{self, Item};
use strongroom_registry::{
    FileId, InstitutionId, ItemId, ItemStatus, ObjectId, RegistryError, Scope, Transaction, VersionState, objects,
    versions,
};

use super::looking::Halt;
use crate::activities::agent::Work;

/// The shortest and the longest time until an open work item is looked at again. Between these it is a part of its age, so that one that is on
/// hold for weeks costs little.
const SOON: Duration = Duration::from_secs(2);
const LATE: Duration = Duration::from_mins(10);
const PART_OF_AGE: u32 = 4;
/// What depositors did not send begins so.
const METADATA: &str = "metadata/";

/// The version of an object whose files a deposit stands for.
pub(super) struct Deposited {
    object: ObjectId,
    version: u64,
}

/// Files, each with the version at which it is looked at.
pub(super) struct FilesPage {
    pub(super) files: Vec<(FileId, u64)>,
    /// The path behind which the next page begins; none where these are the last.
    pub(super) next: Option<String>,
}

impl Deposited {
    /// What this work item has deposited.
    ///
    /// # Errors
    /// It has not ended, or ended without having deposited anything.
    pub(super) fn of(institution: InstitutionId, item: ItemId, work: &Work<'_>) -> Result<Self, Halt> {
        let scope = Scope::Institution(institution);
        let (found, made, now) = work.home.registry.read(|tx| {
            let found = items::get(tx, scope, item)?;
            let made = match versions::of_item(tx, item)? {
                // The item itself may have been removed after its time.
                Some(version) if version.state == VersionState::Published => {
                    objects::get(tx, scope, version.object)?.map(|object| (object.id, version.number))
                }
                _ => None,
            };
            let made = match (made, &found) {
                (None, Some(found)) if found.status == ItemStatus::Succeeded => version_at_end(tx, scope, found)?,
                _ => made,
            };
            Ok::<_, RegistryError>((found, made, tx.now()?))
        })?;
        if let Some((object, version)) = made {
            return Ok(Self { object, version });
        }
        let Some(found) = found else {
            let next = "deposit its record again: \"strongroom activity rerun\" with the activity that made it";
            return Err(Halt::Failed(format!(
                "the work item {item} was removed after its time and has made no version, so it is not known what it deposited; next: {next}"
            )));
        };
        match found.status {
            ItemStatus::Pending | ItemStatus::Started | ItemStatus::Held => {
                let age = Duration::from_micros(now.0.saturating_sub(found.created_at.0).max(0).unsigned_abs());
                let after = (age / PART_OF_AGE).clamp(SOON, LATE);
                let held = if found.is_on_hold { ", on hold" } else { "" };
                let reason = format!("its work item {item} is {}{held}, at {}", found.status, found.stage);
                Err(Halt::Waits { after, reason })
            }
            _ => Err(Halt::Failed(without_version(&found))),
        }
    }

    /// The next files, at most `limit`; those that depositors sent. The first page is behind an empty path.
    pub(super) fn page(&self, after: &str, limit: usize, work: &Work<'_>) -> Result<FilesPage, RegistryError> {
        let page = work.home.registry.read(|tx| objects::files(tx, self.object, self.version, "", after, limit))?;
        let next = page.last().filter(|_| page.len() == limit).map(|file| file.path.clone());
        let sent = page.into_iter().filter(|file| !file.path.starts_with(METADATA));
        Ok(FilesPage { files: sent.map(|file| (file.id, self.version)).collect(), next })
    }
}

/// The version that the object of an item had when the item ended without making one. What others have made since is not what it brought.
fn version_at_end(
    tx: &mut dyn Transaction,
    scope: Scope,
    item: &Item,
) -> Result<Option<(ObjectId, u64)>, RegistryError> {
    let object = objects::by_identifier(tx, scope, &item.object_identifier)?;
    let Some(object) = object.filter(|object| object.head > 0) else { return Ok(None) };
    let all = versions::list(tx, object.id, object.generation, false)?;
    let had = all.iter().rev().find(|version| version.published_at.is_some_and(|at| at <= item.updated_at));
    Ok(Some((object.id, had.map_or(object.head, |version| version.number))))
}

/// Why there is nothing to look at.
fn without_version(item: &Item) -> String {
    let why = item.note.as_ref().map(|note| format!(": {note}")).unwrap_or_default();
    let (id, status) = (item.id, item.status);
    format!(
        "its work item {id} is {status} and has not made a version{why}; next: where it can succeed, \"strongroom items requeue {id}\", and then \
         process the failed records again (activity retry-failed)"
    )
}
