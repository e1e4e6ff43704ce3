//! A request to restore an object or files of it: checked, then one work item, made in the transaction that finds the object within
//! the scope of the actor.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use strongroom_registry::items::{self, NewItem};
use strongroom_registry::objects::{self, DEPOSIT, File, Object};
use strongroom_registry::{FileId, ItemId, ObjectState, RegistryError, Scope, Transaction, Workflows, named};

use super::names::{file_name_of, safe_name};
use super::object_name;
use super::selection::Selection;
use super::{OF_FILES, OF_OBJECTS};
use crate::arks;
use crate::content_name::in_package;
use crate::deletion::was_deleted;
use crate::journal::{JournalEntry, Target};
use crate::{EngineError, Home, places};

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
    /// The folder as an absolute path, where it is one that the actor may name, and apart from the stores.
    pub(super) fn folder(&self, home: &Home, scope: Scope) -> Result<Option<String>, EngineError> {
        let Self::Folder(folder) = self else { return Ok(None) };
        let shown = folder.display().to_string();
        let next = "leave the folder out: the result is put into the restoration store of the institution";
        places::check_may_name(scope, &shown, next)?;
        let absolute = std::path::absolute(folder).map_err(|source| EngineError::Io {
            act: "find the folder",
            path: shown.clone(),
            source,
        })?;
        check_apart(home, &absolute)?;
        match absolute.into_os_string().into_string() {
            Ok(text) => Ok(Some(text)),
            Err(_) => {
                Err(EngineError::Usage(format!("{shown:?} is not UTF-8")).next("name a folder whose path is UTF-8"))
            }
        }
    }
}

/// Refuses what is no folder, and a folder of a store: what is put there would pass for something of the store's.
pub(super) fn check_apart(home: &Home, folder: &Path) -> Result<(), EngineError> {
    let shown = folder.display();
    if folder.metadata().is_ok_and(|found| !found.is_dir()) {
        return Err(EngineError::Usage(format!("{shown} is no folder")).next("name a folder to restore into"));
    }
    let next = "restore into another folder, or into the restoration store by leaving the folder out";
    places::check_outside_stores(&home.settings, &home.directory, folder, next)
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
    /// A folder with the files in it, instead of a tar. Only where the target is a folder.
    pub unpacked: bool,
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
            unpacked: false,
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
    /// At which version of its object; the head where absent.
    pub version: Option<u64>,
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
            version: None,
            target: RestorationTarget::RestorationStore,
            by: JournalEntry::of_system("restorations.file"),
        }
    }
}

/// Which files of an object are asked for.
#[derive(Debug, Clone)]
pub struct RestorePathsRequest {
    /// What the actor acts for. An object outside of it does not exist.
    pub scope: Scope,
    /// The object: its identifier in records, or `<institution>/<name>`.
    pub object: String,
    /// Which version; the head where absent.
    pub version: Option<u64>,
    /// Paths of files as `objects files` shows them, folders for all that is below them, or patterns: `*` and `?` stand for
    /// characters of one name, `**` for any number of folders, `[ab]` for one of these characters, `{a,b}` for one of these words.
    pub paths: Vec<String>,
    /// Where the files are put: into a folder, as a folder with the object's name; else as a tar.
    pub target: RestorationTarget,
    /// Whose act it is.
    pub by: JournalEntry,
}

/// What a work item keeps of the request.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct RestoreOptions {
    pub(crate) version: Option<u64>,
    pub(crate) submission: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) unpacked: bool,
    /// Only the files that these paths and patterns name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) paths: Vec<String>,
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
    let to = request.target.folder(home, request.scope)?;
    if request.unpacked && to.is_none() {
        let reason = "an object is unpacked into a folder, and the restoration store takes one tar".to_owned();
        return Err(EngineError::Usage(reason).next("name a folder to restore into, or ask for the tar"));
    }
    let mut options = RestoreOptions {
        submission: request.submission,
        unpacked: request.unpacked,
        to,
        requested_by: request.by.actor.name.clone(),
        ..RestoreOptions::default()
    };
    let (scope, name, version) = (request.scope, request.object.clone(), request.version);
    if let Some(folder) = &options.to {
        let (object, _) = home.registry.read(|tx| find_object(tx, scope, &name, version))?;
        check_is_free(folder, &result_name(&object, &options))?;
    }
    let (by, workflows, id) = (request.by.clone(), home.registry.workflows(), ItemId::new());
    home.registry.write_and_wake(move |tx| {
        let (object, version) = find_object(tx, scope, &name, version)?;
        options.version = Some(version);
        let new = NewItem { id, actor: Some(by.actor.id), ..of_object(&object, &options)? };
        create(tx, workflows.as_ref(), &object, &new, &by)
    })?;
    Ok(id)
}

