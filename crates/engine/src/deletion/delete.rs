//! delete: holds the object, records what is deleted where nothing stands against it, removes the rows, then what lies in each store. From
//! the record on it only goes forward: a store that is away keeps the item open until it is back.

use std::collections::BTreeSet;

use strongroom_ocfl::{LastRecord, Object as StoredObject, PurgePlan, User, VersionDetails, object_id};
use strongroom_registry::backfill;
use strongroom_registry::begun_deletions::{self, Beginning};
use strongroom_registry::deletion_requests::{self, Request};
use strongroom_registry::deletion_targets;
use strongroom_registry::deletions::{self, Deletion};
use strongroom_registry::events::{self, EventRow};
use strongroom_registry::items::Item;
use strongroom_registry::leases;
use strongroom_registry::objects::{self, Object};
use strongroom_registry::obstacles::Obstacle;
use strongroom_registry::tenants;
use strongroom_registry::versions::{self, Version};
use strongroom_registry::{
    DeletionId, DeletionState, FileId, JournalOutcome, ObjectId, ObjectState, RegistryError, Scope, Time, Transaction,
    VersionId, WaitReason, counted, work,
};

use super::carrying_out::{self, carry_out, finish_in};
use super::holding::{held_by_stores, stores_of};
use super::last::{self, NewLast};
use super::requests::obstacles::{files, in_words};
use super::tombstone::{self, DeletedFile, DeletionLog, Grounds, LARGEST, NewLog};
use super::{OF_OBJECTS, rows};
use crate::content_name::in_package;
use crate::fixity::put_right;
use crate::hold::{ObjectHold, OperationError};
use crate::journal::{JournalEntry, Target};
use crate::logs::object_root;
use crate::workflow::{Outcome, StageContext, StageError};
use crate::{AGENT, crash_point, record};

/// How long the item sleeps unless what it waits for wakes it, in microseconds.
const WAIT: i64 = 60_000_000;
/// What is said of stores that could not be reached for good.
const NOT_NAMED: &str =
    " not in the settings any more, and has what it had of this: destroy it, or name it in the settings again";
/// Files that a line of the journal names.
const NAMED: usize = 10;
/// Events put at once.
const EVENTS_AT_ONCE: usize = 1_000;

/// Deletes.
pub(super) fn run(context: &StageContext<'_>) -> Result<Outcome, StageError> {
    let object = context.item.object.ok_or_else(|| StageError::fatal("the work item names no object"))?;
    let hold = match ObjectHold::of_item(context.home, object, context.claim) {
        Err(OperationError::Busy(until)) => {
            let note = "waits for other work on the same object".to_owned();
            return Err(StageError::Waits { until, reason: WaitReason::Object, note });
        }
        held => held.map_err(|halt| StageError::of_halt(halt, StageError::from))?,
    };
    let known = context.registry().read(|tx| deletions::of_item(tx, context.item.id))?;
    let deletion = match known {
        Some(deletion) => deletion,
        None => match begin(context, &hold)? {
            Begun::Deletion(deletion) => *deletion,
            Begun::Ends(outcome) => return Ok(outcome),
        },
    };
    let log = tombstone::of(&deletion)?;
    let outcome = go_forward(context, &hold, deletion, &log);
    if outcome.is_err() {
        // Others may use the object meanwhile, where what is left waits for a store.
        let topics = context.write(|tx, claim| {
            work::check_fence(tx, claim)?;
            leases::release_owner(tx, claim.item.0)
        })?;
        context.registry().wakeups().notify(topics.iter().map(String::as_str));
    }
    outcome
}

