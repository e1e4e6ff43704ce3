//! Scans the receiving stores and follows up on uploads.

use super::BackgroundTask;
use crate::receiving::watch;
use crate::runtime::Shutdown;
use crate::{EngineError, Home};
use strongroom_registry::counted;

pub(super) const TASK: BackgroundTask =
    BackgroundTask { name: "receiving", every: |settings| settings.receiving.scan_interval, run };

fn run(home: &Home, stop: &Shutdown) -> Result<String, EngineError> {
    let watched = watch(home, stop)?;
    Ok(format!(
        "{} listed, {} changed, {} submitted",
        counted(watched.keys, "key", "keys"),
        counted(watched.changed, "upload", "uploads"),
        watched.submitted
    ))
}
