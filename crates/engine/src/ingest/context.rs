//! What every stage has at hand, how its errors are told apart, and the handler that runs a stage as a task.

use std::sync::Arc;

use strongroom_bagit::BagError;
use strongroom_database::DatabaseError;
use strongroom_ocfl::{OcflError, StorageRoot};
use strongroom_registry::discarding::{self, Authority};
use strongroom_registry::items::{Item, ItemProblem};
use strongroom_registry::work::{Assignment, Claim, StageEnd};
use strongroom_registry::{
    Part, Registry, RegistryError, Stage, Time, Transaction, VersionState, WaitReason, interim, parts, tenants,
    versions,
};
use strongroom_storage::{KeyError, StorageError, Store};

use super::sweep;
use crate::error::chain;
use crate::fixity::{Root, open_root};
use crate::hold::Halt;
use crate::runtime::{Handler, Interrupted, TaskContext, TaskEnd, retry_delay};
use crate::{EngineError, Home, crash_point};

/// How a stage can fail.
#[derive(Debug)]
pub enum StageError {
    /// For good: the exact text is shown to the depositor, with what was found.
    Fatal {
        /// What is wrong.
        note: String,
        /// Everything that was found in the deposit.
        problems: Vec<ItemProblem>,
    },
    /// For good, by what was read in the package itself: the verdict on it.
    Invalid {
        /// What is wrong, in short.
        note: String,
        /// Everything that was found in the deposit.
        problems: Vec<ItemProblem>,
    },
    /// May pass.
    Transient(String),
    /// What was staged is not what was fetched: fetch again.
    StagingLost(String),
    /// Nothing is wrong: it waits for something, and looks again then.
    Waits {
        /// When.
        until: Time,
        /// What for.
        reason: WaitReason,
        /// The same, in words.
        note: String,
    },
    /// Nothing is wrong: a store that it needs is away.
    Away {
        /// The store.
        store: String,
        /// Why.
        reason: String,
    },
    /// What was to be taken in is gone, or something newer took its place.
    Withdrawn(String),
    /// The worker drains, a person asked to stop, or the lease is gone.
    Interrupted(Interrupted),
}

impl StageError {
    /// A fatal error without problems of its own.
    pub fn fatal(note: impl Into<String>) -> Self {
        Self::Fatal { note: note.into(), problems: Vec::new() }
    }
}

impl std::fmt::Display for StageError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Fatal { note, .. }
            | Self::Invalid { note, .. }
            | Self::Transient(note)
            | Self::StagingLost(note)
            | Self::Waits { note, .. }
            | Self::Withdrawn(note) => f.write_str(note),
            Self::Away { store, reason } => write!(f, "waits for store {store}: {reason}"),
            Self::Interrupted(reason) => reason.fmt(f),
        }
    }
}

impl StageError {
    /// What it means for a stage that work under an object's lease stopped.
    pub(crate) fn of_halt(halt: Halt, of_engine: impl FnOnce(EngineError) -> Self) -> Self {
        match halt {
            Halt::Interrupted(reason) => reason.into(),
            Halt::Busy(until) => Self::Transient(format!("other work holds the object until {until}")),
            Halt::Engine(error) => of_engine(error),
        }
    }
}

impl From<Interrupted> for StageError {
    fn from(interrupted: Interrupted) -> Self {
        Self::Interrupted(interrupted)
    }
}

impl From<RegistryError> for StageError {
    fn from(error: RegistryError) -> Self {
        match error {
            RegistryError::FenceLost { .. } => Self::Interrupted(Interrupted::LeaseLost),
            other => Self::Transient(chain(&other)),
        }
    }
}

impl From<DatabaseError> for StageError {
    fn from(error: DatabaseError) -> Self {
        Self::Transient(chain(&error))
    }
}

impl From<StorageError> for StageError {
    fn from(error: StorageError) -> Self {
        match error.away() {
            Some((store, reason)) => Self::Away { store: store.to_owned(), reason: reason.to_owned() },
            None => Self::Transient(chain(&error)),
        }
    }
}

impl From<KeyError> for StageError {
    fn from(error: KeyError) -> Self {
        Self::Transient(chain(&error))
    }
}

impl From<OcflError> for StageError {
    fn from(error: OcflError) -> Self {
        if let OcflError::Storage(error) = error {
            return error.into();
        }
        Self::Transient(chain(&error))
    }
}

impl From<BagError> for StageError {
    fn from(error: BagError) -> Self {
        if error.is_transient() { Self::Transient(chain(&error)) } else { Self::fatal(chain(&error)) }
    }
}

