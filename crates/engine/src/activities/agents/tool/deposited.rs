//! What a work item of a deposit stands for: the files of the version that it made, or, where everything that it brought was there already,
//! those that its object has. While the item is open its record waits.

use std::time::Duration;

use strongroom_registry::items::{self, Item};
use strongroom_registry::{
    FileId, InstitutionId, ItemId, ItemStatus, ObjectId, RegistryError, Scope, VersionState, objects, tool_findings,
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

/// The files that a deposit has brought.
pub(super) enum Deposited {
    /// Those that are new or changed in a version.
    Version(ObjectId, u64),
    /// All that the object has at a version, because nothing was new.
    Unchanged(ObjectId, u64),
}

/// Where a page begins.
pub(super) enum After {
    File(u64, FileId),
    Path(String),
}

/// Files, each with the version at which it is looked at.
pub(super) struct FilesPage {
    pub(super) files: Vec<(FileId, u64)>,
    /// None where these are the last.
    pub(super) next: Option<After>,
}

impl Deposited {
    /// What this work item has deposited.
    ///
    /// # Errors
    /// It has not ended, or ended without having deposited anything.
    pub(super) fn of(institution: InstitutionId, item: ItemId, work: &Work<'_>) -> Result<Self, Halt> {
        let scope = Scope::Institution(institution);
        let (found, version, object, now) = work.home.registry.read(|tx| {
            let found = items::get(tx, scope, item)?;
            let version = versions::of_item(tx, item)?;
            let object = match &found {
                Some(found) => objects::by_identifier(tx, scope, &found.object_identifier)?,
                None => None,
            };
            Ok::<_, RegistryError>((found, version, object, tx.now()?))
        })?;
        let Some(found) = found else { return Err(Halt::Failed("its work item does not exist".to_owned())) };
        if let Some(version) = version.filter(|version| version.state == VersionState::Published) {
            return Ok(Self::Version(version.object, version.number));
        }
        match (found.status, object) {
            (ItemStatus::Pending | ItemStatus::Started | ItemStatus::Held, _) => {
                let age = Duration::from_micros(now.0.saturating_sub(found.created_at.0).max(0).unsigned_abs());
                let after = (age / PART_OF_AGE).clamp(SOON, LATE);
                let held = if found.is_on_hold { ", on hold" } else { "" };
                let reason = format!("its work item {item} is {}{held}, at {}", found.status, found.stage);
                Err(Halt::Waits { after, reason })
            }
            (ItemStatus::Succeeded, Some(object)) if object.head > 0 => Ok(Self::Unchanged(object.id, object.head)),
            _ => Err(Halt::Failed(without_version(&found))),
        }
    }

    pub(super) fn start(&self) -> After {
        match self {
            Self::Version(_, number) => After::File(*number, FileId(uuid::Uuid::nil())),
            Self::Unchanged(..) => After::Path(String::new()),
        }
    }

    /// The next files, at most `limit`.
    pub(super) fn page(&self, after: &After, limit: usize, work: &Work<'_>) -> Result<FilesPage, RegistryError> {
        match (self, after) {
            (Self::Version(object, number), After::File(from, file)) => {
                let from = (*from, *file);
                let page = work.home.registry.read(|tx| tool_findings::files(tx, *object, from, limit))?;
                let is_last = page.len() < limit || page.iter().any(|(of, _)| of > number);
                let files: Vec<_> =
                    page.into_iter().filter(|(of, _)| of == number).map(|(of, file)| (file, of)).collect();
                let next = files.last().filter(|_| !is_last).map(|(file, of)| After::File(*of, *file));
                Ok(FilesPage { files, next })
            }
            (Self::Unchanged(object, head), after) => {
                let path = if let After::Path(path) = after { path.as_str() } else { "" };
                let page = work.home.registry.read(|tx| objects::files(tx, *object, *head, "", path, limit))?;
                let next = page.last().filter(|_| page.len() == limit).map(|file| After::Path(file.path.clone()));
                let sent = page.into_iter().filter(|file| !file.path.starts_with(METADATA));
                Ok(FilesPage { files: sent.map(|file| (file.id, *head)).collect(), next })
            }
            (Self::Version(..), After::Path(_)) => Ok(FilesPage { files: Vec::new(), next: None }),
        }
    }
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
