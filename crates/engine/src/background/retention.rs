//! Removes rows whose time by the settings `retention.*` has run out.

use std::time::Duration;
use strongroom_registry::{counted, retention};

use super::BackgroundTask;
use crate::retention::sweep;
use crate::runtime::Shutdown;
use crate::{EngineError, Home};

const EVERY: Duration = Duration::from_hours(24);

pub(super) const TASK: BackgroundTask = BackgroundTask { name: "retention", every: |_| EVERY, run };

fn run(home: &Home, stop: &Shutdown) -> Result<String, EngineError> {
    let swept = sweep(home, stop)?;
    // What `status` shows of tables that it does not count.
    let sizes = home.registry.read(retention::sizes)?;
    home.registry.write(move |tx| retention::note_sizes(tx, &sizes))?;
    Ok(format!(
        "{} of history, {}, {}, {}, the records of {} and {} removed",
        counted(swept.item_history, "line", "lines"),
        counted(swept.outbox, "message", "messages"),
        counted(swept.receipts, "receipt", "receipts"),
        counted(swept.ended_items, "ended work item", "ended work items"),
        counted(swept.record_lists, "activity", "activities"),
        counted(swept.documents, "document", "documents")
    ))
}
