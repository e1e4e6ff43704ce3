//! Delivers the messages of the outbox.

use super::BackgroundTask;
use crate::outbox::deliver;
use crate::runtime::Shutdown;
use crate::{EngineError, Home};

/// The task's name.
pub(crate) const NAME: &str = "outbox";

pub(super) const TASK: BackgroundTask =
    BackgroundTask { name: NAME, every: |settings| settings.receiving.scan_interval, run };

fn run(home: &Home, stop: &Shutdown) -> Result<String, EngineError> {
    let done = deliver(home, stop)?;
    Ok(format!(
        "{} messages delivered, {} no longer needed, {} failed, {} undeliverable; the messages for {} places wait for another \
         attempt",
        done.delivered, done.obsolete, done.failed, done.undeliverable, done.waiting
    ))
}
