//! Appends what was done to the audit chains, publishes them in the preservation stores, and reads there again what it has published.

use std::time::Duration;

use strongroom_registry::counted;

use super::BackgroundTask;
use crate::runtime::Shutdown;
use crate::{EngineError, Home, audit};

const EVERY: Duration = Duration::from_secs(30);

/// Its name.
pub(crate) const NAME: &str = "audit";

pub(super) const TASK: BackgroundTask = BackgroundTask { name: NAME, every: |_| EVERY, run };

fn run(home: &Home, stop: &Shutdown) -> Result<String, EngineError> {
    let ran = audit::run(home, stop)?;
    Ok(format!(
        "{} appended, {} published, {} put into stores, {} read there again, {} put back, {} removed from the registry",
        counted(ran.sealed, "entry", "entries"),
        counted(ran.published, "range", "ranges"),
        ran.put,
        ran.checked,
        counted(ran.put_back, "file", "files"),
        ran.moved
    ))
}
