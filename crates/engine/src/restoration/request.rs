//! A request to restore an object or a file: checked, then one work item, made in the transaction that finds the object within
//! the scope of the actor.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use strongroom_registry::items::{self, NewItem};
use strongroom_registry::objects::{self, File, Object};
use strongroom_registry::{FileId, ItemId, ObjectState, RegistryError, Scope, Transaction, Workflows, named};

use super::names::{file_name_of, safe_name, shown_path};
use super::object_name;
use super::{OF_FILES, OF_OBJECTS};
use crate::journal::{JournalEntry, Target};
use crate::{EngineError, Home};

/// Where a result is put.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum RestorationTarget {
    /// The restoration store of the institution, below its name.
    #[default]
    RestorationStore,
    /// A folder of the server. Only for actors of the whole installation.
    Folder(PathBuf),
}

impl RestorationTarget {
    /// The folder as an absolute path, where it is one that the actor may name.
    pub(super) fn folder(&self, scope: Scope) -> Result<Option<String>, EngineError> {
        let Self::Folder(folder) = self else { return Ok(None) };
        let shown = folder.display().to_string();
        if let Scope::Institution(_) = scope {
            return Err(EngineError::Refused(format!(
                "{shown} is a folder of the server, and the actor acts for one institution"
            ))
            .next("leave the folder out: the result is put into the restoration store of the institution"));
        }
        let absolute = std::path::absolute(folder).map_err(|source| EngineError::Io {
            act: "find the folder",
            path: shown.clone(),
            source,
        })?;
        match absolute.into_os_string().into_string() {
            Ok(text) => Ok(Some(text)),
            Err(_) => Err(EngineError::Usage(format!("{shown:?} is not UTF-8; name a folder that is"))),
        }
    }
}

/// What of an object is asked for.
#[derive(Debug, Clone)]
pub struct RestoreRequest {
    /// What the actor acts for. An object outside of it does not exist.
    pub scope: Scope,
    /// The object: its identifier in records, or `<institution>/<name>`.
    pub object: String,
    /// Which version; the head where absent.
    pub version: Option<u64>,
    /// Where the bag is put.
    pub target: RestorationTarget,
    /// The deposit that made the version byte for byte, instead of a bag made anew.
    pub submission: bool,
    /// Whose act it is.
    pub by: JournalEntry,
}

impl RestoreRequest {
    /// A request of the system itself: the head of an object as a bag, into the restoration store.
    pub fn of_system(object: impl Into<String>) -> Self {
        Self {
            scope: Scope::System,
            object: object.into(),
            version: None,
            target: RestorationTarget::RestorationStore,
            submission: false,
            by: JournalEntry::of_system("restorations.object"),
        }
    }
}

/// Which file is asked for.
#[derive(Debug, Clone)]
pub struct RestoreFileRequest {
    /// What the actor acts for. A file outside of it does not exist.
    pub scope: Scope,
    /// The file's identifier.
    pub file: String,
    /// Where the file is put.
    pub target: RestorationTarget,
    /// Whose act it is.
    pub by: JournalEntry,
}

impl RestoreFileRequest {
    /// A request of the system itself: a file into the restoration store.
    pub fn of_system(file: impl Into<String>) -> Self {
        Self {
            scope: Scope::System,
            file: file.into(),
            target: RestorationTarget::RestorationStore,
            by: JournalEntry::of_system("restorations.file"),
        }
    }
}

/// What a work item keeps of the request.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct RestoreOptions {
    pub(crate) version: Option<u64>,
    pub(crate) submission: bool,
    /// An absolute folder.
    pub(crate) to: Option<String>,
    pub(crate) requested_by: String,
}

/// Whether a work item with these options writes into a folder of the server.
pub(crate) fn is_into_folder(options: &str) -> bool {
    #[derive(Deserialize)]
    struct Place {
        to: Option<String>,
    }

    serde_json::from_str(options).is_ok_and(|place: Place| place.to.is_some())
}

/// Makes the work item that restores an object.
///
/// # Errors
/// The object or version does not exist within the scope, a file of the bag's name lies in the folder, or a request for one
/// institution names a folder of the server.
pub fn request_object(home: &Home, request: &RestoreRequest) -> Result<ItemId, EngineError> {
    let to = request.target.folder(request.scope)?;
    if let Some(folder) = &to {
        let (object, _) = home.registry.read(|tx| find_object(tx, request))?;
        check_is_free(folder, &archive_name(&object))?;
    }
    let (request, workflows, id) = (request.clone(), home.registry.workflows(), ItemId::new());
    home.registry.write_and_wake(move |tx| {
        let (object, version) = find_object(tx, &request)?;
        let options = RestoreOptions {
            version: Some(version),
            submission: request.submission,
            to: to.clone(),
            requested_by: request.by.actor.name.clone(),
        };
        let actor = Some(request.by.actor.id);
        let new = NewItem { id, actor, ..of_object(&object, &options)? };
        create(tx, workflows.as_ref(), &object, &new, &request.by)
    })?;
    Ok(id)
}