/// Carries out what was begun, as far as the stores are there.
fn go_forward(
    context: &StageContext<'_>,
    hold: &ObjectHold<'_>,
    mut deletion: Deletion,
    log: &DeletionLog,
) -> Result<Outcome, StageError> {
    let go_on = || context.task.check();
    let halted = |halt| StageError::of_halt(halt, StageError::from);
    let (mut failed, mut tried) = (None, BTreeSet::new());
    if deletion.state == DeletionState::Begun {
        rows::remove(hold, log, &go_on).map_err(halted)?;
        crash_point("deletion.rows");
        let (mut done, mut refused) = (Vec::new(), Vec::new());
        for store in open_stores(context, deletion.id)? {
            match carry_out(context.home, hold, log, &store, &go_on) {
                Ok(last) => done.push((store, last.map(|key| key.to_string()))),
                Err(OperationError::Engine(error)) if !carrying_out::is_of_registry(&error) => {
                    if error.away().is_none() {
                        refused.push((store.clone(), error.chain()));
                    }
                    failed.get_or_insert(StageError::from(error));
                    tried.insert(store);
                }
                Err(halt) => return Err(halted(halt)),
            }
        }
        if done.is_empty()
            && let Some(failed) = failed.take()
        {
            let id = deletion.id;
            let note = move |tx: &mut dyn Transaction| {
                refused.iter().try_for_each(|(store, reason)| deletions::set_failed(tx, id, store, reason))
            };
            hold.write(note).map_err(halted)?;
            return Err(going_forward(failed));
        }
        crash_point("deletion.stores");
        settle(hold, &deletion, log, (done, refused)).map_err(halted)?;
        crash_point("deletion.settled");
        deletion.state = DeletionState::Settled;
    }
    for store in open_stores(context, deletion.id)?.into_iter().filter(|store| !tried.contains(store)) {
        let mut finished = finish_in(context.home, hold, &deletion, &store, &go_on);
        if let Err(OperationError::Engine(error)) = &finished
            && !carrying_out::is_of_registry(error)
            && error.away().is_none()
            && matches!(carrying_out::is_another_in_the_way(context.home, log, &store), Ok(true))
        {
            // A damaged inventory stands in its way.
            match put_right(context.home, (hold.object(), context.claim), &store, &go_on) {
                Ok(true) => finished = finish_in(context.home, hold, &deletion, &store, &go_on),
                Ok(false) => {}
                Err(OperationError::Engine(error)) if !carrying_out::is_of_registry(&error) => {}
                Err(halt) => return Err(halted(halt)),
            }
        }
        match finished {
            Ok(()) => {}
            Err(OperationError::Engine(error)) if !carrying_out::is_of_registry(&error) => {
                if error.away().is_none() {
                    let (id, reason) = (deletion.id, error.chain());
                    hold.write(move |tx| deletions::set_failed(tx, id, &store, &reason)).map_err(halted)?;
                }
                failed.get_or_insert(StageError::from(error));
            }
            Err(halt) => return Err(halted(halt)),
        }
    }
    end(context, &deletion, log, failed)
}

/// The stores of the settings in which a deletion is still to be carried out.
fn open_stores(context: &StageContext<'_>, id: DeletionId) -> Result<Vec<String>, RegistryError> {
    let stores = context.registry().read(|tx| deletions::stores(tx, id))?;
    let is_open =
        |store: &deletions::DeletionStore| store.done_at.is_none() && context.home.stores.contains_key(&store.store);
    Ok(stores.into_iter().filter(is_open).map(|store| store.store).collect())
}

/// What was recorded goes forward: it cannot be ended by what fails now.
fn going_forward(error: StageError) -> StageError {
    match error {
        StageError::Fatal { note, .. } | StageError::Invalid { note, .. } => StageError::Transient(note),
        other => other,
    }
}

/// The stores in which it is done, each with the key of the last version's record there; and those that refused, with the reason.
pub(super) type CameOf = (Vec<(String, Option<String>)>, Vec<(String, String)>);

/// Lets readers and other work see what is left.
pub(super) fn settle(
    hold: &ObjectHold<'_>,
    deletion: &Deletion,
    log: &DeletionLog,
    (done, refused): CameOf,
) -> Result<(), OperationError> {
    let last = last::rows_of(log)?;
    let (deletion, version) = (deletion.clone(), log.version);
    hold.write(move |tx| {
        match &last {
            Some(last) => deletions::settle_whole(tx, &deletion, last)?,
            None => deletions::settle_files(tx, &deletion, version)?,
        }
        for (store, key) in &done {
            if let (Some(key), Some(last)) = (key, &last) {
                deletions::put_last_copy(tx, &deletion, store, (last.content, key))?;
            }
            deletions::set_done(tx, deletion.id, store, key.is_some())?;
        }
        for (store, reason) in &refused {
            deletions::set_failed(tx, deletion.id, store, reason)?;
        }
        Ok(())
    })
}

