//! A registry made out of one preservation store alone: every storage root, every OCFL object, the record of every version.
//! What comes back is checked against the inventory before anybody sees it. What the stores do not hold does not come back:
//! users, keys, work items, passed checks.

mod copies;
mod object;
mod state;
mod walk;

use strongroom_ocfl::OcflError;
use strongroom_registry::{RegistryError, rebuild as record};
use strongroom_storage::{KeyError, StorageError};

use crate::error::chain;
use crate::{EngineError, Home};
use walk::{Found, Walk};

/// Problems kept in a summary; further ones are counted.
const PROBLEMS_KEPT: usize = 1_000;

/// What came of a rebuild.
#[derive(Debug, Clone, Default)]
pub struct Summary {
    /// Objects that are in the registry now.
    pub objects: u64,
    /// Objects among them that an earlier run had put there.
    pub known: u64,
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

    fn note(&mut self, store: &str, path: impl Into<String>, reason: impl Into<String>) {
        self.problem_count += 1;
        if self.problems.len() < PROBLEMS_KEPT {
            self.problems.push(Problem { store: store.to_owned(), path: path.into(), reason: reason.into() });
        }
    }
}

/// Why an object does not come back, or why nothing goes on.
enum Fault {
    /// The object cannot be read; the others can.
    Object(String),
    /// The registry failed.
    Stop(EngineError),
}

impl From<RegistryError> for Fault {
    fn from(error: RegistryError) -> Self {
        match error {
            // About this object alone.
            RegistryError::Exists { .. } => Self::Object(chain(&error)),
            other => Self::Stop(other.into()),
        }
    }
}

impl From<OcflError> for Fault {
    fn from(error: OcflError) -> Self {
        Self::Object(chain(&error))
    }
}

impl From<StorageError> for Fault {
    fn from(error: StorageError) -> Self {
        Self::Object(chain(&error))
    }
}

impl From<KeyError> for Fault {
    fn from(error: KeyError) -> Self {
        Self::Object(error.to_string())
    }
}

/// Makes the registry of `home` out of the preservation store `store`; `progress` is called after each object. What was
/// begun and cut short goes on where it stopped.
///
/// # Errors
/// The registry holds work, or objects that no rebuild put there; the store does not exist or cannot be listed; the
/// registry fails. An object that cannot be read is no error: it is in the summary.
pub fn run(home: &Home, store: &str, progress: &mut dyn FnMut(&Summary)) -> Result<Summary, EngineError> {
    let in_store = home.store(store)?.clone();
    let roles = [&home.roles.receiving, &home.roles.staging, &home.roles.restoration, &home.roles.quarantine];
    if roles.iter().any(|role| role.name() == store) {
        return Err(EngineError::Usage(format!("{store} is not a preservation store: it has a role of its own")));
    }
    home.registry.write(record::begin)?;
    let mut summary = Summary::default();
    for found in Walk::new(in_store.as_ref())? {
        match found? {
            Found::Object { institution, root } => {
                match object::rebuild(home, in_store.as_ref(), &institution, &root, &mut summary) {
                    Ok(()) => summary.objects += 1,
                    Err(Fault::Object(reason)) => {
                        summary.failed += 1;
                        summary.note(store, root.as_str(), reason);
                    }
                    Err(Fault::Stop(error)) => return Err(error),
                }
                progress(&summary);
            }
            Found::Problem { path, reason } => {
                summary.failed += 1;
                summary.note(store, path, reason);
            }
        }
    }
    if summary.failed == 0 {
        home.registry.write(record::end)?;
    }
    Ok(summary)
}
