//! Enqueues a check for every object in a store that has copies whose check is due.

use super::BackgroundTask;
use crate::fixity::{FixityRequest, enqueue_due};
use crate::runtime::Shutdown;
use crate::{EngineError, Home};
use strongroom_registry::counted;

/// The task's name.
pub(crate) const NAME: &str = "fixity";

pub(super) const TASK: BackgroundTask =
    BackgroundTask { name: NAME, every: |settings| settings.fixity.poll_interval, run };

fn run(home: &Home, stop: &Shutdown) -> Result<String, EngineError> {
    let max = Some(home.settings.fixity.max_per_run);
    let due = FixityRequest { max, stop: stop.clone(), ..FixityRequest::default() };
    Ok(format!(
        "{} copies that are due",
        counted(enqueue_due(home, &due)?, "object in a store has", "objects in stores have")
    ))
}
