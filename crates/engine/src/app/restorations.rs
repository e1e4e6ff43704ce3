//! Restorations: objects and files that are given back.

use std::path::PathBuf;

use strongroom_registry::objects::{self, Object};
use strongroom_registry::{FileId, ItemId, Scope};

use super::authorization::RESTORATIONS_REQUEST;
use super::views::RestorationView;
use super::{Authorized, OpContext, items};
use crate::EngineError;
use crate::restoration::{RestoreFileRequest, RestoreRequest, request_file, request_object};

/// What of an object is to be given back, and where to.
#[derive(Debug, Clone, Default)]
pub struct ObjectRequest {
    /// The object: its identifier in records, or `<institution>/<name>`.
    pub object: String,
    /// Which version; the head where absent.
    pub version: Option<u64>,
    /// The deposit that made the version byte for byte, instead of a bag made anew.
    pub submission: bool,
    /// The folder of this machine to put it into; the institution's place in the restoration store where absent.
    pub to: Option<PathBuf>,
}

/// Has an object given back as a bag.
///
/// # Errors
/// The object or version does not exist, or something of the bag's name lies in the folder.
pub fn of_object(context: &OpContext, request: ObjectRequest) -> Result<RestorationView, EngineError> {
    let authorized = authorized(context, request.to.as_ref())?;
    authorized.read(|tx| objects::find(tx, authorized.scope(), &request.object))?;
    let ObjectRequest { object, version, submission, to } = request;
    let request = RestoreRequest { object, version, to, submission, by: authorized.entry_named("object") };
    made(context, request_object(authorized.home(), &request)?)
}

/// Has one file given back, as it is now.
///
/// # Errors
/// The file does not exist or has been taken out, or something of its name lies in the folder.
pub fn of_file(context: &OpContext, file: &str, to: Option<PathBuf>) -> Result<RestorationView, EngineError> {
    let authorized = authorized(context, to.as_ref())?;
    if let (Scope::Institution(_), Ok(id)) = (authorized.scope(), file.parse::<FileId>()) {
        let found: Option<(Object, _)> = authorized.read(|tx| objects::file(tx, authorized.scope(), id))?;
        if found.is_none() {
            return Err(EngineError::NotFound {
                what: "file",
                name: file.to_owned(),
                hint: ": `objects files` shows identifiers".into(),
            });
        }
    }
    let request = RestoreFileRequest { file: file.to_owned(), to, by: authorized.entry_named("file") };
    made(context, request_file(authorized.home(), &request)?)
}

/// A folder of this machine is for those who act for the whole installation: what an institution is given back comes into its
/// own place.
fn authorized<'c>(context: &'c OpContext, to: Option<&PathBuf>) -> Result<Authorized<'c>, EngineError> {
    let authorized = context.authorize(&RESTORATIONS_REQUEST)?;
    match (authorized.scope(), to) {
        (Scope::Institution(_), Some(folder)) => Err(EngineError::Refused(format!(
            "{} is a folder of the server; without one it comes into the institution's place in the restoration store",
            folder.display()
        ))),
        _ => Ok(authorized),
    }
}

fn made(context: &OpContext, item: ItemId) -> Result<RestorationView, EngineError> {
    let made = items::show(context, item)?;
    Ok(RestorationView { item: made.item, object: made.object, action: made.action, status: made.status })
}
