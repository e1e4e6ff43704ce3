//! The stores: how they stand, making and checking them, comparing them with the registry, and filling, replacing and retiring
//! them.

use std::path::Path;
use strongroom_registry::counted;

use strongroom_storage::{Key, PutOptions, StorageError, Store};
use uuid::Uuid;

use super::OpContext;
use super::authorization::{
    STORES_BACKFILL, STORES_CHECK, STORES_CREATE, STORES_LIST, STORES_RECONCILE, STORES_REPLACE, STORES_RETIRE,
    STORES_USE,
};
use super::installation::{Installation, io};
use super::views::{
    BackfillView, CreatedStoreView, DifferenceView, EnqueuedBackfillView, ReplacementView, RetirementView,
    ReusedStoreView, StoreCheckView, StoreView, UnretiredView,
};
pub use crate::backfill::BackfillRequest;
use crate::backfill::{self, BackfillProgress, BackfillSummary, Replacement, Retirement};
use crate::findings::Counting;
use crate::journal::Target;
use crate::reconcile::{self, Compared};
use crate::settings::{Settings, StoreSettings};
use crate::survey::{self, Condition, Survey, SurveyedStore};
use crate::{EngineError, findings, places};

/// The stores of the settings as they stand, in order of their names.
pub fn list(installation: &Installation) -> Result<Vec<StoreView>, EngineError> {
    let authorized = installation.authorize(&STORES_LIST)?;
    let settings = authorized.settings();
    let survey = authorized.survey(authorized.registry().ok().flatten().as_ref(), Counting::Bounded)?;
    let mut views = Vec::with_capacity(settings.stores.len());
    let progress = survey.registry.as_ref().map(BackfillProgress::read).transpose()?;
    for (name, store) in &settings.stores {
        let progress = progress.as_ref().map(|progress| progress.stores.get(name).copied().unwrap_or_default());
        let Some(one) = survey.store(name) else { continue };
        views.push(StoreView {
            store: name.clone(),
            kind: store.kind().to_owned(),
            state: one.condition.as_str().to_owned(),
            path: store.place(authorized.directory()),
            roles: roles_of(settings, name),
            placements: placements_of(settings, name),
            reason: one.problem.clone(),
            missed_logs: one.missed_logs,
            unfinished_deletions: one.unfinished_deletions,
            lacking: progress.map(|found| found.lacking),
            backfill_queued: progress.map(|found| found.queued),
            backfill_given_up: progress.map(|found| found.given_up),
        });
    }
    Ok(views)
}

fn roles_of(settings: &Settings, store: &str) -> Vec<String> {
    let named = settings.roles.named();
    let mut of_store: Vec<String> =
        named.iter().filter(|(_, name)| *name == store).map(|(role, _)| (*role).to_owned()).collect();
    if of_store.is_empty() && settings.is_restoration_store(store) {
        of_store.push("restoration".to_owned());
    }
    of_store
}

fn placements_of(settings: &Settings, store: &str) -> Vec<String> {
    let naming = settings.placements.iter().filter(|(_, stores)| stores.iter().any(|name| name == store));
    naming.map(|(placement, _)| placement.clone()).collect()
}

/// Makes a store of the settings that is not there yet; one that is there stays as it is.
///
/// # Errors
/// The settings have no such store, or one that lies in the place of another; the registry knows the name as that of another
/// store.
pub fn create(installation: &Installation, stores: &[String]) -> Result<Vec<CreatedStoreView>, EngineError> {
    let authorized = installation.authorize(&STORES_CREATE)?;
    let (settings, directory) = (authorized.settings(), authorized.directory());
    let mut chosen = Vec::with_capacity(stores.len());
    for name in stores {
        let Some(store) = settings.stores.get(name) else {
            return Err(not_found(name).next("name it in the settings first, with its kind and place"));
        };
        chosen.push((name, store));
    }
    let conflicts = places::conflicts(settings, directory);
    let registry = authorized.registry()?;
    let mut views = Vec::with_capacity(chosen.len());
    for (name, store) in chosen {
        let refused = |reason| EngineError::Usage(reason).while_trying(format!("make store {name}"));
        if let Some(conflict) = conflicts.iter().find(|conflict| conflict.names(name)) {
            return Err(refused(conflict.reason.clone()));
        }
        if let Some(registry) = &registry
            && let Some(reason) = survey::may_be_made(settings, directory, registry, name)?
        {
            return Err(refused(reason));
        }
        match &registry {
            Some(registry) => authorized.around(registry, &Target::of_system(name), || make(store, name, directory))?,
            None => make(store, name, directory)?,
        }
        let (kind, path) = (store.kind().to_owned(), store.place(directory));
        views.push(CreatedStoreView { store: name.clone(), kind, path });
    }
    Ok(views)
}

