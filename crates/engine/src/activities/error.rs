//! Why the work on an activity stops before there is nothing left to do.

use std::time::Duration;

use strongroom_download::DownloadError;
use strongroom_harvest::HarvestError;
use strongroom_records::RecordsError;
use strongroom_registry::RegistryError;

use crate::runtime::Interrupted;
use crate::{EngineError, chain};

/// Why an agent is to stop: what it has done is kept, and the rest is left to another time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Stop {
    /// The process stops, or the task is no longer ours.
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
    /// A person has paused or cancelled the activity, or it has failed.
    #[error("the activity is not at work any more")]
    NotAtWork,
    /// Another worker has the records, or the population, by now.
    #[error("the lease of the records ran out")]
    Lost,
}

/// Why the work on an activity stops.
#[derive(Debug, Clone, thiserror::Error)]
pub enum AgentError {
    /// It is to stop.
    #[error(transparent)]
    Stop(#[from] Stop),
    /// Its list was lost.
    #[error("the list of the activity was lost")]
    ListLost,
    /// It cannot go on; a later attempt may.
    #[error("{0}")]
    Transient(String),
    /// Its source does not answer, or asks to wait; a later attempt may go on. What was reached before in an attempt is kept, and such an
    /// attempt is not counted.
    #[error("{reason}")]
    Away {
        /// Why.
        reason: String,
        /// The wait that the source asks for.
        after: Option<Duration>,
    },
    /// It cannot go on as a whole.
    #[error("{0}")]
    Fatal(String),
}

impl AgentError {
    /// Whether a later attempt may go on, and people are to know why this one could not.
    pub(super) fn is_tried_again(&self) -> bool {
        matches!(self, Self::Transient(_) | Self::Away { .. })
    }
}

impl From<Interrupted> for AgentError {
    fn from(reason: Interrupted) -> Self {
        Self::Stop(reason.into())
    }
}

impl From<RegistryError> for AgentError {
    fn from(error: RegistryError) -> Self {
        match error {
            RegistryError::Records(RecordsError::NoList(_)) => Self::ListLost,
            RegistryError::Records(RecordsError::PopulationLost(_) | RecordsError::ChunkLost(_)) => {
                Self::Stop(Stop::Lost)
            }
            error if error.is_transient() => Self::Transient(chain(&error)),
            error => Self::Fatal(chain(&error)),
        }
    }
}

impl From<EngineError> for AgentError {
    fn from(error: EngineError) -> Self {
        match error {
            EngineError::Registry(error) => error.into(),
            error if error.is_transient() => Self::Transient(error.chain()),
            EngineError::Advised(advised) => Self::Fatal(format!("{}; next: {}", advised.error.chain(), advised.next)),
            error => Self::Fatal(error.chain()),
        }
    }
}

impl From<HarvestError> for AgentError {
    fn from(error: HarvestError) -> Self {
        match &error {
            HarvestError::Download(DownloadError::Refused { .. }) => Self::Fatal(format!(
                "{error}; ingest.url_hosts in the settings allows hosts, ingest.private_url_hosts or ingest.allow_private_addresses \
                 those of private networks"
            )),
            HarvestError::Download(DownloadError::Status { retry_after, .. }) if error.is_transient() => {
                Self::Away { reason: chain(&error), after: *retry_after }
            }
            HarvestError::Download(
                DownloadError::Transport { .. } | DownloadError::Broken { .. } | DownloadError::Stalled { .. },
            ) => Self::Away { reason: chain(&error), after: None },
            error if error.is_transient() => Self::Transient(chain(error)),
            error => Self::Fatal(chain(error)),
        }
    }
}