impl From<EngineError> for StageError {
    fn from(error: EngineError) -> Self {
        if let EngineError::Registry(error @ RegistryError::FenceLost { .. }) = error {
            return error.into();
        }
        match error.away() {
            Some((store, reason)) => Self::Away { store: store.to_owned(), reason: reason.to_owned() },
            None if error.is_transient() => Self::Transient(error.chain()),
            None => Self::fatal(error.chain()),
        }
    }
}

impl From<serde_json::Error> for StageError {
    fn from(error: serde_json::Error) -> Self {
        Self::Transient(format!("what an earlier stage left behind cannot be read: {error}"))
    }
}

/// What a stage works with.
pub(crate) struct StageContext<'a> {
    pub(crate) home: &'a Home,
    pub(crate) item: &'a Item,
    pub(crate) claim: &'a Claim,
    pub(crate) task: &'a TaskContext,
}

impl StageContext<'_> {
    pub(crate) fn registry(&self) -> &Registry {
        &self.home.registry
    }

    /// Runs a write transaction with the claim at hand; every operation in it checks the fence.
    pub(crate) fn write<T, F>(&self, mut job: F) -> Result<T, StageError>
    where
        T: Send + 'static,
        F: FnMut(&mut dyn Transaction, &Claim) -> Result<T, RegistryError> + Send + 'static,
    {
        let claim = self.claim.clone();
        Ok(self.home.registry.write(move |tx| job(tx, &claim))?)
    }

    pub(crate) fn now(&self) -> Result<Time, StageError> {
        Ok(self.home.registry.read(|tx| Ok::<_, RegistryError>(tx.now()?))?)
    }

    pub(crate) fn staging(&self) -> &Arc<dyn Store> {
        &self.home.roles.staging
    }

    /// A fact that an earlier stage left behind.
    pub(crate) fn fact<T: serde::de::DeserializeOwned>(&self, name: &str) -> Result<Option<T>, StageError> {
        let text = self.home.registry.read(|tx| interim::fact(tx, self.item.id, name))?;
        Ok(text.as_deref().map(serde_json::from_str).transpose()?)
    }

    /// A fact that an earlier stage must have left behind; without it the item begins anew.
    pub(crate) fn expect<T: serde::de::DeserializeOwned>(&self, name: &str) -> Result<T, StageError> {
        self.fact(name)?.ok_or_else(|| StageError::StagingLost(format!("what an earlier stage knew is gone ({name})")))
    }

    pub(crate) fn set_fact<T: serde::Serialize>(&self, name: &str, value: &T) -> Result<(), StageError> {
        let (name, text) = (name.to_owned(), serde_json::to_string(value)?);
        self.write(move |tx, claim| interim::set_fact(tx, claim, &name, &text))
    }

    /// The authority of the worker that runs the stage.
    pub(crate) fn authority(&self) -> Authority {
        Authority::Worker(self.claim.clone())
    }

    /// What stands before the keys of the item's staged bytes; none where nothing that is staged can be used.
    pub(crate) fn staging_prefix(&self) -> Result<Option<String>, StageError> {
        let item = self.item.id;
        let place = self.registry().read(|tx| interim::staging_place(tx, item))?.filter(|place| !place.is_discarded);
        Ok(place.map(|place| place.id.map_or_else(|| item.to_string(), |id| format!("{item}/{id}"))))
    }

    /// Which part of its object the deposit is, where it is one.
    pub(crate) fn part(&self) -> Result<Option<Part>, StageError> {
        Ok(self.registry().read(|tx| parts::of_item(tx, self.item.id))?)
    }

    /// The storage root of the item's institution in a store, made where nothing lies there yet, and declared again where its
    /// declaration was lost.
    pub(crate) fn open_root<'s>(&self, name: &str, store: &'s dyn Store) -> Result<StorageRoot<'s>, StageError> {
        let identifier = self.item.institution_identifier.as_str();
        let root = Root { store: name, institution: self.item.institution, identifier };
        open_root(self.home, root, store).map_err(|halt| match halt {
            Halt::Engine(error) => error.into(),
            Halt::Interrupted(reason) => reason.into(),
            busy @ Halt::Busy(_) => StageError::Transient(busy.to_string()),
        })
    }

    /// The placement and profile that the item's collection asks for.
    pub(crate) fn collection_rules(&self) -> Result<Option<tenants::Collection>, StageError> {
        let Some(collection) = self.item.collection else { return Ok(None) };
        Ok(self.registry().read(|tx| tenants::collection_by_id(tx, collection))?)
    }
}

