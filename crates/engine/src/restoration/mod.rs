//! Restoration: an object as a bag made anew, a deposit byte for byte as it was sent, some files, or a single one. Every content is
//! compared with the registry when it is read, a bag passes the validator while it is written, and nothing appears under its
//! final name before it is whole and right.

mod as_sent;
mod bag;
mod batch;
mod expiry;
mod file;
mod into_folder;
mod into_store;
mod names;
mod pipe;
mod proof;
mod request;
mod retrieval;
mod selection;
mod spot_tests;
mod submission;
mod tags;
mod target;
mod unpack;
mod validation;

use strongroom_bagit::{WriteError, is_escaped_name};
use strongroom_registry::events::{self, EventRow};
use strongroom_registry::objects::{self, Object};
use strongroom_registry::restorations::{self, RestorationResult};
use strongroom_registry::work;
use strongroom_registry::{Action, FileId, Parts, Scope, Stage as Name, Time, counted, interim, restored, statistics};

pub(crate) use batch::follow_receipt;
pub use batch::{
    BatchRequested, CollectionRequest, ListRequest, forget_unused_lists, request_collection, request_list,
};
pub(crate) use batch::{KIND as KIND_OF_BATCHES, OF_BATCHES};
pub use expiry::{Expired, expire};
pub(crate) use request::is_into_folder;
pub use request::{
    RestorationTarget, RestoreFileRequest, RestorePathsRequest, RestoreRequest, request_file, request_object,
    request_paths,
};
pub(crate) use spot_tests::{event_of_decision, spot_test};

use crate::AGENT;
use crate::error::chain;
use crate::workflow::{Outcome, Passes, Stage, StageContext, StageError, WaitsFor, Workflow};
use request::RestoreOptions;
use target::{Delivery, Target};

/// How many rows are read at once.
const ROWS_AT_ONCE: usize = 500;

/// The restoration of an object.
pub(crate) const OF_OBJECTS: Workflow = of(Action::named("restore_object"));
/// The restoration of one file.
pub(crate) const OF_FILES: Workflow = of(Action::named("restore_file"));

const STAGES: &[Stage] = &[Stage {
    name: Name::named("restore"),
    run,
    waits_for: WaitsFor::Time,
    inline: false,
    passes: Passes::Once,
    is_remote: None,
}];

const fn of(action: Action) -> Workflow {
    Workflow { action, group: "restoration", stages: STAGES, restart: None, restage: None }
}

/// In what a restored bag differs from the one that was sent.
const MADE_ANEW: &str =
    "its manifests and bag-info.txt are new, --format submitted restores the files byte for byte as deposited";

fn run(context: &StageContext<'_>) -> Result<Outcome, StageError> {
    let options: RestoreOptions = serde_json::from_str(&context.item.options)?;
    let target = Target::of(context, options.to.as_deref(), options.unpacked)?;
    let (object, given, what) = if context.item.action == OF_FILES.action {
        let (object, given) = file::give(context, &target, options.version)?;
        (object, given, "restored as a file".to_owned())
    } else {
        let object = object(context)?;
        let version = options.version.unwrap_or(object.head);
        let (given, form) = if !options.paths.is_empty() {
            (selection::give(context, &target, &object, version, &options.paths)?, "in part".to_owned())
        } else if options.submission {
            (submission::give(context, &target, &object, version)?, as_deposited(context, &object, version)?)
        } else {
            let gaps = parts(context, &object, version)?.filter(|parts| !parts.is_complete());
            let (given, lack) = bag::give(context, &target, &object, version)?;
            let remarks = gaps.map(|gaps| gaps.to_string()).into_iter().chain(lack);
            let form = remarks.fold("as a bag".to_owned(), |form, remark| format!("{form}, {remark}"));
            (given, format!("{form}; {MADE_ANEW}"))
        };
        (object, given, format!("version {version} restored {form}"))
    };
    let stays = match end(context, &object, &what, &given)? {
        Some(until) => format!(", stays until {until}"),
        None => String::new(),
    };
    Ok(Outcome::done(format!("{what}: {given}{stays}")))
}