fn make(store: &StoreSettings, name: &str, directory: &Path) -> Result<(), EngineError> {
    if let Some(folder) = store.folder(directory) {
        store.make_folder(directory).map_err(|source| io("make the store", &folder, source))?;
    }
    store.create(name, directory)?;
    Ok(())
}

/// Writes, reads and deletes a few bytes in each store, or in those named, and looks for findings that are open. The journal has
/// a line for each store that was written to, where there is a registry that can be opened.
pub fn check(installation: &Installation, stores: &[String]) -> Result<StoreChecks, EngineError> {
    let authorized = installation.authorize(&STORES_CHECK)?;
    if let Some(name) = stores.iter().find(|name| !authorized.settings().stores.contains_key(*name)) {
        return Err(not_found(name).next(LISTING));
    }
    // The stores are checked all the same: they are what is left when a registry is lost.
    let (registry, journal) = match authorized.registry() {
        Ok(registry) => (registry, Ok(())),
        Err(error) => (None, Err(error)),
    };
    let survey = authorized.survey(registry.as_ref(), Counting::Whole)?;
    let chosen = survey.stores.iter().filter(|one| stores.is_empty() || stores.contains(&one.name));
    let mut checks = StoreChecks { stores: Vec::new(), journal };
    for one in chosen {
        // Only a store that is the one it should be is written to.
        let usable = one.store.as_deref().filter(|_| one.condition == Condition::Available);
        let probed = usable.map(|store| probe(store).map_err(|error| error.chain()));
        if let (Some(registry), Some(probed)) = (&registry, &probed) {
            let told = authorized.tell_of_end(registry, &Target::of_system(&one.name), probed.clone().err());
            checks.journal = checks.journal.and(told.map_err(EngineError::from));
        }
        checks.stores.push(checked(&survey, one, usable, probed.and_then(Result::err))?);
    }
    checks.journal =
        checks.journal.map_err(|error| error.while_trying("record in the journal that the stores were checked"));
    Ok(checks)
}

/// What a check of stores found.
#[derive(Debug)]
pub struct StoreChecks {
    /// Each store, in order of their names.
    pub stores: Vec<StoreCheckView>,
    /// Why the journal has no line for a store that was written to.
    pub journal: Result<(), EngineError>,
}

fn checked(
    survey: &Survey,
    one: &SurveyedStore,
    usable: Option<&dyn Store>,
    failure: Option<String>,
) -> Result<StoreCheckView, EngineError> {
    let problems = survey.findings_in(&one.name);
    let open = match (&survey.registry, problems) {
        (Some(registry), Some(count @ 1..)) => {
            let first = registry.read(|tx| findings::first_named(tx, Some(&one.name), 1))?;
            let open = findings::in_words_with((count, true), first.first());
            Some(format!("{open}; \"strongroom fixity problems\" lists all"))
        }
        _ => None,
    };
    let message = failure.or_else(|| one.problem.clone()).or(open);
    let capabilities = usable.map(<dyn Store>::capabilities);
    Ok(StoreCheckView {
        store: one.name.clone(),
        ok: message.is_none(),
        state: one.condition.as_str().to_owned(),
        conditional_put: capabilities.map(|found| found.conditional_put),
        strong_checksum: capabilities.map(|found| found.strong_checksum),
        atomic_assembly: capabilities.map(|found| found.atomic_assembly),
        registry: one.mark.map(|mark| mark.registry.to_string()),
        term: one.mark.map(|mark| mark.term),
        acts: one.mark.map(|mark| mark.acts),
        problems,
        message,
    })
}