/// Ends the item where no store has anything left; else it waits, or fails for now.
fn end(
    context: &StageContext<'_>,
    deletion: &Deletion,
    log: &DeletionLog,
    failed: Option<StageError>,
) -> Result<Outcome, StageError> {
    if let Some(failed) = failed {
        return Err(going_forward(failed));
    }
    carrying_out::remove_evidence(context.home, deletion, &|| context.task.check())
        .map_err(|halt| StageError::of_halt(halt, StageError::from))?;
    let stores = context.registry().read(|tx| deletions::stores(tx, deletion.id))?;
    let (done, left): (Vec<_>, Vec<_>) = stores.into_iter().partition(|store| store.done_at.is_some());
    for page in log.events.chunks(EVENTS_AT_ONCE) {
        let page = page.to_vec();
        context.write(move |tx, claim| {
            work::check_fence(tx, claim)?;
            events::append(tx, &page)
        })?;
    }
    let id = deletion.id;
    context.with_end(move |tx, claim| {
        deletions::complete(tx, id)?;
        leases::release_owner(tx, claim.item.0)
    });
    let names = |stores: &[deletions::DeletionStore]| {
        stores.iter().map(|store| store.store.clone()).collect::<Vec<_>>().join(", ")
    };
    let what = if log.is_whole() {
        "the object was deleted".to_owned()
    } else {
        format!("{} deleted", counted(log.files.len() as u64, "file was", "files were"))
    };
    let stay = match left.as_slice() {
        [] => String::new(),
        [one] => format!("; the store {} is{NOT_NAMED}", one.store),
        several => format!("; the stores {} are{NOT_NAMED}", names(several)),
    };
    let from = if done.is_empty() { String::new() } else { format!(" from {}", names(&done)) };
    let note = format!("{what}{from}{stay}");
    Ok(Outcome::done(note))
}

/// How a deletion begins.
enum Begun {
    /// It is recorded.
    Deletion(Box<Deletion>),
    /// There is nothing to delete.
    Ends(Outcome),
}

/// What is known of the object before anything is deleted.
struct Known {
    object: Object,
    versions: Vec<Version>,
    /// The stores that hold something of it by the record.
    holders: Vec<String>,
    /// These, and the others of its placement: one that is being filled may have bytes that are not recorded.
    stores: Vec<String>,
    /// Stores that are out of use.
    retired: BTreeSet<String>,
    grounds: Grounds,
    files: Vec<DeletedFile>,
    institution_name: String,
    last_file: FileId,
}

