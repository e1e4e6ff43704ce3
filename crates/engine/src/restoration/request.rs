//! A request to give something back: checked at the edge, then one work item.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use strongroom_registry::items::{self, NewItem};
use strongroom_registry::objects::{self, Object};
use strongroom_registry::{Action, FileId, ItemId, ObjectState, RegistryError, Scope};

use super::names::{file_name_of, safe_name, shown_path};
use super::object_name;
use super::{OF_FILES, OF_OBJECTS};
use crate::journal::{JournalEntry, Target};
use crate::{EngineError, Home};

/// What of an object is asked for.
#[derive(Debug, Clone, Default)]
pub struct RestoreRequest {
    /// The object: its identifier in records, or `<institution>/<name>`.
    pub object: String,
    /// Which version; the head where absent.
    pub version: Option<u64>,
    /// The folder that the bag is put into; the institution's place in the restoration store where absent.
    pub to: Option<PathBuf>,
    /// The deposit that made the version byte for byte, instead of a bag made anew.
    pub submission: bool,
    /// Whose act it is.
    pub by: JournalEntry,
}

/// Which file is asked for.
#[derive(Debug, Clone, Default)]
pub struct RestoreFileRequest {
    /// The file's identifier.
    pub file: String,
    /// The folder that the file is put into; the institution's place in the restoration store where absent.
    pub to: Option<PathBuf>,
    /// Whose act it is.
    pub by: JournalEntry,
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

/// Makes the work item that gives an object back.
///
/// # Errors
/// The object or version does not exist, or a file of the bag's name lies in the folder.
pub fn request_object(home: &Home, request: &RestoreRequest) -> Result<ItemId, EngineError> {
    let object = home.registry.read(|tx| objects::find(tx, Scope::System, &request.object))?;
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
    let name = format!("{}.tar", object_name(&object));
    let to = checked_folder(request.to.as_ref(), &safe_name(&name))?;
    let options = RestoreOptions {
        version: Some(version),
        submission: request.submission,
        to,
        requested_by: request.by.actor.name.clone(),
    };
    let wanted = Requested { action: OF_OBJECTS.action, file: None, name, size: object.bytes, options };
    make(home, &object, wanted, &request.by)
}

/// Makes the work item that gives a single file back, as it is now.
///
/// # Errors
/// The file does not exist or has been taken out, or one of its name lies in the folder.
pub fn request_file(home: &Home, request: &RestoreFileRequest) -> Result<ItemId, EngineError> {
    let unknown = || EngineError::NotFound {
        what: "file",
        name: request.file.clone(),
        hint: ": `objects files` shows identifiers".into(),
    };
    let id: FileId = request.file.parse().map_err(|_| unknown())?;
    let (object, file) = home.registry.read(|tx| objects::file(tx, Scope::System, id))?.ok_or_else(unknown)?;
    let name = file_name_of(shown_path(&file.path)).to_owned();
    let to = checked_folder(request.to.as_ref(), &safe_name(&name))?;
    let options = RestoreOptions { to, requested_by: request.by.actor.name.clone(), ..RestoreOptions::default() };
    let wanted = Requested { action: OF_FILES.action, file: Some(id), name, size: file.size, options };
    make(home, &object, wanted, &request.by)
}

/// The folder as an absolute path, in which nothing of this name lies.
fn checked_folder(folder: Option<&PathBuf>, name: &str) -> Result<Option<String>, EngineError> {
    let Some(folder) = folder else { return Ok(None) };
    let shown = folder.display().to_string();
    let absolute = std::path::absolute(folder).map_err(|source| EngineError::Io {
        act: "find the folder",
        path: shown.clone(),
        source,
    })?;
    if absolute.join(name).symlink_metadata().is_ok() {
        let path = absolute.join(name);
        return Err(EngineError::Usage(format!(
            "{} exists already and is not replaced; move it away, or restore into another folder",
            path.display()
        )));
    }
    match absolute.into_os_string().into_string() {
        Ok(text) => Ok(Some(text)),
        Err(_) => Err(EngineError::Usage(format!("{shown:?} is not UTF-8; name a folder that is"))),
    }
}

/// What a work item is to give back.
struct Requested {
    action: Action,
    file: Option<FileId>,
    name: String,
    size: u64,
    options: RestoreOptions,
}

fn make(home: &Home, object: &Object, wanted: Requested, by: &JournalEntry) -> Result<ItemId, EngineError> {
    let Requested { action, file, name, size, options } = wanted;
    let new = NewItem {
        object: Some(object.id),
        file,
        name,
        size: Some(size),
        options: serde_json::to_string(&options).map_err(|error| EngineError::Usage(error.to_string()))?,
        note: format!("asked for by {}", by.actor.name),
        actor: Some(by.actor.id),
        ..NewItem::new(action, object.institution, &object.identifier)
    };
    let (id, workflows, by) = (new.id, home.registry.workflows(), by.clone());
    let target = Target::of(object.institution, format!("{}: {}, item {id}", object.identifier, new.name));
    home.registry.write_and_wake(move |tx| {
        by.done(tx, &target)?;
        Ok::<_, RegistryError>(vec![items::create(tx, workflows.as_ref(), &new)?])
    })?;
    Ok(id)
}