/// Writes a few bytes, reads them back, and takes them away.
fn probe(store: &dyn Store) -> Result<(), EngineError> {
    let text = Uuid::new_v4().to_string();
    let key = Key::new(format!("probe-{text}")).map_err(StorageError::from)?;
    store.put(&key, &mut text.as_bytes(), &PutOptions::default())?;
    let outcome: Result<String, EngineError> = (|| {
        let mut found = String::new();
        let mut body = store.open(&key, 0, None)?;
        std::io::Read::read_to_string(&mut body, &mut found).map_err(|source| EngineError::Io {
            act: "read",
            path: key.to_string(),
            source,
        })?;
        Ok(found)
    })();
    store.delete(&key)?;
    if outcome? == text {
        Ok(())
    } else {
        Err(EngineError::CheckFailed("other bytes were read back than were written".to_owned())
            .next("check the disk or service"))
    }
}

/// The stores to be compared with the registry: those named, or else the preservation stores and staging.
///
/// # Errors
/// There is no store of one of the names.
pub fn to_reconcile(context: &OpContext, stores: &[String]) -> Result<Vec<String>, EngineError> {
    let authorized = context.authorize(&STORES_RECONCILE)?;
    let home = authorized.home();
    if let Some(name) = stores.iter().find(|name| !home.stores.contains_key(*name)) {
        return Err(not_found(name).next(LISTING));
    }
    if !stores.is_empty() {
        return Ok(stores.to_vec());
    }
    let kept = home.preservation_stores().into_iter();
    Ok(kept.chain([home.roles.staging.as_ref()]).map(|store| store.name().to_owned()).collect())
}

/// Compares a store with the registry; `tell` hears of each difference, and an error of it ends the comparison.
pub fn reconcile(
    context: &OpContext,
    store: &str,
    tell: &mut dyn FnMut(DifferenceView) -> Result<(), EngineError>,
) -> Result<Compared, EngineError> {
    let authorized = context.authorize(&STORES_RECONCILE)?;
    reconcile::run(authorized.home(), store, &mut |difference| tell(difference.into()))
        .map_err(|error| error.while_trying(format!("compare store {store}")))
}

/// Leaves it to the workers to copy what a store lacks of the objects whose placement names it.
pub fn enqueue_backfill(context: &OpContext, store: &str) -> Result<EnqueuedBackfillView, EngineError> {
    let authorized = context.authorize(&STORES_BACKFILL)?;
    authorized.home().store(store)?;
    let tasks = authorized.around(&Target::of_system(store), |home| backfill::enqueue(home, store))?;
    Ok(EnqueuedBackfillView { store: store.to_owned(), topic: backfill::TOPIC.to_owned(), tasks })
}

/// Copies what a store lacks of the objects whose placement names it, here and now, until a stop is asked for; `progress` is
/// called after each object.
pub fn backfill(
    context: &OpContext,
    request: &BackfillRequest,
    progress: &mut dyn FnMut(&BackfillSummary),
) -> Result<BackfillView, EngineError> {
    let authorized = context.authorize(&STORES_BACKFILL)?;
    let store = request.store.as_str();
    authorized.home().store(store)?;
    let summary = authorized.around(&Target::of_system(store), |home| backfill::run(home, request, progress))?;
    Ok(BackfillView::new(store, summary))
}

/// How many objects whose placement names a store it does not hold whole, and how many bytes it lacks of them.
pub fn amount_lacking(context: &OpContext, store: &str) -> Result<(u64, u64), EngineError> {
    let authorized = context.authorize(&STORES_LIST)?;
    backfill::amount_lacking(authorized.home(), store)
}