/// Plans the deletion and records it, where nothing stands against it. It is recorded only where no other work has held the object since
/// it was planned: that may have brought the object into a store which the plan does not know.
fn begin(context: &StageContext<'_>, hold: &ObjectHold<'_>) -> Result<Begun, StageError> {
    let object = hold.object();
    let known = look(context, object)?;
    let is_whole = context.item.action == OF_OBJECTS.action;
    if known.object.state == ObjectState::Deleted {
        return Ok(Begun::Ends(Outcome::done("the object was deleted before")));
    }
    if !is_whole && known.files.is_empty() {
        return Ok(Begun::Ends(Outcome::done("the files were deleted before")));
    }
    let unknown: Vec<&str> = known
        .holders
        .iter()
        .filter(|store| !context.home.stores.contains_key(*store) && !known.retired.contains(*store))
        .map(String::as_str)
        .collect();
    if !unknown.is_empty() {
        return Err(StageError::fatal(format!(
            "nothing is deleted: the registry has {} in {}, which the settings do not name; next: name it again, or take it out of use with strongroom store retire",
            known.object.identifier,
            unknown.join(", ")
        )));
    }
    let Some(head) = known.versions.last() else {
        return Err(StageError::fatal(format!("{} has no version", known.object.identifier)));
    };
    let (id, begun_at) = (DeletionId::new(), context.now()?);
    let log = plan(context, &known, head, (id, begun_at), is_whole)?;
    let text = serde_json::to_string(&log)?;
    if text.len() > LARGEST {
        return Err(StageError::fatal(format!(
            "{} are too many for one request: what records them would have {} bytes, and {LARGEST} are the most; request fewer of them at a time",
            counted(log.files.len() as u64, "file is", "files"),
            text.len()
        )));
    }
    let deletion = Deletion {
        id,
        item: Some(context.item.id),
        institution: known.object.institution,
        object,
        generation: known.object.generation,
        files: (!is_whole).then_some(known.files.len() as u64),
        state: DeletionState::Begun,
        name: log.name(),
        tombstone: text,
        begun_at,
        settled_at: None,
        completed_at: None,
    };
    if let Some(held) = held_by_stores(context, (&known.object, &known.stores), &log)? {
        return Err(StageError::fatal(format!(
            "nothing is deleted: {held}; next: wait until then, or have the service release it, then request the deletion again"
        )));
    }
    let (new, stores, item) = (deletion.clone(), known.stores, context.item.clone());
    let files: Option<Vec<FileId>> =
        if is_whole { None } else { Some(known.files.iter().map(|file| file.file).collect()) };
    let target = Target::of_object(known.object.institution, known.object.identifier.clone());
    let detail = in_journal(&log);
    let record = move |tx: &mut dyn Transaction| {
        let request = request_of(tx, &item)?;
        if !deletion_requests::keep_approved(tx, request.id)? {
            return Ok(Err(format!("its request is {}", request.state)));
        }
        if let Some((then, now)) = deletion_targets::changed_since(tx, request.id, new.object)? {
            return Ok(Err(format!(
                "it was requested of version {then}, and version {now} has something else; next: request it again"
            )));
        }
        let scope = Scope::Institution(item.institution);
        let beginning = begun_deletions::begin(tx, scope, (&new, &stores), files.as_deref())?;
        if beginning == Beginning::Begun {
            let entry = JournalEntry::of_system("deletions.begin");
            entry.append(tx, &target, JournalOutcome::Done, Some(&detail))?;
        }
        Ok(Ok(beginning))
    };
    let beginning = write_held(context, hold, record)?;
    match beginning {
        Ok(Beginning::Begun) => {
            crash_point("deletion.begun");
            Ok(Begun::Deletion(Box::new(deletion)))
        }
        Ok(Beginning::Forbidden(obstacles)) => Err(forbidden(&obstacles, context.now()?.plus(WAIT))),
        Err(reason) => Err(StageError::fatal(format!("nothing is deleted: {reason}"))),
    }
}

/// What the journal says of a deletion that begins.
fn in_journal(log: &DeletionLog) -> String {
    let what = if log.is_whole() {
        "all of it".to_owned()
    } else {
        let named: Vec<&str> = log.files.iter().take(NAMED).map(|file| in_package(&file.path)).collect();
        let more = log.files.len().saturating_sub(NAMED);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        format!("{}{more}", named.join(", "))
    };
    let grounds = &log.grounds;
    format!("{what}; request {} of {}, approved by {}", grounds.request, grounds.requested_by, grounds.approved_by)
}

/// Runs a write transaction that other work on the object keeps from being run.
#[cfg_attr(not(feature = "failpoints"), expect(unused_variables))] // `context` is for the fault that is put back
fn write_held<T, F>(context: &StageContext<'_>, hold: &ObjectHold<'_>, mut job: F) -> Result<T, StageError>
where
    T: Send + 'static,
    F: FnMut(&mut dyn Transaction) -> Result<T, RegistryError> + Send + 'static,
{
    #[cfg(feature = "failpoints")]
    if strongroom_registry::faults::is_put_back(strongroom_registry::faults::DELETION_OF_HOLDERS) {
        return context.write(move |tx, claim| {
            work::check_fence(tx, claim)?;
            job(tx)
        });
    }
    hold.write(move |tx| job(tx)).map_err(|halt| StageError::of_halt(halt, StageError::from))
}

