//! Where a result is put: a folder, or the restoration store of the institution. Either way it appears whole under its name or
//! not at all, nothing that lies there is replaced, and its SHA-256 and size are recorded.

use std::fmt;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::SystemTime;

use strongroom_digest::Digest;
use strongroom_registry::restored::Place;
use strongroom_registry::{ObjectState, RegistryError, Scope, deletions, objects};
use strongroom_storage::{Key, Store};

use super::names::safe_name;
use super::request::check_apart;
use super::{into_folder, into_store, unpack};
use crate::workflow::{StageContext, StageError};

/// Where a result is put.
pub(super) enum Target {
    /// A folder of this machine.
    Folder(PathBuf),
    /// A folder of this machine, in which a tar becomes a folder with the files in it.
    Unpacked(PathBuf),
    /// The restoration store of the institution.
    Store(Shelf),
}

/// The part of a restoration store that is an institution's.
pub(super) struct Shelf {
    pub(super) store: Arc<dyn Store>,
    /// The institution's domain name, below which everything lies that is put there for it.
    pub(super) prefix: Key,
}

/// What was restored, to where, and with which size and digest.
pub(super) struct Delivery {
    pub(super) place: String,
    pub(super) size: u64,
    pub(super) sha256: Digest,
    /// Where it lies in the restoration store, if that is where it is.
    pub(super) stored: Option<Stored>,
}

/// Something in the restoration store.
#[derive(Debug, Clone)]
pub(super) struct Stored {
    pub(super) place: Place,
    /// As it was put.
    pub(super) etag: String,
}

impl fmt::Display for Delivery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {} bytes, sha256:{}", self.place, self.size, self.sha256)
    }
}

/// What writes the bytes; it may be asked again after it failed.
pub(super) type Give<'g> = dyn FnMut(&mut (dyn Write + Send)) -> Result<(), StageError> + 'g;

impl Target {
    /// A folder by its absolute path, or the restoration store of the item's institution.
    pub(super) fn of(context: &StageContext<'_>, folder: Option<&str>, unpacked: bool) -> Result<Self, StageError> {
        if let Some(folder) = folder.map(PathBuf::from) {
            // What the path leads to may have changed since the request.
            check_apart(context.home, &folder).map_err(|error| StageError::fatal(error.chain()))?;
            return Ok(if unpacked { Self::Unpacked(folder) } else { Self::Folder(folder) });
        }
        let institution = context.item.institution_identifier.as_str();
        let store = context.home.restoration_store(institution)?.clone();
        Ok(Self::Store(Shelf { store, prefix: Key::new(institution)? }))
    }

    /// Writes what `give` produces: in a folder under the last segment of `path`, in the store under all of it.
    pub(super) fn put(
        &self,
        context: &StageContext<'_>,
        path: &[&str],
        modified: Option<SystemTime>,
        give: &mut Give<'_>,
    ) -> Result<Delivery, StageError> {
        let begun = deletions_begun(context)?;
        let give: &mut Give<'_> = &mut |out| {
            give(out)?;
            // What was read page by page may be in part from before.
            if deletions_begun(context)? == begun {
                return Ok(());
            }
            Err(StageError::Transient(
                "files of the object were deleted while it was read; it is read again".to_owned(),
            ))
        };
        match self {
            Self::Folder(folder) => {
                let name = safe_name(path.last().copied().unwrap_or_default());
                into_folder::put(context, folder, &name, modified, give)
            }
            Self::Unpacked(folder) => {
                let archive = path.last().copied().unwrap_or_default();
                let name = safe_name(archive.strip_suffix(".tar").unwrap_or(archive));
                unpack::put(context, folder, &name, give)
            }
            Self::Store(shelf) => {
                let names: Vec<String> = path.iter().map(|segment| safe_name(segment)).collect();
                into_store::put(context, shelf, &names, give)
            }
        }
    }
}

/// How many deletions of the item's object were begun so far.
///
/// # Errors
/// The whole object was deleted.
fn deletions_begun(context: &StageContext<'_>) -> Result<u64, StageError> {
    let Some(id) = context.item.object else { return Ok(0) };
    let (begun, object) = context.registry().read(|tx| {
        Ok::<_, RegistryError>((deletions::count_of_object(tx, id)?, objects::get(tx, Scope::System, id)?))
    })?;
    match object {
        Some(object) if object.state == ObjectState::Deleted => {
            Err(StageError::fatal(format!("{} was deleted", object.identifier)))
        }
        _ => Ok(begun),
    }
}