/// Puts another store in the place of a lost one. Where it keeps copies, [`backfill()`] or [`enqueue_backfill`] brings what it
/// lacks.
pub fn replace(context: &OpContext, store: &str) -> Result<ReplacementView, EngineError> {
    let authorized = context.authorize(&STORES_REPLACE)?;
    let failed = |error: EngineError| error.while_trying(format!("replace store {store}"));
    authorized.home().store(store).map_err(failed)?;
    let replacement =
        authorized.around(&Target::of_system(store), |home| backfill::replace(home, store).map_err(failed))?;
    let Replacement { replaced, id, only_copies } = replacement;
    Ok(ReplacementView {
        store: store.to_owned(),
        id: id.to_string(),
        replaced: replaced.map(|id| id.to_string()),
        only_copies,
        keeps_copies: authorized.home().settings.preservation_stores().contains(&store),
        ..ReplacementView::default()
    })
}

/// Takes a store out of use, where every object in it has verified copies in the rest of its placement and no placement is left
/// with fewer than two stores, or than one where `allow_one_copy`. Else `tell` hears what depends on it.
///
/// # Errors
/// [`EngineError::CheckFailed`] where something depends on the store; nothing was changed then.
pub fn retire<E: From<EngineError>>(
    context: &OpContext,
    store: &str,
    allow_one_copy: bool,
    tell: &mut dyn FnMut(UnretiredView) -> Result<(), E>,
) -> Result<RetirementView, E> {
    let authorized = context.authorize(&STORES_RETIRE)?;
    let request = backfill::RetireRequest { store: store.to_owned(), allow_one_copy, by: authorized.entry() };
    let retired_at = match backfill::retire(authorized.home(), &request, &mut |unretired| tell(unretired.into()))? {
        Retirement::Refused { objects, placements } => {
            let home = authorized.home();
            let progress = BackfillProgress::read(&home.registry).map_err(EngineError::from)?;
            let progress = progress.in_words(&home.settings);
            return Err(stays_in_use(store, objects, &placements, progress).into());
        }
        Retirement::Retired(since) => since.to_string(),
        Retirement::Already(since) => since,
    };
    Ok(RetirementView { store: store.to_owned(), retired_at })
}

/// Why a store stays in use, and what to do about it.
fn stays_in_use(store: &str, objects: u64, placements: &[String], progress: Option<String>) -> EngineError {
    let mut reasons = Vec::new();
    if !placements.is_empty() {
        reasons.push(format!("too few stores would remain in use in the placements {}", placements.join(", ")));
    }
    if objects > 0 {
        reasons.push(format!("{} verified copies elsewhere", counted(objects, "object lacks", "objects lack")));
    }
    let error = EngineError::CheckFailed(format!("the store {store} stays in use: {}", reasons.join("; ")));
    if let (true, Some(progress)) = (placements.is_empty(), progress) {
        return error.next(format!(
            "the workers bring what stores lack: {progress}; \"strongroom store backfill NAME\" enqueues all of it now, \
             \"strongroom fixity run\" verifies"
        ));
    }
    error.next(if placements.is_empty() {
        "\"strongroom store backfill NAME\" brings a store up to date, \"strongroom fixity run\" verifies"
    } else {
        "name another store in the settings of each placement, and fill it with \
         \"strongroom store backfill NAME --wait\"; \"--allow-one-copy\" leaves a placement with one store"
    })
}

/// Takes a retired store back into use: its copies count as unverified until they are read, and it is left to the workers to
/// bring what it lacks.
pub fn use_again(context: &OpContext, store: &str) -> Result<ReusedStoreView, EngineError> {
    let authorized = context.authorize(&STORES_USE)?;
    let tasks = authorized.around(&Target::of_system(store), |home| {
        backfill::use_again(home, store)?;
        let keeps_copies = home.settings.preservation_stores().contains(&store);
        if keeps_copies { backfill::enqueue(home, store) } else { Ok(0) }
    })?;
    Ok(ReusedStoreView { store: store.to_owned(), tasks })
}

/// What shows the stores that there are.
const LISTING: &str = "\"strongroom store list\" shows those there are";

fn not_found(store: &str) -> EngineError {
    EngineError::NotFound { what: "store", name: store.to_owned(), hint: String::new() }
}
