//! A registry made out of one preservation store alone, or brought up to what its stores know: every storage root, every
//! OCFL object, the record of every version. What is taken up is checked against the inventory before anybody sees it. What
//! the stores do not hold does not come back: users, keys, work items, passed checks.

mod adopt;
mod adoption;
mod copies;
mod logs;
mod object;
mod object_summary;
mod state;
mod version_record;
mod walk;

use strongroom_database::DatabaseError;
use strongroom_ocfl::OcflError;
use strongroom_registry::{GenerationId, RegistryError, Time, rebuild as record};
use strongroom_storage::{Key, KeyError, StorageError, Store};

use crate::error::chain;
use crate::hold::OperationError;
use crate::profiles::put_builtins;
use crate::{EngineError, Home};
use adopt::Taking;

pub use adoption::{AdoptRequest, adopt};

/// Problems kept in a summary; further ones are counted.
const PROBLEMS_KEPT: usize = 1_000;

/// What came of a rebuild.
#[derive(Debug, Clone, Default)]
pub struct Summary {
    /// Objects that were inspected and are in the registry now, once for each store.
    pub objects: u64,
    /// Objects among them of which the registry knew everything.
    pub known: u64,
    /// Objects among them of which something was taken up.
    pub taken: u64,
    /// Objects that could not be read.
    pub failed: u64,
    /// Versions.
    pub versions: u64,
    /// Files that got a content with a version.
    pub files: u64,
    /// Copies found, in all stores.
    pub copies: u64,
    /// Copies that a store of the placement should hold and does not.
    pub missing: u64,
    /// Events.
    pub events: u64,
    /// What could not be read or was not found, by path; up to a limit.
    pub problems: Vec<Problem>,
    /// How many problems there were in all.
    pub problem_count: u64,
    /// Stores that are still to be walked before the registry can be written to.
    pub pending: Vec<String>,
}

/// Something that a rebuild met and went past.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The store.
    pub store: String,
    /// What in it.
    pub path: String,
    /// What is the matter.
    pub reason: String,
}

impl Summary {
    /// Whether everything that lies in the store is in the registry.
    pub fn is_complete(&self) -> bool {
        self.failed == 0 && self.problem_count == 0
    }

    /// Adds what was taken up of further stores behind this one.
    pub fn add(&mut self, further: Self) {
        self.objects += further.taken;
        self.taken += further.taken;
        self.failed += further.failed;
        self.versions += further.versions;
        self.files += further.files;
        self.copies += further.copies;
        self.missing += further.missing;
        self.events += further.events;
        self.problem_count += further.problem_count;
        self.problems.extend(further.problems);
        self.problems.truncate(PROBLEMS_KEPT);
    }

    fn note(&mut self, store: &str, path: impl Into<String>, reason: impl Into<String>) {
        self.problem_count += 1;
        if self.problems.len() < PROBLEMS_KEPT {
            self.problems.push(Problem { store: store.to_owned(), path: path.into(), reason: reason.into() });
        }
    }
}

/// Why an object does not come back, or why nothing goes on.
enum RebuildError {
    /// The object cannot be read; the others can.
    Object(String),
    /// Another process works on the object, until then.
    Busy(Time),
    /// The registry failed.
    Stop(EngineError),
}

impl From<OperationError> for RebuildError {
    fn from(halt: OperationError) -> Self {
        match halt {
            OperationError::Busy(until) => Self::Busy(until),
            OperationError::Engine(EngineError::Registry(error)) => error.into(),
            OperationError::Engine(error) => Self::Stop(error),
            OperationError::Interrupted(interrupted) => Self::Object(interrupted.to_string()),
        }
    }
}

impl From<EngineError> for RebuildError {
    fn from(error: EngineError) -> Self {
        match error {
            EngineError::Registry(error) => error.into(),
            EngineError::Storage(error) => error.into(),
            error => Self::Object(error.chain()),
        }
    }
}

impl From<RegistryError> for RebuildError {
    fn from(error: RegistryError) -> Self {
        match error {
            // About this object alone.
            RegistryError::Exists { .. }
            | RegistryError::State { .. }
            | RegistryError::Database(DatabaseError::Constraint { .. }) => Self::Object(chain(&error)),
            other => Self::Stop(other.into()),
        }
    }
}

impl From<OcflError> for RebuildError {
    fn from(error: OcflError) -> Self {
        Self::Object(chain(&error))
    }
}

impl From<StorageError> for RebuildError {
    fn from(error: StorageError) -> Self {
        Self::Object(chain(&error))
    }
}

impl From<KeyError> for RebuildError {
    fn from(error: KeyError) -> Self {
        Self::Object(error.to_string())
    }
}

/// The generation of the object that lies at `root`; none where it has no root inventory, and why where that says nothing.
pub(crate) fn generation_of(store: &dyn Store, root: &Key) -> Result<Option<GenerationId>, String> {
    match root.join("inventory.json").map(|key| store.head(&key)) {
        Ok(Err(error)) if error.is_not_found() => return Ok(None),
        _ => {}
    }
    match object_summary::look(store, root) {
        Ok(glance) => Ok(Some(glance.generation)),
        Err(RebuildError::Object(reason)) => Err(reason),
        Err(RebuildError::Busy(_)) => Ok(None),
        Err(RebuildError::Stop(error)) => Err(error.chain()),
    }
}

/// Makes the registry of `home` out of the preservation store `store`; `progress` is called after each object. What was
/// begun and cut short goes on where it stopped. Where other stores have been used too, [`Summary::pending`] names them:
/// [`adopt`] takes up what they know beyond this one, and until then the registry can only be read.
///
/// # Errors
/// The registry holds work, or objects that no rebuild put there; the store does not exist or cannot be listed; the
/// registry fails. An object that cannot be read is no error: it is in the summary.
pub fn run(home: &Home, store: &str, progress: &mut dyn FnMut(&Summary)) -> Result<Summary, EngineError> {
    let in_store = home.store(store)?.as_ref();
    let roles = [&home.roles.receiving, &home.roles.staging, &home.roles.restoration, &home.roles.quarantine];
    if roles.iter().any(|role| role.name() == store) || home.settings.is_restoration_store(store) {
        return Err(EngineError::Usage(format!("{store} is not a preservation store: it has a role of its own"))
            .next("\"strongroom store list\" shows the stores and what they are for"));
    }
    home.registry.write(record::begin).map_err(|error| match error {
        RegistryError::State { .. } => EngineError::from(error).next(
            "\"strongroom rebuild --adopt\" imports what the stores know and this registry does not; for a registry from the \
             stores alone, make a new data directory with the same stores",
        ),
        other => other.into(),
    })?;
    put_builtins(&home.registry)?;
    let mut held = adoption::begin(home)?;
    let acts = adoption::acts(in_store)?;
    let mut summary = Summary::default();
    let taking = Taking { home, store: in_store, is_behind: held.is_behind, dry_run: None };
    adoption::walk(&taking, Some(&mut held), &mut summary, progress)?;
    if summary.failed == 0 {
        held.settle(store, acts)?;
        home.registry.write(record::end)?;
    }
    held.end(&mut summary)?;
    Ok(summary)
}