/// A stage's work. It does only what the interim record says is not done.
pub(crate) type StageWork = fn(&StageContext<'_>) -> Result<StageEnd, StageError>;

/// Runs a stage as the tasks of its topic.
pub(crate) struct StageHandler {
    pub(crate) home: Arc<Home>,
    pub(crate) topic: String,
    pub(crate) work: StageWork,
}

impl Handler for StageHandler {
    fn topic(&self) -> &str {
        &self.topic
    }

    fn run(&self, assignment: &Assignment, task: &TaskContext) -> TaskEnd {
        let Some((claim, item)) = &assignment.claimed else {
            let reason = "a stage's task without a work item".to_owned();
            return TaskEnd::Task(strongroom_queue::Outcome::Dead { reason });
        };
        crash_point(&format!("{}.begin", self.topic));
        let context = StageContext { home: &self.home, item, claim, task };
        let compared = self.home.compare_stores().map_err(StageError::from);
        let end = match compared.and_then(|()| (self.work)(&context)) {
            Ok(end) => end,
            Err(error) => {
                if matches!(error, StageError::Interrupted(Interrupted::LeaseLost) | StageError::Transient(_)) {
                    sweep_again(&context);
                }
                self.end_of(&context, error)
            }
        };
        crash_point(&format!("{}.end", self.topic));
        TaskEnd::Stage(end)
    }
}

impl StageHandler {
    fn end_of(&self, context: &StageContext<'_>, error: StageError) -> StageEnd {
        match error {
            StageError::Fatal { note, problems } => StageEnd::Fatal { note, problems },
            StageError::Invalid { note, problems } => StageEnd::Invalid { note, problems },
            StageError::Interrupted(reason) => StageEnd::Released { note: reason.to_string() },
            StageError::Transient(note) => self.transient(context, note),
            StageError::Waits { until, reason, note } => StageEnd::Defer { until, reason, note },
            StageError::Away { store, reason } => {
                let now = context.now().unwrap_or(context.item.updated_at);
                let again = self.home.ask_again_for(&store);
                let until = now.plus(i64::try_from(again.as_micros()).unwrap_or(i64::MAX));
                let note = format!("waits for store {store}: {reason}");
                let is_refused = self.home.is_refused(&store);
                let reason = if is_refused { WaitReason::RefusedStore } else { WaitReason::Store };
                StageEnd::Defer { until, reason, note }
            }
            StageError::Withdrawn(note) => StageEnd::Cancelled { note },
            StageError::StagingLost(note) => match restart(context) {
                Ok(true) => self.staging_lost(context, note),
                Ok(false) => self.transient(context, note),
                Err(StageError::Interrupted(reason)) => StageEnd::Released { note: reason.to_string() },
                Err(error) => self.transient(context, format!("{note}; what is staged could not be cleared: {error}")),
            },
        }
    }

    fn staging_lost(&self, context: &StageContext<'_>, note: String) -> StageEnd {
        let store = context.staging().name();
        let advice = format!(
            "the staging store {store} does not give back what is put into it; next: check its disk, or name another store \
             in roles.staging, then: strongroom items requeue {}",
            context.item.id
        );
        let max_losses = self.home.settings.pool(&self.topic).max_attempts;
        StageEnd::StagingLost { to: Stage::Provision, max_losses, note, advice }
    }

    fn transient(&self, context: &StageContext<'_>, note: String) -> StageEnd {
        let now = context.now().unwrap_or(context.item.updated_at);
        let delay = retry_delay(context.claim.spent.into());
        let retry_at = now.plus(i64::try_from(delay.as_micros()).unwrap_or(i64::MAX));
        let max_attempts = self.home.settings.pool(&self.topic).max_attempts;
        StageEnd::Transient { retry_at, max_attempts, note }
    }
}

/// A stage that lost its lease may have slept past the sweep of what it was writing: for a while those versions of the item are
/// swept again each hour.
fn sweep_again(context: &StageContext<'_>) {
    let item = context.item.id;
    // Where this fails, `store reconcile` finds what was put.
    let _ = context.registry().write(move |tx| discarding::sweep_again_of_item(tx, item));
}

/// Discards what was staged and prepared, so that the next fetch is a first one; whether it did. While the version is being
/// committed it does not: what the item knows of its files is needed to complete the version.
pub(crate) fn restart(context: &StageContext<'_>) -> Result<bool, StageError> {
    let authority = context.authority();
    if let Some(version) = context.registry().read(|tx| versions::of_item(tx, context.item.id))? {
        match version.state {
            VersionState::Committing => return Ok(false),
            VersionState::Preparing => sweep::discard(context.home, &authority, &version)?,
            // Published: by an adoption of what the stores hold, while the registry had an earlier stage of the item. Its
            // deposit is fetched and compared anew.
            _ => {}
        }
    }
    sweep::clear_staging(context.home, context.item.id, &authority)?;
    Ok(true)
}