/// Makes the work item that restores a single file, as it is now.
///
/// # Errors
/// The file does not exist within the scope or has been taken out, one of its name lies in the folder, or a request for one
/// institution names a folder of the server.
pub fn request_file(home: &Home, request: &RestoreFileRequest) -> Result<ItemId, EngineError> {
    let to = request.target.folder(request.scope)?;
    if let Some(folder) = &to {
        let (_, file) = home.registry.read(|tx| find_file(tx, request))?;
        check_is_free(folder, file_name_of(shown_path(&file.path)))?;
    }
    let (request, workflows, id) = (request.clone(), home.registry.workflows(), ItemId::new());
    home.registry.write_and_wake(move |tx| {
        let (object, file) = find_file(tx, &request)?;
        let requested_by = request.by.actor.name.clone();
        let options = RestoreOptions { to: to.clone(), requested_by, ..RestoreOptions::default() };
        let new = NewItem {
            id,
            object: Some(object.id),
            file: Some(file.id),
            name: file_name_of(shown_path(&file.path)).to_owned(),
            size: Some(file.size),
            options: as_text(&options)?,
            note: asked_by(&options.requested_by),
            actor: Some(request.by.actor.id),
            ..NewItem::new(OF_FILES.action, object.institution, &object.identifier)
        };
        create(tx, workflows.as_ref(), &object, &new, &request.by)
    })?;
    Ok(id)
}

/// The object and the version that are asked for.
fn find_object(tx: &mut dyn Transaction, request: &RestoreRequest) -> Result<(Object, u64), EngineError> {
    let object = objects::find(tx, request.scope, &request.object)?;
    if object.state == ObjectState::Deleted {
        return Err(EngineError::Usage(format!("every file of {} was taken out", object.identifier)));
    }
    let version = request.version.unwrap_or(object.head);
    if version == 0 || version > object.head {
        return Err(EngineError::NotFound {
            what: "version",
            name: version.to_string(),
            hint: format!(" of {}: the latest is {}", object.identifier, object.head),
        });
    }
    Ok((object, version))
}

/// The file that is asked for, with its object.
fn find_file(tx: &mut dyn Transaction, request: &RestoreFileRequest) -> Result<(Object, File), EngineError> {
    let id: FileId = named::find(tx, request.scope, &request.file)?;
    let missing = || RegistryError::NotFound { what: "file", id: request.file.clone() };
    Ok(objects::file(tx, request.scope, id)?.ok_or_else(missing)?)
}

/// What the bag of an object is called.
pub(super) fn archive_name(object: &Object) -> String {
    format!("{}.tar", object_name(object))
}

/// The work item that restores an object; whose act it is, is for the caller to say.
pub(super) fn of_object(object: &Object, options: &RestoreOptions) -> Result<NewItem, RegistryError> {
    Ok(NewItem {
        object: Some(object.id),
        name: archive_name(object),
        size: Some(object.bytes),
        options: as_text(options)?,
        note: asked_by(&options.requested_by),
        ..NewItem::new(OF_OBJECTS.action, object.institution, &object.identifier)
    })
}

pub(super) fn asked_by(actor: &str) -> String {
    format!("asked for by {actor}")
}

pub(super) fn as_text(options: &impl Serialize) -> Result<String, RegistryError> {
    let failed = |error: serde_json::Error| RegistryError::Corrupt {
        wanted: "options of a restoration",
        found: error.to_string(),
    };
    serde_json::to_string(options).map_err(failed)
}

/// Refuses what is no folder, and a folder in which something of this name lies.
fn check_is_free(folder: &str, name: &str) -> Result<(), EngineError> {
    if Path::new(folder).metadata().is_ok_and(|found| !found.is_dir()) {
        return Err(EngineError::Usage(format!("{folder} is no folder")).next("name a folder to restore into"));
    }
    let path = Path::new(folder).join(safe_name(name));
    if path.symlink_metadata().is_ok() {
        return Err(EngineError::Usage(format!(
            "{} exists already and is not replaced; move it away, or restore into another folder",
            path.display()
        )));
    }
    Ok(())
}

/// Makes a work item, with its line of the journal. The topics that have new work.
fn create(
    tx: &mut dyn Transaction,
    workflows: &dyn Workflows,
    object: &Object,
    new: &NewItem,
    by: &JournalEntry,
) -> Result<Vec<String>, EngineError> {
    by.done(tx, &Target::of(object.institution, format!("{}: {}, item {}", object.identifier, new.name, new.id)))?;
    Ok(vec![items::create(tx, workflows, new)?])
}
