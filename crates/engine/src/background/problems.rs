//! Compares the records of problems with what is wrong now.

use std::time::Duration;

use strongroom_registry::counted;

use super::BackgroundTask;
use crate::runtime::Shutdown;
use crate::{EngineError, Home, problems};

/// Each run counts what stores lack, up to a bound.
const EVERY: Duration = Duration::from_mins(5);

pub(super) const TASK: BackgroundTask = BackgroundTask { name: "problems", every: |_| EVERY, run };

fn run(home: &Home, _stop: &Shutdown) -> Result<String, EngineError> {
    let compared = problems::compare(home)?;
    Ok(format!("{} opened, {} resolved", counted(compared.opened, "problem", "problems"), compared.resolved))
}
