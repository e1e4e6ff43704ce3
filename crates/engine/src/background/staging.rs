//! Removes what no open work item owns from staging, what processes that ended left there in the middle of a put or a removal, what
//! deposits have there that failed long ago, and what was assembled in the stores for versions that are over.

use std::time::Duration;

use strongroom_registry::counted;

use super::BackgroundTask;
use super::uploads::LONGEST_PUT;
use crate::ingest::{reclaim_failed, sweep_assemblies, sweep_downloads, sweep_staging};
use crate::runtime::Shutdown;
use crate::{EngineError, Home};

/// The task's name.
pub(crate) const NAME: &str = "staging";

const EVERY: Duration = Duration::from_hours(1);

pub(super) const TASK: BackgroundTask = BackgroundTask { name: NAME, every: |_| EVERY, run };

fn run(home: &Home, stop: &Shutdown) -> Result<String, EngineError> {
    let reclaimed = reclaim_failed(home, stop)?;
    let removed = sweep_staging(home, stop)? + home.roles.staging.sweep_unfinished(LONGEST_PUT)?;
    sweep_assemblies(home, stop)?;
    let removed = removed + sweep_downloads(home)?;
    let reclaimed = match reclaimed {
        0 => String::new(),
        items => {
            format!(", the space of {} that failed long ago released", counted(items, "work item", "work items"))
        }
    };
    Ok(format!("{removed} leftovers removed from staging{reclaimed}"))
}
