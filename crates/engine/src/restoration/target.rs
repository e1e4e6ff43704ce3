//! Where something is given back to: a folder, or the institution's place in the restoration store. Either way it appears
//! whole under its name or not at all, nothing that lies there is replaced, and its SHA-256 and size are told.

use std::fmt;
use std::io::Write;
use std::path::PathBuf;
use std::time::SystemTime;

use strongroom_digest::Digest;
use strongroom_registry::restored::Place;
use strongroom_storage::Key;

use super::names::safe_name;
use super::request::RestoreOptions;
use super::{into_folder, into_store};
use crate::workflow::{StageContext, StageError};

/// A place to give back to.
pub(super) enum Target {
    /// A folder of this machine.
    Folder(PathBuf),
    /// The restoration store, below the institution.
    Store(Key),
}

/// What was given back, where, and how to prove it.
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
    pub(super) fn of(context: &StageContext<'_>, options: &RestoreOptions) -> Result<Self, StageError> {
        Ok(match &options.to {
            Some(folder) => Self::Folder(PathBuf::from(folder)),
            None => Self::Store(Key::new(context.item.institution_identifier.as_str())?),
        })
    }

    /// Gives back what `give` writes: in a folder under the last segment of `path`, in the store under all of it.
    pub(super) fn put(
        &self,
        context: &StageContext<'_>,
        path: &[&str],
        modified: Option<SystemTime>,
        give: &mut Give<'_>,
    ) -> Result<Delivery, StageError> {
        match self {
            Self::Folder(folder) => {
                let name = safe_name(path.last().copied().unwrap_or_default());
                into_folder::put(context, folder, &name, modified, give)
            }
            Self::Store(prefix) => {
                let names: Vec<String> = path.iter().map(|segment| safe_name(segment)).collect();
                into_store::put(context, prefix, &names, give)
            }
        }
    }
}
