//! Restorations: objects and files out of the stores.

use strongroom_registry::ItemId;

use super::authorization::RESTORATIONS_REQUEST;
use super::views::{RestorationBatchView, RestorationView};
use super::{OpContext, items};
use crate::EngineError;
use crate::restoration::{
    BatchRequested, CollectionRequest, ListRequest, RestoreFileRequest, RestorePathsRequest, RestoreRequest,
    request_collection, request_file, request_list, request_object, request_paths,
};

pub use crate::restoration::RestorationTarget;

/// What of an object is to be restored, and where to.
#[derive(Debug, Clone, Default)]
pub struct ObjectRequest {
    /// The object: its identifier in records, or `<institution>/<name>`.
    pub object: String,
    /// Which version; the head where absent.
    pub version: Option<u64>,
    /// The deposit that made the version byte for byte, instead of a bag made anew.
    pub submission: bool,
    /// A folder with the files in it, instead of a tar. Only where the target is a folder.
    pub unpacked: bool,
    /// Where the bag is put.
    pub target: RestorationTarget,
}

/// Which files of an object are to be restored, and where to.
#[derive(Debug, Clone, Default)]
pub struct PathsRequest {
    /// The object: its identifier in records, or `<institution>/<name>`.
    pub object: String,
    /// Which version; the head where absent.
    pub version: Option<u64>,
    /// Paths of files as `objects files` shows them, folders for all that is below them, or patterns: `*` and `?` stand for
    /// characters of one name, `**` for any number of folders, `[ab]` for one of these characters, `{a,b}` for one of these words.
    pub paths: Vec<String>,
    /// Where they are put: into a folder, as a folder with the object's name; else as a tar. A single file is put as it is.
    pub target: RestorationTarget,
}

/// Requests an object as a bag.
///
/// # Errors
/// The object or version does not exist, something of the bag's name lies in the folder, or an actor who acts for one
/// institution names a folder of the server.
pub fn of_object(context: &OpContext, request: ObjectRequest) -> Result<RestorationView, EngineError> {
    let authorized = context.authorize(&RESTORATIONS_REQUEST)?;
    let ObjectRequest { object, version, submission, unpacked, target } = request;
    let (scope, by) = (authorized.scope(), authorized.entry_named("object"));
    let request = RestoreRequest { scope, object, version, target, submission, unpacked, by };
    made(context, request_object(authorized.home(), &request)?)
}

/// Requests some files of an object.
///
/// # Errors
/// The object or version does not exist, a path or pattern names no file of it, something of the result's name lies in the folder,
/// or an actor who acts for one institution names a folder of the server.
pub fn of_paths(context: &OpContext, request: PathsRequest) -> Result<RestorationView, EngineError> {
    let authorized = context.authorize(&RESTORATIONS_REQUEST)?;
    let PathsRequest { object, version, paths, target } = request;
    let (scope, by) = (authorized.scope(), authorized.entry_named("paths"));
    made(context, request_paths(authorized.home(), &RestorePathsRequest { scope, object, version, paths, target, by })?)
}

/// Requests one file, as it is now.
///
/// # Errors
/// The file does not exist or has been taken out, something of its name lies in the folder, or an actor who acts for one
/// institution names a folder of the server.
pub fn of_file(context: &OpContext, file: &str, target: RestorationTarget) -> Result<RestorationView, EngineError> {
    let authorized = context.authorize(&RESTORATIONS_REQUEST)?;
    let (scope, by) = (authorized.scope(), authorized.entry_named("file"));
    let request = RestoreFileRequest { scope, file: file.to_owned(), version: None, target, by };
    made(context, request_file(authorized.home(), &request)?)
}

/// Requests every object of a collection, as one batch with one receipt.
///
/// # Errors
/// Institution or collection do not exist, the collection has no objects, or an actor who acts for one institution names a
/// folder of the server.
pub fn of_collection(
    context: &OpContext,
    institution: &str,
    collection: &str,
    target: RestorationTarget,
) -> Result<RestorationBatchView, EngineError> {
    let authorized = context.authorize(&RESTORATIONS_REQUEST)?;
    let (scope, by) = (authorized.scope(), authorized.entry_named("collection"));
    let (institution, collection) = (institution.to_owned(), collection.to_owned());
    let request = CollectionRequest { scope, institution, collection, target, by };
    Ok(batch_made(request_collection(authorized.home(), &request)?))
}

/// Requests the objects that are named, identifiers in records or `<institution>/<name>`, as one batch with one receipt. The
/// names are taken as they come, and need not fit into memory.
///
/// # Errors
/// There is no name, or one cannot be read; objects do not exist, all of which the error says; they belong to several
/// institutions; or an actor who acts for one institution names a folder of the server. Nothing is made then.
pub fn of_list(
    context: &OpContext,
    names: &mut dyn Iterator<Item = Result<String, EngineError>>,
    target: RestorationTarget,
) -> Result<RestorationBatchView, EngineError> {
    let authorized = context.authorize(&RESTORATIONS_REQUEST)?;
    let request = ListRequest { scope: authorized.scope(), target, by: authorized.entry_named("list") };
    Ok(batch_made(request_list(authorized.home(), &request, names)?))
}

fn batch_made(made: BatchRequested) -> RestorationBatchView {
    RestorationBatchView { batch: made.batch, item: made.item }
}

fn made(context: &OpContext, item: ItemId) -> Result<RestorationView, EngineError> {
    let made = items::show(context, item)?;
    Ok(RestorationView { item: made.item, object: made.object, action: made.action, status: made.status })
}
