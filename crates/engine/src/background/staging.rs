//! Removes what no open work item owns from staging, and what was assembled in the stores for versions that are over.

use std::time::Duration;

use super::BackgroundTask;
use crate::ingest::{sweep_assemblies, sweep_downloads, sweep_staging};
use crate::runtime::Shutdown;
use crate::{EngineError, Home};

/// The task's name.
pub(crate) const NAME: &str = "staging";

const EVERY: Duration = Duration::from_hours(1);

pub(super) const TASK: BackgroundTask = BackgroundTask { name: NAME, every: |_| EVERY, run };

fn run(home: &Home, stop: &Shutdown) -> Result<String, EngineError> {
    let removed = sweep_staging(home, stop)?;
    sweep_assemblies(home, stop)?;
    let removed = removed + sweep_downloads(home)?;
    Ok(format!("{removed} leftovers removed from staging"))
}
