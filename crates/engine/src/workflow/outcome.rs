//! How a stage can end: what it returns where it is done, and why it is not.

use strongroom_bagit::BagError;
use strongroom_database::DatabaseError;
use strongroom_ocfl::OcflError;
use strongroom_registry::items::ItemProblem;
use strongroom_registry::{RegistryError, Stage, Time, WaitReason};
use strongroom_storage::{KeyError, StorageError};

use crate::EngineError;
use crate::error::chain;
use crate::hold::OperationError;
use crate::runtime::Interrupted;

/// How a stage ended that did what it had to. What comes next is for the workflow to say.
#[derive(Debug)]
pub enum Outcome {
    /// On to the stage that follows; behind the last one the item is done.
    Done {
        /// What is shown to people.
        note: String,
    },
    /// On to a later stage: those between have nothing to do.
    Skip {
        /// The stage that follows.
        to: Stage,
        /// What is shown to people.
        note: String,
    },
    /// The item is done: the stages that follow have nothing to do.
    End {
        /// What is shown to people.
        note: String,
    },
    /// Back to an earlier stage, or to the same one from its beginning.
    RestartFrom {
        /// The stage to go back to.
        stage: Stage,
        /// Why.
        note: String,
    },
}

impl Outcome {
    /// On to the stage that follows, with this to show to people.
    pub fn done(note: impl Into<String>) -> Self {
        Self::Done { note: note.into() }
    }
}

/// Why a stage stopped before it was done.
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
    /// What was to be taken in changed while it was, and what was staged of it is discarded: it begins again at this stage, so often as
    /// a stage may be tried.
    Changed {
        /// Where it begins again.
        again_at: Stage,
        /// What changed.
        note: String,
    },
    /// Nothing is wrong: it waits, and looks again at this time or when something wakes the item.
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
    /// A person asked the item to stop, which is carried out when its stage ends.
    pub(crate) fn asked_to_stop() -> Self {
        Self::Transient("a person asked it to stop".to_owned())
    }

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
            | Self::Changed { note, .. }
            | Self::Waits { note, .. }
            | Self::Withdrawn(note) => f.write_str(note),
            Self::Away { store, reason } => write!(f, "waits for store {store}: {reason}"),
            Self::Interrupted(reason) => reason.fmt(f),
        }
    }
}

impl StageError {
    /// What it means for a stage that work under an object's lease stopped.
    pub(crate) fn of_halt(halt: OperationError, of_engine: impl FnOnce(EngineError) -> Self) -> Self {
        match halt {
            OperationError::Interrupted(reason) => reason.into(),
            OperationError::Busy(until) => Self::Transient(format!("other work holds the object until {until}")),
            OperationError::Engine(error) => of_engine(error),
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