/// Why a deletion does not begin: other work on the object is waited for, anything else forbids it.
fn forbidden(obstacles: &[Obstacle], until: Time) -> StageError {
    let is_work = |obstacle: &Obstacle| matches!(obstacle, Obstacle::WorkItem { .. } | Obstacle::Committing { .. });
    let words = obstacles.iter().map(in_words).collect::<Vec<_>>().join("; ");
    if obstacles.iter().all(is_work) {
        return StageError::Waits { until, reason: WaitReason::Object, note: format!("waits: {words}") };
    }
    StageError::fatal(format!("nothing is deleted: {words}"))
}

/// The request that a work item deletes for.
fn request_of(tx: &mut dyn Transaction, item: &Item) -> Result<Request, RegistryError> {
    let none = || RegistryError::NotFound { what: "request for deletion of work item", id: item.id.to_string() };
    deletion_requests::of_item(tx, item)?.ok_or_else(none)
}

/// Who asked for it, who approved it, and why.
fn grounds_of(request: &Request) -> Grounds {
    let approved = request.approved.as_ref();
    Grounds {
        request: request.id.to_string(),
        requested_by: request.requested.name.clone(),
        requested_at: request.requested.at.0,
        reason: request.reason.clone(),
        approved_by: approved.map(|act| act.name.clone()).unwrap_or_default(),
        approved_at: approved.map_or(0, |act| act.at.0),
        note: approved.and_then(|act| act.words.clone()),
    }
}

fn look(context: &StageContext<'_>, object: ObjectId) -> Result<Known, StageError> {
    let item = context.item;
    context.registry().read(|tx| {
        let gone = || RegistryError::NotFound { what: "object", id: object.to_string() };
        let object = objects::get(tx, Scope::Institution(item.institution), object)?.ok_or_else(gone)?;
        let versions = versions::list(tx, object.id, object.generation, false)?;
        let (holders, retired) = (deletions::holders(tx, object.id)?, backfill::retired(tx)?);
        let stores = stores_of(tx, &context.home.settings, &object, &holders)?;
        let request = request_of(tx, item)?;
        let files = if item.action == OF_OBJECTS.action { Vec::new() } else { files(tx, request.id, object.id)? };
        let mut named = Vec::with_capacity(files.len());
        for (file, path) in files {
            if deletions::has_entries(tx, &object, file)? {
                named.push(DeletedFile { file, path });
            }
        }
        let institution = tenants::institution_by_id(tx, Scope::System, item.institution)?;
        let last_file = last::file_of(tx, &object, object.head + 1)?;
        let institution_name = institution.map(|institution| institution.name).unwrap_or_default();
        let grounds = grounds_of(&request);
        Ok(Known { object, versions, holders, stores, retired, grounds, files: named, institution_name, last_file })
    })
}

/// Plans it by what lies in a store that has the object as it is recorded.
fn plan(
    context: &StageContext<'_>,
    known: &Known,
    head: &Version,
    (id, begun_at): (DeletionId, Time),
    is_whole: bool,
) -> Result<DeletionLog, StageError> {
    let mut failed = None;
    for store in &known.holders {
        if !context.home.stores.contains_key(store) {
            continue;
        }
        match plan_in(context, known, head, (id, begun_at), (store, is_whole)) {
            Ok(log) => return Ok(log),
            Err(StageError::Interrupted(reason)) => return Err(reason.into()),
            Err(error) => _ = failed.get_or_insert(error),
        }
    }
    Err(failed.unwrap_or_else(|| {
        StageError::fatal(format!(
            "no store in the settings has {}; next: strongroom fixity problems",
            known.object.identifier
        ))
    }))
}

