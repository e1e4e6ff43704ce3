//! Removes rows whose time by the settings `retention.*` has run out.

use std::time::Duration;

use super::BackgroundTask;
use crate::retention::sweep;
use crate::runtime::Shutdown;
use crate::{EngineError, Home};

const EVERY: Duration = Duration::from_hours(24);

pub(super) const TASK: BackgroundTask = BackgroundTask { name: "retention", every: |_| EVERY, run };

fn run(home: &Home, stop: &Shutdown) -> Result<String, EngineError> {
    let swept = sweep(home, stop)?;
    Ok(format!(
        "{} lines of history, {} messages, {} receipts and {} ended work items removed",
        swept.item_history, swept.outbox, swept.receipts, swept.ended_items
    ))
}
