//! Delivers the messages of the outbox.

use super::BackgroundTask;
use crate::outbox::deliver;
use crate::runtime::Shutdown;
use crate::{EngineError, Home};

pub(super) const TASK: BackgroundTask = BackgroundTask { name: "outbox", every: |settings| settings.receiving.every, run };

fn run(home: &Home, stop: &Shutdown) -> Result<String, EngineError> {
    let delivered = deliver(home, stop)?;
    Ok(format!("{} notices delivered, {} no longer needed", delivered.delivered, delivered.obsolete))
}
