//! Delivers the messages of the outbox, behind those about reports that no task has put there. Provisional reports that were not finished
//! are removed.

use super::BackgroundTask;
use crate::outbox::deliver;
use crate::reports::{drop_abandoned, tell_untold};
use crate::runtime::Shutdown;
use crate::{EngineError, Home};
use strongroom_registry::counted;

/// The task's name.
pub(crate) const NAME: &str = "outbox";

pub(super) const TASK: BackgroundTask =
    BackgroundTask { name: NAME, every: |settings| settings.receiving.scan_interval, run };

fn run(home: &Home, stop: &Shutdown) -> Result<String, EngineError> {
    let told = tell_untold(home, stop);
    let dropped = drop_abandoned(home, stop);
    // A report that cannot be told keeps no message waiting.
    let done = deliver(home, stop)?;
    told?;
    dropped?;
    let waiting = match done.waiting {
        0 => String::new(),
        places => format!("; the messages for {} wait for another attempt", counted(places, "place", "places")),
    };
    Ok(format!(
        "{} delivered, {} no longer needed, {} failed, {} undeliverable{waiting}",
        counted(done.delivered, "message", "messages"),
        done.obsolete,
        done.failed,
        done.undeliverable
    ))
}
