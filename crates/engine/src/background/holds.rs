//! Brings the status of work items in line with the holds that there are: where a process was killed between a hold and its items, and
//! where a transaction decided by a hold that was placed or lifted meanwhile. Completes what people asked of batches: deletions, cancellations and
//! failures.

use std::time::Duration;

use strongroom_registry::{BatchId, holds};

use super::BackgroundTask;
use crate::batch_acts;
use crate::runtime::Shutdown;
use crate::{EngineError, Home};

const EVERY: Duration = Duration::from_mins(1);
/// Items that are read at once.
const ITEMS_READ: usize = 1_000;
/// Items that are changed in one transaction.
const ITEMS_AT_ONCE: usize = 50;

pub(super) const TASK: BackgroundTask = BackgroundTask { name: "holds", every: |_| EVERY, run };

fn run(home: &Home, stop: &Shutdown) -> Result<String, EngineError> {
    let ended = batch_acts::complete(home, &|| stop.is_requested())?;
    let changed = settle(home, None, "system", &|| stop.is_requested())?;
    let ended = if ended == 0 { String::new() } else { format!(", {ended} items of batches ended as people asked") };
    Ok(format!("{changed} items held or continued{ended}"))
}

/// Holds the items that wait and are on hold, and lets those continue that are held and that nothing holds; of one batch where one is
/// given. `who` is named in their histories. How many changed.
pub(crate) fn settle(
    home: &Home,
    batch: Option<BatchId>,
    who: &str,
    is_stopped: &dyn Fn() -> bool,
) -> Result<u64, EngineError> {
    let registry = &home.registry;
    let mut changed = 0;
    for status in holds::SETTLED_STATUSES {
        // Without any hold nothing can wait that is on hold.
        if status == holds::WAITING && !registry.read(holds::has_any)? {
            continue;
        }
        let mut after = None;
        loop {
            let page = registry.read(|tx| holds::unsettled(tx, batch, status, after, ITEMS_READ))?;
            for items in page.items.chunks(ITEMS_AT_ONCE) {
                if is_stopped() {
                    return Ok(changed);
                }
                let (items, who, workflows) = (items.to_vec(), who.to_owned(), registry.workflows());
                let (settled, topics) =
                    registry.write_by_rows(move |tx| holds::settle(tx, workflows.as_ref(), &items, &who))?;
                registry.wakeups().notify(topics.iter().map(String::as_str));
                changed += settled;
            }
            if page.last.is_none() || is_stopped() {
                break;
            }
            after = page.last;
        }
    }
    Ok(changed)
}