/// How the files of a deposit are given back: names that are not UTF-8 are kept, and given, in an escaped form.
fn as_deposited(context: &StageContext<'_>, object: &Object, version: u64) -> Result<String, StageError> {
    let mut escaped = 0;
    for_each_page(context, object, version, objects::DEPOSIT, &mut |page| {
        escaped += page.iter().filter(|file| is_escaped_name(&file.path)).count() as u64;
        Ok(())
    })?;
    if escaped == 0 {
        return Ok("with each file byte for byte as deposited".to_owned());
    }
    let names = counted(escaped, "name is", "names are");
    Ok(format!("with the bytes of each file as deposited; {names} escaped, with \\xHH for each byte that is not UTF-8"))
}

/// The object that the item is about.
fn object(context: &StageContext<'_>) -> Result<Object, StageError> {
    let scope = Scope::Institution(context.item.institution);
    let id = context.item.object.ok_or_else(|| StageError::fatal("the work item names no object"))?;
    context
        .registry()
        .read(|tx| objects::get(tx, scope, id))?
        .ok_or_else(|| StageError::fatal(format!("there is no object {}", context.item.object_identifier)))
}

/// The parts that the object was put together of at a version, where it came in parts.
fn parts(context: &StageContext<'_>, object: &Object, version: u64) -> Result<Option<Parts>, StageError> {
    Ok(context.registry().read(|tx| strongroom_registry::parts::at(tx, object.id, object.generation, version))?)
}

/// The object's name within its institution: what the bag is called.
fn object_name(object: &Object) -> &str {
    object.identifier.split_once('/').map_or(object.identifier.as_str(), |(_, name)| name)
}

/// Records the dissemination of the object, once for each work item, and until when the result stays in the restoration
/// store, if it is to be removed from there.
fn end(context: &StageContext<'_>, object: &Object, what: &str, given: &Delivery) -> Result<Option<Time>, StageError> {
    let actor = context.actor()?;
    let event = EventRow {
        id: events::derived_id(context.item.id.0, "dissemination"),
        institution: object.institution,
        object: Some(object.id),
        file: context.item.file,
        content: None,
        item: Some(context.item.id),
        version: None,
        kind: "dissemination".into(),
        components: None,
        time: context.now()?.0,
        outcome: "success".into(),
        detail: Some(what.to_owned()),
        outcome_detail: Some(given.to_string()),
        store: None,
        agent: AGENT.into(),
        actor,
    };
    record_result(context, given, Some(event))
}

/// Records where a result was put, and until when it stays there; with an event, where it is one of an object.
fn record_result(
    context: &StageContext<'_>,
    given: &Delivery,
    event: Option<EventRow>,
) -> Result<Option<Time>, StageError> {
    let (stored, size, retention) = (given.stored.clone(), given.size, context.home.settings.restoration.retention);
    let result = RestorationResult { place: given.place.clone(), size, sha256: given.sha256.to_hex() };
    context.write(move |tx, claim| {
        work::check_fence(tx, claim)?;
        events::append(tx, event.as_slice())?;
        if let Some(EventRow { id, object: Some(object), time, .. }) = &event {
            statistics::disseminate(tx, *id, *object, Time(*time), size)?;
        }
        restorations::put_result(tx, claim, &result)?;
        interim::clear(tx, claim.item)?;
        let Some(stored) = &stored else { return Ok(None) };
        let expires_at = expiry::expires_at(retention, tx.now()?);
        restored::keep(tx, claim, &stored.place, &stored.etag, size, expires_at)?;
        Ok(expires_at)
    })
}

/// Runs over the files of a version under `prefix`, page by page in byte order of the path.
fn for_each_page(
    context: &StageContext<'_>,
    object: &Object,
    version: u64,
    prefix: &str,
    act: &mut dyn FnMut(&[objects::File]) -> Result<(), StageError>,
) -> Result<(), StageError> {
    let mut after = String::new();
    loop {
        context.task.check()?;
        let page =
            context.registry().read(|tx| objects::files(tx, object.id, version, prefix, &after, ROWS_AT_ONCE))?;
        let Some(last) = page.last() else { return Ok(()) };
        after.clone_from(&last.path);
        act(&page)?;
    }
}

/// What went wrong with writing a bag.
fn bag_trouble(context: &StageContext<'_>, error: &WriteError) -> StageError {
    match context.task.check() {
        Err(reason) => reason.into(),
        Ok(()) if error.is_transient() => StageError::Transient(chain(error)),
        Ok(()) => StageError::fatal(chain(error)),
    }
}

/// The file that the item is about.
fn file_id(context: &StageContext<'_>) -> Result<FileId, StageError> {
    context.item.file.ok_or_else(|| StageError::fatal("the work item names no file"))
}