/// Makes the work item that restores some files of an object: one file that has the path, or what the paths and patterns name.
///
/// # Errors
/// The object or version does not exist within the scope, a path or pattern names no file of it, something of the result's name
/// lies in the folder, or a request for one institution names a folder of the server.
pub fn request_paths(home: &Home, request: &RestorePathsRequest) -> Result<ItemId, EngineError> {
    let (scope, by) = (request.scope, request.by.clone());
    let (object, version) = home.registry.read(|tx| find_object(tx, scope, &request.object, request.version))?;
    if let [path] = request.paths.as_slice() {
        let at = format!("{DEPOSIT}{}", path.trim_start_matches("./"));
        if let Some(file) = home.registry.read(|tx| objects::file_at(tx, object.id, version, &at))? {
            let (file, target) = (file.id.to_string(), request.target.clone());
            return request_file(home, &RestoreFileRequest { scope, file, version: Some(version), target, by });
        }
    }
    let size = Selection::parse(&request.paths)?.size(home, &object, version)?;
    let to = request.target.folder(home, scope)?;
    let options = RestoreOptions {
        version: Some(version),
        unpacked: to.is_some(),
        paths: request.paths.clone(),
        to,
        requested_by: by.actor.name.clone(),
        ..RestoreOptions::default()
    };
    if let Some(folder) = &options.to {
        check_is_free(folder, &result_name(&object, &options))?;
    }
    let (workflows, id) = (home.registry.workflows(), ItemId::new());
    home.registry.write_and_wake(move |tx| {
        let (object, _) = find_object(tx, scope, &object.id.to_string(), Some(version))?;
        let (actor, size) = (Some(by.actor.id), Some(size));
        let new = NewItem { id, actor, size, ..of_object(&object, &options)? };
        create(tx, workflows.as_ref(), &object, &new, &by)
    })?;
    Ok(id)
}

/// Makes the work item that restores a single file.
///
/// # Errors
/// The file does not exist within the scope, the version does not have it, one of its name lies in the folder, or a request for one
/// institution names a folder of the server.
pub fn request_file(home: &Home, request: &RestoreFileRequest) -> Result<ItemId, EngineError> {
    let to = request.target.folder(home, request.scope)?;
    if let Some(folder) = &to {
        let (_, file) = home.registry.read(|tx| find_file(tx, request))?;
        check_is_free(folder, file_name_of(in_package(&file.path)))?;
    }
    let (request, workflows, id) = (request.clone(), home.registry.workflows(), ItemId::new());
    home.registry.write_and_wake(move |tx| {
        let (object, file) = find_file(tx, &request)?;
        let requested_by = request.by.actor.name.clone();
        let (to, version) = (to.clone(), request.version);
        let options = RestoreOptions { version, to, requested_by, ..RestoreOptions::default() };
        let new = NewItem {
            id,
            object: Some(object.id),
            file: Some(file.id),
            name: file_name_of(in_package(&file.path)).to_owned(),
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
fn find_object(
    tx: &mut dyn Transaction,
    scope: Scope,
    name: &str,
    version: Option<u64>,
) -> Result<(Object, u64), EngineError> {
    let object = arks::find_object(tx, scope, name)?;
    if object.state == ObjectState::Deleted {
        return Err(was_deleted(&object.identifier));
    }
    let version = version.unwrap_or(object.head);
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
    Ok(objects::file(tx, request.scope, id, request.version)?.ok_or_else(missing)?)
}

/// What the result of restoring an object is called.
pub(super) fn result_name(object: &Object, options: &RestoreOptions) -> String {
    let name = object_name(object);
    match options {
        RestoreOptions { unpacked: true, .. } => name.to_owned(),
        RestoreOptions { paths, .. } if !paths.is_empty() => format!("{name}-files.tar"),
        _ => format!("{name}.tar"),
    }
}

/// The work item that restores an object; whose act it is, is for the caller to say.
pub(super) fn of_object(object: &Object, options: &RestoreOptions) -> Result<NewItem, RegistryError> {
    Ok(NewItem {
        object: Some(object.id),
        name: result_name(object, options),
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

/// Refuses a folder in which something of this name lies.
fn check_is_free(folder: &str, name: &str) -> Result<(), EngineError> {
    let path = Path::new(folder).join(safe_name(name));
    if path.symlink_metadata().is_ok() {
        return Err(EngineError::Exists(format!("{} exists already and is not replaced", path.display()))
            .next("move it away, or restore into another folder"));
    }
    Ok(())
}

/// Makes a work item, with its line of the journal. The topics that have new work.
pub(super) fn create(
    tx: &mut dyn Transaction,
    workflows: &dyn Workflows,
    object: &Object,
    new: &NewItem,
    by: &JournalEntry,
) -> Result<Vec<String>, EngineError> {
    by.done(
        tx,
        &Target::of(object.institution, format!("{}: {}, item {}", object.identifier, new.name, new.id))
            .about(&object.identifier),
    )?;
    Ok(vec![items::create(tx, workflows, new)?])
}
