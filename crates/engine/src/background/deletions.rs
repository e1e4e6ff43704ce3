//! Requests for deletion expire, end with their work items, and are told to the admins of their institutions. What was deleted is removed
//! from stores that were away, and from those that other content came back in.

use std::time::Duration;

use strongroom_registry::{counted, deletion_requests};

use super::BackgroundTask;
use crate::deletion::finish_all;
use crate::deletion::requests::keep;
use crate::runtime::Shutdown;
use crate::{EngineError, Home};

const EVERY: Duration = Duration::from_mins(5);

pub(super) const TASK: BackgroundTask = BackgroundTask { name: deletion_requests::TASK, every: |_| EVERY, run };

fn run(home: &Home, stop: &Shutdown) -> Result<String, EngineError> {
    let kept = keep(home, stop)?;
    let finished = finish_all(home, stop)?;
    Ok(format!("{kept}, deleted bytes of {} removed from stores", counted(finished, "object", "objects")))
}