fn plan_in(
    context: &StageContext<'_>,
    known: &Known,
    head: &Version,
    (id, begun_at): (DeletionId, Time),
    (store, is_whole): (&str, bool),
) -> Result<DeletionLog, StageError> {
    let object = &known.object;
    let store = context.home.store(store)?.as_ref();
    let in_store = StoredObject::new(store, object_root(&object.institution_identifier, object.generation)?);
    let differs = |what: &str| {
        StageError::fatal(format!(
            "{}: {what} in store {} is not as recorded, and nothing is deleted; next: strongroom fixity run --all --object {}, then request the deletion again",
            object.identifier,
            store.name(),
            object.identifier
        ))
    };
    let found = in_store.root_inventory()?.map(|found| found.seal.digest);
    if found.is_none() || found != head.inventory {
        return Err(differs("the root inventory"));
    }
    let next = head.number + 1;
    let event = |file: Option<&DeletedFile>| event(context, known, (id, begun_at), file, is_whole.then_some(next));
    let mut files = Vec::new();
    let (plan, events) = if is_whole {
        let event = event(None)?;
        let version = VersionId::new();
        let message = format!("deletion: {}", known.grounds.reason);
        let content = last::record_of(NewLast {
            object,
            institution: (object.institution, &known.institution_name),
            version: (version, next),
            item: context.item.id,
            created_at: begun_at,
            message: &message,
            user: &known.grounds.requested_by,
            description: head.description.clone(),
            file: known.last_file,
            event: &event,
        })
        .map_err(|halt| StageError::of_halt(halt, StageError::from))?;
        let details = VersionDetails {
            created: begun_at.to_string(),
            message: Some(message),
            user: Some(User {
                name: known.grounds.requested_by.clone(),
                address: Some(format!("https://{}/", context.item.institution_identifier)),
            }),
        };
        let (path, assembly) = (record::path(next), version.to_string());
        let record = LastRecord { path: &path, content: &content, assembly: &assembly };
        (PurgePlan::for_object(&in_store, details, record)?, vec![event])
    } else {
        files.clone_from(&known.files);
        let events = files.iter().map(|file| event(Some(file))).collect::<Result<Vec<_>, _>>()?;
        (PurgePlan::for_paths(&in_store, files.iter().map(|file| file.path.clone()))?, events)
    };
    if plan.id != object_id(&object.generation.to_string())? {
        return Err(differs("the identifier"));
    }
    for version in &known.versions {
        let own = plan.inventories.iter().find(|(number, _)| u64::from(number.number()) == version.number);
        let is_head = version.number == head.number;
        let is_as_recorded = match (own, version.inventory) {
            (Some((_, own)), Some(recorded)) => own.before.digest == recorded,
            (None, Some(_)) => is_head,
            (_, None) => true,
        };
        if !is_as_recorded {
            return Err(differs(&format!("the inventory of version {}", version.number)));
        }
    }
    Ok(DeletionLog::new(NewLog {
        id,
        item: context.item.id,
        institution: object.institution,
        object: object.id,
        identifier: object.identifier.clone(),
        generation: object.generation,
        version: head.number,
        begun_at,
        grounds: known.grounds.clone(),
        files,
        events,
        plan,
    }))
}

/// The event of a file, or of the whole object.
fn event(
    context: &StageContext<'_>,
    known: &Known,
    (id, time): (DeletionId, Time),
    file: Option<&DeletedFile>,
    version: Option<u64>,
) -> Result<EventRow, StageError> {
    let Known { object, grounds, .. } = known;
    let label = file.map_or_else(|| "deletion".to_owned(), |file| format!("deletion {}", file.file));
    let what = match file {
        Some(file) => format!("deletion of the file {}", file.path),
        None => format!(
            "deletion of the object {} with {} of {} bytes in {}",
            object.identifier,
            counted(object.files, "file", "files"),
            object.bytes,
            counted(object.head, "version", "versions"),
        ),
    };
    let note = grounds.note.as_ref().map(|note| format!(" ({note})")).unwrap_or_default();
    let outcome = format!(
        "at the request of {}; reason: {}; approved by {}{note}; request {}",
        grounds.requested_by, grounds.reason, grounds.approved_by, grounds.request
    );
    Ok(EventRow {
        id: events::derived_id(id.0, &label),
        institution: object.institution,
        object: Some(object.id),
        file: file.map(|file| file.file),
        content: None,
        item: Some(context.item.id),
        version,
        kind: "deletion".into(),
        components: None,
        time: time.0,
        outcome: "success".into(),
        detail: Some(what),
        outcome_detail: Some(outcome),
        store: None,
        agent: AGENT.into(),
        actor: context.actor()?,
    })
}
